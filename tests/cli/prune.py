#!/usr/bin/env python3
"""`audit prune`: what it removes is what is older, and the chain of the rest is unbroken, while runs write, and where it is killed.

usage: prune.py SALLYPORT [NAME...]"""
import collections
import datetime
import json
import pathlib
import resource
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "flow")]
import audit  # noqa: E402
import generate_log  # noqa: E402
from records import expect  # noqa: E402
from world import World, enter_namespace, play_cases  # noqa: E402

NEXT = 120  # seconds
COUNT = 600


class Stage(audit.Stage):
    def fill(self, count=COUNT):
        super().fill(count)
        self.head = self.log.with_name("audit.jsonl.head")
        self.head.write_text(generate_log.head(count, self.log.stat().st_size, self.lines()[-1]))
        for path in (self.log, self.head):
            path.chmod(0o600)

    def lines(self):
        return self.log.read_text().splitlines()

    def middle(self, at):
        """A time, and the numbers of the records from the first on that is not older."""
        moment = datetime.datetime.strptime(self.ledger[at]["time"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(microsecond=0)
        bound = moment.strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        first = next(number for number, entry in enumerate(self.ledger) if entry["time"] >= bound)
        return (moment + datetime.timedelta(hours=3)).strftime("%Y-%m-%d %H:%M:%S"), [entry["seq"] for entry in self.ledger[first:]]

    def prune(self, at):
        time, kept = self.middle(at)
        removed = json.loads(self.lines()[0])["seq"]
        said = self.ask("prune", "--until", time)
        assert f"removed {kept[0] - removed} record" in said, (said, kept[0], removed)
        return kept

    def broken(self, words):
        done = self.run("audit", "verify", str(self.log))
        assert done.returncode == 1 and words in done.stderr, done


def the_oldest_are_removed(stage):
    stage.fill()
    stage.numbers()  # the index follows
    last = stage.lines()
    kept = stage.prune(COUNT // 2)
    expect(stage.numbers(), [*kept, COUNT + 1, COUNT + 2])
    expect(stage.lines()[:-2], last[kept[0] - 1:])
    told, signed = [json.loads(line) for line in stage.lines()[-2:]]
    expect(signed["event"], "checkpoint")  # sign.py says more
    expect((told["event"], told["times"], told["digest"]), ("pruned", kept[0] - 1, json.loads(last[kept[0] - 2])["hash"]))
    expect((told["first"], told["last"]), (stage.ledger[0]["time"], stage.ledger[kept[0] - 2]["time"]))
    assert f"unbroken, {len(kept) + 2} records" in stage.ask("verify", str(stage.log))
    expect((stage.log.stat().st_mode & 0o777, sorted(path.name for path in stage.log.parent.iterdir())),
           (0o600, ["audit", "audit.jsonl", "audit.jsonl.head", "bundle.key"]))
    # Once more: the record of the first time is kept as any other.
    kept = stage.prune(COUNT * 3 // 4)
    expect(stage.numbers(), [*kept, *range(COUNT + 1, COUNT + 5)])
    assert f"unbroken, {len(kept) + 4} records" in stage.ask("verify", str(stage.log))
    before = stage.log.read_bytes()
    assert "removed 0 records" in stage.ask("prune", "--until", "3650d")
    expect(stage.log.read_bytes(), before)
    assert "removed " in stage.ask("prune", "--until", "1s")
    expect([json.loads(line)["event"] for line in stage.lines()][-2:], ["pruned", "checkpoint"])
    stage.ask("verify", str(stage.log))


def the_log_gets_as_small_as_it_shall(stage):
    stage.fill()
    for size in (200, 64, 17):  # KiB
        before = stage.lines()
        stage.ask("prune", "--keep", f"{size}k")
        kept = stage.lines()
        assert stage.log.stat().st_size <= size << 10 < len("\n".join(before)), (size, stage.log.stat())
        expect(kept[:-2], before[len(before) - len(kept) + 2:])
        assert sum(len(line) + 1 for line in before[len(before) - len(kept) + 1:]) + 4096 > size << 10, "more was removed than necessary"
        expect([json.loads(line)["event"] for line in kept[-2:]], ["pruned", "checkpoint"])
        stage.ask("verify", str(stage.log))
    before = stage.log.read_bytes()
    assert "removed 0 records" in stage.ask("prune", "--keep", "1g")
    expect(stage.log.read_bytes(), before)
    time, kept = stage.middle(COUNT - 20)
    stage.ask("prune", "--keep", "1g", "--until", time)
    expect(json.loads(stage.lines()[0])["seq"], kept[0])
    for words in ([], ["--keep", "0"], ["--keep", "5q"]):
        expect(stage.run("audit", "prune", *words).returncode, 2)


def what_is_missing_without_a_record_is_found(stage):
    stage.fill()
    for _ in range(2):  # a log that never was pruned; one that was
        lines = stage.log.read_text().splitlines(keepends=True)
        stage.log.write_text("".join(lines[1:]))
        stage.broken(":1: the records before this one were removed, and no record says so")
        stage.log.write_text("".join(lines))
        stage.ask("verify", str(stage.log))
        stage.prune(COUNT // 2)
    lines = stage.log.read_text().splitlines(keepends=True)
    stage.log.write_text("".join(lines[:-2]))
    stage.broken("no record says so")
    stage.log.write_text("".join([lines[0].replace('"seq":', '"seq":1', 1), *lines[1:]]))
    stage.broken(":1: the record was edited")


def a_damaged_log_is_left_as_it_is(stage):
    stage.fill()
    lines = stage.log.read_text().splitlines(keepends=True)
    stage.log.write_text("".join([*lines[:50], *lines[51:]]))
    before = stage.log.read_bytes()
    done = stage.run("audit", "prune", "--until", "1s")
    assert done.returncode == 1 and ":51: " in done.stderr, done
    expect(stage.log.read_bytes(), before)
    assert stage.run("audit", "prune").returncode == 2 and stage.run("audit", "prune", "--until", "tomorrow").returncode == 2
    assert stage.run("audit", "prune", "--until", "1d", "--audit", "/nowhere").returncode == 3
    assert not pathlib.Path("/nowhere").exists()


def where_it_is_killed(stage):
    """After each of its steps the log is whole, and pruning goes on from there."""
    stage.fill()
    old, old_size = stage.log.read_text(), stage.log.stat().st_size
    kept = stage.prune(COUNT // 2)
    new, lines = stage.log.read_text(), stage.log.read_text().splitlines(keepends=True)[-2:]
    line = "".join(lines)
    both = generate_log.head(COUNT + 2, old_size + len(line), lines[-1])
    for text, what in ((old + line, "the record is written, and the old file has the name"), (new, "the new file has the name, and not its head")):
        stage.log.write_text(text)
        stage.head.write_text(both)
        stage.log.with_name("audit.jsonl.pruned").write_text("half")
        stage.ask("verify", str(stage.log))
        assert "removed " in stage.ask("prune", "--until", stage.middle(COUNT * 3 // 4)[0]), what
        stage.ask("verify", str(stage.log))
        expect([path.name for path in stage.log.parent.glob("*.pruned")], [])
        assert stage.numbers()[:1] > kept[:1], what
    # A log whose end was cut off is no such log.
    stage.log.write_text("".join(stage.log.read_text().splitlines(keepends=True)[:-1]))
    stage.broken("")
    assert stage.run("audit", "prune", "--until", "1s").returncode == 1


def where_the_disk_is_full(stage):
    stage.fill()
    before = stage.log.read_bytes(), stage.head.read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
    done = subprocess.run([stage.sallyport, "audit", "prune", "--until", stage.middle(20)[0]], cwd=stage.here, env=stage.env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=NEXT, preexec_fn=limit)
    assert done.returncode == 3 and "cannot write" in done.stderr, done
    expect((stage.log.read_bytes(), stage.head.read_bytes()), before)
    expect([path.name for path in stage.log.parent.glob("*.pruned")], [])


def while_runs_write(stage):
    """Two runs write to a log from which older records are removed all the time."""
    stage.fill()
    world = World(stage.sallyport)
    world.env["TZ"] = stage.env["TZ"]
    log = world.top / "state" / "sallyport" / "audit.jsonl"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    for path in (stage.log, stage.head):
        path.rename(log.with_name(path.name))
    script = 'for i in $(seq 60); do curl -s -o /dev/null "http://$i.test/"; sleep 0.02; done; exit 0'
    command = [world.sallyport, "run", "--no-tty", "--default", "deny", "--report", "none", "--", "sh", "-c", script]
    try:
        runs = [subprocess.Popen(command, cwd=world.work, env=world.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for _ in range(2)]
        times = iter(range(10, COUNT, 5))
        pruned = 0
        while any(run.poll() is None for run in runs):
            done = world.sally("audit", "prune", "--until", stage.middle(next(times, COUNT - 1))[0])
            assert done.returncode == 0, done
            pruned += " removed 0 " not in done.stdout
        said = [run.communicate(timeout=NEXT)[1] for run in runs]
        assert pruned > 1 and not any(said) and not any(run.returncode for run in runs), (pruned, said)
        world.sally("audit", "merge", str(log))
        done = world.sally("audit", "verify", str(log))
        assert done.returncode == 0 and done.stderr == "", done
        left = [json.loads(line) for line in log.read_text().splitlines()]
        expect([entry["seq"] for entry in left], list(range(left[0]["seq"], left[0]["seq"] + len(left))))
        made = collections.Counter((entry.get("run"), entry["event"]) for entry in left if entry["seq"] > COUNT)
        expect(sorted(count for (_, event), count in made.items() if event in ("start", "decision", "end")), [1, 1, 1, 1, 60, 60])
    finally:
        world.close(keep=False)


CASES = [the_oldest_are_removed, the_log_gets_as_small_as_it_shall, what_is_missing_without_a_record_is_found, a_damaged_log_is_left_as_it_is, where_it_is_killed,
         where_the_disk_is_full, while_runs_write]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
