"""Made from docs/schema/agent by `tools/check-clients --write`."""
from typing import Any, Literal, NotRequired, TypedDict


class SandboxReadOnlyAccess(TypedDict):
    readable_roots: NotRequired[list[str]]
    include_platform_defaults: NotRequired[bool]


class Sandbox(TypedDict):
    mode: Literal["read-only", "workspace-write", "external", "danger-full-access", "split"]
    network: NotRequired[Literal["restricted", "enabled"]]
    writable: NotRequired[list[str]]
    read: NotRequired[list[str]]
    deny: NotRequired[list[str]]
    read_only_access: NotRequired[SandboxReadOnlyAccess]
    exclude_slash_tmp: NotRequired[bool]
    exclude_tmpdir: NotRequired[bool]
    sockets: NotRequired[list[str]]


class ApprovalRequestEventAccesses(TypedDict):
    what: Literal["write", "read", "socket", "destination", "program", "call"]
    name: str
    protocol: NotRequired[str]
    port: NotRequired[int]


class ApprovalRequestEventDestination(TypedDict):
    host: str
    protocol: str
    port: int


class ApprovalRequestEventChanges(TypedDict):
    path: str
    kind: Literal["add", "delete", "update"]
    content: NotRequired[str]
    unified_diff: NotRequired[str]
    move_path: NotRequired[str]


class ApprovalRequestEvent(TypedDict):
    session: NotRequired[str]
    approval: str
    kind: Literal["exec", "patch", "network", "permissions", "elicitation"]
    execs: list[int]
    ids: list[str | int]
    retry: NotRequired[bool]
    command: NotRequired[list[str]]
    env: NotRequired[list[str]]
    items: NotRequired[list[str]]
    program: NotRequired[str]
    cwd: NotRequired[str]
    confined: NotRequired[bool]
    sandbox: NotRequired[Sandbox]
    accesses: NotRequired[list[ApprovalRequestEventAccesses]]
    decisions: list[Literal["approved", "approved_for_session", "always", "denied", "denied_always", "abort", "approved_unconfined"]]
    because: NotRequired[str]
    reason: NotRequired[str]
    review: NotRequired[Literal["late", "failed"]]
    proposal: NotRequired[list[str]]
    remaining_ms: int
    destination: NotRequired[ApprovalRequestEventDestination]
    commands: NotRequired[list[str]]
    waiting: NotRequired[int]
    rule: NotRequired[str]
    warning: NotRequired[str]
    parent_processes: NotRequired[list[str]]
    risk: NotRequired[list[Literal["first_seen", "lookalike", "literal", "raw_tcp", "listed"]]]
    confirmation: NotRequired[str]
    private: NotRequired[bool]
    times: NotRequired[int]
    changes: NotRequired[list[ApprovalRequestEventChanges]]
    elsewhere: NotRequired[bool]


class ApprovalResolvedEvent(TypedDict):
    session: NotRequired[str]
    approval: str
    message: NotRequired[str]


class ApprovalUpdatedEvent(TypedDict):
    session: NotRequired[str]
    approval: str
    execs: list[int]
    ids: list[str | int]
    remaining_ms: int
    commands: NotRequired[list[str]]
    waiting: NotRequired[int]
    times: NotRequired[int]


class BackgroundEvent(TypedDict):
    id: str | int
    session: str
    exec: int
    attempt: int


class ErrorEvent(TypedDict):
    reason: Literal["closing"]
    message: str


class ExecBeginEvent(TypedDict):
    id: str | int
    session: str
    exec: int
    attempt: int
    record_exec: int
    command: list[str]
    cwd: str
    confined: bool


class ExecOutputEvent(TypedDict):
    id: str | int
    session: str
    text: NotRequired[str]
    base64: NotRequired[str]
    exec: int
    attempt: int
    stream: Literal["stdout", "stderr", "output"]
    offset: int
    dropped: NotRequired[int]


class NetworkDeniedEventDestination(TypedDict):
    host: str
    protocol: str
    port: int


