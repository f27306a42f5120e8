#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What ninja has to build for the tests of one suite.

    targets.py BUILD-DIRECTORY SUITE

One file a line, from the build directory: the programs that the tests are or are given as arguments.
"""
import json
import os
import subprocess
import sys


def introspect(folder, what):
    done = subprocess.run(["meson", "introspect", folder, what], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    folder, suite = sys.argv[1:3]
    files = {t["id"]: t["filename"] for t in introspect(folder, "--targets")}
    wanted = {file for test in introspect(folder, "--tests")
              if any(s.split(":")[-1] == suite for s in test["suite"])
              for target in test["depends"] for file in files[target]}
    assert wanted, f"no test of the suite {suite} depends on anything"
    print("\n".join(sorted(os.path.relpath(file, os.path.abspath(folder)) for file in wanted)))


main()
