#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the mvcc oracle does not model (triggers, views, stored functions ...) on a real server: TAP.

    test_live.py ISOREC ISOTRACE [RELEASE]

Each scenario of live/ is run at REPEATABLE READ, or at the levels that its header names.  What its header calls unsupported or undecided must be
named as such (what it calls `not`, must not; so many statements are decided as it says; without any of it all must be), and nothing may be called
a violation or suspicious.
"""
import atexit
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
sys.path.insert(0, HERE)
import campaign  # noqa: E402
import tap  # noqa: E402

ISOREC, ISOTRACE = sys.argv[1:3]
WORK = tempfile.mkdtemp(prefix="mvcc-live-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
PORT = campaign.start(sys.argv[3] if len(sys.argv) > 3 else "mariadb-local")


def records(trace):
    done = subprocess.run([ISOTRACE, "show", "--format=json", trace], stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout)["records"]


def recorded(path, *options, level="RR"):
    name = os.path.basename(path)[:-4]
    with open(path) as file:
        text = file.read().replace("@FILE@", f"../{os.path.basename(WORK)}.txt")
    scenario = os.path.join(WORK, name + ".scn")
    with open(scenario, "w") as file:
        file.write(text)
    out = os.path.join(WORK, name + level)
    done = subprocess.run([ISOREC, "run", "--port", PORT, f"--isolation={level}", "-o", out, "--overwrite",
                           "--drop-database", "-D", f"mvcc_live_{os.getpid()}", "--quiet", *options, scenario],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    # The answers are those that the scenario expects; of sessions that were ended, some are missing.
    assert done.returncode == (3 if "statements that got no answer" in text else 0), done.stdout
    trace, = glob.glob(os.path.join(out, "*.itr"))
    return text, trace


def levels_of(path):
    with open(path) as file:
        named = re.search(r"^# levels: (.*)$", file.read(), re.M)
    return named[1].split(",") if named else ["RR"]


def check(trace):
    done = subprocess.run([ISOTRACE, "check", "--oracle=mvcc", "--format=json", trace],
                          stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_nothing_that_is_not_modelled_gives_an_alarm():
    paths = sorted(glob.glob(os.path.join(HERE, "live", "*.scn")))
    assert len(paths) >= 10
    for path, level in ((p, level) for p in paths for level in levels_of(p)):
        text, trace = recorded(path, level=level)
        status, found = check(trace)
        assert not found["findings"] or {f["severity"] for f in found["findings"]} == {"documented"}, found
        reasons = re.findall(r"^# (?:unsupported|undecided): (.*)$", text, re.M)
        assert (status, found["verdict"]) == ((3, "incomplete") if reasons else (0, "ok")), (path, found)
        # The server's answers themselves (`-- =>`) were looked at by isorec run.
        for reason in reasons:
            assert reason in json.dumps(found["coverage"]), (path, reason, found["coverage"])
        for count in re.findall(r"^# decided: (.*)$", text, re.M):
            assert found["coverage"]["decided"] == int(count), (path, level, found["coverage"])
        for reason in re.findall(r"^# not: (.*)$", text, re.M):
            assert reason not in json.dumps(found["coverage"]), (path, reason, found["coverage"])


def test_a_schema_tells_its_triggers():
    for name, expected in (("trigger-new-values", {"t": [["d", "AFTER", "DELETE"], ["u", "BEFORE", "UPDATE"]],
                                                   "gone": []}),
                           ("trigger-made-later", {"t": [], "log": []})):
        _, trace = recorded(os.path.join(HERE, "live", name + ".scn"))
        got = {r["name"]: r["triggers"] for r in records(trace) if r["kind"] == "schema"}
        assert got == expected, got


def test_our_own_triggers_are_not_told():
    _, trace = recorded(os.path.join(HERE, "live", "trigger-new-values.scn"), "--instrument=trigger")
    got = {r["name"]: [t[0] for t in r["triggers"]] for r in records(trace) if r["kind"] == "schema"}
    assert got == {"t": ["d", "u"], "gone": []}, got


def test_replace_counts_as_our_own_triggers_make_it():
    _, trace = recorded(os.path.join(HERE, "live", "replace-same.scn"), "--instrument=trigger")
    # What the server answered: a row that goes and comes counts twice.
    assert [r["affected"] for r in records(trace) if r["kind"] == "stmt"][:2] == [2, 5]
    status, found = check(trace)
    assert (status, found["verdict"]) == (0, "ok"), found


if __name__ == "__main__":
    tap.main(globals())
