#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace export to tables: each form says the same, other programs read it, and the manual has every column.

What the tables must say comes from elsewhere: from the records that a test wrote, from `isotrace show` and
`check`.  DuckDB (npm) reads Parquet where it can be had."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys

from run import SCRATCH, isotrace, scratch
import tap
import tracefile

ISOSIM = os.path.abspath(sys.argv[2])
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(ISOSIM)))
DOC = os.path.join(tracefile.ROOT, "docs", "tables.md")
TABLES = ("statements", "transactions", "versions", "edges", "findings")
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def columns():
    """{table: [(name, type, meaning)]}, as the program says."""
    found, table = {}, None
    for line in isotrace("export", "--list-columns").expect().out.splitlines():
        if line.startswith("  "):
            found[table].append((line[2:16].strip(), line[16:31].strip(), line[31:].strip()))
        elif line:
            table = line.split(":")[0]
            found[table] = []
    return found


csv.field_size_limit(1 << 24)
COLUMNS = columns()


def simulated():
    path = scratch("sim.itr")
    if not os.path.exists(path):
        subprocess.run([ISOSIM, "--quiet", "--sessions=4", "--transactions=200", "--unknown=0.02", "--predicate=0.3",
                        "--plant=lost-update", "-o", path], check=True, capture_output=True)
    return path


def awkward():
    """Texts that need quotes, are empty, are no UTF-8, are long; NULL; large numbers; a request."""
    t = tracefile.demo()
    t.stmt(1, 7, "", 8000)
    t.stmt(1, 8, 'select "a,b",\n\'c\'\r\n -- "', 8200)
    t.stmt(1, 9, "select '\udcff\udcfe'", 8400)
    t.stmt(1, 10, f"/* traceparent='{PARENT}',action='buy' */ select 'traceparent=nothing'", 8600)
    t.stmt(1, 11, "select 1 /* traceparent='00-xyz' */", 8800)
    t.stmt(1, 12, "x" * 300000, 9000, insert_id=2 ** 64 - 1)
    path = scratch("awkward.itr")
    t.write(path)
    return path


def read_csv(text, table):
    """Rows as the JSON form has them.  Python's reader does not tell an empty text from NULL, so the texts that
    are quoted and empty are marked before."""
    text = re.sub(r'(?<=[,\n])""(?=[,\r])', '"\x00"', text)
    types = {name: kind for name, kind, _ in COLUMNS[table]}
    rows = []
    for row in csv.DictReader(io.StringIO(text, newline="")):
        out = {}
        for name, value in row.items():
            if value == "":
                out[name] = None
            elif value == "\x00":
                out[name] = ""
            elif types[name] == "number":
                out[name] = int(value)
            elif types[name] == "true or false":
                assert value in ("true", "false"), value
                out[name] = value == "true"
            else:
                out[name] = value
        rows.append(out)
    return rows


def whole_numbers(rows, table):
    """JSON has large numbers as texts."""
    numbers = [name for name, kind, _ in COLUMNS[table] if kind == "number"]
    for row in rows:
        for name in numbers:
            row[name] = None if row[name] is None else int(row[name])
    return rows


def one(path, form, table, status=0):
    result = isotrace("export", "--to=" + form, "--table=" + table, path)
    assert result.status == status, result.err
    return result


def rows_of(path, table, status=0):
    return whole_numbers(one(path, "ndjson", table, status).lines(), table)


def test_csv_and_json_say_the_same():
    for path in (simulated(), awkward()):
        for table in TABLES:
            rows = rows_of(path, table)
            raw = one(path, "csv", table).raw.decode("utf-8")
            assert raw.split("\r\n")[0] == ",".join(name for name, _, _ in COLUMNS[table]), raw[:200]
            assert read_csv(raw, table) == rows, table
            assert all(list(row) == [name for name, _, _ in COLUMNS[table]] for row in rows)


