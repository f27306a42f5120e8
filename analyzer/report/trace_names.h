/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What numbers in a trace stand for, learned while it streams by: sessions, tables, prepared
 * statements.
 *
 * Memory is bounded whatever the trace holds, so something may be forgotten; then the answer is
 * "not known" (NULL, SPAN_NONE), never a wrong name.
 */
#ifndef REPORT_TRACE_NAMES_H
#define REPORT_TRACE_NAMES_H

#include "base/map.h"
#include "base/strtab.h"
#include "trace/record.h"

enum {
	NAMES_SESSIONS_MAX = 16384, /* a power of two; a newer session takes the slot of an older */
	NAMES_TABLES_MAX = 16384,
	NAMES_TABLE_NAME_MAX = 1024,
	NAMES_TABLES_BYTES_MAX = 8 * 1024 * 1024,
	NAMES_PREPARED_MAX = 65536,
	NAMES_PREPARED_BYTES_MAX = 16 * 1024 * 1024,
	NAMES_PREPARED_TEXT_MAX = 16 * 1024, /* of one statement; the rest is cut */
};

struct names_session {
	uint32_t id;
	bool taken;
	char user[48], client[48], node[32], database[48]; /* cut where longer */
};

struct names_table {
	struct span database_ref, name_ref; /* owned by names */
};

struct names {
	struct names_session *sessions[NAMES_SESSIONS_MAX]; /* by id modulo the size */
	struct map tables;                                  /* number -> index */
	struct names_table *table;
	size_t table_count, table_capacity;
	struct strtab strings; /* of the tables */
	struct map prepared;   /* session << 32 | number -> index */
	struct span *prepared_text;
	size_t prepared_count, prepared_capacity;
	struct arena prepared_arena;
};

struct names *names_new(void);
void names_free(struct names *names);

void names_learn_session(struct names *names, const struct record_session *record);
void names_learn_schema(struct names *names, const struct record_schema *record);
/* A COM_STMT_PREPARE. */
void names_learn_stmt(struct names *names, const struct record_stmt *record);

const struct names_session *names_session(const struct names *names, uint32_t session);
const struct names_table *names_table(const struct names *names, uint32_t table);
/* The statement's text: its own, or that of the prepared statement it executes. */
struct span names_stmt_text(const struct names *names, const struct record_stmt *record);

#endif
