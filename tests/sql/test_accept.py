#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The SQL parser against the PREPARE of a real server: TAP on standard output.

    test_accept.py ISOREC-SERVERS SQL_ACCEPT SQL_GENERATE [RELEASE] [--suite]

RELEASE is one of isorec-servers; without it the machine's own MariaDB.  --suite: also the 195,000
statements of Debian's package mariadb-test-data, which is downloaded and unpacked beside the
servers unless it is installed.  No disagreement is allowed in any part.  Nothing is executed on the
server but SET and CREATE DATABASE.  Skipped as a whole where there is no such server.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against  # noqa: E402
from against import CACHE, harvest, joined  # noqa: E402

TOOL, ACCEPT, GENERATE = sys.argv[1:4]
NAMES = [word for word in sys.argv[4:] if not word.startswith("--")]
RELEASE = NAMES[0] if NAMES else "mariadb-local"
SUITE = "--suite" in sys.argv[4:]

# Where Debian's packages put SQL of other people: the servers' own, of every release in the cache,
# sysbench, clients and their documentation.  What is not there is left out.
SOURCES = ["/usr/share/mysql/*.sql", "/usr/share/mariadb", "/usr/share/sysbench",
           "/usr/share/doc/*/examples", "/usr/share/dbconfig-common/data",
           os.path.join(CACHE, "releases/*/usr/share/m*/*.sql"),
           os.path.join(CACHE, "releases/*/*/share/*.sql"),
           "/usr/lib/*/perl5/*/DBD", "/usr/share/perl5/DBIx", "/usr/share/perl5/DBD",
           "/usr/lib/python3/dist-packages/*[mM]y[sS][qQ][lL]*",
           os.path.join(HERE, "../clients"), os.path.join(HERE, "../e2e")]

# Where a word may stand; "%" is the word.
PLACES = """select %(1)
select %()
select %(1,2)
select % (1)
select x.%(1)
select %
select % from t
select % a
select a % b
select 1 % 2
select 1 as %
select 1 %
select t.%
select %.a
select @@%
select * from %
select * from t as %
select * from t %
select * from t where % = 1
select 1 from t group by %
select 1 from t order by %
select 1 from t window % as ()
select sum(1) over % from t
select * from t use index (%)
select * from t partition (%)
select % from t1 join t2 using(%)
select 1 collate %
select cast(1 as %)
with % as (select 1) select 1
insert into t(%) values (1)
update t set %=1
delete from %
create table %(a int)
create table % (a int)
create table t(a int, % int)
create table t(a %)
create table t(a int) engine=%
create index % on t(a)
alter table t add % int
alter table t drop %
alter table t drop column %
alter table t rename to %
alter table t %
drop table %
savepoint %
release savepoint %
rollback to %
prepare % from "select 1"
set % = 1
set x=%
set @@session.%=1
use %""".split("\n")

# The server finds no fault with these, or another one, for reasons outside of its grammar.
QUIRKS = re.compile(r"DEFINER=|\(values *\(\)|(next|last)val\(\)|^/\*")


def own_statements():
    with open(os.path.join(HERE, "statements.txt"), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if line.strip()]


def mutants():
    """Of each statement of ours that is no DDL."""
    lines = [line for line in own_statements() if not QUIRKS.search(line) and
             not re.match(r"(create|alter|drop|rename|truncate)\b", line, re.I)]
    return [text for text in against.mutants(lines) if not QUIRKS.search(text)]


def words():
    """Each word that the scanner knows, and each other that MariaDB or MySQL list as a keyword, in
    each place where a name, a call or a type may stand."""
    with open(os.path.join(HERE, "../../formats/sql/keyword.def"), encoding="utf-8") as file:
        known = re.findall(r"^KEYWORD\((\w+)", file.read(), re.M)
    with open(os.path.join(HERE, "words.txt"), encoding="utf-8") as file:
        known += file.read().split()
    return joined(place.replace("%", word) for word in known for place in PLACES)


def test_suite():
    """The folder of Debian's mariadb-test-data: fetched and unpacked once, where that was asked
    for (--suite); else what is installed, or none."""
    installed = "/usr/share/mysql/mysql-test"
    if not SUITE:
        return None
    if os.path.isdir(installed):
        return installed
    folder = os.path.join(os.path.dirname(CACHE), "mariadb-test-data")
    if not os.path.isdir(folder):
        with tempfile.TemporaryDirectory(prefix="sql-accept-") as work:
            os.chmod(work, 0o755)
            got = subprocess.run(["apt-get", "download", "mariadb-test-data"], cwd=work,
                                 capture_output=True, check=False)
            debs = glob.glob(os.path.join(work, "*.deb"))
            if got.returncode != 0 or not debs:
                print("# mariadb-test-data cannot be had here: left out")
                return None
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", debs[0], folder + ".part"], check=True)
            os.rename(folder + ".part", folder)
    return folder


def generated(mode):
    return subprocess.run([GENERATE, "5000", "1", "--mode=" + mode], stdout=subprocess.PIPE,
                          check=True).stdout


def parts(mariadb):
    yield "our statements", "", joined(own_statements())
    yield "random trees", "", generated("")
    yield "every word in every place", "", words()
    yield "mutated statements", "", joined(mutants())
    yield "statements changed at random", "", joined(
        text for text in against.random_mutants(own_statements(), 20000, 1) if not QUIRKS.search(text))
    yield "random trees changed at random", "", joined(against.random_mutants(
        generated("").decode("utf-8").split("\0"), 10000, 2))
    yield "statements found on this machine", "", harvest(path for pattern in SOURCES for path in sorted(glob.glob(pattern)))
    suite = test_suite()
    if suite:
        yield "the servers' own test suite", "", harvest([suite])
    for mode in ("ANSI_QUOTES", "PIPES_AS_CONCAT", "NO_BACKSLASH_ESCAPES", "IGNORE_SPACE",
                 "HIGH_NOT_PRECEDENCE"):
        if mariadb or mode != "HIGH_NOT_PRECEDENCE":
            yield "random trees, " + mode, mode, generated(mode)
            yield "our statements, " + mode, mode, joined(own_statements())


def main():
    return against.server(TOOL, RELEASE, "sql-accept-", lambda about: against.compare(
        ((name, [ACCEPT, about["socket"], "--mode=" + mode], statements)
         for name, mode, statements in parts("MariaDB" in about["version"])),
        against.counted("disagreements")))


sys.exit(main())
