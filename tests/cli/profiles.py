#!/usr/bin/env python3
"""`run --profile AGENT` and `init --agent`. A stand-in takes the place of each agent: it reads and replaces its state as the agent does, shows
the words and variables that it was given, and calls the host of its API, which is a server of this test. So the test needs no
download; sallyport-agents(7) says what was tried with the agents themselves.

usage: profiles.py SALLYPORT [NAME...]"""
import json
import os
import pathlib
import pty
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import http.server

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))
import world  # noqa: E402

TIMEOUT_S = 120
SERVER = f"{world.NETWORK}.2"
# name: its API's host, its folders, its key, the words behind its name, a variable that it gets
AGENTS = {
    "claude": ("api.anthropic.com", [".claude", ".cache/claude-cli-nodejs"], "ANTHROPIC_API_KEY",
               '--settings {"sandbox":{"enabled":false}} ', "DISABLE_AUTOUPDATER=1"),
    "codex": ("api.openai.com", [".codex"], "OPENAI_API_KEY",
              '-c sandbox_mode="danger-full-access" -c check_for_update_on_startup=false ', ""),
    "gemini": ("generativelanguage.googleapis.com", [".gemini"], "GEMINI_API_KEY", "", "GEMINI_SANDBOX=false"),
    "opencode": ("api.anthropic.com", [".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"],
                 "ANTHROPIC_API_KEY", "", "OPENCODE_DISABLE_AUTOUPDATE=1"),
    "aider": ("api.openai.com", [".aider", ".cache/aider"], "OPENAI_API_KEY", "", "AIDER_ANALYTICS=false"),
}
STAND_IN = """#!/bin/sh
echo "words: $*"
for folder in {folders}; do
    echo new > "$HOME/$folder/state.tmp" && mv "$HOME/$folder/state.tmp" "$HOME/$folder/state" && echo "wrote $folder"
done
echo x 2>/dev/null > "$HOME/elsewhere"
echo "key: ${key}"
echo "other: $OTHER_API_KEY"
env | grep '^{variable}$'
echo "answer: $(curl -ksS -m 60 -d hello https://{host}/v1/turn)"
echo "tunnel: $(curl -ksS -m 60 https://elsewhere.test/)"
exit 7
"""


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "7")
        self.end_headers()
        self.wfile.write(b"a turn\n")

    def log_message(self, *words):
        pass


