#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_reads.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

Which rows, and which conditions, are recorded of a read.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import (  # noqa: E402
    ISOREC, RELEASE, SERVER, TABLES, judged, main, prepare, recorded, run, same_for, sql, violations)
from proxy_harness import test  # noqa: E402


@test
def aggregates_are_seen():
    """the rows that SUM() and GROUP BY read; a LIMIT that cut nothing off leaves the condition whole"""
    sql(TABLES)
    sql("delete from plain; insert into plain values (1, 1), (2, 1), (3, 2); create table uniq(id int primary key, "
        "u int, a varchar(9), b int, c int, unique (u), unique ab(a, b), key(c)); "
        "insert into uniq values (7, 2, 'X', 3, 5), (8, null, null, 3, null)", database="it")
    prepare("--quiet", "it.plain", "it.uniq")
    # Statement, condition of its exact probe, keys of its rows (None: not seen), what else is said.
    asked = [
        ("select sum(v) from plain where id < 3", "`id` < 3", [1, 2], None),
        ("select v, count(*) from plain group by v order by v", "TRUE", [1, 2, 3], None),
        ("select max(v) from plain", "TRUE", [1, 2, 3], None),
        ("select count(*) from plain where id > 9", "`id` > 9", [], None),
        ("select id from plain where v = 1 limit 3", "`v` = 1", [1, 2], None),
        ("select id from plain where v = 1 limit 1", None, [1], "?"),
        ("select id from plain where id = 2 limit 1", "`id` = 2", [2], None),
        ("select u from uniq where u = 2 limit 1", "`u` = 2", [7], None),
        ("select u from uniq where a = 'x' and b = 3 limit 1", "`a` = 'x' AND `b` = 3", [7], None),
        ("select u from uniq where a = 'x' limit 1", None, [7], "?"),
        ("select u from uniq where c = 5 limit 1", None, [7], "?"),
        ("select id from plain where v = 1 order by id limit 1",
         "SELECT 1 FROM `it`.`plain` WHERE `v` = 1 ORDER BY `id` LIMIT 1", [1], None),
        ("select v as id from plain where v = 1 order by id limit 1", None, [1], "?"),
        ("select id from plain where v = 1 for update skip locked", None, [1, 2], "?"),
        ("select distinct v from plain", None, None, "PART OF SELECT DISTINCT 1 FROM `it`.`plain`"),
        ("select v, count(*) from plain group by v having v > 1", None, None,
         "PART OF SELECT DISTINCT 1 FROM `it`.`plain`"),
        ("select distinct v from plain limit 1", None, None, "?"),
        ("insert into plain values (3, 3) on duplicate key update v = 2", None, None, None),
        ("insert ignore into plain values (3, 3)", None, None, "?"),
        # MySQL: the groups would come in another order.
        ("select v, count(*) from plain group by v",
         *((None, None, "PART OF SELECT DISTINCT 1 FROM `it`.`plain`")
           if RELEASE.startswith("mysql") else ("TRUE", [1, 2, 3], None))),
    ]
    if RELEASE == "mariadb-10.5":
        asked = [a for a in asked if "skip locked" not in a[0]]
    _, got, _ = recorded(lambda port: sql("; ".join(a[0] for a in asked), port=port, database="it"), "it")
    texts = {(r["session"], r["number"]): r["text"] for r in got if r["kind"] == "stmt"}
    for text, condition, keys, more in asked:
        [place] = [p for p, t in texts.items() if t == text]
        probes = [r for r in got if r["kind"] == "probe" and r["probe"] != 7 and
                  (r["session"], r["number"]) == place]
        seen = [(p["predicate"], sorted(row[0] for row in p["rows"])) for p in probes if p["exact"]]
        assert seen == ([] if keys is None else [(condition, keys)]), (text, probes)
        other = [p["predicate"] for p in probes if not p["exact"]]
        assert other == ([more] if more else []), (text, probes)


