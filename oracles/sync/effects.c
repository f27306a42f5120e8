/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the recorded statements did to rows, from their text.
 *
 * Followed are rows with a primary key of integers: INSERT with literals, UPDATE and DELETE whose condition is the
 * whole key.  Any other change makes its table *blurred*: nothing is concluded from rows of it but what nodes hold
 * at one moment.  An effect is kept with its transaction, whatever its outcome.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "sql/sql.h"
#include "sync/sync_internal.h"

enum { IN_LIST_MAX = 1000 };

struct collecting {
	struct sync *s;
	struct arena tree; /* of one statement */
	struct sql_options sql;
	const struct execution_stmt *stmt;
	uint32_t stmt_index, txn;
	bool opaque; /* something of the statement could not be followed */
};

/* ---- rows ---- */

uint64_t row_hash(uint32_t table, const int64_t key[SYNC_KEY_MAX], uint32_t count)
{
	uint64_t words[SYNC_KEY_MAX + 1] = {table};

	for (uint32_t i = 0; i < count; i++)
		words[i + 1] = (uint64_t)key[i];
	return hash_bytes(words, (count + 1) * sizeof(words[0]));
}

uint32_t row_find(const struct sync *s, uint32_t table, const int64_t key[SYNC_KEY_MAX])
{
	return map_get(&s->row_by_hash, row_hash(table, key, s->tables[table].key_count));
}

static uint32_t row_for(struct sync *s, uint32_t table, const int64_t key[SYNC_KEY_MAX])
{
	uint32_t *at = map_at(&s->row_by_hash, row_hash(table, key, s->tables[table].key_count));

	if (*at == MAP_NONE) {
		*at = (uint32_t)s->row_count;
		MEM_RESERVE(s->rows, s->row_count + 1, s->row_capacity);
		s->rows[s->row_count] = (struct sync_row){.table = table, .effects = SYNC_NONE};
		for (uint32_t i = 0; i < s->tables[table].key_count; i++)
			s->rows[s->row_count].key[i] = key[i];
		s->row_count++;
	}
	return *at;
}

static struct effect *add_effect(struct collecting *c, uint32_t row, enum effect_kind kind)
{
	struct sync *s = c->s;
	struct effect *effect;

	MEM_RESERVE(s->effects, s->effect_count + 1, s->effect_capacity);
	effect = &s->effects[s->effect_count];
	*effect = (struct effect){
		.kind = kind, .txn = c->txn, .stmt = c->stmt_index, .row = row, .next = s->rows[row].effects};
	s->rows[row].effects = (uint32_t)s->effect_count++;
	return effect;
}

/* ---- literals ---- */

static bool integer_of(struct span digits, bool negative, int64_t *out)
{
	uint64_t number;

	if (!text_number(digits, &number) || number > INT64_MAX)
		return false;
	*out = negative ? -(int64_t)number : (int64_t)number;
	return true;
}

static struct cell cell_of(struct collecting *c, const struct sql_expr *e)
{
	struct cell cell = {.kind = CELL_UNKNOWN};
	bool negative = false;

	if (e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NEG) {
		negative = true;
		e = e->u.binary.left;
	}
	if (e->kind != SQL_EXPR_LITERAL)
		return cell;
	if (e->u.literal.kind == SQL_LIT_NULL && !negative)
		cell.kind = CELL_NULL;
	else if (e->u.literal.kind == SQL_LIT_INT && integer_of(e->u.literal.text, negative, &cell.number))
		cell.kind = CELL_INT;
	else if (e->u.literal.kind == SQL_LIT_STRING && !negative) {
		cell.kind = CELL_TEXT;
		cell.text = arena_copy(&c->s->arena, e->u.literal.text);
	}
	return cell;
}

/* The values that a literal becomes in a column; unknown where the server converts it. */
static struct cell cell_in(struct collecting *c, const struct sync_column *column, const struct sql_expr *e)
{
	struct cell cell = cell_of(c, e);

	if ((cell.kind == CELL_INT && !column->integer) || (cell.kind == CELL_TEXT && !column->text))
		cell.kind = CELL_UNKNOWN;
	return cell;
}

/* ---- tables and columns ---- */

static struct sync_table *table_named(struct collecting *c, const struct sql_table_name *name)
{
	struct span database =
		name->db.ptr ? name->db : c->s->execution->sessions[c->stmt->session].database;

