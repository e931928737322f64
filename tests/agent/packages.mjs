// The cases of packages.py, with the client for node. SALLYPORT: the server with its options. STAGE: a folder of the test.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Client, Gone, Refused } from "../../clients/typescript/client.js";

const start = (ask, program = process.env.SALLYPORT) => Client.start(program, [], { ask });

async function all(iterator) {
  const list = [];
  for await (const one of iterator) list.push(one);
  return list;
}

const cases = {
  async questions() {
    const client = await start((question) => (question.command.includes("refused") ? "denied" : { decision: "approved" }));
    const session = await client.configureSession({ approval: "untrusted" });
    assert.equal(session.sandbox.mode, "workspace-write");
    assert.equal((await client.run({ command: ["touch", "made"] })).exit_code, 0);
    const end = await client.run({ command: ["touch", "refused"] });
    assert.deepEqual([end.status, end.by, end.exit_code], ["rejected", "person", null]);
    const both = await Promise.all(["one", "two"].map((name) => client.run({ command: ["touch", name] })));
    assert.deepEqual(both.map(({ exit_code }) => exit_code), [0, 0]);
    await client.close();
  },

  async nobody() {
    const asks = [undefined, () => { throw new Error("no person is here"); }, async () => "sometimes"];
    for (const [ask, by, said] of [[asks[0], "no_answer", ""], [asks[1], "no_answer", "no person is here"], [asks[2], "no_answer", ""]]) {
      const client = await start(ask);
      await client.configureSession({ approval: "untrusted" });
      const end = await client.run({ command: ["touch", "refused"] });
      assert.deepEqual([end.status, end.by], ["rejected", by]);
      assert.ok((end.message ?? "").includes(said), JSON.stringify(end));
      await client.close();
    }
  },

  async output() {
    const client = await start();
    await client.configureSession({ approval: "never" });
    let command = client.exec({ script: "echo out; echo err >&2; read line; echo $line; exit 3", input: true });
    assert.equal(await command.write("typed\n"), 6);
    const said = (await all(command)).filter(({ method }) => method === "exec_output").map(({ params }) => params.text).join("");
    const end = await command.result();
    assert.deepEqual([said.trim().split("\n").sort(), end.exit_code, end.stdout.text], [["err", "out", "typed"], 3, "out\ntyped\n"]);
    assert.deepEqual(await all(command), []);
    for (const [act, status] of [["interrupt", "interrupted"], ["cancel", "cancelled"]]) {
      command = client.exec({ command: ["sleep", "1000"] });
      for await (const { method } of command) if (method === "exec_begin") await command[act]();
      assert.equal((await command.result()).status, status);
    }
    await client.close();
  },

  async errors() {
    const client = await start();
    for (const [method, params, reason] of [["no_such_method", {}, "unknown_method"], ["configure_session", { approval: "sometimes" }, "malformed"],
      ["list", { what: "execs", session: "none" }, "unknown"]])
      await assert.rejects(client.call(method, params), (error) => error instanceof Refused && error.reason === reason);
    await client.configureSession({ approval: "never" });
    await assert.rejects(client.exec({ command: ["true"], cwd: "../.." }).interrupt(), { reason: "malformed" });
    assert.equal((await client.run({ command: ["true"] })).exit_code, 0);
    await client.close();
  },

  async death() {
    const client = await start();
    await client.configureSession({ approval: "never" });
    const command = client.exec({ command: ["sleep", "1000"] });
    await command.number();
    client.process.kill("SIGKILL");
    await all(command);
    for (const wait of [() => command.result(), () => command.interrupt(), () => client.run({ command: ["true"] })])
      await assert.rejects(wait, (error) => error instanceof Gone && error.message.includes("SIGKILL"));
    await client.close();
  },

  async nonsense() {
    const program = path.join(process.env.STAGE, "nonsense.sh");
    fs.writeFileSync(program, "#!/bin/sh\necho hello\nexec sleep 1000\n", { mode: 0o755 });
    await assert.rejects(start(undefined, program), (error) => error instanceof Gone && error.message.includes("protocol"));
    await assert.rejects(start(undefined, path.join(process.env.STAGE, "none")), Gone);
  },
};

for (const [name, run] of Object.entries(cases)) {
  await run();
  console.log(`        ${name}`);
}