JOINTS = """
[setup]
create table c(id int primary key, name varchar(20)) engine=innodb;
create table o(id int primary key, cust int, amount int, key(cust)) engine=innodb;
insert into c values (5,'five'),(6,'six'),(7,'seven');
insert into o values (1,5,10),(2,5,20),(3,6,30);
[schedule]
A> begin;
B> begin;
A> select o.id, o.amount, c.name from o join c on o.cust = c.id where c.id = 5;
B> %s;
A> insert into o values (10, 5, 1);
B> insert into o values (11, 5, 1);
A> commit;
B> commit;
[final]
select * from o;
"""


@test
def rows_that_joins_pass_over():
    """INSERT phantoms through joins, subqueries and LIMIT are found, everything is decided"""
    asks = {
        "select count(*) from o where cust = 5": "G2",
        "select c.name, o.id from c left join o on o.cust = c.id where c.id < 6": "G2",
        "select sum(amount) from c, o where o.cust = c.id and c.name = 'five'": "G2",
        "select id from o where cust in (select id from c where name < 'six')": "G2",
        "select a.id, b.id from o a join o b on a.cust = b.cust where a.id = 2": "G2",
        "select id from o where cust = 5 order by id desc limit 1": "G2",
        "select * from c where not exists (select 1 from o where o.cust = c.id and o.amount = 1)": "G2",
        "select count(*) from c where id not in (select cust from o where amount < 10)": "G2",
        # These the other insert does not change.
        "select * from c where id not in (select cust from o where amount > 5)": None,
        "select * from c where not exists (select 1 from o where o.cust = c.id) and c.id > 5": None,
        "select * from o where exists (select 1 from c where c.id = o.cust and name = 'six')": None,
        "select id from o where cust = 5 order by id limit 1": None,
        "select * from c where id = 7 limit 1": None,
        "select c.name, o.id from c left join o on o.cust = c.id where c.id = 7": None,
        "select * from c left join o on o.cust = c.id where o.amount = 30": None,
    }
    for ask, expected in asks.items():
        for level, verdict in judged(JOINTS % ask).items():
            assert verdict["coverage"]["undecided"] == 0, (ask, level, verdict["coverage"])
            found = [f["class"] for f in verdict["findings"]]
            assert found == ([expected] if expected and level == "RR" else []), (ask, level, found)
            assert not violations(verdict), (ask, level, violations(verdict))


PASSING_WRITES = """
[setup]
create table c(id int primary key, name varchar(20)) engine=innodb;
create table o(id int primary key, cust int, amount int, key(cust)) engine=innodb;
create table x(id int primary key, v int) engine=innodb;
insert into c values (5,'five'),(6,'six'),(7,'seven');
insert into o values (1,5,10),(2,5,20),(3,6,30);
insert into x values (1,0);
create view five as select id, cust, amount from o where cust = 5;
create view first_of_five as select id, amount from five where id < 3;
create view six as select * from o where cust = 6;
create view odd(cust, id, amount) as select id, cust, amount from o;
[schedule]
A> begin;
B> begin;
A> select * from x where id = 1;
B> %s;
B> update x set v = 1 where id = 1;
B> commit;
A> insert into o values (10, 5, 1);
A> commit;
[final]
select * from o;
"""


@test
def rows_that_writes_pass_over():
    """INSERT phantoms of UPDATE and DELETE of several tables and with LIMIT are found, everything is decided"""
    asks = {
        "update o join c on o.cust = c.id set o.amount = 5 where c.name = 'five'": "G2",
        "update o join c on o.cust = c.id set o.amount = 10 where c.name = 'five' and o.id > 1": "G2",
        "update o, c set o.amount = 5, c.name = 'FIVE' where o.cust = c.id and c.id = 5": "G2",
        "delete o from o join c on o.cust = c.id where c.name = 'five'": "G2",
        "delete from o, c using o join c on o.cust = c.id where c.id = 5": "G2",
        "delete y from o y where y.cust = 5": "G2",
        "update o set amount = 6 where cust = 5 order by id desc limit 1": "G2",
        "delete from o where cust = 5 order by id limit 3": "G2",
        # Nothing changes, but the rows were looked at.
        "update o join c on o.cust = c.id set o.amount = o.amount where c.name = 'five'": "G2",
        # These the insert does not change.
        "update o join c on o.cust = c.id set o.amount = 5 where c.name = 'six'": None,
        "update o left join c on o.cust = c.id and c.id = 6 set o.amount = 5 where o.cust = 6": None,
        "delete o from o join c on o.cust = c.id where c.name = 'five' and o.id < 5": None,
        "update o set amount = 6 where cust = 5 order by id limit 1": None,
        "delete from o where cust = 5 order by id limit 2": None,
        "update o set amount = amount where cust = 5 order by id limit 2": None,
    }
    for ask, expected in asks.items():
        for level, verdict in judged(PASSING_WRITES % ask).items():
            assert verdict["coverage"]["undecided"] == 0, (ask, level, verdict["coverage"])
            found = [f["class"] for f in verdict["findings"]]
            assert found == ([expected] if expected and level == "RR" else []), (ask, level, found)
            assert not violations(verdict), (ask, level, violations(verdict))


