/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a trace: segment after segment through one window, read with read().
 *
 * Not mapped into memory: a file that another process cuts short would kill the reader with SIGBUS,
 * pipes could not be read the same way, and copying costs a fraction of decompressing.  The window
 * grows only as bytes really arrive, never by what a length field says.
 */
#ifndef TRACE_INPUT_H
#define TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct input_segment {
	char *path;      /* NULL: standard input */
	char *name;      /* for messages */
	uint64_t size;   /* 0: not known */
	uint32_t number; /* by its header, or else by its name; 0: neither says */
	unsigned char trace_id[16];
	bool header_read; /* trace_id and number are from the header */
};

struct input {
	struct input_segment *segments;
	size_t count, capacity;
	size_t current; /* segment open now */
	bool directory;
	int fd; /* -1: none */
	bool eof;
	struct err failure; /* of read(); code ERR_NONE: none */
	unsigned char *data;
	size_t data_capacity, start, end; /* the window's bytes are data[start..end) */
	uint64_t offset;                  /* in the segment, of data[start] */
	uint64_t done;                    /* bytes of all segments before */
};

/* Lists the segments; opens none of them for reading yet.  In a directory, those of another trace
 * than the first are an error, or with `salvage` left for the caller to report. */
bool input_open(struct input *input, const char *path, struct err *err) MUST_CHECK;
void input_release(struct input *input);
/* Opens a segment. */
bool input_select(struct input *input, size_t index, struct err *err) MUST_CHECK;
/* Tries to have `need` bytes in the window; returns how many there are: fewer only at the end. */
size_t input_need(struct input *input, size_t need);
static inline const unsigned char *input_bytes(const struct input *input)
{
	return input->data + input->start;
}
static inline size_t input_left(const struct input *input)
{
	return input->end - input->start;
}
static inline void input_skip(struct input *input, size_t count)
{
	input->start += count;
	input->offset += count;
}
/* Reads once more, whatever comes; false at the end. */
bool input_more(struct input *input);
/* What bytes look like that are no trace: "a gzip file", and what to do about it. */
const char *input_looks_like(struct span bytes, const char **advice);

#endif
