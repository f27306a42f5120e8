#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instrumentation on a real server: TAP on standard output.

    test_sessions.py ISOREC ISOTRACE ISOREC-SERVERS WORKLOAD NODE-FOLDER RELEASE TRANSACTIONS [TEST...]

Sessions that die, fail, or prepare statements whose tables change.
"""
import os
import re
import socket
import struct
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from instrumented import (  # noqa: E402
    ISOREC, ISOTRACE, SERVER, TABLES, main, node_script, prepare, recorded, run, same_for, sql,
    violations)
from proxy_harness import Proxy, records, test, wait_for  # noqa: E402

# A temporary table before a prepared one; tables made anew, seen and unseen by the proxy; altered ones.
CHANGING = """
create temporary table plain(x int, y int, z int); insert into plain values (7, 8, 9); select * from plain;
select x from plain where y = 8; drop temporary table plain; select * from plain where id < 3;
drop table ai; create table ai(w int); insert into ai values (1); select * from ai; select w from ai;
select nothing from multi; select * from multi where a = 1;
alter table multi add column more int default 4; select * from multi where a = 1;
delimiter //
create procedure anew() begin drop table withtrig; create table withtrig(one int); insert into withtrig values (1); end//
delimiter ;
call anew(); select * from withtrig; select two from withtrig; select one from withtrig;
"""


def dying(how):
    """What is recorded of an UPDATE whose client is gone before it is answered."""
    sql(TABLES + "drop trigger mytrig; create table other(id int primary key, v int); insert into other "
        "values (1, 1); delete from plain; insert into plain values (1,1),(2,2),(3,3),(4,4),(5,5);")
    prepare("--quiet", "it.plain", "it.other")

    def executing(text):
        return int(sql("select count(*) from information_schema.processlist where info = '%s'" % text, "-N"))

    def what(port):
        import pymysql as client  # pylint: disable=import-outside-toplevel
        holder, victim, reader = (client.connect(host="127.0.0.1", port=port, user="root", database="it",
                                                 autocommit=True) for _ in range(3))
        update = "update plain set v = 100 where id = 2"
        holder.cursor().execute("begin")
        holder.cursor().execute("update plain set v = 20 where id = 2")
        victim._execute_command(3, update)  # pylint: disable=protected-access
        wait_for("the wait for a lock", lambda: executing(update))
        how(victim._sock)  # pylint: disable=protected-access
        victim._force_close()  # pylint: disable=protected-access
        holder.cursor().execute("commit")
        wait_for("the update's end", lambda: not executing(update))
        for text in ("begin", "select * from plain where v > 1000", "select * from plain where v > 50",
                     "select * from other where v > 50", "commit"):
            reader.cursor().execute(text)
        holder.close()
        reader.close()

    _, got, verdict = recorded(what, "it")
    assert not violations(verdict), violations(verdict)
    probes = [(p["exact"], p["predicate"], [row[0] for row in p["rows"]]) for p in got
              if p["kind"] == "probe" and p["probe"] == 7]
    return probes, verdict["coverage"]["reasons"]


@test
def writes_of_a_client_that_died():
    """an UPDATE whose client is gone is recorded; without its answer only its own rows are undecided"""
    probes, reasons = dying(lambda sock: None)
    assert probes == [(True, None, [2])] * 2 and not reasons, (probes, reasons)
    # Reset: the recorder gives the connection up at once.
    probes, reasons = dying(lambda sock: sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                                         struct.pack("ii", 1, 0)))
    assert sorted(probes, key=repr) == [(False, "`id` = 2", []), (True, None, [2])], probes
    # The UPDATE itself, the one whose version it overwrote, and the read that returned its row; the other reads are
    # decided.
    assert reasons == {
        "writes that are not known exactly": 1, "reads of versions whose writing was recorded, but not what it wrote": 1,
        "writes of rows whose versions form no chain, which something unrecorded may explain": 1}, reasons


@test
def tables_that_change():
    """reads of tables that are not any more what they were when they were prepared"""
    def client(port):
        return sql(CHANGING, "-vvv", "-f", "-t", port=port, database="it")
    same_for(client)


@test
def prepared_reads_of_tables_that_change():
    """... by prepared statements"""
    script = node_script("instrument-changing.js", """
