#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line itself: help, versions, mistakes, shell completion, manual pages."""
import os
import re
import shutil
import subprocess
import sys

from run import HERE, ISOTRACE, SCRATCH, environment, isotrace, scratch
from tracefile import Trace, demo
import tap
from terminal import Terminal

ISOREC = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
DEMO = scratch("demo.itr")
demo().write(DEMO)
MAN = os.path.join(HERE, "..", "..", "docs", "man")


def commands():
    """From the program's own list."""
    text = isotrace("help").expect().out
    return re.findall(r"^  (\w+) +\S", text.split("Commands:")[1].split("\n\n")[0], re.MULTILINE)


def test_help_of_the_program_and_of_every_command():
    assert {"show", "stats", "help", "completion"} <= set(commands())
    assert isotrace("--help").expect().out == isotrace("-?").expect().out == isotrace("help").out
    assert isotrace("-h").expect().out == isotrace("help").out
    for command in commands():
        text = isotrace("help", command).expect().out
        assert text == isotrace(command, "--help").expect().out
        assert text == isotrace(command, "-?").expect().out == isotrace(command, "-h").expect().out
        assert text.startswith(f"Usage: isotrace {command} [OPTION...]")
        assert "Exit status:" in text
        for line in text.splitlines():
            assert len(line) <= 100, line
        narrow = isotrace("help", command, columns=72).expect().out
        options = narrow.split("\nExamples:")[0].split("\n\n", 2)[2]
        for line in options.splitlines():
            assert len(line) <= 80, line


def test_version():
    for args in (["--version"], ["-V"], ["show", "--version"], ["stats", "-V"]):
        assert re.fullmatch(r"isotrace \d+\.\d+\.\d+\n", isotrace(*args).expect().out)


def test_mistakes():
    isotrace().expect(2, "isotrace: no command given\nisotrace: try 'isotrace help'")
    isotrace("shwo", DEMO).expect(2, "there is no command 'shwo'; did you mean 'show'?")
    isotrace("help", "xyzzy").expect(2, "there is no command 'xyzzy'\n")
    isotrace("--color", "show").expect(2, "options follow the command")
    isotrace("show", "--colour=never", DEMO).expect(2, "did you mean '--color'?")
    isotrace("stats", DEMO, "--format=jsn").expect(2, "did you mean 'json'?\nisotrace: try "
                                                   "'isotrace stats --help'")
    isotrace("completion", "fish").expect(2, "bash or zsh")
    for result in (isotrace("show"), isotrace("show", "--format")):
        assert result.out == "" and all(line.startswith("isotrace: ")
                                        for line in result.err.splitlines())


# ---- completion ----

