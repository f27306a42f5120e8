#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check and explain on simulated traces: contracts, levels, formats, one finding in full."""
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import jsonschema
import msgpack

from run import HERE, isotrace, scratch
import tap
import tracefile

sys.path.insert(0, os.path.join(HERE, "..", "browser"))
import findings as histories  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[2])
with open(os.path.join(HERE, "..", "..", "docs", "check.schema.json"), encoding="utf-8") as file:
    SCHEMA = json.load(file)
# Each with what semantics.md calls it, and the least level that forbids it.
PLANTS = {"G1a": "G1a", "G1b": "G1b", "G1c": "G1c", "G0": "G0", "lost-update": "G-single",
          "G-single": "G-single", "G2-item": "G2-item", "G2": "G2", "future-read": "future-read",
          "garbage-read": "garbage-read", "own-write": "own-write", "lost-version": "lost-version",
          "duplicate-row": "duplicate-row"}


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--sessions=4", "--transactions=60", "--keys=12", *args, "-o", path],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


CLEAN = simulate("clean.itr", "--seed=11", "--discipline=serializable", "--unknown=0")
LOST = simulate("lost.itr", "--seed=5", "--plant=lost-update")


def findings(path, *args):
    return isotrace("check", "--format=json", path, *args).json()["findings"]


def test_json_follows_its_schema():
    for plant, name in PLANTS.items():
        path = simulate("plant.itr", "--seed=3", f"--plant={plant}")
        data = isotrace("check", "--format=json", "--contract=adya", path).expect(1).json()
        jsonschema.validate(data, SCHEMA)
        assert name in {f["class"] for f in data["findings"]}, (plant, data["findings"])
        for finding in data["findings"]:
            assert finding["witness"]["rows"], finding
    foreign = scratch("h.txt")
    with open(foreign, "w", encoding="utf-8") as out:
        out.write("w(1,1,0,1)\nw(1,2,1,2)\nr(1,1,1,3)\nr(1,7,1,4)\n")
    data = isotrace("check", "--format=json", "--from=plume", foreign).json()
    jsonschema.validate(data, SCHEMA)


