#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reading of stored programs against a real server's CREATE: TAP on standard output.

    test_programs.py ISOREC-SERVERS SQL_PROGRAMS [RELEASE]

Every body of programs.txt as a procedure, a function and a trigger, each with a token missing or two
swapped, headers, the programs that the server brings with it (schema sys), and on MariaDB those of
its test suite where mariadb-test-data is installed or was fetched by test_accept.py.  No disagreement
is allowed.  Skipped as a whole where there is no such server.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import against  # noqa: E402
from against import CACHE, harvest, joined  # noqa: E402

TOOL, PROGRAMS = sys.argv[1:3]
RELEASE = sys.argv[3] if len(sys.argv) > 3 and sys.argv[3] else "mariadb-local"

HEADERS = """create procedure p() select 1
create procedure p (in a int, out b varchar(10), inout c decimal(5,2), d text) select 1
create definer=root@localhost procedure p() select 1
create definer=`root`@`localhost` procedure p() select 1
create definer=current_user procedure p() select 1
create definer=current_user() procedure p() select 1
create procedure if not exists p() select 1
create or replace procedure p() select 1
create procedure sql_programs.p() select 1
create procedure p() comment 'x' language sql not deterministic contains sql sql security invoker select 1
create procedure p() deterministic no sql sql security definer comment 'a' comment 'b' select 1
create procedure p() reads sql data modifies sql data select 1
create procedure p select 1
create procedure p( select 1
create procedure p(a) select 1
create procedure p(in int) select 1
create procedure p() language java select 1
create procedure p() sql security select 1
create procedure p() not select 1
create procedure p()
create procedure p() returns int return 1
create function f() returns int return 1
create function f() returns int deterministic return 1
create function f(a int, b varchar(10) character set utf8mb4) returns varchar(20) charset utf8mb4 no sql return a
create function f(in a int) returns int return a
create function f(out a int) returns int return 1
create function f() returns row(a int) return null
create function f() returns row type of t return null
create function f(x type of t.a) returns int return null
create function f() return 1
create function f() returns return 1
create function f() returns int
create function f() returns int return
create function f() returns int begin return 1; end
create function f() returns int begin if 1 then return 1; end if; return 2; end
create function f() returns int begin declare x int; set x = f2(1); return x; end
create aggregate function f(a int) returns int begin return 1; end
create function f() returns decimal(5,2) unsigned reads sql data return (select max(c) from t)
create trigger tr before insert on t for each row set new.b = 'x'
create trigger tr after insert on t for each row insert into u values (new.a, new.a)
create trigger tr before update on t for each row set new.b = old.b, new.c = old.c + 1
create trigger tr after delete on t for each row delete from u where a = old.a
create trigger tr before insert on t for each row follows other set new.b = 'x'
create trigger tr before insert on t for each row precedes other set new.b = 'x'
create trigger if not exists tr before insert on t for each row set new.b = 'x'
create or replace trigger tr before insert on t for each row set new.b = 'x'
create definer=root@localhost trigger sql_programs.tr before insert on sql_programs.t for each row set new.b = 'x'
create trigger tr before insert on t for each row begin if new.a > 1 then set new.b = 'y'; else signal sqlstate '45000'; end if; end
create trigger tr insert on t for each row set new.b = 'x'
create trigger tr before replace on t for each row set new.b = 'x'
create trigger tr before insert on t set new.b = 'x'
create trigger tr before insert on t for each statement set new.b = 'x'
create trigger tr before insert t for each row set new.b = 'x'
create trigger tr before insert on t for each row
create trigger tr before insert on t for each row follows set new.b = 'x'
create trigger tr before insert, update on t for each row set new.b = 'x'""".split("\n")

# The servers find another fault with these, or none, for reasons outside of the grammar; FOR loops
# are not read, and which keywords may name a block is not known.
QUIRKS = re.compile(r"\bfor \w+ in\b|/\*|execute immediate", re.I)


def bodies():
    with open(os.path.join(HERE, "programs.txt"), encoding="utf-8") as file:
        text = file.read()
    return [line for line in text.replace("-- b\n", "-- b\n ").split("\n") if line.strip()]


def wrapped(lines):
    for line in lines:
        yield "create procedure p() " + line
        yield "create function f() returns int " + line
        yield "create trigger tr before update on t for each row " + line


def mutants():
    lines = [line for line in bodies() if not QUIRKS.search(line) and
             not re.search("definer|optimize|flush|show|handler t|lock|kill|load|explain"
                           "|xa |alter|create|get diag|prepare|--", line)]
    return ["create procedure p() " + text for text in against.mutants(lines)]


def suite():
    for folder in ("/usr/share/mysql/mysql-test", os.path.join(os.path.dirname(CACHE), "mariadb-test-data")):
        if os.path.isdir(folder):
            return [text for text in harvest([folder]).split(b"\0")
                    if re.match(rb"create\s+(or\s+replace\s+)?(definer\s*=\s*\S+\s+)?"
                                rb"(procedure|function|trigger)\b", text, re.I) and
                    not re.search(rb"\bfor\s+\w+\s+in\b|\balter\s+event|\b(option|get):", text, re.I)]
    return []


def parts(mariadb):
    yield "headers", [], joined(HEADERS)
    yield "our bodies", [], joined(wrapped(line for line in bodies() if not QUIRKS.search(line)))
    yield "mutated bodies", [], joined(mutants())
    yield "what the server brings", ["--own"], b""
    found = suite() if mariadb else []
    if found:
        yield "the servers' test suite", [], joined(found)


def main():
    return against.server(TOOL, RELEASE, "sql-programs-", lambda about: against.compare(
        ((name, [PROGRAMS, about["socket"], *options], texts)
         for name, options, texts in parts("MariaDB" in about["version"])),
        against.counted("disagreements")))


sys.exit(main())
