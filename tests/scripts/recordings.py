#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The entries of recordings: what each is for, what happens in it, and what must be said of it.

    recordings.py new MVCC_TOOL ISOTRACE NAME.itr...     writes NAME.txt beside a recording that has none
    recordings.py update MVCC_TOOL ISOTRACE NAME.itr...  writes the verdicts of today into NAME.txt
    recordings.py rules FOLDER...                        lists the rules, one a line

An entry is a text with a few `key: value` lines (a value goes on in indented lines) and sections.

    guards:        the rule, in a sentence; a change that breaks it gets this sentence
    written in:    file, or file and "heading": where the rule is written down
    server:        release, isolation levels, and how it was recorded
    judged with:   options of `isotrace check` beyond the oracle (missing: none)
    findings:      severity, class, rule of the contract, transactions; one a line, or `none`
    verdict:       the counts of an oracle that does not judge statement by statement

    [tables]       what was there at first; people read it, no test does
    [statements]   in the order in which they were sent: session.number, verdict, SQL => answer
    [final rows]   a line for each table

A verdict is `decided`, `undecided`, `unsupported` (with the reason in the line below), or `-` where there is
nothing to judge (BEGIN) and where the oracle judges no single statements (adya).  In long recordings [statements] has a part of them, and [decided], [undecided: REASON]
and so on have all of them as numbers.

