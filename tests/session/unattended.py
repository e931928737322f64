#!/usr/bin/env python3
"""Jobs that join one session without an approver: their exit status, their bundles, and signed answers.

usage: unattended.py SALLYPORT status|bundles"""
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import session as sessions  # noqa: E402
from session import QUICK, Destination, reap, until  # noqa: E402

ASKED = 78
JOBS = 20


def job(world, name, script, *options):
    return world.join(name, script, "--no-tty", *options)


def curl(destination):
    return f"curl -sS -m 25 http://{destination.address}/ > /dev/null"


def bundle(world, name):
    path = world.work / name
    assert path.stat().st_mode & 0o777 == 0o600
    return json.loads(path.read_text())


def status(world):
    """--fail-on-ask applies to one run: other runs wait for an approver as before."""
    world.start("work", "--prompt-timeout", "60s")
    asks = curl(world.destination) + "; exit 4"
    waits = job(world, "work", world.curl("waits"))
    world.question()
    fails = job(world, "work", asks, "--fail-on-ask", "--json=2", "--report", "none")  # the same question
    assert fails.wait(QUICK) == ASKED, fails.text("err")
    result = json.loads(fails.text("err").splitlines()[-1])
    assert (result["exit_status"], result["command_status"]) == (ASKED, 4), result
    assert [record["reason"] for record in world.events("decision")] == ["no_approver"], "the other was denied, too"
    assert job(world, "work", "exit 4", "--fail-on-ask").wait(QUICK) == 4
    asked = world.question()
    assert asked["command_count"] == 1, asked
    world.sally("approve", "allow", "--scope", "session", "--confirm", asked["typed"], asked["id"], check=True)
    assert waits.wait(QUICK) == 0 and world.destination.came == 1
    assert job(world, "work", asks, "--fail-on-ask").wait(QUICK) == 4, "somebody has answered"
    watch = subprocess.Popen([world.sallyport, "approve", "watch", "--session", "work", "--json"], env=world.env, cwd=world.work,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert json.loads(watch.stdout.readline())["event"] == "run_began"
    far = Destination(world.new_address())
    answered = job(world, "work", f"{curl(far)}; exit 4", "--fail-on-ask")  # there is an approver, so it waits
    asked = json.loads(watch.stdout.readline())["question"]
    world.sally("approve", "deny", asked["id"], check=True)
    assert answered.wait(QUICK) == 4, "a person's denial is an answer"
    left = job(world, "work", f"{curl(far)}; exit 4", "--fail-on-ask")
    world.question()
    watch.send_signal(signal.SIGTERM)  # the approver disconnects
    assert watch.wait(QUICK) == 0 and left.wait(QUICK) == ASKED, left.text("err")
    watch.stdout.close()
    doomed = job(world, "work", "while :; do sleep 0.05; done", "--fail-on-ask=lost.json")
    until(lambda: world.state("work")["runs"] == 1, QUICK, "it runs")
    os.kill(world.holder("work"), signal.SIGKILL)
    assert doomed.wait(QUICK) == 125 and "gate died" in doomed.text("err"), doomed.text("err")
    reap()


def bundles(world):
    """The bundle of each job, the bundle of all jobs, and the answers."""
    policy = world.top / "rules"
    policy.write_text("version 1\n")
    other = Destination(world.new_address())
    first, second = (f"http://{destination.address}:80" for destination in (world.destination, other))
    world.start("work", "--bundle", "all.json", "--policy", "rules")  # no run waits: there is no approver
    jobs = [job(world, "work", f"{curl(other if number % 2 else world.destination)}; exit 0", f"--fail-on-ask=job{number}.json")
            for number in range(JOBS)]
    for number, one in enumerate(jobs):
        assert one.wait(60) == ASKED, one.text("err")
        found = bundle(world, f"job{number}.json")
        assert [request["destination"] for request in found["requests"]] == [second if number % 2 else first], found
        assert found["requests"][0]["count"] == 1 and len(found["sources"]) == 1, found
    named = {bundle(world, f"job{number}.json")["sources"][0]["run"] for number in range(JOBS)}
    run = world.state("work")["run"]
    assert len(named) == JOBS and all(name.startswith(f"{run}.") for name in named), named
    alone = job(world, "work", curl(other), "--bundle", "alone.json")
    assert alone.wait(QUICK) == 0 and len(bundle(world, "alone.json")["requests"]) == 1, "--bundle alone changes no status"
    assert job(world, "work", "true", "--bundle", "alone.json").wait(QUICK) == 0
    assert bundle(world, "alone.json")["requests"] == [], "an empty one takes the place of the last"
    nowhere = job(world, "work", "touch ran", "--bundle", "none/x.json")
    assert nowhere.wait(QUICK) == 125 and not (world.work / "ran").exists(), nowhere.text("err")
    world.session("end", "work")
    whole = json.loads((world.top / "all.json").read_text())
    assert {request["destination"]: request["count"] for request in whole["requests"]} == \
        {first: JOBS / 2, second: JOBS / 2 + 1}, whole
    assert [(source["run"], source["session"]) for source in whole["sources"]] == [(run, "work")], whole
    key = world.top / "ana"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ana", "-f", key], check=True, timeout=QUICK)
    world.sally("approve", "bundle", "all.json", "--key", str(key), "--allow", first, "-o", "answers", check=True)
    refused = world.session("start", "--answers", "answers", "--policy", "rules", "work", status=125)
    assert "no `approver` line" in refused.stderr, refused
    policy.write_text(f'version 1\napprover ana "{(world.top / "ana.pub").read_text().strip()}"\n')
    refused = world.session("start", "--answers", "answers", "--policy", "rules", "work", status=3)
    assert "rules has changed" in refused.stderr, refused
    world.sally("policy", "trust", "rules", check=True)
    world.start("work", "--answers", "answers", "--policy", "rules")
    assert job(world, "work", curl(world.destination), "--fail-on-ask").wait(QUICK) == 0 and world.destination.came == 1
    assert world.events("decision")[-1]["by"] == "ana by bundle", world.events("decision")[-1]
    assert job(world, "work", curl(other), "--fail-on-ask").wait(QUICK) == ASKED and other.came == 0
    own = job(world, "work", "touch ran", "--answers", "answers")
    assert own.wait(QUICK) == 2 and "the session has this option" in own.text("err") and not (world.work / "ran").exists()
    world.session("end", "work")
    assert world.sally("audit", "verify", str(world.audit)).returncode == 0


if __name__ == "__main__":
    sys.exit(sessions.main({"status": status, "bundles": bundles}))