def answered(name, answer, column="int(11)", *options, note=None, source="user", mode="STRICT_TRANS_TABLES"):
    """A trace of one SELECT with this answer, for the oracle that executes it again."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={
        "autocommit": "ON", "tx_isolation": "REPEATABLE-READ", "sql_mode": mode,
        "character_set_server": "latin1", "collation_server": "latin1_swedish_ci",
        "lower_case_table_names": "0", "innodb_snapshot_isolation": "OFF"})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0], keys=[],
          columns=[["id", "int(11)", False, None, None, None, ""],
                   ["v", column, True, None, "NULL", None, ""]],
          create_text=f"CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` {column} DEFAULT NULL,\n"
                      "  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1, 10]], complete=True)
    t.add("session", 10, session=1, event=0, node="n1", client="c", user="u", database="d", thread=1)
    t.stmt(1, 1, "select id, v from t", 100, 150, rows=[answer], status=2, txn=1)
    t.add("txn", 150, session=1, txn=1, event=1, number=1, level=3, outcome=1, reason="autocommit")
    t.add("session", 200, session=1, event=1)
    if note:
        t.add("note", 210, source=source, topic=note[0], text=note[1])
    path = scratch(name)
    t.write(path)
    return isotrace("check", "--oracle=mvcc", *options, path)


def test_answers_that_cannot_be_read_are_undecided():
    assert "found:     nothing" in answered("read.itr", [1, 10]).expect(0).out
    answered("wrong.itr", [1, 11], "int(11)", "--all-sessions").expect(1)
    for value in (msgpack.ExtType(99, b"later"), [1], {1: 2}):
        got = answered("unread.itr", [1, value]).expect(3)
        assert "results that were not recorded whole: 1" in got.out, got.out
    for column in ("bit(999)", "geometry"):
        got = answered("unknown.itr", [1, 11], column).expect(3)
        assert "tables that are not modelled: 1" in got.out, got.out


def test_sessions_that_were_not_recorded_are_no_violation():
    """A value that no session wrote: unless every session was recorded, another one may have."""
    got = answered("stranger.itr", [1, 11]).expect(3)
    assert "wrong-result" in got.out and "suspicion" in got.out, got.out
    assert "Was every session recorded" in got.out, got.out
    assert "rows that no recorded session can have written: 1" in got.out, got.out
    got = answered("stranger.itr", [1, 11], "int(11)", "--all-sessions").expect(1)
    assert "wrong-result" in got.out and "suspicion" not in got.out, got.out
    answered("stranger.itr", [1, 11], note=("sessions", "all")).expect(1)


def test_answers_that_triggers_may_have_changed_are_counted():
    """In strict mode alone, and where the recorder itself says so."""
    note, said = ("answer doubted", "x"), "1 UPDATE that succeeded with warnings may have done so"
    assert said in answered("doubt.itr", [1, 10], note=note, source="recorder").expect(0).out
    assert said not in answered("doubt.itr", [1, 10], note=note).expect(0).out
    assert said not in answered("doubt.itr", [1, 10], note=note, source="recorder", mode="").expect(0).out
    data = answered("doubt.itr", [1, 10], "int(11)", "--format=json", note=note, source="recorder").json()
    jsonschema.validate(data, SCHEMA)
    assert data["coverage"]["answers_doubted"] == 1, data["coverage"]


def test_the_witness_is_what_the_trace_says():
    """Each statement of a witness is in the trace, with this text and these times."""
    stmts = {}
    for record in isotrace("show", "--format=ndjson", LOST).lines():
        if record["kind"] == "stmt":
            stmts[record["session"], record["number"]] = record
    [finding] = [f for f in findings(LOST) if f["also"] == "lost update (P4)"]
    steps = finding["witness"]["statements"]
    assert len(steps) >= 3
    for step in steps:
        record = stmts[step["session"], step["statement"]]
        assert (record["text"], record["begin"], record["at"]) == (
            step["sql"], step["begin_ns"], step["end_ns"])
        assert f"T{record['txn']}" == step["transaction"]
    assert [s["begin_ns"] for s in steps] == sorted(s["begin_ns"] for s in steps)
    # Both read the same version, and both overwrote: the second over the first.
    chain = finding["witness"]["rows"][0]["versions"]
    first, second = finding["transactions"]
    assert re.search(rf"-> \d+ by {first} -> \d+ by {second}$", chain), chain


def has_cycle(arrows):
    """By taking away arrows from nodes that none leads to, again and again."""
    arrows = set(arrows)
    while arrows:
        entered = {to for _, to in arrows}
        left = {a for a in arrows if a[0] in entered}
        if left == arrows:
            return True
        arrows = left
    return False


def test_few_dependencies_hold_many_cycles_together():
    path = simulate("tangled.itr", "--seed=5", "--discipline=ru", "--sessions=8", "--keys=30", "--transactions=200")
    checked = isotrace("check", "--format=json", path).json()
    jsonschema.validate(checked, SCHEMA)
    components = checked["components"]
    assert len(components) > 3 and [c["findings"] for c in components] == sorted(
        (c["findings"] for c in components), reverse=True)
    for c in components:
        arrows = {(a["from"], a["to"]): a["removed"] for a in c["drawn"]}
        removed = [a for a, gone in arrows.items() if gone]
        assert len(arrows) == c["arrows"] == len(c["drawn"]) and len(c["nodes"]) == c["transactions"]
        assert len(removed) == c["removed_count"] == len(c["removed"])
        names = [n["name"] for n in c["nodes"]]
        assert {(e["from"], e["to"]) for e in c["removed"]} == {(names[a], names[b]) for a, b in removed}
        assert has_cycle(arrows) and not has_cycle(a for a, gone in arrows.items() if not gone)
        # None of them can stay.
        for back in removed:
            assert has_cycle([a for a, gone in arrows.items() if not gone] + [back])
    first = components[0]
    text = isotrace("check", path).out
    assert f"{first['transactions']} transactions depend on each other in cycles" in text
    assert f"{first['removed'][0]['from']} → {first['removed'][0]['to']}" in text


def lost_update(name, first, last, final, variables=None, level=3, exact=(True, True), more=None, server=True):
    """Two transactions read the initial version of a row, the second overwrites the first one's; the
    versions have these names, and the final rows show `final`; `exact`: what the reads' probes say.
    `more` adds to the trace; without `server` it names none."""
    t = tracefile.Trace()
    if server:
        t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb",
              variables=dict(variables or {}, innodb_snapshot_isolation="OFF"))
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0], keys=[],
          columns=[["id", "int(11)", False, None, None, None, ""]], create_text="CREATE TABLE `t`")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1]], complete=True, versions=[0])
    for session in (1, 2):
        t.add("session", 10, session=session, event=0, node="n1", client="c", user="u", thread=session)
        t.stmt(session, 1, "begin", 100 + session, txn=session)
        t.add("txn", 110, session=session, txn=session, event=0, number=1, level=level)
        t.stmt(session, 2, "select 1 from t", 120 + session, rows=[[1]], txn=session)
        t.add("probe", 125, session=session, number=2, txn=session, probe=6, table=1, exact=exact[session - 1], read_kind=1,
              rows=[[1, 0]])
    for session, version, previous in ((1, first, 0), (2, last, first)):
        t.stmt(session, 3, "update t set x = 1", 200 + 100 * session, affected=1, txn=session)
        t.add("probe", 205 + 100 * session, session=session, number=3, txn=session, probe=7, table=1, exact=True,
              read_kind=2, rows=[[1, version, previous, None, 2]])
        t.stmt(session, 4, "commit", 210 + 100 * session, txn=session)
        t.add("txn", 220 + 100 * session, session=session, txn=session, event=1, number=4, level=level, outcome=1,
              reason="commit")
    if more:
        more(t)
    t.add("rows", 900, table=1, node="n1", moment="final", last=True, rows=[[1]], complete=True, versions=[final])
    path = scratch(name)
    t.write(path)
    return path


def test_nobody_knows_what_an_unknown_server_promised():
    path = lost_update("noserver.itr", 41, 42, 42, level=4, server=False)
    data = isotrace("check", "--format=json", path).expect(3).json()
    assert (data["verdict"], data["contract"]) == ("incomplete", "unknown"), data
    assert [f["severity"] for f in data["findings"]] == ["documented"], data["findings"]
    assert "--contract" in str(data["coverage"]), data["coverage"]
    assert isotrace("check", "--format=json", "--contract=innodb", path).expect(1).json()["verdict"] == "violated"


def test_long_version_names():
    """In sentences by their place, in JSON as they are; ids do not depend on them."""
    first, last = 102169866106044470, 102169866106044481
    path = lost_update("long.itr", first, last, last)
    [finding] = findings(path, "--oracle=adya")
    assert {(e["from_version"], e["to_version"]) for e in finding["edges"]} == {
        (str(first), str(last)), ("initial 0", str(first))}
    assert finding["witness"]["rows"][0]["versions"].endswith(f"{first} by T1 -> {last} by T2")
    assert "overwrote it with version v3 (statement 3 of session 2)" in finding["explanation"]
    text = isotrace("check", "--oracle=adya", path).out + isotrace("explain", path, finding["id"], "--brief").out
    assert str(first) not in text and str(last) not in text, text
    assert "initial 0 -> v2 by T1 (S1 #3) -> v3 by T2 (S2 #3)" in re.sub(r"\s+", " ", text), text
    other = lost_update("other.itr", 977169866106044470, 977169866106044471, 977169866106044471)
    assert [f["id"] for f in findings(other, "--oracle=adya")] == [finding["id"]]
    assert "version 41" in isotrace("check", "--oracle=adya", lost_update("short.itr", 41, 42, 42)).out


def test_who_else_wrote():
    """A version that vanished, by what may have written beside the recorded sessions."""
    tag = 77
    mine = [tag << 52 | 1, tag << 52 | 2]
    cases = [  # variables, what the final rows show, severities of lost-version
        ({}, mine[0], ["violation"]),
        ({"isorec_tag": tag, "isorec_writers": "all"}, mine[0], ["violation"]),
        ({"isorec_tag": tag, "isorec_writers": "some"}, mine[0], ["suspicion"]),
        ({"isorec_tag": tag, "isorec_writers": "all"}, 5, []),        # a session without a tag
        ({"isorec_tag": tag, "isorec_writers": "some"}, 78 << 52, []),  # another recorder's
        ({"isorec_tag": tag, "isorec_writers": "all"}, tag << 52 | 9, ["violation"]),
    ]
    for variables, final, wanted in cases:
        got = [f["severity"] for f in findings(lost_update("who.itr", *mine, final, variables), "--oracle=adya")
               if f["class"] == "lost-version"]
        assert got == wanted, (variables, final, got)
    text = isotrace("check", "--oracle=adya", lost_update("who.itr", *mine, 5, cases[3][0])).out
    assert "writes of rows that sessions which were not recorded wrote, too: 2" in text, text


def test_writes_that_nobody_saw():
    """A version that vanished may be the work of a statement whose writes are not known."""
    def not_exact(t):
        t.stmt(1, 5, "call p()", 600, txn=3)
        t.add("probe", 605, session=1, number=5, txn=3, probe=7, table=1, exact=False, read_kind=2, rows=[])

    def without_probe(t):
        t.stmt(1, 5, "update v set x = 2", 600, affected=1, txn=3)

    def without_answer(t):
        t.stmt(1, 5, "update t set x = 2", 600, txn=3, flags=1)
        t.add("txn", 610, session=1, txn=3, event=1, number=5, level=3, outcome=0, reason="autocommit", autocommit=True)

    def a_read(t):
        t.stmt(1, 5, "select 1 from v", 600, txn=3, rows=[[1]])

    for more, wanted in ((None, ["violation"]), (a_read, ["violation"]), (not_exact, []), (without_probe, []),
                         (without_answer, [])):
        path = lost_update("unseen.itr", 41, 42, 41, more=more)
        got = [f["severity"] for f in findings(path, "--oracle=adya") if f["class"] == "lost-version"]
        assert got == wanted, (more, got)
        text = isotrace("check", "--oracle=adya", path).out
        assert ("form no chain, which something unrecorded may explain: 2" in text) == (not wanted), text
    # The first statement of a reason is named.
    path = lost_update("unseen.itr", 41, 42, 42, more=without_probe)
    coverage = isotrace("check", "--oracle=adya", "--format=json", path).json()["coverage"]
    assert coverage["examples"] == {"statements without a probe": {
        "session": 1, "statement": 5, "sql": "update v set x = 2"}}, coverage
    assert "the first: statement 5 of session 1: update v set x = 2" in isotrace("check", "--oracle=adya", path).out


def test_tables_that_nobody_else_wrote():
    """A read whose condition is not known is undecided where another transaction wrote the table."""
    def blind(session, txn, table):
        def add(t):
            t.add("schema", 600, table=2, node="n1", database="d", name="u", primary_key=[0], keys=[],
                  columns=[["id", "int(11)", False, None, None, None, ""]], create_text="CREATE TABLE `u`")
            t.stmt(session, 5, "select distinct id from u", 600, rows=[[1]], txn=txn)
            t.add("probe", 605, session=session, number=5, txn=txn, probe=6, table=table, exact=False, read_kind=1,
                  predicate="?", rows=[])
            t.add("txn", 610, session=session, txn=txn, event=1, number=5, level=3, outcome=1, reason="autocommit")
        return add

    for table, undecided in ((1, 1), (2, 0)):
        path = lost_update("blind.itr", 41, 42, 42, more=blind(1, 3, table))
        coverage = isotrace("check", "--oracle=adya", "--format=json", path).json()["coverage"]
        assert coverage["undecided"] == undecided, coverage
        if undecided:
            [example] = coverage["examples"].values()
            assert example["sql"] == "select distinct id from u", coverage


def test_inexact_reads():
    """A cycle that needs a read with an inexact probe is a suspicion, if anything."""
    cases = [  # level, exact probes of the reads of T1 and T2, what is found
        (4, (True, True), ["violation"]),
        (4, (False, True), ["violation"]),  # T1's read is no part of it
        (4, (True, False), ["suspicion"]),
        (4, (False, False), ["suspicion"]),
        (2, (True, True), ["documented"]),
        (2, (True, False), []),  # READ COMMITTED lets it happen: nothing to suspect
    ]
    for level, exact, wanted in cases:
        path = lost_update("inexact.itr", 41, 42, 42, level=level, exact=exact)
        got = findings(path, "--oracle=adya")
        assert [f["severity"] for f in got] == wanted, (level, exact, got)
        assert all(f["class"] == "G-single" and ("not proven" in f["explanation"]) == (f["severity"] == "suspicion")
                   for f in got), got
        document = json.loads(isotrace("check", "--oracle=adya", "--format=json", path).out)
        assert ("fails" in document["levels"].values()) == (exact[1] is True), document["levels"]
        status = isotrace("check", "--oracle=adya", path).status
        assert (status == 1) == (wanted == ["violation"]), (level, exact, status)
        status = isotrace("check", "--oracle=adya", "--fail-on=suspicion", path).status
        assert (status == 1) == (wanted in (["violation"], ["suspicion"])), (level, exact, status)


def test_inexact_dirty_reads():
    """What was rolled back, read by a probe that is not exact: a suspicion where the level forbids it."""
    for level, exact, wanted in ((2, True, ["violation"]), (2, False, ["suspicion"]), (1, True, ["documented"]),
                                 (1, False, [])):
        t = tracefile.Trace()
        t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={})
        t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0], keys=[],
              columns=[["id", "int(11)", False, None, None, None, ""]], create_text="CREATE TABLE `t`")
        t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1]], complete=True, versions=[0])
        for session, outcome in ((1, 2), (2, 1)):
            t.add("session", 10, session=session, event=0, node="n1", client="c", user="u", thread=session)
            t.stmt(session, 1, "begin", 100 + session, txn=session)
            t.add("txn", 110, session=session, txn=session, event=0, number=1, level=level)
        t.stmt(1, 2, "update t set x = 1", 200, affected=1, txn=1)
        t.add("probe", 205, session=1, number=2, txn=1, probe=7, table=1, exact=True, read_kind=2,
              rows=[[1, 41, 0, None, 2]])
        t.stmt(2, 2, "select 1 from t", 300, rows=[[1]], txn=2)
        t.add("probe", 305, session=2, number=2, txn=2, probe=6, table=1, exact=exact, read_kind=1, rows=[[1, 41]])
        for session, outcome in ((1, 2), (2, 1)):
            t.stmt(session, 3, "end", 400 + session, txn=session)
            t.add("txn", 410, session=session, txn=session, event=1, number=3, level=level, outcome=outcome,
                  reason="commit")
        path = scratch("dirty.itr")
        t.write(path)
        got = findings(path, "--oracle=adya")
        assert [f["severity"] for f in got] == wanted, (level, exact, got)
        assert all(f["class"] == "G1a" for f in got), got


def test_explain():
    [finding] = [f for f in findings(LOST) if f["also"] == "lost update (P4)"]
    out = isotrace("explain", LOST, finding["id"]).expect(0).out
    for part in ("What was promised", "The transactions", "What happened", "Why that cannot be",
                 "The versions of the rows concerned", "Everything these transactions did",
                 "By the contract adya SERIALIZABLE may not let this happen.", "select k, v from plant"):
        assert part in out, (part, out)
    # The chain, and there the statement that wrote each version.
    chain = re.sub(r" \(S\d+ #\d+\)", "", re.sub(r"\s+", " ", out))
    assert finding["witness"]["rows"][0]["versions"] in chain, out
    assert re.search(r"by T\d+ \(S\d+ #\d+\)", re.sub(r"\s+", " ", out)), out
    for step in finding["witness"]["statements"]:
        assert step["sql"] in out
    brief = isotrace("explain", "--brief", LOST, finding["id"][:6]).expect(0).out
    assert out.startswith(brief) and "Everything" not in brief
    for line in brief.splitlines():
        assert len(line) <= 100, line
    isotrace("explain", LOST, "ffffffff").expect(2, "there is no finding ffffffff")
    isotrace("explain", LOST, "0").expect(2, "digits")
    isotrace("explain", LOST).expect(2, "id")
    isotrace("explain", "-", finding["id"]).expect(2, "must be a file")
    isotrace("explain", scratch("none.itr"), finding["id"]).expect(4, "none.itr")


def test_versions_of_a_hot_row():
    # Of hundreds of versions those that the sentences name are listed, and all others are counted.
    path = simulate("hot.itr", "--seed=1", "--discipline=rr", "--transactions=300", "--keys=2", "--unknown=0", "--delete=0")
    cut = totals = 0
    length = {}
    for finding in findings(path, "--contract=adya", "--examples=50"):
        chains = {r["object"]: r["chain"] for r in finding["witness"]["rows"]}
        for edge in finding["edges"]:
            # "read version 5 of test.t0(1) ..., which T9 overwrote with version 9", "installed version 5 of test.t0(1)"
            match = re.search(r"version (?:initial )?(\d+) of (\S+?\))", edge["explanation"] or "")
            if not match or match[2] not in chains:
                continue
            names = [match[1], *re.findall(r"with version (\d+)", edge["explanation"])]
            for name in names:
                assert re.search(rf"\b{name}( by T|$| ->)", chains[match[2]]), (name, chains[match[2]])
            cut += "versions)" in chains[match[2]]
        for name, chain in chains.items():
            installed = chain.split(" | not installed: ")
            if len(installed) > 1 or " (in no known order" in chain:
                continue
            total = sum(int(m[1]) if (m := re.fullmatch(r"\((\d+) versions?\)", part)) else 1 for part in chain.split(" -> "))
            assert length.setdefault(name, total) == total, (name, chain)
            totals += 1
    assert cut > 20 and totals > 5, (cut, totals)


def test_junit():
    run = isotrace("check", "--format=junit", LOST, CLEAN)
    suites = xml.fromstring(run.out).findall("testsuite")
    assert [s.get("name") for s in suites] == [LOST, CLEAN]
    violations = [f for f in findings(LOST) if f["severity"] == "violation"]
    assert int(suites[0].get("failures")) == len(violations) > 0
    texts = [f.text for f in suites[0].iter("failure")]
    assert sorted(texts) == sorted(f["explanation"] for f in violations)
    assert int(suites[1].get("failures")) == 0
    for suite in suites:
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
    assert run.status == 1


def test_several_histories():
    """The worst status counts, and each is printed."""
    clean = isotrace("check", "--level=PL-1", CLEAN).status
    assert isotrace("check", LOST, CLEAN).status == 1
    both = isotrace("check", CLEAN, LOST).out
    assert both.index(CLEAN) < both.index(LOST)
    run = isotrace("check", LOST, scratch("none.itr"))
    assert run.status == 4 and "none.itr" in run.err and "lost update" in run.out
    assert clean in (0, 3)


def contract(text):
    path = scratch("own.contract")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


def test_textbook_repeatable_read_forbids_every_item_cycle():
    """To Adya a lost update and a read skew are G2-item too, which PL-2.99 forbids."""
    for plant in ("lost-update", "G-single", "G2-item"):
        path = simulate("rr.itr", "--seed=9", "--discipline=rr", f"--plant={plant}")
        found = findings(path, "--contract=adya")
        items = [f for f in found if f["class"] in ("G-single", "G-nonadjacent", "G2-item") and
                 f["level"] == "REPEATABLE READ" and
                 all(e["kind"] != "predicate rw" for e in f["edges"])]
        assert items and all(f["severity"] == "violation" for f in items), (plant, items)
        # InnoDB documents them all.
        assert all(f["severity"] == "documented" for f in findings(path, "--contract=innodb")
                   if f["class"] in ("G-single", "G2-item") and f["level"] == "REPEATABLE READ")


def test_contract_file():
    """A contract of one's own decides what counts."""
    lenient = contract("contract mine\nlevel SER\nforbids G0\nrule we-know allows G-single\n"
                       "page https://example.org/\n")
    data = isotrace("check", "--format=json", f"--contract-file={lenient}", LOST).json()
    jsonschema.validate(data, SCHEMA)
    assert data["contract"] == "mine"
    [finding] = [f for f in data["findings"] if f["class"] == "G-single"]
    assert (finding["severity"], finding["rule"]) == ("documented", "we-know")
    assert data["verdict"] != "violated"
    assert isotrace("check", f"--contract-file={lenient}", "--fail-on=documented", LOST).status == 1
    strict = contract("contract mine\nlevel SER\nforbids G-single\n")
    assert isotrace("check", f"--contract-file={strict}", LOST).status == 1
    assert isotrace("check", f"--contract-file={strict}", "--fail-on=none", LOST).status in (0, 3)


