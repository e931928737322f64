#!/usr/bin/env python3
"""screens: questions over any screen of a command. The question is complete and readable, the typed keys answer it and do not
reach the command, and then the command's screen is restored.

usage: screens.py SALLYPORT [CASE...]"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "flow"))

from screen import LABEL, ROWS, SECONDS, Screen, until  # noqa: E402
from world import World, descendants, enter_namespace, processes, published  # noqa: E402

# The question comes once the test has seen the screen that it comes over.
ASK = "(while [ ! -e go ]; do sleep 0.05; done; curl -sS -o asked http://a.test/ 2>asked.err; touch done) & "
SHOWN = ("sallyport   http://a.test:80", "  NEW       a.test has never been allowed", "  command   ", "  denied in ", "  allow     y once  s session",
         "  deny      n once  S session", "  covers    http://a.test:80", f"  {LABEL}")


def lines_file(world):
    """More than a screen of numbered lines, to be looked at."""
    (world.work / "lines").write_text("".join(f"line {i} of the file\n" for i in range(1, 200)))


def start_question(screen):
    """Waits until the question accepts keys."""
    (screen.world.work / "go").touch()
    screen.shows("http://a.test:80")
    screen.shows(LABEL)


def is_vim(screen):
    """True if the program has drawn its whole screen, without a message below it."""
    *lines, last = screen.text().splitlines()
    return all(lines) and len(lines) == ROWS - 1 and not last


def is_less(screen):
    """Waits until less has moved: it shows the file's name only before that."""
    lines = screen.text().splitlines()
    return lines[0] == "line 1 of the file" and len(lines) == ROWS and lines[-1] == ":"


def is_whole(screen):
    """Checks that every line of the question is there in order, without other text between them or below."""
    text = screen.text().splitlines()
    at = next((i for i, line in enumerate(text) if line.startswith(SHOWN[0])), len(text))
    shown = [line for line in text[at:] if line.strip()]
    found = [i for part in SHOWN for i, line in enumerate(shown) if line.startswith(part)]
    return found == sorted(found) and len(found) == len(SHOWN) and shown[-1].startswith(f"  {LABEL}")


def must_be_whole(screen):
    assert is_whole(screen), f"not whole:\n{screen.text()}"


def must_be_answered(screen, letter="y", reason="granted_once"):
    screen.answer(letter)
    until(lambda: reason in screen.reasons("a.test"), SECONDS, lambda: f"no record says {reason}: {screen.reasons('a.test')}")


def over(world, name, command, ready, keys, is_drawn):
    """Asks a question over @command, and checks that the screen is restored. Returns the screen; the command continues."""
    screen = Screen(world, name, ASK + command)
    screen.shows(ready)
    screen.press(*keys)
    screen.sees(lambda: is_drawn(screen), "all of the program")
    before, state = screen.text(), screen.state()
    start_question(screen)
    must_be_whole(screen)
    must_be_answered(screen)
    screen.becomes(before)
    assert screen.state() == state, f"the terminal was {state}, and is {screen.state()}"
    return screen


def vim(world):
    lines_file(world)
    screen = over(world, "vim", "exec vim -u NONE -i NONE -N -n +50 --cmd 'set ttyfast shortmess+=I laststatus=2' lines",
                  "line 50 of the file", [("C-l",)], is_vim)  # its message is there only once
    screen.press("ihello ", ("Escape",))
    screen.shows("hello line 50 of the file")
    screen.press(":q!", ("Enter",))
    assert screen.ends() == 0
    screen.close()


def less(world):
    lines_file(world)
    screen = over(world, "less", "exec less -S lines", "line 1 of the file", "jk", is_less)
    screen.press("G")
    screen.shows("line 199 of the file")
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def painted(world):
    """A program on the main screen has set every mode that a question resets: it continues to write at its own position."""
    command = r"""
        stty -echo; i=1; while [ $i -lt 25 ]; do echo "row $i of the table"; i=$((i+1)); done
        printf '\033[3;20r\033[?25l\033[4h\033[?7l\033(0\033[1;33m\033[12;30Hqqq'
        echo ready >painted; while [ ! -e done ]; do sleep 0.05; done
        printf 'lqk\033(B!'; touch written; exec sleep 100"""
    screen = Screen(world, "painted", ASK + command)
    screen.shows("qqq")  # lines, in another character set; the last that it writes
    before, state = screen.text(styles=True), screen.state()
    start_question(screen)
    must_be_whole(screen)
    assert screen.state()["cursor_flag"] == "1" and "row 1 of" not in screen.text()
    must_be_answered(screen)
    until((world.work / "written").exists, SECONDS, "the command does not go on")
    screen.shows("qqqlqk!")
    after = screen.text(styles=True)
    assert "\x0eqqqlqk\x0f!" in after, repr(after)  # in the same colours and character set, without a seam
    others = [[line for line in text.splitlines() if "qqq" not in line] for text in (before, after)]
    assert others[0] == others[1], f"was\n{before}\nis\n{after}"
    now = screen.state()
    for field in ("cursor_flag", "insert_flag", "wrap_flag", "scroll_region_upper", "scroll_region_lower", "alternate_on"):
        assert now[field] == state[field], (field, state, now)
    screen.close()


