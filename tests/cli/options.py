#!/usr/bin/env python3
"""How words are parsed: names, beginnings of names, values, operands; and the messages for wrong ones.

usage: options.py SALLYPORT"""
import json
import os
import re
import subprocess
import sys
import tempfile

TRY = "\nTry `sallyport {} --help`.\n"
# (words, exit status, the error behind "sallyport COMMAND: ", the command)
WRONG = [
    (["run", "--polcy", "x", "true"], 2, "no such option: --polcy; did you mean --policy?", "run"),
    (["run", "--frobnicate", "true"], 2, "no such option: --frobnicate", "run"),
    (["run", "--re", "x", "true"], 2, "--re is ambiguous; it may be --report, --resolve, --read, --reviewer, --reviewer-mode, --reviewer-timeout", "run"),
    (["run", "--no-tty=yes", "true"], 2, "--no-tty takes no value", "run"),
    (["run", "--policy"], 2, "--policy needs a value", "run"),
    (["run", "-x", "true"], 2, "no such option: -x", "run"),
    (["run", "--\x1b[2J", "true"], 2, "no such option: --\\x1b[2J", "run"),
    (["run", "--default", "maybe", "true"], 2, "--default must be ask, deny or allow, not `maybe`", "run"),
    (["run", "--default", "", "true"], 2, "--default must be ask, deny or allow, not ``", "run"),
    (["run", "--default", "ask|deny", "true"], 2, "--default must be ask, deny or allow, not `ask|deny`", "run"),
    (["run", "--sandbox", "none", "true"], 2, "--sandbox must be read-only, workspace-write, workspace-write:own-tmp, external, "
     "external:network or danger-full-access, not `none`", "run"),
    (["run", "--no-tty"], 2, "COMMAND is missing", "run"),
    (["run", "--env", "1=2", "true"], 2, "--env: `1=2` is not NAME or NAME=VALUE", "run"),
    (["run", "--json=x", "--", "true"], 2, "--json: `x` is not a descriptor number", "run"),
    (["run", "--json=99", "--", "true"], 2, "--json: `99` is not a descriptor that is open for writing", "run"),
    (["help", "policy", "dif"], 2, "there is no step `dif`; did you mean diff?", "policy"),
    (["run", "--join", "a", "--webhook-key", "x", "true"], 2, "--join and --webhook cannot be given together; the session has this option: see "
     "`sallyport session start --help`", "run"),
    (["agent", "--no-tty"], 2, "no such option: --no-tty", "agent"),
    (["agent", "true"], 2, "unexpected argument: true", "agent"),
    (["session", "start", "a", "--sandbox", "x"], 2, "no such option: --sandbox", "session start"),
    (["session", "end"], 2, "SESSION is missing", "session end"),
    (["session", "lits"], 2, "there is no step `lits`; did you mean list?", "session"),
    (["session"], 2, "a step is missing; give one of: start, list, end", "session"),
    (["approve", "allow", "7f3a-1", "--scop", "often"], 2, "--scope must be once, exec, session or always, not `often`", "approve allow"),
    (["approve", "allow", "7f3a-1", "--for", "1h", "--for", "2h"], 2, "--for was given twice; give it once", "approve allow"),
    (["approve", "deny", "7f3a-1", "--upload", "1k"], 2, "no such option: --upload", "approve deny"),
    (["approve", "bundle", "-o"], 2, "-o needs a value", "approve bundle"),
    (["policy", "import", "codex-rules"], 2, "FILE is missing", "policy import"),
    (["policy", "import"], 2, "FORMAT is missing", "policy import"),
    (["policy", "import", "codex-rules", "a", "b"], 2, "unexpected argument: b", "policy import"),
    (["policy", "diff", "a"], 2, "name two files, or --a FILE and --b FILE", "policy diff"),
    (["policy", "explain", "command"], 3, "COMMAND is missing", "policy explain"),
    (["policy", "explain", "a.test", "command", "x"], 3, "unexpected argument: command", "policy explain"),
    (["audit", "verify", "--jsno", "x"], 2, "no such option: --jsno; did you mean --json?", "audit verify"),
    (["run", "--observe", "--default", "deny", "--", "true"], 2, "--observe and --default cannot be given together: a run that observes asks nothing", "run"),
    (["run", "--observe", "--join", "a", "--", "true"], 2, "--observe and --join cannot be given together: a run that observes asks nothing", "run"),
    (["run", "--observe", "--sandbox", "external:network", "--", "true"], 2, "--observe needs the gate, and --sandbox external:network does without it",
     "run"),
    (["run", "--ci", "--web", "--", "true"], 2, "--ci and --web cannot be given together: a run with --ci asks nobody", "run"),
    (["run", "--ci", "--join", "a", "--", "true"], 2, "--ci and --join cannot be given together: a run with --ci asks nobody", "run"),
    (["run", "--observe", "--ci", "--", "true"], 2, "--observe and --ci cannot be given together: a run that observes asks nothing", "run"),
    (["run", "--egress-lock", "write", "--", "true"], 2, "--egress-lock must be check or record, not `write`", "run"),
    (["run", "--egress-lock-file", "x", "--", "true"], 2, "--egress-lock-file needs --egress-lock", "run"),
    (["run", "--egress-lock", "check", "--join", "a", "--", "true"], 2, "--egress-lock and --join cannot be given together: the session's gate does not "
     "count for one run by program", "run"),
    (["run", "--egress-lock", "check", "--sandbox", "external:network", "--", "true"], 2, "--egress-lock needs the gate, and this --sandbox does without "
     "it", "run"),
    (["run", "--profile", "cloude", "--", "true"], 2, "no profile `cloude`; did you mean claude?", "run"),
    (["init", "--yes", "--agent", "nobody"], 2, "no profile `nobody`; there are aider, claude, codex, gemini, opencode", "init"),
    (["connect", "a.test"], 2, "PORT is missing", "connect"),
    (["connect", "a.test", "0"], 2, "`0` is not a port: use 1 to 65535", "connect"),
    (["connect", "a.test", "22x"], 2, "`22x` is not a port: use 1 to 65535", "connect"),
    (["connect", "a.test", "65536"], 2, "`65536` is not a port: use 1 to 65535", "connect"),
    (["connect", "a.test\r\nX:", "22"], 2, "`a.test\\x0d\\x0aX:` is not a host", "connect"),
    (["init", "here"], 2, "unexpected argument: here", "init"),
    (["audit"], 2, "a step is missing; give one of: verify, key, merge, prune, report, query, summary, show, why, tail, export, serve, send", "audit"),
]
# (words, exit status, how what is said on standard output begins)
RIGHT = [
    (["--version"], 0, "sallyport "), (["-V"], 0, "sallyport "), (["help"], 0, "usage: sallyport COMMAND"),
    (["version"], 0, "sallyport "),
    (["policy", "help"], 0, "usage: sallyport policy check"), (["help", "run"], 0, "usage: sallyport run"),
    (["help", "policy", "diff"], 0, "usage: sallyport policy diff"), (["policy", "help", "diff"], 0, "usage: sallyport policy diff"),
    (["policy", "explain", "--def=allow", "--no-user", "a.test"], 0, "allow https://a.test:443"),  # the beginning of a name
    (["policy", "explain", "a.test", "--default", "deny", "--no-user"], 1, "deny https://a.test:443"),  # behind the operand
    (["policy", "explain", "--default", "allow", "--default", "deny", "a.test"], 1, "deny"),  # the last of several
    (["policy", "explain", "--", "a.test"], 2, "ask https://a.test:443"),
    (["policy", "explain", "command", "ls", "--json"], 2, "ask command ls --json"),  # the command's own
    (["policy", "explain", "--json", "command", "--", "ls"], 2, "{"),
    (["policy", "fmt", "--check", "--", "--policy"], 0, ""),  # a file of that name
    (["policy", "fmt", "--help", "--bogus"], 0, "usage: sallyport policy fmt"),
    (["run", "--verbose", "-h", "--bogus"], 0, "usage: sallyport run"),
]


