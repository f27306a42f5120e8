#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A free-running trace: several clients at once through `isorec proxy`, with the tables' rows.

    freerun.py --release mariadb-10.11 --seed 1 --clients 4 --transactions 50 -o out.itr

Each client is the server's own command-line program and sends transactions of schedules.py as fast as
it is answered, so statements overlap.  Prints what `mvcc_tool solve` says of it.  With --count, one
trace after the other on the same server; those that raise anything are kept in the folder --keep.
"""
import argparse
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import campaign  # noqa: E402
import programs  # noqa: E402
import schedules  # noqa: E402
import wide  # noqa: E402


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def client(port, database=None):
    return ["mariadb", "--no-defaults", "-h", "127.0.0.1", "-P", str(port), "-u", "root",
            "--force", "--silent", "--unbuffered", "--disable-ssl"] + ([database] if database else [])


def sql(port, text, database=None):
    subprocess.run(client(port, database), input=text, text=True, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(port):
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.02)
    sys.exit("no server listens on port %d" % port)


def texts(rng, statements, several):
    """As the client is to send them; with `several` some together as one text."""
    if not several:
        return [s + ";" for s in statements]
    out = ["delimiter //"]
    rows = ("select", "insert", "update", "delete", "replace")
    for s in statements:
        if out[-1].startswith(rows) and s.startswith(rows) and rng.random() < 0.4:
            out[-1] = out[-1][:-2] + "; " + s + "//"
        else:
            out.append(s + "//")
    return out + ["delimiter ;"]


def definition(rng, gen):
    """A change of a definition, mostly with what takes it back a little later, so that the tables stay in use."""
    t = rng.choice(gen.tables)
    kind, number = rng.randrange(13), rng.randrange(1, 4)
    column = rng.choice(("a", "b")) if not isinstance(gen, wide.Generator) else (t.rest or t.key)[0].name
    some = lambda: [gen.statement() for _ in range(rng.randrange(3))]
    if kind == 0:
        return ["truncate %s" % t.name]
    if kind == 1:
        return ["alter table %s add column z%d int default 3" % (t.name, number)] + some() + [
            "alter table %s drop column z%d" % (t.name, number)]
    if kind == 2:
        return ["create %sindex i%d on %s(%s)" % (rng.choice(("", "", "unique ")), number, t.name, column)] + some()
    if kind == 3:
        return ["drop index i%d on %s" % (number, t.name)]
    if kind == 4:
        return ["alter table %s alter %s set default %d" % (t.name, column, number)] + some()
    if kind == 5:
        return [rng.choice(("alter table %s modify b bigint", "alter table %s modify b int",
                            "alter table %s convert to charset utf8mb4", "alter table %s force",
                            "alter table %s engine=innodb")) % t.name]
    if kind == 6:
        return ["rename table %s to %sr" % (t.name, t.name)] + some() + ["rename table %sr to %s" % (t.name, t.name)]
    if kind == 7 and not isinstance(gen, wide.Generator):
        return ["drop table %s" % t.name, "create table if not exists %s(%s)" % (
            t.name, ", ".join(t.defs + (t.refers if rng.random() < 0.5 else [])))]
    if kind == 8:
        return ["create table l%d like %s" % (number, t.name), "insert into l%d select * from %s" % (number, t.name),
                "select * from l%d" % number] + some() + ["drop table if exists l%d" % number]
    if kind == 9:
        return ["lock tables %s write" % t.name, "update %s set %s = %s" % (t.name, column, column),
                "select * from %s" % t.name, "unlock tables"]
    if kind == 10:
        return [rng.choice(("analyze table %s", "optimize table %s", "check table %s", "flush tables",
                            "flush tables %s", "lock tables %s read")).replace("%s", t.name)] + ["unlock tables"]
    if kind == 11 and rng.random() < 0.3:
        return [gen.change_definition()]
    return ["alter table %s add %s x%d(%s), add column y%d int" % (
        t.name, rng.choice(("key", "unique key")), number, column, number)] + some() + [
            "alter table %s drop column y%d, drop key x%d" % (t.name, number, number)]


def transactions(args, rng, gen):
    out = []
    for _ in range(args.transactions):
        statements = gen.transaction()
        if rng.random() < args.definitions:
            at = rng.randrange(len(statements) + 1)
            statements[at:at] = definition(rng, gen)
        out += texts(rng, statements, args.several)
    return out


def record(args, port, output):
    gen = wide.Generator(args.seed, args.release.startswith("mysql")) if args.wide else \
        programs.Generator(args.seed) if args.programs else schedules.Generator(args.seed)
    # What makes tables unknown for good leaves too little to judge in a long trace.
    gen.xa = gen.ddl = gen.timeouts = False
    rng = random.Random(args.seed)
    database = "mvcc_free_%d" % os.getpid()
    levels = ("read uncommitted", "read committed", "repeatable read", "serializable")
    sql(port, "create database %s;\n" % database)
    sql(port, "\n".join(gen.setup()), database)
    listen = free_port()
    proxy = subprocess.Popen([args.isorec, "proxy", "--node", "127.0.0.1:%s" % port, "--listen",
                              "127.0.0.1:%d" % listen, "-u", "root", "-D", database,
                              "--poll-interval", "0", "-o", output],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(listen)
        jobs = []
        for i in range(args.clients):
            text = ["set session transaction isolation level %s;" % (
                levels[args.level] if args.level is not None else rng.choice(levels))]
            if args.definitions:  # deadlocks of metadata locks and row locks end by time alone
                text += ["set innodb_lock_wait_timeout=1;", "set lock_wait_timeout=2;"]
            text += transactions(args, rng, gen)
            jobs.append(subprocess.Popen(client(listen, database), stdin=subprocess.PIPE, text=True,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            jobs[-1].text = "\n".join(text) + "\n"
        for job in jobs:
            job.stdin.write(job.text)
            job.stdin.close()
        for job in jobs:
            job.wait()
    finally:
        proxy.send_signal(signal.SIGTERM)
        proxy.wait()
        sql(port, "drop database %s;\n" % database)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="mariadb-local")
    parser.add_argument("--port")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--transactions", type=int, default=50)
    parser.add_argument("--level", type=int, choices=range(4), help="0 RU ... 3 SER; else mixed")
    parser.add_argument("--wide", action="store_true", help="the transactions of wide.py")
    parser.add_argument("--programs", action="store_true", help="the transactions of programs.py")
    parser.add_argument("--several", action="store_true", help="some texts have several statements")
    parser.add_argument("--definitions", type=float, nargs="?", const=0.1, default=0.0, metavar="SHARE",
                        help="of the transactions, in the middle of which definitions change (0.1)")
    parser.add_argument("--count", type=int, default=1, help="traces, of seeds that follow each other")
    parser.add_argument("--known", action="append", default=[], metavar="PATTERN",
                        help="violations whose line matches are a bug of the release, and not counted")
    parser.add_argument("--keep", help="folder for the traces that raise anything")
    parser.add_argument("--isorec", default="isorec")
    parser.add_argument("--tool", default="mvcc_tool")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    port = args.port or campaign.start(args.release)
    status = 0
    with tempfile.TemporaryDirectory() as work:
        for args.seed in range(args.seed, args.seed + args.count):
            output = args.output or os.path.join(work, "free%d.itr" % args.seed)
            record(args, port, output)
            done = subprocess.run([args.tool, "solve", output], stdout=subprocess.PIPE, text=True, check=False)
            raised = [line for line in done.stdout.splitlines() if re.search(": (violation|suspicion) ", line) and
                      not any(re.search(pattern, line) for pattern in args.known)]
            print("seed %d\n%s" % (args.seed, done.stdout), end="", flush=True)
            if raised or done.returncode not in (0, 1):
                status = 1
            if args.keep and raised:
                os.makedirs(args.keep, exist_ok=True)
                shutil.copy(output, args.keep)
    return status


if __name__ == "__main__":
    sys.exit(main())
