#!/usr/bin/env python3
"""Kills the worker of a run, or of one that has joined a session: its connections end and are recorded, its questions are withdrawn, and a
new worker takes over.

usage: replaced.py SALLYPORT [CASE...] [--joined]"""
import os
import pathlib
import signal
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import servers  # noqa: E402
import world as worlds  # noqa: E402
from world import Gate, World, descendants, play_cases, reap, until  # noqa: E402

QUICK = 60  # seconds
POLICY = """allow http://web.test
allow http://half.test connections 2
allow http://slow.test
allow tcp://echo.test:7000
"""
STEP = "step() { echo $1 > did.$1; while [ ! -e go.$1 ]; do sleep 0.05; done; }; "

# Captured: the program knows of no proxy. Each line that it is sent it tries once.
CAPTURED = """
import os, socket, time
def step(name):
    open("did." + name, "w").close()
    while not os.path.exists("go." + name):
        time.sleep(0.05)
def talk(peer):
    peer.settimeout(30)
    try:
        peer.sendall(b"ping")
        return peer.recv(4) == b"ping"
    except OSError:
        return False
def reach(address):
    try:
        return talk(socket.create_connection((address, 7000), 30))
    except OSError:
        return False
first = socket.gethostbyname("echo.test")
peer = socket.create_connection((first, 7000), 30)
assert talk(peer)
step("talking")
assert not talk(peer), "the connection outlived its worker"
assert socket.gethostbyname("web.test") != first, "an address has two names"
assert not reach(first), "a worker knows what another has given out"
again = socket.gethostbyname("echo.test")
assert again != first and reach(again), again
step("over")
"""


def half(address):
    """A server that sends half of a response and keeps the connection open. Returns a list of its connections."""
    listener, came = socket.create_server((address, 80)), []

    def serve():
        while True:
            peer, _ = listener.accept()
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            came.append(peer)
    threading.Thread(target=serve, daemon=True).start()
    return came


class Stage:
    def __init__(self, sallyport, is_joined):
        self.world, self.is_joined, self.kills = World(sallyport), is_joined, 0
        self.hosts = {name: self.world.new_address() for name in ("web.test", "half.test", "echo.test", "asked.test")}
        self.half = half(self.hosts["half.test"])
        for name in ("web.test", "asked.test"):
            servers.Server(name, self.hosts[name]).serve_http(80)
        servers.Server("echo", self.hosts["echo.test"]).echo(7000)
        self.policy = self.world.top / "policy"
        self.policy.write_text(POLICY)

    def close(self):
        if self.is_joined:
            self.world.sally("session", "end", "work")
        self.world.close()

    def run(self, script, *options, dns=()):
        """@options: of the gateway."""
        known = [word for name, address in self.hosts.items() for word in ("--resolve", f"{name}:{address}")]
        known += [word for address in dns for word in ("--dns", address)]
        options = ["--audit", str(self.world.audit), "--policy", str(self.policy), *options]
        if self.is_joined:
            self.world.sally("session", "start", *options, "work", check=True)
            options = ["--join", "work"]
        self.gate = Gate(self.world, ["--no-tty", *known, *options], STEP + script, "gate")

    def did(self, step):
        def look():
            assert self.gate.process.poll() is None, f"before {step}: {self.gate.text('err')}"
            return (self.world.work / f"did.{step}").exists()
        until(look, QUICK, f"the command did not reach {step}: {self.gate.text('err')}")

    def go(self, step):
        (self.world.work / f"go.{step}").touch()

    def worker(self):
        try:
            return self.gate.worker()
        except AssertionError:
            return None

    def kill(self):
        """Returns when the next one is there, or the run ends."""
        pid = until(self.worker, QUICK, "there is no worker")
        os.kill(pid, signal.SIGSEGV)
        self.kills += 1
        until(lambda: self.worker() not in (None, pid) or self.gate.process.poll() is not None, QUICK, "no worker follows")

    def said(self, name):
        path = self.world.work / name
        return path.read_text() if path.exists() else ""

    def events(self, **wanted):
        return [record for record in self.world.records() if all(record.get(key) == value for key, value in wanted.items())]

    def ends(self, status=0):
        ended = self.gate.wait(QUICK)
        assert ended == status, (ended, self.gate.text("err"))
        if self.is_joined:
            self.world.sally("session", "end", "work", check=True)
        reap()
        until(lambda: not descendants(os.getpid()) or reap(), QUICK, f"left: {descendants(os.getpid())}")
        verified = self.world.sally("audit", "verify", str(self.world.audit))
        assert verified.returncode == 0, verified
        assert len(self.events(event="worker_ended")) == self.kills, self.world.records()
        shown = self.gate.text("err").count("the proxy worker ")
        assert shown >= self.kills, self.gate.text("err")


def in_a_request(stage):
    """The connection ends with its worker, and the log says so; what comes next is served, and limits still count what came before."""
    stage.run("curl -sS http://half.test/ > half; echo $? > lost; curl -sS http://web.test/ > next; "
              "curl -sS -m 20 http://half.test/ > again & step next; curl -sS http://half.test/ > spent")
    until(lambda: stage.half, QUICK, "the request")
    before = descriptors(stage)
    stage.kill()
    stage.did("next")
    assert stage.said("lost").strip() != "0" and "web.test" in stage.said("next"), stage.gate.text("err")
    until(lambda: len(stage.half) == 2, QUICK, "the second request")
    assert before is None or descriptors(stage) <= before, (before, descriptors(stage))
    stage.go("next")
    stage.ends()
    assert "(connections_spent)" in stage.said("spent"), stage.said("spent")
    lost, = stage.events(event="closed", reason="worker_died")
    assert lost["host"] == "half.test" and "bytes_up" not in lost, lost


