/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parameter of a prepared statement as an SQL literal, to stand in a recorded predicate. */
#ifndef INSTRUMENT_LITERAL_H
#define INSTRUMENT_LITERAL_H

#include "base/buf.h"
#include "wire/params.h"

/* Appends it; `?` for a value that is too long or not understood. */
void literal_add(struct buf *out, const struct wire_param *param);
/* Whether the literal, in the statement's text, gives the same rows as the parameter, whatever it is
 * compared with: bytes become numbers there, and times texts. */
bool literal_is_same(const struct wire_param *param);

#endif
