#!/usr/bin/env python3
"""Every decision of every kind is one record: of a command, a retry, an escalation, a patch, a permission, an elicitation, a
program and a destination, regardless of its source; and it says what happened then. usage: records.py SALLYPORT [CASE...]"""

import ctypes
import errno
import fcntl
import re
import subprocess
import urllib.request

import harness
import reviewer
from world import until  # found by harness

HOOK = r"""#!/bin/sh
read -r line
case $line in
*hook-allow*) echo '{"answer":"allow","reason":"the hook has read it"}' ;;
*hook-deny*) echo '{"answer":"deny","reason":"the hook has read it"}' ;;
*hook-hang*) exec sleep 1000 ;;
*hook-flood*) exec yes '{"answer":"allow"}' ;;
*hook-shut*) exec >&-; exec sleep 1000 ;;
*hook-halves*) printf '{"answer":"al' ;;
*) echo '{"answer":"abstain"}' ;;
esac
"""


def hook(stage, kinds="exec patch permissions elicitation"):
    path = stage.top / "hook"
    path.write_text(HOOK)
    path.chmod(0o755)
    return f'hook "{path}" for {kinds}\n'


def decisions(stage, count):
    """The records of all decisions except those about destinations, in order."""
    def found():
        return [record for record in stage.records() if record["event"] == "decision" and "kind" in record]

    until(lambda: len(found()) >= count, 120, f"{count} decisions, not {len(found())}")
    return found()


def check(stage, want):
    """@want: (kind, action, reason, by, more...), a dict at the end for the rest."""
    records = decisions(stage, len(want))
    assert len(records) == len(want), (len(records), len(want), records)
    for record, (kind, action, reason, by, *more) in zip(records, want):
        is_ = (record["kind"], record["action"], record["reason"], record.get("by", ""))
        assert is_ == (kind, action, reason, by), (is_, (kind, action, reason, by), record)
        for name, value in (more[0] if more else {}).items():
            assert value in str(record.get(name, "")) if value else name not in record, (name, value, record)


CLIENT, EARLIER = "the agent's client", "an earlier answer"


def exec_by_everybody(stage):
    """A command: by a rule, the mode, an earlier answer, each decision of the client, a timeout, and a withdrawal."""
    stage.policy('command ask cat\ncommand allow true\ncommand deny rm because "nothing is removed"\n')
    client = stage.client()
    client.configure("on-request", limits={"question_ms": 3000})
    assert client.run(["true"])["status"] == "exited"
    assert client.run(["rm", "x"])["by"] == "rule"
    assert client.run(["echo", "x"])["status"] == "exited"
    want = [("exec", "allow", "rule_allow", "policy", {"rule": ":3: command allow true", "command": "true"}),
            ("exec", "deny", "rule_deny", "policy", {"rule": ":4: command deny rm", "because": "nothing is removed", "command": "rm x"}),
            ("exec", "allow", "default_allow", "policy", {"rule": "", "through": ""})]
    for word, status, more, decided in (
            ("approved", "exited", {}, ("allow", "granted_once", CLIENT)),
            ("denied", "rejected", {"message": "not this one"}, ("deny", "denied_once", CLIENT, {"because": "not this one"})),
            ("abort", "rejected", {}, ("deny", "aborted", CLIENT)),
            ("denied", "rejected", {"unasked": True}, ("deny", "no_approver", "policy")),
            ("approved_for_session", "exited", {}, ("allow", "granted_session", CLIENT, {"through": "agent"})),
            (None, "exited", {}, ("allow", "granted_session", EARLIER, {"through": ""})),
            ):
        argv = ["cat", "/dev/null"] if word in ("approved_for_session", None) else ["cat", "/dev/null", f"/dev/./{word}"]
        id = client.send("exec", command=argv)
        if word:
            client.answer(client.next("approval_request"), word, **more)
        end = client.next("exec_end", id=id)
        assert end["status"] == status, end
        want.append(("exec",) + decided)
    id = client.send("exec", command=["cat", "late"])
    client.next("approval_request")
    assert client.next("exec_end", id=id)["by"] == "no_answer"
    want.append(("exec", "deny", "prompt_timeout", "", {"because": "not answered in time"}))
    id = client.send("exec", command=["cat", "cancelled"])
    number = client.next("approval_request")["execs"][0]
    client.send("cancel", exec=number)
    assert client.next("exec_end", id=id)["status"] == "cancelled"
    want.append(("exec", "deny", "withdrawn", CLIENT, {"command": "cat cancelled"}))
    check(stage, want)
    client.send("exec", command=["cat", "left"])
    client.next("approval_request")
    client.hang_up()
    assert client.wait() == 0
    check(stage, want + [("exec", "deny", "approver_gone", "", {"command": "cat left"})])