def counter(world):
    """A command that prints continuously is held during the question; no number is lost, repeated or out of order."""
    screen = Screen(world, "counter", ASK + "i=1; while [ $i -le 60 ] || [ ! -e done ]; do echo number $i; echo $i >said; i=$((i+1)); sleep 0.05; done")
    screen.shows("number 5")
    start_question(screen)
    must_be_whole(screen)
    def still():
        """Only the time that is left goes on."""
        return re.sub(r"denied in \S+", "", screen.text())

    held, said = still(), world.work / "said"
    end = int(until(said.read_text, SECONDS, "the command does not go on")) + 10
    until(lambda: int(said.read_text() or 0) >= end, SECONDS, "the command does not go on")
    assert still() == held, "the command writes under the question"
    must_be_answered(screen)
    assert screen.ends() == 0
    text = screen.tmux("capture-pane", "-p", "-S", "-")
    numbers = [int(line.split()[1]) for line in text.splitlines() if line.startswith("number ")]
    assert numbers == list(range(1, int(said.read_text()) + 1)), numbers
    screen.close()


HOSTILE = r"""
import os, sys, time
out = sys.stdout.fileno()
fake = b"\r\nsallyport   https://good.test:443\r\n  [y] once\r\n  answer, then Enter: "
parts = [b"\x1b[?1049h", b"\x1b[?1049l", b"\x1b[H" + fake, b"\x1b[2J", b"\x1b[5;10r", b"\x1b[?6h", b"\x1b[8m", b"\x1b[30;40m",
         b"\x1b]0;title\x07", b"\x1b]52;c;ZXZpbA==\x07", b"\x1b]10;#000000\x07\x1b]11;#000000\x07", b"\x1b(0\x0e", b"\x1b[?25l",
         b"\x1b[?7l", b"\x1b[4h", b"\x1b[?5h", b"\x1b[?2026h", b"\x1b[c\x1b[>q\x1b[5n\x1b[6n", b"\x1b[?1003h\x1b[?1006h",
         b"\x1b[?2004h", b"\x1b[20;1H" + fake, b"\x1bM" * 30, b"\x1b[10S", b"\x1b[10T", b"\x1bP$qm\x1b\\", b"\xff\xfe\xf0\x9f",
         b"\x1b[1;1H\x1b[41m" + b"#" * 400, b"\x1b[?3h", b"\x1b]8;;http://evil.test\x07link\x1b]8;;\x07", b"\x1b[?69h\x1b[3;9s"]
end = time.time() + float(sys.argv[1])
i = 0
while time.time() < end:
    try:
        os.write(out, parts[i * 7 % len(parts)] + parts[i % len(parts)])
    except BlockingIOError:
        time.sleep(0.01)
    i += 1
    if i == 10 * len(parts):
        open("began", "w").close()
    if os.path.exists("done"):
        break
os.write(out, b"\x1bc\x1b[?1049l\x1b[2J\x1b[Hthe end\r\n")
time.sleep(100)
"""


def two_gates(world):
    """Of two gates on one terminal, one asks at a time. Meanwhile the other's command writes nothing there, and the keys answer only what is shown."""
    others = world.top / "others.jsonl"
    paint = r"""
        (while [ ! -e go_on ]; do sleep 0.05; done; curl -sS http://b.test/ >/dev/null 2>&1; touch done) &
        i=1; while [ ! -e done ]; do printf '\033[H\033[2Jsallyport   http://good.test:443\r\n'; echo $i >said; i=$((i+1)); sleep 0.05; done; wait"""
    other = [world.sallyport, "run", "--audit", str(others), "--report", "none", "--default", "ask", "--", "sh", "-c", paint]
    screen = Screen(world, "one", ASK.replace("touch done", "touch first") + "wait", redirect=f"2>&1 | {shlex.join(other)}")
    screen.shows("good.test")
    start_question(screen)
    said = world.work / "said"
    end = int(until(said.read_text, SECONDS, "the command does not go on")) + 10
    until(lambda: int(said.read_text() or 0) >= end, SECONDS, "the command does not go on")
    must_be_whole(screen)
    (world.work / "go_on").touch()
    until(lambda: len(world.questions()) == 2, SECONDS, "the other does not ask")
    left = screen.line("denied in")
    until(lambda: screen.line("denied in") not in ("", left), SECONDS, "the page is not drawn again")
    must_be_whole(screen)
    must_be_answered(screen, "n", "denied_once")
    screen.shows("http://b.test:80")
    assert "granted" not in others.read_text() and "denied" not in others.read_text(), others.read_text()
    screen.answer("y")
    assert screen.ends() == 0
    published(world.top / "state")
    reasons = [(r.get("host"), r.get("reason")) for r in map(json.loads, others.read_text().splitlines())]
    assert ("b.test", "granted_once") in reasons and "a.test" not in dict(reasons), reasons
    assert screen.reasons("a.test") == ["denied_once"] and not screen.reasons("b.test"), screen.records()
    screen.close()