def descriptors(stage):
    """How many descriptors the gate has, but for its watch of files and its first sync of the log, which come later. None: this user may not
    look."""
    gate = [stage.gate.process.pid]
    if stage.is_joined:
        gate.append(int((stage.world.top / "runtime" / "sallyport" / "work.lock").read_text()))
    try:
        links = [os.readlink(entry.path) for pid in gate for entry in os.scandir(f"/proc/{pid}/fd")]
        return sum(link not in ("anon_inode:inotify", "anon_inode:[eventfd]") for link in links)
    except PermissionError:
        return None
    except FileNotFoundError:
        return descriptors(stage)  # one was closed meanwhile


def with_a_question(stage):
    """The question is withdrawn, and the next request asks again. An answer once is for the request that it was given for."""
    stage.run("curl -sS http://asked.test/ > first; echo $? > lost; curl -sS http://asked.test/ > second; step second; "
              "curl -sS http://asked.test/ > third", "--default", "ask")
    ask = lambda: (stage.world.questions() or [None])[0]  # noqa: E731
    until(ask, QUICK, "no question")
    stage.kill()
    until(lambda: stage.said("lost").strip(), QUICK, "the request did not end")
    second = until(lambda: (ask() or {}).get("times") == 2 and ask(), QUICK, "no second question")
    assert second["waiting"] == 1, second
    stage.world.sally("approve", "allow", second["id"], check=True)
    stage.did("second")
    stage.kill()
    stage.go("second")
    third = until(ask, QUICK, "an answer for once was used twice")["id"]
    stage.world.sally("approve", "deny", third, check=True)
    stage.ends()
    assert stage.said("lost").strip() != "0" and "asked.test" in stage.said("second")
    assert "(denied_once)" in stage.said("third"), stage.said("third")
    assert len(stage.events(event="decision", reason="worker_died")) == 1


def with_a_tunnel(stage):
    """Captured connections, and the addresses of names: one that a worker has given out is never another name's."""
    script = stage.world.work / "captured.py"
    script.write_text(CAPTURED)
    stage.run("exec python3 captured.py")
    stage.did("talking")
    stage.kill()
    stage.go("talking")
    stage.did("over")
    stage.go("over")
    stage.ends()
    assert [record["host"] for record in stage.events(event="closed", reason="worker_died")] == ["echo.test"]


def while_names_are_resolved(stage):
    """The worker waits for the host's resolver."""
    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind((stage.world.new_address(), 53))
    stage.run("curl -sS http://slow.test/ > first; echo $? > lost; curl -sS http://web.test/ > next",
              dns=[silent.getsockname()[0]])
    silent.settimeout(QUICK)
    silent.recv(512)
    stage.kill()
    stage.ends()
    assert stage.said("lost").strip() != "0" and "web.test" in stage.said("next"), stage.gate.text("err")
    assert stage.events(event="closed", reason="worker_died", host="slow.test")


def at_the_socket(stage):
    """The Unix socket inside is served by each worker, twice in a row too."""
    fetch = "http_proxy= curl -sS --unix-socket $SALLYPORT_SOCKET http://sallyport.internal/denials"
    stage.run(f"{fetch} > first; step first; {fetch} > second; curl -sS http://web.test/ > web")
    stage.did("first")
    stage.kill()
    stage.kill()
    stage.go("first")
    stage.ends()
    assert stage.said("second") and "web.test" in stage.said("web"), stage.gate.text("err")


def with_another_policy(stage):
    """The new worker checks addresses by the policy that is in force, and not by that of the start."""
    address = stage.world.new_address()
    names = servers.Names(address)
    names.set("inner.test", [["127.0.0.2"]])
    servers.Server("inner", "127.0.0.2").serve_http(80)
    stage.run("curl -sS http://inner.test/ > first; step first; curl -sS http://inner.test/ > second", "--default", "deny", dns=[address])
    stage.did("first")
    new = stage.world.top / "policy.new"
    new.write_text("allow http://inner.test private\n" + POLICY)
    new.replace(stage.policy)
    until(lambda: any(str(stage.policy) in record.get("files", "") for record in stage.events(event="policy_reloaded")), QUICK, "a new policy")
    stage.kill()
    stage.go("first")
    stage.ends()
    assert "(default_deny)" in stage.said("first") and "inner" in stage.said("second"), stage.said("second")


def too_often(stage):
    """Five deaths within a minute end the run."""
    stage.run("step first; curl -sS http://web.test/ > web; step second; sleep 300")
    stage.did("first")
    for _ in range(4):
        stage.kill()
    stage.go("first")
    stage.did("second")
    assert "web.test" in stage.said("web"), stage.gate.text("err")
    stage.kill()
    stage.ends(125)
    assert "5 workers died within a minute" in stage.gate.text("err"), stage.gate.text("err")


def without_a_starter(stage):
    """Nothing can start a worker: the run ends."""
    stage.run("step first; sleep 300")
    stage.did("first")
    starter, = [pid for pid, name in descendants(stage.gate.process.pid).items() if name == "sallyport-start"]
    os.kill(starter, signal.SIGKILL)
    stage.kill()
    stage.ends(125)
    assert "cannot start the proxy worker" in stage.gate.text("err"), stage.gate.text("err")


if __name__ == "__main__":
    worlds.enter_namespace()
    joined = "--joined" in sys.argv[2:]
    sys.argv[2:] = [word for word in sys.argv[2:] if word != "--joined"]
    sys.exit(play_cases([in_a_request, with_a_question, with_a_tunnel, while_names_are_resolved, at_the_socket, with_another_policy,
                         too_often, without_a_starter], lambda sallyport: Stage(sallyport, joined)))
