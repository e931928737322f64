#!/usr/bin/env python3
"""watch: `sallyport approve watch` on a whole terminal, with real runs that ask. What stands on it is what is so, a key
answers what is looked at and nothing else, and the terminal comes back as it was.

usage: watch.py SALLYPORT [CASE...]"""
import json
import os
import pathlib
import shlex
import signal
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "flow"))

from screen import COLUMNS, ROWS, Screen, until  # noqa: E402
import screens  # noqa: E402
from world import Gate, descendants, enter_namespace, published  # noqa: E402

GUARD = 0.8  # longer than keys are not taken for answers after something moved


class Watch(Screen):
    """A shell's terminal with the watch in it; the shell goes on behind it."""

    count = 0

    def __init__(self, world, options=(), env=None, rows=ROWS):
        Watch.count += 1
        self.world, self.name = world, f"watch{Watch.count}"
        self.socket, self.ended = world.top / f"{self.name}.tmux", world.top / f"{self.name}.ended"
        # tmux has a TERM of its own for what runs in it.
        command = shlex.join(["env", *(f"{name}={value}" for name, value in (env or {}).items()), world.sallyport, "approve", "watch", *options])
        line = f"echo before the watch; {command}; echo $? >{shlex.quote(str(self.ended))}; exec sleep 1000"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(rows), "-c", str(world.work),
                  line, ";", "set-option", "-g", "status", "off", env={**world.env, "TERM": "xterm"})
        self.pane, self.tty = self.tmux("display-message", "-p", "#{pane_pid} #{pane_tty}").split()

    def key(self, *keys):
        time.sleep(GUARD)
        self.press(*keys)


def run(world, name, script, options=()):
    audit = world.top / f"{name}.jsonl"
    gate = Gate(world, ["--audit", str(audit), "--report", "none", "--default", "ask", "--prompt-timeout", "60s", "--no-tty",
                        *options], script, name)
    gate.audit = audit
    return gate


def decisions(gate):
    if not gate.audit.exists():
        return []
    published(gate.audit.parent / "state")
    records = map(json.loads, gate.audit.read_text().splitlines())
    return [r for r in records if r["event"] == "decision" and r["reason"] != "dns_failed"]  # there is no resolver


def answered(gate, reason):
    until(lambda: [r for r in decisions(gate) if r["reason"] == reason], 20, lambda: f"no {reason}: {decisions(gate)}")


def curl(host):
    return f"curl -sS -o /dev/null http://{host}/"


def shows_and_allows(world):
    """One question: who asks and what each key grants; what is risky wants its domain typed."""
    watch = Watch(world)
    watch.shows("Nothing waits")
    gate = run(world, "one", curl("files.a.test"))
    watch.shows("http://files.a.test:80")
    watch.shows("1 question in 1 run")
    watch.shows("curl -sS -o /dev/null http://files.a.test/")
    watch.shows("  y once     http://files.a.test:80")
    assert watch.line("> ").rstrip().endswith("! http://files.a.test:80"), watch.text()
    watch.key("y")
    watch.shows("To allow ")
    assert not decisions(gate), "a letter allowed a risk"
    until(lambda: "+ " in watch.line("> ").split("waiting")[0], 20, lambda: f"nobody is at it: {watch.text()}")
    watch.press("wrong.test", ("Enter",))
    watch.shows("that is not its domain")
    watch.key("y")
    watch.shows("To allow ")
    watch.press("a.test", ("Enter",))
    answered(gate, "granted_once")
    watch.shows("Nothing waits")
    watch.shows("http://files.a.test:80  allowed")
    gate.wait()
    watch.close()


