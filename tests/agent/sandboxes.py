#!/usr/bin/env python3
"""Restricted reading, a sandbox of one command's own, and changes of an open session.

usage: sandboxes.py SALLYPORT [CASE...]"""
import json
import pathlib
import socket
import subprocess
import tempfile

import harness


def folder(*names):
    place = tempfile.TemporaryDirectory(dir="/var/tmp", prefix="sallyport-test-")
    for name in names:
        (pathlib.Path(place.name) / name).mkdir()
        (pathlib.Path(place.name) / name / "file").write_text(name + "\n")
    return place, pathlib.Path(place.name)


def malformed(client, type, **members):
    """Sends what no schema permits."""
    client.wrong(type, "wrong", **members)
    return client.error("wrong", "malformed")


def reading_by_roots(stage):
    """A client can restrict reading in read-only and workspace-write, with the system's own files or without."""
    place, top = folder("seen", "unseen")
    client = stage.client("--allow-unconfined")
    for mode in ("read-only", "workspace-write"):
        access = {"readable_roots": [str(top / "seen")]}
        told = client.configure("never", name=mode, sandbox={"mode": mode, "read_only_access": access})
        assert f"{top}/seen" in told["sandbox"]["read"] and "/" not in told["sandbox"]["read"] and told["sandbox"]["mode"] == "split", told
        assert client.run(["cat", str(top / "seen" / "file")], session=mode)["output"]["text"] == "seen\n"
        end = client.run(["cat", str(top / "unseen" / "file")], session=mode)
        assert end["exit_code"] == 1 and "unseen\n" not in end["stdout"]["text"], end
        assert client.run(["touch", str(top / "seen" / "new")], session=mode)["exit_code"] == 1
        written = client.run(["touch", f"made-{mode}"], session=mode)["exit_code"] == 0
        assert written == (mode == "workspace-write") == (stage.work / f"made-{mode}").exists()
        bare = client.configure("never", name=mode + "-bare",
                                sandbox={"mode": mode, "read_only_access": access | {"include_platform_defaults": False}})
        assert not any(path.startswith("/usr") for path in bare["sandbox"]["read"]), bare
        end = client.run(["cat", str(top / "seen" / "file")], session=mode + "-bare")
        assert end["status"] == "not_started" and not end.get("stdout", {}).get("text"), end  # there is no program to run
    for mode in ("split", "external", "danger-full-access"):
        message = client.error(client.send("configure_session", sandbox={"mode": mode, "read_only_access": {}}), "malformed")
        assert "read_only_access" in message, message
    for wrong in ({"readable": ["/usr"]}, {"readable_roots": ["a/../b"]}):
        malformed(client, "configure_session", sandbox={"mode": "read-only", "read_only_access": wrong})
    place.cleanup()


def roots_within_the_policys(stage):
    """What the policy does not let any session read, no root of a client opens."""
    place, top = folder("seen", "unseen")
    stage.policy(f"read {top}/seen\n")
    client = stage.client()
    wanted = {"mode": "workspace-write", "read_only_access": {"readable_roots": [str(top / "unseen")]}}
    client.error(client.send("configure_session", sandbox=wanted), "refused")
    client.configure("never", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True, "read_only_access": {}})
    end = client.run(["cat", str(top / "seen" / "file")])  # less than the policy permits
    assert end["exit_code"] == 1 and not end["stdout"]["text"], end
    place.cleanup()


