#!/usr/bin/env python3
"""`sallyport acp`: the reference library of the protocol plays cases.mjs, as the editor and as the agent, and an agent and an editor that
do not follow the protocol are played by hand (puppet.py).
usage: acp.py SALLYPORT FOLDER [CASE...]; the library is installed below FOLDER, once, from the package registry."""
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
from world import IN_NAMESPACE, processes, until  # noqa: E402

NODE = pathlib.Path(sys.argv[2]).resolve() / "node"
URL = "http://a.test/"


def argv(stage, agent, *options):
    return [stage.sallyport, "acp", "--audit", str(stage.audit), *stage.options, *options, "--", *agent]


def play(stage, name, *options):
    """Starts one case of cases.mjs."""
    server = argv(stage, ["node", str(HERE / "agent.mjs")], "--env", "ACP_SDK", *options)
    env = {**stage.env, "ACP_SDK": str(NODE), "ACP_SERVER": json.dumps(server)}
    return subprocess.Popen(["node", str(HERE / "cases.mjs"), name], env=env, cwd=stage.work, stdin=subprocess.DEVNULL,
                            stdout=open(stage.top / "agent.err", "ab"), stderr=open(stage.top / "agent.err", "ab"))


def passes(case):
    assert case.wait(400) == 0, "the case failed; see above"


class Editor:
    """One that does not follow the protocol, or whose agent does not."""

    def __init__(self, stage, *options, agent=("/usr/bin/python3", str(HERE / "puppet.py"))):
        self.process = subprocess.Popen(argv(stage, agent, *options), env=stage.env, cwd=stage.work, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=open(stage.top / "agent.err", "ab"))
        self.stage = stage
        stage.made.append(self)
        self.lines, self.news, self.is_over = [], threading.Condition(), False
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
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    def do(self, **what):
        self.send(method="do", params=what)

    def says(self, **message):
        """The agent sends this message."""
        self.do(say=[json.dumps({"jsonrpc": "2.0"} | message)])

    def next(self, what=lambda message: True):
        """The first message for the editor that fits, taken out."""
        with self.news:
            while True:
                for at, message in enumerate(self.lines):
                    if what(message):
                        return self.lines.pop(at)
                assert not self.is_over, f"it ended; there are {self.lines}"
                assert self.news.wait(harness.PATIENCE), f"nothing came; there are {self.lines}"

    def question(self):
        return self.next(lambda message: message.get("method") == "session/request_permission")

    def heard(self):
        """What the agent was sent."""
        path = self.stage.work / "heard"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def hears(self, what, words="the agent hears it"):
        return until(lambda: next((message for message in self.heard() if what(message)), None), harness.PATIENCE, words)

    def hears_refusal(self, id, code):
        message = self.hears(lambda message: message.get("id") == id and "method" not in message)
        assert message.get("error", {}).get("code") == code, message
        return message["error"]["message"]

    def in_session(self, name="s1"):
        self.send(id="prompt", method="session/prompt", params={"sessionId": name, "prompt": []})

    def in_order(self):
        """What the agent sent before has arrived, or never will."""
        self.says(method="session/update", params={"mark": 1})
        seen = []
        while True:
            message = self.next()
            if message.get("params") == {"mark": 1}:
                return seen
            seen.append(message)

    def said(self):
        return (self.stage.top / "agent.err").read_text(errors="replace")

    def ends(self, status):
        assert self.process.wait(harness.PATIENCE) == status, self.process.returncode


def plain(name):
    def case(stage):
        passes(play(stage, name))

    case.__name__ = name
    return case


def with_web(name, requests):
    def case(stage):
        server = stage.web("a.test")
        passes(play(stage, name))
        assert len(server.requests) == requests, server.requests

    case.__name__ = name
    return case


def records(stage):
    return [json.loads(line) for line in stage.audit.read_text().splitlines()]


def answered_elsewhere(stage, name, count):
    """Another approver answers what the editor does not."""
    server = stage.web("a.test")
    case = play(stage, name)
    known = set()
    for _ in range(count):
        question = until(lambda: next((one for one in stage.questions() if one["id"] not in known), None), harness.PATIENCE, "it is asked")
        known.add(question["id"])
        stage.sally("approve", "deny", question["id"], check=True)
    passes(case)
    assert not server.requests


