#!/usr/bin/env python3
"""escapes: the hostile program inside, one case in each run, as root and as an ordinary user. Its output is checked, and so is the
data that arrived outside.

usage: escapes.py SALLYPORT HOSTILE [CASE...]"""
import ctypes
import errno
import fcntl
import os
import pathlib
import pty
import pwd
import resource
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time

from harness import NO_SANDBOX, SKIP, Failed, Skip, descendants, main, must, nothing_left, wait_for
from outside import Outside

GATE_PORTS = ("61128", "61080")  # exec/exec.h


def verdict(done, err=False):
    """Judges the output of the hostile program."""
    said = (done.stderr if err else done.stdout).decode(errors="replace").strip()
    other = (done.stdout if err else done.stderr).decode(errors="replace").strip()
    if done.returncode == SKIP and said.startswith("skipped: "):
        raise Skip(said[len("skipped: "):])
    must(done.returncode == 0 and said.startswith("held: "), f"exit {done.returncode}: {said} {other}")


def hostile(world, user, *words, options=(), **how):
    verdict(world.run(user, [world.hostile, *words], options, **how))


def plain(name, *words):
    """A case that needs only the hostile program."""
    return name, lambda world, user: hostile(world, user, name, *words)


def direct(world, user):
    with Outside() as outside:
        pairs = outside.inet()
        must(outside.is_reached(socket.AF_INET, ("127.0.0.1", int(pairs[1]))), "the listener outside cannot be reached at all")
        hostile(world, user, "direct", *pairs, timeout=180)
        must(not outside.seen, "outside saw", outside.seen)


def without_netfilter():
    """In the child: a kernel without nf_tables. seccomp(2) refuses sockets of that family with EPROTONOSUPPORT."""
    load, equal, ret = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    number = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
    program = [(load, 0, 0, 0), (equal, 0, 5, number), (load, 0, 0, 16), (equal, 0, 3, socket.AF_NETLINK), (load, 0, 0, 32),
               (equal, 0, 1, 12), (ret, 0, 0, 0x50000 | errno.EPROTONOSUPPORT), (ret, 0, 0, 0x7fff0000)]
    code = b"".join(struct.pack("=HBBI", *line) for line in program)
    kept = ctypes.create_string_buffer(code)
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(filter_), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def uncaptured(world, user):
    """Without nf_tables nothing is captured: the run says so, nothing leads out, and the proxy works."""
    with Outside() as outside:
        pairs = outside.inet()
        done = world.run(user, [world.hostile, "direct", *pairs], timeout=180, preexec_fn=without_netfilter)
        verdict(done)
        must(b"cannot connect: this kernel does not let the sandbox capture connections" in done.stderr, done.stderr)
        must(not outside.seen, "outside saw", outside.seen)
    hostile(world, user, "gate-ports", *GATE_PORTS, preexec_fn=without_netfilter)


def unix_paths(world, user):
    with Outside() as outside:
        folders = [user.outside, user.work, pathlib.Path("/tmp"), user.base]
        if os.access("/run", os.W_OK):
            folders.append(pathlib.Path("/run"))
        if os.access("/dev/shm", os.W_OK):
            folders.append(pathlib.Path("/dev/shm"))
        paths = []
        for folder in folders:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                paths.append(outside.unix(str(folder / f"sp-{os.getpid()}-{user.name}-{int(kind)}"), kind))
        must(outside.is_reached(socket.AF_UNIX, paths[0]), "the socket outside cannot be reached at all")
        # By other names, too.
        link = user.work / "link"
        link.symlink_to(user.outside)
        hostile(world, user, "unix-paths", *paths, *(link / pathlib.Path(path).name for path in paths[:3]),
                *("/proc/self/root" + path for path in paths[:3]))
        must(not outside.seen, "outside saw", outside.seen)


def unix_abstract(world, user):
    with Outside() as outside:
        names = []
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            name = f"sp-{os.getpid()}-{user.name}-{int(kind)}"
            outside.unix("\0" + name, kind)
            names.append(name)
        must(outside.is_reached(socket.AF_UNIX, "\0" + names[0]), "the socket outside cannot be reached at all")
        hostile(world, user, "unix-abstract", *names)
        must(not outside.seen, "outside saw", outside.seen)


def wait_ready(user, process, name="ready"):
    must(wait_for(lambda: (user.work / name).exists() or process.poll() is not None, 20) and process.poll() is None,
         "the program inside did not come so far:", process.poll())


