#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec-servers with the machine's own MariaDB server: TAP on standard output.

    test_servers.py ISOREC-SERVERS [TEST...]

Skipped as a whole (77) where no mariadbd is installed.  Every server is started with this process
as its parent, so that none outlives a test that is killed.
"""
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TOOL = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.dirname(TOOL))

from isorec_servers import fetch, instance, process, releases, wire  # noqa: E402

TESTS = []
os.environ.pop("ISOREC_SERVERS_RUN", None)  # what the caller of all tests chose is not for these
MINE = "--with-parent=%d" % os.getpid()


class SkipTest(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


def tool(*args, cache=None, status=0, env=None, prefix=()):
    """Runs the tool; its exit status must be the expected one.  Returns (stdout, stderr)."""
    done = subprocess.run([*prefix, TOOL, *args], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False,
                          env=dict(os.environ, ISOREC_SERVERS_CACHE=cache or CACHE, **(env or {})))
    assert done.returncode == status, "%s: exit status %d, not %d\n%s%s" % (
        " ".join(args), done.returncode, status, done.stdout, done.stderr)
    return done.stdout, done.stderr


def start(*args, **more):
    return json.loads(tool("start", "mariadb-local", MINE, "--json", *args, **more)[0])


def sql(name, statement, **more):
    return tool("sql", name, statement, **more)[0].strip()


def gone(pid):
    """Waits for the end of a process that ought to end; the pid is pinned before it is asked."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], 60)[0])
    finally:
        os.close(fd)


def wait_for(what, condition):
    """For states that no descriptor announces.  The limit is for a broken tool only."""
    for _ in range(6000):
        value = condition()
        if value:
            return value
        select.select([], [], [], 0.01)
    raise AssertionError("it never came: " + what)


def sleeper():
    return subprocess.Popen(["sleep", "1000"])


def rundir(name, cache=None):
    return os.path.join(cache or CACHE, "run", name)


@test
def wrong_usage_is_refused():
    for args in ((), ("nonsense",), ("start",), ("start", "no-such-release"),
                 ("start", "mariadb-local", "--host=127.0.0.1"), ("stop",),
                 ("start", "mariadb-local", "--isolation=QQ"), ("stop", "nobody"),
                 ("start", "mariadb-local", "--nodes=3"), ("shell", "nobody"),
                 ("start", "mariadb-local", "--name=../x"),
                 ("start", "mariadb-local", "--with-parent=999999999")):
        _, err = tool(*args, status=2)
        assert err, args
    assert "mariadb-10.5" in tool("start", "no-such-release", status=2)[1]


@test
def help_is_a_command_too():
    assert tool("help")[0] == tool("--help")[0]
    assert tool("help", "stop")[0] == tool("stop", "--help")[0]
    assert tool("help", "stop")[0].startswith("usage: isorec-servers stop ")


@test
def the_list_names_every_release():
    rows = json.loads(tool("list", "--json")[0])
    names = [row["name"] for row in rows]
    for name in ("mariadb-local", "mariadb-10.5", "mariadb-10.11", "mariadb-11.8",
                 "mariadb-11.8-sid", "mysql-8.0", "mysql-9.7", "mysql-5.6", "galera-10.11"):
        assert name in names, name
    assert rows[0]["cached"] and "MariaDB" in rows[0]["version"]


@test
def start_use_stop():
    about = start("--name=one")
    assert about["state"] == "running" and about["name"] == "one"
    assert os.path.isdir(about["datadir"]) and os.path.exists(about["error_log"])
    with open(os.path.join(about["rundir"], "pid"), encoding="ascii") as text:
        assert int(text.read()) == about["pid"]
    with wire.Connection(port=about["port"]) as connection:
        assert connection.query("select @@port, null, 'ä'") == [(str(about["port"]), None, "ä")]
        assert connection.query("select @@version") == [(about["version"],)]
        try:
            connection.query("select nonsense")
            raise AssertionError("no error")
        except wire.WireError as exc:
            assert exc.code == 1054, exc
    shown = json.loads(tool("status", "--json")[0])
    assert [(row["name"], row["pid"]) for row in shown] == [("one", about["pid"])], shown
    assert "one" in tool("status")[0]
    out = subprocess.run(["sh", "-c", tool("env", "one")[0] + 'echo "$MYSQL_TCP_PORT"'],
                         capture_output=True, text=True, check=True).stdout
    assert int(out) == about["port"]
    tool("start", "mariadb-local", "--name=one", status=2)  # the name is taken
    tool("stop", "one")
    assert not os.path.exists("/proc/%d" % about["pid"])
    assert not os.path.exists(about["rundir"])
    assert json.loads(tool("status", "--json")[0]) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", about["port"])) != 0


