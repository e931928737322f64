"""servers: the servers that the gate connects to in a scenario: web servers, servers that misbehave, and a DNS server whose
answers can be wrong."""
import http.server
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import threading


class Page(http.server.BaseHTTPRequestHandler):
    """Answers "NAME METHOD PATH", and a POST with its body. The path may ask for more: /bytes/N, /status/N."""
    protocol_version = "HTTP/1.1"

    def answer(self):
        world = self.server.world
        world.requests.append((self.command, self.path, self.headers.get("Host"), dict(self.headers)))
        body = f"{world.name} {self.command} {self.path}\n".encode()
        if self.command in ("POST", "PUT"):
            body = self.read_body()
        status = 200
        if self.path.startswith("/bytes/"):
            body = b"x" * int(self.path.split("/")[2])
        if self.path.startswith("/status/"):
            status = int(self.path.split("/")[2])
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = answer

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True
    allow_reuse_address = True
    context = None

    def finish_request(self, request, client):
        if self.context:
            request.settimeout(20)
            try:
                request = self.context.wrap_socket(request, server_side=True)
            except OSError:
                return
        super().finish_request(request, client)
        if self.context:
            try:
                request.unwrap()  # close_notify: some clients take a plain end for an attack
            except (OSError, ValueError):
                pass

    def handle_error(self, request, client):
        pass  # the client left: what a scenario wants to see is on the other side

    def process_request(self, request, client):
        self.world.connections += 1
        super().process_request(request, client)


def read_or_nothing(connection):
    try:
        return connection.recv(65536)
    except OSError:  # a reset is an end
        return b""


class Server:
    """One named server on its own address; @requests and @connections record what it received."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        self.requests, self.connections, self.kept = [], 0, []
        self.bytes, self.open, self.lock = 0, 0, threading.Lock()

    def serve_http(self, port, context=None, handler=Page):
        server = Quiet((self.address, port), handler)
        server.world, server.context = self, context
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def _listen(self, port, backlog=1024):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.address, port))
        listener.listen(backlog)
        self.kept.append(listener)
        return listener

    def serve_each(self, port, handle):
        listener = self._listen(port)

        def accept():
            while True:
                connection, _ = listener.accept()
                self.connections += 1
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def echo(self, port):
        def handle(connection):
            with connection:
                while data := connection.recv(65536):
                    connection.sendall(data)
        self.serve_each(port, handle)

    def echo_datagrams(self, port):
        """@requests has what came, and from where."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((self.address, port))
        self.kept.append(server)

        def answer():
            while True:
                data, client = server.recvfrom(65536)
                self.requests.append((data[:80], client))
                server.sendto(data, client)

        threading.Thread(target=answer, daemon=True).start()

    def count(self, port):
        """Reads to the end, however it comes, and counts in @bytes; @open connections are still being read."""
        def handle(connection):
            with self.lock:
                self.open += 1
            with connection:
                while data := read_or_nothing(connection):
                    with self.lock:
                        self.bytes += len(data)
            with self.lock:
                self.open -= 1
        self.serve_each(port, handle)

    def close_at_once(self, port):
        self.serve_each(port, lambda connection: connection.close())

    def cut(self, port, context):
        """By TLS: sends a response without a length, and ends the connection as an attacker would, not by TLS."""
        def handle(connection):
            with context.wrap_socket(connection, server_side=True) as client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
        self.serve_each(port, handle)

    def hold(self, port):
        """Accepts connections and sends nothing."""
        self.serve_each(port, self.kept.append)

    def never_accept(self, port):
        """A listener whose queue is full: a SYN gets no answer."""
        listener = self._listen(port, 0)
        for _ in range(2):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
            self.kept.append(client)

    def proxy(self, port, servers):
        """A proxy of a network, by HTTP or SOCKS5, for the servers of the scenario: NAME.test is the server NAME, which no resolver
        need know. @asked has what it was asked. Paths and names that begin with a number get that status."""
        self.asked = []

        def address_of(host):
            name = host.partition(".")[0]
            return servers[name].address if name in servers else None

        def relay(client, host, target, head=b""):
            upstream = socket.create_connection((address_of(host), target))
            upstream.sendall(head)

            def copy(source, sink):
                try:
                    while data := source.recv(65536):
                        sink.sendall(data)
                    sink.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
            thread = threading.Thread(target=copy, args=(upstream, client), daemon=True)
            thread.start()
            copy(client, upstream)
            thread.join()

        def by_http(client, begin):
            head = begin
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            lines = head.decode("latin-1").split("\r\n")
            login = [line for line in lines if line.lower().startswith("proxy-authorization: ")]
            self.asked += [lines[0]] + login
            is_tunnel = lines[0].startswith("CONNECT ")
            authority = lines[0].split()[1] if is_tunnel else lines[0].split("/")[2].split()[0] + ":80"
            host, _, target = authority.rpartition(":")
            if host[:3].isdigit() and not host[3:].startswith("."):
                client.sendall(f"HTTP/1.1 {host[:3]} As asked\r\nContent-Length: 0\r\n\r\n".encode())
            elif host.startswith("garbage"):
                client.sendall(b"SSH-2.0-none\r\n")
            elif host.startswith("endless"):
                client.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 3000)
            elif host.startswith("closes"):
                return
            elif not address_of(host):
                client.sendall(b"HTTP/1.1 502 Unknown name\r\nContent-Length: 0\r\n\r\n")
            else:
                if is_tunnel:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                relay(client, host, int(target), b"" if is_tunnel else head)

        def exactly(client, count):
            data = b""
            while len(data) < count:
                more = client.recv(count - len(data))
                if not more:
                    raise OSError("it ended")
                data += more
            return data

        def by_socks(client):
            methods = exactly(client, exactly(client, 1)[0])
            client.sendall(b"\x05\x02" if b"\x02" in methods else b"\x05\x00")
            if b"\x02" in methods:
                exactly(client, 1)
                user = exactly(client, exactly(client, 1)[0])
                password = exactly(client, exactly(client, 1)[0])
                self.asked.append(f"login {user.decode()}:{password.decode()}")
                client.sendall(b"\x01\x00")
            kind = exactly(client, 4)[3]
            host = exactly(client, exactly(client, 1)[0]).decode() if kind == 3 else socket.inet_ntoa(exactly(client, 4))
            target = struct.unpack("!H", exactly(client, 2))[0]
            self.asked.append(f"socks {host}:{target}")
            if not address_of(host):
                client.sendall(b"\x05\x04\x00\x01" + bytes(6))
            else:
                client.sendall(b"\x05\x00\x00\x03\x04name" + bytes(2))
                relay(client, host, target)

        def handle(client):
            with client:
                try:
                    first = client.recv(1)
                    if first == b"\x05":
                        by_socks(client)
                    elif first:
                        by_http(client, first)
                except OSError:
                    pass  # the gate left
        self.serve_each(port, handle)


