#!/usr/bin/env python3
"""`audit send`: what receivers get of a log while they stop and come back, while the log grows and is pruned, and while a process that
sends is killed. It uses its own network namespace.

usage: send.py SALLYPORT [NAME...]"""
import http.server
import json
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "flow")]
import generate_log  # noqa: E402
import prune  # noqa: E402
import servers  # noqa: E402
from records import expect  # noqa: E402
from world import enter_namespace, play_cases, until  # noqa: E402

LONG = 60  # seconds
COUNT = 1500  # records: some batches
FIRST_PORT = 4400
NAMES = {"time": str, "seq": int, "mono": int, "status": int, "exec": int, "port": int, "bytes_up": int, "bytes_down": int}


def check_value(value):
    """An AnyValue: one member, with the JSON type of its name; numbers of 64 bits are texts."""
    (name, held), = value.items()
    assert {"stringValue": str, "boolValue": bool, "intValue": str}[name] is type(held), value
    return int(held) if name == "intValue" else held


def check_attributes(attributes):
    assert all(set(one) == {"key", "value"} and one["key"] for one in attributes), attributes
    made = {one["key"]: check_value(one["value"]) for one in attributes}
    assert len(made) == len(attributes), "a key is there twice"
    return made


def check_logs(body):
    """The records of an ExportLogsServiceRequest: (resource, attributes, record) of each."""
    expect(set(body), {"resourceLogs"})
    for logs in body["resourceLogs"]:
        expect(set(logs), {"resource", "scopeLogs"})
        resource = check_attributes(logs["resource"]["attributes"])
        for scope in logs["scopeLogs"]:
            expect(set(scope), {"scope", "logRecords"})
            assert scope["scope"]["name"] == "sallyport.audit" and scope["scope"]["version"], scope
            for record in scope["logRecords"]:
                expect(set(record), {"timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "eventName", "body",
                                     "attributes"})
                for name in ("timeUnixNano", "observedTimeUnixNano"):
                    assert re.fullmatch(r"[1-9]\d{18}", record[name]), record
                assert record["severityNumber"] in (9, 10, 13, 17) and isinstance(check_value(record["body"]), str), record
                yield resource, check_attributes(record["attributes"]), record


class Collector(http.server.ThreadingHTTPServer):
    """A receiver of OTLP/HTTP that keeps what it has accepted."""
    daemon_threads = True

    def __init__(self, port, answers=(), tls=None):
        self.got, self.answers, self.requests, self.headers, self.lock = [], list(answers), 0, [], threading.Lock()
        super().__init__(("127.0.0.1", port), Collected)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # a client that trusts others

    def stop(self):
        self.shutdown()
        self.server_close()

    def numbers(self):
        with self.lock:
            return [attributes["sallyport.seq"] for _, attributes, _ in self.got]


