#!/usr/bin/env python3
"""Which questions are asked in each approval mode, and what an answer permits. usage: approvals.py SALLYPORT [CASE...]"""

import json
import os
import pathlib
import subprocess
import tempfile
import time

import harness
from world import until  # found by harness

# Without /tmp, whose files other programs of this machine change while they are searched.
QUIET = {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True}
RULES = """command allow echo
command ask cat
command deny curl because "use the mirror"
"""


def outside(stage):
    folder = stage.top / "outside"
    folder.mkdir(exist_ok=True)
    return folder / "file"


def never_asks(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("never")
    end = client.run(["cat", "/dev/null"])
    assert (end["status"], end["by"]) == ("rejected", "rule") and end["attempts"] == [], end
    end = client.run(f"echo x > {outside(stage)}")
    assert end["status"] in ("denied", "rejected"), end
    client.never("approval_request")


def a_rule_that_denies(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    end = client.run(["curl", "http://a.test/"])
    assert end["status"] == "rejected" and "use the mirror" in end["message"], end
    client.never("approval_request")


def a_rule_that_asks(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null"], reason="to see nothing")
    question = client.next("approval_request")
    assert question["kind"] == "exec" and question["ids"] == [id] and question["command"] == ["cat", "/dev/null"], question
    assert question["reason"] == "to see nothing" and "approved" in question["decisions"], question
    client.never("exec_begin")
    told = client.next("approval_resolved", id=client.answer(question, "approved"))
    assert told["approval"] == question["approval"], told
    assert client.next("exec_end", id=id)["exit_code"] == 0


def denied_by_the_client(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    for decision, is_abort in (("denied", None), ("abort", True)):
        id = client.send("exec", command=["cat", "/dev/null"])
        client.answer(client.next("approval_request"), decision, message="not this one")
        end = client.next("exec_end", id=id)
        assert (end["status"], end["by"], end.get("abort")) == ("rejected", "person", is_abort), end
        assert end["attempts"] == [] and end["exit_code"] is None, end


def untrusted_asks_first(stage):
    client = stage.client()
    client.configure("untrusted")
    assert client.run(["ls"])["status"] == "exited"  # known to read only
    id = client.send("exec", command=["touch", "x"])
    client.answer(client.next("approval_request"), "approved")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    assert (stage.work / "x").exists()


def a_retry_is_its_own_question(stage):
    """An approval for once does not permit a weaker sandbox: the second run permits only what was refused, after another question."""
    file = outside(stage)
    client = stage.client()
    client.configure("untrusted")
    id = client.send("exec", script=f"echo x > {file}")
    first = client.next("approval_request")
    assert first["retry"] is False and first["confined"], first
    client.answer(first, "approved")
    second = client.next("approval_request")
    assert second["retry"] and second["approval"] != first["approval"], second
    assert any(access["what"] == "write" and str(file.parent) in access["name"] for access in second["accesses"]), second
    assert not file.exists()
    client.error(client.answer(first, "approved"), "unknown")  # late, and of another question
    client.answer(second, "approved")
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 0 and end["first_attempt"]["exit_code"] != 0 and end["attempt"] == 2, end
    assert file.read_text() == "x\n"
    # They are counted for each command, and the records have numbers of their own.
    begun = [client.next("exec_begin", id=id) for _ in range(2)]
    assert [one["attempt"] for one in begun] == [one["attempt"] for one in end["attempts"]] == [1, 2], begun
    assert [one["record_exec"] for one in begun] == [one["record_exec"] for one in end["attempts"]], begun
    id = client.send("exec", command=["touch", "made"])
    client.answer(client.next("approval_request"), "approved")
    begun.append(client.next("exec_begin", id=id))
    client.next("exec_end", id=id)
    assert begun[2]["attempt"] == 1, begun
    known = {record["exec"] for record in stage.records() if record.get("exec")}
    assert {one["record_exec"] for one in begun} <= known, (begun, known)


def a_retry_is_remembered(stage):
    """For the session or always, the answer names exactly what was widened: the next run begins with it, and can be taken back."""
    folder, other = stage.top / "outside", stage.top / "other"
    folder.mkdir()
    other.mkdir()
    stage.policy("")
    client = stage.client()
    client.configure("on-failure", sandbox=QUIET)
    id = client.send("exec", command=["touch", str(folder / "a")])
    question = client.next("approval_request", retry=True)
    assert {"approved_for_session", "always"} < set(question["decisions"]) and question["proposal"] == [f'write "{folder}"'], question
    assert "denied_always" not in question["decisions"], question
    client.answer(question, "approved_for_session")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    for argv in (["touch", str(folder / "b")], ["sh", "-c", f"echo x > {folder}/c"]):
        end = client.run(argv)
        assert end["exit_code"] == 0 and len(end["attempts"]) == 1, end
        assert str(folder) in end["sandbox"]["writable"], end
    client.never("approval_request")
    patch = client.send("request_patch_approval", files=[str(folder / "d")])
    assert client.next("task_complete", id=patch)["outcome"] == "approved"  # it is inside now
    id = client.send("exec", command=["touch", str(other / "a")])  # and nothing else is
    question = client.next("approval_request", retry=True)
    client.answer(question, "denied")
    client.next("exec_end", id=id)
    grant, = client.next("listed", id=client.send("list", what="grants"))["items"]
    assert (grant["text"], grant["denial"]) == (f"write {folder}", False), grant
    client.next("accepted", id=client.send("revoke", grant=grant["grant"]))
    id = client.send("exec", command=["touch", str(folder / "e")])
    client.answer(client.next("approval_request", retry=True), "denied")
    assert client.next("exec_end", id=id)["status"] == "rejected"


def a_retry_is_remembered_for_good(stage):
    """A folder or a single file becomes a line of the user's policy; what no line can express is not offered for good."""
    folder, single = stage.top / "outside", stage.top / "single"
    folder.mkdir()
    single.mkdir()
    (single / "file").write_text("x\n")
    (single / "a\"b").write_text("x\n")
    client = stage.client()
    client.configure("on-failure", sandbox=QUIET)
    id = client.send("exec", command=["cp", "/etc/hostname", f"{single}/a\"b"])
    question = client.next("approval_request", retry=True)
    assert "approved_for_session" in question["decisions"] and "always" not in question["decisions"], question
    client.answer(question, "denied")
    client.next("exec_end", id=id)
    id = client.send("exec", script=f"echo y > {single}/file")
    question = client.next("approval_request", retry=True)
    assert question["proposal"] == [f'write "{single}/file"'], question
    client.answer(question, "always")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    id = client.send("exec", script=f"echo z > {single}/file && mv {single}/file {single}/other")
    client.answer(client.next("approval_request", retry=True), "denied")  # the file, and nothing beside it
    client.next("exec_end", id=id)
    assert (single / "file").read_text() == "z\n" and not (single / "other").exists()
    id = client.send("exec", command=["touch", str(folder / "a")])
    client.answer(client.next("approval_request", retry=True), "always")
    assert client.next("exec_end", id=id)["exit_code"] == 0
    assert client.run(["touch", str(folder / "b")])["exit_code"] == 0
    client.never("approval_request")
    client.hang_up()
    assert client.wait() == 0
    assert f'write "{folder}"' in (stage.top / "config/sallyport/policy").read_text()
    later = stage.client()
    later.configure("never", sandbox=QUIET)
    assert later.run(["touch", str(folder / "c")])["exit_code"] == 0
    assert later.run(f"echo later > {single}/file")["exit_code"] == 0
    assert later.run(["touch", str(single / "new")])["exit_code"] == 1
    ran = subprocess.run([stage.sallyport, "run", "--", "sh", "-c", f"echo run > {single}/file; touch {single}/new"],
                         env=stage.env, cwd=stage.work, capture_output=True, text=True)
    assert (single / "file").read_text() == "run\n" and not (single / "new").exists(), ran.stderr


def a_retry_in_the_background(stage):
    """The refusals of the first attempt are in the later exec_end, too."""
    client = stage.client()
    client.configure("on-failure")
    id = client.send("exec", script=f"echo x > {outside(stage)} && sleep 1", mode="background", yield_ms=300)
    client.answer(client.next("approval_request"), "approved")
    client.next("background", id=id)
    end = client.next("exec_end", id=id)
    assert [attempt["exit_code"] == 0 for attempt in end["attempts"]] == [False, True], end
    assert end["attempts"][0]["evidence"] and not end["evidence"], end


def a_retry_that_is_denied(stage):
    file = outside(stage)
    client = stage.client()
    client.configure("on-failure")
    id = client.send("exec", script=f"echo x > {file}")
    question = client.next("approval_request")
    assert question["retry"], question
    client.answer(question, "denied")
    end = client.next("exec_end", id=id)
    assert end["status"] in ("rejected", "denied") and len(end["attempts"]) == 1 and not file.exists(), end


def on_request_does_not_retry_by_itself(stage):
    client = stage.client()
    client.configure("on-request")
    end = client.run(f"echo x > {outside(stage)}")
    assert end["status"] == "denied" and len(end["attempts"]) == 1, end


def more_permissions(stage):
    file = outside(stage)
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", script=f"echo x > {file}", sandbox_permissions="with_additional_permissions",
                     additional_permissions={"write": [str(file)]}, reason="the log goes there")
    question = client.next("approval_request")
    # The file is not there yet: what has to be opened, and so is shown, is its folder.
    assert [(access["what"], access["name"]) for access in question["accesses"]] == [("write", str(file.parent))], question
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 0 and file.read_text() == "x\n", end
    assert end["confined"], end


def the_gates_own_is_not_asked_about(stage):
    """An access that no answer could permit is refused at once, and not after an approval."""
    hidden = stage.work / "hidden"
    hidden.mkdir()
    (stage.work / "to-hidden").symlink_to(hidden)
    stage.policy(f'{RULES}hide "{hidden}"\n')
    client = stage.client()
    client.configure("on-request")
    own = [{"write": [str(stage.top / "policy")]}, {"write": [str(stage.top / "audit.jsonl")]}, {"write": [str(hidden)]},
           {"write": [str(stage.work / "to-hidden")]}, {"read": [str(hidden / "key")]},
           {"write": [str(stage.top / "config" / "sallyport" / "policy")]}]
    for wanted in own:
        for type, members in (("exec", {"command": ["true"], "sandbox_permissions": "with_additional_permissions"}),
                              ("request_permissions", {})):
            words = client.error(client.send(type, additional_permissions=wanted, **members), "refused")
            assert "cannot be changed" in words, (wanted, words)
    client.never("approval_request")


def granular(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("granular", granular={"sandbox": False, "rules": True})
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "approved")
    client.next("exec_end", id=id, exit_code=0)
    client.configure("granular", granular={"sandbox": True}, name="other")
    end = client.run(["cat", "/dev/null"], session="other")
    assert (end["status"], end["by"]) == ("rejected", "rule"), end
    client.error(client.send("configure_session", approval="never", granular={"rules": True}), "malformed")


def for_the_session(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "approved_for_session")
    client.next("exec_end", id=id)
    assert client.run(["cat", "/dev/null"])["exit_code"] == 0
    client.never("approval_request")
    grants = client.next("listed", id=client.send("list", what="grants"))["items"]
    assert len(grants) == 1, grants
    client.next("accepted", id=client.send("revoke", grant=grants[0]["grant"]))
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id, status="rejected")
    client.configure("on-request", name="other")
    id = client.send("exec", command=["cat", "/dev/null"], session="other")
    client.next("approval_request", session="other")  # another session's answer is not this one's


EVERYDAY = ["echo $HOME", "for i in 1 2; do echo $i; done", "if true; then echo y; fi", "echo $(date)", "export A=b; echo $A",
            "[ -d . ] && echo there", "cd / && ls >/dev/null", "x=1; y=$((x+1)); echo $y", "while false; do :; done", "echo a{b,c}", "ls -la | head -3",
            "cat <<'X'\nhi\nX", "find . -name '*.c' | xargs wc -l", "test -f x || touch x", "sed -n 1p /etc/passwd > o.txt",
            "awk '{print $1}' /etc/passwd", "python3 - <<'X'\nprint(1)\nX", "while read l; do echo $l; done < /etc/passwd", "echo hi | tee o2.txt",
            "A=1 env", "true && false || true", "(cd /; pwd)", "{ echo a; echo b; }", "set -e; echo x", "case x in x) echo y;; esac", "f() { echo z; }; f",
            "mkdir -p a/b && cp /etc/hostname a/b/", "eval 'echo 1'", "printf '%s\\n' *", "sh -c 'for i in 1; do echo $i; done'", "git --version",
            "git init -q . && git status", "timeout 60 true", "trap 'echo x' EXIT; echo y", "echo `date`", "ls &\nwait", "env -i A=1 ls",
            "git --version | cat; echo \"done $(date)\""]


def everyday_scripts(stage):
    """A rule that asks about one command asks about that one, not about every script that is more than words."""
    stage.policy("command ask git push\n")
    client = stage.client()
    client.configure("on-request")
    for script in EVERYDAY:
        assert client.run(script)["exit_code"] == 0, script
    client.never("approval_request")
    id = client.send("exec", script="for remote in a b; do git push $remote; done")
    question = client.next("approval_request")
    assert "command ask git push" in question["because"], question
    client.answer(question, "denied")
    client.next("exec_end", id=id, status="rejected")


def no_script_passes_a_denial(stage):
    """With the programs inside judged a script that hides a denied one runs, and that one does not."""
    stage.policy("command deny touch because \"not that\"\n")
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    for script in ("t=tou; ${t}ch made; echo went on", "$(echo touch) made; echo went on", "for t in touch; do $t made; done; echo went on",
                   "eval \"$(printf 'tou%s made' ch)\"; echo went on"):
        end = client.run(script)
        assert end["stdout"]["text"] == "went on\n" and not (stage.work / "made").exists(), end
    client.never("approval_request")
    client.configure("on-request", name="not-judged")
    id = client.send("exec", script=EVERYDAY[0], session="not-judged")
    client.answer(client.next("approval_request"), "denied")  # it may be what was denied
    client.next("exec_end", id=id, status="rejected")


def no_list_is_ignored(stage):
    """A read path without effect, or one that is also named for writing, is refused; in a writable folder it becomes read-only."""
    work = str(stage.work)
    client = stage.client()
    for sandbox in ({"mode": "read-only", "read": ["/usr"]}, {"mode": "workspace-write", "read": ["/usr"]},
                    {"mode": "workspace-write", "read": [f"{work}/x"], "writable": [f"{work}/x"]},
                    {"mode": "split", "read": [work], "writable": [work]}, {"mode": "split", "read": ["x//y/."], "writable": ["x/y"]},
                    {"mode": "external", "read": ["/usr"]}):
        client.error(client.send("configure_session", sandbox=sandbox),
                     "refused" if sandbox["mode"] == "external" else "malformed")
    (stage.work / "kept").mkdir()
    client.configure("never", sandbox={"mode": "workspace-write", "read": ["kept"]})
    end = client.run("touch made kept/made")
    assert end["status"] == "denied" and [entry["path"] for entry in end["evidence"]] == [f"{work}/kept/made"], end
    narrow = stage.client("--read", "/usr")
    narrow.error(narrow.send("configure_session", sandbox={"mode": "read-only", "read": ["/usr/share"]}), "malformed")


def with_an_environment(stage):
    """Variables of one call are shown and approved with it; no rule, and no answer for the session, covers them."""
    stage.policy("command allow git unconfined\n")
    client = stage.client("--allow-unconfined")
    client.configure("on-request")
    assert not client.run(["git", "--version"])["confined"]
    for env, is_confined in (({"LANG": "C"}, False), ({"GIT_SSH_COMMAND": "touch evil"}, True), ({"HOME": None}, False)):
        assert client.run(["git", "--version"], env=env)["confined"] is is_confined, env
    # What ran with all rights could have changed the policy, if a folder on its path has changed since: other tests change /var/tmp.
    subprocess.run([stage.sallyport, "policy", "trust", str(stage.top / "policy")], env=stage.env, check=True, capture_output=True)
    held = stage.client()  # without --allow-unconfined no rule lets it out
    assert not held.configure("on-request")["may_unconfine"]
    end = held.run(["git", "--version"])
    assert end["confined"] and "although a rule allows it" in end["note"], end
    client.configure("untrusted", name="careful")
    for env, shown in ((None, None), ({"TOUCH": "x"}, ["TOUCH=x"]), ({"TOUCH": "y"}, ["TOUCH=y"])):
        id = client.send("exec", command=["touch", "x"], session="careful", **({"env": env} if env else {}))
        question = client.next("approval_request", session="careful")
        assert question.get("env") == shown, question
        assert not (env and "always" in question["decisions"]), question
        client.answer(question, "approved_for_session")
        client.next("exec_end", id=id, exit_code=0)
    assert client.run(["touch", "x"], session="careful", env={"TOUCH": "y"})["exit_code"] == 0
    client.never("approval_request")


def with_a_program_of_the_command(stage):
    """A rule, or an answer for the session, is about the program that was meant, not about one that a command put into a folder of PATH
    (a virtual environment of Python is such a folder): neither the named one, nor the shell around it, nor one that it starts."""
    out, place = stage.top / "escaped", stage.work / ".venv" / "bin"
    place.mkdir(parents=True)
    tool = stage.top / "tools" / "publish"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nhelper || true\n")
    tool.chmod(0o755)
    stage.env["PATH"] = f"{place}:{tool.parent}:{stage.env['PATH']}"
    stage.policy("command allow publish unconfined\n")
    client = stage.client("--allow-unconfined")
    client.configure("on-request", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True})

    def plant(name):
        text = f"#!/usr/bin/env python3\\nopen(\"{out}\", \"w\")\\n"
        script = f"printf '{text}' >.venv/bin/{name} && chmod 755 .venv/bin/{name}"
        assert client.run(["/bin/sh", "-c", script])["exit_code"] == 0

    for name, is_confined in (("none", False), ("helper", False), ("sh", False), ("publish", True)):
        plant(name)
        assert client.run(["publish"])["confined"] is is_confined, name
        assert client.run(["sh", "-c", "publish"])["confined"] is (is_confined or name == "sh"), name
        assert not out.exists(), name
        (place / name).unlink()
    id = client.send("exec", command=["id"], sandbox_permissions="require_escalated")
    client.answer(client.next("approval_request"), "approved_for_session")
    client.next("exec_end", id=id, exit_code=0)
    assert client.run(["sh", "-c", "id"], sandbox_permissions="require_escalated")["confined"] is False  # the same
    plant("sh")
    id = client.send("exec", command=["sh", "-c", "id"], sandbox_permissions="require_escalated")
    client.answer(client.next("approval_request", program=str(place / "sh")), "denied")
    client.next("exec_end", id=id, status="rejected")
    assert not out.exists()


def for_good(stage):
    client = stage.client()
    client.configure("untrusted")
    id = client.send("exec", command=["touch", "always"])
    question = client.next("approval_request")
    assert question["proposal"] == ["command allow touch always"], question
    client.error(client.answer(question, "always", proposal=1), "malformed")  # there is one
    client.error(client.answer(question, "approved", proposal=0), "malformed")  # that is not stored
    client.answer(question, "always", proposal=0)
    assert client.next("exec_end", id=id)["exit_code"] == 0
    kept = (stage.top / "config/sallyport/policy").read_text()
    assert "command allow touch always\n" in kept, kept


def one_line_for_good(stage):
    """If one of two proposed lines is chosen, only that line is kept, the command runs once, and is asked about again."""
    client = stage.client()
    client.configure("untrusted")
    id = client.send("exec", script="touch one && mkdir two")
    question = client.next("approval_request")
    assert question["proposal"] == ["command allow touch one", "command allow mkdir two"], question
    kept = stage.top / "config/sallyport/policy"
    client.error(client.answer(question, "always", proposal=2), "malformed")
    assert not kept.exists() or "command allow" not in kept.read_text()
    client.answer(question, "always", proposal=1)
    assert client.next("exec_end", id=id)["exit_code"] == 0
    assert "command allow mkdir two\n" in kept.read_text() and "touch" not in kept.read_text(), kept.read_text()
    id = client.send("exec", script="touch one && mkdir -p three")
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id, status="rejected")