def clean(user, *names):
    for name in ("ready", "go", "done", "serving", "by-link", "hard", "flipped", "own", *names):
        (user.work / name).unlink(missing_ok=True)


def made_later(world, user, case, make):
    """The hostile case @case, which gets the result of make() after it has started inside."""
    with Outside() as outside:
        clean(user)
        folders = [user.work, user.outside, user.base]
        paths = [str(folder / f"late-{int(kind)}") for folder in folders
                 for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)]
        process = world.start(user, [world.hostile, case, *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            wait_ready(user, process)
            make(outside, paths)
            must(outside.is_reached(socket.AF_UNIX, paths[0]), "the socket outside cannot be reached at all")
            user.file(user.work / "go")
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
            process.wait()
            clean(user)
        verdict(subprocess.CompletedProcess([], process.returncode, out, err))
        must(not outside.seen, "outside saw", outside.seen)


KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)


def unix_late(world, user):
    made_later(world, user, "unix-late",
               lambda outside, paths: [outside.unix(path, KINDS[at % 3]) for at, path in enumerate(paths)])


def unix_rebound(world, user):
    """A daemon restarts: the cover disappears with the old socket file."""
    old = []
    for folder in (user.work, user.outside):
        old.append(socket.socket(socket.AF_UNIX))
        old[-1].bind(str(folder / "late-1"))

    def again(outside, paths):
        for folder in (user.work, user.outside):
            (folder / "late-1").unlink()
        for at, path in enumerate(paths):
            outside.unix(path, KINDS[at % 3])
    try:
        made_later(world, user, "unix-late", again)
    finally:
        for one in old:
            one.close()


REMEMBERED = """import errno, os, socket, time
names = [f"again-{at}" for at in range(100)]
def call(name):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        return client.connect_ex(name)
servers = []
for name in names:
    servers.append(socket.socket(socket.AF_UNIX))
    servers[-1].bind(name)
    servers[-1].listen(8)
for at in range(3):
    assert not any(call(name) for name in names), "an own socket is refused"
for at in range(30):
    child = os.fork()
    if child == 0:
        os._exit(call(names[at]) != 0)
    assert os.waitpid(child, 0)[1] == 0, "an own socket is refused to another process"
for server in servers[::2]:
    server.close()
for name in names:
    os.unlink(name)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
results = {call(name) for name in names}
print("reached" if 0 in results else "refused", results)
"""


def unix_remembered(world, user):
    """Names of own sockets that the command has connected to, with the host's sockets in their place."""
    clean(user)
    process = world.start(user, ["/usr/bin/python3", "-c", REMEMBERED], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with Outside() as outside:
        wait_ready(user, process)
        for at in range(100):
            outside.unix(str(user.work / f"again-{at}"))
        user.file(user.work / "go")
        out, err = process.communicate(timeout=60)
        must(process.returncode == 0 and out.startswith(b"refused"), out, err)
        must(not outside.seen, "outside saw", outside.seen)
    clean(user, *(f"again-{at}" for at in range(100)))


def unix_race(world, user):
    made_later(world, user, "unix-race",
               lambda outside, paths: [outside.unix(path, KINDS[at % 3]) for at, path in enumerate(paths)])


def unix_other_network(world, user):
    """A daemon of the host in another network namespace is in no list of sockets in this one."""
    path = user.work / "elsewhere"
    script = f"""import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind({str(path)!r}); s.listen(5); s.settimeout(60)
import os; os.chmod({str(path)!r}, 0o777); print("listening", flush=True)
try: s.accept(); print("reached", flush=True)
except OSError: pass"""
    daemon = subprocess.Popen(["unshare", "--user", "--map-root-user", "--net", "/usr/bin/python3", "-c", script],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=user.work, **user.ids())
    try:
        if daemon.stdout.readline() != b"listening\n":
            raise Skip("no network namespace, or no python3, for a daemon")
        hostile(world, user, "unix-paths", path)
        must(not select.select([daemon.stdout], [], [], 0.2)[0], "the daemon was reached")
    finally:
        daemon.kill()
        daemon.wait()
        path.unlink(missing_ok=True)


def unix_two_runs(world, user):
    """Files that one run leaves in a folder for the next."""
    clean(user, "relay")
    path = user.work / "relay"
    server = world.start(user, [world.hostile, "unix-serve", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_ready(user, server, "serving")
        hostile(world, user, "unix-paths", path, "relay")
        user.file(user.work / "done")
        out, err = server.communicate(timeout=30)
    finally:
        server.kill()
        server.wait()
        clean(user, "relay")
    verdict(subprocess.CompletedProcess([], server.returncode, out, err))


def unix_tmux(world, user):
    """A complete escape: a server of the host that runs any command it gets."""
    if not shutil.which("tmux"):
        raise Skip("there is no tmux")
    clean(user, "tmux")
    path, proof = user.work / "tmux", user.outside / "escaped"
    how = {"cwd": user.work, "env": user.environment(), "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
           "stderr": subprocess.DEVNULL, **user.ids()}
    process = world.start(user, ["sh", "-c", f": >ready; while [ ! -e go ]; do sleep 0.05; done; "
                                 f"tmux -S {path} new-window 'echo x >{proof}'; echo $?"], stdout=subprocess.PIPE)
    try:
        wait_ready(user, process)
        subprocess.run(["tmux", "-S", path, "-f", "/dev/null", "new-session", "-d", "sleep 60"], check=True, **how)
        user.file(user.work / "go")
        out, _ = process.communicate(timeout=30)
        must(out.strip() != b"0", "tmux did what it was told from inside")
        must(not wait_for(proof.exists, 1), "a server of the host ran a command for the sandbox")
        # The same from outside, so that the proof is one.
        subprocess.run(["tmux", "-S", path, "new-window", f"echo x >{proof}"], check=True, **how)
        must(wait_for(proof.exists), "tmux does not do it outside either")
    finally:
        subprocess.run(["tmux", "-S", path, "kill-server"], check=False, **how)
        process.kill()
        process.wait()
        clean(user, "tmux")
        proof.unlink(missing_ok=True)


def unix_own(world, user):
    clean(user)
    hostile(world, user, "unix-own")


def stdin_unix(world, user):
    """A socket of the host's network namespace looks names up there."""
    name = f"\0sp-stdin-{os.getpid()}-{user.name}"
    with Outside() as outside:
        outside.unix(name)
        must(outside.is_reached(socket.AF_UNIX, name), "the socket outside cannot be reached at all")
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        for given in (*(socket.socket(socket.AF_UNIX, kind) for kind in KINDS), pair[0]):
            done = world.run(user, ["true"], stdin=given)
            must(done.returncode == NO_SANDBOX and b"Unix socket" in done.stderr, "given one, it ended with", done.returncode,
                 done.stderr)
            given.close()
        pair[1].close()
        ours, theirs = socket.socketpair()
        ours.send(b"words\n")
        ours.shutdown(socket.SHUT_WR)
        must(world.run(user, ["cat"], stdin=theirs).stdout == b"words\n", "a connected one does not work")
        must(not outside.seen, "outside saw", outside.seen)


def write_outside(world, user):
    hostile(world, user, "write-outside", user.outside, user.base, user.home, "/var/tmp")


def look(path):
    what = os.stat(path)
    return (what.st_ino, what.st_mode, what.st_uid, what.st_size, what.st_mtime_ns, what.st_ctime_ns, what.st_nlink,
            pathlib.Path(path).read_bytes())


def change(world, user):
    path = user.file(user.outside / "file")
    before = look(path)
    hostile(world, user, "change", path, world.hostile)
    must(look(path) == before, "the file has changed")


def protected(world, user):
    """Policy and audit below the working directory: neither they nor the folders above them can be changed or moved."""
    policy = user.file(user.work / "conf" / "deep" / "policy", "version 1\ndeny example.org\n")
    audit = user.work / "log" / "deep" / "audit.jsonl"
    user.file(audit.parent / "other")
    before = look(policy)
    world.trust(user, policy)
    options = ["--policy", policy, "--audit", audit]
    world.run(user, ["true"], options)  # the audit log is there from now on
    hostile(world, user, "parent-rename", policy, audit, f"{audit}.head", options=options)
    must(look(policy) == before, "the policy has changed")
    checked = subprocess.run([str(world.sallyport), "audit", "verify", str(audit)], capture_output=True, **user.ids(),
                             env=user.environment())
    must(checked.returncode == 0, "the audit log does not verify:", checked.stdout, checked.stderr)


def places(user, home):
    """The gate's folders, which no program inside may see."""
    return [home / ".config/sallyport", home / ".local/state/sallyport", user.runtime / "sallyport"]


def hidden(world, user):
    for path in places(user, user.home)[:2]:
        user.file(path / "policy", "version 1\n")
    paths = places(user, user.home)
    hostile(world, user, "hidden", *paths, *(path / "policy" for path in paths[:2]))
    # There is a control socket while a command runs, or it would be easy to hide.
    process = world.start(user, ["sleep", "60"], stdout=subprocess.DEVNULL)
    try:
        must(wait_for(lambda: any(path.is_socket() for path in paths[2].iterdir())), "there is no control socket")
        sockets = [path for path in paths[2].iterdir() if path.is_socket()]
        hostile(world, user, "unix-paths", *sockets)
    finally:
        process.kill()
        process.wait()


def hidden_below_home(world, user):
    """The working directory is the home directory: a hidden path is inside a writable one."""
    env = {"HOME": str(user.work)}
    paths = places(user, user.work)[:2]
    for path in paths:
        user.file(path / "policy", "version 1\n")
    hostile(world, user, "hidden", *paths, *(path / "policy" for path in paths), env=env, options=["--write", user.work])
    hostile(world, user, "parent-rename", *(path / "policy" for path in paths), env=env, options=["--write", user.work])
    for path in paths:
        must((path / "policy").read_text() == "version 1\n", "the policy has changed")


def absent(world, user):
    made = []
    try:
        for folder in ("/tmp", "/run", "/dev/shm"):
            if os.access(folder, os.W_OK):
                handle, path = tempfile.mkstemp(dir=folder)
                os.close(handle)
                os.chmod(path, 0o644)
                made.append(path)
        hostile(world, user, "absent", *made)
    finally:
        for path in made:
            os.unlink(path)


def stdin_again(world, user):
    path = user.file(user.outside / "stdin")
    before = look(path)
    with open(path, "rb") as stdin:
        hostile(world, user, "stdin-again", stdin=stdin)
    with open(path, "r+b") as stdin:  # opened for both: what is at fault is the view, not the mode
        done = world.run(user, [world.hostile, "stdin-again"], stdin=stdin)
    must(done.returncode in (0, NO_SANDBOX), done.stdout, done.stderr)
    must(look(path)[:6] == before[:6] and look(path)[7] == before[7], "the file has changed")


def stdout_again(world, user):
    path = user.file(user.outside / "stdout")
    with open(path, "ab") as stdout:
        verdict(world.run(user, [world.hostile, "stdout-again"], stdout=stdout), err=True)
    must(path.read_text() == "content\n", "the file has changed")


def outputs_by_name(world, user):
    """/dev/stdout and /dev/stderr are the files that the caller gave, as in any shell."""
    path = user.file(user.outside / "stderr")
    with open(path, "wb") as stderr:
        done = world.run(user, ["sh", "-c", "echo out >/dev/stdout && echo err >/dev/stderr"], stdout=subprocess.DEVNULL,
                         stderr=stderr)
    must(done.returncode == 0 and path.read_text() == "err\n", done.returncode, path.read_text())


def moves_between_directories(world, user):
    """Renames and links from one directory into another, as package managers make them: not one may be EXDEV."""
    script = ("import os\nfor top in ('.', '/tmp'):\n os.chdir(top)\n os.mkdir('one')\n os.mkdir('two')\n open('one/f', 'w').close()\n"
              " os.link('one/f', 'two/g')\n os.rename('one/f', 'two/f')\n os.rename('two', 'one/two')\n")
    done = world.run(user, ["python3", "-c", script])
    must(done.returncode == 0, done.stderr)


def buried(world, user):
    """A hidden path in a hidden folder, such as the log by default."""
    folder = user.outside / "closed"
    user.file(folder / "secret")
    done = world.run(user, ["sh", "-c", f"! cat {folder}/secret && ! ls {folder}"],
                     options=["--deny-read", str(folder), "--deny-read", str(folder / "secret")])
    must(done.returncode == 0, done.stderr)


def stdin_directory(world, user):
    handle = os.open(user.outside, os.O_RDONLY | os.O_DIRECTORY)
    try:
        done = world.run(user, [world.hostile, "stdin-again"], stdin=handle)
    finally:
        os.close(handle)
    must(done.returncode == NO_SANDBOX and not done.stdout and b"directory" in done.stderr,
         f"exit {done.returncode}", done.stdout, done.stderr)


def stdin_connection(world, user):
    """A connection of the host on a standard descriptor is network access that the caller gave."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        with socket.create_connection(listener.getsockname()) as connection:
            done = world.run(user, [world.hostile, "stdin-again"], stdin=connection)
    must(done.returncode == NO_SANDBOX and not done.stdout, f"exit {done.returncode}", done.stdout, done.stderr)


def inherited(world, user):
    file = os.open(user.outside, os.O_RDONLY)
    pair = socket.socketpair()
    numbers = []
    try:
        for number in (3, 16, 255, 1000):
            numbers.append(fcntl.fcntl(file if number % 2 else pair[0].fileno(), fcntl.F_DUPFD, number))
        hostile(world, user, "inherited", pass_fds=numbers)
    finally:
        os.close(file)
        for number in numbers:
            os.close(number)
        for end in pair:
            end.close()


def outside_processes(world, user):
    neighbour = subprocess.Popen(["sleep", "60"], **user.ids())
    try:
        hostile(world, user, "outside-processes", os.getpid(), os.getppid(), neighbour.pid)
        must(neighbour.poll() is None, "a process outside has ended")
    finally:
        neighbour.kill()
        neighbour.wait()


def set_uid_of_the_system(world, user):
    """As set_uid(), for users who cannot make such programs: passwd -S shows dates only if it may read /etc/shadow."""
    ask = ["passwd", "-S", pwd.getpwuid(os.geteuid()).pw_name]
    outside = subprocess.run(ask, capture_output=True).stdout.split()
    must(len(outside) > 2, f"passwd -S does not work outside either: {outside}")
    inside = world.run(user, ask).stdout.split()
    must(len(inside) <= 2, f"a set-uid program had its rights inside: {inside}")


def set_uid(world, user):
    if os.geteuid() != 0:
        return set_uid_of_the_system(world, user)
    other = 0 if user.uid else 61235
    programs = []
    for name, uid, mode in (("set-uid", other, 0o4755), ("set-gid", other, 0o2755), ("both", other, 0o6755)):
        path = user.outside / name
        path.write_bytes(world.hostile.read_bytes())
        os.chown(path, uid, uid)
        path.chmod(mode)
        programs.append(path)
    capable = user.outside / "capable"
    capable.write_bytes(world.hostile.read_bytes())
    capable.chmod(0o755)
    try:  # VFS_CAP_REVISION_2 with the effective bit, everything permitted
        os.setxattr(capable, "security.capability", struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0x1ff, 0))
        programs.append(capable)
    except OSError as error:
        must(error.errno == errno.ENOTSUP, error)
    hostile(world, user, "set-uid", *programs)


def environment(world, user):
    names = ["SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "TMUX_PANE", "STY",
             "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "NOTIFY_SOCKET", "LISTEN_FDS", "LOCALDOMAIN", "RES_OPTIONS",
             "HOSTALIASES", "LD_LIBRARY_PATH", "SALLYPORT_TOKEN", "foo_proxy"]
    env = {name: "/secret" for name in names}
    # Set for the host, so that what is seen inside has been taken away or replaced.
    env.update(http_proxy="http://user:secret@127.0.0.1:3128", NO_PROXY="*", no_proxy="*")
    hostile(world, user, "environment", *names, "XDG_RUNTIME_DIR", env=env)
    said = world.run(user, ["env"], env=env).stdout.decode()
    lines = said.splitlines()
    must("secret" not in said, said)
    must("http_proxy=http://127.0.0.1:61128" in lines and "NO_PROXY=" in lines and "no_proxy=" in lines, said)


def terminal(world, user):
    """On its own terminal: text that the command types does not reach another program."""
    master, slave = pty.openpty()
    if os.geteuid() == 0:
        os.fchown(slave, user.uid, -1)
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    try:
        process = world.start(user, [world.hostile, "terminal"], stdin=slave, stdout=slave, stderr=slave,
                              start_new_session=True)
        said = b""
        until = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        must(process.poll() is not None, "did not end")
        os.set_blocking(master, False)
        try:
            while chunk := os.read(master, 4096):
                said += chunk
        except OSError:
            pass
        verdict(subprocess.CompletedProcess([], process.returncode, said, b""))
        os.set_blocking(slave, False)
        try:
            typed = os.read(slave, 100)
        except BlockingIOError:
            typed = b""
        must(not typed, "something was typed into the terminal:", typed)
    finally:
        os.close(master)
        os.close(slave)


def no_terminal(world, user):
    """Started from a terminal, but with none of its descriptors."""
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    try:
        hostile(world, user, "no-terminal", preexec_fn=take_terminal, pass_fds=[slave])
    finally:
        os.close(master)
        os.close(slave)


def fifos(world, user):
    path = user.outside / "fifo"
    os.mkfifo(path, 0o666)
    path.chmod(0o666)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        hostile(world, user, "fifos", path)
        must(not os.read(reader, 100), "something was written into the FIFO")
    finally:
        os.close(reader)


def devices(world, user):
    """Nodes of the host's, outside /dev: memory, null."""
    nodes = []
    if os.geteuid() == 0:
        for number, minor in enumerate((1, 3)):
            path = user.outside / f"node{number}"
            try:
                os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
                path.chmod(0o666)
                nodes.append(path)
            except PermissionError:
                pass  # in a container nobody can make them
    hostile(world, user, "devices", *nodes)


def trace_me(world, user):
    done = world.run(user, [world.hostile, "trace-me"])
    must(done.returncode == 5, f"exit {done.returncode}, not 5: {done.stderr}")


def daemon_stays(world, user):
    before = set(descendants())
    started = time.monotonic()
    # Its output is a pipe that the daemon holds too: if it lived, this would take its 30 seconds.
    hostile(world, user, "daemon-stays", 30)
    must(time.monotonic() - started < 20, "the end was not seen while a daemon held the output")
    left = nothing_left(but=before)
    must(not left, "left:", left)


PASSES = """import array, resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
left, right = socket.socketpair()
left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 253))])
"""


def in_flight(world, user):
    """The user's other programs can pass descriptors while the command has as many in flight as it can."""
    run = world.start(user, [world.hostile, "in-flight"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    line = run.stdout.readline().decode()
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
    outside = subprocess.run([python, "-c", PASSES], capture_output=True, **user.ids())
    out, _ = run.communicate(b"x", timeout=60)
    must("in flight" in line and run.returncode == 0, line, out.decode(errors="replace"))
    must(outside.returncode == 0, outside.stderr.decode(errors="replace"))


def limits(world, user):
    """Since Linux 6.14 a sandbox has its own limit of process ids."""
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    signals = 2048
    if resource.getrlimit(resource.RLIMIT_SIGPENDING)[1] not in range(signals):
        resource.setrlimit(resource.RLIMIT_SIGPENDING, (signals, signals))
    hostile(world, user, "limits", str(signals), "own-pids" if release >= (6, 14) else "")


cases = [
    ("direct", direct),
    ("uncaptured", uncaptured),
    plain("raw"),
    plain("families"),
    plain("netlink"),
    plain("interfaces"),
    plain("gate-ports", *GATE_PORTS),
    ("unix-paths", unix_paths),
    ("unix-abstract", unix_abstract),
    ("unix-late", unix_late),
    ("unix-rebound", unix_rebound),
    ("unix-remembered", unix_remembered),
    ("unix-race", unix_race),
    ("unix-other-network", unix_other_network),
    ("unix-two-runs", unix_two_runs),
    ("unix-tmux", unix_tmux),
    ("unix-own", unix_own),
    ("in-flight", in_flight),
    ("stdin-unix", stdin_unix),
    plain("io-uring"),
    plain("shrinking"),
    plain("new-namespaces"),
    plain("enter-namespaces"),
    plain("mounts"),
    plain("surface"),
    plain("personalities"),
    plain("other-tables"),
    plain("own-filter"),
    plain("traced-call"),
    plain("read-init"),
    plain("trace-init"),
    plain("kill-init"),
    plain("slow-init"),
    ("trace-me", trace_me),
    ("outside-processes", outside_processes),
    ("inherited", inherited),
    plain("capabilities"),
    ("set-uid", set_uid),
    plain("other-ids"),
    ("terminal", terminal),
    ("no-terminal", no_terminal),
    ("daemon-stays", daemon_stays),
    plain("leases"),
    ("limits", limits),
    ("environment", environment),
    ("write-outside", write_outside),
    ("change", change),
    ("protected", protected),
    ("hidden", hidden),
    ("hidden-below-home", hidden_below_home),
    ("absent", absent),
    plain("kernel-files"),
    ("devices", devices),
    ("fifos", fifos),
    ("stdin-again", stdin_again),
    ("stdout-again", stdout_again),
    ("outputs-by-name", outputs_by_name),
    ("moves-between-directories", moves_between_directories),
    ("buried", buried),
    ("stdin-directory", stdin_directory),
    ("stdin-connection", stdin_connection),
]

if __name__ == "__main__":
    sys.exit(main(cases, 2))
