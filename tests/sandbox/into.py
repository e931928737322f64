#!/usr/bin/env python3
"""into: `exec --into` runs a command in the sandbox of a run: with the same restrictions as the run's own, nothing of the caller's but
its 0-2, and never from inside a sandbox.

usage: into.py SALLYPORT HOSTILE [CASE...]"""
import fcntl
import json
import os
import pty
import resource
import select
import signal
import socket
import subprocess
import sys
import termios

from harness import NO_SANDBOX, SKIP, Failed, Skip, main, must, nothing_left, wait_for
from outside import Outside

LONG = 120  # seconds, for what takes milliseconds on an idle machine
MOST = 16   # EXEC_INTO_MAX
GATE_PORTS = ("61128", "61080")
HELD = ["raw", "families", "netlink", "interfaces", "io-uring", "shrinking", "new-namespaces", "enter-namespaces", "mounts", "surface", "personalities",
        "other-tables", "own-filter", "read-init", "trace-init", "capabilities", "other-ids", "leases", "kernel-files"]


class Run:
    """A run whose command waits until the end of the with block."""

    def __init__(self, world, user, *options, command=("sleep", "600"), env=None, how=None):
        self.world, self.user = world, user
        self.log = user.base / f"audit-{os.urandom(6).hex()}.jsonl"
        before = set(self.sockets())
        self.process = world.start(user, command, ["--audit", self.log, *options], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **(how or {}))
        new = wait_for(lambda: set(self.sockets()) - before or self.process.poll() is not None)
        must(new and new is not True, "the run has no socket")
        self.id = new.pop().removesuffix(".into")

    def sockets(self):
        folder = self.user.runtime / "sallyport"
        return [path.name for path in folder.glob("*.into")] if folder.exists() else []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=LONG)

    def argv(self, *command):
        return [str(self.world.sallyport), "exec", "--into", self.id, "--", *map(str, command)]

    def start(self, *command, env=None, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("stderr", subprocess.PIPE)
        how.setdefault("cwd", "/")
        return subprocess.Popen(self.argv(*command), env={**self.user.environment(), **(env or {})}, **{**self.user.ids(), **how})

    def exec(self, *command, data=None, **how):
        if data is not None:
            how["stdin"] = subprocess.PIPE
        process = self.start(*command, **how)
        out, err = process.communicate(data, timeout=LONG)
        return subprocess.CompletedProcess(command, process.returncode, out or b"", err or b"")

    def records(self, **wanted):
        lines = [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in lines if all(line.get(name) == value for name, value in wanted.items())]


def runs_in_the_sandbox(world, user):
    """Its output and status, its input, the run's folder and environment; a record of its own."""
    with Run(world, user, "--env", "MARK=of the run") as run:
        done = run.exec("sh", "-c", "cat; pwd; echo \"$MARK $TERM ${SECRET-unset}\"; cat /proc/1/comm; exit 7", data=b"typed\n",
                        env={"SECRET": "of the caller", "TERM": "vt52"})
        must(done.returncode == 7 and done.stderr == b"", done)
        must(done.stdout.decode().splitlines() == ["typed", str(user.work), "of the run vt52 unset", "sallyport-init"], done.stdout)
        must(run.exec("sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM, "the signal is not told")
        missing = run.exec("no-such-program")
        must(missing.returncode == 127 and b"was not found" in missing.stderr, missing)
        must(run.exec("sh", "-c", f"echo written >{user.work}/by-exec").returncode == 0 and (user.work / "by-exec").exists(), "no write")
        start = wait_for(lambda: run.records(event="exec_start", exec=2))
        must(start and start[0]["command"].startswith("sh -c"), "no record of its start")
        must(wait_for(lambda: run.records(event="exec_end", exec=2, status=7)), "no record of its end")


def is_the_same_sandbox(world, user):
    """The namespaces and limits are those of the run's own command, and its processes are seen."""
    look = "for n in user net mnt pid ipc uts cgroup; do readlink /proc/self/ns/$n; done; ulimit -a; " \
           "grep -E '^(Cap|NoNewPrivs|Seccomp|Seccomp_filters):' /proc/self/status; cat /proc/self/mountinfo"
    with Run(world, user, command=("sh", "-c", f"({look}) >seen 2>&1; exec sleep 600")) as run:
        must(wait_for(lambda: (user.work / "seen").exists() and b"/dev/pts" in (user.work / "seen").read_bytes()), "the command did not look")
        done = run.exec("sh", "-c", look)
        must(done.stdout.decode() == (user.work / "seen").read_text(), "it differs", done)
        (user.work / "seen").unlink()
        must(b"sleep 600" in run.exec("ps", "-ef").stdout, "the processes of the run are not there")


def hostile_ends(done, name):
    said = done.stdout.decode(errors="replace").strip()
    if done.returncode == SKIP and said.startswith("skipped: "):
        return
    must(done.returncode == 0 and said.startswith("held: "), f"{name}: exit {done.returncode}: {said} {done.stderr}")


def is_confined(world, user):
    with Run(world, user, "--read", world.base) as run:
        for name in HELD:
            hostile_ends(run.exec(world.hostile, name), name)
        hostile_ends(run.exec(world.hostile, "gate-ports", *GATE_PORTS), "gate-ports")
    with Outside() as outside, Run(world, user) as run:
        hostile_ends(run.exec(world.hostile, "direct", *outside.inet()), "direct")
        must(not outside.seen, "outside saw", outside.seen)


def writes_nothing_outside(world, user):
    user.file(user.outside / "kept", "as it was\n")
    with Run(world, user) as run:
        done = run.exec("sh", "-c", f"echo changed >{user.outside}/kept || echo new >{user.outside}/made")
        must(done.returncode != 0, done)
        must((user.outside / "kept").read_text() == "as it was\n" and not (user.outside / "made").exists(), "it has written")
        # As for the run's own command: a descriptor that was opened for reading is no way to write.
        with open(user.outside / "kept", "rb") as kept:
            done = run.exec("sh", "-c", "echo changed >/proc/self/fd/0", stdin=kept)
        must(done.returncode != 0 and (user.outside / "kept").read_text() == "as it was\n", "it has written by its input")


def gets_only_three_descriptors(world, user):
    folder = os.open(user.outside, os.O_RDONLY | os.O_DIRECTORY)
    with Run(world, user) as run:
        done = run.exec("/usr/bin/python3", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))", pass_fds=[folder])
        must(done.stdout.decode().strip() == "[0, 1, 2, 3]", "descriptors", done)  # 3: of that list
        done = run.exec("true", stdin=folder)
        must(done.returncode == NO_SANDBOX and b"is a directory" in done.stderr, done)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            done = run.exec("true", stdin=theirs)
        must(done.returncode == NO_SANDBOX and b"datagram" in done.stderr, done)
        with open("/proc/self/ns/net", "rb") as namespace:
            must(run.exec("true", stdin=namespace).returncode == NO_SANDBOX, "a namespace was passed")
    os.close(folder)


def sockets_are_judged(world, user):
    """The wall of an added command lets it reach sockets of the sandbox, and none of the host."""
    connect = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9))"
    serve = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(9)\nwhile True: s.accept()[0].send(b'hello')"
    path = user.work / "host"
    with socket.socket(socket.AF_UNIX) as host:
        host.bind(str(path))
        host.listen()
        user.own(path)
        path.chmod(0o777)
        with Run(world, user, command=("/usr/bin/python3", "-c", serve)) as run:
            must(wait_for((user.work / "own").exists), "no socket inside")
            for _ in range(3):
                done = run.exec("/usr/bin/python3", "-c", connect, "own")
                must(done.stdout.strip() == b"b'hello'", done)
                done = run.exec("/usr/bin/python3", "-c", connect, path)
                must(done.returncode == 1 and b"PermissionError" in done.stderr, done)
    path.unlink()
    (user.work / "own").unlink()


