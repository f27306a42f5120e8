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
	mem_free(rows.values);
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
		ok = read_rows(client, &rows) && scenario_rows_fit(expect, rows.values, rows.columns, rows.count);
		mem_free(rows.values);
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
