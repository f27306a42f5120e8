#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check and import on other tools' histories."""
import glob
import os
import random
import struct

from run import HERE, isotrace, scratch, write
import tap
from tracefile import demo


RECORDED = os.path.join(os.path.dirname(__file__), "..", "mvcc", "recorded", "mariadb-10.11")
SKEW = write("skew.edn", """
{:type :ok :process 0 :value [[:append :x 1] [:append :y 1]]}
{:type :ok :process 1 :value [[:r :x [1]] [:r :y nil]]}
{:type :ok :process 2 :value [[:r :x [1]] [:r :y [1]]]}
""")
GOOD = write("good.edn", "{:type :ok :process 0 :value [[:append 1 1]]}\n"
             "{:type :ok :process 1 :value [[:r 1 [1]]]}\n")


def test_violation():
    out = isotrace("check", "--from=elle", "--verbose", SKEW).expect(1).out
    assert "holds:     PL-CS, strong-session-PL-2, PRAM, and what these imply" in out
    assert "fails:     PL-2L, and what implies these" in out
    assert "T1 read key :y as an empty list, the state before T0 appended 1" in out
    brief = isotrace("check", "--from=elle", SKEW).expect(1).out
    assert "G-monotonic: violation" in brief and "G-single: violation" not in brief
    assert "isotrace report --from=elle" in brief


def test_good():
    assert "holds" in isotrace("check", "--from=elle", GOOD).expect(0).out


def test_level():
    isotrace("check", "--from=elle", "--level=read-committed", SKEW).expect(0)
    isotrace("check", "--from=elle", "--level=snapshot-isolation", SKEW).expect(1)
    isotrace("check", "--from=elle", "--level=PL-2", SKEW).expect(0)
    isotrace("check", "--from=elle", "--level=cursor-stability", SKEW).expect(0)
    isotrace("check", "--from=elle", "--level=monotonic-view", SKEW).expect(1)
    isotrace("check", "--from=elle", "--level=read-your-writes", SKEW).expect(0)
    isotrace("check", "--from=elle", "--level=Serializable", SKEW).expect(1)
    isotrace("check", "--from=elle", "--level=PL-7", SKEW).expect(2, "PL-7")
    refused = isotrace("check", "--from=elle", "--level=SERIAL", SKEW).expect(2, "PL-2 (read-committed), ").err
    assert "PL-3 (serializable)" in refused and "be-" not in refused
    # No invocations, so no real time to judge by.
    isotrace("check", "--from=elle", "--level=strict-serializable", SKEW).expect(2, "strict")


def test_json():
    data = isotrace("check", "--from=elle", "--format=json", SKEW).expect(1).json()
    assert data["schema"] == "isotrace.check/1"
    assert data["verdict"] == "violated"
    assert data["levels"]["PL-2"] == "holds" and data["levels"]["PL-SI"] == "fails"
    assert data["weakest_failing"] == ["PL-2L"]
    assert "PL-CS" in data["strongest_holding"] and "PL-2" not in data["strongest_holding"]
    view, finding = data["findings"]
    assert view["class"] == "G-monotonic" and view["transactions"] == ["T0", "T1"]
    assert finding["class"] == "G-single" and finding["severity"] == "violation"
    assert [(e["from"], e["to"], e["kind"]) for e in finding["edges"]] == [
        ("T0", "T1", "wr"), ("T1", "T0", "rw")]
    assert data["coverage"]["undecided"] == 0
    again = isotrace("check", "--from=elle", "--format=json", SKEW).json()
    assert again == data, "two runs differ"