@test
def a_shell_is_connected():
    about = start()
    if not releases.local().client():
        tool("stop", about["name"])
        raise SkipTest("no client program is installed")
    assert tool("shell", about["name"], "-N", "-e", "select @@port")[0].split() == \
        [str(about["port"])]
    tool("stop", about["name"])


@test
def chosen_options_are_in_force():
    about = start("--isolation=rc", "--snapshot-isolation=on", "--binlog=on", "-o",
                  "innodb-lock-wait-timeout=7", "--", "--max-connections=33")
    assert sql(about["name"], "select @@global.tx_isolation, @@global.innodb_snapshot_isolation, "
               "@@log_bin, @@binlog_format, @@innodb_lock_wait_timeout, @@max_connections") == \
        "READ-COMMITTED\t1\t1\tROW\t7\t33"
    tool("stop", about["name"])
    about = start("--isolation=SERIALIZABLE", "--snapshot-isolation=off")
    assert sql(about["name"], "select @@tx_isolation, @@innodb_snapshot_isolation, @@log_bin") \
        == "SERIALIZABLE\t0\t0"
    tool("stop", about["name"])


@test
def two_at_once_share_nothing():
    first, second = start(), start()
    assert first["name"] != second["name"] and first["port"] != second["port"]
    sql(first["name"], "create database only_here")
    assert "only_here" in sql(first["name"], "show databases")
    assert "only_here" not in sql(second["name"], "show databases")
    tool("stop", first["name"])
    assert sql(second["name"], "select 1") == "1"
    tool("stop", "--all")
    assert gone(second["pid"])


@test
def many_starts_at_the_same_moment():
    running = [subprocess.Popen([TOOL, "start", "mariadb-local", MINE, "--json"],
                                stdout=subprocess.PIPE, env=dict(os.environ,
                                                                 ISOREC_SERVERS_CACHE=CACHE))
               for _ in range(4)]
    abouts = [json.loads(one.communicate()[0]) for one in running]
    assert len({about["name"] for about in abouts}) == 4
    assert len({about["port"] for about in abouts}) == 4
    for about in abouts:
        assert sql(about["name"], "select @@port") == str(about["port"])
    tool("stop", "--all")


@test
def instances_may_live_in_another_folder_than_the_cache():
    elsewhere = {"ISOREC_SERVERS_RUN": os.path.join(CACHE, "elsewhere")}
    about = start("--name=moved", env=elsewhere)
    assert about["datadir"].startswith(elsewhere["ISOREC_SERVERS_RUN"] + "/"), about
    assert sql("moved", "select 1", env=elsewhere) == "1"
    tool("sql", "moved", "select 1", status=2, env={"ISOREC_SERVERS_RUN": ""})
    tool("kill", "moved", env=elsewhere)
    tool("restart", "moved", env=elsewhere)
    assert sql("moved", "select 2", env=elsewhere) == "2"
    tool("stop", "moved", env=elsewhere)
    assert not os.path.exists(about["rundir"])
    _, err = tool("start", "mariadb-local", MINE, status=4,
                  env={"ISOREC_SERVERS_RUN": "/proc/none"})
    assert "/proc/none" in err and "ISOREC_SERVERS_RUN" in err, err


@test
def a_killed_parent_takes_the_server_along():
    parent = sleeper()
    about = json.loads(tool("start", "mariadb-local", "--with-parent=%d" % parent.pid,
                            "--json")[0])
    assert process.start_time(about["pid"])
    parent.kill()
    assert gone(about["pid"])
    parent.wait()
    wait_for("the run directory goes", lambda: not os.path.exists(about["rundir"]))


