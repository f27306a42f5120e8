# SPDX-License-Identifier: GPL-2.0-or-later
"""`isorec tap`: packets give the trace that the proxy gives, in whatever shape they come; what is lost is said.

Arguments: ISOREC ISOTRACE ISOREC-SERVERS RELEASE
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scripts")]
import packets  # noqa: E402
import tap  # noqa: E402

ISOREC, ISOTRACE, SERVERS, RELEASE = sys.argv[1:5]
INSTANCE = "tap-%d" % os.getpid()
PORT = 0
LOG = []  # of one load


def servers(*args):
    done = subprocess.run([SERVERS, *args], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print("1..0 # SKIP " + done.stderr.strip())
        sys.exit(0)
    assert done.returncode == 0, done.stderr
    return done.stdout


def client(port, text, database="h"):
    return subprocess.Popen(["mariadb", "-h127.0.0.1", "-P%d" % port, "-uroot", "--skip-ssl", "--force", database],
                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True), text


def load(port, sessions=3):
    """The same statements of each session, whoever is faster: each has rows of its own."""
    running = []
    for number in range(sessions):
        rng = random.Random(number)
        lines = ["create table if not exists t%d (k int primary key, v int, s varchar(4000));" % number]
        for n in range(40):
            key = rng.randint(0, 9)
            lines += ["begin;", "insert ignore into t%d values (%d, 0, repeat('x', %d));" % (number, key,
                                                                                            rng.randint(0, 3000)),
                      "update t%d set v = %d where k <= %d;" % (number, n, key), "select * from t%d;" % number,
                      "select nothing from t%d;" % number, rng.choice(["commit;", "rollback;"]),
                      "select count(*), sum(v) from t%d; " % number,
                      "prepare p from 'select v from t%d where k = ?'; set @k = %d; execute p using @k;" % (number, key)]
        process, text = client(port, "\n".join(lines))
        process.stdin.write(text)
        process.stdin.close()
        running.append(process)
    for process in running:
        process.wait(60)


def fresh():
    process, text = client(PORT, "drop database if exists h; create database h;", "mysql")
    process.stdin.write(text)
    process.stdin.close()
    process.wait(30)


def conversations(trace):
    """What each session said and was answered, whatever its number and its times."""
    shown = subprocess.run([ISOTRACE, "show", "--format=ndjson", trace], capture_output=True, text=True, check=False)
    sessions = {}
    for line in shown.stdout.splitlines():
        r = json.loads(line)
        if r["kind"] == "stmt":
            sessions.setdefault(r["session"], []).append(
                [r[f] for f in ("number", "command", "text", "params", "status", "affected", "insert_id", "warnings",
                                "info", "error", "error_text", "result_sets", "rows", "reply_bytes")])
        elif r["kind"] == "result" and r["part"]:
            # How many rows a part has depends on how many bytes came at once.
            sessions[r["session"]][-1][3] += r["rows"]
            sessions[r["session"]][-1][4] = r["total"]
        elif r["kind"] == "result":
            sessions.setdefault(r["session"], []).append(
                [r[f] for f in ("number", "set", "columns", "rows", "total")])
        elif r["kind"] == "txn":
            sessions.setdefault(r["session"], []).append([r[f] for f in ("event", "number", "level", "outcome", "reason")])
    return sorted(sessions.values(), key=str)


def record(trace, *files, status=0, port=None):
    done = subprocess.run([ISOREC, "tap", "--server-port=%d" % (port or PORT), "--overwrite", "-o", trace, *files],
                          capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def findings(trace):
    done = subprocess.run([ISOTRACE, "check", "--format=json", trace], capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["findings"] if done.stdout.startswith("{") else []


def the_log():
    if not LOG:
        fresh()
        relay = packets.Relay(PORT)
        load(relay.port)
        LOG.extend(relay.end())
    return LOG


def plain(folder):
    trace = os.path.join(folder, "plain.itr")
    path = os.path.join(folder, "plain.pcap")
    packets.write(path, packets.segments(the_log()), PORT)
    said = record(trace, path)
    assert "3 sessions" in said, said
    told = conversations(trace)
    assert sum(len(s) for s in told) > 500
    return told


def test_packets_tell_what_the_proxy_tells():
    """The relay's conversation passes the proxy as well: the proxy is its server."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        recorded = os.path.join(folder, "proxy.itr")
        with tempfile.NamedTemporaryFile("w+") as log:
            proxy = subprocess.Popen([ISOREC, "proxy", "--node=127.0.0.1:%d" % PORT, "--listen=127.0.0.1:0", "-o", recorded],
                                     stderr=log)
            port = 0
            while not port:
                for line in open(log.name, encoding="utf-8"):
                    if "clients connect to" in line:
                        port = int(line.split("clients connect to 127.0.0.1:")[1].split(",")[0])
                time.sleep(0.01)
            relay = packets.Relay(port)
            load(relay.port)
            passed = relay.end()
            proxy.send_signal(signal.SIGTERM)
            assert proxy.wait(60) == 0
        path, tapped = os.path.join(folder, "t.pcap"), os.path.join(folder, "tap.itr")
        packets.write(path, packets.segments(passed), PORT)
        record(tapped, path)
        one, other = conversations(recorded), conversations(tapped)
        assert one == other and len(one) == 3, [(a, b) for x, y in zip(one, other) for a, b in zip(x, y) if a != b][:2]


