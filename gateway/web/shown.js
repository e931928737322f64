// shown: what is on the screen. An answer counts only if its whole text was on the screen, and still is.
import { byId } from "/dom.js";

export const guard = 400; // ms after something moved in which no answer is taken
const beat = 50; // ms between two looks

let ready = 0; // when answers count again
export function moved() {
  ready = performance.now() + guard;
}
export function isReady() {
  return performance.now() >= ready && document.visibilityState === "visible";
}
addEventListener("focus", moved); // the click that brings the window to the front was not meant for a button
addEventListener("resize", moved);
document.addEventListener("visibilitychange", moved);

// The part of the window in which @node can be read: all of it in a dialog, else without the bar at the top and the notice at the foot.
function pane(node) {
  const view = window.visualViewport ?? { offsetTop: 0, offsetLeft: 0, width: innerWidth, height: innerHeight };
  const box = { top: view.offsetTop, left: view.offsetLeft, right: view.offsetLeft + view.width, bottom: view.offsetTop + view.height };
  if (node.closest("dialog"))
    return box;
  const bar = document.querySelector(".bar"), said = byId("said");
  if (bar && getComputedStyle(bar).position === "sticky")
    box.top = Math.max(box.top, bar.getBoundingClientRect().bottom);
  if (said?.classList.contains("shown"))
    box.bottom = Math.min(box.bottom, said.getBoundingClientRect().top);
  return box;
}

function isOnTop(node, x, y) {
  const hit = document.elementFromPoint(x, y);
  return hit !== null && (node.contains(hit) || hit.contains(node));
}

// The visible part of the height of @node, as [from, to]; null: none of it is visible.
function band(node) {
  const at = node.getBoundingClientRect();
  if (!node.isConnected || at.width === 0 || at.height === 0 || !node.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    return null;
  const box = pane(node);
  for (let above = node.parentElement; above && above !== document.body; above = above.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(above), rim = above.getBoundingClientRect();
    if (overflowX !== "visible")
      [box.left, box.right] = [Math.max(box.left, rim.left), Math.min(box.right, rim.right)];
    if (overflowY !== "visible")
      [box.top, box.bottom] = [Math.max(box.top, rim.top), Math.min(box.bottom, rim.bottom)];
  }
  const from = Math.max(at.top, box.top), to = Math.min(at.bottom, box.bottom), x = (at.left + at.right) / 2;
  if (to - from < 1 || at.left < box.left - 1 || at.right > box.right + 1)
    return null;
  const edge = Math.min(2, (to - from) / 2); // the outermost pixels are shared with what is beside it
  if (![from + edge, (from + to) / 2, to - edge].every((y) => isOnTop(node, x, y)))
    return null;
  return { from: from - at.top, to: to - at.top, isFull: to - from >= Math.min(at.height, box.bottom - box.top) - 1 };
}

// The parts of one node that were visible since its text or its size changed.
class Sight {
  constructor(node) {
    this.node = node;
    this.forget("");
  }

  forget(form) {
    this.form = form;
    this.seen = []; // parts of its height, [from, to]
    this.before = null; // the band at the last look
    this.place = "";
    this.since = Infinity; // when it came to its place
  }

  // Its text and size: if one of them changes, it has to be read again.
  formNow() {
    const { width, height } = this.node.getBoundingClientRect();
    return `${Math.round(width)} ${Math.round(height)} ${this.node.textContent}`;
  }

  look() {
    const form = this.formNow(), now = band(this.node), at = this.node.getBoundingClientRect();
    if (form !== this.form)
      this.forget(form);
    const place = now ? `${Math.round(at.left)} ${Math.round(at.top)}` : "";
    if (place !== this.place) {
      this.place = place;
      this.since = performance.now();
    }
    // A part counts as seen only after two observations: the first may precede its painting.
    if (now && this.before)
      this.see(Math.max(now.from, this.before.from), Math.min(now.to, this.before.to));
    this.before = now;
  }

  see(from, to) {
    if (to <= from)
      return;
    const apart = this.seen.filter(([a, b]) => b < from - 1 || a > to + 1);
    const touching = this.seen.filter(([a, b]) => b >= from - 1 && a <= to + 1);
    this.seen = [...apart, [Math.min(from, ...touching.map(([a]) => a)), Math.max(to, ...touching.map(([, b]) => b))]].sort(([a], [b]) => a - b);
  }

  // True: all of it was on the screen, with its present text and size.
  get isWhole() {
    const height = this.node.getBoundingClientRect().height;
    return this.formNow() === this.form && this.seen.some(([from, to]) => from <= 1 && to >= height - 1);
  }

  // True: it is on the screen now, and has not just moved.
  get isThere() {
    const now = band(this.node), at = this.node.getBoundingClientRect();
    return now !== null && now.isFull && this.place === `${Math.round(at.left)} ${Math.round(at.top)}`
      && performance.now() - this.since >= guard;
  }

  // Scrolls to its unseen part. Hides the notice at the foot if it leaves too little room.
  bring() {
    byId("said").classList.remove("shown");
    const box = pane(this.node), room = box.bottom - box.top, first = this.seen.find(([from]) => from <= 1);
    this.node.scrollIntoView({ block: "center", behavior: "instant" });
    const at = this.node.getBoundingClientRect();
    if (at.height > room)
      scrollBy({ top: at.top + (first && !this.isWhole ? first[1] - 20 : 0) - box.top, behavior: "instant" });
    else if (at.top < box.top || at.bottom > box.bottom)
      scrollBy({ top: at.top - box.top - (room - at.height) / 2, behavior: "instant" });
  }
}

const groups = new Map(); // the nodes that each part of the page watches
let sights = new Map();

function look() {
  for (const sight of sights.values())
    sight.look();
}

// Observes these nodes from now on, and no others of the same @group. Keeps what was seen of nodes that stay.
export function watch(nodes, group = "questions") {
  groups.set(group, nodes.filter(Boolean));
  sights = new Map([...groups.values()].flat().map((node) => [node, sights.get(node) ?? new Sight(node)]));
}

export function sightOf(node) {
  return sights.get(node) ?? new Sight(node);
}

let onLook = () => {};
// Calls @then after each observation.
export function afterLook(then) {
  onLook = then;
}

// Counted in animation frames, because a window that is not painted shows nothing.
setInterval(() => requestAnimationFrame(() => {
  if (sights.size === 0)
    return;
  look();
  onLook();
}), beat);
