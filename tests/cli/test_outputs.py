#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where commands write: never over what they read, whole or not at all, and said."""
import os
import shutil
import subprocess
import sys

from run import isotrace, scratch, write
import tap
import tracefile

ISOREC = os.path.abspath(sys.argv[3])
TRACE = scratch("run.itr")
tracefile.demo().write(TRACE)
with open(TRACE, "rb") as source:
    BYTES = source.read()
EDN = '{:type :ok :process 0 :value [[:append :x 1]]}\n{:type :ok :process 1 :value [[:r :x [1]]]}\n'

# Every command that has -o, after it the traces it reads.
COMMANDS = {
    "report": ["report"],
    "check": ["check", "-q"],
    "export": ["export", "--to=scenario"],
    "diff": ["diff", TRACE],
}


def unharmed():
    with open(TRACE, "rb") as file:
        assert file.read() == BYTES


def target(command, path):
    return f"html:{path}" if command == "check" else path


def test_the_input_is_not_overwritten():
    """By whatever name it is called."""
    hard, soft = scratch("hard.html"), scratch("soft.html")
    os.link(TRACE, hard)
    os.symlink(TRACE, soft)
    os.makedirs(scratch("sub"), exist_ok=True)
    for command, words in COMMANDS.items():
        for name in (TRACE, hard, soft, os.path.join(scratch("sub"), "..", "run.itr")):
            isotrace(*words, TRACE, "-o", target(command, name)).expect(2, "is what is read")
            unharmed()
            assert os.path.islink(soft) and os.path.samefile(hard, TRACE)


def test_no_other_trace_is_overwritten():
    other = scratch("other.itr")
    for cut in (None, 400):  # a damaged one neither
        with open(other, "wb") as file:
            file.write(BYTES[:cut])
        for command, words in COMMANDS.items():
            isotrace(*words, TRACE, "-o", target(command, other)).expect(2, "is a trace")
            assert os.path.getsize(other) == len(BYTES[:cut])


def test_folders_and_histories_are_inputs_too():
    segments = scratch("segments")
    os.makedirs(segments)
    shutil.copy(TRACE, os.path.join(segments, "1.itr"))
    notes = os.path.join(segments, "notes.html")
    with open(notes, "w", encoding="utf-8") as file:
        file.write("mine")
    isotrace("report", segments, "-o", notes).expect(2, "in the folder that is read")
    edn = write("h.edn", EDN)
    isotrace("import", edn, "-o", edn).expect(2, "is what is read")
    isotrace("report", edn, "-o", edn).expect(2, "is what is read")
    contract = write("my.contract", "x")
    isotrace("report", f"--contract-file={contract}", TRACE, "-o", contract).expect(2, "is what is read")
    isotrace("check", TRACE, "-o", "json:" + scratch("x"), "-o", "tap:" + scratch("x")).expect(2, "two outputs")
    for path, text in ((edn, EDN), (contract, "x"), (notes, "mine")):
        with open(path, encoding="utf-8") as file:
            assert file.read() == text


def test_other_files_are_replaced():
    """What was written before is written again."""
    out = write("out", "old")
    for words in (["export", "--to=json", "--skip"], ["diff", TRACE], ["diff", "-f", "html", TRACE]):
        there = isotrace(*words, TRACE)
        isotrace(*words, TRACE, "-o", out).expect(there.status, there.err or None)
        with open(out, "rb") as file:
            assert file.read() == there.raw and there.raw, words
    edn = write("h.edn", EDN)
    assert isotrace("import", edn, "-o", out).expect(0).out == ""
    with open(out, "rb") as file:
        assert file.read() == isotrace("import", edn).raw
    assert not os.path.exists(out + ".part")


def test_report_says_where_it_wrote():
    out = scratch("where.html")
    done = isotrace("report", TRACE, "-o", out)
    assert done.out.startswith(f"wrote {out}, ") and "browser" in done.out, done.out
    assert isotrace("report", TRACE, "-o", "-").out.startswith("<!doctype html>")


def test_nothing_is_left_of_a_failure():
    out = write("kept", "old")
    isotrace("export", "--to=scenario", write("bad.itr", "no trace"), "-o", out).expect(4, "bad.itr")
    isotrace("export", "--to=scenario", TRACE, "-o", scratch("no/such")).expect(4, "no/such")
    isotrace("diff", TRACE, TRACE, "-o", "/dev/full").expect(4, "cannot write /dev/full")
    with open(out, encoding="utf-8") as file:
        assert file.read() == "old"
    assert not os.path.exists(out + ".part")


def test_replay_does_not_overwrite_what_it_replays():
    # Before any server is asked.
    for words in (["-o", TRACE], ["-o", os.path.dirname(TRACE)]):
        done = subprocess.run([ISOREC, "replay", "--overwrite", "-h", "127.0.0.1", "-P", "1", *words, TRACE],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2 and "is what is replayed" in done.stderr, done.stderr
        unharmed()


if __name__ == "__main__":
    tap.main(globals())
