#!/usr/bin/env python3
"""`sallyport proxy`: its clients, policy, questions, records, reload and end, as programs and a service manager see them.

usage: daemon.py SALLYPORT CASE"""
import base64
import contextlib
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))

import servers  # noqa: E402
import world as worlds  # noqa: E402
from world import Gate, World, until  # noqa: E402

LONG = 120  # seconds; a busy machine is slow
SECRET = "a-secret-of-many-bytes"
POLICY = """allow http://good.test
deny bad.test because "use good.test"
allow http://mine.test from "client ci"
allow tcp://echo.test:7000
"""


class Daemon(Gate):
    """One `sallyport proxy`; its standard output is its own, so that Gate's other methods work."""
    prefix = ()

    def __init__(self, world, *options, name="daemon", prefix=(), **extra):
        self.prefix, self.extra = prefix, extra
        super().__init__(world, options, "", name)

    def begin(self, command, out, err):
        options = command[2:command.index("--")]
        return subprocess.Popen([*self.prefix, self.world.sallyport, "proxy", "--audit", str(self.world.audit), "--report", "text",
                                 *self.world.known(), *options], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=self.world.env,
                                cwd=self.world.work, **self.extra)

    def served(self):
        """Every address where it serves, when it does."""
        def find():
            assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.text('err')}"
            return re.findall(r"are served at (\S+):(\d+)\n", self.text("err"))
        return [(host.strip("[]"), int(port)) for host, port in until(find, LONG, "it serves clients")]

    def place(self):
        host, port = self.served()[0]
        return f"{host}:{port}"

    def end(self, sent=signal.SIGTERM):
        self.process.send_signal(sent)
        return self.wait(LONG)

    def says(self, text):
        until(lambda: text in self.text("err"), LONG, f"{text!r} in {self.text('err')!r}")


class Proxied(World):
    """Servers, and the names that the daemon has for them."""

    def __init__(self, sallyport):
        super().__init__(sallyport)
        self.names = {}
        self.policy = self.top / "policy"
        self.set_policy(POLICY)
        for host in ("good.test", "bad.test", "mine.test", "asked.test"):
            self.web(host)
        self.echo = servers.Server("echo", self.new_address())
        self.echo.echo(7000)
        self.names["echo.test"] = self.echo.address

    def set_policy(self, text):
        """Whole, as an editor does it: a daemon that reads meanwhile sees the one or the other."""
        new = self.top / "policy.new"
        new.write_text(text)
        new.replace(self.policy)

    def web(self, host):
        server = servers.Server(host, self.new_address())
        server.serve_http(80)
        self.names[host] = server.address

    def known(self):
        return [word for host, address in self.names.items() for word in ("--resolve", f"{host}:{address}")]

    def daemon(self, *options, **how):
        return Daemon(self, "--policy", str(self.policy), "--listen", "127.0.0.1:0", "--no-tty", *options, **how)

    def credentials(self, text, mode=0o600):
        path = self.top / "credentials"
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def curl(self, place, url, *options, scheme="http", login=""):
        run = subprocess.run(["curl", "-sS", "-m", str(LONG), "-x", f"{scheme}://{login}{place}", *options, url],
                             capture_output=True, text=True, timeout=LONG + 10, env=self.env, check=False)
        return run.stdout + run.stderr

    def decisions(self, host):
        return [record for record in self.records() if record.get("host") == host and record["event"] == "decision"]


def tunnel(place, host, port, login=None):
    """A socket that is connected through the daemon."""
    where = place.rsplit(":", 1)
    ours = socket.create_connection((where[0].strip("[]"), int(where[1])), LONG)
    head = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n"
    if login:
        head += f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}\r\n"
    ours.sendall(head.encode() + b"\r\n")
    said = b""
    while not said.endswith(b"\r\n\r\n"):
        byte = ours.recv(1)
        if not byte:
            break
        said += byte
    assert said.startswith(b"HTTP/1.1 200"), said
    return ours


def ping(connection, words=b"ping"):
    connection.sendall(words)
    got = b""
    while len(got) < len(words):
        more = connection.recv(100)
        assert more, "the tunnel is closed"
        got += more
    assert got == words, got


# The clients of this test: each prints the body that it got.
PYTHON = """
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://" + sys.argv[1]}))
print(opener.open("http://good.test/", timeout=%d).read().decode())
""" % LONG
PYTHON_SOCKS = """
import sys, requests
place = "socks5h://" + sys.argv[1]
print(requests.get("http://good.test/", proxies={"http": place}, timeout=%d).text)
""" % LONG
NODE = """
const [host, port] = process.argv[1].split(":");
require("http").get({host, port, path: "http://good.test/", headers: {Host: "good.test"}}, r => r.pipe(process.stdout));
"""


