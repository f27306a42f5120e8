/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bump allocator: many small things that die together.  Pointers stay valid until clear or
 * release.  One thread.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/attr.h"
#include "base/span.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunk; /* newest first */
	char *next, *end;
	size_t total; /* bytes asked from malloc */
};

#define ARENA_INIT ((struct arena){NULL, NULL, NULL, 0})

void *arena_alloc_slow(struct arena *arena, size_t size) __attribute__((returns_nonnull));

/* Aligned for any type. */
static inline void *arena_alloc(struct arena *arena, size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;

	if (UNLIKELY(need < size || (size_t)(arena->end - arena->next) < need))
		return arena_alloc_slow(arena, size);
	void *ptr = arena->next;
	arena->next += need;
	return ptr;
}

void *arena_zero(struct arena *arena, size_t size) __attribute__((returns_nonnull));
/* A copy with a NUL after it that is not counted in len. */
struct span arena_copy(struct arena *arena, struct span s);
char *arena_printf(struct arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Forgets the contents, keeps one chunk. */
void arena_clear(struct arena *arena);
void arena_release(struct arena *arena);

#endif
