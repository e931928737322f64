"""browser: headless Chromium by the WebDriver protocol (W3C), which is JSON over HTTP: nothing but the standard library."""
import base64
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name of a reference
KEYS = {"Enter": "\ue007", "Tab": "\ue004", "Right": "\ue014", "Left": "\ue012", "Escape": "\ue00c"}


# The page's own guard is 400 ms, and it looks at its screen every 50 ms; both by its own clock, in its own frames.
REST = """
    const [ms, done] = arguments;
    import('/shown.js').catch(() => null).then((shown) => {
      const end = performance.now() + 60000;
      let last = '', since = 0, frames = 0;
      const turn = () => requestAnimationFrame(() => {
        const now = [...document.querySelectorAll('button, input, summary, li, .target, .grant, .warning')].map((node) => {
          const { left, top, width, height } = node.getBoundingClientRect();
          return `${left} ${top} ${width} ${height}`;
        }).join();
        if (now !== last)
          [last, since, frames] = [now, performance.now(), 0];
        const isOver = document.getAnimations().length === 0 && ++frames > ms / 50 + 2 && performance.now() - since >= ms && (shown === null || ms < 400 || shown.isReady());
        if (isOver || performance.now() > end)
          done(isOver);
        else
          turn();
      });
      turn();
    });"""


class Failed(Exception):
    """The browser found an error."""


def must(condition, *words):
    if not condition:
        raise Failed(" ".join(str(word) for word in words))


def wait_for(condition, what, seconds=60.0):
    """Polls; the first true value of @condition()."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        must(time.monotonic() < until, "it did not happen in time:", what)
        time.sleep(0.02)


def is_possible():
    """None, or the reason why no browser can be started here."""
    for name in ("chromium", "chromedriver"):
        if not shutil.which(name):
            return f"{name} is not installed"
    return None


class Browser:
    """One window; a context. The profile is its own and is removed."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="sallyport-browser-")
        self.session = self.driver = None
        try:
            self.start()
            wait_for(self.is_ready, "chromedriver")
            # Tests run in containers and as root, where Chromium cannot build a sandbox of its own; it sees our page only.
            arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                         "--disable-smooth-scrolling", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         "--proxy-server=direct://", "--hide-scrollbars", f"--user-data-dir={self.profile}/chromium"]
            capabilities = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
            self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
            self.do("POST", "/timeouts", {"script": 120000})
        except BaseException:
            self.close()
            raise

    def start(self):
        """chromedriver chooses one port for IPv4 and IPv6, and fails if one of them is used: start it again."""
        for _ in range(5):
            self.driver = subprocess.Popen(["chromedriver", "--port=0", "--log-level=SEVERE"], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                           env={**os.environ, "HOME": self.profile})
            said = ""
            for line in self.driver.stdout:
                said += line
                if "started successfully on port" in line:
                    self.port = int(line.rsplit(" ", 1)[1].strip().rstrip("."))
                    return
            self.driver.wait()
            self.driver.stdout.close()
        raise Failed(f"chromedriver did not start: {said}")

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and value.get("error"):
            raise Failed(f"{value['error']}: {value.get('message', '').partition(chr(10))[0]}")
        return value

    def is_ready(self):
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def do(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    def open(self, address):
        self.do("POST", "/url", {"url": address})

    def reload(self):
        self.do("POST", "/refresh", {})

    def address(self):
        return self.do("GET", "/url")

    def run(self, script, *arguments):
        return self.do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.do("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def find(self, css):
        """References to the matching elements."""
        return [found[ELEMENT] for found in self.do("POST", "/elements", {"using": "css selector", "value": css})]

    def one(self, css):
        return wait_for(lambda: self.find(css), css)[0]

    def click(self, css):
        self.do("POST", f"/element/{self.one(css)}/click", {})

    def type(self, css, text):
        self.do("POST", f"/element/{self.one(css)}/value", {"text": text})

    def press(self, keys):
        """Sends keys to the element that has the focus."""
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def click_at(self, x, y):
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "x": x, "y": y, "duration": 0}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]}]})

    def rest(self, ms=500):
        """Waits until nothing on the page has moved for that time, as a person does before the next key."""
        must(self.run_async(REST, ms), "the page does not stand still")

    def text(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent).join('\\n')", css)

    def is_enabled(self, css):
        return self.do("GET", f"/element/{self.one(css)}/enabled")

    def console(self):
        """The browser's messages since the last time: policy violations and errors."""
        return [entry["message"] for entry in self.do("POST", "/se/log", {"type": "browser"})]

    def cdp(self, name, **parameters):
        return self.do("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def look(self, width=1280, height=900, dark=False, still=False):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.do("GET", "/screenshot")))

    def close(self):
        if self.session:
            try:
                self.do("DELETE", "")
            except (OSError, Failed):
                pass
        if self.driver and self.driver.poll() is None:
            self.driver.terminate()
            try:
                self.driver.wait(10)
            except subprocess.TimeoutExpired:
                self.driver.kill()
                self.driver.wait()
            self.driver.stdout.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