def stale_double_and_crossed_answers(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    client.error(client.send("approve", approval="0" * 32, kind="exec", decision="approved"), "unknown")
    first = client.send("exec", command=["cat", "/dev/null"])
    question = client.next("approval_request")
    client.error(client.send("approve", approval=question["approval"], kind="patch", decision="approved"), "malformed")
    client.error(client.answer(question, "approved_unconfined"), "malformed")  # was not offered
    client.error(client.answer(question, "approved", scope={"for": "session"}), "malformed")
    client.answer(question, "denied")
    client.error(client.answer(question, "approved"), "unknown")
    assert client.next("exec_end", id=first)["status"] == "rejected"


def one_question_for_the_same(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    ids = [client.send("exec", command=["cat", "/dev/null"]) for _ in range(3)]
    answered = {}
    while len(answered) < 3:
        question = client.next("approval_request")
        client.answer(question, "approved")
        ended = [id for id in ids if id not in answered]
        answered |= {id: client.next("exec_end", id=id) for id in question["ids"] if id in ended}
        if len(answered) < 3 and not any(event["type"] == "approval_request" for event in client.events):
            answered |= {id: client.next("exec_end", id=id) for id in ended if id not in answered}
    assert all(end["exit_code"] == 0 for end in answered.values())


def nobody_answers_in_time(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request", limits={"question_ms": 200})
    id = client.send("exec", command=["cat", "/dev/null"])
    question = client.next("approval_request")
    assert question["remaining_ms"] <= 200
    told = client.next("approval_resolved", approval=question["approval"])
    assert "id" not in told, told
    end = client.next("exec_end", id=id)
    assert (end["status"], end["by"]) == ("rejected", "no_answer"), end
    client.error(client.answer(question, "approved"), "unknown")


def interrupted_while_it_is_asked(stage):
    """Before it runs, and between two attempts: the question is withdrawn, and nothing runs (any more)."""
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null"])
    question = client.next("approval_request")
    client.next("accepted", id=client.send("interrupt", exec=question["execs"][0]))
    assert "id" not in client.next("approval_resolved", approval=question["approval"])
    end = client.next("exec_end", id=id)
    assert (end["status"], end["exit_code"], end["attempts"]) == ("cancelled", None, []), end
    client.error(client.answer(question, "approved"), "unknown")
    client.error(client.send("interrupt", exec=question["execs"][0]), "unknown")
    client.configure("on-failure", name="retries")
    target = stage.top / "outside"
    id = client.send("exec", session="retries", script=f"echo >{target}")
    question = client.next("approval_request", retry=True)
    client.next("accepted", id=client.send("interrupt", session="retries", exec=question["execs"][0]))
    end = client.next("exec_end", id=id)
    assert end["status"] == "cancelled" and len(end["attempts"]) == 1 and not target.exists(), end


def hangs_up_with_a_question_open(stage):
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    client.send("exec", command=["cat", "/dev/null"])
    client.next("approval_request")
    client.hang_up()
    assert client.wait() == 0
    client.never("exec_begin")


def says_its_last_and_reads_on(stage):
    """`end_session` with `wait`, then the end of input: running commands continue, and questions are denied."""
    stage.policy(RULES)
    client = stage.client()
    client.configure("on-request")
    slow = client.send("exec", command=["sh", "-c", "echo slow"])
    asks = client.send("exec", command=["cat", "/dev/null"])
    client.send("end_session", wait=True)
    client.writer.close()
    assert client.next("exec_end", id=asks)["status"] == "rejected"
    client.next("exec_end", id=slow)
    client.next("session_ended")
    assert client.wait() == 0


def patches(stage):
    client = stage.client()
    client.configure("on-request")
    beside = stage.top / "beside"
    beside.mkdir()
    id = client.send("request_patch_approval", files=[f"{beside}/a", f"{beside}/b"], reason="two files")
    question = client.next("approval_request")
    assert question["kind"] == "patch" and question["reason"] == "two files", question
    assert "two files" not in question["because"], question
    assert question["items"] == [f"{beside}/a", f"{beside}/b"], question
    client.answer(question, "approved_for_session")
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    for file in (f"{beside}/b", f"{beside}//b", f"{beside}/././b/."):  # part of what was approved, however it is spelled
        id = client.send("request_patch_approval", files=[file])
        assert client.next("task_complete", id=id)["outcome"] == "approved", file
    id = client.send("request_patch_approval", files=[f"{beside}/b", f"{beside}/c"])
    client.answer(client.next("approval_request"), "denied")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def permissions_and_elicitations(stage):
    client = stage.client()
    client.configure("on-request")
    id = client.send("request_permissions", additional_permissions={"write": ["/srv"], "network": ["https://a.test:443"]})
    question = client.next("approval_request")
    assert question["kind"] == "permissions" and len(question["accesses"]) == 2, question
    client.answer(question, "approved", confirmation=question.get("confirmation", ""))
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    # It holds for the next command, and for no other.
    beside = stage.top / "beside"
    beside.mkdir()
    for wish in ({}, {"sandbox_permissions": "with_additional_permissions", "additional_permissions": {"write": [str(beside)]}}):
        client.configure("on-request", name=f"permits-{len(wish)}")
        session = {"session": f"permits-{len(wish)}"}
        id = client.send("request_permissions", additional_permissions={"write": [str(beside)]}, **session)
        client.answer(client.next("approval_request"), "approved")
        assert client.next("task_complete", id=id)["outcome"] == "approved"
        assert client.run(["touch", f"{beside}/x"], **session, **wish)["exit_code"] == 0
        client.never("approval_request")
        assert client.run(["touch", f"{beside}/y"], **session)["status"] == "denied"
        id = client.send("request_permissions", additional_permissions={"write": [str(beside)]}, **session)
        client.answer(client.next("approval_request"), "denied")
        client.next("task_complete", id=id, outcome="rejected")
        assert client.run(["touch", f"{beside}/z"], **session)["status"] == "denied"
    id = client.send("request_elicitation", reason="which branch?", items=["main", "next"])
    question = client.next("approval_request")
    assert question["kind"] == "elicitation", question
    client.answer(question, "denied")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def permissions_for_the_session(stage):
    """They hold for every later command, as long as the answer says, and not for another session."""
    stage.web("a.test")
    folder = stage.top / "beside"
    folder.mkdir()
    client = stage.client()
    client.configure("on-request", name="other", sandbox=QUIET)
    client.configure("on-request", name="one", sandbox=QUIET)
    id = client.send("request_permissions", session="one",
                     additional_permissions={"write": [str(folder)], "network": ["http://a.test"]})
    question = client.next("approval_request")
    assert "approved_for_session" in question["decisions"] and "always" not in question["decisions"], question
    client.answer(question, "approved_for_session", confirmation=question.get("confirmation", ""))
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    script = f"echo x >> {folder}/file && curl -sS -m 60 -o /dev/null -w '%{{http_code}}' http://a.test/"
    for _ in range(3):
        end = client.run(script, session="one")
        assert (end["exit_code"], end["stdout"]["text"]) == (0, "200"), end
    wish = {"sandbox_permissions": "with_additional_permissions", "additional_permissions": {"write": [str(folder / "x")]}}
    assert client.run(["touch", str(folder / "x")], session="one", **wish)["exit_code"] == 0
    client.never("approval_request")
    assert client.run(["touch", str(folder / "y")], session="other")["status"] == "denied"
    grants = client.next("listed", id=client.send("list", what="grants", session="one"))["items"]
    assert sorted(grant["text"] for grant in grants) == ["http://a.test:80", f"write {folder}"], grants
    for grant in grants:
        client.next("accepted", id=client.send("revoke", grant=grant["grant"], session="one"))
    assert client.run(["touch", str(folder / "y")], session="one")["status"] == "denied"
    client.send("exec", command=["curl", "-sS", "http://a.test/"], session="one")
    client.answer(client.next("approval_request", kind="network"), "denied")
    # As long as it was said, and no longer.
    id = client.send("request_permissions", session="one", additional_permissions={"write": [str(folder)]})
    client.answer(client.next("approval_request", kind="permissions"), "approved_for_session", expires_ms=1)
    client.next("task_complete", id=id)
    until(lambda: client.run(["touch", str(folder / "z")], session="one")["status"] == "denied", 60, "the answer to expire")


def intercepted_programs(stage):
    stage.policy("command deny env because \"no env\"\ncommand ask touch\n")
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    (stage.work / "in").mkdir()
    id = client.send("exec", command=["make", "-C", "in", "-f", "-"], input=True)
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="all:\n\t-@/usr/bin/env\n\t@touch made\n", eof=True)
    question = client.next("approval_request")
    assert question["kind"] == "permissions" and number in question["execs"], question
    assert any(access["what"] == "program" for access in question["accesses"]), question
    assert "command ask touch" in question["because"] and question["command"] == ["touch", "made"], question
    assert question["cwd"] == str(stage.work / "in"), question
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert (stage.work / "in/made").exists(), end
    assert any(e["what"] == "program" and e["path"].endswith("/env") for e in end["evidence"]), end["evidence"]
    id = client.send("exec", command=["make", "-f", "-"], input=True)
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="all:\n\t-@touch again\n", eof=True)
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id)
    assert not (stage.work / "again").exists()
    records = [record for record in stage.records() if record.get("kind") == "program"]
    # Its clock stands still while somebody thinks: the limit is shorter than that.
    id = client.send("exec", command=["make", "-f", "-"], input=True, timeout_ms=3000)
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="all:\n\t@touch late\n", eof=True)
    question = client.next("approval_request")
    time.sleep(4)
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert end["status"] == "exited" and (stage.work / "late").exists(), end
    assert end["attempts"][0]["running_ms"] < end["attempts"][0]["duration_ms"], end
    assert [(record["reason"], record["program"].split("/")[-1]) for record in records] == [("rule_deny", "env"), ("granted_once", "touch"), ("denied_once", "touch")], records
    assert all(record["rule"] and record["exec"] for record in records), records


