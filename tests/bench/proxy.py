#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What isorec proxy costs: sysbench directly, through haproxy, and through isorec proxy.

    proxy.py ISOREC ISOREC-SERVERS [--rounds=N] [--seconds=N] [--threads=1,8,64]

Runs are interleaved, so that whatever else the machine does meets all three alike; each figure is
the median of its rounds.  Printed: throughput and p99 latency of isorec proxy (recording
everything) as ratios to haproxy's in TCP mode, and user and system CPU time a query of both.
Goals: throughput 0.95 or more, p99 1.10 or less, user CPU under 2 us + 1 ns a result byte.
"""
import argparse
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import Proxy, wait_for  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    """User and system time of a process so far, in seconds."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) / TICK, int(fields[12]) / TICK


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sysbench(port, workload, threads, seconds, what="run"):
    done = subprocess.run(
        ["sysbench", workload, "--mysql-host=127.0.0.1", "--mysql-port=%d" % port,
         "--mysql-user=root", "--mysql-db=sbtest", "--mysql-ssl=off", "--tables=4",
         "--table-size=10000", "--threads=%d" % threads, "--time=%d" % seconds, "--percentile=99",
         what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if what != "run":
        return None
    queries = int(re.search(r"queries:\s+(\d+)", done.stdout).group(1))
    rate = float(re.search(r"queries:\s+\d+\s+\(([\d.]+) per", done.stdout).group(1))
    return queries, rate, float(re.search(r"99th percentile:\s+([\d.]+)", done.stdout).group(1))


def measure(name, port, pid, workload, threads, seconds, into):
    before = cpu(pid) if pid else (0, 0)
    queries, rate, p99 = sysbench(port, workload, threads, seconds)
    after = cpu(pid) if pid else (0, 0)
    into.setdefault(name, []).append(
        (rate, p99, (after[0] - before[0]) * 1e6 / queries, (after[1] - before[1]) * 1e6 / queries))


def start_haproxy(folder, upstream):
    port = free_port()
    config = os.path.join(folder, "haproxy.cfg")
    with open(config, "w", encoding="ascii") as out:
        out.write("global\n  nbthread %d\ndefaults\n  mode tcp\n  timeout connect 10s\n"
                  "  timeout client 1h\n  timeout server 1h\nlisten db\n  bind 127.0.0.1:%d\n"
                  "  server s 127.0.0.1:%d\n" % (os.cpu_count(), port, upstream))
    process = subprocess.Popen(["haproxy", "-f", config, "-db"], stderr=subprocess.DEVNULL)

    def listens():
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except ConnectionRefusedError:
            return False
    wait_for("haproxy", listens)
    return process, port


def report(workload, threads, got):
    median = {name: [statistics.median(column) for column in zip(*rounds)]
              for name, rounds in got.items()}
    direct, haproxy, isorec = median["direct"], median["haproxy"], median["isorec"]
    print("%-18s %3d threads: direct %6.0f/s, haproxy %6.0f/s, isorec %6.0f/s = %.2f of haproxy; "
          "p99 %.2f of haproxy's; user+sys us a query: haproxy %.1f+%.1f, isorec %.1f+%.1f" % (
              workload, threads, direct[0], haproxy[0], isorec[0], isorec[0] / haproxy[0],
              isorec[1] / haproxy[1], haproxy[2], haproxy[3], isorec[2], isorec[3]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--threads", default="1,8,64")
    parser.add_argument("--workloads", default="oltp_point_select,oltp_read_write")
    parser.add_argument("--option", action="append", default=[], help="for isorec proxy")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isorec-bench-") as folder:
        env = dict(os.environ, ISOREC_SERVERS_CACHE=os.path.join(folder, "cache"))
        done = subprocess.run([options.servers, "start", "mariadb-local", "--name=bench", "--json",
                               "--with-parent=%d" % os.getpid()], env=env, capture_output=True,
                              text=True, check=True)
        server = json.loads(done.stdout)
        haproxy = None
        try:
            port = server["port"]
            subprocess.run([options.servers, "sql", "bench", "create database sbtest"], env=env,
                           check=True, stdout=subprocess.DEVNULL)
            sysbench(port, "oltp_read_write", 1, 1, "prepare")
            haproxy, haproxy_port = start_haproxy(folder, port)
            with Proxy(os.path.abspath(options.isorec), ["127.0.0.1:%d" % port],
                       *options.option) as proxy:
                for workload in options.workloads.split(","):
                    for threads in map(int, options.threads.split(",")):
                        got = {}
                        for _ in range(options.rounds):
                            for name, at, pid in (("direct", port, None),
                                                  ("haproxy", haproxy_port, haproxy.pid),
                                                  ("isorec", proxy.port, proxy.process.pid)):
                                measure(name, at, pid, workload, threads, options.seconds, got)
                        report(workload, threads, got)
                print(proxy.stop().splitlines()[-1])
        finally:
            if haproxy:
                haproxy.send_signal(signal.SIGTERM)
                haproxy.wait()
            subprocess.run([options.servers, "stop", "bench"], env=env, check=False,
                           stdout=subprocess.DEVNULL)


main()
