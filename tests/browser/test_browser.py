#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of isotrace report in a real browser: it renders every class of finding, filters, obeys the
keyboard, fetches nothing, runs nothing that a trace holds, and its text can be read in both schemes.
Pictures of what was seen are kept in the build directory, browser/*.png."""
import glob
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
from run import isotrace, scratch  # noqa: E402 (it needs the path, and reads the arguments)
import tap  # noqa: E402
import chrome as browser  # noqa: E402
from hostile import HOSTILE, hostile_result, hostile_trace  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[2])
PICTURES = os.path.abspath(sys.argv[3])
TOP = os.path.join(HERE, "..", "..")
os.makedirs(PICTURES, exist_ok=True)
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


def write(name, text):
    path = scratch(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
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


# What each finding of a page must show, against the data that the page carries.
COMPARE = """(() => {
  const wrong = [];
  // Controls and marks of direction are written out on the page.
  const odd = /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]/g;
  const data = JSON.parse(document.getElementById("data").textContent, (k, v) => typeof v === "string" ? v.replace(odd, (c) => `\\\\u{${c.codePointAt(0).toString(16)}}`) : v);
  data.traces.forEach((trace, t) => {
    const article = document.getElementById("trace" + t);
    for (const f of trace.check.findings) {
      const node = [...article.querySelectorAll("details.finding")].find((n) => n.id === "f-" + f.id);
      const bad = (what) => wrong.push(`${f.class} ${f.id}: ${what}`);
      if (!node) { bad("not listed"); continue; }
      const body = node.querySelector(".body");
      if (!node.querySelector("summary").textContent.includes(f.class)) bad("class");
      if (node.querySelectorAll(".arrow").length !== f.edges.length) bad("arrows");
      if (node.querySelectorAll(".arrow.guilty").length !== (f.edges.length ? 1 : 0)) bad("guilty arrow");
      f.edges.forEach((e, i) => {
        const text = node.querySelectorAll(".arrow")[i].querySelector("text").textContent;
        if (!text.startsWith(e.kind)) bad("label " + text);
        if (e.explanation && !body.textContent.includes(e.explanation)) bad("sentence");
      });
      if (!f.edges.length && !body.textContent.includes(f.explanation)) bad("explanation");
      const stmts = f.transactions.flatMap((n) => ((trace.transactions || {})[n] || { statements: [] }).statements);
      if (node.querySelectorAll("table.statements tbody tr").length !== stmts.length) bad("statements");
      if (stmts.length && node.querySelectorAll("figure.time .bar").length !== stmts.length) bad("bars");
      const lanes = new Set(f.transactions.map((n) => (trace.transactions || {})[n]).filter(Boolean).map((x) => x.session));
      if (stmts.length && node.querySelectorAll("figure.time .lane").length !== lanes.size) bad("lanes");
      const waits = stmts.filter((s) => s.blocked && s.end > s.begin).length;
      if (node.querySelectorAll(".wait").length !== waits) bad("waits");
      if (node.querySelectorAll("figure.time .snapshot").length !== stmts.filter((s) => s.snapshot).length) bad("snapshots");
      if (stmts.length && node.querySelectorAll("figure.time .end").length !== f.transactions.filter((n) => (trace.transactions || {})[n]).length) bad("ends");
      for (const r of f.witness.rows) if (!body.textContent.includes(r.chain)) bad("versions");
      const answer = f.witness.answer;
      if (answer && node.querySelectorAll(".answer .wrong").length !== answer.got.filter((r) => r.odd).length) bad("wrong rows");
      if (answer && node.querySelectorAll(".answer .missing").length !== answer.expected.filter((r) => r.odd).length) bad("missing rows");
      const bug = node.querySelector("textarea").value;
      if (!bug.includes(f.explanation) || !bug.includes(f.id)) bad("bug report");
      for (const s of stmts) if (s.sql && !bug.includes(s.sql.replace(/\\s+/g, " ").trim().replace(/;$/, ""))) bad("bug report without " + s.sql);
    }
  });
  return wrong;
})()"""


def show_all(name, html):
    """Opens every finding of a page and compares; returns {(oracle, class)}."""
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
    clean(page)
    picture(page, name)
    found = {(f["oracle"], f["class"]) for t in data_of(page)["traces"] for f in t["check"]["findings"]}
    page.close()
    return found


def test_every_class_of_adya():
    chromium()
    plants = subprocess.run([ISOSIM, "--list-plants"], check=True, capture_output=True, text=True).stdout.split()
    paths = [simulate(f"{p}.itr", "--seed=3", f"--plant={p}") for p in plants]
    found = show_all("adya", report("adya.html", "--contract=adya", "--examples=2", *paths))
    classes = {c for o, c in found if o == "adya"}
    missing = [p for p in plants if p not in classes]
    # Plants that are other names of a class, or that the oracle calls by the class they imply.
    assert set(missing) <= {"lost-update", "own-write-undone", "lost-version-chain", "lost-version-final",
                            "unstable-snapshot", "split-statement"}, missing


def test_every_class_of_mvcc():
    chromium()
    found = set()
    recorded = sorted(glob.glob(os.path.join(TOP, "corpus", "recordings", "*", "*.itr")))
    assert recorded
    # One run a class is enough: those whose findings differ.
    chosen, seen = [], set()
    for path in recorded:
        data = isotrace("check", "--oracle=mvcc", "--contract=adya", "--format=json", path).json()
        classes = {f["class"] for f in data["findings"]}
        if not classes <= seen:
            seen |= classes
            chosen.append(path)
    found |= show_all("mvcc", report("mvcc.html", "--oracle=mvcc", "--contract=adya", *chosen,
                                     hostile_result(scratch("wrong-result.itr"))))
    assert {c for o, c in found if o == "mvcc"} >= {"wrong-result", "current-write", "split-statement",
                                                    "noop-update", "dirty-read"}, found


def test_every_class_of_values():
    chromium()
    histories = {
        "skew": """{:type :ok :process 0 :value [[:append :x 1] [:append :y 1]]}
                   {:type :ok :process 1 :value [[:r :x [1]] [:r :y nil]]}""",
        "lost": """{:type :ok :process 0 :value [[:r :x [1]] [:append :x 2]]}
                   {:type :ok :process 1 :value [[:r :x [1]] [:append :x 3]]}
                   {:type :ok :process 2 :value [[:append :x 1]]}
                   {:type :ok :process 3 :value [[:r :x [1 2 3]]]}""",
        "g1a": """{:type :fail :process 0 :value [[:append :x 1]]}
                  {:type :ok :process 1 :value [[:r :x [1]]]}""",
        "g1b": """{:type :ok :process 0 :value [[:append :x 1] [:append :x 2]]}
                  {:type :ok :process 1 :value [[:r :x [1]]]}""",
        "write skew": """{:type :ok :process 0 :value [[:r :x nil] [:append :y 1]]}
                         {:type :ok :process 1 :value [[:r :y nil] [:append :x 1]]}
                         {:type :ok :process 2 :value [[:r :x [1]] [:r :y [1]]]}""",
        "garbage": "{:type :ok :process 1 :value [[:r :x [9]]]}",
        "order": """{:type :ok :process 0 :value [[:append :x 1]]}
                    {:type :ok :process 1 :value [[:append :x 2]]}
                    {:type :ok :process 2 :value [[:r :x [1 2]]]}
                    {:type :ok :process 3 :value [[:r :x [2 1]]]}""",
        "twice": """{:type :ok :process 0 :value [[:append :x 1]]}
                    {:type :ok :process 1 :value [[:r :x [1 1]]]}""",
        "internal": "{:type :ok :process 0 :value [[:append :x 1] [:r :x nil]]}",
    }
    paths = [write(f"{name}.edn", text) for name, text in histories.items()]
    found = show_all("values", report("values.html", "--from=elle", *paths))
    assert {c for _, c in found} >= {"G-single", "G1a", "G1b", "G2-item", "garbage-read", "lost-update",
                                     "incompatible-order", "duplicate-elements", "internal"}, found


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
    for part in (edge["object"], edge["from_version"], edge["to_version"], edge["explanation"]):
        assert part in tip, (part, tip)
    # ... and so does the mouse.
    page.run("document.activeElement.blur(), document.querySelector('.tip').textContent = ''")
    x, y = page.run("(() => { const a = document.querySelector('.arrow .pill'); a.scrollIntoView({block: 'center'}); const b = a.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
    page.move(x, y)
    assert edge["explanation"] in page.run("document.querySelector('.tip').textContent")
    clean(page)
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


def test_contrast_in_both_schemes():
    chromium()
    with open(os.path.join(HERE, "contrast.js"), encoding="utf-8") as file:
        script = file.read()
    wrong = report("wrong.html", hostile_result(scratch("wrong.itr")))
    for dark in (False, True):
        for name, html in (("lost", lost()), ("wrong", wrong)):
            for width in (1200, 390):
                page = chromium().open(html, width=width, dark=dark)
                page.run("document.querySelector('.group') && document.querySelector('.group').click()")
                page.run(OPEN_ALL)
                result = page.run(script)
                assert result["texts"] > 50 and result["short"] == [], (dark, name, result["short"][:8])
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
