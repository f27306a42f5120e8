#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy with a real server under load, and against a second reader of the protocol: TAP.

    test_proxy_load.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [TEST...]
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import (Proxy, SkipTest, records, run_servers, run_tests, test,  # noqa: E402
                           wait_for)

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])
MB = 1 << 20
STATE = {}


def servers(*args, check=True):
    return run_servers(SERVERS, *args, check=check)


def server_port():
    if "server" not in STATE:
        STATE["server"] = json.loads(servers(
            "start", "mariadb-local", "--name=load-%d" % os.getpid(), "--json",
            "--with-parent=%d" % os.getpid(), "-o", "max_allowed_packet=256M"))
        servers("sql", STATE["server"]["name"], "create database test")
    return STATE["server"]["port"]


def client(port, *more):
    return ["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", "-N",
            "--max-allowed-packet=256M", *more]


def start_proxy(*options, env=None):
    return Proxy(ISOREC, ["n1=127.0.0.1:%d" % server_port()], *options, env=env)


def idle(proxy):
    wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)


# ---- against Wireshark's dissector ----

def dissected(capture, port):
    """[(stream, name, value)] of the fields that tshark finds, in order."""
    names = ["mysql.query", "mysql.user", "mysql.thread_id", "mysql.error_code",
             "mysql.affected_rows", "mysql.num_fields", "mysql.row.text"]
    done = subprocess.run(
        ["tshark", "-r", capture, "-d", "tcp.port==%d,mysql" % port, "-Y", "mysql", "-T", "json",
         "-e", "tcp.stream", *[x for n in names for x in ("-e", n)]], capture_output=True, text=True,
        check=True, timeout=120)
    out = []
    for packet in json.loads(done.stdout):
        fields = packet["_source"]["layers"]
        for name in names:
            for value in fields.get(name, []):
                out.append((fields["tcp.stream"][0], name, value))
    return out


@test
def dissector():
    """tshark's dissector sees the statements, errors, counts and text rows that the trace has"""
    if not shutil.which("tshark"):
        raise SkipTest("tshark is not installed")
    with start_proxy() as proxy:
        capture = os.path.join(proxy.folder, "run.pcapng")
        with subprocess.Popen(["tshark", "-i", "lo", "-f", "tcp port %d" % proxy.port, "-w", capture],
                              stderr=subprocess.PIPE, text=True) as watcher:
            for line in watcher.stderr:
                if "Capturing on" in line:
                    break
            else:
                raise SkipTest("tshark may not capture here")
            # It says so a little before it does: until a packet of ours is in the file.
            def seen():
                subprocess.run(client(proxy.port, "-e", "select 'probe'"), check=True,
                               capture_output=True)
                return os.path.exists(capture) and os.path.getsize(capture) > 2000
            wait_for("a captured packet", seen)
            script = ["create table test.d (a int primary key, b varchar(20))"]
            script += ["insert into test.d values (%d, 'row %d')" % (i, i) for i in range(30)]
            script += ["select a, b from test.d where a < 9 order by a", "update test.d set b = 'x'",
                       "select * from test.missing", "delete from test.d where a > 20", "begin",
                       "select count(*) n, null from test.d", "commit", "drop table test.d",
                       "select 'last statement'"]
            subprocess.run(client(proxy.port, "--force"), input=";\n".join(script) + ";\n", text=True,
                           check=False, capture_output=True)
            idle(proxy)
            # All of it is written when the packets of a later connection are.
            wait_for("the capture", lambda: seen() and any(
                n == "mysql.query" and v == "select 'last statement'"
                for _, n, v in dissected(capture, proxy.port)))
            watcher.send_signal(signal.SIGINT)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
        there = dissected(capture, proxy.port)
    stream, = {s for s, n, v in there if n == "mysql.query" and v == script[0]}
    there = [(n, v) for s, n, v in there if s == stream]
    session, = {r["session"] for r in got if r["kind"] == "stmt" and r["text"] == script[0]}
    mine = [r for r in got if r.get("session") == session]
    statements = [r for r in mine if r["kind"] == "stmt" and r["command"] == 3]
    opened, = (r for r in mine if r["kind"] == "session" and r["event"] == 0)

    assert [r["text"] for r in statements] == [v for n, v in there if n == "mysql.query"]
    assert set(script) <= {r["text"] for r in statements}
    assert opened["user"] == dict(there)["mysql.user"]
    assert opened["thread"] == int(dict(there)["mysql.thread_id"])
    assert [r["error"] for r in statements if r["error"]] == [
        int(v) for n, v in there if n == "mysql.error_code"] == [1146]
    rows = [["NULL" if v is None else str(v) for v in row] for r in mine if r["kind"] == "result"
            for row in r["rows"]]
    texts = [v for n, v in there if n == "mysql.row.text"]
    assert [v for row in rows for v in row] == texts, (rows, texts)
    # An OK for each statement without a result; the first one is the login's.
    counts = [int(v) for n, v in there if n == "mysql.affected_rows"]
    want = [r["affected"] for r in statements if not r["result_sets"] and not r["error"]]
    assert [c for c in counts if c] == [c for c in want if c], (counts, want)


# ---- the disk ----

STALL = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Regular files take no bytes while the file named by STALL is there. */
static void stall(int fd)
{
	const char *name = getenv("STALL");
	struct stat about;

	if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
		while (name && access(name, F_OK) == 0)
			usleep(1000);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	static ssize_t (*real)(int, const void *, size_t);

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (fd > 2)
		stall(fd);
	return real(fd, bytes, len);
}

