// Files that are dropped on a card.

/** Hand the first file that is dropped on an element over; the element shows that it would take it. */
export function takeDrops(element, take) {
  let depth = 0; // dragenter and dragleave come from the children, too
  const show = (change) => {
    depth = Math.max(0, depth + change);
    element.classList.toggle("dropping", depth > 0);
  };
  const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  element.addEventListener("dragenter", (event) => files(event) && show(1));
  element.addEventListener("dragleave", (event) => files(event) && show(-1));
  element.addEventListener("drop", (event) => {
    if (!files(event)) return;
    event.preventDefault();
    show(-depth);
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
  });
}

/** Keep the browser from leaving the page for a file that misses its card. */
export function guardWindow() {
  for (const name of ["dragover", "drop"]) {
    addEventListener(name, (event) => {
      if ([...(event.dataTransfer?.types ?? [])].includes("Files")) event.preventDefault();
    });
  }
}
