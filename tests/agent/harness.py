"""harness: a client of `sallyport agent`. It checks every line in both directions against its schema, and that events have no
members that the schema does not name."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "flow"))

import jsonschema  # noqa: E402
from servers import Server  # noqa: E402
from world import NETWORK, World, enter_namespace  # noqa: E402

tempfile.tempdir = "/var/tmp"  # /tmp is a command's own where its sandbox does not name it
SCHEMAS = {file.stem: json.loads(file.read_text()) for file in (TOP / "docs/schema/agent").glob("*.json")}
STORE = {schema["$id"]: schema for schema in SCHEMAS.values()}  # what they refer to
CHECKS = {name: jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver(schema["$id"], schema, STORE))
          for name, schema in SCHEMAS.items()}
SEEN = set()  # the schemas that something was held to
PATIENCE = 120


def check(name, members):
    """Raises unless @members follow the schema @name; what the server sends may have no other members."""
    assert name in CHECKS, f"no schema {name} for {members}"
    for error in CHECKS[name].iter_errors(members):
        raise AssertionError(f"{name}: {error.message} at {list(error.absolute_path)}: {json.dumps(members)[:2000]}")
    unknown = set(members) - set(SCHEMAS[name]["properties"])
    assert not unknown, f"{name} has members that no schema names: {unknown}"
    SEEN.add(name)


def line_of(method, id, **params):
    """A request as it is sent."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


ANSWERS = {"configure_session": "session_configured", "override_turn_context": "session_configured", "list": "listed", "poll": "output",
           "approve": "approval_resolved", "exec": "exec_end", "initialize": "initialized"}
EACH = ("attempt", *SCHEMAS["result-exec"]["properties"]["first_attempt"]["properties"])
TASKS = ("request_patch_approval", "request_permissions", "request_elicitation", "propose_network_rule")


def attempts_of(result):
    """Each attempt of a command, with its members in the result."""
    first = [{"attempt": 1, **result["first_attempt"]}] if "first_attempt" in result else []
    last = {name: result[name] for name in EACH if name in result}
    return first + ([last] if "attempt" in result else [])


def events_of(message, methods):
    """The events for one line of the server, which is checked. @methods: of the open requests, by their ids."""
    check("message", message)
    if "method" in message:
        check(f"event-{message['method']}", message["params"])
        event = {"type": message["method"], **message["params"]}
        return [event | {"code": event["reason"]}] if event["type"] == "error" else [event]
    of = {} if message["id"] is None else {"id": message["id"]}
    method, result = methods.pop(message["id"], None), message.get("result")
    if "error" in message:
        check("error", message["error"])
        return [{"type": "error", **of, "code": message["error"]["data"]["reason"], "number": message["error"]["code"],
                 "message": message["error"]["message"]}]
    check(f"result-{method}", result)
    if method in TASKS:
        return [{"type": "task_complete", **of, **result}]
    event = {"type": ANSWERS.get(method, "accepted"), **of, **result}
    if method == "exec":
        event["attempts"] = attempts_of(result)
    return [event, {"type": "task_complete", **of, "outcome": result["status"]}] if method == "exec" else [event]


