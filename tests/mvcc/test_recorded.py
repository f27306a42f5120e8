#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The mvcc oracle over recordings of real servers (recorded/), without a server: TAP.

    test_recorded.py MVCC_TOOL ISOTRACE

The recordings are runs of schedules.py by `isorec run`; what is in them is what the servers answered.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import tap  # noqa: E402
import tracefile  # noqa: E402

TOOL, ISOTRACE = sys.argv[1:3]
TRACES = sorted(glob.glob(os.path.join(HERE, "recorded", "m*", "*.itr")))


def tool(*args):
    done = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode in (0, 1), done.returncode
    return done.stdout


def check(path, *args, status=0):
    done = subprocess.run([ISOTRACE, "check", "--format=json", *args, path],
                          stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stdout)
    return json.loads(done.stdout)


def test_no_false_alarm_on_recorded_schedules():
    assert len(TRACES) >= 50
    last = tool("solve", *TRACES).splitlines()[-1]
    words = last.split()
    got = {k: int(v) for k, v in zip(words[::2], words[1::2])}
    assert got["violations"] == got["suspicions"] == 0, last
    judged = got["decided"] + got["undecided"] + got["unsupported"]
    assert judged > 800 and got["decided"] >= 0.95 * judged, last


def test_altered_answers_are_noticed():
    out = tool("mutate", "1", *TRACES)
    altered, noticed, undecided = (int(n) for n in re.search(
        r"altered (\d+) noticed (\d+) undecided (\d+)", out).groups())
    # What an alteration turns into something that cannot be decided is not called right.
    assert altered > 500 and noticed >= 0.98 * altered, out
    assert noticed + undecided >= 0.99 * altered, out


def test_altered_answers_of_several_clients_at_once_are_noticed():
    # Four clients through the proxy, as fast as they are answered: all orders have to be tried.
    paths = sorted(glob.glob(os.path.join(HERE, "recorded", "free", "*.itr")))
    assert len(paths) == 2 and " violations 0 suspicions 0" in tool("solve", *paths)
    out = tool("mutate-free", "1", *paths)
    altered, noticed, explained = (int(n) for n in re.search(
        r"altered (\d+) noticed (\d+) .* explained (\d+)", out).groups())
    # One has become an answer that another order explains.
    assert altered > 50 and explained <= 1 and noticed + explained == altered, out


def test_statements_that_are_made_to_overlap():
    """Answers moved to later moments are still right; nothing is wrong that one order of all explains."""
    # In the last a statement that is tried early has another before it.
    paths = TRACES + [os.path.join(HERE, "recorded", "rules", "read-before-what-was-before-10.5.itr")]
    last = tool("overlap", "1", "20", *paths).splitlines()[-1]
    tried, wrong, all_wrong, _, _, false = (int(n) for n in re.findall(r"\d+", last))
    assert tried > 1000 and wrong > 200 and all_wrong > 50 and false == 0, last


def test_known_anomalies_carry_their_rule():
    # Recorded on MariaDB 10.11; what the manuals say of them is in the contract innodb.
    for name, rule in (("mdev-32898-RR", "rr-current-write"), ("mdev-26642-RR", "rr-noop-update"),
                       ("mdev-34108-RC", "rc-semi-consistent")):
        found = check(os.path.join(HERE, "recorded", "known", name + ".itr"), "--oracle=mvcc")
        assert found["verdict"] == "ok"
        rules = {f["rule"] for f in found["findings"] if f["severity"] == "documented"}
        assert rule in rules, (name, rules)
        finding = [f for f in found["findings"] if f["rule"] == rule][0]
        assert finding["witness"]["rows"] and finding["witness"]["statements"]
        assert "Versions of t(" in finding["explanation"]


def test_the_row_that_was_passed_by_is_the_one_that_did_not_match():
    # MariaDB 11.8 with innodb_snapshot_isolation at READ UNCOMMITTED: either row explains the answer.
    found = check(os.path.join(HERE, "recorded", "known", "mdev-34108-RU-11.8.itr"), "--oracle=mvcc")
    assert [(f["class"], f["known"]) for f in found["findings"]] == [("split-statement", ["MDEV-34108"])], found


