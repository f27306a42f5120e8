# SPDX-License-Identifier: GPL-2.0-or-later
"""Schedules of schedules.py over tables with triggers, and with calls of procedures and functions.

Triggers write counters (w), a log whose rows the server numbers (lg), and further tables; they set
NEW, ask, branch, loop and refuse.  Procedures have statements, parameters (IN and OUT), variables and result sets;
functions compute, read or write.  Statements change several tables, and sessions have temporary tables of their own.
"""
import schedules

EVENTS = ("insert", "update", "delete")


class Generator(schedules.Generator):
    def __init__(self, seed):
        super().__init__(seed)
        self.ddl = self.settings = False
        r = self.rng
        self.w = schedules.Table(r, "w")
        self.w.__dict__.update(key="primary", text=False, refers=[], columns=["id", "a", "b"],
                               defs=["id int primary key", "a int default 0", "b int"])
        self.data = list(self.tables)
        self.tables = self.tables + [self.w]
        self.triggers = []
        self.names = 0
        for number, t in enumerate(self.data):
            for event in EVENTS:
                for time in ("before", "after"):
                    for _ in range(r.choice((0, 0, 0, 1, 1, 2)) if r.random() < 0.6 else 0):
                        self.triggers.append(self.trigger(t, self.data[number + 1:], time, event))
        self.procedures = [self.procedure("p%d" % (i + 1)) for i in range(r.choice((0, 1, 2)))]
        self.functions = self.make_functions() if r.random() < 0.4 else []
        self.out = self.out_procedure() if r.random() < 0.5 else None
        self.temporary = r.random() < 0.5
        self.refers = ", foreign key (x) references w (id)%s" % r.choice(("", " on delete cascade", " on delete set null")) \
            if r.random() < 0.3 else ""

    def values(self, event, variables):
        rows = {"insert": ("new",), "update": ("new", "old"), "delete": ("old",)}[event] if event else ()
        return ["%s.%s" % (row, c) for row in rows for c in ("id", "a", "b")] + variables

    def value(self, event, variables=()):
        r = self.rng
        names = self.values(event, list(variables)) or ["2"]
        x = r.choice(names)
        return r.choice((x, x, x, str(r.randrange(0, 9)), "%s + 1" % x, "ifnull(%s, 0) %% 5" % x,
                         "coalesce(%s, %s, 3)" % (x, r.choice(names)), "if(%s > 4, 1, %s)" % (x, x),
                         "-%s" % x))

    def condition(self, event, variables):
        r = self.rng
        x = r.choice(self.values(event, list(variables)) or ["1"])
        return r.choice(("%s > %d" % (x, r.randrange(10)), "%s = %d" % (x, r.randrange(6)), "%s is null" % x,
                         "%s <> %s" % (x, self.value(event, variables)),
                         "%s in (1, 3, 5)" % x, "not %s between 2 and 6" % x))

    def key(self, event, variables):
        return self.rng.choice((str(self.rng.randrange(6)), "ifnull(%s, 0) %% 6" % self.value(event, variables),
                                self.value(event, variables)))

    def write(self, others, event, variables):
        """One statement of a body that writes."""
        r = self.rng
        v = lambda: self.value(event, variables)  # noqa: E731
        kind = r.randrange(12)
        if kind < 3:
            return "insert into lg(t, i, x) values ('%s', %s, %s)" % (r.choice("uvw"), v(), v())
        if kind < 5:
            return "update w set a = a + 1 where id = %s" % self.key(event, variables)
        if kind == 5:
            return "update w set b = %s where id < %d" % (v(), r.randrange(1, 6))
        if kind == 6:
            return "insert into w values (%s, 1, %s) on duplicate key update a = a + 1" % (
                self.key(event, variables), v())
        if kind == 7:
            return "delete from w where id = %s" % self.key(event, variables)
        if kind == 8:
            return r.choice(("replace into w values (%s, 2, %s)", "insert into w values (%s, 3, %s)",
                             "insert ignore into w values (%s, 3, %s)")) % (
                                 self.key(event, variables), v())
        if others:
            u = r.choice(others)
            return r.choice(("update %s set b = %s where id = %s", "update %s set b = b + %s where a = %s")) % (
                u.name, v(), v()) if r.random() < 0.8 else "delete from %s where id = %s" % (u.name, v())
        return "update w set b = %s, a = a + 2 where id = %s" % (v(), self.key(event, variables))

    def piece(self, others, event, before, variables, depth=0):
        r = self.rng
        kind = r.randrange(14)
        if kind < 3 and before and event != "delete":
            return "set new.%s = %s;" % (r.choice("bba"), self.value(event, variables))
        if kind == 3 and variables:
            return "set %s = %s;" % (r.choice(variables), self.value(event, variables))
        if kind == 4 and variables:
            return "select %s into %s from w where id = %s;" % (
                r.choice("ab"), r.choice(variables), self.key(event, variables))
        if kind == 5 and variables:
            return "select count(*) into %s from w;" % r.choice(variables)
        if kind in (6, 7) and depth < 2:
            inner = lambda: self.piece(others, event, before, variables, depth + 1)  # noqa: E731
            return "if %s then %s%s%s end if;" % (
                self.condition(event, variables), inner(),
                " elseif %s then %s" % (self.condition(event, variables), inner()) if r.random() < 0.3 else "",
                " else " + inner() if r.random() < 0.4 else "")
        if kind == 8 and event and r.random() < 0.5:
            return "if %s then signal sqlstate '45000' set message_text = 'no'; end if;" % (
                self.condition(event, variables))
        if kind == 9 and variables and r.random() < 0.3:
            x = variables[0]
            return "set %s = 0; while %s < 3 do set %s = %s + 1; %s; end while;" % (
                x, x, x, x, self.write(others, event, variables))
        return self.write(others, event, variables) + ";"

    def trigger(self, t, others, time, event):
        r = self.rng
        self.names += 1
        variables = ["v1", "v2"][:r.choice((0, 0, 1, 2))]
        body = " ".join("declare %s int%s;" % (v, r.choice(("", " default 2"))) for v in variables)
        body += " " + " ".join(self.piece(others, event, time == "before", variables)
                               for _ in range(r.choice((1, 1, 1, 2, 3))))
        return "create trigger g%d %s %s on %s for each row begin %s end" % (
            self.names, time, event, t.name, body)

    def procedure(self, name):
        r = self.rng
        variables = ["x", "y"] + ["v1"][:r.choice((0, 1))]
        out = ["declare v1 int default 1;"] if "v1" in variables else []
        for _ in range(r.choice((1, 1, 2, 3))):
            t = r.choice(self.data)
            v = lambda: self.value(None, variables)  # noqa: E731
            kind = r.randrange(8)
            if kind == 0:
                out.append("select * from %s where id = x;" % t.name)
            elif kind == 1:
                out.append("update %s set b = %s where id = %s;" % (t.name, v(), v()))
            elif kind == 2:
                out.append("insert into %s(id, a, b) values (%s, %s, %s);" % (t.name, v(), v(), v()))
            elif kind == 3:
                out.append("delete from %s where id = %s;" % (t.name, v()))
            elif kind == 4:
                out.append("update %s set a = a + 1 where b < x;" % t.name)
            else:
                out.append(self.piece(self.data, None, False, variables))
        return name, "create procedure %s(x int, y int) begin %s end" % (name, " ".join(out))

    def out_procedure(self):
        variables = ["x", "r"]
        first = self.piece(self.data, None, False, variables)
        return "create procedure po(x int, out r int) begin %s select %s into r from w where id = x; %s end" % (
            first, self.rng.choice(("a", "b", "a + 1")), self.piece(self.data, None, False, variables))

    def of_several_tables(self):
        r = self.rng
        t, u = r.choice(self.data), r.choice(self.tables)
        one, on = "x.id < %d" % r.randrange(9), r.choice(("y.id = x.a", "y.id = x.id", "y.a = x.a"))
        return r.choice(("update {t} x join {u} y on {on} set x.b = y.b where {one}",
                         "update {t} x, w y set x.b = x.b + 1, y.a = y.a + 1 where {one} and y.id = 2",
                         "update {t} x join {u} y on {on} set x.a = x.a + 1",
                         "delete x from {t} x join {u} y on {on} where {one}")).format(t=t.name, u=u.name, one=one, on=on)

    def of_temporary(self):
        r = self.rng
        t = r.choice(self.data)
        return r.choice((
            "create temporary table if not exists own (id int primary key, v int, key (v)) engine=innodb",
            "create temporary table own (id int primary key, v int) engine=innodb",
            "create temporary table own like w",
            "drop temporary table if exists own", "truncate own", "drop table own",
            "insert into own select id, a from {t}", "insert ignore into own(id) select a from {t}",
            "insert into own values ({n}, 1), ({k}, 2)", "replace into own(id) values ({n})",
            "select * from own", "select * from own", "select id from own where id < {n} for update",
            "select x.id, own.id from {t} x join own on own.id = x.a", "delete from own where id = {n}",
            "update own set id = id + 10 where id < {n}",
            "update {t} x join own on own.id = x.id set x.b = x.b + own.id",
            "delete x from {t} x join own on own.id = x.id", "insert into {t}(id, a) select id + 20, 1 from own",
            "update {t} set b = (select count(*) from own) where id = {n}",
        )).format(t=t.name, n=r.randrange(9), k=r.randrange(9))

    def make_functions(self):
        return ["create function f1(x int) returns int deterministic return x + 1",
                "create function f2(x int) returns int deterministic reads sql data "
                "return (select count(*) from w where a > x)",
                "create function f3(x int) returns int deterministic modifies sql data "
                "begin update w set a = a + 1 where id = x; return x; end"]

    def setup(self):
        out = super().setup()
        out.append("create table lg(n int auto_increment primary key, t varchar(5), i int, x int%s) engine=innodb;" % self.refers)
        programs = self.triggers + [p[1] for p in self.procedures] + self.functions + ([self.out] if self.out else [])
        if programs:
            out += ["delimiter //"] + [p + "\n//" for p in programs] + ["delimiter ;"]
        return out

    def statement(self):
        r = self.rng
        x = r.random()
        if self.procedures and x < 0.12:
            return "call %s(%s, %s)" % (r.choice(self.procedures)[0], r.choice(("3", "1", "NULL", "7", "0")),
                                        r.randrange(0, 9))
        if self.functions and x > 0.92:
            t = r.choice(self.data)
            return r.choice(("select id, f1(a) from %s" % t.name, "select f2(%d)" % r.randrange(3),
                             "select f3(%d)" % r.randrange(6),
                             "insert into %s(id, a, b) values (%d, f1(2), 1)" % (t.name, r.randrange(20)),
                             "update %s set b = f1(b) where id = %d" % (t.name, r.randrange(12)),
                             "do f3(1)"))
        if x < 0.15:
            return "select * from lg"
        if self.out and x < 0.19:
            return r.choice(("call po(%d, @o)", "call po(%d, @o)", "select @o + %d", "call po(%d, @p)")) % r.randrange(6)
        if x < 0.25:
            return self.of_several_tables()
        if self.temporary and x < 0.45:
            return self.of_temporary()
        return super().statement()


def scenario(seed, name=None):
    return Generator(seed).scenario(name or "s%d" % seed)


if __name__ == "__main__":
    import sys
    print(scenario(int(sys.argv[1])), end="")
