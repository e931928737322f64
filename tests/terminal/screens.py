#!/usr/bin/env python3
"""screens: questions over whatever a command has on its screen. The question is whole and readable, what is typed is its
answer and not the command's, and then the command's screen is as it was.

usage: screens.py SALLYPORT [CASE...]"""
import os
import pathlib
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "flow"))

from screen import LABEL, ROWS, Screen, until  # noqa: E402
from world import World, descendants, enter_namespace, processes  # noqa: E402

# The question comes once the test has seen the screen that it comes over.
ASK = "(while [ ! -e go ]; do sleep 0.05; done; curl -sS -o asked http://a.test/ 2>asked.err; touch done) & "
SHOWN = ("sallyport   http://a.test:80", "  warning   never allowed before", "  asked by  ", "  waiting   1 connection", "  [y] once  [e] this command",
         "  [n] no  [E] not for this command", "  would be  http://a.test:80", f"  {LABEL}")


def lines_file(world):
    """More than a screen of numbered lines, to be looked at."""
    (world.work / "lines").write_text("".join(f"line {i} of the file\n" for i in range(1, 200)))


def start_question(screen):
    (screen.world.work / "go").touch()
    screen.shows("http://a.test:80")
    screen.shows(LABEL)


def must_be_whole(screen):
    """Every line of the question, in its order, and nothing of others between them."""
    text = screen.text().splitlines()
    at = next((i for i, line in enumerate(text) if line.startswith(SHOWN[0])), None)
    assert at is not None, "\n".join(text)
    shown = [line for line in text[at:] if line.strip()]
    found = [i for part in SHOWN for i, line in enumerate(shown) if line.startswith(part)]
    assert found == sorted(found) and len(found) == len(SHOWN), "not whole:\n" + "\n".join(text)
    assert shown[-1].startswith(f"  {LABEL}"), "below the question:\n" + "\n".join(text)


def must_be_answered(screen, letter="y", reason="granted_once"):
    screen.answer(letter, "a.test" if letter in "yesa" else None)
    until(lambda: reason in screen.reasons("a.test"), 20, f"no record says {reason}: {screen.reasons('a.test')}")


def over(world, name, command, ready, keys, rows=ROWS):
    """A question over @command, from which the screen comes back as it was. Returns it, with the command running on."""
    screen = Screen(world, name, ASK + command, rows=rows)
    screen.shows(ready)
    screen.press(*keys)
    time.sleep(0.3)
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
                  "line 50 of the file", [("C-l",)])  # its message is there only once
    screen.press("ihello ", ("Escape",))
    screen.shows("hello line 50 of the file")
    screen.press(":q!", ("Enter",))
    assert screen.ends() == 0
    screen.close()


def less(world):
    lines_file(world)
    screen = over(world, "less", "exec less -S lines", "line 1 of the file", "jk")  # its prompt is the name only once
    screen.press("G")
    screen.shows("line 199 of the file")
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def painted(world):
    """On its main screen, with everything set that a question has to unset: where it wrote, it writes on."""
    command = r"""
        stty -echo; i=1; while [ $i -lt 25 ]; do echo "row $i of the table"; i=$((i+1)); done
        printf '\033[3;20r\033[?25l\033[4h\033[?7l\033(0\033[1;33m\033[12;30Hqqq'
        echo ready >painted; while [ ! -e done ]; do sleep 0.05; done
        printf 'lqk\033(B!'; touch written; exec sleep 100"""
    screen = Screen(world, "painted", ASK + command)
    screen.shows("qqq")  # lines, in another character set
    time.sleep(0.3)
    before, state = screen.text(styles=True), screen.state()
    start_question(screen)
    must_be_whole(screen)
    assert screen.state()["cursor_flag"] == "1" and "row 1 of" not in screen.text()
    must_be_answered(screen)
    until((world.work / "written").exists, 20, "the command does not go on")
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
    """Prints on and on: held meanwhile, and no number is lost, doubled or out of order."""
    screen = Screen(world, "counter", ASK + "i=1; while [ $i -le 60 ]; do echo number $i; i=$((i+1)); sleep 0.05; done")
    screen.shows("number 5")
    start_question(screen)
    must_be_whole(screen)
    held = screen.text()
    time.sleep(1)
    assert screen.text() == held, "the command writes under the question"
    must_be_answered(screen)
    assert screen.ends() == 0
    text = screen.tmux("capture-pane", "-p", "-S", "-")
    numbers = [int(line.split()[1]) for line in text.splitlines() if line.startswith("number ")]
    assert numbers == list(range(1, 61)), numbers
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
    if os.path.exists("done"):
        break