def test_contract_errors_name_the_place():
    for text, line, words in (
            ("contract a\nlevel XX\n", 2, "XX"),
            ("contract a\nforbids G0\n", 2, "level"),
            ("contract a\nlevel RR\nfrobs G0\n", 3, "frobs"),
            ("level RR\nforbids G0\n", None, "contract"),
            ("contract a\nlevel RR\nrule x\n", 3, "rule")):
        run = isotrace("check", f"--contract-file={contract(text)}", LOST)
        assert run.status == 4, (text, run.status, run.err)
        assert words in run.err, (text, run.err)
        if line:
            assert f"own.contract, line {line}" in run.err, (text, run.err)
        assert "--from" not in run.err
    isotrace("check", "--contract-file=" + scratch("no.contract"), LOST).expect(4, "no.contract")
    isotrace("check", "--contract=postgres", LOST).expect(2, "postgres")


def test_nothing_is_not_all_right():
    """A recording in which nothing happened passes no check."""
    empty = scratch("empty.itr")
    tracefile.Trace().write(empty)
    assert "nothing was checked" in isotrace("check", empty).expect(3).out
    history = scratch("empty.edn")
    open(history, "w", encoding="utf-8").close()
    isotrace("check", "--from=elle", history).expect(3)


def test_a_torn_trace_accuses_nobody():
    """What was lost after a tear, a commit say, would explain what another session saw."""
    whole = os.path.join(HERE, "..", "mvcc", "recorded", "known", "mdev-33802-SER.itr")
    assert {f["severity"] for f in findings(whole)} == {"violation"}
    torn = scratch("torn.itr")
    with open(whole, "rb") as source, open(torn, "wb") as out:
        out.write(source.read()[:-3])
    got = findings(torn)
    assert {f["severity"] for f in got} == {"suspicion"}, got
    assert "not complete" in got[0]["explanation"]
    isotrace("check", torn).expect(3)


