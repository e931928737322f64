#!/usr/bin/env python3
"""egress.lock: what a run reached is written to it, and compared with it, as a CI job does. It uses its own network namespace, with two
servers at an address that the policy treats as a public one.

usage: egress_lock.py SALLYPORT [NAME...]"""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import xml.etree.ElementTree

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "flow")]
import bundle  # noqa: E402
import world  # noqa: E402
from bundle import ASKED, DENIED, NO_SANDBOX, SERVER, expect  # noqa: E402

NEW = 79
OTHER_UID = 61234  # nobody's
BIG = 30000
A, B = "curl -sS http://a.test/ >/dev/null", "curl -sS http://b.test/ >/dev/null"
LINE_A = "http a.test 80 curl up <1K down <1K"
LINE_B = "http b.test 80 curl up <1K down <1K"


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"y" * (BIG if self.path == "/big" else 3)
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def lock_of(*lines):
    return "".join(f"{line}\n" for line in ("sallyport-egress-lock 1", *lines, "end"))


class Stage(bundle.Stage):
    def __init__(self, sallyport):
        super().__init__(sallyport)
        self.lock = self.here / "egress.lock"
        self.write("policy", "default deny\nallow a.test\nallow b.test\n")

    def run(self, *options, script=A, more=None):
        return self.call("run", "--ci", "--policy", "policy", "--resolve", f"a.test:{SERVER}", "--resolve", f"b.test:{SERVER}", *options,
                         "--", "sh", "-c", script, more=more)

    def record(self, script=A, *options):
        expect(self.run("--egress-lock", "record", *options, script=script), 0, err="is written; review its ")

    def check(self, script=A, more=None, options=()):
        return self.run("--egress-lock", "check", *options, script=script, more=more)


def what_a_run_reached_is_written(stage):
    stage.record(f"{B}; {A}; {A}; curl -sS http://127.0.0.1:9/; curl -sS http://denied.test/ >/dev/null; true")
    assert stage.lock.read_text() == lock_of(LINE_A, LINE_B), stage.lock.read_text()
    assert stage.lock.stat().st_mode & 0o777 == 0o644
    stage.record("true")
    assert stage.lock.read_text() == lock_of()
    (stage.here / "ci").mkdir()
    stage.record(A, "--egress-lock-file", "ci/test.lock")
    assert (stage.here / "ci/test.lock").read_text() == lock_of(LINE_A)
    assert not list(stage.here.glob(".*.new"))


def nothing_new_is_fine(stage):
    stage.record(f"{A}; {B}")
    before = stage.lock.read_text()
    done = stage.check(f"{B}; {A}; exit 4")
    expect(done, 4, "")
    assert "egress.lock" not in done.stderr, done.stderr
    done = stage.check(B)  # less is only noted
    expect(done, 0, err=f"sallyport: egress.lock, not used by this run: - {LINE_A}\n")
    assert stage.lock.read_text() == before


def what_is_new_fails(stage):
    stage.record(A)
    before = stage.lock.read_text()
    done = stage.check(f"{A}; {B}; exit 4")
    expect(done, NEW, err=f"sallyport: egress.lock: + {LINE_B}\nsallyport: --egress-lock: the exit status is 79 instead of 4, because")
    assert LINE_A not in done.stderr and stage.lock.read_text() == before, done.stderr
    # the same destination by another program
    expect(stage.check("cp $(command -v curl) 'a program'; './a program' -sS http://a.test/ >/dev/null"), NEW,
           err="egress.lock: + http a.test 80 a\\x20program up <1K down <1K\n")
    # a line without a program is for any
    any_program = LINE_A.replace("curl", "-")
    stage.write("egress.lock", lock_of(any_program))
    expect(stage.check(), 0)
    expect(stage.check("curl -sS http://a.test/big >/dev/null"), NEW,
           err=f"egress.lock: - {any_program}\nsallyport: egress.lock: + http a.test 80 curl up <1K down <100K\n")
    stage.write("egress.lock", before)
    # more bytes than ten times as many, and not as many as were allowed for
    expect(stage.check("curl -sS http://a.test/big >/dev/null"), NEW,
           err=f"egress.lock: - {LINE_A}\nsallyport: egress.lock: + http a.test 80 curl up <1K down <100K\n")
    # what the policy denies is denied, whatever the lock says
    stage.write("egress.lock", lock_of(LINE_A, "http denied.test 80 curl up <1K down <1K"))
    expect(stage.check(f"curl -sS http://denied.test/; {A}", options=["--fail-on-deny"]), DENIED, "default_deny")
    # the first of several reasons to fail is the status, and all are said
    stage.write_policy("default ask\nallow b.test\n")
    expect(stage.check(f"{A}; {B}"), ASKED, err=f"egress.lock: + {LINE_B}\n")
    # the machine's form
    done = stage.run("--egress-lock", "check", "--report", "json", script=B)
    said = json.loads(done.stderr.splitlines()[-1])
    assert said["egress_lock"] == {"file": "egress.lock", "new": [f"+ {LINE_B}"],
                                   "unused": [f"- {LINE_A}", "- http denied.test 80 curl up <1K down <1K"]}, said
    assert (said["exit_status"], said["command_status"]) == (NEW, 0), said