def test_a_share_lock_on_a_row_that_no_index_shows():
    # MariaDB 10.11 behind something that took LOCK IN SHARE MODE out of the texts: as a server that forgets S locks.
    found = check(os.path.join(HERE, "recorded", "known", "share-lock-forgotten.itr"), "--oracle=mvcc", status=1)
    assert "missing-lock" in [f["class"] for f in found["findings"]], found


def test_rules_that_were_learned_from_schedules():
    """Each recording made a false alarm before the solver had the rule of its name."""
    paths = sorted(glob.glob(os.path.join(HERE, "recorded", "rules", "*.itr")))
    assert len(paths) >= 16
    for path in paths:
        out = tool("solve", path)
        alarms = [line for line in out.splitlines() if re.search(": (violation|suspicion) ", line)]
        # MariaDB 10.5 has MDEV-27922, whatever else the recording is about.
        assert not [a for a in alarms if "no-autocommit" not in a], alarms
        assert int(re.search(r"decided (\d+)", out)[1]) > 0, path


def test_rows_that_the_trace_does_not_have():
    """A random part of the initial rows is taken out: what is left is judged, and nothing is wrong with it."""
    paths = TRACES + sorted(glob.glob(os.path.join(HERE, "recorded", "rules", "*.itr")))
    decided = judged = 0
    for seed in range(1, 13):
        out = tool("hide", str(seed), *paths)
        alarms = [line for line in out.splitlines() if re.search(": (violation|suspicion) ", line)]
        assert not [a for a in alarms if "no-autocommit" not in a], (seed, alarms)
        counts = [int(n) for n in re.search(r"decided (\d+) undecided (\d+) unsupported (\d+)", out).groups()]
        decided += counts[0]
        judged += sum(counts)
    assert decided > 0.3 * judged, (decided, judged)


def test_error_1020_that_did_not_come_is_a_violation():
    # MariaDB 11.8.6: LOCK IN SHARE MODE through an index that has all the columns.
    found = check(os.path.join(HERE, "recorded", "known", "covering-index-1020-RR.itr"),
                  "--oracle=mvcc", status=1)
    assert [f["class"] for f in found["findings"]] == ["G-single"]


def test_what_a_serializable_transaction_read_stays():
    """Recorded at REPEATABLE READ on MySQL 9.7 and altered to say SERIALIZABLE, as of a server whose reads do not lock; the
    servers themselves wait in these schedules, and read-stays-* are what they answered."""
    for name, texts in (("gap", ["answered (0), and with this change it would answer (1)",
                                 "answered (80), and with this change it would answer (122)"]),
                        ("column", ["answered (20) (50), and with this change it would answer (21) (50)"]),
                        ("change", ["answered (50); with what T1, which was open all the time, had changed before, it "
                                    "would be (20)"])):
        found = check(os.path.join(HERE, "recorded", "known", "unlocked-read-%s.itr" % name), "--oracle=mvcc",
                      status=1)
        assert {f["class"] for f in found["findings"]} == {"missing-lock"}, found["findings"]
        assert {f["severity"] for f in found["findings"]} == {"violation"}, found["findings"]
        for text in texts:
            assert [f for f in found["findings"] if text in f["explanation"]], (text, found["findings"])
    # What the reader itself changed, or let go of, is no change by others.
    for name in ("gap", "column", "change", "own", "let-go"):
        for server in ("10.11", "mysql"):
            found = check(os.path.join(HERE, "recorded", "rules", "read-stays-%s-%s.itr" % (name, server)),
                          "--oracle=mvcc")
            assert found["verdict"] == "ok" and not found["coverage"]["undecided"], (name, found)


def test_a_value_that_nobody_wrote_needs_no_order():
    """22 sessions at once: more orders than can be tried, but the row has one history (1000 was added to what
    the server answered)."""
    path = os.path.join(HERE, "recorded", "known", "value-that-nobody-wrote.itr")
    found = check(path, "--oracle=mvcc", "--all-sessions", status=1)
    assert [f["class"] for f in found["findings"]] == ["wrong-result"], found["findings"]
    assert "answered (1,'pdf',1001)" in found["findings"][0]["explanation"], found["findings"]


