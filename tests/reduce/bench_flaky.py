#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A case that fails in three of ten executions, padded and reduced twenty times: at least nineteen must come out small.

    bench_flaky.py ISOREC ISOREC-SERVERS RELEASE [COUNT]
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import pad  # noqa: E402


def main():
    isorec, servers, release = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    with open(os.path.join(HERE, "flaky.scn"), encoding="utf-8") as file:
        text = file.read()
    good = 0
    with tempfile.TemporaryDirectory(prefix="reduce-bench-") as work:
        for seed in range(count):
            case, folder = os.path.join(work, "case.scn"), os.path.join(work, f"out-{seed}")
            with open(case, "w", encoding="utf-8") as out:
                out.write(pad.pad(text, seed, inside=False))
            done = subprocess.run([isorec, "reduce", "--server", release, "--same=output", "-o", folder, case],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                                  env=dict(os.environ, ISOREC_SERVERS=servers))
            small = None
            if done.returncode == 0:
                with open(os.path.join(folder, "reduced.scn"), encoding="utf-8") as file:
                    small = pad.Case(file.read())
            good += bool(small) and small.statements() <= pad.Case(text).statements()
            figures = re.search(r"are left; (\d+ executions, [\d.]+ s)", done.stdout)
            print(f"{seed:3}: {small.statements() if small else 'no'} statements, {figures[1] if figures else done.stdout}", flush=True)
    print(f"{good} of {count}")
    return 0 if good >= 0.95 * count else 1


if __name__ == "__main__":
    sys.exit(main())
