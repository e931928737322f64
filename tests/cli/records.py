#!/usr/bin/env python3
"""What reads the records of an audit log: `policy suggest`, `policy simulate` and `audit report`, over logs that a case writes. Each
case has its own home and working folder. A suggested policy is always held against `policy check` and `policy explain`.

usage: records.py SALLYPORT [NAME...]"""
import csv
import datetime
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))
from world import play_cases  # noqa: E402

TIMEOUT_S = 120
NOW = datetime.datetime.now(datetime.timezone.utc)
ALLOW = {"rule_allow", "default_allow", "answer_allow", "granted_once", "granted_session", "granted_always", "observed", "inside"}


class Stage:
    def __init__(self, sallyport):
        self.sallyport = sallyport
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-records-"))
        self.here = self.top / "here"
        self.here.mkdir()
        self.log = self.top / "home/.local/state/sallyport/audit.jsonl"
        self.log.parent.mkdir(parents=True, mode=0o700)
        self.env = {"HOME": str(self.top / "home"), "PATH": os.environ["PATH"], "TERM": "xterm", "TZ": "XXX-03",
                    "XDG_RUNTIME_DIR": str(self.top / "home"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "LANG": "C.UTF-8"}
        self.records = []

    def close(self):
        shutil.rmtree(self.top)

    def add(self, event, age=datetime.timedelta(minutes=5), run="7f3a9c", **members):
        time = (NOW - age).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.records.append({"seq": len(self.records) + 1, "time": time, "mono": 1, "session": run, "run": run, "event": event,
                             **members, "prev": "0" * 64, "hash": "0" * 64})

    def start(self, run="7f3a9c", command="npm ci", **members):
        self.add("start", run=run, user="0", host="machine", cwd="/srv", **members)
        self.add("exec_start", run=run, exec=1, command=command, **members)

    def decide(self, host, reason, port=443, protocol="https", resolved=None, run="7f3a9c", age=datetime.timedelta(minutes=5), **members):
        """A decision, and the end of the connection if it was reached."""
        is_allowed = reason in ALLOW
        way = members.pop("way", "connect" if protocol != "http" else "http")
        what = {"exec": 1, "way": way, "host": host, "protocol": protocol, "port": port}
        self.add("decision", run=run, age=age, action="allow" if is_allowed else "deny", reason=reason, **what, **members)
        if is_allowed and resolved != "":
            self.add("closed", run=run, age=age, action="allow", reason="done", **what, resolved=resolved or "11.0.0.5",
                     bytes_up=10, bytes_down=2048, duration_ms=3)

    def write(self, tail=""):
        self.log.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in self.records) + tail)

    def run(self, *args):
        return subprocess.run([self.sallyport, *args], cwd=self.here, env=self.env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def suggest(self, *args, status=0):
        """The allow lines of the suggestion, which is a good policy."""
        done = self.run("policy", "suggest", *args)
        assert done.returncode == status, done
        path = self.here / "suggested"
        path.write_text(done.stdout)
        path.chmod(0o600)
        checked = self.run("policy", "check", "suggested")
        assert checked.returncode == 0 and checked.stderr == "", (done.stdout, checked)
        self.text, self.err = done.stdout, done.stderr
        return [line.split("#")[0].split("allow ")[1].strip() for line in done.stdout.splitlines() if line.startswith("allow ")]

    def explain(self, destination):
        """What the last suggestion says."""
        path = self.here / "strict"
        path.write_text(self.text + "default deny\n")
        path.chmod(0o600)
        return self.run("policy", "explain", "--no-user", "--policy", "strict", destination).returncode


def expect(got, want):
    assert got == want, f"got {got!r}, want {want!r}"


def what_was_allowed_is_suggested(stage):
    stage.start()
    for reason in ("observed", "granted_once", "rule_allow"):
        stage.decide(f"{reason.split('_')[0]}.test", reason, by="ana on tty" if reason == "granted_once" else "")
    stage.decide("plain.test", "observed", port=80, protocol="http")
    stage.decide("db.test", "observed", port=5432, protocol="tcp")
    stage.decide("127.0.0.1", "inside", port=80, protocol="http")
    stage.decide("nobody.test", "no_approver")
    stage.decide("typo.test", "observed", resolved="")
    stage.decide("typo.test", "dns_failed")
    for reason in ("inside", "connect_refused"):  # clients of a published port
        stage.decide("localhost", reason, port=8000, protocol="tcp", way="published")
    stage.write()
    expect(sorted(stage.suggest()), sorted(["tcp://db.test:5432", "https://granted.test", "https://observed.test", "http://plain.test",
                                            "https://rule.test"]))
    for words in ("by ana on tty", "1 allowed (1 only observed)", "in run 7f3a9c: npm ci", "2.0 KiB down",
                  "# allow https://nobody.test  # 1 times no_approver, by: npm ci", "# https://typo.test"):
        assert words in stage.text, (words, stage.text)
    assert "localhost" not in stage.text, stage.text
    expect([stage.explain(f"https://{host}.test") for host in ("observed", "nobody", "typo")], [0, 1, 1])


def what_was_denied_is_never_allowed(stage):
    """Not even where it was allowed at another time, and not by a wildcard."""
    long_ago = datetime.timedelta(days=40)
    stage.start(run="000001", age=long_ago)
    stage.decide("once.test", "denied_once", run="000001", age=long_ago, by="ana on tty")
    stage.decide("r9.cdn.test", "rule_deny", run="000001", age=long_ago, rule="user:1: deny r9.cdn.test")
    stage.start()
    stage.decide("once.test", "observed")
    for number in (1, 2, 3):
        stage.decide(f"r{number}.cdn.test", "observed")
        stage.decide(f"r{number}.ok.test", "observed")
    stage.write()
    lines = stage.suggest("--last")
    expect(sorted(lines), ["https://*.ok.test", "https://r1.cdn.test", "https://r2.cdn.test", "https://r3.cdn.test"])
    assert "# https://once.test: denied_once on " in stage.text and "ana on tty" in stage.text, stage.text
    expect([stage.explain(f"https://{host}") for host in ("once.test", "r9.cdn.test", "r1.cdn.test", "r7.ok.test")], [1, 1, 0, 0])


def wildcards_need_proof(stage):
    stage.start()
    for host in ("api", "www"):
        stage.decide(f"{host}.few.test", "observed")
    for host in ("api", "www", "cdn"):
        stage.decide(f"{host}.various.test", "observed")
    for host in "abcdef":
        stage.decide(f"{host}.many.test", "observed")
        stage.decide(f"{host}.github.io", "observed")  # a public suffix
        stage.decide(f"{host}.amazonaws.com", "observed")  # has public suffixes below it
    for number in (1, 2, 3):
        stage.decide(f"shard-{number}.cdn.test", "observed", port=8443)
        stage.decide(f"n{number}.asked.test", "observed")
        stage.decide(f"n{number}.corp.test", "rule_allow", resolved=f"10.0.0.{number}")
    stage.decide("n4.asked.test", "prompt_timeout")
    stage.write()
    lines = stage.suggest()
    expect(sorted(line for line in lines if "*" in line), ["https://*.cdn.test:8443", "https://*.many.test"])
    expect(len([line for line in lines if "github.io" in line or "amazonaws.com" in line]), 12)
    assert "https://n1.corp.test private" in lines, lines
    assert "PRIVATE ADDRESS 10.0.0.1" in stage.text, stage.text


def private_and_metadata(stage):
    stage.start()
    stage.decide("169.254.169.254", "metadata_address", port=80, protocol="http")
    stage.decide("metadata.google.internal", "metadata_address", port=80, protocol="http")
    stage.decide("inside.test", "observed", resolved="")
    stage.decide("inside.test", "private_address", resolved="10.0.0.5")
    stage.decide("10.1.2.3", "answer_allow", port=8080, protocol="http", resolved="10.1.2.3")
    stage.decide("pastebin.com", "observed")
    stage.write()
    expect(sorted(stage.suggest()), ["http://10.1.2.3:8080", "https://pastebin.com"])
    assert "PRIVATE ADDRESS 10.1.2.3" in stage.text and "CAUTION" in stage.text, stage.text
    assert "private addresses, cloud metadata" in stage.text and "169.254.169.254" in stage.text, stage.text
    expect(stage.explain("http://169.254.169.254"), 1)
    expect(stage.explain("https://inside.test"), 1)


def a_log_cannot_write_policy(stage):
    """What a command chose (its words, a host in an edited log) stays in comments, or is left out."""
    stage.start(command="sh -c 'x\nallow https://evil.test'")
    stage.decide("fine.test", "observed")
    stage.decide("a.test\nallow https://evil.test", "observed")
    stage.decide("UPPER.test", "observed")
    stage.decide("b.test", "granted_once", by="ana\nallow https://evil.test")
    stage.write()
    expect(sorted(stage.suggest()), ["https://b.test", "https://fine.test"])
    expect(stage.explain("https://evil.test"), 1)


def nothing_to_suggest(stage):
    stage.start()
    stage.decide("a.test", "no_approver")
    stage.write()
    expect(stage.suggest(status=1), [])
    done = stage.run("policy", "suggest", "--run", "a", "--last")
    assert done.returncode == 2 and "not both" in done.stderr, done
    stage.log.unlink()
    done = stage.run("policy", "suggest")
    assert done.returncode == 3 and "cannot open" in done.stderr and done.stdout == "", done


def which_records(stage):
    old = datetime.timedelta(days=3)
    stage.start(run="000002")
    stage.decide("new.test", "observed", run="000002")
    stage.start(run="000001", age=old)  # records of two runs are in blocks: the last line is not the last run
    stage.decide("old.test", "observed", run="000001", age=old)
    stage.write()
    expect(stage.suggest(), ["https://new.test"])
    expect(stage.suggest("--last"), ["https://new.test"])
    expect(stage.suggest("--run", "000001"), ["https://old.test"])
    expect(sorted(stage.suggest("--since", "7d")), ["https://new.test", "https://old.test"])
    expect(stage.suggest("--since", "1d"), ["https://new.test"])
    expect(stage.suggest("--run", "000001", "--since", "1d", status=1), [])
    stage.log.rename(stage.here / "other.jsonl")
    expect(stage.suggest("--audit", "other.jsonl"), ["https://new.test"])


def malformed_lines(stage):
    """Each is named, and the rest is read."""
    stage.start()
    stage.decide("a.test", "observed")
    stage.write()
    good = stage.log.read_text()
    record = good.splitlines()[2]
    bad = ["{}", "not json", record[:-20], record.replace('"port":443', '"port":70000'), record.replace('"time":"2', '"time":"x'),
           "x" * 20000, '{"a":[1]}', record.replace("https", "\\u0000")]
    stage.log.write_text(good + "\n".join(bad) + "\n" + record.replace("a.test", "b.test") + "\n" + '{"seq":9,"ti')
    first = len(good.splitlines()) + 1
    for command, torn in ((("policy", "suggest"), 1), (("audit", "report"), 0)):  # the index leaves it for the next time
        done = stage.run(*command)
        assert "b.test" in done.stdout, done
        for line in range(first, first + len(bad)):
            assert f"audit.jsonl:{line}: " in done.stderr, (line, done.stderr)
        expect(done.stderr.count(f"audit.jsonl:{first + len(bad) + 1}: this line is not whole"), torn)
        expect(len(done.stderr.splitlines()), len(bad) + torn)
    expect(done.returncode, 1)
    stage.log.write_text(good + "x\n" * 100)
    done = stage.run("audit", "report")
    assert "80 more lines are not audit records" in done.stderr, done.stderr


def simulate(stage):
    stage.start()
    for _ in range(3):
        stage.decide("a.test", "rule_allow")
    stage.decide("b.test", "rule_deny")
    stage.decide("c.test", "granted_session")
    stage.decide("d.test", "no_approver")
    stage.decide("mirror.test", "rule_allow", resolved="10.0.0.9")
    stage.write()
    for name, text, status, words in (
            ("same", "allow a.test\ndeny b.test\nallow mirror.test private\n", 0, ["unchanged: 7 requests"]),
            ("strict", "default deny\nallow b.test\n", 1,
             ["newly denied          3  https://a.test  (default_deny)", "newly denied          1  https://c.test",
              "newly allowed         1  https://b.test", "newly denied: 5 requests to 3 destinations"]),
            ("asks", "ask a.test\nallow d.test\nallow mirror.test\ndeny b.test\n", 1,
             ["newly asked           3  https://a.test", "newly allowed         1  https://d.test",
              "newly denied          1  https://mirror.test  (private_address, asks:3: "])):
        path = stage.here / name
        path.write_text(text)
        path.chmod(0o600)
        done = stage.run("policy", "simulate", name, "--since", "7d")
        assert done.returncode == status and all(word in done.stdout for word in words), (name, done)
    report = json.loads(stage.run("policy", "simulate", "strict", "--json").stdout)
    expect((report["newly_denied"], report["newly_allowed"], report["unchanged"]), (5, 1, 1))
    (stage.here / "broken").write_text("alow a.test\n")
    expect(stage.run("policy", "simulate", "broken").returncode, 3)
    stage.suggest("--since", "7d")
    done = stage.run("policy", "simulate", "suggested")
    assert "newly denied: 0 requests" in done.stdout, done


def report(stage):
    stage.start(command="=cmd|calc npm")
    stage.decide("a.test", "granted_session", by="ana on tty")
    stage.decide("a.test", "denied_session", by="-2+3 on tty")
    stage.decide("b.test", "rule_deny", rule="team:3: deny b.test", times=70)
    stage.decide("c.test", "prompt_timeout")
    stage.decide("d.test", "default_deny")
    stage.decide("localhost", "inside", port=8000, protocol="tcp", way="published")
    stage.decide("localhost", "connect_refused", port=8000, protocol="tcp", way="published")
    stage.start(run="000002", age=datetime.timedelta(days=30))
    stage.decide("old.test", "observed", run="000002", age=datetime.timedelta(days=30))
    stage.write()

    def rows(*args):
        done = stage.run("audit", "report", "--csv", *args)
        expect((done.returncode, done.stderr), (0, ""))
        return list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    by_host = rows()
    expect([(row["host"], row["allowed"], row["denied"], row["unanswered"]) for row in by_host],
           [("b.test", "0", "70", "0"), ("a.test", "1", "1", "0"), ("c.test", "0", "0", "1"), ("d.test", "0", "1", "0")])
    expect((by_host[1]["connections"], by_host[1]["bytes_down"]), ("1", "2048"))
    utc = datetime.datetime.strptime(by_host[1]["first_utc"], "%Y-%m-%d %H:%M:%S UTC")
    local = datetime.datetime.strptime(by_host[1]["first_local"], "%Y-%m-%d %H:%M:%S %z")
    expect(local, utc.replace(tzinfo=datetime.timezone.utc))
    assert by_host[1]["first_local"].endswith("+0300"), by_host[1]
    expect({row["person"] for row in rows("--by", "person")},
           {"ana on tty", "'-2+3 on tty", "(no person: rule_deny)", "(no person: prompt_timeout)", "(no person: default_deny)", "(no person)"})
    expect({row["program"] for row in rows("--by", "program")}, {"'=cmd|calc"})
    expect({row["run"] for row in rows("--by", "run", "--since", "60d")}, {"7f3a9c", "000002"})
    assert "team:3: deny b.test" in {row["rule"] for row in rows("--by", "rule")}
    for args in ((), ("--run", "7f3a9c")):
        by_day = rows("--by", "day", *args)
        expect([row["day"] for row in by_day], sorted(row["day"] for row in by_day))
        expect({row["day"] for row in by_day}, {row[f"{which}_utc"][:10] for row in by_day for which in ("first", "last")})
        expect([sum(int(row[name]) for row in by_day) for name in ("allowed", "denied", "connections", "bytes_down")],
               [sum(int(row[name]) for row in rows("--by", "rule", *args)) for name in ("allowed", "denied", "connections", "bytes_down")])
    text = stage.run("audit", "report").stdout
    assert "UTC" in text and "in local time" in text and "+0300" in text and "old.test" not in text, text
    made = json.loads(stage.run("audit", "report", "--json", "--by", "host").stdout)
    expect((made["by"], made["malformed"], made["rows"][0]["key"], made["rows"][0]["denied"]), ("host", 0, "b.test", 70))
    expect(stage.run("audit", "report", "--json", "--csv").returncode, 2)
    expect(stage.run("audit", "report", "--since", "soon").returncode, 2)
    expect(stage.run("audit", "report", "--audit", "missing").returncode, 3)


def report_of_an_observing_run(stage):
    """One row for what no rule decided and for its connections; and one for each program, whatever the command was."""
    stage.start(command="sh -c 'curl a.test'")
    stage.decide("a.test", "observed")
    stage.decide("b.test", "observed", resolved="")
    stage.add("closed", exec=1, way="connect", host="b.test", protocol="https", port=443, program="/opt/a b/curl")
    stage.decide("c.test", "granted_session", by="ana on tty")
    stage.decide("d.test", "rule_allow", rule="user:1: allow d.test")
    stage.decide("e.test", "dns_failed")
    stage.decide("f.test", "default_deny", program="/usr/bin/git")
    stage.write()
    for args in ((), ("--run", "7f3a9c")):
        def rows(by, args=args):
            made = json.loads(stage.run("audit", "report", "--json", "--by", by, *args).stdout)
            return {row["key"]: (row["allowed"], row["denied"], row["failed"], row["connections"]) for row in made["rows"]}
        expect(rows("rule"), {"(no rule)": (3, 0, 0, 4), "user:1: allow d.test": (1, 0, 0, 0), "(no rule: dns_failed)": (0, 0, 1, 0),
                              "(no rule: default_deny)": (0, 1, 0, 0)})
        expect(rows("program"), {"sh": (4, 0, 1, 3), "curl": (0, 0, 0, 1), "git": (0, 1, 0, 0)})


def many_destinations(stage):
    """Memory has a limit: the rest is counted together, and no wildcard is concluded."""
    stage.start()
    for number in range(16400):
        stage.decide(f"h{number}.many.test", "observed", resolved="")
    stage.write()
    lines = stage.suggest()
    expect((len(lines), "https://*.many.test" in lines), (16384, False))
    assert "more than 16384 destinations" in stage.err, stage.err


CASES = [what_was_allowed_is_suggested, what_was_denied_is_never_allowed, wildcards_need_proof, private_and_metadata,
         a_log_cannot_write_policy, nothing_to_suggest, which_records, malformed_lines, simulate, report, report_of_an_observing_run,
         many_destinations]


def main():
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
