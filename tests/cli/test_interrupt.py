#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check that is interrupted in each of its phases: TAP on standard output.

    test_interrupt.py ISOTRACE ISOSIM ISOREC

A preloaded library sends SIGINT at the moment at which the progress bar names the phase, so that every run is
interrupted at the same place.  Whatever the phase: what was found until then is told, nothing is called "ok", and
nothing is found that the whole check does not find.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from run import ISOTRACE, SCRATCH, environment, scratch  # noqa: E402
import tap  # noqa: E402

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ADYA = os.path.join(RECORDED, "adya", "recorded")
NOTE = "interrupted: this is what was found until then"

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t write(int fd, const void *bytes, size_t len)
{
	static ssize_t (*next)(int, const void *, size_t);
	const char *phase = getenv("INTERRUPT_PHASE");
	size_t n = phase ? strlen(phase) : 0;
	ssize_t written;

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	written = next(fd, bytes, len);
	/* The name ends where a count or the end of the line follows. */
	if (n && fd == 2 && len > n + 1 && memcmp((const char *)bytes + 1, phase, n) == 0 &&
		strchr(":\x1b", ((const char *)bytes)[n + 1])) {
		unsetenv("INTERRUPT_PHASE");
		raise(SIGINT);
	}
	return written;
}
"""

PLAIN = ["reading", "ordering versions", "reading statements", "executing", "drawing dependencies", "choosing versions",
         "drawing choices", "looking for cycles", "looking for cycles of each level", "trying explanations",
         "looking for suspicions", "looking at components"]
APPLICATION = ["looking for pairs of transactions", "reading texts of statements", "judging pairs of transactions"]
VALUES = ["reading", "matching reads with writes", "judging Adya's levels", "judging levels of Biswas and Enea"]
# Stale reads and blind writes: no order explains them all, which the solver has to find out.
ELLE = "".join('{:type :ok, :process %d, :time %d, :f :txn, :value [[:w %d %d] [:r %d %s]]}\n' %
               (i % 5, i, i % 4, i, (i * 7 + 1) % 4, next((k for k in range(i - 6, -1, -1) if k % 4 == (i * 7 + 1) % 4), "nil"))
               for i in range(40))


def library():
    path = os.path.join(SCRATCH, "interrupt.so")
    if not os.path.exists(path):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=LIBRARY, text=True, check=True)
    return path


class Run:
    def __init__(self, phase, *args):
        env = environment(LC_ALL="C", ASAN_OPTIONS="verify_asan_link_order=0")
        if phase:
            env.update(LD_PRELOAD=library(), INTERRUPT_PHASE=phase)
        run = subprocess.run([ISOTRACE, "check", "--progress=always", "--format=json", *args], env=env, timeout=120,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.status = run.returncode
        self.err = run.stderr.decode()
        self.json = json.loads(run.stdout) if run.stdout.strip() else None
        self.phases = list(dict.fromkeys(re.findall(r"\r([^\r:\x1b]+)[:\x1b]", self.err)))

    def findings(self):
        return {(f["oracle"], f["class"], tuple(sorted(f["transactions"]))) for f in self.json["findings"]}


def interrupted(whole, phase, *args):
    run = Run(phase, *args)
    where = f"in '{phase}': exit status {run.status}, {run.err!r}"
    if run.status == 0:  # all was decided before the levels were looked for
        assert "--from=elle" in args and run.json["levels"] == whole.json["levels"], where
        return "all"
    assert run.status in (1, 3), where
    if run.json is None:
        assert run.status == 3 and "interrupted while" in run.err and "nothing was judged" in run.err, where
        return "message"
    coverage = run.json["coverage"]
    assert coverage.get("note") == NOTE, (where, coverage)
    assert run.json["verdict"] != "ok", where
    if phase in PLAIN:
        assert coverage["undecided"] > 0, (where, coverage)
        assert "holds" not in run.json["levels"].values(), where
    assert all(answer in ("undecided", whole.json["levels"][name]) for name, answer in run.json["levels"].items()), where
    if "--from=elle" not in args:  # there a witness may be larger
        assert run.findings() <= whole.findings(), (where, run.findings() - whole.findings())
    return "found" if run.findings() else "nothing"


def all_phases(wanted, *args):
    whole = Run(None, *args)
    missing = [p for p in wanted if p not in whole.phases]
    assert not missing and set(whole.phases) <= set(PLAIN + APPLICATION + VALUES), (missing, whole.phases)
    return whole, {phase: interrupted(whole, phase, *args) for phase in whole.phases}


def test_a_trace_with_versions():
    whole, told = all_phases([p for p in PLAIN if p not in ("choosing versions", "drawing choices", "looking for suspicions")],
                             os.path.join(ADYA, "count.G2.itr"))
    assert {c for _, c, _ in whole.findings()} == {"G2"}
    for phase in ("reading", "ordering versions", "reading statements"):
        assert told[phase] == "message", told
    assert told["executing"] == "nothing" and told["looking at components"] == "found", told


def test_a_trace_with_several_possible_versions():
    whole, told = all_phases(["choosing versions", "drawing choices"], os.path.join(ADYA, "call.G2-item.undecided.itr"))
    assert whole.status == 3 and "message" in told.values()


def test_anomalies_of_an_application():
    whole, told = all_phases(APPLICATION, "--for=application", os.path.join(ADYA, "count.G2.itr"))
    assert whole.findings() and told["judging pairs of transactions"] == "found", told


def test_the_history_of_another_tool():
    path = scratch("history.edn")
    with open(path, "w", encoding="utf-8") as out:
        out.write(ELLE)
    _, told = all_phases(VALUES, "--from=elle", path)
    assert told["reading"] == "message" and told["judging Adya's levels"] != "all", told


def test_the_histories_after_it_are_not_judged():
    trace = os.path.join(ADYA, "count.G2.itr")
    run = Run("executing", trace, trace, trace)
    assert run.status == 3 and "interrupted: 2 of 3 histories were not judged" in run.err, run.err


if __name__ == "__main__":
    tap.main(globals())
