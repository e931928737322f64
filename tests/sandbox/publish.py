#!/usr/bin/env python3
"""publish: --publish connects clients of the host's loopback to servers of the command, and to nothing else.

usage: publish.py SALLYPORT [CASE...]"""
import hashlib
import http.client
import json
import random
import socket
import subprocess
import sys
import threading

from harness import NO_SANDBOX, main, must, nothing_left, wait_for

QUICK = 120  # seconds, for what takes milliseconds on an idle machine
INSIDE = 8000
VISITORS = 128  # LIMITS_PUBLISHED_MAX

ECHO = """
import socket, threading
server = socket.create_server(("{address}", {port}), family=socket.{family}, backlog=200)
def serve(client):
    while data := client.recv(65536):
        client.sendall(data)
    client.sendall(b"the end")  # after the client's half-close
    client.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""
NODE = 'require("http").createServer((q, a) => a.end("node " + q.url)).listen({port}, "{address}")'


def can_listen(address, port=0):
    try:
        with socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET):
            return True
    except OSError:
        return False


HOSTS = ["127.0.0.1", "::1"] if can_listen("::1") else ["127.0.0.1"]  # the loopback addresses of this machine


def free_port():
    """A port that is free on each of them now, and that no client is given by the kernel (32768 to 60999)."""
    while True:
        port = random.randrange(12000, 30000)
        if all(can_listen(address, port) for address in HOSTS):
            return port


def echo(address="127.0.0.1", port=INSIDE):
    family = "AF_INET6" if ":" in address else "AF_INET"
    return ["/usr/bin/python3", "-c", ECHO.format(address=address, port=port, family=family)]


class Run:
    """A run with published ports, until the end of the with block."""

    def __init__(self, world, user, command, *options):
        self.log = user.base / f"audit-{random.getrandbits(40):x}.jsonl"
        self.process = world.start(user, command, ["--audit", self.log, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.err = self.process.communicate(timeout=QUICK)[1].decode(errors="replace")

    def records(self, **wanted):
        text = self.log.read_text() if self.log.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in lines if all(line.get(name) == value for name, value in wanted.items())]


def talk(address, port, data, timeout=QUICK):
    """Sends @data, half-closes, and returns what comes until the end; None: the connection was refused or reset."""
    try:
        with socket.create_connection((address, port), timeout=timeout) as client:
            threading.Thread(target=feed, args=(client, data), daemon=True).start()
            parts = []
            while part := client.recv(65536):
                parts.append(part)
            return b"".join(parts)
    except ConnectionError:
        return None


def feed(client, data):
    try:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the reader sees it


def get(address, port, path="/"):
    """The body of a page; None: no server."""
    try:
        connection = http.client.HTTPConnection(address, port, timeout=QUICK)
        connection.request("GET", path)
        return connection.getresponse().read()
    except (ConnectionError, http.client.HTTPException):
        return None


def until(condition, *words):
    must(value := wait_for(condition, QUICK), *words)
    return value


def web_servers(world, user):
    """python's and node's, on each kind of address, by curl too."""
    user.file(user.work / "page", "from inside\n")
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::")[:2 * len(HOSTS)]:
        port = free_port()
        with Run(world, user, ["/usr/bin/python3", "-m", "http.server", INSIDE, "--bind", address], "--publish", f"{port}:{INSIDE}"):
            for host in HOSTS:
                until(lambda at=host: get(at, port, "/page") == b"from inside\n", "http.server on", address, "from", host)
    port = free_port()
    with Run(world, user, ["node", "-e", NODE.format(port=port, address="127.0.0.1")], "--publish", port):
        until(lambda: get("127.0.0.1", port, "/x") == b"node /x", "node")
        done = subprocess.run(["curl", "-sS", "--noproxy", "*", f"http://127.0.0.1:{port}/curl"], capture_output=True, timeout=QUICK, check=False)
        must(done.stdout == b"node /curl", done)


def bytes_and_ends(world, user):
    """Many bytes at once in both directions, and the server's answer after the client's half-close; each connection is recorded."""
    port = free_port()
    data = random.Random(5).randbytes(8 << 20)
    with Run(world, user, echo(), "--publish", f"{port}:{INSIDE}") as run:
        until(lambda: talk("127.0.0.1", port, b"x") == b"xthe end", "it serves")
        answers = [None] * 4

        def one(i):
            answers[i] = hashlib.sha256(talk("127.0.0.1", port, data) or b"").digest()
        threads = [threading.Thread(target=one, args=(i,)) for i in range(len(answers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        must(answers == [hashlib.sha256(data + b"the end").digest()] * 4, "other bytes came back")
        until(lambda: len(run.records(event="closed", way="published", bytes_up=len(data), bytes_down=len(data) + 7)) == 4, "its records")
    must(run.records(event="published", cause=f"ports of the host's loopback: {port} to {INSIDE}"), "no record of the port")
    must(run.records(event="decision", way="published", action="allow", reason="inside", host="localhost", port=INSIDE), "no decision")


def late_server(world, user):
    """A client is reset until there is a server; that is no denial of the command's."""
    port = free_port()
    begin = user.work / "begin"
    begin.unlink(missing_ok=True)
    script = 'while [ ! -e begin ]; do sleep 0.05; done; exec "$@"'
    with Run(world, user, ["sh", "-c", script, "sh", *echo()], "--publish", f"{port}:{INSIDE}", "--fail-on-deny") as run:
        until(lambda: talk("127.0.0.1", port, b"early") is None and run.records(way="published", reason="connect_refused"),
              "no reset before there is a server")
        user.file(begin)
        until(lambda: talk("127.0.0.1", port, b"x") == b"xthe end", "it serves")
    must(run.process.returncode == 128 + 15, run.process.returncode, run.err)


