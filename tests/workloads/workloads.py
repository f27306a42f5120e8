#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records real workloads on private servers, in both modes, and judges them: one line each.

    workloads.py ISOREC ISOTRACE ISOREC-SERVERS FOLDER [--release=R] [--seconds=N] [--modes=plain,trigger]
                 [--keep] [--reasons] [NAME...]

A line has the recording's size, what was not decided, the verdict, time and memory of `isotrace check`, and what the
application's own invariants say.  The test fails where a violation is reported that no invariant proves, where an
anomaly that rows prove is not found in trigger mode, and where more than one statement in a thousand is not decided.
A line `code` has what --for=application says: the anomalies of the wrong programs, and nothing about the right ones.
The last lines have, by mode, how many of the anomalies that rows prove were found; the test fails where that is less than
95 % in trigger mode.
--keep leaves the traces in FOLDER; --reasons lists why statements were not decided.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clients  # noqa: E402
import harness  # noqa: E402
import office  # noqa: E402
import shops  # noqa: E402
import sysbench  # noqa: E402
import tpcc  # noqa: E402
import wiki  # noqa: E402

WORKLOADS = sysbench.ALL + tpcc.ALL + shops.ALL + wiki.ALL + clients.ALL + office.ALL
UNDECIDED_MAX = 0.001  # of the statements
FOUND_MIN = 0.95  # of the anomalies that rows prove, in trigger mode


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("isorec", "isotrace", "servers", "folder"):
        parser.add_argument(name)
    parser.add_argument("--release", default="mariadb-local")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--modes", default=",".join(harness.MODES))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--reasons", action="store_true")
    parser.add_argument("names", nargs="*")
    return parser.parse_intermixed_args()


def judge(o, recording, mode, *more):
    """Prints the line; returns what is wrong."""
    told = harness.Judgement(o.isotrace, recording.path, *more)
    wrong = harness.compare(told, recording.truth, mode == "trigger" and "--oracle=mvcc" not in more)
    most = getattr(recording.workload, "undecided_max", UNDECIDED_MAX)
    if told.exit not in (0, 1) and (most == UNDECIDED_MAX or told.exit != 3):
        wrong.append("exit %d" % told.exit)
    left = told.undecided + told.unsupported
    if told.statements and left > told.statements * most:
        wrong.append("%.2f %% not decided" % (100.0 * left / told.statements))
    print("%-16s %-13s %-8s %-6s statements %7d, undecided %6d, unsupported %5d, %-10s %6.1f s %6.0f MB; %s%s" % (
        os.path.basename(recording.path).rsplit("-", 1)[0], o.release, mode, (more[0][9:] if more else ""), told.statements,
        told.undecided, told.unsupported, told.verdict, told.seconds, told.memory / 1e6,
        ", ".join(str(a) for a in recording.truth), "; WRONG: " + "; ".join(wrong) if wrong else ""), flush=True)
    if o.reasons:
        print("    " + ", ".join("%s %s: %d" % (severity, name, count) for (name, severity), count in sorted(told.classes().items())))
        for reason in told.reasons():
            print("    " + reason, flush=True)
    return wrong


def judge_code(o, recording, mode):
    """What is said of the application's code, against its invariants."""
    told = harness.Judgement(o.isotrace, recording.path, "--for=application")
    wrong = harness.compare_code(told, recording, mode == "trigger")
    pairs = {}
    for f in (f for f in told.findings if "pattern" in f):
        place = "%s on %s %s" % (f["class"], f["pattern"]["table"], f["severity"])
        pairs[place] = pairs.get(place, 0) + f["pairs"]
    places = ["%s: %d" % place for place in pairs.items()]
    print("%-16s %-13s %-8s code   %-10s %6.1f s %6.0f MB; %s%s" % (
        os.path.basename(recording.path).rsplit("-", 1)[0], o.release, mode, told.verdict, told.seconds, told.memory / 1e6,
        ", ".join(places), "; WRONG: " + "; ".join(wrong) if wrong else ""), flush=True)
    proven, found = harness.count_found(told, recording.truth)
    o.share[mode] = [a + b for a, b in zip(o.share.get(mode, (0, 0)), (proven, found))]
    return wrong


def one(o, server, workload, mode):
    """Records a workload in a mode and judges it."""
    recording = harness.record(o, server, workload, mode, o.folder)
    # The second oracle alone, too; of plain mode the default is that already.
    wrong = judge(o, recording, mode, *(["--oracle=mvcc"] if mode == "plain" else []))
    if mode == "trigger":
        wrong += judge(o, recording, mode, "--oracle=mvcc")
    wrong += judge_code(o, recording, mode)
    if not o.keep:
        os.unlink(recording.path)
    return wrong


def main():
    o = options()
    os.makedirs(o.folder, exist_ok=True)
    o.folder, o.isotrace, o.isorec = (os.path.abspath(p) for p in (o.folder, o.isotrace, o.isorec))
    os.environ.setdefault("WORKLOADS_NODE", os.path.join(o.folder, "node"))
    os.environ.setdefault("WORKLOADS_WIKI", os.path.join(o.folder, "wiki"))
    try:
        server = harness.Server(o.servers, o.release)
    except harness.SkipTest as reason:
        print(reason)
        return 77
    failed = []
    o.share = {}
    try:
        for kind in WORKLOADS:
            for mode in o.modes.split(","):
                if o.names and kind.name not in o.names:
                    continue
                try:
                    if one(o, server, kind(o.seconds), mode):
                        failed.append("%s %s" % (kind.name, mode))
                except harness.SkipTest as reason:
                    print("%-16s skipped: %s" % (kind.name, reason))
                except AssertionError as why:
                    failed.append("%s %s" % (kind.name, mode))
                    print("%-16s %s failed: %s" % (kind.name, mode, str(why)[-1500:]), flush=True)
    finally:
        server.close()
    for mode, (proven, found) in o.share.items():
        print("%-8s %d of %d anomalies that rows prove were found%s" % (
            mode, found, proven, ", %.1f %%" % (100.0 * found / proven) if proven else ""))
        if mode == "trigger" and found < proven * FOUND_MIN:
            failed.append("the share of anomalies found")
    if failed:
        print("not as wanted: " + ", ".join(failed))
    return 1 if failed else 0


sys.exit(main())
