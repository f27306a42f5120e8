#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between clients and servers that break the protocol: TAP on standard output.

    test_proxy_hostile.py ISOREC ISOTRACE [SESSIONS [SEED]]

The conversations of test_proxy_conversations.py, altered: bytes, lengths and sequence numbers, packets left
out, doubled, exchanged, said by the wrong side, cut off, with noise between them; ended in order or
by a reset.  Between them conversations as they should be, which the proxy must pass on as they are.
It must live, keep its memory, and leave a trace that is whole.
"""
import os
import random
import select
import socket
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import proxy_harness  # noqa: E402
from proxy_harness import Proxy, run_tests, test  # noqa: E402
from test_proxy_conversations import CONVERSATIONS  # noqa: E402
from scripted import ISOREC, ISOTRACE, Mock, play, whole  # noqa: E402

proxy_harness.TESTS.clear()
SESSIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 800
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
SOUND_EVERY = 50
MEMORY_MAX = 200 << 20
MAGIC = [b"\0", b"\xff", b"\xfe", b"\xfb", b"\xfc\xff\xff", b"\xfd\xff\xff\xff", b"\xfe" + b"\xff" * 8,
         b"\0" * 8, b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x80"]


def altered_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randrange(len(data))
        way = rng.randrange(4)
        if way == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            magic = rng.choice(MAGIC)
            data[at:at + len(magic)] = magic
        elif way == 2:
            del data[at:at + rng.choice((1, 2, 7, 100))]
        else:
            data[at:at] = rng.choice(MAGIC) * rng.choice((1, 1, 30))
        if not data:
            return b""
    return bytes(data)


def altered_header(rng, data):
    """Another length or sequence number before the same payload."""
    length = rng.choice((0, 1, len(data) - 5, len(data) + 3, 0xffffff, 0xfffffe, rng.randrange(1 << 24)))
    return struct.pack("<I", max(0, length))[:3] + bytes([rng.choice((data[3], rng.randrange(256)))]) + data[4:]


def altered(rng, steps):
    steps = list(steps)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(steps))
        side, data = steps[at]
        way = rng.randrange(9)
        if way <= 2 and data:
            steps[at] = (side, altered_bytes(rng, data))
        elif way == 3 and len(data) >= 4:
            steps[at] = (side, altered_header(rng, data))
        elif way == 4 and len(steps) > 1:
            del steps[at]
        elif way == 5:
            steps[at:at] = [(side, data)] * rng.choice((1, 1, 50))
        elif way == 6:
            other = rng.randrange(len(steps))
            steps[at], steps[other] = steps[other], steps[at]
        elif way == 7:
            steps[at] = (not side, data)
        else:
            # A longer one: lengths in what comes later do not fit any more.
            steps[at] = (side, data[:rng.randrange(len(data) + 1)] + rng.randbytes(rng.choice((1, 40, 70000))))
    return steps


def drain(*socks):
    for sock in select.select(socks, [], [], 0)[0]:
        try:
            sock.recv(1 << 20)
        except OSError:
            pass


def send(source, target, data):
    """As much as goes; the other side reads meanwhile, and either may be gone already."""
    source.setblocking(False)
    for _ in range(200):
        if not data:
            return
        try:
            data = data[source.send(data):]
        except BlockingIOError:
            select.select([target], [source], [], 0.05)
        except OSError:
            return
        drain(source, target)


def one_session(rng, mock, proxy, steps):
    client, server = mock.connect(proxy)
    with client, server:
        for from_server, data in steps:
            send(*((server, client) if from_server else (client, server)), data)
            drain(client, server)
        if rng.randrange(3) == 0:
            first = rng.choice((client, server))
            first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            first.close()


@test
def hostile_sessions():
    """sessions that break the protocol do not disturb others, memory, or the trace"""
    rng, mock = random.Random(SEED), Mock()
    names = sorted(CONVERSATIONS)
    sound = [CONVERSATIONS[name].steps for name in ("text_result", "prepared_statements", "several_results_and_an_error")]
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--workers=2") as proxy:
        for number in range(SESSIONS):
            if number % SOUND_EVERY == 0:
                play(mock, proxy, sound[number // SOUND_EVERY % len(sound)], whole)
            one_session(rng, mock, proxy, altered(rng, CONVERSATIONS[rng.choice(names)].steps))
            assert proxy.process.poll() is None, "session %d ended the proxy: %s" % (number, proxy.text())
        memory = proxy.memory()
        said = proxy.stop()
        print("# %d sessions, %d MiB at most; %s" % (SESSIONS, memory >> 20, said.splitlines()[-1]))
        assert memory < MEMORY_MAX, memory
        assert "internal error" not in said, said
        stats = subprocess.run([ISOTRACE, "stats", "--format=json", proxy.trace], capture_output=True, check=False)
        assert stats.returncode == 0, stats
        check = subprocess.run([ISOTRACE, "check", "--memory=1G", proxy.trace], capture_output=True, text=True,
                               check=False)
        assert check.returncode == 3, (check.returncode, check.stdout[-1000:], check.stderr)


sys.exit(run_tests())
