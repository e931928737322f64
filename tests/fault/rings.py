#!/usr/bin/env python3
"""What a worker lets go by itself is recorded, whatever is stopped or killed, and when: each request that reached the server has its record.

usage: rings.py SALLYPORT [CASE...]"""
import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import world as worlds  # noqa: E402
from world import Gate, World, descendants, play_cases, reap, until  # noqa: E402

QUICK = 60  # seconds
FIRST = 32  # requests that the gate decides before its worker may

# Sends requests over kept connections, one after another on each, until it has sent them all or the gate is gone.
CLIENT = """
import os, socket, threading
CONNECTIONS, EACH = {connections}, {each}
host, port = os.environ["http_proxy"].rsplit("@")[-1].replace("http://", "").strip("/").rsplit(":", 1)
got, lock = dict(), threading.Lock()
def ask(number):
    try:
        peer = socket.create_connection((host, int(port)), 60)
        reader = peer.makefile("rb")
        for i in range(EACH):
            peer.sendall(b"GET http://web.test/%d/%d HTTP/1.1\\r\\nHost: web.test\\r\\n\\r\\n" % (number, i))
            status, length = reader.readline(), 0
            while (line := reader.readline().strip()):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
            with lock:
                got[status[9:12]] = got.get(status[9:12], 0) + 1
    except (OSError, ValueError):
        pass
threads = [threading.Thread(target=ask, args=(number,)) for number in range(CONNECTIONS)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted((status.decode(), count) for status, count in got.items()), flush=True)
"""


class Origin:
    """Counts requests. It answers each at once."""

    def __init__(self, address):
        self.count, self.lock = 0, threading.Lock()
        self.listener = socket.create_server((address, 80), backlog=128)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:  # the case is over
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            reader = peer.makefile("rb")
            while reader.readline():
                with self.lock:
                    self.count += 1
                while reader.readline().strip():
                    pass
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except OSError:
            pass


class Stage:
    def __init__(self, sallyport):
        self.world = World(sallyport)
        self.address = self.world.new_address()
        self.origin = Origin(self.address)
        self.policy = self.world.top / "policy"
        self.policy.write_text("allow http://web.test\ndeny other.test\n")
        self.client = self.world.work / "client.py"

    def close(self):
        self.world.close()
        self.origin.listener.shutdown(socket.SHUT_RDWR)
        self.origin.listener.close()

    def run(self, connections, each, script="exec python3 client.py"):
        self.client.write_text(CLIENT.format(connections=connections, each=each))
        options = ["--no-tty", "--audit", str(self.world.audit), "--policy", str(self.policy), "--resolve", f"web.test:{self.address}"]
        self.gate = Gate(self.world, options, script, "gate")

    def rings(self):
        return list((self.world.top / "state" / "sallyport" / "audit").glob("ring.*"))

    def until_came(self, count):
        def came():
            assert self.gate.process.poll() is None, self.gate.text("err")
            return self.origin.count >= count
        until(came, QUICK, f"{count} requests came")

    def stands_still(self):
        """The worker waits for the gate."""
        before, since = -1, time.monotonic()
        while time.monotonic() - since < 1:
            if self.origin.count != before:
                before, since = self.origin.count, time.monotonic()
            time.sleep(0.02)
        return before

    def over(self):
        reap()
        until(lambda: not descendants(os.getpid()) or reap(), QUICK, f"left: {descendants(os.getpid())}")

    def decisions(self):
        records = self.world.records()
        verified = self.world.sally("audit", "verify", str(self.world.audit))
        assert verified.returncode == 0, verified
        assert not self.rings(), "a ring is left"
        allowed = [record for record in records if record["event"] == "decision" and record["action"] == "allow"]
        assert {record["host"] for record in allowed} == {"web.test"}
        return allowed, records


