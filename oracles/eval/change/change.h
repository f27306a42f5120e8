/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What INSERT, UPDATE and DELETE share: defaults of columns, SET, and the row that it makes. */
#ifndef EVAL_CHANGE_CHANGE_H
#define EVAL_CHANGE_CHANGE_H

#include "eval/query/query.h"


/* A value on its way into a column. */
struct column_assign {
	struct run *run;
	const struct eval_table *table;
	const struct eval_column *column;
	const struct eval_type *type; /* the column's */
	const struct eval_type *from; /* the value's */
	bool strict, ignore;
	bool numbers; /* NULL into an AUTO_INCREMENT column asks for the next number */
};
struct assignment {
	uint32_t table, column;
	struct node *value; /* NULL: DEFAULT */
};

/* Both return false.  The second: what the rule needs is not known. */
bool fail_error(struct eval_outcome *outcome, unsigned error, const char *what);
bool give_up(struct eval_outcome *outcome, enum eval_limit limit);
bool is_null_literal(const struct sql_expr *e);
struct eval_value implicit_default(struct run *run, const struct eval_type *type);
bool is_strict_mode(const struct eval_env *env, unsigned flags);
/* What a column holds after a value was assigned to it that may be opaque.  Such a one is converted
 * to the column's type, whichever it has; a copy of another column must have the same type. */
bool store_carried(struct run *run, const struct eval_table *table, uint32_t i,
	const struct node *from, const struct eval_type *type, const struct eval_value *v,
	unsigned flags, struct eval_value *out);
/* The default of a column as it is stored. */
bool column_default(struct run *run, const struct eval_table *table, uint32_t i,
	unsigned flags, struct eval_value *row) MUST_CHECK;
/* Whether column_default() is error 1364. */
bool lacks_default(const struct eval_env *env, const struct eval_column *column, unsigned flags);
bool wants_auto_value(
	const struct eval_env *env, const struct eval_column *column, const struct eval_value *v);
/* What is assigned to the column: where it cannot be computed here, the value that the server stored is not known. */
struct node *compile_assigned(struct compiler *c, const struct sql_expr *e, const struct eval_column *column);
bool run_assigned(struct run *run, const struct eval_table *table, uint32_t i, const struct node *n, struct frame *f,
	unsigned flags, struct eval_value *out);
bool compile_assignments(struct compiler *c, const struct sql_assign *set, struct assignment **out,
	uint32_t *count) MUST_CHECK;
bool is_computed_default(const struct eval_column *column);
/* The assignments to table `number`, from left to right. */
bool assign_row(struct run *run, const struct eval_table *table, uint32_t number,
	const struct assignment *set, uint32_t count, struct frame *f, bool sees_changes,
	unsigned flags, const struct eval_value *old, const struct eval_value **out, bool *changed);

#endif
