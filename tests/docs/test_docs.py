#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents: links lead somewhere, every page is listed, what they tell to type exists."""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import console  # noqa: E402
import tap  # noqa: E402

ISOTRACE, ISOREC, ISOSIM = (os.path.abspath(path) for path in sys.argv[1:4])
TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
DOCS = os.path.join(TOP, "docs")


def pages():
    for folder, _, names in os.walk(DOCS):
        for name in names:
            if name.endswith(".md"):
                yield os.path.join(folder, name)
    for name in ("README.md", "CONTRIBUTING.md"):
        yield os.path.join(TOP, name)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_links_lead_somewhere():
    for path in pages():
        for target in re.findall(r"\]\(([^)#\s]+)\)", read(path)):
            if target.startswith("http"):
                continue
            there = os.path.join(os.path.dirname(path), target)
            assert any(os.path.exists(there + e) for e in ("", ".md")), (path, target)


def test_every_page_is_in_the_list():
    listed = read(os.path.join(DOCS, "README.md"))
    for path in pages():
        name = os.path.relpath(path, DOCS)
        if not name.startswith("..") and name != "README.md":
            assert f"({name})" in listed, name
    manual = os.path.join(DOCS, "man")
    for name in os.listdir(manual):
        page = f"{name[:-2]}({name[-1]})"
        assert page in listed or re.match(r"iso(trace|rec)-\w+\(1\)", page), page


def test_named_files_exist():
    for path in pages():
        for name in re.findall(r"`((?:docs|tests|oracles|corpus|formats|recorder|analyzer)/[\w./-]+)`", read(path)):
            if not re.search(r"[A-Z]{4}", os.path.basename(name).split(".")[0]):  # NAME stands for any
                assert any(os.path.exists(os.path.join(top, name)) for top in (TOP, sys.argv[4])), (path, name)


def test_named_sources_exist():
    """`search/search.c` and `search.c`, too: the end of a path in the tree."""
    paths = []
    for top in ("formats", "oracles", "analyzer", "recorder", "tests"):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            paths += [os.path.join(folder, name) for name in names]
    for path in pages():
        for name in re.findall(r"`([\w./-]*\w\.(?:c|h|re|def|js))`", read(path)):
            if not re.search(r"[A-Z]{4}", os.path.basename(name)):  # NAME stands for any
                assert any(p.endswith("/" + name) for p in paths), (path, name)


def options_of(program, command, known={}):
    if (program, command) not in known:
        run = subprocess.run([program, "help", command], capture_output=True, text=True, check=False)
        text = run.stdout if run.returncode == 0 else None
        known[program, command] = text and set(re.findall(r"--[a-z][a-z-]*", text))
    return known[program, command]


def test_commands_and_options_exist():
    seen = 0
    for path in pages():
        text = read(path)
        lines = re.findall(r"^(?:    |\$ )(.*)$", text, re.MULTILINE) + re.findall(r"`([^`\n]+)`", text)
        for line in lines:
            for program, word, rest in re.findall(r"(?:^|[\s;(])(?:build/\w+/)?(isotrace|isorec) ([a-z]+)((?: [^|;)]*)?)", line):
                options = options_of(ISOTRACE if program == "isotrace" else ISOREC, word)
                if options is None:
                    continue  # a sentence, not a command; the manual's tests know the commands
                seen += 1
                for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest):
                    assert any(o.startswith(option) for o in options), (path, line, option)
    assert seen > 60, seen


# Words and turns that had to be decoded; docs/internals/glossary.md has those that are ours.
PRIVATE = re.compile(r"\b(who left|(?:is|are|was) (?:not )?told|what goes on|likewise|at hand|fog|backdrop|strangers?|and kin|"
                     r"on whom|what came of it|out of sight|stands? behind)\b")


def help_texts():
    for program in (ISOTRACE, ISOREC):
        listed = subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout
        yield f"{os.path.basename(program)} help", listed
        for word in re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE):
            run = subprocess.run([program, "help", word], capture_output=True, text=True, check=False)
            yield f"{os.path.basename(program)} help {word}", run.stdout


def test_options_of_the_manual_pages():
    """Between two marks, as `isotrace help --mdoc COMMAND` prints them; ISOTRACE_UPDATE=1 writes them."""
    seen = 0
    for name in sorted(os.listdir(os.path.join(DOCS, "man"))):
        path, text = os.path.join(DOCS, "man", name), read(os.path.join(DOCS, "man", name))
        marked = re.search(r'(?<=\.\\" begin options\n).*?(?=\.\\" end options\n)', text, re.DOTALL)
        if not marked:
            continue
        program, command = re.match(r"(isotrace|isorec)-(\w+)\.1$", name).groups()
        run = subprocess.run([ISOTRACE if program == "isotrace" else ISOREC, "help", "--mdoc", command],
                             capture_output=True, text=True, check=True)
        if os.environ.get("ISOTRACE_UPDATE"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text[:marked.start()] + run.stdout + text[marked.end():])
        else:
            assert marked[0] == run.stdout, name
        seen += 1
    assert seen >= 16, seen


def test_no_private_words():
    texts = [(path, read(path)) for path in pages()] + list(help_texts())
    for name in os.listdir(os.path.join(DOCS, "man")):
        texts.append((name, read(os.path.join(DOCS, "man", name))))
    assert len(texts) > 60, len(texts)
    for name, text in texts:
        if name.endswith("sql-exclusions.md"):  # its tables are what the program prints
            text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
        found = PRIVATE.search(re.sub(r"\s+", " ", text))
        assert not found, (name, found[0])


