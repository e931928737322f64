"""capture: every TCP and UDP packet that crosses this network namespace, as the kernel saw it."""
import ctypes
import socket
import struct

ETH_P_ALL, PACKET_OUTGOING = 3, 4
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33


class Capture:
    """A raw socket on lo. The kernel queues a packet the moment it is sent, so the queued packets are complete when they are read."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        for option in (socket.SO_RCVBUF, SO_RCVBUFFORCE):
            try:
                self.socket.setsockopt(socket.SOL_SOCKET, option, 64 << 20)
            except OSError:
                pass  # the smaller buffer; losses are counted
        self._keep_heads_only()
        self.socket.bind(("lo", ETH_P_ALL))
        self.socket.setblocking(False)
        self.packets = []
        self.lost = 0

    def _keep_heads_only(self):
        """A filter of one instruction, "keep 96 bytes", so that bodies do not fill the buffer."""
        program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 96))
        self.socket.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 1, ctypes.addressof(program)))

    def read(self):
        """All packets so far: [(protocol, address, port)] with the destination of each."""
        while True:
            try:
                frame, address = self.socket.recvfrom(128)
            except BlockingIOError:
                break
            if address[2] == PACKET_OUTGOING:
                self._keep(frame[14:])
        _, lost = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self.lost += lost
        return self.packets

    def _keep(self, packet):
        version = packet[0] >> 4
        if version == 4:
            protocol, head = packet[9], (packet[0] & 15) * 4
            address = socket.inet_ntop(socket.AF_INET, packet[16:20])
        elif version == 6:
            protocol, head = packet[6], 40
            address = socket.inet_ntop(socket.AF_INET6, packet[24:40])
        else:
            return
        if protocol in (socket.IPPROTO_TCP, socket.IPPROTO_UDP) and len(packet) >= head + 4:
            port = struct.unpack("!H", packet[head + 2:head + 4])[0]
            self.packets.append(("tcp" if protocol == socket.IPPROTO_TCP else "udp", address, port))
