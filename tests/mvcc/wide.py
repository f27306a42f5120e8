# SPDX-License-Identifier: GPL-2.0-or-later
"""Random schedules as applications write them: schedules.py's transactions over tables of many types.

Keys of texts, decimals and dates, of one or two columns; several unique keys, with NULLs; partitions;
foreign keys of any type.  Upserts that several keys may stop, INSERT ... SELECT from the same table,
joins and subqueries in every write, row values, LAST_INSERT_ID(), IGNORE, RETURNING, workers that take
rows from a queue, counters, user variables.
"""
import random

import schedules

# Declaration and values; "{c}" is a collation of the generator's choice.
TYPES = {
    "int": ("int", [str(n) for n in range(0, 10)]),
    "big": ("bigint unsigned", [str(n) for n in range(1, 8)] + ["18446744073709551615"]),
    "text": ("varchar(10){c}", ["'a'", "'A'", "'b'", "'ab'", "'a '", "''", "'Bc'", "'z'"]),
    "char": ("char(3){c}", ["'a'", "'A'", "'b'", "'abc'", "''", "'z'"]),
    "dec": ("decimal(6,2)", ["1.5", "2", "-0.25", "99.99", "2.50", "0", "7.1"]),
    "date": ("date", ["'2024-01-01'", "'2024-02-29'", "'2023-12-31'", "'2024-01-02'", "'2025-06-30'"]),
    "time": ("datetime", ["'2024-01-01 00:00:00'", "'2024-01-01 10:30:00'", "'2024-02-29 23:59:59'",
                          "'2023-12-31 12:00:00'"]),
    "state": ("enum('new','paid','sent')", ["'new'", "'paid'", "'sent'"]),
    "flag": ("tinyint(1)", ["0", "1"]),
    "float": ("double", ["0.5", "1.25", "3", "-2.75", "0"]),
}
COLLATIONS = ("", " character set utf8mb4 collate utf8mb4_general_ci",
              " character set utf8mb4 collate utf8mb4_bin", " character set latin1",
              " character set utf8mb4 collate utf8mb4_unicode_ci")


class Column:
    def __init__(self, rng, name, kind, null):
        self.name, self.kind, self.null, self.rng = name, kind, null, rng
        declared, self.values = TYPES[kind]
        self.declared = declared.format(c=rng.choice(COLLATIONS)) if "{c}" in declared else declared
        self.extra = ""
        self.parent = None

    def value(self):
        if self.null and self.rng.random() < 0.15:
            return "NULL"
        return self.rng.choice(self.values)

    def known(self):
        return self.rng.choice(self.values)

    def number(self):
        return self.kind in ("int", "big", "dec", "float", "flag")


