#!/usr/bin/env python3
"""`./dev run` without a command: the demonstration, with a free port 80, with a used one, and without a namespace for it.
usage: demo.py SALLYPORT DEMO"""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "flow"))
import world

TIMEOUT_S = 120


def play(folder, *launcher):
    """Its status and its output; it leaves nothing in the folder for temporary files."""
    temporary = os.path.join(folder, "tmp")
    os.mkdir(temporary)
    proxyless = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment = {**proxyless, "TMPDIR": temporary, "HOME": folder, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder,
                   "XDG_RUNTIME_DIR": folder}
    done = subprocess.run([*launcher, sys.executable, *reversed(sys.argv[1:3])], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
    assert os.listdir(temporary) == [], os.listdir(temporary)
    return done.returncode, done.stdout


def tour(folder):
    status, said = play(folder)
    assert status == 0 and "8 allowed" in said and "unbroken" in said, said


def port_is_taken(folder):
    with socket.create_server(("127.128.0.1", 80)):
        status, said = play(folder)
    assert status == 0 and "port 80 is used by another program" in said and "8 allowed" in said, said


def no_namespaces(folder):
    """In a user namespace that may have no other below it."""
    with socket.create_server(("127.128.0.1", 80)):
        status, said = play(folder, "unshare", "-Ur", "sh", "-c",
                            'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh")
    assert status == 125 and "Sallyport needs user namespaces" in said and "Traceback" not in said, (status, said)


CASES = [tour, port_is_taken, no_namespaces]


def main():
    world.enter_namespace()
    failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="sallyport-test-") as folder:
            try:
                case(folder)
            except AssertionError as why:
                print(f"not ok  {case.__name__}: {why}")
                failed += 1
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
