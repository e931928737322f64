"""scene: a real run that asks, its page in a real browser, and its stored answers: the results of questions on
the control socket, the grants that it lists, the policy's file."""
import json
import os
import pathlib
import re
import socket

from browser import must, wait_for
from world import Gate, until

OBSERVER = (pathlib.Path(__file__).parent / "observer.js").read_text()
# Asks for each name that is written to it, and stays until it is answered.
DRIVER = """exec python3 -c '
import os, socket, threading, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
def ask(host):
    with socket.create_connection((proxy.hostname, proxy.port)) as link:
        link.sendall(f"GET http://{host}/ HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
        while link.recv(4096):
            pass
for line in open("asks"):
    threading.Thread(target=ask, args=(line.strip(),), daemon=True).start()
'"""
HOW = re.compile(r"(allowed|denied)(?: (once|for this command|for session|always)|) by |aborted by ")
SCOPES = {None: None, "once": "once", "for this command": "exec", "for session": "session", "always": "always"}


class Store:
    """The control socket: the questions, their results, the remembered answers."""

    def __init__(self, world):
        folder = world.top / "runtime" / "sallyport"
        self.policy = world.top / "config" / "sallyport" / "policy"
        self.socket = wait_for(lambda: self.connect(folder), "the control socket")
        self.lines, self.number = self.socket.makefile("r"), 0
        self.open, self.ended = {}, {}
        must(json.loads(self.lines.readline())["sallyport"] == 1, "another protocol")
        for question in self.do("watch")["questions"]:
            self.open[question["id"]] = question

    @staticmethod
    def connect(folder):
        """Connects to the live run; sockets of ended runs refuse."""
        for path in folder.glob("[!.]*.sock"):
            found = socket.socket(socket.AF_UNIX)
            found.settimeout(60)
            try:
                found.connect(str(path))
                return found
            except OSError:
                found.close()
        return None

    def take(self):
        message = json.loads(self.lines.readline())
        event, question = message.get("event"), message.get("question", {})
        if event in ("asked", "changed"):
            self.open[question["id"]] = question
        elif event == "retracted":
            self.ended[question["id"]] = (self.open.pop(question["id"]), message["how"])
        return message

    def do(self, op, **members):
        self.number += 1
        self.socket.sendall((json.dumps({"id": self.number, "op": op, **members}) + "\n").encode())
        while True:
            message = self.take()
            if message.get("id") == self.number:
                return message

    def grants(self):
        return self.do("grants")["grants"]

    def became(self, question):
        """(action, scope, text): the stored answer; for once the given answer."""
        while question not in self.ended:
            self.take()
        asked, how = self.ended[question]
        found = HOW.match(how)
        must(found, "it ended otherwise:", how)
        own = f"{asked['protocol']}://{asked['host']}:{asked['port']}"
        if found[0].startswith("aborted"):
            return "deny", "abort", own
        action, scope = {"allowed": "allow", "denied": "deny"}[found[1]], SCOPES[found[2]]
        if scope == "once":
            return action, scope, own
        grant = self.grants()[-1]
        if scope is None:  # of one program it is said otherwise: the remembered answer has released them
            return action, grant["scope"], grant["text"]
        must((grant["action"], grant["scope"]) == (action, scope), how, grant)
        if scope == "always":
            line = self.policy.read_text().splitlines()[-1]
            must(line.startswith(f"answer {action} {grant['text']}"), "the policy's file holds", line, "the grant is", grant)
        return action, scope, grant["text"]

    def forget(self):
        while self.do("undo")["ok"]:
            pass


class Scene:
    """A run, its page in the browser, and the store."""

    def __init__(self, world, page, size):
        self.world, self.page, self.size, self.count = world, page, size, 0
        (world.top / "state" / "sallyport").mkdir(mode=0o700, exist_ok=True)
        (world.top / "state" / "sallyport" / "seen").write_text("look.test\n")
        os.mkfifo(world.work / "asks")
        self.asks = os.open(world.work / "asks", os.O_RDWR)
        self.is_real, self.script = None, None
        page.look(*size, still=True)
        self.begin()

    def begin(self):
        """Starts the run and its page; again if an answer has ended the previous one."""
        options = ["--audit", str(self.world.audit), "--report", "none", "--default", "ask", "--prompt-timeout", "15m", "--no-tty", "--web", "--session", "look"]
        self.gate = Gate(self.world, options, DRIVER, "page")
        self.url = until(lambda: re.search(r"http://127\.0\.0\.1:\d+/#[0-9a-f]{64}", self.gate.text("err")), 30, "the page's address")[0]
        self.store = Store(self.world)
        self.page.open("about:blank")
        if self.script is None:
            self.observe(False)
        self.page.open(self.url)
        self.entered()

    def observe(self, is_real):
        """Puts the observer before the page's own script, from the next page on."""
        if self.script:
            self.page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=self.script)
        self.is_real = is_real
        source = f"({OBSERVER})({json.dumps(is_real)})"
        self.script = self.page.cdp("Page.addScriptToEvaluateOnNewDocument", source=source)["identifier"]

    def clock(self, is_real):
        """Loads the page again, with a clock of its own or with one that the test moves."""
        if is_real == self.is_real:
            return
        self.observe(is_real)
        self.page.reload()
        self.entered()

    def entered(self):
        wait_for(lambda: self.page.run("return document.readyState === 'complete' && Boolean(window.observer?.isOpen())"), "the page")

    def renew(self):
        self.gate.process.kill()
        self.gate.process.wait()
        self.begin()

    def run(self, script, *arguments):
        """Runs a script in the page, with the functions of the observer."""
        done = self.page.run_async(f"""const done = arguments[arguments.length - 1], given = [...arguments];
            const {{ {NAMES} }} = window.observer;
            (async () => {{ {script} }})().then((value) => done({{ value }}), (error) => done({{ error: String(error) }}))""", *arguments)
        must("error" not in done, done.get("error"))
        return done.get("value")

    def ask(self, warns=False):
        self.count += 1
        host = f"a{self.count}.pastebin.com" if warns else f"a{self.count}.look.test"
        os.write(self.asks, f"{host}\n".encode())
        return host

    def clean(self, wanted, warns):
        """Prepares that many questions of that kind, and no grant."""
        kept = [question for question in self.store.open.values() if ("listed" in question["risk"]) == warns][:wanted]
        extra = [question for question in self.store.open.values() if question not in kept]
        if extra or len(kept) < wanted or self.store.grants():
            self.run("reset()")
        self.store.forget()
        for question in extra:
            self.store.do("deny", question=question["id"])
        asked = {self.ask(warns) for _ in range(wanted - len(kept))}

        def are_open():
            self.store.do("list")  # takes the events that came before the reply
            missing = asked - {question["host"] for question in self.store.open.values()}
            # A denial for always that was taken back holds until the policy's file was read again: another host is asked for.
            for host in [host for host in missing if self.is_denied(host)]:
                asked.remove(host)
                asked.add(self.ask(warns))
            return not missing

        until(are_open, 60, lambda: f"the questions of {asked} are not open")
        self.store.forget()

    def is_denied(self, host):
        return any(f'"host":"{host}"' in line and '"reason":"answer_deny"' in line for line in self.world.audit.read_text().splitlines())


NAMES = "one, all, frame, until, quiet, looked, ready, arm, result, reset, clean, read, open, letter, pick, targets"