@test
def rows_behind_views():
    """statements through a view of one table are statements on the table; others are undecided"""
    asks = {
        "select * from five": "G2",
        "select count(*) from five where amount < 10": "G2",
        "select y.amount from five y where y.id > 2": "G2",
        "update five set amount = 6": "G2",
        "delete from five where five.id > 5": "G2",
        "update five set amount = 6 order by id desc limit 1": "G2",
        "select * from five where amount > 5": None,
        "select * from first_of_five": None,
        "update first_of_five set amount = 6 where id > 0": None,
        "select * from six": None,
        "delete from six": None,
    }
    for ask, expected in asks.items():
        for level, verdict in judged(PASSING_WRITES % ask).items():
            assert verdict["coverage"]["undecided"] == 0, (ask, level, verdict["coverage"])
            found = [f["class"] for f in verdict["findings"]]
            assert found == ([expected] if expected and level == "RR" else []), (ask, level, found)
    # Columns that are called otherwise; a join; a view that was made anew.
    for ask in ("select * from odd where cust = 5", "select * from five join o on o.id = five.id",
                "commit;\nB> create or replace view six as select * from o where cust = 5;\nB> begin;\n"
                "B> select * from six"):
        verdict = judged(PASSING_WRITES % ask, ("RR",))["RR"]
        assert verdict["coverage"]["undecided"] and not violations(verdict), (ask, verdict["coverage"])


BESIDE = """
[setup]
create table o(id int primary key, cust int, amount int, key(cust)) engine=innodb;
create table c(id int primary key, name varchar(20)) engine=innodb;
insert into o values (1,5,10),(2,5,20),(3,6,30);
insert into c values (5,'five'),(6,'six');
create table m(a int primary key) engine=myisam;
insert into m values (1);
create view five as select id, cust, amount from o where cust = 5;
[schedule]
A> begin;
B> begin;
A> select name from c where id = 6;
B> select name from c where id = 6;
A> %s;
B> %s;
A> update o set amount = 11 where id = 1;
B> update o set amount = 21 where id = 2;
A> commit;
B> commit;
[final]
select * from o;
"""


