#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_transactions.py ISOREC ISOTRACE [TEST...]

Where transactions begin and end, and at which level.
"""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test, wait_for  # noqa: E402
from scripted import (  # noqa: E402
    AUTO, IN, ISOREC, ISOTRACE, Mock, Talk, err, ok, packet, pass_on, play, txn_shape, whole)


def sql(text, status=None, error=None, command=3):
    """A statement and its answer: status flags, or an error, or None for no answer at all."""
    return (bytes([command]) + text.encode(), status, error)


# Name: statements, then the transaction records: (event, outcome, reason), autocommitted ones as
# ("auto", outcome, reason).
TXN_CASES = {
    "autocommit": ([sql("insert into t values (1)", AUTO), sql("select 1 from t", AUTO),
                    sql("set names utf8", AUTO), sql("show tables", AUTO)],
                   [("auto", 1, "autocommit"), ("auto", 1, "autocommit")]),
    "begin and commit": ([sql("begin", AUTO | IN), sql("update t set a=1", AUTO | IN),
                          sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "comments and rollback": ([sql("/* x */ start -- y\n transaction", AUTO | IN),
                               sql("/*!40101 rollback */", AUTO)],
                              ["begin", ("end", 2, "rollback")]),
    "autocommit off": ([sql("set autocommit=0", 0), sql("select 1", 0), sql("select a from t", IN),
                        sql("commit", 0), sql("insert into t values (1)", IN),
                        sql("set autocommit=1", AUTO)],
                       [("auto", 1, "autocommit"), "begin", ("end", 1, "commit"), "begin",
                        ("end", 1, "implicit commit")]),
    "begin in a transaction": ([sql("begin", AUTO | IN), sql("begin", AUTO | IN), sql("commit", AUTO)],
                               ["begin", ("end", 1, "implicit commit"), "begin", ("end", 1, "commit")]),
    "chain": ([sql("begin", AUTO | IN), sql("commit and chain", AUTO | IN),
               sql("rollback and no chain", AUTO)],
              ["begin", ("end", 1, "commit"), "begin", ("end", 2, "rollback")]),
    "deadlock": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1213),
                  sql("update t set a=2", AUTO)],
                 ["begin", ("end", 2, "error 1213"), ("auto", 1, "autocommit")]),
    "snapshot conflict": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1020)],
                          ["begin", ("end", 2, "error 1020")]),
    "lock wait timeout": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1205),
                           sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "lock wait timeout that rolled back": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1205), sql("select a from t", AUTO)],
        ["begin", ("end", 2, "error 1205 (innodb_rollback_on_timeout)"), ("auto", 1, "autocommit")]),
    "commit fails": ([sql("begin", AUTO | IN), sql("commit", error=1180)],
                     ["begin", ("end", 0, "error 1180")]),
    "commit is a deadlock victim": ([sql("begin", AUTO | IN), sql("commit", error=1213)],
                                    ["begin", ("end", 2, "error 1213")]),
    "commit is not certified": ([sql("begin", AUTO | IN), sql("commit", error=3101)],
                                ["begin", ("end", 2, "error 3101")]),
    "alone and not certified": ([sql("update t set a=1", error=3101)], [("auto", 2, "error 3101")]),
    "commit is killed": ([sql("begin", AUTO | IN), sql("commit", error=1927)],
                         ["begin", ("end", 0, "error 1927")]),
    "write is killed with its session": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1927)],
        ["begin", ("end", 2, "ended by the server")]),
    "only the write is killed": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1317), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "alone, and the server shuts down": ([sql("update t set a=1", error=1053)],
                                         [("auto", 0, "error 1053")]),
    "alone, and its commit fails": ([sql("update t set a=1", error=1180)],
                                    [("auto", 0, "error 1180")]),
    "alone and killed with its session": ([sql("delete from t", error=1927)],
                                          [("auto", 0, "error 1927")]),
    "alone and killed": ([sql("delete from t", error=1317)], [("auto", 2, "error 1317")]),
    "not ready for queries": ([sql("begin", AUTO | IN), sql("update t set a=1", error=1047),
                               sql("rollback", AUTO)], ["begin", ("end", 2, "rollback")]),
    "read only after a failover": (
        [sql("begin", AUTO | IN), sql("update t set a=1", error=1290), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "definition commits": ([sql("begin", AUTO | IN), sql("create table x (a int)", AUTO)],
                           ["begin", ("end", 1, "implicit commit")]),
    "temporary table does not": ([sql("begin", AUTO | IN),
                                  sql("create temporary table x (a int)", AUTO | IN),
                                  sql("rollback", AUTO)], ["begin", ("end", 2, "rollback")]),
    "failed definition commits": (
        [sql("begin", AUTO | IN), sql("create table t (a int)", error=1050), sql("select 1", AUTO)],
        ["begin", ("end", 1, "implicit commit of a statement that failed"),
         ("auto", 1, "autocommit")]),
    "failed definition, then rollback": (
        [sql("begin", AUTO | IN), sql("create table t (a int)", error=1050), sql("rollback", AUTO)],
        ["begin", ("end", 0, "rollback after a failed statement that may have committed")]),
    "parse error does not": ([sql("begin", AUTO | IN), sql("create nonsense", error=1064),
                              sql("commit", AUTO)], ["begin", ("end", 1, "commit")]),
    "call": ([sql("begin", AUTO | IN), sql("call p()", AUTO)],
             ["begin", ("end", 0, "ended inside the statement", "mixed")]),
    "call that leaves one open": ([sql("begin", AUTO | IN), sql("call p()", AUTO | IN),
                                   sql("rollback", AUTO)],
                                  ["begin", ("end", 2, "rollback", "mixed")]),
    "call that begins one": ([sql("execute p", AUTO | IN), sql("commit", AUTO)],
                             ["begin", ("end", 1, "commit", "mixed")]),
    "call that fails in a transaction": (
        [sql("begin", AUTO | IN), sql("call p()", error=1062), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed")]),
    "call of nothing": (
        [sql("begin", AUTO | IN), sql("call d.p()", error=(1305, b"PROCEDURE d.p does not exist")), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit")]),
    "call of something that calls nothing": (
        [sql("begin", AUTO | IN), sql("call d.p()", error=(1305, b"PROCEDURE d.q does not exist")), sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed")]),
    "the next one is not mixed": (
        [sql("begin", AUTO | IN), sql("call p()", AUTO | IN), sql("commit and chain", AUTO | IN),
         sql("commit", AUTO)],
        ["begin", ("end", 1, "commit", "mixed"), "begin", ("end", 1, "commit")]),
    "failed call": ([sql("call p()", error=1062)], [("auto", 0, "error 1062")]),
    "failed insert": ([sql("insert into t values (1)", error=1062)], [("auto", 2, "error 1062")]),
    "savepoints": ([sql("begin", AUTO | IN), sql("savepoint `a b`", AUTO | IN),
                    sql("rollback work to savepoint a", AUTO | IN),
                    sql("release savepoint a", AUTO | IN), sql("commit", AUTO)],
                   ["begin", ("savepoint", "a b"), ("rollback to", "a"), ("release", "a"),
                    ("end", 1, "commit")]),
    "xa": ([sql("xa start 'x'", AUTO | IN), sql("xa end 'x'", AUTO | IN),
            sql("xa prepare 'x'", AUTO | IN), sql("xa commit 'x'", AUTO)],
           ["begin", ("end", 1, "commit")]),
    "xa left behind": ([sql("xa start 'x'", AUTO | IN), sql("xa end 'x'", AUTO | IN),
                        sql("xa prepare 'x'", AUTO | IN)],
                       ["begin", ("end", 0, "prepared XA transaction left behind")]),
    "reset connection": ([sql("begin", AUTO | IN), sql("", AUTO, command=0x1f)],
                         ["begin", ("end", 2, "rollback")]),
    "ended by the server": ([sql("begin", AUTO | IN)], ["begin", ("end", 2, "ended by the server")]),
    "lost commit behind another": (
        [sql("begin", AUTO | IN), sql("update t set a=1"), sql("commit")],
        ["begin", ("end", 0, "no answer to what may have committed it")]),
    "lost select": ([sql("begin", AUTO | IN), sql("select a from t")],
                    ["begin", ("end", 2, "ended by the server")]),
    "lost definition": ([sql("begin", AUTO | IN), sql("drop table t")],
                        ["begin", ("end", 0, "no answer to what may have committed it")]),
    "comments for other versions": (
        [sql("begin", AUTO | IN), sql("/*!99999 rollback */ select 1", AUTO | IN),
         sql("/*!50701 commit */")],
        ["begin", ("end", 2, "ended by the server")]),
    "lost autocommit": ([sql("delete from t")], [("auto", 0, "no answer")]),
}


@test
def transactions_from_status_flags():
    """transactions begin and end as the server's flags and errors say"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for statements, _ in TXN_CASES.values():
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in Talk().steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                for payload, status, error in statements:
                    pass_on(client, server, packet(0, payload), whole)
                    if error:
                        number, text = error if isinstance(error, tuple) else (error, b"failed")
                        pass_on(server, client, packet(1, err(number, text)), whole)
                    elif status is not None:
                        pass_on(server, client, packet(1, ok(status)), whole)
                server.close()
                assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = {}
        for record in records(ISOTRACE, proxy.trace, ["txn"]):
            got.setdefault(record["session"], []).append(txn_shape(record))
    for number, (name, (_, expected)) in enumerate(TXN_CASES.items(), 1):
        assert got.get(number, []) == expected, "%s:\n%s\nnot\n%s" % (
            name, got.get(number), expected)


