// Feedback: what was accepted, rejected and added is sent, and the server says that it is kept.

import * as api from "../api.js";
import { find } from "../dom.js";
import { count } from "../numbers.js";
import { clearProblem, showProblem } from "../problem.js";
import { sorted } from "./session.js";

let sent = null; // what was sent last, so that nothing is sent twice by mistake

/** Make the buttons work, or say that this server keeps no feedback. */
export function startFeedback(store, model) {
  find("feedback-off").hidden = model.feedback;
  find("feedback-on").hidden = !model.feedback;
  find("send").addEventListener("click", () => send(store));
  find("accept-rest").addEventListener("click", () => acceptRest(store));
  store.watch((state) => {
    if (state.answer) show(state);
  });
}

function body(state) {
  const { accepted, rejected, added } = sorted(state);
  return { text: state.text, accepted, rejected, added };
}

function show(state) {
  const said = sorted(state);
  const parts = ["accepted", "rejected", "added", "undecided"].map((kind) => `${count(said[kind].length)} ${kind}`);
  const left = said.undecided.length ? " Undecided labels are left out." : "";
  const decided = said.accepted.length + said.rejected.length + said.added.length;
  find("feedback-counts").textContent = `${parts.join(", ")}.${left}`;
  find("accept-rest").hidden = said.undecided.length === 0;
  const again = sent === JSON.stringify(body(state));
  find("send").disabled = again || (decided === 0 && said.undecided.length > 0);
  if (!again) find("feedback-says").textContent = "";
}

function acceptRest(store) {
  const verdicts = new Map(store.state.verdicts);
  for (const label of sorted(store.state).undecided) verdicts.set(label, "yes");
  find("send").focus();
  store.set({ verdicts });
  find("send").focus();
}

async function send(store) {
  const said = body(store.state);
  clearProblem("feedback-problem");
  find("send").disabled = true;
  find("feedback-says").textContent = "Sending…";
  try {
    const { id } = await api.feedback(said);
    sent = JSON.stringify(said);
    show(store.state);
    find("feedback-says").textContent = `Thank you. Saved as number ${count(id)}.`;
  } catch (error) {
    show(store.state);
    showProblem("feedback-problem", error, () => send(store));
  }
}
