// Results that come in pieces: counted, kept, and shown in part.

import { readCsv } from "../csv.js";
import { make } from "../dom.js";
import { percent } from "../numbers.js";

const [NEWLINE, QUOTE] = [10, 34];
const SHOWN = 8;

/** Count the rows of a table, or the lines of JSON, as their bytes arrive. */
export function rowCounter(isTable) {
  let rows = isTable ? -1 : 0; // a table's header is no result
  let inside = false;
  return (piece) => {
    for (const byte of piece) {
      if (isTable && byte === QUOTE) inside = !inside;
      else if (byte === NEWLINE && !inside) rows += 1;
    }
    return Math.max(rows, 0);
  };
}

/** The error that results of JSON lines end with where the server broke off. */
export async function brokenOff(blob) {
  const end = (await blob.slice(-2000).text()).trimEnd().split("\n").pop();
  return end.startsWith('{"error":') ? JSON.parse(end).error.message : null;
}

/** Fill a table with the first results. */
export async function preview(table, blob, format) {
  const start = await blob.slice(0, 2 ** 18).text();
  const found = format.delimiter ? fromTable(start, format.delimiter) : fromLines(start);
  const rows = found.slice(0, SHOWN).map(([id, labels, note]) => {
    const soft = [labels.length ? "" : "no label", note].filter(Boolean).join(": ");
    const cell = make("td", {}, ...labels.map(tag), make("span", { className: "soft" }, soft));
    return make("tr", {}, make("th", { scope: "row" }, id), cell);
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "id"), make("th", { scope: "col" }, "labels"));
  table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
}

function tag({ label, score }) {
  return make("span", { className: "tag" }, `${label} `, make("span", { className: "score" }, percent(score)));
}

function fromTable(start, delimiter) {
  const [, ...rows] = readCsv(start, delimiter);
  return rows.map(([id, labels, scores, note]) => {
    const values = scores.split(";");
    const named = labels ? labels.split(";") : [];
    return [id, named.map((label, place) => ({ label, score: Number(values[place]) })), note];
  });
}

function fromLines(start) {
  const lines = start.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  return lines.filter((one) => one.labels).map((one) => [one.id, one.labels, one.note]);
}
