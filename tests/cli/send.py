#!/usr/bin/env python3
"""`audit send`: what receivers get of a log while they stop and come back, while the log grows and is pruned, and while a process that
sends is killed. It uses its own network namespace.

usage: send.py SALLYPORT [NAME...]"""
import http.server
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "flow")]
import generate_log  # noqa: E402
import prune  # noqa: E402
import servers  # noqa: E402
from postgres import Postgres  # noqa: E402
from records import expect  # noqa: E402
from world import enter_namespace, play_cases, until  # noqa: E402

LONG = 60  # seconds
COUNT = 1500  # records: some batches
FIRST_PORT = 4400
POSTGRES_PORT = 5432
RSYSLOGD = "/usr/sbin/rsyslogd"
# RFC 5424 §6, with one element of structured data and a text in ASCII
MESSAGE = (r'<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) sallyport - ([!-~]{1,32}) '
           r'\[sallyport@32473((?: [a-z_]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*)\] ([ -~]*)')
PARAMETER = r' ([a-z_]+)="((?:[^"\\\]]|\\["\\\]])*)"'
ROWS = "select record from sallyport_records order by machine, log, seq"


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


class Database:
    """A database of the case's own; all are of one server."""
    server = None

    def __init__(self, stage):
        if not Database.server:
            Database.server = Postgres(pathlib.Path(tempfile.mkdtemp(prefix="sallyport-postgres-")), "127.0.0.1", POSTGRES_PORT)
            Database.server.start()
        self.name = f"d{stage.port}"
        self.server.query(f"create database {self.name}")
        stage.to = self.place()

    def place(self, user="t"):
        return f"postgresql://{user}@127.0.0.1:{POSTGRES_PORT}/{self.name}"

    def query(self, statement):
        return self.server.query(statement, self.name)

    def has_none(self):
        return self.query("select to_regclass('sallyport_records') is null") == ["t"]


def each_record_is_a_row(stage):
    """Its line is as it is in the log, and each day has a partition. What is sent again adds nothing."""
    stage.fill(COUNT)
    database = Database(stage)
    expect(stage.send().stdout, f"{stage.to}: sent {COUNT} records\n")
    records, machine = [json.loads(line) for line in stage.lines()], socket.gethostname()
    expect(database.query(ROWS), stage.lines())
    got = database.query("select json_build_array(machine, log, seq, to_char(time at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), run, event, "
                         "action, reason, protocol, host, port) from sallyport_records order by seq")
    for row, record in zip(got, records, strict=True):
        names = ("seq", "time", "run", "event", "action", "reason", "protocol", "host", "port")
        expect(json.loads(row), [machine, records[0]["hash"], *[record.get(name) for name in names]])
    days = sorted({record["time"][:10] for record in records})
    assert len(days) > 10, days
    expect(database.query("select inhrelid::regclass from pg_inherits where inhparent = 'sallyport_records'::regclass order by 1::text"),
           [f"sallyport_records_{day.replace('-', '')}" for day in days])
    expect(database.query("select distinct tableoid::regclass::text = 'sallyport_records_' || to_char(day, 'YYYYMMDD') and "
                          "day = (time at time zone 'UTC')::date from sallyport_records"), ["t"])
    for path in (stage.log.parent / "audit").glob("send.*"):
        path.unlink()
    stage.send()
    expect(database.query(ROWS), stage.lines())
    numbers = stage.grow()
    stage.send()
    expect(database.query("select seq from sallyport_records order by seq"), [str(number) for number in numbers])


def hostile_words_in_a_row(stage):
    """What a command chose is data."""
    database = Database(stage)
    words = ["x\\.", "\\.\n", "'); drop table sallyport_records; --", "$$; select 1", "\t\\N", "\xe4\u202e\x1b[31m"]
    done = stage.run("run", "--no-tty", "--report", "none", "--no-probe", "--", "true", *words)
    assert done.returncode == 0, done
    stage.ask("merge", str(stage.log))
    stage.send()
    expect(database.query(ROWS), stage.lines())
    assert any("drop table" in line for line in stage.lines())


def a_database_that_comes_back(stage):
    """Nothing is lost and nothing is there twice."""
    database = Database(stage)
    stage.follow()
    numbers = stage.grow()
    until(lambda: not database.has_none() and len(database.query(ROWS)) == len(numbers), LONG, "the first run")
    database.server.stop()
    stage.grow(2)
    until(lambda: "the log keeps what was not sent" in stage.said(), LONG, "a word about the receiver")
    assert "Connection refused" in stage.said(), stage.said()
    database.server.start()
    until(lambda: database.query(ROWS) == stage.lines(), LONG, "what was written meanwhile")
    stage.grow()
    until(lambda: database.query(ROWS) == stage.lines(), LONG, "what is new")