@test
def versions_of_rows_that_are_not_returned():
    """what DISTINCT, HAVING, ROLLUP, GROUP BY and views read is known at REPEATABLE READ"""
    asks = (
        "select distinct amount from o where id between 1 and 2 order by amount",
        "select distinct c.name from o join c on o.cust = c.id where o.id < 3",
        "select cust, sum(amount) from o where id < 3 group by cust having sum(amount) > 1000",
        "select cust, count(*) from o where id < 3 group by cust",
        "select cust, sum(amount) from o where id <= 2 group by cust with rollup",
        "select amount from five",
        "select sum(amount) from five where id < 9",
        "select distinct y.cust from five y",
    )
    for ask in asks:
        verdict = judged(BESIDE % (ask, ask), ("RR",))["RR"]
        assert verdict["coverage"]["undecided"] == 0, (ask, verdict["coverage"])
        assert [f["class"] for f in verdict["findings"]] == ["G2-item"], (ask, verdict["findings"])
        assert not violations(verdict), (ask, violations(verdict))
    # One of two only; nothing is asked below REPEATABLE READ, outside of a transaction, before there is a
    # snapshot, of tables that may have none, or twice.
    for ask in ("select distinct amount from o where id = 3", "select amount from five where id = 3"):
        verdict = judged(BESIDE % (asks[0], ask), ("RR",))["RR"]
        assert verdict["coverage"]["undecided"] == 0 and not verdict["findings"], (ask, verdict)
    for ask in ("select distinct amount from o where id < 3 and amount < rand() * 1000",
                "select distinct amount from o where id < 3 and amount < (select 1000)",
                "select distinct amount from o where id < 3 limit 1",
                "select distinct amount from o, m where o.id < 3"):
        verdict = judged(BESIDE % (ask, ask), ("RR",))["RR"]
        assert verdict["coverage"]["undecided"] and not verdict["findings"], (ask, verdict)
    verdict = judged(BESIDE % (asks[0], asks[0]), ("RC",))["RC"]
    assert verdict["coverage"]["undecided"] and not violations(verdict), verdict
    first = BESIDE.replace("select name from c where id = 6;", "do 1;")
    verdict = judged(first % (asks[0], asks[0]), ("RR",))["RR"]
    assert verdict["coverage"]["undecided"] and not verdict["findings"], verdict


@test
def snapshots_are_the_clients():
    """a read that fails fixes no snapshot, nor does one of which the server knows that it is empty"""
    def client(port):
        import pymysql as driver  # pylint: disable=import-outside-toplevel
        got = []
        a, b = (driver.connect(host="127.0.0.1", port=port, user="root", database="it", autocommit=True)
                for _ in range(2))
        with a.cursor() as reads, b.cursor() as writes:
            writes.execute("delete from plain")
            writes.execute("insert into plain values (1, 1), (2, 2)")
            for ask in ("select distinct nothing from plain where id < 3", "select distinct v from plain having nothing",
                        "select id, count(*) from plain group by id having 1 = 0", "select distinct id from plain",
                        "select distinct id from plain where v > 'x'"):
                reads.execute("begin")
                try:
                    reads.execute(ask)
                    got.append(reads.fetchall())
                except driver.err.Error as error:
                    got.append(error.args[0])
                writes.execute("update plain set v = v + 1 where id = 1")
                reads.execute("select * from plain where id = 1")
                got.append(reads.fetchall())
                for command in ("select distinct v from plain where id < 'x'", "show warnings"):
                    reads.execute(command)
                    got.append(reads.fetchall())
                reads.execute("commit")
        return "\n".join(map(repr, got))
    same_for(client)


@test
def no_tables():
    """statements without tables need no probe: user locks, clocks, settings; a stored function does"""
    sql(TABLES)
    sql("create function it.peek() returns int reads sql data return (select max(v) from it.plain)")
    prepare("--quiet", "--add-key", "it")
    quiet = ("select convert_tz('2001-01-01 01:00:00', 'UTC', 'UTC') is not null", "select get_lock('a', 0)",
             "select if(get_lock('a', 0), unix_timestamp(sysdate(6)), null)", "select release_lock('a')", "select 1 as a limit 1",
             "select version(), @@sql_mode", "select is_free_lock('a'), curdate()", "show variables like 'sql_mode'",
             "select count(*) from information_schema.tables")
    _, got, verdict = recorded(lambda port: sql(";".join(quiet) + "; select peek();", port=port, database="it"), "it")
    flags = {r["text"]: r["flags"] for r in got if r["kind"] == "stmt"}
    assert not [q for q in quiet if not flags[q] & 128], flags
    assert not flags["select peek()"] & 128, flags
    assert verdict["coverage"]["reasons"].get("statements without a probe", 0) <= 1, verdict["coverage"]


