#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The mvcc oracle over traces that are written by hand, a few statements each, right and wrong: TAP.

    test_made_traces.py ISOTRACE
"""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import tap  # noqa: E402
import tracefile  # noqa: E402
from mvcc_checks import Programs  # noqa: E402

check = Programs(sys.argv[1]).check


def overlapping(version="9.7.4", **variables):
    """The beginning of a trace of two sessions on a table t(a,b) with (1,10) and (2,20)."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version=version, flavour="mariadb" if "Maria" in version else "mysql",
          address="127.0.0.1:3306", variables={"transaction_isolation": "REPEATABLE-READ", **variables})
    t.add("schema", 0, table=1, node="n1", database="shop", name="t",
          columns=[["a", "int", False, None, None, None, None],
                   ["b", "int", True, None, None, None, None]], primary_key=[0], triggers=[],
          create_text="CREATE TABLE `t` (`a` int NOT NULL, `b` int, PRIMARY KEY (`a`)) ENGINE=InnoDB")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[1, 10], [2, 20]],
          complete=True)
    for session in (1, 2):
        t.add("session", 100, session=session, event=0, node="n1", user="anna", database="shop",
              client="10.0.0.5:4000%d" % session, thread=30 + session)
    return t


def verdict_of(t, *options):
    """What the oracle says of the trace when both sessions have left."""
    for session in (1, 2):
        t.add("session", 3000, session=session, event=1)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "overlapping.itr")
        t.write(path)
        return check(path, "--oracle=mvcc", *options, status=None)


def judge(t, *options):
    found = verdict_of(t, "--all-sessions", *options)
    assert found["coverage"]["decided"] > 0, found
    return [f["class"] for f in found["findings"] if f["severity"] in ("violation", "suspicion")]


def test_what_events_may_have_done_is_no_violation():
    """What the trace says of the event scheduler decides whether a row that no statement changed is a violation."""
    made = "create definer=root@localhost event e on schedule every 1 hour do delete from t"
    for variables, text, severity in (
            ({}, None, "violation"),
            ({"isorec_events": "2"}, None, "suspicion"),
            ({"isorec_events": "2", "event_scheduler": "ON"}, None, "suspicion"),
            ({"isorec_events": "2", "event_scheduler": "OFF"}, None, "violation"),
            ({"isorec_events": "2", "event_scheduler": "OFF"}, "set global event_scheduler = 1", "suspicion"),
            ({"event_scheduler": "ON"}, made, "suspicion"),
            ({"event_scheduler": "ON"}, "alter event e enable", "suspicion"),
            ({"event_scheduler": "ON"}, "create table event(a int)", "violation"),
            ({"event_scheduler": "ON"}, " event", None),  # no statement: nothing is known after it
            ({"event_scheduler": "DISABLED"}, made, "violation")):
        t = overlapping(**variables)
        if text:
            t.stmt(1, 1, text, 500, 600)
        t.stmt(1, 2, "select * from t where a = 1", 1000, 1100, txn=1, rows=[[1, 11]], status=0x02)
        t.add("txn", 1100, session=1, txn=1, event=1, number=2, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1000_000, reason="autocommit")
        found = verdict_of(t, "--all-sessions")
        assert [f["severity"] for f in found["findings"]] == ([severity] if severity else []), (variables, text, found)


def test_rows_of_a_cursor_come_later():
    """COM_STMT_EXECUTE that opens a cursor answers without rows; they come with COM_STMT_FETCH."""
    for status, expected in ((0x02 | 0x40, []), (0x02, ["wrong-sql"])):
        t = overlapping()
        t.stmt(1, 1, "select * from t", 1000, txn=1, rows=[], status=status)
        t.add("txn", 1100, session=1, txn=1, event=1, number=1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1000_000, reason="autocommit")
        found = verdict_of(t, "--all-sessions")
        assert [x["class"] for x in found["findings"]] == expected, found


