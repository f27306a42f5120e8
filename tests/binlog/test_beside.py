# SPDX-License-Identifier: GPL-2.0-or-later
"""The binary log read beside recorded sessions (--instrument=binlog): the same writes and commit order as triggers
tell, anomalies found, and nothing concluded where something is missing.

Arguments: ISOREC ISOTRACE ISOREC-SERVERS CORPUS RELEASE CASES
"""
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
import pymysql  # noqa: E402

ISOREC, ISOTRACE, SERVERS, CORPUS, RELEASE, CASES = sys.argv[1:7]
CASES = int(CASES)
MARIADB = RELEASE.startswith("mariadb")
INSTANCE = "binlog-beside-%d" % os.getpid()
PORT = 0


def servers(*args):
    done = subprocess.run([SERVERS, *args], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip())
        sys.exit(0)
    assert done.returncode == 0, done.stderr
    return done.stdout


def execute(mode, level, scenario, trace):
    done = subprocess.run([ISOREC, "run", "-P", str(PORT), "--instrument=" + mode, "--isolation=" + level, "-q",
                           "--overwrite", "--drop-database", "-o", trace, scenario],
                          capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 3), (scenario, mode, level, done.returncode, done.stderr)


def verdict(trace, *options):
    done = subprocess.run([ISOTRACE, "check", "--format=json", *options, trace], capture_output=True, text=True,
                          check=False)
    assert done.stdout.startswith("{"), done.stderr
    return dict(json.loads(done.stdout), exit_status=done.returncode)


def table(trace, name):
    done = subprocess.run([ISOTRACE, "export", "--to=ndjson", "--table=" + name, trace], capture_output=True,
                          text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()]


def keyless(trace):
    """Tables whose rows have no name in a binary log: their key is the recorder's own, where triggers are."""
    shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", trace], capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in shown.stdout.splitlines() if '"kind":"schema"' in line]
    return {r["database"] + "." + r["name"] for r in rows
            if not r["primary_key"] or r["columns"][r["primary_key"][0]][0] == "isorec_key"}


def writes(trace, without):
    return {(e["from"], e["to"], e["table"], e["key"]) for e in table(trace, "edges")
            if e["kind"] == "ww" and e["table"] not in without}


def order(trace, without):
    """Who wrote each row, in the order of its versions."""
    rows = {}
    for v in table(trace, "versions"):
        if v["position"] is not None and v["transaction"] is not None and v["table"] not in without:
            rows.setdefault((v["table"], v["key"]), []).append((v["position"], v["transaction"]))
    return {key: [txn for _, txn in sorted(chain)] for key, chain in rows.items()}


def violations(trace):
    return sorted(f["class"] for f in verdict(trace, "--oracle=adya")["findings"] if f["severity"] == "violation")


def compare(scenario, level, folder):
    traces = {mode: os.path.join(folder, mode + ".itr") for mode in ("trigger", "binlog")}
    for mode, trace in traces.items():
        execute(mode, level, scenario, trace)
    # An XA transaction is in the log when it is prepared, under a name that no COMMIT has.
    xa = "xa " in open(scenario, encoding="utf-8").read().lower()
    without = keyless(traces["trigger"])
    if not xa:
        for what in (writes, order):
            told = [what(traces[mode], without) for mode in ("trigger", "binlog")]
            assert told[0] == told[1], (scenario, level, what.__name__, told)
    more = set(violations(traces["binlog"])) - set(violations(traces["trigger"]))
    assert not more, (scenario, level, more)


def test_the_corpus_is_told_as_by_triggers():
    with tempfile.TemporaryDirectory() as folder:
        for scenario in sorted(glob.glob(os.path.join(CORPUS, "anomalies", "*.scn"))):
            for level in ("RU", "RC", "RR", "SER"):
                compare(scenario, level, folder)


def test_generated_cases_are_told_as_by_triggers():
    with tempfile.TemporaryDirectory() as folder:
        cases = os.path.join(folder, "cases")
        subprocess.run([ISOREC, "generate", "-m", "tiny", "--seed", "11", "-n", str(CASES), "-q", "-o", cases],
                       check=True)
        made = sorted(glob.glob(os.path.join(cases, "*.scn")))
        assert len(made) == CASES
        for number, scenario in enumerate(made):
            compare(scenario, "RC" if number % 2 else "RR", folder)


