# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes small traces for the tests of the commands: a second, independent writer of the format
(docs/trace-format.md), on Python's msgpack.

Times, marker and block borders are the test's to choose, so that the output of a command can be
compared byte by byte.  The order of a record's fields is taken from formats/trace/record.h.
"""
import base64
import ctypes
import os
import random
import re
import struct

import msgpack

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MARKER = b"\x89ITR\r\n\x1a\n" + b"testmark"
MONO = 1_000_000_000_000  # the anchor: this moment of the monotonic clock ...
WALL = 1_794_787_200_000_000_000  # ... is 2026-11-16T00:00:00Z


def read_kinds():
    """{kind name: (number, [field names])} from the header that defines them."""
    with open(os.path.join(ROOT, "formats", "trace", "record.h"), encoding="utf-8") as file:
        text = file.read()
    kinds = {}
    for name, number in re.findall(r"\bRECORD_([A-Z]+) = (\d+)", text):
        body = re.search(rf"#define RECORD_{name}_FIELDS\(F\)(.*?[^\\])\n", text, re.DOTALL)
        fields = re.findall(r"F\((\w+), (\w+)\)", body[1])
        kinds[name.lower()] = (int(number), fields)
    return kinds


KINDS = read_kinds()
EMPTY = {"u64": 0, "u32": 0, "u8": 0, "flag": False, "str": None, "bin": None, "raw": None}


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def compress(data):
    """One zstd frame that states its content size, by the library itself."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compressBound.restype = library.ZSTD_compress.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                      ctypes.c_size_t, ctypes.c_int]
    size = library.ZSTD_compressBound(len(data))
    out = ctypes.create_string_buffer(size)
    size = library.ZSTD_compress(out, size, data, len(data), 1)
    return out.raw[:size]


def filler(size, letter="x"):
    """Text that shrinks, and no further than a block may."""
    noise = random.Random(size)
    out = []
    for _ in range(size // 16384 + 1):
        out.append(letter * (16384 - 600) + base64.b64encode(noise.randbytes(450)).decode())
    return "".join(out)[:size]


def pack(value):
    # surrogateescape: a str may carry bytes that are no UTF-8, as "\udc80" to "\udcff"
    return msgpack.packb(value, use_bin_type=True, unicode_errors="surrogateescape")


class Trace:
    """Collects records; seq counts up by itself, `us` is the time in microseconds."""

    def __init__(self):
        self.id = b"T" * 16
        self.records = []
        self.seq = 0
        self.us = 0

    def next_seq(self):
        self.seq += 1
        return self.seq

    def add(self, kind, us=None, **fields):
        """Appends a record and returns its seq."""
        number, layout = KINDS[kind]
        if us is not None:
            self.us = us
        fields.setdefault("seq", 0)
        fields["seq"] = fields["seq"] or self.next_seq()
        fields.setdefault("at", MONO + self.us * 1000)
        values = []
        for field_type, name in layout:
            values.append(fields.pop(name, EMPTY[field_type]))
        assert not fields, f"{kind} has no fields {list(fields)}"
        self.records.append(pack([number] + values))
        return self.seq

    def stmt(self, session, number, text, begin=None, end=None, rows=None, **fields):
        """A statement with its result: begin and end in microseconds."""
        begin_us = self.us if begin is None else begin
        end_us = begin_us + 100 if end is None else end
        fields.setdefault("begin_seq", self.next_seq())
        if rows is not None:
            columns = [["c", "t", 3, 0, 63, 11, 0, "test", "t", "c"] for _ in (rows or [[0]])[0]]
            self.add("result", end_us, session=session, number=number, last=True, columns=columns,
                     rows=rows, total=len(rows))
            fields.setdefault("result_sets", 1)
            fields.setdefault("rows", len(rows))
        return self.add("stmt", end_us, session=session, number=number, text=text, command=3,
                        begin=MONO + begin_us * 1000, first_byte=MONO + end_us * 1000, **fields)

    def body(self, records, block):
        head = [KINDS["block"][0]] + [EMPTY[t] for t, _ in KINDS["block"][1]]
        names = [n for _, n in KINDS["block"][1]]
        seqs = [msgpack.unpackb(r, strict_map_key=False, unicode_errors="surrogateescape")[1]
                for r in records] or [0]
        head[1 + names.index("block")] = block
        head[1 + names.index("first_seq")] = min(seqs)
        head[1 + names.index("last_seq")] = max(seqs)
        return pack(head) + b"".join(records)

    def header(self):
        header = {"magic": "isotrace", "version": 1, "recorder": "test 1.0", "trace": self.id,
                  "segment": 1, "marker": MARKER, "mono_ns": MONO, "wall_ns": WALL, "facts": {}}
        data = bytearray(pack(header))
        assert data[0] == 0x80 | len(header)
        data[0] += 1
        return bytes(data) + pack("crc") + pack(crc32c(data))

    def block(self, records, number):
        body = self.body(records, number)
        kind = b"\x02"
        if len(body) > 20000:  # the checksum in Python is slow: let it cover fewer bytes
            kind, body = b"\x01", compress(body)
        covered = struct.pack(">I", len(records) + 1) + body
        payload = MARKER + struct.pack(">I", crc32c(kind + covered)) + covered
        return b"\xc9" + struct.pack(">I", len(payload)) + kind + payload

    def write(self, path, footer=True, per_block=1000):
        """Writes the trace; returns its blocks as bytes."""
        parts = [self.records[i:i + per_block] for i in range(0, len(self.records), per_block)]
        blocks = [self.block(part, number) for number, part in enumerate(parts)]
        if footer:
            number, layout = KINDS["footer"]
            values = {"seq": self.next_seq(), "at": MONO + self.us * 1000, "blocks": len(blocks),
                      "records": len(self.records), "bytes": sum(map(len, self.records)),
                      "counts": {}, "index": [], "reason": "end"}
            record = pack([number] + [values.get(n, EMPTY[t]) for t, n in layout])
            blocks.append(self.block([record], len(blocks)))
        with open(path, "wb") as file:
            file.write(self.header() + b"".join(blocks))
        return blocks


def demo():
    """The lost update that most newcomers look for: two sessions, one waits for the other."""
    t = Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb",
          address="127.0.0.1:3306", variables={"transaction_isolation": "REPEATABLE-READ"})
    t.add("schema", 0, table=1, node="n1", database="shop", name="stock",
          columns=[["id", "int(11)", False, None, None, None, None],
                   ["amount", "int(11)", True, None, None, None, None]], primary_key=[0])
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1, 10], [2, 20]],
          complete=True)
    t.add("session", 100, session=1, event=0, node="n1", client="10.0.0.5:40001", user="anna",
          database="shop", thread=31)
    t.add("session", 150, session=2, event=0, node="n1", client="10.0.0.6:40002", user="ben",
          database="shop", thread=32)
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(2, 1, "begin", 1200, txn=2)
    t.add("txn", 1300, session=2, txn=2, event=0, number=1, level=2)
    t.stmt(1, 2, "select amount from stock where id = 1", 1400, rows=[[10]], txn=1)
    t.stmt(2, 2, "select amount from stock where id = 1", 1600, rows=[[10]], txn=2)
    t.stmt(1, 3, "update stock set amount = 9 where id = 1", 1800, affected=1, txn=1)
    t.add("probe", 1850, session=1, number=3, txn=1, probe=7, table=1, exact=True, read_kind=2,
          rows=[[1, 101, 100, [1, 9], 2]])
    begin_seq = t.next_seq()  # T2 begins here and waits until T1 has committed
    t.stmt(1, 4, "commit", 5000, 5200, txn=1)
    t.add("txn", 5200, session=1, txn=1, event=1, number=4, level=3, outcome=1,
          begin=MONO + 1000_000, reason="commit")
    t.stmt(2, 3, "update stock set amount = 9 where id = 1", 2000, 5300, affected=1, txn=2,
           begin_seq=begin_seq, blocked_ns=3_200_000, blockers=[1], flags=32)
    t.stmt(2, 4, "commit", 5400, txn=2)
    t.add("txn", 5500, session=2, txn=2, event=1, number=4, level=2, outcome=1,
          begin=MONO + 1200_000, reason="commit")
    t.stmt(1, 5, "select * from stock", 6000, rows=[[1, 9], [2, 20]])
    t.stmt(1, 6, "insert into stock values (1, 5)", 6200, error=1062, sqlstate="23000",
           error_text="Duplicate entry '1' for key 'PRIMARY'")
    t.add("session", 7000, session=1, event=1)
    t.add("session", 7100, session=2, event=1)
    return t


