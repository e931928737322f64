#!/usr/bin/env python3
"""Runs every example of every manual page, exactly as mandoc shows it ("$ COMMAND"). The stage of an example, below, creates the files
that it needs; an example without a stage fails, and so does a stage without an example.

usage: manual.py SALLYPORT [PAGE...]"""
import json
import os
import pathlib
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "flow"), str(ROOT / "tests" / "clients"), str(ROOT / "tests" / "cli")]
import fixtures  # noqa: E402
import send  # noqa: E402
import servers  # noqa: E402
import world as worlds  # noqa: E402
from postgres import Postgres  # noqa: E402
from servers import Server  # noqa: E402
from world import World, until  # noqa: E402

QUICK = 60
ID = "7f3a9c-1"  # which pages have for a question's id
LISTED_ELSEWHERE = {  # would change this system
    "$ systemctl --user enable --now sallyport-session@work.socket": "session-activation plays the units",
}


class Stage(World):
    """A home, a folder to work in, and `sallyport` on the PATH, as the reader of a page has them."""

    used = 9

    def __init__(self, sallyport):
        super().__init__(sallyport)
        (self.top / "bin").mkdir()
        (self.top / "bin" / "sallyport").symlink_to(self.sallyport)
        (self.top / "bin" / "python3").symlink_to("/usr/bin/python3")  # which has Debian's modules
        self.env["PATH"] = f"{self.top / 'bin'}:{self.env['PATH']}"
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            del self.env[name]
        self.home = self.top / "home"
        self.addresses = {}
        # The machine's own belongs to nobody in a user namespace, and would be refused.
        self.env["npm_config_globalconfig"] = str(self.home / "npmrc")

    def new_address(self):
        Stage.used += 1  # the servers of an example stay until the end
        return f"{worlds.NETWORK}.{Stage.used}"

    def serve(self, host, handler=servers.Page, **attributes):
        """Serves @host by http and https, to every run of this stage."""
        made = Server(host, self.new_address())
        certificates = self.top / "certificates"
        certificates.mkdir(exist_ok=True)
        context = servers.make_certificate(certificates, [host])
        for port, tls in ((80, None), (443, context)):
            server = servers.Quiet((made.address, port), handler)
            server.world, server.context = made, tls
            for name, value in attributes.items():
                setattr(server, name, value)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "GIT_SSL_CAINFO", "PIP_CERT", "npm_config_cafile"):
            self.env[name] = str(certificates / "ca.pem")
        (self.home / ".wgetrc").write_text(f"ca_certificate = {certificates / 'ca.pem'}\n")
        self.addresses[host] = made.address
        # The pages name no addresses, so the program gets them here.
        known = " ".join(f"--resolve {name}:{address}" for name, address in self.addresses.items())
        program = self.top / "bin" / "sallyport"
        program.unlink()
        program.write_text(f'#!/bin/sh\ncase $1 in\nrun|proxy) step=$1; shift; exec {self.sallyport} $step {known} "$@" ;;\n'
                           f'esac\nexec {self.sallyport} "$@"\n')
        program.chmod(0o755)

    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def play(self, example, status=0, **changes):
        """Types it; returns its output."""
        command = re.sub(r"\s+# .*", "", example.removeprefix("$ "))
        for old, new in changes.items():
            command = command.replace({"id": ID}.get(old, old), new)
        done = subprocess.run(["bash", "-c", command], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=QUICK)
        assert done.returncode == status, f"it ended with {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def begin(self, command, **more):
        return subprocess.Popen(["bash", "-c", command], env=self.env, cwd=self.work, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)

    def asks(self, host="www.example.org"):
        """A run whose one question is open: (the run, the question)."""
        server = Server("web", self.new_address())
        server.serve_http(80)
        run = self.begin(f"exec sallyport run --no-tty --default ask --prompt-timeout 60s --resolve {host}:{server.address} -- "
                         f"curl -sS http://{host}/")
        return run, until(self.questions, QUICK, "a question")[0]

    def bundles(self, count):
        for number in range(1, count + 1):
            done = subprocess.run([self.sallyport, "run", "--no-tty", f"--fail-on-ask=job-{number}.json", "--", "curl", "-sS",
                                   "http://a.example.org/"], env=self.env, cwd=self.work, capture_output=True, text=True, timeout=QUICK)
            assert done.returncode == 78, done

    def key(self):
        (self.home / ".ssh").mkdir(mode=0o700)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.home / ".ssh" / "id_ed25519")], check=True)

    def npm_project(self):
        self.write("package.json", '{"name": "a", "version": "1.0.0"}\n')
        self.write("package-lock.json", '{"name": "a", "version": "1.0.0", "lockfileVersion": 3, "packages": '
                                        '{"": {"name": "a", "version": "1.0.0"}}}\n')


