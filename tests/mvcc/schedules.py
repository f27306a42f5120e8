# SPDX-License-Identifier: GPL-2.0-or-later
"""Random schedules of several transactions as scenarios (docs/scenario-format.md).

The same seed gives the same scenario.  Tables have 0 to 12 rows with small values, so that
transactions meet; with and without primary (also of two columns), unique and secondary keys, foreign
keys with every action, in chains; all four levels, mixed within a scenario at times and changed
under way; reads, locking reads (NOWAIT, SKIP LOCKED), every kind of write, LIMIT without an order,
savepoints, rollbacks, statements outside of transactions.  Some scenarios have lock wait timeouts, XA
transactions, or definitions that change in the middle.
"""
import random

LEVELS = ("RU", "RC", "RR", "SER")
DEFINITIONS = 0.05  # scenarios that change definitions
FOREIGN = 0.06  # scenarios that are about foreign keys: tables to themselves, in circles, by two ways


class Table:
    def __init__(self, rng, name):
        self.name = name
        self.rng = rng
        self.key = rng.choice(("primary", "primary", "primary", "none", "unique", "pair"))
        self.text = rng.random() < 0.3
        self.defs = ["id int" + (" primary key" if self.key == "primary" else
                                 " not null" if self.key == "unique" else ""), "a int", "b int"]
        if self.key == "pair":
            self.defs[:2] = ["id int not null", "a int not null"]
        self.columns = ["id", "a", "b"]
        if self.text:
            self.defs.append("c varchar(10)")
            self.columns.append("c")
        self.rich = rng.random() < 0.5
        if self.rich and self.key == "primary" and rng.random() < 0.25:
            self.defs[0] = "id int auto_increment primary key"
            self.key = "auto"
        if self.rich and rng.random() < 0.3:
            self.defs.append("d decimal(6,2) default 1.50")
            self.columns.append("d")
        if self.rich and rng.random() < 0.15:
            self.defs.append("check (a is null or a < 30)")
        if self.key == "unique":
            self.defs.append("unique key uid(id)")
        if self.key == "pair":
            self.defs.append(rng.choice(("primary key(id, a)", "primary key(a, id)")))
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            name = "k%d" % len(self.defs)
            kind = rng.choice(("key", "key", "key", "unique key"))
            cols = rng.choice((["a"], ["b"], ["a", "b"], ["b", "a"]))
            if kind == "unique key" and rng.random() < 0.5:
                cols = rng.choice((["b"], ["a", "b"]))
            if self.text and rng.random() < 0.1:
                cols.append("c")
            self.defs.append("%s %s(%s)" % (kind, name, ",".join(cols)))
        self.next_id = 0
        self.refers = []
        self.parents = {}

    def keyed(self):
        return self.key in ("primary", "auto", "unique")

    def value(self, column):
        r = self.rng
        if column == "id":
            return str(r.randrange(0, 14))
        if column == "d":
            return r.choice(("1.5", "2", "-0.25", "NULL", "99.994", "1e1"))
        if column in ("p", "q"):
            return r.choice([str(n) for n in range(0, 14)] + ["NULL"] * 3)
        if column == "c":
            return r.choice(("'x'", "'y'", "'xy'", "'X'", "''", "NULL"))
        return r.choice([str(n) for n in range(0, 10)] + ["NULL"])

    def first(self, column):
        return "NULL" if column in ("p", "q") else self.value(column)

    def row(self):
        return "(" + ",".join(self.value(c) for c in self.columns) + ")"

    def setup(self):
        out = ["create table %s(%s) engine=innodb;" % (self.name, ", ".join(self.defs))]
        rows = self.rng.randrange(0, 8)
        if self.key == "auto":
            return out + ["insert ignore into %s values (%s);" % (self.name, ",".join(
                [str(i + 1)] + [self.first(c) for c in self.columns[1:]])) for i in range(rows)]
        ids = self.rng.sample(range(0, 14), rows)
        uniques = [d for d in self.defs if d.startswith(("unique", "foreign", "check", "primary"))]
        for i in range(rows):
            values = [str(ids[i])] + [self.first(c) for c in self.columns[1:]]
            if uniques:
                out.append("insert ignore into %s values (%s);" % (self.name, ",".join(values)))
            else:
                out.append("insert into %s values (%s);" % (self.name, ",".join(values)))
        return out