const mysql = require('mysql2/promise');
(async () => {
  const db = await mysql.createConnection({host: '127.0.0.1', port: +process.argv[2], user: 'root',
    database: 'it'});
  const show = async (text, values) => {
    try {
      console.log(text, JSON.stringify((await db.execute(text, values))[0]));
    } catch (e) {
      console.log(text, e.message);
    }
  };
  await db.query('create procedure hides() create temporary table plain(x int, y int)');
  await show('select * from plain where id > ?', [1]);
  await db.query('call hides()');
  await show('insert into plain values (?, ?)', [4, 5]);
  await show('select y, x from plain where x = ?', [4]);
  await show('select * from plain', []);
  await show('select z from plain', []);
  await db.end();
})();
""")
    same_for(lambda port: run(["node", script, str(port)]))


RAW_PREPARED = r"""
import pymysql, struct, sys
def read_any(db):
    # Without raising errors.
    head = db._read_bytes(4)
    size, db._next_seq_id = int.from_bytes(head[:3], "little"), (head[3] + 1) % 256
    return pymysql.protocol.MysqlPacket(db._read_bytes(size), "utf8mb4")
pymysql.connections.Connection._read_any = read_any
port, direct = int(sys.argv[1]), int(sys.argv[2])
db = pymysql.connect(host="127.0.0.1", port=port, user="root", database="it", autocommit=True,
                     read_timeout=60)
other = pymysql.connect(host="127.0.0.1", port=direct, user="root", database="it", autocommit=True)
def packets(ends=2):
    out = []
    while True:
        out.append(db._read_any().get_all_data())
        if out[0][0] == 255 or (out[0][0] == 0 and ends == 2):
            return out
        if [p[0] == 254 and len(p) < 9 for p in out].count(True) == ends:
            return out
def prepare(text):
    db._execute_command(0x16, text)
    first = db._read_any().get_all_data()
    if first[0] == 255:
        print(text, first)
        return 0
    number, columns, params = struct.unpack_from("<IHH", first, 1)
    print(text, columns, params)
    for n in (params, columns):
        for _ in range(n + 1 if n else 0):
            db._read_packet()
    return number
def execute(number, value=None, types=True, flags=0):
    body = struct.pack("<IBI", number, flags, 1)
    if value is not None:
        body += b"\0" + (b"\1\x08\0" if types else b"\0") + struct.pack("<q", value)
    db._execute_command(0x17, body)
    print("  ", packets(1 if flags else 2))
def simple(command, body):
    db._execute_command(command, body)
    print("  ", packets(1 if command == 0x1c else 2))
LAST = 0xffffffff
one = prepare("select * from plain where id > ?")
two = prepare("select v from plain where id = ?")
three = prepare("select s from ai where s = ?")
four = prepare("select * from multi")
five = prepare("select v from multi where b = ?")
execute(one, 1); execute(two, 2); execute(two, 3, types=False); execute(four)
other.cursor().execute("drop table plain")
other.cursor().execute("create table plain(id int primary key, v int, w int)")
other.cursor().execute("insert into plain values (1, 10, 100), (2, 20, 200), (3, 30, 300)")
other.cursor().execute("drop table multi")
other.cursor().execute("create table multi(x int)")
other.cursor().execute("insert into multi values (5), (6), (7)")
execute(two, 2, types=False)          # without its types
execute(one, 1)                       # other columns
execute(one, 2, types=False)
execute(four, flags=1)                # with a cursor
simple(0x1c, struct.pack("<II", four, 2))
simple(0x1c, struct.pack("<II", four, 2))
simple(0x1a, struct.pack("<I", four)) # reset
db._execute_command(0x18, struct.pack("<IH", five, 0) + b"x")
execute(five, 1)                      # the client's own error, and again
execute(five, 1)
if "MariaDB" in db.get_server_info():
    execute(LAST, 1)                  # five is the last one prepared
    six = prepare("select id from plain where id > ?")
    execute(LAST, 1)
    execute(two, 1)
    execute(LAST, 2)
    execute(prepare("nonsense"), 1)
    execute(LAST, 2)
