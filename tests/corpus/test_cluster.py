#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Scenarios whose sessions are on several nodes of a cluster.

    test_cluster.py ISOREC ISOTRACE ISOREC-SERVERS CORPUS RELEASE

ISOTRACE_REPEAT (5) is how often each scenario is run at each level for its digest.
"""
import json
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
import tap  # noqa: E402
from live import Live  # noqa: E402

LIVE = Live(*sys.argv[1:4])
CORPUS, RELEASE = sys.argv[4:6]
FOLDER = tempfile.mkdtemp(prefix="corpus-cluster-")
REPEAT = int(os.environ.get("ISOTRACE_REPEAT", "5"))
SCENARIOS = sorted(os.path.join(CORPUS, "cluster", name)
                   for name in os.listdir(os.path.join(CORPUS, "cluster")))
NODES = []


def at():
    """The cluster, started once: as a server that runs already."""
    if not NODES:
        NODES.extend(LIVE.start(RELEASE, "--nodes=3"))
    return ["--host=" + NODES[0]["host"], "--port=%d" % NODES[0]["port"], "--user=root",
            *("--node=%s:%d" % (node["host"], node["port"]) for node in NODES[1:])]


def folder(name):
    return os.path.join(FOLDER, name)


def scenario(name, text):
    with open(folder(name), "w", encoding="utf-8") as file:
        file.write(text)
    return folder(name)


def test_all_is_as_expected():
    done = LIVE.isorec("corpus", *at(), "--corpus", CORPUS, "--match", "galera", "-o", folder("c"))
    assert ": %d as expected, 0 not" % (4 * len(SCENARIOS)) in done.stdout, done.stdout
    assert "left out" not in done.stdout, done.stdout
    LIVE.isotrace("corpus", "verify", CORPUS, folder("c"))


def test_the_same_execution_each_time():
    done = LIVE.isorec("run", *at(), "-q", "--isolation", "RU,RC,RR,SER", "--repeat", str(REPEAT),
                       "-o", folder("repeated"), *SCENARIOS)
    counts = re.findall(r"^# (\d+) runs, (\d+) of them another execution", done.stdout, re.MULTILINE)
    assert counts == [(str(REPEAT), "0")] * (4 * len(SCENARIOS)), done.stdout


def test_a_server_that_is_started_for_the_run_brings_its_nodes():
    done = LIVE.isorec("run", "--server", RELEASE, "-o", folder("own.itr"), SCENARIOS[0])
    assert "error 1213" in done.stdout, done.stdout
    text = LIVE.isotrace("export", "--to=scenario", folder("own.itr")).stdout
    assert "# node: T1=1, T2=2\n" in text, text


def test_a_lock_wait_on_another_node_is_seen_there():
    path = scenario("wait.scn", "# node: T2=2, T3=2\n[setup]\ncreate table t(a int primary key, b int);\n"
                    "insert into t values (1,1);\n[schedule]\nT1> select * from t;\nT2> begin;\n"
                    "T2> update t set b=2;\nT3> update t set b=b+10; -- => blocked, ok 1\n"
                    "T2> commit;\n[final]\nselect * from t; -- => (1,12)\n")
    # The exit status would be 3 when only the clock showed it, 1 when it was not blocked.
    LIVE.isorec("run", *at(), "-o", folder("wait.itr"), path)


def test_mvcc_does_not_judge_several_nodes():
    document = json.loads(LIVE.isotrace("check", "--oracle", "mvcc", "-f", "json",
                                        folder("c/galera-lost-update-RR.itr"), status=3).stdout)
    assert not document["findings"], document["findings"]
    assert "sessions on several nodes of a cluster" in json.dumps(document), document


def test_values_of_auto_increment_are_not_guessed():
    path = scenario("auto.scn", "[setup]\ncreate table t(a int auto_increment primary key, b int);\n"
                    "[schedule]\nT1> insert into t(b) values (1),(2),(3);\nT1> select * from t;\n")
    LIVE.isorec("run", *at(), "-o", folder("auto.itr"), path)
    done = LIVE.isotrace("check", "--oracle", "mvcc", folder("auto.itr"), status=3)
    assert "AUTO_INCREMENT values that were not recorded" in done.stdout, done.stdout


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        LIVE.stop()
        shutil.rmtree(FOLDER, ignore_errors=True)
