#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast `isotrace check` judges plain recordings, and how much memory it takes.

    mvcc.py ISOREC ISOREC-SERVERS ISOTRACE [SECONDS]

Records sysbench oltp_read_write and TPC-C (tpcc.lua) through `isorec proxy`, for SECONDS and for twice as long.  Printed for
each: statements a second of processor time, memory a statement, and the processor time as a multiple of what merely decoding
the same trace takes (`isotrace stats`), in the same run.

Goals: 50,000 statements a second, 1 KiB a statement beside the rows of the tables.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import Proxy  # noqa: E402

LOADS = {
    "sysbench": ["oltp_read_write", "--tables=4", "--table-size=10000"],
    "tpcc": [os.path.join(HERE, "tpcc.lua"), "--warehouses=2", "--items=2000", "--orders=100"],
}


def measured(args):
    """Processor time and the most memory that a process had."""
    process = subprocess.Popen(args, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1, 3), (args, process.returncode)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def record(isorec, server, load, seconds, trace):
    base = ["sysbench", *LOADS[load], "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=" + load,
            "--mysql-ignore-errors=1213,1205,1020"]
    client = ["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % server["port"], "-uroot", "--disable-ssl"]
    subprocess.run([*client, "-e", "drop database if exists %s; create database %s" % (load, load)], check=True)
    subprocess.run([*base, "--mysql-port=%d" % server["port"], "prepare"], check=True, stdout=subprocess.DEVNULL)
    with Proxy(isorec, ["127.0.0.1:%d" % server["port"]], "--user=root", "--database=" + load, trace=trace) as proxy:
        subprocess.run([*base, "--mysql-port=%d" % proxy.port, "--threads=8", "--time=%d" % seconds, "run"], check=True,
                       stdout=subprocess.DEVNULL)
        proxy.stop()


def report(isotrace, load, seconds, trace):
    told = json.loads(subprocess.run([isotrace, "check", "--all-sessions", "--format=json", trace], check=False,
                                     capture_output=True).stdout)
    took, memory = measured([isotrace, "check", "--all-sessions", trace])
    decoding, _ = measured([isotrace, "stats", trace])
    statements = told["input"]["statements"]
    print("%-8s %3d s: %8d statements, %d undecided; %6.0f a second, %5.0f bytes a statement, %.1f times decoding" % (
        load, seconds, statements, told["coverage"]["undecided"], statements / took, memory / statements,
        took / decoding), flush=True)


def main():
    isorec, servers, isotrace = sys.argv[1:4]
    seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 10
    if not shutil.which("sysbench"):
        print("sysbench is not installed")
        return 77
    done = subprocess.run([servers, "start", "mariadb-local", "--name=bench-mvcc", "--json", "--with-parent=%d" % os.getpid()],
                          check=False, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr)
        return done.returncode
    server = json.loads(done.stdout)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-mvcc-") as folder:
            for load in LOADS:
                for length in (seconds, 2 * seconds):
                    trace = os.path.join(folder, "run.itr")
                    if os.path.exists(trace):
                        os.unlink(trace)
                    record(isorec, server, load, length, trace)
                    report(isotrace, load, length, trace)
    finally:
        subprocess.run([servers, "stop", "bench-mvcc"], check=False, stdout=subprocess.DEVNULL)
    return 0


sys.exit(main())
