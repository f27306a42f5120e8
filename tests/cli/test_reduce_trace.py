#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace reduce of traces: what a planted anomaly needs is left, and nothing else."""
import glob
import json
import os
import re
import subprocess
import sys

from run import isotrace, scratch
from plain_trace import write_plain
import tap

ISOSIM = os.path.abspath(sys.argv[2])
CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "corpus", "recordings")
LEFT = re.compile(r": ([0-9a-f]{16}) (.*): (\d+) of (\d+) transactions, (\d+) of (\d+) statements, (\d+) of (\d+) initial rows")


class Reduced:
    """What is left of a trace; status 0 or None: nothing to reduce."""

    def __init__(self, path, *options):
        self.path = scratch("small.itr")
        if os.path.exists(self.path):
            os.remove(self.path)
        result = isotrace("reduce", *options, "-o", self.path, path)
        self.found = result.status == 0
        if not self.found:
            assert result.status == 3 and "nothing to reduce" in result.err, result.err
            return
        words = LEFT.search(result.err)
        assert words, result.err
        self.id, self.shape = words[1], words[2]
        self.txns, _, self.stmts, _, self.rows, _ = map(int, words.groups()[2:])


def simulate(name, *options):
    path = scratch(name)
    subprocess.run([ISOSIM, *options, "--quiet", "-o", path], check=True, capture_output=True)
    return path


def findings(path, *options):
    return json.loads(isotrace("check", "--format=json", "--examples=1000", *options, path).out)["findings"]


def identity(finding):
    return finding["class"], finding["severity"], tuple(sorted(finding["transactions"]))


def violations(path, *options):
    return {identity(f) for f in findings(path, *options) if f["severity"] == "violation"}


def records(path, kind):
    lines = isotrace("show", "--format=ndjson", "--probes", path).out.splitlines()[1:]
    return [r for r in map(json.loads, lines) if r.get("kind") == kind]


# What one plant needs at most: its transactions, and a statement or two of each beside BEGIN and COMMIT.
PLANTS = ("G0", "G1a", "G1b", "G1c", "G-single", "G-nonadjacent", "G2-item", "G2", "lost-update", "garbage-read", "future-read",
          "own-write", "unstable-snapshot", "duplicate-row", "split-statement", "G-single-session", "G2-item-realtime")


def test_whole_transactions():
    path = simulate("planted.itr", "--plant=lost-update", "--seed=3", "--transactions=1500", "--unknown=0")
    finding = next(f for f in findings(path) if f["severity"] == "violation")
    small = Reduced(path, "--whole-transactions", "--finding", finding["id"])
    kept = {r["txn"] for r in records(small.path, "txn")}

    def of(trace):
        return sorted((r["session"], r["number"]) for r in records(trace, "stmt") if r["txn"] in kept)

    assert kept and of(small.path) == of(path), (of(small.path), of(path))
    assert violations(small.path) <= violations(path)
    assert small.stmts >= Reduced(path, "--finding", finding["id"]).stmts


def test_planted_anomalies():
    for number, plant in enumerate(PLANTS):
        for probes in ("trigger", "select") if number % 3 == 0 else ("trigger",):
            path = simulate("planted.itr", f"--plant={plant}", f"--probes={probes}", f"--seed={number}", "--transactions=1500",
                            "--unknown=0")
            before = {identity(f): f for f in findings(path)}
            small = Reduced(path)
            if not small.found:
                # Without exact probes some cannot be seen.
                assert probes == "select" and not before, (plant, probes)
                continue
            after = findings(small.path)
            assert [f for f in after if f["id"] == small.id], (plant, probes, small.shape)
            assert violations(small.path) <= set(before), (plant, probes)
            named = max(len(f["transactions"]) for f in after)
            assert small.txns <= named + 1, (plant, probes, small.txns, small.shape)
            assert small.stmts <= 6 * small.txns, (plant, probes, small.stmts)
            assert small.rows <= 4, (plant, probes, small.rows)


