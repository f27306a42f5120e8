#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What --instrument=binlog costs: the proxy with and without it, on one server that has a row binary log.

    binlog.py ISOREC ISOREC-SERVERS [--rounds=N] [--seconds=N] [--threads=N] [--release=R]

Each round takes both, and every second round the other way round; each has a proxy of its own, since one that reads the log reads
what goes past it, too.  Printed: queries a second, and the processor time of load, server and proxy together a query; the median of the
rounds, and the ratios.  Goal: 0.97 or more of the queries.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from proxy import cpu  # noqa: E402
from proxy_harness import Proxy  # noqa: E402

WAYS = {"plain": [], "binlog": ["--instrument=binlog", "--user=root", "--database=sbtest", "--snapshot-rows=0"]}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--release", default="mariadb-local")
    return parser.parse_args()


def sysbench(o, port, what):
    done = subprocess.run(
        ["sysbench", "oltp_read_write", "--tables=4", "--table-size=10000", "--mysql-host=127.0.0.1", "--mysql-port=%d" % port,
         "--mysql-user=root", "--mysql-ssl=off", "--threads=%d" % o.threads, "--time=%d" % o.seconds,
         "--mysql-ignore-errors=1213,1020,1205", what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in done.stdout.splitlines():
        if "queries:" in line:
            words = line.split()
            return int(words[1]), float(words[2].lstrip("("))
    return None


def measure(o, way, server):
    with Proxy(os.path.abspath(o.isorec), ["n1=127.0.0.1:%d" % server["port"]], *WAYS[way]) as proxy:
        pids = [server["pid"], proxy.process.pid]
        before = sum(sum(cpu(pid)) for pid in pids)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        queries, rate = sysbench(o, proxy.port, "run")
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = spent.ru_utime + spent.ru_stime - children.ru_utime - children.ru_stime
        used += sum(sum(cpu(pid)) for pid in pids) - before
        said = proxy.stop()
    assert way == "plain" or "0 gaps" in said, said
    return rate, used * 1e6 / queries


def main():
    o = options()
    name = "bench-binlog-%d" % os.getpid()
    extra = ["--", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"] if o.release.startswith("mysql") else []
    started = subprocess.run([o.servers, "start", o.release, "--name=" + name, "--json", "--binlog=on",
                              "--with-parent=%d" % os.getpid(), *extra], capture_output=True, text=True, check=False)
    if started.returncode:
        print(started.stderr.strip())
        return 77
    server = json.loads(started.stdout)
    try:
        subprocess.run([o.servers, "sql", name, "create database sbtest"], check=True, stdout=subprocess.DEVNULL)
        sysbench(o, server["port"], "prepare")
        print("%s, %d threads, %d rounds of %d s" % (server["version"], o.threads, o.rounds, o.seconds))
        results = {way: [] for way in WAYS}
        for number in range(o.rounds):
            for way in WAYS if number % 2 == 0 else reversed(WAYS):
                results[way].append(measure(o, way, server))
        rate = {way: statistics.median(r for r, _ in results[way]) for way in WAYS}
        cost = {way: statistics.median(c for _, c in results[way]) for way in WAYS}
        for way in WAYS:
            print("%-7s %8.0f queries/s %8.1f us of processors a query" % (way, rate[way], cost[way]))
        print("binlog / plain: %.2f by queries, %.2f by processor time" % (
            rate["binlog"] / rate["plain"], cost["plain"] / cost["binlog"]))
    finally:
        subprocess.run([o.servers, "stop", name], check=False, stdout=subprocess.DEVNULL)
    return 0


sys.exit(main())
