import { Chart } from "/chart.js";
import { byId, bytes, el, plural, say, spread, visible } from "/dom.js";
import { about, askJson, commandOf } from "/log.js";
import { Refused } from "/refused.js";
import { saveCsv } from "/save.js";
import { Search } from "/search.js";
import { enter, isCapability } from "/stream.js";

const day = 86400000;
const tabs = { overview: "Overview", records: "Records", run: "Runs", host: "Hosts", program: "Programs", person: "People", rule: "Rules" };
const search = new Search(() => show("records"));

let open = "overview"; // a tab
let turn = 0; // an answer to an earlier question is not shown
let saved = null; // what a file of the tab holds

function close(title, text) {
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  byId("log-page").hidden = true;
  byId("closed").hidden = false;
  say(byId("closed-title"), title);
  say(byId("closed-text"), text);
}

function refused(error) {
  if (Refused.only(error).status === 0)
    close("The page cannot reach its server", "Check that `sallyport audit serve` has not ended.");
  else
    close("The server refused this page", error.message);
}

function since() {
  return byId("since").value ? { since: byId("since").value } : { since: "36500d" }; // without one, a report is about 7 days
}

const numbers = (row) => ["allowed", "denied", "unanswered", "failed", "connections"].map((name) => row[name].toLocaleString("en"));

async function drawOverview(place) {
  const [summary, days, hosts] = await Promise.all([askJson({ ask: "summary", words: since() }),
    askJson({ ask: "report", words: { by: "day", ...since() } }), askJson({ ask: "report", words: { by: "host", ...since() } })]);
  const sum = summary.value, chart = new Chart();
  const values = [["Runs", sum.runs], ["Commands", sum.commands], ["Allowed", sum.allowed], ["Denied", sum.denied], ["Unanswered", sum.unanswered],
    ["Failed", sum.failed], ["Answered by people", sum.answered], ["Hosts", sum.hosts], ["New hosts", sum.new_hosts], ["Connections", sum.connections]];
  for (const row of days.value.rows)
    chart.addDay(Date.parse(row.key), { allowed: row.allowed, denied: row.denied + row.unanswered, failed: row.failed, up: row.bytes_up, down: row.bytes_down });
  const denied = hosts.value.rows.filter((row) => row.denied + row.unanswered > 0).sort((a, b) => b.denied + b.unanswered - a.denied - a.unanswered).slice(0, 10);
  place.replaceChildren(el("dl", { class: "sums" },
    ...values.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: "mono" }, value.toLocaleString("en")))),
    ...[["Up", sum.bytes_up], ["Down", sum.bytes_down]].map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", { class: "mono" }, bytes(value))))),
  chart.node, el("h2", {}, "Denied most"), denied.length === 0 ? el("p", { class: "empty" }, "Nothing was denied.") : reportTable("host", denied));
  chart.draw();
  return { said: `${plural(sum.records, "record", "records")} from ${sum.since_utc} to ${sum.until_utc}. Days are those of UTC.`, notes: summary.notes,
    heads: Object.keys(days.value.rows[0] ?? {}), rows: days.value.rows.map(Object.values), command: { ask: "report", words: { by: "day", ...since() } } };
}

function reportTable(by, rows) {
  const heads = [tabs[by] ?? by, "Allowed", "Denied", "Unanswered", "Failed", "Connections", "Up", "Down", "Last"];
  // "(no rule: default_deny)" cannot be searched for.
  const key = (row) => row.key.startsWith("(") ? visible(row.key)
    : el("button", { type: "button", class: "mono", onclick: () => search.only({ [by]: row.key }) }, ...spread(visible(row.key)));
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, ...heads.map((head, at) => el("th", { scope: "col", class: at > 0 && at < 8 ? "number" : null }, head)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, el("th", { scope: "row" }, key(row)),
      ...numbers(row).map((text, at) => el("td", { class: at === 1 && row.denied > 0 ? "number mono has-denied" : "number mono" }, text)),
      el("td", { class: "number mono" }, bytes(row.bytes_up)), el("td", { class: "number mono" }, bytes(row.bytes_down)),
      el("td", { class: "time mono" }, row.last_local.slice(0, 19)))))));
}

const most = 2000; // rows on the page; a file has all

