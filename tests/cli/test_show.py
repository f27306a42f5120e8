#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace show: the timeline's text, its filters, its JSON, and what hostile traces do to it."""
import json
import os
import re
import subprocess
import unicodedata

from run import ISOTRACE, environment, golden, isotrace, scratch
from tracefile import MONO, Trace, cluster_life, demo, filler, pack
import tap

DEMO = scratch("demo.itr")
demo().write(DEMO)


def show(*args, **more):
    return isotrace("show", *args, **more)


def columns_of(line):
    """Columns of a line on a terminal, by Python's own tables."""
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def rows(text):
    """The timeline's rows without heading lines: (seconds, rest)."""
    return [m.groups() for m in re.finditer(r"^ *(-?\d+\.\d{6})  (.*)$", text, re.MULTILINE)]


# ---- the text ----

def test_timeline_at_several_widths():
    for width in (60, 80, 100, 160):
        text = show(DEMO, columns=width).expect().out
        golden(f"show-{width}.txt", text)
        for line in text.splitlines()[1:]:
            assert columns_of(line) <= width, line


def test_no_line_is_blank():
    """A long value after the arrow is broken, not put below an arrow's empty line."""
    t = Trace()
    for session in (1, 2, 3):
        t.add("session", session, session=session, event=0, client=f"c{session}")
    t.stmt(3, 1, "select * from room", 100, rows=[[1, "schmidt", "109.45", None], [2, "eve", "132.00", None]])
    path = scratch("blank.itr")
    t.write(path)
    for width in range(60, 120):
        for line in show(path, columns=width).expect().out.splitlines():
            assert re.search(r"[^ │]", line), (width, line)
            assert not line.rstrip().endswith("→"), (width, line)


def test_bytes_that_are_no_utf8_are_told():
    """What a client with another character set gets: each byte, not one mark for all."""
    t = Trace()
    t.stmt(1, 1, "select name", 100, rows=[["m\udcfcller"], ["m\udce4ller"], ["müller"]])
    path = scratch("latin1.itr")
    t.write(path)
    assert "('m\\xFCller') ('m\\xE4ller') ('müller')" in show(path).expect().out


def test_width_option_and_environment():
    assert show(DEMO, "--width=80").out == show(DEMO, columns=80).out
    assert show(DEMO, "--width=80", columns=100).out == show(DEMO, columns=80).out
    assert show(DEMO).out == show(DEMO, columns=100).out, "100 is the default"
    assert show(DEMO, columns="junk").out == show(DEMO).out


def test_full_and_probes():
    golden("show-full-probes.txt", show(DEMO, "--full", "--probes", "--width=64").expect().out)


def test_colour_only_when_asked():
    plain = show(DEMO).out
    assert "\x1b" not in plain
    assert "\x1b" not in show(DEMO, TERM="xterm").out, "no terminal, no colour"
    coloured = show(DEMO, "--color", NO_COLOR="1").out
    assert "\x1b[31m" in coloured and "\x1b[33m" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain
    assert show(DEMO, "--color=never").out == plain


def test_output_does_not_depend_on_the_locale():
    assert show(DEMO, LC_ALL="C").raw == show(DEMO, LC_ALL="C.UTF-8").raw


def overlapping(count, statements=3):
    """`count` sessions that run at the same time; each opens, works and closes."""
    t = Trace()
    for session in range(1, count + 1):
        t.add("session", 10 * session, session=session, event=0, user=f"u{session}")
    for number in range(1, statements + 1):
        for session in range(1, count + 1):
            t.stmt(session, number, f"select {number} from s{session}",
                   1000 * number + 10 * session, 1000 * number + 10 * session + 5)
    for session in range(1, count + 1):
        t.add("session", 9000, session=session, event=1)
    return t


def test_more_sessions_than_columns():
    path = scratch("many.itr")
    overlapping(12).write(path)
    text = show(path, columns=100).expect().out
    assert "│" not in text
    assert re.search(r"0\.001050  S5 +select 1 from s5 → ok", text)
    narrow = show(path, "--layout=columns", columns=200).expect().out
    assert "S12 u12" in narrow.splitlines()[1]
    assert "│" not in show(DEMO, "--layout=lines").expect().out
    # With 160 columns five cells of at least 26 fit, not twelve.
    overlapping(5).write(path)
    assert show(path, columns=160).out.splitlines()[1].count("│") == 4
    overlapping(6).write(path)
    assert "│" not in show(path, columns=160).out


