#!/usr/bin/env python3
"""A user with a new home directory and a project: `init` writes the policy, and npm, pip, go, git over ssh, httpx and Chromium work with it,
without an option of `sallyport run`. What the project does not name is denied. As the user who runs the test, and for root also as uid 65534.

usage: fresh.py SALLYPORT"""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

import clients  # before the others: it finds their folders
import cases
import fixtures
import servers
import world as worlds

CLONE_NEWNS = 0x20000
OTHER = 65534
TIMEOUT_S = 60
GO = """package main

import (
	"os"

	"hello.test/hello"
)

func main() { os.Stdout.WriteString(hello.Words) }
"""
PROJECT = {
    "package.json": '{"name": "t", "version": "1.0.0", "dependencies": {"hello": "1.0.0"}}',
    "package-lock.json": '{"name": "t", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "t", "version": "1.0.0", '
                         '"dependencies": {"hello": "1.0.0"}}, "node_modules/hello": {"version": "1.0.0"}}}',
    "requirements.txt": "hello==1.0\n",
    "go.mod": "module t\n\ngo 1.19\n\nrequire hello.test/hello v1.0.0\n",
    "t.go": GO,
    "fetch.py": "import httpx\nprint(httpx.get('https://pip.test/simple/hello').text)\n",
}
HOME = {
    ".npmrc": "registry=https://npm.test/\ncafile={top}/ca.pem\nupdate-notifier=false\nfetch-retries=0\n",
    ".config/pip/pip.conf": "[global]\nindex-url = https://pip.test/simple\ncert = {top}/ca.pem\ndisable-pip-version-check = true\n",
    ".config/go/env": "GOPROXY=https://go.test\nGOSUMDB=off\nGOFLAGS=-mod=mod\n",
}
CHROMIUM = "chromium --headless --disable-gpu --ignore-certificate-errors --dump-dom https://npm.test/hello 2>/dev/null"
# The command, and what it prints.
COMMANDS = [
    ("npm ci --no-audit --no-fund >&2 && node -p \"require('hello')\"", "hello from the registry"),
    (f"{cases.PYTHON} -m pip install -q --target out -r requirements.txt && PYTHONPATH=out {cases.PYTHON} -c 'import hello; print(hello.words)'",
     "hello from the index"),
    ("go build -o t . && ./t", "hello from the modules"),
    ("git clone -q git@ssh.test:repo.git got && cat got/file", "first light"),
    (f"{cases.PYTHON} fetch.py", "hello-1.0-py3-none-any.whl"),
    (CHROMIUM, "hello-1.0.0.tgz"),
]


class Stage(clients.Stage):
    def serve(self):
        things = self.world.top / "things"
        things.mkdir()
        fixtures.make_git_that_takes_pushes(things)
        self.add("web", servers.Page)
        self.add("npm", fixtures.FilesPage, files=fixtures.npm_files("npm.test"))
        self.add("pip", fixtures.FilesPage, files=fixtures.pip_files())
        self.add("go", fixtures.FilesPage, files=fixtures.go_files())
        self.serve_aside("ssh", str(things))

    def be_fresh(self):
        """The machine's resolver is ours, as no option names it, and its tools are not configured."""
        assert ctypes.CDLL(None).unshare(CLONE_NEWNS) == 0, "no mount namespace"
        ours = self.world.top / "resolv.conf"
        ours.write_text("nameserver 127.0.0.1\n")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "--bind", ours, "/etc/resolv.conf"], check=True)
        nothing = self.world.top / "nothing"
        nothing.write_text("")
        for path in filter(os.path.exists, ("/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", "/etc/pip.conf", "/etc/xdg/pip/pip.conf", "/etc/gitconfig")):
            subprocess.run(["mount", "--bind", nothing, path], check=True)


class User:
    def __init__(self, stage, uid, more):
        self.sallyport, self.uid = stage.world.sallyport, uid
        self.top = stage.world.top / f"user{uid}"
        self.home, self.project = self.top / "home", self.top / "home/project"
        self.project.mkdir(parents=True)
        shutil.copy(stage.certificates / "ca.pem", self.top)
        for folder, files in ((self.home, HOME), (self.project, PROJECT)):
            for name, text in files.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text.replace("{top}", str(self.top)))
        for words in (("init", "-q", "-b", "main"), ("remote", "add", "origin", "git@ssh.test:repo.git")):
            subprocess.run(["git", *words], cwd=self.project, check=True)
        if uid != os.geteuid():
            for path in (self.top, *self.top.rglob("*")):
                os.chown(path, uid, uid)
        kept = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
        self.env = {name: os.environ[name] for name in kept if name in os.environ}
        self.env |= {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "SSL_CERT_FILE": str(self.top / "ca.pem"),
                     "GIT_SSH_COMMAND": f"ssh {cases.SSH}", **more}

    def call(self, *words):
        other = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"] if self.uid != os.geteuid() else []
        try:
            return subprocess.run([*other, self.sallyport, *words], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors="replace", timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as late:
            return subprocess.CompletedProcess(words, -1, str(late.stdout), str(late.stderr))

    def play(self):
        """Yields (name, what went wrong or None)."""
        done = [self.call("init", "--yes"), self.call("policy", "trust", ".sallyport/policy")]
        yield "init", next((str(one) for one in done if one.returncode), None)
        for script, prints in COMMANDS:
            done = self.call("run", "--", "sh", "-c", script)
            yield script, None if done.returncode == 0 and prints in done.stdout and ": warning:" not in done.stderr else \
                f"exit {done.returncode}, wanted {prints!r}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        done = self.call("run", "--", "curl", "-fsS", "https://web.test/page")
        yield "another host", None if done.returncode and "web.test" in done.stderr and "web GET" not in done.stdout else str(done)


def main():
    worlds.enter_namespace()
    tempfile.tempdir = "/var/tmp"  # a command has a /tmp of its own, without what is there
    stage = Stage(sys.argv[1])
    passed = failed = 0
    try:
        stage.be_fresh()
        stage.world.top.chmod(0o755)
        is_root = open("/proc/self/uid_map").read().split() == ["0", "0", "4294967295"]
        # Root by name only has nothing in /run.
        more = {} if is_root else {"XDG_RUNTIME_DIR": stage.world.env["XDG_RUNTIME_DIR"]}
        for uid in (os.geteuid(), *((OTHER,) if is_root else ())):
            for name, wrong in User(stage, uid, more).play():
                print(f"{'FAIL' if wrong else 'ok  '} uid {uid}: {name}" + (f"\n{wrong}" if wrong else ""), flush=True)
                passed, failed = passed + (not wrong), failed + bool(wrong)
    finally:
        stage.world.close()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
