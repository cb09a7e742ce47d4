// How strongly a word is lit: four levels, so that a shade and a line's thickness can both say it.

export const LEVELS = 4;

/** Return a weight's level, from 1 to LEVELS, against the heaviest of its kind. */
export const level = (weight, heaviest) => Math.max(1, Math.ceil((LEVELS * weight) / heaviest - 1e-9));

/** Return the levels of a label's words by where each begins in the text. */
export function levels(evidence) {
  const heaviest = Math.max(...evidence.map((one) => one.weight));
  return new Map(evidence.map((one) => [one.start, level(one.weight, heaviest)]));
}

/** Say in words what a label rests on. */
export function inWords(evidence, percent) {
  return evidence.map((one) => `${one.word} ${percent(one.weight)}`).join(", ");
}