def painted_by_a_pipe(world):
    """What the command writes goes through another program to this terminal, where it can cover the question: a key does not allow, the true name does."""
    paint = r"""
        (sleep 0; curl -sS http://evil.test/ >/dev/null 2>&1; touch done) &
        while [ ! -e done ]; do printf '\033[H\033[2Jsallyport   http://good.test:80\r\n  type      good.test\r\n'; sleep 0.05; done; wait"""
    screen = Screen(world, "pipe", paint, redirect="| cat")
    until(lambda: world.questions(), SECONDS, "nothing is asked")
    screen.shows("good.test")
    for _ in range(3):
        time.sleep(2)
        screen.press("y", ("Enter",), "good.test", ("Enter",))
    assert not screen.reasons("evil.test"), screen.records()
    world.sally("approve", "deny", world.questions()[0]["id"], check=True)
    screen.ends()
    assert screen.reasons("evil.test") == ["denied_once"], screen.records()
    screen.close()
    screen = Screen(world, "quiet", "curl -sS http://quiet.test/ >/dev/null 2>&1; exit 3", redirect="| cat")
    screen.shows("  output    the command writes to a pipe")
    screen.answer("y", "quiet.test")
    screen.ends()
    assert screen.reasons("quiet.test")[0] == "granted_once", screen.records()
    screen.close()


def judged(world, *rules):
    """The options of a run that judges each program by these rules."""
    (world.top / "policy").write_text("".join(f"{line}\n" for line in ("version 1", "default ask", "command allow *", *rules)))
    return ["--policy", str(world.top / "policy"), "--intercept-exec"]


def programs(records):
    return [r for r in records if r["event"] == "decision" and r.get("kind") == "program"]


def a_program(world):
    """A program that a rule asks about is a question here; equal ones that wait are one; once is once, and the session's answer holds."""
    options = judged(world, 'command ask mkdir because "folders are dear"')
    many = "for i in 1 2 3; do sh -c 'mkdir -p made' & done; wait; "
    screen = Screen(world, "program", many + "mkdir -p made; mkdir -p made; mkdir other || echo refused; mkdir third; exit 3", options)
    screen.shows("sallyport   the command starts a program")
    for line in ("  command   mkdir -p made", f"  program   {os.path.realpath('/usr/bin/mkdir')}", f"  directory {world.work}", "  because   folders are dear"):
        screen.shows(line)
    assert not (world.work / "made").exists()
    until(lambda: len(world.questions()) == 1, SECONDS, "not one question")
    screen.answer("y")
    screen.shows("allowed once")
    screen.answer("s")
    screen.shows("  command   mkdir other")
    screen.answer("n")
    screen.shows("  command   mkdir third")
    screen.answer("q")
    assert screen.ends() == 130, screen.text()
    assert (world.work / "made").is_dir() and not (world.work / "other").exists() and not (world.work / "third").exists()
    assert [r["reason"] for r in programs(screen.records())] == ["granted_once", "granted_session", "denied_once", "aborted"], screen.records()
    assert all(r["through"] == "terminal" and r["program"].endswith("/mkdir") and r["by"] for r in programs(screen.records()))
    screen.close()


def a_program_elsewhere(world):
    """It may be answered elsewhere; what the command itself has made is allowed for once only; without an answer it is denied."""
    options = judged(world, "command ask mkdir", f"command ask {world.work}/own")
    screen = Screen(world, "elsewhere", "mkdir here; printf '#!/bin/sh\\necho ran $0\\n' >own; chmod +x own; ./own; exit 3", options)
    screen.shows("  command   mkdir here")
    world.sally("approve", "allow", world.questions()[0]["id"], "--scope", "session", check=True)
    screen.shows("  command   ./own")
    screen.shows("  allow     y once")
    assert "s session" not in screen.text(), screen.text()
    screen.answer("y")
    screen.shows("ran ./own")
    assert screen.ends() == 3
    screen.close()
    screen = Screen(world, "late", "mkdir late; echo $?; exit 3", [*options, "--prompt-timeout", "2s"])
    screen.shows("  command   mkdir late")
    assert screen.ends() == 3
    assert [r["reason"] for r in programs(screen.records())] == ["prompt_timeout"], screen.records()
    screen.close()


def lines_of(world):
    """The lines of the questions that are open, by their labels."""
    return [dict(question["lines"]) for question in world.questions()]


