#!/usr/bin/env python3
"""`sallyport doctor`: what it says is what `run` does on the same machine, and its last line can be typed.

usage: doctor.py SALLYPORT"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

TIMEOUT_S = 120
SALLYPORT = str(pathlib.Path(sys.argv[1]).resolve())


def run(top, words, before=(), **variables):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(top), "TMPDIR": str(top), "XDG_RUNTIME_DIR": str(top), "LANG": "C.UTF-8", **variables}
    (top / "work").mkdir(exist_ok=True)
    return subprocess.run([*before, SALLYPORT, *words], env=environment, cwd=top / "work", capture_output=True, text=True, timeout=TIMEOUT_S)


def must(condition, *words):
    if not condition:
        raise AssertionError(" ".join(str(word) for word in words))


def as_run(top):
    """The same probe as a run's, in text and in JSON."""
    said = run(top, ["doctor", "--json"])
    finding = json.loads(said.stdout)
    must(said.returncode == 0 and finding["holds"] and finding["exit_status"] == 0, said)
    probe = finding["probe"]
    done = run(top, ["run", "--no-tty", "--report", "none", "--json", "--", "true"])
    own = json.loads(done.stderr.splitlines()[-1])["probe"]
    must((probe["grade"], probe["tried"]) == (own["grade"], own["tried"]), probe, own)
    must(finding["kernel"] == os.uname().release and finding["landlock"] >= 0, finding)
    text = run(top, ["doctor"])
    must(text.returncode == 0 and f"{len(probe['tried'])} ways out of the sandbox were tried" in text.stdout, text)
    for way, reason in probe["not_tried"].items():
        must(f"{way} was not tried: {reason}\n" in text.stdout, way, text.stdout)
    must("\x1b" not in text.stdout and text.stderr == "", text)
    must(text.stdout.splitlines()[-1] == "  sallyport run -- COMMAND", text.stdout)


def without_namespaces(top):
    """The cause and what to do are those of the run; what comes next is to try again."""
    before = ["unshare", "-Ur", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    done = run(top, ["run", "--no-tty", "--report", "none", "--", "true"], before)
    must(done.returncode == 125, done)
    cause = done.stderr.splitlines()[0].removeprefix("sallyport: ")
    said = run(top, ["doctor"], before)
    must(said.returncode == 125 and "problem sandbox" in said.stdout and cause in said.stdout, cause, said)
    must(said.stdout.splitlines()[-1] == "  sallyport doctor", said.stdout)
    finding = json.loads(run(top, ["doctor", "--json"], before).stdout)
    must(not finding["holds"] and finding["exit_status"] == 125 and cause in finding["notes"] and "probe" not in finding, finding)


def a_broken_policy(top):
    """It is no fault of the machine, and the file and line are named."""
    policy = top / "config" / "sallyport" / "policy"
    policy.parent.mkdir(parents=True)
    policy.write_text("version 1\nalow example.org\n")
    said = run(top, ["doctor"], XDG_CONFIG_HOME=str(top / "config"))
    must(said.returncode == 3 and f"{policy}:2:" in said.stdout, said)


def warnings_of_a_run(top):
    """They are notes, and the machine is not blamed for them."""
    said = run(top, ["doctor"], GITHUB_TOKEN="x")
    must(said.returncode == 0 and "  note    " in said.stdout and "GITHUB_TOKEN" in said.stdout, said)


def to_a_full_disk(top):
    with open("/dev/full", "w") as full:
        done = subprocess.run([SALLYPORT, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(top), "TMPDIR": str(top), "XDG_RUNTIME_DIR": str(top)})
    must(done.returncode == 3 and "cannot write to standard output: No space left on device" in done.stderr, done)


CASES = [as_run, without_namespaces, a_broken_policy, warnings_of_a_run, to_a_full_disk]


def main():
    passed = failed = 0
    for case in CASES:
        top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-doctor-", dir="/var/tmp"))
        try:
            case(top)
            passed += 1
        except (AssertionError, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError):
            failed += 1
            print(f"FAIL  {case.__name__}")
            traceback.print_exc(file=sys.stdout)
        finally:
            shutil.rmtree(top, ignore_errors=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