class Generator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        r = self.rng
        self.nowait = r.random() < 0.2
        self.timeouts = r.random() < 0.03
        self.xa = r.random() < 0.06
        self.ddl = r.random() < DEFINITIONS
        self.settings = r.random() < 0.06
        self.xid = 0
        self.tables = [Table(r, "t%d" % (i + 1)) for i in range(r.choice((1, 1, 1, 2, 2, 3)))]
        foreign = r.random() < FOREIGN
        for child, parent in zip(self.tables[1:], self.tables):
            if parent.keyed() and r.random() < (0.8 if foreign else 0.4):
                self.refer(child, parent)
        if self.tables[0].keyed() and r.random() < (0.6 if foreign else 0.03):
            self.refer(self.tables[0], self.tables[0])
        for _ in range(r.randrange(1, 3) if foreign else 0):
            child, parent = r.choice(self.tables), r.choice(self.tables)
            if parent.keyed() and len(child.refers) < 2:
                self.refer(child, parent)

    def refer(self, child, parent):
        """A foreign key, mostly with actions.  One to itself or to a later table is added when the
        tables are there."""
        r = self.rng
        column = "q" if "p" in child.columns else "p"
        child.columns.append(column)
        child.parents[column] = parent.name
        child.defs.insert(len(child.columns) - 1, column + " int")
        child.refers.append("foreign key (%s) references %s(id)%s%s" % (
            column, parent.name,
            r.choice(("", " on delete restrict", " on delete cascade", " on delete cascade",
                      " on delete set null")),
            r.choice(("", " on update no action", " on update cascade", " on update cascade",
                      " on update set null"))))

    def setup(self):
        """Foreign keys come when all tables and rows are there, and rows that refer to something
        last: to rows that are there, since MySQL 5.6 has no IGNORE for others."""
        out = [line for t in self.tables for line in t.setup()]
        for t in self.tables:
            out += ["alter table %s add %s;" % (t.name, key) for key in t.refers]
        for t in self.tables:
            for column in t.columns:
                if column in ("p", "q"):
                    out += ["update %s c join %s x on x.id = %s set c.%s = x.id where c.id = %d;" % (
                        t.name, t.parents[column], t.value(column), column, i)
                        for i in range(0, 14, 2)]
        return out

    def column(self, t):
        return self.rng.choice(t.columns[:3])

    def predicate(self, t, depth=0):
        r = self.rng
        col = self.column(t)
        kind = r.randrange(0, 14 if depth else 17)
        n = r.randrange(0, 12)
        if kind < 4:
            return "id = %d" % n
        if kind == 4:
            return "%s > %d" % (col, n)
        if kind == 5:
            return "%s < %d" % (col, n)
        if kind == 6:
            return "%s in (%d,%d,%d)" % (col, n, r.randrange(12), r.randrange(12))
        if kind == 7:
            return "%s is %snull" % (col, r.choice(("", "not ")))
        if kind == 8:
            return "%s between %d and %d" % (col, n, n + 4)
        if kind == 9:
            return col
        if kind == 10:
            return "%s <> %d" % (col, n)
        if kind == 11:
            return r.choice(("true", "1", "%s <=> NULL" % col))
        if kind == 12 and t.text:
            return r.choice(("c = 'x'", "c like 'x%'", "c > 'x'"))
        if kind == 13:
            return "%s = %d" % (col, n)
        if kind == 14:
            return "(%s) or (%s)" % (self.predicate(t, 1), self.predicate(t, 1))
        if kind == 15:
            return "(%s) and (%s)" % (self.predicate(t, 1), self.predicate(t, 1))
        if kind == 16:
            return "not (%s)" % self.predicate(t, 1)
        return "%s = %d" % (col, n)

    def where(self, t):
        return "" if self.rng.random() < 0.2 else " where " + self.predicate(t)

    def select(self):
        r = self.rng
        t = r.choice(self.tables)
        kind = r.randrange(0, 26)
        if kind < 5:
            return "select * from %s%s" % (t.name, self.where(t))
        if kind == 18:
            return "select * from %s%s limit %d" % (t.name, self.where(t), r.randrange(1, 4))
        if kind == 19:
            return "select count(distinct %s), max(b) - min(a) from %s%s" % (
                self.column(t), t.name, self.where(t))
        if kind == 20:
            return "select group_concat(id order by id) from %s%s" % (t.name, self.where(t))
        if kind == 21:
            return "with c as (select a, count(*) n from %s group by a) select * from c where n > 0" % (
                t.name)
        if kind == 22:
            return "select x.b, y.n from %s x join (select a, count(*) n from %s group by a) y " \
                "on y.a = x.a" % (t.name, r.choice(self.tables).name)
        if kind == 23:
            return "select id, (select count(*) from %s y where y.b > x.b) from %s x%s" % (
                r.choice(self.tables).name, t.name, " where id > 3" if r.random() < 0.5 else "")
        if kind == 24:
            return "select id, case when a > 4 then 'big' else concat('n', b) end from %s%s" % (
                t.name, self.where(t))
        if kind == 25:
            u = r.choice(self.tables)
            return "select * from %s where not exists (select * from %s y where y.id = %s.b)" % (
                t.name, u.name, t.name)
        if kind == 12:
            u = r.choice(self.tables)
            return "select x.id, y.a from %s x left join %s y on x.id = y.b order by x.id" % (
                t.name, u.name)
        if kind == 13:
            u = r.choice(self.tables)
            return "select a from %s union%s select b from %s" % (
                t.name, r.choice(("", " all")), u.name)
        if kind == 14:
            return "select a, sum(b) from %s group by a having count(*) > 1" % t.name
        if kind == 15:
            u = r.choice(self.tables)
            return "select (select max(a) from %s), id from %s%s" % (u.name, t.name, self.where(t))
        if kind == 16:
            u = r.choice(self.tables)
            return "select * from %s x where exists (select 1 from %s y where y.a = x.b)" % (
                t.name, u.name)
        if kind == 17:
            return "select * from %s order by id desc limit 1, 2" % t.name
        if kind == 5:
            return "select id, %s from %s%s order by id" % (self.column(t), t.name, self.where(t))
        if kind == 6:
            return "select count(*), sum(%s), min(%s) from %s%s" % (
                self.column(t), self.column(t), t.name, self.where(t))
        if kind == 7:
            return "select %s, count(*) from %s group by %s" % (("a", t.name, "a"))
        if kind == 8:
            u = r.choice(self.tables)
            return "select x.id, y.b from %s x join %s y on x.a = y.a" % (t.name, u.name)
        if kind == 9:
            u = r.choice(self.tables)
            return "select * from %s where a in (select b from %s)" % (t.name, u.name)
        if kind == 10:
            return "select distinct %s from %s%s" % (self.column(t), t.name, self.where(t))
        return "select * from %s%s order by a, id limit 2" % (t.name, self.where(t))

    def locking(self):
        r = self.rng
        t = r.choice(self.tables)
        if len(self.tables) > 1 and r.random() < 0.1:
            u = r.choice([x for x in self.tables if x is not t])
            return "select x.id, y.id from %s x join %s y on x.a = y.a for update" % (
                t.name, u.name)
        mode, tail = r.choice(("for update", "lock in share mode")), ""
        if self.nowait and r.random() < 0.5:
            mode, tail = "for update", r.choice((" nowait", " skip locked"))
        return "select %s from %s%s%s %s%s" % (
            r.choice(("*", "*", "*", "id, b", "count(*)")), t.name, self.where(t),
            r.choice(("", "", "", "", " order by id", " limit 2")), mode, tail)

    def assignment(self, t):
        r = self.rng
        col = r.choice(("a", "b", "a", "b", "id") + (("c",) if t.text else ()))
        if t.refers and r.random() < 0.25:
            column = r.choice([c for c in t.columns if c in ("p", "q")])
            return column + " = " + r.choice(
                (t.value("p"), t.value("p"), "p + 1", "id", "NULL"))
        if col == "c":
            return "c = " + t.value("c")
        kind = r.randrange(0, 5)
        if kind == 0 or col == "id":
            value = t.value(col) if col != "id" or r.random() < 0.6 else "id + %d" % r.choice((1, 7))
            return "%s = %s" % (col, value)
        if kind == 1:
            return "%s = %s + 1" % (col, col)
        if kind == 2:
            return "%s = %s" % (col, r.choice(("a", "b", "id")))
        if kind == 3:
            return "%s = %s" % (col, t.value(col))
        return "%s = if(%s is null, 1, %s)" % (col, col, col)

    def update(self):
        r = self.rng
        t = r.choice(self.tables)
        if len(self.tables) > 1 and r.random() < 0.08:
            u = r.choice([x for x in self.tables if x is not t])
            return "update %s x join %s y on x.a = y.a set x.b = y.id" % (t.name, u.name)
        if len(self.tables) > 1 and r.random() < 0.08:
            u = r.choice([x for x in self.tables if x is not t])
            return "update %s set %s where a in (select b from %s)" % (
                t.name, self.assignment(t), u.name)
        if len(self.tables) > 1 and r.random() < 0.06:
            u = r.choice([x for x in self.tables if x is not t])
            return r.choice((
                "update %s x left join %s y on x.id = y.id set x.a = ifnull(y.a, 3)",
                "update %s x, %s y set x.b = 4, y.b = 5 where x.id = y.id and x.a < 5",
                "update %s x join %s y on x.b = y.b set x.a = x.a + 1 where y.id < 7")) % (
                    t.name, u.name)
        sets = ", ".join(self.assignment(t) for _ in range(r.choice((1, 1, 2))))
        tail = r.choice((" limit 1", " limit 2")) if r.random() < 0.04 else ""
        if r.random() < 0.06:
            tail = " order by id limit %d" % r.randrange(1, 3)
        return "update %s set %s%s%s" % (t.name, sets, self.where(t), tail)

    def delete(self):
        r = self.rng
        t = r.choice(self.tables)
        tail = r.choice((" order by id limit 1", " limit 1")) if r.random() < 0.08 else ""
        if len(self.tables) > 1 and r.random() < 0.08:
            u = r.choice([x for x in self.tables if x is not t])
            return r.choice(("delete x from %s x join %s y on x.a = y.a",
                             "delete x, y from %s x join %s y on x.id = y.id")) % (t.name, u.name)
        if r.random() < 0.05:
            u = r.choice(self.tables)
            if u is not t:
                return "delete from %s where a in (select b from %s)" % (t.name, u.name)
        return "delete from %s%s%s" % (t.name, self.where(t) if r.random() < 0.95 else "", tail)

    def insert(self):
        r = self.rng
        t = r.choice(self.tables)
        rows = ",".join(t.row() for _ in range(r.choice((1, 1, 1, 2, 3))))
        kind = r.randrange(0, 14)
        if kind == 12:
            u = r.choice(self.tables)
            return r.choice((
                "replace into %s(id,a,b) select id, a, 9 from %s%s",
                "insert into %s(id,a,b) select id, b, a from %s%s on duplicate key update b = 8",
                "insert ignore into %s(id,a,b) select id + 1, a, b from %s%s")) % (
                    t.name, u.name, self.where(u))
        if kind == 13:
            return "insert into %s values %s on duplicate key update %s" % (
                t.name, rows, r.choice(("id = id + 20", "a = values(a), b = b + 1", "b = id",
                                        "b = (select max(a) from %s)" % r.choice(self.tables).name)))
        if kind == 10:
            return "insert into %s(id, b) values (%s, %s)" % (t.name, t.value("id"), t.value("b"))
        if kind == 11:
            return "insert into %s set %s a = %s" % (
                t.name, "" if t.key == "auto" else "id = %s," % t.value("id"), t.value("a"))
        if t.key == "auto" and r.random() < 0.6:
            rows = ",".join("(NULL," + ",".join(t.value(c) for c in t.columns[1:]) + ")"
                            for _ in range(r.choice((1, 2, 3))))
        if kind == 0:
            return "insert ignore into %s values %s" % (t.name, rows)
        if kind == 1:
            return "replace into %s values %s" % (t.name, rows)
        if kind == 2:
            return "insert into %s values %s on duplicate key update %s" % (
                t.name, rows, r.choice(("a = a + 1", "b = values(b)", "a = 5", "b = 3")))
        if kind == 3:
            u = r.choice(self.tables)
            return "insert into %s(id,a,b) select id + %d, b, a from %s%s" % (
                t.name, r.choice((7, 14, 20)), u.name, self.where(u))
        return "insert into %s values %s" % (t.name, rows)

    def statement(self):
        x = self.rng.random()
        if x < 0.30:
            return self.select()
        if x < 0.42:
            return self.locking()
        if x < 0.68:
            return self.update()
        if x < 0.80:
            return self.delete()
        return self.insert()

    def change_definition(self):
        r = self.rng
        t = r.choice(self.tables)
        self.xid += 1
        kind = r.randrange(22)
        if kind < 5:  # a table of its own, which statements may then use, too
            new = Table(r, "n%d" % self.xid)
            keyed = [p for p in self.tables if p.keyed()]
            if keyed and r.random() < 0.3:
                self.refer(new, r.choice(keyed))
            if len(self.tables) < 6:
                self.tables.append(new)
            return "create table %s%s(%s)%s" % (
                r.choice(("", "", "", "if not exists ")), new.name, ", ".join(new.defs + new.refers),
                r.choice(("", " engine=innodb", " charset=utf8mb4")))
        if kind == 5:
            return "create table l%d like %s" % (self.xid, t.name)
        if kind == 6:
            return "drop table %s%s" % (r.choice(("", "if exists ")), t.name)
        if kind == 7:
            return r.choice(("drop table %s", "rename table %s to %sr", "alter table %s rename to %sr")).replace(
                "%s", t.name)
        if kind == 8:
            return "rename table %sr to %s" % (t.name, t.name)
        column = r.choice(t.columns[1:])
        return r.choice((
            "alter table %s add column z%d int default 3" % (t.name, self.xid),
            "alter table %s add column z%d varchar(5)%s" % (
                t.name, self.xid, r.choice(("", " first", " after id", " default 'q'", " not null"))),
            "create %sindex i%d on %s(%s)" % (r.choice(("", "unique ")), self.xid, t.name, column),
            "create index i on %s(%s)" % (t.name, column),
            "alter table %s add %s x%d(%s), add column y%d int" % (
                t.name, r.choice(("key", "unique key")), self.xid, column, self.xid),
            "drop index i on %s" % t.name,
            "alter table %s drop key k4" % t.name,
            "alter table %s drop column %s" % (t.name, column),
            "alter table %s modify a bigint" % t.name,
            "alter table %s modify b %s" % (t.name, r.choice((
                "int not null", "varchar(12)", "int default 4", "int first", "smallint"))),
            "alter table %s alter b set default 8" % t.name,
            "alter table %s add primary key(id)" % t.name,
            "alter table %s drop primary key" % t.name,
            "alter table %s engine=innodb" % t.name,
            "alter table %s force" % t.name,
            "alter table %s add check (b < 40)" % t.name,
            "alter table %s add constraint c1 check (b < 40)" % t.name,
            "alter table %s drop constraint c1" % t.name,
            "alter table %s rename column %s to r%d" % (t.name, column, self.xid),
            "alter table %s change %s r%d %s" % (
                t.name, column, self.xid, r.choice(("int", "bigint", "int not null"))),
            "alter table %s rename column r%d to a" % (t.name, r.randrange(1, 9)),
            "alter table %s drop foreign key %s_ibfk_1" % (t.name, t.name),
            "truncate table %s" % t.name,
            "truncate %s" % t.name,
        ))

    def begin(self):
        r = self.rng
        if r.random() < 0.05:
            return ["set transaction isolation level " + r.choice((
                "read uncommitted", "read committed", "repeatable read", "serializable")), "begin"]
        if r.random() < 0.04:
            return ["set session transaction isolation level " + r.choice((
                "read committed", "repeatable read")), "start transaction"]
        return [r.choice(("begin", "begin", "begin", "begin", "start transaction",
                          "start transaction", "start transaction read only",
                          "start transaction read write",
                          "start transaction with consistent snapshot",
                          "start transaction with consistent snapshot",
                          "start transaction with consistent snapshot, read only"))]

    def transaction(self):
        r = self.rng
        if r.random() < 0.12:
            return [self.statement()]
        if self.xa and r.random() < 0.5:
            self.xid += 1
            xid = "'x%d'" % self.xid
            out = ["xa start " + xid] + [self.statement() for _ in range(r.randrange(1, 4))]
            out.append("xa end " + xid)
            if r.random() < 0.3:
                return out + ["xa commit %s one phase" % xid]
            return out + ["xa prepare " + xid, r.choice(("xa commit ", "xa rollback ")) + xid]
        out = self.begin()
        names = []
        for _ in range(r.randrange(1, 6)):
            out.append(self.statement())
            if r.random() < 0.08:
                names.append(r.choice(("s1", "s2")))
                out.append("savepoint " + names[-1])
            elif names and r.random() < 0.25:
                out.append("rollback to " + r.choice(names))
                names = []
            elif names and r.random() < 0.1:
                out.append("release savepoint " + names.pop())
            if r.random() < 0.01:
                out.append("set session transaction isolation level read committed")
            if self.timeouts and r.random() < 0.15:
                out.append("do sleep(1.2)")
            if self.settings and r.random() < 0.2:
                out.append(r.choice((
                    "set foreign_key_checks = %s" % r.choice("001"),
                    "set auto_increment_increment = %s" % r.choice("123"),
                    "set auto_increment_offset = 2", "set sql_mode = ''", "set sql_mode = default",
                    "set timestamp = 1000000000", "set sql_mode = 'STRICT_ALL_TABLES,ANSI_QUOTES'")))
            if self.ddl and r.random() < 0.15:
                out.append(self.change_definition())
        if r.random() < 0.05:
            out.append(r.choice(("commit and chain", "rollback and chain")))
            out.append(self.statement())
        out.append("rollback" if r.random() < 0.15 else "commit")
        return out

    def scenario(self, name):
        r = self.rng
        sessions = r.choice((2, 2, 2, 3, 3, 4, 5))
        queues = []
        for _ in range(sessions):
            queue = ["set autocommit=0"] if r.random() < 0.06 else []
            if self.timeouts:
                queue.append("set innodb_lock_wait_timeout=1")
            for _ in range(r.choice((1, 1, 2)) if sessions < 4 else 1):
                queue += self.transaction()
            if queue[0] == "set autocommit=0":
                queue += [self.statement(), "commit"]
            queues.append(queue)
        if r.random() < 0.8:
            level = r.choice(LEVELS)
        else:
            level = ", ".join("T%d=%s" % (i + 1, r.choice(LEVELS)) for i in range(sessions))
        out = ["# id: " + name, "# isolation: " + level, "[setup]"]
        out += self.setup() + ["[schedule]"]
        # Runs of one session are more likely than fair turns to bring transactions side by side.
        while any(queues):
            i = r.choice([i for i, q in enumerate(queues) if q])
            for _ in range(r.choice((1, 1, 2, 3))):
                if queues[i]:
                    out.append("T%d> %s;" % (i + 1, queues[i].pop(0)))
        out.append("[final]")
        for t in self.tables:
            out.append("select * from %s;" % t.name)
        return "\n".join(out) + "\n"


def scenario(seed, name=None):
    return Generator(seed).scenario(name or "s%d" % seed)


if __name__ == "__main__":
    import sys
    print(scenario(int(sys.argv[1])), end="")
