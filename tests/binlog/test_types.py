# SPDX-License-Identifier: GPL-2.0-or-later
"""The decoder of binary logs against what the server itself answers, and against the servers' own tools.

Arguments: ISOREC ISOTRACE ISOREC-SERVERS RELEASE
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
import pymysql  # noqa: E402

ISOREC, ISOTRACE, SERVERS, RELEASE = sys.argv[1:5]
MARIADB = RELEASE.startswith("mariadb")
OLD = RELEASE == "mysql-5.6"
INSTANCE = "binlog-types-%d" % os.getpid()

# Name, type, values of one row each.  A value is SQL text.
COLUMNS = [
    ("ti", "tinyint", "-128", "127", "0"),
    ("tu", "tinyint unsigned", "0", "255", "128"),
    ("si", "smallint", "-32768", "32767", "-1"),
    ("su", "smallint unsigned", "0", "65535", "32768"),
    ("mi", "mediumint", "-8388608", "8388607", "-1"),
    ("mu", "mediumint unsigned", "0", "16777215", "8388608"),
    ("i", "int", "-2147483648", "2147483647", "-1"),
    ("iu", "int unsigned", "0", "4294967295", "2147483648"),
    ("bi", "bigint", "-9223372036854775808", "9223372036854775807", "-1"),
    ("bu", "bigint unsigned", "0", "18446744073709551615", "9223372036854775808"),
    ("bz", "int zerofill", "5", "0", "77"),
    ("bo", "bool", "true", "false", "null"),
    ("ye", "year", "1901", "2155", "0"),
    ("de", "decimal(10,2)", "-12345678.91", "99999999.99", "0.05"),
    ("dz", "decimal(65,30)", "-1.000000000000000000000000000001", "99999999999999999999999999999999999.5",
     "0.000000000123456789012345678901"),
    ("d9", "decimal(9,9)", "0.123456789", "-0.999999999", "0"),
    ("d0", "decimal(38,0)", "-99999999999999999999999999999999999999", "123456789012345678", "0"),
    ("du", "decimal(12,3) unsigned", "0.001", "123456789.125", "5"),
    ("fl", "float", "1.5", "-3.25e10", "0"),
    ("fu", "float unsigned", "1.5", "3.25e10", "0"),
    ("do", "double", "-2.25e100", "1.7976931348623157e308", "0.1"),
    ("b1", "bit(1)", "b'1'", "b'0'", "null"),
    ("b8", "bit(8)", "b'10101010'", "255", "0"),
    ("bb", "bit(10)", "b'1010'", "1023", "513"),
    ("bm", "bit(64)", "b'1'", "18446744073709551615", "9223372036854775809"),
    ("da", "date", "'2026-11-16'", "'0000-00-00'", "'9999-12-31'"),
    ("t0", "time", "'-838:59:59'", "'838:59:59'", "'00:00:00'"),
    ("t1", "time(1)", "'-00:00:00.1'", "'12:34:56.7'", "'-12:00:01.9'"),
    ("t2", "time(2)", "'-00:00:01.99'", "'12:34:56.78'", "'-100:59:59.01'"),
    ("t3", "time(3)", "'-838:59:58.125'", "'00:00:00.001'", "'-00:00:00.999'"),
    ("t4", "time(4)", "'-00:00:00.0001'", "'12:34:56.7891'", "'-01:00:00.5'"),
    ("t5", "time(5)", "'-00:00:01.00001'", "'12:34:56.78912'", "'-20:20:20.99999'"),
    ("t6", "time(6)", "'-00:00:00.000001'", "'838:59:58.999999'", "'-12:34:56.654321'"),
    ("dt", "datetime", "'2026-11-16 01:02:03'", "'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'"),
    ("d1", "datetime(1)", "'2026-11-16 01:02:03.4'", "'1000-01-01 00:00:00.9'", "'2000-02-29 12:00:00.0'"),
    ("d3", "datetime(3)", "'2026-11-16 01:02:03.456'", "'1999-12-31 23:59:59.999'", "'2000-02-29 12:00:00.001'"),
    ("d6", "datetime(6)", "'2026-11-16 01:02:03.000001'", "'9999-12-31 23:59:59.999999'", "null"),
    ("ts", "timestamp null", "'2026-11-16 01:02:03'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"),
    ("s2", "timestamp(2) null", "'2026-11-16 01:02:03.25'", "'1970-01-01 00:00:01.01'", "null"),
    ("s6", "timestamp(6) null", "'2026-11-16 01:02:03.000007'", "'2000-01-01 00:00:00'", "null"),
    ("ch", "char(10)", "'ab '", "''", "'ünï ☃'"),
    ("cb", "char(255)", "repeat('é', 255)", "'x'", "null"),
    ("cl", "char(20) character set latin1", "'grün €'", "'ÿ'", "''"),
    ("bn", "binary(6)", "x'616200'", "x''", "x'000000000001'"),
    ("bx", "binary(255)", "x'00'", "repeat('a', 255)", "null"),
    ("vc", "varchar(50)", "'grün'", "''", "'it''s \\\\ \"q\"'"),
    ("vl", "varchar(300)", "repeat('ab', 150)", "'a'", "'trailing  '"),
    ("v1", "varchar(20) character set latin1", "'äöü€'", "''", "'plain'"),
    ("v2", "varchar(20) character set latin2", "'łódź'", "''", "'plain'"),
    ("v8", "varchar(20) character set cp1251", "'привет'", "''", "'plain'"),
    ("vu", "varchar(20) character set ucs2", "'ünï'", "''", "'plain'"),
    ("v6", "varchar(20) character set utf16", "'ü€😀'", "''", "'plain'"),
    ("v3", "varchar(20) character set utf32", "'ü€😀'", "''", "'plain'"),
    ("va", "varchar(20) character set ascii", "'abc'", "''", "null"),
    ("vm", "varchar(20) character set utf8mb4", "'😀☃'", "''", "null"),
    ("vg", "varchar(20) character set gbk", "'中文'", "''", "'plain'"),
    ("vb", "varbinary(300)", "x'00ff0a'", "x''", "repeat(x'00', 300)"),
    ("tb", "tinyblob", "x'00ff27'", "x''", "null"),
    ("bl", "blob", "repeat(x'00ff', 3000)", "x''", "x'27'"),
    ("mb", "mediumblob", "repeat(x'ab', 70000)", "x''", "null"),
    ("lb", "longblob", "x'010203'", "x''", "null"),
    ("tt", "tinytext", "'tiny ü'", "''", "null"),
    ("tx", "text", "repeat('text ü ', 1000)", "''", "null"),
    ("tl", "text character set latin1", "'grün €'", "''", "null"),
    ("mt", "mediumtext", "'medium'", "''", "null"),
    ("lt", "longtext", "'long'", "''", "null"),
    ("en", "enum('a','b','it''s','ü')", "'b'", "'it''s'", "'ü'"),
    ("el", "enum('x','grün') character set latin1", "'grün'", "'x'", "null"),
    ("ex", "enum(" + ",".join("'m%d'" % n for n in range(300)) + ")", "'m299'", "'m0'", "'m255'"),
    ("st", "set('x','y','z')", "'x,z'", "''", "'y'"),
    ("sl", "set(" + ",".join("'s%d'" % n for n in range(64)) + ")", "'s0,s63'", "''", "'s31,s32'"),
    ("ge", "geometry", "PT(1,2)", "PT(-1.5,2.25)", "null"),
    ("po", "point", "PT(3,4)", "null", "PT(0,0)"),
]
JSON_VALUES = [
    "'{\"a\": [1, 2.5, -3, true, null, \"x\"], \"bb\": {\"c\": \"\\\\u00fc\\\\n\"}, \"\": 0}'",
    "'[1e20, 1e-20, 0.1, 1.0, 123456789012345680000, 4294967296, -9223372036854775808, 18446744073709551615]'",
    "'\"text\"'"]
if not OLD:
    COLUMNS.append(("js", "json", *JSON_VALUES))
if MARIADB:
    COLUMNS += [
        ("i6", "inet6", "'::1'", "'2001:db8::ff00:42:8329'", "'::ffff:192.0.2.1'"),
        ("cc", "varchar(2000) compressed", "repeat('compress me ', 100)", "'short'", "''"),
        ("ct", "text compressed character set latin1", "repeat('ü', 500)", "'short'", "null"),
        ("cx", "blob compressed", "repeat(x'00', 5000)", "x'ff'", "null"),
    ]
    if RELEASE != "mariadb-10.5":
        COLUMNS += [("i4", "inet4", "'1.2.3.4'", "'0.0.0.0'", "'255.255.255.255'"),
                    ("uu", "uuid", "'123e4567-e89b-12d3-a456-426655440000'",
                     "'018f4e6a-7b1c-7def-8123-456789abcdef'", "'00000000-0000-0000-0000-000000000000'")]
    if RELEASE.startswith("mariadb-11"):
        COLUMNS.append(("ve", "vector(3)", "vec_fromtext('[1,2.5,-3]')", "vec_fromtext('[0,0,0]')", "null"))
if RELEASE == "mysql-9.7":
    COLUMNS.append(("ve", "vector(3)", "string_to_vector('[1,2.5,-3]')", "string_to_vector('[0,0,0]')", "null"))


class Server:
    def __init__(self, *options):
        done = subprocess.run([SERVERS, "start", RELEASE, "--name=" + INSTANCE, "--json", "--binlog=on",
                               "--with-parent=%d" % os.getpid(), "--", *options],
                              capture_output=True, text=True, check=False)
        if done.returncode == 77:
            print("1..0 # SKIP " + done.stderr.strip())
            sys.exit(0)
        assert done.returncode == 0, done.stderr
        self.instance = json.loads(done.stdout)
        self.port = self.instance["port"]
        self.db = pymysql.connect(host="127.0.0.1", port=self.port, user="root", charset="utf8mb4", autocommit=True)
        self.run("set time_zone = '+00:00', sql_mode = ''")
        self.run("create database if not exists types")
        if not OLD:
            self.run("set names utf8mb4")

    def run(self, sql):
        with self.db.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def stop(self):
        self.db.close()
        subprocess.run([SERVERS, "stop", INSTANCE], capture_output=True, check=False)

    def folder(self):
        return self.run("select @@datadir")[0][0]


SERVER = None


def trace(*args, status=0):
    """The records of what isorec binlog makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.itr")
        done = subprocess.run([ISOREC, "binlog", "-o", path, "--keep-value=16M", *args], capture_output=True, text=True, check=False)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", path], capture_output=True, text=True, check=False)
        assert shown.returncode in (0, 3), shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()], done.stdout


