#!/usr/bin/env python3
"""lifetime: how a command starts and ends. Its status, its streams, its signals, and that no process of it stays, regardless of which
side ends first.

usage: lifetime.py SALLYPORT [CASE...]"""
import fcntl
import hashlib
import os
import pty
import random
import select
import signal
import subprocess
import sys
import termios
import time

from harness import Failed, descendants, main, must, nothing_left, reap, wait_for

MEGABYTE = 1 << 20
KILLS = 40
START_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT, signal.SIGKILL, signal.SIGSEGV,
                 signal.SIGTERM, signal.SIGUSR1)


def must_exit(done, want):
    must(done.returncode == want, f"exit {done.returncode}, not {want}:", done.stderr.decode(errors="replace"))


def exit_codes(world, user):
    for code in (0, 1, 2, 42, 125, 126, 127, 128, 200, 255):
        must_exit(world.run(user, ["sh", "-c", f"exit {code}"]), code)


def not_there(world, user):
    for command in ("/nonexistent", "sallyport-no-such-program", "./nonexistent", "/etc/passwd/x"):
        must_exit(world.run(user, [command]), 127)


def not_executable(world, user):
    path = user.file(user.work / "text")
    for command in (path, "./text", user.work, "/etc/passwd"):
        must_exit(world.run(user, [command]), 126)


def signals(world, user):
    for number in START_SIGNALS:
        must_exit(world.run(user, ["sh", "-c", f"kill -{int(number)} $$"]), 128 + number)


def arguments(world, user):
    """Every byte of every argument, and the environment that was asked for."""
    words = ["", " ", "a b", "--", "-x", "é\n\t", "$HOME", "'\"\\"]
    done = world.run(user, ["printf", "%s|", *words], ["--env", "GIVEN=a b=c", "--env", "PASSED"], env={"PASSED": "x"})
    must(done.stdout.decode() == "".join(word + "|" for word in words), done.stdout)
    done = world.run(user, ["sh", "-c", 'echo "$GIVEN,$PASSED,$PWD"'], ["--env", "GIVEN=a b=c", "--env", "PASSED"],
                     env={"PASSED": "x"})
    must(done.stdout.decode() == f"a b=c,x,{user.work}\n", done.stdout)


def stdin_pipe(world, user):
    data = random.Random(7).randbytes(10 * MEGABYTE)
    done = world.run(user, ["sha256sum"], data=data)
    must(done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest(), done.stdout, done.stderr)
    done = world.run(user, ["cat"], data=data)
    must(done.stdout == data, f"{len(done.stdout)} of {len(data)} bytes came back, or others")


def stdin_file(world, user):
    data = random.Random(8).randbytes(10 * MEGABYTE)
    path = user.outside / "large"
    path.write_bytes(data)
    with open(path, "rb") as stdin:
        done = world.run(user, ["sha256sum"], stdin=stdin)
    must(done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest(), done.stdout, done.stderr)


def stdin_closed(world, user):
    """The end of the input arrives."""
    must_exit(world.run(user, ["cat"], data=b"", timeout=20), 0)


def streams(world, user):
    done = world.run(user, ["sh", "-c", "printf out; printf err >&2; printf more"])
    must(done.stdout == b"outmore" and done.stderr == b"err", done.stdout, done.stderr)
    done = world.run(user, ["true"])
    must(not done.stdout and not done.stderr, "something of ours is in the streams:", done.stdout, done.stderr)