def intercepted_scripts_are_asked_about(stage):
    """A question about a script names its interpreter: with another one it is another question."""
    stage.policy(f"command ask {stage.work}/script\n")
    script = stage.work / "script"
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    sent = []
    for reader in ("sh", "sleep"):
        script.write_text(f"#!/bin/{reader}\n")
        script.chmod(0o755)
        sent.append(client.send("exec", command=["env", "./script"]))
        question = client.next("approval_request")
        assert [access["name"] for access in question["accesses"]] == [str(script), os.path.realpath(f"/bin/{reader}")], question
        assert question["ids"] == sent[-1:], question
    for id in sent:
        client.send("cancel", exec=client.next("exec_begin", id=id)["exec"])
        client.next("exec_end", id=id)


def intercepted_and_denied_meanwhile(stage):
    """An answer to an older question does not start a program that a rule denies by now."""
    stage.policy("command ask touch\n")
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    id = client.send("exec", command=["make", "-f", "-"], input=True)
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="all:\n\t@touch made\n", eof=True)
    question = client.next("approval_request")
    (stage.top / "policy").write_text("version 1\ncommand deny touch because \"not any more\"\n")
    until(lambda: any(record["event"] == "policy_reloaded" for record in stage.records()), 120, "the policy was not read again")
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert not (stage.work / "made").exists(), end
    records = [record for record in stage.records() if record.get("kind") == "program"]
    assert records[0]["reason"] == "granted_once" and {record["reason"] for record in records[1:]} == {"rule_deny"}, records


