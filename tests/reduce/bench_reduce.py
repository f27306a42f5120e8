#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How small, how fast: the corpus's bugs, padded, and reduced on the releases that have them.

    bench_reduce.py ISOREC ISOREC-SERVERS CORPUS RELEASE... [--only=NAME,NAME] [OPTION OF ISOREC REDUCE...]

A release may end in +si or -si (innodb_snapshot_isolation).  A case is a bug of the corpus that shows on the release at the
level of its scenario, or else at READ COMMITTED, SERIALIZABLE or READ UNCOMMITTED: by a finding, or where the oracle has none by
the scenario's `# shows:` lines (--same=output).  It gets 50 statements, 3 sessions, 2 tables and 20 rows more.  Prints a line for
each: statements and rows of the hand-written case and of the result, executions, seconds, and whether the result is 1-minimal
(each statement and each row taken out alone, executed again) and fails the same way.

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
        self.tool, self.name = tool, f"reduce-bench-{os.getpid()}-{release.replace('+', '-with-')}"
        plain, snapshots = re.match(r"(.*?)([+-]si)?$", release).groups()
        options = [f"--snapshot-isolation={'on' if snapshots == '+si' else 'off'}"] if snapshots else []
        started = run(tool, "start", plain, f"--name={self.name}", f"--with-parent={os.getpid()}", "--env", *options,
                      "-o", "innodb_lock_wait_timeout=3", "-o", "innodb_flush_log_at_trx_commit=0")
        self.there = started.returncode == 0
        self.output = started.stdout
        words = dict(re.findall(r"^export (\w+)=(.*)$", started.stdout, re.M))
        self.options = ["-P", words.get("MYSQL_TCP_PORT", "0"), "-u", words.get("ISOREC_SERVER_USER", "root"), "--drop-database"]

    def stop(self):
        run(self.tool, "stop", self.name)


LEVELS = (), ("--isolation=RC",), ("--isolation=SER",), ("--isolation=RU",)


def without_statement(case, number):
    """The case without a statement of its schedule; None: a `# shows:` line names that one."""
    session = case.schedule[number].split(">")[0]
    gone = 1 + sum(line.startswith(session + ">") for line in case.schedule[:number])
    less = pad.Case(case.text())
    del less.schedule[number]

    def renumber(match):
        at = int(match[1])
        return "gone" if at == gone else f"{session}.{at - (at > gone)}"

    for i, line in enumerate(less.header):
        if line.startswith("# shows:"):
            less.header[i] = re.sub(rf"\b{re.escape(session)}\.(\d+)", renumber, line)
            if "gone" in less.header[i]:
                return None
    return less


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
        """What fails first: "mvcc CLASS SEVERITY ...", "shows"; None: nothing."""
        _, out = self.reduce(text, "--tries=1", *args)
        found = re.search(r"^[^\s:]+: (mvcc .*?|shows)(?: known:.*)?$", out, re.M)
        return found[1] if found else None

    def how_it_fails(self, text):
        """What it shows, and the options that say so; None, (): nothing."""
        for level in LEVELS:
            shape = self.shape(text, *level)
            if shape:
                return shape, ("--finding", shape.split()[1], *level)
            if "# shows:" in text and self.shape(text, "--same=output", *level):
                return "shows", ("--same=output", *level)
        return None, ()

    def could_go(self, small, args, shape):
        """Statements and rows that are not needed, one at a time."""
        args = [word for word in args if not word.startswith("--isolation")]
        case, left = pad.Case(small), []
        case.schedule = [line.split(" -- =>")[0] for line in case.schedule]
        setup = list(case.setup)
        for i, line in enumerate(case.schedule):
            less = without_statement(case, i)
            if less and less.schedule and self.shape(less.text(), *args) == shape:
                left.append(line)
        for i, line in enumerate(setup):
            rows = re.match(r"(insert .*? values )(.*);$", line, re.I)
            values = re.findall(r"\((?:[^()']|'[^']*')*\)", rows[2]) if rows else []
            for k in range(len(values)):
                rest = values[:k] + values[k + 1:]
                case.setup = setup[:i] + ([rows[1] + ", ".join(rest) + ";"] if rest else []) + setup[i + 1:]
                if self.shape(case.text(), *args) == shape:
                    left.append(values[k])
        return left


