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
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, records, run_tests, test, wait_for  # noqa: E402
from scripted import (  # noqa: E402
    CAPS, ISOREC, ISOTRACE, Mock, Talk, greeting, ok, packet, pass_on, play, whole)


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


class Silent(threading.Thread):
    """A server that answers the login and then nothing more."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = []
        self.start()

    def run(self):
        while True:
            conn, _ = self.listener.accept()
            self.open.append(conn)
            conn.sendall(packet(0, greeting(CAPS)))
            conn.recv(4096)
            conn.sendall(packet(2, ok()))


@test
def silent_after_the_login():
    """a server that is silent after the login ends connections of our own in time"""
    silent = Silent()
    for args in (["proxy", "--node=127.0.0.1:%d" % silent.port, "--listen=127.0.0.1:0", "--user=x",
                  "--password=y", "--connect-timeout=1s", "-o", "/dev/null"],
                 ["prepare", "--host=127.0.0.1", "--port=%d" % silent.port, "--user=x", "--connect-timeout=1s", "d"]):
        done = subprocess.run([ISOREC, *args], capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode not in (0, 5) and "connect-timeout" in done.stderr, (args, done)


@test
def out_of_descriptors():
    """without file descriptors clients are told, and so is the reader of the log"""
    mock = Mock()
    with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port], "--workers=1",
               descriptors=40) as proxy:
        clients, said = [], b""
        while b"descriptors" not in said and len(clients) < 60:
            client = socket.create_connection(("127.0.0.1", proxy.port))
            clients.append(client)
            mock.socket.settimeout(0.2)
            try:
                clients.append(mock.socket.accept()[0])
                continue
            except socket.timeout:
                pass
            client.settimeout(10)
            said = client.recv(200)
        assert said[4:7] == b"\xff\x10\x04" and b"out of file descriptors" in said, said
        wait_for("the message", lambda: "out of file descriptors" in proxy.text())
        for client in clients:
            client.close()
        # There is room again.
        with socket.create_connection(("127.0.0.1", proxy.port)):
            mock.socket.settimeout(10)
            mock.socket.accept()[0].close()
        proxy.stop()


@test
def symbolic_links():
    """-o does not write through a symbolic link, and nothing derived from a trace is for others"""
    with tempfile.TemporaryDirectory() as folder:
        link = os.path.join(folder, "link.itr")
        os.symlink(os.path.join(folder, "elsewhere"), link)
        done = subprocess.run([ISOREC, "proxy", "--node=127.0.0.1:1", "--listen=127.0.0.1:0", "-o", link],
                              capture_output=True, text=True, check=False, timeout=30)
        assert done.returncode == 2 and "symbolic link" in done.stderr, done
        assert not os.path.exists(os.path.join(folder, "elsewhere"))
        mock = Mock()
        with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
            play(mock, proxy, Talk().command(b"\3select 1").rows((1, "x")).steps, whole)
            owner = os.stat("/proc/%d/mem" % proxy.process.pid).st_uid
            proxy.stop()
            os.umask(0)
            for args in (["report", "-o", "page.html"], ["check", "-o", "check.json"], ["show", "-o", "show.txt"],
                         ["export", "--to=scenario", "--skip", "-o", "run.scn"]):
                path = os.path.join(folder, args[-1])
                with open(path, "w", encoding="ascii") as before:  # with wider rights
                    before.write("x")
                os.chmod(path, 0o644)
                subprocess.run([ISOTRACE, *args[:-1], path, proxy.trace], capture_output=True, check=False)
                if os.path.exists(path) and os.path.getsize(path) > 1:
                    assert os.stat(path).st_mode & 0o777 == 0o600, (args, oct(os.stat(path).st_mode))
            os.umask(0o022)
        assert owner == 0, "the memory of the recorder is not its user's to read"


sys.exit(run_tests(sys.argv[3:]))