def widths_are_what_is_granted(world):
    watch = Watch(world)
    gate = run(world, "wide", f"{curl('files.a.test')}; {curl('more.a.test')}")
    watch.shows("  s session  http://files.a.test:80")
    watch.key("w")
    watch.shows("  s session  http://**.a.test:80")
    watch.shows("[w] whole domain")
    assert "  y once     http://files.a.test:80" in watch.text(), watch.text()
    watch.key("t", "b")
    watch.shows("  s session  http://**.a.test:80 for 1h upload 64k")
    watch.shows("[t] for 1h  [b] at most 64k up")
    for _ in range(3):
        watch.press("t")
    for _ in range(4):
        watch.press("b")
    watch.shows("  s session  http://**.a.test:80 for 1h upload 64k")
    watch.key("s")
    watch.press("a.test", ("Enter",))
    gate.wait()
    assert [(r["host"], r["reason"]) for r in decisions(gate)] == \
        [("files.a.test", "granted_session"), ("more.a.test", "granted_session")], decisions(gate)
    watch.close()


def what_is_granted_has_its_place(world):
    """However much a command has to say, and however long its host is; where there is no room for it, nothing is allowed."""
    host = ".".join(["a" * 60, "b" * 60, "evil.test"])
    watch = Watch(world, rows=30)
    gate = run(world, "long", f": {'x' * 3000}; curl -sS -o /dev/null http://{host}/")
    watch.shows("  y once     http://aaaa")
    watch.shows("b a budget")
    watch.shows("x leave")
    assert watch.line("> ").rstrip().endswith(".evil.test:80"), watch.text()
    watch.tmux("resize-window", "-x", "60", "-y", "24")
    until(lambda: watch.text().count("evil.test:80") > 5 and "Before" not in watch.text(), 10, watch.text)
    watch.tmux("resize-window", "-x", "60", "-y", "12")
    watch.shows("too small")
    watch.key("y")
    watch.key("evil.test", ("Enter",))
    assert not decisions(gate), decisions(gate)
    watch.tmux("resize-window", "-x", "100", "-y", "30")
    watch.shows("  a always   http://aaaa")
    watch.key("y")
    watch.shows("To allow ")
    watch.press("evil.test", ("Enter",))
    answered(gate, "granted_once")
    gate.wait()
    watch.close()


def typed_for_another(world):
    """What is typed on while its question is settled elsewhere answers no other."""
    watch = Watch(world)
    one = run(world, "one", curl("one.test"))
    watch.shows("1 question in 1 run")
    two = run(world, "two", curl("two.test"))
    watch.shows("2 questions in 2 runs")
    watch.key("y")
    watch.shows("To allow ")
    watch.press("o")
    world.sally("approve", "deny", watch.line("> ").split()[1], check=True)
    watch.shows("goes nowhere")
    watch.key("ne.test")
    time.sleep(1)
    assert not decisions(two), decisions(two)
    watch.press(("Enter",))
    watch.shows_no_more("goes nowhere")
    watch.key("S")
    answered(two, "denied_session")
    for gate in (one, two):
        gate.wait()
    watch.close()


def words_to_whoever_asked(world):
    """They are shown before the answer, go with it, and are read by the command that waited; no letter of them answers."""
    watch = Watch(world)
    gate = run(world, "words", "curl -sS -o told http://a.test/; curl -sS -o next http://b.test/")
    watch.shows("http://a.test:80")
    watch.shows("r words")
    watch.key("r")
    watch.shows("Words to whoever asked, then Enter")
    watch.press("nesyD", ("Escape",))
    watch.shows_no_more("Words to whoever asked, then Enter")
    watch.key("r", "no: \u00ddtake the mirror", ("Enter",))
    watch.shows("  words      no: take the mirror")
    assert not decisions(gate), decisions(gate)
    watch.key("n")
    watch.shows("http://b.test:80")
    assert "no: take the mirror\n" in (world.work / "told").read_text(), (world.work / "told").read_text()
    assert "  words" not in watch.text(), watch.text()
    watch.key("n")
    gate.wait()
    assert "mirror" not in (world.work / "next").read_text(), (world.work / "next").read_text()
    watch.close()


