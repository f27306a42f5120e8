# SPDX-License-Identifier: GPL-2.0-or-later
"""Binary logs as histories: what isotrace concludes of them, and what is said where one is incomplete.

Arguments: ISOREC ISOTRACE ISOREC-SERVERS RELEASE
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
import pymysql  # noqa: E402

ISOREC, ISOTRACE, SERVERS, RELEASE = sys.argv[1:5]
MARIADB = RELEASE.startswith("mariadb")
OLD = RELEASE == "mysql-5.6"
INSTANCE = "binlog-history-%d" % os.getpid()
PORT = 0
FOLDER = ""
DB = None


def servers(*args):
    done = subprocess.run([SERVERS, *args], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip())
        sys.exit(0)
    assert done.returncode == 0, done.stderr
    return done.stdout


def connect():
    db = pymysql.connect(host="127.0.0.1", port=PORT, user="root", autocommit=True)
    db.cursor().execute("create database if not exists h")
    db.cursor().execute("use h")
    return db


def run(sql, db=None):
    with (db or DB).cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def binlog(path, *args, status=0):
    done = subprocess.run([ISOREC, "binlog", "--overwrite", "-o", path, *args], capture_output=True, text=True,
                          check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def verdict(path):
    done = subprocess.run([ISOTRACE, "check", "--format=json", path], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def records(path):
    shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", path], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in shown.stdout.splitlines()]


def load(table, seconds_or_count=200, seed=1, db=None):
    """Changes of all kinds, rekeys and rollbacks among them."""
    rng = random.Random(seed)
    for _ in range(seconds_or_count):
        run("begin", db)
        for _ in range(rng.randint(1, 4)):
            key, other = rng.randint(1, 20), rng.randint(1, 20)
            run(rng.choice([
                "insert ignore into %s values (%d, %d)" % (table, key, other),
                "replace into %s values (%d, %d)" % (table, key, rng.randint(0, 5)),
                "update %s set v = v + 1 where k between %d and %d" % (table, key, key + 3),
                "update %s set v = %d where k = %d" % (table, rng.randint(0, 3), key),
                "update ignore %s set k = %d where k = %d" % (table, other + 100, key),
                "delete from %s where k = %d" % (table, key),
                "insert into %s values (%d, 0) on duplicate key update v = v * 2" % (table, key)]), db)
        run(rng.choice(["commit", "commit", "commit", "rollback"]), db)


def test_a_sound_history_has_no_findings():
    run("create table sound (k int primary key, v int)")
    load("sound", 300)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.itr")
        binlog(path, "-P%d" % PORT, "--from=beginning")
        status, said = verdict(path)
        assert status in (0, 3), said
        assert not said["findings"], said["findings"]
        # What the log says is there in the end is there.
        table = [r["table"] for r in records(path) if r["kind"] == "schema" and r["name"] == "sound"]
        rows = {}
        for r in records(path):
            if r["kind"] != "probe" or r["table"] not in table:
                continue
            for row in r["rows"]:
                rows.pop(row[5] if len(row) > 5 and row[5] is not None else row[0], None)
                if row[4] != 3:
                    rows[row[0]] = row[3]
        assert sorted(rows.values()) == [list(r) for r in run("select k, v from sound order by k")]


def events(data):
    at = 4
    while at + 19 <= len(data):
        size = int.from_bytes(data[at + 9:at + 13], "little")
        yield at, data[at + 4], size
        at += size


def test_a_lost_change_is_found():
    """One event of rows is taken out of a log, as if the change had been lost."""
    run("create table lossy (k int primary key, v int)")
    run("flush logs")
    run("insert into lossy values (1, 0), (2, 0)")
    for n in range(6):
        run("update lossy set v = %d where k = 1" % (10 + n))
    run("delete from lossy where k = 2")
    run("insert into lossy values (2, 7)")
    run("flush logs")
    name = [r[0] for r in run("show binary logs")][-2]
    with open(os.path.join(FOLDER, name), "rb") as file:
        data = file.read()
    rows = [(at, size) for at, kind, size in events(data) if kind in (23, 24, 25, 30, 31, 32)]
    assert len(rows) == 9
    with tempfile.TemporaryDirectory() as folder:
        path, log = os.path.join(folder, "b.itr"), os.path.join(folder, "log")
        for lost in [None] + list(range(1, 9)):
            at, size = rows[lost] if lost is not None else (0, 0)
            with open(log, "wb") as file:
                file.write(data[:at] + data[at + size:])
            binlog(path, "--all-writers", "--definitions", "-P%d" % PORT, log)
            status, said = verdict(path)
            if os.environ.get("KEEP"):
                subprocess.run(["cp", path, "/tmp/lossy%s.itr" % lost], check=True)
            if lost in (None, 6, 8):  # nothing came after the last change of a row
                assert not said["findings"], (lost, said["findings"])
            else:
                assert status == 1, (lost, status, said)
                assert {f["class"] for f in said["findings"]} == {"lost-version"}, (lost, said["findings"])


def test_foreign_keys_are_no_findings():
    run("create table parents (k int primary key)")
    run("create table children (k int primary key, p int, v int, "
        "foreign key (p) references parents (k) on delete set null on update cascade)")
    run("insert into parents values (1), (2)")
    run("insert into children values (1, 1, 0), (2, 2, 0), (3, 2, 0)")
    run("delete from parents where k = 1")
    run("update parents set k = 5 where k = 2")
    run("update children set v = 1")
    run("delete from children")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.itr")
        binlog(path, "--all-writers", "-P%d" % PORT, "--from=beginning")
        status, said = verdict(path)
        assert status in (0, 3) and not said["findings"], said


def test_damage_is_said():
    run("create table damaged (k int primary key, v int)")
    run("flush logs")
    for n in range(20):
        run("insert into damaged values (%d, 0)" % n)
    run("flush logs")
    name = [r[0] for r in run("show binary logs")][-2]
    with open(os.path.join(FOLDER, name), "rb") as file:
        data = file.read()
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        path, log = os.path.join(folder, "b.itr"), os.path.join(folder, "log")
        for _ in range(30):
            at = rng.randrange(len(data) // 3, len(data) - 1)
            with open(log, "wb") as file:
                file.write(data[:at])
            done = subprocess.run([ISOREC, "binlog", "--overwrite", "-o", path, "--definitions", "-P%d" % PORT, log],
                                  capture_output=True, text=True, check=False)
            torn = at not in [a for a, _, _ in events(data)]
            assert done.returncode == (3 if torn else 0), (at, done.returncode, done.stdout, done.stderr)
        for _ in range(30):
            at = rng.randrange(len(data) // 3, len(data) - 1)
            with open(log, "wb") as file:
                file.write(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:])
            done = subprocess.run([ISOREC, "binlog", "--overwrite", "-o", path, "--definitions", "-P%d" % PORT, log],
                                  capture_output=True, text=True, check=False)
            assert done.returncode in (3, 4), (at, done.returncode, done.stdout, done.stderr)


def test_following_ends_with_a_signal_and_misses_nothing():
    run("create table followed (k int primary key, v int)")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.itr")
        with subprocess.Popen([ISOREC, "binlog", "--follow", "-P%d" % PORT, "-o", path], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as recorder:
            deadline = time.monotonic() + 20
            while not any(r[4] in ("Binlog Dump", "Binlog Dump GTID") for r in run("show processlist")):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            for n in range(100):
                run("insert into followed values (%d, 0)" % n)
                # The server ends the connection now and then.
                if n % 25 == 20:
                    for r in run("show processlist"):
                        if r[4] in ("Binlog Dump", "Binlog Dump GTID"):
                            run("kill %d" % r[0])
            run("insert into followed values (1000, 0)")
            while True:
                assert time.monotonic() < deadline + 30
                time.sleep(0.2)
                if "Dump" in str(run("show processlist")):
                    break
            time.sleep(1.5)
            recorder.send_signal(signal.SIGINT)
            out, err = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, (recorder.returncode, out, err)
        keys = [row[0] for r in records(path) if r["kind"] == "probe" for row in r["rows"]]
        assert keys == list(range(100)) + [1000], keys


def test_xa_and_definitions():
    if OLD:
        raise tap.Skip("MySQL 5.6 does not log prepared transactions")
    # The server knows the table as it is in the end only.
    run("set global binlog_row_metadata = full")
    run("create table x (k int primary key, v int)")
    run("xa start 'a'")
    run("insert into x values (1, 1)")
    run("xa end 'a'")
    run("xa prepare 'a'")
    run("xa commit 'a'")
    run("xa start 'b'")
    run("insert into x values (2, 1)")
    run("xa end 'b'")
    run("xa commit 'b' one phase")
    run("alter table x add column w int default 5")
    run("update x set w = 6")
    run("truncate table x")
    run("insert into x values (1, 1, 1)")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "b.itr")
        binlog(path, "-P%d" % PORT, "--from=beginning")
        all_of_it = records(path)
        status, said = verdict(path)
        assert status in (0, 3) and not said["findings"], said
    tables = {r["table"]: len(r["columns"]) for r in all_of_it if r["kind"] == "schema" and r["name"] == "x"}
    assert len(tables) >= 2, tables
    keys = [row[0] for r in all_of_it if r["kind"] == "probe" and r["table"] in tables for row in r["rows"]]
    assert keys == [1, 2, 1, 2, 1], keys
    assert not [r for r in all_of_it if r["kind"] == "txn" and r["event"] == 1 and r["outcome"] != 1]


def main():
    global PORT, FOLDER, DB
    options = ["--binlog-format=ROW"] if MARIADB or OLD else ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
    instance = json.loads(servers("start", RELEASE, "--name=" + INSTANCE, "--json", "--binlog=on",
                                  "--with-parent=%d" % os.getpid(), "--", *options))
    PORT, FOLDER = instance["port"], instance["datadir"]
    DB = connect()
    try:
        tap.main(globals())
    finally:
        DB.close()
        subprocess.run([SERVERS, "stop", INSTANCE], capture_output=True, check=False)


if __name__ == "__main__":
    main()
