#!/usr/bin/env python3
"""A run without an approver, its questions in a file, the answers to them, and the next run, as with a CI job and a person.
It uses its own network namespace, with a server at an address that the policy treats as a public one.

usage: bundle.py SALLYPORT [NAME...]"""
import base64
import concurrent.futures
import http.server
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "flow"))
import world  # noqa: E402

TIMEOUT_S = 60
SERVER = f"{world.NETWORK}.2"
RUNS = 50
AT_ONCE = 4
ASKED, DENIED, NO_SANDBOX, USAGE, ERROR = 78, 77, 125, 2, 3


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-length", "3")
        self.end_headers()
        self.wfile.write(b"yes")

    def log_message(self, *words):
        pass


class Stage:
    """Homes, each with a state folder, and one working directory."""

    def __init__(self, sallyport):
        self.sallyport = sallyport
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="sallyport-bundle-"))
        self.here = self.top / "here"
        self.here.mkdir()
        self.write("policy", "default ask\ndeny denied.test\n")

    def close(self):
        shutil.rmtree(self.top)

    def env(self, home="home"):
        (self.top / home).mkdir(exist_ok=True)
        return {"HOME": str(self.top / home), "PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8",
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", ""), world.IN_NAMESPACE: "1",
                "XDG_RUNTIME_DIR": str(self.top / home)}

    def write(self, name, text):
        path = self.here / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def call(self, *words, home="home", more=None):
        return subprocess.run([self.sallyport, *map(str, words)], cwd=self.here, env={**self.env(home), **(more or {})}, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def run(self, *options, script="curl -sS -m 20 http://a.test/", home="home"):
        return self.call("run", "--no-tty", "--report", "none", "--policy", "policy", "--resolve", f"a.test:{SERVER}",
                         "--resolve", f"b.test:{SERVER}", *options, "--", "sh", "-c", script, home=home)

    def approve(self, *options, home="home"):
        return self.call("approve", "bundle", *options, home=home)

    def ssh_key(self, name):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.top / name], check=True,
                       timeout=TIMEOUT_S)
        return self.top / name, (self.top / f"{name}.pub").read_text().strip()

    def pem_key(self, name):
        path = self.top / f"{name}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, timeout=TIMEOUT_S)
        raw = subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"], check=True,
                             capture_output=True, timeout=TIMEOUT_S).stdout[-32:]
        return path, "ed25519:" + base64.b64encode(raw).decode()

    def name_approvers(self, *lines):
        self.write_policy((self.here / "policy").read_text() + "".join(f"{line}\n" for line in lines))

    def write_policy(self, text):
        """Writes a policy in a place that commands can write, and trusts it."""
        self.write("policy", text)
        expect(self.call("policy", "trust", "policy"), 0)

    def json(self, name):
        return json.loads((self.here / name).read_text())

    def records(self, home="home"):
        path = self.top / home / ".local/state/sallyport/audit.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]


def expect(done, status, out=None, err=None):
    shown = f"status {done.returncode}\nstdout: {done.stdout}\nstderr: {done.stderr}"
    assert done.returncode == status, f"want {status}: {shown}"
    assert out is None or out in done.stdout, f"stdout lacks {out!r}: {shown}"
    assert err is None or err in done.stderr, f"stderr lacks {err!r}: {shown}"


def the_status_of_a_run(stage):
    asks, quiet = "curl -sS -m 20 http://a.test/ >/dev/null; exit 4", "exit 4"
    expect(stage.run("--fail-on-ask", script=asks), ASKED)
    expect(stage.run("--fail-on-ask", script=quiet), 4)
    expect(stage.run(script=asks), 4)
    expect(stage.run("--fail-on-ask", script="kill -9 $$"), 128 + 9)
    expect(stage.run("--fail-on-ask", script="curl -sS http://a.test/ >/dev/null; kill -9 $$"), ASKED)
    # a written denial was decided by somebody
    expect(stage.run("--fail-on-ask", script="curl -sS http://denied.test/ >/dev/null; exit 4"), 4)
    done = stage.run("--fail-on-ask", "--json", script=asks)
    result = json.loads(done.stderr.splitlines()[-1])
    assert (result["exit_status"], result["command_status"]) == (ASKED, 4), result


