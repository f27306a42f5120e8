#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`isorec hunt` on a real server: TAP on standard output.

    test_hunt.py ISOREC ISOTRACE ISOREC-SERVERS RELEASE
"""
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402

ISOREC, ISOTRACE, SERVERS, RELEASE = sys.argv[1:5]
WORK = tempfile.mkdtemp(prefix="hunt-test-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
ENV = dict(os.environ, ISOREC_SERVERS=SERVERS)
del sys.argv[1:]


def folder(name):
    return os.path.join(WORK, name)


def command(name, *args):
    return [ISOREC, "hunt", "--server", RELEASE, "--jobs=2", "-o", folder(name), *args]


def hunt(name, *args, status=(0,)):
    done = subprocess.run(command(name, *args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, env=ENV, check=False)
    if "skipped: " in done.stdout:
        raise tap.Skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode in status, f"exit status {done.returncode}\n{done.stdout}"
    return done.stdout


def cases(name):
    """The numbers of the cases in the log, in its order, and what was drawn for each."""
    with open(os.path.join(folder(name), "log"), encoding="utf-8") as log:
        return [(int(words[1]), words[3:6]) for words in (line.split() for line in log) if words and words[0] == "case"]


def groups(name):
    with open(os.path.join(folder(name), "index.html"), encoding="utf-8") as page:
        return dict(re.findall(r'<tr class="\w+"><td>\w+</td><td>(.*?)</td><td>(\d+)</td>', page.read()))


def test_finds_known_bugs_of_the_release():
    out = hunt("known", "--cases=200", "--seed=1")
    assert " known: " in out, out
    assert re.search(r"groups: 0 new, 0 suspicions", out), out
    assert sorted(number for number, _ in cases("known")) == list(range(200))
    decided = float(re.search(r"decided ([\d.]+) %", out)[1])
    assert decided >= 98, out
    assert float(re.search(r"([\d.]+) % one that no conflict explains", out)[1]) < 0.5, out


def classes_of(trace):
    checked = subprocess.run([ISOTRACE, "check", "--format=json", trace], stdout=subprocess.PIPE, text=True, check=False)
    return {f["class"] for f in json.loads(checked.stdout)["findings"]}


def test_examples_are_judged_alike_and_run_again():
    """The recording says what the report says.  Run again the case shows it, too, unless two sessions that one COMMIT
    releases go on in another order, which is the server's choice."""
    names = sorted(os.listdir(folder("known/cases")))[:8]
    scenarios = [shutil.copy(os.path.join(folder("known/cases"), name, "case.scn"), os.path.join(WORK, name + ".scn"))
                 for name in names]
    subprocess.run([ISOREC, "run", "--server", RELEASE, "-q", "-o", folder("again"), *scenarios], check=True, env=ENV,
                   stdout=subprocess.DEVNULL)
    again = 0
    for name in names:
        base = os.path.join(folder("known/cases"), name)
        with open(os.path.join(base, RELEASE + ".txt"), encoding="utf-8") as report:
            classes = set(re.findall(r"^\[\w+\] (\S+) documented", report.read(), re.M))
        assert classes and classes <= classes_of(os.path.join(base, RELEASE + ".itr")), (name, classes)
        again += classes <= classes_of(os.path.join(folder("again"), name.replace("case", "tiny-1") + ".itr"))
    assert again >= len(names) - 2, (again, len(names))


def test_first_examples_are_made_small():
    hunt("reduced", "--cases=6", "--seed=1", "--reduce=all")
    small = larger = 0
    for name in os.listdir(folder("reduced/cases")):
        base = os.path.join(folder("reduced/cases"), name)
        if not os.path.exists(os.path.join(base, "reduced.scn")):
            continue
        with open(os.path.join(base, "reduced.scn"), encoding="utf-8") as text:
            reduced = text.read()
        with open(os.path.join(base, "case.scn"), encoding="utf-8") as text:
            larger += len(re.findall(r"^T\d+> ", text.read(), re.M))
        small += len(re.findall(r"^T\d+> ", reduced, re.M))
        found = re.search(r"^# finding: mvcc (\S+)", reduced, re.M)[1]
        assert found in classes_of(os.path.join(base, "reduced.itr")), (name, found)
    assert 0 < small < larger / 2, (small, larger)


def test_same_seed_same_cases():
    hunt("first", "--cases=30", "--seed=5")
    hunt("second", "--cases=30", "--seed=5")
    # What was drawn; behind it stand tags of what happened, which are the server's.
    assert sorted(cases("first")) == sorted(cases("second"))
    assert groups("first") == groups("second")


def test_a_hunt_that_is_done_does_nothing():
    before = cases("first")
    assert "going on after the 30 cases" in hunt("first", "--cases=30", "--seed=5")
    assert cases("first") == before


def test_another_hunt_in_the_folder_is_refused():
    out = hunt("first", "--cases=30", "--seed=6", status=(2,))
    assert "another model, seed, dialect or servers" in out, out


