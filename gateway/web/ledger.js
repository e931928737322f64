// ledger: the panels with connections, grants, denials, totals and the timeline.
import { Chart } from "/chart.js";
import { byId, bytes, clock, duration, el, offerUndo, plural, say, spread, tell, visible } from "/dom.js";
import { Refused } from "/refused.js";
import { saveCsv } from "/save.js";
import { guard, isReady, moved } from "/shown.js";
import { post } from "/stream.js";

const kept = 300; // rows of the timeline and of the denials, on the page and in a file
const names = { live: "Live", grants: "Grants", denials: "Denials", totals: "Totals", timeline: "Timeline" };
const empty = {
  live: "No connection is open.",
  grants: "Nothing has been granted. Answers for longer than once are listed here and can be revoked.",
  denials: "Nothing was denied.",
  totals: "No destination has been asked for yet.",
  timeline: "Nothing has happened yet.",
};

// After these, asking again can lead to a question; after the others policy, or a stored answer, denies again.
const askable = ["denied_once", "denied_review", "no_approver", "prompt_timeout", "approver_gone", "overloaded", "withdrawn", "client_left", "aborted"];
const stored = ["denied_exec", "denied_session", "denied_always"];

// What a file of each tab holds.
const columns = {
  live: ["to", "since_s", "way", "rule", "grant", "exec"],
  grants: ["action", "text", "scope", "by", "from", "since_s", "until_s", "connections", "live", "up", "down"],
  denials: ["at", "to", "reason", "sentence", "by", "rule", "because", "line", "cause", "exec"],
  totals: ["to", "allowed", "denied", "unanswered", "failed", "connections", "up", "down"],
  timeline: ["at", "event", "action", "to", "by", "reason", "rule", "command", "how", "cause", "up", "down", "ms", "exec"],
};

const spans = { exec: "for the command", session: "for the session", always: "always" };

export class Ledger {
  // @asked: called with a destination that the gate is told to ask for again; null: it does not.
  constructor(asked) {
    this.asked = asked;
    this.chart = new Chart();
    this.data = Object.fromEntries(Object.keys(names).map((key) => [key, { list: [], count: 0 }]));
    this.seen = { denials: -1, timeline: -1 }; // the last number: a new connection sends all of them again
    this.rows = { live: new Map(), grants: new Map(), totals: new Map() };
    this.denials = new Map();
    this.panels = {};
    this.tabs = {};
    this.skew = 0;
    for (const [key, label] of Object.entries(names)) {
      const count = el("span", { class: "count" });
      this.tabs[key] = el("button", { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `panel-${key}`, tabindex: "-1",
        onclick: () => this.show(key, true) }, label, count);
      this.tabs[key].countNode = count;
      this.panels[key] = el("div", { role: "tabpanel", id: `panel-${key}`, "aria-labelledby": `tab-${key}`, tabindex: "0", hidden: true },
        el("p", { class: "empty" }, empty[key]), key === "totals" ? this.table() : el("ul", { class: `rows ${key}` }), el("p", { class: "more", hidden: true }));
      if (key === "grants")
        this.panels[key].append(this.undo());
      document.querySelector("[role=tablist]").append(this.tabs[key]);
      byId("panels").append(this.panels[key]);
    }
    this.panels.timeline.prepend(this.chart.node);
    byId("said-button").addEventListener("click", () => this.undoLast(byId("said-button")));
    byId("save-csv").addEventListener("click", () => this.save());
    document.querySelector("[role=tablist]").addEventListener("keydown", (event) => this.move(event));
    setInterval(() => this.count(), 1000);
    this.show("live");
  }

  hello(data) {
    this.skew = Date.now() - data.now_ms;
    this.run = data.run;
    this.last = undefined;
  }

  now() {
    return Date.now() - this.skew;
  }

  // The run is over: no connection is open, and the earlier entries stay visible.
  over() {
    this.take("live", { list: [], count: 0 });
    if (!this.panels.live.hidden)
      this.show("timeline");
  }

  show(key, isAsked = false) {
    for (const name of Object.keys(names)) {
      const isShown = name === key;
      this.tabs[name].setAttribute("aria-selected", String(isShown));
      this.tabs[name].tabIndex = isShown ? 0 : -1;
      this.panels[name].hidden = !isShown;
    }
    this.open = key;
    if (key === "timeline")
      this.chart.draw();
    if (isAsked)
      this.tabs[key].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  move(event) {
    const keys = Object.keys(names);
    const at = keys.indexOf(event.target.id.slice(4));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: keys.length - 1 }[event.key];
    if (to === undefined)
      return;
    event.preventDefault();
    const key = keys[(to + keys.length) % keys.length];
    this.show(key, true);
    this.tabs[key].focus();
  }

