#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""With little memory isotrace prints the same as with much: TAP on standard output.

    test_little_memory.py ISOTRACE ISOSIM ISOREC [TRACES]

Large blocks of memory are in a temporary file then (formats/base/spill.h).  TRACES simulated traces (default: 12), the half of
them with planted anomalies, are judged with 4 MiB and without a bound.
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from run import ISOTRACE, environment, isotrace, scratch  # noqa: E402
import tap  # noqa: E402

ISOSIM = os.path.abspath(sys.argv[2])
TRACES = int(sys.argv[4]) if len(sys.argv) > 4 else 12
TOLD = "the rest goes to a temporary file"


def plants():
    """Those that the simulator has."""
    listed = subprocess.run([ISOSIM, "--list-plants"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if line.strip()]


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--quiet", "-o", path, *map(str, args)], check=True)
    return path


def both_ways(*args, memory="4M"):
    """What is printed without a bound, and with little memory: the second of these must have used the file."""
    plain = isotrace(*args)
    little = isotrace(*args, f"--memory={memory}")
    assert TOLD not in plain.err, plain.err
    assert little.status == plain.status, (plain.status, little.status, little.err)
    assert little.raw == plain.raw, args
    return TOLD in little.err


def test_simulated_traces():
    names, used = plants(), 0
    for seed in range(TRACES):
        plant = [] if seed % 2 else [f"--plant={names[seed // 2 % len(names)]}"]
        path = simulate("run.itr", f"--seed={seed}", "--transactions=3000", "--sessions=12", "--keys=500", *plant)
        used += both_ways("check", "--format=json", path)
    assert used == TRACES, f"the file was used {used} times"


def test_commands():
    path = simulate("commands.itr", "--transactions=5000")
    used = [both_ways(*command, path) for command in (
        ["check"], ["check", "--contract=adya", "--format=ndjson"], ["stats"], ["show", "--limit=100"], ["export", "--to=elle"],
        ["report", "-o", "-"])]
    assert used.count(True) >= 3, used


def test_histories_of_other_tools():
    trace = simulate("history.itr", "--transactions=30000", "--values=0")
    path = scratch("history.txt")
    with open(path, "wb") as file:
        file.write(isotrace("export", "--to=plume", trace).raw)
    assert both_ways("check", "--from=plume", "--format=json", path)


def isotrace_with_folder_on(file_system, name, arguments):
    """Runs isotrace with its temporary file on a file system of its own."""
    folder = scratch(name)
    os.mkdir(folder)
    enter = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    mount = f"mount -t {file_system} none '{folder}'"
    if subprocess.run([*enter, "sh", "-c", mount], capture_output=True, check=False).returncode:
        raise tap.Skip("no file system can be mounted here")
    return subprocess.run([*enter, "sh", "-c", f"{mount} && exec '{ISOTRACE}' {arguments}"], capture_output=True, text=True,
                          check=False, env=environment(TMPDIR=folder))


def test_a_file_system_that_cannot_make_holes():
    trace = simulate("holes.itr", "--transactions=30000", "--sessions=12", "--keys=500")
    run = isotrace_with_folder_on("ramfs", "holes", f"check --format=json --memory=4M '{trace}'")
    assert TOLD in run.stderr, run.stderr
    plain = isotrace("check", "--format=json", trace)
    assert (run.returncode, run.stdout) == (plain.status, plain.out), run.stderr


def test_a_limit_of_what_files_may_be():
    trace = simulate("limit.itr", "--transactions=3000")
    plain = isotrace("check", "--format=json", trace)
    for limit, told in ((1 << 33, TOLD), (1 << 20, "no temporary file can be made in")):
        run = subprocess.run(["prlimit", f"--fsize={limit}", ISOTRACE, "check", "--format=json", "--memory=40M", trace],
                             capture_output=True, text=True, check=False, env=environment())
        assert told in run.stderr, (run.returncode, run.stderr)
        assert (run.returncode, run.stdout) == (plain.status, plain.out), run.stderr


def test_a_full_disk_is_told():
    trace = simulate("full.itr", "--transactions=30000")
    run = isotrace_with_folder_on("tmpfs -o size=2m", "full", f"check --memory=4M '{trace}'")
    assert run.returncode == 4, (run.returncode, run.stderr)
    assert "no room is left on the disk" in run.stderr and "TMPDIR" in run.stderr, run.stderr
    assert not run.stdout, run.stdout


def test_a_folder_that_is_not_there_is_told():
    trace = simulate("nowhere.itr", "--transactions=3000")
    run = isotrace("check", "--format=json", "--memory=40M", trace, TMPDIR="/nowhere/at/all")
    assert "no temporary file can be made in /nowhere/at/all" in run.err, run.err
    assert json.loads(run.out), run.out


if __name__ == "__main__":
    tap.main(globals())
