#!/usr/bin/env python3
"""`sallyport mcp`: the reference client of the protocol plays cases.mjs against it, and hostile clients speak to it by hand.
usage: mcp.py SALLYPORT FOLDER [--front MCP-FRONT] [CASE...]; the client is installed below FOLDER, once, from the package
registry. With --front the agent is another process, and what is said to it and by it is held to its schemas."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "agent"), str(HERE.parent)]

import from_npm  # noqa: E402
import harness  # noqa: E402
import tap  # noqa: E402
from world import IN_NAMESPACE, processes, until  # noqa: E402

NODE = pathlib.Path(sys.argv[2]).resolve() / "node"
GET = "curl -sS -m 60 -o /dev/null -w '%{http_code}' http://a.test/"
NEWEST = "2025-11-25"


FRONT = str(pathlib.Path(sys.argv[4]).resolve()) if sys.argv[3:4] == ["--front"] else None


def argv(stage, *options):
    if FRONT:
        approval = options if "--approval" in options else ()
        return [FRONT, str(tap.Tap(stage, *(() if approval else options)).path), *approval]
    return [stage.sallyport, "mcp", "--audit", str(stage.audit), *stage.options, *options]


def play(stage, name, *options):
    """One case of cases.mjs."""
    env = {**stage.env, "MCP_SDK": str(NODE), "MCP_SERVER": json.dumps(argv(stage, *options))}
    run = subprocess.run(["node", str(HERE / "cases.mjs"), name], env=env, cwd=stage.work, capture_output=True, text=True,
                         timeout=200, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, f"{run.stdout[-2000:]}{run.stderr[-6000:]}"


class Raw:
    """A client that does not follow the protocol."""

    def __init__(self, stage, *options):
        self.process = subprocess.Popen(argv(stage, *options), env=stage.env, cwd=stage.work, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=open(stage.top / "agent.err", "ab"))
        stage.made.append(self)
        self.lines, self.news, self.is_over, self.patience = [], threading.Condition(), False, harness.PATIENCE
        threading.Thread(target=self.listen, daemon=True).start()

    def never(self, *_):
        """The functions of a client that harness.play calls."""

    def listen(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(json.loads(line))
                self.news.notify_all()
        with self.news:
            self.is_over = True
            self.news.notify_all()

    def raw(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def next(self, what=lambda message: True):
        """The first message that fits, taken out."""
        with self.news:
            while True:
                for at, message in enumerate(self.lines):
                    assert message["jsonrpc"] == "2.0", message
                    if what(message):
                        return self.lines.pop(at)
                assert not self.is_over, f"it ended; there are {self.lines}"
                assert self.news.wait(self.patience), f"nothing came; there are {self.lines}"

    def reply(self, id):
        return self.next(lambda message: message.get("id") == id and "method" not in message)

    def error(self, code):
        message = self.next()
        assert message["id"] is None and message["error"]["code"] == code, message
        return message["error"]["message"]

    def call(self, id, **arguments):
        self.send(id=id, method="tools/call", params={"name": "run", "arguments": arguments})

    def begin(self, version=NEWEST, **capabilities):
        self.send(id="begin", method="initialize", params={
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "1"}})
        reply = self.reply("begin")["result"]
        self.send(method="notifications/initialized")
        return reply

    def question(self):
        return self.next(lambda message: message.get("method") == "elicitation/create")

    def is_alive(self):
        self.call("alive", command="echo alive")
        return self.reply("alive")["result"]["structuredContent"].get("stdout") == "alive\n"


def with_web(name, *options, requests=None):
    def case(stage):
        server = stage.web("a.test")
        play(stage, name, *options)
        assert requests is None or len(server.requests) == requests, server.requests

    case.__name__ = name
    return case


def plain(name, *options):
    def case(stage):
        play(stage, name, *options)

    case.__name__ = name
    return case


def leaves(stage):
    server = stage.web("a.test")
    play(stage, "leaves")

    def is_gone():
        names = {name for pid, (parent, name, state) in processes().items() if parent == os.getpid() and state not in "ZX"}
        return "sallyport" not in names and not is_running("86432")

    until(is_gone, 120, "all that the client started ended")
    assert not server.requests
    assert not any(record.get("action") == "allow" for record in stage.records() if record.get("host") == "a.test")


def is_running(word):
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word in (entry / "cmdline").read_text().split("\0"):
                return True
        except OSError:
            continue
    return False


def versions(stage):
    for version, told in (("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
                          (NEWEST, NEWEST), ("1999-01-01", NEWEST), (7, NEWEST), (None, NEWEST)):
        client = Raw(stage)
        reply = client.begin(version)
        assert reply["protocolVersion"] == told, (version, reply)
        client.process.stdin.close()
        assert client.process.wait(harness.PATIENCE) == 0


def order(stage):
    client = Raw(stage)
    client.send(id=1, method="ping")
    assert client.reply(1)["result"] == {}
    client.call(2, command="touch made")
    assert client.reply(2)["error"]["code"] == -32002
    client.send(id=3, method="tools/list")
    assert client.reply(3)["error"]["code"] == -32002
    client.begin()
    client.send(id=4, method="initialize", params={"protocolVersion": NEWEST, "capabilities": {"elicitation": {}}})
    assert client.reply(4)["error"]["code"] == -32600
    for at, method in enumerate(("sampling/createMessage", "resources/list", "prompts/list", "tasks/list", "", "logging/setLevel")):
        client.send(id=10 + at, method=method, params={})
        assert client.reply(10 + at)["error"]["code"] == -32601
    client.send(method="notifications/cancelled")
    client.send(method="notifications/cancelled", params={"requestId": "none"})
    client.send(method="notifications/cancelled", params={"requestId": {}})
    client.send(method="notifications/nothing", params=5)
    assert client.is_alive()
    assert not (stage.work / "made").exists()


GARBAGE = [
    (b"nothing", -32700), (b"", -32700), (b"{", -32700), (b'{"a":1,"a":2}', -32700), (b"\xff\xfe", -32700),
    (b'{"jsonrpc":"2.0","method":"ping","id":"\\u0000"}', -32700), (b"[" * 5000, -32700),
    (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":'
                      b'{"command":"touch made"}}}]', -32600),
    (b"7", -32700), (b"null", -32700), (b"{}", -32600), (b'{"id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":2.0,"id":1,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"command":"touch made #'
     + b"x" * (3 << 20) + b'"}}}', -32700),
]


def garbage(stage):
    client = Raw(stage)
    client.begin(elicitation={})
    for line, code in GARBAGE:
        client.raw(line + b"\n")
        message = client.next()
        assert message["id"] is None or b'"id":%d' % message["id"] in line, (line[:80], message)
        assert message["error"]["code"] in (code, -32600), (line[:80], message)
        assert message["error"]["code"] == code or line in (b"7", b"null"), (line[:80], message)
    assert client.is_alive()
    assert not (stage.work / "made").exists()
    client.raw(b"x\n" * 40)
    assert client.process.wait(harness.PATIENCE) == 0
    until(lambda: client.is_over, 120, "its output ended")
    assert len(client.lines) == 33 - len(GARBAGE), (len(client.lines), len(GARBAGE))


def ids(stage):
    """Ids are returned unchanged, and an open id cannot be used again."""
    client = Raw(stage)
    client.begin()
    for id in (0, -5, 2**53, "", "\u00fc", "1", 1):
        client.call(id, command="echo hi")
        assert client.reply(id)["result"]["structuredContent"]["exit_code"] == 0
    client.call(9, command="touch started; sleep 86433")
    until((stage.work / "started").exists, 120, "it started")
    client.call(9, command="touch made")
    assert client.reply(9)["error"]["code"] == -32600
    client.send(method="notifications/cancelled", params={"requestId": "9"})  # another id
    assert client.is_alive() and is_running("86433")
    client.send(method="notifications/cancelled", params={"requestId": 9, "reason": "enough"})
    until(lambda: not is_running("86433"), 120, "it ended")
    assert client.is_alive()
    assert not any(message.get("id") == 9 for message in client.lines), client.lines  # no reply to what was cancelled
    # As early as can be: in the same write.
    client.raw(b'{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"run","arguments":{"command":"sleep 86434"}}}\n'
               b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}\n')
    assert client.is_alive()
    until(lambda: not is_running("86434"), 120, "it ended")
    assert not any(message.get("id") == 10 for message in client.lines), client.lines
    assert not (stage.work / "made").exists()


ANSWERS = [
    {"result": {"action": "accept", "content": {"decision": "approved", "confirmation": "a.test"}}, "error": {"code": 1, "message": "x"}},
    {"result": {"action": "accept"}}, {"result": {"action": "accept", "content": {"decision": ["approved"], "confirmation": "a.test"}}},
    {"result": {"action": "ACCEPT", "content": {"decision": "approved", "confirmation": "a.test"}}},
    {"result": {"action": True, "content": {"decision": "approved", "confirmation": "a.test"}}},
    {"result": {"content": {"decision": "approved", "confirmation": "a.test"}}}, {"result": None}, {"result": "approved"}, {"error": None},
    {"result": {"action": "accept", "content": {"decision": "approved", "confirmation": ["a.test"]}}},
    {"result": {"action": "accept", "content": {"decision": "approved_unconfined", "confirmation": "a.test"}}},
    {"result": {"action": "accept", "content": {"decision": "Approved", "confirmation": "a.test"}}},
]


def bad_answers(stage):
    server = stage.web("a.test")
    client = Raw(stage)
    client.begin(elicitation={})
    for at, answer in enumerate(ANSWERS):
        client.call(at, command=GET)
        question = client.question()
        for id in ("q0", "q99999", 1, None, "c1", question["id"] + " "):  # answers to what nobody asked
            client.send(id=id, result={"action": "accept", "content": {"decision": "approved", "confirmation": "a.test"}})
        client.send(id=question["id"], **answer)
        # The first counts: a second one is late.
        client.send(id=question["id"], result={"action": "accept", "content": {"decision": "approved", "confirmation": "a.test"}})
        assert client.reply(at)["result"]["structuredContent"]["stdout"] == "403", answer
    assert not server.requests
    client.call("good", command=GET)
    client.send(id=client.question()["id"], result={"action": "accept", "content": {"decision": "approved", "confirmation": "a.test"}})
    assert client.reply("good")["result"]["structuredContent"]["stdout"] == "200"
    assert len(server.requests) == 1


def forms_only(stage):
    """A client that can open pages and has no forms cannot be asked."""
    server = stage.web("a.test")
    for elicitation, is_asked in (({"url": {}}, False), ({"form": {}}, True), ({"url": {}, "form": {}}, True), (True, False)):
        client = Raw(stage)
        client.begin(elicitation=elicitation)
        client.call(1, command=GET)
        if is_asked:
            client.send(id=client.question()["id"], result={"action": "decline"})
        assert client.reply(1)["result"]["structuredContent"]["stdout"] == "403"
        assert not any("method" in message for message in client.lines), client.lines
    assert not server.requests


def answered_elsewhere(stage):
    """If there is another approver, a client that cannot be asked does not deny."""
    stage.web("a.test")
    client = Raw(stage, "--prompt-timeout", "60s")
    client.begin()
    client.call(1, command=GET)
    question, = until(stage.questions, 120, "it is asked")
    stage.sally("approve", "allow", question["id"], "--confirm", "a.test", check=True)
    assert client.reply(1)["result"]["structuredContent"]["stdout"] == "200"


def awaits_the_policys_reviewer(stage):
    """Questions wait for a reviewer of destinations, however it is named, and not for one of commands."""
    stage.web("a.test")
    stage.options += ["--policy", str(stage.top / "policy")]
    for kind, is_awaited in (("exec", False), ("network", True)):
        (stage.top / "policy").write_text(f"version 1\nreviewer /bin/cat for {kind}\n")
        client = Raw(stage)
        client.begin()
        client.call(1, command=GET)
        if is_awaited:
            question, = until(stage.questions, 120, "it is asked")
            stage.sally("approve", "allow", question["id"], "--confirm", "a.test", check=True)
        assert client.reply(1)["result"]["structuredContent"]["stdout"] == ("200" if is_awaited else "403"), kind


def how_it_ends(stage):
    """--fail-on-ask: what a client without forms cannot be asked is denied at once, and is in the exit status and the report."""
    stage.policy("command ask cat\n")
    client = Raw(stage, "--fail-on-ask", "--prompt-timeout", "2h", "--report", "json")
    client.begin()
    for id, command in enumerate((GET, "cat /dev/null")):
        client.call(id, command=command)
        client.reply(id)
    client.process.stdin.close()
    assert client.process.wait(harness.PATIENCE) == 78
    report = json.loads((stage.top / "agent.err").read_text().splitlines()[-1])
    assert report["requests"]["unanswered"] == 1 and report["exit_status"] == 78, report
    trip, = report["destinations"]
    assert (trip["host"], trip["unanswered"]) == ("a.test", 1), report


def with_folders(stage, *names):
    for name in names:
        (stage.work.parent / name).mkdir(parents=True)
    return [stage.work.parent / name for name in names]


def listed(client, *roots, **answer):
    """The client is asked for its roots, and lists these paths and objects."""
    request = client.next(lambda message: message.get("method") == "roots/list")
    uris = [{"uri": root.as_uri(), "name": root.name} if isinstance(root, pathlib.Path) else root for root in roots]
    client.send(id=request["id"], **(answer or {"result": {"roots": uris}}))


def changed(client, *roots, **answer):
    client.send(method="notifications/roots/list_changed")
    listed(client, *roots, **answer)


def ran(client, command, **arguments):
    client.call("ran", command=command, **arguments)
    return client.reply("ran")["result"]


def roots_count(stage):
    """The first root is the folder of commands, all are writable, and only these; calls wait for the answer."""
    one, two = with_folders(stage, "one", "a b % \u00fc")
    link = stage.top / "link"
    link.symlink_to(two)
    client = Raw(stage)
    client.begin(roots={"listChanged": True})
    client.call(1, command=f"pwd; touch here '{two}/there'; touch '{stage.work}/no'")
    listed(client, one, link, one)
    result = client.reply(1)["result"]["structuredContent"]
    assert result["stdout"] == f"{one}\n" and "no" in result["stderr"] and result["exit_code"] == 1, result
    assert (one / "here").exists() and (two / "there").exists() and not (stage.work / "no").exists()
    changed(client, link)
    result = ran(client, f"pwd; touch '{one}/no'")["structuredContent"]
    assert result["stdout"] == f"{two}\n" and result["exit_code"] == 1 and not (one / "no").exists(), result
    changed(client)
    assert ran(client, f"pwd; touch '{two}/no'")["structuredContent"]["stdout"] == f"{stage.work}\n"
    assert not (two / "no").exists() and ran(client, "touch mine")["structuredContent"]["exit_code"] == 0
    # It changes while it is asked for: what is listed last counts.
    client.send(method="notifications/roots/list_changed")
    client.send(method="notifications/roots/list_changed")
    client.call(2, command="pwd")
    listed(client, one)
    listed(client, two)
    assert client.reply(2)["result"]["structuredContent"]["stdout"] == f"{two}\n"


def roots_that_do_not_count(stage):
    """Each is left out, with the reason where a model reads it; the others count."""
    good, other = with_folders(stage, "good", "other/.sallyport")
    (other / "policy").write_text("version 1\ndeny http://a.test\n")
    file = stage.top / "file"
    file.write_text("")
    client = Raw(stage)
    client.begin(roots={})
    listed(client)
    for root, why in (
            ({"uri": "http://a.test/x"}, "not a file:// address"), ({"uri": "file://a.test/x"}, "not a file:// address"),
            ({"uri": good.as_uri() + "%00"}, "not a file:// address"), ({"uri": "file:///%0a"}, "not a file:// address"),
            ({"uri": "file:///" + "x" * 5000}, "not a file:// address"), ({"uri": "file:relative"}, "not a file:// address"),
            ({"uri": good.as_uri() + "?x"}, "not a file:// address"), ({"uri": good.as_uri() + "%4"}, "not a file:// address"),
            ({"uri": 7}, "without"), ("x", "without"), (file, "not a folder"), (stage.top / "none", "No such file"),
            ({"uri": "file:///"}, "folder of the system"), ({"uri": "file:///proc/self"}, "folder of the system"),
            (stage.top / "home", "home folder"), (stage.top, "home folder"), (stage.top / "config", "the gate's own files"),
            (stage.top / "state/sallyport", "the gate's own files"), (other.parent, "does not know it")):
        changed(client, root)
        result = ran(client, f"pwd; touch {good}/no")
        assert result["structuredContent"]["stdout"] == f"{stage.work}\n" and result["isError"], (root, result)
        assert why in result["content"][0]["text"], (root, result)
        changed(client, root, good)
        result = ran(client, "pwd")
        assert result["structuredContent"]["stdout"] == f"{good}\n" and why not in result["content"][0]["text"], (root, result)
    folders = with_folders(stage, *(f"n{at}" for at in range(33)))
    changed(client, *folders)
    result = ran(client, f"touch {folders[31]}/yes; touch {folders[32]}/no")
    assert "only the first 32" in result["content"][0]["text"], result
    assert (folders[31] / "yes").exists() and not (folders[32] / "no").exists() and not (good / "no").exists()
    assert "does not know it" in (stage.top / "agent.err").read_text()


def no_roots(stage):
    """A client without roots is not asked, and what is no list changes nothing."""
    one, = with_folders(stage, "one")
    client = Raw(stage)
    client.begin()
    client.send(method="notifications/roots/list_changed")
    assert ran(client, "pwd")["structuredContent"]["stdout"] == f"{stage.work}\n"
    assert not any("method" in message for message in client.lines), client.lines
    client = Raw(stage)
    client.begin(roots={})
    listed(client, one)
    for answer in ({"error": {"code": -32601, "message": "no"}}, {"result": {}}, {"result": {"roots": {"uri": one.as_uri()}}},
                   {"result": None}, {"result": {"roots": None}}, {"result": []}):
        changed(client, **answer)
        assert ran(client, "pwd")["structuredContent"]["stdout"] == f"{one}\n", answer
    for id in ("r1", "r99", 1, "mcp", "hello"):  # answers to what nobody asked
        client.send(id=id, result={"roots": []})
    assert ran(client, "pwd")["structuredContent"]["stdout"] == f"{one}\n"


def roots_and_options(stage):
    """They give no more than the options."""
    one, two = with_folders(stage, "one", "two")
    client = Raw(stage, "--sandbox", "read-only")
    client.begin(roots={})
    listed(client, one, two)
    result = ran(client, f"pwd; touch here {two}/there")["structuredContent"]
    assert result["stdout"] == f"{one}\n" and not list(one.iterdir()) and not list(two.iterdir()), result
    for words, is_good in (([], False), (["--write", str(one)], True), (["--read", str(stage.top / "one")], True)):
        (stage.work / "seen").write_text("seen")
        client = Raw(stage, "--read", "/usr", *words)
        client.begin(roots={})
        listed(client, one)
        result = ran(client, "pwd; touch made; cat /var/none")
        assert (result["structuredContent"]["stdout"] == f"{one}\n") == is_good, (words, result)
        assert ("reading is restricted" in result["content"][0]["text"]) == (not is_good), (words, result)
    secret, = with_folders(stage, "one/secret")
    client = Raw(stage, "--deny-read", str(secret))
    client.begin(roots={})
    listed(client, one)
    assert ran(client, "ls secret; touch secret/x")["isError"] and not list(secret.iterdir())


def settled_elsewhere(stage):
    """The client's question is cancelled when another approver answers it."""
    server = stage.web("a.test")
    client = Raw(stage)
    client.begin(elicitation={})
    client.call(1, command=GET)
    asked = client.question()
    question, = until(stage.questions, 120, "it is asked")
    stage.sally("approve", "deny", question["id"], check=True)
    taken = client.next(lambda message: message.get("method") == "notifications/cancelled")
    assert taken["params"]["requestId"] == asked["id"], taken
    assert client.reply(1)["result"]["structuredContent"]["stdout"] == "403"
    client.send(id=asked["id"], result={"action": "accept", "content": {"decision": "always", "confirmation": "a.test"}})
    assert client.is_alive()
    assert not server.requests