def a_run_says_what_it_wanted(stage):
    """Also if standard error is not a terminal."""
    asks = "curl -sS -m 20 http://a.test/ >/dev/null; curl -sS http://denied.test/ >/dev/null; exit 0"
    done = stage.call("run", "--no-tty", "--policy", "policy", "--resolve", f"a.test:{SERVER}", "--fail-on-ask=said.json", "--",
                      "sh", "-c", asks)
    expect(done, ASKED, err="sallyport: http://a.test:80, by /usr/bin/curl: This needs approval, and no approver is connected (no_approver).")
    expect(done, ASKED, err="(no_approver). No rule decides it. To allow it, add to /")
    expect(done, ASKED, err="/.config/sallyport/policy: allow http://a.test:80\n")
    expect(done, ASKED, err="--fail-on-ask: the exit status is 78 instead of 0; destinations denied: 1, not answered: 1; the questions are in said.json")
    expect(done, ASKED, err="http://denied.test:80, by /usr/bin/curl: A rule denies it (rule_deny). Rule: ")
    expect(done, ASKED, err="Next: ")
    records = stage.records()
    start = [record for record in records if record["event"] == "start"][-1]
    end = [record for record in records if record["event"] == "end"][-1]
    assert start["cwd"] == str(stage.here) and start["version"] and start["digest"] and start["user"] == str(os.geteuid()), start
    assert end["status"] == ASKED, end


def a_denial_fails_a_job_and_is_shown(stage):
    """--fail-on-deny, and the forms of the services that run jobs; text of the command's cannot end them."""
    denied = "curl -sS http://denied.test/ >/dev/null; exit 4"
    done = stage.run("--fail-on-deny", script=denied)
    expect(done, DENIED)
    last = done.stderr.splitlines()[-1]
    assert last == "sallyport: --fail-on-deny: the exit status is 77 instead of 4; destinations denied: 1, not answered: 0", done.stderr
    expect(stage.run("--fail-on-deny", script="exit 4"), 4)
    expect(stage.run("--fail-on-deny", "--default", "deny"), DENIED)
    asks = "curl -sS -m 20 http://a.test/ >/dev/null; exit 4"
    expect(stage.run("--fail-on-deny", script=asks), DENIED)
    expect(stage.run("--fail-on-deny", "--fail-on-ask", script=asks), ASKED)
    expect(stage.run("--fail-on-deny", "--fail-on-ask", script=f"{asks[:-6]}{denied}"), DENIED)
    summary = stage.write("summary.md", "before\n")
    github = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    run = ("run", "--no-tty", "--policy", "policy", "--default", "deny", "--", "sh", "-c")
    done = stage.call(*run, "curl -sS http://192.0.2.1/ >/dev/null; curl -sS http://denied.test/ >/dev/null", more=github)
    expect(done, 0, err="::error title=Sallyport::http://denied.test:80, by /usr/bin/curl: A rule denies it (rule_deny). Rule: policy:2: deny denied.test. Next: ")
    assert ("\n" + done.stderr).count("\n::error") == 2 and "sallyport: http" not in done.stderr, done.stderr
    text = summary.read_text()
    assert text.startswith("before\n### Sallyport: run ") and text.count("\n- http") == 2, text
    assert "\n- http\\://denied\\.test\\:80, by /usr/bin/curl\\: A rule denies it " in text, text
    done = stage.call(*run, "true", more=github)
    expect(done, 0)
    assert "::" not in done.stderr and summary.read_text() == text, done.stderr
    done = stage.call(*run, "curl -sS http://denied.test/ >/dev/null", more={"GITLAB_CI": "true"})
    expect(done, 0, err="\x1b[31msallyport: http://denied.test:80, by /usr/bin/curl: ")
    assert "section_start:" in done.stderr and done.stderr.index("section_end:") > done.stderr.index("sallyport: http"), done.stderr
    done = stage.call("run", "--report", "none", *run[1:], "curl -sS http://denied.test/ >/dev/null", more=github)
    assert "::error" not in done.stderr and summary.read_text() == text, done.stderr


