#!/usr/bin/python3
"""A reviewer for sallyport, as sallyport-reviewer(7) describes it: one JSON object a line in, one out.

It denies what is known for taking data away, allows two documentation sites to commands that only read, and leaves
everything else to people. Begin with one like this in shadow mode, and look at what `sallyport approve reviewer` says.
"""
import json
import sys

TAKES_DATA_AWAY = ("pastebin.com", "webhook.site", "ngrok.app", "requestbin.com")
READS = {"docs.python.org", "man7.org"}
WRITES = ("--data", "--upload-file", "--form", "-d ", "-T ", "-F ", "-X ")


def is_under(host, domain):
    return host == domain or host.endswith("." + domain)


def judge(question):
    host = question["host"]
    if any(is_under(host, domain) for domain in TAKES_DATA_AWAY):
        return {"answer": "deny", "reason": "a place where data is left", "negative_ttl_s": 600}
    if question["protocol"] != "https" or question["risk"]:
        return {"answer": "abstain", "reason": "for a person"}
    # command_count may be more than what is listed: what is not seen is not judged.
    seen = question["commands"]
    is_reading = len(seen) == question["command_count"] and not any(word in line for line in seen for word in WRITES)
    if host in READS and is_reading:
        return {"answer": "allow", "reason": "documentation, only read", "ttl_s": 60}
    return {"answer": "abstain", "reason": "not known"}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], **judge(asked)}), flush=True)
