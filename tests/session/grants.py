#!/usr/bin/env python3
"""Sessions that begin with the answers of another, and approvers that choose one of several.

usage: grants.py SALLYPORT copies|agents|broken|named"""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import session as sessions  # noqa: E402
from session import QUICK, Destination, reap, until  # noqa: E402


def ask(world, name, destination, *options):
    """The exit status of one request that is answered with `approve`."""
    out = f"{name}{world.gates}"
    return world.join(name, f"curl -sS -m 25 http://{destination.address}/ -o {out}.out; echo $? > {out}", *options), out


def answer(world, name, destination, *words):
    """Asks about it in session @name, and gives that answer."""
    run, _ = ask(world, name, destination)
    asked = world.question()
    world.sally("approve", words[0], *words[1:], *(["--confirm", asked["typed"]] if words[0] == "allow" else []), asked["id"],
                check=True)
    assert run.wait(QUICK) == 0, run.text("err")


def grants(world, name):
    return json.loads(world.sally("approve", "--session", name, "grants", "--json", check=True).stdout)


def is_let_out(world, name, destination):
    """A request without a question: there is no approver, so a question would be denied."""
    before = destination.came
    run, _ = ask(world, name, destination)
    assert run.wait(QUICK) == 0, run.text("err")
    return destination.came > before


def patient(world, name, *options):
    world.start(name, "--prompt-timeout", "60s", *options)


def copies(world):
    """Answers of one session hold in the other, count there separately, and stay when the first session ends."""
    wide, once, exec_, denied, spent = (Destination(world.new_address()) for _ in range(5))
    patient(world, "work")
    answer(world, "work", world.destination, "allow", "--scope", "session")
    answer(world, "work", wide, "allow", "--scope", "session", "--connections", "2", "--for", "1h")
    answer(world, "work", once, "allow")
    answer(world, "work", exec_, "allow", "--scope", "exec")
    answer(world, "work", denied, "deny", "--scope", "session", "--words", "not that one")
    answer(world, "work", spent, "allow", "--scope", "session", "--connections", "1")
    shown = world.session("start", "--audit", str(world.audit), "--grants-of", "work", "sub")
    assert shown.stdout == "sub\n" and "answers copied: 3;" in shown.stderr and "1 used up" in shown.stderr, shown
    assert world.state("sub")["grants_of"] == "work" and world.state("work")["grants_of"] == ""
    assert "with the answers of work" in world.session("list").stdout
    copied = {grant["text"].split(" ")[0]: grant for grant in grants(world, "sub")}
    assert len(copied) == 3 and {grant["from"] for grant in copied.values()} == {"work"}, copied
    limited = copied[f"http://{wide.address}:80"]
    assert limited["text"].endswith(" for 1h connections 1"), limited
    [there] = [grant for grant in grants(world, "work") if wide.address in grant["text"]]
    assert (limited["since"], limited["until"]) == (there["since"], there["until"]), "its time began anew"
    assert "copied from work" in world.sally("approve", "grants", "--session", "sub").stdout
    records = [record for record in world.events("granted") if record["session"] == "sub"]
    assert len(records) == 3 and {(record["from"], record["from_run"]) for record in records} == \
        {("work", world.state("work")["run"])}, records
    assert {record["action"] for record in records} == {"allow", "deny"}
    assert is_let_out(world, "sub", world.destination)
    assert is_let_out(world, "sub", wide) and not is_let_out(world, "sub", wide), "a budget is what was left of it"
    assert not is_let_out(world, "sub", denied)
    assert world.events("decision")[-1]["because"] == "not that one", world.events("decision")[-1]
    for other in (once, exec_, spent):
        assert not is_let_out(world, "sub", other), "it was not for a session"
    [grant] = [grant for grant in grants(world, "work") if world.destination.address in grant["text"]]
    world.sally("approve", "revoke", grant["id"], check=True)  # does not reach the copy
    assert is_let_out(world, "sub", world.destination)
    world.session("end", "work")  # nor does its end
    assert is_let_out(world, "sub", world.destination)
    undone = world.sally("approve", "undo", "--session", "sub")
    assert undone.returncode == 1, "a copy is nobody's last answer"
    run = subprocess.run([world.sallyport, "run", "--grants-of", "sub", "--audit", str(world.audit), "--", "curl", "-sS", "-m",
                          "25", f"http://{world.destination.address}/"], env=world.env, cwd=world.work, capture_output=True,
                         text=True, timeout=QUICK, stdin=subprocess.DEVNULL)
    assert run.returncode == 0 and "let out" in run.stdout, run
    of_run = world.join("sub", "while [ ! -e go ]; do sleep 0.05; done")  # by the id of its run as well
    world.session("start", "--audit", str(world.audit), "--grants-of", world.state("sub")["run"], "third")
    assert len(grants(world, "third")) == 2, "with the budget that is spent by now"
    (world.work / "go").touch()
    assert of_run.wait(QUICK) == 0
    world.session("end", "sub")
    world.session("end", "third")
    world.start("sub")
    assert not grants(world, "sub") and not is_let_out(world, "sub", world.destination), "its copies outlived it"
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0


