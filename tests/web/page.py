"""page: tests of the page's server with raw bytes, also with requests that a browser does not send."""
import json
import re
import select
import socket
import time

from harness import Failed, must, wait_for

URL = re.compile(rb"http://127\.0\.0\.1:(\d+)/#([0-9a-f]{64})")


class Answer:
    """The response, until the other end closed."""

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0].startswith("HTTP/1.1 ") else 0
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:]]

    def field(self, name):
        return next((value for key, value in self.fields if key.lower() == name), None)

    def json(self):
        return json.loads(self.body)


class Page:
    """One start of the gate: its port and capability, and the cookie and key after authentication."""

    def __init__(self, port, capability):
        self.port, self.capability, self.cookie, self.key = port, capability, None, None

    def connect(self, timeout=60):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def raw(self, data, timeout=60):
        with self.connect(timeout) as connection:
            connection.sendall(data)
            return Answer(self.read(connection))

    @staticmethod
    def read(connection):
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)

    def fields(self, **other):
        """The fields that the page sends; a field that is None is left out."""
        fields = {"Host": f"127.0.0.1:{self.port}", "Origin": f"http://127.0.0.1:{self.port}", "Sec-Fetch-Site": "same-origin",
                  "Content-Type": "application/json", "Cookie": f"sallyport-{self.port}={self.cookie}", "Sallyport-Key": self.key}
        fields.update({name.replace("_", "-"): value for name, value in other.items()})
        return "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value is not None)

    def post(self, path, body, **other):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.raw(f"POST {path} HTTP/1.1\r\n{self.fields(**other)}Content-Length: {len(text)}\r\n\r\n".encode() + text)

    def get(self, path, **other):
        return self.raw(f"GET {path} HTTP/1.1\r\n{self.fields(**other)}\r\n".encode())

    def enter(self):
        answer = self.post("/api/enter", {"capability": self.capability}, Cookie=None, Sallyport_Key=None)
        must(answer.status == 200, "not let in:", answer.status, answer.body)
        self.key = answer.json()["key"]
        cookie = answer.field("set-cookie")
        must(cookie.endswith("; Path=/api/; HttpOnly; SameSite=Strict"), cookie)
        self.cookie = cookie.split(";")[0].split("=", 1)[1]
        return self

    def watch(self):
        return Watch(self)


class Watch:
    """The stream; the last of each kind of event in `state`."""

    def __init__(self, page):
        self.state, self.rest, self.events, self.is_over = {}, b"", [], False
        self.connection = page.connect()
        self.connection.sendall(f"GET /api/events HTTP/1.1\r\n{page.fields()}\r\n".encode())
        self.until(lambda: "hello" in self.state)

    def take(self):
        if self.is_over or not select.select([self.connection], [], [], 0.05)[0]:
            return
        part = self.connection.recv(65536)
        self.is_over = not part
        *lines, self.rest = (self.rest + part).split(b"\n")
        for line in lines:
            if line.startswith(b"event: "):
                self.name = line[7:].decode()
            elif line.startswith(b"data: "):
                self.state[self.name] = json.loads(line[6:])
                if self.name == "events":
                    self.events += self.state[self.name]

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not (value := condition()):
            must(time.monotonic() < end and not self.is_over, "the stream has not said what was waited for:", self.state)
            self.take()
        return value

    def question(self, host):
        """The open question about @host."""
        return self.until(lambda: next((q for q in self.state.get("questions", {}).get("list", []) if q["host"] == host), None))

    def close(self):
        self.connection.close()


def page_of(process, seconds=60):
    """The page of a run, from what it prints on stderr; the text that was read is kept on the process."""
    process.said = b""

    def look():
        if select.select([process.stderr], [], [], 0.05)[0]:
            part = process.stderr.read1(4096)
            process.said += part
            if not part:
                raise Failed(f"the run ended: {process.said}")
        return URL.search(process.said)
    found = wait_for(look, seconds)
    must(found, "no address was printed:", process.said)
    return Page(int(found[1]), found[2].decode())