def finish(run, status=0):
    out, _ = run.communicate(timeout=QUICK)
    assert run.returncode == status, (run.returncode, out)
    return out


def watch(stage, example):
    watcher = stage.begin(example.removeprefix("$ "))
    run, question = stage.asks()
    stage.sally("approve", "deny", question["id"], check=True)
    finish(run)
    watcher.terminate()
    out, _ = watcher.communicate(timeout=QUICK)
    assert "www.example.org" in out, out


def listed(stage, example):
    run, question = stage.asks()
    assert stage.play(example) == f"{question['id']} www.example.org\n"
    stage.sally("approve", "deny", question["id"], check=True)
    finish(run)


def seen_by_top(stage, example):
    run, question = stage.asks()
    assert stage.play(example).startswith("1 run, 1 question waiting, 0 connections open\n")
    stage.sally("approve", "deny", question["id"], check=True)
    finish(run)


def allowed_for_the_session(stage, example):
    run, question = stage.asks("never.example.org")
    command = shlex.join(["--confirm", question["typed"]]) if question.get("risk") else ""
    stage.play(f"{example} {command}", id=question["id"])
    assert "web GET /" in finish(run)


def allowed_for_a_domain(stage, example):
    run, question = stage.asks()
    assert "**.example.org" in stage.play(example, id=question["id"])
    assert "web GET /" in finish(run)


def merged(stage, example):
    stage.bundles(3)
    stage.play(example)
    assert len(json.loads((stage.work / "asked.json").read_text())["requests"]) == 1


def answered(stage, example):
    """Runs it on a terminal that answers y to every question, and types the domain if it is required."""
    import pty
    stage.bundles(1)
    (stage.work / "job-1.json").rename(stage.work / "asked.json")
    stage.key()
    main, inner = pty.openpty()
    child = subprocess.Popen(["bash", "-c", example.removeprefix("$ ")], env=stage.env, cwd=stage.work, stdin=inner, stdout=inner,
                             stderr=inner)
    os.close(inner)
    shown, said = "", {"[y/n/s/q] ": "y", "to allow it: ": "example.org", "[y/n] ": "y"}
    while select.select([main], [], [], QUICK)[0]:
        try:
            shown += os.read(main, 65536).decode()
        except OSError:  # it has ended
            break
        prompt = next((prompt for prompt in said if shown.endswith(prompt)), None)
        if prompt:
            shown = ""
            os.write(main, f"{said[prompt]}\n".encode())
    assert child.wait(QUICK) == 0
    os.close(main)
    assert "allow http://a.example.org:80" in (stage.work / "asked.json.answers").read_text()


def log_of_a_run(stage, example):
    stage.policy_with_commands()
    stage.write("Makefile", "all:\n\t-@/bin/ls\n")
    stage.play("$ sallyport run --no-tty --policy ci.policy --intercept-exec -- make || true; "
               "sallyport run --no-tty --default deny -- curl -s http://a.example.org/ >out")
    log = stage.home / ".local/state/sallyport/audit.jsonl"
    if "audit.jsonl" in example and "~" not in example:
        (stage.work / "audit.jsonl").write_text(log.read_text())
    said = stage.play(example)
    assert ("/ls" in said if '"program"' in example else "a.example.org" in said if "jq" in example else "unbroken" in said), said


