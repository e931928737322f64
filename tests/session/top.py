#!/usr/bin/env python3
"""`sallyport top`: what several runs reach, as text, as JSON and on a terminal.

usage: top.py SALLYPORT counts|screen|stopped"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import session as sessions  # noqa: E402
from grants import answer, ask, is_let_out, patient  # noqa: E402
from session import QUICK, Destination, until  # noqa: E402

FRAME = b"\x1b[H"


def top(world, *options, status=0):
    shown = world.sally("top", *options)
    assert shown.returncode == status, shown
    return shown.stdout


def totals(world, *options):
    made = json.loads(top(world, "--json", *options))
    return made, {row["to"]: row for row in made["destinations"]}


def stopped(world):
    """A gate that is stopped, as by Ctrl-Z, is named, and the others are shown."""
    world.start("one")
    world.start("two")
    run, pid = world.state("two")["run"], world.holder("two")
    os.kill(pid, signal.SIGSTOP)
    try:
        shown = world.sally("top", "--once")
        assert shown.returncode == 3 and shown.stdout.startswith("1 run,") and f"the gate of run {run} does not answer" in shown.stderr, shown
        picture = Screen(world, 24, 80)
        picture.sees(lambda lines: lines[0].startswith("1 run,") and f"run {run} " in lines[2], "the run that does not answer")
        picture.process.send_signal(signal.SIGINT)
        assert picture.end() == 0
    finally:
        os.kill(pid, signal.SIGCONT)
    world.session("end", "one")
    world.session("end", "two")


def two_sessions(world):
    """One with an answer for the session and a denial, and a question that waits in the other."""
    other = Destination(world.new_address())
    patient(world, "one")
    patient(world, "two")
    answer(world, "one", world.destination, "allow", "--scope", "session")
    answer(world, "one", other, "deny", "--scope", "session")
    assert is_let_out(world, "one", world.destination)
    waits, _ = ask(world, "two", other)
    until(lambda: totals(world)[0]["waiting"] == 1, QUICK, "the question")
    return f"http://{world.destination.address}:80", f"http://{other.address}:80", waits


def counts(world):
    """Each number is that of the gate; a session that is named shows its run alone; nothing runs, nothing is shown."""
    allowed, denied, waits = two_sessions(world)
    made, rows = totals(world)
    assert (made["runs"], made["waiting"]) == (2, 1), made
    row = rows[allowed]
    assert (row["allowed"], row["denied"], row["failed"]) == (2, 0, 0) and row["run"] == world.state("one")["run"], row
    until(lambda: totals(world)[1][allowed]["bytes_down"] > 0, QUICK, "the bytes")
    assert rows[denied]["denied"] == 1 and rows[denied]["allowed"] == 0, rows[denied]
    made, rows = totals(world, "--session", "two")
    assert made["runs"] == 1 and made["waiting"] == 1 and allowed not in rows, made
    text = top(world, "--once")
    assert text.startswith("2 runs, 1 question waiting, 0 connections open\n2 allowed, 1 denied, 0 failed, ") and allowed in text, text
    assert "\x1b" not in text and top(world) == text, text
    assert "no session three" in world.sally("top", "--session", "three").stderr
    top(world, "--session", "three", status=1)
    world.session("end", "one")
    world.session("end", "two")
    assert waits.wait(QUICK) == 125
    made, rows = totals(world)
    assert (made["runs"], rows) == (0, {}), made


class Screen:
    def __init__(self, world, rows, columns):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before, self.said = termios.tcgetattr(self.slave), b""
        self.process = subprocess.Popen([world.sallyport, "top"], env={**world.env, "TERM": "xterm"}, cwd=world.work, stdin=self.slave,
                                        stdout=self.slave, stderr=subprocess.DEVNULL)

    def take(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.said += os.read(self.master, 65536)

    def frame(self):
        """The lines of the last whole picture."""
        self.take()
        whole = self.said.split(FRAME)[1:]
        whole = [part for part in whole if part.endswith(b"\x1b[J")]
        return re.sub(rb"\x1b\[[KJ]", b"", whole[-1]).decode().replace("\r", "").splitlines() if whole else []

    def sees(self, condition, what):
        return until(lambda: (lambda lines: lines if lines and condition(lines) else None)(self.frame()), QUICK, what)

    def press(self, key):
        os.write(self.master, key.encode())

    def end(self):
        status = self.process.wait(QUICK)
        for _ in range(3):
            self.take()
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
        assert self.said.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"), self.said[-100:]
        os.close(self.master)
        os.close(self.slave)
        return status


def screen(world):
    """It fits, follows, sorts by each key, and leaves the terminal as it was, however it ends."""
    allowed, denied, waits = two_sessions(world)
    for rows, columns in ((24, 80), (12, 40), (5, 20), (3, 20)):
        shown = Screen(world, rows, columns)
        lines = shown.sees(lambda lines: lines[0].startswith("2 runs"), "the first picture")
        assert len(lines) <= rows and all(len(line) <= columns for line in lines), (rows, columns, lines)
        if columns == 80:
            for key, first in (("d", denied), ("b", allowed), ("n", min((world.state("one")["run"], allowed), (world.state("one")["run"], denied))[1]), ("o", "")):
                shown.press(key)
                lines = shown.sees(lambda lines, first=first: first in lines[4], f"the order of {key}")
            before = int(lines[1].split()[0])
            assert is_let_out(world, "one", world.destination)
            shown.sees(lambda lines, before=before: int(lines[1].split()[0]) == before + 1, "another request")
            fcntl.ioctl(shown.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 30, 0, 0))
            shown.sees(lambda lines: all(len(line) <= 30 for line in lines), "the new size")
        shown.press("q")
        assert shown.end() == 0
    for number in (signal.SIGTERM, signal.SIGINT):
        shown = Screen(world, 24, 80)
        shown.sees(lambda lines: lines[0].startswith("2 runs"), "the picture")
        shown.process.send_signal(number)
        assert shown.end() == 0
    world.session("end", "one")
    world.session("end", "two")
    assert waits.wait(QUICK) == 125


if __name__ == "__main__":
    sys.exit(sessions.main({"counts": counts, "screen": screen, "stopped": stopped}))
