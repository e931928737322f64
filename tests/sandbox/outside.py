"""outside: servers that a command would reach if it got out. They record everything that arrives."""
import fcntl
import os
import selectors
import socket
import struct
import threading
import time

SIOCGIFADDR = 0x8915


def host_addresses():
    """IPv4 addresses of this host's interfaces, loopback first."""
    found = ["127.0.0.1"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            address = socket.inet_ntoa(answer[20:24])
            if address not in found:
                found.append(address)
    return found


class Outside:
    """Listening sockets in a thread; `seen` lists the connections."""

    def __init__(self):
        self.seen, self.sockets, self.made = [], [], []
        self.selector = selectors.DefaultSelector()
        self.wake, self.waker = socket.socketpair()
        self.selector.register(self.waker, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    return
                self.take(key.fileobj, key.data)

    def take(self, listener, name):
        try:
            if listener.type == socket.SOCK_DGRAM:
                _, peer = listener.recvfrom(4096)
                if peer:
                    listener.sendto(b"pong", peer)
            else:
                connection, peer = listener.accept()
                connection.close()
        except OSError as error:
            peer = error
        self.seen.append(f"{name} from {peer}")

    def add(self, name, listener):
        listener.setblocking(False)
        if listener.type != socket.SOCK_DGRAM:
            listener.listen(64)
        self.sockets.append(listener)
        self.selector.register(listener, selectors.EVENT_READ, name)
        return listener

    def inet(self):
        """Addresses and ports, in pairs, of a stream and a datagram listener on every address of the host."""
        pairs = []
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            four = socket.socket(socket.AF_INET, kind)
            four.bind(("0.0.0.0", 0))
            self.add("inet", four)
            for address in host_addresses():
                pairs += [address, str(four.getsockname()[1])]
            if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6"):
                six = socket.socket(socket.AF_INET6, kind)
                six.bind(("::1", 0))
                self.add("inet6", six)
                pairs += ["::1", str(six.getsockname()[1])]
        return pairs

    def unix(self, path, kind=socket.SOCK_STREAM):
        """A listener at @path; one that starts with NUL is abstract."""
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.bind(path)
        if not path.startswith("\0"):
            os.chmod(path, 0o777)
            self.made.append(path)
        self.add(path, listener)
        return path

    def is_reached(self, family, address, kind=socket.SOCK_STREAM):
        """The positive control: from here, outside, the same can be reached, and is written down."""
        before = len(self.seen)
        with socket.socket(family, kind) as client:
            client.settimeout(2)
            client.connect(address)
            if kind == socket.SOCK_DGRAM:
                client.send(b"ping")
        for _ in range(200):
            if len(self.seen) > before:
                self.seen.clear()
                return True
            time.sleep(0.01)
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.wake.send(b"x")
        self.thread.join()
        self.selector.close()
        for listener in (self.wake, self.waker, *self.sockets):
            listener.close()
        for path in self.made:
            os.unlink(path)