def pruned(stage, example):
    stage.play("$ sallyport run --no-tty -- true")
    said = stage.play(example)
    assert "removed 0 records" in said, said


def records_of_a_run(stage, example):
    """The page's own record is the decision of a run."""
    stage.play("$ sallyport run --no-tty --default deny -- curl -s http://a.example.org/ >out")
    listed = until(lambda: stage.play("$ sallyport audit query --json --event decision").splitlines(), QUICK, "the record")
    record = json.loads(listed[0])
    said = stage.play(example.replace("7f3a9c.120", f"{record['run']}.{record['seq']}"))
    if "left.csv" in example:
        said += (stage.work / "left.csv").read_text()
    words = "time_utc,time_local,id," if "left.csv" in example else "denied        1\n" if "summary" in example else "a.example.org"
    assert words in said, said


def exported_as_events(stage, example):
    stage.play("$ sallyport run --no-tty --default deny -- curl -s http://a.example.org/ >out")
    stage.play(example)
    events = [json.loads(line) for line in (stage.work / "events.jsonl").read_text().splitlines()]
    assert [event["dst_endpoint"]["hostname"] for event in events] == ["a.example.org"], events


def followed_as_events(stage, example):
    stage.play("$ sallyport run --no-tty --default deny -- curl -s http://a.example.org/ >out")
    following = stage.begin("exec " + example.removeprefix("$ "))
    assert select.select([following.stdout], [], [], QUICK)[0], "no event"
    event = json.loads(following.stdout.readline())
    following.terminate()
    finish(following, -signal.SIGTERM)
    assert event["action"] == "Denied", event


