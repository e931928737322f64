#!/usr/bin/env python3
"""watch: `sallyport approve watch` on a terminal, with real runs that ask. The page is the one of `run`, a key
answers what is looked at and nothing else, and the terminal comes back as it was.

usage: watch.py SALLYPORT [CASE...]"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import sys
import threading
import time

for folder in ("flow", "agent"):
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / folder))

import harness  # noqa: E402
from screen import COLUMNS, LABEL, ROW, ROWS, SECONDS, TYPE_LABEL, Screen, until  # noqa: E402
import screens  # noqa: E402
from world import Gate, descendants, enter_namespace, processes, published  # noqa: E402

IDLE = "no question waits"


class Watch(Screen):
    """The terminal of a shell that runs the watch; the shell continues after it."""

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

    def opens(self):
        """Waits until keys are accepted."""
        self.sees(lambda: self.typed() is not None, "a question that takes keys")

    def key(self, *keys):
        """Types keys when they are accepted, and waits for the effect of each."""
        self.opens()
        before = self.text()
        self.press(*keys)
        self.sees(lambda: self.text() != before, f"what {keys} does")

    def pid(self):
        (pid,) = [pid for pid, program in descendants(int(self.pane)).items() if program == "sallyport"]
        return pid

    def asked(self):
        """The id of the question on the page."""
        return next(line.split()[1].rstrip(",") for line in self.question() if line.startswith("  question  "))

    def destination(self):
        return self.question()[0].split()[1]

    def has_words(self):
        return any(line.startswith("  reason    ") for line in self.question())

    def lists(self, count):
        """Waits for the list of all @count questions."""
        self.sees(lambda: f"sallyport   {count} questions wait" in self.text() or self.typed() is not None, "a question")
        while f"sallyport   {count} questions wait" not in self.text():
            if self.text().count("questions wait:"):
                self.key("l")
            time.sleep(0.2)
        self.opens()

    def settle(self):
        """Waits until the watch has read all keys that were pressed before."""
        self.sees(lambda: self.typed() is not None or "x leaves, ?" in self.text(), "that keys are read")
        self.press("?")
        self.shows("any key: ")
        while "any key: " in (text := self.text()):
            self.press("j")
            self.sees(lambda: self.text() != text, "the rest of the keys, or the page")


def run(world, name, script, options=()):
    audit = world.top / f"{name}.jsonl"
    gate = Gate(world, ["--audit", str(audit), "--report", "none", "--default", "ask", "--prompt-timeout", "600s", "--no-tty",
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
    until(lambda: [r for r in decisions(gate) if r["reason"] == reason], SECONDS, lambda: f"no {reason}: {decisions(gate)}")


def curl(host):
    return f"curl -sS -o /dev/null http://{host}/"


def shows_and_allows(world):
    """One question shows who asks and what a letter grants; for a real risk the domain has to be typed, for a new one not."""
    watch = Watch(world)
    watch.shows(IDLE)
    gate = run(world, "one", f"{curl('files.a.test')}; {curl('files.pastebin.com')}")
    watch.shows("sallyport   http://files.a.test:80")
    watch.shows("curl -sS -o /dev/null http://files.a.test/")
    watch.shows("  denied in 9m")
    watch.shows("  covers    http://files.a.test:80")
    watch.shows("  NEW       a.test has never been allowed")
    watch.enter("y")
    answered(gate, "granted_once")
    watch.shows("sallyport   http://files.pastebin.com:80")
    watch.shows("  warning   a known file-drop or tunnel service")
    watch.enter("y")
    watch.shows("  type      pastebin.com")
    assert len(decisions(gate)) == 1, "a letter allowed a risk"
    until(lambda: world.questions()[0]["touched"], SECONDS, lambda: f"it is not marked as being answered: {watch.text()}")
    watch.press("wrong.test", ("Enter",))
    watch.shows("that is not pastebin.com")
    watch.type_name("pastebin.com")
    until(lambda: len(decisions(gate)) == 2, SECONDS, lambda: f"not allowed: {watch.text()}")
    watch.shows(IDLE)
    watch.shows("sallyport   http://files.pastebin.com:80 allowed once")
    assert "wrong.test" not in watch.text() and "y once" not in watch.text(), watch.text()
    gate.wait()
    watch.shows(" has ended")
    watch.close()


def widths_are_what_is_granted(world):
    watch = Watch(world)
    gate = run(world, "wide", f"{curl('files.a.test')}; {curl('more.a.test')}")
    watch.shows("  covers    http://files.a.test:80")
    watch.key("h")
    watch.shows("  covers    http://**.a.test:80")
    watch.shows("h whole domain")
    watch.choose("y")
    watch.shows("  grants    http://files.a.test:80")
    watch.key(("BSpace",))
    watch.shows("  covers    http://**.a.test:80")
    watch.key("t")
    watch.key("b")
    watch.shows("  covers    http://**.a.test:80 for 1h upload 64k")
    watch.shows("t for 1h  b at most 64k up")
    for key in "tttbbbb":
        watch.key(key)
    watch.shows("  covers    http://**.a.test:80 for 1h upload 64k")
    watch.choose("a")
    watch.press(("Enter",))
    watch.shows("  type      a.test")  # a whole domain, always
    watch.press(("Enter",))
    watch.shows("Nothing was allowed.")
    watch.answer("s")
    watch.shows("allowed for this session (undo: sallyport approve")
    gate.wait()
    assert [(r["host"], r["reason"]) for r in decisions(gate)] == \
        [("files.a.test", "granted_session"), ("more.a.test", "granted_session")], decisions(gate)
    watch.close()


def what_is_granted_has_its_place(world):
    """A long command line and a long host are shown as far as the window has room; without enough room nothing can be allowed."""
    host = ".".join(["a" * 60, "b" * 60, "evil.test"])
    watch = Watch(world, rows=30)
    gate = run(world, "long", f": {'x' * 3000}; curl -sS -o /dev/null http://{host}/")
    watch.shows("  covers    http://aaaa")
    watch.shows("b any bytes")
    watch.opens()
    assert watch.question()[0].endswith(".evil.test:80"), watch.text()
    watch.tmux("resize-window", "-x", "60", "-y", "24")
    watch.sees(lambda: f"http://{host}:80" in "".join(line[12:] for line in watch.question()), "the whole destination")
    watch.tmux("resize-window", "-x", "60", "-y", "8")
    watch.shows("too small")
    watch.press("y", ("Enter",))
    watch.settle()
    watch.press("evil.test", ("Enter",))
    watch.settle()
    assert not decisions(gate), decisions(gate)
    watch.tmux("resize-window", "-x", "100", "-y", "30")
    watch.shows("http://aaaa")
    watch.opens()
    watch.press(("BSpace",))
    watch.answer("y")
    answered(gate, "granted_once")
    gate.wait()
    watch.close()


def typed_for_another(world):
    """Keys that are typed while the question is answered elsewhere do not answer another one."""
    watch = Watch(world)
    one = run(world, "one", curl("one.pastebin.com"))
    watch.shows("sallyport   http://one.pastebin.com:80")
    two = run(world, "two", curl("two.test"))
    watch.shows("1 more question waits")
    watch.enter("y")
    watch.shows("  type      pastebin.com")
    watch.press("p")
    world.sally("approve", "deny", watch.asked(), check=True)
    watch.shows("goes nowhere")
    watch.shows("sallyport   http://one.pastebin.com:80 denied")
    watch.press("astebin.com", ("Enter",))
    watch.shows_no_more("goes nowhere")
    watch.enter("S")
    answered(two, "denied_session")
    assert len(decisions(two)) == 1, decisions(two)
    for gate in (one, two):
        gate.wait()
    watch.close()


def words_to_whoever_asked(world):
    """A reason is shown before the answer, is sent with it, and reaches the command that waited; none of its letters is an answer."""
    watch = Watch(world)
    gate = run(world, "words", "curl -sS -o told http://a.test/; curl -sS -o next http://b.test/")
    watch.shows("http://a.test:80")
    watch.shows("r reason")
    watch.key("r")
    watch.shows("reason, then Enter:")
    watch.press("nesyD", ("Escape",))
    watch.shows_no_more("reason, then Enter:")
    watch.key("r")
    watch.press("no: \u00ddtake the mirror", ("Enter",))
    watch.shows("  reason    no: take the mirror")
    assert not decisions(gate), decisions(gate)
    watch.enter("n")
    watch.shows("sallyport   http://b.test:80")
    assert "no: take the mirror\n" in (world.work / "told").read_text(), (world.work / "told").read_text()
    assert not watch.has_words(), watch.text()
    watch.enter("n")
    gate.wait()
    assert "mirror" not in (world.work / "next").read_text(), (world.work / "next").read_text()
    watch.close()


def words_for_another(world):
    """If the question is answered elsewhere while a reason is typed, the reason is not sent, and its letters do not answer another question."""
    watch = Watch(world)
    one = run(world, "one", "curl -sS -o first http://one.test/")
    watch.shows("sallyport   http://one.test:80")
    two = run(world, "two", "curl -sS -o second http://two.test/")
    watch.shows("1 more question waits")
    watch.key("r")
    watch.press("n")
    world.sally("approve", "deny", watch.asked(), check=True)
    watch.shows("goes nowhere")
    watch.press("o, never", ("Up",), ("Down",), ("Enter",))
    watch.shows_no_more("goes nowhere")
    assert not watch.has_words(), watch.text()
    watch.enter("S")
    for gate in (one, two):
        gate.wait()
    assert [r["reason"] for r in decisions(two)] == ["denied_session"], decisions(two)
    assert "never" not in (world.work / "first").read_text() + (world.work / "second").read_text()
    watch.close()


def words_are_for_one(world):
    """A reason is not longer than the gate accepts."""
    watch = Watch(world)
    gate = run(world, "many", " & ".join(f"curl -sS -o told{i} http://h{i}.one.test/" for i in range(3)) + " & wait")
    watch.shows("2 more questions wait")
    watch.key("r")
    watch.press("y" * 300)
    watch.shows("no more than that")
    watch.press(("C-u",), "ask for this", ("Enter",))
    watch.shows("  reason    ask for this")
    watch.enter("n")
    watch.shows("1 more question waits")
    assert not watch.has_words(), watch.text()
    watch.key("r")
    watch.press("yes, later", ("Enter",))
    watch.shows("  reason    yes, later")
    watch.enter("n")
    watch.sees(lambda: watch.typed() == "" and not watch.has_words(), "the last question")
    watch.enter("n")
    watch.shows(IDLE)
    gate.wait()
    told = sorted((world.work / f"told{i}").read_text().count("ask for this") for i in range(3))
    later = sorted((world.work / f"told{i}").read_text().count("yes, later") for i in range(3))
    assert told == [0, 0, 1] and later == [0, 0, 1], (told, later)
    watch.close()


def several_at_once(world):
    """One list: the ticked questions on the screen are answered together, each with its own destination."""
    watch = Watch(world)
    gate = run(world, "many", f"{curl('h0.one.test')}; " + " & ".join(curl(f"h{i}.one.test") for i in range(1, 5)) +
               f" & {curl('other.test')} & wait")
    watch.shows("http://h0.one.test:80")
    watch.answer("y")
    watch.lists(5)
    watch.shows("[ ]     one.test, 4 hosts")  # it was allowed before: no mark
    watch.shows("[ ] NEW http://other.test:80")
    watch.press("g")
    watch.sees(lambda: len(watch.rows()) == 5, "a line for each")
    watch.press("A")
    watch.shows("selected  5 of 5")
    rows = watch.rows()
    for left, host in ((4, "other.test"), (3, "h4.one.test")):
        watch.choose(next(number for number, (_, destination) in rows.items() if host in destination))
        watch.press(" ")
        watch.shows(f"selected  {left} of 5")
    watch.key("r")
    watch.press("these yes", ("Enter",))
    watch.shows("  reason    these yes")
    watch.key(("Enter",))
    watch.shows("nothing is answered yet")
    assert len(decisions(gate)) == 1, decisions(gate)
    watch.enter("s")
    watch.shows("1 more question waits")
    granted = sorted(r["host"] for r in decisions(gate) if r["reason"] == "granted_session")
    assert granted == ["h1.one.test", "h2.one.test", "h3.one.test"], decisions(gate)
    assert all("these yes" in str(r) for r in decisions(gate) if r["reason"] == "granted_session"), decisions(gate)
    assert not watch.has_words(), watch.text()
    watch.enter("n")
    watch.sees(lambda: watch.typed() == "", "the last question")
    watch.enter("n")
    watch.shows(IDLE)
    gate.wait()
    watch.close()


def many_of_two_runs(world):
    """The selected question stays selected while others open and close."""
    one = run(world, "one", " & ".join(curl(f"h{i}.one.test") for i in range(3)) + " & wait")
    two = run(world, "two", curl("two.test"))
    watch = Watch(world)
    watch.lists(4)
    watch.press("g")
    watch.sees(lambda: len(watch.rows()) == 4, "a line for each")

    def chosen():
        return next(ROW.match(line)[3] for line in watch.text().splitlines() if line.startswith(">"))

    for _ in range(4):
        watch.press(("Down",))
    watch.sees(lambda: re.findall(r"^([> ]) *\d+ \[", watch.text(), re.M) == list("   >"), "the last of them")
    before = chosen()
    watch.press("k")
    until(lambda: chosen() != before, SECONDS, "k does not move")
    before = chosen()
    world.sally("approve", "deny", next(q["id"] for q in world.questions() if q["host"] not in before), check=True)
    watch.shows("sallyport   3 questions wait")
    assert chosen() == before, watch.text()
    watch.press("v")
    watch.shows(f"sallyport   {before}")
    for left in ("1 more question waits", "1 connection waits\n", IDLE):
        watch.enter("n")
        watch.shows(left)
    for gate in (one, two):
        gate.wait()
        assert all(r["reason"] == "denied_once" for r in decisions(gate)), decisions(gate)
    watch.close()


def too_early_is_nothing(world):
    """Keys typed before the question, a single Enter, and pasted text are no answers."""
    watch = Watch(world)
    watch.shows("x leaves, ?")
    watch.press("nnnnnnDDDD")
    watch.shows("D does nothing here")
    watch.settle()
    watcher = watch.pid()
    os.kill(watcher, signal.SIGSTOP)  # so that it reads the next key with the question
    gate = run(world, "early", curl("a.test"))
    until(lambda: world.questions(), SECONDS, "nothing is asked")
    watch.press("n", ("Enter",))  # it has just come
    os.kill(watcher, signal.SIGCONT)
    watch.shows("http://a.test:80")
    watch.sees(lambda: watch.typed() == "", "that no letter was taken")
    watch.key(("Enter",))
    watch.shows("Type a key first")
    watch.key(" ")
    watch.tmux("set-buffer", "nD")
    watch.tmux("paste-buffer", "-p")
    watch.settle()
    assert "http://a.test:80" in watch.text() and not decisions(gate), watch.text()
    watch.enter("S")
    gate.wait()
    assert [r["reason"] for r in decisions(gate)] == ["denied_session"], decisions(gate)
    watch.close()


def an_arrow_in_two(world):
    """The rest of a key's escape sequence is not taken as a letter, even if it arrives late."""
    watch = Watch(world)
    watch.shows(IDLE)
    gate = run(world, "arrow", curl("a.test"))
    watch.shows("http://a.test:80")
    watch.opens()
    for rest in (("[D",), ("O", "D")):
        watch.press(("Escape",))
        time.sleep(0.5)  # a person's, or a slow line's
        watch.press(*rest)
    watch.settle()
    assert watch.typed() == "", watch.text()
    watch.enter("S")
    gate.wait()
    assert [r["reason"] for r in decisions(gate)] == ["denied_session"], decisions(gate)
    watch.close()


