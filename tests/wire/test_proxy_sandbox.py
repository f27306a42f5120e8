#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What isorec-proxy.service forbids, isorec proxy does not do: TAP on standard output.

    test_proxy_sandbox.py ISOREC ISOTRACE UNIT

Starting a unit needs a running systemd; what its filters let through is told by systemd-analyze, and
what the proxy does by strace.
"""
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from proxy_harness import Proxy, SkipTest, run_tests, test, wait_for  # noqa: E402
from scripted import ISOREC, Mock, Talk, ok, play, whole  # noqa: E402

UNIT = os.path.abspath(sys.argv[3])
EXPOSURE_MAX = 20  # tenths, of the scale of systemd-analyze security


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise SkipTest("%s is not installed" % program)


def settings(name):
    """What the unit has under that name, in order."""
    with open(UNIT, encoding="utf-8") as unit:
        return re.findall("^%s=(.*)$" % name, unit.read(), re.M)


def members(group):
    """The system calls of a group of systemd's, those of the groups in it included."""
    out = set()
    done = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines()[1:]:
        word = line.strip()
        if word.startswith("@"):
            out |= members(word)
        elif word and not word.startswith("#"):
            out.add(word)
    return out


def allowed_calls():
    allowed = set()
    for value in settings("SystemCallFilter"):
        for word in value.lstrip("~").split():
            calls = members(word) if word.startswith("@") else {word}
            allowed = allowed - calls if value.startswith("~") else allowed | calls
    # Whatever a filter says, these stay: systemd.exec(5).
    return allowed | members("@default") | {"execve", "exit", "exit_group", "getrlimit", "rt_sigreturn", "sigreturn"}


def traced():
    """The lines of strace for a proxy that records, rotates, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        out, starter = os.path.join(folder, "strace"), os.path.join(folder, "isorec")
        with open(starter, "w", encoding="ascii") as script:
            script.write("#!/bin/sh\nexec strace -f -qq -o %s %s \"$@\"\n" % (out, ISOREC))
        os.chmod(starter, 0o755)
        mock = Mock()
        with Proxy(starter, ["127.0.0.1:%d" % mock.port], "--durable", "--max-size=4K", "--redact=[0-9]+",
                   "--compression=1") as proxy:
            # strace forwards no signal: the proxy is its child.
            with open("/proc/%d/task/%d/children" % (proxy.process.pid, proxy.process.pid), encoding="ascii") as file:
                child = int(file.read().split()[0])
            for number in range(20):
                talk = Talk().command(b"\3insert into t values (%d, '%s')" % (number, b"x" * 500)).server(ok())
                play(mock, proxy, talk.steps, whole)
            os.kill(child, signal.SIGHUP)
            os.kill(child, signal.SIGUSR1)
            wait_for("statistics", lambda: "sessions open" in proxy.text())
            os.kill(child, signal.SIGTERM)
            assert proxy.process.wait(timeout=60) == 0, proxy.text()
        with open(out, encoding="utf-8", errors="replace") as lines:
            return lines.read().splitlines()


@test
def system_calls():
    """the proxy makes only system calls, sockets and memory that the unit allows"""
    needs("strace", "systemd-analyze")
    lines, allowed = traced(), allowed_calls()
    used = {match.group(1) for match in (re.match(r"\d+ +(\w+)\(", line) for line in lines) if match}
    assert len(used) > 30 and "epoll_wait" in used and "fdatasync" in used, sorted(used)
    # The filter is one: what a proxy never needs is not in it.
    assert not allowed & {"mount", "ptrace", "setuid", "reboot", "init_module"}, allowed
    assert not used - allowed, sorted(used - allowed)
    families = {match.group(1) for match in (re.search(r" socket\((AF_\w+)", line) for line in lines) if match}
    assert families and families <= set(settings("RestrictAddressFamilies")[0].split()), families
    assert settings("MemoryDenyWriteExecute") == ["yes"]
    assert not [line for line in lines if "PROT_WRITE|PROT_EXEC" in line]


@test
def exposure():
    """systemd finds the unit well closed"""
    needs("systemd-analyze")
    done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=%d" % EXPOSURE_MAX, UNIT],
                          capture_output=True, text=True, check=False)
    if "unrecognized option" in done.stderr:
        raise SkipTest("this systemd-analyze looks at running systems only")
    assert done.returncode == 0 and "exposure level" in done.stdout, done.stdout[-300:] + done.stderr


def dies_with_core(start):
    """Whether a process that dies by SIGABRT leaves a core."""
    process = start()
    os.kill(process.pid, signal.SIGABRT)
    _, status = os.waitpid(process.pid, 0)
    process.returncode = -signal.SIGABRT
    assert os.WIFSIGNALED(status), status
    return os.WCOREDUMP(status)


@test
def no_core():
    """a proxy that is killed leaves no core, which would hold what it relayed"""
    limit = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (limit[1], limit[1]))
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            if not dies_with_core(lambda: subprocess.Popen(["sleep", "100"])):
                raise SkipTest("no process leaves a core here")
            mock = Mock()
            with Proxy(ISOREC, ["127.0.0.1:%d" % mock.port]) as proxy:
                assert not dies_with_core(lambda: proxy.process)
        finally:
            os.chdir(here)
            resource.setrlimit(resource.RLIMIT_CORE, limit)


sys.exit(run_tests())
