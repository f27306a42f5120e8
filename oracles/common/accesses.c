/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/accesses.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/history/history.h"

void accesses_release(struct accesses *accesses)
{
	arena_release(&accesses->arena);
	mem_free(accesses->rows);
	mem_free(accesses->versions);
	mem_free(accesses->reads);
	mem_free(accesses->misses);
	mem_free(accesses->gone);
	*accesses = (struct accesses){0};
}

uint32_t *accesses_first_begins(const struct accesses *a, const struct history *history)
{
	uint32_t *begins = mem_zero((size_t)a->version_count + 1, sizeof(*begins));

	for (uint32_t i = 0; i < a->row_count; i++) {
		uint32_t first = UINT32_MAX;

		for (uint32_t v = a->rows[i].first + a->rows[i].count; v-- > a->rows[i].first;) {
			uint32_t txn = a->versions[v].txn;

			if (txn != ACCESS_NONE && history->txns[txn].begin_seq < first)
				first = history->txns[txn].begin_seq;
			begins[v] = first;
		}
	}
	return begins;
}

void quantities_note(struct quantities *q, struct access_table *table, uint32_t column, uint64_t value)
{
	if (column >= 64 || table->quantities & access_column(column))
		return;
	for (uint8_t i = 0; i < q->count[column]; i++)
		if (q->values[column][i] == value)
			return;
	if (q->count[column] == QUANTITY_VALUES)
		table->quantities |= access_column(column);
	else
		q->values[column][q->count[column]++] = value;
}

static bool take_number(struct span *text, size_t digits, char next, int64_t *out)
{
	int64_t number = 0;

	if (text->len < digits)
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (text->ptr[i] < '0' || text->ptr[i] > '9')
			return false;
		number = number * 10 + (text->ptr[i] - '0');
	}
	*text = span_of(text->ptr + digits, text->len - digits);
	*out = number;
	if (!next)
		return true;
	if (!text->len || text->ptr[0] != next)
		return false;
	*text = span_of(text->ptr + 1, text->len - 1);
	return true;
}

/* Days since 1970-01-01 of the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool moment_is_between(struct span text, uint64_t from_ns, uint64_t to_ns)
{
	/* Clocks of programs and servers differ a little; zones by quarters of an hour, up to 14 hours. */
	enum { SLACK_S = 10, ZONE_S = 15 * 60, ZONES_S = 14 * 3600 };
	int64_t year, month, day, hour, minute, second, at, from, to, off;

	if (!take_number(&text, 4, '-', &year) || !take_number(&text, 2, '-', &month) ||
		!take_number(&text, 2, ' ', &day) || !take_number(&text, 2, ':', &hour) ||
		!take_number(&text, 2, ':', &minute) || !take_number(&text, 2, 0, &second))
		return false;
	at = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
	from = (int64_t)(from_ns / 1000000000) - SLACK_S;
	to = (int64_t)(to_ns / 1000000000) + SLACK_S;
	/* The zone in which it would be the first moment; then each later one. */
	off = at - from;
	if (off < -ZONES_S || off > ZONES_S + (to - from))
		return false;
	off = (off % ZONE_S + ZONE_S) % ZONE_S;
	return off <= to - from;
}
