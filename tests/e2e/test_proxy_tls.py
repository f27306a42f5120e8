#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TLS through isorec proxy, with real servers and real clients: TAP.

    test_proxy_tls.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [TEST...]

Without names of tests those run that need Debian's MariaDB only, with a certificate of a private
authority; the others fetch releases: MySQL 9.7 with the certificate it makes itself, and MariaDB with
its plugins.  What the server says of its side of the connection
(Ssl_cipher) is believed, not what the proxy says.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "wire"))
from proxy_harness import (Proxy, SkipTest, TESTS, records, run_servers,  # noqa: E402
                           run_tests, test, wait_for)

ISOREC, ISOTRACE, SERVERS, BUILD = (os.path.abspath(p) for p in sys.argv[1:5])
ENV = dict(os.environ, MYSQL_PWD="")
FOLDER = tempfile.TemporaryDirectory(prefix="isorec-tls-")
CIPHER = "show session status like 'Ssl_cipher'"
PASSWORD = "s3cret-of-the-tests"
STATE = {}
RELEASES = ("caching_sha2", "compressed", "large_packets", "ed25519")


def pem(name):
    return os.path.join(FOLDER.name, name)


def make_certificates():
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)

    for who in ("ca", "other-ca"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                "/CN=isorec " + who, "-keyout", pem(who + "-key.pem"), "-out", pem(who + ".pem"))
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout",
            pem("key.pem"), "-out", pem("request.pem"))
    openssl("x509", "-req", "-in", pem("request.pem"), "-CA", pem("ca.pem"), "-CAkey",
            pem("ca-key.pem"), "-CAcreateserial", "-days", "2", "-out", pem("cert.pem"))


def servers(*args, check=True):
    return run_servers(SERVERS, *args, check=check, env=ENV)


def start(release, *options, name="tls"):
    name = "%s-%s-%d" % (name, release, os.getpid())
    return json.loads(servers("start", release, "--name=" + name, "--json",
                              "--with-parent=%d" % os.getpid(), *options))


def cache():
    return os.environ.get("ISOREC_SERVERS_CACHE") or "/var/cache/isotrace/servers"


def mariadb_server():
    if "mariadb" not in STATE:
        # As root the server drops its privileges and must be able to read these.
        os.chmod(FOLDER.name, 0o755)
        os.chmod(pem("key.pem"), 0o644)
        # Plugins are not in Debian's -core package; those of the Galera release fit 10.11.
        more = []
        if "ed25519" in sys.argv[5:]:
            servers("fetch", "galera-10.11")
            more = ["-o", "plugin_dir=" + os.path.join(
                cache(), "releases/galera-10.11/root/usr/lib/mysql/plugin")]
        running = STATE["mariadb"] = start(
            "mariadb-10.11" if more else "mariadb-local", *more, "-o", "ssl_cert=" + pem("cert.pem"), "-o", "ssl_key=" + pem("key.pem"),
            "-o", "ssl_ca=" + pem("ca.pem"),
            # Ten seconds of its own are too few for 24 handshakes at once on a busy machine.
            "-o", "connect_timeout=100", "-o", "net_read_timeout=100", "-o", "net_write_timeout=100")
        servers("sql", running["name"], "create database test")
        for account in ("nat@'%%' identified by '%s'" % PASSWORD,
                        "must@'%%' identified by '%s' require ssl" % PASSWORD):
            servers("sql", running["name"], "create user " + account)
        servers("sql", running["name"], "grant all on test.* to nat@'%'")
    return STATE["mariadb"]


def mysql_server():
    if "mysql" not in STATE:
        STATE["mysql"] = None
        running = start("mysql-9.7")
        servers("sql", running["name"], "create user sha@'%%' identified by '%s'" % PASSWORD)
        STATE["mysql"] = running
    if not STATE["mysql"]:
        raise SkipTest("no MySQL 9.7")
    return STATE["mysql"]


