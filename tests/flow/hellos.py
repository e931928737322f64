"""hellos NAME WAY: opens a tunnel to a.test:443 that is allowed as https, names a.test in a first TLS hello that no server can
use, so that it asks for another one, and @NAME in the second. Prints whether the server answered the second."""
import socket
import struct
import sys


def vector(size, body):
    return len(body).to_bytes(size, "big") + body


def extension(kind, body):
    return struct.pack(">H", kind) + vector(2, body)


def record(kind, body):
    return bytes([kind, 3, 3]) + vector(2, body)


def hello(name, has_share, has_early_data):
    share = b"\0\x1d" + vector(2, b"\x09" + bytes(31)) if has_share else b""
    extensions = extension(0, vector(2, b"\0" + vector(2, name.encode()))) + extension(43, vector(1, b"\3\4"))
    extensions += extension(10, vector(2, b"\0\x1d\0\x17")) + extension(13, vector(2, b"\4\3\x08\4\4\1"))
    extensions += extension(51, vector(2, share))
    if has_early_data:
        identity = vector(2, bytes(32)) + bytes(4)
        extensions += extension(42, b"") + extension(45, vector(1, b"\1"))
        extensions += extension(41, vector(2, identity) + vector(2, vector(1, bytes(32))))
    start = b"\3\3" + bytes(range(32)) + vector(1, bytes(range(32))) + vector(2, b"\x13\1\x13\2") + vector(1, b"\0")
    body = start + vector(2, extensions)
    return b"\1" + vector(3, body)


def read_hellos(connection):
    """How many ServerHellos come, until the server says no more for now."""
    got, count = b"", 0
    connection.settimeout(5)
    try:
        while part := connection.recv(65536):
            got += part
            if got[0] == 22:
                connection.settimeout(0.5)
    except OSError:
        pass
    while len(got) >= 6:
        count += got[0] == 22 and got[5] == 2
        got = got[5 + int.from_bytes(got[3:5], "big"):]
    return count


def main():
    name, way = sys.argv[1:]
    first = record(22, hello("a.test", False, way == "early"))
    second = record(22, hello(name, True, False))
    count = 0
    if way == "records":
        second = b"".join(record(22, second[5:][i:i + 20]) for i in range(0, len(second) - 5, 20))
    if way in ("change", "early"):
        first += record(20, b"\1")
    if way == "early":
        first += record(23, bytes(64))
    if way == "joined":
        first, second = first + second, b""
    with socket.create_connection(("127.0.0.1", 61128)) as connection:
        connection.sendall(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
        while not connection.recv(4096).endswith(b"\r\n\r\n"):
            pass
        connection.sendall(first)
        count = read_hellos(connection)
        if second:
            try:
                connection.sendall(second)
                count += read_hellos(connection)
            except OSError:
                pass
    print(name, way, "answered" if count == 2 else "not answered", flush=True)


main()
