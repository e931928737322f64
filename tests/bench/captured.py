#!/usr/bin/env python3
"""What a captured connection costs, beside the same one by SOCKS5: in one sandbox, taking turns, to a server of this program.
The client and the server are the same, so the ratio is that of the ways in. usage: captured.py SALLYPORT [ROUNDS]"""
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading

CLIENT = r"""
import socket, statistics, sys, time

def captured(port):
    return socket.create_connection((address, port))

def by_name(port):  # two questions to the resolver inside come first
    return socket.create_connection(("a.test", port))

def socks5(port):
    client = socket.create_connection(("127.0.0.1", 61080))
    client.sendall(b"\5\1\0")
    client.recv(2)
    client.sendall(b"\5\1\0\3\6a.test" + port.to_bytes(2, "big"))
    if client.recv(10)[1] != 0:
        raise OSError("refused")
    return client

def once(way, port):
    begun = time.perf_counter()
    client = way(port)
    client.sendall(b"x")
    client.recv(1)
    client.close()
    return time.perf_counter() - begun

port, rounds = int(sys.argv[1]), int(sys.argv[2])
address = socket.gethostbyname("a.test")
for way in (captured, by_name, socks5):
    once(way, port)
for _ in range(rounds):
    medians = [statistics.median(once(way, port) for _ in range(200)) for way in (captured, by_name, socks5)]
    print(*medians)
"""


def serve(listener):
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        with client:
            client.sendall(client.recv(1))
            client.recv(1)  # until the other side has closed


def main():
    sallyport, rounds = os.path.realpath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory() as top:
        os.mkdir(f"{top}/work")
        policy = f"{top}/policy"
        with open(policy, "w", encoding="utf-8") as file:
            file.write(f"allow tcp://a.test:{port}\n")
        command = [sallyport, "run", "--no-tty", "--report", "none", "--policy", policy, "--resolve", "a.test:127.0.0.1",
                   "--", sys.executable, "-c", CLIENT, str(port), str(rounds)]
        environment = {**os.environ, "XDG_STATE_HOME": top, "XDG_RUNTIME_DIR": top, "XDG_CONFIG_HOME": top}
        done = subprocess.run(command, cwd=f"{top}/work", env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    listener.close()
    rows = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    for name, times in zip(("captured", "captured, with its name", "SOCKS5"), zip(*rows)):
        ratios = [own / row[-1] for own, row in zip(times, rows)]
        print(f"{name:24} median {statistics.median(times) * 1e6:7.1f} us   / SOCKS5: {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f})")


main()
