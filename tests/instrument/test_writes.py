#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_writes.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

Every kind of write is recorded, whichever session makes it.
"""
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import (  # noqa: E402
    ISOREC, ISOTRACE, RELEASE, SERVER, TABLES, judged, main, prepare, recorded, run, sql, violations)
from proxy_harness import Proxy, records, test  # noqa: E402

# ---- writes ----

WRITES = {
    "insert into plain values (10,1),(11,2),(12,3)": "III",
    "replace into plain values (10,5),(20,5)": "DII",
    "insert into plain values (11,9),(21,9) on duplicate key update v = v + 1": "UI",
    "update plain set v = 7 where id > 9 and id < 13": "UUU",
    "update plain set v = 7 where id > 9 and id < 13 and id <> 11": "NN",
    "update plain set id = id + 30 where id in (20, 21)": "KK",
    "delete from plain where id = 50": "D",
    "insert into plain values (50,1)": "I",
    "insert into plain select id + 60, v from part": "III",
    "update plain p join part q on p.id = q.id + 60 set p.v = 5, q.v = 99": "UUUUUU",
    "delete p, q from plain p join part q on p.id = q.id + 60 where q.id = 3": "DD",
    "insert ignore into plain values (10,1),(13,1)": "I",
    "update plain set v = 3 where id = 13 limit 1": "U",
    "update multi set a = a + 1, v = 0 where b = 'y'": "K",
    "insert into multi values (9,'\u00df','2026-01-01',null)": "I",
}


def letters(got, text):
    """What the probes say a statement wrote, in order."""
    stmt, = (r for r in got if r["kind"] == "stmt" and r["text"] == text)
    said = ""
    for probe in got:
        if probe["kind"] != "probe" or probe["probe"] != 7 or (probe["session"], probe["number"]) != (
                stmt["session"], stmt["number"]):
            continue
        assert probe["exact"], probe
        for row in probe["rows"]:
            key, version, previous, _, op = (row + [None] * 5)[:5]
            old_key = row[5] if len(row) > 5 else None
            said += "D" if op == 3 else "I" if op == 1 else "K" if old_key not in (None, key) else \
                "N" if version == previous else "U"
    return said


@test
def kinds_of_writes():
    """every row of every kind of write, and nothing else; the chain ends with the final rows"""
    sql(TABLES)
    prepare("--quiet", "--add-key", "it")
    _, got, verdict = recorded(lambda port: sql(";\n".join(WRITES), port=port, database="it"), "it")
    wrong = {text: letters(got, text) for text in WRITES
             if sorted(letters(got, text)) != sorted(WRITES[text])}
    assert not wrong, wrong
    assert not verdict["findings"], verdict["findings"]
    last = {json.dumps(row[0]): (row[1], row[3]) for probe in got if probe["kind"] == "probe" and
            probe["probe"] == 7 for row in probe["rows"] if len(row) > 3 and row[3]}
    checked = 0
    for part in (r for r in got if r["kind"] == "rows" and r["moment"] == "final" and r["versions"]):
        for row, version in zip(part["rows"], part["versions"]):
            if str(version) == str(last.get(json.dumps(row[0]), [None])[0]):
                assert row == last[json.dumps(row[0])][1], (row, last[json.dumps(row[0])])
                checked += 1
    assert checked > 5, checked


TOGETHER = [
    ("insert into plain values (70,1),(71,1),(72,2)", "III"),
    ("select v from plain where id = 70", ""),
    ("update plain set v = 2 where id between 70 and 72", "NUU"),
    ("update plain set v = 9 where id = 999", ""),
    ("insert into plain values (73,1),(70,1)", None),  # 1062; what it logged belongs to nobody
    ("select count(*) from plain", ""),
    ("delete from plain where id in (71, 72)", "DD"),
    ("replace into plain values (70,4)", "DI"),
    ("insert into plain values (74,1)", "I"),
    ("insert ignore into plain values (74,1),(75,1)", "I"),
    ("update plain set v = v + 1 where id >= 74", "UU"),
    ("insert into plain values (76, row_count())", "I"),
    ("delete from plain where id = 76", "D"),
    ("commit", ""),
]


@test
def writes_of_a_transaction():
    """their logs are read together, and each write has its own rows; far fewer queries than writes"""
    sql(TABLES)
    prepare("--quiet", "--add-key", "it")
    rounds = 5
    questions = "show session status like 'Questions'"
    script = [questions]
    for number in range(rounds):
        script += ["begin", *("%s /* %d */" % (text, number) for text, _ in TOGETHER), "delete from plain where id >= 70"]
    script.append(questions)

    def work(port):
        told = sql(";\n".join(script), "--force", "--comments", port=port, database="it")
        counts = [int(n) for n in re.findall(r"Questions\s+(\d+)", told)]
        own = counts[1] - counts[0] - (len(script) - 1)
        assert own <= 10 * rounds, own  # there are 11 writes in each, and two queries for one read alone

    _, got, verdict = recorded(work, "it")
    for number in range(rounds):
        for text, wanted in TOGETHER:
            said = letters(got, "%s /* %d */" % (text, number))
            assert sorted(said) == sorted(wanted or ""), (text, said)
    assert not violations(verdict), violations(verdict)


@test
def savepoints_and_errors():
    """a failed statement and what ROLLBACK TO takes back leave no version behind"""
    sql(TABLES)
    prepare("--quiet", "--add-key", "it")
    _, got, verdict = recorded(lambda port: sql("""
