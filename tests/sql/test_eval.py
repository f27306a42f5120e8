#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The SQL evaluator against a real server: TAP on standard output.

    test_eval.py ISOREC-SERVERS SQL_EVAL [RELEASE] [--expressions=N] [--queries=N] [--changes=N]
                 [--seed=N]

RELEASE is one of isorec-servers; without it the machine's own MariaDB.  Skipped as a whole where
there is no such server.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import against  # noqa: E402

# One a line; a random run finds such a thing once in 100,000.
ONCE_WRONG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expressions.txt")
TOOL, EVAL = sys.argv[1:3]
OPTIONS = dict(word[2:].split("=", 1) for word in sys.argv[3:] if word.startswith("--"))
NAMES = [word for word in sys.argv[3:] if not word.startswith("--")]
RELEASE = NAMES[0] if NAMES else "mariadb-local"
SEED = OPTIONS.get("seed", "1")
PARTS = [
    ("collations order bytes as the server does", ["--collations"]),
    ("expressions that were once wrong", ["--try"]),
    ("expressions", ["--expressions=" + OPTIONS.get("expressions", "8000")]),
    ("queries", ["--queries=" + OPTIONS.get("queries", "1500")]),
    ("changes", ["--changes=" + OPTIONS.get("changes", "500")]),
    ("expressions, on a connection in bytes", ["--binary", "--expressions=" + OPTIONS.get("expressions", "8000")]),
    ("queries, on a connection in bytes", ["--binary", "--queries=" + OPTIONS.get("queries", "1500")]),
    ("JSON that is stored", ["--json=" + OPTIONS.get("changes", "500")]),
    ("JSON functions", ["--json-functions=" + OPTIONS.get("queries", "1500")]),
    ("joins of many tables", ["--joins=" + OPTIONS.get("joins", "60")]),
]


def shown(part, lines):
    # --try prints each answer.
    return [line for line in lines if "--try" not in part[1] or " = " not in line][:100]


def main():
    with open(ONCE_WRONG, "rb") as file:
        once_wrong = file.read()
    return against.server(TOOL, RELEASE, "sql-eval-", lambda about: against.compare(
        ((name, [EVAL, about["socket"], "--seed=" + SEED, *args], once_wrong)
         for name, args in PARTS), against.counted("differences"), shown))


sys.exit(main())