def test_statements_are_the_records():
    rows = rows_of(awkward(), "statements")
    by_name = {(row["session"], row["number"]): row for row in rows}
    shown = [r for r in isotrace("show", "--format=ndjson", awkward()).lines() if r["kind"] == "stmt"]
    assert len(rows) == len(shown) == 16, (len(rows), len(shown))
    waited = by_name[2, 3]
    assert waited["blocked_ns"] == 3_200_000 and waited["blockers"] == "1" and waited["transaction"] == 2
    assert waited["begin"] == "2026-11-16T00:00:00.002000000Z" and waited["end"] == "2026-11-16T00:00:00.005300000Z"
    assert waited["user"] == "ben" and waited["node"] == "n1" and waited["answered"] is True
    assert by_name[1, 6]["error"] == 1062 and by_name[1, 6]["sqlstate"] == "23000"
    assert by_name[1, 5]["error"] is None and by_name[1, 5]["transaction"] is None
    assert by_name[1, 5]["rows"] == 2 and by_name[1, 5]["blocked_ns"] is None
    assert by_name[1, 7]["text"] == ""
    assert by_name[1, 8]["text"] == 'select "a,b",\n\'c\'\r\n -- "'
    assert by_name[1, 9]["text"] == "select '\ufffd\ufffd'"
    assert by_name[1, 12]["text"] == "x" * 300000 and by_name[1, 12]["insert_id"] == 2 ** 64 - 1
    assert by_name[1, 10]["traceparent"] == PARENT and by_name[1, 10]["tag"] == "action=buy"
    assert by_name[1, 11]["traceparent"] is None and by_name[1, 6]["traceparent"] is None