def sent_to_a_receiver(stage, example):
    stage.write("Makefile", "all:\n\t@true\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 514))
        receiver.settimeout(QUICK)
        stage.play(example)
        while b' event="end"' not in receiver.recv(4096):
            pass


def sent_to_a_collector(stage, example):
    stage.play("$ sallyport run --no-tty -- true")
    collector = send.Collector(4318)
    said = stage.play(example)
    assert len(collector.got) > 2 and f"sent {len(collector.got)} records" in said, (said, collector.got)


def sent_to_a_database(stage, example):
    """With a server here in the place of the one that the page names."""
    stage.play("$ sallyport run --no-tty -- true")
    server = Postgres(stage.top / "postgres", "127.0.0.1")
    server.start()
    for statement in ("create role audit login", "create database audit owner audit"):
        server.query(statement)
    sending = stage.begin("exec " + example.removeprefix("$ ").replace("db.example.org", "127.0.0.1"))
    until(lambda: server.query("select to_regclass('sallyport_records') is not null", "audit") == ["t"] and
          len(server.query("select record from sallyport_records", "audit")) > 2, QUICK, "the records")
    sending.terminate()
    finish(sending, -signal.SIGTERM)
    server.stop()


def sent_to_syslog_by_tls(stage, example):
    stage.play("$ sallyport run --no-tty -- true")
    stage.port = 6514
    stage.certificate = send.certificate(stage, "localhost")
    receiver = send.Messages(stage)
    said = stage.play(example.replace("logs.example.org", "localhost"))
    assert len(receiver.got) > 2 and f"sent {len(receiver.got)} records" in said, said


def page_policy(stage, example, status=0):
    """The policy that the page itself shows."""
    block = re.search(r"^EXAMPLES\n(.*?)^ +Check it", shown(ROOT / "docs/man/sallyport-policy.5"), re.M | re.S)[1]
    stage.write("team.policy", "version 1\n")
    stage.write("ci.policy", "\n".join(line.strip() for line in block.splitlines()) + "\n")
    return stage.play(example, status)


def explained(stage, example):
    stage.write("ci.policy", "version 1\ndefault deny\nallow packages.example.org\n")
    assert "allow https://packages.example.org:443" in stage.play(example)


def trusted(stage, example):
    stage.write(".sallyport/policy", "version 1\nallow a.example.org\n")
    stage.play(example)
    assert "allow https://a.example.org:443" in stage.play("$ sallyport policy explain https://a.example.org")


def undone(stage, example):
    run, question = stage.asks()
    stage.sally("approve", "allow", question["id"], "--scope", "always", "--confirm", "example.org", check=True)
    finish(run)
    assert "www.example.org" in stage.play(example)
    assert "www.example.org" not in stage.play("$ sallyport policy list --answers")


def configuration(stage, example):
    stage.write(".npmrc", "registry=https://npm.example.org/\n")
    stage.write("npm.policy", "version 1\nallow configured npm\n")
    stage.play(example)
    assert "allow https" in stage.play("$ sallyport policy explain --policy npm.policy https://npm.example.org")


def reviewed(stage, example):
    """With a reviewer in the place of the one the page names."""
    program = stage.home / "reviewer.py"
    program.write_text((ROOT / "docs/examples/reviewer.py").read_text())
    program.chmod(0o755)
    stage.write("Makefile", "all:\n\t@echo made\n")
    command = re.search(r"'(/\S+)", example)[1]
    assert "made" in stage.play(example, **{command: str(program)})


def npm(stage, example):
    stage.npm_project()
    stage.play(example)


def in_ci(stage, example):
    stage.write("ci.policy", "version 1\n")
    stage.write("Makefile", "all:\n\t@echo made\n")
    assert "made" in stage.play(example)
    if "--audit" in example:
        stage.play("$ sallyport audit verify net.jsonl")


def in_ci_asked(stage, example):
    """A job that needs a destination without a rule."""
    stage.write("ci.policy", "version 1\n")
    stage.write("Makefile", "all:\n\t-@curl -sS http://a.example.org/\n")
    stage.play(example, 78)
    assert len(json.loads((stage.work / "asked.json").read_text())["requests"]) == 1


def in_ci_as_locked(stage, example):
    """A job that reaches nothing, and, where the lock is compared, what its lock does not have."""
    stage.write("egress.lock", "sallyport-egress-lock 1\nend\n")
    in_ci(stage, example)
    if "check" in example:
        stage.serve("a.example.org")
        stage.write("ci.policy", "version 1\nallow a.example.org\n")
        stage.play("$ sallyport policy trust ci.policy")
        stage.write("Makefile", "all:\n\t@curl -sS http://a.example.org/\n")
        assert "egress.lock: + http a.example.org 80 curl up <1K" in stage.play(example, 79)
    assert (stage.work / "egress.lock").read_text() == "sallyport-egress-lock 1\nend\n"


def session_here_and_there(stage, start):
    """The block of three, in order."""
    stage.write("rules", "version 1\n")
    stage.npm_project()
    stage.standin("cargo")
    for example in (start, *SESSION_WORK[1:]):
        stage.play(example)


def session_in_ci(stage, start):
    stage.write("Makefile", "test:\n\t@echo tested\n")
    stage.bundles(1)
    stage.key()
    key = (stage.home / ".ssh/id_ed25519.pub").read_text().strip()
    (stage.home / ".config/sallyport").mkdir(parents=True, exist_ok=True)
    (stage.home / ".config/sallyport/policy").write_text(f'version 1\napprover ana "{key}"\n')
    (stage.home / ".config/sallyport/policy").chmod(0o600)
    stage.play("$ sallyport approve bundle job-1.json --key ~/.ssh/id_ed25519 -o answers.json --deny http://a.example.org:80")
    for example in (start, *SESSION_CI[1:]):
        stage.play(example)


def reviewers(stage, example):
    assert "no reviewer" in stage.play(example).lower() or "reviewer" in stage.play(example)


def shown(page):
    """The page as a reader sees it: mandoc's own lines, so that text that a macro hides is missing here, too."""
    text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=300", str(page)], capture_output=True, text=True, check=True).stdout
    return re.sub(".\b", "", text)


def write_policies(stage, page):
    """Writes the policies that the page shows: blocks whose first line is "# NAME.policy"."""
    name, indent, lines = None, 0, []
    for line in [*shown(page).splitlines(), "END"]:
        depth = len(line) - len(line.lstrip())
        if name and line and (depth < indent or line.lstrip().startswith("$ ")):
            stage.write(name, "\n".join(lines) + "\n")
            name = None
        if found := re.fullmatch(r" +# (\S+\.policy)", line):
            name, indent, lines = found[1], depth, []
        elif name:
            lines.append(line.strip())


def made_by(stage, *tools):
    """A Makefile, and programs that do nothing in the place of @tools."""
    stage.write("Makefile", "all test:\n\t@echo made\n")
    for tool in tools:
        stage.standin(tool)


def on_the_web(stage, example):
    stage.serve("example.org")
    assert stage.play(example).startswith("example.org GET /")


def asked_and_allowed(stage, example):
    stage.serve("example.org")
    stage.attach()
    until(lambda: [*(stage.top / "runtime/sallyport/watchers").glob("*")], QUICK, "no watcher")
    run = stage.begin(example.removeprefix("$ "))
    question = until(stage.questions, QUICK, "a question")[0]
    stage.sally("approve", "allow", question["id"], "--confirm", question["typed"] or "example.org", check=True)
    assert "example.org GET /" in finish(run)


def explained_as(status, words):
    def play(stage, example):
        assert words in stage.play(example, status)
    return play


def run_of_make(stage, example):
    made_by(stage)
    assert "made" in stage.play(example)


def with_token(stage, example):
    stage.env["GITHUB_TOKEN"] = "secret"
    (stage.home / ".ssh").mkdir()
    run_of_make(stage, example)


def written_elsewhere(stage, example):
    (stage.home / "out").mkdir()
    stage.write("Makefile", "all:\n\t@echo made >$$HOME/out/it\n")
    stage.play(example)
    assert (stage.home / "out" / "it").read_text() == "made\n"


def dry_run(stage, example):
    made_by(stage)
    assert "read-only" in stage.play(example)


def published(stage, example):
    """A browser, here curl, reads a page of the server inside."""
    stage.write("page", "from inside\n")
    run = stage.begin("exec " + example.removeprefix("$ "))
    try:
        curl = ["curl", "-sS", "--noproxy", "*", "--max-time", "10", "http://localhost:8080/page"]
        until(lambda: subprocess.run(curl, capture_output=True, text=True).stdout == "from inside\n", QUICK, "the page")
    finally:
        run.terminate()
    finish(run, 128 + 15)


def log_on_a_page(stage, example):
    """The address that is printed opens the page, until a signal."""
    records_of_a_run(stage, "$ sallyport audit report")
    serving = stage.begin("exec " + example.removeprefix("$ "))
    try:
        curl = ["curl", "-sS", "--noproxy", "*", "--max-time", "10", "http://127.0.0.1:8765/"]
        until(lambda: "Sallyport audit log" in subprocess.run(curl, capture_output=True, text=True).stdout, QUICK, "the page")
    finally:
        serving.terminate()
    finish(serving, -15)


def served_by_proxy(stage, example):
    """A client gets a page that the policy allows, until a signal ends the daemon."""
    stage.serve("packages.example.org")
    stage.write("ci.policy", "allow packages.example.org\n")
    stage.write("clients", "ci:a-secret-of-many-bytes\n")
    (stage.work / "clients").chmod(0o600)
    daemon = stage.begin("exec " + example.removeprefix("$ "))
    curl = ["curl", "-sS", "-x", "http://ci:a-secret-of-many-bytes@127.0.0.1:3128", "http://packages.example.org/"]
    try:
        until(lambda: "packages.example.org" in subprocess.run(curl, capture_output=True, text=True).stdout, QUICK, "the page")
    finally:
        daemon.terminate()
    finish(daemon)


def cloned(stage, example):
    things = stage.top / "things"
    things.mkdir()
    fixtures.make_git_that_takes_pushes(things)
    stage.serve("git.example.org", fixtures.GitPage, root=str(things))
    stage.play(example)
    assert (stage.work / "repo" / "file").read_text() == "first light\n"


def packages(stage, example):
    """Both tools are configured to use a mirror of the company."""
    stage.serve("npm.example.org", fixtures.FilesPage, files=fixtures.npm_files("npm.example.org"))
    stage.serve("pip.example.org", fixtures.FilesPage, files=fixtures.pip_files())
    (stage.home / ".npmrc").write_text("registry=https://npm.example.org/\nupdate-notifier=false\naudit=false\n")
    stage.env["PIP_INDEX_URL"] = "https://pip.example.org/simple"
    stage.write("requirements.txt", "hello\n")
    stage.write("package.json", '{"name": "t", "version": "1.0.0", "dependencies": {"hello": "1.0.0"}}\n')
    stage.write("package-lock.json", json.dumps({"name": "t", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "t", "version": "1.0.0", "dependencies": {"hello": "1.0.0"}}, "node_modules/hello": {"version": "1.0.0"}}}))
    stage.play(example)
    assert (stage.work / ("lib/hello.py" if "pip" in example else "node_modules/hello/i.js")).exists()


