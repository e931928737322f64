#!/usr/bin/env python3
"""nested: `sallyport run` inside of another sandbox or container works, or says what is around it and what to do.

usage: nested.py SALLYPORT [CASE...]"""
import ctypes
import os
import struct
import subprocess
import sys

from harness import NO_SANDBOX, main, must

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same on x86-64 and aarch64
WRITE_FILE, REMOVE_DIR, REMOVE_FILE, PATH_BENEATH = 1 << 1, 1 << 4, 1 << 5, 1


def around(world, user, *words, preexec_fn=None):
    """A run inside of the command @words."""
    return subprocess.run([*words, *world.argv(["touch", "started"])], cwd=user.work, env=user.environment(), capture_output=True,
                          timeout=120, preexec_fn=preexec_fn, **user.ids())


def starts(user, done):
    started = user.work / "started"
    must(done.returncode == 0 and started.exists(), done.returncode, done.stderr)
    started.unlink()


def is_refused(user, done, *words):
    must(done.returncode == NO_SANDBOX and not (user.work / "started").exists(), done.returncode, done.stderr)
    said = done.stderr.decode()
    for word in words:
        must(word in said, word, said)


def in_itself(world, user):
    """Also without a proxy variable; a variable alone, outside, refuses nothing."""
    inner = world.argv(["touch", "started"])
    is_refused(user, world.run(user, inner), "already runs in a sandbox of sallyport", "start the command itself")
    is_refused(user, world.run(user, ["env", "-u", "http_proxy", *inner]), "already runs in a sandbox of sallyport")
    doctor = world.run(user, [world.sallyport, "doctor"])
    must(doctor.returncode == NO_SANDBOX and b"already runs in a sandbox of sallyport" in doctor.stdout, doctor)
    starts(user, around(world, user, "env", "SALLYPORT_ACTIVE=1"))


def in_landlock(world, user):
    """As coding agents confine their commands: writing is allowed everywhere here, and mounts are refused by the kernel."""
    libc = ctypes.CDLL(None, use_errno=True)

    def confine():
        rights = WRITE_FILE | REMOVE_DIR | REMOVE_FILE
        rules = libc.syscall(LANDLOCK_CREATE, struct.pack("=Q", rights), 8, 0)
        beneath = ctypes.create_string_buffer(struct.pack("=Qi", rights, os.open("/", os.O_PATH)))
        if rules < 0 or libc.syscall(LANDLOCK_ADD, rules, PATH_BENEATH, beneath, 0) or libc.prctl(38, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "landlock")
        if libc.syscall(LANDLOCK_RESTRICT, rules, 0):
            raise OSError(ctypes.get_errno(), "landlock")

    is_refused(user, around(world, user, preexec_fn=confine), "another sandbox is around this process (Landlock",
               "start sallyport outside of that sandbox")


def in_bubblewrap(world, user):
    starts(user, around(world, user, "bwrap", "--unshare-all", "--dev-bind", "/", "/", "--proc", "/proc"))


def in_a_container(world, user):
    """With a /proc of its own; with a file of it covered; with settings that are read-only, as container managers make them by default."""
    own = ["unshare", "--user", "--map-root-user", "--mount"]
    starts(user, around(world, user, *own, "--pid", "--fork", "--mount-proc"))
    covered = [*own, "sh", "-c", 'mount --bind /dev/null /proc/uptime && exec "$@"', "sh"]
    starts(user, around(world, user, *covered))
    closed = [*own, "sh", "-c", 'mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && exec "$@"', "sh"]
    is_refused(user, around(world, user, *closed), "a container makes parts of /proc read-only", "--security-opt systempaths=unconfined")


CASES = [
    ("itself", in_itself),
    ("landlock", in_landlock),
    ("bubblewrap", in_bubblewrap),
    ("container", in_a_container),
]

if __name__ == "__main__":
    sys.exit(main(CASES, 1))
