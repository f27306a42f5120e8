#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`isorec reduce` on a real server: TAP on standard output.

    test_reduce.py ISOREC ISOTRACE ISOREC-SERVERS RELEASE CORPUS [hang]

With hang: only the test of a server that hangs, which takes two minutes.
"""
import atexit
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scripts")]
import pad  # noqa: E402
import tap  # noqa: E402

ISOREC, ISOTRACE, SERVERS, RELEASE, CORPUS = sys.argv[1:6]
HANGS = sys.argv[6:] == ["hang"]
WORK = tempfile.mkdtemp(prefix="reduce-test-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)
ENV = dict(os.environ, ISOREC_SERVERS=SERVERS)
del sys.argv[1:]

CLASS = "deleted-row-stays"
with open(os.path.join(CORPUS, "bugs", "mdev-32898.scn"), encoding="utf-8") as file:
    HAND = file.read()


def path(name):
    return os.path.join(WORK, name)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as out:
        out.write(text)
    return path(name)


def read(name):
    with open(path(name), encoding="utf-8") as text:
        return text.read()


PADDED = write("padded.scn", pad.pad(HAND, 1))


def run(*args, status=(0,)):
    done = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV,
                          check=False)
    if "skipped: " in done.stdout:
        raise tap.Skip(done.stdout.strip().splitlines()[-1])
    assert done.returncode in status, f"exit status {done.returncode}\n{done.stdout}"
    return done.stdout


def command(name, *args):
    return [ISOREC, "reduce", "--server", RELEASE, "--finding", CLASS, "-o", path(name), *args]


def reduce(name, *args, status=(0,)):
    return run(*command(name, *args), status=status)


def classes_of(trace):
    checked = subprocess.run([ISOTRACE, "check", "--format=json", trace], stdout=subprocess.PIPE, text=True, check=False)
    return {f["class"] for f in json.loads(checked.stdout)["findings"]}


def fails(text):
    """Whether the scenario shows the failure."""
    scenario, trace = write("one.scn", text), path("one.itr")
    run(ISOREC, "run", "--server", RELEASE, "-q", "--overwrite", "-o", trace, scenario, status=(0, 1, 3, 4))
    return CLASS in classes_of(trace)


def require_small(name):
    hand, small = pad.Case(HAND), pad.Case(read(f"{name}/reduced.scn"))
    assert small.statements() <= 1.2 * hand.statements(), small.text()
    assert small.rows() <= 1.2 * hand.rows(), small.text()
    return small


def test_a_padded_case_becomes_small():
    out = reduce("small", "--explain", PADDED)
    assert "none of the parts can go alone" in out, out
    small = require_small("small")
    assert "T1> " in small.text() and "create table t " in small.text(), small.text()
    assert CLASS in classes_of(path("small/reduced.itr"))
    assert re.search(r"^# expect: mariadb-\S+ RR = ", small.text(), re.M), small.text()
    assert " fails " in read("small/log")


def test_its_answers_come_again():
    run(ISOREC, "run", "--server", RELEASE, "-q", "-o", path("again.itr"), path("small/reduced.scn"))
    assert CLASS in classes_of(path("again.itr"))


def test_no_statement_and_no_row_can_go():
    small = pad.Case(read("small/reduced.scn"))
    bare = [line.split(" -- =>")[0] for line in small.schedule]
    for i in range(len(bare)):
        small.schedule = bare[:i] + bare[i + 1:]
        assert not fails(small.text()), small.text()
    small.schedule = bare
    for i, line in enumerate(list(small.setup)):
        if line.startswith("insert"):
            small.setup = small.setup[:i] + small.setup[i + 1:]
            assert not fails(small.text()), small.text()


def test_a_recording_is_reduced_as_its_scenario():
    run(ISOREC, "run", "--server", RELEASE, "-q", "-o", path("padded.itr"), PADDED)
    reduce("recorded", path("padded.itr"))
    require_small("recorded")


def test_a_recording_without_its_scenario():
    """As of clients that ran at once: the finding's statements become a scenario."""
    trace = path("free.itr")
    run(ISOTRACE, "slice", "--session=1,2,3,4", "-o", trace, path("padded.itr"))
    assert "scenario" not in run(ISOTRACE, "show", "--format=ndjson", trace), "the scenario is still in it"
    reduce("free", trace)
    require_small("free")