def all_is_recorded(stage):
    stage.run(8, 300)
    stage.until_came(8 * 300 // 2)
    assert len(stage.rings()) == 1, "the worker decides nothing"
    assert stage.gate.wait(QUICK) == 0, stage.gate.text("err")
    allowed, records = stage.decisions()
    assert stage.origin.count == len(allowed) == 2400, (stage.origin.count, len(allowed))
    assert {(record["rule"].split(": ", 1)[1], record["reason"]) for record in allowed} == {("allow http://web.test", "rule_allow")}
    closed = [record for record in records if record["event"] == "closed"]
    assert len(closed) == 2400 and sum(record["bytes_down"] for record in closed) > 2400 * 2, len(closed)


def a_stopped_gate_is_waited_for(stage):
    """The worker goes on by itself, until the ring is full. Nothing of it is lost."""
    stage.run(8, 500)
    stage.until_came(FIRST + 100)
    os.kill(stage.gate.process.pid, signal.SIGSTOP)
    alone = stage.origin.count
    stood = stage.stands_still()
    os.kill(stage.gate.process.pid, signal.SIGCONT)
    assert alone + 100 < stood < 4000, f"{alone}, then {stood} came while the gate was stopped"
    assert stage.gate.wait(QUICK) == 0, stage.gate.text("err")
    allowed, _ = stage.decisions()
    assert stage.origin.count == len(allowed) == 4000, (stage.origin.count, len(allowed))


def a_killed_gate_leaves_the_ring(stage):
    stage.run(8, 500)
    stage.until_came(FIRST + 100)
    os.kill(stage.gate.process.pid, signal.SIGSTOP)
    alone = stage.origin.count
    until(lambda: stage.origin.count > alone + 50, QUICK, "the worker does not go on")
    os.kill(stage.gate.process.pid, signal.SIGKILL)
    stage.gate.wait(QUICK)
    stage.over()
    assert stage.rings(), "nothing is left"
    allowed, records = stage.decisions()
    late = [record for record in allowed if "times" in record]
    assert len(allowed) >= stage.origin.count and len(late) >= 50, (len(allowed), len(late), stage.origin.count)
    assert all("killed before it recorded" in record["cause"] and record["run"] == records[0]["run"] for record in late), late[0]
    assert records[-1]["event"] == "killed", records[-1]
    stage.world.sally("audit", "merge", str(stage.world.audit), check=True)
    assert len(stage.decisions()[0]) == len(allowed), "they were merged twice"


def killed_at_any_time(stage):
    """Gate, worker, or both at once."""
    dice = random.Random(20261127)
    for victims in (["gate"], ["worker"], ["gate", "worker"], ["worker", "gate"]) * 2:
        before = len(stage.world.records()) and len(stage.decisions()[0])
        stage.origin.count = 0
        stage.run(8, 400)
        stage.until_came(dice.randrange(1, 1500))
        pids = {"gate": stage.gate.process.pid, "worker": stage.gate.worker()}
        for victim in victims:
            os.kill(pids[victim], signal.SIGKILL)
        stage.gate.wait(QUICK)
        stage.over()
        allowed = len(stage.decisions()[0]) - before
        assert allowed >= stage.origin.count, (victims, allowed, stage.origin.count)


def a_new_policy_holds_at_once(stage):
    """When it is recorded that the policy has changed, nothing more is let go by the old one."""
    stage.run(4, 20000)
    stage.until_came(500)
    new = stage.world.top / "policy.new"
    new.write_text("deny http://web.test\n")
    new.replace(stage.policy)
    assert stage.gate.wait(QUICK) == 0, stage.gate.text("err")
    records = stage.decisions()[1]
    changed, = [i for i, record in enumerate(records) if record["event"] == "policy_reloaded"]
    after = [record for record in records[changed:] if record["event"] == "decision"]
    assert after and {record["action"] for record in after} == {"deny"}, after[:3]
    allowed = [record for record in records if record["event"] == "decision" and record["action"] == "allow"]
    assert 500 <= stage.origin.count <= len(allowed), (stage.origin.count, len(allowed))


def the_gate_decides(stage):
    """Rules that need it: nothing is written beside the log."""
    for rules in ("durable strict\nallow http://web.test\n", "allow http://web.test connections 60000\n",
                  "allow http://web.test\ndeny other.test from \"npm\"\n", "allow http://web.test\ndeny other.test by /usr/bin/curl\n"):
        stage.policy.write_text(rules)
        stage.run(4, 50, "python3 client.py; while [ ! -e go ]; do sleep 0.05; done")
        until(lambda: "200" in stage.gate.text("out"), QUICK, f"with {rules}: {stage.gate.text('err')}")
        may_others = "connections" in rules  # a limit concerns the requests that it limits
        assert bool(stage.rings()) == may_others, f"with {rules}: {stage.rings()}"
        (stage.world.work / "go").touch()
        assert stage.gate.wait(QUICK) == 0 and "('200', 200)" in stage.gate.text("out"), (rules, stage.gate.text("out"), stage.gate.text("err"))
        (stage.world.work / "go").unlink()
        allowed, records = stage.decisions()
        assert [record["run"] for record in allowed].count(records[-1]["run"]) == 200, (rules, len(allowed))


if __name__ == "__main__":
    worlds.enter_namespace()
    sys.exit(play_cases([all_is_recorded, a_stopped_gate_is_waited_for, a_killed_gate_leaves_the_ring, killed_at_any_time,
                         a_new_policy_holds_at_once, the_gate_decides], Stage))
