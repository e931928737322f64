// log: asks the commands of `sallyport audit`, and reads what they print.
import { visible } from "/dom.js";
import { post } from "/stream.js";

const patience = 130000; // an answer may have to read the whole log first

let path = "";

export async function about() {
  const { log, version } = await post("/api/about", {});
  path = log;
  return { log, version };
}

// A word as a shell reads it.
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// What a person types for the same answer.
export function commandOf({ ask, words = {}, record }) {
  const options = Object.entries(words).map(([name, value]) => `--${name}=${quoted(value)}`);
  const rest = ask === "verify" ? [quoted(path)] : [`--audit=${quoted(path)}`, ...(record ? [quoted(record)] : [])];
  return visible(["sallyport audit", ask, ...options, ...rest].join(" "));
}

// {out, notes, status} of the command. A command that failed is an error with its words.
async function printed(question) {
  const answer = await post("/api/ask", question, patience);
  if (answer.status > 1 && question.ask !== "verify")
    throw new Error(answer.notes.trim() || `the command ended with ${answer.status}`);
  return answer;
}

// {value, notes} of a command that prints JSON.
export async function askJson(question) {
  const { out, notes } = await printed(question);
  return { value: JSON.parse(out), notes };
}

export async function askText(question) {
  const { out, notes } = await printed(question);
  return { text: out, notes };
}

// Rows of RFC 4180.
export function parseCsv(text) {
  const rows = [];
  let row = [], cell = "", isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const c = text[at];
    if (isQuoted && c === "\"" && text[at + 1] === "\"")
      cell += text[++at];
    else if (c === "\"")
      isQuoted = !isQuoted;
    else if (isQuoted || (c !== "," && c !== "\r" && c !== "\n"))
      cell += c;
    else if (c === ",")
      [row, cell] = [[...row, cell], ""];
    else if (c === "\n") {
      rows.push([...row, cell]);
      [row, cell] = [[], ""];
    }
  }
  return rows;
}

// The records of `audit query`, the newest first, each with the names of its columns.
export async function askRecords(words) {
  const { out, notes } = await printed({ ask: "query", words });
  const [names, ...rows] = parseCsv(out);
  // A cell that begins as a formula has an apostrophe for spreadsheets.
  const plain = (text) => text.replace(/^'(?=[=+\-@\t\r])/, "");
  return { records: rows.map((row) => Object.fromEntries(names.map((name, at) => [name, plain(row[at] ?? "")]))).reverse(), notes };
}
