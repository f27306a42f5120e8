#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every page that a comment, a message or a page cites is there, and so is the section, rule or heading.

A citation is the name of a page and, after a comma, what of it:

    semantics.md, section 5            semantics.md, sections 1 to 4        semantics.md, section 2a
    history.md, rule 16                protocol.md, "Time and order"        docs/trace-format.md, "server"

A bare name is a page of docs/internals; others are written from the top (docs/...).  Tests may name any
page, or a file that is theirs, by its bare name if they cite no part of it.  A section is a heading
that begins with its number, a rule a paragraph that does, a title a heading; of `server (1)` the words
before the parenthesis will do.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import tap  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
ENDINGS = (".c", ".h", ".re", ".py", ".js", ".contract", "meson.build")
CITATION = re.compile(r"""(?<![\w/.-])(?P<page>[A-Za-z][\w/-]*\.md)
    (?:,\ (?:(?P<sections>sections?\ (?P<first>\d+)(?P<letter>[a-z]?)(?:\ (?:to|and)\ (?P<last>\d+))?)
           | (?P<rules>rules?\ (?P<rule>\d+)(?:\ (?:to|and)\ (?P<rule_last>\d+))?)
           | "(?P<title>[^"]+)"))?""", re.VERBOSE)
# A page named in another way than above, which the pattern does not see.
LOOSE = re.compile(r"\b(?:semantics|architecture|the design|design|history)(?:'s)?,? (?:section|rule) \d"
                   r"|\((?:protocol|design)[,:] |\bprotocol notes\b|\.md, section \"|\.md,? (?:§|chapter)")
# What of a C file may cite: comments and strings.
PROSE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def sources():
    run = subprocess.run(["git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-co", "--exclude-standard"],
                         capture_output=True, text=True, check=False)
    names = run.stdout.splitlines() if run.returncode == 0 and run.stdout else [
        os.path.relpath(os.path.join(folder, name), TOP) for folder, _, files in os.walk(TOP) for name in files]
    return sorted(n for n in names if n.endswith(ENDINGS) and os.path.isfile(os.path.join(TOP, n))
                  and not n.startswith("build") and os.path.abspath(__file__) != os.path.join(TOP, n))


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def joined(text):
    """Lines of a comment as one, without what begins them."""
    return re.sub(r"\s*\n[ \t]*(?:\*(?!/)|//|#|\")?[ \t]*", " ", text)


def prose(name):
    text = read(name)
    return "\n".join(PROSE.findall(text)) if name.endswith((".c", ".h", ".re", ".js")) else text


def path_of(page):
    return page if "/" in page else "docs/internals/" + page


def all_names(known=[]):
    """Of the pages, and of what tests have beside them."""
    if not known:
        known.append({"README.md", "CONTRIBUTING.md"})
        for top in ("docs", "tests"):
            for _, _, names in os.walk(os.path.join(TOP, top)):
                known[0].update(n for n in names if n.endswith(".md"))
    return known[0]


def headings(path, known={}):
    if path not in known:
        known[path] = re.findall(r"^#+ (.*?)\s*$", read(path), re.MULTILINE)
    return known[path]


def problem_of(match):
    """What is wrong with a citation; None: nothing."""
    path = path_of(match["page"])
    part = match["sections"] or match["rules"] or match["title"]
    if not part and ("/" in path and not path.startswith("docs/") or match["page"] in all_names()):
        return None
    if not os.path.isfile(os.path.join(TOP, path)):
        return f"there is no {path}"
    if match["sections"]:
        for number in range(int(match["first"]), int(match["last"] or match["first"]) + 1):
            if not any(h.startswith(f"{number}{match['letter']}. ") for h in headings(path)):
                return f"{path} has no section {number}{match['letter']}"
    if match["rules"]:
        for number in range(int(match["rule"]), int(match["rule_last"] or match["rule"]) + 1):
            if not re.search(rf"^{number}\. ", read(path), re.MULTILINE):
                return f"{path} has no rule {number}"
    if match["title"] and not any(match["title"] in (h, h.split(" (")[0]) for h in headings(path)):
        return f"{path} has no heading \"{match['title']}\""
    return None


def problems_in(text):
    text = joined(text)
    found = [(m[0], problem_of(m)) for m in CITATION.finditer(text)]
    found += [(m[0], "is no citation that can be followed") for m in LOOSE.finditer(text)]
    return [(what, why) for what, why in found if why]


def test_every_citation_in_the_code_is_followed():
    wrong = [(name, *problem) for name in sources() for problem in problems_in(prose(name))]
    assert not wrong, "\n".join(": ".join(w) for w in wrong)


def test_the_code_cites_the_specifications():
    """So that a pattern which finds nothing is noticed."""
    count = {}
    for name in sources():
        for match in CITATION.finditer(joined(prose(name))):
            if match["sections"] or match["rules"] or match["title"]:
                count[match["page"]] = count.get(match["page"], 0) + 1
    assert count.get("semantics.md", 0) >= 29, count
    assert count.get("protocol.md", 0) >= 8, count
    assert count.get("history.md", 0) >= 5, count


def test_wrong_citations_are_noticed():
    for text in ("/* semantics.md, section 99 */", "/* (semantics.md,\n * section 2z) */", "/* semantics.md, sections 9 to 40 */",
                 "/* history.md, rule 77 */", '/* protocol.md, "Time and\n * disorder" */', "/* docs/nowhere.md */", "# nowhere.md",
                 "/* semantics, section 5 */", "/* (protocol, SSLRequest) */", "/* (design, section 4) */",
                 '/* docs/trace-format.md, section "Header" */', '/* docs/trace-format.md, "serv" */'):
        assert problems_in(text), text


def test_right_citations_are_taken():
    for text in ("/* semantics.md, section 2a */", "/* semantics.md, sections 1 to 4 */", "/* (semantics.md,\n * section 5) */",
                 '// protocol.md, "Time and order"', '/* docs/trace-format.md, "server" */', "# history.md, rule 16",
                 "/* docs/oracles/mvcc.md */", "/* the protocol's command byte: 3 */"):
        assert not problems_in(text), (text, problems_in(text))


def pages():
    yield from ("README.md", "CONTRIBUTING.md")
    for folder, _, names in os.walk(os.path.join(TOP, "docs")):
        yield from (os.path.relpath(os.path.join(folder, n), TOP) for n in names if n.endswith((".md", ".1", ".5")))


def test_citations_of_the_pages_are_followed():
    """Rules, sections and titles; links are looked at by the test `docs`."""
    wrong = []
    for name in sorted(pages()):
        text = re.sub(r"`|\\-", lambda m: "" if m[0] == "`" else "-", read(name))
        for match in CITATION.finditer(re.sub(r"\s*\n\s*", " ", text)):
            if match["sections"] or match["rules"] or match["title"] or match["page"].startswith("docs/"):
                why = problem_of(match)
                if why and not os.path.isfile(os.path.join(TOP, os.path.dirname(name), match["page"])):
                    wrong.append((name, match[0], why))
    assert not wrong, wrong


if __name__ == "__main__":
    tap.main(globals())
