/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random joins of many tables along their keys, over a shop like the one of TPC-H. */
#include "eval_random_internal.h"

enum { JOINED_MAX = 8 };

const struct generated_join_table generated_join_tables[] = {
	{"region", "id INT PRIMARY KEY, name VARCHAR(25), code CHAR(2)", 5},
	{"nation", "id INT PRIMARY KEY, region_id INT, name VARCHAR(25), code CHAR(3), KEY (code)", 25},
	{"supplier", "id INT PRIMARY KEY, nation_id INT, name VARCHAR(25), acctbal DECIMAL(15,2), since DATE", 100},
	{"customer", "id INT PRIMARY KEY, nation_id SMALLINT, nation_code VARCHAR(3), name VARCHAR(25), "
		     "acctbal DECIMAL(15,2), segment CHAR(10)", 300},
	{"part", "id BIGINT PRIMARY KEY, name VARCHAR(55), size INT, type VARCHAR(25), price DECIMAL(15,2)", 200},
	{"partsupp", "id INT PRIMARY KEY, part_id BIGINT UNSIGNED, supplier_id INT, qty INT, cost DECIMAL(15,2), "
		     "KEY (part_id, supplier_id)", 800},
	{"orders", "id INT PRIMARY KEY, customer_id INT, status CHAR(1), total DECIMAL(15,2), day DATE, at DATETIME, "
		   "KEY (customer_id)", 1000},
	{"lineitem", "id INT PRIMARY KEY, order_id INT, part_id BIGINT, supplier_id INT, qty DECIMAL(15,2), "
		     "price DECIMAL(15,2), discount DECIMAL(15,2), ship DATE, KEY (order_id), KEY (part_id)", 1000},
	{NULL, NULL, 0},
};

enum { REGION, NATION, SUPPLIER, CUSTOMER, PART, PARTSUPP, ORDERS, LINEITEM, TABLES };

/* By which columns two of them are joined. */
static const struct link {
	unsigned a, b;
	const char *a_column, *b_column;
} links[] = {
	{NATION, REGION, "region_id", "id"},
	{SUPPLIER, NATION, "nation_id", "id"},
	{CUSTOMER, NATION, "nation_id", "id"},
	{CUSTOMER, NATION, "nation_code", "code"},
	{PARTSUPP, PART, "part_id", "id"},
	{PARTSUPP, SUPPLIER, "supplier_id", "id"},
	{ORDERS, CUSTOMER, "customer_id", "id"},
	{LINEITEM, ORDERS, "order_id", "id"},
	{LINEITEM, PART, "part_id", "id"},
	{LINEITEM, SUPPLIER, "supplier_id", "id"},
	{LINEITEM, PARTSUPP, "part_id", "part_id"},
	{ORDERS, SUPPLIER, "day", "since"},
	{CUSTOMER, SUPPLIER, "acctbal", "acctbal"},
};

static void number_or_null(struct generator *g, unsigned limit, struct buf *out)
{
	if (below(g, 25))
		buf_printf(out, ", %u", 1 + (unsigned)below(g, limit));
	else
		buf_add_str(out, ", NULL");
}

static void money(struct generator *g, struct buf *out)
{
	buf_printf(out, ", %d.%02u", (int)below(g, 400) - 50, (unsigned)below(g, 4) * 25);
}

static void day(struct generator *g, struct buf *out)
{
	buf_printf(out, ", '199%u-%02u-%02u'", (unsigned)below(g, 8), 1 + (unsigned)below(g, 12),
		1 + (unsigned)below(g, 28));
}

static void nation_code(struct generator *g, unsigned number, struct buf *out)
{
	/* Equal without regard to case, and with blanks after it. */
	buf_printf(out, ", '%c%c%s'", (int)((below(g, 2) ? 'a' : 'A') + number % 25), 'x', below(g, 3) ? "" : " ");
}

