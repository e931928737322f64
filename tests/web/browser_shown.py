#!/usr/bin/env python3
"""browser_shown: only visible questions are answered, and errors of the page are shown; in a browser, at every size.

usage: browser_shown.py PAGE_STAGE [CASE…]"""
import sys

from browser import must, wait_for
from browser_page import main, read_the_list

SIZES = ((1280, 900), (390, 844), (640, 360), (320, 256))
LONG = " ".join(f"word-{number}" for number in range(120))
IN_VIEW = """
    const node = document.querySelector(arguments[0]), at = node.getBoundingClientRect(), top = document.querySelector('.bar').getBoundingClientRect().bottom;
    return at.bottom > top && at.top < innerHeight;"""


def press_until_said(case, key):
    """Answers as a person who reads the text that is scrolled into view: the number of presses, and the messages. n denies; another
    letter chooses an answer, and Enter gives it."""
    if key != "n":
        case.browser.press([key])
        wait_for(lambda: case.browser.run("return document.activeElement.matches('.open .buttons button')"), "the button of the answer")
        key = "Enter"
    for times in range(1, 12):
        case.browser.rest()
        case.browser.press([key])
        if not case.stage.is_silent(0.15):
            return times
    must(False, "never answered:", case.browser.text(".open .wrong"), case.browser.text("#said"))


def out_of_view(case):
    """A key does not answer a question that was scrolled away, and scrolls back to it."""
    case.open().ask()
    page = case.browser
    for size in SIZES:
        page.look(*size)
        page.run("document.querySelector('#list').style.paddingBottom = '3000px'")
        for key in "yn":
            wait_for(case.allow_is_on, "an allow")
            page.run("scrollTo(0, 100000)")
            page.rest()
            must(not page.run(IN_VIEW, ".open .allow-text"), size, "it is in view")
            page.press([key])
            must(case.stage.is_silent(0.3), size, key, "answered what is not on the screen")
            must(page.run(IN_VIEW, ".open"), size, key, "it is not brought back")
            press_until_said(case, key)
            wait_for(lambda: not page.find(".question"), "the question to go")
            page.run("scrollTo(0, 0)")
            case.ask(2)


def a_long_warning_is_read(case):
    """However small the window: an allow with a warning waits until the whole warning was visible."""
    page = case.open().browser
    for number, size in enumerate(SIZES):
        page.look(*size)
        page.run("scrollTo(0, 0)")
        case.ask(number, risk=16, warning=LONG)
        page.type(".open .typed input", "example.test")
        page.run("document.activeElement.blur()")
        times = press_until_said(case, "y")
        must(times > 1 or size[1] > 800, size, "a warning that has no room was allowed unread")
        wait_for(lambda: not page.find(".question"), "the question to go")


def what_is_said_makes_room(case):
    """A notice that covers much of a small window does not prevent the next question from being read and answered."""
    page = case.open().browser
    page.run("const held = window.setTimeout; window.setTimeout = (then, ms, ...more) => ms === 6000 ? 0 : held(then, ms, ...more)")
    for number, size in enumerate(SIZES):
        page.look(*size)
        page.run("""const said = document.querySelector('#said');
            document.querySelector('#said-text').textContent = arguments[0]; said.classList.add('shown'); scrollTo(0, 0)""", LONG[:400])
        case.ask(number)
        wait_for(case.allow_is_on, "an allow")
        press_until_said(case, "y")
        wait_for(lambda: not page.find(".question"), "the question to go")


def all_that_has_room_is_read(case):
    """Text just below the visible part is scrolled into view, and not under the bar."""
    page = case.open().browser
    for number, size in enumerate(SIZES):
        page.look(*size)
        case.ask(number)
        page.run("""
            const bar = document.querySelector('.bar'), top = getComputedStyle(bar).position === 'sticky' ? bar.getBoundingClientRect().height : 0;
            document.querySelector('.open .allow-text').style.height = `${innerHeight - top - 4}px`""")
        wait_for(case.allow_is_on, "an allow")
        press_until_said(case, "y")
        wait_for(lambda: not page.find(".question"), "the question to go")


