#!/usr/bin/env python3
"""--metrics: the counts of `sallyport proxy`, of a session and of a run, as Prometheus reads them, against the audit log and the manual.

usage: metrics.py SALLYPORT CASE"""
import collections
import json
import pathlib
import re
import socket
import stat
import subprocess
import sys
import threading

from daemon import LONG, Gate, main, ping, tunnel, until

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
DASHBOARD = TOP / "integrations/grafana/sallyport.json"
MANUAL = TOP / "docs/man/sallyport.1"
NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\d+(?:\.\d+)?)")
TYPE = "text/plain; version=0.0.4; charset=utf-8"
AT = re.compile(r"metrics are at (\S+)\n")


def parse(text):
    """The text format 0.0.4, strictly: {(name, labels): value}. Each metric has its HELP and TYPE, its samples together, and no sample twice."""
    assert text.endswith("\n"), text
    samples, kinds, current = {}, {}, None
    for line in text[:-1].split("\n"):
        head = re.fullmatch(rf"# HELP ({NAME}) \S.*", line)
        kind = re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|histogram)", line)
        if head:
            current = head[1]
            assert current not in kinds, line
        elif kind:
            assert kind[1] == current and current not in kinds, line
            kinds[current] = kind[2]
        else:
            sample = SAMPLE.fullmatch(line)
            assert sample, line
            labels = tuple(sorted(tuple(label.split("=", 1)) for label in re.findall(LABEL, sample[2] or "")))
            base = re.sub("_(bucket|sum|count)$", "", sample[1]) if kinds[current] == "histogram" else sample[1]
            assert base == current and (kinds[current] == "counter") == base.endswith("_total"), line
            assert (sample[1], labels) not in samples, line
            samples[sample[1], labels] = float(sample[3])
    for name in (name for name, kind in kinds.items() if kind == "histogram"):
        parts = [value for (of, _), value in samples.items() if of == f"{name}_bucket"]
        assert parts == sorted(parts) and parts[-1] == samples[f"{name}_count", ()], name
        assert (f"{name}_bucket", (("le", '"+Inf"'),)) in samples and (f"{name}_sum", ()) in samples, name
    return samples, kinds


class Watched:
    """The counts of one gate."""

    def __init__(self, told):
        self.place = AT.search(told)[1]

    @classmethod
    def of(cls, gate):
        until(lambda: AT.search(gate.text("err")) or gate.process.poll() is not None, LONG, "it says where its counts are")
        return cls(gate.text("err"))

    def port(self):
        return int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/metrics", self.place)[1])

    def curl(self, *options, url=None):
        where = ("--unix-socket", self.place.removeprefix("unix:")) if self.place.startswith("unix:") else ()
        url = url or ("http://localhost/metrics" if where else self.place)
        return subprocess.run(["curl", "-sS", "-m", str(LONG), "--noproxy", "*", *where, *options, url], capture_output=True, text=True,
                              timeout=LONG + 10, check=False)

    def text(self):
        run = self.curl("--fail", "-w", "%{content_type}")
        assert run.returncode == 0 and run.stdout.endswith(TYPE), run
        return run.stdout.removesuffix(TYPE)

    def samples(self):
        return parse(self.text())[0]

    def value(self, name, **labels):
        return self.samples().get((name, tuple(sorted((label, f'"{value}"') for label, value in labels.items()))), 0)

    def becomes(self, wanted, name, **labels):
        until(lambda: self.value(name, **labels) == wanted, LONG, f"{name} {labels} is {wanted}")


def by_labels(samples, name, *order):
    return {tuple(dict(labels)[label].strip('"') for label in order): value for (of, labels), value in samples.items() if of == name}