def hostile_text(world):
    """The name of a command cannot control the screen."""
    watch = Watch(world)
    name = "x\x1b[2J\x1b[H\x1b]0;owned\x07\u202e"
    gate = run(world, "hostile", f": {shlex.quote(name)}; " + curl("a.test"))
    watch.shows("http://a.test:80")
    watch.shows("\\x1b[2J")
    assert watch.question()[0].startswith("sallyport   http://a.test:80"), watch.text()
    watch.enter("q")
    gate.wait()
    watch.close()


def comes_and_goes(world):
    """The watch can be stopped and continued, follows the size of the terminal, and leaves no traces on it."""
    watch = Watch(world)
    watch.shows(IDLE)
    before = watch.attributes()
    gate = run(world, "size", curl("a.test"), ["--prompt-timeout", "15s"])
    watch.shows("http://a.test:80")
    watch.tmux("resize-window", "-x", "60", "-y", "16")
    watch.shows(LABEL)
    assert all(len(line) <= 60 for line in watch.text().splitlines()), watch.text()
    watch.settle()
    watcher = watch.pid()
    os.kill(watcher, signal.SIGTSTP)  # as Ctrl-Z does; tmux would continue its own child
    until(lambda: processes()[watcher][2] == "T", SECONDS, "it does not stop")
    assert " icanon" in watch.attributes(), watch.attributes()
    os.kill(watcher, signal.SIGCONT)
    watch.settle()
    watch.press("x")
    assert watch.ends() == 0
    assert "before the watch\n" in watch.tmux("capture-pane", "-p", "-S", "-"), watch.text()
    assert watch.state()["alternate_on"] == "0" and watch.state()["cursor_flag"] == "1", watch.state()
    assert LABEL not in watch.text(), watch.text()
    assert "-icanon" in before and " icanon" in watch.attributes(), watch.attributes()
    gate.wait()  # no approver is connected any more
    assert all(r["action"] == "deny" for r in decisions(gate)), decisions(gate)
    watch.close()