def associate(place):
    """The reply to UDP ASSOCIATE."""
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=LONG) as control:
        control.sendall(b"\x05\x01\x00")
        assert control.recv(2) == b"\x05\x00"
        control.sendall(b"\x05\x03\x00\x01" + bytes(6))
        return control.recv(10)[1]


def decides(world):
    """Programs reach what the policy allows, and are told why not; the record says who asked."""
    world.set_policy(POLICY + "allow udp://good.test:53\n")
    daemon = world.daemon("--default", "deny")
    place = daemon.place()
    for scheme in ("http", "socks5h"):
        assert "good.test" in world.curl(place, "http://good.test/", scheme=scheme)
    for program in (["/usr/bin/python3", "-c", PYTHON], ["/usr/bin/python3", "-c", PYTHON_SOCKS], ["node", "-e", NODE]):
        run = subprocess.run([*program, place], capture_output=True, text=True, timeout=LONG, env=world.env, check=False)
        assert "good.test" in run.stdout, (program[0], run)
    refused = world.curl(place, "http://bad.test/")
    assert "(rule_deny)" in refused and 'deny bad.test because "use good.test"' in refused, refused
    assert "(default_deny)" in world.curl(place, "http://asked.test/")
    assert "(own_listener)" in world.curl(place, f"http://127.0.0.1:{daemon.served()[0][1]}/")
    assert "(own_listener)" in world.curl(place, "http://localhost:1/")
    assert associate(place) == 7  # no UDP for clients outside of every sandbox
    denied, = world.decisions("bad.test")
    assert denied["client"] == "127.0.0.1" and denied["exec"] == 1 and denied["way"] == "http", denied
    assert {record["way"] for record in world.decisions("good.test")} == {"http", "socks5"}
    assert [record["command"] for record in world.records() if record["event"] == "exec_start"] == ["client unknown"]
    assert daemon.end() == 0, daemon.text("err")
    assert re.search(r"^  http://good\.test:80 +\d+ allowed", daemon.text("err"), re.MULTILINE), daemon.text("err")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0


def ordinary(world):
    """The same, for a user without any right."""
    daemon = world.daemon("--default", "deny", prefix=("unshare", "--user", "--map-user=1000", "--map-group=1000"))
    assert "good.test" in world.curl(daemon.place(), "http://good.test/")
    assert "(rule_deny)" in world.curl(daemon.place(), "http://bad.test/", scheme="http")
    assert daemon.end(signal.SIGINT) == 0, daemon.text("err")


def loops(world):
    """Nobody reaches the daemon through itself, whatever the policy says and however the destination is written."""
    own = world.new_address()
    world.set_policy("allow http://*:* private\nallow tcp://*:* private\n")
    world.names["loop.test"] = own
    daemon = Daemon(world, "--policy", str(world.policy), "--listen", "0.0.0.0:0", "--open", "--no-tty")
    port = daemon.served()[0][1]
    place = f"127.0.0.1:{port}"
    for host in (own, "loop.test", f"[::ffff:{own}]"):
        assert "(own_listener)" in world.curl(place, f"http://{host}:{port}/"), host
    assert "good.test" in world.curl(place, "http://good.test/")
    daemon.says("0.0.0.0:0 is not a private address")
    assert daemon.end() == 0

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    world.env["all_proxy"] = f"http://127.0.0.1:{port}"  # as its clients have it, in the environment of the daemon
    chained = world.daemon("--listen", f"127.0.0.1:{port}", name="chained")
    chained.served()
    world.names, names = {}, world.names
    refused = world.curl(f"127.0.0.1:{port}", "http://public.test/")
    assert "(proxy_failed)" in refused and "is this proxy itself" in refused, refused
    world.names = names
    assert chained.end() == 0


def sandboxed(world):
    """A command in a sandbox does not reach a daemon of the same machine, whatever its own policy allows."""
    daemon = world.daemon("--default", "allow")
    place = daemon.place()
    policy = world.top / "open"
    policy.write_text("allow http://*:*\nallow tcp://*:*\n")
    script = f"curl -sS -m {LONG} --noproxy '' -x http://{place} http://good.test/; curl -sS -m {LONG} http://{place}/"
    gate = Gate(world, ("--policy", str(policy), "--no-tty"), script, "sandboxed")
    gate.wait(LONG)
    assert "good.test" not in gate.text("out"), gate.text("out")
    assert daemon.end() == 0
    assert not [record for record in world.records() if "way" in record], "the daemon was asked"


