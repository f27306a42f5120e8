#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real clients and a real server, directly and through isorec proxy: TAP.

    test_proxy_clients.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]

Each client must see the same through the proxy as directly, and the trace must hold what it saw.
Node's clients are installed with npm into the build folder; where npm has no network those tests
are skipped.
"""
import datetime
import decimal
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import SkipTest, test  # noqa: E402
from real_server import (  # noqa: E402
    BUILD, RELEASE, SERVER, TYPES, both, command_line, fresh_database, main, recorded, run)


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
    run(command_line(SERVER["port"], "test"), input=TYPES.replace(
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
    run(command_line(SERVER["port"], "test"), input=TYPES.replace(
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
    again = run(["mariadb-dump", "--no-defaults", "-h127.0.0.1", "-P%d" % SERVER["port"], "-uroot", "--skip-ssl",
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
    run(["sysbench", "oltp_read_write", *base, "--mysql-port=%d" % SERVER["port"], "prepare"])
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


sys.exit(main())
