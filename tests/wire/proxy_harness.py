# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of isorec proxy share: TAP, the proxy as a process, traces read back."""
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

TESTS = []


class SkipTest(Exception):
    """The reason is the argument."""


def test(function):
    TESTS.append(function)
    return function


def run_tests(only=()):
    """Runs the tests in order and prints TAP; returns the exit status."""
    failed = 0
    chosen = [t for t in TESTS if not only or t.__name__ in only]
    print("1..%d" % len(chosen), flush=True)
    for number, function in enumerate(chosen, 1):
        name = "%d - %s" % (number, (function.__doc__ or function.__name__).strip().split("\n")[0])
        try:
            function()
            print("ok " + name, flush=True)
        except SkipTest as reason:
            print("ok %s # SKIP %s" % (name, reason), flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("not ok " + name)
            for line in traceback.format_exc().splitlines():
                print("# " + line)
            sys.stdout.flush()
    return 1 if failed else 0


def run_servers(program, *args, check=True, env=None):
    """isorec-servers: what it prints.  A release that cannot be had skips the test."""
    done = subprocess.run([program, *args], env=env, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        raise SkipTest(done.stderr.strip())
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def wait_for(what, condition, seconds=60):
    """For states that no descriptor announces.  The limit is for a broken program only."""
    for _ in range(int(seconds * 100)):
        value = condition()
        if value:
            return value
        select.select([], [], [], 0.01)
    raise AssertionError("it never came: " + what)


def preloaded(folder, source, **more):
    """The environment in which programs use these functions in place of the C library's."""
    library = os.path.join(folder, "preload.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source,
                   text=True, check=True)
    # The address sanitizer wants to be the first library, and would end the program.
    return dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS="verify_asan_link_order=0", **more)


def limit(file_size, descriptors):
    if file_size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    if descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))


class Proxy:
    """isorec proxy, started and ready; `port` (or `ports`, one a node) is where to connect."""

    def __init__(self, isorec, nodes, *options, listen=None, trace=None, env=None,
                 file_size=None, first=(), descriptors=None):
        self.folder = tempfile.mkdtemp(prefix="isorec-proxy-")
        self.trace = trace or os.path.join(self.folder, "run.itr")
        self.log = open(os.path.join(self.folder, "log"), "w+", encoding="utf-8")
        args = [isorec, "proxy", *first, "-o", self.trace]
        for node in nodes:
            args += ["--node", node]
        for address in listen or ["127.0.0.1:0"] * len(nodes):
            args += ["--listen", address]
        self.process = subprocess.Popen([*args, *options], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, env=env,
                                        preexec_fn=lambda: limit(file_size, descriptors))
        self.ports = []
        wait_for("the proxy listens: " + self.text(), lambda: self.listening(len(nodes)))
        self.port = self.ports[0] if self.ports else None

    def text(self):
        with open(self.log.name, encoding="utf-8") as log:
            return log.read()

    def listening(self, count):
        text = self.text()
        if self.process.poll() is not None:
            raise AssertionError("the proxy ended: " + text)
        lines = re.findall(r"clients connect to (\S+), the server", text)
        self.ports = [int(m) for m in re.findall(r"clients connect to \S*:(\d+), the", text)]
        return len(lines) == count

    def memory(self):
        """Peak resident memory in bytes."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024

    def statistics(self):
        before = self.text().count("sessions open")
        self.process.send_signal(signal.SIGUSR1)
        wait_for("statistics", lambda: self.text().count("sessions open") > before)
        line = [line for line in self.text().splitlines() if "sessions open" in line][-1]
        names = {"sessions": r"(\d+) sessions open", "opened": r"(\d+) in all",
                 "opaque": r"(\d+) opaque", "statements": r"(\d+) statements",
                 "to_clients": r"(\d+) to clients", "written": r"(\d+) bytes written",
                 "lost": r"(\d+) records lost"}
        return {name: int(re.search(regex, line).group(1)) for name, regex in names.items()}

    def stop(self, how=signal.SIGTERM, status=0):
        """Ends it and returns what it printed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(timeout=60)
        assert self.process.returncode == status, "exit status %s\n%s" % (
            self.process.returncode, self.text())
        return self.text()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def records(isotrace, trace, kinds=None):
    """The records of a trace, as isotrace shows them."""
    done = subprocess.run([isotrace, "show", "--format=ndjson", trace], capture_output=True,
                          check=False)
    assert done.returncode in (0, 3), done.stderr
    out = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        record = json.loads(line)
        if kinds is None or record.get("kind") in kinds:
            out.append(record)
    return out
