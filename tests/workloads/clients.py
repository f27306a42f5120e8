# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients in Python threads, with pymysql: bank, append, queue, foreign keys with CALL, TPC-C.

Each thread works until the time is over and counts what it did; the invariants compare these counts with the rows.
"""
import random
import threading
import time

import pymysql

from harness import LOST, SKEW, Anomaly

RETRY = (1213, 1205, 1020)  # a deadlock, a wait that was too long, a changed row under snapshot isolation
THREADS = 6


def connect(port, database, level="REPEATABLE READ"):
    link = pymysql.connect(host="127.0.0.1", port=port, user="root", database=database, autocommit=False,
                           charset="utf8mb4")
    with link.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL " + level)
    return link


class Workload:
    """One whose clients are threads: `work` is a transaction of one of them."""

    name = database = None
    level = "REPEATABLE READ"

    def __init__(self, seconds):
        self.seconds, self.count, self.errors = seconds, {}, []
        self.lock = threading.Lock()

    def add(self, what, amount=1):
        with self.lock:
            self.count[what] = self.count.get(what, 0) + amount

    def run(self, _server, port):
        self.count, self.errors = {}, []
        until = time.monotonic() + self.seconds
        threads = [threading.Thread(target=self.thread, args=(port, number, until)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not self.errors, self.errors[:3]

    passed = RETRY  # errors after which a client goes on

    def thread(self, port, number, until):
        rng, link = random.Random(number * 7919 + 1), connect(port, self.database, self.level)
        try:
            while time.monotonic() < until:
                with link.cursor() as cursor:
                    try:
                        done = self.work(cursor, rng)
                        link.commit()
                    except pymysql.err.MySQLError as e:
                        link.rollback()
                        if e.args[0] not in self.passed:
                            raise
                        continue
                for what, amount in (done or {}).items():
                    self.add(what, amount)
        except Exception as e:  # pylint: disable=broad-except
            self.errors.append("%s: %s" % (type(e).__name__, e))
        finally:
            link.close()

    def fill(self, server):
        raise NotImplementedError

    def work(self, cursor, rng):
        raise NotImplementedError

    def truth(self, server):
        raise NotImplementedError


class Bank(Workload):
    """Transfers, accounts that are opened and closed, sums over ranges."""

    name = database = "bank"
    accounts, amount = 40, 1000
    locks = " FOR UPDATE"

    def fill(self, server):
        rows = ",".join("(%d, 'owner %d', %d, 0)" % (i, i % 7, self.amount) for i in range(1, self.accounts + 1))
        server.sql("create table account (id int auto_increment primary key, owner varchar(30) not null, balance int "
                   "not null, writes int not null default 0, key (owner)); create table entry (id int auto_increment "
                   "primary key, account int not null, amount int not null, at timestamp not null default "
                   "current_timestamp, key (account)); insert into account values " + rows, self.database)

    def pick(self, cursor, rng):
        cursor.execute("SELECT id FROM account WHERE id >= %s ORDER BY id LIMIT 1", (rng.randint(1, self.accounts),))
        row = cursor.fetchone()
        return row[0] if row else None

    def work(self, cursor, rng):
        kind = rng.random()
        if kind < 0.55:
            return self.transfer(cursor, rng)
        if kind < 0.65:
            cursor.execute("SELECT SUM(balance), COUNT(*) FROM account WHERE id BETWEEN 1 AND 1000000")
            total, _ = cursor.fetchone()
            cursor.execute("SELECT owner, SUM(balance) FROM account GROUP BY owner ORDER BY owner")
            parts = sum(row[1] for row in cursor.fetchall())
            return {"wrong sums": int(total != parts), "sums": 1}
        if kind < 0.75:
            cursor.execute("SELECT * FROM account WHERE balance > %s AND owner <> %s ORDER BY balance DESC, id LIMIT 5",
                           (rng.randint(0, 1500), "owner 3"))
            cursor.execute("SELECT DISTINCT owner FROM account WHERE balance < %s", (rng.randint(500, 1500),))
            return {}
        if kind < 0.85:
            cursor.execute("INSERT INTO account (owner, balance, writes) VALUES (%s, 0, 0)",
                           ("owner %d" % rng.randint(0, 9),))
            return {}
        if kind < 0.92:
            cursor.execute("DELETE FROM account WHERE balance = 0 AND writes = 0 AND id > %s", (self.accounts,))
            return {}
        cursor.execute("SELECT e.id, e.amount, a.owner FROM entry e JOIN account a ON a.id = e.account "
                       "WHERE a.id = %s ORDER BY e.id DESC LIMIT 3", (rng.randint(1, self.accounts),))
        return {}

    def transfer(self, cursor, rng):
        chosen = sorted({rng.randint(1, self.accounts), rng.randint(1, self.accounts)})
        if len(chosen) < 2:
            return {}
        amount, have = rng.randint(1, 20), {}
        for account in chosen:
            cursor.execute("SELECT balance, writes FROM account WHERE id = %s" + self.locks, (account,))
            have[account] = cursor.fetchone()
        source, target = chosen if rng.random() < 0.5 else reversed(chosen)
        for account, change in ((source, -amount), (target, amount)):
            balance, writes = have[account]
            cursor.execute("UPDATE account SET balance = %s, writes = %s WHERE id = %s",
                           (balance + change, writes + 1, account))
            cursor.execute("INSERT INTO entry (account, amount) VALUES (%s, %s)", (account, change))
        return {"writes": 2}

    def lost(self, server):
        return self.count.get("writes", 0) - server.number("select sum(writes) from account", self.database)

    def truth(self, server):
        return [Anomaly("lost updates", self.lost(server), LOST, code=("lost-update", "account")), Anomaly("sums that differ", self.count.get("wrong sums", 0), ())]


class WrongBank(Bank):
    """The same without FOR UPDATE: what was read is written back."""

    name = database = "bank_wrong"
    locks = ""


class Append(Workload):
    """Lists that grow by UPDATE and by ON DUPLICATE KEY UPDATE, REPLACE, deletes by range."""

    name = database = "append"
    lists = 25

    def fill(self, server):
        server.sql("create table list (id int primary key, v text not null, n int not null); create table item (list "
                   "int not null, at int not null, who varchar(20), primary key (list, at)); insert into list values "
                   + ",".join("(%d, '', 0)" % i for i in range(self.lists)), self.database)

    def work(self, cursor, rng):
        which, kind = rng.randint(0, self.lists - 1), rng.random()
        if kind < 0.3:
            cursor.execute("UPDATE list SET v = CONCAT(v, ',', %s), n = n + 1 WHERE id = %s", (rng.randint(1, 999), which))
            return {"appends": 1}
        if kind < 0.5:
            cursor.execute("INSERT INTO list (id, v, n) VALUES (%s, ',7', 1) ON DUPLICATE KEY UPDATE v = CONCAT(v, ',7'), "
                           "n = n + 1", (which,))
            return {"appends": 1}
        if kind < 0.65:
            cursor.execute("SELECT n FROM list WHERE id = %s FOR UPDATE", (which,))
            at = cursor.fetchone()[0]
            cursor.execute("REPLACE INTO item VALUES (%s, %s, %s)", (which, at % 10, "w%d" % rng.randint(0, 5)))
            return {}
        if kind < 0.75:
            low = rng.randint(0, self.lists)
            cursor.execute("DELETE FROM item WHERE list BETWEEN %s AND %s AND at > 6", (low, low + 3))
            cursor.execute("SELECT COUNT(*) FROM item WHERE list BETWEEN %s AND %s", (low, low + 3))
            return {}
        cursor.execute("SELECT id, v FROM list WHERE id IN (%s, %s) ORDER BY id", (which, (which + 1) % self.lists))
        cursor.execute("SELECT l.id, COUNT(i.at) FROM list l LEFT JOIN item i ON i.list = l.id WHERE l.id < %s "
                       "GROUP BY l.id ORDER BY l.id", (rng.randint(1, 10),))
        return {}

    def truth(self, server):
        return [Anomaly("lost updates", self.count.get("appends", 0) - server.number("select sum(n) from list", self.database),
                        LOST)]


class Queue(Workload):
    """Jobs that are put, taken and deleted; counts over ranges."""

    name = database = "queue"
    take = "SELECT id, payload FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE"

    def fill(self, server):
        server.sql("create table job (id int auto_increment primary key, state enum('new','busy') not null default 'new', "
                   "payload varchar(100), priority int not null default 0, key (state, priority)); create table done (id "
                   "int auto_increment primary key, job int not null, worker int not null, key (job)); insert into job "
                   "(payload) values " + ",".join("('job %d')" % i for i in range(20)), self.database)

    def work(self, cursor, rng):
        kind = rng.random()
        if kind < 0.3:
            for _ in range(rng.randint(1, 2)):
                cursor.execute("INSERT INTO job (payload, priority) VALUES (%s, %s)", ("p%d" % rng.randint(0, 99), rng.randint(0, 3)))
            return {}
        if kind < 0.8:
            return self.take_one(cursor, rng)
        low = rng.randint(0, 500)
        cursor.execute("SELECT COUNT(*) FROM job WHERE id BETWEEN %s AND %s", (low, low + 200))
        cursor.execute("SELECT state, COUNT(*), MAX(priority) FROM job GROUP BY state ORDER BY state")
        cursor.execute("SELECT id FROM job WHERE id > %s AND priority >= 2 ORDER BY id LIMIT 10", (low,))
        return {}

    def take_one(self, cursor, rng):
        cursor.execute(self.take)
        row = cursor.fetchone()
        if not row:
            return {}
        cursor.execute("DELETE FROM job WHERE id = %s", (row[0],))
        cursor.execute("INSERT INTO done (job, worker) VALUES (%s, %s)", (row[0], rng.randint(1, 99)))
        return {"taken": 1}

    def truth(self, server):
        twice = server.number("select count(*) - count(distinct job) from done", self.database)
        return [Anomaly("jobs done twice", twice, LOST, code=("lost-update", "job"))]


class WrongQueue(Queue):
    """A job is looked for without a lock, and it is not checked whether it was there to be deleted."""

    name = database = "queue_wrong"
    take = "SELECT id, payload FROM job WHERE state = 'new' ORDER BY id LIMIT 1"


class Skew(Workload):
    """Doctors leave their shift if another one stays: right one by one, wrong at once."""

    name = database = "skew_wrong"
    shifts = 400

    def fill(self, server):
        rows = ",".join("(%d, %d, 1)" % (i * 2 + d, i) for i in range(self.shifts) for d in (0, 1))
        server.sql("create table doctor (id int primary key, shift int not null, on_call int not null, key (shift)); "
                   "insert into doctor values " + rows, self.database)

    def work(self, cursor, rng):
        shift = rng.randint(0, 9) + 10 * min(self.count.get("asked", 0) // 40, self.shifts // 10 - 1)
        cursor.execute("SELECT COUNT(*) FROM doctor WHERE shift = %s AND on_call = 1", (shift,))
        if cursor.fetchone()[0] >= 2:
            cursor.execute("UPDATE doctor SET on_call = 0 WHERE id = %s", (shift * 2 + rng.randint(0, 1),))
        return {"asked": 1}

    def truth(self, server):
        empty = server.number("select count(*) from (select shift from doctor group by shift having sum(on_call) = 0) e", self.database)
        return [Anomaly("shifts without a doctor", empty, SKEW, code=("write-skew", "doctor"))]


class Family(Workload):
    """Foreign keys that cascade, set NULL and follow updates; stored procedures."""

    name = database = "family"
    passed = RETRY + (1452, 1451, 1062)  # the coupon is gone, or has this name already
    customers = 30

    def fill(self, server):
        server.sql("""
