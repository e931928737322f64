"""screen: a terminal that can be looked at: a tmux server of the test's own, with one pane, which runs one gate."""
import shlex
import shutil
import subprocess
import time

from world import processes, published

TMUX = shutil.which("tmux")
COLUMNS, ROWS = 100, 30
LABEL = "answer, then Enter:"


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
        run = subprocess.run([TMUX, "-S", str(self.socket), *words], capture_output=True, text=True, timeout=20,
                             env=env or self.world.env, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise AssertionError(f"tmux {words[0]}: {run.stderr.strip()}")
        return run.stdout

    def text(self, styles=False):
        """What stands on the screen now."""
        return self.tmux("capture-pane", "-p", *(["-e"] if styles else []))

    def state(self):
        """What the terminal is set to, besides its text."""
        fields = ("alternate_on", "cursor_x", "cursor_y", "cursor_flag", "insert_flag", "keypad_cursor_flag", "keypad_flag",
                  "mouse_any_flag", "mouse_sgr_flag", "origin_flag", "scroll_region_lower", "scroll_region_upper", "wrap_flag")
        return dict(zip(fields, self.tmux("display-message", "-p", ",".join(f"#{{{f}}}" for f in fields)).strip().split(",")))

    def press(self, *keys):
        for key in keys:
            self.tmux("send-keys", *key) if isinstance(key, tuple) else self.tmux("send-keys", "-l", key)

    def answer(self, letter, name=None):
        """A person's answer: looks, waits for the guard to pass, types; @name, where a letter is not enough."""
        time.sleep(0.8)
        self.press(letter)
        until(lambda: self.line(LABEL).endswith(f"{LABEL} {letter}"), 10, lambda: f"the letter is not shown:\n{self.text()}")
        self.press(("Enter",))
        if name:
            self.shows(f"  type      {name}")
            self.press(name, ("Enter",))

    def attributes(self):
        """The terminal's, as stty has them."""
        return subprocess.run(["stty", "-a", "-F", self.tty], capture_output=True, text=True, timeout=20, check=True).stdout

    def gate(self):
        """The gate's process: the shell's child."""
        children = [pid for pid, (parent, name, _) in processes().items() if parent == int(self.pane) and name == "sallyport"]
        assert len(children) == 1, children
        return children[0]

    def line(self, part):
        return next((line.rstrip() for line in self.text().splitlines() if part in line), "")

    def shows(self, part, seconds=30):
        until(lambda: part in self.text(), seconds, lambda: f"the screen never shows {part!r}, but:\n{self.text()}")

    def shows_no_more(self, part, seconds=10):
        until(lambda: part not in self.text(), seconds, lambda: f"the screen still shows {part!r}:\n{self.text()}")

    def becomes(self, want, seconds=10):
        until(lambda: self.text() == want, seconds,
              lambda: f"the screen is not what it was. It was:\n{want}\nIt is:\n{self.text()}")

    def ends(self, seconds=30):
        """The gate's exit status."""
        until(self.ended.exists, seconds, lambda: f"the gate did not end:\n{self.text()}")
        return int(until(lambda: self.ended.read_text().strip(), 5, "no status"))

    def records(self):
        import json
        if not self.audit.exists():
            return []
        published(self.audit.parent / "state")
        return [json.loads(line) for line in self.audit.read_text().splitlines() if line.startswith("{")]

    def reasons(self, host):
        return [r.get("reason") for r in self.records() if r.get("host") == host]

    def attach(self):
        """Somebody who looks at it, on a terminal of their own; returns that one."""
        viewer = object.__new__(Screen)
        viewer.world, viewer.name, viewer.socket = self.world, f"{self.name}-viewer", self.world.top / f"{self.name}-viewer.tmux"
        viewer.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS),
                    f"TMUX= exec tmux -S {shlex.quote(str(self.socket))} attach", ";", "set-option", "-g", "status", "off",
                    env={**self.world.env, "TERM": "xterm"})
        until(lambda: self.tmux("list-clients"), 20, "nobody attaches")
        return viewer

    def close(self):
        subprocess.run([TMUX, "-S", str(self.socket), "kill-server"], capture_output=True, timeout=20, check=False)


def until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(what() if callable(what) else what)
        time.sleep(0.05)
