#!/usr/bin/env python3
"""Checkpoints: what `audit verify --key` finds on a log that somebody without the key has changed, also when the log was signed again
later; where signing is killed, on a full disk, without a key, and by two runs at once.

usage: sign.py SALLYPORT [NAME...]"""
import ctypes
import errno
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys

import prune  # beside this file
from generate_log import head
from prune import NEXT
from records import expect
from world import World, enter_namespace, play_cases, until

CLONE_NEWNS = 0x20000
EACH = 20  # records before each checkpoint


class Stage(prune.Stage):
    """A log with two checkpoints, its last records: EACH + 1 and 2 * EACH + 2."""

    def fill(self, count=EACH):
        super().fill(count)
        self.key = self.ask("key").strip()
        self.sign()
        self.go_on(count)
        self.sign()

    def sign(self, **more):
        self.ask("merge", str(self.log), **more)

    def go_on(self, count):
        lines = self.lines()
        self.made.prev, self.made.seq = lines[-1][-66:-2], json.loads(lines[-1])["seq"]
        new = [self.made.line(run="7f3a9c", event="limit", kind="records", cause=f"more {number}")[1] for number in range(count)]
        self.put(lines + [line.rstrip("\n") for line in new])

    def put(self, lines):
        self.log.write_text("".join(line + "\n" for line in lines))
        last = lines[-1]
        self.head.write_text(head(json.loads(last)["seq"], self.log.stat().st_size, last))

    def forge(self, lines, number=1, prev="0" * 64):
        """Writes the records of @lines with a chain and a head that fit."""
        out = []
        for line in lines:
            body = re.sub(r'^{"seq":\d+', f'{{"seq":{number}', line[:-149]) + f',"prev":"{prev}"}}'
            prev = hashlib.sha256((prev + body).encode()).hexdigest()
            out.append(f'{body[:-1]},"hash":"{prev}"}}')
            number += 1
        self.put(out)

    def verify(self, status, words, *args, path=None):
        done = self.run("audit", "verify", "--key", self.key, *args, str(path or self.log))
        assert done.returncode == status and words in done.stdout + done.stderr, (status, words, done)
        return done.stdout


def without(lines, *numbers):
    return [line for number, line in enumerate(lines, 1) if number not in numbers]


def edited(lines, number):
    return [line.replace('"time":"2026', '"time":"2025') if at == number else line for at, line in enumerate(lines, 1)]


FIRST, SECOND = EACH + 1, 2 * EACH + 2
WRONG, UNSIGNED = "the signature of this checkpoint is wrong", " not signed"
PRUNED = '{"seq":1,"time":"2026-01-31T12:00:00.000000Z","mono":1,"event":"pruned","digest":"%s","prev":"' + "0" * 64 + '","hash":"' + "0" * 64 + '"}'


def removed_with_a_record(stage, lines):
    gone = lines[9][-66:-2]
    stage.forge([*lines[10:FIRST], *lines[FIRST:], PRUNED % gone], 11, gone)


