"""agents: sentences about a client of `sallyport agent`. The client of tests/agent checks its lines in both directions
against docs/schema/agent. A command, a patch, a question has a name that begins with a capital; $work is the working directory, and
$outside a folder that no sandbox includes by default."""
import json
import pathlib
import re
import sys

import world as worlds
from sentences import step
from world import Gate

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "agent"))
PATIENCE = 120
MODES = ("read-only", "workspace-write", "external", "danger-full-access", "split")
APPROVALS = ("untrusted", "on-request", "on-failure", "never")


def prepare(functions):
    """Call it before the world is made: a command has its own /tmp unless its sandbox names it, so the world is in another folder."""
    if any(function.__module__ == __name__ for function in functions):
        import harness  # noqa: F401


class Agent(Gate):
    """One `sallyport agent` and its client. It is in the list of gates, so that the sentences about gates apply to it."""

    def __init__(self, world, options):
        from harness import Client
        self.name, self.world = "agent", world
        world.options = options
        self.client = Client(world)
        self.process = self.client.process
        self.ids, self.sessions, self.questions, self.ends = {}, {}, {}, {}
        Gate.all.append(self)

    def text(self, stream):
        if stream == "out":
            return "\n".join(json.dumps(event)[:1000] for event in self.client.events)
        return (self.world.top / "agent.err").read_text(errors="replace")

    def submit(self, name, type, **members):
        assert name not in self.ids, f"there is a {name} already"
        self.ids[name] = self.client.send(type, **members)
        self.sessions[name] = {"session": members["session"]} if "session" in members else {}

    def first(self, fits, what):
        """The first event that fits, taken out."""
        def found():
            with self.client.news:
                for at, event in enumerate(self.client.events):
                    assert event["type"] != "WRONG", event["wrong"]
                    if fits(event):
                        return self.client.events.pop(at)
            return None
        return worlds.until(found, PATIENCE, what)


def fill(s, text):
    for name, made in s.servers.items():
        text = text.replace("{" + name + "}", made.address)
    places = {"$work": s.world.work, "$outside": s.world.top / "outside", "$HOME": s.world.top / "home"}
    for word, place in places.items():
        text = text.replace(word, str(place))
    return text


def close(s):
    if s.agent and s.agent.process.poll() is None:
        s.agent.process.kill()
        s.agent.process.wait()


# --- what is asked for -----------------------------------------------------------------------------------------------

@step(r"an agent(?: with (.+))?")
def an_agent(s, options):
    (s.world.top / "outside").mkdir(exist_ok=True)
    options = (options or "").split() + s.options + (["--dns", "127.0.0.1"] if s.has_dns else [])
    policy = s.world.top / "policy"
    if policy.exists():
        options += ["--policy", str(policy)]
    s.agent = Agent(s.world, options)
    s.gates.append(s.agent)


def sandbox_of(s, words):
    """"workspace-write write A B deny C" as the protocol says it."""
    made, member = {"mode": words[0]}, None
    for word in words[1:]:
        if word in ("read", "write", "deny"):
            member = made.setdefault({"write": "writable"}.get(word, word), [])
        else:
            member.append(fill(s, word))
    if words[0] == "workspace-write":
        made["exclude_tmpdir"] = True
    return made


def session_of(s, text):
    """"untrusted, read-only deny A, on denial stop" as members of configure_session."""
    members = {}
    for part in text.split(", "):
        words = part.split()
        if part in APPROVALS:
            members["approval"] = part
        elif words[0] == "granular":
            members |= {"approval": "granular", "granular": {word: True for word in words[1:]}}
        elif words[0] == "reject":
            members["approval"] = "reject:" + ",".join(words[1:])
        elif words[0] in MODES:
            members["sandbox"] = sandbox_of(s, words)
        elif words[0] == "network":
            members["sandbox"]["network"] = words[1]
        elif part.startswith("on denial "):
            members["on_denial"] = words[2]
        elif part.startswith("questions wait "):
            members["limits"] = {"question_ms": int(words[2])}
        elif part == "programs inside are judged":
            members["intercept_exec"] = True
        else:
            raise SystemExit(f"no such member of a session: {part}")
    return members


@step(r"session (\w+): (.+)")
def session(s, name, text):
    told = s.agent.client.configure(name=name, **session_of(s, text))
    assert told["session"] == name, told


