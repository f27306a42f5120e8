#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What instrumentation costs: sysbench through isorec proxy in each mode, beside mode off.

    instrument.py ISOREC ISOREC-SERVERS [--rounds=N] [--seconds=N] [--threads=N] [--size=N] [--release=R]

Each round runs sysbench through a proxy that records everything with --instrument=off, trigger and
select, one after the other and every second round the other way round.  Each mode has its own
database: tables are prepared for one mode.  Select mode reads whole tables around each statement: its
cost grows with --size, the rows of each of the four tables.

Printed: queries a second (the median of the rounds), the ratio to off, and the 99th percentile of
the latency of a transaction.  No goals: the figures are for those who choose a mode.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import Proxy  # noqa: E402

MODES = ("off", "trigger", "select")
WORKLOADS = ("oltp_point_select", "oltp_read_write", "oltp_write_only")


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--release", default="mariadb-local")
    return parser.parse_args()


def sysbench(o, port, mode, workload, what):
    done = subprocess.run(
        ["sysbench", workload, "--mysql-host=127.0.0.1", "--mysql-port=%d" % port, "--mysql-user=root",
         "--mysql-db=sb_" + mode, "--mysql-ssl=off", "--tables=4", "--table-size=%d" % o.size,
         "--threads=%d" % o.threads, "--time=%d" % o.seconds, "--percentile=99",
         "--mysql-ignore-errors=1213,1020,1205", what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if what != "run":
        return None
    return (float(re.search(r"queries:\s+\d+\s+\(([\d.]+) per", done.stdout).group(1)),
            float(re.search(r"99th percentile:\s+([\d.]+)", done.stdout).group(1)))


def measure(o, server, mode, workload):
    more = [] if mode == "off" else ["--instrument=" + mode, "--user=root", "--database=sb_" + mode]
    with Proxy(o.isorec, ["n1=127.0.0.1:%d" % server["port"]], *more) as proxy:
        result = sysbench(o, proxy.port, mode, workload, "run")
        proxy.stop()
    return result


def main():
    o = options()
    name = "bench-instrument-%d" % os.getpid()
    started = subprocess.run([o.servers, "start", o.release, "--name=" + name, "--json",
                              "--with-parent=%d" % os.getpid()], capture_output=True, text=True, check=False)
    if started.returncode:
        print(started.stderr.strip())
        return 77
    server = json.loads(started.stdout)
    try:
        for mode in MODES:
            subprocess.run([o.servers, "sql", name, "create database sb_" + mode], check=True,
                           stdout=subprocess.DEVNULL)
            sysbench(o, server["port"], mode, "oltp_read_write", "prepare")
            if mode != "off":
                subprocess.run([o.isorec, "prepare", "-q", "-P%d" % server["port"], "--mode=" + mode,
                                "sb_" + mode], check=True)
        print("%s, %d threads, 4 tables of %d rows, %d rounds of %d s" % (
            server["version"], o.threads, o.size, o.rounds, o.seconds))
        print("%-18s %-8s %12s %8s %10s" % ("workload", "mode", "queries/s", "ratio", "p99 ms"))
        for workload in WORKLOADS:
            results = {mode: [] for mode in MODES}
            for round_ in range(o.rounds):
                for mode in MODES if round_ % 2 == 0 else reversed(MODES):
                    results[mode].append(measure(o, server, mode, workload))
            base = statistics.median(rate for rate, _ in results["off"])
            for mode in MODES:
                rate = statistics.median(r for r, _ in results[mode])
                print("%-18s %-8s %12.0f %8.2f %10.2f" % (
                    workload, mode, rate, rate / base, statistics.median(p for _, p in results[mode])), flush=True)
    finally:
        subprocess.run([o.servers, "stop", name], check=False, stdout=subprocess.DEVNULL)
    return 0


sys.exit(main())
