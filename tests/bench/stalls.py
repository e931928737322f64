#!/usr/bin/env python3
"""How much one command delays the answers to others of the same gate: with a file system that holds it, with thousands of threads whose
connections are looked up, and while nobody reads the gate's standard error. As root or where /dev/fuse is available. It does not assert.
usage: stalls.py SALLYPORT"""
import os
import pathlib
import statistics
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "agent"), str(TESTS / "flow")]

import fuse  # noqa: E402
import harness  # noqa: E402
import stalls as cases  # noqa: E402
from world import enter_namespace  # noqa: E402

RUNS, ANSWERS = 15, 200
# A rule with `by` has the owner of each connection searched for among all of them.
BOMB = """
import os, threading, time, urllib.request
begun, begins = os.pipe()
for _ in range(300):
    if os.fork() == 0:
        for _ in range(20):
            threading.Thread(target=time.sleep, args=(3600,)).start()
        os.write(begins, b"x")
        time.sleep(3600)
for _ in range(300):
    os.read(begun, 1)
print("ready", flush=True)
while True:
    try:
        urllib.request.urlopen("http://a.test/", timeout=60)
    except OSError:
        pass
"""


def timed(what, times):
    """Milliseconds: the median, and the most."""
    measured = [what() * 1000 for _ in range(times)]
    return statistics.median(measured), max(measured)


class Others:
    """What is measured: a whole command, and the answer to a question."""

    def __init__(self, client):
        self.client = client
        client.configure("on-request", name="asks", cwd=str(client.stage.work), sandbox={"mode": "read-only"})

    def command(self):
        begun = time.monotonic()
        self.client.run("echo fine", session="other")
        return time.monotonic() - begun

    def answer(self):
        id = self.client.send("request_elicitation", reason="which branch?", items=["main"], session="asks")
        question = self.client.next("approval_request")
        begun = time.monotonic()
        self.client.answer(question, "approved")
        self.client.next("task_complete", id=id)
        return time.monotonic() - begun

    def measure(self):
        return timed(self.command, RUNS), timed(self.answer, ANSWERS)


def show(name, free, held):
    for what, (usual, most), (usual_held, most_held) in zip(("a command", "an answer"), free, held):
        print(f"{name}: {what}: {usual:.2f} ms (at most {most:.1f}), beside it {usual_held:.2f} ms ({most_held:.1f})")


def memory(stage):
    slow = fuse.Fuse(stage.work / "fuse")
    client = cases.sessions(stage)
    others = Others(client)
    free = others.measure()
    id = cases.start(client, cases.WAYS["memory"][1], "held")
    slow.wait()
    held = others.measure()
    slow.release()
    client.next("exec_end", id=id)
    slow.close()
    show("memory of a file system that does not answer", free, held)


def threads(stage):
    stage.policy("allow http://a.test:80 by /usr/bin/true\n")
    client = cases.sessions(stage)
    others = Others(client)
    free = others.measure()
    id = client.send("exec", argv=["/usr/bin/python3", "-c", BOMB], session="held")
    client.next("exec_output", id=id, text="ready\n")
    held = others.measure()
    client.send("cancel", exec=client.next("exec_begin", id=id)["exec"], session="held")
    client.next("exec_end", id=id)
    show("6,300 threads that connect", free, held)


def standard_error(stage):
    stage.policy("")
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x")
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)
    client = cases.sessions(stage, stderr=writer)
    others = Others(client)
    free = others.measure()
    count = 0

    def noisy():
        nonlocal count
        count += 1  # errors, other ones each time, are printed
        (stage.top / "policy").write_text("version 1\n" + "wrong\n" * (count % 50 + 1))
        return others.answer()

    held = timed(others.command, RUNS), timed(noisy, ANSWERS)
    os.close(reader)
    show("messages that nobody reads", free, held)


if __name__ == "__main__":
    enter_namespace()
    fuse.own_mounts()
    sys.exit(harness.play([memory, threads, standard_error], sys.argv[1], sys.argv[2:]))
