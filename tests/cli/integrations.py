#!/usr/bin/env python3
"""The action for GitHub and the include for GitLab of integrations/, run as the services run them: the steps of a composite action with its
inputs in the environment and bash as GitHub starts it, and a job's variables and script as GitLab's shell executor does.

usage: integrations.py SALLYPORT [NAME...]"""
import http.server
import pathlib
import re
import subprocess
import sys
import threading

import yaml

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "flow")]
import bundle  # noqa: E402
import egress_lock  # noqa: E402
import world  # noqa: E402
from bundle import ASKED, DENIED, NO_SANDBOX, SERVER, expect  # noqa: E402
from egress_lock import A, B, LINE_A, LINE_B, NEW, lock_of  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "integrations"


class Job(egress_lock.Stage):
    """`sallyport` on the PATH, with the addresses of the servers, which a job does not name."""

    def __init__(self, sallyport):
        super().__init__(sallyport)
        (self.top / "bin").mkdir()
        program = self.top / "bin" / "sallyport"
        program.write_text(f'#!/bin/sh\n[ "$1" = run ] || exec {sallyport} "$@"\nshift\n'
                           f'exec {sallyport} run --resolve a.test:{SERVER} --resolve b.test:{SERVER} "$@"\n')
        program.chmod(0o755)
        self.summary = self.write("summary.md", "")

    def env(self, home="home"):
        env = super().env(home)
        return {**env, "PATH": f"{self.top / 'bin'}:{env['PATH']}"}

    def start(self, shell, script, cwd, env):
        path = self.top / "script"
        path.write_text(script)
        return subprocess.run([*shell, str(path)], cwd=cwd, env={**self.env(), **env}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=bundle.TIMEOUT_S)

    def github(self, **given):
        """Runs every step of the action until one fails."""
        action = yaml.safe_load((FOLDER / "github/action.yml").read_text())
        given = {name.replace("_", "-"): value for name, value in given.items()}
        assert set(given) <= set(action["inputs"]), given
        inputs = {name: given.get(name, about.get("default", "")) for name, about in action["inputs"].items()}
        assert all(given.get(name) for name, about in action["inputs"].items() if about.get("required")), given
        assert all(isinstance(value, str) for value in inputs.values()), inputs
        assert action["runs"]["using"] == "composite"

        def filled(text):  # the expressions that the action uses, and no others
            text = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)
            assert "${{" not in text or text in inputs.values(), text
            return text
        for step in action["runs"]["steps"]:
            assert set(step) <= {"shell", "working-directory", "env", "run"} and step["shell"] == "bash", step
            assert "${{" not in step["run"], "an input in a script would be read by the shell"
            env = {name: filled(value) for name, value in step.get("env", {}).items()}
            done = self.start(["bash", "--noprofile", "--norc", "-eo", "pipefail"], step["run"],
                              self.here / filled(step.get("working-directory", ".")),
                              {"CI": "true", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.summary),
                               "GITHUB_WORKSPACE": str(self.here), **env})
            if done.returncode:
                break
        return done

    def gitlab(self, **given):
        """Runs a job that extends .sallyport with these variables."""
        job = yaml.safe_load((FOLDER / "gitlab/sallyport.yml").read_text())[".sallyport"]
        assert set(job) == {"variables", "script"} and all(isinstance(line, str) for line in job["script"]), job
        given = {f"SALLYPORT_{name.upper()}": value for name, value in given.items()}
        assert set(given) <= set(job["variables"]), given
        return self.start(["sh"], "set -e\n" + "\n".join(job["script"]), self.here,
                          {"CI": "true", "GITLAB_CI": "true", **job["variables"], **given})


def of_both(stage):
    """A job writes the lock; the next one is compared with it; the reasons to fail are those of `run`."""
    for service, new in ((stage.github, f"::error title=Sallyport::egress.lock: + {LINE_B}\n"),
                         (stage.gitlab, f"\x1b[31msallyport: egress.lock: + {LINE_B}\x1b[0m\n")):
        expect(service(run=f"{A}\necho 'it is'  done", policy="policy", egress_lock="record"), 0, "it is done\n")
        assert stage.lock.read_text() == lock_of(LINE_A)
        expect(service(run=A, policy="policy", egress_lock="check"), 0)
        expect(service(run=f"{A}; {B}", policy="policy", egress_lock="check"), NEW, err=new)
        (stage.here / "other lock").write_text(lock_of(LINE_A, LINE_B))
        expect(service(run=f"{A}; {B}", policy="policy", egress_lock="check", egress_lock_file="other lock"), 0)
        expect(service(run="curl -sS http://denied.test/; true", policy="policy", fail_on_deny="true"), DENIED, "default_deny")
        expect(service(run="curl -sS http://denied.test/; true", policy="policy", junit="junit.xml"), 0)
        assert 'failures="1"' in (stage.here / "junit.xml").read_text()
        (stage.here / "junit.xml").unlink()
        expect(service(run="false; echo ran", policy="policy"), 1, "")
        expect(service(run="curl -sS http://a.test/; true", bundle="asked.json"), ASKED, "no_approver")
        assert [request["destination"] for request in stage.json("asked.json")["requests"]] == ["http://a.test:80"]
        expect(service(run="true", answers="missing"), NO_SANDBOX, err="missing")
        expect(service(run="echo ran", sallyport="nothing") if service == stage.github else service(run="echo ran", program="nothing"), 127)


def inputs_are_no_script(stage):
    for text in ("policy; touch made", "$(touch made)", "policy --default=allow", "`touch made`"):
        done = stage.github(run="true", policy=text)
        assert done.returncode != 0 and not (stage.here / "made").exists(), done
        done = stage.gitlab(run="true", policy=text)
        assert done.returncode != 0 and not (stage.here / "made").exists(), done
    expect(stage.github(run="echo \"${{ secrets.A }}$0\"", policy="policy"), 1)  # for bash, and no expression any more
    expect(stage.gitlab(), 2, err="SALLYPORT_RUN is not set")


def of_github(stage):
    (stage.here / "sub").mkdir()
    expect(stage.github(run="pwd; false | true; echo ran", working_directory="sub"), 1, f"{stage.here / 'sub'}\n")
    expect(stage.github(run=B, policy="policy", egress_lock="record"), 0)
    expect(stage.github(run=A, policy="policy", egress_lock="check"), NEW)
    assert r"egress\.lock\: \+ http a\.test 80 curl" in stage.summary.read_text(), stage.summary.read_text()


CASES = [of_both, inputs_are_no_script, of_github]


def main():
    world.enter_namespace()
    server = http.server.ThreadingHTTPServer((SERVER, 80), egress_lock.Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return world.play_cases(CASES, Job)


if __name__ == "__main__":
    sys.exit(main())
