#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy.py ISOREC ISOTRACE [TEST...]

Each conversation is played with every message whole, with messages of one direction joined, and
cut in two at every byte; each piece is read by the other side before the next one is sent, so that
the proxy sees just these pieces.  What arrives must be what was sent, and the trace must hold what
was said.
"""
import ctypes
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, SkipTest, records, run_tests, test, wait_for  # noqa: E402

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


CONVERSATIONS = {}


def conversation(function):
    CONVERSATIONS[function.__name__] = function()
    return function


@conversation
def text_result():
    return (Talk().command(b"\3select * from t", text="select * from t", rows=2,
                           values=[[1, "x"], [-2, None]])
            .rows((1, "x"), (-2, None))
            .command(b"\3delete from t", text="delete from t", affected=2).server(ok(2, 2))
            .command(b"\1"))


@conversation
def authentication_dialogue():
    talk = Talk(connect=False)
    talk.server(greeting(CAPS)).client(login(CAPS))
    talk.server(b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0").client(SECRET + b"1234")
    talk.server(b"\1\4").client(b"\2").server(b"\1-----BEGIN PUBLIC KEY-----").client(SECRET)
    talk.server(b"\2next\0").client(SECRET).server(b"raw plugin bytes").client(b"")
    talk.server(ok())
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def refused_login():
    talk = Talk(connect=False)
    return talk.server(greeting(CAPS)).client(login(CAPS)).server(err(1045, b"Access denied"))


@conversation
def too_many_connections():
    return Talk(connect=False).server(b"\xff\x10\x04Too many connections")


@conversation
def several_results_and_an_error():
    return (Talk().command(b"\3a;b;c", text="a;b;c", rows=1, error=1146)
            .server(ok(8, 1)).rows((1, "x"), status=8).server(err(1146, b"no table")))


@conversation
def deprecate_eof():
    caps = CAPS | DEPRECATE_EOF | TRACK
    state = b"\0" + lenenc(lenenc("last_gtid") + lenenc("0-1-7"))
    return (Talk(caps).command(b"\3select a from t", rows=1, values=[[7]])
            .server(b"\1", column("a", 3), lenenc("7"), b"\xfe\0\0\2\0\0\0")
            .command(b"\3commit", track={"last_gtid": "0-1-7"})
            .server(ok(0x4002, 0, lenenc("") + lenenc(state))))


@conversation
def prepared_statements():
    talk = Talk()
    talk.command(b"\x16select a from t where a=? and b=?", text="select a from t where a=? and b=?")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 1, 2, 0, 0), column("?", 6), column("?", 6), eof(),
                column("a", 3), eof())
    head = b"\x17" + struct.pack("<IBI", 1, 0, 1)
    talk.command(head + b"\0\1\x08\x80\xfd\0" + struct.pack("<Q", 5) + lenenc("hi"), prepared=1,
                 params=[5, "hi"], rows=1, values=[[9]])
    talk.server(b"\1", column("a", 3), eof(), b"\0\0" + struct.pack("<i", 9), eof())
    talk.command(head + b"\1\0" + lenenc("yo"), prepared=1, params=[None, "yo"], rows=0, values=[])
    talk.server(b"\1", column("a", 3), eof(), eof())
    talk.add(False, 0, b"\x18" + struct.pack("<IH", 1, 1) + b"long ")
    talk.add(False, 0, b"\x18" + struct.pack("<IH", 1, 1) + b"data")
    talk.command(head + b"\0\0" + struct.pack("<Q", 6), params=[6, "long data"], affected=1)
    talk.server(ok(2, 1))
    talk.command(b"\x19" + struct.pack("<I", 1), prepared=1)
    return talk.command(b"\1")


@conversation
def pipelined():
    talk = Talk()
    talk.command(b"\x16insert into t values (?)", text="insert into t values (?)")
    talk.command(b"\x17\xff\xff\xff\xff\0\1\0\0\0\0\1\3\0" + struct.pack("<i", -4), prepared=1,
                 params=[-4], affected=1)
    talk.command(b"\x0e", error=0)
    talk.server(b"\0" + struct.pack("<IHHBH", 3, 0, 1, 0, 0), column("?", 6), eof())
    return talk.server(ok(2, 1), ok())


@conversation
def bulk():
    talk = Talk(CAPS | BULK)
    talk.command(b"\x16insert into t values (?,?)", text="insert into t values (?,?)")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 0, 2, 0, 0), column("?", 6), column("?", 6), eof())
    talk.command(b"\xfa\1\0\0\0\x80\0\1\0\xfd\0" b"\0\5\0\1a" b"\0\6\1", affected=2,
                 params=[5, "a", 6, None])
    return talk.server(ok(2, 2))


@conversation
def cursor():
    talk = Talk()
    talk.command(b"\x16select a from t", text="select a from t")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 1, 0, 0, 0), column("a", 3), eof())
    talk.command(b"\x17\1\0\0\0\1\1\0\0\0", prepared=1, rows=0)
    talk.server(b"\1", column("a", 3), eof(2 | 64))
    talk.command(b"\x1c\1\0\0\0\2\0\0\0", prepared=1, rows=2, values=[[5], [6]])
    talk.server(b"\0\0" + struct.pack("<i", 5), b"\0\0" + struct.pack("<i", 6), eof(2 | 64))
    talk.command(b"\x1c\1\0\0\0\2\0\0\0", prepared=1, rows=0)
    return talk.server(eof(2 | 128))


@conversation
def local_infile():
    talk = Talk().command(b"\3load data local infile 'x' into table t", affected=3)
    talk.server(b"\xfb/tmp/x").client(b"1\n2\n").client(b"3\n").client(b"")
    return talk.server(ok(2, 3)).command(b"\x0e", error=0).server(ok())


@conversation
def change_user_and_reset():
    talk = Talk()
    talk.command(b"\x11eve\0" + lenenc(SECRET) + b"next\0\x2d\0mysql_native_password\0", error=0)
    talk.server(b"\xfeclient_ed25519\0abc").client(b"\3" + SECRET).server(ok())
    return talk.command(b"\x1f", error=0).server(ok())


@conversation
def other_commands():
    talk = Talk(CAPS | PROGRESS)
    talk.command(b"\x09", error=0).server(b"Uptime: 3")
    talk.command(b"\x04t\0", text="t").server(column("a", 3), eof())
    talk.command(b"\2other", text="other").server(ok())
    talk.command(b"\x0c" + struct.pack("<I", 5), text="5").server(ok())
    talk.command(b"\3alter table t force", text="alter table t force", error=0)
    talk.server(b"\xff\xff\xff\1\1\2\x10\0\0\4copy", ok())
    talk.command(b"\x0f", error=1047).server(err(1047, b"Unknown command"))
    talk.command(b"", error=1047).server(err(1047, b"Unknown command"))
    talk.command(b"\x1b\0\0", error=0).server(eof())
    return talk.command(b"\x0d", error=0).server(eof())


@conversation
def metadata_cached():
    talk = Talk(CAPS | CACHE_METADATA)
    talk.command(b"\x16select a from t", text="select a from t")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 1, 0, 0, 0), column("a", 3), eof())
    talk.command(b"\x17\1\0\0\0\0\1\0\0\0", rows=1, values=[[5]])
    return talk.server(b"\1\0", eof(), b"\0\0" + struct.pack("<i", 5), eof())


@conversation
def binlog_dump():
    talk = Talk().command(b"\x12\4\0\0\0\0\0\1\0\0\0binlog.1", flags=16)
    talk.opaque = True
    return talk.server(b"\0event one", b"\0event two").command(b"\xef ack").server(b"\0event three")


@conversation
def nonsense():
    talk = Talk().command(b"\x0e", flags=16).server(b"\x42nonsense").command(b"\3select 1")
    talk.opaque = True
    return talk.server(b"\1\2\3", b"")


@conversation
def no_handshake():
    talk = Talk(connect=False)
    talk.steps = [(True, b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), (False, b"GET / HTTP/1.0\r\n\r\n")]
    talk.opaque = True
    return talk


@conversation
def bulk_with_a_result_a_unit():
    """Ids and counts of each row, as MariaDB 11.5 sends them when asked."""
    talk = Talk(CAPS | BULK | BULK_UNITS)
    talk.command(b"\x16insert into t values (?)", text="insert into t values (?)")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0), column("?", 6), eof())
    talk.command(b"\xfa\1\0\0\0\xc0\0\3\0" + b"\0" + struct.pack("<i", 5) + b"\0" +
                 struct.pack("<i", 6), params=[5, 6], rows=2, values=[[11, 1], [12, 1]])
    talk.server(b"\2", column("Id", 8), column("Affected_rows", 8), eof())
    for row in ((11, 1), (12, 1)):
        talk.server(b"\0\0" + struct.pack("<qq", *row))
    return talk.server(eof()).command(b"\x0e", error=0).server(ok())


@conversation
def bulk_refused():
    talk = Talk(CAPS | BULK)
    talk.command(b"\x16insert into t values (?)", text="insert into t values (?)")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0), column("?", 6), eof())
    talk.command(b"\xfa\1\0\0\0\x80\0\3\0" + b"\2" + b"\3" + b"\0" + struct.pack("<i", 6),
                 error=1062)
    return talk.server(err(1062, b"Duplicate entry '6'")).command(b"\x0e", error=0).server(ok())


@conversation
def failed_prepare_pipelined():
    """EXECUTE(-1) behind a PREPARE that fails: both get an error, and the next command its answer."""
    talk = Talk().command(b"\x16selec 1", text="selec 1", error=1064)
    talk.command(b"\x17\xff\xff\xff\xff\0\1\0\0\0", error=1243)
    talk.command(b"\3select 2", rows=1)
    talk.server(err(1064, b"syntax"), err(1243, b"Unknown prepared statement handler"))
    talk.seq = 1
    return talk.rows((2, "x"))


@conversation
def cursor_of_nothing():
    """An empty result through a cursor, and a server that opens none for it; DEPRECATE_EOF."""
    talk = Talk(CAPS | DEPRECATE_EOF)
    talk.command(b"\x16select a from t", text="select a from t")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 1, 0, 0, 0), column("a", 3))
    talk.command(b"\x17\1\0\0\0\1\1\0\0\0", prepared=1, rows=0)
    talk.server(b"\1", column("a", 3), b"\xfe\0\0" + struct.pack("<HH", 2 | 64, 0))
    talk.command(b"\x1c\1\0\0\0\2\0\0\0", prepared=1, rows=0)
    talk.server(b"\xfe\0\0" + struct.pack("<HH", 2 | 128, 0))
    talk.command(b"\x17\1\0\0\0\1\1\0\0\0", prepared=1, rows=0)
    talk.server(b"\1", column("a", 3), b"\xfe\0\0" + struct.pack("<HH", 2, 0))
    talk.command(b"\x1a\1\0\0\0", error=0).server(ok())
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def cursor_of_nothing_with_eof():
    talk = Talk()
    talk.command(b"\x16select a from t", text="select a from t")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 1, 0, 0, 0), column("a", 3), eof())
    talk.command(b"\x17\1\0\0\0\1\1\0\0\0", prepared=1, rows=0)
    talk.server(b"\1", column("a", 3), eof(2 | 64))
    talk.command(b"\x1c\1\0\0\0\2\0\0\0", prepared=1, rows=0).server(eof(2 | 128))
    talk.command(b"\x17\1\0\0\0\1\1\0\0\0", prepared=1, rows=0)
    talk.server(b"\1", column("a", 3), eof(), eof())
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def call_with_parameters_out():
    """CALL: a result, the parameters going out (a result of their own), the end."""
    talk = Talk()
    talk.command(b"\x16call p(?)", text="call p(?)")
    talk.server(b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0), column("?", 6), eof())
    talk.command(b"\x17\1\0\0\0\0\1\0\0\0\0\1\3\0" + struct.pack("<i", 3), params=[3], rows=2,
                 values=[[7], [8]])
    for status, value in ((2 | 8, 7), (2 | 8 | 4096, 8)):
        talk.server(b"\1", column("a", 3), eof(status), b"\0\0" + struct.pack("<i", value),
                    eof(status))
    return talk.server(ok())


@conversation
def query_attributes():
    """MySQL 8: parameters with names stand before the text; none, and one of each kind."""
    talk = Talk(CAPS | MYSQL | ATTRIBUTES)
    talk.command(b"\3\0\1select 1", text="select 1", rows=1).rows((1, "x"))
    talk.command(b"\3\2\1\0\1\xfd\0" + lenenc("trace") + b"\3\0" + lenenc("n") + lenenc("abc") +
                 struct.pack("<i", 7) + b"select 2", text="select 2", params=["abc", 7], rows=1)
    return talk.rows((2, "y"))


@conversation
def metadata_optional():
    """MySQL: the flag before the count; rows without definitions are counted."""
    talk = Talk(CAPS | MYSQL | OPTIONAL_METADATA | DEPRECATE_EOF)
    end = b"\xfe\0\0\2\0\0\0"
    talk.command(b"\3select a from t", rows=1, values=[[7]])
    talk.server(b"\1\1", column("a", 3), lenenc("7"), end)
    talk.command(b"\3select a from t", rows=2, values=[])
    talk.server(b"\0\1", lenenc("7"), lenenc("8"), end)
    talk.command(b"\x16select a from t", text="select a from t")
    talk.server(b"\0" + struct.pack("<IHHBHB", 1, 1, 0, 0, 0, 1), column("a", 3))
    talk.command(b"\x17\1\0\0\0\0\1\0\0\0", rows=1, values=[[5]])
    return talk.server(b"\0\1", b"\0\0" + struct.pack("<i", 5), end)


@conversation
def local_infile_refused():
    talk = Talk().command(b"\3load data local infile 'x' into table t", error=1148)
    talk.server(b"\xfb/tmp/x").client(b"").server(err(1148, b"not allowed"))
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def change_user_refused():
    talk = Talk().command(b"\x11eve\0" + lenenc(SECRET) + b"next\0\x2d\0mysql_native_password\0",
                          error=1045)
    return talk.server(err(1045, b"Access denied"))


@conversation
def error_behind_rows():
    talk = Talk().command(b"\3select sleep(9)", rows=1, error=1317)
    talk.server(b"\1", column("a", 3), eof(), lenenc("1"), err(1317, b"interrupted"))
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def sequence_wraps():
    """More than 256 packets in one answer: the number starts again at 0."""
    return (Talk().command(b"\3select * from t", rows=300)
            .rows(*((i, "x") for i in range(300))).command(b"\x0e", error=0).server(ok()))


@conversation
def old_commands():
    talk = Talk()
    talk.command(b"\5shop", text="shop").server(ok()).command(b"\6shop", text="shop").server(ok())
    talk.command(b"\7\1", error=0).server(ok())
    talk.command(b"\x0a", rows=1, values=[[1, "x"]]).rows((1, "x"))
    talk.command(b"\x15\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", error=0).server(ok())
    for byte in (0x0b, 0x10, 0x13 + 1, 0x1d, 0xfb, 0xfc, 0xfd, 0xfe):
        talk.command(bytes([byte]), error=1047).server(err(1047, b"Unknown command"))
    return talk.command(b"\x08\0", error=0).server(eof())


@conversation
def clone_and_gtid_dump():
    talk = Talk().command(b"\x1e\0\0\1\0\0\0", flags=16)
    talk.opaque = True
    return talk.server(b"\0event").client(b"\xef ack").server(b"\0event")


@conversation
def progress_reports():
    """MariaDB's reports of a long ALTER: errors that end nothing."""
    report = b"\xff\xff\xff\1\1\2" + struct.pack("<I", 50000)[:3] + lenenc("copy to tmp table")
    talk = Talk(CAPS | PROGRESS).command(b"\3alter table t force", error=0, affected=3)
    talk.server(report, report, ok(2, 3))
    return talk.command(b"\3select 1", error=1317).server(report, err(1317, b"interrupted"))


