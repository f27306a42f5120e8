/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a value history for other tools, so that anyone can check our verdict with theirs.
 *
 * Each format can hold only some histories: registers of small integers for Plume and dbcop.
 * What it cannot hold is refused, with the place, rather than bent.
 */
#ifndef IMPORT_EXPORT_H
#define IMPORT_EXPORT_H

#include "model/values/values.h"

enum export_format {
	EXPORT_ELLE,  /* EDN; invocations only where their place is known */
	EXPORT_PLUME, /* text */
	EXPORT_DBCOP, /* bincode */
	EXPORT_JSON,  /* one object a transaction, for any program */
};

/* Takes what is in the buffer and empties it; false stops the export. */
typedef bool export_sink(void *context, struct buf *out);

MUST_CHECK bool values_export(const struct values *values, enum export_format format,
	export_sink *sink, void *context, struct err *err);

#endif
