import type { ChildProcess } from "node:child_process";
import type { ApprovalRequestEvent, ApproveParams, ConfigureSessionParams, ConfigureSessionResult, Events, ExecParams, ExecResult,
  Methods } from "./types.js";

export * from "./types.js";

/** A notification with the params of its method. */
export type Event = { [M in keyof Events]: { method: M; params: Events[M] } }[keyof Events];
/** A decision, or the members of `approve` but for the question's own. */
export type Answer = ApproveParams["decision"] | Omit<ApproveParams, "approval" | "kind">;
/** @signal: the question was answered elsewhere, or has ended. */
export type Ask = (question: ApprovalRequestEvent, signal: AbortSignal) => Promise<Answer> | Answer;

/** The server's error in a reply: nothing was done. reason is a word of sallyport-agent(7), code that of JSON-RPC. */
export class Refused extends Error {
  readonly reason: string;
  readonly code: number;
}
/** The server has ended, and with it every command and question. */
export class Gone extends Error {}

/** A command: iterate over it for its events until its end; result() waits for the end. */
export interface Exec extends AsyncIterable<Event> {
  readonly id: number;
  result(): Promise<ExecResult>;
  /** Its number in other requests. */
  number(): Promise<number>;
  interrupt(): Promise<void>;
  cancel(): Promise<void>;
  /** For a command with input or tty: how many bytes were taken. */
  write(text?: string, eof?: boolean): Promise<number>;
}

/** One server. ask answers its questions; without it, and if it fails, the answer is a denial. */
export class Client {
  private constructor();
  static start(program?: string, options?: string[],
    more?: { ask?: Ask; cwd?: string; env?: Record<string, string | undefined> }): Promise<Client>;
  readonly process: ChildProcess;
  call<M extends keyof Methods>(method: M, params?: Methods[M]["params"]): Promise<Methods[M]["result"]>;
  configureSession(params?: ConfigureSessionParams): Promise<ConfigureSessionResult>;
  /** Starts a command. */
  exec(params: ExecParams): Exec;
  /** Runs a command to its end. */
  run(params: ExecParams): Promise<ExecResult>;
  /** Ends its commands, and waits for it. */
  close(): Promise<void>;
}
