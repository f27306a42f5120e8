# SPDX-License-Identifier: GPL-2.0-or-later
"""Random schedules for instrumented runs, as scenarios (docs/scenario-format.md).

The same seed gives the same scenario.  Few rows and few values, so that transactions meet.  Beside
what every schedule has (reads by key and by condition, every kind of write, autocommit among
transactions, savepoints), a scenario has some of: foreign keys that cascade (three tables deep, or to the table itself), triggers of the
application, partitions, views, temporary tables, sessions that are killed, lock wait timeouts,
NOWAIT and SKIP LOCKED, statements that read in ways which show no rows (aggregates, joins, UNION),
many joins and subqueries (`joint`).
"""
import random

FEATURES = ("child", "cascade", "trigger", "partitions", "view", "temporary", "kill", "timeout",
            "skip", "opaque", "keys", "multi", "upsert", "levels", "autocommit0", "routine",
            "select_limit", "joint")


class Schedule:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.seed = seed
        self.on = {f for f in FEATURES if r.random() < (0.12 if f in (
            "trigger", "kill", "routine", "select_limit") else 0.3)}
        if "cascade" in self.on:
            self.on.add("child")
        self.unique = r.random() < 0.2
        self.sessions = ["A", "B", "C", "D"][:r.choice((2, 2, 3, 3, 4))]
        self.open = dict.fromkeys(self.sessions, False)
        self.temporary = set()
        self.points = dict.fromkeys(self.sessions, 0)

    def number(self):
        return self.r.randrange(1, 7)

    def value(self):
        return self.r.choice((0, 1, 2, 3, 5, 9))

    def where(self, key="id", column="v"):
        r = self.r
        return r.choice((
            lambda: "where %s = %d" % (key, self.number()),
            lambda: "where %s = %d" % (key, self.number()),
            lambda: "where %s >= %d" % (key, self.number()),
            lambda: "where %s between %d and %d" % (key, self.number(), self.number() + 2),
            lambda: "where %s in (%d, %d)" % (key, self.number(), self.number()),
            lambda: "where %s > %d" % (column, self.value()),
            lambda: "where %s = %d" % (column, self.value()),
            lambda: "where k = %d and %s < 6" % (self.value() % 3, column),
            lambda: "where k %% 2 = %d" % r.randrange(2),
            lambda: "where %s is null" % column,
            lambda: "",
        ))()

    def table(self):
        if "cascade" in self.on:
            return self.r.choice(("t", "t", "u", "u", "g"))
        return "t" if self.r.random() < 0.8 or "child" not in self.on else "u"

    def setup(self):
        r = self.r
        more = ", unique key uv(v)" if self.unique else r.choice(("", ", key kv(v)", ", key kk(k)"))
        parts = ""
        if "partitions" in self.on and "child" not in self.on and not self.unique:
            parts = r.choice((" partition by hash(id) partitions 3",
                              " partition by range(id) (partition p0 values less than (3), "
                              "partition p1 values less than maxvalue)"))
        out = ["create table t(id int primary key, k int, v int%s) engine=innodb%s;"
               % (more, parts)]
        ids = r.sample(range(1, 7), r.randrange(0, 6))
        for i in ids:
            v = i if self.unique else self.value()
            out.append("insert into t values (%d, %d, %d);" % (i, r.randrange(3), v))
        if "child" in self.on:
            act = " on delete %s on update %s" % (
                r.choice(("cascade", "cascade", "cascade", "set null")),
                r.choice(("cascade", "set null", "restrict", "no action", "no action"))
            ) if "cascade" in self.on else ""
            out.append("create table u(id int primary key, k int, v int, "
                       "foreign key (v) references t(id)%s) engine=innodb;" % act)
            for i in r.sample(range(1, 7), r.randrange(0, 4)):
                out.append("insert into u values (%d, %d, %s);" % (
                    i, r.randrange(3), r.choice(ids) if ids and r.random() < 0.8 else "null"))
        if "cascade" in self.on:
            out.append("create table g(id int primary key, k int, v int, foreign key (v) references "
                       "%s(id) on delete cascade) engine=innodb;" % r.choice(("u", "u", "g", "t")))
            out.append("insert into g select id, k, null from u;")
            out.append("update g set v = %d where id > %d and exists (select 1 from u where u.id = %d) "
                       "and exists (select 1 from t where t.id = %d);" % ((self.number(),) * 4))
        if "trigger" in self.on:
            out.append("create table log(n int auto_increment primary key, id int, v int) "
                       "engine=innodb;")
            event = r.choice(("insert", "update", "delete"))
            row = "old" if event == "delete" else "new"
            out.append("create trigger app after %s on t for each row insert into log(id, v) "
                       "values (%s.id, %s.v);" % (event, row, row))
        if "view" in self.on:
            out.append("create view w as select id, k, v from t where v >= 0;")
        if "routine" in self.on:
            out += ["delimiter //", "create procedure bump(n int) begin update t set v = v + 1 "
                    "where id = n; insert into t values (n, 0, n + 20); select count(*) from t; "
                    "end", "//", "delimiter ;"]
        return out

    def read(self):
        r = self.r
        table = self.table()
        tail = r.choice(("", "", "", "", " order by id", " order by v desc"))
        if r.random() < 0.12:
            tail += " limit %d" % r.randrange(1, 4)
        if r.random() < 0.25:
            tail += r.choice((" for update", " lock in share mode"))
            if "skip" in self.on:
                tail += r.choice((" skip locked", " nowait", ""))
        if r.random() < 0.1:
            return "select x.* from %s x %s%s" % (table, self.where("x.id", "x.v"), tail)
        columns = r.choice(("*", "*", "id, v", "v", "id + v as s, k", "1"))
        return "select %s from %s %s%s" % (columns, table, self.where(), tail)

    def opaque(self):
        r = self.r
        choices = ["select count(*), sum(v) from t %s" % self.where(),
                   "select max(v) from t",
                   "select k, count(*) from t group by k",
                   "select distinct k from t %s" % self.where(),
                   "select id from t where v = 1 union select k from t where id < 4",
                   "select * from (select id, v from t where k < 2) d where d.v > 0",
                   "with c as (select id, v from t where v > 1) select * from c",
                   "select * from t where v = (select max(v) from t)",
                   "select * from t where id in (select k from t)",
                   "select * from t where not exists (select 1 from t x where x.v > t.v)",
                   "select a.id, b.v from t a join t b on a.k = b.id",
                   "select a.id, b.v from t a left join t b on a.k = b.id where a.v > 0",
                   "select row_number() over (order by id), v from t",
                   "select k, sum(v) from t group by k having sum(v) > %d" % self.value(),
                   "select id from t having id > %d" % self.number(),
                   "select * from t where id not in (select x.k from t x where x.v > %d)" % self.value(),
                   "select * from t a where a.v < (select avg(b.v) from t b where b.k = a.k)",
                   "insert into t select id + 6, k, v from t where id < 3 on duplicate key "
                   "update v = 4"]
        if "child" in self.on:
            choices += ["select t.id, u.id from t join u on u.v = t.id %s" %
                        r.choice(("", "where t.k = 1", "where u.k < 2 and t.v > 0")),
                        "select sum(u.k) from t, u where t.id = u.v",
                        "insert into u select id, k, null from t where id > 3 on duplicate key "
                        "update u.k = 2",
                        "select * from u where v in (select id from t where k = 1)"]
        return r.choice(choices)

    def joint(self):
        """Reads whose condition spans tables, or whose rows are the first of many."""
        r = self.r
        a, b = r.choice(("t", "u")) if "child" in self.on else "t", self.table()
        link = r.choice(("a.id = b.k", "a.k = b.id", "a.v = b.v", "a.k = b.k and a.id < b.id",
                         "b.id = a.v"))
        only = r.choice(("", "a.id = %d" % self.number(), "b.id = %d" % self.number(),
                         "a.v > %d" % self.value(), "b.k = 1", "a.k < 2 and b.v > 0"))
        inner = r.choice(("", "where x.v > %d" % self.value(), "where x.id = %d" % self.number(),
                          "where x.k = 1"))
        return r.choice((
            lambda: "select a.id, b.v from %s a join %s b on %s%s" % (
                a, b, link, " where " + only if only else ""),
            lambda: "select * from %s a, %s b where %s%s" % (
                a, b, link, " and " + only if only else ""),
            lambda: "select count(*), sum(b.v) from %s a join %s b on %s%s" % (
                a, b, link, " where " + only if only else ""),
            lambda: "select a.id, b.id from %s a left join %s b on %s%s" % (
                a, b, link, r.choice(("", " where a.v > 1", " where b.v = 1", " where a.id = 2"))),
            lambda: "select a.id from t a join t b on a.k = b.id join %s c on c.k = b.k" % b,
            lambda: "select * from %s a where a.%s in (select x.%s from %s x %s)" % (
                a, r.choice(("id", "k", "v")), r.choice(("id", "k", "v")), b, inner),
            lambda: "select * from %s a where exists (select 1 from %s x where x.k = a.id)%s" % (
                a, b, r.choice(("", " and a.v > 0"))),
            lambda: "select * from %s a where a.%s not in (select x.%s from %s x %s)" % (
                a, r.choice(("id", "k", "v")), r.choice(("id", "k", "v")), b, inner),
            lambda: "select * from %s a where not exists (select 1 from %s x where x.k = a.id%s)%s" % (
                a, b, r.choice(("", " and x.v > 0")), r.choice(("", " and a.v > 0", " and a.id < 5"))),
            lambda: "select distinct k from %s %s" % (a, self.where()),
            lambda: "select * from (select id, v from %s %s) d where d.id < 5" % (a, self.where()),
            lambda: "select id, k from %s %s union %sselect id, v from %s" % (
                a, self.where(), r.choice(("", "all ")), b),
            lambda: "with c as (select id, v from %s where v > 1) select * from c join %s x on "
                    "x.k = c.id" % (a, b),
            lambda: "select * from %s %s order by %s limit %d" % (
                a, self.where(), r.choice(("id", "v", "v desc, id", "k, v", "id desc")),
                r.randrange(1, 4)),
            lambda: "select * from %s where id = %d limit 1" % (a, self.number()),
            lambda: "insert into t select id + 6, k, v from %s where id < 3" % a,
        ))()

    def write(self):
        r = self.r
        table = self.table()
        n, v = self.number(), self.value()
        third = str(v) if table == "t" else r.choice(("null", str(self.number())))
        if self.unique and table == "t":
            third = str(r.randrange(0, 9))
        choices = [
            "insert into %s values (%d, %d, %s)" % (table, n, r.randrange(3), third),
            "insert into %s values (%d, %d, %s), (%d, 1, %s)" % (
                table, n, r.randrange(3), third, n + 1, third),
            "update %s set k = k + 1 %s" % (table, self.where()),
            "update %s set k = %d %s" % (table, r.randrange(3), self.where()),
            "update t set v = %s %s" % (r.choice(("v + 1", str(v), "v")), self.where()),
            "update t set v = v + 1 where id = %d" % n,
            "delete from %s %s" % (table, self.where() or "where id = 1"),
            "delete from %s where id = %d" % (table, n),
        ]
        if "upsert" in self.on:
            choices += [
                "replace into %s values (%d, %d, %s)" % (table, n, r.randrange(3), third),
                "insert into t values (%d, 1, %d) on duplicate key update v = v + 1" % (n, v),
                "insert ignore into t values (%d, 1, %d)" % (n, v)]
        if "keys" in self.on:
            choices += ["update t set id = id + %d where id = %d" % (r.randrange(1, 4), n),
                        "update t set id = %d where id = %d" % (self.number(), n),
                        "update t set id = id + 10 where v = %d" % v]
        if "cascade" in self.on:
            choices += ["delete from t where id = %d" % n, "delete from t where id >= %d" % n,
                        "delete from u where id = %d" % n,
                        "replace into t values (%d, %d, %d)" % (n, r.randrange(3), v),
                        "update g set v = %s where id = %d" % (r.choice(("null", str(n))), n),
                        "insert into u values (%d, 1, %d)" % (n, self.number()),
                        "insert into g values (%d, 1, %s)" % (n, r.choice(("null", str(n))))]
        if "multi" in self.on:
            choices += ["update t a join t b on a.k = b.id set a.v = a.v + 1",
                        "delete a from t a join t b on a.k = b.id where b.v > 2",
                        "update t set v = 7 %s order by %s limit %d" % (
                            self.where(), r.choice(("id", "v desc, id", "k", "id desc")), r.randrange(1, 4)),
                        "delete from t %s order by %s limit 1" % (self.where(), r.choice(("id", "v"))),
                        "delete x from t x where x.v = %d" % v]
            if "child" in self.on:
                choices += ["update t join u on u.v = t.id set t.v = 8, u.k = 0",
                            "update t join u on u.v = t.id set t.v = t.v + 1 where u.k = %d" % r.randrange(3),
                            "update t a, u b set b.k = %d where a.id = b.v and a.k < 2" % r.randrange(3),
                            "update t left join u on u.v = t.id and u.k = 1 set t.v = 2 where t.id > %d" % n,
                            "delete u from u join t on u.v = t.id where t.k = %d" % r.randrange(3),
                            "delete t, u from t join u on u.v = t.id where t.id = %d" % n]
        if "opaque" in self.on:
            choices.append("update t set v = (select m from (select max(v) as m from t) x) "
                           "where id = %d" % n)
        return r.choice(choices)

    def begin(self, s):
        self.open[s] = True
        self.points[s] = 0
        return self.r.choice(("begin", "begin", "begin",
                              "start transaction with consistent snapshot"))

    def statement(self, s):
        r = self.r
        x = r.random()
        if not self.open[s]:
            if x < 0.45:
                return self.begin(s)
        elif x < 0.13:
            self.open[s] = False
            return "commit" if r.random() < 0.75 else "rollback"
        elif x < 0.17:
            self.points[s] += 1
            return "savepoint p%d" % self.points[s]
        elif x < 0.20 and self.points[s]:
            return "%s p%d" % (r.choice(("rollback to", "rollback to", "release savepoint")),
                               r.randrange(1, self.points[s] + 1))
        x = r.random()
        if x < 0.02 and "levels" in self.on:
            return "set %stransaction isolation level %s" % (
                r.choice(("", "session ")) if not self.open[s] else "session ",
                r.choice(("read uncommitted", "read committed", "repeatable read", "serializable")))
        if x < 0.04 and "autocommit0" in self.on:
            return "set autocommit = %d" % r.randrange(2)
        if x < 0.05 and "kill" in self.on:
            return "kill connection_id()"
        if x < 0.06 and "routine" in self.on:
            return "call bump(%d)" % self.number()
        if x < 0.07 and "select_limit" in self.on:
            return "set sql_select_limit = %s" % r.choice(("1", "2", "default"))
        if x < 0.12 and "temporary" in self.on:
            if s not in self.temporary:
                self.temporary.add(s)
                name = r.choice(("x", "x", "t"))
                return "create temporary table %s(id int primary key, k int, v int)" % name
            return r.choice(("insert into x select id, k, v from t", "select * from x",
                             "update t join x using(id) set t.v = 3", "delete from x"))
        if x < 0.16 and "view" in self.on:
            return r.choice(("select * from w where id > 1", "select * from w", "select id, v from w where k = 1",
                             "select count(*) from w", "select w.id, t.v from w join t on t.k = w.id",
                             "select * from w where v > 2 order by id limit 1", "update w set v = 5 where id = %d"
                             % self.number(), "delete from w where id = %d" % self.number(),
                             "insert into w values (%d, 1, 1)" % self.number()))
        if x < 0.18 and "partitions" in self.on:
            return r.choice(("select * from t partition (p0)", "delete from t partition (p1)"))
        if x < 0.19:
            return r.choice(("select row_count(), found_rows()", "show warnings",
                             "select last_insert_id()"))
        if x < 0.45 and "joint" in self.on:
            return self.joint()
        if x < 0.30 and "opaque" in self.on:
            return self.opaque()
        return self.read() if r.random() < 0.5 else self.write()

    def text(self):
        r = self.r
        out = ["# id: s%d" % self.seed, "[setup]"] + self.setup() + ["[schedule]"]
        if "timeout" in self.on:
            out += ["%s> set innodb_lock_wait_timeout = 1;" % s for s in self.sessions
                    if r.random() < 0.7]
        for _ in range(r.randrange(8, 30)):
            s = r.choice(self.sessions)
            out.append("%s> %s;" % (s, self.statement(s).rstrip()))
        for s in self.sessions:
            if self.open[s] and r.random() < 0.9:
                out.append("%s> commit;" % s)
        return "\n".join(out + ["[final]", "select * from t;", ""])


def scenario(seed):
    return Schedule(seed).text()
