#!/usr/bin/env python3
"""What the server of a client says when it ends: its report, its exit status, and the file of unanswered questions.
usage: ends.py SALLYPORT [CASE...]"""
import json
import subprocess

import harness
from world import until  # found by harness

GET = "curl -sS -m 60 -o /dev/null -w '%{http_code}' "


def begin(stage, *options, approval="on-request", **session):
    """A client of a server whose standard error is kept in a file, with a session."""
    client = stage.client(*options, stderr=open(stage.top / "said", "wb"))
    client.configure(approval, **session)
    return client


def ends(stage, client, status):
    """The client disconnects; returns what its server has printed."""
    client.hang_up()
    said = client.wait(), (stage.top / "said").read_text()
    assert said[0] == status, said
    return said[1]


def a_report(stage):
    stage.web("a.test")
    stage.policy("allow http://a.test\ndeny http://b.test\ncommand deny rm\n")
    client = begin(stage, "--report", "json", approval="never")
    for _ in range(2):
        assert client.run(GET + "http://a.test/")["stdout"]["text"] == "200"
    assert client.run(GET + "http://b.test/")["stdout"]["text"] == "403"
    assert client.run(["rm", "x"])["status"] == "rejected"
    report = json.loads(ends(stage, client, 0))
    assert (report["end"], report["exit_status"]) == ("exited", 0) and report["duration_ms"] > 0, report
    found = {trip["host"]: (trip["allowed"], trip["denied"]) for trip in report["destinations"]}
    assert found == {"a.test": (2, 0), "b.test": (0, 1)}, report
    assert report["requests"] == {"denied": 1, "unanswered": 0}, report


def a_report_as_text(stage):
    stage.web("a.test")
    stage.policy("allow http://a.test\n")
    for options in (["--report", "text"], ["--report", "none"], []):
        client = begin(stage, *options, approval="never")
        client.run(GET + "http://a.test/")
        said = ends(stage, client, 0)
        assert ("1 destination, " in said and "http://a.test" in said) == (options[1:] == ["text"]), (options, said)
        assert said or options[1:] != ["text"], options


def each_client_has_a_report(stage):
    """With a socket the server goes on, and prints the report of each client."""
    folder = stage.top / "folder"
    folder.mkdir(mode=0o700)
    stage.policy("allow http://a.test\n")
    server = stage.client("--socket", str(folder / "socket"), "--report", "json", stderr=open(stage.top / "said", "wb"))
    until((folder / "socket").exists, harness.PATIENCE, "it listens")
    for count in (1, 2):
        client = stage.client(connect=folder / "socket")
        client.configure("never")
        client.run("true")
        client.hang_up()
        until(lambda: (stage.top / "said").read_text().count('"exit_status":0') == count, harness.PATIENCE, f"{count} reports")
    server.process.terminate()
    assert server.wait() == 0


def an_answered_question_is_no_failure(stage):
    stage.web("a.test")
    stage.policy("command ask cat\n")
    client = begin(stage, "--fail-on-ask", "--fail-on-deny")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    client.answer(question, "approved", confirmation="a.test")
    assert client.next("exec_end", id=id)["stdout"]["text"] == "200"
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "approved")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    assert ends(stage, client, 0) == ""


def an_unanswered_destination(stage):
    """Nobody could be asked about it: the client says so, or the session asks nothing."""
    for approval in ("on-request", "never"):
        client = begin(stage, "--default", "ask", f"--fail-on-ask={stage.top / 'asked'}", approval=approval)
        id = client.send("exec", script=GET + "http://a.test/")
        if approval == "on-request":
            client.answer(client.next("approval_request"), "denied", unasked=True)
        assert client.next("exec_end", id=id)["stdout"]["text"] == "403"
        said = ends(stage, client, 78)
        assert "--fail-on-ask: the exit status is 78 instead of 0" in said and "not answered: 1" in said, said
        shown = subprocess.run([stage.sallyport, "approve", "bundle", stage.top / "asked"], env=stage.env, capture_output=True, text=True)
        assert shown.returncode == 0 and "http://a.test" in shown.stdout, shown
    record = stage.records()[-1]
    assert record["event"] == "end" and record["status"] == 78, record


def an_unanswered_command(stage):
    stage.policy("command ask cat\n")
    client = begin(stage, "--fail-on-ask", "--report", "json", limits={"question_ms": 100})
    assert client.run(["cat", "/dev/null"])["status"] == "rejected"
    report = json.loads(ends(stage, client, 78))
    assert report["requests"] == {"denied": 0, "unanswered": 1}, report
    assert (report["exit_status"], report["command_status"]) == (78, 0), report
    client = begin(stage, "--report", "json", limits={"question_ms": 100})
    client.run(["cat", "/dev/null"])
    assert json.loads(ends(stage, client, 0))["requests"]["unanswered"] == 1


def a_denial(stage):
    stage.web("a.test")
    stage.policy("command ask cat\n")
    for request in ({"script": GET + "http://a.test/"}, {"command": ["cat", "/dev/null"]}):
        client = begin(stage, "--fail-on-deny", "--fail-on-ask")
        id = client.send("exec", **request)
        client.answer(client.next("approval_request"), "denied")
        client.next("exec_end", id=id)
        said = ends(stage, client, 77)
        assert "--fail-on-deny: the exit status is 77 instead of 0" in said, said
        assert ("commands, patches and permissions denied: 1, not answered: 0" in said) == ("command" in request), said


def options(stage):
    folder = stage.top / "folder"
    folder.mkdir(mode=0o700)
    for option in ("--fail-on-ask", "--fail-on-deny", f"--bundle={stage.top / 'asked'}", "--metrics=127.0.0.1:0"):
        run = stage.sally("agent", "--socket", str(folder / "socket"), option)
        assert run.returncode == 2 and "--socket serves several" in run.stderr, run
    run = stage.sally("agent", "--bundle", str(stage.top / "none/asked"))
    assert run.returncode == 125 and "cannot write" in run.stderr, run


CASES = [a_report, a_report_as_text, each_client_has_a_report, an_answered_question_is_no_failure, an_unanswered_destination,
         an_unanswered_command, a_denial, options]

if __name__ == "__main__":
    harness.main(CASES)
