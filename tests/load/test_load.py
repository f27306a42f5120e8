#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`isorec generate --run` on a real server: TAP on standard output.

    test_load.py ISOREC ISOREC-SERVERS RELEASE
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"))
import tap  # noqa: E402

ISOREC, SERVERS, RELEASE = sys.argv[1:4]
del sys.argv[1:]
NAME = "load-test-%d" % os.getpid()
started = subprocess.run([SERVERS, "start", RELEASE, "--name=" + NAME, "--json", "--with-parent=%d" % os.getpid()],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
if started.returncode == 77:
    print("1..0 # SKIP " + started.stderr.strip().splitlines()[-1])
    sys.exit(0)
PORT = str(json.loads(started.stdout)["port"])


def sql(text):
    done = subprocess.run([SERVERS, "sql", NAME, text], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def run(*args, status=0):
    done = subprocess.run([ISOREC, "generate", "--run", "--model=ycsb-sql", "-P", PORT, *args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == status, f"exit status {done.returncode}\n{done.stdout}"
    return done.stdout


def counts(out):
    return {name.strip(): int(count) for name, count in re.findall(r"^  (\D+?) +[\d.]+ of (\d+)", out, re.M)}


def commands():
    return {row[0]: int(row[1]) for row in sql("show global status like 'Com_%'") if row[1].isdigit()}


def test_statements_find_what_they_ask_for():
    out = run("--sessions=16", "--transactions=1500", "--rows=2000")
    for name, share in re.findall(r"^  (\D+?) +([\d.]+) of", out, re.M):
        assert float(share) >= (0.98 if "predicate" in name else 0.995), out
    assert re.search(r"^1500 transactions", out, re.M), out
    assert not sql("show databases like 'isorec_load'")


def test_the_server_counted_the_same():
    run("--sessions=2", "--transactions=40", "--rows=2000", "--keep-database")
    before = commands()
    out = run("--sessions=8", "--transactions=800", "--rows=2000", "--use-database")
    after, said = commands(), counts(out)
    assert "alpha 1.00000" in out, out
    delta = {name: after[name] - before[name] for name in ("Com_select", "Com_update", "Com_insert", "Com_delete")}
    # ... and one query for each table, of the keys that are there.
    delta["Com_select"] -= len(sql("show tables from isorec_load"))
    assert delta["Com_select"] == said["item read"] + said["predicate read"], (delta, said)
    assert delta["Com_update"] == said["update"] + said["predicate update"], (delta, said)
    assert delta["Com_insert"] == said["insert"] and delta["Com_delete"] == said["delete"], (delta, said)


def test_the_same_seed_gives_the_same_rows():
    sums = []
    for seed in (5, 5, 6):
        run("--sessions=1", "--transactions=1", "--rows=3000", f"--seed={seed}", "--keep-database", "--drop-database")
        tables = [row[0] for row in sql("show tables from isorec_load")]
        sums.append([sql(f"checksum table isorec_load.{name}")[0][1] for name in tables])
    # One transaction of the same seed does the same.
    assert sums[0] == sums[1] != sums[2], sums


def test_a_database_that_is_there_is_refused():
    out = run("--transactions=1", status=4)
    assert "database exists" in out, out
    sql("drop database isorec_load")


def test_access_follows_its_spread():
    for access in ("uniform", "zipf(0.4)", "hotspot(20%, 80%)"):
        out = run("--sessions=8", "--transactions=3000", "--rows=100", "--access=" + access)
        distance, chance = map(float, re.search(r"access spread ([\d.]+); .* have ([\d.]+)", out).groups())
        assert distance < 1.5 * chance, (access, out)
        assert float(re.search(r"beta ([\d.]+)", out)[1]) > 1e-4, (access, out)
    out = run("--sessions=8", "--transactions=3000", "--rows=100", "--access=stratified zipf(0.4)")
    assert float(re.search(r"beta ([\d.]+)", out)[1]) >= 0.99, out


MODEL = """
like ycsb-sql
[schema]
tables = 2
[data]
access = zipf(0.8)
[statements]
statement = select:6 update:3 insert:1
condition = key:3 between:1
[transactions]
length = 2..4
level = RC
"""


def learnt(*args, status=0):
    """The features of a model that was learnt: {name: text}."""
    done = subprocess.run([ISOREC, "generate", "--print-model", *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    assert done.returncode == status, done.stdout
    return done.stdout, dict(re.findall(r"^(\w+) = (.*)", done.stdout, re.M))


def shares(text):
    """{value: share} of "select:600 update:400"."""
    weights = {value: int(weight or 1) for value, weight in re.findall(r"([\w.]+)(?::(\d+))?", text)}
    return {value: weight / sum(weights.values()) for value, weight in weights.items()}


def test_a_model_is_learnt_from_a_recording():
    """A load with known shares is recorded by the proxy; the model that is learnt has these shares."""
    folder = tempfile.mkdtemp(prefix="load-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    model, socket, trace = (os.path.join(folder, name) for name in ("my.model", "proxy.sock", "load.itr"))
    with open(model, "w", encoding="ascii") as file:
        file.write(MODEL)
    run("--model=" + model, "--sessions=1", "--transactions=1", "--rows=300", "--keep-database", "--drop-database")
    proxy = subprocess.Popen([ISOREC, "proxy", "--node=n1=127.0.0.1:" + PORT, "--listen=unix:" + socket, "--user=root",
                              "--database=isorec_load", "--quiet", "-o", trace])
    while not os.path.exists(socket):
        assert proxy.poll() is None
        time.sleep(0.02)
    done = subprocess.run([ISOREC, "generate", "--run", "--model=" + model, "--socket=" + socket, "--sessions=3",
                           "--transactions=1200", "--rows=300", "--use-database"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    proxy.terminate()
    assert done.returncode == 0 and proxy.wait() == 0, done.stdout
    text, features = learnt("--like=" + trace)
    assert text.startswith("# Learnt from ") and "# table " in text, text
    said = counts(done.stdout)
    reads = said["item read"] + said["predicate read"]
    wanted = {"select": reads, "update": said["update"] + said.get("predicate update", 0), "insert": said["insert"]}
    got = shares(features["statement"])
    got["select"] += got.pop("lock", 0)  # reads FOR UPDATE, before a row is changed
    for word, count in wanted.items():
        assert abs(got[word] - count / sum(wanted.values())) < 0.02, (word, got, wanted)
    # A fourth session of the load looked at the tables first; a row is read before it is changed, so some are longer.
    assert features["tables"] == "2" and shares(features["level"])["RC"] > 0.99 and features["sessions"] == "4", text
    assert all(0.2 < shares(features["length"])[length] < 0.4 for length in "234"), text
    # Accesses of the recording by key, without the pivots of ranges, have the spread.
    assert 0.65 < float(re.fullmatch(r"zipf\(([\d.]+)\)", features["access"])[1]) < 0.95, text
    # It is a model: cases are made of it, and read the same again.
    again = os.path.join(folder, "again.model")
    with open(again, "w", encoding="utf-8") as file:
        file.write(text)
    made = [subprocess.run([ISOREC, "generate", "--count=3", how], stdout=subprocess.PIPE, text=True, check=True).stdout
            for how in ("--like=" + trace, "--model=" + again)]
    strip = lambda case: re.sub(r"# (id|generated):.*", "", case)  # noqa: E731 the models' names differ
    assert strip(made[0]) == strip(made[1]) and "insert into" in made[0]
    secret, features = learnt("--like=" + trace, "--anonymous")
    assert "#" not in secret and features["statement"] == shares_text(text), secret
    sql("drop database isorec_load")


def shares_text(text):
    return re.search(r"^statement = (.*)", text, re.M)[1]


def test_usage():
    assert "--access:2:10" in run("--access=zpf(1)", status=4)
    run("--sessions=0", status=2)
    assert "which of the two" in learnt("--like=x.itr", "--model=tiny", status=2)[0]
    assert "goes with --like" in learnt("--anonymous", status=2)[0]
    assert "/dev/null" in learnt("--like=/dev/null", status=4)[0]


if __name__ == "__main__":
    tap.main(globals())
