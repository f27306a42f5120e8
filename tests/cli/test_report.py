#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace report: the page holds what check says, as data that cannot become markup.  What a
browser makes of it: tests/browser."""
import base64
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys

from run import isotrace, scratch
import tap
from hostile import hostile_trace

ISOSIM = os.path.abspath(sys.argv[2])


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--sessions=4", "--transactions=60", "--keys=12", *args, "-o", path],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


LOST = simulate("lost.itr", "--seed=5", "--plant=lost-update")


class Page(html.parser.HTMLParser):
    """The elements of a page, and the text of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.parts, self.policy, self.at = [], {}, None, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        self.at = tag + (":data" if attrs.get("id") == "data" else "")

    def handle_endtag(self, tag):
        self.at = None

    def handle_data(self, data):
        if self.at in ("script", "script:data", "style"):
            self.parts[self.at] = self.parts.get(self.at, "") + data


def report(path, *args, status=1):
    out = scratch("report.html")
    isotrace("report", path, "-o", out, *args).expect(status)
    with open(out, encoding="utf-8") as file:
        return Page(file.read())


def test_holds_what_check_says():
    page = report(LOST)
    [trace] = json.loads(page.parts["script:data"])["traces"]
    check = isotrace("check", "--format=json", "--examples=1000", LOST).json()
    assert trace["check"] == check
    named = {t for f in check["findings"] for t in f["transactions"]}
    assert set(trace["transactions"]) == named
    stmts = {(r["session"], r["number"]): r for r in isotrace("show", "--format=ndjson", LOST).lines()
             if r["kind"] == "stmt"}
    # Times on the page count from the earliest one that it shows.
    shown = [(stmts[t["session"], s["number"]], s)
             for t in trace["transactions"].values() for s in t["statements"]]
    assert all(t["statements"] for t in trace["transactions"].values())
    base = min(record["begin"] - stmt["begin"] for record, stmt in shown)
    for record, stmt in shown:
        assert (stmt["begin"] + base, stmt["end"] + base, stmt["sql"]) == (
            record["begin"], record["at"], record["text"])
    assert sum(b[0] for b in trace["overview"]["buckets"]) == len(stmts)


def test_policy_allows_what_is_there_and_no_more():
    page = report(LOST)
    for part, name in (("script", "script-src"), ("style", "style-src")):
        digest = base64.b64encode(hashlib.sha256(page.parts[part].encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")
    assert not {"link", "img", "iframe", "object"} & set(page.tags)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page.parts["script"])


def test_markup_stays_text():
    path = hostile_trace(scratch("hostile.itr"))
    out = scratch("hostile.html")
    isotrace("report", "--contract=adya", path, "-o", out).expect(1)
    with open(out, encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    assert page.tags.count("script") == 2 and "img" not in page.tags
    data = json.loads(page.parts["script:data"])
    finding = data["traces"][0]["check"]["findings"][0]
    assert "G1a" in {f["class"] for f in data["traces"][0]["check"]["findings"]}
    assert "<script>" in finding["witness"]["statements"][0]["sql"]


def test_errors():
    isotrace("report").expect(2, "which trace")
    isotrace("report", "-").expect(2, "must be a file")
    isotrace("report", scratch("none.itr")).expect(4, "none.itr")
    isotrace("report", LOST, "-o", scratch("no/such/place.html")).expect(4, "place.html")
    # Nothing is left of a page that could not be written.
    assert not os.path.exists(scratch("no"))


if __name__ == "__main__":
    tap.main(globals())
