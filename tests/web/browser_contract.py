#!/usr/bin/env python3
"""browser_contract: every key and every button of the page, in each of its states, compared with the stored answers of a real gate.

A real run asks, the real page stands in a real browser; the store is read where it is: what the control socket says became of the
question, the grants that it lists, the policy's file. What was on the screen is read word by word from where the browser drew it, in
the moment of the press. The page has a clock that the test moves past its guard, looks when the test says so, and has frames that are
not painted: where a word stands, and what covers it, is known before. But in one state, where what answers is pressed, clock and frames
are the browser's.

usage: browser_contract.py SALLYPORT WIDTH HEIGHT [STATE…]"""
import collections
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "flow"))

from browser import KEYS, Browser, Failed, is_possible, must
from scene import Scene
from world import World, enter_namespace

SKIP = 77
MEANT = "yesanESDqhptborAjk?"  # each alone; of all others together it is enough that none does anything
NAMED = {"Enter": KEYS["Enter"], "Space": " ", "Escape": KEYS["Escape"], "Tab": KEYS["Tab"], "Backspace": "\ue003", "Delete": "\ue017",
         "Insert": "\ue016", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Home": "\ue011", "End": "\ue010",
         "PageUp": "\ue00e", "PageDown": "\ue00f", "F2": "\ue032", "F8": "\ue038"}
ANSWER = ("n",)
SEND = ("n", NAMED["Enter"], NAMED["Space"])  # all other keys only choose
PRESSES = 8  # of these: what is brought into view by the first is answered by another
SENTENCES = {  # what the page says over an answer, and what the gate says became of it
    ("allow", "once"): "Allow once, for the connections that wait now", ("deny", "once"): "Deny once, for the connections that wait now",
    ("allow", "exec"): "Allow until the command ends", ("deny", "exec"): "Deny until the command ends",
    ("allow", "session"): "Allow for the session", ("deny", "session"): "Deny for the session",
    ("allow", "always"): "Allow always, by this line in your policy file", ("deny", "always"): "Deny always, by this line in your policy file",
}

# How each state comes about in a page with so many questions, that warn or not, and none of them open.
State = collections.namedtuple("State", "script questions warns is_real is_clicked", defaults=(1, False, False, False))  # is_clicked: only its buttons
TYPED = """
    open();
    const typed = one('.open .typed input');
    typed.value = one('.open .typed code').textContent;
    typed.dispatchEvent(new Event('input'));
    await read();"""
LIST = """
    pick();
    await until(() => !one('#several-allow').disabled, 'a button for several');
    await ready();
    one('#several-allow').click();
    await until(() => one('#confirm[open] li'), 'the list');
    await ready();"""
STATES = {
    "nothing-open": State("await ready()", 2),
    "once": State("open(); await read()"),
    "real-clock": State("open(); await read()", is_real=True),
    "exec": State("open('exec'); await read()"),
    "session": State("open('session'); await read()", 2),
    "always": State("open('always'); await read()"),
    "wide": State("""
        open('session');
        one('.open .widths').open = true;
        for (const input of all('.open [data-width]')) {
          if (input.type === 'checkbox')
            input.checked = true;
          else
            input.selectedIndex = 2;
        }
        one('.open [data-width]').dispatchEvent(new Event('change'));
        await read()"""),
    # The choice has changed, and its text is not back from the gate yet.
    "narrow": State("""
        open();
        await read();
        const held = window.fetch;
        window.fetch = (path, how) => path === '/api/text' ? new Promise(() => {}) : held(path, how);
        one('.open .scopes input[value=always]').click();
        document.activeElement.blur();
        window.fetch = held;
        await ready()"""),
    "warns": State("open(); await read()", warns=True),
    "typed": State(TYPED, warns=True),
    "typing": State(f"{TYPED}; typed.focus({{ preventScroll: true }})", warns=True),
    "words": State("""
        open();
        await read();
        one('.open .more-words').open = true;
        one('.open .more-words input').scrollIntoView({ block: 'center' });
        one('.open .more-words input').focus();
        await ready()"""),
    # The open question is scrolled out of the window.
    "away": State("open('session'); await read(); document.body.style.paddingBottom = '4000px'; scrollTo(0, 3000); await ready()"),
    "on-allow": State("open(); await read(); one('.open .allow').focus(); await ready()"),
    # The focus is on a button that is out of the window.
    "on-deny-away": State("""
        open('session');
        await read();
        document.body.style.paddingBottom = '4000px';
        one('.open .buttons .deny').focus();
        scrollTo(0, 3000);
        await ready()"""),
    "picking": State("pick(); await ready()", 3),
    "list": State(LIST, 6),
    "list-read": State(f"""{LIST}
        const list = one('#confirm-list'), yes = one('#confirm-yes');
        for (let times = 0; times < 60 && yes.disabled; times++) {{
          list.scrollTop = list.scrollTop + list.clientHeight >= list.scrollHeight - 1 ? 0 : list.scrollTop + list.clientHeight * 0.5;
          await looked();
        }}
        if (yes.disabled)
          throw new Error('the list cannot be read');
        yes.focus({{ preventScroll: true }});
        await ready()""", 6),
    # A letter was typed: Enter gives its answer.
    "letter": State("open(); await read(); await letter('a'); await read()"),
    "letter-once": State("open(); await read(); await letter('y'); await read()"),
    "letter-wide": State("""
        open('always');
        one('.open .widths').open = true;
        one('.open [data-width=domain]').click();
        await read();
        await letter('a');
        await read()"""),
    "letter-exec": State("open(); await read(); await letter('e'); await looked(); await ready()"),
    "letter-denies": State("open(); await read(); await letter('S'); await looked(); await ready()"),
    "letter-denies-exec": State("open(); await read(); await letter('E'); await looked(); await ready()"),
    "letter-denies-always": State("open(); await read(); await letter('D'); await looked(); await ready()"),
    "letter-stops": State("open(); await read(); await letter('q'); await read()"),
    "letter-warns": State("open(); await read(); await letter('s'); await read()", warns=True),
    "help": State("open(); await read(); one('#help').showModal(); await ready()"),
    # Two answers are remembered; the tab with them is open.
    "grants": State("""
        one('#tab-grants').click();
        await until(() => all('#panel-grants li').length === 2 && all('.question').length === 1, 'the grants');
        one('.undo').scrollIntoView({ block: 'center' });
        await ready()""", 3),
    # The same, with the notice that offers to undo the last one.
    "noticed": State("""
        await until(() => all('#panel-grants li').length === 2 && all('.question').length === 1, 'the grants');
        one('#said').classList.add('shown');
        await ready()""", 3, is_clicked=True),
    # Enough questions for groups and a search; one of them is open.
    "grouped": State("""
        await until(() => one('.group') && one('#tools').checkVisibility(), 'the groups');
        open('session');
        await read()""", 5, is_clicked=True),
}


