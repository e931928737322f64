#!/usr/bin/env python3
"""`audit export --ocsf` and `audit tail --ocsf`: every event against a schema that was written by hand from the definitions of OCSF, and
against the records that it is made of.

usage: ocsf.py SALLYPORT [NAME...]"""
import datetime
import hashlib
import ipaddress
import json
import pathlib
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import records  # noqa: E402
from records import expect, play_cases  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = jsonschema.Draft202012Validator(json.loads((HERE / "ocsf.schema.json").read_text()))
HOSTILE = "a\"]b\\\n\x1b[31m\u00e4\u202e</script>"
MAPPED = {"seq", "time", "event", "action", "reason", "way", "host", "protocol", "port", "client", "resolved", "rule", "because", "command",
          "program", "session", "bytes_up", "bytes_down", "duration_ms", "times"}


class Stage(records.Stage):
    def fill(self, *entries):
        """Writes a log of these records; returns their members."""
        prev, self.entries = "0" * 64, []
        with open(self.log, "w", encoding="ascii") as out:
            for seq, members in enumerate(entries, 1):
                record = {"seq": seq, "time": f"2026-01-31T12:00:{seq:02d}.123456Z", "mono": seq, "session": "nightly", "run": "7f3a9c",
                          **members, "prev": prev}
                body = json.dumps(record, separators=(",", ":"))
                prev = hashlib.sha256((prev + body).encode()).hexdigest()
                out.write(f'{body[:-1]},"hash":"{prev}"}}\n')
                self.entries.append(record | {"hash": prev})

    def events(self, *words):
        done = self.run("audit", *words, "--ocsf")
        assert done.returncode == 0 and done.stderr == "", done
        events = [json.loads(line) for line in done.stdout.splitlines()]
        for event in events:
            SCHEMA.validate(event)
            expect(event["type_uid"], event["class_uid"] * 100 + event["activity_id"])
        return events


def decision(action, reason, way, **more):
    return {"exec": 1, "event": "decision", "action": action, "reason": reason, "way": way, "host": "a.test", "protocol": "https", "port": 443,
            **more}


ENTRIES = [
    {"event": "start", "user": "1000", "host": "machine", "cwd": "/srv"},
    {"exec": 1, "event": "exec_start", "command": HOSTILE},
    decision("allow", "rule_allow", "connect", rule="team:3: allow a.test", because="ours", program="/usr/bin/curl", duration_ms=4),
    decision("deny", "rule_deny", "http", protocol="http", port=80),
    decision("deny", "prompt_timeout", "socks5", by="ana on tty", host="2001:db8::1"),
    decision("allow", "granted_once", "captured", protocol="tcp", port=22, client="192.0.2.9"),
    {"exec": 1, "event": "decision", "action": "deny", "reason": "rule_deny", "times": 900, "first": "2026-01-31T12:00:00.000000Z",
     "last": "2026-01-31T12:00:01.000000Z"},
    {"exec": 1, "event": "decision", "kind": "program", "program": "/bin/x", "command": "x", "action": "deny", "reason": "rule_deny"},
    decision("allow", "done", "connect", event="closed", resolved="192.0.2.7", bytes_up=10, bytes_down=2 ** 40, duration_ms=70),
    decision("allow", "server_reset", "published", event="closed", bytes_up=0, bytes_down=0),
    {"exec": 1, "event": "exec_end", "status": 0},
    decision("deny", "dns_failed", "connect"),
    decision("deny", "connect_timeout", "socks5", protocol="tcp"),
    {"event": "end", "status": 0},
]


def each_record_has_its_place(stage):
    stage.fill(*ENTRIES)
    events = stage.events("export")
    expect([event["metadata"]["sequence"] for event in events], [3, 4, 5, 6, 7, 9, 10, 12, 13])
    expect([event["type_uid"] for event in events], [400201, 400200, 400105, 400101, 400105, 400102, 400102, 400201, 400104])
    expect([(event["action"], event["action_id"], event["disposition_id"]) for event in events],
           [("Allowed", 1, 1), *[("Denied", 2, 2)] * 2, ("Allowed", 1, 1), ("Denied", 2, 2), *[("Allowed", 1, 1)] * 4])
    expect([event["status_id"] for event in events], [1, 2, 2, 1, 2, 1, 2, 2, 2])
    for event in events:
        record = stage.entries[event["metadata"]["sequence"] - 1]
        moment = datetime.datetime.strptime(record["time"], "%Y-%m-%dT%H:%M:%S.%f%z")
        expect(event["time"], int(moment.timestamp() * 1000))
        expect(event["unmapped"], {name: value for name, value in record.items() if name not in MAPPED})
        expect((event["status_code"], event["metadata"]["event_code"], event["metadata"]["uid"]),
               (record["reason"], record["event"], f"7f3a9c.{record['seq']}"))
        expect(event["actor"]["process"], {"uid": "7f3a9c.1", "cmd_line": HOSTILE})
        expect(event.get("count", 1), record.get("times", 1))
        expect(event.get("duration"), record.get("duration_ms"))
        expect(event["connection_info"]["direction"], "Inbound" if record.get("way") == "published" else "Outbound")
        if "host" in record:
            expect(event["dst_endpoint"].get("ip" if ":" in record["host"] else "hostname"), record["host"])
            url = event["url"] if event["class_uid"] == 4001 else event["http_request"]["url"]
            expect((url["hostname"], url["port"], url["scheme"]), (record["host"], record["port"], record["protocol"]))
        if "resolved" in record:
            expect(str(ipaddress.ip_address(event["dst_endpoint"]["ip"])), record["resolved"])
        if record["event"] == "closed":
            expect(event["traffic"], {"bytes_out": record["bytes_up"], "bytes_in": record["bytes_down"],
                                      "bytes": record["bytes_up"] + record["bytes_down"]})
    expect(events[0]["firewall_rule"], {"name": "team:3: allow a.test", "desc": "ours"})
    expect((events[0]["http_request"]["http_method"], events[0]["actor"]["app_name"]), ("CONNECT", "/usr/bin/curl"))
    expect(events[3]["src_endpoint"], {"uid": "7f3a9c", "ip": "192.0.2.9"})


def filters_and_tail(stage):
    stage.fill(*ENTRIES)
    expect([event["metadata"]["sequence"] for event in stage.events("export", "--verdict", "deny")], [4, 7])
    expect([event["metadata"]["sequence"] for event in stage.events("tail", "--limit", "4")], [12, 13])
    expect(stage.run("audit", "export", "--ocsf", "--csv").returncode, 2)
    expect(stage.run("audit", "tail", "--ocsf", "--json").returncode, 2)


def a_generated_log(stage):
    """Thousands of records, as runs write them."""
    import generate_log
    made = generate_log.Generator(3000, now=records.NOW)
    ledger = []
    with open(stage.log, "w", encoding="ascii") as out:
        for members, line in made.records():
            ledger.append(members)
            out.write(line)
    expect([event["metadata"]["sequence"] for event in stage.events("export")],
           [entry["seq"] for entry in ledger if entry["event"] in ("decision", "closed")])


CASES = [each_record_has_its_place, filters_and_tail, a_generated_log]


def main():
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