def ended_by_a_signal(world):
    for name in ("TERM", "INT"):
        watch = Watch(world)
        watch.shows(IDLE)
        os.kill(watch.pid(), getattr(signal, f"SIG{name}"))
        assert watch.ends() == 0, name
        assert watch.state()["alternate_on"] == "0" and " icanon" in watch.attributes(), watch.attributes()
        watch.close()


def line_by_line(world):
    """Line mode: with --plain, and on a terminal whose cursor cannot be moved."""
    for options, env in ((["--plain"], {}), ([], {"TERM": "dumb"})):
        watch = Watch(world, options, env)
        watch.shows("no sallyport run is active")
        gate = run(world, f"plain{len(options)}", curl("a.test"))
        watch.shows("y allows once, e for this command")
        assert watch.state()["alternate_on"] == "0"
        gate.process.terminate()
        gate.wait()
        watch.close()


def typed_widths_are_shown_first(world):
    """The text that a line with a width would store is shown, and only a later yes confirms it."""
    watch = Watch(world, ["--plain"])
    watch.shows("no sallyport run is active")
    gate = run(world, "wide", f"{curl('files.a.test')}; {curl('more.a.test')}")
    watch.shows("y allows once, e for this command")
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
    until(lambda: watch.text().count(shown) == 2, SECONDS, watch.text)
    watch.press(f"y {question} --domain", ("Enter",))
    watch.shows(f"{question}  not answered: ")
    watch.press(f"a {question} --domain wrong.test", ("Enter",))
    watch.shows(f"{question}  would be  http://**.a.test:80  allowed")
    watch.press("yes", ("Enter",))
    watch.shows("to allow it, type a.test as well")
    assert not decisions(gate), decisions(gate)
    watch.press(line, ("Enter",))
    until(lambda: watch.text().count(shown) == 3, SECONDS, watch.text)
    watch.press("yes", ("Enter",))
    gate.wait()
    assert [(r["host"], r["reason"]) for r in decisions(gate)] == \
        [("files.a.test", "granted_session"), ("more.a.test", "granted_session")], decisions(gate)
    watch.close()