def begins_to_warn(case):
    """An open question that changes is drawn again, has to be read again, and its domain has to be typed again; the page has no error."""
    case.open().ask(program="/usr/bin/node")
    page = case.browser
    page.press(["s"])
    wait_for(case.allow_is_on, "an allow")
    page.rest()
    case.stage.do("change", id="7f3a-1", risk=2, warning="looks like another name")
    wait_for(lambda: "looks like another name" in page.text(".open .warning"), "the warning")
    must(not case.allow_is_on(), "it can be allowed without its domain")
    page.rest()
    page.run("document.activeElement.blur()")
    page.press(["s"])
    must(case.stage.is_silent(), "it was allowed")
    wait_for(lambda: page.run("return document.activeElement.matches('.open .typed input')"), "the place to type its domain")
    page.press(list("example.test"))
    wait_for(case.allow_is_on, "an allow of what was typed")
    case.stage.do("change", id="7f3a-1", risk=6, warning="another warning")
    wait_for(lambda: "another warning" in page.text(".open .warning"), "the other warning")
    must(not case.allow_is_on(), "what was typed counts for another warning")
    page.type(".open .typed input", "example.test")
    wait_for(case.allow_is_on, "an allow of what was typed")
    page.rest()
    page.press(["Enter"])
    said = case.stage.said()
    must(said.startswith("answer allow session"), said)
    must(page.console() == [], page.console())


def moves_at_the_last_moment(case):
    """A change that moves the buttons down as they are pressed."""
    case.open().ask()
    page = case.browser
    wait_for(case.allow_is_on, "an allow")
    page.rest()
    page.run("document.querySelector('.open .facts').prepend('one more line'); document.querySelector('.open .allow').click()")
    must(case.stage.is_silent(), "an answer was taken as it moved")
    must(page.text(".open .wrong") != "", "nothing is said")
    page.rest()
    page.click(".open .buttons .allow")
    must(case.stage.said().startswith("answer allow once"), "and afterwards none")


def something_lies_over_it(case):
    case.open().ask()
    page = case.browser
    wait_for(case.allow_is_on, "an allow")
    page.run("""const over = document.createElement('div'); over.id = 'over';
        over.style.cssText = 'position: fixed; inset: 0; background: white; z-index: 9'; document.body.append(over)""")
    page.rest()
    page.press(["y", "Enter", "n"])
    must(case.stage.is_silent(), "what is covered was answered")
    page.run("document.querySelector('#over').remove()")
    press_until_said(case, "n")


def what_stands_there_is_given(case):
    """If the choice, or the text in the box, changes without the page, nothing is answered."""
    case.open().ask()
    page = case.browser
    page.press(["s"])
    wait_for(case.allow_is_on, "an allow")
    for change in ("document.querySelector('.open [data-width=domain]').checked = true",
                   "document.querySelector('.open .allow-text code').textContent = 'https://other.test:443'",
                   "document.querySelector('.open .allow-text .label').textContent = 'Allow once, for the connections that wait now'"):
        page.run(change)
        page.rest()
        page.press(["Enter"])
        must(case.stage.is_silent(0.3), "answered after", change)
        page.run("document.querySelector('.open [data-width=domain]').checked = false")
        page.press(["e", "s"])
        wait_for(case.allow_is_on, "an allow")


def not_connected(case):
    """The gate is gone, or not back yet: the questions on the page may be closed."""
    case.open().ask()
    page = case.browser
    wait_for(case.allow_is_on, "an allow")
    page.run("""window.sent = []; window.held = window.fetch;
        window.fetch = (path, ...rest) => (window.sent.push(path), path === '/api/events' ? new Promise(() => {}) : window.held(path, ...rest))""")
    page.run_async("""const done = arguments[0]; import('/shown.js').then(() => {
        const main = document.querySelector('#main'); main.inert = true; done(); })""")
    case.stage.process.kill()
    case.stage.process.wait()
    wait_for(lambda: page.run("return document.querySelector('#link').dataset.state") != "open", "the loss to be seen")
    page.rest()
    page.press(["n", "y", "Enter"])
    must("/api/answer" not in page.run("return window.sent"), "answered while it was not connected")