class Stage:
    def __init__(self, sallyport):
        self.sallyport = sallyport
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-profiles-", dir="/var/tmp"))
        self.here, self.home = self.top / "here", self.top / "home"
        self.here.mkdir()
        self.home.mkdir()
        (self.top / "run").mkdir(mode=0o700)
        self.env = {"HOME": str(self.home), "PATH": f"{self.here}:{os.environ['PATH']}", "TERM": "xterm", "LANG": "C.UTF-8",
                    "XDG_RUNTIME_DIR": str(self.top / "run"), "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""),
                    "npm_config_globalconfig": str(self.home / "npmrc"), "OTHER_API_KEY": "other"}

    def close(self):
        shutil.rmtree(self.top)

    def call(self, *words, **env):
        return subprocess.run([self.sallyport, *words], cwd=self.here, env=self.env | env, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def stand_in(self, name):
        host, folders, key, _, variable = AGENTS[name]
        path = self.here / name
        path.write_text(STAND_IN.format(folders=" ".join(folders), key="{" + key + "}", variable=variable, host=host))
        path.chmod(0o755)

    def run(self, name, *options, **env):
        resolves = [word for host in ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com")
                    for word in ("--resolve", f"{host}:{SERVER}")]
        return self.call("run", "--no-tty", "--default", "deny", *resolves, "--profile", name, *options, "--", name, "-p", "hi", **env)

    def typed(self, text, *words):
        """On a terminal: its output and its status."""
        main, side = pty.openpty()
        child = subprocess.Popen([self.sallyport, *words], cwd=self.here, env=self.env, stdin=side, stdout=side, stderr=side)
        os.close(side)
        os.write(main, text.encode())
        out = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # EIO: the other side is closed
                break
            if not piece:
                break
            out += piece
        os.close(main)
        return out.decode(), child.wait(TIMEOUT_S)


def lines(done, *wanted):
    for line in wanted:
        assert line in done.stdout.splitlines(), (line, done)


def every_agent(stage):
    """Its state is written, its key passed on, its API reached; nothing else."""
    for name, (_, folders, key, words, variable) in AGENTS.items():
        stage.stand_in(name)
        done = stage.run(name, **{key: "secret-of-the-agent"})
        assert done.returncode == 7, done
        lines(done, f"words: {words}-p hi", "key: secret-of-the-agent", "other: ", "answer: a turn",
              *(f"wrote {folder}" for folder in folders), *([variable] if variable else []))
        # below /tmp, which the sandbox has empty and of its own
        assert not (stage.home / "elsewhere").exists() and "OTHER_API_KEY" in done.stderr, done
        assert "elsewhere.test" in done.stderr or "tunnel: " in done.stdout, done
        for folder in folders:
            assert (stage.home / folder / "state").read_text() == "new\n", folder
        shutil.rmtree(stage.home)
        stage.home.mkdir()


def it_says_what_it_creates(stage):
    stage.stand_in("claude")
    (stage.home / ".claude.json").write_text('{"theme": "dark"}')
    done = stage.run("claude", "--dry-run")
    assert done.returncode == 0 and f"{stage.home}/.claude would be created" in done.stderr, done
    assert not (stage.home / ".claude").exists()
    done = stage.run("claude")
    assert f"profile claude: {stage.home}/.claude was created" in done.stderr, done
    assert "profile claude: ~/.claude.json was copied to ~/.claude/.claude.json" in done.stderr, done
    assert "its own sandbox is off" in done.stderr, done
    assert json.loads((stage.home / ".claude/.claude.json").read_text()) == {"theme": "dark"}
    assert (stage.home / ".claude").stat().st_mode & 0o777 == 0o700
    (stage.home / ".claude.json").write_text("{}")
    done = stage.run("claude")
    assert "created" not in done.stderr and "copied" not in done.stderr, done
    assert json.loads((stage.home / ".claude/.claude.json").read_text()) == {"theme": "dark"}


def what_the_person_says_counts(stage):
    """A place and a variable of the person's own, a denial of the person's policy, and other programs than the agent."""
    stage.stand_in("claude")
    (stage.top / "mine").mkdir()
    done = stage.run("claude", CLAUDE_CONFIG_DIR=str(stage.top / "mine"))
    assert not (stage.home / ".claude").exists() and "wrote .claude" not in done.stdout, done
    done = stage.run("claude", "--env", "DISABLE_AUTOUPDATER=0")
    assert "DISABLE_AUTOUPDATER=1" not in done.stdout, done
    (stage.top / "policy").write_text("deny api.anthropic.com\n")
    (stage.top / "policy").chmod(0o600)
    done = stage.run("claude", "--policy", str(stage.top / "policy"))
    assert "a turn" not in done.stdout and "rule_deny" in done.stderr + done.stdout, done
    done = stage.call("run", "--no-tty", "--profile", "claude", "--", "echo", "-p")
    assert done.stdout == "-p\n", done
    for words, status, said in ((["--profile", "cloude"], 2, "did you mean claude?"),
                                (["--profile", "claude", "--sandbox", "read-only"], 2, "cannot be given together"),
                                (["--profile", "claude", "--join", "x"], 2, "cannot be given together")):
        done = stage.call("run", *words, "--", "true")
        assert done.returncode == status and said in done.stderr, done
    done = stage.call("run", "--profile", "claude", "--", "true", HOME="")
    assert done.returncode != 0 and "set HOME" in done.stderr, done


def every_profile_is_a_policy(stage):
    """With what init says about it."""
    for name in AGENTS:
        done = stage.call("run", "--profile", name, "--dry-run", "--", "true")
        assert done.returncode == 0, done
        done = stage.call("init", "--agent", name)
        assert done.returncode == 0 and f"sallyport run --profile {name} -- " in done.stdout, done
    (line,) = [line for line in stage.call("init", "--agent", "claude").stdout.splitlines() if line.startswith('{"hooks"')]
    assert json.loads(line)["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "sallyport hook claude", line
    assert stage.call("init", "--agent", "nobody").returncode == 2


def hook(stage, text, *options):
    """What the hook says to @text."""
    done = subprocess.run([stage.sallyport, "hook", *options, "claude"], input=text, cwd=stage.here, env=stage.env, timeout=TIMEOUT_S,
                          capture_output=True)
    assert done.returncode == 0 and done.stderr == b"", done
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert said["hookEventName"] == "PreToolUse", said
    return said


def a_hook_confines_a_command(stage):
    command = "printf '%s|' \"it's $SALLYPORT_ACTIVE\"; echo x > /etc/sallyport-test; echo \\'end"
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command, "timeout": 3, "more": [1]}}
    said = hook(stage, json.dumps(call).encode())
    assert said["permissionDecision"] == "ask" and {**said["updatedInput"], "command": command} == call["tool_input"], said
    done = subprocess.run(["sh", "-c", said["updatedInput"]["command"]], cwd=stage.here, env=stage.env | {"PATH": "/usr/bin:/bin"},
                          timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "it's 1|'end\n", done
    assert not pathlib.Path("/etc/sallyport-test").exists()
    assert hook(stage, json.dumps(call | {"tool_name": "Monitor"}).encode()) == said
    said = hook(stage, json.dumps(call).encode(), "--join", "a b")
    assert " sh --join 'a b' -c '" in said["updatedInput"]["command"], said


def a_hook_denies_what_it_does_not_understand(stage):
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}}
    wrong = [b"", b"{", b"[]", b"{}", b"null", b'{"a":1,"a":2}', json.dumps(call).encode() + b"x", b" " * (1 << 20) + json.dumps(call).encode(),
             b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"a\\u0000b"}}', b"\xff"]
    wrong += [json.dumps(call | more).encode() for more in (
        {"hook_event_name": "PostToolUse"}, {"tool_name": "Write"}, {"tool_name": None}, {"tool_input": {}}, {"tool_input": "true"},
        {"tool_input": {"command": ["true"]}},
        {"tool_name": "Monitor", "tool_input": {"ws": {"url": "wss://a.test"}}}, {"tool_name": "Monitor", "tool_input": {"command": "true", "ws": None}}, {"tool_input": {"command": ""}})]
    for text in wrong:
        said = hook(stage, text)
        assert said["permissionDecision"] == "deny" and "must not run" in said["permissionDecisionReason"], (text[:80], said)
        assert "updatedInput" not in said, said
    assert stage.call("hook", "nobody").returncode == 2
    # An answer that cannot be written is no permission: 2 makes the agent refuse the call.
    with open("/dev/full", "wb") as full:
        done = subprocess.run([stage.sallyport, "hook", "claude"], input=json.dumps(call).encode(), stdout=full, stderr=subprocess.PIPE,
                              env=stage.env, timeout=TIMEOUT_S)
    assert done.returncode == 2, done


