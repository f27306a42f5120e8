#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small live share: isorec corpus, the options of isorec run, isorec replay.

    test_live.py ISOREC ISOTRACE ISOREC-SERVERS CORPUS RELEASE
"""
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
import tap  # noqa: E402
import variants  # noqa: E402
from live import Live  # noqa: E402
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "cli"))
import tracefile  # noqa: E402

LIVE = Live(*sys.argv[1:4])
CORPUS, RELEASE = sys.argv[4:6]
MAN = os.path.join(CORPUS, "..", "docs", "man")
FOLDER = tempfile.mkdtemp(prefix="corpus-live-")
SERVER = LIVE.start(RELEASE)
AT = "--socket=" + SERVER["socket"]
BLOCKED = os.path.join(CORPUS, "bugs", "mdev-34108.scn")


def sql(text):
    return LIVE.servers("sql", SERVER["name"], text)


def folder(name):
    return os.path.join(FOLDER, name)


def databases():
    return {line for line in sql("show databases").splitlines() if line.startswith("isorec")}


# ---- corpus ----

def test_corpus_on_a_running_server():
    done = LIVE.isorec("corpus", AT, "--corpus", CORPUS, "--match", "MDEV-2664", "-o", folder("c"))
    assert "MDEV-26642" in done.stdout and ": 8 as expected, 0 not (!)" in done.stdout, done.stdout
    assert len(os.listdir(folder("c"))) == 8
    LIVE.isotrace("corpus", "verify", CORPUS, folder("c"))
    LIVE.isorec("corpus", AT, "--corpus", CORPUS, "--match", "MDEV-2664", "-o", folder("c"), status=4)


def test_corpus_gives_up_on_a_server_that_is_gone():
    done = LIVE.isorec("corpus", "--socket=" + folder("nobody.sock"), "--corpus", CORPUS, "-o", folder("n"), status=4)
    assert done.stderr.count("cannot connect") == 1 and "the rest is not run" in done.stderr, done.stderr


def test_corpus_says_what_is_not_expected():
    with open(os.path.join(CORPUS, "anomalies", "g1a.scn"), encoding="utf-8") as file:
        text = file.read()
    os.mkdir(folder("wrong"))
    with open(folder("wrong/x.scn"), "w", encoding="utf-8") as file:
        file.write(text.replace("* RU = allowed", "* RU = prevented"))
    done = LIVE.isorec("corpus", AT, "--corpus", folder("wrong"), "-o", folder("w"), status=1)
    assert "expected prevented, found shown" in done.stderr and "shown !" in done.stdout, done
    with open(folder("wrong/x.scn"), "w", encoding="utf-8") as file:
        file.write(text.replace("# expect: * ", "# expect: other-* "))
    done = LIVE.isorec("corpus", AT, "--corpus", folder("wrong"), "-o", folder("w2"), status=3)
    assert "4 of which nothing is said" in done.stdout, done.stdout


def test_a_release_that_cannot_be_had():
    done = LIVE.isorec("corpus", "--server", "nosuch-1.0", "-o", folder("none"), status=4)
    assert "nosuch-1.0" in done.stderr, done.stderr


def test_known_bugs_in_other_clothes():
    wrong = variants.check(LIVE, folder("variants"), AT)
    assert not wrong, wrong


# ---- clusters that are none ----

def test_nodes_that_are_not_there():
    path = folder("nodes.scn")
    with open(path, "w", encoding="utf-8") as file:
        file.write("# node: T1=2\n[schedule]\nT1> select 1;\n")
    itself = "--node=127.0.0.1:%d" % SERVER["port"]
    for options, status, message in (
            ([AT], 4, "sessions on 2 nodes of a cluster, and 1 are known"),
            ([AT, itself], 4, "node 1 cannot wait for the others: it is in no Galera cluster"),
            ([AT, "--node=nowhere"], 2, "nowhere: a node is HOST:PORT"),
            ([AT, "--node=h:0"], 2, "h:0: a node is HOST:PORT"),
            (["--server=" + RELEASE, itself], 2, "--node is for a cluster that runs already")):
        done = LIVE.isorec("run", *options, "-o", folder("nodes.itr"), path, status=status)
        assert message in done.stderr, done.stderr
    assert not databases()


def test_corpus_leaves_clusters_out():
    done = LIVE.isorec("corpus", AT, "--corpus", CORPUS, "--match", "lost-update", "-o", folder("lu"))
    assert "4 as expected" in done.stdout and "1 for clusters left out" in done.stdout, done.stdout


# ---- run ----

def test_repeat():
    done = LIVE.isorec("run", AT, "-f", "json", "--isolation", "RC,RR", "--repeat", "3", "-o",
                       folder("r"), BLOCKED)
    document = json.loads(done.stdout)
    assert document["schema"] == "isorec.run/1" and len(document["runs"]) == 6
    for level in "RC", "RR":
        digests = {x["digest"] for x in document["runs"] if "-%s." % level in x["trace"]}
        assert len(digests) == 1, digests
    statement = document["runs"][0]["statements"][3]
    assert (statement["session"], statement["blocked"], statement["error"]) == ("T2", True, 0)
    assert sorted(os.listdir(folder("r")))[0] == "MDEV-34108-RC.1.itr"


def test_repeat_notices_another_execution():
    path = folder("random.scn")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[schedule]\nT1> select uuid();\n")
    done = LIVE.isorec("run", AT, "-q", "--repeat", "3", "-o", folder("u"), path, status=1)
    assert "3 runs, 2 of them another execution" in done.stdout, done.stdout


def orders(name):
    found = []
    for path in sorted(glob.glob(folder(name) + "/*.s*.itr")):
        told = LIVE.isotrace("export", "--to=scenario", path).stdout
        found.append([line for line in told.splitlines() if line.startswith(("T1>", "T2>"))])
    return found


def test_shuffle():
    for name, seed in ("s1", "7"), ("s2", "7"), ("s3", "8"):
        LIVE.isorec("run", AT, "-q", "--shuffle", "6", "--seed", seed, "-o", folder(name), BLOCKED)
    assert len(orders("s1")) == 6 and orders("s1") == orders("s2") != orders("s3")
    assert len({tuple(x) for x in orders("s1")}) > 2
    for order in orders("s1"):  # each session's own order stays
        assert [x for x in order if x.startswith("T2>")] == [
            "T2> begin;", "T2> update t set b=2 where a is not null;", "T2> commit;"], order


def test_both():
    done = LIVE.isorec("run", AT, "--isolation", "RR", "--both", "-o", folder("b"),
                       os.path.join(CORPUS, "bugs", "mdev-26642.scn"))
    assert "gave the clients the same answers" in done.stdout, done.stdout
    assert set(os.listdir(folder("b"))) == {"MDEV-26642-RR.itr", "MDEV-26642-RR.trigger.itr"}
    LIVE.isotrace("diff", folder("b/MDEV-26642-RR.itr"), folder("b/MDEV-26642-RR.trigger.itr"))


def test_a_server_that_is_killed():
    victim = LIVE.start(RELEASE)
    path = folder("kill.scn")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[setup]\ncreate table t(a int);\n[schedule]\nT1> insert into t values (1);\n"
                   "T2> select sleep(100);\nT1> select 2;\n")
    with subprocess.Popen([LIVE.isorec_path, "run", "--socket=" + victim["socket"], "-o",
                           folder("k.itr"), path], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("T1> insert"):
                os.kill(victim["pid"], signal.SIGKILL)
        assert process.wait() == 3
    shown = LIVE.isotrace("show", folder("k.itr")).stdout
    assert "the server is gone" in shown and "no reply" in shown, shown


def test_a_full_disk():
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = LIVE.isorec("run", AT, "-o", folder("full.itr"), BLOCKED, status=4, preexec_fn=limit)
    assert "full.itr" in done.stderr, done.stderr
    assert not databases()


# ---- replay ----

def test_replay_of_a_scenario():
    LIVE.isorec("run", AT, "-q", "--isolation", "RR", "-o", folder("p.itr"),
                os.path.join(CORPUS, "anomalies", "lost-update.scn"))
    done = LIVE.isorec("replay", AT, "-o", folder("q.itr"), folder("p.itr"))
    assert "9 statements of 3 sessions, 1 table restored with 2 rows; followed" in done.stdout
    LIVE.isotrace("diff", "--fail-on=difference", folder("p.itr"), folder("q.itr"))
    assert not databases()


def test_replay_tells_where_it_diverged():
    LIVE.isorec("run", AT, "-q", "--isolation", "RC", "-o", folder("d.itr"),
                os.path.join(CORPUS, "compat", "dt2-listing-5.scn"))
    other = LIVE.start(RELEASE, "--snapshot-isolation=on")
    done = LIVE.isorec("replay", "--socket=" + other["socket"], "-o", folder("e.itr"),
                       folder("d.itr"), status=3)
    assert "T2, statement 2: waits for a lock here, had its answer there" in done.stdout, done.stdout
    found = json.loads(LIVE.isotrace("diff", "-f", "json", folder("d.itr"), folder("e.itr")).stdout)
    assert found["rule"] == "rc-semi-consistent" and found["verdict"] == "compat", found


def record_sysbench():
    """sysbench through the proxy: prepared statements, several sessions at once."""
    if not shutil.which("sysbench"):
        raise tap.Skip("sysbench is not installed")
    sql("drop database if exists sbt")
    sql("create database sbt")
    base = ["sysbench", "oltp_read_write", "--db-driver=mysql", "--mysql-host=127.0.0.1",
            "--mysql-user=root", "--mysql-db=sbt", "--tables=2", "--table-size=200",
            "--threads=2", "--time=0", "--events=20", "--rand-type=uniform"]
    subprocess.run([*base, "--mysql-port=%d" % SERVER["port"], "prepare"], check=True,
                   stdout=subprocess.DEVNULL)
    with subprocess.Popen([LIVE.isorec_path, "proxy", "--node=127.0.0.1:%d" % SERVER["port"],
                           "--listen=127.0.0.1:0", "-u", "root", "-D", "sbt", "-o",
                           folder("sb.itr")], stderr=subprocess.PIPE, text=True) as proxy:
        port = proxy.stderr.readline().split(" connect to ")[1].split(",")[0].split(":")[1]
        subprocess.run([*base, "--mysql-port=" + port, "run"], check=True,
                       stdout=subprocess.DEVNULL)
        proxy.send_signal(signal.SIGTERM)
        proxy.stderr.read()
        assert proxy.wait() == 0
    sql("drop database sbt")


def test_replay_of_sysbench_through_the_proxy():
    record_sysbench()
    for pace in "fast", "as-recorded":
        done = LIVE.isorec("replay", AT, "--pace", pace, "--overwrite", "-o", folder("sc.itr"),
                           folder("sb.itr"), status=None)
        assert done.returncode in (0, 3), done.stderr
        assert "2 tables restored with 400 rows" in done.stdout, done.stdout
        assert "0 not sent" in done.stdout or "followed" in done.stdout, done.stdout
        # Two sessions race, so single results may differ; every statement is there all the same.
        found = json.loads(LIVE.isotrace("diff", "-f", "json", folder("sb.itr"), folder("sc.itr"),
                                         status=None).stdout)
        assert found["a"]["statements"] == found["b"]["statements"] > 400
        assert len(found["discrepancies"]) < found["a"]["statements"] / 10


def test_replay_of_one_session_is_the_same():
    if not os.path.exists(folder("sb.itr")):
        raise tap.Skip("nothing was recorded")
    path = folder("one.scn")
    with open(path, "w", encoding="utf-8") as file:
        file.write("[setup]\ncreate table t(a int primary key, b varchar(20), c decimal(8,2), d datetime,"
                   " e blob);\ninsert into t values (1,'o''x',1.50,'2026-01-02 03:04:05',x'00ff');\n"
                   "[schedule]\nT1> select * from t;\nT1> insert into t values (2,null,-1,null,'');\n"
                   "T1> select * from t order by a;\n")
    LIVE.isorec("run", AT, "-q", "-o", folder("one.itr"), path)
    LIVE.isorec("replay", AT, "-o", folder("two.itr"), folder("one.itr"))
    LIVE.isotrace("diff", "--fail-on=difference", folder("one.itr"), folder("two.itr"))


def record(name, *clients, listen):
    """What the clients, called one after the other with the proxy's address, do through it."""
    sql("drop database if exists rp")
    sql("create database rp")
    sql("create table rp.t(a int primary key, b varchar(20))")
    with subprocess.Popen([LIVE.isorec_path, "proxy", "--node=127.0.0.1:%d" % SERVER["port"],
                           "--listen=" + listen, "-u", "root", "-D", "rp", "-o", folder(name)],
                          stderr=subprocess.PIPE, text=True) as proxy:
        address = proxy.stderr.readline().split(" connect to ")[1].split(",")[0]
        for client in clients:
            client(address)
        proxy.send_signal(signal.SIGTERM)
        proxy.stderr.read()
        assert proxy.wait() == 0
    sql("drop database rp")


