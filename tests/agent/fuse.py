"""fuse: a file system that answers when the test says so. The folder contains any name that begins with "held", which is not
found before release(), and `slow`, whose bytes are not read before it; with holds=READDIR the folder is not listed before it."""
import ctypes
import os
import struct
import threading

CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 1 << 18, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH = 1, 2, 3, 14, 15, 17, 18, 25
INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 26, 27, 28, 29, 36, 42
FOLDER, SLOW = 1, 2
BYTES = 4096
libc = ctypes.CDLL(None, use_errno=True)


def own_mounts():
    """From here on, only this program and its children see its mounts."""
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "a mount namespace")


def is_there():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return True


def attributes(node):
    mode, links = (0o40755, 2) if node == FOLDER else (0o100755, 1)
    return struct.pack("<6Q3I", node, 0 if node == FOLDER else BYTES, 1, 0, 0, 0, 0, 0, 0) + struct.pack(
        "<7I", mode, links, os.getuid(), os.getgid(), 0, 4096, 0)


class Fuse:
    def __init__(self, place, holds=READ):
        self.place, self.held, self.holds = place, [], holds
        self.changed, self.is_open = threading.Condition(), False
        place.mkdir()
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        if libc.mount(b"test", str(place).encode(), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")
        threading.Thread(target=self.serve, daemon=True).start()

    def reply(self, unique, error=0, body=b""):
        try:
            os.write(self.fd, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
        except OSError:
            pass  # the process that asked has ended

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 18)
            except OSError:
                return
            if not request:
                return
            _, code, unique, node = struct.unpack_from("<IIQQ", request)
            body = request[40:]
            is_held = (code == LOOKUP and body.startswith(b"held")) or code == self.holds
            with self.changed:
                if is_held and not self.is_open:
                    self.held.append((code, unique))
                    self.changed.notify_all()
                    continue
            self.answer(code, unique, node, body)

    def answer(self, code, unique, node, body):
        if code == INIT:
            self.reply(unique, body=struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8))
        elif code == GETATTR:
            self.reply(unique, body=struct.pack("<QII", 0, 0, 0) + attributes(node))
        elif code == LOOKUP and body == b"slow\0":
            self.reply(unique, body=struct.pack("<4Q2I", SLOW, 0, 0, 0, 0, 0) + attributes(SLOW))
        elif code == LOOKUP:
            self.reply(unique, error=2)
        elif code in (OPEN, OPENDIR):
            self.reply(unique, body=struct.pack("<QII", 0, 0, 0))
        elif code == READ:
            self.reply(unique, body=b"/nowhere".ljust(BYTES, b"\0"))
        elif code == STATFS:
            self.reply(unique, body=bytes(80))
        elif code in (READDIR, RELEASE, RELEASEDIR, FLUSH):
            self.reply(unique)
        elif code not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.reply(unique, error=38)

    def wait(self, count=1, seconds=120):
        """Waits until that many requests wait for an answer."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.held) >= count, seconds), "nothing is held"

    def hold(self):
        with self.changed:
            self.is_open = False

    def release(self):
        with self.changed:
            self.is_open = True
            held, self.held = self.held, []
        for code, unique in held:
            self.answer(code, unique, SLOW, b"")

    def close(self):
        self.release()
        libc.umount2(str(self.place).encode(), MNT_DETACH)
        os.close(self.fd)
