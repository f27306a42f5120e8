#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_prepare.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

What isorec prepare does, and unprepare undoes.
"""
import difflib
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import SERVER, TABLES, definitions, main, prepare, sql  # noqa: E402
from proxy_harness import test  # noqa: E402

REFUSED = """
use it;
create table mm(a int primary key) engine=myisam;
create table tskey(t timestamp primary key);
create table fkey(f float primary key);
create table taken(id int primary key, isorec_ver int);
"""


# ---- prepare ----

@test
def prepare_and_back():
    """unprepare leaves every table as SHOW CREATE TABLE had it, rows included"""
    sql(TABLES)
    before, rows = definitions(), sql("select * from it.ai; select * from it.multi", "-t")
    said = prepare("it", status=3)
    assert "nokey has no primary key" in said and "--add-key" in said, said
    assert "vw is a view" in said and "child is prepared" in said and "a foreign key" not in said, said
    said = prepare("--add-key", "it")
    assert "nokey is prepared, with a hidden primary key" in said and "ai is prepared already" in said
    inside = definitions()
    assert inside.count("`isorec_ver` bigint") == 11 and "isorec_bu_plain" in inside, inside
    assert sql("select * from it.ai; select * from it.multi", "-t") == rows
    prepare("it", command="unprepare")
    after = definitions()
    assert after == before, "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines()))
    assert sql("select * from it.ai; select * from it.multi", "-t") == rows
    assert "was not prepared" in prepare("it", command="unprepare")


# What SHOW CREATE TABLE has to say again, byte by byte; a release that does not take one goes without it.
ODD = (
    "create table `select`(`from` int primary key, `where` int comment 'a `quoted` \"comment\"') comment='of table'",
    "create table `sp ace`(`i d` int primary key, `b``tick` int, key `k ey`(`b``tick`))",
    "create table `\u00fcn\u00ef\u4e2d\u6587`(`\u00e4` int primary key, `\u65e5` varchar(10) default '\u00e9')",
    "create table `%s`(id int primary key, v int)" % ("n" * 64),
    "create table `%s`(id int primary key, v int)" % ("\u00f1" * 60),
    "create table counter(id int auto_increment primary key, v int) auto_increment=1234",
    "create table ck(id int primary key, v int check (v > 0), w int, constraint both_pos check (v + w > 0))",
    "create table gen(id int primary key, a int, b int as (a + 1) virtual, c int as (a * 2) stored, key(b), unique(c))",
    "create table byrange(id int, d int, primary key (id, d)) partition by range (d) (partition p0 values less than "
    "(10) comment 'x', partition p1 values less than maxvalue)",
    "create table bylist(id int primary key, v int) partition by key(id) partitions 4",
    "create table subpart(id int, d int, primary key(id, d)) partition by range(d) subpartition by hash(id) "
    "subpartitions 2 (partition p0 values less than (10), partition p1 values less than maxvalue)",
    "create table boss(id int primary key, boss int, foreign key up(boss) references boss(id) on delete set null)",
    "create table leaf(id int primary key, b int, constraint fk_b foreign key (b) references boss(id) "
    "on update cascade on delete restrict)",
    "create table texts(id char(10) character set latin1 collate latin1_german1_ci primary key, t text, "
    "fulltext key ft(t)) default charset=utf8mb4 collate=utf8mb4_unicode_ci row_format=dynamic",
    "create table defaults(id int primary key, a datetime default current_timestamp on update current_timestamp, "
    "b int default -5, c varchar(5) default '', d timestamp(3) null default null, e bit(3) default b'101')",
    "create table pre(id varchar(200) not null, v int, primary key (id(10)))",
    "create table geo(id int primary key, g point not null, spatial key(g))",
    "create table hidden(id int primary key, h int invisible default 3, v int)",
    "create table inv(id int primary key, v int, key kv(v) invisible)",
    "create table ign(id int primary key, v int, key kv(v) ignored)",
    "create table nokey1(a int, b varchar(3))", "create table nokey2(a int not null, unique key(a))",
    "create table descend(id int primary key, v int, key d(v desc))",
    "create table expr(id int primary key, v int default (1 + 2))",
    "create table comp(id int primary key, b blob) row_format=compressed key_block_size=8",
    "create table trig(id int primary key, v int)",
    "create trigger trig_a before insert on trig for each row set new.v = 1",
    "create trigger trig_b before insert on trig for each row set new.v = new.v + 1",
    "create trigger trig_c after update on trig for each row set @seen = old.v",
    "create view odd_view as select * from counter",
)


@test
def odd_tables_and_back():
    """the same for every kind of table, name and clause, in both modes"""
    rows = "select * from counter; select * from trig; select * from gen; select * from nokey1"
    sql("drop database if exists it; create database it")
    refused = [text for text in ODD if subprocess.run(
        ["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % SERVER["port"], "-uroot", "--skip-ssl",
         "--default-character-set=utf8mb4", "it"], input=text, capture_output=True, encoding="utf-8",
        check=False).returncode]
    assert len(refused) < 5, refused
    sql("insert into counter(v) values (1),(2); insert into trig values (1,1); insert into gen(id, a) values (1,1);"
        "insert into `select` values (1,1); insert into nokey1 values (1,'a'),(1,'a')", database="it")
    before, content = definitions(), sql(rows, "-t", database="it")
    for mode in ("trigger", "select"):
        said = prepare("--add-key", "--mode=" + mode, "it")
        tables = [text for text in ODD if " table " in text and text not in refused]
        assert said.count(" is prepared") == len(tables), said
        assert sql(rows, "-t", database="it") == content
        sql("insert into `select`(`from`) values (7); update `select` set `where` = 5 where `from` = 7; "
            "delete from `select` where `from` = 7; insert into nokey1 values (9,'z'); delete from nokey1 where a = 9;"
            "update texts set t = 'x'; insert into counter(id, v) values (5,5); delete from counter where id = 5",
            database="it")
        prepare("it", command="unprepare")
        after = definitions()
        assert after == before, "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines()))


@test
def refusals():
    """what cannot be instrumented is named with the reason, and left alone"""
    sql(TABLES + REFUSED)
    before = definitions()
    said = prepare("--quiet", "it.mm", "it.tskey", "it.fkey", "it.taken", status=3)
    for part in ("mm has the engine MyISAM", "tskey has the column t in its primary key",
                 "fkey has the column f in its primary key", "taken has a column isorec_ver"):
        assert part in said, said
    assert definitions() == before
    assert "there is no table it.nothing" in prepare("it.nothing", status=4)
    dry = prepare("--dry-run", "it.plain")
    assert "alter table `it`.`plain`" in dry and definitions() == before


@test
def half_prepared():
    """a preparation that was cut short is made anew"""
    sql(TABLES)
    before = definitions()
    prepare("it.plain")
    sql("drop trigger it.isorec_au_plain")
    assert "plain is prepared\n" in prepare("it.plain")
    assert "plain is prepared already" in prepare("it.plain")
    prepare("it.plain", command="unprepare")
    assert definitions() == before


sys.exit(main())