def asks(world):
    """A question names the client, and its answer holds for that client only."""
    daemon = world.daemon("--default", "ask", "--client", "ci=127.0.0.1", "--client", "dev=127.0.0.2")
    place = daemon.place()
    got = []
    asking = threading.Thread(target=lambda: got.append(world.curl(place, "http://asked.test/")))
    asking.start()
    question, = until(world.questions, LONG, "a question")
    assert (question["host"], question["commands"]) == ("asked.test", ["client ci"]), question
    world.sally("approve", "allow", question["id"], "--scope", "exec", check=True)
    asking.join(LONG)
    assert "asked.test" in got[0], got
    assert "asked.test" in world.curl(place, "http://asked.test/") and not world.questions()
    granted = [record for record in world.decisions("asked.test") if record["action"] == "allow"]
    assert granted[0]["reason"] == "granted_exec" and granted[0]["by"] and granted[0]["client"] == "127.0.0.1", granted

    other = threading.Thread(target=lambda: got.append(world.curl(place, "http://asked.test/", "--interface", "127.0.0.2")))
    other.start()
    question, = until(world.questions, LONG, "a question of the other client")
    assert question["commands"] == ["client dev"], question
    world.sally("approve", "abort", question["id"], check=True)  # there is no command to end: a denial
    other.join(LONG)
    assert "(aborted)" in got[1], got
    assert "asked.test" in world.curl(place, "http://asked.test/")
    assert "good.test" in world.curl(place, "http://good.test/", "--interface", "127.0.0.2")
    assert daemon.end() == 0


class OnTerminal(worlds.TerminalGate):
    """A daemon in the foreground of a terminal."""

    def begin(self, command, out, err):
        return super().begin([command[0], "proxy", *command[2:command.index("--")]], out, err)


def terminal(world):
    """In the foreground of a terminal a question is asked there; Ctrl-C ends the daemon."""
    daemon = OnTerminal(world, ("--policy", str(world.policy), "--listen", "127.0.0.1:0", "--audit", str(world.audit), *world.known()),
                        "", "terminal")
    place = until(lambda: re.findall(r"are served at (\S+)", daemon.text("out")), LONG, "it serves clients")[0]
    got = []
    asking = threading.Thread(target=lambda: got.append(world.curl(place, "http://asked.test/")))
    asking.start()
    until(lambda: "client unknown" in daemon.text("out"), LONG, "a question")
    def answered():
        daemon.press("y\r")  # what is typed before the question is all there does not count
        asking.join(1)
        return not asking.is_alive()
    until(answered, LONG, "the answer counts")
    assert "asked.test" in got[0], got
    assert "(rule_deny)" in world.curl(place, "http://bad.test/")
    until(lambda: daemon.text("out").count("allowed once"), LONG, "the answer is shown")
    daemon.press("\x03")
    assert daemon.wait(LONG) == 0, daemon.text("out")


def clients(world):
    """Rules tell clients apart, by address and by a name with a secret; a wrong secret is a 407."""
    own = world.new_address()
    path = world.credentials(f"# of this test\n\nci:{SECRET}\n"
                             f"hashed:sha256:{subprocess.run(['sha256sum'], input=SECRET.encode(), capture_output=True, check=True).stdout.decode()[:64]}\n")
    daemon = Daemon(world, "--policy", str(world.policy), "--listen", "127.0.0.1:0", "--listen", f"{own}:0", "--no-tty", "--default",
                    "deny", "--credentials-file", path, "--client", "near=127.0.0.0/8", "--client", f"ci={own}")
    (_, port), (_, outer) = daemon.served()
    near, far = f"127.0.0.1:{port}", f"{own}:{outer}"
    nowhere = ("--interface", world.new_address())
    # by address: two clients, two verdicts
    assert "(default_deny)" in world.curl(near, "http://mine.test/")
    assert "mine.test" in world.curl(far, "http://mine.test/", "--interface", own)
    # by name, from any address
    for scheme in ("http", "socks5h"):
        assert "mine.test" in world.curl(near, "http://mine.test/", scheme=scheme, login=f"ci:{SECRET}@"), scheme
        assert "mine.test" in world.curl(far, "http://mine.test/", *nowhere, scheme=scheme, login=f"ci:{SECRET}@"), scheme
        good = world.curl(far, "http://good.test/", *nowhere, scheme=scheme, login=f"hashed:{SECRET}@")
        assert "good.test" in good, (scheme, good)
    # not known, or wrongly named
    for login in ("", "ci:wrong@", "nobody:wrong@", f"hashed:{SECRET}x@"):
        refused = world.curl(far, "http://good.test/", "-i", *nowhere, login=login)
        assert refused.startswith("HTTP/1.1 407") and "roxy-authenticate: Basic" in refused, refused
        assert "HTTP/1.1 407" in world.curl(far, "https://good.test/", "-i", *nowhere, login=login)
        assert "good.test/" not in world.curl(far, "http://good.test/", *nowhere, scheme="socks5h", login=login).replace("to good.test", "")
    assert "(login_needed)" in world.curl(near, "http://good.test/", login="ci:wrong@"), "a wrong secret is worse than none"
    # a name counts for its request, not for the connection
    with socket.create_connection((own, outer), LONG, source_address=(nowhere[1], 0)) as shared:
        basic = base64.b64encode(f"ci:{SECRET}".encode()).decode()
        get = "GET http://mine.test/ HTTP/1.1\r\nHost: mine.test\r\n"
        shared.sendall(f"{get}Proxy-Authorization: Basic {basic}\r\n\r\n".encode())
        assert shared.recv(15) == b"HTTP/1.1 200 OK"
        said = b""
        while b"mine.test" not in said:
            said += shared.recv(4096)
        shared.sendall(f"{get}\r\n".encode())
        said = b""
        while b"login_needed" not in said:
            more = shared.recv(4096)
            assert more, said
            said += more
    execs = {record["exec"]: record["command"] for record in world.records() if record["event"] == "exec_start"}
    assert sorted(execs.values()) == ["client ci", "client hashed", "client near", "client unknown"], execs
    allowed = [record for record in world.decisions("mine.test") if record["action"] == "allow"]
    assert {execs[record["exec"]] for record in allowed} == {"client ci"}, allowed
    assert SECRET not in world.audit.read_text()
    assert daemon.end() == 0 and SECRET not in daemon.text("err")


