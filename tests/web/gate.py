#!/usr/bin/env python3
"""gate: the page of a real run: which requests it accepts, what an answer does, and that no program in the sandbox can connect to it.

usage: gate.py SALLYPORT [CASE…]"""
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "sandbox"))
from harness import NO_SANDBOX, OTHER_UID, descendants, main, must, wait_for
from outside import host_addresses
from page import Page, page_of

WORDS = b"the server was reached"


class Site:
    """A server on the host's loopback that the command may only reach when a person says so."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", str(len(WORDS)))
                self.end_headers()
                self.wfile.write(WORDS)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://site.test:{self.port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Run:
    """A run with a page. It is ended."""

    def __init__(self, world, user, command, *options):
        self.audit = user.work / f"audit-{time.monotonic_ns()}.jsonl"
        policy = user.file(user.base / "ask.policy", "version 1\nask site.test:*\n")
        self.process = world.start(user, command, ["--web", "--policy", policy, "--audit", self.audit, *options],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.page = page_of(self.process)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def end(self, seconds=120):
        """Its status and output."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, self.process.said + err

    def records(self):
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()


def fetch(site):
    return ["curl", "-sS", "--max-time", "60", "-o", "-", "-w", "\n%{http_code}", site.url]


def resolve(_site):
    return "--resolve", "site.test:127.0.0.1"


def sleeping(world, user, *options):
    """A run that waits, with its page entered."""
    run = Run(world, user, ["sleep", "600"], *options)
    run.page.enter()
    return run


def allowed(world, user):
    with Site() as site, Run(world, user, fetch(site), *resolve(site)) as run:
        page = run.page.enter()
        watch = page.watch()
        question = watch.question("site.test")
        body = {"question": question["id"], "action": "allow", "scope": "once"}
        text = page.post("/api/text", body).json()["text"]
        must("site.test" in text, text)
        # The server insists, whatever the page does.
        must(not question["needs_typing"] and question["risks"], "what is merely new is marked, and not typed:", question)
        always = {"scope": "always", "width": {"every_port": True}}
        always["text"] = page.post("/api/text", {**body, **always}).json()["text"]
        for wrong in ({"text": text + " "}, always, {**always, "typed": "site.tes"}):
            answer = page.post("/api/answer", {**body, "text": text, **wrong})
            must(answer.status == 409, "allowed although", wrong, answer.status)
        answer = page.post("/api/answer", {**body, "text": text, "typed": question["domain"], "words": "go ahead"})
        must(answer.status == 200, answer.status, answer.body)
        again = page.post("/api/answer", {**body, "text": text, "typed": question["domain"]})
        must(again.status == 409 and again.json()["code"] == "finished", "a second answer:", again.status, again.body)
        settled = watch.until(lambda: next((e for e in watch.events if e["event"] == "settled"), None))
        must("on web" in settled["how"] and settled["action"] == "allow", settled)
        watch.until(lambda: any(trip["to"] == question["to"] for trip in watch.state.get("totals", {}).get("list", [])))
        watch.close()
        status, out, err = run.end()
        must(status == 0 and out == WORDS + b"\n200", status, out, err)
        decision = next(r for r in run.records() if r["event"] == "decision")
        must(decision["by"].endswith(" on web") and decision["action"] == "allow", decision)
        must(page.capability not in run.audit.read_text() and page.key not in run.audit.read_text(), "a secret is on record")
        must(err.count(page.capability.encode()) == 1, "the address is printed once", err)


def denied(world, user):
    with Site() as site, Run(world, user, fetch(site), *resolve(site)) as run:
        page = run.page.enter()
        watch = page.watch()
        question = watch.question("site.test")
        answer = page.post("/api/answer", {"question": question["id"], "action": "deny", "words": "not today"})
        must(answer.status == 200, answer.status, answer.body)
        watch.until(lambda: "denials" in watch.state and "over" in watch.state)
        status, out, err = run.end()
        must(b"403" in out and WORDS not in out and b"not today" in out, status, out, err)


