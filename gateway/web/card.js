// card: one question on the page, with the controls that answer it.
import { countdown, el, plural, say, sayName, spread, tell, visible } from "/dom.js";
import { Refused } from "/refused.js";
import { isReady, moved, sightOf, watch } from "/shown.js";
import { post } from "/stream.js";

export const scopes = [
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

// Each risk has a level. A level has a colour and also a word, for people who do not see colours.
const risks = { first_seen: ["note", "NEW"], lookalike: ["danger", "lookalike name"], literal: ["risk", "bare address"],
  raw_tcp: ["risk", "raw bytes"], listed: ["danger", "listed host"] };
const levels = { danger: "Danger", risk: "Careful", note: "New" };

function riskOf(name) {
  return risks[name] ?? ["danger", visible(name)];
}

// The answers that the page shows, each with its label.
export const answers = {
  allow: { once: "Allow once, for the connections that wait now", exec: "Allow until the command ends",
    session: "Allow for the session", always: "Allow always, by this line in your policy file" },
  deny: { once: "Deny once, for the connections that wait now", exec: "Deny until the command ends",
    session: "Deny for the session", always: "Deny always, by this line in your policy file" },
};
const amounts = ["upload", "download", "connections"]; // a denial has none

// For Enter at a button only the answer has to be visible; for a click the button, too, because a click hits what is there.
function byHand(event, button) {
  return event.detail === 0 ? null : button;
}

export const early = "The page has just moved. Read the answer, and press again.";

export class Card {
  constructor(owner, question) {
    this.owner = owner;
    this.id = question.id;
    this.scope = "once";
    this.drawn = { allow: null, deny: null }; // what each box says, with the answer that it says: that one is sent
    this.asked = 0;
    this.build(question);
    this.update(question);
  }

  // The level of its gravest warning.
  get level() {
    return Object.keys(levels).find((one) => this.question.risks.some((risk) => riskOf(risk)[0] === one)) ?? (this.question.needs_typing ? "risk" : "none");
  }

  build(question) {
    const name = `q-${this.id}`;
    this.time = el("span", { class: "time mono" });
    this.bar = el("progress", { class: "left", max: "1", value: "1", "aria-hidden": "true" });
    this.badges = el("span", { class: "badges" });
    this.who = el("p", { class: "who" });
    this.tick = el("input", { type: "checkbox", class: "tick", "aria-label": `Select ${question.to}`, hidden: true,
      onchange: () => this.owner.countPicked() });
    this.name = this.target(question);
    this.opener = el("button", { type: "button", class: "opener", "aria-expanded": "false", "aria-controls": `${name}-body`,
      onclick: () => this.owner.select(this.isOpen ? null : this) }, this.name, this.badges);
    this.body = el("div", { id: `${name}-body`, class: "body", hidden: true });
    this.node = el("article", { class: "question", "aria-label": `Question: ${visible(question.to)}`, tabindex: "-1" },
      this.bar, el("div", { class: "top" }, this.tick, this.opener, this.time), this.who, this.body);
  }

  // The registrable domain decides trust, so it is emphasised; the whole host is shown.
  target(question) {
    const host = visible(question.host), domain = visible(question.domain);
    const ends = domain !== "" && host.endsWith(domain);
    return el("span", { class: "target", dir: "ltr" },
      el("span", { class: "dim" }, ...spread(`${question.protocol}://${ends ? host.slice(0, host.length - domain.length) : ""}`)),
      el("strong", {}, ...spread(ends ? domain : host)), el("span", { class: "dim" }, `:${question.port}`));
  }

  // The input of fill(): if it changes, the whole card is drawn again and has to be read again.
  shape(question) {
    const { needs_typing, warning, domain, program, protocol, shared, private: isPrivate, risks: found } = question;
    return JSON.stringify([needs_typing, warning, domain, program, protocol, shared, isPrivate, found]);
  }

  // The part that exists only while the question is open on the page.
  fill() {
    const question = this.question, name = `q-${this.id}`;
    const level = this.level === "none" ? "risk" : this.level;
    this.filled = this.shape(question);
    this.why = el("p", { class: "why" });
    const words = question.warning || (question.private ? "An address of your own network or machine." : "Nothing is known about this destination.");
    this.warning = question.needs_typing || question.risks.length > 0
      ? el("div", { class: `warning ${level}`, role: "note" }, el("strong", {}, levels[level]), el("p", {}, visible(words)))
      : null;
    this.radios = el("fieldset", { class: "scopes" }, el("legend", {}, "Allow or deny for"));
    for (const [scope, label, hint] of scopes) {
      if (!this.offers(scope))
        continue;
      const radio = el("input", { type: "radio", name: `${name}-scope`, value: scope, checked: scope === this.scope,
        onchange: () => this.choose(scope) });
      this.radios.append(el("label", { title: hint }, radio, el("span", {}, label)));
    }
    this.widths = this.fillWidths();
    this.texts = this.fillTexts(name);
    this.typed = el("input", { type: "text", class: "mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false", id: `${name}-typed`,
        "aria-describedby": `${name}-typed-hint`, oninput: () => { this.touch(); this.refresh(); },
        onkeydown: (event) => event.key === "Enter" && !event.repeat && !event.isComposing && this.answer("allow") });
    this.typing = el("div", { class: "field typed", hidden: true },
      el("label", { for: `${name}-typed`, id: `${name}-typed-hint` }, "To allow, type ", el("code", {}, ...spread(visible(question.domain)))), this.typed);
    this.words = el("input", { type: "text", maxlength: "300", autocomplete: "off", id: `${name}-words`, oninput: () => this.touch() });
    this.no = el("button", { type: "button", class: "deny", disabled: true, "aria-describedby": `${name}-deny`, onclick: (event) => this.answer("deny", byHand(event, this.no)) }, "Deny");
    this.yes = el("button", { type: "button", class: "allow", disabled: true, "aria-describedby": `${name}-allow`, onclick: (event) => this.answer("allow", byHand(event, this.yes)) }, "Allow");
    this.end = el("button", { type: "button", class: "quiet end", "aria-describedby": `${name}-end`, onclick: (event) => this.answer("abort", byHand(event, this.end)) }, "Deny and stop the command");
    this.wrong = el("p", { class: "wrong", role: "alert" });
    this.body.replaceChildren(...[this.warning, this.why, this.radios, this.widths,
      el("div", { class: "grants", "aria-live": "polite" }, ...Object.values(this.texts).map(({ node }) => node)),
      this.typing,
      el("details", { class: "more-words" }, el("summary", {}, "Reason: a message for the command"),
        el("label", { class: "field", for: `${name}-words` }, "It is sent with the answer, and recorded", this.words)),
      this.wrong, el("div", { class: "buttons" }, this.no, this.yes, this.end),
      el("p", { class: "hint", id: `${name}-end` }, "Stopping the command stores no answer; the waiting requests are denied once.")].filter(Boolean));
    this.update(question);
    this.fetchText();
    this.watch();
  }

  watch() {
    watch([this.name, this.warning, this.texts.allow.node, this.texts.deny.node, this.no, this.yes, this.end]);
  }

  refill() {
    const words = this.words.value;
    moved();
    this.fill();
    this.words.value = words;
    say(this.wrong, "This question has changed. Read it again.");
  }

  // One box for each answer, side by side where the width allows it.
  fillTexts(name) {
    const texts = {};
    for (const action of ["deny", "allow"]) {
      const label = el("span", { class: "label" }), code = el("code", { class: "exact", dir: "ltr" }), hint = el("span", { class: "hint", hidden: true });
      texts[action] = { label, code, hint, node: el("div", { class: `grant ${action}-text`, id: `${name}-${action}` }, label, code, hint) };
    }
    say(texts.deny.hint, "Amounts limit an allow only; a denial has no amounts.");
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
      el("p", { class: "hint once-only" }, "Once applies to the waiting requests only; it has no width."), el("div", { class: "width-parts" }, ...parts));
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
      return this.fill();
    this.body.replaceChildren();
    watch([]);
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
      question.touched && !this.isTouched ? el("span", { class: "badge" }, "being answered elsewhere") : null,
      question.private ? el("span", { class: "badge risk" }, "private address") : null,
      ...question.risks.map(riskOf).map(([level, words]) => el("span", { class: `badge ${level}` }, words)),
    ].filter(Boolean));
    if (this.isOpen && this.filled !== this.shape(question))
      return this.refill();
    if (this.isOpen) {
      if (this.shownCommands !== undefined && this.shownCommands !== commands.join("\n"))
        moved(); // others ask for it now
      this.shownCommands = commands.join("\n");
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

  // A person has begun to answer: the gate extends the deadline once.
  touch() {
    if (!this.isTouched)
      post("/api/touch", { question: this.id }).catch(Refused.only); // over: it goes from the page by itself
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

  // The gate sends the text that an allow and a deny would store. No answer is possible before it arrives.
  async fetchText() {
    const number = ++this.asked;
    this.drawn = { allow: null, deny: null };
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
    const choice = this.choice(action);
    let text = null, wrong = "";
    try {
      ({ text } = await post("/api/text", { question: this.id, action, ...choice }));
    } catch (error) {
      Refused.only(error);
      wrong = error.message;
    }
    if (number !== this.asked || !this.isOpen)
      return;
    this.draw(action, choice, text);
    if (wrong !== "")
      say(this.wrong, wrong);
    this.refresh();
  }

  // The chosen answer, from the controls of the page.
  choice(action) {
    return { scope: this.scope, width: this.width(action) };
  }

  // Only this function writes a box and sets the answer of its button, so both are always the same answer.
  draw(action, choice, text) {
    const { label, code, hint } = this.texts[action];
    say(label, answers[action][choice.scope]);
    sayName(code, text ?? "nothing");
    hint.hidden = action === "allow" || !amounts.some((amount) => amount in this.width("allow"));
    code.classList.remove("old");
    this.drawn[action] = text === null ? null : { answer: { action, ...choice, text }, label: label.textContent, code: code.textContent };
  }

  // True: the box has not changed since it was drawn, and the chosen answer is still the one it shows.
  isDrawn(action) {
    const drawn = this.drawn[action], { label, code } = this.texts[action];
    if (drawn === null || drawn.label !== label.textContent || drawn.code !== code.textContent)
      return false;
    const { scope, width } = drawn.answer;
    return JSON.stringify(this.choice(action)) === JSON.stringify({ scope, width });
  }

  offers(scope) {
    return (scope !== "always" || this.owner.mayAlways) && (scope !== "exec" || this.question.shared);
  }

  // One press is not enough to allow what is chosen: its domain has to be typed. The gate decides by the same rule.
  get mustType() {
    const { domain, every_port: everyPort } = this.width("allow");
    return this.question.needs_typing || (this.scope === "always" && Boolean(domain || everyPort || ["tcp", "udp"].includes(this.question.protocol)));
  }

  get isTyped() {
    return !this.mustType || this.typed.value.trim().toLowerCase() === this.question.domain.toLowerCase();
  }

  get wantsTyping() {
    return `To allow it, type ${visible(this.question.domain)} first.`;
  }

  refresh() {
    if (!this.isOpen)
      return;
    if (this.typing.hidden === this.mustType) {
      this.typing.hidden = !this.mustType;
      moved();
    }
    this.yes.disabled = this.isSent || this.drawn.allow === null || !this.isTyped;
    this.no.disabled = this.isSent || this.drawn.deny === null;
    this.end.disabled = Boolean(this.isSent);
    this.focusWanted();
  }

  // A key has chosen an answer: Enter gives it, at its button; where its domain has to be typed, that comes first. In a low window
  // the text of the answer is shown rather than the button: Enter needs the text.
  focusWanted() {
    const button = { allow: this.yes, deny: this.no, abort: this.end }[this.wanted];
    const node = this.wanted === "allow" && this.drawn.allow !== null && !this.isTyped ? this.typed : button;
    if (!node || node.disabled)
      return;
    const text = node === this.typed ? node : this.texts[this.wanted]?.node ?? node;
    this.wanted = null;
    node.focus();
    text.scrollIntoView({ block: "nearest", behavior: "instant" });
  }

  prepare(action, scope) {
    if (scope && !this.offers(scope))
      return tell(scope === "exec" ? "The session has one command: use s or S." : "There is no policy file to write.");
    this.wanted = action;
    if (scope && scope !== this.scope)
      this.choose(scope);
    else
      this.focusWanted();
  }

  // h, p and o turn a width on or off; t and b go on to the next one.
  turn(key) {
    const input = this.widths.querySelector(`[data-width=${key}]`);
    if (!input || input.disabled)
      return tell(input ? "Once has no width: choose s, e or a first." : "That does nothing here.");
    this.widths.open = true;
    if (input.type === "checkbox")
      input.checked = !input.checked;
    else
      input.selectedIndex = (input.selectedIndex + 1) % input.options.length;
    this.widen();
  }

  reason() {
    this.words.closest("details").open = true;
    this.words.focus();
  }

  // The nodes that must have been read before this answer, and be visible when it is given.
  parts(action, button) {
    const box = action === "abort" ? null : this.texts[action].node;
    return { read: [this.name, action === "allow" ? this.warning : null, box].filter(Boolean), there: [box, action === "abort" ? this.end : button].filter(Boolean) };
  }

  // The reason why @action is not possible now; null: it is possible. Scrolls to the text that was not read.
  hindrance(action, button) {
    if (!this.owner.isLive)
      return "The page is not connected to the gate: nothing is answered.";
    if (action !== "abort" && !this.isDrawn(action))
      return "The gate has not yet sent the text of this answer.";
    if (action === "allow" && !this.isTyped) {
      this.typed.focus();
      return this.wantsTyping;
    }
    return this.unread(this.parts(action, button));
  }

  // Why it cannot be given: not all that has to be read was on the screen.
  unread({ read, there }) {
    const unread = read.find((node) => !sightOf(node).isWhole) ?? there.find((node) => !sightOf(node).isThere);
    if (!unread)
      return isReady() ? null : early;
    sightOf(unread).bring();
    moved();
    return "Not all of this answer was on the screen. Read it, and press again.";
  }

  async answer(action, button = null) {
    if (this.isSent || !this.isOpen)
      return;
    const why = this.hindrance(action, button);
    say(this.wrong, why ?? "");
    if (why !== null)
      return;
    const body = { question: this.id, ...(action === "abort" ? { action } : this.drawn[action].answer) };
    if (action === "allow" && this.mustType)
      body.typed = this.typed.value.trim();
    await this.send(body);
  }

  // One key denies once: that stores nothing, so only its destination has to be read.
  async refuse() {
    if (this.isSent || !this.isOpen)
      return;
    const why = this.owner.isLive ? this.unread({ read: [this.name], there: [this.name] }) : "The page is not connected to the gate: nothing is answered.";
    say(this.wrong, why ?? "");
    if (why === null)
      await this.send({ question: this.id, action: "deny", scope: "once" });
  }

  async send(body) {
    if (this.words.value.trim() !== "")
      body.words = this.words.value.trim();
    this.isSent = true;
    this.refresh();
    try {
      await post("/api/answer", body);
    } catch (error) {
      Refused.only(error);
      say(this.wrong, error.message);
      this.isSent = false;
      if (error.code === "changed" && this.isOpen)
        this.fetchText();
      this.refresh();
    }
  }
}