# A parameter in pieces, of a statement whose table did not change.
db._execute_command(0x18, struct.pack("<IH", three, 0) + b"x0")
db._execute_command(0x18, struct.pack("<IH", three, 0) + b"y0")
db._execute_command(0x17, struct.pack("<IBI", three, 0, 1) + b"\0\1\xfd\0")
print("  ", packets())
for number in (one, two, three, four, five):
    db._execute_command(0x19, struct.pack("<I", number))
execute(one, 1)
execute(two, 1)
with db.cursor() as c:
    c.execute("show status like 'prepared_stmt_count'")
    c.execute("select id, v from plain")
    print(c.fetchall())
db.close()
"""


@test
def prepared_reads_after_others_changed_their_tables():
    """... whichever session changed them: the client gets what it would get without instrumentation"""
    same_for(lambda port: run(["/usr/bin/python3", "-c", RAW_PREPARED, str(port), str(SERVER["port"])]),
             lambda text: re.sub(r"handler \(\d+\)", "handler", text))


@test
def prepared_reads_with_cached_columns():
    """... where the server leaves out columns that it sent when the statement was prepared"""
    script = node_script("instrument-cached.js", """
const mariadb = require('mariadb');
(async () => {
  const to = (port) => mariadb.createConnection({host: '127.0.0.1', port: +port, user: 'root', database: 'it'});
  const db = await to(process.argv[2]), other = await to(process.argv[3]);
  const one = await db.prepare('select * from plain where id > ? order by id');
  const two = await db.prepare('select v from plain where id = ?');
  const show = async (x) => { const r = await x; console.log(JSON.stringify(r), r.meta.map((m) => m.name())); };
  await show(one.execute([1]));
  await show(two.execute([1]));
  await other.query('drop table plain');
  await other.query('create table plain(id int primary key, v int, w varchar(9))');
  await other.query("insert into plain values (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')");
  for (let i = 0; i < 2; i++) {
    await show(two.execute([2]));
    await show(one.execute([1]));
  }
  one.close(); two.close();
  await db.end(); await other.end();
})();
""")
    same_for(lambda port: run(["node", script, str(port), str(SERVER["port"])]))


@test
def commands_too_long_to_be_held():
    """... pass, and what comes after them is instrumented as before"""
    code = r"""
import pymysql, sys
db = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="it", autocommit=True)
with db.cursor() as c:
    def show(text):
        print(text[:40], c.execute(text), c.fetchall())
    show("select * from plain where id = 1")
    long = "/* " + "x" * (65 << 20) + " */"
    show("update plain set v = 9 where id = 1 " + long)
    show("select * from plain where id = 1 " + long)
    show("select * from plain where id = 1")
    show("update plain set v = 10 where id = 1")
    show("select v from plain where id < 3")
"""
    sql("set global max_allowed_packet = 128 << 20")
    same_for(lambda port: run(["/usr/bin/python3", "-c", code, str(port)]))


class Intruder(threading.Thread):
    """Between the proxy and the server: after the answer to MARK comes a packet that nothing explains."""

    MARK = b"select 'now'"

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", SERVER["port"]))
            state = {"marked": False}
            for pair in ((client, server, state, True), (server, client, state, False)):
                threading.Thread(target=self.relay, args=pair, daemon=True).start()

    def relay(self, source, target, state, from_client):
        try:
            while data := source.recv(65536):
                if from_client and self.MARK in data:
                    state["marked"] = True
                elif not from_client and state["marked"]:
                    state["marked"] = False
                    data += b"\x01\0\0\7\x2a"
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


@test
def answers_that_are_not_understood():
    """... end a session whose prepared reads have columns of ours; others go on as they are"""
    code = r"""
import pymysql, struct, sys
def connect():
    return pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="it",
                           autocommit=True, read_timeout=60)