def granted_and_revoked(world, user):
    """A grant for the session is shown on the page, and a revocation ends it."""
    with Site() as site:
        script = f"curl -sS -o /dev/null {site.url}; touch first; while [ ! -e go ]; do sleep 0.05; done; curl -s -m 60 {site.url}"
        with Run(world, user, ["sh", "-c", script], *resolve(site)) as run:
            page = run.page.enter()
            watch = page.watch()
            question = watch.question("site.test")
            body = {"question": question["id"], "action": "allow", "scope": "session", "width": {"for_s": 3600}}
            text = page.post("/api/text", body).json()["text"]
            must("for 1h" in text, text)
            must(page.post("/api/answer", {**body, "text": text, "typed": question["domain"]}).status == 200, "not answered")
            grant = watch.until(lambda: next(iter(watch.state.get("grants", {}).get("list", [])), None))
            must(grant["text"] == text and grant["scope"] == "session" and grant["until_s"] > grant["since_s"], grant, text)
            must(wait_for((user.work / "first").exists, 20), "the first request is not done")
            answer = page.post("/api/revoke", {"grant": grant["id"]})
            must(answer.status == 200, answer.status, answer.body)
            must(page.post("/api/revoke", {"grant": grant["id"]}).status == 409, "revoked twice")
            watch.until(lambda: watch.state["grants"]["count"] == 0)
            (user.work / "go").write_text("")
            question = watch.question("site.test")  # asked again
            must(page.post("/api/answer", {"question": question["id"], "action": "deny"}).status == 200, "not denied")
            status, out, err = run.end()
            must(WORDS not in out, status, out, err)
    for name in ("first", "go"):
        (user.work / name).unlink()


def asked_again(world, user):
    """A denial leads to a question again: nothing is allowed before its answer, which then counts for the next request."""
    with Site() as site:
        script = f"curl -sS -o /dev/null {site.url}; touch first; while [ ! -e go ]; do sleep 0.05; done; curl -sS -m 60 {site.url}"
        with Run(world, user, ["sh", "-c", script], *resolve(site)) as run:
            page = run.page.enter()
            watch = page.watch()
            question = watch.question("site.test")
            must(page.post("/api/answer", {"question": question["id"], "action": "deny"}).status == 200, "not denied")
            denial = watch.until(lambda: next((d for d in watch.state.get("denials", []) if d["to"] == question["to"]), None))
            must(wait_for((user.work / "first").exists, 60), "the first request is not done")
            watch.until(lambda: watch.state["questions"]["count"] == 0)
            wanted = {"to": denial["to"], "exec": denial["exec"]}
            must(page.post("/api/propose", {**wanted, "exec": 999}).status == 409, "for a command that never was")
            must(page.post("/api/propose", wanted, Sallyport_Key="0" * 64).status == 401, "without the key")
            must(page.post("/api/propose", wanted).status == 200, "not asked again")
            again = watch.question("site.test")
            must(again["to"] == denial["to"] and again["id"] != question["id"] and "on the page" in again["plea"], again)
            must(watch.state.get("grants", {}).get("count", 0) == 0, "allowed before it was answered", watch.state["grants"])
            body = {"question": again["id"], "action": "allow", "scope": "session"}
            text = page.post("/api/text", body).json()["text"]
            must(page.post("/api/answer", {**body, "text": text}).status == 200, "not answered")
            watch.until(lambda: watch.state.get("grants", {}).get("count") == 1)
            (user.work / "go").write_text("")
            status, out, err = run.end()
            must(status == 0 and WORDS in out, status, out, err)
    for name in ("first", "go"):
        (user.work / name).unlink()


class Hook(Site):
    """A server that gets questions from the webhook."""

    def __enter__(self):
        told = self.told = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self


def answered_by_a_link(world, user):
    """The webhook's link answers its question from elsewhere, without the page's secrets, and once."""
    key = user.file(user.base / "hook.key", "0123456789abcdef" * 2 + "\n")
    os.chmod(key, 0o600)
    # What a case before this one allowed was seen by this user's gates, and warns no more.
    for seen in user.base.rglob("sallyport/seen"):
        seen.unlink()
    options = ("--webhook-key", key, "--webhook-answer", "https://gate.example.org")
    with Site() as site, Hook() as hook, Run(world, user, fetch(site), *resolve(site), "--webhook", hook.url, *options) as run:
        must(wait_for(lambda: hook.told, 20), "the webhook was not told")
        address, _, link = hook.told[0]["answer_url"].partition("#")
        must(address == "https://gate.example.org/once.html", address)

        def ask(path, body, **other):
            return run.page.post(path, {"link": link, **body}, Host="gate.example.org", Origin="https://gate.example.org", Cookie=None,
                                 Sallyport_Key=None, **other)
        look = ask("/api/once/look", {})
        must(look.status == 200 and look.json()["question"]["host"] == "site.test", look.status, look.body)
        body = {"action": "allow", "text": look.json()["text"]}
        must(ask("/api/once/answer", {**body, "text": "https://other.test:443"}).status == 409, "another text was allowed")
        body["typed"] = look.json()["question"]["domain"]
        must(ask("/api/once/answer", {**body, "scope": "always"}).status == 400, "a link answered for longer")
        must(ask("/api/answer", {"question": hook.told[0]["id"], "action": "allow"}).status == 421, "the page can be reached by a link")
        must(ask("/api/once/answer", body).status == 200, "not answered")
        must(ask("/api/once/answer", body).status in (409, 410), "answered twice")
        status, out, err = run.end()
        must(status == 0 and out == WORDS + b"\n200", status, out, err)
        decision = next(r for r in run.records() if r["event"] == "decision")
        must(decision["by"] == "an answer link", decision)
        must(link not in run.audit.read_text(), "the link is on record")
    os.unlink(key)


