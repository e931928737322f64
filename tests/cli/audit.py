#!/usr/bin/env python3
"""`audit query`, `show`, `why`, `summary`, `tail` and `export`: their answers against the ledger of generate_log.py, which wrote the log;
the index while the log grows, is replaced or is damaged; and the records of a real run.

usage: audit.py SALLYPORT [NAME...]"""
import collections
import contextlib
import csv
import datetime
import fcntl
import fnmatch
import io
import json
import os
import pathlib
import pty
import resource
import shutil
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "flow")]
import generate_log  # noqa: E402
import records  # noqa: E402
from records import expect  # noqa: E402
from servers import Server  # noqa: E402
from world import World, enter_namespace, play_cases, until  # noqa: E402

COUNT = 3000
NEXT = 120  # seconds


class Stage(records.Stage):
    """A home with a log that the generator wrote, and its ledger."""

    def fill(self, count=COUNT):
        self.made = generate_log.Generator(count, now=records.NOW)
        self.ledger = []
        with open(self.log, "w", encoding="ascii") as out:
            for members, line in self.made.records():
                self.ledger.append(members)
                out.write(line)

    def ask(self, *args, status=0, err=""):
        done = self.run("audit", *args)
        assert done.returncode == status and (err in done.stderr if err else done.stderr == ""), (args, done)
        return done.stdout

    def numbers(self, *args, **more):
        """The numbers of the exported records."""
        return [json.loads(line)["seq"] for line in self.ask("export", *args, **more).splitlines()]

    def index(self):
        found = [path for path in (self.log.parent / "audit").iterdir() if path.name.startswith("index.") and "-" not in path.name]
        assert len(found) == 1, found
        return found[0]

    def said(self, *args, **more):
        """What a question says on stderr, whose answer is still right."""
        done = self.run("audit", "export", *args)
        assert done.returncode == more.get("status", 0), done
        expect([json.loads(line)["seq"] for line in done.stdout.splitlines()], [entry["seq"] for entry in self.ledger])
        return done.stderr


def edit(index, statement):
    with contextlib.closing(sqlite3.connect(index)) as database, database:
        database.execute(statement)


def verdict_of(entry):
    if entry["event"] != "decision":
        return ""
    return {"prompt_timeout": "unanswered", "connect_refused": "failed"}.get(entry["reason"], entry["action"])