def intercepted_scripts(stage):
    """A script's interpreter is judged as in a run: a rule that denies sed denies scripts for sed."""
    stage.policy("command deny sed because \"no streams\"\n")
    script = stage.work / "script"
    script.write_text("#!/bin/sed -f\n")
    script.chmod(0o755)
    client = stage.client()
    client.configure("never", intercept_exec=True)
    id = client.send("exec", command=["env", "./script", "/etc/hostname"])
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 126 and not end["stdout"]["text"], end
    assert any(e["what"] == "program" and e["path"] == str(script) for e in end["evidence"]), end["evidence"]
    record, = [record for record in stage.records() if record.get("kind") == "program"]
    assert record["reason"] == "rule_deny" and "sed" in record["rule"], record


def intercepted_by_the_option(stage):
    """A session cannot switch it off."""
    stage.policy("command deny env\n")
    client = stage.client("--intercept-exec")
    assert client.configure("on-request", intercept_exec=False)["intercept_exec"] is True
    id = client.send("exec", command=["make", "-f", "-"], input=True)
    client.send("write_input", exec=client.next("exec_begin", id=id)["exec"], text="all:\n\t-@/usr/bin/env\n", eof=True)
    end = client.next("exec_end", id=id)
    assert any(e["what"] == "program" and e["path"].endswith("/env") for e in end["evidence"]), end["evidence"]
    plain = stage.client()
    assert plain.configure("never")["intercept_exec"] is False


