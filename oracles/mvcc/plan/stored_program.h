/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stored programs (triggers, functions, procedures) whose texts the trace has: which a statement may run,
 * and which tables those may read and write.  Whatever cannot be said makes it "anything".
 */
#ifndef MVCC_PLAN_STORED_PROGRAM_H
#define MVCC_PLAN_STORED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "mvcc/store/store.h"
#include "sql/program.h"

struct mvcc;
struct plan;
struct program;
struct schedule;
struct session_settings;

enum { EFFECTS_MAX = 16 };

/* What the programs that a statement runs may do, with all that they run themselves. */
struct effects {
	struct effect {
		uint32_t table;
		bool written;
		bool inserts; /* ... by INSERT alone */
		bool numbers; /* rows may have AUTO_INCREMENT numbers that it gives itself */
		bool blind; /* only rows whose key the server makes were put in: nothing is in their way */
	} list[EFFECTS_MAX];
	uint32_t count;
	bool any;      /* a program is run at all */
	bool may_write_any; /* may do anything */
	bool sets_row; /* a trigger of the statement's own table may change NEW */
	bool fires;    /* the triggers of the statement's own tables are among them */
};

void programs_open(struct mvcc *m);
/* Has the server, or does a statement make, events that may run?  They write in no recorded session. */
bool events_may_write(const struct schedule *s);
/* Is there a function that may write?  Then so may a read of what is perhaps a view. */
bool programs_write_by_views(const struct mvcc *m);
/* Sets plan->effects, where the statement runs programs. */
void plan_effects(struct mvcc *m, struct plan *plan, const struct session_settings *settings);
/* Several statements in one text that read and write rows and do nothing else, executed one after the other.  False:
 * they may do anything. */
bool plan_several(struct mvcc *m, struct plan *plan, const struct sql_stmt *first,
	const struct session_settings *settings);
/* Are all functions known that the statement calls, and what they do? */
bool effects_known(const struct plan *plan);
/* A CALL of a procedure, or several statements in one text, whose effects are known. */
bool plan_is_call(const struct plan *plan);
bool effects_write(const struct effects *e);
/* Does it touch the table, or (`written`) write it? */
bool effects_touch(const struct effects *e, uint32_t table, bool written);
/* Is all that it does to the table that it puts rows in? */
bool effects_only_insert(const struct effects *e, uint32_t table);
/* May it give rows of the table AUTO_INCREMENT numbers of its own? */
bool effects_give_numbers(const struct effects *e, uint32_t table);
/* The same of a statement that writes the table. */
bool gives_numbers(const struct eval_table *def, const struct sql_stmt *stmt);
/* INSERT of rows that only the server numbers, where nothing else is unique and nothing refers. */
bool inserts_blindly(const struct mvcc *m, uint32_t table, const struct sql_stmt *stmt);
/* Is it a parameter or a variable of the program, anywhere in it? */
bool program_declares(const struct sql_program *tree, struct span name);

#endif
