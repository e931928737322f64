// question: the list of waiting questions, the open one, and answers to several at once.
import { Arrangement } from "/arrange.js";
import { Card, answers, early, scopes } from "/card.js";
import { byId, el, plural, say, sayName, tell } from "/dom.js";
import { Refused } from "/refused.js";
import { afterLook, isReady, moved, sightOf, watch } from "/shown.js";
import { post } from "/stream.js";

// The keys of the terminal: a letter chooses an answer, Enter gives it. n stores nothing, and needs no Enter.
const letters = { y: ["allow", "once"], e: ["allow", "exec"], s: ["allow", "session"], a: ["allow", "always"],
  E: ["deny", "exec"], S: ["deny", "session"], D: ["deny", "always"], q: ["abort", null] };
const turns = { h: "domain", p: "every_port", t: "for_s", b: "upload", o: "program" };
const late = ". The page ignores what you type until Enter or Escape.";

export class Questions {
  constructor() {
    this.cards = new Map();
    this.names = new Map(); // of questions there were, by id
    this.agents = 0;
    this.count = 0; // all that wait; the gate sends the first of them
    this.current = null;
    this.mayAlways = false;
    this.isPicking = false;
    this.isLate = false; // what is typed is still for a question that is over
    this.isLive = false; // what is on the page is what the gate says now
    this.expected = null; // the destination that was asked for again, on this page
    this.shown = []; // the cards that the search finds, in the order of the page
    this.arrangement = new Arrangement(() => this.arrange(), (cards) => this.pickThese(cards));
    this.confirmed = null; // the rows of the open list, each with the answer that it says
    addEventListener("pointerdown", () => (this.isLate = false));
    setInterval(() => this.cards.forEach((card) => card.count()), 500);
    byId("pick").addEventListener("click", () => this.pick(!this.isPicking));
    byId("pick-all").addEventListener("click", () => this.pickAll(() => true));
    byId("pick-plain").addEventListener("click", () => this.pickAll((card) => !card.question.needs_typing));
    byId("several-scope").addEventListener("change", () => this.countPicked());
    byId("several-deny").addEventListener("click", () => this.confirmPicked("deny"));
    byId("several-allow").addEventListener("click", () => this.confirmPicked("allow"));
    byId("confirm-no").addEventListener("click", () => byId("confirm").close());
    byId("confirm-yes").addEventListener("click", () => this.answerPicked());
    byId("confirm").addEventListener("close", () => this.endConfirm());
    afterLook(() => this.countRead());
  }

  hello(data) {
    this.run = data.run;
    this.mayAlways = data.may_always;
    byId("several-scope").replaceChildren(...scopes.filter(([scope]) => scope !== "always" || this.mayAlways)
      .map(([scope, label]) => el("option", { value: scope }, label.toLowerCase())));
  }

