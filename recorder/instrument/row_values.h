/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text form of values (instrument/row_sql.h), as values of the trace. */
#ifndef INSTRUMENT_ROW_VALUES_H
#define INSTRUMENT_ROW_VALUES_H

#include "instrument/tables.h"

/* A version as the server prints it, in select mode without what it overwrote.  False: it is none.
 */
bool instrument_pack_version(struct buf *out, struct span digits) MUST_CHECK;

/* A value in its text form as a value of the trace.  False: it is none. */
bool instrument_pack_value(struct buf *out, const struct instrument_column *column,
	struct span text, const struct values_limits *limits) MUST_CHECK;

bool instrument_add_unhex(struct buf *out, struct span digits) MUST_CHECK;

#endif