def many(stage):
    """More calls than are served at once: each is answered, and nothing is lost."""
    client = Raw(stage)
    client.patience = 300  # 256 commands are started before the first reply
    client.begin()
    for id in range(300):
        client.call(id, command="read x < /dev/null; sleep 5" if id < 256 else "echo more")
    replies = [client.reply(id)["result"]["structuredContent"] for id in range(299, 255, -1)]
    assert all(reply["status"] == "refused" and "too many" in reply["message"] for reply in replies), replies
    for id in range(256):
        client.send(method="notifications/cancelled", params={"requestId": id})
    until(lambda: not client.process.poll() and client.is_alive(), 240, "it serves again")


def told_to_end(stage):
    """Every waiting request gets a reply, also when the server ends by itself."""
    client = Raw(stage)
    client.begin()
    client.call(1, command="touch started; sleep 86435")
    until((stage.work / "started").exists, 120, "it started")
    client.process.send_signal(signal.SIGTERM)
    result = client.reply(1)["result"]
    assert result["isError"], result
    client.process.wait(harness.PATIENCE)
    until(lambda: not is_running("86435"), 120, "it ended")


def options(stage):
    for words, status, said in (
            (["--approval", "sometimes"], 2, "--approval"), (["--approval", "granular:all"], 2, "--approval"),
            (["--sandbox", "none"], 2, "--sandbox"), (["--sandbox", "split"], 2, "--sandbox"),
            (["--sandbox", "danger-full-access"], 2, "--allow-unconfined"), (["--socket", "x"], 2, "no such option"),
            (["--", "true"], 2, "unexpected argument: true"), (["--policy", "/nowhere"], 3, "/nowhere")):
        run = stage.sally("mcp", *words)
        assert run.returncode == status and said in run.stderr and not run.stdout, (words, run)
    for words in (["--approval", "granular:network,rules"], ["--approval", "reject:network"], ["--sandbox", "read-only"],
                  ["--sandbox", "danger-full-access", "--allow-unconfined"]):
        client = Raw(stage, *words)
        client.begin()
        client.call(1, command="echo x > made; echo done")
        result = client.reply(1)["result"]["structuredContent"]
        assert "read-only" in words or result["stdout"] == "done\n", (words, result)
        assert (stage.work / "made").exists() == ("read-only" not in words), (words, result)
        (stage.work / "made").unlink(missing_ok=True)
    help = stage.sally("mcp", "--help", check=True)
    assert help.stdout.startswith("usage: sallyport mcp") and "mcpServers" in help.stdout


