#!/usr/bin/env python3
"""The shells' completions know every step of `policy`, `agent` and `mcp`, and the options that --help names, and no others.

usage: completions.py SALLYPORT"""
import pathlib
import re
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "completions"
# COMP_WORDS is what was typed, the last word being the one to complete.
BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_sallyport
printf '%s\\n' "${COMPREPLY[@]}"
"""


def bash(*words):
    out = subprocess.run(["bash", "--norc", "-c", BASH, "bash", str(FOLDER / "sallyport.bash"), "sallyport", *words],
                         check=True, capture_output=True, text=True, timeout=60)
    assert out.stderr == "", out.stderr
    return set(out.stdout.split())


def said(sallyport, *step):
    """Options of the step's own help."""
    text = subprocess.run([sallyport, "policy", *step, "--help"], check=True, capture_output=True, text=True,
                          timeout=60).stdout
    return set(re.findall(r"(?<![-\w])--[a-z-]+", text.split("Exit status")[0])) | {"--help"}


def server_options(sallyport, name):
    text = subprocess.run([sallyport, name, "--help"], check=True, capture_output=True, text=True, timeout=60).stdout
    return set(re.findall(r"(?<![-\w])--[a-z-]+", text.split("Exit status")[0])) | {"--help"}


def steps(sallyport):
    text = subprocess.run([sallyport, "policy", "--help"], check=True, capture_output=True, text=True, timeout=60).stdout
    return sorted(set(re.findall(r"sallyport policy ([a-z]+)", text)))


def fish_options(step):
    lines = (FOLDER / "sallyport.fish").read_text().splitlines()
    found = {match[1] for line in lines if f"'__sallyport_policy_step {step}'" in line
             for match in [re.search(r" -l ([a-z-]+)", line)] if match}
    return {f"--{name}" for name in found} | {"--help"}


def zsh_options(step):
    text = (FOLDER / "_sallyport").read_text()
    part = re.search(rf"^    {step}\) (_arguments.*?);;$", text, re.M | re.S)
    return set(re.findall(r"(--[a-z-]+)\[", part[1])) if part else set()


def check(name, found, wanted):
    if found == wanted:
        return 0
    print(f"{name}: too many: {sorted(found - wanted)}, missing: {sorted(wanted - found)}")
    return 1


def main():
    sallyport, failed, passed = sys.argv[1], 0, 0
    every = steps(sallyport)
    results = [check("bash, steps", bash("policy", "") - {"--help"}, set(every))]
    fish, zsh = ((FOLDER / name).read_text() for name in ("sallyport.fish", "_sallyport"))
    results.append(check("fish, steps", set(re.findall(r"\$in_policy -a ([a-z]+)", fish)), set(every)))
    results.append(check("zsh, steps", set(re.search(r"'1:step:\((check[^)]*)\)", zsh)[1].split()), set(every)))
    for step in every:
        wanted = said(sallyport, step)
        results.append(check(f"bash, {step}", bash("policy", step, "--"), wanted))
        results.append(check(f"fish, {step}", fish_options(step), wanted))
        results.append(check(f"zsh, {step}", zsh_options(step), wanted))
    for name in ("agent", "mcp"):
        wanted = server_options(sallyport, name)
        results.append(check(f"bash, {name}", bash(name, "--"), wanted))
        results.append(check(f"fish, {name}", {f"--{option}" for option in re.findall(
            rf"\$in_(?:{name}|serving) -l ([a-z-]+)", fish)} | {"--help"}, wanted))
        part = "".join(re.findall(rf"^    {name}\)\n.*?;;$|^_sallyport_server.*?^}}$", zsh, re.M | re.S))
        results.append(check(f"zsh, {name}", set(re.findall(r"(--[a-z-]+)\[", part)), wanted))
    formats = {"codex-config", "codex-rules", "sandbox-runtime", "claude-settings", "smokescreen", "harden-runner"}
    results.append(check("bash, formats", bash("policy", "export", "--lossy", ""), formats))
    results.append(check("bash, layers", bash("policy", "diff", "--layer", ""),
                         {"managed", "user", "command-line", "project"}))
    results.append(check("bash, a word begun", bash("policy", "ex"), {"explain", "export"}))
    started = subprocess.run([sallyport, "session", "start", "--help"], check=True, capture_output=True, text=True,
                             timeout=60).stdout
    wanted = set(re.findall(r"^  (--[a-z-]+)", started, re.M)) | {"--help"}
    results.append(check("bash, session start", bash("session", "start", "--"), wanted))
    results.append(check("fish, session start", {f"--{name}" for name in re.findall(r"\$in_start -l ([a-z-]+)", fish)}
                         | {"--help"}, wanted))
    part = re.search(r"^        start\) (_arguments.*?);;$", zsh, re.M | re.S)
    results.append(check("zsh, session start", set(re.findall(r"(--[a-z-]+)\[", part[1])), wanted))
    results.append(check("bash, session", bash("session", ""), {"start", "list", "end", "--help"}))
    for shell, file in (("bash", "sallyport.bash"), ("zsh", "_sallyport"), ("fish", "sallyport.fish")):
        if shutil.which(shell):
            results.append(subprocess.run([shell, "-n", str(FOLDER / file)], check=False, timeout=60).returncode != 0)
    failed, passed = sum(map(bool, results)), len(results) - sum(map(bool, results))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
