# SPDX-License-Identifier: GPL-2.0-or-later
"""Coverage: the blocks of a library are instructions, those that ran are told, and nothing of it is left.

The library is zlib, which a program loads that an operation starts with the servers' environment.
"""
import glob
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, ISOTRACE, SERVERS, environment  # noqa: E402

LIBRARY = "libz.so.1"
KIND = """cluster toy
nodes 2
start shell '%s' start mariadb-local --name ${cluster} --with-parent ${parent} --events ${environment} | sed "p; s/^event n1/event n2/"
stop shell '%s' stop ${cluster}
variable -e ${variable}
library %s
state select 'up'
ready up
position select 1

operation load
  when ready
  do shell set -- ${environment}; env "$2" "$4" "$6" /usr/bin/python3 -c 'import ctypes; ctypes.CDLL("%s").adler32(1, b"abc", 3)'
operation use
  when ready
  do shell set -- ${environment}; env "$2" "$4" "$6" /usr/bin/python3 -c 'import ctypes; ctypes.CDLL("%s").crc32(1, b"a" * 999, 999)'
"""
HEAD = "# kind: %s\n# time: 1s\n# rows: 20\n# sessions: 1\n# coverage: yes\n[operations]\n"
AGENT = os.path.join(os.path.dirname(ISOREC), "cluster", "coverage", "isorec-coverage.so")


class Toy:
    def __init__(self):
        if not os.path.exists(AGENT):
            raise tap.Skip("built without libcapstone-dev, or not on x86-64")
        self.temporary = tempfile.TemporaryDirectory(prefix="isorec-coverage-test-")
        self.name = self.temporary.name
        self.environment = dict(environment(self.name), TMPDIR=self.name)
        with open(self.path("toy.cluster"), "w", encoding="utf-8") as out:
            out.write(KIND % (SERVERS, SERVERS, LIBRARY, LIBRARY, LIBRARY))

    def path(self, name):
        return os.path.join(self.name, name)

    def text(self, name, operations):
        with open(self.path(name + ".ops"), "w", encoding="utf-8") as out:
            out.write(HEAD % self.path("toy.cluster") + operations)
        return self.path(name + ".ops")

    def run(self, name, operations):
        done = subprocess.run([ISOREC, "cluster", "run", self.text(name, operations)], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=120)
        assert done.returncode == 0, done
        return self.path(name + ".itr"), done.stderr

    def begin(self, name, operations):
        return subprocess.Popen([ISOREC, "cluster", "run", "-q", self.text(name, operations)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env=self.environment)

    def map(self):
        """Where the library is, its blocks' addresses, and which were reached, once the agent has them."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            for path in glob.glob(self.path("isorec-coverage-*/map")):
                with open(path, "rb") as file, open(os.path.join(os.path.dirname(path), "library"), encoding="utf-8") as library:
                    data = file.read()
                    count = struct.unpack_from("<QQII", data)[2]
                    at = len(data) - 9 * count
                    return library.read(), struct.unpack_from("<%dQ" % count, data, at), data[at + 8 * count:]
            time.sleep(0.05)
        raise AssertionError("no map")

    def left(self):
        until = time.monotonic() + 20
        while glob.glob(self.path("isorec-coverage-*")) and time.monotonic() < until:
            time.sleep(0.05)
        return glob.glob(self.path("isorec-coverage-*"))


def coverage(*traces):
    done = subprocess.run([ISOREC, "cluster", "coverage", *traces], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def figures(text):
    """Of each trace: blocks reached, and here alone."""
    return [(int(a), int(b)) for a, b in re.findall(r"^ *(\d+) +[\d.]+% +(\d+)  /", text, re.MULTILINE)]


def test_what_runs_is_told():
    toy = Toy()
    loaded, _ = toy.run("loaded", "at 200ms load n1\n")
    used, _ = toy.run("used", "at 200ms load n1\nthen use n1\n")
    status, text = coverage(loaded, used)
    assert status == 0, text
    (few, few_alone), (more, more_alone) = figures(text)
    assert 0 < few < more and few_alone == 0 and more_alone == more - few, text
    assert re.search(r"^ *%d +[\d.]+%% +together$" % more, text, re.MULTILINE), text
    # The server came through it, and the trace is judged as ever.
    check = subprocess.run([ISOTRACE, "check", "--oracle=sync", used], capture_output=True, text=True, check=False)
    assert check.returncode == 0 and "found:     nothing" in check.stdout, check
    assert not toy.left()


def test_blocks_are_instructions():
    """By another disassembler."""
    toy = Toy()
    isorec = toy.begin("long", "at 100ms load n1\nthen use n1\nthen after 60s use n1\n")
    try:
        library, addresses, _ = toy.map()
    finally:
        isorec.send_signal(signal.SIGINT)
        isorec.wait(timeout=60)
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    instructions = {int(word, 16) for word in re.findall(r"^ +([0-9a-f]+):\t", listing, re.MULTILINE)}
    assert len(addresses) > 20 and list(addresses) == sorted(set(addresses))
    assert set(addresses) <= instructions, [hex(a) for a in set(addresses) - instructions][:5]
    # Where a jump leads, and what follows a conditional one, begins a block, within functions that are listed.
    jumps = re.findall(r"^ +([0-9a-f]+):\tj(\w+) +([0-9a-f]+) <", listing, re.MULTILINE)
    ordered = sorted(instructions)
    known = set(addresses)
    expected = {int(target, 16) for _, _, target in jumps} & known
    assert len(expected) > 5
    # A few functions have no entry in .eh_frame, or are not understood: they have one block, or none.
    after = [ordered[ordered.index(int(at, 16)) + 1] for at, kind, _ in jumps if kind != "mp"]
    assert sum(address in known for address in after) > 0.95 * len(after) > 20, (len(after), len(known))
    assert not toy.left()


def test_nothing_is_left_after_a_kill():
    toy = Toy()
    isorec = toy.begin("killed", "at 100ms load n1\nthen after 60s use n1\n")
    toy.map()
    isorec.kill()
    isorec.wait()
    assert not toy.left()


def test_without_it():
    toy = Toy()
    toy.environment["ISOREC_COVERAGE_AGENT"] = toy.path("nosuch.so")
    trace, said = toy.run("without", "at 200ms load n1\n")
    assert "isorec-coverage.so is not there" in said, said
    status, text = coverage(trace)
    assert status == 4 and "has no coverage" in text, text


if __name__ == "__main__":
    tap.main(globals())