def one_answer(text, rows, writes=(), under_way=False):
    """The class of what is found when T2 has done `writes` (text, affected) before T1 asks `text`, or commits beside it."""
    t = overlapping()
    for number, (write, affected) in enumerate(writes):
        t.stmt(2, number + 1, write, 200 + 100 * number, 250 + 100 * number, txn=2, affected=affected)
    sent = {"begin_seq": t.next_seq()} if under_way else {}
    if writes:
        t.stmt(2, 9, "commit", 800, 1050 if under_way else 900)
        t.add("txn", 1050 if under_way else 900, session=2, txn=2, event=1, number=9, level=3, outcome=1,
              begin=tracefile.MONO + 200_000, reason="commit")
    t.stmt(1, 1, text, 1000, 1100, txn=1, rows=rows, **sent)
    t.add("txn", 1100, session=1, txn=1, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1000_000, reason="autocommit")
    return judge(t)


def test_an_answer_that_no_rows_explain_is_no_matter_of_isolation():
    """wrong-sql needs that no set of rows which the tables ever had gives the answer (explain/wrong_sql.c)."""
    insert, delete = ("insert into t values (3,30)", 1), ("delete from t where a = 2", 1)
    # Nothing was written, or only whole rows, and no set of them has this count or maximum.
    assert one_answer("select count(*) from t", [[2]]) == []
    assert one_answer("select count(*) from t", [[3]]) == ["wrong-sql"]
    assert one_answer("select max(b) from t", [[77]], [insert]) == ["wrong-sql"]
    assert one_answer("select a from t where b > 15", [[1]], [insert, delete]) == ["wrong-sql"]
    # A stale read, a deleted row that stays, a row of two that one transaction inserted.
    assert one_answer("select count(*) from t", [[2]], [insert]) == ["wrong-result"]
    assert one_answer("select a from t", [[1], [2]], [delete]) == ["wrong-result"]
    assert one_answer("select max(b) from t", [[30]], [insert, ("insert into t values (4,40)", 1)]) == ["wrong-result"]
    # What an UPDATE made may be computed from the wrong version: a lost update is no wrong SQL.
    assert one_answer("select min(b) from t", [[11]], [("update t set b = b + 2 where a = 1", 1)]) == ["wrong-result"]
    # The writer was at work while the statement ran.
    assert one_answer("select max(b) from t", [[77]], [insert], under_way=True) == ["wrong-result"]
    # A row that the table never had is wrong data.
    assert one_answer("select * from t where a = 1", [[1, 11]]) == ["wrong-result"]


def test_unrecorded_writers_do_not_explain_rows_with_their_keys():
    """What was not committed comes with its key: its row is locked, so no stranger wrote that."""
    for text, rows, severity in (("select count(*) from t", [[3]], "suspicion"),
                                 ("select b from t", [[10], [20], [30]], "suspicion"),
                                 ("select a, b from t", [[1, 10], [2, 20], [3, 30]], "violation")):
        t = overlapping()
        t.stmt(1, 1, "begin", 1000, txn=1)
        t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
        t.stmt(1, 2, "insert into t values (3, 30)", 1200, affected=1, txn=1)
        t.stmt(2, 1, text, 1400, txn=2, rows=rows)
        t.add("txn", 1500, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1400_000, reason="autocommit")
        t.stmt(1, 3, "rollback", 1600, txn=1)
        t.add("txn", 1700, session=1, txn=1, event=1, number=3, level=3, outcome=2,
              begin=tracefile.MONO + 1000_000, reason="rollback")
        found = verdict_of(t)["findings"]
        assert [(f["class"], f["severity"]) for f in found] == [("dirty-read", severity)], (text, found)