def local(path, url):
    """What a program gets that speaks to the proxy over a Unix socket."""
    with socket.socket(socket.AF_UNIX) as ours:
        ours.settimeout(LONG)
        ours.connect(str(path))
        host = url.split("/")[2]
        ours.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        said = b""
        while more := ours.recv(65536):
            said += more
        return said.decode()


def users(world):
    """At a Unix socket a client is known by its user; the socket is never put in the place of what is in use, and goes with the daemon."""
    path = world.top / "proxy.sock"
    own, other = f"uid:{os.geteuid()}", f"uid:{os.geteuid() + 4711}"

    def start(*clients, name, options=()):
        daemon = Daemon(world, "--policy", str(world.policy), "--listen", f"unix:{path}", "--no-tty", "--default", "deny", *clients, *options,
                        name=name)
        daemon.says(f"are served at unix:{path}\n")
        return daemon
    alone = start(name="alone")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "good.test" in local(path, "http://good.test/") and "(default_deny)" in local(path, "http://mine.test/")
    assert "good.test" in world.curl(f"localhost{path}", "http://good.test/", scheme="socks5h")  # as the manual says
    taken = world.sally("proxy", "--listen", f"unix:{path}")
    assert taken.returncode == 125 and "in use" in taken.stderr, taken
    assert "good.test" in local(path, "http://good.test/")
    alone.process.kill()
    assert alone.wait(LONG) and path.is_socket()

    named = start("--client", f"ci={own},127.0.0.9", name="named", options=("--workers", "2"))  # in the place of what is left
    assert path.stat().st_mode & 0o777 == 0o666
    assert "mine.test" in local(path, "http://mine.test/")
    assert named.end() == 0 and not path.exists()
    unknown = start("--client", f"ci={other}", name="unknown")
    assert "(client_unknown)" in local(path, "http://good.test/")
    assert unknown.end() == 0

    path.write_text("a file\n")
    file = world.sally("proxy", "--listen", f"unix:{path}")
    assert file.returncode == 125 and path.read_text() == "a file\n", file
    shared = world.top / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    for place, text in ((shared / "x", "other users may write"), (world.top / "none" / "x", "cannot listen"), (f"{world.top}/", "names no file")):
        refused = world.sally("proxy", "--listen", f"unix:{place}")
        assert refused.returncode == 125 and text in refused.stderr, (place, refused)


def strangers(world):
    """Without credentials, an address that no option names is refused."""
    daemon = world.daemon("--client", "dev=127.0.0.2")
    assert "(client_unknown)" in world.curl(daemon.place(), "http://good.test/")
    assert "good.test" in world.curl(daemon.place(), "http://good.test/", "--interface", "127.0.0.2")
    assert "client_unknown" in {record.get("reason") for record in world.records()}
    assert daemon.end() == 0


