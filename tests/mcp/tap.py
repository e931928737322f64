"""tap: between `sallyport mcp`, played by mcp-front, and an agent: every line in both directions is checked against
docs/schema/agent. Members that the client fills in freely are passed on unchanged: the agent refuses wrong ones."""
import json
import socket
import threading

import harness
from world import until


class Tap:
    def __init__(self, stage, *options):
        """@options are the agent's. The front's end of it is .path."""
        folder = stage.top / f"tap{len(stage.made)}"
        folder.mkdir(mode=0o700)
        self.path, self.behind, self.wrong, self.methods = folder / "front", folder / "agent", {}, {}
        self.process = stage.client("--socket", str(self.behind), *options).process
        until(self.behind.exists, harness.PATIENCE, "the agent listens")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        stage.made.append(self)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        front, _ = self.listener.accept()
        agent = socket.socket(socket.AF_UNIX)
        agent.connect(str(self.behind))
        for kind, source, sink in (("submission", front, agent), ("event", agent, front)):
            threading.Thread(target=self.carry, args=(kind, source, sink), daemon=True).start()

    def carry(self, kind, source, sink):
        try:
            for line in source.makefile("rb"):
                message = json.loads(line)
                try:
                    self.check(kind, message)
                except (AssertionError, KeyError) as wrong:
                    self.wrong[message.get("id") if kind == "submission" else len(self.wrong)] = repr(wrong)
                if "error" in message:
                    self.wrong.pop(message["id"], None)
                sink.sendall(line)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other end is gone
        except ValueError as wrong:
            self.wrong["line"] = f"no JSON is said by the {kind} side: {wrong}"

    def check(self, kind, message):
        if kind == "event":
            return harness.events_of(message, self.methods)
        harness.check("message", message)
        self.methods.setdefault(message["id"], message["method"])
        return harness.check(f"submission-{message['method']}", message["params"])

    def never(self, *_):
        """The functions of a client that harness.play calls."""
        assert not self.wrong, self.wrong
