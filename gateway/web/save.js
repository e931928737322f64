// save: what the page shows, as a file. The file is made here, from what the page already has; nothing is requested.
import { el, visible } from "/dom.js";

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// A cell that begins as a formula is text in a spreadsheet, too.
function cell(value) {
  const text = visible(value);
  return `"${(/^[=+\-@]/.test(text) ? `'${text}` : text).replaceAll("\"", "\"\"")}"`;
}

export function saveCsv(name, heads, rows) {
  save(`${name}.csv`, "text/csv", [heads, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join(""));
}

export function saveJson(name, value) {
  save(`${name}.json`, "application/json", `${JSON.stringify(value, null, 2)}\n`);
}
