/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The statements of an application: their patterns, what the code calls them, and which columns they read and write.
 * Statements of one pattern and one tag are one place of the application's code.
 */
#ifndef APPLICATION_STATEMENTS_H
#define APPLICATION_STATEMENTS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/meter.h"
#include "common/accesses.h"
#include "model/history/history.h"
#include "model/history/stmt_text.h"
#include "sql/sql.h"

/* A place of the code. */
struct code {
	struct span pattern, tag;      /* tag: SPAN_NONE where no comment says one */
	const struct sql_stmt *parsed; /* of the first of its statements; NULL: does not parse */
};

struct statements {
	const struct history *history;
	struct stmt_texts texts;
	struct sql_options options;
	struct arena arena;
	struct code *codes;
	size_t code_count, code_capacity;
	struct map by_hash;   /* of pattern and tag: code + 1 of the last with it */
	struct map by_stmt;   /* code of a statement of the history */
	uint32_t *wanted;     /* statements to be fetched */
	size_t wanted_count, wanted_capacity;
};

void statements_init(struct statements *statements, const struct history *history);
void statements_release(struct statements *statements);
/* Its text will be asked for. */
void statements_want(struct statements *statements, uint32_t stmt);
/* Reads the texts of those that are wanted from the trace.  False: it was interrupted.  meter may be NULL. */
bool statements_fetch(struct statements *statements, const struct meter *meter);
/* NULL: its text is not in the trace. */
const struct code *statement_code(const struct statements *statements, uint32_t stmt);

/* The columns of the table that the statement mentions; all where that cannot be told. */
uint64_t code_columns(const struct code *code, const struct access_table *table);

enum write_kind {
	WRITE_OTHER, /* not one of these: a CALL, say */
	WRITE_UPDATE, /* also INSERT ... ON DUPLICATE KEY UPDATE */
	WRITE_DELETE,
	WRITE_REPLACE,
	WRITE_INSERT,
};

/* What a statement does to columns of a table. */
struct column_writes {
	enum write_kind kind;
	uint64_t given;    /* gets a value that the program sent */
	uint64_t computed; /* gets one that the server computes from the row as it is then */
	uint64_t tested;   /* is in its condition */
};

struct column_writes code_writes(const struct code *code, const struct access_table *table);

#endif
