#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The whole corpus live on one release: every cell of the table, twice or more the same execution,
in time.

    test_release.py ISOREC ISOTRACE ISOREC-SERVERS CORPUS RELEASE

ISOTRACE_REPEAT (2) is how often each scenario is run at each level for its digest; 20 is the
figure to show.
"""
import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
import tap  # noqa: E402
import variants  # noqa: E402
from live import Live  # noqa: E402
from truth import COLUMNS, LEVELS, TRUTH  # noqa: E402

LIVE = Live(*sys.argv[1:4])
CORPUS, RELEASE = sys.argv[4:6]
FOLDER = tempfile.mkdtemp(prefix="corpus-release-")
RECORDED = os.path.join(FOLDER, "recorded")
REPEAT = int(os.environ.get("ISOTRACE_REPEAT", "2"))


def test_all_is_as_expected():
    begin = time.monotonic()
    done = LIVE.isorec("corpus", "--server", RELEASE, "--corpus", CORPUS, "-o", RECORDED, status=None)
    if "skipped:" in done.stderr:
        raise tap.Skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    print("# " + done.stdout.splitlines()[-1])
    # Two minutes on two cores of its own; others may be busy here.
    assert time.monotonic() - begin < 600


def test_every_cell_of_the_table():
    if not os.path.isdir(RECORDED):
        raise tap.Skip("nothing was recorded")
    document = json.loads(LIVE.isotrace("corpus", "verify", "-f", "json", CORPUS, RECORDED).stdout)
    seen = {(x["id"], x["level"]): x["recording"] for x in document["recordings"]}
    label = next(iter(seen.values()))["release"]
    if label not in COLUMNS:  # another point release: the nearest column
        flavour = re.match(r"\w+-\d+\.\d+", label).group(0)
        label = next(x for x in COLUMNS
                     if x.startswith(flavour) and ("+si" in x) == ("+si" in label))
    for name, cells in TRUTH.items():
        for level in LEVELS:
            cell, found = cells[label].split(), seen[name, level]
            assert found["shown"] == (level in cell), (name, level, cell, found)
            if level == "RR" and "e1020" in cell:
                assert 1020 in found["errors"], (name, found)


def test_known_bugs_in_other_clothes():
    if not os.path.isdir(RECORDED):
        raise tap.Skip("nothing was recorded")
    wrong = variants.check(LIVE, os.path.join(FOLDER, "variants"), "--server", RELEASE)
    assert not wrong, wrong


def test_the_same_execution_each_time():
    paths = sorted(path for path in glob.glob(os.path.join(CORPUS, "*", "*.scn"))
                   if "/cluster/" not in path)
    done = LIVE.isorec("run", "--server", RELEASE, "-q", "--isolation", "RU,RC,RR,SER", "--repeat",
                       str(REPEAT), "-o", os.path.join(FOLDER, "repeated"), *paths, status=None)
    if "skipped:" in done.stderr:
        raise tap.Skip(done.stderr.strip())
    counts = re.findall(r"^# (\d+) runs, (\d+) of them another execution", done.stdout, re.MULTILINE)
    assert len(counts) == 4 * len(paths), done.stderr
    assert all(int(runs) == REPEAT for runs, _ in counts)
    different = sum(int(other) for _, other in counts)
    print("# %d runs, %d different" % (REPEAT * len(counts), different))
    assert not different and done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
