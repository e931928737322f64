// dom: elements and text. Data of others becomes text, never markup.

// Characters that move or hide text are shown as their numbers: controls, soft hyphens, zero-width characters, text directions.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\uffff]|\udb40[\udc00-\udfff]/g;

export function visible(text) {
  return String(text ?? "").replace(hidden, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
}

// el("p", {class: "x", onclick: f, hidden: true}, "text", child, …)
export function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on"))
      node.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean")
      node.toggleAttribute(key, value);
    else if (value !== null && value !== undefined)
      node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// Changes the text only if it differs, so that a selection and a screen reader are not disturbed.
export function say(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown)
    node.textContent = shown;
}

// Allows line breaks between the labels of a name and the parts of an address; within one only if it is longer than a line.
export function spread(text) {
  return text.split(/(?<=\s)|(?<=\/)(?!\/)|(?=[.:?&=](?!\/))/).map((part) => el("span", { class: "part" }, part));
}

// As say(), for an address or a name.
export function sayName(node, text) {
  if (node.textContent !== visible(text))
    node.replaceChildren(...spread(visible(text)));
}

export function plural(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${unit === 0 ? count : count.toFixed(count < 10 ? 1 : 0)} ${units[unit]}`;
}

export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60)
    return `${seconds} s`;
  if (seconds < 3600)
    return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  if (seconds < 86400)
    return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds / 3600) % 24} h`;
}

export function countdown(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

export function byId(id) {
  return document.getElementById(id);
}

let quiet;
// Shows a notice at the foot of the page, and announces it to a screen reader.
export function tell(text, kind = "plain") {
  const place = byId("said");
  place.dataset.kind = kind;
  sayName(byId("said-text"), text);
  show(6000);
}

function show(ms) {
  const place = byId("said");
  place.classList.add("shown");
  clearTimeout(quiet);
  quiet = setTimeout(() => {
    if (place.matches(":focus-within, :hover"))
      return show(6000); // somebody is reading it, or is about to press its button
    place.classList.remove("shown");
    byId("said-undo").hidden = true;
  }, byId("said-undo").hidden ? ms : Math.max(ms, 12000));
}

// Adds to the notice what can be undone; "": nothing. In a window without room for it, it is not offered here.
export function offerUndo(text) {
  const place = byId("said"), undo = byId("said-undo");
  undo.hidden = text === "";
  if (text === "")
    return;
  sayName(byId("said-answer"), text);
  if (!place.classList.contains("shown"))
    say(byId("said-text"), "");
  show(12000);
  undo.hidden = place.getBoundingClientRect().height > innerHeight / 2;
}
