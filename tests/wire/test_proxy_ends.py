#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_ends.py ISOREC ISOTRACE [TEST...]

How sessions, connections and the proxy end: losses, signals, full disks, large packets.
"""
import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import (  # noqa: E402
    Proxy, SkipTest, preloaded, records, run_tests, test, wait_for)
from scripted import (  # noqa: E402
    AUTO, IN, ISOREC, ISOTRACE, Mock, Talk, column, eof, err, joined, lenenc, ok, packet, pass_on,
    play, receive, whole)


def lost_after(query, status_before, answer=b"", end="server"):
    """The records of a session that ends after the query was sent."""
    talk = Talk()
    if status_before & 1:
        talk.command(b"\3begin").server(ok(status_before))
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in talk.steps + [(False, packet(0, query))]:
                if from_server:
                    pass_on(server, client, data, whole)
                else:
                    pass_on(client, server, data, whole)
            if answer:
                server.sendall(answer)
                receive(client, len(answer))
            # RST, as of a process that was killed with data unread; or an orderly end.
            gone = server if end == "server" else client
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
            other = client if end == "server" else server
            try:
                assert other.recv(10) == b""
            except ConnectionResetError:
                pass
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        return records(ISOTRACE, proxy.trace)


@test
def commit_without_an_answer():
    """server gone after COMMIT was sent: no reply, the outcome is unknown"""
    got = lost_after(b"\3commit", 3)
    stmt = [r for r in got if r["kind"] == "stmt"][-1]
    txn = [r for r in got if r["kind"] == "txn"][-1]
    assert stmt["flags"] == 1 and stmt["text"] == "commit", stmt
    assert stmt["request_bytes"] == 7 and stmt["reply_bytes"] == 0, stmt
    assert txn["event"] == 1 and txn["outcome"] == 0 and txn["txn"] == stmt["txn"], txn


@test
def write_without_an_answer_in_a_transaction():
    """server gone during an UPDATE of an open transaction: that cannot have committed"""
    txn = [r for r in lost_after(b"\3update t set a=1", 3) if r["kind"] == "txn"][-1]
    assert txn["outcome"] == 2, txn


@test
def write_without_an_answer_alone():
    """server gone during an autocommitted UPDATE: unknown"""
    got = lost_after(b"\3update t set a=1", 2)
    txn = [r for r in got if r["kind"] == "txn"]
    assert len(txn) == 1 and txn[0]["outcome"] == 0 and txn[0]["autocommit"], txn


@test
def server_gone_in_a_result():
    """server gone after some rows: they are in the trace, the statement has no reply"""
    part = b"".join(packet(i + 1, p) for i, p in enumerate(
        (b"\1", column("a", 3), eof(), lenenc("1"), lenenc("2"))))
    got = lost_after(b"\3select a from t", 3, part)
    stmt = [r for r in got if r["kind"] == "stmt"][-1]
    rows = [row for r in got if r["kind"] == "result" for row in r["rows"]]
    assert stmt["flags"] == 1 and stmt["rows"] == 2 and rows == [[1], [2]], (stmt, rows)
    assert stmt["reply_bytes"] == len(part) and stmt["request_bytes"] == 16, stmt


@test
def client_gone():
    """client gone in the middle of a transaction: rolled back by the server, recorded so"""
    got = lost_after(b"\3select a from t", 3, end="client")
    txn = [r for r in got if r["kind"] == "txn"][-1]
    assert txn["outcome"] == 2 and txn["reason"] == "disconnect", txn
    assert "client" in [r for r in got if r["kind"] == "session"][-1]["reason"]
    assert not [r for r in got if r["kind"] == "session" and r["event"] == ENDED]


ENDED = 4


@test
def ended_by_the_server():
    """a server that closes with an error or without ends the session at once, whatever its client does"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        closed = []
        for last in (b"", packet(0, err(4031, b"idle for too long")), packet(0, err(1927, b"killed"))):
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in Talk().command(b"\3begin").server(ok(AUTO | IN)).steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                begun = time.monotonic_ns()
                server.sendall(last)
                server.close()
                assert receive(client, len(last)) == last and client.recv(1) == b""
                closed.append((begun, time.monotonic_ns()))
                # Does not reach any server.
                client.sendall(packet(0, b"\3commit"))
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    ends = [r for r in got if r["kind"] == "session" and r["event"] == ENDED]
    assert [r["reason"] for r in ends] == [
        "server closed", "server closed, error 4031", "server closed, error 1927"], ends
    for end, (begun, seen) in zip(ends, closed):
        mine = [r for r in got if r.get("session") == end["session"]]
        last = [r for r in mine if r["kind"] == "txn"][-1]
        assert begun < end["at"] < seen and begun < last["at"] < seen, (begun, end, last, seen)
        assert (last["outcome"], last["reason"]) == (2, "ended by the server"), last
        assert [r["text"] for r in mine if r["kind"] == "stmt"] == ["begin"], mine
        assert [r["event"] for r in mine if r["kind"] == "session"] == [0, ENDED, 1], mine


