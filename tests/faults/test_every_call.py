#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace and isorec with their n-th call of a kind failing, for every n: TAP on standard output.

    test_every_call.py ISOREC ISOTRACE ISOREC-SERVERS FAIL_CALLS.so TRACE...

A preloaded library (fail_calls.c) fails the n-th malloc, read, fdatasync, connect and others.  Whatever
fails: no crash, no hang, and

- isotrace says what it says without the fault, or ends with status 4 and a message.
- isorec ends as without the fault, or with a status that is documented and a message.  Its trace has
  nothing that was not sent.  Where it ends with 0 and the trace counts as complete, all is in there that
  clients have heard of; with --durable also where the trace is not complete, unless the recorder counts
  commits that it did not keep.
"""
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pymysql

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "scripts"), os.path.join(HERE, "..", "wire")]
import tap  # noqa: E402
from scripted import Mock, Talk, ok  # noqa: E402

ISOREC, ISOTRACE, SERVERS, LOADED = [os.path.abspath(p) for p in sys.argv[1:5]]
TRACES = [os.path.abspath(p) for p in sys.argv[5:]]
MOST = 40  # of one kind in one run: beyond, every k-th call
MOST_LONG = 8  # ... of a run that takes a second
KINDS = ["malloc", "calloc", "realloc", "read", "pread", "write", "open", "fopen", "rename", "pthread_create",
         "mmap", "close", "fdatasync", "connect", "accept", "socket", "epoll_ctl", "recv", "send", "ftruncate",
         "listen"]
FOLDER = tempfile.mkdtemp(prefix="isotrace-faults-")
HANGS = 60  # seconds


def environment(**env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MYSQL_")}
    # Wide: where a line is cut depends on the character set, whose tables may not be had.
    return dict(clean, LC_ALL="C", COLUMNS="5000", LD_PRELOAD=LOADED, **env)


def every_call(name, run, most=MOST):
    """run(env): NULL or what is wrong, and what was seen.  The first time without a fault."""
    counts_file = os.path.join(FOLDER, "counts")
    wrong, good = run(environment(FAIL_COUNTS=counts_file), None)
    assert not wrong, wrong
    with open(counts_file, encoding="ascii") as file:
        counts = [int(line) for line in file]
    runs, bad = 0, []
    for kind, call in enumerate(KINDS):
        step = max(1, counts[kind] // most)
        for at in range(1, counts[kind] + 1, step):
            wrong, _ = run(environment(FAIL_KIND=str(kind), FAIL_AT=str(at)), good)
            runs += 1
            if wrong:
                bad.append((call, at, wrong))
    print("# %s: %d calls failed one by one, %d faults" % (name, runs, len(bad)))
    assert not bad, bad[:8]


# ---- isotrace ----

def output_of(done, out):
    """What must not change."""
    text = done.stdout
    if os.path.exists(out):
        with open(out, "rb") as file:
            text += file.read()
    # Without the locale's tables, characters beyond ASCII are written as escapes.
    return re.sub(rb"(\\u\{[0-9a-f]+\}|[^\x00-\x7f])+", b"?", b"".join(text.split()))


def analyze(args):
    out = os.path.join(FOLDER, "out")
    args = [out if a == "OUT" else a for a in args]

    def run(env, good):
        if os.path.exists(out):
            os.unlink(out)
        done = subprocess.run([ISOTRACE, *args], capture_output=True, check=False, timeout=HANGS, env=env)
        seen = (done.returncode, output_of(done, out))
        if good is None and done.returncode not in (0, 1, 3):
            return done.stderr, seen
        if good is None or seen == good:
            return None, seen
        if done.returncode == 4 and done.stderr.startswith(b"isotrace: "):
            return None, seen
        return (done.returncode, done.stderr[-200:], "other output" if done.returncode == good[0] else ""), seen
    return run


def add_analyzer(title, args):
    def function():
        every_call(title, analyze(args))
    globals()["test_isotrace_" + re.sub(r"\W+", "_", title)] = function


# ---- isorec ----

STATEMENTS = [b"insert into t values (%d)" % n for n in range(6)]


def exchange(source, target, data):
    source.sendall(data)
    got = b""
    while len(got) < len(data):
        part = target.recv(len(data) - len(got))
        if not part:
            return False
        got += part
    return got == data


def play(mock, port):
    """Two sessions through the proxy, as far as it lets them; the statements whose answers came."""
    heard = []
    for session in range(2):
        mine = STATEMENTS[session::2]
        talk = Talk()
        for text in mine:
            talk.command(b"\3" + text).server(ok())
        try:
            client = socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            continue
        with client:
            # The proxy may have closed it, or not be able to reach the server.
            ready, _, _ = select.select([client, mock.socket], [], [], 5)
            if mock.socket not in ready:
                continue
            server = mock.accept()
            with server:
                client.settimeout(5)
                server.settimeout(5)
                try:
                    for from_server, data in talk.steps:
                        if not exchange(*((server, client) if from_server else (client, server)), data):
                            break
                        if from_server and data[4:] == ok() and data[3] == 1:
                            heard.append(mine[len([h for h in heard if h in mine])])
                except OSError:
                    pass
    return heard


def await_port(process, log):
    for _ in range(HANGS * 100):
        with open(log, encoding="utf-8") as file:
            found = re.search(r"clients connect to \S*:(\d+),", file.read())
        if found:
            return int(found.group(1))
        if process.poll() is not None:
            return None
        time.sleep(0.01)
    return None


def recorded(trace):
    """The statements in the trace, and whether it counts as complete."""
    if not os.path.exists(trace):
        return [], False
    shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", trace], capture_output=True, check=False)
    found = [json.loads(line) for line in shown.stdout.splitlines()]
    return [r["text"].encode() for r in found if r["kind"] == "stmt" and r["text"]], shown.returncode == 0


def judge_recording(status, said, heard, trace, durable):
    texts, complete = recorded(trace)
    # 2: a certificate that cannot be read is an option that cannot be used.
    if status not in (0, 3, 4) and not (status == 2 and "SSL" in said):
        return "status %d" % status
    if status and not re.search(r"^isorec: .*(cannot|memory|stopped|footer|refused|failed|lost|gone)", said,
                                re.M | re.I):
        return "status %d and no reason" % status
    if [t for t in texts if t not in STATEMENTS] or len(texts) != len(set(texts)):
        return "made up: %r" % texts
    missing = [t for t in heard if t not in texts]
    if missing and status == 0 and complete:
        return "silently lost: %r" % missing
    if missing and durable and status == 0 and "; 0 were answered without" in said:
        return "not durable: %r" % missing
    return None


def run_proxy(args, env, drive):
    """The exit status (None: it hangs), what drive(port) returned, and what the proxy said."""
    log = os.path.join(FOLDER, "log")
    with open(log, "w", encoding="utf-8") as messages:
        process = subprocess.Popen(
            [ISOREC, "proxy", "--listen", "127.0.0.1:0", "--workers=1", "--flush-interval=5ms",
             "--connect-timeout=2s", "--drain-timeout=1s", *args],
            stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, env=env)
        try:
            port = await_port(process, log)
            heard = drive(port) if port else []
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=HANGS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None, [], ""
    with open(log, encoding="utf-8") as file:
        return process.returncode, heard, file.read()


def proxy(*options):
    trace = os.path.join(FOLDER, "run.itr")

    def run(env, good):
        if os.path.isdir(trace):
            shutil.rmtree(trace)
        elif os.path.exists(trace):
            os.unlink(trace)
        mock = Mock()
        with mock.socket:
            status, heard, said = run_proxy(["-o", trace, "--node", "127.0.0.1:%d" % mock.port, *options], env,
                                            lambda port: play(mock, port))
        if status is None:
            return "it hangs", None
        if good is None and (status or heard != sorted(STATEMENTS, key=lambda t: STATEMENTS.index(t) % 2)):
            return "the run without a fault: %d %r %s" % (status, heard, said), None
        wrong = judge_recording(status, said, heard, trace, "--durable" in options)
        return (wrong and (wrong, said[-300:])), (status, heard)
    return run


def test_isorec_proxy():
    every_call("proxy", proxy())


def test_isorec_proxy_durable():
    every_call("proxy --durable", proxy("--durable"))


def test_isorec_proxy_always_synced():
    every_call("proxy --sync=always", proxy("--sync=always", "--compression=1"))


def test_isorec_proxy_rotated():
    every_call("proxy --max-size", proxy("--max-size=1K", "--max-total=100K"))


SCENARIO = """[setup]
create table t(a int primary key, b int) engine=innodb;
insert into t values (1,10);
[schedule]
T1> begin;
T2> begin;
T1> update t set b=11 where a=1;
T2> update t set b=12 where a=1;
T1> commit;
T2> commit;
"""


# A row that another transaction moved shows twice at REPEATABLE READ (MDEV-32898): something to reduce.
MOVED_ROW = """# isolation: RR
[setup]
create table t(a int primary key, b int) engine=innodb;
insert into t values (1,1),(2,2);
[schedule]
T1> begin;
T2> begin;
T2> select * from t;
T1> update t set a=3 where b=2;
T1> commit;
T2> update t set b=3;
T2> select * from t;
T2> commit;
"""


def server():
    if not hasattr(server, "address"):
        done = subprocess.run([SERVERS, "start", "mariadb-local", "--json", "--with-parent", str(os.getpid())],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise tap.Skip(done.stderr.strip())
        server.address = json.loads(done.stdout)
    return ["--host=127.0.0.1", "--port=%d" % server.address["port"], "--user=root"]


def command(args):
    """A command of isorec: as without the fault, or an error and a message."""
    out = os.path.join(FOLDER, "made.itr")

    def run(env, good):
        for path in (out, out[:-4]):
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.unlink(path)
        try:
            done = subprocess.run([ISOREC, *args], capture_output=True, check=False, timeout=HANGS, env=env, cwd=FOLDER)
        except subprocess.TimeoutExpired:
            return "it hangs", None
        verdict = None
        if done.returncode == 0 and os.path.exists(out):
            verdict = subprocess.run([ISOTRACE, "check", out], capture_output=True, check=False).returncode
        seen = (done.returncode, verdict)
        if good is None:
            return (None if done.returncode == 0 else done.stderr), seen
        # What a replay could not do is part of its result.
        told = b"isorec: " in done.stderr or (done.returncode == 3 and re.search(
            rb"the server is gone|never came|not sent", done.stdout))
        if seen == good or (done.returncode in (2, 3, 4) and told):
            return None, seen
        return (seen, (done.stderr + done.stdout)[-300:]), seen
    return run


def scenario_file():
    path = os.path.join(FOLDER, "made.scn")
    with open(path, "w", encoding="ascii") as file:
        file.write(SCENARIO)
    return path


def test_isorec_run():
    every_call("run", command(["run", "--drop-database", "-o", "made.itr", *server(), scenario_file()]))


def test_isorec_run_instrumented():
    every_call("run --instrument", command(["run", "--drop-database", "--instrument=trigger", "-o", "made.itr", *server(),
                                            scenario_file()]))


def made_trace():
    path = os.path.join(FOLDER, "source.itr")
    if not os.path.exists(path):
        subprocess.run([ISOREC, "run", "-q", "--drop-database", "-o", path, *server(), scenario_file()], check=True,
                       stdout=subprocess.DEVNULL)
    return path


def test_isorec_replay():
    every_call("replay", command(["replay", "--drop-database", "-o", "made.itr", *server(), made_trace()]))


# ---- isorec with a real server behind the proxy ----

def connect(port, **more):
    return pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, connect_timeout=5,
                           read_timeout=10, write_timeout=10, **more)


def ask(*statements):
    server()
    with connect(server.address["port"]) as db, db.cursor() as cursor:
        for text in statements:
            cursor.execute(text)


def use_tables():
    ask("drop database if exists d", "create database d", "create table d.t(a int primary key)")


def prepare():
    """Tables that were prepared, in part or not at all, take rows, and can be prepared and given back."""
    on = ["prepare", *server(), "d"]
    off = ["unprepare", *server(), "d"]

    def run(env, good):
        use_tables()
        try:
            done = subprocess.run([ISOREC, *on], capture_output=True, check=False, timeout=HANGS, env=env)
            ask("insert into d.t values (1)", "update d.t set a=2", "delete from d.t")
            again = [subprocess.run([ISOREC, *args], capture_output=True, check=False, timeout=HANGS)
                     for args in (on, off)]
            ask("insert into d.t values (1)")
        except subprocess.TimeoutExpired:
            return "it hangs", None
        except pymysql.Error as exc:
            return "the table does not work: %s" % exc, None
        if any(one.returncode for one in again):
            return ("it cannot be done again", [one.stderr[-200:] for one in again]), None
        if done.returncode == 0 or (good is not None and done.returncode in (3, 4) and b"isorec: " in done.stderr):
            return None, done.returncode
        return (done.returncode, done.stderr[-300:]), done.returncode
    return run


def test_isorec_prepare():
    use_tables()
    every_call("prepare", prepare())


def insert_all(port, **how):
    """The statements whose answers came, in two sessions."""
    heard = []
    for session in range(2):
        try:
            with connect(port, database="d", **how) as db, db.cursor() as cursor:
                for text in STATEMENTS[session::2]:
                    cursor.execute(text.decode())
                    heard.append(text)
        except (pymysql.Error, OSError):
            pass
    return heard


def live_proxy(*options, **how):
    """As proxy(), between a real client and a real server."""
    trace = os.path.join(FOLDER, "live.itr")
    node = ["--node", "127.0.0.1:%d" % server.address["port"]]

    def run(env, good):
        ask("delete from d.t")
        if os.path.exists(trace):
            os.unlink(trace)
        status, heard, said = run_proxy(["-o", trace, *node, *options], env, lambda port: insert_all(port, **how))
        if status is None:
            return "it hangs", None
        if good is None and (status or len(heard) != len(STATEMENTS)):
            return "the run without a fault: %d %r %s" % (status, heard, said), None
        wrong = judge_recording(status, said, heard, trace, False)
        return (wrong and (wrong, said[-300:])), (status, heard)
    return run


def certificate():
    key, pem = os.path.join(FOLDER, "key.pem"), os.path.join(FOLDER, "cert.pem")
    if not os.path.exists(pem):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-keyout", key, "-out", pem], check=True, capture_output=True)
    return ["--tls-cert", pem, "--tls-key", key]


def test_isorec_proxy_tls():
    use_tables()
    every_call("proxy --tls=as-client", live_proxy("--tls=as-client", *certificate(), ssl={"ssl": True}), MOST_LONG)


def test_isorec_proxy_reads_tables():
    use_tables()
    every_call("proxy --user", live_proxy("--user=root"), MOST_LONG)


def test_isorec_proxy_instrumented():
    use_tables()
    subprocess.run([ISOREC, "prepare", *server(), "d"], check=True, capture_output=True)
    every_call("proxy --instrument", live_proxy("--user=root", "--instrument=trigger"), MOST_LONG)


def in_folder(args):
    """A command that makes a folder of its own: a documented status, and a message where it is not the usual one."""
    made = os.path.join(FOLDER, "folder")

    def run(env, good):
        shutil.rmtree(made, ignore_errors=True)
        try:
            done = subprocess.run([ISOREC, *args, "-o", made], capture_output=True, check=False, timeout=2 * HANGS,
                                  env=env, cwd=FOLDER)
        except subprocess.TimeoutExpired:
            return "it hangs", None
        if good is None:
            return (None if done.returncode in (0, 1, 3) else done.stderr), done.returncode
        # What a hunt could not execute is part of its log.
        told = b"isorec: " in done.stderr or re.search(rb"runs? failed; the last: |was not run: |the worker ended", done.stdout)
        if done.returncode == good or (done.returncode in (1, 3, 4) and told):
            return None, done.returncode
        return (done.returncode, done.stderr[-300:]), done.returncode
    return run


def test_isorec_hunt():
    every_call("hunt", in_folder(["hunt", "--use-server", *server(), "--drop-database", "--cases=2", "--jobs=1",
                                  "--reduce=none"]), MOST_LONG)


def test_isorec_reduce():
    path = os.path.join(FOLDER, "large.scn")
    with open(path, "w", encoding="ascii") as file:
        file.write(MOVED_ROW)
    every_call("reduce", in_folder(["reduce", *server(), "--drop-database", "--tries=6", path]), MOST_LONG)


if __name__ == "__main__":
    for one in TRACES[:1]:
        add_analyzer("check --format=json", ["check", "--format=json", one])
        add_analyzer("check --oracle=mvcc", ["check", "--oracle=mvcc", one])
        add_analyzer("check --oracle=adya", ["check", "--oracle=adya", one])
        add_analyzer("check --for=application", ["check", "--for=application", one])
        add_analyzer("check --format=junit", ["check", "--format=junit", one])
        add_analyzer("stats --digest", ["stats", "--digest", one])
        add_analyzer("stats --format=json", ["stats", "--format=json", one])
        add_analyzer("show --format=ndjson", ["show", "--format=ndjson", one])
        add_analyzer("export --to=scenario", ["export", "--to=scenario", "--skip", one])
        add_analyzer("export --to=json", ["export", "--to=json", "--skip", "-o", "OUT", one])
        add_analyzer("diff", ["diff", one, one])
        add_analyzer("slice", ["slice", "--session=2", "-o", "/dev/null", one])
    for number, one in enumerate(TRACES, 1):
        for what in ("check", "stats", "show"):
            add_analyzer("%s %d" % (what, number), [what, one])
        add_analyzer("report %d" % number, ["report", "-o", "OUT", one])
    try:
        tap.main(globals())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