def words_for_another(world):
    """Settled elsewhere while they are typed, they answer no other question, and are said to nobody."""
    watch = Watch(world)
    one = run(world, "one", "curl -sS -o first http://one.test/")
    watch.shows("1 question in 1 run")
    two = run(world, "two", "curl -sS -o second http://two.test/")
    watch.shows("2 questions in 2 runs")
    watch.key("r")
    watch.press("n")
    world.sally("approve", "deny", watch.line("> ").split()[1], check=True)
    watch.shows("goes nowhere")
    watch.key("o, never", ("Up",), ("Down",))
    time.sleep(1)
    assert not decisions(two), decisions(two)
    watch.press(("Enter",))
    watch.shows_no_more("goes nowhere")
    assert "  words" not in watch.text(), watch.text()
    watch.key("n")
    for gate in (one, two):
        gate.wait()
    assert "never" not in (world.work / "first").read_text() + (world.work / "second").read_text()
    watch.close()


def words_are_for_one(world):
    """And no more of them than arrive."""
    watch = Watch(world)
    gate = run(world, "many", " & ".join(f"curl -sS -o told{i} http://h{i}.one.test/" for i in range(3)) + " & wait")
    watch.shows("3 questions in 1 run")
    watch.key("r")
    watch.press("y" * 300)
    watch.shows("255 bytes at most")
    watch.press(("C-u",), "ask for this", ("Enter",))
    watch.shows("  words      ask for this")
    watch.key("n")
    watch.shows("2 questions in 1 run")
    assert "  words" not in watch.text(), watch.text()
    watch.key("r")
    watch.press("yes, later", ("Enter",))
    for _ in range(2):
        watch.key("n")
    gate.wait()
    told = sorted((world.work / f"told{i}").read_text().count("ask for this") for i in range(3))
    later = sorted((world.work / f"told{i}").read_text().count("yes, later") for i in range(3))
    assert told == [0, 0, 1] and later == [0, 0, 1], (told, later)
    watch.close()


def several_at_once(world):
    """One list: what is ticked is answered together, each as it is asked, after it was listed and a word was typed."""
    watch = Watch(world)
    gate = run(world, "many", f"{curl('h0.one.test')}; " + " & ".join(curl(f"h{i}.one.test") for i in range(1, 5)) +
               f" & {curl('other.test')} & wait")
    watch.shows("http://h0.one.test:80")
    watch.key("y")
    watch.press("one.test", ("Enter",))
    watch.shows("5 questions in 1 run")
    watch.key("*")
    watch.shows("4 ticked")
    assert watch.text().count("[x] http://h") == 4 and "! http://other.test:80" in watch.text(), watch.text()
    while "h4.one.test" not in watch.line("> "):
        before = watch.line("> ")
        watch.press("j" if "h" in before else "k")
        until(lambda: watch.line("> ") != before, 10, "the cursor does not move")
    watch.press((" ",))
    watch.shows("3 ticked")
    watch.key("r")
    watch.press("these yes", ("Enter",))
    watch.shows("  words      these yes")
    watch.key("s")
    watch.shows("Allow, session, exactly these 3:")
    assert "  words      these yes" in watch.text(), watch.text()
    assert "h4" not in watch.text() and "other" not in watch.text(), watch.text()
    watch.key(("Enter",))
    watch.shows("nothing was answered")
    assert len(decisions(gate)) == 1, decisions(gate)
    watch.key("s")
    watch.key("yes", ("Enter",))
    watch.shows("2 questions in 1 run")
    granted = sorted(r["host"] for r in decisions(gate) if r["reason"] == "granted_session")
    assert granted == ["h1.one.test", "h2.one.test", "h3.one.test"], decisions(gate)
    assert all("these yes" in str(r) for r in decisions(gate) if r["reason"] == "granted_session"), decisions(gate)
    assert "  words" not in watch.text(), watch.text()
    for left in (1, 0):
        watch.key("n")
        watch.shows(f"{left} question" if left else "Nothing waits")
    gate.wait()
    watch.close()


