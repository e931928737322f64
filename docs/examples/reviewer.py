#!/usr/bin/python3
"""A reviewer for sallyport, as sallyport-reviewer(7) describes it: it reads and writes one JSON object on each line.

It denies the domains given with --deny, allows the hosts given with --allow to commands that only read, and leaves
everything else to people. For an agent it allows commands with the programs given with --run, in their sandbox, and denies
commands without a sandbox. Begin with such a reviewer in shadow mode, and look at the output of `sallyport approve reviewer`.

    sallyport run --reviewer '/usr/local/lib/reviewer.py --allow docs.example.org --deny paste.example.org' -- COMMAND
    reviewer /usr/local/lib/reviewer.py --run ls --run wc for exec        # in the policy of `sallyport agent`
"""
import argparse
import json
import sys

SENDS = ("--data", "--upload-file", "--form", "--request", " -d", " -T", " -F", " -X", "@")


def is_under(host, domain):
    return host == domain or host.endswith("." + domain)


def judge_other(question, programs):
    """A command, a patch, permissions: only commands are judged here."""
    if question["kind"] != "exec":
        return {"answer": "abstain", "reason": "not about a command"}
    if question["confinement"] == "none":
        return {"answer": "deny", "reason": "not without its sandbox"}
    argv = question["argv"]  # empty if something was hidden: such a command is not judged
    if argv and argv[0] in programs and not question["detail"]:
        return {"answer": "allow", "reason": "only reads"}
    return {"answer": "abstain", "reason": "not known: for a person"}


def judge(question, allowed, denied, programs):
    if "kind" in question:
        return judge_other(question, programs)
    host = question["host"]
    if any(is_under(host, domain) for domain in denied):
        return {"answer": "deny", "reason": "a place where data is left", "negative_ttl_s": 600}
    # command_count may be larger than the list: commands that are not listed are not judged.
    lines = question["commands"]
    is_reading = len(lines) == question["command_count"] and not any(word in line for line in lines for word in SENDS)
    if host in allowed and question["protocol"] == "https" and not question["risk"] and is_reading:
        return {"answer": "allow", "reason": "documentation, only read", "ttl_s": 60}
    return {"answer": "abstain", "reason": "not known: for a person"}


def main():
    options = argparse.ArgumentParser(description="A reviewer for sallyport.")
    options.add_argument("--allow", metavar="HOST", action="append", default=[])
    options.add_argument("--deny", metavar="DOMAIN", action="append", default=[])
    options.add_argument("--run", metavar="PROGRAM", action="append", default=[])
    given = options.parse_args()
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], **judge(asked, given.allow, given.deny, given.run)}), flush=True)


main()
