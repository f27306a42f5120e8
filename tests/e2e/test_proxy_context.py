#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real clients and a real server, directly and through isorec proxy: TAP.

    test_proxy_context.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]

What the recorder learns from the server: levels, ends of transactions, settings, tables.
"""
import json
import os
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import test, wait_for  # noqa: E402
from real_server import INSTANCE, SERVER, command_line, main, record_private, recorded, run, servers  # noqa: E402


# ---- transactions ----

@test
def isolation_levels():
    """the level in the trace is the one that InnoDB says the transaction has"""
    import pymysql  # pylint: disable=import-outside-toplevel
    levels = {"READ UNCOMMITTED": 1, "READ COMMITTED": 2, "REPEATABLE READ": 3, "SERIALIZABLE": 4}
    steps = ["set session transaction isolation level read committed", "BEGIN",
             "set session transaction isolation level serializable", "ASK", "COMMIT", "BEGIN", "ASK",
             "ROLLBACK", "set transaction isolation level read uncommitted", "BEGIN", "ASK", "COMMIT",
             "BEGIN", "ASK", "COMMIT", "set @@tx_isolation='REPEATABLE-READ'", "BEGIN", "ASK", "COMMIT",
             "BEGIN", "ASK", "COMMIT", "set tx_isolation='READ-COMMITTED'", "BEGIN", "ASK",
             "COMMIT AND CHAIN", "ASK", "COMMIT", "set transaction isolation level serializable",
             "set session transaction isolation level repeatable read", "BEGIN", "ASK", "COMMIT",
             "set transaction isolation level serializable", "select * from iso",
             "BEGIN", "ASK", "COMMIT",
             "set autocommit=0, session tx_isolation='READ-UNCOMMITTED'", "ASK", "COMMIT",
             "ASK", "set autocommit=1"]
    seen = []

    def client(port):
        db = pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                             autocommit=None)
        with db.cursor() as cursor:
            cursor.execute("create or replace table iso (a int primary key) engine=innodb")
            cursor.execute("insert into iso values (1)")
            for step in steps:
                if step != "ASK":
                    cursor.execute(step)
                    continue
                cursor.execute("select * from iso")
                # InnoDB's view of transactions is cached for 0.1 s.
                for _ in range(100):
                    cursor.execute("select sleep(0.11)")
                    cursor.execute("select trx_isolation_level from information_schema.innodb_trx "
                                   "where trx_mysql_thread_id = connection_id()")
                    rows = cursor.fetchall()
                    if rows:
                        break
                seen.append(levels[rows[0][0]])
        db.close()

    _, got = recorded(client)
    begun = {r["txn"]: r["level"] for r in got if r["kind"] == "txn" and r["event"] == 0}
    asked = [r for r in got if r["kind"] == "stmt" and r["text"] == "select * from iso" and r["txn"] in begun]
    assert [begun[r["txn"]] for r in asked] == seen, ([begun[r["txn"]] for r in asked], seen)


@test
def deadlock_timeout_and_implicit_commit():
    """1213 ends the transaction, 1205 does not, DDL commits it"""
    import pymysql  # pylint: disable=import-outside-toplevel

    def client(port):
        a, b = (pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                                autocommit=True) for _ in range(2))
        one, two = a.cursor(), b.cursor()
        one.execute("create or replace table dl (k int primary key, v int) engine=innodb")
        one.execute("insert into dl values (1,0),(2,0)")
        two.execute("set innodb_lock_wait_timeout=1")
        one.execute("begin")
        one.execute("update dl set v=1 where k=1")
        two.execute("begin")
        two.execute("update dl set v=2 where k=2")
        code = None
        try:
            two.execute("update dl set v=2 where k=1")
        except pymysql.err.OperationalError as error:
            code = error.args[0]
        assert code == 1205, code
        # Now a deadlock: one waits for two in a thread, two then closes the circle.
        errors = []

        def wait():
            try:
                one.execute("update dl set v=1 where k=2")
            except pymysql.err.OperationalError as error:
                errors.append(error.args[0])
        thread = threading.Thread(target=wait)
        thread.start()
        wait_for("a lock wait", lambda: servers(
            "sql", INSTANCE, "select count(*) from information_schema.innodb_lock_waits"
        ).strip() != "0")
        try:
            two.execute("update dl set v=2 where k=1")
        except pymysql.err.OperationalError as error:
            errors.append(error.args[0])
        thread.join()
        assert errors == [1213], errors
        one.execute("rollback")
        two.execute("rollback")
        one.execute("begin")
        one.execute("update dl set v=7 where k=1")
        one.execute("create or replace table dl2 (a int)")
        a.close()
        b.close()

    _, got = recorded(client)
    ends = [(r["outcome"], r["reason"]) for r in got
            if r["kind"] == "txn" and r["event"] == 1 and not r["autocommit"]]
    assert sorted(ends) == sorted([(2, "error 1213"), (2, "rollback"), (1, "implicit commit")]), ends


@test
def gtid_of_commits():
    """last_gtid of the session tracker stands with the transaction"""
    script = ("set session_track_system_variables='autocommit,last_gtid';"
              "create or replace table g (a int); begin; insert into g values (1); commit;")

    def client(port):
        run(command_line(port, "test", "-e", script))
        return run(command_line(port, "-N", "-e", "select @@gtid_binlog_pos"))

    pos, got = recorded(client)
    gtids = [r["gtid"] for r in got if r["kind"] == "txn" and r["event"] == 1 and r["gtid"]]
    assert pos.strip() and gtids[-1] == pos.strip(), (gtids, pos)


@test
def context_of_the_recording():
    """--user: variables, schema, initial and final rows are those of the server"""
    run(command_line(SERVER["port"]), input="""