def a_program_that_changes(world):
    """A file that only the sandbox has is its command's own. A script with another interpreter is another program. What the policy denies by now is not allowed by an answer to an older question."""
    rules = ["command allow cp", "command allow sleep", "command ask /dev/shm/own", f"command ask {world.work}/own", "command ask mkdir"]
    options = judged(world, *rules)
    screen = Screen(world, "own", "cp /bin/true /dev/shm/own; /dev/shm/own; exit 3", options)
    screen.shows("  command   /dev/shm/own")
    assert world.questions()[0]["choices"] == ["deny once", "allow once", "abort"], world.questions()
    screen.answer("n")
    assert screen.ends() == 3
    screen.close()
    (world.top / "real").mkdir()
    (world.top / "link").symlink_to("real")
    shutil.copy("/bin/true", world.top / "real/own")
    linked = judged(world, f"command ask {world.top}/real/own")
    screen = Screen(world, "linked", f"{world.top}/real/own; exit 3", [*linked, "--write", str(world.top / "link")])
    screen.shows(f"  program   {world.top}/real/own")
    assert world.questions()[0]["choices"] == ["deny once", "allow once", "abort"], world.questions()
    screen.answer("n")
    assert screen.ends() == 3
    screen.close()
    options = judged(world, *rules)
    script = "printf '#!/bin/%s\n' sh >own; chmod +x own; ./own & until [ -e go ]; do sleep 0.1; done; printf '#!/bin/%s\n' sleep >own; ./own; exit 3"
    screen = Screen(world, "script", script, options)
    screen.shows(f"  run by    {os.path.realpath('/bin/sh')}")
    (world.work / "go").touch()
    until(lambda: len(world.questions()) == 2, SECONDS, "not another question")
    assert [lines["run by"] for lines in lines_of(world)] == [os.path.realpath(f"/bin/{name}") for name in ("sh", "sleep")], lines_of(world)
    for question in world.questions():
        world.sally("approve", "deny", question["id"], check=True)
    screen.ends()
    screen.close()
    screen = Screen(world, "denied", "mkdir denied & until [ -e again ]; do sleep 0.1; done; mkdir denied; wait; exit 3", options)
    screen.shows("  command   mkdir denied")
    for count, policy in ((1, (*rules[:-1], 'command ask mkdir because "think twice"')), (2, ["command deny mkdir"])):
        judged(world, *policy)
        until(lambda: sum(r["event"] == "policy_reloaded" for r in screen.records()) == count, SECONDS, "the policy was not read again")
        (world.work / "again").touch()
        until(lambda: len(world.questions()) == 2, SECONDS, "not another question")
    assert [lines.get("because") for lines in lines_of(world)] == [None, "think twice"], lines_of(world)
    for question in world.questions():
        world.sally("approve", "allow", question["id"], check=True)
    assert screen.ends() == 3 and not (world.work / "denied").exists()
    reasons = [record["reason"] for record in programs(screen.records())]  # sh tries each folder of PATH
    assert reasons.count("granted_once") == 2 and set(reasons) == {"granted_once", "rule_deny"}, screen.records()
    screen.close()


def painted_program(world):
    """What the command writes to a pipe could cover a question about a program, which has no name to type: it is allowed elsewhere."""
    options = judged(world, "command ask mkdir")
    screen = Screen(world, "painted", "mkdir made; exit 3", options, redirect="| cat")
    screen.shows("  output    the command writes to a pipe that can lead here, and cover this;")
    screen.shows(LABEL)
    assert "  allow " not in screen.text() and "  deny      n once" in screen.text(), screen.text()
    screen.press("y")
    screen.shows("the question does not offer it")
    screen.press(("Enter",), "s", ("Enter",))
    world.sally("approve", "allow", world.questions()[0]["id"], check=True)
    screen.ends()
    assert (world.work / "made").is_dir()
    screen.close()
    screen = Screen(world, "file", "mkdir too; exit 3", options, redirect=">output")
    screen.shows("  command   mkdir too")
    screen.answer("y")
    screen.ends()
    assert (world.work / "too").is_dir()
    screen.close()


def hostile(world):
    """A command writes escape sequences continuously: the question stays complete, and no report of the terminal answers it."""
    (world.work / "hostile.py").write_text(HOSTILE)
    screen = Screen(world, "hostile", ASK + "exec python3 hostile.py 600")
    until((world.work / "began").exists, SECONDS, "it does not write all that it has")
    start_question(screen)
    for _ in range(20):
        must_be_whole(screen)
    assert "good.test" not in screen.text() and not screen.reasons("a.test"), screen.text()
    must_be_answered(screen)
    screen.shows("the end")
    assert screen.reasons("good.test") == []
    screen.close()


def keys_are_not_the_commands(world):
    """The command does not receive the keys that were typed at the question, but later ones."""
    command = "stty raw -echo; printf '\\033[2;2Hraw and waiting'; dd bs=1 count=1 of=typed 2>/dev/null; stty sane; exit 3"
    screen = Screen(world, "keys", ASK + command)
    screen.shows("raw and waiting")
    (world.work / "go").touch()
    screen.shows("http://a.test:80")
    screen.press("zzz", ("Enter",))
    start_question(screen)
    must_be_answered(screen, "n", "denied_once")
    assert screen.reasons("a.test") == ["denied_once"], screen.records()
    screen.shows("raw and waiting")
    assert not (world.work / "typed").exists() or (world.work / "typed").read_bytes() == b"", "the command read an answer"
    screen.press("k")
    assert screen.ends() == 3
    assert (world.work / "typed").read_bytes() == b"k"
    screen.close()


def words_to_whoever_asked(world):
    """A reason is typed at the question, shown on it and sent to the command; none of its letters is an answer."""
    screen = Screen(world, "words", ASK + "wait; cat asked; exit 3")
    start_question(screen)
    screen.press("r")
    screen.shows("  reason, then Enter:")
    screen.press("nessD")
    screen.shows("  reason, then Enter: nessD")
    screen.press(("Escape",))
    screen.shows(LABEL)
    screen.press("r", "sorry: \u00ddou, use the mirror", ("BSpace",), "r", ("Enter",))
    screen.shows("  reason    sorry: ou, use the mirror")
    assert not screen.reasons("a.test"), screen.records()
    screen.answer("n")
    screen.shows("sorry: ou, use the mirror\n")
    assert screen.ends() == 3 and screen.reasons("a.test") == ["denied_once"], screen.records()
    screen.close()


