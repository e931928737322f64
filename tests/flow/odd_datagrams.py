#!/usr/bin/env python3
"""odd_datagrams ALLOWED DENIED: datagrams whose destination is told in other ways than by a plain socket. Each that begins with SEEN goes
to port 5000 of ALLOWED, and must be answered; those that begin with LEAK go elsewhere, or have a forged source."""
import socket
import struct
import sys

MTU, PKTINFO, SEGMENT, ANY = 24, 8, 103, b"\0" * 4  # IPV6_MTU, IP_PKTINFO, UDP_SEGMENT
allowed = {family: socket.getaddrinfo(sys.argv[1], 5000, family)[0][4] for family in (socket.AF_INET, socket.AF_INET6)}
denied = sys.argv[2]
long = b"x" * 5000


def sock(family=socket.AF_INET, *options):
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.settimeout(20)
    for option in ((socket.SOL_SOCKET, socket.SO_BROADCAST, 1), *options):
        made.setsockopt(*option)
    return made


def answered(what, made, to, data):
    made.sendto(data, to)
    print(what, made.recv(65536) == data, flush=True)


def tried(made, to, data, control=()):
    """What comes back, if anything, says nothing: it is seen outside."""
    try:
        made.sendmsg([data], control, 0, to)
    except OSError:
        pass


six, small, segments = socket.AF_INET6, (socket.IPPROTO_IPV6, MTU, 1280), (socket.IPPROTO_UDP, SEGMENT, 8)
answered("mapped", sock(six), ("::ffff:" + allowed[socket.AF_INET][0], 5000), b"SEEN")
answered("fragments", sock(six, small), allowed[six], b"SEEN" + long)
tried(sock(six), ("::ffff:" + denied, 5000), b"LEAK mapped")
tried(sock(six, small), ("2001:db8:1::5", 5000), b"LEAK fragments" + long)
tried(sock(socket.AF_INET, segments), (denied, 5000), b"LEAKSEGM" * 8)
for host in ("255.255.255.255", "224.0.0.251", "169.254.169.254", "0.0.0.0", "192.0.2.1"):
    tried(sock(), (host, 5353), b"LEAK " + host.encode())
for host in ("ff02::fb", "fe80::1"):
    tried(sock(six), (host, 5353, 0, 1), b"LEAK " + host.encode())
for source in ("198.51.100.9", denied):
    info = struct.pack("i", 1) + socket.inet_aton(source) + ANY
    tried(sock(), allowed[socket.AF_INET], b"LEAK forged", [(socket.IPPROTO_IP, PKTINFO, info)])
made = sock()
made.connect(allowed[socket.AF_INET])
tried(made, (denied, 5000), b"LEAK elsewhere")
made.connect((denied, 5000))
tried(made, None, b"LEAK connected again")
answered("still", sock(), allowed[socket.AF_INET], b"SEEN still")