def typed_too_late_for_yes(world):
    """A yes that came before the text it confirms, or after the question was answered, does not count."""
    watch = Watch(world, ["--plain"])
    watch.shows("no sallyport run is active")
    gate = run(world, "late", f"{curl('one.test')}; {curl('two.test')}")
    watch.shows("y allows once, e for this command")
    question = next(line.split()[0] for line in watch.text().splitlines() if "http://one.test:80" in line and "-" in line.split()[0])
    watch.press(f"s {question} --domain one.test\ryes\r")
    until(lambda: "would be" in watch.text() or "not answered" in watch.text(), SECONDS, watch.text)
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
    """A gate that the test controls, so that a question changes when the test wants it to. The watch is the real one."""

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

    @contextlib.contextmanager
    def changing(self, at, member, *values):
        """Changes @member of the question at @at continuously, inside the block."""
        began, ended = threading.Event(), threading.Event()

        def change():
            i = 0
            while not ended.wait(0.1):
                self.change(at, **{member: values[i % len(values)]})
                i += 1
                if i > len(values):
                    began.set()

        thread = threading.Thread(target=change)
        thread.start()
        began.wait(SECONDS)
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def given(self, op="allow"):
        return [request for request in self.requests if request["op"] == op]


def what_is_sent_was_shown(world):
    """An allow contains exactly the text on the screen. If the gate refuses it as changed, the question is drawn again and needs another key."""
    gate = StandIn(world, {"host": "files.a.test", "program": "/usr/bin/one"})
    gate.reply = {"ok": False, "code": "changed", "error": "look once more"}
    watch = Watch(world)
    watch.shows("  covers    https://files.a.test:443")
    watch.enter("s")
    watch.shows("nothing was recorded: look once more")
    assert [r["text"] for r in gate.given()] == ["https://files.a.test:443"], gate.given()
    gate.change(0, program="/usr/bin/other")
    watch.shows("  program   /usr/bin/other")
    watch.key("o")
    watch.shows("  covers    https://files.a.test:443 by /usr/bin/other")
    gate.reply = {"ok": True}
    watch.enter("s")
    until(lambda: len(gate.given()) == 2, SECONDS, lambda: f"not sent: {gate.requests}")
    assert gate.given()[1]["text"] == "https://files.a.test:443 by /usr/bin/other", gate.given()
    watch.close()