def cannot_be_used_inside(world, user):
    """The control folder is hidden; and its socket accepts nobody from another namespace, even if it is shown."""
    script = f"{world.sallyport} exec --into $ID -- true; echo status $?; ls {user.runtime}/sallyport 2>&1"
    with Run(world, user, "--read", world.base) as run:
        done = run.exec("sh", "-c", script.replace("$ID", run.id))
        must(b"status 125" in done.stdout and run.id.encode() not in done.stdout.split(b"status")[1], done)
        entered = subprocess.run(["unshare", "--user", "--map-root-user", "--net", *run.argv("true")], env=user.environment(),
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=LONG, check=False, **user.ids())
        must(entered.returncode == NO_SANDBOX and b"does not take the command" in entered.stderr, "another namespace was let in", entered)
        if len(world.users) > 1:
            other = next(other for other in world.users if other is not user)
            done = subprocess.run(run.argv("true"), env={**other.environment(), "XDG_RUNTIME_DIR": str(user.runtime)}, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=LONG, check=False, **other.ids())
            must(done.returncode == NO_SANDBOX, "another user was let in", done)


def is_no_way_between_commands(world, user):
    """As any two processes of a sandbox that are not parent and child: what ptrace(2) allows is bounded by it."""
    attach = "import ctypes, sys; sys.exit(0 if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0 else 9)"
    with Run(world, user) as run:
        init = run.exec("/usr/bin/python3", "-c", attach, "1")
        must(init.returncode == 9, "it has attached to init", init)
        environ = run.exec("sh", "-c", "cat /proc/1/environ /proc/1/mem")
        must(environ.returncode != 0 and environ.stdout == b"", "it has read init", environ)