def bench_case(b, release, name, text, extra):
    """What became of one bug: None when it does not show here; else ratio, executions, seconds, the same failure, 1-minimal."""
    shape, how = b.how_it_fails(text)
    if not shape:
        return None
    hand = pad.Case(text)
    # Numbers of statements in `# shows:` are those of the scenario as it stands.
    padded = pad.pad(text, name, inside=shape != "shows")
    begins = b.shape(padded, *how)
    if not begins:
        print(f"{release:14} {name:24} the padded case does not fail", flush=True)
        return None
    small, out = b.reduce(padded, *how, *extra)
    figures = re.search(r"are left; (\d+) executions, ([\d.]+) s", out if small else "")
    if not figures:
        print(f"{release:14} {name:24} not reduced: {out.strip().splitlines()[-1:]}", flush=True)
        return 99, 0, 0, False, False
    ends = re.search(r"^# finding: (mvcc .*?|shows)(?: known:.*)?$", small, re.M)[1]
    result = pad.Case(small)
    left = b.could_go(small, how, ends)
    executions, seconds = int(figures[1]), float(figures[2])
    ratio = max(result.statements() / hand.statements(), result.rows() / max(hand.rows(), 1))
    print(f"{release:14} {name:24} {shape.split()[-1] if shape == 'shows' else shape.split()[1]:20} "
          f"{hand.statements():3} -> {result.statements():2} statements, "
          f"{hand.rows():2} -> {result.rows():2} rows, ratio {ratio:.2f}, {executions:4} executions, {seconds:6.1f} s, "
          f"{'1-minimal' if not left else 'could go: ' + ' | '.join(left)}, "
          f"{'the same' if ends == begins else 'ANOTHER failure'}", flush=True)
    return ratio, executions, seconds, ends == begins, not left


def bench(isorec, server, corpus, release, only, extra, results):
    with tempfile.TemporaryDirectory(prefix="reduce-bench-") as work:
        b = Bench(isorec, server, work)
        for path in sorted(glob.glob(os.path.join(corpus, "bugs", "*.scn"))):
            name = os.path.basename(path)[:-4]
            if only and name not in only:
                continue
            with open(path, encoding="utf-8") as file:
                result = bench_case(b, release, name, file.read(), extra)
            if result:
                results[release, name] = result


def summary(what, results):
    rows = list(results.values())
    print(f"{what}: {len(rows)} cases of {len({name for _, name in results})} bugs, "
          f"median {statistics.median(r[1] for r in rows):.0f} executions, "
          f"{statistics.median(r[2] for r in rows):.1f} s (most {max(r[1] for r in rows)}, {max(r[2] for r in rows):.1f} s); "
          f"ratio at most {max(r[0] for r in rows):.2f}, {sum(r[0] <= 1.2 for r in rows)} at most 1.2; "
          f"{sum(r[4] for r in rows)} 1-minimal, {sum(r[3] for r in rows)} the same failure", flush=True)


def main():
    isorec, servers, corpus, *words = sys.argv[1:]
    extra = [word for word in words if word.startswith("--") and not word.startswith("--only=")]
    only = [name for word in words if word.startswith("--only=") for name in word[7:].split(",")]
    everything = {}
    for release in (word for word in words if not word.startswith("--")):
        server = Server(servers, release)
        if not server.there:
            print(f"{release}: cannot be had here: {server.output.strip().splitlines()[-1:]}")
            continue
        results = {}
        try:
            bench(isorec, server, corpus, release, only, extra, results)
        finally:
            server.stop()
        everything.update(results)
        if results:
            summary(release, results)
    if everything:
        summary("all", everything)
    return 0 if all(same and minimal for _, _, _, same, minimal in everything.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
