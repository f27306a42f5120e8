#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real clients and a real MariaDB server, directly and through isorec proxy: TAP.

    test_proxy_clients.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]

With --server the clients run against that release of isorec-servers, and the tests of the server's
own behaviour are left out.  Each client must see the same through the proxy as directly, and the trace must hold what it saw.
Node's clients are installed with npm into the build folder; where npm has no network those tests
are skipped.
"""
import datetime
import decimal
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import Proxy, SkipTest, records, run_tests, test, wait_for  # noqa: E402

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])
RELEASE = next((a[9:] for a in sys.argv[5:] if a.startswith("--server=")), None)
CHOSEN = [a for a in sys.argv[5:] if not a.startswith("--server=")]
CACHE = os.path.join(BUILD, "proxy-e2e-servers")
# Releases are fetched once, into the user's own cache.
ENV = dict(os.environ) if RELEASE else dict(os.environ, ISOREC_SERVERS_CACHE=CACHE)
INSTANCE = "proxy-%d" % os.getpid()
PORT = 0

TYPES = """
create table types (id int primary key, ti tinyint, si smallint unsigned, mi mediumint, bi bigint,
  bu bigint unsigned, de decimal(20,5), fl float, do double, bt bit(10), ye year, da date,
  ti3 time(3), dt datetime, dt6 datetime(6), ts timestamp null, vc varchar(50), bl blob, tx text,
  js json, en enum('a','b'), st set('x','y')) engine=innodb charset=utf8mb4;
insert into types values
 (1,-128,65535,-8388608,-9223372036854775808,18446744073709551615,-12345.67891,1.5,-2.25e100,b'1010',
  2026,'2026-11-16','-838:59:58.125','2026-11-16 01:02:03','2026-11-16 01:02:03.000001',
  '2026-11-16 01:02:03','grün ☃',x'00ff27','it''s','{"a": [1, 2]}','b','x,y'),
 (2,0,0,0,0,0,0,0,0,b'0',1901,'0001-01-01','00:00:00.000','1000-01-01 00:00:00',
  '9999-12-31 23:59:59.999999',null,'','','','[]','a',''),
 (3,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,null,
  null,null);
