#!/usr/bin/env python3
"""Sessions: what runs share, how long a session lives, and what happens when a part of it dies.

usage: session.py SALLYPORT share|terminal|lifetime|deaths|refusals|words|inside|upstream"""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import world as worlds  # noqa: E402
from world import Gate, TerminalGate, World, descendants, processes, published, told, reap, until  # noqa: E402

QUICK = 30
JOIN, BEGIN, TERMS = 2, 3, 11  # enum session_frame
BODY = b"let out\n"


class Destination:
    """Counts connections, and answers."""

    def __init__(self, address):
        self.address, self.came = address, 0
        self.listener = socket.create_server((address, 80))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.listener.accept()
            self.came += 1
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
            peer.close()


class Sessions(World):
    def __init__(self, sallyport):
        super().__init__(sallyport)
        self.dir = self.top / "runtime" / "sallyport"
        self.destination = Destination(self.new_address())
        self.gates = 0

    def session(self, *words, status=0):
        run = self.sally("session", *words)
        assert run.returncode == status, f"session {' '.join(words)}: {run.returncode}: {run.stderr or run.stdout}"
        return run

    def start(self, name, *options):
        out = self.session("start", "--audit", str(self.audit), *options, name).stdout
        assert out == f"{name}\n", out

    def join(self, name, script, *options, kind=Gate):
        self.gates += 1
        return kind(self, ["--join", name, *options], script, f"gate{self.gates}")

    def curl(self, out):
        return f"curl -sS -m 25 http://{self.destination.address}/ -o {out}; echo $? > {out}.status"

    def state(self, name):
        for entry in json.loads(self.session("list", "--json").stdout):
            if entry["session"] == name:
                return entry
        return None

    def holder(self, name):
        """The process that holds the session, found by its lock."""
        text = (self.dir / f"{name}.lock").read_text().strip() if (self.dir / f"{name}.lock").exists() else "0"
        pid = int(text)
        return pid if pid in processes() and processes()[pid][2] not in "ZX" else None

    def question(self, waiting=1):
        found = until(lambda: [q for q in self.questions() if q["waiting"] >= waiting], QUICK, "a question")
        assert len(found) == 1, found
        return found[0]

    def events(self, event):
        return [record for record in self.records() if record["event"] == event]

    def text(self, name):
        path = self.work / name
        return path.read_text().strip() if path.exists() else None


def share(world):
    """Two runs, one question, one answer; a third needs none. A grant for a command is that command's."""
    world.start("work", "--prompt-timeout", "60s")
    first = world.join("work", world.curl("one"))
    second = world.join("work", world.curl("two"))
    asked = world.question(waiting=2)
    assert asked["session"] == "work" and asked["command_count"] == 2, asked
    assert world.state("work")["runs"] == 2 and world.state("work")["questions"] == 1
    world.sally("approve", "allow", "--scope", "session", "--confirm", asked["typed"], asked["id"], check=True)
    assert first.wait(QUICK) == 0 and second.wait(QUICK) == 0
    third = world.join("work", world.curl("three"), "--json=2", "--report", "none")
    assert third.wait(QUICK) == 0
    assert world.destination.came == 3, world.destination.came
    for name in ("one", "two", "three"):
        assert (world.work / name).read_bytes() == BODY
    result = json.loads(third.text("err").splitlines()[-1])
    assert result["session"] == "work" and result["run"].endswith(".3"), result
    assert [trip["allowed"] for trip in result["destinations"]] == [1], result
    assert world.state("work")["grants"] == 1 and world.state("work")["runs"] == 0
    records = world.records()
    assert {record["session"] for record in records} == {"work"}
    assert len({record["run"] for record in records}) == 1
    assert sorted(record["exec"] for record in world.events("exec_start")) == [1, 2, 3]  # two began at once
    by = {record["exec"]: record["by"] for record in world.events("decision")}
    assert set(by) == {1, 2, 3} and len(set(by.values())) == 1, by
    other = World.new_address(world)
    far = Destination(other)
    script = f"curl -sS -m 25 http://{other}/ -o {{0}}; curl -sS -m 25 http://{other}/ -o {{0}}b"
    fourth = world.join("work", script.format("four"))
    asked = world.question()
    world.sally("approve", "allow", "--scope", "exec", "--confirm", asked["typed"], asked["id"], check=True)
    assert fourth.wait(QUICK) == 0 and far.came == 2
    fifth = world.join("work", script.format("five"))
    asked = world.question()
    world.sally("approve", "deny", "--scope", "session", asked["id"], check=True)
    assert fifth.wait(QUICK) == 0 and far.came == 2, "one command's answer let another out"
    world.session("end", "work")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0
    assert world.records()[-1]["event"] == "end"


