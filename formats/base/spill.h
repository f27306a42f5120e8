/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Large blocks of memory in a file, so that what needs more memory than there is takes room on a disk instead of failing.
 *
 * The file has no name and goes with the process.  One shared mapping of it holds all blocks: its pages are the kernel's
 * cache of the file.  When the process has more memory than it may, all pages of the file leave the process; those that it
 * needs come back, from the cache or from the disk.  Nothing is lost or rounded on that way, so a program gives the same
 * answers with little memory as with much.
 *
 * mem.h decides which blocks come here.  Any thread may call these.
 */
#ifndef BASE_SPILL_H
#define BASE_SPILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the file, in the folder TMPDIR, or /var/tmp, and says so on standard error.  resident_max: what the process may
 * have in memory.  disk_max: how far the file may grow; past it the process ends with a message.  False: there is no such
 * file here, and no block can be had. */
bool spill_begin(uint64_t resident_max, uint64_t disk_max);
/* More input has come: the file may grow by that much more. */
void spill_allow(uint64_t bytes);

/* A block of at least `size` bytes, all zero; NULL: there is none. */
void *spill_alloc(size_t size);
/* The block with room for `size` bytes, perhaps moved; NULL: there is none, and the old one stays as it is. */
void *spill_realloc(void *ptr, size_t size);
void spill_free(void *ptr);
/* These pages are needed no more: both their memory and their room in the file can be had by others. */
void spill_discard(void *ptr, size_t len);

/* Where the blocks are; for spill_owns().  The room is set last: until then another thread's pointers are within none. */
extern atomic_uintptr_t spill_first, spill_room;

/* Whether it is within a block of the file. */
static inline bool spill_owns(const void *ptr)
{
	uintptr_t room = atomic_load_explicit(&spill_room, memory_order_acquire);

	return (uintptr_t)ptr - atomic_load_explicit(&spill_first, memory_order_relaxed) < room;
}

#endif
