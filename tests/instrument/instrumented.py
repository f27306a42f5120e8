# SPDX-License-Identifier: GPL-2.0-or-later
"""The server that the tests of instrumentation share, and what they do with it.

The command line of each: ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]
"""
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import Proxy, SkipTest, records, run_tests, wait_for  # noqa: E402

ISOREC, ISOTRACE, SERVERS, WORKLOAD, NODE = (os.path.abspath(p) for p in sys.argv[1:6])
RELEASE, TRANSACTIONS = sys.argv[6:8]
NAME = "instrument-test-%d" % os.getpid()
SERVER = {}
LEVELS = ("SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED")
TABLES = """
drop database if exists it; create database it; use it;
create table plain(id int primary key, v int);
create table ai(id int auto_increment primary key, s varchar(20) character set latin1,
  e enum('a','b'), st set('x','y'), f float, d double, dc decimal(10,3), dt datetime(3),
  ts timestamp null on update current_timestamp, tm time, y year, bt bit(10), b varbinary(20), bl blob,
  tx text, js json, u bigint unsigned, v int, g int generated always as (v * 2) virtual,
  g2 varchar(30) generated always as (concat(s, '!')) stored, key(s));
create table upsert(id int auto_increment primary key, k int unique, v int);
create table renew(id int primary key, v int, at timestamp not null default current_timestamp on update current_timestamp,
  fine datetime(3) null on update current_timestamp(3));
create table multi(a int, b varchar(10), c date, v int, primary key (b, a, c));
create table part(id int primary key, v int) partition by hash(id) partitions 3;
create table parent(id int primary key);
create table child(id int primary key, p int, foreign key (p) references parent(id) on delete cascade);
create table withtrig(id int primary key, v int, n int);
create trigger mytrig before update on withtrig for each row set new.n = old.n + 1;
create table `odd ``name.x`(id int primary key, `we ird` int);
create table nokey(a int, b int);
create view vw as select * from plain;
insert into plain values (1,1),(2,2),(3,3); insert into nokey values (1,1),(1,1);
insert into multi values (1,'x','2020-01-01',1),(2,'Y','2020-01-02',2);
insert into withtrig values (1,1,0); insert into parent values (1),(2);
insert into child values (1,1),(2,1),(3,2); insert into part values (1,1),(2,2),(3,3);
insert into ai(s,e,st,f,d,dc,dt,ts,tm,y,bt,b,bl,tx,js,u,v) values ('\u00e9','b','x,y',1.5,-2.25,3.14,
  '2026-01-02 03:04:05.678','2026-01-02 03:04:05','-12:34:56',2026,b'1010101010',x'00ff',x'0001',
  repeat('z',2000),'{"a": 1}',18446744073709551615,4);
insert into ai(s) values (null); insert into upsert(k, v) values (1, 1), (2, 2);
insert into renew values (1, 1, '2020-01-01', null), (2, 2, '2020-01-01', '2020-01-01'), (3, 3, '2020-01-01', null);
"""


