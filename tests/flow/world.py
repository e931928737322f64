"""world: the environment of a scenario: a network namespace with lo only, addresses that the policy treats as public ones,
its own folders, and the gates that run in it."""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import traceback

IN_NAMESPACE = "SALLYPORT_TEST_NAMESPACE"
NETWORK = "50.0.0"  # public by every registry; here it is on lo, and nothing but lo exists
PR_SET_CHILD_SUBREAPER = 36
SKIP = 77  # meson's word for a skipped test


def enter_namespace():
    """Starts this program again in its own network namespace; skips the test if the kernel refuses one."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if IN_NAMESPACE not in os.environ:
        how = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-Urn"]
        tried = subprocess.run([*how, "unshare", "-U", "true"], capture_output=True, text=True)
        if tried.returncode:
            print(f"skip: no namespaces here: {tried.stderr.strip()}\n0 passed, 0 failed, 1 skipped")
            sys.exit(SKIP)
        os.environ[IN_NAMESPACE] = "1"
        os.execvp(how[0], [*how, sys.executable, *sys.argv])
    ip("link", "set", "lo", "up")
    ip("route", "add", "local", f"{NETWORK}.0/24", "dev", "lo")
    become_subreaper()


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def become_subreaper():
    """Makes orphans our children, so that a test can check that no process is left, and none outlives us."""
    import ctypes
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def processes():
    """{pid: (parent, name, state)} of every process that can be seen."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        if not stat:
            continue  # it ended while it was read
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        rest = stat[stat.rindex(")") + 2:].split()
        found[int(entry.name)] = (int(rest[1]), name, rest[0])
    return found


def descendants(root):
    """Living processes under @root: {pid: name}."""
    known = processes()
    under, grew = {root}, True
    while grew:
        new = {pid for pid, (parent, _, _) in known.items() if parent in under} - under
        under |= new
        grew = bool(new)
    return {pid: known[pid][1] for pid in under - {root} if known[pid][2] not in "ZX"}


def reap():
    """Waits for orphans that have ended; never for the child of a Popen object, which waits for it itself."""
    owned = {gate.process.pid for gate in Gate.all}
    for pid, (parent, _, state) in processes().items():
        if parent == os.getpid() and state == "Z" and pid not in owned:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def is_filtered(pid):
    return "Seccomp:\t2" in pathlib.Path(f"/proc/{pid}/status").read_text()


def until(condition, seconds, what):
    """Waits for @condition() to become true and returns its value; says @what never happened."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} (waited {seconds:g} s)")
        time.sleep(0.03)


class Gate:
    """One `sallyport run`."""
    all = []

    def __init__(self, world, options, script, name):
        self.name, self.world = name, world
        self.out, self.err = world.top / f"{name}.out", world.top / f"{name}.err"
        command = [world.sallyport, "run", *options, "--", "sh", "-c", script]
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = self.begin(command, out, err)
        Gate.all.append(self)

    def begin(self, command, out, err):
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.world.env,
                                cwd=self.world.work)

    def wait(self, seconds=60):
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {seconds} s") from None
        return status if status >= 0 else 128 - status

    def text(self, stream):
        return (self.out if stream == "out" else self.err).read_text(errors="replace")

    def worker(self):
        """The process with the listeners: a direct child in the gate's own network namespace, confined already. The gate's other children have other
        names, soon after they begin."""
        ours = os.readlink("/proc/self/ns/net")
        for pid, (parent, _, _) in processes().items():
            try:
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                if parent == self.process.pid and name == "sallyport" and is_filtered(pid) and os.readlink(f"/proc/{pid}/ns/net") == ours:
                    return pid
            except OSError:
                continue
        raise AssertionError(f"{self.name} has no worker")


class UserGate(Gate):
    """One `sallyport run` of a user without any right, as which root by name only never is: in one more user namespace, where
    we are 1000 and init's files belong to a root that is nobody here."""

    def begin(self, command, out, err):
        return super().begin(["unshare", "--user", "--map-user=1000", "--map-group=1000", *command], out, err)