def test_findings_name_the_request():
    """... of each statement of a witness whose comment has one."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={})
    t.add("schema", 0, table=1, node="n1", database="shop", name="stock",
          columns=[["id", "int(11)", False, None, None, None, None], ["n", "int(11)", True, None, None, None, None]],
          primary_key=[0])
    for session in (1, 2):
        t.add("session", 100, session=session, event=0, node="n1", user="anna", database="shop", thread=session)
    at = 1000
    for number, what in enumerate(("begin", "read", "write", "commit"), 1):
        for session in (1, 2):
            text = {"read": f"select n from stock where id=1 /*traceparent='{PARENT}'*/" if session == 2 else
                            "select n from stock where id=1",
                    "write": "update stock set n=n+1 where id=1"}.get(what, what)
            at += 200
            t.stmt(session, number, text, at, txn=session, rows=[[10]] if what == "read" else None,
                   affected=int(what == "write"))
            if what in ("read", "write"):
                row = [1, 100, None, [1, 10]] if what == "read" else [1, 100 + session, 99 + session, [1, 10 + session], 2]
                t.add("probe", at + 150, session=session, number=number, txn=session, probe=6 if what == "read" else 7,
                      table=1, exact=True, read_kind=1 if what == "read" else 2, rows=[row])
            if what in ("begin", "commit"):
                t.add("txn", at + 150, session=session, txn=session, event=int(what == "commit"), number=number, level=3,
                      outcome=int(what == "commit"), begin=tracefile.MONO + 1000_000)
    path = scratch("request.itr")
    t.write(path)
    found = isotrace("check", "--format=json", "--contract=adya", path).json()["findings"]
    steps = {(s["session"], s["statement"]): s.get("traceparent") for f in found for s in f["witness"]["statements"]}
    assert steps.pop((2, 2)) == PARENT and steps and not any(steps.values()), (steps, found)


def test_transactions_versions_and_edges_fit_together():
    path = simulated()
    check = isotrace("check", "--format=json", "--examples=1000", path).json()
    transactions = {row["transaction"]: row for row in rows_of(path, "transactions")}
    versions = rows_of(path, "versions")
    edges = rows_of(path, "edges")
    findings = rows_of(path, "findings")
    ends = [r for r in isotrace("show", "--format=ndjson", path).lines() if r["kind"] == "txn" and r["event"] == 1]
    assert {r["txn"] for r in ends} <= set(transactions)
    for r in ends:
        row = transactions[r["txn"]]
        assert row["session"] == r["session"] and row["outcome"] == ("unknown", "committed", "aborted")[r["outcome"]]
    for row in versions:
        if row["kind"] == "written":
            assert row["transaction"] in transactions and transactions[row["transaction"]]["writes"] > 0
        assert (row["kind"] == "unborn") == (row["position"] == 0 and row["version"] == "unborn")
    # Every ww edge is two installed versions of a row that stand one after the other.
    installed = {(v["table"], v["key"], v["position"]): v for v in versions if v["position"] is not None}
    places = {(v["table"], v["key"], v["version"], v["transaction"]): v["position"] for v in versions}
    ww = [e for e in edges if e["kind"] == "ww"]
    assert len(ww) > 50
    for edge in ww:
        at = places[edge["table"], edge["key"], edge["to_version"], edge["to"]]
        assert installed[edge["table"], edge["key"], at - 1]["transaction"] == edge["from"], edge
        assert transactions[edge["from"]]["counts"] and transactions[edge["to"]]["counts"]
    # The graph in another form has as many.
    dot = isotrace("export", "--to=dot", path).out
    assert dot.count(" -> ") == len(edges), (dot.count(" -> "), len(edges))
    assert {f["id"] for f in findings} == {f["id"] for f in check["findings"]}


def test_folder():
    folder = scratch("tables")
    for form in ("csv", "ndjson", "parquet"):
        isotrace("export", "--to=" + form, simulated(), "-o", folder).expect()
    names = sorted(os.listdir(folder))
    assert names == sorted(f"{t}.{f}" for t in TABLES for f in ("csv", "ndjson", "parquet")), names
    for name in names:
        assert os.stat(os.path.join(folder, name)).st_mode & 0o077 == 0, name
    for table in TABLES:
        with open(os.path.join(folder, table + ".csv"), "rb") as file:
            assert file.read() == one(simulated(), "csv", table).raw
    again = scratch("again")
    isotrace("export", "--to=parquet", simulated(), "-o", again).expect()
    for table in TABLES:
        with open(os.path.join(folder, table + ".parquet"), "rb") as a, \
                open(os.path.join(again, table + ".parquet"), "rb") as b:
            assert a.read() == b.read(), table


def test_wrong_uses():
    path = simulated()
    isotrace("export", "--to=csv", path).expect(2, "give --output FOLDER")
    isotrace("export", "--to=elle", "--table=edges", path).expect(2, "--table goes with")
    result = isotrace("export", "--to=csv", path, "-o", path)
    assert result.status == 2 and "one of the inputs" in result.err or "read" in result.err, result.err
    plain = scratch("plain.txt")
    with open(plain, "w", encoding="ascii") as file:
        file.write("x")
    isotrace("export", "--to=csv", path, "-o", plain).expect(2, "no folder")
    isotrace("export", "--to=csv", "--table=nothing", path).expect(2, "nothing")
    isotrace("export", "--to=csv", "--table=edges", os.devnull).expect(4, "")
    full = isotrace("export", "--to=ndjson", "--table=statements", "-o", "/dev/full", path)
    assert full.status != 0 and full.err, full.err


def test_incomplete_trace_is_told():
    whole = awkward()
    cut = scratch("cut.itr")
    shutil.copy(whole, cut)
    with open(cut, "r+b") as file:
        file.truncate(os.path.getsize(whole) - 20)
    assert "torn" in one(cut, "csv", "statements", 3).err
    assert one(cut, "csv", "transactions", 3).err


def test_manual_has_every_column():
    with open(DOC, encoding="utf-8") as file:
        text = file.read()
    for table, listed in COLUMNS.items():
        part = re.search(rf"^### {table}$(.*?)(?=^### |\Z)", text, re.DOTALL | re.MULTILINE)[1]
        rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", part, re.MULTILINE)
        assert rows == listed, [r for r in zip(rows, listed) if r[0] != r[1]][:1] or (len(rows), len(listed))


def node_folder():
    folder = os.path.join(BUILD, "tables-node")
    if not shutil.which("npm"):
        raise tap.Skip("npm is not installed")
    if not os.path.isdir(os.path.join(folder, "node_modules", "@duckdb", "node-api")):
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1",
                               "--prefix", ".", "@duckdb/node-api@latest"], cwd=folder, capture_output=True, text=True, timeout=300,
                              check=False)
        if done.returncode:
            raise tap.Skip("npm cannot install DuckDB here")
    return folder


DUCKDB = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  for (const sql of JSON.parse(process.argv[2]))
    console.log(JSON.stringify((await db.runAndReadAll(sql)).getRowsJson()));
})().catch(e => { console.error(String(e)); process.exit(1); });
"""