create table coupon (code varchar(10) primary key, percent int not null);
create table customer (id int primary key, name varchar(30) not null, credit int not null);
create table orders (id int auto_increment primary key, customer int, coupon varchar(10), total int not null default 0,
  foreign key (customer) references customer (id) on delete cascade on update cascade,
  foreign key (coupon) references coupon (code) on delete set null on update cascade);
create table line (orders int not null, nr int not null, what varchar(20), price int not null, primary key (orders, nr),
  foreign key (orders) references orders (id) on delete cascade);
delimiter //
create procedure charge(in who int, in amount int)
begin
  update customer set credit = credit - amount where id = who;
  select credit from customer where id = who;
end//
create procedure add_line(in which int, in n int, in amount int)
begin
  insert into line values (which, n, 'added', amount);
  update orders set total = total + amount where id = which;
end//
delimiter ;
insert into coupon values ('A', 5), ('B', 10), ('C', 20);
""" + "insert into customer values " + ",".join("(%d, 'customer %d', 1000)" % (i, i) for i in range(self.customers)) + ";",
                   self.database)

    def work(self, cursor, rng):
        who, kind = rng.randint(0, self.customers - 1), rng.random()
        if kind < 0.3:
            cursor.execute("SELECT id FROM customer WHERE id = %s LOCK IN SHARE MODE", (who,))
            if not cursor.fetchone():
                return {}
            cursor.execute("INSERT INTO orders (customer, coupon, total) VALUES (%s, NULL, 0)", (who,))
            order = cursor.lastrowid
            for n in range(rng.randint(1, 2)):
                cursor.execute("CALL add_line(%s, %s, %s)", (order, n, rng.randint(1, 50)))
            return {}
        if kind < 0.45:
            cursor.execute("CALL charge(%s, %s)", (who, rng.randint(1, 5)))
            while cursor.nextset():
                pass
            return {}
        if kind < 0.55:
            cursor.execute("DELETE FROM customer WHERE id = %s", (who,))
            cursor.execute("INSERT INTO customer VALUES (%s, %s, 1000)", (who, "again %d" % who))
            return {}
        if kind < 0.62:
            cursor.execute("UPDATE coupon SET code = %s WHERE code = %s", rng.choice((("A", "a2"), ("a2", "A"), ("B", "b2"), ("b2", "B"))))
            return {}
        if kind < 0.68:
            cursor.execute("DELETE FROM coupon WHERE code = 'C'")
            cursor.execute("INSERT INTO coupon VALUES ('C', %s)", (rng.randint(1, 50),))
            return {}
        if kind < 0.76:
            cursor.execute("UPDATE orders SET coupon = %s WHERE customer = %s AND coupon IS NULL", (rng.choice("AC"), who))
            return {}
        cursor.execute("SELECT o.id, o.total, SUM(l.price) FROM orders o JOIN line l ON l.orders = o.id WHERE o.customer = %s "
                       "GROUP BY o.id, o.total ORDER BY o.id", (who,))
        wrong = sum(row[1] != row[2] for row in cursor.fetchall())
        cursor.execute("SELECT c.code, COUNT(o.id) FROM coupon c LEFT JOIN orders o ON o.coupon = c.code GROUP BY c.code ORDER BY 1")
        return {"wrong totals": wrong}

    def truth(self, server):
        orphans = server.number("select (select count(*) from orders o left join customer c on c.id = o.customer where c.id is null) + "
                                "(select count(*) from line l left join orders o on o.id = l.orders where o.id is null)", self.database)
        return [Anomaly("orphans", orphans, ()), Anomaly("wrong totals", self.count.get("wrong totals", 0), ())]


ALL = (Bank, WrongBank, Append, Queue, WrongQueue, Skew, Family)