LOST_UPDATE = """# isolation: RR
[setup]
create table account (id int primary key, balance int, note varchar(20));
insert into account values (1, 100, 'a'), (2, 100, 'b'), (3, 100, 'c');
[schedule]
A> begin;
B> begin;
A> select balance from account where id = 2;
B> select note from account where id = 3;
C> insert into account values (4, 100, 'd');
B> update account set balance = balance + 7 where id = 2;
B> commit;
A> update account set balance = balance - 5 where id = 2;
C> select count(*) from account;
A> commit;
"""


def test_what_only_versions_show():
    """A recording without its scenario, judged by the textbook: candidates have versions, too."""
    whole, trace = path("versions-whole.itr"), path("versions.itr")
    run(ISOREC, "run", "--server", RELEASE, "-q", "--instrument=trigger", "-o", whole, write("lost-update.scn", LOST_UPDATE))
    run(ISOTRACE, "slice", "--session=1,2,3", "-o", trace, whole)
    out = run(ISOREC, "reduce", "--server", RELEASE, "--contract=adya", "--finding=G-single", "-o", path("versions"), trace)
    assert "--instrument=trigger" in out, out
    small = read("versions/reduced.scn")
    assert "# contract: adya" in small and re.search("^# finding: adya G-single violation", small, re.M), small
    assert pad.Case(small).statements() <= 5 and pad.Case(small).rows() == 1, small
    checked = run(ISOTRACE, "check", "--contract=adya", path("versions/reduced.itr"), status=(1,))
    assert "G-single" in checked, checked


# Two statements that lock the same rows, one in the order of the primary key, one in that of another: only at once they deadlock.
AT_ONCE = """# rounds: 400
[setup]
create table stock (id int primary key, place int, note varchar(20), key (place));
insert into stock values %s;
[schedule]
A> update stock set note = 'a' where id >= 0;
A> select count(*) from stock;
B> update stock force index (place) set note = 'b' where place >= 0;
C> select 1;
"""


def test_what_only_happens_at_once():
    rows = ",".join(f"({i}, {(i * 37 + 50) % 100}, 'x')" for i in range(100))
    whole, trace = path("at-once-whole.itr"), path("at-once.itr")
    run(ISOREC, "run", "--server", RELEASE, "-q", "-o", whole, write("at-once.scn", AT_ONCE % rows))
    run(ISOTRACE, "slice", "--session=1,2,3", "-o", trace, whole)
    out = run(ISOREC, "reduce", "--server", RELEASE, "--finding=error-1213", "--tries=120", "-o", path("at-once"), trace,
              status=(0, 3))
    assert "rounds, in which the sessions do not wait for each other" in out, out
    small = read("at-once/reduced.scn")
    assert re.search(r"^# rounds: \d+$", small, re.M), small
    assert re.search(r"^# expect: mariadb-\S+ \S+ = error 1213$", small, re.M), small
    assert pad.Case(small).statements() <= 3, small


def test_options_of_the_server():
    options = ("# server: sql_mode=STRICT_TRANS_TABLES,PIPES_AS_CONCAT\n# server: innodb_rollback_on_timeout=ON\n"
               "# server: innodb_autoinc_lock_mode=2\n")
    case = write("options.scn", options + """# shows: T1.2 has ('xy')
[setup]
create table t (a varchar(10));
insert into t values ('x'), ('z');
[schedule]
T2> insert into t values ('q');
T1> begin;
T1> select a || 'y' from t where a = 'x';
""")
    reduce_output = run(ISOREC, "reduce", "--server", RELEASE, "--same=output", "-o", path("options"), case)
    small = read("options/reduced.scn")
    assert re.findall("^# server: .*", small, re.M) == ["# server: sql_mode=PIPES_AS_CONCAT"], (small, reduce_output)
    assert pad.Case(small).statements() == 1, small


def test_nodes_are_not_for_this():
    trace = path("nodes.itr")
    run(ISOTRACE, "slice", "--session=1,2,3,4", "-o", trace,
        os.path.join(CORPUS, "recordings", "galera-lost-update", "mariadb-10.11.19+si+wsrep-RR.itr"))
    out = run(ISOREC, "reduce", "--server", RELEASE, "-o", path("nodes"), trace, status=(4,))
    assert f"isorec cluster reduce {trace}" in out, out


def test_a_server_that_is_not_there():
    out = run(ISOREC, "reduce", "-P", "1", "-o", path("nowhere"), PADDED, status=(4,))
    assert "cannot be run" in out and not os.path.exists(path("nowhere/reduced.scn")), out


def test_jobs():
    reduce("jobs", "--jobs=2", PADDED)
    require_small("jobs")


