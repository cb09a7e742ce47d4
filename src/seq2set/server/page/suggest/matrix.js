// Words by labels: how much each word counts for each label that is shown.

import { find, make } from "../dom.js";
import { percent } from "../numbers.js";
import { heaviestOf, level, reasons } from "./evidence.js";
import { added, litLabel, suggested } from "./session.js";

const MOST_WORDS = 24;
let drawn = "";

/** Keep the matrix as the state says; only what is looked at is drawn. */
export function startMatrix(store) {
  const show = (state) => {
    if (!state.answer || find("matrix").hidden) return;
    const rows = [...suggested(state), ...added(state)].filter((one) => reasons(one).length);
    const now = JSON.stringify([state.text, rows.map((one) => one.label)]);
    if (now !== drawn) draw(rows);
    drawn = now;
    for (const row of find("matrix").querySelectorAll("tbody tr")) {
      row.classList.toggle("lit", row.dataset.label === litLabel(state));
    }
    reveal(find("matrix").querySelector("tr.lit"));
  };
  store.watch(show);
  find("view-text").addEventListener("click", () => choose(false));
  find("view-matrix").addEventListener("click", () => {
    choose(true);
    show(store.state);
  });
}

/** Scroll the frame, and not the page, to the word that counts most for a label, where it is out of sight. */
function reveal(row) {
  const cells = [...(row?.querySelectorAll("td[data-level]") ?? [])];
  if (!cells.length) return;
  const heaviest = cells.reduce((one, other) => (Number(other.dataset.level) > Number(one.dataset.level) ? other : one));
  const frame = find("matrix");
  const names = row.firstElementChild.offsetWidth; // they stay at the left, over the cells
  const [left, right] = [heaviest.offsetLeft, heaviest.offsetLeft + heaviest.offsetWidth];
  if (left < frame.scrollLeft + names || right > frame.scrollLeft + frame.clientWidth) {
    frame.scrollLeft = right - (frame.clientWidth + names) / 2;
  }
}

function choose(matrix) {
  find("matrix").hidden = !matrix;
  find("words").hidden = matrix;
  find("view-matrix").setAttribute("aria-pressed", String(matrix));
  find("view-text").setAttribute("aria-pressed", String(!matrix));
}

function draw(rows) {
  const weights = rows.map((one) => new Map(reasons(one).map((word) => [word.word.toLowerCase(), word.weight])));
  const words = columns(rows);
  if (!words.length) {
    find("matrix").replaceChildren(make("p", { className: "empty" }, "There are no words to show."));
    return;
  }
  const heaviest = heaviestOf(rows.flatMap(reasons));
  const head = make("tr", {}, make("td"), ...words.map(heading));
  const body = rows.map((one, place) => line(one.label, words, weights[place], heaviest));
  const caption = make("caption", { className: "unseen" }, "How many per cent each word counts for each label, with a minus against it");
  const table = make("table", { className: "matrix" }, caption, make("thead", {}, head), make("tbody", {}, ...body));
  find("matrix").replaceChildren(table);
}

/** The words that count most over all labels, in the order of the text. */
function columns(rows) {
  const found = new Map();
  for (const word of rows.flatMap(reasons)) {
    const name = word.word.toLowerCase();
    const seen = found.get(name) ?? { name, start: word.start, total: 0 };
    found.set(name, { name, start: Math.min(seen.start, word.start), total: seen.total + Math.abs(word.weight) });
  }
  const heaviest = [...found.values()].sort((one, other) => other.total - one.total).slice(0, MOST_WORDS);
  return heaviest.sort((one, other) => one.start - other.start).map((one) => one.name);
}

const heading = (word) => make("th", { scope: "col" }, make("span", {}, word));

function line(label, words, weights, heaviest) {
  const row = make("tr", {}, make("th", { scope: "row" }, label));
  row.dataset.label = label;
  for (const word of words) {
    const cell = make("td");
    const weight = weights.get(word);
    if (weight !== undefined) {
      cell.textContent = (weight < 0 ? "−" : "") + percent(Math.abs(weight)).replace(/[\u202f%]/g, "");
      cell.dataset.level = level(weight, heaviest);
      cell.toggleAttribute("data-against", weight < 0);
    }
    row.append(cell);
  }
  return row;
}
