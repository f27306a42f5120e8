#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What happens to recorders in real life, with a real server under load: TAP.

    test_proxy_faults.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [TEST...]

Clients insert numbers and remember which were acknowledged; whatever is done to the proxy, the server
or the disk, what the trace says must be what the clients did, in their order, and nothing else.
"""
import collections
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import pymysql

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import (Proxy, SkipTest, records, run_servers, run_tests, test,  # noqa: E402
                           wait_for)

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])
FOLDER = tempfile.TemporaryDirectory(prefix="isorec-faults-")
MB = 1 << 20
STATE = {}


def servers(*args, check=True):
    return run_servers(SERVERS, *args, check=check)


def start(name, *options):
    if name not in STATE:
        STATE[name] = json.loads(servers(
            "start", "mariadb-local", "--name=%s-%d" % (name, os.getpid()), "--json",
            "--with-parent=%d" % os.getpid(), "-o", "max_allowed_packet=256M", *options))
        servers("sql", STATE[name]["name"], "create database test")
        servers("sql", STATE[name]["name"], "create table test.t (client int, n int, primary key (client, n))")
    return STATE[name]


def sql(text, name="faults"):
    return servers("sql", STATE[name]["name"], text)


def start_proxy(*options, name="faults", **more):
    return Proxy(ISOREC, ["n1=127.0.0.1:%d" % start(name)["port"]], *options, **more)


def connect(port, **more):
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                           autocommit=True, connect_timeout=100, **more)


class Clients:
    """Threads that insert (client, 0), (client, 1) ... until they are stopped or cut off."""
    number = 0

    def __init__(self, port, count):
        self.stopping = False
        self.acked, self.sent = collections.Counter(), collections.Counter()
        self.threads = []
        for _ in range(count):
            Clients.number += 1
            self.threads.append(threading.Thread(target=self.work, args=(port, Clients.number)))
        for thread in self.threads:
            thread.start()

    def work(self, port, client):
        try:
            db = connect(port)
            with db.cursor() as cursor:
                while not self.stopping:
                    self.sent[client] += 1
                    cursor.execute("insert into t values (%d, %d)" % (client, self.acked[client]))
                    self.acked[client] += 1
            db.close()
        except (pymysql.Error, OSError):
            pass

    def wait(self, each):
        wait_for("the clients' work", lambda: len(self.acked) == len(self.threads) and
                 min(self.acked.values()) >= each)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()


INSERT = re.compile(r"insert into t values \((\d+), (\d+)\)$")


def inserted(got):
    """{client: [number, answered?]} of the inserts in a trace."""
    found = collections.defaultdict(list)
    for r in got:
        match = INSERT.match(r.get("text") or "") if r["kind"] == "stmt" else None
        if match:
            found[int(match.group(1))].append((int(match.group(2)), not r["flags"] & 1))
    return found


def compare(clients, got, whole=True):
    """The trace has what the clients did, from its beginning; all of it if it is whole."""
    found = inserted(got)
    for client, acked in clients.acked.items():
        numbers = [n for n, _ in found[client]]
        answered = sum(a for _, a in found[client])
        assert numbers == list(range(len(numbers))), (client, numbers[-5:])
        assert len(numbers) <= clients.sent[client], (client, len(numbers), clients.sent[client])
        if whole:
            assert len(numbers) >= acked and answered >= acked, (client, len(numbers), answered, acked)
    return found


def shown(trace, status):
    done = subprocess.run([ISOTRACE, "show", "--format=ndjson", trace], capture_output=True,
                          text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def descriptors(proxy):
    return len(os.listdir("/proc/%d/fd" % proxy.process.pid))


def resident(proxy):
    with open("/proc/%d/status" % proxy.process.pid, encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024


@test
def killed_under_load():
    """kill -9 under load: the trace is readable, and each session's statements are its first ones"""
    with start_proxy() as proxy:
        clients = Clients(proxy.port, 8)
        clients.wait(50)
        # Then it was flushed, at least up to here.
        wait_for("a flush", lambda: proxy.statistics()["written"] > 8 * 50 * 20)
        proxy.stop(signal.SIGKILL, -signal.SIGKILL)
        clients.stop()
        got, _ = shown(proxy.trace, 3)
        found = compare(clients, got, whole=False)
        assert sum(map(len, found.values())) >= 8, found


@test
def terminated_under_load():
    """SIGTERM under load: exit status 0, and every acknowledged statement is in the trace"""
    with start_proxy() as proxy:
        clients = Clients(proxy.port, 8)
        clients.wait(50)
        proxy.stop()
        clients.stop()
        got, _ = shown(proxy.trace, 0)
        compare(clients, got)


