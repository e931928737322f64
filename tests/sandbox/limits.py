#!/usr/bin/env python3
"""limits: `limit KIND N` of a policy holds, and a message names a limit that was reached. All attacks here are small.

usage: limits.py SALLYPORT [CASE...]"""
import json
import pathlib
import resource
import subprocess
import sys

from harness import NO_SANDBOX, Skip, main, must

PIDS_LEAST = 301  # of the kernel's pid_max, which is what counts of root


def policy(user, *lines):
    path = user.file(user.base / f"{abs(hash(lines))}.policy", "".join(line + "\n" for line in lines))
    return ["--policy", path]


def inside(world, user, script, lines=(), want=0, report="text"):
    """stdout and stderr of @script under a policy of @lines."""
    done = world.run(user, ["sh", "-c", script], [*(policy(user, *lines) if lines else []), "--report", report])
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    must(want is None or done.returncode == want, f"exit {done.returncode}, not {want}:", out, err)
    return out, err


def limit_of(what, limits):
    """The hard limit in /proc/PID/limits."""
    return int(next(line for line in limits.splitlines() if line.startswith(f"Max {what}")).removeprefix(f"Max {what}").split()[1])


def processes(world, user):
    bomb = "i=0; while [ $i -lt 600 ]; do sleep 60 & i=$((i + 1)); echo $i; done"
    out, _ = inside(world, user, bomb, ["limit processes 40"], want=None)
    most = PIDS_LEAST if user.uid == 0 else 40
    must(0 < int(out.split()[-1]) <= most, "processes:", out.split()[-1])
    out, _ = inside(world, user, "cat /proc/self/limits", ["limit processes 40"])
    must(limit_of("processes", out) == 40, out)
    # More than the default, where a policy says so; and a line that gives more takes nothing from one that gives less.
    out, _ = inside(world, user, "cat /proc/sys/kernel/pid_max", ["limit processes 9000", "limit processes 500"])
    must(int(out) == 500 or int(out) > 30000, out)


def tmp(world, user):
    fill = "for d in /tmp /run /dev/shm; do head -c 3000000 /dev/zero > $d/full 2>/dev/null && echo all of it; wc -c < $d/full; done"
    out, _ = inside(world, user, fill, ["limit tmp 1m"])
    must(len(out.split()) == 3 and all(int(size) <= 1 << 20 for size in out.split()), out)
    out, _ = inside(world, user, "df -k --output=size /tmp | tail -n 1", ["limit tmp 12345k"])
    must(12340 <= int(out) <= 12348, out)


def files(world, user):
    out, _ = inside(world, user, "ulimit -Sn; ulimit -Hn; ulimit -n 4096 2>/dev/null || echo held", ["limit files 50"])
    must(out.split() == ["50", "50", "held"], out)


def groups_left():
    """Control groups that a gate which has ended left behind."""
    return [str(path) for path in pathlib.Path("/sys/fs/cgroup").glob("**/sallyport-*") if path.is_dir()
            and not pathlib.Path(f"/proc/{path.name.split('-')[1]}").exists()]


def memory(world, user):
    """tail(1) keeps a line of 300 MB: with a control group the command is killed, otherwise tail cannot allocate it. Both are reported."""
    bomb = "head -c 300000000 /dev/zero | tail -n 1 | wc -c"
    done = world.run(user, ["sh", "-c", bomb], [*policy(user, "limit memory 64m"), "--report", "text"])
    err = done.stderr.decode(errors="replace")
    must(done.stdout.strip() in (b"", b"0"), done.stdout)
    if "the limit on memory is measured" not in err:
        must(done.returncode == 137 and "the command reached limit memory" in err and "was killed" in err, done.returncode, err)
    out, _ = inside(world, user, "head -c 30000000 /dev/zero | tail -n 1 | wc -c", ["limit memory 64m"])
    must(int(out) == 30000000, out)
    must(not groups_left(), groups_left())


MANY = """import os, time
if os.fork() == 0:
    time.sleep(300)
kept = [bytearray(b"x") * 20000000]
for _ in range(5):
    if os.fork() == 0:
        kept.append(bytearray(b"y") * 20000000)
        time.sleep(300)
time.sleep(300)"""
SHARED = "import mmap, time; m = mmap.mmap(-1, 150000000); [m.write(bytes(1000000)) for _ in range(150)]; time.sleep(300)"
FILES = "import time; [open(f'/tmp/{i}', 'wb').write(bytes(15000000)) for i in range(8)]; time.sleep(300)"
LITTLE = "import os, time; [os.fork() for _ in range(3)]; kept = bytearray(b'x') * 1000000; time.sleep(2); print('done')"