def duckdb(queries, cwd):
    folder = node_folder()
    script = os.path.join(folder, "query.js")
    with open(script, "w", encoding="ascii") as out:
        out.write(DUCKDB)
    done = subprocess.run(["node", script, json.dumps(queries)], cwd=cwd, capture_output=True, text=True, timeout=120,
                          check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_duckdb_reads_parquet():
    for path in (simulated(), awkward()):
        folder = scratch("duckdb-" + os.path.basename(path))
        os.makedirs(folder)
        for form in ("ndjson", "parquet"):
            isotrace("export", "--to=" + form, path, "-o", os.path.join(folder, "tables")).expect()
        for table in TABLES:
            expected = rows_of(path, table)
            names = ", ".join(f'CAST("{n}" AS VARCHAR)' if k != "time" else f'epoch_ns("{n}"::TIMESTAMP_NS)::VARCHAR'
                              for n, k, _ in COLUMNS[table])
            got = duckdb([f"SELECT {names} FROM 'tables/{table}.parquet'"], folder)[0]
            assert len(got) == len(expected), table
            for row, want in zip(got, expected):
                for value, (name, kind, _) in zip(row, COLUMNS[table]):
                    assert as_duckdb(want[name], kind) == value, (table, name, want[name], value)


def as_duckdb(value, kind):
    if value is None:
        return None
    if kind == "true or false":
        return "true" if value else "false"
    if kind == "time":
        day, rest = value.rstrip("Z").split("T")
        seconds, nanos = rest.split(".")
        import calendar
        import time
        whole = calendar.timegm(time.strptime(day + " " + seconds, "%Y-%m-%d %H:%M:%S"))
        # DuckDB keeps microseconds of a time with a time zone.
        return str(whole * 10 ** 9 + int(nanos) // 1000 * 1000)
    return str(value)


def test_examples_of_the_manual():
    with open(DOC, encoding="utf-8") as file:
        queries = re.findall(r"^```sql\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
    assert len(queries) == 3
    isotrace("export", "--to=parquet", simulated(), "-o", os.path.join(SCRATCH, "tables")).expect()
    waited, rows, findings = duckdb(queries, SCRATCH)
    assert len(rows) == 10 and int(rows[0][2]) >= int(rows[9][2])
    assert findings and all(len(row) == 6 for row in findings), (waited, findings[:1])


def test_pandas_example():
    try:
        import pandas  # noqa: F401 pylint: disable=unused-import,import-outside-toplevel
    except ImportError as missing:
        raise tap.Skip("pandas is not installed") from missing
    with open(DOC, encoding="utf-8") as file:
        code = re.search(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)[1]
    isotrace("export", "--to=ndjson", simulated(), "-o", os.path.join(SCRATCH, "tables")).expect()
    done = subprocess.run([sys.executable, "-c", code], cwd=SCRATCH, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "committed" in done.stdout, done.stderr + done.stdout


if __name__ == "__main__":
    tap.main(globals())
