# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isorec cluster share."""
import json
import os
import subprocess
import sys
import tempfile

ISOREC, ISOTRACE, SERVERS = (os.path.abspath(path) for path in sys.argv[1:4])
SKIPPED = 77


def kind_of(release):
    return "galera" if release.startswith("galera") else "group-replication"


def environment(folder):
    """Data on the disk: logs in memory lose nothing by a kill."""
    run = os.path.join(folder, "run")
    os.makedirs(run, exist_ok=True)
    os.chmod(folder, 0o755)
    os.chmod(run, 0o755)
    return dict(os.environ, ISOREC_SERVERS=SERVERS, ISOREC_SERVERS_RUN=run)


class Driven:
    """A run of a text: its trace and what it says."""

    def __init__(self, text, expect=0):
        self.folder = tempfile.TemporaryDirectory(prefix="isorec-cluster-test-")
        self.trace = os.path.join(self.folder.name, "x.itr")
        path = os.path.join(self.folder.name, "x.ops")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        self.run = subprocess.run([ISOREC, "cluster", "run", path, "-o", self.trace], capture_output=True, text=True,
                                  check=False, env=environment(self.folder.name), timeout=900)
        if self.run.returncode == SKIPPED:
            raise Skipped(self.run.stderr.strip().splitlines()[-1])
        assert self.run.returncode == expect, self.run.stderr[-2000:]
        left = [name for top, folders, _ in os.walk(os.path.join(self.folder.name, "run")) for name in folders
                if name.startswith("isorec-cluster")]
        assert not left, left

    def check(self, *options):
        """The verdict of the oracle sync."""
        done = subprocess.run([ISOTRACE, "check", "--oracle=sync", "--format=json", *options, self.trace],
                              capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1, 3), done.stderr
        verdict = json.loads(done.stdout)
        verdict["exit"] = done.returncode
        return verdict

    def records(self, kind):
        done = subprocess.run([ISOTRACE, "show", "--format=ndjson", self.trace], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            if line.startswith('{"kind":"%s"' % kind):
                yield json.loads(line)


class Skipped(Exception):
    pass


def found(verdict, severity=None):
    return sorted({f["class"] for f in verdict["findings"] if severity in (None, f["severity"])})
