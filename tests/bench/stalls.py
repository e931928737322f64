#!/usr/bin/env python3
"""How much a command that a file system blocks delays the others of the same agent: with and without it, as root or where
/dev/fuse is available. It does not assert. usage: stalls.py SALLYPORT"""
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

RUNS, LISTS = 15, 50


def timed(what, times):
    measured = []
    for _ in range(times):
        begun = time.monotonic()
        what()
        measured.append((time.monotonic() - begun) * 1000)
    return statistics.median(measured), max(measured)


def bench(stage):
    slow = fuse.Fuse(stage.work / "fuse")
    client = cases.sessions(stage)

    def command():
        client.run("echo fine", session="other")

    def listing():
        client.next("listed", id=client.send("list", what="execs"))

    command()
    free = timed(command, RUNS), timed(listing, LISTS)
    id = cases.start(client, cases.WAYS["memory"][1], "held")
    slow.wait()
    held = timed(command, RUNS), timed(listing, LISTS)
    slow.release()
    client.next("exec_end", id=id)
    slow.close()
    for name, (usual, most), (usual_held, most_held) in zip(("a command", "an answer"), free, held):
        print(f"{name}: {usual:.1f} ms (at most {most:.1f}), held {usual_held:.1f} ms ({most_held:.1f}): {usual_held / usual:.2f}")


if __name__ == "__main__":
    enter_namespace()
    fuse.own_mounts()
    sys.exit(harness.play([bench], sys.argv[1]))
