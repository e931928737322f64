#!/usr/bin/env python3
"""Real programs through the gate, against local servers with their own CA and dnsmasq as the resolver. Each must work
if the policy allows, and fail with a recorded reason and no packet sent if it denies.

usage: clients.py SALLYPORT FOLDER [NAME…]; what comes from npm is installed below FOLDER, once"""
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "flow"), str(HERE.parent)]
import cases
import fixtures
import from_npm
import servers
import world as worlds
from capture import Capture
from postgres import Postgres

DENIED = f"{worlds.NETWORK}.66"
POLICY = """version 1
default deny
allow web.test
allow again.test
allow old.test
allow git.test
allow npm.test
allow pip.test
allow apt.test
allow go.test
allow cargo.test
allow maven.test
allow socket.test
allow grpc.test
allow model.test
allow tcp://tcp.test:7000
allow tcp://ssh.test:22
allow tcp://postgres.test:5432
allow tcp://redis.test:6379
deny  denied.test:* because "the test says no"
"""


def old_tls(context):
    context.maximum_version = ssl.TLSVersion.TLSv1_2


class Stage:
    def __init__(self, sallyport):
        self.world = worlds.World(sallyport)
        self.capture = Capture()
        self.runs = 0
        self.certificates = self.world.top / "certificates"
        self.certificates.mkdir()
        self.policy = self.world.top / "policy"
        self.policy.write_text(POLICY)
        self.addresses = {}
        self.serve()
        self.start_resolver()

    def add(self, name, handler, tune=lambda context: None, **attributes):
        """A server for NAME.test on 80, 443 and 8443. @tune: its TLS settings."""
        made = servers.Server(name, self.world.new_address())
        context = servers.make_certificate(self.certificates, [f"{name}.test"])
        tune(context)
        for port, tls in ((80, None), (443, context), (8443, context)):
            kind = type("Handler", (handler,), {})
            server = servers.Quiet((made.address, port), kind)
            server.world, server.context = made, tls
            for key, value in attributes.items():
                setattr(server, key, value)
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addresses[f"{name}.test"] = made.address
        return made

    def serve(self):
        things = self.world.top / "things"
        things.mkdir()
        fixtures.make_git_that_takes_pushes(things)
        self.add("web", servers.Page)
        # No client sends a key share for its one group at once: it asks for a second hello.
        self.add("again", servers.Page, lambda context: context.set_ecdh_curve("secp384r1"))
        self.add("old", servers.Page, old_tls)
        self.add("git", fixtures.GitPage, root=str(things))
        self.add("npm", fixtures.FilesPage, files=fixtures.npm_files("npm.test"))
        self.add("mirror", fixtures.FilesPage, files=fixtures.npm_files("mirror.test:8443"))
        self.add("pip", fixtures.FilesPage, files=fixtures.pip_files())
        self.add("apt", fixtures.FilesPage, files=fixtures.apt_files(things))
        self.add("go", fixtures.FilesPage, files=fixtures.go_files())
        self.add("cargo", fixtures.CratesPage, root=str(things), files=fixtures.cargo_files(things, "cargo.test"))
        self.add("maven", fixtures.FilesPage, files=fixtures.maven_files())
        self.add("socket", fixtures.SocketPage)
        self.add("model", fixtures.ModelPage)
        servers.make_certificate(self.certificates, ["grpc.test"])
        self.serve_aside("grpc", *[str(self.certificates / f"grpc.test.{kind}") for kind in ("pem", "key")])
        self.serve_aside("ssh", str(things))
        self.serve_postgres()
        self.serve_redis()
        self.serve_names()
        echo = servers.Server("tcp", self.world.new_address())
        echo.echo(7000)
        self.addresses |= {"tcp.test": echo.address, "denied.test": DENIED}

    def serve_aside(self, name, *words):
        """Runs NAME_server.py for NAME.test, with Debian's python and its modules."""
        self.addresses[f"{name}.test"] = address = self.world.new_address()
        program = pathlib.Path(__file__).with_name(f"{name}_server.py")
        server = subprocess.Popen([cases.PYTHON, str(program), address, *words], stdout=subprocess.PIPE)
        assert server.stdout.readline() == b"ready\n", f"{program} did not start"

    def serve_postgres(self):
        self.addresses["postgres.test"] = address = self.world.new_address()
        Postgres(self.world.top / "postgres", address, users=f"{worlds.NETWORK}.0/24").start()

    def serve_redis(self):
        self.addresses["redis.test"] = address = self.world.new_address()
        log = self.world.top / "redis.log"
        subprocess.Popen(["redis-server", "--bind", address, "--port", "6379", "--protected-mode", "no", "--save", "", "--dir", self.world.top, "--logfile", log])
        worlds.until(lambda: log.exists() and "Ready to accept connections" in log.read_text(), 120, "redis did not start")

    def serve_names(self):
        """A name server that is no resolver of the sandbox, on another port."""
        self.addresses["dns.test"] = address = self.world.new_address()
        log = self.world.top / "names.log"
        with open(log, "wb") as out:
            subprocess.Popen(["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces", "--port=5353",
                              f"--listen-address={address}", "--log-facility=-", "--txt-record=said.test,said and heard"], stdout=out, stderr=out)
        worlds.until(lambda: "started" in log.read_text(), 120, "the name server did not start")

    def start_resolver(self):
        self.queries = self.world.top / "dnsmasq.log"
        with open(self.queries, "wb") as log:
            self.resolver = subprocess.Popen(
                ["dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces",
                 "--listen-address=127.0.0.1", "--log-queries", "--log-facility=-",
                 *[f"--address=/{name}/{address}" for name, address in self.addresses.items()]],
                stdout=log, stderr=log)
        worlds.until(lambda: "started" in self.queries.read_text(), 120, "dnsmasq did not start")

    def run(self, script, name, options=()):
        """One gate in an empty folder: (status, standard output, standard error, its records)."""
        self.runs += 1
        self.world.work = self.world.top / f"work{self.runs}"
        self.world.work.mkdir()
        shutil.copy(self.certificates / "ca.pem", self.world.work)
        self.world.audit = self.world.top / f"audit{self.runs}.jsonl"
        gate = worlds.Gate(self.world, ["--no-tty", "--dns", "127.0.0.1", "--report", "none", "--policy", str(self.policy),
                                        "--audit", str(self.world.audit), *options], script, f"run{self.runs}")
        try:
            status = gate.wait(90)
        except AssertionError:
            gate.process.kill()
            status = -1
        return status, gate.text("out"), gate.text("err"), self.world.records()


