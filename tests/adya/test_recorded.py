#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of instrumented schedules, judged by the oracle adya: TAP on standard output.

    test_recorded.py ISOTRACE

recorded/NAME.CLASS.itr: what is found in it (`ok`: nothing), all of it decided;
NAME.CLASS.undecided.itr: something is not.  Made with `isorec run --instrument trigger --isolation RR`
on MariaDB 10.11; `isotrace export` shows the scenario of each.  update-ignore-unsure is by a recorder
that did not count the rows which UPDATE IGNORE changed; write-elsewhere is by the proxy;
snapshots-off is of MariaDB 11.8, whose sessions switch innodb_snapshot_isolation off.
"""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def judge(path):
    done = subprocess.run([sys.argv[1], "check", "--oracle=adya", "--format=json", path], capture_output=True,
                          text=True, check=False)
    verdict = json.loads(done.stdout)
    expected, *more = os.path.basename(path).split(".")[1:-1]
    found = [(f["class"], f["severity"]) for f in verdict["findings"]]
    assert found == ([] if expected == "ok" else [(expected, "documented")]), found
    assert (verdict["coverage"]["undecided"] > 0) == bool(more), verdict["coverage"]
    assert more or expected != "ok" or verdict["verdict"] == "ok", verdict["verdict"]


def main():
    paths = sorted(glob.glob(os.path.join(HERE, "recorded", "*.itr")))
    failed = not paths
    print("1..%d" % len(paths))
    for number, path in enumerate(paths, 1):
        try:
            judge(path)
            print("ok %d - %s" % (number, os.path.basename(path)))
        except (AssertionError, ValueError) as error:
            failed = True
            print("not ok %d - %s" % (number, os.path.basename(path)))
            print("# %r" % error)
    return failed


sys.exit(main())
