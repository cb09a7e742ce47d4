// Exporting one text's labels: plain, JSON or CSV; to the clipboard or to a file.

import { writeCsv } from "../csv.js";
import { find } from "../dom.js";
import { counted } from "../numbers.js";
import { copy, download } from "../save.js";
import { kept } from "./session.js";

const TYPES = { plain: "text/plain", json: "application/json", csv: "text/csv" };
const ENDINGS = { plain: "txt", json: "json", csv: "csv" };

const WRITERS = {
  plain: (state) => kept(state).map((one) => `${one.label}\n`).join(""),
  csv: (state) => writeCsv([["label", "score", "status"], ...kept(state).map(asRow)]),
  json: (state, model) => `${JSON.stringify(asObject(state, model), null, 2)}\n`,
};

function asRow(one) {
  return [one.label, one.score ?? "", one.status];
}

function asObject(state, model) {
  const labels = kept(state).map(({ label, score, status, evidence, against }) => ({ label, score, status, evidence, against }));
  return { text: state.text, model: model.model, threshold: state.threshold, labels };
}

/** Make the buttons work. */
export function startExport(store, model) {
  const format = () => document.querySelector("input[name=format]:checked").value;
  const written = () => WRITERS[format()](store.state, model);
  const says = (sentence) => {
    find("taken").textContent = sentence;
  };
  find("copy").addEventListener("click", async () => {
    try {
      await copy(written());
      says(`${counted(kept(store.state).length, "label")} copied.`);
    } catch {
      says("The browser does not let the page copy; use Download.");
    }
  });
  find("download").addEventListener("click", () => {
    download(new Blob([written()], { type: TYPES[format()] }), `labels.${ENDINGS[format()]}`);
    says(`labels.${ENDINGS[format()]} was downloaded.`);
  });
  let last = null;
  store.watch((state) => {
    const now = JSON.stringify(kept(state));
    if (now !== last) says("");
    last = now;
  });
}
