#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace stats: its numbers against the same numbers computed here from the JSON lines."""
import collections
import json
import math
import random
import re
import subprocess

from run import golden, isotrace, scratch
from tracefile import MONO, Trace, demo
import tap

DEMO = scratch("demo.itr")
demo().write(DEMO)


def workload(path, seed=1, statements=4000):
    """A mixed workload with everything that stats counts."""
    rng = random.Random(seed)
    t = Trace()
    for table in range(1, 4):
        t.add("schema", 0, table=table, database="db", name=f"t{table}")
    for session in range(1, 21):
        t.add("session", session, session=session, event=0, user=f"user{session % 4}",
              node=f"n{session % 2}")
    kinds = ["select 1", "  SELECT 2", "/* c */ insert into t1 values (1)", "(select 3)", "update t1 set a=1",
             "-- x\ndelete from t2", "commit", "/*!50000 replace into t1 values (2) */", "", "set @a = 1"]
    number = collections.Counter()
    us = 1000
    for _ in range(statements):
        session = rng.randint(1, 22)
        number[session] += 1
        us += rng.randint(1, 50)
        took = int(rng.lognormvariate(10, 2)) + 1
        flags = rng.choice([0] * 20 + [1, 2, 4, 8, 16, 32])
        fields = {}
        if rng.random() < 0.1:
            code = rng.choice([1213, 1205, 1062, 1020])
            fields = {"error": code, "sqlstate": "HY000", "error_text": f"text of {code}"}
        if rng.random() < 0.05:
            fields["blocked_ns"] = rng.randint(1, 10**9)
        t.add("stmt", us, session=session, number=number[session], command=3, text=rng.choice(kinds),
              begin=MONO + us * 1000 - took, first_byte=MONO + us * 1000 - took // 2,
              begin_seq=t.next_seq(), flags=flags, rows=rng.randint(0, 5), affected=rng.randint(0, 3),
              warnings=rng.randint(0, 1), reply_bytes=rng.randint(10, 1000), **fields)
        if rng.random() < 0.3:
            t.add("probe", us, session=session, probe=rng.randint(0, 7), table=rng.randint(1, 4),
                  exact=rng.random() < 0.5, rows=[[n, n] for n in range(rng.randint(0, 4))])
        if rng.random() < 0.3:
            t.add("txn", us, session=session, txn=us, event=0, level=rng.randint(0, 4),
                  read_only=rng.random() < 0.2)
        if rng.random() < 0.3:
            t.add("txn", us, session=session, txn=us, event=1, level=rng.randint(0, 4),
                  outcome=rng.randint(0, 2), autocommit=rng.random() < 0.5,
                  begin=MONO + us * 1000 - rng.randint(1, 10**8),
                  reason=rng.choice(["commit", "rollback", "error 1213"]))
        if rng.random() < 0.02:
            t.add("gap", us, reason=rng.choice(["waited", "dropped"]), records=rng.randint(0, 9),
                  bytes=100)
        if rng.random() < 0.02:
            t.add("cluster", us, what=rng.choice(["state", "membership"]))
        if rng.random() < 0.02:
            t.add("result", us, session=session, number=1, last=True, total=9, rows=[[1], [2]])
    t.write(path, per_block=200)


def keyword(text):
    """The first word, by the rules of the manual: comments are skipped, versioned ones are not."""
    text = text or ""
    while True:
        text = text.lstrip(" \t\n\r\v\f(;")
        if text.startswith("/*!"):
            text = text[3:].lstrip("0123456789")
        elif text.startswith("/*"):
            text = text.partition("*/")[2]
        elif text.startswith("--") or text.startswith("#"):
            text = text.partition("\n")[2]
        else:
            break
    word = ""
    for char in text:
        if not char.isascii() or not char.isalpha():
            break
        word += char
    return word.upper() or "query (no text)"


def nearest_rank(values, q):
    values = sorted(values)
    return values[max(1, math.ceil(q * len(values))) - 1] if values else 0


def touched(r):
    """An UPDATE may match a row and leave it as it was."""
    matched = re.match(r"Rows matched: (\d+)", r.get("info") or "")
    return not r["error"] and bool(r["rows"] or r["affected"] or (matched and int(matched.group(1))))


def check_histogram(histogram, values, what):
    assert histogram["count"] == len(values), what
    if not values:
        return
    assert int(histogram["sum_ns"]) == sum(values), what
    assert histogram["min_ns"] == min(values) and histogram["max_ns"] == max(values), what
    for key, q in (("p50_ns", .5), ("p90_ns", .9), ("p99_ns", .99), ("p999_ns", .999)):
        exact = nearest_rank(values, q)
        assert abs(histogram[key] - exact) <= exact / 128 + 1, (what, key, histogram[key], exact)


def load(path, status=0, err=None):
    records = isotrace("show", "--format=ndjson", path).expect(status, err).lines()
    stats = isotrace("stats", "--format=json", path).expect(status, err).json()
    return records, stats