def changed_while_it_is_typed(world):
    """A question is not answered if it, or the window, has changed since it was shown."""
    gate = StandIn(world, {"host": "files.a.test", "risk": ["new"], "warning": "never allowed before"})
    watch = Watch(world)
    watch.shows("  covers    https://files.a.test:443")

    def types():
        watch.enter("y")
        watch.shows("  type      a.test")
        watch.press("a.test")
        watch.sees(lambda: watch.typed(TYPE_LABEL) == "a.test", "the name that is typed")

    def is_refused():
        watch.shows("look again, then Enter")
        watch.sees(lambda: watch.typed(TYPE_LABEL) == "", "that nothing is typed")
        watch.press(("Enter",))
        watch.shows("Nothing was allowed")
        assert not gate.given(), gate.given()

    for member, values in (("commands", (["npm ci", "evil"], ["npm ci"])), ("warning", ("something else", "never allowed before"))):
        types()
        with gate.changing(0, member, *values):
            watch.press(("Enter",))
            watch.shows("look again, then Enter")
        is_refused()
    types()
    watcher = watch.pid()
    os.kill(watcher, signal.SIGSTOP)
    watch.tmux("resize-window", "-x", "90", "-y", "40")
    watch.press(("Enter",))
    os.kill(watcher, signal.SIGCONT)
    is_refused()
    watch.enter("y")
    gate.change(0, waiting=7)  # which nothing depends on
    watch.shows("7 connections")
    watch.type_name("a.test")
    until(gate.given, SECONDS, lambda: f"not sent: {watch.text()}")
    assert gate.given()[0]["text"] == "https://files.a.test:443" and gate.given()[0]["confirm"] == "a.test", gate.given()
    watch.close()