def refusals(world):
    """What cannot be served safely is not served, and a message says what to do."""
    own = world.new_address()
    for options, text in (
            (("--listen", f"{own}:0"), "--client or --credentials-file, or say --open"),
            (("--listen", "0.0.0.0:0"), "or say --open"),
            (("--listen", "nonsense"), "is not ADDRESS:PORT"),
            (("--listen", "::1:3128"), "is not ADDRESS:PORT"),
            (("--client", "ci"), "is not NAME=ADDRESS"),
            (("--client", "unknown=127.0.0.1"), "is not NAME=ADDRESS"),
            (("--client", "ci=127.0.0.1/8"), "is neither an address nor a block"),
            (("--client", "ci=uid:me"), "nor uid:NUMBER"),
            (("--drain", "soon"), "--drain needs a time"),
            (("--workers", "0"), "--workers needs a number"),
            (("--credentials-file", str(world.top / "none")), "cannot open"),
            (("--credentials-file", world.credentials(f"ci:{SECRET}\n", 0o644)), "closed to others"),
    ):
        run = world.sally("proxy", *options)
        assert run.returncode == 2 and text in run.stderr, (options, run)
    for lines, text in (("ci:short\n", "1: the secret is shorter"), (f"ci:{SECRET}\nci:{SECRET}\n", "2: the name is there twice"),
                        ("ci\n", "1: a line is NAME:SECRET"), ("ci:sha256:abc\n", "1: the digest"), ("# none\n", "names no client")):
        run = world.sally("proxy", "--credentials-file", world.credentials(lines))
        assert run.returncode == 2 and text in run.stderr, (lines, run)
    world.set_policy("allow\n")
    assert world.sally("proxy", "--policy", str(world.policy)).returncode == 3
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = world.sally("proxy", "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
        assert run.returncode == 125 and "cannot listen at" in run.stderr, run


def reload(world):
    """A changed policy counts at once, a broken one does not; SIGHUP reads it, too."""
    daemon = world.daemon("--default", "deny")
    place = daemon.place()
    assert "(default_deny)" in world.curl(place, "http://asked.test/")
    world.set_policy(POLICY + "allow http://asked.test\n")
    until(lambda: "(default_deny)" not in world.curl(place, "http://asked.test/"), LONG, "the policy is read")
    world.set_policy(POLICY + "allow http://asked.test\nallow nonsense://x\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.says(f"{world.policy}:6")
    daemon.says("the last good one stays in force")
    assert "asked.test" in world.curl(place, "http://asked.test/")
    world.set_policy(POLICY)
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "(default_deny)" in world.curl(place, "http://asked.test/"), LONG, "the policy is read again")
    assert daemon.end() == 0


def refuses_clients(address):
    try:
        with socket.create_connection(address, LONG):
            return False
    except ConnectionRefusedError:
        return True


def drain(world):
    """SIGTERM: nobody is accepted, what is open goes on until it ends, for as long as --drain says; a second signal ends it."""
    daemon = world.daemon("--drain", "1h")
    address = daemon.served()[0]
    open_one, idle = tunnel(daemon.place(), "echo.test", 7000), socket.create_connection(address, LONG)
    ping(open_one)
    daemon.process.send_signal(signal.SIGTERM)
    until(lambda: refuses_clients(address), LONG, "the listener is closed")
    assert idle.recv(1) == b"", "a connection without a request is closed"
    ping(open_one, b"still here")
    assert daemon.process.poll() is None
    open_one.close()
    assert daemon.wait(LONG) == 0, daemon.text("err")
    ended, = [record for record in world.records() if record.get("host") == "echo.test" and "bytes_up" in record]
    assert ended["bytes_up"] == len("pingstill here") and ended["client"] == "127.0.0.1", ended

    short = world.daemon("--drain", "1s", name="short")
    cut = tunnel(short.place(), "echo.test", 7000)
    assert short.end() == 0 and cut.recv(1) == b""
    twice = world.daemon("--drain", "1h", name="twice")
    address = twice.served()[0]
    cut = tunnel(twice.place(), "echo.test", 7000)
    twice.process.send_signal(signal.SIGINT)
    until(lambda: refuses_clients(address), LONG, "the listener is closed")
    assert twice.end(signal.SIGINT) == 0 and cut.recv(1) == b""
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0


class Manager:
    """The service manager's end of NOTIFY_SOCKET."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(LONG)

    def next(self):
        return self.socket.recv(4096).decode()


def handed_over(listeners, command, env):
    """Starts @command as a service manager does: its sockets are descriptors 3, 4, …"""
    script = 'LISTEN_PID=$$ LISTEN_FDS=$1; export LISTEN_PID LISTEN_FDS; shift; exec "$@"'
    high = [os.dup2(listener.fileno(), 200 + i) for i, listener in enumerate(listeners)]
    moves = " ".join(f"{3 + i}<&{fd} {fd}<&-" for i, fd in enumerate(high))
    for fd in high:
        os.set_inheritable(fd, True)
    started = subprocess.Popen(["bash", "-c", f"exec {moves}; {script}", "sh", str(len(high)), *command], pass_fds=high, env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for fd in high:
        os.close(fd)
    return started


def manager(world):
    """The sockets of a service manager are served, and stay the manager's; it is told what happens."""
    told = Manager(str(world.top / "notify"))
    env = {**world.env, "NOTIFY_SOCKET": str(world.top / "notify")}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"127.0.0.1:{listener.getsockname()[1]}"
        without = [world.sallyport, "proxy", "--audit", str(world.audit), "--no-tty", *world.known()]
        command = [*without, "--policy", str(world.policy)]
        daemon = handed_over([listener], command, env)
        assert told.next() == "READY=1"
        assert "good.test" in world.curl(place, "http://good.test/")
        daemon.send_signal(signal.SIGHUP)
        assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", told.next())
        assert told.next() == "READY=1"
        daemon.terminate()
        assert told.next() == "STOPPING=1"
        _, err = daemon.communicate(timeout=LONG)
        assert daemon.returncode == 0 and f"are served at {place}\n" in err, (daemon.returncode, err)
        with socket.create_connection(listener.getsockname(), LONG):
            pass  # it waits for the next start
        again = handed_over([listener], without, env)
        assert told.next() == "READY=1" and "good.test" in world.curl(place, "http://good.test/")
        again.send_signal(signal.SIGHUP)
        assert told.next().startswith("RELOADING=1") and told.next() == "READY=1"
        again.terminate()
        again.communicate(timeout=LONG)
        assert again.returncode == 0
        assert not [record for record in world.records() if record["event"] == "policy_reloaded"], "no policy has changed"
    with socket.socket(socket.AF_UNIX) as wrong:
        daemon = handed_over([wrong], command, world.env)
        _, err = daemon.communicate(timeout=LONG)
        assert daemon.returncode == 3 and "not a listening TCP or Unix socket" in err, (daemon.returncode, err)


def limits(world):
    """Past a limit a client is told, also past that of descriptors, and the others go on."""
    world.set_policy(POLICY + "limit connections 4\n")
    daemon = world.daemon()
    place = daemon.place()
    kept = [tunnel(place, "echo.test", 7000) for _ in range(4)]
    assert "(overloaded)" in world.curl(place, "http://good.test/")
    kept.pop().close()
    until(lambda: "good.test" in world.curl(place, "http://good.test/"), LONG, "there is room again")
    ping(kept[0])
    for one in kept:
        one.close()
    assert daemon.end() == 0

    named = world.daemon("--client", "near=127.0.0.0/8", "--credentials-file", world.credentials(f"ci:{SECRET}\n"), name="named")
    place, login = named.place(), f"ci:{SECRET}"
    kept = [tunnel(place, "echo.test", 7000, login) for _ in range(4)]
    assert "(overloaded)" in world.curl(place, "http://good.test/", login=f"{login}@"), "a name that comes later has the limit, too"
    assert "good.test/\n" not in world.curl(place, "http://good.test/", scheme="socks5h", login=f"{login}@")
    assert "good.test" in world.curl(place, "http://good.test/"), "another client has room"
    for one in kept:
        one.close()
    assert named.end() == 0

    world.set_policy(POLICY)
    few = world.daemon(name="few", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)))
    address = few.served()[0]
    with contextlib.ExitStack() as opened:
        kept = [opened.enter_context(socket.create_connection(address, LONG)) for _ in range(400)]
        last = kept[-1]
        last.settimeout(LONG)
        assert last.recv(12) == b"HTTP/1.1 503", "past the limit a client is told at once"
    until(lambda: "good.test" in world.curl(few.place(), "http://good.test/"), LONG, "there is room again")
    assert few.end() == 0


