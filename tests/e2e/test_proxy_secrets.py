#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""isorec proxy with a real server: TAP on standard output.

    test_proxy_secrets.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]

Every place where a secret can be, with every way of sending it: none of the generated secrets is in
the trace's bytes or in anything that isotrace makes of it.
"""
import os
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "recorder", "servers"))
from real_server import ISOREC, ISOTRACE, SERVER, main  # noqa: E402
from proxy_harness import Proxy, records, test, wait_for  # noqa: E402
from isorec_servers.wire import Connection, _error, _lenenc  # noqa: E402

PLUGIN, MULTI, TRACK, LOCAL = 0x80000, 7 << 16, 1 << 23, 1 << 7


class Client(Connection):
    """Several statements in a text, prepared statements, local files."""

    def _login(self, user):
        flags = 0x1 | 0x200 | 0x2000 | 0x8000 | PLUGIN | MULTI | TRACK | LOCAL
        self._write(struct.pack("<IIB23x", flags, 1 << 24, 45) + user.encode() + b"\0\0" +
                    b"mysql_native_password\0")
        while self._read()[0] != 0:
            self._write(b"")

    def results(self):
        """Reads all answers to a command; errors are no failure here."""
        while True:
            packet = self._read()
            if packet[0] == 0xff:
                return str(_error(packet))
            if packet[0] == 0xfb:
                self._write(b"a row\n")
                self.seq += 1
                self._write(b"")
                continue
            if packet[0] == 0:
                _, at = _lenenc(packet, 1)
                _, at = _lenenc(packet, at)
                status = struct.unpack_from("<H", packet, at)[0]
            else:
                count, _ = _lenenc(packet, 0)
                for _ in range(count + 1):
                    self._read()
                packet = self._read()
                while not (packet[0] in (0xfe, 0xff) and len(packet) < 9):
                    if packet[0] == 0xff:
                        return str(_error(packet))
                    packet = self._read()
                status = struct.unpack_from("<H", packet, 3)[0]
            if not status & 8:
                return ""

    def text(self, sql):
        self.seq = 0
        self._write(b"\3" + sql.encode("utf-8"))
        return self.results()

    def prepared(self, sql, *params):
        self.seq = 0
        self._write(b"\x16" + sql.encode("utf-8"))
        packet = self._read()
        if packet[0] == 0xff:
            return str(_error(packet))
        number, columns, count = struct.unpack_from("<IHH", packet, 1)
        for amount in (count, columns):
            for _ in range(amount + 1 if amount else 0):
                self._read()
        payload = b"\x17" + struct.pack("<IBI", number, 0, 1)
        if count:
            payload += bytes((count + 7) // 8) + b"\1" + b"\xfd\0" * count
            for i in range(count):
                value = params[i % len(params)].encode()
                payload += bytes([len(value)]) + value
        self.seq = 0
        self._write(payload)
        out = self.results()
        self.seq = 0
        self._write(b"\x19" + struct.pack("<I", number))
        return out


# ---- what is sent: %s is the secret, %d a number ----

CREDENTIALS = [
    "create user u%d identified by '%s'",
    "create user u%d identified by '%s' nonsense here",
    "alter user root2%d identified by '%s'",
    "set password for nobody%d = password('%s')",
    "grant select on d.* to v%d@localhost identified by '%s'",
    "select %d, password('%s')",
    "select %d, upper(password('%s')) from d.t",
    "select aes_encrypt('a%d', '%s')",
    "select * from (select %d as n, aes_encrypt('a', '%s')) x",
    "with c as (select %d, aes_encrypt('a', '%s')) select * from c",
    "select %d, id = aes_decrypt(id, '%s') from d.t",
    "select %d union select aes_encrypt('a', '%s')",
    "select 1 from d.logins where id <> %d and password = '%s'",
    "select password = '%s' and id <> %d from d.logins",
    "create or replace view d.w%d as select aes_encrypt('a', '%s')",
    "create server s%d foreign data wrapper mysql options (host 'h', user 'u', password '%s')",
    "change master 'c%d' to master_host='h', master_user='u', master_password='%s'",
    "replace into mysql.servers values ('srv%d', 'h', 'db', 'u', '%s', 1, '', 'mysql', '')",
    "update mysql.servers set `Password` = '%s' where server_name = 'srv%d'",
    "update `mysql` . `servers` set username = '%s' where server_name = 'srv%d'",
    "insert into mysql.global_priv values ('h%d', 'x', '{\"authentication_string\":\"%s\"}')",
    "insert into mysql.user (host, user, authentication_string) values ('h%d', 'x', '%s')",
    "prepare p from 'create user q%d identified by ''%s'''",
    "execute immediate 'create user e%d identified by ''%s'''",
    "set @s%d = 'create user r identified by ''%s'''",
    "create or replace procedure d.p%d() create user z identified by '%s'",
    "create table d.f%d (a int) connection='mysql://u:%s@h:1/d/t'",
    "/* identified by '%s' */ select %d",
    "select %d -- identified by '%s'\n",
    "select %d /*!99999 identified by '%s' */",
    "select /*!50000 aes_encrypt('a%d', '%s') */ as x",
    "create user i%d identified via mysql_native_password using password('%s')",
    "create user j%d identified by _utf8mb4'%s'", "create user k%d identified by 'a' '%s'",
    "set password = '%s%d", "alter user l%d identified by \"%s\"",
]
# What the server quotes of them, and what it holds.
QUOTES = [
    "show warnings", "show errors", "show full processlist", "show processlist",
    "select * from mysql.servers", "select * from mysql.global_priv", "select * from mysql.user",
    "select p from (select Password as p from mysql.servers) x",
    "select concat(Password, '!') from mysql.servers",
    "select priv from mysql.global_priv", "select json_value(priv, '$.authentication_string') from mysql.global_priv",
    "select argument from mysql.general_log", "select convert(argument using utf8mb4) as info from mysql.general_log",
    "select * from mysql.slow_log", "select * from information_schema.processlist",
    "select i from (select info as i from information_schema.processlist) x",
    "select * from information_schema.routines where routine_schema = 'd'",
    "select * from information_schema.views where table_schema = 'd'",
    "select body from mysql.proc where db = 'd'",
    "show create procedure d.p20", "show create view d.w11", "show create table d.f21",
    "show binlog events", "show engine innodb status", "show profiles", "show grants",
    "show create user root@localhost", "select * from d.w11", "show slave status", "show all slaves status",
    "select sql_text from performance_schema.events_statements_history",
    "get diagnostics condition 1 @m = message_text",
]
# With --redact: any value.
VALUES = [
    "select %d, '%s'", "select %d, id = '%s' from d.t", "select '%s' as a%d", "select %d as '%s'",
    "select id as '%s' from d.t where id <> %d", "select concat('%s', %d)",
    "select * from (select %d, '%s') x", "select * from (select id as '%s' from d.t where id <> %d) x",
    "with c as (select %d, '%s') select * from c", "select %d union select '%s'",
    "insert into d.t values ('%s %d')", "insert into d.k values (%d, '%s'), (%d, '%s')",
    "update d.t set id = '%s' where id = %d", "delete from d.t where id = '%s' or id = %d",
    "insert into d.t values ('%s%d') returning id = '%s'",
    "select cast('%s' as int) + %d", "insert into d.n values (%d, '%s')",
    "xa start '%s%d'", "xa end '%s%d'", "xa rollback '%s%d'",
    "load data local infile '/tmp/%s%d' into table d.t", "set @v%d = '%s'",
    "call d.echo(%d, '%s')", "signal sqlstate '45000' set message_text = '%s %d'",
    "do sleep(0.0 * %d), '%s'", "explain select * from d.t where id = '%s%d'",
    "create table d.c%d (a varchar(90) default '%s' comment '%s', check (a <> '%s'))",
    "create or replace view d.y%d as select '%s'", "select * from d.t where id in ('%s', '%d')",
    "select json_object('%s', %d)", "select x'%x', %d", "select n'%s', _utf8mb4'%s', %d",
    "kill query '%s%d'", "use `d` /* %s %d */", "select %d # %s",
    "set session wsrep_dummy = '%s%d'", "handler d.t open as h%d; handler h%d read first where id = '%s'",
    "select case when %d then '%s' end", "select * from d.t having '%s%d' <> ''",
    "prepare v from 'select %d, ''%s'''", "execute immediate 'select %d, ''%s'''",
]
VALUE_QUOTES = ["show warnings", "select @m", "show full processlist", "select * from d.y%d",
                "show create table d.c%d", "xa recover", "select * from d.t", "show create view d.y%d",
                "get diagnostics condition 1 @m = message_text", "select @m"]


def texts(templates, forms, made):
    """Each template in each form, every one with a secret of its own."""
    for number, template in enumerate(templates, 11):
        for form in forms:
            secret = "Zq%05dWhXyK" % len(made)
            made.append(secret)
            n = 100000 + len(made) if len(made) > 60 else number
            out = template.replace("%x", secret.encode().hex()).replace("%d", str(n))
            yield form, out.replace("%s", secret), secret


def with_comments(sql):
    """Comments between words, outside quotes."""
    parts = re.split(r"('(?:[^'\\]|'')*'|/\*.*?\*/|--.*|#.*)", sql)
    return "".join(p.replace(" ", " /* c */ ") if i % 2 == 0 else p for i, p in enumerate(parts))


def send(client, form, sql, secret):
    if form == "text":
        return client.text(sql)
    if form == "comments":
        return client.text(with_comments(sql))
    if form == "executed":
        return client.text("/*!50000 " + sql + " */" if "/*" not in sql and "--" not in sql else sql)
    if form == "several":
        return client.text("select 1; " + sql + "; select 2" if "--" not in sql and "#" not in sql else sql)
    if form == "prepared":
        return client.prepared(sql)
    if form == "gbk":
        client.text("set names gbk")
        out = client.text(sql)
        client.text("set names utf8mb4")
        return out
    assert form == "parameters"
    return client.prepared(re.sub("'[^']*" + secret + "[^']*'", "?", sql), secret)


FORMS = ("text", "comments", "executed", "several", "prepared", "parameters", "gbk")
SETUP = """create or replace database d; create table d.t (id varchar(90)); insert into d.t values ('1');
create table d.k (a int, b varchar(50) unique); create table d.n (a int, b int); create table d.logins (id int, password varchar(60));
create procedure d.echo(a int, b varchar(90)) select b; set global general_log = 1; set global log_output = 'TABLE';
set global slow_query_log = 1; truncate mysql.general_log"""


def made_of(trace):
    """The bytes of a trace, and everything that isotrace makes of it."""
    with open(trace, "rb") as file:
        yield "the trace", file.read()
    folder = os.path.dirname(trace)
    for args in (["show", "--format=ndjson"], ["show", "--format=text"], ["stats"], ["stats", "--format=json"],
                 ["check", "--format=json"], ["check"], ["check", "--format=junit"], ["check", "--format=sarif"],
                 ["export", "--to=scenario", "--skip"], ["show", "--full", "--probes"]):
        done = subprocess.run([ISOTRACE, *args, trace], capture_output=True, check=False, timeout=300)
        yield "isotrace " + " ".join(args), done.stdout + done.stderr
    page = os.path.join(folder, "page.html")
    subprocess.run([ISOTRACE, "report", "-o", page, trace], capture_output=True, check=False, timeout=300)
    if os.path.exists(page):
        with open(page, "rb") as file:
            yield "the page", file.read()


def found(secrets, *options, life):
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % SERVER["port"]], "--compression=0", *options) as proxy:
        life(proxy.port)
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        log = proxy.stop()
        left = []
        for name, data in [*made_of(proxy.trace), ("the messages", log.encode())]:
            low = data.lower()
            left += [(name, s) for s in secrets if s.encode().lower() in low or
                     s.encode().hex().encode() in low]
        statements = len(records(ISOTRACE, proxy.trace, ["stmt"]))
    return left, statements


def life_of(templates, quotes, made, sent):
    def life(port):
        with Client(port=port) as client, Client(port=port) as other:
            client.text("set profiling = 1")
            for form, sql, secret in texts(templates, FORMS, made):
                sent[secret] = (form, sql)
                send(client, form, sql, secret)
                client.text(quotes[len(made) % len(quotes)].replace("%d", str(100000 + len(made))))
            for quote in quotes:
                for one in (client, other):
                    one.text(quote.replace("%d", "100100"))
                    one.prepared(quote.replace("%d", "100100"))
            client.text("xa rollback 'x'")
            other.text("use mysql")
            for n, sql in enumerate(("replace into servers values ('b%d', 'h', 'db', 'u', '%s', 1, '', 'mysql', '')",
                                     "update servers set password = '%s' where server_name = 'b%d'",
                                     "select * from servers", "select password from servers", "select * from user")):
                secret = "Zq9%04dWhXyK" % n
                made.append(secret)
                sent[secret] = ("use mysql", sql)
                other.text(sql.replace("%d", "0").replace("%s", secret))
    return life


def check(templates, quotes, *options):
    made, sent = [], {}
    with Client(port=SERVER["port"]) as client:
        for sql in SETUP.split(";"):
            client.text(sql)
    left, statements = found(made, *options, life=life_of(templates, quotes, made, sent))
    with Client(port=SERVER["port"]) as client:
        client.text("set global general_log = 0")
        client.text("delete from mysql.global_priv where host like 'h1%'")
        client.text("delete from mysql.servers")
    leaks = {}
    for name, secret in left:
        leaks.setdefault(secret, []).append(name)
    print("# %d secrets in %d statements: %d found" % (len(made), statements, len(leaks)))
    for secret, names in sorted(leaks.items())[:40]:
        print("# ", sent.get(secret), names[0])
    assert not leaks and statements > len(made)


@test
def credentials():
    """credentials stay out of the trace in every form, without any option"""
    check(CREDENTIALS, QUOTES)


@test
def credentials_with_context():
    """... nor do definitions, programs and initial rows tell them"""
    check(CREDENTIALS, QUOTES, "--user=root", "--database=d", "--capture=params")


@test
def values_redacted():
    """--redact=all: no value in any form"""
    check(CREDENTIALS + VALUES, QUOTES + VALUE_QUOTES, "--redact=all", "--user=root", "--database=d")


@test
def values_dropped():
    """--redact=all --redact-with=drop, of a server that the recorder knows nothing of"""
    check(VALUES, VALUE_QUOTES, "--redact=all", "--redact-with=drop")


sys.exit(main())
