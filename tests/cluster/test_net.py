# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec cluster net: the links between namespaces do what was ordered, and nothing of them is left behind."""
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402
from driving import ISOREC, SKIPPED  # noqa: E402

# Sends every datagram back, and tells at the end which it got.
ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7777))
print("ready", flush=True)
got = []
while True:
    data, sender = s.recvfrom(2000)
    if data == b"end":
        print(" ".join(got), flush=True)
        got = []
    else:
        got.append(data.decode())
    s.sendto(data, sender)
"""
# Sends so many datagrams, each when the one before was answered or the time for it was over.
ASK = """
import json, socket, sys, time
address, count, wait = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((address, 7777))
answered, times = [], []
for number in range(count):
    begun, left = time.monotonic(), wait
    s.send(str(number).encode())
    while left > 0:
        s.settimeout(left)
        try:
            back = int(s.recv(2000))
        except OSError:
            break
        if back == number:
            answered.append(number)
            times.append(time.monotonic() - begun)
            break
        left = begun + wait - time.monotonic()
print(json.dumps({"answered": answered, "times": times}))
"""

# Sends 300 datagrams that nobody waits for, or one word.
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for word in sys.argv[1:] or map(str, range(300)):
    s.sendto(word.encode(), ("10.77.0.2", 7777))
"""


class Network:
    """isorec cluster net open, with an echo on the second node."""

    def __init__(self, nodes=3, seed=1, user=None):
        self.before = (["setpriv", "--reuid=" + user, "--regid=" + user, "--clear-groups"] if user else [])
        self.isorec = subprocess.Popen(self.before + [ISOREC, "cluster", "net", "open", str(nodes), "--seed=%d" % seed],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [self.isorec.stdout.readline().rstrip("\n") for _ in range(nodes + 1)]
        if not lines[0]:
            said = self.isorec.stderr.read()
            if self.isorec.wait() == SKIPPED:
                raise tap.Skip(said.strip())
            raise AssertionError(said)
        self.enter = [self.before + line.split("\t")[1].split() for line in lines[:nodes]]
        self.words = lines[nodes].split("\t")[1]
        self.spaces = {os.readlink(word.split("=")[1]) for word in self.words.split(",")[1:]}
        self.echo = self.python(1, ECHO)
        if self.echo.stdout.readline() != "ready\n":
            self.close()
            raise AssertionError("no program can be run in the namespaces")

    def python(self, node, program, *args):
        return subprocess.Popen(self.enter[node] + ["/usr/bin/python3", "-c", program, *args], stdout=subprocess.PIPE, text=True)

    def ask(self, count, wait=0.1, node=0, address="10.77.0.2"):
        asking = self.python(node, ASK, address, str(count), str(wait))
        return json.loads(asking.communicate()[0])

    def order(self, *words, expect=0):
        done = subprocess.run(self.before + [ISOREC, "cluster", "net", "--process=%d" % self.isorec.pid, *words],
                              capture_output=True, text=True, check=False)
        assert done.returncode == expect, done
        return done.stdout + done.stderr

    def links(self):
        """By link: frames, bytes, dropped, doubled, held back, state."""
        out = {}
        for line in self.order().splitlines()[1:]:
            words = line.split(None, 6)
            out[words[0]] = [int(word) for word in words[1:6]] + [words[6]]
        return out

    def close(self, number=signal.SIGTERM):
        self.echo.kill()
        self.echo.wait()
        self.isorec.send_signal(number)
        return self.isorec.wait(timeout=10)


@contextlib.contextmanager
def network(**options):
    net = Network(**options)
    try:
        yield net
    finally:
        net.close()


def inside(spaces):
    """Processes that run in one of these namespaces."""
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.readlink("/proc/%s/ns/net" % pid) in spaces:
                out.append(int(pid))
    return out


def test_what_is_ordered_is_what_nodes_see():
    with network() as net:
        assert len(net.ask(100)["answered"]) == 100
        assert statistics.median(net.ask(50)["times"]) < 0.01
        net.order("delay", "n1-n2", "20ms")
        # 20 ms each way, and the third node's links are as before.
        assert 0.04 <= min(net.ask(20)["times"]) < 0.06
        assert statistics.median(net.ask(20, node=2)["times"]) < 0.01
        net.order("heal", "n1-n2")
        assert statistics.median(net.ask(20)["times"]) < 0.01
        net.order("delay", "n1>n2", "20ms", "10ms")
        times = net.ask(60)["times"]
        assert 0.0095 <= min(times) < 0.016 and 0.024 < max(times) < 0.05, (min(times), max(times))
        net.order("heal", "all")
        net.order("cut", "n1,n3")
        assert not net.ask(3)["answered"] and not net.ask(3, node=2)["answered"]
        links = net.links()
        assert links["n1>n2"][5] == links["n2>n1"][5] == "cut" and links["n1>n2"][2] >= 3 and "n1>n3" not in links, links


def test_one_way():
    with network() as net:
        net.order("cut", "n2>n1")
        assert not net.ask(5)["answered"]
        # All arrived; the answers did not.
        assert len(net.ask(5, node=2)["answered"]) == 5
        links = net.links()
        assert links["n1>n2"][2] == 0 and links["n2>n1"][2] == 5 and links["n2>n1"][5] == "cut", links


def test_shares_come_from_the_seed():
    outcomes = []
    for seed in (7, 7, 8):
        with network(seed=seed) as net:
            net.order("loss", "n1>n2", "20%")
            before = net.links()["n1>n2"][0]
            net.python(0, SEND).wait()
            deadline = time.monotonic() + 30
            while net.links()["n1>n2"][0] < before + 300 and time.monotonic() < deadline:
                pass
            net.order("heal", "all")
            net.python(0, SEND, "end").wait()
            outcomes.append(net.echo.stdout.readline().split())
    assert outcomes[0] == outcomes[1] != outcomes[2]
    # 300 draws of 0.8: 240, and 7 is the standard deviation.
    assert all(205 <= len(outcome) <= 275 for outcome in outcomes), [len(o) for o in outcomes]


def test_duplicates_and_rate():
    with network() as net:
        net.order("duplicate", "n1>n2", "50%")
        net.ask(200)
        doubled = net.links()["n1>n2"][3]
        assert 65 <= doubled <= 135, doubled
        # What arrived is what was sent and what was doubled.
        net.order("heal", "all")
        end = net.python(0, "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
                         "s.sendto(b'end', ('10.77.0.2', 7777))")
        end.wait()
        assert len(net.echo.stdout.readline().split()) == 200 + doubled
        net.order("rate", "n1>n2", "10K")
        begun = time.monotonic()
        sent = sum(14 + 28 + len(str(number)) for number in range(100))
        assert len(net.ask(100, 1)["answered"]) == 100
        assert time.monotonic() - begun >= sent / 10240 * 0.9


def test_held_back_frames_are_overtaken():
    program = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
               "for number in range(200): s.sendto(str(number).encode(), ('10.77.0.2', 7777))\n"
               "import time; time.sleep(0.2); s.sendto(b'end', ('10.77.0.2', 7777))")
    with network() as net:
        net.python(0, program).wait()
        assert net.echo.stdout.readline().split() == [str(number) for number in range(200)]
        net.order("reorder", "n1>n2", "20%")
        net.python(0, program).wait()
        got = [int(word) for word in net.echo.stdout.readline().split()]
        assert sorted(got) == list(range(200)) and got != sorted(got)


