/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers to the recorder's own queries. */
#ifndef CAPTURE_ANSWER_H
#define CAPTURE_ANSWER_H

#include <mysql.h>

#include "base/span.h"

/* SPAN_NONE: NULL. */
static inline struct span answer_field(MYSQL_RES *result, MYSQL_ROW row, unsigned at)
{
	return row[at] ? span_of(row[at], mysql_fetch_lengths(result)[at]) : SPAN_NONE;
}

#endif
