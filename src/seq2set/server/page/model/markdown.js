// The little Markdown that model cards are written in, as elements; nothing in it can become code.

import { make } from "../dom.js";

/** Turn Markdown into elements: headings, paragraphs, lists, tables and code. */
export function elements(markdown) {
  const lines = markdown.split("\n");
  const found = [];
  while (lines.length) {
    const kind = KINDS.find((one) => one.starts.test(lines[0]));
    if (kind) found.push(kind.take(lines));
    else if (lines[0].trim()) found.push(make("p", {}, ...inline(until(lines, /^\s*$|^[#|`-]/).join(" "))));
    else lines.shift();
  }
  return found;
}

const KINDS = [
  { starts: /^```/, take: code },
  { starts: /^#{1,6} /, take: heading },
  { starts: /^\|/, take: table },
  { starts: /^- /, take: list },
];

/** Take lines off the front, at least one, up to one that matches. */
function until(lines, stop) {
  const taken = [lines.shift()];
  while (lines.length && !stop.test(lines[0])) taken.push(lines.shift());
  return taken;
}

function code(lines) {
  const [, ...inner] = until(lines, /^```/);
  lines.shift();
  return make("pre", { tabIndex: 0 }, make("code", {}, inner.join("\n")));
}

/** The page has its own first heading, so those of a card begin one below the card's. */
function heading(lines) {
  const [, marks, words] = /^(#+) (.*)$/.exec(lines.shift());
  return make(marks.length === 1 ? "h3" : "h4", {}, ...inline(words));
}

function list(lines) {
  const items = until(lines, /^(?!- )/).map((line) => make("li", {}, ...inline(line.slice(2))));
  return make("ul", {}, ...items);
}

function table(lines) {
  const cells = (line) => line.replace(/^\||\|\s*$/g, "").split("|").map((cell) => cell.trim());
  const [head, , ...body] = until(lines, /^(?!\|)/).map(cells);
  const rows = body.map(([first, ...rest]) => {
    const values = rest.map((cell) => make("td", {}, ...inline(cell)));
    return make("tr", {}, make("th", { scope: "row" }, ...inline(first)), ...values);
  });
  const names = make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)));
  const top = head.some(Boolean) ? [make("thead", {}, names)] : [];
  return make("table", {}, ...top, make("tbody", {}, ...rows));
}

function inline(words) {
  const parts = words.split(/(`[^`]+`)/).filter(Boolean);
  return parts.map((part) => (/^`.+`$/.test(part) ? make("code", {}, part.slice(1, -1)) : part));
}
