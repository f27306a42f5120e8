#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_clients.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

Clients cannot tell an instrumented server behind the proxy from a plain one.
"""
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import (  # noqa: E402
    ISOREC, RELEASE, SCRIPT, SERVER, TABLES, main, node_script, prepare, recorded, run, same_for,
    sql, violations)
from proxy_harness import Proxy, SkipTest, test  # noqa: E402


@test
def tables_that_were_forgotten():
    """a proxy that is to instrument tells which tables are not prepared"""
    sql("drop database if exists fo; create database fo; create table fo.a(i int primary key);"
        "create table fo.b(i int primary key)")

    def said():
        with Proxy(ISOREC, ["n1=127.0.0.1:%d" % SERVER["port"]], "--instrument=trigger", "--user=root",
                   "--database=fo") as proxy:
            proxy.stop()
            return proxy.text()
    assert "2 of 2 tables are not prepared (fo.a ...)" in said()
    prepare("fo.a")
    assert "1 of 2 tables is not prepared (fo.b)" in said()
    prepare("fo")
    assert "not prepared" not in said()
    sql("drop database fo")


@test
def command_line():
    """mariadb: results, metadata, row counts, warnings, insert ids are those of a plain server"""
    got = same_for(lambda port: sql(SCRIPT, "-vvv", "-f", "-t", "--show-warnings", port=port,
                                    database="it"))
    assert not [r for r in got if r["kind"] == "result" and "isorec" in json.dumps(r)]


@test
def metadata():
    """mariadb --column-type-info: the definitions of the columns too"""
    same_for(lambda port: sql(
        "select * from ai; select v, s from ai where id = 1; select a.id, p.v from ai a join plain p using (id) "
        "order by 1; select count(*), sum(v), avg(dc), max(dt), min(s), max(tx), group_concat(v order by id) from ai; "
        "select e, count(*), sum(u) from ai group by e order by e; select max(v) m, id from plain group by id "
        "order by id limit 2; select p.id, count(m.a) from plain p left join multi m on m.a = p.id group by p.id "
        "order by p.id; select id from plain where id in (select a from multi) order by id limit 1; "
        "select distinct v from plain order by v; select id from plain union all select a from multi; "
        "select sum(v) over (order by id) w from plain order by id; select * from (select id, v from plain) d "
        "order by id; with c as (select v from plain) select count(*) from c",
        "--column-type-info", port=port, database="it"))


@test
def pymysql():
    """pymysql: affected rows, insert ids, warnings"""
    code = """
import sys, pymysql
db = pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user='root', database='it')
cursor = db.cursor()
for text in sys.stdin.read().split(';'):
    if not text.strip():
        continue
    try:
        print(repr((text, cursor.execute(text), cursor.fetchall(), cursor.lastrowid, cursor.description,
                    db.show_warnings())))
    except pymysql.Error as error:
        print(text, error)
db.close()
"""
    same_for(lambda port: run(["/usr/bin/python3", "-c", code, str(port)], input=SCRIPT))


@test
def insert_ids_of_updates():
    """LAST_INSERT_ID(x) in an UPDATE or after ON DUPLICATE KEY UPDATE is in its OK, triggers or not"""
    code = """
import sys, pymysql
from pymysql.constants import CLIENT
db = pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user='root', database='it',
                     client_flag=CLIENT.FOUND_ROWS if sys.argv[2] == 'found' else 0)
cursor = db.cursor()
for text in sys.stdin.read().split(';'):
    if text.strip():
        print(text, cursor.execute(text), cursor.lastrowid, end=' ')
        cursor.execute('select last_insert_id()')
        print(cursor.fetchall())
"""
    script = """update plain set v = last_insert_id(v + 5) where id = 2; update plain set v = v + 1 where id = 2;