def changed_while_it_is_ticked(world):
    """A tick applies only to the text that its line showed."""
    gate = StandIn(world, {"host": "one.test"}, {"host": "two.test"}, {"host": "three.test"})
    watch = Watch(world)
    watch.shows("2 more questions wait")
    watch.key("l")
    watch.shows("sallyport   3 questions wait")
    watch.opens()
    watch.press("*s\r")  # in one piece: nobody can have read the list
    watch.shows("look, then Enter")
    watch.key(("BSpace",))
    watch.shows("selected  3 of 3")
    gate.change(1, host="evil.test")
    watch.shows("[ ]     https://evil.test:443")
    watch.shows("selected  2 of 3")
    assert not gate.given(), gate.given()
    watch.enter("s")
    until(lambda: len(gate.given()) == 2, SECONDS, lambda: f"not sent: {gate.requests}")
    assert sorted(r["text"] for r in gate.given()) == ["https://one.test:443", "https://three.test:443"], gate.given()
    watch.close()


def a_warning_has_its_place(world):
    """What does not fit is scrolled through before an allow. In a window that is too small nothing can be allowed, and the page says which
    size it needs; a denial is sent."""
    gate = StandIn(world, {"host": "files.a.test", "warning": " ".join(f"word{i}" for i in range(100))}, {"host": "b.test"})
    watch = Watch(world, rows=6)
    watch.shows("too small to allow anything")
    for key in "yesa":
        watch.press(key, ("Enter",), ("BSpace",))
    watch.settle()
    needed = int(re.search(r"(\d+) lines *are *needed", " ".join(watch.text().split()))[1])
    watch.tmux("resize-window", "-x", str(COLUMNS), "-y", str(needed - 1))
    watch.shows(f"and it has {needed - 1}")
    watch.press("y", ("Enter",), ("BSpace",))
    watch.tmux("resize-window", "-x", "39", "-y", "100")
    watch.shows("40 columns")
    watch.press("y", ("Enter",), ("BSpace",))
    watch.tmux("resize-window", "-x", str(COLUMNS), "-y", str(needed))
    watch.shows("  covers    https://files.a.test:443")
    watch.tmux("resize-window", "-x", str(COLUMNS), "-y", "12")
    watch.shows("lines     1-5 of 11")
    watch.settle()
    assert not gate.given(), gate.given()
    whole = watch.text()
    while "look at all of them first" in watch.text():
        watch.choose("y")
        watch.press(("Enter",))
        watch.sees(lambda: "Space shows" in watch.text() or (watch.is_refused() and watch.press(("Enter",))), "that lines were not seen")
        watch.key(("BSpace",))
        assert not gate.given(), gate.given()
        watch.key(" ")
        whole += watch.text()
    assert all(f"word{i}" in whole for i in range(100)), whole
    watch.enter("y")
    until(gate.given, SECONDS, lambda: f"not sent: {watch.text()}")
    gate.say({"event": "retracted", "question": {"id": "7f3a-1"}, "how": "allowed"})
    watch.tmux("resize-window", "-x", "30", "-y", "6")
    watch.shows("columns")
    watch.sees(lambda: watch.press("n") or gate.given("deny"), "a denial")
    assert len(gate.given()) == 1 and gate.given("deny")[0]["question"] == "7f3a-2", gate.requests
    watch.close()


