"""screen: a terminal that a test can read: the test's own tmux server, with one pane, which runs one gate."""
import re
import shlex
import shutil
import subprocess
import time

from world import processes, published

TMUX = shutil.which("tmux")
COLUMNS, ROWS = 100, 30
LABEL = "answer, then Enter:"  # stands there while keys count; in the guard it says "wait a moment"
TYPE_LABEL = "to allow it, then Enter:"
ROW = re.compile(r"[> ] *(\d+) \[([ x])\] (?:NEW|\(!\)|   ) (\S+)")  # of a list: its number, its tick, its destination or domain
DENIALS = "nESDq"  # one key each
REFUSED = re.compile(r"look(?: again)?, then (?:Enter|[nESDq])$")
SECONDS = 120  # for what has to happen on a busy machine; nobody waits so long for what does happen


class Screen:
    def __init__(self, world, name, script, options=(), redirect="", rows=ROWS, socket=None):
        self.world, self.name = world, name
        self.socket = socket or world.top / f"{name}.tmux"
        self.audit = world.top / f"{name}.jsonl"
        self.ended = world.top / f"{name}.ended"
        command = [world.sallyport, "run", "--audit", str(self.audit), "--report", "none", "--default", "ask", *options,
                   "--", "sh", "-c", script]
        # The shell outlives the gate, as a person's does, and says how it ended.
        line = f"{shlex.join(command)} {redirect}; echo $? >{shlex.quote(str(self.ended))}; exec sleep 1000"
        env = {**world.env, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(rows), "-c", str(world.work),
                  line, ";", "set-option", "-g", "status", "off", env=env)
        self.pane, self.tty = self.tmux("display-message", "-p", "#{pane_pid} #{pane_tty}").split()

    def tmux(self, *words, env=None):
        run = subprocess.run([TMUX, "-S", str(self.socket), *words], capture_output=True, text=True, timeout=SECONDS,
                             env=env or self.world.env, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise AssertionError(f"tmux {words[0]}: {run.stderr.strip()}")
        return run.stdout

    def text(self, styles=False):
        """The text on the screen now."""
        return self.tmux("capture-pane", "-p", *(["-e"] if styles else []))

    def state(self):
        """The settings of the terminal, without its text."""
        fields = ("alternate_on", "cursor_x", "cursor_y", "cursor_flag", "insert_flag", "keypad_cursor_flag", "keypad_flag",
                  "mouse_any_flag", "mouse_sgr_flag", "origin_flag", "scroll_region_lower", "scroll_region_upper", "wrap_flag")
        return dict(zip(fields, self.tmux("display-message", "-p", ",".join(f"#{{{f}}}" for f in fields)).strip().split(",")))

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", *key) if isinstance(key, tuple) else self.tmux("send-keys", "-l", key)

    def question(self):
        """The lines of the open question, in tmux's window if there is one; lines above it are answered questions."""
        lines = self.text().splitlines()
        window = [line.split("│")[1].rstrip() for line in lines if line.count("│") > 1]
        lines = window or lines
        return lines[max((i for i, line in enumerate(lines) if line.startswith("sallyport   ")), default=0):]

    def typed(self, label=LABEL):
        """The text after @label of the open question; None: it is not there."""
        return next((line.partition(label)[2].strip() for line in self.question() if label in line), None)

    def widen(self, *keys):
        """Types @keys at a question that accepts keys, one by one, and waits until each is visible."""
        self.sees(lambda: self.typed() is not None, "a question that takes keys")
        for key in keys:
            before = self.text()
            self.press(key)
            until(lambda: self.text() != before and self.typed() is not None, SECONDS, lambda: f"{key} does nothing:\n{self.text()}")

    def choose(self, *keys):
        """The same; the last is the letter of the answer."""
        self.widen(*keys)
        self.sees(lambda: self.typed() == keys[-1], f"the letter {keys[-1]}")

    def enter(self, *keys):
        """Chooses an answer, and gives it. If the page has just changed, it says so and does not answer: then it is chosen again, as by a person."""
        if keys[-1] in DENIALS:
            self.widen(*keys[:-1])
            return self.deny(keys[-1])
        while True:
            self.choose(*keys)
            self.press(("Enter",))
            self.sees(lambda: self.typed() != keys[-1] or self.is_refused(), "the answer taken, or not")
            if not self.is_refused():
                return
            keys = keys[-1:]
            self.press(("BSpace",))
            self.sees(lambda: self.typed() == "", "the letter taken back")

    def title(self):
        """The first line of the open question or list, without the time that is left."""
        return next(iter(self.question()), "").partition(";")[0]

    def deny(self, key="n"):
        """One key, once keys count. A page that has just changed says so and does not answer: then it is pressed again."""
        while True:
            self.sees(lambda: self.typed() is not None, "a question that takes keys")
            before = self.title()
            self.press(key)
            self.sees(lambda: self.title() != before or self.is_refused(), "the denial taken, or not")
            if self.title() != before:
                return

    def is_refused(self):
        return any(REFUSED.search(line) for line in self.question())

    def answer(self, letter, name=None):
        """Answers as a person, when keys are accepted; @name: the domain to type if the question has a warning."""
        self.enter(letter)
        if name:
            self.type_name(name)

    def type_name(self, name):
        """Types the text that is required before it is allowed; again if it was not accepted, as above."""
        self.shows(f"  type      {name}")
        while True:
            self.press(name)
            self.sees(lambda: self.typed(TYPE_LABEL) == name, "the name that is typed")
            self.press(("Enter",))
            self.sees(lambda: self.typed(TYPE_LABEL) != name, "the name taken, or not")
            if not self.is_refused():
                return

    def rows(self):
        """The rows of a list: {number: (is ticked, destination)}."""
        found = [ROW.match(line) for line in self.text().splitlines()]
        return {row[1]: (row[2] == "x", row[3]) for row in found if row}

    def tick(self, *numbers):
        """Types keys in a list that accepts them, and waits until each has its effect."""
        for number in numbers:
            self.choose(number)
            self.press(" ")
            self.sees(lambda: self.rows().get(number, (False,))[0] and self.typed() == "", f"a tick at {number}")

    def attributes(self):
        """The settings of the terminal, as stty prints them."""
        return subprocess.run(["stty", "-a", "-F", self.tty], capture_output=True, text=True, timeout=SECONDS, check=True).stdout

    def gate(self):
        """The gate's process: the shell's child."""
        children = [pid for pid, (parent, name, _) in processes().items() if parent == int(self.pane) and name == "sallyport"]
        assert len(children) == 1, children
        return children[0]

    def line(self, part):
        return next((line.rstrip() for line in self.text().splitlines() if part in line), "")

    def sees(self, condition, what):
        until(condition, SECONDS, lambda: f"the screen never shows {what}, but:\n{self.text()}")

    def shows(self, part):
        self.sees(lambda: part in self.text(), repr(part))

    def shows_no_more(self, part):
        until(lambda: part not in self.text(), SECONDS, lambda: f"the screen still shows {part!r}:\n{self.text()}")

    def becomes(self, want):
        until(lambda: self.text() == want, SECONDS,
              lambda: f"the screen is not what it was. It was:\n{want}\nIt is:\n{self.text()}")

    def ends(self):
        """The gate's exit status."""
        until(self.ended.exists, SECONDS, lambda: f"the gate did not end:\n{self.text()}")
        return int(until(lambda: self.ended.read_text().strip(), SECONDS, "no status"))

    def records(self):
        import json
        if not self.audit.exists():
            return []
        published(self.audit.parent / "state")
        return [json.loads(line) for line in self.audit.read_text().splitlines() if line.startswith("{")]

    def reasons(self, host):
        return [r.get("reason") for r in self.records() if r.get("host") == host]

    def attach(self, columns=COLUMNS, rows=ROWS):
        """Attaches another terminal to the server, and returns it."""
        viewer = object.__new__(Screen)
        viewer.world, viewer.name, viewer.socket = self.world, f"{self.name}-viewer", self.world.top / f"{self.name}-viewer.tmux"
        viewer.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                    f"TMUX= exec tmux -S {shlex.quote(str(self.socket))} attach", ";", "set-option", "-g", "status", "off",
                    env={**self.world.env, "TERM": "xterm"})
        until(lambda: self.tmux("list-clients"), SECONDS, "nobody attaches")
        return viewer

    def close(self):
        subprocess.run([TMUX, "-S", str(self.socket), "kill-server"], capture_output=True, timeout=SECONDS, check=False)


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.05)