def in_a_job(stage, example):
    made_by(stage)
    (stage.home / ".npmrc").write_text("registry=https://npm.example.org/\n")
    assert "made" in stage.play(example)


def in_a_locked_job(stage, example):
    stage.write("egress.lock", "sallyport-egress-lock 1\nend\n")
    in_a_job(stage, example)
    assert (stage.work / "egress.lock").read_text() == "sallyport-egress-lock 1\nend\n"


def with_agent(stage, example):
    made_by(stage, "agent")
    stage.play(example)


def as_an_editor(stage, example):
    agent = stage.write("agent", "#!/bin/sh\nread -r line\necho '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}'\n")
    agent.chmod(0o755)
    assert stage.play(example) == '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n'


def in_a_session(stage, start):
    """The block of three, in order."""
    stage.serve("example.org")
    for example in (start, *SESSION_WEB[1:]):
        said = stage.play(example)
        assert "curl" not in example or "example.org" in said, said


def denied_and_explained(stage, example):
    stage.serve("example.org")
    assert "default_deny" in stage.play(example)


SESSION_WEB = ["$ sallyport session start --policy web.policy work", "$ sallyport run --join work -- curl -sS https://example.org/",
               "$ sallyport session end work"]
SESSION_WORK = ["$ sallyport session start --policy rules work", "$ sallyport run --join work -- npm ci        # here",
                "$ sallyport run --join work -- cargo build   # and there", "$ sallyport session end work"]