def test_skip_locked_has_no_locked_row():
    """A row that another transaction has written comes in the answer, as it was; servers pass it over."""
    for rows, classes in (([[2, 20]], []), ([[1, 10], [2, 20]], ["missing-lock"])):
        t = overlapping()
        t.stmt(1, 1, "begin", 1000, txn=1)
        t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
        t.stmt(1, 2, "update t set b = 11 where a = 1", 1200, affected=1, txn=1)
        t.stmt(2, 1, "begin", 1400, txn=2)
        t.add("txn", 1500, session=2, txn=2, event=0, number=1, level=3)
        t.stmt(2, 2, "select a, b from t for update skip locked", 1600, rows=rows, txn=2)
        for session in (1, 2):
            t.stmt(session, 3, "rollback", 1800 + session, txn=session)
            t.add("txn", 1900 + session, session=session, txn=session, event=1, number=3, level=3, outcome=2,
                  begin=tracefile.MONO + 1000_000, reason="rollback")
        assert judge(t) == classes, classes


def test_a_wait_for_nobody_is_a_suspicion():
    """A statement waits, or is the victim of a deadlock, while the other session has used another table, or this one."""
    for other, expected in (("select 1", True), ("update t set b = 21 where a = 2", False)):
        for answer, wrong in (({"affected": 1, "blocked_ns": 1000}, "needless-block"), ({"error": 1213}, "needless-deadlock")):
            t = overlapping()
            t.stmt(2, 1, "begin", 1000, txn=2)
            t.add("txn", 1010, session=2, txn=2, event=0, number=1, level=3)
            t.stmt(2, 2, other, 1100, txn=2, **({"rows": [[1]]} if "select" in other else {"affected": 1}))
            t.stmt(1, 1, "update t set b = 11 where a = 1", 1200, txn=1, **answer)
            t.add("txn", 1250, session=1, txn=1, event=1, number=1, level=3, outcome=2 if "error" in answer else 1,
                  autocommit=True, begin=tracefile.MONO + 1200_000, reason="autocommit")
            t.stmt(2, 3, "commit", 1300, txn=2)
            t.add("txn", 1350, session=2, txn=2, event=1, number=3, level=3, outcome=1,
                  begin=tracefile.MONO + 1000_000, reason="commit")
            assert judge(t) == [wrong] * expected, (other, answer)


def test_what_overlaps_alter_table_is_undecided():
    """Free running: which definition the INSERT beside it had is not known; those before and after it are."""
    t = overlapping()
    t.stmt(1, 1, "insert into t values (3,30)", 1000, affected=1, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1000_000, reason="autocommit")
    begin_seq = t.next_seq()
    t.stmt(2, 1, "insert into t values (4,40)", 1300, affected=1, txn=2)
    t.add("txn", 1400, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1300_000, reason="autocommit")
    t.stmt(1, 2, "alter table t add c int default 5", 1200, 1600, begin_seq=begin_seq)
    t.stmt(1, 3, "select * from t order by a", 1700, txn=3,
           rows=[[1, 10, 5], [2, 20, 5], [3, 30, 5], [4, 40, 5]])
    t.add("txn", 1800, session=1, txn=3, event=1, number=3, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1700_000, reason="autocommit")
    t.stmt(1, 4, "select * from t order by a", 1900, txn=4, rows=[[1, 10, 5], [2, 20, 5], [3, 30, 5], [4, 40, 6]])
    t.add("txn", 2000, session=1, txn=4, event=1, number=4, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1900_000, reason="autocommit")
    assert judge(t) == ["wrong-result"]


def test_alter_table_without_an_answer_beside_an_insert():
    """The change counts from when it was sent, so the INSERT, answered later, has no plan yet when it is looked at."""
    t = overlapping()
    insert_seq, alter_seq = t.next_seq(), t.next_seq()
    t.stmt(2, 1, "insert into t values (4,40)", 1100, 1400, affected=1, txn=2, begin_seq=insert_seq)
    t.add("txn", 1400, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1100_000, reason="autocommit")
    t.stmt(1, 1, "alter table t add c int default 5", 1200, 1600, begin_seq=alter_seq, flags=1)
    t.stmt(2, 2, "select a, b from t where a = 1", 1700, txn=3, rows=[[1, 10]])
    t.add("txn", 1800, session=2, txn=3, event=1, number=2, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1700_000, reason="autocommit")
    found = verdict_of(t, "--all-sessions")
    assert found["verdict"] == "incomplete" and not found["findings"], found


