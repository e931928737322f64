#!/usr/bin/env python3
"""The client packages of clients/: what both promise, tried with a real server, and their examples. usage: packages.py SALLYPORT [CASE...]"""
import asyncio
import json
import signal
import subprocess
import sys

import harness
from harness import PATIENCE, TOP

PYTHON, TYPESCRIPT = TOP / "clients/python", TOP / "clients/typescript"
sys.path.insert(0, str(PYTHON))
import sallyport  # noqa: E402


def agent(stage):
    """A program that is the server with the options of this case."""
    program = stage.top / "agent"
    options = " ".join(f"'{option}'" for option in ("--audit", str(stage.audit), *stage.options))
    program.write_text(f'#!/bin/sh\n[ "$1" = agent ] || exit 2\nexec "{stage.sallyport}" "$@" {options}\n')
    program.chmod(0o755)
    return str(program)


def with_client(ask=None, program=None):
    """A case that is a coroutine of the stage and a client."""
    def wrap(case):
        def run(stage):
            async def main():
                async with sallyport.Client(program or agent(stage), ask=ask, cwd=stage.work, env=stage.env) as client:
                    await case(stage, client)
            asyncio.run(asyncio.wait_for(main(), PATIENCE))
        run.__name__ = case.__name__
        return run
    return wrap


async def approve(question):
    if question["kind"] == "network":
        return {"decision": "approved", "confirmation": question["confirmation"]}
    return "denied" if "refused" in question["command"] else "approved"


@with_client(approve)
async def python_questions(stage, client):
    """They are answered, by a decision or by one with more members; a denial has its reason."""
    session = await client.configure_session(approval="untrusted")
    assert session["sandbox"]["mode"] == "workspace-write", session
    end = await client.run(command=["touch", "made"])
    assert (end["status"], end["exit_code"]) == ("exited", 0) and (stage.work / "made").exists(), end
    end = await client.run(command=["touch", "refused"])
    assert (end["status"], end["by"]) == ("rejected", "person") and not (stage.work / "refused").exists(), end
    both = await asyncio.gather(*(client.run(command=["touch", name]) for name in ("one", "two")))
    assert [end["exit_code"] for end in both] == [0, 0] and (stage.work / "two").exists(), both


@with_client()
async def python_nobody(stage, client):
    """Without anyone to ask, a question is denied, as by nobody."""
    await client.configure_session(approval="untrusted")
    end = await client.run(command=["touch", "made"])
    assert (end["status"], end["by"]) == ("rejected", "no_answer") and not (stage.work / "made").exists(), end


async def fail(question):
    raise ValueError("no person is here")


@with_client(fail)
async def python_failing(stage, client):
    """So it is if the one who is asked fails, or has no answer that the server takes."""
    await client.configure_session(approval="untrusted")
    end = await client.run(command=["touch", "made"])
    assert end["status"] == "rejected" and "no person is here" in end["message"], end
    client.ask = lambda question: asyncio.sleep(0, "sometimes")
    end = await client.run(command=["touch", "made"])
    assert end["status"] == "rejected" and not (stage.work / "made").exists(), end


@with_client()
async def python_output(stage, client):
    """The events of a command, and its input; interrupt and cancel."""
    await client.configure_session(approval="never")
    command = await client.exec(script="echo out; echo err >&2; read line; echo $line; exit 3", input=True)
    assert await command.write("typed\n") == 6
    events = [event async for event in command]
    end = await command.result()
    said = "".join(event.params["text"] for event in events if event.method == "exec_output")
    assert sorted(said.split()) == ["err", "out", "typed"] and end["exit_code"] == 3, (events, end)
    assert end["stdout"]["text"] == "out\ntyped\n" and [event async for event in command] == [], end
    for act, status in (("interrupt", "interrupted"), ("cancel", "cancelled")):
        command = await client.exec(command=["sleep", "1000"])
        async for event in command:
            if event.method == "exec_begin":
                await getattr(command, act)()
        assert (await command.result())["status"] == status