def elsewhere(stage):
    answered_elsewhere(stage, "elsewhere", 7)


def late(stage):
    answered_elsewhere(stage, "late", 1)


def careful(stage):
    """A bare address: the editor offers no allow, and its answer that it did not offer is none."""
    server = stage.web("a.test")
    stage.env["ACP_ADDRESS"] = server.address
    case = play(stage, "careful")
    question, = until(stage.questions, harness.PATIENCE, "it is asked")
    stage.sally("approve", "deny", question["id"], check=True)
    passes(case)
    assert not server.requests


def recorded(stage):
    """An answer of the editor is recorded with its source."""
    stage.web("a.test")
    editor = Editor(stage)
    editor.in_session()
    editor.do(get=URL)
    editor.send(id=editor.question()["id"], result={"outcome": {"outcome": "selected", "optionId": "approved"}})
    editor.hears(lambda message: message.get("got") == "200")
    editor.process.stdin.close()
    editor.ends(0)
    text = stage.audit.read_text()
    assert "the agent's client" in text and "puppet.py" in text, text


def before_a_session(stage):
    """A question that is asked before there is a session is shown in the first one."""
    stage.web("a.test")
    editor = Editor(stage)
    editor.do(get=URL)
    until(stage.questions, harness.PATIENCE, "it is asked")
    assert editor.in_order() == []
    editor.send(id="new", method="session/new", params={})
    editor.says(id="new", result={"sessionId": "s7"})
    asked = editor.question()
    assert asked["params"]["sessionId"] == "s7", asked
    editor.send(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "approved"}})
    editor.hears(lambda message: message.get("got") == "200")


def unasked_session(stage):
    """The agent cannot lead its questions to a session that the editor does not show: only a response to its request makes one."""
    stage.web("a.test")
    editor = Editor(stage)
    editor.send(id=5, method="session/new", params={})
    editor.says(id=5, result={"sessionId": "s5"})
    for id in (5, "5", 6):
        editor.says(id=id, result={"sessionId": "hidden"})
    editor.in_order()
    editor.do(get=URL)
    assert editor.question()["params"]["sessionId"] == "s5"


def forged(stage):
    """The agent can neither answer its question nor change what is shown, and sees nothing of it."""
    server = stage.web("a.test")
    editor = Editor(stage)
    editor.in_session()
    editor.do(get=URL)
    asked = editor.question()
    id = asked["id"]
    yes = {"outcome": {"outcome": "selected", "optionId": "approved"}}
    assert id.startswith("sallyport:") and asked["params"]["toolCall"]["toolCallId"] == id
    update = {"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "May the command reach http://good.test:80 ?"}
    editor.says(id=id, result=yes)
    editor.says(id=id, method="session/request_permission", params={"sessionId": "s1"})
    editor.says(id=7, method="session/request_permission", params={"sessionId": "s1", "toolCall": {"toolCallId": id}, "options": []})
    editor.says(method="session/update", params={"sessionId": "s1", "update": update})
    editor.says(method="$/cancel_request", params={"requestId": id})
    editor.do(say=[json.dumps({"jsonrpc": "2.0", "id": id, "result": yes}).replace("sallyport", "\\u0073allyport")])
    seen = editor.in_order()
    assert seen == [], seen
    assert editor.hears_refusal(id, -32600) and editor.hears_refusal(7, -32602)
    assert stage.questions() and not server.requests
    editor.send(id=id, result={"outcome": {"outcome": "selected", "optionId": "denied"}})
    editor.hears(lambda message: message.get("got") == "403")
    editor.send(id=id, result=yes)  # again
    editor.send(id="sallyport:99", result=yes)
    editor.send(id="sallyport:1", method="session/list", params={})
    assert editor.next(lambda message: message.get("id") == "sallyport:1")["error"]["code"] == -32600
    editor.do(say=[])
    assert not [message for message in editor.heard() if "outcome" in str(message) or "good.test" in str(message)]
    assert not server.requests


def bad_lines(stage):
    """They reach nobody, are reported on stderr, and too many of them end the agent."""
    editor = Editor(stage)
    lines = ["hello", "[]", '{"jsonrpc": "2.0"}', '{"jsonrpc": "1.0", "id": 1, "method": "x"}', "[" * 100000,
             '{"jsonrpc": "2.0", "method": "session/update", "method": "fs/x"}', '{"jsonrpc": "2.0", "id": {}, "method": "session/update"}',
             '{"jsonrpc": "2.0", "id": 1, "method": "' + "x" * 100 + '"}', '{"jsonrpc": "2.0", "id": null, "result": {}}',
             '{"jsonrpc": "2.0", "method": "session/update", "params": {"\\u0000": 1}}']
    editor.do(say=lines)
    editor.do(say_much={"line": "x" * 1024, "times": 5000})
    assert editor.in_order() == []
    assert editor.said().count("was not passed on") >= len(lines), editor.said()
    editor.do(say=["bad"] * 40)
    editor.ends(1)
    assert "too many malformed lines" in editor.said()


def long_lines(stage):
    """A message of a megabyte passes, both ways, and the agent may write more than a gate keeps."""
    editor = Editor(stage)
    for _ in range(3):
        editor.says(method="session/update", params={"text": "x" * (1 << 20)})
        assert len(editor.next()["params"]["text"]) == 1 << 20
    for at in range(15000):
        editor.do(say=[json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"at": at}})])
        if at % 500 == 499:
            for _ in range(500):
                last = editor.next()
    assert last["params"]["at"] == 14999
    editor.do(shout="one line of stderr\n")
    until(lambda: "one line of stderr\n" in editor.said(), harness.PATIENCE, "it is passed on")