def counts(world):
    """What was allowed, denied, and asked is counted as it is in the audit log; no name that a client chose is in it."""
    world.web("loop.test")
    world.set_policy("allow http://good.test\ndeny bad.test\nallow tcp://echo.test:7000\nallow http://loop.test:* private\n")
    world.names["loop.test"] = "127.0.0.1"
    daemon = world.daemon("--default", "ask", "--metrics", "127.0.0.1:0")
    place, watched = daemon.place(), Watched.of(daemon)
    for _ in range(3):
        assert "good.test" in world.curl(place, "http://good.test/")
    assert "(rule_deny)" in world.curl(place, "http://bad.test/")
    assert "(own_listener)" in world.curl(place, f"http://loop.test:{watched.port()}/metrics")
    got = []
    asking = threading.Thread(target=lambda: got.append(world.curl(place, "http://asked.test/")))
    asking.start()
    question, = until(world.questions, LONG, "a question")
    watched.becomes(1, "sallyport_questions_waiting")
    world.sally("approve", "allow", question["id"], "--scope", "session", check=True)
    asking.join(LONG)
    assert "asked.test" in got[0], got
    watched.becomes(0, "sallyport_questions_waiting")
    watched.becomes(4, "sallyport_records_total", event="closed")
    watched.becomes(0, "sallyport_connections_open")

    def both():
        found, kinds = parse(watched.text())
        records = world.records()
        return len(records) == sum(by_labels(found, "sallyport_records_total", "event").values()) and (found, kinds, records)
    samples, kinds, records = until(both, LONG, "every record is in the log")
    events = collections.Counter(record["event"] for record in records)
    assert by_labels(samples, "sallyport_records_total", "event") == {(event,): count for event, count in events.items()}, events
    decisions, closed, rules = collections.Counter(), collections.Counter(), collections.Counter()
    for record in records:
        if record["event"] == "decision":
            decisions[record["action"], record["protocol"], record["reason"]] += record.get("times", 1)
            if re.match(r".*:\d+: ", record.get("rule", "")):
                rules[re.match(r".*:\d+(?=: )", record["rule"])[0], record["action"]] += record.get("times", 1)
        elif record["event"] == "closed":
            closed[record["protocol"], record["reason"]] += 1
    assert by_labels(samples, "sallyport_decisions_total", "verdict", "kind", "reason") == decisions, (samples, decisions)
    assert by_labels(samples, "sallyport_connections_total", "kind", "reason") == closed, closed
    assert by_labels(samples, "sallyport_rule_decisions_total", "rule", "verdict") == rules and len(rules) >= 2, rules
    for way in ("up", "down"):
        total = sum(record.get(f"bytes_{way}", 0) for record in records)
        assert samples["sallyport_bytes_total", (("direction", f'"{way}"'),)] == total > 0, (way, total)
    assert by_labels(samples, "sallyport_questions_total", "kind", "decision", "source") == {("http", "allow", "approve"): 1}, samples
    assert samples["sallyport_answer_seconds_count", ()] == 1 and samples["sallyport_grants", ()] == 1
    assert samples["sallyport_decision_seconds_count", ()] == sum(decisions.values())
    # Each name but the own listener's led to a connection.
    dns, dial = (samples[f"sallyport_{step}_seconds_count", ()] for step in ("dns", "dial"))
    assert dns == dial + 1 and 2 <= dial <= 4, (dns, dial)
    assert samples["sallyport_workers", ()] == samples["sallyport_audit_writable", ()] == 1
    version = world.sally("--version").stdout.split()
    assert dict(next(labels for name, labels in samples if name == "sallyport_build_info"))["version"].strip('"') in " ".join(version), version
    assert ".test" not in watched.text() and "curl" not in watched.text(), watched.text()

    section = re.search(r"^\.Sh METRICS\n(.*?)^\.Sh ", MANUAL.read_text(), re.M | re.S)[1]
    assert sorted(re.findall(r"^\.It Li (sallyport_\w+)", section, re.M)) == sorted(kinds), "sallyport(1), METRICS"
    dashboard_shows(samples, kinds)
    tunnel_is_counted(world, place, watched)
    assert daemon.end() == 0, daemon.text("err")


def dashboard_shows(samples, kinds):
    """Every metric has its place in the dashboard for Grafana, which names no other, and no label or event that there is not."""
    shown = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            name, given, by = re.search(rf"(sallyport_\w+){{([^}}]*)}}", target["expr"])[1], target["expr"], re.search(r"by \(([^)]*)\)", target["expr"])
            base = re.sub("_bucket$", "", name) if kinds.get(name) is None else name
            labels = {label for (of, pairs) in samples for label, _ in pairs if of == name} | {"instance"}
            used = set(re.findall(r"(\w+)=~?\"", given)) | set(by[1].split(", ") if by else ()) | set(re.findall(r"{{(\w+)}}", target.get("legendFormat", "")))
            assert base in kinds and used <= labels, (target, labels)
            shown.add(base)
    assert shown == set(kinds) - {"sallyport_workers"}, set(kinds) ^ shown
    for event in re.findall(r'event=\\"(\w+)', DASHBOARD.read_text()):
        assert f".Li {event}\n" in (TOP / "docs/man/sallyport-audit.1").read_text(), event


def tunnel_is_counted(world, place, watched):
    """A connection is open while it is, and its bytes are counted at its end."""
    before = watched.value("sallyport_bytes_total", direction="up")
    connection = tunnel(place, "echo.test", 7000)
    ping(connection, b"x" * 1000)
    watched.becomes(1, "sallyport_connections_open")
    connection.close()
    watched.becomes(0, "sallyport_connections_open")
    watched.becomes(before + 1000, "sallyport_bytes_total", direction="up")