def test_begin_that_commits_may_do_so_before_it_answers():
    """MySQL 9.7, free running: BEGIN had committed a row before another session looked for the highest one,
    and answered later.  It belongs to the transaction that it begins, and ends another."""
    t = overlapping()
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(1, 2, "insert into t values (3,30)", 1200, affected=1, txn=1)
    begin_seq = t.next_seq()  # of the BEGIN that commits
    t.stmt(2, 1, "begin", 1500, txn=2)
    t.add("txn", 1600, session=2, txn=2, event=0, number=1, level=3)
    t.stmt(2, 2, "delete from t order by b desc limit 1", 1700, affected=1, txn=2)
    t.stmt(2, 3, "select * from t where a = 2", 1900, rows=[[2, 20]], txn=2)
    t.add("txn", 2100, session=1, txn=1, event=1, number=3, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="implicit commit")
    t.add("txn", 2100, session=1, txn=3, event=0, number=3, level=3)
    t.stmt(1, 3, "begin", 1400, 2100, txn=3, begin_seq=begin_seq)
    t.stmt(2, 4, "rollback", 2200, txn=2)
    t.add("txn", 2300, session=2, txn=2, event=1, number=4, level=3, outcome=2,
          begin=tracefile.MONO + 1500_000, reason="rollback")
    t.stmt(1, 4, "rollback", 2400, txn=3)
    t.add("txn", 2500, session=1, txn=3, event=1, number=4, level=3, outcome=2,
          begin=tracefile.MONO + 1400_000, reason="rollback")
    assert judge(t) == []


def test_a_wrong_count_does_not_make_an_earlier_delete_unknown():
    """DELETE of two tables that a cascade ties: what it leaves is certain (live/delete-tied.scn), though not how many
    rows it counts.  No UPDATE by primary key changes two rows."""
    for affected, expected in ((1, []), (2, ["wrong-result"])):
        t = overlapping()
        for number, name, more, rows in ((2, "o", "", [[1, 0], [2, 0]]), (3, "l", ", FOREIGN KEY (`b`) REFERENCES "
                                         "`o` (`a`) ON DELETE CASCADE", [[5, 1], [6, 2], [7, 2]])):
            t.add("schema", 0, table=number, node="n1", database="shop", name=name,
                  columns=[["a", "int", False, None, None, None, None],
                           ["b", "int", True, None, None, None, None]], primary_key=[0], triggers=[],
                  create_text="CREATE TABLE `%s` (`a` int NOT NULL, `b` int, PRIMARY KEY (`a`)%s) ENGINE=InnoDB" % (
                      name, more))
            t.add("rows", 0, table=number, node="n1", moment="initial", last=True, rows=rows, complete=True)
        for number, (text, count) in enumerate((
                ("delete o, l from o left join l on l.b = o.a where o.a = 2", 3),
                ("update o set b = (select count(*) from l where b = 1) where a = 1", affected)), 1):
            t.stmt(1, number, text, 1000 + 200 * number, affected=count, txn=number)
            t.add("txn", 1100 + 200 * number, session=1, txn=number, event=1, number=number, level=3, outcome=1,
                  autocommit=True, begin=tracefile.MONO + (1000 + 200 * number) * 1000, reason="autocommit")
        assert judge(t) == expected, affected


def beside_a_commit(text, **answer):
    """A statement while the COMMIT of `b = 11 where a = 1` (10 before) has no answer yet, with one order tried."""
    t = overlapping()
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(1, 2, "update t set b = 11 where a = 1", 1200, affected=1, txn=1)
    commit_seq = t.next_seq()
    t.stmt(2, 1, text, 1500, txn=2, **answer)
    t.add("txn", 1600, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1500_000, reason="autocommit")
    t.stmt(1, 3, "commit", 1400, 1700, txn=1, begin_seq=commit_seq)
    t.add("txn", 1710, session=1, txn=1, event=1, number=3, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="commit")
    return judge(t, "--budget=1")


