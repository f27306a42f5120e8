#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_transactions.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

Which transaction a statement belongs to, and its level, where no answer tells.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import LEVELS, TABLES, main, prepare, recorded, sql, violations  # noqa: E402
from proxy_harness import test, wait_for  # noqa: E402


@test
def several_transactions_in_one_statement():
    """what a call, or one of several statements, committed is not what its writer replaced later"""
    both = "update plain set v = 10 where id = 1; do sleep(1); update plain set v = 20 where id = 1"
    for work in ("delimiter //\n%s//\n" % both, "call twice();"):
        sql(TABLES)
        sql("delimiter //\ncreate procedure twice() begin %s; end//\n" % both, database="it")
        prepare("--quiet", "it.plain")

        def work_and_look(port):
            with subprocess.Popen(["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl",
                                   "it"], stdin=subprocess.PIPE, text=True) as writer:
                writer.stdin.write(work)
                writer.stdin.close()
                wait_for("the first part", lambda: sql("select v from plain where id = 1", "-N", port=port,
                                                       database="it").strip() == "10")
            return sql("select v from plain where id = 1", "-N", port=port, database="it").strip()
        last, _, verdict = recorded(work_and_look, "it")
        assert last == "20", last
        assert not violations(verdict), (work, violations(verdict))
        assert verdict["verdict"] == "incomplete", verdict


@test
def calls_that_end_no_transaction():
    """CALL of a procedure without transaction control, EXECUTE of a known text: part of one transaction"""
    sql(TABLES)
    sql("delimiter //\ncreate procedure bump(n int) begin update plain set v = v + 1 where id = n; "
        "insert into plain values (n + 10, 0); end//\ncreate procedure ends() begin "
        "update plain set v = 5 where id = 1; commit; start transaction; end//\ncreate procedure hides() "
        "begin declare continue handler for sqlexception begin end; insert into plain values (9, 1), (1, 1); "
        "end//\n", database="it")
    prepare("--quiet", "it.plain")
    statements = [  # in a transaction: is it one (1) or perhaps several (2); is the write exact
        ("call bump(1)", 1, True), ("call `it`.`bump` (2)", 1, True), ("CALL it.bump(3)", 1, True),
        ("call ends()", 2, False), ("call hides()", 2, False), ("call bump((select 4))", 2, False),
        ("prepare s from 'update plain set v = v + 7 where id = 2'; execute s", 1, True),
        ("prepare s from 'delete from plain where id = ?'; set @a = 3; execute s using @a", 1, True),
        ("set @t = 'update plain set v = 1 where id = 2'; prepare s from @t; execute s", 2, False),
    ]
    for text, mixed, exact in statements:
        _, got, verdict = recorded(lambda port: sql("begin; select * from plain where id = 1; %s; commit" % text,
                                                    "-f", port=port, database="it"), "it")
        ends = [r for r in got if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
        assert ends and ends[-1]["mixed"] == mixed, (text, ends)
        writes = [r for r in got if r["kind"] == "probe" and r["probe"] == 7]
        assert writes and all(r["exact"] == exact for r in writes), (text, writes)
        assert not violations(verdict), (text, violations(verdict))
        assert ("may have ended" in json.dumps(verdict["coverage"])) == (mixed == 2), verdict["coverage"]
    # Outside of a transaction each of its statements is one.
    _, got, _ = recorded(lambda port: sql("call bump(40)", port=port, database="it"), "it")
    assert [r["exact"] for r in got if r["kind"] == "probe" and r["probe"] == 7] == [False], got
    # A body that changed is not known.
    _, got, _ = recorded(lambda port: sql(
        "drop procedure bump; create procedure bump(n int) update plain set v = n; begin; call bump(1); commit",
        port=port, database="it"), "it")
    assert [r["mixed"] for r in got if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]][-1] == 2


# A session that was at SERIALIZABLE: what it sends, with // after each statement.
OUT_OF_SIGHT = (
    "call lowers()//", "call lowers_next()//", "call lowers_global()//", "do lowered()//",
    "insert into lowering values (1)//",
    "prepare s from 'set session transaction isolation level read committed'// execute s//",
    "prepare s from 'set session transaction isolation level read committed'// "
    "set session transaction isolation level serializable// execute s//",
    "set @t = 'set session transaction isolation level read committed'// prepare s from @t// execute s//",
    "execute immediate concat('set session transaction isolation level ', 'read committed')//",
    "begin not atomic set session transaction isolation level read committed; end//",
    "create procedure mine() set session transaction isolation level read committed// call mine()//",
    "set session %s = elt(1, 'read-committed')//",
    "call harmless()// set session transaction isolation level read committed//",
    "call lowers()// set session transaction isolation level repeatable read//",
    "begin// call lowers()// commit//", "set autocommit = 0// call lowers()//",
)


