"""stage: controls page-stage from a test: it sends scenes and reads a person's actions."""
import json
import queue
import subprocess
import threading

from browser import Failed


class Stage:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def do(self, op, **scene):
        self.process.stdin.write(json.dumps({"op": op, **scene}) + "\n")
        self.process.stdin.flush()

    def ask(self, number, host, **scene):
        self.do("ask", id=f"7f3a-{number}", host=host, **scene)

    def said(self, seconds=60.0):
        """The next line."""
        try:
            return self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failed("the stage said nothing") from None

    def is_silent(self, seconds=0.7):
        try:
            return self.lines.get(timeout=seconds) and False
        except queue.Empty:
            return True

    def close(self):
        if self.process.returncode is not None:
            return
        self.process.stdin.close()
        status = self.process.wait(10)
        self.thread.join(10)
        self.process.stdout.close()
        if status:
            raise Failed(f"page-stage ended with {status}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