begin; update plain set v = 10 where id = 1; savepoint a; update plain set v = 11 where id = 1;
insert into plain values (8,8); rollback to a; insert into plain values (9,9),(1,1);
insert into plain values (8,80); delete from plain where id = 8; insert into plain values (8,81);
commit; begin; update plain set v = 0; rollback; select * from plain;
""", "-f", port=port, database="it"), "it")
    failed = [r for r in got if r["kind"] == "stmt" and r["error"] == 1062]
    assert len(failed) == 1 and not [r for r in got if r["kind"] == "probe" and
                                     r["number"] == failed[0]["number"]], failed
    assert not verdict["findings"] and verdict["verdict"] == "ok", verdict


@test
def rows_that_ignore_leaves():
    """UPDATE IGNORE: what MariaDB logs of rows that it then left alone shows in the number that it changed"""
    sql("drop database if exists it; create database it; use it; create table t(id int primary key, u int, "
        "unique key(u)); insert into t values (1,1),(2,2),(3,3)")
    prepare("--quiet", "it")

    def exact(got):
        texts = {r["number"]: r["text"] for r in got if r["kind"] == "stmt"}
        return {r["exact"] for r in got if r["kind"] == "probe" and r["probe"] == 7 and
                "ignore" in texts[r["number"]]}
    mariadb = "MariaDB" in SERVER["version"]
    out, got, verdict = recorded(lambda port: sql(
        "update ignore t set u = 1 where id > 1; select * from t; update t set u = u + 10; begin; "
        "update ignore t set u = 11; select * from t for update; commit; select * from t", "-N",
        port=port, database="it"), "it")
    assert out.split() == ["1", "1", "2", "2", "3", "3"] + ["1", "11", "2", "12", "3", "13"] * 2, out
    assert exact(got) == {True} and not verdict["findings"], (exact(got), verdict["findings"])
    # MySQL says only how many rows it passed over.
    assert verdict["verdict"] == ("ok" if mariadb else "incomplete"), verdict
    # One of two.
    out, got, verdict = recorded(lambda port: sql(
        "begin; update t set u = u + 100; update ignore t set u = 21 where id > 1; commit; select * from t",
        "-N", port=port, database="it"), "it")
    assert out.split() == ["1", "111", "2", "21", "3", "113"], out
    assert exact(got) == {not mariadb}, got
    assert not verdict["findings"], verdict["findings"]
    assert verdict["verdict"] == ("incomplete" if mariadb else "ok"), verdict


@test
def sessions_without_autocommit():
    """autocommit=0: one transaction from the first statement on, with savepoints and COMMIT by definitions"""
    for mode in ("trigger", "select"):
        sql("drop database if exists it; create database it; use it; create table t(id int primary key, v int); "
            "insert into t values (1,1),(2,2)")
        prepare("--quiet", "--mode=" + mode, "it")
        out, got, verdict = recorded(lambda port: sql(
            "set autocommit = 0; select v from t where id = 1; update t set v = 5 where id = 1; savepoint a; "
            "update t set v = 6 where id = 1; rollback to a; select v from t where id = 1; commit; "
            "update t set v = 9 where id = 2; rollback; select v from t where id = 2; insert into t values (3, 3); "
            "create temporary table x(a int); create table y(a int); select v from t where id = 3; "
            "set autocommit = 1; select count(*) from t", "-N", port=port, database="it"), "it", mode=mode)
        assert out.split() == ["1", "5", "2", "3", "3"], out
        ends = [(r["outcome"], r["reason"]) for r in got if r["kind"] == "txn" and r["event"] == 1 and
                not r["autocommit"]]
        assert ends == [(1, "commit"), (2, "rollback"), (1, "implicit commit"), (1, "implicit commit")], ends
        assert not verdict["findings"], verdict["findings"]
        assert mode == "select" or verdict["verdict"] == "ok", verdict


@test
def cascades():
    """rows that a foreign key changes without triggers are never part of a definite finding"""
    sql(TABLES + "alter table child drop foreign key child_ibfk_1; alter table child add foreign key up(p) references parent(id) on delete cascade on "
        "update cascade;")
    prepare("--quiet", "--add-key", "it")
    _, got, verdict = recorded(lambda port: sql("""
