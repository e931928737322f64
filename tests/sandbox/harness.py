"""harness: folders, users and runs that the sandbox tests share. Prints one line per case, then "N passed, N failed, N skipped"."""
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

PR_SET_CHILD_SUBREAPER = 36
OTHER_UID = 61234  # nobody's: what an ordinary user is, when the tests run as root
NO_SANDBOX = 125
SKIP = 77  # meson's word for a skipped test


class Skip(Exception):
    """The case needs something that this machine does not have."""


class Failed(Exception):
    """The case found an error."""


def must(condition, *words):
    if not condition:
        raise Failed(" ".join(str(word) for word in words))


def descendants():
    """{pid: command line} of every process below this one. It is a subreaper, so no process that was started can leave the tree."""
    parents, found = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry.name)] = (int(fields[1]), words.strip() or "?")
    for pid in parents:
        above = pid
        while above in parents and above != os.getpid():
            above = parents[above][0]
        if above == os.getpid() and pid != os.getpid():
            found[pid] = parents[pid][1]
    return found


def reap():
    """Waits for orphans that became our children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def wait_for(condition, seconds=60.0):
    """Polls @condition(); returns its last value."""
    until = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return value


def nothing_left(but=(), seconds=60.0):
    """Waits until no process is below this one, except @but; returns those that remain."""
    left = {}

    def is_empty():
        nonlocal left
        left = {pid: words for pid, words in descendants().items() if pid not in but}
        return not left
    wait_for(is_empty, seconds)
    return left


class User:
    """The user of a sandbox, with folders: work (the working directory), home, outside (readable inside, never writable)."""

    def __init__(self, name, uid, base):
        self.name, self.uid, self.base = name, uid, base / name
        self.work, self.home, self.outside = (self.base / part for part in ("work", "home", "outside"))
        self.runtime = self.base / "runtime"
        for path in (self.base, self.work, self.home, self.outside, self.runtime):
            path.mkdir()
            self.own(path)
            path.chmod(0o700 if path == self.runtime else 0o755)

    def own(self, path):
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)

    def file(self, path, text="content\n"):
        """Makes a file of this user's, and the folders above it."""
        path = pathlib.Path(path)
        for folder in reversed(path.parents):
            if not folder.exists():
                folder.mkdir()
                self.own(folder)
        path.write_text(text)
        self.own(path)
        return path

    def ids(self):
        """For subprocess: changes to this user."""
        if os.geteuid() != 0 or self.uid == 0:
            return {}
        return {"user": self.uid, "group": self.uid, "extra_groups": []}

    def environment(self):
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8",
                "XDG_RUNTIME_DIR": str(self.runtime), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "")}


def where_they_wait():
    """What each process below this one waits for, in one line: a run that hangs is rare, and this is all that is left of it."""
    def text(pid, name):
        try:
            return pathlib.Path(f"/proc/{pid}/{name}").read_text(errors="replace").strip()
        except OSError:
            return "?"

    return "; ".join(f"{text(pid, 'comm')} {text(pid, 'wchan')} call {text(pid, 'syscall').partition(' ')[0]}" for pid in descendants())


class World:
    def __init__(self, sallyport, hostile=None):
        # Not below /tmp, which is fresh inside; in a folder that every user can enter.
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-test-", dir="/var/tmp"))
        self.base.chmod(0o755)
        self.sallyport = self.copy(sallyport, "sallyport")
        self.hostile = self.copy(hostile, "hostile") if hostile else None
        own = User("own", os.geteuid(), self.base)
        self.users = [own, User("other", OTHER_UID, self.base)] if os.geteuid() == 0 else [own]
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def copy(self, program, name):
        shutil.copy(program, self.base / name)
        (self.base / name).chmod(0o755)
        return self.base / name

    def argv(self, command, options=()):
        return [str(self.sallyport), "run", "--no-tty", "--default", "deny", "--report", "none", *map(str, options),
                "--", *map(str, command)]

    def start(self, user, command, options=(), env=None, **how):
        """A running sallyport of @user, in its work folder."""
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("cwd", user.work)
        return subprocess.Popen(self.argv(command, options), env={**user.environment(), **(env or {})},
                                **user.ids(), **how)

    def run(self, user, command, options=(), env=None, timeout=60, data=None, **how):
        """Waits for its end; returns its exit status and output."""
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        if data is not None:
            how["stdin"] = subprocess.PIPE
        process = self.start(user, command, options, env, **how)
        try:
            out, err = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            waits = where_they_wait()
            process.kill()
            process.wait()
            raise Failed(f"took longer than {timeout} s: {waits}") from None
        return subprocess.CompletedProcess(command, process.returncode, out or b"", err or b"")

    def trust(self, user, policy):
        """Trusts the file as a person would, although a command could write it."""
        done = subprocess.run([str(self.sallyport), "policy", "trust", str(policy)], env=user.environment(), capture_output=True, **user.ids())
        must(done.returncode == 0, done.stderr)

    def case(self, user, name, function):
        """Runs the case and prints its line."""
        try:
            function(self, user)
            word, why = "passed", ""
        except Skip as reason:
            word, why = "skipped", f": {reason}"
        except Failed as reason:
            word, why = "failed", f": {reason}"
        except Exception:  # a broken test is a failed one
            word, why = "failed", ": " + traceback.format_exc()
        self.counts[word] += 1
        print(f"{word} {user.name}/{name}{why}", flush=True)

    def has_namespaces(self, user):
        """Can @user make namespaces on this machine? Checked without the program under test."""
        try:
            done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "true"],
                                  cwd=user.work, env=user.environment(), capture_output=True, timeout=60, **user.ids())
        except OSError:
            return True  # nobody can tell: then it is the program that has to say so
        return done.returncode == 0

    def possible(self):
        """Can this machine make the sandbox for every user? Prints why not. If it has all that is needed, a failure is an error."""
        for user in self.users:
            done = self.run(user, ["true"])
            why = done.stderr.decode(errors="replace").strip()
            if done.returncode == NO_SANDBOX and not self.has_namespaces(user):
                print(f"skipped {user.name}: no sandbox here: {why}")
                return False
            if done.returncode:
                print(f"failed {user.name}: `true` gave {done.returncode}: {why}")
                self.counts["failed"] += 1
        return True

    def end(self):
        for pid in nothing_left(seconds=1):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        reap()
        shutil.rmtree(self.base, ignore_errors=True)
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**self.counts))
        return 1 if self.counts["failed"] or not self.counts["passed"] else 0


def main(cases, arguments):
    """Runs each case of @cases as each user; a name after the programs on the command line runs only that case, -NAME all others."""
    if len(sys.argv) < arguments + 1:
        sys.exit(f"usage: {sys.argv[0]} SALLYPORT{' HOSTILE' if arguments == 2 else ''} [CASE...|-CASE...]")
    programs, names = sys.argv[1:arguments + 1], sys.argv[arguments + 1:]
    only, but = [name for name in names if name[0] != "-"], [name[1:] for name in names if name[0] == "-"]
    if unknown := {*only, *but} - {name for name, _ in cases}:
        sys.exit(f"no such case: {' '.join(sorted(unknown))}")
    if missing := [program for program in programs if not os.path.exists(program)]:
        sys.exit(f"not built: {' '.join(missing)}")
    world = World(*programs)
    try:
        if not world.possible():
            shutil.rmtree(world.base, ignore_errors=True)
            print("0 passed, 0 failed, 1 skipped")
            return SKIP
        for user in world.users:
            for name, function in cases:
                if name not in but and (not only or name in only):
                    world.case(user, name, function)
    finally:
        status = world.end()
    return status
