#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The tutorial, followed literally in one shell, with a server of its own."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))
import console  # noqa: E402
import tap  # noqa: E402

TOP = os.path.abspath(os.path.join(HERE, "..", ".."))
BUILD = os.path.abspath(sys.argv[1])


def test_the_tutorial():
    for needed in ("mariadbd", "mariadb", "jq"):
        if not shutil.which(needed) and not os.path.exists("/usr/sbin/" + needed):
            raise tap.Skip(f"{needed} is not installed")
    with open(os.path.join(TOP, "docs", "tutorial.md"), encoding="utf-8") as file:
        steps = console.commands(file.read())
    assert len(steps) > 15
    folder = tempfile.mkdtemp(prefix="isotrace-tutorial-")
    # The instance's name is the tutorial's; another run at the same time needs another.
    steps = [(c.replace("--name shop", f"--name shop-{os.getpid()}").replace("stop shop", f"stop shop-{os.getpid()}"), o)
             for c, o in steps]
    script = "set -m\n" + "".join(f"{command}\necho \"@@@ {i} $?\"\n" for i, (command, _) in enumerate(steps))
    path = os.path.join(folder, "script.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(script)
    env = dict(os.environ, PATH=":".join([os.path.join(BUILD, "analyzer"), os.path.join(BUILD, "recorder"),
                                          os.path.join(TOP, "recorder", "servers"), os.environ["PATH"]]))
    env.pop("COLUMNS", None)
    try:
        run = subprocess.run(["bash", "--norc", path], cwd=folder, env=env, capture_output=True, text=True,
                             check=False, timeout=240, stdin=subprocess.DEVNULL)
    finally:
        subprocess.run([os.path.join(TOP, "recorder", "servers", "isorec-servers"), "stop", f"shop-{os.getpid()}"],
                       capture_output=True, check=False)
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


if __name__ == "__main__":
    tap.main(globals())
