#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded schedules, judged with `isotrace check --for=application`: TAP.

    test_recorded.py ISOTRACE

Each scenario of recorded/ says in a line `# application:` what must be found in it: CLASS SEVERITY PAIRS, `nothing`, or
`harmless WORD` where nothing is found and a pair of transactions is told apart for a reason with that word.  Beside it are
two recordings on MariaDB 10.11, made by

    isorec run --server=mariadb-local -o DIR *.scn                              NAME.plain.itr
    isorec run --server=mariadb-local --instrument=trigger -o DIR *.scn         NAME.trigger.itr

of which both must say the same: the one by times and values, the other by versions.
"""
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def said(isotrace, path, *options):
    """The exit status and the verdict."""
    done = subprocess.run([isotrace, "check", "--for=application", "--format=json", *options, path], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), "exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr)
    return done.returncode, json.loads(done.stdout)


def expectation(scenario):
    with open(scenario, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("# application: "):
                return line.split(":", 1)[1].split()
    raise AssertionError(scenario + " does not say what is in it")


def compare(scenario, status, told):
    """What is wrong, in words; None: nothing."""
    found = [[f["class"], f["severity"], str(f["pairs"])] for f in told["findings"]]
    wanted = expectation(scenario)
    if wanted[0] in ("nothing", "harmless"):
        if found or status:
            return "found %s, exit %d" % (found, status)
        if wanted[0] == "nothing" and told["harmless"]:
            return "told apart as harmless: %s" % told["harmless"]
        if wanted[0] == "harmless" and [1] != [n for why, n in told["harmless"].items() if wanted[1] in why]:
            return "harmless: %s" % told["harmless"]
        return None
    if found != [wanted]:
        return "found %s" % found
    if status != (wanted[1] == "application"):
        return "exit %d" % status
    if told["verdict"] != ("anomalies" if status else "ok"):
        return "verdict " + told["verdict"]
    return None


def main():
    scenarios = sorted(glob.glob(os.path.join(HERE, "recorded", "*.scn")))
    failed, number, ids = 0, 0, {}
    print("1..%d" % (2 * len(scenarios)))
    for scenario in scenarios:
        name = os.path.basename(scenario)[:-4]
        for mode in ("plain", "trigger"):
            number += 1
            try:
                status, told = said(sys.argv[1], os.path.join(HERE, "recorded", "%s.%s.itr" % (name, mode)))
                wrong = compare(scenario, status, told)
                found = sorted(f["id"] for f in told["findings"])
                if not wrong and ids.setdefault(name, found) != found:
                    wrong = "another id than in the other recording"
            except AssertionError as why:
                wrong = str(why)
            print("%s %d - %s, %s" % ("not ok" if wrong else "ok", number, name, mode), flush=True)
            if wrong:
                failed += 1
                print("# wanted %s: %s" % (" ".join(expectation(scenario)), wrong))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
