#!/usr/bin/env python3
"""trust: a policy that a command could write is used with the contents of its first use, or with trusted contents.

usage: trust.py SALLYPORT [CASE...]"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from harness import descendants, main, must, wait_for

REFUSED = 3
NARROW, WIDE = "version 1\ndeny *\n", "version 1\nallow evil.test\n"


def fresh(user, name):
    """A folder with its own state, which no command has been able to write."""
    work = user.work / f"trust-{name}"
    shutil.rmtree(work, ignore_errors=True)
    shutil.rmtree(user.home / "state", ignore_errors=True)
    work.mkdir()
    user.own(work)
    return work


def state(user):
    return {"XDG_STATE_HOME": str(user.home / "state")}


def run(world, user, work, policy, text="true"):
    done = world.run(user, ["sh", "-c", text], ["--policy", policy] if policy else [], cwd=work, env=state(user))
    must(done.returncode in (0, REFUSED), f"exit {done.returncode}", done.stderr)
    return done.returncode, done.stderr.decode()


def counts(world, user, work, policy, text="true"):
    status, said = run(world, user, work, policy, text)
    must(status == 0, "it was refused:", said)
    return said


def refused(world, user, work, policy, why="has changed"):
    status, said = run(world, user, work, policy, "touch ran")
    must(status == REFUSED and why in said and not (work / "ran").exists(), f"exit {status}:", said)
    return said


def trust(world, user, work, policy):
    done = subprocess.run([world.sallyport, "policy", "trust", policy], cwd=work, env={**user.environment(), **state(user)},
                          capture_output=True, text=True, **user.ids())
    must(done.returncode == 0, done.stderr)


def first_use(world, user):
    work = fresh(user, "first")
    policy = user.file(work / "team.policy", NARROW)
    must("from now on it counts only as it is now" in counts(world, user, work, "team.policy"), "nobody was told")
    must("from now on" not in counts(world, user, work, policy), "told twice")
    counts(world, user, work, "./x/../team.policy" if (work / "x").mkdir() or user.own(work / "x") else "")


def refused_run(world, user):
    """A run that is refused is no first use: nothing is said of the policy, and it may change."""
    work = fresh(user, "refused")
    policy = user.file(work / "team.policy", NARROW)
    for options in (["--write", "/"], ["--write", "missing"], ["--dry-run"]):
        done = world.run(user, ["touch", "ran"], [*options, "--policy", policy], cwd=work, env=state(user))
        said = done.stderr.decode()
        must((done.returncode != 0) == ("--write" in options) and "from now on" not in said and not (work / "ran").exists(), options, done.returncode, said)
        policy = user.file(policy, NARROW + "# changed\n")
    must("from now on it counts only as it is now" in counts(world, user, work, policy), "nobody was told")


def busy_folder(world, user):
    """Other programs change the folder while a policy in it is used for the first time. None of them is a command."""
    for number in range(5):
        work = fresh(user, f"busy-{number}")
        user.file(work / "conf/team.policy", NARROW)
        busy = subprocess.Popen(["sh", "-c", "while :; do : >x; rm x; done"], cwd=work / "conf", **user.ids())
        try:
            must("from now on it counts only as it is now" in counts(world, user, work, "conf/team.policy"), "nobody was told")
        finally:
            busy.kill()
            busy.wait()


def same_inode(world, user):
    """A new folder that got the inode of one which a command could write, and which is gone, is not that folder."""
    old = fresh(user, "inode-old")
    counts(world, user, old, None, "true")
    shutil.rmtree(old)
    new = user.work / "trust-inode-new"
    shutil.rmtree(new, ignore_errors=True)
    user.file(new / "team.policy", NARROW)
    listed = next(user.home.rglob("reached"))
    made = new.stat()
    before = listed.read_text()
    lines = [line.split(" ", 3) for line in before.splitlines() if line.endswith(f" {old}")]
    must(len(lines) == 1, before)
    since, _, key, path = lines[0]
    born = key.split(":")[2]

    def listed_as(born):
        listed.write_text(before.replace(f"{since}  {key} {path}", f"{since}  {made.st_dev}:{made.st_ino}:{born} {path}"))

    listed_as("0")  # a file system that does not say when a folder was made: it may be that one
    refused(world, user, user.outside, new / "team.policy", "it has not been trusted")
    if born != "0":
        listed_as(born)
        counts(world, user, user.outside, new / "team.policy")


def written_by_another_run(world, user):
    """The run that writes it does not know that it is a policy."""
    work = fresh(user, "written")
    policy = user.file(work / "conf/team.policy", NARROW)
    counts(world, user, work, policy)
    counts(world, user, work, None, "echo 'allow evil.test' >>conf/team.policy")
    must(policy.read_text() != NARROW, "nothing was tried")
    said = refused(world, user, work, "conf/team.policy")
    must("sallyport policy trust conf/team.policy" in said, said)
    refused(world, user, work, "conf/../conf/team.policy")
    trust(world, user, work, "conf/team.policy")
    counts(world, user, work, policy)
    user.file(policy, NARROW)  # as it was noted, but a person has trusted another one
    refused(world, user, work, policy)


def planted(world, user):
    """Made by a run, before its first use: also by moving a file that is older than the run."""
    work = fresh(user, "planted")
    user.file(work / "vendor/it/team.policy", WIDE)
    user.file(work / "vendor/old.policy", WIDE)
    user.file(work / "linked", WIDE)
    counts(world, user, work, None, "echo version 1 >made.policy; mv vendor/old.policy moved.policy; mv vendor/it conf; ln linked link.policy")
    for name in ("made.policy", "moved.policy", "conf/team.policy", "link.policy", "linked"):
        refused(world, user, work, name, "it has not been trusted")
    trust(world, user, work, "moved.policy")
    counts(world, user, work, "moved.policy")


def other_folders(world, user):
    """The run that uses it cannot write it, but an earlier one could; the folder may have another name by now."""
    work = fresh(user, "other")
    user.file(work / "in/x")
    counts(world, user, work, None, "echo version 1 >made.policy")
    refused(world, user, work / "in", "../made.policy", "it has not been trusted")
    refused(world, user, user.outside, work / "made.policy", "it has not been trusted")
    moved = user.work / "trust-other-2"
    shutil.rmtree(moved, ignore_errors=True)
    work.rename(moved)
    refused(world, user, user.outside, moved / "made.policy", "it has not been trusted")
    shutil.rmtree(moved)


def links(world, user):
    """A policy cannot be named through a link that a command may replace; a hard link may lead to a policy in another place."""
    work = fresh(user, "links")
    policy = user.file(work / "wide.policy", WIDE)
    trust(world, user, work, policy)
    counts(world, user, work, policy)
    os.symlink("wide.policy", work / "team.policy")
    os.symlink(".", work / "here")
    for name in ("team.policy", "here/team.policy"):
        status, said = run(world, user, work, name)
        must(status == REFUSED and "symbolic link" in said, said)
    counts(world, user, work, None)
    status, said = run(world, user, user.outside, work / "team.policy")
    must(status == REFUSED and "symbolic link" in said, said)
    os.symlink(work / "here", user.outside / "there")
    status, said = run(world, user, user.work / "trust-links", user.outside / "there/team.policy")
    must(status == REFUSED and "symbolic link" in said, said)
    (user.outside / "there").unlink()
    kept = user.file(user.outside / "kept.policy", NARROW)
    os.link(kept, work / "kept")
    refused(world, user, work, kept, "it has not been trusted")
    kept.unlink()


def included(world, user):
    """Files that a policy includes are in reach as well: changed, or replaced."""
    work = fresh(user, "included")
    user.file(work / "conf/more.policy", NARROW)
    user.file(work / "conf/wide.policy", WIDE)
    policy = user.file(work / "conf/team.policy", 'version 1\ninclude "more.policy"\n')
    counts(world, user, work, policy)
    counts(world, user, work, "conf/wide.policy")
    counts(world, user, work, None, "cp conf/wide.policy conf/more.policy")
    refused(world, user, work, policy)
    user.file(work / "conf/more.policy", NARROW)
    counts(world, user, work, policy)
    counts(world, user, work, None, "ln -sf wide.policy conf/more.policy")
    status, said = run(world, user, work, policy)
    must(status == REFUSED and "symbolic link" in said, said)


def swapped(world, user):
    """Another folder, with a trusted policy of its own, takes the place of this one."""
    work = fresh(user, "swapped")
    policy = user.file(work / "a/team.policy", NARROW)
    counts(world, user, work, policy)
    user.file(work / "b/team.policy", WIDE)
    trust(world, user, work, "b/team.policy")
    counts(world, user, work, "b/team.policy")
    counts(world, user, work, None, "mv a c; mv b a")
    refused(world, user, work, policy)


def users_own(world, user):
    """The user's policy: in a folder that a command has made, or that it could write before the user put it there; by a link."""
    def run_as(config, options=(), text="true"):
        done = world.run(user, ["sh", "-c", text], options, cwd=work, env={**state(user), "XDG_CONFIG_HOME": str(config)})
        return done.returncode, done.stderr.decode()

    work = fresh(user, "user")
    user.file(work / "dots/sallyport/policy", NARROW)
    user.file(work / "in-use/sallyport/policy", NARROW)
    status, said = run_as(work / "in-use", text="mkdir -p made/sallyport linked; echo version 1 | tee made/sallyport/policy linked/policy;"
                          "echo 'allow evil.test' >>dots/sallyport/policy; ! echo >in-use/sallyport/policy 2>/dev/null")
    must(status == 0 and (work / "made/sallyport/policy").exists() and "counts only as it is" not in said, f"exit {status}:", said)
    # The folder was hidden in every run that could write around it, so it needs no trust.
    for text in (NARROW, WIDE, NARROW):
        user.file(work / "in-use/sallyport/policy", text)
        status, said = run_as(work / "in-use", ["--write", work])
        must(status == 0 and "counts only as it is" not in said, f"exit {status}:", said)
    link = user.base / "link"
    shutil.rmtree(link, ignore_errors=True)
    link.mkdir()
    os.symlink(work / "linked", link / "sallyport")
    for config in (work / "made", work / "dots", link):
        status, said = run_as(config)
        must(status == REFUSED and "it has not been trusted" in said, config, f"exit {status}:", said)
        trust(world, user, work, (config / "sallyport/policy").resolve())
        status, said = run_as(config)
        must(status == 0, config, f"exit {status}:", said)
    # In these runs others were hidden.
    user.file(work / "in-use/sallyport/policy", WIDE)
    status, said = run_as(work / "in-use")
    must(status == REFUSED and "it has not been trusted" in said, f"exit {status}:", said)


