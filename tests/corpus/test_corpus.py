#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The corpus without any server: expectations, stored recordings, comparisons of releases, diff,
digest, export.

    test_corpus.py ISOTRACE CORPUS
"""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
import junit  # noqa: E402
import tap  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
import tracefile  # noqa: E402
from truth import COLUMNS, LEVELS, TRUTH  # noqa: E402

ISOTRACE, CORPUS = sys.argv[1:3]
RECORDINGS = os.path.join(CORPUS, "recordings")
OLD, NEW = "mariadb-10.11.19", "mariadb-11.8.6+si"
FOLDER = tempfile.mkdtemp(prefix="corpus-test-")


def isotrace(*args, status=0):
    done = subprocess.run([ISOTRACE, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False, env={**os.environ, "COLUMNS": "120"})
    assert done.returncode == status, "%s: exit status %d instead of %d\n%s%s" % (
        args, done.returncode, status, done.stdout[:2000], done.stderr[:2000])
    return done


def scenarios():
    """{id: (path, text)}"""
    found = {}
    for path in glob.glob(os.path.join(CORPUS, "**", "*.scn"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found[re.search(r"^# id: (\S+)$", text, re.MULTILINE).group(1)] = (path, text)
    return found


def expected(text, label, level):
    """The word that the last fitting line says, by our own reading of the language."""
    word = None
    for release, levels, verdict in re.findall(r"^# expect: (\S+)(?: (\S+))? = (.*)$", text,
                                               re.MULTILINE):
        pattern = ".*".join(re.escape(part) for part in release.split("*"))
        if re.fullmatch(pattern, label) and (not levels or level in levels.split(",")):
            word = verdict
    return word


def copy(name):
    target = os.path.join(FOLDER, name)
    shutil.copytree(CORPUS, target)
    return target


def edit(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert old in text, (path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def release_folder(name, *labels):
    """The recordings that a release would give: its own, or those of a release that behaves alike
    (the corpus keeps one recording of each behaviour)."""
    target = os.path.join(FOLDER, name)
    os.mkdir(target)
    for folder in os.listdir(RECORDINGS):
        for level in LEVELS:
            for label in labels:
                path = os.path.join(RECORDINGS, folder, "%s-%s.itr" % (label, level))
                if os.path.exists(path):
                    shutil.copy(path, os.path.join(target, "%s-%s.itr" % (folder, level)))
                    break
    return target


def recording(scenario, label, level):
    return os.path.join(RECORDINGS, scenario, "%s-%s.itr" % (label, level))


# ---- expectations and recordings ----

def test_expectations_are_those_of_the_table():
    found = scenarios()
    for name, cells in TRUTH.items():
        text = found[name][1]
        for column in COLUMNS:
            for level in LEVELS:
                word = expected(text, column, level)
                cell = cells[column].split()
                shows = word.split()[0] in ("bug", "allowed", "documented")
                assert shows == (level in cell), (name, column, level, word, cell)
                if level == "RR" and "e1020" in cell:
                    assert word == "error 1020", (name, column, word)


def test_every_scenario_has_its_story_and_recordings():
    for name, (path, text) in scenarios().items():
        for key in ("title", "story", "shows", "expect"):
            assert re.search("^# %s: ." % key, text, re.MULTILINE), (path, key)
        if "/bugs/" in path:
            assert re.search("^# link: https://", text, re.MULTILINE), path
        levels = {re.search(r"-(RU|RC|RR|SER)\.itr$", file).group(1)
                  for file in os.listdir(os.path.join(RECORDINGS, name))}
        assert levels == set(LEVELS), (name, levels)
        shown = {expected(text, label, level).split()[0] in ("bug", "allowed", "documented")
                 for label in COLUMNS for level in LEVELS}
        if shown == {True, False}:  # then there is a recording of each
            kept = {expected(text, *file[:-4].rsplit("-", 1)).split()[0]
                    in ("bug", "allowed", "documented")
                    for file in os.listdir(os.path.join(RECORDINGS, name))}
            assert kept == {True, False}, (name, kept)


def test_recordings_are_small():
    for path in glob.glob(os.path.join(RECORDINGS, "*", "*.itr")):
        assert os.path.getsize(path) < 16384, path


def test_verify():
    done = isotrace("corpus", "verify", CORPUS)
    assert re.search(r"^(\d+) scenarios, (\d+) recordings: \2 as expected, 0 not$", done.stdout,
                     re.MULTILINE), done.stdout
    document = json.loads(isotrace("corpus", "verify", "-f", "json", CORPUS).stdout)
    assert document["schema"] == "isotrace.corpus-verify/1" and document["failed"] == 0
    assert all(x["ok"] for x in document["recordings"]) and len(document["recordings"]) > 200
    for x in document["recordings"]:  # each cell of the table that is stored
        if x["id"] in TRUTH and x["recording"]["release"] in COLUMNS:
            cell = TRUTH[x["id"]][x["recording"]["release"]].split()
            assert x["recording"]["shown"] == (x["level"] in cell), x
    [suite] = junit.suites(isotrace("corpus", "verify", "-f", "junit", CORPUS).stdout)
    assert suite.get("failures") == "0" and suite.get("tests") == str(len(document["recordings"]))
    isotrace("corpus", "verify", "-f", "html", CORPUS, status=2)


def test_verify_notices_a_wrong_expectation():
    corpus = copy("wrong")
    edit(os.path.join(corpus, "bugs", "mdev-34108.scn"), "*+si* RC = absent", "*+si* RC = bug")
    done = isotrace("corpus", "verify", corpus, status=1)
    assert "mariadb-11.8.6+si-RC.itr: expected bug, found absent" in done.stdout, done.stdout
    [suite] = junit.suites(isotrace("corpus", "verify", "-f", "junit", corpus, status=1).stdout)
    assert suite.find("testcase/failure").get("message").startswith("expected bug, found absent")
    edit(os.path.join(corpus, "bugs", "mdev-34108.scn"), "*+si* RC = bug", "*+si* RC = absent")
    isotrace("corpus", "verify", corpus)
    edit(os.path.join(corpus, "bugs", "mdev-33802.scn"), "= bug duplicate-row", "= bug")
    done = isotrace("corpus", "verify", corpus, status=1)
    assert "expected of the oracle mvcc no violation, found duplicate-row" in done.stdout
    edit(os.path.join(corpus, "bugs", "mdev-33802.scn"), "= bug\n", "= bug lost-version\n")
    isotrace("corpus", "verify", corpus, status=1)


def test_verify_notices_another_schedule_and_damage():
    corpus = copy("stale")
    edit(os.path.join(corpus, "anomalies", "g1a.scn"), "T1> rollback;", "T1> commit;")
    done = isotrace("corpus", "verify", corpus, status=1)
    assert "recorded from another version" in done.stdout, done.stdout
    path = os.path.join(corpus, "recordings", "g1b", OLD + "-RR.itr")
    with open(path, "r+b") as file:
        file.truncate(os.path.getsize(path) - 100)
    assert "the trace is incomplete" in isotrace("corpus", "verify", corpus, status=1).stdout


def test_verify_notices_a_wrong_name():
    corpus = copy("names")
    place = os.path.join(corpus, "recordings")
    right = os.path.join(place, "g1b", OLD + "-RR.itr")
    for wrong in ("g1b/%s-RC.2.itr" % OLD, "g1b/mariadb-10.11.18-RR.itr", "g1a/%s-RR.9.itr" % OLD):
        path = os.path.join(place, wrong)
        os.rename(right, path)
        done = isotrace("corpus", "verify", corpus, status=1)
        assert "/%s: the name is wrong: it is a recording of g1b on %s at REPEATABLE READ" % (
            wrong, OLD) in done.stdout and " 1 not" in done.stdout, done.stdout
        os.rename(path, right)
    for fine in ("g1b-RR.itr", "g1b-RR.trigger.itr", "g1b/%s-RR.2.itr" % OLD, "g1b/what-ever.itr"):
        os.rename(right, os.path.join(place, fine))
        isotrace("corpus", "verify", corpus)
        os.rename(os.path.join(place, fine), right)


def test_bad_scenarios():
    corpus = copy("bad")
    path = os.path.join(corpus, "anomalies", "g1a.scn")
    for bad, message in (("T2.2 returns (1,101)", "is, has, lacks"), ("T2 has (1)", "SESSION.NUMBER"),
                         ("T2.2 has (1", "',' or ')'"), ("final t holds (1)", "is, has or lacks"),
                         ("any ok", "error N"), ("T2.2 differs T2.1", "differs from")):
        edit(path, "# shows: T2.2 has (1,101)", "# shows: " + bad)
        done = isotrace("corpus", "verify", corpus, status=1)
        assert message in done.stdout, (bad, done.stdout, done.stderr)
        edit(path, "# shows: " + bad, "# shows: T2.2 has (1,101)")
    edit(path, "# id: g1a", "# id: g1b")
    assert "the same id" in isotrace("corpus", "verify", corpus, status=4).stderr
    edit(path, "# id: g1b", "# id:")
    assert "has no `# id:`" in isotrace("corpus", "verify", corpus, status=4).stderr
    isotrace("corpus", "verify", FOLDER + "/nothing", status=4)
    isotrace("corpus", CORPUS, status=2)


# ---- two releases ----

def difference_by_table(old, new):
    """(fixed, new) by the table alone."""
    fixed, fresh = set(), set()
    for name, cells in TRUTH.items():
        for level in LEVELS:
            before, after = level in cells[old].split(), level in cells[new].split()
            if before != after:
                (fixed if before else fresh).add((name, level))
    return fixed, fresh


def changes(document, kind):
    return {(x["id"], x["level"]) for x in document["scenarios"] if x["change"] == kind}


def test_compare_releases():
    old, new = release_folder("old", OLD), release_folder("new", NEW, OLD)
    document = json.loads(isotrace("corpus", old, new, "-f", "json").stdout)
    fixed, fresh = difference_by_table(OLD, NEW)
    assert changes(document, "fixed") & {(x, y) for x in TRUTH for y in LEVELS} == fixed
    assert not fresh and not changes(document, "new") and document["counts"]["not_run"] == 0
    # Beyond the table: the other forms of what it has.
    others = {x for x in changes(document, "fixed") if x[0] not in TRUTH}
    assert others == {(name, "RR") for name in (
        "MYSQL-114389", "MYSQL-105670", "MDEV-26671", "pmp-write", "troc-listing-2",
        "txcheck-figure-1")} | {("troc-figure-1", level) for level in ("RU", "RC")} | {
            ("MDEV-29399", level) for level in LEVELS}, others
    for x in document["scenarios"]:
        if x["change"] == "fixed" and x["id"] not in ("MYSQL-106655", "MDEV-29399"):
            assert x["difference"]["rule"] in ("first-updater-wins", "rc-semi-consistent"), x
    text = isotrace("corpus", old, new).stdout
    assert "0 new, %d fixed" % len(changes(document, "fixed")) in text, text
    # The other way round it is all new, and the exit status says so.
    document = json.loads(isotrace("corpus", new, old, "-f", "json", status=1).stdout)
    assert changes(document, "new") >= fixed


def test_compare_with_something_missing():
    old, new = release_folder("old2", OLD), release_folder("new2", OLD)
    isotrace("corpus", old, new)
    os.unlink(os.path.join(new, "g1a-RR.itr"))
    done = isotrace("corpus", old, new, status=3)
    assert "1 not run" in done.stdout, done.stdout
    shutil.copy(os.path.join(old, "g1a-RU.itr"), os.path.join(new, "again.itr"))
    assert "the same scenario and level" in isotrace("corpus", old, new, status=4).stderr


class Page(html.parser.HTMLParser):
    """Counts rows, and sees that what is opened is closed."""

    def __init__(self):
        super().__init__()
        self.stack, self.rows, self.links = [], 0, 0
        self.anchors, self.followed = set(), set()

    def handle_starttag(self, tag, attrs):
        where = dict(attrs)
        self.rows += where.get("class") == "id"  # a row's first cell
        self.links += tag == "a"
        if where.get("href", "").startswith("#"):
            self.followed.add(where["href"][1:])
        if "id" in where:
            assert where["id"] not in self.anchors, where
            self.anchors.add(where["id"])
        if tag not in ("meta", "br"):
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag


def test_compare_as_page_and_junit():
    old, new = release_folder("old3", OLD), release_folder("new3", NEW, OLD)
    page = Page()
    text = isotrace("corpus", old, new, "-f", "html").stdout
    page.feed(text)
    # Neither release is a cluster.
    count = sum("/cluster/" not in path for path, _ in scenarios().values())
    assert not page.stack and page.rows == 4 * count and page.links > 50
    assert page.followed == page.anchors and len(page.anchors) > 20, page.followed ^ page.anchors
    assert text.count("http-equiv") == 1 and "Content-Security-Policy" in text
    assert "<script" not in text and "src=" not in text
    [suite] = junit.suites(isotrace("corpus", new, old, "-f", "junit", status=1).stdout)
    failures = [case for case in suite if case.find("failure") is not None]
    assert len(failures) == int(suite.get("failures")) >= 13
    assert int(suite.get("tests")) == 4 * count
    assert " fixed: " in junit.suites(isotrace("corpus", old, new, "-f", "junit").stdout)[0].find(
        "system-out").text


def test_compare_says_what_is_incomplete():
    """Of what was cut off it is not known whether it is unchanged."""
    old, new = (os.path.join(FOLDER, name) for name in ("whole", "torn"))
    for folder, cut in ((old, 0), (new, 60)):
        os.mkdir(folder)
        with open(recording("MDEV-18044", OLD, "RC"), "rb") as file:
            data = file.read()
        with open(os.path.join(folder, "MDEV-18044-RC.itr"), "wb") as file:
            file.write(data[:len(data) - cut])
    assert " 1 unchanged, 0 not run" in isotrace("corpus", old, old).stdout
    done = isotrace("corpus", old, new, status=3)
    assert "recording incomplete" in done.stdout and " 0 unchanged, 1 not run" in done.stdout
    [suite] = junit.suites(isotrace("corpus", old, new, "-f", "junit", status=3).stdout)
    assert suite.find("testcase/skipped").get("message") == "recording incomplete"


def test_compare_escapes_what_the_server_calls_itself():
    folder = os.path.join(FOLDER, "hostile")
    os.mkdir(folder)
    text = "# id: x\n[setup]\ncreate table t(a int primary key);\n[schedule]\nT1> select * from t;\n"
    t = tracefile.Trace()
    t.add("note", 0, source="run", topic="scenario", text=text)
    t.add("server", 0, node="n1", version="10.11.6", flavour="<script>alert(1)</script>", variables={})
    t.write(os.path.join(folder, "x-RR.itr"))
    for form in ("html", "junit"):
        out = isotrace("corpus", folder, folder, "-f", form, status=3).stdout
        assert "<script" not in out and "&lt;script&gt;" in out, out


# ---- diff ----

def diff(a, b, *args, status=0):
    return json.loads(isotrace("diff", "-f", "json", *args, a, b, status=status).stdout)


def test_diff_of_two_releases():
    rc = diff(recording("MDEV-34108", OLD, "RC"), recording("MDEV-34108", NEW, "RC"))
    assert rc["schema"] == "isotrace.diff/1" and rc["verdict"] == "compat"
    assert rc["rule"] == "rc-semi-consistent" and rc["a"]["contract"] == "innodb"
    first = rc["discrepancies"][0]
    assert (first["class"], first["session"], first["statement"]) == ("result", "T2", 2)
    assert first["a"]["affected"] == 1 and first["b"]["affected"] == 2
    assert rc["discrepancies"][-1]["class"] == "final-state"
    rr = diff(recording("lost-update", OLD, "RR"), recording("lost-update", NEW, "RR"))
    assert rr["verdict"] == "compat" and rr["rule"] == "first-updater-wins"
    assert rr["discrepancies"][0]["b"]["error"] == 1020
    blocked = diff(recording("dt2-listing-5", OLD, "RC"), recording("dt2-listing-5", NEW, "RC"))
    assert blocked["discrepancies"][0]["class"] == "blocked" and blocked["cause"] == "lock mechanism"


def test_diff_at_two_levels():
    """What two levels promise is printed before anything else; equal answers are no secret either."""
    found = diff(recording("g1a", OLD, "RU"), recording("g1a", OLD, "RC"))
    assert (found["verdict"], found["cause"], found["rule"]) == ("compat", "isolation levels", None), found
    assert not found["same_levels"] and found["a"]["levels"] == "READ UNCOMMITTED"
    text = isotrace("diff", "-b", recording("g1a", OLD, "RU"), recording("g1a", OLD, "RC")).stdout
    assert "READ UNCOMMITTED, contract innodb kept" in text and "READ COMMITTED, contract innodb kept" in text
    assert "did not run at the same isolation levels" in text, text
    same = isotrace("diff", recording("lost-update", OLD, "RC"), recording("lost-update", OLD, "RR")).stdout
    assert "same: " in same and "did not run at the same isolation levels" in same, same
    assert diff(recording("lost-update", OLD, "RR"), recording("lost-update", NEW, "RR"))["same_levels"]


def stranger(name, isolation, error, level=3):
    """A run without initial rows, so that no oracle can tell whether its server kept its contract."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="11.8.6-MariaDB", flavour="mariadb",
          variables={"innodb_snapshot_isolation": isolation})
    for session, label in ((1, "T1"), (2, "T2")):
        t.add("session", 1, session=session, event=0, node="n1", client=label, user="u", database="d")
        t.stmt(session, 1, "begin", 10 * session, txn=session)
        t.add("txn", 10 * session + 1, session=session, txn=session, event=0, number=1,
              level=level if session == 2 else 3)
    t.stmt(1, 2, "update t set a = 1", 100, affected=1, txn=1)
    t.stmt(2, 2, "update t set a = 2", 300, txn=2, error=error, affected=0 if error else 1)
    for session in (1, 2):
        t.stmt(session, 3, "rollback", 500 + session, txn=session)
        t.add("txn", 510 + session, session=session, txn=session, event=1, number=3, outcome=2)
        t.add("session", 600 + session, session=session, event=1)
    path = os.path.join(FOLDER, name)
    t.write(path)
    return path


