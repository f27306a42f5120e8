#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random schedules on a real server, then the mvcc oracle over what was recorded.

    campaign.py --release mariadb-10.11 --count 20000 --seed 1 --keep out/

Runs the scenarios of schedules.py through `isorec run`, in batches, several at a time (each has a
server of its own, since information_schema.innodb_trx stands still while more than one asks), and `mvcc_tool solve` over the traces of each.  Every violation is printed with its trace, which is kept; everything else is thrown
away unless --keep-all.  Exit status 1: a violation, or fewer than --decided per cent decided.
77: the release cannot be had.
"""
import argparse
import concurrent.futures
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import programs  # noqa: E402
import schedules  # noqa: E402
import views  # noqa: E402
import wide  # noqa: E402

TOP = os.path.join(HERE, "..", "..")
SERVERS = os.path.join(TOP, "recorder", "servers", "isorec-servers")


def start(release):
    done = subprocess.run([SERVERS, "start", release, "--with-parent", str(os.getpid()), "--env"],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    env = dict(re.findall(r"(?:export )?(\w+)='?([^'\n]*)'?", done.stdout))
    return env["MYSQL_TCP_PORT"]


def record(isorec, port, names, out, database):
    done = subprocess.run([isorec, "run", "--port", port, "-o", out, "--overwrite",
                           "--drop-database", "-D", database, "--quiet"] + names,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError("isorec run: exit status %d\n%s" % (done.returncode, done.stderr))


def run_batch(args, ports, work, begin):
    """What mvcc_tool printed of a batch; the traces are gone but those that were asked for."""
    port = ports.get()
    try:
        return run_on(args, port, work, begin)
    finally:
        ports.put(port)


def any_case(text, seed):
    """Names of tables, views and aliases in either case, after the setup (lower_case_table_names)."""
    rng = random.Random(seed)
    setup, schedule = text.split("[schedule]")
    return setup + "[schedule]" + re.sub(
        r"(?<!')\b(?:[tvnl]\d+|[xyc])\b(?!')",
        lambda name: name[0].upper() if rng.random() < 0.5 else name[0], schedule)


def generated(args, work, begin):
    """Cases of the product's own generator."""
    folder = os.path.join(work, "cases%d" % begin)
    subprocess.run([args.isorec, "generate", "--quiet", "--model", args.model, "--seed", str(args.seed), "--first", str(begin),
                    "--count", str(min(args.batch, args.count - begin)), "--dialect", args.release, "-o", folder], check=True)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def run_on(args, port, work, begin):
    number = begin // args.batch
    names = generated(args, work, begin) if args.model else []
    for seed in range(args.seed + begin, args.seed + min(begin + args.batch, args.count)) if not args.model else ():
        names.append(os.path.join(work, "s%d.scn" % seed))
        with open(names[-1], "w") as out:
            text = (wide.scenario(seed, args.release.startswith("mysql")) if args.wide else
                    programs.scenario(seed) if args.programs else
                    views.scenario(seed) if args.views else schedules.scenario(seed))
            out.write(any_case(text, seed) if args.any_case else text)
    traces = os.path.join(work, "traces%d" % number)
    record(args.isorec, port, names, traces, "mvcc_campaign_%d_%d" % (os.getpid(), number))
    listed = sorted(os.path.join(traces, n) for n in os.listdir(traces))
    done = subprocess.run([args.tool, "solve"] + listed, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError("mvcc_tool: exit status %d\n%s" % (done.returncode, done.stdout))
    if args.keep:
        os.makedirs(args.keep, exist_ok=True)
        for line in done.stdout.splitlines():
            if line.startswith(traces):
                shutil.copy(line.split(": ")[0], args.keep)
        if args.keep_all:
            shutil.copytree(traces, args.keep, dirs_exist_ok=True)
    shutil.rmtree(traces)
    for name in names:
        os.unlink(name)
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="mariadb-local")
    parser.add_argument("--port", help="of servers that run, with commas")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=4, help="batches, and servers, at a time")
    parser.add_argument("--keep", help="folder for the traces of violations")
    parser.add_argument("--keep-all", action="store_true")
    parser.add_argument("--decided", type=float, default=95.0)
    parser.add_argument("--known", action="append", default=[], metavar="PATTERN=BUG",
                        help="violations whose line matches are that bug of the release: counted "
                        "apart")
    parser.add_argument("--foreign", action="store_true", help="scenarios about foreign keys only")
    parser.add_argument("--definitions", action="store_true",
                        help="scenarios that change definitions only")
    parser.add_argument("--model", help="cases of isorec generate, by this model, instead of schedules.py's")
    parser.add_argument("--wide", action="store_true", help="the schedules of wide.py")
    parser.add_argument("--programs", action="store_true",
                        help="those of programs.py: triggers, functions, procedures")
    parser.add_argument("--any-case", action="store_true",
                        help="T1 for t1 at times: for a server with lower_case_table_names=1")
    parser.add_argument("--views", action="store_true", help="those of views.py")
    parser.add_argument("--isorec", default="isorec")
    parser.add_argument("--tool", default="mvcc_tool")
    args = parser.parse_args()
    if args.foreign:
        schedules.FOREIGN = 1
    if args.definitions:
        schedules.DEFINITIONS = 1
    ports = queue.Queue()
    for port in args.port.split(",") if args.port else [start(args.release) for _ in range(args.jobs)]:
        ports.put(port)
    work = tempfile.mkdtemp(prefix="mvcc-campaign-")
    totals = dict.fromkeys(("traces", "decided", "undecided", "unsupported", "violations",
                            "suspicions"), 0)
    reasons = {}
    known = dict(pair.rsplit("=", 1) for pair in args.known)
    try:
        with concurrent.futures.ThreadPoolExecutor(ports.qsize()) as pool:
            for output in pool.map(lambda begin: run_batch(args, ports, work, begin),
                                   range(0, args.count, args.batch)):
                tally(output, known, totals, reasons)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for name, count in sorted(reasons.items()):
        print("  %s: %d" % (name, count))
    judged = totals["decided"] + totals["undecided"] + totals["unsupported"]
    share = 100.0 * totals["decided"] / max(judged, 1)
    print("%s: %s; %.2f %% decided" % (args.release, ", ".join(
        "%d %s" % (v, k) for k, v in totals.items()), share))
    return 1 if totals["violations"] or share < args.decided else 0


def tally(output, known, totals, reasons):
    for line in output.splitlines():
        reason = re.match(r"  (\S.*): (\d+)$", line)
        if line.startswith("traces "):
            words = line.split()
            for key, value in zip(words[::2], words[1::2]):
                totals[key] += int(value)
        elif reason:
            reasons[reason[1]] = reasons.get(reason[1], 0) + int(reason[2])
        elif [p for p in known if re.search("violation " + p, line)]:
            bug = [known[p] for p in known if re.search("violation " + p, line)][0]
            reasons["known bug " + bug] = reasons.get("known bug " + bug, 0) + 1
            totals["violations"] -= 1
        else:
            print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
