# SPDX-License-Identifier: GPL-2.0-or-later
"""Links of a real cluster: what was ordered is what the nodes saw, and nothing is left however isorec ends.

The release is the fourth argument.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, Driven, Skipped, environment, kind_of  # noqa: E402
from test_net import inside  # noqa: E402

RELEASE = sys.argv[4]
HEAD = "# kind: %s\n# release: %s\n# network: yes\n" % (kind_of(RELEASE), RELEASE)
READY = {"galera": "Synced", "group-replication": "ONLINE"}[kind_of(RELEASE)]


def test_a_cut_is_seen_by_the_nodes_and_heals():
    try:
        driven = Driven(HEAD + "# time: 45s\n[operations]\nat 3s cut n1 for 14s\nthen after 8s loss n1-n2 5% for 5s\nthen add\n")
    except Skipped as skip:
        raise tap.Skip(str(skip)) from skip
    events = list(driven.records("cluster"))
    links = [r for r in events if r["what"] == "link"]
    cut = [(r["data"]["from"], r["data"]["to"]) for r in links if r["data"]["state"] == "cut"]
    assert sorted(cut) == [("n1", "n2"), ("n1", "n3"), ("n2", "n1"), ("n3", "n1")], cut
    begin = next(int(r["at"]) for r in links if r["data"]["state"] == "cut")
    end = next(int(r["at"]) for r in links if r["data"]["state"] == "up" and int(r["at"]) > begin)
    assert 14e9 <= end - begin < 15e9
    # The node that was cut off says so within the cut; the others go on without it.
    away = [r for r in events if r["what"] in ("state", "membership") and begin < int(r["at"]) < end]
    assert {"n1", "n2", "n3"} >= {r["node"] for r in away} and "n2" in {r["node"] for r in away}, away
    # What was dropped is counted: by the cut, by the share.
    over = {(r["data"]["from"], r["data"]["to"]): r["data"] for r in links if r["data"]["state"] == "over"}
    assert int(over["n1", "n2"]["cut"]) > 0 and int(over["n2", "n3"]["cut"]) == 0, over
    sent = int(over["n1", "n2"]["frames"])
    assert 0 < int(over["n1", "n2"]["lost"]) < sent / 10 and int(over["n1", "n3"]["lost"]) == 0, over
    assert ("n4", "n1") in over
    points = {r["node"]: r["data"] for r in events if r["what"] == "point" and r["detail"] == "end"}
    assert {node: data["state"] for node, data in points.items()} == dict.fromkeys(("n1", "n2", "n3", "n4"), READY), points
    verdict = driven.check()
    assert verdict["verdict"] == "ok", verdict["findings"]


def drive_and_end(number, text):
    """Sends the signal once the load runs.  What is left: processes of the network, and folders."""
    with tempfile.TemporaryDirectory(prefix="isorec-net-test-") as folder:
        path = os.path.join(folder, "x.ops")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        isorec = subprocess.Popen([ISOREC, "cluster", "run", path], stderr=subprocess.PIPE, text=True, env=environment(folder))
        said = ""
        for line in isorec.stderr:
            said += line
            if "the load has begun" in line:
                break
        if isorec.poll() == 77:
            raise tap.Skip(said)
        spaces = {os.readlink(os.path.join("/proc/%d/fd" % isorec.pid, fd)) for fd in os.listdir("/proc/%d/fd" % isorec.pid)
                  if os.readlink(os.path.join("/proc/%d/fd" % isorec.pid, fd)).startswith("net:")}
        assert spaces and inside(spaces)
        isorec.send_signal(number)
        isorec.wait(timeout=60)
        isorec.stderr.close()
        # The servers' supervisors see the end by themselves.
        until = time.monotonic() + 20
        while time.monotonic() < until:
            left = [name for _, folders, _ in os.walk(os.path.join(folder, "run")) for name in folders
                    if name.startswith("isorec-cluster")]
            if not left and not inside(spaces):
                return isorec.returncode
            time.sleep(0.05)
        raise AssertionError((left, inside(spaces)))


def test_nothing_is_left_after_an_interruption():
    assert drive_and_end(signal.SIGINT, HEAD + "# time: 60s\n[operations]\nat 1s cut n1\n") == 3


def test_nothing_is_left_after_a_kill():
    assert drive_and_end(signal.SIGKILL, HEAD + "# time: 60s\n[operations]\nat 1s cut n1\n") == -9


if __name__ == "__main__":
    tap.main(globals())