void generate_join_row(struct generator *g, unsigned table, unsigned id, struct buf *out)
{
	static const char *const types[] = {"ECONOMY BRASS", "SMALL STEEL", "PROMO TIN", "LARGE COPPER"};
	static const char *const segments[] = {"BUILDING", "AUTOMOBILE", "MACHINERY", "building"};
	static const char *const states[] = {"'O'", "'F'", "'P'", "NULL"};

	buf_printf(out, "(%u", id);
	switch (table) {
	case REGION:
		buf_printf(out, ", 'REGION %u', 'R%u'", id, id);
		break;
	case NATION:
		number_or_null(g, 5, out);
		buf_printf(out, ", 'NATION %u'", id);
		nation_code(g, id, out);
		break;
	case SUPPLIER:
		number_or_null(g, 25, out);
		buf_printf(out, ", 'Supplier %u'", id);
		money(g, out);
		day(g, out);
		break;
	case CUSTOMER:
		number_or_null(g, 25, out);
		nation_code(g, (unsigned)below(g, 25), out);
		buf_printf(out, ", 'Customer %u'", id);
		money(g, out);
		buf_printf(out, ", '%s'", PICK(g, segments));
		break;
	case PART:
		buf_printf(out, ", 'part %u', %u, '%s'", id, 1 + (unsigned)below(g, 50), PICK(g, types));
		money(g, out);
		break;
	case PARTSUPP:
		number_or_null(g, 200, out);
		number_or_null(g, 100, out);
		number_or_null(g, 1000, out);
		money(g, out);
		break;
	case ORDERS:
		number_or_null(g, 300, out);
		buf_printf(out, ", %s", PICK(g, states));
		money(g, out);
		day(g, out);
		day(g, out);
		break;
	case LINEITEM:
		number_or_null(g, 1000, out);
		number_or_null(g, 200, out);
		number_or_null(g, 100, out);
		money(g, out);
		money(g, out);
		buf_printf(out, ", 0.%02u", (unsigned)below(g, 11));
		day(g, out);
		break;
	default:
		break;
	}
	buf_add_char(out, ')');
}

/* A condition on one table, whose alias is the letter for @. */
static const char *const filters[TABLES][6] = {
	{"@.name = 'REGION 3'", "@.id < 4", "@.code <> 'R1'", "@.name LIKE 'REGION%'", "@.id IS NOT NULL", "@.id IN (1, 2, 5)"},
	{"@.name IN ('NATION 3', 'nation 7', 'NATION 11')", "@.id > 5", "@.region_id IS NOT NULL", "@.code < 'm'",
		"@.id BETWEEN 3 AND 20", "@.region_id = 2"},
	{"@.acctbal > 100", "@.since >= '1995-01-01'", "@.nation_id = 7", "@.id % 3 = 1", "@.name LIKE '%7'",
		"@.acctbal + 1.5 < 200"},
	{"@.segment = 'BUILDING'", "@.acctbal BETWEEN -10.00 AND 150.5", "@.nation_code = 'cx'", "@.id < 150",
		"NOT @.segment = 'MACHINERY'", "@.id = 17"},
	{"@.size = 15", "@.type LIKE '%BRASS'", "@.size IN (1, 4, 9, 16, 25)", "@.price < 250", "@.id <= 100",
		"@.size * 2 > 40"},
	{"@.qty > 500", "@.cost < 100.25", "@.supplier_id IS NULL", "@.part_id <> 7", "@.qty + @.id > 700",
		"@.id BETWEEN 100 AND 600"},
	{"@.day >= '1993-07-01'", "@.status = 'F'", "@.day < '1995-03-15' AND @.total > 0", "@.at > '1994-01-01 00:00:00'",
		"YEAR(@.day) = 1994", "@.id = 42"},
	{"@.ship > '1995-03-15'", "@.discount BETWEEN 0.05 AND 0.07", "@.qty < 24", "@.price * (1 - @.discount) > 100",
		"@.order_id < 300", "@.id % 2 = 0"},
};

/* The same with a second table, for which there is a #. */
static const struct {
	unsigned a, b;
	const char *text;
} pairs[] = {
	{LINEITEM, ORDERS, "@.ship > #.day"},
	{CUSTOMER, SUPPLIER, "@.nation_id = #.nation_id"},
	{SUPPLIER, CUSTOMER, "@.acctbal < #.acctbal"},
	{LINEITEM, PART, "@.price > #.price + 10"},
	{LINEITEM, PARTSUPP, "@.supplier_id = #.supplier_id"},
	{ORDERS, CUSTOMER, "(@.status = 'F' OR #.acctbal > 50)"},
	{NATION, REGION, "CONCAT(@.name, #.code) LIKE '%R2'"},
	{LINEITEM, ORDERS, "(@.ship = #.day OR @.id < #.id)"},
	{ORDERS, LINEITEM, "EXISTS (SELECT 1 FROM lineitem x WHERE x.order_id = @.id AND x.qty > #.qty)"},
	{PARTSUPP, PART, "@.cost = (SELECT MIN(y.cost) FROM partsupp y WHERE y.part_id = #.id)"},
};

static void with_names(const char *text, unsigned a, unsigned b, struct buf *out)
{
	for (; *text; text++) {
		if (*text == '@')
			buf_printf(out, "t%u", a);
		else if (*text == '#')
			buf_printf(out, "t%u", b);
		else
			buf_add_char(out, *text);
	}
}

struct joined {
	unsigned tables[JOINED_MAX], count;
	struct buf on[JOINED_MAX]; /* how each is linked to those before it */
};