@test
def rotated_under_load():
    """SIGHUP again and again under load, and segments by size: the segments together lose nothing"""
    trace = os.path.join(FOLDER.name, "segments")
    with start_proxy("--max-size=300K", trace=trace) as proxy:
        clients = Clients(proxy.port, 8)
        for step in range(1, 6):
            clients.wait(100 * step)
            proxy.process.send_signal(signal.SIGHUP)
        clients.stop()
        proxy.stop()
        assert len(os.listdir(trace)) >= 5, os.listdir(trace)
        got, _ = shown(trace, 0)
        compare(clients, got)
        # The recorder does not go on in a folder that holds a trace, and says what to do.
        done = subprocess.run([ISOREC, "proxy", "--node=127.0.0.1:1", "--listen=127.0.0.1:0",
                               "--max-size=1M", "-o", trace], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "holds segments of a trace already" in done.stderr, done
        assert inserted(shown(trace, 0)[0]) == inserted(got)


@test
def started_again():
    """a proxy that is started again on its own trace refuses it and leaves it as it is"""
    with start_proxy() as proxy:
        clients = Clients(proxy.port, 1)
        clients.wait(5)
        clients.stop()
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            before = hashlib.sha256(trace.read()).digest()
        done = subprocess.run([ISOREC, "proxy", "--node=127.0.0.1:1", "--listen=127.0.0.1:0", "-o",
                               proxy.trace], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "exists and is not empty" in done.stderr, done
        with open(proxy.trace, "rb") as trace:
            assert hashlib.sha256(trace.read()).digest() == before


@test
def server_restarted():
    """the server is killed and comes back: its sessions are lost, new ones work, nothing is made up"""
    with start_proxy(name="restarted") as proxy:
        before = Clients(proxy.port, 4)
        before.wait(20)
        servers("kill", STATE["restarted"]["name"])
        before.stop()
        try:
            connect(proxy.port)
            raise AssertionError("the server is gone")
        except pymysql.Error as refused:
            assert "cannot connect to node n1" in str(refused), refused
        servers("restart", STATE["restarted"]["name"])
        after = Clients(proxy.port, 4)
        after.wait(20)
        after.stop()
        proxy.stop()
        got, _ = shown(proxy.trace, 0)
        compare(before, got)
        compare(after, got)
        lost = [r for r in got if r["kind"] == "cluster" and str(r["detail"]).startswith("lost")]
        assert len(lost) == 4, lost
        # What the server has is what was acknowledged, and perhaps what has no answer.
        for client, numbers in inserted(got).items():
            there = int(sql("select count(*) from test.t where client = %d" % client, "restarted"))
            answered = sum(a for _, a in numbers)
            assert answered <= there <= len(numbers), (client, there, answered, len(numbers))


def small_disk(size):
    """A file system of its own, or the test is left out."""
    folder = tempfile.mkdtemp(prefix="isorec-small-")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "none", folder],
                      capture_output=True, check=False).returncode:
        os.rmdir(folder)
        raise SkipTest("cannot mount a small file system")
    return folder


@test
def disk_full_and_freed():
    """a full disk: the traffic goes on, what was written is readable; by default recording resumes"""
    for policy in ("drop", "stop"):
        # Little room at first, and more than the clients can fill once the ballast is gone.
        folder = small_disk(128 * MB)
        try:
            with open(os.path.join(folder, "ballast"), "wb") as ballast:
                ballast.write(b"x" * (128 * MB - 300000))
            with start_proxy("--when-full=" + policy, trace=os.path.join(folder, "run.itr")) as proxy:
                clients = Clients(proxy.port, 4)
                wait_for("a full disk", lambda p=proxy: p.statistics()["lost"] > 0)
                wait_for("the news", lambda p=proxy, say=policy: {
                    "drop": "no room for the trace", "stop": "recording stopped"}[say] in p.text())
                clients.wait(max(clients.acked.values()) + 20)
                os.unlink(os.path.join(folder, "ballast"))
                if policy == "drop":
                    wait_for("recording again", lambda p=proxy: "recording continues" in p.text())
                freed = collections.Counter(clients.acked)
                clients.wait(max(freed.values()) + 50)
                clients.stop()
                said = proxy.stop(status=0 if policy == "drop" else 4)
                got, _ = shown(proxy.trace, 3)
                gaps = [r for r in got if r["kind"] == "gap"]
                assert gaps and sum(r["records"] for r in gaps) == int(
                    re.findall(r"(\d+) records lost", said)[-1]), (gaps, said)
                for client, found in inserted(got).items():
                    numbers = [n for n, _ in found]
                    assert numbers == sorted(set(numbers)) and numbers[0] == 0, numbers
                    # After the gap it is whole again, or there is nothing any more.
                    behind = [n for n in numbers if n > freed[client] + 5]
                    whole = list(range(freed[client] + 6, clients.acked[client]))
                    assert behind[:len(whole)] == whole if policy == "drop" else not behind, (
                        policy, client, numbers[-3:], freed, clients.acked)
        finally:
            subprocess.run(["umount", folder], check=True)
            os.rmdir(folder)