def says_its_errors(case):
    """An error of the page's script: it says so, shows no question, and answers nothing any more."""
    for kind in ("setTimeout(() => { throw new Error('broken on purpose') })", "window.fetch = () => Promise.resolve({}); document.querySelector('.open input[value=session]').click()"):
        case.open().ask(1)
        page = case.browser
        wait_for(case.allow_is_on, "an allow")
        case.browser.rest()
        page.run("window.sent = []; window.held = window.fetch; window.fetch = (path, ...rest) => (window.sent.push(path), window.held(path, ...rest))")
        page.run(kind)
        wait_for(lambda: "cannot answer" in page.text("#closed-title"), "the page to say it")
        must("The error:" in page.text("#closed-text"), page.text("#closed-text"))
        must(page.run("return !document.querySelector('#main').checkVisibility()"), "questions are shown")
        page.press(list("nysaSD"))
        page.run("document.querySelector('.open .deny').click(); document.querySelector('.open .allow').click()")
        must(case.stage.is_silent() and page.run("return window.sent") == [], "it asked for", page.run("return window.sent"))
        page.console()
        page.open("about:blank")
        must(case.stage.said() == "left", "it stays")
        case.stage.do("retract", id="7f3a-1", how="")


def an_event_it_cannot_read(case):
    """A malformed list of questions is an error of the page, not a lost connection."""
    case.open()
    page = case.browser
    page.run("document.querySelector('#list').remove()")
    case.stage.ask(1, "files.example.test", domain="example.test")
    wait_for(lambda: "cannot answer" in page.text("#closed-title"), "the page to say it")
    page.console()


def a_script_that_does_not_come(case):
    page = case.browser
    page.cdp("Network.enable")
    page.cdp("Network.setBlockedURLs", urls=["*/card.js"])
    try:
        page.open(case.stage.url)
        wait_for(lambda: "could not be loaded" in page.run("return document.querySelector('#closed').innerText"), "words on the page")
    finally:
        page.cdp("Network.setBlockedURLs", urls=[])
    page.console()


def a_list_is_read(case):
    """At every size: the list that is allowed, or denied for longer than once, was on the screen, row by row."""
    case.stage.do("tell")
    page = case.open().browser
    for size in SIZES:
        page.look(*size)
        for number in range(12):
            case.stage.ask(number, f"r{number}.example.test", domain="example.test")
        wait_for(lambda: len(page.find(".question")) == 12, "twelve")
        page.run("document.querySelector('#pick').click()")
        page.rest()
        page.run("document.querySelector('#pick-all').click(); document.querySelector('#several-scope').value = 'session'; document.querySelector('#several-allow').click()")
        wait_for(lambda: len(page.find("#confirm[open] li")) == 12, "the list")
        must(page.run("return Math.max(innerWidth, document.documentElement.scrollWidth) <= arguments[0]", size[0]), size, "is wider than the window")
        page.rest()
        if size[1] < 400:
            must(not page.is_enabled("#confirm-yes"), size, "rows that were not on the screen can be allowed")
        page.run("document.querySelector('#confirm-yes').click()") if size[1] < 400 else None
        must(case.stage.is_silent(0.3), size, "answered unread")
        read_the_list(page)
        page.rest()
        page.click("#confirm-yes")
        for _ in range(12):
            must(case.stage.said().startswith("answer allow session"), "not the answer")
        wait_for(lambda: not page.find(".question"), "the rest")