def intercepted_without_rules(stage):
    """A policy without rules for commands does not restrict programs inside, understood or not."""
    stage.policy("allow http://a.test\n")
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    end = client.run("sh -c 'x=1; for i in $x; do /bin/echo $i; done'")
    assert end["stdout"]["text"] == "1\n", end
    client.never("approval_request")


def hooks_are_told_why(stage):
    """What the client says is in the question to a hook as its justification, never as the rule; it is empty if there is none."""
    asks = hook(stage, "asks", "echo '{\"answer\":\"deny\",\"reason\":\"seen\"}'")
    stage.policy(f'{RULES}hook "{asks}" for exec patch permissions elicitation\n')
    client = stage.client()
    client.configure("on-request")
    client.run(["cat", "/dev/null"], reason="to see \u201cnothing\u201d")
    client.run(["cat", "/dev/null"])
    words = "rule allow everything"
    for type, members in (("request_patch_approval", {"files": [str(stage.top / "a")]}), ("request_elicitation", {"items": ["a"]}),
                          ("request_permissions", {"additional_permissions": {"write": [str(stage.top)]}})):
        client.next("task_complete", id=client.send(type, reason=words, **members))
    first, second, *others = map(json.loads, (stage.top / "asks.asked").read_text().splitlines())
    assert [other["kind"] for other in others] == ["patch", "elicitation", "permissions"], others
    for other in others:
        assert other["justification"] == words and words not in other.get("rule", ""), other
    assert "nothing" in first["justification"], first
    assert not second.get("justification"), second
    assert first["argv"] == second["argv"] == ["cat", "/dev/null"], first