def test_columns_are_handed_on():
    # Twenty sessions one after the other, far beyond the window: two columns do.
    path = scratch("relay.itr")
    t = Trace()
    us = 0
    for session in range(1, 21):
        t.add("session", us, session=session, event=0, user=f"u{session}")
        for number in range(1, 1001):
            us += 10
            t.stmt(session, number, f"select {number}", us, us + 1)
        t.add("session", us, session=session, event=1)
    t.write(path)
    lines = show(path, columns=100).expect().out.splitlines()
    headings = [line for line in lines if line.startswith("    seconds")]
    assert all(line.count("│") <= 2 for line in headings)
    assert any("S20 u20" in line for line in headings)
    assert "one line an event" not in "\n".join(lines)


def test_more_sessions_later_switch_to_lines():
    path = scratch("later.itr")
    t = Trace()
    for number in range(1, 9000):
        t.stmt(1, number, "select 1", number * 10, number * 10 + 1)
    for session in range(2, 12):
        t.stmt(session, 1, "select 2", 100000 + session, 100000 + session)
    t.write(path)
    text = show(path, columns=100).expect().out
    assert "one line an event from here on" in text
    assert len(rows(text)) == 8999 + 10


def test_a_wait_takes_two_rows_in_the_order_of_events():
    text = show(DEMO).out
    begin = text.index("update stock set amount = 9 where id = 1 …")
    commit = text.index("commit → ok · T1 committed")
    end = text.index("… → ok 1 (blocked 3.20 ms on S1)")
    assert begin < commit < end


def test_a_statement_longer_than_the_window_says_since_when():
    path = scratch("long.itr")
    t = Trace()
    begin_seq = t.next_seq()
    for number in range(1, 10001):
        t.stmt(1, number, "select 1", number * 10, number * 10 + 1)
    t.stmt(2, 1, "select sleep(1)", 5, 200000, begin_seq=begin_seq)
    t.write(path)
    text = show(path, "--width=160").expect().out
    assert "select sleep(1) (since 0.000005) → ok (200 ms)" in text


def test_other_records():
    path = scratch("other.itr")
    t = Trace()
    t.add("cluster", 1000, node="n2", what="state", detail="Synced to Donor", begin=MONO)
    t.add("note", 2000, source="user", topic="step 3", text="begin of the failover")
    t.add("gap", 3000, reason="dropped", records=120, bytes=4000, detail="disk slow")
    t.add("gap", 3100, reason="waited")
    t.add("session", 3200, session=1, event=2, reason="compressed with an unknown method")
    t.stmt(1, 1, None, 3300, prepared=9, params=[1, "x"])
    t.add("stmt", 4000, session=1, number=2, text="select ?, ?", command=0x16)
    t.add("stmt", 4100, session=1, number=3, command=0x17, prepared=2, params=[7, None],
          begin=MONO + 4_050_000)
    t.add("stmt", 4200, session=1, number=4, command=0x0e)
    t.add("stmt", 4300, session=1, number=5, command=3, text="commit", flags=1, txn=3)
    t.add("txn", 4400, session=1, txn=3, event=1, number=5, outcome=0, reason="connection lost")
    t.add("txn", 4500, session=1, txn=4, event=1, number=6, outcome=2, reason="error 1213")
    t.add("txn", 4600, session=1, txn=5, event=2, name="sp1")
    t.add("stmt", 4700, session=1, number=7, command=3, text="select 1", flags=2)
    t.add("rows", 4800, table=7, moment="final", last=True, rows=[[1]], complete=False)
    t.records.append(pack([99, t.next_seq(), "a kind of the future"]))
    t.write(path)
    result = show(path, "--width=100").expect(3, "the recorder lost 120 records")
    golden("show-other.txt", result.out)


def test_result_after_its_statement():
    path = scratch("late.itr")
    t = Trace()
    t.stmt(1, 1, "select a from t", 10, result_sets=1, rows=None)
    t.add("result", 20, session=1, number=1, last=True, rows=[[5], [6]], total=2)
    t.write(path)
    text = show(path).expect().out
    assert "#1 (5) (6)" in text