def many_of_two_runs(world):
    """The one that is looked at stays the one that is looked at while others come and go."""
    one = run(world, "one", " & ".join(curl(f"h{i}.one.test") for i in range(3)) + " & wait")
    two = run(world, "two", curl("two.test"))
    watch = Watch(world)
    watch.shows("4 questions in 2 runs")
    for _ in range(4):
        watch.press(("Down",))
    time.sleep(0.2)
    chosen = watch.line("> ").split()
    watch.press("k")
    until(lambda: watch.line("> ").split()[1] != chosen[1], 10, "k does not move")
    chosen = watch.line("> ").split()
    other = next(line.split()[0] for line in watch.text().splitlines() if "waiting" in line and line.startswith("  ") and "-" in line.split()[0])
    world.sally("approve", "deny", other, check=True)
    watch.shows("3 questions in")
    assert watch.line("> ").split()[1] == chosen[1], watch.text()
    for left in (2, 1, 0):
        watch.key("n")
        watch.shows(f"{left} question" if left else "Nothing waits")
    for gate in (one, two):
        gate.wait()
        assert all(r["reason"] == "denied_once" for r in decisions(gate)), decisions(gate)
    watch.close()


def too_early_is_nothing(world):
    """What was typed before the question came, Enter, and what is pasted answer nothing."""
    watch = Watch(world)
    watch.shows("Nothing waits")
    watch.press("nnnnnnDDDD")
    gate = run(world, "early", curl("a.test"))
    until(lambda: "http://a.test:80" in watch.text(), 20, watch.text)
    watch.press("n")  # it has just come
    watch.key(("Enter",), (" ",))
    watch.tmux("set-buffer", "nD")
    watch.tmux("paste-buffer", "-p")
    time.sleep(1)
    assert not decisions(gate), decisions(gate)
    assert "http://a.test:80" in watch.text(), watch.text()
    watch.key("D")
    answered(gate, "denied_always")
    gate.wait()
    watch.close()


def an_arrow_in_two(world):
    """The rest of a key's sequence is no letter, however late it comes."""
    watch = Watch(world)
    watch.shows("Nothing waits")
    gate = run(world, "arrow", curl("a.test"))
    until(lambda: "http://a.test:80" in watch.text(), 20, watch.text)
    watch.key(("Escape",))
    watch.key("[D")
    watch.key(("Escape",))
    watch.key("O")
    watch.key("D")
    time.sleep(1)
    assert not decisions(gate), decisions(gate)
    watch.key("D")
    answered(gate, "denied_always")
    gate.wait()
    watch.close()


def hostile_text(world):
    """What a command calls itself moves nothing on the screen."""
    watch = Watch(world)
    name = "x\x1b[2J\x1b[H\x1b]0;owned\x07\u202e"
    gate = run(world, "hostile", f": {shlex.quote(name)}; " + curl("a.test"))
    watch.shows("http://a.test:80")
    watch.shows("\\x1b[2J")
    assert watch.text().startswith(" sallyport"), watch.text()
    watch.key("q")
    gate.wait()
    watch.close()


def comes_and_goes(world):
    """It stops and goes on as a program of the terminal does, follows its size, and leaves nothing behind."""
    watch = Watch(world)
    watch.shows("Nothing waits")
    before = watch.attributes()
    gate = run(world, "size", curl("a.test"), ["--prompt-timeout", "15s"])
    watch.shows("http://a.test:80")
    watch.tmux("resize-window", "-x", "60", "-y", "16")
    until(lambda: watch.text().splitlines()[0].startswith(" sallyport"), 10, watch.text)
    watch.shows("x leave")
    assert all(len(line) <= 60 for line in watch.text().splitlines()), watch.text()
    watch.press("?")
    watch.shows("another question")
    watch.press("j")
    watch.shows_no_more("another question")
    watch.press("x")
    assert watch.ends() == 0
    watch.shows("before the watch")
    assert watch.state()["alternate_on"] == "0" and watch.state()["cursor_flag"] == "1", watch.state()
    assert "-icanon" in before and " icanon" in watch.attributes(), watch.attributes()
    gate.wait()  # nobody is there any more
    assert all(r["action"] == "deny" for r in decisions(gate)), decisions(gate)
    watch.close()