@step(r"a session is refused as (\w+): (.+)")
def session_refused(s, code, text):
    s.agent.client.error(s.agent.client.send("configure_session", **session_of(s, text)), code)


def wish_of(s, text):
    """"writing A, reaching B" as members of exec."""
    members, more = {}, {}
    words = {"writing": "write", "reading": "read", "reaching": "network", "connecting to": "socket"}
    for part in (text or "").split(", "):
        found = re.fullmatch(r"(writing|reading|reaching|connecting to) (.+)", part)
        if found:
            more.setdefault(words[found[1]], []).append(fill(s, found[2]))
        elif part == "escalated":
            members["sandbox_permissions"] = "require_escalated"
        elif part == "in the background":
            members |= {"mode": "background", "yield_ms": 1}
        elif part == "with input":
            members["input"] = True
        elif part == "without a retry":
            members["once"] = True
        elif part:
            raise SystemExit(f"no such wish: {part}")
    if more:
        members |= {"sandbox_permissions": "with_additional_permissions", "additional_permissions": more}
    return members


@step(r"([A-Z]\w*)(?: in (\w+))? runs(?: \((.+?)\))?: (.+)")
def runs(s, name, session, wish, script):
    members = wish_of(s, wish) | ({"session": session} if session else {})
    s.agent.submit(name, "exec", script=fill(s, script), **members)


@step(r"([A-Z]\w*)(?: in (\w+))? is refused as (\w+)(?: \((.+?)\))?: (.+)")
def run_refused(s, name, session, code, wish, script):
    runs(s, name, session, wish, script)
    s.agent.client.error(s.agent.ids[name], code)


@step(r"([A-Z]\w*)(?: in (\w+))? asks for (a patch of|permission|an answer to): (.+)")
def asks(s, name, session, what, text):
    members = {"session": session} if session else {}
    text = fill(s, text)
    if what == "a patch of":
        s.agent.submit(name, "request_patch_approval", files=text.split(), **members)
    elif what == "an answer to":
        s.agent.submit(name, "request_elicitation", reason=text, **members)
    else:
        more = wish_of(s, text)["additional_permissions"]
        s.agent.submit(name, "request_permissions", additional_permissions=more, **members)


@step(r"([A-Z]\w*) begins")
def begins(s, name):
    s.agent.client.next("exec_begin", id=s.agent.ids[name])


@step(r"([A-Z]\w*) is told: (.+)")
def is_told(s, name, text):
    number = s.agent.client.next("exec_begin", id=s.agent.ids[name])["exec"]
    id = s.agent.client.send("write_input", exec=number, text=text + "\n", eof=True, **s.agent.sessions[name])
    assert s.agent.client.next("accepted", id=id)["taken"] == len(text) + 1


@step(r"cancel ([A-Z]\w*)")
def cancel(s, name):
    number = s.agent.client.next("task_started", id=s.agent.ids[name])["exec"]
    s.agent.client.next("accepted", id=s.agent.client.send("cancel", exec=number, **s.agent.sessions[name]))


@step(r"the client hangs up")
def hangs_up(s):
    s.agent.client.hang_up()


# --- questions and answers -------------------------------------------------------------------------------------------

def spoken(access):
    if access["what"] == "destination":
        return f"{access['protocol']}://{access['name']}:{access['port']}"
    return f"{access['what']} {access['name']}"


@step(r"question ([A-Z]\w*) of ([\w ]+): (a retry|exec|patch|network|permissions|elicitation)((?:, .+)?)")
def question(s, name, whose, kind, details):
    """Exactly the named commands wait for it; it grants exactly the named accesses."""
    ids = {s.agent.ids[one] for one in whose.split(" and ")}

    def fits(event):
        return event["type"] in ("approval_request", "approval_updated") and set(event["ids"]) == ids and \
            (event.get("retry", False) if kind == "a retry" else event["kind"] == kind and not event.get("retry"))

    asked = s.agent.questions[name] = s.agent.first(fits, f"no such question: {kind} of {whose}")
    details = [fill(s, part) for part in details.split(", ")[1:]]
    for word in ("confined", "unconfined"):
        if word in details:
            assert asked["confined"] is (word == "confined"), asked
            details.remove(word)
    if "destination" in asked:
        grants = ["{protocol}://{host}:{port}".format(**asked["destination"])]
    else:
        grants = [spoken(access) for access in asked.get("accesses", [])]
    assert sorted(grants) == sorted(details), f"it grants {grants}: {asked}"


