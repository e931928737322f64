"""puppet: an agent that does what the editor's messages of the method "do" say, for acp.py: "say" writes these lines to stdout, as they
are; "get" fetches an address; "close" closes stdout; "shout" writes to stderr; "exit" ends. Every other message is kept in the file
"heard", in the order of arrival."""
import json
import os
import subprocess
import sys
import threading

heard = open("heard", "a", buffering=1)


def say(lines):
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def get(url):
    def fetch():
        run = subprocess.run(["curl", "-sS", "-m", "100", "-o", "/dev/null", "-w", "%{http_code}", url], capture_output=True, text=True)
        heard.write(json.dumps({"got": run.stdout}) + "\n")

    threading.Thread(target=fetch).start()


for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") != "do":
        heard.write(line)
        continue
    for what, given in message["params"].items():
        if what == "say":
            say(given)
        elif what == "say_much":
            say([given["line"] * given["times"]])
        elif what == "get":
            get(given)
        elif what == "close":
            os.close(1)
        elif what == "shout":
            sys.stderr.write(given)
            sys.stderr.flush()
        elif what == "exit":
            os._exit(given)
heard.write('{"end": true}\n')
