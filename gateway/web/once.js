// One question, by a link that is good for it alone. Nothing is kept in the browser.
import { byId, countdown, say, visible } from "/dom.js";

const guard = 400; // ms after the page came in which no answer is taken
const link = location.hash.slice(1);
history.replaceState(null, "", location.pathname); // it leaves the address bar, and with it the history

let question, text, due = 0, ready = Infinity;

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ link, ...body }), credentials: "omit",
    cache: "no-store", redirect: "error", signal: AbortSignal.timeout(10000),
  });
  const value = await response.json().catch(() => ({}));
  if (!response.ok)
    throw Object.assign(new Error(value.error ?? `the gate said ${response.status}`), { status: response.status });
  return value;
}

function close(title, words) {
  byId("main").hidden = true;
  byId("closed").hidden = false;
  say(byId("closed-title"), title);
  say(byId("closed-text"), words);
}

function isTyped() {
  return !question.needs_typing || byId("typed").value.trim().toLowerCase() === question.domain.toLowerCase();
}

function refresh() {
  const left = due - performance.now();
  if (left <= 0)
    return close("Too late", "Nobody answered in time, so it was denied.");
  say(byId("time"), countdown(left));
  byId("allow").disabled = performance.now() < ready || !isTyped();
}

function show() {
  say(byId("to"), question.to);
  say(byId("who"), `for ${question.commands.map(visible).join(", ")}${question.program ? `, by ${visible(question.program)}` : ""}`);
  say(byId("why"), [question.because, question.rule, question.plea && `The command says: ${question.plea}`].filter(Boolean).map(visible).join(" · "));
  say(byId("exact"), text);
  say(byId("domain"), question.domain);
  byId("typing").hidden = !question.needs_typing;
  byId("warning").hidden = !question.needs_typing;
  say(byId("warning"), question.warning || "Nothing is known of this destination.");
  due = performance.now() + question.left_ms;
  ready = performance.now() + guard;
  byId("main").hidden = false;
  setInterval(refresh, 200);
}

async function answer(action) {
  if (performance.now() < ready)
    return;
  try {
    await post("/api/once/answer", { action, words: byId("words").value, ...(action === "allow" ? { text, typed: byId("typed").value.trim() } : {}) });
    close(action === "allow" ? "Allowed once" : "Denied", `${visible(question.to)}. This page can be closed.`);
  } catch (error) {
    if (error.status === 410)
      close("It is over", error.message);
    else
      say(byId("wrong"), error.message);
  }
}

byId("typed").addEventListener("input", refresh);
byId("deny").addEventListener("click", () => answer("deny"));
byId("allow").addEventListener("click", () => answer("allow"));
try {
  ({ question, text } = await post("/api/once/look", {}));
  show();
} catch (error) {
  close(error.status ? "This link opens nothing" : "The gate cannot be reached", error.message);
}