def methods(stage):
    """Only what is known reaches the editor, and without extensions."""
    editor = Editor(stage)
    for id, (method, params) in enumerate((
            ("fs/read_text_file", {"path": "/etc/passwd"}), ("fs/write_text_file", {}), ("fs/other", {}), ("_extension", {}),
            ("session/prompt", {}), ("session/update", {}), ("terminal/other", {"terminalId": "t1"}), ("terminal/create", {}),
            ("terminal/create", {"command": 1}), ("terminal/create", {"command": "x", "args": [1]}),
            ("terminal/create", {"command": "x", "env": [{"name": 1}]}), ("terminal/create", {"command": "x", "outputByteLimit": -1}),
            ("terminal/output", {"terminalId": "t9"}), ("terminal/kill", {}),
            ("elicitation/create", {"mode": "url", "url": "http://a.test/"}), ("elicitation/create", {})), 1):
        editor.says(id=id, method=method, params=params)
        editor.hears_refusal(id, -32602 if method.startswith(("terminal", "elicitation")) else -32601)
    for method in ("_extension", "session/request_permission", "session/other", "fs/write_text_file", "terminal/create"):
        editor.says(method=method, params={})
    assert editor.in_order() == []
    editor.says(id=50, method="elicitation/create", params={"mode": "form", "_meta": {"a": 1}, "message": "?"})
    assert editor.next() == {"jsonrpc": "2.0", "id": 50, "method": "elicitation/create", "params": {"mode": "form", "message": "?"}}
    editor.send(id=50, result={"action": "decline"})
    editor.hears(lambda message: message == {"jsonrpc": "2.0", "id": 50, "result": {"action": "decline"}})
    # The editor's own extensions reach the agent.
    editor.send(id="x", method="_x/y", params={"z": [1.5, None, "\u00fc"]})
    editor.hears(lambda message: message.get("method") == "_x/y" and message["params"] == {"z": [1.5, None, "\u00fc"]})