@test
def half_a_command():
    """client gone in the middle of a command: the server never had it, nothing is unknown"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            part = packet(0, b"\3insert into t values (1)")[:12]
            pass_on(client, server, part, whole)
            client.close()
            assert server.recv(10) == b""
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
        assert not [r for r in got if r["kind"] == "txn"], got
        stmt = [r for r in got if r["kind"] == "stmt"][-1]
        assert stmt["flags"] & 5 == 5 and stmt["request_bytes"] == 8, stmt


@test
def proxy_killed():
    """kill -9: what was flushed is readable"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--flush-interval=10ms") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            talk = Talk().command(b"\3select * from t").rows((1, "x"))
            for from_server, data in talk.steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            wait_for("the flush", lambda: any(
                r["kind"] == "stmt" for r in records(ISOTRACE, proxy.trace)))
            proxy.stop(signal.SIGKILL, -signal.SIGKILL)
            assert [r["text"] for r in records(ISOTRACE, proxy.trace, ["stmt"])] == [
                "select * from t"]


DISK = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
/* A disk that takes its time: until the file GATE is there. */
int fdatasync(int fd)
{
	while (access(getenv("GATE"), F_OK) != 0)
		usleep(1000);
	return (int)syscall(SYS_fdatasync, fd);
}
"""


def silent(sock):
    """Nothing came so far."""
    return not select.select([sock], [], [], 0.05)[0]


@test
def durable_commits():
    """--durable: the answers of commits, and of no others, wait until their records are synced"""
    held = [(b"\3commit", 3, 2), (b"\3insert into t values (1)", 2, 2), (b"\3create table x(a int)", 3, 2),
            (b"\3call p()", 3, 3), (b"\3xa prepare 'x'", 3, 3)]
    free = [(b"\3select 1", 2, 2), (b"\3update t set a=1", 3, 3), (b"\3rollback", 3, 2)]
    with tempfile.TemporaryDirectory() as folder:
        gate = os.path.join(folder, "gate")
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--durable", "--flush-interval=5ms",
                   env=preloaded(folder, DISK, GATE=gate)) as proxy:
            for text, before, after in free + held:
                waits = (text, before, after) in held
                client, server = mock.connect(proxy)
                with client, server:
                    if before & 1:
                        talk = Talk().command(b"\3xa start 'x'" if b"xa" in text else b"\3begin").server(
                            ok(before))
                    else:
                        talk = Talk()
                    for from_server, data in talk.steps:
                        pass_on(*((server, client) if from_server else (client, server)), data, whole)
                    pass_on(client, server, packet(0, text), whole)
                    answer = packet(1, ok(after))
                    server.sendall(answer)
                    if waits:
                        wait_for("the record is written", lambda t=text[1:].decode(): t in [
                            r["text"] for r in records(ISOTRACE, proxy.trace, ["stmt"])])
                        assert silent(client), text
                        # The client may go on meanwhile.
                        pass_on(client, server, packet(0, b"\3select 2"), whole)
                        with open(gate, "w", encoding="ascii"):
                            pass
                    assert receive(client, len(answer)) == answer, text
                    if waits:
                        os.unlink(gate)
            with open(gate, "w", encoding="ascii"):
                pass
            said = proxy.stop()
    assert re.search(r"durable: %d answers of commits waited .*; 0 were answered without" % len(held), said), said


@test
def durable_without_a_disk():
    """--durable: where records are lost the answer goes out, and is counted"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--durable", "--flush-interval=5ms",
               "--when-full=stop", file_size=4000) as proxy:
        talk = Talk()
        for number in range(20):
            talk.command(b"\3insert into t values (%d, '%s')" % (number, b"x" * 1000)).server(ok())
        play(mock, proxy, talk.steps, whole)
        said = proxy.stop(status=4)
        kept = len(records(ISOTRACE, proxy.trace, ["stmt"]))
        counts = re.search(r"durable: (\d+) answers .*; (\d+) were answered without", said)
        assert counts and int(counts[1]) <= kept and sum(map(int, counts.groups())) == 20, (kept, said)
        assert kept < 20, kept


