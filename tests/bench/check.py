#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `isotrace check --oracle adya` costs, as ratios in one run (semantics.md, section 11):
against merely loading the same trace, and as the trace grows.

usage: check.py ISOTRACE BENCH_LOAD SMALL.itr [LARGE.itr]

Each command runs in a process of its own, several times in turns; the best counts.  By the clock;
processor time of all threads beside it, and the part of that outside the kernel (bench_load.c says
why).  Right after each check, as much memory as it had is touched for the first time by a process
that does nothing else: what that costs here, and how it grows, is the machine's and no program's.
Measurements, never assertions.
"""
import mmap
import os
import subprocess
import sys
import time

ROUNDS = 3
MADV_POPULATE_WRITE = 23  # Linux 5.14


def first_touch(mib):
    """Seconds until so much memory is there, in a process of its own; NaN where that cannot be asked for."""
    done, told = os.pipe()
    child = os.fork()
    if child == 0:
        begin = time.monotonic()
        try:
            mmap.mmap(-1, int(mib) << 20).madvise(MADV_POPULATE_WRITE)
            os.write(told, b"%f" % (time.monotonic() - begin))
        finally:
            os._exit(0)
    os.close(told)
    with open(done, "rb") as answer:
        seconds = answer.read()
    os.waitpid(child, 0)
    return float(seconds or "nan")


class Cost:
    def __init__(self):
        self.wall = self.cpu = self.user = self.memory = self.touch = float("inf")

    def add(self, command, fine):
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in fine:
            sys.exit("%s: exit status %d" % (" ".join(command), child.returncode))
        self.wall = min(self.wall, time.monotonic() - begin)
        self.cpu = min(self.cpu, usage.ru_utime + usage.ru_stime)
        self.user = min(self.user, usage.ru_utime)
        self.memory = min(self.memory, usage.ru_maxrss / 1024)


def measure(isotrace, bench_load, traces):
    costs = [(Cost(), Cost()) for _ in traces]
    for _ in range(ROUNDS):
        for trace, (load, check) in zip(traces, costs):
            load.add([bench_load, "--once", trace], (0,))
            # 3: nothing violated, and not everything could be decided.
            check.add([isotrace, "check", "--oracle", "adya", "--format", "json", trace], (0, 3))
            check.touch = min(check.touch, first_touch(check.memory))
    for trace, (load, check) in zip(traces, costs):
        show(trace, load, check)
    return costs


def show(trace, load, check):
    print("%s: load %.2f s (%.2f s of processor), check %.2f s (%.2f s), %.0f MiB" %
          (trace, load.wall, load.cpu, check.wall, check.cpu, check.memory))
    print("  check against load: %.2f x the time (at most 3); by processor time %.2f" %
          (check.wall / load.wall, check.cpu / load.cpu))
    print("  the first touch of %.0f MiB alone: %.2f s" % (check.memory, check.touch), flush=True)


def main():
    isotrace, bench_load, *traces = sys.argv[1:]
    costs = measure(isotrace, bench_load, traces)
    for what, at in (("load", 0), ("check", 1)):
        if len(costs) < 2:
            break
        small, large = costs[0][at], costs[1][at]
        print("%s of the larger trace: %.2f x the time, %.2f x the memory of the smaller one (for"
              " 10 x the operations, at most 11 each); by processor time %.2f, outside the kernel"
              " %.2f" % (what, large.wall / small.wall, large.memory / small.memory,
                         large.cpu / small.cpu, large.user / max(small.user, 0.01)))


main()
