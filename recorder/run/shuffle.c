/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/shuffle.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Which session is next: with a weight of the statements it has left, all interleavings are
 * equally likely. */
static uint32_t pick(const size_t *left, size_t count, size_t all, uint64_t *state)
{
	size_t at = (size_t)(next_random(state) % all);
	uint32_t session = 0;

	while (session + 1 < count && at >= left[session])
		at -= left[session++];
	return session;
}

static bool copy_head(struct scenario *out, const struct scenario *s, uint64_t seed,
	uint64_t number, struct err *err)
{
	char text[80];
	bool ok = true;

	/* All sessions first: an isolation line may name them. */
	for (size_t i = 0; i < s->session_count && ok; i++) {
		uint32_t index;

		ok = scenario_session(out, s->sessions[i].name, &index, err);
	}
	for (size_t i = 0; i < s->meta_count && ok; i++)
		ok = span_eq_str(s->meta[i].key, "expect") ||
		     scenario_add_meta(out, s->meta[i].key, s->meta[i].value, err);
	snprintf(text, sizeof(text), "seed %llu, number %llu", (unsigned long long)seed,
		(unsigned long long)number);
	ok = ok && scenario_add_meta(out, SPAN_LIT("shuffled"), span_str(text), err);
	for (size_t i = 0; i < s->setup.count && ok; i++)
		ok = scenario_add(out, &out->setup, SCENARIO_NO_SESSION, s->setup.stmts[i].sql, err);
	for (size_t i = 0; i < s->final.count && ok; i++)
		ok = scenario_add(out, &out->final, SCENARIO_NO_SESSION, s->final.stmts[i].sql, err);
	return ok;
}

bool scenario_shuffle(struct scenario *out, const struct scenario *s, uint64_t seed,
	uint64_t number, struct err *err)
{
	uint64_t state = seed * 0x2545f4914f6cdd1du + number;
	size_t all = s->schedule.count;
	size_t *left = mem_zero(s->session_count + 1, sizeof(*left));
	size_t *next = mem_zero(s->session_count + 1, sizeof(*next));
	bool ok;

	scenario_init(out);
	ok = copy_head(out, s, seed, number, err);
	for (size_t i = 0; i < all; i++)
		left[s->schedule.stmts[i].session]++;
	for (; all && ok; all--) {
		uint32_t session = pick(left, s->session_count, all, &state);

		while (s->schedule.stmts[next[session]].session != session)
			next[session]++;
		ok = scenario_add(
			out, &out->schedule, session, s->schedule.stmts[next[session]++].sql, err);
		left[session]--;
	}
	mem_free(left);
	mem_free(next);
	if (!ok)
		scenario_release(out);
	return ok;
}
