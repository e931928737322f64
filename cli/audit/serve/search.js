// search: the form of the records, their table, and the dialog with one of them.
import { byId, bytes, el, plural, say, spread, visible } from "/dom.js";
import { askJson, askRecords, askText } from "/log.js";

const fields = ["host", "domain", "program", "person", "rule", "run", "session", "verdict", "event"];
const events = ["decision", "closed", "approval", "answer", "granted", "revoked", "start", "exec_start", "exec_end", "end", "gap"];
const marks = { allow: "badge allow", deny: "badge deny", unanswered: "badge risk", failed: "badge risk" };

byId("event").append(...events.map((name) => el("option", {}, name)));

export function whatOf(record) {
  if (!record.host)
    return record.command;
  const host = record.host.includes(":") ? `[${record.host}]` : record.host;
  return `${record.protocol}://${host}:${record.port}`;
}

function detailsOf(record) {
  const parts = [record.reason, record.by && `by ${record.by}`, Number(record.times) > 1 && `${record.times} times`, record.rule,
    record.event === "closed" && `${bytes(Number(record.bytes_up))} up, ${bytes(Number(record.bytes_down))} down`];
  return parts.filter(Boolean).join(", ");
}

export class Search {
  // @changed: the form was submitted.
  constructor(changed) {
    this.changed = changed;
    byId("search").addEventListener("submit", (event) => {
      event.preventDefault();
      changed();
    });
    byId("clear").addEventListener("click", () => this.only({}));
    byId("record-close").addEventListener("click", () => byId("record").close());
    byId("record-run").addEventListener("click", () => this.only({ run: this.open.run }));
    byId("record-host").addEventListener("click", () => this.only({ host: this.open.host }));
  }

  // Empties the form but for @words, and searches.
  only(words) {
    byId("record").close();
    fields.forEach((name) => (byId(name).value = words[name] ?? ""));
    this.changed();
  }

  words(since) {
    const words = Object.fromEntries(fields.map((name) => [name, byId(name).value.trim()]).filter(([, value]) => value !== ""));
    return { ...words, ...(since ? { since } : {}), limit: byId("limit").value };
  }

  async draw(words, place) {
    const { records, notes } = await askRecords(words);
    const heads = ["Time", "Verdict", "What", "Program", "Details", "Record"];
    const rows = records.map((record) => el("tr", {},
      el("td", { class: "time mono" }, record.time_local.slice(0, 19)),
      el("td", {}, el("span", { class: marks[record.verdict] ?? "dim" }, visible(record.verdict || record.event))),
      el("th", { scope: "row", class: "mono" }, ...spread(visible(whatOf(record)))),
      el("td", { class: "long" }, visible(record.program || record.command)),
      el("td", { class: "long" }, visible(detailsOf(record))),
      el("td", { class: "id" }, el("button", { type: "button", class: "mono", onclick: () => this.show(record) }, visible(record.id)))));
    const words_ = records.length === 0 ? "No record matches." : `${plural(records.length, "record", "records")}, the newest first`
      + (records.length === Number(words.limit) ? "; older ones are left out: raise “At most”, or search for less" : "");
    place.replaceChildren(el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, ...rows))));
    return { said: words_, notes, heads: Object.keys(records[0] ?? {}), rows: records.map(Object.values) };
  }

  async show(record) {
    this.open = record;
    say(byId("record-title"), `Record ${record.id}`);
    say(byId("record-why"), "Reading");
    byId("record-members").replaceChildren();
    byId("record-host").hidden = !record.host;
    byId("record-run").hidden = !record.run;
    byId("record").showModal();
    const [why, whole] = await Promise.allSettled([askText({ ask: "why", record: record.id }), askJson({ ask: "show", record: record.id })]);
    if (this.open !== record)
      return;
    byId("record-why").textContent = why.status === "fulfilled" ? visibleLines(why.value.text) : `${record.verdict || record.event}: ${visible(whatOf(record))}`;
    if (whole.status === "fulfilled")
      byId("record-members").replaceChildren(...Object.entries(whole.value.value).map(([name, value]) => el("div", {},
        el("dt", {}, visible(name)), el("dd", { class: "mono" }, visible(typeof value === "string" ? value : JSON.stringify(value))))));
    else
      byId("record-members").replaceChildren(el("div", {}, visible(whole.reason.message)));
  }
}

function visibleLines(text) {
  return text.trimEnd().split("\n").map(visible).join("\n");
}