def test_what_no_state_of_the_rows_explains_needs_no_order():
    for right in (10, 11):
        assert beside_a_commit("select min(b) from t", rows=[[right]]) == []
    assert beside_a_commit("select min(b) from t", rows=[[9]]) == ["wrong-result"]
    for right in ([[1, 10]], [[1, 11]]):
        assert beside_a_commit("select * from t where b < 20", rows=right) == []
    for wrong in ([], [[1, 12]], [[1, 10], [1, 11]], [[2, 20]]):
        assert beside_a_commit("select * from t where b < 20", rows=wrong) != [], wrong
    for by in ("select * from t order by b, a", "select b, a from t order by b"):
        right = [[1, 10], [2, 20]] if "*" in by else [[11, 1], [20, 2]]
        assert beside_a_commit(by, rows=right) == []
        assert beside_a_commit(by, rows=right[::-1]) == ["wrong-result"], by
    # It waits for the row: if it changed it, then after the other.
    assert beside_a_commit("update t set b = 5 where b in (11, 20)", affected=2, blocked_ns=1000) == []
    assert beside_a_commit("update t set b = 5 where b in (11, 20)", affected=3, blocked_ns=1000) == ["wrong-result"]
    assert beside_a_commit("update t set b = 5 where b in (12, 20)", affected=2, blocked_ns=1000) == ["wrong-result"]


def test_what_another_waits_to_write_comes_after_the_own_rollback():
    """A free run on MariaDB 10.11: an UPDATE that was sent before, and waited, was taken to be under an own one."""
    for first in ([11], [12]):
        t = overlapping("10.11.19-MariaDB")
        update = t.next_seq()
        t.stmt(1, 1, "begin", 1000, txn=1)
        t.add("txn", 1050, session=1, txn=1, event=0, number=1, level=3)
        t.stmt(1, 2, "update t set b = b + 1 where a = 1", 1100, affected=1, txn=1)
        t.stmt(1, 3, "select b from t where a = 1", 1200, rows=[first], txn=1)
        t.stmt(1, 4, "rollback", 1300, txn=1)
        t.add("txn", 1350, session=1, txn=1, event=1, number=4, level=3, outcome=2,
              begin=tracefile.MONO + 1000_000, reason="rollback")
        t.stmt(2, 1, "update t set b = b + 1 where a = 1", 900, 1500, affected=1, txn=2, begin_seq=update)
        t.add("txn", 1510, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 900_000, reason="autocommit")
        t.stmt(2, 2, "select b from t where a = 1", 1600, rows=[[11]], txn=3)
        t.add("txn", 1650, session=2, txn=3, event=1, number=2, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1600_000, reason="autocommit")
        for budget in ("--budget=1", "--budget=2000"):
            assert judge(t, budget) == [], (first, budget)


def test_commit_after_error_1467_may_have_committed_nothing():
    """A deadlock about AUTO_INCREMENT rolls back and is reported as 1467; the answer to COMMIT does not tell."""
    for error, rows, wrong in ((1467, [[1], [2]], 0), (1467, [[1], [2], [3]], 0), (1364, [[1], [2]], 1)):
        t = overlapping("10.11.19-MariaDB")
        t.stmt(1, 1, "begin", 1000, txn=1)
        t.add("txn", 1050, session=1, txn=1, event=0, number=1, level=3)
        t.stmt(1, 2, "insert into t values (3,30)", 1100, affected=1, txn=1)
        t.stmt(1, 3, "insert into t(b) values (40)", 1200, error=error, txn=1)
        t.stmt(1, 4, "commit", 1300, txn=1)
        t.add("txn", 1350, session=1, txn=1, event=1, number=4, level=3, outcome=1,
              begin=tracefile.MONO + 1000_000, reason="commit")
        t.stmt(2, 1, "select a from t order by a", 1500, rows=rows, txn=2)
        t.add("txn", 1550, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1500_000, reason="autocommit")
        assert len(judge(t)) == wrong, (error, rows)


