#!/usr/bin/env python3
"""browser_many: many questions in order, and what happened as sums, as a chart and as a file; in a browser, large and small, light and dark.

usage: browser_many.py PAGE_STAGE [CASE…]"""
import csv
import json
import pathlib
import sys
import tempfile

from browser import must, wait_for
from browser_page import CONTRAST, main

LOOKS = (((1280, 900), False), ((1280, 900), True), ((390, 844), False), ((390, 844), True))
COUNTS = (1, 5, 50, 500)
SHOWN = 100  # the gate sends so many
ORDER = "return [...document.querySelectorAll('#list .question')].filter((node) => !node.hidden).map((node) => node.getAttribute('aria-label').split('//')[1])"
HEADS = "return [...document.querySelectorAll('#list .group')].map((node) => `${node.querySelector('h3').textContent}|${node.querySelector('.hint').textContent}`)"


def choose(page, css, value):
    page.run("""const node = document.querySelector(arguments[0]);
        node.value = arguments[1]; node.dispatchEvent(new Event(node.matches('select') ? 'change' : 'input'))""", css, value)


def ask(case, number):
    """Every fifth domain is the same; each third question is new, and some warn."""
    case.stage.ask(number, f"r{number}.domain-{number % 5}.test", domain=f"domain-{number % 5}.test", command=f"tool-{number % 3} run",
                   risk={0: 1, 7: 16}.get(number % 10, 0), warning="it warns" if number % 10 in (0, 7) else "", left_ms=600000 - 1000 * number)


def fits(page, what):
    must(page.run("return document.documentElement.scrollWidth <= innerWidth"), what, "is wider than the window")


def in_order(case):
    """Groups, a search and a sort, of 1, 5, 50 and 500 questions; what is not shown is not answered."""
    page = case.open().browser
    asked = 0
    for count in COUNTS:
        for number in range(asked, count):
            ask(case, number)
        asked, shown = count, min(count, SHOWN)
        wait_for(lambda: page.text("#count") == str(count), f"{count} questions")
        must(page.run("return document.querySelector('#tools').checkVisibility()") == (count > 1), count, "the search")
        choose(page, "#group", "domain")
        heads = page.run(HEADS)
        must(len(heads) == (5 if count > 1 else 0), count, heads)
        if count > 1:
            must(any(head.startswith("domain-0.test|NEW, ") for head in heads) and all(f"{shown // 5} question" in head for head in heads), heads)
        must(len(page.run(ORDER)) == shown, page.run(ORDER))
        for size, dark in LOOKS:
            page.look(*size, dark=dark)
            fits(page, f"{count} {size}")
            if count == 5:  # more questions have no other colours
                must((poor := page.run(CONTRAST)) == [], size, dark, poor[:5])
            case.picture(f"order-{count}-{size[0]}-{'dark' if dark else 'light'}")
        page.look()
    choose(page, "#group", "command")
    must([head.split("|")[0] for head in page.run(HEADS)] == ["tool-0 run", "tool-1 run", "tool-2 run"], page.run(HEADS))
    choose(page, "#group", "none")
    for order, first in (("oldest", "r0."), ("due", "r99."), ("warning", "r7."), ("name", "r0.")):
        choose(page, "#order", order)
        must(page.run(ORDER)[0].startswith(first), order, page.run(ORDER)[:3])
    choose(page, "#search", "domain-3")
    must(len(page.run(ORDER)) == 20 and page.text("#found") == "20 of 100 found; 400 more are not searched", page.text("#found"))
    page.run("document.querySelector('#pick').click()")
    page.rest()
    page.click("#pick-all")
    must(page.text("#picked").startswith("20 selected"), page.text("#picked"))
    page.press(["n"])
    for _ in range(20):
        must(case.stage.said().startswith("answer deny once"), "not the answer")
    must(case.stage.is_silent(0.3), "what was not shown is answered")
    wait_for(lambda: page.text("#count") == "480", "the others")
    must((said := page.console()) == [], said)


def a_group_is_answered(case):
    """The button of a group selects its questions; the list of what is answered comes as for every selection."""
    case.stage.do("tell")
    page = case.open().browser
    for number in range(10):
        ask(case, number)
    wait_for(lambda: len(page.find(".group")) == 5, "five groups")
    page.rest()
    page.click(".group button")
    must(page.text("#picked").startswith("2 selected"), page.text("#picked"))
    page.rest()
    page.press(["S"])
    wait_for(lambda: len(page.find("#confirm[open] li")) == 2, "what would be denied")
    wait_for(lambda: page.is_enabled("#confirm-yes"), "both to be seen")
    page.rest()
    page.click("#confirm-yes")
    for _ in range(2):
        must(case.stage.said().startswith("answer deny session"), "not the answer")