def client(port, sql, *options, password=None, status=0):
    """Debian's mariadb: Connector/C."""
    done = subprocess.run(["mariadb", "--no-defaults", "--protocol=tcp", "-hlocalhost", "-P%d" % port,
                           "-N", *options], input=sql, capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, MYSQL_PWD=password or ""), check=False)
    assert done.returncode == status, "%s%s" % (done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def mysql_client(port, sql, *options, password=None, status=0):
    """The client of MySQL's own release."""
    root = os.path.join(cache(), "releases", "mysql-9.7", "root")
    libs = os.path.join(root, "usr/lib/x86_64-linux-gnu")
    done = subprocess.run([os.path.join(libs, "ld-linux-x86-64.so.2"), "--library-path",
                           libs + ":" + os.path.join(root, "usr/lib/mysql/private"),
                           os.path.join(root, "usr/bin/mysql"), "--no-defaults", "--protocol=tcp",
                           "-h127.0.0.1", "-P%d" % port, "-N", *options], input=sql,
                          capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, MYSQL_PWD=password or ""))
    assert done.returncode == status, "%s%s" % (done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def certificate():
    return ["--tls-cert", pem("cert.pem"), "--tls-key", pem("key.pem")]


class Recording:
    """A proxy with these options; at the end `got` has the trace's records."""

    def __init__(self, server, *options):
        self.proxy = Proxy(ISOREC, ["n1=127.0.0.1:%d" % server["port"]], *options)
        self.port = self.proxy.port
        self.got = self.bytes = None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                wait_for("the sessions' end", lambda: self.proxy.statistics()["sessions"] == 0)
                self.proxy.stop()
                self.got = records(ISOTRACE, self.proxy.trace)
                with open(self.proxy.trace, "rb") as trace:
                    self.bytes = trace.read()
        finally:
            self.proxy.close()

    def texts(self):
        return [r["text"] for r in self.got if r["kind"] == "stmt" and r["text"]]

    def opaque(self):
        return [r for r in self.got if r["kind"] == "session" and r["event"] == 2]


SSL = 1 << 11


@test
def as_client():
    """as-client: TLS on both sides or on neither, as the client wants; all of it is recorded"""
    with Recording(mariadb_server(), "--tls=as-client", *certificate(), "--compression=0") as r:
        for user in ("root", "nat", "must"):
            password = "" if user == "root" else PASSWORD
            out = client(r.port, CIPHER + "; select 'in tls', user()", "-u" + user, "--ssl",
                         "--ssl-ca=" + pem("ca.pem"), "--ssl-verify-server-cert",
                         password=password)
            assert len(out.split("\n")[0].split("\t")[1]) > 5 and "in tls\t" + user in out, out
        out = client(r.port, CIPHER + "; select 'in the clear'", "-unat", "--skip-ssl",
                     password=PASSWORD)
        assert out.split("\n")[0].split("\t")[1] == "", out
        # An account that requires TLS is refused without: the server says so, not we.
        assert "1045" in client(r.port, "select 1", "-umust", "--skip-ssl", password=PASSWORD,
                                status=1)
    assert not r.opaque(), r.opaque()
    assert sum("in tls" in t for t in r.texts()) == 3 and "select 'in the clear'" in r.texts()
    opened = [s["capabilities"] for s in r.got if s["kind"] == "session" and s["event"] == 0]
    assert [bool(int(c) & SSL) for c in opened] == [True, True, True, False, False], opened
    rows = [row for s in r.got if s["kind"] == "result" for row in s["rows"]]
    assert any(row[0] == "in tls" and row[1].startswith("must@") for row in rows), rows
    assert PASSWORD.encode() not in r.bytes


@test
def terminate():
    """terminate: the server has TLS whatever the client does; accounts that require it work"""
    for options, flags in (([], ["--skip-ssl"]), (certificate(), ["--skip-ssl"]),
                           (certificate(), ["--ssl", "--ssl-ca=" + pem("ca.pem"),
                                            "--ssl-verify-server-cert"])):
        with Recording(mariadb_server(), "--tls=terminate", *options) as r:
            for user in ("root", "nat", "must"):
                out = client(r.port, CIPHER + "; select 'hello', user(); select 2", "-u" + user,
                             *flags, password="" if user == "root" else PASSWORD)
                assert len(out.split("\n")[0].split("\t")[1]) > 5 and "hello\t" + user in out, out
            wrong = client(r.port, "select 1", "-umust", *flags, password="wrong", status=1)
            assert "1045" in wrong, wrong
        assert not r.opaque(), r.opaque()
        assert sum("hello" in t for t in r.texts()) == 3, r.texts()


@test
def terminate_without_offer():
    """terminate: a server without TLS gets none, and a client that requires it is told"""
    running = start("mariadb-local", "-o", "ssl=0", name="plain")
    try:
        with Recording(running, "--tls=terminate", *certificate()) as r:
            out = client(r.port, CIPHER + "; select 'plain'", "-uroot", "--skip-ssl")
            assert out == "Ssl_cipher\t\nplain\n", out
            said = client(r.port, "select 1", "-uroot", "--ssl", "--ssl-ca=" + pem("ca.pem"),
                          "--ssl-verify-server-cert", status=1)
            assert "2026" in said, said
        assert "select 'plain'" in r.texts()
    finally:
        servers("stop", running["name"], check=False)


@test
def authority():
    """--tls-ca: a server whose certificate another authority signed is refused, and the client told"""
    with Recording(mariadb_server(), "--tls=terminate", "--tls-ca", pem("ca.pem")) as r:
        assert client(r.port, "select 7", "-uroot", "--skip-ssl") == "7\n"
    with Recording(mariadb_server(), "--tls=terminate", "--tls-ca", pem("other-ca.pem"),
                   *certificate()) as r:
        for flags in (["--skip-ssl"], ["--ssl"]):
            said = client(r.port, "select 7", "-uroot", *flags, status=1)
            assert "TLS with the server failed" in said and "certificate" in said, said
    reasons = {s["reason"] for s in r.got if s["kind"] == "session"}
    assert any("TLS with the server failed" in (x or "") for x in reasons), reasons


@test
def distrusted_by_the_client():
    """a client that does not trust our certificate goes away; the trace says why"""
    with Recording(mariadb_server(), "--tls=as-client", *certificate()) as r:
        said = client(r.port, "select 1", "-uroot", "--ssl", "--ssl-ca=" + pem("other-ca.pem"),
                      "--ssl-verify-server-cert", status=1)
        assert "2026" in said, said
        assert client(r.port, "select 1", "-uroot", "--ssl") == "1\n"
    assert "select 1" in r.texts()


@test
def large_and_many():
    """values of megabytes both ways, 24 sessions at once, with and without recording"""
    import pymysql  # pylint: disable=import-outside-toplevel
    servers("sql", mariadb_server()["name"], "create or replace table test.big (a int, b longblob)")
    for extra in ([], ["--no-record"]):
        proxy = Proxy(ISOREC, ["127.0.0.1:%d" % mariadb_server()["port"]], "--tls=as-client",
                      "--connect-timeout=100s", *certificate(), *extra)
        failed = []

        def work(number, port=proxy.port, failed=failed):
            try:
                db = pymysql.connect(host="127.0.0.1", port=port, user="root", database="test",
                                     ssl={"ca": pem("ca.pem"), "check_hostname": False},
                                     autocommit=True, connect_timeout=100)
                blob = bytes([number]) * 3000000
                with db.cursor() as cursor:
                    cursor.execute("insert into big values (%s, %s)", (number, blob))
                    cursor.execute("select b from big where a = %s limit 1", (number,))
                    assert cursor.fetchone()[0] == blob
                    cursor.execute(CIPHER)
                    assert cursor.fetchone()[1]
                db.close()
            except BaseException as problem:  # pylint: disable=broad-except
                failed.append(problem)
        try:
            threads = [threading.Thread(target=work, args=(n,)) for n in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failed, failed
            wait_for("the sessions' end", lambda p=proxy: p.statistics()["sessions"] == 0)
            proxy.stop()
            if not extra:
                got = records(ISOTRACE, proxy.trace, {"stmt"})
                assert sum(s["text"].startswith("select b") for s in got if s["text"]) == 24
        finally:
            proxy.close()


@test
def caching_sha2():
    """caching_sha2_password with a cold cache: TLS on both sides, plain on both; what cannot work"""
    server = mysql_server()

    def cold():
        mysql_client(server["port"], "flush privileges", "-uroot")

    required = ["--ssl-mode=REQUIRED"]
    plain = ["--ssl-mode=DISABLED", "--get-server-public-key"]
    for mode, flags, cipher in ((["--tls=as-client", *certificate()], required, True),
                                (["--tls=terminate", *certificate()], required, True),
                                (["--tls=as-client", *certificate()], plain, False),
                                (["--tls=strip"], plain, False)):
        cold()
        with Recording(server, *mode) as r:
            for _ in range(2):  # cold, then from the cache
                out = mysql_client(r.port, CIPHER + "; select 'sha2'", "-usha", *flags,
                                   password=PASSWORD)
                assert "sha2" in out and (len(out.split()[1]) > 5) == cipher, out
        assert not r.opaque() and r.texts().count("select 'sha2'") == 2
        assert PASSWORD.encode() not in r.bytes
    # A client without TLS encrypts its password with the server's key, which the server, having
    # TLS, does not expect.  Once the server's cache knows the account it works.
    cold()
    with Recording(server, "--tls=terminate") as r:
        said = mysql_client(r.port, "select 1", "-usha", *plain, password=PASSWORD, status=1)
        assert "1045" in said or "2061" in said or "2013" in said, said
        mysql_client(server["port"], "select 1", "-usha", "--ssl-mode=REQUIRED", password=PASSWORD)
        out = mysql_client(r.port, CIPHER, "-usha", *plain, password=PASSWORD)
        assert len(out.split()[1]) > 5, out


ALGORITHMS = {"zstd": 1 << 26, "zlib": 1 << 5}


@test
def compressed():
    """MySQL's client with zstd and zlib, plain and under TLS: the copy that is read says the same"""
    server = mysql_server()
    mysql_client(server["port"], "create database if not exists z; create or replace view z.v as "
                 "with recursive n(i) as (select 1 union all select i + 1 from n where i < 900) "
                 "select i, repeat('abc', 50) t from n", "-uroot")
    ask = "select * from z.v order by i; select repeat('pq', 600000) b; select 'small' s"
    direct = mysql_client(server["port"], ask, "-uroot", "--ssl-mode=DISABLED")
    for algorithm, flag in ALGORITHMS.items():
        for mode, tls in ((["--tls=strip"], "--ssl-mode=DISABLED"),
                          (["--tls=as-client", *certificate()], "--ssl-mode=REQUIRED")):
            with Recording(server, *mode) as r:
                out = mysql_client(r.port, ask, "-uroot", "--compression-algorithms=" + algorithm,
                                   tls)
                used = mysql_client(r.port, "show session status like 'Compression_algorithm'",
                                    "-uroot", "--compression-algorithms=" + algorithm, tls)
                assert out == direct and algorithm in used, used
            assert not r.opaque(), r.opaque()
            opened = {int(s["capabilities"]) & sum(ALGORITHMS.values()) for s in r.got
                      if s["kind"] == "session" and s["event"] == 0}
            assert opened == {flag}, opened
            rows = [row for s in r.got if s["kind"] == "result" for row in s["rows"]]
            assert [[i + 1, "abc" * 50] for i in range(900)] == [
                row for row in rows if row[1:] == ["abc" * 50]]
            assert ["small"] in rows and r.texts()[-1].startswith("show session status")


@test
def large_packets():
    """commands and values of 16 MB - 1, 16 MB and 64 MB, compressed, under TLS, and both"""
    server = mysql_server()
    sizes = (0xffffff - 1, 0xffffff, 0x1000000, 64 << 20)
    mysql_client(server["port"], "set global max_allowed_packet = 256 << 20", "-uroot")
    # A row of one value has four bytes more than the value; a command has its own words.
    ask = "".join("select repeat('r', %d);\nselect length('%s');\n" % (size - 4, "c" * (size - 18))
                  for size in sizes)
    want = "".join("%s\n%d\n" % ("r" * (size - 4), size - 18) for size in sizes)
    for mode, tls in ((["--tls=strip"], "--ssl-mode=DISABLED"),
                      (["--tls=as-client", *certificate()], "--ssl-mode=REQUIRED")):
        for algorithm in ("uncompressed", *ALGORITHMS):
            with Recording(server, *mode) as r:
                out = mysql_client(r.port, ask, "-uroot", tls, "--max-allowed-packet=256M",
                                   "--compression-algorithms=" + algorithm)
                assert out == want, (mode, algorithm, len(out), len(want))
                peak = r.proxy.memory()
            assert peak < 300 << 20, peak
            assert not r.opaque(), r.opaque()
            asked = [s for s in r.got if s["kind"] == "stmt" and "select repeat" in (s["text"] or "")]
            assert [s["rows"] for s in asked] == [1] * len(sizes), (mode, algorithm, asked)


@test
def ed25519():
    """ed25519: a challenge and a signature, the same in every mode"""
    server = mariadb_server()
    servers("sql", server["name"], "install soname 'auth_ed25519'")
    servers("sql", server["name"], "create or replace user ed@'%%' identified via ed25519 using "
            "password('%s')" % PASSWORD)
    for mode, flags in ((["--tls=strip"], []), (["--tls=as-client", *certificate()], ["--ssl"]),
                        (["--tls=terminate"], ["--skip-ssl"])):
        with Recording(server, *mode) as r:
            out = client(r.port, "select 'ed'", "-ued", *flags, password=PASSWORD)
            assert out == "ed\n"
        assert "select 'ed'" in r.texts()


@test
def wrong_usage():
    """certificates are asked for, and refused where they make no sense"""
    def says(*options):
        done = subprocess.run([ISOREC, "proxy", "--node", "127.0.0.1:1", "--no-record", *options],
                              capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2, done
        return done.stderr

    assert "--tls-cert" in says("--tls=as-client")
    assert "go with" in says("--tls-cert", pem("cert.pem"))
    assert "cannot use --tls-cert" in says("--tls=terminate", "--tls-cert", "/no/such/file")
    assert "cannot use --tls-key" in says("--tls=terminate", "--tls-cert", pem("cert.pem"),
                                          "--tls-key", pem("ca-key.pem"))
    assert "cannot read --tls-ca" in says("--tls=terminate", "--tls-ca", "/no/such/file")


def main():
    make_certificates()
    try:
        return run_tests(sys.argv[5:] or [t.__name__ for t in TESTS if t.__name__ not in RELEASES])
    finally:
        for server in STATE.values():
            if server:
                servers("stop", server["name"], check=False)
        FOLDER.cleanup()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
sys.exit(main())
