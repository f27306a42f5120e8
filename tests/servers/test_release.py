#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A release of isorec-servers for real: fetched (once, into the ordinary cache), started, asked.

    test_release.py ISOREC-SERVERS RELEASE VERSION-PREFIX

TAP on standard output; the reason of a skip is the tool's own.  What is expected of a release is
its version and a behaviour that only such a server has, not what the tool says of it.
"""
import json
import os
import subprocess
import sys
import time

TOOL, RELEASE, PREFIX = sys.argv[1:4]
NAME = "test-%d" % os.getpid()
CLUSTER = RELEASE.startswith("galera") or RELEASE.endswith("-group")


def tool(*args):
    done = subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip().splitlines()[-1])
        sys.exit(0)
    assert done.returncode == 0, "%s: exit status %d\n%s" % (args, done.returncode, done.stderr)
    return done.stdout


def sql(name, statement):
    return tool("sql", name, statement).strip()


def single():
    about = json.loads(tool("start", RELEASE, "--name=" + NAME, "--isolation=RC", "--binlog=on",
                            "--with-parent=%d" % os.getpid(), "--json"))
    version = sql(NAME, "select version()")
    assert version.startswith(PREFIX), version
    name = "tx_isolation" if PREFIX.startswith(("5.", "10.")) else "transaction_isolation"
    assert sql(NAME, "select @@%s, @@log_bin, @@port" % name) == \
        "READ-COMMITTED\t1\t%d" % about["port"]
    sql(NAME, "create database x")
    sql(NAME, "create table x.t(a int primary key) engine=innodb")
    sql(NAME, "insert into x.t values (1),(2)")
    assert sql(NAME, "select * from x.t") == "1\n2"
    if "rocksdb" in RELEASE:
        sql(NAME, "create table x.r(a int primary key) engine=rocksdb")
        assert "ROCKSDB" in sql(NAME, "select engine from information_schema.tables "
                                "where table_name='r'")
    second = json.loads(tool("start", RELEASE, "--name=%s-b" % NAME, "--json",
                             "--with-parent=%d" % os.getpid()))
    assert second["port"] != about["port"]
    tool("stop", NAME, NAME + "-b")


def cluster():
    nodes = json.loads(tool("start", RELEASE, "--name=" + NAME, "--nodes=3",
                            "--with-parent=%d" % os.getpid(), "--json"))
    names = [node["name"] for node in nodes]
    assert sql(names[0], "select version()").startswith(PREFIX)
    sql(names[0], "create database x")
    arrives(names[1], "x")
    sql(names[1], "create table x.t(a int primary key) engine=innodb")
    arrives(names[2], "t", "show tables from x")
    sql(names[2], "insert into x.t values (1)")
    arrives(names[0], "1", "select a from x.t")
    # A node that was killed joins again and has what it missed.
    tool("kill", names[1])
    sql(names[0], "insert into x.t values (2)")
    tool("restart", names[1])
    arrives(names[1], "2", "select a from x.t")
    tool("stop", NAME)


def arrives(name, wanted, statement="show databases"):
    deadline = time.monotonic() + 60
    while True:
        try:
            if wanted in sql(name, statement).split("\n"):
                return
        except AssertionError:
            pass  # the table has not arrived, or the node is not yet ready for queries
        assert time.monotonic() < deadline, "%s never arrived at %s" % (wanted, name)
        time.sleep(0.05)


try:
    (cluster if CLUSTER else single)()
    print("1..1\nok 1 - %s" % RELEASE)
except AssertionError as exc:
    print("1..1\nnot ok 1 - %s" % RELEASE)
    print("".join("# %s\n" % line for line in str(exc).splitlines()))
    sys.exit(1)
finally:
    for node in json.loads(tool("status", "--json")):
        if node["name"].startswith(NAME):
            subprocess.run([TOOL, "stop", node["name"]], check=False)
