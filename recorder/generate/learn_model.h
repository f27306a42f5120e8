/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload model from a recording: what its tables, statements and transactions are like, and how often.
 *
 * A model has no names, texts or values, so none of the recording are in it.  Comments above it say which recording it
 * was, which tables there were and which statements came most; `anonymous` leaves these out.
 */
#ifndef GENERATE_LEARN_MODEL_H
#define GENERATE_LEARN_MODEL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/* Appends the model in the language of docs/workload-models.md.  False: the recording cannot be read, or has no
 * statement that reads or writes a table. */
bool learn_model(const char *path, bool anonymous, struct buf *out, struct err *err) MUST_CHECK;

#endif