int fdatasync(int fd)
{
	static int (*real)(int);

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	stall(fd);
	return real(fd);
}
"""


@test
def stalled_disk():
    """a disk that takes nothing for a while: the traffic goes on, memory is bounded, the loss is reported"""
    compiler = os.environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler):
        raise SkipTest("no compiler")
    probe = subprocess.run(["ldd", ISOREC], capture_output=True, text=True, check=False).stdout
    if "asan" in probe or "tsan" in probe:
        raise SkipTest("a sanitizer takes the same calls over")
    library, flag = os.path.join(BUILD, "stall.so"), os.path.join(BUILD, "stall-%d" % os.getpid())
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, "-x", "c", "-", "-ldl"], input=STALL,
                   text=True, check=True)
    values = "select repeat('v', 5000), %d;\n"
    try:
        with start_proxy("--buffer=16M", "--compression=0",
                         env=dict(os.environ, LD_PRELOAD=library, STALL=flag,
                                  ASAN_OPTIONS="verify_asan_link_order=0")) as proxy:
            subprocess.run(client(proxy.port), input=values % 0, text=True, check=True,
                           capture_output=True)
            base = proxy.memory()
            with open(flag, "w", encoding="ascii"):
                pass
            done = subprocess.run(client(proxy.port), check=True, capture_output=True, text=True,
                                  input="".join(values % i for i in range(1, 20001)), timeout=300)
            assert done.stdout.count("\n") == 20000
            grown = proxy.memory() - base
            assert grown < 64 * MB, "%d MB more" % (grown // MB)
            os.unlink(flag)
            subprocess.run(client(proxy.port), input=values % 20001, text=True, check=True,
                           capture_output=True)
            idle(proxy)
            said = proxy.stop()
            got = records(ISOTRACE, proxy.trace)
    finally:
        if os.path.exists(flag):
            os.unlink(flag)
    print("# %d MB more memory for 100 MB that could not be written" % (grown // MB))
    gaps = [r for r in got if r["kind"] == "gap"]
    assert gaps and " 0 records lost" not in said, (gaps, said.splitlines()[-1])
    texts = [r["text"] for r in got if r["kind"] == "stmt"]
    assert "select repeat('v', 5000), 0" in texts and "select repeat('v', 5000), 20001" in texts


# ---- large things ----

@test
def gigabyte():
    """a result of 1 GB, and one row a second reader gets meanwhile: memory stays bounded"""
    with start_proxy("--buffer=64M", "--max-value=2M") as proxy:
        base = proxy.memory()
        with subprocess.Popen(client(proxy.port, "--quick", "-e",
                                     "select repeat(char(97 + seq % 26), 1000000) from seq_1_to_1024",
                                     "test"), stdout=subprocess.PIPE) as reader:
            total, digest = 0, hashlib.sha256()
            while True:
                part = reader.stdout.read(MB)
                if not part:
                    break
                total += len(part)
                digest.update(part)
        assert total == 1024 * 1000001, total
        want = hashlib.sha256()
        for i in range(1, 1025):
            want.update(bytes([97 + i % 26]) * 1000000 + b"\n")
        assert digest.digest() == want.digest()
        grown = proxy.memory() - base
        idle(proxy)
        proxy.stop()
        print("# %d MB more memory" % (grown // MB))
        assert grown < 200 * MB, "%d MB more" % (grown // MB)
        done = subprocess.run([ISOTRACE, "stats", "--format=json", proxy.trace], capture_output=True,
                              text=True, check=False)
        assert done.returncode in (0, 3), done.stderr


@test
def large_packets_of_a_server():
    """values of 16 MB - 1, 16 MB and 64 MB to and from MariaDB; the trace has length and digest"""
    import pymysql  # pylint: disable=import-outside-toplevel
    sizes = (0xffffff - 40, 0xffffff - 1, 0xffffff, 0x1000000, 64 * MB)
    with start_proxy() as proxy:
        for size in sizes:
            db = pymysql.connect(host="127.0.0.1", port=proxy.port, user="root", database="test",
                                 max_allowed_packet=256 * MB, autocommit=True)
            with db.cursor() as cursor:
                cursor.execute("create or replace table big (a longblob)")
                cursor.execute("insert into big values (%s)", (b"z" * size,))
                cursor.execute("select a from big")
                value = cursor.fetchone()[0]
                assert len(value) == size and value.count(b"z") == size
                cursor.execute("select 'after', %s", (size,))
                assert cursor.fetchone() == ("after", size)
            db.close()
        idle(proxy)
        memory = proxy.memory()
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    print("# peak %d MB" % (memory // MB))
    assert memory < 300 * MB, memory
    assert not [r for r in got if r["kind"] == "session" and r["event"] == 2]
    texts = [r["text"] for r in got if r["kind"] == "stmt"]
    for size in sizes:
        assert "select 'after', %d" % size in texts
    selects = [r for r in got if r["kind"] == "stmt" and r["text"] == "select a from big"]
    assert len(selects) == len(sizes) and all(r["rows"] == 1 for r in selects)


def main():
    os.makedirs(BUILD, exist_ok=True)
    try:
        return run_tests(sys.argv[5:])
    finally:
        if "server" in STATE:
            servers("stop", STATE["server"]["name"], check=False)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
sys.exit(main())
