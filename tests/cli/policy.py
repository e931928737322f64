#!/usr/bin/env python3
"""Every step of `sallyport policy` as a person types it: exit status, what goes to stdout and to stderr, JSON, unknown options.
Each case has its own home, state folder and working folder; nothing outside of them is read or written.

usage: policy.py SALLYPORT [NAME...]"""
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = ("check", "explain", "list", "test", "trust", "undo", "diff", "fmt", "import", "export", "suggest", "simulate")
TIMEOUT_S = 60

GOOD = """version 1
default deny
allow https://a.test because "ours"
deny *.b.test
expect allow https://a.test
expect deny https://x.b.test
"""
FAILING = "default deny\nexpect allow https://a.test\nexpect deny https://a.test\n"
BROKEN = "allow a.test\nalow b.test\nallow *.c*.test\n"
ANSWERS = """# mine
answer allow https://a.test:443   # by ana on tty, 2026-11-20T20:13Z, run 1, asked by: npm ci
answer deny https://b.test:443   # by ana on tty, 2026-11-20T20:14Z, run 1, asked by: npm ci
"""


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def json(self):
        return json.loads(self.out)


class Stage:
    def __init__(self, sallyport):
        self.sallyport = sallyport
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-cli-"))
        self.here = self.top / "here"
        self.here.mkdir()
        (self.top / "managed").mkdir()
        self.env = {"HOME": str(self.top / "home"), "PATH": os.environ["PATH"], "TERM": "xterm",
                    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), "LANG": "C.UTF-8"}

    def close(self):
        shutil.rmtree(self.top)

    def write(self, name, text):
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path

    def user(self, text):
        folder = self.top / "home/.config/sallyport"
        folder.mkdir(parents=True, mode=0o700)
        (folder / "policy").write_text(text)
        (folder / "policy").chmod(0o600)
        return folder / "policy"

    def run(self, *args, **env):
        done = subprocess.run([self.sallyport, "policy", *args], cwd=self.here, env=self.env | env, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return Result(done.returncode, done.stdout, done.stderr)

    def explain(self, *args):
        return self.run("explain", "--managed", str(self.top / "managed"), *args)

    def on_terminal(self, *args, **env):
        """The output on a terminal."""
        main, side = pty.openpty()
        child = subprocess.Popen([self.sallyport, "policy", *args], cwd=self.here, env=self.env | env, stdin=side,
                                 stdout=side, stderr=side)
        os.close(side)
        text = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # EIO: the other side is closed
                break
            if not piece:
                break
            text += piece
        os.close(main)
        child.wait(TIMEOUT_S)
        return text.decode()


def expect(result, status, out=None, err=None):
    """@out, @err: patterns that must match; "" means empty; None: not checked."""
    shown = f"status {result.status}\nstdout: {result.out}\nstderr: {result.err}"
    assert result.status == status, f"want {status}: {shown}"
    for want, text, name in ((out, result.out, "stdout"), (err, result.err, "stderr")):
        if want == "":
            assert text == "", f"{name} is not empty: {shown}"
        elif want is not None:
            assert re.search(want, text, re.M), f"{name} lacks {want!r}: {shown}"


def help_of_every_step(stage):
    expect(stage.run("--help"), 0, "^usage: sallyport policy check", "")
    for step in STEPS:
        expect(stage.run(step, "--help"), 0, f"^usage: sallyport policy {step}", "")
        expect(stage.run(step, "-h"), 0, f"^usage: sallyport policy {step}", "")


def wrong(step):
    """The status of a usage error: 2 of `explain` means that a person would be asked."""
    return 3 if step == "explain" else 2


def what_makes_no_sense(stage):
    expect(stage.run(), 2, "", "Try `sallyport policy --help`")
    expect(stage.run("chekc"), 2, "", "no step `chekc`; did you mean check")
    for step in STEPS:
        expect(stage.run(step, "--no-such-option"), wrong(step), "", r"--no-such-option[^\n]*\n.*--help`")
    for step in ("check", "explain", "test", "trust", "diff", "fmt", "import", "export", "simulate"):
        expect(stage.run(step), wrong(step), "", f"sallyport policy {step}: .*\nTry `sallyport policy {step} --help`")
    for step in ("list", "undo"):
        expect(stage.run(step, "left", "over"), 2, "", "unexpected argument: left")


def check(stage):
    stage.write("good", GOOD)
    stage.write("broken", BROKEN)
    stage.write("failing", FAILING)
    expect(stage.run("check", "good"), 0, r"^good: ok \(2 rules\)$", "")
    expect(stage.run("check", "good", "broken"), 3, "^good: ok", r"^broken:2:1: .*\n.*alow b.test\n +\^")
    expect(stage.run("check", "broken"), 3, "", r"broken:3:")
    expect(stage.run("check", "failing"), 3, "", "^failing:2:.*this line expects allow, but the policy says deny")
    expect(stage.run("check", "missing"), 3, "", "missing: ")
    stage.write("only", "only a.test\n")
    expect(stage.run("check", "only"), 3, "", "only:1:")
    expect(stage.run("check", "--managed", "only"), 0, "only: ok", "")


def check_refuses_what_others_may_write(stage):
    stage.write("open", GOOD).chmod(0o666)
    expect(stage.run("check", "open"), 3, "", "open")
    stage.write("real", GOOD)
    (stage.here / "linked").symlink_to(stage.write("folder/inner", GOOD))
    stage.write("include", 'include "linked"\n')
    expect(stage.run("check", "include"), 3, "", "linked")
    stage.write("up", 'include "../good"\n')
    expect(stage.run("check", "up"), 3, "", "up:1:")
    for name, text in (("bom", "\ufeffallow a.test\n"), ("nul", "allow a.test\0\n"), ("cr", "allow a.test\r\n"),
                       ("twice", "default deny\ndefault ask\n"), ("unknown", "alow a.test\n"),
                       ("bidi", "allow a.test because \"\u202egpj\"\n")):
        stage.write(name, text)
        expect(stage.run("check", name), 3, "", f"{name}:")


def explain(stage):
    stage.write("good", GOOD)
    allowed = stage.explain("--policy", "good", "https://a.test")
    expect(allowed, 0, r"^allow https://a.test:443 \(rule_allow\)$", "")
    for row in (r"rule +good:3: allow https://a.test", "because +ours", "layer +command line", "promise +https",
                "change +`deny https://a.test:443`", "private +private addresses are refused"):
        expect(allowed, 0, "^  " + row)
    denied = stage.explain("--policy", "good", "x.b.test")
    expect(denied, 1, r"^deny https://x.b.test:443 \(rule_deny\)$", "")
    expect(denied, 1, r"change +good:4 without the rule, or with `except x.b.test` on it$")
    expect(denied, 1, r"file +last changed \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, owned by uid \d+$")
    stage.write("more", "deny x.b.test\nallow x.b.test\ndeny **.b.test\n")
    found = stage.explain("--policy", "good", "--policy", "more", "x.b.test")
    expect(found, 1, r"^ +more:2: allow x.b.test \(command line\)")
    expect(found, 1, r"change .*\(and 2 more rules that say the same\)$")
    expect(stage.explain("--policy", "good", "tcp://c.test:22"), 1, r"\(default_deny\)")
    expect(stage.explain("c.test"), 2, r"^ask https://c.test:443")
    expect(stage.explain("--policy", "good", "--", "c.test"), 1, r"^deny https://c.test:443")
    expect(stage.explain("http://c.test:443"), 2, r"^ask http://c.test:443")
    expect(stage.explain("--default", "allow", "c.test"), 0, r"\(default_allow\)")
    expect(stage.explain("169.254.169.254"), 1, r"\(metadata_address\)")
    expect(stage.explain("--default", "maybe", "c.test"), 3, "", "ask, deny or allow")
    expect(stage.explain("a@b.test"), 3, "", "cannot be a host")
    # An address as a browser has it.
    for url, advice in (("http://c.test/foo/bar?x=1&y#z", "--path '/foo/bar' --query 'x=1&y' http://c.test"),
                        ("http://c.test?x", "--path '/' --query 'x' http://c.test"), ("https://c.test/a#b", "--path '/a' https://c.test")):
        expect(stage.explain(url), 3, "", f"write {re.escape(advice)}\n")
        expect(stage.explain(*shlex.split(advice)), 2, "^ask ")
    expect(stage.explain("git@c.test:a/b"), 3, "", "the port must be")
    expect(stage.explain("--default", "allow", "http://sallyport.internal"), 1, r"\(own_listener\)")
    expect(stage.explain("c.test/"), 3, "", r"no path; write --path '/' c\.test")
    expect(stage.explain("a.test", "b.test"), 3, "", "unexpected argument: b.test")
    expect(stage.explain("--policy"), 3, "", "needs a value")
    stage.write("broken", BROKEN)
    expect(stage.explain("--policy", "broken", "a.test"), 3, "", "broken:2:")


def explain_says_who_and_when(stage):
    stage.user(ANSWERS)
    found = stage.explain("a.test")
    expect(found, 0, "by +ana on tty", "")
    expect(found, 0, "layer +user")
    expect(found, 0, "added +2026-11-20T20:13Z")
    expect(found, 0, "change +.* without the answer")
    expect(stage.explain("--no-user", "a.test"), 2, r"\(asked\)|\(ask")


def explain_json(stage):
    stage.write("good", GOOD + "allow tcp://a.test:443 for 1h\n")
    found = stage.explain("--json", "--policy", "good", "https://a.test")
    expect(found, 0, None, None)
    told = found.json()
    assert told["action"] == "allow" and told["host"] == "a.test" and told["port"] == 443, told
    assert told["layer"] == "command line" and "good:" in told["rule"], told
    assert [match["counts"] for match in told["matches"]] == [True, True], told
    assert told["file_owner"].startswith("uid ") and told["file_changed_at"].endswith("Z"), told
    assert "change" in told and "added_by" in told and "added_at" in told, told
    expect(stage.explain("--json", "--policy", "good", "x.b.test"), 1)
    expect(stage.explain("--json", "c.test"), 2)


def explain_of_a_tunnel(stage):
    """`explain` agrees with the gate: a tunnel may carry only one protocol."""
    stage.write("p", "version 1\ndefault deny\nallow https://a.test:80,8443\nallow http://a.test:80 method GET\n"
                "allow http://b.test:80\nallow https://b.test:80\n")
    on = ("--no-user", "--policy", "p")
    expect(stage.explain(*on, "https://a.test:80"), 0, r"(?s)promise +https.*address +explain does not look names up")
    expect(stage.explain(*on, "--method", "GET", "http://a.test"), 0, r"tunnel +by CONNECT and SOCKS5: deny \(not_tls\)")
    expect(stage.explain(*on, "tcp://a.test:8443"), 1, r"^deny tcp://a.test:8443 \(not_tls\)")
    expect(stage.explain(*on, "https://b.test:80"), 1, r"^deny https://b.test:80 \(not_http\)")
    told = stage.explain(*on, "--json", "--method", "GET", "http://a.test").json()
    assert told["action"] == "allow" and told["tunnel"] == {"action": "deny", "reason": "not_tls"}, told
    assert told["address"].startswith("explain does not look names up"), told
    assert stage.explain(*on, "--json", "http://1.2.3.4").json()["address"] == ""


def rules_that_never_allow(stage):
    """`check` names destinations that are never reachable, and rules that have ended."""
    dead = ["allow 169.254.169.254", "ask 169.254.169.0/24", "allow *.metadata.google.internal", "allow 224.0.0.0/8 private",
            "answer allow https://[ff02::1]:443", "allow a.test until 2020-01-01"]
    dead += ["allow d.test except d.test", "allow *.d.test:80-90 except **.d.test:1-90", "ask tcp://e.test:22 except e.test",
             "allow **.f.test", "allow 10.1.2.3 private", "allow https://g.test", "allow sallyport.internal"]
    alive = ["deny **.f.test", "deny 10.1.0.0/16", "deny https://n.test method GET", "allow https://n.test", "deny https://g.test",
             "deny http://h.test:8080", "allow http://h.test", "allow i.test:80-90 except i.test:81-90", "allow **.j.test",
             "deny **.j.test except k.j.test", "deny *.k.test", "allow **.k.test", "ask tcp://l.test:22 except https://l.test:22",
             "deny m.test until 2090-01-01", "allow m.test", "deny 169.254.169.254", "allow 169.254.0.0/16", "allow 127.0.0.0/8",
             "allow a.test until 2090-01-01", "allow b.test for 1h"]
    stage.write("p", "version 1\n" + "".join(line + "\n" for line in dead + alive))
    found = stage.run("check", "p")
    expect(found, 0, "ok", None)
    said = [line for line in found.err.splitlines() if "can never allow anything" in line]
    assert [line.split(":")[1] for line in said] == [str(2 + n) for n in range(len(dead))], found.err
    assert "this denial applies to all of it: p:15: deny **.f.test" in said[9], said
    expect(stage.explain("--no-user", "--default", "deny", "--policy", "p", "a.test"), 0)
    stage.write("p", "version 1\ndefault deny\nallow a.test until 2020-01-01\nallow https://b.test:8443 until 2020-01-01\n"
                "allow http://c.test method PUT until 2020-01-01\n")
    expect(stage.explain("--no-user", "--policy", "p", "a.test"), 1, r"\(expired\).*\n.*\n  rule     .*p:3: allow a.test until")
    expect(stage.explain("--no-user", "--policy", "p", "https://b.test:8443"), 1, r"\(expired\)")
    expect(stage.explain("--no-user", "--policy", "p", "--method", "GET", "http://c.test"), 1, r"\(default_deny\)")
    expect(stage.explain("--no-user", "--policy", "p", "--method", "PUT", "http://c.test"), 1, r"\(expired\)")


def too_many_rules_of_one_host(stage):
    """The warning about hosts with many rules, because each request checks all of them."""
    for last, status in ((5000, 0), (5001, 3)):
        stage.write("p", "version 1\n" + "".join(f"deny a.test:{port}\n" for port in range(1, last + 1)))
        expect(stage.run("check", "p"), status, None, None if status == 0 else r"p:5002:1: error: this host has more than")
        stage.write("p", "version 1\n" + "".join(f"deny *:{port}\n" for port in range(1, last + 1)))
        expect(stage.run("check", "p"), status, None, None)
        excepts = " except" + "".join(f" b{n}.a.test" for n in range(49))
        stage.write("p", "version 1\n" + "".join(f"deny *.a.test:{port}{excepts}\n" for port in range(1, 101))
                    + "deny *.a.test:200\n" * (last - 5000))
        expect(stage.run("check", "p"), status, None, None)
    stage.write("p", "version 1\n" + "".join(f"deny a{n}.test\n" for n in range(20000)))
    expect(stage.run("check", "p"), 0)


def lists(stage):
    stage.user(ANSWERS + "allow c.test\n")
    stage.write("good", GOOD)
    arguments = ("list", "--managed", str(stage.top / "managed"))
    every = stage.run(*arguments, "--policy", "good")
    expect(every, 0, r"^user +.*policy:4: allow c.test$", "")
    expect(every, 0, "^command line +good:3: ")
    answers = stage.run(*arguments, "--answers")
    expect(answers, 0, "answer allow https://a.test:443", "")
    assert "c.test" not in answers.out, answers.out
    stage.write("settings", "approvals granular rules\non-denial stop\nhook /bin/true for patch\n")
    expect(stage.run(*arguments, "--policy", "settings"), 0,
           "^command line +settings:1: approvals granular rules\ncommand line +settings:2: on-denial stop\n"
           "command line +settings:3: hook /bin/true for patch$", "")
    expect(stage.explain("--policy", "settings", "z.test"), 1,
           "settings:1: approvals granular rules")
    told = stage.run(*arguments, "--answers", "--json").json()
    assert [rule["statement"] for rule in told] == ["answer allow", "answer deny"], told
    assert stage.run(*arguments, "--no-user", "--json").json() == []


def tests(stage):
    stage.write("good", GOOD)
    stage.write("failing", FAILING)
    stage.write("broken", BROKEN)
    expect(stage.run("test", "good"), 0, "^good: 2 of 2 expectations hold\n1 file, 2 expectations: 0 failed", "")
    expect(stage.run("test", "good", "failing"), 1, "^failing: 1 of 2 expectations hold\n2 files, 4 expectations: 1 failed",
           "failing:2:")
    expect(stage.run("test", "good", "broken", "failing"), 3, "^broken cannot be read\n(.*\n)*3 files", "broken:2:")
    told = stage.run("test", "--json", "good", "broken", "failing")
    expect(told, 3, None, "")
    told = told.json()
    assert (told["expectations"], told["failed"], told["broken"]) == (4, 1, 1), told
    assert [file["read"] for file in told["files"]] == [True, False, True], told
    assert "failing:2:" in told["files"][2]["errors"], told
    stage.write("only", "default ask\nonly a.test\nexpect deny b.test\n")
    expect(stage.run("test", "only"), 3)
    expect(stage.run("test", "--managed", "only"), 0, "^only: 1 of 1 expectations hold", "")


def presets(stage):
    """Every preset, with a whole sentence on what it is for."""
    listed = stage.run("list", "--presets")
    expect(listed, 0, None, "")
    names = sorted(path.stem for path in (ROOT / "policies" / "presets").glob("*.policy"))
    assert [line.split()[0] for line in listed.out.splitlines()] == names, listed.out
    assert all(line.endswith(".") for line in listed.out.splitlines()), listed.out
    assert [entry["name"] for entry in stage.run("list", "--presets", "--json").json()] == names


def trust_of_a_configuration(stage):
    """A tool's configuration that a command could have written does not count until a person trusts it."""
    stage.write(".npmrc", "registry=https://npm.example.org/\n")
    stage.write("p", "default deny\nallow configured npm\n")
    on = ("--no-user", "--policy", "p", "https://npm.example.org")
    expect(stage.explain(*on), 1, "^deny ", r"\.npmrc")
    expect(stage.run("trust", ".npmrc"), 3, "", r"\.npmrc:1:")
    expect(stage.run("trust", "--configuration", ".npmrc"), 0, "trusted as it is now", "")
    expect(stage.explain(*on), 0, "^allow ", "")
    stage.write(".npmrc", "registry=https://npm.example.org/\n@a:registry=https://other.example.org/\n")
    expect(stage.explain(*on), 1, "^deny ", r"\.npmrc")


def trust(stage):
    stage.write(".git/config", "")
    project = stage.write(".sallyport/policy", "allow p.test\n")
    before = stage.explain("p.test")
    expect(before, 2, "it does not count, because the project's file is not trusted")
    expect(stage.run("trust", str(project)), 0, "trusted as it is now", "")
    expect(stage.explain("p.test"), 0, "layer +project, trusted")
    project.write_text("allow p.test\nallow *.p.test\n")
    expect(stage.explain("p.test"), 2, None, "changed since it was trusted")
    expect(stage.run("trust", "missing"), 3, "", "missing")
    stage.write("broken", BROKEN)
    expect(stage.run("trust", "broken"), 3, "", "broken:2:")


def a_project_only_narrows(stage):
    """A18: a repository's file cannot make the policy less strict, and the managed layer always applies."""
    stage.write(".git/config", "")
    stage.write(".sallyport/policy", "default allow\nallow tcp://*:*\nanswer allow b.test\ndeny a.test\n")
    (stage.top / "managed/a.policy").write_text("allow a.test\ndeny c.test\n")
    (stage.top / "managed/a.policy").chmod(0o600)
    stage.user("allow c.test\n")
    expect(stage.explain("a.test"), 1, "layer +project, not trusted")
    expect(stage.explain("b.test"), 2)
    expect(stage.explain("c.test"), 1, "layer +managed")
    expect(stage.explain("--default", "allow", "169.254.169.254"), 1)


def undo(stage):
    expect(stage.run("undo"), 1, "", "sallyport: ")
    path = stage.user(ANSWERS)
    expect(stage.run("undo"), 0, "^removed: answer deny https://b.test:443", "")
    assert path.read_text() == "".join(ANSWERS.splitlines(True)[:2]), path.read_text()
    expect(stage.run("undo"), 0, "^removed: answer allow", "")
    expect(stage.run("undo"), 1, "", None)
    assert path.read_text() == "# mine\n"
    expect(stage.run("undo", HOME="", XDG_CONFIG_HOME=""), 3, "", "HOME")


def explain_of_a_request(stage):
    stage.write("p", "default deny\nallow http://a.test method GET path /v1/** query page header accept\n"
                "allow tcp://b.test:22 from \"npm ci\" by /usr/bin/node\n")
    on = ("explain", "--no-user", "--policy", "p")
    good = ("--path", "/v1/x", "--query", "page=2", "--header", "Accept: text/html")
    expect(stage.run(*on, *good, "http://a.test"), 0, "^allow http://a.test:80", "")
    expect(stage.run(*on, "--method", "POST", *good, "http://a.test"), 1, "default_deny", "")
    expect(stage.run(*on, *good, "--header", "X-HTTP-Method-Override: PUT", "http://a.test"), 1, "default_deny", "")
    expect(stage.run(*on, "--path", "/v2", *good[2:], "http://a.test"), 1, "default_deny", "")
    expect(stage.run(*on, "http://a.test"), 1, "not_enforced", "")
    expect(stage.run(*on, "--from", "npm ci --x", "--by", "/usr/bin/node", "tcp://b.test:22"), 0, "^allow", "")
    expect(stage.run(*on, "--from", "npm ci --x", "tcp://b.test:22"), 1, "^deny", "")
    expect(stage.run(*on, "--from", "npm", "--by", "/usr/bin/node", "tcp://b.test:22"), 1, "^deny", "")
    for words in (("--path", "v1"), ("--path", "/a?b"), ("--header", "x"), ("--by", "node"), ("--method", "")):
        expect(stage.run(*on, *words, "http://a.test"), 3, "", words[0][2:] if words[1] != "/a?b" else "--query")
    expect(stage.run(*on, "--path", "/", "tcp://a.test:22"), 3, "", "http:// or https://")


def diff(stage):
    stage.write("a", "default deny\nallow https://a.test\n")
    stage.write("b", "default deny\nallow https://a.test\nallow tcp://b.test:22\n")
    expect(stage.run("diff", "a", "a"), 0, "", "")
    expect(stage.run("diff", "a", "b"), 1, "^newly allowed: tcp://b.test:22\n    deny -> allow, for example", "")
    expect(stage.run("diff", "b", "a"), 1, "^newly denied: tcp://b.test:22", "")
    told = stage.run("diff", "--json", "a", "b").json()
    assert told["same"] is False and told["count"] == 1, told
    assert told["changes"][0]["example"] == "tcp://b.test:22" and told["changes"][0]["from"] == "", told
    assert stage.run("diff", "--json", "a", "a").json() == {"same": True, "count": 0, "changes": []}
    stage.write("c", "allow tcp://b.test:22\n")
    expect(stage.run("diff", "--a", "a", "--a", "c", "--b", "b"), 0, "", "")
    stage.write("broken", BROKEN)
    expect(stage.run("diff", "a", "broken"), 3, "", "broken:2:")
    expect(stage.run("diff", "a"), 2, "", "two files")
    expect(stage.run("diff", "--a", "a"), 2, "", "two files")
    expect(stage.run("diff", "a", "missing"), 3, "", "missing")
    # What a change opens is listed first, whatever it closes.
    stage.write("before", "default ask\n" + "".join(f"allow tcp://c{i}.test:22\n" for i in range(30)) + "deny d.test\n")
    stage.write("after", "default ask\nallow tcp://z.test:22\n")
    said = [line.split(":")[0] for line in stage.run("diff", "before", "after").out.splitlines() if not line.startswith(" ")]
    assert said == ["newly allowed", "newly asked"] + ["newly asked"] * 30, said
    changes = stage.run("diff", "--json", "before", "after").json()["changes"]
    assert [change["before"] for change in changes[:3]] == ["ask", "deny", "allow"], changes[:3]
    stage.write("many", "default ask\n" + "".join(f"allow tcp://c{i}.test:22\n" for i in range(300)))
    told = stage.run("diff", "many", "after").out
    assert told.startswith("newly allowed: tcp://z.test:22\n") and told.endswith("\n... and 101 more\n"), told[-80:]


def diff_of_conditions_and_budgets(stage):
    stage.write("any", "default deny\nallow http://a.test\nallow tcp://b.test:22\n")
    stage.write("some", "default deny\nallow http://a.test path /v1/**\n"
                "deny http://a.test method POST path /v1/keys/*\nallow tcp://b.test:22 from \"npm ci\"\n")
    told = stage.run("diff", "any", "some")
    expect(told, 1, "^only in the first: any:2: allow http://a.test$", "")
    expect(told, 1, "^only in the second: some:3: deny http://a.test method POST path /v1/keys/\\*$", "")
    expect(told, 1, '^only in the second: some:4: allow tcp://b.test:22 from "npm ci"$', "")
    expect(told, 1, "^newly denied: http://a.test:80\n    allow -> deny, for example http://a.test:80$", "")
    change = stage.run("diff", "--json", "any", "some").json()["changes"][0]
    assert change["change"] == "only in the first" and change["rule"] == "any:2: allow http://a.test", change
    expect(stage.run("diff", "some", "some"), 0, "", "")
    stage.write("less", "default deny\nallow tcp://b.test:22 upload 1k rate 10/m\n")
    stage.write("more", "default deny\nallow tcp://b.test:22 upload 2k rate 10/m\n")
    expect(stage.run("diff", "less", "more"), 1, "^wider limits: tcp://b.test:22\n"
           "    allow within upload 1024, rate 10/60s -> allow within upload 2048, rate 10/60s,", "")
    change = stage.run("diff", "--json", "more", "less").json()["changes"][0]
    assert change["change"] == "narrower limits" and change["limits_after"] == "upload 1024, rate 10/60s", change


def diff_of_layers_and_ends(stage):
    stage.write("only", "default ask\nonly a.test\n")
    stage.write("any", "default ask\n")
    expect(stage.run("diff", "only", "any"), 3, "", "only:2:")
    expect(stage.run("diff", "--layer", "managed", "only", "any"), 1, "newly asked", "")
    expect(stage.run("diff", "--layer", "nobody", "any", "any"), 2, "", "--layer must be managed, user, command-line or project, not `nobody`")
    stage.write("allow", "default ask\nallow a.test\n")
    expect(stage.run("diff", "--layer", "project", "any", "allow"), 0, "", "1 line of this project's file")
    stage.write("ends", "default ask\nallow https://a.test until 2999-01-01\n")
    stage.write("stays", "default ask\nallow https://a.test\n")
    expect(stage.run("diff", "ends", "stays"), 1, "^newly allowed: https://a.test:443, from 2999-01-01T00:00:00Z$", "")


def fmt(stage):
    path = stage.write("a", "default   deny\nallow  A.test # mine\n")
    expect(stage.run("fmt", "--check", "a"), 1, "a: its layout would change", "")
    expect(stage.run("fmt", "a"), 0, "a: its layout was changed", "")
    assert path.read_text() == "default deny\nallow a.test   # mine\n", path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    expect(stage.run("fmt", "--check", "a"), 0, "", "")
    stage.write("broken", BROKEN)
    expect(stage.run("fmt", "broken"), 3, "", "the file has errors")
    assert (stage.here / "broken").read_text() == BROKEN
    (stage.here / "link").symlink_to(path)
    expect(stage.run("fmt", "link"), 3, "", "link")


def import_and_export(stage):
    stage.write("endpoints", "a.test:443 b.test:80\n")
    imported = stage.run("import", "harden-runner", "endpoints")
    expect(imported, 0, "^default deny\nallow tcp://a.test:443\nallow tcp://b.test:80$", "")
    stage.write("policy", imported.out)
    expect(stage.run("check", "policy"), 0)
    expect(stage.run("export", "harden-runner", "policy"), 0, "^a.test:443\nb.test:80$", "")
    expect(stage.run("import", "ini", "endpoints"), 2, "", "policy import: unknown format: ini; use one of codex-config, .*, harden-runner\n")
    expect(stage.run("import", "harden-runner", "missing"), 3, "", "missing")
    stage.write("settings", '{"network": {"deniedDomains": ["a*b.test"]}}')
    expect(stage.run("import", "sandbox-runtime", "settings"), 3, "", "settings:1: .*would be lost")


def exports(stage):
    stage.write("policy", "default ask\nallow a.test\nallow tcp://b.test:*\ndeny 8.8.8.0/24\n")
    expect(stage.run("export", "sandbox-runtime", "policy"), 3, "", "policy:4: deny 8.8.8.0/24 cannot be expressed")
    lossy = stage.run("export", "--lossy", "sandbox-runtime", "policy")
    expect(lossy, 0, '"a.test:443"', "^policy:2: wider: a.test")
    assert lossy.json()["network"]["allowedDomains"] == ["a.test:80", "a.test:443", "b.test"], lossy.out
    expect(stage.run("export", "ini", "policy"), 2, "", "policy export: unknown format: ini; use one of codex-config, .*, harden-runner\n")
    expect(stage.run("export", "harden-runner"), 2, "", "FILE is missing")
    stage.write("broken", BROKEN)
    expect(stage.run("export", "harden-runner", "broken"), 3, "", "broken:2:")
    stage.write("more", "default deny\nallow tcp://c.test:443\n")
    stage.write("most", "deny c.test\n")
    expect(stage.run("export", "harden-runner", "more", "most"), 0, "", "more:2: c.test left out")


def no_colour_where_none_is_wanted(stage):
    stage.write("good", GOOD)
    stage.write("failing", FAILING)
    for arguments in (("check", "failing"), ("explain", "--policy", "good", "a.test"), ("test", "failing"),
                      ("list", "--policy", "good")):
        piped = stage.run(*arguments)
        assert "\x1b" not in piped.out + piped.err, arguments
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            shown = stage.on_terminal(*arguments, **env)
            assert shown and "\x1b" not in shown, (arguments, shown)


CASES = [help_of_every_step, what_makes_no_sense, check, check_refuses_what_others_may_write, explain,
         explain_says_who_and_when, explain_json, explain_of_a_tunnel, explain_of_a_request, rules_that_never_allow,
         too_many_rules_of_one_host, lists, tests, presets, trust_of_a_configuration, trust, a_project_only_narrows, undo, diff,
         diff_of_conditions_and_budgets, diff_of_layers_and_ends, fmt, import_and_export, exports, no_colour_where_none_is_wanted]


def main():
    wanted = sys.argv[2:]
    passed = failed = 0
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        stage = Stage(os.path.abspath(sys.argv[1]))
        try:
            case(stage)
            passed += 1
        except Exception:  # whatever it is, it is this case's failure
            print(f"{case.__name__}:\n{traceback.format_exc()}")
            failed += 1
        finally:
            stage.close()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
