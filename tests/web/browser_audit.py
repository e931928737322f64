#!/usr/bin/env python3
"""browser_audit: the page of `audit serve`: which requests it serves, and what it shows, held against what the commands print.

usage: browser_audit.py SALLYPORT [CASE…]
With SHOTS=FOLDER in the environment a picture of every view is left there; RECORDS=NUMBER makes another log."""
import csv
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "sandbox"), str(HERE.parent / "cli")]
import generate_log  # noqa: E402
from browser import Browser, Failed, is_possible, must, wait_for  # noqa: E402
from browser_page import CONTRAST, HOSTILE, SKIP  # noqa: E402
from page import URL, Page  # noqa: E402

RECORDS = int(os.environ.get("RECORDS", "6000"))
VIEWS = ("overview", "records", "run", "host", "program", "person", "rule")
LOOKS = ((1280, 900), (390, 844), (320, 256))
TABLE = "return [...document.querySelectorAll('#panel tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent))"
SUMS = "return Object.fromEntries([...document.querySelectorAll('#panel .sums > div')].map((node) => [node.children[0].textContent, node.children[1].textContent]))"


class Log:
    """A log with its chain and head, of which one record has hostile text; and the commands that read it."""

    def __init__(self, program, folder):
        self.program, self.path = program, folder / "audit.jsonl"
        self.environment = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        generator = generate_log.Generator(RECORDS, now=datetime.datetime.now(datetime.timezone.utc))
        lines = [line for _, line in generator.records()]
        generator.count += 1
        generator.prev = json.loads(lines[-1])["hash"]
        generator.seq = len(lines)
        lines.append(generator.line(session="s", run="hostile", exec=1, event="decision", program=HOSTILE, action="deny", reason="default_deny",
                                    way="connect", host="evil.test", protocol="https", port=443, by=HOSTILE)[1])
        text = "".join(lines)
        self.path.write_text(text, encoding="ascii")
        (folder / "audit.jsonl.head").write_text(generate_log.head(len(lines), len(text), lines[-1]), encoding="ascii")

    def run(self, *words):
        done = subprocess.run([self.program, "audit", *words], env=self.environment, capture_output=True, text=True, timeout=120)
        must(done.returncode == 0, words, done.returncode, done.stderr)
        return done.stdout

    def serve(self, path=None):
        process = subprocess.Popen([self.program, "audit", "serve", "--audit", path or self.path], env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        found = URL.search(process.stdout.readline())
        must(found, "no address was printed")
        return process, Page(int(found[1]), found[2].decode())


class Case:
    def __init__(self, log, browser):
        self.log, self.browser = log, browser
        self.process, self.page = log.serve()

    def open(self):
        self.browser.look()
        self.browser.console()
        self.browser.open(f"http://127.0.0.1:{self.page.port}/#{self.page.capability}")
        return self.done("overview")

    def done(self, view):
        page = self.browser
        wait_for(lambda: page.run("const b = document.querySelector('#panel'); return b?.getAttribute('aria-busy') === 'false'") and
                 page.run("return document.querySelector('[aria-selected=true]')?.id") == f"tab-{view}", view)
        return page

    def tab(self, view):
        self.browser.click(f"#tab-{view}")
        return self.done(view)

    def picture(self, name):
        if folder := os.environ.get("SHOTS"):
            self.browser.picture(pathlib.Path(folder) / f"audit-{name}.png")

    def end(self):
        self.browser.open("about:blank")
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


def search(page, **words):
    """Fills the form, and nothing else is in it."""
    page.run("""for (const node of document.querySelectorAll('#search input, #search select'))
        if (node.id !== 'limit') node.value = arguments[0][node.id] ?? '';
        document.querySelector('#search').requestSubmit()""", words)


def only_the_page_is_served(case):
    """Without the secrets, from another origin, by another name: nothing of the log; and no question but those of the page."""
    page = case.page
    asked = {"ask": "summary", "words": {}}
    must(page.post("/api/ask", asked).status == 401, "without secrets")
    page.enter()
    must(page.post("/api/ask", asked).status == 200, "with them")
    for status, changed in ((401, {"Sallyport_Key": "0" * 64}), (401, {"Cookie": None}), (403, {"Origin": "http://evil.test"}),
                            (403, {"Origin": None}), (421, {"Host": "evil.test"}), (415, {"Content_Type": "text/plain"}),
                            (403, {"Sec_Fetch_Site": "cross-site"})):
        must((answer := page.post("/api/ask", asked, **changed)).status == status, changed, answer.status)
    must(page.get("/api/ask").status == 405 and page.get("/api/events").status == 404, "a method or a stream")
    secret = case.log.path.parent / "secret"
    secret.write_text("{}\n")
    for words in ({"audit": str(secret)}, {"json": "1"}, {"csv": ""}, {"since": 1}, {"since": ""}, {"since": "1d\0"}, {"help": "1"}, {"Host": "a"},
                  {"host": "a" * 513}, {"since --audit": "x"}, {str(number): "x" for number in range(20)}):
        must((answer := page.post("/api/ask", {"ask": "query", "words": words})).status == 400, words, answer.status, answer.body[:200])
    for body in ({"ask": "query"}, {"ask": "prune", "words": {}}, {"ask": "export", "words": {}}, {"ask": "verify", "record": str(secret)},
                 {"ask": "show", "words": {}}, {"ask": "show", "record": "x.1", "words": {}}, {"ask": "summary", "words": {}, "more": 1}, {"ask": 1}, {}):
        must((answer := page.post("/api/ask", body)).status == 400, body, answer.status)
    # Words that the command refuses are its own errors, and options stay values.
    for body in ({"ask": "query", "words": {"since": "yesterday"}}, {"ask": "query", "words": {"by": "day"}}, {"ask": "show", "record": "--help"},
                 {"ask": "show", "record": "--audit=/etc/passwd"}, {"ask": "report", "words": {"by": "--help"}}):
        answer = page.post("/api/ask", body).json()
        must(answer["status"] == 2 and answer["out"] == "" and "sallyport audit" in answer["notes"], body, answer)


def answers_are_bounded(case):
    """More questions at once than there are processes: each is answered, or told to come again."""
    page = case.page.enter()
    text = json.dumps({"ask": "verify"}).encode()
    connections = [page.connect() for _ in range(12)]
    for connection in connections:
        connection.sendall(f"POST /api/ask HTTP/1.1\r\n{page.fields()}Content-Length: {len(text)}\r\n\r\n".encode() + text)
    statuses = []
    for connection in connections:
        data = page.read(connection)
        statuses.append(int(data.split()[1]))
        connection.close()
    must(set(statuses) <= {200, 503} and statuses.count(200) >= 4, statuses)
    must(page.post("/api/ask", {"ask": "verify"}).status == 200, "afterwards")


def too_much_is_refused(case):
    """An answer that does not fit is an error, and not an empty one."""
    log = case.log.path.parent / "large.jsonl"
    with open(log, "w", encoding="ascii") as out:
        for _, line in generate_log.Generator(90000, now=datetime.datetime.now(datetime.timezone.utc)).records():
            out.write(line)
    process, page = case.log.serve(log)
    try:
        page.enter()
        answer = page.post("/api/ask", {"ask": "query", "words": {"limit": "90000"}}).json()
        must(answer["status"] == 3 and answer["out"] == "" and "too large" in answer["notes"], answer["status"], len(answer["out"]), answer["notes"][:200])
        must(page.post("/api/ask", {"ask": "query", "words": {"limit": "10"}}).json()["status"] == 0, "a small one")
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()
        log.unlink()


def shows_what_the_commands_print(case):
    """Each view against the command that it names."""
    page, log = case.open(), case.log
    must(page.text("#log") == str(log.path), page.text("#log"))
    # All of it: what is of the last seven days changes between two questions.
    page.run("const since = document.querySelector('#since'); since.value = ''; since.dispatchEvent(new Event('change'))")
    wait_for(lambda: "--since=36500d" in page.text("#command"), "the beginning")
    summary = json.loads(log.run("summary", "--json", "--since=36500d", f"--audit={log.path}"))
    sums = page.run(SUMS)
    for name, member in (("Runs", "runs"), ("Allowed", "allowed"), ("Denied", "denied"), ("Hosts", "hosts"), ("New hosts", "new_hosts"), ("Connections", "connections")):
        must(sums[name] == f"{summary[member]:,}", name, sums[name], summary[member])
    must(f"{summary['allowed']:,} allowed" in page.text("figcaption"), page.text("figcaption"))
    must("--by=day" in page.text("#command"), page.text("#command"))
    for view in VIEWS[2:]:
        case.tab(view)
        wanted = json.loads(log.run("report", "--json", f"--by={view}", "--since=36500d", f"--audit={log.path}"))["rows"][:2000]
        shown = page.run(TABLE)
        must(len(shown) == len(wanted), view, len(shown), len(wanted))
        for cells, row in zip(shown, wanted):
            must(cells[0] == row["key"] and cells[1:6] == [f"{row[name]:,}" for name in ("allowed", "denied", "unanswered", "failed", "connections")],
                 view, cells, row)
        must(page.text("#command") == f"sallyport audit report --by={view} --since=36500d --audit={log.path}", page.text("#command"))
    case.tab("records")
    search(page, verdict="deny", domain="tracker.test")
    case.done("records")
    shown = wait_for(lambda: [row for row in page.run(TABLE) if "tracker.test" in row[2]] if "--domain" in page.text("#command") else None, "the search")
    wanted = list(csv.DictReader(log.run("query", "--csv", "--verdict=deny", "--domain=tracker.test", "--limit=200",
                                         f"--audit={log.path}").splitlines()))[::-1]
    must([row[5] for row in shown] == [row["id"] for row in wanted], shown[:2], wanted[:2])
    must(all(row[1] == "deny" for row in shown) and page.text("#said-state").startswith(f"{len(shown)} records, the newest first"), page.text("#said-state"))
    search(page)
    wait_for(lambda: "older ones are left out" in page.text("#said-state"), "that there are more")
    must(len(page.run(TABLE)) == 200, "the limit")
    must((said := page.console()) == [], said)


def a_run_and_its_records(case):
    """From a sum to its records, and to everything that one record says; by the keyboard alone."""
    page = case.open()
    page.run("document.querySelector('#tab-overview').focus()")
    page.press(["Right", "Right"])
    case.done("run")
    run = page.run(TABLE)[0][0]
    page.run("document.querySelector('#panel tbody button').focus()")
    page.press(["Enter"])
    case.done("records")
    must(f"--run={run}" in page.text("#command"), page.text("#command"))
    rows = page.run(TABLE)
    must(rows and all(row[5].startswith(f"{run}.") for row in rows), rows[:3])
    decision = next(number for number, row in enumerate(rows) if row[1] == "deny")
    page.run("document.querySelectorAll('#panel tbody tr')[arguments[0]].querySelector('button').focus()", decision)
    page.press(["Enter"])
    why = case.log.run("why", f"--audit={case.log.path}", rows[decision][5])
    wait_for(lambda: page.text("#record-why") == why.rstrip("\n"), "why")
    wait_for(lambda: page.run("return document.querySelectorAll('#record-members dt').length") > 8, "the members")
    page.press(["Escape"])
    must(page.run("return document.querySelector('#record').open") is False, "Escape does not close it")
    page.press(["/"])
    must(page.run("return document.activeElement.id") == "host", "/ does not lead to the search")
    page.press(list("evil.test") + ["Enter"])
    wait_for(lambda: f"--host=evil.test --run={run}" in page.text("#command"), "the search")
    must(page.run(TABLE) == [] and page.text("#said-state") == "No record matches.", page.text("#said-state"))
    must((said := page.console()) == [], said)


def hostile_text_is_text(case):
    """What a command wrote into the log is never markup, and nothing that moves text is hidden."""
    page = case.open()
    case.tab("records")
    search(page, host="evil.test")
    wait_for(lambda: len(page.run(TABLE)) == 1, "the record")
    case.done("records")
    page.click("#panel tbody button")
    wait_for(lambda: page.run("return document.querySelectorAll('#record-members dt').length") > 8, "the members")
    for text in (page.text("#panel"), page.text("#record")):
        must("<img src=x onerror" in text and "\u202e" not in text and "\x1b" not in text and "\u200b" not in text, text)
    must(page.run("return document.title") == "Sallyport audit log" and page.run("return document.querySelector('#panel img, #record img, #record script')") is None, "markup")
    must((said := page.console()) == [], said)


def the_chain_is_checked(case):
    """Unbroken; then a changed byte is found, with its line."""
    page = case.open()
    page.click("#verify")
    wait_for(lambda: page.text("#state") == f"Chain unbroken, {RECORDS + 1:,} records", "the check")
    text = case.log.path.read_bytes()
    try:
        case.log.path.write_bytes(text.replace(b'"status":0', b'"status":1', 1))
        page.click("#verify")
        wait_for(lambda: "Chain broken" in page.text("#state"), "the broken chain")
        must(f"{case.log.path}:" in page.text("#notes"), page.text("#notes"))
    finally:
        case.log.path.write_bytes(text)


def fits_and_is_readable(case):
    """Every view in a large and a small window, light and dark; nothing is wider than the window."""
    page = case.open()
    for view in VIEWS:
        case.tab(view)
        page.run("document.querySelectorAll('#panel tbody tr').forEach((row, at) => at < 40 || row.remove())")  # the rest looks the same
        for size in LOOKS:
            for dark in (False, True):
                page.look(*size, dark=dark, still=True)
                must(page.run("return document.documentElement.scrollWidth <= innerWidth"), view, size, "is wider than the window")
                must((poor := page.run(CONTRAST)) == [], view, size, dark, poor[:5])
                case.picture(f"{view}-{size[0]}-{'dark' if dark else 'light'}")
        page.look()
    must((said := page.console()) == [], said)


def a_file_has_what_is_shown(case):
    page = case.open()
    with tempfile.TemporaryDirectory(prefix="sallyport-audit-") as folder:
        page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        case.tab("rule")
        page.click("#save")
        file = pathlib.Path(folder) / "sallyport-audit-rule.csv"
        wait_for(lambda: file.exists() and file.stat().st_size > 0, "the file")
        rows = list(csv.reader(file.read_text().splitlines()))
        must([row[0] for row in rows[1:]] == [row[0] for row in page.run(TABLE)] and rows[0][0] == "key", rows[:3])


def its_end_is_said(case):
    """The server has ended: the page says so, and does not show old data as new."""
    page = case.open()
    case.process.terminate()
    case.process.wait(10)
    page.click("#tab-host")
    wait_for(lambda: "cannot reach its server" in page.text("#closed-title"), "the end")
    must(page.run("return document.querySelector('#log-page').hidden"), "old data is shown")


CASES = (only_the_page_is_served, answers_are_bounded, too_much_is_refused, shows_what_the_commands_print, a_run_and_its_records, hostile_text_is_text, the_chain_is_checked,
         fits_and_is_readable, a_file_has_what_is_shown, its_end_is_said)


def main():
    if why := is_possible():
        print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return SKIP
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="sallyport-audit-") as folder, Browser() as browser:
        log = Log(sys.argv[1], pathlib.Path(folder))
        for function in CASES:
            name = function.__name__.replace("_", "-")
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            case = Case(log, browser)
            try:
                function(case)
                passed += 1
                print(f"passed {name}", flush=True)
            except Exception as reason:  # a broken test is a failed one
                failed += 1
                print(f"failed {name}: {reason if isinstance(reason, Failed) else traceback.format_exc()}", flush=True)
            finally:
                case.end()
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