def test_diff_of_what_was_not_decided():
    """That the contracts name a difference is no proof that they were kept."""
    a, b = stranger("a.itr", "OFF", 0), stranger("b.itr", "ON", 1020)
    found = diff(a, b, status=3)
    assert (found["verdict"], found["rule"]) == ("undecided", "first-updater-wins"), found
    assert found["a"]["contract_verdict"] == found["b"]["contract_verdict"] == "undecided"
    assert found["a"]["contract_why"], found
    text = isotrace("diff", a, b, status=3).stdout
    assert "cause: rule first-updater-wins" in text and "cause: other" not in text, text
    assert "whether A kept its contract was not decided: " in text, text


def test_diff_says_all_levels():
    a = stranger("a.itr", "OFF", 0, level=2)
    assert diff(a, stranger("b.itr", "OFF", 0, level=2))["a"]["levels"] == "T1 RR, T2 RC"
    found = diff(a, stranger("b.itr", "OFF", 1213, level=4), status=3)
    assert found["cause"] == "isolation levels", found


def test_diff_names_the_side_that_broke_its_contract():
    a, b = (recording("MDEV-33802", x, "SER") for x in (OLD, "mariadb-10.5.23"))
    found = diff(a, b, status=1)
    assert found["verdict"] == "violation" and found["b"]["contract_verdict"] == "broken"
    assert found["a"]["contract_verdict"] != "broken"
    assert "B broke its contract: duplicate-row" in isotrace("diff", a, b, status=1).stdout
    isotrace("diff", "--fail-on=none", a, b)


