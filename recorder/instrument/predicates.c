/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/predicates.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/text/raw_token.h"

struct predicate {
	const struct instrument_table *table;
	struct buf text;
	uint32_t session, number;
	uint64_t used; /* when, counted in predicates; 0: never */
};

struct predicates {
	pthread_mutex_t lock;
	uint64_t clock;
	struct predicate list[PREDICATES_KEPT];
};

struct predicates *predicates_new(void)
{
	struct predicates *predicates = mem_zero(1, sizeof(*predicates));

	pthread_mutex_init(&predicates->lock, NULL);
	return predicates;
}

void predicates_free(struct predicates *predicates)
{
	if (!predicates)
		return;
	for (size_t i = 0; i < PREDICATES_KEPT; i++)
		buf_release(&predicates->list[i].text);
	pthread_mutex_destroy(&predicates->lock);
	mem_free(predicates);
}

/* Without the names of tables before those of columns: a write may call its table otherwise, and
 * has no other.  False: too long, or text that depends on the session's character set. */
static bool add_unqualified(struct span text, struct buf *out)
{
	size_t at = 0;

	if (text.len > PREDICATE_TEXT_MAX)
		return false;
	while (at < text.len) {
		char c = text.ptr[at];
		size_t quoted = raw_is_quote(c) ? raw_quoted(text, at) : 1;
		size_t end = quoted ? at + quoted : text.len;

		for (size_t i = at; i < end; i++)
			if ((unsigned char)text.ptr[i] >= 0x80)
				return false;
		if (c == '`' && end < text.len && text.ptr[end] == '.')
			end++;
		else
			buf_add(out, text.ptr + at, end - at);
		at = end;
	}
	return true;
}

void predicates_add(struct predicates *predicates, const struct instrument_table *table,
	struct span text, uint32_t session, uint32_t number)
{
	struct buf plain = BUF_INIT;
	struct predicate *to = &predicates->list[0];

	if (!add_unqualified(text, &plain)) {
		buf_release(&plain);
		return;
	}
	pthread_mutex_lock(&predicates->lock);
	for (size_t i = 0; i < PREDICATES_KEPT; i++) {
		struct predicate *p = &predicates->list[i];

		if (p->table == table && span_eq(buf_span(&p->text), buf_span(&plain))) {
			to = p;
			break;
		}
		if (p->used < to->used)
			to = p;
	}
	to->table = table;
	to->session = session;
	to->number = number;
	to->used = ++predicates->clock;
	buf_clear(&to->text);
	buf_add_span(&to->text, buf_span(&plain));
	pthread_mutex_unlock(&predicates->lock);
	buf_release(&plain);
}

/* The newest that is older than `than`. */
static const struct predicate *newest(
	const struct predicates *predicates, const struct instrument_table *table, uint64_t than)
{
	const struct predicate *found = NULL;

	for (size_t i = 0; i < PREDICATES_KEPT; i++) {
		const struct predicate *p = &predicates->list[i];

		if (p->used && p->table == table && p->used < than &&
			(!found || p->used > found->used))
			found = p;
	}
	return found;
}

void predicates_take(struct predicates *predicates, const struct instrument_table *table,
	struct predicate_matches *out)
{
	const struct predicate *p;
	uint64_t than = UINT64_MAX;

	pthread_mutex_lock(&predicates->lock);
	while (out->count < PREDICATES_ASKED && (p = newest(predicates, table, than)) != NULL) {
		struct predicate_match *match = &out->list[out->count++];

		match->session = p->session;
		match->number = p->number;
		buf_add_span(&match->text, buf_span(&p->text));
		than = p->used;
	}
	pthread_mutex_unlock(&predicates->lock);
}

void predicate_matches_clear(struct predicate_matches *matches)
{
	for (size_t i = 0; i < PREDICATES_ASKED; i++) {
		buf_clear(&matches->list[i].text);
		buf_clear(&matches->list[i].before);
		buf_clear(&matches->list[i].after);
	}
	matches->count = 0;
	matches->before_done = matches->after_done = false;
}

void predicate_matches_release(struct predicate_matches *matches)
{
	for (size_t i = 0; i < PREDICATES_ASKED; i++) {
		buf_release(&matches->list[i].text);
		buf_release(&matches->list[i].before);
		buf_release(&matches->list[i].after);
	}
}