/* Of the tables so far, one that is of this kind; or -1. */
static int find_kind(const struct joined *j, unsigned kind)
{
	for (unsigned i = 0; i < j->count; i++) {
		if (j->tables[i] == kind)
			return (int)i;
	}
	return -1;
}

static void add_linked(struct generator *g, struct joined *j)
{
	for (unsigned tries = 0; tries < 100; tries++) {
		const struct link *l = &links[below(g, ARRAY_LEN(links))];
		bool turned = below(g, 2);
		int other = find_kind(j, turned ? l->a : l->b);
		unsigned number = j->count, kind = turned ? l->b : l->a;

		/* One table twice, now and then. */
		if (other < 0 || (find_kind(j, kind) >= 0 && below(g, 6)))
			continue;
		j->tables[j->count++] = kind;
		buf_printf(&j->on[number], "t%u.%s = t%u.%s",
			turned ? (unsigned)other : number, l->a_column, turned ? number : (unsigned)other,
			l->b_column);
		return;
	}
}

static void some_condition(struct generator *g, const struct joined *j, struct buf *out)
{
	unsigned number = (unsigned)below(g, j->count);

	for (unsigned tries = 0; tries < 8 && below(g, 2); tries++) {
		unsigned p = (unsigned)below(g, ARRAY_LEN(pairs));
		int a = find_kind(j, pairs[p].a), b = find_kind(j, pairs[p].b);

		if (a >= 0 && b >= 0) {
			with_names(pairs[p].text, (unsigned)a, (unsigned)b, out);
			return;
		}
	}
	with_names(filters[j->tables[number]][below(g, 6)], number, 0, out);
}

static void from_and_where(struct generator *g, struct joined *j, struct buf *out)
{
	bool list = below(g, 2);
	unsigned conditions = 0;
	struct buf where = BUF_INIT;

	buf_printf(out, " FROM %s t0", generated_join_tables[j->tables[0]].name);
	for (unsigned i = 1; i < j->count; i++) {
		static const char *const kinds[] = {"JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN"};
		const char *name = generated_join_tables[j->tables[i]].name;

		if (list) {
			buf_printf(out, ", %s t%u", name, i);
			buf_printf(&where, "%s%.*s", conditions++ ? " AND " : "", (int)j->on[i].len, j->on[i].data);
			continue;
		}
		buf_printf(out, " %s %s t%u ON %.*s", PICK(g, kinds), name, i, (int)j->on[i].len, j->on[i].data);
		if (!below(g, 4)) {
			struct joined part = *j;

			part.count = i + 1;
			buf_add_str(out, " AND ");
			some_condition(g, &part, out);
		}
	}
	for (unsigned more = (unsigned)below(g, 4); more; more--) {
		struct buf one = BUF_INIT;

		some_condition(g, j, &one);
		if (below(g, 2)) {
			buf_printf(&where, "%s%.*s", conditions++ ? " AND " : "", (int)one.len, one.data);
		} else {
			buf_printf(&one, "%s", conditions++ ? " AND " : "");
			buf_add(&one, where.data, where.len);
			buf_clear(&where);
			buf_add(&where, one.data, one.len);
		}
		buf_release(&one);
	}
	if (conditions)
		buf_printf(out, " WHERE %.*s", (int)where.len, where.data);
	buf_release(&where);
}

void generate_join_query(struct generator *g, struct buf *out)
{
	struct joined j = {.count = 1};
	unsigned count = 2 + (unsigned)below(g, JOINED_MAX - 1);

	j.tables[0] = (unsigned)below(g, TABLES);
	while (j.count < count) {
		unsigned before = j.count;

		add_linked(g, &j);
		if (j.count == before)
			break;
	}
	switch (below(g, 3)) {
	case 0:
		buf_add_str(out, "SELECT COUNT(*), COUNT(t0.id), SUM(t1.id), MIN(t0.id), MAX(t1.id)");
		from_and_where(g, &j, out);
		break;
	case 1:
		buf_add_str(out, "SELECT t0.id, COUNT(*) AS n, SUM(t1.id)");
		from_and_where(g, &j, out);
		buf_add_str(out, " GROUP BY t0.id ORDER BY n DESC, t0.id LIMIT 20");
		break;
	default:
		buf_add_str(out, "SELECT ");
		for (unsigned i = 0; i < j.count; i++)
			buf_printf(out, "%st%u.id", i ? ", " : "", i);
		from_and_where(g, &j, out);
		buf_add_str(out, " ORDER BY ");
		for (unsigned i = 0; i < j.count; i++)
			buf_printf(out, "%st%u.id", i ? ", " : "", i);
		buf_printf(out, " LIMIT %u", 1 + (unsigned)below(g, 50));
		break;
	}
	for (unsigned i = 0; i < j.count; i++)
		buf_release(&j.on[i]);
}
