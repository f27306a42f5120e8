#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What isorec proxy records of nodes and clusters, with real servers: TAP.

    test_proxy_cluster.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [TEST...]

Without names of tests those on one server run; `galera` and `group` start clusters of three nodes.
"""
import concurrent.futures
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import (Proxy, SkipTest, TESTS, records, run_servers,  # noqa: E402
                           run_tests, test, wait_for)

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])


def servers(*args, check=True):
    return run_servers(SERVERS, *args, check=check)


def start(release, name, *options):
    name = "%s-%d" % (name, os.getpid())
    return json.loads(servers("start", release, "--name=" + name, "--json",
                              "--with-parent=%d" % os.getpid(), *options))


def query(port, sql, status=0):
    done = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot",
                           "--skip-ssl", "-N", "-e", sql], capture_output=True, text=True,
                          timeout=60, check=False)
    assert status is None or done.returncode == status, done.stderr
    return done.stdout


def note(path, *args, status=0):
    done = subprocess.run([ISOREC, "note", "--control", path, *args], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == status, done
    return done.stdout if status == 0 else done.stderr


def events(trace):
    return records(ISOTRACE, trace, ["cluster", "note"])


def flushed(proxy, what, condition):
    """Waits until the trace being written has the event."""
    return wait_for(what, lambda: condition(
        [e for e in events(proxy.trace) if e["kind"] == "cluster"]), 120)


@test
def one_server():
    """a server is killed and comes back: unreachable, connections refused and lost, restarted"""
    server = start("mariadb-local", "cl")
    name = server["name"]
    try:
        with Proxy(ISOREC, ["db=127.0.0.1:%d" % server["port"]], "--user=root",
                   "--poll-interval=50ms", "--log", "db=" + server["error_log"],
                   "--log-pattern=ready for conn") as proxy:
            flushed(proxy, "the first look", lambda e: any("reachable" in x["detail"] for x in e))
            query(proxy.port, "select 1")
            with socket.create_connection(("127.0.0.1", proxy.port)) as never_logs_in:
                never_logs_in.recv(10)
            import pymysql  # pylint: disable=import-outside-toplevel
            idle = pymysql.connect(host="127.0.0.1", port=proxy.port, user="root")
            servers("kill", name)
            flushed(proxy, "unreachable", lambda e: any(
                x["what"] == "state" and x["detail"].startswith("unreachable") for x in e))
            assert "" == query(proxy.port, "select 2", None)
            assert "" == query(proxy.port, "select 2", None)
            servers("restart", name, "--with-parent=%d" % os.getpid())
            wait_for("the server", lambda: query(proxy.port, "select 3", None) == "3\n")
            flushed(proxy, "reachable", lambda e: any(
                x["what"] == "state" and x["detail"].startswith("reachable") and
                e.index(x) > 0 for x in e[1:]))
            query(proxy.port, "set global read_only = on")
            flushed(proxy, "read_only", lambda e: any("read_only 1, was 0" in x["detail"] for x in e))
            idle.close() if idle.open else None  # pylint: disable=expression-not-assigned
            proxy.stop()
            got = [e for e in events(proxy.trace) if e["kind"] == "cluster"]
    finally:
        servers("stop", name, check=False)
    assert {e["node"] for e in got} == {"db"}
    connection = [e["detail"].split(":")[0] for e in got if e["what"] == "connection"]
    assert connection == ["lost", "refused", "accepted again"], connection
    state = [e["detail"] for e in got if e["what"] == "state"]
    assert state[0].startswith("reachable; read_only 0") and "unreachable" in state[1], state
    assert "restarted" in " ".join(state) or "reachable" in state[2], state
    changed, = (e for e in got if "read_only 1, was 0" in e["detail"])
    assert changed["data"]["read_only"] == "1" and int(changed["data"]["unchanged_at"]) < changed["at"]
    log = {e["data"]["pattern"] for e in got if e["what"] == "log"}
    assert "ready for conn" in log, log


@test
def notes():
    """isorec note: notes, operations with their duration, events; and what is refused"""
    server = start("mariadb-local", "cn")
    try:
        with Proxy(ISOREC, ["n1=127.0.0.1:%d" % server["port"]], "--control", "rec.sock") as proxy:
            path = "rec.sock"
            seq = [int(note(path, "--topic", "load", "64 clients now").split()[0])]
            seq.append(int(note(path, "--node", "n1", "--begin", "stop").split()[0]))
            query(proxy.port, "select 'between'")
            seq.append(int(note(path, "--node", "n1", "--end", "stop", "as planned").split()[0]))
            seq.append(int(note(path, "--node", "n1", "--event", "cable pulled").split()[0]))
            assert seq == sorted(seq)
            assert "nothing to note" in note(path, status=2)
            assert "exclude" in note(path, "--begin", "a", "--end", "a", status=2)
            with socket.socket(socket.AF_UNIX) as raw:
                raw.connect(path)
                raw.sendall(b"topic two\ntext in one\n\nnode n1\nevent go\n")
                assert raw.recv(1000).startswith(b"ok ")
                raw.sendall(b"\nwhat is this\n\n")
                answers = b""
                while answers.count(b"\n") < 2:
                    answers += raw.recv(1000)
                assert answers.startswith(b"ok ") and b"error a line must" in answers, answers
            mode = os.stat(path).st_mode & 0o777
            assert mode == 0o600, oct(mode)
            proxy.stop()
            assert not os.path.exists(path)
            got = events(proxy.trace)
            between, = (r for r in records(ISOTRACE, proxy.trace, ["stmt"])
                        if r["text"] == "select 'between'")
        assert "no recorder answers" in note(path, "x", status=4)
    finally:
        servers("stop", server["name"], check=False)
    notes_ = [(e["source"], e["topic"], e["text"]) for e in got if e["kind"] == "note"]
    assert notes_ == [("user", "load", "64 clients now"), ("user", "two", "in one")], notes_
    operations = [e for e in got if e["kind"] == "cluster"]
    assert [e["detail"] for e in operations] == [
        "stop begins", "stop ended: as planned", "cable pulled", "go"], operations
    assert all(e["what"] == "operation" and e["node"] == "n1" for e in operations)
    begin, end = operations[:2]
    assert end["begin"] == begin["at"] and begin["at"] < between["begin"] < between["at"] < end["at"]
    assert [e["seq"] for e in (got[0], *operations[:3])] == seq


@test
def rotated_log():
    """a log that appears later, is rotated and is cut is read without a gap"""
    server = start("mariadb-local", "cr")
    path = os.path.join(BUILD, "node-%d.log" % os.getpid())
    try:
        with Proxy(ISOREC, ["n1=127.0.0.1:%d" % server["port"]], "--log", path,
                   "--log-pattern=^MARK") as proxy:
            def write(text, mode="a"):
                with open(path, mode, encoding="utf-8") as log:
                    log.write(text)

            def seen(text):
                flushed(proxy, text, lambda e: any(x["detail"] == text for x in e))

            write("nothing\nMARK 1\nMARK")
            seen("MARK 1")
            write(" 2 joined\n" + "x" * 10000 + "\nMARK 3\n")
            seen("MARK 2 joined")
            seen("MARK 3")
            write("MARK 4 before the move\n")
            os.rename(path, path + ".1")
            write("MARK 5 in the new one\n")
            seen("MARK 5 in the new one")
            write("MARK 6 cut\n", "w")
            seen("MARK 6 cut")
            proxy.stop()
            got = [e["detail"] for e in events(proxy.trace) if e["kind"] == "cluster"]
    finally:
        servers("stop", server["name"], check=False)
        for name in (path, path + ".1"):
            if os.path.exists(name):
                os.unlink(name)
    assert got == ["MARK 1", "MARK 2 joined", "MARK 3", "MARK 4 before the move",
                   "MARK 5 in the new one", "MARK 6 cut"], got


def cluster(release, check):
    """Kills and restarts the second of three nodes; check gets the events of each node."""
    nodes = start(release, "cluster")
    nodes = nodes if isinstance(nodes, list) else nodes["nodes"]
    victim = nodes[1]["name"]
    try:
        options = []
        for i, node in enumerate(nodes):
            options += ["--log", "n%d=%s" % (i + 1, node["error_log"])]
        with Proxy(ISOREC, ["n%d=127.0.0.1:%d" % (i + 1, n["port"]) for i, n in enumerate(nodes)],
                   "--user=root", "--poll-interval=200ms", "--control", "cluster.sock",
                   *options) as proxy:
            query(proxy.ports[0], "create database c; create table c.t (a int primary key)")
            query(proxy.ports[1], "insert into c.t values (1)")
            note("cluster.sock", "--node", "n2", "--begin", "kill")
            servers("kill", victim)
            note("cluster.sock", "--node", "n2", "--end", "kill")
            flushed(proxy, "the others see it go", lambda e: check.gone(e))
            query(proxy.ports[0], "insert into c.t values (2)")
            note("cluster.sock", "--node", "n2", "--begin", "restart")
            servers("restart", victim, "--with-parent=%d" % os.getpid())
            note("cluster.sock", "--node", "n2", "--end", "restart")
            flushed(proxy, "it is back", lambda e: check.back(e))
            assert query(proxy.ports[1], "select count(*) from c.t") == "2\n"
            proxy.stop()
            got = [e for e in events(proxy.trace) if e["kind"] == "cluster"]
    finally:
        for node in nodes:
            servers("stop", node["name"], check=False)
    assert not [e for e in got if e["node"] not in ("n1", "n2", "n3")]
    operations = [e["detail"] for e in got if e["what"] == "operation"]
    assert operations == ["kill begins", "kill ended", "restart begins", "restart ended"], operations
    assert any(e["node"] == "n2" and e["detail"].startswith("unreachable") for e in got)
    logs = {(e["node"], e["data"]["pattern"]) for e in got if e["what"] == "log"}
    print("# patterns: " + ", ".join(sorted("%s %s" % x for x in logs)))
    return got, logs


class GaleraCheck:
    @staticmethod
    def gone(got):
        return all(any(e["node"] == n and e["what"] == "membership" and
                       "wsrep_cluster_size 2, was 3" in e["detail"] for e in got)
                   for n in ("n1", "n3"))

    @staticmethod
    def back(got):
        synced = [e for e in got if e["node"] == "n2" and e["what"] == "state" and
                  "wsrep_local_state_comment Synced" in e["detail"]]
        return len(synced) >= 2 and all(any(
            e["node"] == n and "wsrep_cluster_size 3, was 2" in e["detail"] for e in got)
            for n in ("n1", "n3"))


class GroupCheck:
    @staticmethod
    def gone(got):
        return any(e["node"] == "n1" and e["what"] == "membership" and
                   ("UNREACHABLE" in e["detail"] or "gone" in e["detail"]) for e in got)

    @staticmethod
    def back(got):
        last = [e for e in got if e["node"] == "n2" and "member_state" in e["detail"]]
        return len(last) >= 2 and "member_state ONLINE" in last[-1]["detail"]


if "galera" in sys.argv[5:]:
    @test
    def galera():
        """Galera, 3 nodes: sizes, states, transfer and eviction in the logs, as one node dies"""
        got, logs = cluster("galera-10.11", GaleraCheck)
        first = [e for e in got if e["node"] == "n1" and e["what"] == "state"][0]["detail"]
        assert "wsrep_cluster_status Primary" in first and "wsrep_ready ON" in first, first
        assert ("n2", "started") in logs and ("n2", "state transfer") in logs, logs
        assert ("n1", "eviction") in logs or ("n1", "view") in logs, logs


def sysbench(port, what, *more):
    return ["sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", "--mysql-port=%d" % port,
            "--mysql-user=root", "--mysql-db=sbtest", "--mysql-ssl=off", "--tables=2",
            "--table-size=200", "--mysql-ignore-errors=1020,1062,1180,1205,1213", *more, what]


if "galera" in sys.argv[5:]:
    @test
    def galera_load():
        """sysbench on two nodes of a cluster at once: both recorded, conflicts are aborts"""
        nodes = start("galera-10.11", "load")
        nodes = nodes if isinstance(nodes, list) else nodes["nodes"]
        try:
            with Proxy(ISOREC, ["n%d=127.0.0.1:%d" % (i + 1, n["port"]) for i, n in
                                enumerate(nodes[:2])]) as proxy:
                query(nodes[0]["port"], "create database sbtest")
                subprocess.run(sysbench(nodes[0]["port"], "prepare"), check=True,
                               stdout=subprocess.DEVNULL)
                runs = [subprocess.Popen(
                    sysbench(port, "run", "--threads=4", "--time=5"), stdout=subprocess.PIPE,
                    text=True) for port in proxy.ports]
                said = [run.communicate(timeout=120)[0] for run in runs]
                assert all(run.returncode == 0 for run in runs), said
                wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
                proxy.stop()
                got = records(ISOTRACE, proxy.trace, ["session", "stmt", "txn"])
        finally:
            for node in nodes:
                servers("stop", node["name"], check=False)
        node_of = {r["session"]: r["node"] for r in got if r["kind"] == "session"}
        failed = 0
        for name, text in zip(("n1", "n2"), said):
            ended = [r for r in got if r["kind"] == "txn" and r["event"] == 1 and
                     not r["autocommit"] and node_of[r["session"]] == name]
            committed = [r for r in ended if r["outcome"] == 1]
            done = int(re.search(r"transactions:\s+(\d+)", text).group(1))
            assert len(committed) == done > 0, (name, len(committed), text)
            errors = {(r["session"], r["number"]) for r in got if r["kind"] == "stmt" and
                      r["error"] in (1020, 1213)}
            for r in ended:
                # The session that lost against the other node was rolled back whole.
                if (r["session"], r["number"]) in errors:
                    assert r["outcome"] == 2, r
                    failed += 1
        print("# %d transactions lost against the other node or each other" % failed)


def prepare(port, mode, *databases):
    done = subprocess.run([ISOREC, "prepare", "--host=127.0.0.1", "--port=%d" % port, "--user=root",
                           "--mode=" + mode, *databases], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done


TABLE_COMMANDS = ("update t set v = v + 1000 where id = 2", "select * from t", "commit",
                  "insert into t values (3,3)", "delete from t where id = 2")


def late_aborts(nodes, mode, see_all, commands):
    """A node rolls the idle transaction of a session back and tells so at the next command."""
    import pymysql  # pylint: disable=import-outside-toplevel
    database = "late_" + mode
    query(nodes[0]["port"], "create database %s; create table %s.t (id int primary key, v int); "
          "insert into %s.t values (1,0),(2,0)" % (database, database, database))
    prepare(nodes[0]["port"], mode, database)

    def connect(port):
        return pymysql.connect(host="127.0.0.1", port=port, user="root", database=database,
                               autocommit=True)

    with Proxy(ISOREC, ["n%d=127.0.0.1:%d" % (i + 1, n["port"]) for i, n in
                        enumerate(nodes[:2])], "--user=root", "-D", database,
               "--instrument=" + mode, "--all-writers") as proxy:
        victim, winner, look = (connect(port) for port in (
            proxy.ports[0], proxy.ports[1], nodes[0]["port"]))
        v, w = victim.cursor(), winner.cursor()
        looks = look.cursor()
        looks.execute(see_all)
        w.execute(see_all)
        wins = 0
        for command in commands:
            v.execute("begin")
            v.execute("update t set v = v + 100 where id = 1")
            wins += 1
            w.execute("update t set v = v + 1 where id = 1")
            looks.execute("select v from t where id = 1")
            assert looks.fetchall() == ((wins,),), (command, wins)
            wait_for("the victim's rollback", lambda: not (
                looks.execute("select 1 from information_schema.innodb_trx where "
                              "trx_mysql_thread_id = %d" % victim.thread_id()),
                looks.fetchall())[1])
            try:
                v.execute(command)
                assert False, command + " went on in a transaction that was rolled back"
            except pymysql.err.OperationalError as error:
                assert error.args[0] in (1213, 1180), (command, error)
        # And the session goes on.
        assert v.execute("update t set v = v + 1 where id = 2") == 1
        looks.execute("select * from t order by id")
        assert looks.fetchall() == ((1, wins), (2, 1))
        for session in (victim, winner, look):
            session.close()
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        ended = [r for r in records(ISOTRACE, proxy.trace, ["txn"])
                 if r["event"] == 1 and not r["autocommit"]]
        checked = json.loads(subprocess.run(
            [ISOTRACE, "check", "--format=json", "--oracle=adya", proxy.trace],
            capture_output=True, check=False).stdout)
    # 1180 from COMMIT: what the engine says of it is not read.
    unknown = [r for r in ended if r["reason"] == "error 1180" and r["outcome"] == 0]
    assert len(ended) == wins and all(r["outcome"] == 2 or r in unknown for r in ended), ended
    assert not checked["findings"], checked["findings"]
    if mode == "trigger" and not unknown:
        assert checked["coverage"]["decided"] and not checked["coverage"]["undecided"], (
            checked["coverage"])


@test
def same_names():
    """nodes whose triggers would give two versions one name are refused"""
    for attempt in range(5):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pair = list(pool.map(lambda n: start("mariadb-local", "cs%d%s" % (attempt, n)), "ab"))
        nodes = ["127.0.0.1:%d" % server["port"] for server in pair]
        try:
            if len({query(s["port"], "select uuid_short() >> 24") for s in pair}) > 1:
                continue  # not started in the same second
            done = subprocess.run([ISOREC, "proxy", "--node=a=" + nodes[0], "--node=b=" + nodes[1],
                                   "--listen=127.0.0.1:0", "--listen=127.0.0.1:0", "--user=root",
                                   "--instrument=trigger", "-o", "same-%d.itr" % os.getpid()],
                                  capture_output=True, text=True, timeout=60, check=False)
        finally:
            for server in pair:
                servers("stop", server["name"], check=False)
        assert done.returncode == 4 and "nodes a and b have the same server_id" in done.stderr, done
        return
    raise SkipTest("two servers did not start in the same second")


if "galera" in sys.argv[5:]:
    @test
    def galera_late_abort():
        """a session that another node rolled back gets its error, instrumented or not"""
        nodes = start("galera-11.8", "late")
        try:
            for mode in ("trigger", "select"):
                late_aborts(nodes, mode, "set session wsrep_sync_wait = 15",
                            (*TABLE_COMMANDS, "rollback", "begin", "select 1",
                             "select row_count()"))
        finally:
            for node in nodes:
                servers("stop", node["name"], check=False)


if "group" in sys.argv[5:]:
    @test
    def group():
        """group replication, 3 nodes: members and their states, as one node dies"""
        got, logs = cluster("mysql-9.7-group", GroupCheck)
        first = [e for e in got if e["node"] == "n1" and e["what"] == "membership"][0]["detail"]
        assert first.count("ONLINE PRIMARY") == 3, first
        assert ("n2", "started") in logs, logs


if "group" in sys.argv[5:]:
    @test
    def group_late_abort():
        """the same of group replication, which tells it where a table is used, and at COMMIT"""
        nodes = start("mysql-9.7-group", "late")
        try:
            for mode in ("trigger", "select"):
                late_aborts(nodes, mode, "set session group_replication_consistency = 'BEFORE'",
                            TABLE_COMMANDS)
        finally:
            for node in nodes:
                servers("stop", node["name"], check=False)


def main():
    os.makedirs(BUILD, exist_ok=True)
    os.chdir(BUILD)
    return run_tests(sys.argv[5:])


assert TESTS
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
sys.exit(main())
