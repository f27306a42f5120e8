# SPDX-License-Identifier: GPL-2.0-or-later
"""The five transactions of TPC-C, with fewer items and customers than the standard has; no think times.

The tables and the invariants are those of the standard (clause 1.3 and clause 3.3.2, consistency conditions 1 to 4).
"""
import random

from clients import Workload
from harness import Anomaly

WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS, ORDERS = 4, 10, 30, 1000, 30
NAMES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
TABLES = """
create table warehouse (w_id smallint not null primary key, w_name varchar(10), w_tax decimal(4,4), w_ytd decimal(12,2));
create table district (d_w_id smallint not null, d_id tinyint not null, d_name varchar(10), d_tax decimal(4,4), d_ytd decimal(12,2),
  d_next_o_id int, primary key (d_w_id, d_id));
create table customer (c_w_id smallint not null, c_d_id tinyint not null, c_id int not null, c_first varchar(16), c_middle char(2),
  c_last varchar(16), c_since datetime, c_credit char(2), c_credit_lim bigint, c_discount decimal(4,2), c_balance decimal(12,2),
  c_ytd_payment decimal(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, c_data text, primary key (c_w_id, c_d_id, c_id),
  key (c_w_id, c_d_id, c_last, c_first));
create table history (h_id bigint auto_increment primary key, h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint,
  h_w_id smallint, h_date datetime, h_amount decimal(6,2), h_data varchar(24));
create table new_orders (no_w_id smallint not null, no_d_id tinyint not null, no_o_id int not null, primary key (no_w_id, no_d_id, no_o_id));
create table orders (o_w_id smallint not null, o_d_id tinyint not null, o_id int not null, o_c_id int, o_entry_d datetime,
  o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, primary key (o_w_id, o_d_id, o_id), key (o_w_id, o_d_id, o_c_id, o_id));
create table order_line (ol_w_id smallint not null, ol_d_id tinyint not null, ol_o_id int not null, ol_number tinyint not null,
  ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint, ol_amount decimal(6,2), ol_dist_info char(24),
  primary key (ol_w_id, ol_d_id, ol_o_id, ol_number));
create table item (i_id int not null primary key, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50));
create table stock (s_w_id smallint not null, s_i_id int not null, s_quantity smallint, s_dist char(24), s_ytd decimal(8,0),
  s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), primary key (s_w_id, s_i_id));
"""