def level_variable():
    return sql("show variables where variable_name in ('tx_isolation', 'transaction_isolation')", "-N").split()[0]


def levels_of(got):
    """Of the transaction that reads `plain`; 0: not known."""
    read, = (r["txn"] for r in got if r["kind"] == "stmt" and r["text"] == "select * from plain where id = 1")
    return {r["level"] for r in got if r["kind"] == "txn" and r["txn"] == read}


@test
def levels_set_out_of_sight():
    """a level that a routine, a trigger or a text in a text sets is not known, or what the server says it is"""
    name = level_variable()
    for routines in (True, False):
        sql(TABLES)
        sql("create table lowering(id int primary key); create procedure harmless() do 1;", database="it")
        if routines:
            sql("create procedure lowers() set session transaction isolation level read committed; "
                "create procedure lowers_next() set transaction isolation level read committed; "
                "create procedure lowers_global() set @@global.%s = @@global.%s, @@session.%s = 'READ-COMMITTED'; "
                "create function lowered() returns int deterministic no sql return 1; "
                "delimiter //\ncreate or replace function lowered() returns int deterministic begin "
                "set @@session.%s = 'READ-COMMITTED'; return 1; end//\n" % (name, name, name, name), "-f",
                database="it")
            sql("create trigger lowering before insert on lowering for each row set @@session.%s = "
                "'READ-COMMITTED'" % name, "-f", database="it")
        prepare("--quiet", "it.plain")
        known = 0
        for work in OUT_OF_SIGHT:
            if "%s" in work:
                work = work % name
            truth = [None]

            def client(port, work=work, truth=truth):
                said = sql("delimiter //\nset session transaction isolation level serializable//\n%s\n"
                           "begin//\nselect * from plain where id = 1//\ncommit//\n"
                           "select concat('level ', @@session.%s)//\n" % (work.replace("//", "//\n"), name), "-N", "-f",
                           port=port, database="it")
                truth[0] = re.search("level (.*)", said)[1].replace("-", " ")
            _, got, _ = recorded(client, "it")
            if routines and "next" in work:
                truth[0] = "READ COMMITTED"
            levels, wanted = levels_of(got), 4 - LEVELS.index(truth[0])
            assert len(levels) == 1 and levels <= {0, wanted}, (routines, work, truth, levels)
            known += levels != {0}
            sql("drop procedure if exists mine", database="it")
        # With nothing hidden on the node, levels stay known.
        assert known >= (2 if routines else 8), (routines, known)


@test
def levels_of_init_connect():
    """a level that init_connect sets is not known, that of a session that sets its own is"""
    sql(TABLES)
    sql("create user if not exists plain@'%'; grant select on it.* to plain@'%'; "
        "set global init_connect = 'set session transaction isolation level read committed'")
    try:
        for text, wanted in (("", {0}), ("set session transaction isolation level serializable; ", {4})):
            _, got, _ = recorded(lambda port: sql("%sbegin; select * from plain where id = 1; commit" % text, "-uplain",
                                                  port=port, database="it"), "it", mode="off", all_writers=False)
            assert levels_of(got) == wanted, (text, levels_of(got))
    finally:
        sql("set global init_connect = ''")


@test
def global_level_changed_by_others():
    """a global level that a session changes which is not recorded: new sessions' levels are not known"""
    sql(TABLES)
    name = level_variable()
    prepare("--quiet", "it.plain")
    work = "select concat('level ', @@session.%s); begin; select * from plain where id = 1; commit" % name
    try:
        for mode, changes in (("trigger", True), ("off", True), ("trigger", False), ("off", False)):
            sql("set global transaction isolation level serializable")

            def client(port, changes=changes):
                if changes:
                    sql("set global transaction isolation level read committed")
                return sql(work, "-N", port=port, database="it")
            # Looks at the beginning and at the end only.
            said, got, verdict = recorded(client, "it", mode=mode, all_writers=mode != "off",
                                          options=("--poll-interval=1h",))
            assert ("level READ-COMMITTED" in said) == changes, said
            assert [r["topic"] for r in got if r["kind"] == "note" and r["topic"] == "levels doubted"] == [
                "levels doubted"] * changes, got
            assert {p["level"] for p in verdict["promises"]} == {"unknown" if changes else "SERIALIZABLE"}, verdict
    finally:
        sql("set global transaction isolation level repeatable read")


sys.exit(main())
