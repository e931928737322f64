#!/usr/bin/env python3
"""Destinations: questions while a command waits, grants together with it, denials, and their effect on the command.
usage: network.py SALLYPORT [CASE...]"""
import json
import os
import shutil
import threading

import harness
from world import until  # found by harness

GET = "curl -sS -m 60 -o /dev/null -w '%{http_code}' "


def stage_web(stage, *hosts):
    return [stage.web(host) for host in hosts]


def allowed_by_policy(stage):
    stage_web(stage, "a.test")
    stage.policy("allow http://a.test\n")
    client = stage.client()
    client.configure("never")
    end = client.run(GET + "http://a.test/")
    assert end["stdout"]["text"] == "200" and end["network"]["outcome"] == "nothing", end
    assert end["network"]["allowed"] == [{"host": "a.test", "protocol": "http", "port": 80}], end["network"]
    assert "first_attempt" not in end and "allowed_cut" not in end["network"]
    assert client.run("true")["network"]["allowed"] == []


def many_are_allowed(stage):
    server = stage.web("x.test")
    for n in range(70):
        stage.options += ["--resolve", f"n{n}.test:{server.address}"]
    stage.policy("allow http://**.test\n")
    client = stage.client()
    client.configure("never")
    end = client.run("for n in $(seq 0 69); do curl -sS -o /dev/null http://n$n.test/; curl -sS -o /dev/null http://n$n.test/; done")
    told = [destination["host"] for destination in end["network"]["allowed"]]
    assert end["exit_code"] == 0 and told == [f"n{n}.test" for n in range(64)], end
    assert end["network"]["allowed_cut"] is True


def asked_and_allowed_once(stage):
    server, = stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    assert question["kind"] == "network" and question["ids"] == [id], question
    assert question["destination"] == {"host": "a.test", "protocol": "http", "port": 80}, question
    assert len(server.requests) == 0
    told = client.next("approval_resolved", id=client.answer(question, "approved", confirmation=question.get("confirmation", "")))
    assert told["approval"] == question["approval"], told
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "200", end
    id = client.send("exec", script=GET + "http://a.test/")
    client.answer(client.next("approval_request"), "denied")  # once was once
    assert client.next("exec_end", id=id)["stdout"]["text"] == "403"