def lifetime(world):
    """Starts on demand, one at a time, ends when idle; files of a dead session are replaced."""
    world.session("end", "work", status=1)
    assert world.session("list").stdout == "no session exists\n"
    name = world.session("start").stdout.strip()  # a name is made up
    world.session("end", name)
    starters = [subprocess.Popen([world.sallyport, "session", "start", "--if-needed", "crowd"],
                                 env=world.env, cwd=world.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for _ in range(50)]
    said = [starter.communicate(timeout=120) for starter in starters]
    wrong = [what for starter, what in zip(starters, said) if starter.returncode or what != ("crowd\n", "")]
    assert not wrong, wrong[:3]
    ids = {record["run"] for record in default_records(world) if record["session"] == "crowd"}
    assert len(ids) == 1, f"one session, and as many gates: {ids}"
    world.session("start", "crowd", status=1)
    world.session("end", "crowd")
    world.start("brief", "--idle", "3s")
    run = world.join("brief", "while [ ! -e go ]; do sleep 0.05; done; echo still > here")
    until(lambda: world.state("brief")["runs"] == 1, QUICK, "it has begun")
    time.sleep(4)  # longer than its limit: a run keeps it, however long
    (world.work / "go").touch()
    assert run.wait(QUICK) == 0 and world.text("here") == "still", run.text("err")
    until(lambda: world.holder("brief") is None, QUICK, "a session without runs ended")
    reap()
    assert not list(world.dir.glob("*.session")) and not list(world.dir.glob("*.sock")), list(world.dir.iterdir())
    world.start("work")
    os.kill(world.holder("work"), signal.SIGKILL)
    until(lambda: world.holder("work") is None or reap(), QUICK, "it is dead")
    assert (world.dir / "work.session").exists(), "a killed one leaves its socket"
    assert world.session("list").stdout == "no session exists\n"
    world.start("work")
    assert world.join("work", "true").wait(QUICK) == 0
    world.session("end", "work")
    activation(world)


def default_records(world):
    path = world.top / "state" / "sallyport" / "audit.jsonl"
    published(world.top / "state")
    return told(path.read_text())


def activation(world):
    """As a service manager does: it listens, starts the session at the first connection, and keeps the socket."""
    path = world.dir / "active.session"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    os.chmod(path, 0o600)
    listener.listen(16)
    assert world.session("list").stdout == "no session exists\n", "to look must not start it"
    run = world.join("active", "echo joined > active")
    listener.setblocking(True)
    until(lambda: readable(listener), QUICK, "the run came to the socket")
    launch = textwrap.dedent("""
        import os, sys
        os.dup2(int(sys.argv[1]), 3)
        os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
        os.execv(sys.argv[2], sys.argv[2:])""")
    command = [sys.executable, "-c", launch, str(listener.fileno()), world.sallyport, "session", "start", "--foreground",
               "--idle", "1s", "active"]
    for _ in range(2):
        manager = subprocess.Popen(command, pass_fds=[listener.fileno()], env=world.env, cwd=world.work,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert run.wait(QUICK) == 0, run.text("err")
        out, err = manager.communicate(timeout=QUICK)
        assert manager.returncode == 0 and out == "active\n", (manager.returncode, out, err)
        assert path.exists(), "the socket is the manager's"
        assert world.text("active") == "joined"
        run = world.join("active", "echo again > again")
        until(lambda: readable(listener), QUICK, "the next run came")
    listener.close()
    run.wait(QUICK)
    elsewhere = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    elsewhere.bind(str(world.top / "active.session"))
    elsewhere.listen(1)
    command[3] = str(elsewhere.fileno())
    refused = subprocess.run(command, pass_fds=[elsewhere.fileno()], env=world.env, cwd=world.work, capture_output=True,
                             text=True, timeout=QUICK)
    assert refused.returncode == 3 and "is not at" in refused.stderr, refused


def readable(listener):
    import select
    return select.select([listener], [], [], 0)[0]


def upstream(world):
    """A run that joins goes through the upstream proxy of the session's policy."""
    policy = world.top / "policy"
    policy.write_text(f"version 1\nallow http://web.test\nupstream http://{world.destination.address}:80\n")
    world.start("work", "--policy", str(policy))
    run = world.join("work", "curl -sS http://web.test/ > web", "--report", "text")
    assert run.wait(QUICK) == 0 and world.text("web") == "let out", run.text("err")
    assert f"the upstream proxy http://{world.destination.address}:80" in run.text("err"), run.text("err")


def deaths(world):
    """When any process dies, nothing is allowed without an answer, nothing hangs, and the others continue."""
    world.start("work", "--prompt-timeout", "120s")
    doomed = world.join("work", world.curl("doomed"))
    world.question()
    other = world.join("work", world.curl("other"))
    world.question(waiting=2)
    os.kill(doomed.process.pid, signal.SIGKILL)  # a run: its waiters are gone, the session goes on
    doomed.wait(QUICK)
    until(lambda: world.state("work")["runs"] == 1, QUICK, "the dead run is gone")
    until(lambda: [record["exec"] for record in world.events("exec_end")] == [1], QUICK, "its command is recorded as over")
    asked = world.question()
    assert asked["waiting"] == 1 and asked["command_count"] == 1, asked
    world.sally("approve", "allow", "--confirm", asked["typed"], asked["id"], check=True)
    assert other.wait(QUICK) == 0 and world.text("other.status") == "0" and world.destination.came == 1
    served = world.join("work", world.curl("served") + "; exit 3")  # its worker: another one follows, and no connection outlives it
    world.question()
    os.kill(served.worker(), signal.SIGKILL)
    assert served.wait(QUICK) == 3 and "new worker" in served.text("err"), served.text("err")
    assert world.text("served.status") != "0" and not world.questions()
    until(lambda: world.state("work")["runs"] == 0, QUICK, "it is gone")
    aborted = world.join("work", world.curl("aborted") + "; sleep 60")  # a person ends one command, and not the other
    beside = world.join("work", "while [ ! -e go ]; do sleep 0.05; done; echo fine > beside")
    world.sally("approve", "abort", world.question()["id"], check=True)
    assert aborted.wait(QUICK) == 130, aborted.text("err")
    (world.work / "go").touch()
    assert beside.wait(QUICK) == 0 and world.text("beside") == "fine", "another was aborted"
    waiting = world.join("work", world.curl("waiting") + "; sleep 60")  # the session is ended under a question
    world.question()
    world.session("end", "work")
    assert waiting.wait(QUICK) == 125 and "session was ended" in waiting.text("err"), waiting.text("err")
    assert world.events("decision")[-1]["action"] == "deny", world.events("decision")[-1]
    assert world.records()[-1]["event"] == "end"
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0
    world.start("work", "--prompt-timeout", "120s")
    gates = [world.join("work", world.curl(f"late{i}") + "; sleep 60" * i) for i in range(2)]  # the holder is killed
    world.question(waiting=2)
    os.kill(world.holder("work"), signal.SIGKILL)
    for gate in gates:
        assert gate.wait(QUICK) == 125 and "gate died" in gate.text("err"), gate.text("err")
    reap()
    until(lambda: not descendants(os.getpid()) or reap(), QUICK, "something lives on")
    assert world.destination.came == 1, "nobody has allowed it, and it was let out"
    allowed = [record for record in world.events("decision") if record["action"] == "allow"]
    assert len(allowed) == 1, allowed


def refusals(world):
    """With an unknown name, with options or a policy that the session would ignore, nothing runs."""
    run = world.join("nobody", "touch ran")
    assert run.wait(QUICK) == 125 and "the session does not exist" in run.text("err"), run.text("err")
    world.start("work")
    for options in (["--policy", "x"], ["--default", "allow"], ["--session", "x"], ["--audit", "x"], ["--web"],
                    ["--prompt-timeout", "5s"], ["--reviewer", "x"], ["--answers", "x"]):
        run = world.join("work", "touch ran", *options)
        assert run.wait(QUICK) == 2 and "the session has this option" in run.text("err"), (options, run.text("err"))
    project = world.work / ".sallyport"
    project.mkdir()
    (project / "policy").write_text("version 1\ndeny a.test\n")
    run = world.join("work", "touch ran")
    assert run.wait(QUICK) == 125 and "but not in the session" in run.text("err"), run.text("err")
    (project / "policy").unlink()
    project.rmdir()
    policy = world.top / "rules"
    policy.write_text("version 1\ncommand allow cat\ncommand allow true\ncommand deny curl\nhide ~/secret\n"
                      "command allow /usr/bin/python3\n")
    secret = world.top / "home" / "secret"
    secret.write_text("told\n")
    world.start("ruled", "--policy", "rules")
    run = world.join("ruled", f"cat {secret} > told; true")
    assert run.wait(QUICK) == 0 and not world.text("told"), run.text("err")
    run = subprocess.run([world.sallyport, "run", "--join", "ruled", "--", "curl", "http://a.test/"], env=world.env,
                         cwd=world.work, capture_output=True, text=True, timeout=QUICK)
    assert run.returncode == 126 and "denies this command" in run.stderr, run
    run = subprocess.run([world.sallyport, "run", "--join", "ruled", "--intercept-exec", "--", "/usr/bin/python3", "-c",
                          "import subprocess; subprocess.run(['/usr/bin/curl', '--version'])"], env=world.env, cwd=world.work,
                         capture_output=True, text=True, timeout=QUICK)  # judged by the run, written down by the session
    refused, = [record for record in world.events("decision") if record.get("kind") == "program"]
    assert "PermissionError" in run.stderr and not run.stdout, run
    assert refused["program"].endswith("/curl") and refused["reason"] == "rule_deny", refused
    assert refused["rule"].endswith("command deny curl") and refused["command"] == "/usr/bin/curl --version", refused
    assert refused["exec"] == world.events("exec_start")[-1]["exec"], refused
    policy.write_text("version 1\nno such rule\n")  # the last good one stays, and cannot be had twice
    run = world.join("ruled", "touch ran")
    assert run.wait(QUICK) == 125 and "nothing was run" in run.text("err"), run.text("err")
    policy.write_text(f"version 1\ndeny {world.destination.address} because \"not from here\"\n")
    run = world.join("ruled", world.curl("denied"), "--json=2", "--report", "text")  # waits until the session has read it, too
    assert run.wait(QUICK) == 0 and world.text("denied.status") == "0", run.text("err")
    assert world.destination.came == 0 and world.events("decision")[-1]["reason"] == "rule_deny", \
        world.events("decision")[-1]
    # By which rule, and why, is in the report of a joined run as in that of any other.
    trip, = json.loads(run.text("err").splitlines()[-1])["destinations"]
    assert trip["rule"].startswith(f"{policy}:2: deny") and trip["because"] == "not from here", trip
    assert 'because "not from here". Next: ' in run.text("err"), run.text("err")
    here = world.work / "here"  # a file that the commands of a session may write widens nothing while it lives
    here.write_text(f"version 1\ndeny {world.destination.address}\n")
    world.sally("policy", "trust", str(here), check=True)
    world.start("near", "--policy", str(here))
    assert world.join("near", world.curl("near")).wait(QUICK) == 0 and world.destination.came == 0
    here.write_text(f"version 1\nallow {world.destination.address}\n")
    until(lambda: [record for record in world.events("policy_reload_failed") if record["session"] == "near"], QUICK,
          "the change was seen, and refused")
    run = world.join("near", world.curl("near"))
    assert run.wait(QUICK) == 125 and world.destination.came == 0, run.text("err")
    wrong = subprocess.run([world.sallyport, "session", "start", "--policy", "missing", "x"], env=world.env,
                           cwd=world.work, capture_output=True, text=True, timeout=QUICK)
    assert wrong.returncode == 3 and wrong.stdout == "" and "missing" in wrong.stderr, wrong
    for name in ("../x", "", "-x", ".x", "a b", "x" * 33):
        world.session("start", "--", name, status=2)
    assert not (world.work / "ran").exists(), "it was run"


def words(world):
    """Options may be before or after the operands, but not after "--"."""
    world.session("start", "--audit", str(world.audit), "work", "--prompt-timeout", "60s", "--idle", "20m")
    world.session("start", "--", "other")
    world.session("start", "--if-needed", "work", "--idle", "20m")
    assert [entry["session"] for entry in json.loads(world.session("list", "--json").stdout)] == ["other", "work"]
    runs = []
    for place in (["--session", "work", "deny", "ID", "--scope", "once"], ["deny", "ID", "--scope", "once", "--session=work"],
                  ["deny", "--session", "work", "--scope", "once", "--", "ID"]):
        runs.append(world.join("work", world.curl(f"run{len(runs)}")))
        id = world.question()["id"]
        world.sally("approve", *(id if word == "ID" else word for word in place), check=True)
        assert runs[-1].wait(QUICK) == 0
    assert [record["reason"] for record in world.events("decision")] == ["denied_once"] * 3 and not world.destination.came
    for help in (["--help"], ["end", "--help"], ["end", "-h", "work"], ["end", "work", "--help"], ["list", "--help"],
                 ["list", "--json", "-h"], ["start", "more", "--help"], ["start", "--help", "more"]):
        said = world.session(*help)
        assert said.stdout.startswith("usage: sallyport session") and said.stderr == "", (help, said)
    for wrong in (["end"], ["end", "work", "other"], ["end", "--json", "work"], ["end", "work", "--idle"], ["list", "work"],
                  ["list", "--json=1"], ["list", "--", "--json"], ["start", "a", "b"], ["start", "a", "--no-such"], ["other"]):
        said = world.session(*wrong, status=2)
        assert said.stdout == "" and said.stderr, (wrong, said)
    world.session("end", "--", "other")
    world.session("end", "work")
    assert json.loads(world.session("list", "--json").stdout) == []


INSIDE = r"""
import os, socket, sys
directory = sys.argv[1]
def found(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        one.connect(path)
        return True
    except OSError:
        return False
places = [directory + "/work.session", "\0" + directory + "/work.session", "/proc/1/root" + directory + "/work.session"]
places += ["/proc/%s/cwd/../runtime/sallyport/work.session" % pid for pid in os.listdir("/proc") if pid.isdigit()]
seen = [place for place in places if found(place)]
try:
    seen += os.listdir(directory)
except OSError:
    pass
for fd in os.listdir("/proc/self/fd"):
    try:
        seen += [fd] if socket.socket(fileno=os.dup(int(fd))).family == socket.AF_UNIX else []
    except OSError:
        pass
print("inside:", seen)
"""


def hello():
    version = b"0.1.0"
    return struct.pack("=HII", 1, 7, len(version)) + version


def talk(path):
    """The holder's reply to a greeting: 0 bytes is a refusal."""
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(QUICK)
    one.connect(str(path))
    try:
        one.send(hello())
        return len(one.recv(100))
    except (BrokenPipeError, ConnectionResetError):
        return 0


def begin(path, fds):
    """Joins, and begins with two malformed lists: does the session still respond?"""
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(QUICK)
    one.connect(str(path))
    one.send(hello())
    one.recv(100)
    one.send(struct.pack("=H", JOIN))
    frame, handed, _, _ = socket.recv_fds(one, 65536, 8)
    assert struct.unpack("=H", frame[:2])[0] == TERMS and len(handed) == 6, (frame, handed)
    socket.send_fds(one, [struct.pack("=HI", BEGIN, 2) + b"ls"], fds)
    for fd in [*handed, *fds]:
        os.close(fd)
    try:
        return one.recv(100)
    except ConnectionResetError:
        return b""


def pipes(world):
    """A program that reads them to the end waits for ever."""
    return list(os.pipe())


def plain_files(world):
    """The lists change while a program reads them."""
    (world.top / "list").write_text("ls")
    return [os.open(world.top / "list", os.O_RDONLY) for _ in range(2)]


def endless(world):
    """The last text is not terminated."""
    found = [os.memfd_create("list", os.MFD_ALLOW_SEALING) for _ in range(2)]
    for fd in found:
        os.write(fd, b"ls")
        import fcntl
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
    return found


def inside(world):
    """No command of a run sees the session, and processes in other namespaces cannot join it."""
    for variable, name in (("XDG_RUNTIME_DIR", "runtime"), ("XDG_STATE_HOME", "state")):
        (world.work / name).mkdir(mode=0o700)  # where a command could see it: /tmp is fresh inside
        world.env[variable] = str(world.work / name)
    world.dir = world.work / "runtime" / "sallyport"
    world.start("work", "--prompt-timeout", "60s")
    (world.work / "inside.py").write_text(INSIDE)
    run = world.join("work", f"{sys.executable} inside.py {world.dir}")
    assert run.wait(QUICK) == 0 and run.text("out") == "inside: []\n", run.text("out") + run.text("err")
    assert (world.dir / "work.session").is_socket(), "it was there to be seen"
    state = world.work / "state" / "sallyport"  # the session's own, hidden also from runs with another one
    run = subprocess.run([world.sallyport, "run", "--join", "work", "--", "sh", "-c", f"ls {state}; exit 7"],
                         env={**world.env, "XDG_STATE_HOME": str(world.top / "elsewhere")}, cwd=world.work,
                         capture_output=True, text=True, timeout=QUICK)
    assert run.returncode == 7 and run.stdout == "", run
    path = world.dir / "work.session"
    assert talk(path) > 0, "one of ours"
    rogue = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import session; " \
            f"sys.exit(session.talk({str(path)!r}))"
    for flags in (["-U"], ["-Un"], ["-Upf"]):
        tried = subprocess.run(["unshare", *flags, "--", sys.executable, "-c", rogue], env=world.env, timeout=QUICK,
                               capture_output=True, text=True)
        assert tried.returncode == 0, (flags, tried)
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # only a client that sends malformed frames is disconnected
    one.connect(str(path))
    one.send(hello())
    one.settimeout(QUICK)
    one.recv(100)
    one.send(struct.pack("=H", 3) + b"\0" * 8)
    assert not one.recv(100)
    for lists in (pipes, plain_files, endless):
        assert not begin(path, lists(world)), "it accepted a malformed list"
    assert world.join("work", "true").wait(QUICK) == 0
    rival = subprocess.run([world.sallyport, "session", "start", "--foreground", "work"], env=world.env, cwd=world.work,
                           capture_output=True, text=True, timeout=QUICK)
    assert rival.returncode == 1 and "exists" in rival.stderr, rival
    assert world.join("work", "true").wait(QUICK) == 0, "the first is still the one"


def keys(gate, press, shown):
    """Types again until the text is visible, because the screen does not show when keys are accepted."""
    def typed():
        gate.press(press)
        try:
            return until(lambda: shown in gate.text("out"), 2, "shown")
        except AssertionError:
            return False
    until(typed, QUICK, f"{shown!r} on the terminal: {gate.text('out')!r}")


def terminal(world):
    """A run that joins from a terminal shows questions there; an answer on one terminal removes the question from the other."""
    world.start("work")  # nobody waits for the deadline: without an approver it is denied at once
    alone = world.join("work", world.curl("alone"))
    assert alone.wait(QUICK) == 0 and world.events("decision")[-1]["reason"] == "no_approver"
    script = "stty -a > {0}.before; " + world.curl("{0}") + "; stty -a > {0}.after"
    first = world.join("work", script.format("first"), kind=TerminalGate)
    until(lambda: "50.0.0.10" in first.text("out"), QUICK, "the question is on the terminal")
    second = world.join("work", script.format("second"), kind=TerminalGate)
    until(lambda: "50.0.0.10" in second.text("out"), QUICK, "and on the other")
    beside = world.join("work", world.curl("beside"))
    world.question(waiting=3)
    keys(first, "s\r", "  type ")
    keys(first, f"{world.destination.address}\r", "allowed for this session")
    assert first.wait(QUICK) == 0 and second.wait(QUICK) == 0 and beside.wait(QUICK) == 0
    assert "allowed for session by" in second.text("out"), second.text("out")
    assert world.destination.came == 3
    for name in ("first", "second"):
        assert world.text(f"{name}.before") == world.text(f"{name}.after"), "the terminal was left as it was not"
    far = Destination(world.new_address())
    script = f"curl -sS -m 25 http://{far.address}/ -o {{0}}; echo done > {{0}}.done"
    third = world.join("work", script.format("third"), kind=TerminalGate)
    keys(third, "n\r", "denied once")
    assert third.wait(QUICK) == 0 and far.came == 0
    fourth = world.join("work", script.format("fourth"), kind=TerminalGate)  # the terminal goes, and with it whom to ask
    until(lambda: far.address in fourth.text("out"), QUICK, "the question is on the terminal")  # or `waits` may find nobody
    waits = world.join("work", script.format("waits"))
    world.question(waiting=2)
    os.kill(fourth.process.pid, signal.SIGKILL)
    assert waits.wait(QUICK) == 0 and far.came == 0
    assert world.events("decision")[-1]["reason"] == "approver_gone", world.events("decision")[-1]
    fifth = world.join("work", script.format("fifth"), kind=TerminalGate)  # the session dies under the question
    until(lambda: far.address in fifth.text("out"), QUICK, "the question is on the terminal")
    os.kill(world.holder("work"), signal.SIGKILL)
    assert fifth.wait(QUICK) == 125 and "gate died" in fifth.text("out"), fifth.text("out")
    assert far.came == 0


CASES = {"terminal": terminal, "share": share, "lifetime": lifetime, "deaths": deaths, "refusals": refusals,
         "words": words, "inside": inside, "upstream": upstream}


def main(cases):
    sallyport, case = sys.argv[1:]
    worlds.enter_namespace()
    world = Sessions(sallyport)
    try:
        cases[case](world)
        print(f"pass: {case}")
    except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
        print(f"fail: {case}: {why!r}")
        for log in (world.top / "state" / "sallyport").glob("*.log"):
            print(log.name, log.read_text())
        import traceback
        traceback.print_exc()
        return 1
    finally:
        world.close(keep=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(CASES))
