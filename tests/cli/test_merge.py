#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isotrace check --shard and isotrace merge: the same bytes for any number of shares, and never ok where one is missing.

The recipes of docs/many-machines are run as the tools they are for would run them."""
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys

from run import ISOTRACE, SCRATCH, isotrace, scratch
import tap
import tracefile

ISOSIM = os.path.abspath(sys.argv[2])
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(ISOSIM)))
RECIPES = os.path.join(tracefile.ROOT, "docs", "many-machines")
DOC = os.path.join(tracefile.ROOT, "docs", "many-machines.md")
os.chdir(SCRATCH)


def recordings():
    """Twelve small ones: the eighth is violated, the third incomplete (cut off)."""
    names = ["run-%02d.itr" % i for i in range(12)]
    for i, name in enumerate(names):
        if not os.path.exists(name):
            plant = ["--plant=lost-update"] if i == 7 else []
            subprocess.run([ISOSIM, "--quiet", "--sessions=3", "--transactions=20", "--unknown=0", "--predicate=0", "--delete=0",
                            "--insert=0", "--pk-update=0", f"--seed={i}", *plant, "-o", name], check=True)
            if i == 2:
                with open(name, "r+b") as file:
                    file.truncate(os.path.getsize(name) - 30)
    return names


def share(number, of, names=None, status=None):
    path = f"{number}-of-{of}.ndjson"
    result = isotrace("check", f"--shard={number}/{of}", "--format=ndjson", *(names or recordings()))
    assert result.status in ((0, 1, 3) if status is None else status), result.err
    with open(path, "wb") as file:
        file.write(result.raw)
    return path


def merged(*paths, status=None):
    result = isotrace("merge", "--format=ndjson", *paths)
    assert result.status in ((0, 1, 3) if status is None else (status,)), (result.status, result.err)
    return result


def keep(result, name):
    with open(name, "wb") as file:
        file.write(result.raw)
    return name


def test_same_bytes_for_any_number_of_shares():
    whole = merged(share(1, 1), status=1).raw
    lines = [json.loads(line) for line in whole.splitlines()]
    assert lines[0]["type"] == "share" and lines[0]["shards"] == [1] and lines[0]["of"] == 1 and lines[-1]["type"] == "end"
    assert [l["history"] for l in lines if l["type"] == "verdict"] == list(range(12))
    assert [l["history"] for l in lines if l["type"] == "finding"] == [7]
    for of in (2, 4, 7, 12, 20):
        shares = [share(i + 1, of) for i in range(of)]
        random.Random(of).shuffle(shares)
        assert merged(*shares).raw == whole, of
        # Some first, the others later; a share twice; the whole beside a part.
        some = keep(merged(*shares[:of // 2 + 1], shares[0]), "some.ndjson")
        assert merged(*shares[of // 2:], some).raw == whole, of
        assert merged(some, "1-of-1.ndjson").raw == merged("1-of-1.ndjson", some).raw == whole, of
    # Without shares the lines are as they always were, but for the number in the list.
    plain = isotrace("check", "--format=ndjson", *recordings()).out.splitlines()
    assert [re.sub(r'"history":\d+,|"status":\d,', "", line.decode()) for line in whole.splitlines()[1:-1]] == plain


def test_merging_is_associative():
    shares = [share(i + 1, 4) for i in range(4)]
    wholes = set()
    for a, b, c, d in itertools.permutations(shares):
        left = keep(merged(keep(merged(keep(merged(a, b), "x"), c), "y"), d), "z")
        pairs = merged(keep(merged(a, b), "x"), keep(merged(c, d), "y"))
        with open(left, "rb") as file:
            wholes |= {file.read(), pairs.raw}
    assert len(wholes) == 1


def test_exit_status_is_the_worst():
    names = recordings()
    assert isotrace("merge", share(1, 1)).status == 1
    good = [n for i, n in enumerate(names) if i not in (2, 7)]
    result = isotrace("merge", share(1, 2, good), share(2, 2, good)).expect(0)
    assert result.out == "10 histories: 10 ok\n", result.out
    assert isotrace("merge", share(1, 1, good + [names[2]])).status == 3
    lost = good[:3] + ["missing.itr"] + good[3:]
    result = isotrace("merge", share(1, 2, lost), share(2, 2, lost, status=(4,)))
    assert result.status == 4 and "1 could not be judged" in result.out and "missing.itr" in result.out, result.out


def test_a_worker_that_dies_never_makes_it_ok():
    good = [n for i, n in enumerate(recordings()) if i not in (2, 7)]
    first, second = share(1, 2, good), share(2, 2, good)
    result = isotrace("merge", first)
    assert result.status == 3 and "of 2 shares these are missing: 2:" in result.err and "5 not judged" in result.out, result.err
    with open(second, "rb") as file:
        whole = file.read()
    for size in range(0, len(whole), 97):
        with open("cut.ndjson", "wb") as file:
            file.write(whole[:size])
        result = isotrace("merge", first, "cut.ndjson")
        assert result.status in (3, 4), (size, result.out, result.err)
        if result.status == 3:
            assert "2 (cut short)" in result.err, result.err
            # What is whole of it is kept, and the share judged again makes it whole.
            some = keep(merged(first, "cut.ndjson"), "some.ndjson")
            assert isotrace("merge", some).status == 3
            assert merged(some, second).raw == merged(first, second).raw
    with open("cut.ndjson", "wb") as file:
        file.write(whole[:-1])
    assert isotrace("merge", first, "cut.ndjson").status == 3


def test_what_does_not_belong_together_is_refused():
    names = recordings()
    first, other = share(1, 2), share(2, 2, names[:-1])
    isotrace("merge", first, other).expect(4, "another list of histories")
    isotrace("merge", first, share(2, 3)).expect(4, "all must be of one run")
    with open(first, "rb") as file:
        text = file.read()
    with open("changed.ndjson", "wb") as file:
        file.write(text.replace(b'"verdict":"ok"', b'"verdict":"violated"', 1))
    isotrace("merge", first, "changed.ndjson").expect(4, "was judged twice, and not alike")
    for wrong, message in ((b"", "no share in it"), (b"{}\n", "this is no share"), (b"x\n", "this is no share"), (b"[1]\n", "this is no share"),
                           (text + b"{}\n", "after the end"), (text.replace(b'"type":"end"', b'"type":"odd"'), "not known"),
                           (text.replace(b'"shards":[1]', b'"shards":[9]'), "no list of numbers"),
                           (text.replace(b'"history":0', b'"history":99', 1), "no number of a history")):
        with open("wrong.ndjson", "wb") as file:
            file.write(wrong)
        result = isotrace("merge", "wrong.ndjson")
        assert result.status == 4 and message in result.err, (wrong[:50], result.status, result.err)
    for wrong in ("0/2", "3/2", "1", "x/2", "1/0", "-1/2", "1/100001"):
        isotrace("check", "--shard=" + wrong, names[0]).expect(2, "--shard")
    isotrace("check", "--shard=1/2", "-").expect(2, "standard input")
    isotrace("merge").expect(2, "which shares")


def test_random_bytes_do_no_harm():
    with open(share(1, 1), "rb") as file:
        text = file.read()
    dice = random.Random(5)
    for _ in range(150):
        wrong = bytearray(text)
        for _ in range(dice.randrange(1, 6)):
            wrong[dice.randrange(len(wrong))] = dice.randrange(256)
        with open("random.ndjson", "wb") as file:
            file.write(wrong)
        assert isotrace("merge", "random.ndjson").status in (0, 1, 2, 3, 4, 5)
        assert isotrace("merge", "--format=ndjson", "random.ndjson").status in (0, 1, 3, 4)


# ---- the recipes ----

def path_with_isotrace():
    folder = scratch("bin")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "isotrace")):
        os.symlink(ISOTRACE, os.path.join(folder, "isotrace"))
    return folder + os.pathsep + os.environ["PATH"]


def shell(text, cwd, **env):
    done = subprocess.run(["sh", "-c", text], cwd=cwd, capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, PATH=path_with_isotrace(), **env))
    assert done.returncode == 0, (text, done.stdout, done.stderr)
    return done.stdout


def folder_of_runs(name, runs):
    folder = scratch(name)
    os.makedirs(os.path.join(folder, runs))
    for trace in recordings():
        shutil.copy(os.path.join(SCRATCH, trace), os.path.join(folder, runs))
    return folder


def verdict_of(folder, *shares):
    done = subprocess.run([ISOTRACE, "merge", *shares], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == "" and done.stdout.startswith("12 histories: 10 ok, 1 violated, 1 incomplete"), done
    return done.stdout


def test_gnu_parallel():
    if not shutil.which("parallel"):
        raise tap.Skip("GNU parallel is not installed")
    with open(DOC, encoding="utf-8") as file:
        command = re.search(r"^    (parallel .*)$", file.read(), re.M)[1]
    folder = folder_of_runs("parallel", "runs")
    subprocess.run(["sh", "-c", command], cwd=folder, check=False, capture_output=True, timeout=120, stdin=subprocess.DEVNULL,
                   env=dict(os.environ, PATH=path_with_isotrace(), HOME=folder))
    verdict_of(folder, *(f"{i}.ndjson" for i in range(1, 9)))


def test_slurm_array():
    folder = folder_of_runs("slurm", "traces")
    for task in (3, 1, 5, 2, 4):
        shell("sh " + os.path.join(RECIPES, "slurm-array.sh"), folder, SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="5",
              TRACES=os.path.join(folder, "traces"), SHARES=os.path.join(folder, "shares"))
    verdict_of(folder, *(f"shares/{i}.ndjson" for i in range(1, 6)))


def yaml_of(name):
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError as missing:
        raise tap.Skip("python3-yaml is not installed") from missing
    with open(os.path.join(RECIPES, name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def test_kubernetes_job():
    job = yaml_of("kubernetes-job.yaml")
    container = job["spec"]["template"]["spec"]["containers"][0]
    env = {e["name"]: e["value"] for e in container["env"]}
    assert int(env["COMPLETIONS"]) == job["spec"]["completions"] and job["spec"]["completionMode"] == "Indexed"
    folder = folder_of_runs("kubernetes", "traces")
    os.makedirs(os.path.join(folder, "shares"))
    for index in range(job["spec"]["completions"]):
        command = [*container["command"], *container["args"]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              env=dict(os.environ, PATH=path_with_isotrace(), JOB_COMPLETION_INDEX=str(index), COMPLETIONS=env["COMPLETIONS"],
                                       TRACES=os.path.join(folder, "traces"), SHARES=os.path.join(folder, "shares")))
        assert done.returncode == 0, done.stderr
    verdict_of(folder, *(f"shares/{i}.ndjson" for i in range(1, 17)))




def test_kubernetes_schema():
    """The manifest against the API's schema, as the npm package kubernetes-models has it."""
    job = yaml_of("kubernetes-job.yaml")
    folder = os.path.join(BUILD, "kubernetes-node")
    if not shutil.which("npm"):
        raise tap.Skip("npm is not installed")
    if not os.path.isdir(os.path.join(folder, "node_modules", "kubernetes-models")):
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1", "--prefix", ".",
                               "kubernetes-models@latest"], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise tap.Skip("npm cannot install kubernetes-models here")
    script = os.path.join(folder, "validate.mjs")
    with open(script, "w", encoding="ascii") as out:
        out.write("import { Job } from 'kubernetes-models/batch/v1/Job';\n"
                  "try { new Job(JSON.parse(process.argv[2])).validate(); } catch (e) { console.log(String(e)); process.exit(1); }\n")

    def validate(manifest):
        return subprocess.run(["node", script, json.dumps(manifest)], capture_output=True, text=True, timeout=60, check=False)
    done = validate(job)
    assert done.returncode == 0, done.stdout + done.stderr
    job["spec"]["completions"] = "many"
    assert validate(job).returncode == 1  # the schema is looked at


def test_ci_matrix():
    matrix = yaml_of("ci-matrix.yaml")
    check, verdict = matrix["jobs"]["check"], matrix["jobs"]["verdict"]
    folder = folder_of_runs("ci", "recordings")
    shards = check["strategy"]["matrix"]["shard"]
    for shard in shards:
        shell(check["steps"][1]["run"].replace("${{ matrix.shard }}", str(shard)), folder)
    assert verdict["steps"][-1]["run"] == "isotrace merge share-*.ndjson"
    verdict_of(folder, *(f"share-{i}.ndjson" for i in shards))


if __name__ == "__main__":
    tap.main(globals())