def ended_by_a_signal(world):
    for name in ("TERM", "INT"):
        watch = Watch(world)
        watch.shows("Nothing waits")
        (pid,) = [pid for pid, program in descendants(int(watch.pane)).items() if program == "sallyport"]
        os.kill(pid, getattr(signal, f"SIG{name}"))
        assert watch.ends() == 0, name
        assert watch.state()["alternate_on"] == "0" and " icanon" in watch.attributes(), watch.attributes()
        watch.close()


def line_by_line(world):
    """Where it is asked for, and where the terminal cannot be moved about on."""
    for options, env in ((["--plain"], {}), ([], {"TERM": "dumb"})):
        watch = Watch(world, options, env)
        watch.shows("no sallyport run yet")
        gate = run(world, f"plain{len(options)}", curl("a.test"))
        watch.shows("y once, e this command")
        assert watch.state()["alternate_on"] == "0"
        gate.process.terminate()
        gate.wait()
        watch.close()


def typed_widths_are_shown_first(world):
    """What a line with a width would store is shown, and given to a yes behind that and to nothing else."""
    watch = Watch(world, ["--plain"])
    watch.shows("no sallyport run yet")
    gate = run(world, "wide", f"{curl('files.a.test')}; {curl('more.a.test')}")
    watch.shows("y once, e this command")
    question = next(line.split()[0] for line in watch.text().splitlines() if "http://files.a.test:80" in line and "-" in line.split()[0])
    line = f"s {question} --domain --for 1h a.test"
    shown = f"{question}  would be  http://**.a.test:80 for 1h  allowed for this session"
    watch.press(line, ("Enter",))
    watch.shows(shown)
    watch.press(("Enter",))
    watch.shows(f"{question}  not answered")
    watch.press("yes", ("Enter",))
    watch.shows("type a letter and an id")
    watch.press(line, ("Enter",))
    until(lambda: watch.text().count(shown) == 2, 20, watch.text)
    watch.press(f"y {question} --domain", ("Enter",))
    watch.shows(f"{question}  not answered: ")
    watch.press(f"s {question} --domain wrong.test", ("Enter",))
    watch.shows(f"{question}  would be  http://**.a.test:80  allowed")
    watch.press("yes", ("Enter",))
    watch.shows("to allow it, type a.test as well")
    assert not decisions(gate), decisions(gate)
    watch.press(line, ("Enter",))
    until(lambda: watch.text().count(shown) == 3, 20, watch.text)
    watch.press("yes", ("Enter",))
    gate.wait()
    assert [(r["host"], r["reason"]) for r in decisions(gate)] == \
        [("files.a.test", "granted_session"), ("more.a.test", "granted_session")], decisions(gate)
    watch.close()


def typed_too_late_for_yes(world):
    """A yes that came before what it says yes to, or after that was settled, is none."""
    watch = Watch(world, ["--plain"])
    watch.shows("no sallyport run yet")
    gate = run(world, "late", f"{curl('one.test')}; {curl('two.test')}")
    watch.shows("y once, e this command")
    question = next(line.split()[0] for line in watch.text().splitlines() if "http://one.test:80" in line and "-" in line.split()[0])
    watch.press(f"s {question} --domain one.test\ryes\r")
    until(lambda: "would be" in watch.text() or "not answered" in watch.text(), 20, watch.text)
    time.sleep(0.5)
    watch.press(("Enter",))
    watch.shows(f"{question}  not answered")
    assert not decisions(gate), decisions(gate)
    watch.press(f"s {question} --domain one.test", ("Enter",))
    watch.shows(f"{question}  would be  http://**.one.test:80")
    world.sally("approve", "deny", question, check=True)
    watch.shows("http://two.test:80")
    watch.press("yes", ("Enter",))
    watch.shows("type a letter and an id")
    assert [(r["host"], r["reason"]) for r in decisions(gate)] == [("one.test", "denied_once")], decisions(gate)
    gate.process.terminate()
    gate.wait()
    watch.close()