@conversation
def proof_in_the_first_ok():
    """MariaDB 11.4 proves its certificate in the info of the OK: passed on, not kept."""
    talk = Talk(connect=False).server(greeting(CAPS)).client(login(CAPS))
    talk.server(b"\0\0\0" + struct.pack("<HH", 2, 0) + SECRET)
    return talk.command(b"\x0e", error=0).server(ok())


@conversation
def clone_is_opaque():
    talk = Talk().command(b"\x20\1\2\3", flags=16)
    talk.opaque = True
    return talk.server(b"\1locator").client(b"\3").server(b"\2data" * 9)


@conversation
def every_kind_of_session_state():
    """Variables, schema, the changed flag, GTIDs, characteristics, transaction state; several at once."""
    state = (b"\0" + lenenc(lenenc("autocommit") + lenenc("OFF") + lenenc("time_zone") + lenenc("UTC")) +
             b"\1" + lenenc(lenenc("shop2")) + b"\2" + lenenc(lenenc("1")) +
             b"\3" + lenenc(b"\0" + lenenc("3e11fa47-71ca-11e1-9e33-c80aa9429562:23")) +
             b"\4" + lenenc(lenenc("START TRANSACTION;")) + b"\5" + lenenc(lenenc("T_______")))
    talk = Talk(CAPS | TRACK).command(b"\3begin", track={
        "autocommit": "OFF", "time_zone": "UTC", "schema": "shop2",
        "gtid": "3e11fa47-71ca-11e1-9e33-c80aa9429562:23", "characteristics": "START TRANSACTION;",
        "state": "T_______"})
    return talk.server(ok(0x4003, 0, lenenc("") + lenenc(state)))


@conversation
def lengths_of_values():
    """A value's length in one byte, in two, in three; and NULL, which looks like one."""
    talk = Talk().command(b"\3select b from t", rows=5,
                          values=[["x" * 250], ["x" * 251], ["x" * 300], [None], [""]])
    talk.server(b"\1", column("b", 253), eof(), b"\xfa" + b"x" * 250, b"\xfc\xfb\0" + b"x" * 251,
                b"\xfd\x2c\1\0" + b"x" * 300, b"\xfb", b"\0")
    return talk.server(eof()).command(b"\x0e", error=0).server(ok())


@conversation
def client_of_before_4_1():
    """The 320 handshake: passed on, the session is opaque."""
    talk = Talk(connect=False)
    talk.server(greeting(CAPS))
    talk.client(struct.pack("<H", 1 | 4 | 8) + b"\0\0\1" + b"bob\0" + SECRET[:8] + b"\0shop\0")
    talk.server(b"\xfe").client(SECRET[:8] + b"\0").server(b"\0\0\0\2\0\0\0")
    talk.opaque = True
    return talk.command(b"\3select 1").server(b"\1", b"\1a", b"\xfe", b"\0011", b"\xfe")