def other_case(stage):
    """An editor may compare names of members without case: none that it would act on passes in another case."""
    editor = Editor(stage)
    update = {"jsonrpc": "2.0", "method": "session/update", "params": {"a": 1}}
    for name in ("Method", "METHOD", "Id", "Params", "Result", "other"):
        editor.do(say=[json.dumps(update | {name: "fs/write_text_file"})])
        assert editor.next() == update
    editor.says(id=3, method="elicitation/create", params={"mode": "form", "message": "?"}, Method="terminal/create")
    assert editor.next() == {"jsonrpc": "2.0", "id": 3, "method": "elicitation/create", "params": {"mode": "form", "message": "?"}}
    editor.says(id=4, result={"a": 2}, Method="fs/write_text_file")
    assert editor.next() == {"jsonrpc": "2.0", "id": 4, "result": {"a": 2}}
    for id, more in enumerate(({"Mode": "url"}, {"url": "http://a.test/"}, {"URL": "http://a.test/"}), 10):
        editor.says(id=id, method="elicitation/create", params={"mode": "form", **more})
        editor.hears_refusal(id, -32602)
    for id, params in enumerate(({"ToolCallID": "sallyport:1"}, {"reque\u017ftId": "sallyport:1"}, {"a": [{"TOOLCALLID": "sallyport:1"}]}), 20):
        editor.says(id=id, method="session/request_permission", params=params)
        editor.hears_refusal(id, -32602)
    methods = [{"id": "a"}, {"id": "b", "type": "agent"}, {"id": "c", "Type": "terminal"}, {"id": "d", "type": "agent", "TYPE": "terminal"}]
    for name in ("AuthMethods", "authMethod\u017f"):
        editor.says(id=5, result={name: methods, "_Meta": {"x": 1}, "k": {"_META": 1}})
        assert editor.next() == {"jsonrpc": "2.0", "id": 5, "result": {name: methods[:2], "k": {}}}


def shown_often(stage):
    """However often a message names a terminal, and however long that is, it grows by one view of it."""
    editor = Editor(stage)
    editor.says(id=1, method="terminal/create", params={"command": f"# {'x' * 100000}\nyes | head -c 5000; read x < go"})
    os.mkfifo(stage.work / "go")
    name = editor.hears(lambda message: message.get("id") == 1)["result"]["terminalId"]

    def is_full():
        is_full.tries += 1
        editor.says(id=f"look {is_full.tries}", method="terminal/output", params={"terminalId": name})
        return len(editor.hears(lambda message: message.get("id") == f"look {is_full.tries}")["result"]["output"]) == 5000

    is_full.tries = 0
    until(is_full, harness.PATIENCE, "it has written")
    item = {"type": "terminal", "terminalId": name}

    def shown(call, count, **more):
        update = {"sessionUpdate": "tool_call", "toolCallId": call, "content": [item] * count, **more}
        editor.says(method="session/update", params={"sessionId": "s1", "update": update})
        return editor.next()["params"]["update"]["content"]

    first, *others = shown("c2", 100)
    assert 4096 < len(json.dumps(first)) < 20000 and len(others) == 99
    assert all(other["content"]["text"] == "```\n(the terminal is shown above)\n```" for other in others)
    assert shown("c2", 1, title="x" * 100000)[0] == first
    assert shown("c1", 1)[0] == first
    (stage.work / "go").write_text("\n")  # only a short update is sent again
    assert editor.next()["params"]["update"]["toolCallId"] == "c1"


def is_running(word):
    return any(word in pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
               for pid, (_, _, state) in processes().items() if state not in "ZX" and pathlib.Path(f"/proc/{pid}/cmdline").exists())


def editor_leaves(stage):
    """The agent's input ends; one that stays is ended, with its terminals, and nothing is left."""
    editor = Editor(stage, agent=("sh", "-c", "trap '' TERM; cat > heard; while :; do sleep 86436; done"))
    editor.send(id=1, method="x", params={})
    until(lambda: editor.heard(), harness.PATIENCE, "the agent runs")
    editor.process.stdin.close()
    editor.ends(0)
    until(lambda: not is_running("86436"), harness.PATIENCE, "it ended")
    (stage.work / "heard").unlink()
    editor = Editor(stage)
    editor.says(id=1, method="terminal/create", params={"command": "sleep 86437; :"})
    editor.hears(lambda message: message.get("id") == 1 and message["result"]["terminalId"])
    editor.process.stdin.close()
    editor.ends(0)
    assert editor.heard()[-1] == {"end": True}
    until(lambda: not is_running("86437"), harness.PATIENCE, "it ended")


