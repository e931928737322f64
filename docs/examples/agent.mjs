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

// Sends one submission: an object on a line. The events that answer it have the same id.
function send(type, members = {}) {
  const id = String(++last);
  server.stdin.write(JSON.stringify({ version: 1, type, id, ...members }) + "\n");
  return id;
}

const line = async () => ((await typed.next()).value ?? "").trim();

// Shows a question, and answers with one of the decisions that it offers.
async function ask(question) {
  const what = question.destination ?? question.argv ?? question.accesses ?? question.items;
  console.log(`? ${question.kind}: ${JSON.stringify(what)} ${question.warning ?? ""}`.trimEnd());
  console.log(`  one of ${question.decisions.join(", ")}:`);
  const said = await line();
  const decision = question.decisions.includes(said) ? said : "denied"; // anything else denies
  const answer = { approval: question.approval, kind: question.kind, decision };
  if (question.typed && decision.startsWith("approved")) {
    console.log(`  type ${question.typed} to allow it:`);
    answer.typed = await line();
  }
  send("approve", answer);
}

// Handles events until the last one for submission id, or an error.
async function wait(id) {
  for (;;) {
    const { value, done } = await events.next();
    if (done) process.exit(1);
    const event = JSON.parse(value);
    if (event.type === "exec_output") process.stdout.write(event.text ?? "(bytes)\n");
    else if (event.type === "approval_request") await ask(event);
    else if (event.type === "exec_end")
      console.log(`[${event.status} ${event.exit_code}] ${event.why ?? ""}`.trimEnd());
    else if (event.type === "error") console.log(`! ${event.message}`);
    if (event.id === id && ["session_configured", "task_complete", "error"].includes(event.type))
      return event;
  }
}

await wait(send("configure_session", { approval: "untrusted", on_denial: "report" }));
for (let script = await line(); script; script = await line())
  await wait(send("exec", { script, timeout_ms: 60000 }));
send("end_session");
server.stdin.end();
server.on("exit", (code) => process.exit(code ?? 1));