def test_shapes():
    """Links, versions of IP, forms of files, byte orders, sizes of segments: the same conversations."""
    with tempfile.TemporaryDirectory() as folder:
        want = plain(folder)
        trace, path = os.path.join(folder, "s.itr"), os.path.join(folder, "s.pcap")
        shapes = [dict(link=link, version=version) for link in ("ethernet", "vlan", "qinq", "raw", "sll", "sll2", "loop")
                  for version in (4, 6)]
        shapes += [dict(form=form, order=order, nanoseconds=ns, compressed=gz) for form in ("pcap", "pcapng")
                   for order in "<>" for ns in (False, True) for gz in (False, True)]
        for shape in shapes:
            packets.write(path, packets.segments(the_log()), PORT, **shape)
            record(trace, path)
            assert conversations(trace) == want, shape
        for size in (1, 7, 1460, 200000):
            log = the_log() if size > 1 else [e for e in the_log() if e[1] == 0]
            packets.write(path, packets.segments(log, size), PORT)
            record(trace, path)
            got = conversations(trace)
            assert got == want or (size == 1 and got[0] in want), size


def test_rotated_files():
    with tempfile.TemporaryDirectory() as folder:
        want = plain(folder)
        all_of_them = packets.segments(the_log())
        third = len(all_of_them) // 3
        paths = []
        for number in range(4):
            part = all_of_them[number * third:(number + 1) * third]
            if part:
                paths.append(os.path.join(folder, "r%d" % number))
                packets.write(paths[-1], part, PORT, compressed=number == 1)
        trace = os.path.join(folder, "r.itr")
        record(trace, *paths)
        assert conversations(trace) == want


