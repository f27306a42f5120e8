/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of libmariadb as the packets they were made from, and as values of the trace.
 */
#ifndef DB_ROW_H
#define DB_ROW_H

#include <mysql.h>

#include "wire/values.h"

struct row_packer {
	struct wire_columns columns;
	struct buf packet; /* the last row as the text protocol has it */
	bool bad;          /* definitions that make no sense: no row is packed */
};

/* Takes the columns of the result. */
void row_packer_init(struct row_packer *packer, MYSQL_RES *result);
/* Another result, with the memory of the last. */
void row_packer_reuse(struct row_packer *packer, MYSQL_RES *result);
void row_packer_release(struct row_packer *packer);
/* The row's packet; valid until the next one. */
struct span row_packet(struct row_packer *packer, MYSQL_ROW row, const unsigned long *lengths);
/* Appends the row as an array of values. */
bool row_pack(struct row_packer *packer, MYSQL_ROW row, const unsigned long *lengths,
	struct buf *out, const struct values_limits *limits) MUST_CHECK;

#endif
