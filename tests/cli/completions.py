#!/usr/bin/env python3
"""The program's completions of the next word, and their use by bash and fish: every command, exactly the options that its
--help names, the values of options, files, sessions.

usage: completions.py SALLYPORT"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "completions"
# COMP_WORDS is what was typed, the last word being the one to complete.
BASH = """
source "$1"; shift
_command_offset() { COMPREPLY=("from $1"); }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_sallyport
printf '%s\\n' "${COMPREPLY[@]}"
"""
GROUPS = {"session", "approve", "policy", "audit"}
# (what is typed, the last word being begun; what is offered)
TYPED = [
    (["po"], {"policy"}),
    (["policy", "ex"], {"explain", "export"}),
    (["complet"], set()),
    (["approve", "pop"], set()),
    (["run", "--default", ""], {"ask", "deny", "allow"}),
    (["run", "--sandbox", "ext"], {"external", "external:network"}),
    (["run", "--re"], {"--reviewer", "--reviewer-mode", "--reviewer-timeout", "--report", "--resolve", "--read"}),
    (["run", "--no-tty", "--policy", "ru"], {"rules", "run"}),
    (["run", "--write", "r"], {"run"}),
    (["run", "--env", "SALLYPORT_TES"], {"SALLYPORT_TEST"}),
    (["run", "--web", "--no"], {"--no-probe", "--no-tty", "--notify"}),
    (["run", "--publish", ""], set()),
    (["sh"], {"sh", "shell"}),
    (["exec", "--in"], {"--into"}),
    (["exec", "--into", "x", "--", "ls", "-"], {"from 5"}),
    (["shell", "--pro"], {"--prompt-timeout"}),
    (["run", "--", "ls", "-"], {"from 3"}),
    (["run", "--no-tty", "ls", "-"], {"from 3"}),
    (["mcp", "--approval", "on"], {"on-request", "on-failure"}),
    (["policy", "explain", "command", ""], {"from 4"}),
    (["policy", "explain", "--by", "ru"], {"rules", "run"}),
    (["policy", "check", "ru"], {"rules", "run"}),
    (["policy", "import", "codex"], {"codex-config", "codex-rules"}),
    (["policy", "import", "codex-rules", "ru"], {"rules", "run"}),
    (["policy", "export", "--lossy", "s"], {"sandbox-runtime", "smokescreen"}),
    (["policy", "diff", "--layer", ""], {"managed", "user", "command-line", "project"}),
    (["policy", "undo", ""], {"--help"}),
    (["approve", "bundle", "-o", "ru"], {"rules", "run"}),
    (["approve", "allow", "--scope", "ex"], {"exec"}),
    (["session", "end", ""], {"here"}),
    (["run", "--join", "h"], {"here"}),
    (["approve", "list", "--session", ""], {"here"}),
    (["audit", "e"], {"export"}),
    (["audit", "query", "--verdict", ""], {"allow", "deny", "unanswered", "failed"}),
    (["audit", "tail", "--f"], {"--follow"}),
]


def bash(env, *words):
    out = subprocess.run(["bash", "--norc", "-c", BASH, "bash", str(FOLDER / "sallyport.bash"), "sallyport", *words],
                         check=True, capture_output=True, text=True, timeout=60, env=env, cwd=env["HOME"])
    assert out.stderr == "", out.stderr
    return set(out.stdout.split("\n")) - {""}


def fish(env, *words):
    out = subprocess.run(["fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', str(FOLDER / "sallyport.fish"),
                          " ".join(["sallyport", *words])], check=True, capture_output=True, text=True, timeout=60, env=env, cwd=env["HOME"])
    return {line.split("\t")[0].rstrip("/") for line in out.stdout.splitlines()}


def said(sallyport, *command):
    """The options of a command's own help."""
    text = subprocess.run([sallyport, *command, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.M))


def steps(sallyport, *group):
    text = subprocess.run([sallyport, *group, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"^  ([a-z]+)  ", text, re.M))


def check(name, found, wanted):
    if found == wanted:
        return True
    print(f"{name}: too many: {sorted(found - wanted)}, missing: {sorted(wanted - found)}")
    return False


def main():
    sallyport, results = sys.argv[1], []
    with tempfile.TemporaryDirectory() as home:
        for folder in ("bin", "run", "state"):
            (pathlib.Path(home) / folder).mkdir(mode=0o700)
        (pathlib.Path(home) / "rules").write_text("version 1\n")
        (pathlib.Path(home) / "bin/sallyport").symlink_to(pathlib.Path(sallyport).resolve())
        env = {**os.environ, "HOME": home, "XDG_RUNTIME_DIR": f"{home}/run", "XDG_STATE_HOME": f"{home}/state", "SALLYPORT_TEST": "1",
               "PATH": f"{home}/bin:{os.environ['PATH']}"}
        subprocess.run(["sallyport", "session", "start", "here"], check=True, capture_output=True, timeout=60, env=env)
        try:
            every = {(step,) for step in steps(sallyport)}
            results.append(check("commands", bash(env, ""), {step for step, in every}))
            for group in GROUPS:
                results.append(check(group, bash(env, group, ""), steps(sallyport, group)))
                every |= {(group, step) for step in steps(sallyport, group)}
            for command in sorted(every):
                results.append(check(f"{' '.join(command)} --", bash(env, *command, "--"), said(sallyport, *command)))
            for words, wanted in TYPED:
                results.append(check(f"bash: {' '.join(words)}", bash(env, *words), wanted))
                if shutil.which("fish") and not any(word.startswith("from ") for word in wanted):
                    results.append(check(f"fish: {' '.join(words)}", fish(env, *words), wanted))
        finally:
            subprocess.run(["sallyport", "session", "end", "here"], check=True, capture_output=True, timeout=60, env=env)
    for shell, file in (("bash", "sallyport.bash"), ("zsh", "_sallyport"), ("fish", "sallyport.fish")):
        if shutil.which(shell):
            results.append(subprocess.run([shell, "-n", str(FOLDER / file)], check=False, timeout=60).returncode == 0)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
