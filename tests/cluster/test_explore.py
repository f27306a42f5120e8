# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec cluster explore and replay, on a toy cluster."""
import contextlib
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, ISOTRACE, SERVERS, environment  # noqa: E402

# One server that calls itself two nodes: they agree whatever is done, but for its end.
KIND = """cluster toy
nodes 2
start shell '%s' start mariadb-local --name ${cluster} --with-parent ${parent} --events | sed "p; s/^event n1/event n2/"
stop shell '%s' stop ${cluster}
state select 'up'
ready up
position select 1
counters select variable_name, variable_value from information_schema.global_status where variable_name = 'handler_write'

operation %s
  when ready
  do %s
fault read-only
  when ready
  do sql set global read_only = on
  undo sql set global read_only = off
"""
TEXT = "# kind: %s\n# time: 1s\n# aim: 200ms\n# settle: 1s\n# rows: 20\n# sessions: 2\n[operations]\n%s"


class Folder:
    def __init__(self, operation, command, text="", header=""):
        self.temporary = tempfile.TemporaryDirectory(prefix="isorec-explore-")
        self.name = self.temporary.name
        self.environment = environment(self.name)
        with open(self.path("toy.cluster"), "w", encoding="utf-8") as out:
            out.write(KIND % (SERVERS, SERVERS, operation, command))
        with open(self.path("toy.ops"), "w", encoding="utf-8") as out:
            out.write(header + TEXT % (self.path("toy.cluster"), text))

    def path(self, *names):
        return os.path.join(self.name, *names)

    def cluster(self, *words):
        return subprocess.run([ISOREC, "cluster", *words], capture_output=True, text=True, check=False, env=self.environment,
                              timeout=300)

    def explore(self, *words):
        return self.cluster("explore", self.path("toy.ops"), "-o", self.path("out"), *words)

    def left(self):
        """Folders of instances.  A supervisor whose starter was killed sees that for itself."""
        until = time.monotonic() + 60
        while True:
            names = [name for _, folders, _ in os.walk(self.path("run")) for name in folders if name.startswith("isorec-cluster")]
            if not names or time.monotonic() > until:
                return names
            time.sleep(0.05)

    def tries(self, done):
        return re.findall(r"^isorec: try \d+: (?:stalled, )?(\d+) new, pool \d+, findings \d+[^:]*: (.*)$", done.stderr, re.MULTILINE)


def test_what_breaks_the_cluster_is_found_with_its_rate():
    folder = Folder("die", "shell kill -ABRT ${pid}", "at 500ms die n1\n")
    done = folder.explore("--tries=1", "--repeats=2")
    assert done.returncode == 1 and "1 violation" in done.stdout, done
    names = sorted(os.path.basename(path) for path in glob.glob(folder.path("out", "findings", "*")))
    assert names == ["crash-1.itr", "crash-1.ops", "crash-1.txt", "summary"], names
    with open(folder.path("out", "findings", "crash-1.txt"), encoding="utf-8") as text:
        said = text.read()
    assert "violation: crash die" in said and "2 times more, with other seeds: found in 2." in said, said
    check = subprocess.run([ISOTRACE, "check", "--oracle=sync", folder.path("out", "findings", "crash-1.itr")],
                           capture_output=True, text=True, check=False)
    assert "The server process of node n1 ended: killed by signal 6" in check.stdout, check
    # Its text is found again when it is run, and when its trace is replayed.
    again = folder.cluster("run", folder.path("out", "findings", "crash-1.ops"), "-o", folder.path("again.itr"))
    replayed = folder.cluster("replay", folder.path("again.itr"), "-o", folder.path("replayed.itr"))
    assert again.returncode == replayed.returncode == 0, (again, replayed)
    for name in ("again.itr", "replayed.itr"):
        check = subprocess.run([ISOTRACE, "check", "--oracle=sync", folder.path(name)], capture_output=True, text=True, check=False)
        assert "The server process of node n1 ended: killed by signal 6" in check.stdout, check