def whole(value):
    return int(value or 0)


def check_against_records(path, status=0, err=None):
    records, stats = load(path, status, err)
    by_kind = collections.defaultdict(list)
    for record in records:
        by_kind[record["kind"]].append(record)
    counts = {k: v for k, v in stats["records"].items() if k not in ("footer", "unknown", "malformed")}
    assert counts == {k: len(v) for k, v in by_kind.items()}
    assert stats["records"]["malformed"] == 0
    check_time(stats, records)
    check_sessions(stats["sessions"], by_kind)
    check_transactions(stats["transactions"], by_kind["txn"])
    check_statements(stats["statements"], by_kind["stmt"])
    check_probes(stats["probes"], by_kind)
    assert stats["results"]["records"] == len(by_kind["result"])
    assert stats["results"]["rows_kept"] == sum(len(r["rows"] or []) for r in by_kind["result"])
    assert stats["gaps"]["records"] == sum(r["records"] for r in by_kind["gap"])
    assert {i["name"]: i["count"] for i in stats["gaps"]["reasons"]} == \
        dict(collections.Counter(r["reason"] for r in by_kind["gap"]))
    assert {i["name"]: i["count"] for i in stats["cluster_events"]} == \
        dict(collections.Counter(r["what"] for r in by_kind["cluster"]))
    return stats


def check_time(stats, records):
    ats = [whole(r["at"]) for r in records]
    assert whole(stats["time"]["first_ns"]) == min(ats)
    assert whole(stats["time"]["span_ns"]) == max(ats) - min(ats)


def event_is(record, name, number):
    return record["event"] in (name, number)


def check_sessions(sessions, by_kind):
    assert sessions["seen"] == len({r["session"] for k in ("session", "stmt", "txn")
                                    for r in by_kind[k]})
    opened = [r for r in by_kind["session"] if event_is(r, "opened", 0)]
    assert sessions["opened"] == len(opened)
    expected = collections.Counter(f"{r['user']} on {r['node']}" if r["node"] else r["user"]
                                   for r in opened)
    assert {u["name"]: u["count"] for u in sessions["users"]} == dict(expected)


def check_transactions(got, txns):
    begun = [r for r in txns if event_is(r, "begin", 0)]
    ended = [r for r in txns if event_is(r, "end", 1)]
    assert got["begun"] == len(begun) and got["ended"] == len(ended)
    assert got["read_only"] == sum(bool(r["read_only"]) for r in begun)
    explicit = [r for r in ended if not r["autocommit"]]
    assert got["open"] == max(0, len(begun) - len(explicit))
    names = {0: "unknown", 1: "READ UNCOMMITTED", 2: "READ COMMITTED", 3: "REPEATABLE READ",
             4: "SERIALIZABLE"}
    outcomes = {0: "unknown", 1: "committed", 2: "aborted"}
    expected = collections.Counter()
    for r in ended:
        expected[names.get(r["level"], r["level"]), outcomes.get(r["outcome"], r["outcome"])] += 1
    for line in got["levels"]:
        for outcome in outcomes.values():
            assert line[outcome] == expected[line["level"], outcome]
    assert sum(expected.values()) == sum(l[o] for l in got["levels"] for o in outcomes.values())
    for number, name in outcomes.items():
        durations = [whole(r["at"]) - whole(r["begin"]) for r in explicit
                     if r["outcome"] in (number, name) and whole(r["begin"])]
        check_histogram(got[name], durations, name)
    reasons = collections.Counter(r["reason"] for r in ended if r["outcome"] not in (1, "committed"))
    assert {i["name"]: i["count"] for i in got["not_committed"]} == dict(reasons)


def check_statements(got, stmts):
    own = [r for r in stmts if r["flags"] & 2]
    stmts = [r for r in stmts if not r["flags"] & 2]
    assert got["injected"] == len(own) and got["count"] == len(stmts)
    for key, bit in (("no_reply", 1), ("text_cut", 4), ("result_not_kept", 8), ("opaque", 16)):
        assert got[key] == sum(bool(r["flags"] & bit) for r in stmts), key
    for key in ("rows", "affected", "warnings", "reply_bytes"):
        assert whole(got[key]) == sum(whole(r[key]) for r in stmts), key
    answered = [r for r in stmts if not r["flags"] & 1 and whole(r["begin"])]

    def latency(r):
        return whole(r["at"]) - whole(r["begin"])
    check_histogram(got["latency"], [latency(r) for r in answered], "all")
    check_histogram(got["first_byte"], [whole(r["first_byte"]) - whole(r["begin"])
                                        for r in answered], "first byte")
    blocked = [r["blocked_ns"] for r in stmts if r["blocked_ns"]]
    assert got["blocked"] == len(blocked)
    check_histogram(got["blocked_time"], blocked, "blocked")
    by_word = collections.defaultdict(list)
    for r in stmts:
        by_word[keyword(r["text"])].append(r)
    assert [k["count"] for k in got["kinds"]] == sorted((len(v) for v in by_word.values()), reverse=True)
    for line in got["kinds"]:
        same = by_word[line["kind"]]
        assert line["count"] == len(same), line["kind"]
        assert line["errors"] == sum(bool(r["error"]) for r in same)
        assert line["blocked_ns"] == sum(r["blocked_ns"] for r in same)
        assert line["touched"] == sum(touched(r) for r in same)
        check_histogram(line["latency"], [latency(r) for r in same if r in answered], line["kind"])
    codes = collections.Counter(r["error"] for r in stmts if r["error"])
    assert {e["code"]: e["count"] for e in got["errors_by_code"]} == dict(codes)
    assert got["errors"] == sum(codes.values())