def signals_and_ends(world, user):
    trap = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    with Run(world, user) as run:
        process = run.start("sh", "-c", trap)
        must(process.stdout.readline() == b"ready\n", "it does not run")
        process.terminate()
        out, err = process.communicate(timeout=LONG)
        must(out == b"told\n" and process.returncode == 3, "the signal did not arrive", process.returncode, out, err)
        process = run.start("sh", "-c", "echo ready; exec sleep 601")
        must(process.stdout.readline() == b"ready\n", "it does not run")
        process.kill()
        process.communicate()
        must(wait_for(lambda: b"sleep 601" not in run.exec("ps", "-ef").stdout), "it outlives its client")
        process = run.start("sh", "-c", "echo ready; exec sleep 602")
        must(process.stdout.readline() == b"ready\n", "it does not run")
        run.process.terminate()
        err = process.communicate(timeout=LONG)[1]
        must(process.returncode == 128 + signal.SIGKILL and b"the run has ended" in err, process.returncode, err)
    must(not nothing_left(), "processes are left")
    done = run.exec("true")
    must(done.returncode == NO_SANDBOX and b"there is no run" in done.stderr, done)


def many(world, user):
    """Sixteen at once, one more is refused, and all of it again: nothing is used up."""
    with Run(world, user) as run:
        for _ in range(2):
            processes = [run.start("sh", "-c", "echo ready; exec cat", stdin=subprocess.PIPE) for _ in range(MOST)]
            for process in processes:
                must(process.stdout.readline() == b"ready\n", "it does not run", process.poll())
            done = run.exec("true")
            must(done.returncode == NO_SANDBOX and b"wait for one of them to end" in done.stderr, done)
            for process in processes:
                must(process.communicate(b"", timeout=LONG) == (b"", b"") and process.returncode == 0, "it did not end well")
        for _ in range(3 * MOST):
            done = wait_for(lambda: (done := run.exec("true")).returncode == 0 and done)
            must(done, "a later one was refused")
        must(run.process.poll() is None, "the run has ended")


def leaves_no_descriptor(world, user):
    """Each has a listener: sixty commands do not use up what init may have open."""
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (72, 72))}
    with Run(world, user, how=limit) as run:
        for _ in range(60):
            must(wait_for(lambda: run.exec("true").returncode == 0 or run.process.poll() is not None), "a later one was refused")
            must(run.process.poll() is None, "the run has ended")