def is_connected():
    """Has a curl below this process an open connection in its network?"""
    for pid in descendants():
        try:
            process = pathlib.Path(f"/proc/{pid}")
            if process.joinpath("comm").read_text() == "curl\n" and " 01 " in process.joinpath("net/tcp").read_text():
                return True
        except OSError:
            pass  # it has ended
    return False


def waits_for_the_page(world, user):
    """Before the first page a question is held; after the last page has closed it is denied."""
    with Site() as site, Run(world, user, fetch(site), *resolve(site)) as run:
        must(wait_for(is_connected), "the command has not connected to the gate")
        must(run.process.poll() is None, "it was not waited for")
        page = run.page.enter()
        watch = page.watch()
        watch.question("site.test")
        watch.close()
        status, out, err = run.end()
        must(b"403" in out, status, out, err)
        must(any(r.get("reason") == "approver_gone" for r in run.records()), run.records())


def guarded(world, user):
    with sleeping(world, user) as run:
        page, port = run.page, run.page.port
        deny = {"question": "q-1", "action": "deny"}
        cases = [
            ("another name", page.get("/", Host=f"evil.test:{port}"), 421),
            ("no port", page.get("/", Host="127.0.0.1"), 421),
            ("another address", page.get("/", Host=f"127.0.0.2:{port}"), 421),
            ("another origin", page.post("/api/answer", deny, Origin="http://evil.test"), 403),
            ("no origin", page.post("/api/answer", deny, Origin=None), 403),
            ("another port's page", page.post("/api/answer", deny, Sec_Fetch_Site="same-site", Origin=f"http://127.0.0.1:{port + 1}"), 403),
            ("another site", page.post("/api/answer", deny, Sec_Fetch_Site="cross-site"), 403),
            ("a form", page.post("/api/answer", deny, Content_Type="text/plain"), 415),
            ("no cookie", page.post("/api/answer", deny, Cookie=None), 401),
            ("no key", page.post("/api/answer", deny, Sallyport_Key=None), 401),
            ("the capability for a key", page.post("/api/answer", deny, Sallyport_Key=page.capability), 401),
            ("a wrong capability", page.post("/api/enter", {"capability": "0" * 64}), 401),
            ("no capability", page.post("/api/enter", {}), 401),
            ("an unknown question", page.post("/api/answer", deny), 409),
            ("an unknown grant", page.post("/api/revoke", {"grant": 99}), 409),
            ("garbage", page.post("/api/answer", b"\xff{"), 400),
            ("GET on what changes state", page.get("/api/answer"), 405),
            ("GET with the answer in it", page.get("/api/answer?question=q-1&action=deny"), 404),
            ("a stream without a key", page.get("/api/events", Sallyport_Key=None), 401),
            ("a stream for another origin", page.get("/api/events", Origin="http://evil.test"), 403),
            ("a preflight", page.raw(f"OPTIONS /api/answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://evil.test\r\n"
                                     "Access-Control-Request-Method: POST\r\n\r\n".encode()), 403),
            ("a large head", page.get("/", X="x" * 10000), 431),
            ("a large body", page.post("/api/answer", b"x" * 9000), 413),
            ("a tunnel", page.raw(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()), 400),
            ("no HTTP", page.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), 400),
        ]
        for name, answer, want in cases:
            must(answer.status == want, f"{name}: {answer.status}, not {want}: {answer.body[:200]}")
            must(not any(key.lower().startswith("access-control") for key, _ in answer.fields), name, answer.fields)
        answer = page.get("/", Cookie=None, Sallyport_Key=None, Origin=None)
        must(answer.status == 200 and b"<script type=\"module\" src=\"/app.js\">" in answer.body, answer.status)
        for secret in (page.capability, page.key, page.cookie):
            must(secret.encode() not in answer.body, "the page itself holds a secret")
        policy = answer.field("content-security-policy")
        for part in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
                     "base-uri 'none'", "form-action 'none'"):
            must(part in policy and "unsafe" not in policy, policy)


