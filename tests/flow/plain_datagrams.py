#!/usr/bin/env python3
"""plain_datagrams: what a command sends by UDP without the gate's proxy. `plain_datagrams.py STEP…`, in this order, on one socket for
each family and kind, or each destination of connected sockets:
    [6/][to/]HOST:PORT=TEXT   sends it, and prints the answer; 6/: by IPv6; to/: from a socket that is not connected
    [6/][to/]HOST:PORT=TEXT!  sends it, and does not wait
    [6/][to/]HOST:PORT?       prints the next answer
    own:PORT                  a server of the command itself, which answers once, at every address
    from:[ADDRESS:]PORT       the sockets after it are bound to this port, of every address or of this one
"no answer": none came in three seconds; "refused": the kernel says that the port is closed."""
import re
import socket
import sys
import threading

sockets = {}
bound = None


def address(family, host, port):
    return socket.getaddrinfo(host, port, family, socket.SOCK_DGRAM)[0][4]


def client(family, is_connected, host, port):
    key = (family, is_connected, host if is_connected else "", port if is_connected else 0)
    if key not in sockets:
        sockets[key] = socket.socket(family, socket.SOCK_DGRAM)
        if bound:
            sockets[key].bind(bound)
        if is_connected:
            sockets[key].connect(address(family, host, port))
    return sockets[key]


def answer(sock, host, port, family, wait_s):
    sock.settimeout(wait_s)
    try:
        data, source = sock.recvfrom(65536)
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "no answer"
    assert source[:2] == address(family, host, port)[:2], source
    return data.decode()


def serve(port):
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.bind(("::", port))

    def once():
        data, source = server.recvfrom(65536)
        server.sendto(b"own " + data, source)
    threading.Thread(target=once, daemon=True).start()


def step(text):
    global bound
    if text.startswith("own:"):
        serve(int(text[4:]))
        return
    if text.startswith("from:"):
        host, port = re.fullmatch(r"(?:(.*):)?(\d+)", text[5:]).groups()
        bound = (host or "", int(port))
        return
    six, to, host, port, what, data = re.fullmatch(r"(6/)?(to/)?\[?([^=\]]+?)\]?:(\d+)([=?])(.*)", text).groups()
    family, port = socket.AF_INET6 if six else socket.AF_INET, int(port)
    sock = client(family, not to, host, port)
    try:
        if what == "=" and to:
            sock.sendto(data.rstrip("!").encode(), address(family, host, port))
        elif what == "=":
            sock.send(data.rstrip("!").encode())
        if not data.endswith("!"):
            print(answer(sock, host, port, family, 60 if what == "?" else 3), flush=True)
    except ConnectionRefusedError:
        print("refused", flush=True)


for argument in sys.argv[1:]:
    step(argument)