def reading_is_restricted(stage):
    """The policy's `read` lines apply to every session; a person may permit more for one command."""
    place = tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sallyport-test-")  # /tmp is the command's own
    top = pathlib.Path(place.name)
    for name in ("seen", "unseen"):
        (top / name).mkdir()
        (top / name / "file").write_text(name)
    stage.policy(f"read {top}/seen\n")
    client = stage.client("--allow-unconfined")
    for sandbox in ({"mode": "danger-full-access"}, {"mode": "external"}, {"mode": "split", "read": ["/"]},
                    {"mode": "split", "read": [str(top / "unseen")]},
                    {"mode": "workspace-write", "writable": [str(top / "unseen")]}):
        client.error(client.send("configure_session", sandbox=sandbox), "refused")
    client.configure("on-failure", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True})
    end = client.run(["cat", str(top / "seen" / "file")])
    assert end["output"]["text"] == "seen", end
    id = client.send("exec", command=["cat", str(top / "unseen" / "file")])
    question = client.next("approval_request")
    assert {"what": "read", "name": str(top / "unseen" / "file")} in question["accesses"], question
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert end["output"]["text"] == "unseen", end
    place.cleanup()


def retries_keep_denials(stage):
    """A retry may get more permissions, but a denied path stays denied, and no answer lets the command run without that sandbox."""
    place = tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sallyport-test-")
    key, other = stage.work / "secret" / "key", pathlib.Path(place.name) / "made"
    key.parent.mkdir()
    key.write_text("told")
    client = stage.client("--allow-unconfined")
    script = f"cat {key}; cat /proc/self/root{key}; mv {key.parent} x; echo x > {other}"
    for mode in ("read-only", "workspace-write"):
        client.configure("on-failure", name=mode, sandbox={"mode": mode, "deny": ["secret"]})
        id = client.send("exec", script=script, session=mode)
        question = client.next("approval_request")
        assert "approved_unconfined" not in question["decisions"], question
        client.answer(question, "approved")
        end = client.next("exec_end", id=id)
        assert len(end["attempts"]) == 2 and other.exists() and "told" not in str(end), end
        assert str(key.parent) in question["sandbox"]["deny"] and key.exists(), question
        other.unlink()
    id = client.send("exec", script=script, session="read-only", sandbox_permissions="require_escalated")
    question = client.next("approval_request")
    assert question["confined"] and str(key.parent) in question["sandbox"]["deny"], question
    client.answer(question, "denied")
    end = client.next("exec_end", id=id)
    assert "told" not in str(end) and all(attempt["confined"] for attempt in end["attempts"]), end
    place.cleanup()