def all_are_counted(stage):
    """Each decision is counted by tool, decision and source, in `list` and at the end, as it is recorded."""
    web = stage.web("a.test")
    stage.policy('command ask cat\ncommand deny rm\nallow http://a.test\n' + hook(stage, "exec"))
    client = stage.client("--metrics", "127.0.0.1:0", stderr=open(stage.top / "said", "wb"))
    client.configure("on-request")
    client.run(["true"])
    client.run(["rm", "x"])
    client.run(["curl", "-sS", "http://a.test/"])
    for word, decision in (("a", "approved_for_session"), ("a", None), ("b", "denied"), ("hook-deny", None), ("hook-allow", None)):
        id = client.send("exec", command=["cat", "/dev/null", f"/dev/./{word}"], reason=word)
        if decision:
            client.answer(client.next("approval_request"), decision)
        client.next("task_complete", id=id)
    id = client.send("exec", script="curl -sS http://b.test/")
    client.answer(client.next("approval_request", kind="network"), "denied")
    client.next("task_complete", id=id)
    for files in (["in"], [".git/config"]):
        client.next("task_complete", id=client.send("request_patch_approval", files=files))
    want = {("exec", "allow", "policy"): 3, ("exec", "deny", "policy"): 1, ("exec", "allow", "user"): 1, ("exec", "allow", "cache"): 1,
            ("exec", "deny", "user"): 1, ("exec", "deny", "hook"): 1, ("exec", "allow", "hook"): 1, ("network", "allow", "policy"): 1,
            ("network", "deny", "user"): 1, ("patch", "allow", "policy"): 1, ("patch", "deny", "policy"): 1}
    listed = client.next("listed", id=client.send("list", what="decisions"))["items"]
    got = {(item["tool"], item["decision"], item["source"]): item["count"] for item in listed}
    assert got == want, got
    place = re.search(r"metrics are at (\S+)", (stage.top / "said").read_text())[1]
    shown = urllib.request.urlopen(place, timeout=60).read().decode()
    counts = {}
    for verdict, kind, number in re.findall(r'^sallyport_decisions_total{verdict="(\w+)",kind="(\w+)",reason="\w+"} (\d+)$', shown, re.MULTILINE):
        counts[kind, verdict] = counts.get((kind, verdict), 0) + int(number)
    assert [counts[tool, verdict] for tool in ("exec", "patch") for verdict in ("allow", "deny")] == [6, 3, 1, 1], shown
    client.send("end_session")
    assert client.next("session_ended")["decisions"] == listed
    assert len(web.requests) == 1


def what_was_not_offered_is_no_record(stage):
    """An answer that is not accepted is not recorded as one."""
    stage.policy("command ask cat\n")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/dev/null"])
    question = client.next("approval_request")
    client.error(client.send("approve", approval=question["approval"], kind="exec", decision="approved_unconfined"), "malformed")
    client.answer(question, "denied")
    client.next("exec_end", id=id)
    check(stage, [("exec", "deny", "denied_once", CLIENT)])


def kinds_by_the_client(stage):
    """A retry, an escalation, wider access, a patch, a permission, an elicitation: allowed and denied."""
    outside = stage.top / "outside"
    outside.mkdir()
    client = stage.client("--allow-unconfined")
    client.configure("on-request")
    want = []
    for word, action in (("approved", "allow"), ("denied", "deny")):
        reason = {"allow": "granted_once", "deny": "denied_once"}[action]
        for kind, type_, members, more in (
                ("exec", "exec", {"command": ["true"], "sandbox_permissions": "require_escalated", "reason": "why not"}, {"confined": "False"}),
                ("exec", "exec", {"command": ["true"], "sandbox_permissions": "with_additional_permissions", "additional_permissions": {"write": [str(outside)]}},
                 {"grants": f"write {outside}", "confined": ""}),
                ("patch", "request_patch_approval", {"files": [str(outside / "file")]}, {"command": str(outside / "file")}),
                ("permissions", "request_permissions", {"additional_permissions": {"read": [str(outside)]}}, {"command": f"read {outside}"}),
                ("elicitation", "request_elicitation", {"reason": "which branch?", "items": ["main"]}, {"command": "main"})):
            id = client.send(type_, **members)
            client.answer(client.next("approval_request", kind=kind), word)
            done = client.next("task_complete", id=id)
            assert (done["outcome"] in ("exited", "approved")) == (action == "allow"), done
            want.append((kind, action, reason, CLIENT, more))
    check(stage, want)


