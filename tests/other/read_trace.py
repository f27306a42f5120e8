#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A second reader of traces, written from docs/trace-format.md and nothing else.

    read_trace.py [--in-order] TRACE    prints a JSON document {"records": [...], "torn": bytes}

It shares no code with isotrace; where the two disagree, the specification or one of them is wrong.
"""
import base64
import json
import math
import os
import struct
import sys

import msgpack
import zstandard

BLOCK_MAX = 80 * 1024 * 1024
MARKER_START = bytes.fromhex("89 49 54 52 0D 0A 1A 0A")

# The tables of the section "Records": fields in order, with their types.
U, F, S, B, R = "uint", "flag", "str", "bin", "raw"
KINDS = {
    0: ("block", [("producer", U), ("block", U), ("first_seq", U), ("last_seq", U),
                  ("watermark", U), ("first_at", U), ("last_at", U), ("context", F)]),
    1: ("server", [("seq", U), ("at", U), ("node", S), ("version", S), ("flavour", S),
                   ("address", S), ("variables", R)]),
    2: ("schema", [("seq", U), ("at", U), ("table", U), ("node", S), ("database", S), ("name", S),
                   ("columns", R), ("primary_key", R), ("keys", R), ("foreign_keys", R),
                   ("partitions", S), ("create_text", S), ("triggers", R)]),
    3: ("rows", [("seq", U), ("at", U), ("table", U), ("node", S), ("moment", S), ("part", U),
                 ("last", F), ("columns", R), ("rows", R), ("complete", F), ("versions", R), ("definition", S)]),
    4: ("session", [("seq", U), ("at", U), ("session", U), ("event", U), ("node", S),
                    ("client", S), ("user", S), ("database", S), ("thread", U),
                    ("capabilities", U), ("reason", S), ("attributes", R),
                    ("collation", U)]),
    5: ("stmt", [("seq", U), ("at", U), ("session", U), ("number", U), ("txn", U),
                 ("begin_seq", U), ("begin", U), ("first_byte", U), ("command", U), ("flags", U),
                 ("text", S), ("prepared", U), ("params", R), ("status", U), ("affected", U),
                 ("insert_id", U), ("warnings", U), ("info", S), ("error", U), ("sqlstate", S),
                 ("error_text", S), ("result_sets", U), ("rows", U), ("reply_bytes", U),
                 ("blocked_ns", U), ("blockers", R), ("track", R), ("client_begin", U),
                 ("client_end", U), ("request_bytes", U)]),
    6: ("result", [("seq", U), ("at", U), ("session", U), ("number", U), ("set", U), ("part", U),
                   ("last", F), ("columns", R), ("rows", R), ("total", U), ("digest", B)]),
    7: ("probe", [("seq", U), ("at", U), ("session", U), ("number", U), ("txn", U), ("probe", U),
                  ("table", U), ("exact", F), ("read_kind", U), ("predicate", S), ("rows", R),
                  ("begin", U), ("of_number", U), ("of_session", U)]),
    8: ("txn", [("seq", U), ("at", U), ("session", U), ("txn", U), ("event", U), ("number", U),
                ("level", U), ("read_only", F), ("consistent_snapshot", F), ("autocommit", F),
                ("outcome", U), ("begin_seq", U), ("begin", U), ("gtid", S), ("name", S),
                ("reason", S), ("mixed", U)]),
    9: ("cluster", [("seq", U), ("at", U), ("begin", U), ("node", S), ("what", S), ("detail", S),
                    ("data", R)]),
    10: ("note", [("seq", U), ("at", U), ("source", S), ("topic", S), ("text", S), ("data", R)]),
    11: ("gap", [("seq", U), ("at", U), ("begin", U), ("producer", U), ("reason", S),
                 ("records", U), ("bytes", U), ("first_seq", U), ("last_seq", U), ("detail", S)]),
    12: ("footer", [("seq", U), ("at", U), ("blocks", U), ("records", U), ("bytes", U),
                    ("counts", R), ("index", R), ("reason", S), ("lost", U)]),
    13: ("program", [("seq", U), ("at", U), ("node", S), ("database", S), ("name", S), ("type", U),
                     ("table", S), ("position", U), ("create_text", S), ("sql_mode", S),
                     ("charset", S), ("collation", S), ("database_collation", S)]),
    14: ("logged", [("seq", U), ("at", U), ("node", S), ("gtid", S), ("event", U), ("group", U), ("table", U),
                    ("exact", F), ("rows", R), ("text", S), ("end", U), ("server", U), ("thread", U), ("wall", U),
                    ("xid", S)]),
}
FOOTER = 12

TEXT_EXTS = {16: "decimal", 17: "date", 18: "datetime", 19: "time", 20: "json"}
BYTE_EXTS = {21: "bit", 22: "geometry", 23: "hashed", 24: "cut", 25: "dropped"}


class Damage(Exception):
    pass


def make_crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = make_crc_table()


def crc32c(*parts):
    crc = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def unpacker(data):
    """str comes as str (bytes that are not UTF-8 as surrogates), bin as bytes."""
    result = msgpack.Unpacker(
        raw=False, unicode_errors="surrogateescape", strict_map_key=False,
        max_buffer_size=2 * BLOCK_MAX)
    result.feed(data)
    return result


def read_header(data):
    walk = unpacker(data[:1 << 20])
    try:
        header = walk.unpack()
    except msgpack.OutOfData:
        raise Damage("the file ends inside its header") from None
    size = walk.tell()
    if not isinstance(header, dict) or header.get("magic") != "isotrace":
        raise Damage("no isotrace trace")
    key = size - 9
    if data[key:key + 5] != b"\xa3crc\xce" or crc32c(data[:key]) != header["crc"]:
        raise Damage("the header's checksum is wrong")
    if header["version"] > 2:
        raise Damage("a newer version")
    if len(header["marker"]) != 16 or header["marker"][:8] != MARKER_START:
        raise Damage("no marker")
    return header, size


def read_block(data, at, marker, version):
    """The records of the block at this offset, and the offset after it; None at a torn tail."""
    if len(data) - at < 30 or data[at] != 0xC9:
        return None
    length, kind = struct.unpack(">IB", data[at + 1:at + 6])
    end = at + 6 + length
    if not 24 <= length <= BLOCK_MAX or data[at + 6:at + 22] != marker or end > len(data):
        return None
    crc, count = struct.unpack(">II", data[at + 22:at + 30])
    if crc32c(data[at + 5:at + 6], marker if version > 1 else b"", data[at + 26:end]) != crc:
        return None
    body = data[at + 30:end]
    if kind == 1:
        if not 0 < zstandard.get_frame_parameters(body).content_size <= BLOCK_MAX:
            raise Damage("content size")
        body = zstandard.ZstdDecompressor().decompress(body)
    elif kind != 2:
        raise Damage("block type %d" % kind)
    walk = unpacker(body)
    records = [walk.unpack() for _ in range(count)]
    if walk.tell() != len(body):
        raise Damage("bytes behind the last record")
    if records[0][0] != 0:
        raise Damage("no block record")
    return records, end


def read_file(path, follows):
    """The records of a segment, the torn bytes, and whether it ended with a footer."""
    with open(path, "rb") as file:
        data = file.read()
    header, at = read_header(data)
    number, footer, out = 0, None, []
    while at < len(data):
        block = read_block(data, at, header["marker"], header["version"])
        if block is None:
            break
        records, end = block
        info = fields(records[0])
        if info["block"] != number:
            raise Damage("block %d follows block %d" % (info["block"], number - 1))
        number += 1
        if not (info["context"] and follows):
            out += [(info["producer"], record) for record in records[1:]]
        if len(records) == 2 and records[1][0] == FOOTER:
            footer = records[1]
            for offset, size, *_ in fields(footer)["index"]:
                if data[offset] != 0xC9 or offset + size > at:
                    raise Damage("the index")
        at = end
    return header, out, len(data) - at, footer is not None


def fields(record):
    """A record's fields by name; missing ones are nothing, unknown ones are left out."""
    out = {}
    for i, (name, kind) in enumerate(KINDS[record[0]][1]):
        value = record[i + 1] if i + 1 < len(record) else None
        if value is None and kind == U:
            value = 0
        if value is None and kind == F:
            value = False
        out[name] = value
    return out