class Collected(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        expect((self.path, self.headers["content-type"]), ("/v1/logs", "application/json"))
        with self.server.lock:
            self.server.requests += 1
            self.server.headers.append(dict(self.headers))
            status, answer = self.server.answers.pop(0) if self.server.answers else (200, {"partialSuccess": {}})
            if status == 200:
                self.server.got += check_logs(body)
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Stage(prune.Stage):
    used = 0

    def __init__(self, sallyport):
        super().__init__(sallyport)
        Stage.used += 1
        self.port = FIRST_PORT + Stage.used
        self.to = f"otlp+http://127.0.0.1:{self.port}"
        self.sending = []

    def close(self):
        for process in self.sending:
            process.kill()
            process.communicate()
        super().close()

    def send(self, *options, status=0, to=None):
        done = self.run("audit", "send", to or self.to, "--once", *options)
        assert done.returncode == status, done
        return done

    def follow(self, *options):
        process = subprocess.Popen([self.sallyport, "audit", "send", self.to, *options], cwd=self.here, env=self.env,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=(self.top / "err").open("ab"), text=True)
        self.sending.append(process)
        return process

    def said(self):
        return (self.top / "err").read_text()

    def grow(self, count=1):
        """Runs add to the log; returns its numbers."""
        for _ in range(count):
            done = self.run("run", "--no-tty", "--default", "deny", "--report", "none", "--no-probe", "--", "true")
            assert done.returncode == 0, done
        self.ask("merge", str(self.log))
        return [json.loads(line)["seq"] for line in self.lines()]

    def place(self):
        found = [path for path in (self.log.parent / "audit").iterdir() if re.fullmatch(r"send\.[0-9a-f]{16}\.[0-9a-f]{16}", path.name)]
        assert len(found) == 1 and found[0].stat().st_mode & 0o777 == 0o600, found
        return json.loads(found[0].read_text())


def each_record_is_sent_once(stage):
    """With its members, and the next time only what is new."""
    stage.fill(COUNT)
    collector = Collector(stage.port)
    expect(stage.send().stdout, f"{stage.to}: sent {COUNT} records\n")
    assert collector.requests > 1, "it was one batch"
    records = [json.loads(line) for line in stage.lines()]
    expect(collector.numbers(), [record["seq"] for record in records])
    for record, (resource, attributes, told) in zip(records, collector.got):
        expect({f"sallyport.{name}": value for name, value in record.items()} | {"log.record.uid": f"{records[0]['hash']}.{record['seq']}"},
               attributes)
        expect((resource["service.name"], resource["host.name"], resource["sallyport.log"]), ("sallyport", socket.gethostname(), records[0]["hash"]))
        expect(told["eventName"], f"sallyport.{record['event']}")
        denied = record["event"] == "decision" and record["action"] == "deny"
        expect((told["severityNumber"], told["severityText"]), (13, "WARN") if denied else (9, "INFO"))
        if denied:
            assert told["body"]["stringValue"].startswith("decision: deny https://"), told
    expect(stage.send().stdout, f"{stage.to}: sent 0 records\n")
    expect(stage.grow(), collector.numbers() + [COUNT + at for at in range(1, 1 + len(stage.lines()) - COUNT)])
    stage.send()
    expect(collector.numbers(), [json.loads(line)["seq"] for line in stage.lines()])
    expect((stage.place()["seq"], stage.place()["lost"]), (len(stage.lines()), 0))


def one_that_comes_back(stage):
    """It follows the log; what was written while the receiver was away is sent when it is back."""
    collector = Collector(stage.port)
    stage.follow()
    numbers = stage.grow()
    until(lambda: collector.numbers() == numbers, LONG, "the records of the first run")
    collector.stop()
    numbers = stage.grow(2)
    until(lambda: "the log keeps what was not sent" in stage.said(), LONG, "a word about the receiver")
    late = Collector(stage.port, [(503, {}), (429, {})])
    until(lambda: collector.numbers() + late.numbers() == numbers, LONG, "what was written meanwhile")
    numbers = stage.grow()
    until(lambda: collector.numbers() + late.numbers() == numbers, LONG, "what is new")
    assert f"{stage.to} takes records again" in stage.said(), stage.said()
    expect((stage.said().count("the log keeps what was not sent"), stage.place()["lost"]), (1, 0))


def nobody_receives(stage):
    stage.fill(20)
    done = stage.send(status=3)
    assert "Couldn't connect to server" in done.stderr and "the log keeps what was not sent" in done.stderr, done
    collector = Collector(stage.port, [(400, {"message": "bad \x1b[31m"})] * 4)
    done = stage.send(status=3)
    assert "answered with status 400" in done.stderr and "\x1b" not in done.stderr, done
    stage.send()
    expect(collector.numbers(), list(range(1, 21)))


def what_is_refused_is_counted(stage):
    stage.fill(20)
    collector = Collector(stage.port, [(200, {"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "no"}})])
    done = stage.send(status=1)
    assert "refused 3 of the records up to 20" in done.stderr and done.stdout.endswith("sent 17 records, 3 lost\n"), done
    expect((stage.send().stdout, stage.place()["lost"], len(collector.numbers())), (f"{stage.to}: sent 0 records\n", 3, 20))


def what_was_pruned_is_counted(stage):
    """The rest is found again in the shorter log, and the log keeps its name."""
    stage.fill()
    collector = Collector(stage.port)
    whole, log = stage.log.read_text(), json.loads(stage.lines()[0])["hash"]
    lines = whole.splitlines(keepends=True)
    for path, text in ((stage.log, "".join(lines[:100])), (stage.head, generate_log.head(100, len("".join(lines[:100])), lines[99]))):
        path.write_text(text)
    stage.send()
    expect(collector.numbers(), list(range(1, 101)))
    stage.log.write_text(whole)
    stage.head.write_text(generate_log.head(len(lines), len(whole), lines[-1]))
    kept = stage.prune(len(lines) // 2)
    lost = kept[0] - 101
    done = stage.send(status=1)
    assert f"{lost} of the records up to" in done.stderr and f", {lost} lost" in done.stdout, done
    numbers = [json.loads(line)["seq"] for line in stage.lines()]
    expect(collector.numbers()[100:], numbers)
    expect({attributes["log.record.uid"].split(".")[0] for _, attributes, _ in collector.got}, {log})
    expect((stage.place()["lost"], stage.place()["log"]), (lost, log))
    # Pruned again, of what was sent: nothing is missing.
    stage.prune(len(lines) * 3 // 4)
    stage.send()
    expect(collector.numbers()[100:], numbers + [json.loads(line)["seq"] for line in stage.lines()[-2:]])
    # A receiver that has nothing yet gets what there is.
    Collector(stage.port + 500)
    stage.send(to=f"otlp+http://127.0.0.1:{stage.port + 500}")


def another_log_is_sent_whole(stage):
    stage.fill(30)
    collector = Collector(stage.port)
    stage.send()
    stage.log.unlink()
    stage.head.unlink()
    numbers = stage.grow()
    done = stage.send()
    assert "is another log than before" in done.stderr, done
    expect(collector.numbers(), [*range(1, 31), *numbers])
    # One that was cut off, and one that was changed, after it was sent.
    lines = stage.log.read_text().splitlines(keepends=True)
    for words, last in (("ends with record", ""), ("was changed after it was sent", lines[-1][:-10] + "0000000" + lines[-1][-3:])):
        stage.log.write_text("".join([*lines[:-1], last]))
        done = stage.send()
        assert words in done.stderr and "sent 0 records" in done.stdout, done
    # What is not a record is left out, and counted with the next one.
    stage.log.write_text("".join([*lines, '{"seq":x}\n', "\x1b[31m\n", "half"]))
    stage.send()
    expect(stage.send().stdout, f"{stage.to}: sent 0 records\n")


def one_that_is_killed(stage):
    """What was sent before it could say so is sent again; nothing is left out. One at a time sends to a receiver."""
    stage.fill(COUNT)
    collector = Collector(stage.port)
    process = stage.follow()
    until(lambda: collector.requests > 0, LONG, "a batch")
    done = stage.send(status=3)
    assert "another process sends this log to" in done.stderr, done
    process.send_signal(signal.SIGKILL)
    process.wait(LONG)
    stage.send()
    expect(sorted(set(collector.numbers())), list(range(1, COUNT + 1)))


def over_tls_with_a_login(stage):
    stage.fill(10)
    tls = servers.make_certificate(stage.top, ["collector.test"])
    collector = Collector(stage.port, tls=tls)
    stage.to = f"otlp+https://localhost:{stage.port}"
    (stage.here / "login").write_text("authorization: Bearer s3cret\n")
    done = stage.send("--headers", "login", status=3)
    assert "certificate" in done.stderr and collector.requests == 0, done
    stage.env["SSL_CERT_FILE"] = str(stage.top / "ca.pem")
    assert "collector.test" not in stage.send("--headers", "login", status=3).stdout and collector.requests == 0
    tls.load_cert_chain(*certificate(stage, "localhost"))
    stage.send("--headers", "login")
    expect(collector.headers[0].get("authorization"), "Bearer s3cret")


def certificate(stage, name):
    folder = stage.top / name
    folder.mkdir()
    servers.make_certificate(folder, [name])
    stage.env["SSL_CERT_FILE"] = str(folder / "ca.pem")
    return folder / f"{name}.pem", folder / f"{name}.key"


def wrong_words(stage):
    stage.fill(5)
    for wrong in ("", "otlp", "http://127.0.0.1:4318", "otlp+http:/127.0.0.1", "otlp+ftp://127.0.0.1", "otlp+http://", "otlp+http://a:b@127.0.0.1"):
        done = stage.run("audit", "send", wrong, "--once")
        assert done.returncode == 2, done
    assert "--headers" in done.stderr and "a:b" in done.stderr, done
    done = stage.send("--audit", "none", status=3)
    assert "cannot open none" in done.stderr, done
    done = stage.send("--headers", "none", status=3)
    assert "cannot open none" in done.stderr, done
    stage.env["PATH"] = "/nowhere"
    assert "curl is not installed" in stage.send(status=2).stderr


CASES = [each_record_is_sent_once, one_that_comes_back, nobody_receives, what_is_refused_is_counted, what_was_pruned_is_counted,
         another_log_is_sent_whole, one_that_is_killed, over_tls_with_a_login, wrong_words]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
