# SPDX-License-Identifier: GPL-2.0-or-later
"""A real server, and clients of it directly and through isorec proxy.

The command line of each test: ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]
"""
import json
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import Proxy, records, run_tests, wait_for  # noqa: E402

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])
RELEASE = next((a[9:] for a in sys.argv[5:] if a.startswith("--server=")), None)
CHOSEN = [a for a in sys.argv[5:] if not a.startswith("--server=")]
CACHE = os.path.join(BUILD, "proxy-e2e-servers")


# Releases are fetched once, into the user's own cache.
ENV = dict(os.environ) if RELEASE else dict(os.environ, ISOREC_SERVERS_CACHE=CACHE)
INSTANCE = "proxy-%d" % os.getpid()
SERVER = {}  # filled by main
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
    run(command_line(SERVER["port"], "-e", "drop database if exists %s; create database %s" % (name, name)))


def recorded(what, *options, node=None):
    """Runs what(port) through the proxy; returns its result and the trace's records."""
    with Proxy(ISOREC, ["n1=" + (node or "127.0.0.1:%d" % SERVER["port"])], *options) as proxy:
        result = what(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    opaque = [r for r in got if r["kind"] == "session" and r["event"] == 2]
    assert not opaque, opaque
    return result, got


def both(what):
    """The result of what(port), which must be the same directly and through the proxy."""
    direct = what(SERVER["port"])
    result, got = recorded(what)
    assert result == direct, "directly: %r\nthrough the proxy: %r" % (direct, result)
    return result, got


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


def record_private(*options, life=(private_life,)):
    run(command_line(SERVER["port"], "-e", "drop database if exists priv; create database priv; create table "
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
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % SERVER["port"]], "--compression=0", "--user=root",
               "--database=priv", *options) as proxy:
        for part in life:
            part(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            return records(ISOTRACE, proxy.trace), trace.read()


def hashes(value_):
    return {v["hashed"] for v in value_ if isinstance(v, dict) and "hashed" in v}


def main():
    """Runs the tests of the program with a server: RELEASE, or Debian's own."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    servers("clean", check=False)
    try:
        instance = json.loads(servers("start", RELEASE or "mariadb-local", "--name=" + INSTANCE,
                                      "--json", "--binlog=on", "--with-parent=%d" % os.getpid()))
        SERVER.update(instance)
        servers("sql", INSTANCE, "create database if not exists test")
        return run_tests(CHOSEN)
    finally:
        servers("stop", INSTANCE, check=False)