def out_of_reach(world, user):
    """Files that no command could write can be changed freely."""
    work = fresh(user, "out")
    policy = user.file(user.outside / "mine.policy", NARROW)
    for text in (NARROW, WIDE, NARROW):
        user.file(policy, text)
        must("counts only as it is" not in counts(world, user, work, policy), "a word about what is nobody's else")
    policy.unlink()


def unattended(world, user):
    """A checkout, and a machine that has never seen it: steps with and without a policy need no person."""
    work = fresh(user, "ci")
    policy = user.file(work / "ci.policy", NARROW)
    counts(world, user, work, None, "echo built >out")
    counts(world, user, work, "ci.policy")
    counts(world, user, work, policy, "echo again >out")


def two_at_once(world, user):
    """Runs that start at the same time all keep their records."""
    work = fresh(user, "many")
    names = [f"{i}.policy" for i in range(6)]
    for name in names:
        user.file(work / name, NARROW)
    runs = [world.start(user, ["true"], ["--policy", name], env=state(user), cwd=work, stderr=subprocess.PIPE) for name in names]
    for process in runs:
        said = process.communicate(timeout=60)[1]
        must(process.returncode == 0, said)
    for name in names:
        user.file(work / name, WIDE)
        refused(world, user, work, name)


def occurrences(pid, text):
    """How often the memory of a process holds @text; None: this user may not read it."""
    count = 0
    try:
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                ends, rights = line.split()[:2]
                first, last = (int(end, 16) for end in ends.split("-"))
                if not rights.startswith("rw") or last - first > 1 << 28:
                    continue
                try:
                    memory.seek(first)
                    count += memory.read(last - first).count(text)
                except (OSError, OverflowError, ValueError):
                    continue
    except PermissionError:
        return None
    return count


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as name:
            return name.read().strip()
    except OSError:
        return ""


