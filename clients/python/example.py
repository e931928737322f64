#!/usr/bin/env python3
"""Runs a command in a sandbox, and asks you when it needs a permission. usage: example.py COMMAND [ARG...]"""
import asyncio
import os
import sys

from sallyport import Client


async def ask(question):
    what = question.get("destination") or question.get("accesses") or question.get("command") or question.get("items")
    print(f"? {question['kind']}: {what} {question.get('warning', '')}\n  one of {', '.join(question['decisions'])}:", flush=True)
    decision = (await asyncio.to_thread(sys.stdin.readline)).strip()
    answer = {"decision": decision if decision in question["decisions"] else "denied"}  # anything else denies
    if "confirmation" in question and decision.startswith("approved"):
        print(f"  type {question['confirmation']} to allow it:", flush=True)
        answer["confirmation"] = (await asyncio.to_thread(sys.stdin.readline)).strip()
    return answer


async def main():
    async with Client(os.environ.get("SALLYPORT", "sallyport"), ask=ask) as client:
        await client.configure_session(approval="untrusted")
        async for event in (command := await client.exec(command=sys.argv[1:])):
            if event.method == "exec_output":
                print(event.params.get("text", "(bytes)"), end="", flush=True)
        end = await command.result()
        print(f"[{end['status']} {end['exit_code']}] {end.get('message', '')}")

asyncio.run(main())
