# SPDX-License-Identifier: GPL-2.0-or-later
"""The pair that a cluster's driver must show: what is lost when all nodes are killed under load.

The release is the fourth argument.
"""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import Driven, Skipped, found, kind_of  # noqa: E402

RELEASE = sys.argv[4]
DURABLE = "contract durable\ncluster\nforbids lost-commit resurrected duplicate-apply divergent broken-constraint\n"


def drive(flush, operations):
    head = "# kind: %s\n# release: %s\n# time: 12s\n# option: innodb_flush_log_at_trx_commit=%d\n[operations]\n"
    try:
        return Driven(head % (kind_of(RELEASE), RELEASE, flush) + operations)
    except Skipped as skip:
        raise tap.Skip(str(skip)) from skip


def commits(verdict):
    return [name for f in verdict["findings"] if f["class"] == "lost-commit" for name in f["transactions"]]


def lose_without_flushing():
    """Each node writes its log once a second: the kill may come when one of them has just done so, and nothing is lost.

    The clients are held from the kill on: members of Group Replication whose GTIDs are ahead of their rows fail at the
    next change of such a row, all of them, and nobody is left to say what is lost.
    """
    for _ in range(4):
        begun = time.monotonic()
        driven = drive(0, "at 8s kill all\nthen hold\nthen recover\n")
        verdict = driven.check()
        took = time.monotonic() - begun
        assert took < 120, took
        assert all(f["severity"] == "documented" and f["rule"] == "flush-log-0" for f in verdict["findings"]), verdict["findings"]
        if commits(verdict):
            return driven, verdict
    raise AssertionError("no commit was lost in four runs")


def test_without_flushing_commits_are_lost_and_documented():
    driven, verdict = lose_without_flushing()
    lost = [f for f in verdict["findings"] if f["class"] == "lost-commit"]
    assert len(lost) == 1, verdict["findings"]
    assert "kill" in lost[0]["cluster"]["phase"] and "page" in lost[0]["cluster"]
    with tempfile.NamedTemporaryFile("w", suffix=".contract") as contract:
        contract.write(DURABLE)
        contract.flush()
        strict = driven.check("--contract-file=" + contract.name)
    assert strict["verdict"] == "violated" and found(strict, "violation") == found(verdict)
    assert commits(strict) == commits(verdict)


def test_with_flushing_nothing_is_lost():
    verdict = drive(1, "at 8s kill all\nthen recover\n").check()
    assert verdict["verdict"] == "ok" and not verdict["findings"], verdict
    assert verdict["coverage"]["decided"] > 100


def test_the_less_advanced_node_loses_what_the_others_had():
    cut = "isolate" if kind_of(RELEASE) == "galera" else "pause"
    verdict = drive(1, "at 3s %s n2\nat 16s kill all\nthen recover-from n2\n" % cut).check()
    lost = [f for f in verdict["findings"] if f["class"] == "lost-commit"]
    assert len(lost) == 1 and lost[0]["severity"] == "documented" and lost[0]["rule"] == "bootstrap-behind", verdict["findings"]
    assert commits(verdict)
    assert found(verdict, "violation") == [], verdict["findings"]


if __name__ == "__main__":
    tap.main(globals())
