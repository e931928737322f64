#!/usr/bin/env python3
"""sockets: `socket PATH` of a policy opens that socket of the host to the command, and no other.

usage: sockets.py SALLYPORT [CASE...]"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from harness import NO_SANDBOX, main, must, wait_for


class Server:
    """A daemon of the host's: answers any request over HTTP with its name."""

    def __init__(self, user, path, word):
        self.path, self.word = str(path), word
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        os.chmod(self.path, 0o666)
        if os.geteuid() == 0:
            os.chown(self.path, user.uid, user.uid)
        self.socket.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                client, _ = self.socket.accept()
                client.recv(65536)
                client.sendall(f"HTTP/1.0 200 OK\r\n\r\n{self.word}\n".encode())
                client.close()
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if os.path.exists(self.path):
            os.unlink(self.path)


def ask(path):
    return f"curl -s -m 5 --noproxy '*' --unix-socket {path} http://x/ || echo failed $?"


def inside(world, user, script, lines=(), options=(), want=0, **how):
    path = user.file(user.base / "test.policy", "".join(line + "\n" for line in lines))
    done = world.run(user, ["sh", "-c", script], ["--policy", path, *options], **how)
    out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    must(want is None or done.returncode == want, f"exit {done.returncode}:", out, err)
    return out, err


def granted(world, user):
    """Where the command may read, where it has an empty directory of its own, and where it may write."""
    with tempfile.TemporaryDirectory(prefix="sallyport-test-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        for path in (user.outside / "daemon", folder + "/daemon", user.work / "daemon"):
            other = str(path) + "-2"
            with Server(user, path, "served"), Server(user, other, "wrong"):
                out, _ = inside(world, user, f"{ask(path)}; {ask(other)}", [f"socket {path}"])
                must(out.splitlines()[0] == "served" and out.splitlines()[1].startswith("failed"), path, out)
                out, err = inside(world, user, ask(path), options=["--report", "text"])
                must(out.startswith("failed") and f"cannot connect to the host's socket {path} (allow with a line `socket {path}`" in err, path, out, err)
                out, _ = inside(world, user, ask(path), [f"socket {path}"], ["--sandbox", "read-only"])
                must(out == "served\n", path, out)


def by_variable(world, user):
    with Server(user, user.outside / "by-variable", "served") as server:
        env = {"SSH_AUTH_SOCK": server.path}
        out, _ = inside(world, user, ask('"$SSH_AUTH_SOCK"'), ["socket $SSH_AUTH_SOCK"], env=env)
        must(out == "served\n", out)
        out, _ = inside(world, user, 'echo "${SSH_AUTH_SOCK-unset}"', env=env)
        must(out == "unset\n", out)
        # Not set: there is nothing to reach; not a path: nothing is run.
        inside(world, user, "true", ["socket $NO_SUCH_VARIABLE"])
        inside(world, user, "true", ["socket $SSH_AUTH_SOCK"], env={"SSH_AUTH_SOCK": "unix:path=/x"}, want=3)


def ssh_agent(world, user):
    """A real ssh agent, which checks its peers."""
    if not shutil.which("ssh-agent"):
        return by_variable(world, user)
    path = user.outside / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL, **user.ids())
    try:
        must(wait_for(path.exists), "the agent has no socket")
        script = "for i in 1 2 3 4 5 6 7 8 9; do ssh-add -l 2>&1; [ $? -eq 1 ] && exit 0; sleep 0.2; done; exit 9"
        inside(world, user, script, ["socket $SSH_AUTH_SOCK"], env={"SSH_AUTH_SOCK": str(path)})
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def put_there_later(world, user):
    """Where the command may write, it is the socket that was there at the start: no other that is put in its place."""
    named, secret = user.work / "named", user.outside / "secret"
    with Server(user, named, "served"), Server(user, secret, "secret"):
        script = f"rm {named}; ln -s {secret} {named}; {ask(named)}"
        out, _ = inside(world, user, script, [f"socket {named}"])
        must(out.startswith("failed"), out)
        # The link is no longer what the policy's author named.
        must(os.path.islink(named), "nothing was tried")
        _, err = inside(world, user, "true", [f"socket {named}"], want=3)
        must("could redirect it" in err, err)
        os.unlink(named)


def starts_again(world, user):
    """In a folder that the command may not write, any socket of the name is used, so the daemon may be restarted."""
    path = user.outside / "again"
    first = Server(user, path, "first")
    policy = user.file(user.base / "again.policy", f"socket {path}\n")
    script = f"{ask(path)}; touch ready; until [ -e go ]; do sleep 0.05; done; {ask(path)}"
    for name in ("ready", "go"):
        (user.work / name).unlink(missing_ok=True)
    run = world.start(user, ["sh", "-c", script], ["--policy", policy], stdout=subprocess.PIPE)
    must(wait_for((user.work / "ready").exists, 60), "the command did not begin")
    first.__exit__()
    with Server(user, path, "second"):
        user.file(user.work / "go")
        out, _ = run.communicate(timeout=60)
    must(out == b"first\nsecond\n", out)


def refused(world, user):
    """Files that are not sockets, and the gate's own sockets, are refused."""
    plain = user.file(user.outside / "plain")
    _, err = inside(world, user, "true", [f"socket {plain}"], want=NO_SANDBOX)
    must("is not a socket" in err, err)
    inside(world, user, "true", [f"socket {user.outside}/missing"])
    control = user.runtime / "sallyport"
    control.mkdir(mode=0o700, exist_ok=True)
    user.own(control)
    with Server(user, control / "x", "control"):
        _, err = inside(world, user, "true", [f"socket {control}/x"], want=NO_SANDBOX)
        must("the sandbox denies it" in err, err)


CREDENTIALS = """
import os, socket, struct, threading
who = struct.Struct("iII")
for kind in (socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM):
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)

    def sender(claimed=None):
        told = [] if claimed is None else [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, who.pack(claimed, os.getuid(), os.getgid()))]
        ours.sendmsg([b"x"], told)
        (_, _, data), = theirs.recvmsg(9, 999)[1]
        return who.unpack(data) == (os.getpid(), os.getuid(), os.getgid())

    def refuses(claimed):
        try:
            return not sender(claimed)
        except PermissionError:
            return True

    child = os.fork()
    if not child:
        found = [sender(), sender(os.getpid()), refuses(os.getppid()), refuses(1), refuses(-1)]
        thread = threading.Thread(target=lambda: found.append(sender()))
        thread.start()
        thread.join()
        os._exit(0 if len(found) == 6 and all(found) else 1)
    print(kind.name, os.waitpid(child, 0)[1])
"""


def credentials(world, user):
    """A receiver that asks which process sent a message is told: itself, in a thread too, and never another one."""
    done = world.run(user, ["/usr/bin/python3", "-c", CREDENTIALS], [])
    must(done.returncode == 0 and done.stdout.split() == b"SOCK_SEQPACKET 0 SOCK_STREAM 0 SOCK_DGRAM 0".split(), done)


cases = [(function.__name__, function) for function in (granted, by_variable, ssh_agent, put_there_later, starts_again, refused, credentials)]

if __name__ == "__main__":
    sys.exit(main(cases, 1))
