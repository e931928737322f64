#!/usr/bin/env python3
"""The conversation in sallyport-agent(7), held: what the client says there is sent, and the server says what is there, with the same
members. usage: transcript.py SALLYPORT [CASE...]"""
import json

import harness
from harness import TOP

# The values of these members are those of the manual; others differ between runs, and have only the same kind.
SAME = {"jsonrpc", "id", "ids", "method", "session", "exec", "execs", "status", "exit_code", "code", "message", "reason", "decision", "decisions",
        "kind", "command", "protocol_version", "confined", "mode", "network", "evidence", "may_unconfine", "text", "outcome", "deny"}


def lines_of_manual():
    """The messages of both sides, in their order."""
    page = (TOP / "docs/man/sallyport-agent.7").read_text()
    block = page.split("tests/agent/transcript.py", 1)[1].split(".Bd -literal -offset 2n\n", 1)[1].split("\n.Ed", 1)[0]
    messages = []
    for line in block.splitlines():
        if line.startswith("   "):
            messages[-1][1] += line[3:]
        else:
            messages.append([line[0], line[2:]])
    return [(side, json.loads(text)) for side, text in messages]


def compare(told, shown, at=""):
    assert type(told) is type(shown), (at, told, shown)
    if isinstance(shown, dict):
        assert set(told) == set(shown), f"{at}: the server says {sorted(told)}, the manual {sorted(shown)}"
        for name, value in shown.items():
            if name in SAME and not isinstance(value, dict):
                assert told[name] == value, f"{at}.{name}: {told[name]!r}, in the manual {value!r}"
            compare(told[name], value, f"{at}.{name}")
    elif isinstance(shown, list):
        assert len(told) == len(shown), f"{at}: {told}, in the manual {shown}"
        for one, other in zip(told, shown):
            compare(one, other, f"{at}[]")


def conversation(stage):
    stage.env.pop("TMPDIR", None)  # it would be one more writable path
    client, open_questions = stage.client(), []
    messages = lines_of_manual()
    assert len([side for side, _ in messages if side == ">"]) > 5 and all(side in "<>" for side, _ in messages), messages
    client.has_greeted, told = True, []
    for side, message in messages:
        if side == "<":
            told.append(message)
            continue
        methods = {message["id"]: message["method"]}
        harness.check("message", message)
        harness.check(f"submission-{message['method']}", message.get("params", {}))
        hear(client, told, open_questions)
        if message["method"] == "approve":
            message["params"]["approval"] = open_questions.pop()
        client.methods |= methods
        client.raw(json.dumps(message).encode() + b"\n")
    hear(client, told, open_questions)
    assert not client.lines, client.lines
    assert (stage.work / "made").exists()


def hear(client, shown, open_questions):
    """Waits for what the manual shows until the client's next line; empties @shown."""
    for message in shown:
        told = client.line()
        compare(told, message, message.get("method", "reply"))
        if told.get("method") == "approval_request":
            open_questions.append(told["params"]["approval"])
    shown.clear()


if __name__ == "__main__":
    harness.main([conversation])