update parent set id = 7 where id = 1; insert into parent values (1); insert into child values (4,1);
select * from child; update child set p = 2 where id = 1; truncate table part;
insert into part values (1,1); select * from part;""", port=port, database="it"), "it")
    assert not verdict["findings"], verdict["findings"]
    tables = {r["table"]: r["name"] for r in got if r["kind"] == "schema"}
    exact = {(tables[r["table"]], r["exact"]) for r in got if r["kind"] == "probe"}
    assert ("child", False) in exact and ("child", True) not in exact, exact
    assert ("part", False) in exact and ("part", True) not in exact and ("parent", True) in exact, exact
    assert verdict["coverage"]["undecided"], verdict["coverage"]


CASCADES = """
[setup]
create table p(id int primary key, k char(8) unique) engine=innodb;
create table c(id int primary key, p int, k char(8), foreign key (p) references p(id) on delete cascade) engine=innodb;
create table g(id int primary key, c int, foreign key (c) references c(id) on delete cascade) engine=innodb;
create table s(id int primary key, up int, foreign key (up) references s(id) on delete cascade) engine=innodb;
create table w(id int primary key, k char(8), foreign key (k) references p(k) on delete cascade) engine=innodb;
create table x(id int primary key, v int) engine=innodb;
insert into p values (1, 'one'), (2, 'two'), (3, 'three');
insert into c values (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c'), (4, null, 'd');
insert into g values (1, 1), (2, 3), (3, 4);
insert into s values (1, null), (2, 1), (3, 2), (4, null);
insert into w values (1, 'one'), (2, 'two');
insert into x values (1, 0);
%s
[schedule]
A> begin;
B> begin;
A> %s;
B> select * from x where id = 1;
B> %s;
B> commit;
A> update x set v = 1 where id = 1;
A> commit;
B> select * from c;
[final]
select * from c;
"""


@test
def cascades_that_delete():
    """rows that a foreign key deletes are found out: write skews that need them, and nothing else"""
    gone, all_there = "delete from p where id = 1", "select * from %s where id = %d"
    skew = ["G2-item", "G2"]
    cases = {
        (all_there % ("c", 1), gone): skew,
        ("select * from c where p = 1", gone): skew,
        (all_there % ("c", 3), gone): None,
        (all_there % ("c", 4), gone): None,
        # ... and what follows those; and a table that follows itself; and not the primary key.
        (all_there % ("g", 1), gone): skew,
        (all_there % ("g", 2), gone): None,
        (all_there % ("s", 3), "delete from s where id = 1"): skew,
        (all_there % ("s", 4), "delete from s where id = 1"): None,
        (all_there % ("w", 1), gone): skew,
        (all_there % ("w", 2), gone): None,
        # Changed by the transaction before it deletes; inserted; deleted already.
        (all_there % ("c", 3), "update c set p = 1 where id = 3;\nB> " + gone): skew,
        ("select * from c where p = 3", "insert into c values (9, 3, '');\nB> delete from p where id = 3"): None,
        (all_there % ("c", 1), "replace into p values (1, 'one')"): skew,
        (all_there % ("c", 2), "delete p, c from p join c on c.p = p.id where p.id = 1"): skew,
        # Taken back.
        (all_there % ("c", 1), "savepoint a;\nB> " + gone + ";\nB> rollback to a"): None,
        (all_there % ("c", 1), gone + ";\nB> select * from c;\nB> rollback"): None,
    }
    # MySQL 9.7 keeps rows that refer to one which is replaced.
    replaced = [case for case in cases if "replace" in case[1] and RELEASE.startswith("mysql")]
    for (read, write), expected in cases.items():
        for level, verdict in judged(CASCADES % ("", read, write)).items():
            found = [f["class"] for f in verdict["findings"]]
            assert not violations(verdict), (read, write, level, violations(verdict))
            if (read, write) in replaced:
                continue
            assert found == (expected if expected and level == "RR" else []), (read, write, level, found)
            assert verdict["coverage"]["undecided"] == 0, (read, write, level, verdict["coverage"])
    # What is not found out is said not to be.
    follower = "create table n(id int primary key, p int, foreign key (p) references p(id) on delete set null) " \
               "engine=innodb; insert into n values (1, 2), (2, 3);"
    for write in ("set foreign_key_checks = 0;\nB> " + gone, "delete from p where id = 2"):
        verdict = judged(CASCADES % (follower, "select * from n", write), ("RR",))["RR"]
        assert not violations(verdict), (write, violations(verdict))
        assert verdict["coverage"]["undecided"], (write, verdict["coverage"])


@test
def long_logs():
    """a statement that writes 20,000 rows; one whose log is longer than the server can send"""
    sql("drop database if exists it; create database it; use it; create table n(id int primary key, t text);"
        "create table d(i int); insert into d values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
    prepare("--quiet", "it.n")
    rows = "select a.i + 10*b.i + 100*c.i + 1000*e.i + 10000*f.i from d a, d b, d c, d e, d f " \
           "where f.i < 2"
    _, got, verdict = recorded(lambda port: sql(
        "insert into n(id) %s; update n set t = repeat('x', 1000) where id < 19000; "
        "delete from n where id < 10" % rows, port=port, database="it"), "it")
    writes = {r["number"]: r for r in got if r["kind"] == "probe" and r["probe"] == 7}
    insert, update, delete = (writes[r["number"]] for r in got if r["kind"] == "stmt" and r["affected"])
    assert len(insert["rows"]) == 20000 and insert["exact"]
    assert not update["exact"] and 1000 < len(update["rows"]) < 19000, len(update["rows"])
    assert len(delete["rows"]) == 10 and delete["exact"]
    assert not verdict["findings"], verdict["findings"]


# ---- others ----

OTHERS = (
    "update plain set v = 77 where id = 1; insert into plain values (30,1)",
    "delete from plain where id = 2", "delete from plain where id = 3; insert into plain values (3,9)",
    "update plain set v = 5; update plain set v = 6", "truncate table multi",
    "alter table withtrig add column later int; update withtrig set later = 1",
)


@test
def other_writers():
    """what sessions change that are not recorded is never a violation; their versions are undecided"""
    mine = "begin; select * from plain; update plain set v = v + 1; commit; select * from plain; " \
           "insert into multi values (50,'a','2020-01-01',1); update withtrig set v = v + 1; select v from withtrig;"
    for mode in ("trigger", "select"):
        for other in OTHERS:
            sql(TABLES)
            prepare("--quiet", "--add-key", "--mode=" + mode, "it")

            def work(port):
                sql(mine, port=port, database="it")
                sql(other, database="it")
                sql(mine.replace("50", "51"), port=port, database="it")
                sql("replace into plain values (2,2),(3,3); insert ignore into multi values "
                    "(1,'x','2020-01-01',1); select * from multi", port=port, database="it")
            _, _, verdict = recorded(work, "it", mode=mode, all_writers=False)
            bad = violations(verdict)
            severities = {f["severity"] for f in verdict["findings"]}
            assert severities <= {"suspicion", "documented"}, (mode, other, bad)
            # A session that only inserts and updates is known by the names of the versions.
            if "delete" not in other and "truncate" not in other:
                assert not bad, (mode, other, bad)
            assert verdict["verdict"] == "incomplete", verdict["verdict"]


@test
def lost_with_all_writers():
    """with --all-writers a version that vanished is a violation"""
    sql(TABLES)
    prepare("--quiet", "it.plain")

    def work(port):
        sql("update plain set v = 10 where id = 1", port=port, database="it")
        sql("delete from plain where id = 1", database="it")
    _, _, verdict = recorded(work, "it")
    assert [f["severity"] for f in verdict["findings"] if f["class"] == "lost-version"] == ["violation"], verdict
    sql(TABLES)
    prepare("--quiet", "it.plain")
    _, _, verdict = recorded(work, "it", all_writers=False)
    lost, = [f for f in verdict["findings"] if f["class"] == "lost-version"]
    assert lost["severity"] == "suspicion" and "--all-writers" in lost["explanation"], lost


@test
def tags_are_claimed():
    """two recorders of one server never have the same tag, and one server may be two nodes"""
    import pymysql  # pylint: disable=import-outside-toplevel
    sql(TABLES)
    prepare("--quiet", "it.plain")
    node = "127.0.0.1:%d" % SERVER["port"]
    options = ["--instrument=trigger", "--user=root", "--database=it"]

    def tags(proxy):
        return {s["variables"]["isorec_tag"] for s in records(ISOTRACE, proxy.trace)
                if s["kind"] == "server"}
    db = pymysql.connect(host="127.0.0.1", port=SERVER["port"], user="root")
    with db.cursor() as cursor:
        for tag in range(1, 4096):  # another recorder has all but two
            if tag not in (77, 4095):
                cursor.execute("select get_lock('isorec_tag_%d', 0)" % tag)
        with Proxy(ISOREC, ["a=" + node, "b=" + node], *options) as one, \
                Proxy(ISOREC, [node], *options) as two:
            sql("update plain set v = 10 where id = 1", port=one.port, database="it")
            sql("update plain set v = 20 where id = 2", port=two.port, database="it")
            cursor.execute("select id, isorec_ver >> 52 from it.plain where id < 3 order by id")
            written = dict(cursor.fetchall())
            for proxy in (one, two):
                proxy.stop()
            assert {written[1], written[2]} == {77, 4095}, written
            assert (tags(one), tags(two)) == ({written[1]}, {written[2]}), (tags(one), tags(two))
        # They are free again; without any there is no recorder.
        cursor.execute("select is_used_lock('isorec_tag_77'), is_used_lock('isorec_tag_4095')")
        assert cursor.fetchone() == (None, None)
        cursor.execute("select get_lock('isorec_tag_77', 0), get_lock('isorec_tag_4095', 0)")
        with tempfile.TemporaryDirectory() as folder:
            said = run([ISOREC, "proxy", "--node", node, "--listen=127.0.0.1:0", *options, "-o",
                        os.path.join(folder, "none.itr")], status=4)
        assert "another recorder" in said, said
    db.close()
    prepare("it", command="unprepare")


@test
def stored_functions():
    """what a function writes that a SELECT calls is recorded, and not exact"""
    sql(TABLES)
    sql("set global log_bin_trust_function_creators = 1", database="it")
    sql("delimiter //\ncreate function writes() returns int modifies sql data begin "
        "insert into plain values (60,1); return 1; end//\n", database="it")
    for mode in ("trigger", "select"):
        prepare("--quiet", "--mode=" + mode, "it.plain")
        _, got, verdict = recorded(lambda port: sql(
            "select writes(); select * from plain; update plain set v = 3 where id = 60; select * from plain; "
            "delete from plain where id = 60", port=port, database="it"), "it", mode=mode)
        assert not violations(verdict), violations(verdict)
        prepare("it", command="unprepare")


@test
def answers_that_triggers_change():
    """an UPDATE that succeeds with warnings because of our triggers is noted, and counted; others are not"""
    changed = "update word set w = w + 1 where id > 0 and k > 5"
    sql(TABLES)
    sql("create table word (id int primary key, k varchar(10), w int, key (k)); "
        "insert into word values (1, '1', 0), (2, '9x', 0)", database="it")
    maria = RELEASE.startswith("mariadb")
    for mode in ("trigger", "select"):
        prepare("--quiet", "--mode=" + mode, "it.word")
        _, got, verdict = recorded(lambda port: sql(
            "update word set w = 1 where id = 1; update ignore word set w = w + 1 where id > 0 and k > 5; %s" %
            (changed if maria else "update word set w = 2 where id = 2"), port=port, database="it"), "it", mode=mode)
        notes = [r["data"]["statement"] for r in got if r["kind"] == "note" and r["topic"] == "answer doubted"]
        stmts = [r["number"] for r in got if r["kind"] == "stmt" and r["text"] == changed and r["warnings"] and not r["error"]]
        assert notes == stmts and len(notes) == maria, (mode, notes, stmts)
        assert verdict["coverage"].get("answers_doubted", 0) == maria, (mode, verdict["coverage"])
        assert not violations(verdict), violations(verdict)
        prepare("it", command="unprepare")


@test
def administration():
    """statements about databases and accounts leave nothing open; the tables of a dropped database are not known"""
    sql(TABLES)
    for mode in ("trigger", "select"):
        sql("drop database if exists beside; create database beside; create table beside.t(id int primary key, v int)")
        prepare("--quiet", "--mode=" + mode, "it.plain", "beside.t")
        _, _, verdict = recorded(lambda port: sql(
            "insert into plain values (70,1); create database more; drop database more; alter database it character set latin1; "
            "create user isorec_bob@localhost identified by 'x'; grant select on *.* to isorec_bob@localhost; "
            "drop user isorec_bob@localhost; analyze table plain; flush privileges; update plain set v = 2 where id = 70; "
            "select * from plain where id = 70; delete from plain where id = 70", port=port, database="it"), "it", mode=mode)
        assert not violations(verdict) and (mode == "select" or not verdict["coverage"]["undecided"]), verdict["coverage"]
        _, _, verdict = recorded(lambda port: sql(
            "insert into beside.t values (1,1); drop database beside; create database beside; "
            "create table beside.t(id int primary key, v int); select * from beside.t",
            port=port, database="it"), "it", mode=mode)
        assert not violations(verdict), violations(verdict)
        prepare("it", command="unprepare")


sys.exit(main())
