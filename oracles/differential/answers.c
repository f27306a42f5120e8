/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether two servers gave the same answer. */
#include <stdlib.h>

#include "base/mem.h"
#include "differential/differential.h"
#include "server/errors.h"

/* A row in words: two servers may send the same number in different types. */
static char *row_text(struct span row)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			break;
		buf_add_char(&text, ',');
		value_print(&text, &value, 0);
	}
	buf_add_char(&text, ')');
	return text.data;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **sorted_rows(const struct execution_rows *rows)
{
	char **out = mem_zero(rows->count + 1, sizeof(*out));

	for (size_t i = 0; i < rows->count; i++)
		out[i] = row_text(rows->rows[i]);
	qsort(out, rows->count, sizeof(*out), by_text);
	return out;
}

static void free_rows(char **rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mem_free(rows[i]);
	mem_free(rows);
}

bool diff_rows_equal(const struct execution_rows *a, const struct execution_rows *b)
{
	bool equal = a->total == b->total;
	char **left, **right;

	if (!equal || a->count != b->count)
		return equal && (!a->complete || !b->complete);
	left = sorted_rows(a);
	right = sorted_rows(b);
	for (size_t i = 0; i < a->count && equal; i++)
		equal = strcmp(left[i], right[i]) == 0;
	free_rows(left, a->count);
	free_rows(right, b->count);
	return equal;
}

bool diff_answers(const struct execution_stmt *a, const struct execution_stmt *b,
	enum diff_class *out, uint64_t *not_compared)
{
	const struct record_stmt *x = &a->record, *y = &b->record;

	*out = DIFF_BLOCKED;
	/* A statement that was never answered was waited for, and it is not known whether it waited for a lock. */
	if (execution_blocked(a) != execution_blocked(b) &&
		!((x->flags | y->flags) & STMT_NO_REPLY))
		return true;
	*out = DIFF_DEADLOCK;
	if ((x->error == ER_LOCK_DEADLOCK) != (y->error == ER_LOCK_DEADLOCK))
		return true;
	*out = DIFF_ERROR;
	if (x->error != y->error || (x->flags & STMT_NO_REPLY) != (y->flags & STMT_NO_REPLY))
		return true;
	if (x->error || (x->flags & STMT_NO_REPLY))
		return false;
	*out = DIFF_WARNING;
	if (x->warnings != y->warnings)
		return true;
	*out = DIFF_RESULT;
	if (a->set_count != b->set_count || (!a->set_count && x->affected != y->affected))
		return true;
	for (uint32_t i = 0; i < a->set_count; i++) {
		if (!diff_rows_equal(&a->sets[i], &b->sets[i]))
			return true;
		if (!a->sets[i].complete || !b->sets[i].complete)
			++*not_compared;
	}
	return false;
}
