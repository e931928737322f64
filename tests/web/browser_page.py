#!/usr/bin/env python3
"""browser_page: the page in a browser, as a person uses it: with the mouse, only with the keyboard, on a phone, in dark mode.

usage: browser_page.py PAGE_STAGE [CASE…]
With SHOTS=FOLDER in the environment a picture of every scene is left there."""
import os
import pathlib
import sys
import traceback

from browser import Browser, Failed, is_possible, must, wait_for
from stage import Stage

SKIP = 77  # meson's word for a skipped test
HOSTILE_HOST = "files.paste.test"
HOSTILE = "\nProgram\n\u202egpj.exe <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \x1b[2J \u200b\u2066"


class Case:
    """A stage and the one browser, opened on its page."""

    def __init__(self, program, browser):
        self.stage, self.browser = Stage(program), browser
        browser.look()
        browser.console()

    def open(self):
        self.browser.open(self.stage.url)
        must(self.stage.said() == "came", "the page did not come")
        return self

    def ask(self, number=1, host="files.example.test", **scene):
        scene.setdefault("domain", "example.test")
        self.stage.ask(number, host, **scene)
        wait_for(lambda: host in self.browser.text(".question"), f"the question about {host}")
        self.browser.rest()

    def picture(self, name):
        if folder := os.environ.get("SHOTS"):
            self.browser.picture(pathlib.Path(folder) / f"{name}.png")

    def allow_is_on(self):
        return self.browser.run("const b = document.querySelector('.open .allow'); return Boolean(b) && !b.disabled")

    def end(self):
        self.browser.open("about:blank")
        self.stage.close()


def enters_and_forgets(case):
    """The capability is removed from the address bar and the history; a second load does not need it; the browser reports no errors."""
    page = case.open().browser
    capability = case.stage.url.split("#")[1]
    must("#" not in page.address() and capability not in page.address(), page.address())
    must(capability not in page.run("return document.documentElement.outerHTML + JSON.stringify(sessionStorage) + document.cookie"), "kept")
    must(page.run("return document.cookie") == "", "a script can read the cookie")
    page.reload()
    must(case.stage.said() in ("left", "came"), "the page was not loaded again")
    wait_for(lambda: page.text("#link") == "Connected", "the second load")
    must(page.console() == [], page.console())
    case.picture("empty")


def needs_the_capability(case):
    page = case.browser
    page.open(case.stage.url.split("#")[0])
    wait_for(lambda: "address that was printed" in page.text("#closed-title"), "the refusal")
    page.open(case.stage.url[:-4] + "0000")
    wait_for(lambda: "refused this page" in page.text("#closed-title"), "the refusal of a wrong one")
    must(case.stage.is_silent(), "somebody came")


def allows_with_the_mouse(case):
    case.open().ask(command="npm ci", waiting=12, rule="team.policy:2: default ask")
    page = case.browser
    wait_for(case.allow_is_on, "an allow that can be clicked")
    must("https://a.test:443" in page.text(".open .exact"), page.text(".open"))
    must("npm ci" in page.text(".open .facts") and "12 connections" in page.text(".open .facts"), page.text(".open"))
    case.picture("one")
    page.click(".open input[value=session]")
    wait_for(case.allow_is_on, "the new text")
    page.rest()
    page.click(".open .buttons .allow")
    must(case.stage.said().startswith("answer allow session"), "not the answer")
    wait_for(lambda: not page.find(".question"), "the question to go")
    must("allowed" in page.text("#said"), page.text("#said"))


def denies_by_keyboard(case):
    case.open().ask()
    case.browser.press(["n"])
    must(case.stage.said().startswith("answer deny once"), "not the answer")
    case.ask(2, "other.example.test")
    case.browser.press(["S"])
    wait_for(lambda: "for the session" in case.browser.text(".open .deny-text .label"), "what would be denied")
    must(case.stage.is_silent(), "a letter alone is stored")
    case.browser.rest()
    case.browser.press(["Enter"])
    must(case.stage.said().startswith("answer deny session"), "not the answer")