def test_what_is_missing_counts_once():
    """Bytes are no decisions: it is not known how much was torn off."""
    with open(CLEAN, "rb") as source, open(scratch("short.itr"), "wb") as out:
        out.write(source.read()[:-300])
    coverage = isotrace("check", "--format=json", scratch("short.itr")).json()["coverage"]
    assert coverage["reasons"]["a damaged or torn part of the trace"] == 1, coverage


def test_the_first_statement_of_each_reason():
    """Of mvcc, too; and the hint leads to it."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb",
          variables={"transaction_isolation": "REPEATABLE-READ"})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", columns=[["a", "int(11)", False, None, None, None, None]],
          primary_key=[0])
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1]], complete=True)
    t.add("session", 1, session=7, event=0, node="n1", client="c", user="u", database="d")
    t.stmt(7, 1, "select a from t", 10, rows=[[1]])
    t.stmt(7, 2, "select a + 1 from t", 300, rows=[[2]])
    path = scratch("levelless.itr")
    t.write(path)
    coverage = isotrace("check", "--format=json", "--oracle=mvcc", path).json()["coverage"]
    [example] = coverage["examples"].values()
    assert example == {"session": 7, "statement": 1, "sql": "select a from t"}, coverage
    text = isotrace("check", "--oracle=mvcc", path).out
    assert "the first: statement 1 of session 7: select a from t" in text, text
    assert re.search(r"isotrace show \S+ --session=7\n", text) and "isotrace stats" not in text, text


def test_who_made_rows_unknown():
    """The statement that could not be executed is named beside the first that was not decided because of it."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb",
          variables={"autocommit": "ON", "tx_isolation": "REPEATABLE-READ", "sql_mode": "", "character_set_server": "latin1",
                     "collation_server": "latin1_swedish_ci", "lower_case_table_names": "0"})
    columns = [[c, "int(11)", False, None, None, None, ""] for c in "ab"]
    for number, name in enumerate(("t", "u"), 1):
        t.add("schema", 0, table=number, node="n1", database="d", name=name, columns=columns, primary_key=[0], keys=[],
              create_text=f"CREATE TABLE `{name}` (\n  `a` int(11) NOT NULL,\n  `b` int(11) NOT NULL,\n  PRIMARY KEY (`a`)\n) "
                          "ENGINE=InnoDB DEFAULT CHARSET=latin1")
        t.add("rows", 0, table=number, node="n1", moment="initial", last=True, rows=[[1, 1]], complete=True)
    t.add("session", 1, session=7, event=0, node="n1", client="c", user="u", database="d")
    culprit = "update t set b = 5 where sformat('{}', a) = 1"
    for number, (sql, reply) in enumerate(((culprit, {"affected": 1}), ("select b from t", {"rows": [[5]]}),
                                           ("update u set b = (select b from t) where a = 1", {"affected": 1}),
                                           ("select b from u where a = 1", {"rows": [[5]]})), 1):
        at = 100 * number
        t.stmt(7, number, sql, at, at + 50, status=2, txn=number, **reply)
        t.add("txn", at + 50, session=7, txn=number, event=1, number=number, level=3, outcome=1, reason="autocommit")
    path = scratch("culprit.itr")
    t.write(path)
    examples = isotrace("check", "--format=json", "--oracle=mvcc", path).json()["coverage"]["examples"]
    blamed = {"session": 7, "statement": 1, "sql": culprit}
    assert [e["statement"] for e in examples.values() if e.get("made_unknown_by") == blamed] == [2], examples
    assert f"made unknown by: statement 1 of session 7: {culprit}" in isotrace("check", "--oracle=mvcc", path).out