def nowhere_else(world, user):
    """Only 127.0.0.1 and ::1 of the host; and only to the command's loopback, whatever the policy says about the host's."""
    port, inside = free_port(), free_port()
    policy = user.file(user.base / "host.policy", f"version 1\nallow localhost:{inside}\nallow 127.0.0.1:{inside}\n")
    others = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.split()
    with socket.create_server(("127.0.0.1", inside)) as host, Run(world, user, ["sleep", "1000"], "--publish", f"{port}:{inside}",
                                                                 "--policy", policy) as run:
        host.setblocking(False)
        until(lambda: talk("127.0.0.1", port, b"x") is None and run.records(reason="connect_refused"), "a reset")
        for address in ("127.0.0.2", *others):
            must(talk(address, port, b"x") is None, "reachable at", address)
        try:
            host.accept()
            must(False, "the host's server was reached")
        except BlockingIOError:
            pass
    port = free_port()
    with Run(world, user, echo(port=INSIDE + 1), "--publish", f"{port}:{INSIDE + 1}"):
        until(lambda: talk("127.0.0.1", port, b"x") == b"xthe end", "it serves")
        must(talk("127.0.0.1", INSIDE + 1, b"x") is None, "a port that is not published")


def refused_at_the_start(world, user):
    """A port that is in use, and values that are no ports: nothing runs."""
    marks = user.work / "ran"
    port = free_port()
    for address in HOSTS:
        with socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET):
            done = world.run(user, ["touch", marks], ["--publish", f"{port}:{INSIDE}"], timeout=QUICK)
            must(done.returncode == NO_SANDBOX and f"port {port} of {address} is in use" in done.stderr.decode(), done)
    for value in ("0", "0:80", "80:0", "65536", "x", "80:", ":80", "1:2:3", "127.0.0.1:80", "8080:61128", "8080:61080", ""):
        done = world.run(user, ["touch", marks], ["--publish", value], timeout=QUICK)
        must(done.returncode == 2 and f"`{value}` is not PORT or PORT:INSIDE" in done.stderr.decode(), value, done)
    for sandbox in ("danger-full-access", "external:network"):
        done = world.run(user, ["touch", marks], ["--publish", port, "--sandbox", sandbox], timeout=QUICK)
        must(done.returncode == 2 and "--publish needs a network of the command's own" in done.stderr.decode(), done)
    many = [word for i in range(17) for word in ("--publish", 20000 + i)]
    done = world.run(user, ["touch", marks], many, timeout=QUICK)
    must(done.returncode == 2 and "too many of them" in done.stderr.decode(), done)
    must(not marks.exists(), "the command ran")