WARNED = ("Unknown env config", "Picked up ", "proxy variable")


def check_allowed(stage, case):
    status, out, err, records = stage.run(case.script.replace("HOST", case.host), case.name)
    if status or case.prints not in out:
        return f"exit {status}, wanted {case.prints!r}\n{out[-1500:]}\n{err[-3000:]}"
    if not any(r.get("host") == case.host and r.get("resolved") for r in records):
        return f"no record of a connection to {case.host}: {records}"
    if found := [line for line in err.splitlines() if any(word in line for word in WARNED)]:
        return f"a variable of the sandbox makes it print: {found}"
    return None


def check_denied(stage, case):
    status, out, err, records = stage.run(case.script.replace("HOST", "denied.test"), case.name)
    if status == 0 or case.prints in out:
        return f"exit {status}: it came through\n{out[-1500:]}"
    if not any(r.get("host") == "denied.test" and r.get("reason") == "rule_deny" for r in records):
        return f"no record of the denial: {records}\n{err[-2000:]}"
    if case.denied not in out + err:
        return f"{case.denied!r} is not in what it shows:\n{out[-1500:]}\n{err[-2000:]}"
    if any(packet[1] == DENIED for packet in stage.capture.read()):
        return "packets went to the denied host"
    if "denied.test" in "".join(line for line in stage.queries.read_text().splitlines(True) if "query" in line):
        return "the denied name was looked up"
    return None


def check_astray(stage, case):
    """A client that asks for what the gate does not do: it fails, nothing leaves, and the report says why."""
    sent = len(stage.capture.read())
    status, out, err, _ = stage.run(case.script.replace("HOST", case.host), case.name, ("--report", "text"))
    if not status or case.prints in out:
        return f"exit {status}: it came through without the gate\n{out[-1500:]}"
    if len(stage.capture.read()) != sent:
        return f"packets left: {stage.capture.read()[sent:]}"
    if case.denied not in err:
        return f"{case.denied!r} is not in the report: {err[-2000:]}"
    return None


def captured(stage, case, host):
    status, out, err, records = stage.run(cases.BARE + case.script.replace("HOST", host), case.name)
    found = [r for r in records if r.get("host") == host]
    if not found or any(r.get("way") != "captured" for r in found):
        return status, out, [], f"not only captured connections to {host}: {records}\n{out[-1500:]}\n{err[-2000:]}"
    return status, out, found, err[-2000:]


def check_captured(stage, case):
    """The name is known, although the program connected to an address by itself."""
    status, out, found, err = captured(stage, case, case.host)
    if status or case.prints not in out or not any(r.get("resolved") for r in found):
        return f"exit {status}, wanted {case.prints!r}\n{out[-1500:]}\n{err}"
    return None


def check_captured_denied(stage, case):
    status, out, found, err = captured(stage, case, "denied.test")
    if status == 0 or case.prints in out or not any(r.get("reason") == "rule_deny" for r in found):
        return f"exit {status}: it came through, or no rule denied it\n{out[-1500:]}\n{err}"
    if any(packet[1] == DENIED for packet in stage.capture.read()):
        return "packets went to the denied host"
    if "denied.test" in "".join(line for line in stage.queries.read_text().splitlines(True) if "query" in line):
        return "the denied name was looked up"
    return None