def test_an_exploration_goes_on_and_finds_nothing_where_nothing_is():
    folder = Folder("look", "sql select count(*) from isorec_cluster.sums")
    first = folder.explore("--tries=3", "--seed=5")
    assert first.returncode == 0 and "3 tries" in first.stdout and "0 violations, 0 suspicions, 0 documented" in first.stdout, first
    tries = folder.tries(first)
    assert len(tries) == 3 and all(re.search(r"look|read-only", line) for _, line in tries), first.stderr
    with open(folder.path("out", "seen"), encoding="utf-8") as seen:
        signals = seen.read().splitlines()
    assert len(signals) == len(set(signals)) and any(s.startswith("counter HANDLER_WRITE 2^") for s in signals), signals[:20]
    kept = len(os.listdir(folder.path("out", "pool")))
    assert kept == sum(int(new) > 0 for new, _ in tries)
    assert "try.itr" not in os.listdir(folder.path("out"))
    # What was seen is not new any more, and the pool is there.
    second = folder.explore("--tries=1", "--seed=6")
    assert "pool %d" % kept in second.stderr and int(folder.tries(second)[0][0]) < int(tries[0][0]), second.stderr
    # The same seed, the same sequences.
    other = Folder("look", "sql select count(*) from isorec_cluster.sums")
    assert [line for _, line in other.tries(other.explore("--tries=1", "--seed=5"))] == [tries[0][1]]


def test_a_text_is_reduced_to_what_matters():
    text = "at 100ms read-only n2 for 100ms\nat 200ms hold\nthen go\nthen after 100ms die n1\nthen read-only n1 for 100ms\n"
    folder = Folder("die", "shell kill -ABRT ${pid}", text, "# option: a=1\n")
    done = folder.cluster("reduce", folder.path("toy.ops"), "--repeats=1", "--finding=crash", "-o", folder.path("small.ops"))
    assert done.returncode == 0 and "1 of 6 operations, statements and options are left for crash" in done.stdout, done
    with open(folder.path("small.ops"), encoding="utf-8") as small:
        said = small.read()
    assert said.endswith("[operations]\nat 1s die n1\n") and "option" not in said, said
    assert "small.ops.itr" not in os.listdir(folder.name)
    done = folder.cluster("reduce", folder.path("toy.ops"), "--repeats=1", "--finding=divergent")
    assert done.returncode == 4 and "nothing was found of the class divergent" in done.stderr, done
    done = folder.cluster("reduce", folder.path("toy.ops"), "--finding=explosion")
    assert done.returncode == 2 and "no such class" in done.stderr, done


def test_limits():
    folder = Folder("look", "sql select 1")
    done = folder.explore("--time=1ms")
    assert done.returncode == 0 and "the time is over" in done.stdout, done
    done = folder.explore("--disk=1K")
    assert done.returncode == 0 and "as large as --disk allows" in done.stdout, done
    done = folder.explore("--try-time=500ms", "--tries=1")
    assert "1 stalled" in done.stdout and "stalled" in done.stderr, done
    assert not folder.left()


def test_an_interruption():
    folder = Folder("look", "sql select 1")
    exploring = subprocess.Popen([ISOREC, "cluster", "explore", folder.path("toy.ops"), "-o", folder.path("out")],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=folder.environment,
                                 start_new_session=True)
    for line in exploring.stderr:
        if "try 1" in line:
            break
    os.killpg(exploring.pid, signal.SIGINT)
    said, _ = exploring.communicate(timeout=60)
    assert exploring.returncode == 3 and "interrupted" in said, said
    assert not folder.left()


def test_a_kill():
    """The run that is under way ends with isorec, and its servers with it."""
    folder = Folder("look", "sql select 1", "at 60s look n1\n")
    exploring = subprocess.Popen([ISOREC, "cluster", "explore", folder.path("toy.ops"), "-o", folder.path("out")],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=folder.environment)
    until = time.monotonic() + 60
    while not os.path.exists(folder.path("out", "try.itr")) or os.path.getsize(folder.path("out", "try.itr")) < 20000:
        assert time.monotonic() < until
        time.sleep(0.05)
    with open("/proc/%d/task/%d/children" % (exploring.pid, exploring.pid), encoding="ascii") as children:
        [child] = children.read().split()
    exploring.kill()
    exploring.wait()
    assert not folder.left()
    # Gone, or dead and not yet waited for.
    with contextlib.suppress(FileNotFoundError):
        with open("/proc/%s/stat" % child, encoding="ascii") as stat:
            assert stat.read().rpartition(")")[2].split()[0] == "Z"


def test_wrong_use():
    with tempfile.TemporaryDirectory() as name:
        path = os.path.join(name, "x.ops")
        with open(path, "w", encoding="utf-8") as out:
            out.write("# kind: galera\n[operations]\nat 1s murder n1\n")
        done = subprocess.run([ISOREC, "cluster", "explore", path], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "no such operation" in done.stderr, done
        done = subprocess.run([ISOREC, "cluster", "replay", path], capture_output=True, text=True, check=False)
        assert done.returncode == 4, done


if __name__ == "__main__":
    tap.main(globals())