@test
def durable_kill():
    """--durable: a kill loses no commit that a client has heard of"""
    for answered in (1, 2, 5, 11):
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--durable", "--flush-interval=600s") as proxy:
            talk = Talk()
            for number in range(answered):
                talk.command(b"\3insert into t values (%d)" % number).server(ok())
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in talk.steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                proxy.stop(signal.SIGKILL, -signal.SIGKILL)
            got = [r["text"] for r in records(ISOTRACE, proxy.trace, ["stmt"])]
            assert got == ["insert into t values (%d)" % n for n in range(answered)], got


# ---- size ----

@test
def disk_full():
    """no room for the trace: the traffic goes on, what was written is readable, the loss is reported"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--compression=0", "--flush-interval=10ms",
               file_size=20000) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            talk = Talk()
            for number in range(50):
                talk.command(b"\3select " + b"%d" % number + b"x" * 1000).server(ok())
            for step, (from_server, data) in enumerate(talk.steps):
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
                if step == 4:
                    wait_for("the first block", lambda: records(ISOTRACE, proxy.trace, ["stmt"]))
        wait_for("the session's end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop(status=4)
        assert "File too large" in proxy.text() and "lost" in proxy.text(), proxy.text()
        got = records(ISOTRACE, proxy.trace, ["stmt"])
        assert 0 < len(got) < 50 and got[0]["text"].startswith("select 0"), len(got)


@test
def large_packets():
    """packets of 16 MB - 1, 16 MB and 64 MB, both ways, arrive as they are"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for size in ((1 << 24) - 2, (1 << 24) - 1, 1 << 24, 64 << 20):
            talk = Talk()
            noise = random.Random(size).randbytes(1000) * (size // 1000 + 1)
            talk.command(b"\3" + noise[:size - 1])
            talk.server(b"\1", column("a", 252), eof())
            talk.server(b"\xfe" + struct.pack("<Q", size - 9) + noise[:size - 9], eof())
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in talk.steps:
                    source, target = (server, client) if from_server else (client, server)
                    exchange(source, target, data)
        proxy.stop()
        stmts = records(ISOTRACE, proxy.trace, ["stmt"])
        assert [s["rows"] for s in stmts] == [1] * 4, stmts
        # The last two are past --max-packet=16M: cut.
        assert [bool(s["flags"] & 4) for s in stmts] == [False, False, False, True], [
            s["flags"] for s in stmts]


def exchange(source, target, data):
    """Sends and receives at the same time, as no buffer on the way holds it all."""
    source.setblocking(False)
    sent, got = 0, []
    count = 0
    while count < len(data):
        if sent < len(data):
            try:
                sent += source.send(memoryview(data)[sent:sent + (1 << 20)])
            except BlockingIOError:
                pass
        part = target.recv(1 << 20)
        got.append(part)
        count += len(part)
    source.setblocking(True)
    source.settimeout(60)
    assert b"".join(got) == data


@test
def client_that_never_reads():
    """a large result for a client that does not read: the proxy's memory stays bounded"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--buffer=32M") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().command(b"\3select * from t").steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            server.setblocking(False)
            server.settimeout(1)
            row = packet(5, lenenc("x" * 200)) * 5000
            head = b"".join(packet(i + 1, p) for i, p in enumerate((b"\1", column("a", 253), eof())))
            server.sendall(head)
            sent = 0
            try:
                while sent < 500 << 20:
                    sent += server.send(row)  # whole or not: it is never read
            except (BlockingIOError, socket.timeout):
                pass
            assert sent < 100 << 20, "%d bytes were taken though no client reads them" % sent
            assert proxy.memory() < 100 << 20, proxy.memory()
        proxy.stop()


@test
def thousand_idle_sessions():
    """1,000 idle sessions cost little memory, and a drain ends them all"""
    with open(ISOREC, "rb") as program:
        if b"__tsan_init" in program.read():
            raise SkipTest("the thread sanitizer's own memory would be measured")
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        before = proxy.memory()
        pairs = []
        for _ in range(1000):
            client, server = mock.connect(proxy)
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            pairs.append((client, server))
        assert proxy.statistics()["sessions"] == 1000
        cost = (proxy.memory() - before) / 1000
        assert cost < 16 * 1024, "%d bytes a session" % cost
        proxy.stop()
        for client, server in pairs:
            assert client.recv(1) == b"" and server.recv(1) == b""
            client.close()
            server.close()
        closed = [r for r in records(ISOTRACE, proxy.trace, ["session"]) if r["event"] == 1]
        assert len(closed) == 1000 and {r["reason"] for r in closed} == {"recorder shutdown"}


# ---- signals ----

@test
def what_ended_before_comes_before():
    """sessions that take turns: each statement's numbers and times end before the next ones begin"""
    mock = Mock()
    texts = []
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--workers=2") as proxy:
        pairs = [mock.connect(proxy) for _ in range(5)]
        for client, server in pairs:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
        for turn in range(40):
            for who, (client, server) in enumerate(pairs):
                texts.append("select %d from t%d" % (turn, who))
                talk = Talk(connect=False).command(b"\3" + texts[-1].encode())
                if turn % 3:
                    talk.rows((1, "x"), (2, "y"))
                else:
                    talk.server(ok())
                for from_server, data in joined(talk.steps):
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
        for client, server in pairs:
            client.close()
            server.close()
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    stmts = sorted((r for r in got if r["kind"] == "stmt"), key=lambda r: r["begin_seq"])
    ends = {(r["session"], r["number"]): r for r in got if r["kind"] == "txn"}
    assert [r["text"] for r in stmts] == texts
    for this, after in zip(stmts, stmts[1:]):
        end = ends[this["session"], this["number"]]
        assert max(this["seq"], end["seq"]) < after["begin_seq"], (this, end, after)
        assert max(this["at"], end["at"]) <= after["begin"], (this, end, after)
        # Wider, as the client sees it: never shorter than the server's side.
        assert this["client_begin"] <= this["begin"], this
        assert this["at"] <= this["client_end"], this
    seqs = [r["seq"] for r in got if "seq" in r]
    assert len(set(seqs)) == len(seqs)


@test
def quitting_is_no_loss():
    """a server that closes after QUIT, and one that closes without: only the second is an event"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for quits in (True, False):
            talk = Talk().command(b"\3select 1").server(ok())
            if quits:
                talk.command(b"\1")
            client, server = mock.connect(proxy)
            with client, server:
                for from_server, data in talk.steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
                server.close()
                assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace, ["cluster", "session"])
    assert [r["session"] for r in got if r["kind"] == "session" and r["event"] == ENDED] == [2]
    closed = {r["session"]: r["reason"] for r in got if r["kind"] == "session" and r["event"] == 1}
    assert closed == {1: "quit", 2: "server closed"}, closed
    lost = [r for r in got if r["kind"] == "cluster"]
    assert len(lost) == 1, lost


@test
def drain_waits_for_transactions():
    """SIGTERM: no new connections, idle sessions end, an open transaction may end first"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--drain-timeout=60s") as proxy:
        busy, busy_server = mock.connect(proxy)
        idle, idle_server = mock.connect(proxy)
        talk = Talk().command(b"\3begin").server(ok(3))
        for from_server, data in talk.steps:
            pass_on(*((busy_server, busy) if from_server else (busy, busy_server)), data, whole)
        for from_server, data in Talk().steps:
            pass_on(*((idle_server, idle) if from_server else (idle, idle_server)), data, whole)
        proxy.process.send_signal(signal.SIGTERM)
        assert idle.recv(1) == b"", "the idle session was not closed"
        assert proxy.process.poll() is None
        pass_on(busy, busy_server, packet(0, b"\3commit"), whole)
        busy_server.sendall(packet(1, ok(2)))
        assert receive(busy, 11) == packet(1, ok(2)), "the answer to COMMIT was not delivered"
        assert busy.recv(1) == b""
        proxy.process.wait(timeout=60)
        txn = records(ISOTRACE, proxy.trace, ["txn"])[-1]
        assert txn["outcome"] == 1, txn