@test
def short_connections():
    """10,000 short connections: descriptors and memory stay what they were"""
    with start_proxy("--capture=statements") as proxy:
        def burst(count):
            def work():
                for _ in range(count // 8):
                    db = connect(proxy.port)
                    with db.cursor() as cursor:
                        cursor.execute("select 1")
                    db.close()
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)

        burst(2000)
        files, memory = descriptors(proxy), resident(proxy)
        burst(8000)
        assert proxy.statistics()["opened"] == 10000
        assert descriptors(proxy) == files, (files, descriptors(proxy))
        # 8,000 sessions that each left 1 KiB would be 8 MiB.
        assert resident(proxy) < memory + 4 * MB, (memory, resident(proxy))
        proxy.stop()
        got = records(ISOTRACE, proxy.trace, {"session", "stmt"})
        assert sum(r["kind"] == "session" and r["event"] == 1 for r in got) == 10000
        assert sum(r.get("text") == "select 1" for r in got) == 10000


@test
def load_data_local():
    """LOAD DATA LOCAL of 500 MB: memory is bounded; the trace has name and size"""
    path = os.path.join(FOLDER.name, "large.txt")
    line = b"%07d\t" + b"x" * (MB - 9) + b"\n"
    with open(path, "wb") as out:
        for number in range(500):
            out.write(line % number)
    with start_proxy() as proxy:
        sql("create or replace table test.large (a int, b longtext) engine=aria")
        db = connect(proxy.port, local_infile=True)
        with db.cursor() as cursor:
            before = resident(proxy)
            cursor.execute("load data local infile '%s' into table large" % path)
            assert cursor.rowcount == 500
        db.close()
        assert resident(proxy) < before + 32 * MB, (before, resident(proxy))
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        note, = [r for r in records(ISOTRACE, proxy.trace, {"note"}) if r["topic"] == "local infile"]
        assert note["text"] == path and note["data"]["size"] == os.path.getsize(path), note
        assert note["data"]["digest"], note
    os.unlink(path)
    sql("drop table test.large")


@test
def client_killed():
    """clients that vanish in the middle of a large result and of a transaction: the others go on"""
    with start_proxy() as proxy:
        clients = Clients(proxy.port, 2)
        clients.wait(5)
        for text in ("select repeat('x', 100000) from seq_1_to_1000", "begin"):
            db = connect(proxy.port)
            db._execute_command(3, text)  # pylint: disable=protected-access
            db._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,  # pylint: disable=protected-access
                                b"\1\0\0\0\0\0\0\0")
            db._sock.recv(100)  # pylint: disable=protected-access
            db._sock.close()  # pylint: disable=protected-access
            db._rfile.close()  # pylint: disable=protected-access
        wait_for("their end", lambda: proxy.statistics()["sessions"] == 2)
        clients.wait(max(clients.acked.values()) + 20)
        clients.stop()
        proxy.stop()
        got, _ = shown(proxy.trace, 0)
        compare(clients, got)


@test
def replica():
    """a replica whose source is the proxy: it gets everything, and the session is opaque"""
    source = start("source", "-o", "log_bin=on", "-o", "server_id=1", "-o", "binlog_format=ROW")
    start("replica", "-o", "server_id=2")
    with start_proxy(name="source") as proxy:
        sql("change master to master_host='127.0.0.1', master_port=%d, master_user='root', "
            "master_use_gtid=slave_pos" % proxy.port, "replica")
        sql("drop database test", "replica")
        sql("start slave", "replica")
        clients = Clients(proxy.port, 2)
        clients.wait(50)
        clients.stop()
        total = sql("select count(*), sum(n) from test.t", "source")

        def same():
            try:
                return sql("select count(*), sum(n) from test.t", "replica") == total
            except AssertionError:
                return False
        wait_for("the replica", same)
        sql("stop slave", "replica")
        proxy.stop()
        got, _ = shown(proxy.trace, 0)
        compare(clients, got)
        opaque = [r for r in got if r["kind"] == "session" and r["event"] == 2]
        assert len(opaque) >= 1 and any("BINLOG" in str(r["reason"]).upper() for r in opaque), opaque
        assert source["port"]


def main():
    try:
        start("faults")
        return run_tests(sys.argv[5:])
    finally:
        for running in STATE.values():
            servers("stop", running["name"], check=False)
        FOLDER.cleanup()


sys.exit(main())
