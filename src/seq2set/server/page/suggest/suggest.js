// The first tab: a text goes to the server, its labels come back, and everything else follows from them.

import * as api from "../api.js";
import { announce, find } from "../dom.js";
import { counted } from "../numbers.js";
import { clearProblem, showProblem } from "../problem.js";
import { startAddLabel } from "./add_label.js";
import { findPlaces } from "./evidence.js";
import { startExport } from "./export.js";
import { startFeedback } from "./feedback.js";
import { focusFirst, startLabels } from "./labels.js";
import { startMatrix } from "./matrix.js";
import { isStrange, suggested, UNREAD } from "./session.js";
import { makeStore } from "./store.js";
import { checkedText, showEditing, startText } from "./text.js";
import { startTextView } from "./text_view.js";
import { startThreshold } from "./threshold.js";

const CANDIDATES = 40; // so far down the slider can go without a new request
const PROBLEM = "suggest-problem";
let asked = new AbortController();

/** Start the tab; a file of many texts that is dropped here is handed over to `table`. */
export function startSuggest(model, table) {
  const store = makeStore(UNREAD);
  const ask = () => suggest(store, model);
  const fail = (error) => showProblem(PROBLEM, error);
  startText(model, { ask, fail, table });
  startTextView(store);
  startLabels(store, model);
  startThreshold(store, model);
  startMatrix(store);
  startAddLabel(store);
  startExport(store, model);
  startFeedback(store, model);
  find("edit").addEventListener("click", () => {
    store.set({ answer: null, pointed: null, focused: null, pinned: null });
    showEditing(true);
    show("nothing-yet");
  });
}

async function suggest(store, model) {
  asked.abort();
  const mine = (asked = new AbortController());
  clearProblem(PROBLEM);
  try {
    const text = checkedText(model.limits.max_text_chars);
    show("waiting");
    const answer = await api.predict(text, CANDIDATES, mine.signal);
    findPlaces(text, answer.candidates);
    const { text: before, verdicts, threshold } = store.state;
    // What was said of a text holds as long as the text is the same.
    store.set({ ...UNREAD, text, answer, threshold, verdicts: text === before ? verdicts : UNREAD.verdicts });
    showEditing(false);
    show("found");
    focusFirst();
    const strange = isStrange(store.state) ? "The model knows no word of this text. " : "";
    announce(`${strange}${counted(suggested(store.state).length, "label")} suggested.`);
  } catch (error) {
    if (error.name === "AbortError") return; // a later request has taken its place
    show("nothing-yet");
    showProblem(PROBLEM, error);
    find("text").focus();
  }
}

/** Show one of the three faces of the labels' card. */
function show(face) {
  for (const name of ["nothing-yet", "waiting", "found"]) find(name).hidden = name !== face;
  const busy = face === "waiting";
  find("label-card").setAttribute("aria-busy", String(busy));
  find("ask").disabled = busy;
  find("ask").textContent = busy ? "Reading…" : "Suggest labels";
  if (face !== "found") find("label-count").textContent = "";
}
