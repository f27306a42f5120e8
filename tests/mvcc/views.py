# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedules of schedules.py over tables with views, which statements read and write.

Views have the columns id, a, b: of one table (plain columns, computed ones, with and without CHECK OPTION), joins,
groups, DISTINCT, UNION, LIMIT, subqueries, CTEs, other views, ALGORITHM=TEMPTABLE, lists of columns.
"""
import schedules


class View:
    def __init__(self, name, text, writable=None):
        self.name, self.text_of, self.writable = name, text, writable
        self.columns, self.text, self.key, self.refers = ["id", "a", "b"], False, "none", []


class Generator(schedules.Generator):
    def __init__(self, seed):
        super().__init__(seed)
        self.views = []
        for i in range(self.rng.randrange(1, 5)):
            self.views.append(self.view("v%d" % (i + 1)))

    def view(self, name):
        r = self.rng
        t, u = r.choice(self.tables), r.choice(self.tables)
        where = self.where(t)
        kind = r.randrange(17)
        writable = None
        if kind < 4:
            body, writable = "select id, a, b from %s%s" % (t.name, where), t
            if where and r.random() < 0.4:
                body += r.choice((" with check option", " with local check option"))
        elif kind == 4:
            body = "select id, a + 1 as a, ifnull(b, 0) as b from %s%s" % (t.name, where)
        elif kind == 5:
            return View(name, "view %s(id, a, b) as select a, count(*), sum(b) from %s%s group by a" % (
                name, t.name, where))
        elif kind == 6:
            body = "select x.id, y.a, x.b from %s x %sjoin %s y on x.id = y.b" % (
                t.name, r.choice(("", "left ")), u.name)
        elif kind == 7:
            body = "select id, a, b from %s union%s select id, b, a from %s" % (
                t.name, r.choice(("", " all")), u.name)
        elif kind == 8:
            body = "select distinct a as id, a, b from %s%s" % (t.name, where)
        elif kind == 9:
            body = "select id, a, b from %s order by id, a, b limit 3" % t.name
        elif kind == 10:
            body = "select id, (select max(a) from %s) as a, b from %s%s" % (u.name, t.name, where)
        elif kind == 11:
            body = "with c as (select a, count(*) n from %s group by a) select n as id, c.a, x.b from c join " \
                "%s x on x.a = c.a" % (u.name, t.name)
        elif kind == 12:
            body = "select id, case when a > 4 then 'big' else concat('n', b) end as a, 'x' as b from %s%s" % (
                t.name, where)
        elif kind == 13:
            body = "select max(id) as id, count(a) as a, min(b) as b from %s%s" % (t.name, where)
        elif kind == 14:
            body, writable = "select b as id, id as a, a as b from %s%s" % (t.name, where), t
            writable = None
        else:
            if not self.views:
                return self.view(name)
            t = r.choice(self.views)
            body = "select id, a, b from %s%s" % (t.name, self.where(t))
            if kind == 16:
                body = "select x.id, x.a, y.b from %s x join %s y on x.id = y.id" % (t.name, u.name)
            elif t.writable:
                writable = t.writable
                if r.random() < 0.5:
                    body += r.choice((" with check option", " with local check option"))
        if "check option" not in body and r.random() < 0.1:
            return View(name, "algorithm=temptable view %s as %s" % (name, body))
        return View(name, "view %s as %s" % (name, body), writable)

    def setup(self):
        return super().setup() + ["create %s;" % v.text_of for v in self.views]

    def through(self, make):
        """A statement of views and tables."""
        tables = self.tables
        self.tables = self.views + self.views + tables
        try:
            return make()
        finally:
            self.tables = tables

    def select(self):
        return self.through(super().select)

    def locking(self):
        return self.through(super().locking) if self.rng.random() < 0.15 else super().locking()

    def insert(self):
        r = self.rng
        if r.random() < 0.15:
            return "insert into %s(id, a, b) select id + %d, b, a from %s%s" % (
                r.choice(self.tables).name, r.choice((7, 14, 20)), r.choice(self.views).name,
                r.choice(("", " where a > 2")))
        writable = [v for v in self.views if v.writable]
        if writable and r.random() < 0.25:
            v = r.choice(writable)
            rows = ", ".join("(%s)" % ", ".join(v.writable.value(c) for c in v.columns)
                             for _ in range(r.choice((1, 1, 2))))
            return r.choice(("insert into %s values %s", "insert into %s(id, a, b) values %s",
                             "replace into %s values %s", "insert ignore into %s values %s",
                             "insert into %s values %s on duplicate key update b = 4")) % (v.name, rows)
        return super().insert()

    def update(self):
        r = self.rng
        t, v = r.choice(self.tables), r.choice(self.views)
        if r.random() < 0.06:
            return "update %s set b = (select count(*) from %s)%s" % (t.name, v.name, self.where(t))
        if r.random() < 0.05:
            return "update %s x join %s y on x.a = y.a set x.b = 4" % (t.name, v.name)
        if r.random() < 0.25:
            return "update %s set %s%s" % (v.name, r.choice((
                "a = 5", "b = b + 1", "id = id + 7", "a = b", "b = NULL, a = 3")), self.where(v))
        return super().update()

    def delete(self):
        r = self.rng
        t, v = r.choice(self.tables), r.choice(self.views)
        if r.random() < 0.06:
            return "delete from %s where a in (select b from %s)" % (t.name, v.name)
        if r.random() < 0.2:
            return "delete from %s%s" % (v.name, self.where(v))
        return super().delete()


def scenario(seed, name=None):
    return Generator(seed).scenario(name or "s%d" % seed)


if __name__ == "__main__":
    import sys
    print(scenario(int(sys.argv[1])), end="")