def mariadb(*options):
    if not shutil.which("mariadb"):
        raise tap.Skip("the client mariadb is not installed")
    subprocess.run(["mariadb", "--no-defaults", "-uroot", "--skip-ssl", *options, "rp"], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def test_clients_of_a_socket_file_are_told_apart():
    path = folder("app.sock")
    record("sock.itr", lambda _: mariadb("--socket=" + path, "-e", "insert into t values (1,'x')"),
           lambda _: mariadb("--socket=" + path, "-e", "select * from t"), listen="unix:" + path)
    text = LIVE.isotrace("export", "--to=scenario", "--skip", folder("sock.itr")).stdout
    assert "\nS1> insert into t values (1,'x');" in text, text
    assert "\nS2> select * from t;" in text, text
    done = LIVE.isorec("replay", AT, "-o", folder("sock2.itr"), folder("sock.itr"))
    assert " of 2 sessions, 1 table restored with 0 rows; followed" in done.stdout, done.stdout
    again = LIVE.isotrace("export", "--to=scenario", "--skip", folder("sock2.itr")).stdout
    assert "\nS1> insert" in again and "\nS2> select" in again, again
    LIVE.isotrace("diff", "--fail-on=difference", folder("sock.itr"), folder("sock2.itr"))


def test_replay_says_why_a_client_file_is_not_sent():
    rows = folder("rows.tsv")
    with open(rows, "w", encoding="utf-8") as file:
        file.write("1\tx\n2\ty\n")
    record("local.itr", lambda at: mariadb(
        "-h127.0.0.1", "-P" + at.split(":")[1], "--local-infile=1", "-e",
        "load data local infile '%s' into table t; insert into t values (3,'z')" % rows),
           listen="127.0.0.1:0")
    done = LIVE.isorec("replay", AT, "-o", folder("local2.itr"), folder("local.itr"), status=3)
    assert "1 not sent" in done.stdout, done.stdout
    assert "LOAD DATA LOCAL: of the client's file a trace has name, size and digest" in done.stdout, \
        done.stdout
    assert "insert into t values (3,'z')" in LIVE.isotrace("show", folder("local2.itr")).stdout


def bulk_client():
    """A client of the C library that executes statements with arrays of parameters: all rows, one
    that fails at the second row, and one with a DEFAULT."""
    source = r"""
#include <mysql.h>
#include <stdlib.h>
#include <string.h>

static int execute(MYSQL_STMT *stmt, int first, unsigned count, char *indicators)
{
	int keys[3];
	char *texts[] = {"one", "", "three"};
	unsigned long lengths[] = {3, 0, 5};
	MYSQL_BIND binds[2] = {{.buffer_type = MYSQL_TYPE_LONG, .buffer = keys},
		{.buffer_type = MYSQL_TYPE_STRING, .buffer = texts, .length = lengths,
			.u.indicator = indicators}};

	for (int i = 0; i < 3; i++)
		keys[i] = first + i;
	return mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &count) ||
	       mysql_stmt_bind_param(stmt, binds) || mysql_stmt_execute(stmt);
}

int main(int argc, char **argv)
{
	static const char sql[] = "insert into t values (?,?)";
	char plain[3] = {0, STMT_INDICATOR_NULL, 0}, odd[3] = {0, STMT_INDICATOR_DEFAULT, 0};
	MYSQL *db = mysql_init(NULL);
	MYSQL_STMT *stmt;

	if (argc < 2 || !mysql_real_connect(db, "127.0.0.1", "root", NULL, "rp",
				(unsigned)atoi(argv[1]), NULL, 0))
		return 1;
	stmt = mysql_stmt_init(db);
	if (mysql_stmt_prepare(stmt, sql, strlen(sql)) || execute(stmt, 1, 3, plain) ||
		!execute(stmt, -1, 3, plain) || execute(stmt, 10, 3, odd))
		return 2;
	if (mysql_query(db, "select * from t order by a"))
		return 3;
	mysql_free_result(mysql_store_result(db));
	mysql_stmt_close(stmt);
	mysql_close(db);
	return 0;
}
"""
    with open(folder("bulk.c"), "w", encoding="utf-8") as file:
        file.write(source)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libmariadb"], check=True,
                           capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-o", folder("bulk"), folder("bulk.c"), *flags], check=True)
    return folder("bulk")


def rows_of_the_last_select(name):
    document = json.loads(LIVE.isotrace("show", "-f", "json", folder(name)).stdout)
    return [r["rows"] for r in document["records"] if r["kind"] == "result"][-1]


def test_replay_of_bulk_executions():
    program = bulk_client()
    record("bulk.itr", lambda at: subprocess.run([program, at.split(":")[1]], check=True),
           listen="127.0.0.1:0")
    # MariaDB takes back the rows before the one that failed.
    rows = [[1, "one"], [2, None], [3, "three"]]
    assert [r for r in rows_of_the_last_select("bulk.itr") if r[0] < 10] == rows
    done = LIVE.isorec("replay", AT, "-o", folder("bulk2.itr"), folder("bulk.itr"), status=3)
    # What was DEFAULT is no value.
    assert "1 place: 0 blocked here, 0 not blocked here, 0 other errors, 0 row by row, 1 not sent" \
        in done.stdout and "parameter 2 of row 2 was not recorded whole" in done.stdout, done.stdout
    assert rows_of_the_last_select("bulk2.itr") == rows
    bulk = [r for r in json.loads(LIVE.isotrace(
        "show", "-f", "json", folder("bulk2.itr")).stdout)["records"] if r.get("command") == 0xfa]
    assert [(r["error"], r["affected"]) for r in bulk] == [(0, 3), (1062, 0)], bulk
    assert bulk[0]["params"] == [1, "one", 2, None, 3, "three"], bulk
    done = LIVE.isotrace("export", "--to=scenario", folder("bulk.itr"), status=4)
    assert "a bulk execution" in done.stderr, done.stderr


def test_replay_of_bulk_executions_row_by_row():
    if not os.path.exists(folder("bulk.itr")):
        raise tap.Skip("nothing was recorded")
    if not any(line.split()[:2] != ["mysql-9.7", "-"] and line.startswith("mysql-9.7 ")
               for line in LIVE.servers("list").splitlines()):
        raise tap.Skip("mysql-9.7, which has no bulk executions, is not in the cache")
    done = LIVE.isorec("replay", "--server", "mysql-9.7", "-o", folder("bulk3.itr"),
                       folder("bulk.itr"), status=3)
    assert "0 other errors, 2 row by row, 1 not sent" in done.stdout, done.stdout
    assert "an execution for each row, one for all there: this server has no bulk executions" \
        in done.stdout, done.stdout
    # Each row is a statement of its own here: those before the one that failed stay.
    assert rows_of_the_last_select("bulk3.itr") == [
        [-1, "one"], [0, None], [1, "one"], [2, None], [3, "three"]]


def test_replay_of_a_trace_without_tables():
    """Recorded without an account: why everything fails is said, and only where something does."""
    for sql, status in (("select a from nowhere", 3), ("select 1", 0)):
        t = tracefile.Trace()
        t.add("session", 1, session=1, event=0, node="n1", client="c", user="root", database="isorec_none")
        t.stmt(1, 1, sql, 10, rows=[[1]])
        t.add("session", 20, session=1, event=1)
        t.write(folder("none.itr"))
        done = LIVE.isorec("replay", AT, "--overwrite", "-o", folder("none2.itr"), folder("none.itr"), status=status)
        assert ("no tables are in the trace" in done.stderr) == (status == 3), done.stderr
        assert status == 0 or "1 other error, " in done.stdout, done.stdout
    assert not databases()


def test_replay_of_what_is_no_trace():
    LIVE.isorec("replay", AT, "-o", folder("x"), BLOCKED, status=4)
    LIVE.isorec("replay", AT, status=2)


# ---- manual pages ----

def test_manual_pages_have_the_options_of_the_program():
    for command in "corpus", "replay", "run":
        path = os.path.join(MAN, "isorec-%s.1" % command)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        begin, end = '.\\" begin options\n', '.\\" end options\n'
        before, rest = text.split(begin)
        inside, after = rest.split(end)
        wanted = LIVE.isorec("help", "--mdoc", command).stdout
        if os.environ.get("ISOTRACE_UPDATE"):
            inside = wanted
            with open(path, "w", encoding="utf-8") as file:
                file.write(before + begin + inside + end + after)
        assert inside == wanted, "isorec-%s.1 has other options: set ISOTRACE_UPDATE=1" % command


if __name__ == "__main__":
    try:
        tap.main(globals())
    finally:
        LIVE.stop()
        shutil.rmtree(FOLDER, ignore_errors=True)
