#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace export: the same history in other words has the same verdict, and another program reads
the graphs."""
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

from run import isotrace, scratch
import tap

ISOSIM = os.path.abspath(sys.argv[2])
SKEW = scratch("skew.edn")
with open(SKEW, "w", encoding="utf-8") as file:
    file.write("""
{:type :ok :process 0 :value [[:append :x 1] [:append :y 1]]}
{:type :ok :process 1 :value [[:r :x [1]] [:r :y nil]]}
{:type :ok :process 2 :value [[:r :x [1]] [:r :y [1]]]}
""")


def simulate(name, *options):
    path = scratch(name)
    subprocess.run([ISOSIM, *options, "-o", path], check=True, capture_output=True)
    return path


def levels(*args):
    return isotrace("check", "--format=json", *args).json()["levels"]


def export(path, to, name, *options):
    result = isotrace("export", f"--to={to}", *options, path)
    assert result.status in (0, 3), result.err
    out = scratch(name)
    with open(out, "wb") as file:
        file.write(result.raw)
    return out


def test_our_verdict_by_the_other_oracle():
    """What the versions of a trace prove to hold must hold of its values alone; what the values
    alone refute cannot hold of the versions."""
    compared = 0
    for discipline in ("serializable", "si", "rr", "rc", "ru"):
        for seed in range(2):
            trace = simulate("run.itr", f"--discipline={discipline}", f"--seed={seed}",
                             "--predicate=0", "--pk-update=0", "--transactions=120", "--keys=8",
                             "--insert=0", "--delete=0", "--present=1")
            ours = levels("--contract=adya", trace)
            for to in ("elle", "plume", "dbcop"):
                theirs = levels(f"--from={to}", export(trace, to, "run." + to, "--skip"))
                for name, answer in ours.items():
                    # Plume and dbcop tell no times.
                    if name not in theirs or "undecided" in (answer, theirs[name]):
                        continue
                    compared += 1
                    if answer == "holds":
                        assert theirs[name] == "holds", (discipline, seed, to, name)
                    if discipline == "serializable":
                        assert theirs[name] == answer == "holds", (seed, to, name)
    assert compared > 300, compared


def test_other_histories():
    again = isotrace("export", "--from=elle", "--to=elle", SKEW).expect(0).out
    with open(scratch("again.edn"), "w", encoding="utf-8") as file:
        file.write(again)
    assert levels("--from=elle", SKEW) == levels("--from=elle", scratch("again.edn"))
    lines = isotrace("export", "--from=elle", "--to=json", SKEW).expect(0).lines()
    assert [len(line["ops"]) for line in lines] == [2, 2, 2]
    isotrace("export", "--from=elle", "--to=plume", SKEW).expect(4, "registers")
    isotrace("export", "--from=elle", "--to=scenario", SKEW).expect(2, "scenario")
    isotrace("export", "--to=elle", scratch("none.itr")).expect(4, "none.itr")


def test_graphs():
    dot = isotrace("export", "--from=elle", "--to=dot", SKEW).expect(0).out
    assert 'n1 -> n0 [label="rw :y", color=red, style=dashed];' in dot.replace("  ", "")
    root = xml.fromstring(isotrace("export", "--from=elle", "--to=graphml", SKEW).expect(0).out)
    space = "{http://graphml.graphdrawing.org/xmlns}"
    edges = sorted((e.get("source"), e.get("target"), *[d.text for d in e])
                   for e in root.iter(space + "edge"))
    assert edges == [("n0", "n1", "wr", ":x"), ("n0", "n2", "wr", ":x"), ("n0", "n2", "wr", ":y"),
                     ("n1", "n0", "rw", ":y")], edges
    trace = simulate("graph.itr", "--seed=5", "--transactions=50")
    root = xml.fromstring(isotrace("export", "--to=graphml", trace).expect(0).out)
    with open(trace, "rb") as file:
        data = file.read()
    with open(scratch("torn.itr"), "wb") as file:
        file.write(data[:-30])
    for to in ("dot", "graphml"):
        isotrace("export", f"--to={to}", scratch("torn.itr")).expect(3, "the trace is incomplete")
    names = {n.get("id"): n[0].text for n in root.iter(space + "node")}
    assert names and all(name.startswith("T") for name in names.values()), names
    assert all(e.get("source") in names and e.get("target") in names
               for e in root.iter(space + "edge"))


if __name__ == "__main__":
    tap.main(globals())