def test_diff_of_equals_and_of_strangers():
    a = recording("g1a", OLD, "RR")
    assert diff(a, a)["verdict"] == "same" and "same: every answer" in isotrace("diff", a, a).stdout
    done = isotrace("diff", a, recording("g1c", OLD, "RR"), status=4)
    assert "not two executions of one schedule" in done.stderr, done.stderr
    isotrace("diff", a, status=2)
    b = recording("lost-update", OLD, "RR")
    isotrace("diff", b, recording("lost-update", NEW, "RR"), "--fail-on=difference", status=1)
    brief = isotrace("diff", "-b", b, recording("lost-update", NEW, "RR")).stdout
    assert "begin" not in brief and "≠ T2> update" in brief, brief


# ---- digest and export ----

def test_digest():
    a, b = recording("g1a", OLD, "RR"), recording("g1a", OLD, "RU")
    lines = isotrace("stats", "--digest", a, a, b).stdout.splitlines()
    assert len(lines) == 3 and all(re.match("[0-9a-f]{32}  /", line) for line in lines), lines
    digests = [line.split()[0] for line in lines]
    assert digests[0] == digests[1] != digests[2]
    isotrace("stats", "--digest", FOLDER + "/nothing.itr", status=4)


def statements(text, section):
    part = re.split(r"^\[%s\]$" % section, text, flags=re.MULTILINE)[1]
    part = re.split(r"^\[", part, flags=re.MULTILINE)[0]
    part = re.sub(r" *-- =>.*", "", part)
    return [" ".join(line.split()) for line in re.split(r";\s*(?:\n|$)", part) if line.strip()]


def test_export_gives_the_scenario_back():
    for name in ("g1a", "MDEV-27992", "MYSQL-94338", "xa", "savepoint"):
        text = scenarios()[name][1]
        told = isotrace("export", "--to=scenario", "--expect", recording(name, OLD, "RR")).stdout
        for section in ("setup", "schedule"):
            assert statements(told, section) == statements(text, section), (name, told)
        assert "# isolation: RR" in told
    told = isotrace("export", "--to=scenario", "--expect", recording("lost-update", OLD, "RR")).stdout
    assert "T2> update t set value=12 where id=1; -- => blocked, ok 1" in told, told
    assert "T1> select * from t where id=1; -- => (1,10)" in told, told


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
