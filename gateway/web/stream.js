// stream: the connection to the gate: authentication, requests and events.
import { Refused } from "/refused.js";

const kept = "sallyport-key";
const waits = [250, 500, 1000, 2000, 4000];
const silence = 40000; // the gate speaks every 15 s

let broken = null;
// The page has an error: it sends no more requests.
export function stop(error) {
  broken ??= error;
}

function failed() {
  return new Refused(0, "unreachable", "the gate cannot be reached");
}

async function read(response) {
  if (response instanceof Refused)
    throw response;
  const value = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new Refused(response.status, value.code ?? "failed", value.error ?? `the gate said ${response.status}`);
  return value;
}

// The key is one of two secrets; the other is a cookie that scripts cannot read.
function fields() {
  return { "Content-Type": "application/json", "Sallyport-Key": sessionStorage.getItem(kept) ?? "" };
}

export async function post(path, body, ms = 10000) {
  if (broken)
    throw new Refused(0, "broken", "this page has an error and cannot answer");
  const response = await fetch(path, {
    method: "POST", headers: fields(), body: JSON.stringify(body), credentials: "same-origin", cache: "no-store",
    redirect: "error", signal: AbortSignal.timeout(ms),
  }).catch(failed);
  return read(response);
}

export function isCapability(text) {
  return /^[0-9a-f]{64}$/.test(text);
}

// Exchanges the capability in the address for the cookie and the key. First removes it from the address bar and the history.
export async function enter() {
  const capability = location.hash.slice(1);
  if (!isCapability(capability))
    return sessionStorage.getItem(kept) !== null;
  history.replaceState(null, "", "/");
  const { key } = await post("/api/enter", { capability });
  sessionStorage.setItem(kept, key);
  return true;
}

// Calls on[event](data) for every event of the text/event-stream in @body, until it ends. True: the run is over.
async function follow(body, on) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "", event = "", last = performance.now();
  const watchdog = setInterval(() => {
    if (performance.now() - last > silence)
      reader.cancel().catch(() => {});
  }, 5000);
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => ({ done: true }));
      if (done)
        return false;
      last = performance.now();
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line.startsWith("event: "))
          event = line.slice(7);
        else if (line.startsWith("data: ") && event === "over")
          return true;
        else if (line.startsWith("data: "))
          on[event]?.(JSON.parse(line.slice(6)));
      }
    }
  } finally {
    clearInterval(watchdog);
  }
}

// Keeps the connection open, and calls @state with "open", "wait", "over", or "closed" and the cause.
export async function connect(on, state) {
  for (let tries = 0; tries < waits.length; tries++) {
    const response = await fetch("/api/events", { headers: fields(), credentials: "same-origin", cache: "no-store", redirect: "error" })
      .catch(failed);
    if (response.ok) {
      state("open");
      tries = -1; // it was there
      if (await follow(response.body, on))
        return state("over");
    } else if (response.status !== 0 && response.status !== 503)
      return state("closed", await read(response).catch(Refused.only));
    state("wait");
    await new Promise((done) => setTimeout(done, waits[Math.max(tries, 0)]));
  }
  state("over");
}
