/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and parameters of the wire as values of the trace (trace/value.h). */
#ifndef WIRE_VALUES_H
#define WIRE_VALUES_H

#include "trace/value.h"
#include "wire/params.h"
#include "wire/reply.h"

struct values_limits {
	size_t value_keep_max; /* longer strings become VALUE_CUT */
};

/* Appends [[name, table, type, flags, charset, length, decimals, database, original table, original
 * name], ...]. */
void values_pack_columns(struct buf *out, const struct wire_columns *columns,
	void (*edit)(void *ctx, struct wire_column_names *names), void *ctx);
/* Appends one row of the binary protocol.  False, and `out` as it was: it is none of the simple ones,
 * and values_pack_row may do it. */
bool values_pack_quick(struct buf *out, const struct wire_columns *columns, struct span row,
	const struct values_limits *limits) MUST_CHECK;
/* Appends one row.  False, and `out` as it was, when the bytes do not fit the columns. */
bool values_pack_row(struct buf *out, const struct wire_columns *columns, struct span row,
	bool binary, const struct values_limits *limits) MUST_CHECK;
/* One value of the text protocol; SPAN_NONE is NULL. */
void values_pack_text(struct buf *out, const struct wire_column *column, struct span s,
	const struct values_limits *limits);
/* Bytes of the type (a text, a binary string, JSON, a geometry), cut where they are too long. */
void values_pack_bytes(struct buf *out, enum value_type type, struct span s, const struct values_limits *limits);
/* One parameter. */
void values_pack_param(
	struct buf *out, const struct wire_param *param, const struct values_limits *limits);

#endif
