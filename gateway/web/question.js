// The questions that wait, and answering them.
import { byId, countdown, el, plural, say, tell, visible } from "/dom.js";
import { post } from "/stream.js";

const guard = 400; // ms after something moved in which no answer is taken
const scopes = [
  ["once", "Once", "the connections that wait now"],
  ["exec", "This command", "until it ends"],
  ["session", "Session", "every command of the session"],
  ["always", "Always", "a line in your policy file"],
];
const limits = {
  for_s: ["For", [["as long as above", 0], ["5 minutes", 300], ["1 hour", 3600], ["8 hours", 28800], ["1 day", 86400], ["7 days", 604800]]],
  upload: ["Upload", [["any size", 0], ["64 KiB", 65536], ["1 MiB", 1048576], ["16 MiB", 16777216], ["256 MiB", 268435456]]],
  download: ["Download", [["any size", 0], ["1 MiB", 1048576], ["16 MiB", 16777216], ["256 MiB", 268435456], ["4 GiB", 4294967296]]],
  connections: ["Connections", [["any number", 0], ["1", 1], ["10", 10], ["100", 100]]],
};

const risks = { first_seen: "first seen", lookalike: "lookalike", literal: "address", raw_tcp: "any bytes", listed: "listed host" };

// Which answers stand on the page, each with what it is and what would be kept of it.
const answers = {
  allow: { once: "An allow lets through, this once, exactly", exec: "An allow grants, until the command ends, exactly",
    session: "An allow grants, for the session, exactly", always: "An allow writes in your policy file exactly" },
  deny: { once: "A denial turns away, this once, exactly", exec: "A denial refuses, until the command ends, exactly",
    session: "A denial refuses, for the session, exactly", always: "A denial writes in your policy file exactly" },
};
const amounts = ["upload", "download", "connections"]; // a denial has none

const late = ". What you type goes nowhere until Enter or Escape.";

let ready = 0; // when answers count again
function moved() {
  ready = performance.now() + guard;
}
function isReady() {
  return performance.now() >= ready;
}
addEventListener("focus", moved); // the click that brings the window to the front was not meant for a button
document.addEventListener("visibilitychange", moved);

class Card {
  constructor(owner, question) {
    this.owner = owner;
    this.id = question.id;
    this.scope = "once";
    this.exact = { allow: null, deny: null }; // what each answer would be, once the gate has said so
    this.asked = 0;
    this.build(question);
    this.update(question);
  }

  build(question) {
    const name = `q-${this.id}`;
    this.time = el("span", { class: "time mono" });
    this.bar = el("progress", { class: "left", max: "1", value: "1", "aria-hidden": "true" });
    this.badges = el("span", { class: "badges" });
    this.who = el("p", { class: "who" });
    this.tick = el("input", { type: "checkbox", class: "tick", "aria-label": `Select ${question.to}`, hidden: true,
      onchange: () => this.owner.countPicked() });
    this.opener = el("button", { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": `${name}-body`,
      onclick: () => this.owner.select(this.isOpen ? null : this) }, this.target(question), this.badges);
    this.body = el("div", { id: `${name}-body`, class: "body", hidden: true });
    this.node = el("article", { class: "question", "aria-label": `Question: ${visible(question.to)}`, tabindex: "-1" },
      this.bar, el("div", { class: "top" }, this.tick, this.opener, this.time), this.who, this.body);
  }

  // The registrable domain is what counts, so it stands out; nothing of the host is left out.
  target(question) {
    const host = visible(question.host), domain = visible(question.domain);
    const ends = domain !== "" && host.endsWith(domain);
    return el("span", { class: "target", dir: "ltr" },
      el("span", { class: "dim" }, `${question.protocol}://${ends ? host.slice(0, host.length - domain.length) : ""}`),
      el("strong", {}, ends ? domain : host), el("span", { class: "dim" }, `:${question.port}`));
  }

