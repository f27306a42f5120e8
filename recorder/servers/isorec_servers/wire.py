# SPDX-License-Identifier: GPL-2.0-or-later
"""A small MySQL-protocol client: enough to see that a server is ready and to ask it something.

It exists so that readiness is decided by connecting, without any client package.  It logs in with
an empty password (or none of the plugins that need more): that is how our own servers are set up.
Protocol: "Connection Phase" (HandshakeV10, HandshakeResponse41, AuthSwitchRequest) and
"COM_QUERY Response", text protocol.
"""
import socket
import struct

CLIENT_LONG_PASSWORD = 0x1
CLIENT_PROTOCOL_41 = 0x200
CLIENT_TRANSACTIONS = 0x2000
CLIENT_SECURE_CONNECTION = 0x8000
CLIENT_PLUGIN_AUTH = 0x80000
COM_QUIT = 1
COM_QUERY = 3
UTF8 = 33
PACKET_MAX = 1 << 24


class WireError(Exception):
    """The server refused, vanished or said something unexpected."""

    def __init__(self, text, code=0):
        super().__init__(text)
        self.code = code


def _lenenc(data, at):
    first = data[at]
    if first < 0xFB:
        return first, at + 1
    if first == 0xFB:
        return None, at + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(data[at + 1:at + 1 + width], "little"), at + 1 + width


def _error(packet):
    code = struct.unpack_from("<H", packet, 1)[0]
    text = packet[3:]
    if text[:1] == b"#":
        text = text[6:]
    return WireError("error %d: %s" % (code, text.decode("utf-8", "replace")), code)


class Connection:
    """One connection.  Every method raises WireError or OSError, and nothing else."""

    def __init__(self, path=None, host="127.0.0.1", port=0, user="root", timeout=10.0,
                 login=True):
        if path:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            address = path
        else:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self.sock = socket.socket(family, socket.SOCK_STREAM)
            address = (host, port)
        self.version = None
        self.seq = 0
        try:
            self.sock.settimeout(timeout)
            self.sock.connect(address)
            self._greeting()
            if login:
                self._login(user)
        except (IndexError, KeyError, struct.error) as exc:
            self.sock.close()
            raise WireError("not a MySQL greeting: %r" % exc) from exc
        except BaseException:
            self.sock.close()
            raise

    def _exactly(self, size):
        parts = []
        while size:
            part = self.sock.recv(size)
            if not part:
                raise WireError("the server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _read(self):
        header = self._exactly(4)
        self.seq = (header[3] + 1) & 0xFF
        size = int.from_bytes(header[:3], "little")
        if size >= PACKET_MAX - 1:
            raise WireError("an answer of more than 16 MiB")
        return self._exactly(size)

    def _write(self, payload):
        self.sock.sendall(struct.pack("<I", len(payload))[:3] + bytes([self.seq]) + payload)

    def _greeting(self):
        packet = self._read()
        if packet[0] == 0xFF:
            raise _error(packet)
        if packet[0] != 10:
            raise WireError("protocol %d instead of 10" % packet[0])
        self.version = packet[1:packet.index(0, 1)].decode("utf-8", "replace")

    def _login(self, user):
        flags = (CLIENT_LONG_PASSWORD | CLIENT_PROTOCOL_41 | CLIENT_TRANSACTIONS |
                 CLIENT_SECURE_CONNECTION | CLIENT_PLUGIN_AUTH)
        self._write(struct.pack("<IIB23x", flags, 1 << 24, UTF8) + user.encode() + b"\0" +
                    b"\0" + b"mysql_native_password\0")
        while True:
            packet = self._read()
            if packet[0] == 0xFF:
                raise _error(packet)
            if packet[0] == 0x00:
                return
            # An AuthSwitchRequest: an empty answer is an empty password for every plugin that
            # takes one.  A second one can only mean that a password is wanted.
            if packet[0] != 0xFE:
                raise WireError("login needs more than an empty password")
            self._write(b"")

    def query(self, sql):
        """The rows of one statement, as tuples of str or None; [] where it has no rows."""
        self.seq = 0
        self._write(bytes([COM_QUERY]) + sql.encode())
        try:
            return self._rows()
        except (IndexError, KeyError, struct.error) as exc:
            raise WireError("unexpected answer to %s: %r" % (sql, exc)) from exc

    def _rows(self):
        packet = self._read()
        if packet[0] == 0xFF:
            raise _error(packet)
        if packet[0] == 0x00:
            return []
        count, _ = _lenenc(packet, 0)
        if count is None:
            raise WireError("the server asks for a local file")
        for _ in range(count):
            self._read()
        self._read()  # EOF after the column definitions
        rows = []
        while True:
            packet = self._read()
            if packet[0] == 0xFF:
                raise _error(packet)
            if packet[0] == 0xFE and len(packet) < 9:
                return rows
            at, row = 0, []
            for _ in range(count):
                size, at = _lenenc(packet, at)
                if size is None:
                    row.append(None)
                    continue
                row.append(packet[at:at + size].decode("utf-8", "replace"))
                at += size
            rows.append(tuple(row))

    def close(self):
        try:
            self.seq = 0
            self._write(bytes([COM_QUIT]))
        except OSError:
            pass
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
