/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/statements.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "sql/text/statement_pattern.h"

enum {
	TEXT_MAX = 1 << 16, /* bytes of a statement that are looked at */
	ASKED_EVERY = 1024, /* statements between two looks at how far it is */
};

void statements_init(struct statements *s, const struct history *history)
{
	*s = (struct statements){.history = history,
		.options = sql_options_for_server(strtab_get(&history->strings, history->server_version))};
	stmt_texts_init(&s->texts, history);
}

void statements_release(struct statements *s)
{
	stmt_texts_release(&s->texts);
	arena_release(&s->arena);
	map_release(&s->by_hash);
	map_release(&s->by_stmt);
	mem_free(s->codes);
	mem_free(s->wanted);
}

void statements_want(struct statements *s, uint32_t stmt)
{
	if (stmt == ACCESS_NONE || map_get(&s->by_stmt, stmt) != MAP_NONE)
		return;
	map_put(&s->by_stmt, stmt, UINT32_MAX - 1);
	MEM_RESERVE(s->wanted, s->wanted_count + 1, s->wanted_capacity);
	s->wanted[s->wanted_count++] = stmt;
}

static int by_place(const void *a, const void *b, void *history)
{
	const struct history_stmt *stmts = ((const struct history *)history)->stmts;
	const struct history_stmt *s = &stmts[*(const uint32_t *)a], *t = &stmts[*(const uint32_t *)b];

	if (s->block != t->block)
		return s->block < t->block ? -1 : 1;
	return (s->index > t->index) - (s->index < t->index);
}

/* The number of the place of the code that sends this text. */
static uint32_t code_of(struct statements *s, struct span text)
{
	struct text_dialect dialect = {.flavour = s->options.flavour, .version = s->options.version};
	struct buf pattern = BUF_INIT, tag = BUF_INIT;
	uint64_t hash;
	uint32_t found;

	if (text.len > TEXT_MAX)
		text.len = TEXT_MAX;
	statement_pattern(&pattern, text, dialect);
	statement_tag(&tag, text);
	hash = hash_u64(hash_bytes(pattern.data, pattern.len) + hash_bytes(tag.data, tag.len));
	/* 64 bits of a good hash: two patterns of one hash would be told as one, and no verdict rests on it. */
	found = map_get(&s->by_hash, hash);
	if (found == MAP_NONE) {
		struct code code = {.pattern = arena_copy(&s->arena, buf_span(&pattern)),
			.tag = tag.len ? arena_copy(&s->arena, buf_span(&tag)) : SPAN_NONE};
		struct sql_stmt *parsed;
		struct err err;

		if (sql_parse(&s->arena, arena_copy(&s->arena, text), &s->options, &parsed, &err))
			code.parsed = parsed;
		found = (uint32_t)s->code_count;
		MEM_RESERVE(s->codes, s->code_count + 1, s->code_capacity);
		s->codes[s->code_count++] = code;
		map_put(&s->by_hash, hash, found);
	}
	buf_release(&pattern);
	buf_release(&tag);
	return found;
}

bool statements_fetch(struct statements *s, const struct meter *meter)
{
	if (s->wanted_count)
		qsort_r(s->wanted, s->wanted_count, sizeof(*s->wanted), by_place, (void *)(uintptr_t)s->history);
	for (size_t i = 0; i < s->wanted_count; i++) {
		struct arena scratch = ARENA_INIT;
		struct record_stmt record;
		struct err err;

		if (i % ASKED_EVERY == 0)
			meter_things(meter, "reading texts of statements", i, s->wanted_count);
		if (interrupt_seen())
			return false;
		if (stmt_texts_fetch(&s->texts, s->wanted[i], &scratch, &record, &err) && record.text.ptr)
			map_put(&s->by_stmt, s->wanted[i], code_of(s, record.text));
		arena_release(&scratch);
	}
	s->wanted_count = 0;
	return true;
}

const struct code *statement_code(const struct statements *s, uint32_t stmt)
{
	uint32_t code = stmt == ACCESS_NONE ? MAP_NONE : map_get(&s->by_stmt, stmt);

	return code < s->code_count ? &s->codes[code] : NULL;
}

/* ---- columns ---- */

static uint64_t column_named(const struct access_table *table, struct span name)
{
	for (uint32_t i = 0; i < table->column_count; i++)
		if (span_ieq(table->columns[i], name))
			return access_column(i);
	return 0;
}