def last_words(stage):
    """What the agent says last arrives."""
    editor = Editor(stage)
    editor.do(say=[json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"x": "y" * 1000}})] * 500, exit=3)
    for _ in range(500):
        editor.next()
    editor.ends(3)


def editor_is_deaf(stage):
    """An editor that has closed what it reads from has gone."""
    command = argv(stage, ["/usr/bin/python3", str(HERE / "puppet.py")])
    process = subprocess.Popen(command, env=stage.env, cwd=stage.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=open(stage.top / "agent.err", "ab"))
    process.stdout.close()
    said = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {}})
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "do", "params": {"say": [said]}}).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(harness.PATIENCE) == 0
    process.stdin.close()


def agent_is_silent(stage):
    """It closes its stdout, and the session goes on until the editor ends it."""
    editor = Editor(stage)
    editor.do(close=True)
    editor.send(id=1, method="session/list", params={})
    editor.hears(lambda message: message.get("method") == "session/list")
    editor.process.stdin.close()
    editor.ends(0)


def agent_ends(stage):
    for what, status in (({"exit": 0}, 0), ({"exit": 42}, 42)):
        editor = Editor(stage)
        editor.do(**what)
        editor.ends(status)
    editor = Editor(stage, agent=("sh", "-c", "kill -9 $$"))
    editor.ends(137)
    editor = Editor(stage, agent=("/nowhere/agent",))
    editor.ends(127)
    assert "/nowhere/agent was not found" in editor.said()
    stage.policy("command deny touch\n")
    editor = Editor(stage, agent=("touch", "made"))
    editor.ends(126)
    assert not (stage.work / "made").exists() and "the agent" in editor.said()


def told_to_end(stage):
    editor = Editor(stage)
    editor.send(id=1, method="x", params={})
    editor.hears(lambda message: message.get("method") == "x")
    editor.process.send_signal(signal.SIGTERM)
    editor.process.wait(harness.PATIENCE)
    until(lambda: not is_running(str(HERE / "puppet.py")), harness.PATIENCE, "it ended")


def nobody_answers(stage):
    """The time of a question is over: it is denied, its tool call ends, and the exit status says so."""
    server = stage.web("a.test")
    editor = Editor(stage, "--prompt-timeout", "2s", "--fail-on-ask", "--report", "json")
    editor.in_session()
    editor.do(get=URL)
    asked = editor.question()
    cancelled = editor.next(lambda message: message.get("method") == "$/cancel_request")
    assert cancelled["params"] == {"requestId": asked["id"]}
    assert editor.next()["params"]["update"]["toolCallId"] == asked["id"]
    editor.hears(lambda message: message.get("got") == "403")
    editor.process.stdin.close()
    editor.ends(78)
    assert not server.requests and "http://a.test:80 was denied" in editor.said()


def commands_are_asked(stage):
    """Where a person is asked about commands, those of terminals are asked about in the editor, and the agent by the policy."""
    stage.policy("command allow /usr/bin/python3\n")
    editor = Editor(stage, "--approval", "untrusted")
    editor.in_session()
    for id, option, made in ((1, "denied", False), (2, "approved", True)):
        editor.says(id=id, method="terminal/create", params={"command": "touch", "args": [f"made `{id}`"]})
        asked = editor.question()
        tool, options = asked["params"]["toolCall"], [one["optionId"] for one in asked["params"]["options"]]
        assert tool["kind"] == "execute" and tool["title"] == "Run this in its sandbox?", tool
        assert f"touch 'made `{id}`'" in tool["content"][0]["content"]["text"], tool
        assert options == ["approved", "approved_for_session", "always", "denied"], options
        editor.send(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": option}})
        if made:
            name = editor.hears(lambda message: message.get("id") == id)["result"]["terminalId"]
            editor.says(id=9, method="terminal/wait_for_exit", params={"terminalId": name})
            editor.hears(lambda message: message.get("id") == 9 and message["result"] == {"exitCode": 0, "signal": None})
        else:
            assert "not run" in editor.hears_refusal(id, -32000)
        assert (stage.work / f"made `{id}`").exists() == made
    editor.process.stdin.close()
    editor.ends(0)


def variables_are_shown(stage):
    """What the agent sets for one command is shown with it: a harmless command with LD_PRELOAD is not harmless."""
    stage.policy("command allow /usr/bin/python3\n")
    editor = Editor(stage, "--approval", "untrusted")
    editor.in_session()
    editor.says(id=1, method="terminal/create", params={"command": "true", "args": ["x"], "env": [{"name": "LD_PRELOAD", "value": "./a\nb.so"}]})
    asked = editor.question()
    lines = asked["params"]["toolCall"]["content"][0]["content"]["text"].splitlines()
    assert "variable: LD_PRELOAD=./a\\x0ab.so" in lines, lines
    editor.send(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "denied"}})
    editor.hears_refusal(1, -32000)


