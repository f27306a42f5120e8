/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that is there: these end the process with a message when the system has none left.  The
 * analyzer uses them everywhere.  The recorder uses them at start and for small things of bounded
 * size; what grows with the traffic of a session comes from its own bounded buffers.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/*
 * What the process may have; 0: the machine's memory.  It ends with a message rather than take more.  After
 * mem_allow_spill() large blocks go to a temporary file instead (spill.h), once a quarter of it is taken.
 */
void mem_limit(uint64_t bytes);
void mem_allow_spill(void);
/* Between fork() and exec(): the other program, a server for one, may have what it could have before mem_limit(). */
void mem_lift_limit(void);
/* So many bytes of input were read: the temporary file may grow with them, and not without end. */
void mem_input(uint64_t bytes);
/* Says that there is no memory, and ends the program; size: what was asked for, 0: not known. */
NORETURN void mem_exhausted(size_t size);
/* What a library has allocated; NULL ends the program as a failing mem_alloc() does. */
void *mem_must(void *ptr);
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1)));
/* count * size bytes, all zero; the product is checked.  Large pages as below. */
void *mem_zero(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/* Arrays.  Asks for large pages for a large one: it costs fewer page faults, and the processor
 * finds what is read at random without walking page tables. */
void *mem_realloc(void *ptr, size_t count, size_t size) MUST_CHECK;
/* The first `used` bytes of an array that mem_realloc made are needed no more: gives their pages
 * back, where they are whole, so that others can have them before the array is freed.  Returns how
 * many bytes are gone; call it again with `from` set to that.  Contents are lost. */
size_t mem_discard(void *ptr, size_t from, size_t used) MUST_CHECK;
/* What any of these, or malloc(), has given; NULL: nothing. */
void mem_free(void *ptr);
char *mem_strdup(const char *s) __attribute__((malloc, returns_nonnull));
void *mem_dup(const void *ptr, size_t len) __attribute__((malloc));
/* Overwrites a secret in a way the compiler keeps. */
void mem_wipe(void *ptr, size_t len);

/* Begins to fetch an element that is going to be looked at, be it across two cache lines. */
#define MEM_PREFETCH(ptr)                                                                          \
	do {                                                                                       \
		const char *prefetch_ptr = (const char *)(ptr);                                    \
                                                                                                   \
		__builtin_prefetch(prefetch_ptr, 1);                                               \
		__builtin_prefetch(prefetch_ptr + sizeof(*(ptr)) - 1, 1);                          \
	} while (0)

/* Room for `need` elements in a growable array: doubles, so n appends cost O(n). */
void *mem_grow(void *ptr, size_t need, size_t *capacity, size_t size) MUST_CHECK;
#define MEM_RESERVE(ptr, need, capacity)                                                         \
	do {                                                                                     \
		if ((size_t)(need) > (size_t)(capacity))                                         \
			(ptr) = mem_grow((ptr), (need), &(capacity), sizeof(*(ptr)));            \
	} while (0)

/* The same for what is filled and read from its beginning to its end, in small pages.  A large page
 * must be found in one piece: where memory is in pieces the kernel moves others about first, and
 * the free memory of a virtual machine that is in one piece is what its host took back (free page
 * reporting).  Measured on one: 5.4 ms for 2 MiB in a large page, 0.6 ms in small ones. */
void *mem_grow_small(void *ptr, size_t need, size_t *capacity, size_t size) MUST_CHECK;
#define MEM_RESERVE_SMALL(ptr, need, capacity)                                                     \
	do {                                                                                       \
		if ((size_t)(need) > (size_t)(capacity))                                           \
			(ptr) = mem_grow_small((ptr), (need), &(capacity), sizeof(*(ptr)));        \
	} while (0)

#endif
