#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_connections.py ISOREC ISOTRACE [TEST...]

How clients and servers connect: TLS, sockets, the PROXY protocol, nonsense.
"""
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test, wait_for  # noqa: E402
from scripted import (  # noqa: E402
    CAPS, ISOREC, ISOTRACE, Mock, SSL, Talk, greeting, login, ok, packet, pass_on, play, receive,
    whole)


@test
def tls_passes_through_opaque():
    """after an SSLRequest all bytes pass, and the session is marked opaque"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--tls=passthrough") as proxy:
        caps = CAPS | SSL
        request = packet(1, struct.pack("<IIB", caps & 0xffffffff, 1 << 24, 45) + b"\0" * 23)
        noise = random.Random(1).randbytes(3000)
        play(mock, proxy, [(True, packet(0, greeting(caps))), (False, request), (False, noise),
                           (True, noise), (False, noise)], whole)
        proxy.stop()
        sessions = records(ISOTRACE, proxy.trace, ["session"])
        assert [s["event"] for s in sessions] == [0, 2, 1], sessions
        assert "TLS" in sessions[1]["reason"]


# ---- sockets of all kinds ----

@test
def unix_sockets_and_ipv6():
    """Unix sockets on both sides, IPv6 on both sides, two nodes at once"""
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as outer:
        path, mine = os.path.join(outer.folder, "server.sock"), os.path.join(outer.folder, "rec.sock")
        unix = Mock(socket.AF_UNIX, path)
        six = Mock(socket.AF_INET6, ("::1", 0))
        with Proxy(ISOREC, ["u=unix:" + path, "v6=[::1]:%d" % six.port],
                   listen=["v6=[::1]:0", "u=" + mine]) as proxy:
            for family, address, mock in ((socket.AF_UNIX, mine, unix),
                                          (socket.AF_INET6, ("::1", proxy.ports[-1]), six)):
                with socket.socket(family) as client:
                    client.connect(address)
                    with mock.accept() as server:
                        server.sendall(packet(0, greeting(CAPS)))
                        assert receive(client, 20)
            proxy.stop()
            nodes = [r["node"] for r in records(ISOTRACE, proxy.trace, ["session"])]
            assert sorted(set(nodes)) == ["u", "v6"], nodes
            assert not os.path.exists(mine), "the socket file is left behind"


HEADER_2 = b"\r\n\r\n\0\r\nQUIT\n"