def a_retry(stage):
    outside = stage.top / "outside"
    outside.mkdir()
    client = stage.client("--allow-unconfined")
    client.configure("on-failure")
    want, retries = [], {"allow": 0, "deny": 0}
    for word, action, reason, more in (("denied", "deny", "denied_once", {"grants": f"write {outside}"}),
                                       ("approved", "allow", "granted_once", {"grants": f"write {outside}", "confined": ""}),
                                       ("approved_unconfined", "allow", "granted_once", {"grants": "", "confined": "False"})):
        id = client.send("exec", command=["touch", str(outside / word)])
        question = client.next("approval_request", retry=True)
        if word not in question["decisions"]:
            client.answer(question, "denied")
            client.next("exec_end", id=id)
            want += [("exec", "allow", "default_allow", "policy"), ("exec", "deny", "denied_once", CLIENT)]
            retries["deny"] += 1
            continue
        client.answer(question, word)
        end = client.next("exec_end", id=id)
        assert (outside / word).exists() == (action == "allow"), end
        retries[action] += 1
        want += [("exec", "allow", "default_allow", "policy", {"retry": ""}), ("exec", action, reason, CLIENT, {"retry": "True", **more})]
    id = client.send("exec", command=["true"], sandbox_permissions="require_escalated")
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=id)
    check(stage, want + [("exec", "deny", "denied_once", CLIENT)])
    listed = client.next("listed", id=client.send("list", what="decisions"))["items"]
    got = {(item["tool"], item["decision"], item["source"]): item["count"] for item in listed}
    assert got == {("exec", "allow", "policy"): 3, ("retry", "deny", "user"): retries["deny"], ("retry", "allow", "user"): retries["allow"],
                   ("escalation", "deny", "user"): 1}, got


def by_the_mode(stage):
    """Without a question the policy decides, for every kind."""
    outside = stage.top / "outside"
    outside.mkdir()
    client = stage.client()
    client.configure("never")
    want = []
    for kind, type_, members in (
            ("exec", "exec", {"command": ["true"], "sandbox_permissions": "with_additional_permissions", "additional_permissions": {"write": [str(outside)]}}),
            ("patch", "request_patch_approval", {"files": [str(outside / "file")]}),
            ("permissions", "request_permissions", {"additional_permissions": {"read": [str(outside)]}}),
            ("elicitation", "request_elicitation", {"reason": "which branch?", "items": ["main"]})):
        id = client.send(type_, **members)
        done = client.next("task_complete", id=id)
        if done["outcome"] == "exited":
            want.append((kind, "allow", "default_allow", "policy"))
        else:
            assert done["outcome"] == "rejected", done
            want.append((kind, "deny", "no_approver", "policy"))
    id = client.send("request_patch_approval", files=[str(stage.work / "inside")])
    assert client.next("task_complete", id=id)["outcome"] == "approved"
    id = client.send("request_patch_approval", files=[str(stage.work / ".git/hooks/pre-commit")])
    assert client.next("task_complete", id=id)["outcome"] == "rejected"
    want += [("patch", "allow", "default_allow", "policy"), ("patch", "deny", "rule_deny", "policy")]
    check(stage, want)