def in_frames(talk, plain, compress):
    """The commands of `plain` in compressed frames; some stored, some with halves of packets."""
    talk.expected = plain.expected
    for server in (False, True):
        stream = b"".join(b for s, b in plain.steps[3:] if s == server)
        for number, part in enumerate((stream[:10], stream[10:])):
            packed = compress(part) if number else part
            head = struct.pack("<I", len(packed))[:3] + bytes([number])
            head += struct.pack("<I", len(part) if number else 0)[:3]
            talk.steps.append((server, head + packed))
    return talk


def compressed_talk(caps, compress):
    plain = Talk()
    plain.command(b"\3select * from t", text="select * from t", rows=1, values=[[1, "y" * 200]])
    plain.rows((1, "y" * 200))
    return in_frames(Talk(caps), plain, compress)


def zstd(data):
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(library.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    size = library.ZSTD_compress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:size]


@conversation
def compressed():
    return compressed_talk(CAPS | COMPRESS, zlib.compress)


@conversation
def compressed_with_zstd():
    return compressed_talk(CAPS | MYSQL | ZSTD, zstd)


@conversation
def compressed_with_zlib_though_both():
    return compressed_talk(CAPS | MYSQL | ZSTD | COMPRESS, zlib.compress)


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


def single_bytes(data):
    return [data[i:i + 1] for i in range(len(data))]


def plain_value(value):
    return value


def of_session(everything):
    """What a session's records say, without times and numbers that differ."""
    out = []
    rows = {}
    for record in everything:
        if record["kind"] == "result":
            rows.setdefault((record["number"], record["set"]), []).extend(record["rows"])
        elif record["kind"] == "stmt":
            out.append({k: record[k] for k in (
                "number", "command", "text", "prepared", "params", "status", "affected", "error",
                "rows", "flags", "track", "reply_bytes")})
            values = [row for key in sorted(rows) if key[0] == record["number"] for row in rows[key]]
            out[-1]["values"] = values
        elif record["kind"] == "session":
            out.append({k: record[k] for k in ("event", "user", "database", "reason", "thread")})
        elif record["kind"] == "txn":
            out.append({k: record[k] for k in ("event", "outcome", "level", "reason")})
    return out


def check_session(name, talk, got):
    stmts = [r for r in got if "command" in r]
    assert len(stmts) == len(talk.expected), "%s: %d statements, not %d: %s" % (
        name, len(stmts), len(talk.expected), stmts)
    for expected, stmt in zip(talk.expected, stmts):
        for key, value in expected.items():
            assert stmt[key] == value, "%s: %s is %r, not %r in %s" % (
                name, key, stmt[key], value, stmt)
    events = [r["event"] for r in got if "user" in r]
    assert events[0] == 0 and events[-1] == 1, events
    assert (2 in events) == talk.opaque, "%s: opaque %s, not %s: %s" % (
        name, 2 in events, talk.opaque, got)


def play_everywhere(name, talk):
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--workers=2") as proxy:
        play(mock, proxy, talk.steps, whole)
        play(mock, proxy, joined(talk.steps), whole)
        play(mock, proxy, talk.steps, single_bytes)
        count = 3
        # Cut k cuts every message at k, so all cuts of all messages are tried.
        for k in range(1, max(len(data) for _, data in talk.steps)):
            play(mock, proxy, talk.steps, lambda data, k=k: (data[:k], data[k:]))
            count += 1
        for k in range(1, max(len(data) for _, data in joined(talk.steps)), 3):
            play(mock, proxy, joined(talk.steps), lambda data, k=k: (data[:k], data[k:]))
            count += 1
        proxy.stop()
        everything = records(ISOTRACE, proxy.trace)
        with open(proxy.trace, "rb") as trace:
            assert SECRET not in trace.read()
    assert SECRET.decode() not in str(everything)
    sessions = {}
    for record in everything:
        if "session" in record:
            sessions.setdefault(record["session"], []).append(record)
    assert len(sessions) == count, "%d sessions, not %d" % (len(sessions), count)
    first = of_session(sessions[1])
    check_session(name, talk, first)
    for number, got in sessions.items():
        assert of_session(got) == first, "session %d: %s\nis not as session 1: %s" % (
            number, of_session(got), first)


def define(name, talk):
    def function():
        play_everywhere(name, talk)
    function.__name__ = name
    function.__doc__ = "%s, cut at every byte and joined" % name.replace("_", " ")
    test(function)


for conversation_name, conversation_talk in CONVERSATIONS.items():
    define(conversation_name, conversation_talk)


# ---- the greeting, TLS ----

@test
def tls_is_taken_out_of_the_greeting():
    """strip: the offer of TLS is cleared and nothing else; passthrough: nothing is"""
    mock = Mock()
    address = "127.0.0.1:%d" % mock.port
    offered, plain = packet(0, greeting(CAPS | SSL)), packet(0, greeting(CAPS))
    for option, arrives in (("--tls=strip", plain), ("--tls=passthrough", offered)):
        with Proxy(ISOREC, [address], option) as proxy:
            for k in range(len(offered)):
                client, server = mock.connect(proxy)
                with client, server:
                    server.sendall(offered[:k])
                    got = receive(client, k)
                    server.sendall(offered[k:])
                    got += receive(client, len(offered) - k)
                    assert got == arrives


@test
def tls_passes_through_opaque():
    """after an SSLRequest all bytes pass, and the session is marked opaque"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--tls=passthrough") as proxy:
        caps = CAPS | SSL
        request = packet(1, struct.pack("<IIB", caps & 0xffffffff, 1 << 24, 45) + b"\0" * 23)
        noise = random.Random(1).randbytes(3000)
        play(mock, proxy, [(True, packet(0, greeting(caps))), (False, request), (False, noise),
                           (True, noise), (False, noise)], whole)
        proxy.stop()
        sessions = records(ISOTRACE, proxy.trace, ["session"])
        assert [s["event"] for s in sessions] == [0, 2, 1], sessions
        assert "TLS" in sessions[1]["reason"]


# ---- sockets of all kinds ----

@test
def unix_sockets_and_ipv6():
    """Unix sockets on both sides, IPv6 on both sides, two nodes at once"""
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as outer:
        path, mine = os.path.join(outer.folder, "server.sock"), os.path.join(outer.folder, "rec.sock")
        unix = Mock(socket.AF_UNIX, path)
        six = Mock(socket.AF_INET6, ("::1", 0))
        with Proxy(ISOREC, ["u=unix:" + path, "v6=[::1]:%d" % six.port],
                   listen=["v6=[::1]:0", "u=" + mine]) as proxy:
            for family, address, mock in ((socket.AF_UNIX, mine, unix),
                                          (socket.AF_INET6, ("::1", proxy.ports[-1]), six)):
                with socket.socket(family) as client:
                    client.connect(address)
                    with mock.accept() as server:
                        server.sendall(packet(0, greeting(CAPS)))
                        assert receive(client, 20)
            proxy.stop()
            nodes = [r["node"] for r in records(ISOTRACE, proxy.trace, ["session"])]
            assert sorted(set(nodes)) == ["u", "v6"], nodes
            assert not os.path.exists(mine), "the socket file is left behind"


HEADER_2 = b"\r\n\r\n\0\r\nQUIT\n"


@test
def proxy_protocol_of_clients():
    """--accept-proxy-protocol: headers of both versions, cut at every byte; anything else is refused"""
    mock = Mock()
    four = socket.inet_aton("192.0.2.7") + socket.inet_aton("10.0.0.1") + struct.pack(">HH", 4711, 3306)
    six = (socket.inet_pton(socket.AF_INET6, "2001:db8::5") + b"\0" * 16 +
           struct.pack(">HH", 99, 3306))
    # A header, and the client's address in the trace (None: the connection's own).
    cases = [(b"PROXY TCP4 192.0.2.1 10.0.0.1 65535 3306\r\n", "192.0.2.1:65535"),
             (b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "[2001:db8::1]:1"),
             (b"PROXY UNKNOWN what ever\r\n", None),
             (HEADER_2 + b"\x21\x11" + struct.pack(">H", 12) + four, "192.0.2.7:4711"),
             (HEADER_2 + b"\x21\x21" + struct.pack(">H", 36 + 7) + six + b"\4\0\4TLV.",
              "[2001:db8::5]:99"),
             (HEADER_2 + b"\x20\0\0\0", None)]
    bad = [b"PROXY TCP4 192.0.2.1 10.0.0.1 65536 3306\r\n", b"PROXY TCP4 192.0.2.1 10.0.0.1 1\r\n",
           b"PROXY TCP4 ::1 ::1 1 2\r\n", b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2 3\r\n",
           b"PROXY " + b"x" * 200, b"GET / HTTP/1.1\r\n", HEADER_2 + b"\x31\x11\0\x0c" + four,
           HEADER_2 + b"\x21\x11\0\4" + four[:4], HEADER_2 + b"\x21\x11\xff\xff"]
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--accept-proxy-protocol") as proxy:
        want = []
        for header, address in cases:
            for k in range(len(header) if len(header) < 60 else 8):
                with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                    client.settimeout(60)
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for part in (header[:k], header[k:]):
                        client.sendall(part)
                    with mock.accept() as server:
                        server.sendall(packet(0, greeting(CAPS)))
                        assert receive(client, 4 + len(greeting(CAPS))) == packet(0, greeting(CAPS))
                        client.sendall(packet(1, login(CAPS)))
                        assert receive(server, 4 + len(login(CAPS))) == packet(1, login(CAPS))
                        want.append(address or "%s:%d" % client.getsockname())
        for header in bad:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(60)
                client.sendall(header)
                assert b"PROXY protocol" in client.recv(1000), header
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        opened = [r for r in records(ISOTRACE, proxy.trace, ["session"]) if r["event"] == 0]
        opened.sort(key=lambda r: r["session"])
        assert [r["client"] for r in opened] == want, (opened, want)


# ---- faults ----

@test
def nothing_to_read_from():
    """--user and no server: an error, and no trace that the next try would stumble over"""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        trace = os.path.join(folder, "t.itr")
        done = subprocess.run(
            [ISOREC, "proxy", "--listen", "127.0.0.1:0", "--node",
             f"n1=127.0.0.1:{closed.getsockname()[1]}", "--user", "nobody", "-o", trace],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 4 and "cannot connect" in done.stdout, done
        assert not os.path.exists(trace)


@test
def upstream_refused():
    """a client gets an ERR packet when the node does not listen, and the trace says why"""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Proxy(ISOREC, ["db=127.0.0.1:%d" % closed.getsockname()[1]]) as proxy:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(60)
                answer = b""
                while True:
                    part = client.recv(1000)
                    if not part:
                        break
                    answer += part
            assert answer[4:7] == b"\xff\x51\x04" and b"Connection refused" in answer, answer
            assert b"cannot connect to node db" in answer
            assert len(answer) == 4 + answer[0] + 256 * answer[1]
            proxy.stop()
            closing = records(ISOTRACE, proxy.trace, ["session"])[-1]
            assert "Connection refused" in closing["reason"], closing


@test
def garbage():
    """bytes that are no MySQL, from either side, pass as they are, and nothing is made of them"""
    mock = Mock()
    rng = random.Random(7)
    noise = [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 300, b"\xff" * 300, rng.randbytes(5000),
             packet(0, b"\x09old greeting\0"), packet(0, b""), b"\x01\0\0\0\x0a" + b"a" * 3000]
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for data in noise:
            client, server = mock.connect(proxy)
            with client, server:  # the server speaks nonsense, then both do
                for source, sink in ((server, client), (client, server), (server, client)):
                    source.sendall(data)
                    assert receive(sink, len(data)) == data
            client, server = mock.connect(proxy)
            with client, server:  # a right greeting, and nonsense for an answer
                server.sendall(packet(0, greeting(CAPS)))
                receive(client, 4 + len(greeting(CAPS)))
                client.sendall(data)
                assert receive(server, len(data)) == data
                server.sendall(data)
                assert receive(client, len(data)) == data
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace, ["session", "stmt"])
    assert not [r for r in got if r["kind"] == "stmt"], got
    assert len({r["session"] for r in got if r["event"] == 1}) == 2 * len(noise), got


@test
def half_closed():
    """a client that says that it sends no more still gets its answer; so does the other side"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            query, answer = packet(0, b"\3delete from t"), packet(1, ok(2, 5))
            client.sendall(query)
            client.shutdown(socket.SHUT_WR)
            assert receive(server, len(query)) == query
            assert server.recv(1) == b"", "the end passes, too"
            server.sendall(answer)
            server.shutdown(socket.SHUT_WR)
            assert receive(client, len(answer)) == answer
            assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        statement, = records(ISOTRACE, proxy.trace, ["stmt"])
        assert statement["affected"] == 5 and not statement["flags"] & 1, statement


