#!/usr/bin/env python3
"""Real coding agents from npm under their profiles: each shows its version, and has one turn with a stand-in for its API, in which the
model has it run a command. The stand-in is at the API's own name, with a certificate of this test.

usage: agents.py SALLYPORT FOLDER [NAME...]; the agents are installed below FOLDER, once"""
import http.server
import json
import os
import pathlib
import platform
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "flow")]
import from_npm  # noqa: E402
import servers  # noqa: E402
import world  # noqa: E402

TIMEOUT_S = 240
API, ELSEWHERE = f"{world.NETWORK}.2", f"{world.NETWORK}.3"
# What the model has the agent do. The folder is the agent's working directory.
COMMAND = ("echo by the agent > made; echo x > $HOME/outside || echo kept inside; "
           "curl -ksS -m 60 https://elsewhere.test/ || echo not reached")
SAID = "the model has seen it"


def events(*bodies):
    return "".join(f"event: {body['type']}\ndata: {json.dumps(body)}\n\n" for body in bodies).encode()


def message(block, pieces, reason):
    """One message of Anthropic's API, as a stream."""
    return events(
        {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                                              "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": piece} for piece in pieces),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"})


def anthropic(asked):
    """A tool to run, once per conversation that has one; then words."""
    tools = [tool["name"] for tool in asked.get("tools", [])]
    tool = next((name for name in ("mcp__sallyport__run", "Bash", "bash") if name in tools), None)
    results = [block for said in asked["messages"] if isinstance(said["content"], list) for block in said["content"]
               if block.get("type") == "tool_result"]
    if tool and not results:
        words = json.dumps({"command": COMMAND} if tool.startswith("mcp") else {"command": COMMAND, "description": "what the test wants"})
        return message({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}, [{"type": "input_json_delta", "partial_json": words}],
                       "tool_use"), None
    text = SAID if results else "a title"
    return message({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}], "end_turn"), json.dumps(results)


def responses(asked):
    """The same, by OpenAI's Responses API."""
    results = [item for item in asked["input"] if item.get("type") == "function_call_output"]
    if results:
        item = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": SAID}]}
    else:
        item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "exec_command", "arguments": json.dumps({"cmd": COMMAND})}
    return events({"type": "response.created", "response": {"id": "r1"}},
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": {"id": "r1", "usage": {
                      "input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}}},
                  ), json.dumps(results) if results else None


class Model(servers.Page):
    """A stand-in for the APIs of two makers of models."""
    api = {"/v1/messages": anthropic, "/v1/responses": responses}

    def answer(self):
        body = self.read_body() if self.command == "POST" else b""
        self.server.asked.append((self.command, self.headers.get("Host"), self.path))
        speak = self.api.get(self.path.split("?")[0])
        try:
            reply, results = speak(json.loads(body)) if speak else (None, None)
        except Exception as error:
            self.server.asked.append(("the stand-in failed", repr(error), body[:2000].decode(errors="replace")))
            reply, results = None, None
        if results:
            self.server.results.append(results)
        self.send_response(200 if reply else 404)
        self.send_header("Content-Type", "text/event-stream" if reply else "application/json")
        self.send_header("Content-Length", str(len(reply or b"{}")))
        self.end_headers()
        self.wfile.write(reply or b"{}")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer


