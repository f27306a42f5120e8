# SPDX-License-Identifier: GPL-2.0-or-later
"""Histories that have the classes of findings which no recording in the tree has.

Schedules for the oracle that executes them again: table t (id primary key, v) with the rows
(1, 10), (2, 20), and answers that no engine that keeps its promises gives.
"""
import tracefile

ROWS = [[1, 10], [2, 20]]
RC, RR = 2, 3  # enum txn_level
READ = "select * from t where id = 1"


def ok(affected=0, **fields):
    return {"affected": affected, **fields}


def rows(*found, **fields):
    return {"rows": [list(r) for r in found], **fields}


def error(number, **fields):
    return {"error": number, "sqlstate": "HY000", "error_text": "planted", **fields}


def schedule(path, steps, level=RR, final=None, variables=None):
    """steps: (session, SQL, answer), one after the other.  Every session that writes is in it."""
    t = tracefile.Trace()
    t.add("server", 0, node="n1", version="10.11.6-MariaDB", flavour="mariadb",
          variables={"autocommit": "ON", "tx_isolation": "REPEATABLE-READ", "sql_mode": "STRICT_TRANS_TABLES",
                     "character_set_server": "utf8mb4", "collation_server": "utf8mb4_bin",
                     "lower_case_table_names": "0", "innodb_snapshot_isolation": "OFF", **(variables or {})})
    t.add("note", 0, source="test", topic="sessions", text="all")
    t.add("schema", 0, table=1, node="n1", database="d", name="t", primary_key=[0], keys=[],
          columns=[["id", "int(11)", False, None, None, None, ""], ["v", "int(11)", True, None, "NULL", None, ""]],
          create_text="CREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `v` int(11) DEFAULT NULL,\n"
                      "  PRIMARY KEY (`id`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin")
    t.add("rows", 0, table=1, node="n1", moment="initial", last=True, complete=True, rows=ROWS)
    for session in sorted({s for s, _, _ in steps}):
        t.add("session", 10, session=session, event=0, node="n1", user="u", database="d", thread=session)
    numbers, inside, txns, us = {}, {}, 0, 100
    for session, sql, answer in steps:
        numbers[session] = number = numbers.get(session, 0) + 1
        alone = session not in inside
        if alone:
            txns += 1
            inside[session] = txns
        txn = inside[session]
        ends = answer.get("error") == 1213 or sql in ("commit", "rollback") or (alone and sql != "begin")
        t.stmt(session, number, sql, us, us + 50, txn=txn, status=2 if ends else 3, **answer)
        if alone:
            t.add("txn", us + 50, session=session, txn=txn, event=0, number=number, level=level)
        if ends:
            del inside[session]
            t.add("txn", us + 50, session=session, txn=txn, event=1, number=number, level=level,
                  outcome=2 if answer.get("error") or sql == "rollback" else 1,
                  reason="commit" if sql == "commit" else "autocommit")
        us += 100
    if final is not None:
        t.add("rows", us, table=1, node="n1", moment="final", last=True, complete=True, rows=final)
    for session in numbers:
        t.add("session", us + 10, session=session, event=1)
    t.write(path)
    return path


UPDATE = "update t set v = 11 where id = 1"
SCHEDULES = {
    "wrong-result": {"steps": [(1, READ, rows((1, 99)))]},
    "wrong-error": {"steps": [(1, "insert into t values (3, 30)", error(1062))]},
    "missing-lock": {"steps": [(1, "begin", ok()), (1, UPDATE, ok(1)), (2, "begin", ok()),
                               (2, "update t set v = 12 where id = 1", ok(1)), (2, "commit", ok()), (1, "commit", ok())]},
    "needless-block": {"steps": [(1, UPDATE, ok(1, blocked_ns=40000, flags=32))]},
    "needless-deadlock": {"steps": [(1, "begin", ok()), (1, UPDATE, error(1213))]},
    "own-write": {"steps": [(1, "begin", ok()), (1, UPDATE, ok(1)), (1, READ, rows((1, 10))), (1, "commit", ok())]},
    "unstable-snapshot": {"steps": [(1, "begin", ok()), (1, READ, rows((1, 10))), (2, UPDATE, ok(1)),
                                    (1, READ, rows((1, 11))), (1, "commit", ok())]},
    "dirty-read": {"level": RC, "steps": [(2, "begin", ok()), (2, UPDATE, ok(1)), (1, READ, rows((1, 11))),
                                          (2, "rollback", ok())]},
    "duplicate-row": {"steps": [(1, "select * from t", rows((1, 10), (1, 10), (2, 20)))]},
    "lost-version": {"steps": [(1, UPDATE, ok(1))], "final": ROWS},
}