def a_shell_in_the_sandbox(stage):
    done = stage.call("sh", "-c", 'echo "$0 $1 $SALLYPORT_ACTIVE"; exit 9', "name", "-x")
    assert (done.returncode, done.stdout) == (9, "name -x 1\n"), done
    for words in (["sh"], ["sh", "echo"], ["sh", "-lc", "true"], ["sh", "-c"]):
        done = stage.call(*words)
        assert done.returncode == 2 and done.stdout == "", done
    assert "the session does not exist" in stage.call("sh", "--join", "nobody", "-c", "true").stderr


def a_shell_by_its_name(stage):
    """For programs that take the path of a shell: the prefix of Claude Code, make, npm."""
    shell = stage.here / "sallyport-sh"
    shell.symlink_to(stage.sallyport)
    say = 'echo "$SALLYPORT_ACTIVE, no more"; exit 9'
    (stage.here / "Makefile").write_text(f"SHELL = {shell}\nall:\n\t@{say.replace('$', '$$')}\n")
    (stage.here / "package.json").write_text(json.dumps({"name": "t", "scripts": {"say": say}}))
    for words, status in (([str(shell), "-c", say], 9), (["make"], 2), (["npm", "run", "--silent", f"--script-shell={shell}", "say"], 9),
                          (["sh", "-c", f"'{shell}' -c '{say}'"], 9)):
        done = subprocess.run(words, cwd=stage.here, env=stage.env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == status and done.stdout == "1, no more\n", (words, done)
    for words in ([str(shell)], [str(shell), "run", "--", "true"], [str(shell), "-lc", "true"]):
        done = subprocess.run(words, cwd=stage.here, env=stage.env, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 2 and done.stdout == "" and "sallyport sh: " in done.stderr, (words, done)


def from_a_run_to_a_policy(stage):
    """A run that observes, the policy from its records, and a run under that policy: nothing is asked, nothing else is allowed."""
    fetch = ["curl", "-ksS", "-m", "60", "-d", "x", "https://api.anthropic.com/v1"]
    resolve = ["--resolve", f"api.anthropic.com:{SERVER}", "--resolve", f"api.openai.com:{SERVER}"]
    done = stage.call("run", "--no-tty", "--observe", *resolve, "--", *fetch)
    assert done.returncode == 0 and done.stdout == "a turn\n" and "OBSERVING" in done.stderr, done
    run = re.search("policy suggest --run ([0-9a-f]+)`", done.stderr)[1]
    suggested = stage.call("policy", "suggest", "--run", run)
    assert suggested.returncode == 0 and "allow https://api.anthropic.com  # 1 allowed (1 only observed)" in suggested.stdout, suggested
    learned = stage.top / "learned"
    learned.write_text(suggested.stdout)
    learned.chmod(0o600)
    options = ["--no-tty", "--default", "deny", "--policy", str(learned), *resolve]
    done = stage.call("run", *options, "--", *fetch)
    assert done.returncode == 0 and done.stdout == "a turn\n", done
    done = stage.call("run", *options, "--", "curl", "-ksS", "-m", "60", "https://api.openai.com/")
    assert done.returncode != 0 and "default_deny" in done.stderr, done
    done = stage.call("policy", "simulate", str(learned), "--run", run)
    assert done.returncode == 0 and "unchanged: 1 request" in done.stdout, done
    report = json.loads(stage.call("audit", "report", "--json", "--by", "program").stdout)
    assert [(row["key"], row["allowed"], row["denied"]) for row in report["rows"]] == [("curl", 2, 1)], report


CASES = [from_a_run_to_a_policy, every_agent, it_says_what_it_creates, what_the_person_says_counts, every_profile_is_a_policy,
         a_hook_confines_a_command, a_hook_denies_what_it_does_not_understand, a_shell_in_the_sandbox, a_shell_by_its_name]


def serve(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=stand-in", "-keyout", "key.pem", "-out", "cert.pem"], check=True, capture_output=True, cwd=folder, timeout=TIMEOUT_S)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    server = http.server.ThreadingHTTPServer((SERVER, 443), Quiet)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def play(cases):
    return world.play_cases(cases, Stage)


def main():
    world.enter_namespace()
    with tempfile.TemporaryDirectory() as folder:
        serve(folder)
        return play(CASES)


if __name__ == "__main__":
    sys.exit(main())
