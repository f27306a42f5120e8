#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The history loader against a slow twin.

Reads the same records with another msgpack library (or from `isotrace show`), lets the twin make a history of them,
and compares the result with what history_dump prints.  Random traces are made here; simulated ones by isosim.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from made import Maker
from packed import field_lists, pack_record, read_packed
from twin import Twin


def normal(dumped):
    """history_dump's line in the form of Twin.dump."""
    txns = {}
    last = -1
    for t in dumped["txns"]:
        assert t["begin"] >= last, "transactions are not numbered by begin"
        last = t["begin"]
        places = [(o[1], o[0] == "w") for o in t["ops"]]
        assert places == sorted(places), "operations are not in session order"
        for o in t["ops"]:
            if o[0] == "p":
                o[5], o[6] = sorted(o[5]), sorted(o[6])
        txns[int(t["number"])] = dict(
            session=t["session"], outcome=t["outcome"], level=t["level"], begin=t["begin"],
            end=t["end"], flags=t["flags"], committed=t["committed"],
            ops=sorted(json.dumps(o) for o in t["ops"]))
    objects = {}
    for key, o in dumped["objects"].items():
        objects[key] = dict(problem=o["problem"], order=o["versions"][:o["installed"]],
                            rest=sorted(o["versions"][o["installed"]:]))
    return dict(txns=txns, objects=objects, counts=dumped["counts"])


def compare(what, mine, theirs):
    for key, o in mine["objects"].items():
        if o["problem"] == "unknown or broken" and key in theirs["objects"]:
            if theirs["objects"][key]["problem"] in ("unknown", "broken"):
                o["problem"] = theirs["objects"][key]["problem"]
    if mine == theirs:
        return True
    print("not ok: %s" % what)
    for part in ("txns", "objects", "counts"):
        for key in sorted(set(mine[part]) | set(theirs[part]), key=str):
            a, b = mine[part].get(key), theirs[part].get(key)
            if a != b:
                print("  %s %s\n    twin   %s\n    loader %s" % (part, key, a, b))
    return False


def random_traces(args, lists, count, seed):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, count, 500):
            paths, twins = [], []
            for i in range(first, min(first + 500, count)):
                rng = random.Random(seed * 1000003 + i)
                data = b"".join(pack_record(lists, k, r) for k, r in Maker(rng, lists).make())
                path = os.path.join(folder, "%d" % i)
                with open(path, "wb") as f:
                    f.write(data)
                paths.append(path)
                twins.append(Twin(list(read_packed(lists, data))).dump())
            out = subprocess.run([args.dump, "--records"] + paths, check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
            lines = out.splitlines()
            assert len(lines) == len(paths)
            for path, line, twin in zip(paths, lines, twins):
                what = "random trace %s of seed %d" % (os.path.basename(path), seed)
                failed += not compare(what, twin, normal(json.loads(line)))
                os.unlink(path)
                if failed > 3:
                    return failed
    return failed


def simulated_traces(args, lists, count, seed):
    failed = 0
    disciplines = ["serializable", "si", "rr", "rc", "ru"]
    for i in range(count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.itr")
            subprocess.run(
                [args.isosim, "--seed=%d" % (seed + i), "--discipline=" + disciplines[i % 5],
                 "--probes=" + ["trigger", "select"][i // 5 % 2], "--transactions=80",
                 "--keys=%d" % [6, 30][i % 2], "--delete=0.1", "--insert=0.15", "--pk-update=0.05",
                 "--unknown=0.05", "--abort=0.1", "--savepoints=0.1", "-o", path],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            shown = subprocess.run([args.isotrace, "show", "--format=ndjson", path], check=True,
                                   stdout=subprocess.PIPE, text=True).stdout
            records = []
            for line in shown.splitlines():
                r = json.loads(line)
                if r["kind"] in lists:
                    records.append((r["kind"], r))
            out = subprocess.run([args.dump, path], check=True, stdout=subprocess.PIPE,
                                 text=True).stdout
            failed += not compare("simulated trace of seed %d" % (seed + i), Twin(records).dump(),
                                  normal(json.loads(out)))
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dump", required=True)
    parser.add_argument("--isosim")
    parser.add_argument("--isotrace")
    parser.add_argument("--record-h", required=True)
    parser.add_argument("--random", type=int, default=1000)
    parser.add_argument("--simulated", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    lists = field_lists(args.record_h)
    failed = random_traces(args, lists, args.random, args.seed)
    if args.isosim and not failed:
        failed += simulated_traces(args, lists, args.simulated, args.seed)
    print("%d random and %d simulated traces: %s" % (
        args.random, args.simulated if args.isosim else 0,
        "%d differ" % failed if failed else "all alike"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
