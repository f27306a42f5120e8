/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace export to tables: one to the output, or all of them as files in a folder. */
#ifndef COMMANDS_EXPORT_TABLES_H
#define COMMANDS_EXPORT_TABLES_H

#include "base/output.h"
#include "table/table_out.h"

struct export_tables {
	const char *path;   /* of the trace */
	const char *output; /* NULL: standard output */
	enum table_format format;
	int table; /* enum trace_table; below 0: all of them, and the output is a folder */
	bool salvage;
	int progress; /* enum output_when */
};

/* The tables' names, NULL at the end. */
extern const char *const export_table_words[];

enum exit_status export_tables(const struct export_tables *options);
/* Prints what the columns are. */
enum exit_status export_list_columns(void);

#endif
