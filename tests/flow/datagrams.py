#!/usr/bin/env python3
"""datagrams: what a command sends by UDP through SOCKS5. `datagrams.py STEP…`, in this order, on one association:
    HOST:PORT=TEXT        sends it, and prints the answer
    HOST:PORT=TEXT!       sends it, and does not wait
    HOST:PORT?            prints the next answer
    raw=HEX               sends these bytes to the association itself
    other:HOST:PORT=TEXT! from a socket that is not the association's
    quiet                 prints "no answer" if none comes for a second
    close                 ends the association; what is sent then is lost
`datagrams.py --library HOST:PORT=TEXT` does the first with the SOCKS library of Python (python3-socks) instead."""
import re
import socket
import struct
import sys

GATE = ("127.0.0.1", 61080)


def head(host, port):
    try:
        return b"\0\0\0\x01" + socket.inet_pton(socket.AF_INET, host) + struct.pack("!H", port)
    except OSError:
        return b"\0\0\0\x03" + bytes([len(host)]) + host.encode() + struct.pack("!H", port)


def associate():
    control = socket.create_connection(GATE)
    control.sendall(b"\x05\x01\x00" + b"\x05\x03\x00\x01" + bytes(6))
    assert control.recv(2) == b"\x05\x00"
    reply = control.recv(10)
    if reply[1] != 0:
        print(f"refused: {reply[1]}", flush=True)
        sys.exit(0)
    return control, (socket.inet_ntoa(reply[4:8]), struct.unpack("!H", reply[8:10])[0])


def answer(client, start=b"", wait_s=60):
    client.settimeout(wait_s)
    try:
        data = client.recv(65536)
    except OSError:
        return "no answer"
    return data[len(start):].decode() if data.startswith(start) else f"a wrong head: {data[:40]!r}"


def by_library(step):
    import socks
    host, port, text = re.fullmatch(r"(.+):(\d+)=(.*)", step).groups()
    client = socks.socksocket(socket.AF_INET, socket.SOCK_DGRAM)
    client.set_proxy(socks.SOCKS5, *GATE, rdns=True)
    client.settimeout(10)
    client.sendto(text.encode(), (host, int(port)))
    data, source = client.recvfrom(65536)
    print(f"{source[0].decode()}:{source[1]} says {data.decode()}", flush=True)


def main():
    if sys.argv[1] == "--library":
        by_library(sys.argv[2])
        return
    control, relay = associate()
    client, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    for step in sys.argv[1:]:
        if step == "close":
            control.close()
        elif step.startswith("raw="):
            client.sendto(bytes.fromhex(step[4:]), relay)
        elif step.endswith("?"):
            host, port = step[:-1].rsplit(":", 1)
            print(answer(client, head(host, int(port))), flush=True)
        elif step == "quiet":
            print(answer(client, wait_s=1), flush=True)
            assert answer(other, wait_s=0.1) == "no answer"
        else:
            host, port, text = re.fullmatch(r"(?:other:)?(.+):(\d+)=(.*)", step).groups()
            start, sender = head(host, int(port)), other if step.startswith("other:") else client
            sender.sendto(start + text.rstrip("!").encode(), relay)
            if not text.endswith("!"):
                print(answer(sender, start), flush=True)


main()