def a_sandbox_of_its_own(stage):
    """One command has exactly what its sandbox says, never more than the session's, and the next one has the session's again."""
    place, top = folder("seen", "unseen")
    client = stage.client()
    client.configure("on-failure", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True})
    (stage.work / "sub").mkdir()
    end = client.run("touch no; cat /etc/hostname >/dev/null && echo read", sandbox={"mode": "read-only"}, once=True)
    assert end["stdout"]["text"] == "read\n" and end["sandbox"]["mode"] == "read-only", end
    assert not (stage.work / "no").exists()
    own = {"mode": "split", "read": ["/usr", "/bin", "/lib", "/lib64", "/etc"], "writable": [str(stage.work / "sub")], "deny": []}
    end = client.run(f"touch sub/yes; touch no; cat {top}/seen/file", sandbox=own, once=True, cwd=str(stage.work / "sub"))
    assert (end["exit_code"], end["stdout"]["text"]) == (1, ""), end
    end = client.run("touch yes", sandbox=own, once=True, cwd=str(stage.work / "sub"))
    assert end["exit_code"] == 0 and (stage.work / "sub" / "yes").exists() and not (stage.work / "no").exists(), end
    for wider in ({"mode": "workspace-write", "writable": [str(top / "seen")]}, {"mode": "workspace-write"},
                  {"mode": "split", "read": ["/"], "writable": [str(top)]}):
        message = client.error(client.send("exec", command=["true"], sandbox=wider), "refused")
        assert "additional_permissions" in message, message
    malformed(client, "exec", command=["true"], sandbox={"mode": "read-only", "all": True})
    # More than the session has is asked about, and nothing else of the session's comes with it.
    id = client.send("exec", script=f"touch {top}/seen/more; touch no", sandbox={"mode": "read-only"}, once=True,
                     sandbox_permissions="with_additional_permissions", additional_permissions={"write": [str(top / "seen")]})
    question = client.next("approval_request")
    assert "write" in str(question["accesses"]), question
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    client.next("task_complete", id=id)
    assert (top / "seen" / "more").exists() and not (stage.work / "no").exists(), end
    assert client.run(["touch", "mine"])["exit_code"] == 0 and (stage.work / "mine").exists()
    place.cleanup()


def earlier_answers_do_not_widen_it(stage):
    """What was permitted to the session's commands is not part of an exact sandbox, and stays for the next command."""
    place, top = folder("out")
    client = stage.client()
    client.configure("on-request", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True})
    for decision in ("approved", "approved_for_session"):
        id = client.send("request_permissions", additional_permissions={"write": [str(top / "out")]})
        client.answer(client.next("approval_request"), decision)
        client.next("task_complete", id=id)
        name = top / "out" / decision
        assert client.run(["touch", str(name)], sandbox={"mode": "read-only"}, once=True)["exit_code"] == 1
        assert not name.exists()
        assert client.run(["touch", str(name)])["exit_code"] == 0 and name.exists()
    place.cleanup()


def one_form(stage):
    """What the server says that a sandbox permits is what a client can ask for: a session made from it has the same one."""
    place, top = folder("kept", "out")
    stage.env.pop("TMPDIR", None)
    stage.policy("command ask touch\n")
    client = stage.client("--allow-unconfined")
    kept, out = str(top / "kept"), str(top / "out")
    wanted = ({"mode": "read-only"}, {"mode": "read-only", "deny": [kept]},
              {"mode": "read-only", "network": "enabled", "read_only_access": {"readable_roots": [out]}},
              {"mode": "workspace-write", "writable": [out], "read": [out + "/a"], "deny": [kept]},
              {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True}, {"mode": "workspace-write", "read": ["/tmp"]},
              {"mode": "split", "read": ["/"], "writable": [out], "deny": [kept]})
    for n, sandbox in enumerate(wanted):
        told = client.configure("on-request", name=f"first{n}", sandbox=sandbox)["sandbox"]
        harness.check("sandbox", told)
        assert client.configure("on-request", name=f"second{n}", sandbox=told)["sandbox"] == told, (sandbox, told)
        id = client.send("exec", session=f"second{n}", command=["touch", out + f"/{n}"], once=True)
        question = client.next("approval_request")
        assert question.get("sandbox", told) == told and question["confined"] == ("sandbox" in question), (question, told)
        client.answer(question, "approved")
        end = client.next("exec_end", id=id)
        assert (end["sandbox"], end["confined"]) == (told, question["confined"]), (end, told)
    for mode in ("external", "danger-full-access"):  # no command: one could write the policies of other cases
        told = client.configure("on-request", name=mode, sandbox={"mode": mode})["sandbox"]
        assert client.configure("on-request", name=mode + "-again", sandbox=told)["sandbox"] == told, told
    shown = client.configure("on-request", name="shown", sandbox=wanted[3])["sandbox"]
    assert (shown["writable"], shown["read"], shown["deny"]) == (sorted(["/tmp", out, str(stage.work)]), [out + "/a"], [kept]), shown
    place.cleanup()