@test
def keepalive():
    """both sockets of a session ask for a peer that has gone without a word (half-open)"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            server.sendall(packet(0, greeting(CAPS)))
            receive(client, 20)
            ports = {mock.port, client.getsockname()[1]}

            def asking():
                """Far ends of the proxy's connections whose timer is the keepalive one (2)."""
                seen = set()
                with open("/proc/net/tcp", encoding="ascii") as table:
                    for line in list(table)[1:]:
                        local, remote, timer = (line.split()[i] for i in (1, 2, 5))
                        near, far = (int(a.split(":")[1], 16) for a in (local, remote))
                        if far in ports and (near == proxy.port or far == mock.port) and \
                                timer[:2] == "02":
                            seen.add(far)
                return seen
            wait_for("keepalive on both", lambda: asking() == ports)  # once all is acknowledged
        proxy.stop()


def lost_after(query, status_before, answer=b"", end="server"):
    """The records of a session that ends after the query was sent."""
    talk = Talk()
    if status_before & 1:
        talk.command(b"\3begin").server(ok(status_before))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in talk.steps + [(False, packet(0, query))]:
                if from_server:
                    pass_on(server, client, data, whole)
                else:
                    pass_on(client, server, data, whole)
            if answer:
                server.sendall(answer)
                receive(client, len(answer))
            # RST, as of a process that was killed with data unread; or an orderly end.
            gone = server if end == "server" else client
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
            other = client if end == "server" else server
            try:
                assert other.recv(10) == b""
            except ConnectionResetError:
                pass
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        return records(ISOTRACE, proxy.trace)


@test
def commit_without_an_answer():
    """server gone after COMMIT was sent: no reply, the outcome is unknown"""
    got = lost_after(b"\3commit", 3)
    stmt = [r for r in got if r["kind"] == "stmt"][-1]
    txn = [r for r in got if r["kind"] == "txn"][-1]
    assert stmt["flags"] == 1 and stmt["text"] == "commit", stmt
    assert stmt["request_bytes"] == 7 and stmt["reply_bytes"] == 0, stmt
    assert txn["event"] == 1 and txn["outcome"] == 0 and txn["txn"] == stmt["txn"], txn


@test
def write_without_an_answer_in_a_transaction():
    """server gone during an UPDATE of an open transaction: that cannot have committed"""
    txn = [r for r in lost_after(b"\3update t set a=1", 3) if r["kind"] == "txn"][-1]
    assert txn["outcome"] == 2, txn


@test
def write_without_an_answer_alone():
    """server gone during an autocommitted UPDATE: unknown"""
    got = lost_after(b"\3update t set a=1", 2)
    txn = [r for r in got if r["kind"] == "txn"]
    assert len(txn) == 1 and txn[0]["outcome"] == 0 and txn[0]["autocommit"], txn


@test
def server_gone_in_a_result():
    """server gone after some rows: they are in the trace, the statement has no reply"""
    part = b"".join(packet(i + 1, p) for i, p in enumerate(
        (b"\1", column("a", 3), eof(), lenenc("1"), lenenc("2"))))
    got = lost_after(b"\3select a from t", 3, part)
    stmt = [r for r in got if r["kind"] == "stmt"][-1]
    rows = [row for r in got if r["kind"] == "result" for row in r["rows"]]
    assert stmt["flags"] == 1 and stmt["rows"] == 2 and rows == [[1], [2]], (stmt, rows)
    assert stmt["reply_bytes"] == len(part) and stmt["request_bytes"] == 16, stmt


@test
def client_gone():
    """client gone in the middle of a transaction: rolled back by the server, recorded so"""
    got = lost_after(b"\3select a from t", 3, end="client")
    txn = [r for r in got if r["kind"] == "txn"][-1]
    assert txn["outcome"] == 2 and txn["reason"] == "disconnect", txn
    assert "client" in [r for r in got if r["kind"] == "session"][-1]["reason"]
    assert not [r for r in got if r["kind"] == "session" and r["event"] == ENDED]


ENDED = 4


@test
def ended_by_the_server():
    """a server that closes with an error or without ends the session at once, whatever its client does"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        closed = []
        for last in (b"", packet(0, err(4031, b"idle for too long")), packet(0, err(1927, b"killed"))):
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in Talk().command(b"\3begin").server(ok(AUTO | IN)).steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                begun = time.monotonic_ns()
                server.sendall(last)
                server.close()
                assert receive(client, len(last)) == last and client.recv(1) == b""
                closed.append((begun, time.monotonic_ns()))
                # Does not reach anybody.
                client.sendall(packet(0, b"\3commit"))
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    ends = [r for r in got if r["kind"] == "session" and r["event"] == ENDED]
    assert [r["reason"] for r in ends] == [
        "server closed", "server closed, error 4031", "server closed, error 1927"], ends
    for end, (begun, seen) in zip(ends, closed):
        mine = [r for r in got if r.get("session") == end["session"]]
        last = [r for r in mine if r["kind"] == "txn"][-1]
        assert begun < end["at"] < seen and begun < last["at"] < seen, (begun, end, last, seen)
        assert (last["outcome"], last["reason"]) == (2, "ended by the server"), last
        assert [r["text"] for r in mine if r["kind"] == "stmt"] == ["begin"], mine
        assert [r["event"] for r in mine if r["kind"] == "session"] == [0, ENDED, 1], mine


@test
def half_a_command():
    """client gone in the middle of a command: the server never had it, nothing is unknown"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            part = packet(0, b"\3insert into t values (1)")[:12]
            pass_on(client, server, part, whole)
            client.close()
            assert server.recv(10) == b""
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
        assert not [r for r in got if r["kind"] == "txn"], got
        stmt = [r for r in got if r["kind"] == "stmt"][-1]
        assert stmt["flags"] & 5 == 5 and stmt["request_bytes"] == 8, stmt