def txn(process, what, kind="ok"):
    return f"{{:type :{kind} :process {process} :value [{what}]}}\n"


def timed(process, what, asked):
    """A transaction whose call is known too: it had ended before the next line's began."""
    return txn(process, asked, "invoke") + txn(process, what)


# By class, for the oracle that reasons from values.  Histories of Elle (lists, registers) where they
# begin with a brace, else of Plume (registers).
HISTORIES = {
    "G0": txn(0, "[:append :x 1] [:append :y 1]") + txn(1, "[:append :x 2] [:append :y 2]")
          + txn(2, "[:r :x [1 2]] [:r :y [2 1]]"),
    "G1a": txn(0, "[:append :x 1]", "fail") + txn(1, "[:r :x [1]]"),
    "G1b": txn(0, "[:append :x 1] [:append :x 2]") + txn(1, "[:r :x [1]]") + txn(2, "[:r :x [1 2]]"),
    "G1c": txn(0, "[:append :x 1] [:r :y [1]]") + txn(1, "[:append :y 1] [:r :x [1]]"),
    "G-single": txn(0, "[:append :x 1] [:append :y 1]") + txn(1, "[:r :y nil] [:r :x [1]]") + txn(2, "[:r :y [1]]"),
    "G-monotonic": txn(0, "[:append :x 1] [:append :y 1]") + txn(1, "[:r :x [1]] [:r :y nil]") + txn(2, "[:r :y [1]]"),
    "G-cursor": txn(0, "[:r 34 [2 1]] [:append 34 4]") + txn(1, "[:append 34 5]") + txn(2, "[:r 34 [2 1 5 4]]")
                + txn(3, "[:append 34 2]") + txn(4, "[:append 34 1]"),
    "G2-item": txn(0, "[:r :x nil] [:append :y 1]") + txn(1, "[:r :y nil] [:append :x 1]")
               + txn(2, "[:r :x [1]] [:r :y [1]]"),
    "G-nonadjacent": txn(0, "[:append :x 1]") + txn(1, "[:append :y 1]") + txn(2, "[:r :x [1]] [:r :y nil]")
                     + txn(3, "[:r :x nil] [:r :y [1]]"),
    "lost-update": txn(0, "[:r :x nil] [:append :x 1]") + txn(1, "[:r :x nil] [:append :x 2]") + txn(2, "[:r :x [1 2]]"),
    "incompatible-order": txn(0, "[:append :x 1]") + txn(1, "[:append :x 2]") + txn(2, "[:r :x [1 2]]")
                          + txn(3, "[:r :x [2 1]]"),
    "duplicate-elements": txn(0, "[:append :x 1]") + txn(1, "[:r :x [1 1]]"),
    "garbage-read": txn(1, "[:r :x [9]]"),
    "dirty-update": txn(0, "[:append :x 1]", "fail") + txn(1, "[:append :x 2]") + txn(2, "[:r :x [1 2]]"),
    "future-read": txn(0, "[:append :x 1] [:r :x [1 2]] [:append :x 2]"),
    "internal": txn(0, "[:append :x 1] [:r :x nil]"),
    "not-PL-2": txn(0, "[:append :x 1] [:append :x 1]") + txn(1, "[:r :x [1]]"),
    "not-serializable": "{:type :ok :f :init :value {:x 1, :y nil}}\n"
                        + txn(0, "[:rp [:mod 2 1] {:x 1}] [:insert :y 3]")
                        + txn(1, "[:rp [:mod 2 1] {:x 1}] [:insert :z 5]") + txn(2, "[:rp :true {:x 1 :y 3 :z 5}]"),
    "not-SI": "{:type :ok :f :init :value {:x 1, :y nil}}\n" + txn(0, "[:w :x 3]") + txn(1, "[:rp [:mod 2 1] {}]"),
    "G-single-session": txn(0, "[:append :x 1]") + txn(0, "[:r :x nil]") + txn(1, "[:r :x [1]]"),
    "G0-session": txn(0, "[:append :x 1]") + txn(0, "[:append :x 2]") + txn(1, "[:r :x [2 1]]"),
    "G1c-session": txn(0, "[:r :x [1]]") + txn(0, "[:append :x 1]"),
    "G-nonadjacent-session": txn(0, "[:append :x 1]") + txn(0, "[:r :y nil]") + txn(1, "[:append :y 1]")
                             + txn(1, "[:r :x nil]") + txn(2, "[:r :x [1]] [:r :y [1]]"),
    "G2-item-session": txn(0, "[:append :z 1]") + txn(0, "[:r :y nil]") + txn(1, "[:r :z nil] [:append :y 1]")
                       + txn(2, "[:r :y [1]] [:r :z [1]]"),
    "G-nonadjacent-realtime": txn(0, "[:append :x 1]", "invoke") + txn(2, "[:r :x nil] [:r :y nil]", "invoke")
                              + timed(1, "[:append :y 1]", "[:append :y 1]") + timed(3, "[:r :x []]", "[:r :x nil]")
                              + txn(0, "[:append :x 1]") + txn(2, "[:r :x [1]] [:r :y []]")
                              + timed(4, "[:r :y [1]]", "[:r :y nil]"),
    "G2-item-realtime": txn(1, "[:r :z nil] [:append :y 1]", "invoke") + timed(0, "[:append :z 1]", "[:append :z 1]")
                        + timed(2, "[:r :y []]", "[:r :y nil]") + txn(1, "[:r :z []] [:append :y 1]")
                        + timed(3, "[:r :y [1]] [:r :z [1]]", "[:r :y nil] [:r :z nil]"),
    "G-single-realtime": timed(0, "[:append :x 1]", "[:append :x 1]") + timed(1, "[:r :x []]", "[:r :x nil]")
                         + timed(2, "[:r :x [1]]", "[:r :x nil]"),
    "G0-realtime": timed(0, "[:append :x 1]", "[:append :x 1]") + timed(1, "[:append :x 2]", "[:append :x 2]")
                   + timed(2, "[:r :x [2 1]]", "[:r :x nil]"),
    "G1c-realtime": timed(0, "[:r :x [1]]", "[:r :x nil]") + timed(1, "[:append :x 1]", "[:append :x 1]"),
    "G-SIb": timed(0, "[:append :x 1]", "[:append :x 1]") + timed(1, "[:r :x []]", "[:r :x nil]")
             + timed(2, "[:r :x [1]]", "[:r :x nil]"),
    "G-SIa": '[{"tid":1,"sid":0,"sts":{"p":1,"l":0},"cts":{"p":5,"l":0},"ops":[{"t":"w","k":1,"v":1}]},'
             '{"tid":2,"sid":1,"sts":{"p":3,"l":0},"cts":{"p":6,"l":0},"ops":[{"t":"w","k":1,"v":2}]}]',
    "read-your-writes": "w(1,1,0,1)\nr(1,0,0,2)\n",
    "monotonic-reads": "r(1,0,0,1)\nw(1,1,0,1)\nr(1,1,1,2)\nr(1,0,1,3)\n",
    "monotonic-writes": txn(0, "[:append 1 1]") + txn(0, "[:append 1 2]") + txn(1, "[:r 1 [2 1]]"),
    "writes-follow-reads": txn(1, "[:append 1 1]") + txn(0, "[:r 1 [2 1]]") + txn(0, "[:append 1 2]"),
    "be-RC": "w(1,1,0,1)\nw(2,1,0,1)\nr(1,1,1,2)\nr(2,0,1,2)\n",
    "be-RA": "w(1,1,0,1)\nw(2,1,0,1)\nr(2,0,1,2)\nr(1,1,1,2)\n",
    "be-CC": "w(1,1,0,1)\nr(1,1,1,2)\nw(2,1,1,2)\nr(2,1,2,3)\nr(1,0,2,3)\n",
    "PRAM": "w(1,1,0,1)\nw(1,2,0,2)\nr(1,1,0,3)\n",
    "not-PL-1": txn(0, "[:append :x 1] [:append :x 1]") + txn(2, "[:r :x [1 2]] [:append :x 2]"),
    "not-PL-2+": "w(1,1,1,1)\nr(1,2,1,2)\nw(1,2,0,3)\nr(1,0,0,3)\n",
    "not-PL-2.99": "w(1,1,1,1)\nr(1,2,1,2)\nw(1,2,0,3)\nr(1,0,0,3)\n",
    "be-prefix": "w(1,1,0,1)\nw(2,1,1,2)\nr(1,1,2,3)\nr(2,0,2,3)\nr(1,0,3,4)\nr(2,1,3,4)\n",
}
