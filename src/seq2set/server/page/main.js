// The page: opens the model, then starts the three tabs.

import * as api from "./api.js";
import { startBatch } from "./batch/batch.js";
import { find } from "./dom.js";
import { guardWindow } from "./file_drop.js";
import { nameModel, startModel } from "./model/model.js";
import { clearProblem, showProblem } from "./problem.js";
import { startSuggest } from "./suggest/suggest.js";
import { showTab, startTabs } from "./tabs.js";
import { startTheme } from "./theme.js";

function startHelp() {
  const dialog = find("help");
  find("help-open").addEventListener("click", () => dialog.showModal());
  find("help-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

async function open() {
  clearProblem("suggest-problem");
  let model;
  try {
    model = await api.model();
  } catch (error) {
    find("which").textContent = "The model could not be opened";
    showProblem("suggest-problem", error, open);
    return;
  }
  start(model);
}

function start(model) {
  nameModel(model);
  const take = startBatch(model);
  startSuggest(model, (file) => {
    showTab("batch");
    take(file);
  });
  find("main").dataset.ready = "true";
  startModel(model);
}

startTheme();
startTabs();
startHelp();
guardWindow();
open();
