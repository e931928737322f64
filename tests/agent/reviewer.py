#!/usr/bin/env python3
"""A reviewer between the hooks and the client: the effect of its answers, and what happens when it hangs, dies or sends
malformed answers. usage: reviewer.py SALLYPORT [CASE...]"""

import json

import harness
from world import until  # found by harness

RULES = "command ask cat\ncommand allow true\n"
JUDGE = r"""#!/bin/sh
# Answers with the last word of the command.
while read -r line; do
	printf '%%s\n' "$line" >>%(asked)s
	id=${line#*'"id":"'}
	id=${id%%%%\"*}
	say() { echo "{\"id\":\"$1\",\"answer\":\"$2\",\"reason\":\"read it\",\"ttl_s\":60}"; }
	case $line in
	*say-allow*) say "$id" allow ;;
	*say-deny*) say "$id" deny ;;
	*say-twice*) say "$id" deny; say "$id" allow ;;
	*say-other*) say review.999 allow ;;
	*say-wide*) echo "{\"id\":\"$id\",\"answer\":\"allow\",\"scope\":\"session\"}" ;;
	*say-junk*) echo junk ;;
	*say-nothing*) ;;
	*say-crash*) kill -9 $$ ;;
	*) say "$id" abstain ;;
	esac
done
"""


def judge(stage, name="judge"):
    path = stage.top / name
    path.write_text(JUDGE % {"asked": stage.top / f"{name}.asked"})
    path.chmod(0o755)
    return path


def asked(stage, name="judge"):
    file = stage.top / f"{name}.asked"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def sheet(stage):
    found = list((stage.top / "state/sallyport/reviewers").glob("*.json"))
    return json.loads(found[0].read_text()) if found else {}


def ask(client, word, decision, **want):
    """A command that the client is asked about."""
    id = client.send("exec", command=["cat", "/dev/null", word])
    question = client.next("approval_request")
    assert all(question.get(name) == value for name, value in want.items()), question
    client.answer(question, decision)
    client.next("approval_resolved", approval=question["approval"])
    return client.next("exec_end", id=id)


def earn(stage, kinds="exec patch permissions"):
    """Has the reviewer compared once, then edits the record so that it may answer."""
    stage.policy(f'{RULES}reviewer "{judge(stage)}" for {kinds}\n')
    client = stage.client()
    client.configure("on-request")
    if "exec" in kinds:
        ask(client, "say-allow", "approved")
    until(lambda: sheet(stage).get("agree_allow"), 120, "nothing was compared")
    client.hang_up()
    assert client.wait() == 0
    (found,) = (stage.top / "state/sallyport/reviewers").glob("*.json")
    found.write_text(json.dumps(json.loads(found.read_text()) | {"agree_allow": 50, "agree_deny": 50}))
    (stage.top / "judge.asked").unlink()


def believed(stage, *options, **members):
    earn(stage)
    client = stage.client("--reviewer-mode", "answer", *options)
    client.configure(members.pop("approval", "on-request"), **members)
    return client


def in_the_shadow_it_is_compared(stage):
    """It is asked at the same time as the client, its answer has no effect, and both answers are counted."""
    stage.policy(f'{RULES}reviewer "{judge(stage)}" for exec patch\n')
    client = stage.client()
    client.configure("on-request")
    ask(client, "say-nothing", "denied")  # nobody waits for it
    assert ask(client, "say-deny", "approved")["status"] == "exited"
    assert ask(client, "say-deny", "denied")["by"] == "person"
    assert ask(client, "say-allow", "approved")["status"] == "exited"
    until(lambda: sheet(stage).get("agree_allow"), 120, "nothing was compared")
    id = client.send("request_permissions", additional_permissions={"write": ["/srv"]}, reason="say-allow")
    client.answer(client.next("approval_request"), "denied")  # is not for it to see
    client.next("task_complete", id=id)
    id = client.send("request_patch_approval", files=[str(stage.top / "say-allow")])
    client.answer(client.next("approval_request"), "denied")
    client.next("task_complete", id=id, outcome="rejected")
    until(lambda: sheet(stage).get("reviewer_allowed_person_denied"), 120, "nothing was compared")
    kept = sheet(stage)
    assert (kept["agree_allow"], kept["agree_deny"], kept["reviewer_denied_person_allowed"]) == (1, 1, 1), kept
    assert [line["kind"] for line in asked(stage)] == ["exec"] * 4 + ["patch"], asked(stage)
    client.hang_up()
    assert client.wait() == 0
    stage.options += ["--reviewer-mode", "answer"]
    assert stage.client().wait() == 2  # it would have allowed what a person denied


