// The text: typed, pasted, dropped, opened from a file, or the example.

import { find } from "../dom.js";
import { takeDrops } from "../file_drop.js";
import { bytes, count, counted } from "../numbers.js";
import { Problem } from "../problem.js";
import { exampleFor } from "./examples.js";

const TABLES = /\.(csv|tsv|jsonl|ndjson)$/i;

/** What happens with a text: `ask` for labels, `fail` with a problem, `table` takes a file of many texts. */
export function startText(model, { ask, fail, table }) {
  const box = find("text");
  const most = model.limits.max_text_chars;
  const fill = (text) => {
    box.value = text;
    measure(most);
    box.focus();
  };
  const take = (file) => (TABLES.test(file.name) ? table(file) : readFile(file, most).then(fill, fail));
  box.addEventListener("input", () => measure(most));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask();
  });
  find("ask").addEventListener("click", ask);
  find("example").addEventListener("click", () => fill(exampleFor(model)));
  find("clear").addEventListener("click", () => fill(""));
  find("open").addEventListener("click", () => find("file").click());
  find("file").addEventListener("change", (event) => {
    if (event.target.files.length) take(event.target.files[0]);
    event.target.value = "";
  });
  takeDrops(find("text-card"), take);
  measure(most);
}

/** Show the text that is being edited, or the text as it is read. */
export function showEditing(editing) {
  find("editing").hidden = find("edit-tools").hidden = !editing;
  find("reading").hidden = find("read-tools").hidden = editing;
  if (editing) find("text").focus();
}

/** Return the text, or say what is wrong with it before the server has to. */
export function checkedText(most) {
  const text = find("text").value;
  if (!text.trim()) throw new Problem("There is no text yet.", "Paste one, drop a text file, or try the example.");
  const length = [...text].length;
  if (length > most) {
    const advice = `At most ${count(most)} are allowed here; shorten it.`;
    throw new Problem(`The text has ${counted(length, "character")}.`, advice);
  }
  return text;
}

function measure(most) {
  const length = [...find("text").value].length;
  const near = length > 0.8 * most ? ` of at most ${count(most)}` : "";
  find("count").textContent = counted(length, "character") + near;
  find("count").classList.toggle("wrong", length > most);
}

async function readFile(file, most) {
  if (file.size > 4 * most) {
    const advice = `At most ${counted(most, "character")} are allowed here; take a smaller file.`;
    throw new Problem(`“${file.name}” has ${bytes(file.size)}.`, advice);
  }
  const text = decoded(await file.arrayBuffer());
  if (text.includes("\0")) {
    throw new Problem(`“${file.name}” is not a text file.`, "Save it as plain text, or paste its text.");
  }
  return text;
}

/** Most files are UTF-8; what cannot be is taken for Western text. */
function decoded(content) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(content);
  } catch {
    return new TextDecoder("windows-1252").decode(content);
  }
}
