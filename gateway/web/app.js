import { byId, say } from "/dom.js";
import { Refused } from "/refused.js";
import { connect, enter, isCapability, stop } from "/stream.js";
import { Agents } from "/agent.js";
import { Questions } from "/question.js";
import { Ledger } from "/ledger.js";
import { drawSums } from "/chart.js";
import { saveJson } from "/save.js";

const questions = new Questions();
const agents = new Agents(byId("agents"), (count, names) => questions.also(count, names));
const ledger = new Ledger((to) => questions.expect(to));

let since = Infinity; // when this page came, by the gate's clock

function close(title, text) {
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());
  byId("main").hidden = true;
  byId("closed").hidden = false;
  say(byId("closed-title"), title);
  say(byId("closed-text"), text);
  say(byId("link"), "Not connected");
  byId("link").dataset.state = "closed";
  document.title = "Sallyport";
}

// An error of the page itself: its contents may be wrong, so it hides them and sends no answer.
function broke(error) {
  stop(error);
  questions.isLive = agents.isLive = false;
  close("This page has an error and cannot answer",
    `Load it again, or answer with \`sallyport approve\`. The error: ${error?.message ?? error ?? "a script failed"}`);
}
addEventListener("error", (event) => broke(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => broke(event.reason));

function linkIs(state, error) {
  const words = { open: "Connected", wait: "Connecting", over: "The run is over" };
  if (state === "closed")
    return close("The gate refused this page", error.message);
  if (state === "over") {
    agents.over();
    questions.over();
    ledger.over();
  }
  questions.isLive = agents.isLive = false; // until they come
  byId("closed").hidden = true;
  byId("main").hidden = false;
  byId("main").inert = state === "wait";
  byId("main").classList.toggle("over", state === "over");
  byId("link").dataset.state = state;
  say(byId("link"), words[state]);
}

const events = {
  hello(data) {
    since = data.now_ms;
    say(byId("run"), data.run);
    say(byId("session"), data.session === data.run ? "" : data.session);
    questions.hello(data);
    ledger.hello(data);
  },
  questions: (data) => questions.take(data),
  agents: (data) => agents.take(data),
  grants: (data) => ledger.take("grants", data),
  live: (data) => ledger.take("live", data),
  totals(data) {
    ledger.take("totals", data);
    drawSums(data);
  },
  denials(data) {
    ledger.takeDenials(data);
    data.filter(({ at }) => at >= since).forEach((event) => questions.deniedAgain(event));
  },
  events(data) {
    for (const event of data.filter(({ event: kind }) => kind === "settled")) {
      event.to = questions.nameOf(event.id);
      if (event.at >= since)
        questions.settled(event);
    }
    ledger.takeEvents(data);
  },
};

// Keys are shortcuts only outside of text fields and without a modifier: the browser uses those.
document.addEventListener("keydown", (event) => {
  if (byId("main").hidden)
    return;
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat || document.querySelector("dialog[open]"))
    return;
  if (event.target.closest("input, select, textarea") && event.target.type !== "radio" && event.target.type !== "checkbox")
    return;
  if (event.key === "?" && !questions.isLate)
    byId("help").showModal();
  else if (!agents.press(event.key) && !questions.press(event.key))
    return;
  event.preventDefault();
});
byId("save-json").addEventListener("click", () => saveJson(ledger.fileName("all"), { questions: questions.saved(), agents: agents.saved(), ...ledger.saved() }));
byId("keys").addEventListener("click", () => byId("help").showModal());
byId("help-close").addEventListener("click", () => byId("help").close());

// The address was opened again in the open page: authenticate again.
addEventListener("hashchange", () => {
  if (isCapability(location.hash.slice(1)))
    location.reload();
});
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("questions").focus();
});

try {
  if (await enter())
    await connect(events, linkIs);
  else
    close("Open the address that was printed", "When the run began, it printed an address that ends in a long code. This page opens with that code only.");
} catch (error) {
  if (Refused.only(error).status === 0)
    close("The gate cannot be reached", "Check that the run has not ended.");
  else
    close("The gate refused this page", error.message);
}