@test
def several_statements_in_one_text():
    """each result of a text moves the transaction on; the flags stand with each"""
    talk = Talk().command(b"\3begin; update t set a=1; commit; select a from t; rollback")
    talk.server(ok(AUTO | IN | 8), ok(AUTO | IN | 8, 1), ok(AUTO | 8))
    talk.rows((1, "x"), status=AUTO | 8).server(ok(AUTO))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        shapes = [txn_shape(r) for r in records(ISOTRACE, proxy.trace, ["txn"])]
    assert shapes == ["begin", ("end", 1, "commit", "mixed"), ("auto", 1, "autocommit")], shapes


@test
def texts_that_end_transactions_between():
    """a text mixes transactions where one ends between its statements, not before or after them"""
    cases = [(b"begin; update t set a=1", [AUTO | IN] * 2, 1),
             (b"update t set a=1; commit", [AUTO | IN, AUTO], 1),
             (b"update t set a=1; commit; begin; update t set a=2",
              [AUTO | IN, AUTO, AUTO | IN, AUTO | IN], 2)]
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for text, statuses, _ in cases:
            talk = Talk().command(b"\3begin").server(ok(AUTO | IN))
            talk.command(b"\3" + text)
            talk.server(*[ok(s | 8) for s in statuses[:-1]], ok(statuses[-1]))
            play(mock, proxy, talk.steps, whole)
        proxy.stop()
        got = {}
        for record in records(ISOTRACE, proxy.trace, ["txn"]):
            if record["event"] == 1:
                got.setdefault(record["session"], []).append(record["mixed"])
    assert got == {1: [1, 1], 2: [1], 3: [2, 2]}, got