def bare(text):
    return re.sub(r"\s", "", text)


def check_taken_back(store, remembered, sent, what):
    """Checks that the revoked answer was the one that the screen named."""
    before, left = sent["before"], [grant["text"] for grant in store.grants()]
    gone = [text for text in remembered if text not in left]
    must(len(gone) == 1, what, "not one was taken back:", gone, sent)
    must(any(bare(gone[0]) in text for text in [before["now"], *before["boxes"]]), what, "taken back", gone, "the screen said", before["boxes"], before["now"])


def check(scene, what, sent, remembered):
    """The sent answer stored the text that was on the screen. Returns it."""
    before = sent["before"]
    must(before, what, "it was sent, and nothing was pressed:", sent)
    if sent["path"] != "/api/answer":
        check_taken_back(scene.store, remembered, sent, what)
        return "back", sent["path"]
    action, scope, text = scene.store.became(sent["question"])
    said = f"{what}: stored {action} {scope} {text}; on the screen: {before['boxes']} {before['rows']} {before['now'][:1500]}"
    if scope == "abort":
        must(bare("Deny and stop the command") in before["now"] and before["name"], said)
        scene.gate.wait(60)
        scene.begin()
        return action, scope
    if (action, scope) == ("deny", "once"):
        return action, scope  # it stores nothing
    sentence = bare(SENTENCES[action, scope])
    if before["rows"]:
        must(sentence in "".join(before["boxes"]), said)
        must([text, True] in before["rows"], said)
        return action, scope
    must(any(box.startswith(sentence) and box[len(sentence):].startswith(bare(text)) and
             box[len(sentence) + len(bare(text)):] in ("", bare("Amounts limit an allow only; a denial has no amounts.")) for box in before["boxes"]), said)
    must(before["name"], "its destination was not read:", said)
    must(action == "deny" or before["warning"] in (None, True), "its warning was not read:", said)
    must(action == "deny" or before["typed"] in (None, True), "the domain to type was not read:", said)
    return action, scope


