// What a file of texts is: its format, and its columns as its beginning shows them.

import { readCsv } from "../csv.js";
import { Problem } from "../problem.js";

const FORMATS = {
  csv: { type: "text/csv", delimiter: "," },
  tsv: { type: "text/tab-separated-values", delimiter: "\t" },
  jsonl: { type: "application/x-ndjson" },
};
const ENDINGS = { csv: "csv", tsv: "tsv", jsonl: "jsonl", ndjson: "jsonl", json: "jsonl" };
const TEXT_NAMES = ["text", "abstract", "body", "content", "description", "summary", "title"];
const BEGINNING = 2 ** 18;

/** Return a file's format by its name. */
export function formatOf(name) {
  const format = ENDINGS[name.split(".").pop().toLowerCase()];
  if (!format) throw new Problem(`“${name}” cannot be read as a table.`, "Choose a .csv, .tsv or .jsonl file.");
  return { name: format, ...FORMATS[format] };
}

/** Return the names of a file's columns. */
export async function columnsOf(file, format, encoding) {
  const start = new TextDecoder(encoding).decode(await file.slice(0, BEGINNING).arrayBuffer());
  const names = format.delimiter ? headerOf(start, format.delimiter) : keysOf(start);
  if (!names.length) throw new Problem(`“${file.name}” has no columns.`, advice(format));
  return names;
}

function headerOf(start, delimiter) {
  return (readCsv(`${start}\n`, delimiter)[0] ?? []).map((name) => name.trim()).filter(Boolean);
}

function keysOf(start) {
  const line = start.split("\n").find((one) => one.trim()) ?? "";
  try {
    const found = JSON.parse(line);
    return found && typeof found === "object" && !Array.isArray(found) ? Object.keys(found) : [];
  } catch {
    return [];
  }
}

const advice = (format) =>
  format.delimiter ? "Its first row must name the columns." : "Each line must hold one JSON object.";

/** Guess which column holds the text. */
export function likelyText(names) {
  const lower = names.map((name) => name.toLowerCase());
  const wanted = TEXT_NAMES.find((name) => lower.includes(name));
  return wanted ? names[lower.indexOf(wanted)] : names[0];
}