def crowds(world):
    """Clients without a name leave room for those that have one."""
    daemon = world.daemon("--client", "ci=127.0.0.2", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600)))
    with contextlib.ExitStack() as opened:
        kept = [opened.enter_context(socket.create_connection(daemon.served()[0], LONG)) for _ in range(400)]
        assert kept[-1].recv(12) == b"HTTP/1.1 503", "past its share a client is told at once"
        assert "mine.test" in world.curl(daemon.place(), "http://mine.test/", "--interface", "127.0.0.2")
    assert daemon.end() == 0


def workers(world):
    """Several workers share a port, the policy, the answers and the end; a second daemon does not get into the port."""
    daemon = world.daemon("--workers", "3", "--drain", "1h", "--default", "ask")
    place, address = daemon.place(), daemon.served()[0]
    pids = {pid for pid, (parent, name, _) in worlds.processes().items() if parent == daemon.process.pid and name == "sallyport"}
    assert len(pids) == 3, pids

    def who_serves(connection):
        """The worker that has the other end: its descriptors have the inode of that socket."""
        ours = "{1:04X}".format(*connection.getsockname())
        rows = [row.split() for row in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inode, = [row[9] for row in rows if row[2].endswith(":" + ours) and row[1].endswith(f":{address[1]:04X}")]
        for pid in pids:
            with contextlib.suppress(OSError):  # a root in a user namespace may not look at confined processes
                for fd in os.listdir(f"/proc/{pid}/fd"):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == f"socket:[{inode}]":
                        return pid
        return None
    tunnels = [tunnel(place, "echo.test", 7000) for _ in range(60)]
    serving = {who_serves(connection) for connection in tunnels} - {None}
    assert not serving or len(serving) > 1, "one worker serves all"
    got = []
    asking = [threading.Thread(target=lambda: got.append(world.curl(place, "http://asked.test/"))) for _ in range(12)]
    for one in asking:
        one.start()
    question = until(lambda: [one for one in world.questions() if one["waiting"] == 12], LONG, "one question")[0]
    world.sally("approve", "allow", question["id"], "--scope", "session", check=True)
    for one in asking:
        one.join(LONG)
    assert len(got) == 12 and all("asked.test" in body for body in got), got
    world.set_policy("deny asked.test\n" + POLICY)
    until(lambda: "(rule_deny)" in world.curl(place, "http://asked.test/"), LONG, "the policy is read")
    assert all("(rule_deny)" in world.curl(place, "http://asked.test/") for _ in range(12)), "by every worker"
    other = world.sally("proxy", "--listen", place, "--workers", "2")
    assert other.returncode == 125 and "cannot listen at" in other.stderr, other
    daemon.process.terminate()
    until(lambda: refuses_clients(address), LONG, "every listener is closed")
    for connection in tunnels:
        ping(connection)
        connection.close()
    assert daemon.wait(LONG) == 0, daemon.text("err")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0

    dying = world.daemon("--workers", "2", name="dying")
    place, address = dying.place(), dying.served()[0]
    workers_of = lambda: {pid for pid, (parent, name, state) in worlds.processes().items()  # noqa: E731
                          if parent == dying.process.pid and name == "sallyport" and state not in "ZX"}
    first = until(lambda: len(workers_of()) == 2 and workers_of(), LONG, "two workers")
    for pid in first:
        os.kill(pid, signal.SIGSEGV)
    until(lambda: len(workers_of() - first) == 2, LONG, "two more workers")
    assert all("good.test" in world.curl(place, "http://good.test/") for _ in range(12)), "by both"
    carried = tunnel(place, "echo.test", 7000)
    dying.process.terminate()
    until(lambda: refuses_clients(address), LONG, "every listener is closed")
    ping(carried)
    carried.close()
    assert dying.wait(LONG) == 0, dying.text("err")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0
    assert len([record for record in world.records() if record["event"] == "worker_ended"]) == 2


def deaths(world):
    """A dead worker's connections are closed, and another follows; the fifth within a minute ends the daemon, which says so, and leaves no
    connection open; without the daemon the worker ends."""
    daemon = world.daemon()
    for deaths_before in range(5):
        carried = tunnel(daemon.place(), "echo.test", 7000)
        assert daemon.process.poll() is None, daemon.text("err")
        pid = daemon.worker()
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionResetError):
            assert carried.recv(1) == b"", deaths_before
        until(lambda: pid not in worlds.processes(), LONG, "it is gone")
    assert daemon.wait(LONG) == 125 and "5 workers died within a minute" in daemon.text("err"), daemon.text("err")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0
    lost = [record["event"] for record in world.records() if record["event"] == "worker_ended" or record.get("reason") == "worker_died"]
    assert sorted(lost) == ["closed"] * 5 + ["worker_ended"] * 5, lost
    killed = world.daemon(name="killed")
    address = killed.served()[0]
    carried = tunnel(killed.place(), "echo.test", 7000)
    killed.process.kill()
    with contextlib.suppress(ConnectionResetError):
        assert carried.recv(1) == b""
    until(lambda: refuses_clients(address), LONG, "nothing listens")


