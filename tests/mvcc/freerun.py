#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A free-running trace: several clients at once through `isorec proxy`, with the tables' rows.

    freerun.py --release mariadb-10.11 --seed 1 --clients 4 --transactions 50 -o out.itr

Each client is the server's own command-line program and sends transactions of schedules.py as fast as
it is answered, so statements overlap.  Prints what `mvcc_tool solve` says of it.
"""
import argparse
import os
import random
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
    sys.exit("nobody listens on port %d" % port)


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
            for _ in range(args.transactions):
                text += texts(rng, gen.transaction(), args.several)
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
    parser.add_argument("--isorec", default="isorec")
    parser.add_argument("--tool", default="mvcc_tool")
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    port = args.port or campaign.start(args.release)
    with tempfile.TemporaryDirectory() as work:
        output = args.output or os.path.join(work, "free.itr")
        record(args, port, output)
        return subprocess.run([args.tool, "solve", output], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
