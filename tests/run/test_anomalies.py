#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The classic anomalies on a real server, instrumented, and judged: TAP on standard output.

    test_anomalies.py ISOREC ISOTRACE ISOREC-SERVERS RELEASE MODE [SERVER-OPTION...]

MODE is one of --instrument, or predicates: select with --predicate-probes.

Each scenario of the folder anomalies says which phenomenon it is about and at which levels the
manuals let it happen ("shows", and what of it is left with innodb_snapshot_isolation). It must be
found there, and documented; nowhere else, nothing at SERIALIZABLE, and nothing may be a violation.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ISOREC, ISOTRACE, SERVERS, RELEASE, MODE = sys.argv[1:6]
OPTIONS = sys.argv[6:]
INSTRUMENT = ["--instrument=select", "--predicate-probes"] if MODE == "predicates" else ["--instrument=" + MODE]
HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "anomalies-test-%d" % os.getpid()
LEVELS = ("RU", "RC", "RR", "SER")


def servers(*args):
    done = subprocess.run([SERVERS, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip().splitlines()[-1])
        sys.exit(0)
    assert done.returncode == 0, done.stderr
    return done.stdout


def metadata(path):
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r"^# ([a-z-]+): (.*)$", file.read(), re.M))


def run_level(folder, scenarios, level):
    """On a server of its own: MariaDB's lock views are renewed only while no other session reads them.
    True: it has innodb_snapshot_isolation."""
    name = NAME + "-" + level
    server = json.loads(servers("start", RELEASE, "--name=" + name, "--json",
                                "--with-parent=%d" % os.getpid(), "--", *OPTIONS))
    try:
        snapshot = servers("sql", name, "show variables like 'innodb_snapshot_isolation'")
        run_scenarios(server, folder, scenarios, level)
    finally:
        servers("stop", name)
    return "ON" in snapshot


def run_scenarios(server, folder, scenarios, level):
    done = subprocess.run([ISOREC, "run", "--quiet", "--overwrite", "--socket=" + server["socket"],
                           "--user=root", "--isolation=" + level, *INSTRUMENT,
                           "--database=anomalies_" + level, "-o", folder, *scenarios],
                          stdin=subprocess.DEVNULL, check=False)
    # 3: on a busy machine the clock may have to say that something is blocked.
    assert done.returncode in (0, 3), done.returncode


def judge(path):
    done = subprocess.run([ISOTRACE, "check", "--format=json", path], capture_output=True,
                          check=False)
    assert done.returncode in (0, 1, 3), done.stderr.decode()
    return json.loads(done.stdout)


def verdict_of(about, shows, level, folder):
    """What is wrong with it."""
    verdict = judge(os.path.join(folder, "%s-%s.itr" % (about["id"], level)))
    found = {f["class"] for f in verdict["findings"]}
    wrong = []
    if (level in shows.split()) != (about["class"] in found):
        wrong.append("%s is %sfound" % (about["class"], "" if about["class"] in found else "not "))
    if level == "SER" and found:
        wrong.append("found at SERIALIZABLE: %s" % found)
    wrong += ["%s is called a %s" % (f["class"], f["severity"]) for f in verdict["findings"]
              if f["severity"] != "documented"]
    if not verdict["coverage"]["decided"]:
        wrong.append("nothing was decided")
    return wrong


def main():
    scenarios = sorted(glob.glob(os.path.join(HERE, "anomalies", "*.scn")))
    assert len(scenarios) > 15
    if RELEASE != "mariadb-local":
        servers("fetch", RELEASE)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            jobs = [pool.submit(run_level, folder, scenarios, level) for level in LEVELS]
        key = "shows-with-snapshot-isolation" if jobs[0].result() else "shows"
        assert all(job.result() == jobs[0].result() for job in jobs)
        print("1..%d" % (len(scenarios) * len(LEVELS)))
        for path in scenarios:
            about = metadata(path)
            for level in LEVELS:
                wrong = verdict_of(about, about[key], level, folder)
                failed += bool(wrong)
                print("%s - %s at %s%s" % ("not ok" if wrong else "ok", about["id"], level,
                                           ": " + "; ".join(wrong) if wrong else ""))
    return 1 if failed else 0


sys.exit(main())
