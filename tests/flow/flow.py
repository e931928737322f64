#!/usr/bin/env python3
"""Plays one scenario: a .flow file, read from top to bottom, each line is an action or a check.

usage: flow.py [--keep] SALLYPORT FILE.flow

A line is a sentence of the table below; what follows "run:" or "start:" is a shell script that runs in the gate, on the
same line or indented under it. "#" starts a comment. The grammar is described in docs/HACKING.md."""
import ctypes
import errno
import fcntl
import json
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import agents
import world as worlds
from capture import Capture
from sentences import meaning, read, step
from servers import Names, Server, make_certificate
from world import Gate, TerminalGate, UserGate, World, until


CLONE_NEWNS = 0x20000


class Scenario:
    def __init__(self, sallyport):
        self.world = World(sallyport)
        self.capture, self.names = Capture(), Names()
        self.servers, self.gates, self.options = {}, [], []
        self.has_dns = True
        self.mark = 0
        self.reloads = {}
        self.agent = None
        self.reviewer = ""

    @property
    def gate(self):
        assert self.gates, "nothing was started"
        return self.gates[-1]

    def start(self, script, gate=Gate):
        options = ["--audit", str(self.world.audit), "--report", "none"]
        if gate is Gate:
            options += ["--no-tty"]
        if self.has_dns:
            options += ["--dns", "127.0.0.1"]
        policy = self.world.top / "policy"
        if policy.exists():
            options += ["--policy", str(policy)]
        self.gates.append(gate(self.world, options + self.options, script, f"gate{len(self.gates) + 1}"))

    def fill(self, text):
        """Replaces {a server} by its address, {work} by the commands' folder, {tests} by this folder, and {reviewer} by the policy's line."""
        places = {name: server.address for name, server in self.servers.items()}
        places |= {"work": str(self.world.work), "tests": str(pathlib.Path(__file__).resolve().parent), "reviewer": self.reviewer}
        for name, value in places.items():
            text = text.replace("{" + name + "}", value)
        return text

    def address(self, word):
        return self.servers[word].address if word in self.servers else word

    def packets(self):
        assert self.capture.lost == 0 or not self.capture.read(), "the capture lost packets"
        return self.capture.read()[self.mark:]


# --- the stage -------------------------------------------------------------------------------------------------------

@step(r"server (\w+) (http|https|echoes|echoes datagrams|counts|closes|cuts|holds|never accepts|refuses|proxies)(?: on ports? ([\d and]+))?(?: as ([\w.* -]+))?")
def server(s, name, kind, ports, names):
    made = s.servers.setdefault(name, None) or Server(name, s.world.new_address())
    s.servers[name] = made
    default = "443" if kind == "https" else "80"
    for port in map(int, (ports or default).split(" and ")):
        if kind == "https":
            made.serve_http(port, make_certificate(s.world.work, (names or f"{name}.test").split()))
        elif kind == "http":
            made.serve_http(port)
        elif kind == "cuts":
            made.cut(port, make_certificate(s.world.work, (names or f"{name}.test").split()))
        elif kind == "proxies":
            made.proxy(port, s.servers)
        elif kind != "refuses":
            {"echoes": made.echo, "echoes datagrams": made.echo_datagrams, "counts": made.count, "closes": made.close_at_once, "holds": made.hold,
             "never accepts": made.never_accept}[kind](port)
    s.mark = len(s.capture.read())  # the stage is not the play


@step(r"name ([\w.-]+) (?:is|are) (.+)")
def name_is(s, name, text):
    answers = []
    for part in re.split(r",? then ", text):
        special = {"silent": None, "failing": "fail", "unknown": "none"}
        answers.append(special[part] if part in special else [s.address(w) for w in re.split(r" and ", part)])
    s.names.set(name, answers)


@step(r"policy: (.+)")
def policy(s, line):
    file = s.world.top / "policy"
    if not file.exists():
        file.write_text("version 1\n")
    with open(file, "a") as out:
        out.write(s.fill(line) + "\n")