class Agent:
    """A client of `sallyport agent`."""

    def __init__(self, world, *options):
        self.process = subprocess.Popen([world.sallyport, "agent", "--audit", str(world.audit), *options], env=world.env,
                                        cwd=world.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ask("initialize", protocol_version=2)

    def ask(self, method, **params):
        """Sends one request; the result in its reply."""
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            message = json.loads(line)
            assert "error" not in message and message.get("method") != "approval_request", message
            if message.get("id") == method:
                return message["result"]
        raise AssertionError(f"the agent has not replied to {method}")

    def end(self):
        self.process.communicate(timeout=QUICK)
        assert self.process.returncode == 0


def agents(world):
    """A sub-agent in a separate process has the answers of the gate that it came from."""
    patient(world, "work")
    answer(world, "work", world.destination, "allow", "--scope", "session")
    script = f"curl -sS -m 25 http://{world.destination.address}/"
    parent = Agent(world, "--grants-of", "work")
    run = parent.ask("configure_session", approval="on-request")["run"]
    done = parent.ask("exec", script=script)
    assert done["exit_code"] == 0 and world.destination.came == 2, done
    child = Agent(world, "--grants-of", run)
    own = child.ask("configure_session", approval="never")["run"]
    done = child.ask("exec", script=script)
    assert done["exit_code"] == 0 and world.destination.came == 3, done
    assert {record["run"]: (record["from"], record["from_run"]) for record in world.events("granted")} == \
        {run: ("work", world.state("work")["run"]), own: (run, run)}
    child.end()
    parent.end()
    world.session("end", "work")


class Broken:
    """Listens as a gate of run "dead00" would, and answers as the test says."""

    def __init__(self, world, replies):
        self.path, self.replies = world.dir / "dead00.sock", replies
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(self.path))
        self.listener.listen(4)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        peer, _ = self.listener.accept()
        peer.sendall(b'{"sallyport":1,"run":"dead00","session":"x"}\n')
        for reply in self.replies:
            if not peer.recv(4096):
                break
            peer.sendall(reply)
        peer.close()

    def close(self):
        self.listener.close()
        self.path.unlink()


GOOD = {"id": 1, "action": "allow", "scope": "session", "protocol": "http", "host": "a.test", "port": 80, "domain": False,
        "all_ports": False, "program": "", "file": "", "session": 0, "for": 0, "upload": 0, "download": 0, "connections": 0, "spent": False, "by": "x",
        "words": "", "since": 1000, "from": ""}


def reply(number, grants, more=0):
    return json.dumps({"id": number, "ok": True, "grants": grants, "more": more}).encode() + b"\n"