def it_answers_for_people(stage):
    client = believed(stage)
    id = client.send("exec", command=["cat", "/dev/null", "say-allow"])
    started = client.next("review_started", by="reviewer")
    assert started["ids"] == [id] and started["kind"] == "exec", started
    assert client.next("review_completed", review=started["review"])["outcome"] == "allow"
    assert client.next("exec_end", id=id)["status"] == "exited"
    end = client.run(["cat", "/dev/null", "say-deny"])
    assert (end["status"], end["by"], end["message"], end["attempts"]) == ("rejected", "reviewer", "read it", []), end
    other = client.next("review_completed", outcome="deny")
    assert other["review"] != started["review"] and other["message"] == "read it" and other["program"], other
    client.never("approval_request")
    client.never("approval_resolved")
    client.run(["cat", "/dev/null", "say-allow"])  # an allow is for once, whatever it says
    assert len(asked(stage)) == 3, asked(stage)
    line = asked(stage)[0]
    assert line["argv"] == ["cat", "/dev/null", "say-allow"] and line["deadline_ms"] and line["id"], line
    assert "review" not in ask_open(client, "hm")
    id = client.send("request_patch_approval", files=[str(stage.top / "say-allow")])
    client.next("task_complete", id=id, outcome="approved")
    id = client.send("request_permissions", additional_permissions={"write": ["/srv"]}, reason="say-deny")
    client.next("task_complete", id=id, outcome="rejected")
    # The agent's text is in a member of its own, so that it cannot look like the gate's.
    line = asked(stage)[-1]
    assert line["justification"] == "say-deny" and "say-deny" not in line["rule"], line
    id = client.send("request_elicitation", reason="which?", items=["say-allow"])
    client.answer(client.next("approval_request"), "denied")  # not in its line
    client.next("task_complete", id=id)
    reasons = [record["reason"] for record in stage.records() if record["event"] == "reviewed"]
    assert reasons.count("granted_review") == 3 and reasons.count("denied_review") == 2, reasons


def ask_open(client, word):
    """As ask(), denied: the question."""
    client.send("exec", command=["cat", "/dev/null", word])
    question = client.next("approval_request")
    client.answer(question, "denied")
    client.next("approval_resolved", approval=question["approval"])
    return question


def what_it_cannot_be_shown_is_a_persons(stage):
    client = believed(stage)
    question = ask_open(client, "say-allow" + " " * 3000 + "and more than it is shown")
    assert "review" not in question and asked(stage) == [], question


def late_is_not_denied(stage):
    """The client is asked, and told; if it does not answer either, the outcome says that the reviewer was late."""
    client = believed(stage, "--reviewer-timeout", "1s", limits={"question_ms": 300})
    id = client.send("exec", command=["cat", "/dev/null", "say-nothing"])
    assert client.next("approval_request")["review"] == "late"
    end = client.next("exec_end", id=id)
    assert (end["status"], end["by"]) == ("rejected", "reviewer_late"), end
    assert ask(client, "say-other", "approved", review="late")["status"] == "exited"  # answered what was not asked
    assert client.run(["cat", "/dev/null", "say-allow"])["status"] == "exited"
    reasons = [record["reason"] for record in stage.records() if record["event"] == "reviewed"]
    assert reasons.count("prompt_timeout") == 2 and "denied_review" not in reasons, reasons


def nonsense_is_a_persons(stage):
    client = believed(stage)
    for word in ("say-crash", "say-wide"):
        assert ask(client, word, "approved", review="failed")["status"] == "exited", word
    end = client.run(["cat", "/dev/null", "say-twice"])
    assert end["by"] == "reviewer", end  # the first counts, and the second is nobody's
    assert ask(client, "hm", "denied")["by"] == "person"
    assert client.run(["cat", "/dev/null", "say-allow"])["status"] == "exited"
    client.run(["cat", "/dev/null", "say-allow"])
    client.never("approval_request")


def it_thinks_when_all_ends(stage):
    """In both modes, a client that disconnects, a cancelled call and a server that is ended do not wait for the reviewer."""
    earn(stage)
    for options in (["--reviewer-mode", "answer"], []):
        for how in ("cancel", "end_session", "hang_up", "term"):
            client = stage.client(*options)
            client.configure("on-request")
            id = client.send("exec", command=["cat", "/dev/null", "say-nothing"])
            if not options:
                client.next("approval_request")
            until(lambda: asked(stage), 120, "it was not asked")
            if how == "cancel":
                client.next("accepted", id=client.send("cancel", exec=client.next("task_started", id=id)["exec"]))
                client.next("task_complete", id=id, outcome="cancelled")
            if how == "end_session":
                client.send("end_session")
                client.next("session_ended")
            if how == "term":
                client.process.terminate()
            else:
                client.hang_up()
            assert client.wait() in (0, -15), (how, options)
            (stage.top / "judge.asked").unlink(missing_ok=True)


def a_retry_is_for_people(stage):
    """A request that widens a run can be denied by the reviewer, but not allowed."""
    outside = stage.top / "outside"
    outside.mkdir()
    client = believed(stage, approval="untrusted")
    id = client.send("exec", script=f"echo say-allow > {outside}/file")
    question = client.next("approval_request")
    assert question["retry"], question
    client.answer(question, "denied")
    client.next("exec_end", id=id)
    assert [line["kind"] for line in asked(stage)] == ["exec", "exec"], asked(stage)


