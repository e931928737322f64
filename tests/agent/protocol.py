#!/usr/bin/env python3
"""The protocol itself: sent, refused, cut and ended messages. usage: protocol.py SALLYPORT [CASE...]"""
import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import harness
from harness import TOP
from world import descendants, until


def hello(stage):
    client = stage.client()
    session = client.configure()
    assert session["session"] == "s1" and session["cwd"] == str(stage.work), session
    end = client.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (end["status"], end["exit_code"]) == ("exited", 3), end
    assert end["stdout"]["text"] == "out\n" and end["stderr"]["text"] == "err\n", end
    assert end["confined"] and end["attempts"][0]["status"] == "exited", end


def events_in_order(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="printf hi")
    client.next("task_complete", id=id)
    order = [event["type"] for event in client.events if event.get("id") == id]
    assert order == ["task_started", "exec_begin", "exec_output", "exec_end"], order


def output_is_whole(stage):
    client = stage.client()
    client.configure(limits={"event_bytes": 64 << 20})
    id = client.send("exec", script="seq 1 200000")
    end = client.next("exec_end", id=id)
    pieces = [event for event in client.events if event["type"] == "exec_output"]
    text = "".join(event["text"] for event in pieces)
    assert text == "".join(f"{n}\n" for n in range(1, 200001)), len(text)
    assert [event["offset"] for event in pieces][0] == 0 and len(pieces) > 1
    assert end["stdout"]["omitted"] and os.path.getsize(end["stdout"]["spill_file"]) == len(text), end["stdout"]


def all_output_in_events(stage):
    """With whole, neither the bytes nor the number of events has a limit, and no file keeps a copy."""
    client = stage.client()
    client.configure(limits={"event_bytes": 1000})
    script = "i=0; while [ $i -lt 12000 ]; do echo $i; i=$((i + 1)); done; head -c 300000 /dev/zero | tr '\\0' x"
    end = client.next("exec_end", id=client.send("exec", script=script, whole=True))
    pieces = [event for event in client.events if event["type"] == "exec_output"]
    assert "".join(event["text"] for event in pieces) == "".join(f"{n}\n" for n in range(12000)) + "x" * 300000
    assert not any(event.get("dropped") for event in pieces) and "spill_file" not in end["stdout"], end["stdout"]


def bytes_that_are_no_text(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script=r"printf '\377\000\376'")
    end = client.next("exec_end", id=id)
    assert base64.b64decode(end["stdout"]["base64"]) == b"\xff\x00\xfe", end


def characters_are_whole(stage):
    """An incomplete character is held back until the rest, or the end, arrives; also with poll."""
    client = stage.client()
    client.configure()
    script = r"printf 'a\303'; read x; printf '\251b\342\202'"
    id = client.send("exec", script=script, input=True)
    first = client.next("exec_output", id=id)
    assert (first["offset"], first["text"]) == (0, "a"), first
    number = client.next("exec_begin", id=id)["exec"]
    client.send("write_input", exec=number, text="\n")
    end = client.next("exec_end", id=id)
    second, third = (event for event in client.events if event["type"] == "exec_output")
    assert (second["offset"], second["text"]) == (1, "\u00e9b"), second
    assert (third["offset"], base64.b64decode(third["base64"])) == (4, b"\xe2\x82"), third
    assert base64.b64decode(end["stdout"]["base64"]) == "a\u00e9b".encode() + b"\xe2\x82", end["stdout"]
    id = client.send("exec", script=script, input=True, polled=True)
    number = client.next("exec_begin", id=id)["exec"]
    assert client.next("output", id=client.send("poll", exec=number, wait_ms=20000, max_bytes=2))["text"] == "a"
    client.send("write_input", exec=number, text="\n")
    told = client.next("output", id=client.send("poll", exec=number, wait_ms=20000, max_bytes=100))
    assert base64.b64decode(told["base64"]) == "\u00e9b".encode() + b"\xe2\x82" and not told["running"], told
    client.next("exec_end", id=id)
    for pad in ("", "x", "xx"):  # wherever the middle is cut out
        client.configure(name=f"kept{pad}", limits={"kept_bytes": 1000})
        end = client.run(f"printf '%s' '{pad}'; yes '\u20ac' | head -n 5000 | tr -d '\\n'", session=f"kept{pad}")
        text = end["stdout"]["text"]
        assert end["stdout"]["omitted"] and set(text) <= set("x\u20ac[]\n0123456789 bytes left out"), text
        assert f"[{end['stdout']['omitted']} bytes left out]" in text, end["stdout"]["omitted"]


