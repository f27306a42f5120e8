# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces whose every text tries to become markup, script, or an escape sequence of a terminal."""
import tracefile

HOSTILE = ("</script><script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
           "<!-- ]]> ' \\ # &lt; {{x}} ${x} javascript:alert(1) \x1b[31m\u202e")


def hostile_trace(path):
    """An aborted read and a lost update in a recording in which the names of tables, databases,
    nodes, users and columns, the SQL, values, errors, notes and variables are all hostile."""
    t = tracefile.Trace()
    t.add("server", 0, node=HOSTILE, version="10.11 " + HOSTILE, flavour="simulator",
          variables={"sql_mode" + HOSTILE: HOSTILE})
    t.add("schema", 0, table=1, node=HOSTILE, database=HOSTILE, name=HOSTILE, primary_key=[0],
          columns=[[HOSTILE, "int", False, None, None, None, None]], create_text=HOSTILE)
    for session in (1, 2, 3, 4):
        t.add("session", session=session, event=0, node=HOSTILE, user=HOSTILE, client=HOSTILE,
              database=HOSTILE)
        t.add("txn", session=session, txn=session, event=0, number=1, level=4)

    def write(us, session, number, version, previous):
        t.add("probe", us, session=session, number=number, txn=session, probe=7, table=1, exact=True,
              read_kind=2, rows=[[HOSTILE, version, previous, [HOSTILE], 1 if previous is None else 2]])
        t.stmt(session, number, "update t set v='" + HOSTILE + "'", us, us + 5, txn=session,
               affected=1)

    def read(us, session, number, version):
        t.add("probe", us, session=session, number=number, txn=session, probe=6, table=1,
              exact=True, read_kind=3, rows=[[HOSTILE, version, False, [HOSTILE]]])
        t.stmt(session, number, "select '" + HOSTILE + "' from t", us, us + 5, rows=[[HOSTILE]],
               txn=session)

    write(100, 1, 1, 7, None)
    read(110, 2, 1, 7)
    t.stmt(1, 2, "insert into " + HOSTILE, 120, 130, txn=1, error=1064, sqlstate="42000",
           error_text=HOSTILE)
    t.add("txn", session=1, txn=1, event=1, level=4, outcome=2, reason=HOSTILE)
    t.add("txn", session=2, txn=2, event=1, level=4, outcome=1, reason=HOSTILE)
    t.add("cluster", 140, node=HOSTILE, what=HOSTILE, detail=HOSTILE)
    write(150, 3, 1, 8, None)
    read(160, 4, 1, 8)
    t.add("note", 165, source=HOSTILE, topic=HOSTILE, text=HOSTILE)
    write(170, 4, 2, 9, 8)
    write(180, 3, 2, 10, 8)
    t.add("txn", 190, session=3, txn=3, event=1, level=4, outcome=1, reason=HOSTILE)
    t.add("txn", 195, session=4, txn=4, event=1, level=4, outcome=1, reason=HOSTILE)
    t.write(path)
    return path


def hostile_result(path):
    """A wrong answer for the oracle that executes the schedule again: hostile values, names."""
    t = tracefile.Trace()
    column = "varchar(300)"
    t.add("server", 0, node=HOSTILE, version="10.11.6-MariaDB" + HOSTILE, flavour="mariadb",
          variables={"autocommit": "ON", "tx_isolation": "REPEATABLE-READ", "sql_mode": "STRICT_TRANS_TABLES",
                     "character_set_server": "utf8mb4", "collation_server": "utf8mb4_bin",
                     "lower_case_table_names": "0", "innodb_snapshot_isolation": "OFF"})
    t.add("schema", 0, table=1, node=HOSTILE, database="d", name="t", primary_key=[0], keys=[],
          columns=[["id", "int(11)", False, None, None, None, ""],
                   ["v", column, True, "utf8mb4_bin", "NULL", None, ""]],
          create_text=f"CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` {column} COLLATE utf8mb4_bin "
                      "DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 "
                      "COLLATE=utf8mb4_bin")
    t.add("rows", 0, table=1, node=HOSTILE, moment="initial", last=True, complete=True,
          rows=[[1, "<b>right</b>"], [2, "kept"]])
    t.add("session", 10, session=1, event=0, node=HOSTILE, client=HOSTILE, user=HOSTILE, database="d",
          thread=1)
    t.stmt(1, 1, "select id, v from t", 100, 150, rows=[[1, HOSTILE], [2, "kept"]], status=2, txn=1)
    t.add("txn", 150, session=1, txn=1, event=1, number=1, level=3, outcome=1, reason="autocommit")
    t.add("session", 200, session=1, event=1)
    t.write(path)
    return path
