// The key that some servers ask for. It is asked of the person once and kept as long as the tab is open.

import { find } from "./dom.js";
import { Problem } from "./problem.js";

const NAME = "seq2set-key";
let key = read();
let asking = null;

function read() {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

function keep(value) {
  key = value;
  try {
    sessionStorage.setItem(NAME, value);
  } catch {
    // It is then asked for again after a reload.
  }
}

/** Headers with the key, if there is one; as the bytes of UTF-8, for headers hold no other characters. */
export function keyHeaders() {
  return key ? { "X-API-Key": String.fromCharCode(...new TextEncoder().encode(key)) } : {};
}

/** Ask for the key; those who ask at the same time share one dialog. */
export function askForKey() {
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}

function ask() {
  const dialog = find("key-dialog");
  if (key) find("key-says").textContent = "That key was not the right one. Please try another.";
  find("key").value = "";
  dialog.showModal();
  return new Promise((resolve, reject) => {
    find("key-form").onsubmit = (event) => {
      event.preventDefault();
      keep(find("key").value);
      dialog.onclose = null;
      dialog.close();
      resolve();
    };
    find("key-cancel").onclick = () => dialog.close();
    dialog.onclose = () => {
      reject(new Problem("Nothing can be done without the key.", "Reload the page to enter it."));
    };
  });
}