def other_runs_secrets(world, user):
    with sleeping(world, user) as one, sleeping(world, user) as two:
        must(one.page.capability != two.page.capability and one.page.cookie != two.page.cookie, "shared")
        for cookie, key in ((one.page.cookie, two.page.key), (two.page.cookie, one.page.key), (one.page.cookie, one.page.key)):
            answer = two.page.get("/api/events", Cookie=f"sallyport-{two.page.port}={cookie}", Sallyport_Key=key)
            must(answer.status == 401, answer.status)
        answer = two.page.post("/api/enter", {"capability": one.page.capability})
        must(answer.status == 401, answer.status)


def slow_clients(world, user):
    """Clients that do not write, and clients that do not read, are disconnected and do not delay others."""
    with sleeping(world, user) as run:
        page = run.page
        idle = [page.connect(20) for _ in range(20)]
        for number, connection in enumerate(idle):
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127"[:number + 1])
        deaf = [page.connect(20) for _ in range(8)]
        for connection in deaf:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(f"GET /api/events HTTP/1.1\r\n{page.fields()}\r\n".encode())
        began = time.monotonic()
        watch = page.watch()
        must(page.post("/api/answer", {"question": "q", "action": "deny"}).status == 409, "nobody is served")
        must(time.monotonic() - began < 4, "others were waited for")
        for connection in idle:
            must(Page.read(connection) == b"", "half a request was answered")
        must(not watch.is_over, "the one that reads was cut")
        for connection in (*idle, *deaf):
            connection.close()


def fixed_port(world, user):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = world.run(user, ["true"], [f"--web={port}"])
        must(done.returncode == NO_SANDBOX and b"cannot serve the page" in done.stderr, done)
    with Run(world, user, ["sleep", "600"], f"--web={port}") as run:
        must(run.page.port == port, run.page.port)
    for wrong in ("0", "65536", "x", "-1", ""):
        done = world.run(user, ["true"], [f"--web={wrong}"])
        must(done.returncode == 2 and b"is not a port" in done.stderr, wrong, done)


INSIDE = r"""
import json, socket, struct, sys
port, addresses = int(sys.argv[1]), sys.argv[2:]
http, socks = ("127.0.0.1", 61128), ("127.0.0.1", 61080)
def ask(to, data, *more):
    try:
        with socket.create_connection(to, timeout=10) as s:
            s.sendall(data)
            got = b""
            for part in more:
                got += s.recv(2)
                s.sendall(part)
            while part := s.recv(65536):
                got += part
            return got
    except OSError as error:
        return repr(error).encode()
request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
for family in (socket.AF_INET, socket.AF_INET6):
    for at in addresses:
        try:
            with socket.socket(family, socket.SOCK_STREAM) as s:
                s.settimeout(5)
                s.connect((at, port))
                s.sendall(request)
                print("direct", at, s.recv(65536))
        except (OSError, UnicodeError) as error:
            pass
for at in addresses:
    name = f"[{at}]" if ":" in at else at
    absolute = ask(http, f"GET http://{name}:{port}/ HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: close\r\n\r\n".encode())
    tunnel = ask(http, f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode() + request)
    if ":" in at:
        target = b"\4" + socket.inet_pton(socket.AF_INET6, at)
    else:
        target = b"\3" + bytes([len(at)]) + at.encode()
    by_socks = ask(socks, b"\5\1\0", b"\5\1\0" + target + struct.pack(">H", port) + request)
    for way, got in (("absolute", absolute), ("tunnel", tunnel), ("socks", by_socks)):
        print(json.dumps([way, at, got.decode("latin-1")]))
"""


