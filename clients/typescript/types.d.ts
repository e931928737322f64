// Made from docs/schema/agent by `tools/check-clients --write`.

export interface Sandbox {
  mode: "read-only" | "workspace-write" | "external" | "danger-full-access" | "split";
  network?: "restricted" | "enabled";
  writable?: Array<string>;
  read?: Array<string>;
  deny?: Array<string>;
  read_only_access?: {
    readable_roots?: Array<string>;
    include_platform_defaults?: boolean;
  };
  exclude_slash_tmp?: boolean;
  exclude_tmpdir?: boolean;
  sockets?: Array<string>;
}

export interface ApprovalRequestEvent {
  session?: string;
  approval: string;
  kind: "exec" | "patch" | "network" | "permissions" | "elicitation";
  execs: Array<number>;
  ids: Array<string | number>;
  retry?: boolean;
  command?: Array<string>;
  env?: Array<string>;
  items?: Array<string>;
  program?: string;
  cwd?: string;
  confined?: boolean;
  sandbox?: Sandbox;
  accesses?: Array<{
    what: "write" | "read" | "socket" | "destination" | "program" | "call";
    name: string;
    protocol?: string;
    port?: number;
  }>;
  decisions: Array<"approved" | "approved_for_session" | "always" | "denied" | "denied_always" | "abort" | "approved_unconfined">;
  because?: string;
  reason?: string;
  review?: "late" | "failed";
  proposal?: Array<string>;
  remaining_ms: number;
  destination?: {
    host: string;
    protocol: string;
    port: number;
  };
  commands?: Array<string>;
  waiting?: number;
  rule?: string;
  warning?: string;
  parent_processes?: Array<string>;
  risk?: Array<"first_seen" | "lookalike" | "literal" | "raw_tcp" | "listed">;
  confirmation?: string;
  private?: boolean;
  times?: number;
  changes?: Array<{
    path: string;
    kind: "add" | "delete" | "update";
    content?: string;
    unified_diff?: string;
    move_path?: string;
  }>;
  elsewhere?: boolean;
}

export interface ApprovalResolvedEvent {
  session?: string;
  approval: string;
  message?: string;
}

export interface ApprovalUpdatedEvent {
  session?: string;
  approval: string;
  execs: Array<number>;
  ids: Array<string | number>;
  remaining_ms: number;
  commands?: Array<string>;
  waiting?: number;
  times?: number;
}

export interface BackgroundEvent {
  id: string | number;
  session: string;
  exec: number;
  attempt: number;
}

export interface ErrorEvent {
  reason: "closing";
  message: string;
}

export interface ExecBeginEvent {
  id: string | number;
  session: string;
  exec: number;
  attempt: number;
  record_exec: number;
  command: Array<string>;
  cwd: string;
  confined: boolean;
}

export interface ExecOutputEvent {
  id: string | number;
  session: string;
  text?: string;
  base64?: string;
  exec: number;
  attempt: number;
  stream: "stdout" | "stderr" | "output";
  offset: number;
  dropped?: number;
}

export interface NetworkDeniedEvent {
  id: string | number;
  session: string;
  exec: number;
  attempt: number;
  destination?: {
    host: string;
    protocol: string;
    port: number;
  };
  reason: string;
  by: "nobody" | "policy" | "person" | "reviewer" | "network";
  who?: string;
  rule?: string;
  because?: string;
  cause?: string;
  times: number;
}

export interface PatchApplyBeginEvent {
  id: string | number;
  session: string;
  auto_approved: boolean;
  files: Array<string>;
  changes?: Array<{
    path: string;
    kind: "add" | "delete" | "update";
    content?: string;
    unified_diff?: string;
    move_path?: string;
  }>;
}

export interface PatchApplyEndEvent {
  id: string | number;
  session: string;
  success: boolean;
  message?: string;
}

export interface ReviewCompletedEvent {
  session: string;
  review: string;
  by: "hook" | "reviewer";
  outcome: "allow" | "deny" | "pass" | "late" | "failed" | "withdrawn";
  program?: string;
  message?: string;
}

export interface ReviewStartedEvent {
  session: string;
  review: string;
  by: "hook" | "reviewer";
  kind: "exec" | "patch" | "network" | "permissions" | "elicitation";
  execs: Array<number>;
  ids: Array<string | number>;
}

