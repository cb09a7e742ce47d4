// What went wrong, in words, with what to do about it.

import { find, make } from "./dom.js";

/** Something that a person should be told: a sentence, and advice. */
export class Problem extends Error {
  constructor(message, advice = "") {
    super(message);
    this.advice = advice;
  }
}

/** Write a server's sentence as one: a capital first, a full stop last. */
export function sentence(words) {
  const trimmed = words.trim();
  const capital = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** Show a problem in its place, with a button that tries again where that makes sense. */
export function showProblem(place, error, retry) {
  const known = error instanceof Problem;
  if (!known) console.error(error);
  const message = known ? error.message : "Something went wrong in this page.";
  const advice = known ? error.advice : "Reload it and try again.";
  const box = make("div", { className: "notice", role: "alert" });
  box.append(make("p", {}, make("strong", {}, message), ` ${advice}`));
  if (retry) box.append(make("button", { type: "button", className: "quiet", onclick: retry }, "Try again"));
  find(place).replaceChildren(box);
}

export const clearProblem = (place) => find(place).replaceChildren();
