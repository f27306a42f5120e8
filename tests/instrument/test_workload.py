#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_workload.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

A concurrent random workload of so many transactions at each level.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import (  # noqa: E402
    LEVELS, NAME, RELEASE, SERVER, TRANSACTIONS, WORKLOAD, main, prepare, recorded, run, servers,
    sql, violations)
from proxy_harness import SkipTest, test  # noqa: E402


# ---- the workload ----

def workload(level, mode="trigger", transactions=TRANSACTIONS, options=(), joins=()):
    run([WORKLOAD, "--port=%d" % SERVER["port"], "--keys=300", "--setup"])
    prepare("--quiet", "--mode=" + mode, "workload")
    _, _, verdict = recorded(lambda port: run([WORKLOAD, "--port=%d" % port, "--keys=300", "--level=" + level,
                                               "--transactions=%s" % transactions, *joins]), "workload",
                             mode=mode, options=options)
    assert not violations(verdict), violations(verdict)
    assert mode == "select" or verdict["coverage"]["decided"] > int(transactions), verdict["coverage"]
    return {f["class"] for f in verdict["findings"]}


@test
def workload_serializable():
    """random workload at SERIALIZABLE: nothing is found"""
    found = workload("SERIALIZABLE")
    assert not found, found


@test
def names_in_any_case():
    """lower_case_table_names=1: T and t are one table, whose reads and writes are seen"""
    if RELEASE.startswith("mysql"):
        raise SkipTest("MySQL 8 takes the setting only when it makes the data directory")
    usual, name = dict(SERVER), NAME + "-case"
    SERVER.update(json.loads(servers("start", RELEASE, "--name=" + name, "--json",
                                     "--with-parent=%d" % os.getpid(), "-o", "lower_case_table_names=1")))
    try:
        sql("create database ac; create table ac.t(id int primary key, v int); insert into ac.t values (1, 1)")
        prepare("ac")
        _, got, verdict = recorded(lambda port: sql("select * from T; update AC.T set v = 2; select v from t",
                                                    port=port, database="ac"), "ac")
    finally:
        servers("stop", name)
        SERVER.update(usual)
    probes = [r["probe"] for r in got if r["kind"] == "probe"]
    assert probes.count(6) == 2 and probes.count(7) == 1, probes
    assert not violations(verdict) and verdict["coverage"]["undecided"] == 0, verdict


@test
def workload_other_levels():
    """random workload at the other levels: only what is documented, and some of it"""
    found = set()
    for level in LEVELS[1:]:
        found |= workload(level)
    assert found & {"G-single", "G2-item", "G2", "G1a"}, found


@test
def workload_with_joins():
    """random workload with joins and subqueries: nothing at SERIALIZABLE, elsewhere only what is documented"""
    for level in LEVELS:
        found = workload(level, transactions=int(TRANSACTIONS) // 5, joins=("--joins",))
        assert level != "SERIALIZABLE" or not found, found


@test
def workload_select():
    """random workload in select mode: no violation, and nothing at all at SERIALIZABLE"""
    for level in LEVELS:
        for options in ((), ("--predicate-probes",)):
            found = workload(level, "select", int(TRANSACTIONS) // 5, options)
            assert level != "SERIALIZABLE" or not found, found


sys.exit(main())