def test_anomalies_are_found():
    found = {("lost-update", "RR"): "G-single", ("read-skew", "RC"): "G-single", ("g2-item", "RR"): "G2-item",
             ("phantom", "RC"): "G-single", ("pmp-write", "RC"): "G-single"}
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "a.itr")
        for (name, level), kind in found.items():
            execute("binlog", level, os.path.join(CORPUS, "anomalies", name + ".scn"), trace)
            said = verdict(trace, "--oracle=adya", "--contract=adya")
            # Where a release refuses the second update, nothing is lost.
            prevented = any(f for f in table(trace, "statements") if f["error"])
            classes = {f["class"] for f in said["findings"]}
            assert prevented or kind in classes, (name, level, classes)


# ---- through the proxy ----

class Proxy:
    def __init__(self, trace, *options):
        self.log = tempfile.NamedTemporaryFile("w+", delete=False)
        self.process = subprocess.Popen(
            [ISOREC, "proxy", "--node=127.0.0.1:%d" % PORT, "--listen=127.0.0.1:0", "--user=root", "--database=h",
             "--instrument=binlog", "-o", trace, *options], stderr=self.log)
        self.port = 0
        while not self.port:
            assert self.process.poll() is None, open(self.log.name, encoding="utf-8").read()
            for line in open(self.log.name, encoding="utf-8"):
                if "clients connect to" in line:
                    self.port = int(line.split("clients connect to 127.0.0.1:")[1].split(",")[0])
            time.sleep(0.01)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        said = open(self.log.name, encoding="utf-8").read()
        os.unlink(self.log.name)
        return status, said


def run(sql, port=None):
    db = pymysql.connect(host="127.0.0.1", port=port or PORT, user="root", autocommit=True)
    with db.cursor() as cursor:
        for one in sql:
            cursor.execute(one)
    db.close()