def test_no_private_words_in_comments():
    private = re.compile(r"\b(who left|(?:is|are|was|were) not told|what goes on|likewise|at hand|fog|backdrop|strangers?|"
                         r"nobody|somebody|anybody|everybody|whoever|and kin)\b", re.IGNORECASE)
    seen = 0
    for top in ("formats", "oracles", "analyzer", "recorder", "tests"):
        for folder, _, names in os.walk(os.path.join(TOP, top)):
            for name in names:
                if not name.endswith((".c", ".h", ".re")):
                    continue
                for comment in re.findall(r"/\*.*?\*/", read(os.path.join(folder, name)), re.DOTALL):
                    seen += 1
                    found = private.search(re.sub(r"\s+(?:\* )?", " ", comment))
                    assert not found, (os.path.join(folder, name), found[0], comment[:200])
    assert seen > 5000, seen


def test_every_class_has_a_sentence():
    """Those of cycles that an order closes have the sentence of the cycle."""
    listed = re.findall(r"X\((CLASS_\w+),", read(os.path.join(TOP, "oracles", "common", "finding_class.h")))
    sentences = read(os.path.join(TOP, "analyzer", "report", "class_sentences.c"))
    assert len(listed) > 50
    for name in listed:
        base = re.sub(r"_(SESSION|REALTIME)$", "", name)
        assert re.search(rf"(\[{base}\] = |NOT_LEVEL\({base}, )", sentences), name


def test_every_reason_is_in_the_table():
    """Of the oracle mvcc: the table has what reports say, and nothing that they do not say."""
    listed = re.findall(r'X\(\w+, "([^"]+)"\)', read(os.path.join(TOP, "oracles", "mvcc", "reason.h")))
    page = read(os.path.join(DOCS, "oracles", "mvcc.md")).split("\n## What is undecided or unsupported\n")[1]
    said = re.findall(r"^\| (?!topic |--- )[^|]+ \| ([^|]+) \| (?:undecided|unsupported) \|", page.split("\n## ")[0], re.MULTILINE)
    assert len(listed) > 90 and not set(listed) - set(said), set(listed) - set(said)
    others = "".join(read(os.path.join(TOP, *path)).replace('"\n\t\t"', "") for path in (
        ("analyzer", "report", "judge_trace.c"), ("oracles", "eval", "limits", "change.def")))
    for text in set(said) - set(listed):
        assert text.startswith(("`", "the texts of [")) or f'"{text}"' in others, text


def test_paragraphs_are_short():
    """Five lines of up to 144 characters; lists, tables and examples are their own measure."""
    for path in pages():
        text = re.sub(r"^```.*?^```", "", read(path), flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", text):
            lines = [line for line in paragraph.splitlines() if not re.match(r"\||    |#|!\[|<!--|\s*(?:[-*]|\d+\.) |  +", line)]
            assert len(lines) <= 5 and all(len(line) <= 144 for line in lines), (path, lines[0])


def test_examples_of_the_readme_work():
    """They print what the README shows, but for numbers and ids."""
    steps = console.commands(read(os.path.join(TOP, "README.md")))
    scratch = os.path.join(os.path.abspath(sys.argv[4]), "docs-test")
    os.makedirs(scratch, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    for command, expected in steps:
        run = subprocess.run(["sh", "-c", command.replace("build/", os.path.abspath(sys.argv[4]) + "/")], cwd=scratch,
                             capture_output=True, text=True, check=False, env=env)
        assert run.returncode == 0, (command, run.stderr)
        out = run.stdout.replace(os.path.abspath(sys.argv[4]) + "/", "build/")
        wrong = console.fits(expected, out.splitlines())
        assert wrong is None, (command, wrong)
    assert len(steps) >= 2


def test_the_example_contract():
    text = re.search(r"^```contract\n(.*?)^```", read(os.path.join(DOCS, "contracts.md")), re.DOTALL | re.MULTILINE)[1]
    scratch = os.path.join(os.path.abspath(sys.argv[4]), "docs-test")
    os.makedirs(scratch, exist_ok=True)
    contract, trace = os.path.join(scratch, "ours.contract"), os.path.join(scratch, "x.itr")
    with open(contract, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([ISOSIM, "--quiet", "--seed=3", "--discipline=rr", "--transactions=60", "--plant=G2-item", "-o", trace], check=True)
    run = subprocess.run([ISOTRACE, "check", "--contract-file=" + contract, "-f", "json", trace],
                         capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1, 3), run.stderr
    assert "reports-may-skew" in run.stdout
    # Every class that contracts may name is in the document.
    source = read(os.path.join(TOP, "oracles", "common", "contract.c"))
    classes = re.findall(r"CLASS_\w+", re.search(r"phenomena\[\] = \{(.*?)\}", source, re.DOTALL)[1])
    names = dict(re.findall(r'X\((CLASS_\w+), "([^"]+)"\)', read(os.path.join(TOP, "oracles", "common", "finding_class.h"))))
    assert len(classes) > 20
    for name in (names[c] for c in classes):
        assert re.search(rf"\b{name}\b", read(os.path.join(DOCS, "contracts.md"))), name


if __name__ == "__main__":
    tap.main(globals())
