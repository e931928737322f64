// once: the page of a link that answers one question. The browser stores nothing.
import { byId, countdown, el, say, sayName, visible } from "/dom.js";
import { rows, title, unread } from "/agent.js";
import { Refused } from "/refused.js";
import { moved, watch } from "/shown.js";

const link = location.hash.slice(1);
history.replaceState(null, "", location.pathname); // it leaves the address bar, and with it the history

let question, text, agent, due = 0, isOver = false;

async function post(path, body) {
  const response = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ link, ...body }), credentials: "omit",
    cache: "no-store", redirect: "error", signal: AbortSignal.timeout(10000),
  }).catch(() => ({ ok: false, status: 0, json: async () => ({ error: "the gate cannot be reached" }) }));
  const value = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new Refused(response.status, value.code ?? "failed", value.error ?? `the gate said ${response.status}`);
  return value;
}

function close(title, words) {
  isOver = true;
  byId("main").hidden = true;
  byId("closed").hidden = false;
  say(byId("closed-title"), title);
  say(byId("closed-text"), words);
}

function broke(error) {
  close("This page has an error and cannot answer", `Load it again. The error: ${error?.message ?? error ?? "a script failed"}`);
}
addEventListener("error", (event) => broke(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => broke(event.reason));

function isTyped() {
  if (agent)
    return byId("typed").value.trim() === agent.typed;
  return !question.needs_typing || byId("typed").value.trim().toLowerCase() === question.domain.toLowerCase();
}

function isWarned() {
  return question.needs_typing || question.risks.length > 0;
}

function refresh() {
  const left = due - performance.now();
  if (left <= 0)
    return close("Too late", "It was not answered in time, so it was denied.");
  say(byId("time"), countdown(left));
  byId("allow").disabled = !isTyped();
}

// A question that is not about a destination.
function showAgent() {
  say(byId("to"), title(agent.kind));
  byId("grant").replaceChildren(el("span", { class: "label" }, "Either answer applies once, to exactly this"), rows(agent.lines));
  byId("who").hidden = byId("why").hidden = true;
  sayName(byId("domain"), agent.typed);
  byId("typing").hidden = agent.typed === "";
  byId("allow").hidden = !agent.choices.includes("allow once");
  begin(agent.left_ms, [byId("to"), byId("grant"), byId("allow"), byId("deny")]);
}

function show() {
  sayName(byId("to"), question.to);
  say(byId("who"), `for ${question.commands.map(visible).join(", ")}${question.program ? `, by ${visible(question.program)}` : ""}`);
  say(byId("why"), [question.because, question.rule, question.plea && `The command says: ${question.plea}`].filter(Boolean).map(visible).join(" · "));
  sayName(byId("exact"), text);
  sayName(byId("domain"), question.domain);
  byId("typing").hidden = !question.needs_typing;
  byId("warning").hidden = !isWarned();
  say(byId("warning"), question.warning || (question.private ? "An address of your own network or machine." : "Nothing is known about this destination."));
  begin(question.left_ms, [byId("to"), byId("warning"), byId("grant"), byId("allow"), byId("deny")]);
}

function begin(leftMs, watched) {
  due = performance.now() + leftMs;
  byId("closed").hidden = true;
  byId("main").hidden = false;
  moved();
  watch(watched);
  refresh();
  setInterval(() => isOver || refresh(), 200);
}

// The text that has to be read before an answer; scrolls to it if it was not on the screen.
function isShown(action) {
  const read = [byId("to"), ...(!agent && action === "allow" && isWarned() ? [byId("warning")] : []), byId("grant")];
  const why = unread(read, agent ? [byId(action)] : [byId("grant"), byId(action)]);
  say(byId("wrong"), why ?? "");
  return why === null;
}

async function answer(action) {
  if (isOver || !isShown(action))
    return;
  try {
    await post("/api/once/answer", { action, text, words: byId("words").value, ...(action === "allow" ? { typed: byId("typed").value.trim() } : {}) });
    close(action === "allow" ? "Allowed once" : "Denied", `${agent ? title(agent.kind) : visible(question.to)}. This page can be closed.`);
  } catch (error) {
    if (Refused.only(error).status === 410)
      close("The question has ended", error.message);
    else
      say(byId("wrong"), error.message);
  }
}

byId("typed").addEventListener("input", refresh);
byId("deny").addEventListener("click", () => answer("deny"));
byId("allow").addEventListener("click", () => answer("allow"));
try {
  ({ question, text, agent } = await post("/api/once/look", {}));
  agent ? showAgent() : show();
} catch (error) {
  close(Refused.only(error).status ? "This link is not valid" : "The gate cannot be reached", error.message);
}