UNITS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "systemd"
HARDENED = ("NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes",
            "MemoryDenyWriteExecute=yes", "RestrictNamespaces=yes", "SystemCallArchitectures=native", "DynamicUser=yes")


def unit(world):
    """The files for a service manager are valid; the service starts from its socket, by the command that it names."""
    service = (UNITS / "sallyport-proxy.service.in").read_text().replace("@bindir@", os.path.dirname(world.sallyport))
    listener = (UNITS / "sallyport-proxy.socket").read_text()
    for line in HARDENED:
        assert f"\n{line}\n" in service, line
    for name, text in (("service", service), ("socket", listener)):
        (world.top / f"sallyport-proxy.{name}").write_text(text)
    for name in ("service", "socket"):
        verified = subprocess.run(["systemd-analyze", "verify", "--man=no", world.top / f"sallyport-proxy.{name}"], env=world.env,
                                  capture_output=True, text=True, timeout=LONG, check=False)
        assert verified.returncode == 0 and "sallyport-proxy" not in verified.stderr, verified
    place, = re.findall(r"^ListenStream=(.*)$", listener, re.MULTILINE)
    command, = re.findall(r"^ExecStart=(.+)$", service, re.MULTILINE)
    command = command.replace("/etc/sallyport/proxy.policy", str(world.policy)).split()
    activated(world, [], place, [*command, *world.known(), "--audit", str(world.audit)], [])


