# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the oracle mvcc have in common."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDED = os.path.join(HERE, "recorded")


class Programs:
    """The programs under test."""

    def __init__(self, isotrace, tool=None):
        self.isotrace, self.mvcc_tool = isotrace, tool

    def tool(self, *args):
        done = subprocess.run([self.mvcc_tool, *args], stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode in (0, 1), done.returncode
        return done.stdout

    def check(self, path, *args, status=0):
        """The report of `isotrace check`; status None: any."""
        done = subprocess.run([self.isotrace, "check", "--format=json", *args, path],
                              stdout=subprocess.PIPE, text=True, check=False)
        assert status in (None, done.returncode), (done.returncode, done.stdout)
        return json.loads(done.stdout)
