#!/usr/bin/env python3
"""browser_agent: a question of an agent on the page, in a browser: all of it is shown, and what is not on the screen is not allowed.

usage: browser_agent.py PAGE_STAGE [CASE…]"""
import sys

from browser import must, wait_for
from browser_page import CONTRAST, HOSTILE, link_for, main

ONCE, SESSION, DENY_ALWAYS, ABORT = 1, 2, 8, 16
COMMAND = [["command", "npm test"], ["directory", "/home/ana/app"]]


def ask(case, number=1, lines=COMMAND, **scene):
    case.stage.do("agent", id=f"7f3a-{number}", lines=lines, **scene)
    wait_for(lambda: len(case.browser.find(".agent")) == 1, "the question")
    case.browser.rest()


def button(choice):
    return f".agent [data-choice='{choice}']"


def allows_with_the_mouse(case):
    page = case.open().browser
    ask(case, choices=ONCE | SESSION | ABORT)
    must("An agent asks to run a command" in page.text(".agent") and "npm test" in page.text(".agent dd"), page.text(".agent"))
    must(page.text("#count") == "1" and page.run("return document.title").startswith("(1)"), page.text("#count"))
    must(not page.find(button("allow always")) and not page.find(button("deny always")), "it offers what the question does not")
    must((poor := page.run(CONTRAST)) == [], poor[:5])
    case.picture("agent")
    page.click(button("allow session"))
    must(case.stage.said().startswith("answer allow session"), "not the answer")
    wait_for(lambda: not page.find(".agent"), "the question to go")
    must("An agent asks to run a command allowed" in page.text("#said"), page.text("#said"))


def answers_by_keyboard(case):
    """Keys are those of the card with the focus; a letter alone does not allow, and n denies at once."""
    page = case.open().browser
    for number, (key, answer) in enumerate((("y", "allow once"), ("q", "deny once abort"), ("D", "deny always"), ("n", "deny once")), 1):
        ask(case, number, kind="patch")
        page.press(["y"])
        must(case.stage.is_silent(), "a key counts without the focus")
        page.run("document.querySelector('.agent').focus()")
        page.press([key])
        if key != "n":
            must(case.stage.is_silent(), "a letter alone answers")
            page.rest()
            page.press(["Enter"])
        must(case.stage.said().startswith(f"answer {answer}"), key)
        wait_for(lambda: not page.find(".agent"), "the question to go")


def all_of_it_is_read_first(case):
    page = case.open().browser
    ask(case, kind="patch", lines=[["text", f"| line {number}"] for number in range(200)])
    page.click(button("allow once"))
    must(case.stage.is_silent(), "allowed unread")
    must("Not all of this question was on the screen" in page.text(".agent .wrong"), page.text(".agent .wrong"))
    for _ in range(40):
        if page.run("scrollBy({ top: innerHeight / 2, behavior: 'instant' }); return scrollY + innerHeight >= document.documentElement.scrollHeight - 1"):
            break
        page.rest(150)
    page.rest()
    page.click(button("allow once"))
    must(case.stage.said().startswith("answer allow once"), "not the answer")
    ask(case, 2, lines=[["text", f"| line {number}"] for number in range(200)])
    page.run("scrollTo({ top: 0, behavior: 'instant' }); document.querySelector('.agent').focus({ preventScroll: true })")
    page.rest()
    page.press(["n"])  # it stores nothing
    must(case.stage.said().startswith("answer deny once"), "not the answer")


def what_has_to_be_typed(case):
    page = case.open().browser
    ask(case, kind="network", typed="a.test b.test")
    must(not page.is_enabled(button("allow once")) and page.is_enabled(button("deny once")), "a risk can be allowed by a click")
    page.type(".agent .typed input", "a.test b.test")
    wait_for(lambda: page.is_enabled(button("allow once")), "an allow for what was typed")
    page.rest()
    page.click(button("allow once"))
    must(case.stage.said().startswith("answer allow once"), "not the answer")


def hostile_text_is_text(case):
    page = case.open().browser
    ask(case, lines=[["command", HOSTILE], [HOSTILE, "x"]], kind=HOSTILE, typed=HOSTILE)
    must(page.run("return document.title") != "owned" and not page.find(".agent img, .agent script"), "markup came through")
    must("\\u{202e}" in page.text(".agent dd"), page.text(".agent dd"))


def has_a_reason(case):
    page = case.open().browser
    case.stage.ask(9, "files.example.test", domain="example.test")
    ask(case)
    must(page.text("#count") == "2", page.text("#count"))
    page.run("document.querySelector('.agent').focus()")
    page.press(["r"])
    page.press(list("usethemirror"))
    page.rest()
    page.click(button("deny once"))
    must(case.stage.said() == "answer deny once for=0 words=usethemirror", "not the answer")
    wait_for(lambda: not page.find(".agent"), "the question to go")
    must(len(page.find("#list .question")) == 1 and page.text("#count") == "1", "the other question went too")


def by_a_link(case):
    page = case.browser
    case.stage.do("agent", id="7f3a-1", lines=COMMAND)
    page.look(390, 844)
    page.open(link_for(case, 1))
    wait_for(lambda: "npm test" in page.text("#grant"), "the question")
    page.rest()
    page.click("#allow")
    must(case.stage.said().startswith("answer allow once"), "not the answer")
    wait_for(lambda: "Allowed once" in page.text("#closed-title"), "the end")


CASES = [allows_with_the_mouse, answers_by_keyboard, all_of_it_is_read_first, what_has_to_be_typed, hostile_text_is_text, has_a_reason, by_a_link]

if __name__ == "__main__":
    sys.exit(main(CASES))
