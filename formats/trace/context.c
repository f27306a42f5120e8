/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/context.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

struct context_entry {
	struct context_entry *chain;       /* same bucket; only while in force */
	struct context_entry *prev, *next; /* all entries, by age */
	struct context_entry *dying_next;
	uint64_t hash;
	uint64_t ended; /* seq of the change that forgot or replaced it; 0: in force */
	size_t key_len, record_len;
	char bytes[]; /* key, then record */
};

static void unlink_entry(struct context *context, struct context_entry *entry)
{
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		context->first = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
	else
		context->last = entry->prev;
	context->count--;
	mem_free(entry);
}

static void grow(struct context *context)
{
	size_t capacity = context->buckets ? 2 * (context->mask + 1) : 64;

	mem_free(context->buckets);
	context->buckets = mem_zero(capacity, sizeof(*context->buckets));
	context->mask = capacity - 1;
	for (struct context_entry *e = context->first; e; e = e->next) {
		if (!e->ended) {
			struct context_entry **bucket = &context->buckets[e->hash & context->mask];

			e->chain = *bucket;
			*bucket = e;
		}
	}
}

/* Takes the entry in force out of its bucket; it stays in the list until the watermark passes. */
static void end_entry(struct context *context, struct span key, uint64_t hash, uint64_t seq)
{
	struct context_entry **at;

	if (!context->buckets)
		return;
	for (at = &context->buckets[hash & context->mask]; *at; at = &(*at)->chain) {
		struct context_entry *e = *at;

		if (e->hash == hash && span_eq(span_of(e->bytes, e->key_len), key)) {
			*at = e->chain;
			e->chain = NULL;
			e->ended = seq ? seq : 1;
			e->dying_next = context->dying;
			context->dying = e;
			return;
		}
	}
}

void context_set(struct context *context, struct span key, struct span record, uint64_t seq)
{
	uint64_t hash = hash_bytes(key.ptr, key.len);
	struct context_entry *e, **bucket;

	end_entry(context, key, hash, seq);
	if (!record.ptr)
		return;
	if (!context->buckets || context->count > context->mask)
		grow(context);
	e = mem_alloc(sizeof(*e) + key.len + record.len);
	memset(e, 0, sizeof(*e));
	e->hash = hash;
	e->key_len = key.len;
	e->record_len = record.len;
	memcpy(e->bytes, key.ptr, key.len);
	memcpy(e->bytes + key.len, record.ptr, record.len);
	e->prev = context->last;
	if (context->last)
		context->last->next = e;
	else
		context->first = e;
	context->last = e;
	context->count++;
	bucket = &context->buckets[hash & context->mask];
	e->chain = *bucket;
	*bucket = e;
}

void context_advance(struct context *context, uint64_t watermark)
{
	struct context_entry **at = &context->dying;

	while (*at) {
		struct context_entry *e = *at;

		if (e->ended < watermark) {
			*at = e->dying_next;
			unlink_entry(context, e);
		} else {
			at = &e->dying_next;
		}
	}
}

void context_each(
	const struct context *context, void (*visit)(void *arg, struct span record), void *arg)
{
	for (const struct context_entry *e = context->first; e; e = e->next)
		visit(arg, span_of(e->bytes + e->key_len, e->record_len));
}

void context_release(struct context *context)
{
	while (context->first)
		unlink_entry(context, context->first);
	mem_free(context->buckets);
	*context = CONTEXT_INIT;
}