def broken(world):
    """Without a gate there, or with one that sends wrong replies, nothing is started."""
    tried = world.session("start", "--grants-of", "nobody", "sub", status=125)
    assert "no session or run has this name" in tried.stderr and tried.stdout == "", tried
    world.start("dead")
    os.kill(world.holder("dead"), signal.SIGKILL)
    until(lambda: world.holder("dead") is None or reap(), QUICK, "it is dead")
    world.session("start", "--grants-of", "dead", "sub", status=125)
    world.session("start", "--grants-of", "sub", "sub", status=125)
    world.session("start", "--if-needed", "--grants-of", "dead", "sub", status=2)
    world.session("start", "--grants-of", "../x", "sub", status=2)
    agent = world.sally("agent", "--grants-of", "nobody")
    assert agent.returncode == 125 and "no session or run has this name" in agent.stderr and not agent.stdout, agent
    world.start("there")
    run = world.join("there", "touch ran", "--grants-of", "there")
    assert run.wait(QUICK) == 2 and "the session has this option" in run.text("err"), run.text("err")
    world.session("end", "there")
    whole = reply(1, [GOOD])
    for replies, words in (([b"{}\n"], "another request"), ([b"no json\n"], "not JSON"), ([whole[:-20]], "the gate"), ([], "the gate"),
                           ([reply(1, {})], "malformed list"), ([reply(1, [], more=1)], "malformed list"),
                           ([reply(1, [GOOD], more=1), reply(2, [GOOD], more=1)], "malformed list"),
                           ([reply(1, [GOOD, {**GOOD, "id": 2}])], "twice"), ([reply(1, [{**GOOD, "host": "A.test"}])], "answer 1"),
                           ([reply(1, [GOOD, None])], "answer 2"), ([reply(1, [{**GOOD, "only": "x"}])], "answer 1"),
                           ([reply(1, [GOOD], more=1), reply(2, [{**GOOD, "id": 2, "port": 0}])], "answer 2")):
        gate = Broken(world, replies)
        tried = world.session("start", "--audit", str(world.audit), "--grants-of", "dead00", "sub", status=125)
        assert words in tried.stderr and tried.stdout == "", (words, tried)
        gate.close()
    assert world.state("sub") is None and not (world.dir / "sub.session").exists()
    assert not world.events("granted"), "some were copied"
    gate = Broken(world, [reply(1, [GOOD], more=1), reply(2, [{**GOOD, "id": 2, "host": "b.test"}])])
    world.session("start", "--audit", str(world.audit), "--grants-of", "dead00", "sub")
    assert len(grants(world, "sub")) == 2, "in two parts"
    gate.close()
    reap()


def named(world):
    """`approve --session` means one of them; a policy with errors shows in the list."""
    policy = world.top / "rules"
    policy.write_text("version 1\n")
    patient(world, "one", "--policy", "rules")
    patient(world, "two")
    first, _ = ask(world, "one", world.destination)
    second, _ = ask(world, "two", world.destination)
    until(lambda: len(world.questions()) == 2, QUICK, "two questions")

    def of(name):
        return json.loads(world.sally("approve", "list", "--session", name, "--json", check=True).stdout)
    for name in ("one", "two"):
        assert [question["session"] for question in of(name)] == [name]
    asked = of("one")[0]
    for words in (["deny"], ["allow", "--confirm", asked["typed"]], ["abort"]):
        tried = world.sally("approve", "--session", "two", *words, asked["id"])
        assert tried.returncode == 1 and "no such question" in tried.stderr, tried
    world.sally("approve", "--session=one", "allow", "--scope", "session", "--confirm", asked["typed"], asked["id"], check=True)
    assert first.wait(QUICK) == 0 and world.destination.came == 1
    [grant] = grants(world, "one")
    assert not grants(world, "two")
    for words in (["revoke", grant["id"]], ["undo", grant["run"]], ["cut", f"{grant['run']}-c1"]):
        tried = world.sally("approve", "--session", "two", *words)
        assert tried.returncode == 1 and "does not belong to session two" in tried.stderr, tried
    watch = subprocess.Popen([world.sallyport, "approve", "watch", "--session", "two", "--json"], env=world.env, cwd=world.work,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert json.loads(watch.stdout.readline())["session"] == "two"
    assert json.loads(watch.stdout.readline())["question"]["session"] == "two"
    third, _ = ask(world, "one", Destination(world.new_address()))
    until(lambda: of("one"), QUICK, "a question that is not watched")
    world.session("end", "one")
    assert third.wait(QUICK) == 125
    world.session("end", "two")
    assert second.wait(QUICK) == 125
    said, _ = watch.communicate(timeout=QUICK)
    assert watch.returncode == 0 and "one" not in {json.loads(line).get("session") for line in said.splitlines()}, said
    for words in (["list"], ["watch"], ["grants"], ["live"], ["undo"], ["deny", "7f3a-1"], ["revoke", "7f3a-g1"], ["cut", "7f3a-c1"]):
        tried = world.sally("approve", "--session", "two", *words)
        assert tried.returncode == 1 and "no session two" in tried.stderr, tried
    world.start("one", "--policy", "rules")
    assert world.state("one")["policy_errors"] == ""
    policy.write_text("version 1\nno such rule\n")
    until(lambda: "no such" in world.state("one")["policy_errors"], QUICK, "the errors")
    shown = world.session("list").stdout
    assert "the last good one stays in force" in shown and "no such" in shown, shown
    policy.write_text("version 1\n")
    until(lambda: world.state("one")["policy_errors"] == "", QUICK, "they are mended")
    world.session("end", "one")


if __name__ == "__main__":
    sys.exit(sessions.main({"copies": copies, "agents": agents, "broken": broken, "named": named}))
