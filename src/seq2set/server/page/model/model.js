// The third tab: what the model is and how good it is.

import * as api from "../api.js";
import { find, make } from "../dom.js";
import { bytes, count } from "../numbers.js";
import { sentence, showProblem } from "../problem.js";
import { startLabelTable } from "./label_table.js";
import { elements } from "./markdown.js";

const PAGE = 1000;

/** Say in the page's head which model this is. */
export function nameModel(model) {
  const corpus = model.about.corpus?.name;
  find("which").textContent = `${model.model}${corpus ? ` on ${corpus}` : ""} · ${count(model.labels)} labels`;
}

/** Fill the tab. */
export async function startModel(model) {
  const measured = model.shown_metrics.filter(({ name }) => name in model.metrics);
  find("metrics").append(...measured.map((metric) => tile(metric, model.metrics[metric.name])));
  find("rule").textContent = model.rule_decides
    ? sentence(`rule: ${model.rule.in_words}`)
    : "A search of the decoder decides; no threshold.";
  const searches = Object.entries(model.search_summaries);
  find("searches").append(...searches.map(([name, summary]) => make("li", {}, make("strong", {}, name), `: ${summary}`)));
  find("searches-part").hidden = searches.length === 0;
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

function tile({ title, summary, digits }, value) {
  const figure = make("dd", {}, value.toFixed(digits));
  return make("div", { className: "tile" }, make("dt", {}, title), figure, make("dd", { className: "soft" }, summary));
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
    ["Maximum per text", `${count(limits.max_text_chars)} characters`],
    ["Maximum per request", `${count(limits.max_texts)} texts, ${bytes(limits.max_body_bytes)}`],
    ["Maximum per file", bytes(limits.max_upload_bytes)],
    ["Feedback", model.feedback ? "kept" : "not kept"],
    ...files.map(([name, file]) => [name, `${bytes(file.bytes)}, SHA-256 ${file.sha256}`]),
  ];
  const line = ([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value));
  return make("tbody", {}, ...rows.map(line));
}
