#!/usr/bin/env python3
"""A kernel that does not say when records are on the disk: with `durable strict` nothing starts, or nothing is let go; otherwise a run goes on,
and says so.

usage: durable.py SALLYPORT [CASE...]"""
import ctypes
import errno
import pathlib
import platform
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import servers  # noqa: E402
from world import World, enter_namespace, play_cases  # noqa: E402

CALLS = {"x86_64": {"io_setup": 206, "io_submit": 209}, "aarch64": {"io_setup": 0, "io_submit": 2}}[platform.machine()]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def refuse(number):
    """The call fails with ENOSYS, in this process and in all that it starts."""
    code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050000 | errno.ENOSYS, 0x06, 0, 0, 0x7fff0000)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Program(4, code))) == 0, ctypes.get_errno()


class Stage:
    def __init__(self, sallyport):
        self.world = World(sallyport)
        self.address = self.world.new_address()
        self.server = servers.Server("web", self.address)
        self.server.serve_http(80)

    def close(self):
        self.world.close()

    def run(self, durable, refused=None, more=""):
        """A run with one request."""
        policy = self.world.top / "policy"
        policy.write_text(f"durable {durable}\nallow http://a.test\n")
        words = [self.world.sallyport, "run", "--no-tty", "--policy", str(policy), "--audit", str(self.world.audit),
                 "--resolve", f"a.test:{self.address}", "--", "sh", "-c", "curl -sS http://a.test/one" + more]
        return subprocess.run(words, env=self.world.env, cwd=self.world.work, capture_output=True, text=True, timeout=60,
                              stdin=subprocess.DEVNULL, preexec_fn=(lambda: refuse(CALLS[refused])) if refused else None)

    def decisions(self):
        return [record["action"] for record in self.world.records() if record["event"] == "decision"]

    def is_whole(self):
        verified = self.world.sally("audit", "verify", str(self.world.audit))
        assert verified.returncode == 0, verified


def it_is_on_the_disk(stage):
    for durable in ("strict", "batch"):
        ran = stage.run(durable)
        assert (ran.returncode, "web GET /one" in ran.stdout) == (0, True), ran
    assert stage.decisions() == ["allow", "allow"], stage.decisions()
    stage.is_whole()
    assert not list((stage.world.top / "state" / "sallyport" / "audit").glob("*.*.*")), "a segment is left"


def nothing_starts(stage):
    ran = stage.run("strict", "io_setup", "; echo it has started")
    assert ran.returncode == 125 and "it has started" not in ran.stdout, ran
    assert "the policy says `durable strict`" in ran.stderr and "io_setup" in ran.stderr, ran


def nothing_is_let_go(stage):
    ran = stage.run("strict", "io_submit")
    assert "audit_failed" in ran.stdout + ran.stderr and "web GET" not in ran.stdout, ran
    assert "until the end of this run" in ran.stderr, ran
    stage.is_whole()


def a_batch_goes_on(stage):
    ran = stage.run("batch", "io_setup", "; sleep 0.3")
    assert (ran.returncode, "web GET /one" in ran.stdout) == (0, True), ran
    assert ran.stderr.count("a power cut may lose more than the last 100 ms") == 1, ran
    stage.is_whole()


CASES = [it_is_on_the_disk, nothing_starts, nothing_is_let_go, a_batch_goes_on]

if __name__ == "__main__":
    enter_namespace()
    sys.exit(play_cases(CASES, Stage))