def activated(world, before, place, command, client):
    """Plays systemd with its own tool: @command, started by the first client, serves what @client's curl asks for."""
    variables = [word for name in world.env for word in ("-E", name)]
    started = subprocess.Popen([*before, "systemd-socket-activate", "-l", place, *variables, *command], env=world.env, cwd=world.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def get(url):
        return subprocess.run([*client, "curl", "-sS", "-m", str(LONG), "-x", f"http://{place}", url], env=world.env, timeout=LONG + 10,
                              capture_output=True, text=True, check=False).stdout
    until(lambda: "good.test" in get("http://good.test/"), LONG, "the page")
    assert "(rule_deny)" in get("http://bad.test/")
    started.terminate()
    _, err = started.communicate(timeout=LONG)
    assert started.returncode == 0, (started.returncode, err)


class Container:
    """A network namespace of its own, as a container has; nothing is in it but a process that waits."""

    def __init__(self):
        self.process = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        ours = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != ours, LONG, "the namespace")
        self.inside = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"]
        self.run("ip", "link", "set", "lo", "up")

    def run(self, *command):
        return subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=LONG, check=True)

    def is_cut_off(self, world):
        """No other way leads out: not to a server, and not to a name."""
        for url in (f"http://{world.names['good.test']}/", "http://good.test/"):
            run = subprocess.run([*self.inside, "curl", "-sS", "-m", "5", "--noproxy", "*", url], capture_output=True, text=True,
                                 timeout=LONG, env=world.env, check=False)
            assert run.returncode in (6, 7, 28), (url, run)


def container(world):
    """The examples of the manual: a container without a network, and one whose network leads to the daemon only."""
    alone = Container()
    alone.is_cut_off(world)
    command = ["nsenter", f"--net=/proc/{os.getpid()}/ns/net", world.sallyport, "proxy", "--no-tty", "--policy", str(world.policy),
               "--audit", str(world.audit), *world.known()]
    activated(world, alone.inside, "127.0.0.1:3128", command, alone.inside)
    alone.is_cut_off(world)

    linked = Container()
    worlds.ip("link", "add", "gated", "type", "veth", "peer", "name", "eth0", "netns", str(linked.process.pid))
    worlds.ip("address", "add", "172.30.0.1/24", "dev", "gated")
    worlds.ip("link", "set", "gated", "up")
    linked.run("ip", "address", "add", "172.30.0.2/24", "dev", "eth0")
    linked.run("ip", "link", "set", "eth0", "up")
    daemon = Daemon(world, "--policy", str(world.policy), "--listen", "172.30.0.1:3128", "--client", "ci=172.30.0.0/24", "--no-tty",
                    "--default", "deny", name="linked")
    daemon.served()

    def get(url):
        return subprocess.run([*linked.inside, "curl", "-sS", "-m", str(LONG), url], capture_output=True, text=True, timeout=LONG + 10, check=False,
                              env={**world.env, "http_proxy": "http://172.30.0.1:3128", "https_proxy": "http://172.30.0.1:3128"}).stdout
    assert "mine.test" in get("http://mine.test/") and "(default_deny)" in get("http://asked.test/")
    linked.is_cut_off(world)
    allowed = [record for record in world.decisions("mine.test") if record["action"] == "allow"]
    assert allowed and allowed[0]["client"] == "172.30.0.2", allowed
    assert daemon.end() == 0


CASES = {case.__name__: case for case in (decides, ordinary, loops, sandboxed, asks, terminal, clients, users, strangers, refusals, reload, drain, manager, limits,
                                          crowds, workers, deaths, unit, container)}


def main(cases):
    sallyport, case = sys.argv[1:]
    worlds.enter_namespace()
    world = Proxied(sallyport)
    try:
        cases[case](world)
        print(f"pass: {case}")
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as why:
        print(f"fail: {case}: {why!r}")
        for log in world.top.glob("*.err"):
            print(log.name, log.read_text())
        import traceback
        traceback.print_exc()
        return 1
    finally:
        world.close(keep=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(CASES))
