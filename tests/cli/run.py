# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs isotrace for the tests of its commands."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "scripts"))

ISOTRACE = os.path.abspath(sys.argv[1])
SCRATCH = tempfile.mkdtemp(prefix="isotrace-test-")
atexit.register(shutil.rmtree, SCRATCH, ignore_errors=True)


def environment(**changes):
    env = {k: v for k, v in os.environ.items()
           if k not in ("COLUMNS", "NO_COLOR", "TERM", "LC_ALL", "LANG")}
    env.update({k: v for k, v in changes.items() if v is not None})
    return env


class Result:
    def __init__(self, run):
        self.status = run.returncode
        self.raw = run.stdout
        self.out = run.stdout.decode("utf-8", "surrogateescape")
        self.err = run.stderr.decode("utf-8", "surrogateescape")

    def expect(self, status=0, err=None):
        """Checks the exit status, and that standard error says `err` (nothing when None)."""
        assert self.status == status, f"exit status {self.status}, not {status}: {self.err}"
        if err is None:
            assert self.err == "", f"unexpected message: {self.err}"
        else:
            assert err in self.err, f"{err!r} is not in {self.err!r}"
        return self

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.split("\n") if line]


def isotrace(*args, stdin=None, columns=None, **env):
    # As if it were in the path: hints repeat how it was called.
    run = subprocess.run(["isotrace", *map(str, args)], executable=ISOTRACE, input=stdin, capture_output=True, check=False,
                         timeout=120, env=environment(COLUMNS=columns and str(columns), **env),
                         stdin=subprocess.DEVNULL if stdin is None else None)
    return Result(run)


def scratch(name):
    return os.path.join(SCRATCH, name)


def write(name, text):
    path = scratch(name)
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def golden(name, text):
    """Compares with tests/cli/expected/NAME.  ISOTRACE_UPDATE=1 rewrites that file: read what
    changed before you commit it."""
    path = os.path.join(HERE, "expected", name)
    text = text.replace(SCRATCH, "DIR")
    if os.environ.get("ISOTRACE_UPDATE"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(path, encoding="utf-8") as file:
        expected = file.read()
    assert text == expected, f"differs from {name}:\n{text}"
