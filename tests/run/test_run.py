#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`isorec run` on a real server: TAP on standard output.

    test_run.py ISOREC ISOTRACE ISOREC-SERVERS RELEASE COLUMN [SERVER-OPTION...]

COLUMN names the kind of server in TRUTH, which says at which levels each known anomaly shows on it;
auto: by its version.  That table was measured with other programs than ours.  The tests of the
runner itself are run for mariadb-local only; the anomalies on every release.
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ISOREC, ISOTRACE, SERVERS, RELEASE, COLUMN = sys.argv[1:6]
OPTIONS = sys.argv[6:]
NAME = "run-test-%d" % os.getpid()
LEVELS = ("RU", "RC", "RR", "SER")


class Skip(Exception):
    pass


def servers(*args):
    done = subprocess.run([SERVERS, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if done.returncode == 77:
        raise Skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(name, *options):
    return json.loads(servers("start", RELEASE, "--name=" + name, "--json",
                              "--with-parent=%d" % os.getpid(), "--", *options))


def isorec(*args, status=0, server=None, user="root"):
    done = subprocess.run([ISOREC, "run", "--socket=" + (server or SERVER)["socket"],
                           "--user=" + user, "--overwrite", *args], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == status, "exit status %d instead of %d\n%s%s" % (
        done.returncode, status, done.stdout, done.stderr)
    return done


def write(text):
    path = os.path.join(FOLDER, "x.scn")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


class Trace:
    """The records of a trace, by isotrace's own reading of it."""

    def __init__(self, path):
        done = subprocess.run([ISOTRACE, "show", "--format=json", path], capture_output=True,
                              check=False)
        document = json.loads(done.stdout.decode("utf-8", "replace"))
        assert document["totals"]["evidence"]["clean"], document["totals"]
        self.records = document["records"]
        self.names = {r["session"]: r["client"] for r in self.kind("session")}

    def kind(self, kind):
        return [r for r in self.records if r["kind"] == kind]

    def stmts(self, name=None):
        """In the order they were sent."""
        found = [r for r in self.kind("stmt") if name in (None, self.names[r["session"]])]
        return sorted(found, key=lambda r: r["begin_seq"])

    def rows(self, stmt):
        return [tuple(row) for r in self.kind("result")
                if (r["session"], r["number"]) == (stmt["session"], stmt["number"])
                for row in r["rows"]]

    def table(self, moment):
        return [tuple(row) for r in self.kind("rows") if r["moment"] == moment
                for row in r["rows"]]


def run(text, *args, **more):
    path = os.path.join(FOLDER, "x.itr")
    done = isorec("-o", path, *args, write(text), **more)
    return Trace(path), done.stdout


# Anomalies -------------------------------------------------------------------------------------

def ghost(trace):
    return (2, 2) in trace.rows(trace.stmts("T2")[3])


def own_update_invisible(trace):
    return (1, 1) in trace.rows(trace.stmts("T0")[4])


def first_row_skipped(trace):
    return not trace.stmts("T1")[1]["error"] and any(row[1] == 1 for row in trace.table("final"))


def one_of_two(trace):
    return not trace.stmts("T2")[1]["error"] and any(row[1] == 3 for row in trace.table("final"))


def moved_row_left(trace):
    return not trace.stmts("T2")[1]["error"] and trace.rows(trace.stmts("T2")[2]) == [(1,)]


def insert_lost(trace):
    return trace.stmts("T2")[1]["error"] == 1213 and (1,) not in trace.table("final")


def upgrade_deadlock(trace):
    return trace.stmts("T2")[1]["error"] == 1213


def old_row_seen(trace):
    return (1, 1) in trace.rows(trace.stmts("T2")[2])


ANOMALIES = {
    "MDEV-32898": (ghost, """
[setup]
create table t(a int primary key, b int); insert into t values (1,1),(2,2);
[schedule]
T1> begin;
T2> begin; select * from t;
T1> update t set a=3 where b=2; commit;
T2> update t set b=3; select * from t; commit;
"""),
    "MDEV-26642": (own_update_invisible, """
[setup]
create table t(a int, b int); insert into t values (0,0),(1,1),(2,2);
[schedule]
T0> begin; select * from t;
T1> begin; update t set a=10 where b=1; commit;
T0> select * from t; update t set a=10 where true; select * from t; commit;
"""),
    "MDEV-26643": (first_row_skipped, """
[setup]
create table t(a int, b int);
insert into t values (null,1),(2,2),(null,null),(null,3),(4,null);
[schedule]
T0> begin; update t set a=10 where 1;
T1> begin; update t set b=20 where a;
T0> commit;
T1> commit;
"""),
    "MDEV-34108": (one_of_two, """
[setup]
create table t(a int, b int); insert into t values (null,1),(1,1);
[schedule]
T1> begin;
T2> begin;
T1> update t set b=3;
T2> update t set b=2 where a is not null;
T1> update t set a=1; commit;
T2> commit;
"""),
    "MDEV-27992": (moved_row_left, """
[setup]
create table t(c1 int primary key); insert into t values (3);
[schedule]
T1> begin; update t set c1=2;
T2> begin; delete from t;
T1> update t set c1=1; commit;
T2> select * from t for update; commit;
"""),
    "MDEV-27922": (insert_lost, """
[setup]
create table t(c1 int primary key); insert into t values (3);
[schedule]
T1> begin; update t set c1=5;
T2> begin; delete from t;
T1> insert into t values (2); commit;
T2> insert into t values (1); rollback;
"""),
    "MYSQL-106655": (upgrade_deadlock, """
[setup]
create table t(c1 int primary key, c2 int); insert into t values (1,1),(2,2);
[schedule]
T1> begin; select * from t;
T2> begin; delete from t where c1=1;
T1> delete from t; commit;
T2> commit;
"""),
    "TIDB-33315": (old_row_seen, """
[setup]
create table t(c1 int primary key, c2 int); insert into t values (1,1);
[schedule]
T1> begin; update t set c1=2,c2=2;
T2> begin; delete from t;
T1> commit;
T2> select * from t; commit;
"""),
}

WEAK, RR, NONE = {"RU", "RC"}, {"RR"}, set()
TRUTH = {  # server: anomaly: levels at which it shows
    "mysql-5.6": {"MDEV-32898": RR, "MDEV-26642": RR, "MDEV-26643": WEAK, "MDEV-34108": WEAK,
                  "MDEV-27992": WEAK, "MDEV-27922": {"RR", "SER"}, "MYSQL-106655": {"SER"},
                  "TIDB-33315": NONE},
    "mysql-9.7": {"MDEV-32898": RR, "MDEV-26642": RR, "MDEV-26643": WEAK, "MDEV-34108": WEAK,
                  "MDEV-27992": WEAK, "MDEV-27922": NONE, "MYSQL-106655": NONE,
                  "TIDB-33315": NONE},
    "mariadb-10.5": {"MDEV-32898": RR, "MDEV-26642": RR, "MDEV-26643": WEAK, "MDEV-34108": WEAK,
                     "MDEV-27992": WEAK, "MDEV-27922": {"RR", "SER"}, "MYSQL-106655": {"SER"},
                     "TIDB-33315": NONE},
    "mariadb-10.11": {"MDEV-32898": RR, "MDEV-26642": RR, "MDEV-26643": WEAK,
                      "MDEV-34108": WEAK, "MDEV-27992": WEAK, "MDEV-27922": NONE,
                      "MYSQL-106655": {"SER"}, "TIDB-33315": NONE},
    "mariadb-10.11-si": {"MDEV-32898": NONE, "MDEV-26642": NONE, "MDEV-26643": NONE,
                         "MDEV-34108": {"RU"}, "MDEV-27992": WEAK, "MDEV-27922": NONE,
                         "MYSQL-106655": {"SER"}, "TIDB-33315": NONE},
    "mariadb-11.8": {"MDEV-32898": NONE, "MDEV-26642": NONE, "MDEV-26643": NONE,
                     "MDEV-34108": {"RU"}, "MDEV-27992": WEAK, "MDEV-27922": NONE,
                     "MYSQL-106655": NONE, "TIDB-33315": NONE},
}


def column():
    """The server's column of TRUTH."""
    if COLUMN != "auto":
        return COLUMN
    known = [name for name in TRUTH if name.startswith("mariadb-") and
             SERVER["version"].startswith(name[8:] + ".")]
    if not known:
        raise Skip("nothing is known of MariaDB " + SERVER["version"])
    return known[0]


def anomaly(name):
    def check():
        truth = TRUTH[column()][name]
        seen, text = ANOMALIES[name]
        isorec("-q", "--isolation=" + ",".join(LEVELS), "-o", FOLDER, write(text))
        shown = set()
        for level in LEVELS:
            trace = Trace(os.path.join(FOLDER, "x-%s.itr" % level))
            # The level is that of each transaction, not only of the file's name.
            wanted = LEVELS.index(level) + 1
            assert {r["level"] for r in trace.kind("txn")} == {wanted}, level
            if seen(trace):
                shown.add(level)
        assert shown == truth, "seen at %s, not at %s" % (sorted(shown), sorted(truth))
    check.__name__ = name
    return check


# The runner ------------------------------------------------------------------------------------

def blocked_and_resumed():
    trace, _ = run("""
# isolation: RR
[setup]
create table t(a int primary key, b int); insert into t values (1,10),(2,20);
[schedule]
T1> begin; update t set b=11 where a=1;   -- => not blocked, ok 1
T2> begin; update t set b=12 where a=1;   -- => blocked, ok 1
T2> update t set b=22 where a=2;          -- => not blocked, ok 1
T3> update t set b=13 where a=1;          -- => blocked, ok 1
T1> select 'still here';                  -- => ('still here')
T1> commit;
T1> select b from t where a=2;            -- => (20)
T2> commit;
T1> select b from t where a=2;            -- => (22)
[final]
select * from t;                          -- => (1,13) (2,22)
""")
    order = [(trace.names[s["session"]], s["text"]) for s in trace.stmts()]
    # T2's second statement had to wait for its first, and goes out as soon as T2 is free.
    assert order[6:9] == [("T1", "commit"), ("T2", "update t set b=22 where a=2"),
                           ("T1", "select b from t where a=2")], order
    waiting = [s for s in trace.stmts() if s["blocked_ns"]]
    assert [trace.names[s["session"]] for s in waiting] == ["T2", "T3"], waiting
    numbers = {name: session for session, name in trace.names.items()}
    assert waiting[0]["blockers"] == [numbers["T1"]]
    assert all(s["flags"] & 32 for s in trace.stmts())
    assert trace.table("initial") == [(1, 10), (2, 20)]
    assert trace.table("final") == [(1, 13), (2, 22)]


def statements_go_on_after_errors():
    trace, _ = run("""
# isolation: RR
[setup]
create table t(a int primary key, b int); insert into t values (1,1),(2,2);
[schedule]
T1> begin; update t set b=10 where a=1;
T2> begin; update t set b=20 where a=2; insert into t values (3,3),(4,4),(5,5);
T1> update t set b=11 where a=2;      -- => blocked, error 1213
T2> update t set b=21 where a=1;
T1> select nonsense;                  -- => error 1054
T1> insert into t values (7,7);       -- => error
T1> select 1;                         -- => (1)
T2> commit;
""", status=1)
    # Which of the two is the victim is the server's choice; both kinds of ends were expected of
    # one of them above, so that one expectation at most fails.
    deadlocks = [s for s in trace.stmts() if s["error"] == 1213]
    assert len(deadlocks) == 1
    ends = [r for r in trace.kind("txn") if r["event"] == 1 and r["outcome"] == 2]
    assert any("1213" in (r["reason"] or "") for r in ends), ends
    assert [s["text"] for s in trace.stmts("T1")][-3:] == \
        ["select nonsense", "insert into t values (7,7)", "select 1"]


def metadata_locks():
    run("""
[setup]
create table t(a int primary key);
[schedule]
T1> begin; select * from t;            -- => empty
T2> alter table t add column b int;    -- => blocked, ok
T1> commit;
T2> insert into t values (1,2);        -- => ok 1
[final]
select * from t;                       -- => (1,2)
""")


def a_wait_that_times_out():
    trace, _ = run("""
[setup]
create table t(a int primary key); insert into t values (1);
[schedule]
T1> begin; delete from t;
T2> set innodb_lock_wait_timeout=1;
T2> delete from t;                     -- => blocked, error 1205
T2> select 1;                          -- => (1)
""")
    assert trace.table("final") == [(1,)]  # T1 was rolled back by its end
    ends = {trace.names[r["session"]]: r for r in trace.kind("txn") if r["event"] == 1}
    assert ends["T1"]["outcome"] == 2


def prepared_transactions_are_not_left_behind():
    text = """
[setup]
create table t(a int primary key);
[schedule]
T1> xa start 'it''s', 'b', 7; insert into t values (1); xa end 'it''s', 'b', 7;
T1> XA PREPARE 'it''s', 'b', 7;        -- => ok
T2> xa start 'x'; insert into t values (2); xa end 'x'; xa prepare 'x'; xa commit 'x';
[final]
select * from t;                       -- => (2)
"""
    for _ in range(2):  # the database of the first run could be dropped
        run(text)
    left = servers("sql", NAME, "xa recover")
    assert left.strip() == "", left


def levels_behind_a_deadlock():
    # What A gets of row 5, which C inserted and did not commit, shows the level that it has.
    look = "C> begin; insert into t values (5);\nA> select * from t where a = 5;%s\nC> rollback;\n"
    dirty, waits = look % " -- => (5)", look % " -- => blocked, ()"
    trace, _ = run("""
[setup]
create table t(a int primary key); insert into t values (1), (2), (3), (4);
[schedule]
A> set session transaction isolation level read uncommitted;
A> begin; delete from t where a = 1;
A> set session transaction isolation level serializable;
B> begin; delete from t where a = 2; delete from t where a = 3; delete from t where a = 4;
B> delete from t where a = 1;
A> delete from t where a = 2;          -- => error 1213
A> begin;
""" + dirty + """
A> commit; begin;
""" + waits + """
A> commit;
A> set transaction isolation level read uncommitted;
A> commit; begin;
""" + waits + "A> commit;\n")
    session = [s["session"] for s in trace.stmts("A")][0]
    levels = [t["level"] for t in trace.kind("txn") if t["session"] == session and t["event"] == 0]
    assert levels == [1, 1, 4, 4], levels  # RU, RU, SER, SER


def writes_outside_of_transactions():
    """select mode: rows that another session writes right after an autocommit write are known"""
    text = """
[setup]
create table t(id int primary key, v int); insert into t values (1, 1);
[schedule]
T1> begin;
T2> insert into t values (3, 5);
T2> select row_count();                -- => (1)
T1> update t set v = v + 1 where id = 3;
T2> update t set v = 7 where id = 1;
T1> select * from t where id = 3;      -- => (3, 6)
T1> update t set v = 8 where id = 1;
T1> commit;
T2> delete from t where id = 3;
T1> insert into t values (3, 9);
"""
    for level in LEVELS:
        trace, _ = run(text, "--instrument=select", "--isolation=" + level)
        done = subprocess.run([ISOTRACE, "check", "--oracle=adya", "--format=json",
                               os.path.join(FOLDER, "x.itr")], capture_output=True, check=False)
        got = json.loads(done.stdout)
        assert not [f for f in got["findings"] if f["severity"] != "documented"], got["findings"]
        assert "writes that are not known exactly" not in got["coverage"]["reasons"], got["coverage"]
        assert trace.table("final"), trace


def a_hang_is_ended():
    trace, out = run("""
[schedule]
T1> select get_lock('x', 0);           -- => (1)
T2> select get_lock('x', 1000);        -- => blocked
T2> select 2;
T3> select 3;                          -- => (3)
""", "--hang-timeout=300ms", status=3)
    assert "not sent: the session is gone" in out
    assert [s["text"] for s in trace.stmts() if s["flags"] & 1] == ["select get_lock('x', 1000)"]
    assert [r for r in trace.kind("note") if r["topic"] == "hang"]


def a_server_that_dies():
    victim = start(NAME + "-victim")
    path = os.path.join(FOLDER, "dead.itr")
    text = write("""
[setup]
create table t(a int primary key); insert into t values (1);
[schedule]
T1> begin; delete from t;
T2> delete from t;
T1> select sleep(1000);
T1> select 1;
""")
    process = subprocess.Popen([ISOREC, "run", "--socket=" + victim["socket"], "-o", path, text],
                               stdout=subprocess.PIPE, text=True)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.endswith("-- blocked\n"):
            os.kill(victim["pid"], signal.SIGKILL)
    assert process.wait() == 3, lines
    assert "the server is gone" in lines[-1], lines
    trace = Trace(path)
    assert "delete from t" in [s["text"] for s in trace.stmts("T2") if s["flags"] & 1]
    servers("stop", victim["name"])


def sessions_that_the_server_ends():
    trace, out = run("""
[setup]
create table t(a int primary key, b int); insert into t values (1,1),(2,2);
create table who(id int);
[schedule]
T1> insert into who values (connection_id());
T1> begin; update t set b=10 where a=1;
T2> begin;
T2> update t set b=20 where a=1;         -- => blocked, ok 1
T3> select id into @k from who; kill @k;
T2> commit;
T4> begin; update t set b=5 where a=2;
T4> kill connection_id();
T3> update t set b=6 where a=2;          -- => ok 1
T5> set session wait_timeout=1; begin; update t set b=7 where a=2;
T3> select sleep(1.2);
T3> update t set b=8 where a=2;          -- => ok 1
T5> commit;
""", status=3)
    assert ", 0 not as expected" in out, out
    for name in ("T1", "T4", "T5"):
        mine = [r for r in trace.records if trace.names.get(r.get("session")) == name]
        session = {r["event"]: r for r in mine if r["kind"] == "session"}
        assert sorted(session) == [0, 1, 4, 5], (name, session)
        txn = [r for r in mine if r["kind"] == "txn"][-1]
        assert (txn["outcome"], txn["reason"]) == (2, "ended by the server"), txn
        assert session[4]["seq"] < txn["seq"] < session[5]["seq"] < session[1]["seq"]
        assert session[4]["reason"].startswith("server closed") and session[4]["at"] < session[5]["at"]
        # A write of what it held is answered after its end.
    last = {s["text"]: s for s in trace.stmts()}
    gone = {trace.names[r["session"]]: r for r in trace.kind("session") if r["event"] == 5}
    seen = {trace.names[r["session"]]: r for r in trace.kind("session") if r["event"] == 4}
    assert seen["T1"]["at"] > last["kill @k"]["begin"]
    assert gone["T4"]["at"] < last["update t set b=6 where a=2"]["begin"]
    assert gone["T5"]["at"] < last["update t set b=8 where a=2"]["begin"]
    # Never sent to a server, so it is in no transaction.
    commit = trace.stmts("T5")[-1]
    assert commit["flags"] & 1 and not commit["txn"], commit
    assert {"T2", "T3"}.isdisjoint(seen)


def a_failing_exit_says_why():
    scenario = """
[schedule]
T1> select 1; -- => (2)
T1> select get_lock('x', 0);
T2> select get_lock('x', 1000);
T2> select 2;
"""
    for more in ([], ["-q"], ["--format=json"]):
        path = os.path.join(FOLDER, "why.itr")
        done = isorec("-o", path, "--hang-timeout=300ms", *more, write(scenario), status=1)
        assert "1 statement not as expected, 1 statement without an answer, 1 statement not sent" in (
            done.stderr), (more, done.stderr)
        done = isorec("-o", path, *more, write("[schedule]\nT1> select 1; -- => (1)\n"))
        assert not done.stderr and bool(done.stdout) == (more != ["-q"]), done


def an_interrupt_leaves_nothing():
    path = os.path.join(FOLDER, "interrupted.itr")
    process = subprocess.Popen([ISOREC, "run", "--socket=" + SERVER["socket"], "-o", path, write("""
[schedule]
T1> select get_lock('y', 0);
T2> select get_lock('y', 1000);
""")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.endswith("-- blocked\n"):
            process.send_signal(signal.SIGINT)
    assert process.wait() == 4
    assert "isorec_run" not in servers("sql", NAME, "show databases")
    trace = Trace(path)
    assert [r for r in trace.kind("note") if r["topic"] == "interrupted"]
    assert trace.stmts("T2")[0]["flags"] & 1
    # What was not run to its end is no execution to compare with.
    done = subprocess.run([ISOTRACE, "diff", path, path], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "the user ended the run" in done.stdout, done


def without_the_lock_views():
    servers("sql", NAME, "create user weak@localhost")
    servers("sql", NAME, "grant all on isorec_run.* to weak@localhost")
    _, out = run("""
[setup]
create table t(a int primary key); insert into t values (1);
[schedule]
T1> begin; delete from t;
T2> delete from t;                     -- => blocked, ok 0
T1> commit;
""", "--blocked-timeout=200ms", user="weak", status=3)
    assert "clock only" in out, out


class Relay:
    """Between isorec and the server: the answer to a COMMIT comes after that to the statement
    which it lets go on."""

    def __init__(self, path, to):
        self.to, self.turn = to, threading.Condition()
        self.waiting, self.answers = set(), 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, server = self.listener.accept()[0], socket.socket(socket.AF_UNIX)
            server.connect(self.to)
            commits = []
            for function in (self.forth, self.back):
                threading.Thread(target=function, args=(client, server, commits),
                                 daemon=True).start()

    def forth(self, client, server, commits):
        while data := client.recv(1 << 16):
            with self.turn:
                self.waiting.add(client)
                if data[5:] == b"commit":
                    commits.append(self.answers)
            server.sendall(data)
        server.shutdown(socket.SHUT_RDWR)

    def back(self, client, server, commits):
        while data := server.recv(1 << 16):
            if commits:
                answers = commits.pop()
                with self.turn:
                    self.turn.wait_for(lambda: self.answers > answers or self.waiting == {client})
                time.sleep(0.05)  # and is noticed by itself
            with self.turn:
                self.waiting.discard(client)
                self.answers += 1
                self.turn.notify_all()
            client.sendall(data)
        client.close()


def answers_behind_those_they_let_go_on():
    relay = os.path.join(FOLDER, "relay")
    Relay(relay, SERVER["socket"])
    trace, _ = run("""
# isolation: RC
[setup]
create table t(a int primary key, b int); insert into t values (1,10),(2,20);
[schedule]
T1> begin;
T2> begin;
T3> begin;
T1> update t set b=b+10;
T2> delete from t where b=20;             -- => blocked, ok 1
T3> delete from t where b=20;             -- => blocked, ok 0
T1> commit;
T2> commit;
T3> commit;
[final]
select * from t;                          -- => (2,30)
""", "--instrument=select", server={"socket": relay})
    deletes = {s["session"] for s in trace.stmts() if s["text"].startswith("delete")}
    probes = [p for p in trace.kind("probe") if p["session"] in deletes]
    assert len(probes) == 6 and all(p["exact"] for p in probes), probes  # BWR, AWR, PM


def unmet_expectations_are_told():
    _, out = run("""
[setup]
create table t(a int, b int); insert into t values (1,2),(1,3);
[schedule]
T1> select 1;                          -- => (2)
T1> select * from t;                   -- => (1,*) (*,2)
T1> select * from t order by b;        -- => ordered (1,3) (1,2)
T1> update t set a=2;                  -- => ok 1
T1> select 1;                          -- => blocked
T1> select nonsense;                   -- => error 1064
""", status=1)
    assert out.count("NOT as expected") == 5, out


def what_cannot_run():
    done = isorec("-o", FOLDER, write("[setup]\nselect 1;\nnonsense;\n[schedule]\nT1> a;\n"),
                  status=4)
    assert "setup, line 3: error 1064" in done.stderr, done.stderr
    done = isorec("-o", FOLDER, write("[schedule]\nT1> a\n"), status=4)
    assert "x.scn:2:5: this statement has no ';'" in done.stderr, done.stderr
    servers("sql", NAME, "create database isorec_run")
    done = isorec("-o", FOLDER, write("[schedule]\nT1> select 1;\n"), status=4)
    assert "--drop-database" in done.stderr, done.stderr
    isorec("--drop-database", "-o", FOLDER, write("[schedule]\nT1> select 1;\n"))
    assert "isorec_run" not in servers("sql", NAME, "show databases")
    path = os.path.join(FOLDER, "there.itr")
    isorec("-o", path, write("[schedule]\nT1> select 1;\n"))
    size = os.path.getsize(path)
    done = subprocess.run([ISOREC, "run", "--socket=" + SERVER["socket"], "--user=root", "-o", path,
                           write("[schedule]\nT1> select 1;\n")], capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "let it be replaced with --overwrite" in done.stderr, done
    assert os.path.getsize(path) == size
    isorec(status=2)
    isorec("--isolation=XX", write("[schedule]\nT1> select 1;\n"), status=2)


def the_server_splits_statements_alike():
    """Each statement reaches the server whole, or it would answer otherwise."""
    run(r"""
[setup]
create table t(a int);
delimiter //
create trigger g before insert on t for each row begin set @x = ';'; set new.a = 5; end
//
delimiter ;
[schedule]
T1> select 'a;b', "c;""d", 'it''s', 'x\';';   -- => ('a;b','c;"d','it\'s','x\';')
T1> select 1 -- ;
    + 1 # ;
    ;                                         -- => (2)
T1> select 5--3;                              -- => (8)
T1> select /* ; */ 1, /*! 2, */ 3 as `a;b`;   -- => (1,2,3)
T1> insert into t values (1);                 -- => ok 1
T1> select a, @x from t;                      -- => (5,';')
""")


def procedures_and_types():
    trace, _ = run("""
[setup]
create table t(a int primary key, d decimal(10,2), f double, s varchar(20) character set utf8mb4,
               b varbinary(10), y date, z datetime(3), n int);
insert into t values (1, 1.5, 0.1, 'ä''x', x'00ff', '2020-01-02', '2020-01-02 03:04:05.6', null);
delimiter //
create procedure p() begin select a from t; select 'second'; update t set n=1; end
//
create function f(x int) returns int deterministic return x + 1
//
create trigger g after delete on t for each row set @x = ';'
//
create trigger h after delete on t for each row set @y = 2
//
create view seen(k, l) as select a, n from t where s <> 'x'
//
delimiter ;
[schedule]
T1> call p();                                 -- => (1)
T1> select * from t;
-- => (1,1.5,0.1,'ä''x',x'00ff','2020-01-02','2020-01-02 03:04:05.600',1)
""")
    call = trace.stmts()[0]
    assert call["result_sets"] == 2 and trace.rows(call) == [(1,), ("second",)]
    schema = trace.kind("schema")[0]
    assert [c[0] for c in schema["columns"]] == list("adfsbyzn") and schema["primary_key"] == [0]
    programs = {r["name"]: r for r in trace.kind("program")}
    assert {n: (r["type"], r["table"], r["position"]) for n, r in programs.items()} == {
        "g": (1, "t", 1), "h": (1, "t", 2), "f": (2, None, 0), "p": (3, None, 0), "seen": (4, None, 0)}, programs
    assert programs["seen"]["create_text"].startswith("CREATE ALGORITHM=UNDEFINED "), programs
    assert programs["seen"]["collation"].startswith("utf8mb4") and not programs["seen"]["sql_mode"], programs
    assert programs["p"]["create_text"].endswith(
        "begin select a from t; select 'second'; update t set n=1; end"), programs
    assert "STRICT_TRANS_TABLES" in programs["f"]["sql_mode"] and programs["f"]["collation"], programs


def the_servers_own_settings():
    """A server that begins every session with autocommit off and an sql_mode under which SHOW CREATE TABLE leaves out
    engine and collation: what the setup makes is there, and the definition is whole."""
    settings = "set global autocommit = %s, global sql_mode = %s, global sql_select_limit = %s"
    servers("sql", NAME, settings % ("0", "'ANSI,PAD_CHAR_TO_FULL_LENGTH'", "1"))
    try:
        trace, _ = run("""
[setup]
create table t(a int auto_increment primary key, c char(3)) collate utf8mb4_bin;
insert into t values (1,'x'),(2,'y');
set sql_mode = 'ANSI';
[schedule]
T1> select a from t;    -- => (1)
""")
    finally:
        servers("sql", NAME, settings % ("1", "default", "default"))
    assert trace.table("initial") == [(1, "x"), (2, "y")], trace.table("initial")
    assert trace.kind("server")[0]["variables"]["sql_select_limit"] == "1"
    text = trace.kind("schema")[0]["create_text"]
    assert "ENGINE=InnoDB" in text and "utf8mb4_bin" in text and "AUTO_INCREMENT" in text, text


def many_sessions():
    lines = ["# isolation: RR", "[setup]", "create table t(a int primary key, b int);",
             "insert into t values (1,0);", "[schedule]"]
    lines += ["T%d> begin;" % i for i in range(60)]
    lines += ["T0> update t set b=b+1;"]
    lines += ["T%d> update t set b=b+1; -- => blocked, ok 1" % i for i in range(1, 12)]
    lines += ["T%d> commit;" % i for i in range(60)]
    lines += ["[final]", "select b from t; -- => (12)"]
    trace, _ = run("\n".join(lines) + "\n")
    assert len(trace.stmts()) == 60 + 12 + 60 + 1


def a_circle_that_stands():
    """A and B want what the other and C share.  MariaDB sees the deadlock at once; MySQL follows one
    of those that a session waits for, which is C, and both wait on.  Its view says so, not the clock."""
    begin = time.monotonic()
    trace, _ = run("""
# isolation: SER
[setup]
create table r(id int primary key, v int);
insert into r values (1,0);
[schedule]
A> begin;
B> begin;
C> begin;
A> select * from r where id=1;
B> select * from r where id=1;
C> select * from r where id=1;
A> update r set v=1 where id=1;
B> update r set v=2 where id=1;
C> commit;
A> commit;
B> commit;
""")
    assert time.monotonic() - begin < 8
    assert [s["error"] for s in trace.stmts() if s["error"]] == [1213]


def summaries():
    """One of a thing is not many, and a quiet request for other orders says where they are."""
    _, said = run("[schedule]\nT1> nonsense;\n")
    assert "# 1 statement, 0 blocked, 1 error, " in said, said
    done = isorec("-q", "--shuffle=3", "-o", FOLDER, write("[schedule]\nT1> select 1;\nT2> select 2;\n"))
    assert "x.scn: 4 orders run, the traces are in " + FOLDER in done.stdout, done.stdout
    text = subprocess.run([ISOREC, "help", "run"], capture_output=True, text=True, check=True).stdout
    assert "repeated runs differ" in text and "violation was found" not in text, text


def case_files():
    path = os.path.join(FOLDER, "case.txt")
    with open(path, "w", encoding="ascii") as out:
        out.write("CREATE TABLE t(a INT)\nINSERT INTO t VALUES (1)\n\nRC\nBEGIN\n"
                  "UPDATE t SET a=2\nCOMMIT\n\nRR\nBEGIN\nSELECT * FROM t\nCOMMIT\n\n"
                  "1-1-2-2-1-2\nEND\n")
    isorec("-o", FOLDER, path)
    trace = Trace(os.path.join(FOLDER, "case.txt.itr"))
    assert trace.rows(trace.stmts("T2")[1]) == [(1,)]
    assert {trace.names[r["session"]]: r["level"] for r in trace.kind("txn")} == {"T1": 2, "T2": 3}


def options_of_the_server():
    text = "# server: %s\n[setup]\ncreate table t(a int);\n[schedule]\nT1> select 1;\n"
    run(text % "innodb-rollback-on-timeout=0")
    done = isorec("-o", os.path.join(FOLDER, "x.itr"), write(text % "innodb_rollback_on_timeout=ON"), status=4)
    assert "for a server with innodb_rollback_on_timeout=ON" in done.stderr, done.stderr
    # Words that stand for others are the server's to know; the session's mode is as it was.
    done = isorec("-o", os.path.join(FOLDER, "x.itr"), write(text % "sql_mode=ORACLE"), status=4)
    assert "with sql_mode=ORACLE" in done.stderr, done.stderr
    folder = os.path.join(FOLDER, "options")
    path = write((text % "sql_mode=ANSI").replace("select 1", "select 'a' || 'b', @@innodb_rollback_on_timeout").replace(
        "[setup]", "# server: innodb_rollback_on_timeout=ON\n[setup]"))
    done = subprocess.run([ISOREC, "run", "--server", RELEASE, "-o", folder, path], capture_output=True, text=True, check=False,
                          env=dict(os.environ, ISOREC_SERVERS=SERVERS))
    assert "('ab',1)" in done.stdout, (done.stdout, done.stderr)


def a_bound_for_memory_is_not_the_servers():
    done = subprocess.run([ISOREC, "run", "--server", RELEASE, "--memory=96M", "-o", os.path.join(FOLDER, "memory"),
                           write("[schedule]\nT1> select 1 + 1;\n")], capture_output=True, text=True, check=False,
                          env=dict(os.environ, ISOREC_SERVERS=SERVERS))
    assert done.returncode == 0 and "(2)" in done.stdout, (done.returncode, done.stdout, done.stderr)


def sessions_that_do_not_wait_for_each_other():
    trace, _ = run("""# rounds: 3
[setup]
create table t(a int primary key, b int); insert into t values (1,1);
[schedule]
T1> begin;
T1> select sleep(0.05);
T2> select sleep(0.05);
T1> update t set b=b+1; -- => ok 77
T2> update t set b=b+1;
""")
    one, two = trace.stmts("T1"), trace.stmts("T2")
    assert [s["text"].split()[0] for s in one] == ["begin", "select", "update"] * 3, one
    assert [s["text"].split()[0] for s in two] == ["select", "update"] * 3, two
    assert two[0]["begin_seq"] < one[1]["seq"] and one[1]["begin_seq"] < two[0]["seq"], (one[1], two[0])
    # T1 ends without a COMMIT, and keeps none waiting; the BEGIN of its next round commits.
    assert not any(s["error"] for s in one + two), two
    assert trace.table("final") == [(1, 6)], trace.table("final")


def rounds_with_versions_do_not_wait_for_themselves():
    # One session reads its versions while another one waits for its lock: that is no reason to wait for the other one,
    # which would go on until its lock wait times out.
    trace, _ = run("""# rounds: 5
[setup]
create table t(a int primary key, b int); insert into t values (1,1),(2,2);
[schedule]
T1> set innodb_lock_wait_timeout = 10;
T1> begin;
T1> update t set b=b+1 where a=1;
T1> update t set b=b+1 where a=2;
T1> commit;
T2> set innodb_lock_wait_timeout = 10;
T2> begin;
T2> update t set b=b+1 where a=1;
T2> update t set b=b+1 where a=2;
T2> commit;
""", "--instrument=select")
    errors = [s["error"] for s in trace.stmts("T1") + trace.stmts("T2") if s["error"]]
    assert not errors, errors
    assert trace.table("final") == [(1, 11), (2, 12)], trace.table("final")


def rounds_with_versions_behind_definitions():
    # Versions of T1's rows are read beside it, behind an ALTER TABLE that waits for T2, whom nobody serves meanwhile.
    _, out = run("""# rounds: 30
[setup]
create table t(a int primary key, b int); insert into t values (1,1),(2,2);
[schedule]
T1> update t set b=b+1 where a=1;
T2> begin;
T2> select * from t;
T2> commit;
T3> update t set b=b+1 where a=2;
T4> alter table t comment 'x';
""", "--instrument=select")
    assert "180 statements" in out and "0 without an answer" in out, out


TESTS = [anomaly(name) for name in ANOMALIES] + [a_circle_that_stands]
if RELEASE == "mariadb-local":
    TESTS += [blocked_and_resumed, statements_go_on_after_errors, metadata_locks,
              a_wait_that_times_out, prepared_transactions_are_not_left_behind, levels_behind_a_deadlock,
              writes_outside_of_transactions, a_hang_is_ended, a_server_that_dies,
              sessions_that_the_server_ends, a_failing_exit_says_why,
              an_interrupt_leaves_nothing, without_the_lock_views,
              answers_behind_those_they_let_go_on,
              unmet_expectations_are_told, what_cannot_run, the_server_splits_statements_alike,
              procedures_and_types, the_servers_own_settings, many_sessions, summaries,
              case_files, options_of_the_server, a_bound_for_memory_is_not_the_servers,
              sessions_that_do_not_wait_for_each_other,
              rounds_with_versions_do_not_wait_for_themselves, rounds_with_versions_behind_definitions]


def main():
    print("1..%d" % len(TESTS))
    failed = 0
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print("ok %d - %s" % (number, function.__name__), flush=True)
        except Skip as exc:
            print("ok %d - %s # SKIP %s" % (number, function.__name__, exc), flush=True)
        except Exception as exc:  # pylint: disable=broad-except
            failed += 1
            print("not ok %d - %s" % (number, function.__name__))
            for line in ("%s: %s" % (type(exc).__name__, exc)).splitlines():
                print("# " + line, flush=True)
    return 1 if failed else 0


with tempfile.TemporaryDirectory(prefix="isorec-run-") as FOLDER:
    try:
        SERVER = start(NAME, *OPTIONS)
    except Skip as exc:
        print("1..0 # SKIP %s" % exc)
        sys.exit(0)
    try:
        status = main()
    finally:
        servers("stop", NAME)
sys.exit(status)
