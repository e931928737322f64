#!/usr/bin/env python3
"""The files for a service manager, checked with its own tools: they are valid, and a session starts from its socket.

usage: activation.py SALLYPORT activate"""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import session as sessions  # noqa: E402
from session import QUICK, until  # noqa: E402

UNIT = "sallyport-session@work"
UNITS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "systemd"


def units(world):
    """As they are installed, for one session."""
    folder = world.top / "units"
    folder.mkdir()
    service = (UNITS / "sallyport-session@.service.in").read_text().replace("@bindir@", os.path.dirname(world.sallyport))
    listener = (UNITS / "sallyport-session@.socket").read_text()
    (folder / f"{UNIT}.service").write_text(service)
    (folder / f"{UNIT}.socket").write_text(listener)
    for name in ("service", "socket"):
        verified = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", folder / f"{UNIT}.{name}"], env=world.env,
                                  capture_output=True, text=True, timeout=QUICK)
        assert verified.returncode == 0 and not verified.stderr, verified
    return service, listener


def activate(world):
    service, listener = units(world)
    # what the units say, with the specifiers of systemd.unit(5)
    path, = re.findall(r"^ListenSequentialPacket=(.*)$", listener, re.MULTILINE)
    path = path.replace("%t", world.env["XDG_RUNTIME_DIR"]).replace("%i", "work")
    command, = re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE)
    command = command.replace("%i", "work").replace("30m", "5s").split()
    assert world.session("list").stdout == "no session exists\n"  # makes the folder
    variables = [word for name in world.env for word in ("-E", name)]
    manager = subprocess.Popen(["systemd-socket-activate", "--seqpacket", "-l", path, *variables, *command], env=world.env,
                               cwd=world.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: pathlib.Path(path).is_socket(), QUICK, "it listens")
    assert world.session("list").stdout == "no session exists\n", "to look must not start it"
    first = world.join("work", "echo joined > first")
    assert first.wait(QUICK) == 0 and world.text("first") == "joined", first.text("err")
    assert world.holder("work") == manager.pid and world.state("work"), "another session than that of the socket"
    second = world.join("work", "echo again > second")
    assert second.wait(QUICK) == 0 and world.text("second") == "again", second.text("err")
    out, err = manager.communicate(timeout=QUICK)
    assert manager.returncode == 0 and out == "work\n", (out, err)
    assert pathlib.Path(path).is_socket(), "the socket is the manager's"


if __name__ == "__main__":
    sys.exit(sessions.main({"activate": activate}))
