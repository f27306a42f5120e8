/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of a foreign history, a window at a time.
 *
 * A reader of a format takes whole records from the window.  When the window ends inside a record
 * it asks for more (window_more) and starts that record again: what it did with the first half must
 * be undone or be the same the second time.  So no reader keeps state between two bytes, and memory
 * is bounded by the longest record, WINDOW_RECORD_MAX.
 */
#ifndef IMPORT_WINDOW_H
#define IMPORT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/meter.h"
#include "base/span.h"

enum {
	WINDOW_SIZE = 1 << 20,
	WINDOW_RECORD_MAX = 256 << 20, /* one transaction with all its lists */
};

struct window {
	const char *name; /* for messages; the caller's */
	int fd;           /* -1: from memory_ref */
	struct span memory_ref;
	size_t step; /* bytes a refill; tests set it to 1 */
	char *data;  /* a NUL stands after the last byte */
	size_t pos, len, capacity;
	bool eof;          /* data[len] is the end of the input */
	uint64_t base;     /* offset in the input of data[0] */
	uint64_t newlines; /* before data[0] */
	uint64_t size;     /* of the file; 0: not known */
	const struct meter *meter; /* NULL: none */
};

MUST_CHECK bool window_open(struct window *in, const char *path, struct err *err);
/* Borrows the bytes until window_close. */
void window_memory(struct window *in, const char *name, struct span bytes, size_t step);
void window_close(struct window *in);

/* Drops what stands before pos and reads on.  False: an error, an interruption, or the record is too long.  At the
 * end of the input it sets eof and succeeds. */
MUST_CHECK bool window_more(struct window *in, struct err *err);
/* At the beginning of a text: passes over a byte order mark (UTF-8), which says nothing. */
MUST_CHECK bool window_skip_mark(struct window *in, struct err *err);
/* Puts "NAME:LINE (byte OFFSET): " before the message in err, and the offset into it. */
bool window_error(const struct window *in, const char *at, struct err *err);

#endif
