#!/usr/bin/env python3
"""Each way in which a run can fail: the last five lines of its standard error say the cause and what to do.

usage: failures.py SALLYPORT [NAME...]

A way is a reason code of policies/reasons.def, or what a run refuses without one. Every code of a denial or failure is a way here, or is
in ELSEWHERE with the reason for which no report of a run can have it."""
import dataclasses
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import traceback

import world as worlds
from servers import Names, Server, make_certificate
from world import World, until

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LINES = 5
TIMEOUT_S = 120
REASONS = {code: (sentence, step) for code, status, sentence, step in
           re.findall(r'^X\(\w+, "(\w+)", (\d+), "(.*?)", "(.*?)"\)$', (SOURCE / "policies/reasons.def").read_text(), re.M) if int(status) >= 400}
ELSEWHERE = {
    "none": "never shown",
    "asked": "the question is open",
    "client_unknown": "of sallyport proxy, which has no command",
    "login_needed": "of sallyport proxy, which has no command",
    "gate_closing": "nobody is left to be told",
    "unsupported": "as malformed: a request that names no destination",
    "client_timeout": "as malformed; waits for 30 s",
    "sandbox_refused": "the report has a sentence of its own for each: write, socket, datagram",
    "connect_failed": "an error of connect() that no server can cause",
    "outside_only": "of a policy in /etc; tests/unit/policies",
    "audit_failed": "needs a disk of its own; audit-full.flow",
    "not_enforced": "the policy is refused, see a_clause_not_enforced",
    "withdrawn": "its client has left: client_left",
    "program_unknown": "of a program, with --intercept-exec; intercept-exec.flow",
    "proxy_timeout": "waits for 30 s; tests/unit/proxy/upstream/test_upstream_proxy.c",
    "upstream_timeout": "waits for 300 s; tests/unit/proxy/upstream/test_upstream.c",
}
ALLOWED_BY = "To allow it, add to "


@dataclasses.dataclass
class Way:
    """@script fails for @code; @steps are done while it runs. @remedy: what the last lines say to do; None: what reasons.def says."""
    code: str
    script: str
    policy: tuple = ("default deny",)
    remedy: str = None
    options: tuple = ()
    steps: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    says: str = ""  # the cause of what has no code

    @property
    def name(self):
        return self.code or self.says


