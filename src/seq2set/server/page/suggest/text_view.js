// The text as it is read: words that are evidence can be lit, and can be asked for their labels.

import { find, make } from "../dom.js";
import { percent } from "../numbers.js";
import { inWords, levels } from "./evidence.js";
import { added, known, litLabel, suggested } from "./session.js";

const INVITATION = "Point at a label, or move to it, to see the words that it rests on.";
let spans = new Map(); // where a word begins (in code points) -> its element
let drawn = null;

/** Keep the text and the lit words as the state says. */
export function startTextView(store) {
  store.watch((state) => {
    if (state.answer && state.answer !== drawn) draw(state);
    if (state.answer) light(state);
  });
  const words = find("words");
  words.addEventListener("pointerover", (event) => ask(store.state, event.target.closest(".word")));
  words.addEventListener("pointerleave", () => ask(store.state, null));
}

// The server counts Unicode code points, JavaScript counts UTF-16 units.

/** Return, for each code point's number and for the end, its place in the string. */
function unitOffsets(text) {
  const places = [];
  let unit = 0;
  for (const character of text) {
    places.push(unit);
    unit += character.length;
  }
  places.push(unit);
  return places;
}

function draw(state) {
  drawn = state.answer;
  spans = new Map();
  const places = unitOffsets(state.text);
  const parts = [];
  let end = 0;
  for (const one of allWords(state.answer.candidates)) {
    if (one.start < end) continue; // words do not overlap; were it so, the first one counts
    parts.push(state.text.slice(places[end], places[one.start]));
    const span = make("span", { className: "word" }, state.text.slice(places[one.start], places[one.end]));
    span.dataset.start = one.start;
    spans.set(one.start, span);
    parts.push(span);
    end = one.end;
  }
  parts.push(state.text.slice(places[end]));
  find("words").replaceChildren(...parts);
  find("words").scrollTop = 0;
}

function allWords(candidates) {
  const found = new Map(candidates.flatMap((one) => one.evidence).map((word) => [word.start, word]));
  return [...found.values()].sort((one, other) => one.start - other.start);
}

function light(state) {
  const label = litLabel(state);
  const evidence = label ? known(state, label).evidence : [];
  const strength = levels(evidence);
  for (const [start, span] of spans) {
    const lit = strength.get(start);
    if (lit) span.dataset.level = lit;
    else delete span.dataset.level;
    if (lit) span.setAttribute("role", "mark");
    else span.removeAttribute("role");
  }
  caption(label, evidence);
  if (evidence.length) reveal(spans.get(evidence[0].start));
}

function caption(label, evidence) {
  const reasons = evidence.length ? ` rests on ${inWords(evidence, percent)}.` : " has no words to show in this text.";
  find("caption").replaceChildren(...(label ? [make("strong", {}, label), reasons] : [INVITATION]));
}

/** Scroll the frame, and not the page, to a word that is out of sight. */
function reveal(span) {
  const frame = find("words");
  if (!span || frame.scrollHeight <= frame.clientHeight) return;
  const top = span.offsetTop - frame.offsetTop;
  if (top < frame.scrollTop || top + span.offsetHeight > frame.scrollTop + frame.clientHeight) {
    frame.scrollTop = top - frame.clientHeight / 3;
  }
}

/** Show which labels rest on a word. */
function ask(state, word) {
  const start = word ? Number(word.dataset.start) : null;
  const shown = [...suggested(state), ...added(state)];
  const resting = shown.filter((one) => one.evidence.some((each) => each.start === start)).map((one) => one.label);
  for (const chip of document.querySelectorAll(".chip")) {
    chip.classList.toggle("rests", resting.includes(chip.dataset.label));
  }
  if (litLabel(state)) return;
  if (resting.length) find("caption").textContent = `“${word.textContent}” is evidence for ${resting.join(", ")}.`;
  else find("caption").textContent = INVITATION;
}
