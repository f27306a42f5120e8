#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The SQL evaluator against a real server: TAP on standard output.

    test_eval.py ISOREC-SERVERS SQL_EVAL [RELEASE] [--expressions=N] [--queries=N] [--changes=N]
                 [--seed=N]

RELEASE is one of isorec-servers; without it the machine's own MariaDB.  Skipped as a whole where
there is no such server.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

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
    ("JSON that is stored", ["--json=" + OPTIONS.get("changes", "500")]),
]


def tool(cache, *args):
    return subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, env=dict(os.environ, ISOREC_SERVERS_CACHE=cache)
                          if cache else None)


def run(socket):
    failed = 0
    print("1..%d" % len(PARTS))
    for number, (name, args) in enumerate(PARTS, 1):
        with open(ONCE_WRONG, "rb") as once_wrong:
            done = subprocess.run([EVAL, socket, "--seed=" + SEED, *args], stdin=once_wrong,
                                  capture_output=True, check=False)
        lines = (done.stdout + done.stderr).decode("utf-8", "replace").splitlines()
        count = re.search(r"(\d+) differences", "\n".join(lines))
        good = done.returncode == 0 and count is not None and count.group(1) == "0"
        failed += not good
        for line in [line for line in lines if args != ["--try"] or " = " not in line][:100]:
            print("# " + line)
        print("%s %d - %s" % ("ok" if good else "not ok", number, name), flush=True)
    return 1 if failed else 0


def main():
    # The machine's server needs no download, so a cache of its own keeps it apart from users'.
    with tempfile.TemporaryDirectory(prefix="sql-eval-") as folder:
        os.chmod(folder, 0o755)
        cache = folder if RELEASE == "mariadb-local" else ""
        name = "sql-eval-%d" % os.getpid()
        done = tool(cache, "start", RELEASE, "--name=" + name, "--with-parent=%d" % os.getpid(),
                    "--json")
        if done.returncode == 77:
            print("1..0 # SKIP %s" % done.stderr.strip())
            return 0
        if done.returncode != 0:
            print("Bail out! " + done.stderr.strip())
            return 1
        try:
            return run(json.loads(done.stdout)["socket"])
        finally:
            tool(cache, "stop", name)


sys.exit(main())