def test_views_are_read_and_written():
    """MariaDB 10.11 and MySQL 9.7: joins, groups, views of views, TEMPTABLE, CHECK OPTION; all is decided."""
    for server in ("10.11", "mysql"):
        path = os.path.join(HERE, "recorded", "rules", "views-%s.itr" % server)
        found = check(path, "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 28, found["coverage"]
        out = tool("mutate", "1", path)
        altered, noticed, explained = (int(n) for n in re.search(
            r"altered (\d+) noticed (\d+) .* explained (\d+)", out).groups())
        assert altered > 10 and explained <= 1 and noticed + explained == altered, out


def test_names_in_any_case():
    """Servers with lower_case_table_names=1: tables, databases, aliases, views."""
    for server in ("10.11", "mysql-8.0"):
        path = os.path.join(HERE, "recorded", "rules", "table-names-in-any-case-%s.itr" % server)
        found = check(path, "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 14, found["coverage"]


def test_selected_partitions():
    """PARTITION (p0, p1) of RANGE, LIST and HASH, with negative numbers and NULL."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "selected-partitions-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 19, found["coverage"]


def test_views_that_change_are_not_known():
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "views-changed-%s.itr" % server), "--oracle=mvcc",
                      status=3)
        assert not found["findings"] and found["coverage"]["decided"] == 3, found


def test_foreign_keys_are_followed_row_by_row():
    """MariaDB 10.11 and MySQL 9.7: tables that refer to themselves, cascades, two ways to one table."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "foreign-rows-in-order-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 33, found["coverage"]


def test_cascades_compute_virtual_columns():
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "cascade-computes-columns-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 24, found["coverage"]


def test_generated_columns_that_cannot_hold_their_value():
    """IGNORE stores the nearest value; VIRTUAL columns of MariaDB without an index are not computed, or are."""
    for server, decided in (("10.11", 39), ("mysql", 36)):
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "generated-does-not-fit-%s.itr" % server), "--oracle=mvcc", status=3)
        assert not found["findings"] and found["coverage"]["decided"] == decided, found


def test_values_and_defaults_read_the_new_row():
    """A column has its default before it has its value; defaults that are computed come last."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "values-read-the-new-row-%s.itr" % server), "--oracle=mvcc", status=3)
        assert not found["findings"] and found["coverage"]["decided"] == 24, found
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "defaults-computed-last-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 14, found["coverage"]


def test_execute_is_the_text_that_was_prepared():
    """PREPARE from a literal and from a user variable, values of user variables."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules",
                                   "execute-of-a-text-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 10, found["coverage"]
        assert found["coverage"]["undecided"] == found["coverage"]["unsupported"] == 0, found


def test_definitions_change_in_the_trace():
    """CREATE, ALTER, RENAME, DROP, TRUNCATE, CREATE INDEX, CREATE ... LIKE; a name that stands for one table after
    another; a statement that waits for the definition; a read view from before (MySQL: error 1412, MariaDB
    has all that is asked for)."""
    for server, decided, undecided in (("10.11", 25, 1), ("mysql", 26, 0)):
        found = check(os.path.join(HERE, "recorded", "rules", "definitions-%s.itr" % server),
                      "--oracle=mvcc", status=3 if undecided else 0)
        assert not found["findings"], found["findings"]
        coverage = found["coverage"]
        assert (coverage["decided"], coverage["undecided"]) == (decided, undecided), coverage


def test_columns_are_renamed_and_constraints_dropped():
    """RENAME COLUMN, CHANGE, and their keys, which keep their names; DROP CONSTRAINT of a CHECK and of a key.  Only
    the final rows are not judged."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "renamed-columns-%s.itr" % server),
                      "--oracle=mvcc", status=3)
        assert not found["findings"], found["findings"]
        coverage = found["coverage"]
        assert (coverage["decided"], coverage["undecided"], coverage["unsupported"]) == (18, 1, 0), coverage


def test_settings_are_followed():
    """foreign_key_checks, auto_increment_increment, SET GLOBAL sql_mode and DEFAULT."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "settings-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 17, found["coverage"]


def test_a_session_sets_snapshot_isolation():
    """SET innodb_snapshot_isolation holds from the next statement on, in an open transaction as well: error 1020 to who
    has it on, and the newest row to who has it off."""
    for server, documented in (("10.11", 2), ("11.8", 1)):
        found = check(os.path.join(HERE, "recorded", "snapshots-by-session-%s.itr" % server),
                      "--oracle=mvcc")
        assert [f["class"] for f in found["findings"]] == ["current-write"] * documented, found["findings"]
        assert found["coverage"]["decided"] == 10, found["coverage"]
        assert found["coverage"]["undecided"] == found["coverage"]["unsupported"] == 0, found