# What is done to the file by somebody without the key, with a chain and a head that fit; the exit status, and what is said.
TAMPERINGS = {
    "nothing": (lambda stage, lines: stage.put(lines), 0, "signed by "),
    "a record is edited, and the chain is not": (lambda stage, lines: stage.put(edited(lines, 5)), 1, ":5: the record was edited"),
    "a record is edited": (lambda stage, lines: stage.forge(edited(lines, 5)), 1, f":{FIRST}: {WRONG}"),
    "the first record is edited": (lambda stage, lines: stage.forge(edited(lines, 1)), 1, WRONG),
    "the record before a checkpoint is edited": (lambda stage, lines: stage.forge(edited(lines, FIRST - 1)), 1, f":{FIRST}: {WRONG}"),
    "the time of a checkpoint is edited": (lambda stage, lines: stage.forge(edited(lines, SECOND)), 1, f":{SECOND}: {WRONG}"),
    "a record is removed": (lambda stage, lines: stage.forge(without(lines, 5)), 1, WRONG),
    "a record is repeated": (lambda stage, lines: stage.forge([*lines[:5], *lines[4:]]), 1, WRONG),
    "two records are exchanged": (lambda stage, lines: stage.forge([*lines[:4], lines[5], lines[4], *lines[6:]]), 1, WRONG),
    "a checkpoint is removed": (lambda stage, lines: stage.forge(without(lines, FIRST)), 1, WRONG),
    "a checkpoint stands for another": (lambda stage, lines: stage.forge([*lines[:SECOND - 1], lines[FIRST - 1]]), 1, WRONG),
    "a signature is edited": (lambda stage, lines: stage.forge([*lines[:-1], lines[-1].replace('"signature":"', '"signature":"A', 1)
                                                                .replace('==","prev', '=","prev')]), 1, "checkpoint"),
    "a signature is taken away": (lambda stage, lines: stage.forge([*lines[:-1], re.sub(r',"signature":"[^"]*"', "", lines[-1])]), 1,
                                  "this checkpoint is malformed"),
    "a member is added to a checkpoint": (lambda stage, lines: stage.forge([*lines[:-1], lines[-1].replace(',"oldest"', ',"x":1,"oldest"')]), 1,
                                          "this checkpoint is malformed"),
    "the chain is new from a record on": (lambda stage, lines: stage.forge(without(edited(lines, 30), SECOND)), 4, f"{EACH} records after it{UNSIGNED}"),
    "the chain is new from the first record on": (lambda stage, lines: stage.forge(without(edited(lines, 1), FIRST, SECOND)), 4, "no record is signed"),
    "the tail is cut": (lambda stage, lines: stage.put(lines[:SECOND - 1]), 4, f"{EACH} records after it{UNSIGNED}"),
    "the tail is cut to a record": (lambda stage, lines: stage.put(lines[:FIRST + 3]), 4, f"3 records after it{UNSIGNED}"),
    "a record is added": (lambda stage, lines: stage.forge([*lines, lines[3]]), 4, f"1 record after it{UNSIGNED}"),
    "the oldest records are removed": (lambda stage, lines: stage.put(lines[10:]), 1, "no record says so"),
    "the oldest records are removed, and a record says so": (removed_with_a_record, 1, "and not by `sallyport audit prune`"),
    # What the key alone cannot show, on a copy: see the next case.
    "the tail is cut to a checkpoint": (lambda stage, lines: stage.put(lines[:FIRST]), 0, "signed by "),
}


# Of these, what the machine of the log finds in any case.
CUT = ("the chain is new from a record on", "the tail is cut", "the tail is cut to a record", "the tail is cut to a checkpoint")


def each_tampering_is_found(stage):
    stage.fill()
    lines = stage.lines()
    expect([json.loads(line)["event"] for line in (lines[FIRST - 1], lines[-1])], ["checkpoint"] * 2)
    expect(len(lines), SECOND)
    for what, (change, status, words) in TAMPERINGS.items():
        change(stage, lines)
        try:
            copy = stage.here / "copy.jsonl"
            copy.write_bytes(stage.log.read_bytes())
            stage.verify(status, words, path=copy)
            if what in CUT:
                stage.verify(1, f"record {SECOND}, which this machine has signed, is missing")
            else:
                stage.verify(status, words)
            plain = stage.run("audit", "verify", str(stage.log))  # without a key: as without checkpoints
            assert plain.returncode == (status if "the chain is not" in what or what == "the oldest records are removed" else 0), plain
            assert plain.returncode or "not checked against a key" in plain.stdout or "no record is signed" in words, plain
        except AssertionError as why:
            raise AssertionError(what) from why


def the_machine_remembers_what_it_signed(stage):
    stage.fill()
    lines = stage.lines()
    stage.forge([*lines[:-1], *lines[3:5]])
    stage.verify(1, f":{SECOND}: this is not the record that this machine has signed last")
    # Another log is at this place, and is not signed yet.
    stage.forge(without(edited(lines, 1), FIRST, SECOND))
    expect(json.loads(stage.verify(4, "", "--json"))["signed"], {"checked": True, "unsigned": 2 * EACH, "replaced": True})
    assert "was moved away, removed or replaced" in stage.verify(4, "no record is signed")