def new_ones_do_not_take_the_place(case):
    """A question that comes into the middle moves what is below it: for a moment nothing is answered, and what is typed stays where it is."""
    page = case.open().browser
    for number in range(4):
        ask(case, number)
    wait_for(lambda: len(page.find(".question")) == 4, "four")
    page.run("[...document.querySelectorAll('.question .opener')].at(-1).click()")
    wait_for(case.allow_is_on, "an allow")
    page.click(".open .more-words summary")
    page.type(".open .more-words input", "because")
    ask(case, 5)
    wait_for(lambda: len(page.find(".question")) == 5, "five")
    must(page.run(ORDER)[1].startswith("r5."), page.run(ORDER))
    must(page.run("return document.activeElement.value") == "because", "the focus is lost")
    case.stage.do("retract", id="7f3a-0", how="denied by ana on tty")
    page.run_async("""const done = arguments[0], wait = () => document.querySelectorAll('.question').length === 4
        ? (document.querySelector('.open .deny').click(), done()) : setTimeout(wait, 5); wait()""")
    must(case.stage.is_silent(0.3), "an answer was taken while the page moved")


def hear_a_day(case):
    for number in range(200):
        case.stage.do("hear", host=f"h{number % 7}.test", action="deny" if number % 4 == 0 else "allow", ago_s=4000 - 20 * number)
        case.stage.do("hear", host=f"h{number % 7}.test", up=1000, down=2048, ago_s=4000 - 20 * number)


def sums_and_chart(case):
    """The sums are of all destinations; the chart says the same in words and as a table, for any span of time in at most 60 bars."""
    page = case.open().browser
    case.stage.do("ledger", trips=150)
    hear_a_day(case)
    wait_for(lambda: "150" in page.text("#sums"), "the sums")
    sums = page.run("return [...document.querySelectorAll('#sums dd')].map((node) => node.textContent)")
    up, down = sum(1234 * i for i in range(150)), sum(98765 * i * i for i in range(150))
    must(sums[:4] == ["150", f"{3 * sum(range(150)):,}", "150", "75"] and sums[4].endswith(" MiB") and sums[5].endswith(" GiB"), sums, up, down)
    page.click("#tab-totals")
    must("Sum of all" in page.text("#panel-totals tfoot") and sums[5] in page.text("#panel-totals tfoot"), page.text("#panel-totals tfoot"))
    page.click("#tab-timeline")
    wait_for(lambda: "150 allowed" in page.text(".chart figcaption"), "the chart")
    must("50 denied" in page.text(".chart figcaption") and "195 KiB up" in page.text(".chart figcaption"), page.text(".chart figcaption"))
    bars = page.run("return [...document.querySelectorAll('.chart svg')].map((node) => node.querySelectorAll('rect').length)")
    must(all(0 < count <= 120 for count in bars), bars)
    rows = page.run("""document.querySelector('.chart details').open = true;
        return [...document.querySelectorAll('.chart tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))""")
    must(len(rows) <= 60 and sum(int(row[1]) for row in rows) == 150 and sum(int(row[2]) for row in rows) == 50, rows)
    times = page.run("return [...document.querySelectorAll('.axis span')].map((node) => node.textContent)")
    must(len(set(times)) == 3 and times[0] == rows[0][0], times, rows[0])
    for size, dark in LOOKS:
        page.look(*size, dark=dark)
        fits(page, f"the chart at {size}")
        must((poor := page.run(CONTRAST.replace("main *, header *", ".sums *, .chart > *, .chart tr:first-child *"))) == [], size, dark, poor[:5])
        page.run("document.querySelector('.chart').scrollIntoView({ block: 'start' })")
        case.picture(f"chart-{size[0]}-{'dark' if dark else 'light'}")
    page.look()
    must((said := page.console()) == [], said)


CUT = """
    const held = window.fetch;
    window.fetch = (path, how) => {
      if (path !== '/api/events')
        return held(path, how);
      const controller = new AbortController();
      window.cut = () => controller.abort();
      window.times = (window.times ?? 0) + 1;
      return held(path, { ...how, signal: controller.signal });
    }"""


