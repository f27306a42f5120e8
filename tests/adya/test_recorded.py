#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of instrumented schedules, judged by the oracle adya and compared with the entries beside them: TAP.

    test_recorded.py ISOTRACE

The form of the entries, and how one is made: tests/scripts/recordings.py.  A recording is named NAME.CLASS.itr by what is found
in it (`ok`: nothing), and NAME.CLASS.undecided.itr where something is undecided.  Made with `isorec run --instrument trigger`
on MariaDB 10.11, but for snapshots-off (11.8) and write-elsewhere (the proxy).
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import recordings  # noqa: E402


def judge_all(entries):
    return {path: recordings.judge_adya(sys.argv[1], path) for path in entries}


sys.exit(recordings.report(recordings.check_folder(os.path.join(HERE, "recorded"), judge_all)))