class NetworkDeniedEvent(TypedDict):
    id: str | int
    session: str
    exec: int
    attempt: int
    destination: NotRequired[NetworkDeniedEventDestination]
    reason: str
    by: Literal["nobody", "policy", "person", "reviewer", "network"]
    who: NotRequired[str]
    rule: NotRequired[str]
    because: NotRequired[str]
    cause: NotRequired[str]
    times: int


class PatchApplyBeginEventChanges(TypedDict):
    path: str
    kind: Literal["add", "delete", "update"]
    content: NotRequired[str]
    unified_diff: NotRequired[str]
    move_path: NotRequired[str]


class PatchApplyBeginEvent(TypedDict):
    id: str | int
    session: str
    auto_approved: bool
    files: list[str]
    changes: NotRequired[list[PatchApplyBeginEventChanges]]


class PatchApplyEndEvent(TypedDict):
    id: str | int
    session: str
    success: bool
    message: NotRequired[str]


class ReviewCompletedEvent(TypedDict):
    session: str
    review: str
    by: Literal["hook", "reviewer"]
    outcome: Literal["allow", "deny", "pass", "late", "failed", "withdrawn"]
    program: NotRequired[str]
    message: NotRequired[str]


class ReviewStartedEvent(TypedDict):
    session: str
    review: str
    by: Literal["hook", "reviewer"]
    kind: Literal["exec", "patch", "network", "permissions", "elicitation"]
    execs: list[int]
    ids: list[str | int]


class SessionEndedEventDecisions(TypedDict):
    tool: Literal["exec", "patch", "network", "permissions", "elicitation", "program", "retry", "escalation"]
    decision: Literal["allow", "deny"]
    count: int
    source: Literal["policy", "cache", "hook", "reviewer", "user", "nobody"]


class SessionEndedEvent(TypedDict):
    session: str
    decisions: list[SessionEndedEventDecisions]


class TaskStartedEvent(TypedDict):
    id: str | int
    session: str
    exec: NotRequired[int]
    kind: Literal["exec", "question", "network_rule"]


class WarningEvent(TypedDict):
    session: NotRequired[str]
    message: str


class ApproveResult(TypedDict):
    approval: str
    message: NotRequired[str]


class CancelResult(TypedDict):
    session: str


class ConfigureSessionResult(TypedDict):
    session: str
    cwd: str
    run: str
    approval: Literal["never", "untrusted", "on-request", "on-failure", "granular"]
    sandbox: Sandbox
    intercept_exec: bool
    may_unconfine: bool


class EndSessionResult(TypedDict):
    session: str


class ExecResultOutput(TypedDict):
    text: NotRequired[str]
    base64: NotRequired[str]
    omitted: int
    spill_file: NotRequired[str]
    spill_whole: NotRequired[bool]


class ExecResultStdout(TypedDict):
    text: NotRequired[str]
    base64: NotRequired[str]
    omitted: int
    spill_file: NotRequired[str]
    spill_whole: NotRequired[bool]


class ExecResultStderr(TypedDict):
    text: NotRequired[str]
    base64: NotRequired[str]
    omitted: int
    spill_file: NotRequired[str]
    spill_whole: NotRequired[bool]


class ExecResultEvidence(TypedDict):
    what: Literal["write", "read", "socket", "call", "program", "network"]
    path: NotRequired[str]
    call: NotRequired[str]
    error: NotRequired[str]
    pid: NotRequired[int]


class ExecResultMade(TypedDict):
    path: str
    what: str


class ExecResultUsage(TypedDict):
    user_us: int
    system_us: int
    max_rss_bytes: int


class ExecResultNetworkBlocks(TypedDict):
    host: str
    protocol: str
    port: int
    by: Literal["policy", "person", "no_answer"]


class ExecResultNetworkAllowed(TypedDict):
    host: str
    protocol: str
    port: int


class ExecResultNetwork(TypedDict):
    outcome: Literal["nothing", "policy", "no_answer", "person"]
    blocked: int
    text: NotRequired[str]
    blocks: list[ExecResultNetworkBlocks]
    allowed: list[ExecResultNetworkAllowed]
    allowed_cut: NotRequired[bool]


