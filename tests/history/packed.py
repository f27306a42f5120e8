# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of a trace as msgpack, by the field lists of record.h."""
import re

import msgpack

(BWR, AWR, VSR, PM, BPM, APM, READ, WRITE) = range(8)
NONE = 0xFFFFFFFF
KINDS = {2: "schema", 3: "rows", 4: "session", 5: "stmt", 7: "probe", 8: "txn"}


def field_lists(path):
    text = open(path).read()
    lists = {}
    for number, kind in KINDS.items():
        body = re.search(r"#define RECORD_%s_FIELDS\(F\)(.*?)\n\n" % kind.upper(), text, re.S).group(1)
        lists[kind] = re.findall(r"\bF\((\w+), (\w+)\)", body)
    return lists


def pack_record(lists, kind, record):
    number = [n for n, k in KINDS.items() if k == kind][0]
    out = [number]
    for kind_of, name in lists[kind]:
        empty = {"u64": 0, "u32": 0, "u8": 0, "flag": False}.get(kind_of)
        out.append(record.get(name, empty))
    return msgpack.packb(out)


def enc(value):
    return msgpack.packb(value)


def read_packed(lists, data):
    names = {n: [f[1] for f in lists[k]] for n, k in KINDS.items()}
    for fields in msgpack.Unpacker(bytes_source(data), raw=False, strict_map_key=False):
        yield KINDS[fields[0]], dict(zip(names[fields[0]], fields[1:]))


class bytes_source:
    def __init__(self, data):
        self.data, self.at = data, 0

    def read(self, n):
        out = self.data[self.at:self.at + n]
        self.at += n
        return out