`update` does not take back what was decided: to give that up, edit the entry.
"""
import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LONG = 150  # statements; more are listed in part
EXCERPT = 40
TEXT_MAX, ANSWER_MAX, ROWS_MAX = 400, 160, 12
LEVELS = {0: "unknown level", 1: "READ UNCOMMITTED", 2: "READ COMMITTED", 3: "REPEATABLE READ", 4: "SERIALIZABLE"}
KEYS = ("guards", "written in", "server", "judged with", "findings", "verdict")
VERDICTS = ("decided", "undecided", "unsupported", "-")
UNKNOWN = "not known"


def printable(text):
    text = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def cut(text, size):
    return text if len(text) <= size else text[:size] + "..."


class Entry:
    """What an entry says; `judged` has statement or table -> (verdict, reason)."""

    def __init__(self):
        self.keys, self.tables, self.judged, self.texts = {}, [], {}, {}

    @property
    def findings(self):
        text = self.keys.get("findings", "none")
        return [] if text == "none" else text.split("\n")

    def read(self, path):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        section = key = last = None
        for line in lines:
            if re.fullmatch(r"\[[^]]*\]", line):
                section, last = line[1:-1], None
            elif section is None:
                if line.startswith(" "):
                    self.keys[key] += "\n" + line.strip()
                elif line:
                    key, _, value = line.partition(": ")
                    assert key in KEYS, f"{path}: {line}"
                    self.keys[key] = value
            elif section == "tables":
                self.tables.append(line)
            elif not line:
                continue
            elif section in ("statements", "final rows"):
                last = self.read_line(path, line, section, last)
            else:
                self.read_numbers(section, line)
        return self

    def read_line(self, path, line, section, last):
        if line.startswith(" "):
            verdict, reason = self.judged[last]
            self.judged[last] = verdict, (reason + " " + line.strip()).strip()
            return last
        name, verdict, *text = line.split(None, 2)
        assert verdict in VERDICTS, f"{path}: {line}"
        if section == "final rows":
            name = "final " + name
        assert name not in self.texts, f"{path}: {name} twice"
        self.texts[name] = text[0] if text else ""
        self.judged[name] = verdict, ""
        return name

    def read_numbers(self, section, line):
        verdict, _, reason = section.partition(": ")
        session, _, numbers = line.partition(": ")
        for part in numbers.split():
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1):
                self.judged[f"{session}.{number}"] = verdict, reason

    def write(self, path):
        out = []
        for key in KEYS:
            lines = self.keys.get(key, "").split("\n")
            if key in ("guards", "written in", "server"):
                lines = textwrap.wrap(" ".join(lines), 110 - len(key) - 2) or [""]
            out += [f"{key}: {lines[0]}"] * (key in self.keys) + ["    " + line for line in lines[1:]]
        out += ["", "[tables]", *filter(None, self.tables)] if self.tables else []
        width = max((len(n) for n in self.texts if not n.startswith("final ")), default=0)
        out += ["", "[statements]"] if width else []
        for name, text in self.texts.items():
            if not name.startswith("final "):
                verdict, reason = self.judged.get(name, ("-", ""))
                out.append(f"{name:{width}}  {verdict:11}  {text}".rstrip())
                out += [" " * (width + 2) + reason] * bool(reason)
        rest = [n for n in self.judged if not n.startswith("final ") and n not in self.texts]
        if rest:
            out += self.numbers()
        finals = [n for n in self.judged if n.startswith("final ")]
        out += ["", "[final rows]"] * bool(finals)
        for name in finals:
            verdict, reason = self.judged[name]
            out.append(f"{name[6:]}  {verdict}")
            out += ["    " + reason] * bool(reason)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(out) + "\n")

    def numbers(self):
        kinds = {}
        for name, (verdict, reason) in self.judged.items():
            if not name.startswith("final "):
                session, _, number = name.rpartition(".")
                kind = verdict + (": " + reason if reason else "")
                kinds.setdefault(kind, {}).setdefault(session, []).append(int(number))
        out = []
        for kind in sorted(kinds, key=lambda k: (VERDICTS.index(k.split(": ")[0]), k)):
            out += ["", f"[{kind}]"]
            for session, numbers in sorted(kinds[kind].items()):
                out += textwrap.wrap(f"{session}: " + ranges(sorted(numbers)), 110, subsequent_indent=f"{session}: ")
        return out


def ranges(numbers):
    out = []
    for n in numbers:
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


# ---- what the program says today ----

def judge_mvcc(tool, jobs):
    """jobs: (path, all sessions) -> for each path an Entry with texts, verdicts and findings."""
    args = [a for path, all_sessions in jobs for a in (["-a"] * all_sessions + [path])]
    done = subprocess.run([tool, "statements", *args], stdout=subprocess.PIPE, check=True)
    found, now = {}, None
    for line in done.stdout.decode("utf-8", "backslashreplace").split("\n"):
        name, *fields = line.split("\t")
        if name == "trace":
            now = found[fields[0]] = Entry()
            now.keys["findings"] = "none"
        elif name == "finding":
            more = " ".join(f for f in fields if f)
            now.keys["findings"] = "\n".join(now.findings + [more])
        elif name:
            now.judged[name] = "-" if fields[0] == "not judged" else fields[0], fields[1]
            now.texts[name] = printable(fields[2])
    return found


def judge_adya(isotrace, path):
    done = subprocess.run([isotrace, "check", "--oracle=adya", "--format=json", path], stdout=subprocess.PIPE,
                          text=True, check=False)
    said, entry = json.loads(done.stdout), Entry()
    entry.keys["findings"] = "\n".join(
        " ".join([f["severity"], f["class"], f["rule"] or "", *f["transactions"]]).replace("  ", " ")
        for f in said["findings"]) or "none"
    coverage, levels = said["coverage"], {}
    for level, answer in said["levels"].items():
        levels.setdefault(answer, []).append(level)
    entry.keys["verdict"] = "\n".join(
        [said["verdict"]] + [f"{k}: {coverage[k]}" for k in ("decided", "undecided", "unsupported")] +
        [f"{count} because of: {reason}" for reason, count in sorted(coverage["reasons"].items())] +
        [f"levels {answer}: {', '.join(names)}" for answer, names in sorted(levels.items())])
    return entry


def differences(entry, today):
    """What the entry says otherwise than the program, a line each."""
    out = []
    for name, (verdict, reason) in entry.judged.items() if today.judged else ():
        was = verdict + (f" ({reason})" if reason else "")
        now, why = today.judged.get(name, ("not in the recording", ""))
        if (now, why) != (verdict, reason):
            text = cut(today.texts.get(name, ""), 120)
            out.append(f"{name} `{text}` was {was} and is {now}" + (f" ({why})" if why else ""))
    out += [f"{name} `{cut(today.texts[name], 120)}` is not in the entry"
            for name in today.judged if name not in entry.judged]
    for name, text in entry.texts.items():
        if name in today.texts and not text.startswith(cut(today.texts[name], TEXT_MAX).rstrip(".")):
            out.append(f"{name}: the entry has another text than the recording")
    for key in ("findings", "verdict"):
        if entry.keys.get(key, "") != today.keys.get(key, ""):
            out.append(f"{key}: were {entry.keys.get(key)!r} and are {today.keys.get(key)!r}")
    return out


def incomplete(entry):
    """What an entry lacks, or names and is not there."""
    out = [f"no `{key}`" for key in ("guards", "server", "findings") if not entry.keys.get(key)]
    if entry.keys.get("guards") == UNKNOWN:
        return out
    for place in " ".join(entry.keys.get("written in", "").split("\n")).split("; "):
        name, _, heading = place.partition(', "')
        path = os.path.join(ROOT, name)
        if not os.path.isfile(path):
            out.append(f"written in: there is no file {name!r}")
            continue
        if heading:
            with open(path, encoding="utf-8") as file:
                heads = [line.lstrip("#").strip() for line in file if line.startswith("#")]
            if heading.rstrip('"') not in heads:
                out.append(f"written in: {name} has no heading {heading}")
    return out


# ---- entries are made ----

def value_text(value):
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        value = next(iter(value.values()))
        return f"'{value}'" if isinstance(value, str) and not re.fullmatch(r"-?[0-9.]+", value) else str(value)
    return f"'{value}'" if isinstance(value, str) else str(value)


def rows_text(rows, total=None):
    out = " ".join("(" + ",".join(value_text(v) for v in row) + ")" for row in rows[:ROWS_MAX])
    more = (len(rows) if total is None else total) > ROWS_MAX
    return printable(out + (" ..." if more else ""))


def answer_of(stmt, results):
    if stmt["error"]:
        text = f"error {stmt['error']}"
    elif stmt["result_sets"]:
        kept = [rows_text(r["rows"] or [], r["total"]) or "no rows" for r in results]
        text = " | ".join(kept) if kept else f"{stmt['rows']} rows"
    else:
        text = f"ok, {stmt['affected']} row{'s' * (stmt['affected'] != 1)}" if stmt["affected"] else "ok"
    return cut(text, ANSWER_MAX) + (", waited" if stmt["blocked_ns"] else "")


def tables_of(records):
    scenario = [r["text"] for r in records if r["kind"] == "note" and r["topic"] == "scenario"]
    if scenario and "[setup]" in scenario[0]:
        setup = scenario[0].split("[setup]", 1)[1].split("[schedule]")[0].strip()
        return [cut(line.rstrip(), TEXT_MAX) for line in setup.split("\n") if line.strip()]
    out = []
    for table in (r for r in records if r["kind"] == "schema"):
        out.append(cut(printable(table["create_text"] or f"{table['name']}: no definition"), 1000) + ";")
        for rows in records:
            if rows["kind"] == "rows" and rows["table"] == table["table"] and rows["moment"] == "initial":
                out.append(f"-- {table['name']}: " + (rows_text(rows["rows"]) or "no rows"))
    return out


def server_of(records):
    server = next((r for r in records if r["kind"] == "server"), {"version": "unknown"})
    levels = sorted({r["level"] for r in records if r["kind"] == "txn" and not r["autocommit"]})
    levels = levels or sorted({r["level"] for r in records if r["kind"] == "txn"})
    how = "a scenario" if any(r["kind"] == "note" and r["topic"] == "scenario" for r in records) else \
        "clients that ran freely"
    version = re.sub(r"-0\+deb.*|-debian.*", "", server["version"])
    return f"{version}{'' if 'Maria' in version else ' (MySQL)'}, {', '.join(LEVELS[n] for n in levels)}; {how}"


def describe(isotrace, path, today):
    """Adds server, tables and the statements' answers to what the program says."""
    done = subprocess.run([isotrace, "show", "--format=json", path], stdout=subprocess.PIPE, text=True, check=True)
    records = json.loads(done.stdout)["records"]
    sessions = {r["session"]: r["client"] for r in records if r["kind"] == "session" and r["event"] == 0}
    results, stmts, texts, prepared = {}, [], {}, {}
    for r in records:
        if r["kind"] == "result":
            results.setdefault((r["session"], r["number"]), []).append(r)
        elif r["kind"] == "stmt":
            stmts.append(r)
            prepared[r["session"], r["number"]] = r["text"]
    stmts.sort(key=lambda r: (r["begin_seq"], r["seq"]))
    def name_of(r):
        named, numbered = f"{sessions.get(r['session'])}.{r['number']}", f"S{r['session']}.{r['number']}"
        return named if named in today.judged or not today.judged and ":" not in named else numbered

    for at, r in enumerate(stmts):
        name = name_of(r)
        text = r["text"] or prepared.get((r["session"], r["prepared"])) or f"command {r['command']}"
        text = today.texts.get(name) or printable(text)
        params = f"with ({','.join(value_text(p) for p in r['params'])})" if r["params"] else ""
        behind = [s for s in stmts[at + 1:] if s["begin_seq"] < r["seq"] and s["session"] != r["session"]]
        late = f"; answered behind {name_of(behind[-1])}" if behind else ""
        texts[name] = cut(text, TEXT_MAX) + (" " + printable(params) if params else "") + " => " + \
            answer_of(r, results.get((r["session"], r["number"]), [])) + late
    today.texts = texts if len(texts) <= LONG else dict(list(texts.items())[:EXCERPT])
    today.tables = tables_of(records)
    today.keys["server"] = server_of(records)
    return today