export interface SessionEndedEvent {
  session: string;
  decisions: Array<{
    tool: "exec" | "patch" | "network" | "permissions" | "elicitation" | "program" | "retry" | "escalation";
    decision: "allow" | "deny";
    count: number;
    source: "policy" | "cache" | "hook" | "reviewer" | "user" | "nobody";
  }>;
}

export interface TaskStartedEvent {
  id: string | number;
  session: string;
  exec?: number;
  kind: "exec" | "question" | "network_rule";
}

export interface WarningEvent {
  session?: string;
  message: string;
}

export interface ApproveResult {
  approval: string;
  message?: string;
}

export interface CancelResult {
  session: string;
}

export interface ConfigureSessionResult {
  session: string;
  cwd: string;
  run: string;
  approval: "never" | "untrusted" | "on-request" | "on-failure" | "granular";
  sandbox: Sandbox;
  intercept_exec: boolean;
  may_unconfine: boolean;
}

export interface EndSessionResult {
  session: string;
}

export interface ExecResult {
  session: string;
  message?: string;
  note?: string;
  by?: "rule" | "person" | "hook" | "reviewer" | "reviewer_late" | "no_answer";
  abort?: boolean;
  exec: number;
  attempt?: number;
  record_exec?: number;
  status: "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
  exit_code: number | null;
  signal?: number;
  duration_ms?: number;
  running_ms?: number;
  output?: {
    text?: string;
    base64?: string;
    omitted: number;
    spill_file?: string;
    spill_whole?: boolean;
  };
  stdout?: {
    text?: string;
    base64?: string;
    omitted: number;
    spill_file?: string;
    spill_whole?: boolean;
  };
  stderr?: {
    text?: string;
    base64?: string;
    omitted: number;
    spill_file?: string;
    spill_whole?: boolean;
  };
  cut?: boolean;
  confined?: boolean;
  sandbox?: Sandbox;
  evidence?: Array<{
    what: "write" | "read" | "socket" | "call" | "program" | "network";
    path?: string;
    call?: string;
    error?: string;
    pid?: number;
  }>;
  made?: Array<{
    path: string;
    what: string;
  }>;
  made_cut?: boolean;
  made_unknown?: string;
  usage?: {
    user_us: number;
    system_us: number;
    max_rss_bytes: number;
  };
  network?: {
    outcome: "nothing" | "policy" | "no_answer" | "person";
    blocked: number;
    text?: string;
    blocks: Array<{
      host: string;
      protocol: string;
      port: number;
      by: "policy" | "person" | "no_answer";
    }>;
    allowed: Array<{
      host: string;
      protocol: string;
      port: number;
    }>;
    allowed_cut?: boolean;
  };
  first_attempt?: {
    record_exec: number;
    status: "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
    confined: boolean;
    sandbox: Sandbox;
    evidence: Array<{
      what: "write" | "read" | "socket" | "call" | "program" | "network";
      path?: string;
      call?: string;
      error?: string;
      pid?: number;
    }>;
    exit_code: number | null;
    duration_ms?: number;
    running_ms?: number;
    network: {
      outcome: "nothing" | "policy" | "no_answer" | "person";
      blocked: number;
      text?: string;
      blocks: Array<{
        host: string;
        protocol: string;
        port: number;
        by: "policy" | "person" | "no_answer";
      }>;
      allowed: Array<{
        host: string;
        protocol: string;
        port: number;
      }>;
      allowed_cut?: boolean;
    };
    usage?: {
      user_us: number;
      system_us: number;
      max_rss_bytes: number;
    };
    signal?: number;
  };
}

export interface InitializeResult {
  protocol_version: 2;
  server_info: {
    name: string;
    version: string;
  };
}

export interface InterruptResult {
  session: string;
}