def test_undecided():
    """An ambiguous read: two wrote the value.  Decided, unless the solver may not look."""
    path = write("dup.txt", "r(1,0,0,1)\nw(1,1,0,1)\nr(1,0,1,2)\nw(1,2,1,2)\n"
                            "w(2,5,2,3)\nw(2,5,3,4)\nr(2,5,4,5)\n")
    asked = ("check", "--from=plume", "--format=json", "--level=be-CC")
    data = isotrace(*asked, path).expect(0).json()
    assert data["levels"]["be-CC"] == "holds" and "be-SI" not in data["levels"]
    assert data["coverage"]["undecided"] == 0
    every = isotrace(*asked[:-1], path).expect(1).json()
    assert every["levels"]["be-SI"] == "fails" and every["coverage"]["undecided"] == 0
    data = isotrace(*asked, "--budget=1", path).expect(3).json()
    assert data["verdict"] == "incomplete" and data["levels"]["be-CC"] == "undecided"
    assert data["coverage"]["reasons"]["the solver ran out of steps (--budget)"] > 0


def test_weak_level_alone():
    """A level of Biswas and Enea's is judged without the others, and the answer is the same.  When it
    fails, the first violation is enough, and the others are not looked at."""
    rng = random.Random(7)
    seen = set()
    for i in range(40):
        path = write(f"weak{i}.txt", random_registers(rng))
        every = isotrace("check", "--from=plume", "--format=json", path).json()["levels"]
        for n, level in enumerate(("be-RC", "be-RA", "be-CC")):
            run = isotrace("check", "--from=plume", "--format=json", f"--level={level}", path)
            one = run.json()["levels"]
            assert one[level] == every[level] and run.status == {"holds": 0, "fails": 1}[one[level]]
            implied = ["be-RC", "be-RA", "be-CC"][:n + 1]
            assert list(one) == (implied if one[level] == "holds" else [level])
            assert run.json()["findings"] or one[level] == "holds"
            seen.add(one[level])
    assert seen == {"holds", "fails"}


def test_first():
    """The first violation is enough: the exit status is that of all, and the rest stays undecided."""
    rng = random.Random(8)
    seen = set()
    for i in range(40):
        path = write(f"first{i}.txt", random_registers(rng))
        every = isotrace("check", "--from=plume", "--format=json", path)
        first = isotrace("check", "--from=plume", "--format=json", "--first", path)
        assert first.status == every.status
        for level, answer in first.json()["levels"].items():
            assert answer in ("undecided", every.json()["levels"][level])
        seen.add(first.status)
    assert seen == {0, 1}


def test_unwritten_values():
    """Elle takes a value that no transaction wrote for what was there before."""
    path = write("unwritten.edn", "{:type :ok :process 0 :value [[:w :x 2]]}\n{:type :ok :process 0 :value [[:r :x 3]]}\n")
    [found] = isotrace("check", "--format=json", "--from=elle", path).expect(1).json()["findings"]
    assert found["class"] == "garbage-read" and "--initial=any" in found["explanation"]
    assert not isotrace("check", "--format=json", "--from=elle", "--initial=any", path).expect(0).json()["findings"]
    assert "no transaction wrote" in isotrace("check", "--from=elle", "--initial=any", path).expect(0).out


def test_a_read_done_twice_is_one_finding():
    path = write("twice.txt", "r(1,99,0,1)\nr(1,99,0,1)\n")
    [found] = [f for f in isotrace("check", "--from=plume", "--format=json", path).expect(1).json()["findings"]
               if f["class"] == "garbage-read"]
    assert found["similar"] == 1


def test_nothing_committed():
    """What holds of no transaction at all is not shown by the history."""
    path = write("never.edn", "{:type :invoke :process 0 :f :txn :value [[:append 1 1]]}\n")
    data = isotrace("check", "--from=elle", "--format=json", path).expect(3).json()
    assert data["verdict"] == "incomplete"
    assert data["coverage"]["reasons"] == {"no transaction is known to have committed": 1}
    isotrace("check", "--from=elle", "--level=PL-3", path).expect(3)
    path = write("failed.edn", "{:type :fail :process 0 :f :txn :value [[:append 1 1]]}\n")
    isotrace("check", "--from=elle", path).expect(3)


