#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What other sessions cost one that does its work: slow and hostile clients beside a bystander.

    bystander.py ISOREC ISOREC-SERVERS [--slow=2000] [--hostile=100] [--statements=20000]
                 [--rounds=3] [--option=... of isorec proxy]

The bystander sends point selects, one after the other.  Slow sessions are logged in and send a
statement byte by byte, a byte every few seconds.  Each hostile session sends something costly every
twenty seconds: megabytes of brackets, lists and comments, bytes that are no statement, thousands of
commands ahead of their answers, results of a megabyte that it reads late.  The server has most of
that work; so the same clients are measured through haproxy, which looks at nothing.

Printed: median, p99 and longest time of the bystander's statements through haproxy and through isorec proxy, and the
ratios of the medians of the rounds.  Goal: p99 1.50 or less.
"""
import argparse
import json
import multiprocessing
import os
import random
import resource
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "recorder", "servers"))
from proxy_harness import Proxy  # noqa: E402
from relays import start_haproxy  # noqa: E402
from isorec_servers.wire import COM_QUERY, Connection, WireError  # noqa: E402

COM_PING = 14
MEGABYTE = 1 << 20
SLOW_BYTE_SECONDS = 4
HOSTILE_SECONDS = 20
GOAL = 1.5


def packet(payload):
    return struct.pack("<I", len(payload))[:3] + b"\0" + payload


def query(text):
    return packet(bytes([COM_QUERY]) + text)


HOSTILE = [
    query(b"select " + b"(" * (MEGABYTE // 2) + b"1" + b")" * (MEGABYTE // 2)),
    query(b"select 1 from d.t where id in (" + b",".join(b"%d" % n for n in range(200000)) + b")"),
    query(b"/*" + b"*" * (2 * MEGABYTE) + b"*/ select 1"),
    query(bytes(random.Random(1).randrange(256) for _ in range(300000))),
    query(b"insert into d.t values " + b",".join(b"(%d,'%d')" % (-n, n) for n in range(60000)) +
          b" nonsense"),
    query(b"select " + b"'''\\'" * 100000),
    query(b"select " + b",".join(b"%d" % n for n in range(4000))),
    query(b"select repeat('x', 1000000)"),
    packet(bytes([COM_PING])) * 3000,
]


def slow_sessions(port, count, ready):
    """One process keeps them all: each sends a byte of a statement now and then."""
    text = query(b"select * from d.t where id = 1 and v = 'a value that never ends")
    clients = [Connection(port=port, timeout=60) for _ in range(count)]
    ready.set()
    at = 0
    while True:
        for client in clients:
            client.sock.sendall(text[at:at + 1])
            time.sleep(SLOW_BYTE_SECONDS / count)
        at = (at + 1) % (len(text) - 1)


def hostile_sessions(port, count, ready):
    clients = [Connection(port=port, timeout=60) for _ in range(count)]
    late, number = [], 0
    ready.set()
    while True:
        for place in range(count):
            number += 1
            try:
                clients[place].sock.sendall(HOSTILE[number % len(HOSTILE)])
            except (OSError, WireError):
                clients[place] = Connection(port=port, timeout=60)
            late.append(clients[place].sock)
            # What was asked some moments ago is read now.
            while len(late) > 20:
                drain(late.pop(0))
            time.sleep(HOSTILE_SECONDS / count)


def drain(sock):
    while select.select([sock], [], [], 0)[0]:
        try:
            if not sock.recv(MEGABYTE):
                return
        except OSError:
            return


def bystander(port, statements, times):
    with Connection(port=port, timeout=60) as client:
        for number in range(statements):
            begin = time.monotonic_ns()
            rows = client.query("select v from d.t where id = %d" % (number % 100))
            times.append((time.monotonic_ns() - begin) / 1e6)
            assert len(rows) == 1, rows


def measure(port, options):
    """Milliseconds of each statement of the bystander, with the others at work."""
    others, times = [], []
    for run, count in ((slow_sessions, options.slow), (hostile_sessions, options.hostile)):
        ready = multiprocessing.Event()
        others.append(multiprocessing.Process(target=run, args=(port, count, ready), daemon=True))
        others[-1].start()
        while not ready.wait(1):
            assert others[-1].is_alive(), "%s ended" % run.__name__
    try:
        bystander(port, options.statements, times)
        for other in others:
            assert other.is_alive(), "the other sessions ended before the bystander"
    finally:
        for other in others:
            other.kill()
            other.join()
    return sorted(times)


def figures(times):
    return times[len(times) // 2], times[len(times) * 99 // 100], times[-1]


def compare(ports, options):
    rounds = {name: [] for name in ports}
    for number in range(options.rounds):
        for name in list(ports) if number % 2 == 0 else list(ports)[::-1]:
            rounds[name].append(figures(measure(ports[name], options)))
    for name, all_figures in rounds.items():
        print("  %-8s median %8.2f ms, p99 %8.2f ms, longest %8.2f ms" % (
            name, *(statistics.median(column) for column in zip(*all_figures))))
    for column, word, goal in ((0, "median", None), (1, "p99", GOAL), (2, "longest", None)):
        ratio = statistics.median(own[column] / other[column] for own, other in
                                  zip(rounds["isorec"], rounds["haproxy"]))
        print("  isorec / haproxy: %-8s %5.2f%s" % (
            word, ratio, "" if goal is None else "  goal %.2f  %s" % (
                goal, "met" if ratio <= goal else "MISSED")))
    sys.stdout.flush()


def start_server(options, env):
    done = subprocess.run(
        [options.servers, "start", "mariadb-local", "--name=bench", "--json",
         "--with-parent=%d" % os.getpid(), "--option=max_connections=10000",
         "--option=max_allowed_packet=16M", "--option=thread_stack=256K"],
        env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["port"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isorec")
    parser.add_argument("servers")
    parser.add_argument("--slow", type=int, default=2000)
    parser.add_argument("--hostile", type=int, default=100)
    parser.add_argument("--statements", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--option", action="append", default=[], help="for isorec proxy")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="isorec-bench-") as folder:
        env = dict(os.environ, ISOREC_SERVERS_CACHE=os.path.join(folder, "cache"))
        port, haproxy = start_server(options, env), None
        try:
            with Connection(port=port) as client:
                client.query("create database d")
                client.query("create table d.t (id int primary key, v varchar(20))")
                client.query("insert into d.t values " + ",".join(
                    "(%d,'value')" % n for n in range(100)))
            haproxy, haproxy_port = start_haproxy(folder, port, env)
            with Proxy(os.path.abspath(options.isorec), ["127.0.0.1:%d" % port],
                       *options.option) as proxy:
                print("%d slow and %d hostile sessions beside %d statements, %d rounds" % (
                    options.slow, options.hostile, options.statements, options.rounds))
                compare({"haproxy": haproxy_port, "isorec": proxy.port}, options)
                print(proxy.stop().splitlines()[-1])
        finally:
            if haproxy:
                haproxy.send_signal(signal.SIGTERM)
                haproxy.wait()
            subprocess.run([options.servers, "stop", "bench"], env=env, check=False,
                           stdout=subprocess.DEVNULL)


main()