def led_elsewhere(stage):
    """A command does not choose, by a link in place of a folder, what another session, or its own next command, may write; nor what a
    patch may change there without a question."""
    victim, quiet = stage.top / "victim", {"mode": "workspace-write", "exclude_slash_tmp": True, "exclude_tmpdir": True}
    for folder in (victim, stage.work / "inner", stage.work / "out"):
        folder.mkdir()
    client = stage.client()
    client.configure("never", name="inner", cwd=str(stage.work / "inner"), sandbox=quiet)
    client.configure("never", name="out", sandbox={**quiet, "writable": [str(stage.work / "out")]})
    client.configure("never", sandbox=quiet, name="outer")
    for name in ("inner", "out"):
        assert client.run("touch made", session=name)["exit_code"] == 0
    swap = f"mv inner inner2; mv out out2; ln -s {victim} inner; ln -s {victim} out"
    assert client.run(swap, session="outer")["exit_code"] == 0
    for name in ("inner", "out"):
        end = client.run(f"touch {victim}/made out/made", session=name)
        assert end["status"] == "not_started" and "symbolic link" in end["message"], end
        patch = client.send("request_patch_approval", session=name, files=[str(victim / "new")])
        assert client.next("task_complete", id=patch)["outcome"] == "rejected"
    assert client.run(f"touch {victim}/made", session="outer")["status"] == "denied"
    # Nor the socket that a person allows by the name of a link.
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(stage.top / "daemon"))
        server.listen()
        assert client.run(f"ln -s {stage.top / 'daemon'} plain", session="outer")["exit_code"] == 0
        client.configure("on-request", name="reads", sandbox={"mode": "read-only"})
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('plain')"
        id = client.send("exec", session="reads", command=["python3", "-c", connect], sandbox_permissions="with_additional_permissions",
                         additional_permissions={"socket": ["plain"]})
        client.answer(client.next("approval_request"), "approved")
        assert "symbolic link" in client.next("exec_end", id=id, status="not_started")["message"]
    assert not list(victim.iterdir())
    again = client.send("configure_session", approval="never", name="again", cwd=str(stage.work / "inner"), sandbox=quiet)
    assert "symbolic link" in client.error(again, "refused")
    assert not list(victim.iterdir())


def require_and_forbid(stage):
    """A command that requires a sandbox never leaves it; one that must not have one is asked about as one that leaves it."""
    place, top = folder("out")
    stage.policy("command allow touch unconfined\n")
    client = stage.client("--allow-unconfined")
    client.configure("on-failure")
    assert client.run(["touch", str(top / "out" / "by-rule")])["confined"] is False
    id = client.send("exec", command=["touch", str(top / "out" / "kept")], sandbox_preference="require")
    question = client.next("approval_request", retry=True)
    assert "approved_unconfined" not in question["decisions"], question
    client.answer(question, "denied")
    end = client.next("exec_end", id=id)
    assert end["confined"] is True and not (top / "out" / "kept").exists(), end
    client.error(client.send("exec", command=["true"], sandbox_preference="require", sandbox_permissions="require_escalated"), "malformed")
    client.configure("on-request", name="asks")
    id = client.send("exec", session="asks", command=["cp", "/dev/null", str(top / "out" / "free")], sandbox_preference="forbid")
    question = client.next("approval_request")
    assert question["confined"] is False, question
    client.answer(question, "approved")
    end = client.next("exec_end", id=id)
    assert end["confined"] is False and (top / "out" / "free").exists(), end
    client.configure("never", name="open", sandbox={"mode": "danger-full-access"})
    client.error(client.send("exec", session="open", command=["true"], sandbox_preference="require"), "malformed")
    # What ran with all rights could have changed the policy, if a folder on its path has changed since: other tests change /var/tmp.
    subprocess.run([stage.sallyport, "policy", "trust", str(stage.top / "policy")], env=stage.env, check=True, capture_output=True)
    closed = stage.client()
    closed.configure("on-request")
    closed.error(closed.send("exec", command=["true"], sandbox_preference="forbid"), "refused")
    place.cleanup()