SESSION_CI = ["$ sallyport session start --answers answers.json --bundle asked.json ci",
              "$ sallyport run --join ci --fail-on-ask -- make test   # many of these", "$ sallyport session end ci"]
def a_name_inside(stage, example):
    assert "198.18." in stage.play(example)


STAGES = {
    "sallyport-acp.1": [as_an_editor],
    "sallyport-approve.1": [watch, listed, allowed_for_the_session, seen_by_top, allowed_for_a_domain, merged, answered],
    "sallyport-audit.1": [pruned, pruned, log_of_a_run, *[records_of_a_run] * 4, exported_as_events, followed_as_events, sent_to_a_collector, sent_to_a_database, sent_to_syslog_by_tls, log_on_a_page, sent_to_a_receiver, records_of_a_run,
                          log_of_a_run, log_of_a_run],
    "sallyport-cookbook.7": [on_the_web, on_the_web, cloned, packages, packages, explained_as(0, "allow tcp://db.example.net:5432"),
                             explained_as(0, "ssh.policy: ok"), in_a_job, in_a_locked_job, in_a_locked_job, merged, explained_as(1, "example.org"),
                             explained_as(0, "expectations"), with_agent, in_a_session],
    "sallyport-policy.5": [page_policy, lambda s, e: page_policy(s, e, 0), lambda s, e: page_policy(s, e, 2), trusted, undone],
    "sallyport-presets.7": [lambda s, e: s.play(e), configuration],
    "sallyport-proxy.1": [served_by_proxy, served_by_proxy],
    "sallyport-quickstart.7": [asked_and_allowed, watch, run_of_make, explained_as(0, ""), undone, explained_as(0, "first.policy: ok"),
                               explained_as(0, "allow https://www.example.com:443"), on_the_web, trusted, log_of_a_run, log_of_a_run],
    "sallyport-reviewer.7": [reviewers, reviewed],
    "sallyport-session.1": [session_here_and_there, None, None, None, session_in_ci, None, None, None],
    "sallyport-tools.7": [a_name_inside],
    "sallyport-troubleshooting.7": [written_elsewhere, dry_run, explained_as(0, ""), explained_as(0, "http://127.0.0.1:61128"),
                                    denied_and_explained, explained_as(2, "ask https://example.org:443"),
                                    explained_as(0, "private addresses are allowed"), with_token, watch, run_of_make, trusted,
                                    explained_as(0, "sallyport run -- COMMAND")],
    "sallyport-web.7": [npm],
    "sallyport.1": [npm, npm, in_ci, in_ci, in_ci_asked, in_ci_as_locked, in_ci_as_locked, published, with_token, dry_run, explained],
}