def failed_is_not_denied(case):
    """A destination that was allowed and not reached is no denial: on the timeline, in the chart and in its table."""
    page = case.open().browser
    case.stage.do("hear", host="gone.test", action="deny", failed=1)
    case.stage.do("hear", host="denied.test", action="deny")
    wait_for(lambda: len(page.find("#panel-timeline .event")) == 2, "the timeline")
    must(page.text("#tab-denials") == "Denials1" and "gone.test" not in page.text("#panel-denials"), page.text("#panel-denials"))
    page.click("#tab-timeline")
    must("Failed: https://gone.test:443" in page.text("#panel-timeline") and "Denied: https://denied.test:443" in page.text("#panel-timeline"), page.text("#panel-timeline"))
    must("1 denied (below), 1 failed (not drawn)" in page.text(".chart figcaption"), page.text(".chart figcaption"))
    cells = page.run("""document.querySelector('.chart details').open = true;
        return [...document.querySelectorAll('.chart tbody tr')].map((row) => [...row.children].map((cell) => Number(cell.textContent) || 0))""")
    must([sum(row[at] for row in cells) for at in (1, 2, 3)] == [0, 1, 1], cells)
    must((said := page.console()) == [], said)


def nothing_is_told_twice(case):
    """A page that was not connected for a while is told all again: it counts nothing twice."""
    page = case.browser
    script = page.cdp("Page.addScriptToEvaluateOnNewDocument", source=CUT)["identifier"]
    try:
        case.open()
    finally:
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=script)
    case.stage.do("hear", host="denied.test", action="deny")
    wait_for(lambda: page.text("#tab-denials") == "Denials1", "the denial")
    page.run("window.cut()")
    wait_for(lambda: page.run("return window.times") == 2 and page.text("#link") == "Connected", "the page to come back")
    case.stage.do("hear", host="other.test", action="deny")
    wait_for(lambda: page.text("#tab-denials") == "Denials2", "the other denial")
    must(page.find("#panel-denials .badge:not([hidden])") == [], "it is counted twice:", page.text("#panel-denials"))
    must(len(page.find("#panel-timeline .event")) == 2, page.text("#panel-timeline"))
    page.click("#tab-timeline")
    must("2 denied" in page.text(".chart figcaption"), page.text(".chart figcaption"))


def is_saved(case):
    """What the page shows, as CSV and JSON; a cell is never a formula."""
    page = case.open().browser
    case.stage.do("ledger", live=3, grants=2, trips=150, because="=HYPERLINK(\"x\")")
    case.stage.do("hear", host="denied.test", action="deny", rule="team.policy:7: deny \"denied.test\"")
    ask(case, 1)
    wait_for(lambda: page.text("#tab-totals") == "Totals150" and page.text("#tab-grants") == "Grants2" and page.text("#tab-denials") == "Denials1" and page.find(".question"), "the ledger")
    with tempfile.TemporaryDirectory() as folder:
        page.cdp("Page.setDownloadBehavior", behavior="allow", downloadPath=folder)

        def saved(button, ending):
            page.click(button)
            file = wait_for(lambda: next(iter(pathlib.Path(folder).glob(f"*{ending}")), None), f"a file {ending}")
            return wait_for(file.read_text, f"what is in {file}")

        page.click("#tab-grants")
        rows = list(csv.DictReader(saved("#save-csv", "-grants.csv").splitlines()))
        must(len(rows) == 2 and rows[0]["text"] == "https://granted.test:443" and rows[0]["by"] == "'=HYPERLINK(\"x\")", rows)
        page.click("#tab-denials")
        rows = list(csv.DictReader(saved("#save-csv", "-denials.csv").splitlines()))
        must(len(rows) == 1 and rows[0]["to"] == "https://denied.test:443" and rows[0]["rule"].endswith("\"denied.test\""), rows)
        value = json.loads(saved("#save-json", "-all.json"))
        must(value["run"] == "7f3a" and len(value["questions"]) == 1 and len(value["totals"]["list"]) == SHOWN and value["totals"]["count"] == 150, value)
        must(value["denials"]["list"][0]["to"] == "https://denied.test:443" and value["timeline"]["count"] == 1, value)
    must((said := page.console()) == [], said)