def test_many_rows_are_counted():
    path = scratch("rows.itr")
    t = Trace()
    t.stmt(1, 1, "select a from big", 10, rows=[[n, "x" * 30] for n in range(5000)])
    t.stmt(1, 2, "select a from none where 1 = 2", 30, rows=[])
    t.write(path)
    text = show(path, "--full", "--width=80").expect().out
    assert "… 5000 rows" in text
    assert "0 rows" in text


# ---- filters ----

def kept(*args):
    """(kind, session, number or txn) of the records that pass, from the JSON lines."""
    return [(r["kind"], r.get("session"), r.get("number") or r.get("txn"))
            for r in show(DEMO, "--format=ndjson", *args).expect().lines()]


def test_filter_session():
    assert {s for _, s, _ in kept("--session=2")} == {2}
    assert kept("--session=S2") == kept("-s", "2")
    assert kept("--txn=T2") == kept("--txn=2")
    assert {s for _, s, _ in kept("--session=1,2")} == {1, 2}
    assert kept("--session=1", "--session=2") == kept("--session=1,2")
    assert kept("--session=77") == []


def test_filter_txn():
    got = kept("--txn=2")
    assert [g for g in got if g[0] == "stmt"] == [("stmt", 2, n) for n in (1, 2, 3, 4)]
    assert ("result", 2, 2) in got and ("result", 1, 2) not in got
    assert {g[0] for g in got} == {"stmt", "result", "txn"}
    assert ("probe", 1, 3) in kept("--txn=1")


def test_filter_table():
    got = kept("--table=stock")
    assert ("schema", None, None) in got and ("rows", None, None) in got
    assert [g[2] for g in got if g[0] == "stmt" and g[1] == 1] == [2, 3, 5, 6]
    assert kept("--table=shop.stock") == got
    assert kept("--table=STOCK") == got
    assert kept("--table=other.stock") != got
    assert [g for g in kept("--table=other.stock") if g[0] in ("schema", "probe")] == []
    assert kept("--table=stoc") == [] and kept("--table=tock") == []


def test_filter_table_qualifiers():
    path = scratch("names.itr")
    t = Trace()
    texts = ["select * from a.t", "select * from `a`.`t`", "select * from b.t", "select * from t",
             "select t.x from tt", "select * from t2", "select * from `t`", "select 't'",
             "insert into x select * from (select 1 from T) as d", "select 1 from t where",
             "delete t2 from t2 join a.t using (c)", "select 2 as t from tt /* t */"]
    for number, text in enumerate(texts, 1):
        t.stmt(1, number, text, number)
    t.write(path)

    def numbers(name):
        return [r["number"] for r in show(path, "--format=ndjson", f"--table={name}").lines()]
    assert numbers("a.t") == [1, 2, 4, 7, 9, 10, 11]
    assert numbers("t") == [1, 2, 3, 4, 7, 9, 10, 11], "number 10 does not parse: the word decides"
    assert numbers("tt") == [5, 12]


def test_filter_match():
    assert [g[1:] for g in kept("--match=^update")] == [(1, 3), (2, 3)]
    assert kept("--match=(?i)^UPDATE") == kept("-m", "^update")
    assert kept("--match=^UPDATE") == []
    assert [g[1:] for g in kept("--match=Duplicate entry")] == [(1, 6)], "the error's text counts"
    assert ("result", 1, 5) in kept(r"--match=\* from"), "the result comes with its statement"


def test_filter_time():
    def offsets(*args):
        return [float(s) for s, _ in rows(show(DEMO, "--width=200", *args).expect().out)]
    assert offsets("--from=5.35ms") == [0.0054, 0.006, 0.0062, 0.007, 0.0071]
    assert offsets("--from=2026-11-16T00:00:00.00535Z") == offsets("--from=5.35ms")
    assert offsets("--from=2026-11-16T01:00:00.00535+01:00") == offsets("--from=5.35ms")
    # T2's update began before 2.5 ms and ended after 5 ms: it overlaps.
    assert 0.002 in offsets("--from=5.25ms", "--to=5.3ms")
    assert offsets("--to=0.15ms") == [0, 0, 0, 0.0001, 0.00015]
    assert rows(show(DEMO, "--from=1h").expect(0, "nothing passes").out) == []