def one_that_is_killed_while_it_copies(stage):
    stage.fill(COUNT)
    database = Database(stage)
    for batches in (0, 1, 2):
        process = stage.follow()
        until(lambda: not database.has_none() and len(database.query("select seq from sallyport_records limit 1030")) > 512 * batches, LONG,
              f"batch {batches}")
        process.kill()
        process.wait(LONG)
    stage.send()
    expect(database.query(ROWS), stage.lines())


def from_several_machines(stage):
    """At once, into a database without tables: each has its own rows."""
    stage.fill(200)
    database = Database(stage)
    log, processes = stage.log.read_bytes(), []
    for number in range(4):
        home = stage.top / f"home{number}"
        copy = home / ".local/state/sallyport/audit.jsonl"
        copy.parent.mkdir(parents=True, mode=0o700)
        copy.write_bytes(log)
        processes.append(subprocess.Popen(["unshare", "--uts", "sh", "-c", f"hostname m{number}; exec \"$@\"", "sh", stage.sallyport, "audit", "send",
                                           "--once", stage.to], env=stage.env | {"HOME": str(home)}, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    for process in processes:
        said, _ = process.communicate(timeout=LONG)
        assert process.returncode == 0 and "sent 200 records" in said, said
    expect(database.query("select machine || count(*) from sallyport_records group by machine order by 1"), [f"m{number}200" for number in range(4)])
    expect(database.query(ROWS), stage.lines() * 4)


def by_one_who_may_only_insert(stage):
    """Where the tables are there; it cannot read what others have sent."""
    stage.fill(50)
    database = Database(stage)
    stage.send()
    database.query(f"delete from sallyport_records; create role sender{stage.port} login; grant insert on sallyport_records to sender{stage.port}; "
                   "revoke create on schema public from public")
    stage.send(to=database.place(f"sender{stage.port}"))
    expect(database.query(ROWS), stage.lines())
    # A day without a table is for one who may make it.
    stage.grow()
    database.query(f"drop table sallyport_records_{json.loads(stage.lines()[-1])['time'][:10].replace('-', '')}")
    done = stage.send(to=database.place(f"sender{stage.port}"), status=3)
    assert "permission denied for schema public" in done.stderr, done
    stage.send()
    stage.send(to=database.place(f"sender{stage.port}"))


def what_was_pruned_is_no_row(stage):
    stage.fill()
    database = Database(stage)
    stage.send()
    old = stage.lines()
    stage.grow()
    new = stage.lines()[len(old):]
    done = stage.run("audit", "prune", "--keep", f"{len(new[-1]) + len(new[-2]) + 4500}")
    assert done.returncode == 0, done
    kept = stage.lines()
    lost = json.loads(kept[0])["seq"] - len(old) - 1
    assert lost > 0, (lost, len(old), kept)
    done = stage.send(status=1)
    assert f"{lost} of the records up to" in done.stderr, done
    expect(database.query(ROWS), old + kept)
    expect(stage.place()["lost"], lost)


def members_of(record, log):
    """What a message has of a record."""
    return {"log": log} | {name: value if isinstance(value, str) else json.dumps(value) for name, value in record.items()
                           if name not in ("time", "mono", "prev", "signature")}


class Messages:
    """A receiver of syslog by TLS, which confirms the end of a connection (RFC 5425)."""

    def __init__(self, stage, is_cutting=False):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*stage.certificate)
        self.got, self.cuts, self.connections = [], 1 if is_cutting else 0, 0
        self.socket = socket.create_server(("127.0.0.1", stage.port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
                self.receive(self.tls.wrap_socket(client, server_side=True, suppress_ragged_eofs=False))
            except ssl.SSLError:
                pass  # it trusts others
            except OSError:
                return

    def receive(self, client):
        self.connections += 1
        if self.cuts:
            self.cuts -= 1
            client.recv(100)
            client.close()  # without a word
            return
        bytes_read = b""
        while piece := client.recv(65536):
            bytes_read += piece
        while bytes_read:
            length, _, bytes_read = bytes_read.partition(b" ")
            message, bytes_read = bytes_read[:int(length)], bytes_read[int(length):]
            self.got.append(message.decode("ascii"))
        client.unwrap().close()

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def numbers(self):
        return [int(re.search(r' seq="(\d+)"', message)[1]) for message in self.got]


def by_syslog(stage):
    stage.certificate = certificate(stage, "localhost")
    stage.to = f"syslog+tls://localhost:{stage.port}"


def each_record_is_a_message(stage):
    stage.fill(COUNT)
    by_syslog(stage)
    receiver = Messages(stage)
    expect(stage.send().stdout, f"{stage.to}: sent {COUNT} records\n")
    records = [json.loads(line) for line in stage.lines()]
    for record, text in zip(records, receiver.got, strict=True):
        found = re.fullmatch(MESSAGE, text)
        assert found and len(text) <= 8192, text
        severity = 4 if record["event"] == "decision" and record["action"] == "deny" else 6
        expect((int(found[1]), found[2], found[3], found[4]), (80 + severity, record["time"], socket.gethostname(), record["event"]))
        expect({name: re.sub(r"\\(.)", r"\1", value) for name, value in re.findall(PARAMETER, found[5])}, members_of(record, records[0]["hash"]))
        assert found[6].startswith(record["event"] + ":"), text
    expect(stage.send().stdout, f"{stage.to}: sent 0 records\n")


def hostile_words_in_a_message(stage):
    by_syslog(stage)
    receiver = Messages(stage)
    done = stage.run("run", "--no-tty", "--report", "none", "--no-probe", "--", "true", 'a"]\\b', "\x1b[31m", "<84>1 - -", "\xe4\u202e", "x\ny")
    assert done.returncode == 0, done
    stage.ask("merge", str(stage.log))
    stage.send()
    assert all(re.fullmatch(MESSAGE, text) for text in receiver.got), receiver.got
    expect(len(receiver.got), len(stage.lines()))
    command = next(dict(re.findall(PARAMETER, text))["command"] for text in receiver.got if " exec_start [" in text)
    for words in ('a\\"\\]\\\\', "<84>1 - -", "\\\\x1b[31m", "x\\\\x0ay"):
        assert words in command, (words, command)
    expect(receiver.got[0].split("] ")[-1], "start:")


def long_words_in_a_message(stage):
    """They are cut, and the message is never longer than receivers have to take."""
    stage.fill(5)
    by_syslog(stage)
    receiver = Messages(stage)
    stage.made.seq = 5
    with stage.log.open("a") as log:
        log.write(stage.made.line(event="gap", cause="x" * 700, **{f"m{number}": "]" * 700 for number in "abcdefghijklm"})[1])
    stage.send()
    assert re.fullmatch(MESSAGE, receiver.got[5]) and 6000 < len(receiver.got[5]) <= 8192, receiver.got[5]
    assert receiver.got[5].startswith("<83>") and f'cause="{"x" * 509}..."' in receiver.got[5], receiver.got[5]


def a_syslog_receiver_that_comes_back(stage):
    """What it has not confirmed is sent again, and nothing is left out."""
    by_syslog(stage)
    receiver = Messages(stage, is_cutting=True)
    stage.follow()
    numbers = stage.grow()
    until(lambda: receiver.numbers() == numbers, LONG, "what was not confirmed")
    receiver.stop()
    numbers = stage.grow(2)
    until(lambda: stage.said().count("the log keeps what was not sent") == 2, LONG, "a word about the receiver")
    late = Messages(stage)
    until(lambda: receiver.numbers() + late.numbers() == numbers, LONG, "what was written meanwhile")
    assert receiver.connections >= 2 and stage.place()["lost"] == 0


def whom_syslog_trusts(stage):
    stage.fill(5)
    by_syslog(stage)
    receiver = Messages(stage)
    trusted = stage.env.pop("SSL_CERT_FILE")
    assert "is not trusted" in stage.send(status=3).stderr
    stage.env["SSL_CERT_FILE"] = trusted
    assert "for another name" in stage.send(to=f"syslog+tls://127.0.0.1:{stage.port}", status=3).stderr
    expect(receiver.got, [])
    stage.send()
    expect(receiver.numbers(), [1, 2, 3, 4, 5])
    for wrong in ("", "localhost:0", "localhost:65536", "[::1", "localhost/x", "a@localhost"):
        assert " is not syslog+tls://HOST:PORT" in stage.send(to=f"syslog+tls://{wrong}", status=2).stderr
    stage.env["SSL_CERT_FILE"] = "/nowhere"
    assert "cannot open it" in stage.send(status=3).stderr


def rsyslog_by_tls(stage):
    """It writes what it has understood; what it had when it ended is not sent again."""
    by_syslog(stage)
    top = stage.top / "rsyslog"
    top.mkdir()
    pem, key = stage.certificate
    lines = top / "lines"
    (top / "conf").write_text(f'''global(workDirectory="{top}" processInternalMessages="off" defaultNetstreamDriver="ossl"
    defaultNetstreamDriverCAFile="{pem.parent}/ca.pem" defaultNetstreamDriverCertFile="{pem}" defaultNetstreamDriverKeyFile="{key}" maxMessageSize="16k")
module(load="imtcp" streamDriver.name="ossl" streamDriver.mode="1" streamDriver.authMode="anon") module(load="mmpstrucdata")
template(name="line" type="string" string="%app-name%|%msgid%|%syslogfacility%|%msg%|%$!sd%\\n")
input(type="imtcp" address="127.0.0.1" port="{stage.port}")
action(type="mmpstrucdata" jsonRoot="$!sd")
action(type="omfile" file="{lines}" template="line" asyncWriting="off" flushOnTXEnd="on")
''')
    stage.grow()
    for times in range(2):
        daemon = subprocess.Popen([RSYSLOGD, "-n", "-f", str(top / "conf"), "-i", str(top / "pid")], stdout=subprocess.DEVNULL,
                                  stderr=(top / "err").open("wb"))
        try:
            until(lambda: stage.run("audit", "send", "--once", stage.to).returncode == 0, LONG, "rsyslogd")
            until(lambda: lines.exists() and len(lines.read_text().splitlines()) == len(stage.lines()), LONG, lambda: (top / "err").read_text())
        finally:
            daemon.terminate()
            daemon.wait(LONG)
        if times == 0:
            numbers = stage.grow()
            expect(stage.send(status=3).stdout, "")
    got = lines.read_text().splitlines()
    records = [json.loads(line) for line in stage.lines()]
    expect(len(records), len(numbers))
    for record, line in zip(records, got, strict=True):
        app, event, facility, _, data = line.split("|", 4)
        expect((app, event, facility), ("sallyport", record["event"], "10"))
        told = json.loads(data)["rfc5424-sd"]["sallyport@32473"]
        for name in ("seq", "run", "event", "command", "hash"):
            expect(told.get(name, ""), str(record.get(name, "")))


def the_unit(stage):
    """The file for a service manager is valid, and its command sends."""
    stage.fill(20)
    text = (HERE.parents[1] / "docs/systemd/sallyport-send@.service.in").read_text().replace("@bindir@", str(pathlib.Path(stage.sallyport).parent))
    unit = stage.top / "sallyport-send@team.service"
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], env=stage.env, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0 and "sallyport-send" not in done.stderr, done
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1].replace("${TO}", stage.to).split()
    collector = Collector(stage.port)
    expect(command, [stage.sallyport, "audit", "send", stage.to])
    stage.follow()
    until(lambda: len(collector.numbers()) == 20, LONG, "the records")


def wrong_words(stage):
    stage.fill(5)
    for wrong in ("", "otlp", "http://127.0.0.1:4318", "otlp+http:/127.0.0.1", "otlp+ftp://127.0.0.1", "otlp+http://", "otlp+http://a:b@127.0.0.1"):
        done = stage.run("audit", "send", wrong, "--once")
        assert done.returncode == 2, done
    assert "--headers" in done.stderr and "a:b" not in done.stderr, done
    done = stage.send("--audit", "none", status=3)
    assert "cannot open none" in done.stderr, done
    done = stage.send("--headers", "none", status=3)
    assert "cannot open none" in done.stderr, done
    for password in ("postgresql://a:s3cret@127.0.0.1/d", "postgresql://127.0.0.1/d?password=s3cret"):
        said = stage.send(to=password, status=2).stderr
        assert "~/.pgpass" in said and "s3cret" not in said, said
    assert "--headers is for" in stage.send("--headers", str(stage.log), to="postgresql://127.0.0.1/d", status=2).stderr
    stage.env["PATH"] = "/nowhere"
    for to, name in ((stage.to, "curl"), ("postgresql://127.0.0.1/d", "psql")):
        assert f"{name} is not installed" in stage.send(to=to, status=3).stderr


CASES = [each_record_is_sent_once, one_that_comes_back, nobody_receives, what_is_refused_is_counted, what_was_pruned_is_counted,
         another_log_is_sent_whole, one_that_is_killed, over_tls_with_a_login, each_record_is_a_row, hostile_words_in_a_row,
         a_database_that_comes_back, one_that_is_killed_while_it_copies, from_several_machines, by_one_who_may_only_insert,
         what_was_pruned_is_no_row, each_record_is_a_message, hostile_words_in_a_message, long_words_in_a_message, a_syslog_receiver_that_comes_back,
         whom_syslog_trusts, rsyslog_by_tls, the_unit, wrong_words]


def main():
    enter_namespace()
    try:
        return play_cases(CASES, Stage)
    finally:
        if Database.server:
            Database.server.stop()
            shutil.rmtree(Database.server.data)


if __name__ == "__main__":
    sys.exit(main())
