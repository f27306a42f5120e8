#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The program isosim, from the outside: TAP on standard output.

    test_isosim.py ISOSIM ISOTRACE

Traces are read back with `isotrace show --format=ndjson`.
"""
import json
import os
import subprocess
import sys
import tempfile

ISOSIM, ISOTRACE = sys.argv[1:3]
count = 0
failed = 0


def report(good, what, detail=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    if not good:
        for line in str(detail).splitlines()[:20]:
            print(f"# {line}")


def run(*args):
    return subprocess.run([ISOSIM, *args], capture_output=True, text=True, check=False)


def records(path):
    shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", path], capture_output=True,
                           text=True, check=False)
    if shown.returncode != 0:
        raise RuntimeError(f"isotrace show {path}: {shown.returncode} {shown.stderr}")
    return [json.loads(line) for line in shown.stdout.splitlines()]


def simulate(folder, name, *args):
    path = os.path.join(folder, name)
    made = run("-q", "-o", path, *args)
    if made.returncode != 0:
        raise RuntimeError(f"isosim {args}: {made.returncode} {made.stderr}")
    return path


def without_frame(lines):
    """The footer's index and the ids of the file differ from run to run; records do not."""
    return [r for r in lines if r.get("kind") not in ("footer", "block", "header", "trace")]


def test_determinism(folder):
    for discipline in ("serializable", "si", "rr", "rc", "ru"):
        args = ["--discipline", discipline, "--transactions", "200", "--distribution", "zipf"]
        one = without_frame(records(simulate(folder, "a.itr", *args, "--seed", "7")))
        two = without_frame(records(simulate(folder, "b.itr", *args, "--seed", "7")))
        other = without_frame(records(simulate(folder, "c.itr", *args, "--seed", "8")))
        report(len(one) > 500 and one == two, f"{discipline}: same seed, same records")
        report(one != other, f"{discipline}: another seed, other records")


def test_counts(folder):
    path = simulate(folder, "n.itr", "--transactions", "300", "--sessions", "5", "--abort", "0.5",
                    "--unknown", "0.2", "--tables", "3", "--probes", "off")
    lines = records(path)
    kinds = [r["kind"] for r in lines]
    ends = [r for r in lines if r["kind"] == "txn" and r["event"] == 1]
    report(len(ends) == 300, "every transaction ends", len(ends))
    report({r["outcome"] for r in ends} == {0, 1, 2}, "all three outcomes are there")
    lost = [r for r in lines if r["kind"] == "session" and r["event"] == 1
            and r["reason"] == "connection lost"]
    unknown = [r for r in ends if r["outcome"] == 0]
    report(len(lost) == len(unknown) > 0, "an unknown outcome is a lost connection",
           (len(lost), len(unknown)))
    report("probe" not in kinds, "no probes with --probes=off")
    report(kinds.count("schema") == 4, "three tables and the one of the predicates",
           kinds.count("schema"))
    overlaps = 0
    open_until = {}
    for r in lines:
        if r["kind"] == "stmt":
            overlaps += any(r["begin_seq"] < end for s, end in open_until.items()
                            if s != r["session"])
            open_until[r["session"]] = r["seq"]
    report(overlaps > 100, "statements of different sessions overlap", overlaps)


def test_plants(folder):
    names = run("--list-plants").stdout.split()
    report(len(names) >= 31 and "G2-realtime" in names, "the names of the plants", names)
    truth_path = os.path.join(folder, "truth.json")
    for name in names:
        path = simulate(folder, "p.itr", "--plant", f"{name}:2", "--transactions", "30",
                        "--truth", truth_path)
        with open(truth_path, encoding="utf-8") as file:
            truth = json.load(file)
        lines = records(path)
        stmts = {(r["session"], r["number"]): r for r in lines if r["kind"] == "stmt"}
        problems = []
        if truth["schema"] != "isosim.truth/1" or len(truth["plants"]) != 2:
            problems.append(f"{len(truth['plants'])} plants")
        for plant in truth["plants"]:
            if plant["plant"] != name:
                problems.append(f"plant {plant['plant']}")
            for said in plant["statements"]:
                got = stmts.get((said["session"], said["number"]))
                if not got or got["text"] != said["text"] or got["txn"] != said["txn"]:
                    problems.append(f"{said} is {got}")
            txns = {s["txn"] for s in plant["statements"]}
            if not plant["transactions"] or not set(plant["transactions"]) <= txns:
                problems.append(f"transactions {plant['transactions']}")
        report(not problems, f"plant {name} is where the side file says", "\n".join(problems))


def test_usage(folder):
    out = os.path.join(folder, "u.itr")
    for args, word in ((["--update", "0.9", "--delete", "0.2", "-o", out], "more than 1"),
                       (["--plant", "G3", "-o", out], "cannot be planted"),
                       (["--theta", "1", "--distribution", "zipf", "-o", out], "--theta"),
                       (["--abort", "x", "-o", out], "--abort"),
                       (["--sessions", "0", "-o", out], "--sessions"),
                       (["--transactions", "5"], "-o"),
                       (["stray", "-o", out], "stray")):
        made = run(*args)
        report(made.returncode == 2 and word in made.stderr and not os.path.exists(out),
               f"wrong usage: {' '.join(args[:2])}", made.stderr)
    made = run("-o", os.path.join(folder, "no", "such", "folder.itr"))
    report(made.returncode == 4 and "folder.itr" in made.stderr, "a file that cannot be made")
    made = run("--help")
    report(made.returncode == 0 and "--plant" in made.stdout, "--help")


def test_memory(folder):
    """Ten times the transactions, the same memory: old versions are dropped."""
    def peak(transactions):
        path = os.path.join(folder, "m.itr")
        pid = os.fork()
        if pid == 0:
            os.execv(ISOSIM, [ISOSIM, "-q", "--discipline", "si", "--transactions",
                              str(transactions), "--keys", "1000", "-o", path])
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            raise RuntimeError(f"isosim ended with {status}")
        return usage.ru_maxrss

    small, large = peak(5000), peak(50000)
    # What waits for the disk is bounded too, at 64 MiB and a few blocks.
    report(large < small + 100 * 1024, "memory does not grow with the transactions",
           f"{small} KiB, {large} KiB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_usage(folder)
        test_determinism(folder)
        test_counts(folder)
        test_plants(folder)
        test_memory(folder)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