def what_warns_has_to_be_typed(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    assert question["risk"] == ["first_seen"] and question["confirmation"] == "a.test", question
    client.error(client.answer(question, "approved"), "refused")
    client.error(client.answer(question, "approved", confirmation="b.test"), "refused")
    client.answer(question, "approved", confirmation="a.test")
    assert client.next("exec_end", id=id)["stdout"]["text"] == "200"


def denied_and_reported(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request", on_denial="report")
    id = client.send("exec", script=GET + "http://a.test/; echo; echo went on")
    client.answer(client.next("approval_request"), "denied", message="not today")
    denied = client.next("network_denied", id=id)
    assert denied["destination"]["host"] == "a.test" and denied["by"] == "person", denied
    end = client.next("exec_end", id=id)
    # Never discarded because of a side request: it went well, and says what was blocked.
    assert end["status"] == "exited" and "went on" in end["stdout"]["text"], end
    assert end["network"]["outcome"] == "person" and end["network"]["blocked"] >= 1, end


def denied_and_failed(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request", on_denial="fail")
    id = client.send("exec", script=GET + "http://a.test/; echo went on")
    client.answer(client.next("approval_request"), "denied")
    end = client.next("exec_end", id=id)
    assert end["status"] == "denied" and "went on" in end["stdout"]["text"], end


def the_policy_says_what_a_denial_does(stage):
    stage_web(stage, "a.test")
    stage.policy("on-denial fail\n")
    client = stage.client()
    client.configure("on-request", on_denial="report")
    id = client.send("exec", script=GET + "http://a.test/; true", on_denial="report")
    client.answer(client.next("approval_request"), "denied")
    assert client.next("exec_end", id=id)["status"] == "denied"


def denied_to_another_process(stage):
    """A denial counts for the process that asked and for those beside and above it, not for one that failed by itself."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-failure")
    asks = ["import subprocess, sys, urllib.request", "test = subprocess.Popen([sys.executable, '-c', %r])",
            "try: urllib.request.urlopen('http://a.test/', timeout=60)", "except OSError: open('denied', 'w')", "sys.exit(test.wait())"]
    # The test runs all the while, fails when the other has been denied, and knows nothing of it.
    test = "import os, sys, time\nwhile not os.path.exists('denied'): time.sleep(0.01)\nsys.exit(3)"
    for _ in range(10):  # where the machine is too busy for the kernel's answer, it is not known which process asked
        (stage.work / "denied").unlink(missing_ok=True)
        id = client.send("exec", command=["python3", "-c", "\n".join(asks) % test], once=True)
        client.answer(client.next("approval_request", kind="network"), "denied")
        end = client.next("exec_end", id=id)
        if end["status"] == "exited":
            break
    assert (end["status"], end["exit_code"], len(end["attempts"])) == ("exited", 3, 1), end
    assert end["evidence"] == [] and [block["host"] for block in end["network"]["blocks"]] == ["a.test"] and end["network"]["outcome"] == "person", end
    (stage.work / "denied").unlink()
    # Its own denial, and that of a program that it started, count.
    own = "import sys, urllib.request\ntry: urllib.request.urlopen('http://a.test/', timeout=60)\nexcept OSError: sys.exit(3)"
    for script in (own, f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {own!r}]))"):
        id = client.send("exec", command=["python3", "-c", script])
        client.answer(client.next("approval_request", kind="network"), "denied")
        end = client.next("exec_end", id=id)
        assert (end["status"], end["exit_code"]) == ("denied", 3), end


def denied_and_stopped(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/; sleep 300", on_denial="stop")
    client.answer(client.next("approval_request"), "denied")
    end = client.next("exec_end", id=id)
    assert end["status"] == "denied" and end["network"]["outcome"] == "person", end


def earn_trust(stage):
    """The record of a reviewer that people have agreed with often enough; a first question creates its file."""
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    client.answer(question, "denied")
    client.next("task_complete", id=id)
    sheet, = until(lambda: list((stage.top / "state/sallyport/reviewers").glob("*.json")), 60, "the reviewer's answer is compared")
    client.hang_up()
    client.wait()
    counts = json.loads(sheet.read_text())
    counts["agree_allow"] = counts["agree_deny"] = 20
    sheet.write_text(json.dumps(counts))
    stage.options += ["--reviewer-mode", "answer"]


def denied_by_a_reviewer(stage):
    """It has the effect of a person's denial, and the client is told who denied."""
    server, = stage_web(stage, "a.test")
    own = stage.top / "reviewer.py"  # wherever this tree is: no command may write where it is decided
    shutil.copy(f"{harness.TOP}/docs/examples/reviewer.py", own)
    stage.options += ["--reviewer", f'"{own}" --deny a.test']
    earn_trust(stage)
    client = stage.client()
    client.configure("on-request", on_denial="fail")
    id = client.send("exec", script=GET + "http://a.test/; true")
    denied = client.next("network_denied", id=id)
    assert denied["by"] == "reviewer" and "data is left" in denied["because"], denied
    end = client.next("exec_end", id=id)
    assert end["status"] == "denied" and "data is left" in end["message"], end
    assert end["network"]["outcome"] == "person", end
    assert not server.requests


def denied_by_default(stage):
    """A destination that no answer could permit is not asked about, and stays denied."""
    stage_web(stage, "a.test")
    stage.policy("default deny\n")
    client = stage.client()
    client.configure("on-failure")
    end = client.run(GET + "-f http://a.test/")
    assert end["status"] == "denied" and len(end["attempts"]) == 1, end
    client.never("approval_request")


def never_mode_asks_nobody(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("never")
    end = client.run(GET + "http://a.test/")
    assert end["stdout"]["text"] == "403" and end["network"]["outcome"] == "policy", end
    denied = client.next("network_denied")
    assert (denied["by"], denied["reason"]) == ("policy", "no_approver"), denied
    client.never("approval_request")
    body = client.run("curl -sS -m 60 -H 'Accept: application/json' http://a.test/")["stdout"]["text"]
    assert json.loads(body)["reason"] == "no_approver" and "erson denied" not in body, body
    reasons = {record["reason"] for record in stage.records() if record.get("host") == "a.test"}
    assert reasons == {"no_approver"}, reasons


def the_environment_leads_to_the_gate(stage):
    """Variables that a client sets, for a session or a command, do not change the proxy; --env of the operator may."""
    stage_web(stage, "a.test")
    stage.policy("allow http://a.test\n")
    evil = {name: "http://50.0.0.250:1" for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy", "Http_Proxy",
                                                     "npm_config_proxy", "NPM_CONFIG_HTTPS_PROXY", "CARGO_HTTP_PROXY", "new_proxy")}
    evil |= {"NO_PROXY": "*", "no_proxy": "*", "npm_config_noproxy": "*", "NODE_USE_ENV_PROXY": "0", "SALLYPORT_SOCKET": "/nowhere",
             "GRADLE_OPTS": "-Dhttp.proxyHost=50.0.0.250", "MINE": "kept"}
    shown = "curl -sS -m 60 -o /dev/null -w '%{http_code}\n' http://a.test/ && env"
    client = stage.client("--env", "FTP_PROXY=socks5h://127.0.0.1:9")
    client.configure("never")
    client.configure("never", name="by-session", env=evil)
    expected = dict(line.split("=", 1) for line in client.run("env")["stdout"]["text"].splitlines())
    assert expected["FTP_PROXY"].endswith(":9"), expected
    for how in ({"env": evil}, {"session": "by-session"}, {"env": {name: None for name in evil}}):
        code, *lines = client.run(shown, **how)["stdout"]["text"].splitlines()
        got = dict(line.split("=", 1) for line in lines)
        assert code == "200", (how, lines)
        assert how.get("env", evil)["MINE"] == got.pop("MINE", None), got
        assert got.pop("GRADLE_OPTS").endswith(expected["GRADLE_OPTS"]), got
        assert {name: value for name, value in got.items() if name not in ("_", "SHLVL", "SALLYPORT_EXEC")} == \
            {name: value for name, value in expected.items() if name not in ("_", "SHLVL", "SALLYPORT_EXEC", "GRADLE_OPTS")}, how


def denied_by_nobody(stage):
    """A client that cannot ask anybody says so, and the denial is not reported or recorded as a person's."""
    server, = stage_web(stage, "a.test")
    client = stage.client()
    client.configure("untrusted")
    id = client.send("exec", script=GET + "http://a.test/")
    first = client.next("approval_request", kind="exec")
    client.error(client.answer(first, "approved", unasked=True), "malformed")
    client.answer(first, "approved")
    question = client.next("approval_request", kind="network")
    client.error(client.answer(question, "abort", unasked=True), "malformed")
    client.answer(question, "denied", unasked=True, message="nobody is here")
    denied = client.next("network_denied")
    assert (denied["by"], denied["reason"]) == ("nobody", "no_approver"), denied
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "403" and end["network"]["outcome"] == "no_answer", end
    assert end["network"]["text"] == "a.test: it needs approval, and nobody could be asked", end
    reasons = [record["reason"] for record in stage.records() if record.get("host") == "a.test"]
    assert reasons and "denied_once" not in reasons, reasons
    id = client.send("exec", command=["touch", "made"])
    client.answer(client.next("approval_request"), "denied", unasked=True, message="nobody is here")
    end = client.next("exec_end", id=id)
    assert (end["status"], end["by"], end["message"]) == ("rejected", "no_answer", "nobody is here"), end
    assert not server.requests


def given_up_at_the_end(stage):
    """A client gives up, and its command ends before the gate has noticed: the question counts as unanswered."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    for pause in ("0", "0.05", "0.3", "1.2"):
        id = client.send("exec", script=f"curl -sS -m 0.3 http://a.test/; sleep {pause}; exit 0")
        question = client.next("approval_request")
        end = client.next("exec_end", id=id)
        assert (end["status"], end["exit_code"]) == ("exited", 0), end
        assert end["network"]["outcome"] == "no_answer" and end["network"]["blocked"] == 1, end["network"]
        told = client.next("network_denied", id=id)
        assert told["by"] == "nobody" and told["reason"] in ("exec_ended", "client_left"), told
        assert "id" not in client.next("approval_resolved", approval=question["approval"])


def nobody_answers_in_time(stage):
    """A session's own time for questions applies to destinations, and only to its own commands."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request", name="patient")
    client.configure("on-request", name="short", limits={"question_ms": 700})
    other = client.send("exec", session="patient", script=GET + "http://a.test/")
    question = client.next("approval_request")
    assert question["remaining_ms"] > 100000, question
    id = client.send("exec", session="short", script=GET + "http://a.test/")
    told = client.next("network_denied", id=id)
    assert (told["reason"], told["by"]) == ("prompt_timeout", "nobody"), told
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "403" and end["network"]["outcome"] == "no_answer", end
    assert end["network"]["text"] == "a.test: it needs approval, and nobody answered in time", end
    client.answer(question, "approved", confirmation=question["confirmation"])
    assert client.next("exec_end", id=other)["stdout"]["text"] == "200"
    stage_web(stage, "b.test")
    client = stage.client()
    client.configure("on-request", limits={"question_ms": 700})
    id = client.send("exec", script=GET + "http://b.test/")
    question = client.next("approval_request")
    assert question["remaining_ms"] <= 700, question
    assert "id" not in client.next("approval_resolved", approval=question["approval"])
    assert client.next("exec_end", id=id)["stdout"]["text"] == "403"


def granular_without_network(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("granular", granular={"sandbox": True, "rules": True})
    end = client.run(GET + "http://a.test/", once=True)
    assert end["stdout"]["text"] == "403", end
    client.never("approval_request", kind="network", execs=[1], retry=None)


def the_clock_stands_still(stage):
    """A limit shorter than the question: the command is not timed out while the question is open."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/", timeout_ms=1500)
    question = client.next("approval_request")
    threading.Event().wait(3)
    client.answer(question, "approved", confirmation=question.get("confirmation", ""))
    end = client.next("exec_end", id=id)
    assert (end["status"], end["stdout"]["text"]) == ("exited", "200"), end
    attempt = end["attempts"][0]
    assert attempt["running_ms"] < attempt["duration_ms"], attempt


def the_yield_stands_still(stage):
    """A question does not send a command to the background either: its time stops while the question is open."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/", mode="background", yield_ms=2500)
    question = client.next("approval_request")
    threading.Event().wait(3)
    client.answer(question, "approved", confirmation=question["confirmation"])
    assert client.next("exec_end", id=id)["stdout"]["text"] == "200"
    client.never("background")


def granted_for_the_session(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    told = client.next("approval_resolved", id=client.answer(question, "approved_for_session", confirmation=question["confirmation"],
                                                              scope={"for": "session", "ports": "all"}))
    assert "a.test" in told["message"], told
    client.next("exec_end", id=id)
    assert client.run(GET + "http://a.test/")["stdout"]["text"] == "200"
    client.never("approval_request")


def a_retry_for_the_session(stage):
    """A destination that nobody answered for in time is asked about again by the retry: "for the session" is for all commands
    of it, "once" for this one."""
    server, = stage_web(stage, "a.test")
    stage.options += ["--prompt-timeout", "1s"]
    client = stage.client()
    client.configure("on-request")
    for decision in ("approved", "approved_for_session"):
        id = client.send("exec", script=GET + "-f http://a.test/")
        assert not client.next("approval_request").get("retry")  # nobody answers
        question = client.next("approval_request", retry=True)
        assert question["kind"] == "network" and question["accesses"][0]["name"] == "a.test", question
        client.answer(question, decision, confirmation=question.get("confirmation", ""))
        end = client.next("exec_end", id=id)
        assert end["stdout"]["text"] == "200" and len(end["attempts"]) == 2, end
    assert client.run(GET + "-f http://a.test/")["stdout"]["text"] == "200"
    client.never("approval_request")
    assert len(server.requests) == 3


def granted_for_a_while(stage):
    """An answer whose duration is not possible is refused, and the question stays open."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    for decision in ("approved", "always", "denied", "denied_always"):
        client.error(client.answer(question, decision, confirmation="a.test", expires_ms=1000), "malformed")
    both = {"scope": {"for": "session", "duration_ms": 1000}, "expires_ms": 1000}
    client.error(client.answer(question, "approved_for_session", confirmation="a.test", **both), "malformed")
    told = client.next("approval_resolved", id=client.answer(question, "approved_for_session", confirmation="a.test", expires_ms=1000))
    assert "for 1s" in told["message"] or "until" in told["message"], told
    client.next("exec_end", id=id)

    def is_asked_again():
        id = client.send("exec", script=GET + "http://a.test/")
        until(lambda: any(event.get("id") == id and event["type"] == "exec_end" or event["type"] == "approval_request"
                          for event in list(client.events)), 30, "neither asked nor ended")
        return any(event["type"] == "approval_request" for event in client.events)

    until(is_asked_again, 120, "it never ended")


def an_answer_is_its_sessions(stage):
    """An answer in one session does not apply to another; each session sees its own answers, and may revoke them."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request", name="one")
    client.configure("on-request", name="two")
    id = client.send("exec", script=GET + "http://a.test/", session="one")
    question = client.next("approval_request")
    client.answer(question, "approved_for_session", confirmation=question.get("confirmation", ""))
    client.next("exec_end", id=id)
    assert client.run(GET + "http://a.test/", session="one")["stdout"]["text"] == "200"
    client.never("approval_request")
    id = client.send("exec", script=GET + "http://a.test/", session="two")
    client.answer(client.next("approval_request"), "denied")
    assert client.next("exec_end", id=id)["stdout"]["text"] == "403"
    grants = client.next("listed", id=client.send("list", what="grants", session="one"))["items"]
    assert [(grant["source"], grant["scope"], grant["denial"]) for grant in grants] == [("gateway", "session", False)], grants
    assert "a.test" in grants[0]["text"] and client.next("listed", id=client.send("list", what="grants", session="two"))["items"] == []
    client.error(client.send("revoke", grant=grants[0]["grant"], session="two"), "unknown")
    client.next("accepted", id=client.send("revoke", grant=grants[0]["grant"], session="one"))
    id = client.send("exec", script=GET + "http://a.test/", session="one")
    client.answer(client.next("approval_request"), "denied_always", confirmation="")
    client.next("exec_end", id=id)
    for name in ("one", "two"):
        (kept,) = client.next("listed", id=client.send("list", what="grants", session=name))["items"]
        assert kept["scope"] == "always" and kept["denial"], kept
        client.error(client.send("revoke", grant=kept["grant"], session=name), "refused")
    client.error(client.send("revoke", grant="gateway-x", session="one"), "unknown")


def granted_with_the_command(stage):
    stage_web(stage, "a.test", "b.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/", sandbox_permissions="with_additional_permissions",
                     additional_permissions={"network": ["http://a.test:80"]})
    question = client.next("approval_request")
    assert question["kind"] == "exec" and question["accesses"][0]["name"] == "a.test", question
    assert question["confirmation"] == "a.test" and "never been allowed" in question["warning"], question
    for typed in ({}, {"confirmation": ""}, {"confirmation": "b.test"}, {"confirmation": "a.test b.test"}):
        client.error(client.answer(question, "approved", **typed), "refused")
    client.answer(question, "approved", confirmation="a.test")
    end = client.next("exec_end", id=id)
    assert end["stdout"]["text"] == "200", end
    client.never("approval_request")
    wanted = {"network": ["http://a.test:80", "http://c.test:80", "http://x.d.test:80", "http://y.d.test:80"]}
    id = client.send("exec", script=GET + "http://a.test/", sandbox_permissions="with_additional_permissions", additional_permissions=wanted)
    question = client.next("approval_request")
    assert question["confirmation"] == "c.test d.test" and "a.test" not in question["warning"], question  # each once, the known one not
    client.answer(question, "denied")
    client.next("exec_end", id=id)


def a_rule_is_proposed(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("propose_network_rule", destination="http://a.test:80", reason="the packages are there")
    question = client.next("approval_request")
    assert question["reason"] == "the packages are there" and question["destination"]["host"] == "a.test", question
    client.answer(question, "approved_for_session", confirmation=question.get("confirmation", ""))
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    assert client.run(GET + "http://a.test/")["stdout"]["text"] == "200"
    client.error(client.send("propose_network_rule", destination="no host/", reason="x"), "malformed")


def two_commands_one_question(stage):
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    ids = {client.send("exec", script=GET + "http://a.test/; exit $?") for _ in range(2)}
    question = client.next("approval_request")
    assert question["parent_processes"] in (["sh"], [os.path.basename(os.path.realpath("/bin/sh"))]), question
    if set(question["ids"]) != ids:
        question = client.next("approval_updated", approval=question["approval"])
    assert set(question["ids"]) == ids, question
    client.answer(question, "approved", confirmation=question.get("confirmation", ""))
    for id in ids:
        assert client.next("exec_end", id=id)["stdout"]["text"] == "200"
    client.never("approval_request")


def deferred(stage):
    """A command in the background is denied a destination later: its last event reports it."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request", on_denial="fail")
    id = client.send("exec", script="echo up; read x; " + GET + "http://a.test/; echo done", mode="background", yield_ms=50,
                     input=True)
    number = client.next("background", id=id)["exec"]
    client.next("accepted", id=client.send("write_input", exec=number, text="\n"))
    client.answer(client.next("approval_request"), "denied")
    end = client.next("exec_end", id=id)
    assert end["network"]["outcome"] == "person" and end["network"]["blocked"] >= 1, end
    client.next("task_complete", id=id)
    # If it fails, it counts as denied, with the refusals, as in the foreground.
    client.configure("never", name="fails")
    script = "read x; curl -sSf -m 60 http://a.test/ || touch %s/no || exit 7" % stage.top
    for how in ({}, {"mode": "background", "yield_ms": 1}):
        id = client.send("exec", session="fails", script=script, input=True, **how)
        number = client.next("background" if how else "exec_begin", id=id)["exec"]
        client.send("write_input", session="fails", exec=number, text="\n")
        end = client.next("exec_end", id=id)
        assert (end["status"], end["exit_code"]) == ("denied", 7), end
        assert [entry["what"] for entry in end["evidence"]] == ["write"] and end["network"]["blocks"], end
        client.next("task_complete", id=id, outcome="denied")


def deferred_denials(stage):
    """A denial after the result has the same effect as before; a cancel by the client is a different end."""
    stage_web(stage, "a.test")
    for on_denial, status in (("report", "exited"), ("fail", "denied"), ("stop", "denied"), ("cancel", "cancelled")):
        client = stage.client()
        client.configure("on-request", on_denial="stop" if on_denial == "cancel" else on_denial)
        script = "read x; " + GET + "http://a.test/; " + ("exit 0" if on_denial in ("report", "fail") else "sleep 300")
        id = client.send("exec", script=script, mode="background", yield_ms=1, input=True)
        number = client.next("background", id=id)["exec"]
        client.send("write_input", exec=number, text="\n")
        question = client.next("approval_request")
        if on_denial == "cancel":
            client.send("cancel", exec=number)
        else:
            client.answer(question, "denied")
        end = client.next("exec_end", id=id)
        assert end["status"] == status and client.next("task_complete", id=id)["outcome"] == status, (on_denial, end)
        assert status != "denied" or "a.test" in end["message"], end


def hangs_up_while_it_waits(stage):
    server, = stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    client.send("exec", script=GET + "http://a.test/")
    client.next("approval_request")
    client.hang_up()
    assert client.wait() == 0
    assert len(server.requests) == 0
    records = [record for record in stage.records() if record.get("host") == "a.test"]
    assert records and not any(record.get("action") == "allow" for record in records), records


def somebody_else_answers(stage):
    """`sallyport approve` is there as well: the first answer counts, and the client is told."""
    stage_web(stage, "a.test")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=GET + "http://a.test/")
    question = client.next("approval_request")
    answered = stage.sally("approve", "deny", question["approval"])
    assert answered.returncode == 0, answered.stderr
    told = client.next("approval_resolved", approval=question["approval"])
    assert "id" not in told and "denied" in told["message"], told
    client.error(client.answer(question, "approved", confirmation="a.test"), "unknown")
    assert client.next("exec_end", id=id)["stdout"]["text"] == "403"


def what_cannot_be_granted_is_not_asked(stage):
    """For a destination that a rule denies there is no question: the submission is refused with the reason."""
    server, = stage_web(stage, "a.test")
    stage.policy("deny a.test because \"not ours\"\ndeny b.test from \"npm\"\n")
    client = stage.client()
    client.configure("on-request")
    wishes = {"http://a.test:80": "deny a.test", "http://10.1.2.3:80": "private address"}
    for destination, words in wishes.items():
        extra = {"network": ["https://c.test:443", destination]}
        for type, members in (("exec", {"command": ["true"], "sandbox_permissions": "with_additional_permissions"}),
                              ("request_permissions", {})):
            id = client.send(type, additional_permissions=extra, **members)
            assert words in client.error(id, "refused"), (destination, type)
    client.never("task_started")
    client.never("approval_request")
    extra = {"network": ["http://b.test:80"]}
    id = client.send("exec", command=["npm", "ci"], sandbox_permissions="with_additional_permissions", additional_permissions=extra)
    assert "deny b.test" in client.error(id, "refused")
    for type, members in (("exec", {"command": ["true"], "sandbox_permissions": "with_additional_permissions"}),
                          ("request_permissions", {})):  # it may be for another command
        id = client.send(type, additional_permissions=extra, **members)
        client.answer(client.next("approval_request"), "denied")
        client.next("task_complete", id=id, outcome="rejected")
    assert not server.requests


CASES = [what_cannot_be_granted_is_not_asked, allowed_by_policy, many_are_allowed, asked_and_allowed_once, what_warns_has_to_be_typed, denied_and_reported, denied_and_failed,
         the_policy_says_what_a_denial_does,
         denied_to_another_process, denied_and_stopped, denied_by_a_reviewer, denied_by_default, never_mode_asks_nobody, denied_by_nobody, the_environment_leads_to_the_gate, given_up_at_the_end, nobody_answers_in_time, granular_without_network, the_clock_stands_still, the_yield_stands_still,
         granted_for_the_session, a_retry_for_the_session, granted_for_a_while, an_answer_is_its_sessions, granted_with_the_command, a_rule_is_proposed, two_commands_one_question, deferred, deferred_denials,
         hangs_up_while_it_waits, somebody_else_answers]

if __name__ == "__main__":
    harness.main(CASES)