class Stage:
    def __init__(self, world, number):
        self.world = world
        self.here = world.top / f"way{number}"
        self.here.mkdir()
        self.process = self.watcher = None

    def start(self, way):
        policy = self.here.parent / f"{self.here.name}.policy"
        policy.write_text("\n".join(["version 1", *way.policy]) + "\n")
        out = open(self.here.with_suffix(".err"), "wb")
        self.process = subprocess.Popen(
            [self.world.sallyport, "run", "--no-tty", "--dns", "127.0.0.1", "--policy", str(policy), *way.options, "--", "sh", "-c", way.script],
            cwd=self.here, env=self.world.env | way.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out)

    def text(self):
        return self.here.with_suffix(".err").read_text(errors="replace")

    # What is done while the command runs.

    def attach(self):
        said = self.world.top / "watch.out"
        self.world.attach()
        self.watcher = self.world.watchers[-1]
        until(lambda: said.exists() and "run_began" in said.read_text(), TIMEOUT_S, "no watcher")
        (self.here / "go").touch()

    def leave(self):
        until(lambda: '"question":' in (self.world.top / "watch.out").read_text(), TIMEOUT_S, "no question")
        self.watcher.kill()
        self.watcher.wait()

    def question(self):
        return until(self.world.questions, TIMEOUT_S, "no question")[0]

    def answer(self, *words):
        asked = self.question()
        self.world.sally("approve", *words, asked["id"], check=True)

    def end(self):
        try:
            return self.process.wait(TIMEOUT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()


def denied(*words):
    return (lambda stage: stage.answer("deny", *words),)


def kill_worker(stage):
    stage.question()
    gate = worlds.Gate.__new__(worlds.Gate)
    gate.process, gate.name = stage.process, "the run"
    os.kill(gate.worker(), 9)
    until(lambda: "the proxy worker" in stage.text(), TIMEOUT_S, "nothing is said of the worker")
    (stage.here / "go").touch()


def go_on(stage):
    stage.question()
    (stage.here / "go").touch()


def becomes(stage, *lines):
    until(lambda: (stage.here / "open").exists(), TIMEOUT_S, "the connection is not open")
    path = stage.here.parent / f"{stage.here.name}.policy"
    path.write_text("\n".join(["version 1", *lines]) + "\n")


def revoke(stage):
    stage.answer("allow", "--scope", "session")
    until(lambda: (stage.here / "open").exists(), TIMEOUT_S, "the connection is not open")
    listed = json.loads(stage.world.sally("approve", "grants", "--json", check=True).stdout)
    (grant,) = [one for one in listed if "held.test" in one["text"]]
    stage.world.sally("approve", "revoke", str(grant["id"]), check=True)


CURL = "curl -sS http://a.test/"
ASK = ("--default", "ask")
# A tunnel to a server that holds it; "open" is there once it is open.
HELD = """python3 -c '
import socket
s = socket.create_connection(("127.0.0.1", 61128))
s.sendall(b"CONNECT held.test:7000 HTTP/1.1\\r\\nHost: held.test:7000\\r\\n\\r\\n")
assert b" 200 " in s.recv(1000)
open("open", "w").close()
s.recv(1)'"""
SEND = "head -c 200000 /dev/zero | curl -sS -p -m 60 -T - http://held.test:7000/"
WAYS = [
    Way("rule_deny", CURL, ('deny a.test because "ask the team"',)),
    Way("default_deny", CURL, remedy=ALLOWED_BY),
    Way("answer_deny", "curl -sS http://answered.test/", ("default ask",)),
    Way("denied_once", CURL, ("default ask",), options=ASK, steps=denied()),
    Way("denied_exec", CURL, ("default ask",), options=ASK, steps=denied("--scope", "exec")),
    Way("denied_session", CURL, ("default ask",), options=ASK, steps=denied("--scope", "session")),
    Way("denied_always", "curl -sS http://b.test/", ("default ask",), options=ASK, steps=denied("--scope", "always")),
    Way("denied_review", CURL, (f'reviewer "{SOURCE}/docs/examples/reviewer.py" --allow b.test --deny a.test for network trusted', "default ask"), options=ASK),
    Way("aborted", f"{CURL}; sleep 1000", ("default ask",), options=ASK, steps=(lambda stage: stage.answer("abort"),)),
    Way("no_approver", CURL, ("ask a.test",)),
    Way("no_approver", CURL, ("default ask",), remedy=ALLOWED_BY),
    Way("no_approver", CURL, ("ask a.test",), options=("--ci",), remedy="Allow it in the policy, in place of a rule that asks; this run asks nobody (--ci)."),
    Way("prompt_timeout", CURL, ("ask a.test",), options=(*ASK, "--prompt-timeout", "1s")),
    Way("approver_gone", f"until [ -e go ]; do sleep 0.05; done; sleep 2; {CURL}", ("ask a.test",), steps=(Stage.attach, Stage.leave)),
    Way("client_left", "curl -sS -m 1 http://a.test/; sleep 3", ("ask a.test",), options=ASK),
    Way("exec_ended", f"({CURL} &); until [ -e go ]; do sleep 0.05; done", ("default ask",), options=ASK, steps=(go_on,)),
    Way("overloaded", "for i in 1 2 3 4 5 6 7 8; do curl -sS -m 9 http://q$i.test/ & done; sleep 3; wait", ("default ask", "limit questions 2"),
        options=(*ASK, "--prompt-timeout", "2s")),
    Way("worker_died", f"{CURL}; until [ -e go ]; do sleep 0.05; done", ("default ask",), options=ASK, steps=(kill_worker,)),
    Way("private_address", "curl -sS http://inside.test/", ("allow inside.test",), remedy=ALLOWED_BY),
    Way("metadata_address", "curl -sS http://169.254.169.254/", ("default allow",)),
    Way("special_address", "curl -sS http://255.255.255.255/", ("allow 255.255.255.255",)),
    Way("own_listener", "curl -sS http://page.test:7399/", ("default allow",), options=("--web=7399", "--resolve", "page.test:127.0.0.1")),
    Way("dns_failed", "curl -sS http://nowhere.test/", ("allow nowhere.test",)),
    Way("dns_timeout", "curl -sS http://silent.test/", ("allow silent.test",)),
    Way("connect_refused", "curl -sS http://a.test:81/", ("allow a.test:81",)),
    Way("connect_unreachable", "curl -sS http://93.184.216.34/", ("allow 93.184.216.34",)),
    Way("connect_timeout", "curl -sS http://full.test/", ("allow full.test",)),
    Way("proxy_refused", "curl -sS -p http://a.test/", ("allow a.test",), env={"http_proxy": "http://proxy.test:3128", "https_proxy": "http://proxy.test:3128"}),
    Way("proxy_failed", CURL, ("allow a.test",), env={"http_proxy": "http://a.test:82"}),
    Way("upstream_closed", "curl -sS http://closes.test/", ("allow closes.test",)),
    Way("upstream_malformed", "curl -sS http://echo.test/", ("allow echo.test",)),
    Way("host_mismatch", "curl -sSk --connect-to other.test:443:a.test:443 https://other.test/", ("allow https://a.test",)),
    Way("not_tls", "curl -sS -p http://a.test:443/", ("allow https://a.test",)),
    Way("no_server_name", "openssl s_client -noservername -proxy 127.0.0.1:61128 -connect a.test:443 </dev/null", ("allow https://a.test",)),
    Way("not_http", "curl -sSk -p https://a.test:80/", ("allow http://a.test",)),
    Way("no_ftp", "curl -fsS ftp://a.test/", ("allow a.test",)),
    Way("malformed", "python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", 61128)); s.sendall(b\"GET http://a b/ HTTP/1.1\\r\\n\\r\\n\"); s.recv(9)'",
        says="1 request named no destination: "),
    Way("head_too_large", "curl -sS -H \"x: $(head -c 99999 /dev/zero | tr '\\0' a)\" http://a.test/"),
    Way("bad_host", "curl -sS -p http://a..test/"),
    Way("", "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 61128)).close()'; curl -sS http://a.test/", says="http://a.test:80", remedy=ALLOWED_BY),
    Way("budget_spent", SEND, ("allow tcp://held.test:7000 upload 64k",)),
    Way("connections_spent", f"{CURL} http://a.test/2", ("allow a.test connections 1",)),
    Way("rate_limited", f"{CURL} http://a.test/2", ("allow a.test rate 1/m",)),
    Way("expired", HELD, ("allow tcp://held.test:7000 for 5s",)),
    Way("policy_changed", HELD, ("allow tcp://held.test:7000",), steps=(lambda stage: becomes(stage, "deny held.test:*"),)),
    Way("revoked", HELD, ("default ask",), options=ASK, steps=(revoke,)),
    Way("", "true", ("alow a.test",), says='unknown statement "alow"', remedy="write: allow"),
    Way("", "true", options=("--polcy", "x"), says="no such option: --polcy", remedy="did you mean --policy?"),
    Way("", "true", options=("--audit", "/nowhere/log"), says="cannot open /nowhere/log", remedy="--audit FILE names another"),
    Way("", CURL, ("command deny curl",), says="the policy denies this command", remedy=":2: command deny curl"),
    Way("", "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' ../host.sock", says="cannot connect to the host's socket",
        remedy="allow with a line `socket "),
    Way("", "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"a.test\", 123))'; sleep 1", says="sent UDP to",
        remedy="where a rule allows it (udp://)"),
    Way("", "mkdir ~/kept", says="read-only in this sandbox: ~/kept", remedy="create it and allow with --write ~/kept"),
]


