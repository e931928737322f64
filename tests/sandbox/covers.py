#!/usr/bin/env python3
"""covers: a hidden or read-only path stays so when a program outside replaces it while the command runs, or the run ends with a reason.

usage: covers.py SALLYPORT [CASE...]"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from automounter import NO_AUTOMOUNT
from harness import NO_SANDBOX, Failed, Skip, main, must

AT_FDCWD, RENAME_EXCHANGE = -100, 2
HERE = pathlib.Path(__file__).resolve().parent


def outside(user, *command):
    """Runs @command as @user, outside the sandbox."""
    if not shutil.which(command[0]):
        raise Skip(f"no {command[0]} here")
    subprocess.run([str(word) for word in command], check=True, cwd=user.work, env=user.environment(), stdout=subprocess.DEVNULL,
                   **user.ids())


def exchange(left, right):
    """Exchanges two names in one call, as renameat2(2) can."""
    if ctypes.CDLL(None, use_errno=True).renameat2(AT_FDCWD, os.fsencode(left), AT_FDCWD, os.fsencode(right), RENAME_EXCHANGE):
        raise Skip(os.strerror(ctypes.get_errno()))


def attack(world, user, options, script, change):
    """@change happens outside once the command says that it is ready; then, if it still runs, it continues. Returns its exit status and output."""
    go = user.work / "go"
    go.unlink(missing_ok=True)
    process = world.start(user, ["sh", "-c", f"echo ready; until [ -e go ]; do sleep 0.02; done; sleep 0.2; {script}"], options,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    if first == "ready\n":
        change()
        user.file(go)
    out, err = process.communicate(timeout=60)
    must(first == "ready\n", f"exit {process.returncode}", err)
    return process.returncode, out, err


def ends(world, user, options, script, change, path):
    status, out, err = attack(world, user, options, script, change)
    must(status == NO_SANDBOX and not out, f"exit {status}:", out, err)
    must(str(path) in err and "outside the sandbox" in err, err)


def hidden_file(world, user):
    """Every way to put another file in the place of one that is hidden."""
    secret, fresh, aside = user.work / "conf/deep/.env", user.work / "conf/deep/fresh", user.work / "aside"
    script = "cat conf/deep/.env aside/deep/.env aside/.env 2>/dev/null; exit 0"

    def link():
        secret.unlink()
        secret.symlink_to("fresh")

    def again(folder):
        folder.rename(aside)
        user.file(secret, "new secret\n")

    def created():
        secret.unlink()
        user.file(secret, "new secret\n")

    def backed_up():
        secret.rename(secret.with_name(".env~"))
        user.file(secret, "new secret\n")

    changes = {
        "rename": lambda: fresh.rename(secret),
        "unlink and create": created,
        "unlink": lambda: secret.unlink(),
        "exchange": lambda: exchange(fresh, secret),
        "backup": backed_up,
        "link": link,
        "parent": lambda: again(secret.parent),
        "grandparent": lambda: again(secret.parent.parent),
        "sed": lambda: outside(user, "sed", "-i", "s/old/new/", secret),
    }
    for name, change in changes.items():
        for folder in (user.work / "conf", aside):
            shutil.rmtree(folder, ignore_errors=True)
        user.file(secret, "old secret\n")
        user.file(fresh, "new secret\n")
        try:
            ends(world, user, ["--deny-read", secret], script, change, secret)
        except Failed as reason:
            raise Failed(f"{name}: {reason}") from None


def hidden_above(world, user):
    """The working directory itself is replaced: the new one is in the read-only view."""
    secret = user.file(user.work / "in/.env", "old secret\n")

    def change():
        (user.work / "in").rename(user.work / "was")
        user.file(secret, "new secret\n")

    process = world.start(user, ["sh", "-c", f"echo ready; sleep 5; cat {secret}"], ["--deny-read", secret], cwd=user.work / "in",
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    must(process.stdout.readline() == "ready\n", "it did not start")
    change()
    out, err = process.communicate(timeout=60)
    must(process.returncode == NO_SANDBOX and not out, f"exit {process.returncode}", out, err)


def hidden_directory(world, user):
    folder = user.work / "keys"
    user.file(folder / "key", "old secret\n")

    def change():
        folder.rename(user.work / "keys.old")
        user.file(folder / "key", "new secret\n")

    ends(world, user, ["--deny-read", folder], "cat keys/key keys.old/key 2>/dev/null; exit 0", change, folder)


def read_only(world, user):
    """Each of these files affects the permissions of a later run."""
    policy = user.file(user.work / "conf/team.policy", "version 1\n")
    world.trust(user, policy)
    fresh = user.file(user.work / "conf/fresh", "version 1\n")
    ends(world, user, ["--policy", policy], "echo allow evil.test >>conf/team.policy; echo done", lambda: fresh.rename(policy), policy)
    must(policy.read_text() == "version 1\n", policy.read_text())
    project = user.file(user.work / ".sallyport/policy", "version 1\n")
    fresh = user.file(user.work / ".sallyport/fresh", "version 1\n")
    # Its folder is read-only as a whole: a file that comes there is, too, so the run goes on.
    status, out, err = attack(world, user, [], "echo allow evil.test >>.sallyport/policy; echo done", lambda: fresh.rename(project))
    must(status == 0 and out == "done\n" and "Read-only" in err, status, out, err)
    must(project.read_text() == "version 1\n", project.read_text())


def git_checkout(world, user):
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x.test", "-c", "init.defaultBranch=one", "-c", "safe.directory=*"]
    secret = user.file(user.work / "tree/.env", "old secret\n")
    tree = ["-C", secret.parent]
    for words in (["init", "-q"], ["add", "-f", ".env"], ["commit", "-qm", "one"], ["checkout", "-qb", "two"]):
        outside(user, *git, *tree, *words)
    user.file(secret, "new secret\n")
    outside(user, *git, *tree, "commit", "-qam", "two")
    ends(world, user, ["--deny-read", secret], "cat tree/.env", lambda: outside(user, *git, *tree, "checkout", "-q", "one"), secret)


def many_folders(world, user):
    """More folders than dnotify is used for."""
    secrets = [user.file(user.work / f"many/{i}/.env", "old secret\n") for i in range(80)]
    options = [word for secret in secrets for word in ("--deny-read", secret)]
    fresh = user.file(user.work / "many/fresh", "new secret\n")
    ends(world, user, options, "cat many/77/.env", lambda: fresh.rename(secrets[77]), secrets[77])


def what_goes_on(world, user):
    """Other changes do not end a run: the same file, written in place, is still covered; its neighbours may be created and removed."""
    secret = user.file(user.work / "calm/.env", "old secret\n")

    def change():
        secret.write_text("new secret\n")
        secret.chmod(0o644)
        user.file(user.work / "calm/beside").rename(user.work / "calm/elsewhere")
        os.unlink(user.work / "calm/elsewhere")

    status, out, err = attack(world, user, ["--deny-read", secret],
                              "for i in 1 2 3 4 5 6 7 8 9; do echo >calm/$i; mv calm/$i calm/x; rm calm/x; done; cat calm/.env", change)
    must(status == 1 and not out and "Permission denied" in err, f"exit {status}:", out, err)


def linked_policy(world, user):
    """A name that an earlier run gave to a policy: it is read-only, too."""
    policy = user.file(user.work / "linked/team.policy", "version 1\n")
    for name in ("planted/deep/p", "q"):
        user.file(user.work / "linked" / name).unlink()
        os.link(policy, user.work / "linked" / name)
    world.trust(user, policy)
    script = "cd linked; for i in planted/deep/p q team.policy; do echo allow evil.test >>$i; done; true"
    done = world.run(user, ["sh", "-c", script], ["--policy", policy])
    must(done.returncode == 0, f"exit {done.returncode}", done.stderr)
    must(policy.read_text() == "version 1\n", policy.read_text())
    shutil.rmtree(user.work / "linked")


def linked_in_a_large_folder(world, user):
    """A protected file is read-only by its other name, however many files are protected beside it, and however many of them have other names."""
    folder = user.work / "large/.claude"
    for i in range(3000):
        user.file(folder / f"{i}")
    for i in range(0, 3000, 20):
        os.link(folder / f"{i}", folder / f"again{i}")
    os.link(folder / "2999", user.work / "large/planted")
    os.link(folder / "1", user.work / "large/planted2")
    user.file(folder / "deep/er/settings.json", "old\n")
    os.link(folder / "deep/er/settings.json", user.work / "large/planted3")
    done = world.run(user, ["sh", "-c", "for i in large/planted*; do echo evil >$i; done; echo works >large/works"])
    must(done.returncode == 0, f"exit {done.returncode}", done.stderr)
    for name in ("1", "2999"):
        must((folder / name).read_text() == "content\n", f"{name} was written by its other name")
    must((folder / "deep/er/settings.json").read_text() == "old\n", "the file in a folder inside was written by its other name")
    shutil.rmtree(user.work / "large")


def links_made_inside(world, user):
    """A covered file cannot get another name from inside, by any call."""
    policy = user.file(user.work / "conf/team.policy", "version 1\n")
    world.trust(user, policy)
    script = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
name, fd = b"conf/team.policy", os.open("conf/team.policy", os.O_RDONLY)
made = [libc.linkat(-100, name, -100, b"made", 0), libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"made", 0x400),
        libc.linkat(fd, b"", -100, b"made", 0x1000), libc.rename(name, b"made"), libc.rename(b"conf", b"made")]
sys.exit(0 if made == [-1] * 5 and not os.path.lexists("made") else 1)"""
    done = world.run(user, ["python3", "-c", script], ["--policy", policy])
    must(done.returncode == 0, f"exit {done.returncode}", done.stdout, done.stderr)


