#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How small, how fast: the corpus's bugs, padded, and reduced on the releases that have them.

    bench_reduce.py ISOREC ISOREC-SERVERS CORPUS RELEASE...

A case is a bug of the corpus whose scenario shows a finding on the release, with 50 statements, 3 sessions, 2 tables and 20 rows
more.  Prints a line for each: statements and rows of the hand-written case and of the result, executions, seconds, and whether
the result is 1-minimal (each statement and each row taken out alone, executed again) and fails the same way.

The exit status is 1 when a result fails otherwise than its padded case, or a statement or row of one could go.
"""
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import pad  # noqa: E402


def run(*args):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


class Server:
    def __init__(self, tool, release):
        self.tool, self.name = tool, f"reduce-bench-{os.getpid()}-{release}"
        started = run(tool, "start", release, f"--name={self.name}", f"--with-parent={os.getpid()}", "--env",
                      "-o", "innodb_lock_wait_timeout=3", "-o", "innodb_flush_log_at_trx_commit=0")
        self.there = started.returncode == 0
        self.output = started.stdout
        words = dict(re.findall(r"^export (\w+)=(.*)$", started.stdout, re.M))
        self.options = ["-P", words.get("MYSQL_TCP_PORT", "0"), "-u", words.get("ISOREC_SERVER_USER", "root"), "--drop-database"]

    def stop(self):
        run(self.tool, "stop", self.name)


class Bench:
    def __init__(self, isorec, server, work):
        self.isorec, self.server, self.work = isorec, server, work

    def reduce(self, text, *args):
        """The folder's reduced.scn and what was printed."""
        case, folder = os.path.join(self.work, "case.scn"), os.path.join(self.work, "out")
        with open(case, "w", encoding="utf-8") as out:
            out.write(text)
        done = run(self.isorec, "reduce", *self.server.options, "--overwrite", "-o", folder, *args, case)
        if done.returncode not in (0, 3) or "nothing to reduce" in done.stdout:
            return None, done.stdout
        with open(os.path.join(folder, "reduced.scn"), encoding="utf-8") as small:
            return small.read(), done.stdout

    def shape(self, text, *args):
        """What fails first: "mvcc CLASS SEVERITY ..."; None: nothing."""
        _, out = self.reduce(text, "--tries=1", *args)
        found = re.search(r"^\S+: (mvcc .*?)(?: known:.*)?$", out, re.M)
        return found[1] if found else None

    def could_go(self, small, kind, shape):
        """Statements and rows that are not needed, one at a time."""
        case, left = pad.Case(small), []
        case.schedule = [line.split(" -- =>")[0] for line in case.schedule]
        bare, setup = list(case.schedule), list(case.setup)
        for i, line in enumerate(bare):
            case.schedule = bare[:i] + bare[i + 1:]
            if case.schedule and self.shape(case.text(), "--finding", kind) == shape:
                left.append(line)
        case.schedule = bare
        for i, line in enumerate(setup):
            rows = re.match(r"(insert .*? values )(.*);$", line, re.I)
            values = re.findall(r"\((?:[^()']|'[^']*')*\)", rows[2]) if rows else []
            for k in range(len(values)):
                rest = values[:k] + values[k + 1:]
                case.setup = setup[:i] + ([rows[1] + ", ".join(rest) + ";"] if rest else []) + setup[i + 1:]
                if self.shape(case.text(), "--finding", kind) == shape:
                    left.append(values[k])
        return left


def bench(isorec, server, corpus, release, extra, results):
    bad = 0
    with tempfile.TemporaryDirectory(prefix="reduce-bench-") as work:
        b = Bench(isorec, server, work)
        for path in sorted(glob.glob(os.path.join(corpus, "bugs", "*.scn"))):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = os.path.basename(path)[:-4]
            hand = pad.Case(text)
            shape = b.shape(text)
            if not shape:
                continue
            kind = shape.split()[1]
            padded = pad.pad(text, name)
            begins = b.shape(padded, "--finding", kind)
            if not begins:
                print(f"{release:14} {name:24} the padded case does not fail", flush=True)
                continue
            small, out = b.reduce(padded, "--finding", kind, *extra)
            figures = re.search(r"are left; (\d+) executions, ([\d.]+) s", out if small else "")
            if not figures:
                print(f"{release:14} {name:24} not reduced: {out.strip().splitlines()[-1:]}", flush=True)
                bad += 1
                continue
            ends = re.search(r"^# finding: (mvcc .*?)(?: known:.*)?$", small, re.M)[1]
            result = pad.Case(small)
            left = b.could_go(small, kind, ends)
            executions, seconds = int(figures[1]), float(figures[2])
            ratio = max(result.statements() / hand.statements(), result.rows() / max(hand.rows(), 1))
            results.append((ratio, executions, seconds, ends == begins, not left))
            bad += bool(left) or ends != begins
            print(f"{release:14} {name:24} {kind:20} {hand.statements():3} -> {result.statements():2} statements, "
                  f"{hand.rows():2} -> {result.rows():2} rows, ratio {ratio:.2f}, {executions:4} executions, {seconds:6.1f} s, "
                  f"{'1-minimal' if not left else 'could go: ' + ' | '.join(left)}, "
                  f"{'the same' if ends == begins else 'ANOTHER failure'}", flush=True)
    return bad


def main():
    isorec, servers, corpus, *releases = sys.argv[1:]
    extra = [word for word in releases if word.startswith("--")]
    bad, all_results = 0, []
    for release in (word for word in releases if not word.startswith("--")):
        server = Server(servers, release)
        if not server.there:
            print(f"{release}: cannot be had here: {server.output.strip().splitlines()[-1:]}")
            continue
        results = []
        try:
            bad += bench(isorec, server, corpus, release, extra, results)
        finally:
            server.stop()
        all_results += results
        if results:
            print(f"{release}: {len(results)} cases, median {statistics.median(r[1] for r in results):.0f} executions, "
                  f"{statistics.median(r[2] for r in results):.1f} s; ratio at most {max(r[0] for r in results):.2f}, "
                  f"{sum(r[0] <= 1.2 for r in results)} at most 1.2; {sum(r[4] for r in results)} 1-minimal, "
                  f"{sum(r[3] for r in results)} the same failure", flush=True)
    if all_results:
        print(f"all: {len(all_results)} cases, median {statistics.median(r[1] for r in all_results):.0f} executions, "
              f"{statistics.median(r[2] for r in all_results):.1f} s; {sum(r[0] <= 1.2 for r in all_results)} at most 1.2 times "
              f"the hand-written case", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