def lines_that_are_no_answers(sallyport, home):
    """What `approve watch --json` says of them, and of a question that no run has."""
    lines = 'nonsense\n{"op":"answer"}\n{"op":"allow","question":"7f3a9c-1","scope":"once"}\n'
    with subprocess.Popen([sallyport, "approve", "watch", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home,
                          env={"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin"}) as watch:
        watch.stdin.write(lines)
        watch.stdin.flush()
        said = [json.loads(watch.stdout.readline()) for _ in lines.splitlines()]
        watch.terminate()
    return [(event["event"], event["ok"], event["code"]) for event in said]


# Output that cannot be written: (words, exit status). A hook denies by 2.
LOST = [(["--version"], 3), (["help"], 3), (["approve", "list"], 3), (["session", "list"], 3),
        (["policy", "explain", "a.test", "--default", "allow"], 3), (["policy", "explain", "a.test"], 2), (["run", "--dry-run", "--", "true"], 3),
        (["init", "--agent", "claude"], 3), (["hook", "claude"], 2)]


def closed(sallyport, home):
    """Descriptors 0 to 2 are closed: no file of the run becomes one of them."""
    work = f"{home}/work"
    os.mkdir(work)
    script = 'exec "$@" <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", script, "sh", sallyport, "run", "--audit", f"{home}/log", "--", "sh", "-c", "echo said; touch made"], cwd=work,
                          env={"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin"}, timeout=60, check=False)
    verified = subprocess.run([sallyport, "audit", "verify", f"{home}/log"], capture_output=True, text=True, timeout=60, check=False)
    return [done.returncode, os.path.exists(f"{work}/made"), verified.returncode]


