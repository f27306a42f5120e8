# SPDX-License-Identifier: GPL-2.0-or-later
"""Histories of a store that executes one transaction after the other, with one anomaly in the middle."""
import random


def elle(count, anomaly, seed):
    """List-append as Elle's EDN, a line at a time.  anomaly: skew (write skew) or read (a read of half a transaction)."""
    rng, lists, next_key = random.Random(seed), {}, max(20, count // 200)
    keys, index = list(range(next_key)), 0

    def txn(ops, process):
        nonlocal index
        for kind, known in (("invoke", False), ("ok", True)):
            words = []
            for op, key, value in ops:
                value = value if op == "append" else "[" + " ".join(map(str, value)) + "]" if known else "nil"
                words.append(f"[:{op} {key} {value}]")
            yield f"{{:index {index}, :type :{kind}, :process {process}, :f :txn, :value [{' '.join(words)}]}}\n"
            index += 1

    def append(key):
        lists.setdefault(key, []).append(len(lists.get(key, [])) + 1)
        return ("append", key, lists[key][-1])

    for i in range(count):
        ops = []
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(keys))
            if rng.random() < 0.5:
                ops.append(("r", keys[at], list(lists.get(keys[at], []))))
            else:
                ops.append(append(keys[at]))
                if len(lists[keys[at]]) == 20:
                    keys[at], next_key = next_key, next_key + 1
        yield from txn(ops, i % 10)
        if i == count // 2:
            a, b = keys[0], keys[1]
            before = [("r", key, list(lists.get(key, []))) for key in (a, b)]
            if anomaly == "skew":
                yield from txn(before + [append(a)], 0)
                yield from txn(before + [append(b)], 1)
            else:
                yield from txn([append(a), append(b)], 0)
                yield from txn([("r", a, list(lists[a])), before[1]], 1)


def plume(count, anomaly, seed):
    """Registers as Plume's text.  anomaly: update (a lost update) or read."""
    rng, values, last, number = random.Random(seed), {}, 0, 0

    def txn(ops, session):
        nonlocal number
        for op, key, value in ops:
            yield f"{op}({key},{value},{session},{number})\n"
        number += 1

    def write(key):
        nonlocal last
        last += 1
        values[key] = last
        return ("w", key, last)

    for i in range(count):
        ops = []
        for _ in range(rng.randrange(1, 5)):
            key = rng.randrange(max(20, count // 200))
            ops.append(("r", key, values.get(key, 0)) if rng.random() < 0.5 else write(key))
        yield from txn(ops, i % 10)
        if i == count // 2:
            before = [("r", key, values.get(key, 0)) for key in (0, 1)]
            yield from txn(before + [write(0), write(1)], 0)
            if anomaly == "read":
                yield from txn([("r", 0, values[0]), before[1]], 1)
            else:
                yield from txn([before[0], write(0)], 1)


MAKERS = {"elle": elle, "plume": plume}
CASES = [("elle", "skew", "G2-item"), ("elle", "read", "G-single"), ("plume", "read", "G-single"),
         ("plume", "update", "lost-update")]


def write(path, tool, count, anomaly, seed):
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(MAKERS[tool](count, anomaly, seed))