def memory_without_a_group(world, user):
    """Where no control group can be made, as in most containers, init measures all processes together: their own memory, shared memory and files in /tmp."""
    hide = ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c",
            'mount -t tmpfs none /sys/fs/cgroup || exit 77; exec "$@"', "sh"]
    for script, want in ((MANY, 137), (SHARED, 137), (FILES, 137), (LITTLE, 0)):
        argv = world.argv(["/usr/bin/python3", "-c", script], [*policy(user, "limit memory 96m", "limit tmp 500m"), "--report", "text"])
        done = subprocess.run([*hide, *argv], cwd=user.work, env=user.environment(), capture_output=True, text=True, timeout=240, **user.ids())
        if done.returncode == 77 or "unshare" in done.stderr:
            raise Skip(done.stderr.strip())
        must(done.returncode == want, script, f"exit {done.returncode}", done.stdout, done.stderr)
        is_said = "the command used more memory than it may" in done.stderr and "the command reached limit memory" in done.stderr
        must(is_said == (want == 137) and "the limit on memory is measured" in done.stderr, done.stderr)


def full(world, user):
    """A file system that was full is named at the end, also when it is not full any more."""
    fill = "head -c 3000000 /dev/zero > /tmp/full 2>/dev/null; "
    for rest in ("true", "sleep 3; rm /tmp/full"):
        _, err = inside(world, user, fill + rest, ["limit tmp 1m"])
        must("the command reached limit tmp 1048576" in err, rest, err)
    _, err = inside(world, user, "echo > /tmp/small", ["limit tmp 1m"])
    must("reached limit" not in err, err)


def small_files(world, user):
    """A limit on the size of files that is too low for the gate is an error with words, at every step of the start."""
    for size in (0, 512, 4096, 8192):
        done = world.run(user, ["true"], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        must(done.returncode == NO_SANDBOX and b"File too large" in done.stderr, size, done.returncode, done.stderr)


def defaults(world, user):
    """Without a line: the default limits are sufficient for real builds."""
    out, _ = inside(world, user, "cat /proc/self/limits; df -k --output=size /tmp | tail -n 1")
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1])
    size = out.split()[-1]
    must(limit_of("processes", out) <= 8192, out)
    must(0.29 < int(size) / memory < 0.31, out, memory)


def priority(world, user):
    """A user's rights to raise priorities, as for sound, are not the command's: it could keep what watches it from running."""
    before = {kind: resource.getrlimit(kind) for kind in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE)}
    try:
        for kind in before:
            resource.setrlimit(kind, (30, 30))
    except (ValueError, PermissionError):
        pass  # not as root of the machine: the limits are 0 already, as a rule
    try:
        out, _ = inside(world, user, "cat /proc/self/limits; nice -n 5 true")
    finally:
        for kind, (soft, hard) in before.items():
            resource.setrlimit(kind, (soft, hard))
    must(limit_of("realtime priority", out) == limit_of("nice priority", out) == 0, out)


def dry_run(world, user):
    done = world.run(user, ["true"], [*policy(user, "limit processes 77", "limit tmp 2m"), "--dry-run"])
    must(b"limits     processes 77 tmp 2097152" in done.stdout, done.stdout.decode())


def records(world, user):
    """Denials behind the limit are counted, and the log and the report say that it was so."""
    log = user.base / "records.jsonl"
    script = "for i in 1 2 3 4 5 6 7 8 9; do curl -s -o /dev/null http://a.test/; done"
    done = world.run(user, ["sh", "-c", script],
                     [*policy(user, "limit records 2"), "--audit", log, "--report", "text"])
    records = [json.loads(line) for line in log.read_text().splitlines()]
    limits = [record for record in records if record["event"] == "limit"]
    must(len(limits) == 1 and limits[0]["kind"] == "records" and "limit records 2" in limits[0]["cause"], limits)
    must(b"the command reached limit records 2" in done.stderr, done.stderr.decode())


cases = [(function.__name__, function) for function in (processes, tmp, full, files, small_files, memory, memory_without_a_group, defaults, priority, dry_run, records)]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