def test_bulk_execution_is_done_for_each_set():
    """COM_STMT_BULK_EXECUTE of MariaDB's connectors: INSERT ... ON DUPLICATE KEY UPDATE, UPDATE, DELETE."""
    found = check(os.path.join(HERE, "recorded", "bulk-execution.itr"), "--oracle=mvcc", "--all-sessions")
    assert found["verdict"] == "ok" and found["coverage"]["decided"] == 5, found


def test_times_as_parameters():
    """Binary DATETIME parameters of JDBC: compared, stored in columns of all types, in UNION and in functions."""
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "times-as-parameters-%s.itr" % server), "--oracle=mvcc",
                      "--all-sessions", status=3)
        assert not found["findings"], found["findings"]


def test_tables_of_numbers():
    """MariaDB's seq_1_to_10: they make no read view, and their rows can be joined, inserted and asked for.  Only one
    that is locked is left out."""
    found = check(os.path.join(HERE, "recorded", "rules", "tables-of-numbers-10.11.itr"), "--oracle=mvcc", status=3)
    coverage = found["coverage"]
    assert not found["findings"] and (coverage["decided"], coverage["undecided"]) == (19, 0), found


def test_rows_of_a_query_are_numbered_in_turn():
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "numbers-of-a-query-%s.itr" % server), "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 19, found["coverage"]


def test_the_alias_of_a_new_row_is_no_target():
    """MySQL: values (...) as n on duplicate key update price = n.price, stock = p.stock + n.stock."""
    found = check(os.path.join(HERE, "recorded", "rules", "alias-of-new-row-mysql.itr"), "--oracle=mvcc")
    assert found["verdict"] == "ok" and found["coverage"]["decided"] == 8, found["coverage"]


def test_update_ignore_of_other_columns_than_those_of_foreign_keys():
    for server in ("10.11", "mysql"):
        found = check(os.path.join(HERE, "recorded", "rules", "update-ignore-foreign-%s.itr" % server),
                      "--oracle=mvcc")
        assert found["verdict"] == "ok" and found["coverage"]["decided"] == 12, found["coverage"]


def test_one_order_of_two_statements_long_ago_is_found():
    """Five clients at once on MySQL 9.7: tried in order, the search came to choices first that leave rows unknown."""
    out = tool("solve", os.path.join(HERE, "recorded", "overlaps-mysql.itr"))
    assert int(re.search(r"decided (\d+)", out)[1]) >= 162 and " violations 0 suspicions 0" in out, out


def test_what_one_wrote_may_stand_on_less_than_was_executed_here():
    """Four clients on three rows, MariaDB 10.11 at REPEATABLE READ: an UPDATE beside the own one can have come after the
    own transaction's end, and stands in no read view."""
    out = tool("solve", os.path.join(HERE, "recorded", "own-write-beside-others.itr"))
    assert " undecided 0 " in out and " violations 0 suspicions 0" in out, out


def test_rows_that_are_not_known_are_gone_when_they_are_deleted():
    out = tool("solve", os.path.join(HERE, "recorded", "deleted-unknown.itr"))
    # UUID_SHORT() and the two that delete what it left.
    assert re.search(r"decided 8 undecided 2 unsupported 1 violations 0", out), out


def test_a_row_that_refers_to_nothing_is_a_violation():
    # MySQL 9.7 takes the row itself, as it was before, for the parent: `set id = 7, p = 5 where id = 5`.
    found = check(os.path.join(HERE, "recorded", "known", "foreign-orphan-mysql.itr"),
                  "--oracle=mvcc", status=1)
    assert [f["class"] for f in found["findings"]] == ["wrong-error"]


def test_a_row_returned_twice_is_a_violation():
    found = check(os.path.join(HERE, "recorded", "known", "mdev-33802-SER.itr"),
                  "--oracle=mvcc", status=1)
    assert [f["class"] for f in found["findings"]] == ["duplicate-row"]