def none_is_held_by_the_run(world, user):
    """The run's own command stops every process that it sees: init, which starts them, still sees that it ends."""
    stop = "import os, signal\nwhile not os.path.exists('end'):\n try: os.kill(-1, signal.SIGSTOP)\n except ProcessLookupError: pass"
    with Run(world, user, command=("/usr/bin/python3", "-c", stop)) as run:
        processes = [run.start("true") for _ in range(8)]
        must(wait_for(lambda: len(run.records(event="exec_start")) == 1 + len(processes)), "they were not started")
        user.file(user.work / "end")
        run.process.communicate(timeout=LONG)
        for process in processes:
            err = process.communicate(timeout=LONG)[1]
            must(process.returncode in (0, NO_SANDBOX, 128 + signal.SIGKILL), process.returncode, err)
            must(process.returncode != NO_SANDBOX or b"stopped the command before its program began" in err, err)
    (user.work / "end").unlink()


def many_after_none_had_room(world, user):
    """The run's own command takes all processes that there may be but one, so that init cannot start the next wall, and lets them
    go: then as many commands can be added as before."""
    fill = """import os, time
try:
    while True:
        last = os.fork()
        if last == 0:
            while not os.path.exists('free'): time.sleep(0.05)
            os._exit(0)
        one = last
except OSError: os.kill(one, 9)
os.waitpid(one, 0)
open('full', 'w').close()
try:
    while os.wait(): pass
except ChildProcessError: open('empty', 'w').close()
time.sleep(600)"""
    policy = user.file(user.outside / "processes.policy", "limit processes 600\n")
    with Run(world, user, "--policy", policy, command=("/usr/bin/python3", "-c", fill)) as run:
        must(wait_for((user.work / "full").exists), "it does not run")
        for _ in range(2 * MOST):
            done = run.exec("true")
            must(done.returncode == 0 or b"sallyport: " in done.stderr, done)
        user.file(user.work / "free")
        must(wait_for((user.work / "empty").exists), "its processes do not end")
        must(wait_for(lambda: run.exec("true").returncode == 0), "a later one was refused")
        processes = [run.start("sh", "-c", "echo ready; exec cat", stdin=subprocess.PIPE) for _ in range(4)]
        for process in processes:
            must(process.stdout.readline() == b"ready\n", "one of four does not run", process.communicate()[1])
        for process in processes:
            process.communicate(b"", timeout=LONG)
    for name in ("full", "free", "empty"):
        (user.work / name).unlink()


def none_is_slowed_by_the_run(world, user):
    """The run's own command slows every process that it sees. init waits for a program to begin, so it can slow none before that."""
    slow = """import os
while not os.path.exists('end'):
    for pid in os.listdir('/proc'):
        comm = f'/proc/{pid}/comm'
        try:
            if not pid.isdigit() or pid == '1' or open(comm).read() != 'sallyport-init\\n': continue
            os.sched_setscheduler(int(pid), os.SCHED_IDLE, os.sched_param(0))
            if open(comm).read() == 'sallyport-init\\n': open('slowed', 'w')
        except OSError: pass"""
    with Run(world, user, command=("/usr/bin/python3", "-c", slow)) as run:
        for _ in range(20):
            must(run.exec("true").returncode == 0, "it does not run")
        user.file(user.work / "end")
        run.process.communicate(timeout=LONG)
    must(not (user.work / "slowed").exists(), "a process of init was slowed")
    (user.work / "end").unlink()


