#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""show and stats of a large simulated trace: peak memory is bounded, whatever the size.

    bench_memory.py ISOTRACE ISOSIM [TRANSACTIONS]

Prints size, seconds of CPU and peak memory of each command for two traces, one four times as large as
the other.  Fails where a command takes more than LIMIT_MIB, or grows with the trace.
"""
import os
import subprocess
import sys

from run import ISOTRACE, scratch
import tap

ISOSIM = os.path.abspath(sys.argv[2])
TRANSACTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 700_000
LIMIT_MIB = 60
COMMANDS = (["show"], ["show", "--full", "--probes"], ["show", "--format=ndjson"],
            ["show", "--format=ndjson", "--match=where k=7 "], ["show", "--table=t0", "--errors-only"],
            ["stats"])


def measure(args):
    """Peak memory in MiB and seconds of CPU, from the kernel's account of this one process (which
    is not below what Python itself had when it started the process: some 12 MiB)."""
    with subprocess.Popen([ISOTRACE, *args], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, args
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def make(name, transactions):
    path = scratch(name)
    subprocess.run([ISOSIM, "--quiet", f"--transactions={transactions}", "--sessions=24",
                    "--keys=2000", "--tables=2", "-o", path], check=True)
    return path


def test_memory_is_bounded():
    small, large = make("small.itr", TRANSACTIONS // 4), make("large.itr", TRANSACTIONS)
    sizes = [os.path.getsize(path) / 2**20 for path in (small, large)]
    print(f"# traces of {sizes[0]:.0f} and {sizes[1]:.0f} MiB")
    for command in COMMANDS:
        figures = [measure(command + [path]) for path in (small, large)]
        print(f"# {' '.join(command):45} {figures[0][0]:6.1f} and {figures[1][0]:6.1f} MiB, "
              f"{figures[0][1]:6.1f} and {figures[1][1]:6.1f} s", flush=True)
        assert figures[1][0] < LIMIT_MIB, command
        assert figures[1][0] < figures[0][0] * 1.5 + 2, command


if __name__ == "__main__":
    tap.main(globals())