def allows_by_keyboard(case):
    case.open().ask()
    wait_for(case.allow_is_on, "an allow")
    case.browser.press(["y"])
    must(case.stage.is_silent(), "a letter alone allows")
    case.browser.press(["Enter"])
    must(case.stage.said().startswith("answer allow once"), "not the answer")


def keys_are_the_terminals(case):
    """Each width has its key; a key that means nothing says so; e is there only where several commands share the session."""
    case.open().ask(program="/usr/bin/node")
    page = case.browser
    page.press(["s"])
    wait_for(case.allow_is_on, "an allow")
    for key in "hpotb":
        page.run("document.activeElement.blur()")
        page.press([key])
        wait_for(case.allow_is_on, f"an allow after {key}")
    widths = page.run("return [...document.querySelectorAll('.open [data-width]')].map((node) => node.type === 'checkbox' ? node.checked : node.value)")
    must(widths == [True, True, True, "300", "65536", "0", "0"], widths)
    page.run("document.activeElement.blur()")
    page.press(["Z"])
    must("Z does nothing here" in page.text("#said"), page.text("#said"))
    page.press(["r"])
    must(page.run("return document.activeElement.matches('.more-words input')"), "r does not lead to the reason")
    page.run("document.activeElement.blur()")
    must(len(page.find(".open .scopes input[value=exec]")) == 1, "e is missing")
    case.stage.do("change", id="7f3a-1", shared=0)
    wait_for(lambda: not page.find(".open .scopes input[value=exec]"), "this command to go")
    page.press(["e"])
    must("one command" in page.text("#said"), page.text("#said"))
    must(case.stage.is_silent(), "it answered")


def new_is_marked(case):
    """What is merely new has a mark, and one key; a whole domain for always is typed."""
    case.open().ask(risk=1, warning="example.test has never been allowed on this machine")
    page = case.browser
    must(page.text(".open .warning strong") == "New" and "NEW" in page.text(".question .badges"), page.text(".question"))
    must(not page.run("return document.querySelector('.open .typed').checkVisibility()"), "its domain has to be typed")
    page.press(["a"])
    wait_for(case.allow_is_on, "an allow for always")
    page.press(["h"])
    wait_for(lambda: page.run("return document.querySelector('.open .typed').checkVisibility()"), "the domain to be typed")
    must(not case.allow_is_on(), "a whole domain is allowed always with one key")
    page.run("document.activeElement.blur()")
    page.press(["h"])
    wait_for(case.allow_is_on, "an allow for always")
    page.press(["y"])
    wait_for(case.allow_is_on, "an allow for once")
    page.rest()
    page.press(["Enter"])
    must(case.stage.said().startswith("answer allow once"), "not the answer")


def enter_never_allows(case):
    case.open().ask()
    wait_for(case.allow_is_on, "an allow")
    case.browser.press(["Enter"])
    case.browser.press(["j", "Enter"])
    must(case.stage.is_silent(), "Enter answered")


def too_early_is_nothing(case):
    """Keys and clicks are ignored shortly after something moved, because they were meant for the previous text."""
    case.open().ask()
    wait_for(case.allow_is_on, "an allow")
    case.stage.ask(2, "second.example.test", domain="example.test")
    wait_for(lambda: len(case.browser.find(".question")) == 2, "the second")
    case.stage.do("retract", id="7f3a-1", how="denied by ana on tty")
    case.browser.run_async("""
        const done = arguments[0], list = document.querySelector('#list');
        const wait = () => {
          if (list.children.length !== 1)
            return setTimeout(wait, 5);
          if (!list.querySelector('.open'))
            list.querySelector('.opener').click();
          list.querySelector('.deny').click();
          done();
        };
        wait();
    """)
    must(case.stage.is_silent(), "an answer was taken while the page moved")
    case.browser.click(".open .deny")
    must(case.stage.said().startswith("answer deny once"), "and afterwards none")


