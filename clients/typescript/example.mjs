#!/usr/bin/env node
// Runs a command in a sandbox, and asks you when it needs a permission. usage: node example.mjs COMMAND [ARG...]
import { createInterface } from "node:readline/promises";
import { Client } from "./client.js";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => ((await lines.next()).value ?? "").trim();

async function ask(question) {
  const what = question.destination ?? question.command ?? question.accesses ?? question.items;
  console.log(`? ${question.kind}: ${JSON.stringify(what)} ${question.warning ?? ""}\n  one of ${question.decisions.join(", ")}:`);
  const said = await read();
  const answer = { decision: question.decisions.includes(said) ? said : "denied" }; // anything else denies
  if (question.confirmation && said.startsWith("approved")) {
    console.log(`  type ${question.confirmation} to allow it:`);
    answer.confirmation = await read();
  }
  return answer;
}

const client = await Client.start(process.env.SALLYPORT ?? "sallyport", [], { ask });
await client.configureSession({ approval: "untrusted" });
const command = client.exec({ command: process.argv.slice(2) });
for await (const { method, params } of command)
  if (method === "exec_output") process.stdout.write(params.text ?? "(bytes)\n");
const end = await command.result();
console.log(`[${end.status} ${end.exit_code}] ${end.message ?? ""}`);
await client.close();
process.exit(0); // also if a line of the input is still waited for