export interface ListResult {
  session: string;
  items: Array<{
    exec?: number;
    id?: string | number;
    command?: Array<string>;
    state?: "asked" | "runs" | "waits" | "background";
    age_ms?: number;
    approval?: string;
    kind?: "exec" | "patch" | "network" | "permissions" | "elicitation";
    grant?: string;
    source?: "agent" | "gateway" | "policy" | "cache" | "hook" | "reviewer" | "user" | "nobody";
    scope?: "exec" | "session" | "always";
    by?: string;
    denial?: boolean;
    text?: string;
    remaining_ms?: number;
    tool?: "exec" | "patch" | "network" | "permissions" | "elicitation" | "program" | "retry" | "escalation";
    decision?: "allow" | "deny";
    count?: number;
  }>;
}

export interface OverrideTurnContextResult {
  session: string;
  cwd: string;
  run: string;
  approval: "never" | "untrusted" | "on-request" | "on-failure" | "granular";
  sandbox: Sandbox;
  intercept_exec: boolean;
  may_unconfine: boolean;
}

export interface PatchAppliedResult {
  session: string;
}

export interface PollResult {
  session: string;
  text?: string;
  base64?: string;
  exec: number;
  dropped: number;
  running: boolean;
}

export interface ProposeNetworkRuleResult {
  session: string;
  message?: string;
  note?: string;
  by?: "rule" | "person" | "hook" | "reviewer" | "reviewer_late" | "no_answer";
  abort?: boolean;
  outcome: "approved" | "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
  reason?: string;
  duration_ms?: number;
}

export interface RequestElicitationResult {
  session: string;
  message?: string;
  note?: string;
  by?: "rule" | "person" | "hook" | "reviewer" | "reviewer_late" | "no_answer";
  abort?: boolean;
  outcome: "approved" | "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
  duration_ms?: number;
}

export interface RequestPatchApprovalResult {
  session: string;
  message?: string;
  note?: string;
  by?: "rule" | "person" | "hook" | "reviewer" | "reviewer_late" | "no_answer";
  abort?: boolean;
  outcome: "approved" | "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
  duration_ms?: number;
}

export interface RequestPermissionsResult {
  session: string;
  message?: string;
  note?: string;
  by?: "rule" | "person" | "hook" | "reviewer" | "reviewer_late" | "no_answer";
  abort?: boolean;
  outcome: "approved" | "exited" | "signalled" | "timed_out" | "cancelled" | "interrupted" | "denied" | "rejected" | "not_started" | "failed";
  duration_ms?: number;
}

export interface ResizeResult {
  session: string;
}

export interface RevokeResult {
  session: string;
}

export interface WriteInputResult {
  session: string;
  taken: number;
}

export interface ApproveParams {
  approval: string;
  kind: "exec" | "patch" | "network" | "permissions" | "elicitation";
  decision: "approved" | "approved_for_session" | "always" | "denied" | "denied_always" | "abort" | "approved_unconfined";
  message?: string;
  confirmation?: string;
  expires_ms?: number;
  proposal?: number;
  scope?: {
    for?: "once" | "exec" | "session" | "always";
    host?: "this" | "domain";
    ports?: "this" | "all";
    program?: "any" | "this";
    duration_ms?: number;
    upload?: number;
    download?: number;
    connections?: number;
  };
  unasked?: boolean;
}

export interface CancelParams {
  session?: string;
  exec: number;
}

export interface ConfigureSessionParams {
  name?: string;
  approval?: string;
  granular?: {
    sandbox?: boolean;
    rules?: boolean;
    permissions?: boolean;
    elicitation?: boolean;
    network?: boolean;
  };
  cwd?: string;
  sandbox?: Sandbox;
  env?: Record<string, string | null>;
  limits?: {
    timeout_ms?: number;
    execs?: number;
    event_bytes?: number;
    kept_bytes?: number;
    question_ms?: number;
  };
  on_denial?: "report" | "fail" | "stop";
  intercept_exec?: boolean;
  strict?: boolean;
}

export interface EndSessionParams {
  session?: string;
  wait?: boolean;
}

export interface ExecParams {
  session?: string;
  command?: Array<string>;
  script?: string;
  cwd?: string;
  env?: Record<string, string | null>;
  timeout_ms?: number;
  tty?: {
    rows?: number;
    cols?: number;
  };
  input?: boolean;
  reason?: string;
  sandbox_permissions?: "use_default" | "with_additional_permissions" | "require_escalated";
  sandbox_preference?: "auto" | "require" | "forbid";
  sandbox?: Sandbox;
  additional_permissions?: {
    read?: Array<string>;
    write?: Array<string>;
    network?: Array<string>;
    socket?: Array<string>;
  };
  mode?: "wait" | "background";
  yield_ms?: number;
  polled?: boolean;
  whole?: boolean;
  on_denial?: "report" | "fail" | "stop";
  once?: boolean;
}

