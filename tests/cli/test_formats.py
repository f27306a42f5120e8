#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check says the same in every format: each is read by something that is not ours and
compared with the JSON, which docs/check.schema.json describes."""
import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

import jsonschema

from hostile import HOSTILE, hostile_result, hostile_trace
from run import HERE, isotrace, scratch, write
import junit
import tap

ISOSIM = os.path.abspath(sys.argv[2])
TOP = os.path.join(HERE, "..", "..")
FORMATS = ("json", "ndjson", "junit", "tap", "sarif", "dot", "graphml", "html")
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def schema(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


CHECK = schema(os.path.join(TOP, "docs", "check.schema.json"))
SARIF = schema(os.path.join(HERE, "schemas", "sarif.schema.json"))


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--quiet", "--sessions=4", "--transactions=60", "--keys=12", *args,
                    "-o", path], check=True)
    return path


def inputs():
    """(options, histories): every oracle, several at once, none of anything, and hostile names."""
    plants = [simulate(f"{p}.itr", "--seed=3", f"--plant={p}")
              for p in ("G0", "G1a", "G-single", "G2", "garbage-read", "lost-version")]
    clean = simulate("clean.itr", "--seed=11", "--discipline=serializable", "--unknown=0")
    elle = write("skew.edn", """
        {:type :ok :process 0 :value [[:append :x 1] [:append :y 1]]}
        {:type :ok :process 1 :value [[:r :x [1]] [:r :y nil]]}""")
    # What the solver finds in real recordings of real servers.
    recorded = sorted(glob.glob(os.path.join(TOP, "corpus", "recordings", "MDEV-*", "*.itr")))[:12]
    yield ["--contract=adya"], [*plants, clean]
    yield [], [clean]
    yield ["--from=elle"], [elle]
    yield ["--contract=adya", "--fail-on=documented"], [plants[2], plants[3]]
    if recorded:
        yield ["--oracle=mvcc", "--contract=adya"], recorded
    yield ["--for=application"], sorted(glob.glob(os.path.join(TOP, "tests", "application", "recorded", "*.itr")))
    hostile = hostile_trace(scratch("hostile '\"<&> # \\.itr"))
    yield ["--contract=adya"], [hostile]
    yield ["--oracle=mvcc"], [hostile_result(scratch("hostile result.itr"))]


def key(finding):
    return (finding["id"], finding["class"], finding["severity"])


def from_json(text):
    decoder, at, documents = json.JSONDecoder(), 0, []
    while text[at:].strip():
        document, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        jsonschema.validate(document, CHECK)
        documents.append(document)
    return documents


def from_ndjson(text):
    found, verdicts = [], []
    for line in text.splitlines():
        data = json.loads(line)
        if data["type"] == "verdict":
            verdicts.append((data["input"]["path"], data["verdict"]))
            body = {k: v for k, v in data.items() if k != "type"}
            jsonschema.validate({**body, "findings": []}, CHECK)
        else:
            found.append(key(data["finding"]))
    return found, verdicts


def from_junit(text):
    found = []
    for suite in junit.suites(text):
        cases = suite.findall("testcase")
        assert cases[-1].get("name") == "verdict"
        for case in cases[:-1]:
            outcome = case[0]
            name, id_ = case.get("name").split(" ")
            found.append((id_, name, outcome.get("message").split(":")[0]))
    return found


def from_tap(text):
    if shutil.which("perl"):
        # The reader of Perl's prove: every line is understood, the plan fits.
        code = ("use TAP::Parser; local $/; my $p = TAP::Parser->new({tap => scalar <STDIN>});"
                "while (my $r = $p->next) { print STDERR $r->raw, qq{\\n} if $r->is_unknown }"
                "print STDERR join(qq{\\n}, $p->parse_errors); exit($p->parse_errors ? 1 : 0)")
        run = subprocess.run(["perl", "-e", code], input=text, capture_output=True, text=True,
                             check=False)
        assert run.returncode == 0 and not run.stderr, run.stderr
    found = []
    for block in re.findall(r"^  ---\n(.*?)^  \.\.\.\n", text, re.DOTALL | re.MULTILINE):
        # Scalars are JSON, which is YAML too.
        data = {k: json.loads(v) for k, v in re.findall(r"^  (\w+): (.*)$", block, re.MULTILINE)}
        if "id" in data:
            found.append(key(data))
    lines = re.findall(r"^(ok|not ok) (\d+) ", text, re.MULTILINE)
    assert [int(n) for _, n in lines] == list(range(1, len(lines) + 1))
    assert f"1..{len(lines)}\n" in text
    return found


def from_sarif(text):
    data = json.loads(text)
    jsonschema.validate(data, SARIF)
    if os.environ.get("ISOTRACE_SARIF_SCHEMA"):
        jsonschema.validate(data, schema(os.environ["ISOTRACE_SARIF_SCHEMA"]))
    [run] = data["runs"]
    rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    for r in run["results"]:
        assert rules[r["ruleIndex"]] == r["ruleId"]
        assert r["level"] == {"violation": "error", "application": "error", "suspicion": "warning"}.get(
            r["properties"]["severity"], "note")
    return [(r["partialFingerprints"]["isotrace/v1"], r["ruleId"], r["properties"]["severity"])
            for r in run["results"]], run


def from_dot(text, path):
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tcanon", "-o", os.devnull, path], check=True)
    return re.findall(r'^    id="([0-9a-f]{16})";\n    label="(\S+) (\w+)\\n', text, re.MULTILINE)


def from_graphml(text):
    found = []
    for graph in xml.fromstring(text).findall(GRAPHML + "graph"):
        data = {d.get("key"): d.text for d in graph.findall(GRAPHML + "data")}
        nodes = {n.get("id") for n in graph.findall(GRAPHML + "node")}
        for edge in graph.findall(GRAPHML + "edge"):
            assert {edge.get("source"), edge.get("target")} <= nodes
        found.append((graph.get("id").split("_")[1], data["class"], data["severity"]))
    return found


class Data(html.parser.HTMLParser):
    """The JSON that a page carries."""

    def __init__(self, text):
        super().__init__()
        self.at, self.text = None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.at = dict(attrs).get("id")

    def handle_endtag(self, tag):
        self.at = None

    def handle_data(self, data):
        if self.at == "data":
            self.text += data


def test_every_format_has_the_same_findings():
    seen = set()
    for number, (options, paths) in enumerate(inputs()):
        files = {f: scratch(f"{number}.{f}") for f in FORMATS}
        outputs = [word for f in FORMATS for word in ("-o", f"{f}:{files[f]}")]
        run = isotrace("check", *options, *outputs, *paths)
        text = {}
        for name, path in files.items():
            with open(path, encoding="utf-8") as file:
                text[name] = file.read()
        documents = from_json(text["json"])
        assert [d["input"]["path"] for d in documents] == paths
        wanted = [key(f) for d in documents for f in d["findings"]]
        seen |= {(f["oracle"], f["class"]) for d in documents for f in d["findings"]}
        found, verdicts = from_ndjson(text["ndjson"])
        assert found == wanted
        assert verdicts == [(d["input"]["path"], d["verdict"]) for d in documents]
        assert from_junit(text["junit"]) == wanted
        assert from_tap(text["tap"]) == wanted
        results, sarif = from_sarif(text["sarif"])
        assert results == wanted
        edges = [len(f["edges"]) for d in documents for f in d["findings"] if f["edges"]]
        flows = [len(r["codeFlows"][0]["threadFlows"][0]["locations"])
                 for r, f in zip(sarif["results"], [f for d in documents for f in d["findings"]])
                 if f["edges"]]
        assert flows == edges, "the code flow is the cycle"
        assert from_dot(text["dot"], files["dot"]) == wanted
        assert from_graphml(text["graphml"]) == wanted
        page = json.loads(Data(text["html"]).text)
        assert [t["check"] for t in page["traces"]] == documents
        # The text names each finding by its id, and the exit status is that of the worst verdict.
        for id_, name, _ in wanted:
            assert id_ in run.out and name in run.out
        order = ["ok", "incomplete", "anomalies", "violated"]
        worst = max((d["verdict"] for d in documents), key=order.index)
        assert run.status == {"ok": 0, "incomplete": 3, "anomalies": 1, "violated": 1}[worst]
    assert {o for o, _ in seen} == {"adya", "mvcc", "values", "application"}, seen
    assert len(seen) > 8, seen


def test_junit_schema_is_strict():
    """Whatever is taken away from a document, or put in its place, is noticed."""
    if not shutil.which("xmllint"):
        raise tap.Skip("xmllint is not installed")
    path = simulate("strict.itr", "--seed=3", "--plant=G-single")
    text = isotrace("check", "--contract=adya", "-f", "junit", path).expect(1).out
    assert not junit.complaint(text, junit.OWN)
    changed = 0
    for number, element in enumerate(xml.fromstring(text).iter()):
        for name in [*element.attrib, None, "child"]:
            root = xml.fromstring(text)
            here = list(root.iter())[number]
            if name in element.attrib:
                if name in ("message", "value") or (element.tag, name) == ("failure", "type"):
                    here.set("other", here.attrib.pop(name))  # any text may stand there
                else:
                    here.set(name, " ")
            elif name:
                xml.SubElement(here, "script")
            else:
                here.set("other", "1")
            changed += 1
            altered = xml.tostring(root, encoding="unicode")
            assert junit.complaint(altered, junit.OWN), altered
        if changed > 120:
            break
    for tag in ("properties", "system-out", "system-err"):
        altered = re.sub(rf"<{tag}.*</{tag}>|<{tag}/>", "", text, flags=re.DOTALL)
        assert altered != text and junit.complaint(altered, junit.OWN), tag


def test_junit_is_of_the_recording():
    """Time, host and length come from the trace, so that another run says the same."""
    recorded = sorted(glob.glob(os.path.join(TOP, "corpus", "recordings", "MDEV-32898", "*-RR.itr")))
    out = isotrace("check", "-f", "junit", *recorded).out
    assert out == isotrace("check", "-f", "junit", *recorded).out
    for path, suite in zip(recorded, junit.suites(out)):
        stats = isotrace("stats", "-f", "json", path).json()
        wall = isotrace("show", "-f", "json", path).json()["input"]["wall"]
        assert suite.get("timestamp") == wall[:19] and suite.get("hostname") == "127.0.0.1"
        assert 0 < float(suite.get("time")) <= stats["time"]["span_ns"] / 1e9
    [foreign] = junit.suites(isotrace("check", "-f", "junit", write("one.edn", """
        {:type :ok :process 0 :value [[:append :x 1]]}""")).out)
    assert foreign.get("hostname") == "localhost" and foreign.get("time") == "0.000"
    assert foreign.get("timestamp") == "1970-01-01T00:00:00"


def test_one_format_at_a_time_is_the_same():
    path = simulate("one.itr", "--seed=3", "--plant=G-single")
    for name in FORMATS:
        out = scratch("one." + name)
        first = isotrace("check", "--contract=adya", "-f", name, path).expect(1).raw
        isotrace("check", "--contract=adya", "--quiet", "-o", f"{name}:{out}", path).expect(1)
        with open(out, "rb") as file:
            assert file.read() == first, name
        again = isotrace("check", "--contract=adya", "-q", "-o", f"{name}:-", path).expect(1)
        assert again.raw == first


def test_endings_and_mistakes():
    path = simulate("end.itr", "--seed=3", "--plant=G-single")
    isotrace("check", "--contract=adya", "-o", scratch("e.sarif"), "-o", scratch("e.xml"), path)
    assert from_sarif(open(scratch("e.sarif"), encoding="utf-8").read())[0]
    assert xml.parse(scratch("e.xml")).getroot().tag == "testsuites"
    isotrace("check", "-o", scratch("x.pdf"), path).expect(2, "which format?")
    isotrace("check", "-o", "sarif:", path).expect(2, "which file?")
    isotrace("check", "-o", "json:-", "-o", "tap:-", path).expect(2, "two outputs")
    isotrace("check", "-q", "-o", "json:" + scratch("no/place"), path).expect(4, "no/place")
    assert not os.path.exists(scratch("no"))
    isotrace("check", "-f", "html", "-", stdin=b"").expect(2, "must be a file")
    # Nothing is written where nothing could be read.
    isotrace("check", "-q", "-o", "json:" + scratch("n.json"), scratch("none.itr")).expect(4, "none")
    assert not os.path.exists(scratch("n.json"))
    # ... and what could be is, with the status of the worst.
    run = isotrace("check", "-f", "json", path, scratch("none.itr"))
    assert run.status == 4 and len(from_json(run.out)) == 1


def test_quiet():
    path = simulate("quiet.itr", "--seed=3", "--plant=G-single")
    assert isotrace("check", "--contract=adya", "--quiet", path).expect(1).out == ""


def test_hostile_text_stays_text():
    """No format lets what a trace holds out of its quotes, nor control characters to a terminal."""
    path = hostile_trace(scratch("hostile.itr"))
    out = isotrace("check", "--contract=adya", "--verbose", path).expect(1).out
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out)
    assert HOSTILE not in isotrace("check", "--contract=adya", "-f", "html", path).out
    for name in ("junit", "graphml"):
        root = xml.fromstring(isotrace("check", "--contract=adya", "-f", name, path).out)
        assert not [e for e in root.iter() if e.tag.endswith(("script", "img"))]


if __name__ == "__main__":
    tap.main(globals())