def script_and_command(stage):
    client = stage.client()
    client.configure()
    client.error(client.wrong("exec", "b", script="true", command=["true"]), "malformed")
    client.error(client.wrong("exec", "n"), "malformed")
    assert client.run("echo $0")["stdout"]["text"] == "sh\n"


def cwd_and_env(stage):
    (stage.work / "sub").mkdir()
    client = stage.client()
    client.configure(env={"ONE": "1", "TWO": "2"})
    end = client.run("pwd; echo $ONE $TWO $THREE", cwd="sub", env={"TWO": "zwei", "THREE": "3"})
    assert end["stdout"]["text"] == f"{stage.work}/sub\n1 zwei 3\n", end
    client.error(client.send("exec", script="true", cwd="../.."), "malformed")


def sandbox_holds(stage):
    (stage.top / "outside").mkdir()
    client = stage.client()
    client.configure(approval="never", sandbox={"mode": "workspace-write", "exclude_slash_tmp": True})
    assert client.run("echo x > inside && cat inside")["stdout"]["text"] == "x\n"
    end = client.run(f"echo x > {stage.top}/outside/x")
    assert end["status"] == "denied" and end["exit_code"] != 0, end
    assert any(e["what"] == "write" and e["path"].endswith("outside/x") for e in end["evidence"]), end["evidence"]
    assert not (stage.top / "outside/x").exists()


def read_only(stage):
    client = stage.client()
    client.configure(sandbox={"mode": "read-only"})
    end = client.run("echo x > inside")
    assert end["status"] == "denied" and not (stage.work / "inside").exists(), end


def denied_files(stage):
    (stage.work / "secret").mkdir()
    (stage.work / "secret/key").write_text("k")
    client = stage.client()
    client.configure(sandbox={"mode": "workspace-write", "deny": ["secret"]})
    end = client.run("cat secret/key")
    assert "k" not in end["output"].get("text", "").splitlines(), end
    assert end["status"] == "denied" and end["exit_code"] != 0, end
    assert any(e["what"] == "read" and e["path"].endswith("secret/key") for e in end["evidence"]), end["evidence"]


def open_sandboxes_need_leave(stage):
    client = stage.client()
    for sandbox in ({"mode": "danger-full-access"}, {"mode": "external"},
                    {"mode": "workspace-write", "network": "enabled"}):
        client.error(client.send("configure_session", sandbox=sandbox), "refused")
    client.configure()
    client.error(client.send("exec", script="true", sandbox_permissions="require_escalated"), "refused")
    wide = stage.client("--allow-unconfined")
    wide.configure(sandbox={"mode": "danger-full-access"})
    end = wide.run("readlink /proc/self/ns/net")
    assert end["stdout"]["text"].strip() == os.readlink("/proc/self/ns/net"), end


def own_files_are_hidden(stage):
    client = stage.client("--allow-unconfined")
    client.configure()
    end = client.run(f"ls -A {stage.top}/state {stage.top}/state/sallyport {stage.top}/runtime/sallyport; echo done")
    assert "agent" not in end["stdout"]["text"] and ".sock" not in end["stdout"]["text"], end["stdout"]


def timeout(stage):
    client = stage.client()
    client.configure()
    end = client.run("sleep 60", timeout_ms=200)
    assert (end["status"], end["exit_code"]) == ("timed_out", 124), end


SPIN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def what_it_used(stage):
    """The usage includes all processes, also those that were not waited for, left behind or killed."""
    client = stage.client()
    client.configure()
    for script, least_us in ((SPIN, 10000), (f"({SPIN}) & wait", 10000), (f"({SPIN}; echo up; sleep 60) & read x", 0)):
        id = client.send("exec", script=script, input=True)
        if "read" in script:
            client.next("exec_output", id=id)
            number = client.next("exec_begin", id=id)["exec"]
            client.send("write_input", exec=number, text="\n")
            least_us = 10000
        end = client.next("exec_end", id=id)
        used = end["usage"]
        assert used["user_us"] + used["system_us"] >= least_us and used["max_rss_bytes"] > 100000, (script, used)
        assert used == end["attempts"][0]["usage"], end
    assert "usage" not in client.run("trap '' TERM; sleep 60", timeout_ms=100)  # no process is left to report it
    assert "usage" in client.run("sleep 60", timeout_ms=100)
    assert "usage" not in client.run(["no-such-program-at-all"])
    used = client.run("true")["usage"]
    assert used["max_rss_bytes"] > 100000, used