def manual_grammar():
    """The grammar and the tables that the manual shows."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    with open(os.path.join(top, "docs", "grammars.md"), encoding="utf-8") as file:
        blocks = [re.sub("^    ", "", block, flags=re.M) for block in re.findall(r"(?:^    .*\n|^\n)+", file.read(), re.M)]
    for name, words in (("my.yy", "query:"), ("my.zz", "$tables =")):
        with open(folder(name), "w", encoding="utf-8") as out:
            out.write(next(block for block in blocks if words in block))
    return ["--yy", folder("my.yy"), "--zz", folder("my.zz"), "--model=default"]


def test_grammar_of_the_manual():
    grammar = manual_grammar()
    out = hunt("grammar", "--cases=12", *grammar)
    assert "groups: 0 new" in out and int(re.search(r"([\d,]+) statements in", out)[1].replace(",", "")) > 40, out
    assert float(re.search(r"decided ([\d.]+) %", out)[1]) >= 90, out
    made = [subprocess.run([ISOREC, "generate", "--count=5", "--first=3", *grammar], capture_output=True, check=True).stdout
            for _ in range(2)]
    assert made[0] == made[1], made
    assert b"update table" in made[0].lower() and b"col_varchar_10_key" in made[0]
    with open(folder("my.yy"), "a", encoding="utf-8") as file:
        file.write("more: SELECT 1 ;\n")
    assert "another model, seed, dialect or servers" in hunt("grammar", "--cases=13", *grammar, status=(2,))


def file_of(name, file):
    with open(os.path.join(folder(name), file), "rb") as content:
        return content.read()


def test_shares_of_two_machines_become_one_hunt():
    shares = [hunt(f"share{i}", "--cases=24", "--seed=5", f"--shard={i}/2") and cases(f"share{i}") for i in (1, 2)]
    assert sorted(n for n, _ in shares[0]) == list(range(0, 24, 2)) and sorted(n for n, _ in shares[1]) == list(range(1, 24, 2))
    both = ["--merge", folder("share1"), "--merge", folder("share2")]
    hunt("all", "--seed=5", *both)
    hunt("turned", "--seed=5", *both[2:], *both[:2])
    for file in ("log", "index.html"):
        assert file_of("all", file) == file_of("turned", file).replace(b"turned", b"all"), file
    assert cases("all") == sorted(shares[0] + shares[1])
    # The same cases as one machine's, as long as it went.
    assert [c for c in cases("all")] == [c for c in sorted(cases("first")) if c[0] < 24]
    found = groups("all")
    assert found and {k: int(v) for k, v in found.items()} == {
        k: int(groups("share1").get(k, 0)) + int(groups("share2").get(k, 0)) for k in {**groups("share1"), **groups("share2")}}
    assert set(os.listdir(folder("all/cases"))) == set(os.listdir(folder("share1/cases"))) | set(os.listdir(folder("share2/cases")))
    # It is a hunt: merged once more nothing changes, and it goes on.
    hunt("all", "--seed=5", *both)
    assert file_of("all", "log") == file_of("turned", "log")
    hunt("all", "--seed=5", "--cases=26")
    assert sorted(n for n, _ in cases("all")) == list(range(26))
    assert "another model, seed, dialect or servers" in hunt("other", "--seed=6", *both, status=(2,))
    assert "--shard" in hunt("other", "--shard=3/2", status=(2,))


def test_killed_hunts_lose_nothing():
    for _ in range(3):
        child = subprocess.Popen(command("killed", "--cases=60", "--seed=5"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, env=ENV)
        enough = len(cases("killed")) + 8 if os.path.exists(folder("killed/log")) else 8
        while child.poll() is None and (not os.path.exists(folder("killed/log")) or len(cases("killed")) < enough):
            os.sched_yield()
        child.send_signal(signal.SIGKILL)
        child.communicate()
    hunt("killed", "--cases=60", "--seed=5")
    assert sorted(number for number, _ in cases("killed")) == list(range(60))
    assert sorted(cases("killed"))[:30] == sorted(cases("first"))


def instances():
    done = subprocess.run([SERVERS, "status", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def test_a_server_that_dies_is_a_finding_and_the_hunt_goes_on():
    """No reducing: a server killed while it runs a candidate is no crash of a case."""
    child = subprocess.Popen(command("dying", "--cases=80", "--seed=5", "--reduce=none"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, env=ENV)
    killed = set()
    while child.poll() is None and len(killed) < 10:
        done = len(cases("dying")) if os.path.exists(folder("dying/log")) else 0
        if done < 4 * (len(killed) + 1):
            os.sched_yield()
            continue
        mine = [f"isorec-{worker}-" for worker in children(child.pid)]
        for instance in instances():
            # One that is killed while it starts is started again, without a crash: no case had it yet.
            if instance["name"].startswith(tuple(mine)) and instance["state"] == "running" and instance["pid"] not in killed:
                try:
                    os.kill(instance["pid"], signal.SIGKILL)
                except ProcessLookupError:
                    continue  # it ended by itself meanwhile
                killed.add(instance["pid"])  # it may be listed until it is started again
                break
    out = child.communicate()[0]
    assert len(killed) >= 5, (killed, out)
    assert child.returncode == 1, out
    assert sorted({number for number, _ in cases("dying")}) == list(range(80)), out
    # Two workers may each have lost a server after their last case.
    assert len(killed) - 2 <= int(groups("dying")["crash"]) <= len(killed), (killed, groups("dying"), out)


def test_a_full_disk_is_said():
    os.makedirs(folder("full"))
    os.symlink("/dev/full", folder("full/log"))
    out = hunt("full", "--cases=5", status=(4,))
    assert "No space left on device" in out, out


def test_two_servers_are_compared():
    out = hunt("two", "--server", RELEASE + "+si", "--cases=40", "--seed=3", "--known=show")
    assert len(cases("two")) == 80
    assert any(name.startswith("diff ") for name in groups("two")), out


def test_usage():
    for args in (["hunt"], ["hunt", "--server", RELEASE, "--model", "tyni"], ["hunt", "--server", RELEASE, "--jobs=0"]):
        done = subprocess.run([ISOREC, *args, "-o", folder("usage")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        assert done.returncode == 2, done.stdout


if __name__ == "__main__":
    tap.main(globals())