@test
def proxy_killed():
    """kill -9: what was flushed is readable"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--flush-interval=10ms") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            talk = Talk().command(b"\3select * from t").rows((1, "x"))
            for from_server, data in talk.steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            wait_for("the flush", lambda: any(
                r["kind"] == "stmt" for r in records(ISOTRACE, proxy.trace)))
            proxy.stop(signal.SIGKILL, -signal.SIGKILL)
            assert [r["text"] for r in records(ISOTRACE, proxy.trace, ["stmt"])] == [
                "select * from t"]


# ---- size ----

@test
def disk_full():
    """no room for the trace: the traffic goes on, what was written is readable, the loss is told"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0", "--flush-interval=10ms",
               file_size=20000) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            talk = Talk()
            for number in range(50):
                talk.command(b"\3select " + b"%d" % number + b"x" * 1000).server(ok())
            for step, (from_server, data) in enumerate(talk.steps):
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
                if step == 4:
                    wait_for("the first block", lambda: records(ISOTRACE, proxy.trace, ["stmt"]))
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop(status=4)
        assert "File too large" in proxy.text() and "lost" in proxy.text(), proxy.text()
        got = records(ISOTRACE, proxy.trace, ["stmt"])
        assert 0 < len(got) < 50 and got[0]["text"].startswith("select 0"), len(got)


@test
def large_packets():
    """packets of 16 MB - 1, 16 MB and 64 MB, both ways, arrive as they are"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for size in ((1 << 24) - 2, (1 << 24) - 1, 1 << 24, 64 << 20):
            talk = Talk()
            noise = random.Random(size).randbytes(1000) * (size // 1000 + 1)
            talk.command(b"\3" + noise[:size - 1])
            talk.server(b"\1", column("a", 252), eof())
            talk.server(b"\xfe" + struct.pack("<Q", size - 9) + noise[:size - 9], eof())
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in talk.steps:
                    source, target = (server, client) if from_server else (client, server)
                    exchange(source, target, data)
        proxy.stop()
        stmts = records(ISOTRACE, proxy.trace, ["stmt"])
        assert [s["rows"] for s in stmts] == [1] * 4, stmts
        # The last two are past --max-packet=16M: cut.
        assert [bool(s["flags"] & 4) for s in stmts] == [False, False, False, True], [
            s["flags"] for s in stmts]


def exchange(source, target, data):
    """Sends and receives at the same time, as no buffer on the way holds it all."""
    source.setblocking(False)
    sent, got = 0, []
    count = 0
    while count < len(data):
        if sent < len(data):
            try:
                sent += source.send(memoryview(data)[sent:sent + (1 << 20)])
            except BlockingIOError:
                pass
        part = target.recv(1 << 20)
        got.append(part)
        count += len(part)
    source.setblocking(True)
    source.settimeout(60)
    assert b"".join(got) == data


@test
def client_that_never_reads():
    """a large result for a client that does not read: the proxy's memory stays bounded"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--buffer=32M") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().command(b"\3select * from t").steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            server.setblocking(False)
            server.settimeout(1)
            row = packet(5, lenenc("x" * 200)) * 5000
            head = b"".join(packet(i + 1, p) for i, p in enumerate((b"\1", column("a", 253), eof())))
            server.sendall(head)
            sent = 0
            try:
                while sent < 500 << 20:
                    sent += server.send(row)  # whole or not: it is never read
            except (BlockingIOError, socket.timeout):
                pass
            assert sent < 100 << 20, "%d bytes were taken though nobody reads them" % sent
            assert proxy.memory() < 100 << 20, proxy.memory()
        proxy.stop()


@test
def thousand_idle_sessions():
    """1,000 idle sessions cost little memory, and a drain ends them all"""
    with open(ISOREC, "rb") as program:
        if b"__tsan_init" in program.read():
            raise SkipTest("the thread sanitizer's own memory would be measured")
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        before = proxy.memory()
        pairs = []
        for _ in range(1000):
            client, server = mock.connect(proxy)
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            pairs.append((client, server))
        assert proxy.statistics()["sessions"] == 1000
        cost = (proxy.memory() - before) / 1000
        assert cost < 16 * 1024, "%d bytes a session" % cost
        proxy.stop()
        for client, server in pairs:
            assert client.recv(1) == b"" and server.recv(1) == b""
            client.close()
            server.close()
        closed = [r for r in records(ISOTRACE, proxy.trace, ["session"]) if r["event"] == 1]
        assert len(closed) == 1000 and {r["reason"] for r in closed} == {"recorder shutdown"}


# ---- signals ----

@test
def what_ended_before_comes_before():
    """sessions that take turns: each statement's numbers and times end before the next ones begin"""
    mock = Mock()
    texts = []
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--workers=2") as proxy:
        pairs = [mock.connect(proxy) for _ in range(5)]
        for client, server in pairs:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
        for turn in range(40):
            for who, (client, server) in enumerate(pairs):
                texts.append("select %d from t%d" % (turn, who))
                talk = Talk(connect=False).command(b"\3" + texts[-1].encode())
                if turn % 3:
                    talk.rows((1, "x"), (2, "y"))
                else:
                    talk.server(ok())
                for from_server, data in joined(talk.steps):
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
        for client, server in pairs:
            client.close()
            server.close()
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    stmts = sorted((r for r in got if r["kind"] == "stmt"), key=lambda r: r["begin_seq"])
    ends = {(r["session"], r["number"]): r for r in got if r["kind"] == "txn"}
    assert [r["text"] for r in stmts] == texts
    for this, after in zip(stmts, stmts[1:]):
        end = ends[this["session"], this["number"]]
        assert max(this["seq"], end["seq"]) < after["begin_seq"], (this, end, after)
        assert max(this["at"], end["at"]) <= after["begin"], (this, end, after)
        # Wider, as the client sees it: never shorter than the server's side.
        assert this["client_begin"] <= this["begin"], this
        assert this["at"] <= this["client_end"], this
    seqs = [r["seq"] for r in got if "seq" in r]
    assert len(set(seqs)) == len(seqs)


@test
def quitting_is_no_loss():
    """a server that closes after QUIT, and one that closes without: only the second is an event"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for quits in (True, False):
            talk = Talk().command(b"\3select 1").server(ok())
            if quits:
                talk.command(b"\1")
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in talk.steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                server.close()
                assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace, ["cluster", "session"])
    assert [r["session"] for r in got if r["kind"] == "session" and r["event"] == ENDED] == [2]
    closed = {r["session"]: r["reason"] for r in got if r["kind"] == "session" and r["event"] == 1}
    assert closed == {1: "quit", 2: "server closed"}, closed
    lost = [r for r in got if r["kind"] == "cluster"]
    assert len(lost) == 1, lost


@test
def drain_waits_for_transactions():
    """SIGTERM: no new connections, idle sessions end, an open transaction may end first"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--drain-timeout=60s") as proxy:
        busy, busy_server = mock.connect(proxy)
        idle, idle_server = mock.connect(proxy)
        talk = Talk().command(b"\3begin").server(ok(3))
        for from_server, data in talk.steps:
            pass_on(*((busy_server, busy) if from_server else (busy, busy_server)), data, whole)
        for from_server, data in Talk().steps:
            pass_on(*((idle_server, idle) if from_server else (idle, idle_server)), data, whole)
        proxy.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b"", "the idle session was not closed"
        assert proxy.process.poll() is None
        pass_on(busy, busy_server, packet(0, b"\3commit"), whole)
        busy_server.sendall(packet(1, ok(2)))
        assert receive(busy, 11) == packet(1, ok(2)), "the answer to COMMIT was not delivered"
        assert busy.recv(1) == b""
        proxy.process.wait(timeout=60)
        txn = records(ISOTRACE, proxy.trace, ["txn"])[-1]
        assert txn["outcome"] == 1, txn


CLOCK = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
/* The wall clock is an hour ahead from the moment that somebody watches it. */
static int watched;
int timerfd_create(clockid_t clock, int flags)
{
	(void)clock, (void)flags;
	watched = 1;
	return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
}
int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	(void)fd, (void)flags, (void)at, (void)old;
	return 0;
}
int clock_gettime(clockid_t clock, struct timespec *out)
{
	int code = (int)syscall(SYS_clock_gettime, clock, out);

	if (clock == CLOCK_REALTIME && watched)
		out->tv_sec += 3600;
	return code;
}
"""


@test
def clock_step():
    """a wall clock that is set while recording: a note says by how much"""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=CLOCK,
                       text=True, check=True)
        mock = Mock()
        # The address sanitizer wants to be the first library, and would end the program.
        env = dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS="verify_asan_link_order=0")
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], env=env) as proxy:
            play(mock, proxy, Talk().command(b"\3select 1").server(ok()).steps, whole)
            proxy.stop()
            notes = [r for r in records(ISOTRACE, proxy.trace, ["note"]) if r["topic"] == "clock step"]
    assert len(notes) == 1 and re.search(r"\+3(600\.0|599\.9)", notes[0]["text"]), notes


@test
def second_signal_stops():
    """a second SIGTERM ends it at once, whatever is open"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--drain-timeout=600s") as proxy:
        client, server = mock.connect(proxy)
        for from_server, data in Talk().command(b"\3begin").server(ok(3)).steps:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        proxy.process.send_signal(signal.SIGTERM)
        wait_for("the end of listening", lambda: not listens(proxy.port))
        assert proxy.process.poll() is None
        proxy.stop()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except ConnectionRefusedError:
        return False