CASES = [
    plain("lists"), plain("results"), plain("outputs"), plain("wrong"), with_web("asked"), with_web("session", requests=3),
    with_web("denied", requests=0), plain("untrusted", "--approval", "untrusted"), with_web("permissions"),
    plain("escalated", "--allow-unconfined"), with_web("nobody", requests=0),
    plain("nobody_untrusted", "--approval", "untrusted"), with_web("cancelled", requests=0), with_web("at_once"), with_web("progress"), plain("background"), leaves,
    versions, order, garbage, ids, bad_answers, forms_only, answered_elsewhere, awaits_the_policys_reviewer, how_it_ends, plain("roots"), roots_count,
    roots_that_do_not_count, no_roots, roots_and_options, settled_elsewhere, many, told_to_end, options,
]

# Those that are about lines, and not about how the program begins and ends.
LINES = {"lists", "results", "outputs", "wrong", "asked", "session", "denied", "untrusted", "permissions", "escalated", "cancelled",
         "at_once", "progress", "background", "order", "ids", "garbage", "bad_answers", "forms_only", "settled_elsewhere", "roots", "roots_count", "no_roots", "every_line"}


def every_line(stage):
    """After the other cases: every message and member of the schemas was used."""
    said = {name for name in harness.SEEN if name.startswith("submission-")}
    assert said == {"submission-approve", "submission-cancel", "submission-configure_session", "submission-exec",
                    "submission-initialize", "submission-override_turn_context", "submission-poll"}, said
    assert {"result-exec", "result-approve", "event-approval_request", "event-task_started"} <= harness.SEEN


if __name__ == "__main__":
    if FRONT:
        CASES = [case for case in [*CASES, every_line] if case.__name__ in LINES]
    if IN_NAMESPACE not in os.environ:
        from_npm.install(HERE, sys.argv[2])
    harness.enter_namespace()
    sys.exit(harness.play(CASES, sys.argv[1], sys.argv[5 if FRONT else 3:]))