@with_client()
async def python_errors(stage, client):
    """What the server refuses is an exception with its reason, and the client goes on."""
    for method, params, reason in (("no_such_method", {}, "unknown_method"), ("configure_session", {"approval": "sometimes"}, "malformed"),
                                   ("list", {"what": "execs", "session": "none"}, "unknown")):
        try:
            await client.call(method, **params)
        except sallyport.Refused as refused:
            assert refused.reason == reason and str(refused), refused
        else:
            raise AssertionError(f"{method} was not refused")
    await client.configure_session(approval="never")
    command = await client.exec(command=["true"], cwd="../..")
    try:
        await command.interrupt()
    except sallyport.Refused as refused:
        assert refused.reason == "malformed", refused
    assert (await client.run(command=["true"]))["exit_code"] == 0


@with_client()
async def python_death(stage, client):
    """If the server ends, everything that waits for it raises Gone, and so does what follows."""
    await client.configure_session(approval="never")
    command = await client.exec(command=["sleep", "1000"])
    await command.number()
    client.process.send_signal(signal.SIGKILL)
    assert [event.method async for event in command][-1:] != ["exec_output"]
    for wait in (command.result, command.interrupt, lambda: client.run(command=["true"])):
        try:
            await wait()
        except sallyport.Gone as gone:
            assert "-9" in str(gone), gone
        else:
            raise AssertionError("nothing was raised")


def python_nonsense(stage):
    """A server that does not speak the protocol is ended."""
    program = stage.top / "nonsense"
    program.write_text("#!/bin/sh\necho hello\nexec sleep 1000\n")
    program.chmod(0o755)

    async def main():
        try:
            async with sallyport.Client(str(program)):
                raise AssertionError("it began")
        except sallyport.Gone as gone:
            assert "protocol" in str(gone), gone
    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def node(stage, *words, typed=""):
    env = stage.env | {"SALLYPORT": agent(stage), "STAGE": str(stage.top)}
    run = subprocess.run(["node", *map(str, words)], cwd=stage.work, env=env, input=typed, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, f"{run.stdout[-2000:]}{run.stderr[-6000:]}"
    return run.stdout


def typescript(stage):
    """The cases of packages.mjs, which are those above."""
    print(node(stage, TOP / "tests/agent/packages.mjs"), end="")
    assert (stage.work / "made").exists() and not (stage.work / "refused").exists()


def examples(stage):
    stage.web("a.test")
    env = stage.env | {"SALLYPORT": agent(stage)}
    for command in (["/usr/bin/python3", str(PYTHON / "example.py")], ["node", str(TYPESCRIPT / "example.mjs")]):
        assert len(open(command[1], encoding="utf-8").readlines()) <= 30
        for words, typed, said in ((["echo", "hello"], "", "hello\n[exited 0]"), (["touch", "made"], "approved\n", "[exited 0]"),
                                   (["touch", "made"], "perhaps\n", "[rejected"),
                                   (["curl", "-sS", "http://a.test/"], "approved\napproved\na.test\n", "[exited 0]")):
            run = subprocess.run([*command, *words], input=typed, cwd=stage.work, env=env, capture_output=True, text=True, timeout=PATIENCE)
            assert run.returncode == 0 and said in run.stdout, (command, words, run)


def made_from_the_schemas(stage):
    """A changed schema makes the check of the types fail."""
    run = subprocess.run([TOP / "tools/check-clients"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    types = (TYPESCRIPT / "types.d.ts").read_text()
    served = {name.removeprefix("submission-") for name in harness.SCHEMAS if name.startswith("submission-")}
    assert all(f"  {method}: {{ params: " in types for method in served), types
    assert json.loads((TYPESCRIPT / "package.json").read_text())["private"] is True


if __name__ == "__main__":
    harness.main([python_questions, python_nobody, python_failing, python_output, python_errors, python_death, python_nonsense,
                  typescript, examples, made_from_the_schemas])