def test_a_contract_that_forbids_more_than_the_engine_is_not_kept():
    """The solver looks for no cycles: of a lost update at the textbook's REPEATABLE READ it may say nothing."""
    path = os.path.join(HERE, "recorded", "known", "mdev-32898-RR.itr")
    assert check(path)["verdict"] == "ok"
    found = check(path, "--contract=adya", status=3)
    assert found["verdict"] == "incomplete" and found["promises"][0]["answer"] == "undecided", found
    assert any("isorec prepare" in reason for reason in found["coverage"]["reasons"]), found
    done = subprocess.run([ISOTRACE, "check", "--level=serializable", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and "--instrument=trigger" in done.stderr, done.stderr


def test_the_oracle_is_chosen_by_what_the_trace_has():
    path = os.path.join(HERE, "recorded", "known", "mdev-34108-RC.itr")
    assert {f["oracle"] for f in check(path)["findings"]} == {"mvcc"}
    assert check(path, "--oracle=adya", status=3)["findings"] == []


def test_a_call_that_commits_inside_is_not_one_transaction():
    """MariaDB 10.11, autocommit=0: select; call p() {update; commit; select}; select.  The first was made
    by a recorder that did not tell of it, and had five violations."""
    for name in ("call-commits-inside", "call-commits-inside-told"):
        path = os.path.join(HERE, "recorded", name + ".itr")
        for oracle in ("adya", "mvcc", "all"):
            found = check(path, "--oracle=" + oracle, status=3)
            assert not [f for f in found["findings"]
                        if f["severity"] in ("violation", "suspicion")], (name, found)
            assert "a CALL, an EXECUTE or several statements" in json.dumps(found["coverage"]), found


def test_what_sessions_that_were_left_out_did_is_undecided():
    """MariaDB 10.11, --sample=2: the session that was not recorded changed what the other one read."""
    path = os.path.join(HERE, "recorded", "sampled.itr")
    found = check(path, "--oracle=mvcc", status=3)
    assert found["findings"] == [], found
    assert "were not to be recorded" in json.dumps(found["coverage"]), found
    # Who says that nobody else wrote gets the contradiction.
    found = check(path, "--oracle=mvcc", "--all-sessions", status=1)
    assert [f["severity"] for f in found["findings"]] == ["violation"] * len(found["findings"]), found


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


def test_what_events_may_have_done_is_no_violation():
    """MySQL 9.7, `isorec run`: an event changed a row between two reads.  Then the same by a trace's own words."""
    path = os.path.join(HERE, "recorded", "event-mysql.itr")
    found = check(path, "--oracle=mvcc", "--all-sessions", status=3)
    assert [f["severity"] for f in found["findings"]] == ["suspicion"], found["findings"]
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


def verdict_of(t, *options):
    """What the oracle says of the trace when both sessions have left."""
    for session in (1, 2):
        t.add("session", 3000, session=session, event=1)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "overlapping.itr")
        t.write(path)
        done = subprocess.run([ISOTRACE, "check", "--oracle=mvcc", "--format=json", *options, path],
                              stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)


def judge(t, *options):
    found = verdict_of(t, "--all-sessions", *options)
    assert found["coverage"]["decided"] > 0, found
    return [f["class"] for f in found["findings"] if f["severity"] in ("violation", "suspicion")]


def test_rows_of_a_cursor_come_later():
    """COM_STMT_EXECUTE that opens a cursor answers without rows; they come with COM_STMT_FETCH."""
    for status, expected in ((0x02 | 0x40, []), (0x02, ["wrong-result"])):
        t = overlapping()
        t.stmt(1, 1, "select * from t", 1000, txn=1, rows=[], status=status)
        t.add("txn", 1100, session=1, txn=1, event=1, number=1, level=3, outcome=1, autocommit=True,
              begin=tracefile.MONO + 1000_000, reason="autocommit")
        found = verdict_of(t, "--all-sessions")
        assert [x["class"] for x in found["findings"]] == expected, found


def test_strangers_explain_what_names_no_row():
    """MariaDB 11.8: a session past the proxy wrote, and all the server answered was right.  With all
    sessions recorded the same answers would be wrong."""
    directory = os.path.join(HERE, "recorded", "strangers")
    for name in sorted(n for n in os.listdir(directory) if n.endswith(".itr")):
        path = os.path.join(directory, name)
        for options, severity in (((), "suspicion"), (("--all-sessions",), "violation")):
            done = subprocess.run([ISOTRACE, "check", "--oracle=mvcc", "--format=json", *options, path],
                                  stdout=subprocess.PIPE, text=True, check=False)
            found = {f["severity"] for f in json.loads(done.stdout)["findings"]} - {"documented"}
            assert severity in found and ("violation" in found) == bool(options), (name, options, found)


def test_strangers_do_not_explain_rows_with_their_keys():
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
    # It waits for the row: if it changed it, then behind the other.
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
    """A deadlock about AUTO_INCREMENT rolls back and is told as 1467; the answer to COMMIT does not tell."""
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


def test_a_masked_password_is_a_value_of_its_column_that_is_not_known():
    found = check(os.path.join(HERE, "recorded", "rules", "masked-password-10.11.itr"), "--oracle=mvcc", status=3)
    # Undecided: two that look for the password, and what one of them has changed.
    assert not found["findings"] and found["coverage"]["decided"] == 9, found["coverage"]
    assert found["coverage"]["undecided"] == 4, found["coverage"]


def test_bytes_that_are_written_as_texts():
    for server in ("10.11", "mysql-8.0"):
        found = check(os.path.join(HERE, "recorded", "rules", "bytes-as-texts-%s.itr" % server), "--oracle=mvcc",
                      "--all-sessions", status=3)
        # Not decided: BETWEEN, and the length of one.
        assert not found["findings"] and found["coverage"]["decided"] == 19, (server, found["coverage"])
        assert found["coverage"]["unsupported"] == 2, (server, found["coverage"])


def steps_of(found):
    return [(s["transaction"], s["sql"]) for s in found["witness"]["statements"]]


def test_who_wrote_the_versions_and_who_was_waited_for_are_in_the_witness():
    corpus = os.path.join(HERE, "..", "..", "corpus", "recordings")
    found = check(os.path.join(corpus, "MDEV-26643", "mariadb-10.11.19-RC.itr"), "--oracle=mvcc")["findings"][0]
    # The finding is of T2 alone; T1 wrote the version that it missed.
    assert found["transactions"] == ["T2"] and steps_of(found) == [
        ("T1", "begin"), ("T1", "update t set a=10 where 1"), ("T2", "begin"),
        ("T2", "update t set b=20 where a"), ("T1", "commit")], steps_of(found)
    found = check(os.path.join(corpus, "MDEV-33802-for-update", "mariadb-10.5.23-RR.itr"), "--oracle=mvcc",
                  status=1)["findings"][0]
    # What was rolled back has left no version, but the statement waited for it.
    assert ("T1", "insert into t(a) values (2)") in steps_of(found), steps_of(found)
    assert ("T1", "rollback") in steps_of(found), steps_of(found)


def test_who_deleted_a_row_that_is_there_in_the_end_is_in_the_witness():
    path = os.path.join(HERE, "..", "..", "corpus", "recordings", "MYSQL-foreign-replace", "mysql-9.7.4-RR.itr")
    found = [f for f in check(path, "--oracle=mvcc", status=1)["findings"] if f["class"] == "lost-version"][0]
    assert [r["object"] for r in found["witness"]["rows"]] == ["item(1)", "item(2)"], found["witness"]
    assert steps_of(found) == [("T1", "replace into cust values (3,'a')")], found["witness"]


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


def test_reports_are_the_same_every_time():
    path = os.path.join(HERE, "recorded", "known", "mdev-32898-RR.itr")
    assert check(path, "--oracle=all") == check(path, "--oracle=all")


def test_all_rests_on_the_oracles_that_have_something_to_go_by():
    path = os.path.join(HERE, "recorded", "known", "mdev-32898-RR.itr")
    found = check(path, "--oracle=all")
    assert found["verdict"] == "ok" and found["coverage"]["decided"] > 0
    assert found["coverage"]["note"].startswith("adya: not run"), found["coverage"]
    assert found["input"]["statements"] == 9 and found["input"]["operations"] == 0
    # Asked for by name, an oracle that has nothing to go by says so.
    assert check(path, "--oracle=adya", status=3)["verdict"] == "incomplete"


if __name__ == "__main__":
    tap.main(globals())
