#!/usr/bin/env python3
"""Kills one part of the gate at one step of a question: there must be no allow without an answer, no hang, and no process left.

usage: fault.py SALLYPORT gateway|worker|approver|holder before|asked|answered|released"""
import json
import os
import pathlib
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import world as worlds  # noqa: E402
from world import Gate, World, descendants, reap, until  # noqa: E402

QUICK = 30  # seconds: what is over is over long before the prompt's deadline
BODY = b"let out\n"

# Two requests: the question of the first is disturbed, and the second one shows the state afterwards.
SCRIPT = """
touch ready; while [ ! -e go ]; do sleep 0.05; done
curl -sS -m 25 http://{address}:80/ -o first; echo $? > first.status
curl -sS -m 25 http://{address}:8080/ -o second; echo $? > second.status
"""


class Destination:
    """Counts connections, answers, and on port 80 keeps the connection open after the beginning of the answer."""

    def __init__(self, address):
        self.address, self.came, self.held = address, [], []
        for port in (80, 8080):
            listener = socket.create_server((address, port))
            threading.Thread(target=self.serve, args=(listener, port), daemon=True).start()

    def serve(self, listener, port):
        while True:
            peer, _ = listener.accept()
            self.came.append(port)
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (2 * len(BODY), BODY))
            self.held.append(peer)  # half of it: the exchange goes on until somebody ends it


class Approver:
    """A client of sallyport-approver(7). To simulate its death, it closes its socket."""

    def __init__(self, world, run):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(QUICK)
        until(lambda: run.exists(), QUICK, "the run's socket")
        self.socket.connect(str(run))
        self.lines = self.socket.makefile("r")
        assert json.loads(self.lines.readline())["sallyport"] == 1
        self.say({"id": 1, "op": "watch"})
        assert json.loads(self.lines.readline())["ok"]

    def say(self, request, end="\n"):
        self.socket.sendall((json.dumps(request) + end).encode())

    def asked(self):
        while True:
            event = json.loads(self.lines.readline())
            if event.get("event") == "asked":
                return event["question"]["id"]

    def deny_all(self):
        try:
            while True:
                self.say({"id": 3, "op": "deny", "question": self.asked()})
        except (OSError, ValueError):  # the run has ended
            pass

    def die(self):
        self.lines.close()
        self.socket.close()


class Fault:
    def __init__(self, sallyport, victim):
        self.world, self.victim = World(sallyport), victim
        self.destination = Destination(self.world.new_address())
        script = SCRIPT.format(address=self.destination.address)
        policy = self.world.top / "policy"  # with --default ask it would wait for the next approver
        policy.write_text("version 1\ndefault ask\n")
        options = ["--audit", str(self.world.audit), "--policy", str(policy)]
        folder = self.world.top / "runtime" / "sallyport"
        if victim == "holder":  # the gateway is in a process of its own, and the run is not its parent
            self.world.sally("session", "start", *options, "work", check=True)
            self.holder = int((folder / "work.lock").read_text())
            options = ["--join", "work"]
        self.gate = Gate(self.world, [*options, "--report", "none", "--no-tty"], script, "gate")
        until((self.world.work / "ready").exists, QUICK, "the command")
        self.approver = Approver(self.world, next(folder.glob("*.sock")))

    def go(self):
        (self.world.work / "go").touch()

    def status(self, name):
        path = self.world.work / f"{name}.status"
        return path.read_text().strip() if path.exists() else ""

    def gateway(self):
        return self.holder if self.victim == "holder" else self.gate.process.pid

    def kill(self):
        if self.victim in ("gateway", "holder"):
            os.kill(self.gateway(), signal.SIGKILL)
        elif self.victim == "worker":
            os.kill(self.gate.worker(), signal.SIGKILL)  # another one follows
            threading.Thread(target=self.approver.deny_all, daemon=True).start()
        else:
            self.approver.die()

    def before(self):
        self.kill()
        self.go()

    def asked(self):
        self.go()
        self.approver.asked()
        self.kill()

    def answered(self):
        """The answer was sent, but the gate has not read it. An approver that dies has sent half of it."""
        self.go()
        request = {"id": 2, "op": "allow", "question": self.approver.asked(), "scope": "session"}
        if self.victim == "approver":
            self.approver.say(request, end="")
            return self.kill()
        os.kill(self.gateway(), signal.SIGSTOP)
        self.approver.say(request)
        self.kill()
        if self.victim != "holder":  # that one is ours to reap, and may be gone
            os.kill(self.gateway(), signal.SIGCONT)
        return None

    def released(self):
        self.go()
        self.approver.say({"id": 2, "op": "allow", "question": self.approver.asked()})
        until(lambda: self.destination.held, QUICK, "the connection")
        self.kill()
        for peer in self.destination.held:
            if self.victim == "approver":
                peer.sendall(BODY)  # what was allowed goes on
                peer.close()

    def check(self, step):
        ended = self.gate.wait(QUICK + 60 if step == "released" else QUICK)
        reap()
        until(lambda: not descendants(os.getpid()) or reap(), QUICK, "something of the run lives on")
        came = self.destination.came
        if step == "released":
            assert came == [80], f"who came: {came}"
            if self.victim == "approver":
                assert self.status("first") == "0", "what was allowed was cut"
            else:
                assert self.status("first") != "0", "the connection outlived the gate"
        else:
            assert came == [], f"nobody has allowed it, and it was let out: {came}"
            got = self.world.work / "first"
            assert not got.exists() or BODY not in got.read_bytes()
        if self.victim == "worker":
            assert ended == 0 and self.status("second") == "0", "no worker followed"
            assert [record["event"] for record in self.world.records()].count("worker_ended") == 1
        elif self.victim == "gateway":
            assert ended == 128 + signal.SIGKILL
        elif self.victim == "holder":
            assert ended == 125 and "gate died" in self.gate.text("err"), self.gate.text("err")
        elif self.victim == "approver":
            assert self.status("second") == "0", "the command was not told"  # a denial, as a page of the gate
            reasons = [record.get("reason") for record in self.world.records() if record["event"] == "decision"]
            assert reasons[-1] in ("no_approver", "approver_gone"), reasons
            assert [r for r in reasons if r.startswith("granted")] == (["granted_once"] if step == "released" else [])


def main():
    sallyport, victim, step = sys.argv[1:]
    worlds.enter_namespace()
    fault = None
    try:
        fault = Fault(sallyport, victim)
        getattr(fault, step)()
        fault.check(step)
        print(f"pass: {victim} killed, {step}")
    except (AssertionError, OSError) as why:
        print(f"fail: {victim} killed, {step}: {why}")
        if fault:
            print(fault.gate.text("err"))
        return 1
    finally:
        if fault:
            fault.world.close(keep=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