def is_decided_by_the_rules_for_commands(world, user):
    policy = user.file(user.outside / "commands.policy", "command allow sleep\ncommand allow echo\ncommand deny env\n")
    with Run(world, user, "--policy", policy) as run:
        must(run.exec("echo", "fine").stdout == b"fine\n", "an allowed one was not run")
        done = run.exec("env")
        must(done.returncode == 126 and b"the policy denies this command" in done.stderr and done.stdout == b"", done)
        done = run.exec("cat", "/etc/hostname")
        must(done.returncode == 126 and b"none allows this one" in done.stderr and done.stdout == b"", done)
    with Run(world, user, "--policy", policy, "--intercept-exec") as run:
        done = run.exec("echo", "fine")
        must(done.returncode == NO_SANDBOX and b"--intercept-exec" in done.stderr and done.stdout == b"", done)


def has_a_terminal(world, user):
    """A pty of its own, whose size is that of the caller's; Ctrl-C reaches the command; the caller's terminal is restored."""
    script = "tty; stty size; echo $TERM; trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done"
    with Run(world, user) as run:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x21\0\x4d\0\0\0\0\0")
        before = termios.tcgetattr(theirs)
        process = run.start("sh", "-c", script, stdin=theirs, stdout=theirs, stderr=theirs, env={"TERM": "vt52"},
                            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        shown = b""

        def reads(what):
            nonlocal shown
            while what not in shown:
                if not select.select([ours], [], [], LONG)[0]:
                    raise Failed("the terminal shows", shown)
                shown += os.read(ours, 4096)
        reads(b"ready")
        must(b"/dev/pts/" in shown and b"33 77" in shown and b"vt52" in shown, shown)
        os.write(ours, b"\x03")
        reads(b"interrupted")
        must(process.wait(LONG) == 5, "status", process.returncode)
        must(termios.tcgetattr(theirs) == before, "the terminal's modes were not restored")
        os.close(ours)
        os.close(theirs)


def no_terminal_is_left(world, user):
    fill = "import os, time\ntry:\n while True: os.openpty()\nexcept OSError: open('full', 'w').close()\ntime.sleep(600)"
    with Run(world, user, command=("/usr/bin/python3", "-c", fill)) as run:
        must(wait_for((user.work / "full").exists), "it does not run")
        ours, theirs = pty.openpty()
        done = run.exec("true", stdin=theirs, preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        must(done.returncode == NO_SANDBOX and b"all terminals are in use" in done.stderr and b"namespaces" not in done.stderr, done)
        must(run.exec("true").returncode == 0, "none runs without a terminal")
        os.close(ours)
        os.close(theirs)
    (user.work / "full").unlink()


def a_killed_run_leaves_no_socket(world, user):
    """Nothing can remove them when it is killed: who next looks at the runs does."""
    with Run(world, user) as run:
        sockets = [user.runtime / "sallyport" / f"{run.id}{suffix}" for suffix in (".sock", ".into")]
        must(all(path.exists() for path in sockets), "it has no sockets")
        run.process.kill()
        run.process.wait(LONG)
        subprocess.run([str(world.sallyport), "approve", "list"], env=user.environment(), cwd="/", capture_output=True, timeout=LONG, **user.ids())
        must(not any(path.exists() for path in sockets), sockets)


def without_a_control_socket(world, user):
    process = world.start(user, ["sh", "-c", "echo ready; exec sleep 600"], ["--ci"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    must(process.stdout.readline() == b"ready\n", "it does not run")
    folder = user.runtime / "sallyport"
    must(not folder.exists() or not list(folder.glob("*.into")), "it has a socket")
    process.terminate()
    process.communicate(timeout=LONG)


CASES = [(function.__name__, function) for function in (
    runs_in_the_sandbox, is_the_same_sandbox, is_confined, writes_nothing_outside, gets_only_three_descriptors, sockets_are_judged,
    cannot_be_used_inside, is_no_way_between_commands, signals_and_ends, many, leaves_no_descriptor, none_is_held_by_the_run, none_is_slowed_by_the_run, many_after_none_had_room,
    is_decided_by_the_rules_for_commands, has_a_terminal, no_terminal_is_left, a_killed_run_leaves_no_socket,
    without_a_control_socket)]
if __name__ == "__main__":
    sys.exit(main(CASES, 2))
