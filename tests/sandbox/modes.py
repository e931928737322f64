#!/usr/bin/env python3
"""modes: the hostile program in every sandbox that --sandbox names. Its output is checked, and so are the files outside afterwards.

usage: modes.py SALLYPORT HOSTILE [CASE...]"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from harness import NO_SANDBOX, descendants, main, must, nothing_left
from outside import Outside

CONFINED = ("read-only", "workspace-write", "external")


def verdict(done):
    said = done.stdout.decode(errors="replace").strip()
    must(done.returncode == 0 and said.startswith("held: "), f"exit {done.returncode}: {said}",
         done.stderr.decode(errors="replace").strip())


def hostile(world, user, mode, *words, options=(), **how):
    verdict(world.run(user, [world.hostile, *words], ["--sandbox", mode, *options], **how))


def script(world, user, mode, text, want=0, options=(), **how):
    done = world.run(user, ["sh", "-c", text], ["--sandbox", mode, *options], **how)
    must(done.returncode == want, f"{mode}: exit {done.returncode}, not {want}:", done.stderr.decode(errors="replace"))
    return done.stdout.decode()


def look(path):
    what = os.lstat(path)
    return (what.st_ino, what.st_mode, what.st_uid, what.st_size, what.st_mtime_ns, what.st_ctime_ns, what.st_nlink)


def tree(folder):
    """Everything in @folder, to show the files that a run leaves."""
    return {str(path): look(path) for path in pathlib.Path(folder).rglob("*")}


def read_only(world, user):
    user.file(user.work / "file")
    user.file(user.outside / "file")
    before = tree(user.work), tree(user.outside)
    hostile(world, user, "read-only", "write-outside", user.work, user.outside, user.home, "/var/tmp")
    hostile(world, user, "read-only", "change", user.work / "file", user.outside / "file")
    must(before == (tree(user.work), tree(user.outside)), "something has changed")


def workspace_write(world, user):
    hostile(world, user, "workspace-write", "write-outside", user.outside, user.home, "/var/tmp")
    script(world, user, "workspace-write", f"echo x >here && ! touch {user.outside}/x")
    must((user.work / "here").read_text() == "x\n", "what the command wrote is not there")


def hosts_tmp(world, user):
    """The host's /tmp and $TMPDIR are writable; a socket in them stays covered."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, Outside() as outside:
        os.chmod(folder, 0o777)
        path = outside.unix(f"{folder}/socket", socket.SOCK_STREAM)
        script(world, user, "workspace-write", f"echo x >{folder}/file && test $TMPDIR = {folder}", env={"TMPDIR": folder})
        must((pathlib.Path(folder) / "file").read_text() == "x\n", "what the command wrote is not there")
        hostile(world, user, "workspace-write", "unix-paths", path)
        for options in ([], ["--read", "/opt"]):
            text = f"! test -e {folder} && touch /tmp/x here && test $TMPDIR = /tmp && ! touch {user.outside}/x"
            script(world, user, "workspace-write:own-tmp", text, env={"TMPDIR": folder}, options=options)
            hostile(world, user, "workspace-write:own-tmp", "absent", folder, path, env={"TMPDIR": folder}, options=[*options, "--read", world.hostile] if options else [])
        script(world, user, "read-only", f"! test -e {folder} && touch /tmp/x && test $TMPDIR = /tmp", env={"TMPDIR": folder})
        must(not outside.seen, "outside saw", outside.seen)


def denied(world, user):
    """A denied path cannot be read, replaced or moved, in the writable tree and outside of it; nothing is left on the host."""
    paths = [user.file(user.work / "secrets" / "key"), user.file(user.outside / "key"), user.file(user.work / ".env")]
    folder = user.file(user.work / "deep" / "er" / "folder" / "key").parent
    all_of = [*paths, folder]
    for path in all_of:
        os.setxattr(path, "user.outside", b"x")
    options = [word for path in all_of for word in ("--deny-read", path)]
    for mode in (*CONFINED, "danger-full-access", "external:network"):
        before = [look(path) for path in all_of]
        names = {name for name in tree(user.work)}
        hostile(world, user, mode, "denied", *all_of, options=options)
        hostile(world, user, mode, "parent-rename", *all_of, options=options)
        must([look(path)[:4] for path in all_of] == [what[:4] for what in before], f"{mode}: something denied has changed")
        must({name for name in tree(user.work)} - names == set(), f"{mode}: left behind:", set(tree(user.work)) - names)
    verdict(world.run(user, [world.hostile, "denied", *all_of], options))  # without a named sandbox as well


