#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What isorec proxy costs: sysbench directly, through haproxy, and through isorec proxy.

    proxy.py ISOREC ISOREC-SERVERS [--usertime=FILE.so] [--rounds=N] [--seconds=N]
             [--threads=1,8,64] [--workloads=oltp_point_select,oltp_read_write] [--short]
             [--subjects=direct,haproxy,relay,raw,isorec]

Each round runs sysbench directly, through haproxy in TCP mode, through isorec proxy that only
relays (--no-record) and through isorec proxy that records everything, one after the other and
every second round the other way round, so that whatever else the machine does meets all alike.

Printed: throughput and p99 latency of isorec proxy as ratios to haproxy's, the median of the
rounds; and processor time a statement over all rounds, of all threads of a process, the user part
against its budget of 2 us + 1 ns a byte of the answers.  A kernel with CONFIG_TICK_CPU_ACCOUNTING
guesses from its timer ticks how a thread's time is divided between user and system.  Therefore
--usertime (build/tests/bench/usertime.so): every process runs with time stamps around its system
calls, and the time between them is printed, the threads that relay and parse apart from the one
that compresses and writes the trace.  Both figures grow with the misses in the processor's caches:
haproxy's and the bare relay's tell how much.

--subjects=haproxy,isorec leaves out what is not needed for the ratios; --subjects=raw,isorec compares
with a proxy whose trace is not compressed: goals 0.97 and 1.03, and the size of the one trace to the other.

Goals: throughput 0.95 or more, p99 1.10 or less, user time within the budget.
"""
import argparse
import json
import os
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy  # noqa: E402
from relays import start_haproxy  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    """User and system time of a process so far, all its threads, in seconds."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) / TICK, int(fields[12]) / TICK


class UserTime:
    """The counters that usertime.so keeps for a process; nothing without it."""
    COUNT = struct.Struct("16s4Q")

    def __init__(self, library, folder, name):
        self.path = library and os.path.join(folder, name + ".usertime")
        self.env = dict(os.environ)
        if library:
            self.env.update(LD_PRELOAD=os.path.abspath(library), USERTIME_FILE=self.path)

    def read(self):
        """Nanoseconds between system calls of the threads that relay, and of the trace's writer;
        calls; and nanoseconds that other threads had in between, not counted before."""
        relay = writer = calls = lost = 0
        if not self.path:
            return 0, 0, 0, 0
        with open(self.path, "rb") as counts:
            for name, user, count, _, others in self.COUNT.iter_unpack(counts.read()):
                if name.startswith(b"trace"):
                    writer += user
                else:
                    relay += user
                    calls += count
                lost += others
        return relay, writer, calls, lost


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


class Subject:
    """A way to the server, and what was measured on it for one workload."""

    def __init__(self, name, port, pid=None, usertime=None):
        self.name, self.port, self.pid, self.usertime = name, port, pid, usertime
        self.clear()

    def clear(self):
        self.rates, self.p99s = [], []
        self.queries = self.user = self.system = 0
        self.pieces = [0, 0, 0, 0]

    def measure(self, workload, threads, seconds):
        before = cpu(self.pid) if self.pid else (0, 0)
        pieces = self.usertime.read() if self.usertime else (0, 0, 0, 0)
        queries, rate, p99 = sysbench(self.port, workload, threads, seconds)
        after = cpu(self.pid) if self.pid else (0, 0)
        self.rates.append(rate)
        self.p99s.append(p99)
        self.queries += queries
        self.user += after[0] - before[0]
        self.system += after[1] - before[1]
        if self.usertime:
            self.pieces = [sum(x) for x in zip(self.pieces, (
                b - a for a, b in zip(pieces, self.usertime.read())))]

    def cost(self):
        """User and system microseconds a query, as the kernel has it."""
        return self.user * 1e6 / self.queries, self.system * 1e6 / self.queries

    def own(self):
        """Microseconds a query between system calls: relaying threads, writer; calls; lost."""
        relay, writer, calls, lost = (x / self.queries for x in self.pieces)
        return relay / 1000, writer / 1000, calls, lost / 1000