def test_filter_errors_only():
    assert kept("--errors-only") == [("stmt", 1, 6)]
    path = scratch("other.itr")
    if not os.path.exists(path):
        test_other_records()
    kinds = [(r["kind"], r.get("number")) for r in
             show(path, "-e", "--format=ndjson").expect(3, "lost").lines()]
    assert kinds == [("gap", None), ("gap", None), ("session", None), ("stmt", 5), ("txn", 5),
                     ("txn", 6)]


def test_filters_combine():
    assert kept("--session=1", "--match=^update") == [("stmt", 1, 3)]
    assert kept("--session=1", "--errors-only", "--match=^update") == []
    assert kept("--txn=1", "--table=stock", "--from=1.7ms") == [("stmt", 1, 3), ("probe", 1, 3)]


def test_limit():
    assert len(kept("--limit=3")) == 3
    assert len(rows(show(DEMO, "--limit=3").expect().out)) == 3


def test_wrong_filters():
    for option, message in (
            ("--session=x", "--session: 'x' is not a whole number"),
            ("--session=1,", "--session: '' is not a whole number"),
            ("--session=4294967296", "out of range"),
            ("--match=(", "--match: missing closing parenthesis"),
            ("--from=yesterday", "neither an offset (1.5s, 200ms) nor a moment"),
            ("--to=2026-13-01T00:00:00Z", "is not a moment"),
            ("--limit=0", "--limit: 0 is out of range"),
            ("--format=xml", "it takes text, json or ndjson"),
            ("--sesion=1", "did you mean '--session'?")):
        show(DEMO, option).expect(2, message)


def test_a_pattern_that_takes_for_ever_is_stopped():
    path = scratch("redos.itr")
    t = Trace()
    t.stmt(1, 1, "a" * 5000 + "!", 10)
    t.write(path)
    show(path, r"--match=^(a+)+$(?<!x)").expect(3, "the pattern was too costly on 1 texts")


# ---- JSON ----

def test_json_document():
    document = show(DEMO, "--format=json").expect().json()
    assert document["schema"] == "isotrace.show/1"
    assert document["input"]["path"] == DEMO
    assert document["input"]["wall"] == "2026-11-16T00:00:00.000000000Z"
    lines = show(DEMO, "--format=ndjson").lines()
    assert document["records"] == lines
    assert document["totals"]["shown"] == len(lines) == len(demo().records)
    assert document["totals"]["evidence"]["clean"] is True
    seqs = [r["seq"] for r in lines]
    assert seqs == sorted(seqs)
    empty = show(DEMO, "--format=json", "--session=99").expect().json()
    assert empty["records"] == [] and empty["totals"]["read"] > 0


def test_json_has_every_field():
    path = scratch("fields.itr")
    t = Trace()
    t.add("stmt", 5, session=3, number=4, txn=2**63, text="bad \udcff\udcfe bytes", affected=2**60,
          params=[1, -5, "x", b"\x00\xff", 1.5, None], track={"autocommit": "ON"})
    t.write(path)
    record = show(path, "--format=ndjson").expect().lines()[0]
    assert record["kind"] == "stmt" and record["session"] == 3 and record["number"] == 4
    assert record["txn"] == str(2**63), "beyond 2^53 as a string"
    assert record["affected"] == str(2**60)
    assert record["params"][:3] == [1, -5, "x"] and record["params"][4:] == [1.5, None]
    assert record["track"] == {"autocommit": "ON"}


def test_results_wait_for_their_statement_only_so_far():
    path = scratch("held.itr")
    t = Trace()
    big = filler(1_000_000)
    for part in range(40):
        t.add("result", 5, session=1, number=1, part=part, last=part == 39, rows=[[big]])
    t.add("stmt", 6, session=1, number=1, text="select wanted", command=3, result_sets=1)
    t.write(path, per_block=10)
    result = show(path, "--format=ndjson", "--match=wanted").expect(3, "result records were left out")
    kinds = [r["kind"] for r in result.lines()]
    assert kinds.count("stmt") == 1 and 25 <= kinds.count("result") < 40
    assert len(show(path, "--format=ndjson", "--session=1").expect().lines()) == 41


# ---- hostile text ----

NASTY = ["\x1b[2J\x1b]0;title\x07", "\x9b31m", "a\rb\x08c", "\u202egnp.exe", "\udcff\udcc3(",
         "漢字" * 50, "e" + "\u0301" * 500, "\u200b\ufeff", "\x00\x01\x7f", "\x85\u2028", "'\\\""]