def output_closed(world, user):
    """The reader of the output ends: the command gets the same signal as without the gate."""
    process = world.start(user, ["sh", "-c", "while echo x; do :; done 2>/dev/null; exit 9"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    process.stdout.read(100)
    process.stdout.close()
    try:
        must(process.wait(20) in (9, 128 + signal.SIGPIPE), f"exit {process.returncode}")
    finally:
        process.kill()
        process.wait()


def forwarded(world, user):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        name = number.name[3:]
        process = world.start(user, ["sh", "-c", f"trap 'echo {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            must(process.stdout.readline() == b"ready\n", "not ready")
            process.send_signal(number)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
            process.wait()
        must(process.returncode == 9 and out == f"{name}\n".encode(), f"{name}: exit {process.returncode}", out, err)


def ended_by_signal(world, user):
    """A command without handlers is ended by the forwarded signals."""
    for number in (signal.SIGTERM, signal.SIGINT):
        process = world.start(user, ["sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE, start_new_session=True)
        try:
            must(process.stdout.readline() == b"ready\n", "not ready")
            process.send_signal(number)
            must(process.wait(20) == 128 + number, f"exit {process.returncode}")
        finally:
            process.kill()
            process.wait()


def stubborn(world, user):
    """One SIGTERM ends a command that has stopped itself at once, and one that ignores it after its grace period."""
    for script, status in (("echo ready; kill -STOP $$; sleep 60", 128 + signal.SIGTERM),
                           ("trap '' TERM; echo ready; while :; do sleep 1; done", 128 + signal.SIGKILL)):
        process = world.start(user, ["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
        try:
            must(process.stdout.readline() == b"ready\n", "not ready")
            process.send_signal(signal.SIGTERM)
            must(process.wait(60) == status, f"exit {process.returncode}, not {status}")
        finally:
            process.kill()
            process.wait()


def read_until(handle, word, seconds=120):
    """Reads a terminal's text until it contains @word."""
    text, until = b"", time.monotonic() + seconds
    while word not in text and time.monotonic() < until:
        if select.select([handle], [], [], 0.1)[0]:
            try:
                text += os.read(handle, 4096)
            except OSError:
                break
    must(word in text, "the terminal shows", text)
    return text


def interrupt_key(world, user):
    """Ctrl-C on a terminal reaches the command and not the gate, and then the gate's status is the command's."""
    master, slave = pty.openpty()
    if os.geteuid() == 0:
        os.fchown(slave, user.uid, -1)

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    try:
        process = world.start(user, ["sh", "-c", "trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.05; done"],
                              stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal)
        try:
            read_until(master, b"ready")
            os.write(master, b"\x03")
            read_until(master, b"caught")
            must(wait_for(lambda: process.poll() is not None, 20) and process.returncode == 7, f"exit {process.returncode}")
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(master)
        os.close(slave)


def daemons_end(world, user):
    """Daemons in their own sessions that ignore signals and hold the command's output are ended with the command."""
    before = set(descendants())
    script = "for i in 1 2 3; do (setsid setsid sh -c 'trap \"\" HUP TERM INT; sleep 300' &); done; exit 42"
    started = time.monotonic()
    must_exit(world.run(user, ["sh", "-c", script]), 42)
    must(time.monotonic() - started < 30, "the end was not seen while a daemon held the output")
    left = nothing_left(but=before)
    must(not left, "left:", left)


def killed(world, user, delay, command):
    """Starts, kills the gate after @delay, and waits until nothing is left."""
    before = set(descendants())
    process = world.start(user, command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    process.kill()
    process.wait()
    left = nothing_left(but=before)
    reap()
    must(not left, f"killed after {delay * 1000:.1f} ms, and left:", left)


def time_to_start(world, user):
    started = time.monotonic()
    process = world.start(user, ["sh", "-c", "echo ready; exec sleep 60"], stdout=subprocess.PIPE)
    process.stdout.readline()
    taken = time.monotonic() - started
    process.kill()
    process.wait()
    process.stdout.close()
    return taken


def killed_at_any_moment(world, user):
    """SIGKILL of the gate while it starts and while the command runs: no process stays, and so no listener and no namespace."""
    taken = time_to_start(world, user)
    must(not nothing_left(), "something is left before the first")
    dice = random.Random()
    script = "(setsid sh -c 'trap \"\" HUP TERM; sleep 300' &); (setsid sleep 300 &); sleep 300"
    for _ in range(KILLS):
        killed(world, user, dice.uniform(0, 1.5 * taken), ["sh", "-c", script])


def worker_killed(world, user):
    """The worker dies: the command ends too, or has no network access; no process stays when the gate ends."""
    before = set(descendants())
    process = world.start(user, ["sh", "-c", "echo ready; sleep 300"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        must(process.stdout.readline() == b"ready\n", "not ready")
        mine = [pid for pid in descendants() if pid not in before and pid != process.pid]
        # Any of them: worker, init, command. Whichever ends, the rest must follow or be ended with the gate.
        for pid in mine:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        must(wait_for(lambda: process.poll() is not None, 20), "the gate lives on without its command")
        must(process.returncode != 0, "the end of everything was reported as success")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    left = nothing_left(but=before)
    must(not left, "left:", left)


def init_killed(world, user):
    """A process outside kills the sandbox's first process: all of its processes end, and the gate says so."""
    before = set(descendants())
    process = world.start(user, ["sh", "-c", "echo ready; sleep 300"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        must(process.stdout.readline() == b"ready\n", "not ready")
        inits = [pid for pid, words in descendants().items() if pid not in before and words.startswith("sallyport-init")]
        must(len(inits) == 1, "first processes:", inits)
        os.kill(inits[0], signal.SIGKILL)
        must(wait_for(lambda: process.poll() is not None, 20), "the gate did not notice")
        must(process.returncode != 0, "that was reported as success")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    must(not nothing_left(but=before), "left:", nothing_left(but=before))


def side_by_side(world, user):
    """Ten concurrent runs do not affect each other: each has its own status and its own ports."""
    running = [world.start(user, ["sh", "-c", f"sleep 0.2; exit {10 + number}"]) for number in range(10)]
    try:
        for number, process in enumerate(running):
            must(process.wait(60) == 10 + number, f"exit {process.returncode}, not {10 + number}")
    finally:
        for process in running:
            process.kill()
            process.wait()


def current_folder(world, user):
    """A working directory that cannot be used, or has gone, is refused before anything runs."""
    gone = user.work / "gone"
    gone.mkdir()
    user.own(gone)
    marker = user.work / "ran"
    handle = os.open(gone, os.O_RDONLY | os.O_DIRECTORY)
    gone.rmdir()
    try:
        process = world.start(user, ["touch", marker], cwd=f"/proc/self/fd/{handle}", stderr=subprocess.PIPE, pass_fds=[handle])
        _, err = process.communicate(timeout=30)
    except FileNotFoundError:
        raise Failed("the folder could not be entered by the test itself") from None
    finally:
        os.close(handle)
    must(process.returncode == 125 and b"the working directory was deleted; go to another one" in err and not marker.exists(), f"exit {process.returncode}", err)


cases = [
    ("exit-codes", exit_codes),
    ("not-there", not_there),
    ("not-executable", not_executable),
    ("signals", signals),
    ("arguments", arguments),
    ("stdin-pipe", stdin_pipe),
    ("stdin-file", stdin_file),
    ("stdin-closed", stdin_closed),
    ("streams", streams),
    ("output-closed", output_closed),
    ("forwarded", forwarded),
    ("ended-by-signal", ended_by_signal),
    ("stubborn", stubborn),
    ("interrupt-key", interrupt_key),
    ("daemons-end", daemons_end),
    ("killed-at-any-moment", killed_at_any_moment),
    ("worker-killed", worker_killed),
    ("init-killed", init_killed),
    ("side-by-side", side_by_side),
    ("current-folder", current_folder),
]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
