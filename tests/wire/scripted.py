# SPDX-License-Identifier: GPL-2.0-or-later
"""A server and a client that say what a script has, with the proxy between them; packets.

The programs under test come from the command line: ISOREC ISOTRACE [TEST...].
"""
import os
import socket
import struct
import sys


sys.dont_write_bytecode = True
ISOREC, ISOTRACE = (os.path.abspath(p) for p in sys.argv[1:3])
CAPS = (1 << 3 | 1 << 7 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 16 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20)
MYSQL, COMPRESS, SSL, TRACK, DEPRECATE_EOF = 1, 1 << 5, 1 << 11, 1 << 23, 1 << 24
OPTIONAL_METADATA, ZSTD, ATTRIBUTES = 1 << 25, 1 << 26, 1 << 27
PROGRESS, BULK, CACHE_METADATA, BULK_UNITS = 1 << 32, 1 << 34, 1 << 36, 1 << 37
SECRET = b"SECRETSECRETSECRET20"


# ---- packets ----

def packet(seq, payload):
    out = b""
    while True:
        part, payload = payload[:0xffffff], payload[0xffffff:]
        out += struct.pack("<I", len(part))[:3] + bytes([seq & 255]) + part
        seq += 1
        if len(part) < 0xffffff:
            return out


def lenenc(text):
    if isinstance(text, str):
        text = text.encode()
    assert len(text) < 251
    return bytes([len(text)]) + text


def greeting(caps):
    return (b"\x0a10.11.6-MariaDB\0" + struct.pack("<I", 77) + b"12345678\0" +
            struct.pack("<HBHH", caps & 0xffff, 45, 2, caps >> 16 & 0xffff) + b"\x15" + b"\0" * 6 +
            struct.pack("<I", 0 if caps & MYSQL else caps >> 32) + b"901234567890\0" +
            b"mysql_native_password\0")


def login(caps):
    return (struct.pack("<IIB", caps & 0xffffffff, 1 << 24, 45) + b"\0" * 19 +
            struct.pack("<I", 0 if caps & MYSQL else caps >> 32) + b"bob\0" + lenenc(SECRET) +
            b"shop\0mysql_native_password\0" + lenenc(lenenc("_os") + lenenc("Linux")) +
            (b"\3" if caps & ZSTD else b""))


def ok(status=2, affected=0, more=b""):
    return b"\0" + bytes([affected, 0]) + struct.pack("<HH", status, 0) + more


def eof(status=2):
    return b"\xfe" + struct.pack("<HH", 0, status)


def err(code, text):
    return b"\xff" + struct.pack("<H", code) + b"#HY000" + text


def column(name, kind, flags=0):
    return (lenenc("def") + lenenc("shop") + lenenc("t") + lenenc("t") + lenenc(name) +
            lenenc(name) + b"\x0c" + struct.pack("<HIBHB", 45, 11, kind, flags, 0) + b"\0\0")


class Talk:
    """A conversation: (from the server?, bytes) in order, and what the trace must say."""

    def __init__(self, caps=CAPS, client_caps=None, connect=True):
        self.steps, self.seq, self.expected, self.caps = [], 0, [], caps
        self.opaque, self.inner = False, None
        if connect:
            self.server(greeting(caps))
            self.client(login(caps if client_caps is None else client_caps))
            self.server(ok())

    def add(self, server, seq, payload):
        self.steps.append((server, packet(seq, payload)))
        self.seq = seq + 1 + len(payload) // 0xffffff

    def server(self, *payloads):
        for payload in payloads:
            self.add(True, self.seq, payload)
        return self

    def client(self, payload):
        self.add(False, self.seq, payload)
        return self

    def command(self, payload, **expected):
        self.add(False, 0, payload)
        if expected:
            self.expected.append(dict(command=payload[0] if payload else 0, **expected))
        return self

    def rows(self, *rows, status=2):
        """A text result of a (INT) and b (VARCHAR)."""
        self.server(b"\2", column("a", 3, 3), column("b", 253), eof(status))
        for row in rows:
            self.server(b"".join(b"\xfb" if v is None else lenenc(str(v)) for v in row))
        return self.server(eof(status))


# ---- playing ----

def receive(sock, count):
    out = b""
    while len(out) < count:
        part = sock.recv(count - len(out))
        assert part, "the connection ended after %d of %d bytes" % (len(out), count)
        out += part
    return out


class Mock:
    """A listening socket that plays the server."""

    def __init__(self, family=socket.AF_INET, address=("127.0.0.1", 0)):
        self.socket = socket.socket(family)
        self.socket.bind(address)
        self.socket.listen(1024)
        self.port = self.socket.getsockname()[1] if family != socket.AF_UNIX else None

    def connect(self, proxy):
        client = socket.create_connection(("127.0.0.1", proxy.port))
        server = self.accept()
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            side.settimeout(60)
        return client, server

    def accept(self):
        self.socket.settimeout(60)
        return self.socket.accept()[0]


def pass_on(source, target, data, pieces):
    """Sends in pieces, each read by the other side before the next; must arrive as it is."""
    got = b""
    for piece in pieces(data):
        if piece:
            source.sendall(piece)
            got += receive(target, len(piece))
    assert got == data, "sent %r, got %r" % (data, got)


def play(mock, proxy, steps, pieces):
    client, server = mock.connect(proxy)
    with client, server:
        for from_server, data in steps:
            if from_server:
                pass_on(server, client, data, pieces)
            else:
                pass_on(client, server, data, pieces)
        client.shutdown(socket.SHUT_WR)
        assert server.recv(1) == b"", "the client's end did not arrive"
        server.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b"", "the server's end did not arrive"


def joined(steps):
    out = []
    for server, data in steps:
        if out and out[-1][0] == server:
            out[-1] = (server, out[-1][1] + data)
        else:
            out.append((server, data))
    return out


def whole(data):
    return [data]


def plain_value(value):
    return value


# ---- transactions ----

AUTO, IN = 2, 1
EVENTS = ["begin", "end", "savepoint", "rollback to", "release"]


def txn_shape(record):
    event = EVENTS[record["event"]]
    if event == "begin":
        return "begin"
    if event != "end":
        return (event, record["name"])
    shape = ("auto" if record["autocommit"] else "end", record["outcome"], record["reason"])
    assert record["mixed"] in (1, 2), record
    return shape + ("mixed",) if record["mixed"] == 2 else shape
