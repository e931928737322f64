// agent: the questions of an agent that are not about a destination, each with the controls that answer it.
import { countdown, el, say, visible } from "/dom.js";
import { Refused } from "/refused.js";
import { isReady, moved, sightOf, watch } from "/shown.js";
import { post } from "/stream.js";

const wants = { exec: "run a command", patch: "change files", permissions: "get permissions", elicitation: "have an answer", network: "reach the network" };
// The answers, in the order of the buttons: the name of the choice, its key, its words, and its answer.
const choices = [
  ["deny once", "n", "Deny", { action: "deny", scope: "once" }],
  ["allow once", "y", "Allow once", { action: "allow", scope: "once" }],
  ["allow session", "s", "Allow for the session", { action: "allow", scope: "session" }],
  ["allow always", "a", "Allow always", { action: "allow", scope: "always" }],
  ["deny always", "D", "Deny always", { action: "deny", scope: "always" }],
  ["abort", "q", "Deny and stop the agent", { action: "abort" }],
];

export function title(kind) {
  return kind === "program" ? "The command starts a program" : `An agent asks to ${wants[kind] ?? visible(kind)}`;
}

// All that an allow grants, and then what others claim: one row for each line.
export function rows(lines) {
  return el("dl", { class: "facts agent-lines" }, ...lines.map(([label, text]) => el("div", {}, el("dt", {}, visible(label)), el("dd", { class: "mono", dir: "ltr" }, visible(text)))));
}

// Why it cannot be given: not all of @read was on the screen, or one of @there is not there now. Scrolls to that part.
export function unread(read, there) {
  const missed = read.find((node) => !sightOf(node).isWhole) ?? there.find((node) => !sightOf(node).isThere);
  if (!missed)
    return isReady() ? null : "The page has just moved. Read the question, and press again.";
  sightOf(missed).bring();
  moved();
  return "Not all of this question was on the screen. Read it, and press again.";
}

class AgentCard {
  constructor(owner, question) {
    const name = `q-${question.id}`;
    this.owner = owner;
    this.question = question;
    this.due = performance.now() + question.left_ms;
    this.name = el("span", { class: "target", id: `${name}-name` }, el("strong", {}, title(question.kind)));
    this.time = el("span", { class: "time mono" });
    this.lines = rows(question.lines);
    this.typed = el("input", { type: "text", class: "mono", autocomplete: "off", autocapitalize: "off", spellcheck: "false", id: `${name}-typed`, oninput: () => this.refresh() });
    this.words = el("input", { type: "text", maxlength: "300", autocomplete: "off", id: `${name}-words` });
    this.wrong = el("p", { class: "wrong", role: "alert" });
    this.buttons = choices.filter(([choice]) => question.choices.includes(choice)).map(([choice, key, words, answer]) => {
      const button = el("button", { type: "button", class: answer.action === "abort" ? "quiet end" : answer.action, "data-key": key, "data-choice": choice,
        onclick: () => this.give(answer, button) }, answer.action === "abort" && question.kind === "program" ? "Deny and stop the command" : words);
      return button;
    });
    this.node = el("article", { class: "question open agent", "aria-labelledby": `${name}-name`, tabindex: "-1" },
      el("div", { class: "top" }, el("span", { class: "opener" }, this.name), this.time),
      el("div", { class: "body" }, this.lines,
        question.typed === "" ? null : el("div", { class: "field typed" }, el("label", { for: `${name}-typed` }, "To allow, type ", el("code", {}, visible(question.typed))), this.typed),
        el("details", { class: "more-words" }, el("summary", {}, "Reason: a message for the agent"),
          el("label", { class: "field", for: `${name}-words` }, "It is sent with the answer, and recorded", this.words)),
        this.wrong, el("div", { class: "buttons" }, ...this.buttons)));
    this.count();
    this.refresh();
  }

  get watched() {
    return [this.name, this.lines, ...this.buttons];
  }

  count() {
    const left = this.due - performance.now();
    say(this.time, countdown(left));
    this.node.classList.toggle("late", left < 30000);
  }

  get isTyped() {
    return this.typed.value.trim() === this.question.typed;
  }

  refresh() {
    for (const button of this.buttons)
      button.disabled = Boolean(this.isSent) || (button.className === "allow" && !this.isTyped);
  }

  // A key goes to the button of its answer; Enter there gives it. n stores nothing, and needs no Enter.
  press(key) {
    const button = this.buttons.find(({ dataset }) => dataset.key === key);
    if (key === "r")
      this.words.closest("details").open = true;
    if (key === "n")
      this.give(choices[0][3], null);
    else
      (key === "r" ? this.words : button?.disabled && !this.isSent ? this.typed : button)?.focus();
    return key === "n" || key === "r" || Boolean(button);
  }

  // A denial for once stores nothing, so only its name has to be read.
  async give(answer, button) {
    if (this.isSent)
      return;
    const isLight = answer.action !== "allow" && answer.scope !== "always";
    const why = !this.owner.isLive ? "The page is not connected to the gate: nothing is answered."
      : answer.action === "allow" && !this.isTyped ? `To allow it, type ${visible(this.question.typed)} first.`
        : unread(isLight ? [this.name] : [this.name, this.lines], [button ?? this.name]);
    say(this.wrong, why ?? "");
    if (why !== null)
      return;
    const body = { question: this.question.id, ...answer };
    if (answer.action === "allow" && this.question.typed !== "")
      body.typed = this.typed.value.trim();
    if (this.words.value.trim() !== "")
      body.words = this.words.value.trim();
    this.isSent = true;
    this.refresh();
    try {
      await post("/api/answer", body);
    } catch (error) {
      this.isSent = false;
      say(this.wrong, Refused.only(error).message);
      this.refresh();
    }
  }
}

export class Agents {
  // Calls @counted(number, names) with how many wait, and with the name of each new one by its id.
  constructor(place, counted) {
    this.place = place;
    this.counted = counted;
    this.cards = new Map();
    this.isLive = false;
    setInterval(() => this.cards.forEach((card) => card.count()), 500);
  }

  take({ list }) {
    const ids = new Set(list.map(({ id }) => id)), news = list.filter(({ id }) => !this.cards.has(id));
    this.isLive = true;
    for (const [id, card] of this.cards) {
      if (ids.has(id))
        continue;
      moved(); // what stands below comes up
      card.node.remove();
      this.cards.delete(id);
    }
    for (const question of news) {
      const card = new AgentCard(this, question);
      moved();
      this.cards.set(question.id, card);
      this.place.append(card.node);
    }
    watch([...this.cards.values()].flatMap((card) => card.watched), "agents");
    this.counted(this.cards.size, news.map(({ id, kind }) => [id, title(kind)]));
  }

  over() {
    this.take({ list: [] });
    this.isLive = false;
  }

  saved() {
    return [...this.cards.values()].map(({ question }) => question);
  }

  // True: the key has a meaning for the card that has the focus.
  press(key) {
    const card = [...this.cards.values()].find(({ node }) => node.contains(document.activeElement));
    return this.isLive && card !== undefined && card.press(key);
  }
}
