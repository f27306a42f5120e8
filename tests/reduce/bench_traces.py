#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace reduce of recordings with one planted anomaly: what is left, and how long it took beside one check.

    bench_traces.py ISOTRACE ISOSIM
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from plain_trace import write_plain  # noqa: E402

ISOTRACE, ISOSIM = sys.argv[1:3]
LEFT = re.compile(r": [0-9a-f]{16} .*: (\d+) of (\d+) transactions, (\d+) of (\d+) statements, (\d+) of (\d+) initial rows are "
                  r"left; (\d+) parts")


def simulated(plant, transactions):
    def write(path):
        subprocess.run([ISOSIM, f"--plant={plant}", f"--transactions={transactions}", "--seed=5", "--unknown=0",
                        f"--keys={max(100, transactions // 10)}", "--quiet", "-o", path], check=True)
    return write


def plain(plant, transactions):
    return lambda path: write_plain(path, 5, transactions, plant)


def seconds(*command):
    begin = time.monotonic()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return time.monotonic() - begin, run


def main():
    print(f"{'recording':32} {'statements':>10} {'left':>5} {'rows':>4} {'parts':>5} {'check s':>8} {'reduce s':>8} {'ratio':>6}")
    cases = [(f"versions, {plant}", simulated(plant, n))
             for plant, n in (("G-single", 200), ("G1a", 2000), ("G2-item", 10000), ("lost-update", 40000), ("G0", 80000))]
    cases += [(f"plain, {plant}", plain(plant, n))
              for plant, n in (("stale", 250), ("row gone", 2000), ("own write", 10000), ("stale", 40000), ("stale", 110000))]
    with tempfile.TemporaryDirectory() as folder:
        for name, write in cases:
            path, small = os.path.join(folder, "whole.itr"), os.path.join(folder, "small.itr")
            for old in (path, small):
                if os.path.exists(old):
                    os.remove(old)
            write(path)
            check, _ = seconds(ISOTRACE, "check", "--format=json", path)
            took, run = seconds(ISOTRACE, "reduce", "-o", small, path)
            words = LEFT.search(run.stderr)
            if not words:
                sys.exit(f"{name}: {run.stderr}")
            _, _, left, stmts, rows, _, parts = map(int, words.groups())
            print(f"{name:32} {stmts:10} {left:5} {rows:4} {parts:5} {check:8.2f} {took:8.2f} {took / check:6.2f}", flush=True)


if __name__ == "__main__":
    main()