@test
def hangup_rotates():
    """SIGHUP begins a new segment, which starts with the sessions that are open"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--max-size=1G") as proxy:
        client, server = mock.connect(proxy)
        talk = Talk().command(b"\x16select ?").server(
            b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0), column("?", 6), eof())
        talk.command(b"\x16closed again").server(b"\0" + struct.pack("<IHHBH", 2, 0, 0, 0, 0))
        talk.command(b"\x19" + struct.pack("<I", 2))
        for from_server, data in talk.steps:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        wait_for("the first segment's blocks", lambda: records(ISOTRACE, proxy.trace, ["session"]))
        proxy.process.send_signal(signal.SIGHUP)
        proxy.statistics()  # both signals were seen
        for from_server, data in Talk().command(b"\3select 1").server(ok()).steps[3:]:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        wait_for("a second segment", lambda: len(os.listdir(proxy.trace)) == 2)
        proxy.stop()
        last = os.path.join(proxy.trace, sorted(os.listdir(proxy.trace))[-1])
        got = records(ISOTRACE, last)
        assert "session" in [r["kind"] for r in got], got
        texts = [r["text"] for r in got if r["kind"] == "stmt"]
        assert texts[0] == "select ?" and texts[-1] == "select 1", texts


@test
def hangup_reads_filters_again():
    """SIGHUP: the option file's filters hold for what comes; a mistake leaves the old ones"""
    mock = Mock()
    talk = Talk().command(b"\3insert into a values (1)").server(ok()).command(
        b"\3insert into b values (1)").server(ok())
    with tempfile.TemporaryDirectory() as folder:
        defaults = os.path.join(folder, "my.cnf")

        def filters(text):
            with open(defaults, "w", encoding="ascii") as out:
                out.write("[recorder-proxy]\n" + text)

        filters("skip-user=bob\n")
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], first=["--defaults-file=" + defaults]) as proxy:
            for text in (None, "skip-table=\\.b$\n", "only-user=(x\n", ""):
                if text is not None:
                    filters(text)
                    said = proxy.text().count("filters")
                    proxy.process.send_signal(signal.SIGHUP)
                    wait_for("filters read", lambda n=said: proxy.text().count("filters") > n)
                play(mock, proxy, talk.steps, whole)
            assert "--only-user" in proxy.text() and "stay as they are" in proxy.text()
            proxy.stop()
            got = records(ISOTRACE, proxy.trace)
    texts = {}
    for record in got:
        if record["kind"] == "stmt":
            texts.setdefault(record["session"], []).append(record["text"])
    both = ["insert into a values (1)", "insert into b values (1)"]
    assert texts == {2: [both[0], None], 3: [both[0], None], 4: both}, texts
    notes = [r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out"]
    assert notes == ["--skip-user=bob", "--skip-table=\\.b$", "nothing"], notes


# ---- transactions ----

AUTO, IN = 2, 1


def sql(text, status=None, error=None, command=3):
    """A statement and its answer: status flags, or an error, or None for no answer at all."""
    return (bytes([command]) + text.encode(), status, error)


# Name: statements, then the transaction records: (event, outcome, reason), autocommitted ones as
# ("auto", outcome, reason).
TXN_CASES = {
    "autocommit": ([sql("insert into t values (1)", AUTO), sql("select 1 from t", AUTO),
                    sql("set names utf8", AUTO), sql("show tables", AUTO)],
                   [("auto", 1, "autocommit"), ("auto", 1, "autocommit")]),
    "begin and commit": ([sql("begin", AUTO | IN), sql("update t set a=1", AUTO | IN),
                          sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "comments and rollback": ([sql("/* x */ start -- y\n transaction", AUTO | IN),
                               sql("/*!40101 rollback */", AUTO)],
                              ["begin", ("end", 2, "rollback")]),
    "autocommit off": ([sql("set autocommit=0", 0), sql("select 1", 0), sql("select a from t", IN),
                        sql("commit", 0), sql("insert into t values (1)", IN),
                        sql("set autocommit=1", AUTO)],
                       [("auto", 1, "autocommit"), "begin", ("end", 1, "commit"), "begin",
                        ("end", 1, "implicit commit")]),
    "begin in a transaction": ([sql("begin", AUTO | IN), sql("begin", AUTO | IN), sql("commit", AUTO)],
                               ["begin", ("end", 1, "implicit commit"), "begin", ("end", 1, "commit")]),
    "chain": ([sql("begin", AUTO | IN), sql("commit and chain", AUTO | IN),
               sql("rollback and no chain", AUTO)],
              ["begin", ("end", 1, "commit"), "begin", ("end", 2, "rollback")]),
    "deadlock": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1213),
                  sql("update t set a=2", AUTO)],
                 ["begin", ("end", 2, "error 1213"), ("auto", 1, "autocommit")]),
    "snapshot conflict": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1020)],
                          ["begin", ("end", 2, "error 1020")]),
    "lock wait timeout": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1205),
                           sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "lock wait timeout that rolled back": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1205), sql("select a from t", AUTO)],
        ["begin", ("end", 2, "error 1205 (innodb_rollback_on_timeout)"), ("auto", 1, "autocommit")]),
    "commit fails": ([sql("begin", AUTO | IN), sql("commit", error=1180)],
                     ["begin", ("end", 0, "error 1180")]),
    "commit is a deadlock victim": ([sql("begin", AUTO | IN), sql("commit", error=1213)],
                                    ["begin", ("end", 2, "error 1213")]),
    "commit is not certified": ([sql("begin", AUTO | IN), sql("commit", error=3101)],
                                ["begin", ("end", 2, "error 3101")]),
    "alone and not certified": ([sql("update t set a=1", error=3101)], [("auto", 2, "error 3101")]),
    "commit is killed": ([sql("begin", AUTO | IN), sql("commit", error=1927)],
                         ["begin", ("end", 0, "error 1927")]),
    "write is killed with its session": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1927)],
        ["begin", ("end", 2, "ended by the server")]),
    "only the write is killed": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1317), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "alone, and the server shuts down": ([sql("update t set a=1", error=1053)],
                                         [("auto", 0, "error 1053")]),
    "alone, and its commit fails": ([sql("update t set a=1", error=1180)],
                                    [("auto", 0, "error 1180")]),
    "alone and killed with its session": ([sql("delete from t", error=1927)],
                                          [("auto", 0, "error 1927")]),
    "alone and killed": ([sql("delete from t", error=1317)], [("auto", 2, "error 1317")]),
    "not ready for queries": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1047),
                               sql("rollback", AUTO)], ["begin", ("end", 2, "rollback")]),
    "read only after a failover": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1290), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "definition commits": ([sql("begin", AUTO | IN), sql("create table x (a int)", AUTO)],
                           ["begin", ("end", 1, "implicit commit")]),
    "temporary table does not": ([sql("begin", AUTO | IN),
                                  sql("create temporary table x (a int)", AUTO | IN),
                                  sql("rollback", AUTO)], ["begin", ("end", 2, "rollback")]),
    "failed definition commits": (
        [sql("begin", AUTO | IN), sql("create table t (a int)", error=1050), sql("select 1", AUTO)],
        ["begin", ("end", 1, "implicit commit of a statement that failed"),
         ("auto", 1, "autocommit")]),
    "failed definition, then rollback": (
        [sql("begin", AUTO | IN), sql("create table t (a int)", error=1050), sql("rollback", AUTO)],
        ["begin", ("end", 0, "rollback behind a failed statement that may have committed")]),
    "parse error does not": ([sql("begin", AUTO | IN), sql("create nonsense", error=1064),
                              sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "call": ([sql("begin", AUTO | IN), sql("call p()", AUTO)],
             ["begin", ("end", 0, "ended inside the statement", "mixed")]),
    "call that leaves one open": ([sql("begin", AUTO | IN), sql("call p()", AUTO | IN),
                                   sql("rollback", AUTO)],
                                  ["begin", ("end", 2, "rollback", "mixed")]),
    "call that begins one": ([sql("execute p", AUTO | IN), sql("commit", AUTO)],
                             ["begin", ("end", 1, "commit", "mixed")]),
    "call that fails in a transaction": (
        [sql("begin", AUTO | IN), sql("call p()", error=1062), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed")]),
    "call of nothing": (
        [sql("begin", AUTO | IN), sql("call d.p()", error=(1305, b"PROCEDURE d.p does not exist")), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "call of something that calls nothing": (
        [sql("begin", AUTO | IN), sql("call d.p()", error=(1305, b"PROCEDURE d.q does not exist")), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed")]),
    "the next one is not mixed": (
        [sql("begin", AUTO | IN), sql("call p()", AUTO | IN), sql("commit and chain", AUTO | IN),
         sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed"), "begin", ("end", 1, "commit")]),
    "failed call": ([sql("call p()", error=1062)], [("auto", 0, "error 1062")]),
    "failed insert": ([sql("insert into t values (1)", error=1062)], [("auto", 2, "error 1062")]),
    "savepoints": ([sql("begin", AUTO | IN), sql("savepoint `a b`", AUTO | IN),
                    sql("rollback work to savepoint a", AUTO | IN),
                    sql("release savepoint a", AUTO | IN), sql("commit", AUTO)],
                   ["begin", ("savepoint", "a b"), ("rollback to", "a"), ("release", "a"),
                    ("end", 1, "commit")]),
    "xa": ([sql("xa start 'x'", AUTO | IN), sql("xa end 'x'", AUTO | IN),
            sql("xa prepare 'x'", AUTO | IN), sql("xa commit 'x'", AUTO)],
           ["begin", ("end", 1, "commit")]),
    "xa left behind": ([sql("xa start 'x'", AUTO | IN), sql("xa end 'x'", AUTO | IN),
                        sql("xa prepare 'x'", AUTO | IN)],
                       ["begin", ("end", 0, "prepared XA transaction left behind")]),
    "reset connection": ([sql("begin", AUTO | IN), sql("", AUTO, command=0x1f)],
                         ["begin", ("end", 2, "rollback")]),
    "ended by the server": ([sql("begin", AUTO | IN)], ["begin", ("end", 2, "ended by the server")]),
    "lost commit behind another": (
        [sql("begin", AUTO | IN), sql("update t set a=1"), sql("commit")],
        ["begin", ("end", 0, "no answer to what may have committed it")]),
    "lost select": ([sql("begin", AUTO | IN), sql("select a from t")],
                    ["begin", ("end", 2, "ended by the server")]),
    "lost definition": ([sql("begin", AUTO | IN), sql("drop table t")],
                        ["begin", ("end", 0, "no answer to what may have committed it")]),
    "comments for other versions": (
        [sql("begin", AUTO | IN), sql("/*!99999 rollback */ select 1", AUTO | IN),
         sql("/*!50701 commit */")],
        ["begin", ("end", 2, "ended by the server")]),
    "lost autocommit": ([sql("delete from t")], [("auto", 0, "no answer")]),
}
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


@test
def transactions_from_status_flags():
    """transactions begin and end as the server's flags and errors say"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for statements, _ in TXN_CASES.values():
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in Talk().steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                for payload, status, error in statements:
                    pass_on(client, server, packet(0, payload), whole)
                    if error:
                        number, text = error if isinstance(error, tuple) else (error, b"failed")
                        pass_on(server, client, packet(1, err(number, text)), whole)
                    elif status is not None:
                        pass_on(server, client, packet(1, ok(status)), whole)
                server.close()
                assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = {}
        for record in records(ISOTRACE, proxy.trace, ["txn"]):
            got.setdefault(record["session"], []).append(txn_shape(record))
    for number, (name, (_, expected)) in enumerate(TXN_CASES.items(), 1):
        assert got.get(number, []) == expected, "%s:\n%s\nnot\n%s" % (
            name, got.get(number), expected)


@test
def several_statements_in_one_text():
    """each result of a text moves the transaction on; the flags stand with each"""
    talk = Talk().command(b"\3begin; update t set a=1; commit; select a from t; rollback")
    talk.server(ok(AUTO | IN | 8), ok(AUTO | IN | 8, 1), ok(AUTO | 8))
    talk.rows((1, "x"), status=AUTO | 8).server(ok(AUTO))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        shapes = [txn_shape(r) for r in records(ISOTRACE, proxy.trace, ["txn"])]
    assert shapes == ["begin", ("end", 1, "commit", "mixed"), ("auto", 1, "autocommit")], shapes


@test
def texts_that_end_transactions_between():
    """a text mixes transactions where one ends between its statements, not before or behind them"""
    cases = [(b"begin; update t set a=1", [AUTO | IN] * 2, 1),
             (b"update t set a=1; commit", [AUTO | IN, AUTO], 1),
             (b"update t set a=1; commit; begin; update t set a=2",
              [AUTO | IN, AUTO, AUTO | IN, AUTO | IN], 2)]
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for text, statuses, _ in cases:
            talk = Talk().command(b"\3begin").server(ok(AUTO | IN))
            talk.command(b"\3" + text)
            talk.server(*[ok(s | 8) for s in statuses[:-1]], ok(statuses[-1]))
            play(mock, proxy, talk.steps, whole)
        proxy.stop()
        got = {}
        for record in records(ISOTRACE, proxy.trace, ["txn"]):
            if record["event"] == 1:
                got.setdefault(record["session"], []).append(record["mixed"])
    assert got == {1: [1, 1], 2: [1], 3: [2, 2]}, got


@test
def prepared_transaction_statements():
    """COMMIT as a prepared statement ends the transaction, SET TRANSACTION sets the level"""
    talk = Talk()

    def prepared(number, text, status):
        talk.command(b"\x16" + text)
        talk.server(b"\0" + struct.pack("<IHHBH", number, 0, 0, 0, 0))
        talk.command(b"\x17" + struct.pack("<IBI", number, 0, 1)).server(ok(status))

    prepared(1, b"set session transaction isolation level serializable", AUTO)
    prepared(2, b"start transaction with consistent snapshot", AUTO | IN)
    prepared(3, b"commit", AUTO)
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        begin, end = records(ISOTRACE, proxy.trace, ["txn"])
    assert begin["level"] == 4 and begin["consistent_snapshot"], begin
    assert txn_shape(end) == ("end", 1, "commit") and end["txn"] == begin["txn"], end


@test
def level_for_the_next_transaction():
    """SET TRANSACTION holds until a table is touched; where that cannot be told, nothing is said"""
    cases = ((b"select 1", 4), (b"prepare s from 'select b from t'", 4), (b"use d", 4),
             (b"select b from t", 2), (b"insert into t values (1)", 2),
             (b"set @x = (select max(b) from t)", 2), (b"call p()", 0), (b"call p", 0),
             (b"execute s", 0), (b"select f()", 0), (b"do f()", 0), (b"set @x = f()", 0),
             (b"show tables", 0), (b"select 1 from dual", 0),
             (b"select 1 from information_schema.tables", 0))
    talk = Talk().command(b"\3set session transaction isolation level read committed")
    talk.server(ok(AUTO))
    for text, _ in cases:
        talk.command(b"\3set transaction isolation level serializable").server(ok(AUTO))
        talk.command(b"\3" + text).server(ok(AUTO))
        talk.command(b"\3begin").server(ok(AUTO | IN)).command(b"\3commit").server(ok(AUTO))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        got = [r.get("level", 0) for r in records(ISOTRACE, proxy.trace, ["txn"])
               if r["event"] == 0]
    assert got == [level for _, level in cases], got


# ---- what is recorded ----

@test
def capture_levels_and_limits():
    """--capture, --max-rows, --max-value and --sample leave out what they say, and count it"""
    talk = (Talk().command(b"\3select * from t").rows((1, "x" * 100), (2, "y"), (3, "z")))

    def run(*options):
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], *options) as proxy:
            play(mock, proxy, talk.steps, whole)
            play(mock, proxy, talk.steps, whole)
            proxy.stop()
            return records(ISOTRACE, proxy.trace)

    got = run("--capture=statements")
    assert not [r for r in got if r["kind"] == "result"]
    assert [(r["rows"], r["flags"]) for r in got if r["kind"] == "stmt"] == [(3, 8)] * 2
    first, second = [r for r in run("--max-rows=2") if r["kind"] == "result"]
    assert len(first["rows"]) == 2 and first["total"] == 3 and first["digest"], first
    assert first["digest"] == second["digest"]
    cut = [r for r in run("--max-value=50") if r["kind"] == "result"][0]["rows"]
    assert "cut" in cut[0][1] and cut[1] == [2, "y"], cut
    sampled = {r["session"] for r in run("--sample=2") if r["kind"] == "session"}
    assert sampled == {2}, sampled


@test
def filters_by_user_and_database():
    """--only-user and the others: a session is recorded whole or not at all"""
    talk = Talk().command(b"\3begin").server(ok(3))
    for options, count in ((["--only-user=^b.b$"], 1), (["--only-user=^x"], 0), (["--skip-user=o"], 0),
                           (["--skip-user=(?i)EVE"], 1), (["--only-database=shop"], 1),
                           (["--skip-database=^shop$"], 0)):
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], *options) as proxy:
            play(mock, proxy, talk.steps, whole)
            proxy.stop()
            got = records(ISOTRACE, proxy.trace, ["session", "stmt", "txn"])
            assert len([r for r in got if r["kind"] == "stmt"]) == count, (options, got)
            assert bool(got) == bool(count), (options, got)
    done = subprocess.run([ISOREC, "proxy", "--node=127.0.0.1:1", "--only-user=(x", "-o", "/dev/null"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--only-user" in done.stderr, done


@test
def passwords_are_masked():
    """passwords in SQL, in errors about it and in parameters stay out of the trace"""
    talk = Talk()
    for text in (b"create user a identified by 'sesame1'", b"set password for 'a'@'b' = 'sesame2'",
                 b"change master to master_host='h', MASTER_PASSWORD = 'sesame3', master_port=1",
                 b"create server s foreign data wrapper mysql options (user 'u', password 'sesame4')",
                 b"select aes_encrypt('sesame5', 'sesame6')",
                 b"prepare p from 'set password = \\'sesame7\\''"):
        talk.command(b"\3" + text).server(err(1064, b"near '" + text + b"'"))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0") as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            assert b"sesame" not in trace.read()
        got = records(ISOTRACE, proxy.trace, ["stmt"])
        texts = [r["text"] for r in got]
        # They are not what was executed: nobody may evaluate or replay them.
        assert all(r["flags"] & 4 for r in got), got
        # ... but for the passwords they are whole.
        assert all(r["flags"] & 512 for r in got), got
        assert texts[0] == "create user a identified by '***'", texts
        assert texts[2] == ("change master to master_host='h', MASTER_PASSWORD = '***', "
                            "master_port=1"), texts


def logged_in(charset, caps=CAPS):
    """A client whose login names this collation."""
    talk = Talk(caps, connect=False).server(greeting(caps))
    return talk.client(login(caps)[:8] + bytes([charset]) + login(caps)[9:]).server(ok())


def tracked(name, value):
    """Session state of an OK: a variable."""
    return lenenc(b"\0" + lenenc(lenenc(name) + lenenc(value)))


@test
def character_sets_with_backslashes():
    """texts in sjis, gbk and their like are taken apart as the server does, and not parsed"""
    tricky = b"select '\x95\\'; commit"
    talks = [
        # By the login: two statements.
        logged_in(13).command(b"\3begin").server(ok(AUTO | IN)).command(b"\3" + tricky)
        .rows((1, "x"), status=AUTO | IN | 8).server(ok(AUTO))
        .command(b"\3create user '\x95\\' identified by 'sesame'").server(ok(AUTO))
        .command(b"\3select 'a' from t").rows((1, "x"), status=AUTO),
        # By SET NAMES, and back; in utf8mb4 the same bytes are one statement that fails.
        logged_in(45).command(b"\3set names gbk").server(ok(AUTO))
        .command(b"\3select '\xbf\\'").rows((1, "x"), status=AUTO)
        .command(b"\3set names utf8mb4").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
        # By a variable whose value only the server knows, and which it tells or not.
        logged_in(45, CAPS | TRACK)
        .command(b"\3set character_set_client = @x")
        .server(b"\0\0\0" + struct.pack("<HH", AUTO | 0x4000, 0) + b"\0" +
                tracked("character_set_client", "utf8mb4"))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
        logged_in(45).command(b"\3set character_set_client = @x").server(ok(AUTO))
        .command(b"\3alter user u identified by '\x95sesame'").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO)
        # MariaDB goes back to the login's.
        .command(b"\x1f").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
    ]
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0") as proxy:
        for talk in talks:
            play(mock, proxy, talk.steps, whole)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            assert b"sesame" not in trace.read()
        flags = {}
        for record in records(ISOTRACE, proxy.trace, ["stmt"]):
            flags.setdefault(record["session"], []).append(record["flags"] & 4)
        notes = [r["text"] for r in records(ISOTRACE, proxy.trace, ["note"])
                 if r["topic"] == "character set"]
        shapes = [txn_shape(r) for r in records(ISOTRACE, proxy.trace, ["txn"])
                  if r["session"] == 1]
    assert flags == {1: [0, 4, 4, 0], 2: [0, 4, 0, 0], 3: [0, 0], 4: [0, 4, 4, 0, 0]}, flags
    assert len(notes) == 3 and all("not parsed" in n for n in notes), notes
    assert shapes[:2] == ["begin", ("end", 1, "commit")], shapes


@test
def service_manager():
    """systemd is told when the proxy listens and when it ends (sd_notify)"""
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as other:
        for name in (os.path.join(other.folder, "notify"), "\0isorec-test-%d" % os.getpid()):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(name)
                manager.settimeout(60)
                env = dict(os.environ, NOTIFY_SOCKET=name.replace("\0", "@"))
                with Proxy(ISOREC, ["127.0.0.1:1"], env=env) as proxy:
                    assert b"READY=1" in manager.recv(1000).split(b"\n")
                    proxy.stop()
                    assert b"STOPPING=1" in manager.recv(1000).split(b"\n")


@test
def status_line():
    """--progress=always: sessions, statements a second, bytes written and waiting"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--progress=always") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            line = wait_for("a status line", lambda: re.search(
                r"\x1b\[K1 sessions, \d+ statements/s, [\d.]+ MB written, [\d.]+ MB waiting",
                proxy.text()))
            assert line
        proxy.stop()


@test
def failed_start():
    """a start that fails leaves no trace in the way of the next; the last line counts all of it"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        trace = os.path.join(proxy.folder, "next.itr")
        # The port is taken.
        done = subprocess.run([ISOREC, "proxy", "--node", "127.0.0.1:%d" % mock.port, "--listen",
                               "127.0.0.1:%d" % proxy.port, "-o", trace], capture_output=True,
                              text=True, check=False, timeout=60)
        assert done.returncode == 4 and "in use" in done.stderr, done
        assert not os.path.exists(trace)
        said = proxy.stop().splitlines()
        size = os.path.getsize(proxy.trace)
        last = re.fullmatch(r"isorec: trace (\S+): (\d+) records, (\d+) bytes written, 0 records lost", said[-1])
        assert last and last[1] == proxy.trace and int(last[3]) == size, (said, size)
        assert "waiting" not in said[-2], said
        done = subprocess.run([ISOREC, "proxy", "--node", "127.0.0.1:%d" % mock.port, "-o", proxy.trace],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and os.path.getsize(proxy.trace) == size, done


@test
def option_files():
    """options from a file, the command line wins; files' options stand first; --print-defaults"""
    mock = Mock()
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as other:
        path = os.path.join(other.folder, "rec.cnf")
        with open(path, "w", encoding="ascii") as out:
            out.write("[client]\npassword=sesame\nport=1\n[recorder]\nmax_rows = 1\n[recorder-proxy]\n"
                      "capture=statements\nworkers=3 # few\nnode = f=127.0.0.1:%d\n" % mock.port)

        def isorec(*args, status=0):
            done = subprocess.run([ISOREC, "proxy", *args], capture_output=True, text=True,
                                  check=False, timeout=60)
            assert done.returncode == status, done
            return done.stdout if status == 0 else done.stderr

        shown = isorec("--defaults-file=" + path, "--print-defaults")
        assert "--password=*****\n--max-rows=1\n--capture=statements\n--workers=3\n" in shown, shown
        assert "sesame" not in shown and "--buffer: 256M\n" in shown, shown
        assert "before all other" in isorec("--workers=1", "--defaults-file=" + path, status=2)
        assert "cannot be read" in isorec("--defaults-file=/no/such", status=2)
        log = open(os.path.join(other.folder, "log2"), "w+", encoding="utf-8")
        trace = os.path.join(other.folder, "two.itr")
        with log, subprocess.Popen([ISOREC, "proxy", "--defaults-file", path, "--listen=127.0.0.1:0",
                                    "--capture=statements,results", "-o", trace], stderr=log) as proxy:
            def address():
                with open(log.name, encoding="utf-8") as text:
                    return re.search(r"node f: clients connect to \S+:(\d+),", text.read())
            port = int(wait_for("the proxy listens", address).group(1))
            talk = Talk().command(b"\3select * from t").rows((1, "x"), (2, "y"), (3, "z"))
            with socket.create_connection(("127.0.0.1", port)) as client, mock.accept() as server:
                for from_server, data in talk.steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
            proxy.send_signal(signal.SIGTERM)
        result, = records(ISOTRACE, trace, ["result"])
        assert result["rows"] == [[1, "x"]] and result["total"] == 3, result


@test
def checklist():
    """each test that checklist.md names for a line of the protocol exists"""
    here = os.path.dirname(os.path.abspath(__file__))

    def read(*path):
        with open(os.path.join(here, *path), encoding="utf-8") as text:
            return text.read()
    python = r"^@(?:test|conversation)\ndef (\w+)"
    c_test = r"^START_TEST\((\w+)\)"
    have = {"parser": set(re.findall(c_test, read("test_wire.c"), re.M)),
            "stmt_classify": set(re.findall(c_test, read("test_stmt_classify.c"), re.M)),
            "conversation": set(CONVERSATIONS), "proxy": set(re.findall(python, read("test_proxy.py"), re.M)),
            "instrument": set(re.findall(python, read("../instrument/test_instrument.py"), re.M)),
            "trace": {n[len("test_trace_"):-2] for n in os.listdir(os.path.join(here, "../unit"))
                      if n.startswith("test_trace_")}}
    for name in ("clients", "load", "tls", "cluster", "faults"):
        have[name] = set(re.findall(python, read("../e2e/test_proxy_%s.py" % name), re.M))
    lines = [line.split(" | ") for line in read("checklist.md").splitlines() if line.startswith("| ")][2:]
    named = [word for line in lines for word in line[1].strip(" |").split("; ") if word]
    assert len(named) > 150, named
    for word in named:
        kind, name = word.split(" ")
        assert name in have[kind], word
    # ... and no conversation is left out.
    assert not set(CONVERSATIONS) - {w.split(" ")[1] for w in named}, "not in checklist.md"


@test
def manual_pages():
    """the options in the manual pages are those of the program"""
    pages = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/man")
    for name in ("note", "prepare", "proxy", "unprepare"):
        with open(os.path.join(pages, "isorec-%s.1" % name), encoding="utf-8") as text:
            have = text.read().split('.\\" begin options\n')[1].split('.\\" end options\n')[0]
        want = subprocess.run([ISOREC, "help", "--mdoc", name], capture_output=True, text=True,
                              check=True).stdout
        assert have == want, "make it anew: isorec help --mdoc " + name


sys.exit(run_tests(sys.argv[3:]))