def test_tries_and_what_is_there():
    out = reduce("few", "--tries=4", PADDED, status=(3,))
    assert "best so far" in out, out
    assert fails(read("few/reduced.scn"))
    assert "--overwrite" in reduce("few", PADDED, status=(4,))
    reduce("few", "--overwrite", "--tries=4", PADDED, status=(3,))


def test_an_interrupt_keeps_the_best():
    child = subprocess.Popen(command("interrupted", PADDED), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    lines = []
    for line in child.stdout:
        lines.append(line)
        if " executions: " in line:
            child.send_signal(signal.SIGINT)
            break
    lines += child.stdout.readlines()
    assert child.wait() == 3, "".join(lines)
    assert "best so far" in "".join(lines), lines
    assert fails(read("interrupted/reduced.scn"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as text:
        return [int(word) for word in text.read().split()]


def with_signals(name, number, most, *args):
    """Reduces, and sends the server a signal at most so often, after each step; what was printed."""
    child = subprocess.Popen(command(name, *args, PADDED), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    lines, sent = [], 0
    for line in child.stdout:
        lines.append(line)
        if " executions: " in line and sent < most:
            mine = tuple(f"isorec-{worker}-" for worker in children(child.pid))
            status = subprocess.run([SERVERS, "status", "--json"], stdout=subprocess.PIPE, text=True, check=True)
            for instance in json.loads(status.stdout):
                # Status names a server that has ended until it is started again, and one may end meanwhile.
                if instance["name"].startswith(mine) and instance["state"] == "running":
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(instance["pid"], number)
                        sent += 1
    assert child.wait() == 0, "".join(lines)
    assert sent >= 1, lines
    require_small(name)
    return "".join(lines)


def test_a_server_that_dies_is_started_again():
    with_signals("dying", signal.SIGKILL, 2)


def test_a_server_that_hangs_is_started_again():
    out = with_signals("hanging", signal.SIGSTOP, 1, "--hang-timeout=3s", "--answer-timeout=2s")
    # It depends on what was under way whether the statement or the server is what gives no answer.
    assert re.search("a different finding turned up: (hang|crash): kept as", out), out


def test_what_does_not_fail_is_said():
    quiet = write("quiet.scn", "[setup]\ncreate table t (a int);\n[schedule]\nT1> select * from t;\n")
    out = reduce("quiet", "--finding", "wrong-result", quiet, status=(3,))
    assert "nothing to reduce" in out, out


def test_a_result_that_cannot_be_written_is_said():
    os.makedirs(path("taken/reduced.scn.part"))
    assert "cannot write" in reduce("taken", PADDED, status=(4,))


def test_a_disk_that_is_full_on_the_way_keeps_the_best():
    child = subprocess.Popen(command("filling", PADDED), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV)
    lines = []
    for line in child.stdout:
        lines.append(line)
        if " executions: " in line and not os.path.exists(path("filling/reduced.scn.part")):
            os.mkdir(path("filling/reduced.scn.part"))
    assert child.wait() == 4, "".join(lines)
    assert "cannot write" in "".join(lines) and "best so far" in "".join(lines), lines
    assert fails(read("filling/reduced.scn"))


def test_what_the_scenario_shows_is_kept():
    longer = HAND.replace("T2> begin;", "T2> select 1;\nT2> begin;").replace("T2.4", "T2.5").replace("T2.3", "T2.4")
    out = run(ISOREC, "reduce", "--server", RELEASE, "--same=output", "-o", path("shown"),
              write("outside.scn", pad.pad(longer, 1, inside=False)))
    assert ": shows" in out, out
    small = read("shown/reduced.scn")
    # Of statements that have other numbers now.
    assert re.search(r"^# shows: T2\.3 is ok and T2\.4 has \(2,2\) \(3,3\)$", small, re.M), small
    assert re.search(r"^# expect: mariadb-\S+ RR = bug$", small, re.M), small
    assert pad.Case(small).statements() <= 6, small


def test_usage():
    for args, status in ((["reduce"], 2), (["reduce", "a", "b"], 2), (["reduce", "--same=any", "a"], 2),
                         (["reduce", "--isolation=XX", PADDED], 2), (["reduce", path("none.scn")], 4),
                         (["reduce", write("bad.itr", "x")], 4)):
        out = run(ISOREC, *args, status=(status,))
        assert out, args


if __name__ == "__main__":
    tap.main({name: value for name, value in globals().items()
              if not name.startswith("test_") or ("hangs" in name) == HANGS})
