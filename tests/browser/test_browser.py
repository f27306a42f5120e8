#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of isotrace report in a real browser: it renders every class of finding, filters, obeys the
keyboard, fetches nothing, runs nothing that a trace holds, and its text can be read in both schemes.
Pictures of what was seen are kept in the build directory, browser/*.png."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from run import isotrace, scratch, write  # noqa: E402 (it needs the path, and reads the arguments)
import tap  # noqa: E402
import chrome as browser  # noqa: E402
import findings  # noqa: E402
import tracefile  # noqa: E402
from hostile import HOSTILE, hostile_result, hostile_trace  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[2])
PICTURES = os.path.abspath(sys.argv[3])
ISOREC = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
TOP = os.path.join(HERE, "..", "..")
os.makedirs(os.path.join(PICTURES, "classes"), exist_ok=True)
SHARED = {}


def chromium():
    if not browser.CHROMIUM:
        raise tap.Skip("chromium is not installed")
    if "chrome" not in SHARED:
        SHARED["chrome"] = browser.Chrome()
    return SHARED["chrome"]


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--quiet", "--sessions=4", "--transactions=60", "--keys=12", *args, "-o", path],
                   check=True)
    return path


def report(name, *args):
    out = scratch(name)
    run = isotrace("report", *args, "-o", out)
    assert run.status in (0, 1, 3), run.err
    return out


def data_of(page):
    return page.run("JSON.parse(document.getElementById('data').textContent)")


def clean(page):
    assert page.console == [], page.console[:3]
    assert page.fetched == [], page.fetched[:3]


def picture(page, name):
    page.screenshot(os.path.join(PICTURES, name + ".png"))


OPEN_ALL = """(() => {
  for (const d of document.querySelectorAll("details")) { if (d.fill) d.fill(); d.open = true; }
  return document.querySelectorAll("details.finding").length;
})()"""


def lost():
    if "lost" not in SHARED:
        path = simulate("lost.itr", "--seed=5", "--discipline=rr", "--plant=lost-update:3", "--plant=G2-item:2", "--plant=G2")
        SHARED["lost"] = report("lost.html", "--contract=adya", path)
    return SHARED["lost"]


def long_names(eventful=False):
    """A lost update on a row whose versions are named by UUID_SHORT(); eventful: in a cluster whose node
    left meanwhile, and with an error and a read that cannot be decided."""
    t = tracefile.Trace()
    big = 102169878756065280
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0],
          columns=[["id", "int(11)", False, None, None, None, None], ["v", "int(11)", True, None, None, None, None]],
          create_text="CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` int(11) DEFAULT NULL,\n  PRIMARY KEY (`id`)\n)"
                      " ENGINE=InnoDB")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, complete=True, rows=[[1, 10]], versions=[big])
    for session in (1, 2):
        t.add("session", 10, session=session, event=0, node="n1", database="d")
        t.stmt(session, 1, "begin", 20 * session, 20 * session + 5, txn=session)
        t.add("txn", session=session, txn=session, event=0, number=1, level=3)
        t.add("probe", session=session, number=2, txn=session, probe=6, table=1, exact=True, read_kind=1,
              rows=[[1, big, False, [1, 10]]])
        t.stmt(session, 2, "select * from t where id = 1", 100 * session, rows=[[1, 10]], txn=session)
    if eventful:
        t.add("cluster", 600, node="n2", what="state change", detail="Synced to Donor", begin=tracefile.MONO + 550000)
        t.add("note", 700, source="harness", topic="load", text="64 clients")
        t.add("note", 700, source="run", topic="sessions", text="all")
        t.stmt(1, 3, "select * from nowhere", 710, 720, txn=1, error=1146, sqlstate="42S02", error_text="no such table")
        t.stmt(2, 3, "select count(*) from t", 730, 740, txn=2, rows=[[1]])
    for session in (1, 2):
        us, n = 1000 * session, 4 if eventful else 3
        t.add("probe", us, session=session, number=n, txn=session, probe=7, table=1, exact=True, read_kind=2,
              rows=[[1, big + session, big + session - 1, [1, 10 + session], 2]])
        t.stmt(session, n, f"update t set v = {10 + session} where id = 1", us, us + 100, txn=session, affected=1)
        t.stmt(session, n + 1, "commit", us + 200, us + 300, txn=session)
        t.add("txn", session=session, txn=session, event=1, number=n + 1, level=3, outcome=1, reason="commit")
    path = scratch("names.itr")
    t.write(path)
    return path


# What each finding of a page must show, against the data that the page carries.
COMPARE = """(() => {
  const wrong = [];
  // Controls and marks of direction are written out on the page.
  const odd = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/g;
  const data = JSON.parse(document.getElementById("data").textContent, (k, v) => typeof v === "string" ? v.replace(odd, (c) => `\\\\u{${c.codePointAt(0).toString(16)}}`) : v);
  data.traces.forEach((trace, t) => {
    const article = document.getElementById("trace" + t);
    for (const f of trace.check.findings) {
      const node = [...article.querySelectorAll("details.finding")].find((n) => n.dataset.finding === f.id);
      const bad = (what) => wrong.push(`${f.class} ${f.id}: ${what}`);
      if (!node) { bad("not listed"); continue; }
      const body = node.querySelector(".body");
      if (!node.querySelector("summary").textContent.includes(f.class)) bad("class");
      const meaning = (trace.meanings || {})[f.class];
      if (!f.explanation || !meaning || !body.textContent.includes(meaning)) bad("meaning");
      if (node.querySelectorAll(".arrow").length !== f.edges.length) bad("arrows");
      if (node.querySelectorAll(".arrow.guilty").length !== (f.edges.length ? 1 : 0)) bad("guilty arrow");
      f.edges.forEach((e, i) => {
        const text = node.querySelectorAll(".arrow")[i].querySelector("text").textContent;
        if (!text.startsWith(e.kind)) bad("label " + text);
        if (e.explanation && !body.textContent.includes(e.explanation)) bad("sentence");
      });
      if (!f.edges.length && !body.textContent.includes(f.explanation)) bad("explanation");
      // Those that the finding is of, and those that only have a statement in its witness.
      const names = [...new Set([...f.transactions, ...(f.witness.statements || []).map((s) => s.transaction)])];
      const stmts = names.flatMap((n) => ((trace.transactions || {})[n] || { statements: [] }).statements);
      if (node.querySelectorAll("table.statements tbody tr").length !== stmts.length) bad("statements");
      if (stmts.length && node.querySelectorAll("figure.time .bar").length !== stmts.length) bad("bars");
      const lanes = new Set(names.map((n) => (trace.transactions || {})[n]).filter(Boolean).map((x) => x.session));
      if (stmts.length && node.querySelectorAll("figure.time .lane").length !== lanes.size) bad("lanes");
      const waits = stmts.filter((s) => s.blocked && s.end > s.begin).length;
      if (node.querySelectorAll(".wait").length !== waits) bad("waits");
      if (node.querySelectorAll("figure.time .snapshot").length !== stmts.filter((s) => s.snapshot).length) bad("snapshots");
      if (stmts.length && node.querySelectorAll("figure.time .end").length !== names.filter((n) => (trace.transactions || {})[n]).length) bad("ends");
      for (const r of f.witness.rows) if (!body.textContent.includes(r.chain)) bad("versions");
      const answer = f.witness.answer;
      if (answer && node.querySelectorAll(".answer .wrong").length !== answer.got.filter((r) => r.odd).length) bad("wrong rows");
      if (answer && node.querySelectorAll(".answer .missing").length !== answer.expected.filter((r) => r.odd).length) bad("missing rows");
      const bug = node.querySelector("textarea").value;
      if (!bug.includes(f.explanation) || !bug.includes(f.id)) bad("bug report");
      for (const s of stmts) if (s.sql && !bug.includes(s.sql.trim().replace(/;$/, ""))) bad("bug report without " + s.sql);
    }
  });
  return wrong;
})()"""


def show_all(name, html):
    """Opens every finding of a page and compares; returns {(oracle, class)} of each trace."""
    page = chromium().open(html)
    # The whole list is made as one scrolls to its end.
    page.run("""(async () => {
      const wanted = JSON.parse(document.getElementById("data").textContent).traces.reduce((n, t) => n + t.check.findings.length, 0);
      for (let i = 0; i < 200 && document.querySelectorAll("details.finding").length < wanted; i++) {
        for (const end of document.querySelectorAll(".end")) end.scrollIntoView();
        await new Promise((done) => setTimeout(done, 20));
      }
    })()""")
    page.run(OPEN_ALL)
    wrong = page.run(COMPARE)
    assert wrong == [], wrong[:10]
    contrast(page, name)
    clean(page)
    picture(page, name)
    traces = data_of(page)["traces"]
    found = [{(f["oracle"], f["class"]) for f in t["check"]["findings"]} for t in traces]
    for f in (f for t in traces for f in t["check"]["findings"]):
        # One picture of each class, in both schemes.
        if (f["oracle"], f["class"]) in SHARED.setdefault("pictured", set()):
            continue
        SHARED["pictured"].add((f["oracle"], f["class"]))
        for dark in (False, True):
            page.scheme(dark)
            page.screenshot(os.path.join(PICTURES, "classes", f"{f['oracle']}-{f['class']}-{'dark' if dark else 'light'}.png"), "#f-" + f["id"])
    page.close()
    SHARED.setdefault("shown", set()).update(c for classes in found for _, c in classes)
    return found


def contrast(page, what):
    """By WCAG AA, of every text of a page with everything open, in both schemes."""
    if "contrast" not in SHARED:
        with open(os.path.join(HERE, "contrast.js"), encoding="utf-8") as file:
            SHARED["contrast"] = file.read()
    for dark in (False, True):
        page.scheme(dark)
        result = page.run(SHARED["contrast"])
        assert result["texts"] > 50 and result["short"] == [], (what, dark, result["short"][:8])
    page.scheme(False)


def test_every_class_of_adya():
    chromium()
    plants = subprocess.run([ISOSIM, "--list-plants"], check=True, capture_output=True, text=True).stdout.split()
    # What is planted under another name than its class has; a lost update is a circle of this kind.
    names = {"lost-update": "G-single", "own-write-undone": "own-write", "lost-version-chain": "lost-version",
             "lost-version-final": "lost-version"}
    paths = [simulate(f"{p}.itr", "--seed=3", f"--plant={p}") for p in plants]
    # A page for each few, so that all that is open can be looked at.
    for first in range(0, len(plants), 8):
        traces = show_all(f"adya-{first}", report("adya.html", "--contract=adya", "--examples=2", *paths[first:first + 8]))
        for plant, found in zip(plants[first:first + 8], traces):
            assert ("adya", names.get(plant, plant)) in found, (plant, found)


def test_every_class_of_mvcc():
    chromium()
    recorded = sorted(glob.glob(os.path.join(TOP, "corpus", "recordings", "*", "*.itr"))
                      + glob.glob(os.path.join(TOP, "tests", "mvcc", "recorded", "known", "*.itr")))
    assert recorded
    # One run a class is enough: those whose findings differ.
    chosen, seen = [], set()
    for path in recorded:
        data = isotrace("check", "--oracle=mvcc", "--contract=adya", "--format=json", path).json()
        classes = {f["class"] for f in data["findings"]}
        if not classes <= seen:
            seen |= classes
            chosen.append(path)
    found = set().union(*show_all("mvcc", report("mvcc.html", "--oracle=mvcc", "--contract=adya", *chosen,
                                                 hostile_result(scratch("wrong-result.itr")))))
    # ... and those that no recording has.
    paths = [findings.schedule(scratch(f"{name}.itr"), **steps) for name, steps in findings.SCHEDULES.items()]
    traces = show_all("mvcc-planted", report("mvcc-planted.html", "--oracle=mvcc", "--contract=adya", *paths))
    for name, classes in zip(findings.SCHEDULES, traces):
        assert ("mvcc", name) in classes, (name, classes)
    found |= set().union(*traces)
    assert {c for _, c in found} == {
        "wrong-result", "wrong-sql", "own-write", "unstable-snapshot", "dirty-read", "duplicate-row", "wrong-error", "missing-lock",
        "G-single", "lost-version", "no-autocommit", "needless-block", "needless-deadlock", "current-write",
        "own-write-shows", "noop-update", "deleted-row-stays", "split-statement", "split-statement-gap"}, found


def test_every_class_of_values():
    chromium()
    tools = {"{": "elle", "[": "chronos"}
    for tool in ("elle", "plume", "chronos"):
        histories = {n: text for n, text in findings.HISTORIES.items() if tools.get(text[0], "plume") == tool}
        paths = [write(f"{name}.txt", text) for name, text in histories.items()]
        traces = show_all(f"values-{tool}", report("values.html", f"--from={tool}", *paths))
        for name, classes in zip(histories, traces):
            assert ("values", name) in classes, (name, classes)


def test_every_class_of_applications():
    chromium()
    paths = [os.path.join(TOP, "tests", "application", "recorded", f"{name}.trigger.itr")
             for name in ("lost-update", "write-skew", "read-skew")]
    traces = show_all("application", report("application.html", "--for=application", *paths))
    assert {c for found in traces for _, c in found} >= {"lost-update", "write-skew", "read-skew"}, traces


def test_no_class_of_the_table_is_left_out():
    chromium()
    if "shown" not in SHARED:
        raise tap.Skip("the pages of the oracles were not made")
    with open(os.path.join(TOP, "oracles", "common", "finding_class.h"), encoding="utf-8") as file:
        names = dict(re.findall(r'X\((CLASS_\w+), "([^"]+)"\)', file.read()))
    with open(os.path.join(TOP, "analyzer", "report", "class_sentences.c"), encoding="utf-8") as file:
        table = {names[c] for c in re.findall(r"^\t\[(CLASS_\w+)\] = ", file.read(), re.MULTILINE)}
    # Those of clusters have one form, of which the life of a cluster has a finding.
    table -= {"lost-commit", "resurrected", "duplicate-apply", "divergent", "broken-constraint", "crash", "hang", "no-recovery"}
    assert len(table) > 30 and table <= SHARED["shown"], table - SHARED["shown"]


def test_differences():
    chromium()
    # Two releases that answer the same schedule differently.
    a, b = (os.path.join(TOP, "corpus", "recordings", "MDEV-32898", f"{r}-RR.itr")
            for r in ("mariadb-10.11.19", "mariadb-11.8.6+si"))
    if not (os.path.exists(a) and os.path.exists(b)):
        raise tap.Skip("the corpus has no such recordings")
    out = scratch("diff.html")
    run = isotrace("diff", "-f", "html", a, b)
    with open(out, "w", encoding="utf-8") as file:
        file.write(run.out)
    page = chromium().open(out)
    [diff] = data_of(page)["differences"]
    rows = page.run("[...document.querySelectorAll('table.statements tbody tr')].map((r) => r.className)")
    assert [bool(r) for r in rows] == [s["differs"] for s in diff["schedule"]] and any(rows)
    # Tables at the end, too.
    assert sum(map(bool, rows)) == len(diff["discrepancies"]), diff
    contrast(page, "differences")
    clean(page)
    picture(page, "differences")
    page.close()


def test_hostile_data_does_nothing():
    chromium()
    trace, result = scratch("hostile.itr"), scratch("hostile result.itr")
    out = report("hostile.html", "--contract=adya", hostile_trace(trace), hostile_result(result))
    page = chromium().open(out)
    page.run(OPEN_ALL)
    assert page.run("document.title").startswith("isotrace report")
    assert page.run("document.images.length") == 0
    assert page.run("document.scripts.length") == 2
    assert page.run("[...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => a.name.startsWith('on'))).length") == 0
    assert page.run("[...document.querySelectorAll('a')].every((a) => a.protocol === 'https:' || a.hash)")
    shown = page.run("document.body.innerText")
    assert shown.count("<img src=x onerror=") > 10, "the text is there, as text"
    assert page.run(COMPARE) == []
    assert "\u202e" not in shown and "\\u{202e}" in shown, "nothing turns the writing around"
    contrast(page, "hostile")
    clean(page)
    # The policy stands even against what the page's own script might do.
    blocked = page.run("""(async () => {
      const tried = [];
      addEventListener("securitypolicyviolation", (e) => tried.push(e.effectiveDirective));
      const script = document.createElement("script");
      script.textContent = "document.title = 'run'";
      document.body.append(script);
      document.body.append(Object.assign(document.createElement("img"), { src: "https://example.org/x.png" }));
      await fetch("https://example.org/").catch(() => 0);
      const box = document.createElement("div");
      box.innerHTML = "<b onclick=\\"document.title='run'\\">x</b>";
      document.body.append(box);
      box.firstChild.click();
      await new Promise((done) => setTimeout(done, 50));
      return tried;
    })()""")
    assert page.run("document.title") != "run"
    assert {"script-src-elem", "img-src", "connect-src", "script-src-attr"} <= set(blocked), blocked
    picture(page, "hostile")
    page.close()


def test_filters_and_search():
    page = chromium().open(lost())
    findings = data_of(page)["traces"][0]["check"]["findings"]
    listed = "[...document.querySelectorAll('details.finding')].map((d) => d.id.slice(2))"
    ids = [f["id"] for f in findings]
    assert page.run(listed) == ids

    def choose(label, value):
        page.run(f"""(() => {{ const s = document.querySelector('select[aria-label="{label}"]'); s.value = {json.dumps(value)};
                     s.dispatchEvent(new Event("input")); }})()""")

    for name in sorted({f["class"] for f in findings}):
        choose("Class", name)
        assert page.run(listed) == [f["id"] for f in findings if f["class"] == name]
    choose("Class", "")
    for severity in sorted({f["severity"] for f in findings}):
        choose("Severity", severity)
        assert page.run(listed) == [f["id"] for f in findings if f["severity"] == severity]
    choose("Severity", "")

    def search(text):
        page.run(f"""(() => {{ const s = document.querySelector("input.search"); s.value = {json.dumps(text)};
                     s.dispatchEvent(new Event("input")); }})()""")

    search(ids[-1])
    assert page.run(listed) == [ids[-1]]
    assert page.run("document.querySelector('.findings [role=status]').textContent").startswith("1 finding of")
    search("no such thing")
    assert page.run(listed) == []
    search("")
    # A group's button shows that group, and all again.
    groups = page.run("[...document.querySelectorAll('button.group b')].map((b) => b.textContent)")
    assert sorted(set(groups)) == sorted({f["class"] for f in findings})
    page.run("document.querySelector('button.group').click()")
    assert page.run("document.querySelector('button.group').getAttribute('aria-pressed')") == "true"
    shown = page.run(listed)
    assert {f["class"] for f in findings if f["id"] in shown} == {groups[0]} and shown
    page.run("document.querySelector('button.group').click()")
    assert page.run(listed) == ids
    clean(page)
    page.close()


def test_keyboard():
    page = chromium().open(lost())
    # / goes to the search box, Escape leaves it, j and k walk, Enter opens.
    page.key("/")
    assert page.run("document.activeElement.className") == "search"
    page.key("Escape")
    page.key("j")
    first = page.run("document.activeElement.parentNode.id")
    page.key("j")
    second = page.run("document.activeElement.parentNode.id")
    assert first.startswith("f-") and second.startswith("f-") and first != second
    assert page.run(f"document.getElementById('{second}').open") is False
    page.key("Enter")
    assert page.run(f"document.getElementById('{second}').open") is True
    page.key("k")
    assert page.run("document.activeElement.parentNode.id") == first
    # Tab reaches every arrow and bar of what is open, and focus tells the row and both versions.
    reached = set()
    for _ in range(120):
        page.key("Tab")
        reached.add(page.run("document.activeElement.getAttribute('class') || ''").split(" ")[0])
        if {"arrow", "bar"} <= reached:
            break
    assert {"arrow", "bar"} <= reached, reached
    edge = data_of(page)["traces"][0]["check"]["findings"][0]["edges"][0]
    tip = page.run("(() => { const a = document.querySelector('.arrow'); a.focus(); return a.closest('figure').querySelector('.tip').textContent; })()")
    for part in (edge["object"], edge.get("from_label", edge["from_version"]), edge.get("to_label", edge["to_version"]), edge["explanation"]):
        assert part in tip, (part, tip)
    # ... and so does the mouse.
    page.run("document.activeElement.blur(), document.querySelector('.tip').textContent = ''")
    x, y = page.run("(() => { const a = document.querySelector('.arrow .pill'); a.scrollIntoView({block: 'center'}); const b = a.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    page.move(x, y)
    assert edge["explanation"] in page.run("document.querySelector('.tip').textContent")
    clean(page)
    page.close()


def test_versions_have_the_names_of_the_sentences():
    """Row versions of real recordings have names of 18 digits: the page tells them as the sentences do, v4."""
    trace = long_names()
    page = chromium().open(report("names.html", "--contract=adya", trace))
    page.run(OPEN_ALL)
    rows = [r for f in data_of(page)["traces"][0]["check"]["findings"] for r in f["witness"]["rows"]]
    assert rows and all(re.search(r"\d{18}", r["versions"]) and not re.search(r"\d{18}", r["chain"]) for r in rows)
    shown = page.run("document.body.textContent.replace(document.getElementById('data').textContent, '')"
                     " + [...document.querySelectorAll('textarea')].map((t) => t.value).join(' ')"
                     " + [...document.querySelectorAll('[aria-label]')].map((t) => t.getAttribute('aria-label')).join(' ')")
    assert "v2" in shown and not re.search(r"\d{18}", shown), re.search(r".{60}\d{18}", shown)
    page.close()
    [finding] = {f["id"] for f in isotrace("check", "--contract=adya", "-f", "json", trace).json()["findings"]}
    for run in (isotrace("check", "--contract=adya", trace), isotrace("explain", "--contract=adya", trace, finding)):
        assert "v2" in run.out and not re.search(r"\d{18}", run.out), run.out


def test_verdict_coverage_and_overview():
    """What is around the findings: the verdict first, then what was promised, in the end how much was
    checked and how the whole recording went; and cluster events across all lanes."""
    page = chromium().open(report("eventful.html", "--contract=adya", long_names(True)))
    page.run(OPEN_ALL)
    [trace] = data_of(page)["traces"]
    check = trace["check"]
    order = page.run("[...document.querySelectorAll('header.verdict, table.promises, .levels, article section')]"
                     ".map((e) => e.id || e.classList[0])")
    assert order == ["verdict", "promises", "levels", "findings0", "coverage0", "recording0"], order
    assert page.run("document.querySelector('header.verdict .badge').textContent").endswith(check["verdict"])
    rows = page.run("[...document.querySelectorAll('table.promises tbody tr')].map((r) => r.textContent)")
    assert len(rows) == len(check["promises"]) > 0
    for row, promise in zip(rows, check["promises"]):
        for part in (promise["level"], promise["answer"], *promise["forbids"]):
            assert part in row, (part, row)
    groups = page.run("[...document.querySelectorAll('button.group')].map((b) => [b.querySelector('b').textContent, b.querySelector('.n').textContent])")
    for name, n in groups:
        assert int(n) == sum(1 + f["similar"] for f in check["findings"] if f["class"] == name)
    coverage = page.run("document.getElementById('coverage0').textContent")
    for name in ("decided", "undecided", "unsupported"):
        assert f"{name} {check['coverage'][name]} " in coverage, (name, coverage)
    charts = page.run("[...document.querySelectorAll('#recording0 .chart')].map((c) => [c.querySelector('b').textContent, c.querySelector('path').getAttribute('d')])")
    assert [name for name, _ in charts] == ["Statements", "Latency, mean", "Latency, slowest", "Errors"]
    assert all("NaN" not in d and d.count("L") > 10 for _, d in charts)
    assert [e["text"] for e in trace["events"]] == ["cluster n2: state change: Synced to Donor (took 50.0 us)", "note by harness, load: 64 clients"]
    across = page.run("""[...document.querySelectorAll('details.finding figure.time')].map((figure) => {
        const lanes = [...figure.querySelectorAll('.lane')].map((l) => l.getBoundingClientRect());
        return [...figure.querySelectorAll('.event')].map((e) => {
          const line = e.querySelector('line').getBoundingClientRect();
          e.focus({ preventScroll: true });
          return [line.top <= lanes[0].top && line.bottom >= lanes[lanes.length - 1].bottom, figure.querySelector('.tip').textContent];
        });
      })""")
    assert across and all(len(events) == 2 and all(whole for whole, _ in events) for events in across), across
    assert "Synced to Donor" in across[0][0][1]
    clean(page)
    picture(page, "eventful")
    page.close()


def test_the_life_of_a_cluster_is_drawn():
    """Lanes of nodes: what the data say is where they say, and the finding's moment is marked."""
    path = scratch("life.itr")
    tracefile.cluster_life().write(path)
    page = chromium().open(report("life.html", "--oracle=sync", path), width=1200)
    page.run(OPEN_ALL)
    [trace] = data_of(page)["traces"]
    cluster = trace["cluster"]
    assert cluster["nodes"] == ["n1", "n2"]
    parts = [(p.get("node"), p["kind"], p["text"], (p["begin"] - cluster["begin"]) // 1000000, (p["end"] - p["begin"]) // 1000000)
             for p in cluster["parts"]]
    for part in ((1, "state", "ended", 4499, 2500), (1, "state", "Joiner", 6999, 2000), (1, "operation", "kill n2", 3999, 1000),
                 (0, "link", "to n2: cut", 5999, 2000), (1, "exit", "ended by signal 9, as asked by kill", 4499, 0)):
        assert part in parts, (part, parts)
    [finding] = trace["check"]["findings"]
    assert finding["class"] == "divergent" and finding["cluster"]["nodes"], finding
    drawn = page.run("""[...document.querySelectorAll('figure.lanes')].map((figure) => ({
      lanes: [...figure.querySelectorAll('text.name')].map((t) => t.textContent),
      labels: [...figure.querySelectorAll('g[tabindex]')].map((g) => { g.focus({ preventScroll: true }); return figure.querySelector('.tip').textContent; }),
      moment: [...figure.querySelectorAll('.moment rect')].map((r) => [+r.getAttribute('x'), +r.getAttribute('width')]),
      ended: [...figure.querySelectorAll('.state.ended rect')].map((r) => [+r.getAttribute('x'), +r.getAttribute('width')]),
    }))""")
    assert len(drawn) == 2, drawn  # of the recording, and of the finding
    for figure in drawn:
        assert {"n1", "n2"} <= set(figure["lanes"]) and len(figure["moment"]) == 1, figure
        assert any(label.startswith("Found: divergent") for label in figure["labels"]), figure["labels"]
    whole = drawn[0]
    assert any("n2, operation: kill n2 at +4.00 s, 1.00 s" in label for label in whole["labels"]), whole["labels"]
    # Left to right 966 points are the whole time.
    [[x, width]] = whole["ended"]
    scale = 966 / (cluster["end"] - cluster["begin"])
    assert abs(x - 64 - 4.499e9 * scale) < 1.5 and abs(width - 2.5e9 * scale) < 1.5, (x, width)
    left, wide = whole["moment"][0]
    assert left + wide >= 64 + (finding["cluster"]["to_ns"] - cluster["begin"]) * scale - 1.5, whole["moment"]
    clean(page)
    picture(page, "cluster")
    page.close()


def test_what_was_not_decided_is_listed():
    page = chromium().open(report("open.html", "--contract=adya", simulate("open.itr", "--seed=2", "--unknown=0.2",
                                                                           "--delete=0.2", "--insert=0.2")))
    [trace] = data_of(page)["traces"]
    reasons = trace["check"]["coverage"]["reasons"]
    coverage = page.run("document.getElementById('coverage0').textContent")
    assert reasons and all(reason in coverage for reason in reasons), (reasons, coverage)
    page.close()


def test_a_link_opens_its_finding():
    page = chromium().open(lost())
    last = data_of(page)["traces"][0]["check"]["findings"][-1]["id"]
    is_open = f"document.getElementById('f-{last}').open"
    assert page.run(is_open) is False
    # By a click on a link ...
    page.run(f"new Promise((done) => {{ addEventListener('hashchange', done); location.hash = 'f-{last}'; }})")
    assert page.run(is_open) is True
    # ... and when the page is opened with it.
    page.call("Page.navigate", url="about:blank")
    page.load("#f-" + last)
    assert page.run(is_open) is True
    # ... also where a filter hides it.
    page.run("(() => { const s = document.querySelector('input.search'); s.value = 'no such thing'; s.dispatchEvent(new Event('input')); })()")
    page.run("new Promise((done) => { addEventListener('hashchange', done); location.hash = ''; })")
    page.run(f"new Promise((done) => {{ addEventListener('hashchange', done); location.hash = 'f-{last}'; }})")
    assert page.run(is_open) is True
    page.call("Page.navigate", url="about:blank")
    page.load("#%")
    clean(page)
    page.close()


def test_one_history_twice():
    path = simulate("twice.itr", "--seed=3", "--plant=G-single")
    page = chromium().open(report("twice.html", "--contract=adya", path, path))
    ids = page.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)), "ids are unique"
    assert page.run("document.querySelectorAll('details.finding').length") >= 2
    clean(page)
    page.close()


def test_the_bug_report_is_copied():
    page = chromium().open(lost())
    chromium().call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.run("document.querySelector('button.copy').click()")
    assert page.run("""(async () => { const b = document.querySelector('button.copy');
        for (let i = 0; i < 100 && b.textContent !== 'Copied'; i++) await new Promise((d) => setTimeout(d, 20));
        return b.textContent; })()""") == "Copied"
    clean(page)
    page.close()


def test_the_bug_report_reproduces_its_finding():
    """The scenario of the text that is copied, fed to a real server as it stands."""
    chromium()
    if not ISOREC or not shutil.which("mariadbd", path=os.environ["PATH"] + ":/usr/sbin"):
        raise tap.Skip("no recorder, or no MariaDB server")
    noop = os.path.join(TOP, "corpus", "recordings", "MDEV-26642", "mariadb-10.11.19-RR.itr")
    for name, trace, judge, run in (("mvcc", noop, ["--oracle=mvcc"], []),
                                    ("adya", long_names(), ["--oracle=adya"], ["--instrument=trigger"])):
        page = chromium().open(report("bug.html", "--contract=adya", *judge, trace))
        page.run(OPEN_ALL)
        text = page.run("document.querySelector('textarea').value")
        wanted = data_of(page)["traces"][0]["check"]["findings"][0]["class"]
        page.close()
        scenario = write(f"{name}.scn", text[text.index("# id: "):text.index("Found by isotrace")])
        again = scratch(f"{name}-again.itr")
        done = subprocess.run([ISOREC, "run", "--server=mariadb-local", *run, "-o", again, scenario],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = isotrace("check", "--contract=adya", *judge, "-f", "json", again).json()["findings"]
        assert wanted in {f["class"] for f in found}, (wanted, found)


def test_contrast_on_a_phone():
    """What is wide is in show_all."""
    wrong = report("wrong.html", hostile_result(scratch("wrong.itr")))
    for name, html in (("lost", lost()), ("wrong", wrong)):
        for width in (1200, 390):
            page = chromium().open(html, width=width)
            page.run("document.querySelector('.group') && document.querySelector('.group').click()")
            page.run(OPEN_ALL)
            contrast(page, name)
            for dark in (False, True):
                page.scheme(dark)
                picture(page, f"{name}-{'dark' if dark else 'light'}-{width}")
            page.close()


def test_fits_a_phone():
    """Nothing makes the page scroll sideways; wide drawings scroll in their own boxes."""
    for width in (320, 390, 768):
        page = chromium().open(lost(), width=width)
        page.run(OPEN_ALL)
        assert page.run("document.documentElement.scrollWidth") <= width, width
        page.close()


def test_print():
    page = chromium().open(lost())
    path = os.path.join(PICTURES, "lost.pdf")
    page.pdf(path)
    with open(path, "rb") as file:
        assert file.read(5) == b"%PDF-"
    assert os.path.getsize(path) > 20000
    clean(page)
    page.close()


def test_names_for_screen_readers():
    page = chromium().open(lost())
    page.run(OPEN_ALL)
    assert page.run("document.documentElement.lang") == "en"
    nameless = page.run("""[...document.querySelectorAll("button, input, select, textarea, [role=img], [role=region], summary, a")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim())).length""")
    assert nameless == 0
    levels = page.run("[...document.querySelectorAll('h1, h2, h3, h4, h5')].map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels
    ids = page.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)), "ids are unique"
    page.close()


def test_large_traces_open_fast():
    """100,000 transactions and 1,000 findings."""
    chromium()
    path = scratch("large.itr")
    subprocess.run([ISOSIM, "--quiet", "--transactions=100000", "--sessions=32", "--keys=20000", "--seed=7",
                    "--plant=G-single:500", "--plant=G1a:300", "--plant=lost-update:300", "-o", path], check=True)
    out = report("large.html", "--contract=adya", path)
    page = chromium().open(lost())  # the browser is warm
    page.url = "file://" + out
    began = time.monotonic()
    page.load()
    data = page.run("({findings: JSON.parse(document.getElementById('data').textContent).traces[0].check.findings.length, "
                    "txns: JSON.parse(document.getElementById('data').textContent).traces[0].check.input.transactions})")
    seconds = time.monotonic() - began
    assert data["txns"] >= 100000 and data["findings"] >= 1000, data
    # How long one scrolls while the list grows, frame by frame.
    frames = page.run("""(async () => {
      const times = [];
      let last = performance.now();
      for (let i = 0; i < 120; i++) {
        scrollBy(0, 600);
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      times.sort((a, b) => a - b);
      return [times[60], times[114], times[119], document.querySelectorAll("details.finding").length];
    })()""")
    print(f"# {os.path.getsize(out) / 1e6:.1f} MB, {data['txns']} transactions, {data['findings']} findings: open in "
          f"{seconds:.2f} s; frames: median {frames[0]:.0f} ms, 95 % {frames[1]:.0f} ms, longest {frames[2]:.0f} ms", flush=True)
    clean(page)
    assert frames[3] > 500, "the list grows as one scrolls"
    picture(page, "large")
    # The budget of two seconds is for a quiet machine; here only what would be another kind of slow.
    assert seconds < 10, seconds
    page.close()


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        if "chrome" in SHARED:
            SHARED["chrome"].__exit__()