@step(r"the (user's )?policy( in reach)? becomes( in place)?: (.+)")
def policy_becomes(s, users, in_reach, in_place, text):
    """Writes the whole file; "/" separates lines. Renames a new file into place, as editors do, unless told to write in place."""
    file = s.world.top / ("config/sallyport/policy" if users else "work/in-reach" if in_reach else "policy")
    file.parent.mkdir(mode=0o700, exist_ok=True)
    lines = "version 1\n" + "".join(line.strip() + "\n" for line in s.fill(text).split(" / "))
    if in_place:
        file.write_text(lines)
        return
    fresh = file.with_name("policy.new")
    fresh.write_text(lines)
    fresh.chmod(0o600)
    fresh.rename(file)


@step(r"the (user's )?policy is deleted")
def policy_deleted(s, users):
    (s.world.top / ("config/sallyport/policy" if users else "policy")).unlink()


@step(r"the gate (takes|refuses) the policy")
def reloads(s, what):
    """Waits for one more such record than this gate has written so far."""
    event = "policy_reloaded" if what == "takes" else "policy_reload_failed"
    seen = s.reloads.get(event, 0)
    until(lambda: len([r for r in s.world.records() if r["event"] == event]) > seen, 120, f"no {event}")
    s.reloads[event] = seen + 1


@step(r"go on")
def go_on(s):
    (s.world.work / "go").touch()


@step(r"option: (.+)")
def option(s, text):
    s.options += s.fill(text).split()


@step(r"the gate's environment: (.+)")
def environment(s, text):
    s.world.env |= dict(word.split("=", 1) for word in shlex.split(s.fill(text)))


@step(r"tinyproxy runs as (\w+) on port (\d+), for (\w+):(\S+)")
def tinyproxy(s, name, port, user, password):
    """A proxy that companies use. It resolves names as the host does."""
    made = s.servers[name] = Server(name, s.world.new_address())
    config = s.world.top / "tinyproxy.conf"
    config.write_text(f"Port {port}\nListen {made.address}\nTimeout 600\nMaxClients 50\nAllow 0.0.0.0/0\nLogFile \"{s.world.top}/tinyproxy.log\"\n"
                      f"BasicAuth {user} {password}\nConnectPort 443\n")
    made.kept.append(subprocess.Popen(["tinyproxy", "-d", "-c", config], stdout=subprocess.DEVNULL))
    until(lambda: listens(made, port), 60, "tinyproxy does not listen")


def listens(server, port):
    try:
        socket.create_connection((server.address, int(port)), 1).close()
    except OSError:
        return False
    return True