class Play:
    """One state of the page, and all its keys and buttons."""

    def __init__(self, scene, name):
        self.scene, self.name, self.state = scene, name, STATES[name]
        self.tried, self.answered, self.remembered = 0, [], []
        self.is_fresh = False

    def begin(self, act=None):
        """Creates the state again; returns what can be clicked in it."""
        scene, state = self.scene, self.state
        scene.clean(state.questions, state.warns)
        before = "await clean(given[0]);"
        if self.name in ("grants", "noticed"):
            scene.run(before, state.questions)
            for at, question in enumerate(list(scene.store.open)[:2]):
                scene.store.do("allow" if at else "deny", question=question, scope="session")
            self.remembered = [grant["text"] for grant in scene.store.grants()]
            before = "reset();"
        if act is None or act[-1] not in ANSWER:  # one press has to do, and what is said of the last answer would take it
            before += "one('#said').classList.remove('shown');"
        self.wanted, self.targets = scene.run(f"{before} {state.script}\n; return [arm(), targets()]", state.questions)
        self.is_fresh = True

    def press(self, acts):
        """Presses the keys one after the other, or clicks once. Returns the results."""
        kind, what, *place = acts[0]
        if kind == "click":
            self.scene.page.click_at(*place)
        else:
            self.scene.page.press([key for _, _, key in acts])
        found = self.scene.run("return await result()")
        names = f"{self.name} {self.scene.size} {kind} {' '.join(name for _, name, *_ in acts[:found['presses']])}"
        must(not found["closed"], names, "the page has an error:", found["closed"])
        must(not found["stray"], names, "was sent, and nothing was pressed:", found["stray"])
        must(kind == "click" or not found["sent"] or acts[max(found["presses"], 1) - 1][-1] in SEND, names, "answered by a key that gives no answer")
        self.tried += found["presses"]
        # The state is as new when nothing was done. What comes late is seen by the next press, which is then not taken.
        self.is_fresh = not found["isOver"] and not found["isEarly"] and not found["sent"] and found["state"] == self.wanted
        for sent in found["sent"]:
            self.answered.append(check(self.scene, names, sent, self.remembered))
        return found

    def act(self, acts):
        """Counts how many of @acts took place: the first that changes something ends the state, and one that is too late or too early does not count."""
        for _ in range(10):
            if not self.is_fresh:
                self.begin(acts[0])
            else:
                self.scene.run("arm()")
            if acts[0][0] == "click":
                at = {name: place for name, *place in self.targets}
                if acts[0][1] not in at:
                    return 1  # its place has another by now; that one has its own turn
                acts = [("click", acts[0][1], *at[acts[0][1]])]
            found = self.press(acts)
            if found["presses"] > 0 and (not found["isEarly"] or acts[0][-1] in ANSWER):
                break
        must(found["presses"] > 0, self.name, self.scene.size, "does not stand still")
        for _ in range(PRESSES - 1 if acts[0][-1] in ANSWER else 0):
            if found["sent"]:
                break
            self.scene.run("await ready(); arm()")
            found = self.press(acts)
        return found["presses"]

    def all(self):
        self.begin()
        if self.state.is_real:
            return self.all_that_answer()
        if self.state.is_clicked:
            return self.click_all()
        # Those with names come first: Enter, in a field with the domain that was typed, before anything else is typed into it.
        for act in [("key", name, key) for name, key in [*NAMED.items(), *((key, key) for key in MEANT)]]:
            self.act([act])
        others = [("key", chr(code), chr(code)) for code in range(0x21, 0x7f) if chr(code) not in MEANT]
        while others:
            others = others[self.act(others):]
        self.click_all()

    def click_all(self):
        # What a tab does, and a button that saves what is shown, is the same whatever is asked.
        for name, *_ in self.targets:
            if self.name in ("once", "grants") or not ("tab-" in name or "save-" in name):
                self.act([("click", name)])

    def all_that_answer(self):
        for act in [("key", key, key) for key in "n"] + [("key", name, NAMED[name]) for name in ("Enter", "Space")]:
            self.act([act])
        for name, *_ in self.targets:
            if name.startswith(("BUTTON deny", "BUTTON allow", "BUTTON quiet end")):
                self.act([("click", name)])


def main():
    if len(sys.argv) < 4:
        sys.exit(f"usage: {sys.argv[0]} SALLYPORT WIDTH HEIGHT [STATE…]")
    if why := is_possible():
        print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return SKIP
    enter_namespace()
    size, only = (int(sys.argv[2]), int(sys.argv[3])), sys.argv[4:]
    passed = failed = 0
    stored = set()
    world = World(sys.argv[1])
    try:
        with Browser() as page:
            scene = Scene(world, page, size)
            for name, state in STATES.items():
                if only and name not in only:
                    continue
                try:
                    since = time.monotonic()
                    scene.clock(state.is_real)
                    play = Play(scene, name)
                    play.all()
                    must(play.answered or not state.is_real, "nothing was answered")
                    passed += 1
                    stored |= set(play.answered)
                    print(f"passed {name}: {play.tried} keys and clicks, {len(play.answered)} answers {sorted(set(play.answered))}, {time.monotonic() - since:.0f} s", flush=True)
                except (Failed, AssertionError, OSError, ValueError) as reason:
                    failed += 1
                    print(f"failed {name}: {reason}", flush=True)
                    scene.renew()
            # A page that answers nothing would keep every promise.
            if missing := [] if only else sorted(set(SENTENCES) - stored):
                failed += 1
                print(f"failed to store at all: {missing}")
            live = scene.url.split("#")[0]  # the runs before have ended: they refuse connections, and have reset those that were open
            ended = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET")
            complaints = [line for line in page.console() if line.startswith("http://127.0.0.1") and "409" not in line and "/api/events" not in line
                          and (line.startswith(live) or not any(word in line for word in ended))]
            if complaints:
                failed += 1
                print(f"failed console: {complaints}")
    finally:
        world.close(False)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