class TerminalGate(Gate):
    """One `sallyport run` on its own terminal, which answers a status request as a real one does."""

    def begin(self, command, out, err):
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        process = subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, cwd=self.world.work,
                                   env={**self.world.env, "TERM": "xterm"}, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(inner)
        threading.Thread(target=self.show, daemon=True).start()
        return process

    def show(self):
        with open(self.out, "ab", 0) as out:
            while True:
                try:
                    data = os.read(self.terminal, 65536)
                except OSError:  # EIO: the last process has closed it
                    return
                out.write(data)
                if b"\x1b[5n" in data:
                    self.press("\x1b[0n")

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def text(self, stream):
        """The output, without the sequences that move the cursor or change colours."""
        text = re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])", "", super().text(stream))
        return text.replace("\r", "")


def is_published(path):
    """A ring has nothing that its gate has not read; a segment is empty."""
    try:
        if path.name.startswith("ring."):
            kept, written = struct.unpack("QQ", path.read_bytes()[16:32])
            return kept == written
        return path.stat().st_size <= 480
    except FileNotFoundError:
        return True


def published(state):
    """Waits until all records of runs are in the log, or their runs have ended."""
    folder, deadline = pathlib.Path(state) / "sallyport" / "audit", time.monotonic() + 2
    while time.monotonic() < deadline and not all(is_published(path) for path in folder.glob("*.*")):
        time.sleep(0.01)


def told(text):
    """The records of runs in the text of a log: without those that sign it (tests/cli/sign.py)."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [record for record in found if record["event"] != "checkpoint"]


class World:
    def __init__(self, sallyport):
        self.sallyport = os.path.abspath(sallyport)
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-test-"))
        self.work = self.top / "work"
        self.work.mkdir()
        self.audit = self.top / "audit.jsonl"
        # Remove the developer's settings: proxies, certificates and configurations of the machine must not affect the test.
        kept = ("PATH", "CI", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env |= {"HOME": str(self.top / "home"), "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PIP_CONFIG_FILE": "/dev/null"}
        for name in ("home", "runtime", "state", "config"):
            (self.top / name).mkdir(mode=0o700)
        self.env |= {"XDG_RUNTIME_DIR": str(self.top / "runtime"), "XDG_STATE_HOME": str(self.top / "state"),
                     "XDG_CONFIG_HOME": str(self.top / "config")}
        self.addresses = 9
        self.watchers = []

    def new_address(self):
        self.addresses += 1
        return f"{NETWORK}.{self.addresses}"

    def sally(self, *words, check=False):
        run = subprocess.run([self.sallyport, *words], env=self.env, capture_output=True, text=True, timeout=30,
                             cwd=self.top, stdin=subprocess.DEVNULL)
        if check and run.returncode:
            raise AssertionError(f"sallyport {' '.join(words)}: {run.returncode}: {run.stderr or run.stdout}")
        return run

    def questions(self):
        """The open questions according to `approve list --json`: [{id, protocol, host, port, waiting, commands}]"""
        text = self.sally("approve", "list", "--json").stdout.strip()
        if not text:
            return []
        try:
            listed = json.loads(text)
        except ValueError:
            listed = [json.loads(line) for line in text.splitlines()]
        return listed if isinstance(listed, list) else [listed]

    def records(self):
        if not self.audit.exists():
            return []
        self.sally("audit", "merge", str(self.audit))  # what killed runs left
        published(self.top / "state")
        return told(self.audit.read_text())

    def attach(self):
        """Starts a watcher, so that the gate has an approver to ask."""
        with open(self.top / "watch.out", "ab") as out:
            self.watchers.append(subprocess.Popen([self.sallyport, "approve", "watch", "--json"], env=self.env,
                                                  stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.top))

    def close(self, keep=False):
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not keep:
            shutil.rmtree(self.top, ignore_errors=True)


def play_cases(cases, new_stage):
    """The cases that the command line names, or all; each on a stage of its own, which has close(). The exit status."""
    wanted, failed = sys.argv[2:], 0
    cases = [case for case in cases if not wanted or case.__name__ in wanted]
    for case in cases:
        stage = new_stage(os.path.abspath(sys.argv[1]))
        try:
            case(stage)
        except Exception:
            failed += 1
            print(f"not ok  {case.__name__}\n{traceback.format_exc()}")
        finally:
            stage.close()
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0