@step(r"stunnel encrypts port (\d+) of (\w+) on port (\d+), as ([\w.-]+)(, until yesterday)?")
def stunnel(s, inner, name, port, host, is_expired):
    made, stem = s.servers[name], s.world.work / host
    make_certificate(s.world.work, [host], -1 if is_expired else 2)
    config = s.world.top / f"stunnel-{port}.conf"
    config.write_text(f"foreground = quiet\npid =\n[proxy]\naccept = {made.address}:{port}\nconnect = {made.address}:{inner}\n"
                      f"cert = {stem}.pem\nkey = {stem}.key\n")
    made.kept.append(subprocess.Popen(["stunnel", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    until(lambda: listens(made, port), 60, "stunnel does not listen")
    s.mark = len(s.capture.read())


@step(r"the file (\S+) holds: (.+)")
def file_holds(s, path, text):
    pathlib.Path(s.fill(path)).write_text(text + "\n")


@step(r"questions wait for an answer")
def patient(s):
    s.options += ["--default", "ask"]


@step(r"the (policy's )?(trusted )?reviewer allows ([\w.-]+) and denies ([\w.-]+)")
def reviewer(s, policys, trusted, allowed, denied):
    example = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/reviewer.py"
    command = f'"{example}" --allow {allowed} --deny {denied}'
    if policys:
        s.reviewer = f"reviewer {command} for network exec" + (" trusted" if trusted else "")
        policy(s, s.reviewer)
    else:
        s.options += ["--reviewer", command]


@step(r"the reviewer never answers")
def silent_reviewer(s):
    s.options += ["--reviewer", "sleep 4711"]


def reviewer_sheets(s):
    return list((s.world.top / "state/sallyport/reviewers").glob("*.json"))


@step(r"people agree with the reviewer (\d+) times")
def reviewer_agreed(s, count):
    (sheet,) = reviewer_sheets(s)
    counts = json.loads(sheet.read_text())
    counts["agree_allow"] = counts["agree_deny"] = int(count)
    sheet.write_text(json.dumps(counts))


@step(r"a webhook at (\w+) is told")
def webhook(s, server):
    key = s.world.top / "key"
    key.write_text("0123456789abcdef" * 2 + "\n")
    key.chmod(0o600)
    s.options += ["--webhook", f"http://{s.address(server)}/hook", "--webhook-key", str(key)]


@step(r"(\w+) was told of (\d+) questions?, signed")
def was_told(s, server, count):
    def told():
        return [r for r in s.servers[server].requests if r[1] == "/hook"]
    until(lambda: len(told()) >= int(count), 120, "the webhook was not told")
    for method, _, _, headers in told():
        assert method == "POST" and headers["x-sallyport-signature"].startswith("sha256="), str(headers)
    assert len(told()) == int(count), str(told())


@step(r"without DNS")
def without_dns(s):
    s.has_dns = False


@step(r"another name server at ([\d.]+) says ([\w.-]+) is (.+)")
def other_names(s, address, name, server):
    s.other_names = Names(address)
    s.other_names.set(name, [[s.address(server)]])


@step(r"the host has its own names: (.+)")
def own_names(s, text):
    """A copy of /etc that replaces the host's, and is changed as programs of the host would."""
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0, "no mount namespace"
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    copy = s.world.top / "etc"
    subprocess.run(["cp", "-a", "--no-preserve=ownership", "/etc", copy], stderr=subprocess.DEVNULL)  # not what is unreadable
    subprocess.run(["mount", "--bind", copy, "/etc"], check=True)
    names_become(s, text)


@step(r"the host's names become: (.+)")
def names_become(s, text):
    """"nameserver ADDRESS, SERVER HOST, ...": by a rename, as NetworkManager and others do it."""
    lines = [line.strip().split() for line in text.split(",")]
    for file, content in (("resolv.conf", [line for line in lines if line[0] == "nameserver"]),
                          ("hosts", [[s.address(line[0]), line[1]] for line in lines if line[0] != "nameserver"])):
        fresh = pathlib.Path(f"/etc/{file}.new")
        fresh.write_text("".join(" ".join(line) + "\n" for line in content))
        fresh.rename(f"/etc/{file}")


# --- what happens ----------------------------------------------------------------------------------------------------

@step(r"start: (.+)")
def start(s, script):
    s.start(s.fill(script))


@step(r"an ordinary user starts: (.+)")
def user_starts(s, script):
    s.start(s.fill(script), UserGate)


@step(r"start on a terminal: (.+)")
def start_on_terminal(s, script):
    s.start(script, TerminalGate)


@step(r"the terminal shows: (.+)")
def terminal_shows(s, text):
    until(lambda: text in s.gate.text("out"), 120, "the terminal did not show it")


@step(r"after (.+) the terminal shows: (.+)")
def terminal_shows_after(s, before, text):
    """@text, behind the last @before that was printed."""
    until(lambda: text in s.gate.text("out").rpartition(before)[2], 120, "the terminal did not show it")


@step(r"press: (.+)")
def press(s, keys):
    """Types one key after the other, as a person does: Enter confirms the text on the screen."""
    for key in keys.replace("Enter", "\r").replace("Ctrl-C", "\x03").replace(" ", ""):
        s.gate.press(key)
        time.sleep(0.2)


@step(r"run: (.+)")
def run(s, script):
    s.start(script)
    s.gate.wait()


@step(r"an approver (?:attaches|watches)")
def attaches(s):
    s.world.attach()


@step(r"the approver dies")
def approver_dies(s):
    s.world.watchers[-1].kill()
    s.world.watchers[-1].wait()


@step(r"the approver stops reading")
def approver_hangs(s):
    s.world.watchers[-1].send_signal(signal.SIGSTOP)


@step(r"question (http|https|tcp|udp) ([\w.:-]+?) port (\d+)(?: with (\d+) waiting)?")
def question(s, protocol, host, port, waiting):
    want = (protocol, s.address(host), int(port))

    def asked():
        found = [q for q in s.world.questions() if (q["protocol"], q["host"], q["port"]) == want]
        s.found = found
        if len(found) == 1 and (waiting is None or found[0]["waiting"] == int(waiting)):
            return found[0]
        assert len(found) < 2, f"{len(found)} questions for one destination"
        return None

    try:
        s.asked = until(asked, 60, "the question")
    except AssertionError as why:
        raise AssertionError(f"{why}; open: {s.world.questions()}") from None


@step(r"no question")
def no_question(s):
    assert not s.world.questions(), f"open: {s.world.questions()}"


@step(r"the reviewer was right (\d+) times?")
def reviewer_was_right(s, count):
    def said():
        sheets = json.loads(s.world.sally("approve", "reviewer", "--json", check=True).stdout)
        return [(sheet["agree_allow"], sheet["reviewer_allowed_person_denied"], sheet["may_answer"]) for sheet in sheets] == [
            (int(count), 0, False)]
    worlds.until(said, 120, "the reviewer's record")


@step(r"the reviewer is running")
def reviewer_runs(s):
    def there():
        return "sleep" in worlds.descendants(s.gate.process.pid).values()
    until(there, 120, "no reviewer")


@step(r"the question goes away")
def question_goes(s):
    until(lambda: not s.world.questions(), 120, "the question stayed")


@step(r"the approver was asked (\d+) questions?")
def ever_asked(s, count):
    """Counts, in the output of its watch, one event for each question that was opened."""
    asked = [line for line in (s.world.top / "watch.out").read_text().splitlines() if '"asked"' in line]
    assert len(asked) == int(count), f"{len(asked)} questions:\n" + "\n".join(asked)


@step(r"answer (allow|deny|abort)(?: for (once|exec|session|always))?(?: with (.+))?")
def answer(s, action, scope, width):
    confirm = ["--confirm", s.asked["typed"]] if action == "allow" else []
    s.world.sally("approve", action, s.asked["id"], *(["--scope", scope] if scope else []), *confirm, *(width or "").split(),
                  check=True)


@step(r"answering again does nothing")
def late_answer(s):
    late = s.world.sally("approve", "allow", s.asked["id"])
    assert late.returncode != 0, "a late answer was accepted"


@step(r"kill the (gate|worker|command)")
def kill(s, what):
    import os
    if what == "command":
        inside = [p for p, name in worlds.descendants(s.gate.process.pid).items() if name in ("curl", "sleep")]
        assert inside, "no command to kill"
        for pid in inside:
            os.kill(pid, signal.SIGKILL)
        return
    os.kill(s.gate.process.pid if what == "gate" else s.gate.worker(), signal.SIGKILL)


@step(r"interrupt the gate")
def interrupt(s):
    s.gate.process.send_signal(signal.SIGTERM)


@step(r"wait ([\d.]+) seconds?")
def wait(s, seconds):
    time.sleep(float(seconds))


@step(r"the gate is ready")
def ready(s):
    until(lambda: "ready" in s.gate.text("out"), 120, "the command did not say it is ready")


# --- what must hold --------------------------------------------------------------------------------------------------

@step(r"it says so far: (.+)")
def prints_so_far(s, text):
    until(lambda: text in s.gate.text("out"), 120, f"it did not print {text!r}")


@step(r"it ends with (\d+)")
def ends_with(s, status):
    got = s.gate.wait()
    assert got == int(status), f"it ended with {got}\n{s.gate.text('err')}"


@step(r"it ends badly")
def ends_badly(s):
    assert s.gate.wait() != 0, "it ended with 0"


@step(r"it is still running")
def still_running(s):
    assert s.gate.process.poll() is None, f"it ended with {s.gate.process.returncode}"


@step(r"it (prints|says)(?: (\d+) times)?: (.+)")
def prints(s, stream, times, text):
    s.gate.wait()
    got = s.gate.text("out" if stream == "prints" else "err")
    text = text.replace("\\n", "\n")
    if times:
        assert got.count(text) == int(times), f"{got.count(text)} times {text!r} in:\n{got}"
    else:
        assert text in got, f"not {text!r} but:\n{got}\n{s.gate.text('err')}"


@step(r"it never (prints|says): (.+)")
def never_prints(s, stream, text):
    s.gate.wait()
    got = s.gate.text("out" if stream == "prints" else "err")
    assert text not in got, f"{text!r} in:\n{got}"


@step(r"nothing has left")
def nothing_left(s):
    assert not s.packets(), f"left: {sorted(set(s.packets()))}"


@step(r"no (dns|tcp|udp) has left")
def no_kind_left(s, kind):
    bad = [p for p in s.packets() if (p[2] == 53 if kind == "dns" else p[0] == kind)]
    assert not bad, f"left: {bad}"


@step(r"nothing went to ([\w.:-]+)")
def nothing_went_to(s, where):
    bad = [p for p in s.packets() if p[1] == s.address(where)]
    assert not bad, f"went there: {bad}"


@step(r"(\w+) served (\d+) requests?")
def served(s, name, count):
    got = len(s.servers[name].requests)
    assert got == int(count), f"it served {got}: {s.servers[name].requests}"


@step(r"(\w+) was asked: (.+)")
def was_asked(s, name, text):
    """The first lines that a proxy was sent, in their order."""
    s.gate.wait()
    assert s.servers[name].asked == text.splitlines(), f"it was asked {s.servers[name].asked}"


@step(r"(\w+) saw (\d+) connections?")
def saw(s, name, count):
    assert s.servers[name].connections == int(count), f"it saw {s.servers[name].connections}"


@step(r"(\w+) received (\d+) bytes")
def received(s, name, count):
    s.gate.wait()
    until(lambda: not s.servers[name].open, 120, "connections stayed open")
    assert s.servers[name].bytes == int(count), f"it received {s.servers[name].bytes}"


@step(r"(\w+) never saw: (.+)")
def never_saw(s, name, text):
    seen = [r for r in s.servers[name].requests if text.lower() in str(r).lower()]
    assert not seen, f"it saw {seen}"


@step(r"([\w.-]+) was looked up (\d+) times?")
def looked_up(s, name, count):
    got = [q for q in s.names.queries if q == (name, 1)]
    assert len(got) == int(count), f"asked: {s.names.queries}"


@step(r"(?:a record|(\d+) records) says?: (.+)")
def record(s, count, text):
    s.gate.wait()
    wanted = dict(pair.split("=", 1) for pair in text.split(", "))
    found = [r for r in s.world.records() if all(str(r.get(k, "")) == s.address(v) for k, v in wanted.items())]
    right = len(found) == int(count) if count else bool(found)
    assert right, f"{len(found)} such records in:\n" + "\n".join(map(str, s.world.records()))


@step(r"(\d+) bytes (up|down) are in the records of ([\w.-]+)")
def bytes_recorded(s, count, way, host):
    s.gate.wait()
    found = [r.get(f"bytes_{way}", 0) for r in s.world.records() if r.get("host") == host]
    assert sum(found) == int(count), f"{sum(found)}: {found}"


@step(r"(\d+) requests? (?:is|are) allowed")
def allowed(s, count):
    def enough():
        made = [r for r in s.world.records() if r["event"] == "decision" and r["action"] == "allow"]
        return len(made) >= int(count)
    until(enough, 120, f"not {count} allowed")


@step(r"the records hold: (.+)")
def records_hold(s, text):
    s.gate.wait()
    assert text in s.world.audit.read_text(), f"{text!r} is not in the records"


@step(r"the records never hold: (.+)")
def records_never(s, text):
    assert text not in s.world.audit.read_text(), f"{text!r} is in the records"


@step(r"the records are on a small disk")
def small_disk(s):
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0, "no mount namespace"
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(s.world.top / "state")], check=True)


@step(r"that disk is full")
def disk_is_full(s):
    with open(s.world.top / "state" / "filler", "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error


@step(r"that disk has room")
def disk_has_room(s):
    (s.world.top / "state" / "filler").unlink()


@step(r"somebody locks the audit log")
def locks(s):
    s.locked = [open(str(s.world.audit) + end, "rb") for end in ("", ".head")]
    for file in s.locked:
        fcntl.flock(file, fcntl.LOCK_SH)


@step(r"somebody lets the audit log go")
def unlocks(s):
    for file in s.locked:
        file.close()


@step(r"the audit log is whole")
def audit_is_whole(s):
    s.gate.wait()
    s.world.sally("audit", "verify", str(s.world.audit), check=True)


@step(r"explaining (.+) ends with (\d+) and says: (.+)")
def explain(s, words, status, text):
    """Runs `sallyport policy explain` with the scenario's policy."""
    got = s.world.sally("policy", "explain", "--policy", str(s.world.top / "policy"), *shlex.split(words))
    assert got.returncode == int(status), f"exit {got.returncode}\n{got.stdout}{got.stderr}"
    assert text in got.stdout, f"{text!r} is not in:\n{got.stdout}{got.stderr}"


@step(r"the user's policy holds: (.+)")
def user_policy(s, text):
    file = s.world.top / "config/sallyport/policy"
    got = file.read_text() if file.exists() else ""
    assert got.count(text) == 1, f"{got.count(text)} times {text!r} in:\n{got}"


@step(r"the user has no policy")
def no_user_policy(s):
    assert not (s.world.top / "config/sallyport/policy").exists()


@step(r"nothing is left of it")
def nothing_is_left(s):
    def gone():
        worlds.reap()
        s.gate.process.poll()
        watchers = {w.pid for w in s.world.watchers}
        import os
        return not {p: n for p, n in worlds.descendants(os.getpid()).items() if p not in watchers}
    import os
    try:
        until(gone, 120, "processes are left")
    except AssertionError as why:
        raise AssertionError(f"{why}: {worlds.descendants(os.getpid())}") from None


# --- playing ---------------------------------------------------------------------------------------------------------

def show_failure(s, path, number, sentence, why):
    print(f"{path}:{number}: {sentence.splitlines()[0]}\n    {why}")
    for gate in s.gates:
        for stream in ("out", "err"):
            text = gate.text(stream)[-3000:]
            if text:
                print(f"--- {gate.name} {stream}\n{text}")
    if s.world.audit.exists():
        print(f"--- records\n{s.world.audit.read_text()[-3000:]}")


def main():
    keep = "--keep" in sys.argv
    sallyport, name = [w for w in sys.argv[1:] if w != "--keep"]
    path = pathlib.Path(name)
    play = [(number, sentence, *meaning(sentence)) for number, sentence in read(path)]
    worlds.enter_namespace()
    agents.prepare([function for _, _, function, _ in play])
    s = Scenario(sallyport)
    try:
        for number, sentence, function, words in play:
            try:
                function(s, *words)
            except (AssertionError, subprocess.TimeoutExpired) as why:
                show_failure(s, path, number, sentence, why)
                return 1
        print(f"{path.stem}: {len(play)} sentences hold")
        return 0
    finally:
        agents.close(s)
        s.world.close(keep)
        if keep:
            print(f"kept: {s.world.top}")


if __name__ == "__main__":
    sys.exit(main())