@test
def prepared_transaction_statements():
    """COMMIT as a prepared statement ends the transaction, SET TRANSACTION sets the level"""
    talk = Talk()

    def prepared(number, text, status):
        talk.command(b"\x16" + text)
        talk.server(b"\0" + struct.pack("<IHHBH", number, 0, 0, 0, 0))
        talk.command(b"\x17" + struct.pack("<IBI", number, 0, 1)).server(ok(status))

    prepared(1, b"set session transaction isolation level serializable", AUTO)
    prepared(2, b"start transaction with consistent snapshot", AUTO | IN)
    prepared(3, b"commit", AUTO)
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        begin, end = records(ISOTRACE, proxy.trace, ["txn"])
    assert begin["level"] == 4 and begin["consistent_snapshot"], begin
    assert txn_shape(end) == ("end", 1, "commit") and end["txn"] == begin["txn"], end


@test
def level_for_the_next_transaction():
    """SET TRANSACTION holds until a table is touched; where that is not known, nothing is said"""
    cases = ((b"select 1", 4), (b"prepare s from 'select b from t'", 4), (b"use d", 4),
             (b"select b from t", 2), (b"insert into t values (1)", 2),
             (b"set @x = (select max(b) from t)", 2), (b"call p()", 0), (b"call p", 0),
             (b"execute s", 0), (b"select f()", 0), (b"do f()", 0), (b"set @x = f()", 0),
             (b"show tables", 0), (b"select 1 from dual", 0),
             (b"select 1 from information_schema.tables", 0))
    talk = Talk().command(b"\3set session transaction isolation level read committed")
    talk.server(ok(AUTO))
    for text, _ in cases:
        talk.command(b"\3set transaction isolation level serializable").server(ok(AUTO))
        talk.command(b"\3" + text).server(ok(AUTO))
        talk.command(b"\3begin").server(ok(AUTO | IN)).command(b"\3commit").server(ok(AUTO))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        got = [r.get("level", 0) for r in records(ISOTRACE, proxy.trace, ["txn"])
               if r["event"] == 0]
    assert got == [level for _, level in cases], got


# ---- what is recorded ----

@test
def capture_levels_and_limits():
    """--capture, --max-rows, --max-value and --sample leave out what they say, and count it"""
    talk = (Talk().command(b"\3select * from t").rows((1, "x" * 100), (2, "y"), (3, "z")))

    def run(*options):
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], *options) as proxy:
            play(mock, proxy, talk.steps, whole)
            play(mock, proxy, talk.steps, whole)
            proxy.stop()
            return records(ISOTRACE, proxy.trace)

    got = run("--capture=statements")
    assert not [r for r in got if r["kind"] == "result"]
    assert [(r["rows"], r["flags"]) for r in got if r["kind"] == "stmt"] == [(3, 8)] * 2
    first, second = [r for r in run("--max-rows=2") if r["kind"] == "result"]
    assert len(first["rows"]) == 2 and first["total"] == 3 and first["digest"], first
    assert first["digest"] == second["digest"]
    cut = [r for r in run("--max-value=50") if r["kind"] == "result"][0]["rows"]
    assert "cut" in cut[0][1] and cut[1] == [2, "y"], cut
    sampled = {r["session"] for r in run("--sample=2") if r["kind"] == "session"}
    assert sampled == {2}, sampled


sys.exit(run_tests(sys.argv[3:]))