async function drawReport(by, place) {
  const question = { ask: "report", words: { by, ...since() } };
  const { value, notes } = await askJson(question);
  place.replaceChildren(value.rows.length === 0 ? el("p", { class: "empty" }, "No decision was recorded in this time.") : reportTable(by, value.rows.slice(0, most)));
  return { said: `${plural(value.rows.length, "row", "rows")}, the busiest first${value.rows.length > most ? `; the first ${most} are shown, a file has all` : ""}`,
    notes, heads: Object.keys(value.rows[0] ?? {}), rows: value.rows.map(Object.values), command: question };
}

function note(text, isBad) {
  byId("notes").hidden = text === "";
  byId("notes").classList.toggle("bad", isBad);
  byId("notes").textContent = text.trimEnd().split("\n").map(visible).join("\n");
}

async function show(tab, isAsked = false) {
  const mine = ++turn, place = byId("panel"), words = search.words(byId("since").value);
  open = tab;
  byId("search").hidden = tab !== "records";
  for (const name of Object.keys(tabs)) {
    byId(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
    byId(`tab-${name}`).tabIndex = name === tab ? 0 : -1;
  }
  if (isAsked)
    byId(`tab-${tab}`).focus();
  place.setAttribute("aria-labelledby", `tab-${tab}`);
  place.setAttribute("aria-busy", "true");
  say(byId("said-state"), "Reading the log");
  const drawn = el("div", {});
  let result;
  try {
    result = tab === "overview" ? await drawOverview(drawn) : tab === "records" ? await search.draw(words, drawn) : await drawReport(tab, drawn);
  } catch (error) {
    if (error instanceof Refused && (error.status === 0 || error.status === 401))
      return refused(error);
    result = { said: "There is no answer.", notes: error.message, heads: [], rows: [], isBad: true };
  }
  if (mine !== turn)
    return;
  place.replaceChildren(drawn);
  place.setAttribute("aria-busy", "false");
  say(byId("said-state"), result.said);
  note(result.notes, result.isBad === true);
  say(byId("command"), commandOf(result.command ?? { ask: tab === "records" ? "query" : "report", words: tab === "records" ? words : { by: tab, ...since() } }));
  saved = { name: `sallyport-audit-${tab}`, heads: result.heads, rows: result.rows };
  byId("save").hidden = result.rows.length === 0;
}

// The state of the chain, as `audit verify` finds it now.
async function verify() {
  const state = byId("state");
  byId("verify").disabled = true;
  say(state, "Checking the chain");
  state.dataset.state = "wait";
  try {
    const { value } = await askJson({ ask: "verify" });
    const file = Array.isArray(value) ? value[0] : value.files?.[0] ?? value;
    state.dataset.state = file.state === "unbroken" ? "open" : "closed";
    say(state, `Chain ${file.state}, ${plural(file.records ?? 0, "record", "records")}`);
    note(file.error ?? file.note ?? "", file.state !== "unbroken");
  } catch (error) {
    state.dataset.state = "closed";
    say(state, "Not checked");
    note(error.message, true);
  }
  byId("verify").disabled = false;
}

const list = document.querySelector("[role=tablist]");
for (const [name, label] of Object.entries(tabs))
  list.append(el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", tabindex: "-1", onclick: () => show(name) }, label));
list.addEventListener("keydown", (event) => {
  const names = Object.keys(tabs), at = names.indexOf(event.target.id.slice(4));
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
  if (to === undefined)
    return;
  event.preventDefault();
  show(names[(to + names.length) % names.length], true);
});
byId("panel").setAttribute("role", "tabpanel");
byId("since").addEventListener("change", () => show(open));
byId("verify").addEventListener("click", verify);
byId("save").addEventListener("click", () => saveCsv(saved.name, saved.heads, saved.rows));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("panel").focus();
});
// "/" goes to the search, as in other programs.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, dialog") || byId("log-page").hidden)
    return;
  event.preventDefault();
  if (open !== "records")
    show("records");
  byId("host").focus();
});
addEventListener("hashchange", () => {
  if (isCapability(location.hash.slice(1)))
    location.reload();
});

try {
  if (await enter()) {
    say(byId("log"), (await about()).log);
    byId("closed").hidden = true;
    byId("log-page").hidden = false;
    await show("overview");
  } else
    close("Open the address that was printed", "`sallyport audit serve` printed an address that ends in a long code. This page opens with that code only.");
} catch (error) {
  refused(error);
}