os.write(out, b"\x1bc\x1b[?1049l\x1b[2J\x1b[Hthe end\r\n")
time.sleep(100)
"""


def hostile(world):
    """Writes sequences without end: the question is whole, stays so, and nothing the terminal reports answers it."""
    (world.work / "hostile.py").write_text(HOSTILE)
    screen = Screen(world, "hostile", ASK + "exec python3 hostile.py 60")
    time.sleep(1.5)
    start_question(screen)
    for _ in range(20):
        must_be_whole(screen)
        time.sleep(0.1)
    assert "good.test" not in screen.text() and not screen.reasons("a.test"), screen.text()
    must_be_answered(screen)
    screen.shows("the end")
    assert screen.reasons("good.test") == []
    screen.close()


def keys_are_not_the_commands(world):
    """What is typed at the question is not read by the command, and what is typed after it is."""
    command = "stty raw -echo; printf '\\033[2;2Hraw and waiting'; dd bs=1 count=1 of=typed 2>/dev/null; stty sane; exit 3"
    screen = Screen(world, "keys", ASK + command)
    screen.shows("raw and waiting")
    start_question(screen)
    screen.press("zzz", ("Enter",))
    time.sleep(1)
    assert not screen.reasons("a.test")
    must_be_answered(screen, "n", "denied_once")
    screen.shows("raw and waiting")
    assert not (world.work / "typed").exists() or (world.work / "typed").read_bytes() == b"", "the command read an answer"
    screen.press("k")
    assert screen.ends() == 3
    assert (world.work / "typed").read_bytes() == b"k"
    screen.close()


def words_to_whoever_asked(world):
    """Typed at the question and shown on it; the command that waited reads them, and none of their letters answers."""
    screen = Screen(world, "words", ASK + "wait; cat asked; exit 3")
    start_question(screen)
    time.sleep(0.8)
    screen.press("r")
    screen.shows("  words, then Enter:")
    screen.press("nessD")
    screen.press(("Escape",))
    screen.shows(LABEL)
    screen.press("r", "sorry: \u00ddou, use the mirror", ("BSpace",), "r", ("Enter",))
    screen.shows("  words     sorry: ou, use the mirror")
    assert not screen.reasons("a.test"), screen.records()
    screen.press("n", ("Enter",))
    screen.shows("sorry: ou, use the mirror\n")
    assert screen.ends() == 3 and screen.reasons("a.test") == ["denied_once"], screen.records()
    screen.close()


def no_terminal_of_its_own(world):
    """All three streams are elsewhere; the question comes to the controlling terminal all the same."""
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
    """One list, to be ticked, over a full-screen program; each is answered as itself."""
    lines_file(world)
    asks = "".join(f"(while [ ! -e go ]; do sleep 0.05; done; curl -sS -o /dev/null http://h{i}.d{i % 2}.test/) & " for i in range(6))
    screen = Screen(world, "many", asks + "exec less -S lines 2>/dev/null")
    screen.shows("line 1 of the file")
    screen.press("jk")
    time.sleep(0.3)
    before = screen.text()
    (world.work / "go").touch()
    screen.shows("sallyport   6 questions wait")
    screen.shows(LABEL)
    time.sleep(0.8)
    screen.press("1", " ", "5", " ")
    screen.shows("ticked    2 of 6")
    ticked = [line.split("] ")[1].split()[0] for line in screen.text().splitlines() if "[x]" in line]
    assert len(ticked) == 2, screen.text()
    screen.press("s", ("Enter",))
    for _ in range(2):
        screen.shows("  type      d")
        screen.press(screen.line("  type      d").split()[1], ("Enter",))
        time.sleep(0.3)
    screen.shows("sallyport   4 questions wait")
    time.sleep(0.8)
    screen.press(*(f"{number} " for number in (1, 2, 3, 4)), "n", ("Enter",))
    screen.becomes(before)
    granted = {r["host"] for r in screen.records() if r.get("reason") == "granted_session"}
    denied = {r["host"] for r in screen.records() if r.get("reason") == "denied_once"}
    assert granted == {t.split("//")[1].rsplit(":", 1)[0] for t in ticked}, (granted, ticked)
    assert len(denied) == 4 and not granted & denied, denied
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def resized(world):
    """The window changes while the question is open: it is drawn again, and the program has the new size after."""
    lines_file(world)
    screen = Screen(world, "resized", ASK + "exec less -S lines")
    screen.shows("line 1 of the file")
    start_question(screen)
    screen.tmux("resize-window", "-x", "70", "-y", "20")
    time.sleep(0.5)
    must_be_answered(screen)
    screen.shows("line 19 of the file")
    screen.shows_no_more("line 20 of the file")
    screen.press("q")
    assert screen.ends() == 0
    screen.close()


def tmux_window(world):
    """Inside tmux, with somebody there: a window over the program, which is not stopped, and none of its keys are the pane's."""
    lines_file(world)
    command = "(while sleep 0.1; do date +%s%N >beat; done) & exec vim -u NONE -i NONE -N -n --cmd 'set ttyfast laststatus=2' lines"
    screen = Screen(world, "window", ASK + command)
    screen.shows("line 1 of the file")
    viewer = screen.attach()
    viewer.shows("line 1 of the file")
    screen.press(("C-l",))
    time.sleep(0.3)
    before, seen = screen.text(), viewer.text()
    (world.work / "go").touch()
    viewer.shows("│sallyport   http://a.test:80")
    viewer.shows(LABEL)
    assert screen.text() == before, "the pane has changed"
    viewer.press("y")  # into the guard
    time.sleep(0.8)
    viewer.press("s", ("Enter",))
    viewer.shows("type      a.test")
    beat = (world.work / "beat").read_text()
    until(lambda: (world.work / "beat").read_text() != beat, 10, "the command was stopped")
    viewer.press("a.test", ("Enter",))
    until(lambda: "granted_session" in screen.reasons("a.test"), 20, screen.records)
    viewer.becomes(seen)
    assert screen.text() == before, "the pane has changed"
    viewer.press(":q!", ("Enter",))
    assert screen.ends() == 0
    viewer.close()
    screen.close()