def denied_and_absent(world, user):
    """The command cannot make it, in any mode, and nothing is made for it; covers.py has it made by others."""
    before = tree(user.work)
    for mode in ("workspace-write", "external", "danger-full-access"):
        script(world, user, mode, "! mkdir absent 2>/dev/null && ! ln -s x absent 2>/dev/null && ! sh -c 'echo >absent' 2>/dev/null",
               options=["--deny-read", user.work / "absent"])
    script(world, user, "read-only", "true", options=["--deny-read", user.work / "absent"])
    must(tree(user.work) == before, "something was left on the host")


def denied_behind_a_link(world, user):
    """A link that the command could change is refused; another one is followed to the denied path."""
    key = user.file(user.work / "real" / "key")
    (user.work / "link").symlink_to("real")
    done = world.run(user, ["true"], ["--sandbox", "workspace-write", "--deny-read", user.work / "link" / "key"])
    must(done.returncode == NO_SANDBOX and b"symbolic link" in done.stderr, f"exit {done.returncode}", done.stderr)
    hostile(world, user, "read-only", "denied", key, user.work / "link" / "key",
            options=["--deny-read", user.work / "link" / "key"])


PROGRAMS = """set -e
sh -c true; test "$(cat {lib}/part)" = part
/usr/bin/python3 -c 'import json, os, pwd, ssl; pwd.getpwuid(0); assert ssl.create_default_context().get_ca_certs()'
git init -q repository && cd repository && git -c user.name=a -c user.email=b@c commit -q --allow-empty -m x && git log -1 >/dev/null
"""


def restricted_reads(world, user):
    """--read: only the named paths, the workspace and the system files of programs are there; in it the most specific path counts."""
    lib = user.file(user.outside / "lib" / "part", "part").parent
    key, deep = user.file(lib / "secrets" / "key"), user.file(lib / "secrets" / "open" / "file", "open")
    other = user.file(user.outside / "other" / "key")
    wanted = ["--read", lib, "--read", world.hostile]
    unseen = [user.home, other, other.parent, "/root", "/home", "/etc/shadow", "/etc/ssl/private", "/var/lib", "/var/log"]
    for options in ([], ["--sandbox", "workspace-write"]):
        done = world.run(user, ["sh", "-c", PROGRAMS.format(lib=lib)], [*options, *wanted])
        must(done.returncode == 0, f"{options}: exit {done.returncode}", done.stderr.decode())
        must((user.work / "repository" / ".git").is_dir(), "what it wrote is not there")
        shutil.rmtree(user.work / "repository")  # inside, its configuration stays
        verdict(world.run(user, [world.hostile, "absent", *unseen], [*options, *wanted]))
    verdict(world.run(user, [world.hostile, "absent", *unseen], ["--sandbox", "read-only", *wanted]))
    before = tree(user.work), tree(lib)
    hostile(world, user, "read-only", "write-outside", user.work, lib, user.home, options=wanted)
    verdict(world.run(user, [world.hostile, "change", lib / "part"], wanted))
    must(before == (tree(user.work), tree(lib)), "something has changed")
    # A denial inside of it, and a root inside of that.
    inside = [*wanted, "--deny-read", lib / "secrets", "--read", deep.parent]
    verdict(world.run(user, [world.hostile, "denied", key], inside))
    text = f"cat {deep} && ! ls {lib}/secrets && ! cat {key} && ! echo x >{deep}"
    done = world.run(user, ["sh", "-c", text], inside)
    must(done.returncode == 0 and done.stdout == b"open", f"exit {done.returncode}", done.stdout, done.stderr.decode())
    # Naming the workspace takes nothing from it; all of the disk is no restriction.
    done = world.run(user, ["sh", "-c", "echo x >here"], ["--read", user.work])
    must(done.returncode == 0, done.stderr.decode())
    done = world.run(user, ["cat", lib / "part"], ["--read", "/", "--deny-read", key])
    must(done.stdout == b"part", done.stderr.decode())
    for mode in ("external", "external:network", "danger-full-access"):
        done = world.run(user, ["true"], ["--sandbox", mode, *wanted])
        must(done.returncode == NO_SANDBOX and b"restricted" in done.stderr, f"{mode}: exit {done.returncode}", done.stderr)
    plan = world.run(user, ["true"], [*wanted, "--dry-run"]).stdout.decode()
    for line in ("empty      /\n", f"readable   {lib}\n", f"writable   {user.work}\n", "readable   /usr\n", "link       /bin -> /usr/bin\n"):
        must(line in plan, f"{line!r} is not in", plan)