def check_probes(got, by_kind):
    names = {r["table"]: f"{r['database']}.{r['name']}" for r in by_kind["schema"]}
    kinds = ["BWR", "AWR", "VSR", "PM", "BPM", "APM", "READ", "WRITE"]
    expected = collections.Counter()
    rows = collections.Counter()
    for r in by_kind["probe"]:
        kind = kinds[r["probe"]] if isinstance(r["probe"], int) else r["probe"]
        key = (names.get(r["table"], f"table {r['table']}"), kind, bool(r["exact"]))
        expected[key] += 1
        rows[key] += len(r["rows"] or [])
    assert {(p["table"], p["kind"], p["exact"]): p["count"] for p in got} == dict(expected)
    assert {(p["table"], p["kind"], p["exact"]): p["rows"] for p in got} == dict(rows)


def test_every_number_is_computed_twice():
    check_against_records(DEMO)
    for seed in (1, 2):
        path = scratch(f"workload{seed}.itr")
        workload(path, seed)
        check_against_records(path, 3, "the recorder lost")


def test_text_of_a_small_trace():
    golden("stats.txt", isotrace("stats", DEMO).expect().out)


def test_evidence():
    path = scratch("torn.itr")
    demo().write(path, per_block=5)
    with open(path, "r+b") as file:
        file.truncate(file.seek(0, 2) - 40)
    result = isotrace("stats", path).expect(3, "torn")
    assert "INCOMPLETE" in result.out
    evidence = isotrace("stats", "--format=json", path).expect(3, "torn").json()["evidence"]
    assert evidence["clean"] is False and evidence["bytes_torn"] > 0
    assert evidence["damage"][0]["torn_tail"] is True
    evidence = isotrace("stats", "--format=json", DEMO).expect().json()["evidence"]
    assert evidence["clean"] is True and evidence["damage"] == []
    assert evidence["bytes_file"] == len(open(DEMO, "rb").read())


def test_lists_are_bounded_and_add_up():
    path = scratch("lists.itr")
    t = Trace()
    count = 3000
    for n in range(count):
        t.add("session", n, session=n + 1, event=0, user=f"user{n}", node="n")
        word = "".join(chr(97 + int(d)) for d in str(n))
        t.stmt(n + 1, 1, f"{word} x", n, n + 1, error=1000 + n, error_text="e")
        t.add("probe", n, session=n + 1, table=n, probe=n % 8, rows=[[1, 1]])
        t.add("cluster", n, what=f"what{n}")
        t.add("txn", n, session=n + 1, txn=n + 1, event=1, outcome=2, reason=f"reason{n}")
    t.write(path)
    stats = isotrace("stats", "--format=json", path).expect().json()
    assert len(stats["statements"]["kinds"]) == 65
    assert stats["statements"]["kinds"][-1]["kind"] == "others"
    assert sum(k["count"] for k in stats["statements"]["kinds"]) == count
    errors = stats["statements"]["errors_by_code"]
    assert len(errors) == 500 and 500 + stats["statements"]["errors_others"] == count
    assert len(stats["sessions"]["users"]) + stats["sessions"]["users_others"] == count
    assert len(stats["probes"]) + stats["probes_others"] == count
    assert len(stats["transactions"]["not_committed"]) + \
        stats["transactions"]["not_committed_others"] == count
    text = isotrace("stats", path).expect().out
    assert "and 480 more codes (--top)" in text
    assert len(text.splitlines()) < 200


def test_empty_trace():
    path = scratch("empty.itr")
    Trace().write(path)
    stats = isotrace("stats", "--format=json", path).expect().json()
    assert stats["statements"]["count"] == 0
    assert "Statements: 0" in isotrace("stats", path).expect().out


def test_standard_input():
    with open(DEMO, "rb") as file:
        data = file.read()
    piped = isotrace("stats", "--format=json", "-", stdin=data).expect().json()
    named = isotrace("stats", "--format=json", DEMO).json()
    del piped["input"], named["input"]
    assert piped == named


def test_jq_reads_it():
    text = isotrace("stats", "--format=json", DEMO).out
    run = subprocess.run(["jq", ".statements.latency.count"], input=text, text=True,
                         capture_output=True, check=True)
    assert json.loads(run.stdout) == 10


if __name__ == "__main__":
    tap.main(globals())