def servers(*args):
    done = subprocess.run([SERVERS, *args], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip())
        sys.exit(0)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(args, status=0, **more):
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=900,
                          encoding="utf-8", errors="backslashreplace", **more)
    assert done.returncode == status, "%s: %d\n%s%s" % (args, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def sql(text, *options, port=None, database=None):
    """Through Debian's command line client."""
    return run(["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % (port or SERVER["port"]), "-uroot",
                "--skip-ssl", "--default-character-set=utf8mb4", *options, database or "mysql"], input=text)


def prepare(*args, command="prepare", status=0):
    return run([ISOREC, command, "-P%d" % SERVER["port"], *args], status=status)


def definitions():
    names = sql("select table_name from information_schema.tables where table_schema = 'it' "
                "and table_type = 'BASE TABLE' order by 1", "-N").splitlines()
    text = ""
    for name in names:
        quoted = "`%s`" % name.replace("`", "``")
        text += sql("show create table %s" % quoted, "-N", "-r", database="it")
    return text + sql("select trigger_name, action_statement from information_schema.triggers "
                      "where trigger_schema = 'it' order by 1", "-N")


def recorded(what, database, mode="trigger", all_writers=True, options=()):
    """what(port) through an instrumenting proxy; its result, the records, the verdict."""
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % SERVER["port"]], "--instrument=" + mode, "--user=root",
               "--database=" + database, *(["--all-writers"] if all_writers else []), *options) as proxy:
        result = what(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
        done = subprocess.run([ISOTRACE, "check", "--oracle=adya", "--format=json", proxy.trace],
                              capture_output=True, text=True, check=False)
        verdict = json.loads(done.stdout)
    opaque = [r for r in got if r["kind"] == "session" and r["event"] == 2]
    assert not opaque, opaque
    return result, got, verdict


def violations(verdict):
    return [(f["class"], f["explanation"]) for f in verdict["findings"] if f["severity"] != "documented"]


# ---- clients ----

SCRIPT = """
select * from ai; select * from multi order by b, a; select v, id from plain where id > 1 order by 1 desc; select p.*, m.v from plain p left join multi m
  on m.a = p.id order by p.id; select count(*), max(v) from plain; select distinct v from plain;
select * from plain natural join part order by id; (select id from plain) union (select a from multi);
begin; update plain set v = v + 1 where id < 3; select row_count(); select found_rows();
insert into plain values (4,4),(5,5); select row_count(), @@warning_count; update plain set v = v;
select row_count(); delete from plain where id = 5; commit;
set sql_mode = ''; update ai set s = repeat('x', 30) where id = 1; show warnings; select row_count();
insert ignore into plain values (1,1),(9,9); show warnings; insert into ai(s) values ('q');
select last_insert_id(); insert into ai(s) values ('r'),('s'); select last_insert_id(), row_count();
replace into plain values (1,100),(7,7); insert into plain values (2,0) on duplicate key update v = 50;
select sql_calc_found_rows id from plain limit 2; select found_rows();
update withtrig set v = 2; select * from withtrig; update plain p join part q on p.id = q.id
  set p.v = q.v * 10, q.v = 0; select * from plain order by id; select * from part order by id;
delete p, q from plain p join part q on p.id = q.id where p.id = 2; select row_count();
insert into plain select id + 100, v from part; update plain set id = 50 where id = 7;
savepoint a; select (select max(v) from plain) m, id from plain order by id limit 3;
delete from parent where id = 1; select * from child; truncate table part; select count(*) from part;
select id as x, 'a from b' as `from`, v /* from */ from /* c */ plain where v > 3 order by x;
select * from plain where id = 3 for update; table_missing; select * from missing; select v from vw
  order by v; explain select * from plain where id = 1; show create view vw; set @a := 1; select @a, v from
  plain where v > @a order by v; with c as (select 1 one) select * from c, plain order by id limit 1;
"""


def without_times(text):
    return re.sub(r"\(\d+\.\d+ sec\)", "", text)


def same_for(client, normal=without_times):
    """The client's output on plain tables, directly, and on prepared ones, through the proxy."""
    sql(TABLES)
    direct = normal(client(SERVER["port"]))
    for mode in ("select", "trigger"):
        sql(TABLES)
        prepare("--quiet", "--add-key", "--mode=" + mode, "it")
        through, got, verdict = recorded(client, "it", mode=mode)
        through = normal(through)
        assert through == direct, "\n".join(difflib.unified_diff(
            direct.splitlines(), through.splitlines(), "directly", "in %s mode" % mode))
        assert [r for r in got if r["kind"] == "probe" and (r["exact"] or mode == "select")], "no probes"
        assert not violations(verdict), violations(verdict)
    return got


def node_script(name, code):
    if not os.path.isdir(os.path.join(NODE, "node_modules", "mysql2")):
        raise SkipTest("node's clients are not installed; the test `proxy clients` does that")
    script = os.path.join(NODE, name)
    with open(script, "w", encoding="utf-8") as out:
        out.write(code)
    return script


def judged(text, levels=("RR", "SER")):
    """A scenario at each level, in trigger mode: what adya says of it."""
    verdicts = {}
    with tempfile.TemporaryDirectory(prefix="judged-") as work:
        name = os.path.join(work, "judged.scn")
        with open(name, "w") as out:
            out.write("# id: judged\n" + text)
        run([ISOREC, "run", "-P%d" % SERVER["port"], "-uroot", "--database=itj", "--drop-database",
             "--instrument=trigger", "--isolation=" + ",".join(levels), "--overwrite", "--quiet",
             "--output=" + work, name])
        for level in levels:
            done = subprocess.run([ISOTRACE, "check", "--oracle=adya", "--format=json",
                                   os.path.join(work, "judged-%s.itr" % level)],
                                  capture_output=True, text=True, check=False)
            verdicts[level] = json.loads(done.stdout)
    return verdicts


def main():
    SERVER.update(json.loads(servers("start", RELEASE, "--name=" + NAME, "--json",
                                     "--with-parent=%d" % os.getpid())))
    try:
        return run_tests(sys.argv[8:])
    finally:
        servers("stop", NAME)
