#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Small traces that name much memory: TAP on standard output.

    test_bombs.py ISOTRACE MAKE_BOMBS
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402

ISOTRACE, MAKE_BOMBS = [os.path.abspath(path) for path in sys.argv[1:3]]
FOLDER = tempfile.TemporaryDirectory()
COMMANDS = (["check"], ["stats"], ["stats", "--digest"], ["export", "--to=elle"], ["report", "-o", "report.html"])
MEGABYTE = 1 << 20
subprocess.run([MAKE_BOMBS, FOLDER.name], check=True)


def run(arguments, folder):
    """Exit status, messages, and the most memory that it had, in bytes."""
    with open(os.path.join(folder, "messages"), "w+b") as messages:
        child = subprocess.Popen([ISOTRACE, *arguments], stdout=subprocess.DEVNULL, stderr=messages, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        return child.returncode, messages.read().decode(errors="replace"), usage.ru_maxrss * 1024


def check_all(name, most):
    size = os.path.getsize(os.path.join(FOLDER.name, name))
    assert size < 400 * 1024, size
    for command in COMMANDS:
        status, said, memory = run([*command, name], FOLDER.name)
        print("# %s, %d KB: %s: status %d, %d MB" % (
            name, size // 1024, " ".join(command), status, memory // MEGABYTE))
        assert 0 <= status <= 4 and "internal" not in said, (command, status, said)
        assert memory < most * MEGABYTE, (command, memory // MEGABYTE)
        yield command, status, said


def test_a_block_that_grows_by_more_than_the_ratio():
    """7 KB that become 80 MB are refused before memory is taken for them"""
    for command, status, said in check_all("shrunk.itr", 100):
        assert status != 0 and "shrunk more than any block may" in said, (command, status, said)


def test_blocks_that_keep_to_the_ratio():
    """128 KB of blocks, each as large as allowed"""
    for name in ["results.itr", "rows.itr"] + ["tiny-%d.itr" % kind for kind in (4, 5, 6, 7, 8)]:
        for _ in check_all(name, 400):
            pass


def test_rows_without_values_of_a_wide_table():
    """a wide table with rows that have no values: no memory for values that are not there"""
    for _ in check_all("wide.itr", 200):
        pass


if __name__ == "__main__":
    tap.main(globals())