def say(oracle_tool, isotrace, path, all_sessions=False):
    if f"{os.sep}adya{os.sep}" in os.path.abspath(path):
        return judge_adya(isotrace, path)
    return judge_mvcc(oracle_tool, [(path, all_sessions)])[path]


def make(tool, isotrace, path):
    entry = describe(isotrace, path, say(tool, isotrace, path))
    entry.keys = {"guards": "", "written in": "", **entry.keys}
    entry.write(entry_path(path))


def update(tool, isotrace, path):
    entry = Entry().read(entry_path(path))
    today = say(tool, isotrace, path, "judged with" in entry.keys)
    lost = [line for name, line in ((n, f"{n} is {today.judged[n]}") for n in entry.judged if n in today.judged)
            if entry.judged[name][0] == "decided" != today.judged[name][0]]
    if lost:
        sys.exit(f"{path}: no longer decided, edit the entry by hand: " + ", ".join(lost))
    entry.judged = today.judged or entry.judged
    entry.keys.update(today.keys)
    entry.write(entry_path(path))


def entry_path(path):
    return path.removesuffix(".itr") + ".txt"


def paths_under(folder):
    return sorted(os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)


def check_folder(folder, judge_all):
    """TAP: a line for each recording or entry under the folder.  judge_all: Entry by path of what is said today."""
    names = paths_under(folder)
    recordings = [p for p in names if p.endswith(".itr")]
    entries = {p: Entry().read(entry_path(p)) for p in recordings if entry_path(p) in names}
    said = judge_all(entries)
    problems = {}
    for path in recordings:
        if path not in entries:
            problems[path] = ["it has no entry: recordings.py new makes one to fill in"]
        else:
            problems[path] = incomplete(entries[path]) + differences(entries[path], said[path])
    for path in names:
        if path.endswith(".txt") and path.removesuffix(".txt") + ".itr" not in recordings:
            problems[path] = ["an entry without a recording"]
    return [(os.path.relpath(path, folder), entries[path].keys.get("guards", "") if path in entries else "", lines)
            for path, lines in problems.items()]


def report(results):
    """Prints TAP; says whether anything failed."""
    print(f"1..{len(results)}")
    for number, (name, guards, lines) in enumerate(results, 1):
        print(f"{'not ' if lines else ''}ok {number} - {name}")
        for line in lines:
            print(f"# {name}: {line}")
        if lines and guards:
            print(f"# {name} guards: {' '.join(guards.split())}")
    return any(lines for _, _, lines in results) or not results


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("new", "update", "rules"):
        sys.exit(__doc__)
    if sys.argv[1] == "rules":
        for path in (p for folder in sys.argv[2:] for p in paths_under(folder) if p.endswith(".txt")):
            print(path + ": " + " ".join(Entry().read(path).keys["guards"].split()))
        return
    tool, isotrace = sys.argv[2:4]
    for path in sys.argv[4:]:
        if sys.argv[1] == "update":
            update(tool, isotrace, path)
        elif not os.path.exists(entry_path(path)):
            make(tool, isotrace, path)


if __name__ == "__main__":
    main()