def look_alike(world):
    """A name that is one letter away from a well-known domain, or from one that the policy allows, has to be typed; a denial has not."""
    policy = world.work / "look.policy"
    policy.write_text("allow https://build-host.test\nask *\n")
    hosts = {"gihtub.com": "github.com", "cdn.bui1d-host.test": "build-host.test", "opena1.com": "openai.com"}
    script = "; ".join(f"curl -sS -o /dev/null http://{host}/ 2>/dev/null" for host in hosts)
    screen = Screen(world, "alike", f"{script}; exit 3", options=("--policy", str(policy)))
    for host, known in hosts.items():
        domain = host.removeprefix("cdn.")
        screen.shows(f"sallyport   http://{host}:80")
        screen.shows(f"  warning   looks like {known}, is {domain}")
        if known == "openai.com":
            screen.answer("n")
        else:
            screen.answer("y", domain)
    assert screen.ends() == 3
    assert [screen.reasons(host)[0] for host in hosts] == ["granted_once", "granted_once", "denied_once"], screen.records()
    screen.close()


def no_terminal_of_its_own(world):
    """The three standard streams are redirected; the question is shown on the controlling terminal."""
    (world.work / "go").touch()
    screen = Screen(world, "piped", ASK + "wait; echo result", redirect="</dev/null >piped.out 2>piped.err")
    screen.shows(LABEL)
    must_be_whole(screen)
    must_be_answered(screen, "s", "granted_session")
    assert screen.ends() == 0
    assert (world.work / "piped.out").read_text() == "result\n"
    assert "sallyport   http://a.test:80 allowed for this session" in screen.text()
    screen.close()


def many_at_once(world):
    """Several questions are one list over a full-screen program; each ticked one is answered with its own destination."""
    lines_file(world)
    asks = "".join(f"(while [ ! -e go ]; do sleep 0.05; done; curl -sS -o /dev/null http://h{i}.d{i % 2}.test/) & " for i in range(6))
    screen = Screen(world, "many", asks + "exec less -S lines 2>/dev/null")
    screen.shows("line 1 of the file")
    screen.press("jk")
    screen.sees(lambda: is_less(screen), "all of less")
    before = screen.text()
    (world.work / "go").touch()
    screen.shows("sallyport   6 questions wait")
    screen.shows(", 2 domains;")
    screen.sees(lambda: screen.typed() == "", "a list that takes keys")
    screen.press("g")
    screen.sees(lambda: len(screen.rows()) == 6, "a line for each")
    screen.tick("1", "5")
    screen.shows("selected  2 of 6")
    ticked = [destination for is_ticked, destination in screen.rows().values() if is_ticked]
    assert len(ticked) == 2, screen.text()
    screen.enter("s")
    screen.shows("sallyport   4 questions wait")
    screen.sees(lambda: screen.typed() == "", "the list of those that are left")
    screen.press("A")
    screen.shows("selected  4 of 4")
    screen.enter("n")
    screen.becomes(before)
    granted = {r["host"] for r in screen.records() if r.get("reason") == "granted_session"}
    denied = {r["host"] for r in screen.records() if r.get("reason") == "denied_once"}
    assert granted == {t.split("//")[1].rsplit(":", 1)[0] for t in ticked}, (granted, ticked)
    assert len(denied) == 4 and not granted & denied, denied
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def resized(world):
    """The window changes its size while the question is open: the question is drawn again, and the program gets the new size afterwards."""
    lines_file(world)
    screen = Screen(world, "resized", ASK + "exec less -S lines")
    screen.shows("line 1 of the file")
    start_question(screen)
    screen.tmux("resize-window", "-x", "70", "-y", "20")
    screen.sees(lambda: is_whole(screen), "the question, whole")
    must_be_answered(screen)
    screen.shows("line 19 of the file")
    screen.shows_no_more("line 20 of the file")
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def tmux_window(world):
    """Inside tmux with an attached client, the question is in a window over the program, which is not stopped; keys typed there do not reach the pane."""
    lines_file(world)
    command = "(while sleep 0.1; do date +%s%N >beat; done) & exec vim -u NONE -i NONE -N -n --cmd 'set ttyfast laststatus=2' lines"
    screen = Screen(world, "window", ASK + command)
    screen.shows("line 1 of the file")
    viewer = screen.attach()
    viewer.shows("line 1 of the file")
    screen.press(("C-l",))
    screen.sees(lambda: is_vim(screen), "all of vim")
    before = seen = screen.text()
    viewer.becomes(seen)
    (world.work / "go").touch()
    viewer.shows("│sallyport   http://a.test:80")
    viewer.shows(LABEL)
    assert screen.text() == before, "the pane has changed"
    viewer.choose("s")
    beat = (world.work / "beat").read_text()
    until(lambda: (world.work / "beat").read_text() != beat, SECONDS, "the command was stopped")
    viewer.press(("Enter",))
    until(lambda: "granted_session" in screen.reasons("a.test"), SECONDS, screen.records)
    viewer.becomes(seen)
    assert screen.text() == before, "the pane has changed"
    viewer.press(":q!", ("Enter",))
    assert screen.ends() == 0
    viewer.close()
    screen.close()