def undone_at_once(case):
    """The notice of a remembered answer names it, and undoes it; not before it was there for a moment."""
    page = case.open().browser
    case.ask(2)
    must(not page.run("return document.querySelector('#said-undo').checkVisibility()"), "what this page has not seen is offered")
    case.stage.do("ledger", grants=3)
    case.stage.do("retract", id="7f3a-2", how="allowed for session by ana on tty")
    wait_for(lambda: page.run("const b = document.querySelector('#said-button'); return b.checkVisibility() && Boolean(b.offsetHeight)"), "the undo")
    page.run("document.querySelector('#said-button').click()")
    must("allow https://granted.test:443 for the session" in page.text("#said-answer"), page.text("#said"))
    page.rest()
    page.click("#said-button")
    must(case.stage.said() == "revoke 3", "not the last answer is undone")
    must(case.stage.is_silent(0.2), "the early press counted, too")
    page.look(320, 256)
    fits(page, "the notice")


def allowed_from_a_denial(case):
    """A denial leads to a question, with what would be allowed in words; only its answer allows. A stored denial, and one by a rule, do not."""
    page = case.open().browser
    case.stage.do("hear", host="rule.test", action="deny", rule='p:3: deny rule.test because "ask the team"', because="ask the team")
    case.stage.do("hear", host="missed.test", action="deny", missed=1)
    case.stage.do("hear", host="stored.test", action="deny", stored=1)
    wait_for(lambda: page.text("#tab-denials") == "Denials3", "the denials")
    page.click("#tab-denials")
    names = page.run("return [...document.querySelectorAll('#panel-denials button')].map((node) => node.getAttribute('aria-label'))")
    must(names == ["Allow https://stored.test:443: ask again", "Allow https://missed.test:443: ask again"], names)
    says = page.run("return [...document.querySelectorAll('#panel-denials .hint')].map((node) => node.textContent)")
    must(says == ["To be asked again, start a new session.", "To allow it always, add to a policy file: allow https://missed.test:443",
                  "To allow this destination, change the rule named here."], says)
    must(page.text("#panel-denials").count("ask the team") == 1, "a reason in the text of the rule is said once:", page.text("#panel-denials"))
    page.rest()
    page.click("#panel-denials li:nth-child(2) button")
    wait_for(lambda: "missed.test" in page.text(".question.open .target"), "the question, open")
    must(case.stage.is_silent(0.3), "it was allowed")
    must(page.run("return document.querySelector('.open .scopes input[value=session]').checked"), "for once is for nothing")
    wait_for(case.allow_is_on, "an allow")
    page.rest()
    page.click(".open .buttons .allow")
    must(case.stage.said().startswith("answer allow session"), "not the answer")
    # The command has ended: the gate says so, and a question that comes later is not opened for it.
    page.run("""const held = window.fetch;
        window.fetch = (path, how) => held(path, path === '/api/propose' ? { ...how, body: how.body.replace('"exec":0', '"exec":9') } : how)""")
    page.rest()
    page.click("#panel-denials li:nth-child(2) button")
    wait_for(lambda: "it has ended" in page.text("#said"), "the refusal")
    case.stage.ask(7, "seventh.test", domain="seventh.test")
    case.stage.ask(8, "missed.test", domain="missed.test")
    wait_for(lambda: len(page.find(".question")) == 2, "two questions")
    must(page.find(".question.open") == [] or "missed.test" not in page.text(".question.open .target"), "it is opened")
    page.click("#panel-denials li:nth-child(1) button")
    must("Forget that answer" in page.text("#said") and page.run("return document.querySelector('#panel-grants').checkVisibility()"), page.text("#said"))


def is_light(case):
    """The page's weight, and how long 500 questions take to be drawn: printed; the weight has a limit."""
    page = case.open().browser
    weight = page.run("return performance.getEntriesByType('resource').filter(({ name }) => /\\.(js|css)$/.test(name)).reduce((sum, one) => sum + one.decodedBodySize, 0)")
    must(0 < weight < 120000, "the page weighs", weight)
    for number in range(500):
        ask(case, number)
    wait_for(lambda: page.text("#count") == "500", "500")
    ms = page.run("""const begin = performance.now(), node = document.querySelector('#group');
        for (let times = 0; times < 10; times++) {
          node.value = times % 2 ? 'domain' : 'command';
          node.dispatchEvent(new Event('change'));
          document.querySelector('#list').getBoundingClientRect();
        }
        return (performance.now() - begin) / 10""")
    print(f"  {weight} bytes of scripts and style; another order of what is shown of 500 takes {ms:.0f} ms")


CASES = [in_order, a_group_is_answered, new_ones_do_not_take_the_place, sums_and_chart, failed_is_not_denied, nothing_is_told_twice, is_saved, undone_at_once,
         allowed_from_a_denial, is_light]

if __name__ == "__main__":
    sys.exit(main(CASES))
