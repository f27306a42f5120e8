# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the functions test_* of a module and reports them as TAP, one line each.

    import tap
    def test_something(): assert ...
    if __name__ == "__main__": tap.main(globals())

A test that raises tap.Skip("reason") is counted as skipped.  A word on the command line that is no
path runs only the tests whose name contains it (TAP_ONLY in the environment does the same).
"""
import os
import sys
import traceback


class Skip(Exception):
    pass


def main(names):
    only = os.environ.get("TAP_ONLY", "")
    tests = [(name, value) for name, value in names.items()
             if name.startswith("test_") and callable(value) and only in name]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, function) in enumerate(tests, 1):
        title = name.removeprefix("test_").replace("_", " ")
        try:
            function()
            print(f"ok {number} - {title}", flush=True)
        except Skip as skip:
            print(f"ok {number} - {title} # SKIP {skip}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {title}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            sys.stdout.flush()
    sys.exit(1 if failed else 0)
