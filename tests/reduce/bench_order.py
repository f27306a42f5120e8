#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the order of tries is worth: padded corpus bugs reduced in the fixed order, in random ones, and by experience.

    bench_order.py ISOREC ISOREC-SERVERS CORPUS RELEASE [NAME...]

Each case is reduced once in the fixed order, three times at random, and once with an --experience file that all *other* cases have
filled, but not this one.  Prints executions for each, and the sums.
"""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bench_reduce  # noqa: E402
import pad  # noqa: E402

NAMES = ("mdev-26642", "mdev-26643", "mdev-26671", "mdev-27992", "mdev-29565", "mdev-32898", "mdev-34108", "mysql-100328",
         "mysql-105670", "mysql-106655", "mysql-114389", "mysql-nowait-count")


def executions(b, padded, how, *options):
    small, out = b.reduce(padded, *how, *options)
    found = re.search(r"are left; (\d+) executions", out if small else "")
    return (int(found[1]), pad.Case(small).statements()) if found else (None, None)


def main():
    isorec, servers, corpus, release, *names = sys.argv[1:]
    server = bench_reduce.Server(servers, release)
    if not server.there:
        print(f"{release}: cannot be had here: {server.output.strip().splitlines()[-1:]}")
        return 0
    cases, sums = {}, [0, 0, 0]
    try:
        with tempfile.TemporaryDirectory(prefix="reduce-order-") as work:
            b = bench_reduce.Bench(isorec, server, work)
            for name in names or NAMES:
                with open(os.path.join(corpus, "bugs", name + ".scn"), encoding="utf-8") as file:
                    text = file.read()
                shape, how = b.how_it_fails(text)
                padded = pad.pad(text, name, inside=shape != "shows") if shape else None
                if padded and b.shape(padded, *how):
                    cases[name] = padded, how
            for name, (padded, how) in cases.items():
                own = f"--experience={os.path.join(work, name)}"
                # What this one teaches; the file of each case is then that of all others.
                fixed = executions(b, padded, how, own)
                randoms = [executions(b, padded, how, "--random-order") for _ in range(3)]
                print(f"{name:24} fixed {fixed[0]}, random {', '.join(str(r[0]) for r in randoms)} executions; "
                      f"{fixed[1]} and {', '.join(str(r[1]) for r in randoms)} statements left", flush=True)
                sums[0] += fixed[0]
                sums[1] += sum(r[0] for r in randoms) / len(randoms)
            for name, (padded, how) in cases.items():
                others = os.path.join(work, "others")
                with open(others, "w", encoding="utf-8") as out:
                    for other in cases:
                        if other != name:
                            with open(os.path.join(work, other), encoding="utf-8") as file:
                                out.write(file.read())
                learnt = executions(b, padded, how, f"--experience={others}")
                print(f"{name:24} by experience of the others {learnt[0]} executions, {learnt[1]} statements left", flush=True)
                sums[2] += learnt[0]
    finally:
        server.stop()
    print(f"{release}: {len(cases)} cases: fixed {sums[0]}, random {sums[1]:.0f} (mean of three), "
          f"by experience of the others {sums[2]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