def a_denial_is_one_step(case):
    """All open questions, also those with a warning, are denied for once without reading them: nothing is stored."""
    page = case.open().browser
    for number in range(40):
        case.stage.ask(number, f"r{number}.example.test", domain="example.test", risk=16 * (number % 2))
    wait_for(lambda: len(page.find(".question")) == 40, "forty")
    page.click("#pick")
    page.rest()
    page.click("#pick-all")
    must(page.text("#picked").startswith("40 selected"), page.text("#picked"))
    page.press(["n"])
    for _ in range(40):
        must(case.stage.said().startswith("answer deny once"), "not the answer")


HOSTS = """
    // The words of each host, and the lines that they stand on: none is cut inside.
    const cut = [];
    for (const node of document.querySelectorAll(arguments[0])) {
      const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
      for (let text; (text = walker.nextNode());) {
        for (const word of text.data.matchAll(/[a-z0-9-]{2,30}/g)) {
          const range = document.createRange();
          range.setStart(text, word.index);
          range.setEnd(text, word.index + word[0].length);
          if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1)
            cut.push(`${word[0]} of ${node.textContent}`);
        }
      }
    }
    return cut"""


def many(case):
    """One, five, fifty and five hundred: the page says how many, is no wider than the window, and cuts no word of a host."""
    page = case.open().browser
    case.stage.do("ledger", live=3, grants=4, trips=8, because="ana on tty")
    asked = 0
    for count in (1, 5, 50, 500):
        for number in range(asked, count):
            case.stage.ask(number, f"registry-{number}.a-long-word.look.test", domain="look.test", risk=number % 3, command="npm ci")
        asked = count
        wait_for(lambda: page.text("#count") == str(count), f"{count} questions")
        must(len(page.find(".question")) == min(count, 100), len(page.find(".question")))
        must((f"{count - 100} more" in page.text("#more")) == (count > 100), page.text("#more"))
        for size in SIZES:
            page.look(*size)
            must(page.run("return Math.max(innerWidth, document.documentElement.scrollWidth) <= arguments[0]", size[0]), count, size, "is wider than the window")
            must(page.run(HOSTS, ".target") == [], count, size, page.run(HOSTS, ".target")[:3])
            for tab in ("live", "grants", "totals"):
                page.run("document.querySelector(`#tab-${arguments[0]}`).click()", tab)
                must(page.run(HOSTS, "#panels .to") == [], count, size, tab, page.run(HOSTS, "#panels .to")[:3])
        page.look()
        case.picture(f"many-{count}")
    page.press(["j"])
    must(press_until_said(case, "n") <= 3, "it takes long")
    wait_for(lambda: page.text("#count") == "499", "one less")


def levels(case):
    """A warning has its own colour and a word."""
    page = case.open().browser
    seen = {}
    for number, (risk, word) in enumerate(((1, "New"), (4, "Careful"), (8, "Careful"), (2, "Danger"), (16, "Danger"), (9, "Careful"), (31, "Danger"))):
        case.ask(number, risk=risk, warning="it warns")
        must(page.text(".open .warning strong") == word, risk, page.text(".open .warning"))
        must(page.text(".question .badge").strip() != "", risk, "no word at the destination")
        seen.setdefault(word, set()).add(page.run("return getComputedStyle(document.querySelector('.open .warning')).backgroundColor"))
        case.stage.do("retract", id=f"7f3a-{number}", how="")
        wait_for(lambda: not page.find(".question"), "it to go")
    must(all(len(colours) == 1 for colours in seen.values()) and len({min(colours) for colours in seen.values()}) == 3, seen)


CASES = [out_of_view, a_long_warning_is_read, what_is_said_makes_room, all_that_has_room_is_read, begins_to_warn,
         moves_at_the_last_moment, something_lies_over_it, what_stands_there_is_given, not_connected, says_its_errors, an_event_it_cannot_read,
         a_script_that_does_not_come, a_list_is_read, a_denial_is_one_step, many, levels]

if __name__ == "__main__":
    sys.exit(main(CASES))
