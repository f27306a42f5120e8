/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/output.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static uint64_t limited; /* by mem_limit; 0: not */

void mem_limit(uint64_t bytes)
{
	struct rlimit limit;

	/* The shadow memory of a sanitizer is many times as large as the machine's. */
	if (SANITIZED)
		return;
	if (!bytes) {
		long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

		bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
	}
	/* Heap and private mappings, whichever library asks for them. */
	if (bytes && getrlimit(RLIMIT_DATA, &limit) == 0) {
		limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
		(void)setrlimit(RLIMIT_DATA, &limit);
		limited = bytes;
	}
}

void mem_exhausted(size_t size)
{
	const char *program = output_program();
	bool judges = strcmp(program, "isotrace") == 0;

	if (limited)
		fprintf(stderr, "%s: more memory is needed than --memory allows (%llu MiB)\n", program,
			(unsigned long long)(limited >> 20));
	fprintf(stderr, "%s: out of memory (asked for %zu bytes more). Use a machine with more memory%s\n",
		program, size,
		judges ? ", or have isotrace check do less: one oracle alone (--oracle=adya, --oracle=mvcc), or "
			 "without the levels of sessions and real time (--no-strong). A shorter recording needs "
			 "less, too."
		       : "; what was recorded before and is written stays readable");
	_exit(EXIT_STATUS_INPUT);
}

void *mem_must(void *ptr)
{
	if (!ptr)
		mem_exhausted(0);
	return ptr;
}

void *mem_alloc(size_t size)
{
	void *ptr = malloc(size ? size : 1);

	if (!ptr)
		mem_exhausted(size);
	return ptr;
}

/* The whole pages it touches, those at both ends included: a mapping of malloc's that were advised
 * in part would be two areas to the kernel, and mremap, by which realloc moves large blocks without
 * copying them, refuses to move two at once. */
static void advise_large(void *ptr, size_t size)
{
	enum { LARGE_MIN = 4 << 20, PAGE = 4096 };
	uintptr_t begin = (uintptr_t)ptr & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)ptr + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

	if (size >= LARGE_MIN)
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void *mem_zero(size_t count, size_t size)
{
	void *ptr = calloc(count ? count : 1, size ? size : 1);

	if (!ptr)
		mem_exhausted(count);
	advise_large(ptr, count * size);
	return ptr;
}

void mem_free(void *ptr)
{
	free(ptr);
}

static void *realloc_small(void *ptr, size_t count, size_t size)
{
	void *fresh = reallocarray(ptr, count ? count : 1, size ? size : 1);

	if (!fresh)
		mem_exhausted(count);
	return fresh;
}

void *mem_realloc(void *ptr, size_t count, size_t size)
{
	void *fresh = realloc_small(ptr, count, size);

	advise_large(fresh, count * size);
	return fresh;
}

size_t mem_discard(void *ptr, size_t from, size_t used)
{
	/* Large pages, so that none is split. */
	enum { PAGE = 2 << 20 };
	uintptr_t begin = ((uintptr_t)ptr + from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t end = ((uintptr_t)ptr + used) & ~(uintptr_t)(PAGE - 1);

	if (end <= begin)
		return from;
	(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	return end - (uintptr_t)ptr;
}

char *mem_strdup(const char *s)
{
	return mem_dup(s, strlen(s) + 1);
}

void *mem_dup(const void *ptr, size_t len)
{
	void *copy = mem_alloc(len);

	if (len)
		memcpy(copy, ptr, len);
	return copy;
}

void mem_wipe(void *ptr, size_t len)
{
	if (len)
		explicit_bzero(ptr, len);
}

static size_t grown(size_t need, const size_t *capacity)
{
	size_t fresh = *capacity ? *capacity : 16;

	while (fresh < need) {
		if (fresh > SIZE_MAX / 2)
			mem_exhausted(need);
		fresh *= 2;
	}
	return fresh;
}

void *mem_grow(void *ptr, size_t need, size_t *capacity, size_t size)
{
	*capacity = grown(need, capacity);
	return mem_realloc(ptr, *capacity, size);
}

void *mem_grow_small(void *ptr, size_t need, size_t *capacity, size_t size)
{
	*capacity = grown(need, capacity);
	return realloc_small(ptr, *capacity, size);
}
