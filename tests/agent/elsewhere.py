#!/usr/bin/env python3
"""Questions about commands, patches and permissions at approvers other than the client. usage: elsewhere.py SALLYPORT [CASE...]"""

import http.client
import http.server
import json
import re
import subprocess
import threading

import harness
from world import until  # found by harness

RULES = "command allow echo\ncommand ask cat\n"


def approve(stage, *words, status=0):
    """Runs `sallyport approve`; returns its standard output."""
    done = subprocess.run([stage.sallyport, "approve", *words], env=stage.env, capture_output=True, text=True, timeout=harness.PATIENCE)
    assert done.returncode == status, (words, done)
    return done.stdout + done.stderr


def waiting(stage, count=1):
    """The open questions of all gates, once there are @count."""
    found = []

    def are_there():
        found[:] = json.loads(approve(stage, "list", "--json"))
        return len(found) == count

    until(are_there, harness.PATIENCE, f"{count} questions in approve list")
    return found


def lines_of(question, label):
    return [text for name, text in question["lines"] if name == label]


def begin(stage, approval="on-request", **session):
    stage.policy(RULES)
    client = stage.client()
    client.configure(approval, **session)
    return client


def decisions(stage):
    return [record for record in map(json.loads, stage.audit.read_text().splitlines()) if record.get("event") == "decision"]