	for (uint32_t i = 0; i < c->s->table_count; i++) {
		struct sync_table *t = &c->s->tables[i];

		if (span_ieq(t->name, name->name) && (span_ieq(t->database, database) || !database.len))
			return t;
	}
	return NULL;
}

static uint32_t column_named(const struct sync_table *t, struct span name)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		if (span_ieq(t->columns[i].name, name))
			return i;
	return SYNC_NONE;
}

static uint32_t table_index(const struct sync *s, const struct sync_table *t)
{
	return (uint32_t)(t - s->tables);
}

static void blur_table(struct collecting *c, struct sync_table *t)
{
	c->opaque = true;
	if (t)
		t->blurred = true;
}

static void blur_one(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	struct collecting *c = ctx;
	struct sync_table *t = table_named(c, name);

	(void)ref;
	if (access != SQL_TABLE_READ)
		blur_table(c, t);
}

static void blur_all(struct collecting *c)
{
	c->opaque = true;
	for (uint32_t i = 0; i < c->s->table_count; i++)
		c->s->tables[i].blurred = true;
}

static bool is_key_column(const struct sync_table *t, uint32_t column)
{
	for (uint32_t i = 0; i < t->key_count; i++)
		if (t->key[i] == column)
			return true;
	return false;
}

/* ---- INSERT ---- */

static bool insert_row(struct collecting *c, const struct sql_insert *insert, struct sync_table *t,
	const struct sql_values_row *values, bool only, bool updates)
{
	struct cell *cells = arena_zero(&c->s->arena, t->column_count * sizeof(*cells));
	const struct sql_expr *column = insert->columns.first, *value = values->values.first;
	int64_t key[SYNC_KEY_MAX];
	uint32_t at = 0;

	for (; value; value = value->next, at++) {
		uint32_t number = at;

		if (insert->has_columns) {
			if (!column)
				return false;
			number = column_named(t, column->u.column.name);
			column = column->next;
		}
		if (number >= t->column_count)
			return false;
		cells[number] = cell_in(c, &t->columns[number], value);
	}
	/* The key that the server gave. */
	if (only && t->key_count == 1 && cells[t->key[0]].kind != CELL_INT && c->stmt->record.insert_id)
		cells[t->key[0]] = (struct cell){.kind = CELL_INT, .number = (int64_t)c->stmt->record.insert_id};
	if (!cells_key(t, cells, key))
		return false;
	add_effect(c, row_for(c->s, table_index(c->s, t), key), updates ? EFFECT_BLUR : EFFECT_INSERT)->cells = cells;
	return true;
}

static void collect_insert(struct collecting *c, const struct sql_insert *insert, bool lost)
{
	struct sync_table *t = table_named(c, &insert->table);
	uint64_t count = 0;
	bool updates;

	if (!t)
		return; /* not recorded: nothing is concluded from it */
	for (const struct sql_values_row *row = insert->rows; row; row = row->next)
		count++;
	/* IGNORE and ON DUPLICATE KEY UPDATE leave open what became of each row, unless every one was inserted. */
	updates = (insert->on_duplicate || insert->flags & SQL_DML_IGNORE) && (lost || c->stmt->record.affected != count);
	if (!t->key_count || t->triggers || !insert->rows) {
		blur_table(c, t);
		return;
	}
	for (const struct sql_values_row *row = insert->rows; row; row = row->next) {
		if (!insert_row(c, insert, t, row, count == 1 && !lost, updates)) {
			blur_table(c, t);
			return;
		}
	}
}

/* ---- conditions ---- */

struct condition {
	const struct sync_table *table;
	int64_t key[SYNC_KEY_MAX];
	bool has[SYNC_KEY_MAX];
	/* k IN (...), of a key of one column. */
	const struct sql_exprs *list;
};

