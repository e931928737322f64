#!/usr/bin/env python3
"""Runs each line of its input in a sandbox, and asks the user when a command needs a permission.

usage: agent.py [SALLYPORT] [OPTION...]     (options are those of `sallyport agent`)"""
import itertools
import json
import subprocess
import sys

program, options = (sys.argv[1:2] or ["sallyport"])[0], sys.argv[2:]
server = subprocess.Popen([program, "agent", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
numbers = itertools.count(1)


def send(type, **members):
    """Sends one submission: an object on a line. The events that answer it have the same id."""
    id = str(next(numbers))
    server.stdin.write(json.dumps({"version": 1, "type": type, "id": id, **members}) + "\n")
    server.stdin.flush()
    return id


def ask(question):
    """Shows a question, and answers with one of the decisions that it offers."""
    what = question.get("destination") or question.get("argv") or question.get("accesses") or question.get("items")
    print(f"? {question['kind']}: {json.dumps(what)} {question.get('warning', '')}".rstrip())
    print(f"  one of {', '.join(question['decisions'])}:")
    line = sys.stdin.readline().strip()
    decision = line if line in question["decisions"] else "denied"  # anything else denies
    answer = {"approval": question["approval"], "kind": question["kind"], "decision": decision}
    if "typed" in question and decision.startswith("approved"):
        print(f"  type {question['typed']} to allow it:")
        answer["typed"] = sys.stdin.readline().strip()
    send("approve", **answer)


def wait(id):
    """Handles events until the last one for submission @id, or an error."""
    for line in server.stdout:
        event = json.loads(line)
        if event["type"] == "exec_output":
            print(event.get("text", "(bytes)\n"), end="")
        elif event["type"] == "approval_request":
            ask(event)
        elif event["type"] == "exec_end":
            print(f"[{event['status']} {event['exit_code']}] {event.get('why', '')}".rstrip())
        elif event["type"] == "error":
            print(f"! {event['message']}")
        if event.get("id") == id and event["type"] in ("session_configured", "task_complete", "error"):
            return event
    sys.exit("the server is gone")


wait(send("configure_session", approval="untrusted", on_denial="report"))
while script := sys.stdin.readline().strip():
    wait(send("exec", script=script, timeout_ms=60000))
send("end_session")
server.stdin.close()
sys.exit(server.wait())
