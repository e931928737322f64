#!/usr/bin/env python3
"""Policy lines for programs that are asked before people, in a session: all runs use its reviewer, and no run can write it.

usage: programs.py SALLYPORT reviewer|refused"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import session as sessions  # noqa: E402
from session import QUICK, until  # noqa: E402

# What only an agent asks; nobody has these programs.
OTHERS = "version 1\nhook /no/such/hook for exec patch\nreviewer /no/such/reviewer for permissions elicitation\n"
DENIES = r"""#!/bin/sh
while read -r line; do
	printf '%%s\n' "$line" >>%s
	id=${line#*'"id":"'}
	echo "{\"id\":\"${id%%%%\"*}\",\"answer\":\"deny\",\"reason\":\"read it\"}"
done
"""


class Programs(sessions.Sessions):
    """A session with a reviewer that denies, in a folder that runs cannot write, and that records its questions."""

    def __init__(self, sallyport):
        super().__init__(sallyport)
        self.judge, self.asked = self.top / "judges" / "judge", self.top / "asked"
        self.judge.parent.mkdir()
        self.judge.write_text(DENIES % self.asked)
        self.judge.chmod(0o755)
        self.policy = self.top / "rules"

    def begin(self, name, *options, status=0):
        """The folder of the session's runs."""
        run = subprocess.run([self.sallyport, "session", "start", "--audit", str(self.audit), "--policy", str(self.policy),
                              *options, name], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=QUICK)
        assert run.returncode == status, run
        return run.stderr

    def sheet(self):
        return next((self.top / "state/sallyport/reviewers").glob("*.json"), None)


def reviewer(world):
    """In shadow mode until it is trusted; then its answers count for the session."""
    world.policy.write_text(f'{OTHERS}reviewer "{world.judge}" for network exec\n')
    said = world.begin("work", "--prompt-timeout", "60s", "--verbose")
    assert said.count("no such questions are asked here") == 2 and "/no/such/hook" in said, said
    run = world.join("work", world.curl("one"))
    until(lambda: world.asked.exists() and world.asked.read_text(), QUICK, "it was not asked")
    world.sally("approve", "deny", world.question()["id"], check=True)
    assert run.wait(QUICK) == 0
    until(lambda: world.sheet() and json.loads(world.sheet().read_text())["agree_deny"], QUICK, "nothing was compared")
    world.session("end", "work")
    assert "may not answer yet" in world.begin("work", "--reviewer-mode", "answer", status=2)
    world.sheet().write_text(json.dumps(json.loads(world.sheet().read_text()) | {"agree_allow": 50, "agree_deny": 50}))
    world.begin("work", "--reviewer-mode", "answer")
    for name in ("two", "three"):
        assert world.join("work", world.curl(name)).wait(QUICK) == 0
    told = [(record["exec"], record["reason"]) for record in world.events("decision")]
    assert told[1:] == [(1, "denied_review"), (2, "denied_review")] and world.destination.came == 0, told
    for options in (["--write", str(world.judge.parent)], ["--sandbox", "danger-full-access"]):
        run = world.join("work", "touch ran", *options)
        assert run.wait(QUICK) == 125 and "the session asks" in run.text("err"), (options, run.text("err"))
    world.policy.write_text(f'{OTHERS}reviewer /bin/cat for network\n')
    until(lambda: "a hook or a reviewer" in world.state("work")["policy_errors"], QUICK, "another counts from the next on")
    world.policy.write_text(f'version 1\nreviewer "{world.judge}" for network\nreviewer /bin/cat for exec\n')
    until(lambda: not world.state("work")["policy_errors"], QUICK, "those of other kinds may change")
    assert world.join("work", world.curl("four")).wait(QUICK) == 0
    assert world.events("decision")[-1]["reason"] == "denied_review" and world.destination.came == 0
    assert not (world.work / "ran").exists()


def refused(world):
    """With a program that cannot be trusted no session starts."""
    inside = world.work / "judge"
    inside.write_bytes(world.judge.read_bytes())
    inside.chmod(0o755)
    for lines, words in {f'reviewer "{inside}" for network\n': "could write",
                         f'reviewer "{world.top}/nowhere" for network\n': "there is no program",
                         f'reviewer "{world.judge}" for network\nreviewer /bin/cat for network\n': "there is another"}.items():
        world.policy.write_text(OTHERS + lines)
        assert words in world.begin("work", status=2), lines
    world.policy.write_text(f'{OTHERS}reviewer "{world.judge}" for network\n')
    assert "there is another" in world.begin("work", "--reviewer", "/bin/cat", status=2)
    world.policy.write_text(f'{OTHERS}reviewer "{inside}" for exec\n')  # is not asked, so it is theirs to write
    world.begin("work", "--reviewer", "/bin/cat")
    assert world.join("work", "touch ran").wait(QUICK) == 0 and (world.work / "ran").exists()


if __name__ == "__main__":
    sessions.Sessions = Programs
    sys.exit(sessions.main({"reviewer": reviewer, "refused": refused}))