def unreachable_from_inside(world, user):
    """A command cannot connect to the page by any address or protocol, even under a policy that allows everything."""
    names = ["name.test", "both.test"]
    spelled = ["127.0.0.1", "localhost", "0.0.0.0", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "::1", "::", "::ffff:127.0.0.1",
               "::ffff:7f00:1", "::127.0.0.1", "64:ff9b::7f00:1", *host_addresses()[1:]]
    lines = ["version 1", "default allow", "allow 127.0.0.0/8:* private", "allow [::1]:* private", "allow localhost:* private",
             "allow **.test:* private", "allow 0.0.0.0/0:* private", "allow ::/0:* private"]
    script = user.file(user.work / "inside.py", INSIDE)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    policy = None
    for count in range(len(lines), 1, -1):  # what this policy language takes of it
        policy = user.file(user.base / "open.policy", "\n".join(lines[:count]) + "\n")
        if subprocess.run([str(world.sallyport), "policy", "check", str(policy)], capture_output=True, **user.ids(),
                          env=user.environment()).returncode == 0:
            break
    options = ["--policy", policy, "--default", "allow", f"--web={port}", "--resolve", "name.test:127.0.0.1", "--resolve", "both.test:::1"]
    reached = []

    with Run(world, user, ["python3", script.name, str(port), *spelled, *names], *options) as run:
        page = run.page.enter()
        watch = page.watch()
        while run.process.poll() is None:
            # There must be no question about it, and an answer must not help.
            for question in watch.state.get("questions", {}).get("list", []):
                body = {"question": question["id"], "action": "allow"}
                answer = page.post("/api/text", body)
                if answer.status == 200:
                    page.post("/api/answer", {**body, "text": answer.json()["text"], "typed": question["domain"]})
                watch.state["questions"]["list"] = []
            watch.take()
            must(not watch.is_over or run.process.poll() is not None or wait_for(lambda: run.process.poll() is not None, 5), "cut")
        status, out, err = run.end()
        must(status == 0, status, out, err)
        refused = 0
        for line in out.decode().splitlines():
            must(not line.startswith("direct"), line)
            way, at, got = json.loads(line)
            if "frame-ancestors" in got or "Sallyport</title>" in got:
                reached.append((way, at))
            refused += "own_listener" in got
        must(not reached, "reached by", reached, "asked under", policy.read_text())
        must(refused >= 6, "nothing was refused as own_listener:", out.decode())
        reasons = {(r["host"], r.get("reason")) for r in run.records() if r["event"] == "decision" and r.get("port") == port}
        for host in ("127.0.0.1", "name.test"):
            must((host, "own_listener") in reasons, host, reasons)
    script.unlink()


def another_user(world, user):
    """Another user cannot use the page, even with the capability."""
    uid = OTHER_UID + 1
    with sleeping(world, user) as run:
        page = run.page
        request = f"GET / HTTP/1.1\r\n{page.fields()}\r\n"
        code = ("import socket, sys\ns = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=10)\n"
                "try:\n    s.sendall(sys.argv[2].encode())\n    sys.stdout.buffer.write(s.recv(65536))\nexcept ConnectionError: pass\n")
        done = subprocess.run(["/usr/bin/python3", "-c", code, str(page.port), request], user=uid, group=uid, extra_groups=[],
                              capture_output=True, timeout=30, cwd="/")
        must(done.returncode == 0 and done.stdout == b"", done)
        must(page.get("/").status == 200, "and we are refused, too")


def nothing_tells_the_capability(world, user):
    """The capability is not in a command line, in the environment or in a file that the command can read."""
    script = "cat /proc/1/cmdline /proc/1/environ /proc/self/environ /proc/*/cmdline 2>/dev/null; env; touch looked; sleep 600"
    with Run(world, user, ["sh", "-c", script]) as run:
        capability = run.page.capability.encode()
        must(wait_for((user.work / "looked").exists), "the command has not looked")
        for entry in pathlib.Path("/proc").iterdir():
            for part in ("cmdline", "environ"):
                try:
                    must(capability not in (entry / part).read_bytes() or int(entry.name) == os.getpid(), entry, part)
                except (OSError, ValueError):
                    pass
        run.process.terminate()
        _, out, _ = run.end()
        must(capability not in out, "inside it is known")


CASES = [(function.__name__.replace("_", "-"), function) for function in (
    allowed, denied, granted_and_revoked, asked_again, answered_by_a_link, waits_for_the_page, guarded, other_runs_secrets, slow_clients, fixed_port,
    unreachable_from_inside, nothing_tells_the_capability)]
if os.geteuid() == 0:  # only root can become another user
    CASES.append(("another-user", another_user))

if __name__ == "__main__":
    sys.exit(main(CASES, 1))