def bash_complete(line):
    """What bash offers for a line, with our function sourced as a user would."""
    script = f"""
        source <('{ISOTRACE}' completion bash)
        complete -p isotrace >/dev/null || exit 9
        COMP_LINE={line!r}
        # As readline does: words split at blanks and at the equals sign.
        eval "$('{shutil.which('python3') or '/usr/bin/python3'}' - <<'X'
import re, shlex
line = {line!r}
words = [w for w in re.split(r'(=)|\\s+', line) if w]
if not line or line[-1] in ' ':
    words.append('')
print('COMP_WORDS=(' + ' '.join(shlex.quote(w) for w in words) + ')')
print('COMP_CWORD=' + str(len(words) - 1))
X
)"
        _isotrace isotrace
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True,
                         cwd=SCRATCH, env=environment())
    assert run.stderr == "", run.stderr
    return [word for word in run.stdout.splitlines() if word]


def test_completion_in_bash():
    assert set(bash_complete("isotrace ")) >= set(commands())
    assert bash_complete("isotrace sh") == ["show"]
    assert bash_complete("isotrace st") == ["stats"]
    assert bash_complete("isotrace show --sal") == ["--salvage"]
    assert bash_complete("isotrace show --se") == ["--session="]
    assert bash_complete("isotrace show --format=") == ["text", "json", "ndjson"]
    assert bash_complete("isotrace show --format=n") == ["ndjson"]
    assert bash_complete("isotrace show -f j") == ["json"]
    assert bash_complete("isotrace stats --format=") == ["text", "json"]
    assert bash_complete("isotrace check --contract=") == ["innodb", "innodb-si", "tidb-pessimistic", "galera", "galera-si",
                                                                   "group-replication", "adya"]
    assert bash_complete("isotrace show --color=") == ["auto", "always", "never"]
    assert bash_complete("isotrace show --match=") == []
    assert bash_complete("isotrace show de") == ["demo.itr"]
    assert bash_complete("isotrace show --full de") == ["demo.itr"]
    assert bash_complete("isotrace help sh") == ["show"]
    assert bash_complete("isotrace completion ") == ["bash", "zsh"]
    every = {"--" + name for name in re.findall(r"--([a-z-]+)", isotrace("help", "show").out)}
    offered = {word.rstrip("=") for word in bash_complete("isotrace show --")}
    assert offered == every, offered ^ every


def test_completion_in_zsh():
    if not shutil.which("zsh"):
        raise tap.Skip("zsh is not installed")
    folder = scratch("functions")
    os.makedirs(folder, exist_ok=True)
    programs = [p for p in (ISOTRACE, ISOREC) if p]
    for program in programs:
        path = os.path.join(folder, "_" + os.path.basename(program))
        with open(path, "wb") as file:
            subprocess.run([program, "completion", "zsh"], stdout=file, check=True)
        subprocess.run(["zsh", "-n", path], check=True)
    terminal = Terminal(["zsh", "-f"], PATH=":".join([*map(os.path.dirname, programs), os.environ["PATH"]]))
    terminal.send(f"PS1=; fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; echo re''ady\n")
    terminal.read_until("ready")
    terminal.send("isotrace show --sal\t")
    terminal.read_until("--salvage")
    terminal.send("\x15isotrace stats --form\t")
    terminal.read_until("--format=")
    terminal.send("js\t")
    terminal.read_until("json")
    terminal.send("\x15isotrace comp\t")
    terminal.read_until("completion ")
    if ISOREC:
        terminal.send("\x15isorec unpr\t")
        terminal.read_until("unprepare ")
        terminal.send("\x15isorec run --inst\t")
        terminal.read_until("--instrument=")
        terminal.send("tri\t")
        terminal.read_until("trigger")
    terminal.send("\x15exit\n")
    terminal.close()


# ---- a terminal ----

def test_on_a_terminal():
    for columns in (80, 160):
        terminal = Terminal([ISOTRACE, "show", DEMO], columns=columns)
        terminal.read_until("0.007100")
        assert "\x1b[31m" in terminal.seen, "errors are red"
        plain = re.sub(r"\x1b\[\d*m", "", terminal.seen).replace("\r", "")
        heading = next(line for line in plain.splitlines() if "seconds" in line)
        assert heading.index("│") == 13 + (columns - 13 - 3) // 2 + 1
        terminal.close()
    terminal = Terminal([ISOTRACE, "show", DEMO], NO_COLOR="1")
    terminal.read_until("0.007100")
    assert "\x1b" not in terminal.seen
    terminal.close()


def test_progress_only_on_a_terminal():
    path = scratch("progress.itr")
    t = Trace()
    for number in range(1, 20001):
        t.stmt(1, number, f"select {number}", number * 10, number * 10 + 1)
    t.write(path)
    assert isotrace("stats", path).expect().err == ""
    shown = isotrace("stats", "--progress", path).expect(0, "\rreading: [").err
    assert shown.endswith("\r\x1b[K"), "and wiped out at the end"
    assert isotrace("stats", "--progress=never", path).expect().err == ""
    with open(path, "rb") as file:
        piped = isotrace("stats", "--progress", "-", stdin=file.read()).expect(0, "\rreading: ").err
    assert "[=" not in piped and "%" not in piped, "the length of a pipe is not known"


# ---- manual pages ----

def pages():
    return sorted(name for name in os.listdir(MAN) if name.endswith((".1", ".5")))


def test_manual_pages_have_the_options_of_the_program():
    for command in commands():
        path = os.path.join(MAN, f"isotrace-{command}.1")
        if not os.path.exists(path):
            assert command in ("help", "completion"), f"there is no manual page for {command}"
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        begin, end = '.\\" begin options\n', '.\\" end options\n'
        before, rest = text.split(begin)
        inside, after = rest.split(end)
        wanted = isotrace("help", "--mdoc", command).expect().out
        if os.environ.get("ISOTRACE_UPDATE"):
            inside = wanted
            with open(path, "w", encoding="utf-8") as file:
                file.write(before + begin + inside + end + after)
        assert inside == wanted, f"isotrace-{command}.1 has other options: set ISOTRACE_UPDATE=1"


def test_manual_pages_are_clean():
    if not shutil.which("mandoc"):
        raise tap.Skip("mandoc is not installed")
    for page in pages():
        run = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", os.path.join(MAN, page)],
                             capture_output=True, text=True, check=False)
        # Other pages of ours need not be installed yet.
        problems = [line for line in run.stdout.splitlines() if "STYLE" not in line]
        assert not problems, "\n".join(problems)
        shown = subprocess.run(["mandoc", "-T", "utf8", os.path.join(MAN, page)],
                               capture_output=True, text=True, check=True).stdout
        assert len(shown.splitlines()) > 30


def test_manual_names_every_command():
    with open(os.path.join(MAN, "isotrace.1"), encoding="utf-8") as file:
        text = file.read()
    for command in commands():
        assert f".It Cm {command}" in text or f".Cm {command}" in text, command


if __name__ == "__main__":
    tap.main(globals())