def a_copy_and_the_public_key_are_enough(stage):
    stage.fill()
    copy = stage.here / "copy.jsonl"
    copy.write_bytes(stage.log.read_bytes())
    env = {**stage.env, "HOME": str(stage.here / "elsewhere"), "XDG_STATE_HOME": str(stage.here / "elsewhere")}
    key = ["--key", stage.key]

    def check(status, words, *args):
        done = subprocess.run([stage.sallyport, "audit", "verify", *args, str(copy)], env=env, capture_output=True, text=True, timeout=NEXT)
        assert done.returncode == status and words in done.stdout + done.stderr, (words, done)
        return done.stdout
    said = check(0, f"signed by {stage.key} up to {SECOND}:", *key)
    last = re.search(r" up to (\d+:[0-9a-f]{64})", said)[1]
    told = json.loads(check(0, "", *key, "--json"))["signed"]
    expect((told["checked"], told["unsigned"], told["key"], f'{told["seq"]}:{told["hash"]}', told["replaced"], told["unlinked"]),
           (True, 0, stage.key, last, False, False))
    expect(told["log"], json.loads(stage.lines()[0])["hash"])
    check(1, ".head is missing")
    # What is known from elsewhere finds a tail that was cut to a checkpoint.
    check(0, "", *key, "--expect", last)
    copy.write_text("".join(line + "\n" for line in stage.lines()[:FIRST]))
    check(0, "", *key)
    check(1, "the tail was cut", *key, "--expect", last)
    check(1, "not the expected record", *key, "--expect", f"5:{'0' * 64}")
    for words in (["--key", "ed25519:AAAA"], ["--key", "x"], ["--expect", "5"], ["--expect", f"0:{'0' * 64}"], ["--expect", "5:xyz"]):
        check(2, "needs", *words)
    # Python's own reading of the signature, as the manual describes it.
    line = stage.lines()[-1]
    signed = b"sallyport-checkpoint-v1" + line[-140:-76].encode() + line[:line.index(',"signature":')].encode()
    public, signature = stage.here / "public", stage.here / "signature"
    public.write_bytes(bytes.fromhex("302a300506032b6570032100") + __import__("base64").b64decode(stage.key[8:]))
    signature.write_bytes(__import__("base64").b64decode(json.loads(line)["signature"]))
    message = stage.here / "message"
    message.write_bytes(signed)
    subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", public, "-rawin", "-in", message, "-sigfile", signature],
                   check=True, capture_output=True)


def what_was_changed_before_the_next_signature_is_found(stage):
    """The machine itself signs the log again, and remembers its last checkpoint."""
    def play(change, status, words, more=0):
        for path in stage.log.parent.rglob("*"):
            if path.is_file() and path.name != "bundle.key":
                path.unlink()
        stage.fill()
        change(stage.lines())
        if more:
            stage.go_on(more)
        stage.sign()
        stage.verify(status, words)
    play(stage.put, 0, f"up to {SECOND}:")
    play(stage.put, 0, f"up to {SECOND + 4}:", more=3)
    play(lambda lines: stage.forge(without(edited(lines, 30), SECOND)), 1, f"record {SECOND} was signed before this one")
    play(lambda lines: stage.forge(without(edited(lines, 30), SECOND)), 1, f"record {SECOND} was signed, and is no checkpoint here", more=40)
    play(lambda lines: stage.put(lines[:FIRST]), 1, f"record {SECOND} was signed before this one", more=3)
    play(lambda lines: stage.put(lines[:FIRST]), 1, f"record {SECOND} was signed, and is no checkpoint here", more=40)
    play(lambda lines: removed_with_a_record(stage, lines), 1, "and not by `sallyport audit prune`")
    play(lambda lines: stage.forge(without(edited(lines, 1), FIRST, SECOND)), 4, "was moved away, removed or replaced")


