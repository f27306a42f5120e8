# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings without versions, of which one answer is wrong."""
import random

import tracefile


def write_plain(path, seed, transactions, plant):
    """A recording without versions of sessions that take turns; one answer is wrong, and nobody else's."""
    rng = random.Random(seed)
    t = tracefile.Trace()
    rows = {k: 10 * k for k in range(1, 41)}
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb", variables={
        "autocommit": "ON", "tx_isolation": "REPEATABLE-READ", "sql_mode": "STRICT_TRANS_TABLES",
        "character_set_server": "latin1", "collation_server": "latin1_swedish_ci",
        "lower_case_table_names": "0", "innodb_snapshot_isolation": "OFF"})
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0], keys=[],
          columns=[["id", "int(11)", False, None, None, None, ""], ["v", "int(11)", True, None, "NULL", None, ""]],
          create_text="CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` int(11) DEFAULT NULL,\n"
                      "  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=latin1")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, rows=[[k, v] for k, v in rows.items()], complete=True)
    for session in range(1, 5):
        t.add("session", 10, session=session, event=0, node="n1", client="c", user="u", database="d", thread=session)
    t.add("note", 11, source="recorder", topic="sessions", text="all")
    number, now, before = dict.fromkeys(range(1, 5), 0), 100, dict(rows)

    def statement(session, text, txn, status=3, **fields):
        nonlocal now
        number[session] += 1
        t.stmt(session, number[session], text, now, now + 20, status=status, txn=txn, **fields)
        now += 30

    for txn in range(1, transactions + 1):
        session, wrong = rng.randint(1, 4), txn == transactions * 2 // 3
        statement(session, "begin", txn)
        t.add("txn", now - 10, session=session, txn=txn, event=0, number=number[session], level=3)
        for step in range(rng.randint(1, 4)):
            key = rng.randint(1, 40)
            if wrong and plant == "stale" and step == 0:
                key = next(k for k in rows if before[k] != rows[k])
                statement(session, f"select id, v from t where id = {key}", txn, rows=[[key, before[key]]])
            elif wrong and plant == "own write" and step == 0:
                statement(session, f"update t set v = {1000000 + txn} where id = {key}", txn, affected=1)
                statement(session, f"select id, v from t where id = {key}", txn, rows=[[key, rows[key]]])
                before[key], rows[key] = rows[key], 1000000 + txn
            elif wrong and plant == "row gone" and step == 0:
                statement(session, f"select id, v from t where id = {key}", txn, rows=[])
            elif rng.random() < 0.5:
                statement(session, f"select id, v from t where id = {key}", txn, rows=[[key, rows[key]]])
            else:
                statement(session, f"update t set v = {txn * 10 + step} where id = {key}", txn, affected=1)
                before[key], rows[key] = rows[key], txn * 10 + step
        statement(session, "commit", txn, status=2)
        t.add("txn", now - 10, session=session, txn=txn, event=1, number=number[session], level=3, outcome=1, reason="commit")
    for session in range(1, 5):
        t.add("session", now, session=session, event=1)
    t.write(path)