@test
def a_killed_supervisor_takes_the_server_along():
    about = start("--name=orphan")
    full = instance.load(CACHE, "orphan")
    os.kill(full["supervisor"]["pid"], signal.SIGKILL)
    assert gone(about["pid"])
    assert json.loads(tool("status", "--json")[0])[0]["state"] == "stale"
    assert "orphan" in tool("clean")[0]
    assert not os.path.exists(about["rundir"])


@test
def a_start_that_is_killed_leaves_nothing():
    # The server runs this file before it takes connections, so it is never ready.
    hook = os.path.join(CACHE, "sleep.sql")
    with open(hook, "w", encoding="ascii") as out:
        out.write("select sleep(1000);\n")
    starter = subprocess.Popen([TOOL, "start", "mariadb-local", "--name=slow", "--",
                                "--init-file=" + hook],
                               env=dict(os.environ, ISOREC_SERVERS_CACHE=CACHE))

    def server():
        about = instance.load(CACHE, "slow")
        return about and about["server"]

    who = wait_for("the server process", server)
    assert process.alive(who)
    starter.kill()
    starter.wait()
    assert gone(who["pid"])
    wait_for("the run directory goes", lambda: not os.path.exists(rundir("slow")))


@test
def a_foreign_process_is_never_signalled():
    about = start("--name=stale")
    full = instance.load(CACHE, "stale")
    os.kill(full["supervisor"]["pid"], signal.SIGKILL)
    assert gone(about["pid"])
    innocent = sleeper()
    try:
        # As if the pid had been used again; then as if even the start time were the same.
        for who in (dict(full["server"], pid=innocent.pid), process.identity(innocent.pid)):
            full["server"] = who
            full["pid"] = innocent.pid
            instance.save(full)
            _, err = tool("stop", "--keep", "stale")
            assert "gone already" in err, err
            assert innocent.poll() is None
        tool("stop", "stale")
        assert innocent.poll() is None
        assert not os.path.exists(rundir("stale"))
    finally:
        innocent.kill()
        innocent.wait()


@test
def a_bad_option_shows_the_line_of_the_log():
    _, err = tool("start", "mariadb-local", "--name=bad", MINE, "-o", "no-such-option=1", status=4)
    assert "unknown variable 'no-such-option=1'" in err, err
    assert "exit status" in err and len(err.splitlines()) < 8, err
    assert not os.path.exists(rundir("bad"))
    assert os.path.exists(os.path.join(CACHE, "failed", "bad.log"))


@test
def a_port_that_is_taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        _, err = tool("start", "mariadb-local", MINE, "--port=%d" % port, status=4)
        assert "port %d is taken" % port in err, err
        # Chosen by the tool: the next one is tried.
        real, given = instance.free_port, []
        instance.free_port = lambda: given.append(0) or (port if len(given) == 1 else real())
        try:
            about = instance.start(CACHE, releases.local(), parent=process.identity(os.getpid()))
        finally:
            instance.free_port = real
        assert about["port"] != port
        assert sql(about["name"], "select @@port") == str(about["port"])
        tool("stop", about["name"])
    about = start("--port=%d" % port)
    assert about["port"] == port
    tool("stop", about["name"])


@test
def a_killed_server_is_told_and_starts_again_with_its_data():
    about = start("--name=phoenix", "--isolation=RC")
    sql("phoenix", "create table mysql.kept(a int primary key)")
    sql("phoenix", "insert into mysql.kept values (42)")
    os.kill(about["pid"], signal.SIGKILL)
    assert gone(about["pid"])
    wait_for("the exit is noted", lambda: instance.load(CACHE, "phoenix")["exit"])
    row = json.loads(tool("status", "phoenix", "--json")[0])[0]
    assert row["state"] == "exited" and row["exit"] == {"signal": 9}, row
    again = json.loads(tool("restart", "phoenix", MINE, "--json")[0])
    assert again["port"] == about["port"] and again["pid"] != about["pid"]
    assert sql("phoenix", "select a, @@tx_isolation from mysql.kept") == "42\tREAD-COMMITTED"
    tool("kill", "phoenix")
    tool("restart", "phoenix", MINE)
    assert sql("phoenix", "select a from mysql.kept") == "42"
    tool("stop", "--keep", "phoenix")
    assert json.loads(tool("status", "--json")[0])[0]["state"] == "stopped"
    tool("restart", "phoenix", MINE)
    assert sql("phoenix", "select a from mysql.kept") == "42"
    # A restart that fails takes nothing away.
    tool("stop", "--keep", "phoenix")
    os.rename(about["datadir"], about["datadir"] + ".away")
    tool("restart", "phoenix", MINE, status=4)
    assert json.loads(tool("status", "phoenix", "--json")[0])[0]["state"] == "exited"
    os.rename(about["datadir"] + ".away", about["datadir"])
    tool("restart", "phoenix", MINE)
    assert sql("phoenix", "select a from mysql.kept") == "42"
    tool("stop", "phoenix")