@test
def proxy_protocol_of_clients():
    """--accept-proxy-protocol: headers of both versions, cut at every byte; anything else is refused"""
    mock = Mock()
    four = socket.inet_aton("192.0.2.7") + socket.inet_aton("10.0.0.1") + struct.pack(">HH", 4711, 3306)
    six = (socket.inet_pton(socket.AF_INET6, "2001:db8::5") + b"\0" * 16 +
           struct.pack(">HH", 99, 3306))
    # A header, and the client's address in the trace (None: the connection's own).
    cases = [(b"PROXY TCP4 192.0.2.1 10.0.0.1 65535 3306\r\n", "192.0.2.1:65535"),
             (b"PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "[2001:db8::1]:1"),
             (b"PROXY UNKNOWN what ever\r\n", None),
             (HEADER_2 + b"\x21\x11" + struct.pack(">H", 12) + four, "192.0.2.7:4711"),
             (HEADER_2 + b"\x21\x21" + struct.pack(">H", 36 + 7) + six + b"\4\0\4TLV.",
              "[2001:db8::5]:99"),
             (HEADER_2 + b"\x20\0\0\0", None)]
    bad = [b"PROXY TCP4 192.0.2.1 10.0.0.1 65536 3306\r\n", b"PROXY TCP4 192.0.2.1 10.0.0.1 1\r\n",
           b"PROXY TCP4 ::1 ::1 1 2\r\n", b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2 3\r\n",
           b"PROXY " + b"x" * 200, b"GET / HTTP/1.1\r\n", HEADER_2 + b"\x31\x11\0\x0c" + four,
           HEADER_2 + b"\x21\x11\0\4" + four[:4], HEADER_2 + b"\x21\x11\xff\xff"]
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--accept-proxy-protocol") as proxy:
        want = []
        for header, address in cases:
            for k in range(len(header) if len(header) < 60 else 8):
                with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                    client.settimeout(60)
                    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for part in (header[:k], header[k:]):
                        client.sendall(part)
                    with mock.accept() as server:
                        server.sendall(packet(0, greeting(CAPS)))
                        assert receive(client, 4 + len(greeting(CAPS))) == packet(0, greeting(CAPS))
                        client.sendall(packet(1, login(CAPS)))
                        assert receive(server, 4 + len(login(CAPS))) == packet(1, login(CAPS))
                        want.append(address or "%s:%d" % client.getsockname())
        for header in bad:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(60)
                client.sendall(header)
                assert b"PROXY protocol" in client.recv(1000), header
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        opened = [r for r in records(ISOTRACE, proxy.trace, ["session"]) if r["event"] == 0]
        opened.sort(key=lambda r: r["session"])
        assert [r["client"] for r in opened] == want, (opened, want)


# ---- faults ----

@test
def nothing_to_read_from():
    """--user and no server: an error, and no trace that the next try would stumble over"""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        trace = os.path.join(folder, "t.itr")
        done = subprocess.run(
            [ISOREC, "proxy", "--listen", "127.0.0.1:0", "--node",
             f"n1=127.0.0.1:{closed.getsockname()[1]}", "--user", "nobody", "-o", trace],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 4 and "cannot connect" in done.stdout, done
        assert not os.path.exists(trace)


@test
def upstream_refused():
    """a client gets an ERR packet when the node does not listen, and the trace says why"""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Proxy(ISOREC, ["db=127.0.0.1:%d" % closed.getsockname()[1]]) as proxy:
            with socket.create_connection(("127.0.0.1", proxy.port)) as client:
                client.settimeout(60)
                answer = b""
                while True:
                    part = client.recv(1000)
                    if not part:
                        break
                    answer += part
            assert answer[4:7] == b"\xff\x51\x04" and b"Connection refused" in answer, answer
            assert b"cannot connect to node db" in answer
            assert len(answer) == 4 + answer[0] + 256 * answer[1]
            proxy.stop()
            closing = records(ISOTRACE, proxy.trace, ["session"])[-1]
            assert "Connection refused" in closing["reason"], closing


@test
def garbage():
    """bytes that are no MySQL, from either side, pass as they are, and nothing is made of them"""
    mock = Mock()
    rng = random.Random(7)
    noise = [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0" * 300, b"\xff" * 300, rng.randbytes(5000),
             packet(0, b"\x09old greeting\0"), packet(0, b""), b"\x01\0\0\0\x0a" + b"a" * 3000]
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        for data in noise:
            client, server = mock.connect(proxy)
            with client, server:  # the server speaks nonsense, then both do
                for source, sink in ((server, client), (client, server), (server, client)):
                    source.sendall(data)
                    assert receive(sink, len(data)) == data
            client, server = mock.connect(proxy)
            with client, server:  # a right greeting, and nonsense for an answer
                server.sendall(packet(0, greeting(CAPS)))
                receive(client, 4 + len(greeting(CAPS)))
                client.sendall(data)
                assert receive(server, len(data)) == data
                server.sendall(data)
                assert receive(client, len(data)) == data
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace, ["session", "stmt"])
    assert not [r for r in got if r["kind"] == "stmt"], got
    assert len({r["session"] for r in got if r["event"] == 1}) == 2 * len(noise), got


@test
def half_closed():
    """a client that says that it sends no more still gets its answer; so does the other side"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in Talk().steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            query, answer = packet(0, b"\3delete from t"), packet(1, ok(2, 5))
            client.sendall(query)
            client.shutdown(socket.SHUT_WR)
            assert receive(server, len(query)) == query
            assert server.recv(1) == b"", "the end passes, too"
            server.sendall(answer)
            server.shutdown(socket.SHUT_WR)
            assert receive(client, len(answer)) == answer
            assert client.recv(1) == b""
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        statement, = records(ISOTRACE, proxy.trace, ["stmt"])
        assert statement["affected"] == 5 and not statement["flags"] & 1, statement


@test
def keepalive():
    """both sockets of a session ask for a peer that has gone without a word (half-open)"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            server.sendall(packet(0, greeting(CAPS)))
            receive(client, 20)
            ports = {mock.port, client.getsockname()[1]}

            def asking():
                """Far ends of the proxy's connections whose timer is the keepalive one (2)."""
                seen = set()
                with open("/proc/net/tcp", encoding="ascii") as table:
                    for line in list(table)[1:]:
                        local, remote, timer = (line.split()[i] for i in (1, 2, 5))
                        near, far = (int(a.split(":")[1], 16) for a in (local, remote))
                        if far in ports and (near == proxy.port or far == mock.port) and \
                                timer[:2] == "02":
                            seen.add(far)
                return seen
            wait_for("keepalive on both", lambda: asking() == ports)  # once all is acknowledged
        proxy.stop()


sys.exit(run_tests(sys.argv[3:]))