def test_a_level_that_is_not_known():
    """Recorded without an account, a trace does not say what was promised: how to have it."""
    t = tracefile.demo()
    t.records = [r for r in t.records if msgpack.unpackb(r, strict_map_key=False)[0] not in
                 (tracefile.KINDS["txn"][0],)]
    t.add("txn", 8000, session=1, txn=3, event=0, number=7)
    t.add("txn", 8100, session=1, txn=3, event=1, number=8, outcome=1)
    path = scratch("unlevelled.itr")
    t.write(path)
    text = isotrace("check", path).out
    assert "promised:  not known of " in text and "--user" in text, text


def test_no_verdict_is_ok_where_levels_are_not_known():
    """A whole trace with versions, all of which is decided but what was promised."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0],
          columns=[["a", "int(11)", False, None, None, None, None]])
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1]], versions=[1], complete=True)
    t.add("session", 1, session=1, event=0, node="n1", client="c", user="u", database="d")
    for txn, level in ((1, 3), (2, 0)):
        t.stmt(1, 2 * txn, "update t set a = a where a = 1", 100 * txn, affected=0, txn=txn)
        t.add("probe", 100 * txn + 10, session=1, number=2 * txn, txn=txn, probe=7, table=1, exact=True,
              read_kind=2, rows=[[1, 10 * txn, 10 * (txn - 1) or 1, [1], 2]])
        t.add("txn", 100 * txn + 20, session=1, txn=txn, event=1, number=2 * txn, level=level, outcome=1)
        if txn == 1:
            t.write(scratch("levels-known.itr"))
    t.write(scratch("levels-unknown.itr"))
    known = isotrace("check", "-f", "json", scratch("levels-known.itr")).json()["coverage"]
    assert "isolation level is not known" not in json.dumps(known), known
    got = isotrace("check", "-f", "json", scratch("levels-unknown.itr")).expect(3).json()["coverage"]
    assert got["reasons"].get("transactions whose isolation level is not known") == 1, got


def test_level_of_a_trace():
    assert isotrace("check", "--level=serializable", LOST).status == 1
    assert isotrace("check", "--level=PL-2", LOST).status in (0, 3)
    isotrace("check", "--level=PL-9", LOST).expect(2, "PL-9")


# ---- what the oracle mvcc says ----

def planted(name, **plan):
    return histories.schedule(scratch(name + ".itr"), **plan)


def test_wrong_final_rows_break_the_promise():
    path = planted("final", **histories.SCHEDULES["lost-version"])
    out = isotrace("check", path).expect(1).out
    assert "promised:  REPEATABLE READ to 1 transaction: broken by 1 violation\n" in out, out
    promise, = isotrace("check", "-f", "json", path).expect(1).json()["promises"]
    assert (promise["answer"], promise["violations"]) == ("broken", 1), promise


def test_zero_bytes_end_nothing():
    """In a statement; keys and values are written as the trace's own are."""
    path = planted("zero", steps=[(1, "select * from t where id = 1 /* a\0b */", histories.rows((1, 99)))])
    finding, = isotrace("check", "-f", "json", path).expect(1).json()["findings"]
    assert "/* a\\x00b */`" in finding["explanation"], finding["explanation"]
    for form in "text", "junit", "tap", "sarif", "ndjson":
        out = isotrace("check", "-f", form, path).expect(1).out
        assert "\0" not in out and "x00b */" in out.replace("\n  ", " "), (form, out)


