/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A writer of Parquet files, for table_out.c.  One row group after the other, each column of it one data
 * page (version 1), values PLAIN, compressed with zstd.  Columns may be NULL, and nothing is nested.
 *
 * Parquet format 2.9: https://github.com/apache/parquet-format, its pages on the file, encodings and logical types, and
 * parquet.thrift.  Its metadata are in Thrift's compact protocol.
 */
#ifndef TABLE_PARQUET_H
#define TABLE_PARQUET_H

#include "table/table_out.h"

struct parquet;

struct parquet *parquet_new(const struct data_table *table);
/* True: a row group is full, and parquet_flush is to be called. */
bool parquet_row(struct parquet *parquet, const struct cell *cells);
/* Appends what was gathered as a row group; also for the empty rest. */
void parquet_flush(struct parquet *parquet, struct buf *out);
/* Appends the metadata that end the file. */
void parquet_end(struct parquet *parquet, struct buf *out);
void parquet_free(struct parquet *parquet);

#endif