def documented(sallyport, home):
    """Every member of the result is in the manual."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man/sallyport.1"), encoding="utf-8") as file:
        section = file.read().partition(".Sh RESULT\n")[2].partition("\n.Sh ")[0]
    words = set(re.findall(r"\w+", "\n".join(line for line in section.split("\n") if re.match(r"\.(It )?Va ", line))))
    done = subprocess.run([sallyport, "run", "--json=1", "--fail-on-deny", "--default", "deny", "--", "sh", "-c", "exec 2>&-; curl http://a.test"],
                          capture_output=True, text=True, timeout=60, cwd=f"{home}/work",
                          env={"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin"}, check=False)
    result = json.loads(done.stdout.splitlines()[-1])
    members = {*result, *result["destinations"][0], *result["probe"]}
    return {"allowed_by", "command_status"} <= members <= words


def refused(sallyport, home):
    """A folder that cannot be writable: nothing runs, so later policies need no trust because of it; --dry-run says the same."""
    def run(*words):
        return subprocess.run([sallyport, "run", "--write", "/", *words, "--", "true"], capture_output=True, text=True, timeout=60, cwd=f"{home}/work",
                              env={"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin"}, check=False)

    why, done, dry = "/ cannot be writable: it is the whole file system", run(), run("--dry-run")
    with open(f"{home}/.local/state/sallyport/reached", encoding="utf-8") as file:
        reached = [line.split()[-1] for line in file]  # of the run above
    return [done.returncode, done.stderr, dry.returncode, dry.stdout, reached] == [125, f"sallyport: {why}\n", 125, f"refused    {why}\n",
                                                                                   [f"{os.path.realpath(home)}/work"]]


def main():
    sallyport, failed = os.path.abspath(sys.argv[1]), 0
    with tempfile.TemporaryDirectory() as home:
        with open(f"{home}/--policy", "w", encoding="utf-8") as file:
            file.write("version 1\n")

        def run(words, stdout=subprocess.PIPE):
            return subprocess.run([sallyport, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, cwd=home, stdin=subprocess.DEVNULL,
                                  env={"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": "/usr/bin:/bin"})

        for words, status, error, command in WRONG:
            done = run(words)
            if (done.returncode, done.stdout, done.stderr) != (status, "", f"sallyport {command}: {error}{TRY.format(command)}"):
                print(f"{words}: {done}")
                failed += 1
        for words, status, begin in RIGHT:
            done = run(words)
            if done.returncode != status or not done.stdout.startswith(begin) or done.stderr:
                print(f"{words}: {done}")
                failed += 1
        for words, status in LOST:
            with open("/dev/full", "wb") as full:
                done = run(words, stdout=full)
            if done.returncode != status or "cannot write" not in done.stderr:
                print(f"{words}: {done}")
                failed += 1
        result = closed(sallyport, home)
        if result != [0, True, 0]:
            print("closed:", result)
            failed += 1
        if not refused(sallyport, home):
            print("refused")
            failed += 1
        if not documented(sallyport, home):
            print("documented")
            failed += 1
        codes = lines_that_are_no_answers(sallyport, home)
        if codes != [("answered", False, "not_sent")] * 3:
            print(codes)
            failed += 1
        done = run(["polciy"])
        if done.returncode != 2 or "sallyport: there is no command `polciy`; did you mean policy?" not in done.stderr:
            print(done)
            failed += 1
    print(f"{len(WRONG) + len(RIGHT) + len(LOST) + 5 - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
