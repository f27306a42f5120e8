#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace slice: a part of a trace is a trace, and shows nothing that the whole does not."""
import glob
import json
import os
import random
import subprocess
import sys

from run import isotrace, scratch
import tap

ISOSIM = os.path.abspath(sys.argv[2])
RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def simulate(name, *options):
    path = scratch(name)
    subprocess.run([ISOSIM, *options, "-o", path], check=True, capture_output=True)
    return path


def slice_of(path, *options, status=0):
    out = scratch("part.itr")
    if os.path.exists(out):
        os.remove(out)
    result = isotrace("slice", *options, "-o", out, path)
    assert result.status == status, result.err
    return out


def records(path):
    return [json.loads(line) for line in isotrace("show", "--format=ndjson", "--probes", path).out.splitlines()[1:]]


def violations(path, *options):
    return {f["class"] for f in isotrace("check", "--format=json", *options, path).json()["findings"]
            if f["severity"] == "violation"}


def test_what_is_asked_for_is_there_and_nothing_else():
    path = simulate("whole.itr", "--seed=1", "--transactions=200")
    whole = [r for r in records(path) if r.get("kind") == "stmt"]
    sql = {(r["session"], r["number"]): r["text"] for r in whole}
    by_session = slice_of(path, "--session=2")
    # Answers of that session alone; of others only what wrote.
    assert {r["session"] for r in records(by_session) if r.get("kind") == "result"} == {2}
    assert {r["session"] for r in records(by_session) if r.get("kind") == "probe" and r["probe"] == 6} <= {2}
    kept = [r for r in records(by_session) if r.get("kind") == "stmt"]
    assert [r["number"] for r in kept if r["session"] == 2] == [r["number"] for r in whole if r["session"] == 2]
    assert len(kept) < len(sql)
    txns = sorted({r["txn"] for r in whole if r["txn"]})[10:13]
    part = slice_of(path, "--txn", ",".join(f"T{t}" for t in txns))
    answered = {(r["session"], r["number"]) for r in records(part) if r.get("kind") == "result"}
    assert answered <= {(r["session"], r["number"]) for r in whole if r["txn"] in txns}


def test_times():
    path = simulate("whole.itr", "--seed=2", "--transactions=300")
    ends = sorted(r["at"] for r in records(path) if r.get("kind") == "txn")
    stats = isotrace("stats", "--format=json", path)
    assert stats.status == 0
    begin = min(r["at"] for r in records(path))
    middle = (ends[len(ends) // 2] - begin) / 1e9
    part = slice_of(path, f"--to={middle:.6f}s")
    assert 0 < len(records(part)) < len(records(path))


def test_slices_of_clean_traces_are_clean():
    """No rule may take what is missing for what is wrong."""
    rng, cut = random.Random(1), 0
    for discipline in ("serializable", "si", "rr", "rc"):
        for seed in range(2):
            path = simulate("clean.itr", f"--discipline={discipline}", f"--seed={seed}", "--transactions=150", "--keys=12")
            allowed = violations(path)
            txns = sorted({r["txn"] for r in records(path) if r.get("kind") == "txn"})
            for options in ([f"--session={rng.randrange(1, 5)}"], ["--txn", ",".join(map(str, rng.sample(txns, 20)))],
                            ["--txn", ",".join(map(str, rng.sample(txns, 100)))], ["--txn", ",".join(map(str, txns[50:90]))]):
                part = slice_of(path, *options)
                assert violations(part) <= allowed, (discipline, seed, options, violations(part))
                cut += 1
    assert cut == 32


def test_slices_of_recordings_are_no_worse():
    cut = 0
    # Every third: each costs six runs of the program.
    for path in sorted(glob.glob(os.path.join(RECORDED, "*", "recorded", "*.itr")))[::3]:
        sessions = sorted({r["session"] for r in records(path) if r.get("kind") == "txn"})
        if len(sessions) < 2:
            continue
        allowed = violations(path)
        for session in sessions[:2]:
            out = scratch("part.itr")
            if os.path.exists(out):
                os.remove(out)
            result = isotrace("slice", f"--session={session}", "-o", out, path)
            if result.status == 0:
                cut += 1
                assert violations(out) <= allowed, (path, session, violations(out))
    assert cut > 10, cut


def test_mistakes():
    path = simulate("whole.itr", "--seed=1", "--transactions=20")
    assert isotrace("slice", path).status == 2
    assert isotrace("slice", "-o", scratch("x.itr"), path).status == 2
    assert isotrace("slice", "--txn=x", "-o", scratch("x.itr"), path).status == 2
    assert "no transaction" in isotrace("slice", "--txn=99999", "-o", scratch("x.itr"), path).err
    assert not os.path.exists(scratch("x.itr"))
    assert isotrace("slice", "--txn=1", "-o", path, path).status != 0
    with open(path, "rb") as whole, open(scratch("torn.itr"), "wb") as torn:
        torn.write(whole.read()[:-40])
    assert "incomplete" in isotrace("slice", "--txn=1", "-o", scratch("x.itr"), scratch("torn.itr")).err


if __name__ == "__main__":
    tap.main(globals())