def an_exact_program(stage):
    """Exactly the judged file is executed: a later file of the same name is not."""
    folder = stage.work / "bin"
    folder.mkdir()
    client = stage.client()
    client.configure("untrusted", env={"PATH": f"{folder}:/usr/bin:/bin"})
    id = client.send("exec", command=["touch", "x"])
    question = client.next("approval_request")
    assert question["program"].endswith("bin/touch"), question
    fake = folder / "touch"
    fake.write_text("#!/bin/sh\necho fake > fake\n")
    fake.chmod(0o755)
    client.answer(question, "approved")
    client.next("exec_end", id=id)
    assert not (stage.work / "fake").exists() and (stage.work / "x").exists()


def the_policy_is_the_floor(stage):
    """A client may be stricter than the policy, but not less strict; values that cannot be combined are refused."""
    stage.policy("approvals untrusted\non-denial fail\n")
    client = stage.client()
    assert client.configure("on-request")["approval"] == "untrusted"
    assert client.configure("never")["approval"] == "never"
    client.error(client.send("configure_session", approval="granular", granular={"rules": True}), "refused")
    id = client.send("exec", command=["touch", "x"])
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id)


def the_policy_lets_nobody_be_asked(stage):
    stage.policy("approvals never\ncommand ask cat\n")
    client = stage.client()
    assert client.configure("untrusted")["approval"] == "never"
    assert client.run(["cat", "/dev/null"])["status"] == "rejected"
    client.never("approval_request")


def the_policy_lets_some_be_asked(stage):
    stage.policy("approvals granular rules\ncommand ask cat\n")
    client = stage.client()
    assert client.configure("on-request")["approval"] == "granular"
    client.error(client.send("configure_session", approval="untrusted"), "refused")
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "approved")
    client.next("exec_end", id=id, exit_code=0)
    id = client.send("request_permissions", additional_permissions={"write": ["/srv"]})
    assert client.next("task_complete", id=id)["outcome"] == "rejected"
    client.never("approval_request")


def the_policy_changes(stage):
    stage.policy("command allow echo\n")
    client = stage.client()
    client.configure("on-request")
    assert client.run(["echo", "x"])["exit_code"] == 0
    (stage.top / "policy").write_text("version 1\ncommand deny echo because \"not any more\"\n")

    def is_denied():
        end = client.run(["echo", "x"])
        return end if end["status"] == "rejected" else None

    assert "not any more" in until(is_denied, 120, "the change does not count")["message"]


def hook(stage, name, *lines):
    path = stage.top / name
    path.write_text("\n".join(["#!/bin/sh", f"cat >>{stage.top}/{name}.asked", *lines]) + "\n")
    path.chmod(0o755)
    return path


def hooks_speak_first(stage):
    """A program's allow or denial needs no person; if it says nothing, gives a malformed answer or fails, the client is asked."""
    says = hook(stage, "says", f"case $(tail -n1 {stage.top}/says.asked) in *say-yes*) echo '{{\"answer\":\"allow\"}}';;",
                "*say-no*) echo '{\"answer\":\"deny\",\"reason\":\"never on a Friday\"}';; *crash*) echo '{\"answer\":\"allow\"}'; exit 1;;",
                "*junk*) echo allow;; *) echo '{\"answer\":\"pass\"}';; esac")
    stage.policy(f'{RULES}hook "{says}" for exec\n')
    client = stage.client()
    client.configure("on-request")
    end = client.run(["cat", "/dev/null", "say-yes"])
    assert end["status"] == "exited" and end["exit_code"] == 1, end  # it ran: there is no file of that name
    end = client.run(["cat", "/dev/null", "say-no"])
    assert (end["status"], end["by"]) == ("rejected", "hook") and "Friday" in end["message"] and end["attempts"] == [], end
    client.never("approval_request")
    client.never("approval_resolved")
    for word in ("crash", "junk", "pass", "say-yes" + " " * 3000 + "and more than it is shown"):
        id = client.send("exec", command=["cat", "/dev/null", word])
        client.answer(client.next("approval_request"), "denied")
        assert client.next("exec_end", id=id)["by"] == "person", word
    asked = (stage.top / "says.asked").read_text()
    assert '"kind":"exec"' in asked and '"cat","/dev/null","say-yes"' in asked.replace('", "', '","'), asked