update plain set v = last_insert_id(v + 5) where id = 12345; update plain set v = last_insert_id(v) where id = 2;
update plain set v = last_insert_id(70000) + v - v; update plain set v = 3, id = last_insert_id(id) where id = 3;
insert into plain values (2, 0) on duplicate key update v = last_insert_id(v + 1);
insert into plain values (2, 0) on duplicate key update v = v + 1;
insert into plain values (77, 0) on duplicate key update v = last_insert_id(v + 1);
insert into upsert(k) values (9) on duplicate key update id = last_insert_id(id);
insert into upsert(k) values (1) on duplicate key update id = last_insert_id(id);
insert into upsert(k, v) values (2, 3) on duplicate key update id = last_insert_id(id), v = v + 1;
insert into upsert(k) values (1), (2) on duplicate key update id = last_insert_id(id);
insert into upsert(k) values (1) on duplicate key update v = v;
update plain set v = last_insert_id(18446744073709551615) > 0 where id = 2; select 1"""
    for flag in ("changed", "found"):
        same_for(lambda port, flag=flag: run(["/usr/bin/python3", "-c", code, str(port), flag], input=script))


@test
def renewed_columns():
    """ON UPDATE CURRENT_TIMESTAMP: what changes nothing stays such, and a statement that sets the column itself does so"""
    script = """set time_zone = '+00:00'; set timestamp = 1700000000.25; update renew set v = 1 where id = 1;
update renew set v = v; select * from renew order by id; update renew set v = 5 where id = 1; select * from renew order by id;
set timestamp = 1700000001; update renew set v = 5 where id = 1; insert into renew(id, v) values (1, 5) on duplicate key update v = 5;
insert into renew(id, v) values (1, 6) on duplicate key update v = 6; select * from renew order by id;
set timestamp = 1700000002; update renew set at = now() where id = 2; update renew set at = '2021-01-01' where id = 2;
update renew set at = now(), fine = now(3); update renew set at = at, v = 9 where id = 3; select * from renew order by id;
set timestamp = 1700000003; insert into renew(id) values (2), (3) on duplicate key update at = now(); select * from renew order by id;
insert into renew(id, v) values (1, 6), (7, 7) on duplicate key update v = values(v); select * from renew order by id"""
    for options in ((), ("--init-command=set autocommit=0",)):
        same_for(lambda port, options=options: run(
            ["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", "-vv", *options, "it"],
            input=script))


PREPARED = """
const big = (k, v) => typeof v === 'bigint' ? v.toString() : v;
const show = (x) => console.log(JSON.stringify(x, big));
const work = async (execute) => {
  for (let i = 0; i < 3; i++) {
    show(await execute('select * from ai where id >= ?', [i]));
    show(await execute('select v, id from plain where id between ? and ? order by id', [i, i + 2]));
    show(await execute('select p.v, m.b from plain p left join multi m on m.a = p.id where p.id = ?', [i]));
    show(await execute('update plain set v = v + ? where id = ?', [1, i]));
    show(await execute('select row_count() n', []));
    show(await execute('insert into ai(s, v) values (?, ?)', ['x' + i, i]));
    show(await execute('select last_insert_id() n', []));
    show(await execute('select s, bl, dt, js from ai where s = ?', ['x' + i]));
    show(await execute('delete from multi where a = ?', [i]));
    show(await execute('replace into plain values (?, ?)', [i, 7]));
    show(await execute('select count(*) n from plain where v > ?', [i]));
    show(await execute('select sum(v), avg(v), min(id), max(id), group_concat(id order by id) from plain where id > ?',
      [i]));
    show(await execute('select v, count(*) n, sum(id) s from plain where id > ? group by v order by v', [i]));
    show(await execute('select count(*), max(p.v) from plain p join multi m on m.a = p.id where m.v >= ?', [i]));
    show(await execute('select id, v from plain where v >= ? order by id desc limit 2', [i]));
    show(await execute('select id from plain where id in (select a from multi where v > ?)', [i]));
    show(await execute('select distinct v from plain where id > ? order by v', [i]));
    show(await execute('select id from plain where id = ? union select a from multi where a = ? order by 1', [i, i]));
    show(await execute('select avg(u), sum(dc), max(dt), min(s), bit_or(v), max(js) from ai where id >= ?', [i]));
  }
};
"""


@test
def node_mysql2():
    """node mysql2: prepared statements, binary rows"""
    script = node_script("instrument-mysql2.js", PREPARED + """
