// Saving to a file, or copying to the clipboard.

import { make } from "./dom.js";

/** Offer a blob as a file. */
export function download(blob, name) {
  const address = URL.createObjectURL(blob);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Copy a text; the newer way is closed to pages that come over plain HTTP from another machine. */
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = make("textarea", { value: text, className: "unseen" });
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (!done) throw new Error("the browser does not let the page copy");
  return undefined;
}
