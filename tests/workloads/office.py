# SPDX-License-Identifier: GPL-2.0-or-later
"""An application with a bit of everything that SQL offers, at all levels: what a stranger's trace may have in it.

Stock moves from shelf to shelf and never changes its sum.
"""
import random

import pymysql

from clients import RETRY, Workload
from harness import Anomaly

LEVELS = ("REPEATABLE READ", "REPEATABLE READ", "READ COMMITTED", "READ COMMITTED", "SERIALIZABLE", "READ UNCOMMITTED")
SHELVES, ARTICLES, CLERKS = 12, 30, 8


class Office(Workload):
    """Each method whose name begins with `do_` is a transaction, or part of one."""

    name = database = "office"
    undecided_max = 0.6  # one CALL at READ COMMITTED beside commits can leave all that follows open
    code_is_right = False  # at READ UNCOMMITTED, too
    # Duplicates, foreign keys, CHECKs, values that do not fit, NULLs, subqueries of several rows: what a client has to expect.
    passed = RETRY + (1062, 1451, 1452, 4025, 3819, 1264, 1048, 1242, 1406, 1644, 1365, 3572)

    def fill(self, server):
        server.sql("""
create table clerk (id int unsigned auto_increment primary key, name varchar(40) not null, email varchar(80), boss int unsigned,
  salary decimal(10,2) not null default 1000.00, joined date not null, unique key (email), key (boss),
  foreign key (boss) references clerk (id) on delete set null);
create table article (id bigint auto_increment primary key, code char(8) not null, title varchar(100), price decimal(8,2) not null,
  kind enum('book','tool','toy') not null, tags set('new','sale','rare') not null default '', seen datetime null,
  changed timestamp not null default current_timestamp on update current_timestamp, unique key (code), key kind_price (kind, price));
create table stock (shelf int not null, article bigint not null, amount int not null, primary key (shelf, article), key (article),
  foreign key (article) references article (id), check (amount >= 0));
create table journal (id bigint auto_increment primary key, shelf int not null, article bigint not null, amount int not null,
  clerk int unsigned null, note text, at timestamp(3) not null default current_timestamp(3), key (article, shelf), key (clerk),
  foreign key (clerk) references clerk (id) on delete set null);
create table counter (name varchar(30) primary key, n bigint not null default 0, half double as (n / 2) virtual);
create table setting (name varchar(30) not null, clerk int unsigned not null, v json, primary key (clerk, name),
  foreign key (clerk) references clerk (id) on delete cascade);
create table report (day int not null, kind varchar(10) not null, amount decimal(20,2), articles int, unique key (day, kind));
create table log (at int not null, what varchar(50), who int);
create view cheap as select id, code, price, kind from article where price < 50;
create view load_of_shelf as select shelf, count(*) as articles, sum(amount) as amount from stock group by shelf;
delimiter //
create procedure move(in art bigint, in a int, in b int, in many int)
begin
  update stock set amount = amount - many where shelf = a and article = art;
  update stock set amount = amount + many where shelf = b and article = art;
  insert into journal (shelf, article, amount, note) values (a, art, -many, 'moved'), (b, art, many, 'moved');
  select shelf, amount from stock where article = art order by shelf;
end//
create procedure raise_salary(in who int, out now_has decimal(10,2))
begin
  update clerk set salary = salary + 10 where id = who;
  select salary into now_has from clerk where id = who;
end//
create trigger article_priced after update on article for each row
begin
  if new.price <> old.price then
    insert into log values (new.id, 'price', null);
  end if;
end//
create function with_tax(p decimal(8,2)) returns decimal(10,2) deterministic return p * 1.19//
delimiter ;
""", self.database)
        rng = random.Random(5)
        rows = ["insert into clerk (id, name, email, boss, salary, joined) values " + ",".join(
            "(%d, 'clerk %d', 'c%d@x.org', %s, %d.50, '2020-0%d-11')" % (i, i, i, "null" if i == 1 else i // 2, 1000 + 100 * i, i)
            for i in range(1, CLERKS + 1))]
        rows.append("insert into article (id, code, title, price, kind) values " + ",".join(
            "(%d, 'A%05d', 'Article number %d', %d.%02d, '%s')" % (i, i, i, rng.randint(1, 99), rng.randint(0, 99),
                                                                  rng.choice(("book", "tool", "toy"))) for i in range(1, ARTICLES + 1)))
        rows.append("insert into stock values " + ",".join(
            "(%d, %d, 100)" % (s, a) for s in range(SHELVES) for a in range(1, ARTICLES + 1)))
        rows.append("insert into counter (name) values ('visits'), ('moves'), ('errors')")
        server.sql(";".join(rows) + ";", self.database)

    def work(self, cursor, rng):
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL " + rng.choice(LEVELS))
        for _ in range(rng.randint(1, 3)):
            getattr(self, rng.choice(KINDS))(cursor, rng)
        return {}

    # ---- plain work ----

    def do_move(self, cursor, rng):
        article, (a, b), many = rng.randint(1, ARTICLES), sorted(rng.sample(range(SHELVES), 2)), rng.randint(1, 4)
        cursor.execute("SELECT shelf, amount FROM stock WHERE article = %s AND shelf IN (%s, %s) ORDER BY shelf FOR UPDATE",
                       (article, a, b))
        if cursor.fetchall()[0][1] >= many:
            cursor.execute("UPDATE stock SET amount = amount - %s WHERE shelf = %s AND article = %s", (many, a, article))
            cursor.execute("UPDATE stock SET amount = amount + %s WHERE shelf = %s AND article = %s", (many, b, article))
            cursor.execute("INSERT INTO journal (shelf, article, amount, clerk) VALUES (%s, %s, %s, %s), (%s, %s, %s, %s)",
                           (a, article, -many, 1, b, article, many, 1))

    def do_orm_save(self, cursor, rng):
        cursor.execute("SELECT id, name, email, boss, salary, joined FROM clerk WHERE email = %s LIMIT 1", ("c%d@x.org" % rng.randint(1, CLERKS),))
        row = cursor.fetchone()
        if row:
            cursor.execute("UPDATE clerk SET name = %s, salary = %s, joined = %s WHERE id = %s",
                           ("clerk %d %d" % (row[0], rng.randint(0, 9)), row[4], row[5], row[0]))

    def do_get_or_create(self, cursor, rng):
        code = "B%05d" % rng.randint(0, 60)
        cursor.execute("SELECT `article`.`id`, `article`.`price` FROM `article` WHERE `article`.`code` = %s LIMIT 21", (code,))
        if not cursor.fetchone():
            cursor.execute("SAVEPOINT `s1`")
            try:
                cursor.execute("INSERT INTO `article` (`code`, `title`, `price`, `kind`) VALUES (%s, %s, 5, 'toy')", (code, "new " + code))
                cursor.execute("RELEASE SAVEPOINT `s1`")
            except pymysql.err.IntegrityError:
                cursor.execute("ROLLBACK TO SAVEPOINT `s1`")
                cursor.execute("RELEASE SAVEPOINT `s1`")

    def do_delete_new(self, cursor, rng):
        cursor.execute("DELETE FROM article WHERE code LIKE %s AND id > %s ORDER BY id LIMIT 2", ("B%%%d" % rng.randint(0, 9), ARTICLES))

    def do_range_delete(self, cursor, _rng):
        cursor.execute("DELETE FROM log WHERE at % 3 = 0")

    # ---- upserts ----

    def do_upsert(self, cursor, rng):
        cursor.execute("INSERT INTO counter (name, n) VALUES (%s, 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
                       (rng.choice(("visits", "moves", "errors", "new %d" % rng.randint(0, 3))),))

    def do_upsert_last_id(self, cursor, rng):
        cursor.execute("INSERT INTO clerk (name, email, joined) VALUES (%s, %s, CURDATE()) ON DUPLICATE KEY UPDATE "
                       "id = LAST_INSERT_ID(id), name = VALUES(name)", ("guest", "g%d@x.org" % rng.randint(0, 5)))
        cursor.execute("SELECT LAST_INSERT_ID()")

    def do_replace(self, cursor, rng):
        cursor.execute("REPLACE INTO setting (name, clerk, v) VALUES (%s, %s, %s)",
                       (rng.choice(("theme", "lang", "size")), rng.randint(1, CLERKS), '{"v": %d, "on": true}' % rng.randint(0, 9)))

    def do_insert_ignore(self, cursor, rng):
        cursor.execute("INSERT IGNORE INTO setting (clerk, name, v) VALUES (%s, 'theme', '[1, 2]'), (%s, 'lang', NULL)",
                       (rng.randint(1, CLERKS), rng.randint(1, CLERKS)))

    def do_insert_select(self, cursor, rng):
        cursor.execute("INSERT INTO report (day, kind, amount, articles) SELECT %s, kind, SUM(price), COUNT(*) FROM article "
                       "GROUP BY kind ON DUPLICATE KEY UPDATE amount = VALUES(amount), articles = VALUES(articles)", (rng.randint(1, 5),))

    def do_copy(self, cursor, rng):
        cursor.execute("INSERT INTO log (at, what, who) SELECT id, name, boss FROM clerk WHERE salary > %s", (rng.randint(1200, 1800),))

    # ---- reads ----

    def do_aggregate(self, cursor, rng):
        cursor.execute("SELECT kind, COUNT(*), AVG(price), MIN(price), MAX(price) FROM article GROUP BY kind HAVING COUNT(*) > 1 ORDER BY kind")
        cursor.execute("SELECT ROUND(STDDEV(price), 6), ROUND(VARIANCE(price), 4) FROM article WHERE id <= %s", (rng.randint(5, ARTICLES),))
        cursor.execute("SELECT SUM(amount) FROM stock WHERE article = %s", (rng.randint(1, ARTICLES),))

    def do_subquery(self, cursor, rng):
        cursor.execute("SELECT id, name FROM clerk c WHERE salary > (SELECT AVG(salary) FROM clerk) AND EXISTS "
                       "(SELECT 1 FROM journal j WHERE j.clerk = c.id) ORDER BY id")
        cursor.execute("SELECT code FROM article WHERE id IN (SELECT article FROM stock WHERE shelf = %s AND amount > 100) ORDER BY code LIMIT 5",
                       (rng.randint(0, SHELVES - 1),))

    def do_join(self, cursor, rng):
        cursor.execute("SELECT a.code, s.amount, c.name FROM article a JOIN stock s ON s.article = a.id LEFT JOIN journal j ON "
                       "j.article = a.id AND j.shelf = s.shelf LEFT JOIN clerk c ON c.id = j.clerk WHERE a.kind = 'book' AND s.shelf = %s "
                       "ORDER BY a.code, j.id LIMIT 20", (rng.randint(0, SHELVES - 1),))

    def do_derived(self, cursor, _rng):
        cursor.execute("SELECT t.kind, SUM(t.n) FROM (SELECT kind, COUNT(*) AS n FROM article GROUP BY kind, price > 50) t GROUP BY t.kind ORDER BY 1")
        cursor.execute("WITH RECURSIVE up AS (SELECT id, boss, 0 AS depth FROM clerk WHERE id = 8 UNION ALL SELECT c.id, c.boss, depth + 1 "
                       "FROM clerk c JOIN up ON c.id = up.boss) SELECT id, depth FROM up ORDER BY depth")

    def do_union(self, cursor, _rng):
        cursor.execute("SELECT code AS w FROM article WHERE price < 20 UNION SELECT name FROM clerk ORDER BY w LIMIT 15")
        cursor.execute("SELECT GROUP_CONCAT(DISTINCT kind ORDER BY kind), COUNT(DISTINCT price) FROM article")

    def do_window(self, cursor, _rng):
        cursor.execute("SELECT id, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY price, id) FROM article WHERE id < 12 ORDER BY id")

    def do_view(self, cursor, rng):
        cursor.execute("SELECT COUNT(*), SUM(price) FROM cheap WHERE kind = 'tool'")
        cursor.execute("SELECT * FROM load_of_shelf WHERE shelf < %s ORDER BY shelf", (rng.randint(1, SHELVES),))
        cursor.execute("UPDATE cheap SET price = price + 0.5 WHERE id = %s", (rng.randint(1, ARTICLES),))

    def do_search(self, cursor, rng):
        cursor.execute("SELECT id, title, tags, kind, seen FROM article WHERE title LIKE %s OR FIND_IN_SET('sale', tags) ORDER BY price DESC, id LIMIT 10",
                       ("%%%d%%" % rng.randint(1, 30),))
        cursor.execute("SELECT id, DATE_FORMAT(joined, '%%Y-%%m'), YEAR(joined), DATEDIFF(joined, '2020-01-01') FROM clerk WHERE joined BETWEEN "
                       "'2020-01-01' AND '2020-06-30' ORDER BY id")

    def do_page(self, cursor, rng):
        cursor.execute("SELECT SQL_CALC_FOUND_ROWS id, amount FROM journal WHERE shelf = %s ORDER BY id DESC LIMIT 5", (rng.randint(0, SHELVES - 1),))
        cursor.execute("SELECT FOUND_ROWS()")

    def do_json(self, cursor, rng):
        cursor.execute("SELECT clerk, JSON_EXTRACT(v, '$.v'), JSON_UNQUOTE(JSON_EXTRACT(v, '$.on')) FROM setting WHERE name = 'theme' ORDER BY clerk")
        cursor.execute("UPDATE setting SET v = JSON_SET(v, '$.v', %s) WHERE clerk = %s AND name = 'theme'", (rng.randint(0, 99), rng.randint(1, CLERKS)))

    # ---- variables, temporary tables, prepared statements, procedures ----

    def do_variables(self, cursor, rng):
        cursor.execute("SELECT @n := COUNT(*) FROM clerk")
        cursor.execute("SELECT @n + 1")
        cursor.execute("SET @article = %s", (rng.randint(1, ARTICLES),))
        cursor.execute("SELECT price INTO @p FROM article WHERE id = @article")
        cursor.execute("UPDATE article SET price = @p WHERE id = @article")
        cursor.execute("SET @rank = 0")
        cursor.execute("SELECT id, @rank := @rank + 1 AS r FROM clerk ORDER BY salary DESC, id")

    def do_temporary(self, cursor, rng):
        cursor.execute("DROP TEMPORARY TABLE IF EXISTS picked")
        cursor.execute("CREATE TEMPORARY TABLE picked (id bigint primary key, price decimal(8,2)) ENGINE=InnoDB")
        cursor.execute("INSERT INTO picked SELECT id, price FROM article WHERE kind = %s", (rng.choice(("book", "toy")),))
        cursor.execute("SELECT COUNT(*) FROM picked")
        cursor.execute("UPDATE article a JOIN picked p ON p.id = a.id SET a.seen = '2024-02-03 04:05:06' WHERE a.id % 5 = " + str(rng.randint(0, 4)))
        cursor.execute("DROP TEMPORARY TABLE picked")

    def do_prepared(self, cursor, rng):
        cursor.execute("PREPARE st FROM 'SELECT amount FROM stock WHERE shelf = ? AND article = ?'")
        cursor.execute("SET @s = %s, @a = %s", (rng.randint(0, SHELVES - 1), rng.randint(1, ARTICLES)))
        cursor.execute("EXECUTE st USING @s, @a")
        cursor.execute("DEALLOCATE PREPARE st")

    def do_call(self, cursor, rng):
        a, b = sorted(rng.sample(range(SHELVES), 2))
        cursor.execute("CALL move(%s, %s, %s, %s)", (rng.randint(1, ARTICLES), a, b, rng.randint(1, 3)))
        while cursor.nextset():
            pass

    def do_call_out(self, cursor, rng):
        cursor.execute("CALL raise_salary(%s, @has)", (rng.randint(1, CLERKS),))
        cursor.execute("SELECT @has")

    def do_function(self, cursor, rng):
        cursor.execute("SELECT id, with_tax(price) FROM article WHERE id = %s", (rng.randint(1, ARTICLES),))

    # ---- several tables, savepoints, locks, failures ----

    def do_multi_update(self, cursor, rng):
        cursor.execute("UPDATE article a, counter c SET a.price = a.price + 0.01, c.n = c.n + 1 WHERE a.id = %s AND c.name = 'errors'",
                       (rng.randint(1, ARTICLES),))

    def do_multi_delete(self, cursor, rng):
        cursor.execute("DELETE j FROM journal j JOIN clerk c ON c.id = j.clerk WHERE c.name LIKE 'guest%%' AND j.id %% 7 = %s", (rng.randint(0, 6),))

    def do_savepoints(self, cursor, rng):
        cursor.execute("UPDATE counter SET n = n + 1 WHERE name = 'visits'")
        cursor.execute("SAVEPOINT a")
        cursor.execute("UPDATE clerk SET salary = salary * 1.01 WHERE id = %s", (rng.randint(1, CLERKS),))
        if rng.random() < 0.5:
            cursor.execute("ROLLBACK TO a")
        cursor.execute("SELECT n, half FROM counter ORDER BY name")

    def do_fails(self, cursor, rng):
        bad = rng.choice(("INSERT INTO stock VALUES (1, 999999, 1)", "UPDATE stock SET amount = -1 WHERE shelf = 1 AND article = 2",
                          "INSERT INTO article (code, price, kind) VALUES ('A00001', 1, 'toy')", "SELECT * FROM no_such_table",
                          "SELECT nothing FROM clerk", "INSERT INTO clerk (name, joined) VALUES (NULL, '2020-01-01')",
                          "SELECT (SELECT id FROM clerk) FROM counter", "DELETE FROM article WHERE id = 1", "SELEC 1"))
        try:
            cursor.execute(bad)
        except pymysql.err.MySQLError as e:
            if e.args[0] in RETRY:
                raise

    def do_share(self, cursor, rng):
        cursor.execute("SELECT salary FROM clerk WHERE id = %s LOCK IN SHARE MODE", (rng.randint(1, CLERKS),))
        cursor.execute("SELECT id FROM article WHERE kind = 'toy' AND price > %s FOR UPDATE", (rng.randint(50, 90),))

    def do_consistent(self, cursor, _rng):
        cursor.execute("COMMIT")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        cursor.execute("SELECT SUM(amount) FROM stock")
        cursor.execute("SELECT shelf, SUM(amount) FROM stock GROUP BY shelf ORDER BY shelf")

    def do_autocommit(self, cursor, rng):
        cursor.execute("COMMIT")
        cursor.execute("SET autocommit = 1")
        cursor.execute("UPDATE counter SET n = n + 1 WHERE name = 'moves'")
        cursor.execute("SELECT n FROM counter WHERE name = 'moves'")
        cursor.execute("START TRANSACTION READ ONLY")
        cursor.execute("SELECT COUNT(*) FROM journal WHERE amount > %s", (rng.randint(0, 3),))
        cursor.execute("COMMIT")
        cursor.execute("SET autocommit = 0")

    def do_lock_tables(self, cursor, _rng):
        if _rng.random() < 0.8:
            return
        cursor.execute("LOCK TABLES log WRITE, clerk READ")
        cursor.execute("DELETE FROM log WHERE who IS NULL")
        cursor.execute("SELECT COUNT(*) FROM clerk")
        cursor.execute("UNLOCK TABLES")

    def do_xa(self, cursor, rng):
        cursor.execute("COMMIT")
        name = "'x%d'" % rng.randint(0, 1 << 60)
        cursor.execute("XA START " + name)
        try:
            cursor.execute("UPDATE counter SET n = n + 2 WHERE name = 'errors'")
            cursor.execute("XA END " + name)
            cursor.execute("XA PREPARE " + name)
            cursor.execute(("XA COMMIT " if rng.random() < 0.7 else "XA ROLLBACK ") + name)
        except pymysql.err.MySQLError:
            for end in ("XA END ", "XA ROLLBACK "):
                try:
                    cursor.execute(end + name)
                except pymysql.err.MySQLError:
                    pass

    def do_skip_locked(self, cursor, rng):
        cursor.execute("SELECT id FROM journal WHERE clerk IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
        row = cursor.fetchone()
        if row:
            cursor.execute("UPDATE journal SET clerk = %s WHERE id = %s", (rng.randint(1, CLERKS), row[0]))

    def do_several_statements(self, cursor, _rng):
        cursor.execute("SHOW TABLES")
        cursor.execute("SELECT DATABASE(), CONNECTION_ID(), @@session.autocommit")
        cursor.execute("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()")

    def truth(self, server):
        total = server.number("select sum(amount) from stock", self.database)
        return [Anomaly("stock that was lost or made", abs(total - SHELVES * ARTICLES * 100), ())]


KINDS = [name for name in sorted(dir(Office)) if name.startswith("do_")]
ALL = (Office,)