const mysql = require('mysql2/promise');
(async () => {
  const db = await mysql.createConnection({host: '127.0.0.1', port: +process.argv[2], user: 'root',
    database: 'it'});
  // The definitions of the columns too, as the binary protocol has them; but for two flags that tell whether
  // the server grouped in a temporary table (GROUP_FLAG, and BINARY of numbers).
  await work(async (text, values) => {
    const [rows, fields] = await db.execute(text, values), known = /group by/.test(text) ? ~(32768 | 128) : ~0;
    return [rows, fields && fields.map((f) => [f.name, f.columnType, f.flags & known, f.columnLength, f.decimals,
      f.characterSet, f.orgTable])];
  });
  await db.end();
})();
""")
    got = same_for(lambda port: run(["node", script, str(port)]))
    predicates = [r["predicate"] for r in got if r["kind"] == "probe"]
    # Its parameters are doubles to MariaDB, integers to MySQL.
    assert {"`id` BETWEEN 1e0 AND 3e0", "`id` BETWEEN 1 AND 3"} & set(predicates), predicates


@test
def node_mariadb():
    """node mariadb: pipelined PREPARE and EXECUTE, metadata left out, bulk"""
    script = node_script("instrument-mariadb.js", PREPARED + """
const mariadb = require('mariadb');
(async () => {
  const db = await mariadb.createConnection({host: '127.0.0.1', port: +process.argv[2], user: 'root',
    database: 'it', pipelining: true});
  await work((text, values) => db.execute(text, values));
  show(await db.batch('insert into plain values (?, ?)', [[21, 1], [22, 2], [23, 3]]));
  show(await Promise.all([1, 2, 3, 21].map((n) => db.query('select * from plain where id = ' + n))));
  await db.end();
})();
""")
    same_for(lambda port: run(["node", script, str(port)]))


# The same statements by every client, as it sends them: one a line, parameters after a tab.
STATEMENTS = """select * from plain where id >= ? order by id\t1
select v, id from plain where id between ? and ? order by id\t1\t3
select p.v, m.b from plain p left join multi m on m.a = p.id where p.id = ?\t2
update plain set v = v + ? where id = ?\t5\t1
update plain set v = v where id < ?\t3
insert into ai(s, v) values (?, ?)\tx\t7
select s, v, g from ai where s = ?\tx
insert into plain values (?, 1), (?, 2)\t40\t41
replace into plain values (?, ?)\t40\t9
insert into plain values (?, ?) on duplicate key update v = v + 100\t41\t3
delete from plain where id = ?\t40
select count(*) n, sum(v) from plain where v > ?\t0
insert into plain values (?, 0)\t1
select * from multi where b = ? order by a\tx
select * from plain order by id
"""


PHP = """
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = new mysqli("127.0.0.1", "root", "", "it", (int)$argv[1]);
foreach ([false, true] as $in)
  foreach (explode("\\n", trim(file_get_contents("php://stdin") ?: getenv("STATEMENTS"))) as $line) {
    $values = explode("\\t", $line); $sql = array_shift($values);
    if ($in) $db->begin_transaction();
    try {
      $st = $db->prepare($sql);
      $st->execute($values ?: null);
      $r = $st->get_result();
      echo $sql, " ", json_encode($r ? $r->fetch_all() : [$st->affected_rows, $st->insert_id, $db->info]), "\\n";
      if ($r) foreach ($r->fetch_fields() as $f) echo $f->name, " ", $f->table, " ", $f->type, " ", $f->flags, "\\n";
      if (str_starts_with($sql, "replace")) continue;
      $text = $sql;
      foreach ($values as $v) $text = preg_replace("/\\\\?/", "'$v'", $text, 1);
      $r = $db->query($text);
      echo json_encode($r === true ? [$db->affected_rows, $db->insert_id, $db->warning_count] : $r->fetch_all()), "\\n";
      echo json_encode($db->query($r === true ? "select row_count(), last_insert_id()" : "select row_count(), found_rows()")->fetch_all()), "\\n";
    } catch (mysqli_sql_exception $e) { echo "error ", $e->getCode(), "\\n"; }
    if ($in) $db->rollback();
  }
