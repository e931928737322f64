#!/usr/bin/env python3
"""`policy explain` gives the verdict of the gate: random policies, and real connections by every protocol of the proxy.

usage: explained.py SALLYPORT [SEED [POLICIES]]

Every server answers on every port to HTTP, to TLS and to any other bytes, so that whether a connection is served hangs on the
gate alone. The only difference there may be is a name that is refused for its address, of which explain says that it can be."""
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import sys

import world as worlds
from servers import Names, Server, make_certificate
from world import World

SEED, POLICIES, DESTINATIONS = 20261122, 14, 16
PORTS = (80, 443, 8443)
PRIVATE = "10.77.0"
PUBLIC, SECOND = f"{worlds.NETWORK}.20", f"{worlds.NETWORK}.21"
NAMES = {"a.test": [PUBLIC], "x.a.test": [PUBLIC], "b.test": [SECOND], "p.test": [f"{PRIVATE}.5"],
         "m.b.test": [SECOND, f"{PRIVATE}.5"]}
HOSTS = [*NAMES, PUBLIC, SECOND, f"{PRIVATE}.5"]
PATTERNS = [*HOSTS, "*.a.test", "**.b.test", "**.test", "*", f"{worlds.NETWORK}.0/24", f"{PRIVATE}.0/24", f"{SECOND}/32"]
# Method, path, query, and the value of a header field.
REQUESTS = (("GET", "/", "", ""), ("GET", "/v1/x", "a=1", "b"), ("POST", "/v1/x", "", "a"), ("DELETE", "/v1/./x", "a=1&b=2", ""))
CONDITIONS = ("method GET", "method POST DELETE", "path /v1/**", "path /", "query a", "query a=1 b", "header x-kind:a", "header x-kind",
              "method GET path /v1/** query a header x-kind")
PYTHON = os.path.realpath(sys.executable)
REQUESTERS = (f"by {PYTHON}", "by /usr/bin/curl", f'from "{PYTHON}"', 'from "curl"')
KINDS = {"request": CONDITIONS, "requester": REQUESTERS}
BY_ADDRESS = ("private_address", "rule_deny", "special_address")
# Way in, and the bytes that are sent: which explanation it is compared with, and what of it.
WAYS = [("request", "http"), ("kept", "http"), ("connect", "http"), ("socks", "http"), ("connect", "https"), ("socks", "https"),
        ("connect", "tcp"), ("socks", "tcp"), ("captured", "http"), ("captured", "https"), ("captured", "tcp")]
CLIENT = pathlib.Path(__file__).resolve().parent / "explained_client.py"


def serve(server, port, context):
    """Any bytes are answered with "served"; TLS and HTTP in their own words."""
    def speak(connection):
        data = connection.recv(65536)
        if data.split(b" ")[0] in (b"GET", b"POST", b"DELETE"):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved")
        elif data:
            connection.sendall(b"served")

    def handle(connection):
        with connection:
            connection.settimeout(20)
            try:
                if connection.recv(1, socket.MSG_PEEK) != b"\x16":
                    speak(connection)
                else:
                    with context.wrap_socket(connection, server_side=True) as wrapped:
                        speak(wrapped)
            except OSError:
                pass  # the gate closed it: that is what is looked at
    server.serve_each(port, handle)


def clauses(rng, action, protocol):
    words = []
    if action == "allow" and rng.random() < 0.25:
        words.append("private")
    if protocol in ("", "http") and rng.random() < 0.5:
        words.append(rng.choice(CONDITIONS))
    if rng.random() < 0.15:
        words.append(rng.choice(REQUESTERS))
    if action == "allow" and rng.random() < 0.15:
        words += rng.choice((["until", "2020-01-01"], ["until", "2090-01-01"], ["for", "1h"], ["connections", "100000"]))
    return words


def pattern(rng):
    protocol = rng.choice(("", "", "", "http", "https", "tcp"))
    host = rng.choice(PATTERNS)
    ports = rng.choice(("", "", ":443", ":8443", ":80", ":80,8443", ":*"))
    return protocol, (protocol + "://" if protocol else "") + host + ports


def rule(rng):
    action = rng.choice(("allow", "allow", "allow", "deny", "ask"))
    protocol, text = pattern(rng)
    words = [action, text]
    if rng.random() < 0.2:
        words += ["except", pattern(rng)[1]]
    return " ".join(words + clauses(rng, action, protocol))


def answer(rng):
    host, port, protocol = rng.choice(HOSTS), rng.choice(PORTS), rng.choice(("http", "https", "tcp"))
    return f"answer {rng.choice(('allow', 'allow', 'deny'))} {protocol}://{host}:{port}"


def write_good(world, file, lines):
    """Removes the invalid lines, which `policy check` names."""
    for _ in range(4):
        file.write_text("\n".join(["version 1", *lines]) + "\n")
        file.chmod(0o600)
        errors = world.sally("policy", "check", str(file)).stderr
        wrong = {int(rest.split(":")[0]) for rest in errors.split(f"{file}:")[1:] if rest.split(":")[2:3] == [" error"]}
        if not wrong:
            return
        lines = [line for number, line in enumerate(lines, 2) if number not in wrong]
    raise AssertionError(f"no good policy in: {lines}\n{errors}")