class StandIn:
    """What a gate says, said by the test: so that a question changes when the test wants it to. The watch is the real one."""

    def __init__(self, world, *questions):
        where = world.top / "runtime" / "sallyport"
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.texts, self.requests, self.reply = {}, [], {"ok": True}
        self.questions = [{"id": f"7f3a-{i}", "protocol": "https", "port": 443, "waiting": 1, "commands": ["npm ci"], "command_count": 1, "age_s": 1,
                           "left_s": 600, "rule": "", "because": "", "private": False, "session": "", "run": "7f3a", "touched": False, "risk": [],
                           "warning": "", "typed": "a.test", "times": 1, "program": "", "chain": "", "plea": "", **question}
                          for i, question in enumerate(questions, 1)]
        self.listener = socket.socket(socket.AF_UNIX)
        hidden = where / ".stand-in"
        self.listener.bind(str(hidden))
        self.listener.listen()
        hidden.rename(where / "7f3a.sock")
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        self.client = self.listener.accept()[0]
        self.say({"sallyport": 1, "run": "7f3a", "session": ""})
        for line in self.client.makefile():
            request = json.loads(line)
            self.requests.append(request)
            self.say({"id": request["id"], **self.answer(request)})

    def answer(self, request):
        if request["op"] == "watch":
            return {"ok": True, "questions": self.questions}
        if request["op"] == "preview":
            question = next(q for q in self.questions if q["id"] == request["question"])
            return {"ok": True, "text": self.texts.get(request["scope"], f"https://{question['host']}:443")}
        return self.reply

    def say(self, message):
        self.client.sendall(json.dumps(message).encode() + b"\n")

    def change(self, at, **members):
        self.questions[at].update(members)
        self.say({"event": "changed", "question": self.questions[at]})

    def given(self, op="allow"):
        return [request for request in self.requests if request["op"] == op]


def what_is_sent_was_shown(world):
    """An allow carries the text that stands on the screen, to the letter; refused as changed, it is shown anew and takes another key."""
    gate = StandIn(world, {"host": "files.a.test"})
    gate.reply = {"ok": False, "code": "changed", "error": "look again"}
    watch = Watch(world)
    watch.shows("  s session  https://files.a.test:443")
    gate.texts["session"] = "https://files.a.test:443 program /usr/bin/other"
    watch.key("s")
    watch.shows("not answered: look again")
    watch.shows("  s session  https://files.a.test:443 program /usr/bin/other")
    assert [r["text"] for r in gate.given()] == ["https://files.a.test:443"], gate.given()
    gate.reply = {"ok": True}
    watch.key("s")
    until(lambda: len(gate.given()) == 2, 20, lambda: f"not sent: {gate.requests}")
    assert gate.given()[1]["text"] == gate.texts["session"], gate.given()
    watch.close()


def changed_while_it_is_typed(world):
    """What has changed since it was agreed to, in a question or in the window, is agreed to again."""
    gate = StandIn(world, {"host": "files.a.test", "risk": ["new"], "warning": "never allowed before"})
    watch = Watch(world)
    watch.shows("  y once     https://files.a.test:443")

    def refused(change, seen):
        watch.key("y")
        watch.shows("To allow ")
        change()
        watch.shows(seen)
        watch.key("a.test", ("Enter",))
        watch.shows_no_more("To allow ")
        watch.shows("nothing was answered")
        assert not gate.given(), gate.given()

    refused(lambda: gate.change(0, commands=["npm ci", "evil"], command_count=2), "evil")
    refused(lambda: gate.change(0, warning="something else"), "careful   something else")
    refused(lambda: watch.tmux("resize-window", "-x", "90", "-y", "40"), "To allow ")
    watch.key("y")
    watch.shows("To allow ")
    gate.change(0, waiting=7)  # which nothing depends on
    watch.shows("7 waiting")
    watch.press("a.test", ("Enter",))
    until(gate.given, 20, lambda: f"not sent: {watch.text()}")
    assert gate.given()[0]["text"] == "https://files.a.test:443" and gate.given()[0]["confirm"] == "a.test", gate.given()
    watch.close()


