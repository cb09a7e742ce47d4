// The third tab: what the model is and how good it is.

import * as api from "./api.js";
import { find, make } from "./dom.js";
import { startLabelTable } from "./label_table.js";
import { elements } from "./markdown.js";
import { bytes, count } from "./numbers.js";
import { sentence, showProblem } from "./problem.js";

const METRICS = [
  ["micro_f1", "micro-F1", "precision and recall in one, over all decisions"],
  ["micro_precision", "precision", "of the labels it gives, so many are right"],
  ["micro_recall", "recall", "of the right labels, it gives so many"],
  ["macro_f1", "macro-F1", "each label counts the same, rare ones too"],
  ["subset_accuracy", "whole sets", "texts whose labels are all right"],
  ["hamming_loss", "hamming loss", "wrong decisions; less is better"],
];
const PAGE = 1000;

/** Say in the page's head which model this is. */
export function nameModel(model) {
  const corpus = model.about.corpus?.name;
  find("which").textContent = `${model.model}${corpus ? ` on ${corpus}` : ""} · ${count(model.labels)} labels`;
}

/** Fill the tab. */
export async function startModel(model) {
  find("metrics").append(...METRICS.filter(([name]) => name in model.metrics).map((one) => tile(model.metrics, one)));
  find("rule").textContent = model.rule_decides
    ? sentence(`it gives ${model.rule.in_words}`)
    : "It finds the labels by a search of its own.";
  find("card").append(...elements(model.card));
  find("facts").append(facts(model));
  find("model-waiting").hidden = true;
  find("model-found").hidden = false;
  try {
    startLabelTable(model.per_label ?? (await allLabels()));
  } catch (error) {
    showProblem("model-problem", error);
  }
}

function tile(metrics, [name, title, meaning]) {
  const value = make("dd", {}, metrics[name].toFixed(3));
  return make("div", { className: "tile" }, make("dt", {}, title), value, make("dd", { className: "soft" }, meaning));
}

/** Models whose training kept no figures still know their labels. */
async function allLabels() {
  const rows = [];
  let total = Infinity;
  while (rows.length < total) {
    const part = await api.labels("", PAGE, rows.length);
    rows.push(...part.labels);
    total = part.total;
  }
  return rows;
}

function facts(model) {
  const { limits } = model;
  const files = Object.entries(model.manifest.files ?? {});
  const rows = [
    ["seq2set", model.version],
    ["a text at most", `${count(limits.max_text_chars)} characters`],
    ["a request at most", `${count(limits.max_texts)} texts, ${bytes(limits.max_body_bytes)}`],
    ["a file at most", bytes(limits.max_upload_bytes)],
    ["feedback", model.feedback ? "is kept" : "is not kept"],
    ...files.map(([name, file]) => [name, `${bytes(file.bytes)}, SHA-256 ${file.sha256}`]),
  ];
  const line = ([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value));
  return make("tbody", {}, ...rows.map(line));
}