def destinations(rng):
    found = set()
    while len(found) < DESTINATIONS:
        found.add((rng.choice(("http", "https", "tcp")), rng.choice(HOSTS), rng.choice(PORTS), rng.choice(REQUESTS)))
    return sorted(found)


def explain(world, policy, destination):
    protocol, host, port, (method, path, query, kind) = destination
    request = ["--method", method, "--path", path, "--query", query, "--header", "X-Other: 1"] if protocol == "http" else []
    request += ["--header", f"X-Kind: {kind}"] if request and kind else []
    run = world.sally("policy", "explain", "--json", "--policy", str(policy), *request, "--by", PYTHON,
                      "--from", f"{PYTHON} {CLIENT.name} probes.json", f"{protocol}://{host}:{port}")
    if run.returncode not in (0, 1, 2):
        raise AssertionError(f"explain: {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def connect(world, policy, probes):
    (world.work / "probes.json").write_text(json.dumps(probes))
    run = subprocess.run([world.sallyport, "run", "--no-tty", "--report", "none", "--audit", str(world.audit), "--dns", "127.0.0.1",
                          "--policy", str(policy), "--", PYTHON, CLIENT.name, "probes.json"],
                         env=world.env, cwd=world.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if run.returncode:
        raise AssertionError(f"the client ended with {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def wanted(way, protocol, port, said):
    """The verdict of explain: "served", or the code of the refusal."""
    is_request = way in ("request", "kept") or (way == "captured" and port == 80)
    part = said["tunnel"] if protocol == "http" and not is_request else said
    if part["action"] == "allow":
        return "served"
    return "no_approver" if part["action"] == "ask" else part["reason"]


def is_same(want, got):
    """SOCKS5, and bytes that are refused in an open tunnel, give no code."""
    return want == got or (want != "served" and got == "refused") or (want in ("not_tls", "not_http") and got != "served")


def compare(world, rng, policy, tally):
    """The differences of one policy, as text."""
    chosen = destinations(rng)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda destination: explain(world, policy, destination), chosen))
    probes = [(way, *destination) for destination in chosen for way, protocol in WAYS if protocol == destination[0]]
    explained = dict(zip(chosen, said))
    wrong = []
    for (way, *destination), got in zip(probes, connect(world, policy, probes)):
        told = explained[tuple(destination)]
        tally.update(kind for kind, words in KINDS.items() if any(f" {one} " in told["rule"] + " " for one in words))
        want = wanted(way, destination[0], destination[2], told)
        tally[way, destination[0], "served" if got == "served" else "refused"] += 1
        if is_same(want, got):
            continue
        if want == "served" and destination[1] in NAMES and told["address"] and got in (*BY_ADDRESS, "refused"):
            tally["by address"] += 1
            if f"{PRIVATE}.5" in NAMES[destination[1]] or "/" in policy.read_text():
                continue
        wrong.append(f"{way} {destination}: explain says {want}, the gate {got}: {told['rule']}")
    return wrong


def play(world, seed, policies):
    rng, tally, wrong = random.Random(seed), collections.Counter(), []
    user, policy = world.top / "config/sallyport/policy", world.top / "policy"
    user.parent.mkdir(mode=0o700)
    shutil.copy(CLIENT, world.work)  # these files may be in /tmp, which the sandbox has its own of
    for number in range(policies):
        rules = [rule(rng) for _ in range(rng.randint(2, 14))]
        write_good(world, policy, [f"default {rng.choice(('allow', 'deny', 'ask', 'ask'))}", *rules])
        write_good(world, user, [answer(rng) for _ in range(rng.randint(0, 6))])
        found = compare(world, rng, policy, tally)
        if found:
            wrong += [f"policy {number} of seed {seed}:", policy.read_text(), user.read_text(), *found]
    for way, protocol in WAYS:
        for outcome in ("served", "refused"):
            if not tally[way, protocol, outcome]:
                wrong.append(f"no connection by {way} with {protocol} was {outcome}: nothing was compared")
    for kind in KINDS:
        if not tally[kind]:
            wrong.append(f"no connection was decided by a rule with a condition on the {kind}")
    if not tally["by address"]:
        wrong.append("no name was refused for its address")
    print(f"{sum(n for key, n in tally.items() if isinstance(key, tuple))} connections, {tally['by address']} refused by address")
    return wrong


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    policies = int(sys.argv[3]) if len(sys.argv) > 3 else POLICIES
    worlds.enter_namespace()
    worlds.ip("route", "add", "local", f"{PRIVATE}.0/24", "dev", "lo")
    print(f"seed {seed}, {policies} policies", flush=True)
    world, names = World(sys.argv[1]), Names()
    try:
        for name, addresses in NAMES.items():
            names.set(name, [addresses])
        context = make_certificate(world.work, list(NAMES))
        for address in (PUBLIC, SECOND, f"{PRIVATE}.5"):
            server = Server(address, address)
            for port in PORTS:
                serve(server, port, context)
        wrong = play(world, seed, policies)
    finally:
        world.close(False)
    print("\n".join(wrong))
    print(f"{'0 passed, 1' if wrong else '1 passed, 0'} failed")
    sys.exit(bool(wrong))


main()