def changed_while_yes_is_typed(world):
    gate = StandIn(world, {"host": "one.test"}, {"host": "two.test"}, {"host": "three.test"})
    watch = Watch(world)
    watch.shows("3 questions in 1 run")
    watch.key("*")
    watch.shows("3 ticked")
    watch.key("s")
    watch.shows("exactly these 3:")
    gate.change(1, host="evil.test")
    watch.shows("  https://evil.test:443")
    watch.key("yes", ("Enter",))
    watch.shows("nothing was answered")
    assert not gate.given(), gate.given()
    watch.key("syes\r")  # in one piece: nobody can have read the list
    watch.shows_no_more("exactly these 3:")
    time.sleep(0.5)
    assert not gate.given(), gate.given()
    watch.key("s")
    watch.shows("exactly these 3:")
    watch.key("yes", ("Enter",))
    until(lambda: len(gate.given()) == 3, 20, lambda: f"not sent: {gate.requests}")
    assert sorted(r["text"] for r in gate.given()) == ["https://evil.test:443", "https://one.test:443", "https://three.test:443"], gate.given()
    watch.close()


def a_warning_has_its_place(world):
    """Where it has no room, or its lines would be cut, nothing is allowed, and it is said what is needed; a denial goes out."""
    gate = StandIn(world, {"host": "files.a.test", "warning": " ".join(f"word{i}" for i in range(100))}, {"host": "b.test"})
    watch = Watch(world, rows=18)
    watch.shows("lines are needed to allow")
    for key in "yesa":
        watch.key(key)
    needed = int(watch.line("lines are needed").split()[0])
    watch.tmux("resize-window", "-x", str(COLUMNS), "-y", str(needed - 1))
    watch.shows("lines are needed to allow")
    watch.key("y")
    watch.tmux("resize-window", "-x", "21", "-y", "100")
    watch.shows("22 columns")
    watch.key("y")
    assert not gate.given(), gate.given()
    watch.tmux("resize-window", "-x", str(COLUMNS), "-y", str(needed))
    watch.shows("  y once     https://files.a.test:443")
    whole = "".join(line.ljust(COLUMNS) for line in watch.text().splitlines())
    assert all(f"word{i} " in whole for i in range(100)), watch.text()
    watch.key("y")
    until(gate.given, 20, lambda: f"not sent: {watch.text()}")
    gate.say({"event": "retracted", "question": {"id": "7f3a-1"}, "how": "allowed"})
    watch.tmux("resize-window", "-x", "30", "-y", "6")
    watch.shows("lines are needed")
    watch.key("n")
    until(lambda: gate.given("deny"), 20, lambda: f"not denied: {watch.text()}")
    assert len(gate.given()) == 1 and gate.given("deny")[0]["question"] == "7f3a-2", gate.requests
    watch.close()


CASES = [shows_and_allows, widths_are_what_is_granted, what_is_granted_has_its_place, typed_for_another, words_to_whoever_asked, words_for_another,
         words_are_for_one, several_at_once,
         many_of_two_runs, too_early_is_nothing, an_arrow_in_two, hostile_text, comes_and_goes, ended_by_a_signal, line_by_line,
         typed_widths_are_shown_first, typed_too_late_for_yes, what_is_sent_was_shown, changed_while_it_is_typed,
         changed_while_yes_is_typed, a_warning_has_its_place]

if __name__ == "__main__":
    enter_namespace()
    sys.exit(screens.play(CASES))