def worker_has_no_key(world, user):
    """The worker reads what the command sends. What answers questions on the page is not in its memory, nor in another child's, nor in
    that of the worker that follows it."""
    process = world.start(user, ["sh", "-c", "echo ready; sleep 300"], ["--web"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said = process.stderr.readline()
        must(b"/#" in said and process.stdout.readline() == b"ready\n", said)
        key = said.strip().rsplit(b"#", 1)[1]
        own = occurrences(process.pid, key)
        must(own is None or own > 0, "the search does not find it where it is")
        children = [pid for pid in descendants() if pid != process.pid]
        must(len(children) >= 4, "worker, process for calls, init, command:", children)
        found = {pid: occurrences(pid, key) for pid in children}
        must(not any(found.values()), found)
        workers = [pid for pid in children if name_of(pid) == "sallyport"]
        must(len(workers) == 1, "workers:", workers)
        os.kill(workers[0], signal.SIGSEGV)
        more = wait_for(lambda: [pid for pid in descendants() if name_of(pid) == "sallyport" and pid not in (process.pid, workers[0])], 20)
        must(more, "no worker follows")
        must(not any(occurrences(pid, key) for pid in more), "the next worker has it")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    must(wait_for(lambda: not descendants()), "left:", descendants())


def explains(world, user, work, policy, host, **env):
    """Does the policy allow @host? And what was said."""
    done = subprocess.run([world.sallyport, "policy", "explain", "--policy", policy, f"https://{host}"], cwd=work, capture_output=True,
                          text=True, env={**user.environment(), **state(user), **env}, **user.ids(), check=False)
    must(done.returncode in (0, 1), done.returncode, done.stderr)
    return done.returncode == 0, done.stderr


def configured(world, user):
    """What a command could write, or lead to by a link, does not say what `configured` stands for."""
    work = fresh(user, "configured")
    policy = user.file(user.outside / "npm.policy", "version 1\ndefault deny\nallow configured npm\n")
    kept = user.file(user.outside / "kept.npmrc", "registry=https://kept.test/\n")

    def allows(host, work=work, **env):
        return explains(world, user, work, policy, host, **env)

    # a link that came with the folder
    os.symlink(kept, work / ".npmrc")
    is_allowed, said = allows("kept.test")
    must(not is_allowed and ".npmrc: not read, because it is a link" in said, said)
    for target in (".npmrc", "/dev/zero"):
        (work / ".npmrc").unlink()
        os.symlink(target, work / ".npmrc")
        must(not allows("kept.test")[0], "a command could make the policy an error")
    # a link into a cache, which no option names
    (work / ".npmrc").unlink()
    counts(world, user, work, None, "echo registry=https://evil.test/ >$XDG_CACHE_HOME/npmrc")
    cached, = (user.home / "state/sallyport/caches").glob("*/xdg/npmrc")
    os.symlink(cached, work / ".npmrc")
    must(not allows("evil.test")[0], "the cache of a command counts")
    must(not allows("evil.test", npm_config_userconfig=str(cached))[0], "also by its own name")
    # a file of the user's that an earlier run could write
    (work / ".npmrc").unlink()
    name = str(user.file(user.outside / "cfg/npmrc", "registry=https://first.test/\n"))
    done = world.run(user, ["true"], ["--write", str(user.outside / "cfg")], cwd=work, env=state(user))
    must(done.returncode == 0 and allows("first.test", npm_config_userconfig=name)[0], "it is as it was before", done.stderr)
    done = world.run(user, ["sh", "-c", f"echo registry=https://evil.test/ >{name}"], ["--write", str(user.outside / "cfg")], cwd=work,
                     env=state(user))
    must(done.returncode == 0 and "evil" in pathlib.Path(name).read_text(), done.stderr)
    must(not allows("evil.test", npm_config_userconfig=name)[0], "a command has written it")
    must(not allows("evil.test", user.outside, npm_config_userconfig=name)[0], "a command has written it")
    # npm itself, which reads the file that is left out
    npm = user.file(user.outside / "bin/npm", "#!/bin/sh\nsed s/registry=// $HOME/.npmrc\n")
    npm.chmod(0o755)
    user.file(user.home / ".npmrc", "registry=https://evil.test/\n")
    is_allowed, said = allows("evil.test", user.home, PATH=f"{npm.parent}:/usr/bin:/bin")
    must(not is_allowed and "npm was not asked" in said, said)
    (user.home / ".npmrc").unlink()
    user.file(work / ".npmrc", "save-exact=true\n")
    npm.write_text("#!/bin/sh\necho https://built-in.test/\n")
    must(allows("built-in.test", PATH=f"{npm.parent}:/usr/bin:/bin")[0], "it is asked where the project's file does not count")


def redirected(world, user):
    """A command cannot turn a path that a later run may write or read into a link to another place."""
    work = fresh(user, "redirected")
    target = user.file(user.outside / "target/file").parent
    before = user.outside / "before"
    os.symlink(target, before)
    counts(world, user, work, None, f"ln -s {target} out; mkdir -p deep; ln -s {target} deep/out")
    for what in ("write", "read"):
        policy = user.file(user.outside / f"{what}.policy", f"{what} {work}/out\n")
        for cwd in (work, user.outside):
            for options in ((f"--{what}", str(work / "out")), (f"--{what}", str(work / "deep/out")), ("--policy", str(policy))):
                done = world.run(user, ["touch", str(work / "ran")], options, cwd=cwd, env=state(user))
                must(done.returncode == REFUSED and b"could redirect it" in done.stderr, options, done.returncode, done.stderr)
    for option in ("--audit", "--junit", "--bundle"):
        done = world.run(user, ["touch", "ran"], ["--fail-on-ask", option, "out/result"], cwd=work, env=state(user))
        must(done.returncode == REFUSED and b"could redirect it" in done.stderr, option, done.returncode, done.stderr)
    must(not (work / "ran").exists() and not (target / "result").exists(), "it ran")
    done = world.run(user, ["touch", str(before / "new")], ["--write", str(before)], cwd=work, env=state(user))
    must(done.returncode == 0 and (target / "new").exists(), "a link of the user's:", done.stderr)
    before.unlink()


def programs(world, user):
    """No program is run outside of the sandbox that an earlier command could write: not to ask a tool, and not to judge."""
    work = fresh(user, "programs")
    policy = user.file(user.outside / "npm.policy", "version 1\ndefault deny\nallow configured npm\n")
    script = "#!/bin/sh\\ntouch {}/ran\\necho https://evil.test/\\n".format(user.outside)
    counts(world, user, work, None, f"mkdir bin; printf '{script}' >bin/npm; chmod +x bin/npm; cp bin/npm bin/judge")
    path = f"{work}/bin:/usr/bin:/bin"
    must(not explains(world, user, user.outside, policy, "evil.test", PATH=path)[0], "it was asked")
    done = world.run(user, ["true"], ["--reviewer", str(work / "bin/judge")], cwd=user.outside, env=state(user))
    must(done.returncode == 2 and b"could write" in done.stderr, done.returncode, done.stderr)
    must(not (user.outside / "ran").exists(), "it ran")


cases = [
    ("first-use", first_use),
    ("refused-run", refused_run),
    ("busy-folder", busy_folder),
    ("same-inode", same_inode),
    ("written-by-another-run", written_by_another_run),
    ("planted", planted),
    ("other-folders", other_folders),
    ("links", links),
    ("included", included),
    ("swapped", swapped),
    ("users-own", users_own),
    ("out-of-reach", out_of_reach),
    ("unattended", unattended),
    ("configured", configured),
    ("redirected", redirected),
    ("programs", programs),
    ("two-at-once", two_at_once),
    ("worker-has-no-key", worker_has_no_key),
]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