def by_a_hook(stage):
    """The name of a program that decides and its message are in the record; one that hangs, floods, or closes its output allows nothing."""
    outside = stage.top / "outside"
    outside.mkdir()
    stage.policy("command ask cat\n" + hook(stage))
    client = stage.client()
    client.configure("on-request")
    name = "the hook hook"
    want = []
    for word, action in (("hook-allow", "allow"), ("hook-deny", "deny")):
        reason = {"allow": "granted_review", "deny": "denied_review"}[action]
        for kind, type_, members in (
                ("exec", "exec", {"command": ["cat", "/dev/null", f"/dev/./{word}"]}),
                ("patch", "request_patch_approval", {"files": [str(outside / word)]}),
                ("permissions", "request_permissions", {"additional_permissions": {"read": [str(outside / word)]}}),
                ("elicitation", "request_elicitation", {"reason": word, "items": [word]})):
            if "permissions" in kind:
                (outside / word).mkdir()
            id = client.send(type_, **members)
            done = client.next("task_complete", id=id)
            assert (done["outcome"] in ("exited", "approved")) == (action == "allow"), done
            assert done.get("by") in (None, "hook"), done
            want.append((kind, action, reason, name, {"because": "the hook has read it", "through": "hook"}))
            (outside / word).is_dir() and (outside / word).rmdir()
    for word in ("hook-hang", "hook-flood", "hook-shut", "hook-halves"):
        id = client.send("exec", command=["cat", "/dev/null", word])
        client.answer(client.next("approval_request", seconds=30), "denied")
        assert client.next("exec_end", id=id)["by"] == "person"
        want.append(("exec", "deny", "denied_once", CLIENT))
    client.never("approval_request")
    check(stage, want)


def by_a_reviewer(stage):
    client = reviewer.believed(stage)
    reviewer_name = f"the reviewer {stage.top / 'judge'}"
    before = len(decisions(stage, 1))
    for word, status in (("say-allow", "exited"), ("say-deny", "rejected")):
        assert client.run(["cat", "/dev/null", word])["status"] == status
    records = decisions(stage, before + 2)[before:]
    assert [(r["action"], r["reason"], r["through"], r["because"]) for r in records] == [
        ("allow", "granted_review", "reviewer", "read it"), ("deny", "denied_review", "reviewer", "read it")], records
    assert all("reviewer" in r["by"] or "judge" in r["by"] for r in records), (records, reviewer_name)


def a_program(stage):
    """Programs inside: decided by a rule, the client, and the command's end."""
    stage.policy('command deny env because "no env"\ncommand ask touch\n')
    client = stage.client()
    client.configure("on-request", intercept_exec=True)
    want = [("exec", "allow", "default_allow", "policy")]
    for word, action, reason in (("approved", "allow", "granted_once"), ("denied", "deny", "denied_once")):
        id = client.send("exec", command=["make", "-f", "-"], input=True)
        number = client.next("exec_begin", id=id)["exec"]
        client.send("write_input", exec=number, text=f"all:\n\t-@touch {word}\n", eof=True)
        client.answer(client.next("approval_request"), word)
        client.next("exec_end", id=id)
        assert (stage.work / word).exists() == (action == "allow")
        want.append(("program", action, reason, CLIENT, {"command": f"touch {word}", "program": "touch", "rule": "command ask touch", "exec": str(number)}))
        want.append(("exec", "allow", "default_allow", "policy"))
    id = client.send("exec", command=["make", "-f", "-"], input=True)
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="all:\n\t-@env\n\t@touch never\n", eof=True)
    client.next("approval_request")
    client.send("cancel", exec=number)
    client.next("exec_end", id=id)
    assert not (stage.work / "never").exists()
    want += [("program", "deny", "rule_deny", "", {"rule": "command deny env", "because": "no env"}),
             ("program", "deny", "withdrawn", CLIENT, {"command": "touch never"})]
    check(stage, want)


def what_cannot_be_written_is_denied(stage):
    """An answer that cannot be recorded does not count, by a person or by a rule."""
    assert ctypes.CDLL(None).unshare(0x20000) == 0, "no mount namespace"
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    state = stage.top / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(state)], check=True)
    stage.policy("command ask cat\ncommand allow true\n")
    client = stage.client()
    client.configure("on-request")
    id = client.send("exec", command=["cat", "/etc/hostname"])
    question = client.next("approval_request")
    with open(stage.audit) as log, open(state / "filler", "wb", buffering=0) as filler:
        fcntl.flock(log, fcntl.LOCK_SH)
        try:
            while True:
                filler.write(bytes(4096))
        except OSError as error:
            assert error.errno == errno.ENOSPC, error
        ids = [client.send("exec", command=["true", "x" * 500, str(n)]) for n in range(64)]  # more than the segment has room for
        ends = [client.next("exec_end", id=i) for i in ids]
        assert ends[-1]["status"] == "rejected" and "recorded" in ends[-1]["message"] and not ends[-1]["attempts"], ends[-1]
        client.answer(question, "approved")
        end = client.next("exec_end", id=id)
        assert (end["status"], end["attempts"]) == ("rejected", []) and "recorded" in end["message"], end
    client.hang_up()
    client.wait()
    subprocess.run(["umount", "-l", str(state)], check=True)


