#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_capture.py ISOREC ISOTRACE [TEST...]

What is kept: levels of capture, filters, masked passwords, character sets.
"""
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test  # noqa: E402
from scripted import (  # noqa: E402
    AUTO, CAPS, IN, ISOREC, ISOTRACE, Mock, TRACK, Talk, err, greeting, lenenc, login, ok, play,
    txn_shape, whole)


@test
def filters_by_user_and_database():
    """--only-user and the others: a session is recorded whole or not at all"""
    talk = Talk().command(b"\3begin").server(ok(3))
    for options, count in ((["--only-user=^b.b$"], 1), (["--only-user=^x"], 0), (["--skip-user=o"], 0),
                           (["--skip-user=(?i)EVE"], 1), (["--only-database=shop"], 1),
                           (["--skip-database=^shop$"], 0)):
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], *options) as proxy:
            play(mock, proxy, talk.steps, whole)
            proxy.stop()
            got = records(ISOTRACE, proxy.trace, ["session", "stmt", "txn"])
            assert len([r for r in got if r["kind"] == "stmt"]) == count, (options, got)
            assert bool(got) == bool(count), (options, got)
    done = subprocess.run([ISOREC, "proxy", "--node=127.0.0.1:1", "--only-user=(x", "-o", "/dev/null"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "--only-user" in done.stderr, done


@test
def passwords_are_masked():
    """passwords in SQL, in errors about it and in parameters stay out of the trace"""
    talk = Talk()
    for text in (b"create user a identified by 'sesame1'", b"set password for 'a'@'b' = 'sesame2'",
                 b"change master to master_host='h', MASTER_PASSWORD = 'sesame3', master_port=1",
                 b"create server s foreign data wrapper mysql options (user 'u', password 'sesame4')",
                 b"select aes_encrypt('sesame5', 'sesame6')",
                 b"prepare p from 'set password = \\'sesame7\\''"):
        talk.command(b"\3" + text).server(err(1064, b"near '" + text + b"'"))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0") as proxy:
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            assert b"sesame" not in trace.read()
        got = records(ISOTRACE, proxy.trace, ["stmt"])
        texts = [r["text"] for r in got]
        # They are not what was executed: they must not be evaluated or replayed.
        assert all(r["flags"] & 4 for r in got), got
        # ... but for the passwords they are whole.
        assert all(r["flags"] & 512 for r in got), got
        assert texts[0] == "create user a identified by '***'", texts
        assert texts[2] == ("change master to master_host='h', MASTER_PASSWORD = '***', "
                            "master_port=1"), texts


def logged_in(charset, caps=CAPS):
    """A client whose login names this collation."""
    talk = Talk(caps, connect=False).server(greeting(caps))
    return talk.client(login(caps)[:8] + bytes([charset]) + login(caps)[9:]).server(ok())


def tracked(name, value):
    """Session state of an OK: a variable."""
    return lenenc(b"\0" + lenenc(lenenc(name) + lenenc(value)))


@test
def character_sets_with_backslashes():
    """texts in sjis, gbk and their like are taken apart as the server does, and not parsed"""
    tricky = b"select '\x95\\'; commit"
    talks = [
        # By the login: two statements.
        logged_in(13).command(b"\3begin").server(ok(AUTO | IN)).command(b"\3" + tricky)
        .rows((1, "x"), status=AUTO | IN | 8).server(ok(AUTO))
        .command(b"\3create user '\x95\\' identified by 'sesame'").server(ok(AUTO))
        .command(b"\3select 'a' from t").rows((1, "x"), status=AUTO),
        # By SET NAMES, and back; in utf8mb4 the same bytes are one statement that fails.
        logged_in(45).command(b"\3set names gbk").server(ok(AUTO))
        .command(b"\3select '\xbf\\'").rows((1, "x"), status=AUTO)
        .command(b"\3set names utf8mb4").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
        # By a variable whose value only the server knows, and which it tells or not.
        logged_in(45, CAPS | TRACK)
        .command(b"\3set character_set_client = @x")
        .server(b"\0\0\0" + struct.pack("<HH", AUTO | 0x4000, 0) + b"\0" +
                tracked("character_set_client", "utf8mb4"))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
        logged_in(45).command(b"\3set character_set_client = @x").server(ok(AUTO))
        .command(b"\3alter user u identified by '\x95sesame'").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO)
        # MariaDB goes back to the login's.
        .command(b"\x1f").server(ok(AUTO))
        .command(b"\3select '\xc3\xa9'").rows((1, "x"), status=AUTO),
    ]
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0") as proxy:
        for talk in talks:
            play(mock, proxy, talk.steps, whole)
        proxy.stop()
        with open(proxy.trace, "rb") as trace:
            assert b"sesame" not in trace.read()
        flags = {}
        for record in records(ISOTRACE, proxy.trace, ["stmt"]):
            flags.setdefault(record["session"], []).append(record["flags"] & 4)
        notes = [r["text"] for r in records(ISOTRACE, proxy.trace, ["note"])
                 if r["topic"] == "character set"]
        shapes = [txn_shape(r) for r in records(ISOTRACE, proxy.trace, ["txn"])
                  if r["session"] == 1]
    assert flags == {1: [0, 4, 4, 0], 2: [0, 4, 0, 0], 3: [0, 0], 4: [0, 4, 4, 0, 0]}, flags
    assert len(notes) == 3 and all("not parsed" in n for n in notes), notes
    assert shapes[:2] == ["begin", ("end", 1, "commit")], shapes


sys.exit(run_tests(sys.argv[3:]))