export interface InitializeParams {
  protocol_version: 2;
  client_info?: {
    name?: string;
    version?: string;
  };
}

export interface InterruptParams {
  session?: string;
  exec: number;
}

export interface ListParams {
  session?: string;
  what: "execs" | "questions" | "grants" | "decisions";
}

export interface OverrideTurnContextParams {
  session?: string;
  approval?: string;
  granular?: {
    sandbox?: boolean;
    rules?: boolean;
    permissions?: boolean;
    elicitation?: boolean;
    network?: boolean;
  };
  cwd?: string;
  sandbox?: Sandbox;
}

export interface PatchAppliedParams {
  session?: string;
  patch: string | number;
  success: boolean;
  message?: string;
}

export interface PollParams {
  session?: string;
  exec: number;
  wait_ms?: number;
  max_bytes?: number;
}

export interface ProposeNetworkRuleParams {
  session?: string;
  destination: string;
  reason: string;
  exec?: number;
}

export interface RequestElicitationParams {
  session?: string;
  items?: Array<string>;
  reason: string;
}

export interface RequestPatchApprovalParams {
  session?: string;
  files?: Array<string>;
  reason?: string;
  changes?: Array<{
    path: string;
    kind: "add" | "delete" | "update";
    content?: string;
    unified_diff?: string;
    move_path?: string;
  }>;
  grant_root?: string;
}

export interface RequestPermissionsParams {
  session?: string;
  additional_permissions: {
    read?: Array<string>;
    write?: Array<string>;
    network?: Array<string>;
    socket?: Array<string>;
  };
  reason?: string;
}

export interface ResizeParams {
  session?: string;
  exec: number;
  rows: number;
  cols: number;
}

export interface RevokeParams {
  session?: string;
  grant: string;
}

export interface WriteInputParams {
  session?: string;
  exec: number;
  text?: string;
  base64?: string;
  eof?: boolean;
}

export interface Methods {
  approve: { params: ApproveParams; result: ApproveResult };
  cancel: { params: CancelParams; result: CancelResult };
  configure_session: { params: ConfigureSessionParams; result: ConfigureSessionResult };
  end_session: { params: EndSessionParams; result: EndSessionResult };
  exec: { params: ExecParams; result: ExecResult };
  initialize: { params: InitializeParams; result: InitializeResult };
  interrupt: { params: InterruptParams; result: InterruptResult };
  list: { params: ListParams; result: ListResult };
  override_turn_context: { params: OverrideTurnContextParams; result: OverrideTurnContextResult };
  patch_applied: { params: PatchAppliedParams; result: PatchAppliedResult };
  poll: { params: PollParams; result: PollResult };
  propose_network_rule: { params: ProposeNetworkRuleParams; result: ProposeNetworkRuleResult };
  request_elicitation: { params: RequestElicitationParams; result: RequestElicitationResult };
  request_patch_approval: { params: RequestPatchApprovalParams; result: RequestPatchApprovalResult };
  request_permissions: { params: RequestPermissionsParams; result: RequestPermissionsResult };
  resize: { params: ResizeParams; result: ResizeResult };
  revoke: { params: RevokeParams; result: RevokeResult };
  write_input: { params: WriteInputParams; result: WriteInputResult };
}

export interface Events {
  approval_request: ApprovalRequestEvent;
  approval_resolved: ApprovalResolvedEvent;
  approval_updated: ApprovalUpdatedEvent;
  background: BackgroundEvent;
  error: ErrorEvent;
  exec_begin: ExecBeginEvent;
  exec_output: ExecOutputEvent;
  network_denied: NetworkDeniedEvent;
  patch_apply_begin: PatchApplyBeginEvent;
  patch_apply_end: PatchApplyEndEvent;
  review_completed: ReviewCompletedEvent;
  review_started: ReviewStartedEvent;
  session_ended: SessionEndedEvent;
  task_started: TaskStartedEvent;
  warning: WarningEvent;
}
