#!/usr/bin/env python3
"""automounter: a program for an indirect automount, as the one for /net. In a mount namespace of its own it mounts it at FOLDER, with
FOLDER/known mounted already, runs the command as the user UID, and prints a line for each name that it was asked for.

usage: automounter.py FOLDER UID COMMAND..."""
import ctypes
import fcntl
import os
import pathlib
import struct
import subprocess
import sys
import threading

CLONE_NEWNS, MS_REC_PRIVATE = 0x20000, 0x44000
NO_AUTOMOUNT = 77  # exit status: it cannot be mounted here
AUTOFS_IOC_FAIL = 0x9361
LIBC = ctypes.CDLL(None, use_errno=True)


def mount(source, point, kind, options, flags=0):
    return LIBC.mount(source, str(point).encode(), kind, flags, options) == 0


def answer(packets, root):
    """Reads autofs_v5_packet: its type, a token, and from byte 44 on the name. No name is found."""
    while packet := os.read(packets, 304):
        token, length = struct.unpack_from("I", packet, 8)[0], struct.unpack_from("I", packet, 40)[0]
        print("asked for", packet[44:44 + length].decode(), flush=True)
        fcntl.ioctl(root, AUTOFS_IOC_FAIL, token)


def main():
    """The exit status of the command."""
    folder, uid, command = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    packets, ours = os.pipe()
    options = f"fd={ours},pgrp={os.getpgrp()},minproto=5,maxproto=5,indirect".encode()
    if LIBC.unshare(CLONE_NEWNS) != 0 or not mount(None, "/", None, None, MS_REC_PRIVATE) or not mount(b"hosts", folder, b"autofs", options):
        return NO_AUTOMOUNT
    (folder / "known").mkdir()
    if not mount(b"known", folder / "known", b"tmpfs", f"uid={uid},gid={uid},size=1m".encode()):
        return NO_AUTOMOUNT
    (folder / "known/file").write_text("known\n")
    threading.Thread(target=answer, args=(packets, os.open(folder, os.O_RDONLY)), daemon=True).start()
    ids = {"user": uid, "group": uid, "extra_groups": []} if uid else {}
    return subprocess.run(command, cwd=os.environ.get("AUTOMOUNT_CWD"), process_group=0, timeout=60, check=False, **ids).returncode


if __name__ == "__main__":
    sys.exit(main())
