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

/** Give each reason all its places in the text: a word counts once, with all its occurrences. Counted in code points. */
export function findPlaces(text, candidates) {
  const points = [];
  for (const character of text) {
    const point = points.length ? points.at(-1) + 1 : 0;
    for (let unit = 0; unit < character.length; unit++) points.push(point);
  }
  points.push(points.length ? points.at(-1) + 1 : 0);
  const found = new Map();
  for (const word of candidates.flatMap((one) => [...one.evidence, ...(one.against ?? [])])) {
    const key = word.word.toLowerCase();
    if (!found.has(key)) found.set(key, occurrences(text, word.word).map((each) => each.map((unit) => points[unit])));
    const others = found.get(key).filter(([start, end]) => end <= word.start || word.end <= start);
    word.places = [[word.start, word.end], ...others];
  }
}

/** Where whole words stand that are the same but for capitals. */
function occurrences(text, words) {
  const literal = words.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replace(/\s+/g, "\\s+");
  const whole = new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${literal}(?![\\p{L}\\p{M}\\p{N}_])`, "giu");
  return [...text.matchAll(whole)].map((each) => [each.index, each.index + each[0].length]);
}

/** Whether a word stands at a place of the text. */
export const covers = (word, start) => word.places.some(([first, end]) => first <= start && start < end);

/** Return what lights a place of the text: the level of the word there and its sign; null where there is none. */
export function lighting(words, start) {
  const word = words.find((one) => covers(one, start));
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
