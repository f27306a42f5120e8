#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which lines the tests reach, by folder:

    tests/scripts/coverage.py [SUITE...]      builds build-cov/, runs the suites, prints a table
    tests/scripts/coverage.py --report        the table of what was run there so far

Without suites: unit, wire, faults and e2e.  The counts of build-cov/ add up from run to run; remove
the folder to begin anew.  With gcovr; `gcovr -r . build-cov --txt` lists the lines themselves.
"""
import collections
import json
import os
import subprocess
import sys

BUILD = "build-cov"
PROGRAM = r"(formats|oracles|analyzer|recorder)/"


def run_suites(suites):
    if not os.path.exists(BUILD + "/build.ninja"):
        subprocess.run(["meson", "setup", BUILD, "-Db_coverage=true", "-Doptimization=0"], check=True)
    subprocess.run(["ninja", "-C", BUILD], check=True)
    command = ["meson", "test", "-C", BUILD, "--no-rebuild", "-t", "5"]
    for suite in suites:
        command += ["--suite", suite]
    if subprocess.run(command).returncode:
        print("some tests failed: what they would have reached is missing")


def report():
    text = subprocess.run(
        ["gcovr", "-r", ".", BUILD, "--filter", PROGRAM, "--gcov-ignore-parse-errors",
         "--json-summary", "-"], check=True, capture_output=True, text=True).stdout
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    for entry in json.loads(text)["files"]:
        name = entry["filename"]
        counts = (entry["line_covered"], entry["line_total"], entry["branch_covered"],
                  entry["branch_total"])
        for key in (os.path.dirname(name), "all"):
            folders[key] = [a + b for a, b in zip(folders[key], counts)]
    print("%-28s %8s %8s %7s %9s" % ("folder", "lines", "reached", "", "branches"))
    for folder in sorted(folders, key=lambda f: (f == "all", f)):
        reached, lines, taken, branches = folders[folder]
        print("%-28s %8d %8d %6.1f%% %8.1f%%" % (folder, lines, reached, 100 * reached / max(lines, 1),
                                               100 * taken / max(branches, 1)))


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    if arguments != ["--report"]:
        run_suites(arguments or ["unit", "wire", "faults", "e2e"])
    report()


main()
