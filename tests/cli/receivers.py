#!/usr/bin/env python3
"""--syslog: what receivers of the test's own (UDP, TCP, Unix) and rsyslogd get of a run, compared with its audit log. It uses its own
network namespace.

usage: receivers.py SALLYPORT [NAME...]"""
import json
import pathlib
import re
import socket
import subprocess
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "flow")]
from servers import Server  # noqa: E402
from world import World, enter_namespace, play_cases, until  # noqa: E402

LONG = 120  # seconds
FIRST_PORT = 5514
RSYSLOGD = "/usr/sbin/rsyslogd"
# RFC 5424 §6, with one element of structured data and a text in ASCII
MESSAGE = re.compile(r'<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([!-~]{1,255}) (sallyport) (\d{1,128}) ([!-~]{1,32}) '
                     r'\[sallyport@32473((?: [a-z_]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*)\] ([ -~]*)')
PARAMETER = re.compile(r' ([a-z_]+)="((?:[^"\\\]]|\\["\\\]])*)"')
SAME = ("run", "session", "exec", "event", "kind", "way", "host", "protocol", "port", "resolved", "action", "reason", "by", "status",
        "bytes_up", "bytes_down")
HOSTILE = "true 'a\"]\\b' '\x1b[31m' '<84>1 - - - - - -' '\xe4\u202e' 'x\ny'"