def each_filter_chooses_what_the_ledger_has(stage):
    stage.fill()
    users, commands = {}, {}
    for entry in stage.ledger:
        if entry["event"] == "start":
            users[entry["run"]] = entry["user"]
        if entry["event"] == "exec_start":
            commands[entry["run"], entry["exec"]] = entry["command"]

    def is_of(entry, program):
        word = commands.get((entry["run"], entry.get("exec")), "").split(" ")[0]
        return any(name == program or name.endswith("/" + program) for name in (entry.get("program", ""), word))

    def host(entry):
        return "" if entry["event"] == "start" else entry.get("host", "")
    middle = stage.ledger[COUNT // 2]["time"]
    moment = datetime.datetime.strptime(middle, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc, microsecond=0)
    local = (moment + datetime.timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S")  # the time zone of these tests
    bound = moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    some = stage.ledger[COUNT // 3]
    cases = {
        "--host *.tracker.test": lambda entry: fnmatch.fnmatchcase(host(entry), "*.tracker.test"),
        "--host api.test": lambda entry: host(entry) == "api.test",
        "--host 2001:db8::1": lambda entry: host(entry) == "2001:db8::1",
        "--domain d7.registry.test": lambda entry: (host(entry) == "d7.registry.test" or host(entry).endswith(".d7.registry.test")),
        "--domain registry.test": lambda entry: host(entry).endswith(".registry.test"),
        "--domain gistry.test": lambda entry: False,
        "--rule user:12": lambda entry: "user:12" in entry.get("rule", ""),
        f"--session {some['session']}": lambda entry: entry["session"] == some["session"],
        f"--run {some['run']}": lambda entry: entry["run"] == some["run"],
        "--program node": lambda entry: is_of(entry, "node"),
        "--program /usr/bin/node": lambda entry: is_of(entry, "/usr/bin/node"),
        "--program curl": lambda entry: is_of(entry, "curl"),
        "--program pip": lambda entry: is_of(entry, "pip"),
        "--person ana": lambda entry: "ana" in entry.get("by", ""),
        "--person tty": lambda entry: "tty" in entry.get("by", ""),
        "--user 1000": lambda entry: users[entry["run"]] == "1000",
        "--user root": lambda entry: users[entry["run"]] == "0",
        "--user 7": lambda entry: False,
        "--event closed": lambda entry: entry["event"] == "closed",
        "--verdict allow": lambda entry: verdict_of(entry) == "allow",
        "--verdict deny": lambda entry: verdict_of(entry) == "deny",
        "--verdict unanswered": lambda entry: verdict_of(entry) == "unanswered",
        "--verdict failed": lambda entry: verdict_of(entry) == "failed",
        f"--since '{local}'": lambda entry: entry["time"] >= bound,
        f"--until '{local}'": lambda entry: entry["time"] < bound,
        "--since 3d": lambda entry: entry["time"] >= (records.NOW - datetime.timedelta(days=3)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "--verdict deny --user 0 --domain tracker.test --program git":
            lambda entry: verdict_of(entry) == "deny" and users[entry["run"]] == "0" and host(entry).endswith(".tracker.test") and
            is_of(entry, "git"),
        "": lambda entry: True,
    }
    for args, is_chosen in cases.items():
        want = [entry["seq"] for entry in stage.ledger if is_chosen(entry)]
        got = stage.numbers(*shlex.split(args))
        if args == "--since 3d":  # the records of some seconds may be out of it by now
            assert set(got) <= set(want) and len(want) - len(got) < 3, (args, len(got), len(want))
        else:
            expect((args, got), (args, want))
            newest = [int(line.split("  ")[1].split(".")[1]) for line in stage.ask("query", "--limit", "7", *shlex.split(args)).splitlines()
                      if line[:2] == "20"]
            expect((args, newest), (args, want[-7:]))


def a_record_is_shown_whole(stage):
    stage.fill(200)
    lines = stage.log.read_text().splitlines()
    stage.log.with_name("audit.jsonl.head").write_text(generate_log.head(200, stage.log.stat().st_size, lines[-1]))
    assert "unbroken, 200 records" in stage.ask("verify", str(stage.log))  # the generator writes what a run writes
    entry = next(entry for entry in stage.ledger if entry.get("rule", "").startswith("team:3"))
    made = f"{entry['run']}.{entry['seq']}"
    expect(stage.ask("show", made, "--json"), lines[entry["seq"] - 1] + "\n")
    shown = stage.ask("show", made)
    for name, value in entry.items():
        assert f"{name:12} {value}\n" in shown, (name, shown)
    expect(stage.ask("show", f".{entry['seq']}"), shown)  # as the id of a checkpoint, which has no run
    assert made in stage.ask("query", "--limit", "200"), made
    for wrong, status in (("1", 2), (".", 2), (".0", 2), (".999999", 3), ("x.y", 2), (f"{entry['run']}.0", 2), (f"{entry['run']}.999999", 3), ("zzzzzz.1", 3)):
        expect(stage.run("audit", "show", wrong).returncode, status)


def a_command_is_escaped_once(stage):
    """A record has a command as it is shown; that is not escaped again."""
    stage.start(run="7f3a9c", command=r"echo 'gr\xc3\xbc\xc3\x9fe'")
    stage.decide("a.test", "observed")
    stage.write()
    start = stage.ask("query", "--event", "exec_start", "--json")
    number = json.loads(start)["seq"]
    for words in (("query",), ("query", "--csv"), ("show", f"7f3a9c.{number}"), ("why", f"7f3a9c.{number + 1}"), ("suggest",)):
        said = stage.run("policy", *words).stdout if words == ("suggest",) else stage.ask(*words)
        assert r"'gr\xc3\xbc\xc3\x9fe'" in said, (words, said)


def why(stage):
    stage.start(run="7f3a9c", command="npm ci")
    stage.decide("rule.test", "rule_deny", rule="team:3: deny rule.test", because="no ads", program="/usr/bin/node")
    stage.decide("late.test", "prompt_timeout")
    stage.decide("10.0.0.1", "private_address", port=8080, protocol="http", resolved="10.0.0.1")
    stage.decide("ok.test", "granted_session", by="ana on tty")
    stage.add("decision", command="make all", kind="exec", action="deny", reason="denied_once", by="ana on tty")
    stage.add("decision", exec=1, command="ls -l", program="/usr/bin/ls", kind="program", action="deny", reason="rule_deny",
              rule="ci:4: program deny ls")
    stage.write()
    listed = stage.ask("query", "--verdict", "deny")
    assert "exec: make all" in listed and "program: /usr/bin/ls, as: ls -l" in listed, listed
    said = [stage.ask("why", f"7f3a9c.{number}") for number in range(3, 10)]
    for text, words in zip(said, (
            ("deny https://rule.test:443", "by /usr/bin/node, of: npm ci", "A rule denies it. (rule_deny)", "Rule: team:3: deny rule.test",
             "Because: no ads", "Next: To allow this destination, change the rule named here."),
            ("No rule.", "To allow it, add to a policy file: allow https://late.test:443"),
            ("To allow it, add to a policy file: allow http://10.0.0.1:8080 private",),
            ("A person allowed it for this session.", "Answered by: ana on tty", "To deny it, add to a policy file: deny https://ok.test:443"),
            ("7f3a9c.7: the connection has ended.", "7f3a9c.6: allow https://ok.test:443", "Answered by: ana on tty"),
            ("7f3a9c.8: deny exec: make all", "Answered by: ana on tty", "Next: Ask the person who answered."),
            ("7f3a9c.9: deny program: /usr/bin/ls, as: ls -l", "Rule: ci:4: program deny ls"))):
        assert all(word in text for word in words), (words, text)
    stage.ask("why", "7f3a9c.1", status=3, err="decides nothing")


def summary(stage):
    stage.fill()
    since = (records.NOW - datetime.timedelta(days=30)).strftime("%Y-%m-%d")
    got = json.loads(stage.ask("summary", "--json", "--since", since))
    verdicts = collections.Counter(verdict_of(entry) for entry in stage.ledger)
    sent = collections.Counter()
    for entry in stage.ledger:
        if entry["event"] == "closed":
            sent[entry["host"]] += entry["bytes_up"] + entry["bytes_down"]
    hosts = {entry["host"] for entry in stage.ledger if entry["event"] in ("decision", "closed")}
    want = {"records": COUNT, "allowed": verdicts["allow"], "denied": verdicts["deny"], "unanswered": verdicts["unanswered"], "failed": verdicts["failed"],
            "runs": sum(entry["event"] == "start" for entry in stage.ledger),
            "commands": sum(entry["event"] == "exec_start" for entry in stage.ledger),
            "answered": sum(entry["event"] == "decision" and "by" in entry for entry in stage.ledger),
            "connections": sum(entry["event"] == "closed" for entry in stage.ledger),
            "bytes_up": sum(entry.get("bytes_up", 0) for entry in stage.ledger),
            "bytes_down": sum(entry.get("bytes_down", 0) for entry in stage.ledger), "hosts": len(hosts), "new_hosts": len(hosts)}
    expect({name: got[name] for name in want}, want)
    expect([row["bytes"] for row in got["top"]], [count for _, count in sent.most_common(3)])
    half = datetime.datetime.strptime(stage.ledger[COUNT // 2]["time"], "%Y-%m-%dT%H:%M:%S.%fZ")
    first = {}
    for entry in stage.ledger:
        if entry["event"] == "decision":
            first.setdefault(entry["host"], entry["time"])
    local = (half.replace(microsecond=0) + datetime.timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S")
    bound = half.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
    got = json.loads(stage.ask("summary", "--json", "--since", local))
    expect((got["new_hosts"], got["records"]),
           (sum(time >= bound for time in first.values()), sum(entry["time"] >= bound for entry in stage.ledger)))
    text = stage.ask("summary")
    assert text.count("\n") <= 10 and " are new: " in text, text


def report(stage):
    """The sums of whole days, and of the part of a day with which a time begins; also when the log has grown since."""
    stage.fill()
    lines = stage.log.read_text().splitlines(keepends=True)
    stage.log.write_text("".join(lines[:COUNT // 3]))
    stage.ask("report")
    stage.log.write_text("".join(lines))
    words = {}
    for entry in stage.ledger:
        if entry["event"] == "exec_start":
            words[entry["run"], entry["exec"]] = entry["command"].split(" ")[0]
    keys = {"host": lambda entry: entry["host"], "run": lambda entry: entry["run"],
            "program": lambda entry: (entry.get("program") or words[entry["run"], entry["exec"]]).rpartition("/")[2],
            "person": lambda entry: entry.get("by") or none("no person", entry),
            "rule": lambda entry: entry.get("rule") or none("no rule", entry, entry.get("action") == "deny")}

    def none(what, entry, has_reason=True):
        return f"({what}: {entry['reason']})" if entry["event"] == "decision" and has_reason else f"({what})"
    moment = datetime.datetime.strptime(stage.ledger[COUNT // 2]["time"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(microsecond=0)
    local = (moment + datetime.timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S")
    for args, bound in ((["--since", "60d"], ""), (["--since", local], moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")),
                        (["--run", stage.ledger[COUNT // 2]["run"]], ""), (["--last"], "")):
        run = args[1] if args[0] == "--run" else stage.ledger[-1]["run"] if args[0] == "--last" else None
        for by, key in keys.items():
            want = {}
            for entry in stage.ledger:
                if entry["event"] not in ("decision", "closed") or entry["time"] < bound or run not in (None, entry["run"]):
                    continue
                row = want.setdefault(key(entry), collections.Counter())
                column = {"allow": "allowed", "deny": "denied", "unanswered": "unanswered", "failed": "failed", "": "connections"}[verdict_of(entry)]
                row.update({column: 1, "bytes_up": entry.get("bytes_up", 0), "bytes_down": entry.get("bytes_down", 0)})
            rows = json.loads(stage.ask("report", "--json", "--by", by, *args))["rows"]
            got = {row["key"]: {name: row[name] for name in ("allowed", "denied", "unanswered", "failed", "connections", "bytes_up", "bytes_down")}
                   for row in rows}
            expect((args, by, got), (args, by, {name: {column: row[column] for column in got.get(name, row)} for name, row in want.items()}))


def csv_holds_no_formula_and_no_control(stage):
    stage.start(command="=cmd|calc \x1b[2J")
    stage.decide("a.test", "granted_once", by="-2+3 on tty\n\x1b]0;x\x07", rule="@SUM(1)", program="+evil")
    stage.write()
    rows = list(csv.DictReader(io.StringIO(stage.ask("export", "--csv"), newline="")))
    expect(len(rows), len(stage.records))
    for row in rows:
        for name, cell in row.items():
            assert cell[:1] not in tuple("=+-@\t\r") or not cell, (name, cell)
    expect((rows[2]["command"], rows[2]["by"], rows[2]["rule"]), ("'=cmd|calc \\x1b[2J", "'-2+3 on tty\\x0a\\x1b]0;x\\x07", "'@SUM(1)"))
    for text in (stage.ask("query"), stage.ask("show", "7f3a9c.3"), stage.ask("why", "7f3a9c.3"), stage.ask("summary"), stage.ask("tail")):
        assert not any(ord(c) < 32 and c != "\n" or ord(c) > 126 for c in text), text
    assert json.loads(stage.ask("query", "--json", "--event", "exec_start"))["command"] == "=cmd|calc \x1b[2J"
    expect(stage.run("audit", "query", "--json", "--csv").returncode, 2)
    expect(stage.run("audit", "query", "--limit", "0").returncode, 2)
    expect(stage.run("audit", "query", "--until", "soon").returncode, 2)
    done = stage.run("audit", "query", "--user", "nobody-at-all")
    assert done.returncode == 2 and "there is no user `nobody-at-all`" in done.stderr, done


def edited_records(stage):
    """Numbers that no sum may overflow by, and bytes that record.c never writes."""
    stage.start()
    for _ in range(3):
        stage.decide("a.test", "rule_deny", times=2 ** 63 - 1)
        stage.add("closed", exec=1, way="connect", host="a.test", protocol="https", port=443, bytes_up=2 ** 63 - 1, bytes_down=2 ** 63 - 1)
    stage.write()
    assert json.loads(stage.ask("summary", "--json"))["denied"] > 2 ** 40
    assert json.loads(stage.ask("report", "--json", "--by", "run"))["rows"][0]["bytes_up"] > 2 ** 40
    stage.log.write_bytes(stage.log.read_bytes().replace(b"rule_deny", "\u009b2J".encode() + b"\x9b\x7f"))
    for args in (("query", "--json"), ("show", "7f3a9c.3"), ("why", "7f3a9c.3"), ("export",)):
        done = subprocess.run([stage.sallyport, "audit", *args], cwd=stage.here, env=stage.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=records.TIMEOUT_S)
        assert done.returncode == 1 and b"not ASCII" in done.stderr and max(done.stdout, default=0) < 127, done
    for args in (("query",), ("query", "--csv"), ("summary",), ("report",), ("report", "--by", "rule")):
        text = stage.ask(*args)
        assert all(c == "\n" or c == "\r" or 32 <= ord(c) < 127 for c in text), text


def a_terminal(stage):
    """No line is wider than it."""
    stage.fill(300)
    main, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = subprocess.Popen([stage.sallyport, "audit", "query", "--limit", "20"], cwd=stage.here, env=stage.env, stdin=inner,
                               stdout=inner, stderr=subprocess.PIPE)
    os.close(inner)
    text = b""
    with contextlib.suppress(OSError):  # how the other end closes
        while piece := os.read(main, 65536):
            text += piece
    _, err = process.communicate(timeout=NEXT)
    os.close(main)
    expect((process.returncode, err), (0, b""))
    lines = text.decode().replace("\r", "").splitlines()[:20]
    assert len(lines) == 20 and max(len(line) for line in lines) == 60 and any(line.endswith("...") for line in lines), lines


def the_index_follows_the_log(stage):
    """What was read once is not read again; a line that is not whole is left for the next time."""
    stage.fill()
    text, ledger = stage.log.read_text(), stage.ledger
    lines = text.splitlines(keepends=True)
    for whole, part in ((100, 0), (101, 0), (1500, 40), (COUNT, 0)):
        more = "".join(lines[:whole]) + (lines[whole][:part] if part else "")
        with open(stage.log, "r+", encoding="ascii") as log:
            log.write(more)
            log.truncate()
        stage.ledger = ledger[:whole]
        expect(stage.said(), "")
        expect(stage.index().stat().st_mode & 0o777, 0o600)
    edit(stage.index(), "UPDATE records SET seq = seq + 1000000 WHERE at = 0")
    done = stage.run("audit", "export", "--limit", "1")
    expect(done.returncode, 2)  # export has no limit
    done = stage.run("audit", "export")
    assert done.returncode == 1 and "was changed after it was first read" in done.stderr, done


def another_log_is_read_from_its_start(stage):
    stage.fill()
    expect(stage.said(), "")
    stage.fill(500)  # shorter
    expect(stage.said(), "")
    fresh = stage.log.with_name("fresh")
    fresh.write_text(stage.log.read_text().replace("registry.test", "registry.best"))
    fresh.rename(stage.log)  # another file, of the same size
    expect(stage.said(), "")
    expect(stage.numbers("--domain", "registry.test"), [])
    with open(stage.log, "r+", encoding="ascii") as log:  # the same file and size, other bytes
        text = log.read()
        log.seek(0)
        log.write(text.replace("registry.best", "registry.rest"))
    expect(len(stage.numbers("--domain", "registry.rest")) > 0, True)
    expect(stage.numbers("--domain", "registry.best"), [])


def damaged_lines_are_named(stage):
    stage.fill(300)
    lines = stage.log.read_text().splitlines(keepends=True)
    lines[9:9] = ["not json\n", "x" * 20000 + "\n", "{}\n"]
    stage.log.write_text("".join(lines))
    for _ in range(2):  # also when it is not read again
        done = stage.run("audit", "query")
        assert done.returncode == 1 and all(f"audit.jsonl:{line}: " in done.stderr for line in (10, 11, 12)), done
    for status, name in ((1, "export"), (1, "summary"), (1, "tail")):
        expect(stage.run("audit", name).returncode, status)
    stage.log.write_text("x\n" * 100)
    done = stage.run("audit", "query")
    assert "80 more lines are not audit records" in done.stderr and "no record matches" in done.stdout, done
    stage.log.unlink()
    stage.ask("query", status=3, err="cannot open")
    shutil.rmtree(stage.log.parent / "audit")
    stage.ask("query", status=3, err="cannot open")
    expect(list(stage.log.parent.iterdir()), [])  # nothing is made for a log that is not there


def a_damaged_index_is_made_again(stage):
    stage.fill()
    expect(stage.said(), "")
    index = stage.index()
    size = index.stat().st_size
    index.write_bytes(b"this is not a database" * 100)
    assert "made again from the log" in stage.said()
    expect(stage.said(), "")
    with open(index, "r+b") as file:  # every page but the first
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    assert stage.said().startswith("sallyport: the index of the audit log: "), stage.said()
    expect(stage.said(), "")
    os.truncate(index, 8192)
    assert stage.said() != ""
    expect(stage.said(), "")
    edit(index, "PRAGMA user_version = 77")
    assert "another version" in stage.said()
    expect(stage.said(), "")
    for path in index.parent.iterdir():  # it can be removed at any time
        path.unlink()
    expect(stage.said(), "")


def where_no_index_can_be_written(stage):
    stage.fill(500)
    folder = stage.log.parent / "audit"
    stage.said()
    index = stage.index()
    index.unlink()
    index.mkdir()  # stops root, too
    assert "read into memory" in stage.said()
    index.rmdir()
    index.symlink_to("/etc/passwd")
    assert "read into memory" in stage.said()
    index.unlink()
    folder.chmod(0o500)
    if os.geteuid() != 0:
        assert "read into memory" in stage.said()
    folder.chmod(0o777)  # others could put files there
    assert "read into memory" in stage.said()
    folder.chmod(0o700)
    shutil.rmtree(folder)
    folder.symlink_to("/proc/nothing")
    assert "read into memory" in stage.said()
    folder.unlink()
    folder.mkdir(0o700)
    index.write_bytes(b"")
    index.chmod(0o644)  # others could read it
    assert "read into memory" in stage.said()


def where_the_disk_is_full(stage):
    """The same, and nothing that was begun is left half."""
    stage.fill(3000)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    done = subprocess.run([stage.sallyport, "audit", "summary", "--json", "--since", "60d"], cwd=stage.here, env=stage.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=NEXT, preexec_fn=limit)
    assert done.returncode == 0 and "read into memory" in done.stderr and json.loads(done.stdout)["records"] == 3000, done
    expect(stage.said(), "")


def a_killed_question(stage):
    """It leaves an index that the next one goes on with, or makes again."""
    stage.fill(5000)
    for _ in range(3):
        process = subprocess.Popen([stage.sallyport, "audit", "export"], cwd=stage.here, env=stage.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: list(stage.log.parent.glob("audit/index.*")) or process.poll() is not None, NEXT, "the index")
        process.kill()
        process.wait(NEXT)
        expect(stage.said(), "")
        for path in stage.log.parent.glob("audit/index.*"):
            path.unlink()


def two_questions_at_once(stage):
    """Both are answered, and one of them makes the index."""
    stage.fill(5000)
    started = [subprocess.Popen([stage.sallyport, "audit", "export"], cwd=stage.here, env=stage.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for process in started:
        out, err = process.communicate(timeout=NEXT)
        expect((process.returncode, err, len(out.splitlines())), (0, "", 5000))


def a_locked_index_is_waited_for(stage):
    stage.fill(300)
    stage.said()
    index = stage.index()
    with contextlib.closing(sqlite3.connect(index, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        process = subprocess.Popen([stage.sallyport, "audit", "export"], cwd=stage.here, env=stage.env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def is_open():
            with contextlib.suppress(OSError):
                return any(os.path.realpath(fd) == str(index.resolve()) for fd in pathlib.Path(f"/proc/{process.pid}/fd").iterdir())
        until(is_open, NEXT, "the index to be opened")
        database.execute("ROLLBACK")
    out, err = process.communicate(timeout=NEXT)
    expect((process.returncode, err, len(out.splitlines())), (0, "", 300))


def repeated_numbers_are_reported(stage):
    stage.start()
    stage.decide("a.test", "rule_deny")
    stage.records.append(dict(stage.records[-1]))
    stage.write()
    done = stage.run("audit", "show", "7f3a9c.3")
    assert done.returncode == 1 and "2 records with this number" in done.stderr and done.stdout.count("a.test") == 2, done


def tail_follows(stage):
    stage.fill(100)
    more = generate_log.Generator(160, now=records.NOW)
    lines = [line for _, line in more.records()]
    process = subprocess.Popen([stage.sallyport, "audit", "tail", "-f", "--limit", "5", "--json"], cwd=stage.here, env=stage.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    limit = threading.Timer(NEXT, process.kill)  # a line that never comes ends the test
    limit.start()
    try:
        expect([json.loads(process.stdout.readline())["seq"] for _ in range(5)], [96, 97, 98, 99, 100])
        with open(stage.log, "a", encoding="ascii") as log:
            log.write("".join(lines[100:120]) + lines[120][:30])
        expect([json.loads(process.stdout.readline())["seq"] for _ in range(20)], list(range(101, 121)))
        with open(stage.log, "a", encoding="ascii") as log:
            log.write(lines[120][30:])
        expect(json.loads(process.stdout.readline())["seq"], 121)
        stage.log.rename(stage.log.with_name("old"))  # a new file begins
        fresh = stage.log.with_name("fresh")
        fresh.write_text("".join(lines[:3]))
        fresh.rename(stage.log)
        expect([json.loads(process.stdout.readline())["seq"] for _ in range(3)], [1, 2, 3])
    finally:
        limit.cancel()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=NEXT)
    expect((process.returncode, err), (-signal.SIGINT, ""))


def a_real_run(stage):
    """Its requests are found, and `why` names the rule that `policy explain` names."""
    world = World(stage.sallyport)
    try:
        server = Server("web", world.new_address())
        server.serve_http(80)
        policy = world.work / "team.policy"
        policy.write_text("allow http://good.test private\ndeny http://bad.test because \"no reason\"\n")
        policy.chmod(0o600)
        names = [word for host in ("good.test", "bad.test") for word in ("--resolve", f"{host}:{server.address}")]

        def play(script):
            done = subprocess.run([world.sallyport, "run", "--no-tty", "--policy", str(policy), *names, "--", "sh", "-c", script],
                                  cwd=world.work, env=world.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=NEXT)
            assert done.returncode == 0, done
            return done.stdout
        play("curl -sS http://good.test/; curl -sS http://bad.test/; exit 0")

        def found():
            rows = csv.DictReader(io.StringIO(world.sally("audit", "query", "--csv", "--event", "decision").stdout, newline=""))
            return {row["host"]: row for row in rows}
        rows = until(lambda: found() if len(found()) == 2 else None, NEXT, "both decisions")
        expect([rows[host]["verdict"] for host in ("good.test", "bad.test")], ["allow", "deny"])
        for host in rows:
            said = world.sally("audit", "why", rows[host]["id"]).stdout
            explained = world.sally("policy", "explain", "--policy", str(policy), f"http://{host}")
            rule = rows[host]["rule"]
            assert rule and f"Rule: {rule}" in said and rule in explained.stdout, (rule, said, explained)
            shown = json.loads(world.sally("audit", "show", "--json", rows[host]["id"]).stdout)
            expect((shown["host"], shown["rule"]), (host, rule))
        killed = subprocess.Popen([world.sallyport, "run", "--no-tty", "--policy", str(policy), *names, "--", "sh", "-c",
                                   "curl -sS http://bad.test/ >done; sleep 600"], cwd=world.work, env=world.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until(lambda: (world.work / "done").exists() and (world.work / "done").stat().st_size, NEXT, "the denial")
        killed.kill()
        killed.communicate(timeout=NEXT)

        def merged():
            done = world.sally("audit", "query", "--json", "--event", "killed")
            return done.returncode == 0 and done.stdout
        assert until(merged, NEXT, "the record of the killed run")
        assert list(world.top.rglob("index.*")), "the index is in another folder"
        assert "index." not in play(f"find '{world.top}'; exit 0")
    finally:
        world.close(keep=False)


CASES = [each_filter_chooses_what_the_ledger_has, a_record_is_shown_whole, a_command_is_escaped_once, why, summary, report, csv_holds_no_formula_and_no_control,
         edited_records, a_terminal, the_index_follows_the_log, another_log_is_read_from_its_start, damaged_lines_are_named, a_damaged_index_is_made_again,
         where_no_index_can_be_written, where_the_disk_is_full, a_killed_question,
         two_questions_at_once, a_locked_index_is_waited_for, repeated_numbers_are_reported, tail_follows, a_real_run]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