def test_what_is_left():
    """Two transactions; a read and a write of each, at most."""
    path = simulate("whole.itr", "--plant=G-single", "--seed=7", "--transactions=800")
    small = Reduced(path)
    kept = sorted({r["txn"] for r in records(small.path, "txn")})
    assert len(kept) == 2, kept
    texts = [r["text"].lower() for r in records(small.path, "stmt")]
    work = [t for t in texts if not re.match(r"begin|start|commit|set ", t)]
    assert len(work) <= 4, texts


def test_recordings_without_versions():
    # Transactions and statements at most: the reader, and the writers of what it answered and should have answered.
    most = {"stale": (3, 9), "own write": (2, 7), "row gone": (2, 6)}
    for plant, (txns, stmts) in most.items():
        for seed in range(3):
            path = scratch("plain.itr")
            write_plain(path, seed, 400, plant)
            before = violations(path)
            small = Reduced(path)
            assert small.found, (plant, seed)
            assert violations(small.path) <= before, (plant, seed)
            assert small.id in {f["id"] for f in findings(small.path)} or violations(small.path), (plant, seed)
            assert small.txns <= txns and small.stmts <= stmts, (plant, seed, small.txns, small.stmts)
            assert small.rows <= 2, (plant, seed, small.rows)


def test_real_recordings():
    """Of bugs of real servers: the same finding is in what is left, and none that was not there before."""
    shown = 0
    # Those of two releases: each has most of the bugs that are shown.
    for path in sorted(p for release in ("mariadb-10.11", "mysql-9") for p in
                       glob.glob(os.path.join(CORPUS, "*", release + "*-RR.itr"))):
        before = findings(path)
        small = Reduced(path)
        assert small.found == bool(before), path
        if small.found:
            after = {identity(f) for f in findings(small.path) if f["severity"] == "violation"}
            assert after <= {identity(f) for f in before}, path
            assert [f for f in findings(small.path) if f["class"] == [b for b in before if b["id"] == small.id][0]["class"]], path
            shown += 1
    assert shown >= 8, shown


def test_a_finding_by_name():
    path = simulate("two.itr", "--plant=G1a", "--plant=G2-item", "--seed=3", "--transactions=600")
    by_class = {f["class"]: f for f in findings(path)}
    for name in ("G1a", "G2-item"):
        assert Reduced(path, "--finding", name).id == by_class[name]["id"]
        assert Reduced(path, "--finding", by_class[name]["id"]).id == by_class[name]["id"]
    assert not Reduced(path, "--finding=G0").found


def test_nothing_to_reduce_and_mistakes():
    path = simulate("fine.itr", "--seed=1", "--transactions=100")
    assert not Reduced(path).found and not os.path.exists(scratch("small.itr"))
    result = isotrace("reduce", path)
    assert result.status == 2 and "--output" in result.err, result.err
    result = isotrace("reduce", "--to=elle", "-o", scratch("x.itr"), path)
    assert result.status == 2 and "--to" in result.err, result.err
    with open(scratch("there.itr"), "w", encoding="utf-8") as file:
        file.write("mine")
    planted = simulate("planted.itr", "--plant=G0", "--seed=1", "--transactions=100")
    result = isotrace("reduce", "-o", scratch("there.itr"), planted)
    assert result.status != 0 and "there already" in result.err, result.err
    with open(scratch("there.itr"), encoding="utf-8") as file:
        assert file.read() == "mine"
    assert not glob.glob(scratch("*.best")) and not glob.glob(scratch("*.trying"))


def test_time_over():
    """What there is by then is written: here nothing was left out."""
    path = simulate("planted.itr", "--plant=G0", "--seed=2", "--transactions=300")
    out = scratch("early.itr")
    result = isotrace("reduce", "--time=1ns", "-o", out, path)
    assert result.status == 3 and "ended early" in result.err, result.err
    assert violations(out) == violations(path)


if __name__ == "__main__":
    tap.main(globals())
