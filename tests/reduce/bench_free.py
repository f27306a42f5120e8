#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of clients that run at once, each with a real anomaly in it, and what isorec reduce leaves of them.

    bench_free.py ISOREC ISOTRACE ISOREC-SERVERS CORPUS [--most=STATEMENTS] [RELEASE...]

While the sessions of a load (isorec generate --run) run through the proxy, other sessions do what a scenario of the corpus says,
a statement every 200 ms.  The recording, of 1,000 to 500,000 statements, goes to isorec reduce as it is.  Prints a line for each:
statements recorded, statements and rows left, executions, and seconds of isotrace check and of isorec reduce.  The exit status is
1 when one was not reproduced, or more than 12 statements are left.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import pad  # noqa: E402

# Release, scenario, level, class, contract, whether versions are recorded, transactions of the load.
CASES = (
    ("mariadb-local", "bugs/mdev-32898", "RR", "deleted-row-stays", None, False, 100),
    ("mysql-8.0", "bugs/mysql-nowait-count", "RR", "wrong-result", None, False, 500),
    ("mysql-9.7", "bugs/mysql-foreign-orphan", "RR", "wrong-error", None, False, 1000),
    ("mariadb-10.5.23", "bugs/mdev-33802-for-update", "RR", "duplicate-row", None, False, 2000),
    ("mariadb-11.8", "bugs/mdev-27992", "RC", "split-statement-gap", None, False, 5000),
    ("mysql-8.0", "bugs/mysql-105670", "RR", "deleted-row-stays", None, False, 10000),
    ("mariadb-local", "anomalies/lost-update", "RR", "G-single", "adya", True, 1000),
    ("mysql-8.0", "anomalies/g2-item", "RR", "G2-item", "adya", True, 5000),
    ("mariadb-local", "bugs/mdev-26643", "RC", "split-statement", None, False, 20000),
    ("mariadb-local", "bugs/mdev-29565", "RR", "current-write", None, False, 100000),
)
LEVELS = {"RU": "read uncommitted", "RC": "read committed", "RR": "repeatable read", "SER": "serializable"}


def run(*args, **more):
    return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **more)


def client(*args, **more):
    return ["mariadb", "--no-defaults", "--user=root", "--force", "--unbuffered", *args]