def images(records, table):
    """(operation, image before, image after) of the table's rows, in order."""
    numbers = [r["table"] for r in records if r["kind"] == "schema" and r["name"] == table]
    return [(row[4], row[6] if len(row) > 6 else None, row[3] if len(row) > 3 else None)
            for r in records if r["kind"] == "probe" and r["table"] in numbers for row in r["rows"]], numbers


def plain(value):
    """A value of the trace as text or bytes in hexadecimal."""
    if isinstance(value, dict):
        (kind, inner), = value.items()
        if kind == "base64":
            import base64
            return base64.b64decode(inner).hex().upper()
        return str(inner)
    if isinstance(value, bool):
        return str(int(value))
    return None if value is None else str(value)


def expected_query(table):
    """Columns as the server prints them; bytes in hexadecimal."""
    items = []
    for name, kind, *_ in COLUMNS:
        word = kind.split("(")[0].split(" ")[0]
        if word == "bit":
            digits = 2 * ((int(re.search(r"\((\d+)", kind)[1]) + 7) // 8)
            items.append("lpad(hex(%s+0), %d, '0')" % (name, digits))
        elif word in ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
                      "vector"):
            items.append("hex(%s)" % name)
        elif word in ("float", "double"):
            items.append(name)
        else:
            items.append("cast(%s as char)" % name)
    return "select id, %s from %s order by id" % (", ".join(items), table)