def sockets(world):
    """A Unix socket is for its user; places that others could reach, or replace, are refused; what was made is removed."""
    path = world.top / "m.sock"
    daemon = world.daemon("--metrics", f"unix:{path}")
    daemon.served()
    watched = Watched.of(daemon)
    assert watched.place == f"unix:{path}" and stat.S_IMODE(path.stat().st_mode) == 0o600, watched.place
    parse(watched.text())
    assert watched.curl("-o", "/dev/null", "-w", "%{http_code}", url="http://some.test/metrics").stdout == "200"
    second = world.daemon("--metrics", f"unix:{path}", name="second")
    assert second.wait(LONG) == 125 and "cannot listen at" in second.text("err"), second.text("err")
    parse(watched.text())
    assert daemon.end() == 0 and not path.exists()

    shared = world.top / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for place, status, words in (("0.0.0.0:0", 2, "is not a loopback address"), ("[::]:1", 2, "is not a loopback address"),
                                     ("localhost:1", 2, "is not ADDRESS:PORT or unix:PATH"), ("9464", 2, "is not ADDRESS:PORT or unix:PATH"),
                                     ("unix:", 2, "has no path"), (f"unix:{shared}/m", 125, "other users may write in its folder"),
                                     (f"127.0.0.1:{port}", 125, "cannot listen at 127.0.0.1")):
            refused = world.daemon("--metrics", place, name="refused")
            assert refused.wait(LONG) == status and words in refused.text("err"), (place, refused.text("err"))
    joined = world.sally("run", "--join", "work", "--metrics", "127.0.0.1:0", "--", "true")
    assert joined.returncode == 2 and "--metrics cannot be given together" in joined.stderr, joined
    six = world.daemon("--metrics", "[::1]:0", name="six")
    assert Watched.of(six).place.startswith("http://[::1]:"), six.text("err")
    parse(Watched.of(six).text())
    assert six.end() == 0


def is_closed(client):
    """Waits for the server to close it, or to answer."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def clients(world):
    """Clients that send slowly, or too much, or wrongly, hold up neither the proxy nor each other for long."""
    daemon = world.daemon("--default", "deny", "--metrics", "127.0.0.1:0")
    place, watched = daemon.place(), Watched.of(daemon)
    address = ("127.0.0.1", watched.port())
    slow = [socket.create_connection(address, LONG) for _ in range(8)]
    for client in slow:
        client.sendall(b"GET /metr")
    more = socket.create_connection(address, LONG)
    assert is_closed(more), "a ninth client is served"
    assert "good.test" in world.curl(place, "http://good.test/"), "the proxy waits for them"
    for client in slow:
        assert is_closed(client), "a client without a request is served"
        client.close()
    until(lambda: watched.curl("--fail").returncode == 0, LONG, "others are served again")
    for options, status in ((("-X", "POST"), "405"), (("-I",), "405"), (("-X", "DELETE"), "405"), (("-d", "x"), "400"),
                            (("-H", f"X: {'x' * 5000}"), "431"), (("-H", "Host: evil.test"), "421")):
        run = until(lambda: watched.curl(*options, "-o", "/dev/null", "-w", "%{http_code}"), LONG, "an answer")
        assert run.stdout == status, (options, run)
    for url, status in ((f"http://127.0.0.1:{address[1]}/", "404"), (f"http://127.0.0.1:{address[1]}/metrics/../etc", "404")):
        assert watched.curl("-o", "/dev/null", "-w", "%{http_code}", "--path-as-is", url=url).stdout == status, url
    parse(watched.text())
    assert watched.value("sallyport_decisions_total", verdict="allow", kind="http", reason="rule_allow") == 1
    assert daemon.end() == 0, daemon.text("err")


def commands(world):
    """A command of a run, or of a session that it joined, does not reach the counts of its gate, whatever the policy allows."""
    world.set_policy("allow http://*:* private\n")
    script = ("port=$(cat port); curl -sS -m {0} http://loop.test:$port/metrics; "
              "curl -sS -m {0} --noproxy '' http://loop.test:$port/metrics; "
              "curl -sS -m 5 --noproxy '*' http://127.0.0.1:$port/metrics").format(LONG)
    known = ("--resolve", "loop.test:127.0.0.1", "--no-tty")
    own = pathlib.Path(world.work) / "port"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    own.write_text(str(port))
    gate = Gate(world, ("--policy", str(world.policy), *known, "--metrics", f"127.0.0.1:{port}"), script, "run")
    gate.wait(LONG)
    assert gate.text("out").count("(own_listener)") == 2 and "sallyport_" not in gate.text("out"), gate.text("out")

    begun = world.sally("session", "start", "counted", "--policy", str(world.policy), "--audit", str(world.audit), "--metrics", "127.0.0.1:0")
    assert begun.returncode == 0, begun
    watched = Watched(begun.stderr)
    own.write_text(str(watched.port()))
    gate = Gate(world, (*known, "--join", "counted"), script, "joined")
    gate.wait(LONG)
    assert gate.text("out").count("(own_listener)") == 2 and "sallyport_" not in gate.text("out"), gate.text("out")
    assert watched.value("sallyport_records_total", event="exec_start") == 1
    assert watched.value("sallyport_decisions_total", verdict="deny", kind="http", reason="own_listener") == 2
    assert world.sally("session", "end", "counted").returncode == 0


CASES = {case.__name__: case for case in (counts, sockets, clients, commands)}


if __name__ == "__main__":
    sys.exit(main(CASES))