@test
def conditions_that_depend_on_the_mode():
    """|| is OR in one session and joins strings in another: such a condition is not recorded"""
    for mode in ("trigger", "select"):
        sql("drop database if exists it; create database it; use it; create table t(id int primary key, "
            "a varchar(5), b varchar(5)); insert into t values (1,'x','y'),(2,'1','0')")
        prepare("--quiet", "--mode=" + mode, "it")
        out, got, _ = recorded(lambda port: sql(
            "set sql_mode = 'PIPES_AS_CONCAT'; select id from t where a || b = 'xy'; update t set b = 'z' where "
            "a || b = 'xy'; select id from t where b = 'z'; set sql_mode = 'NO_BACKSLASH_ESCAPES'; "
            "update t set a = 'q' where b <> 'c:\\d'; select count(*) from t where a = 'q'",
            "-N", port=port, database="it"), "it", mode=mode)
        assert out.split() == ["1", "1", "2"], out
        predicates = {r["predicate"] for r in got if r["kind"] == "probe"}
        assert "`b` = 'z'" in predicates and not [p for p in predicates if p and "xy" in p], predicates


@test
def keys_stay_out_of_conditions():
    """a condition that holds a key of AES_DECRYPT is not recorded, by text or by parameter"""
    sql(TABLES)
    for mode in ("trigger", "select"):
        prepare("--quiet", "--mode=" + mode, "it.plain")
        _, got, verdict = recorded(lambda port: sql(
            "select v from plain where id = 1 or aes_decrypt(v, 'sesame') is not null; "
            "update plain set v = 8 where aes_encrypt(id, 'sesame') is null; "
            "prepare p from \"select v from plain where aes_decrypt(v, ?) = 'x'\"; set @s = 'x'; "
            "execute p using @s; select v from plain where v = 8", port=port, database="it"), "it", mode=mode)
        assert "sesame" not in json.dumps(got)
        assert "`v` = 8" in [r["predicate"] for r in got if r["kind"] == "probe"], got
        assert not violations(verdict), violations(verdict)
        prepare("--quiet", "it", command="unprepare")


@test
def a_partition_is_a_condition():
    """SELECT ... PARTITION (p) says nothing of the rows of other partitions"""
    sql("drop database if exists it; create database it")
    sql("create table t(id int primary key, v int) partition by range(id) "
        "(partition p0 values less than (10), partition p1 values less than (20)); "
        "insert into t values (1,1),(11,11)", database="it")
    for mode in ("trigger", "select"):
        prepare("--quiet", "--mode=" + mode, "it")
        _, got, verdict = recorded(lambda port: sql(
            "select * from t partition (p0); update t set v = v + 1; select * from t partition (p0); "
            "update t partition (p1) set v = 5", port=port, database="it"), "it", mode=mode)
        assert not violations(verdict), violations(verdict)
        # The two reads and the write count as undecided: the rest of the table was not looked at.
        assert verdict["verdict"] == "incomplete" and verdict["coverage"]["undecided"] >= 2, verdict
        prepare("--quiet", "it", command="unprepare")


@test
def probes_of_the_client():
    """SELECTs that a comment marks are probes, and the client gets what it asked for"""
    sql(TABLES)
    prepare("--quiet", "--mode=select", "it.plain")
    out, got, verdict = recorded(lambda port: sql("""
begin; /* BWR */ select v from plain where id < 3 for update; /* BPM */ select id from plain where v = 3;
update plain set v = v + 1 where id < 3; /* APM */ select id from plain where v = 3;
/* isorec: AWR */ select v from plain where id < 3; /* VSR */ select id from plain;
/* PM */ select id from plain where v = 3; select * from plain where v = 3; commit;
""", "-N", port=port, database="it"), "it", mode="select")
    assert out.split() == ["1", "2", "3", "2", "3", "2", "3", "1", "2", "3", "2", "3", "2", "3", "3", "3"], out
    numbers = {r["number"]: r["text"] for r in got if r["kind"] == "stmt"}
    said = {(r["probe"], numbers[r["number"]].split()[0]): r for r in got if r["kind"] == "probe"}
    assert {k for k in said} == {(0, "update"), (1, "update"), (3, "update"), (6, "select"), (3, "select"),
                                 (2, "select")}, said.keys()
    assert [row[0] for row in said[0, "update"]["rows"]] == [1, 2]
    assert [row[2] for row in said[1, "update"]["rows"]] == [0, 0] and said[1, "update"]["exact"]
    assert [row[0] for row in said[2, "select"]["rows"]] == [1, 2, 3]
    assert [row[0] for row in said[3, "select"]["rows"]] == [2, 3] and said[3, "select"]["exact"]
    assert not violations(verdict), violations(verdict)