def a_hook_is_for_its_kinds(stage):
    """One for patches is not asked about commands; and an allow of it is no allow for leaving the sandbox."""
    allows = hook(stage, "allows", "echo '{\"answer\":\"allow\"}'")
    stage.policy(f'{RULES}hook "{allows}" for patch\n')
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null"])
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id)
    assert not (stage.top / "allows.asked").exists()
    id = client.send("request_patch_approval", files=[str(stage.top / "a")], reason="to mend it")
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    client.never("approval_request")
    files = [str(stage.top / f"a-file-with-a-long-name-{i}") for i in range(100)]
    id = client.send("request_patch_approval", files=files, reason="more than a hook is shown")
    client.answer(client.next("approval_request"), "denied")
    assert client.next("task_complete", id=id)["outcome"] == "rejected"


def no_hook_types_a_domain(stage):
    """Only a person can allow a destination with a warning, by typing its domain: a program's allow of the command does not count."""
    yes = hook(stage, "yes", "echo '{\"answer\":\"allow\"}'")
    stage.policy(f'{RULES}hook "{yes}" for exec\n')
    client = stage.client()
    client.configure("on-request")
    wish = {"sandbox_permissions": "with_additional_permissions"}
    assert client.run(["true"], additional_permissions={"write": ["/srv"]}, **wish)["status"] == "exited"
    client.never("approval_request")
    id = client.send("exec", command=["true"], additional_permissions={"network": ["http://a.test:80"]}, **wish)
    question = client.next("approval_request")
    assert question["confirmation"] == "a.test", question
    client.error(client.answer(question, "approved"), "refused")
    client.answer(question, "denied")
    assert client.next("exec_end", id=id)["status"] == "rejected"


def a_hook_for_permissions(stage):
    says = hook(stage, "says", "case $(tail -n1 %s/says.asked) in *'write /srv'*) echo '{\"answer\":\"allow\"}';; "
                "*) echo '{\"answer\":\"deny\"}';; esac" % stage.top)
    stage.policy(f'{RULES}hook "{says}" for permissions elicitation\n')
    client = stage.client()
    client.configure("on-request")
    id = client.send("request_permissions", additional_permissions={"write": ["/srv"]})
    client.next("task_complete", id=id, outcome="approved")
    id = client.send("request_elicitation", reason="which branch?", items=["main", "next"])
    client.next("task_complete", id=id, outcome="rejected")
    client.never("approval_request")


def no_session_writes_a_hook(stage):
    folder = stage.top / "hooks"
    folder.mkdir()
    allows = hook(stage, "hooks/allows", "echo '{\"answer\":\"allow\"}'")
    for program in (f'"{allows}"', f'/bin/sh "{allows}"'):
        stage.policy(f"{RULES}hook {program} for exec\n")
        client = stage.client()
        id = client.send("configure_session", sandbox={"mode": "workspace-write", "writable": [str(folder)]})
        assert "decides for people" in client.error(id, "refused"), id
        client.configure("on-request")
        assert client.run(["cat", "/dev/null"])["status"] == "exited"


def hooks_that_cannot_be(stage):
    """A program that a command could write is not asked about it, and a missing program is an error at the start."""
    inside = stage.work / "hook"
    inside.write_text("#!/bin/sh\n")
    inside.chmod(0o755)
    for path, words in ((inside, "write"), (stage.top / "nowhere", "No such file")):
        stage.policy(f'{RULES}hook "{path}" for exec\n')
        client = stage.client()
        assert client.wait() in (2, 125), path


def let_out_once(stage):
    """A command that a person lets out of the sandbox makes no program or policy of a later run untrusted."""
    client = stage.client("--allow-unconfined")
    client.configure("on-request")
    id = client.send("exec", command=["true"], sandbox_permissions="require_escalated")
    client.answer(client.next("approval_request"), "approved")
    assert client.next("exec_end", id=id)["status"] == "exited"
    client.hang_up()
    client.wait()
    policy = stage.top / "later" / "policy"
    policy.parent.mkdir()
    policy.write_text("version 1\n")
    run = subprocess.run([stage.sallyport, "run", "--no-tty", "--policy", policy, "--", "true"], env=stage.env, cwd=stage.work, capture_output=True,
                         text=True, stdin=subprocess.DEVNULL, timeout=harness.PATIENCE)
    assert run.returncode == 0 and "commands can write" not in run.stderr and "trust" not in run.stderr, run


CASES = [let_out_once, hooks_speak_first, no_hook_types_a_domain, a_hook_for_permissions, no_session_writes_a_hook, a_hook_is_for_its_kinds, hooks_that_cannot_be, the_policy_is_the_floor, the_policy_lets_nobody_be_asked, the_policy_lets_some_be_asked, the_policy_changes, never_asks, a_rule_that_denies, a_rule_that_asks, denied_by_the_client, untrusted_asks_first,
         a_retry_is_its_own_question, a_retry_is_remembered, a_retry_is_remembered_for_good, permissions_for_the_session, a_retry_in_the_background, a_retry_that_is_denied, on_request_does_not_retry_by_itself, more_permissions, the_gates_own_is_not_asked_about, granular,
         for_the_session, everyday_scripts, no_script_passes_a_denial, no_list_is_ignored, with_an_environment, with_a_program_of_the_command, for_good, one_line_for_good, stale_double_and_crossed_answers, one_question_for_the_same, nobody_answers_in_time, interrupted_while_it_is_asked,
         hangs_up_with_a_question_open, says_its_last_and_reads_on, patches, permissions_and_elicitations,
         intercepted_programs, intercepted_and_denied_meanwhile, intercepted_scripts, intercepted_scripts_are_asked_about, intercepted_by_the_option, intercepted_without_rules, hooks_are_told_why, reading_is_restricted, retries_keep_denials, an_exact_program]

if __name__ == "__main__":
    harness.main(CASES)