class Table:
    def __init__(self, rng, name):
        r = self.rng = rng
        self.name = name
        self.auto = r.random() < 0.3
        kinds = ["int", "int", "big", "text", "text", "char", "dec", "date", "time"]
        self.key = [Column(r, "k%d" % (i + 1), "int" if self.auto else r.choice(kinds), False)
                    for i in range(1 if self.auto else r.choice((1, 1, 1, 2)))]
        if self.auto:
            self.key[0].extra = " auto_increment"
        self.rest = [Column(r, "v%d" % (i + 1), r.choice(list(TYPES)), r.random() < 0.7)
                     for i in range(r.randrange(2, 5))]
        self.rest[0] = Column(r, "v1", r.choice(("int", "int", "dec")), r.random() < 0.7)
        for c in self.rest:
            if r.random() < 0.15:
                c.extra = " default " + c.known()
        self.defs = []
        self.uniques = []
        self.partition = ""
        if r.random() < 0.12:
            self.partition = self.partitions()
        for i in range(r.choice((0, 0, 1, 1, 2)) if not self.partition else 0):
            self.uniques.append(r.sample(self.rest, 1 if r.random() < 0.6 else 2))
            self.defs.append("unique key u%d(%s)" % (i, ",".join(c.name for c in self.uniques[-1])))
        for i in range(r.choice((0, 0, 1, 1, 2))):
            self.defs.append("key s%d(%s)" % (i, ",".join(
                c.name for c in r.sample(self.columns(), r.choice((1, 1, 2))))))
        self.stamp = r.random() < 0.06
        self.refers = []

    def partitions(self):
        r, first = self.rng, self.key[0]
        names = ",".join(c.name for c in self.key)
        kinds = ["by key(%s) partitions 3" % names]
        if first.kind == "int":
            kinds += ["by hash(%s) partitions 2" % first.name,
                      "by range(%s) (partition p0 values less than (4), partition p1 values less "
                      "than (8), partition p2 values less than maxvalue)" % first.name] * 2
        return " partition " + r.choice(kinds)

    def columns(self):
        return self.key + self.rest

    def numbers(self):
        return [c for c in self.rest if c.number()]

    def row(self):
        values = [c.value() for c in self.columns()]
        if self.auto and self.rng.random() < 0.7:
            values[0] = "NULL"
        return "(" + ",".join(values) + ")"

    def names(self):
        return ",".join(c.name for c in self.columns())

    def setup(self):
        r = self.rng
        lines = ["%s %s%s%s" % (c.name, c.declared, "" if c.null else " not null", c.extra)
                 for c in self.columns()]
        if self.stamp:
            lines.append("stamp timestamp default current_timestamp on update current_timestamp")
        lines.append("primary key(%s)" % ",".join(c.name for c in self.key))
        out = ["create table %s(%s) engine=innodb%s;" % (
            self.name, ", ".join(lines + self.defs), self.partition)]
        for _ in range(r.randrange(0, 9)):
            out.append("insert ignore into %s(%s) values %s;" % (self.name, self.names(), self.row()))
        return out


