/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be made simpler inside statements: clauses, conditions, operands, items of lists, keys, attributes and columns
 * of tables.  Each is a change of a tree, so that what comes out is SQL.  A column goes in all statements at once.
 *
 * As units of reduce/ddmin.h: a unit that is kept is something left as it was.
 */
#ifndef REDUCE_EDITS_H
#define REDUCE_EDITS_H

#include "reduce/ddmin.h"
#include "reduce/script.h"

enum edit_level { EDIT_DEFINITION, EDIT_COLUMN, EDIT_CLAUSE, EDIT_EXPRESSION };

enum edit_way {
	EDIT_FORGET,      /* the pointer at `a` becomes NULL */
	EDIT_UNLINK,      /* the node b leaves the list whose head is at a, unless it is the last one */
	EDIT_TAKE_EXPR,   /* the expression a becomes its part b */
	EDIT_TAKE_QUERY,
	EDIT_TAKE_TABLE,
	EDIT_CLEAR_BITS,  /* of the uint32_t at a */
	EDIT_CLEAR_BOOL,
	EDIT_CLEAR_INT,   /* an enum */
	EDIT_CLEAR_SPAN,
	EDIT_INT_TYPE,    /* the column's type becomes int */
	EDIT_DROP_COLUMN, /* of the table */
};

struct edit {
	enum edit_level level;
	enum edit_way way;
	uint8_t doubt;
	uint32_t stmt; /* of the script */
	void *a, *b;
	size_t next_at;  /* UNLINK: where a node has its next one */
	uint32_t *count; /* UNLINK: the length of the list; or NULL */
	uint32_t bits;
	struct span table, column;
};

struct edits {
	struct edit *items;
	size_t count, capacity;
};

/* Of a script that was just opened: its trees are what the edits point at. */
void edits_list(struct script *script, struct edits *out);
void edits_release(struct edits *edits);
/* Makes those that are not kept.  False: a column is in use where it cannot go. */
bool edits_apply(struct script *script, const struct edits *edits, const bool *kept) MUST_CHECK;

#endif
