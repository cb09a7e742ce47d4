// The labels of a model in a table that can be searched and sorted; long ones are shown in parts.

import { find, make } from "../dom.js";
import { count, counted } from "../numbers.js";

const STEP = 200;
const figure = (value) => (value === null || value === undefined ? "–" : value.toFixed(2));
const whole = (value) => (value === null || value === undefined ? "–" : count(value));
const COLUMNS = [
  { key: "label", title: "Label", cell: (row) => row.label },
  { key: "frequency", title: "Training texts", cell: (row) => count(row.frequency) },
  { key: "threshold", title: "Threshold", cell: (row) => figure(row.threshold) },
  { key: "precision", title: "Precision", cell: (row) => figure(row.precision), measured: true },
  { key: "recall", title: "Recall", cell: (row) => figure(row.recall), measured: true },
  { key: "f1", title: "F1", cell: (row) => figure(row.f1), measured: true, bar: true },
  { key: "support", title: "Validation texts", cell: (row) => whole(row.support), measured: true },
];
const view = { rows: [], columns: [], query: "", key: "frequency", up: false, most: STEP };

/** Show a table of rows; figures that were not kept have no columns. */
export function startLabelTable(rows) {
  const measured = rows.some((row) => row.f1 !== null);
  view.rows = rows;
  view.columns = COLUMNS.filter((column) => measured || !column.measured);
  find("label-table").replaceChildren(head(), make("tbody"));
  find("label-search").addEventListener("input", (event) => {
    Object.assign(view, { query: event.target.value.trim().toLowerCase(), most: STEP });
    show();
  });
  find("label-more").addEventListener("click", () => {
    view.most += STEP;
    show();
  });
  show();
}

function head() {
  const cells = view.columns.map((column) => {
    const button = make("button", { type: "button", onclick: () => sortBy(column.key) }, column.title);
    const cell = make("th", { scope: "col" }, button);
    cell.dataset.key = column.key;
    return cell;
  });
  return make("thead", {}, make("tr", {}, ...cells));
}

function sortBy(key) {
  view.up = view.key === key ? !view.up : key === "label";
  view.key = key;
  view.most = STEP;
  show();
}

function compared(one, other) {
  const [a, b] = [one[view.key], other[view.key]];
  if (typeof a === "string") return a.localeCompare(b);
  return (a ?? -1) - (b ?? -1);
}

function show() {
  const matching = view.rows.filter((row) => row.label.toLowerCase().includes(view.query));
  const ordered = matching.sort((one, other) => compared(one, other) * (view.up ? 1 : -1));
  find("label-table").tBodies[0].replaceChildren(...ordered.slice(0, view.most).map(line));
  for (const cell of find("label-table").querySelectorAll("th[data-key]")) {
    if (cell.dataset.key === view.key) cell.setAttribute("aria-sort", view.up ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  }
  find("label-more").hidden = ordered.length <= view.most;
  const shown = Math.min(view.most, ordered.length);
  const part = shown < ordered.length ? ` The first ${count(shown)} are shown.` : "";
  find("label-table-says").textContent = ordered.length
    ? `${counted(ordered.length, "label")}${view.query ? " found" : ""}.${part}`
    : "No label has that in its name.";
}

function line(row) {
  return make("tr", {}, ...view.columns.map((column) => cellOf(column, row)));
}

function cellOf(column, row) {
  if (column.key === "label") return make("th", { scope: "row" }, row.label);
  const cell = make("td", {}, column.cell(row));
  if (column.bar) {
    cell.className = "bar";
    cell.style.setProperty("--share", row[column.key] ?? 0);
  }
  return cell;
}