  // The part that is only there while the question is open on the page.
  fill() {
    const question = this.question, name = `q-${this.id}`;
    this.why = el("p", { class: "why" });
    this.warning = question.needs_typing
      ? el("div", { class: "warning", role: "note" }, el("strong", {}, "Look twice"), el("p", {}, visible(question.warning || "Nothing is known of this destination.")))
      : null;
    this.radios = el("fieldset", { class: "scopes" }, el("legend", {}, "Allow or deny for"));
    for (const [scope, label, hint] of scopes) {
      if (scope === "always" && !this.owner.mayAlways)
        continue;
      const radio = el("input", { type: "radio", name: `${name}-scope`, value: scope, checked: scope === this.scope,
        onchange: () => this.choose(scope) });
      this.radios.append(el("label", { title: hint }, radio, el("span", {}, label)));
    }
    this.widths = this.fillWidths();
    this.texts = this.fillTexts(name);
    this.typed = question.needs_typing
      ? el("input", { type: "text", class: "mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false", id: `${name}-typed`,
        "aria-describedby": `${name}-typed-hint`, oninput: () => { this.touch(); this.refresh(); } })
      : null;
    this.words = el("input", { type: "text", maxlength: "300", autocomplete: "off", id: `${name}-words`, oninput: () => this.touch() });
    this.no = el("button", { type: "button", class: "deny", disabled: true, "aria-describedby": `${name}-deny`, onclick: () => this.answer("deny") }, "Deny");
    this.yes = el("button", { type: "button", class: "allow", disabled: true, "aria-describedby": `${name}-allow`, onclick: () => this.answer("allow") }, "Allow");
    this.end = el("button", { type: "button", class: "quiet end", "aria-describedby": `${name}-end`, onclick: () => this.answer("abort") }, "Deny and end the command");
    this.wrong = el("p", { class: "wrong", role: "alert" });
    this.body.replaceChildren(...[this.warning, this.why, this.radios, this.widths,
      el("div", { class: "grants", "aria-live": "polite" }, ...Object.values(this.texts).map(({ node }) => node)),
      this.typed && el("div", { class: "field typed" },
        el("label", { for: `${name}-typed`, id: `${name}-typed-hint` }, "To allow, type ", el("code", {}, visible(question.domain))), this.typed),
      el("details", { class: "more-words" }, el("summary", {}, "Say something to whoever asked"),
        el("label", { class: "field", for: `${name}-words` }, "It is told with the answer, and recorded", this.words)),
      this.wrong, el("div", { class: "buttons" }, this.no, this.yes, this.end),
      el("p", { class: "hint", id: `${name}-end` }, "To end the command keeps no answer: who waits is denied, once.")].filter(Boolean));
    this.update(question);
    this.fetchText();
  }

  // One box an answer, side by side where there is room.
  fillTexts(name) {
    const texts = {};
    for (const action of ["deny", "allow"]) {
      const label = el("span", { class: "label" }), code = el("code", { class: "exact", dir: "ltr" }), hint = el("span", { class: "hint", hidden: true });
      texts[action] = { label, code, hint, node: el("div", { class: `grant ${action}-text`, id: `${name}-${action}` }, label, code, hint) };
    }
    say(texts.deny.hint, "Amounts limit an allow only; a denial is of all of it.");
    return texts;
  }

  fillWidths() {
    const box = (key, label) => el("label", { class: "box" }, el("input", { type: "checkbox", "data-width": key, onchange: () => this.widen() }), el("span", {}, label));
    const question = this.question;
    const parts = [box("every_port", `every port of ${question.protocol}`)];
    if (question.domain !== "" && !question.risks.includes("literal"))
      parts.unshift(box("domain", `${visible(question.domain)} and every name below it`));
    if (question.program !== "")
      parts.push(box("program", `only ${visible(question.program)}`));
    for (const [key, [label, choices]] of Object.entries(limits)) {
      const select = el("select", { "data-width": key, onchange: () => this.widen() });
      for (const [text, value] of choices)
        select.append(el("option", { value: String(value) }, text));
      parts.push(el("label", { class: "field" }, label, select));
    }
    return el("details", { class: "widths", ontoggle: moved }, el("summary", {}, "Narrow or widen"),
      el("p", { class: "hint once-only" }, "Once is for those who wait now; it has no width."), el("div", { class: "width-parts" }, ...parts));
  }

  get isOpen() {
    return !this.body.hidden;
  }

