/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder's own queries and their answers. */
#ifndef DB_ANSWER_H
#define DB_ANSWER_H

#include <mysql.h>

#include "base/buf.h"
#include "base/span.h"

/* A string literal of the text, for a query. */
static inline void query_add_quoted(struct buf *out, MYSQL *db, struct span text)
{
	char *at;

	buf_add_char(out, '\'');
	at = buf_reserve(out, 2 * text.len + 1);
	out->len += mysql_real_escape_string(db, at, text.ptr, (unsigned long)text.len);
	buf_add_char(out, '\'');
}

/* SPAN_NONE: NULL. */
static inline struct span answer_field(MYSQL_RES *result, MYSQL_ROW row, unsigned at)
{
	return row[at] ? span_of(row[at], mysql_fetch_lengths(result)[at]) : SPAN_NONE;
}

#endif