class Agent(harness.Client):
    """A client of `sallyport agent` that leaves every question to the watch."""

    def __init__(self, world):
        world.options = ["--policy", str(world.top / "policy")]
        (world.top / "policy").write_text("version 1\ncommand ask cat\n")
        super().__init__(world)
        self.configure("on-request")

    def asks(self, *words):
        """Asks for `cat WORDS`; returns the submission's id."""
        return self.send("exec", command=["cat", *words])

    def decided(self):
        return [r for r in map(json.loads, self.stage.audit.read_text().splitlines()) if r["event"] == "decision"]


def an_agent_asks(world):
    """An agent's question shows all that an allow grants, and offers only the answers that it has."""
    watch = Watch(world)
    watch.shows(IDLE)
    agent = Agent(world)
    id = agent.asks("/dev/null", "\x1b[2J")
    watch.shows("sallyport   an agent asks: exec")
    watch.shows(r"  command   cat /dev/null '\x1b[2J'")
    watch.shows(f"  directory {world.work}")
    watch.shows("  allow     y once  s session")
    watch.key("e")
    watch.shows("the question does not offer it")
    watch.key("h")
    watch.shows("h does nothing here")
    agent.never("exec_begin")
    watch.enter("y")
    watch.shows(" allowed once")
    assert agent.next("exec_end", id=id)["status"] == "exited"
    (record,) = [r for r in agent.decided() if r["through"] == "approve"]
    assert record["action"] == "allow" and record["kind"] == "exec", record
    id = agent.asks("/dev/zero")
    watch.shows("cat /dev/zero")
    watch.key("r")
    watch.press("use the mirror", ("Enter",))
    watch.shows("  reason    use the mirror")
    watch.enter("n")
    end = agent.next("exec_end", id=id)
    assert end["status"] == "rejected" and "use the mirror" in end["message"], end
    id = agent.asks("/etc/hostname")
    watch.enter("s")
    assert agent.next("exec_end", id=id)["status"] == "exited"
    assert agent.run(["cat", "/etc/hostname"])["status"] == "exited"  # nobody is asked
    id = agent.asks("/dev/urandom")
    watch.enter("q")
    assert agent.next("exec_end", id=id).get("abort") is True
    id = agent.asks("/dev/tty")
    watch.shows("cat /dev/tty")
    agent.answer(agent.next("approval_request", ids=[id]), "denied")
    watch.shows("was answered by the agent's client")
    watch.shows(IDLE)
    watch.close()


