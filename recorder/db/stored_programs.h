/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stored programs and views of a server, as records. */
#ifndef DB_STORED_PROGRAMS_H
#define DB_STORED_PROGRAMS_H

#include <mysql.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

struct trace_producer;
struct trace_writer;

enum { PROGRAMS_MAX = 10000 };

typedef bool programs_wanted(const void *ctx, struct span database);

/* A record for each trigger, function, procedure and view of the databases that are wanted, but for the
 * recorder's own.  A server without them, or that does not tell, has none.  `writer`: where
 * segments repeat them; NULL: nowhere. */
void programs_emit(MYSQL *db, struct trace_producer *producer, struct trace_writer *writer,
	const char *node, programs_wanted *wanted, const void *ctx);

/* Adds EVENTS_VARIABLE to the pairs of a map of variables, where the database (NULL: any) has enabled
 * events; returns the number of pairs. */
uint32_t programs_add_events(MYSQL *db, const char *database, struct buf *pairs);

#endif
