/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL that makes rows of a table into text.
 *
 * Values leave the server in one text form, in the log that the triggers write and in the column
 * that is appended to reads (instrument/trigger_log.h).  It depends neither on the character set of
 * the session nor on the protocol: numbers and times as the server prints them, strings as
 * hexadecimal digits of their bytes (text in utf8mb4), NULL as N, long values as C, length, ':' and
 * 16 digits of their SHA-256.
 */
#ifndef INSTRUMENT_ROW_SQL_H
#define INSTRUMENT_ROW_SQL_H

#include "instrument/tables.h"

/* Appends an SQL expression: the text form of column of the row `row` (an alias, NEW, OLD;
 * already quoted). */
void instrument_add_value(struct buf *out, const struct instrument_column *column, const char *row);
/* ... the key's columns with commas between, as arguments of CONCAT. */
void instrument_add_key(struct buf *out, const struct instrument_table *table, const char *row);
/* ... the whole row and its version, as one column: ROW|version. */
void instrument_add_whole(struct buf *out, const struct instrument_table *table, const char *row);
void instrument_add_string(struct buf *out, struct span text);

/* Appends "select COLUMN, ..., version from NAME" for a prepared table, "select * from NAME" for
 * NULL.  A FLOAT becomes the DOUBLE that it is: servers print six digits of it, which may be those
 * of many. */
void instrument_add_select(
	struct buf *out, MYSQL *mysql, const struct instrument_table *table, struct span name);

#endif
