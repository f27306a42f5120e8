#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_conversations.py ISOREC ISOTRACE [TEST...]

Conversations.
Each conversation is played with every message whole, with messages of one direction joined, and
cut in two at every byte; each piece is read by the other side before the next one is sent, so that
the proxy sees just these pieces.  What arrives must be what was sent, and the trace must hold what
was said.  checklist.md names the test of each line of the protocol.
"""
import ctypes
import os
import re
import struct
import subprocess
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test  # noqa: E402
from scripted import (  # noqa: E402
    ATTRIBUTES, BULK, BULK_UNITS, CACHE_METADATA, CAPS, COMPRESS, DEPRECATE_EOF, ISOREC, ISOTRACE,
    MYSQL, Mock, OPTIONAL_METADATA, PROGRESS, SECRET, SSL, TRACK, Talk, ZSTD, column, eof, err,
    greeting, joined, lenenc, login, ok, packet, play, receive, whole)

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
    """EXECUTE(-1) after a PREPARE that fails: both get an error, and the next command its answer."""
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


def single_bytes(data):
    return [data[i:i + 1] for i in range(len(data))]


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
def checklist():
    """each test that checklist.md names for a line of the protocol exists"""
    here = os.path.dirname(os.path.abspath(__file__))

    def read(*path):
        with open(os.path.join(here, *path), encoding="utf-8") as text:
            return text.read()

    def programs(folder, prefix):
        return {name for file in os.listdir(folder) if file.startswith(prefix) and file.endswith(".py")
                for name in re.findall(python, read(folder, file), re.M)}
    python = r"^@(?:test|conversation)\ndef (\w+)"
    c_test = r"^START_TEST\((\w+)\)"
    have = {"parser": {name for part in ("connection", "commands", "prepared", "large")
                       for name in re.findall(c_test, read("test_wire_%s.c" % part), re.M)},
            "stmt_classify": set(re.findall(c_test, read("test_stmt_classify.c"), re.M)),
            "conversation": set(CONVERSATIONS), "proxy": programs(here, "test_proxy_"),
            "instrument": programs(os.path.join(here, "../instrument"), "test_"),
            "trace": {n[len("test_trace_"):-2] for n in os.listdir(os.path.join(here, "../unit"))
                      if n.startswith("test_trace_")}}
    for name in ("clients", "context", "privacy", "routes", "load", "tls", "cluster", "faults"):
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


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[3:]))
