#!/usr/bin/env python3
"""probe: what the probe of a sandbox reports and records, and that nothing starts without its result; as root and as an ordinary user.

usage: probe.py SALLYPORT [CASE...]"""
import ctypes
import errno
import json
import os
import socket
import struct
import sys

from harness import NO_SANDBOX, main, must

# Tried on every machine that has IPv4: the rest depends on IPv6, and on the paths of the plan.
ALWAYS = set("""tcp route metadata udp icmp raw raw6 packet vsock netlink interfaces abstract control io-uring init descriptors
                namespaces keyrings perf bpf userfaultfd mounts set-user-id terminal settings outside hidden""".split())
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
SOCKET = {"x86_64": 41, "aarch64": 198}
KILL, ERROR, ALLOW = 0x80000000, 0x00050000, 0x7fff0000  # SECCOMP_RET_KILL_PROCESS, _ERRNO, _ALLOW


LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
NUMBER, FIRST, SECOND = 0, 16, 24  # where struct seccomp_data has them


def filtered(action, *values):
    """For a child: a call with these values, as pairs of a place in struct seccomp_data and a number, gets this answer of seccomp(2)."""
    def prepare():
        program = []
        for at, (place, value) in enumerate(values):
            program += [(LOAD, 0, 0, place), (EQUAL, 0, 2 * (len(values) - at) - 1, value)]
        program += [(RETURN, 0, 0, action), (RETURN, 0, 0, ALLOW)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
        filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter_), 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")
    return prepare


def at_perf(action):
    """Only the probe calls perf_event_open(2)."""
    return filtered(action, (NUMBER, PERF_EVENT_OPEN[os.uname().machine]))


def at_raw(action):
    """Only the probe opens a raw socket of IPv4."""
    return filtered(action, (NUMBER, SOCKET[os.uname().machine]), (FIRST, socket.AF_INET), (SECOND, socket.SOCK_RAW | socket.SOCK_CLOEXEC))


def records(user, event):
    """The records of this event in the log of the run that went before; the next one begins a new log."""
    found = [json.loads(line) for line in (user.base / "probe.log").read_text().splitlines()]
    for name in ("probe.log", "probe.log.head"):
        (user.base / name).unlink()
    return [record for record in found if record["event"] == event]


def run(world, user, *options, **how):
    (user.work / "started").unlink(missing_ok=True)
    done = world.run(user, ["touch", "started"], ["--audit", user.base / "probe.log", *options], **how)
    return done, (user.work / "started").exists()


def result(done):
    return json.loads(done.stderr.decode().splitlines()[-1])


def is_tried(world, user):
    user.file(user.work / ".git" / "config", "[core]\n")
    done, has_started = run(world, user, "--json")
    must(done.returncode == 0 and has_started, done.returncode, done.stderr)
    probe = result(done)["probe"]
    must(probe["grade"] == "full" and ALWAYS | {"protected"} <= set(probe["tried"]), probe)
    cause = records(user, "probed")[0]["cause"]
    must(cause.startswith(f"full: {len(probe['tried'])} refused in {probe['micros']} us: tcp "), cause)


def files_are_left_out(world, user):
    done, has_started = run(world, user, "--json", "--sandbox", "external")
    must(done.returncode == 0 and has_started, done.returncode, done.stderr)
    probe = result(done)["probe"]
    must(probe["grade"] == "reduced" and ALWAYS - {"outside"} <= set(probe["tried"]), probe)
    must(probe["not_tried"]["outside"] == "the command may write all files", probe)
    must(records(user, "probed")[0]["cause"].startswith("reduced: "), "the record")


def is_recorded_if_not(world, user):
    done, has_started = run(world, user, "--json", "--no-probe")
    must(done.returncode == 0 and has_started and "probe" not in result(done), done.returncode, done.stderr)
    must([record["cause"] for record in records(user, "probed")] == ["not probed: --no-probe"], "the record")
    done, has_started = run(world, user, "--sandbox", "danger-full-access")
    must(done.returncode == 0 and has_started, done.returncode, done.stderr)
    must([record["cause"] for record in records(user, "probed")] == ["not probed: the command is not confined"], "the record")


def dies(world, user):
    done, has_started = run(world, user, preexec_fn=at_perf(KILL))
    must(done.returncode == NO_SANDBOX and not has_started, done.returncode, has_started, done.stderr)
    must(b"the probe of the sandbox ended without a result, so nothing was started" in done.stderr, done.stderr)
    must(not records(user, "probed"), "it is recorded as probed")
    done, has_started = run(world, user, "--no-probe", preexec_fn=at_perf(KILL))
    must(done.returncode == 0 and has_started, done.returncode, done.stderr)
    must(records(user, "probed")[0]["cause"] == "not probed: --no-probe", "the record")


def is_unclear(world, user):
    """What failed for want of descriptors was not refused by the sandbox."""
    done, has_started = run(world, user, preexec_fn=at_raw(ERROR | errno.EMFILE))
    must(done.returncode == NO_SANDBOX and not has_started, done.returncode, has_started, done.stderr)
    must(b"the sandbox could not be probed" in done.stderr and b"(raw)" in done.stderr, done.stderr)
    must(records(user, "probed")[0]["cause"].startswith("failed: "), "the record")


CASES = [
    ("tried", is_tried),
    ("files", files_are_left_out),
    ("recorded", is_recorded_if_not),
    ("dies", dies),
    ("unclear", is_unclear),
]

if __name__ == "__main__":
    sys.exit(main(CASES, 1))