  take({ list, count }) {
    this.isLive = true;
    this.count = count;
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
      if (this.current === card) {
        this.current = null;
        watch(this.confirmed ? this.listed() : []);
      }
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
      this.dress(made);
      news++;
    }
    this.arrange();
    if (this.cards.size === 1 && !this.current)
      this.select(this.shown[0] ?? null, false);
    this.openExpected();
    for (const id of [...this.names.keys()].slice(0, -500))
      this.names.delete(id);
    this.show(news);
  }

  arrange() {
    this.shown = this.arrangement.place([...this.cards.values()], this.count - this.cards.size);
    if (this.current && !this.shown.includes(this.current)) {
      this.select(null);
      watch(this.confirmed ? this.listed() : []);
    }
    for (const card of this.cards.values()) {
      if (!this.shown.includes(card))
        card.tick.checked = false;
    }
    this.countPicked();
  }

  // The question about @to, which was denied, is opened when it comes.
  expect(to) {
    this.expected = to;
    this.openExpected();
  }

  openExpected() {
    const card = this.expected === null ? null : this.shown.find(({ question }) => question.to === this.expected);
    if (!card)
      return;
    this.expected = null;
    if (this.isPicking)
      this.pick(false);
    this.select(card);
    card.choose("session"); // for once is for what waits, and nothing waits
  }

  // It was asked for again, and no person is asked.
  deniedAgain({ to, sentence, next }) {
    if (to !== this.expected)
      return;
    this.expected = null;
    tell(`${to} was denied again. ${sentence ?? ""} ${next ?? ""}`, "bad");
  }

  nameOf(id) {
    return this.names.get(id) ?? id;
  }

  // Questions of agents wait too; each of @names is an id with a name.
  also(count, names) {
    this.agents = count;
    for (const [id, name] of names)
      this.names.set(id, name);
    this.show(0);
    if (names.length > 0)
      say(byId("alarm"), `New question: ${names.at(-1)[1]}`);
  }

  show(news) {
    const { count } = this, all = count + this.agents;
    say(byId("count"), all);
    byId("empty").hidden = all > 0;
    byId("more").hidden = count === this.cards.size;
    say(byId("more"), `and ${plural(count - this.cards.size, "more", "more")}, shown when these are answered`);
    byId("pick").hidden = this.cards.size < 2;
    if (this.cards.size < 2 && this.isPicking)
      this.pick(false);
    this.countPicked();
    document.title = `${all > 0 ? `(${all}) ` : ""}Sallyport ${this.run ?? ""}`;
    if (news > 0)
      say(byId("alarm"), news === 1 ? `New question: ${[...this.cards.values()].at(-1).question.to}` : `${news} new questions`);
  }

  // Unanswered questions were denied; the earlier entries stay readable.
  over() {
    this.take({ list: [], count: 0 });
    this.isLive = false;
    say(byId("empty"), "The run is over, and its gate has closed. Unanswered questions were denied; the audit log has all records.");
  }

  saved() {
    return [...this.cards.values()].map(({ question }) => question);
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
    const cards = this.shown;
    const at = this.current ? cards.indexOf(this.current) + by : by > 0 ? 0 : cards.length - 1;
    if (cards[at])
      this.select(cards[at]);
  }

  // True: the key has a meaning here.
  press(key) {
    if (this.isLate) {
      if (key === "Enter" || key === "Escape") {
        this.isLate = false;
        moved();
      }
      return key.length === 1;
    }
    if (!this.isLive)
      return false;
    if (key === "j" || key === "k") {
      this.step(key === "j" ? 1 : -1);
      return true;
    }
    if (key.length !== 1 || key === " ")
      return false;
    const card = this.current, did = this.isPicking ? this.pressPicking(key) : card ? this.pressCard(card, key) : false;
    if (!did && /[A-Za-z0-9]/.test(key))
      tell(`${key} does nothing here; ? lists the keys`);
    return did;
  }

  pressCard(card, key) {
    if (card.isSent)
      return false;
    card.wanted = null;
    if (key === "n")
      card.refuse();
    else if (key === "r")
      card.reason();
    else if (key in letters)
      card.prepare(...letters[key]);
    else if (key in turns)
      card.turn(turns[key]);
    else
      return false;
    return true;
  }

  pressPicking(key) {
    const [action, scope] = letters[key] ?? [];
    if (key === "A")
      this.pickAll(() => true);
    else if (key === "n")
      this.refusePicked();
    else if (scope && [...byId("several-scope").options].some(({ value }) => value === scope)) {
      byId("several-scope").value = scope;
      this.countPicked();
      if (this.picked().length > 0 && (action === "deny" || !byId("several-allow").disabled))
        this.confirmPicked(action);
    } else
      return false;
    return true;
  }

  // One key denies once what is selected: that stores nothing.
  async refusePicked() {
    const cards = this.picked();
    if (!isReady() || cards.length === 0)
      return tell(cards.length === 0 ? "Nothing is selected: A selects all." : early);
    await this.give(cards.map(({ id }) => ({ question: id, action: "deny", scope: "once" })));
  }

  // --- several at once: a question with a warning can only be denied so; a stored answer needs its row to have been on the screen

  dress(card) {
    card.tick.hidden = !this.isPicking;
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

  pickAll(is) {
    for (const card of this.shown)
      card.tick.checked = is(card);
    this.countPicked();
  }

  pickThese(cards) {
    if (!this.isPicking)
      this.pick(true);
    this.pickAll((card) => card.tick.checked || cards.includes(card));
  }

  picked() {
    return this.shown.filter((card) => card.tick.checked);
  }

  countPicked() {
    const isAlways = byId("several-scope").value === "always";
    const cards = this.picked(), warned = cards.filter(({ question }) => question.needs_typing || (isAlways && ["tcp", "udp"].includes(question.protocol))).length;
    say(byId("picked"), `${cards.length} selected${warned > 0 ? `; ${warned} with a warning: to allow, answer each by itself` : ""}`);
    byId("several-deny").disabled = cards.length === 0;
    byId("several-allow").disabled = cards.length === 0 || warned > 0;
  }

  async confirmPicked(action) {
    const scope = byId("several-scope").value, cards = this.picked(), number = (this.asked = (this.asked ?? 0) + 1);
    if (!isReady() || !this.isLive)
      return tell(this.isLive ? early : "The page is not connected to the gate: nothing is answered.");
    let rows;
    try {
      rows = await Promise.all(cards.map(async (card) =>
        ({ question: card.id, action, scope, text: (await post("/api/text", { question: card.id, action, scope })).text })));
    } catch (error) {
      Refused.only(error);
      return tell(error.message, "bad");
    }
    if (number === this.asked && document.querySelector("dialog[open]") === null)
      this.showConfirm(action, scope, rows);
  }

  showConfirm(action, scope, rows) {
    const what = plural(rows.length, "destination", "destinations"), yes = byId("confirm-yes");
    this.confirmed = rows.map((answer) => {
      const code = el("code", { class: "exact", dir: "ltr" });
      sayName(code, answer.text);
      return { answer, node: el("li", {}, code), shown: code.textContent };
    });
    this.mustRead = action === "allow" || scope !== "once"; // a denial for once stores nothing
    say(byId("confirm-title"), `${action === "allow" ? "Allow" : "Deny"} ${what}`);
    say(byId("confirm-kind"), `${answers[action][scope]}:`);
    say(yes, action === "allow" ? "Allow these" : "Deny these");
    yes.className = action;
    byId("confirm-list").replaceChildren(...this.confirmed.map(({ node }) => node));
    byId("confirm-list").scrollTop = 0;
    moved();
    byId("confirm").showModal();
    watch(this.listed());
    this.countRead();
  }

  listed() {
    return [byId("confirm-kind"), byId("confirm-yes"), ...this.confirmed.map(({ node }) => node)];
  }

  isRead({ node, shown }) {
    return node.textContent === shown && (!this.mustRead || sightOf(node).isWhole);
  }

  // The list can be answered after all of it was on the screen.
  countRead() {
    if (!this.confirmed)
      return;
    const left = this.confirmed.filter((row) => !this.isRead(row)).length;
    say(byId("confirm-read"), left > 0 ? `${left} of ${this.confirmed.length} not on the screen yet: scroll.` : "");
    byId("confirm-yes").disabled = left > 0 || (this.mustRead && !sightOf(byId("confirm-kind")).isWhole);
  }

  endConfirm() {
    this.confirmed = null;
    watch([]);
    this.current?.watch();
  }

  async answerPicked() {
    const rows = this.confirmed;
    this.countRead();
    if (!rows || !this.isLive || byId("confirm-yes").disabled)
      return;
    if (!isReady() || !sightOf(byId("confirm-yes")).isThere)
      return say(byId("confirm-read"), early);
    byId("confirm").close();
    await this.give(rows.map(({ answer }) => answer));
  }

  async give(given) {
    const failed = [];
    for (const answer of given) // one after the other: the gate takes few connections
      await post("/api/answer", answer).catch((error) => failed.push(Refused.only(error)));
    if (failed.length > 0)
      tell(`${failed.length} of ${given.length} were not answered: ${failed[0].message}`, "bad");
    this.pick(false);
  }
}
