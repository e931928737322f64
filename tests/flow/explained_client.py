"""explained_client PROBES.json: makes one connection for each probe, and prints the results: "served", the code that
the gate gave, or "refused" without a code."""
import json
import re
import socket
import ssl
import struct
import sys

HTTP, SOCKS = ("127.0.0.1", 61128), ("127.0.0.1", 61080)


class Refused(Exception):
    pass


def read_all(connection):
    got = b""
    try:
        while part := connection.recv(65536):
            got += part
            if got.endswith(b"served"):
                break
    except OSError:
        pass  # a reset is an end
    return got


def outcome(answer):
    code = re.search(rb"x-sallyport-reason: (\w+)", answer)
    return code[1].decode() if code else "served" if answer.endswith(b"served") else "refused"


def head(method, target, host, port, more=""):
    length = "Content-Length: 0\r\n" if method == "POST" else ""
    return f"{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\n{length}{more}\r\n".encode()


def ask(request, host, port, authority=""):
    method, path, query, kind = request
    kind = f"X-Kind: {kind}\r\n" if kind else ""
    return head(method, authority + path + ("?" + query if query else ""), host, port, f"X-Other: 1\r\n{kind}Connection: close\r\n")


def read_one(connection):
    """One whole response; the connection stays open."""
    got = b""
    while b"\r\n\r\n" not in got or len(got.split(b"\r\n\r\n", 1)[1]) < int(re.search(rb"(?i)content-length: (\d+)", got)[1]):
        part = connection.recv(1)
        if not part:
            raise Refused("the connection was not kept")
        got += part


def tunnel(way, host, port):
    if way == "captured":
        return socket.create_connection((host, port), 20)
    connection = socket.create_connection(HTTP if way == "connect" else SOCKS, 20)
    if way == "connect":
        connection.sendall(head("CONNECT", f"{host}:{port}", host, port))
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = connection.recv(4096)
            if not part:
                break
            answer += part
        if not answer.startswith(b"HTTP/1.1 200"):
            raise Refused(outcome(answer))
        return connection
    connection.sendall(b"\5\1\0")
    connection.recv(2)
    connection.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + struct.pack(">H", port))
    if connection.recv(10)[1]:
        raise Refused("refused")
    return connection


def secure(connection, host):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    is_address = host.replace(".", "").isdigit()
    try:
        return context.wrap_socket(connection, server_hostname=None if is_address else host)
    except OSError:
        raise Refused("refused") from None


def probe(way, protocol, host, port, request):
    try:
        if way in ("request", "kept"):
            with socket.create_connection(HTTP, 20) as connection:
                if way == "kept":  # after a request that a policy may decide in another way
                    connection.sendall(head("GET", "http://a.test/", "a.test", 80))
                    read_one(connection)
                connection.sendall(ask(request, host, port, f"http://{host}:{port}"))
                return outcome(read_all(connection))
        connection = tunnel(way, host, port)
        if protocol == "https":
            connection = secure(connection, host)
        with connection:
            connection.sendall(ask(request, host, port) if protocol != "tcp" else b"\0any bytes\n")
            return outcome(read_all(connection))
    except Refused as refused:
        return str(refused)
    except OSError:
        return "refused"


print(json.dumps([probe(*each) for each in json.load(open(sys.argv[1], encoding="utf-8"))]))
