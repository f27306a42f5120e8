#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy between a scripted server and a scripted client: TAP on standard output.

    test_proxy_program.py ISOREC ISOTRACE [TEST...]

The program: service manager, options, manual pages.
"""
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test, wait_for  # noqa: E402
from scripted import ISOREC, ISOTRACE, Mock, Talk, pass_on, whole  # noqa: E402


@test
def service_manager():
    """systemd is told when the proxy listens and when it ends (sd_notify)"""
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as other:
        for name in (os.path.join(other.folder, "notify"), "\0isorec-test-%d" % os.getpid()):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(name)
                manager.settimeout(60)
                env = dict(os.environ, NOTIFY_SOCKET=name.replace("\0", "@"))
                with Proxy(ISOREC, ["127.0.0.1:1"], env=env) as proxy:
                    assert b"READY=1" in manager.recv(1000).split(b"\n")
                    proxy.stop()
                    assert b"STOPPING=1" in manager.recv(1000).split(b"\n")


@test
def status_line():
    """--progress=always: sessions, statements a second, bytes written and waiting"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--progress=always") as proxy:
        client, server = mock.connect(proxy)
        with client, server:
            line = wait_for("a status line", lambda: re.search(
                r"\x1b\[K1 sessions, \d+ statements/s, [\d.]+ MB written, [\d.]+ MB waiting",
                proxy.text()))
            assert line
        proxy.stop()


@test
def failed_start():
    """a start that fails leaves no trace in the way of the next; the last line counts all of it"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
        trace = os.path.join(proxy.folder, "next.itr")
        # The port is taken.
        done = subprocess.run([ISOREC, "proxy", "--node", "127.0.0.1:%d" % mock.port, "--listen",
                               "127.0.0.1:%d" % proxy.port, "-o", trace], capture_output=True,
                              text=True, check=False, timeout=60)
        assert done.returncode == 4 and "in use" in done.stderr, done
        assert not os.path.exists(trace)
        said = proxy.stop().splitlines()
        size = os.path.getsize(proxy.trace)
        last = re.fullmatch(r"isorec: trace (\S+): (\d+) records, (\d+) bytes written, 0 records lost", said[-1])
        assert last and last[1] == proxy.trace and int(last[3]) == size, (said, size)
        assert "waiting" not in said[-2], said
        done = subprocess.run([ISOREC, "proxy", "--node", "127.0.0.1:%d" % mock.port, "-o", proxy.trace],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and os.path.getsize(proxy.trace) == size, done


@test
def option_files():
    """options from a file, the command line wins; files' options stand first; --print-defaults"""
    mock = Mock()
    with Proxy(ISOREC, ["unused=127.0.0.1:1"]) as other:
        path = os.path.join(other.folder, "rec.cnf")
        with open(path, "w", encoding="ascii") as out:
            out.write("[client]\npassword=sesame\nport=1\n[recorder]\nmax_rows = 1\n[recorder-proxy]\n"
                      "capture=statements\nworkers=3 # few\nnode = f=127.0.0.1:%d\n" % mock.port)

        def isorec(*args, status=0):
            done = subprocess.run([ISOREC, "proxy", *args], capture_output=True, text=True,
                                  check=False, timeout=60)
            assert done.returncode == status, done
            return done.stdout if status == 0 else done.stderr

        shown = isorec("--defaults-file=" + path, "--print-defaults")
        assert "--password=*****\n--max-rows=1\n--capture=statements\n--workers=3\n" in shown, shown
        assert "sesame" not in shown and "--buffer: 256M\n" in shown, shown
        assert "before all other" in isorec("--workers=1", "--defaults-file=" + path, status=2)
        assert "cannot be read" in isorec("--defaults-file=/no/such", status=2)
        log = open(os.path.join(other.folder, "log2"), "w+", encoding="utf-8")
        trace = os.path.join(other.folder, "two.itr")
        with log, subprocess.Popen([ISOREC, "proxy", "--defaults-file", path, "--listen=127.0.0.1:0",
                                    "--capture=statements,results", "-o", trace], stderr=log) as proxy:
            def address():
                with open(log.name, encoding="utf-8") as text:
                    return re.search(r"node f: clients connect to \S+:(\d+),", text.read())
            port = int(wait_for("the proxy listens", address).group(1))
            talk = Talk().command(b"\3select * from t").rows((1, "x"), (2, "y"), (3, "z"))
            with socket.create_connection(("127.0.0.1", port)) as client, mock.accept() as server:
                for from_server, data in talk.steps:
                    pass_on(*((server, client) if from_server else (client, server)), data, whole)
            proxy.send_signal(signal.SIGTERM)
        result, = records(ISOTRACE, trace, ["result"])
        assert result["rows"] == [[1, "x"]] and result["total"] == 3, result


sys.exit(run_tests(sys.argv[3:]))