def tmux_window_is_closed(world):
    """Closing the window answers nothing: the question goes to the terminal behind it."""
    lines_file(world)
    screen = Screen(world, "closed", ASK + "exec less -S lines")
    screen.shows("line 1 of the file")
    viewer = screen.attach()
    (world.work / "go").touch()
    viewer.shows("│sallyport   http://a.test:80")
    viewer.shows(LABEL)
    assert LABEL not in screen.text()
    time.sleep(0.8)
    viewer.press("r", "yes, for")
    viewer.shows("words, then Enter: yes, for")
    screen.tmux("display-popup", "-C")
    screen.shows(LABEL)
    must_be_whole(screen)
    screen.shows("goes nowhere until Enter")
    time.sleep(0.8)
    screen.press(" this session", ("Enter",))
    screen.shows_no_more("goes nowhere until Enter")
    assert not screen.reasons("a.test")
    must_be_answered(screen, "n", "denied_once")
    screen.shows("line 1 of the file")
    screen.press("q")
    assert screen.ends() == 0
    viewer.close()
    screen.close()


def tmux_cannot_be_reached(world):
    """From inside, even where its socket lies in the working directory: no word of it, and no way to type into a pane."""
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
    """Whatever answers in tmux's place: the question comes to the terminal, and nothing else has answered it."""
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


def parent_is_gone(pid):
    """It is a gate's leftover, which came to us."""
    return processes().get(pid, (0,))[0] == os.getpid() and b"if-shell" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def has_keeper(gate):
    """It comes some milliseconds after the terminal is raw, and has been told once the gate sleeps again."""
    known = processes()
    return any(parent == gate and name == "sallyport-tty" for parent, name, _ in known.values()) and known[gate][2] == "S"


def killed(world, name, script, shown, redirect="", question=False):
    """The gate dies at once, with the terminal in its hands: it is given back all the same."""
    screen = Screen(world, name, script, redirect=redirect)
    screen.shows(shown)
    if question:
        start_question(screen)
    before = screen.attributes()
    assert " -icanon" in before, before
    gate = screen.gate()
    until(lambda: has_keeper(gate), 10, "no keeper")
    os.kill(gate, signal.SIGKILL)
    until(lambda: " icanon" in screen.attributes() and " echo " in screen.attributes(), 10, screen.attributes)
    assert screen.ends() == 128 + signal.SIGKILL
    until(lambda: not [name for name in descendants(int(screen.pane)).values() if name.startswith("sallyport")], 10,
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


CASES = [vim, less, painted, counter, hostile, keys_are_not_the_commands, words_to_whoever_asked, no_terminal_of_its_own, many_at_once, resized, tmux_window,
         tmux_window_is_closed, tmux_cannot_be_reached, tmux_is_another,
         gate_dies,
         gate_dies_under_vim, gate_dies_at_a_question, gate_dies_at_a_plain_question]


def play(all_cases):
    """Those that the command line names, or all. The exit status."""
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