def test_tables_of_numbers_are_bounded():
    """Each has as many rows as its name says: a trace that names many is not given memory for all."""
    t = overlapping("10.11.19-MariaDB")
    for k in range(15):
        t.stmt(1, k + 1, "select count(*), min(a) from seq_%d_to_%d, t" % (k + 1, k + 100000), 1000 + 100 * k,
               rows=[[200000, 1]], txn=k + 1)
        t.add("txn", 1050 + 100 * k, session=1, txn=k + 1, event=1, number=k + 1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + (1000 + 100 * k) * 1000, reason="autocommit")
    found = verdict_of(t, "--all-sessions")
    assert not found["findings"], found["findings"]
    assert (found["coverage"]["decided"], found["coverage"]["unsupported"]) == (11, 4), found["coverage"]


def test_who_wrote_what_was_seen_is_in_the_witness():
    t = overlapping()
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1050, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(1, 2, "select b from t where a = 1", 1100, rows=[[10]], txn=1)
    t.stmt(2, 1, "update t set b = 11 where a = 1", 1200, affected=1, txn=2)
    t.add("txn", 1250, session=2, txn=2, event=1, number=1, level=3, outcome=1, autocommit=True,
          begin=tracefile.MONO + 1200_000, reason="autocommit")
    t.stmt(1, 3, "select b from t where a = 1", 1300, rows=[[11]], txn=1)
    t.stmt(1, 4, "commit", 1400, txn=1)
    t.add("txn", 1450, session=1, txn=1, event=1, number=4, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="commit")
    found = verdict_of(t, "--all-sessions")["findings"]
    assert [(f["class"], f["transactions"]) for f in found] == [("unstable-snapshot", ["T1", "T2"])], found


def test_the_witness_of_a_long_transaction_has_its_beginning_and_its_end():
    t = overlapping()
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1010, session=1, txn=1, event=0, number=1, level=3)
    for k in range(100):
        t.stmt(1, k + 2, "select b + %d from t where a = 1" % k, 1100 + 10 * k, rows=[[10 + k]], txn=1)
    t.stmt(1, 102, "select b from t where a = 1", 3000, rows=[[77]], txn=1)
    t.stmt(1, 103, "commit", 3400, txn=1)
    t.add("txn", 3450, session=1, txn=1, event=1, number=103, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="commit")
    steps = [s["statement"] for s in verdict_of(t, "--all-sessions")["findings"][0]["witness"]["statements"]]
    assert steps == [*range(1, 11), *range(53, 103)], steps


def snapshot_while_a_commit_is_under_way(rows, later):
    """A snapshot is made while another session's COMMIT has no answer yet, and read twice."""
    t = overlapping()
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(1, 2, "insert into t values (3,30)", 1200, affected=1, txn=1)
    commit_seq = t.next_seq()
    t.stmt(2, 1, "start transaction with consistent snapshot", 1500, txn=2)
    t.add("txn", 1600, session=2, txn=2, event=0, number=1, level=3, consistent_snapshot=True)
    t.stmt(1, 3, "commit", 1400, 1700, txn=1, begin_seq=commit_seq)
    t.add("txn", 1710, session=1, txn=1, event=1, number=3, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="commit")
    t.stmt(2, 2, "select a from t order by a", 1800, rows=rows, txn=2)
    t.stmt(2, 3, "select a from t order by a", 1900, rows=later, txn=2)
    t.stmt(2, 4, "commit", 2200, txn=2)
    t.add("txn", 2300, session=2, txn=2, event=1, number=4, level=3, outcome=1,
          begin=tracefile.MONO + 1500_000, reason="commit")
    return judge(t)