create or replace database ctx; use ctx;
create table parent (a int primary key, b varchar(20) not null default 'x', unique key ub (b));
create table child (p int, q int, e int, v int generated always as (q + 1) stored, primary key (p, q),
  foreign key fk (e) references parent (a) on delete cascade on update set null);
create table parts (a int primary key) partition by hash (a) partitions 2;
create trigger g before update on parent for each row set @g = 1;
create function f(x int) returns int deterministic return x + 1;
create view pairs as select p, q from child where e > 0;
insert into parent values (2,'two'),(1,'one'); insert into child (p,q,e) values (1,2,1),(1,1,2);
insert into parts values (1),(2),(3);
""")
    _, got = recorded(lambda port: run(command_line(
        port, "ctx", "-e", "update parent set b = 'changed' where a = 1; drop table parts")),
                      "--user=root", "--database=ctx", "--snapshot-rows=2")
    server, = [r for r in got if r["kind"] == "server"]
    asked = dict(line.split("\t", 1) for line in run(
        command_line(SERVER["port"], "-N", "-r", "-e", "show global variables")).splitlines() if "\t" in line)
    assert server["variables"]["tx_isolation"] == "REPEATABLE-READ"
    for name, told in server["variables"].items():
        assert asked[name] == told, (name, told, asked[name])
    schema = {r["name"]: r for r in got if r["kind"] == "schema"}
    assert sorted(schema) == ["child", "parent", "parts"], schema.keys()
    child = schema["child"]
    assert [c[0] for c in child["columns"]] == ["p", "q", "e", "v"] and child["primary_key"] == [0, 1]
    assert child["columns"][3][5], "the generated column has no expression"
    assert child["foreign_keys"][0][1:] == [[2], "ctx", "parent", ["a"], "CASCADE", "SET NULL"], child
    assert ["ub", True, [1]] in schema["parent"]["keys"], schema["parent"]
    assert {n: r["triggers"] for n, r in schema.items()} == {
        "parent": [["g", "BEFORE", "UPDATE"]], "child": [], "parts": []}, schema
    programs = {r["name"]: r for r in got if r["kind"] == "program"}
    assert {n: (r["type"], r["table"]) for n, r in programs.items()} == {
        "g": (1, "parent"), "f": (2, None), "pairs": (4, None)}, programs
    shown = run(command_line(SERVER["port"], "-N", "-r", "-e", "show create view ctx.pairs")).split("\t")
    assert shown[1] == programs["pairs"]["create_text"], shown
    for word, name in ("trigger", "g"), ("function", "f"):
        shown = run(command_line(SERVER["port"], "ctx", "-N", "-r", "-e", "show create %s %s" % (word, name)))
        assert shown.split("\t")[1:3] == [programs[name]["sql_mode"], programs[name]["create_text"]], shown
    assert schema["parts"]["partitions"].startswith("PARTITION BY HASH"), schema["parts"]
    rows = {(r["table"], r["moment"]): (r["rows"], r["complete"]) for r in got if r["kind"] == "rows"}
    parent, parts = schema["parent"]["table"], schema["parts"]["table"]
    assert rows[parent, "initial"] == ([[1, "one"], [2, "two"]], True), rows
    assert rows[parent, "final"] == ([[1, "changed"], [2, "two"]], True), rows
    assert rows[child["table"], "initial"] == ([[1, 1, 2, 2], [1, 2, 1, 3]], True), rows
    assert rows[parts, "initial"] == ([[1], [2]], False), rows
    assert (parts, "final") not in rows
    levels = [r["level"] for r in got if r["kind"] == "txn"]
    assert levels and set(levels) == {3}, levels


@test
def context_under_the_servers_own_settings():
    """--user: definitions are whole and rows those of the server, whatever sessions begin with"""
    settings = "set global autocommit = %s, global sql_mode = %s, global sql_select_limit = %s"
    run(command_line(SERVER["port"], "-e", """