def docker_client(below):
    """The client of docker: the machine's, or Debian's, unpacked below @below without its daemon."""
    if found := shutil.which("docker"):
        return found
    unpacked = below / "docker"
    if not (unpacked / "usr/bin/docker").exists():
        unpacked.mkdir(exist_ok=True)
        for command in (["apt-get", "download", "-q", "docker.io"], ["sh", "-c", "dpkg-deb --fsys-tarfile docker.io_*.deb | tar x ./usr/bin/docker && rm docker.io_*.deb"]):
            run = subprocess.run(command, cwd=unpacked, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
            if run.returncode:
                print(f"{command} failed:\n{run.stdout}{run.stderr}\n0 passed, 1 failed, 0 skipped")
                sys.exit(1)
    return str(unpacked / "usr/bin/docker")


def check_docker(stage, client):
    """The socket of a local service is refused with a line that says what would allow it, and that line does."""
    path = stage.world.top / "docker.sock"
    service = fixtures.serve_docker(path)
    script = f"PATH={pathlib.Path(client).parent}:$PATH; docker -H unix://{path} version --format '{{{{.Server.Os}}}}'"
    written = stage.policy
    try:
        status, out, err, _ = stage.run(script, "docker", ("--report", "text"))
        remedy = f"socket {path}"
        if not status or f"docker cannot connect to the host's socket {path} (allow with a line `{remedy}` in a policy)" not in err:
            return f"exit {status}\n{out[-1500:]}\n{err[-2000:]}"
        if service.asked:
            return f"its service was asked: {service.asked}"
        stage.policy = stage.world.top / "docker.policy"
        stage.policy.write_text(f"version 1\n{remedy}\n")
        status, out, err, _ = stage.run(script, "docker")
        if status or "the system of the service" not in out or not service.asked:
            return f"with `{remedy}`: exit {status}\n{out[-1500:]}\n{err[-2000:]}"
        return None
    finally:
        stage.policy = written
        service.shutdown()
        service.server_close()


def check_preset(stage, preset):
    """`include preset NAME` and nothing else: its own host without a question, another host is one."""
    policy = stage.world.top / "preset.policy"
    policy.write_text(f"version 1\ninclude preset {preset.name}\n")
    written, stage.policy = stage.policy, policy
    stage.world.env |= preset.variables
    passed_on = [word for name in preset.variables for word in ("--env", name)]
    try:
        status, out, err, records = stage.run(preset.script, preset.name, passed_on)
        if status or preset.prints not in out:
            return f"exit {status}, wanted {preset.prints!r}\n{out[-1500:]}\n{err[-3000:]}"
        decided = [r for r in records if r.get("event") == "decision"]
        if not decided or any(r["host"] != preset.host or not r.get("rule", "").startswith(f"preset {preset.name}:")
                              for r in decided):
            return f"not by the preset's rule: {records}"
        status, _, _, records = stage.run(f"MORE='{preset.elsewhere}'\n{preset.script}", preset.name, passed_on)
        if status == 0 or not any(r.get("host") == "web.test" and r.get("reason") == "no_approver" for r in records):
            return f"exit {status}, and another host was no question: {records}"
        return None
    finally:
        stage.policy = written
        for name in preset.variables:
            del stage.world.env[name]


def main():
    sallyport, below, wanted = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    if worlds.IN_NAMESPACE not in os.environ:
        from_npm.install(HERE, below)
        docker_client(below)
    worlds.enter_namespace()
    stage = Stage(sallyport)
    stage.world.env["FROM_NPM"] = str(below / "node" / "node_modules")
    passed = failed = 0

    def report(name, wrong):
        nonlocal passed, failed
        print(f"{'FAIL' if wrong else 'ok  '} {name}" + (f"\n{wrong}" if wrong else ""), flush=True)
        passed, failed = passed + (not wrong), failed + bool(wrong)

    try:
        for case in cases.CASES:
            if not wanted or any(w in case.name for w in wanted):
                report(f"{case.name}: allowed", check_allowed(stage, case))
                report(f"{case.name}: denied", check_denied(stage, case))
        for preset in cases.PRESETS:
            if not wanted or any(w in f"preset {preset.name}" for w in wanted):
                report(f"preset {preset.name}: its own host alone", check_preset(stage, preset))
        for case in cases.ASTRAY:
            if not wanted or any(w in case.name for w in wanted):
                report(f"{case.name}: stays inside", check_astray(stage, case))
        if not wanted or "docker" in wanted:
            report("docker: its service's socket", check_docker(stage, docker_client(below)))
        for case in cases.CAPTURED:
            if not wanted or any(w in f"captured {case.name}" for w in wanted):
                report(f"captured {case.name}: allowed", check_captured(stage, case))
                report(f"captured {case.name}: denied", check_captured_denied(stage, case))
        stage.policy = stage.world.top / "udp.policy"
        stage.policy.write_text("version 1\nallow udp://dns.test:5353\ndeny denied.test:*\n")
        for case in cases.DATAGRAMS:
            if not wanted or any(w in f"captured {case.name}" for w in wanted):
                report(f"captured {case.name}: allowed", check_captured(stage, case))
                report(f"captured {case.name}: denied", check_captured_denied(stage, case))
    finally:
        stage.world.close(keep=False)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