@test
def a_cache_that_cannot_be_written():
    _, err = tool("start", "mariadb-local", MINE, cache="/dev/null/cache", status=4)
    assert "cannot be used" in err and "--cache" in err, err
    # For a release that would have to be fetched it is a reason to skip.
    _, err = tool("fetch", "mariadb-10.11", cache="/dev/null/cache", status=77)
    assert "skip: mariadb-10.11 cannot be fetched" in err, err


@test
def a_full_disk_is_told():
    folder = os.path.join(CACHE, "small")
    os.makedirs(folder, exist_ok=True)
    enter = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    mount = "mount -t tmpfs -o size=6m none '%s'" % folder
    if subprocess.run([*enter, "sh", "-c", mount], capture_output=True,
                      check=False).returncode:
        raise SkipTest("a small file system cannot be mounted here")
    prefix = [*enter, "sh", "-c", mount + ' && "$@"; s=$?; ls "%s/run"; exit $s' % folder, "sh"]
    out, err = tool("start", "mariadb-local", MINE, cache=folder, status=4, prefix=prefix)
    assert "cannot be made" in err or "cannot be copied" in err, err
    assert "space" in err or "full" in err.lower() or "28" in err, err
    assert "mariadb" not in out, out
    _, err = tool("fetch", "mariadb-10.11", cache=folder, status=77, prefix=prefix)
    assert "MB free" in err, err


@test
def a_deep_cache_folder():
    deep = os.path.join(CACHE, *["a-rather-long-folder-name"] * 6)
    about = start(cache=deep)
    assert len(about["socket"]) < 108
    assert sql(about["name"], "select 1", cache=deep) == "1"
    tool("stop", about["name"], cache=deep)
    assert not os.path.exists(os.path.dirname(about["socket"]))


@test
def an_ordinary_user():
    if os.geteuid() != 0:
        raise SkipTest("already one")
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*prefix, "test", "-x", TOOL], check=False).returncode:
        raise SkipTest("the user nobody cannot reach the tool")
    with tempfile.TemporaryDirectory(prefix="isorec-test-") as folder:
        os.chown(folder, 65534, 65534)
        about = start(cache=folder, prefix=prefix)
        assert os.stat("/proc/%d" % about["pid"]).st_uid == 65534
        assert sql(about["name"], "select 1", cache=folder, prefix=prefix) == "1"
        tool("stop", about["name"], cache=folder, prefix=prefix)
        assert gone(about["pid"])


@test
def a_server_that_already_runs():
    about = start("--name=theirs")
    used = json.loads(tool("start", "--host=127.0.0.1", "--port=%d" % about["port"], "--json",
                           "--name=used")[0])
    assert used["kind"] == "external" and used["version"] == about["version"], used
    assert sql("used", "select @@port") == str(about["port"])
    tool("stop", "used")
    assert sql("theirs", "select 1") == "1"
    used = json.loads(tool("start", "--socket=" + about["socket"], "--json", "--name=used")[0])
    assert sql("used", "select @@port") == str(about["port"])
    tool("stop", "--all")
    _, err = tool("start", "--host=127.0.0.1", "--port=%d" % about["port"], status=77)
    assert "skip: the server at 127.0.0.1" in err, err


FAKE_ENGINE = """#!/bin/sh
echo "$*" >>"$FAKE/calls"
case $1 in
info) ;;
run) echo 0123abc ;;
port) echo "127.0.0.1:$FAKE_PORT" ;;
inspect) echo true ;;
rm) : >"$FAKE/removed" ;;
esac
"""