CLOCK = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
/* The wall clock is an hour ahead from the moment that it is watched. */
static int watched;
int timerfd_create(clockid_t clock, int flags)
{
	(void)clock, (void)flags;
	watched = 1;
	return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
}
int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	(void)fd, (void)flags, (void)at, (void)old;
	return 0;
}
int clock_gettime(clockid_t clock, struct timespec *out)
{
	int code = (int)syscall(SYS_clock_gettime, clock, out);

	if (clock == CLOCK_REALTIME && watched)
		out->tv_sec += 3600;
	return code;
}
"""


@test
def clock_step():
    """a wall clock that is set while recording: a note says by how much"""
    with tempfile.TemporaryDirectory() as folder:
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], env=preloaded(folder, CLOCK)) as proxy:
            play(mock, proxy, Talk().command(b"\3select 1").server(ok()).steps, whole)
            proxy.stop()
            notes = [r for r in records(ISOTRACE, proxy.trace, ["note"]) if r["topic"] == "clock step"]
    assert len(notes) == 1 and re.search(r"\+3(600\.0|599\.9)", notes[0]["text"]), notes


@test
def second_signal_stops():
    """a second SIGTERM ends it at once, whatever is open"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--drain-timeout=600s") as proxy:
        client, server = mock.connect(proxy)
        for from_server, data in Talk().command(b"\3begin").server(ok(3)).steps:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        proxy.process.send_signal(signal.SIGTERM)
        wait_for("the end of listening", lambda: not listens(proxy.port))
        assert proxy.process.poll() is None
        proxy.stop()


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except ConnectionRefusedError:
        return False


