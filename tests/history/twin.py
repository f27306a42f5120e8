# SPDX-License-Identifier: GPL-2.0-or-later
"""A slow twin of the history loader: the rules of history.md in the plainest way, with sets, walks and permutations."""
import json

from packed import APM, AWR, BPM, BWR, NONE, PM, READ, VSR, WRITE, enc


class Version:
    def __init__(self, obj, name):
        self.obj, self.name = obj, name
        self.txn = self.stmt = None
        self.previous = None  # a Version, "NIL", or None
        self.flags = {"w"}  # unwritten

    def show(self, twin):
        if self.name == "U":
            return "U"
        if self.name is None:
            return "D %d %d" % (self.txn or 0, self.stmt[1] if self.stmt else 0)
        return self.name


class Op:
    def __init__(self, kind, txn, stmt, **more):
        self.kind, self.txn, self.stmt = kind, txn, stmt
        self.obj = self.version = None
        self.flags = set()
        self.read_kind = self.probe = 0
        self.__dict__.update(more)


class Twin:
    def __init__(self, records):
        self.counts = dict.fromkeys(
            "probes inexact_probes reads_undecided orders_unknown unwritten_versions unknown_outcomes "
            "unknown_counted_committed unfinished_txns unpaired_probes ops_without_txn "
            "duplicate_writes txns_undeclared".split(), 0)
        self.txns, self.stmts, self.objects, self.ops = {}, {}, {}, []
        self.versions = []
        self.schemas, self.initial_tables, self.parts = {}, set(), {}
        self.groups, self.sessions = {}, []
        self.undo, self.savepoints = [], {}
        self.writes_stmts = set()
        self.unseen = set()  # tables with writes that are not known exactly
        deferred = []
        for kind, r in records:
            if kind in ("stmt", "probe", "txn", "session") and r["session"] not in self.sessions:
                if kind != "probe" or r["probe"] not in (BPM, APM):
                    self.sessions.append(r["session"])
            if kind == "rows":
                if r["table"] in self.schemas:
                    self.rows(r)
                else:
                    deferred.append(r)
            elif kind in ("txn", "stmt", "probe", "schema"):
                getattr(self, kind)(r)
        for r in deferred:
            if r["table"] in self.schemas:
                self.rows(r)
        for session in self.sessions:
            if session in self.groups:
                self.finish_group(self.groups.pop(session))
        self.finish()

    # -- records --

    def mention(self, number, session, seq):
        if number == 0:
            return None
        if number not in self.txns:
            self.txns[number] = dict(session=session, begin=seq, end=NONE, outcome=0, level=0,
                                     flags={"b", "e"})
        return number

    def schema(self, r):
        self.schemas.setdefault(r["table"], r)

    def txn(self, r):
        number = self.mention(r["txn"], r["session"], r["seq"])
        if number is None or r["event"] > 4:
            return
        t = self.txns[number]
        if r["event"] == 0:
            if "b" in t["flags"]:
                t["flags"].discard("b")
                t["begin"], t["level"] = r["seq"], r["level"]
                for flag, field in (("r", "read_only"), ("s", "consistent_snapshot")):
                    if r[field]:
                        t["flags"].add(flag)
        elif r["event"] == 1:
            if "e" in t["flags"]:
                t["flags"].discard("e")
                t["end"], t["outcome"] = r["seq"], r["outcome"]
                t["level"] = t["level"] or r["level"]
                if r["begin_seq"]:
                    if "b" in t["flags"] or r["begin_seq"] < t["begin"]:
                        t["begin"] = r["begin_seq"]
                    t["flags"].discard("b")
                for flag, field in (("a", "autocommit"), ("r", "read_only"),
                                    ("s", "consistent_snapshot")):
                    if r[field]:
                        t["flags"].add(flag)
                if r["mixed"] == 2:
                    t["flags"].add("m")
        else:
            owner, points = self.savepoints.get(r["session"], (None, []))
            if owner != number:
                points = []
            at = max((i for i, p in enumerate(points) if p[0] == r["name"]), default=None)
            if r["event"] == 2:
                if at is not None:
                    del points[at]
                points.append((r["name"], r["number"]))
            elif at is not None and r["event"] == 3:
                self.undo.append((number, points[at][1], r["number"]))
                del points[at + 1:]
            elif at is not None:
                del points[at:]
            self.savepoints[r["session"]] = (number, points)

    def stmt(self, r):
        number = self.mention(r["txn"], r["session"], r["begin_seq"] or r["seq"])
        key = (r["session"], r["number"])
        if r["number"] and key not in self.stmts:
            self.stmts[key] = dict(txn=number, begin=r["begin_seq"], end=r["seq"], error=r["error"])

    def obj(self, table, key):
        key = (table, enc(key))
        if key not in self.objects:
            unborn = Version(key, "U")
            unborn.flags = {"U"}
            self.objects[key] = [unborn]
            self.versions.append(unborn)
        return key

    def version(self, obj, name):
        if name is None:
            return None
        text = str(name) if isinstance(name, int) and name >= 0 else "b" + enc(name).hex()
        for v in self.objects[obj]:
            if v.name == text:
                return v
        return self.add(Version(obj, text))

    def add(self, v):
        self.objects[v.obj].append(v)
        self.versions.append(v)
        return v

    def dead(self, obj):
        v = self.add(Version(obj, None))
        v.flags.add("D")
        return v

    def write(self, op, v, previous):
        op.kind, op.obj, op.version = "w", v.obj, v
        if "w" not in v.flags:
            v.flags.add("d")
            self.counts["duplicate_writes"] += 1
            return
        v.flags.discard("w")
        if "e" in op.flags:
            v.flags.add("e")
        v.txn, v.stmt, v.previous = op.txn, op.stmt, previous
        self.ops.append(op)

    def probe(self, r):
        self.counts["probes"] += 1
        self.counts["inexact_probes"] += not r["exact"]
        if r["probe"] in (BPM, APM) or r["number"] == 0:
            return
        txn = self.mention(r["txn"], r["session"], r["seq"])
        stmt = (r["session"], r["number"])
        if r["probe"] in (BWR, AWR, WRITE):
            self.writes_stmts.add(stmt)
        if r["probe"] in (AWR, WRITE) and not r["exact"]:
            self.unseen.add(r["table"])

        def op():
            return Op("r", txn, stmt, probe=r["probe"], read_kind=r["read_kind"],
                      flags={"e"} if r["exact"] else set())

        rows = [Row(x) for x in r["rows"] or []]
        if r["probe"] < READ or (r["probe"] == READ and r["predicate"] is not None):
            group = self.groups.get(r["session"])
            if group and group[0] != r["number"]:
                self.finish_group(self.groups.pop(r["session"]))
                group = None
            if not group:
                group = self.groups[r["session"]] = (r["number"], [])
            entry = dict(r, op=op, table=r["table"], text=r["predicate"], found=[])
            for row in rows:
                obj = self.obj(r["table"], row.key)
                v = self.version(obj, row.version)
                previous = None
                if row.previous is not None:
                    previous = self.version(obj, row.previous)
                elif row.has_previous or row.op == 1:
                    previous = "NIL"
                entry["found"].append((obj, v, previous))
            group[1].append(entry)
        if r["probe"] == READ:
            for row in rows:
                self.read_row(r["table"], row, op())
        if r["probe"] == WRITE:
            for row in rows:
                self.write_row(r["table"], row, op())

    def read_row(self, table, row, op):
        op.obj = self.obj(table, row.key)
        op.version = self.version(op.obj, row.version)
        if op.version is None:
            op.flags.add("a")
        self.ops.append(op)

    def write_row(self, table, row, op):
        obj = self.obj(table, row.key)
        rekey = row.old_key is not None and enc(row.old_key) != enc(row.key)
        v = self.version(obj, row.version)
        previous = None if rekey else self.version(obj, row.previous)
        if row.op == 3 or (row.op == 0 and row.version is None):
            if v is None:
                v = self.dead(obj)
            else:
                v.flags.add("D")
            self.write(op, v, previous)
        elif v is None:
            return
        elif rekey:
            old = self.obj(table, row.old_key)
            before = self.version(old, row.previous)
            other = Op("w", op.txn, op.stmt, probe=op.probe, read_kind=op.read_kind,
                       flags=set(op.flags))
            self.write(other, self.dead(old), before)
            self.write(op, v, "NIL")
        elif previous is v:
            op.obj, op.version = obj, v
            self.ops.append(op)
        else:
            if previous is None and row.op != 2 and (row.has_previous or row.op == 1):
                previous = "NIL"
            self.write(op, v, previous)

    def finish_group(self, group):
        number, probes = group
        self.finish_predicates(probes)
        tables = {p["table"] for p in probes}
        for table in sorted(tables):
            bwr = [p for p in probes if p["probe"] == BWR and p["table"] == table]
            awr = [p for p in probes if p["probe"] == AWR and p["table"] == table]
            for p in bwr:
                self.counts["unpaired_probes"] += not awr
            for p in awr:
                self.counts["unpaired_probes"] += bool(
                    not bwr and p["found"] and p["found"][0][2] is None)
            before, after = {}, {}
            for probes_of, into in ((bwr, before), (awr, after)):
                for p in probes_of:
                    for obj, v, previous in p["found"]:
                        if v is not None and obj not in into:
                            into[obj] = (p, v, previous)
            for obj in sorted(set(before) | set(after), key=self.order_of):
                self.pair(obj, before.get(obj), after.get(obj), bwr, awr)

    def order_of(self, obj):
        return list(self.objects).index(obj)

    def pair(self, obj, before, after, bwr, awr):
        if after is None:
            if awr:
                p, v, _ = before
                op = p["op"]()
                if not awr[0]["exact"]:
                    op.flags.discard("e")
                self.write(op, self.dead(obj), v)
            return
        p, v, previous = after
        op = p["op"]()
        other = before[0] if before else (bwr[0] if bwr else None)
        if before and before[1] is v:
            if not other["exact"]:
                op.flags.discard("e")
            op.obj, op.version = obj, v
            self.ops.append(op)
            return
        if previous is None:
            if not other or not other["exact"]:
                op.flags.discard("e")
            if other:
                previous = before[1] if before else "NIL"
        self.write(op, v, previous)

    def finish_predicates(self, probes):
        probes = [p for p in probes if p["probe"] in (PM, READ, VSR)]

        def same(a, b):
            return a["table"] == b["table"] and (
                a["text"] == b["text"] or a["text"] is None or b["text"] is None)

        seen = set()
        for p in probes:
            match = p["probe"] != VSR
            if not match and any(q["probe"] != VSR and same(p, q) for q in probes):
                continue
            if (match, p["table"], p["text"]) in seen:
                continue
            seen.add((match, p["table"], p["text"]))
            pm = any(q["probe"] == PM and same(p, q) for q in probes)
            text, exact, flags, matches, sets = p["text"], True, set(), [], []
            for q in probes:
                if not same(p, q):
                    continue
                if q["probe"] == VSR:
                    sets += [v for _, v, _ in q["found"] if v]
                    flags.add("s")
                elif q["probe"] == (PM if pm else READ) and q["text"] == p["text"]:
                    matches += [v for _, v, _ in q["found"] if v]
                    flags.add("m")
                else:
                    continue
                exact = exact and q["exact"]
                text = text if text is not None else q["text"]
            op = p["op"]()
            op.kind, op.table, op.text = "p", p["table"], text or ""
            op.matches, op.sets = matches, sets
            op.pflags = flags | ({"e"} if exact else set())
            if not exact:
                op.flags.discard("e")
            self.ops.append(op)

    def rows(self, r):
        if r["moment"] not in ("initial", "final"):
            return
        initial = r["moment"] == "initial"
        schema = self.schemas[r["table"]]
        key = schema["primary_key"]
        if not key:
            return
        if r["columns"] is not None:
            names = [c[0] for c in schema["columns"]]
            places = [r["columns"].index(names[k]) if names[k] in r["columns"] else None for k in key]
            if None in places:
                return
        else:
            places = key
        sound = r["versions"] is not None or not r["rows"]
        for i, row in enumerate(r["rows"] or []):
            parts = [row[p] for p in places]
            name = r["versions"][i] if r["versions"] and i < len(r["versions"]) else None
            if None in parts or name is None:
                sound = False
                continue
            obj = self.obj(r["table"], parts[0] if len(parts) == 1 else parts)
            v = self.version(obj, name)
            if initial:
                if not v.flags & {"w", "I"}:
                    v.flags.add("d")
                v.flags.add("I")
                v.flags.discard("w")
            else:
                v.flags.add("F")
        part = (r["table"], initial)
        if r["part"] == 0:
            self.parts[part] = 0
        if not sound or self.parts.get(part) != r["part"]:
            self.parts[part] = None
            return
        self.parts[part] += 1
        if r["last"] and r["complete"] and initial:
            self.initial_tables.add(r["table"])

    # -- conclusions --

    def place(self, op):
        return (op.stmt[1], op.kind == "w")

    def committed(self, number):
        t = self.txns[number]
        return t["outcome"] == 1 or (t["outcome"] == 0 and "o" in t["flags"])

    def finish(self):
        kept = []
        for op in self.ops:
            stmt = self.stmts.get(op.stmt)
            txn = op.txn if op.txn is not None else (stmt["txn"] if stmt else None)
            if txn is not None and self.txns[txn]["session"] != op.stmt[0]:
                txn = None
            if txn is None:
                self.counts["ops_without_txn"] += 1
                if op.kind == "w":
                    op.version.flags.add("w")
                    op.version.txn = op.version.stmt = None
                continue
            op.txn = txn
            if op.kind == "w":
                op.version.txn = txn
            kept.append(op)
        self.by_txn = {n: sorted((o for o in kept if o.txn == n), key=self.place) for n in self.txns}
        for t in self.txns.values():
            self.counts["unfinished_txns"] += "e" in t["flags"]
            self.counts["unknown_outcomes"] += t["outcome"] == 0
            self.counts["txns_undeclared"] += {"b", "e"} <= t["flags"]
        for op in kept:
            failed = self.stmts.get(op.stmt, {}).get("error")
            undone = any(n == op.txn and a < op.stmt[1] < b for n, a, b in self.undo)
            if op.kind == "w" and (failed or undone):
                op.flags.add("u")
                op.version.flags.add("u")
        for ops in self.by_txn.values():
            self.own(ops)
        self.observe(kept)
        for obj in self.objects:
            self.order(obj)

    def own(self, ops):
        for i, op in enumerate(ops):
            if op.kind == "p":
                continue
            before = [o for o in ops[:i]
                      if o.kind == "w" and o.obj == op.obj and "u" not in o.flags]
            if op.kind == "r" and "a" in op.flags:
                op.version = self.absent(op, before[-1].version if before else None)
                self.counts["reads_undecided"] += op.version is None
            elif op.kind == "w" and "u" not in op.flags and before:
                last = before[-1].version
                last.flags.add("i")
                if op.version.previous == "NIL" and "D" in last.flags:
                    op.version.previous = last

    def absent(self, op, own):
        if own is not None and "D" in own.flags:
            return own
        versions = self.objects[op.obj]
        dead = [v for v in versions if "D" in v.flags]
        if len(dead) > 1 or op.obj[0] in self.unseen:
            return None
        if dead:
            d = dead[0]
            read, write = self.stmts.get(op.stmt), self.stmts.get(d.stmt)
            later = d.txn is not None and d.txn == op.txn
            if later and "u" in d.flags:
                return None  # taken back, before the read or after it
            if not later and read and write and write["begin"] > read["end"]:
                later = True
            if not later:
                return d if any("I" in v.flags for v in versions) else None
        return versions[0]

    def observe(self, ops):
        def see(v, by):
            if isinstance(v, Version) and v.txn is not None and v.txn != by:
                if self.txns[v.txn]["outcome"] == 0:
                    self.txns[v.txn]["flags"].add("o")

        for v in self.versions:
            see(v.previous, v.txn)
            if "F" in v.flags:
                see(v, None)
        for op in ops:
            if op.read_kind == 3:
                continue
            if op.kind == "r":
                see(op.version, op.txn)
            if op.kind == "p":
                for v in op.matches + op.sets:
                    see(v, op.txn)
        for t in self.txns.values():
            self.counts["unknown_counted_committed"] += "o" in t["flags"]

    def stands(self, v):
        if v.flags & {"I", "U"}:
            return True
        return v.txn is not None and not v.flags & {"i", "u"} and self.committed(v.txn)

    def before(self, v):
        """What stands before v: a version, "root", "unknown" or "cycle"."""
        seen = []
        while True:
            if "I" in v.flags:
                return "root"
            if "e" not in v.flags or v.previous is None:
                return "unknown"
            if v.previous == "NIL":
                return "root"
            seen.append(v)
            v = v.previous
            if "w" in v.flags or self.stands(v):
                return v
            if v in seen:
                return "cycle"

    def order(self, obj):
        versions = self.objects[obj]
        result = self.find_order(obj, versions)
        if isinstance(result, str):
            self.orders = getattr(self, "orders", {})
            self.orders[obj] = (result, None)
            self.counts["orders_unknown"] += 1
            result = None
        else:
            self.orders = getattr(self, "orders", {})
            self.orders[obj] = ("ok", result)
        any_dead = any("D" in v.flags for v in versions)
        for v in versions:
            if self.stands(v):
                v.flags.add("+")
            elif "w" in v.flags:
                self.counts["unwritten_versions"] += 1
            if v.previous == "NIL":
                first = result and len(result) > 1 and result[1] is v
                v.previous = versions[0] if first or not any_dead else None

    def find_order(self, obj, versions):
        if any(v.txn is not None and "m" in self.txns[v.txn]["flags"] for v in versions[1:]):
            return "unknown"
        standing = [v for v in versions[1:] if self.stands(v)]
        if any("d" in v.flags for v in standing):
            return "broken"
        before = {v: self.before(v) for v in standing}
        if "unknown" in before.values():
            return "unknown"
        if "cycle" in before.values():
            return "cycle"
        whole = obj[0] in self.initial_tables
        initial = [v for v in versions if "I" in v.flags]
        reached = {b for b in before.values() if isinstance(b, Version) and "w" in b.flags}
        if reached and (len(reached) > 1 or initial or whole or "D" in list(reached)[0].flags):
            return "broken"
        unwritten = [v for v in versions if "w" in v.flags]
        if not whole and not standing and len(unwritten) == 1 and "D" not in unwritten[0].flags:
            reached = set(unwritten)
        for v in reached:
            v.flags.add("I")
            standing.append(v)
            before[v] = "root"
        if len([v for v in standing if "I" in v.flags]) > 1:
            return "broken"
        links = [b for b in before.values() if isinstance(b, Version)]
        if len(links) != len(set(links)):
            return "fork"
        after = {b: v for v, b in before.items() if isinstance(b, Version)}
        lives = []
        for v in standing:
            if before[v] == "root":
                life = [v]
                while life[-1] in after:
                    life.append(after[life[-1]])
                lives.append(life)
        if sum(map(len, lives)) != len(standing):
            return "cycle"
        if len(lives) > 1:
            lives = self.order_lives(versions, lives)
            if isinstance(lives, str):
                return lives
        for a, b in zip(lives, lives[1:]):
            if b[0].previous == "NIL":
                b[0].previous = a[-1]
        return [versions[0]] + [v for life in lives for v in life]

    def order_lives(self, versions, lives):
        def seq(v, which, otherwise):
            s = self.stmts.get(v.stmt) if v is not None and v.stmt else None
            return s[which] if s else otherwise

        def born(life):
            written = [v for v in life if "I" not in v.flags]
            return written[0] if written else None

        def start(life):
            return seq(born(life), "end", NONE)

        def maybe_deleted(life):
            return any("D" in v.flags and not v.flags & {"i", "u"} and not self.stands(v) and
                       v.previous is life[-1] and v.txn is not None and
                       self.txns[v.txn]["outcome"] == 0 for v in versions)

        def dead(life):
            return "D" in life[-1].flags

        def recorded(life):
            return "I" in life[0].flags and "w" not in life[0].flags

        def possible(a, b):
            """a entirely before b?"""
            return dead(a) and not recorded(b) and not any(
                seq(v, "begin", 0) > start(b) for v in (a[-1], born(a)))

        alive = [x for x in lives if not dead(x)]
        first = [x for x in lives if recorded(x)]
        # All but the last end in a deletion; the last may be any but the initial one.
        missing = alive if first and not dead(first[0]) and len(alive) == 1 else None
        if len(alive) > 1 or missing:
            ranked = sorted(lives, key=lambda x: (0 if recorded(x) else 1 if dead(x) else 2, start(x),
                                                  versions.index(x[0])))
            short = [x for x in ranked[:-1] if not dead(x)]
            return "undecided" if all(map(maybe_deleted, short)) else "broken"
        # The one that did not end perhaps did, and then others may have followed it.
        if alive and maybe_deleted(alive[0]) and any(
                born(x) and not recorded(x) for x in lives if x is not alive[0]):
            return "undecided"
        good = []

        def extend(done, left):
            """All orders in which each life can precede those after it; two are enough."""
            if not left:
                good.append(done)
            for x in left:
                if len(good) < 2 and all(possible(x, y) for y in left if y is not x):
                    extend(done + [x], [y for y in left if y is not x])

        extend([], lives)
        if len(good) == 1:
            order = good[0]
            keys = [start(x) for x in order if not recorded(x) and dead(x)]
            if keys == sorted(keys):
                return order
        return "unknown or broken"

    # -- comparison --

    def dump(self):
        def flags(have, letters):
            return "".join(x for x in letters if x in have)

        def name(v):
            return "?" if v is None else v.show(self)

        def obj_name(obj):
            return "%d:%s" % (obj[0], obj[1].hex())

        def op_list(op):
            if op.kind == "p":
                pflags = op.pflags | ({"w"} if op.stmt in self.writes_stmts else set())
                return ["p", op.stmt[1], op.table, op.text, flags(pflags, "emsw"),
                        sorted(map(name, op.matches)), sorted(map(name, op.sets))]
            out = [op.kind, op.stmt[1], obj_name(op.obj), name(op.version)]
            if op.kind == "w":
                out.append(name(op.version.previous))
            return out + [flags(op.flags, "eau"), op.read_kind, op.probe]

        txns = {n: dict(session=t["session"], outcome=t["outcome"], level=t["level"],
                        begin=t["begin"], end=t["end"], flags=flags(t["flags"], "rsabeom"),
                        committed=self.committed(n),
                        ops=sorted(json.dumps(op_list(o)) for o in self.by_txn[n]))
                for n, t in self.txns.items()}
        objects = {}
        for obj, versions in self.objects.items():
            problem, order = self.orders[obj]
            order = order if order else [versions[0]]
            shown = [[name(v), flags(v.flags, "UIDiuwFed+")] for v in order]
            rest = sorted([name(v), flags(v.flags, "UIDiuwFed+")] for v in versions if v not in order)
            objects[obj_name(obj)] = dict(problem=problem, order=shown, rest=rest)
        return dict(txns=txns, objects=objects, counts=self.counts)


class Row:
    def __init__(self, fields):
        fields = list(fields)
        said = len(fields) > 2 and fields[2] is not False
        fields += [None] * (7 - len(fields))
        self.key, self.version = fields[0], fields[1]
        self.has_previous = said
        self.previous = fields[2] if said else None
        self.op = fields[4] or 0
        self.old_key = fields[5]