def a_pruned_log_is_signed(stage):
    stage.fill()
    stage.go_on(5)
    past, = (stage.log.parent / "audit").glob("checkpoint.*")
    files = (stage.log, stage.head, past)
    before = [path.read_bytes() for path in files]
    bound = stage.middle(EACH // 2)[0]
    assert "removed " in stage.ask("prune", "--until", bound)
    events = [json.loads(line)["event"] for line in stage.lines()]
    expect(events[-2:], ["pruned", "checkpoint"])
    stage.verify(0, "signed by ")
    after = [path.read_bytes() for path in files]
    tail = "".join(line + "\n" for line in stage.lines()[-2:]).encode()
    both = before[0] + tail
    last = tail.decode().splitlines()[-1]
    long_head = head(json.loads(last)["seq"], len(both), last).encode()
    # Where prune is killed: the files that it leaves; the next checkpoint fits in any case.
    for texts in ((both, before[1], before[2]), (both, long_head, before[2]), (both, long_head, after[2]), (after[0], long_head, after[2]), after):
        for path, text in zip(files, texts):
            path.write_bytes(text)
        stage.sign()
        stage.go_on(2)
        stage.sign()
        stage.verify(0, "signed by ")
    # And again, when the key cannot be used: nothing is removed.
    before = [path.read_bytes() for path in files]
    key = stage.log.parent / "bundle.key"
    key.chmod(0o644)
    done = stage.run("audit", "prune", "--until", "1s")
    assert done.returncode == 3 and "must belong to you" in done.stderr, done
    expect([path.read_bytes() for path in files], before)


def where_signing_is_killed(stage):
    stage.fill()
    past, = (stage.log.parent / "audit").glob("checkpoint.*")
    files = (stage.log, stage.head, past)
    stage.go_on(3)
    before = [path.read_bytes() for path in files]
    stage.sign()
    after = [path.read_bytes() for path in files]
    expect([old == new for old, new in zip(before, after)], [False] * 3)
    half = before[0] + after[0][len(before[0]):-100]
    for texts, words in ((before, UNSIGNED), ((half, before[1], before[2]), None), ((after[0], before[1], before[2]), "not counted in the head"),
                         ((after[0], after[1], before[2]), "signed by ")):
        for path, text in zip(files, texts):
            path.write_bytes(text)
        if words:
            stage.verify(4 if words == UNSIGNED else 0, words)
        stage.sign()
        stage.go_on(2)
        stage.sign()
        stage.verify(0, "signed by ")
    whole = [path.read_bytes() for path in files]
    for text in (b"", b"noise", after[2][:-1], after[2].replace(b" 1 ", b" 2 ", 1)):  # it is lost: the next one cannot name it
        for path, kept in zip(files, (*whole[:2], text)):
            path.write_bytes(kept)
        stage.go_on(2)
        stage.sign()
        number = json.loads(stage.lines()[-1])["seq"]
        said = stage.verify(4, f"checkpoint {number} does not name the one before it")
        assert UNSIGNED not in said, said
        stage.go_on(2)
        stage.sign()
        stage.verify(4, f"checkpoint {number} does not name the one before it")


def where_the_disk_is_full(stage):
    stage.fill()
    stage.go_on(3)
    size = stage.log.stat().st_size
    before = stage.log.read_bytes(), stage.head.read_bytes()
    for room in (0, 1, 300):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, size + room))
        done = subprocess.run([stage.sallyport, "audit", "merge", stage.log], env=stage.env, capture_output=True, text=True, timeout=NEXT,
                              preexec_fn=limit)
        assert done.returncode == 3 and "cannot be written" in done.stderr, done
        expect((stage.log.read_bytes(), stage.head.read_bytes()), before)
        stage.verify(4, f"3 records after it{UNSIGNED}")
    stage.sign()
    stage.verify(0, "signed by ")


def a_clock_that_is_put_back(stage):
    """The order is that of the numbers; a time is what the clock said."""
    stage.fill()
    stage.go_on(3)
    stage.forge([line.replace('"time":"2026', '"time":"2126') if number > SECOND else line for number, line in enumerate(stage.lines(), 1)])
    stage.sign()
    stage.verify(0, f"up to {SECOND + 4}:")
    before, last = (json.loads(line)["time"] for line in stage.lines()[-2:])
    assert last < before, (before, last)


def other_keys(stage):
    stage.fill()
    path = stage.log.parent / "bundle.key"
    first = stage.key
    path.rename(path.with_name("old.key"))
    stage.go_on(2)
    stage.sign()
    stage.verify(1, "signed by another key")
    second = stage.ask("key").strip()
    assert first != second
    expect(path.stat().st_mode & 0o777, 0o600)
    stage.verify(0, f"signed by {second}", "--key", second)
    path.write_text("no key")
    done = stage.run("audit", "key")
    assert done.returncode == 3 and "bundle.key" in done.stderr, done


