#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real clients and a real server, directly and through isorec proxy: TAP.

    test_proxy_privacy.py ISOREC ISOTRACE ISOREC-SERVERS BUILD-FOLDER [--server=RELEASE] [TEST...]

What is left out of a trace: redacted columns and values, sessions that are not sampled.
"""
import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire"))
from proxy_harness import Proxy, records, test, wait_for  # noqa: E402
from real_server import (  # noqa: E402
    BUILD, ISOREC, ISOTRACE, SERVER, command_line, main, private_life, record_private, run)

SECRETS = ("anna@example.org", "918273645", "Zaphod")


def other_names(port):
    """The secrets under other names than their columns', and in what the server says of them."""
    perl = """
use DBI;
my $db = DBI->connect("DBI:MariaDB:host=127.0.0.1;port=$ARGV[0];database=priv", "root", "",
  {RaiseError => 0, PrintError => 0, mariadb_server_prepare => 1});
my $st;
$st = $db->prepare("select m from mails where m = ?"); $st->execute("anna\\@example.org");
$st->fetchall_arrayref;
for my $sql ("select * from mails", "select m from mails where m > 'Zaphod' or 1", "update mails set m =
  'Zaphod' where i = 9", "select first_mail()", "select upper(priv.first_mail()) u", "select * from
  (select * from people) d", "select 1, 2, 3, 4 union all select * from people", "select email + 0 x
  from people where id = 1", "show warnings", "insert into tracks (id) values (1)",
  "show full processlist", "create temporary table audit as select email who2 from people",
  "select who2 from audit", "select id, who2 from audit, people") {
  my $st = $db->prepare($sql); $st->execute; $st->fetchall_arrayref if $st->{NUM_OF_FIELDS};
}
"""
    return run(["perl", "-e", perl, str(port)])


@test
def redact_columns():
    """--redact: values of a column are nowhere in the trace; equal ones stay equal everywhere"""
    got, data = record_private("--redact=^(email|pin|who)$", life=(private_life, other_names))
    for secret in SECRETS:
        assert secret.encode() not in data, secret
    assert b"plain note" in data, "columns that were not named are kept"
    # One hash for the one address: initial row, parameter, result, literal, final row.
    initial, = (r["rows"][0] for r in got if r["kind"] == "rows" and r["moment"] == "initial" and
                r["rows"] and len(r["rows"][0]) == 4)
    address, pin = initial[1]["hashed"].lower(), initial[2]["hashed"].lower()
    assert initial[0] == 1 and initial[3] == "plain note", initial
    params = [r["params"] for r in got if r["kind"] == "stmt" and r["params"]]
    assert [p["hashed"].lower() for p in params[0][1:]] == [address, pin], params
    assert params[1][0]["hashed"].lower() == address
    selected = [row for r in got if r["kind"] == "result" for row in r["rows"] if
                len(row) == 3 and isinstance(row[0], int)]
    assert [row[0] for row in selected] == [1, 2], selected
    assert {row[1]["hashed"].lower() for row in selected} == {address}
    assert all("hashed" in row[2] for row in selected), "a computed column of a redacted one"
    update, = (r["text"] for r in got if r["kind"] == "stmt" and (r["text"] or "").startswith("update p"))
    assert update == ("update people set pin = 'redacted:%s' where email = 'redacted:%s'" %
                      (pin, address)), update
    errors = [(r["error"], r["error_text"]) for r in got if r["kind"] == "stmt" and r["error"]]
    assert errors and errors[0][0] == 1062 and "left out" in errors[0][1], errors
    counted, = (r["text"] for r in got if r["kind"] == "stmt" and "count(*)" in (r["text"] or ""))
    assert counted.endswith("id > 1"), counted
    note, = (r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out")
    assert "--redact=^(email|pin|who)$" in note, note


@test
def redact_all():
    """--redact=all: with hashes and without; a key file makes recordings agree"""
    for how in ("hash", "drop"):
        got, data = record_private("--redact=all", "--redact-with=" + how,
                                   life=(private_life, other_names))
        for secret in (*SECRETS, "plain note", "harmless"):
            assert secret.encode() not in data, (how, secret)
        kind = "hashed" if how == "hash" else "dropped"
        rows = [row for r in got if r["kind"] in ("rows", "result") for row in r["rows"]]
        assert rows and all(v is None or list(v) == [kind] for row in rows for v in row), rows
    with open(os.path.join(BUILD, "redact.key"), "wb") as key:
        key.write(b"not so very secret, this one")
    both_times = [sorted(json.dumps(r["rows"]) for r in record_private(
        "--redact=all", "--redact-key=" + key.name)[0] if r["kind"] == "rows") for _ in range(2)]
    assert both_times[0] == both_times[1] and "hashed" in both_times[0][0], both_times


@test
def sampling():
    """--sample: one session of three, and that one whole"""
    with Proxy(ISOREC, ["n1=127.0.0.1:%d" % SERVER["port"]], "--sample=3") as proxy:
        for i in range(9):
            out = run(command_line(proxy.port, "-N", "-e", "select %d; select 'x%d'" % (i, i)))
            assert out == "%d\nx%d\n" % (i, i), out
        wait_for("the sessions' end", lambda: proxy.statistics()["sessions"] == 0)
        proxy.stop()
        got = records(ISOTRACE, proxy.trace)
    sessions = {}
    for r in got:
        if r["kind"] == "stmt" and r["text"] and not r["text"].startswith("select @@"):
            sessions.setdefault(r["session"], []).append(r["text"])
    assert sessions == {i: ["select %d" % (i - 1), "select 'x%d'" % (i - 1)] for i in (3, 6, 9)}
    note, = (r["text"] for r in got if r["kind"] == "note" and r["topic"] == "left out")
    assert note == "--sample=3", note


sys.exit(main())