def assert_clean(text, width=None):
    for char in text:
        assert char in "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), \
            f"U+{ord(char):04X} reached the terminal"
    for line in text.splitlines()[1:]:
        if width:
            assert columns_of(line) <= width, line


def test_hostile_text_never_reaches_the_terminal():
    path = scratch("nasty.itr")
    t = Trace()
    for number, nasty in enumerate(NASTY, 1):
        t.add("session", number, session=number % 3 + 1, event=0, user=nasty, client=nasty,
              node=nasty, database=nasty, reason=nasty)
        t.stmt(1, number, nasty, 100 * number, rows=[[nasty, nasty]], info=nasty)
        t.stmt(2, number, nasty, 100 * number, error=1064, error_text=nasty, sqlstate=nasty[:5])
        t.add("note", source=nasty, topic=nasty, text=nasty)
        t.add("cluster", node=nasty, what=nasty, detail=nasty)
        t.add("schema", table=number, database=nasty, name=nasty, columns=[[nasty, nasty]])
        t.add("probe", session=1, table=number, predicate=nasty, rows=[[nasty, nasty]])
        t.add("gap", reason=nasty, detail=nasty)
        t.add("txn", session=1, txn=number, event=1, reason=nasty, gtid=nasty, name=nasty)
        t.add("server", node=nasty, version=nasty, flavour=nasty, address=nasty)
    t.write(path)
    for args in ([], ["--full"], ["--probes", "--layout=lines"]):
        for width in (40, 80, 300):
            assert_clean(show(path, f"--width={width}", *args).expect().out, width)
    for line in show(path, "--format=ndjson").raw.decode("utf-8").split("\n")[:-1]:
        json.loads(line)
    assert_clean(isotrace("stats", path).expect().out)
    isotrace("stats", "--format=json", path).expect().json()


def test_nasty_paths_in_messages():
    result = show("/nonexistent/\x1b[31mred\n").expect(4, "\\x1b[31mred\\n")
    assert_clean(result.err)


def test_huge_fields():
    path = scratch("huge.itr")
    t = Trace()
    huge = "select " + filler(20_000_000)
    t.stmt(1, 1, huge, 10, error=1064, error_text=huge)
    t.stmt(1, 2, " " * 1_000_000 + filler(20_000_000, " ") + "select 2", 50)
    t.add("note", text=huge)
    t.write(path)
    text = show(path, columns=100).expect().out
    assert len(text) < 2000
    assert "select 2" not in text or len(text) < 2000


# ---- damage, streams ----

def test_torn_tail():
    path = scratch("torn.itr")
    demo().write(path, per_block=5)
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.truncate(size - 30)
    result = show(path).expect(3, "torn")
    assert " closed" in result.out


def test_no_footer():
    path = scratch("running.itr")
    demo().write(path, footer=False)
    result = show(path).expect(3, "cut short, or is still running")
    assert rows(result.out) == rows(show(DEMO).out)


def damaged():
    path = scratch("damaged.itr")
    blocks = demo().write(path, per_block=5)
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        at = data.index(blocks[2]) + 60
        data[at] ^= 0xFF
        file.seek(0)
        file.write(data)
    return path


def test_damage_ends_the_reading_and_salvage_goes_on():
    path = damaged()
    stopped = show(path).expect(3, "--salvage")
    assert stopped.err.count("checksum") == 1, "told once"
    salvaged = show(path, "--salvage").expect(3, "damage at byte")
    assert " closed" not in stopped.out and " closed" in salvaged.out
    assert rows(stopped.out) == rows(salvaged.out)[:len(rows(stopped.out))]
    totals = show(path, "--salvage", "--format=json").expect(3, "damage").json()["totals"]
    assert totals["evidence"]["clean"] is False
    assert len(totals["evidence"]["damage"]) == 1
    assert totals["evidence"]["bytes_damaged"] > 0


def test_unreadable_input():
    show("/nonexistent.itr").expect(4, "nonexistent.itr")
    path = scratch("not-a-trace")
    with open(path, "wb") as file:
        file.write(b"hello, world\n" * 100)
    show(path).expect(4, "not-a-trace")
    with open(path, "wb") as file:
        file.truncate(0)
    assert show(path).status in (3, 4)
    show().expect(2, "which trace?")
    show(DEMO, DEMO).expect(2, "takes one trace")


