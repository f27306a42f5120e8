/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorded tables, made and filled again before a replay. */
#include <stdlib.h>

#include "base/mem.h"
#include "replay/replay.h"
#include "sql/sql.h"

enum { INSERT_BYTES = 256 * 1024 };

static bool is_system(struct span database)
{
	return !database.len || span_ieq_str(database, "mysql") ||
	       span_ieq_str(database, "information_schema") ||
	       span_ieq_str(database, "performance_schema") || span_ieq_str(database, "sys");
}

/* The database that most tables are in. */
static struct span main_database(const struct execution *e)
{
	struct span best = SPAN_NONE;
	size_t most = 0;

	for (size_t i = 0; i < e->table_count; i++) {
		struct span name = e->tables[i].schema.database;
		size_t count = 0;

		if (is_system(name))
			continue;
		for (size_t k = 0; k < e->table_count; k++)
			count += span_eq(name, e->tables[k].schema.database);
		if (count > most) {
			most = count;
			best = name;
		}
	}
	/* Without tables: where the sessions were. */
	for (size_t i = 0; i < e->session_count && !most && !best.ptr; i++)
		if (!is_system(e->sessions[i].database))
			best = e->sessions[i].database;
	return best;
}

static bool is_made(const struct engine *engine, const char *name)
{
	for (size_t i = 0; i < engine->database_count; i++)
		if (strcmp(engine->databases[i], name) == 0)
			return true;
	return false;
}

static bool make_databases(
	struct engine *engine, const struct execution *e, struct span main, const char *rename)
{
	for (size_t i = 0; i < e->table_count + e->session_count; i++) {
		struct span name = i < e->table_count ? e->tables[i].schema.database
						      : e->sessions[i - e->table_count].database;
		const char *as = rename && span_eq(name, main) ? rename : name.ptr;

		/* Spans of the execution's arena need not end in a NUL. */
		char *copy = as == name.ptr ? mem_zero(name.len + 1, 1) : mem_strdup(as);
		bool ok = true;

		if (as == name.ptr && name.len)
			memcpy(copy, name.ptr, name.len);
		if (!is_system(name) && !is_made(engine, copy))
			ok = engine_make_database(engine, copy);
		mem_free(copy);
		if (!ok)
			return false;
	}
	return true;
}

static bool use_database(struct engine *engine, struct span name)
{
	struct buf sql = BUF_INIT;
	bool ok;

	buf_add_str(&sql, "use ");
	sql_print_name(name, &sql);
	ok = engine_query(engine, buf_span(&sql)) || engine_fail(engine, sql.data);
	buf_release(&sql);
	return ok;
}

static bool is_generated(struct mp *column)
{
	uint32_t fields = mp_array(column);

	for (uint32_t i = 0; i < 5 && i < fields; i++)
		(void)mp_skip(column);
	return fields > 5 && !mp_take_nil(column);
}

/* "insert into `t` (`a`,`b`) values "; generated[] says which values to leave out. */
static void insert_head(
	const struct execution_table *t, struct buf *out, bool *generated, size_t max)
{
	bool own = t->initial.columns.ptr != NULL, first = true;
	struct mp mp = mp_over(own ? t->initial.columns : t->schema.columns);
	uint32_t count = mp_array(&mp);

	buf_add_str(out, "insert into ");
	sql_print_name(t->schema.name, out);
	buf_add_str(out, " (");
	for (uint32_t i = 0; i < count && i < max && !mp.bad; i++) {
		struct span column = own ? SPAN_NONE : mp_raw(&mp), name;
		struct mp inner = mp_over(column), again = inner;

		if (own) {
			name = mp_bytes(&mp);
		} else {
			(void)mp_array(&inner);
			name = mp_bytes(&inner);
			generated[i] = is_generated(&again);
		}
		/* What isorec prepare added is not restored. */
		if (generated[i] || (name.len > 7 && memcmp(name.ptr, "isorec_", 7) == 0))
			continue;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		sql_print_name(name, out);
	}
	buf_add_str(out, ") values ");
}

enum { COLUMNS_MAX = 4096 };

static bool add_row(struct span row, const bool *generated, struct buf *out, struct err *err)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);
	bool first = true;

	buf_add_char(out, '(');
	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			return err_set(err, ERR_FORMAT, "a row cannot be read");
		if (i < COLUMNS_MAX && generated[i])
			continue;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		if (!execution_literal(&value, out, err))
			return false;
	}
	buf_add_char(out, ')');
	return true;
}

static bool fill_table(
	struct engine *engine, const struct execution_table *t, struct replay_summary *summary)
{
	struct buf sql = BUF_INIT;
	bool generated[COLUMNS_MAX] = {false}, ok = true;

	for (size_t i = 0; i < t->initial.count && ok;) {
		size_t first = i;

		buf_clear(&sql);
		insert_head(t, &sql, generated, COLUMNS_MAX);
		for (; i < t->initial.count && sql.len < INSERT_BYTES && ok; i++) {
			if (i > first)
				buf_add_char(&sql, ',');
			ok = add_row(t->initial.rows[i], generated, &sql, engine->err);
			summary->rows++;
		}
		if (ok && !engine_query(engine, buf_span(&sql)))
			ok = engine_fail(engine, "its rows cannot be restored");
	}
	buf_release(&sql);
	return ok;
}

static bool restore_table(
	struct engine *engine, const struct execution_table *t, struct replay_summary *summary)
{
	struct span text = t->schema.create_text;

	if (!text.len)
		return err_set(engine->err, ERR_UNSUPPORTED, "its definition was not recorded");
	if (!engine_query(engine, text))
		return engine_fail(engine, "it cannot be made");
	summary->tables++;
	if (t->has_initial && !t->initial.complete)
		summary->partial = true;
	return fill_table(engine, t, summary);
}

bool replay_restore(struct engine *engine, const struct execution *e, const char *rename,
	struct replay_summary *summary, const char **database)
{
	struct span main = main_database(e);

	*database = NULL;
	if (!make_databases(engine, e, main, rename))
		return false;
	for (size_t i = 0; i < engine->database_count; i++)
		if (rename ? strcmp(engine->databases[i], rename) == 0
			   : span_eq_str(main, engine->databases[i]))
			*database = engine->databases[i];
	/* Orders and references among the tables are not known here. */
	if (!engine_query(engine, SPAN_LIT("set foreign_key_checks=0, unique_checks=0, "
					   "sql_mode='NO_AUTO_VALUE_ON_ZERO'")))
		return engine_fail(engine, "the tables cannot be restored");
	for (size_t i = 0; i < e->table_count; i++) {
		const struct execution_table *t = &e->tables[i];
		struct span name = rename && span_eq(t->schema.database, main) ? span_str(rename)
									       : t->schema.database;

		if (is_system(t->schema.database) || !t->has_initial)
			continue; /* one that the recorded statements made themselves */
		if (!use_database(engine, name) || !restore_table(engine, t, summary))
			return err_prefix(engine->err, "table %.*s", SPAN_ARG(t->schema.name));
	}
	return engine_query(engine, SPAN_LIT("set foreign_key_checks=default, "
					     "unique_checks=default, sql_mode=default")) ||
	       engine_fail(engine, "the tables cannot be restored");
}