class Stage:
    def __init__(self, sallyport, modules):
        self.sallyport = sallyport
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-agents-", dir="/var/tmp"))
        self.home, self.work = self.top / "home", self.top / "work"
        for folder in (self.home, self.work, self.top / "bin", self.top / "certificates"):
            folder.mkdir()
        (self.top / "run").mkdir(mode=0o700)
        for name, path in (("claude", "@anthropic-ai/claude-code-linux-x64/claude"), ("codex", "codex/vendor/x86_64-unknown-linux-musl/bin/codex"),
                           ("opencode", "opencode-linux-x64-baseline/bin/opencode")):
            (self.top / "bin" / name).symlink_to(modules / path)
        self.ca = self.top / "certificates" / "ca.pem"
        self.env = {"HOME": str(self.home), "PATH": f"{self.top}/bin:{os.environ['PATH']}", "TERM": "xterm", "LANG": "C.UTF-8",
                    "XDG_RUNTIME_DIR": str(self.top / "run"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                    "npm_config_globalconfig": str(self.home / "npmrc"), "NODE_EXTRA_CA_CERTS": str(self.ca), "SSL_CERT_FILE": str(self.ca)}
        self.serve()

    def serve(self):
        context = servers.make_certificate(self.top / "certificates", ["api.anthropic.com", "api.openai.com"])
        self.model = servers.Quiet((API, 443), Model)
        self.model.world, self.model.context, self.model.asked, self.model.results = servers.Server("model", API), context, [], []
        self.plain = servers.Quiet((API, 80), Model)
        self.plain.world, self.plain.asked, self.plain.results = self.model.world, self.model.asked, self.model.results
        self.elsewhere = servers.Quiet((ELSEWHERE, 443), servers.Page)
        self.elsewhere.world, self.elsewhere.context = servers.Server("elsewhere", ELSEWHERE), context
        for server in (self.model, self.plain, self.elsewhere):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def close(self):
        for server in (self.model, self.plain, self.elsewhere):
            server.shutdown()
            server.server_close()
        shutil.rmtree(self.top)

    def run(self, name, *words, **env):
        names = [word for host, address in (("api.anthropic.com", API), ("api.openai.com", API), ("elsewhere.test", ELSEWHERE))
                 for word in ("--resolve", f"{host}:{address}")]
        passed = [word for variable in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", *env) for word in ("--env", variable)]
        return subprocess.run([self.sallyport, "run", "--no-tty", "--default", "deny", *names, *passed, "--profile", name, "--", name, *words],
                              cwd=self.work, env=self.env | env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def turn(self, name, *words, **env):
        version = self.run(name, "--version")
        assert version.returncode == 0 and version.stdout.strip(), version
        self.check(self.run(name, *words, **env))

    def outside(self, *words, **env):
        """Without a profile: only what the agent hands to sallyport is confined."""
        (self.top / "tmp").mkdir()
        return subprocess.run(words, cwd=self.work, env=self.env | {"CLAUDE_CODE_TMPDIR": str(self.top / "tmp")} | env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def check(self, done, report=True):
        told = (done.returncode, done.stdout[-3000:], done.stderr[-3000:], self.model.asked[-20:], self.model.results)
        assert done.returncode == 0 and SAID in done.stdout, told
        assert (self.work / "made").exists() and (self.work / "made").read_text() == "by the agent\n", told
        assert not (self.home / "outside").exists() and not self.elsewhere.world.requests, told
        assert "kept inside" in str(self.model.results) and "not reached" in str(self.model.results), told
        assert not report or "elsewhere.test" in done.stderr, told


def claude(stage):
    stage.turn("claude", "-p", "--allowedTools=Bash", "do it", ANTHROPIC_API_KEY="k")


def claude_by_mcp(stage):
    """The model's command goes through `sallyport mcp`, which is started by the agent."""
    servers_of_it = {"mcpServers": {"sallyport": {"command": stage.sallyport, "args": ["mcp"]}}}
    done = stage.outside("claude", "-p", "--mcp-config", json.dumps(servers_of_it), "--allowedTools=mcp__sallyport__run", "do it",
                         ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=f"http://{API}", ENABLE_TOOL_SEARCH="false")
    stage.check(done, report=False)


def claude_by_prefix(stage):
    """Each command of the Bash tool is started by the shell of sallyport."""
    (stage.top / "bin" / "sallyport-sh").symlink_to(stage.sallyport)
    done = stage.outside("claude", "-p", "--allowedTools=Bash", "do it", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=f"http://{API}",
                         CLAUDE_CODE_SHELL_PREFIX=f"{stage.top}/bin/sallyport-sh -c")
    stage.check(done, report=False)


def codex(stage):
    stage.turn("codex", "exec", "--skip-git-repo-check", "-m", "gpt-5", "do it", OPENAI_API_KEY="k", CODEX_API_KEY="k")


def opencode(stage):
    stage.turn("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "do it", ANTHROPIC_API_KEY="k")


CASES = [claude, claude_by_mcp, claude_by_prefix, codex, opencode]


def main():
    sallyport, below, wanted = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if platform.machine() != "x86_64":
        print("skip: the packages are for x86_64\n0 passed, 0 failed, 1 skipped")
        return world.SKIP
    if world.IN_NAMESPACE not in os.environ:
        from_npm.install(HERE, below)
    world.enter_namespace()
    cases = [case for case in CASES if not wanted or case.__name__ in wanted]
    failed = 0
    for case in cases:
        stage = Stage(sallyport, below / "node" / "node_modules")
        try:
            case(stage)
            print(f"ok   {case.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"FAIL {case.__name__}\n{traceback.format_exc()}", flush=True)
        finally:
            stage.close()
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
