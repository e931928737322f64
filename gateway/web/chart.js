// chart: decisions and bytes over time, as bars, and in words.
import { byId, bytes, clock, duration, el, plural, say } from "/dom.js";

const day = 86400000;
const slots = 60; // bars at most: when there are more, two become one
const box = { width: 600, height: 80 };
const none = () => ({ allowed: 0, denied: 0, failed: 0, up: 0, down: 0 });
const kinds = [
  { name: "Decisions", over: "allowed", under: "denied", beside: "failed", words: (count) => count.toLocaleString("en") },
  { name: "Bytes", over: "up", under: "down", words: bytes },
];

function svg(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes))
    node.setAttribute(key, value);
  return node;
}

export class Chart {
  constructor() {
    this.bars = [];
    this.begin = null; // of the first bar, ms
    this.width = 1000; // of one bar, ms
    this.isStale = false;
    this.pictures = kinds.map((kind) => ({ kind, words: el("figcaption", {}), svg: svg("svg",
      { viewBox: `0 0 ${box.width} ${box.height}`, preserveAspectRatio: "none", "aria-hidden": "true" }) }));
    this.axis = el("p", { class: "axis mono", "aria-hidden": "true" }, ...[0, 1, 2].map(() => el("span", {})));
    this.body = el("tbody", {});
    const heads = ["From", "Allowed", "Denied", "Failed", "Up", "Down"];
    this.node = el("div", { class: "chart", hidden: true }, ...this.pictures.map(({ words, svg: picture }) => el("figure", {}, words, picture)), this.axis,
      el("details", {}, el("summary", {}, "The chart as a table"), el("div", { class: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, ...heads.map((head, at) => el("th", { scope: "col", class: at ? "number" : null }, head)))), this.body))),
      el("p", { class: "hint" }, "Bytes are counted when their connection closes."));
  }

  add(event) {
    const isDecision = event.event === "decision";
    if (isDecision)
      this.count(event.at, { [event.action === "allow" ? "allowed" : event.failed ? "failed" : "denied"]: 1 });
    else if (event.event === "closed")
      this.count(event.at, { up: event.up, down: event.down });
  }

  // A whole day, which begins @at.
  addDay(at, values) {
    this.width = Math.max(this.width, day);
    this.count(at, values);
  }

  // Adds @values to the bar of the time @at.
  count(time, values) {
    this.begin ??= time;
    let at = Math.max(0, Math.floor((time - this.begin) / this.width));
    for (; at >= slots; at = Math.floor((time - this.begin) / this.width)) {
      this.width *= 2;
      this.bars = this.bars.reduce((bars, bar, index) => {
        const to = bars[index >> 1] ??= none();
        Object.keys(to).forEach((key) => (to[key] += bar[key]));
        return bars;
      }, []);
    }
    while (this.bars.length <= at)
      this.bars.push(none());
    for (const [key, value] of Object.entries(values))
      this.bars[at][key] += value;
    this.isStale = true;
  }

  sum(key) {
    return this.bars.reduce((sum, bar) => sum + bar[key], 0);
  }

  draw() {
    if (!this.isStale)
      return;
    this.isStale = false;
    this.node.hidden = false;
    const end = this.begin + this.bars.length * this.width;
    this.pictures.forEach((picture) => this.drawOne(picture));
    const name = this.width < day ? clock : (at) => new Date(at).toISOString().slice(0, 10);
    [this.begin, (this.begin + end) / 2, end].forEach((at, index) => say(this.axis.children[index], name(at)));
    this.body.replaceChildren(...this.bars.flatMap((bar, index) => Object.values(bar).every((value) => value === 0) ? [] : [el("tr", {},
      el("th", { scope: "row", class: "mono" }, name(this.begin + index * this.width)),
      ...[bar.allowed, bar.denied, bar.failed, bytes(bar.up), bytes(bar.down)].map((value) => el("td", { class: "number mono" }, String(value))))]));
  }

  // One kind above the line, the other below it: no colour is needed to tell them apart.
  drawOne({ kind, words, svg: picture }) {
    const most = Math.max(1, ...this.bars.flatMap((bar) => [bar[kind.over], bar[kind.under]]));
    const step = box.width / Math.max(this.bars.length, 10), middle = box.height / 2;
    const beside = kind.beside ? this.sum(kind.beside) : 0, failed = beside > 0 ? `, ${kind.words(beside)} ${kind.beside} (not drawn)` : "";
    say(words, `${kind.name}: ${kind.words(this.sum(kind.over))} ${kind.over} (above the line), ${kind.words(this.sum(kind.under))} ${kind.under} (below)${failed}; `
      + `at most ${kind.words(most)} in ${duration(this.width)}, ${plural(this.bars.length, "bar", "bars")}.`);
    const bars = this.bars.flatMap((bar, index) => [[kind.over, -1], [kind.under, 1]].filter(([key]) => bar[key] > 0).map(([key, way]) => {
      const height = Math.max(1.5, bar[key] / most * (middle - 1));
      return svg("rect", { class: key, x: (index * step).toFixed(1), width: Math.max(step - 1, 1).toFixed(1), height: height.toFixed(1),
        y: (way < 0 ? middle - height : middle).toFixed(1) });
    }));
    picture.replaceChildren(svg("line", { class: "base", x1: 0, x2: box.width, y1: middle, y2: middle }), ...bars);
  }
}

// The row of sums, of all destinations, also those that are not listed.
export function drawSums({ sum, count }) {
  const values = [["Destinations", count.toLocaleString("en")], ["Allowed", sum.allowed.toLocaleString("en")],
    ["Denied", (sum.denied + sum.unanswered).toLocaleString("en")],
    ["Failed", sum.failed.toLocaleString("en")], ["Up", bytes(sum.up)], ["Down", bytes(sum.down)]];
  const place = byId("sums");
  if (place.children.length === 0)
    place.append(...values.map(([name]) => el("div", {}, el("dt", {}, name), el("dd", { class: "mono" }))));
  values.forEach(([, value], at) => say(place.children[at].lastChild, value));
}
