#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a server that says it is a node of Galera: TAP on standard output.

    test_galera.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

The server runs without a provider, so that there are no other nodes; what they would do to it is done to its files.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from instrumented import NAME, RELEASE, SERVER, prepare, recorded, servers, sql  # noqa: E402
from proxy_harness import run_tests, test  # noqa: E402


def spoil(spoilt):
    """Makes the trigger that comes before an UPDATE one that cannot be parsed, or well again."""
    path = os.path.join(SERVER["datadir"], "it", "t.TRG")
    with open(path, encoding="utf-8") as triggers:
        text = triggers.read()
    bad, good = "for each row begin fi not (", "for each row begin if not ("
    assert (good if spoilt else bad) in text
    with open(path, "w", encoding="utf-8") as triggers:
        triggers.write(text.replace(good, bad) if spoilt else text.replace(bad, good))
    sql("flush tables")


@test
def trigger_that_was_not_parsed():
    """the client gets error 1213, and its transaction is rolled back; nothing else is changed"""
    sql("drop database if exists it; create database it; use it; create table t(id int primary key, v int);"
        "insert into t values (1,1),(2,2)")
    prepare("--quiet", "it")

    def work(port):
        spoil(True)
        told = sql("set transaction isolation level read committed;\n"
                   "begin; insert into t values (3,3); update t set v = 5 where id = 1; select count(*) from t;\n"
                   "begin; update t set v = 6 where id = 1; rollback; update t set v = 7 where id = 2;\n"
                   "select 'parsed' = fi; select sum(v) from t;", "--force", "-N", port=port, database="it")
        spoil(False)
        return told + sql("update t set v = 9 where id = 1; select sum(v) from t", "-N", port=port, database="it")

    told, got, verdict = recorded(work, "it")
    assert told.count("ERROR 1213 (40001)") == 4 and told.count("ERROR 1054") == 1, told
    assert [line for line in told.splitlines() if line.isdigit()] == ["2", "3", "11"], told
    errors = [r["error"] for r in got if r["kind"] == "stmt" and r.get("error") and r["text"].startswith("update")]
    assert errors == [1213] * 3, errors
    assert verdict["verdict"] == "ok" and not verdict["findings"], verdict
    levels = {r["number"]: r["level"] for r in got if r["kind"] == "txn" and r["event"] == 0}
    assert len(set(levels.values())) == 2, levels


def main():
    started = servers("start", RELEASE, "--name=" + NAME, "--json", "--with-parent=%d" % os.getpid(), "-o", "wsrep_on=ON",
                      "-o", "wsrep_provider=none", "-o", "binlog_format=ROW")
    SERVER.update(json.loads(started))
    try:
        return run_tests(sys.argv[8:])
    finally:
        servers("stop", NAME)


if __name__ == "__main__":
    sys.exit(main())
