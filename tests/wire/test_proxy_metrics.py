#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy --metrics: what Prometheus reads, against what the proxy says elsewhere. TAP on standard output.

    test_proxy_metrics.py ISOREC ISOTRACE [TEST...]
"""
import json
import os
import re
import socket
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, SkipTest, run_tests, test, wait_for  # noqa: E402
from scripted import ISOREC, Mock, Talk, ok, pass_on, whole  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


def started(*options):
    mock = Mock()
    return mock, Proxy(ISOREC, ["n1=127.0.0.1:%d" % mock.port], "--metrics=127.0.0.1:0", *options)


def address(proxy):
    found = wait_for("the address of the figures", lambda: re.search(r"metrics: http://127\.0\.0\.1:(\d+)/metrics", proxy.text()))
    return "127.0.0.1", int(found[1])


def ask(proxy, request=b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"):
    """(status, headers, body)"""
    with socket.create_connection(address(proxy), timeout=20) as client:
        client.sendall(request)
        answer = b""
        while True:
            part = client.recv(65536)
            if not part:
                break
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    if request.startswith(b"GET"):
        assert int(headers["content-length"]) == len(body), (headers, len(body))
    return int(lines[0].split()[1]), headers, body.decode("utf-8")


def figures(text):
    """{(name, labels): value}, by the grammar of the text format; each has a type and a help before it."""
    out, typed, helped = {}, {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert NAME.fullmatch(name) and name not in helped and len(line.split(" ", 3)[3]) > 5, line
            helped.add(name)
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            assert kind in ("counter", "gauge") and name in helped and name not in typed, line
            assert (kind == "counter") == name.endswith("_total"), line
            typed[name] = kind
        else:
            match = re.fullmatch(r"([a-zA-Z0-9_:]+)(?:\{((?:[a-z_]+=\"(?:[^\"\\\n]|\\[\"\\n])*\",?)+)\})? (\d+(?:\.\d+)?)", line)
            assert match and match[1] in typed, line
            assert (match[1], match[2]) not in out, line
            out[match[1], match[2]] = float(match[3])
    return out


def by_name(found):
    return {name: value for (name, labels), value in found.items() if not labels}


@test
def counts():
    """the figures are those of the traffic"""
    mock, proxy = started()
    with proxy:
        before = figures(ask(proxy)[2])
        assert by_name(before)["isorec_sessions"] == 0 and by_name(before)["isorec_trace_recording"] == 1
        talk = Talk()
        for number in range(5):
            talk.command(b"\3select %d" % number).server(ok(2))
        client, server = mock.connect(proxy)
        with client, server:
            for from_server, data in talk.steps:
                pass_on(*((server, client) if from_server else (client, server)), data, whole)
            wait_for("the statements", lambda: by_name(figures(ask(proxy)[2]))["isorec_statements_total"] >= 5)
            status, headers, body = ask(proxy)
            assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"), headers
            now, said = figures(body), proxy.statistics()
            plain = by_name(now)
            assert plain["isorec_sessions"] == 1 == said["sessions"], (plain, said)
            assert plain["isorec_sessions_opened_total"] == said["opened"] == 1
            assert plain["isorec_statements_total"] == said["statements"] == 5, (plain, said)
            assert now["isorec_bytes_total", 'direction="to_client"'] == said["to_clients"]
            assert plain["isorec_trace_lost_records_total"] == said["lost"] == 0
            assert now["isorec_node_up", 'node="n1",address="127.0.0.1:%d"' % mock.port] == 1, now
            # Records are counted when their block is written, 100 ms later at most.
            wait_for("the records", lambda: by_name(figures(ask(proxy)[2]))["isorec_trace_records_total"] >
                     by_name(before)["isorec_trace_records_total"])
            assert all(value >= before.get(key, 0) for key, value in now.items() if key[0].endswith("_total"))
        wait_for("the session's end", lambda: by_name(figures(ask(proxy)[2]))["isorec_sessions"] == 0)
        proxy.stop()


@test
def another_reader():
    """... to a parser of Prometheus', where it is installed"""
    try:
        from prometheus_client.parser import text_string_to_metric_families  # pylint: disable=import-outside-toplevel
    except ImportError as missing:
        raise SkipTest("python3-prometheus-client is not installed") from missing
    _, proxy = started()
    with proxy:
        body = ask(proxy)[2]
        theirs = {s.name: s.value for family in text_string_to_metric_families(body) for s in family.samples if not s.labels}
        ours = by_name(figures(body))
        assert set(theirs) == set(ours) and len(ours) > 15, set(theirs) ^ set(ours)
        proxy.stop()


@test
def http():
    """what is no question gets an answer all the same, and who is slow or endless is cut off"""
    _, proxy = started()
    with proxy:
        assert ask(proxy, b"GET / HTTP/1.0\r\n\r\n")[0] == 200
        assert ask(proxy, b"GET /other HTTP/1.1\r\n\r\n")[0] == 404
        assert ask(proxy, b"POST /metrics HTTP/1.1\r\n\r\n")[0] == 405
        assert ask(proxy, b"hello\r\n\r\n")[0] == 400
        assert ask(proxy, b"\0\xff\r\n\r\n")[0] == 400
        status, headers, body = ask(proxy, b"HEAD /metrics HTTP/1.1\r\n\r\n")
        assert status == 200 and body == "" and int(headers["content-length"]) > 1000
        with socket.create_connection(address(proxy), timeout=20) as silent:
            silent.sendall(b"GET /met")
            assert ask(proxy)[0] == 200  # after the silent one was cut off
            assert silent.recv(10) == b""
        with socket.create_connection(address(proxy), timeout=20) as endless:
            try:
                for _ in range(100):
                    endless.sendall(b"x" * 1000)
            except OSError:
                pass
        assert ask(proxy)[0] == 200
        proxy.stop()


@test
def without_a_trace():
    """--no-record has no figures of a trace; an address that is taken is told"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--no-record", "--metrics=127.0.0.1:0") as proxy:
        found = by_name(figures(ask(proxy)[2]))
        assert "isorec_sessions" in found and not any(name.startswith("isorec_trace") for name in found), found
        try:
            with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--metrics=127.0.0.1:%d" % address(proxy)[1]):
                raise RuntimeError("two of them listen at one address")
        except AssertionError as said:
            assert "--metrics" in str(said) and "in use" in str(said), said
        proxy.stop()


@test
def dashboard_and_manual():
    """the dashboard, the alerts and the manual name what is there, and the manual all of it"""
    _, proxy = started()
    with proxy:
        names = {name for name, _ in figures(ask(proxy)[2])}
        proxy.stop()
    with open(os.path.join(TOP, "recorder", "proxy", "isorec-grafana.json"), encoding="utf-8") as file:
        board = json.load(file)
    used = set()
    for panel in board["panels"]:
        for target in panel["targets"]:
            used |= set(re.findall(r"(?:isorec|process)_\w+", target["expr"]))
    assert len(board["panels"]) == len({p["id"] for p in board["panels"]}) >= 10
    assert used <= names, used - names
    with open(os.path.join(TOP, "docs", "monitoring.md"), encoding="utf-8") as file:
        manual = set(re.findall(r"\b(?:isorec|process)_[a-z_]+", file.read()))
    assert manual == names, manual ^ names


if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[3:]))
