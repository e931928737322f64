#!/usr/bin/env node
// Runs each line of its input in a sandbox, and asks the user when a command needs a permission.
// usage: node agent.mjs [SALLYPORT] [OPTION...]     (options are those of `sallyport agent`)
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [program = "sallyport", ...options] = process.argv.slice(2);
const server = spawn(program, ["agent", ...options], { stdio: ["pipe", "pipe", "inherit"] });
const events = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const typed = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let last = 0;

// Sends one submission: a request of JSON-RPC 2.0 on a line. Its reply, and events about it, have the same id.
function send(method, params = {}) {
  const id = ++last;
  server.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
  return id;
}

const line = async () => ((await typed.next()).value ?? "").trim();

// Shows a question, and answers with one of the decisions that it offers.
async function ask(question) {
  const what = question.destination ?? question.command ?? question.accesses ?? question.items;
  console.log(`? ${question.kind}: ${JSON.stringify(what)} ${question.warning ?? ""}`.trimEnd());
  console.log(`  one of ${question.decisions.join(", ")}:`);
  const said = await line();
  const decision = question.decisions.includes(said) ? said : "denied"; // anything else denies
  const answer = { approval: question.approval, kind: question.kind, decision };
  if (question.confirmation && decision.startsWith("approved")) {
    console.log(`  type ${question.confirmation} to allow it:`);
    answer.confirmation = await line();
  }
  send("approve", answer);
}

// Handles events until the reply to submission id; returns its result.
async function wait(id) {
  for (;;) {
    const { value, done } = await events.next();
    if (done) process.exit(1);
    const message = JSON.parse(value);
    if (message.method === "exec_output") process.stdout.write(message.params.text ?? "(bytes)\n");
    else if (message.method === "approval_request") await ask(message.params);
    else if (message.error) console.log(`! ${message.error.message}`);
    if (!message.method && message.id === id) return message.result;
  }
}

await wait(send("initialize", { protocol_version: 2 }));
await wait(send("configure_session", { approval: "untrusted", on_denial: "report" }));
for (let script = await line(); script; script = await line()) {
  const end = await wait(send("exec", { script, timeout_ms: 60000 }));
  if (end) console.log(`[${end.status} ${end.exit_code}] ${end.message ?? ""}`.trimEnd());
}
send("end_session");
server.stdin.end();
server.on("exit", (code) => process.exit(code ?? 1));