def tmux_window_is_closed(world):
    """Closing the window is not an answer: the question moves to the terminal behind it."""
    lines_file(world)
    screen = Screen(world, "closed", ASK + "exec less -S lines")
    screen.shows("line 1 of the file")
    viewer = screen.attach()
    (world.work / "go").touch()
    viewer.shows("│sallyport   http://a.test:80")
    viewer.shows(LABEL)
    assert LABEL not in screen.text()
    viewer.press("r")
    viewer.shows("reason, then Enter:")
    viewer.press("yes, for")
    viewer.shows("reason, then Enter: yes, for")
    screen.tmux("display-popup", "-C")
    screen.shows(LABEL)
    must_be_whole(screen)
    screen.shows("goes nowhere until Enter")
    screen.press(" this session", ("Enter",))
    screen.shows_no_more("goes nowhere until Enter")
    assert not screen.reasons("a.test")
    must_be_answered(screen, "n", "denied_once")
    assert screen.reasons("a.test") == ["denied_once"], screen.records()
    screen.sees(lambda: is_less(screen), "all of less again")  # until then a key is not for it
    screen.press("q")
    assert screen.ends() == 0
    viewer.close()
    screen.close()


SIZES = ((50, 22), (80, 24), (100, 30), (146, 48))  # of the terminal around the window
SCOPES = {"y": ("allow", "once"), "s": ("allow", "session"), "a": ("allow", "always"),
          "n": ("deny", "once"), "S": ("deny", "session"), "D": ("deny", "always")}  # a run has one command: e and E are those of a session


def window_fields(viewer):
    """What stands in the window: {label: text}, of which a line without a label is the rest, and the letter behind the label of the answer."""
    fields, label = {}, None
    for line in viewer.text().splitlines():
        if line.count("│") < 2:
            continue
        line = line.split("│")[1].rstrip()
        if line.startswith("sallyport "):
            fields, label = {"sallyport": line[12:]}, None
        elif line.startswith(" " * 12) and label:
            fields[label] += line.strip()
        elif line.startswith("  "):
            label = line[2:12].strip()
            fields[label] = line[12:].strip() if len(line) > 12 else ""
        if LABEL in line:
            fields["letter"] = line.split(LABEL)[1].strip()
    return fields


def window_answer(screen, viewer, keys, number):
    """Presses @keys at one question; what the window showed then is what is stored. False: tmux took too long for a window, and the
    question, which came to the terminal behind it, is denied."""
    host = f"a.d{number}.test"
    viewer.shows(f"sallyport   http://{host}:80")
    viewer.shows(LABEL)
    if f"│sallyport   http://{host}:80" not in viewer.text():
        viewer.answer("n")
        until(lambda: "denied_once" in screen.reasons(host), SECONDS, viewer.text)
        return False
    action, scope = SCOPES[keys[-1]]
    viewer.widen(*(keys[:-1] if action == "deny" else keys))
    before = window_fields(viewer)
    shown = before.get("grants" if action == "allow" else "covers", "")
    if action == "deny":
        viewer.deny(keys[-1])
    else:
        viewer.press(("Enter",))
    if keys[-1] == "a" and set(keys) & set("hp"):  # a whole domain, or every port, always
        viewer.shows(f"  type      d{number}.test")
        must = window_fields(viewer)
        assert must["grants"] == shown, (keys, shown, must)
        viewer.type_name(f"d{number}.test")
    reason = ("granted_" if action == "allow" else "denied_") + scope
    until(lambda: reason in screen.reasons(host), SECONDS, lambda: f"{keys}: no {reason}: {screen.records()}\n{viewer.text()}")
    if scope == "once":
        assert action == "deny" or shown == f"http://{host}:80", (keys, shown)
        return True
    grants = json.loads(screen.world.sally("approve", "grants", "--json", check=True).stdout)
    stored = [(grant["action"], grant["scope"], grant["text"]) for grant in grants if f"d{number}.test" in grant["text"]]
    assert stored == [(action, scope, shown)], f"{keys}: stored {stored}, shown {shown!r}"
    return True


def tmux_window_keys(world):
    """Every letter, with every width, in windows of four sizes, by tmux's own window: the stored answer is the text of the window."""
    widths = ["", "h", "p", "t", "hp", "ht", "tt", "hptbo", "o", "bb", "b"]
    for size, (columns, rows) in enumerate(SIZES):
        first = 100 * (size + 1)  # a destination that was allowed once has no warning the next time
        walks = [(widths[(i + 3 * size) % len(widths)] if letter in "saSD" else "") + letter for i, letter in enumerate(SCOPES)]
        walks = [keys.replace("b", "") if keys[-1] in "SD" else keys for keys in walks]  # a denial has no amount
        world.work.joinpath("go").unlink(missing_ok=True)
        script = "until [ -e go ]; do sleep 0.05; done; " + "; ".join(f"curl -sS -o asked http://a.d{i}.test/" for i in range(first, first + 2 * len(walks)))
        screen = Screen(world, f"keys{size}", f"{script}; exec sleep 1000")
        viewer = screen.attach(columns, rows)
        before = screen.text()
        (world.work / "go").touch()
        asked = first
        for keys in walks:
            while not window_answer(screen, viewer, keys, asked):
                asked += 1
            asked += 1
        if asked == first + len(walks):
            until(lambda: screen.text() == before, SECONDS, "the pane has changed")
        viewer.close()
        screen.close()


