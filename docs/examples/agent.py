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


def send(method, **params):
    """Sends one submission: a request of JSON-RPC 2.0 on a line. Its reply, and events about it, have the same id."""
    id = next(numbers)
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    return id


def ask(question):
    """Shows a question, and answers with one of the decisions that it offers."""
    what = question.get("destination") or question.get("command") or question.get("accesses") or question.get("items")
    print(f"? {question['kind']}: {json.dumps(what)} {question.get('warning', '')}".rstrip())
    print(f"  one of {', '.join(question['decisions'])}:")
    line = sys.stdin.readline().strip()
    decision = line if line in question["decisions"] else "denied"  # anything else denies
    answer = {"approval": question["approval"], "kind": question["kind"], "decision": decision}
    if "confirmation" in question and decision.startswith("approved"):
        print(f"  type {question['confirmation']} to allow it:")
        answer["confirmation"] = sys.stdin.readline().strip()
    send("approve", **answer)


def wait(id):
    """Handles events until the reply to submission @id; returns its result."""
    for line in server.stdout:
        message = json.loads(line)
        if message.get("method") == "exec_output":
            print(message["params"].get("text", "(bytes)\n"), end="")
        elif message.get("method") == "approval_request":
            ask(message["params"])
        elif "error" in message:
            print(f"! {message['error']['message']}")
        if "method" not in message and message["id"] == id:
            return message.get("result", {})
    sys.exit("the server is gone")


wait(send("initialize", protocol_version=2))
wait(send("configure_session", approval="untrusted", on_denial="report"))
while script := sys.stdin.readline().strip():
    if end := wait(send("exec", script=script, timeout_ms=60000)):
        print(f"[{end['status']} {end['exit_code']}] {end.get('message', '')}".rstrip())
send("end_session")
server.stdin.close()
sys.exit(server.wait())
