#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check as a person sees it: the order of telling, widths, colour, hints; and completion typed
into a real bash."""
import glob
import os
import re
import shutil
import subprocess
import sys

from run import HERE, ISOTRACE, SCRATCH, isotrace, scratch
import tap
from terminal import Terminal

ISOSIM = os.path.abspath(sys.argv[2])
ISOREC = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
INK = re.compile(r"\x1b\[[0-9;]*m")


def simulate(name, *args):
    path = scratch(name)
    subprocess.run([ISOSIM, "--quiet", "--sessions=4", "--transactions=60", "--keys=12", *args, "-o", path],
                   check=True)
    return path


SKEWED = simulate("skewed.itr", "--seed=5", "--discipline=rr", "--plant=lost-update:3", "--plant=G2")


def check(*args, **more):
    return isotrace("check", "--contract=adya", *args, SKEWED, **more).expect(1).out


def test_order_of_telling():
    """Verdict, what was promised, levels, the table, the first witness, what was decided, what next."""
    out = check()
    data = isotrace("check", "--contract=adya", "-f", "json", SKEWED).json()
    first = data["findings"][0]
    places = [out.index(part) for part in (
        ": violated\n", "promised:  ", "fails:     ", "  finding ", first["id"], f"\n{first['class']}",
        "┌─► " + first["edges"][0]["from"], "└────┘", " decided\n", "\nnext:\n", "isotrace explain", "isotrace report")]
    assert places == sorted(places), places
    for finding in data["findings"]:
        assert finding["id"] in out
    assert out.count("┌─►") == 1
    assert check("--verbose").count("┌─►") == sum(1 for f in data["findings"] if f["edges"])


def test_widths_fit():
    for columns in (50, 64, 80, 100, 160):
        for line in check("--verbose", columns=columns).splitlines():
            if line.startswith(("  isotrace ", SKEWED)) or re.match(r"\S+.*: (violation|documented)", line):
                continue  # commands to copy, the path, and the heading of a witness are not broken
            assert len(line) <= columns, (columns, line)


def test_colour():
    plain = check()
    assert "\x1b" not in plain
    for inked in (check("--color=always"), check("--color"), check("--color=always", NO_COLOR="1")):
        assert "\x1b[31;1mviolated\x1b[0m" in inked
        assert INK.sub("", inked) == plain, "colour adds nothing but colour"
    assert check("--color=never") == plain
    terminal = Terminal([ISOTRACE, "check", "--contract=adya", SKEWED], columns=100)
    terminal.read_until("next:")
    assert "\x1b[31;1mviolated" in terminal.seen
    terminal.close()
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        terminal = Terminal([ISOTRACE, "check", "--contract=adya", "--progress=never", SKEWED], columns=100, **env)
        terminal.read_until("next:")
        assert "\x1b" not in terminal.seen, env
        terminal.close()


def test_hints_can_be_run():
    """Word by word, whatever the file is called."""
    odd = scratch("it's $odd; name.itr")
    shutil.copy(SKEWED, odd)
    out = isotrace("check", "--contract=adya", odd).expect(1).out
    hints = re.findall(r"^  (isotrace .*)$", out.split("\nnext:\n")[1], re.MULTILINE)
    assert len(hints) >= 3
    for hint in hints:
        run = subprocess.run(["sh", "-c", hint.replace("isotrace", f"'{ISOTRACE}'", 1)], cwd=SCRATCH, capture_output=True,
                             text=True, check=False)
        assert run.returncode in (0, 1, 3), (hint, run.stderr)
        assert run.stderr == "", (hint, run.stderr)
    # Options that change what is found are repeated.
    from hostile import hostile_result
    wrong = hostile_result(scratch("-wrong.itr"))
    with open(SKEWED, "rb") as file:
        data = bytearray(file.read())
    data[-40] ^= 1  # in the last block
    with open(scratch("damaged.itr"), "wb") as file:
        file.write(data)
    for options in (("--oracle=mvcc", "--all-sessions", os.path.basename(wrong)),
                    ("--contract=adya", "--salvage", "--no-strong", "damaged.itr")):
        out = subprocess.run([ISOTRACE, "check", *options[:-1], "--", options[-1]], cwd=SCRATCH, capture_output=True, text=True,
                             check=False).stdout
        found = re.search(r"\(([0-9a-f]{16})\)", out)[1]
        hints = re.findall(r"^  (\S*isotrace (\w+) .*)$", out.split("\nnext:\n")[1], re.MULTILINE)
        assert {"explain", "report"} <= {name for _, name in hints}, hints
        for hint, name in hints:
            run = subprocess.run(["sh", "-c", hint], cwd=SCRATCH, capture_output=True, text=True, check=False)
            assert run.returncode in (0, 1, 3), (hint, run.stderr)
            assert name != "explain" or (found in run.stdout and "Everything these" in run.stdout), (hint, run.stdout)
    # The program is called as it was called.
    folder, name = os.path.split(ISOTRACE)
    for called in (ISOTRACE, "./" + name):
        out = subprocess.run([called, "check", "--contract=adya", SKEWED], cwd=folder, capture_output=True, text=True,
                             check=False).stdout
        assert f"\n  {called} explain --contract=adya {SKEWED} " in out, out


def test_a_wrong_answer_beside_the_right_one():
    from hostile import hostile_result
    out = isotrace("check", "--oracle=mvcc", "--all-sessions", hostile_result(scratch("wrong.itr"))).expect(1).out
    answered, expected = out.index("\n  answered  ✗ (1,"), out.index("\n  expected  ✗ (1,'<b>right</b>')")
    assert answered < expected
    assert out.count("  (2,'kept')") >= 2, "what is right is not marked"


# ---- completion, typed ----

def bash():
    if not shutil.which("bash"):
        raise tap.Skip("bash is not installed")
    path = ":".join(filter(None, [os.path.dirname(ISOTRACE), ISOREC and os.path.dirname(ISOREC), os.environ["PATH"]]))
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], PATH=path)
    terminal.send("PS1='$ '; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; "
                  "source <(isotrace completion bash); source <(isorec completion bash); echo re''ady\n")
    terminal.read_until("ready\r\n")
    return terminal


def typed(terminal, line, wanted):
    terminal.send("\x15" + line + "\t")
    terminal.read_until(wanted)


def test_completion_typed_into_bash():
    os.makedirs(scratch("traces"), exist_ok=True)
    for name in ("run one.itr", "plain.itr"):
        shutil.copy(SKEWED, scratch(os.path.join("traces", name)))
    terminal = bash()
    typed(terminal, "isotrace che", "isotrace check ")
    typed(terminal, "isotrace check --cont", "--contract")
    typed(terminal, "isotrace check --format=sar", "--format=sarif")
    typed(terminal, "isotrace check -f grap", "-f graphml ")
    typed(terminal, "isotrace check --fail-on=susp", "--fail-on=suspicion")
    typed(terminal, "isotrace check traces/pl", "traces/plain.itr ")
    typed(terminal, "isotrace check --contract-file=traces/pl", "--contract-file=traces/plain.itr")
    typed(terminal, "isotrace report traces/run", "traces/run\\ one.itr ")
    typed(terminal, "isotrace report -o traces/pl", "-o traces/plain.itr ")
    if ISOREC:
        typed(terminal, "isorec unpr", "isorec unprepare ")
        typed(terminal, "isorec run --inst", "--instrument=")
        typed(terminal, "isorec run traces/pl", "traces/plain.itr ")
    terminal.send("\x15exit\n")
    terminal.close()


if __name__ == "__main__":
    tap.main(globals())
