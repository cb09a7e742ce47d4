// The text as it is read: words that are evidence can be lit, and can be asked for their labels.

import { find, make } from "../dom.js";
import { percent } from "../numbers.js";
import { covers, inWords, lighting, reasons } from "./evidence.js";
import { added, known, litLabel, suggested } from "./session.js";

const INVITATION = "Point at a label, or move to it, to see the words that it rests on.";
let spans = new Map(); // where a piece of evidence begins (in code points) -> its element
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
  for (const one of allPieces(state.answer.candidates)) {
    parts.push(state.text.slice(places[end], places[one.start]));
    const span = make("span", { className: "word" }, state.text.slice(places[one.start], places[one.end]));
    span.dataset.start = one.start;
    spans.set(one.start, span);
    span.classList.toggle("joined", one.start === end && end > 0);
    parts.push(span);
    end = one.end;
  }
  parts.push(state.text.slice(places[end]));
  find("words").replaceChildren(...parts);
  find("words").scrollTop = 0;
}

/** The pieces that words and phrases cut the text into; those of several labels may overlap. */
function allPieces(candidates) {
  const words = candidates.flatMap(reasons);
  const limits = [...new Set(words.flatMap((word) => word.places.flat()))].sort((one, other) => one - other);
  const covered = (start) => words.some((word) => covers(word, start));
  return limits.slice(0, -1).map((start, place) => ({ start, end: limits[place + 1] })).filter((one) => covered(one.start));
}

function light(state) {
  const label = litLabel(state);
  const one = label ? known(state, label) : null;
  const words = one ? reasons(one) : [];
  for (const [start, span] of spans) {
    const lit = lighting(words, start);
    if (lit) span.dataset.level = lit.level;
    else delete span.dataset.level;
    span.toggleAttribute("data-against", Boolean(lit?.against));
    if (lit) span.setAttribute("role", "mark");
    else span.removeAttribute("role");
  }
  caption(one);
  if (words.length) reveal(spans.get(words[0].start));
}

function caption(one) {
  const said = one ? ` ${inWords(one, percent) || "has no words to show in this text"}.` : "";
  find("caption").replaceChildren(...(one ? [make("strong", {}, one.label), said] : [INVITATION]));
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

const restsOn = (one, start) => one.evidence.some((each) => covers(each, start));

/** Show which labels rest on a word. */
function ask(state, word) {
  const start = word ? Number(word.dataset.start) : null;
  const shown = [...suggested(state), ...added(state)];
  const resting = shown.filter((one) => restsOn(one, start)).map((one) => one.label);
  for (const chip of document.querySelectorAll(".chip")) {
    chip.classList.toggle("rests", resting.includes(chip.dataset.label));
  }
  if (litLabel(state)) return;
  if (resting.length) find("caption").textContent = `“${word.textContent}” is evidence for ${resting.join(", ")}.`;
  else find("caption").textContent = INVITATION;
}