@test
def hangup_rotates():
    """SIGHUP begins a new segment, which starts with the sessions that are open"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--max-size=1G") as proxy:
        client, server = mock.connect(proxy)
        talk = Talk().command(b"\x16select ?").server(
            b"\0" + struct.pack("<IHHBH", 1, 0, 1, 0, 0), column("?", 6), eof())
        talk.command(b"\x16closed again").server(b"\0" + struct.pack("<IHHBH", 2, 0, 0, 0, 0))
        talk.command(b"\x19" + struct.pack("<I", 2))
        for from_server, data in talk.steps:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        wait_for("the first segment's blocks", lambda: records(ISOTRACE, proxy.trace, ["session"]))
        proxy.process.send_signal(signal.SIGHUP)
        proxy.statistics()  # both signals were seen
        for from_server, data in Talk().command(b"\3select 1").server(ok()).steps[3:]:
            pass_on(*((server, client) if from_server else (client, server)), data, whole)
        wait_for("a second segment", lambda: len(os.listdir(proxy.trace)) == 2)
        proxy.stop()
        last = os.path.join(proxy.trace, sorted(os.listdir(proxy.trace))[-1])
        got = records(ISOTRACE, last)
        assert "session" in [r["kind"] for r in got], got
        texts = [r["text"] for r in got if r["kind"] == "stmt"]
        assert texts[0] == "select ?" and texts[-1] == "select 1", texts


@test
def statistics_of_removed_segments():
    """stats of a trace whose oldest segments were removed: what is there, and how much went, once"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--max-size=20K", "--max-total=80K",
               "--compression=0", "--flush-interval=1ms") as proxy:
        talk = Talk()
        for i in range(600):
            talk.command(b"\3select %d /* %s */" % (i, b"x" * 300)).server(ok())
        play(mock, proxy, talk.steps, whole)
        proxy.stop()
        gaps = [r["records"] for r in records(ISOTRACE, proxy.trace, ["gap"]) if r["reason"] == "rotated"]
        done = subprocess.run([ISOTRACE, "stats", "--format=json", proxy.trace], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 3 and "no footer" not in done.stderr, done.stderr
        got = json.loads(done.stdout)
        # Usually several, one a segment; a busy machine fills few, large blocks.
        assert gaps and got["gaps"]["removed"] == gaps[-1] and got["gaps"]["records"] == 0, got["gaps"]
        assert got["time"]["span_ns"] < 600e9, got["time"]["span_ns"]


@test
def hangup_reads_filters_again():
    """SIGHUP: the option file's filters hold for what comes; a mistake leaves the old ones"""
    mock = Mock()
    talk = Talk().command(b"\3insert into a values (1)").server(ok()).command(
        b"\3insert into b values (1)").server(ok())
    with tempfile.TemporaryDirectory() as folder:
        defaults = os.path.join(folder, "my.cnf")

        def filters(text):
            with open(defaults, "w", encoding="ascii") as out:
                out.write("[recorder-proxy]\n" + text)

        filters("skip-user=bob\n")
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], first=["--defaults-file=" + defaults]) as proxy:
            for text in (None, "skip-table=\\.b$\n", "only-user=(x\n", ""):
                if text is not None:
                    filters(text)
                    said = proxy.text().count("filters")
                    proxy.process.send_signal(signal.SIGHUP)
                    wait_for("filters read", lambda n=said: proxy.text().count("filters") > n)
                play(mock, proxy, talk.steps, whole)
            assert "--only-user" in proxy.text() and "stay as they are" in proxy.text()
            proxy.stop()
            got = records(ISOTRACE, proxy.trace)
    texts = {}
    for record in got:
        if record["kind"] == "stmt":
            texts.setdefault(record["session"], []).append(record["text"])
    both = ["insert into a values (1)", "insert into b values (1)"]
    assert texts == {2: [both[0], None], 3: [both[0], None], 4: both}, texts
    notes = [r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out"]
    assert notes == ["--skip-user=bob", "--skip-table=\\.b$", "nothing"], notes


sys.exit(run_tests(sys.argv[3:]))
