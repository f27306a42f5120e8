# SPDX-License-Identifier: GPL-2.0-or-later
"""Random traces."""
from packed import APM, AWR, BPM, BWR, PM, READ, VSR, WRITE


class Maker:
    """A careless store: mostly plausible chains, with every sort of nonsense mixed in."""

    def __init__(self, rng, lists):
        self.rng, self.lists = rng, lists
        self.names = 100
        self.newest = {}  # (table, key): version name or None
        self.all_names = {}
        self.txn = 0
        self.wild = rng.choice([0, 0, 0.02, 0.2])

    def chance(self, p):
        return self.rng.random() < p

    def name(self, obj):
        self.names += 1
        value = self.names
        if self.chance(0.03):
            value = self.rng.choice(["v%d" % self.names, -self.names, 2 ** 40 + self.names])
        if self.chance(self.wild * 0.3) and self.all_names.get(obj):
            value = self.rng.choice(self.all_names[obj])
        self.all_names.setdefault(obj, []).append(value)
        return value

    def previous(self, obj, right):
        if self.chance(self.wild) and self.all_names.get(obj):
            return self.rng.choice(self.all_names[obj] + [9999])
        return right

    def key(self):
        rng = self.rng
        table = rng.choice([1, 1, 1, 2])
        n = rng.randint(1, 4)
        return (table, n if table == 1 else (n, "k"))

    def row(self, obj, *fields):
        return [list(obj[1]) if isinstance(obj[1], tuple) else obj[1]] + list(fields)

    def write_rows(self):
        """One write as a row of a WRITE probe: (table, rows)."""
        rng = self.rng
        obj = self.key()
        current = self.newest.get(obj)
        if current is None:
            name = self.name(obj)
            self.newest[obj] = name
            return obj[0], [self.row(obj, name, self.previous(obj, None), None,
                                     rng.choice([1, 1, 0]))]
        what = rng.random()
        if what < 0.2:
            self.newest[obj] = None
            return obj[0], [self.row(obj, None, self.previous(obj, current), None,
                                     rng.choice([3, 3, 0]))]
        if what < 0.3 and obj[0] == 1:
            new = (1, rng.randint(1, 5))
            if self.newest.get(new) is None and new != obj:
                name = self.name(new)
                self.newest[obj], self.newest[new] = None, name
                return 1, [self.row(new, name, self.previous(obj, current), None, 2, obj[1])]
        if what < 0.35:
            return obj[0], [self.row(obj, current, current, None, 2)]
        if what < 0.4:
            first, second = self.row(obj, None, current, None, 3), None
            name = self.name(obj)
            self.newest[obj] = name
            second = self.row(obj, name, None, None, 1)
            return obj[0], [first, second]
        name = self.name(obj)
        self.newest[obj] = name
        fields = [name, self.previous(obj, current), None, rng.choice([2, 2, 0])]
        if self.chance(self.wild):
            fields = [name]
        return obj[0], [self.row(obj, *fields)]

    def read_name(self, obj):
        if self.chance(0.3 + self.wild) and self.all_names.get(obj):
            return self.rng.choice(self.all_names[obj])
        return self.newest.get(obj)

    def statement(self, session, number, txn):
        """Records of one statement, in the session's order."""
        rng = self.rng
        begin, out = self.tick(), []
        self.clock += rng.choice([0, 0, 0, 40])
        exact = not self.chance(0.02 + self.wild * 0.3)

        def probe(kind, table, rows, predicate=None):
            out.append(("probe", dict(
                seq=self.tick(), session=session, number=number,
                txn=0 if self.chance(0.03) else txn, probe=kind, table=table, exact=exact,
                read_kind=rng.randint(0, 3), predicate=predicate, rows=rows)))

        what = rng.random()
        if what < 0.4:
            table, rows = self.write_rows()
            probe(WRITE, table, rows)
        elif what < 0.7:
            obj = self.key()
            rows = [self.row(obj, self.read_name(obj))]
            probe(READ, obj[0], rows, rng.choice([None, None, None, "x=1"]))
        elif what < 0.85:
            self.pair(probe)
        else:
            self.predicate(probe)
        if self.chance(0.1):
            probe(rng.choice([BPM, APM]), 1, [])
        error = 1205 if self.chance(0.04) else 0
        stmt = ("stmt", dict(seq=self.tick(), session=session, number=number, txn=txn,
                             begin_seq=begin, error=error, text="x"))
        if not self.chance(self.wild * 0.3):
            out.insert(rng.choice([len(out), len(out), 0]), stmt)
        return out

    def pair(self, probe):
        rng = self.rng
        before, after = [], []
        for n in rng.sample(range(1, 5), rng.randint(1, 3)):
            obj = (1, n)
            current = self.newest.get(obj)
            if current is not None:
                before.append(self.row(obj, self.previous(obj, current)))
                if self.chance(0.25):
                    self.newest[obj] = None
                    continue
                if self.chance(0.25):
                    after.append(self.row(obj, current))
                    continue
            self.newest[obj] = name = self.name(obj)
            row = self.row(obj, name)
            if self.chance(0.2):
                row.append(self.previous(obj, current))
            after.append(row)
        if not self.chance(0.1):
            probe(BWR, 1, before)
        if not self.chance(0.1):
            probe(AWR, 1, after)

    def predicate(self, probe):
        rng = self.rng
        rows = []
        for n in range(1, 5):
            name = self.read_name((1, n))
            if name is not None:
                rows.append(self.row((1, n), name))
        some = [r for r in rows if self.chance(0.5)]
        text = rng.choice(["b>1", "b>2", None])
        for _ in range(rng.randint(1, 2)):
            which = rng.random()
            if which < 0.5:
                probe(VSR, 1, rows, rng.choice([None, text]))
            if which < 0.8:
                probe(PM, 1, some, text)
                text = rng.choice([text, "b>3"])
            if which > 0.7:
                probe(READ, 1, some, text)
        if self.chance(0.2):
            probe(WRITE, 1, [])

    def tick(self):
        self.clock += self.rng.randint(1, 9)
        return self.clock

    def session(self, session):
        """Transactions of one session, as a list of lists of records."""
        rng = self.rng
        number = 0
        for _ in range(rng.randint(1, 4)):
            self.txn += rng.choice([1, 1, 1, 1000])
            txn = self.txn if not self.chance(0.02) else 2 ** 50 + self.txn
            single = self.chance(0.15)
            began = self.tick()
            if not single and not self.chance(self.wild * 0.3):
                number += 1
                yield [("txn", dict(seq=began, at=began, session=session, txn=txn, event=0,
                                    number=number, level=rng.randint(0, 4),
                                    read_only=self.chance(0.1)))]
            points = []
            for _ in range(1 if single else rng.randint(1, 6)):
                number += 1
                if not single and self.chance(0.15):
                    event = rng.choice([2, 2, 3, 4]) if points else 2
                    name = rng.choice("ab") if event == 2 else rng.choice(points)
                    points.append(name)
                    yield [("txn", dict(seq=self.tick(), session=session, txn=txn, event=event,
                                        number=number, name=name))]
                    continue
                yield self.statement(session, number, 0 if self.chance(0.02) else txn)
            if self.chance(0.06):
                continue
            outcome = rng.choice([1, 1, 1, 1, 2, 0])
            yield [("txn", dict(seq=self.tick(), session=session, txn=txn, event=1, number=number,
                                mixed=2 if self.chance(0.05) else rng.choice([0, 1]),
                                outcome=outcome, level=rng.randint(0, 4), autocommit=single,
                                begin_seq=began if single or self.chance(0.3) else 0))]

    def contents(self, moment):
        rng = self.rng
        rows, versions = [], []
        for n in range(1, 5):
            obj = (1, n)
            if moment == "initial":
                if self.chance(0.5):
                    self.newest[obj] = self.name(obj) if self.chance(0.7) else 1
                    self.all_names.setdefault(obj, []).append(self.newest[obj])
                else:
                    continue
            if self.newest.get(obj) is None:
                continue
            rows.append([n, 5, 6])
            versions.append(self.newest[obj])
        record = dict(seq=self.tick(), table=1, moment=moment, part=0, last=True,
                      complete=not self.chance(0.2), rows=rows, versions=versions)
        if self.chance(0.1):
            record["columns"] = ["b", "a", "c"]
            record["rows"] = [[r[1], r[0], r[2]] for r in rows]
        return [("rows", record)]

    def make(self):
        rng = self.rng
        self.clock = 0
        schema = [("schema", dict(
            seq=self.tick(), table=1, database="d", name="t",
            columns=[[c] + [None] * 6 for c in "abc"], primary_key=[0]))]
        first = self.contents("initial") if self.chance(0.7) else []
        sessions = [self.session(s) for s in rng.sample([1, 2, 3, 70000, 4000000000],
                                                        rng.randint(1, 4))]
        queues = {}
        # What runs is made in the order of the clock, and comes in the order of producers.
        while sessions:
            at = rng.randrange(len(sessions))
            try:
                queues.setdefault(id(sessions[at]), []).extend(next(sessions[at]))
            except StopIteration:
                del sessions[at]
        last = self.contents("final") if self.chance(0.5) else []
        late = self.chance(0.1)
        out = [] if late else schema + first
        lines = [list(q) for q in queues.values()]
        while lines:
            at = rng.randrange(len(lines))
            for _ in range(rng.randint(1, 6)):
                if lines[at]:
                    out.append(lines[at].pop(0))
            if not lines[at]:
                del lines[at]
        out += last + (first + schema if late else [])
        for _ in range(rng.choice([0, 0, 0, 1, 3]) if self.wild else 0):
            i = rng.randrange(len(out))
            if rng.random() < 0.5:
                out.insert(rng.randrange(len(out)), out[i])
            else:
                out.insert(rng.randrange(len(out)), out.pop(i))
        return out