def an_agent_asks_much(world):
    """What does not fit is on further pages, and is allowed only after all of them were on the screen."""
    watch = Watch(world, rows=20)
    watch.shows(IDLE)
    agent = Agent(world)
    id = agent.send("request_patch_approval", changes=[
        {"path": "/var/lib/one", "kind": "add", "content": "".join(f"line {i}\n" for i in range(25))}])
    watch.shows("Space: next; to allow it, look at all of them first")
    watch.choose("y")
    watch.press(("Enter",))
    watch.shows("Space shows lines that were not seen; then Enter")
    watch.key(("BSpace",))
    seen = watch.text()
    while "look at all of them first" in watch.text():
        watch.key(" ")
        seen += watch.text()
    assert all(f"| line {i}\n" in seen for i in range(25)), seen
    agent.never("task_complete")
    watch.enter("y")
    assert agent.next("task_complete", id=id)["outcome"] == "approved"
    watch.close()


def an_agent_asks_among_others(world):
    """It has its own page; the list has the destinations."""
    watch = Watch(world)
    watch.shows(IDLE)
    agent = Agent(world)
    id = agent.asks("/dev/null")
    watch.shows("an agent asks: exec")
    gate = run(world, "many", f"{curl('a.test')} & {curl('b.test')} & {curl('c.test')} & wait")
    watch.shows("3 more questions wait: l lists them")
    watch.key("l")
    watch.shows("sallyport   3 questions wait")
    watch.key("A")
    watch.press("n")
    watch.shows("an agent asks: exec")
    watch.enter("y")
    assert agent.next("exec_end", id=id)["status"] == "exited"
    watch.shows(IDLE)
    answered(gate, "denied_once")
    watch.close()


def an_agent_asks_after_another(world):
    """The page on the screen says that an agent asks too, whose question comes next."""
    watch = Watch(world)
    watch.shows(IDLE)
    gate = run(world, "two", f"{curl('a.test')}; {curl('b.test')}")
    watch.shows("sallyport   http://a.test:80")
    agent = Agent(world)
    id = agent.asks("/dev/null")
    watch.shows("an agent asks too: its question follows")
    assert watch.destination() == "http://a.test:80", watch.text()
    watch.key("n")
    watch.shows("an agent asks: exec")
    watch.enter("y")
    assert agent.next("exec_end", id=id)["status"] == "exited"
    watch.shows("sallyport   http://b.test:80")
    watch.key("n")
    answered(gate, "denied_once")
    watch.shows(IDLE)
    watch.close()


CASES = [an_agent_asks, an_agent_asks_much, an_agent_asks_among_others, an_agent_asks_after_another, shows_and_allows, widths_are_what_is_granted, what_is_granted_has_its_place, typed_for_another, words_to_whoever_asked, words_for_another,
         words_are_for_one, several_at_once,
         many_of_two_runs, too_early_is_nothing, an_arrow_in_two, hostile_text, comes_and_goes, ended_by_a_signal, line_by_line,
         typed_widths_are_shown_first, typed_too_late_for_yes, what_is_sent_was_shown, changed_while_it_is_typed,
         changed_while_it_is_ticked, a_warning_has_its_place]

if __name__ == "__main__":
    enter_namespace()
    sys.exit(screens.play(CASES))
