// Adding a label: a box that completes names as the ARIA practices have it.

import * as api from "../api.js";
import { announce, find, make } from "../dom.js";
import { count, counted } from "../numbers.js";
import { Problem } from "../problem.js";

const WAIT = 120; // milliseconds after the last key
let asked = new AbortController();
let timer = 0;
let active = -1;

/** Make the box complete names; a chosen label becomes one that is right. */
export function startAddLabel(store) {
  const box = find("add");
  const choose = (label) => {
    add(store, label);
    box.value = "";
    close();
    box.focus();
  };
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => complete(box.value.trim(), choose), WAIT);
  });
  box.addEventListener("keydown", (event) => pressed(event, choose));
  box.addEventListener("blur", close);
}

function add(store, label) {
  const verdicts = new Map(store.state.verdicts);
  verdicts.set(label, "yes");
  store.set({ verdicts });
  announce(`${label} added.`);
}

async function complete(typed, choose) {
  asked.abort();
  asked = new AbortController();
  if (!typed) return close();
  let found = [];
  try {
    found = (await api.labels(typed, 8, 0, asked.signal)).labels;
  } catch (error) {
    // Names can be typed whole where the server cannot complete them.
    if (!(error instanceof Problem)) return undefined;
  }
  return open(typed, found, choose);
}

function open(typed, found, choose) {
  const exact = found.some((one) => one.label.toLowerCase() === typed.toLowerCase());
  const options = found.map((one) => option(one.label, `in ${counted(one.frequency, "text")}`, choose));
  if (!exact) options.push(option(typed, "new to the model", choose));
  options.forEach((one, place) => {
    one.id = `completion-${place}`;
  });
  find("completions").replaceChildren(...options);
  find("completions").hidden = false;
  find("add").setAttribute("aria-expanded", "true");
  point(-1);
  announce(found.length ? `${count(found.length)} labels match.` : "No label of the model matches.");
}

function option(label, about, choose) {
  const made = make("li", { role: "option" }, make("span", {}, label), make("small", {}, about));
  made.dataset.label = label;
  made.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // or the box would lose the focus, and close the list before the choice
    choose(label);
  });
  return made;
}

function close() {
  clearTimeout(timer);
  asked.abort();
  find("completions").hidden = true;
  find("add").setAttribute("aria-expanded", "false");
  point(-1);
}

function point(place) {
  const options = [...find("completions").children];
  active = place;
  options.forEach((one, number) => one.setAttribute("aria-selected", String(number === place)));
  if (place < 0) find("add").removeAttribute("aria-activedescendant");
  else {
    find("add").setAttribute("aria-activedescendant", options[place].id);
    options[place].scrollIntoView({ block: "nearest" });
  }
}

function pressed(event, choose) {
  const options = [...find("completions").children];
  const isOpen = !find("completions").hidden;
  if (event.key === "Escape" && isOpen) close();
  else if (event.key === "Enter") enter(event.target.value.trim(), options, isOpen, choose);
  else if (isOpen && event.key === "ArrowDown") point((active + 1) % options.length);
  else if (isOpen && event.key === "ArrowUp") point((active <= 0 ? options.length : active) - 1);
  else return;
  event.preventDefault();
}

/** Take what is pointed at, or what is typed; the model's own spelling where it only differs in case. */
function enter(typed, options, isOpen, choose) {
  const names = isOpen ? options.map((one) => one.dataset.label) : [];
  const same = names.find((name) => name.toLowerCase() === typed.toLowerCase());
  const label = isOpen && active >= 0 ? names[active] : (same ?? typed);
  if (label) choose(label);
}
