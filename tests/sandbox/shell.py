#!/usr/bin/env python3
"""shell: `sallyport shell` is the user's shell in the sandbox.

usage: shell.py SALLYPORT [CASE...]"""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time

from harness import main, must, wait_for

QUICK = 120  # seconds, for what takes milliseconds on an idle machine


def argv(world, *options):
    return [str(world.sallyport), "shell", "--default", "deny", "--report", "none", *map(str, options)]


def shell(world, user, text, *options, env=None):
    """The shell reads @text on standard input."""
    return subprocess.run(argv(world, "--no-tty", *options), input=text.encode(), env={**user.environment(), **(env or {})}, cwd=user.work,
                          capture_output=True, timeout=QUICK, **user.ids())


def reads_commands(world, user):
    (user.work / "written").unlink(missing_ok=True)
    done = shell(world, user, "echo one; echo two >&2\npwd > written\nexit 7\necho never\n")
    must(done.returncode == 7 and done.stdout == b"one\n" and done.stderr == b"two\n", done)
    must((user.work / "written").read_text() == f"{user.work}\n", "it did not run in the working directory")
    done = shell(world, user, "kill -9 $$\n")
    must(done.returncode == 128 + 9, done)


def is_confined(world, user):
    secret = user.file(user.outside / "secret", "hidden\n")
    text = f"cat {secret}; touch {user.outside}/new 2>/dev/null && echo wrote\necho $GIVEN $SALLYPORT_SOCKET"
    done = shell(world, user, text, "--deny-read", user.outside, "--env", "GIVEN=value")
    must(b"hidden" not in done.stdout and b"wrote" not in done.stdout, done)
    must(done.stdout.startswith(b"value /run/sallyport/socket"), done)


def which_shell(world, user):
    """$SHELL, if it is a path; else /bin/sh. The caller can set the variables of the prompt."""
    own = user.file(user.work / "own-shell", "#!/bin/sh\necho own $# $PS1\n")
    own.chmod(0o755)
    for value, want in ((str(own), b"own 0 (sallyport) $\n"), ("own-shell", b"/bin/sh\n"), ("", b"/bin/sh\n"), (None, b"/bin/sh\n")):
        done = shell(world, user, "echo $0\n", env={} if value is None else {"SHELL": value})
        must(done.returncode == 0 and done.stdout == want, value, done)
    done = shell(world, user, "", "--env", "PS1=mine", env={"SHELL": str(own)})
    must(done.stdout == b"own 0 mine\n", done)
    done = shell(world, user, "", env={"SHELL": "/nonexistent/shell"})
    must(done.returncode == 127, done)


def refuses(world, user):
    for words, text in ((["ls"], "unexpected argument: ls"), (["--profile", "claude"], "no such option: --profile"),
                        (["--publish", "0"], "sallyport shell: --publish: `0` is not PORT")):
        done = shell(world, user, "echo ran\n", *words)
        must(done.returncode == 2 and text in done.stderr.decode() and not done.stdout, done)


class Terminal:
    """The shell on a terminal of its own."""

    def __init__(self, world, user, *options, env=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 250, 0, 0))  # wider than any prompt
        if os.geteuid() == 0:
            os.fchown(slave, user.uid, -1)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.shown = b""
        self.process = subprocess.Popen(argv(world, *options), env={**user.environment(), "TERM": "dumb", **(env or {})}, cwd=user.work,
                                        stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal, **user.ids())
        os.close(slave)

    def read_until(self, text):
        end = time.monotonic() + QUICK
        while text not in self.shown:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            must(ready, "no", text, "but", self.shown)
            try:
                self.shown += os.read(self.master, 65536)
            except OSError:
                must(False, "no", text, "before the end:", self.shown)
        before, _, self.shown = self.shown.partition(text)
        return before

    def type(self, text):
        os.write(self.master, text)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def on_a_terminal(world, user):
    """A prompt with a mark, jobs, and keys that go to the job."""
    for path in ("/bin/sh", "/bin/bash"):
        terminal = Terminal(world, user, env={"SHELL": path})
        try:
            terminal.read_until(b"(sallyport)")
            terminal.type(b"sh -c 'echo $((6 * 7))-$1; exec sleep 1000' sh $0\n")
            terminal.read_until(b"42-" + path.encode())  # the job has the terminal
            terminal.type(b"\x03")
            terminal.read_until(b"(sallyport)")
            terminal.type(b"sleep 1001 & jobs; echo jobs-$((1 + 1))\n")
            must(b"sleep 1001" in terminal.read_until(b"jobs-2"), "no jobs in", path)
            terminal.type(b"exit 9\n")
            must(wait_for(lambda at=terminal: at.process.poll() is not None, QUICK) and terminal.process.returncode == 9,
                 path, "ended with", terminal.process.returncode)
        finally:
            terminal.close()


if __name__ == "__main__":
    sys.exit(main([(f.__name__, f) for f in (reads_commands, is_confined, which_shell, refuses, on_a_terminal)], 1))