def restricted_by_policy(world, user):
    """`read` of the user's policy does the same; that of a project's file does not count."""
    lib = user.file(user.outside / "lib" / "part", "part").parent
    other = user.file(user.outside / "other" / "key")
    policy = user.file(user.outside / "reads", f"version 1\nread {lib} {world.hostile}\nhide {lib}/hidden\n")
    user.file(lib / "hidden" / "key")
    user.file(user.work / ".sallyport" / "policy", f"version 1\nread {other.parent}\n")
    world.trust(user, policy)
    options = ["--policy", policy]
    verdict(world.run(user, [world.hostile, "absent", other, user.home], options))
    verdict(world.run(user, [world.hostile, "denied", lib / "hidden"], options))
    done = world.run(user, ["cat", lib / "part"], options)
    must(done.stdout == b"part", done.stderr.decode())
    done = world.run(user, ["true"], [*options, "--sandbox", "danger-full-access"])
    must(done.returncode == NO_SANDBOX, f"exit {done.returncode}", done.stderr.decode())


def own_files(world, user):
    """Policy, audit, state and control sockets, in every mode that confines."""
    for part in (".config/sallyport", ".local/state/sallyport"):
        user.file(user.home / part / "policy", "version 1\n")
    places = [user.home / ".config/sallyport", user.home / ".local/state/sallyport", user.runtime / "sallyport"]
    policy = user.file(user.work / "conf" / "policy", "version 1\n")
    world.trust(user, policy)
    for mode in CONFINED:
        hostile(world, user, mode, "hidden", *places, places[0] / "policy")
        hostile(world, user, mode, "parent-rename", policy, options=["--policy", policy])
        must(policy.read_text() == "version 1\n", f"{mode}: the policy has changed")


def no_way_out(world, user):
    """With any mode for files, a restricted network is a separate one."""
    with Outside() as outside:
        pairs = outside.inet()
        path = outside.unix(str(user.outside / "socket"), socket.SOCK_STREAM)
        for mode in CONFINED:
            hostile(world, user, mode, "direct", *pairs, timeout=180)
            hostile(world, user, mode, "unix-paths", path)
        must(not outside.seen, "outside saw", outside.seen)


def still_a_sandbox(world, user):
    """With all files and the network: the other restrictions apply, and processes outside cannot be accessed."""
    key = user.file(user.outside / "key")
    options = ["--deny-read", key]
    for mode in ("external", "external:network", "danger-full-access"):
        for case in ("mounts", "new-namespaces", "enter-namespaces", "surface", "read-init", "trace-init", "kill-init", "slow-init",
                     "capabilities", "io-uring"):
            hostile(world, user, mode, case, options=options)
        hostile(world, user, mode, "outside-processes", os.getpid(), os.getppid(), options=options)


