#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random schedules on a real server, instrumented, then the adya oracle over what was recorded.

    campaign.py ISOREC ISOTRACE SERVERS RELEASE --count 200 --seed 1 --mode select --keep out/

Runs the scenarios of schedules.py through `isorec run --instrument`, in batches, each at a level of
its own, and `isotrace check` over the traces, with the oracle mvcc beside adya.  Every violation and suspicion is printed, and its
trace kept with --keep.  Exit status 1: there was one; 77: the release cannot be had.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import schedules  # noqa: E402

LEVELS = ("RU", "RC", "RR", "SER", "RR", "SER")


def start(servers, release):
    done = subprocess.run([servers, "start", release, "--with-parent", str(os.getpid()), "--env"],
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return dict(re.findall(r"(?:export )?(\w+)='?([^'\n]*)'?", done.stdout))["MYSQL_TCP_PORT"]


class Campaign:
    def __init__(self, args):
        self.args = args
        self.port = args.port or start(args.servers, args.release)
        self.bad = self.traces = self.decided = 0
        self.found = collections.Counter()
        self.reasons = collections.Counter()

    def batch(self, mode, seeds):
        work = tempfile.mkdtemp(prefix="adya-campaign-")
        try:
            names = []
            for seed in seeds:
                names.append(os.path.join(work, "s%d.scn" % seed))
                with open(names[-1], "w") as out:
                    out.write("# isolation: %s\n%s" % (LEVELS[seed % len(LEVELS)],
                                                       schedules.scenario(seed)))
            done = subprocess.run(
                [self.args.isorec, "run", "--port", self.port, "--user", "root", "--database",
                 "adya_%d" % os.getpid(), "--drop-database", "--instrument", mode,
                 "--hang-timeout", "3s", "--output", work, "--overwrite", "--quiet"] + names,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode not in (0, 3):
                raise RuntimeError("isorec run: exit status %d\n%s"
                                   % (done.returncode, done.stderr))
            for trace in sorted(glob.glob(work + "/*.itr")):
                self.check(trace)
        finally:
            shutil.rmtree(work)

    def check(self, trace):
        done = subprocess.run([self.args.isotrace, "check", "--format", "json", trace], stdout=subprocess.PIPE)
        if done.returncode not in (0, 1, 3):
            raise RuntimeError("isotrace check %s: exit status %d" % (trace, done.returncode))
        result = json.loads(done.stdout)
        self.traces += 1
        self.decided += result["coverage"]["decided"]
        self.reasons.update(result["coverage"]["reasons"])
        bad = False
        for finding in result["findings"]:
            self.found[finding["severity"], finding["class"]] += 1
            if finding["severity"] in ("violation", "suspicion"):
                bad = True
                print("%s: %s %s %s: %s" % (os.path.basename(trace), finding["severity"],
                                            finding["class"], finding["level"],
                                            finding["explanation"]), flush=True)
        self.bad += bad
        if bad and self.args.keep:
            os.makedirs(self.args.keep, exist_ok=True)
            shutil.copy(trace, self.args.keep)
            shutil.copy(trace[:-4] + ".scn", self.args.keep)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isorec")
    parser.add_argument("isotrace")
    parser.add_argument("servers")
    parser.add_argument("release")
    parser.add_argument("--port", help="of a server that runs")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--mode", action="append", choices=("select", "trigger"))
    parser.add_argument("--keep", help="folder for the traces of findings")
    args = parser.parse_args()
    campaign = Campaign(args)
    for mode in args.mode or ("trigger", "select"):
        for begin in range(args.seed, args.seed + args.count, args.batch):
            campaign.batch(mode, range(begin, min(begin + args.batch, args.seed + args.count)))
    undecided = sum(campaign.reasons.values())
    for reason, count in sorted(campaign.reasons.items()):
        print("  %s: %d" % (reason, count))
    for (severity, name), count in sorted(campaign.found.items()):
        print("  %s %s: %d" % (severity, name, count))
    print("%s: %d traces, %d with a finding that is not documented; %d decided, %d not"
          % (args.release, campaign.traces, campaign.bad, campaign.decided, undecided))
    return 1 if campaign.bad or not campaign.traces else 0


if __name__ == "__main__":
    sys.exit(main())