"""  # REPLACE by the same row and FOUND_ROWS() of a write are known differences.


PERL = """
use DBI;
my ($driver, $port) = @ARGV;
my $ps = $driver eq "MariaDB" ? "mariadb_server_prepare" : "mysql_server_prepare";
for my $prepared (0, 1) {
  my $db = DBI->connect("DBI:$driver:host=127.0.0.1;port=$port;database=it", "root", "",
    {RaiseError => 1, PrintError => 0, $ps => $prepared, AutoCommit => 0});
  for (split /\\n/, $ENV{STATEMENTS}) {
    my ($sql, @values) = split /\\t/;
    eval {
      my $st = $db->prepare($sql);
      my $n = $st->execute(@values);
      print "$sql $n\\n";
      if ($st->{NUM_OF_FIELDS}) {
        print join(",", @{$st->{NAME}}), "\\n";
        print join(",", map { defined $_ ? $_ : "NULL" } @$_), "\\n" while $_ = $st->fetchrow_arrayref;
      }
      print join(",", @{$db->selectrow_arrayref("select row_count(), last_insert_id()")}), "\\n";
      1;
    } or print "error: ", $db->err, "\\n";
    $db->commit if /^update/;
  }
  $db->rollback;
  $db->disconnect;
}
"""


JAVA = """
import java.sql.*;
public class Instrumented {
  public static void main(String[] args) throws Exception {
    for (String more : new String[] {"useServerPrepStmts=false", "useServerPrepStmts=true"}) {
      try (Connection db = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + args[0] +
          "/it?user=root&permitMysqlScheme=true&" + more)) {
        db.setAutoCommit(false);
        for (String line : System.getenv("STATEMENTS").split("\\n")) {
          String[] part = line.split("\\t");
          try (PreparedStatement p = db.prepareStatement(part[0], Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 1; i < part.length; i++) p.setString(i, part[i]);
            boolean rows = p.execute();
            StringBuilder out = new StringBuilder(part[0] + " " + (rows ? "" : p.getUpdateCount()));
            ResultSet r = rows ? p.getResultSet() : p.getGeneratedKeys();
            int n = r.getMetaData().getColumnCount();
            for (int i = 1; i <= n; i++) out.append(" ").append(r.getMetaData().getColumnLabel(i)).append(" ")
              .append(r.getMetaData().getColumnTypeName(i)).append(" ").append(r.getMetaData().getTableName(i));
            while (r.next()) for (int i = 1; i <= n; i++) out.append("|").append(r.getString(i));
            System.out.println(out);
          } catch (SQLException e) { System.out.println("error " + e.getErrorCode()); }
        }
        db.commit();
      }
    }
  }
}
"""


@test
def php():
    """PHP mysqli: prepared and text, in and out of transactions"""
    if not shutil.which("php") or subprocess.run(
            ["php", "-r", "exit(extension_loaded('mysqli') ? 0 : 1);"], check=False).returncode:
        raise SkipTest("php with mysqli is not installed")
    same_for(lambda port: run(["php", "-r", PHP, str(port)], env=dict(os.environ, STATEMENTS=STATEMENTS),
                              stdin=subprocess.DEVNULL))


@test
def perl():
    """Perl DBD::MariaDB and DBD::mysql: prepared by the client and by the server"""
    drivers = [d for d in ("MariaDB", "mysql") if not subprocess.run(
        ["perl", "-MDBD::" + d, "-e", "1"], capture_output=True, check=False).returncode]
    if not drivers:
        raise SkipTest("neither DBD::MariaDB nor DBD::mysql is installed")
    for driver in drivers:
        same_for(lambda port, d=driver: run(["perl", "-e", PERL, d, str(port)],
                                            env=dict(os.environ, STATEMENTS=STATEMENTS)))


@test
def java():
    """Java Connector/J: prepared by the client and by the server, generated keys, metadata"""
    jar = "/usr/share/java/mariadb-java-client.jar"
    if not shutil.which("java") or not os.path.exists(jar):
        raise SkipTest("java and libmariadb-java are not installed")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "Instrumented.java")
        with open(source, "w", encoding="ascii") as out:
            out.write(JAVA)
        same_for(lambda port: run(["java", "-Xmx128m", "-cp", jar, source, str(port)],
                                  env=dict(os.environ, STATEMENTS=STATEMENTS)))


@test
def dump_and_restore():
    """mariadb-dump through the proxy, and restored through it: the rows of the copy are those of the original"""
    options = ["--no-defaults", "-h127.0.0.1", "-uroot", "--skip-ssl", "--hex-blob", "--single-transaction",
               "--skip-triggers", "--default-character-set=utf8mb4"]
    tables = ["plain", "multi", "part", "withtrig", "nokey"]
    if RELEASE.startswith("mariadb"):  # its mariadb-dump writes generated columns, which MySQL refuses
        tables.append("ai")
    content = "; ".join("select * from %s order by 1, 2" % t for t in tables)
    for mode in ("trigger", "select"):
        sql(TABLES)
        prepare("--quiet", "--add-key", "--mode=" + mode, "it")
        want = sql(content, "-t", database="it")
        text, _, verdict = recorded(lambda port: run(
            ["mariadb-dump", *options, "-P%d" % port, "it", *tables]), "it", mode=mode)
        assert not violations(verdict), violations(verdict)
        sql("drop database if exists copy; create database copy")
        _, _, verdict = recorded(lambda port, t=text: sql(t, port=port, database="copy"), "it", mode=mode)
        assert sql(content, "-t", database="copy") == want
        assert not violations(verdict), violations(verdict)
        sql("drop database copy")


@test
def sysbench():
    """sysbench: as many transactions, statements and rows as without, and no error, text and prepared"""
    if not shutil.which("sysbench"):
        raise SkipTest("sysbench is not installed")
    base = ["sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=it",
            "--tables=2", "--table-size=200", "--threads=1", "--events=60", "--time=0", "--mysql-ssl=off"]

    # Without a seed it takes the second: two runs in one second would write the same values, and a
    # write that changes nothing counts as another kind of statement.
    seeds = itertools.count(1)

    def counts(port, prepared):
        out = run([*base, "--db-ps-mode=" + prepared, "--mysql-port=%d" % port, "--rand-seed=%d" % next(seeds),
                   "run"])
        return re.findall(r"(read|write|other|transactions|ignored errors|reconnects): +(\d+)", out)
    for prepared in ("disable", "auto"):
        sql("drop database if exists it; create database it")
        run([*base, "--mysql-port=%d" % SERVER["port"], "prepare"])
        want = counts(SERVER["port"], prepared)
        assert ("transactions", "60") in want and len(want) == 6, want
        for mode in ("trigger", "select"):
            prepare("--quiet", "--mode=" + mode, "it")
            got, _, verdict = recorded(lambda port, p=prepared: counts(port, p), "it", mode=mode)
            assert got == want, (prepared, mode, got, want)
            assert not violations(verdict), violations(verdict)
            # In trigger mode all that it reads is seen, DISTINCT too.
            blind = [r for r in verdict["coverage"]["reasons"] if "not all is seen" in r]
            assert mode == "select" or not blind, (prepared, verdict["coverage"])
            prepare("--quiet", "it", command="unprepare")
            assert sql("select count(*) from sbtest1; select count(*) from sbtest2", "-N",
                       database="it").split() == ["200", "200"]


sys.exit(main())