def test_standard_input():
    with open(DEMO, "rb") as file:
        data = file.read()
    by_path, by_pipe = show(DEMO).out, show("-", stdin=data).expect().out
    assert by_pipe.splitlines()[1:] == by_path.splitlines()[1:]
    assert len(show("-", "-f", "ndjson", stdin=data).lines()) == len(demo().records)


def big_trace():
    path = scratch("big.itr")
    if not os.path.exists(path):
        t = Trace()
        for number in range(1, 30001):
            t.stmt(1, number, f"select {number} from t", number * 10, number * 10 + 1)
        t.write(path)
    return path


def test_reader_of_the_pipe_goes_away():
    for ignored in ("", "trap '' PIPE; "):
        command = f"{ignored}'{ISOTRACE}' show '{big_trace()}' | head -n 2"
        run = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"],
                             capture_output=True, text=True, check=True, env=environment())
        assert run.stderr == "", run.stderr
        lines = run.stdout.splitlines()
        assert len(lines) == 3
        assert lines[2] == ("0" if ignored else "141"), lines[2]


def test_full_disk_and_closed_output():
    for target in (">/dev/full", ">&-"):
        for command in ("show", "stats", "show -f json"):
            run = subprocess.run(["bash", "-c", f"'{ISOTRACE}' {command} '{DEMO}' {target}"],
                                 capture_output=True, text=True, check=False, env=environment())
            assert run.returncode == 4, (command, target, run)
            assert "cannot write to standard output" in run.stderr


def test_filters_that_nothing_passes():
    for args in (["--session=99"], ["--transaction=99"], ["-m", "zzz"], ["--from=1h"]):
        show(DEMO, *args).expect(0, "nothing passes the filters, of ")
        show(DEMO, "--format=ndjson", *args).expect(0)
    assert show(DEMO, "--transaction=1").expect().out == show(DEMO, "--txn=1").expect().out
    assert "--transaction" not in isotrace("help", "show").out


def test_same_trace_same_bytes():
    for args in ([], ["--format=json"], ["--format=ndjson"]):
        assert show(DEMO, *args).raw == show(DEMO, *args).raw


# ---- nodes ----

def test_lanes_of_nodes():
    path = scratch("life.itr")
    cluster_life().write(path)
    text = show("--cluster", "--width=108", path).expect().out
    lanes = text.splitlines()
    # 100 columns for 11 seconds: state and its time, by hand.
    axis, n1, bar1, n2, bar2 = lanes[:5]
    assert axis.split() == ["1.00", "ms", "11.0", "s"], axis
    assert n1 == "n1      " + "=" * 100, n1
    states = n2[8:]
    assert n2.startswith("n2      ") and len(states) == 100
    # Ended at 4.5 s, on its way at 7 s, well at 9 s.
    for second, mark in ((0, "="), (4, "="), (5, "x"), (6.5, "x"), (7.5, "~"), (8.5, "~"), (9.5, "="), (10.9, "=")):
        assert states[int((second - 0.001) / 10.999 * 100)] == mark, (second, states)
    begin, end = bar2.index("|"), bar2.rindex("|")
    assert bar2[begin + 1:].startswith("kill n2") and abs(begin - 8 - 36.4) < 1.5 and abs(end - 8 - 45.5) < 1.5, bar2
    assert "|to n2: cut" in bar1 and abs(bar1.index("|") - 8 - 54.5) < 1.5, bar1
    listed = [line.split(None, 4)[:4] + [line.split(None, 4)[4]] for line in text.split("failed\n\n")[1].splitlines()]
    assert ["4.00", "s", "n2", "operation", "kill n2, 1.00 s"] in listed and ["6.00", "s", "n1", "link", "to n2: cut, 2.00 s"] in listed, listed
    assert ["4.50", "s", "n2", "exit", "ended by signal 9, as asked by kill"] in listed
    assert ["7.00", "s", "n2", "state", "Joiner, 2.00 s"] in listed
    assert [line[4] for line in listed if line[3] == "point"] == ["start, 1.00 ms", "end, 1.00 ms"], listed
    # A trace that knows nothing of nodes.
    done = show("--cluster", DEMO)
    assert done.status == 0 and "says nothing of what happened to nodes" in done.err and not done.out, done.err


if __name__ == "__main__":
    tap.main(globals())