static bool take_equality(struct collecting *c, struct condition *out, const struct sql_expr *e)
{
	const struct sql_expr *column, *value;
	struct cell cell;

	if (e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_AND)
		return take_equality(c, out, e->u.binary.left) && take_equality(c, out, e->u.binary.right);
	if (e->kind == SQL_EXPR_IN && !e->negated && !e->u.in.query && out->table->key_count == 1 &&
		e->u.in.left->kind == SQL_EXPR_COLUMN && e->u.in.list.count <= IN_LIST_MAX &&
		column_named(out->table, e->u.in.left->u.column.name) == out->table->key[0]) {
		out->list = &e->u.in.list;
		return true;
	}
	if (e->kind != SQL_EXPR_BINARY || e->op != SQL_OP_EQ)
		return false;
	column = e->u.binary.left;
	value = e->u.binary.right;
	if (column->kind != SQL_EXPR_COLUMN) {
		column = e->u.binary.right;
		value = e->u.binary.left;
	}
	if (column->kind != SQL_EXPR_COLUMN)
		return false;
	cell = cell_of(c, value);
	for (uint32_t i = 0; i < out->table->key_count; i++) {
		if (column_named(out->table, column->u.column.name) != out->table->key[i])
			continue;
		if (cell.kind != CELL_INT || out->has[i])
			return false;
		out->key[i] = cell.number;
		out->has[i] = true;
		return true;
	}
	return false;
}

/* The condition says the whole key and nothing else. */
static bool read_condition(struct collecting *c, struct condition *out, const struct sync_table *t, const struct sql_expr *where)
{
	*out = (struct condition){.table = t};
	if (!where || !t->key_count || !take_equality(c, out, where))
		return false;
	for (uint32_t i = 0; i < t->key_count && !out->list; i++)
		if (!out->has[i])
			return false;
	return !(out->list && out->has[0]);
}

typedef void row_fn(struct collecting *c, uint32_t row, const void *ctx);

static bool each_row(struct collecting *c, const struct condition *condition, row_fn *fn, const void *ctx)
{
	uint32_t table = table_index(c->s, condition->table);

	if (!condition->list) {
		fn(c, row_for(c->s, table, condition->key), ctx);
		return true;
	}
	for (const struct sql_expr *e = condition->list->first; e; e = e->next)
		if (cell_of(c, e).kind != CELL_INT)
			return false;
	for (const struct sql_expr *e = condition->list->first; e; e = e->next) {
		int64_t key[SYNC_KEY_MAX] = {cell_of(c, e).number};

		fn(c, row_for(c->s, table, key), ctx);
	}
	return true;
}

/* ---- UPDATE and DELETE ---- */

/* c + 5, c - 5, 5 + c: by how much; unknown: it is no such sum. */
static struct cell sum_of(struct collecting *c, const struct sync_table *t, uint32_t column, const struct sql_expr *e)
{
	const struct sql_expr *name, *by;
	struct cell cell = {.kind = CELL_UNKNOWN};

	if (e->kind != SQL_EXPR_BINARY || (e->op != SQL_OP_ADD && e->op != SQL_OP_SUB))
		return cell;
	name = e->u.binary.left;
	by = e->u.binary.right;
	if (name->kind != SQL_EXPR_COLUMN && e->op == SQL_OP_ADD) {
		name = e->u.binary.right;
		by = e->u.binary.left;
	}
	if (name->kind != SQL_EXPR_COLUMN || column_named(t, name->u.column.name) != column)
		return cell;
	cell = cell_of(c, by);
	if (cell.kind != CELL_INT || cell.number < -INT32_MAX || cell.number > INT32_MAX)
		cell.kind = CELL_UNKNOWN;
	if (e->op == SQL_OP_SUB)
		cell.number = -cell.number;
	return cell;
}

struct updating {
	const struct sql_assign *set;
	const struct sync_table *table;
	bool found; /* rows were changed */
};

static void update_row(struct collecting *c, uint32_t row, const void *ctx)
{
	const struct updating *u = ctx;

	for (const struct sql_assign *a = u->set; a; a = a->next) {
		uint32_t column = column_named(u->table, a->target->u.column.name);
		struct cell sum = sum_of(c, u->table, column, a->value);
		struct effect *effect = add_effect(c, row, sum.kind == CELL_INT ? EFFECT_ADD : EFFECT_SET);

		effect->column = (uint16_t)column;
		effect->found = u->found;
		effect->value = sum.kind == CELL_INT ? sum : cell_in(c, &u->table->columns[column], a->value);
	}
}