def make_certificate(folder, names, days=2):
    """A CA in @folder/ca.pem and a server certificate for @names, in @folder/NAME.pem and .key; returns an SSL context that uses it."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    if not os.path.exists(f"{folder}/ca.pem"):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=test CA", "-keyout", "ca.key", "-out", "ca.pem",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    stem = names[0]
    with open(f"{folder}/{stem}.ext", "w") as file:
        file.write("subjectAltName=" + ",".join(f"DNS:{n}" for n in names) + "\nextendedKeyUsage=serverAuth\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={stem}",
            "-keyout", f"{stem}.key", "-out", f"{stem}.csr")
    openssl("x509", "-req", "-in", f"{stem}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days),
            "-extfile", f"{stem}.ext", "-out", f"{stem}.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{stem}.pem", f"{folder}/{stem}.key")
    return context


class Names:
    """A DNS server for A and AAAA. Each name has a list of answers; the last one is repeated. None: no answer."""

    def __init__(self, address="127.0.0.1", port=53):
        self.answers, self.queries = {}, []
        names = self

        class Datagram(socketserver.BaseRequestHandler):
            def handle(self):
                data, sock = self.request
                if reply := names.reply(data):
                    sock.sendto(reply, self.client_address)

        class Threaded(socketserver.ThreadingUDPServer):
            daemon_threads = True
            max_packet_size = 4096

        server = Threaded((address, port), Datagram)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def set(self, name, answers):
        self.answers[name] = list(answers)

    def next_answer(self, name, kind):
        """A list of addresses, "fail", or None; a sequence advances with each question for A."""
        known = self.answers.get(name)
        if known is None:
            return "none"
        return known.pop(0) if kind == 1 and len(known) > 1 else known[0]

    def reply(self, data):
        name, at = [], 12
        while data[at]:
            name.append(data[at + 1:at + 1 + data[at]].decode("ascii", "replace"))
            at += 1 + data[at]
        kind = struct.unpack("!H", data[at + 1:at + 3])[0]
        question = data[12:at + 5]
        host = ".".join(name).lower()
        self.queries.append((host, kind))
        answer = self.next_answer(host, kind)
        if answer is None:
            return None
        code = {"fail": 2, "none": 3}.get(answer if isinstance(answer, str) else "", 0)
        records = b""
        count = 0
        for address in [] if code else answer:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if kind == (28 if family == socket.AF_INET6 else 1):
                packed = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
                count += 1
        return data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, count, 0, 0) + question + records
