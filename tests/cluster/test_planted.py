# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that are planted into a real cluster, each found with its class, nodes and phase.

They are operations of a kind that has them beside those of the built-in one.  The release is the fourth argument.
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, Driven, Skipped, found, kind_of  # noqa: E402

RELEASE = sys.argv[4]
ALONE = "set session wsrep_on = OFF" if kind_of(RELEASE) == "galera" else "set session sql_log_bin = 0"
PLANTS = """
operation plant-row
  when ready
  do sql {alone}
  do sql update isorec_cluster.parent1 set s = 'planted' where id = 1
operation plant-alter
  when ready
  do sql {alone}
  do sql alter table isorec_cluster.parent1 add column planted int
operation plant-loss
  when ready
  do sql {alone}
  do sql set session foreign_key_checks = 0
  do sql delete from isorec_cluster.sums where id = 2
  do sql insert into isorec_cluster.sums values (2, 0)
operation plant-duplicate
  when ready
  do sql {alone}
  do sql update isorec_cluster.sums set n = n + 1000 where id = 1
operation plant-orphan
  when ready
  do sql {alone}
  do sql set session foreign_key_checks = 0
  do sql insert into isorec_cluster.child1 values (1, 999999999, 1)
operation plant-stop
  when up
  do shell kill -STOP ${{pids}}
operation plant-abort
  when up
  do shell kill -ABRT ${{pids}}
operation plant-applier-error
  when ready
  do sql {alone}
  do sql delete from isorec_cluster.sums where id > 3
"""


def plant(operations, settle=60):
    with tempfile.NamedTemporaryFile("w", suffix=".cluster") as kind:
        kind.write(subprocess.run([ISOREC, "cluster", "--print-kind", kind_of(RELEASE)], capture_output=True, text=True, check=True).stdout)
        kind.write(PLANTS.format(alone=ALONE))
        kind.flush()
        try:
            return Driven("# kind: %s\n# release: %s\n# time: 8s\n# settle: %ds\n[operations]\n%s" % (
                kind.name, RELEASE, settle, operations)).check()
        except Skipped as skip:
            raise tap.Skip(str(skip)) from skip


def the(verdict, name, nodes=None, word=None, severity="violation"):
    """All findings are of this class; one is about these nodes, and its phase has the word."""
    assert found(verdict, severity) == [name], [(f["class"], f["severity"], f["explanation"]) for f in verdict["findings"]]
    if nodes:
        assert any(f["cluster"]["nodes"] == nodes for f in verdict["findings"]), verdict["findings"]
    if word:
        assert any(word in f["cluster"]["phase"] for f in verdict["findings"]), verdict["findings"]


def test_nothing_planted():
    verdict = plant("at 3s point\n")
    assert verdict["verdict"] == "ok", verdict


def test_a_row_changed_on_one_node():
    the(plant("at 4s hold\nthen after 1s plant-row n2\nthen point\nthen go\n"), "divergent", ["n2"], "plant-row")


def test_a_table_altered_on_one_node():
    the(plant("at 4s hold\nthen after 1s plant-alter n3\n"), "divergent", ["n3"], "plant-alter")


def test_commits_taken_back():
    the(plant("at 5s hold\nthen after 1s plant-loss all\n"), "lost-commit", None, "plant-loss")


def test_a_duplicate():
    the(plant("at 5s hold\nthen after 1s plant-duplicate all\n"), "duplicate-apply", None, "plant-duplicate")


def test_an_orphan():
    the(plant("at 5s hold\nthen after 1s plant-orphan all\n"), "broken-constraint", ["n1"], "plant-orphan")


def test_a_node_stopped_for_good():
    the(plant("at 4s plant-stop n2\n", settle=25), "no-recovery", ["n2"], "plant-stop")


def test_a_process_aborted():
    the(plant("at 4s plant-abort n3\n"), "crash", ["n3"], "plant-abort")


def test_an_applier_error():
    verdict = plant("at 4s plant-applier-error n2\n", settle=25)
    assert set(found(verdict, "violation")) & {"crash", "no-recovery"}, verdict["findings"]
    assert all("n2" in f["cluster"]["nodes"] for f in verdict["findings"] if f["severity"] == "violation"), verdict["findings"]


if __name__ == "__main__":
    tap.main(globals())
