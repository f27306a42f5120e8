# SPDX-License-Identifier: GPL-2.0-or-later
"""What the workloads share: a private server, one recording of each mode, and its judgement in one line.

A workload has a schema and rows (`fill`), clients (`run`, through the proxy) and what is true of the result
(`truth`): anomalies that its own invariants prove, each with the classes of findings that may stand for it.
"""
import json
import os
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import Proxy, SkipTest, run_servers, wait_for  # noqa: E402

MODES = ("plain", "trigger")
SNAPSHOT_ROWS = 2000000  # rows of a table that are recorded at first
CHECK_SECONDS, CHECK_MEMORY = 900, 8 << 30  # more than that is a failure of its own
LOST = ("lost-update", "G-single")
SKEW = ("G2-item", "G2")


class Server:
    """A private server of a release, until it is closed."""

    def __init__(self, program, release, level=None):
        self.program, self.name = program, "workload-%d-%s" % (os.getpid(), release)
        more = ["--isolation=" + level] if level else []
        started = run_servers(program, "start", release, "--name=" + self.name, "--json",
                              "--with-parent=%d" % os.getpid(), *more, "-o", "innodb_buffer_pool_size=256M",
                              "-o", "max_connections=200")
        self.port, self.version = json.loads(started)["port"], json.loads(started)["version"]
        self.is_mysql = "MariaDB" not in self.version and not release.startswith("mariadb")

    def sql(self, text, database="mysql"):
        """Statements through Debian's client; what it prints, as lists of columns."""
        done = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", "-P%d" % self.port, "-uroot",
                               "--skip-ssl", "--default-character-set=utf8mb4", "-N", "-B", database],
                              input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def number(self, text, database):
        return int(float(self.sql(text, database)[0][0]))

    def close(self):
        run_servers(self.program, "stop", self.name, check=False)


class Anomaly:
    """So many of a kind, of which the application's own rows are the proof.  `code`: what --for=application must say of it:
    the class and the table."""

    def __init__(self, what, count, classes, at_most=0, code=None):
        self.what, self.count, self.classes, self.at_most, self.code = what, count, classes, at_most, code

    def __str__(self):
        return "%s: %d" % (self.what, self.count)


class Recording:
    def __init__(self, path, workload, seconds, truth):
        self.path, self.workload, self.seconds, self.truth = path, workload, seconds, truth


