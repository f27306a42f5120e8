/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether rows that came are the expected ones. */
#include <stdlib.h>

#include "base/mem.h"
#include "scenario/scenario.h"

enum {
	UNORDERED_MAX = 2000
}; /* rows compared in any order; the depth of assign is bounded by it */

bool scenario_row_fits(const struct scenario_row *row, const struct value *values, size_t columns)
{
	if (row->count != columns)
		return false;
	for (uint32_t i = 0; i < row->count; i++)
		if (!scenario_value_matches(&row->values[i], &values[i]))
			return false;
	return true;
}

struct fit {
	const struct scenario_expect *expect;
	const struct value *values;
	size_t columns, count;
	uint32_t *owner; /* of a row: the expected row that has it */
	bool *tried;
};

/* Finds a row for expected row `e`, moving others if that helps (augmenting paths): with * in two
 * expected rows the first that fits need not be the right one. */
static bool assign(struct fit *f, size_t e)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->tried[i] || !scenario_row_fits(&f->expect->rows[e],
					   &f->values[i * f->columns], f->columns))
			continue;
		f->tried[i] = true;
		if (f->owner[i] == UINT32_MAX || assign(f, f->owner[i])) {
			f->owner[i] = (uint32_t)e;
			return true;
		}
	}
	return false;
}

/* Each expected row has a row of its own. */
static bool all_assigned(struct fit *f)
{
	bool ok = true;

	f->owner = mem_alloc((f->count + 1) * sizeof(*f->owner));
	f->tried = mem_alloc((f->count + 1) * sizeof(*f->tried));
	memset(f->owner, 0xff, (f->count + 1) * sizeof(*f->owner));
	for (size_t e = 0; ok && e < f->expect->row_count; e++) {
		memset(f->tried, 0, f->count * sizeof(*f->tried));
		ok = assign(f, e);
	}
	mem_free(f->owner);
	mem_free(f->tried);
	return ok;
}

bool scenario_rows_fit(const struct scenario_expect *expect, const struct value *values,
	size_t columns, size_t count)
{
	struct fit f = {.expect = expect, .values = values, .columns = columns, .count = count};

	if (count != expect->row_count)
		return false;
	if (!expect->ordered && count <= UNORDERED_MAX)
		return all_assigned(&f);
	for (size_t i = 0; i < count; i++)
		if (!scenario_row_fits(&expect->rows[i], &values[i * columns], columns))
			return false;
	return true;
}

bool scenario_rows_include(const struct scenario_expect *expect, const struct value *values,
	size_t columns, size_t count)
{
	struct fit f = {.expect = expect, .values = values, .columns = columns, .count = count};

	return expect->row_count <= count && count <= UNORDERED_MAX && all_assigned(&f);
}