def test_order_and_copies():
    """Packets that were captured out of order, and more than once."""
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        want = plain(folder)
        trace, path = os.path.join(folder, "o.itr"), os.path.join(folder, "o.pcap")
        for round_ in range(20):
            some = packets.segments(the_log(), rng.choice([100, 1460]))
            for _ in range(len(some) // 10):
                at = rng.randrange(4, len(some) - 8)
                to = at + rng.randint(1, 6)
                # The first packet of a connection comes first: the others are answers to it.
                copy = rng.random() < 0.3 or some[at].flags & packets.SYN
                some.insert(to, some[at] if copy else some.pop(at))
            packets.write(path, some, PORT)
            record(trace, path)
            assert conversations(trace) == want, round_


def statements(trace):
    return [s for session in conversations(trace) for s in session if len(s) == 14]


def test_losses_are_said():
    """Packets are taken out: sessions that lack some are opaque, what was read before is what it was, and nothing is found."""
    rng = random.Random(9)
    with tempfile.TemporaryDirectory() as folder:
        plain(folder)
        true = {str(s) for s in statements(os.path.join(folder, "plain.itr"))}
        trace, path = os.path.join(folder, "l.itr"), os.path.join(folder, "l.pcap")
        for round_ in range(60):
            some = packets.segments(the_log(), rng.choice([200, 1460]))
            for _ in range(rng.choice([1, 2, 20])):
                # Not one that only acknowledges: nobody misses that.
                data = [i for i, p in enumerate(some) if p.data]
                del some[rng.choice(data)]
            packets.write(path, some, PORT)
            said = record(trace, path, status=3)
            assert "lost packets" in said, said
            # A statement whose answer is cut off was sent, and that is all.
            unknown = [s for s in statements(trace) if str(s) not in true and s[13] and s[9] == 0]
            assert not [s for s in unknown if s[4]], (round_, unknown[:2])
            assert not findings(trace), round_


def test_cut_packets():
    """A snapshot length that keeps only the beginning of each packet."""
    with tempfile.TemporaryDirectory() as folder:
        plain(folder)
        trace, path = os.path.join(folder, "c.itr"), os.path.join(folder, "c.pcap")
        packets.write(path, packets.segments(the_log()), PORT, snap=300)
        assert "lost packets" in record(trace, path, status=3)
        assert not findings(trace)


def test_sessions_that_were_open_before():
    with tempfile.TemporaryDirectory() as folder:
        plain(folder)
        trace, path = os.path.join(folder, "b.itr"), os.path.join(folder, "b.pcap")
        some = packets.segments(the_log())
        packets.write(path, some[len(some) // 2:], PORT)
        said = record(trace, path, status=3)
        assert "were open before" in said, said
        assert not findings(trace)


def test_damaged_files():
    """Bytes altered, files cut off: read up to there or refused, and never taken for something else."""
    rng = random.Random(2)
    with tempfile.TemporaryDirectory() as folder:
        trace, path = os.path.join(folder, "d.itr"), os.path.join(folder, "d.pcap")
        small = [e for e in the_log() if e[1] == 0][:60]
        for form in ("pcap", "pcapng"):
            data = packets.write(path, packets.segments(small), PORT, form=form)
            for round_ in range(60):
                altered = bytearray(data)
                if round_ % 2:
                    altered = altered[:rng.randrange(len(data))]
                for _ in range(rng.randint(0, 3) if altered else 0):
                    altered[rng.randrange(len(altered))] = rng.randrange(256)
                with open(path, "wb") as file:
                    file.write(altered)
                done = subprocess.run([ISOREC, "tap", "--server-port=%d" % PORT, "--overwrite", "-o", trace, path],
                                      capture_output=True, text=True, check=False)
                assert done.returncode in (0, 3, 4), (form, round_, done.returncode, done.stderr)
                assert done.returncode != 4 or done.stderr.startswith("isorec: " + path), done.stderr


def test_live():
    """On the loopback interface, between the proxy and its server: what both recorded is the same."""
    fresh()
    with tempfile.TemporaryDirectory() as folder:
        recorded, tapped = os.path.join(folder, "proxy.itr"), os.path.join(folder, "tap.itr")
        listening = subprocess.Popen([ISOREC, "tap", "-i", "lo", "--server-port=%d" % PORT, "-o", tapped],
                                     stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        first = listening.stderr.readline()
        if "capturing on lo" not in first:
            listening.wait(10)
            raise tap.Skip("packets cannot be captured here: " + first.strip())
        with tempfile.NamedTemporaryFile("w+") as log:
            proxy = subprocess.Popen([ISOREC, "proxy", "--node=127.0.0.1:%d" % PORT, "--listen=127.0.0.1:0", "-o", recorded],
                                     stderr=log)
            port = 0
            while not port:
                for line in open(log.name, encoding="utf-8"):
                    if "clients connect to" in line:
                        port = int(line.split("clients connect to 127.0.0.1:")[1].split(",")[0])
                time.sleep(0.01)
            load(port)
            proxy.send_signal(signal.SIGTERM)
            assert proxy.wait(60) == 0
        listening.send_signal(signal.SIGTERM)
        out, err = listening.communicate(timeout=60)
        assert listening.returncode == 0, (out, err)
        one, other = conversations(recorded), conversations(tapped)
        assert one == other, [(a, b) for x, y in zip(one, other) for a, b in zip(x, y) if a != b][:2] or (
            len(one), len(other), out)


def main():
    global PORT
    instance = json.loads(servers("start", RELEASE, "--name=" + INSTANCE, "--json", "--with-parent=%d" % os.getpid()))
    PORT = instance["port"]
    try:
        tap.main(globals())
    finally:
        subprocess.run([SERVERS, "stop", INSTANCE], capture_output=True, check=False)


if __name__ == "__main__":
    main()
