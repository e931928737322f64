// arrange: the order of the questions on the page: groups, a search, a sort. It only moves and hides; what is hidden is not answered.
import { byId, el, plural, say, spread, visible } from "/dom.js";
import { moved } from "/shown.js";

const enough = 4; // fewer need no groups and no search, as on the terminal
const groups = {
  domain: ({ domain, host }) => domain || host,
  command: ({ commands }) => commands[0] ?? "a command",
  none: () => "",
};
const ranks = { danger: 0, risk: 1, note: 2, none: 3 };
const orders = {
  oldest: () => 0, // as they came
  due: (a, b) => a.due - b.due,
  warning: (a, b) => ranks[a.level] - ranks[b.level],
  name: (a, b) => a.question.host.localeCompare(b.question.host) || a.question.port - b.question.port,
  times: (a, b) => b.question.times + b.question.waiting - a.question.times - a.question.waiting,
};

export class Arrangement {
  // @changed: called when the person wants another order; @pick: with the questions of a group.
  constructor(changed, pick) {
    this.heads = new Map();
    this.pick = pick;
    for (const id of ["group", "order"])
      byId(id).addEventListener("change", changed);
    byId("search").addEventListener("input", changed);
    byId("search").addEventListener("keydown", (event) => {
      if (event.key !== "Escape")
        return;
      byId("search").value = "";
      changed();
    });
  }

  isFound({ question }) {
    const wanted = byId("search").value.trim().toLowerCase();
    return wanted === "" || [question.to, question.rule, question.program, ...question.commands].some((text) => text.toLowerCase().includes(wanted));
  }

  // Puts the nodes of @cards in order; returns those that are shown, in that order. @more: questions that wait and are not among @cards.
  place(cards, more) {
    const tools = byId("tools"), isSearched = byId("search").value.trim() !== "";
    tools.hidden = cards.length < enough && !isSearched && !tools.contains(document.activeElement);
    const found = cards.filter((card) => this.isFound(card));
    say(byId("found"), isSearched ? `${found.length} of ${cards.length} found${more > 0 ? `; ${plural(more, "more is", "more are")} not searched` : ""}` : "");
    const named = this.groupBy(found, groups[cards.length < enough ? "none" : byId("group").value]);
    const nodes = [], shown = [];
    for (const [name, list] of named) {
      list.sort(orders[byId("order").value]);
      if (name !== "")
        nodes.push(this.head(name, list));
      nodes.push(...list.map(({ node }) => node));
      shown.push(...list);
    }
    for (const name of this.heads.keys()) {
      if (!named.has(name))
        this.heads.delete(name);
    }
    for (const card of cards) {
      const isHidden = !found.includes(card);
      if (card.node.hidden !== isHidden)
        moved();
      card.node.hidden = isHidden;
      if (isHidden)
        nodes.push(card.node);
    }
    this.put(nodes);
    return shown;
  }

  groupBy(found, groupOf) {
    const named = new Map();
    for (const card of found) {
      const name = groupOf(card.question);
      named.set(name, [...named.get(name) ?? [], card]);
    }
    return named;
  }

  head(name, list) {
    let head = this.heads.get(name);
    if (!head) {
      const count = el("span", { class: "hint" });
      const button = el("button", { type: "button", class: "quiet", onclick: () => this.pick(head.list) }, "Select");
      head = { count, button, node: el("div", { class: "group" }, el("h3", { class: "to", dir: "ltr" }, ...spread(visible(name))), count, button) };
      this.heads.set(name, head);
    }
    head.list = list;
    const isNew = list.some(({ level }) => level === "note"), others = list.filter(({ level }) => level === "risk" || level === "danger").length;
    say(head.count, [isNew && "NEW", plural(list.length, "question", "questions"), others > 0 && `${others} with a warning`].filter(Boolean).join(", "));
    const label = `Select the ${plural(list.length, "question", "questions")} of ${visible(name)}`;
    if (head.button.getAttribute("aria-label") !== label)
      head.button.setAttribute("aria-label", label);
    return head.node;
  }

  // What only comes below moves nothing.
  put(nodes) {
    const place = byId("list"), wanted = new Set(nodes), before = [...place.children], at = document.activeElement;
    if (!before.every((node, index) => node === nodes[index]))
      moved();
    before.filter((node) => !wanted.has(node)).forEach((node) => node.remove());
    nodes.forEach((node, index) => {
      if (place.children[index] !== node)
        place.insertBefore(node, place.children[index] ?? null);
    });
    if (document.activeElement !== at && place.contains(at))
      at.focus({ preventScroll: true });
  }
}
