#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts what ./run-tests ran, from meson's machine-readable logs.

    tally.py NAME=BUILD-DIRECTORY...

What is one test:
- of a TAP program (the unit tests and most scripts): each "ok" / "not ok" line;
- of any other program: the program;
- a stage that only compiles (the second compiler): the build.
A program that crashed, timed out or broke its plan without a "not ok" line counts as one failure.
A build that failed counts as one failure.  The sanitizer builds run tests again: those runs are
counted too, and the table shows them apart.

A skipped test is listed with the reason that it gave.
"""
import json
import os
import re
import sys

TAP_LINE = re.compile(r"^(not )?ok\b *(\d+)? *-? *([^#]*)(?:#\s*(\w+)\s*(.*))?$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?$", re.IGNORECASE)


class Count:
    def __init__(self):
        self.passed = self.failed = 0
        self.skips = []  # (test, reason)
        self.failures = []


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it gave no reason"


def tap_lines(stdout):
    """The results of a TAP stream: (ok, description, directive, reason)."""
    for line in stdout.splitlines():
        match = TAP_LINE.match(line)
        if match:
            yield (match[1] is None, match[3].strip(), (match[4] or "").lower(), match[5] or "")


def is_tap(stdout):
    return any(TAP_PLAN.match(line) for line in stdout.splitlines())


def count_tap(count, name, entry):
    failed_before = count.failed
    for good, what, directive, reason in tap_lines(entry["stdout"]):
        what = f"{name}: {what}"
        if directive in ("skip", "todo"):
            count.skips.append((what, f"{directive}: {reason}" if directive == "todo" else reason))
        elif good:
            count.passed += 1
        else:
            count.failed += 1
            count.failures.append(what)
    for line in entry["stdout"].splitlines():
        plan = TAP_PLAN.match(line)
        if plan and plan[1] == "0":
            count.skips.append((name, plan[2] or "it gave no reason"))
    if entry["result"] not in ("OK", "SKIP", "EXPECTEDFAIL") and count.failed == failed_before:
        count.failed += 1
        count.failures.append(f"{name}: {entry['result']}, exit status {entry['returncode']}")


def count_program(count, name, entry):
    result = entry["result"]
    if result in ("OK", "EXPECTEDFAIL"):
        count.passed += 1
    elif result == "SKIP":
        count.skips.append((name, last_line(entry["stdout"] + "\n" + (entry.get("stderr") or ""))))
    else:
        count.failed += 1
        count.failures.append(f"{name}: {result}, exit status {entry['returncode']}")


def read(directory, name):
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


def count_stage(stage, directory):
    count = Count()
    skipped = read(directory, "stage-skipped")
    if skipped is not None:
        count.skips.append((f"stage {stage}", skipped.strip()))
        return count
    if (read(directory, "stage-built") or "").strip() != "ok":
        count.failed += 1
        count.failures.append(f"the build in {directory}/")
        return count
    if read(directory, "stage-compile-only") is not None:
        count.passed += 1
        return count
    log = read(os.path.join(directory, "meson-logs"), "stage.json")
    for line in (log or "").splitlines():
        entry = json.loads(line)
        entry["stdout"] = entry.get("stdout") or ""
        (count_tap if is_tap(entry["stdout"]) else count_program)(count, entry["name"], entry)
    if count.passed + count.failed + len(count.skips) == 0:
        count.failed += 1
        count.failures.append(f"stage {stage}: no test ran")
    return count


def main(arguments):
    total = Count()
    print("\n==== result")
    for argument in arguments:
        stage, directory = argument.split("=", 1)
        count = count_stage(stage, directory)
        what = "builds" if read(directory, "stage-compile-only") is not None else "tests"
        print(f"{stage:18} {count.passed:6} {what} passed, {count.failed} failed, "
              f"{len(count.skips)} skipped")
        total.passed += count.passed
        total.failed += count.failed
        total.skips += [(f"{stage}: {what}", reason) for what, reason in count.skips]
        total.failures += [f"{stage}: {what}" for what in count.failures]
    for what, reason in total.skips:
        print(f"skipped: {what}: {reason}")
    for what in total.failures:
        print(f"failed:  {what}")
    line = f"{total.passed} passed, {total.failed} failed"
    if total.skips:
        line += f", {len(total.skips)} skipped"
    print(line)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
