#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows that changed since a snapshot, under innodb_snapshot_isolation, on a real server: TAP.

    snapshot_conflicts.py ISOREC ISOTRACE RELEASE COUNT [SEED]

T2 has a snapshot. T1 updates or deletes a row of it, with or without older versions, and commits. T2 then updates, deletes or
locks rows by a primary key, a secondary index (covering or not) or none, by equality or range. The rule, without the oracle:
where a row that changed matches the condition of T2 as the snapshot has it, T2 must get error 1020 (MariaDB's manual,
innodb_snapshot_isolation). isotrace must say `violated` exactly where the server gave no error, and `ok` elsewhere.
"""
import atexit
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import campaign  # noqa: E402

ISOREC, ISOTRACE, RELEASE, COUNT = sys.argv[1:5]
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1
WORK = tempfile.mkdtemp(prefix="mvcc-conflicts-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
ROWS = 6
BATCH = 100


class Variant:
    """A scenario, and whether T2 must get the error."""

    def __init__(self, rng):
        self.rows = {i: (i, i, 0) for i in range(1, ROWS + 1)}
        changed = rng.randint(1, ROWS)
        before = [f"T1> update t set w = w + 1 where id = {changed};"] * rng.choice((0, 0, 1, 3))
        for _ in before:
            row = self.rows[changed]
            self.rows[changed] = (row[0], row[1], row[2] + 1)
        snapshot = dict(self.rows)
        change = rng.choice((f"delete from t where id = {changed}", f"update t set v = {changed + 20} where id = {changed}",
                             f"update t set w = 77 where id = {changed}", f"update t set id = {changed + 30} where id = {changed}"))
        column = rng.choice(("id", "v", "v", "v", "w"))
        low = rng.randint(1, ROWS) if column != "w" else rng.randint(0, 3)
        high = low + rng.choice((0, 0, 1, 2))
        condition = f"{column} = {low}" if low == high else f"{column} between {low} and {high}"
        number = ("id", "v", "w").index(column)
        matched = [key for key, row in snapshot.items() if low <= row[number] <= high]
        self.must_fail = changed in matched
        what = rng.choice((f"update t set x = x + 1 where {condition}", f"delete from t where {condition}",
                           f"select id, v from t where {condition} for update",
                           f"select * from t where {condition} for update"))
        index = rng.choice(("key(v)", "key(v, w)", "key(v, id)", "unique(v)"))
        values = ", ".join(f"({i}, {i}, 0, 0)" for i in range(1, ROWS + 1))
        self.text = "\n".join(
            ["# isolation: RR", "[setup]", f"create table t(id int primary key, v int, w int, x int, {index}) engine=innodb;",
             f"insert into t values {values};", "[schedule]", *before, "T2> begin;", "T2> select * from t;",
             f"T1> {change};", f"T2> {what};", "T2> select * from t;", "T2> commit;", "[final]", "select * from t;", ""])


def run(port, first, variants):
    paths, out = [], os.path.join(WORK, f"out{first}")
    for i, variant in enumerate(variants):
        paths.append(os.path.join(WORK, f"v{first + i:06}.scn"))
        with open(paths[-1], "w") as file:
            file.write(variant.text)
    done = subprocess.run([ISOREC, "run", "--port", port, "-o", out, "--drop-database", "-D", f"conflicts_{os.getpid()}",
                           "--quiet", *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout[-2000:]
    return [os.path.join(out, os.path.basename(path)[:-4] + ".itr") for path in paths]


def gave_error(trace):
    done = subprocess.run([ISOTRACE, "show", "--format=json", trace], stdout=subprocess.PIPE, text=True, check=True)
    return any(r["kind"] == "stmt" and r["error"] == 1020 for r in json.loads(done.stdout)["records"])


def main():
    port, rng, wrong, counts = campaign.start(RELEASE), random.Random(SEED), [], {}
    for first in range(0, int(COUNT), BATCH):
        variants = [Variant(rng) for _ in range(min(BATCH, int(COUNT) - first))]
        for variant, trace in zip(variants, run(port, first, variants)):
            verdict = json.loads(subprocess.run([ISOTRACE, "check", "--format=json", trace], stdout=subprocess.PIPE,
                                                text=True, check=False).stdout)["verdict"]
            expected = "violated" if variant.must_fail and not gave_error(trace) else "ok"
            counts[expected] = counts.get(expected, 0) + 1
            if verdict != expected:
                wrong.append(f"{os.path.basename(trace)}: {verdict} instead of {expected}\n{variant.text}")
            os.remove(trace)
    print(f"# {RELEASE}, seed {SEED}: {counts}")
    for line in "\n".join(wrong[:5]).splitlines():
        print("#", line)
    print(f"{'not ok' if wrong else 'ok'} 1 - {COUNT} variants: {len(wrong)} judged wrong")
    print("1..1")
    return bool(wrong)


sys.exit(main())