  open(isOpen) {
    if (this.isOpen === isOpen)
      return;
    moved();
    this.body.hidden = !isOpen;
    this.node.classList.toggle("open", isOpen);
    this.opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen)
      this.fill();
    else
      this.body.replaceChildren();
  }

  update(question) {
    this.question = question;
    this.due = performance.now() + question.left_ms;
    this.span = Math.max(question.age_ms + question.left_ms, 1);
    const commands = question.commands.map(visible);
    const others = question.command_count - commands.length;
    say(this.who, `${commands[0] ?? "a command"}${question.command_count > 1 ? ` and ${plural(question.command_count - 1, "other", "others")}` : ""}`);
    this.who.classList.toggle("mono", commands.length > 0);
    this.badges.replaceChildren(...[
      question.waiting > 1 ? el("span", { class: "badge" }, plural(question.waiting, "connection", "connections")) : null,
      question.times > 1 ? el("span", { class: "badge" }, `asked ${question.times} times`) : null,
      question.touched ? el("span", { class: "badge" }, "somebody is at it") : null,
      question.private ? el("span", { class: "badge risk" }, "private address") : null,
      ...question.risks.map((risk) => el("span", { class: "badge risk" }, risks[risk] ?? visible(risk))),
    ].filter(Boolean));
    if (this.isOpen) {
      const parts = [
        ["Waits", `${plural(question.waiting, "connection", "connections")} of ${plural(question.command_count, "command", "commands")}`],
        [commands.length > 1 ? "Commands" : "Command", commands.join("\n") + (others > 0 ? `\nand ${others} more` : ""), "mono"],
        ["Program", visible(question.program), "mono"],
        ["Started by", visible(question.chain), "mono"],
        ["Asked by rule", visible(question.rule), "mono"],
        ["It says", visible(question.plea)],
        ["Because", visible(question.because)],
      ];
      const shown = el("dl", { class: "facts" }, ...parts.filter(([, text]) => text !== "")
        .map(([key, text, kind]) => el("div", {}, el("dt", {}, key), el("dd", { class: kind ?? null }, text))));
      if (this.why.textContent !== shown.textContent)
        this.why.replaceWith(this.why = shown);
    }
    this.count();
  }

  count() {
    const left = this.due - performance.now();
    say(this.time, countdown(left));
    this.bar.value = Math.max(0, Math.min(1, left / this.span));
    this.node.classList.toggle("late", left < 30000);
  }

  choose(scope) {
    this.scope = scope;
    for (const radio of this.radios.querySelectorAll("input"))
      radio.checked = radio.value === scope;
    this.fetchText();
  }

  widen() {
    this.touch();
    this.fetchText();
  }

  // Somebody is at it: the gate gives the time to end, once.
  touch() {
    if (!this.isTouched)
      post("/api/touch", { question: this.id }).catch(() => {}); // over: it goes from the page by itself
    this.isTouched = true;
  }

  width(action) {
    const width = {};
    if (this.scope === "once")
      return width;
    for (const input of this.widths.querySelectorAll("[data-width]")) {
      if (action === "deny" && amounts.includes(input.dataset.width))
        continue;
      if (input.type === "checkbox" && input.checked)
        width[input.dataset.width] = true;
      else if (input.type !== "checkbox" && input.value !== "0")
        width[input.dataset.width] = Number(input.value);
    }
    return width;
  }

  // The gate writes what it would grant, and refuse; until it has, no answer can be given.
  async fetchText() {
    const number = ++this.asked;
    this.exact = { allow: null, deny: null };
    this.widths.classList.toggle("is-once", this.scope === "once");
    for (const input of this.widths.querySelectorAll("[data-width]"))
      input.disabled = this.scope === "once";
    for (const { code } of Object.values(this.texts))
      code.classList.add("old");
    say(this.wrong, "");
    this.refresh();
    await Promise.all(["deny", "allow"].map((action) => this.fetchOne(action, number)));
  }

  async fetchOne(action, number) {
    const { label, code, hint } = this.texts[action];
    const scope = this.scope, width = this.width(action);
    let text = null, wrong = "";
    try {
      ({ text } = await post("/api/text", { question: this.id, action, scope, width }));
    } catch (error) {
      wrong = error.message;
    }
    if (number !== this.asked || !this.isOpen)
      return;
    this.exact[action] = text;
    say(label, answers[action][scope]);
    say(code, text ?? "nothing");
    hint.hidden = action === "allow" || !amounts.some((amount) => amount in this.width("allow"));
    if (wrong !== "")
      say(this.wrong, wrong);
    code.classList.remove("old");
    this.refresh();
  }

  refresh() {
    if (!this.isOpen)
      return;
    const isTyped = !this.question.needs_typing || this.typed.value.trim().toLowerCase() === this.question.domain.toLowerCase();
    this.yes.disabled = this.isSent || this.exact.allow === null || !isTyped;
    this.no.disabled = this.isSent || this.exact.deny === null;
    this.end.disabled = Boolean(this.isSent);
  }

  async answer(action) {
    if (!isReady())
      return moved(); // typed or clicked on and on: meant for what was there before
    const button = { allow: this.yes, deny: this.no, abort: this.end }[action];
    if (button.disabled)
      return;
    const body = { question: this.id, action };
    if (action !== "abort")
      Object.assign(body, { scope: this.scope, width: this.width(action), text: this.exact[action] });
    if (action === "allow" && this.typed)
      body.typed = this.typed.value.trim();
    if (this.words.value.trim() !== "")
      body.words = this.words.value.trim();
    this.isSent = true;
    this.refresh();
    try {
      await post("/api/answer", body);
    } catch (error) {
      say(this.wrong, error.message);
      this.isSent = false;
      if (error.code === "changed")
        this.fetchText();
      this.refresh();
    }
  }
}

