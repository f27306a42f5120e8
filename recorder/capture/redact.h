/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that must not reach the trace: of chosen columns, or all.  A value becomes a keyed hash,
 * the same for equal values wherever they stand, or nothing.  NULL stays NULL.
 *
 * By column, of a statement's text it is not known which literal goes with which column.  So when a
 * statement names a chosen column anywhere, or may write columns that it does not name (INSERT
 * without a list, CALL, LOAD DATA ...), all its literals and parameters are redacted, and those
 * columns of its results that are computed.  The servers tell from which column a column of a
 * result comes, but not through a derived table, a common table expression or a UNION: of a
 * statement with more than one SELECT all columns are redacted then.  Columns of a view are known by
 * the view's names only, and a stored function may return anything: capture/base_tables.h says of which
 * tables and functions it is certain that they are neither, and a statement that uses others is
 * redacted whole, as are columns of results that come from others.  When a text cannot be read it is
 * left out.
 *
 * Messages of errors quote values, also of columns that the statement does not name; only those that
 * have none are kept.
 *
 * Hashes are SipHash-2-4, 128 bits, of the value as text: 5, 5.00 and '5' are equal, '05' is not.
 * Strings are hashed byte for byte: what only a collation holds equal is not.
 *
 * Shared by the workers, read only.
 */
#ifndef CAPTURE_REDACT_H
#define CAPTURE_REDACT_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "capture/base_tables.h"
#include "capture/filter.h"
#include "sql/text/stmt_classify.h"
#include "wire/reply.h"

enum redact_how { REDACT_HASH, REDACT_DROP };

enum { REDACT_KEY_SIZE = 16, REDACT_KEY_FILE_MAX = 4096 };

struct redact {
	bool on, all;
	enum redact_how how;
	struct filter_pattern columns;
	unsigned char key[REDACT_KEY_SIZE];
	struct base_tables *base_tables; /* NULL: no table is known */
};

/* what: "all" or a pattern for names of columns; key_file NULL: a random key. */
bool redact_init(struct redact *redact, const char *what, enum redact_how how, const char *key_file,
	struct err *err) MUST_CHECK;
void redact_release(struct redact *redact);

/* Whether values of a column are redacted. */
bool redact_column(const struct redact *redact, struct span name);
/* What of a statement is redacted besides the columns that are chosen by their name. */
enum redact_reach {
	REDACT_NOTHING,
	REDACT_RENAMED,  /* columns of results that are computed: one query in another */
	REDACT_COMPUTED, /* ... and literals, parameters */
	REDACT_WHOLE,    /* ... and all other columns: one query in another renames them */
};
/* database: the session's, for tables without one; SPAN_NONE: not known. */
enum redact_reach redact_statement(const struct redact *redact, struct span text,
	struct span database, struct text_dialect dialect);
/* Whether a column of a result is redacted, by the names that the server gives it. */
bool redact_result_column(const struct redact *redact, enum redact_reach reach,
	const struct wire_column_names *names);
/* Whether the message of an error never quotes a value. */
bool redact_is_harmless_error(uint16_t error);
/* Appends the text with its literals redacted and its comments left out.  False: from some point on
 * it could not be read, and is left out from there. */
bool redact_text(const struct redact *redact, struct span text, struct text_dialect dialect,
	struct buf *out);
/* Appends what stands for a string that is no literal: the name of an XA transaction. */
void redact_name(const struct redact *redact, struct span name, struct buf *out);
/* Replaces the one packed value after `start`. */
void redact_packed(const struct redact *redact, struct buf *out, size_t start);

#endif