"""
if RELEASE == "mysql-5.6":  # has no JSON
    TYPES = TYPES.replace(" js json", " js text")


def servers(*args, check=True):
    done = subprocess.run([SERVERS, *args], env=ENV, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip())
        sys.exit(0)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def command_line(port, *more):
    return ["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", *more]


def run(args, **more):
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=300, **more)
    assert done.returncode == 0, "%s: %s%s" % (args, done.stdout, done.stderr)
    return done.stdout


def fresh_database(name):
    run(command_line(PORT, "-e", "drop database if exists %s; create database %s" % (name, name)))


def recorded(what, *options, node=None):
    """Runs what(port) through the proxy; returns its result and the trace's records."""
    with Proxy(ISOREC, ["n1=" + (node or "127.0.0.1:%d" % PORT)], *options) as proxy:
        result = what(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    opaque = [r for r in got if r["kind"] == "session" and r["event"] == 2]
    assert not opaque, opaque
    return result, got


def both(what):
    """The result of what(port), which must be the same directly and through the proxy."""
    direct = what(PORT)
    result, got = recorded(what)
    assert result == direct, "directly: %r\nthrough the proxy: %r" % (direct, result)
    return result, got


def results_of(got, text):
    """Rows of the statements with this text."""
    numbers = [(r["session"], r["number"]) for r in got if r["kind"] == "stmt" and r["text"] == text]
    assert numbers, "no statement %r in the trace" % text
    return [row for r in got if r["kind"] == "result" and (r["session"], r["number"]) in numbers
            for row in r["rows"]]


def value(v):
    """A value of the trace's JSON, as Python's drivers give it."""
    if isinstance(v, dict):
        (kind, text), = v.items()
        if kind == "bytes":
            return bytes.fromhex(text)
        if kind == "bit":
            return bytes.fromhex(text)
        if kind == "decimal":
            return decimal.Decimal(text)
        return text
    return v


# ---- the clients ----

@test
def mariadb_command_line():
    """mariadb: all column types, errors, several statements, warnings"""
    script = TYPES.replace("create table", "drop table if exists types; create table", 1) + """
select * from types order by id;
update types set ti = 1 where id = 1; select row_count();
select 1/0; show warnings;
begin; insert into types (id) values (9); rollback;
select count(*) from types; call no_such_procedure(); select 'after the error';
"""

    def client(port):
        done = subprocess.run(command_line(port, "--force", "--table", "test"), input=script.encode(),
                              capture_output=True, check=False, timeout=300)
        return done.stdout, done.stderr

    (out, _), got = both(client)
    assert b"after the error" in out
    rows = [[value(v) for v in row] for row in results_of(got, "select * from types order by id")]
    assert len(rows) == 3 and rows[0][1] == -128 and int(rows[0][5]) == 18446744073709551615, rows
    assert rows[0][6] == decimal.Decimal("-12345.67891") and rows[0][16] == "grün ☃", rows
    assert rows[0][17] == b"\x00\xff'" and rows[2][1:] == [None] * 21, rows
    errors = [r["error"] for r in got if r["kind"] == "stmt" and r["error"]]
    assert errors == [1305], errors


@test
def text_and_binary_rows_agree():
    """the same rows read as text and through a prepared statement are the same in the trace"""
    run(command_line(PORT, "test"), input=TYPES.replace(
        "create table", "drop table if exists types; create table", 1))
    perl = """
use DBI;
for my $prepare (0, 1) {
  my $db = DBI->connect("DBI:MariaDB:host=127.0.0.1;port=$ARGV[0];database=test", "root", "",
    {RaiseError => 1, mariadb_server_prepare => $prepare});
  my $st = $db->prepare("select * from types order by id");
  $st->execute;
  print join("|", map { defined $_ ? $_ : "NULL" } @$_), "\\n" while $_ = $st->fetchrow_arrayref;
  $st->finish;
}
"""
    _, got = recorded(lambda port: run(["perl", "-e", perl, str(port)]))
    text = results_of(got, "select * from types order by id")
    binary = [row for r in got if r["kind"] == "result" and any(
        s["kind"] == "stmt" and s["command"] == 0x17 and s["number"] == r["number"] and
        s["session"] == r["session"] for s in got) for row in r["rows"]]
    assert len(text) == 3 and text == binary, "text:   %s\nbinary: %s" % (text, binary)


@test
def python_pymysql():
    """pymysql: values in the trace are those that the client saw"""
    try:
        import pymysql  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise SkipTest("python3-pymysql is not installed") from None

    def client(port):
        out = []
        db = pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                             charset="utf8mb4")
        with db.cursor() as cursor:
            cursor.execute("drop table if exists py")
            cursor.execute("create table py (a int primary key, b varchar(20), c decimal(8,2), "
                           "d datetime(3))")
            cursor.executemany("insert into py values (%s, %s, %s, %s)", [
                (i, "row %d" % i if i % 3 else None, decimal.Decimal(i) / 4,
                 datetime.datetime(2026, 1, 1, 0, 0, i)) for i in range(50)])
            db.commit()
            cursor.execute("select * from py order by a")
            out.append(cursor.fetchall())
            try:
                cursor.execute("insert into py values (1, 'x', 1, null)")
            except pymysql.err.IntegrityError as error:
                out.append(error.args)
            db.rollback()
        db.close()
        return out

    out, got = both(client)
    rows = results_of(got, "select * from py order by a")
    assert [[r[0], r[1], value(r[2])] for r in rows] == [list(r[:3]) for r in out[0]]
    assert [value(r[3]) for r in rows] == [
        r[3].strftime("%Y-%m-%d %H:%M:%S.000") for r in out[0]]
    outcomes = [(r["outcome"], r["reason"]) for r in got
                if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
    assert (1, "commit") in outcomes, outcomes


def perl_with(driver):
    code = """
use DBI;
my ($driver, $port) = @ARGV;
my $ps = $driver eq "MariaDB" ? "mariadb_server_prepare" : "mysql_server_prepare";
my $db = DBI->connect("DBI:$driver:host=127.0.0.1;port=$port;database=test", "root", "",
  {RaiseError => 1, PrintError => 0, $ps => 1, AutoCommit => 0});
$db->do("drop table if exists pl");
$db->do("create table pl (a int primary key, b varchar(30), c blob)");
my $st = $db->prepare("insert into pl values (?, ?, ?)");
$st->execute($_, $_ % 4 ? "v$_" : undef, "x" x ($_ * 100)) for 1 .. 20;
$db->commit;
$st = $db->prepare("select a, b, length(c) from pl where a > ? order by a");
for my $low (15, 18) {
  $st->execute($low);
  print join(",", map { defined $_ ? $_ : "NULL" } @$_), "\\n" while $_ = $st->fetchrow_arrayref;
}
eval { $db->do("insert into pl values (1, 'x', '')") };
print "error: $@\\n" =~ s/ at -e line.*//sr, "\\n";
$db->rollback;
$db->disconnect;
"""

    def client(port):
        return run(["perl", "-e", code, driver, str(port)])

    probe = subprocess.run(["perl", "-MDBD::" + driver, "-e", "1"], capture_output=True, check=False)
    if probe.returncode:
        raise SkipTest("DBD::%s is not installed" % driver)
    _, got = both(client)
    prepared = {(r["session"], r["number"]): r["text"] for r in got
                if r["kind"] == "stmt" and r["command"] == 0x16}
    inserts = [r for r in got if r["kind"] == "stmt" and r["command"] == 0x17 and
               prepared[r["session"], r["prepared"]] == "insert into pl values (?, ?, ?)"]
    assert len(inserts) == 20 and len(inserts[0]["params"]) == 3, inserts[:1]
    assert [str(r["params"][0]) for r in inserts] == [str(i) for i in range(1, 21)]
    assert inserts[3]["params"][1] is None and inserts[4]["params"][1] == "v5", inserts[3:5]


@test
def perl_dbd_mariadb():
    """Perl DBD::MariaDB with server-side prepared statements"""
    perl_with("MariaDB")


@test
def perl_dbd_mysql():
    """Perl DBD::mysql with server-side prepared statements"""
    perl_with("mysql")


def rows_seen(got, start):
    """All rows of statements whose text, or whose PREPARE's, begins so; in order."""
    prepared = {(r["session"], r["number"]): r["text"] for r in got
                if r["kind"] == "stmt" and r["command"] == 0x16}
    out = []
    for r in got:
        if r["kind"] != "stmt" or r["command"] == 0x16:
            continue
        text = r["text"] or prepared.get((r["session"], r["prepared"])) or ""
        if text.startswith(start):
            out += [row for q in got if q["kind"] == "result" and
                    (q["session"], q["number"]) == (r["session"], r["number"]) for row in q["rows"]]
    return out


def as_text(rows):
    """Rows of the trace as a client prints them that knows no types."""
    return [["NULL" if v is None else str(value(v)) for v in row] for row in rows]


def lines_of(text, start):
    """Lines of a client's output that begin so, cut at the bars."""
    return [line.split("|")[1:] for line in text.splitlines() if line.startswith(start + "|")]


PHP_COMMON = """
function show($what, $rows) {
  foreach ($rows as $row)
    echo $what, "|", implode("|", array_map(fn($v) => $v === null ? "NULL" : $v, array_values($row))), "\n";
}
"""


def php(code, module):
    if not shutil.which("php") or subprocess.run(
            ["php", "-r", "exit(extension_loaded('%s') ? 0 : 1);" % module], check=False).returncode:
        raise SkipTest("php with %s is not installed" % module)
    return lambda port: run(["php", "-r", PHP_COMMON + code, str(port)])


@test
def php_mysqli():
    """PHP mysqli: text, several statements, prepared, an error; the trace has the rows it printed"""
    out, got = both(php("""
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = new mysqli("127.0.0.1", "root", "", "test", (int)$argv[1]);
$db->query("drop table if exists ph");
$db->query("create table ph (a int primary key, b varchar(20), c decimal(6,2))");
$st = $db->prepare("insert into ph values (?, ?, ?)");
$db->begin_transaction();
for ($i = 1; $i <= 10; $i++) {
  $b = $i % 4 ? "v$i" : null; $c = $i / 4;
  $st->bind_param("isd", $i, $b, $c);
  $st->execute();
}
$db->commit();
show("text", $db->query("select a, b, c from ph order by a")->fetch_all());
$st = $db->prepare("select a, b, c from ph where a > ? order by a desc");
$min = 5;
$st->bind_param("i", $min);
$st->execute();
show("prepared", $st->get_result()->fetch_all());
$db->multi_query("select 1 x; select 2 x; update ph set b = 'w' where a = 1");
do { if ($r = $db->store_result()) show("multi", $r->fetch_all()); } while ($db->next_result());
try { $db->query("insert into ph values (1, 'dup', 0)"); } catch (mysqli_sql_exception $e) {
  echo "error ", $e->getCode(), "\n"; }
$db->change_user("root", "", "test");
show("after", $db->query("select b, 'after' from ph where a = 1")->fetch_all());
$db->close();
""", "mysqli"))
    assert as_text(rows_seen(got, "select a, b, c from ph order by a")) == lines_of(out, "text")
    assert as_text(rows_seen(got, "select a, b, c from ph where a > ?")) == lines_of(out, "prepared")
    assert as_text(rows_seen(got, "select 1 x; select 2 x;")) == lines_of(out, "multi")
    assert as_text(rows_seen(got, "select b, 'after'")) == lines_of(out, "after") == [["w", "after"]]
    assert [r["error"] for r in got if r["kind"] == "stmt" and r["error"]] == [1062]
    assert len(lines_of(out, "text")) == 10 and len(lines_of(out, "prepared")) == 5


@test
def php_pdo():
    """PHP PDO: prepared by the server and emulated, a rolled back transaction"""
    out, got = both(php("""
foreach ([false, true] as $emulate) {
  $db = new PDO("mysql:host=127.0.0.1;port=" . $argv[1] . ";dbname=test", "root", "",
    [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_EMULATE_PREPARES => $emulate]);
  $db->exec("drop table if exists pd");
  $db->exec("create table pd (a int primary key, b varchar(40))");
  $st = $db->prepare("insert into pd values (:a, :b)");
  for ($i = 1; $i <= 5; $i++) $st->execute(["a" => $i, "b" => $i == 3 ? null : "it's $i"]);
  $db->beginTransaction();
  $db->exec("delete from pd where a > 2");
  $db->rollBack();
  $st = $db->prepare("select a, b from pd where a >= ? order by a");
  $st->execute([2]);
  show("rows", $st->fetchAll(PDO::FETCH_NUM));
}
""", "pdo_mysql"))
    assert as_text(rows_seen(got, "select a, b from pd where a >=")) == lines_of(out, "rows")
    assert len(lines_of(out, "rows")) == 8
    ends = [r["outcome"] for r in got if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
    assert ends == [2, 2], ends


@test
def python_mysqldb():
    """Python MySQLdb (C library): text rows, a transaction, an error"""
    if subprocess.run(["/usr/bin/python3", "-c", "import MySQLdb"], capture_output=True,
                      check=False).returncode:
        raise SkipTest("python3-mysqldb is not installed")
    code = """
import sys, MySQLdb
db = MySQLdb.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="test")
c = db.cursor()
c.execute("drop table if exists md")
c.execute("create table md (a int primary key, b varchar(20))")
c.executemany("insert into md values (%s, %s)", [(i, None if i == 2 else "b%d" % i) for i in range(6)])
db.commit()
c.execute("select a, b from md order by a")
for row in c.fetchall():
    print("row|" + "|".join("NULL" if v is None else str(v) for v in row))
try:
    c.execute("insert into md values (1, 'x')")
except MySQLdb.Error as error:
    print("error", error.args[0])
db.rollback()
db.close()
"""
    out, got = both(lambda port: run(["/usr/bin/python3", "-c", code, str(port)]))
    assert as_text(rows_seen(got, "select a, b from md")) == lines_of(out, "row")
    assert len(lines_of(out, "row")) == 6 and "error 1062" in out


JAVA = """
import java.sql.*;
public class Client {
  static void show(String what, ResultSet r) throws SQLException {
    int n = r.getMetaData().getColumnCount();
    while (r.next()) {
      StringBuilder line = new StringBuilder(what);
      for (int i = 1; i <= n; i++) { String v = r.getString(i); line.append("|").append(v == null ? "NULL" : v); }
      System.out.println(line);
    }
  }
  public static void main(String[] args) throws Exception {
    for (String more : new String[] {"useServerPrepStmts=false", "useServerPrepStmts=true",
        "useServerPrepStmts=true&rewriteBatchedStatements=true&useCompression=true"}) {
      try (Connection db = DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + args[0] +
          "/test?user=root&allowMultiQueries=true&permitMysqlScheme=true&" + more)) {
        Statement s = db.createStatement();
        s.execute("drop table if exists jv");
        s.execute("create table jv (a int primary key, b varchar(30), c datetime(3))");
        PreparedStatement p = db.prepareStatement("insert into jv values (?, ?, ?)");
        db.setAutoCommit(false);
        for (int i = 1; i <= 8; i++) {
          p.setInt(1, i);
          p.setString(2, i == 5 ? null : "j" + i);
          p.setTimestamp(3, Timestamp.valueOf("2026-11-16 01:02:0" + i + ".125"));
          p.addBatch();
        }
        p.executeBatch();
        db.commit();
        s.setFetchSize(3);
        show("text", s.executeQuery("select a, b from jv order by a"));
        PreparedStatement q = db.prepareStatement("select a, b from jv where a > ? order by a desc");
        for (int k = 0; k < 3; k++) { q.setInt(1, 4 + k); show("prepared", q.executeQuery()); }
        s.executeUpdate("delete from jv where a < 3");
        db.rollback();
        try { s.execute("insert into jv values (1, 'dup', now())"); }
        catch (SQLException e) { System.out.println("error " + e.getErrorCode()); }
        db.rollback();
      }
    }
  }
}
"""


@test
def java_connector():
    """Java MariaDB Connector/J: text, prepared, batches, compressed, streaming results"""
    jar = "/usr/share/java/mariadb-java-client.jar"
    if not shutil.which("java") or not os.path.exists(jar):
        raise SkipTest("java and libmariadb-java are not installed")
    source = os.path.join(BUILD, "Client.java")
    with open(source, "w", encoding="ascii") as out:
        out.write(JAVA)
    text, got = both(lambda port: run(["java", "-Xmx128m", "-cp", jar, source, str(port)]))
    assert as_text(rows_seen(got, "select a, b from jv order by a")) == lines_of(text, "text")
    assert as_text(rows_seen(got, "select a, b from jv where a >")) == lines_of(text, "prepared")
    assert len(lines_of(text, "text")) == 24 and len(lines_of(text, "prepared")) == 27
    errors = [r["error"] for r in got if r["kind"] == "stmt" and r["error"]]
    assert errors == [1062] * 3 and text.count("error 1062") == 3, errors


def node_modules():
    folder = os.path.join(BUILD, "proxy-e2e-node")
    if not shutil.which("npm"):
        raise SkipTest("npm is not installed")
    if not os.path.isdir(os.path.join(folder, "node_modules", "mysql2")):
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent",
                               "--fetch-retries=1", "mysql2@3", "mariadb@3"], cwd=folder,
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise SkipTest("npm cannot install mysql2 and mariadb here")
    return folder


@test
def node_mysql2():
    """node mysql2: text and prepared statements, with and without compression"""
    code = """
const mysql = require('mysql2/promise');
(async () => {
  const db = await mysql.createConnection({host: '127.0.0.1', port: +process.argv[2], user: 'root',
    database: 'test', compress: process.argv[3] === 'compress', multipleStatements: true});
  await db.query('drop table if exists nd; create table nd (a int primary key, b varchar(300))');
  for (let i = 1; i <= 20; i++) await db.execute('insert into nd values (?, ?)', [i, 'b'.repeat(i * 10)]);
  const [rows] = await db.execute('select a, b from nd where a > ? order by a', [10]);
  console.log(JSON.stringify(rows));
  const [text] = await db.query('select count(*) n from nd; select 2 two');
  console.log(JSON.stringify(text));
  try { await db.query('select * from missing'); } catch (e) { console.log(e.errno, e.message); }
  await db.end();
})();
"""
    folder = node_modules()
    script = os.path.join(folder, "mysql2.js")
    with open(script, "w", encoding="ascii") as out:
        out.write(code)
    for mode in ("plain", "compress"):
        _, got = both(lambda port, mode=mode: run(["node", script, str(port), mode]))
        inserts = [r for r in got if r["kind"] == "stmt" and r["command"] == 0x17 and r["affected"]]
        assert [len(r["params"][1]) for r in inserts] == [10 * i for i in range(1, 21)], inserts
        errors = [r["error"] for r in got if r["kind"] == "stmt" and r["error"]]
        assert errors == [1146], errors


@test
def node_mariadb():
    """node mariadb: pipelined PREPARE and EXECUTE, bulk inserts, metadata left out"""
    code = """
const mariadb = require('mariadb');
(async () => {
  const db = await mariadb.createConnection({host: '127.0.0.1', port: +process.argv[2],
    user: 'root', database: 'test', pipelining: true});
  await db.query('drop table if exists nm');
  await db.query('create table nm (a int primary key, b varchar(300))');
  await db.batch('insert into nm values (?, ?)', [[1, 'x'], [2, null], [3, 'z']]);
  for (let i = 0; i < 3; i++)
    console.log(JSON.stringify(await db.execute('select a, b from nm where a > ? order by a', [i])));
  const all = await Promise.all([1, 2, 3, 4, 5].map((n) => db.query('select ' + n + ' n')));
  console.log(JSON.stringify(all, (k, v) => typeof v === 'bigint' ? Number(v) : v));
  await db.beginTransaction();
  await db.query('delete from nm');
  await db.rollback();
  console.log(JSON.stringify(await db.query('select count(*) from nm'),
    (k, v) => typeof v === 'bigint' ? Number(v) : v));
  await db.end();
})();
"""
    script = os.path.join(node_modules(), "mariadb.js")
    with open(script, "w", encoding="ascii") as out:
        out.write(code)
    _, got = both(lambda port: run(["node", script, str(port)]))
    bulk = [r for r in got if r["kind"] == "stmt" and r["command"] == 0xfa]
    executed = [r for r in got if r["kind"] == "stmt" and r["command"] == 0x17]
    if (RELEASE or "").startswith("mysql"):  # has no such command
        bulk, executed = executed[:3], executed[3:]
    assert [v for r in bulk for v in r["params"]] == [1, "x", 2, None, 3, "z"], bulk
    rows = [[row for q in got if q["kind"] == "result" and (q["session"], q["number"]) == (
        r["session"], r["number"]) for row in q["rows"]] for r in executed]
    assert [len(r) for r in rows] == [3, 2, 1] and rows[0][0] == [1, "x"], rows
    ends = [r["outcome"] for r in got if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
    assert ends == [2], ends


@test
def dump_and_restore():
    """mariadb-dump and restore: the copy is the original"""
    if not shutil.which("mariadb-dump"):
        raise SkipTest("mariadb-dump is not installed")
    if RELEASE == "mysql-5.6":
        raise SkipTest("mariadb-dump asks for columns that the server does not have")
    run(command_line(PORT, "test"), input=TYPES.replace(
        "create table", "drop table if exists types; create table", 1))

    def dump(port):
        return run(["mariadb-dump", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot",
                    "--skip-ssl", "--skip-dump-date", "--hex-blob", "--single-transaction", "test",
                    "types"])

    text, got = both(dump)
    begins = [r for r in got if r["kind"] == "txn" and r["event"] == 0]
    assert begins and begins[0]["consistent_snapshot"] and begins[0]["level"] == 3, begins
    fresh_database("copy")
    recorded(lambda port: run(command_line(port, "copy"), input=text))
    again = run(["mariadb-dump", "--no-defaults", "-h127.0.0.1", "-P%d" % PORT, "-uroot", "--skip-ssl",
                 "--skip-dump-date", "--hex-blob", "--single-transaction", "copy", "types"])
    assert again.replace("copy", "test") == text


@test
def sysbench_read_write():
    """sysbench: the trace has as many statements and transactions as sysbench counts"""
    if not shutil.which("sysbench"):
        raise SkipTest("sysbench is not installed")
    fresh_database("sbtest")
    base = ["--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=sbtest", "--tables=2",
            "--table-size=500", "--threads=4", "--events=200", "--time=0", "--mysql-ssl=off"]
    run(["sysbench", "oltp_read_write", *base, "--mysql-port=%d" % PORT, "prepare"])
    # Read only for the count of statements: sysbench does not count those that end in a deadlock.
    for workload in ("oltp_read_only", "oltp_read_write"):
        out, got = recorded(lambda port, name=workload: run(
            ["sysbench", name, *base, "--mysql-port=%d" % port, "run"]), "--workers=2")
        queries = {word: int(out.split(word + ":")[1].split()[0])
                   for word in ("read", "write", "other")}
        executed = [r for r in got if r["kind"] == "stmt" and r["command"] in (3, 0x17)]
        if workload == "oltp_read_only":
            assert len(executed) == sum(queries.values()), (len(executed), queries)
        ends = [r for r in got if r["kind"] == "txn" and r["event"] == 1]
        assert len([r for r in ends if r["outcome"] == 1]) == 200, len(ends)
    seqs = [r["seq"] for r in got if r.get("seq")]
    assert len(set(seqs)) == len(seqs)


# ---- transactions ----

@test
def isolation_levels():
    """the level in the trace is the one that InnoDB says the transaction has"""
    import pymysql  # pylint: disable=import-outside-toplevel
    levels = {"READ UNCOMMITTED": 1, "READ COMMITTED": 2, "REPEATABLE READ": 3, "SERIALIZABLE": 4}
    steps = ["set session transaction isolation level read committed", "BEGIN",
             "set session transaction isolation level serializable", "ASK", "COMMIT", "BEGIN", "ASK",
             "ROLLBACK", "set transaction isolation level read uncommitted", "BEGIN", "ASK", "COMMIT",
             "BEGIN", "ASK", "COMMIT", "set @@tx_isolation='REPEATABLE-READ'", "BEGIN", "ASK", "COMMIT",
             "BEGIN", "ASK", "COMMIT", "set tx_isolation='READ-COMMITTED'", "BEGIN", "ASK",
             "COMMIT AND CHAIN", "ASK", "COMMIT", "set transaction isolation level serializable",
             "set session transaction isolation level repeatable read", "BEGIN", "ASK", "COMMIT",
             "set transaction isolation level serializable", "select * from iso",
             "BEGIN", "ASK", "COMMIT",
             "set autocommit=0, session tx_isolation='READ-UNCOMMITTED'", "ASK", "COMMIT",
             "ASK", "set autocommit=1"]
    seen = []

    def client(port):
        db = pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                             autocommit=None)
        with db.cursor() as cursor:
            cursor.execute("create or replace table iso (a int primary key) engine=innodb")
            cursor.execute("insert into iso values (1)")
            for step in steps:
                if step != "ASK":
                    cursor.execute(step)
                    continue
                cursor.execute("select * from iso")
                # InnoDB's view of transactions is cached for 0.1 s.
                for _ in range(100):
                    cursor.execute("select sleep(0.11)")
                    cursor.execute("select trx_isolation_level from information_schema.innodb_trx "
                                   "where trx_mysql_thread_id = connection_id()")
                    rows = cursor.fetchall()
                    if rows:
                        break
                seen.append(levels[rows[0][0]])
        db.close()

    _, got = recorded(client)
    begun = {r["txn"]: r["level"] for r in got if r["kind"] == "txn" and r["event"] == 0}
    asked = [r for r in got if r["kind"] == "stmt" and r["text"] == "select * from iso" and r["txn"] in begun]
    assert [begun[r["txn"]] for r in asked] == seen, ([begun[r["txn"]] for r in asked], seen)


@test
def deadlock_timeout_and_implicit_commit():
    """1213 ends the transaction, 1205 does not, DDL commits it"""
    import pymysql  # pylint: disable=import-outside-toplevel

    def client(port):
        a, b = (pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                                autocommit=True) for _ in range(2))
        one, two = a.cursor(), b.cursor()
        one.execute("create or replace table dl (k int primary key, v int) engine=innodb")
        one.execute("insert into dl values (1,0),(2,0)")
        two.execute("set innodb_lock_wait_timeout=1")
        one.execute("begin")
        one.execute("update dl set v=1 where k=1")
        two.execute("begin")
        two.execute("update dl set v=2 where k=2")
        code = None
        try:
            two.execute("update dl set v=2 where k=1")
        except pymysql.err.OperationalError as error:
            code = error.args[0]
        assert code == 1205, code
        # Now a deadlock: one waits for two in a thread, two then closes the circle.
        errors = []

        def wait():
            try:
                one.execute("update dl set v=1 where k=2")
            except pymysql.err.OperationalError as error:
                errors.append(error.args[0])
        thread = threading.Thread(target=wait)
        thread.start()
        wait_for("a lock wait", lambda: servers(
            "sql", INSTANCE, "select count(*) from information_schema.innodb_lock_waits"
        ).strip() != "0")
        try:
            two.execute("update dl set v=2 where k=1")
        except pymysql.err.OperationalError as error:
            errors.append(error.args[0])
        thread.join()
        assert errors == [1213], errors
        one.execute("rollback")
        two.execute("rollback")
        one.execute("begin")
        one.execute("update dl set v=7 where k=1")
        one.execute("create or replace table dl2 (a int)")
        a.close()
        b.close()

    _, got = recorded(client)
    ends = [(r["outcome"], r["reason"]) for r in got
            if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
    assert sorted(ends) == sorted([(2, "error 1213"), (2, "rollback"), (1, "implicit commit")]), ends


@test
def gtid_of_commits():
    """last_gtid of the session tracker stands with the transaction"""
    script = ("set session_track_system_variables='autocommit,last_gtid';"
              "create or replace table g (a int); begin; insert into g values (1); commit;")

    def client(port):
        run(command_line(port, "test", "-e", script))
        return run(command_line(port, "-N", "-e", "select @@gtid_binlog_pos"))

    pos, got = recorded(client)
    gtids = [r["gtid"] for r in got if r["kind"] == "txn" and r["event"] == 1 and r["gtid"]]
    assert pos.strip() and gtids[-1] == pos.strip(), (gtids, pos)


@test
def context_of_the_recording():
    """--user: variables, schema, initial and final rows are those of the server"""
    run(command_line(PORT), input="""
create or replace database ctx; use ctx;
create table parent (a int primary key, b varchar(20) not null default 'x', unique key ub (b));
create table child (p int, q int, e int, v int generated always as (q + 1) stored, primary key (p, q),
  foreign key fk (e) references parent (a) on delete cascade on update set null);
create table parts (a int primary key) partition by hash (a) partitions 2;
create trigger g before update on parent for each row set @g = 1;
create function f(x int) returns int deterministic return x + 1;
create view pairs as select p, q from child where e > 0;
insert into parent values (2,'two'),(1,'one'); insert into child (p,q,e) values (1,2,1),(1,1,2);
insert into parts values (1),(2),(3);
""")
    _, got = recorded(lambda port: run(command_line(
        port, "ctx", "-e", "update parent set b = 'changed' where a = 1; drop table parts")),
                      "--user=root", "--database=ctx", "--snapshot-rows=2")
    server, = [r for r in got if r["kind"] == "server"]
    asked = dict(line.split("\t", 1) for line in run(
        command_line(PORT, "-N", "-r", "-e", "show global variables")).splitlines() if "\t" in line)
    assert server["variables"]["tx_isolation"] == "REPEATABLE-READ"
    for name, told in server["variables"].items():
        assert asked[name] == told, (name, told, asked[name])
    schema = {r["name"]: r for r in got if r["kind"] == "schema"}
    assert sorted(schema) == ["child", "parent", "parts"], schema.keys()
    child = schema["child"]
    assert [c[0] for c in child["columns"]] == ["p", "q", "e", "v"] and child["primary_key"] == [0, 1]
    assert child["columns"][3][5], "the generated column has no expression"
    assert child["foreign_keys"][0][1:] == [[2], "ctx", "parent", ["a"], "CASCADE", "SET NULL"], child
    assert ["ub", True, [1]] in schema["parent"]["keys"], schema["parent"]
    assert {n: r["triggers"] for n, r in schema.items()} == {
        "parent": [["g", "BEFORE", "UPDATE"]], "child": [], "parts": []}, schema
    programs = {r["name"]: r for r in got if r["kind"] == "program"}
    assert {n: (r["type"], r["table"]) for n, r in programs.items()} == {
        "g": (1, "parent"), "f": (2, None), "pairs": (4, None)}, programs
    shown = run(command_line(PORT, "-N", "-r", "-e", "show create view ctx.pairs")).split("\t")
    assert shown[1] == programs["pairs"]["create_text"], shown
    for word, name in ("trigger", "g"), ("function", "f"):
        shown = run(command_line(PORT, "ctx", "-N", "-r", "-e", "show create %s %s" % (word, name)))
        assert shown.split("\t")[1:3] == [programs[name]["sql_mode"], programs[name]["create_text"]], shown
    assert schema["parts"]["partitions"].startswith("PARTITION BY HASH"), schema["parts"]
    rows = {(r["table"], r["moment"]): (r["rows"], r["complete"]) for r in got if r["kind"] == "rows"}
    parent, parts = schema["parent"]["table"], schema["parts"]["table"]
    assert rows[parent, "initial"] == ([[1, "one"], [2, "two"]], True), rows
    assert rows[parent, "final"] == ([[1, "changed"], [2, "two"]], True), rows
    assert rows[child["table"], "initial"] == ([[1, 1, 2, 2], [1, 2, 1, 3]], True), rows
    assert rows[parts, "initial"] == ([[1], [2]], False), rows
    assert (parts, "final") not in rows
    levels = [r["level"] for r in got if r["kind"] == "txn"]
    assert levels and set(levels) == {3}, levels


@test
def context_under_the_servers_own_settings():
    """--user: definitions are whole and rows those of the server, whatever sessions begin with"""
    settings = "set global autocommit = %s, global sql_mode = %s, global sql_select_limit = %s"
    run(command_line(PORT, "-e", """
create or replace database own; create table own.t (a int auto_increment primary key, c char(3)) engine=InnoDB collate utf8mb4_bin;
insert into own.t values (1, 'x')"""))
    run(command_line(PORT, "-e", settings % ("0", "'ANSI,PAD_CHAR_TO_FULL_LENGTH'", "1")))
    try:
        _, got = recorded(lambda port: run(command_line(port, "own", "-e", "insert into t values (2, 'y'); commit")),
                          "--user=root", "--database=own")
    finally:
        run(command_line(PORT, "-e", settings % ("1", "default", "default")))
    schema, = [r for r in got if r["kind"] == "schema"]
    for words in "ENGINE=InnoDB", "utf8mb4_bin", "AUTO_INCREMENT":
        assert words in schema["create_text"], schema["create_text"]
    rows = {r["moment"]: r["rows"] for r in got if r["kind"] == "rows"}
    assert rows == {"initial": [[1, "x"]], "final": [[1, "x"], [2, "y"]]}, rows


@test
def context_of_a_server_that_ignores_logins():
    """skip-character-set-client-handshake: the trace says so, and rows are read as they are"""
    running = json.loads(servers("start", "mariadb-local", "--name=handshake", "--json", "-o", "skip-character-set-client-handshake",
                                 "-o", "character-set-server=latin1", "--with-parent=%d" % os.getpid()))
    try:
        run(command_line(running["port"], "-e", "create database own; create table own.t (a int primary key, "
                         "c varchar(9) character set utf8mb4); insert into own.t values (1, _utf8mb4 x'e282ac')"))
        _, got = recorded(lambda port: None, "--user=root", "--database=own", node="127.0.0.1:%d" % running["port"])
    finally:
        servers("stop", "handshake", check=False)
    server, = [r for r in got if r["kind"] == "server"]
    assert server["variables"]["character_set_client_handshake"] == "OFF", server
    assert [r["rows"] for r in got if r["kind"] == "rows"][0] == [[1, "\u20ac"]], got


SECRETS = ("anna@example.org", "918273645", "Zaphod")


def private_life(port):
    """Statements with the secrets as literals, parameters, results; prepared and not."""
    perl = """
use DBI;
my $db = DBI->connect("DBI:MariaDB:host=127.0.0.1;port=$ARGV[0];database=priv", "root", "",
  {RaiseError => 0, PrintError => 0, mariadb_server_prepare => 1});
my $st = $db->prepare("insert into people (id, email, pin) values (?, ?, ?)");
$st->execute(2, "anna\\@example.org", 918273645);
$st = $db->prepare("select id, email, concat(email, '!') from people where email = ? order by id");
$st->execute("anna\\@example.org");
$st->fetchall_arrayref;
$db->do("update people set pin = 918273645 where email = 'anna\\@example.org'");
$db->do("insert into people (id, email) values (2, 'Zaphod')");
$db->do("insert into people values (3, 'Zaphod', 1, 'harmless')");
$db->do("select count(*) from people where id > 1");
for my $sql ("select x from (select email x from people) d", "select x from (select distinct email x
  from people) d", "with c as (select email y from people) select y from c", "select email z from people
  union select 'u'", "select \\@v := email from people", "select \\@v") {
  my $st = $db->prepare($sql); $st->execute; $st->fetchall_arrayref;
}
$db->do("insert into audit values ('anna\\@example.org')");
"""
    return run(["perl", "-e", perl, str(port)])


def other_names(port):
    """The secrets under other names than their columns', and in what the server says of them."""
    perl = """
use DBI;
my $db = DBI->connect("DBI:MariaDB:host=127.0.0.1;port=$ARGV[0];database=priv", "root", "",
  {RaiseError => 0, PrintError => 0, mariadb_server_prepare => 1});
my $st;
$st = $db->prepare("select m from mails where m = ?"); $st->execute("anna\\@example.org");
$st->fetchall_arrayref;
for my $sql ("select * from mails", "select m from mails where m > 'Zaphod' or 1", "update mails set m =
  'Zaphod' where i = 9", "select first_mail()", "select upper(priv.first_mail()) u", "select * from
  (select * from people) d", "select 1, 2, 3, 4 union all select * from people", "select email + 0 x
  from people where id = 1", "show warnings", "insert into tracks (id) values (1)",
  "show full processlist", "create temporary table audit as select email who2 from people",
  "select who2 from audit", "select id, who2 from audit, people") {
  my $st = $db->prepare($sql); $st->execute; $st->fetchall_arrayref if $st->{NUM_OF_FIELDS};
}
"""
    return run(["perl", "-e", perl, str(port)])


def record_private(*options, life=(private_life,)):
    run(command_line(PORT, "-e", "drop database if exists priv; create database priv; create table "
                     "priv.people (id int primary key, email varchar(40), pin int, note varchar(20)); "
                     "create table priv.audit (who varchar(40)); "
                     "insert into priv.people values (1, 'anna@example.org', 918273645, 'plain note'); "
                     "create view priv.mails as select id i, email m from priv.people; "
                     "create function priv.first_mail() returns varchar(40) reads sql data return "
                     "(select email from priv.people order by id limit 1); "
                     "create table priv.tracks (id int primary key); "
                     # An error about a value of a column that the statement does not name.
                     "create table priv.seen (who varchar(40) unique); "
                     "insert into priv.seen values ('anna@example.org'); "
                     "create trigger priv.track before insert on priv.tracks for each row "
                     "insert into priv.seen values ('anna@example.org')"))
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % PORT], "--compression=0", "--user=root",
               "--database=priv", *options) as proxy:
        for part in life:
            part(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            return records(ISOTRACE, proxy.trace), trace.read()


def hashes(value_):
    return {v["hashed"] for v in value_ if isinstance(v, dict) and "hashed" in v}


@test
def redact_columns():
    """--redact: values of a column are nowhere in the trace; equal ones stay equal everywhere"""
    got, data = record_private("--redact=^(email|pin|who)$", life=(private_life, other_names))
    for secret in SECRETS:
        assert secret.encode() not in data, secret
    assert b"plain note" in data, "columns that were not named are kept"
    # One hash for the one address: initial row, parameter, result, literal, final row.
    initial, = (r["rows"][0] for r in got if r["kind"] == "rows" and r["moment"] == "initial" and
                r["rows"] and len(r["rows"][0]) == 4)
    address, pin = initial[1]["hashed"].lower(), initial[2]["hashed"].lower()
    assert initial[0] == 1 and initial[3] == "plain note", initial
    params = [r["params"] for r in got if r["kind"] == "stmt" and r["params"]]
    assert [p["hashed"].lower() for p in params[0][1:]] == [address, pin], params
    assert params[1][0]["hashed"].lower() == address
    selected = [row for r in got if r["kind"] == "result" for row in r["rows"] if
                len(row) == 3 and isinstance(row[0], int)]
    assert [row[0] for row in selected] == [1, 2], selected
    assert {row[1]["hashed"].lower() for row in selected} == {address}
    assert all("hashed" in row[2] for row in selected), "a computed column of a redacted one"
    update, = (r["text"] for r in got if r["kind"] == "stmt" and (r["text"] or "").startswith("update p"))
    assert update == ("update people set pin = 'redacted:%s' where email = 'redacted:%s'" %
                      (pin, address)), update
    errors = [(r["error"], r["error_text"]) for r in got if r["kind"] == "stmt" and r["error"]]
    assert errors and errors[0][0] == 1062 and "left out" in errors[0][1], errors
    counted, = (r["text"] for r in got if r["kind"] == "stmt" and "count(*)" in (r["text"] or ""))
    assert counted.endswith("id > 1"), counted
    note, = (r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out")
    assert "--redact=^(email|pin|who)$" in note, note


@test
def redact_all():
    """--redact=all: with hashes and without; a key file makes recordings agree"""
    for how in ("hash", "drop"):
        got, data = record_private("--redact=all", "--redact-with=" + how,
                                   life=(private_life, other_names))
        for secret in (*SECRETS, "plain note", "harmless"):
            assert secret.encode() not in data, (how, secret)
        kind = "hashed" if how == "hash" else "dropped"
        rows = [row for r in got if r["kind"] in ("rows", "result") for row in r["rows"]]
        assert rows and all(v is None or list(v) == [kind] for row in rows for v in row), rows
    with open(os.path.join(BUILD, "redact.key"), "wb") as key:
        key.write(b"not so very secret, this one")
    both_times = [sorted(json.dumps(r["rows"]) for r in record_private(
        "--redact=all", "--redact-key=" + key.name)[0] if r["kind"] == "rows") for _ in range(2)]
    assert both_times[0] == both_times[1] and "hashed" in both_times[0][0], both_times


@test
def tables():
    """--only-table, --skip-table: statements keep their place, not their content"""
    got, data = record_private("--only-table=\\.audit$")
    for secret in ("918273645", "plain note", "people"):
        assert secret.encode() not in data, secret
    texts = [(r["text"], r["flags"] & 64, r["txn"]) for r in got if r["kind"] == "stmt" and
             r["command"] in (3, 0x16, 0x17)]
    kept = [t for t in texts if t[0]]
    assert any("insert into audit" in t[0] for t in kept), kept
    left_out = [t for t in texts if t[1]]
    assert len(left_out) >= 5 and all(t[0] is None for t in left_out), texts
    assert {r["name"] for r in got if r["kind"] == "schema"} == {"audit"}
    got, data = record_private("--skip-table=\\.audit$")
    assert b"918273645" in data and b"insert into audit" not in data


@test
def tables_made_meanwhile():
    """a table created during the recording has a schema and final rows, one dropped has none"""
    run(command_line(PORT, "-e", "drop database if exists made; create database made; "
                     "create table made.old (a int primary key); insert into made.old values (1)"))

    def client(port):
        run(command_line(port, "made", "-e", "create table fresh (b int primary key, c varchar(9)); "
                         "insert into fresh values (2, 'two'), (1, 'one'); drop table old"))

    _, got = recorded(client, "--user=root", "--database=made")
    number = {r["name"]: r["table"] for r in got if r["kind"] == "schema"}
    assert sorted(number) == ["fresh", "old"] and len(set(number.values())) == 2, number
    rows = {(r["table"], r["moment"]): r["rows"] for r in got if r["kind"] == "rows"}
    assert rows == {(number["old"], "initial"): [[1]],
                    (number["fresh"], "final"): [[1, "one"], [2, "two"]]}, rows


@test
def sampling():
    """--sample: one session of three, and that one whole"""
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % PORT], "--sample=3") as proxy:
        for i in range(9):
            out = run(command_line(proxy.port, "-N", "-e", "select %d; select 'x%d'" % (i, i)))
            assert out == "%d\nx%d\n" % (i, i), out
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    sessions = {}
    for r in got:
        if r["kind"] == "stmt" and r["text"] and not r["text"].startswith("select @@"):
            sessions.setdefault(r["session"], []).append(r["text"])
    assert sessions == {i: ["select %d" % (i - 1), "select 'x%d'" % (i - 1)] for i in (3, 6, 9)}
    note, = (r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out")
    assert note == "--sample=3", note


@test
def proxy_protocol():
    """--proxy-protocol: the server sees the client's own address, v1 and v2"""
    running = json.loads(servers("start", "mariadb-local", "--name=pp", "--json", "-o",
                                 "proxy_protocol_networks=127.0.0.1", "--with-parent=%d" % os.getpid()))
    try:
        for version in ("v1", "v2"):
            host, got = recorded(lambda port: run(command_line(
                port, "-N", "-e", "select host from information_schema.processlist "
                "where id = connection_id()")), "--proxy-protocol=" + version,
                                 node="127.0.0.1:%d" % running["port"])
            client, = {r["client"] for r in got if r["kind"] == "session"}
            assert host.strip().rpartition(":")[2] == client.rpartition(":")[2], (host, client)
    finally:
        servers("stop", "pp", check=False)


@test
def proxy_protocol_chain():
    """haproxy before us, MariaDB behind: the server still sees the client's own address"""
    if not shutil.which("haproxy"):
        raise SkipTest("haproxy is not installed")
    running = json.loads(servers("start", "mariadb-local", "--name=pp2", "--json", "-o",
                                 "proxy_protocol_networks=127.0.0.1", "--with-parent=%d" % os.getpid()))
    ask = "select host from information_schema.processlist where id = connection_id()"
    try:
        for there, here in (("send-proxy", "v2"), ("send-proxy-v2", "v1")):
            with Proxy(ISOREC, ["n1=127.0.0.1:%d" % running["port"]], "--accept-proxy-protocol",
                       "--proxy-protocol=" + here) as proxy:
                port = free_port()
                config = os.path.join(proxy.folder, "haproxy.cfg")
                with open(config, "w", encoding="ascii") as out:
                    out.write("""defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen l
  bind 127.0.0.1:%d
  server s 127.0.0.1:%d %s
""" % (port, proxy.port, there))
                with subprocess.Popen(["haproxy", "-db", "-q", "-f", config]) as balancer:
                    try:
                        wait_for("haproxy", lambda p=port: reachable(p))
                        host = run(command_line(port, "-N", "-e", ask)).strip()
                    finally:
                        balancer.terminate()
                # The look whether haproxy listens made a session, too.
                wait_for("the sessions' end", lambda p=proxy: p.statistics()["sessions"] == 0)
                proxy.stop()
                got = records(ISOTRACE, proxy.trace)
            client, = {s["client"] for s in got if s["kind"] == "session" and s["user"] == "root"}
            assert host.rpartition(":")[2] == client.rpartition(":")[2], (host, client)
            assert client.rpartition(":")[2] != str(proxy.port)
    finally:
        servers("stop", "pp2", check=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def reachable(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


@test
def server_killed():
    """the server is killed while COMMITs pour in: every one without an answer is unknown"""
    import pymysql  # pylint: disable=import-outside-toplevel
    running = json.loads(servers("start", "mariadb-local", "--name=victim", "--json",
                                 "--with-parent=%d" % os.getpid()))
    try:
        with Proxy(ISOREC, ["127.0.0.1:%d" % running["port"]]) as proxy:
            setup = pymysql.connect(host="127.0.0.1", port=proxy.port, user="root", autocommit=True)
            setup.cursor().execute("create database k")
            setup.cursor().execute("create table k.t (a int primary key auto_increment, s int)")
            confirmed, started = [], threading.Event()

            def work(number):
                try:
                    db = pymysql.connect(host="127.0.0.1", port=proxy.port, user="root", database="k")
                    for i in range(1000000):
                        with db.cursor() as cursor:
                            cursor.execute("insert into t (s) values (%s)", (number * 1000000 + i,))
                        db.commit()
                        confirmed.append(number * 1000000 + i)
                        if len(confirmed) > 20:
                            started.set()
                except pymysql.err.Error:
                    pass
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            assert started.wait(120)
            servers("kill", "victim")
            for thread in threads:
                thread.join()
            wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] <= 1)
            setup.close()
            proxy.stop()
            got = records(ISOTRACE, proxy.trace)
        servers("restart", "victim", "--with-parent=%d" % os.getpid())
        there = {int(line) for line in servers("sql", "victim", "select s from k.t").split()}
    finally:
        servers("stop", "victim", check=False)
    outcome = {r["txn"]: r["outcome"] for r in got if r["kind"] == "txn" and r["event"] == 1}
    for r in got:
        if r["kind"] == "stmt" and (r["text"] or "").startswith("insert into t (s)"):
            number = int(r["text"].split("(")[2].strip(")"))
            state = outcome.get(r["txn"])
            assert state is not None, r
            # Committed is there, aborted is not; of unknown either may be true.
            assert state != 1 or number in there, (number, state)
            assert state != 2 or number not in there, (number, state)
    committed = sum(1 for o in outcome.values() if o == 1)
    assert committed >= len(confirmed), (committed, len(confirmed))


CLIENTS = ("mariadb_command_line", "text_and_binary_rows_agree", "python_pymysql", "python_mysqldb",
           "perl_dbd_mariadb", "perl_dbd_mysql", "php_mysqli", "php_pdo", "java_connector",
           "node_mysql2", "node_mariadb", "dump_and_restore", "sysbench_read_write")


def main():
    global PORT  # pylint: disable=global-statement
    servers("clean", check=False)
    try:
        instance = json.loads(servers("start", RELEASE or "mariadb-local", "--name=" + INSTANCE,
                                      "--json", "--binlog=on", "--with-parent=%d" % os.getpid()))
        PORT = instance["port"]
        servers("sql", INSTANCE, "create database if not exists test")
        return run_tests(CHOSEN or (CLIENTS if RELEASE else ()))
    finally:
        servers("stop", INSTANCE, check=False)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
sys.exit(main())
