#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The mvcc oracle over recordings of real servers (recorded/), without a server: TAP.

    test_recorded.py MVCC_TOOL ISOTRACE HIDDEN-SEEDS

What is said of each statement of each recording is in the entries beside them (test_index.py).  Here: recordings that are altered
or have a part taken out, the reports, and options.
"""
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import tap  # noqa: E402
from mvcc_checks import RECORDED, Programs  # noqa: E402

TOOL, ISOTRACE = sys.argv[1:3]
HIDDEN_SEEDS = int(sys.argv[3])
tool, check = Programs(ISOTRACE, TOOL).tool, Programs(ISOTRACE, TOOL).check
TRACES = sorted(glob.glob(os.path.join(RECORDED, "m*", "*.itr")))
assert len(TRACES) >= 50


def test_altered_answers_are_noticed():
    out = tool("mutate", "1", *TRACES)
    altered, noticed, undecided = (int(n) for n in re.search(
        r"altered (\d+) noticed (\d+) undecided (\d+)", out).groups())
    # What an alteration turns into something that cannot be decided is not called right.
    assert altered > 500 and noticed >= 0.98 * altered, out
    assert noticed + undecided >= 0.99 * altered, out


def test_altered_answers_of_several_clients_at_once_are_noticed():
    # Four clients through the proxy, as fast as they are answered: all orders have to be tried.
    paths = sorted(glob.glob(os.path.join(RECORDED, "free", "*.itr")))
    assert len(paths) == 2 and " violations 0 suspicions 0" in tool("solve", *paths)
    out = tool("mutate-free", "1", *paths)
    altered, noticed, explained = (int(n) for n in re.search(
        r"altered (\d+) noticed (\d+) .* explained (\d+)", out).groups())
    # One has become an answer that another order explains.
    assert altered > 50 and explained <= 1 and noticed + explained == altered, out


def test_results_that_stay_in_the_trace():
    paths = TRACES + sorted(glob.glob(os.path.join(RECORDED, "*", "*.itr")))
    assert int(tool("apart", *paths).split()[0]) > 5000


def test_statements_that_are_made_to_overlap():
    """Answers moved to later moments are still right; nothing is wrong that one order of all explains."""
    # In the last a statement that is tried early has another before it.
    paths = TRACES + [os.path.join(RECORDED, "rules", "read-before-what-was-before-10.5.itr")]
    last = tool("overlap", "1", "20", *paths).splitlines()[-1]
    tried, wrong, all_wrong, _, _, false = (int(n) for n in re.findall(r"\d+", last))
    assert tried > 1000 and wrong > 200 and all_wrong > 50 and false == 0, last


def test_known_anomalies_carry_their_rule():
    # Recorded on MariaDB 10.11; what the manuals say of them is in the contract innodb.
    for name, rule in (("mdev-32898-RR", "rr-current-write"), ("mdev-26642-RR", "rr-noop-update"),
                       ("mdev-34108-RC", "rc-semi-consistent")):
        found = check(os.path.join(RECORDED, "known", name + ".itr"), "--oracle=mvcc")
        assert found["verdict"] == "ok"
        rules = {f["rule"] for f in found["findings"] if f["severity"] == "documented"}
        assert rule in rules, (name, rules)
        finding = [f for f in found["findings"] if f["rule"] == rule][0]
        assert finding["witness"]["rows"] and finding["witness"]["statements"]
        assert "Versions of t(" in finding["explanation"]


def test_the_row_that_was_passed_by_is_the_one_that_did_not_match():
    # MariaDB 11.8 with innodb_snapshot_isolation at READ UNCOMMITTED: either row explains the answer.
    found = check(os.path.join(RECORDED, "known", "mdev-34108-RU-11.8.itr"), "--oracle=mvcc")
    assert [(f["class"], f["known"]) for f in found["findings"]] == [("split-statement", ["MDEV-34108"])], found


def test_rows_that_the_trace_does_not_have():
    """A random part of the initial rows is taken out: what is left is judged, and nothing is wrong with it."""
    paths = TRACES + sorted(glob.glob(os.path.join(RECORDED, "rules", "*.itr")))
    decided = judged = 0
    for seed in range(1, HIDDEN_SEEDS + 1):
        out = tool("hide", str(seed), *paths)
        alarms = [line for line in out.splitlines() if re.search(": (violation|suspicion) ", line)]
        assert not [a for a in alarms if "no-autocommit" not in a], (seed, alarms)
        counts = [int(n) for n in re.search(r"decided (\d+) undecided (\d+) unsupported (\d+)", out).groups()]
        decided += counts[0]
        judged += sum(counts)
    assert decided > 0.3 * judged, (decided, judged)


def test_what_a_serializable_transaction_read_stays():
    """Recorded at REPEATABLE READ on MySQL 9.7 and altered to say SERIALIZABLE, as of a server whose reads do not lock; the
    servers themselves wait in these schedules, and read-stays-* are what they answered."""
    for name, texts in (("gap", ["answered (0), and after this change it would answer (1)",
                                 "answered (80), and after this change it would answer (122)"]),
                        ("column", ["answered (20) (50), and after this change it would answer (21) (50)"]),
                        ("change", ["answered (50); with the rows that T1, which was open all the time, had changed before, it "
                                    "would be (20)"])):
        found = check(os.path.join(RECORDED, "known", "unlocked-read-%s.itr" % name), "--oracle=mvcc",
                      status=1)
        assert {f["class"] for f in found["findings"]} == {"missing-lock"}, found["findings"]
        assert {f["severity"] for f in found["findings"]} == {"violation"}, found["findings"]
        for text in texts:
            assert [f for f in found["findings"] if text in f["explanation"]], (text, found["findings"])
    # What the reader itself changed, or let go of, is no change by others.
    for name in ("gap", "column", "change", "own", "let-go"):
        for server in ("10.11", "mysql"):
            found = check(os.path.join(RECORDED, "rules", "read-stays-%s-%s.itr" % (name, server)),
                          "--oracle=mvcc")
            assert found["verdict"] == "ok" and not found["coverage"]["undecided"], (name, found)


def test_a_value_that_nobody_wrote_needs_no_order():
    """22 sessions at once: more orders than can be tried, but the row has one history (1000 was added to what
    the server answered)."""
    path = os.path.join(RECORDED, "known", "value-that-nobody-wrote.itr")
    found = check(path, "--oracle=mvcc", "--all-sessions", status=1)
    assert [f["class"] for f in found["findings"]] == ["wrong-result"], found["findings"]
    assert "answered (1,'pdf',1001)" in found["findings"][0]["explanation"], found["findings"]


def test_altered_answers_of_views_are_noticed():
    for server in ("10.11", "mysql"):
        out = tool("mutate", "1", os.path.join(RECORDED, "rules", "views-%s.itr" % server))
        altered, noticed, explained = (int(n) for n in re.search(
            r"altered (\d+) noticed (\d+) .* explained (\d+)", out).groups())
        assert altered > 10 and explained <= 1 and noticed + explained == altered, out


def test_a_contract_that_forbids_more_than_the_engine_is_not_kept():
    """The solver looks for no cycles: of a lost update at the textbook's REPEATABLE READ it may say nothing."""
    path = os.path.join(RECORDED, "known", "mdev-32898-RR.itr")
    assert check(path)["verdict"] == "ok"
    found = check(path, "--contract=adya", status=3)
    assert found["verdict"] == "incomplete" and found["promises"][0]["answer"] == "undecided", found
    assert any("isorec prepare" in reason for reason in found["coverage"]["reasons"]), found
    done = subprocess.run([ISOTRACE, "check", "--level=serializable", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2 and "--instrument=trigger" in done.stderr, done.stderr


def test_the_oracle_is_chosen_by_what_the_trace_has():
    path = os.path.join(RECORDED, "known", "mdev-34108-RC.itr")
    assert {f["oracle"] for f in check(path)["findings"]} == {"mvcc"}
    assert check(path, "--oracle=adya", status=3)["findings"] == []


def test_a_call_that_commits_inside_is_not_one_transaction():
    """MariaDB 10.11, autocommit=0: select; call p() {update; commit; select}; select.  The first was made
    by a recorder that did not tell of it, and had five violations."""
    for name in ("call-commits-inside", "call-commits-inside-told"):
        path = os.path.join(RECORDED, name + ".itr")
        for oracle in ("adya", "mvcc", "all"):
            found = check(path, "--oracle=" + oracle, status=3)
            assert not [f for f in found["findings"]
                        if f["severity"] in ("violation", "suspicion")], (name, found)
            assert "a CALL, an EXECUTE or several statements" in json.dumps(found["coverage"]), found


def test_what_sessions_that_were_left_out_did_is_undecided():
    """MariaDB 10.11, --sample=2: the session that was not recorded changed what the other one read."""
    path = os.path.join(RECORDED, "sampled.itr")
    found = check(path, "--oracle=mvcc", status=3)
    assert found["findings"] == [], found
    assert "outside the recording" in json.dumps(found["coverage"]), found
    # Who says that nobody else wrote gets the contradiction.
    found = check(path, "--oracle=mvcc", "--all-sessions", status=1)
    assert [f["severity"] for f in found["findings"]] == ["violation"] * len(found["findings"]), found


def test_unrecorded_writers_explain_what_names_no_row():
    """MariaDB 11.8: a session past the proxy wrote, and all the server answered was right.  With all
    sessions recorded the same answers would be wrong."""
    paths = sorted(glob.glob(os.path.join(RECORDED, "unrecorded", "*.itr")))
    assert len(paths) == 6
    for path in paths:
        for options, severity in (((), "suspicion"), (("--all-sessions",), "violation")):
            found = check(path, "--oracle=mvcc", *options, status=None)
            found = {f["severity"] for f in found["findings"]} - {"documented"}
            assert severity in found and ("violation" in found) == bool(options), (path, options, found)


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


def test_reports_are_the_same_every_time():
    path = os.path.join(RECORDED, "known", "mdev-32898-RR.itr")
    assert check(path, "--oracle=all") == check(path, "--oracle=all")


def test_all_rests_on_the_oracles_that_have_something_to_go_by():
    path = os.path.join(RECORDED, "known", "mdev-32898-RR.itr")
    found = check(path, "--oracle=all")
    assert found["verdict"] == "ok" and found["coverage"]["decided"] > 0
    assert found["coverage"]["note"].startswith("adya: not run"), found["coverage"]
    assert found["input"]["statements"] == 9 and found["input"]["operations"] == 0
    # Asked for by name, an oracle that has nothing to go by says so.
    assert check(path, "--oracle=adya", status=3)["verdict"] == "incomplete"


def test_events_write_also_where_all_sessions_were_recorded():
    found = check(os.path.join(RECORDED, "event-mysql.itr"), "--oracle=mvcc", "--all-sessions", status=3)
    assert [f["severity"] for f in found["findings"]] == ["suspicion"], found["findings"]


if __name__ == "__main__":
    tap.main(globals())