def risk_needs_the_domain(case):
    case.open().ask(host="xn--exmple-cua.test", domain="xn--exmple-cua.test", protocol="tcp", port=22, risk=11,
                    warning="never allowed before; looks like another name")
    page = case.browser
    must("looks like another name" in page.text(".open .warning"), page.text(".open"))
    must(not case.allow_is_on(), "it can be allowed at once")
    page.press(["y"])
    must(case.stage.is_silent(), "the key allowed")
    page.type(".open .typed input", "xn--exmple-cua.tes")
    must(not case.allow_is_on(), "half of it is enough")
    page.rest()
    page.press(["Enter"])
    must(case.stage.is_silent(), "Enter allowed")
    page.type(".open .typed input", "t")
    wait_for(case.allow_is_on, "an allow")
    case.picture("risk")
    page.rest()
    page.press(["Enter"])
    must(case.stage.said().startswith("answer allow once"), "not the answer")


def typed_for_another(case):
    """If the question is answered elsewhere while its domain is typed, the remaining keys are ignored."""
    case.open().ask(risk=16, warning="a known tunnel")
    case.stage.ask(2, "second.example.test", domain="example.test")
    page = case.browser
    wait_for(lambda: len(page.find(".question")) == 2, "both")
    page.run("if (!document.querySelector('.open .typed')) document.querySelector('.question .opener').click()")
    page.rest()
    page.type(".open .typed input", "exa")
    case.stage.do("retract", id="7f3a-1", how="denied by ana on tty")
    wait_for(lambda: len(page.find(".question")) == 1, "the other alone")
    page.rest()
    page.press(list("mple.dn"))
    must(case.stage.is_silent(), "what was typed for one has answered the other")
    must("ignores what you type" in page.text("#said"), page.text("#said"))
    page.press(["Enter"])
    page.rest()
    page.press(["n"])
    must(case.stage.said().startswith("answer deny once"), "and afterwards none")


def widths_are_sent(case):
    case.open().ask(program="/usr/bin/node")
    page = case.browser
    page.click(".open .widths summary")
    must(not page.is_enabled(".open [data-width=domain]"), "once has a width")
    page.press(["s"])
    wait_for(lambda: page.is_enabled(".open [data-width=domain]"), "widths")
    for width in ("domain", "every_port", "program"):
        page.click(f".open [data-width={width}]")
    page.run("const s = document.querySelector('.open [data-width=for_s]'); s.value = '3600'; s.dispatchEvent(new Event('change'))")
    page.click(".open .more-words summary")
    page.type(".open .more-words input", "only for today")
    wait_for(case.allow_is_on, "an allow")
    case.picture("widths")
    page.rest()
    page.click(".open .buttons .allow")
    said = case.stage.said()
    must(said == "answer allow session domain every_port program for=3600 words=only for today", said)


SCOPES = {"once": "once", "exec": "until the command ends", "session": "for the session", "always": "in your policy file"}
WIDTHS = [{}, {"domain": True}, {"every_port": True, "program": True, "for_s": "3600"}, {"domain": True, "upload": "65536", "connections": "10"}]


def set_widths(page, widths):
    page.run("""
        for (const input of document.querySelectorAll('.open [data-width]')) {
          const value = arguments[0][input.dataset.width];
          if (input.type === 'checkbox')
            input.checked = Boolean(value);
          else
            input.value = value ?? '0';
        }
        document.querySelector('.open [data-width]').dispatchEvent(new Event('change'));""", widths)


def texts_of(page):
    """The text above each button; None: it is not known yet, and no answer can be given."""
    return page.run("""
        const texts = [...document.querySelectorAll('.open .grant')];
        return texts.some((node) => node.querySelector('.old')) ? null
          : Object.fromEntries(texts.map((node) => [node.classList.contains('deny-text') ? 'deny' : 'allow', node.innerText]))""")


