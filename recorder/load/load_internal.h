/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a load, which all sessions share. */
#ifndef LOAD_LOAD_INTERNAL_H
#define LOAD_LOAD_INTERNAL_H

#include <stdatomic.h>

#include "base/buf.h"
#include "load/load.h"

struct load_column {
	bool text;
	uint64_t factor, offset; /* of the bijection of row numbers */
};

/* A dynamic key: there or not, taken or not.  Lost: a COMMIT without an answer. */
enum dynamic_state { DYNAMIC_ABSENT, DYNAMIC_PRESENT, DYNAMIC_TAKEN, DYNAMIC_LOST };

struct load_table {
	char name[8];
	struct load_column columns[LOAD_COLUMNS_MAX];
	unsigned column_count;
	_Atomic uint8_t *dynamic; /* of the keys from static_count on */
	_Atomic uint32_t *accesses; /* of static keys */
	_Atomic uint64_t next_access; /* of stratified ones */
};

struct load {
	const struct load_options *options;
	struct load_table tables[LOAD_TABLES_MAX];
	unsigned table_count;
	uint64_t static_count, dynamic_count; /* of each table; the first half of the dynamic ones is there to begin with */
	uint64_t domain;
	struct sampler values, access;
	_Atomic uint64_t transactions; /* that were begun */
	_Atomic bool stop;
	uint64_t end_ns;
};

/* A virtual value as a literal. */
void load_print_value(const struct load_column *column, uint64_t value, struct buf *out);
/* The value that the column of row `key` has to begin with. */
uint64_t load_value(const struct load *load, const struct load_column *column, uint64_t key);
/* "(17,3,'w5')" */
void load_print_row(const struct load *load, const struct load_table *table, uint64_t key, struct buf *out);

/* A session's whole work, until the load ends. */
struct load_session {
	struct load *load;
	unsigned number;
	struct load_report report;
	struct err err;
	bool ok;
};
void *load_session_run(void *session);

#endif