  counted(key, count) {
    say(this.tabs[key].countNode, count > 0 ? count : "");
    this.panels[key].querySelector(".empty").hidden = count > 0;
  }

  // Updates rows by key: a row that stays keeps its position, its focus and its selection.
  rowsAre(key, list, keyOf, make, update) {
    const rows = this.rows[key], place = this.panels[key].querySelector("ul, tbody");
    const tops = new Map([...rows.values()].map((row) => [row, row.offsetTop]));
    const wanted = new Set(list.map(keyOf));
    for (const [id, row] of rows) {
      if (wanted.has(id))
        continue;
      row.remove();
      rows.delete(id);
    }
    for (const value of list) {
      const id = keyOf(value);
      if (!rows.has(id)) {
        const row = make(value);
        rows.set(id, row);
        place.append(row);
      }
      update(rows.get(id), value);
    }
    for (const row of rows.values()) {
      if (tops.get(row) !== row.offsetTop)
        row.cameAt = performance.now();
    }
  }

  take(key, data) {
    this.data[key] = data;
    if (key === "live")
      this.rowsAre(key, data.list, (live) => live.id, (live) => this.makeLive(live), () => {});
    else if (key === "grants")
      this.rowsAre(key, data.list, (grant) => grant.id, (grant) => this.makeGrant(grant), (row, grant) => row.update(grant));
    else
      this.takeTotals(data);
    this.counted(key, data.count);
    if (key === "grants")
      this.showLast(data.last);
    const more = this.panels[key].querySelector(".more"), hidden = data.count - data.list.length;
    more.hidden = hidden <= 0;
    say(more, `and ${hidden} more`);
    this.count();
  }

  makeLive(live) {
    const age = el("span", { class: "age mono" });
    const cut = el("button", { type: "button", class: "quiet", "aria-label": `Cut ${visible(live.to)}`,
      onclick: () => this.takeBack(cut, "/api/cut", { live: live.id }, () => `Cut: ${live.to}`) }, "Cut");
    const words = [live.grant ? "by an answer" : live.rule && `by ${visible(live.rule)}`, live.way !== "none" && live.way];
    const row = el("li", {}, el("div", { class: "first" }, el("span", { class: "to", dir: "ltr" }, ...spread(visible(live.to))), age, cut),
      el("p", { class: "second" }, words.filter(Boolean).join(" · ")));
    row.count = () => say(age, duration(this.now() - live.since_s * 1000));
    return row;
  }

  makeGrant(grant) {
    const numbers = el("p", { class: "second" }), until = el("span", { class: "age mono" });
    const revoke = el("button", { type: "button", class: "quiet", "aria-label": `${grant.action === "allow" ? "Revoke" : "Forget the denial of"} ${visible(grant.text)}`,
      onclick: () => this.takeBack(revoke, "/api/revoke", { grant: grant.id }, (done) => this.moved("Revoked", grant.text, done)) }, grant.action === "allow" ? "Revoke" : "Forget");
    const row = el("li", {}, el("div", { class: "first" },
      el("span", { class: `badge ${grant.action}` }, grant.action === "allow" ? "allow" : "deny"), el("code", { class: "to", dir: "ltr" }, ...spread(visible(grant.text))), until, revoke), numbers);
    const scope = spans[grant.scope] ?? grant.scope;
    row.update = (now) => {
      grant = now;
      say(numbers, [scope, now.by && `by ${now.by}`, now.from && `copied from ${now.from}`, `since ${clock(now.since_s * 1000)}`,
        now.action === "allow" && `${plural(now.connections, "connection", "connections")}, ${now.live} open`,
        now.action === "allow" && `${bytes(now.up)} up, ${bytes(now.down)} down`].filter(Boolean).join(" · "));
    };
    row.count = () => say(until, grant.until_s > 0 ? `${duration(grant.until_s * 1000 - this.now())} left` : "");
    return row;
  }

  moved(what, text, { cut, up, down }) {
    return `${what}: ${text}${cut > 0 ? `; ${plural(cut, "connection", "connections")} cut, ${bytes(up)} up and ${bytes(down)} down had moved` : ""}`;
  }

  // Not a row that has just moved under the pointer.
  async takeBack(button, path, body, words) {
    const row = button.closest("li");
    if (!isReady() || (row && performance.now() < (row.cameAt ?? 0) + guard))
      return tell("The page has just moved. Read it, and press again.");
    button.disabled = true;
    try {
      tell(words(await post(path, body)), "good");
    } catch (error) {
      tell(Refused.only(error).message, "bad");
    }
    button.disabled = false;
  }

