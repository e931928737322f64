#!/usr/bin/env python3
"""The cost of a command through `sallyport agent`, compared with `sallyport run` of the same command, in turns.

usage: agent.py SALLYPORT [ROUNDS]"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SALLYPORT, ROUNDS, WARM = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200, 10
COMMAND = ["true"]


class Agent:
    def __init__(self):
        self.process = subprocess.Popen([SALLYPORT, "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last = 0
        self.call("initialize", protocol_version=2)
        self.call("configure_session", approval="never")

    def call(self, method, **params):
        self.last += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.last:
                return message["result"]
        raise SystemExit("the agent is gone")


def timed(what):
    before = time.perf_counter()
    what()
    return 1000 * (time.perf_counter() - before)


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "HOME"):
            os.environ[name] = folder
        os.mkdir(folder + "/work")
        os.chdir(folder + "/work")
        agent = Agent()
        ours, theirs = [], []
        for turn in range(ROUNDS + WARM):
            run = [SALLYPORT, "run", "--no-tty", "--report", "none", "--sandbox", "workspace-write", "--", *COMMAND]
            one = timed(lambda: subprocess.run(run, check=True, stdin=subprocess.DEVNULL))
            two = timed(lambda: agent.call("exec", command=COMMAND))
            if turn >= WARM:
                theirs.append(one)
                ours.append(two)
        agent.process.stdin.close()
        agent.process.wait()
    for name, times in (("sallyport run -- true", theirs), ("exec true, by sallyport agent", ours)):
        print(f"{name:42} median {statistics.median(times):6.2f} ms   fastest {min(times):6.2f}   of {len(times)}")
    print(f"agent / run: {statistics.median(ours) / statistics.median(theirs):.2f} (the limit is 1.20)")


main()
