#!/usr/bin/env python3
"""`audit keep`: at the end of a run the log gets as short as the policy says, by a process that the run does not wait for.

usage: keep.py SALLYPORT [NAME...]"""
import ctypes
import datetime
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "flow")]
import generate_log  # noqa: E402
import prune  # noqa: E402
from records import NOW, expect  # noqa: E402
from world import enter_namespace, play_cases, until  # noqa: E402

NEXT = 120  # seconds
COUNT = 600
MANY = 4000  # records, of more than 1 MiB
CLONE_NEWNS = 0x20000
RUN = ["run", "--no-tty", "--default", "deny", "--report", "none", "--"]


def orphans_end():
    """The orphans of this test are its children."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


class Stage(prune.Stage):
    def begin(self, line, age, count=COUNT):
        """A user's policy, and a log of 14 days that ends @age days ago."""
        config = self.top / "home/.config/sallyport"
        config.mkdir(parents=True, exist_ok=True)
        (config / "policy").write_text(f"version 1\n{line}\n")
        self.made = generate_log.Generator(count, now=NOW - datetime.timedelta(days=age))
        pairs = list(self.made.records())
        self.ledger = [members for members, _ in pairs]
        self.log.write_text("".join(text for _, text in pairs))
        self.head = self.log.with_name("audit.jsonl.head")
        self.head.write_text(generate_log.head(count, self.log.stat().st_size, pairs[-1][1]))
        for path in (self.log, self.head):
            path.chmod(0o600)

    def play(self, *command):
        done = self.run(*RUN, *(command or ("true",)))
        assert done.returncode == 0 and done.stderr == "", done
        orphans_end()
        return self.check()

    def check(self):
        """The records of the log, which is whole."""
        self.ask("verify", str(self.log))
        expect([path.name for path in self.log.parent.glob("*.pruned")], [])
        found = [json.loads(line) for line in self.lines()]
        expect([entry["seq"] for entry in found], list(range(found[0]["seq"], found[0]["seq"] + len(found))))
        return found

    def first_after(self, days):
        bound = (NOW - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return next(entry["seq"] for entry in self.ledger if entry["time"] > bound)


def by_age(stage):
    stage.begin("audit keep 107d", 100)
    bound = stage.first_after(107)
    found = stage.play()
    assert abs(found[0]["seq"] - bound) <= 2, (found[0], bound)  # the test has lasted some seconds
    told, signed = found[-2:]
    expect((told["event"], told["times"], signed["event"]), ("pruned", found[0]["seq"] - 1, "checkpoint"))
    assert " removed these records with `audit keep` in the policy; " in told["cause"], told
    # What is older by less than a day stays for now.
    expect(stage.play()[0]["seq"], found[0]["seq"])


def by_size(stage):
    stage.begin("audit keep 1m 365d", 100, MANY)
    assert stage.log.stat().st_size > 1 << 20, "the log is too small for this test"
    found = stage.play()
    assert (3 << 18) < stage.log.stat().st_size <= (7 << 17), stage.log.stat()
    expect([entry["event"] for entry in found[-2:]], ["pruned", "checkpoint"])
    expect(stage.play()[0]["seq"], found[0]["seq"])


def without_a_line(stage):
    for line in ("default deny", "audit keep 365d", "audit keep 2m"):
        stage.begin(line, 100)
        expect(stage.play()[0]["seq"], 1)
    project = stage.here / ".sallyport"
    project.mkdir()
    (project / "policy").write_text("version 1\naudit keep 1d\n")
    stage.begin("default deny", 100)
    stage.run(*RUN, "true")
    orphans_end()
    expect(stage.check()[0]["seq"], 1)


def a_clock_that_was_set_back(stage):
    """Records of a later time are not old, nor are those behind them."""
    stage.begin("audit keep 1d", -20)
    expect(stage.play()[0]["seq"], 1)
    stage.log.write_text("")
    stage.head.unlink()


def while_another_run_writes(stage):
    stage.begin("audit keep 107d", 100)
    script = "echo begun; until test -e go; do sleep 0.1; done; for i in 1 2 3; do curl -s -o /dev/null http://$i.test/; done; exit 0"
    other = subprocess.Popen([stage.sallyport, *RUN, "sh", "-c", script], cwd=stage.here, env=stage.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    expect(other.stdout.readline(), "begun\n")
    done = stage.run(*RUN, "true")
    assert done.returncode == 0, done
    # Its process cannot be waited for alone.
    until(lambda: json.loads(stage.lines()[0])["seq"] > 1, NEXT, "the shorter log")
    (stage.here / "go").touch()
    _, err = other.communicate(timeout=NEXT)
    assert other.returncode == 0 and err == "", err
    orphans_end()
    found = stage.check()
    runs = [entry["run"] for entry in found if entry["event"] == "start" and entry["seq"] > COUNT]
    expect(len(set(runs)), 2)
    for run in runs:
        expect([entry["event"] for entry in found if entry.get("run") == run and entry["event"] in ("start", "end")], ["start", "end"])
    expect(sum(entry["event"] == "decision" for entry in found if entry["seq"] > COUNT), 3)


def when_the_daemon_ends(stage):
    stage.begin("audit keep 107d", 100)
    daemon = subprocess.Popen([stage.sallyport, "proxy", "--listen", "127.0.0.1:0", "--no-tty", "--report", "none"], cwd=stage.here, env=stage.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert "127.0.0.1:" in daemon.stderr.readline()
    daemon.terminate()
    assert daemon.wait(NEXT) == 0, daemon.stderr.read()
    daemon.stderr.close()
    orphans_end()
    assert stage.check()[0]["seq"] > 1


def where_the_disk_is_full(stage):
    """The log stays as it is, until there is room."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(CLONE_NEWNS) == 0, os.strerror(ctypes.get_errno())
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    where = stage.log.parent
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", str(where)], check=True)
    try:
        stage.begin("audit keep 112d", 100, MANY)
        room, filler = os.statvfs(where), where / "filler"
        filler.write_bytes(bytes(room.f_bavail * room.f_bsize - (512 << 10)))
        expect(stage.play()[0]["seq"], 1)
        filler.unlink()
        found = stage.play()
        assert found[0]["seq"] > 1, found[0]
    finally:
        subprocess.run(["umount", "-l", str(where)], check=True)


CASES = [by_age, by_size, without_a_line, a_clock_that_was_set_back, while_another_run_writes, when_the_daemon_ends, where_the_disk_is_full]


def main():
    enter_namespace()
    return play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
