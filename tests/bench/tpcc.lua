-- SPDX-License-Identifier: GPL-2.0-or-later
-- A TPC-C workload for sysbench: five transaction types, nine tables, the standard's secondary indexes.
--	sysbench --threads=8 --time=120 tpcc.lua --warehouses=4 prepare | run
-- --orders=N and --items=N make smaller tables: N orders and customers a district, N items.

sysbench.cmdline.options = {
	warehouses = {"warehouses", 1},
	items = {"items and rows of stock a warehouse", 100000},
	orders = {"orders and customers a district", 3000},
}

local function syllables(n)
	local s = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}
	return s[math.floor(n / 100) % 10 + 1] .. s[math.floor(n / 10) % 10 + 1] .. s[n % 10 + 1]
end

local function rnd(a, b) return sysbench.rand.uniform(a, b) end
local function nurand(a, x, y)
	return (bit.bor(rnd(0, a), rnd(x, y)) + 123) % (y - x + 1) + x
end
local function str(a, b) return sysbench.rand.string(string.rep("@", rnd(a, b))) end
local function last_name(max) return syllables(nurand(255, 0, math.min(999, max - 1))) end

local tables = {
	[[warehouse (w_id smallint not null, w_name varchar(10), w_street varchar(20), w_city varchar(20), w_state char(2),
		w_zip char(9), w_tax decimal(4,4), w_ytd decimal(12,2), primary key (w_id))]],
	[[district (d_id tinyint not null, d_w_id smallint not null, d_name varchar(10), d_street varchar(20), d_city varchar(20),
		d_state char(2), d_zip char(9), d_tax decimal(4,4), d_ytd decimal(12,2), d_next_o_id int, primary key (d_w_id, d_id))]],
	[[customer (c_id int not null, c_d_id tinyint not null, c_w_id smallint not null, c_first varchar(16), c_middle char(2),
		c_last varchar(16), c_street varchar(20), c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16),
		c_since datetime, c_credit char(2), c_credit_lim decimal(12,2), c_discount decimal(4,4), c_balance decimal(12,2),
		c_ytd_payment decimal(12,2), c_payment_cnt smallint, c_delivery_cnt smallint, c_data text,
		primary key (c_w_id, c_d_id, c_id), key idx_customer (c_w_id, c_d_id, c_last, c_first))]],
	[[history (id bigint not null auto_increment primary key, h_c_id int, h_c_d_id tinyint, h_c_w_id smallint, h_d_id tinyint,
		h_w_id smallint, h_date datetime, h_amount decimal(6,2), h_data varchar(24))]],
	[[new_orders (no_o_id int not null, no_d_id tinyint not null, no_w_id smallint not null,
		primary key (no_w_id, no_d_id, no_o_id))]],
	[[orders (o_id int not null, o_d_id tinyint not null, o_w_id smallint not null, o_c_id int, o_entry_d datetime,
		o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, primary key (o_w_id, o_d_id, o_id),
		key idx_orders (o_w_id, o_d_id, o_c_id, o_id))]],
	[[order_line (ol_o_id int not null, ol_d_id tinyint not null, ol_w_id smallint not null, ol_number tinyint not null,
		ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint, ol_amount decimal(6,2),
		ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number), key fkey_order_line_2 (ol_supply_w_id, ol_i_id))]],
	[[item (i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), primary key (i_id))]],
	[[stock (s_i_id int not null, s_w_id smallint not null, s_quantity smallint, s_dist_01 char(24), s_dist_02 char(24),
		s_ytd decimal(8,0), s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50),
		primary key (s_w_id, s_i_id), key fkey_stock_2 (s_i_id))]],
}
local names = {"warehouse", "district", "customer", "history", "new_orders", "orders", "order_line", "item", "stock"}

