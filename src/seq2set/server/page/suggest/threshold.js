// The threshold: a slider that chooses among the labels that have come already.

import { find } from "../dom.js";
import { percent } from "../numbers.js";

/** Make the slider act; `model` says what the model's own choice is. */
export function startThreshold(store, model) {
  const slider = find("threshold");
  slider.addEventListener("input", () => store.set({ threshold: Number(slider.value) / 100 }));
  find("threshold-own").addEventListener("click", () => {
    store.set({ threshold: null });
    slider.focus();
  });
  store.watch((state) => show(state.threshold, model));
}

function show(threshold, model) {
  const slider = find("threshold");
  const own = threshold === null;
  const shown = own ? ownThreshold(model) : threshold;
  if (own) slider.value = Math.round(100 * (shown ?? 0.5));
  const value = shown === null ? "own rule" : percent(shown);
  find("threshold-value").textContent = value;
  slider.setAttribute("aria-valuetext", own ? `${value}, the model’s own choice` : value);
  find("threshold-says").textContent = own ? inWords(model) : "Labels scoring at least this are suggested.";
  find("threshold-own").hidden = own;
}

/** The one threshold of the model, if its rule is one. */
function ownThreshold(model) {
  return model.rule_decides && model.rule.kind === "global" ? Math.min(model.rule.thresholds[0], 1) : null;
}

function inWords(model) {
  if (model.rule_decides && model.rule.kind === "global") return "The model’s own threshold, tuned on its validation texts.";
  const own = model.rule_decides ? `suggests ${model.rule.in_words}` : "found these labels by its own search";
  return `The model ${own}; move the slider to choose by score.`;
}