export class Questions {
  constructor() {
    this.cards = new Map();
    this.names = new Map(); // of questions there were, by id
    this.current = null;
    this.mayAlways = false;
    this.isPicking = false;
    this.isLate = false; // what is typed is still for a question that is over
    addEventListener("pointerdown", () => (this.isLate = false));
    setInterval(() => this.cards.forEach((card) => card.count()), 500);
    byId("pick").addEventListener("click", () => this.pick(!this.isPicking));
    byId("pick-all").addEventListener("click", () => {
      for (const card of this.cards.values())
        card.tick.checked = !card.tick.disabled;
      this.countPicked();
    });
    byId("several-deny").addEventListener("click", () => this.confirmPicked("deny"));
    byId("several-allow").addEventListener("click", () => this.confirmPicked("allow"));
    byId("confirm-no").addEventListener("click", () => byId("confirm").close());
    byId("confirm-yes").addEventListener("click", () => this.answerPicked());
  }

  hello(data) {
    this.run = data.run;
    this.mayAlways = data.may_always;
    byId("several-scope").replaceChildren(...scopes.filter(([scope]) => scope !== "always" || this.mayAlways)
      .map(([scope, label]) => el("option", { value: scope }, label.toLowerCase())));
  }

  take({ list, count }) {
    const ids = new Set(list.map((question) => question.id));
    let news = 0;
    for (const [id, card] of this.cards) {
      if (ids.has(id))
        continue;
      moved(); // what stands below comes up
      const hadFocus = card.node.contains(document.activeElement);
      if (hadFocus && document.activeElement.matches("input[type=text]")) {
        this.isLate = true;
        tell(`${this.nameOf(id)} is over${late}`, "bad");
      }
      card.node.remove();
      this.cards.delete(id);
      if (this.current === card)
        this.current = null;
      if (hadFocus)
        byId("questions").focus();
    }
    for (const question of list) {
      const card = this.cards.get(question.id);
      this.names.set(question.id, question.to);
      if (card) {
        card.update(question);
        continue;
      }
      const made = new Card(this, question);
      this.cards.set(question.id, made);
      byId("list").append(made.node);
      this.dress(made);
      news++;
    }
    if (this.cards.size === 1 && !this.current)
      this.select([...this.cards.values()][0], false);
    for (const id of [...this.names.keys()].slice(0, -500))
      this.names.delete(id);
    this.show(count, news);
  }

  nameOf(id) {
    return this.names.get(id) ?? id;
  }

  show(count, news) {
    say(byId("count"), count);
    byId("empty").hidden = count > 0;
    byId("more").hidden = count === this.cards.size;
    say(byId("more"), `and ${plural(count - this.cards.size, "more", "more")}, shown when these are answered`);
    byId("pick").hidden = this.cards.size < 2;
    if (this.cards.size < 2 && this.isPicking)
      this.pick(false);
    this.countPicked();
    document.title = `${count > 0 ? `(${count}) ` : ""}Sallyport ${this.run ?? ""}`;
    if (news > 0)
      say(byId("alarm"), news === 1 ? `New question: ${[...this.cards.values()].at(-1).question.to}` : `${news} new questions`);
  }