def test_snapshot_may_have_a_commit_that_is_not_answered_yet():
    two, three = [[1], [2]], [[1], [2], [3]]
    assert snapshot_while_a_commit_is_under_way(two, two) == []
    assert snapshot_while_a_commit_is_under_way(three, three) == []
    assert snapshot_while_a_commit_is_under_way(two, three) == ["unstable-snapshot"]
    assert len(snapshot_while_a_commit_is_under_way(three, two)) == 1


def test_a_read_view_has_commits_that_were_answered_later():
    """A COMMIT is under way while another transaction reads for the first time, from another table: its
    rows may be in the read view that is made then."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.19-MariaDB", flavour="mariadb",
          address="127.0.0.1:3306", variables={"transaction_isolation": "REPEATABLE-READ"})
    for number, name in ((1, "t"), (2, "u")):
        t.add("schema", 0, table=number, node="n1", database="shop", name=name,
              columns=[["a", "int", False, None, None, None, None]], primary_key=[0], triggers=[],
              create_text="CREATE TABLE `%s` (`a` int NOT NULL, PRIMARY KEY (`a`)) ENGINE=InnoDB" % name)
        t.add("rows", 0, table=number, node="n1", moment="initial", last=True, rows=[[1]],
              complete=True)
    for session in (1, 2):
        t.add("session", 100, session=session, event=0, node="n1", user="anna", database="shop",
              client="10.0.0.5:4000%d" % session, thread=30 + session)
    t.stmt(1, 1, "begin", 1000, txn=1)
    t.add("txn", 1100, session=1, txn=1, event=0, number=1, level=3)
    t.stmt(1, 2, "insert into u values (2)", 1200, affected=1, txn=1)
    t.stmt(2, 1, "begin", 1300, txn=2)
    t.add("txn", 1350, session=2, txn=2, event=0, number=1, level=3)
    begin_seq = t.next_seq()  # of the COMMIT
    t.stmt(2, 2, "select * from t", 1500, rows=[[1]], txn=2)
    t.add("txn", 1800, session=1, txn=1, event=1, number=3, level=3, outcome=1,
          begin=tracefile.MONO + 1000_000, reason="commit")
    t.stmt(1, 3, "commit", 1400, 1800, txn=1, begin_seq=begin_seq)
    t.stmt(2, 3, "select * from u", 1900, rows=[[1], [2]], txn=2)
    t.stmt(2, 4, "commit", 2200, txn=2)
    t.add("txn", 2300, session=2, txn=2, event=1, number=4, level=3, outcome=1,
          begin=tracefile.MONO + 1300_000, reason="commit")
    for session in (1, 2):
        t.add("session", 3000, session=session, event=1)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "view.itr")
        t.write(path)
        found = check(path, "--oracle=mvcc", "--all-sessions")
    assert found["verdict"] == "ok" and found["coverage"]["undecided"] == 0, found


def count_beside_two_commits(rows, sent_late=False):
    """T2's COMMIT is under way while T1 inserts a second row; then T1's is, too.  T3's first statement, which makes its read
    view, overlaps both, or T1's alone (`sent_late`), and is answered last; its second one counts `rows`."""
    t = overlapping("10.11.19-MariaDB")
    t.add("session", 100, session=3, event=0, node="n1", user="anna", database="shop", client="10.0.0.5:40003", thread=33)
    for session, row in ((1, 3), (2, 5)):
        t.stmt(session, 1, "begin", 1000 + 10 * row, 1005 + 10 * row, txn=session)
        t.add("txn", 1006 + 10 * row, session=session, txn=session, event=0, number=1, level=3)
        t.stmt(session, 2, "insert into t values (%d,0)" % row, 1100 + 10 * row, 1105 + 10 * row, affected=1, txn=session)
    insert, first_commit = t.next_seq(), t.next_seq()
    t.stmt(1, 3, "insert into t select 4, 0 from t where a = 1", 1200, 1300, affected=1, txn=1, begin_seq=insert)
    second_commit, read = t.next_seq(), t.next_seq()
    t.stmt(2, 3, "commit", 1210, 1500, txn=2, begin_seq=first_commit)
    t.add("txn", 1501, session=2, txn=2, event=1, number=3, level=3, outcome=1, mixed=1, begin=tracefile.MONO + 1050_000,
          reason="commit")
    if sent_late:
        read = t.next_seq()
    t.stmt(1, 4, "commit", 1310, 1600, txn=1, begin_seq=second_commit)
    t.add("txn", 1601, session=1, txn=1, event=1, number=4, level=3, outcome=1, mixed=1, begin=tracefile.MONO + 1030_000,
          reason="commit")
    t.stmt(3, 1, "select b from t where a = 1", 1510 if sent_late else 1320, 1700, txn=3, rows=[[10]], begin_seq=read,
           status=0x01)
    t.add("txn", 1701, session=3, txn=3, event=0, number=1, level=3)
    t.stmt(3, 2, "select count(*) from t", 1800, txn=3, rows=[[rows]], status=0x01)
    t.stmt(3, 3, "commit", 2000, txn=3)
    t.add("txn", 2101, session=3, txn=3, event=1, number=3, level=3, outcome=1, mixed=1, begin=tracefile.MONO + 1320_000,
          reason="commit")
    return judge(t)


