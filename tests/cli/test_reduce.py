#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace reduce: a planted anomaly is what is left of a history."""
import re

from run import isotrace, scratch
import histories
import tap


def reduce(path, *options):
    result = isotrace("reduce", *options, path)
    assert result.status == 0, result.err
    words = re.search(r": (\d+) of (\d+) transactions, (\d+) of (\d+) keys are left \((\d+) in the witness\)", result.err)
    assert words, result.err
    left, _, keys, _, witness = map(int, words.groups())
    out = scratch("small")
    with open(out, "wb") as file:
        file.write(result.raw)
    return out, left, keys, witness


def classes_of(path, *options):
    return {f["class"] for f in isotrace("check", "--format=json", *options, path).json()["findings"]}


def test_planted_anomalies():
    for tool, anomaly, kind in histories.CASES:
        for seed in range(5):
            path = scratch("history")
            histories.write(path, tool, 2000, anomaly, seed)
            small, left, keys, witness = reduce(path, "--finding", kind)
            assert kind in classes_of(small, f"--from={tool}"), (tool, anomaly, seed)
            assert left <= 1.5 * witness and keys <= 2, (tool, anomaly, seed, left, keys, witness)


def test_no_transaction_of_it_can_go():
    """Each one taken out alone: the rest is no longer wrong."""
    path = scratch("history")
    histories.write(path, "plume", 2000, "update", 1)
    small = reduce(path, "--finding", "lost-update")[0]
    with open(small, encoding="utf-8") as file:
        lines = file.readlines()
    numbers = sorted({line.rsplit(",", 1)[1] for line in lines})
    assert len(numbers) == 3, lines
    for number in numbers:
        with open(scratch("less"), "w", encoding="utf-8") as file:
            file.writelines(line for line in lines if not line.endswith("," + number))
        # What a writer that is gone had written is read: that would be another anomaly.
        assert "lost-update" not in classes_of(scratch("less"), "--from=plume"), (number, lines)


def test_other_formats():
    path = scratch("history")
    histories.write(path, "plume", 500, "update", 1)
    for to in ("elle", "dbcop"):
        small = reduce(path, "--to", to)[0]
        assert "lost-update" in classes_of(small, f"--from={to}"), to
    assert isotrace("reduce", "--to", "json", path).out.count("\n") == 3


def test_nothing_to_reduce_and_mistakes():
    path = scratch("fine")
    with open(path, "w", encoding="utf-8") as file:
        file.write("w(1,1,0,0)\nr(1,1,1,1)\n")
    result = isotrace("reduce", path)
    assert result.status == 3 and "nothing to reduce" in result.err, result.err
    assert isotrace("reduce").status == 2
    assert isotrace("reduce", "--from=cobra", path).status == 2
    assert isotrace("reduce", scratch("missing.edn")).status in (2, 4)
    assert isotrace("reduce", "--from=elle", scratch("missing.edn")).status == 4


if __name__ == "__main__":
    tap.main(globals())