@test
def a_container_image():
    """What the tool asks of podman, with a stand-in that has a server ready."""
    about = start("--name=inside")
    folder = os.path.join(CACHE, "fake")
    os.makedirs(folder)
    with open(os.path.join(folder, "podman"), "w", encoding="ascii") as out:
        out.write(FAKE_ENGINE)
    os.chmod(os.path.join(folder, "podman"), 0o755)
    env = {"PATH": folder + ":" + os.environ["PATH"], "FAKE": folder,
           "FAKE_PORT": str(about["port"])}
    used = json.loads(tool("start", "--image=example/mariadb:1", "--json", "--isolation=RC",
                           env=env)[0])
    assert used["kind"] == "container" and used["version"] == about["version"], used
    with open(os.path.join(folder, "calls"), encoding="ascii") as text:
        run = [line for line in text if line.startswith("run")][0]
    assert "127.0.0.1::3306" in run and "example/mariadb:1 --transaction-isolation=READ-COMMITTED" \
        in run, run
    tool("stop", used["name"], env=env)
    assert os.path.exists(os.path.join(folder, "removed"))
    os.unlink(os.path.join(folder, "removed"))
    parent = sleeper()
    tool("start", "--image=x", "--with-parent=%d" % parent.pid, env=env)
    parent.kill()
    parent.wait()
    wait_for("the container goes", lambda: os.path.exists(os.path.join(folder, "removed")))
    wait_for("the instance goes", lambda: instance.names(CACHE) == ["inside"])
    tool("stop", "inside")
    os.makedirs(os.path.join(CACHE, "empty"))
    _, err = tool("start", "--image=x", status=77, env={"PATH": os.path.join(CACHE, "empty")})
    assert "podman is not installed; docker is not installed" in err, err


@test
def a_release_that_cannot_be_fetched_is_a_skip():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and no process listens
        url = "http://127.0.0.1:%d/debian" % closed.getsockname()[1]
        env = {"ISOREC_APT_MIRROR": url, "ISOREC_APT_SECURITY_MIRROR": url + "-security",
               "http_proxy": "", "no_proxy": "*"}
        for command in ("fetch", "start"):
            out, err = tool(command, "mariadb-11.8", status=77, env=env)
            assert out == "" and "skip: mariadb-11.8" in err, err
    assert glob.glob(os.path.join(CACHE, "releases", ".*")) == []
    assert fetch.description(CACHE, "mariadb-11.8") is None


def main():
    global CACHE
    releases.local()
    wanted = sys.argv[2:]
    chosen = [function for function in TESTS if not wanted or function.__name__ in wanted]
    print("1..%d" % len(chosen))
    failed = 0
    for number, function in enumerate(chosen, 1):
        CACHE = tempfile.mkdtemp(prefix="isorec-test-")
        os.chmod(CACHE, 0o755)
        # Each test has its own cache; the data directory is copied along, being slow to make.
        if os.path.isdir(TEMPLATES):
            shutil.copytree(TEMPLATES, os.path.join(CACHE, "templates"))
        try:
            function()
            left = instance.names(CACHE)
            assert not left, "instances left: %s" % left
            print("ok %d - %s" % (number, function.__name__), flush=True)
            if not os.path.isdir(TEMPLATES) and os.path.isdir(os.path.join(CACHE, "templates")):
                shutil.copytree(os.path.join(CACHE, "templates"), TEMPLATES)
        except SkipTest as exc:
            print("ok %d - %s # SKIP %s" % (number, function.__name__, exc), flush=True)
        except Exception as exc:  # pylint: disable=broad-except
            failed += 1
            print("not ok %d - %s" % (number, function.__name__))
            for line in ("%s: %s" % (type(exc).__name__, exc)).splitlines():
                print("# " + line, flush=True)
        finally:
            for name in instance.names(CACHE):
                instance.stop(CACHE, name, signum=signal.SIGKILL)
            shutil.rmtree(CACHE, ignore_errors=True)
    return 1 if failed else 0


CACHE = None
TEMPLATES = tempfile.mkdtemp(prefix="isorec-test-") + "/templates"
try:
    sys.exit(main())
except releases.Skip as exc:
    print("1..0 # SKIP %s" % exc)
finally:
    shutil.rmtree(os.path.dirname(TEMPLATES))
