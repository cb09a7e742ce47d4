// Tables as text, with the quotation marks that cells need.

const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

const line = (row) => `${row.map((cell) => quoted(String(cell))).join(",")}\r\n`;

/** Write rows of cells as CSV. */
export const writeCsv = (rows) => rows.map(line).join("");

/** Read rows of cells; a row that the text breaks off in the middle of is left out. */
export function readCsv(text, delimiter = ",") {
  const rows = [];
  let [row, cell, inside] = [[], "", false];
  for (let place = 0; place < text.length; place += 1) {
    const character = text[place];
    if (inside) {
      if (character !== '"') cell += character;
      else if (text[place + 1] === '"') (cell += '"'), (place += 1);
      else inside = false;
    } else if (character === '"') inside = true;
    else if (character === delimiter) row.push(cell), (cell = "");
    else if (character === "\n") {
      row.push(cell.replace(/\r$/, ""));
      if (row.length > 1 || row[0] !== "") rows.push(row);
      [row, cell] = [[], ""];
    } else cell += character;
  }
  return rows;
}