def mounted_twice(world, user):
    """The same folder by another mount, and a part of it."""
    secret = user.file(user.work / "vault/in/key", "old secret\n")
    policy = user.file(user.work / "conf/team.policy", "version 1\n")
    world.trust(user, policy)
    for name in ("all", "part", "conf2"):
        user.file(user.work / "by" / name / "x").unlink()
    own = user.file(user.outside / "by/x").parent
    must(os.path.isdir(own), own)
    argv = world.argv(["sh", "-c", f"cat by/all/in/key by/part/key {own}/in/key 2>/dev/null; echo allow evil.test >>by/conf2/team.policy; exit 0"],
                      ["--deny-read", secret.parent.parent, "--policy", policy, "--write", "by/conf2"])
    script = ('mount --bind vault by/all && mount --bind vault/in by/part && mount --bind conf by/conf2 && mount --bind vault "$0" || exit 77; exec "$@"')
    done = subprocess.run(["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script, str(own), *argv], cwd=user.work, env=user.environment(),
                          capture_output=True, text=True, timeout=60, **user.ids())
    if done.returncode == 77 or "unshare" in done.stderr:
        raise Skip(done.stderr.strip())
    must(done.returncode == 0 and not done.stdout, f"exit {done.returncode}", done.stdout, done.stderr)
    must(policy.read_text() == "version 1\n", policy.read_text())


def opened_by_another_mount(world, user):
    """A protected file that is the command's input, opened by the path that it has in another mount."""
    user.file(user.work / "input/.envrc", "old\n")
    user.file(user.work / "input/.claude/in/settings.json", "old\n")
    own = user.file(user.outside / "input/x").parent
    argv = world.argv(["sh", "-c", "echo evil >/proc/self/fd/0"])
    for name in (".envrc", ".claude/in/settings.json"):
        script = f'mount --bind . "$0" || exit 77; exec "$@" <"$0/input/{name}"'
        done = subprocess.run(["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script, str(own), *argv], cwd=user.work, env=user.environment(),
                              capture_output=True, text=True, timeout=60, **user.ids())
        if done.returncode == 77 or "unshare" in done.stderr:
            raise Skip(done.stderr.strip())
        must((user.work / "input" / name).read_text() == "old\n", f"{name} was written")
        must(done.returncode == NO_SANDBOX and "protects from the command" in done.stderr, f"exit {done.returncode}", done.stderr)


def protected_in_volumes(world, user):
    """Files that run code later are protected in a volume, too, which is a separate file system."""
    user.file(user.work / "disk/x")
    argv = world.argv(["sh", "-c", "for i in .envrc planted; do echo new >disk/in/$i; done; echo new >disk/.git/hooks/x; echo y >disk/in/y;"
                       "cat disk/in/.envrc disk/in/y; ls disk/.git/hooks"])
    script = 'mount -t tmpfs none disk || exit 77; mkdir -p disk/in disk/.git/hooks; echo old >disk/in/.envrc; ln disk/in/.envrc disk/in/planted; exec "$@"'
    done = subprocess.run(["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script, "sh", *argv], cwd=user.work, env=user.environment(),
                          capture_output=True, text=True, timeout=60, **user.ids())
    if done.returncode == 77 or "unshare" in done.stderr:
        raise Skip(done.stderr.strip())
    must(done.returncode == 0 and done.stdout == "old\ny\n", f"exit {done.returncode}", done.stdout, done.stderr)


def mounted_volumes(world, user):
    """A volume in the working directory is part of it, when it is mounted nowhere else; --write takes a relative path."""
    for name in ("vol", "kept", "src"):
        user.file(user.work / name / "x", "content\n")
    argv = world.argv(["sh", "-c", "echo y >vol/y && cat vol/y; echo z >kept/x; exit 0"], ["--write", "src"])
    script = 'mount -t tmpfs none vol && mount --bind src kept || exit 77; exec "$@"'
    done = subprocess.run(["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", script, "sh", *argv], cwd=user.work, env=user.environment(),
                          capture_output=True, text=True, timeout=60, **user.ids())
    if done.returncode == 77 or "unshare" in done.stderr:
        raise Skip(done.stderr.strip())
    must(done.returncode == 0 and done.stdout == "y\n", f"exit {done.returncode}", done.stdout, done.stderr)
    must((user.work / "src/x").read_text() == "content\n", "a directory that is mounted twice was written by its second path")


ATTEMPTS = """import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
open("mine", "w").close()
os.mkdir("folder")
at = os.open(".", os.O_RDONLY)
made = [libc.open(b"key", 0o101, 0o600), libc.creat(b"key", 0o600), libc.openat(at, b"key", 0o101, 0o600), libc.open(b"../keep/./key", 0o101, 0o600),
        libc.mkdir(b"key", 0o700), libc.mkdir(b"key/", 0o700), libc.mkdirat(at, b"key", 0o700), libc.mknod(b"key", 0o100600, 0), libc.mknodat(at, b"key", 0o10600, 0),
        libc.symlink(b"mine", b"key"), libc.symlinkat(b"mine", at, b"key"), libc.link(b"mine", b"key"), libc.linkat(-100, b"mine", at, b"key", 0),
        libc.rename(b"mine", b"key"), libc.renameat(at, b"mine", at, b"key"), libc.renameat2(at, b"folder", at, b"key", 1),
        libc.open(os.path.abspath("key").encode(), 0o101, 0o600)]
elsewhere = [libc.mkdir(b"folder/key", 0o700), libc.symlink(b"key", b"folder/link"), libc.rename(b"mine", b"other")]
print(made.count(-1) == len(made) and elsewhere == [0, 0, 0] and not os.path.lexists("key"), flush=True)
"""


def absent_is_not_made(world, user):
    """A hidden path that does not exist: the command cannot create it, by any call, and continues; the same name in another folder is not affected."""
    keep = user.file(user.work / "keep/x").parent
    user.file(user.work / "attempts.py", ATTEMPTS)
    done = world.run(user, ["sh", "-c", "cd keep && python3 ../attempts.py && sleep 0.2 && echo went on"], ["--deny-read", keep / "key"])
    must(done.returncode == 0 and done.stdout == b"True\nwent on\n", f"exit {done.returncode}", done.stdout, done.stderr)
    shutil.rmtree(keep)


def absent_appears(world, user):
    """Created by any program in any way, where the command may write and where it may not, in existing folders and in new ones."""
    def put(path):
        return lambda: user.file(path, "new secret\n")

    def moved(path):
        def change():
            user.file(user.base / "moved/key", "new secret\n")
            path.parent.parent.mkdir(exist_ok=True)
            user.own(path.parent.parent)
            (user.base / "moved").rename(path.parent)
        return change

    for top in (user.work / "top", user.home / "top"):
        for path, make in ((top / "key", put), (top / "new/key", put), (top / "new/deep/key", put), (top / "new/key", moved), (top / "new/deep/key", moved)):
            user.file(top / "x")
            status, out, err = attack(world, user, ["--deny-read", path], f"cat {path} 2>/dev/null; exit 0", make(path))
            must(status == NO_SANDBOX and not out and str(path) in err and "was created while the command ran" in err, f"{path}: exit {status}", out, err)
            shutil.rmtree(top)


def absent_in_a_folder_made_again(world, user):
    """The folder in which it would be is removed, and made again by the same name."""
    top = user.file(user.work / "top/x").parent
    script = "echo ready; until [ -e top/again ]; do sleep 0.02; done; echo seen; sleep 300"
    process = world.start(user, ["sh", "-c", script], ["--deny-read", top / "key"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    must(process.stdout.readline() == "ready\n", "it did not start")
    shutil.rmtree(top)
    user.file(top / "again")
    must(process.stdout.readline() == "seen\n", "it ended when the folder was made again")
    user.file(top / "key", "new secret\n")
    out, err = process.communicate(timeout=60)
    must(process.returncode == NO_SANDBOX and not out and "was created while the command ran" in err, f"exit {process.returncode}", out, err)
    shutil.rmtree(top)


def absent_with_neighbours(world, user):
    """Folders in its path, and other files in them, are created and removed."""
    top = user.file(user.work / "top/x").parent
    status, out, err = attack(world, user, ["--deny-read", top / "new/deep/key"],
                              "mkdir -p top/new/deep; echo >top/new/deep/other; rm -r top/new; mkdir -p top/new/deep/key2; sleep 0.3; echo went on",
                              lambda: user.file(user.file(top / "new/beside").parent / "deep/beside"))
    must(status == 0 and out == "went on\n", f"exit {status}", out, err)
    shutil.rmtree(top)


def absent_in_a_busy_folder(world, user):
    """If a folder of its path is removed between the search and the watch, the run continues."""
    top = user.file(user.work / "top/x").parent
    script = """import os
for _ in range(4000):
    os.mkdir("top/new")
    os.mkdir("top/new/deep")
    os.rmdir("top/new/deep")
    os.rmdir("top/new")
print("went on")"""
    done = world.run(user, ["/usr/bin/python3", "-c", script], ["--deny-read", top / "new/deep/key"], timeout=300)
    must(done.returncode == 0 and done.stdout == b"went on\n", f"exit {done.returncode}", done.stdout, done.stderr)
    shutil.rmtree(top)


def absent_by_another_way(world, user):
    """If the command creates a folder of the path that cannot be watched, or that leads to another place, the run ends."""
    for script in ("ln -s ../aside top/new", "mkdir -m 0300 top/new", "mkdir top/away top/away/deep; ln -s away top/new",
                   """python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("top/direct")'"""):
        top = user.file(user.work / "top/x").parent
        paths = [word for path in ("new/deep/key", "direct") for word in ("--deny-read", top / path)]
        done = world.run(user, ["sh", "-c", f"{script} && sleep 5; echo went on"], paths)
        must(done.returncode == NO_SANDBOX and not done.stdout and b"was created while the command ran" in done.stderr, script, f"exit {done.returncode}", done.stdout, done.stderr)
        subprocess.run(["chmod", "-R", "u+rwx", str(top)], check=True)
        shutil.rmtree(top)


def beside_automount(user, folder, command, cwd, **how):
    """Starts @command beside an indirect automount at @folder, whose program prints each name that it is asked for."""
    return subprocess.Popen([sys.executable, str(HERE / "automounter.py"), str(folder), str(user.uid), *map(str, command)],
                            env={**user.environment(), "AUTOMOUNT_CWD": str(cwd)}, stdout=subprocess.PIPE, text=True, **how)


def names_asked_for(out):
    return set(re.findall("asked for (.*)\n", out)) - {".git"}  # by the gate, which looks for the repository of its folder


def without_asking(world, user, folder, script, cwd):
    """Runs @script, which asks for no name. Returns its output; None: nothing can be mounted here, or attacked, as not by root of the machine."""
    with beside_automount(user, folder, world.argv(["sh", "-c", script], ["--report", "text"]), cwd,
                          stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        out, _ = process.communicate(timeout=90)
    if process.returncode == NO_AUTOMOUNT:
        return None
    must(process.returncode == 0 and not names_asked_for(out), script, out)
    return out


def automount(world, user):
    """A name that is looked up below an indirect automount leaves this machine, so none is; what is mounted there stays, also as the working directory."""
    folder = user.outside / "net"
    folder.mkdir()
    for cwd, script in ((user.work, f"ls -d {folder}/evil.test || cat {folder}/secret.test/x || ls {folder} || cat {folder}/known/file"),
                        (folder / "known", "ls -d ../evil.test || echo written >made && cat made file")):
        out = without_asking(world, user, folder, script, cwd)
        must(out is None or "known\n" in out, out)


def automount_by_the_gate(world, user):
    """The gate looks at what a command made, and at what it was refused, now and in the next run: it asks for none of these names either."""
    folder, work = user.outside / "asked", user.base / "asked"
    folder.mkdir()
    work.mkdir()
    user.own(work)
    repository = "mkdir -p {0}/.git/objects {0}/.git/refs {0}/.git/hooks; echo 'ref: refs/heads/main' >{0}/.git/HEAD; "
    made = "; ".join((
        f"ln -s {folder}/file.test/x .envrc; ln -s {folder}/folder.test .vscode; mkdir .idea; ln -s {folder}/inner.test/x .idea/x",
        f"mkdir gitfile gitlink; echo gitdir: {folder}/gitfile.test/x >gitfile/.git; ln -s {folder}/gitlink.test/x gitlink/.git",
        repository.format("a") + f"ln -s {folder}/hook.test/x a/.git/hooks/pre-commit; echo {folder}/common.test/x >a/.git/commondir",
        f"printf '[core]\\n pager = {folder}/pager.test/x\\n hooksPath = {folder}/hooks.test\\n[include]\\n path = {folder}/include.test/x\\n' >a/.git/config",
        repository.format("b") + f"ln -s {folder}/config.test/x b/.git/config; rm b/.git/HEAD; ln -s {folder}/head.test/x b/.git/HEAD",
    ))
    refused = f"mkdir {folder}/mkdir.test {folder}/deep.test/x; echo >{folder}/write.test; mv a {folder}/move.test; cat {folder}/read.test; true"
    for script in (made, "true", refused, f"ln -sfn {folder}/tree.test .git", f"mkdir .sallyport; ln -s {folder}/policy.test .sallyport/policy"):
        without_asking(world, user, folder, script, work)
    with beside_automount(user, folder, world.argv(["true"]), work, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT) as process:
        out, _ = process.communicate(timeout=90)
    must(process.returncode in (3, NO_AUTOMOUNT) and not names_asked_for(out), out)  # this policy cannot be loaded


def automount_by_an_agent(world, user):
    """Nor for the names in an agent's command, in its folder or in its patch."""
    folder = user.outside / "told"
    folder.mkdir()
    if without_asking(world, user, folder, "true", user.work) is None:
        return
    requests = [("initialize", {"protocol_version": 2}), ("configure_session", {"approval": "never"}),
                ("exec", {"command": [f"{folder}/program.test/x"]}),
                ("exec", {"command": ["sh", "-c", f"echo >{folder}/write.test/x; {folder}/inner.test/x; mkdir {folder}/mkdir.test"]}),
                ("exec", {"command": ["true"], "cwd": f"{folder}/cwd.test"}),
                ("request_patch_approval", {"files": [f"{folder}/patch.test/x", f"{folder}/patch2.test"]})]
    with beside_automount(user, folder, [world.sallyport, "agent", "--default", "deny"], user.work, stdin=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        out = ""
        for id, (method, params) in enumerate(requests):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
            process.stdin.flush()
            while line := process.stdout.readline():
                out += line
                if f'"id":{id},"result"' in line or f'"id":{id},"error"' in line:
                    break
        process.stdin.close()
        out += process.stdout.read()
    must('"id":5,"result"' in out and not names_asked_for(out), out)


cases = [
    ("hidden-file", hidden_file),
    ("hidden-above", hidden_above),
    ("hidden-directory", hidden_directory),
    ("read-only", read_only),
    ("git-checkout", git_checkout),
    ("many-folders", many_folders),
    ("what-goes-on", what_goes_on),
    ("absent-is-not-made", absent_is_not_made),
    ("absent-appears", absent_appears),
    ("absent-in-a-folder-made-again", absent_in_a_folder_made_again),
    ("absent-with-neighbours", absent_with_neighbours),
    ("absent-in-a-busy-folder", absent_in_a_busy_folder),
    ("absent-by-another-way", absent_by_another_way),
    ("linked-policy", linked_policy),
    ("automount", automount),
    ("automount-by-the-gate", automount_by_the_gate),
    ("automount-by-an-agent", automount_by_an_agent),
    ("linked-in-a-large-folder", linked_in_a_large_folder),
    ("links-made-inside", links_made_inside),
    ("mounted-twice", mounted_twice),
    ("opened-by-another-mount", opened_by_another_mount),
    ("mounted-volumes", mounted_volumes),
    ("protected-in-volumes", protected_in_volumes),
]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