struct mentioned {
	const struct access_table *table;
	uint64_t columns;
	bool clock, default_value;
};

static bool see_column(void *context, const struct sql_expr *expr)
{
	struct mentioned *m = context;

	if (expr->kind == SQL_EXPR_STAR)
		m->columns = UINT64_MAX;
	else if (expr->kind == SQL_EXPR_COLUMN && !expr->negated)
		m->columns |= column_named(m->table, expr->u.column.name);
	return true;
}

static uint64_t columns_in(const struct access_table *table, const struct sql_expr *expr)
{
	struct mentioned m = {.table = table};

	if (expr)
		sql_walk_expr(expr, &(struct sql_visitor){.expr = see_column, .ctx = &m});
	return m.columns;
}

uint64_t code_columns(const struct code *code, const struct access_table *table)
{
	struct mentioned m = {.table = table};

	if (!code || !code->parsed || !table->column_count)
		return UINT64_MAX;
	sql_walk_stmt(code->parsed, &(struct sql_visitor){.expr = see_column, .ctx = &m});
	return m.columns;
}

static bool has_query(void *context, const struct sql_query *query)
{
	(void)query;
	*(bool *)context = true;
	return true;
}

/* The clock's time, or the column's default: neither comes from the program. */
static bool is_servers_own(const struct sql_expr *e)
{
	static const char *const clocks[] = {"now", "current_timestamp", "localtime", "localtimestamp", "sysdate",
		"utc_timestamp", "curdate", "current_date", "curtime", "current_time", "uuid", "rand", "last_insert_id"};

	if (e->kind == SQL_EXPR_DEFAULT)
		return true;
	for (size_t i = 0; e->kind == SQL_EXPR_CALL && i < ARRAY_LEN(clocks); i++)
		if (span_ieq_str(e->u.call.name, clocks[i]))
			return true;
	return false;
}

/* `n = n + 1` is computed from the row as it is then, at every level; `n = 5` is given, and so is what is chosen by
 * the primary key alone (CASE WHEN id = 1 THEN 5 ...). */
static void add_assignment(struct column_writes *out, const struct access_table *table, uint64_t column,
	const struct sql_expr *value)
{
	bool query = false;

	sql_walk_expr(value, &(struct sql_visitor){.query = has_query, .ctx = &query});
	if (query || is_servers_own(value) || (columns_in(table, value) & ~table->key))
		out->computed |= column;
	else
		out->given |= column;
}

static void add_assignments(struct column_writes *out, const struct access_table *table, const struct sql_assign *set)
{
	for (; set; set = set->next)
		add_assignment(out, table, column_named(table, set->target->u.column.name), set->value);
}

/* VALUES(c), and new.c of MySQL's row alias, are what the program sent. */
static void add_on_duplicate(struct column_writes *out, const struct access_table *table, const struct sql_insert *insert)
{
	for (const struct sql_assign *set = insert->on_duplicate; set; set = set->next) {
		uint64_t column = column_named(table, set->target->u.column.name);
		const struct sql_expr *v = set->value;

		if (v->kind == SQL_EXPR_VALUES ||
			(v->kind == SQL_EXPR_COLUMN && insert->row_alias.len && span_ieq(v->u.column.table, insert->row_alias)))
			out->given |= column;
		else
			add_assignment(out, table, column, v);
	}
}

struct column_writes code_writes(const struct code *code, const struct access_table *table)
{
	struct column_writes out = {.kind = WRITE_OTHER};
	const struct sql_stmt *stmt = code ? code->parsed : NULL;

	if (!stmt || !table->column_count)
		return out;
	if (stmt->kind == SQL_STMT_UPDATE) {
		out.kind = WRITE_UPDATE;
		add_assignments(&out, table, stmt->u.update->set);
		out.tested = columns_in(table, stmt->u.update->where);
	} else if (stmt->kind == SQL_STMT_DELETE) {
		out.kind = WRITE_DELETE;
		out.tested = columns_in(table, stmt->u.del->where);
	} else if (stmt->kind == SQL_STMT_REPLACE) {
		out.kind = WRITE_REPLACE;
		out.given = stmt->u.insert->query ? 0 : UINT64_MAX;
	} else if (stmt->kind == SQL_STMT_INSERT) {
		out.kind = stmt->u.insert->on_duplicate ? WRITE_UPDATE : WRITE_INSERT;
		add_on_duplicate(&out, table, stmt->u.insert);
	}
	return out;
}