def policy_with_commands(stage):
    stage.write("ci.policy", "version 1\ndefault deny\ncommand allow make\ncommand allow sh\n")


def standin(stage, name):
    path = stage.top / "bin" / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


Stage.policy_with_commands, Stage.standin = policy_with_commands, standin


def examples(page):
    return [line.strip() for line in shown(page).splitlines() if re.match(r" +\$ ", line)]


def json_examples(page):
    """Lines that begin as JSON are JSON."""
    return [line.strip() for line in shown(page).splitlines() if re.match(r' +\{.+\}$', line)]


WORD_MAX = 66  # behind the indentation of an example


def play_page(sallyport, page):
    """(passed, failed)"""
    passed = failed = 0
    listed = [example for example in examples(page) if example not in LISTED_ELSEWHERE]
    stages = STAGES.get(page.name, [])
    played_with_another = {"sallyport-session.1": [*SESSION_WORK[1:], *SESSION_CI[1:]], "sallyport-cookbook.7": SESSION_WEB[1:]}
    stages = [stage for stage in stages if stage]
    listed = [example for example in listed if example not in played_with_another.get(page.name, [])]
    if len(listed) != len(stages):
        print(f"not ok  {page.name}: {len(listed)} examples and {len(stages)} stages: {listed}")
        return 0, 1
    for example, play in zip(listed, stages):
        stage = Stage(sallyport)
        write_policies(stage, page)
        try:
            play(stage, example)
            print(f"ok      {page.name}: {example}", flush=True)
            passed += 1
        except (AssertionError, subprocess.SubprocessError, OSError) as why:
            print(f"not ok  {page.name}: {example}\n{why}")
            failed += 1
        finally:
            stage.close(False)
    for example in examples(page):
        if max(map(len, example.split())) > WORD_MAX:
            print(f"not ok  {page.name}: a word that 80 columns cannot hold: {example}")
            failed += 1
    for line in json_examples(page):
        try:
            json.loads(line.replace("{...}", "{}").replace("[...]", "[]"))
            passed += 1
        except ValueError as why:
            print(f"not ok  {page.name}: no JSON: {line}: {why}")
            failed += 1
    return passed, failed


def main():
    worlds.enter_namespace()
    tempfile.tempdir = "/var/tmp"  # a run has a /tmp of its own
    pages = sorted((ROOT / "docs/man").glob("*.[1-9]"))
    wanted = sys.argv[2:]
    total = [play_page(sys.argv[1], page) for page in pages if not wanted or page.name in wanted]
    passed, failed = sum(p for p, _ in total), sum(f for _, f in total)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
