// The second tab: a file goes to the server, and its results come back row by row.

import * as api from "../api.js";
import { find, make } from "../dom.js";
import { takeDrops } from "../file_drop.js";
import { bytes, count, counted } from "../numbers.js";
import { clearProblem, Problem, sentence, showProblem } from "../problem.js";
import { download } from "../save.js";
import { columnsOf, formatOf, likelyText } from "./columns.js";
import { brokenOff, preview, rowCounter } from "./results.js";

const PROBLEM = "batch-problem";
const job = { file: null, format: null, stop: null, results: null };

/** Start the tab; return what takes a file. */
export function startBatch(model) {
  const take = (file) => choose(file, model).catch((error) => fail(error));
  find("batch-open").addEventListener("click", () => find("batch-file").click());
  find("batch-file").addEventListener("change", (event) => {
    if (event.target.files.length) take(event.target.files[0]);
    event.target.value = "";
  });
  takeDrops(find("batch-card"), take);
  find("batch-encoding").addEventListener("change", () => fillColumns().catch((error) => fail(error)));
  find("batch-start").addEventListener("click", run);
  find("batch-cancel").addEventListener("click", () => job.stop.abort());
  find("batch-download").addEventListener("click", () => download(job.results, resultName()));
  return take;
}

const resultName = () => job.file.name.replace(/\.[^.]*$/, (ending) => `-labels${ending}`);

function fail(error) {
  find("batch-ready").hidden = true;
  showProblem(PROBLEM, error);
}

async function choose(file, model) {
  job.stop?.abort();
  clearProblem(PROBLEM);
  refuseSize(file, model.limits.max_upload_bytes);
  Object.assign(job, { file, format: formatOf(file.name), results: null });
  find("batch-file-name").textContent = file.name;
  find("batch-file-about").textContent = bytes(file.size);
  find("batch-open").textContent = "Choose another file";
  await fillColumns();
  find("batch-explain-part").hidden = Boolean(job.format.delimiter);
  find("batch-ready").hidden = false;
  find("batch-done").hidden = true;
  find("batch-says").textContent = "";
}

function refuseSize(file, most) {
  if (!file.size) throw new Problem(`“${file.name}” is empty.`, "Choose a file with a text in each row.");
  if (file.size <= most) return;
  throw new Problem(`“${file.name}” has ${bytes(file.size)}.`, `At most ${bytes(most)} are allowed here; split it.`);
}

async function fillColumns() {
  const names = await columnsOf(job.file, job.format, find("batch-encoding").value);
  const options = (chosen) => names.map((name) => make("option", { value: name, selected: name === chosen }, name));
  find("batch-text").replaceChildren(...options(likelyText(names)));
  // The server takes a column named id where there is one.
  const numbered = names.includes("id") ? [] : [make("option", { value: "" }, "none: number the rows")];
  find("batch-id").replaceChildren(...numbered, ...options(numbered.length ? "" : "id"));
}

function settings() {
  const asked = { format: job.format.name, text: find("batch-text").value, encoding: find("batch-encoding").value };
  if (find("batch-id").value) asked.id = find("batch-id").value;
  if (find("batch-threshold").value) asked.threshold = Number(find("batch-threshold").value) / 100;
  if (find("batch-most").value) asked.max_labels = find("batch-most").value;
  if (!job.format.delimiter && find("batch-explain").checked) asked.explain = true;
  return asked;
}

function checkFields() {
  const wrong = ["batch-threshold", "batch-most"].map(find).find((field) => !field.checkValidity());
  wrong?.reportValidity();
  return !wrong;
}

async function run() {
  if (!checkFields()) return;
  clearProblem(PROBLEM);
  job.stop = new AbortController();
  const progress = { pieces: [], done: 0, total: 0 };
  working(true);
  let ending = "";
  try {
    await receive(progress);
    ending = `Done: ${counted(progress.done, "text")} labelled.`;
  } catch (error) {
    ending = ended(error, progress);
  }
  working(false);
  await finish(progress, ending);
}

async function receive(progress) {
  find("batch-says").textContent = "Sending the file…";
  const answer = await api.batch(job.file, job.format.type, settings(), job.stop.signal);
  progress.total = Number(answer.headers.get("X-Total-Documents"));
  const counter = rowCounter(Boolean(job.format.delimiter));
  const reader = answer.body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    progress.pieces.push(piece.value);
    progress.done = counter(piece.value);
    advance(progress);
  }
  const broken = await brokenOff(new Blob(progress.pieces));
  if (broken) throw new Problem(sentence(broken), "Try again; if it fails again, tell whoever runs the server.");
}

function advance({ done, total }) {
  find("batch-progress").max = Math.max(total, 1);
  find("batch-progress").value = done;
  find("batch-says").textContent = `${count(done)} of ${counted(total, "text")} labelled…`;
}

/** Say how a run ended before its time. */
function ended(error, { done, total }) {
  const soFar = done ? ` The ${counted(done, "result")} that came can be downloaded.` : "";
  const cancelled = error.name === "AbortError";
  if (cancelled) return total ? `Cancelled after ${count(done)} of ${counted(total, "text")}.${soFar}` : "Cancelled.";
  const known = error instanceof Problem;
  showProblem(PROBLEM, known ? error : new Problem("The connection to the server broke off.", "Try again."), run);
  return soFar.trim();
}

function working(busy) {
  find("batch-start").disabled = busy;
  find("batch-cancel").hidden = !busy;
  find("batch-running").hidden = !busy;
  find("batch-progress").removeAttribute("value");
  if (busy) {
    find("batch-done").hidden = true;
    find("batch-cancel").focus();
  }
}

async function finish(progress, ending) {
  find("batch-says").textContent = ending;
  job.results = new Blob(progress.pieces, { type: job.format.type });
  if (!progress.done) return find("batch-start").focus();
  await preview(find("batch-preview"), job.results, job.format);
  find("batch-done").hidden = false;
  return find("batch-download").focus();
}
