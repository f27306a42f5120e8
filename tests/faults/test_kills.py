#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 of isorec proxy under load, on disks of several kinds: TAP.

    test_kills.py ISOREC ISOTRACE ISOREC-SERVERS [KILLS [SEED]]

Clients note when they heard of each commit.  What docs/internals/security.md promises is then looked
for in the trace: a record waits for --flush-interval and, where the machine is busy, a little more;
with --durable nothing that a client has heard of is missing.  Where less holds, the proxy said so
before it was killed, or had no time to say it.
"""
import collections
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "recorder", "servers"))
from proxy_harness import (  # noqa: E402
    Proxy, preloaded, records, run_servers, run_tests, test, wait_for)
from isorec_servers.wire import Connection, WireError  # noqa: E402

ISOREC, ISOTRACE, SERVERS = (os.path.abspath(p) for p in sys.argv[1:4])
KILLS = int(sys.argv[4]) if len(sys.argv) > 4 else 24
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1
CLIENTS = 6
# --flush-interval, the 200 ms of which the proxy says nothing, and how often it looks.
BOUND_MS = 100 + 200
SAYS_MS = 250
# A machine whose threads all want to run at once.
BUSY_MS = 300
# What the proxy says when it keeps less than it promised.
SAID = re.compile(r"the disk (?:is|was) slow: records|nothing is recorded|clients are served on")

# Nothing, or after so many seconds: a sync takes 1.5 s; a sync fails; a write finds no room.
DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int disk_is(const char *kind)
{
	static long begin;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!begin)
		begin = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	return strcmp(getenv("DISK"), kind) == 0 &&
	       now.tv_sec * 1000 + now.tv_nsec / 1000000 - begin > atol(getenv("DISK_AFTER_MS"));
}
int fdatasync(int fd)
{
	if (disk_is("slow"))
		usleep(1500 * 1000);
	if (disk_is("failing"))
		return errno = EIO, -1;
	return (int)syscall(SYS_fdatasync, fd);
}
static int is_full(int fd)
{
	char name[64] = "", link[32] = "/proc/self/fd/";
	int digits = 1;

	if (!disk_is("full"))
		return 0;
	for (int n = fd; n >= 10; n /= 10)
		digits++;
	for (int n = fd, i = digits; i-- > 0; n /= 10)
		link[14 + i] = (char)('0' + n % 10);
	(void)!readlink(link, name, sizeof(name) - 1);
	return name[0] == '/' && strstr(name, "isorec-proxy-") != NULL && !strstr(name, "/log");
}
ssize_t write(int fd, const void *data, size_t size)
{
	return is_full(fd) ? (errno = ENOSPC, -1) : syscall(SYS_write, fd, data, size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
	return is_full(fd) ? (errno = ENOSPC, -1) : syscall(SYS_pwrite64, fd, data, size, at);
}
"""
DISKS = ("normal", "slow", "failing", "full")
FOLDER = tempfile.TemporaryDirectory(prefix="isorec-kills-")
STATE = {}
Case = collections.namedtuple("Case", "disk durable after_ms")


def server():
    if not STATE:
        STATE.update(json.loads(run_servers(
            SERVERS, "start", "mariadb-local", "--name=kills-%d" % os.getpid(), "--json",
            "--with-parent=%d" % os.getpid())))
        run_servers(SERVERS, "sql", STATE["name"], "create database test")
        run_servers(SERVERS, "sql", STATE["name"],
                    "create table test.t (client int, n int, primary key (client, n))")
    return STATE["port"]


class Clients:
    """Threads that insert (client, 0), (client, 1) ... and note when each answer came."""
    number = 0

    def __init__(self, port):
        self.heard, self.threads = {}, []
        for _ in range(CLIENTS):
            Clients.number += 1
            self.heard[Clients.number] = []
            self.threads.append(threading.Thread(target=self.work, args=(port, Clients.number)))
        for thread in self.threads:
            thread.start()

    def work(self, port, client):
        heard = self.heard[client]
        try:
            with Connection(port=port, timeout=60) as db:
                while True:
                    db.query("insert into test.t values (%d, %d)" % (client, len(heard)))
                    heard.append(time.monotonic())
        except (WireError, OSError):
            pass

    def join(self):
        for thread in self.threads:
            thread.join()


INSERT = re.compile(r"insert into test.t values \((\d+), (\d+)\)$")


def recorded(trace):
    found = collections.Counter()
    for record in records(ISOTRACE, trace, ["stmt"]):
        match = INSERT.match(record.get("text") or "")
        if match and not record["flags"] & 1:
            assert int(match.group(2)) == found[int(match.group(1))], record
            found[int(match.group(1))] += 1
    return found


def kill_once(case, folder, wait_s):
    """Milliseconds before the kill since which commits that clients had heard of are missing, how many
    these are, and what the proxy said."""
    env = preloaded(folder, DISK, DISK=case.disk, DISK_AFTER_MS=str(case.after_ms))
    options = ["--durable"] if case.durable else []
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % server()], *options, env=env) as proxy:
        clients = Clients(proxy.port)
        wait_for("commits", lambda: all(clients.heard.values()) or proxy.process.poll() is not None)
        threading.Event().wait(wait_s)
        ended = proxy.process.poll() is not None
        killed = time.monotonic()
        if not ended:
            proxy.stop(signal.SIGKILL, -signal.SIGKILL)
        clients.join()
        found = recorded(proxy.trace)
        missing = [when for client, heard in clients.heard.items() for when in heard[found[client]:]
                   if when < killed]
        for client, heard in clients.heard.items():
            assert found[client] <= len(heard) + 1, (client, found[client], len(heard))
        return (killed - min(missing)) * 1000 if missing else 0, len(missing), proxy.text()


def complaint(case, ms, missing, said):
    """What is not as promised, or None."""
    if not missing or SAID.search(said):
        return None
    # A disk that refuses answers nothing back: commits are answered, and the proxy says so a moment later.
    refuses = case.disk in ("failing", "full")
    allowed = SAYS_MS + BUSY_MS if refuses else 0
    if not case.durable:
        allowed = max(allowed, BOUND_MS + BUSY_MS)
    if ms > allowed:
        return "%d commits of up to %.0f ms are missing, and nothing was said" % (missing, ms)
    return None


@test
def kills():
    """after a kill what is missing is no older than promised, or was said to be at risk"""
    rng = random.Random(SEED)
    worst, silent_worst, lost = collections.Counter(), collections.Counter(), collections.Counter()
    said_count, wrong = collections.Counter(), []
    for number in range(KILLS):
        case = Case(DISKS[number % len(DISKS)], number // len(DISKS) % 2 == 1, rng.randrange(100, 600))
        ms, missing, said = kill_once(case, FOLDER.name, rng.uniform(0.1, 1.5))
        key = case.disk + (", durable" if case.durable else "")
        spoke = bool(SAID.search(said))
        worst[key] = max(worst[key], ms)
        lost[key] += missing
        said_count[key] += spoke
        if not spoke:
            silent_worst[key] = max(silent_worst[key], ms)
        what = complaint(case, ms, missing, said)
        if what:
            wrong.append((case, what, said[-600:]))
    for key in sorted(worst):
        print("# %-18s oldest missing %6.0f ms, where nothing was said %6.0f ms; %d commits missing in all; "
              "the proxy spoke %d times" % (key, worst[key], silent_worst[key], lost[key], said_count[key]))
    assert not wrong, wrong[:5]


def main():
    try:
        return run_tests()
    finally:
        if STATE:
            run_servers(SERVERS, "stop", STATE["name"], check=False)


sys.exit(main())