def same(kind, got, want):
    if got is None or want is None:
        return got is None and want is None
    word = kind.split("(")[0].split(" ")[0]
    if word in ("float", "double"):
        return float(got) == float(want) or abs(float(got) - float(want)) <= abs(float(want)) * 1e-6
    if "zerofill" in kind:
        return int(got) == int(want)
    if word in ("bool",):
        return got == str(want)
    if word in ("tinyint", "smallint", "mediumint", "int", "bigint", "year"):
        return int(got) == int(want)
    if word in ("bit", "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point",
                "vector"):
        return got.upper() == str(want).upper()
    return got == want


def compare(rows, answer):
    assert len(rows) == len(answer), (len(rows), len(answer))
    wrong = []
    for image, want in zip(rows, answer):
        for (name, kind, *_), got, wanted in zip(COLUMNS, image[1:], want[1:]):
            if not same(kind, plain(got), wanted):
                wrong.append("row %s, %s %s: the log has %.80r, the server says %.80r" % (
                    want[0], name, kind[:40], plain(got), wanted))
    assert not wrong, "\n".join(wrong)


def fill(table):
    SERVER.run("create table %s (id int primary key, %s) charset=utf8mb4" % (
        table, ", ".join("%s %s" % c[:2] for c in COLUMNS)))
    for row in range(3):
        SERVER.run("insert into %s values (%d, %s)" % (table, row + 1, ", ".join(
            c[2 + row].replace("PT(", "point(") for c in COLUMNS)))
    SERVER.run("insert into %s (id) values (4)" % table)


