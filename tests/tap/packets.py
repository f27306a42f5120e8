# SPDX-License-Identifier: GPL-2.0-or-later
"""A relay that remembers what passed, and a writer of packets: the same conversations in many shapes."""
import gzip
import socket
import struct
import threading
import time


class Relay:
    """Passes bytes between clients and a server; `log` has (time, connection, from the client, bytes; None: closed)."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.log = []
        self.lock = threading.Lock()
        self.threads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def note(self, connection, from_client, data):
        self.log.append((time.time_ns(), connection, from_client, data))

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.server_port))
            number, self.connections = self.connections, self.connections + 1
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for source, sink, from_client in ((client, server, True), (server, client, False)):
                thread = threading.Thread(target=self.pump, args=(source, sink, number, from_client), daemon=True)
                thread.start()
                self.threads.append(thread)

    def pump(self, source, sink, number, from_client):
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            # Noted before it is passed on: nothing can answer it earlier.
            with self.lock:
                self.note(number, from_client, data or None)
                if data:
                    sink.sendall(data)
            if not data:
                try:
                    sink.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                return

    def end(self):
        self.listener.close()
        for thread in self.threads:
            thread.join(30)
        return self.log


class Packet:
    """One TCP segment."""

    def __init__(self, at, client_port, from_client, seq, ack, flags, data=b""):
        self.at, self.client_port, self.from_client = at, client_port, from_client
        self.seq, self.ack, self.flags, self.data = seq, ack, flags, data


SYN, FIN, ACK = 2, 1, 16


def segments(log, size=1460):
    """The log as packets, cut into pieces of at most `size` bytes."""
    packets, state = [], {}
    for at, connection, from_client, data in log:
        if connection not in state:
            first = [0xfffff000 + connection, 1000 * connection]  # one of them wraps
            state[connection] = first
            packets.append(Packet(at, 40000 + connection, True, first[0], 0, SYN))
            packets.append(Packet(at, 40000 + connection, False, first[1], first[0] + 1, SYN | ACK))
            first[0] += 1
            first[1] += 1
            packets.append(Packet(at, 40000 + connection, True, first[0], first[1], ACK))
        mine, other = (0, 1) if from_client else (1, 0)
        numbers = state[connection]
        pieces = [data[i:i + size] for i in range(0, len(data), size)] if data else [b""]
        for piece in pieces:
            flags = ACK if data else ACK | FIN
            packets.append(Packet(at, 40000 + connection, from_client, numbers[mine], numbers[other], flags, piece))
            numbers[mine] += len(piece) + (0 if data else 1)
    return packets


def ip(packet, server_port, version):
    ports = (packet.client_port, server_port) if packet.from_client else (server_port, packet.client_port)
    tcp = struct.pack(">HHIIBBHHH", *ports, packet.seq & 0xffffffff, packet.ack & 0xffffffff, 8 << 4, packet.flags,
                      65535, 0, 0) + b"\x01" * 12 + packet.data
    if version == 6:
        # A header of options before TCP.
        return struct.pack(">IHBB", 6 << 28, len(tcp) + 8, 0, 64) + b"\0" * 15 + b"\1" + b"\0" * 15 + b"\1" + \
            b"\x06\0\x01\x04\0\0\0\0" + tcp
    length = 20 + len(tcp)
    # What the network card cuts up is longer than the field can say.
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, length if length < 65536 else 0, 1, 0x4000, 64, 6, 0, b"\x7f\0\0\1",
                       b"\x7f\0\0\1") + tcp


def frame(packet, server_port, link, version):
    body, kind = ip(packet, server_port, version), b"\x08\0" if version == 4 else b"\x86\xdd"
    return {"ethernet": (1, b"\0" * 12 + kind + body), "vlan": (1, b"\0" * 12 + b"\x81\0\0\x07" + kind + body),
            "qinq": (1, b"\0" * 12 + b"\x88\xa8\0\x01\x81\0\0\x07" + kind + body), "raw": (101, body),
            "sll": (113, b"\0" * 14 + kind + body), "sll2": (276, kind + b"\0" * 18 + body),
            "loop": (0, struct.pack("<I", 2 if version == 4 else 30) + body)}[link]


def write(path, packets, server_port, link="ethernet", version=4, form="pcap", order="<", nanoseconds=False, snap=0,
          compressed=False):
    out = [b""]
    number = frame(packets[0], server_port, link, version)[0]
    if form == "pcap":
        out.append(struct.pack(order + "IHHiIII", 0xa1b23c4d if nanoseconds else 0xa1b2c3d4, 2, 4, 0, 0, snap or 1 << 18,
                               number))
    else:
        out.append(struct.pack(order + "IIIHHqI", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 28))
        options = struct.pack(order + "HHB3xHH", 9, 1, 9 if nanoseconds else 6, 0, 0)
        out.append(struct.pack(order + "IIHHI", 1, 20 + len(options), number, 0, snap) + options +
                   struct.pack(order + "I", 20 + len(options)))
    for packet in packets:
        body = frame(packet, server_port, link, version)[1]
        kept = body[:snap] if snap else body
        if form == "pcap":
            out.append(struct.pack(order + "IIII", packet.at // 10**9,
                                   packet.at % 10**9 // (1 if nanoseconds else 1000), len(kept), len(body)) + kept)
            continue
        padded = kept + b"\0" * (-len(kept) % 4)
        at = packet.at if nanoseconds else packet.at // 1000
        out.append(struct.pack(order + "IIIIIII", 6, 32 + len(padded), 0, at >> 32, at & 0xffffffff, len(kept),
                               len(body)) + padded + struct.pack(order + "I", 32 + len(padded)))
    data = b"".join(out)
    with open(path, "wb") as file:
        file.write(gzip.compress(data) if compressed else data)
    return data