def each_answer_is_written_out(case):
    """Allow and deny, in every scope and width: the gate's own words for it, before it can be given."""
    case.stage.do("tell")
    case.open().ask(program="/usr/bin/node")
    page = case.browser
    page.click(".open .widths summary")
    scopes = page.run("return [...document.querySelectorAll('.open .scopes input')].map((input) => input.value)")
    must(scopes[:3] == ["once", "exec", "session"], scopes)
    for scope in scopes:
        page.run("document.querySelector(`.open .scopes input[value=${arguments[0]}]`).click()", scope)
        for widths in [{}] if scope == "once" else WIDTHS:
            set_widths(page, widths)
            flags = "".join(f" {name}" for name in ("domain", "every_port", "program") if widths.get(name)) + f" for={widths.get('for_s', 0)}"
            amounts = f" upload={widths.get('upload', 0)} connections={widths.get('connections', 0)}"
            wait_for(lambda: texts_of(page), f"the texts for {scope}")
            shown = texts_of(page)
            must(f"allow {scope}{flags}{amounts}" in shown["allow"], scope, widths, shown)
            must(f"deny {scope}{flags} upload=0 connections=0" in shown["deny"], scope, widths, shown)
            must(all(SCOPES[scope] in text for text in shown.values()), scope, shown)
            must(("Amounts limit an allow only" in shown["deny"]) == ("upload" in widths), scope, widths, shown)
    page.click(".open .scopes input[value=session]")
    wait_for(lambda: texts_of(page), "the texts")
    for look, size in (("wide", (1280, 900)), ("phone", (390, 1000))):
        for dark in (False, True):
            page.look(*size, dark=dark)
            must(page.run("return document.documentElement.scrollWidth <= innerWidth"), look, "is wider than the window")
            page.run("document.querySelector('.open .grants').scrollIntoView({block: 'center'})")
            case.picture(f"answers-{look}-{'dark' if dark else 'light'}")
    named = page.run("""return ['deny', 'allow', 'end'].map((kind) => {
        const by = document.getElementById(document.querySelector(`.open .buttons .${kind}`).getAttribute('aria-describedby'));
        return by ? by.textContent : '' })""")
    must("deny session domain" in named[0] and "allow session domain" in named[1] and "stores no answer" in named[2], named)
    page.look()
    page.rest()
    page.click(".open .buttons .deny")
    must(case.stage.said().startswith("answer deny session domain for=0"), "not what was shown")


def nothing_before_it_is_written(case):
    """A denial, too, waits for its text: an answer that was not on the page cannot be given."""
    case.open().ask()
    page = case.browser
    page.run("window.held = window.fetch; window.fetch = (path, ...rest) => path === '/api/text' ? new Promise(() => {}) : window.held(path, ...rest)")
    page.press(["S"])
    wait_for(lambda: not page.is_enabled(".open .buttons .deny"), "a denial that cannot be given yet")
    page.rest()
    page.press(["Enter", "s", "Enter"])
    must(case.stage.is_silent(), "an answer that was not shown")
    must(page.is_enabled(".open .buttons .end"), "the end of the command waits for words that it does not have")


def several_denied(case):
    case.stage.do("tell")
    case.open()
    for number in range(5):
        case.stage.ask(number, f"r{number}.example.test", domain="example.test")
    page = case.browser
    wait_for(lambda: len(page.find(".question")) == 5, "five")
    page.click("#pick")
    page.rest()
    page.click("#pick-all")
    page.run("document.querySelector('#several-scope').value = 'session'")
    page.click("#several-deny")
    wait_for(lambda: len(page.find("#confirm[open] li")) == 5, "what would be denied")
    wait_for(lambda: page.is_enabled("#confirm-yes"), "all five to be seen")
    must("Deny 5 destinations" in page.text("#confirm") and "for the session" in page.text("#confirm"), page.text("#confirm"))
    must(page.text("#confirm li").startswith("deny session for=0"), page.text("#confirm"))
    must(page.text("#confirm-yes") == "Deny these", page.text("#confirm-yes"))
    case.picture("several-denied")
    must(case.stage.is_silent(0.2), "it was not waited for the confirmation")
    page.rest()
    page.click("#confirm-yes")
    for _ in range(5):
        must(case.stage.said().startswith("answer deny session"), "not the answer")
    wait_for(lambda: not page.find(".question"), "the rest")


def read_the_list(page):
    """As a person does: page by page, until all of it was on the screen."""
    for _ in range(100):
        if page.is_enabled("#confirm-yes"):
            return
        page.run("""const list = document.querySelector('#confirm-list');
            list.scrollTop = list.scrollTop + list.clientHeight >= list.scrollHeight - 1 ? 0 : list.scrollTop + list.clientHeight * 0.6""")
        page.rest(150)
    raise Failed(f"the list cannot be read: {page.text('#confirm-read')}")