class Recording:
    def __init__(self, tools, release, work):
        self.isorec, self.isotrace, self.servers = tools
        self.release, self.work, self.name = release, work, f"reduce-free-{os.getpid()}"
        self.socket, self.trace = os.path.join(work, "proxy.sock"), os.path.join(work, "free.itr")

    def begin(self, case, versions):
        started = run(self.servers, "start", self.release, f"--name={self.name}", f"--with-parent={os.getpid()}", "--env",
                      "-o", "innodb_flush_log_at_trx_commit=0")
        if started.returncode:
            return False
        self.port = re.search(r"^export MYSQL_TCP_PORT=(\d+)", started.stdout, re.M)[1]
        direct = ["--host=127.0.0.1", f"--port={self.port}"]
        setup = "create database planted; use planted;\n" + "\n".join(case.setup)
        subprocess.run(client(*direct), input=setup, text=True, check=True)
        self.load("--port=" + self.port, "--keep-database", 1)
        if versions:
            for database in ("planted", "isorec_load"):
                assert run(self.isorec, "prepare", f"--port={self.port}", database).returncode == 0
        return True

    def load(self, where, database, transactions):
        return subprocess.Popen([self.isorec, "generate", "--run", where, database, "--rows=500", "--sessions=4", "--quiet",
                                 f"--transactions={transactions}"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL).wait() if transactions == 1 else subprocess.Popen(
            [self.isorec, "generate", "--run", where, database, "--rows=500", "--sessions=4", "--quiet",
             f"--transactions={transactions}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def plant(self, case, level):
        sessions = {}
        for line in case.schedule:
            name, sql = line.split("> ", 1)
            if name not in sessions:
                sessions[name] = subprocess.Popen(client("--socket=" + self.socket, "planted"), stdin=subprocess.PIPE,
                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
                sessions[name].stdin.write(f"set session transaction isolation level {LEVELS[level]};\n")
                sessions[name].stdin.flush()
                time.sleep(0.3)
            sessions[name].stdin.write(sql.split(" -- =>")[0] + "\n")
            sessions[name].stdin.flush()
            time.sleep(0.2)
        for session in sessions.values():
            session.stdin.close()
            session.wait()

    def record(self, case, level, versions, transactions):
        proxy = subprocess.Popen([self.isorec, "proxy", "--node", f"n1=127.0.0.1:{self.port}", "--listen", "unix:" + self.socket,
                                  "--user=root", "--quiet", "-o", self.trace, *(["--instrument=trigger"] if versions else [])])
        while not os.path.exists(self.socket):
            time.sleep(0.05)
            assert proxy.poll() is None
        load = self.load("--socket=" + self.socket, "--use-database", transactions)
        time.sleep(0.2)
        self.plant(case, level)
        load.wait()
        proxy.terminate()
        proxy.wait()

    def end(self):
        run(self.servers, "stop", self.name)


def statements_of(isotrace, trace):
    found = re.search(r"^Statements: ([\d,]+)", run(isotrace, "stats", trace).stdout, re.M)
    return int(found[1].replace(",", "")) if found else 0


def bench(tools, corpus, spec, work):
    """None: the release cannot be had; else whether it came out small."""
    release, scenario, level, wanted, contract, versions, transactions = spec
    isorec, isotrace, servers = tools
    with open(os.path.join(corpus, scenario + ".scn"), encoding="utf-8") as file:
        case = pad.Case(file.read())
    judged = [f"--contract={contract}"] if contract else []
    for again in range(3):
        recording = Recording(tools, release, os.path.join(work, str(again)))
        os.mkdir(recording.work)
        try:
            if not recording.begin(case, versions):
                print(f"{release}: cannot be had here", flush=True)
                return None
            recording.record(case, level, versions, transactions)
        finally:
            recording.end()
        begin = time.monotonic()
        checked = run(isotrace, "check", "--format=json", "--examples=1", *judged, recording.trace).stdout
        check = time.monotonic() - begin
        # On a busy machine statements that are sent 200 ms apart may not arrive in that order.
        if any(f["class"] == wanted for f in json.loads(checked)["findings"]):
            break
    recorded = statements_of(isotrace, recording.trace)
    begin = time.monotonic()
    done = run(isorec, "reduce", "--server", release, "--finding", wanted, *judged, "-o", os.path.join(work, "out"),
               recording.trace, env=dict(os.environ, ISOREC_SERVERS=servers, ISOTRACE=isotrace))
    took = time.monotonic() - begin
    what = f"{release:16} {os.path.basename(scenario):22} {wanted:18} {'versions' if versions else 'plain':8} {recorded:7} ->"
    if done.returncode not in (0, 3) or not os.path.exists(os.path.join(work, "out", "reduced.scn")):
        print(f"{what} not reduced: {done.stdout.strip().splitlines()[-1:]}", flush=True)
        return False
    with open(os.path.join(work, "out", "reduced.scn"), encoding="utf-8") as file:
        small = pad.Case(file.read())
    executions = re.search(r"are left; (\d+) executions", done.stdout)[1]
    print(f"{what} {small.statements():2} statements, {small.rows()} rows, {executions:>4} executions, check {check:.1f} s, "
          f"reduce {took:.0f} s", flush=True)
    return small.statements() <= 12


def main():
    isorec, isotrace, servers, corpus, *words = sys.argv[1:]
    most = int(next((word[7:] for word in words if word.startswith("--most=")), 10 ** 9))
    releases = [word for word in words if not word.startswith("--")]
    results = []
    for spec in CASES:
        if (releases and spec[0] not in releases) or spec[-1] * 5 > most:
            continue
        with tempfile.TemporaryDirectory(prefix="reduce-free-") as work:
            results.append(bench((isorec, isotrace, servers), corpus, spec, work))
    print(f"{sum(r is True for r in results)} of {sum(r is not None for r in results)}")
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