  // What was not answered is denied; what happened stays to be read.
  over() {
    this.take({ list: [], count: 0 });
    say(byId("empty"), "The run is over, and its gate has closed. What was not answered was denied; the audit log has it all.");
  }

  settled(event) {
    tell(`${this.nameOf(event.id)} ${event.how ?? ""}${this.isLate ? late : ""}`, event.action === "allow" ? "good" : "plain");
  }

  select(card, takesFocus = true) {
    if (this.current && this.current !== card)
      this.current.open(false);
    this.current = card;
    if (!card)
      return;
    card.open(true);
    if (takesFocus) {
      card.node.focus({ preventScroll: true });
      card.node.scrollIntoView({ block: "nearest" });
    }
  }

  step(by) {
    const cards = [...this.cards.values()];
    const at = this.current ? cards.indexOf(this.current) + by : by > 0 ? 0 : cards.length - 1;
    if (cards[at])
      this.select(cards[at]);
  }

  // True: the key meant something.
  press(key) {
    if (this.isLate) {
      if (key === "Enter" || key === "Escape") {
        this.isLate = false;
        moved();
      }
      return key.length === 1;
    }
    if (key === "j" || key === "k") {
      this.step(key === "j" ? 1 : -1);
      return true;
    }
    const card = this.current;
    if (!card)
      return false;
    if (key >= "1" && key <= "4" && (key !== "4" || this.mayAlways))
      card.choose(scopes[Number(key) - 1][0]);
    else if (key === "a")
      card.answer("allow");
    else if (key === "d")
      card.answer("deny");
    else if (key === "w")
      card.widths.open = !card.widths.open;
    else if (key === "t" && card.typed)
      card.typed.focus();
    else
      return false;
    return true;
  }

  // --- several at once: only what needs no second look, and only after their exact texts were shown

  dress(card) {
    card.tick.hidden = !this.isPicking;
    card.tick.disabled = card.question.needs_typing;
    card.tick.title = card.question.needs_typing ? "This one has to be answered by itself" : "";
  }

  pick(isPicking) {
    this.isPicking = isPicking;
    moved();
    byId("several").hidden = !isPicking;
    byId("pick").setAttribute("aria-pressed", String(isPicking));
    for (const card of this.cards.values()) {
      card.tick.checked = false;
      this.dress(card);
    }
    if (isPicking)
      this.select(null);
    this.countPicked();
  }

  picked() {
    return [...this.cards.values()].filter((card) => card.tick.checked && !card.tick.disabled);
  }

  countPicked() {
    const count = this.picked().length;
    say(byId("picked"), `${count} selected`);
    byId("several-deny").disabled = byId("several-allow").disabled = count === 0;
  }

  async confirmPicked(action) {
    const scope = byId("several-scope").value;
    const cards = this.picked();
    if (!isReady())
      return;
    try {
      this.confirmed = await Promise.all(cards.map(async (card) =>
        ({ question: card.id, action, scope, text: (await post("/api/text", { question: card.id, action, scope })).text })));
    } catch (error) {
      tell(error.message, "bad");
      return;
    }
    const what = plural(this.confirmed.length, "destination", "destinations");
    say(byId("confirm-title"), `${action === "allow" ? "Allow" : "Deny"} ${what}`);
    say(byId("confirm-kind"), `${answers[action][scope]}:`);
    say(byId("confirm-yes"), action === "allow" ? "Allow these" : "Deny these");
    byId("confirm-yes").className = action;
    byId("confirm-list").replaceChildren(...this.confirmed.map(({ text }) => el("li", {}, el("code", { class: "exact", dir: "ltr" }, visible(text)))));
    moved();
    byId("confirm").showModal();
  }

  async answerPicked() {
    if (!isReady())
      return;
    byId("confirm").close();
    let failed = null;
    for (const answer of this.confirmed) // one after the other: the gate takes few connections
      await post("/api/answer", answer).catch((error) => (failed = error));
    if (failed)
      tell(failed.message, "bad");
    this.pick(false);
  }
}