def report(workload, threads, subjects, answer_bytes):
    named = {what.name: what for what in subjects}
    isorec = named["isorec"]
    budget = 2 + answer_bytes / 1000
    user = isorec.cost()[0]
    print("%s, %d threads, %.0f bytes an answer" % (workload, threads, answer_bytes))
    for what in subjects:
        print("  %-8s %7.0f/s, p99 %7.2f ms%s" % (
            what.name, statistics.median(what.rates), statistics.median(what.p99s),
            ", user %5.2f + system %5.2f us a statement" % what.cost() if what.pid else ""))
    for name in ("haproxy", "relay", "raw"):
        if name not in named:
            continue
        other = named[name]
        print("  isorec / %s: throughput %.2f, p99 %.2f; user time %.2f us of %.2f, %+.2f" % (
            name, statistics.median(a / b for a, b in zip(isorec.rates, other.rates)),
            statistics.median(a / b for a, b in zip(isorec.p99s, other.p99s)),
            user, budget, user - other.cost()[0]))
    for what in subjects:
        if what.pid and what.usertime.path:
            print("  %-8s between calls: %5.2f us relaying + %5.2f us writing = %5.2f of %.2f; "
                  "%.2f calls; and %.2f us of other threads in between" % (
                      what.name, *what.own()[:2], sum(what.own()[:2]), budget, *what.own()[2:]))
    sys.stdout.flush()


def run_all(options, subjects, proxy):
    for workload in options.workloads.split(","):
        for threads in map(int, options.threads.split(",")):
            for what in subjects:
                what.clear()
            before = proxy.statistics()
            for number in range(options.rounds):
                for what in subjects if number % 2 == 0 else subjects[::-1]:
                    what.measure(workload, threads, options.seconds)
            after = proxy.statistics()
            report(workload, threads, subjects, (after["to_clients"] - before["to_clients"]) /
                   (after["statements"] - before["statements"]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--threads", default="1,8,64")
    parser.add_argument("--workloads", default="oltp_point_select,oltp_read_write")
    parser.add_argument("--subjects", default="direct,haproxy,relay,isorec")
    parser.add_argument("--usertime", help="usertime.so: time between system calls")
    parser.add_argument("--option", action="append", default=[], help="for isorec proxy")
    parser.add_argument("--short", action="store_true", help="2 rounds of 1 s with 8 threads")
    options = parser.parse_args()
    if options.short:
        options.rounds, options.seconds, options.threads = 2, 1, "8"
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
            times = [UserTime(options.usertime, folder, name) for name in
                     ("haproxy", "relay", "isorec", "raw")]
            haproxy, haproxy_port = start_haproxy(folder, port, times[0].env)
            isorec, node = os.path.abspath(options.isorec), ["127.0.0.1:%d" % port]
            with Proxy(isorec, node, *options.option, env=times[2].env) as proxy, \
                    Proxy(isorec, node, "--compression=off", *options.option, env=times[3].env) as raw, \
                    Proxy(isorec, node, "--no-record", env=times[1].env) as relay:
                subjects = [Subject("direct", port),
                            Subject("haproxy", haproxy_port, haproxy.pid, times[0]),
                            Subject("relay", relay.port, relay.process.pid, times[1]),
                            Subject("raw", raw.port, raw.process.pid, times[3]),
                            Subject("isorec", proxy.port, proxy.process.pid, times[2])]
                run_all(options, [s for s in subjects if s.name in options.subjects.split(",")],
                        proxy)
                for name, one in (("raw", raw), ("isorec", proxy)):
                    if name in options.subjects.split(","):
                        print("%s:" % name, *one.stop().splitlines()[-2:], sep="\n  ")
        finally:
            if haproxy:
                haproxy.send_signal(signal.SIGTERM)
                haproxy.wait()
            subprocess.run([options.servers, "stop", "bench"], env=env, check=False,
                           stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