def a_command_is_allowed(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null", "a b", "\x1b[2J\n"], reason="to see\x1b[31m nothing")
    asked = client.next("approval_request")
    (question,) = waiting(stage)
    assert question["kind"] == "exec" and lines_of(question, "command") == [r"cat /dev/null 'a b' '\x1b[2J\x0a'"], question
    assert lines_of(question, "directory") == [str(stage.work)] and lines_of(question, "sandbox"), question
    assert lines_of(question, "it says") == [r"to see\x1b[31m nothing"], question
    shown = approve(stage, "list")
    assert "\x1b" not in shown and r"cat /dev/null 'a b' '\x1b[2J\x0a'" in shown and "allow session" in shown, shown
    client.never("exec_begin")
    approve(stage, "allow", question["id"])
    told = client.next("approval_resolved", approval=asked["approval"])
    assert "id" not in told and "on approve" in told["message"], told
    assert client.next("exec_end", id=id)["status"] == "exited"
    client.error(client.answer(asked, "approved"), "unknown")  # the second answer is late
    assert approve(stage, "list") == "no question waits for an answer\n"
    (record,) = [record for record in decisions(stage) if record["through"] == "approve"]
    assert record["by"].endswith(" on approve") and record["action"] == "allow" and record["kind"] == "exec", record


def a_denial_has_words(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null"])
    (question,) = waiting(stage)
    approve(stage, "deny", question["id"], "--words", "use the mirror")
    end = client.next("exec_end", id=id)
    assert (end["status"], end["by"]) == ("rejected", "person") and "use the mirror" in end["message"], end
    assert end["attempts"] == [], end


def an_abort_stops_the_agent(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null"])
    approve(stage, "abort", waiting(stage)[0]["id"])
    assert client.next("exec_end", id=id).get("abort") is True


def for_the_session(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null"])
    approve(stage, "allow", waiting(stage)[0]["id"], "--scope", "session")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    assert client.run(["cat", "/dev/null"])["exit_code"] == 0
    assert json.loads(approve(stage, "list", "--json")) == []


def only_what_is_offered(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null"])
    (question,) = waiting(stage)
    for words in (["allow", "--scope", "exec"], ["deny", "--scope", "session"], ["allow", "--scope", "session", "--domain"]):
        said = approve(stage, words[0], question["id"], *words[1:], status=3)
        assert "does not offer" in said, said
    client.never("exec_begin")
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id)
    approve(stage, "allow", question["id"], status=1)  # the client was first


def a_patch_and_permissions(stage):
    client = begin(stage)
    id = client.send("request_patch_approval", files=["/var/lib/one", "/var/lib/two"], reason="needed")
    (question,) = waiting(stage)
    assert question["kind"] == "patch" and lines_of(question, "file") == ["/var/lib/one", "/var/lib/two"], question
    approve(stage, "deny", question["id"])
    assert client.next("task_complete", id=id)["outcome"] == "rejected"
    id = client.send("request_permissions", additional_permissions={"read": ["/var/lib"]}, reason="needed")
    (question,) = waiting(stage)
    assert question["kind"] == "permissions" and lines_of(question, "access") == ["read /var/lib"], question
    approve(stage, "allow", question["id"])
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    id = client.send("request_elicitation", reason="which of them?", items=["one"])
    (question,) = waiting(stage)
    assert question["kind"] == "elicitation" and lines_of(question, "it says") == ["which of them?"], question
    approve(stage, "allow", question["id"])
    assert client.next("task_complete", id=id)["outcome"] == "approved"


def the_changes_of_a_patch(stage):
    client = begin(stage)
    changes = [{"path": "/var/lib/one", "kind": "add", "content": "first\n\nlast"},
               {"path": "/var/lib/two", "kind": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+\x1b[2J", "move_path": "/var/lib/three"}]
    id = client.send("request_patch_approval", changes=changes)
    (question,) = waiting(stage)
    assert lines_of(question, "change") == ["add /var/lib/one", "update /var/lib/two -> /var/lib/three"], question
    assert lines_of(question, "text") == ["| first", "| ", "| last", "| @@ -1 +1 @@", "| -a", "| +\\x1b[2J"], question
    approve(stage, "deny", question["id"])
    assert client.next("task_complete", id=id)["outcome"] == "rejected"
    id = client.send("request_patch_approval", changes=[{"path": "/var/lib/one", "kind": "add", "content": "x\n" * 9000}])
    (question,) = waiting(stage)
    assert lines_of(question, "too long") and "allow once" not in question["choices"], question
    approve(stage, "deny", question["id"])
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def a_text_that_is_too_long(stage):
    """It cannot be seen whole, so it cannot be allowed there."""
    client = begin(stage)
    id = client.send("exec", command=["cat", "x" * 20000])
    (question,) = waiting(stage)
    assert lines_of(question, "too long") and "allow once" not in question["choices"], question
    assert "does not offer" in approve(stage, "allow", question["id"], status=3)
    client.never("exec_begin")
    approve(stage, "deny", question["id"])
    assert client.next("exec_end", id=id)["status"] == "rejected"


def a_crowd_of_questions(stage):
    """Only so many are shown elsewhere; the client can answer all."""
    client = begin(stage)
    ids = [client.send("exec", command=["cat", f"/dev/null/{number}"]) for number in range(40)]
    asked = [client.next("approval_request") for _ in ids]
    assert len(waiting(stage, 32)) == 32
    for question in asked:
        client.answer(question, "denied")
    for id in ids:
        assert client.next("exec_end", id=id)["status"] == "rejected"
    waiting(stage, 0)


def a_withdrawn_command(stage):
    client = begin(stage)
    id = client.send("exec", command=["cat", "/dev/null"])
    (question,) = waiting(stage)
    client.send("cancel", exec=client.next("approval_request", ids=[id])["execs"][0])
    client.next("task_complete", id=id)
    assert "answered or withdrawn" in approve(stage, "allow", question["id"], status=1)


class Watch:
    """`sallyport approve watch`, without a terminal."""

    def __init__(self, stage):
        self.out = stage.top / "watch.out"
        self.process = subprocess.Popen([stage.sallyport, "approve", "watch"], env=stage.env, stdin=subprocess.PIPE,
                                        stdout=self.out.open("wb"), stderr=subprocess.STDOUT)

    def shows(self, text):
        until(lambda: text in self.out.read_text(), harness.PATIENCE, f"{text} in the watch")
        return self.out.read_text()

    def type(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def end(self):
        self.process.terminate()
        self.process.wait(harness.PATIENCE)


def a_watch_shows_and_answers(stage):
    client = begin(stage)
    watch = Watch(stage)
    try:
        watch.shows("watching run")
        id = client.send("exec", command=["cat", "/dev/null"])
        assert client.next("approval_request")["elsewhere"] is True
        watch.shows("command   cat /dev/null")
        watch.type(f"y {waiting(stage)[0]['id']}")
        assert client.next("exec_end", id=id)["exit_code"] == 0
        watch.shows("allowed once by")
        id = client.send("exec", command=["cat", "/dev/zero"])
        client.answer(client.next("approval_request"), "denied")
        watch.shows("was answered by the agent's client")
    finally:
        watch.end()


def post(port, path, body, origin, **fields):
    """The answer of the page's server: its status and its object."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.PATIENCE)
    link.request("POST", path, json.dumps(body), {"Host": origin.partition("//")[2], "Origin": origin, "Content-Type": "application/json", **fields})
    reply = link.getresponse()
    return reply, json.loads(reply.read())


def the_page_answers(stage):
    """The page's server gives the question to the page, and takes an answer that it offers."""
    stage.policy(RULES)
    client = stage.client("--web")
    client.configure("on-request")
    errors = stage.top / "agent.err"
    found = until(lambda: re.search(r"http://127[.]0[.]0[.]1:([0-9]+)/#([0-9a-f]{64})", errors.read_text()), harness.PATIENCE, "the page's address")
    port, origin = int(found[1]), f"http://127.0.0.1:{found[1]}"
    reply, entered = post(port, "/api/enter", {"capability": found[2]}, origin)
    secrets = {"Cookie": reply.getheader("set-cookie").partition(";")[0], "Sallyport-Key": entered["key"]}
    id = client.send("exec", command=["cat", "/dev/null"])
    assert client.next("approval_request")["elsewhere"] is True
    (question,) = waiting(stage)
    for wrong in ({"scope": "always"}, {"scope": "session", "width": {"domain": True}}, {"text": "cat"}):
        reply, _ = post(port, "/api/answer", {"question": question["id"], "action": "allow", **wrong}, origin, **secrets)
        assert reply.status == 409, (wrong, reply.status)
    client.never("exec_begin")
    reply, _ = post(port, "/api/answer", {"question": question["id"], "action": "allow", "scope": "once"}, origin, **secrets)
    assert reply.status == 200, reply.status
    assert client.next("exec_end", id=id)["status"] == "exited"
    (record,) = [record for record in decisions(stage) if record["through"] == "web"]
    assert record["by"].endswith(" on web") and record["action"] == "allow", record


def the_webhook_answers(stage):
    """The webhook gets the question without secrets, and a link to all of it, which answers it once."""
    told = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    key = stage.top / "hook.key"
    key.write_text("0123456789abcdef" * 2 + "\n")
    key.chmod(0o600)
    stage.policy(RULES)
    origin = "https://gate.example.org"
    client = stage.client("--web", "--webhook", f"http://127.0.0.1:{server.server_port}/", "--webhook-key", str(key), "--webhook-answer", origin)
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null", "--password=hunter2hunter2"])
    until(lambda: told, harness.PATIENCE, "a message of the webhook")
    message = told[0]
    assert message["event"] == "asked" and message["kind"] == "exec" and ["command", "cat /dev/null --password=***"] in message["lines"] and "hunter2" not in json.dumps(message), message
    port = int(re.search(r"http://127[.]0[.]0[.]1:([0-9]+)/#", (stage.top / "agent.err").read_text())[1])
    link = message["answer_url"].partition("#")[2]
    reply, look = post(port, "/api/once/look", {"link": link}, origin)
    assert reply.status == 200 and ["command", "cat /dev/null --password=hunter2hunter2"] in look["agent"]["lines"], look
    reply, _ = post(port, "/api/once/answer", {"link": link, "action": "allow", "scope": "session"}, origin)
    assert reply.status == 400, "a link answered for longer"
    reply, _ = post(port, "/api/once/answer", {"link": link, "action": "allow"}, origin)
    assert reply.status == 200, reply.status
    reply, _ = post(port, "/api/once/answer", {"link": link, "action": "allow"}, origin)
    assert reply.status == 410, "answered twice"
    assert client.next("exec_end", id=id)["status"] == "exited"
    assert [record["by"] for record in decisions(stage) if record["through"] == "web"] == ["an answer link"]
    server.shutdown()


class Mcp:
    """`sallyport mcp`, for a client that cannot show forms."""

    def __init__(self, stage):
        self.process = subprocess.Popen([stage.sallyport, "mcp", "--audit", str(stage.audit), *stage.options], env=stage.env,
                                        cwd=stage.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.send(id=1, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {},
                                                     "clientInfo": {"name": "x", "version": "1"}})
        self.result(1)
        self.send(method="notifications/initialized")

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        self.process.stdin.flush()

    def result(self, id):
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == id:
                return message["result"]
        raise AssertionError("the server ended: " + self.process.stderr.read())

    def call(self, id, **arguments):
        self.send(id=id, method="tools/call", params={"name": "run", "arguments": arguments})

    def end(self):
        self.process.kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout, self.process.stderr):
            end.close()


def a_client_without_forms_waits_for_the_watch(stage):
    """An MCP client that cannot show a question is no reason to deny it while a person watches."""
    stage.policy(RULES)
    watch = Watch(stage)
    server = Mcp(stage)
    try:
        watch.shows("watching run")
        server.call(2, argv=["cat", "/dev/null"])
        watch.shows("command   cat /dev/null")
        watch.type(f"y {waiting(stage)[0]['id']}")
        assert server.result(2)["structuredContent"]["exit_code"] == 0
        watch.end()
        server.call(3, argv=["cat", "/dev/null"])
        done = server.result(3)
        assert done["isError"] and "approve watch" in done["structuredContent"]["message"], done
    finally:
        if watch.process.poll() is None:
            watch.end()
        server.end()


def the_reason_is_in_the_text(stage):
    """What a model reads says why a destination was denied, also of a command that succeeded."""
    stage.policy('deny http://a.test\n')
    server = Mcp(stage)
    try:
        server.call(2, command="curl -s http://a.test/ >/dev/null; true")
        done = server.result(2)
        text = done["content"][0]["text"]
        assert done["structuredContent"]["exit_code"] == 0 and not done["isError"], done
        assert "denied on the network: http://a.test:80 (policy)" in text and "a.test: a rule denies it" in text, done
    finally:
        server.end()


harness.main([a_command_is_allowed, a_denial_has_words, an_abort_stops_the_agent, for_the_session, only_what_is_offered,
              a_patch_and_permissions, the_changes_of_a_patch, a_text_that_is_too_long, a_crowd_of_questions, a_withdrawn_command, a_watch_shows_and_answers, the_page_answers, the_webhook_answers,
              a_client_without_forms_waits_for_the_watch, the_reason_is_in_the_text])