def ask(db, text):
    with db.cursor() as c:
        c.execute(text)
        return c.fetchall()
plain = connect()
print(ask(plain, "select 'now'"))
print(plain._read_bytes(5))
print(ask(plain, "select * from plain where id = 1"))
db = connect()
db._execute_command(0x16, "select * from plain")
for _ in range(4):
    db._read_packet()
print(ask(db, "select 'now'"))
try:
    db._execute_command(0x17, struct.pack("<IBI", 1, 0, 1))
    print(db._read_packet(), "is an answer")
except (pymysql.Error, OSError) as e:
    print("gone")
"""
    sql(TABLES)
    prepare("--quiet", "it.plain")
    intruder = Intruder()
    intruder.start()
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % intruder.port], "--instrument=trigger", "--user=root",
               "--database=it") as proxy:
        out = run(["/usr/bin/python3", "-c", code, str(proxy.port)])
        proxy.stop()
        ends = [r["reason"] for r in records(ISOTRACE, proxy.trace, ["session"]) if r["event"] == 1]
    assert out.splitlines() == ["(('now',),)", repr(b"\x01\0\0\7\x2a"), "((1, 1),)", "(('now',),)",
                                "gone"], out
    assert "instrumented, and the server's answers are not understood" in ends, ends


@test
def character_sets_with_backslashes():
    """texts in sjis, where a character may end in a backslash, go out as they are"""
    code = r"""
import pymysql, sys
db = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="it", charset="sjis",
                     autocommit=True)
with db.cursor() as c:
    for text in ("select '\u8868', id from plain where '\u8868' <> 'x' order by id",
                 "select id, '\u8868' /* ' */ from plain where id = 1 or '\u8868' = ' from multi'",
                 # Otherwise read, the last string is a FROM clause and a comment.
                 "select '\u8868', 5, ' from plain where 1 = 1 -- '",
                 "update plain set v = 7 where id = 1 and '\u8868' = '\u8868'",
                 "select v from plain where id = 1", "set names utf8mb4", "select v, 'x' from plain"):
        print(ascii((text, c.execute(text), c.fetchall())))
"""
    same_for(lambda port: run(["/usr/bin/python3", "-c", code, str(port)]))


@test
def grants_by_column():
    """a user who may read some columns reads them; what that user reads is not seen"""
    sql(TABLES)
    prepare("--quiet", "it.plain")
    sql("drop user if exists some@localhost, some@'127.0.0.1'; create user some@'127.0.0.1'; "
        "grant select (id, v) on it.plain to some@'127.0.0.1'")
    out, _, verdict = recorded(lambda port: sql("update plain set v = 9 where id = 1", port=port, database="it") + sql(
        "select id, v from plain where id = 2; select v from plain where id = 3", "-N", "-usome", port=port,
        database="it"), "it")
    assert out.split() == ["2", "2", "3"], out
    assert verdict["verdict"] == "incomplete" and not violations(verdict), verdict
    sql("drop user some@'127.0.0.1'")


@test
def parts_that_failed():
    """several statements in one, or a procedure, of which the last one fails: the others' rows stayed"""
    failing = "update plain set v = 20 where id = 1; insert into plain values (40, 1), (2, 2)"
    for work in ("delimiter //\n%s//\n" % failing, "call fails();"):
        sql(TABLES)
        sql("delimiter //\ncreate procedure fails() begin %s; end//\n" % failing, database="it")
        prepare("--quiet", "it.plain")
        _, got, verdict = recorded(lambda port: sql(
            work + "delimiter ;\nselect * from plain; update plain set v = v + 1 where id = 1; "
            "select * from plain; begin; update plain set v = 1 where id = 1; " + work +
            "delimiter ;\nselect * from plain; commit;", "-f", port=port, database="it"), "it")
        assert not violations(verdict), (work, violations(verdict))
        assert verdict["verdict"] == "incomplete", verdict
        assert [r for r in got if r["kind"] == "probe" and r["probe"] == 7 and not r["exact"]]


sys.exit(main())
