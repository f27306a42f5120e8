# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a case larger than it has to be, as what generators and recordings give: more sessions, tables, rows, statements,
clauses and constants, none of which the failure needs."""
import random
import re


class Case:
    """The parts of a scenario text, a statement a line."""

    def __init__(self, text):
        self.header, self.setup, self.schedule, self.final = [], [], [], []
        part = self.header
        for line in text.splitlines():
            section = re.match(r"\[(\w+)\]", line)
            if section:
                part = {"setup": self.setup, "schedule": self.schedule, "final": self.final}[section[1]]
            elif line.strip() and not (line.startswith("#") and part is not self.header):
                part.append(line)

    def text(self):
        out = list(self.header)
        for name in ("setup", "schedule", "final"):
            if getattr(self, name):
                out += [f"[{name}]", *getattr(self, name)]
        return "\n".join(out) + "\n"

    def statements(self):
        return len(self.schedule)

    def rows(self):
        return sum(len(re.findall(r"\([^()]*\)", line.split("values", 1)[-1])) for line in self.setup
                   if re.match(r"insert .*values", line, re.I))


def sessions_of(case):
    names = []
    for line in case.schedule:
        name = line.split(">", 1)[0]
        if name not in names:
            names.append(name)
    return names


def random_statement(rng, table):
    a, b = rng.randrange(1000, 9000), rng.randrange(1000, 9000)
    return rng.choice([
        f"select x, y from {table} where x={a} or y>{b} order by x limit {rng.randrange(5, 50)}",
        f"select count(*) from {table} where x between {min(a, b)} and {max(a, b)}",
        f"update {table} set y=y+{rng.randrange(1, 9)} where x={a} and y<>{b}",
        f"insert into {table} values ({rng.randrange(10000, 99999)}, {b}, 'w{a}')",
        f"delete from {table} where x={a} and z like 'q%'",
        f"select x from {table} where z='w{a}' for update",
    ])


def pad_clauses(rng, line):
    """A condition that changes nothing, and one of those that a plain SELECT bears."""
    where = re.match(r"(\w+> (?:select|update|delete)\b.*? where )([^();]+?)(;.*)$", line, re.I)
    if where and not re.search(r" (order by|limit|for|lock|group)\b", where[2], re.I):
        n = rng.randrange(100, 999)
        return f"{where[1]}({where[2]}) and {n}={n}{where[3]}"
    return line


def pad(text, seed, statements=50, sessions=3, rows=20, inside=True):
    """inside: statements are also put between those of the case's own sessions."""
    rng = random.Random(seed)
    case = Case(text)
    tables = ["pad_one", "pad_two"]
    own = sessions_of(case)
    for table in tables:
        case.setup.append(f"create table {table} (x int primary key, y bigint not null default 7, z varchar(20), key (y)) "
                          "engine=InnoDB;")
        values = ",".join(f"({rng.randrange(1000, 9000) * 10 + i}, {rng.randrange(1000)}, 'w{rng.randrange(99)}')"
                          for i in range(rows // 2))
        case.setup.append(f"insert into {table} values {values};")
    case.schedule = [pad_clauses(rng, line) for line in case.schedule]
    extra = [f"P{i + 1}" for i in range(sessions)]
    queues = []
    for i, name in enumerate(extra):
        count = statements * 4 // 5 // sessions
        body = [random_statement(rng, tables[i % 2] if rng.random() < 0.8 else tables[(i + 1) % 2]) for _ in range(count - 4)]
        body = ["begin", *body[:len(body) // 2], "commit", "begin", *body[len(body) // 2:], rng.choice(["commit", "rollback"])]
        queues.append([f"{name}> {sql};" for sql in body])
    left = statements - sum(len(queue) for queue in queues)
    for _ in range(left if inside else 0):
        at = rng.randrange(len(case.schedule) + 1)
        table = rng.choice(tables)
        case.schedule.insert(at, f"{rng.choice(own)}> select y, z from {table} where x={rng.randrange(9999)};")
    # The others' statements anywhere between.
    while any(queues):
        queue = rng.choice([queue for queue in queues if queue])
        at = rng.randrange(len(case.schedule) + 1)
        last = max((i for i, line in enumerate(case.schedule) if line.startswith(queue[0].split(">")[0] + ">")), default=-1)
        case.schedule.insert(max(at, last + 1), queue.pop(0))
    return case.text()
