# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec cluster: texts that are wrong, kinds, and a toy cluster that a file alone describes."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, SERVERS, Driven, Skipped, found  # noqa: E402

HEAD = "# kind: galera\n[operations]\n"


def checked(text, kind=None):
    """What --check says of a text: exit status and output."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.ops")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        command = [ISOREC, "cluster", "run", "--check", path]
        if kind is not None:
            with open(os.path.join(folder, "k.cluster"), "w", encoding="utf-8") as out:
                out.write(kind)
            command.append("--kind=" + os.path.join(folder, "k.cluster"))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr.replace(folder + "/", "")


def test_errors_name_line_and_column():
    wrong = {
        HEAD + "at 5x kill n1": "x.ops:3:4: a time",
        HEAD + "at 5s murder n1": "x.ops:3:7: this kind of cluster has no such operation",
        HEAD + "at 5s kill m1": "x.ops:3:12: nodes",
        HEAD + "at 5s kill": "x.ops:3:11: on which node",
        HEAD + "at 5s kill n1 for 3s": "x.ops:3:15: only a fault",
        HEAD + "then kill n1": "x.ops:3:1: 'then' needs a line before it",
        HEAD + "soon kill n1": "x.ops:3:1: 'at' or 'then'",
        HEAD + "at state Joined kill n1": "x.ops:3:10: a node and its state",
        HEAD + "at 1s recover n2": "one of the whole cluster",
        HEAD + "at 1s cut n10": "x.ops:3:11: links belong here",
        HEAD + "at 1s cut n1>n2 fast": "x.ops:3:17: nothing more",
        HEAD + "at 1s delay n1 soon for 3s": "x.ops:3:16: a time",
        HEAD + "at 1s heal all for 3s": "x.ops:3:16: only a fault",
        HEAD + "at 1s loss n1 5% for x": "x.ops:3:22: a time",
        "# kind: galera\n# network: perhaps\n": "x.ops:2:12: yes, no or auto",
        "# kind: ndb\n[operations]\nat 1s cut n1": "share a network",
        "# time: soon\n# kind: galera\n": "x.ops:1:9: a time",
        "[operations]\nat 1s kill n1": "x.ops:2:1: which kind of cluster?",
        "# kind: nosuch\n[operations]\nat 1s kill n1": "no kind of cluster is built in",
        "at 1s kill n1": "x.ops:1:1: a line '# key: value'",
    }
    for text, message in wrong.items():
        status, said = checked(text)
        assert status in (2, 4) and message in said, (text, said)


def test_kinds_are_checked():
    good = "cluster toy\nstart shell true\nstate select 1\nready 1\n"
    wrong = {
        good + "operation a\n": "k.cluster: the operation 'a' has no line 'do'",
        good + "fault a\n  do sql select 1\n": "the fault 'a' has no line 'undo'",
        good + "operation a\n  do nothing\n": "k.cluster:6:6: 'shell' or 'sql'",
        good + "operation a\n  when never\n": "k.cluster:6:8: any, up, down",
        good + "  speed 9\n": "k.cluster:5:3: cluster, tried",
        good + "operation a\n do sql x\noperation a\n": "k.cluster:7:11: there is an operation of this name",
        "cluster toy\nstart sql x\n": "k.cluster:2:1: a cluster is started",
        "cluster toy\nnodes 0\n": "k.cluster:2:7: a number from 1 to 9",
        "cluster toy\n": "are needed",
    }
    for kind, message in wrong.items():
        status, said = checked("[operations]\n", kind)
        assert status in (2, 4) and message in said, (kind, said)


def test_the_plain_form_is_read_again():
    text = ("# kind: galera\n# seed: 7\n# option: a=1\n[setup]\ncreate table x(a int);\n[operations]\nat 1500ms kill n1 n2\n"
            "then after 2s recover\nat 9s cut n1,n2 for 5s\nthen delay n1>n2 5ms 1ms\nthen heal all\nat state n2=Joined kill any\nat window pause n1 for 3s\nat statement 5 point\n")
    status, once = checked(text)
    assert status == 0, once
    for line in text.splitlines()[3:]:
        assert line in once, (line, once)
    status, twice = checked(once)
    assert status == 0 and twice == once


def test_every_kind_is_read_and_printed():
    listed = subprocess.run([ISOREC, "cluster", "--kinds"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^([a-z-]+) \(tried on: (.*)\)$", listed, re.MULTILINE)
    assert {name for name, _ in names} == {"galera", "group-replication", "ndb", "tidb", "template"}, names
    assert dict(names)["ndb"] == dict(names)["tidb"] == "none"
    for name, _ in names:
        text = subprocess.run([ISOREC, "cluster", "--print-kind", name], capture_output=True, text=True, check=True).stdout
        status, said = checked("[operations]\nat 1s kill n1\n", text)
        assert status == 0, said


# Two servers that have nothing to do with each other call themselves a cluster.
TOY = """cluster toy
nodes 2
start shell for n in 1 2; do '%s' start mariadb-local --name ${cluster}-$n --with-parent ${parent} --events | sed "s/^event n[0-9]*/event n$n/" || exit; done
stop shell '%s' stop ${cluster}-1 ${cluster}-2
state select 'up'
ready up
position select 1

operation note
  when ready
  do sql insert into isorec_cluster.mine values (1)
  ends done

fault pause
  when up
  do shell kill -STOP ${pids}
  undo shell kill -CONT ${pids}
"""


def test_a_toy_cluster_by_a_file_alone():
    with tempfile.TemporaryDirectory() as folder:
        kind = os.path.join(folder, "toy.cluster")
        with open(kind, "w", encoding="utf-8") as out:
            out.write(TOY % (SERVERS, SERVERS))
        try:
            driven = Driven("# kind: %s\n# time: 2s\n# rows: 20\n# sessions: 2\n# nodes: 2\n[setup]\ncreate table mine(a int primary key);\n"
                            "[operations]\nat 500ms note n1\nthen pause n2 for 300ms\nthen point\n" % kind)
        except Skipped as skip:
            raise tap.Skip(str(skip)) from skip
        verdict = driven.check("--contract=galera")
        # The second one does not even have the tables.
        assert found(verdict, "violation") == ["divergent"], verdict["findings"]
        assert {node for f in verdict["findings"] for node in f["cluster"]["nodes"]} <= {"n1", "n2"}
        done = [(r["data"]["name"], r["data"]["phase"], r["data"].get("result")) for r in driven.records("cluster")
                if r["what"] == "operation"]
        assert done == [("note", "begin", None), ("note", "end", "done"), ("pause", "begin", None), ("pause", "end", "done")], done
        points = {(r["node"], r["detail"]) for r in driven.records("cluster") if r["what"] == "point"}
        assert points == {(node, point) for node in ("n1", "n2") for point in ("start", "point-1", "end")}, points


if __name__ == "__main__":
    tap.main(globals())