def signalled(stage):
    client = stage.client()
    client.configure()
    end = client.run("kill -KILL $$")
    assert (end["status"], end["exit_code"], end["signal"]) == ("signalled", 137, 9), end


def not_there(stage):
    client = stage.client()
    client.configure()
    end = client.run(["no-such-program-at-all"])
    assert (end["status"], end["exit_code"]) == ("not_started", 127), end


def cancel(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="trap 'echo bye; exit 0' TERM; echo up; sleep 60 & wait")
    client.next("exec_output", id=id)
    number = client.next("exec_begin", id=id)["exec"]
    client.next("accepted", id=client.send("cancel", exec=number))
    end = client.next("exec_end", id=id)
    assert end["status"] == "cancelled" and "bye" in end["stdout"]["text"], end
    client.error(client.send("cancel", exec=number), "unknown")


def cancelled_as_it_ended(stage):
    """Its output after the request to end is reported."""
    client = stage.client()
    client.configure()
    ends = (("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done", 3, None), ("echo up; exec sleep 60", 143, 15),
            ("trap '' TERM; echo up; while :; do sleep 0.01; done", 137, None))
    for script, code, signal_ in ends:
        id = client.send("exec", script=script)
        number = client.next("exec_begin", id=id)["exec"]
        client.next("exec_output", id=id)
        client.next("accepted", id=client.send("cancel", exec=number))
        end = client.next("exec_end", id=id)
        assert (end["status"], end["exit_code"], end.get("signal")) == ("cancelled", code, signal_), end


def interrupt(stage):
    """An interrupt works at any time, from the beginning on. No script: dash loses a SIGINT while it forks, also without the gate."""
    client = stage.client()
    client.configure()
    id = client.send("exec", command=["sleep", "60"])
    number = client.next("exec_begin", id=id)["exec"]
    client.next("accepted", id=client.send("interrupt", exec=number))
    assert client.next("exec_end", id=id)["status"] == "interrupted"