  undo() {
    const button = el("button", { type: "button", class: "undo",
      onclick: () => this.undoLast(button) }, "Undo the last answer");
    this.lastText = el("code", { class: "to", dir: "ltr" });
    return el("p", { class: "undo-line", hidden: true }, button, " ", this.lastText);
  }

  undoLast(button) {
    return this.takeBack(button, "/api/undo", { answer: this.last.answer }, (done) => this.moved("Undone", done.text, done));
  }

  // The answer that undo would revoke. The request names it, and the gate revokes no other.
  showLast(last) {
    const line = this.panels.grants.querySelector(".undo-line");
    const isFirst = this.last === undefined, isOther = last?.answer !== this.last?.answer;
    if (isOther)
      moved();
    this.last = last ?? null;
    line.hidden = !last;
    if (isOther)
      offerUndo(last && !isFirst ? `${last.action} ${last.text} ${spans[last.scope]}` : "");
    this.lastText.replaceChildren(...(last ? spread(visible(`${last.action} ${last.text} ${spans[last.scope]}`)) : []));
  }

  table() {
    const heads = ["Destination", "Allowed", "Denied", "Failed", "Up", "Down"];
    return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((head, at) => el("th", { scope: "col", class: at ? "number" : null }, head)))), el("tbody", {}), el("tfoot", {}, el("tr", {}, el("th", { scope: "row" }, "Sum of all"), ...[0, 1, 2, 3, 4].map(() => el("td", { class: "number mono" }))))));
  }

  takeTotals(data) {
    const list = [...data.list];
    if (data.others.allowed + data.others.denied + data.others.unanswered + data.others.failed > 0)
      list.push({ ...data.others, to: "all others" });
    list.sort((a, b) => b.up + b.down - a.up - a.down || b.allowed - a.allowed);
    this.rowsAre("totals", list, (trip) => trip.to, (trip) => el("tr", {}, el("th", { scope: "row", class: "to", dir: "ltr" }, ...spread(visible(trip.to))),
      ...[0, 1, 2, 3, 4].map(() => el("td", { class: "number mono" }))), (row, trip) => {
      const denied = trip.denied + trip.unanswered;
      [trip.allowed, denied, trip.failed, bytes(trip.up), bytes(trip.down)].forEach((value, at) => say(row.children[at + 1], value === 0 ? "–" : value));
      row.children[2].classList.toggle("has-denied", denied > 0);
    });
    const { sum } = data, foot = this.panels.totals.querySelector("tfoot tr");
    [sum.allowed, sum.denied + sum.unanswered, sum.failed, bytes(sum.up), bytes(sum.down)].forEach((value, at) => say(foot.children[at + 1], value));
    const body = this.panels.totals.querySelector("tbody"), rows = this.rows.totals;
    list.forEach((trip, at) => {
      if (body.children[at] !== rows.get(trip.to))
        body.insertBefore(rows.get(trip.to), body.children[at]);
    });
  }

  // What has not been seen yet of @list. A file holds the newest.
  news(key, list) {
    const news = list.filter(({ n }) => n > this.seen[key]), data = this.data[key];
    this.seen[key] = Math.max(this.seen[key], ...news.map(({ n }) => n));
    data.count += news.length;
    data.list = [...data.list, ...news].slice(-kept);
    return news;
  }

  saved() {
    const { denials, totals, timeline, ...lists } = this.data;
    return { run: this.run, saved_at: new Date(this.now()).toISOString(), ...lists, denials, totals, timeline };
  }

  fileName(what) {
    return `sallyport-${this.run}-${what}`;
  }

  save() {
    const key = this.open, heads = columns[key];
    saveCsv(this.fileName(key), heads, this.data[key].list.map((row) =>
      heads.map((head) => head === "at" ? new Date(row.at).toISOString() : row[head] ?? "")));
  }

  // Equal denials share one row with a count.
  takeDenials(list) {
    const place = this.panels.denials.querySelector("ul");
    for (const event of this.news("denials", list)) {
      const key = `${event.to}\n${event.reason}\n${event.by ?? ""}`;
      let row = this.denials.get(key);
      if (!row) {
        row = this.makeDenial(event);
        this.denials.set(key, row);
      }
      row.add(event);
      place.prepend(row);
    }
    while (place.children.length > kept) {
      const last = place.lastElementChild;
      this.denials.forEach((row, key) => row === last && this.denials.delete(key));
      last.remove();
    }
    this.counted("denials", place.children.length);
  }

  makeDenial(event) {
    const times = el("span", { class: "age mono" }), count = el("span", { class: "badge" });
    const row = el("li", {}, el("div", { class: "first" }, el("span", { class: "to", dir: "ltr" }, ...spread(visible(event.to ?? "no destination"))), count, times, this.allower(event)),
      el("p", { class: "second" }, `${visible(event.sentence ?? event.reason ?? "")}${event.by ? ` By ${visible(event.by)}.` : ""}`, event.cause ? ` ${visible(event.cause)}.` : ""),
      event.rule ? el("p", { class: "second mono" }, visible(event.rule)) : null, event.because && !event.rule?.includes(event.because) ? el("p", { class: "second" }, `Because: ${visible(event.because)}`) : null,
      event.line ? el("p", { class: "second hint" }, "To allow it always, add to a policy file: ", el("code", { dir: "ltr" }, ...spread(visible(event.line))))
        : event.next ? el("p", { class: "second hint" }, visible(event.next)) : null);
    let number = 0;
    row.add = (now) => {
      number++;
      count.hidden = number === 1;
      say(count, `× ${number}`);
      say(times, clock(now.at));
    };
    return row;
  }

  // Leads to a question, which is answered as every other one: nothing is allowed here.
  allower(event) {
    const isStored = stored.includes(event.reason);
    if (!event.to || !(isStored || askable.includes(event.reason)))
      return null;
    const button = el("button", { type: "button", class: "quiet", "aria-label": `Allow ${visible(event.to)}: ask again` }, "Allow…");
    button.addEventListener("click", async () => {
      if (isStored) {
        this.show("grants", true);
        return tell("An answer denies it. Forget that answer here first; then it is asked again.");
      }
      this.asked(event.to);
      let isAsked = false;
      await this.takeBack(button, "/api/propose", { to: event.to, exec: event.exec }, () => {
        isAsked = true;
        return `Asked again: ${event.to}`;
      });
      if (!isAsked)
        this.asked(null);
    });
    return button;
  }

  takeEvents(list) {
    const news = this.news("timeline", list);
    const place = this.panels.timeline.querySelector("ul");
    for (const event of news) {
      place.prepend(this.makeEvent(event));
      this.chart.add(event);
    }
    if (this.open === "timeline")
      this.chart.draw();
    while (place.children.length > kept)
      place.lastElementChild.remove();
    this.counted("timeline", place.children.length);
    say(this.tabs.timeline.countNode, "");
  }

  makeEvent(event) {
    const [kind, text] = this.eventText(event);
    return el("li", { class: `event ${kind}` }, el("time", { class: "mono" }, clock(event.at)), el("span", { class: "mark", "aria-hidden": "true" }), el("span", { class: "what" }, text));
  }

  eventText(event) {
    const to = visible(event.to ?? ""), by = event.by ? ` by ${visible(event.by)}` : "";
    switch (event.event) {
    case "start": return ["note", "The gate opened"];
    case "exec_start": return ["note", `Began: ${visible(event.command ?? "")}`];
    case "exec_end": return ["note", `The command ended with status ${event.status ?? 0}`];
    case "end": return ["note", "The gate closed"];
    case "settled": return [event.action === "allow" ? "good" : "bad", `Answered: ${to} ${visible(event.how ?? "")}`];
    case "closed": return ["plain", `Closed: ${to} · ${bytes(event.up)} up, ${bytes(event.down)} down, ${duration(event.ms)}`];
    case "decision": return event.action === "allow"
      ? ["good", `Allowed: ${to}${by}`]
      : ["bad", `${event.failed ? "Failed" : "Denied"}: ${to}${by} · ${visible(event.sentence ?? event.reason ?? "")}`];
    case "late_answer": return ["plain", `An answer came too late and had no effect: ${visible(event.command ?? "")}${by}${to ? ` for ${to}` : ""} · ${visible(event.cause ?? "")}`];
    case "granted": return ["good", `Granted before it was asked for${by}: ${visible(event.cause ?? "")}`];
    case "revoked": return ["note", `No longer valid${by}: ${visible(event.cause ?? "")}`];
    case "reviewed": return ["plain", `A program reviewed a request${by}: ${visible(event.cause ?? "")}`];
    case "program": return ["bad", `Not executed: ${visible(event.command ?? "")} · ${visible(event.sentence ?? event.cause ?? "")}`];
    case "policy_reloaded": return ["note", "The policy was read again and now applies"];
    case "policy_reload_failed": return ["bad", `The changed policy has an error; the previous one still applies: ${visible(event.cause ?? "")}`];
    case "gap": return ["bad", "The audit log could not be written; all requests were denied in the meantime"];
    case "killed": return ["bad", "An earlier run was killed; its records were merged"];
    default: return ["plain", `${visible(event.event)} ${to}${by}`];
    }
  }

  count() {
    for (const rows of [this.rows.live, this.rows.grants])
      rows.forEach((row) => row.count());
  }
}
