/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/expect.h"

#include <stdlib.h>

#include "base/mem.h"

/* The rows that came, as values that point into the client's buffer. */
struct rows {
	struct value *values;
	size_t columns, count;
};

static bool read_rows(const struct client *client, struct rows *out)
{
	struct mp mp = mp_over(buf_span(&client->rows));
	size_t capacity = 0, used = 0;

	*out = (struct rows){0};
	if (client->rows_bad)
		return false;
	for (uint64_t i = 0; i < client->row_count; i++) {
		uint32_t columns = mp_array(&mp);

		out->columns = columns;
		MEM_RESERVE(out->values, used + columns, capacity);
		for (uint32_t j = 0; j < columns; j++)
			if (!value_read(&mp, &out->values[used++]))
				return false;
		out->count++;
	}
	return true;
}

static bool row_fits(const struct scenario_row *row, const struct rows *rows, size_t index)
{
	if (row->count != rows->columns)
		return false;
	for (uint32_t i = 0; i < row->count; i++)
		if (!scenario_value_matches(
			    &row->values[i], &rows->values[index * rows->columns + i]))
			return false;
	return true;
}

/* Finds a row for expected row `e`, moving others if that helps (augmenting paths): with * in two
 * expected rows the first that fits need not be the right one. */
static bool assign(const struct scenario_expect *expect, const struct rows *rows, size_t e,
	uint32_t *owner, bool *tried)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (tried[i] || !row_fits(&expect->rows[e], rows, i))
			continue;
		tried[i] = true;
		if (owner[i] == UINT32_MAX || assign(expect, rows, owner[i], owner, tried)) {
			owner[i] = (uint32_t)e;
			return true;
		}
	}
	return false;
}

enum {
	UNORDERED_MAX = 2000
}; /* rows compared in any order; the depth of assign is bounded by it */

static bool rows_fit(const struct scenario_expect *expect, const struct rows *rows)
{
	uint32_t *owner;
	bool *tried, ok = true;

	if (rows->count != expect->row_count)
		return false;
	if (expect->ordered || rows->count > UNORDERED_MAX) {
		for (size_t i = 0; i < rows->count; i++)
			if (!row_fits(&expect->rows[i], rows, i))
				return false;
		return true;
	}
	owner = mem_alloc((rows->count + 1) * sizeof(*owner));
	tried = mem_alloc((rows->count + 1) * sizeof(*tried));
	memset(owner, 0xff, (rows->count + 1) * sizeof(*owner));
	for (size_t e = 0; ok && e < expect->row_count; e++) {
		memset(tried, 0, rows->count * sizeof(*tried));
		ok = assign(expect, rows, e, owner, tried);
	}
	free(owner);
	free(tried);
	return ok;
}

void expect_print_rows(const struct client *client, uint64_t rows_max, struct buf *out)
{
	struct rows rows;

	if (read_rows(client, &rows)) {
		for (size_t i = 0; i < rows.count && i < rows_max; i++) {
			buf_add_str(out, i ? " (" : "(");
			for (size_t j = 0; j < rows.columns; j++) {
				if (j)
					buf_add_char(out, ',');
				value_print(out, &rows.values[i * rows.columns + j], 60);
			}
			buf_add_char(out, ')');
		}
		if (!rows.count)
			buf_add_str(out, "empty");
		else if (rows.count > rows_max)
			buf_printf(out, " … %zu rows", rows.count);
	} else {
		buf_add_str(out, "rows that could not be read");
	}
	free(rows.values);
}

static bool outcome_met(const struct scenario_expect *expect, const struct client *client)
{
	struct rows rows;
	bool ok;

	switch (expect->outcome) {
	case SCENARIO_OUTCOME_ANY:
		return true;
	case SCENARIO_OUTCOME_OK:
		return !client->error &&
		       (expect->count == SCENARIO_ANY_COUNT || expect->count == client->affected);
	case SCENARIO_OUTCOME_ERROR:
		return client->error &&
		       (expect->count == SCENARIO_ANY_COUNT || expect->count == client->error);
	case SCENARIO_OUTCOME_ROWS:
		if (client->error || !client->has_rows)
			return false;
		ok = read_rows(client, &rows) && rows_fit(expect, &rows);
		free(rows.values);
		return ok;
	}
	return false;
}

bool expect_met(const struct scenario_expect *expect, const struct client *client, struct buf *why)
{
	bool blocking = expect->blocking == SCENARIO_BLOCKING_ANY ||
			(expect->blocking == SCENARIO_BLOCKED) == client->blocked;

	if (blocking && outcome_met(expect, client))
		return true;
	buf_add_str(why, "expected ");
	scenario_print_expect(expect, why);
	if (!blocking)
		buf_add_str(why, client->blocked ? ", but it was blocked"
						 : ", but it was not "
						   "blocked");
	return false;
}