def test_a_read_view_is_between_two_commits_in_either_order():
    for rows in range(1, 7):
        # None of them, T2, T1, both.
        assert bool(count_beside_two_commits(rows)) == (rows not in (2, 3, 4, 5)), rows
        # T2 had committed.
        assert bool(count_beside_two_commits(rows, sent_late=True)) == (rows not in (3, 5)), rows


def both_change_a_row(first_ends):
    """Snapshot isolation: both change row 1 and commit; first_ends: when the first one's COMMIT is sent.
    Too much overlaps for a search that may try one order."""
    t = overlapping("11.8.6-MariaDB", innodb_snapshot_isolation="ON")
    for session, at in ((1, 1000), (2, 1200)):
        if session == 2 and first_ends < 1200:
            t.stmt(1, 4, "commit", first_ends, txn=1)
            t.add("txn", first_ends + 50, session=1, txn=1, event=1, number=4, level=3, outcome=1, mixed=1,
                  begin=tracefile.MONO + 1000_000, reason="commit")
        t.stmt(session, 1, "start transaction with consistent snapshot", at, txn=session)
        t.add("txn", at + 50, session=session, txn=session, event=0, number=1, level=3,
              consistent_snapshot=True)
        t.stmt(session, 2, "select b from t where a = 1", at + 60,
               rows=[[10 if session == 1 or first_ends > 1200 else 11]], txn=session)
        if session == 1:
            t.stmt(1, 3, "update t set b = 11 where a = 1", 1100, affected=1, txn=1)
    commit, update = t.next_seq(), t.next_seq()
    if first_ends > 1200:
        t.stmt(1, 4, "commit", first_ends, 1600, txn=1, begin_seq=commit)
        t.add("txn", 1610, session=1, txn=1, event=1, number=4, level=3, outcome=1, mixed=1,
              begin=tracefile.MONO + 1000_000, reason="commit")
    t.stmt(2, 3, "update t set b = 12 where a = 1", 1450, 1700, affected=1, txn=2, begin_seq=update)
    t.stmt(2, 4, "commit", 1800, txn=2)
    t.add("txn", 1850, session=2, txn=2, event=1, number=4, level=3, outcome=1, mixed=1,
          begin=tracefile.MONO + 1200_000, reason="commit")
    return judge(t, "--budget=1")


def test_two_that_overlap_do_not_both_change_a_row():
    assert both_change_a_row(1400) == ["G-single"]
    assert both_change_a_row(1150) == []


if __name__ == "__main__":
    tap.main(globals())
