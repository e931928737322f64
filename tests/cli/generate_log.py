#!/usr/bin/env python3
"""Writes an audit log of RECORDS records, with its chain, as many runs of three users would: for tests and measurements of what reads
it. The same arguments give the same log.

usage: generate_log.py RECORDS FILE [SEED]"""
import datetime
import hashlib
import json
import random
import sys

USERS = ("0", "1000", "1001")
PEOPLE = ("ana on tty", "ben on the page", "-2+3 on tty")
COMMANDS = ("npm ci", "pip install requests", "/usr/bin/curl -sS https://example.org/", "git fetch", "=cmd|calc x", "python3 build.py")
RULES = ("team:3: deny *.tracker.test", "user:12: allow *.registry.test", "project:7: allow https://api.test because \"our own\"")
NOW = datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.timezone.utc)


class Generator:
    def __init__(self, count, seed=1, now=NOW):
        self.random = random.Random(seed)
        self.count, self.now = count, now
        self.step = datetime.timedelta(days=14) / max(count, 1)
        self.time = now - datetime.timedelta(days=14)
        self.prev, self.seq = "0" * 64, 0
        self.hosts = [f"h{number}.d{number % 997}.registry.test" for number in range(4000)] + \
                     [f"ads{number}.tracker.test" for number in range(500)] + ["api.test", "xn--bcher-kva.test", "2001:db8::1"]

    def line(self, **members):
        """The next record, as gateway/audit/record.c writes it: (its members, its line)."""
        self.seq += 1
        self.time += self.step
        record = {"seq": self.seq, "time": self.time.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "mono": self.seq, **members, "prev": self.prev}
        body = json.dumps(record, separators=(",", ":"))
        self.prev = hashlib.sha256((self.prev + body).encode()).hexdigest()
        return record, f'{body[:-1]},"hash":"{self.prev}"}}\n'

    def run(self, number):
        name = f"{number:06x}"
        who = {"session": f"session-{number % 40}" if number % 3 else name, "run": name}
        user = USERS[number % len(USERS)]
        yield self.line(**who, event="start", user=user, host="machine", cwd="/srv", version="0.1.0", digest="0" * 64)
        for execution in range(1, self.random.randint(2, 4)):
            command = self.random.choice(COMMANDS)
            yield self.line(**who, exec=execution, event="exec_start", command=command)
            for _ in range(self.random.randint(5, 60)):
                yield from self.request(who, execution)
            yield self.line(**who, exec=execution, event="exec_end", status=0)
        yield self.line(**who, event="end", status=0)

    def request(self, who, execution):
        host = self.random.choice(self.hosts)
        what = {"way": "connect", "host": host, "protocol": "https", "port": 8443 if host == "api.test" else 443}
        program = {"program": "/usr/bin/node"} if self.random.random() < 0.3 else {}
        at = {**who, "exec": execution}
        if host.endswith("tracker.test"):
            yield self.line(**at, event="decision", **program, action="deny", reason="rule_deny", **what, rule=RULES[0])
            return
        chance = self.random.random()
        if chance < 0.05:
            reason = "prompt_timeout" if chance < 0.04 else "default_deny"
            yield self.line(**at, event="decision", **program, action="deny", reason=reason, **what, duration_ms=300000)
            return
        if chance < 0.06:
            yield self.line(**at, event="decision", **program, action="deny", reason="connect_refused", **what)
            return
        if chance < 0.1:
            yield self.line(**at, event="decision", **program, action="deny", reason="denied_once", by=self.random.choice(PEOPLE), **what)
            return
        if chance < 0.3:
            yield self.line(**at, event="decision", **program, action="allow", reason="granted_session", by=self.random.choice(PEOPLE), **what)
        else:
            yield self.line(**at, event="decision", action="allow", reason="rule_allow", **what,
                            rule=RULES[2] if host == "api.test" else RULES[1])
        yield self.line(**at, event="closed", program="/usr/bin/node", action="allow", reason="done", **what, resolved="192.0.2.7",
                        bytes_up=self.random.randint(100, 3000), bytes_down=self.random.randint(100, 90000),
                        duration_ms=self.random.randint(1, 900))

    def records(self):
        """(members, line) of each record."""
        number = 0
        while True:
            number += 1
            for made in self.run(number):
                if self.seq > self.count:
                    return
                yield made


def head(count, size, last):
    """The head of a log of @count records and @size bytes, whose last line is @last."""
    return f"sallyport-audit-head 1 {count:020d} {size:020d} {last.rstrip()[-66:-2]}".ljust(159) + "\n"


def main():
    generator = Generator(int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 1,
                          datetime.datetime.now(datetime.timezone.utc))
    with open(sys.argv[2], "w", encoding="ascii") as out:
        for _, line in generator.records():
            out.write(line)


if __name__ == "__main__":
    main()
