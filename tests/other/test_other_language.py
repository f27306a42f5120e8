# SPDX-License-Identifier: GPL-2.0-or-later
"""The trace format as others see it: a reader in another language agrees with isotrace, and the
tables of docs/trace-format.md say what formats/trace/record.h does.

    test_other_language.py ISOTRACE MAKE_TRACE SOURCE_ROOT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ISOTRACE, MAKE_TRACE, ROOT = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, "tests", "scripts"))
import tap  # noqa: E402  pylint: disable=wrong-import-position


def needs_libraries():
    try:
        import msgpack  # noqa: F401  pylint: disable=unused-import,import-outside-toplevel
        import zstandard  # noqa: F401  pylint: disable=unused-import,import-outside-toplevel
    except ImportError as error:
        raise tap.Skip(f"{error}: python3-msgpack and python3-zstandard are needed") from error


def run(*command, accept=(0,)):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode in accept, (
        f"{command} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def theirs(path):
    reader = os.path.join(HERE, "read_trace.py")
    return json.loads(run(sys.executable, reader, "--in-order", path))


def ours(path, accept=(0,)):
    return json.loads(run(ISOTRACE, "show", "--format=json", path, accept=accept))


def by_seq(records):
    return sorted(records, key=lambda record: int(record["seq"]))


def same(path, accept=(0,)):
    left, right = by_seq(ours(path, accept)["records"]), theirs(path)
    # Footers are the file's own business, and show leaves them out.
    right["records"] = [record for record in right["records"] if record["kind"] != "footer"]
    assert len(left) == len(right["records"]), (len(left), len(right["records"]))
    for one, other in zip(left, right["records"]):
        assert one == other, f"isotrace: {one}\nthe other: {other}"
        assert list(one) == list(other), "the order of the fields"
    return right


def test_both_read_the_same():
    needs_libraries()
    kinds = set()
    for seed in range(1, 7):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.itr")
            run(MAKE_TRACE, path, str(seed), "200")
            kinds |= {record["kind"] for record in same(path)["records"]}
    assert len(kinds) == 12, kinds  # all that are emitted


def test_both_read_segments():
    needs_libraries()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        run(MAKE_TRACE, path, "7", "400", "60000")
        assert len(os.listdir(path)) > 2
        same(path)


def test_both_read_a_torn_trace():
    needs_libraries()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.itr")
        run(MAKE_TRACE, path, "8", "100")
        size = os.path.getsize(path)
        torn = set()
        for cut in range(size - 1, size // 2, -size // 40):
            os.truncate(path, cut)
            torn.add(same(path, accept=(3,))["torn"])
        assert len(torn) > 5


def header_tables():
    """Kind number, name and fields of formats/trace/record.h."""
    with open(os.path.join(ROOT, "formats", "trace", "record.h"), encoding="utf-8") as file:
        text = file.read().replace("\\\n", "\n")
    numbers = dict(re.findall(r"\bRECORD_([A-Z]+) = (\d+)", text))
    tables = {}
    for upper, body in re.findall(r"#define RECORD_([A-Z]+)_FIELDS\(F\)\s*?\n(.*?)\n\n", text, re.S):
        body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        tables[int(numbers[upper])] = (
            upper.lower(), [(name, kind) for kind, name in re.findall(r"F\((\w+), (\w+)\)", body)])
    return tables


def document_tables():
    with open(os.path.join(ROOT, "docs", "trace-format.md"), encoding="utf-8") as file:
        text = file.read()
    tables = {}
    for name, number, body in re.findall(r"^### (\w+) \((\d+)\)\n(.*?)(?=^##)", text, re.S | re.M):
        rows = re.findall(r"^\| (\d+) \| (\w+) \| (\w+) \|", body, re.M)
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1)), name
        tables[int(number)] = (name, [(row[1], row[2]) for row in rows])
    return tables


def test_the_document_has_all_fields():
    header, document = header_tables(), document_tables()
    assert len(header) == 15
    assert sorted(header) == sorted(document), (sorted(header), sorted(document))
    for number, table in header.items():
        assert table == document[number], f"record.h: {table}\ndocument: {document[number]}"


def test_the_other_reader_follows_the_document():
    needs_libraries()
    sys.path.insert(0, HERE)
    import read_trace  # pylint: disable=import-outside-toplevel
    words = {"u64": "uint", "u32": "uint", "u8": "uint"}
    for number, (name, table) in document_tables().items():
        want = [(field, words.get(kind, kind)) for field, kind in table]
        assert read_trace.KINDS[number] == (name, want), name


if __name__ == "__main__":
    tap.main(globals())