class Generator(schedules.Generator):
    def __init__(self, seed, mysql=False):
        r = self.rng = random.Random("wide %d" % seed)
        self.mysql = mysql
        self.nowait = r.random() < 0.3
        self.timeouts = r.random() < 0.02
        self.xa = r.random() < 0.08
        self.ddl = r.random() < 0.04
        self.settings = r.random() < 0.05
        self.xid = 0
        self.tables = [Table(r, "t%d" % (i + 1)) for i in range(r.choice((1, 1, 2, 2, 3)))]
        for child, parent in zip(self.tables[1:], self.tables):
            if r.random() < 0.35 and not (child.partition or parent.partition):
                self.refer_to(child, parent)

    def refer_to(self, child, parent):
        """A foreign key of the parent's whole primary key."""
        r = self.rng
        columns = []
        for i, key in enumerate(parent.key):
            c = Column(r, "p%d" % (i + 1), key.kind, True)
            c.declared = key.declared
            c.parent = parent
            columns.append(c)
        child.rest += columns
        child.refers.append("foreign key (%s) references %s(%s)%s%s" % (
            ",".join(c.name for c in columns), parent.name, ",".join(c.name for c in parent.key),
            r.choice(("", " on delete cascade", " on delete set null")),
            r.choice(("", " on update cascade", " on update set null"))))

    def setup(self):
        out = [line for t in self.tables for line in t.setup()]
        for t in self.tables:
            own = [c.name for c in t.rest if c.parent]
            if own:
                out.append("update %s set %s;" % (t.name, ", ".join("%s = NULL" % n for n in own)))
            out += ["alter table %s add %s;" % (t.name, key) for key in t.refers]
            for _ in range(3 if own else 0):
                parent = [c.parent for c in t.rest if c.parent][0]
                out.append("update %s c join %s x on %s set %s where c.%s <= %s;" % (
                    t.name, parent.name, self.by_key(parent, "x."),
                    ", ".join("c.%s = x.%s" % (n, k.name) for n, k in zip(own, parent.key)),
                    t.key[0].name, t.key[0].known()))
        return out

    # ---- conditions ----

    def by_key(self, t, prefix=""):
        r = self.rng
        if len(t.key) == 2 and r.random() < 0.3:
            return "(%s%s, %s%s) = (%s, %s)" % (prefix, t.key[0].name, prefix, t.key[1].name,
                                                t.key[0].known(), t.key[1].known())
        keys = t.key if len(t.key) == 1 or r.random() < 0.7 else [r.choice(t.key)]
        return " and ".join("%s%s = %s" % (prefix, c.name, c.known()) for c in keys)

    def predicate(self, t, depth=0, prefix=""):
        r = self.rng
        c = r.choice(t.columns())
        name = prefix + c.name
        kind = r.randrange(0, 17 if depth else 21)
        if kind < 5:
            return self.by_key(t, prefix)
        if kind < 8:
            return "%s = %s" % (name, c.known())
        if kind == 8:
            return "%s %s %s" % (name, r.choice(("<", ">", "<=", ">=", "<>")), c.known())
        if kind == 9:
            return "%s in (%s)" % (name, ", ".join(c.known() for _ in range(r.randrange(1, 4))))
        if kind == 10:
            low, high = sorted((c.known(), c.known()))
            return "%s between %s and %s" % (name, low, high)
        if kind == 11:
            return "%s is %snull" % (name, r.choice(("", "not ")))
        if kind == 12 and c.kind in ("text", "char"):
            return r.choice(("%s like 'a%%'", "lower(%s) = 'a'", "%s not like '%%b'",
                             "length(%s) > 1", "concat(%s, 'x') = 'ax'")) % name
        if kind == 12 and c.kind in ("date", "time"):
            return r.choice(("year(%s) = 2024", "%s < '2024-01-02' + interval 1 day",
                             "month(%s) in (1, 2)", "date(%s) = '2024-01-01'")) % name
        if kind == 12 and c.number():
            return r.choice(("%s + 1 > 3", "%s * 2 = 4", "%s %% 2 = 0", "abs(%s) < 3")) % name
        if kind == 13 and len(t.key) == 2:
            return "(%s%s, %s%s) in ((%s, %s), (%s, %s))" % (
                prefix, t.key[0].name, prefix, t.key[1].name, t.key[0].known(), t.key[1].known(),
                t.key[0].known(), t.key[1].known())
        if kind == 14:
            return "%s <=> %s" % (name, c.value())
        if kind in (17, 18):
            return "(%s) %s (%s)" % (self.predicate(t, 1, prefix), r.choice(("and", "or")),
                                     self.predicate(t, 1, prefix))
        if kind == 19:
            return "not (%s)" % self.predicate(t, 1, prefix)
        return "%s = %s" % (name, c.known())

    def where(self, t, prefix=""):
        return "" if self.rng.random() < 0.12 else " where " + self.predicate(t, 0, prefix)

    def join_on(self, t, u, x="x.", y="y."):
        """Columns of one kind, as an application would join."""
        pairs = [(a, b) for a in t.columns() for b in u.columns() if a.kind == b.kind and
                 a.declared == b.declared]
        if not pairs:
            return None
        a, b = self.rng.choice(pairs)
        return "%s%s = %s%s" % (x, a.name, y, b.name)

    def other(self, t):
        others = [u for u in self.tables if u is not t]
        return self.rng.choice(others) if others else t

    # ---- reads ----

    def select(self):
        r = self.rng
        t = r.choice(self.tables)
        c, k = r.choice(t.columns()), t.key[0]
        kind = r.randrange(0, 22)
        if kind < 6:
            return "select %s from %s%s" % (t.names() if t.stamp else "*", t.name, self.where(t))
        if kind == 6:
            return "select %s from %s%s order by %s" % (
                t.names(), t.name, self.where(t), ",".join(x.name for x in t.key))
        if kind == 7:
            return "select count(*), max(%s), min(%s) from %s%s" % (
                c.name, k.name, t.name, self.where(t))
        if kind == 8:
            n = r.choice(t.numbers())
            return "select sum(%s), avg(%s), count(%s) from %s%s" % (
                n.name, n.name, n.name, t.name, self.where(t))
        if kind == 9:
            return "select %s, count(*) from %s group by %s" % (c.name, t.name, c.name)
        if kind == 10:
            return "select distinct %s from %s%s" % (c.name, t.name, self.where(t))
        if kind in (11, 12, 13):
            u = r.choice(self.tables)
            on = self.join_on(t, u)
            if on:
                return "select x.%s, y.%s from %s x %s %s y on %s%s" % (
                    c.name, u.key[0].name, t.name, r.choice(("join", "left join")), u.name, on,
                    self.where(t, "x."))
        if kind == 14:
            u = r.choice(self.tables)
            on = self.join_on(t, u)
            if on:
                return "select %s from %s x where %s (select 1 from %s y where %s)" % (
                    k.name, t.name, r.choice(("exists", "not exists")), u.name, on)
        if kind == 15:
            u = r.choice(self.tables)
            same = [x for x in u.columns() if x.declared == c.declared]
            if same:
                return "select * from %s where %s in (select %s from %s%s)" % (
                    t.name, c.name, r.choice(same).name, u.name, self.where(u))
        if kind == 16:
            return "select %s from %s order by %s desc limit %d" % (
                t.names(), t.name, ",".join(x.name + " desc" for x in t.key[::-1])[:-5],
                r.randrange(1, 4))
        if kind == 17:
            return "select exists(select 1 from %s%s)" % (t.name, self.where(t))
        if kind == 18:
            return "select coalesce(sum(%s), 0) from %s where %s" % (
                r.choice(t.numbers()).name, t.name, self.predicate(t))
        if kind == 19:
            return r.choice(("select last_insert_id()",
                             "select * from %s where %s = last_insert_id()" % (t.name, k.name)
                             if k.kind in ("int", "big") else "select last_insert_id() + 1"))
        if kind == 20:
            u = r.choice(self.tables)
            return "select %s, (select count(*) from %s y%s) n from %s%s" % (
                k.name, u.name, self.where(u, "y."), t.name, self.where(t))
        return "select %s from %s where %s limit 1" % (t.names(), t.name, self.predicate(t))

    def locking(self):
        r = self.rng
        t = r.choice(self.tables)
        share = "for share" if self.mysql and r.random() < 0.5 else "lock in share mode"
        mode = r.choice(("for update", "for update", share))
        if self.nowait and r.random() < 0.5 and mode != "lock in share mode":
            mode += r.choice((" nowait", " skip locked", " skip locked"))
        x = r.random()
        if x < 0.12:
            u = self.other(t)
            on = self.join_on(t, u)
            if on:
                return "select x.%s, y.%s from %s x join %s y on %s%s %s" % (
                    t.key[0].name, u.key[0].name, t.name, u.name, on, self.where(t, "x."), mode)
        if x < 0.22:
            u = r.choice(self.tables)
            c = r.choice(t.columns())
            same = [y for y in u.columns() if y.declared == c.declared]
            if same:
                return "select %s from %s where %s in (select %s from %s%s) %s" % (
                    t.names(), t.name, c.name, r.choice(same).name, u.name, self.where(u), mode)
        if x < 0.30:
            return "select %s from %s%s order by %s limit 1 %s" % (
                t.names(), t.name, self.where(t), ",".join(c.name for c in t.key), mode)
        return "select %s from %s%s %s" % (
            r.choice((t.names(), t.names(), "count(*)", t.key[0].name)), t.name, self.where(t), mode)

    # ---- writes ----

    def assignment(self, t, prefix="", source=None):
        """One column's new value; of another table's columns where there is one."""
        r = self.rng
        c = r.choice(t.rest) if r.random() < 0.88 else r.choice(t.columns())
        name = prefix + c.name
        if source:
            same = [x for x in source.columns() if x.declared == c.declared]
            if same and r.random() < 0.6:
                return "%s = y.%s" % (name, r.choice(same).name)
        if c.number() and r.random() < 0.4:
            return "%s = %s" % (name, r.choice(("%s + 1", "%s - 1", "ifnull(%s, 0) + 1",
                                                "coalesce(%s, 2)")) % name)
        if c.kind == "text" and r.random() < 0.3:
            return "%s = %s" % (name, r.choice(("upper(%s)", "left(concat(%s, 'x'), 5)",
                                                "trim(%s)")) % name)
        if c.kind == "date" and r.random() < 0.4:
            return "%s = %s + interval 1 day" % (name, name)
        if r.random() < 0.08:
            return "%s = %s" % (name, r.choice(("default", "default(%s)" % name))) if c.null or "default" in c.extra else \
                "%s = %s" % (name, c.known())
        return "%s = %s" % (name, c.value())

    def update(self):
        r = self.rng
        t = r.choice(self.tables)
        x = r.random()
        word = "update ignore" if r.random() < 0.06 else "update"
        if x < 0.12:
            u = self.other(t)
            on = self.join_on(t, u)
            if on:
                return "%s %s x %s %s y on %s set %s%s" % (
                    word, t.name, r.choice(("join", "join", "left join")), u.name, on,
                    self.assignment(t, "x.", u), self.where(r.choice((t, u)), "x.")
                    if t is u else self.where(t, "x."))
        if x < 0.20:
            u = self.other(t)
            if u is not t:
                c = r.choice(t.rest)
                same = [y for y in u.columns() if y.declared == c.declared]
                if same:
                    return "%s %s set %s = (select max(%s) from %s y%s)%s" % (
                        word, t.name, c.name, r.choice(same).name, u.name, self.where(u, "y."),
                        self.where(t))
        if x < 0.27:
            u = self.other(t)
            on = self.join_on(t, u, t.name + ".")
            if u is not t and on:
                return "%s %s set %s where %s (select 1 from %s y where %s)" % (
                    word, t.name, self.assignment(t), r.choice(("exists", "not exists")), u.name,
                    on)
        if x < 0.30 and t.numbers() and t.key[0].kind == "int":
            c = r.choice(t.numbers())
            return "update %s set %s = last_insert_id(%s + 1) where %s" % (
                t.name, c.name, c.name, self.by_key(t))
        sets = [self.assignment(t) for _ in range(r.choice((1, 1, 2, 3)))]
        tail = " order by %s limit %d" % (",".join(c.name for c in t.key), r.randrange(1, 3)) \
            if r.random() < 0.06 else ""
        part = self.part(t)
        return "%s %s%s set %s%s%s" % (word, t.name, part, ", ".join(sets), self.where(t), tail)

    def part(self, t):
        if not t.partition or self.rng.random() < 0.95:
            return ""
        return " partition (%s)" % self.rng.choice(("p0", "p1", "p0, p1"))

    def delete(self):
        r = self.rng
        t = r.choice(self.tables)
        x = r.random()
        if x < 0.12:
            u = self.other(t)
            on = self.join_on(t, u)
            if on:
                return "delete x from %s x %s %s y on %s%s" % (
                    t.name, r.choice(("join", "left join")), u.name, on, self.where(t, "x."))
        if x < 0.2:
            u = self.other(t)
            on = self.join_on(t, u, t.name + ".")
            if u is not t and on:
                return "delete from %s where %s (select 1 from %s y where %s)" % (
                    t.name, r.choice(("exists", "not exists")), u.name, on)
        tail = ""
        if r.random() < 0.08:
            tail = " order by %s limit 1" % ",".join(c.name for c in t.key)
        if not self.mysql and r.random() < 0.15:
            tail += " returning " + r.choice(("*", t.key[0].name, t.names()))
        return "delete from %s%s%s%s" % (t.name, self.part(t), self.where(t), tail)

    def insert(self):
        r = self.rng
        t = r.choice(self.tables)
        into = "%s%s(%s)" % (t.name, self.part(t), t.names())
        rows = ",".join(t.row() for _ in range(r.choice((1, 1, 1, 2, 3))))
        kind = r.randrange(0, 16)
        tail = ""
        if not self.mysql and r.random() < 0.1:
            tail = " returning " + r.choice(("*", t.key[0].name))
        if kind == 0:
            return "insert ignore into %s values %s%s" % (into, rows, tail)
        if kind == 1:
            return "replace into %s values %s%s" % (into, rows, tail)
        if kind in (2, 3, 4):
            sets = [self.assignment(t) for _ in range(r.choice((1, 1, 2)))]
            if r.random() < 0.5:
                c = r.choice(t.rest)
                sets[0] = "%s = values(%s)" % (c.name, c.name)
            if t.auto and r.random() < 0.3:
                sets.append("k1 = last_insert_id(k1)")
            return "insert into %s values %s on duplicate key update %s" % (
                into, rows, ", ".join(sets))
        if kind in (5, 6):
            return "%s into %s select %s from %s%s" % (
                r.choice(("insert", "insert ignore", "replace")), into,
                ",".join(self.copied(t, c) for c in t.columns()), t.name, self.where(t))
        if kind == 7:
            return "insert into %s select %s from %s%s on duplicate key update %s" % (
                into, ",".join(self.copied(t, c) for c in t.columns()), t.name, self.where(t),
                "v1 = values(v1)")
        if kind == 8 and t.rest[-1].parent:
            p = t.rest[-1].parent
            if p.auto:
                return "insert into %s(%s) values (%s)" % (
                    t.name, t.names(), ",".join("last_insert_id()" if c.parent else c.value()
                                                for c in t.columns()))
        if kind == 9:
            c = r.choice(t.columns())
            return "insert into %s(%s) values (%s)" % (
                t.name, ",".join({x.name: 0 for x in t.key + [c]}),
                ",".join({x.name: x.value() for x in t.key + [c]}.values()))
        return "insert into %s values %s%s" % (into, rows, tail)

    def copied(self, t, c):
        r = self.rng
        if c in t.key:
            if t.auto:
                return "NULL" if r.random() < 0.7 else "%s + 10" % c.name
            return "%s + 3" % c.name if c.number() else c.known() if r.random() < 0.5 else c.name
        return c.name if r.random() < 0.7 else c.value()

    # ---- transactions ----

    def idiom(self):
        """What applications do in one transaction."""
        r = self.rng
        t = r.choice(self.tables)
        key = self.by_key(t)
        c = r.choice(t.rest)
        kind = r.randrange(0, 5)
        if kind == 0:  # a worker and its queue
            skip = " skip locked" if self.nowait else ""
            return ["select %s from %s where %s order by %s limit 1 for update%s" % (
                t.names(), t.name, self.predicate(t, 1), ",".join(x.name for x in t.key), skip),
                "update %s set %s where %s" % (t.name, self.assignment(t), key)]
        if kind == 1:  # read, then write by key
            return ["select %s from %s where %s%s" % (
                t.names(), t.name, key, r.choice(("", "", " for update"))),
                "update %s set %s where %s" % (t.name, self.assignment(t), key)]
        if kind == 2:  # a transfer
            n = r.choice(t.numbers()).name
            return ["update %s set %s = %s - 1 where %s" % (t.name, n, n, key),
                    "update %s set %s = %s + 1 where %s" % (t.name, n, n, self.by_key(t))]
        if kind == 3:  # is it there? then make it
            return ["select count(*) from %s where %s for update" % (t.name, key),
                    "insert into %s(%s) values %s" % (t.name, t.names(), t.row())]
        return ["insert into %s(%s) values %s" % (t.name, t.names(), t.row()),
                "select last_insert_id()",
                "update %s set %s where %s" % (t.name, self.assignment(t), (
                    "%s = last_insert_id()" % t.key[0].name if t.auto else key))]

    def change_definition(self):
        r = self.rng
        self.xid += 1
        t = r.choice(self.tables)
        if r.random() < 0.4:
            new = Table(r, "n%d" % self.xid)
            if len(self.tables) < 5:
                self.tables.append(new)
            return new.setup()[0].rstrip(";")
        column = r.choice(t.rest).name if t.rest else t.key[0].name
        return r.choice((
            "alter table %s add column z%d int default 3" % (t.name, self.xid),
            "create index i%d on %s(%s)" % (self.xid, t.name, column),
            "create unique index i on %s(%s)" % (t.name, column),
            "drop index i on %s" % t.name,
            "alter table %s drop column %s" % (t.name, column),
            "create table l%d like %s" % (self.xid, t.name),
            "truncate %s" % t.name, "alter table %s force" % t.name,
            "rename table %s to %sr" % (t.name, t.name), "rename table %sr to %s" % (t.name, t.name),
            "drop table if exists %s" % t.name))

    def transaction(self):
        r = self.rng
        if r.random() < 0.25:
            out = self.begin() + self.idiom()
            if r.random() < 0.4:
                out += ["savepoint s"] + self.idiom() + [
                    r.choice(("rollback to s", "release savepoint s", "savepoint s"))]
            return out + ["rollback" if r.random() < 0.1 else "commit"]
        return super().transaction()


def scenario(seed, mysql=False, name=None):
    return Generator(seed, mysql).scenario(name or "w%d" % seed)


if __name__ == "__main__":
    import sys
    print(scenario(int(sys.argv[1]), "mysql" in sys.argv[2:]), end="")