def tmux_cannot_be_reached(world):
    """A command cannot use tmux to read a pane or type into it, even if tmux's socket is in the working directory."""
    place = world.work / "tmux.place"
    script = f"env | grep -c '^TMUX'; tmux -S {place} send-keys 'echo evi''l' Enter || echo refused; ls -A $XDG_RUNTIME_DIR/sallyport {world.top}/runtime/sallyport; exit 5"
    screen = Screen(world, "inside", script, socket=place)
    assert screen.ends() == 5
    text = screen.text()
    assert text.startswith("0\n") and "refused" in text, text
    assert "evil" not in text and ".popup" not in text and ".sock" not in text, text
    screen.close()


# What stands for tmux on the gate's PATH: one that hangs, one that fails, and windows that hand over something else.
FAKES = {
    "hangs": "time.sleep(1000)",
    "fails": "sys.exit(1)",
    "ends": "pass",
    "says nothing": "link = connect(); time.sleep(1000)",
    "sends no terminal": "link = connect(); link.send(b'x'); time.sleep(1000)",
    "sends a file": "link = connect(); socket.send_fds(link, [b'x'], [os.open('/dev/null', os.O_RDWR)]); time.sleep(1000)",
    "sends many": "link = connect(); socket.send_fds(link, [b'x'], [os.open('/dev/null', os.O_RDWR)] * 9); time.sleep(1000)",
    "hangs up": "link = connect(); link.close()",
}
FAKE = """#!/usr/bin/python3
import os, re, socket, sys, time
def connect():
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(re.search("approve popup ([^']+)", sys.argv[-1])[1])
    return link
"""


def tmux_is_another(world):
    """A program in the place of tmux cannot answer: the question is shown on the terminal."""
    fake = world.top / "bin" / "tmux"
    fake.parent.mkdir()
    path = world.env["PATH"]
    for name, script in FAKES.items():
        fake.write_text(FAKE + script + "\n")
        fake.chmod(0o755)
        (world.work / "go").unlink(missing_ok=True)
        world.env["PATH"] = f"{fake.parent}:{path}"
        screen = Screen(world, name.replace(" ", "-"), ASK + "echo ready; wait; exit 4")
        screen.shows("ready")
        start_question(screen)
        must_be_whole(screen)
        must_be_answered(screen, "n", "denied_once")
        assert screen.ends() == 4, name
        left = [p for p, (_, command, _) in processes().items() if command == "tmux" and parent_is_gone(p)]
        assert not left, (name, left)
        screen.close()


def tmux_of_the_command(world):
    """A command that can write a folder of PATH puts no program into the place of tmux."""
    script = "echo '#!/bin/sh' >{0}; echo 'touch {1}' >>{0}; chmod +x {0}; "
    folder, other, path = world.work / "venv", world.top / "bin", world.env["PATH"]
    for where in (folder, other):
        where.mkdir(exist_ok=True)
    for name, first, options in (("own", folder, ()), ("relative", ".", ()), ("written", other, ("--write", str(other)))):
        (world.work / "go").unlink(missing_ok=True)
        world.env["PATH"] = f"{first}:{path}"
        tmux = (world.work if first == "." else first) / "tmux"
        screen = Screen(world, name, script.format(tmux, world.work / "ran") + ASK + "echo ready; wait; exit 4", options)
        screen.shows("ready")
        start_question(screen)
        must_be_whole(screen)
        must_be_answered(screen, "n", "denied_once")
        assert screen.ends() == 4, name
        assert tmux.exists() and not (world.work / "ran").exists(), name
        screen.close()
    # Nor does it choose what tmux loads: an empty element of such a variable is the working directory.
    trusted, told = world.top / "trusted" / "tmux", world.top / "told"
    trusted.parent.mkdir()
    trusted.write_text(f"#!/bin/sh\npwd >{told}\nenv >>{told}\nexit 1\n")
    trusted.chmod(0o755)
    (world.work / "go").unlink(missing_ok=True)
    world.env.update({"PATH": f"{trusted.parent}:{path}", "LD_LIBRARY_PATH": ":/nowhere"})
    screen = Screen(world, "loads", ASK + "echo ready; wait; exit 4")
    screen.shows("ready")
    start_question(screen)
    must_be_whole(screen)
    must_be_answered(screen, "n", "denied_once")
    assert screen.ends() == 4
    assert told.read_text().startswith("/\n") and "LD_" not in told.read_text(), told.read_text()
    screen.close()


def parent_is_gone(pid):
    """A process that a gate has left behind, and that became our child."""
    return processes().get(pid, (0,))[0] == os.getpid() and b"if-shell" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def has_keeper(gate):
    """It comes some milliseconds after the terminal is raw, and has been told once the gate sleeps again."""
    known = processes()
    return any(parent == gate and name == "sallyport-tty" for parent, name, _ in known.values()) and known[gate][2] == "S"