@step(r"question ([A-Z]\w*) offers: ([\w ]+)")
def offers(s, name, words):
    assert set(s.agent.questions[name]["decisions"]) == set(words.split()), s.agent.questions[name]["decisions"]


@step(r"answer ([A-Z]\w*): (\w+)( of another kind)?(?: is refused as (\w+))?")
def answer(s, name, decision, is_crossed, code):
    """Answers as a person who sees the question: required text is typed. An answer that is refused has no effect."""
    asked = s.agent.questions[name]
    typed = {"confirmation": asked["confirmation"]} if "confirmation" in asked else {}
    kind = ("patch" if asked["kind"] != "patch" else "exec") if is_crossed else asked["kind"]
    id = s.agent.client.answer(asked | {"kind": kind}, decision, **typed)
    if code:
        s.agent.client.error(id, code)
        return
    told = s.agent.client.next("approval_resolved", id=id)
    assert told["approval"] == asked["approval"], told


@step(r"question ([A-Z]\w*) is taken back")
def taken_back(s, name):
    told = s.agent.client.next("approval_resolved", approval=s.agent.questions[name]["approval"])
    assert "id" not in told, f"it was answered: {told}"


@step(r"nobody is asked")
def nobody(s):
    s.agent.client.never("approval_request")


# --- what came of it -------------------------------------------------------------------------------------------------

@step(r"([A-Z]\w*) has not begun")
def not_begun(s, name):
    s.agent.client.never("exec_begin", id=s.agent.ids[name])


def end_of(s, name):
    if name not in s.agent.ends:
        s.agent.ends[name] = s.agent.client.next("exec_end", id=s.agent.ids[name], seconds=PATIENCE)
        complete = s.agent.client.next("task_complete", id=s.agent.ids[name])
        assert complete["outcome"] == s.agent.ends[name]["status"], complete
    return s.agent.ends[name]


@step(r"([A-Z]\w*) ends: (\w+)(?: (\d+))?(?: by (\w+))?(?: after (\d+) attempts?)?")
def ends(s, name, status, code, by, attempts):
    end = end_of(s, name)
    assert end["status"] == status and (not code or end["exit_code"] == int(code)), end
    assert by is None or end.get("by") == by, end
    assert attempts is None or len(end["attempts"]) == int(attempts), end
    assert status != "rejected" or attempts or end["attempts"] == [], end


@step(r"([A-Z]\w*) is (approved|rejected|cancelled)(?: by (\w+))?")
def completed(s, name, outcome, by):
    told = s.agent.client.next("task_complete", id=s.agent.ids[name])
    assert told["outcome"] == outcome and (by is None or told.get("by") == by), told


@step(r"([A-Z]\w*) prints: (.*)")
def prints(s, name, text):
    assert end_of(s, name)["stdout"]["text"].rstrip("\n") == fill(s, text).replace("\\n", "\n"), end_of(s, name)["stdout"]


@step(r"([A-Z]\w*) ran (confined|unconfined)(?: as (.+))?")
def ran(s, name, how, mode):
    end = end_of(s, name)
    assert end["confined"] is (how == "confined") and mode in (None, end["sandbox"]["mode"]), end


@step(r"([A-Z]\w*) was refused: (.+)")
def was_refused(s, name, text):
    end = end_of(s, name)
    told = [f"{e['what']} {e['path']}" for e in end["evidence"]]
    told += ["{protocol}://{host}:{port}".format(**block) for block in end["network"]["blocks"]]
    assert fill(s, text) in told, told


@step(r"([A-Z]\w*) says why: (.+)")
def says_why(s, name, text):
    assert text in end_of(s, name)["message"], end_of(s, name)


@step(r"(\$\S+) (is there|is not there|holds: .*)")
def file_is(s, path, what):
    file = pathlib.Path(fill(s, path))
    if what.startswith("holds: "):
        assert file.read_text().rstrip("\n") == what[7:], file.read_text()
    else:
        assert file.exists() == (what == "is there"), f"{file}: {sorted(file.parent.iterdir())}"


@step(r"(\$\S+) has been made(?:, with: (.*))?")
def make_file(s, path, text):
    file = pathlib.Path(fill(s, path))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((text or "") + "\n")


@step(r"session (\w+) has (\d+) grants?")
def grants(s, session, count):
    listed = s.agent.client.next("listed", id=s.agent.client.send("list", what="grants", session=session))
    assert len(listed["items"]) == int(count), listed