def what_a_command_made(stage):
    """New files that run code later are in exec_end and in the log; existing and permitted files are not."""
    stage.policy("unprotect .idea\n")
    client = stage.client()
    client.configure("never")
    script = "echo echo made >.envrc; mkdir .git .idea sub; git -C sub init -q; echo x >.idea/x; printf '#!/bin/sh\n' >sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit"
    end = client.run(script)
    made = {entry["path"]: entry["what"] for entry in end["made"]}
    assert set(made) == {str(stage.work / ".envrc"), str(stage.work / "sub/.git/hooks/pre-commit")}, end
    assert "hook" in made[str(stage.work / "sub/.git/hooks/pre-commit")], made
    assert "made_unknown" not in end and "made_cut" not in end, end
    end = client.run("echo again >.envrc; : >plain")
    assert "made" not in end, end
    end = client.run("mkdir many; cd many; for n in $(seq 70); do mkdir $n; : >$n/.envrc; done")
    assert len(end["made"]) == 64 and end["made_cut"], end
    client.configure("never", name="reads", sandbox={"mode": "read-only"})
    end = client.run("echo x >other; :", session="reads")
    assert "made" not in end and "made_unknown" not in end, end
    client.hang_up()
    client.wait()
    records = [record for record in stage.records() if record["event"] == "made"]
    assert len(records) == 72, len(records)
    assert {record["files"] for record in records} > set(made), records[0]


def made_by_a_retry(stage):
    """Files that the first attempt created are listed, too."""
    client = stage.client()
    client.configure("on-failure", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True})
    id = client.send("exec", script=f"echo x >.envrc; echo x >{stage.top}/out && mkdir .vscode && echo x >.vscode/tasks.json")
    client.answer(client.next("approval_request"), "approved")
    end = client.next("exec_end", id=id)
    assert end["status"] == "exited" and len(end["attempts"]) == 2, end
    assert [entry["path"] for entry in end["made"]] == [str(stage.work / ".envrc"), str(stage.work / ".vscode")], end


def each_sandbox_is_probed(stage):
    """One record for each attempt, before its program: the ways out were tried in it, or why they were not."""
    def probed():
        return [(record["exec"], record["cause"]) for record in stage.records() if record["event"] == "probed"]

    client = stage.client("--allow-unconfined")
    client.configure("never", sandbox={"mode": "workspace-write"})
    client.configure("never", name="open", sandbox={"mode": "danger-full-access"})
    assert client.run(["true"])["status"] == "exited"
    assert client.run(["true"])["status"] == "exited"
    assert client.run(["true"], session="open")["status"] == "exited"
    client.hang_up()
    client.wait()
    (first, one), (second, two), (third, none) = probed()
    assert first < second < third and one.startswith("full: ") and two.startswith("full: "), (one, two)
    assert none == "not probed: the command is not confined", none
    client = stage.client("--no-probe")
    client.configure("never")
    assert client.run(["true"])["status"] == "exited"
    client.hang_up()
    client.wait()
    assert probed()[-1][1] == "not probed: --no-probe" and len(probed()) == 4, probed()


def what_the_sandbox_refused(stage):
    """A file that may not be written, and a system call: once each."""
    client = stage.client()
    client.configure("never", sandbox={"mode": "read-only"})
    assert client.run("mkdir new; mkdir new; mount -t tmpfs x /mnt; exit 0")["status"] == "exited"
    client.hang_up()
    client.wait()
    refused = [record["cause"] for record in stage.records() if record["event"] == "refused"]
    assert refused.count(f"mkdir: mkdir {stage.work}/new: Read-only file system") == 1, refused
    assert [cause for cause in refused if cause.startswith("mount: ")], refused


CASES = [each_sandbox_is_probed, what_the_sandbox_refused, exec_by_everybody, all_are_counted, what_a_command_made, made_by_a_retry, what_was_not_offered_is_no_record, kinds_by_the_client, a_retry, by_the_mode, by_a_hook, by_a_reviewer, a_program,
         what_cannot_be_written_is_denied]

if __name__ == "__main__":
    harness.main(CASES)