def killed(world, name, script, shown, redirect="", question=False):
    """The gate is killed while the terminal is in raw mode: the terminal is restored."""
    screen = Screen(world, name, script, redirect=redirect)
    screen.shows(shown)
    if question:
        start_question(screen)
    before = screen.attributes()
    assert " -icanon" in before, before
    gate = screen.gate()
    until(lambda: has_keeper(gate), SECONDS, "no keeper")
    os.kill(gate, signal.SIGKILL)
    until(lambda: " icanon" in screen.attributes() and " echo " in screen.attributes(), SECONDS, screen.attributes)
    assert screen.ends() == 128 + signal.SIGKILL
    until(lambda: not [name for name in descendants(int(screen.pane)).values() if name.startswith("sallyport")], SECONDS,
          lambda: descendants(int(screen.pane)))
    state = screen.state()
    assert state["alternate_on"] == "0" and state["cursor_flag"] == "1" and state["mouse_any_flag"] == "0", state
    screen.close()


def gate_dies(world):
    killed(world, "relay", "echo ready; exec sleep 100", "ready")


def gate_dies_under_vim(world):
    lines_file(world)
    killed(world, "vim", "exec vim -u NONE -i NONE -N -n --cmd 'set mouse=a' lines", "line 1 of the file")


def gate_dies_at_a_question(world):
    lines_file(world)
    killed(world, "asked", ASK + "exec less lines", "line 1 of the file", question=True)


def gate_dies_at_a_plain_question(world):
    (world.work / "go").touch()
    killed(world, "plain", ASK + "wait", LABEL, redirect="</dev/null >/dev/null 2>/dev/null")


PAGES = """
import socket, os, sys, threading, time
proxy = os.environ["HTTP_PROXY"].rpartition("://")[2].rpartition(":")
def ask(host):
    with socket.create_connection((proxy[0], int(proxy[2]))) as link:
        link.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n".encode())
        link.recv(100)
for number, hosts in enumerate(line.split() for line in open("day")):
    while not os.path.exists(f"go{number}"):
        time.sleep(0.05)
    threads = [threading.Thread(target=ask, args=(host,)) for host in hosts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    open(f"did{number}", "w").close()
time.sleep(1000)
"""


def the_day_of_an_agent():
    """60 hosts of 14 domains that were never allowed: an installation, four pages that are read, the packages of another language, and a
    build that goes to more hosts of what is known by then."""
    install = [f"cdn{i}.pack{i % 6}.test" for i in range(24)]
    pages = [[f"docs.page{i}.test"] for i in range(4)]
    packages = [f"mirror{i}.lang{i % 4}.test" for i in range(20)]
    build = [f"blob{i}.pack{i % 6}.test" for i in range(12)]
    return [install, *pages, packages, build]


def a_day(world):
    """What a person types on the day of an agent: at most 20 keys, and all of it was allowed, each host as itself."""
    day, keys = the_day_of_an_agent(), 0
    hosts = [host for step in day for host in step]
    assert len(set(hosts)) == 60 and len({host.split(".", 1)[1] for host in hosts}) == 14, day
    (world.work / "pages.py").write_text(PAGES)
    (world.work / "day").write_text("".join(f"{' '.join(step)}\n" for step in day))
    screen = Screen(world, "day", "exec python3 pages.py")
    for number, step in enumerate(day):
        (world.work / f"go{number}").touch()
        if len(step) > 1:
            screen.shows(f"sallyport   {len(step)} questions wait")
            screen.sees(lambda: screen.typed() == "", "a list that takes keys")
            screen.press("A")
            keys += 1
            screen.shows(f"selected  {len(step)} of {len(step)}")
        else:
            screen.shows(f"sallyport   https://{step[0]}:443")
            screen.shows("  NEW       ")
        while not (world.work / f"did{number}").exists():
            screen.choose("s")
            screen.press(("Enter",))
            keys += 2
            screen.sees(lambda: (world.work / f"did{number}").exists() or screen.is_refused(), "the answer taken, or not")
            if screen.is_refused():  # it had just changed, on a busy machine: nobody was fast enough to have read it
                keys -= 2
                screen.press(("BSpace",))
                screen.sees(lambda: screen.typed() == "", "the letter taken back")
    for host in hosts:
        assert screen.reasons(host)[0] == "granted_session", (host, screen.reasons(host))
    print(f"      {keys} keys for {len(hosts)} hosts of 14 domains", flush=True)
    assert keys <= 20, keys
    screen.close()


CASES = [vim, less, painted, counter, two_gates, painted_by_a_pipe, a_program, a_program_elsewhere, a_program_that_changes, painted_program, hostile, keys_are_not_the_commands, words_to_whoever_asked, look_alike, no_terminal_of_its_own, many_at_once, a_day, resized, tmux_window,
         tmux_window_is_closed, tmux_window_keys, tmux_cannot_be_reached, tmux_is_another, tmux_of_the_command,
         gate_dies,
         gate_dies_under_vim, gate_dies_at_a_question, gate_dies_at_a_plain_question]


def play(all_cases):
    """Runs the cases that the command line names, or all. Returns the exit status."""
    wanted, failed = sys.argv[2:], 0
    cases = [case for case in all_cases if not wanted or case.__name__ in wanted]
    for case in cases:
        world = World(sys.argv[1])
        started = time.monotonic()
        try:
            case(world)
            print(f"ok    {case.__name__} ({time.monotonic() - started:.1f} s)", flush=True)
        except Exception:  # noqa: BLE001: whatever it was, the next case is worth running
            failed += 1
            print(f"FAIL  {case.__name__}\n{traceback.format_exc()}", flush=True)
        finally:
            world.close(False)
    print(f"{len(cases) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    enter_namespace()
    sys.exit(play(CASES))