def test_variables_of_galera_are_told_where_it_is_in_use():
    for on in "OFF", "ON":
        path = planted("wsrep", **histories.SCHEDULES["wrong-result"],
                       variables={"wsrep_on": on, "wsrep_cluster_name": "zoo", "wsrep_sync_wait": "0"})
        out = scratch("wsrep.html")
        isotrace("report", path, "-o", out).expect(1)
        with open(out, encoding="utf-8") as page:
            assert ("wsrep_cluster_name" in page.read()) == (on == "ON")


def test_a_cluster_is_less_than_serializable():
    """What Galera does not promise at SERIALIZABLE stands in the first lines, not among the rules alone."""
    path = simulate("ser.itr", "--seed=11", "--discipline=serializable", "--unknown=0")
    for contract, less in ("innodb", False), ("galera", True), ("galera-si", True):
        run = isotrace("check", "--contract=" + contract, path)
        head = " ".join(run.out.split("found:")[0].split())
        assert ("transactions: less than serializable" in head) == less, head
        assert ("transactions: kept" in head) == (not less), head
        promise, = isotrace("check", "--contract=" + contract, "-f", "json", path).json()["promises"]
        assert ("not_serializable" in promise) == less and promise["answer"] == "kept", promise
        assert not less or promise["not_serializable"] in head, head