static void collect_update(struct collecting *c, const struct sql_stmt *stmt, bool lost)
{
	const struct sql_update *update = stmt->u.update;
	struct sync_table *t = NULL;
	struct updating updating;
	struct condition condition;

	if (!lost && !c->stmt->record.affected)
		return;
	if (update->tables && !update->tables->next && update->tables->kind == SQL_TABLE_NAME)
		t = table_named(c, &update->tables->u.name.table);
	else {
		sql_stmt_tables(stmt, blur_one, c);
		return;
	}
	if (!t)
		return;
	for (const struct sql_assign *a = update->set; a; a = a->next) {
		uint32_t column = a->target->kind == SQL_EXPR_COLUMN ? column_named(t, a->target->u.column.name) : SYNC_NONE;

		if (column == SYNC_NONE || is_key_column(t, column)) {
			blur_table(c, t);
			return;
		}
	}
	updating = (struct updating){.set = update->set, .table = t};
	if (!t->triggers && !update->limit && read_condition(c, &condition, t, update->where)) {
		updating.found = !lost && !condition.list;
		if (each_row(c, &condition, update_row, &updating))
			return;
	}
	/* Which rows, its text does not say; which columns, it does. */
	if (t->triggers)
		blur_table(c, t);
	c->opaque = true;
	for (const struct sql_assign *a = update->set; a; a = a->next)
		t->column_blurred[column_named(t, a->target->u.column.name)] = true;
}

static void delete_row(struct collecting *c, uint32_t row, const void *ctx)
{
	(void)ctx;
	add_effect(c, row, EFFECT_DELETE);
}

static void collect_delete(struct collecting *c, const struct sql_stmt *stmt, bool lost)
{
	const struct sql_delete *del = stmt->u.del;
	struct condition condition;
	struct sync_table *t;

	if (!lost && !c->stmt->record.affected)
		return;
	if (del->targets || !del->from || del->from->next || del->from->kind != SQL_TABLE_NAME) {
		sql_stmt_tables(stmt, blur_one, c);
		return;
	}
	t = table_named(c, &del->from->u.name.table);
	if (!t)
		return;
	if (t->triggers || del->limit || !read_condition(c, &condition, t, del->where) ||
		!each_row(c, &condition, delete_row, NULL)) {
		blur_table(c, t);
		/* And rows of its children, by ON DELETE. */
		for (uint32_t i = 0; i < c->s->table_count; i++)
			for (uint32_t f = 0; f < c->s->tables[i].foreign_count; f++)
				if (c->s->tables[i].foreign[f].parent == table_index(c->s, t) &&
					(c->s->tables[i].foreign[f].cascade || c->s->tables[i].foreign[f].set_null))
					c->s->tables[i].blurred = true;
	}
}

/* ---- definitions ---- */

/* Columns and keys that come and go change no row that is followed. */
static bool alter_is_harmless(struct collecting *c, const struct sql_alter_table *alter)
{
	struct sync_table *t = table_named(c, &alter->table);

	for (const struct sql_alter *a = alter->actions; a; a = a->next) {
		switch (a->kind) {
		case SQL_ALTER_ADD_COLUMN:
		case SQL_ALTER_DROP_COLUMN: {
			struct span name = a->kind == SQL_ALTER_ADD_COLUMN ? a->column->name : a->name;
			uint32_t column = t && name.ptr ? column_named(t, name) : SYNC_NONE;

			if (column != SYNC_NONE && is_key_column(t, column))
				return false;
			if (column != SYNC_NONE)
				t->column_blurred[column] = true;
			break;
		}
		case SQL_ALTER_ADD_KEY:
		case SQL_ALTER_DROP_KEY:
		case SQL_ALTER_INDEX:
		case SQL_ALTER_RENAME_KEY:
		case SQL_ALTER_OPTION:
		case SQL_ALTER_COLUMN_DEFAULT:
			break;
		default:
			return false;
		}
	}
	return true;
}

/* ---- statements ---- */

static void collect_tree(struct collecting *c, const struct sql_stmt *stmt, bool lost)
{
	if (c->txn != MAP_NONE) {
		c->s->txns[c->txn].writes |= sql_stmt_is_write(stmt);
	} else if (sql_stmt_is_write(stmt) && (lost || c->stmt->record.affected)) {
		/* In which transaction it ran is not known: nor is what became of it. */
		blur_all(c);
		return;
	}
	switch (stmt->kind) {
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		if (lost || c->stmt->record.affected)
			collect_insert(c, stmt->u.insert, lost);
		return;
	case SQL_STMT_UPDATE:
		collect_update(c, stmt, lost);
		return;
	case SQL_STMT_DELETE:
		collect_delete(c, stmt, lost);
		return;
	case SQL_STMT_ALTER_TABLE:
		if (!alter_is_harmless(c, stmt->u.alter_table))
			sql_stmt_tables(stmt, blur_one, c);
		return;
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
	case SQL_STMT_TABLE_ADMIN:
	case SQL_STMT_LOCK_TABLES:
		return;
	case SQL_STMT_CALL:
	case SQL_STMT_COMPOUND:
	case SQL_STMT_EXECUTE:
		blur_all(c);
		return;
	default:
		if (sql_stmt_is_write(stmt) || sql_stmt_is_ddl(stmt))
			sql_stmt_tables(stmt, blur_one, c);
		return;
	}
}