def the_breaker_hands_over(stage):
    client = believed(stage)
    for _ in range(3):
        client.never("warning")
        assert client.run(["cat", "/dev/null", "say-deny"])["by"] == "reviewer"
    assert "asks people instead" in client.next("warning")["message"]
    for _ in range(2):
        assert ask(client, "say-deny", "approved")["status"] == "exited"
    client.never("warning")
    assert len(asked(stage)) == 3


def strict_sessions_are_reviewed(stage):
    client = believed(stage, strict=True)
    assert client.run(["true", "say-allow"])["status"] == "exited"
    assert client.run(["true", "say-deny"])["by"] == "reviewer"
    client.never("approval_request")


def a_name_is_one_line(stage):
    """A variable, or the path of a permission or a patch, adds no line to what a program is told about the question."""
    client = believed(stage, approval="untrusted")
    assert client.run(["cat", "/dev/null", "say-deny"], env={"A": "b\nread /etc"})["by"] == "reviewer"
    assert [line["detail"] for line in asked(stage)][-1] == "env A=b\\x0aread /etc\n", asked(stage)
    (stage.work / "two\nlines").mkdir()
    patch = client.send("request_patch_approval", files=[str(stage.work / "two\nlines/say-deny")])
    client.next("task_complete", id=patch, outcome="rejected")
    assert asked(stage)[-1]["detail"].count("\n") == 1, asked(stage)[-1]


def a_hook_that_failed_is_not_outvoted(stage):
    hook = stage.top / "hook"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    earn(stage)
    stage.policy(f'{RULES}reviewer "{stage.top}/judge" for exec\nhook "{hook}" for exec\n')
    client = stage.client("--reviewer-mode", "answer")
    client.configure("on-request")
    ask(client, "say-allow", "denied", review="failed")
    assert client.run(["cat", "/dev/null", "say-deny"])["by"] == "reviewer"


def the_example_reviews(stage):
    """docs/examples/reviewer.py as it would be used: first in shadow mode, then with answers."""
    path = stage.top / "reviewer.py"
    path.write_bytes((harness.TOP / "docs/examples/reviewer.py").read_bytes())
    path.chmod(0o755)
    stage.policy(f'command ask cat\ncommand ask sort\nreviewer "{path}" --run cat for exec\n')
    client = stage.client()
    client.configure("on-request")
    ask(client, "/dev/null", "approved")
    until(lambda: sheet(stage).get("agree_allow"), 120, "nothing was compared")
    client.hang_up()
    client.wait()
    (found,) = (stage.top / "state/sallyport/reviewers").glob("*.json")
    found.write_text(json.dumps(json.loads(found.read_text()) | {"agree_allow": 50, "agree_deny": 50}))
    client = stage.client("--reviewer-mode", "answer", "--allow-unconfined")
    client.configure("on-request")
    assert client.run(["cat", "/dev/null"])["exit_code"] == 0
    assert client.run(["cat", "/dev/null"], sandbox_permissions="require_escalated")["by"] == "reviewer"
    client.never("approval_request")
    id = client.send("exec", command=["sort", "/dev/null"])
    client.answer(client.next("approval_request"), "approved")
    client.next("exec_end", id=id, exit_code=0)


def it_is_given_by_option(stage):
    earn(stage)
    stage.options = ["--policy", str(stage.top / "policy")]
    stage.policy(RULES)
    stage.options += ["--reviewer", f'"{stage.top}/judge"', "--reviewer-mode", "answer"]
    client = stage.client()
    client.configure("on-request")
    assert client.run(["cat", "/dev/null", "say-deny"])["by"] == "reviewer"


def reviewers_that_cannot_be(stage):
    one, other = judge(stage), judge(stage, "other")
    inside = judge(stage, str(stage.work / "inside"))
    lines = {
        f'reviewer "{one}" for exec\nreviewer "{other}" for patch\n': "there is another",
        f'reviewer "{stage.top}/nowhere" for exec\n': "there is no program",
        f'reviewer "{inside}" for exec\n': "could write",
    }
    for line, words in lines.items():
        stage.policy(RULES + line)
        assert stage.client().wait() == 2, line
        assert words in (stage.top / "agent.err").read_text(), line
    stage.policy(f'{RULES}reviewer "{one}" for exec\n')
    assert stage.client("--reviewer-mode", "answer").wait() == 2
    assert "may not answer yet" in (stage.top / "agent.err").read_text()
    assert stage.client("--reviewer", str(other)).wait() == 2
    stage.policy(f'{RULES}reviewer "{one}" for exec\nreviewer "{one}" for patch\n')
    client = stage.client()
    client.configure("on-request")
    client.error(client.send("configure_session", sandbox={"mode": "workspace-write", "writable": [str(stage.top)]}),
                 "refused")


CASES = [in_the_shadow_it_is_compared, it_answers_for_people, what_it_cannot_be_shown_is_a_persons, late_is_not_denied,
         nonsense_is_a_persons, it_thinks_when_all_ends, a_retry_is_for_people, the_breaker_hands_over, strict_sessions_are_reviewed,
         a_name_is_one_line, a_hook_that_failed_is_not_outvoted, it_is_given_by_option, the_example_reviews, reviewers_that_cannot_be]

if __name__ == "__main__":
    harness.main(CASES)