def play(world, number, way):
    stage = Stage(world, number)
    stage.start(way)
    for step in way.steps:
        step(stage)
    status = stage.end()
    sentence, step = REASONS.get(way.code, (way.says, ""))
    cause = f"{sentence.rstrip('.')} ({way.code})" if way.code else way.says
    remedy = step if way.remedy is None else way.remedy
    tail = "\n".join([line for line in stage.text().splitlines() if line.strip()][-LINES:])
    assert cause in tail, f"exit {status}: no cause {cause!r} in\n{stage.text()}"
    assert remedy and remedy in tail, f"exit {status}: no remedy {remedy!r} in\n{stage.text()}"
    if stage.watcher:
        stage.watcher.kill()
        stage.watcher.wait()


def joined(world, held):
    """A run that has joined a session says the same: its session counts."""
    policy = world.top / "joined.policy"
    policy.write_text(f"version 1\nallow tcp://{held.address}:7000 upload 64k\n")
    world.sally("session", "start", "--policy", str(policy), "work", check=True)
    run = subprocess.run([world.sallyport, "run", "--join", "work", "--no-tty", "--", "sh", "-c", SEND.replace("held.test", held.address)], cwd=world.work, env=world.env,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S)
    world.sally("session", "end", "work", check=True)
    assert f"{REASONS['budget_spent'][0].rstrip('.')} (budget_spent). Rule: {policy}:2: " in run.stderr, run


def serve(world, names):
    """The servers, which have to be kept."""
    servers = []

    def add(name):
        servers.append(Server(name, world.new_address()))
        names.set(f"{name}.test", [[servers[-1].address]])
        return servers[-1]

    web, held = add("a"), add("held")  # joined() uses the second
    web.serve_http(80)
    web.serve_http(443, make_certificate(world.work, ["a.test", "other.test"]))
    names.set("other.test", [[web.address]])
    for name in ("b", "answered", *(f"q{i}" for i in range(1, 9))):
        names.set(f"{name}.test", [[web.address]])
    held.hold(7000)
    add("closes").close_at_once(80)
    add("echo").echo(80)
    add("full").never_accept(80)
    add("proxy").proxy(3128, {})
    names.set("inside.test", [["10.1.2.3"]])
    names.set("silent.test", [None])
    host = socket.socket(socket.AF_UNIX)
    host.bind(str(world.top / "host.sock"))
    host.listen()
    servers.append(host)
    return servers


def main():
    worlds.enter_namespace()
    tempfile.tempdir = "/var/tmp"  # a command has a /tmp of its own
    world, names = World(sys.argv[1]), Names()
    missing = set(REASONS) - {way.code for way in WAYS} - set(ELSEWHERE)
    passed = failed = 0
    try:
        assert not missing, f"no way of this test fails so, and no reason is given: {missing}"
        servers = serve(world, names)
        answers = world.top / "config/sallyport/policy"
        answers.parent.mkdir(mode=0o700)
        answers.write_text("version 1\nanswer deny http://answered.test:80\n")
        answers.chmod(0o600)
        cases = [(way.name, lambda number=number, way=way: play(world, number, way)) for number, way in enumerate(WAYS)]
        for name, case in (*cases, ("joined", lambda: joined(world, servers[1]))):
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            try:
                case()
                passed += 1
            except Exception:
                failed += 1
                print(f"not ok  {name}\n{traceback.format_exc()}", flush=True)
    finally:
        world.close()
    del servers
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