def nothing_stays(world, user):
    """All processes end with the command and with the gate, confined or not."""
    text = "for i in 1 2 3; do (setsid setsid sh -c 'trap \"\" HUP TERM INT; sleep 300' &); done; exit 42"
    for mode in (*CONFINED, "external:network", "danger-full-access"):
        before = set(descendants())
        script(world, user, mode, text, want=42)
        must(not nothing_left(but=before), f"{mode}: left:", nothing_left(but=before))
        process = world.start(user, ["sh", "-c", text.replace("exit 42", "echo ready; exec sleep 300")],
                              ["--sandbox", mode], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            must(process.stdout.readline() == b"ready\n", f"{mode}: not ready")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
        must(not nothing_left(but=before), f"{mode}: the gate was killed, and left:", nothing_left(but=before))


def swapped_program(world, user):
    """Rules for commands decide about a file. Another file that takes its name after the decision never runs."""
    other = user.file(user.work / "bin" / "other", "#!/bin/sh\necho OTHER\n")
    path = user.file(user.work / "bin" / "tool", "#!/bin/sh\necho TOOL $0\n")
    for name in (other, path):
        name.chmod(0o755)
    policy = user.file(user.outside / "rules", f"version 1\ncommand allow tool\nprogram tool {path}\n")
    search = {"PATH": f"{user.work}/bin:{os.environ['PATH']}"}
    world.trust(user, policy)
    done = world.run(user, ["tool"], ["--policy", policy], env=search)
    must(done.stdout.decode() == f"TOOL {path}\n", done.stdout, done.stderr)
    # PATH leads elsewhere: not the file that the policy lists.
    done = world.run(user, ["tool"], ["--policy", policy, "--env", f"PATH={user.outside}"], env=search)
    must(done.returncode in (126, 127) and not done.stdout, f"exit {done.returncode}", done.stdout, done.stderr)
    user.file(user.outside / "first" / "tool", "#!/bin/sh\necho OTHER\n").chmod(0o755)
    done = world.run(user, ["tool"], ["--policy", policy, "--env", f"PATH={user.outside}/first:{user.work}/bin"])
    must(done.returncode == 126 and not done.stdout, f"exit {done.returncode}", done.stdout, done.stderr)
    # A relative folder at the beginning belongs to the owner of the working directory.
    done = world.run(user, ["tool"], ["--policy", policy, "--env", f"PATH=bin:{user.work}/bin"])
    must(done.returncode == 126 and not done.stdout, f"exit {done.returncode}", done.stdout, done.stderr)


def unconfined_rule(world, user):
    """`run` confines a command that a rule would let run without a sandbox."""
    policy = user.file(user.outside / "unconfined", "version 1\ncommand allow (uname|touch) unconfined\n")
    world.trust(user, policy)
    done = world.run(user, ["uname", "-n"], ["--policy", policy])
    must(done.stdout == b"localhost\n", done.stdout, done.stderr)
    done = world.run(user, ["touch", user.outside / "x"], ["--policy", policy])
    must(done.returncode == 1 and not (user.outside / "x").exists(), f"exit {done.returncode}", done.stderr)
    said = subprocess.run([str(world.sallyport), "policy", "explain", "--policy", str(policy), "command", "uname", "-n"],
                          capture_output=True, **user.ids(), env=user.environment(), cwd=user.work).stdout.decode()
    must("still in the sandbox" in said, said)


def usage(world, user):
    for options in (["--sandbox", "none"], ["--sandbox", "split"], ["--sandbox", "read-only", "--write", user.work]):
        done = world.run(user, ["true"], options)
        must(done.returncode == 2, f"{options}: exit {done.returncode}", done.stderr)


cases = [
    ("read-only", read_only),
    ("workspace-write", workspace_write),
    ("hosts-tmp", hosts_tmp),
    ("denied", denied),
    ("denied-and-absent", denied_and_absent),
    ("denied-behind-a-link", denied_behind_a_link),
    ("restricted-reads", restricted_reads),
    ("restricted-by-policy", restricted_by_policy),
    ("own-files", own_files),
    ("no-way-out", no_way_out),
    ("still-a-sandbox", still_a_sandbox),
    ("nothing-stays", nothing_stays),
    ("swapped-program", swapped_program),
    ("unconfined-rule", unconfined_rule),
    ("usage", usage),
]

if __name__ == "__main__":
    sys.exit(main(cases, 2))