def nothing_is_asked(stage):
    server = stage.web("a.test")
    editor = Editor(stage, "--approval", "never")
    editor.in_session()
    editor.do(get=URL)
    editor.hears(lambda message: message.get("got") == "403")
    assert editor.in_order() == [] and not server.requests


def many_terminals(stage):
    """There is an end to them, and a place is free again when one is released."""
    editor = Editor(stage)
    for id in range(64):
        editor.says(id=id, method="terminal/create", params={"command": "read x < /dev/null; sleep 86438"})
    names = [editor.hears(lambda message: message.get("id") == id)["result"]["terminalId"] for id in range(64)]
    assert len(set(names)) == 64
    editor.says(id="more", method="terminal/create", params={"command": "true"})
    assert "too many" in editor.hears_refusal("more", -32000)
    for id, name in enumerate(names):
        editor.says(id=f"wait {id}", method="terminal/wait_for_exit", params={"terminalId": name})
        editor.says(id=f"free {id}", method="terminal/release", params={"terminalId": name})
        assert "released" in editor.hears_refusal(f"wait {id}", -32000)
    until(lambda: not is_running("86438"), harness.PATIENCE, "they ended")

    def has_room():
        has_room.tries += 1
        editor.says(id=f"try {has_room.tries}", method="terminal/create", params={"command": "true"})
        return "result" in editor.hears(lambda message: message.get("id") == f"try {has_room.tries}")

    has_room.tries = 0
    until(has_room, harness.PATIENCE, "there is room again")


def profile(stage):
    """The agent has the folders of its profile."""
    editor = Editor(stage, "--profile", "claude", agent=("sh", "-c", "echo x > ~/.claude/state || exit 4"))
    editor.ends(0)
    assert (stage.top / "home/.claude/state").exists()


def options(stage):
    for words, status, said in (
            ([], 2, "COMMAND is missing"), (["--approval", "sometimes", "--", "true"], 2, "--approval"),
            (["--sandbox", "danger-full-access", "--", "true"], 2, "--allow-unconfined"),
            (["--socket", "x", "--", "true"], 2, "no such option"), (["--profile", "none", "--", "true"], 2, "none"),
            (["--policy", "/nowhere", "--", "true"], 3, "/nowhere")):
        run = stage.sally("acp", *words)
        assert run.returncode == status and said in run.stderr and not run.stdout, (words, run)
    editor = Editor(stage, "--sandbox", "read-only", agent=("sh", "-c", "echo x > made || exit 4"))
    editor.ends(4)
    editor = Editor(stage, "--env", "GREETING=hello", agent=("sh", "-c", 'test "$GREETING" = hello && echo x > made'))
    editor.ends(0)
    assert (stage.work / "made").exists()


CASES = [
    plain("capabilities"), with_web("allowed", 2), with_web("session", 3), with_web("denied", 0), elsewhere, late, careful,
    plain("terminals"), plain("files"), plain("permission"), plain("ends"), recorded, before_a_session, unasked_session, forged, bad_lines, long_lines,
    methods, other_case, shown_often, editor_leaves, last_words, editor_is_deaf, agent_is_silent, agent_ends, told_to_end, nobody_answers, commands_are_asked, variables_are_shown, nothing_is_asked,
    many_terminals, profile, options,
]

if __name__ == "__main__":
    if IN_NAMESPACE not in os.environ:
        from_npm.install(HERE, sys.argv[2])
    harness.enter_namespace()
    sys.exit(harness.play(CASES, sys.argv[1], sys.argv[3:]))
