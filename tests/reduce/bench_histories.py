#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast histories are reduced: a planted anomaly in 10,000 to 1,000,000 transactions.

    bench_histories.py ISOTRACE [COUNT...]
"""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import histories  # noqa: E402

LIMIT_S = 60


def main():
    isotrace, *counts = sys.argv[1:]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="reduce-bench-") as work:
        for count in map(int, counts or ["10000", "100000", "1000000"]):
            for tool, anomaly, kind in histories.CASES:
                path = os.path.join(work, "history")
                histories.write(path, tool, count, anomaly, 1)
                begin = time.monotonic()
                done = subprocess.run([isotrace, "reduce", "--finding", kind, path], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, check=False)
                seconds = time.monotonic() - begin
                words = re.search(r"(\d+) of \d+ transactions, (\d+) of \d+ keys are left \((\d+) in the witness\)", done.stderr)
                good = done.returncode == 0 and words and int(words[1]) <= 1.5 * int(words[3]) and seconds < LIMIT_S
                bad += not good
                print(f"{tool:6} {anomaly:7} {count:8} transactions: {words[0] if words else done.stderr}, {seconds:.1f} s"
                      f"{'' if good else '  NOT as wanted'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
