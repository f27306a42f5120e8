#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Odd but legal traces: what another recorder could have written of the same execution.

A simulated trace is taken apart and written again in ways that docs/trace-format.md allows and
isorec does not use; check must come to the same findings, levels and coverage.  Where something
is left out, it may decide less, but it must not find what is not there.
"""
import functools
import os
import random
import struct
import subprocess
import sys

from run import HERE, ISOTRACE, isotrace, scratch
import tap
from tracefile import MARKER, Trace, compress, crc32c, pack

sys.path.insert(0, os.path.join(HERE, "..", "other"))
import read_trace  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[2])
SESSION, STMT, RESULT, PROBE, TXN, FOOTER = 4, 5, 6, 7, 8, 12
DISCIPLINES = ("serializable", "si", "rr", "rc", "ru")
PLANTS = ("--plant=G1a", "--plant=G-single", "--plant=lost-update", "--plant=G2-item",
          "--plant=G1c")


def simulate(*options):
    path = scratch("sim.itr")
    subprocess.run([ISOSIM, "--quiet", "--sessions=6", "--transactions=120", "--keys=30", "-o", path,
                    *options], check=True)
    with open(path, "rb") as file:
        data = file.read()
    header, at = read_trace.read_header(data)
    records = []
    while at < len(data):
        block, at = read_trace.read_block(data, at, header["marker"], header["version"])
        records += [r for r in block[1:] if r[0] != FOOTER]
    return records


def frame(number, producer, records, watermark, packed):
    seqs = [r[1] for r in records] or [0]
    head = [0, producer, number, min(seqs), max(seqs), watermark, 0, 0, False]
    body = packed(head) + b"".join(packed(r) for r in records)
    kind = b"\x02"
    if len(body) > 20000:
        kind, body = b"\x01", compress(body)
    covered = struct.pack(">I", len(records) + 1) + body
    payload = MARKER + struct.pack(">I", crc32c(kind + covered)) + covered
    return b"\xc9" + struct.pack(">I", len(payload)) + kind + payload


def write(name, blocks, footer=True, packed=pack, hole=None):
    """blocks: (producer, records) in the order of the file; number `hole` is lost."""
    last = max(r[1] for _, records in blocks for r in records)
    least = [last + 1] * (len(blocks) + 1)  # the smallest seq that is still to come
    for i in range(len(blocks) - 1, -1, -1):
        least[i] = min([least[i + 1]] + [r[1] for r in blocks[i][1]])
    out = Trace().header()
    for i, (producer, records) in enumerate(blocks):
        if i != hole:
            out += frame(i, producer, records, least[i + 1], packed)
    if footer:
        count = sum(len(records) for _, records in blocks)
        out += frame(len(blocks), 0, [[FOOTER, last + 1, 0, len(blocks), count, 0, {}, [], "end", 0]],
                     last + 2, pack)
    path = scratch(name)
    with open(path, "wb") as file:
        file.write(out)
    return path


def one_block(records, size=500):
    return [(1, records[i:i + size]) for i in range(0, len(records), size)]


@functools.lru_cache(None)
def judge_plain(number):
    return judge(write("plain.itr", one_block(TRACES[number])))


def judge(path, *options):
    run = isotrace("check", "--oracle=adya", "--format=json", *options, path)
    assert run.status in (0, 1, 3), run.err
    report = run.json()
    return {k: report[k] for k in ("verdict", "levels", "findings", "coverage")}


def classes(report):
    return sorted((f["class"], f["severity"]) for f in report["findings"])


def same(number, change, witnesses=True, **options):
    """The changed trace tells the same; of several equally short cycles it may take another one
    where `witnesses` is false."""
    want = judge_plain(number)
    got = judge(write("odd.itr", change, **options))
    assert classes(got) == classes(want), f"{classes(got)} is not {classes(want)}"
    for key, value in want.items():
        if key != "findings" or witnesses:
            assert got[key] == value, f"{key}: {got[key]}\nis not\n{value}"
    return want


TRACES = [simulate(f"--discipline={d}", f"--seed={seed}") for seed, d in enumerate(DISCIPLINES)]
TRACES.append(simulate("--seed=9", "--probes=select", "--discipline=si"))
TRACES.append(simulate("--seed=10", *PLANTS))


def traces():
    return enumerate(TRACES)


def producer_of(record):
    return record[3] if record[0] in (SESSION, STMT, RESULT, PROBE, TXN) else 0


def test_a_producer_for_each_session():
    found = 0
    for number, records in traces():
        rng = random.Random(len(records))
        streams = {}
        for record in records:
            streams.setdefault(producer_of(record) + 1, []).append(record)
        blocks = []
        while streams:
            producer = rng.choice(sorted(streams))
            size = rng.choice((1, 3, 40, 400))
            blocks.append((producer, streams[producer][:size]))
            streams[producer] = streams[producer][size:]
            if not streams[producer]:
                del streams[producer]
        found += len(same(number, blocks, witnesses=False)["findings"])
    assert found, "nothing was planted"


def test_what_later_versions_add():
    for number, records in traces():
        more = []
        for i, record in enumerate(records):
            if i % 7 == 0:
                more.append([99, record[1], 5, {"of": ["the", "future", -1, 2.5, None]}])
            more.append(record + [None, {"new": [1, 2]}, b"\xff", True])
        same(number, one_block(more))


def test_fields_left_out_at_the_end():
    def cut(record):
        record = list(record)
        while len(record) > 3 and record[-1] in (None, 0, False):
            record.pop()
        return record
    for number, records in traces():
        same(number, one_block([cut(r) for r in records]))


def long_forms(value):
    """The longest encoding of everything, keys, versions and images included."""
    if value is None or isinstance(value, bool):
        return pack(value)
    if isinstance(value, int):
        return b"\xcf" + struct.pack(">Q", value) if value >= 0 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
        return b"\xdb" + struct.pack(">I", len(value)) + value
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(long_forms, value))
    if isinstance(value, dict):
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(
            long_forms(k) + long_forms(v) for k, v in value.items())
    return pack(value)


def test_long_encodings():
    for number, records in traces():
        same(number, one_block(records), packed=long_forms)


def test_the_records_of_a_statement_in_any_order():
    for number, records in traces():
        rng = random.Random(len(records))
        out, at = [], 0
        while at < len(records):
            end = at + 1
            if records[at][0] in (STMT, RESULT, PROBE):
                while (end < len(records) and records[end][0] in (STMT, RESULT, PROBE) and
                       records[end][3:5] == records[at][3:5]):
                    end += 1
            run = records[at:end]
            seqs = [r[1] for r in run]
            rng.shuffle(run)
            # A statement's own number says when it ended: that stays.
            others = [s for r, s in zip(records[at:end], seqs) if r[0] != STMT]
            out += [r if r[0] == STMT else [r[0], others.pop(0)] + r[2:] for r in run]
            at = end
        same(number, one_block(out))


def test_sessions_that_were_open_before():
    for number, records in traces():
        same(number, one_block([r for r in records if r[0] != SESSION]))


def test_several_nodes():
    for number, records in traces():
        out = [list(r) for r in records]
        for record in out:
            if record[0] == SESSION:
                record[5] = "n%d" % (record[3] % 3)
        same(number, one_block(out))


def nothing_false(number, path):
    """What is found was found with all of the trace, too."""
    known = {f["class"] for f in judge_plain(number)["findings"]}
    for finding in judge(path)["findings"]:
        assert finding["severity"] != "violation" or finding["class"] in known, finding


def test_transactions_that_never_end():
    for number, records in traces():
        rng = random.Random(len(records))
        for share in (0.3, 0.6, 0.9):
            kept = records[:int(len(records) * share)]
            nothing_false(number, write("odd.itr", one_block(kept), footer=False))
        out = [r for r in records if r[0] != TXN or r[5] != 1 or rng.random() < 0.8]
        nothing_false(number, write("odd.itr", one_block(out)))


def test_beginnings_that_are_missing():
    for number, records in traces():
        rng = random.Random(len(records))
        out = [r for r in records if r[0] != TXN or r[5] != 0 or rng.random() < 0.5]
        nothing_false(number, write("odd.itr", one_block(out)))
        # Recording began in the middle: what was there before is not known.
        late = [r for r in records if r[0] < SESSION] + records[len(records) // 2:]
        nothing_false(number, write("odd.itr", one_block(late), footer=False))


def test_no_statements_but_their_probes():
    for number, records in traces():
        nothing_false(number, write("odd.itr", one_block([r for r in records if r[0] != STMT])))


def violations(report):
    return {f["class"] for f in report["findings"] if f["severity"] in ("violation", "suspicion")}


def test_a_hole_shows_nothing_new():
    """A block is lost, whatever was in it: writes, deletions, ROLLBACK TO, ends, the server record."""
    for discipline in ("serializable", "si"):
        records = simulate(f"--discipline={discipline}", "--seed=5", "--transactions=60", "--keys=6", "--delete=0.2",
                           "--insert=0.2", "--predicate=0.3", "--update=0.2", "--savepoints=0.2")
        blocks = one_block(records, 40)
        assert not violations(judge(write("whole.itr", blocks)))
        for hole in range(len(blocks)):
            report = judge(write("hole.itr", blocks, hole=hole), "--salvage")
            assert report["verdict"] == "incomplete", (discipline, hole, report["verdict"])
            assert not violations(report), (discipline, hole, report["findings"])


def test_bombs():
    """a few bytes that become many are read within --memory, or the program says that it needs more"""
    with open(ISOTRACE, "rb") as program:
        if b"__asan_init" in program.read():
            raise tap.Skip("--memory does nothing in a build with sanitizers, which need more than the machine has")
    trace = Trace()
    trace.add("session", 0, session=1, node="n")
    # No row is like the next, or a block would shrink further than it may.
    for number in range(1, 4):
        noise = random.Random(number)
        trace.stmt(1, number, "select c from t", rows=[[None if i % 16 else noise.randrange(128)] for i in range(2000000)])
    path = scratch("bomb.itr")
    trace.write(path, per_block=1)
    assert os.path.getsize(path) < 1000000, os.path.getsize(path)
    for command in (["check"], ["stats"], ["show", "--format=ndjson"], ["export", "--to=scenario", "--skip"]):
        with subprocess.Popen([ISOTRACE, *command, "--memory=150M", path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            said = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert usage.ru_maxrss < 250 * 1024, (command, usage.ru_maxrss)
        assert process.returncode in (0, 3) or "--memory" in said, (command, process.returncode, said[-300:])


if __name__ == "__main__":
    tap.main(globals())