def the_end(world, user):
    """The end of the command ends connections and listeners; the port can be used again at once."""
    port = free_port()
    for _ in range(2):
        with Run(world, user, echo(), "--publish", f"{port}:{INSIDE}") as run:
            until(lambda: talk("127.0.0.1", port, b"x") == b"xthe end", "it serves")
            client = socket.create_connection(("127.0.0.1", port), timeout=QUICK)
            client.sendall(b"open")
            must(client.recv(100) == b"open", "no echo")
            run.end()
            try:
                must(client.recv(100) == b"", "bytes after the end")
            except ConnectionResetError:
                pass
            client.close()
            must(talk("127.0.0.1", port, b"x") is None, "it still listens")
        must(run.records(event="closed", way="published", reason="exec_ended"), "no record of the end")
    must(not nothing_left(), "processes are left")


def many_clients(world, user):
    """Clients that only connect: there is a limit, and the command's own connections do not count."""
    port = free_port()
    own = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{INSIDE}/page').read()); import sys; sys.stdout.flush()"
    user.file(user.work / "page", "from inside\n")
    script = f'/usr/bin/python3 -m http.server {INSIDE} & while [ ! -e ask ]; do sleep 0.05; done; /usr/bin/python3 -c "{own}" > answer; wait'
    for name in ("ask", "answer"):
        (user.work / name).unlink(missing_ok=True)
    with Run(world, user, ["sh", "-c", script], "--publish", f"{port}:{INSIDE}") as run:
        until(lambda: get("127.0.0.1", port, "/page") == b"from inside\n", "it serves")
        clients = [socket.create_connection(("127.0.0.1", port), timeout=QUICK) for _ in range(VISITORS + 20)]
        until(lambda: run.records(event="decision", way="published", reason="overloaded"), "no limit")
        user.file(user.work / "ask")
        until(lambda: (user.work / "answer").exists() and b"from inside" in (user.work / "answer").read_bytes(), "the command's own request")
        for client in clients:
            client.close()
        until(lambda: get("127.0.0.1", port, "/page") == b"from inside\n", "it serves again")


def in_a_session(world, user):
    """A run that joins a session publishes too; the session records it."""
    port = free_port()
    log = user.base / f"session-{random.getrandbits(40):x}.jsonl"

    def session(*words):
        return subprocess.run([str(world.sallyport), "session", *map(str, words)], env=user.environment(), cwd=user.work,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=QUICK, **user.ids())
    done = session("start", "--default", "deny", "--audit", log, "published")
    must(done.returncode == 0, done)
    process = subprocess.Popen([str(world.sallyport), "run", "--no-tty", "--join", "published", "--publish", f"{port}:{INSIDE}", "--", *map(str, echo())],
                               env=user.environment(), cwd=user.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, **user.ids())
    try:
        until(lambda: talk("127.0.0.1", port, b"x") == b"xthe end", "it serves")
    finally:
        process.terminate()
        err = process.communicate(timeout=QUICK)[1]
        session("end", "published")
    must(process.returncode == 128 + 15, process.returncode, err)
    wanted = f"ports of the host's loopback: {port} to {INSIDE}", '"way":"published"'
    until(lambda: log.exists() and all(words in log.read_text() for words in wanted), "not in the session's records")


if __name__ == "__main__":
    sys.exit(main([(f.__name__, f) for f in (web_servers, bytes_and_ends, late_server, nowhere_else, refused_at_the_start, the_end,
                                             many_clients, in_a_session)], 1))
