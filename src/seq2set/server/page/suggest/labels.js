// Labels as chips: a name with its score, and what a person says of it.

import { arrange, find, icon, make } from "../dom.js";
import { count, counted, percent } from "../numbers.js";
import { sentence } from "../problem.js";
import { inWords } from "./evidence.js";
import { added, considered, isStrange, judged, litLabel, suggested } from "./session.js";

const MARKS = {
  accept: "Tested: labels that score so high can be accepted without a look.",
  review: "Look at it before you accept it.",
};
let chips = new Map(); // "list label" -> element
let drawn = null;

/** Keep the three lists of chips as the state says. */
export function startLabels(store, model) {
  find("score-meaning").textContent = meaning(model);
  store.watch((state) => {
    if (!state.answer) return;
    if (state.answer !== drawn) chips = new Map();
    drawn = state.answer;
    fill(store, "suggested", suggested(state));
    fill(store, "added", added(state));
    fill(store, "considered", considered(state));
    summarise(state);
  });
  for (const name of ["suggested", "added", "considered"]) {
    find(name).addEventListener("keydown", (event) => pressed(store, event));
  }
}

/** Say in one line what the number beside a label means. */
function meaning(model) {
  if (!model.calibrated) return "Scores are not calibrated: 90\u202f% need not be right 9 times in 10.";
  const accepted = model.accepted ? ` ${sentence(model.accepted)}` : "";
  return `90\u202f% means: such labels are right about 9 times in 10.${accepted}`;
}

/** Put the focus on the first label, or on the title where there is none. */
export function focusFirst() {
  (document.querySelector("#suggested .name") ?? find("label-title")).focus();
}

function fill(store, list, shown) {
  const elements = shown.map((one) => {
    const key = `${list} ${one.label}`;
    if (!chips.has(key)) chips.set(key, chip(store, list, one));
    update(chips.get(key), store.state, one.label);
    return chips.get(key);
  });
  arrange(find(list), elements);
}

function summarise(state) {
  const shown = suggested(state).length;
  const others = considered(state, Infinity).length;
  find("label-count").textContent = `${counted(shown, "label")} suggested`;
  const strange = shown === 0 && isStrange(state);
  find("nothing-known").hidden = !strange;
  find("none-suggested").hidden = shown > 0 || strange;
  find("added-part").hidden = added(state).length === 0;
  find("considered-part").hidden = others === 0;
  find("considered-count").textContent = others > 12 ? `the next 12 of ${count(others)}` : "";
}

function chip(store, list, one) {
  const item = make("li", { className: "chip" });
  item.dataset.label = one.label;
  if (one.score !== undefined) item.style.setProperty("--score", one.score);
  item.append(nameButton(store, list, one), ...verdictButtons(store, list, one.label));
  item.addEventListener("pointerenter", () => store.set({ pointed: one.label }));
  item.addEventListener("pointerleave", () => store.set({ pointed: null }));
  item.addEventListener("focusin", () => store.set({ focused: one.label }));
  item.addEventListener("focusout", () => store.set({ focused: null }));
  return item;
}

function nameButton(store, list, one) {
  const button = make("button", { type: "button", className: "name" }, make("span", {}, one.label));
  if (one.score !== undefined) button.append(" ", make("span", { className: "score" }, percent(one.score)));
  // What was not suggested is looked at anyway, by whoever adds it.
  if (one.mark && list === "suggested") button.append(" ", make("span", { className: `mark ${one.mark}`, title: MARKS[one.mark] }, one.mark));
  button.setAttribute("aria-description", inWords(one, percent) || "no words to show");
  button.addEventListener("click", () => {
    store.set({ pinned: store.state.pinned === one.label ? null : one.label });
  });
  return button;
}

function verdictButtons(store, list, label) {
  const judge = (verdict) => store.set({ verdicts: judged(store.state.verdicts, label, verdict) });
  const button = (drawing, verb, verdict) => {
    const made = make("button", { type: "button", className: `verdict ${verdict}`, title: verb }, icon(drawing));
    made.setAttribute("aria-label", `${verb} ${label}`);
    made.addEventListener("click", () => judge(verdict));
    return made;
  };
  if (list === "added") return [button("cross", "Remove", "yes")];
  if (list === "considered") return [button("plus", "Add", "yes")];
  return [button("check", "Accept", "yes"), button("cross", "Reject", "no")];
}

function update(item, state, label) {
  const verdict = state.verdicts.get(label);
  item.dataset.verdict = verdict ?? "none";
  item.classList.toggle("lit", litLabel(state) === label);
  item.querySelector(".name").setAttribute("aria-pressed", String(state.pinned === label));
  const no = item.querySelector(".no");
  if (!no) return; // only what is suggested can be accepted or rejected
  no.setAttribute("aria-pressed", String(verdict === "no"));
  item.querySelector(".yes").setAttribute("aria-pressed", String(verdict === "yes"));
}

function pressed(store, event) {
  const item = event.target.closest(".chip");
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const items = [...event.currentTarget.children];
  const place = items.indexOf(item);
  const steps = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1 };
  const to = { ...steps, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    items[Math.min(Math.max(to, 0), items.length - 1)].querySelector(".name").focus();
  } else if (event.key === "Escape") store.set({ pinned: null });
  else judgeByKey(item, items, event);
}

function judgeByKey(item, items, event) {
  const wanted = { a: ".yes", r: ".no" }[event.key.toLowerCase()];
  const button = wanted && item.querySelector(wanted);
  if (!button) return;
  event.preventDefault();
  const next = items[items.indexOf(item) + 1] ?? items[items.indexOf(item) - 1];
  button.click();
  // A chip that has gone to another list leaves the focus to its neighbour.
  if (!item.isConnected) next?.querySelector(".name").focus();
}
