/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

enum { CHUNK_SIZE_MIN = 16 * 1024, CHUNK_SIZE_MAX = 1024 * 1024 };

struct arena_chunk {
	struct arena_chunk *older;
	size_t size; /* of data */
	_Alignas(16) char data[];
};

void *arena_alloc_slow(struct arena *arena, size_t size)
{
	size_t want = CHUNK_SIZE_MIN;
	struct arena_chunk *chunk;

	CHECK(size <= SIZE_MAX / 2);
	if (arena->chunk)
		want = arena->chunk->size * 2;
	if (want > CHUNK_SIZE_MAX)
		want = CHUNK_SIZE_MAX;
	if (want < size + 16)
		want = (size + 31) & ~(size_t)15;
	chunk = mem_alloc(sizeof(*chunk) + want);
	chunk->older = arena->chunk;
	chunk->size = want;
	arena->chunk = chunk;
	arena->next = chunk->data;
	arena->end = chunk->data + want;
	arena->total += sizeof(*chunk) + want;
	return arena_alloc(arena, size);
}

void *arena_zero(struct arena *arena, size_t size)
{
	return memset(arena_alloc(arena, size), 0, size);
}

struct span arena_copy(struct arena *arena, struct span s)
{
	char *ptr;

	if (!s.ptr)
		return SPAN_NONE;
	ptr = arena_alloc(arena, s.len + 1);
	memcpy(ptr, s.ptr, s.len);
	ptr[s.len] = '\0';
	return span_of(ptr, s.len);
}

char *arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list ap;
	int len;
	char *ptr;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	CHECK(len >= 0);
	ptr = arena_alloc(arena, (size_t)len + 1);
	va_start(ap, fmt);
	vsnprintf(ptr, (size_t)len + 1, fmt, ap);
	va_end(ap);
	return ptr;
}

void arena_clear(struct arena *arena)
{
	struct arena_chunk *keep = arena->chunk;

	if (!keep)
		return;
	for (struct arena_chunk *chunk = keep->older, *older; chunk; chunk = older) {
		older = chunk->older;
		arena->total -= sizeof(*chunk) + chunk->size;
		mem_free(chunk);
	}
	keep->older = NULL;
	arena->next = keep->data;
	arena->end = keep->data + keep->size;
}

void arena_release(struct arena *arena)
{
	arena_clear(arena);
	mem_free(arena->chunk);
	*arena = ARENA_INIT;
}