class Client:
    """One connection. Events are kept in order in .events; .next() waits for a matching one and removes it. A notification is kept
    as its params with its method as the type. A reply is kept as its result, or its error, with the id of its request and a type of
    its own (ANSWERS); exec has a second one, task_complete, as the requests that only ask have."""

    def __init__(self, stage, *options, connect=None, stderr=None):
        self.stage, self.events, self.last = stage, [], 0
        self.lines = []  # the messages as they came; line() removes the first
        self.asked = {}  # the questions, by their ids
        self.methods, self.has_greeted = {}, False  # of the requests that were not replied to, by id
        self.news = threading.Condition()
        self.is_over = False
        if connect:
            self.process = None
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(connect))
            self.reader, self.writer = self.socket.makefile("rb"), self.socket.makefile("wb")
        else:
            self.process = subprocess.Popen(
                [stage.sallyport, "agent", "--audit", str(stage.audit), *stage.options, *options], env=stage.env,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr or open(stage.top / "agent.err", "ab"), cwd=stage.work)
            self.reader, self.writer = self.process.stdout, self.process.stdin
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.reader:
            message = None
            try:
                message = json.loads(line)
                events = [self.whole(event) for event in events_of(message, self.methods)]
            except (AssertionError, ValueError, KeyError) as wrong:
                events = [{"type": "WRONG", "wrong": repr(wrong)}]
            with self.news:
                self.events += events
                self.lines.append(message)
                self.news.notify_all()
        with self.news:
            self.is_over = True
            self.news.notify_all()

    def whole(self, event):
        """An event; of a question that has changed with its other members."""
        if event["type"] == "approval_request":
            self.asked[event["approval"]] = event
        return self.asked[event["approval"]] | event if event["type"] == "approval_updated" else event

    def raw(self, data):
        self.writer.write(data)
        self.writer.flush()

    def greet(self):
        """Sends initialize, once."""
        if self.has_greeted:
            return
        self.has_greeted, self.methods["hello"] = True, "initialize"
        check("submission-initialize", {"protocol_version": 2})
        self.raw(line_of("initialize", "hello", protocol_version=2))
        self.next("initialized")

    def wrong(self, type, id, **members):
        """Sends a submission that may follow no schema; returns its id."""
        self.greet()
        self.methods.setdefault(id, type)  # an id that is open cannot be used again
        self.raw(line_of(type, id, **members))
        return id

    def send(self, type, **members):
        """Sends one submission and returns its id."""
        self.last += 1
        id = members.pop("id", f"t{self.last}")
        members = {name.rstrip("_"): value for name, value in members.items()}
        check(f"submission-{type}", members)
        return self.wrong(type, id, **members)

    def next(self, type, seconds=PATIENCE, **want):
        """Removes and returns the first event of @type with these members; AssertionError if none arrives."""
        deadline = time.monotonic() + seconds
        with self.news:
            while True:
                for at, event in enumerate(self.events):
                    assert event["type"] != "WRONG", event["wrong"]
                    if event["type"] == type and all(event.get(name) == value for name, value in want.items()):
                        return self.events.pop(at)
                left = deadline - time.monotonic()
                if left <= 0 or self.is_over:
                    shown = "\n".join(json.dumps(event)[:600] for event in self.events[-20:])
                    end = " (the other end is closed)" if self.is_over else ""
                    raise AssertionError(f"no {type} {want}{end}; there are:\n{shown}")
                self.news.wait(left)

    def line(self):
        """Removes and returns the first message that was not returned."""
        with self.news:
            assert self.news.wait_for(lambda: self.lines or self.is_over, PATIENCE) and self.lines, "nothing comes"
            return self.lines.pop(0)

    def never(self, type, **want):
        with self.news:
            for event in self.events:
                fits = event["type"] == type and all(event.get(name) == value for name, value in want.items())
                assert not fits, f"came, and must not: {event}"

    def configure(self, approval="never", **members):
        return self.next("session_configured", id=self.send("configure_session", approval=approval, **members))

    def run(self, command=None, **members):
        """Runs it to its end; returns the event exec_end."""
        members |= {"command": command} if isinstance(command, list) else {"script": command}
        id = self.send("exec", **members)
        end = self.next("exec_end", id=id)
        complete = self.next("task_complete", id=id)
        assert complete["outcome"] == end["status"], (complete, end)
        return end

    def answer(self, question, decision, **members):
        """Answers @question; returns the event that follows (approval_resolved or error)."""
        return self.send("approve", approval=question["approval"], kind=question["kind"], decision=decision, **members)

    def error(self, id, code):
        error = self.next("error", id=id)
        assert error["code"] == code, error
        return error["message"]

    def hang_up(self):
        self.writer.close()
        if not self.process:
            self.socket.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds=PATIENCE):
        return self.process.wait(seconds)


class Stage(World):
    """A world with web servers under names, for one case."""

    used = 9  # a case's servers stay until the end: the next has others

    def __init__(self, sallyport):
        super().__init__(sallyport)
        self.options, self.made = [], []

    def new_address(self):
        Stage.used += 1
        return f"{NETWORK}.{Stage.used}"

    def web(self, host, port=80):
        server = Server("web", self.new_address())
        server.serve_http(port)
        self.options += ["--resolve", f"{host}:{server.address}"]
        return server

    def policy(self, text):
        (self.top / "policy").write_text("version 1\n" + text)
        self.options += ["--policy", str(self.top / "policy")]

    def client(self, *options, **more):
        self.made.append(Client(self, *options, **more))
        return self.made[-1]

    def close(self, keep):
        for client in self.made:
            if client.process and client.process.poll() is None:
                client.process.kill()
                client.process.wait()
        super().close(keep)


def play(cases, sallyport, only=()):
    """Runs each function of @cases on its own stage; returns the exit status."""
    passed = failed = 0
    for case in cases:
        if only and case.__name__ not in only:
            continue
        stage = Stage(sallyport)
        try:
            case(stage)
            for client in stage.made:
                client.never("WRONG")
            passed += 1
            print(f"ok      {case.__name__}", flush=True)
        except Exception as wrong:  # a case may fail in any way
            failed += 1
            print(f"not ok  {case.__name__}: {wrong}", flush=True)
            if not isinstance(wrong, AssertionError):
                traceback.print_exc()
            errors = stage.top / "agent.err"
            if errors.exists():
                print("        stderr:", errors.read_text(errors="replace")[-3000:], flush=True)
        finally:
            stage.close(False)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def main(cases):
    enter_namespace()
    sys.exit(play(cases, sys.argv[1], sys.argv[2:]))