def last_name(number):
    return NAMES[number // 100 % 10] + NAMES[number // 10 % 10] + NAMES[number % 10]


def rows(rng):
    """Table -> its rows as texts."""
    yield "item", ("(%d, %d, 'item %d', %d.%02d, 'data')" % (i, i, i, rng.randint(1, 99), rng.randint(0, 99))
                   for i in range(1, ITEMS + 1))
    yield "warehouse", ("(%d, 'w%d', 0.%04d, %d)" % (w, w, rng.randint(0, 2000), 30000 * DISTRICTS) for w in range(1, WAREHOUSES + 1))
    yield "stock", ("(%d, %d, %d, 'dist', 0, 0, 0, 'data')" % (w, i, rng.randint(10, 100))
                    for w in range(1, WAREHOUSES + 1) for i in range(1, ITEMS + 1))
    districts = [(w, d) for w in range(1, WAREHOUSES + 1) for d in range(1, DISTRICTS + 1)]
    yield "district", ("(%d, %d, 'd%d', 0.%04d, 30000, %d)" % (w, d, d, rng.randint(0, 2000), ORDERS + 1) for w, d in districts)
    yield "customer", ("(%d, %d, %d, 'first %d', 'OE', '%s', '2026-01-01', '%s', 50000, 0.%02d, -10, 10, 1, 0, 'data')" % (
        w, d, c, c, last_name(c - 1), rng.choice(("GC", "BC")), rng.randint(0, 50))
                       for w, d in districts for c in range(1, CUSTOMERS + 1))
    yield "orders", ("(%d, %d, %d, %d, '2026-01-01', %s, 3, 1)" % (w, d, o, o, "NULL" if o > ORDERS * 7 // 10 else "3")
                     for w, d in districts for o in range(1, ORDERS + 1))
    yield "order_line", ("(%d, %d, %d, %d, %d, %d, %s, 5, 1.00, 'dist')" % (
        w, d, o, n, rng.randint(1, ITEMS), w, "NULL" if o > ORDERS * 7 // 10 else "'2026-01-01'")
                         for w, d in districts for o in range(1, ORDERS + 1) for n in (1, 2, 3))
    yield "new_orders", ("(%d, %d, %d)" % (w, d, o) for w, d in districts for o in range(ORDERS * 7 // 10 + 1, ORDERS + 1))


class Tpcc(Workload):
    name = database = "tpcc"

    def fill(self, server):
        text = [TABLES]
        for table, values in rows(random.Random(1)):
            values = list(values)
            text += ["insert into %s values %s;" % (table, ",".join(values[i:i + 1000])) for i in range(0, len(values), 1000)]
        server.sql("\n".join(text), self.database)

    def work(self, cursor, rng):
        kind, w, d = rng.random(), rng.randint(1, WAREHOUSES), rng.randint(1, DISTRICTS)
        if kind < 0.45:
            return self.new_order(cursor, rng, w, d)
        if kind < 0.88:
            return self.payment(cursor, rng, w, d)
        if kind < 0.92:
            return self.order_status(cursor, rng, w, d)
        if kind < 0.96:
            return self.delivery(cursor, rng, w)
        return self.stock_level(cursor, rng, w, d)

    def new_order(self, cursor, rng, w, d):
        c = rng.randint(1, CUSTOMERS)
        cursor.execute("SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = %s AND c_w_id = w_id AND "
                       "c_d_id = %s AND c_id = %s", (w, d, c))
        cursor.execute("SELECT d_next_o_id, d_tax FROM district WHERE d_id = %s AND d_w_id = %s FOR UPDATE", (d, w))
        order = cursor.fetchone()[0]
        cursor.execute("UPDATE district SET d_next_o_id = %s + 1 WHERE d_id = %s AND d_w_id = %s", (order, d, w))
        lines = sorted(rng.sample(range(1, ITEMS + 1), rng.randint(3, 8)))
        cursor.execute("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%s, %s, %s, %s, "
                       "NOW(), %s, 1)", (order, d, w, c, len(lines)))
        cursor.execute("INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (%s, %s, %s)", (order, d, w))
        for number, item in enumerate(lines, 1):
            supply = w if rng.random() < 0.9 else rng.randint(1, WAREHOUSES)
            quantity = rng.randint(1, 10)
            cursor.execute("SELECT i_price, i_name, i_data FROM item WHERE i_id = %s", (item,))
            price = cursor.fetchone()[0]
            cursor.execute("SELECT s_quantity, s_data, s_dist FROM stock WHERE s_i_id = %s AND s_w_id = %s FOR UPDATE", (item, supply))
            have = cursor.fetchone()[0]
            left = have - quantity if have > quantity else have - quantity + 91
            cursor.execute("UPDATE stock SET s_quantity = %s, s_ytd = s_ytd + %s, s_order_cnt = s_order_cnt + 1 WHERE s_i_id = %s AND "
                           "s_w_id = %s", (left, quantity, item, supply))
            cursor.execute("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, "
                           "ol_amount, ol_dist_info) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'dist')",
                           (order, d, w, number, item, supply, quantity, price * quantity))
        return {"orders": 1}

    def customer(self, cursor, rng, w, d, lock):
        """By last name in six cases of ten: the one in the middle."""
        if rng.random() >= 0.6:
            return rng.randint(1, CUSTOMERS)
        name = last_name(rng.randint(0, CUSTOMERS - 1))
        cursor.execute("SELECT count(c_id) FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = %s", (w, d, name))
        cursor.execute("SELECT c_id FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_last = %s ORDER BY c_first" + lock, (w, d, name))
        found = cursor.fetchall()
        return found[len(found) // 2][0]

    def payment(self, cursor, rng, w, d):
        amount = rng.randint(1, 5000)
        cursor.execute("UPDATE warehouse SET w_ytd = w_ytd + %s WHERE w_id = %s", (amount, w))
        cursor.execute("SELECT w_name FROM warehouse WHERE w_id = %s", (w,))
        cursor.execute("UPDATE district SET d_ytd = d_ytd + %s WHERE d_w_id = %s AND d_id = %s", (amount, w, d))
        cursor.execute("SELECT d_name FROM district WHERE d_w_id = %s AND d_id = %s", (w, d))
        c = self.customer(cursor, rng, w, d, "")
        cursor.execute("SELECT c_first, c_middle, c_last, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE "
                       "c_w_id = %s AND c_d_id = %s AND c_id = %s FOR UPDATE", (w, d, c))
        row = cursor.fetchone()
        if row[3] == "BC":
            cursor.execute("SELECT c_data FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", (w, d, c))
            data = ("%d %d %d %d|" % (c, d, w, amount) + cursor.fetchone()[0])[:200]
            cursor.execute("UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = "
                           "c_payment_cnt + 1, c_data = %s WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", (amount, amount, data, w, d, c))
        else:
            cursor.execute("UPDATE customer SET c_balance = c_balance - %s, c_ytd_payment = c_ytd_payment + %s, c_payment_cnt = "
                           "c_payment_cnt + 1 WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", (amount, amount, w, d, c))
        cursor.execute("INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%s, %s, %s, "
                       "%s, %s, NOW(), %s, 'data')", (d, w, c, d, w, amount % 1000))
        return {"payments": 1}

    def order_status(self, cursor, rng, w, d):
        c = self.customer(cursor, rng, w, d, "")
        cursor.execute("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %s AND c_d_id = %s AND c_id = %s", (w, d, c))
        cursor.execute("SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %s AND o_d_id = %s AND o_c_id = %s ORDER BY "
                       "o_id DESC LIMIT 1", (w, d, c))
        found = cursor.fetchone()
        if found:
            cursor.execute("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %s "
                           "AND ol_d_id = %s AND ol_o_id = %s", (w, d, found[0]))
        return {}

    def delivery(self, cursor, rng, w):
        for d in range(1, DISTRICTS + 1):
            cursor.execute("SELECT MIN(no_o_id) FROM new_orders WHERE no_d_id = %s AND no_w_id = %s FOR UPDATE", (d, w))
            order = cursor.fetchone()[0]
            if order is None:
                continue
            cursor.execute("DELETE FROM new_orders WHERE no_o_id = %s AND no_d_id = %s AND no_w_id = %s", (order, d, w))
            cursor.execute("SELECT o_c_id FROM orders WHERE o_id = %s AND o_d_id = %s AND o_w_id = %s", (order, d, w))
            c = cursor.fetchone()
            if not c:
                continue
            cursor.execute("UPDATE orders SET o_carrier_id = %s WHERE o_id = %s AND o_d_id = %s AND o_w_id = %s",
                           (rng.randint(1, 10), order, d, w))
            cursor.execute("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_o_id = %s AND ol_d_id = %s AND ol_w_id = %s", (order, d, w))
            cursor.execute("SELECT SUM(ol_amount) FROM order_line WHERE ol_o_id = %s AND ol_d_id = %s AND ol_w_id = %s", (order, d, w))
            total = cursor.fetchone()[0] or 0
            cursor.execute("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = %s AND "
                           "c_d_id = %s AND c_w_id = %s", (total, c[0], d, w))
        return {}

    def stock_level(self, cursor, rng, w, d):
        cursor.execute("SELECT d_next_o_id FROM district WHERE d_id = %s AND d_w_id = %s", (d, w))
        next_order = cursor.fetchone()[0]
        cursor.execute("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %s AND ol_d_id = %s AND ol_o_id < %s AND "
                       "ol_o_id >= %s AND s_w_id = %s AND s_i_id = ol_i_id AND s_quantity < %s",
                       (w, d, next_order, next_order - 20, w, rng.randint(10, 20)))
        return {}

    def truth(self, server):
        broken = server.number("""select
 (select count(*) from warehouse where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)) +
 (select count(*) from district where d_next_o_id - 1 <> (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)) +
 (select count(*) from district where (select sum(o_ol_cnt) from orders where o_w_id = d_w_id and o_d_id = d_id) <>
   (select count(*) from order_line where ol_w_id = d_w_id and ol_d_id = d_id)) +
 (select count(*) from (select no_w_id from new_orders group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*)) n)
""", self.database)
        return [Anomaly("consistency conditions broken", broken, ())]


ALL = (Tpcc,)