static uint32_t txn_of(const struct sync *s, uint64_t number)
{
	return number ? map_get(&s->txn_by_number, number) : MAP_NONE;
}

static bool is_quiet_word(struct span sql)
{
	static const char *const words[] = {"select", "begin", "commit", "rollback", "start transaction", "set "};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (span_istarts(sql, words[i]))
			return !memchr(sql.ptr, ';', sql.len);
	return false;
}

static void collect_stmt(struct collecting *c, const struct execution_stmt *stmt)
{
	bool lost = (stmt->record.flags & STMT_NO_REPLY) != 0;
	struct sql_stmt *tree;
	struct buf text = BUF_INIT;
	struct err err;
	struct span sql = stmt->sql;

	if (stmt->record.error || !sql.len || is_quiet_word(sql))
		return;
	c->stmt = stmt;
	c->txn = txn_of(c->s, stmt->record.txn);
	c->opaque = false;
	arena_clear(&c->tree);
	if (stmt->record.prepared && execution_sql(stmt, MOMENTS_AS_TEXTS, &text, &err))
		sql = buf_span(&text);
	if (!sql_parse_multi(&c->tree, sql, &c->sql, &tree, &err))
		blur_all(c);
	else
		for (; tree; tree = tree->next)
			/* Of several in one text, `affected` is that of the last. */
			collect_tree(c, tree, lost || tree->next);
	if (c->opaque && c->txn != MAP_NONE)
		c->s->txns[c->txn].open = true;
	buf_release(&text);
}

/* ---- transactions ---- */

static struct sync_txn *txn_for(struct sync *s, const struct execution_txn *from)
{
	uint32_t *at = map_at(&s->txn_by_number, from->record.txn);

	if (*at == MAP_NONE) {
		*at = (uint32_t)s->txn_count;
		MEM_RESERVE(s->txns, s->txn_count + 1, s->txn_capacity);
		s->txns[s->txn_count++] = (struct sync_txn){.number = from->record.txn,
			.session = from->session,
			.node = life_node_named(s->life, s->execution->sessions[from->session].node),
			.begin_seq = from->record.seq,
			.begin_at = from->record.at,
			.end_seq = UINT64_MAX,
			.end_at = UINT64_MAX,
			.outcome = TXN_UNKNOWN};
	}
	return &s->txns[*at];
}

static void collect_txns(struct sync *s)
{
	for (size_t i = 0; i < s->execution->txn_count; i++) {
		const struct execution_txn *from = &s->execution->txns[i];
		struct sync_txn *txn = txn_for(s, from);

		if (from->record.event == TXN_ROLLBACK_TO)
			txn->partly = true;
		if (from->record.event != TXN_END)
			continue;
		txn->outcome = (enum txn_outcome)from->record.outcome;
		txn->end_seq = from->record.seq;
		txn->end_at = from->record.at;
		txn->partly |= from->record.mixed == TXN_MIXED_YES;
		if (from->record.begin_seq) {
			txn->begin_seq = from->record.begin_seq;
			txn->begin_at = from->record.begin;
		}
	}
}

void effects_collect(struct sync *s)
{
	struct collecting c = {.s = s, .tree = ARENA_INIT};
	struct span mode = execution_variable(s->execution, "sql_mode");

	collect_txns(s);
	c.sql = sql_options_for_server(s->execution->server.version);
	c.sql.mode = sql_mode_flags(mode);
	for (size_t i = 0; i < s->execution->stmt_count; i++) {
		c.stmt_index = (uint32_t)i;
		collect_stmt(&c, &s->execution->stmts[i]);
		if (i % 1024 == 0)
			meter_things(s->options->meter, "reading statements", i, s->execution->stmt_count);
	}
	arena_release(&c.tree);
}