def test_times():
    """Chronos' format has start and commit times: writers that overlap break snapshot isolation."""
    path = write("overlap.json", '[{"tid":1,"sid":0,"sts":{"p":1,"l":0},"cts":{"p":5,"l":0},"ops":[{"t":"w","k":1,"v":1}]},'
                                 '{"tid":2,"sid":1,"sts":{"p":3,"l":0},"cts":{"p":6,"l":0},"ops":[{"t":"w","k":1,"v":2}]}]')
    out = isotrace("check", path).expect(1).out
    assert "fails:     timed-PL-SI" in out and "G-SIa" in out and "T1 (1 to 5) and T2 (3 to 6) both wrote key 1" in out
    isotrace("check", "--level=timed-snapshot-isolation", path).expect(1)
    isotrace("check", "--level=strict-serializable", path).expect(0)


def test_errors():
    isotrace("check", "--from=elle", scratch("none.edn")).expect(4, "No such file")
    assert isotrace("check", SKEW).expect(1).out == isotrace(
        "check", "--from=elle", SKEW).expect(1).out, "the format is told by its beginning"
    for name, text in (("words.txt", "read the manual\n"), ("README.md", "# isotrace\n")):
        isotrace("check", write(name, text)).expect(
            4, "nor does it begin like a history of another tool; if it is one, name the tool with "
            "--from")
    isotrace("check", write("package.json", '{"type": "module"}\n')).expect(
        4, "begins like a history of elle-json")
    isotrace("check", "--from=trace", SKEW).expect(4, "nor does it begin")
    for options in ((), ("--salvage",)):
        empty = isotrace("check", *options, write("empty", "")).expect(4, "it is empty")
        assert "--from" not in empty.err
    several = os.path.dirname(sorted(glob.glob(os.path.join(HERE, "..", "..", "corpus", "recordings", "*", "*.itr")))[0])
    isotrace("check", several).expect(4, f"{several}/*.itr")
    isotrace("check", "--from=plume", SKEW).expect(4, "does not begin like a history of plume")
    isotrace("check", "--from=excel", SKEW).expect(2, "excel")
    bad = write("bad.edn", "{:type :ok :value [[:r 1 nil]]}\n{:type\n")
    isotrace("check", "--from=elle", bad).expect(4, "bad.edn:3 (byte 39)")


def test_standard_input():
    with open(SKEW, "rb") as file:
        data = file.read()
    assert "G-single" in isotrace("check", "--from=elle", "-", stdin=data).expect(1).out