class Live:
    """Real runs."""

    def __init__(self, stage):
        self.world = World(stage.sallyport)
        self.state = self.world.top / "state" / "sallyport"
        self.log, self.key_file = self.state / "audit.jsonl", self.state / "bundle.key"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.world.close(keep=False)

    def start(self, *command):
        return subprocess.Popen([self.world.sallyport, "run", "--no-tty", "--default", "deny", "--report", "none", "--", *command],
                                cwd=self.world.work, env=self.world.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run(self, *command):
        process = self.start(*command)
        said = process.communicate(timeout=NEXT)
        return process.returncode, *said

    def verify(self, status, words):
        key = self.world.sally("audit", "key").stdout.strip()
        done = self.world.sally("audit", "verify", "--key", key, str(self.log))
        assert done.returncode == status and words in done.stdout + done.stderr, done

    def last(self):
        return json.loads(self.log.read_text().splitlines()[-1])


def runs_sign_at_their_end(stage):
    with Live(stage) as live:
        status, _, err = live.run("cat", str(live.key_file))
        assert status != 0 and "key" in err, (status, err)
        expect(live.key_file.stat().st_mode & 0o777, 0o600)
        expect(live.last()["event"], "checkpoint")
        status, _, err = live.run("cat", str(live.key_file))  # it is there now, and hidden
        assert status != 0 and "No such file" in err or "denied" in err, err
        live.verify(0, "signed by ")
        # Two at once, and one that is killed.
        runs = [live.start("sh", "-c", 'for i in $(seq 30); do curl -s -o /dev/null "http://$i.test/"; done; exit 0') for _ in range(2)]
        for run in runs:
            expect((run.communicate(timeout=NEXT), run.returncode), (("", ""), 0))
        live.verify(0, "signed by ")
        run = live.start("sh", "-c", "curl -s -o /dev/null http://killed.test/; echo done; sleep 60")
        expect(run.stdout.readline(), "done\n")
        until(lambda: "killed.test" in live.log.read_text(), NEXT, "the record")
        os.kill(run.pid, signal.SIGKILL)
        run.communicate(timeout=NEXT)
        live.verify(4, UNSIGNED)
        expect(live.run("true"), (0, "", ""))
        expect(live.last()["event"], "checkpoint")
        live.verify(0, "signed by ")


def a_run_without_a_key_goes_on_and_says_so(stage):
    def mode(live):
        live.key_file.chmod(0o640)

    def noise(live):
        live.key_file.chmod(0o600)
        live.key_file.write_text("no key")

    def folder(live):
        live.key_file.unlink()
        live.key_file.mkdir()
    with Live(stage) as live:
        expect(live.run("true"), (0, "", ""))
        key = live.world.sally("audit", "key").stdout.strip()
        for damage, words in ((mode, "must belong to you"), (noise, "Ed25519"), (folder, "must belong to you")):
            damage(live)
            status, _, err = live.run("true")
            assert status == 0 and "records are not signed" in err and words in err, (status, err)
            last = live.last()
            assert last["event"] == "unsigned" and words in last["cause"], last
            done = live.world.sally("audit", "verify", "--key", key, str(live.log))
            assert done.returncode == 4 and UNSIGNED in done.stdout, done


def the_disk_is_full_when_a_run_ends(stage):
    assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0, "no mount namespace"
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    with Live(stage) as live:
        top = live.state.parent
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k,mode=700", "tmpfs", top], check=True)
        expect(live.run("true"), (0, "", ""))
        live.verify(0, "signed by ")
        run = live.start("sh", "-c", 'curl -s -o /dev/null http://first.test/; while [ ! -e go ]; do sleep 0.05; done; '
                                     'for i in $(seq 60); do curl -s -o /dev/null "http://$i.test/"; done; exit 0')
        until(lambda: "first.test" in live.log.read_text(), NEXT, "the record")
        filler = top / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
        (live.world.work / "go").touch()
        said = run.communicate(timeout=NEXT)[1]
        assert run.returncode == 0 and "records are not signed: the audit log" in said, (run.returncode, said)
        live.verify(4, UNSIGNED)
        filler.unlink()
        expect(live.run("true"), (0, "", ""))
        live.verify(0, "signed by ")
        subprocess.run(["umount", "-l", top], check=True)


CASES = [each_tampering_is_found, the_machine_remembers_what_it_signed, a_copy_and_the_public_key_are_enough, what_was_changed_before_the_next_signature_is_found,
         a_pruned_log_is_signed, where_signing_is_killed, where_the_disk_is_full, a_clock_that_is_put_back, other_keys, runs_sign_at_their_end,
         a_run_without_a_key_goes_on_and_says_so, the_disk_is_full_when_a_run_ends]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