def parse(text):
    found = MESSAGE.fullmatch(text)
    assert found and len(text) <= 2048, text
    made = {name: re.sub(r"\\(.)", r"\1", value) for name, value in PARAMETER.findall(found[7])}
    return made | {"severity": int(found[1]) % 8, "facility": int(found[1]) // 8, "time": found[2], "id": found[6], "text": found[8]}


class Receiver:
    """Keeps what it gets: whole messages."""

    def __init__(self, kind, place):
        self.kind, self.got, self.lock = kind, [], threading.Lock()
        family = socket.AF_UNIX if kind == "unix" else socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
        if kind == "tcp":
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        else:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(place)
        if kind == "tcp":
            self.socket.listen()
        threading.Thread(target=self.accept if kind == "tcp" else self.receive, daemon=True).start()

    def take(self, message):
        with self.lock:
            self.got.append(message.decode("ascii"))

    def receive(self):
        while True:
            self.take(self.socket.recv(65536))

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            stream = connection.makefile("rb")
            length = b""
            while byte := stream.read(1):
                if byte == b" ":
                    self.take(stream.read(int(length)))
                length = b"" if byte == b" " else length + byte

    def messages(self):
        with self.lock:
            return [parse(text) for text in self.got]


class Stage(World):
    used = 0

    def __init__(self, sallyport):
        super().__init__(sallyport)
        Stage.used += 1  # the servers and receivers of a case stay until the end
        self.addresses += Stage.used
        self.port = FIRST_PORT + Stage.used
        self.server = Server("web", self.new_address())
        self.server.serve_http(80)
        (self.work / "team.policy").write_text("default deny\nallow http://good.test private\ndeny http://bad.test because \"no\"\n")
        (self.work / "team.policy").chmod(0o600)

    def begin(self, receiver, script, *options):
        return subprocess.Popen([self.sallyport, "run", "--no-tty", "--policy", "team.policy", "--audit", str(self.audit), "--syslog", receiver,
                                 "--session", "nightly", "--report", "none", "--resolve", f"good.test:{self.server.address}", *options,
                                 "--", "sh", "-c", script], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def play(self, receiver, script="curl -sS http://good.test/; curl -sS http://bad.test/; exit 3", status=3):
        """What it said on stderr."""
        process = self.begin(receiver, script)
        _, err = process.communicate(timeout=LONG)
        assert process.returncode == status, (process.returncode, err)
        return err

    def compare(self, messages, first=1):
        """Each record has its message, in the order of the log."""
        records = self.records()
        assert [one["event"] for one in records][0] == "start" and records[-1]["event"] == "end", records
        assert [int(one["seq"]) for one in messages] == list(range(first, first + len(records))), messages
        for record, message in zip(records, messages):
            for name in SAME:
                if record["event"] != "start" or name != "host":  # there it is the machine's
                    assert str(record.get(name, "")) == message.get(name, ""), (name, record, message)
            assert message["id"] == record["event"] and message["time"] == record["time"] and message["facility"] == 10, (record, message)
            if "rule" in record:
                assert message["rule"] == record["rule"], (record, message)
            denied = record["event"] == "decision" and record["action"] == "deny"
            assert (message["severity"] == 4) == denied, (record, message)
        assert {"good.test", "bad.test"} <= {one.get("host") for one in records}
        self.sally("audit", "verify", str(self.audit), check=True)


def every_record_arrives(stage, kind, place, name):
    receiver = Receiver(kind, place)
    err = stage.play(name)
    assert "--syslog" not in err, err
    stage.compare(until(lambda: receiver.messages() if len(receiver.got) == len(stage.records()) else None, LONG, "every record"))
    assert "decision: deny http://bad.test:80 (rule_deny)" in [one["text"] for one in receiver.messages()], receiver.messages()


def by_udp(stage):
    every_record_arrives(stage, "udp", ("127.0.0.1", stage.port), f"udp:127.0.0.1:{stage.port}")


def by_udp_over_ipv6(stage):
    every_record_arrives(stage, "udp", ("::1", stage.port), f"udp:[::1]:{stage.port}")


def by_tcp(stage):
    every_record_arrives(stage, "tcp", ("127.0.0.1", stage.port), f"tcp:127.0.0.1:{stage.port}")


def by_unix(stage):
    every_record_arrives(stage, "unix", str(stage.top / "log"), f"unix:{stage.top}/log")


def hostile_words(stage):
    """One message for each record, whatever the command is called."""
    receiver = Receiver("udp", ("127.0.0.1", stage.port))
    stage.play(f"udp:127.0.0.1:{stage.port}", HOSTILE, status=0)
    got = until(lambda: receiver.messages() if len(receiver.got) == len(stage.records()) else None, LONG, "every record")
    command = next(one["command"] for one in got if one["event"] == "exec_start")
    assert "<84>1 - - - - - -" in command and "\\x1b" in command and '"]' in command, command
    assert all(int(one["seq"]) == at for at, one in enumerate(got, 1))


def nobody_receives(stage):
    """The run is the same, and says once what is missing."""
    for name, words in ((f"tcp:127.0.0.1:{stage.port}", "Connection refused"), (f"udp:127.0.0.1:{stage.port}", "Connection refused"),
                        (f"unix:{stage.top}/none", "No such file or directory")):
        stage.audit.unlink(missing_ok=True)
        stage.audit.with_name("audit.jsonl.head").unlink(missing_ok=True)
        err = stage.play(name)
        assert err.count(words) == 1 and "records had not arrived; the audit log has them" in err, err
        records = stage.records()
        assert records[0]["event"] == "start" and records[-1]["event"] == "end", records
        stage.sally("audit", "verify", str(stage.audit), check=True)


def one_that_does_not_read(stage):
    """Its connection is accepted, and nothing is read until the run has ended: the kernel keeps what was sent."""
    listener = socket.create_server(("127.0.0.1", stage.port))
    err = stage.play(f"tcp:127.0.0.1:{stage.port}")
    assert "--syslog" not in err, err
    connection, _ = listener.accept()
    count = len(re.findall(rb"\d+ <\d+>1 ", connection.makefile("rb").read()))
    assert count == len(stage.records()), count


def one_that_comes_late(stage):
    """What waited in memory arrives before what is new."""
    process = stage.begin(f"tcp:127.0.0.1:{stage.port}", "curl -sS http://good.test/; curl -sS http://bad.test/; "
                                                   "until test -e go; do sleep 0.1; done; exit 3")
    until(lambda: any(one.get("host") == "bad.test" for one in stage.records()), LONG, "the denial")
    receiver = Receiver("tcp", ("127.0.0.1", stage.port))
    until(lambda: any(one.get("host") == "bad.test" for one in receiver.messages()), LONG, "the message of the denial")
    (stage.work / "go").touch()
    _, err = process.communicate(timeout=LONG)
    assert process.returncode == 3 and "the receiver can be reached again" in err and "had not arrived" not in err, err
    stage.compare(until(lambda: receiver.messages() if len(receiver.got) == len(stage.records()) else None, LONG, "every record"))


def a_session(stage):
    """Its gate sends what its runs do, and refuses another receiver for one of them."""
    receiver, name = Receiver("tcp", ("127.0.0.1", stage.port)), f"tcp:127.0.0.1:{stage.port}"
    stage.sally("session", "start", "work", "--policy", str(stage.work / "team.policy"), "--audit", str(stage.audit), "--syslog", name, check=True)
    try:
        done = subprocess.run([stage.sallyport, "run", "--join", "work", "--no-tty", "--", "curl", "-sS", "http://bad.test/"], cwd=stage.work,
                              env=stage.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0, done
        done = stage.sally("run", "--join", "work", "--syslog", name, "--", "true")
        assert done.returncode == 2 and "--join and --syslog cannot be given together" in done.stderr, done
    finally:
        stage.sally("session", "end", "work", check=True)
    got = until(lambda: receiver.messages() if len(receiver.got) == len(stage.records()) else None, LONG, "every record")
    assert any(one.get("host") == "bad.test" and one.get("session") == "work" for one in got), got


def wrong_receivers(stage):
    for wrong in ("", "udp:", "udp:localhost:514", "udp:127.0.0.1", "udp:127.0.0.1:0", "tcp:127.0.0.1:65536", "tcp:::1:514", "udp:[127.0.0.1]:514",
                  "unix:log", "unix:/" + "x" * 108, "tls:127.0.0.1:6514", "/dev/log"):
        done = stage.sally("run", "--syslog", wrong, "--", "true")
        assert done.returncode == 2 and "is not udp:ADDRESS:PORT, tcp:ADDRESS:PORT or unix:/PATH" in done.stderr, (wrong, done)


def rsyslog(stage):
    """The same by all three ways: it parses the messages, and writes what it has understood."""
    top = stage.top / "rsyslog"
    top.mkdir()
    lines = top / "lines"
    (top / "conf").write_text(f'''global(workDirectory="{top}" processInternalMessages="off")
module(load="imudp") module(load="imtcp") module(load="imuxsock" SysSock.Use="off") module(load="mmpstrucdata")
template(name="line" type="string" string="%app-name%|%msgid%|%syslogfacility%|%msg%|%$!sd%\\n")
input(type="imudp" address="127.0.0.1" port="{stage.port}")
input(type="imtcp" address="127.0.0.1" port="{stage.port}")
input(type="imuxsock" Socket="{top}/log" UseSpecialParser="off" RateLimit.Interval="0")
action(type="mmpstrucdata" jsonRoot="$!sd")
action(type="omfile" file="{lines}" template="line" asyncWriting="off" flushOnTXEnd="on")
''')
    daemon = subprocess.Popen([RSYSLOGD, "-n", "-f", str(top / "conf"), "-i", str(top / "pid")], stdout=subprocess.DEVNULL,
                              stderr=(top / "err").open("wb"))
    try:
        until(lambda: (top / "log").exists() and (top / "pid").exists(), LONG, "rsyslogd")
        for name in (f"udp:127.0.0.1:{stage.port}", f"tcp:127.0.0.1:{stage.port}", f"unix:{top}/log"):
            stage.audit.unlink(missing_ok=True)
            stage.audit.with_name("audit.jsonl.head").unlink(missing_ok=True)
            before = len(lines.read_text().splitlines()) if lines.exists() else 0
            err = stage.play(name)
            assert "--syslog" not in err, err
            records = stage.records()
            until(lambda: lines.exists() and len(lines.read_text().splitlines()) == before + len(records), LONG,
                  f"every record by {name}: {(top / 'err').read_text()}")
            got = lines.read_text().splitlines()[before:]
            for at, (line, record) in enumerate(zip(got, records), 1):
                app, msgid, facility, text, data = line.split("|", 4)
                data = json.loads(data)["rfc5424-sd"]["sallyport@32473"]
                assert (app, msgid, facility, data["seq"]) == ("sallyport", record["event"], "10", str(at)), line
                for key in SAME:
                    if record["event"] != "start" or key != "host":
                        assert str(record.get(key, "")) == data.get(key, ""), (key, record, data)
                assert text.strip().startswith(f"{record['event']}:"), line
    finally:
        daemon.terminate()
        daemon.wait(LONG)


CASES = [by_udp, by_udp_over_ipv6, by_tcp, by_unix, hostile_words, nobody_receives, one_that_does_not_read, one_that_comes_late,
         a_session, wrong_receivers, rsyslog]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