def services_show_it(stage):
    stage.record(A)
    summary = stage.write("summary.md", "before\n")
    done = stage.check(B, more={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    expect(done, NEW, err=f"::error title=Sallyport::egress.lock: + {LINE_B}\n")
    assert f"::notice title=Sallyport::egress.lock, not used by this run: - {LINE_A}\n" in done.stderr, done.stderr
    text = summary.read_text()
    assert text.startswith("before\n### Sallyport: run ") and r"egress\.lock\: \+ http b\.test 80 curl up &#60;1K" in text, text
    done = stage.check(B, more={"GITLAB_CI": "true"})
    expect(done, NEW, err=f"\x1b[31msallyport: egress.lock: + {LINE_B}\x1b[0m\n")
    assert done.stderr.index("section_end:") > done.stderr.index("egress.lock: +"), done.stderr


def services_see_no_credential(stage):
    """A credential of the job that its command puts into a name is shown by nothing that a service keeps."""
    stage.record(A)
    summary, token = stage.write("summary.md", ""), "Tok3n-0f-the-Team"
    script = f"curl -sS http://x-{token}-y.test/ >/dev/null; {A}; true"
    secret = {"DEPLOY_TOKEN": f"short\n{token}", "NOT_AT_ALL_ONE": "denied-by"}
    for service in ({"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}, {"GITLAB_CI": "true"}):
        done = stage.check(script, options=["--junit", "junit.xml"], more={**service, **secret})
        said = [done.stderr, summary.read_text(), (stage.here / "junit.xml").read_text()]
        assert "x-***-y.test" in said[0] and "x-***-y.test" in said[2] and r"x\-\*\*\*\-y\.test" in said[1], said
        assert not [text for text in said if token.lower() in text.lower()], said
        for form in ("text", "json"):
            done = stage.check(script, options=["--report", form], more={**service, **secret})
            assert "x-***-y.test" in done.stderr and token.lower() not in done.stderr.lower(), done.stderr
    assert f"x-{token.lower()}-y.test" in stage.check(script, options=["--report", "text"], more=secret).stderr


def a_file_for_services(stage):
    """--junit: what passed and what failed; the text of a command cannot end an attribute."""
    stage.record(A)
    program = "a \"&<'"
    script = f"{A}; {B}; cp $(command -v curl) '{program.replace(chr(39), chr(39) + chr(92) + chr(39) * 2)}'; ./a* -sS http://denied.test/"
    (stage.here / "out").mkdir()
    expect(stage.check(f"{script}; mv out gone; ln -s / out; true", options=["--junit", "out/junit.xml"]), NEW)
    suite = xml.etree.ElementTree.parse(stage.here / "gone/junit.xml").getroot()[0]
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2") and suite.get("name").startswith("sallyport run "), suite.attrib
    assert set(cases) == {"http://a.test:80", "http://b.test:80", "http://denied.test:80", "egress.lock"}, cases
    assert cases["http://a.test:80"] is None and cases["http://b.test:80"] is None
    assert cases["egress.lock"].get("message") == f"+ {LINE_B}" and cases["egress.lock"].get("type") == "egress_lock"
    denied = cases["http://denied.test:80"]
    assert denied.get("type") == "default_deny" and f"by {stage.here}/{program}: " in denied.get("message"), denied.attrib
    expect(stage.run("--junit", "junit.xml", script="true"), 0)
    suite = xml.etree.ElementTree.parse(stage.here / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), len(suite)) == ("0", "0", 0)
    expect(stage.run("--junit", "none/junit.xml", script="echo ran"), NO_SANDBOX, "", "cannot write none/junit.xml")


def a_malformed_lock_runs_nothing(stage):
    """FILE:LINE says where."""
    for text, why in (
            ("", "egress.lock:1: the file is not whole"),
            ("sallyport-egress-lock 1\n", "egress.lock:2: the file is not whole"),
            (lock_of(LINE_A)[:-4], "egress.lock:3: the file is not whole"),
            (lock_of(LINE_A)[:-9], "egress.lock:2: this line is not whole"),
            (lock_of(LINE_A)[:-1], "egress.lock:3: this line is not whole"),
            (lock_of(LINE_A) + "more\n", "egress.lock:4: nothing may follow"),
            (lock_of().replace(" 1", " 2"), "egress.lock:1: this version of the file is not known"),
            ("allow a.test\n", "egress.lock:1: the first line is not"),
            (lock_of(LINE_B, LINE_A), "egress.lock:3: the lines are not sorted"),
            (lock_of(LINE_A, LINE_A), "egress.lock:3: this destination and program have a line already"),
            (lock_of("<<<<<<< HEAD"), "egress.lock:2: this line is not PROTOCOL"),
            (lock_of(LINE_A + " "), "egress.lock:2: this line is not PROTOCOL"),
            (lock_of(LINE_A.replace(" 80", "  80")), "egress.lock:2: this line is not PROTOCOL"),
            (lock_of(LINE_A.replace("up <1K", "up <2K")), "egress.lock:2: this line is not PROTOCOL"),
            (lock_of(LINE_A.replace("a.test", "A.test")), "egress.lock:2: http A.test 80 is not a destination"),
            (lock_of(LINE_A.replace("a.test", "*.test")), "egress.lock:2: http *.test 80 is not a destination"),
            (lock_of(LINE_A.replace("80", "080")), "egress.lock:2: http a.test 080 is not a destination"),
            (lock_of(LINE_A.replace("80", "65536")), "egress.lock:2: http a.test 65536 is not a destination"),
            (lock_of(LINE_A.replace("http", "udp")), "egress.lock:2: udp a.test 80 is not a destination"),
            (lock_of(LINE_A.replace("curl", "c\x00url")), "egress.lock:2: this line is too long, or is not text"),
            (lock_of(LINE_A.replace("curl", "c" * 5000)), "egress.lock:2: this line is too long"),
            (lock_of(*sorted(f"tcp a.test {port} - up <1K down <1K" for port in range(1, 8194))), "egress.lock:8194: there are more than 8192"),
            ("x" * (5 << 20), "egress.lock: ")):
        stage.lock.write_text(text)
        expect(stage.check("echo ran"), NO_SANDBOX, "", why)
        assert "ran" not in stage.check("echo ran").stdout
    stage.lock.unlink()
    expect(stage.check("echo ran"), NO_SANDBOX, "", "there is no egress.lock; write it with `--egress-lock record`")
    stage.lock.mkdir()
    expect(stage.check("echo ran"), NO_SANDBOX, "", "egress.lock is not a regular file")
    expect(stage.run("--egress-lock", "record", "--egress-lock-file", "none/egress.lock", script="echo ran"), NO_SANDBOX, "",
           "cannot write none/egress.lock")


def hosts_are_a_labels(stage):
    stage.write_policy("default deny\nallow **.bücher.test\n")
    done = stage.call("run", "--ci", "--policy", "policy", "--resolve", f"www.bücher.test:{SERVER}", "--egress-lock", "record", "--", "curl",
                      "-sS", "http://WWW.xn--bcher-kva.test/")
    expect(done, 0, "yyy")
    assert stage.lock.read_text() == lock_of("http www.xn--bcher-kva.test 80 curl up <1K down <1K")
    stage.lock.write_text(lock_of("http www.bücher.test 80 curl up <1K down <1K"))
    expect(stage.check(), NO_SANDBOX, "", "egress.lock:2: this line is not PROTOCOL")


def a_failed_run_is_not_recorded(stage):
    """It may have ended before it reached everything."""
    stage.record(f"{A}; {B}")
    before = stage.lock.read_text()
    expect(stage.run("--egress-lock", "record", script=f"{A}; exit 4"), 4, err="egress.lock is not written, because the run ends with 4")
    stage.write_policy("default ask\nallow a.test\n")
    expect(stage.run("--egress-lock", "record", script=f"{A}; {B}"), ASKED, err="egress.lock is not written, because the run ends with 78")
    assert stage.lock.read_text() == before


def a_command_cannot_change_the_result(stage):
    """The lock lies in a folder that it may write."""
    stage.record(A)
    wide = lock_of(LINE_A, LINE_B).replace("\n", "\\n")
    expect(stage.check(f"printf '{wide}' > egress.lock; {B}"), NEW, err=f"egress.lock: + {LINE_B}\n")
    (stage.here / "other").mkdir()
    target = stage.write("other/target", "whole\n")
    stage.record(f"rm egress.lock; ln -s other/target egress.lock; {A}")
    assert not stage.lock.is_symlink() and stage.lock.read_text() == lock_of(LINE_A) and target.read_text() == "whole\n"
    (stage.here / "out").mkdir()
    stage.record(f"mv out gone; ln -s other out; {A}", "--egress-lock-file", "out/egress.lock")
    assert (stage.here / "gone/egress.lock").read_text() == lock_of(LINE_A) and not (stage.here / "other/egress.lock").exists()


def an_ordinary_user_can_use_it(stage):
    if pathlib.Path("/proc/self/uid_map").read_text().split()[2] == "1":
        return  # these tests run as an ordinary user, who is root in a namespace only, and so do all other cases
    program = stage.top / "sallyport"
    shutil.copy(stage.sallyport, program)  # it may lie where only root can read it
    (stage.top / "home").mkdir(exist_ok=True)
    for path in (stage.top, stage.here, stage.here / "policy", stage.top / "home", program):
        os.chown(path, OTHER_UID, OTHER_UID)
    command = ["setpriv", f"--reuid={OTHER_UID}", f"--regid={OTHER_UID}", "--clear-groups", str(program), "run", "--ci", "--policy", "policy",
               "--resolve", f"a.test:{SERVER}", "--resolve", f"b.test:{SERVER}", "--egress-lock"]

    def run(*words):
        return subprocess.run([*command, *words], cwd=stage.here, env=stage.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=bundle.TIMEOUT_S)
    expect(run("record", "--", "sh", "-c", A), 0, err="is written")
    expect(run("check", "--", "sh", "-c", A), 0)
    expect(run("check", "--", "sh", "-c", B), NEW, err=f"egress.lock: + {LINE_B}\n")


def observed_runs_are_recorded(stage):
    """What nobody allowed yet; the lock is where it is seen."""
    stage.write("policy", "version 1\n")
    done = stage.call("run", "--observe", "--no-tty", "--policy", "policy", "--resolve", f"a.test:{SERVER}", "--egress-lock", "record", "--",
                      "sh", "-c", A)
    expect(done, 0, err="is written")
    assert stage.lock.read_text() == lock_of(LINE_A)


CASES = [what_a_run_reached_is_written, nothing_new_is_fine, what_is_new_fails, services_show_it, services_see_no_credential, a_file_for_services, a_malformed_lock_runs_nothing,
         hosts_are_a_labels, a_failed_run_is_not_recorded, a_command_cannot_change_the_result, an_ordinary_user_can_use_it,
         observed_runs_are_recorded]


def main():
    world.enter_namespace()
    server = http.server.ThreadingHTTPServer((SERVER, 80), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return world.play_cases(CASES, Stage)


if __name__ == "__main__":
    sys.exit(main())
