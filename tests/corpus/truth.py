# SPDX-License-Identifier: GPL-2.0-or-later
"""Which anomalies show where, as measured with other programs than ours, one statement at a time, on
every release: the columns are server labels, the words the levels at which it was seen; "e1020" at
REPEATABLE READ: the server stopped it with that error.  What is not named was never seen."""

LEVELS = ("RU", "RC", "RR", "SER")
COLUMNS = ("mysql-5.6.24", "mysql-8.0.45", "mysql-9.7.4", "mariadb-10.5.29", "mariadb-10.5.23",
           "mariadb-10.11.19", "mariadb-10.11.19+si", "mariadb-11.8.6+si", "mariadb-11.8.9+si", "mariadb-11.8.6")
SI = ("mariadb-10.11.19+si", "mariadb-11.8.6+si", "mariadb-11.8.9+si")
EVERY = "RU RC RR SER"


def row(without, with_si, **others):
    """A row of the table: what is seen with innodb_snapshot_isolation off, on, and exceptions."""
    cells = {column: with_si if column in SI else without for column in COLUMNS}
    for name, cell in others.items():
        prefix = name.replace("_", "-", 1).replace("_", ".")
        for column in COLUMNS:
            if column.startswith(prefix):
                cells[column] = cell
    return cells


BUGS = {
    "MDEV-32898": row("RR", "e1020"),
    "MDEV-26642": row("RR", "e1020"),
    "MYSQL-100328": row("RR", "e1020"),
    "MDEV-29565": row("RR", "e1020"),
    "MDEV-26643": row("RU RC", ""),
    "MDEV-34108": row("RU RC", "RU"),
    "MDEV-27992": row("RU RC", "RU RC"),
    "MDEV-33802": row("", "", mariadb_10_5_23="SER"),
    "MDEV-33802-for-update": row("", "", mariadb_10_5_23=EVERY),
    "MDEV-27922": row("", "", mysql_5_6="RR SER", mariadb_10_5="RR SER"),
    "MYSQL-106655": row("", "", mysql_5_6="SER", mariadb_10="SER"),
    "MDEV-28140": row(EVERY, EVERY, mysql=""),
    "MYSQL-107125": row("", "", mysql_8_0=EVERY, mysql_9_7=EVERY),
    "MYSQL-nowait-count": row("", "", mysql_8_0=EVERY, mysql_9_7=EVERY),
    "MYSQL-93806": row("", ""),
    "MYSQL-94338": row("", ""),
    "MDEV-19535": row("", ""),
    "TIDB-33315": row("", ""),
}

_RU, _RU_RC, _SKEW = row("RU", "RU"), row("RU RC", "RU RC"), row("RU RC RR", "RU RC RR")
_CURRENT = row("RU RC RR", "RU RC e1020")
ANOMALIES = {
    "g0": row("", ""), "g1a": _RU, "g1b": _RU, "g1c": _RU,
    "fuzzy-read": _RU_RC, "phantom": _RU_RC, "read-skew": _RU_RC,
    "lost-update": _CURRENT, "g-single-write-predicate": _CURRENT,
    "own-update-foreign-row": _CURRENT, "locking-read": _CURRENT,
    "g2-item": _SKEW, "g2": _SKEW, "read-only-anomaly": _SKEW,
}
TRUTH = {**BUGS, **ANOMALIES}