def nobody_waits(stage):
    """--fail-on-ask does not wait, not even with options that make a run wait for an approver."""
    began = time.monotonic()
    expect(stage.run("--fail-on-ask", "--prompt-timeout", "10m", "--default", "ask"), ASKED, "no_approver")
    assert time.monotonic() - began < TIMEOUT_S


def a_job_asks_nobody(stage):
    """--ci does not ask the person who watches all runs of this user either."""
    watch = subprocess.Popen([stage.sallyport, "approve", "watch", "--json"], cwd=stage.here, env=stage.env(), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        world.until(lambda: [*(stage.top / "home/sallyport/watchers").glob("*")], TIMEOUT_S, "the watcher")
        done = stage.call("run", "--ci", "--policy", "policy", "--resolve", f"a.test:{SERVER}", "--prompt-timeout", "10m", "--", "sh", "-c",
                          "curl -sS http://a.test/; exit 4")
        expect(done, ASKED, "no_approver", "http://a.test:80, by /usr/bin/curl: This needs approval, and no approver is connected (no_approver). No rule decides it. "
               "To allow it, add to policy: allow http://a.test:80\n")
        expect(done, ASKED, err="--ci: the exit status is 78 instead of 4; destinations denied: 0, not answered: 1")
        stage.write("asks", "ask http://a.test because \"ask the team\"\n")
        expect(stage.call("policy", "trust", "asks"), 0)
        done = stage.call("run", "--ci", "--policy", "asks", "--", "curl", "-sS", "http://a.test/")
        expect(done, ASKED, "rule: asks:1: ask http://a.test because \"ask the team\"\n"
               "next: Allow it in the policy, in place of a rule that asks; this run asks nobody (--ci).\n")
        expect(done, ASKED, err='Rule: asks:1: ask http://a.test because "ask the team". Next: Allow it in the policy, in place of a rule that asks; '
               "this run asks nobody (--ci).\n")
        for page in ("denials", "why?destination=http://a.test"):
            done = stage.call("run", "--ci", "--policy", "asks", "--", "sh", "-c", f"curl -s http://a.test/ >/dev/null; curl -s 'http://sallyport.internal/{page}'")
            expect(done, ASKED, "this run asks nobody (--ci)")
            assert "approve watch" not in done.stdout, done.stdout
        expect(stage.run("--ci", "--bundle", "asked.json", "--default", "allow"), 0, "yes")
        expect(stage.run("--ci", script="curl -sS http://denied.test/ >/dev/null; exit 4"), 4)
        expect(stage.run("--ci", "--fail-on-deny", script="curl -sS http://denied.test/ >/dev/null; exit 4"), DENIED)
    finally:
        watch.terminate()
    out, _ = watch.communicate(timeout=TIMEOUT_S)
    assert "a.test" not in out, out


def what_is_in_a_bundle(stage):
    script = "curl -sS http://a.test/; curl -sS --user ana:secret http://a.test/; curl -sSk https://b.test/"
    expect(stage.run("--fail-on-ask=asked.json", script=script), ASKED)
    path = stage.here / "asked.json"
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert "secret" not in text, text
    bundle = json.loads(text)
    found = {request["destination"]: request for request in bundle["requests"]}
    assert set(found) == {"http://a.test:80", "https://b.test:443"}, found
    assert found["http://a.test:80"]["count"] == 2 and found["http://a.test:80"]["runs"] == 1
    assert found["http://a.test:80"]["program"].endswith("curl"), found
    assert "sh > curl" in found["http://a.test:80"]["chain"], found
    assert not list(stage.here.glob(".*.new"))
    # nothing asked: an empty one takes the place of the last
    expect(stage.run("--fail-on-ask", "--bundle", "asked.json", script="true"), 0)
    assert stage.json("asked.json")["requests"] == []
    expect(stage.approve("asked.json"), 0, "nothing was asked")
    # --bundle alone changes no status
    expect(stage.run("--bundle", "asked.json", script="curl -s http://a.test/; exit 0"), 0)
    assert len(stage.json("asked.json")["requests"]) == 1
    key = stage.top / "home/.local/state/sallyport/bundle.key"
    assert key.stat().st_mode & 0o777 == 0o600


def a_bundle_that_cannot_be_written(stage):
    expect(stage.run("--bundle", "none/asked.json", script="echo ran"), NO_SANDBOX, "", "cannot write none/asked.json: cannot open its folder none/: No such file")
    assert "ran" not in stage.run("--bundle", "none/asked.json", script="echo ran").stdout
    expect(stage.run("--bundle", "x/..", script="echo ran"), NO_SANDBOX)


def a_command_cannot_send_it_elsewhere(stage):
    """The folder was opened before the command started."""
    (stage.here / "out").mkdir()
    (stage.here / "other").mkdir()
    script = "curl -s http://a.test/; mv out gone; ln -s other out; ln -s ../target gone/asked.json"
    expect(stage.run("--bundle", "out/asked.json", script=script), 0)
    assert not list((stage.here / "other").iterdir())
    written = stage.here / "gone/asked.json"
    assert not written.is_symlink() and json.loads(written.read_text())["runs"] == 1
    assert not (stage.here / "target").exists()


def many_jobs_are_one_line(stage):
    def job(number):
        return stage.run(f"--fail-on-ask=job{number}.json", "--session", f"job-{number}", home=f"job{number % AT_ONCE}")

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(job, range(RUNS)):
            expect(done, ASKED)
    files = [f"job{number}.json" for number in range(RUNS)]
    expect(stage.approve("--merge", *files, "-o", "all.json"), 0, f"1 destination, asked for in {RUNS} runs")
    (stage.here / "copy.json").write_bytes((stage.here / "job0.json").read_bytes())
    expect(stage.approve("--merge", *files, "copy.json", "-o", "all.json"), 0, f"1 destination, asked for in {RUNS} runs",
           "copy.json: the same file was merged already; it counts once")
    merged = stage.json("all.json")
    assert len(merged["requests"]) == 1 and merged["requests"][0]["count"] == RUNS, merged
    assert {source["session"] for source in merged["sources"]} == {f"job-{number}" for number in range(RUNS)}
    key, public = stage.ssh_key("ana")
    expect(stage.approve("all.json", "--key", key, "--allow", "http://a.test:80", "-o", "answers.json"), 0, "1 answer")
    stage.name_approvers(f'approver ana "{public}"')
    expect(stage.run("--fail-on-ask=after.json", "--answers", "answers.json"), 0, "yes")
    assert stage.json("after.json")["requests"] == []
    decided = [record for record in stage.records() if record.get("event") == "decision"]
    assert decided[-1]["reason"] == "answer_allow" and decided[-1]["by"] == "ana by bundle", decided[-1]
    # what was not answered is asked as before
    expect(stage.run("--fail-on-ask", "--answers", "answers.json", script="curl -s http://b.test/"), ASKED)


def whose_answers_count(stage):
    expect(stage.run("--fail-on-ask=asked.json"), ASKED)
    key, public = stage.pem_key("ana")
    other, _ = stage.pem_key("eve")
    expect(stage.approve("asked.json", "--key", key, "--allow", "http://a.test"), 0, "asked.json.answers")
    expect(stage.approve("asked.json", "--key", other, "--allow", "http://a.test", "-o", "eve"), 0)
    answers = "asked.json.answers"
    expect(stage.run("--answers", answers, script="echo ran"), NO_SANDBOX, "", "no `approver` line")
    stage.name_approvers(f"approver ana {public}")
    expect(stage.run("--fail-on-ask", "--answers", answers), 0, "yes")
    expect(stage.run("--answers", answers, "--answers", "eve", script="echo ran"), NO_SANDBOX, "", "no `approver` line")
    expect(stage.run("--answers", "missing", script="echo ran"), NO_SANDBOX, "", "missing")
    # an allow is no allow where somebody wrote a denial
    text = (stage.here / "policy").read_text()
    stage.write_policy(text + "deny a.test\n")
    expect(stage.run("--fail-on-ask", "--answers", answers), 0, "rule_deny")
    stage.write_policy(text)
    # explain says so, too
    explain = ("policy", "explain", "--policy", "policy", "--answers")
    expect(stage.call(*explain, answers, "http://a.test"), 0, "ana by bundle")
    expect(stage.call(*explain, answers, "http://b.test"), 2)
    expect(stage.call(*explain, "eve", "http://a.test"), ERROR, "", "no `approver` line")
    # one byte
    whole = (stage.here / answers).read_text()
    stage.write("changed", whole.replace("allow http://a.test", "allow http://b.test"))
    expect(stage.run("--answers", "changed", script="echo ran"), NO_SANDBOX, "", "changed after it was signed")
    stage.write("more", whole.replace('{"answers"', '{"also":1,"answers"'))
    expect(stage.run("--answers", "more", script="echo ran"), NO_SANDBOX, "", "not a file of answers")
    # over
    expect(stage.approve("asked.json", "--key", key, "--allow", "http://a.test", "--for", "1s", "-o", "short"), 0)
    world.until(lambda: "the file has expired" in stage.run("--answers", "short", script="echo ran").stderr, 120, "the file did not expire")
    expect(stage.run("--answers", "short", script="echo ran"), NO_SANDBOX, "", "the file has expired")


def an_approver_who_is_one_no_longer(stage):
    """During a run; the command cannot change the files that name approvers."""
    expect(stage.run("--fail-on-ask=asked.json"), ASKED)
    key, public = stage.pem_key("ana")
    expect(stage.approve("asked.json", "--key", key, "--allow", "http://a.test", "-o", "answers"), 0)
    folder = stage.top / "home/.config/sallyport"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "policy").write_text(f"approver ana {public}\n")
    (folder / "policy").chmod(0o600)
    script = ("curl -s http://a.test/; touch ready; for i in $(seq 300); do [ -e go ] && break; sleep 0.1; done; "
              "curl -s http://a.test/; exit 0")
    command = [stage.sallyport, "run", "--no-tty", "--report", "none", "--policy", "policy", "--resolve",
               f"a.test:{SERVER}", "--answers", "answers", "--fail-on-ask", "--", "sh", "-c", script]
    run = subprocess.Popen(command, cwd=stage.here, env=stage.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    world.until(lambda: (stage.here / "ready").exists(), 120, "the first request")
    before = len(stage.records())
    new = folder / "new"
    new.write_text("# nobody\n")
    new.chmod(0o600)
    new.rename(folder / "policy")
    world.until(lambda: any(record["event"] == "policy_reloaded" for record in stage.records()[before:]), 30,
                "the policy is read again")
    (stage.here / "go").touch()
    out, err = run.communicate(timeout=TIMEOUT_S)
    assert run.returncode == ASKED and out.startswith("yes") and "no_approver" in out, (run.returncode, out, err)
    assert "answers no longer count" in err, err


def a_project_names_nobody(stage):
    expect(stage.run("--fail-on-ask=asked.json"), ASKED)
    key, public = stage.pem_key("eve")
    expect(stage.approve("asked.json", "--key", key, "--allow", "http://a.test", "-o", "answers"), 0)
    (stage.here / ".sallyport").mkdir()
    stage.write(".sallyport/policy", f"approver eve {public}\n")
    expect(stage.run("--answers", "answers", script="echo ran"), NO_SANDBOX, "", "no `approver` line")


def two_of_three(stage):
    expect(stage.run("--fail-on-ask=asked.json", script="curl -s http://a.test/; curl -s http://b.test/"), ASKED)
    keys = {"ana": stage.pem_key("ana"), "ben": stage.ssh_key("ben"), "cyd": stage.pem_key("cyd")}
    stage.name_approvers("approvers-needed 2", *(f'approver {name} "{public}"' for name, (_, public) in keys.items()))
    for name, words in {"ana": ("--allow", "http://a.test"), "ben": ("--allow", "http://a.test", "--allow", "http://b.test"),
                        "cyd": ("--deny", "http://a.test")}.items():
        expect(stage.approve("asked.json", "--key", keys[name][0], *words, "-o", name), 0)
    expect(stage.run("--fail-on-ask", "--answers", "ana"), ASKED, "no_approver", "fewer than the required 2 approvers")
    expect(stage.run("--fail-on-ask", "--answers", "ana", "--answers", "ana"), ASKED)
    expect(stage.run("--fail-on-ask", "--answers", "ana", "--answers", "ben"), 0, "yes")
    assert any(record.get("by") == "ana and ben by bundle" for record in stage.records())
    both = ("--fail-on-ask", "--answers", "ana", "--answers", "ben")
    expect(stage.run(*both, script="curl -s http://b.test/"), ASKED)
    expect(stage.run(*both, "--answers", "cyd"), 0, "answer_deny")


def what_was_changed_is_refused(stage):
    expect(stage.run("--fail-on-ask=asked.json"), ASKED)
    whole = (stage.here / "asked.json").read_text()
    stage.write("changed.json", whole.replace("http://a.test:80", "http://b.test:80"))
    expect(stage.approve("changed.json"), ERROR, "", "changed after it was signed")
    expect(stage.approve("--merge", "asked.json", "changed.json", "-o", "all.json"), ERROR, "", "changed after it was signed")
    assert not (stage.here / "all.json").exists()
    stage.write("no.json", "{}")
    expect(stage.approve("no.json"), ERROR, "", "not a bundle")
    # whose it is
    signer = json.loads(whole)["key"]
    expect(stage.approve("asked.json", home="another"), 0, "http://a.test:80", signer)
    expect(stage.approve("asked.json"), 0, "http://a.test:80", "")
    assert stage.approve("asked.json").stderr == ""
    expect(stage.approve("asked.json", "--from", signer, home="another"), 0, "http://a.test:80", "")
    _, public = stage.pem_key("eve")
    expect(stage.approve("asked.json", "--from", public), ERROR, "", "--from does not name")


def words_that_make_no_sense(stage):
    expect(stage.run("--fail-on-ask=asked.json"), ASKED)
    key, _ = stage.pem_key("ana")
    for words in ((), ("a", "b"), ("asked.json", "-o", "x"), ("asked.json", "--allow", "http://a.test"),
                  ("--merge", "asked.json"), ("--merge", "asked.json", "-o", "x", "--key", key),
                  ("asked.json", "--for", "2000d", "--key", key), ("asked.json", "--nonsense"), ("asked.json", "--key")):
        expect(stage.approve(*words), USAGE, "", "--help")
    expect(stage.approve("asked.json", "--key", key, "--allow", "http://c.test"), ERROR, "", "no question about")
    expect(stage.approve("asked.json", "--key", key), USAGE, "", "no terminal to ask on")
    expect(stage.approve("asked.json", "--key", "policy", "--allow", "http://a.test"), ERROR, "", "not an Ed25519 key")
    expect(stage.approve("missing"), ERROR, "", "missing")
    expect(stage.approve("--help"), 0, "usage: sallyport approve bundle")
    # a denial and an allow of the same destination
    both = ("asked.json", "--key", key, "--allow", "http://a.test", "--deny", "http://a.test", "-o", "both")
    expect(stage.approve(*both), 0)
    assert stage.json("both")["answers"] == ["deny http://a.test:80"]


class Terminal:
    """`approve bundle` on a terminal, as a person uses it."""

    def __init__(self, stage, *words):
        self.main, side = pty.openpty()
        self.child = subprocess.Popen([stage.sallyport, "approve", "bundle", *map(str, words)], cwd=stage.here,
                                      env=stage.env(), stdin=side, stdout=side, stderr=side)
        os.close(side)
        self.text = ""

    def until(self, words):
        while words not in self.text:
            try:
                piece = os.read(self.main, 65536).decode()
            except OSError:
                piece = ""
            assert piece, f"no {words!r} in {self.text!r}"
            self.text += piece
        seen, self.text = self.text.split(words, 1)
        return seen

    def type(self, prompt, line):
        seen = self.until(prompt)
        os.write(self.main, f"{line}\n".encode())
        return seen

    def end(self):
        while True:
            try:
                piece = os.read(self.main, 65536)
            except OSError:
                break
            if not piece:
                break
            self.text += piece.decode()
        os.close(self.main)
        return self.child.wait(TIMEOUT_S)


def on_a_terminal(stage):
    script = "curl -s http://a.test/; curl -s http://b.test/; curl -s -p http://c.test:22/; curl -s http://93.184.216.34/"
    expect(stage.run("--fail-on-ask=asked.json", script=script), ASKED)
    key, _ = stage.pem_key("ana")
    prompt, order = "[y/n/s/q] ", [request["destination"] for request in stage.json("asked.json")["requests"]]
    assert order == ["http://93.184.216.34:80", "http://a.test:80", "http://b.test:80", "tcp://c.test:22"], order
    person = Terminal(stage, "asked.json", "--key", key, "-o", "answers")
    person.type(prompt, "y")                        # an address
    person.type("to allow it: ", "")                # Enter is not enough
    person.type(prompt, "")                         # nor is it here
    person.type(prompt, "n")
    assert "http://a.test:80" in person.type(prompt, "y")
    person.type(prompt, "s")
    person.type(prompt, "y")
    assert "the protocol cannot be checked" in person.type("type c.test to allow it: ", "c.test")
    shown = person.type("[y/n] ", "what?")
    assert "Type y to sign" in person.type("[y/n] ", "y")
    assert "allow tcp://c.test:22" in shown and "b.test" not in shown.split("will be signed")[1], shown
    assert person.end() == 0, person.text
    assert stage.json("answers")["answers"] == ["deny http://93.184.216.34:80", "allow http://a.test:80",
                                                "allow tcp://c.test:22"]
    for line in ("no", "n", "\x04"):
        person = Terminal(stage, "asked.json", "--key", key, "-o", "nothing")
        for _ in order:
            person.type(prompt, "n")
        person.type("[y/n] ", line)
        assert person.end() == 1 and not (stage.here / "nothing").exists()
    person = Terminal(stage, "asked.json", "--key", key, "-o", "nothing")
    person.type(prompt, "q")
    assert person.end() == 1 and not (stage.here / "nothing").exists()


CASES = [the_status_of_a_run, a_run_says_what_it_wanted, a_denial_fails_a_job_and_is_shown, nobody_waits, a_job_asks_nobody, what_is_in_a_bundle, a_bundle_that_cannot_be_written,
         a_command_cannot_send_it_elsewhere, many_jobs_are_one_line, whose_answers_count,
         an_approver_who_is_one_no_longer, a_project_names_nobody,
         two_of_three, what_was_changed_is_refused, words_that_make_no_sense, on_a_terminal]


def main():
    world.enter_namespace()
    server = http.server.ThreadingHTTPServer((SERVER, 80), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
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
    server.shutdown()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