def an_open_session_changes(stage):
    """The next command has the new approval mode and sandbox; a change that is refused changes nothing."""
    place, top = folder("out")
    client = stage.client()
    client.configure("never", name="one")
    id = client.send("exec", command=["sleep", "1000"])
    number = client.next("exec_begin", id=id)["exec"]  # a running one does not matter
    told = client.next("session_configured", id=client.send("override_turn_context", sandbox={"mode": "read-only"}))
    assert (told["session"], told["sandbox"]["mode"], told["approval"]) == ("one", "read-only", "never"), told
    assert client.run(["touch", "no"])["exit_code"] == 1 and not (stage.work / "no").exists()
    told = client.next("session_configured", id=client.send("override_turn_context", approval="untrusted"))
    assert (told["sandbox"]["mode"], told["approval"]) == ("read-only", "untrusted"), told
    asked = client.send("exec", command=["touch", "asked"])
    client.answer(client.next("approval_request"), "denied")
    client.next("exec_end", id=asked)
    writable = {"mode": "workspace-write", "writable": [str(top / "out")]}
    client.send("override_turn_context", approval="never", sandbox=writable)
    assert client.run(["touch", str(top / "out" / "yes")])["exit_code"] == 0  # it waits for the change
    for wrong, code in (({"approval": "sometimes"}, "malformed"), ({"sandbox": {"mode": "danger-full-access"}}, "refused"),
                        ({"approval": "untrusted", "sandbox": {"mode": "workspace-write", "writable": ["/srv"], "read": ["/srv"]}}, "malformed")):
        client.error(client.send("override_turn_context", **wrong), code)
    assert client.run(["touch", str(top / "out" / "still")])["exit_code"] == 0
    client.error(client.send("override_turn_context", session="two", approval="never"), "unknown")
    client.send("cancel", exec=number)
    client.next("exec_end", id=id, status="cancelled")
    place.cleanup()


def an_open_session_moves(stage):
    """Its new working directory is writable instead of the one before; one that is refused changes nothing."""
    place, top = folder("new", "more")
    client = stage.client()
    client.configure("never")
    told = client.next("session_configured", id=client.send(
        "override_turn_context", cwd=str(top / "new"), sandbox={"mode": "workspace-write", "writable": [str(top / "more")]}))
    assert told["cwd"] == str(top / "new"), told
    for wrong in ({"cwd": str(top)}, {"cwd": "../x", "sandbox": {"mode": "read-only"}}, {"cwd": "", "sandbox": {"mode": "read-only"}}):
        client.error(client.send("override_turn_context", **wrong), "malformed")
    end = client.run(f"pwd; touch here {top}/more/there; touch {stage.work}/before")
    assert end["stdout"]["text"] == f"{top}/new\n" and end["exit_code"] == 1, end
    assert (top / "new/here").exists() and (top / "more/there").exists() and not (stage.work / "before").exists()
    place.cleanup()


def the_policy_stays_the_floor(stage):
    """A change cannot be less strict than the policy."""
    stage.policy("approvals untrusted\n")
    client = stage.client()
    client.configure("untrusted")
    told = client.next("session_configured", id=client.send("override_turn_context", approval="on-request"))
    assert told["approval"] == "untrusted", told


harness.main([reading_by_roots, roots_within_the_policys, a_sandbox_of_its_own, earlier_answers_do_not_widen_it, one_form, led_elsewhere, require_and_forbid,
              an_open_session_changes, an_open_session_moves, the_policy_stays_the_floor])