def input_and_its_end(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", command=["cat"], input=True)
    number = client.next("exec_begin", id=id)["exec"]
    assert client.next("accepted", id=client.send("write_input", exec=number, text="one\n"))["taken"] == 4
    client.next("exec_output", id=id, text="one\n")
    data = base64.b64encode(b"\x00\xff").decode()
    client.next("accepted", id=client.send("write_input", exec=number, base64=data, eof=True))
    end = client.next("exec_end", id=id)
    assert base64.b64decode(end["stdout"]["base64"]) == b"one\n\x00\xff", end
    client.error(client.send("write_input", exec=number, text="x"), "unknown")


def terminal(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="stty size; read x; stty size; test -t 1 && echo tty", tty={"rows": 10, "cols": 33})
    client.next("exec_output", id=id)
    number = client.next("exec_begin", id=id)["exec"]
    client.next("accepted", id=client.send("resize", exec=number, rows=7, cols=20))
    client.next("accepted", id=client.send("write_input", exec=number, text="\n"))
    text = client.next("exec_end", id=id)["output"]["text"]
    assert "10 33" in text and "7 20" in text and "tty" in text, text
    other = client.send("exec", script="sleep 60")
    number = client.next("exec_begin", id=other)["exec"]
    client.error(client.send("resize", exec=number, rows=7, cols=20), "malformed")


def background(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="echo one; read x; echo two", mode="background", yield_ms=100, polled=True, input=True)
    number = client.next("background", id=id)["exec"]
    until(lambda: "one" in client.next("output", id=client.send("poll", exec=number, wait_ms=50)).get("text", "") or None
          or True, 10, "no output")
    listed = client.next("listed", id=client.send("list", what="execs"))["items"]
    assert [item["state"] for item in listed] == ["background"], listed
    client.never("exec_end", id=id)
    client.next("accepted", id=client.send("write_input", exec=number, text="\n"))
    end = client.next("exec_end", id=id)
    assert end["exit_code"] == 0 and end["stdout"]["text"] == "one\ntwo\n", end
    assert client.next("task_complete", id=id)["outcome"] == "exited"


def background_that_is_short(stage):
    client = stage.client()
    client.configure()
    assert client.run("echo x", mode="background", yield_ms=20000)["exit_code"] == 0
    client.never("background")


def cancelled_as_it_yields(stage):
    """Whenever a cancel comes, before its command is in the background, after it or just then: it is not lost."""
    client = stage.client()
    client.configure()
    for yield_ms in (0, 1, 2, 3, 5) * 8:
        id = client.send("exec", script="sleep 300", mode="background", yield_ms=yield_ms)
        number = client.next("exec_begin", id=id)["exec"]
        client.next("accepted", id=client.send("cancel", exec=number))
        assert client.next("exec_end", id=id)["status"] == "cancelled", yield_ms
        client.next("task_complete", id=id, outcome="cancelled")


def polls(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="cat", polled=True, input=True)
    number = client.next("exec_begin", id=id)["exec"]
    first = client.send("poll", exec=number, wait_ms=20000, max_bytes=3)
    client.error(client.send("poll", exec=number, wait_ms=1), "busy")
    client.send("write_input", exec=number, text="abc")
    told = client.next("output", id=first)
    assert told["text"] == "abc" and told["running"], told
    last = client.send("poll", exec=number, wait_ms=20000)
    client.send("write_input", exec=number, eof=True)
    assert client.next("output", id=last)["running"] is False
    client.next("exec_end", id=id)
    client.never("exec_output")


def unknown_members_and_types(stage):
    client = stage.client()
    client.configure()
    assert client.next("exec_end", id=client.wrong("exec", "a", script="true", from_the_future={"x": 1}))["exit_code"] == 0
    client.error(client.wrong("dance", "b"), "unknown_method")
    # An unknown member that may be a restriction is not ignored.
    client.error(client.wrong("configure_session", "d", sandbox={"mode": "read-only", "only": "x"}), "malformed")
    client.error(client.wrong("approve", "e", approval="x", kind="exec", decision="yes"), "malformed")


def malformed_lines(stage):
    client = stage.client()
    client.configure()
    request = b'{"jsonrpc":"2.0","id":%s,"method":"list","params":{"what":"execs"}}'
    for number, line in ((-32700, b"{"), (-32700, b"\x00"), (-32700, b'{"id":"x","id":"y"}'), (-32600, b'"x"'), (-32600, b'{"type":"exec"}'),
                         (-32600, b"[" + request % b"1" + b"]"), (-32600, request % b"null"), (-32600, request % b"1.5"),
                         (-32600, request % b"true"), (-32600, request % (b'"%s"' % (b"x" * 129))),
                         (-32600, request.replace(b'"id":%s,', b"")), (-32600, b'{"jsonrpc":"2.0","id":"q","method":7}'),
                         (-32600, b'{"jsonrpc":"2.0","id":"q","result":{}}'), (-32600, b'{"jsonrpc":"2.0","id":"q"}'),
                         (-32600, b'{"jsonrpc":"2.0","id":"q","method":"list","result":{}}'), (-32602, b'{"jsonrpc":"2.0","id":"q","method":"list","params":[]}'),
                         (-32700, b'{"jsonrpc":"2.0","id":"q","method":"list","params":' + b'{"x":' * 100 + b"1" + b"}" * 101),
                         (-32600, (request % b"1").replace(b"2.0", b"1.0"))):
        client.raw(line + b"\n")
        error = client.next("error")
        assert error["code"] == "malformed" and error["number"] == number, (line, error)
    client.raw(b'{"version":1,"type":"exec","id":"old","script":"touch made"}\n')
    assert "version 1" in client.error("old", "malformed")
    assert not (stage.work / "made").exists()
    assert client.run("echo still")["stdout"]["text"] == "still\n"
    client.raw(b"{\n" * 40)
    client.next("error", code="closing")
    assert client.wait() == 0


def begins_with_initialize(stage):
    """Nothing is served before, no other version is, and it is sent once."""
    client = stage.client()
    for type, params in (("configure_session", {}), ("exec", {"script": "touch made"})):
        client.raw(harness.line_of(type, type, **params))
        client.error(type, "not_initialized")
    for version in (0, 1, 3):
        client.raw(harness.line_of("initialize", "i", protocol_version=version))
        client.error("i", "version")
    for params in ({}, {"protocol_version": "2"}, {"protocol_version": 2.0}):
        client.raw(harness.line_of("initialize", "i", **params))
        client.error("i", "malformed")
    client.raw(harness.line_of("list", "l", what="execs"))
    client.error("l", "not_initialized")
    client.configure()
    client.error(client.wrong("initialize", "i", protocol_version=2), "malformed")
    assert client.run("test ! -e made")["exit_code"] == 0


def ids_come_back_as_they_were(stage):
    """A number stays a number, and 7 is not \"7\"."""
    client = stage.client()
    client.configure()
    for id in (7, -7, 0, 2**63 - 1, "", "7", "\x7f\"\\\u20ac"):
        client.send("exec", id=id, script="true")
        assert [client.next(type, id=id)["id"] for type in ("task_started", "exec_begin", "exec_end")] == [id] * 3
    for id in (1, "1"):
        client.send("exec", id=id, script="read x", input=True)
    begins = [client.next("exec_begin"), client.next("exec_begin")]
    listed = client.next("listed", id=client.send("list", what="execs"))["items"]
    assert sorted((item["id"] for item in listed), key=repr) == ["1", 1], listed
    for begin in begins:
        client.send("write_input", exec=begin["exec"], eof=True)
        client.next("exec_end", id=begin["id"])
    client.send("request_patch_approval", id=8, files=["a"])
    client.next("patch_apply_begin", id=8)
    client.next("task_complete", id=8, outcome="approved")
    client.error(client.send("patch_applied", patch="8", success=True), "unknown")
    client.next("accepted", id=client.send("patch_applied", patch=8, success=True))
    assert client.next("patch_apply_end", id=8)["success"]


def reads_only_below_tmp(stage):
    """A working directory below /tmp can be read, although /tmp is otherwise the command's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        pathlib.Path(folder, "file").write_text("here\n")
        client = stage.client()
        client.configure("never", cwd=folder, sandbox={"mode": "read-only"})
        end = client.run("cat file && ls /tmp")
        assert end["stdout"]["text"] == f"here\n{pathlib.Path(folder).name}\n", end
        end = client.run(["touch", "made"])
        assert end["exit_code"] == 1, end
        assert os.listdir(folder) == ["file"]
        client.hang_up()
        assert client.wait() == 0


def ids_are_used_once(stage):
    """The id of an open submission cannot be used again; a command is either words or a script, and words are not empty."""
    client = stage.client()
    client.configure("never")
    client.send("exec", id="one", command=["sleep", "1000"])
    number = client.next("exec_begin", id="one")["exec"]
    client.send("exec", id="one", command=["touch", "made"])
    assert "open" in client.next("error", code="malformed")["message"]
    client.send("list", id="one", what="execs")
    assert "open" in client.next("error", code="malformed")["message"]
    client.send("cancel", exec=number)
    client.next("task_complete", id="one")
    assert not (stage.work / "made").exists()
    assert client.run(["touch", "made"])["exit_code"] == 0
    client.error(client.wrong("exec", "none", command=[], script="true"), "malformed")


def a_line_that_is_too_long(stage):
    client = stage.client()
    client.configure()
    client.raw(b'{"jsonrpc":"2.0","method":"exec","id":"' + b"x" * (2 << 20) + b'"}\n')
    assert client.next("error")["code"] == "malformed"
    assert client.run("echo still")["stdout"]["text"] == "still\n"


def sessions(stage):
    client = stage.client()
    client.error(client.send("exec", script="true"), "unknown")
    client.configure(name="one", env={"WHO": "one"})
    client.configure(name="two", env={"WHO": "two"})
    client.error(client.send("configure_session", name="two"), "busy")
    assert client.run("echo $WHO")["stdout"]["text"] == "one\n"
    assert client.run("echo $WHO", session="two")["stdout"]["text"] == "two\n"
    id = client.send("exec", script="sleep 60", session="one")
    number = client.next("exec_begin", id=id)["exec"]
    client.error(client.send("cancel", exec=number, session="two"), "unknown")
    client.send("end_session", session="one")
    assert client.next("exec_end", id=id)["status"] == "cancelled"
    client.next("session_ended", session="one")
    assert client.run("echo $WHO")["stdout"]["text"] == "two\n"
    client.error(client.send("exec", script="true", session="one"), "unknown")


def caches_of_tools(stage):
    """Caches that may be written and are not the user's, of the session's own directory, for sessions that may write there."""
    own, other = stage.top / "home/.npm", stage.top / "other"
    own.mkdir()
    other.mkdir()
    (own / "of-the-user").write_text("user\n")
    held = {"exclude_slash_tmp": True, "exclude_tmpdir": True}
    sandboxes = {"workspace": {"mode": "workspace-write", **held}, "split": {"mode": "split", "read": ["/"], "writable": [str(stage.work)]}}
    look = "ls ~/.npm; echo made >>~/.npm/made"
    client = stage.client()
    for name, sandbox in sandboxes.items():
        client.configure(name=name, sandbox=sandbox)
        for seen in ("", "made\n") if name == "workspace" else ("made\n",):
            end = client.run(look, session=name)
            assert (end["stdout"]["text"], end["exit_code"]) == (seen, 0), (name, end)
    client.configure(name="other", cwd=str(other), sandbox=sandboxes["workspace"])
    client.configure(name="again", cwd=str(other), sandbox=sandboxes["workspace"])
    for name, seen in (("other", ""), ("again", "made\n")):
        end = client.run(look, session=name)
        assert (end["stdout"]["text"], end["exit_code"]) == (seen, 0), (name, end)
    client.configure(name="read", sandbox={"mode": "read-only"})
    end = client.run(look, session="read")
    assert end["stdout"]["text"] == "of-the-user\n" and end["exit_code"] != 0, end
    none = stage.client("--cache", "none")
    none.configure(sandbox=sandboxes["workspace"])
    end = none.run(look)
    assert end["stdout"]["text"] == "of-the-user\n" and end["exit_code"] != 0, end
    assert [path.name for path in own.iterdir()] == ["of-the-user"]


def limits(stage):
    client = stage.client()
    client.configure(limits={"execs": 1, "timeout_ms": 100})
    id = client.send("exec", script="sleep 60")
    client.error(client.send("exec", script="true"), "busy")
    assert client.next("exec_end", id=id)["status"] == "timed_out"


def nothing_to_read(stage):
    """epoll(7) has nothing to wait for at /dev/null; a client that says nothing is gone at once."""
    for step in ("agent", "mcp"):
        for output in (subprocess.PIPE, subprocess.DEVNULL):
            done = subprocess.run([stage.sallyport, step, "--audit", str(stage.audit)], env=stage.env, cwd=stage.work,
                                  stdin=subprocess.DEVNULL, stdout=output, timeout=harness.PATIENCE)
            assert done.returncode == 0, (step, done)


def nothing_is_left_when_it_hangs_up(stage):
    client = stage.client()
    client.configure()
    for n in range(3):
        id = client.send("exec", script="trap '' TERM; sleep 300", mode=("wait", "background")[n % 2], yield_ms=10)
        client.next("exec_begin", id=id)
    process = client.process.pid
    until(lambda: list(descendants(process).values()).count("sleep") == 3, 120, "they do not run")
    client.hang_up()
    assert client.wait() == 0
    until(lambda: "sleep" not in descendants(os.getpid()).values(), 120, "something is left")


def told_to_end(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="sleep 300")
    client.next("exec_begin", id=id)
    client.process.send_signal(signal.SIGTERM)
    assert client.next("exec_end", id=id)["status"] == "cancelled"
    client.next("session_ended")
    assert client.wait() == 0


def worker_dies(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="sleep 300")
    client.next("exec_begin", id=id)
    ours = os.readlink("/proc/self/ns/net")
    until(lambda: any(name == "sleep" for name in descendants(client.process.pid).values()), 120, "it does not run")
    for _ in range(5):  # it is replaced, up to a point
        worker = until(lambda: [pid for pid, name in descendants(client.process.pid).items()
                                if name == "sallyport" and os.readlink(f"/proc/{pid}/ns/net") == ours], 120, "no worker")
        os.kill(worker[0], signal.SIGKILL)
        until(lambda: worker[0] not in descendants(client.process.pid), 120, "it is not gone")
    client.next("error", code="closing")
    client.next("exec_end", id=id)
    assert client.wait() == 125


def gate_dies(stage):
    client = stage.client()
    client.configure()
    id = client.send("exec", script="sleep 300")
    client.next("exec_begin", id=id)
    until(lambda: any(name == "sleep" for name in descendants(client.process.pid).values()), 120, "it does not run")
    client.process.kill()
    client.wait()
    until(lambda: "sleep" not in descendants(os.getpid()).values(), 120, "something is left")


def who_does_not_read(stage):
    """Its commands are held back, and no output is lost: all of it is there when the client reads again."""
    client = stage.client()
    client.configure(limits={"event_bytes": 64 << 20})
    reader, client.reader = client.reader, None
    id = client.send("exec", script="head -c 6000000 /dev/zero | tr '\\0' x; echo end")
    end = client.next("exec_end", id=id, seconds=60)
    text = sum(len(event["text"]) for event in client.events if event["type"] == "exec_output")
    dropped = sum(event.get("dropped", 0) for event in client.events if event["type"] == "exec_output")
    assert text + dropped == 6000004, (text, dropped)
    assert end["exit_code"] == 0


def high_water(pid):
    line, = [line for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def half_a_line_without_end(stage):
    """A line that is too long, however long, is one error, and the next line is read."""
    client = stage.client()
    client.configure()
    before = high_water(client.process.pid)
    client.raw(b'{"jsonrpc":"2.0","method":"exec","id":"')
    for _ in range(4096):  # 1 GB
        client.raw(b"x" * (256 << 10))
    assert high_water(client.process.pid) < before + (512 << 20), (before, high_water(client.process.pid))
    client.raw(b"\n")
    assert client.next("error")["code"] == "malformed"
    assert client.run("echo still")["stdout"]["text"] == "still\n"
    client.raw(b'{"jsonrpc":"2.0","method":"exec","id":"cut","params":{"command":["touch","cut"]}')
    client.hang_up()  # in the middle
    assert client.wait() == 0
    assert not (stage.work / "cut").exists()


def ten_thousand_from_who_does_not_read(stage):
    """It is disconnected, and its waiting commands do not run."""
    process = subprocess.Popen([stage.sallyport, "agent", "--audit", str(stage.audit), *stage.options], env=stage.env,
                               cwd=stage.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    lines = [harness.line_of("initialize", "h", protocol_version=2), harness.line_of("configure_session", "c", approval="untrusted")]
    lines += [harness.line_of("exec", f"t{n}", command=["touch", f"ran{n}", "x" * 500]) for n in range(10000)]
    try:
        for line in lines:
            process.stdin.write(line)
        process.stdin.flush()
        assert high_water(process.pid) < 512 << 20, high_water(process.pid)
        process.stdin.close()
    except BrokenPipeError:
        pass  # given up already
    process.wait(120)  # nobody has read a byte
    assert not list(stage.work.glob("ran*"))
    process.stdout.close()


def over_a_socket(stage):
    folder = stage.top / "sockets"
    folder.mkdir(mode=0o700)
    path = folder / "agent.sock"
    server = stage.client("--socket", str(path))
    until(path.exists, 120, "no socket")
    assert path.stat().st_mode & 0o777 == 0o600
    one, two = stage.client(connect=path), stage.client(connect=path)
    one.configure(name="same")
    two.configure(name="same")
    assert one.run("echo one")["stdout"]["text"] == "one\n"
    end = two.run(f"ls -A {folder} | wc -l")
    assert end["stdout"]["text"].strip() == "0", end  # hidden from what runs
    one.hang_up()
    assert two.run("echo two")["stdout"]["text"] == "two\n"
    id = two.send("exec", script="sleep 300")
    two.next("exec_begin", id=id)
    server.process.send_signal(signal.SIGTERM)
    assert server.wait() == 0
    assert not path.exists()
    until(lambda: "sleep" not in descendants(os.getpid()).values(), 120, "something is left")


def socket_folder_is_closed(stage):
    folder = stage.top / "open"
    folder.mkdir(mode=0o755)
    client = stage.client("--socket", str(folder / "agent.sock"))
    assert client.wait() == 2
    client = stage.client("--socket", str(stage.work / "agent.sock"))
    assert client.wait() == 2


def every_message(stage):
    """Every message that has a schema is exchanged in one conversation, and no message is without one."""
    before = set(harness.SEEN)
    harness.SEEN.clear()
    stage.web("a.test")
    hook = stage.top / "hook"
    hook.write_text("#!/bin/sh\ncat >/dev/null\necho '{\"answer\":\"pass\"}'\n")
    hook.chmod(0o755)
    stage.policy(f'command ask touch\nhook "{hook}" for elicitation\n')
    client = stage.client()
    client.configure("on-request")
    client.next("session_configured", id=client.send("override_turn_context", approval="on-request"))
    id = client.send("request_elicitation", reason="which?")
    review = client.next("review_started", by="hook", kind="elicitation")
    assert review["ids"] == [id], review
    client.next("review_completed", review=review["review"], outcome="pass")
    client.answer(client.next("approval_request"), "denied")
    client.next("task_complete", id=id)
    ids = [client.send("exec", command=["touch", "x"])]
    question = client.next("approval_request")
    ids.append(client.send("exec", command=["touch", "x"]))
    client.next("approval_updated", approval=question["approval"])
    client.answer(question, "denied")
    for id in ids:
        client.next("task_complete", id=id)
    id = client.send("request_patch_approval", files=[str(stage.top / "a")])
    client.answer(client.next("approval_request"), "approved_for_session")
    client.next("patch_apply_begin", id=id)
    client.next("task_complete", id=id, outcome="approved")
    client.next("accepted", id=client.send("patch_applied", patch=id, success=True))
    client.next("patch_apply_end", id=id)
    grants = client.next("listed", id=client.send("list", what="grants"))["items"]
    client.next("accepted", id=client.send("revoke", grant=grants[0]["grant"]))
    for type, members in (("request_permissions", {"additional_permissions": {"write": ["/srv"]}}),
                          ("request_elicitation", {"reason": "which?"}),
                          ("propose_network_rule", {"destination": "http://a.test:80", "reason": "for parts"})):
        id = client.send(type, **members)
        client.answer(client.next("approval_request"), "denied")
        client.next("task_complete", id=id)
    client.configure("untrusted", name="other")
    id = client.send("exec", command=["git", "fetch"], session="other")
    question = client.next("approval_request")
    (stage.top / "config").rename(stage.top / "gone")
    (stage.top / "config").write_text("no folder: no answer can be kept there")
    client.answer(question, "always")
    client.next("warning")  # it was allowed once
    client.next("task_complete", id=id)
    (stage.top / "config").unlink()
    (stage.top / "gone").rename(stage.top / "config")
    id = client.send("exec", script="echo up; head -n1; curl -sS http://a.test/", tty={}, mode="background", yield_ms=1)
    number = client.next("background", id=id)["exec"]
    client.next("accepted", id=client.send("resize", exec=number, rows=9, cols=9))
    client.next("accepted", id=client.send("write_input", exec=number, text="\n"))
    client.answer(client.next("approval_request"), "denied")
    client.next("network_denied", id=id)
    client.next("task_complete", id=id)
    id = client.send("exec", command=["cat"], input=True, polled=True)
    number = client.next("exec_begin", id=id)["exec"]
    client.next("output", id=client.send("poll", exec=number, wait_ms=1))
    client.next("accepted", id=client.send("interrupt", exec=number))
    client.next("task_complete", id=id)
    id = client.send("exec", command=["touch", "y"])
    asked = client.next("approval_request")["approval"]
    client.next("accepted", id=client.send("cancel", exec=client.next("task_started", id=id)["exec"]))
    client.next("approval_resolved", approval=asked)
    client.next("task_complete", id=id)
    client.error(client.send("cancel", exec=number), "unknown")
    client.send("end_session")
    client.next("session_ended")
    client.process.send_signal(signal.SIGTERM)
    client.next("error", code="closing")
    unseen = set(harness.SCHEMAS) - harness.SEEN - {"sandbox"}  # a part of others
    assert not unseen, f"never sent, or never told: {sorted(unseen)}"
    harness.SEEN |= before
    with open(TOP / "agent/session/submission.c", encoding="utf-8") as source:
        served = set(re.findall(r'\t{ "(\w+)", \w+, (?:true|false) },', source.read()))
    for kind in ("submission", "result"):
        assert {f"{kind}-{method}" for method in served} == {name for name in harness.SCHEMAS if name.startswith(kind)}, served
    with open(TOP / "agent/session/tell.c", encoding="utf-8") as source:
        told = set(re.findall(r'\] = "(\w+)"', source.read()))
    assert {f"event-{type}" for type in told} == {name for name in harness.SCHEMAS if name.startswith("event")}, told


def denied_for_every_session(stage):
    """--deny-read takes a path from every session."""
    secret = stage.work / "secret"
    secret.write_text("hidden words\n")
    client = stage.client("--deny-read", str(secret))
    client.configure()
    assert client.run(["cat", str(secret)])["exit_code"] != 0
    client.never("exec_output", text="hidden words\n")
    assert client.run(["sh", "-c", f"echo x > {secret}"])["exit_code"] != 0
    assert client.run(["cat", "/dev/null"])["exit_code"] == 0
    assert secret.read_text() == "hidden words\n"


CASES = [hello, events_in_order, output_is_whole, all_output_in_events, bytes_that_are_no_text, characters_are_whole, script_and_command, cwd_and_env, sandbox_holds,
         read_only, denied_files, denied_for_every_session, open_sandboxes_need_leave, own_files_are_hidden, timeout, what_it_used, signalled, not_there, cancel,
         cancelled_as_it_ended, interrupt, input_and_its_end, terminal, background, background_that_is_short, cancelled_as_it_yields, polls, unknown_members_and_types,
         malformed_lines, begins_with_initialize, ids_come_back_as_they_were, reads_only_below_tmp, ids_are_used_once, a_line_that_is_too_long, sessions, caches_of_tools, limits, nothing_to_read, nothing_is_left_when_it_hangs_up, told_to_end,
         worker_dies, gate_dies, who_does_not_read, half_a_line_without_end,
         ten_thousand_from_who_does_not_read, over_a_socket, socket_folder_is_closed, every_message]

if __name__ == "__main__":
    harness.main(CASES)