def check_types(table, *args):
    records, _ = trace(*args)
    got, numbers = images(records, table)
    assert len(numbers) == 1
    inserted = [after for op, before, after in got if op == 1]
    compare(inserted, SERVER.run(expected_query(table)))
    return got


def live(*more):
    return ("-P%d" % SERVER.port, "--from=beginning", *more)


def test_types_as_the_server_answers():
    SERVER.run("use types")
    fill("plain")
    got = check_types("plain", *live())
    assert len(COLUMNS) >= 50
    # Each row's image before is the image after of what came before.
    SERVER.run("update plain set ti = coalesce(ti, 0) - 1, vc = 'new' where id < 4 and ti > -128 or id = 4")
    SERVER.run("update plain set id = 10 where id = 4")
    SERVER.run("delete from plain where id < 3")
    records, _ = trace(*live())
    got, _ = images(records, "plain")
    current = {}
    for op, before, after in got:
        if op != 1:
            assert current.pop(before[0]) == before
        if op != 3:
            current[after[0]] = after
    assert sorted(current) == [3, 10]
    compare([current[k] for k in sorted(current)], SERVER.run(expected_query("plain")))


def test_files_say_the_same_as_the_server():
    SERVER.run("flush logs")
    folder = SERVER.folder()
    names = [row[0] for row in SERVER.run("show binary logs")]
    files = [os.path.join(folder, name) for name in names[:-1]]
    from_files, _ = trace("--definitions", "-P%d" % SERVER.port, *files)
    from_server, _ = trace(*live())
    keep = ("probe",)
    strip = lambda records: [r["rows"] for r in records if r["kind"] in keep]  # noqa: E731
    assert strip(from_files) == strip(from_server)[:len(strip(from_files))]
    assert strip(from_files)


def test_metadata_makes_files_complete():
    if OLD:
        raise tap.Skip("MySQL 5.6 writes none")
    SERVER.run("set global binlog_row_metadata = full")
    SERVER.run("flush logs")
    SERVER.run("use types")
    fill("full_meta")
    SERVER.run("flush logs")
    names = [row[0] for row in SERVER.run("show binary logs")]
    named = [c for c in COLUMNS if not c[1].startswith(("inet", "uuid"))]
    records, _ = trace(os.path.join(SERVER.folder(), names[-2]))
    got, numbers = images(records, "full_meta")
    schema = next(r for r in records if r["kind"] == "schema" and r["table"] == numbers[0])
    assert [c[0] for c in schema["columns"]] == ["id"] + [c[0] for c in COLUMNS]
    assert schema["primary_key"] == [0]
    want = SERVER.run(expected_query("full_meta"))
    # Only the definition tells that these bytes are printed as addresses.
    at = [n + 1 for n, c in enumerate(COLUMNS) if c in named]
    keep = [[image[0]] + [image[i] for i in at] for op, _, image in got if op == 1]
    wanted = [[row[0]] + [row[i] for i in at] for row in want]
    everything = COLUMNS[:]
    COLUMNS[:] = named
    try:
        compare(keep, wanted)
    finally:
        COLUMNS[:] = everything


