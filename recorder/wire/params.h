/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prepared statements of a session and the parameters sent with them: COM_STMT_EXECUTE,
 * COM_STMT_BULK_EXECUTE, COM_STMT_SEND_LONG_DATA, and the attributes of COM_QUERY.
 *
 * Parameter types are sent only when they changed, so the table keeps them; so it does the column
 * definitions, for results whose metadata the server leaves out.
 */
#ifndef WIRE_PARAMS_H
#define WIRE_PARAMS_H

#include "base/siphash.h"
#include "wire/reply.h"

struct wire_long_data {
	uint16_t param;
	uint64_t total;
	struct siphash digest; /* of all of it */
	struct buf kept;       /* its first bytes */
};

struct wire_stmt {
	uint32_t id;
	uint32_t number; /* of the PREPARE in its session */
	uint64_t tag;    /* the sink's */
	uint16_t params;
	uint32_t types_count;
	uint16_t *types; /* as sent: type, flag 0x80 of the upper byte unsigned */
	struct wire_columns columns;
	struct wire_long_data *long_data;
	size_t long_count, long_capacity;
	size_t bytes;           /* its share of the table's bytes */
	struct wire_stmt *next; /* in its hash chain */
};

enum { WIRE_STMT_BUCKETS = 64 };

struct wire_stmts {
	struct wire_stmt **buckets; /* NULL until the first */
	size_t count, bytes;
	uint32_t last_id; /* of the last successful PREPARE; 0: none, or it failed */
};

/* id STMT_ID_LAST finds the statement prepared last. */
struct wire_stmt *wire_stmts_find(const struct wire_stmts *stmts, uint32_t id);
/* NULL when a limit is hit.  An id used before is replaced. */
struct wire_stmt *wire_stmts_add(struct wire_stmts *stmts, uint32_t id) MUST_CHECK;
void wire_stmts_remove(struct wire_stmts *stmts, uint32_t id);
void wire_stmts_clear(struct wire_stmts *stmts);
/* False when a limit is hit. */
bool wire_stmt_keep_columns(struct wire_stmts *stmts, struct wire_stmt *stmt,
	const struct wire_columns *columns) MUST_CHECK;
bool wire_stmt_long_data(struct wire_stmts *stmts, struct wire_stmt *stmt, uint16_t param,
	struct span data, uint64_t total, bool cut) MUST_CHECK;
void wire_stmt_drop_long_data(struct wire_stmts *stmts, struct wire_stmt *stmt);
const struct wire_long_data *wire_stmt_find_long_data(const struct wire_stmt *stmt, uint32_t param);

struct wire_param {
	uint8_t type;
	bool is_unsigned;
	bool null;
	uint8_t indicator;                      /* of a bulk row */
	const struct wire_long_data *long_data; /* the value came before; `value` is empty */
	struct span name;                       /* of a query attribute */
	struct span value;                      /* as wire_binary_value gives it */
};

/* Walks parameters; set up by the parse functions below. */
struct wire_params {
	struct cursor values;
	uint32_t count, index;      /* in a row */
	const unsigned char *nulls; /* NULL in bulk */
	const unsigned char *types; /* 2 bytes each as sent, names between when `named` */
	struct cursor named;        /* over types and names; p is NULL when there are no names */
	const uint16_t *cached;     /* instead of types */
	const struct wire_stmt *stmt;
	bool bulk;
	bool bad;
};

/* False at the end, or with params->bad.  A bulk's rows follow one another: a row is over when
 * params->index is 0 again. */
bool wire_params_next(struct wire_params *params, struct wire_param *out);

struct wire_execute {
	uint32_t id;
	uint16_t flags;
	uint32_t iterations;
	struct wire_stmt *stmt; /* NULL: not known; no parameters then */
	struct wire_params params;
};

/* After the command byte.  Remembers new types in the statement. */
bool wire_execute_parse(struct span body, uint64_t caps, struct wire_stmts *stmts,
	struct wire_execute *out) MUST_CHECK;
bool wire_bulk_parse(
	struct span body, struct wire_stmts *stmts, struct wire_execute *out) MUST_CHECK;
/* After the command byte: where the SQL starts, and the attributes before it. */
bool wire_query_parse(struct span body, uint64_t caps, struct span *text,
	struct wire_params *attributes) MUST_CHECK;

#endif
