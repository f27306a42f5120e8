#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the mvcc oracle says of every statement of every recording, compared with the entries beside them: TAP.

    test_index.py MVCC_TOOL

The form of the entries, and how one is made: tests/scripts/recordings.py.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import recordings  # noqa: E402


def judge_all(entries):
    return recordings.judge_mvcc(sys.argv[1], [(path, "judged with" in entry.keys) for path, entry in entries.items()])


sys.exit(recordings.report(recordings.check_folder(os.path.join(HERE, "recorded"), judge_all)))