def several_at_once(case):
    case.open()
    for number in range(30):
        case.stage.ask(number, f"r{number}.example.test", domain="example.test", risk=16 if number == 3 else 0, command="npm install")
    page = case.browser
    wait_for(lambda: len(page.find(".question")) == 30, "thirty")
    case.picture("thirty")
    page.click("#pick")
    page.rest()
    page.click("#pick-all")
    must(page.text("#picked").startswith("30 selected; 1 with a warning"), page.text("#picked"))
    must(not page.is_enabled("#several-allow") and page.is_enabled("#several-deny"), "a warning is allowed with others")
    page.click("#pick-plain")
    must(page.text("#picked") == "29 selected", page.text("#picked"))
    page.click("#several-allow")
    wait_for(lambda: len(page.find("#confirm[open] li")) == 29, "what would be granted")
    case.picture("several")
    page.rest()
    must(not page.is_enabled("#confirm-yes"), "rows were never on the screen, and can be allowed:", page.text("#confirm-read"))
    page.run("document.querySelector('#confirm-yes').click()")
    must(case.stage.is_silent(0.2), "it was not waited for the confirmation")
    read_the_list(page)
    page.rest()
    page.click("#confirm-yes")
    for _ in range(29):
        must(case.stage.said().startswith("answer allow once"), "not the answer")
    wait_for(lambda: len(page.find(".question")) == 1, "the rest")
    must("r3" in page.text(".question"), page.text(".question"))