local bulk = {}
local function put(con, table_name, row)
	local b = bulk[table_name] or {}
	bulk[table_name] = b
	b[#b + 1] = row
	if #b == 500 then
		con:query("insert into " .. table_name .. " values " .. table.concat(b, ","))
		bulk[table_name] = {}
	end
end
local function flush(con)
	for name, b in pairs(bulk) do
		if #b > 0 then con:query("insert into " .. name .. " values " .. table.concat(b, ",")) end
	end
	bulk = {}
end

function prepare()
	local con = sysbench.sql.driver():connect()
	local o = sysbench.opt
	for _, t in ipairs(tables) do con:query("create table " .. t .. " engine=innodb") end
	con:query("begin")
	for i = 1, o.items do
		put(con, "item", string.format("(%d,%d,'%s',%d.%02d,'%s')", i, rnd(1, 10000), str(14, 24), rnd(1, 99), rnd(0, 99), str(26, 50)))
	end
	for w = 1, o.warehouses do
		put(con, "warehouse", string.format("(%d,'%s','%s','%s','CA','123411111',0.%04d,300000)", w, str(6, 10), str(10, 20), str(10, 20), rnd(0, 2000)))
		for i = 1, o.items do
			put(con, "stock", string.format("(%d,%d,%d,'%s','%s',0,0,0,'%s')", i, w, rnd(10, 100), str(24, 24), str(24, 24), str(26, 50)))
		end
		for d = 1, 10 do
			put(con, "district", string.format("(%d,%d,'%s','%s','%s','CA','123411111',0.%04d,30000,%d)", d, w, str(6, 10), str(10, 20), str(10, 20), rnd(0, 2000), o.orders + 1))
			for c = 1, o.orders do
				put(con, "customer", string.format("(%d,%d,%d,'%s','OE','%s','%s','%s','CA','123411111','0123456789012345','2020-01-01 00:00:00','%s',50000,0.%04d,-10,10,1,0,'%s')",
					c, d, w, str(8, 16), c <= 1000 and syllables(c - 1) or last_name(1000), str(10, 20), str(10, 20), rnd(1, 10) == 1 and "BC" or "GC", rnd(0, 5000), str(100, 200)))
				put(con, "history", string.format("(null,%d,%d,%d,%d,%d,'2020-01-01 00:00:00',10,'%s')", c, d, w, d, w, str(12, 24)))
				local lines, open = rnd(5, 15), c > o.orders * 0.7
				put(con, "orders", string.format("(%d,%d,%d,%d,'2020-01-01 00:00:00',%s,%d,1)", c, d, w, (c * 7919) % o.orders + 1, open and "null" or rnd(1, 10), lines))
				if open then put(con, "new_orders", string.format("(%d,%d,%d)", c, d, w)) end
				for l = 1, lines do
					put(con, "order_line", string.format("(%d,%d,%d,%d,%d,%d,%s,5,%d.%02d,'%s')", c, d, w, l, rnd(1, o.items), w,
						open and "null" or "'2020-01-01 00:00:00'", open and rnd(1, 9998) or 0, open and rnd(0, 99) or 0, str(24, 24)))
				end
			end
		end
	end
	flush(con)
	con:query("commit")
end

function cleanup()
	local con = sysbench.sql.driver():connect()
	for _, n in ipairs(names) do con:query("drop table if exists " .. n) end
end

local con
function thread_init() con = sysbench.sql.driver():connect() end
function thread_done() con:disconnect() end

local function one(...) return con:query_row(string.format(...)) end
local function run(...) return con:query(string.format(...)) end

local function new_order(o)
	local w, d, c = rnd(1, o.warehouses), rnd(1, 10), nurand(1023, 1, o.orders)
	local lines = rnd(5, 15)
	con:query("BEGIN")
	one("SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d AND c_id = %d", w, d, c)
	local next_id = tonumber((one("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)))
	run("UPDATE district SET d_next_o_id = %d WHERE d_id = %d AND d_w_id = %d", next_id + 1, d, w)
	run("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (%d,%d,%d,%d,NOW(),%d,1)", next_id, d, w, c, lines)
	run("INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (%d,%d,%d)", next_id, d, w)
	local items = {}
	for l = 1, lines do items[l] = nurand(8191, 1, o.items) end
	table.sort(items)
	for l = 1, lines do
		local i = items[l]
		local price = one("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", i)
		local q = tonumber((one("SELECT s_quantity, s_data, s_dist_01 s_dist FROM stock WHERE s_i_id = %d AND s_w_id = %d FOR UPDATE", i, w)))
		local n = rnd(1, 10)
		q = q > n and q - n or q - n + 91
		run("UPDATE stock SET s_quantity = %d WHERE s_i_id = %d AND s_w_id = %d", q, i, w)
		run("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (%d,%d,%d,%d,%d,%d,%d,%.2f,'%s')",
			next_id, d, w, l, i, w, n, n * tonumber(price), str(24, 24))
	end
	con:query(rnd(1, 100) == 1 and "ROLLBACK" or "COMMIT")
end

local function pick_customer(o, w, d)
	if rnd(1, 100) > 60 then return nurand(1023, 1, o.orders) end
	local name = last_name(math.min(o.orders, 1000))
	one("SELECT count(c_id) namecnt FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s'", w, d, name)
	local rs = run("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first", w, d, name)
	if rs.nrows == 0 then return nurand(1023, 1, o.orders) end
	local id
	for i = 1, math.ceil(rs.nrows / 2) do id = rs:fetch_row()[1] end
	return tonumber(id)
end

local function payment(o)
	local w, d, amount = rnd(1, o.warehouses), rnd(1, 10), rnd(1, 5000)
	con:query("BEGIN")
	run("UPDATE warehouse SET w_ytd = w_ytd + %d WHERE w_id = %d", amount, w)
	one("SELECT w_street, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = %d", w)
	run("UPDATE district SET d_ytd = d_ytd + %d WHERE d_w_id = %d AND d_id = %d", amount, w, d)
	one("SELECT d_street, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
	local c = pick_customer(o, w, d)
	local _, _, _, credit = one("SELECT c_first, c_middle, c_last, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE", w, d, c)
	if credit == "BC" then
		one("SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
		run("UPDATE customer SET c_balance = c_balance - %d, c_ytd_payment = c_ytd_payment + %d, c_data = '%s' WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, amount, str(100, 200), w, d, c)
	else
		run("UPDATE customer SET c_balance = c_balance - %d, c_ytd_payment = c_ytd_payment + %d WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, amount, w, d, c)
	end
	run("INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d,%d,%d,%d,%d,NOW(),%d,'%s')", d, w, c, d, w, amount, str(12, 24))
	con:query("COMMIT")
end

local function order_status(o)
	local w, d = rnd(1, o.warehouses), rnd(1, 10)
	con:query("BEGIN")
	local c = pick_customer(o, w, d)
	one("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
	local id = one("SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1", w, d, c)
	if id then run("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, id) end
	con:query("COMMIT")
end

local function delivery(o)
	local w, carrier = rnd(1, o.warehouses), rnd(1, 10)
	con:query("BEGIN")
	for d = 1, 10 do
		local id = one("SELECT no_o_id FROM new_orders WHERE no_d_id = %d AND no_w_id = %d ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE", d, w)
		if id then
			run("DELETE FROM new_orders WHERE no_o_id = %d AND no_d_id = %d AND no_w_id = %d", id, d, w)
			local c = one("SELECT o_c_id FROM orders WHERE o_id = %d AND o_d_id = %d AND o_w_id = %d", id, d, w)
			run("UPDATE orders SET o_carrier_id = %d WHERE o_id = %d AND o_d_id = %d AND o_w_id = %d", carrier, id, d, w)
			run("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_o_id = %d AND ol_d_id = %d AND ol_w_id = %d", id, d, w)
			local sum = one("SELECT SUM(ol_amount) sm FROM order_line WHERE ol_o_id = %d AND ol_d_id = %d AND ol_w_id = %d", id, d, w)
			-- FOR UPDATE met an order that came after the snapshot, perhaps.
			if c then
				run("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = %d AND c_d_id = %d AND c_w_id = %d", sum or "0", c, d, w)
			end
		end
	end
	con:query("COMMIT")
end

local function stock_level(o)
	local w, d, level = rnd(1, o.warehouses), rnd(1, 10), rnd(10, 20)
	con:query("BEGIN")
	local next_id = one("SELECT d_next_o_id FROM district WHERE d_id = %d AND d_w_id = %d", d, w)
	run("SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d AND ol_o_id >= %d AND s_w_id = %d AND s_i_id = ol_i_id AND s_quantity < %d",
		w, d, next_id, next_id - 20, w, level)
	con:query("COMMIT")
end

function event()
	local o, pick = sysbench.opt, rnd(1, 23)
	if pick <= 10 then new_order(o)
	elseif pick <= 20 then payment(o)
	elseif pick <= 21 then order_status(o)
	elseif pick <= 22 then delivery(o)
	else stock_level(o) end
end

function sysbench.hooks.before_restart_event(_) con:query("ROLLBACK") end