class ExecResultFirstAttemptEvidence(TypedDict):
    what: Literal["write", "read", "socket", "call", "program", "network"]
    path: NotRequired[str]
    call: NotRequired[str]
    error: NotRequired[str]
    pid: NotRequired[int]


class ExecResultFirstAttemptNetworkBlocks(TypedDict):
    host: str
    protocol: str
    port: int
    by: Literal["policy", "person", "no_answer"]


class ExecResultFirstAttemptNetworkAllowed(TypedDict):
    host: str
    protocol: str
    port: int


class ExecResultFirstAttemptNetwork(TypedDict):
    outcome: Literal["nothing", "policy", "no_answer", "person"]
    blocked: int
    text: NotRequired[str]
    blocks: list[ExecResultFirstAttemptNetworkBlocks]
    allowed: list[ExecResultFirstAttemptNetworkAllowed]
    allowed_cut: NotRequired[bool]


class ExecResultFirstAttemptUsage(TypedDict):
    user_us: int
    system_us: int
    max_rss_bytes: int


class ExecResultFirstAttempt(TypedDict):
    record_exec: int
    status: Literal["exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    confined: bool
    sandbox: Sandbox
    evidence: list[ExecResultFirstAttemptEvidence]
    exit_code: int | None
    duration_ms: NotRequired[int]
    running_ms: NotRequired[int]
    network: ExecResultFirstAttemptNetwork
    usage: NotRequired[ExecResultFirstAttemptUsage]
    signal: NotRequired[int]


class ExecResult(TypedDict):
    session: str
    message: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[Literal["rule", "person", "hook", "reviewer", "reviewer_late", "no_answer"]]
    abort: NotRequired[bool]
    exec: int
    attempt: NotRequired[int]
    record_exec: NotRequired[int]
    status: Literal["exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    exit_code: int | None
    signal: NotRequired[int]
    duration_ms: NotRequired[int]
    running_ms: NotRequired[int]
    output: NotRequired[ExecResultOutput]
    stdout: NotRequired[ExecResultStdout]
    stderr: NotRequired[ExecResultStderr]
    cut: NotRequired[bool]
    confined: NotRequired[bool]
    sandbox: NotRequired[Sandbox]
    evidence: NotRequired[list[ExecResultEvidence]]
    made: NotRequired[list[ExecResultMade]]
    made_cut: NotRequired[bool]
    made_unknown: NotRequired[str]
    usage: NotRequired[ExecResultUsage]
    network: NotRequired[ExecResultNetwork]
    first_attempt: NotRequired[ExecResultFirstAttempt]


class InitializeResultServerInfo(TypedDict):
    name: str
    version: str


class InitializeResult(TypedDict):
    protocol_version: Literal[2]
    server_info: InitializeResultServerInfo


class InterruptResult(TypedDict):
    session: str


class ListResultItems(TypedDict):
    exec: NotRequired[int]
    id: NotRequired[str | int]
    command: NotRequired[list[str]]
    state: NotRequired[Literal["asked", "runs", "waits", "background"]]
    age_ms: NotRequired[int]
    approval: NotRequired[str]
    kind: NotRequired[Literal["exec", "patch", "network", "permissions", "elicitation"]]
    grant: NotRequired[str]
    source: NotRequired[Literal["agent", "gateway", "policy", "cache", "hook", "reviewer", "user", "nobody"]]
    scope: NotRequired[Literal["exec", "session", "always"]]
    by: NotRequired[str]
    denial: NotRequired[bool]
    text: NotRequired[str]
    remaining_ms: NotRequired[int]
    tool: NotRequired[Literal["exec", "patch", "network", "permissions", "elicitation", "program", "retry", "escalation"]]
    decision: NotRequired[Literal["allow", "deny"]]
    count: NotRequired[int]


class ListResult(TypedDict):
    session: str
    items: list[ListResultItems]


class OverrideTurnContextResult(TypedDict):
    session: str
    cwd: str
    run: str
    approval: Literal["never", "untrusted", "on-request", "on-failure", "granular"]
    sandbox: Sandbox
    intercept_exec: bool
    may_unconfine: bool


class PatchAppliedResult(TypedDict):
    session: str


class PollResult(TypedDict):
    session: str
    text: NotRequired[str]
    base64: NotRequired[str]
    exec: int
    dropped: int
    running: bool


class ProposeNetworkRuleResult(TypedDict):
    session: str
    message: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[Literal["rule", "person", "hook", "reviewer", "reviewer_late", "no_answer"]]
    abort: NotRequired[bool]
    outcome: Literal["approved", "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    reason: NotRequired[str]
    duration_ms: NotRequired[int]


class RequestElicitationResult(TypedDict):
    session: str
    message: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[Literal["rule", "person", "hook", "reviewer", "reviewer_late", "no_answer"]]
    abort: NotRequired[bool]
    outcome: Literal["approved", "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    duration_ms: NotRequired[int]


class RequestPatchApprovalResult(TypedDict):
    session: str
    message: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[Literal["rule", "person", "hook", "reviewer", "reviewer_late", "no_answer"]]
    abort: NotRequired[bool]
    outcome: Literal["approved", "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    duration_ms: NotRequired[int]


class RequestPermissionsResult(TypedDict):
    session: str
    message: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[Literal["rule", "person", "hook", "reviewer", "reviewer_late", "no_answer"]]
    abort: NotRequired[bool]
    outcome: Literal["approved", "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected", "not_started", "failed"]
    duration_ms: NotRequired[int]


class ResizeResult(TypedDict):
    session: str


class RevokeResult(TypedDict):
    session: str


class WriteInputResult(TypedDict):
    session: str
    taken: int


ApproveParamsScope = TypedDict("ApproveParamsScope", {"for": NotRequired[Literal["once", "exec", "session", "always"]], "host": NotRequired[Literal["this", "domain"]], "ports": NotRequired[Literal["this", "all"]], "program": NotRequired[Literal["any", "this"]], "duration_ms": NotRequired[int], "upload": NotRequired[int], "download": NotRequired[int], "connections": NotRequired[int]})


class ApproveParams(TypedDict):
    approval: str
    kind: Literal["exec", "patch", "network", "permissions", "elicitation"]
    decision: Literal["approved", "approved_for_session", "always", "denied", "denied_always", "abort", "approved_unconfined"]
    message: NotRequired[str]
    confirmation: NotRequired[str]
    expires_ms: NotRequired[int]
    proposal: NotRequired[int]
    scope: NotRequired[ApproveParamsScope]
    unasked: NotRequired[bool]


class CancelParams(TypedDict):
    session: NotRequired[str]
    exec: int


class ConfigureSessionParamsGranular(TypedDict):
    sandbox: NotRequired[bool]
    rules: NotRequired[bool]
    permissions: NotRequired[bool]
    elicitation: NotRequired[bool]
    network: NotRequired[bool]


class ConfigureSessionParamsLimits(TypedDict):
    timeout_ms: NotRequired[int]
    execs: NotRequired[int]
    event_bytes: NotRequired[int]
    kept_bytes: NotRequired[int]
    question_ms: NotRequired[int]


class ConfigureSessionParams(TypedDict):
    name: NotRequired[str]
    approval: NotRequired[str]
    granular: NotRequired[ConfigureSessionParamsGranular]
    cwd: NotRequired[str]
    sandbox: NotRequired[Sandbox]
    env: NotRequired[dict[str, str | None]]
    limits: NotRequired[ConfigureSessionParamsLimits]
    on_denial: NotRequired[Literal["report", "fail", "stop"]]
    intercept_exec: NotRequired[bool]
    strict: NotRequired[bool]


class EndSessionParams(TypedDict):
    session: NotRequired[str]
    wait: NotRequired[bool]


class ExecParamsTty(TypedDict):
    rows: NotRequired[int]
    cols: NotRequired[int]


class ExecParamsAdditionalPermissions(TypedDict):
    read: NotRequired[list[str]]
    write: NotRequired[list[str]]
    network: NotRequired[list[str]]
    socket: NotRequired[list[str]]


class ExecParams(TypedDict):
    session: NotRequired[str]
    command: NotRequired[list[str]]
    script: NotRequired[str]
    cwd: NotRequired[str]
    env: NotRequired[dict[str, str | None]]
    timeout_ms: NotRequired[int]
    tty: NotRequired[ExecParamsTty]
    input: NotRequired[bool]
    reason: NotRequired[str]
    sandbox_permissions: NotRequired[Literal["use_default", "with_additional_permissions", "require_escalated"]]
    sandbox_preference: NotRequired[Literal["auto", "require", "forbid"]]
    sandbox: NotRequired[Sandbox]
    additional_permissions: NotRequired[ExecParamsAdditionalPermissions]
    mode: NotRequired[Literal["wait", "background"]]
    yield_ms: NotRequired[int]
    polled: NotRequired[bool]
    whole: NotRequired[bool]
    on_denial: NotRequired[Literal["report", "fail", "stop"]]
    once: NotRequired[bool]


class InitializeParamsClientInfo(TypedDict):
    name: NotRequired[str]
    version: NotRequired[str]


class InitializeParams(TypedDict):
    protocol_version: Literal[2]
    client_info: NotRequired[InitializeParamsClientInfo]


class InterruptParams(TypedDict):
    session: NotRequired[str]
    exec: int


class ListParams(TypedDict):
    session: NotRequired[str]
    what: Literal["execs", "questions", "grants", "decisions"]


class OverrideTurnContextParamsGranular(TypedDict):
    sandbox: NotRequired[bool]
    rules: NotRequired[bool]
    permissions: NotRequired[bool]
    elicitation: NotRequired[bool]
    network: NotRequired[bool]


class OverrideTurnContextParams(TypedDict):
    session: NotRequired[str]
    approval: NotRequired[str]
    granular: NotRequired[OverrideTurnContextParamsGranular]
    cwd: NotRequired[str]
    sandbox: NotRequired[Sandbox]


class PatchAppliedParams(TypedDict):
    session: NotRequired[str]
    patch: str | int
    success: bool
    message: NotRequired[str]


class PollParams(TypedDict):
    session: NotRequired[str]
    exec: int
    wait_ms: NotRequired[int]
    max_bytes: NotRequired[int]


class ProposeNetworkRuleParams(TypedDict):
    session: NotRequired[str]
    destination: str
    reason: str
    exec: NotRequired[int]


class RequestElicitationParams(TypedDict):
    session: NotRequired[str]
    items: NotRequired[list[str]]
    reason: str


class RequestPatchApprovalParamsChanges(TypedDict):
    path: str
    kind: Literal["add", "delete", "update"]
    content: NotRequired[str]
    unified_diff: NotRequired[str]
    move_path: NotRequired[str]


class RequestPatchApprovalParams(TypedDict):
    session: NotRequired[str]
    files: NotRequired[list[str]]
    reason: NotRequired[str]
    changes: NotRequired[list[RequestPatchApprovalParamsChanges]]
    grant_root: NotRequired[str]


class RequestPermissionsParamsAdditionalPermissions(TypedDict):
    read: NotRequired[list[str]]
    write: NotRequired[list[str]]
    network: NotRequired[list[str]]
    socket: NotRequired[list[str]]


class RequestPermissionsParams(TypedDict):
    session: NotRequired[str]
    additional_permissions: RequestPermissionsParamsAdditionalPermissions
    reason: NotRequired[str]


class ResizeParams(TypedDict):
    session: NotRequired[str]
    exec: int
    rows: int
    cols: int


class RevokeParams(TypedDict):
    session: NotRequired[str]
    grant: str


class WriteInputParams(TypedDict):
    session: NotRequired[str]
    exec: int
    text: NotRequired[str]
    base64: NotRequired[str]
    eof: NotRequired[bool]
