/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/output.h"
#include "base/spill.h"
#include "base/text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

enum {
	LARGE_BLOCK = 1 << 20, /* what may go to a file */
	/* A program has this much before it has read anything. */
	PRIVATE_MIN = 64 << 20,
};
/* How large the temporary file may be: so many times what was read, compressed as it may be, and that much in any case. */
static const uint64_t disk_for_input = 200, disk_at_least = (uint64_t)1 << 30;

static uint64_t limited; /* by mem_limit; 0: not */
static bool may_spill;
static struct rlimit unlimited; /* as it was before */
static bool is_set;

/* The number in a file of the kernel's; 0: there is none. */
static uint64_t number_in(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[64];
	uint64_t number = 0;

	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file) || !text_number(span_of(line, strcspn(line, "\n")), &number))
		number = 0;
	fclose(file);
	return number;
}

/* What the machine has, or what the container allows (cgroups, version 2 and 1). */
static uint64_t machine_memory(void)
{
	static const char *const limits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		uint64_t limit = number_in(limits[i]);

		if (limit && (!bytes || limit < bytes))
			bytes = limit;
	}
	return bytes;
}

void mem_limit(uint64_t bytes)
{
	struct rlimit limit;
	uint64_t most;

	limited = bytes ? bytes : machine_memory();
	/* The shadow memory of a sanitizer is many times as large as the machine's. */
	if (SANITIZED || !limited || getrlimit(RLIMIT_DATA, &limit) != 0)
		return;
	if (!is_set)
		unlimited = limit;
	is_set = true;
	/* Heap and private mappings, whichever library asks for them. */
	most = may_spill && limited < PRIVATE_MIN ? PRIVATE_MIN : limited;
	limit.rlim_cur = most < limit.rlim_max ? most : limit.rlim_max;
	(void)setrlimit(RLIMIT_DATA, &limit);
}

void mem_lift_limit(void)
{
	if (is_set)
		(void)setrlimit(RLIMIT_DATA, &unlimited);
}

void mem_allow_spill(void)
{
	may_spill = true;
}

void mem_input(uint64_t bytes)
{
	if (may_spill && bytes < UINT64_MAX / disk_for_input)
		spill_allow(bytes * disk_for_input);
}

/* Heap and private mappings of this process, used or not; with a sanitizer, whose shadow would count, what is in memory. */
static uint64_t private_now(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long long pages = 0;

	if (file && fscanf(file, SANITIZED ? "%*u %llu" : "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Whether a block of this size is to be in the file: large ones are, when the process has a quarter of what it may have. */
static bool goes_to_file(size_t size)
{
	if (!may_spill || !limited || size < LARGE_BLOCK || private_now() + size <= limited / 4)
		return false;
	return spill_begin(limited / 4 * 3, disk_at_least);
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
	void *ptr = goes_to_file(size) ? spill_alloc(size) : malloc(size ? size : 1);

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

	if (size >= LARGE_MIN && !spill_owns(ptr))
		(void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

void *mem_zero(size_t count, size_t size)
{
	size_t bytes;
	void *ptr;

	if (!__builtin_mul_overflow(count, size, &bytes) && goes_to_file(bytes))
		ptr = spill_alloc(bytes);
	else
		ptr = calloc(count ? count : 1, size ? size : 1);
	if (!ptr)
		mem_exhausted(count);
	advise_large(ptr, count * size);
	return ptr;
}

void mem_free(void *ptr)
{
	if (spill_owns(ptr))
		spill_free(ptr);
	else
		free(ptr);
}

/* From the heap to the file. */
static void *move_to_file(void *ptr, size_t size)
{
	void *fresh = spill_alloc(size);
	size_t had = ptr ? malloc_usable_size(ptr) : 0;

	if (fresh && had)
		memcpy(fresh, ptr, had < size ? had : size);
	if (fresh)
		free(ptr);
	return fresh;
}

static void *realloc_small(void *ptr, size_t count, size_t size)
{
	size_t bytes;
	void *fresh;

	if (__builtin_mul_overflow(count, size, &bytes))
		fresh = NULL;
	else if (spill_owns(ptr))
		fresh = spill_realloc(ptr, bytes);
	else if (goes_to_file(bytes))
		fresh = move_to_file(ptr, bytes);
	else
		fresh = realloc(ptr, bytes ? bytes : 1);
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
	if (spill_owns(ptr))
		spill_discard((void *)begin, end - begin);
	else
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
