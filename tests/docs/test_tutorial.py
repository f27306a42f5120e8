#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial, followed literally in one shell, with a server of its own."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import console  # noqa: E402
import tap  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(sys.argv[1])


def steps_of_the_tutorial():
    """(command, output); the environment to type them in."""
    for needed in ("mariadbd", "mariadb", "jq"):
        if not shutil.which(needed) and not os.path.exists("/usr/sbin/" + needed):
            raise tap.Skip(f"{needed} is not installed")
    with open(os.path.join(TOP, "docs", "tutorial.md"), encoding="utf-8") as file:
        steps = console.commands(file.read())
    assert len(steps) > 15
    # The instance's name is the tutorial's; another run at the same time needs another.
    steps = [(c.replace("--name shop", f"--name shop-{os.getpid()}").replace("stop shop", f"stop shop-{os.getpid()}"), o)
             for c, o in steps]
    env = dict(os.environ, PATH=":".join([os.path.join(BUILD, "analyzer"), os.path.join(BUILD, "recorder"),
                                          os.path.join(TOP, "recorder", "servers"), os.environ["PATH"]]))
    env.pop("COLUMNS", None)
    return steps, env


def stop_server():
    subprocess.run([os.path.join(TOP, "recorder", "servers", "isorec-servers"), "stop", f"shop-{os.getpid()}"],
                   capture_output=True, check=False)


def test_the_tutorial():
    steps, env = steps_of_the_tutorial()
    folder = tempfile.mkdtemp(prefix="isotrace-tutorial-")
    script = "set -m\n" + "".join(f"{command}\necho \"@@@ {i} $?\"\n" for i, (command, _) in enumerate(steps))
    path = os.path.join(folder, "script.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    try:
        run = subprocess.run(["bash", "--norc", path], cwd=folder, env=env, capture_output=True, text=True,
                             check=False, timeout=240, stdin=subprocess.DEVNULL)
    finally:
        stop_server()
    parts = re.split(r"^@@@ (\d+) (\d+)\n", run.stdout, flags=re.MULTILINE)
    assert len(parts) == 3 * len(steps) + 1, run.stdout[-2000:] + run.stderr[-2000:]
    for i, (command, expected) in enumerate(steps):
        output, status = parts[3 * i].splitlines(), int(parts[3 * i + 2])
        assert status == 0, (command, status, output[-5:], run.stderr[-1500:])
        wrong = console.fits(expected, output)
        assert wrong is None, (command, wrong)
    for name in ("shop.html", "app.html", "app.sarif", "runs/shop-RR.itr"):
        assert os.path.getsize(os.path.join(folder, "shop", name)) > 0, name
    shutil.rmtree(folder)


class Terminal:
    """A shell that believes that a user types."""

    def __init__(self, folder, env):
        self.said = b""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "--norc", "-i"], dict(env, TERM="dumb"))

    def type(self, command, mark):
        """What the command printed, and its exit status."""
        start = len(self.said)
        os.write(self.fd, f"{command}\necho '@@@' {mark} $?\n".encode())
        deadline = time.monotonic() + 120
        while True:
            found = re.search(rb"\n@@@ %d (\d+)\r" % mark, self.said[start:])
            if found:
                return self.said[start:].decode("utf-8", "replace"), int(found[1])
            assert select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0], (command, self.said[start:])
            self.said += os.read(self.fd, 65536)


def test_the_tutorial_as_typed():
    """Job control, jobs that end between two lines, and the rest of what a script does not have."""
    steps, env = steps_of_the_tutorial()
    folder = tempfile.mkdtemp(prefix="isotrace-tutorial-")
    terminal = Terminal(folder, env)
    try:
        for i, (command, _) in enumerate(steps):
            output, status = terminal.type(command, i)
            assert status == 0, (command, status, output[-1000:])
    finally:
        stop_server()
        os.close(terminal.fd)
    shutil.rmtree(folder)


if __name__ == "__main__":
    tap.main(globals())
