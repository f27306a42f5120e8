#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What trigger mode costs beside its triggers: direct, haproxy, direct with triggers, and the proxy in trigger mode, in one run.

    trigger.py ISOREC ISOREC-SERVERS [--rounds=N] [--seconds=N] [--threads=N] [--release=R] [--workloads=sysbench,tpcc]

Each round takes the four ways one after the other, and every second round the other way round.  "direct with triggers" has the
prepared tables, and sessions that log nothing: what the proxy adds to that is the log, its reading, the columns of reads, and
its own work.

Printed: queries a second, and the processor time of load, server and proxy together a query; the median of the rounds.  Then
the goal: proxy / haproxy against direct with triggers / direct, by both figures.  Processor time is what counts on a machine
that others use, too: there it does not move, and queries a second do.

Goal: 0.85 or more.
"""
import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from proxy import cpu, start_haproxy  # noqa: E402
from proxy_harness import Proxy  # noqa: E402

WORKLOADS = {
    "sysbench": ["oltp_read_write", "--tables=4", "--table-size=10000"],
    "tpcc": [os.path.join(HERE, "tpcc.lua"), "--warehouses=2", "--items=2000", "--orders=100"],
}
WAYS = ("direct", "haproxy", "triggers", "proxy")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--release", default="mariadb-local")
    parser.add_argument("--workloads", default="sysbench,tpcc")
    return parser.parse_args()


def load(o, workload, database, port, what):
    """Queries, and queries a second."""
    done = subprocess.run(
        ["sysbench", *WORKLOADS[workload], "--mysql-host=127.0.0.1", "--mysql-port=%d" % port, "--mysql-user=root",
         "--mysql-db=" + database, "--mysql-ssl=off", "--threads=%d" % o.threads, "--time=%d" % o.seconds,
         "--mysql-ignore-errors=1213,1020,1205", what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if what != "run":
        return None
    found = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per", done.stdout)
    return int(found.group(1)), float(found.group(2))


def measure(o, workload, way, port, server_pid, proxies):
    """Queries a second, and microseconds of processors a query."""
    pids = [server_pid, *proxies]
    database = workload + ("_triggers" if way in ("triggers", "proxy") else "_plain")
    before = [sum(cpu(pid)) for pid in pids]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    queries, rate = load(o, workload, database, port, "run")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = spent.ru_utime + spent.ru_stime - children.ru_utime - children.ru_stime
    used += sum(sum(cpu(pid)) for pid in pids) - sum(before)
    return rate, used * 1e6 / queries


def report(workload, results):
    rate = {way: statistics.median(r for r, _ in results[way]) for way in WAYS}
    cost = {way: statistics.median(c for _, c in results[way]) for way in WAYS}
    for way in WAYS:
        print("%-10s %-9s %8.0f queries/s %8.1f us of processors a query" % (workload, way, rate[way], cost[way]))
    for what, proxy, triggers in (
            ("queries/s", rate["proxy"] / rate["haproxy"], rate["triggers"] / rate["direct"]),
            ("processor time", cost["haproxy"] / cost["proxy"], cost["direct"] / cost["triggers"])):
        print("%-10s by %-14s proxy / haproxy %.2f, direct with triggers / direct %.2f: trigger mode beside its triggers %.2f" % (
            workload, what, proxy, triggers, proxy / triggers), flush=True)


def run(o, workload, server, server_pid, folder):
    for kind in ("plain", "triggers"):
        database = "%s_%s" % (workload, kind)
        subprocess.run([o.servers, "sql", server["name"], "create database " + database], check=True, stdout=subprocess.DEVNULL)
        load(o, workload, database, server["port"], "prepare")
    subprocess.run([o.isorec, "prepare", "-q", "-P%d" % server["port"], workload + "_triggers"], check=True)
    haproxy, haproxy_port = start_haproxy(folder, server["port"], dict(os.environ))
    try:
        with Proxy(os.path.abspath(o.isorec), ["n1=127.0.0.1:%d" % server["port"]], "--instrument=trigger", "--user=root",
                   "--database=%s_triggers" % workload) as proxy:
            ports = {"direct": (server["port"], []), "haproxy": (haproxy_port, [haproxy.pid]),
                     "triggers": (server["port"], []), "proxy": (proxy.port, [proxy.process.pid])}
            results = {way: [] for way in WAYS}
            for number in range(o.rounds):
                for way in WAYS if number % 2 == 0 else reversed(WAYS):
                    port, pids = ports[way]
                    results[way].append(measure(o, workload, way, port, server_pid, pids))
            report(workload, results)
            print(proxy.stop().splitlines()[-1])
    finally:
        haproxy.send_signal(signal.SIGTERM)
        haproxy.wait()


def main():
    o = options()
    name = "bench-trigger-%d" % os.getpid()
    started = subprocess.run([o.servers, "start", o.release, "--name=" + name, "--json", "--with-parent=%d" % os.getpid()],
                             capture_output=True, text=True, check=False)
    if started.returncode:
        print(started.stderr.strip())
        return 77
    server = json.loads(started.stdout)
    server["name"] = name
    try:
        print("%s, %d threads, %d rounds of %d s" % (server["version"], o.threads, o.rounds, o.seconds))
        with tempfile.TemporaryDirectory(prefix="isorec-bench-") as folder:
            for workload in o.workloads.split(","):
                run(o, workload, server, server["pid"], folder)
    finally:
        subprocess.run([o.servers, "stop", name], check=False, stdout=subprocess.DEVNULL)
    return 0


sys.exit(main())