create or replace database own; create table own.t (a int auto_increment primary key, c char(3)) engine=InnoDB collate utf8mb4_bin;
insert into own.t values (1, 'x')"""))
    run(command_line(SERVER["port"], "-e", settings % ("0", "'ANSI,PAD_CHAR_TO_FULL_LENGTH'", "1")))
    try:
        _, got = recorded(lambda port: run(command_line(port, "own", "-e", "insert into t values (2, 'y'); commit")),
                          "--user=root", "--database=own")
    finally:
        run(command_line(SERVER["port"], "-e", settings % ("1", "default", "default")))
    schema, = [r for r in got if r["kind"] == "schema"]
    for words in "ENGINE=InnoDB", "utf8mb4_bin", "AUTO_INCREMENT":
        assert words in schema["create_text"], schema["create_text"]
    rows = {r["moment"]: r["rows"] for r in got if r["kind"] == "rows"}
    assert rows == {"initial": [[1, "x"]], "final": [[1, "x"], [2, "y"]]}, rows


@test
def context_of_a_server_that_ignores_logins():
    """skip-character-set-client-handshake: the trace says so, and rows are read as they are"""
    running = json.loads(servers("start", "mariadb-local", "--name=handshake", "--json", "-o", "skip-character-set-client-handshake",
                                 "-o", "character-set-server=latin1", "--with-parent=%d" % os.getpid()))
    try:
        run(command_line(running["port"], "-e", "create database own; create table own.t (a int primary key, "
                         "c varchar(9) character set utf8mb4); insert into own.t values (1, _utf8mb4 x'e282ac')"))
        _, got = recorded(lambda port: None, "--user=root", "--database=own", node="127.0.0.1:%d" % running["port"])
    finally:
        servers("stop", "handshake", check=False)
    server, = [r for r in got if r["kind"] == "server"]
    assert server["variables"]["character_set_client_handshake"] == "OFF", server
    assert [r["rows"] for r in got if r["kind"] == "rows"][0] == [[1, "\u20ac"]], got


@test
def tables():
    """--only-table, --skip-table: statements keep their place, not their content"""
    got, data = record_private("--only-table=\\.audit$")
    for secret in ("918273645", "plain note", "people"):
        assert secret.encode() not in data, secret
    texts = [(r["text"], r["flags"] & 64, r["txn"]) for r in got if r["kind"] == "stmt" and
             r["command"] in (3, 0x16, 0x17)]
    kept = [t for t in texts if t[0]]
    assert any("insert into audit" in t[0] for t in kept), kept
    left_out = [t for t in texts if t[1]]
    assert len(left_out) >= 5 and all(t[0] is None for t in left_out), texts
    assert {r["name"] for r in got if r["kind"] == "schema"} == {"audit"}
    got, data = record_private("--skip-table=\\.audit$")
    assert b"918273645" in data and b"insert into audit" not in data


@test
def tables_made_meanwhile():
    """a table created during the recording has a schema and final rows, one dropped has none"""
    run(command_line(SERVER["port"], "-e", "drop database if exists made; create database made; "
                     "create table made.old (a int primary key); insert into made.old values (1)"))

    def client(port):
        run(command_line(port, "made", "-e", "create table fresh (b int primary key, c varchar(9)); "
                         "insert into fresh values (2, 'two'), (1, 'one'); drop table old"))

    _, got = recorded(client, "--user=root", "--database=made")
    number = {r["name"]: r["table"] for r in got if r["kind"] == "schema"}
    assert sorted(number) == ["fresh", "old"] and len(set(number.values())) == 2, number
    rows = {(r["table"], r["moment"]): r["rows"] for r in got if r["kind"] == "rows"}
    assert rows == {(number["old"], "initial"): [[1]],
                    (number["fresh"], "final"): [[1, "one"], [2, "two"]]}, rows


sys.exit(main())