# ---- the section "JSON" ----

def json_text(value):
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def json_int(value):
    return value if abs(value) <= 1 << 53 else str(value)


def json_key(key):
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return str(key)


def json_raw(value, depth=0):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return json_int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex().upper()}
    if isinstance(value, msgpack.ExtType):
        if value.code in TEXT_EXTS:
            return {TEXT_EXTS[value.code]: json_text(value.data)}
        if value.code in BYTE_EXTS:
            return {BYTE_EXTS[value.code]: value.data.hex().upper()}
        return None
    if isinstance(value, (list, dict)) and depth >= 16:
        return None
    if isinstance(value, list):
        return [json_raw(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {json_key(key): json_raw(item, depth + 1) for key, item in value.items()}
    return None  # an extension that msgpack's library has a type for


def json_record(record):
    if record[0] not in KINDS:
        return {"kind": record[0]}
    name, table = KINDS[record[0]]
    out = {"kind": name}
    values = fields(record)
    for field, kind in table:
        value = values[field]
        if kind == U:
            out[field] = json_int(value)
        elif kind == S:
            out[field] = None if value is None else json_text(value)
        elif kind == B:
            out[field] = None if value is None else {"bytes": bytes(value).hex().upper()}
        else:
            out[field] = json_raw(value)
    return out


def main():
    args = sys.argv[1:]
    in_order = args[:1] == ["--in-order"]
    path = args[-1]
    paths = [path]
    if os.path.isdir(path):
        paths = sorted(os.path.join(path, name) for name in os.listdir(path)
                       if name.endswith(".itr"))
    records, torn, follows, last = [], 0, False, None
    for path in paths:
        header, some, lost, follows = read_file(path, follows)
        if last and (header["trace"] != last["trace"] or header["segment"] != last["segment"] + 1):
            raise Damage("segment %d follows segment %d" % (header["segment"], last["segment"]))
        last = header
        records += some
        torn += lost
    # Records of one producer stand in order.
    newest = {}
    for producer, record in records:
        assert newest.get(producer, 0) < record[1], "a producer's records are out of order"
        newest[producer] = record[1]
    if in_order:
        records.sort(key=lambda item: item[1][1])
    json.dump({"records": [json_record(record) for _, record in records], "torn": torn}, sys.stdout)


if __name__ == "__main__":
    main()
