// Elements: found, made, and filled.

export const find = (id) => document.getElementById(id);

/** Make an element with properties (or attributes, where there is no such property) and children. */
export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Make one of the drawings that the page holds, which says nothing to a screen reader. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#icon-${name}`);
  drawing.append(use);
  return drawing;
}

/** Bring a list's children into an order without touching those in place: a focused one keeps the focus. */
export function arrange(list, children) {
  const wanted = new Set(children);
  for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
  children.forEach((child, place) => {
    if (list.children[place] !== child) list.insertBefore(child, list.children[place] ?? null);
  });
}

/** Tell screen readers something that the page shows by itself. */
export function announce(sentence) {
  find("announce").textContent = sentence;
}
