// A client of `sallyport agent`: commands in sandboxes, and the questions that a policy leaves open. sallyport-agent(7) describes
// what the members of requests, results and events mean; client.d.ts has the types.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const CLOSE_MS = 30000; // for the server to end its commands and itself

/** The server's error in a reply: nothing was done. */
export class Refused extends Error {
  constructor(error) {
    super(error.message);
    this.reason = error.data.reason;
    this.code = error.code;
  }
}

/** The server has ended, and with it every command and question. */
export class Gone extends Error {}

/** A command: iterate over it for its events until its end; result() waits for the end. */
class Exec {
  constructor(client, id, reply) {
    Object.assign(this, { client, id, reply, events: [], wake: [], isOver: false });
    this.started = new Promise((resolve) => { this.start = resolve; });
    const end = () => { this.isOver = true; this.start(undefined); this.stir(); };
    reply.then(end, end);
  }

  stir() {
    for (const wake of this.wake.splice(0)) wake();
  }

  tell(event) {
    if (event.method === "task_started") this.start(event.params.exec);
    this.events.push(event); // the server limits what it sends of one command
    this.stir();
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.events.length) yield this.events.shift();
      if (this.isOver) return;
      await new Promise((resolve) => this.wake.push(resolve));
    }
  }

  result() {
    return this.reply;
  }

  async number() {
    const number = await this.started;
    if (number === undefined) await this.reply; // it was refused
    return number;
  }

  async interrupt() {
    await this.client.call("interrupt", { exec: await this.number() });
  }

  async cancel() {
    await this.client.call("cancel", { exec: await this.number() });
  }

  async write(text = "", eof = false) {
    return (await this.client.call("write_input", { exec: await this.number(), text, eof })).taken;
  }
}

/** One server. @ask answers its questions; without it, and if it fails, the answer is a denial. */
export class Client {
  static async start(program = "sallyport", options = [], { ask, cwd, env } = {}) {
    const client = new Client();
    Object.assign(client, { ask, last: 0, replies: new Map(), execs: new Map(), asked: new Map(), why: "" });
    client.process = spawn(program, ["agent", ...options], { stdio: ["pipe", "pipe", "inherit"], cwd, env });
    client.process.stdin.on("error", () => {}); // it has ended: see below
    const lines = createInterface({ input: client.process.stdout, crlfDelay: Infinity });
    lines.on("line", (line) => client.hear(line));
    client.over = new Promise((resolve) => {
      client.process.on("error", (error) => resolve(client.end(error.message)));
      client.process.on("close", (status, signal) =>
        resolve(client.end(client.why || `sallyport agent has ended with ${signal ?? `status ${status}`}`)));
    });
    await client.call("initialize", { protocol_version: 2 });
    return client;
  }

  /** Ends its commands, and waits for it. */
  async close() {
    this.process.stdin.end();
    const timer = setTimeout(() => this.process.kill("SIGKILL"), CLOSE_MS);
    await this.over;
    clearTimeout(timer);
  }

  end(why) {
    this.gone = new Gone(why);
    for (const controller of this.asked.values()) controller.abort();
    for (const { reject } of this.replies.values()) reject(this.gone);
    this.replies.clear();
  }

  send(method, params) {
    const id = ++this.last;
    const reply = new Promise((resolve, reject) => {
      if (this.gone) return reject(this.gone);
      this.replies.set(id, { resolve, reject });
      this.process.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    });
    reply.catch(() => {}); // what waits for it gets it
    return { id, reply };
  }

  /** Any request. */
  call(method, params = {}) {
    return this.send(method, params).reply;
  }

  configureSession(params = {}) {
    return this.call("configure_session", params);
  }

  /** Starts a command. */
  exec(params) {
    const { id, reply } = this.send("exec", params);
    const command = new Exec(this, id, reply);
    this.execs.set(id, command);
    return command;
  }

  /** Runs a command to its end. */
  run(params) {
    return this.exec(params).result();
  }

  hear(line) {
    try {
      const message = JSON.parse(line);
      if (message.method) this.told(message.method, message.params);
      else this.replied(message);
    } catch (wrong) {
      this.why = `it said what is not the protocol: ${wrong.message}`;
      this.process.kill("SIGKILL");
    }
  }

  replied({ id, result, error }) {
    const { resolve, reject } = this.replies.get(id);
    this.replies.delete(id);
    this.execs.delete(id);
    if (error) reject(new Refused(error));
    else resolve(result);
  }

  told(method, params) {
    if (method === "approval_request") this.answer(params);
    else if (method === "approval_resolved") this.asked.get(params.approval)?.abort(); // somebody else has answered
    else if (method === "error") this.why = params.message;
    else this.execs.get(params.id)?.tell({ method, params });
  }

  async answer(question) {
    const { approval, kind } = question;
    const denial = { decision: "denied", unasked: true };
    const controller = new AbortController();
    this.asked.set(approval, controller);
    try {
      const answer = this.ask ? await this.ask(question, controller.signal) : denial;
      if (controller.signal.aborted) return;
      await this.call("approve", { ...(typeof answer === "string" ? { decision: answer } : answer), approval, kind });
    } catch (wrong) { // whatever it is, the command must not wait for it
      const message = `the question could not be answered: ${wrong?.message ?? wrong}`.slice(0, 1000);
      if (!this.gone && !controller.signal.aborted)
        await this.call("approve", { ...denial, approval, kind, message }).catch(() => {}); // nobody waits for it any more
    } finally {
      this.asked.delete(approval);
    }
  }
}