def test_collations():
    """Each collation of the server belongs to the character set that our table names."""
    SERVER.run("use types")
    rows = SERVER.run("select min(collation_name), character_set_name from information_schema.collations "
                      "where character_set_name is not null group by character_set_name")
    sample = {"ascii": "abc", "binary": "abc"}
    columns = []
    for collation, charset in rows:
        if charset in ("binary", "filename"):
            continue
        columns.append((charset, collation))
    SERVER.run("create table sets (id int primary key, %s) charset=utf8mb4" % ", ".join(
        "c_%s varchar(10) character set %s" % (c, c) for c, _ in columns))
    SERVER.run("insert into sets values (1, %s)" % ", ".join("'%s'" % sample.get(c, "ab1") for c, _ in columns))
    records, _ = trace(*live())
    got, _ = images(records, "sets")
    wrong = [c for (c, _), value in zip(columns, got[0][2][1:]) if value != sample.get(c, "ab1")
             and not isinstance(value, dict)]
    assert not wrong, wrong


def tool():
    """The server's own reader of binary logs, run by the release that has it; None: there is none."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(SERVER.folder().rstrip("/"))))
    releases = os.path.join(root, "releases")
    names = {"mariadb-10.5": "galera-10.11", "mariadb-10.11": "galera-10.11", "mariadb-11.8": "galera-11.8",
             "mysql-5.6": "mysql-8.0"}
    base = os.path.join(releases, names.get(RELEASE, RELEASE), "root")
    program = os.path.join(base, "usr/bin", "mariadb-binlog" if MARIADB else "mysqlbinlog")
    library = os.path.join(base, "usr/lib/x86_64-linux-gnu")
    loader = os.path.join(library, "ld-linux-x86-64.so.2")
    if not os.path.exists(program):
        return None
    return [loader, "--library-path", library, program] if os.path.exists(loader) else [program]


def tool_rows(text, table):
    """(operation, {column number: text}, {...}) of the rows that the tool prints."""
    rows, part = [], None
    for line in text.splitlines():
        if not line.startswith("### "):
            continue
        line = line[4:]
        head = re.match(r"(INSERT INTO|UPDATE|DELETE FROM) `(\w+)`\.`(\w+)`", line)
        if head:
            part = None
            if head[3] == table:
                rows.append([head[1], {}, {}])
                part = 1
        elif part and line in ("SET", "WHERE"):
            part = 2 if line == "SET" else 1
        elif part:
            cell = re.match(r"  @(\d+)=(.*)", line, re.S)
            if cell:
                rows[-1][part][int(cell[1])] = cell[2]
    return rows


def tool_agrees(kind, ours, told):
    """None: such a value is not compared, as the tool prints it in another way."""
    word = kind.split("(")[0].split(" ")[0]
    if told == "NULL" or ours is None:
        return told == "NULL" and ours is None
    if word in ("tinyint", "smallint", "mediumint", "int", "bigint", "bool", "year"):
        numbers = [int(n) for n in re.findall(r"-?\d+", told)]
        # MariaDB's tool prints the year 0 as 1900.
        return int(ours) in numbers or (word == "year" and ours == "0" and numbers == [1900])
    if word == "decimal":
        import decimal
        return decimal.Decimal(ours) == decimal.Decimal(told)
    if word in ("float", "double"):
        return abs(float(told.split()[0]) - float(ours)) <= abs(float(ours)) * 1e-4
    if word == "bit":
        return int(ours, 16) == int(told[2:-1], 2)
    if word == "timestamp":
        import calendar
        import decimal
        import time
        clock, _, fraction = ours.partition(".")
        seconds = calendar.timegm(time.strptime(clock, "%Y-%m-%d %H:%M:%S"))
        return decimal.Decimal(told) == decimal.Decimal("%d.%s" % (seconds, fraction or "0"))
    if word in ("date", "time", "datetime"):
        return ours.replace("-", ":").lstrip("0") == told.strip("'").replace("-", ":").lstrip("0")
    if word in ("char", "varchar", "tinytext", "text", "mediumtext", "longtext") and "set" not in kind and \
            "compressed" not in kind and ours.isascii() and not re.search(r"[\\\\']", ours):
        return told == "'%s'" % ours
    return None


def test_the_servers_own_tool_prints_the_same():
    program = tool()
    if not program:
        raise tap.Skip("no tool of that release")
    everything = COLUMNS[:]
    # MySQL's tool stops at a geometry.
    COLUMNS[:] = [c for c in COLUMNS if c[1] not in ("geometry", "point", "vector(3)")]
    try:
        compare_with_tool(program)
    finally:
        COLUMNS[:] = everything


def compare_with_tool(program):
    SERVER.run("use types")
    SERVER.run("flush logs")
    fill("told")
    SERVER.run("update told set ti = coalesce(ti, 0) + 1, vc = 'new', id = id + 100 where id > 1")
    SERVER.run("delete from told where id > 102")
    SERVER.run("flush logs")
    name = [row[0] for row in SERVER.run("show binary logs")][-2]
    path = os.path.join(SERVER.folder(), name)
    done = subprocess.run([*program, "--no-defaults", "-vv", "--base64-output=decode-rows", path],
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    told = tool_rows(re.sub(r" /\* .*? \*/$", "", done.stdout.decode("utf-8", "replace"), flags=re.M), "told")
    records, _ = trace("--definitions", "-P%d" % SERVER.port, path)
    got, _ = images(records, "told")
    words = {1: "INSERT INTO", 2: "UPDATE", 3: "DELETE FROM"}
    assert [words[g[0]] for g in got] == [t[0] for t in told] and len(got) == 9, (len(got), len(told))
    compared, wrong = 0, []
    kinds = [("id", "int")] + [c[:2] for c in COLUMNS]
    for (op, before, after), (_, where, values) in zip(got, told):
        for image, cells in ((before, where if op != 1 else None), (after, values if op != 3 else None)):
            for n, (column, kind) in enumerate(kinds, 1):
                if image is None or cells is None:
                    continue
                answer = tool_agrees(kind, plain(image[n - 1]), cells[n])
                compared += answer is not None
                if answer is False:
                    wrong.append("%s %s: ours %.60r, the tool's %.60r" % (column, kind, plain(image[n - 1]), cells[n]))
    assert not wrong, "\n".join(wrong)
    assert compared > 400, compared


def test_partial_json():
    if MARIADB or OLD:
        raise tap.Skip("only MySQL 8 and newer")
    SERVER.run("use types")
    SERVER.run("create table partial (id int primary key, a json, b int, c json)")
    SERVER.run("insert into partial values (1, '{\"a\": 1, \"b\": [1, 2, 3], \"long key\": {\"x\": \"yyyyyyyyyyyyyyyyyyyyyyyyy\"}}', "
               "0, '[1, 2, {\"k\": \"vvvvvvvvvvvvvvvvvvvvvvvv\"}]')")
    SERVER.run("set session binlog_row_value_options = partial_json")
    for change in ("a = json_set(a, '$.a', 'a longer text than before')", "a = json_set(a, '$.b[1]', 17)",
                   "c = json_remove(c, '$[0]')", "a = json_remove(a, '$.\"long key\".x'), c = json_set(c, '$[1].k', null)",
                   "a = json_set(a, '$.zz', 1.5, '$.\"long key\".n', '\\n\"')", "a = json_replace(a, '$.b', json_array())",
                   "b = b + 1, c = json_set(c, '$[0]', 3.0)", "a = json_array_insert(a, '$.b[0]', 5)"):
        SERVER.run("update partial set " + change)
    SERVER.run("set session binlog_row_value_options = ''")
    records, _ = trace(*live())
    got, _ = images(records, "partial")
    want = SERVER.run("select cast(a as char), cast(c as char) from partial")[0]
    assert [plain(got[-1][2][1]), plain(got[-1][2][3])] == list(want), (got[-1][2], want)
    for (_, before, _), (_, _, after) in zip(got[1:], got):
        assert before == after


def test_compressed_transactions():
    SERVER.run("use types")
    if MARIADB:
        SERVER.run("set global log_bin_compress = on, global log_bin_compress_min_len = 10")
    elif OLD or RELEASE == "mysql-5.6":
        raise tap.Skip("MySQL 5.6 has none")
    else:
        SERVER.run("set session binlog_transaction_compression = on")
    fill("compressed")
    SERVER.run("create table wide (id int primary key, t longtext)")
    SERVER.run("insert into wide values (1, repeat('abc', 1000000)), (2, 'x'), (3, repeat('d', 300000))")
    SERVER.run("update wide set t = concat(t, 'z')")
    if MARIADB:
        SERVER.run("set global log_bin_compress = off")
    else:
        SERVER.run("set session binlog_transaction_compression = off")
    check_types("compressed", *live())
    records, _ = trace(*live())
    got, _ = images(records, "wide")
    assert [len(after[1]) for _, _, after in got] == [3000000, 1, 300000, 3000001, 2, 300001]


def test_version_one_rows():
    if MARIADB:
        raise tap.Skip("MariaDB writes them always")
    if RELEASE == "mysql-9.7":
        raise tap.Skip("MySQL 9 has no such option")
    SERVER.run("set global log_bin_use_v1_row_events = on")
    SERVER.run("use types")
    fill("version1")
    SERVER.run("set global log_bin_use_v1_row_events = off")
    check_types("version1", *live())


def test_without_checksums():
    SERVER.run("set global binlog_checksum = none")
    SERVER.run("use types")
    fill("nosum")
    check_types("nosum", *live())
    SERVER.run("set global binlog_checksum = crc32")
    fill("sum")
    check_types("sum", *live())


def test_gtids():
    if OLD:
        raise tap.Skip("gtid_mode is off")
    SERVER.run("use types")
    SERVER.run("create table named (id int primary key)")
    SERVER.run("insert into named values (1)")
    if MARIADB:
        last = SERVER.run("select @@last_gtid")[0][0]
    elif SERVER.run("select @@gtid_mode")[0][0] != "ON":
        raise tap.Skip("gtid_mode is off")
    else:
        last = None
    records, _ = trace(*live())
    gtid = [r["gtid"] for r in records if r["kind"] == "txn" and r["event"] == 1][-1]
    if last:
        assert gtid == last
    else:
        executed = SERVER.run("select replace(@@global.gtid_executed, '\\n', '')")[0][0]
        assert gtid.rsplit(":", 1)[1] == executed.rsplit("-", 1)[1], (gtid, executed)
    # Only what came behind it.
    position = last or executed
    SERVER.run("insert into named values (2)")
    if RELEASE == "mysql-9.7":
        SERVER.run("set gtid_next = 'automatic:tag_a'")
        SERVER.run("insert into named values (3)")
        SERVER.run("set gtid_next = 'automatic'")
    records, _ = trace("-P%d" % SERVER.port, "--from=" + position)
    got, _ = images(records, "named")
    assert [after[0] for _, _, after in got] == ([2, 3] if RELEASE == "mysql-9.7" else [2]), got
    if RELEASE == "mysql-9.7":
        names = [r["gtid"] for r in records if r["kind"] == "txn" and r["event"] == 1]
        assert names[-1].endswith(":tag_a:1"), names
        executed = SERVER.run("select replace(@@global.gtid_executed, '\\n', '')")[0][0]
        SERVER.run("insert into named values (4)")
        records, _ = trace("-P%d" % SERVER.port, "--from=" + executed)
        got, _ = images(records, "named")
        assert [after[0] for _, _, after in got] == [4], got


def main():
    global SERVER
    if MARIADB:
        options = ["--binlog-format=ROW"]
    elif OLD:
        options = ["--binlog-format=ROW"]
    else:
        options = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
    SERVER = Server(*options)
    try:
        tap.main(globals())
    finally:
        SERVER.stop()


if __name__ == "__main__":
    main()