def test_wrong_words():
    with network() as net:
        for words, message in ((("cut", "n9"), "there are 3 nodes"), (("cut",), "links belong here"), (("delay", "n1"), "a time"),
                               (("delay", "n1", "5ms", "9ms"), "not more than the delay"), (("loss", "all", "101%"), "a share"),
                               (("rate", "all", "0"), "bytes a second"), (("murder", "n1"), "cut, delay, loss"),
                               (("cut", "n1", "n2"), "nothing more")):
            assert message in net.order(*words, expect=2), words
        assert all(link[5] == "up" for link in net.links().values())
    done = subprocess.run([ISOREC, "cluster", "net", "--process=1"], capture_output=True, text=True, check=False)
    assert done.returncode == 4 and "no network that answers" in done.stderr, done


def test_nothing_is_left():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        net = Network()
        assert inside(net.spaces) == [net.echo.pid]
        assert net.close(number) == (0 if number != signal.SIGKILL else -signal.SIGKILL)
        assert not inside(net.spaces)
        with open("/proc/net/unix", encoding="ascii") as sockets:
            assert "@isorec-net-%d\n" % net.isorec.pid not in sockets.read()


def test_without_root():
    if os.geteuid() == 0 and not os.access(ISOREC, os.X_OK):
        raise tap.Skip("nobody cannot run it")
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as folder:
        if user:
            os.chmod(folder, 0o755)
            probe = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", ISOREC, "--version"],
                                   capture_output=True, check=False)
            if probe.returncode:
                raise tap.Skip("the user nobody cannot reach %s" % ISOREC)
            user = "65534"
        with network(user=user) as net:
            assert not user or os.path.exists(net.words.split(",")[0]), net.words
            assert len(net.ask(20)["answered"]) == 20
            net.order("cut", "n1>n2")
            assert not net.ask(2)["answered"]


def test_another_user_may_not():
    if os.geteuid() != 0:
        raise tap.Skip("only root can be another user")
    with network() as net:
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ISOREC, "cluster", "net",
                               "--process=%d" % net.isorec.pid, "cut", "all"], capture_output=True, text=True, check=False)
        if "Permission" in done.stderr:
            raise tap.Skip("the user nobody cannot reach %s" % ISOREC)
        assert done.returncode == 4, done
        assert len(net.ask(3)["answered"]) == 3


if __name__ == "__main__":
    assert shutil.which("nsenter") and socket.AF_INET
    tap.main(globals())