def test_traces_on_standard_input():
    """Without probes the trace is read twice: once for the history, once for the solver."""
    path = sorted(glob.glob(os.path.join(RECORDED, "*.itr")))[0]
    with open(path, "rb") as file:
        data = file.read()
    by_path = isotrace("check", path, "--format=json").expect(0).json()
    by_pipe = isotrace("check", "-", "--format=json", stdin=data).expect(0).json()
    del by_path["input"]["path"], by_pipe["input"]["path"]
    assert by_path == by_pipe and by_path["coverage"]["decided"] > 0
    data = bytearray(data)
    data[len(data) // 2] ^= 4
    damaged = isotrace("check", "-", stdin=bytes(data)).expect(
        4, "isotrace: standard input is damaged at byte ")
    assert "--from" not in damaged.err, "it is a trace"
    assert isotrace("check", "--salvage", "-", stdin=bytes(data)).expect(3).out
    isotrace("check", "-", stdin=b"# no trace\n").expect(4, "standard input is no isotrace trace")


def test_another_trace_behind_the_first():
    """Its sessions and transactions have the same numbers: they are not mixed up."""
    data = []
    for name in ("T", "U"):
        trace = demo()
        trace.id = name.encode() * 16
        trace.write(scratch("one.itr"))
        with open(scratch("one.itr"), "rb") as file:
            data.append(file.read())
    both = write("two.itr", data[0] + data[1])
    isotrace("check", both).expect(4, f"holds several traces: another one begins at byte {len(data[0])}")
    first = isotrace("check", "--format=json", write("one.itr", data[0])).json()
    salvaged = isotrace("check", "--salvage", "--format=json", both).expect(3).json()
    assert salvaged["findings"] == first["findings"], salvaged
    assert salvaged["input"]["transactions"] == first["input"]["transactions"], salvaged["input"]
    assert "a damaged or torn part of the trace" in str(salvaged["coverage"])
    isotrace("show", "--salvage", both).expect(3, "another trace begins here")


def random_registers(rng):
    """Plume lines; every verdict is the same whatever format carries the history."""
    lines, state, value = [], {}, 0
    for txn in range(rng.randint(1, 12)):
        session = rng.randint(0, 2)
        for _ in range(rng.randint(1, 4)):
            key = rng.randint(1, 3)
            if rng.random() < 0.5:
                value += 1
                state.setdefault(key, [0]).append(value)
                lines.append(f"w({key},{value},{session},{txn})")
            else:
                lines.append(f"r({key},{rng.choice(state.get(key, [0])[-2:])},{session},{txn})")
    return "\n".join(lines) + "\n"


def levels(format, path):
    run = isotrace("check", f"--from={format}", "--format=json", path)
    assert run.status in (0, 1, 3), run.err
    return {k: v for k, v in run.json()["levels"].items() if not k.startswith("strong-PL")}


def test_formats_agree():
    rng = random.Random(5)
    for i in range(25):
        plume = write("h.txt", random_registers(rng))
        expected = levels("plume", plume)
        for to, source in (("elle", "elle"), ("dbcop", "dbcop"), ("plume", "plume")):
            raw = isotrace("import", "--from=plume", f"--to={to}", plume).expect(0).raw
            assert levels(source, write("h." + to, raw)) == expected, (i, to)
        if i % 5 == 0:
            lines = isotrace("import", "--from=plume", plume).lines()
            assert sum(len(t["ops"]) for t in lines) == open(plume).read().count("\n")


def test_refuses_what_does_not_fit():
    isotrace("import", "--from=elle", "--to=plume", SKEW).expect(4, "a list, insert")
    unknown = write("info.edn", "{:type :info :process 0 :value [[:w 1 1]]}")
    isotrace("import", "--from=elle", "--to=dbcop", unknown).expect(4, "outcome is not known")
    word = write("word.edn", "{:type :ok :process 0 :value [[:w :k 1]]}")
    out = isotrace("import", "--from=elle", "--to=plume", word).expect(0).out
    assert out == "w(0,1,0,0)\n", out  # such keys are numbered


def test_elle_round_trip():
    text = ("{:index 0, :type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:r 2 nil]]}\n"
            "{:index 1, :type :invoke, :process 1, :f :txn, :value [[:r 1 nil]]}\n"
            "{:index 2, :type :ok, :process 0, :f :txn, :value [[:append 1 1] [:r 2 []]]}\n"
            "{:index 3, :type :ok, :process 1, :f :txn, :value [[:r 1 [1]]]}\n")
    out = isotrace("import", "--from=elle", "--to=elle", write("rt.edn", text)).expect(0).out
    assert out == text, out


def test_directory():
    os.makedirs(scratch("logs"), exist_ok=True)
    for n, writer in ((0, 0), (1, 1)):
        record = struct.pack(">cQ", b"S", n + 1)
        if writer == 0:
            record += struct.pack(">cQQQ", b"W", 7, 100, 5)
        else:
            record += struct.pack(">cQQQQ", b"R", 1, 7, 100, 5)
        record += struct.pack(">cQ", b"C", n + 1)
        write(f"logs/T{n}.log", record)
    data = isotrace("check", "--from=cobra", "--format=json", scratch("logs")).expect(0).json()
    assert data["input"]["transactions"] == 2
    assert data["levels"]["be-CC"] == "holds"


if __name__ == "__main__":
    tap.main(globals())