def hostile_text_is_text(case):
    page = case.open().browser
    case.stage.do("text", text=HOSTILE)
    case.stage.do("ledger", live=2, grants=2, trips=3, because=HOSTILE)
    case.stage.do("hear", host="denied.test", action="deny", by=HOSTILE, rule=HOSTILE)
    case.ask(1, "a-very-long-label-0123456789." * 8 + "example.test", command=HOSTILE + "x" * 500, because=HOSTILE, rule=HOSTILE,
             program=HOSTILE, chain=HOSTILE, warning=HOSTILE, risk=31)
    case.stage.do("retract", id="7f3a-9", how=HOSTILE)
    wait_for(lambda: page.text("#tab-grants") == "Grants2" and "denied.test" in page.run("return document.body.textContent")
             and len(page.find(".open .facts dt")) == 6, "all of it on the page")
    must("owned" not in page.run("return document.title"), "a script ran")
    must(page.run("return document.querySelectorAll('main img, main script, main b').length") == 0, "markup became elements")
    shown = page.run("return document.body.textContent")
    for hidden in ("\u202e", "\x1b", "\u200b", "\u2066"):
        must(hidden not in shown, f"U+{ord(hidden):04X} is on the page")
    must(page.run("return document.querySelectorAll('.open .facts dt').length") == 6, page.text(".open .facts"))
    must("\\u{202e}" in shown and "\\u{1b}" in shown, "it was dropped, not shown")
    must(page.run("return document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the window")
    page.look(390, 844, dark=True)
    must(page.run("return document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the phone")
    case.picture("hostile-phone")
    must(page.console() == [], page.console())


def markup_cannot_be_made(case):
    """The browser enforces the content security policy even against the page's own script."""
    page = case.open().browser
    refused = page.run("try { document.body.innerHTML = '<p>x</p>'; return false } catch (error) { return true }")
    must(refused, "innerHTML works")
    page.run("try { const s = document.createElement('script'); s.append('window.owned = 1'); document.body.append(s) } catch {}")
    must(page.run("return window.owned === undefined"), "a script that stands in the page runs")
    got = page.run_async("const done = arguments[0]; fetch('http://127.0.0.1:1/').then(() => done('let'), () => done('refused'))")
    must(got == "refused", got)
    framed = page.run_async("""
        const done = arguments[0], frame = document.createElement('iframe');
        frame.src = '/'; frame.onload = () => { try { done(frame.contentDocument.title) } catch { done('refused') } };
        frame.onerror = () => done('refused'); document.body.append(frame); setTimeout(() => done('refused'), 1500);
    """)
    must(framed != "Sallyport", framed)
    page.console()


def ledger_is_shown(case):
    page = case.open().browser
    case.stage.do("ledger", live=3, grants=4, trips=8, because="ana on tty")
    case.stage.do("hear", host="denied.test", action="deny", rule="team.policy:7: deny denied.test")
    case.stage.do("hear", host="denied.test", action="deny", rule="team.policy:7: deny denied.test")
    case.stage.do("hear", host="allowed.test", action="allow")
    wait_for(lambda: page.text("#tab-grants") == "Grants4", "the grants")
    must(len(page.find("#panel-live li")) == 3, "connections")
    page.rest()
    page.click("#panel-live li button")
    must(case.stage.said() == "cut 1", "not cut")
    page.click("#tab-grants")
    must(page.run("return [...document.querySelectorAll('#panel-grants li')].filter("
                  "(row) => row.textContent.includes('copied from work')).length") == 2, "where copies are from")
    must("allow https://granted.test:443 for the session" in page.text("#panel-grants .undo-line"), page.text("#panel-grants .undo-line"))
    page.rest()
    page.click("#panel-grants li button")
    must(case.stage.said() == "revoke 1", "not revoked")
    wait_for(lambda: "Revoked" in page.text("#said"), "the word")
    case.picture("grants")
    page.press(["Right"])
    must(page.run("return document.querySelector('[role=tabpanel]:not([hidden])').id") in ("panel-denials", "panel-grants"), "tabs")
    page.click("#tab-denials")
    must(len(page.find("#panel-denials li")) == 1 and "× 2" in page.text("#panel-denials"), page.text("#panel-denials"))
    page.click("#tab-totals")
    must(len(page.find("#panel-totals tbody tr")) == 8, "destinations")
    case.picture("totals")
    page.click("#tab-timeline")
    must("Allowed: https://allowed.test:443" in page.text("#panel-timeline"), page.text("#panel-timeline"))
    case.picture("timeline")


def keyboard_alone(case):
    """Tab reaches every control, and the focus is visible."""
    case.open().ask(2, "second.example.test")
    case.ask(1)
    page = case.browser
    page.click("h1")
    seen = set()
    for _ in range(60):
        page.press(["Tab"])
        seen.add(page.run("""
            const at = document.activeElement, style = getComputedStyle(at);
            const face = at.matches('.scopes input') ? getComputedStyle(at.nextElementSibling) : style;
            return `${at.id || at.className || at.tagName} ${at.matches('body') || face.outlineStyle !== 'none' ? 'seen' : 'unseen'}`"""))
    must(not [name for name in seen if name.endswith("unseen")], seen)
    for part in ("opener", "deny", "allow", "keys", "pick", "tab-live"):
        must(any(part in name for name in seen), f"Tab does not come to {part}:", seen)


def has_names(case):
    """Each control has a name, each list a label, and colours differ enough (WCAG 2.2, 1.4.3), in both themes."""
    case.open().ask(risk=1, warning="never allowed before", program="/usr/bin/node", waiting=3)
    case.stage.do("ledger", live=2, grants=2, trips=3, because="ana on tty")
    page = case.browser
    wait_for(lambda: page.text("#tab-grants") == "Grants2", "the ledger")
    for details in range(2):
        page.run("document.querySelectorAll('details')[arguments[0]].open = true", details)
    nameless = page.run("""
        return [...document.querySelectorAll('button, input, select, [role=tabpanel], dialog')].filter((node) => {
          const by = node.getAttribute('aria-labelledby');
          return !(node.getAttribute('aria-label') || (by && document.getElementById(by)) || node.labels?.length || node.textContent.trim());
        }).map((node) => node.outerHTML)""")
    must(nameless == [], nameless)
    must(page.run("return document.querySelectorAll('[aria-live], [role=status], [role=alert]').length") >= 4, "nothing is announced")
    for dark in (False, True):
        page.look(dark=dark)
        page.rest(50)
        poor = page.run(CONTRAST)
        must(poor == [], "dark" if dark else "light", poor)


CONTRAST = """
    const parts = (colour) => { const c = document.createElement('canvas').getContext('2d'); c.fillStyle = colour; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
    const over = (top, under) => top.slice(0, 3).map((v, i) => v * top[3] / 255 + under[i] * (1 - top[3] / 255));
    const ground = (node) => { let chain = []; for (; node; node = node.parentElement) chain.push(parts(getComputedStyle(node).backgroundColor));
      return chain.reverse().reduce((under, top) => over(top, under), [255, 255, 255]); };
    const light = (rgb) => { const [r, g, b] = rgb.map((v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
    const poor = [];
    for (const node of document.querySelectorAll('main *, header *')) {
      if (!node.checkVisibility({visibilityProperty: true, opacityProperty: true}) || ![...node.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || node.matches(':disabled, :disabled *, .is-once *'))
        continue;
      const style = getComputedStyle(node), under = ground(node), ink = over(parts(style.color), under);
      const [a, b] = [light(ink), light(under)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
      if (ratio < 4.5) poor.push(`${node.className || node.tagName}: ${ratio.toFixed(2)} ${node.textContent.slice(0, 20)}`);
    }
    return poor;
"""


def phone(case):
    """At 390 px nothing is wider than the window, and controls are large enough to be touched."""
    case.browser.look(390, 844)
    case.open().ask(command="npm ci --prefer-offline --no-audit", waiting=12, risk=1, warning="never allowed before")
    case.stage.do("ledger", live=2, grants=2, trips=3, because="ana on tty")
    page = case.browser
    wait_for(lambda: page.text("#tab-grants") == "Grants2", "the ledger")
    page.run("document.querySelector('#said').classList.remove('shown')")  # it offers to undo, over the tabs
    for dark in (False, True):
        page.look(390, 1000, dark=dark)
        for tab in ("live", "grants", "denials", "totals", "timeline"):
            page.click(f"#tab-{tab}")
            must(page.run("return document.documentElement.scrollWidth <= innerWidth"), tab, "is wider than the phone")
        page.click("#tab-live")
        case.picture("phone-dark" if dark else "phone-light")
    small = page.run("""return [...document.querySelectorAll('.open .buttons button, .scopes label, .tabs button')].filter((node) => {
        const box = node.getBoundingClientRect(); return box.height < 32 || box.width < 44; }).map((node) => node.textContent)""")
    must(small == [], "too small to touch:", small)


def still(case):
    """Nothing is animated for a user who prefers reduced motion."""
    case.browser.look(still=True)
    case.open().ask()
    moving = case.browser.run("""return [...document.querySelectorAll('*')].filter((node) => {
        const style = getComputedStyle(node); return style.animationName !== 'none' || (style.transitionDuration !== '0s' && style.transitionProperty !== 'none'); }).length""")
    must(moving == 0, f"{moving} things move")


def touched(case):
    """Typing, and choosing a width, report to the gate and the other approvers that a person is answering; reading does not."""
    case.open().ask(risk=16, warning="a known tunnel")
    case.ask(2, "second.example.test")
    page = case.browser
    page.click(".question:nth-child(2) .opener")
    page.click(".question:nth-child(1) .opener")
    page.rest()
    sent = "return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/touch')).length"
    must(page.run(sent) == 0, "to look is to touch")
    page.type(".open .typed input", "e")
    wait_for(lambda: page.run(sent) == 1, "the gate to be told")
    page.click(".question:nth-child(2) .opener")
    page.press(["s"])
    page.click(".open .widths summary")
    page.click(".open [data-width=domain]")
    wait_for(lambda: page.run(sent) == 2, "the gate to be told of the second")
    must("elsewhere" not in page.text("#list"), "it is said to who does it:", page.text("#list"))
    case.ask(3, "third.example.test")
    case.stage.do("change", id="7f3a-3", touched=1)
    wait_for(lambda: "being answered elsewhere" in page.text(".question:nth-child(3) .badges"), "being answered elsewhere")
    must("elsewhere" not in page.text(".question:nth-child(1)") + page.text(".question:nth-child(2)"), page.text("#list"))
    must(case.stage.is_silent(0.2), "it answered")


def two_pages(case):
    """A question that is answered on one page disappears from the other."""
    case.open().ask()
    page = case.browser
    first = page.do("GET", "/window")
    second = page.do("POST", "/window/new", {"type": "window"})["handle"]
    try:
        page.do("POST", "/window", {"handle": second})
        page.open(case.stage.url)
        wait_for(lambda: page.find(".question"), "the question on the second page")
        page.click("h1")  # it comes to the front
        page.rest()
        page.press(["n"])
        must(case.stage.said().startswith("answer deny once"), "not the answer")
    finally:
        page.do("DELETE", "/window")
        page.do("POST", "/window", {"handle": first})
    wait_for(lambda: not page.find(".question"), "the first page to be told")


def end_of_the_run(case):
    case.open().ask()
    case.stage.do("hear", host="last.test", action="deny")
    wait_for(lambda: "last.test" in case.browser.text("#panel-denials"), "the denial")
    case.stage.close()
    page = case.browser
    wait_for(lambda: page.text("#link") == "The run is over", "the end")
    must(not page.find(".question"), "a question is open still")
    must("last.test" in page.text("#panel-denials"), "what happened is gone")
    case.picture("over")


def link_for(case, number):
    case.stage.do("link", id=f"7f3a-{number}")
    said = case.stage.said()
    must(said.startswith("link "), said)
    return case.stage.url.split("#")[0] + "once.html#" + said.split()[1]


def by_a_link(case):
    """One question, by a person without the page's address; the link leaves the address bar and works once."""
    page = case.browser
    case.stage.ask(1, "files.example.test", domain="example.test", command="npm ci")
    case.stage.ask(2, "other.example.test", domain="example.test")
    link = link_for(case, 1)
    page.open(link)
    wait_for(lambda: "files.example.test" in page.text("#to"), "the question")
    must("other" not in page.text("main") and "npm ci" in page.text("#who"), page.text("main"))
    must("#" not in page.address(), page.address())
    wait_for(lambda: page.is_enabled("#allow"), "an allow that can be clicked")
    page.rest()
    case.picture("link")
    page.click("#allow")
    must(case.stage.said().startswith("answer allow once"), "not the answer")
    wait_for(lambda: "Allowed once" in page.text("#closed-title"), "the end of it")
    page.open("about:blank")
    page.open(link)
    wait_for(lambda: "not valid" in page.text("#closed-title"), "the refusal of a used link")
    must(page.run("return document.cookie + JSON.stringify(sessionStorage)") == "{}", "something is kept")


def a_link_to_a_risk(case):
    page = case.browser
    case.stage.ask(1, HOSTILE_HOST, domain="paste.test", risk=16, warning=HOSTILE, command=HOSTILE)
    page.look(390, 844)
    page.open(link_for(case, 1))
    wait_for(lambda: "paste.test" in page.text("#to"), "the question")
    page.rest()
    must(not page.is_enabled("#allow"), "a risk can be allowed by a click")
    page.type("#typed", "paste.test")
    wait_for(lambda: page.is_enabled("#allow"), "an allow for what was typed")
    must(page.run("return document.title") != "owned", "markup came through")
    case.picture("link-risk")
    page.rest()
    page.click("#deny")
    must(case.stage.said().startswith("answer deny once"), "not the answer")


CASES = [enters_and_forgets, needs_the_capability, allows_with_the_mouse, denies_by_keyboard, allows_by_keyboard, keys_are_the_terminals, new_is_marked, enter_never_allows,
         too_early_is_nothing, typed_for_another, risk_needs_the_domain, widths_are_sent,
         each_answer_is_written_out, nothing_before_it_is_written, several_at_once, several_denied, hostile_text_is_text,
         markup_cannot_be_made, ledger_is_shown, by_a_link, a_link_to_a_risk, keyboard_alone, has_names, phone, still, touched, two_pages,
         end_of_the_run]


def main(cases):
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PAGE_STAGE [CASE…]")
    if why := is_possible():
        print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return SKIP
    program, only = sys.argv[1], sys.argv[2:]
    passed = failed = 0
    with Browser() as browser:
        for function in cases:
            name = function.__name__.replace("_", "-")
            if only and name not in only:
                continue
            case = Case(program, browser)
            try:
                function(case)
                case.end()
                passed += 1
                print(f"passed {name}", flush=True)
            except Exception as reason:  # a broken test is a failed one
                failed += 1
                print(f"failed {name}: {reason if isinstance(reason, Failed) else traceback.format_exc()}", flush=True)
                case.stage.process.kill()
                case.stage.process.wait()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(CASES))
