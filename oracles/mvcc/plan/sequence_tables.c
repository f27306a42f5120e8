/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MariaDB's tables of numbers, seq_1_to_10 and seq_0_to_100_step_5, which are there without being created (MariaDB
 * manual, "Sequence Storage Engine").  They are of no transaction: no statement writes them, they make no read view and
 * their rows are not locked.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

enum {
	ROWS_MAX = 100000,
	ALL_ROWS_MAX = 1000000, /* of all that a trace names */
};

struct sequence {
	struct sequence *next;
	struct eval_table *def;
	struct eval_rows rows;
	size_t rows_so_far; /* of this one and those before it */
};

/* A word, then a number as it is usually written: the server takes more. */
static bool take(struct span *rest, const char *word, uint64_t *number)
{
	size_t len = strlen(word), digits = 0;

	if (rest->len < len || memcmp(rest->ptr, word, len) != 0)
		return false;
	*rest = span_of(rest->ptr + len, rest->len - len);
	for (*number = 0; digits < rest->len && rest->ptr[digits] >= '0' && rest->ptr[digits] <= '9'; digits++) {
		if (digits == 18)
			return false;
		*number = *number * 10 + (uint64_t)(rest->ptr[digits] - '0');
	}
	if (!digits || (rest->ptr[0] == '0' && digits > 1))
		return false;
	*rest = span_of(rest->ptr + digits, rest->len - digits);
	return true;
}

static struct eval_table *define(struct mvcc *m, struct span name)
{
	struct eval_outcome outcome = {0};
	struct sql_stmt *stmt = NULL;
	struct eval_table *def;
	struct err err;

	if (!sql_parse(&m->catalog.arena,
		    SPAN_LIT("CREATE TABLE s (seq BIGINT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB"), &m->sql,
		    &stmt, &err))
		return NULL;
	def = eval_table_create(&m->catalog.arena, stmt->u.create_table, &m->now.env, &outcome);
	if (def)
		def->name = arena_copy(&m->catalog.arena, name);
	return def;
}

/* Backwards, they are those that it has forwards: seq_10_to_1_step_4 has 9, 5 and 1. */
static struct eval_rows fill(struct arena *arena, uint64_t low, uint64_t high, uint64_t step)
{
	size_t count = (size_t)((high - low) / step + 1);
	const struct eval_value **rows = arena_alloc(arena, count * sizeof(*rows));
	struct eval_value *values = arena_zero(arena, count * sizeof(*values));

	for (size_t i = 0; i < count; i++) {
		values[i] = eval_uint(low + i * step);
		rows[i] = &values[i];
	}
	return (struct eval_rows){rows, count};
}

const struct eval_table *sequence_named(struct mvcc *m, struct span name)
{
	uint64_t from, to, low, high, step = 1;
	struct span rest = name;
	struct sequence *s;

	if (m->now.env.flavour != SQL_MARIADB || !take(&rest, "seq_", &from) || !take(&rest, "_to_", &to) ||
		(rest.len && !take(&rest, "_step_", &step)) || rest.len || !step)
		return NULL;
	low = from < to ? from : to;
	high = from < to ? to : from;
	if ((high - low) / step >= ROWS_MAX)
		return NULL;
	for (s = m->catalog.sequences; s; s = s->next) {
		if (span_eq(s->def->name, name))
			return s->def;
	}
	if (m->catalog.sequences && m->catalog.sequences->rows_so_far > ALL_ROWS_MAX)
		return NULL;
	s = arena_alloc(&m->catalog.arena, sizeof(*s));
	s->def = define(m, name);
	if (!s->def)
		return NULL;
	s->rows_so_far = (m->catalog.sequences ? m->catalog.sequences->rows_so_far : 0) + (size_t)((high - low) / step + 1);
	s->rows = fill(&m->catalog.arena, low, high, step);
	s->next = m->catalog.sequences;
	m->catalog.sequences = s;
	return s->def;
}

bool sequence_rows(const struct mvcc *m, const struct eval_table *def, struct eval_rows *out)
{
	for (const struct sequence *s = m->catalog.sequences; s; s = s->next) {
		if (s->def == def) {
			*out = s->rows;
			return true;
		}
	}
	return false;
}
