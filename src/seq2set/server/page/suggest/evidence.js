// The words for and against a label. How strongly a word is lit has four levels, so that a shade and a line's
// thickness can both say it; what speaks against a label has a minus and another line.

export const LEVELS = 4;
const LEAST = 0.05; // what weighs less, beside the heaviest, is not worth a look

/** Return a weight's level, from 1 to LEVELS, against the heaviest of its kind. */
export const level = (weight, heaviest) => Math.max(1, Math.ceil((LEVELS * Math.abs(weight)) / heaviest - 1e-9));

/** The words of a label's reasons that are worth a look: for it, then against it. */
export function reasons(one) {
  const words = [...one.evidence, ...(one.against ?? [])];
  return words.filter((word) => Math.abs(word.weight) >= LEAST * heaviestOf(words));
}

/** Return what lights a place of the text: the level of the word there and its sign; null where there is none. */
export function lighting(words, start) {
  const word = words.find((one) => one.start <= start && start < one.end);
  if (!word) return null;
  return { level: level(word.weight, heaviestOf(words)), against: word.weight < 0 };
}

export const heaviestOf = (words) => Math.max(...words.map((one) => Math.abs(one.weight)));

/** Say in words what a label rests on, and what speaks against it. */
export function inWords(one, percent) {
  const list = (words) => words.map((word) => `${word.word}${word.names_label ? " (its name)" : ""} ${percent(Math.abs(word.weight))}`).join(", ");
  const words = reasons(one);
  const speaking = words.filter((word) => word.weight > 0);
  const against = words.filter((word) => word.weight < 0);
  const parts = [];
  if (speaking.length) parts.push(`rests on ${list(speaking)}`);
  if (against.length) parts.push(`against it: ${list(against)}`);
  return parts.join("; ");
}