@test
def predicate_probes():
    """BPM and APM, on request: what the images of BWR and AWR say of earlier conditions"""
    tests = {"`v` >= 3": lambda row: row[1] is not None and row[1] >= 3,
             "`id` IN (1, 4, 6)": lambda row: row[0] in (1, 4, 6),
             "`v` % 2 = 0 AND `id` < 5": lambda row: row[1] is not None and row[1] % 2 == 0 and row[0] < 5}

    def work(port):
        # Of the conditions those that depend on the session, or on other tables, are not asked for.
        sql("select * from plain p where p.v >= 3; select * from it.plain where plain.id in (1,4,6); "
            "select * from plain where v > @a; select * from plain where id in (select id from part); "
            "select * from plain where v < unix_timestamp(); select v from plain; "
            "select * from multi where b = 'x'", port=port, database="it")
        return sql("begin; select id from plain where v % 2 = 0 and id < 5; update plain x set v = v + 1 where x.id <= 2; "
                   "update plain set v = v; insert into plain values (4,4),(5,null); replace into plain values (6,6); "
                   "delete from plain where v = 3; insert into plain values (1,8) on duplicate key update v = 8; "
                   "commit; select * from plain order by id", "-N", port=port, database="it")

    said = {}
    for options in ((), ("--predicate-probes",)):
        sql(TABLES)
        prepare("--quiet", "--mode=select", "it.plain", "it.multi", "it.part")
        out, got, verdict = recorded(work, "it", mode="select", options=options)
        assert not violations(verdict), violations(verdict)
        said[options] = out, verdict["levels"], verdict["findings"], verdict["coverage"]
        found = [r for r in got if r["kind"] == "probe" and r["probe"] in (4, 5)]
        prepare("it", command="unprepare")
        if not options:
            assert not found
            continue
        images = {(r["session"], r["number"], r["probe"]): r for r in got
                  if r["kind"] == "probe" and r["probe"] in (0, 1)}
        texts = {(r["session"], r["number"]): r["text"] for r in got if r["kind"] == "stmt"}
        asked = 0
        for r in found:
            assert "plain" in texts[r["of_session"], r["of_number"]], r
            base = images[r["session"], r["number"], r["probe"] - 4]
            assert r["exact"] == base["exact"] and r["read_kind"] == base["read_kind"], (r, base)
            if r["predicate"] in tests:
                asked += 1
                wanted = sorted(row[:2] for row in base["rows"] if tests[r["predicate"]](row[3]))
                assert sorted(row[:2] for row in r["rows"]) == wanted, (r, base)
        assert {r["predicate"] for r in found} >= set(tests), {r["predicate"] for r in found}
        assert not [r for r in found if "@" in r["predicate"] or "SELECT" in r["predicate"].upper() or
                    "unix" in r["predicate"]], found
        # BPM of the UPDATEs and the DELETE, APM of all writes.
        assert asked == 3 * (3 + 6), asked
        assert [r for r in found if r["probe"] == 5 and r["exact"] and r["rows"]]
    assert said[()] == said["--predicate-probes",], said
    prepare("--quiet", "--mode=select", "it.plain")
    run([ISOREC, "proxy", "--node=127.0.0.1:1", "--user=root", "--predicate-probes"], status=2)


@test
def modes_do_not_mix():
    """tables that are prepared for one mode are refused in the other, with what to do"""
    sql(TABLES)
    prepare("--quiet", "--mode=select", "it.plain")
    assert "is prepared for select mode: unprepare it first" in prepare("it.plain", status=3)
    said = run([ISOREC, "proxy", "--node", "n1=127.0.0.1:%d" % SERVER["port"], "--user=root", "--database=it",
                "--instrument=trigger", "--listen=127.0.0.1:0", "-o", os.path.join(os.environ.get("TMPDIR", "/tmp"),
                "isorec-modes-%d.itr" % os.getpid())], status=4)
    assert "isorec prepare --mode trigger" in said, said


sys.exit(main())