def client(port, text):
    """The command-line client, which asks to be told of its session."""
    return subprocess.run(["mariadb", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", "h"], input=text,
                          capture_output=True, text=True, check=False)


def fresh():
    run(["drop database if exists h", "create database h", "create table h.t (id int primary key, v int)",
         "insert into h.t values " + ", ".join("(%d, 0)" % i for i in range(10))])


def load(seed):
    rng = random.Random(seed)
    lines = []
    for n in range(60):
        one, other = rng.sample(range(10), 2)
        lines += ["begin;", "select * from t where id = %d;" % one, "update t set v = %d where id = %d;" % (n, other),
                  "select v, id from t where id between %d and %d;" % (one, one + 2),
                  rng.choice(["commit;", "commit;", "rollback;"])]
    return "\n".join(lines)


def load_at_once(port):
    clients = [subprocess.Popen(["mariadb", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", "--force", "h"],
                                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
               for _ in range(3)]
    for seed, process in enumerate(clients):
        process.stdin.write(load(seed))
        process.stdin.close()
    return clients


def test_a_load_is_decided():
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace, "--all-writers")
        for process in load_at_once(proxy.port):
            process.wait(60)
        status, said = proxy.end()
        assert status == 0 and "0 gaps" in said, said
        told = verdict(trace)
        assert told["exit_status"] in (0, 3), told
        assert not [f for f in told["findings"] if f["severity"] != "documented"], told["findings"]
        committed = [t for t in table(trace, "transactions") if t["outcome"] == "committed"]
        assert len(committed) > 60


def test_writers_past_the_proxy_are_told():
    """They are in the log: what they wrote is read, and is no lost version."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace)
        client(proxy.port, "update t set v = 5 where id = 1;")
        run(["update h.t set v = v + 1 where id = 1"])
        client(proxy.port, "begin; select * from t where id = 1; update t set v = v + 1 where id = 1; commit;")
        assert proxy.end()[0] == 0
        told = verdict(trace, "--oracle=adya")
        assert told["exit_status"] == 0 and not told["findings"], told
        assert len(order(trace, ())[("h.t", "1")]) == 3


def test_clients_that_are_not_told_their_commits():
    """pymysql does not ask for it: its transactions have no names, and nothing is concluded from what they did."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace)
        run(["update h.t set v = 1 where id = 1", "select * from h.t"], proxy.port)
        assert proxy.end()[0] == 0
        told = verdict(trace, "--oracle=adya")
        assert told["exit_status"] == 3 and not told["findings"], told


# Each is right; and by the log alone it is not known what all of these read.  MariaDB's own ones come last.
TRAPS = {
    "xa": "xa start 'a'; select v from t where id = 1; update t set v = 11 where id = 1; select v from t where id = 1; "
          "xa end 'a'; xa prepare 'a'; xa commit 'a'; select * from t;",
    "another database": "create database if not exists archive; create table archive.only (id int primary key, v int); "
                        "create table t2 (id int primary key, v int); insert into t2 values (1, 5); use archive; "
                        "create table t2 (id int primary key, v int); delete from t2 where v = 5; select * from t2 where v = 5; "
                        "use h; update t2 set v = 6 where v = 5; select * from t2;",
    "temporary": "create table t2 (id int primary key, v int); insert into t2 values (1, 5); "
                 "create temporary table t2 (id int primary key, v int); insert into t2 values (1, 7), (2, 8); select * from t2; "
                 "select * from t2 where v = 5; delete from t2 where v = 5; drop temporary table t2; select * from t2;",
    "a limit of its own": "set sql_select_limit = 1; select * from t where v = 0; set sql_select_limit = default; "
                          "update t set v = 3 where v = 0; select * from t where v = 0;",
    "keys that are texts": "create table c (code varchar(10) primary key, v int); insert into c values ('1', 5); "
                           "select v from c where code = 1; update c set v = 6 where code = '1'; select v from c where code = 1;",
    "a column twice": "insert into t values (50, 7); select id, t.* from t where id = 50; update t set v = 8 where id = 50; "
                      "select v, t.* from t where id = 50;",
    "moments": "create table m (id int primary key, at timestamp null, d datetime); set time_zone = '+05:00'; "
               "insert into m values (1, '2026-01-01 10:00:00', '2026-01-01 10:00:00'); "
               "select * from m where at < '2026-01-01 09:00:00'; select * from m where at = '2026-01-01 10:00:00'; "
               "update m set d = '2026-01-02 10:00:00' where at > '2026-01-01 09:00:00'; select * from m where id = 1;",
    "returning": "create table r (id int primary key, v int); begin; insert into r values (1, 0) returning id; "
                 "select * from r where id = 1; update r set v = 1 where id = 1; select * from r where id = 1; "
                 "delete from r where id = 1 returning v; select * from r; commit; insert into r values (1, 0); select * from r;",
}


def test_nothing_is_guessed():
    for name, text in TRAPS.items():
        if name == "returning" and not MARIADB:
            continue
        fresh()
        run(["drop database if exists archive"])
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "p.itr")
            proxy = Proxy(trace, "--all-writers")
            done = client(proxy.port, text)
            assert done.returncode == 0, (name, done.stderr)
            assert proxy.end()[0] == 0, name
            told = verdict(trace, "--oracle=adya")
            assert not [f for f in told["findings"] if f["severity"] != "documented"], (name, told["findings"])


def test_reads_of_a_writer_are_not_forgotten():
    """INSERT reads by its subquery: that it did is known, and what it read is not."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace, "--all-writers")
        client(proxy.port, "create table log (id int primary key, v int); "
                           "insert into log values (1, (select sum(v) from t)); update t set v = 2 where id = 1;")
        assert proxy.end()[0] == 0
        told = verdict(trace, "--oracle=adya")
        assert told["exit_status"] == 3 and not told["findings"] and told["coverage"]["undecided"], told


def test_a_session_that_is_reset_is_told_again():
    session_track, reset_connection = 1 << 23, 0x1f
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace)
        db = pymysql.connect(host="127.0.0.1", port=proxy.port, user="root", database="h", autocommit=True,
                             client_flag=session_track)
        with db.cursor() as cursor:
            for value in range(1, 5):
                cursor.execute("update t set v = %d where id = 1" % value)
                db._execute_command(reset_connection, b"")
                db._read_ok_packet()
                cursor.execute("set autocommit = 1")
            cursor.execute("select * from t where id = 1")
            assert cursor.fetchall() == ((1, 4),)
        db.close()
        assert proxy.end()[0] == 0
        told = verdict(trace, "--oracle=adya")
        assert told["exit_status"] == 0, told
        assert len(order(trace, ())[("h.t", "1")]) == 4


def test_a_killed_server():
    """The log is read on when it is back; what is not known is undecided, and nothing is violated."""
    fresh()
    rng = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(3):
            trace = os.path.join(folder, "p%d.itr" % number)
            proxy = Proxy(trace)
            clients = load_at_once(proxy.port)
            time.sleep(rng.random() * 0.1)  # any moment will do
            servers("kill", INSTANCE)
            for process in clients:
                process.wait(60)
            servers("restart", INSTANCE)
            client(PORT, "update t set v = 77 where id = 1;")
            proxy.end()
            told = verdict(trace, "--oracle=adya")
            assert not [f for f in told["findings"] if f["severity"] == "violation"], told["findings"]


def test_a_killed_reader():
    """Its connection is broken while the load runs: it comes again, and nothing is missing."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace)
        db = pymysql.connect(host="127.0.0.1", port=PORT, user="root", autocommit=True)
        clients = load_at_once(proxy.port)
        with db.cursor() as cursor:
            cursor.execute("select id from information_schema.processlist where command like 'Binlog Dump%'")
            for row in cursor.fetchall():
                cursor.execute("kill %d" % row[0])
        db.close()
        for process in clients:
            process.wait(60)
        status, said = proxy.end()
        assert status == 0 and "0 gaps" in said, said
        told = verdict(trace, "--oracle=adya")
        assert not [f for f in told["findings"] if f["severity"] != "documented"], told["findings"]
        assert not [r for r in told.get("coverage", {}).get("examples", []) if "lost" in str(r)], told


def test_a_killed_recorder_and_damage():
    """Of a trace that was cut off, or is read past damage, nothing is found that is not in the whole."""
    fresh()
    rng = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        trace, part = os.path.join(folder, "p.itr"), os.path.join(folder, "part.itr")
        proxy = Proxy(trace, "--all-writers", "--compression=off")
        for process in load_at_once(proxy.port):
            process.wait(60)
        assert proxy.end()[0] == 0
        with open(trace, "rb") as file:
            data = file.read()
        for number in range(40):
            altered = bytearray(data)
            if number % 2:
                altered = altered[:rng.randrange(1000, len(data))]
            else:
                for _ in range(rng.randint(1, 3)):
                    altered[rng.randrange(1000, len(data))] ^= 1 << rng.randrange(8)
            with open(part, "wb") as file:
                file.write(altered)
            told = verdict(part, "--oracle=adya", "--salvage")
            assert not [f for f in told["findings"] if f["severity"] == "violation"], (number, told["findings"])
        proxy = Proxy(os.path.join(folder, "k.itr"), "--all-writers")
        clients = load_at_once(proxy.port)
        time.sleep(0.05)  # any moment will do
        proxy.process.kill()
        proxy.process.wait(10)
        os.unlink(proxy.log.name)
        for process in clients:
            process.wait(60)
        told = verdict(os.path.join(folder, "k.itr"), "--oracle=adya")
        assert told["exit_status"] == 3 and not [f for f in told["findings"] if f["severity"] != "documented"], told


def test_a_log_that_was_purged_is_a_gap():
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "p.itr")
        proxy = Proxy(trace)
        client(proxy.port, "update t set v = 1 where id = 1;")
        os.kill(proxy.process.pid, signal.SIGSTOP)
        db = pymysql.connect(host="127.0.0.1", port=PORT, user="root", autocommit=True)
        with db.cursor() as cursor:
            cursor.execute("select id from information_schema.processlist where command like 'Binlog Dump%'")
            for row in cursor.fetchall():
                cursor.execute("kill %d" % row[0])
            cursor.execute("update h.t set v = 9 where id = 1")
            cursor.execute("flush logs")
            cursor.execute("flush logs")
            cursor.execute("show binary logs")
            last = cursor.fetchall()[-1][0]
            for _ in range(200):  # the dump's thread may still hold a file
                cursor.execute("purge binary logs to '%s'" % last)
                cursor.execute("show binary logs")
                if len(cursor.fetchall()) == 1:
                    break
                time.sleep(0.05)
        db.close()
        os.kill(proxy.process.pid, signal.SIGCONT)
        client(proxy.port, "update t set v = 2 where id = 1; select * from t;")
        status, said = proxy.end()
        assert "0 gaps" not in said, said
        told = verdict(trace, "--oracle=adya")
        assert told["exit_status"] == 3 and not told["findings"], told


def main():
    global PORT
    options = ["--binlog-format=ROW"] if MARIADB else ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
    instance = json.loads(servers("start", RELEASE, "--name=" + INSTANCE, "--json", "--binlog=on",
                                  "--with-parent=%d" % os.getpid(), "--", *options))
    PORT = instance["port"]
    try:
        tap.main(globals())
    finally:
        subprocess.run([SERVERS, "stop", INSTANCE], capture_output=True, check=False)


if __name__ == "__main__":
    main()