def test_a_lost_update_that_changed_nothing_is_named_so():
    """The second UPDATE sets what the first one has set already: there is no second version."""
    recorded = os.path.join(HERE, "..", "application", "recorded", "%s.trigger.itr")
    for name, lost in ("same-value", True), ("lost-update", True), ("read-skew-locking", False), ("read-again", False):
        findings = isotrace("check", "-f", "json", recorded % name).json()["findings"]
        assert any((f["also"] or "").startswith("lost update") for f in findings) == lost, (name, findings)


def test_out_of_memory_names_options_that_exist():
    path = simulate("memory.itr", "--seed=3", "--transactions=20000")
    limited = ["bash", "-c", 'ulimit -v 50000; exec "$@"', "-", os.path.abspath(sys.argv[1])]
    if subprocess.run([*limited, "--version"], capture_output=True, check=False).returncode:
        raise tap.Skip("this build does not start in so little memory")
    said = subprocess.run([*limited, "check", path], capture_output=True, text=True, check=False)
    options = re.findall(r"--[a-z-]+", said.stderr)
    assert said.returncode == 4 and "out of memory" in said.stderr and options, (said.returncode, said.stderr)
    known = isotrace("check", "--help").out
    assert all(option in known for option in options), (options, said.stderr)


def test_the_worst_comes_first():
    """A circle of writes is worse than one that needs a stale read, whatever the alphabet says."""
    path = simulate("ranks.itr", "--seed=5", "--plant=G0", "--plant=G2-item", "--plant=lost-update")
    classes = [f["class"] for f in isotrace("check", "--contract=adya", "-f", "json", path).expect(1).json()["findings"]]
    assert classes[0] == "G0" and classes.index("G-single") < classes.index("G2-item"), classes


if __name__ == "__main__":
    tap.main(globals())