def cluster_life():
    """Two nodes of a cluster: one is killed and comes back; at the end a row is on one of them only."""
    t = Trace()
    for node in ("n1", "n2"):
        t.add("server", 0, node=node, version="11.8.6-MariaDB", flavour="mariadb", variables={"innodb_flush_log_at_trx_commit": "1"})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0],
          columns=[["id", "bigint(20)", False, None, None, None, None]],
          create_text="CREATE TABLE `t` (\n  `id` bigint(20) NOT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB")

    def point(us, name, contents):
        for node, ids in zip(("n1", "n2"), contents):
            t.add("rows", us, table=1, node=node, moment=name, last=True, complete=True, rows=[[i] for i in ids])
            t.add("cluster", us, node=node, what="point", detail=name, begin=MONO + (us - 1000) * 1000,
                  data={"state": "Synced", "ready": "yes", "expected": "yes", "position": "7", "waited_ms": "1"})

    for node in ("n1", "n2"):
        t.add("cluster", 1000, node=node, what="state", detail="reachable; wsrep_local_state_comment Synced",
              data={"wsrep_local_state_comment": "Synced"})
    point(1_000_000, "start", ([1], [1]))
    for session, node in ((1, "n1"), (2, "n2")):
        t.add("session", 1_100_000, session=session, event=0, node=node, database="d")
        t.stmt(session, 1, "select 1", 1_200_000, 1_200_100, rows=[[1]])
    kill = {"name": "kill", "kind": "operation", "nodes": "n2"}
    t.add("cluster", 4_000_000, node="n2", what="operation", detail="kill n2 begins", data={**kill, "phase": "begin"})
    t.add("cluster", 4_500_000, node="n2", what="exit", detail="ended by signal 9, as asked by kill", data={"signal": "9", "asked": "kill"})
    t.add("cluster", 5_000_000, node="n2", what="operation", detail="kill n2", begin=MONO + 4_000_000_000,
          data={**kill, "phase": "end", "result": "done"})
    t.add("cluster", 6_000_000, node="n1", what="link", detail="n1>n2 cut", data={"from": "n1", "to": "n2", "state": "cut"})
    t.add("cluster", 8_000_000, node="n1", what="link", detail="n1>n2 up", data={"from": "n1", "to": "n2", "state": "up"})
    t.add("cluster", 7_000_000, node="n2", what="state", detail="reachable; wsrep_local_state_comment Joiner",
          data={"wsrep_local_state_comment": "Joiner"})
    t.add("cluster", 8_000_000, what="window", detail="operation", data={"source": "operation"})
    t.add("cluster", 9_000_000, node="n2", what="state", detail="wsrep_local_state_comment Synced, was Joiner",
          data={"wsrep_local_state_comment": "Synced"})
    point(11_000_000, "end", ([1, 2], [1]))
    return t
