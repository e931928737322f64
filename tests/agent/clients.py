#!/usr/bin/env python3
"""The clients of docs/examples, with typed input. usage: clients.py SALLYPORT [CASE...]"""
import json
import subprocess

import harness
from harness import TOP

# A process in front of the agent that records the lines of both directions.
BETWEEN = """#!/bin/sh
tee -a {said} | "{sallyport}" "$@" | tee -a {heard}
"""

TYPED = """echo hello
touch made
approved
touch refused
no
curl -sS -o /dev/null -w '%{http_code}' http://a.test/
approved
approved
a.test
exit 3
approved

"""


def talk(stage, *command):
    stage.web("a.test")
    between, said, heard = (stage.top / name for name in ("between", "said", "heard"))
    between.write_text(BETWEEN.format(said=said, heard=heard, sallyport=stage.sallyport))
    between.chmod(0o755)
    run = subprocess.run([*command, between, "--audit", str(stage.audit), *stage.options], input=TYPED, text=True,
                         capture_output=True, env=stage.env, cwd=stage.work, timeout=60)
    assert run.returncode == 0, run
    assert "hello\n[exited 0]\n" in run.stdout, run.stdout
    assert (stage.work / "made").exists() and not (stage.work / "refused").exists(), run.stdout
    assert "[rejected None]" in run.stdout or "[rejected null]" in run.stdout, run.stdout
    assert "? network:" in run.stdout and "200[exited 0]" in run.stdout.replace("\n", ""), run.stdout
    assert "[exited 3]" in run.stdout, run.stdout
    methods = {}
    sent, told = ([json.loads(line) for line in file.read_text().splitlines()] for file in (said, heard))
    assert len(sent) > 10 and len(told) > 10, (sent, told)
    for message in sent:
        harness.check("message", message)
        harness.check(f"submission-{message['method']}", message["params"])
        methods[message["id"]] = message["method"]
    for message in told:
        harness.events_of(message, methods)


def python(stage):
    talk(stage, "/usr/bin/python3", str(TOP / "docs/examples/agent.py"))


def node(stage):
    talk(stage, "node", str(TOP / "docs/examples/agent.mjs"))


if __name__ == "__main__":
    harness.main([python, node])
