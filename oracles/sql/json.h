/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON texts as MySQL stores and prints them. */
#ifndef SQL_JSON_H
#define SQL_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"

enum json_outcome {
	JSON_FINE,
	JSON_INVALID, /* the server refuses the text */
	JSON_UNSURE,  /* what it makes of the text is not known here */
};

/* Is it a JSON text?  Strictly (RFC 8259); what some servers have limits for is not told. */
enum json_outcome json_check(struct span text) MUST_CHECK;

/* The text that MySQL prints of what it stored: members sorted by the length of their names, then by
 * their bytes; of two with one name the last; ", " and ": " between them. */
enum json_outcome json_normal(struct arena *arena, struct span text, struct buf *out) MUST_CHECK;

#endif