def command(args, seconds=600, statuses=(0,), **more):
    done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=seconds, **more)
    assert done.returncode in statuses, "%s: %d\n%s%s" % (args, done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def record(programs, server, workload, mode, folder):
    """Fills a database, records the workload through a proxy, asks what is true of the result."""
    database, trace = workload.database, os.path.join(folder, "%s-%s.itr" % (workload.name, mode))
    options = ["--user=root", "--database=" + database, "--snapshot-rows=%d" % SNAPSHOT_ROWS]
    server.sql("drop database if exists %s; create database %s character set utf8mb4" % (database, database))
    workload.mode = mode
    workload.fill(server)
    if mode == "trigger":
        # 3: some tables cannot be prepared, as those of MyISAM.
        command([programs.isorec, "prepare", "-q", "--add-key", "-P%d" % server.port, database], statuses=(0, 3))
        options += ["--instrument=trigger", "--all-writers"]
    if os.path.exists(trace):
        os.unlink(trace)
    with Proxy(programs.isorec, ["n1=127.0.0.1:%d" % server.port], *options, trace=trace) as proxy:
        began = time.monotonic()
        workload.run(server, proxy.port)
        seconds = time.monotonic() - began
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
    return Recording(trace, workload, seconds, workload.truth(server))


class Judgement:
    """What isotrace check says of a recording, and what that cost."""

    def __init__(self, isotrace, path, *options):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (CHECK_MEMORY, CHECK_MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (CHECK_SECONDS, CHECK_SECONDS))

        out = path + ".json"
        with open(out, "w", encoding="utf-8") as json_file:
            process = subprocess.Popen([isotrace, "check", "--format=json", "--all-sessions", *options, path],
                                       stdout=json_file, stderr=subprocess.DEVNULL, preexec_fn=limit)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = self.exit = os.waitstatus_to_exitcode(status)
        self.seconds, self.memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        self.verdict, self.findings, self.coverage, self.statements, self.transactions = "none", [], {}, 0, 0
        if self.exit in (0, 1, 3):
            with open(out, encoding="utf-8") as json_file:
                told = json.load(json_file)
            self.verdict, self.findings, self.coverage = told["verdict"], told["findings"], told["coverage"]
            self.statements, self.transactions = told["input"]["statements"], told["input"]["transactions"]
        os.unlink(out)

    @property
    def undecided(self):
        return self.coverage.get("undecided", 0)

    @property
    def unsupported(self):
        return self.coverage.get("unsupported", 0)

    def reasons(self, most=8):
        """The most frequent first, with an example of each."""
        reasons = sorted(self.coverage.get("reasons", {}).items(), key=lambda r: -r[1])
        examples = self.coverage.get("examples", {})
        for reason, count in reasons[:most]:
            example = examples.get(reason, {})
            cause = example.get("made_unknown_by", {})
            yield "%8d  %s: %s%s" % (count, reason, " ".join((example.get("sql") or "").split())[:300],
                                     " <= " + " ".join((cause.get("sql") or "?").split())[:300] if cause else "")

    def classes(self):
        """Class -> how many findings, by severity."""
        counted = {}
        for finding in self.findings:
            key = finding["class"], finding["severity"]
            counted[key] = counted.get(key, 0) + 1
        return counted


def count_found(judgement, truth):
    """(proven by the rows, of these found by --for=application): pairs of transactions, not more of a kind than there are."""
    patterns = [f for f in judgement.findings if "pattern" in f]
    proven = found = 0
    for anomaly in truth:
        if not anomaly.code:
            continue
        pairs = sum(f["pairs"] + f["pattern"]["possible_pairs"] for f in patterns
                    if (f["class"], f["pattern"]["table"].split(".")[1]) == anomaly.code)
        proven += anomaly.count
        found += min(anomaly.count, pairs)
    return proven, found


def compare_code(judgement, recording, by_versions):
    """Where --for=application and the truth differ.  A pair of transactions may prove more than one lost update, or less: the
    same order of magnitude is asked for, and nothing where the rows are right and the workload does not say that its code is wrong
    all the same (`code_is_right`)."""
    truth, wrong = recording.truth, []
    patterns = [f for f in judgement.findings if "pattern" in f]
    wanted = [a.code for a in truth if a.code and a.count]
    for anomaly in truth:
        found = sum(f["pairs"] + f["pattern"]["possible_pairs"] for f in patterns
                    if (f["class"], f["pattern"]["table"].split(".")[1]) == anomaly.code)
        if anomaly.code and found < anomaly.count * (0.95 if by_versions else 0.5):
            wrong.append("%s: %d pairs of transactions" % (anomaly, found))
    for f in patterns:
        if getattr(recording.workload, "code_is_right", True) and f["severity"] == "application" and (f["class"], f["pattern"]["table"].split(".")[1]) not in wanted:
            wrong.append("%s on %s, and the rows are right" % (f["class"], f["pattern"]["table"]))
    return wrong


def compare(judgement, truth, by_versions):
    """Where findings and truth differ: false ones, and missed ones (of which only versions tell)."""
    wrong = []
    classes = judgement.classes()
    for (name, severity), count in sorted(classes.items()):
        if severity == "violation":
            wrong.append("%d violations %s" % (count, name))
    for anomaly in truth:
        found = sum(count for (name, _), count in classes.items() if name in anomaly.classes)
        if by_versions and anomaly.count and not found:
            wrong.append("missed: %s" % anomaly)
        if by_versions and not anomaly.count and anomaly.at_most == 0 and found:
            wrong.append("%d findings %s, and the rows are right" % (found, "/".join(anomaly.classes)))
    return wrong
