/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, scopes and functions while an expression is compiled. */
#ifndef EVAL_COMPILE_H
#define EVAL_COMPILE_H

#include "eval/node.h"

struct scope_table {
	struct span db, alias;
	const struct eval_table *base; /* NULL: derived */
	uint32_t column_count;
	const struct span *names;
	const struct eval_type *types;
	bool *merged;       /* by column: USING made it one with a column of the other side */
	bool nullable_side; /* of an outer join */
};

struct compiler;

/* May the name of a column's table, perhaps with a database (either may be none), mean it? */
bool scope_names_table(const struct compiler *c, const struct scope_table *t, struct span db, struct span table);

enum aggregate_kind {
	AGG_COUNT,
	AGG_SUM,
	AGG_AVG,
	AGG_MIN,
	AGG_MAX,
	AGG_BIT_AND,
	AGG_BIT_OR,
	AGG_BIT_XOR,
	AGG_GROUP_CONCAT,
	AGG_VAR_POP, /* from here on: variances and their roots */
	AGG_VAR_SAMP,
	AGG_STD_POP,
	AGG_STD_SAMP,
};

struct aggregate {
	const struct sql_expr *expr;
	enum aggregate_kind kind;
	bool distinct, star;
	struct node **args;
	uint32_t arg_count;
	struct eval_type type;
	struct span separator;
	struct node **order; /* GROUP_CONCAT */
	const bool *order_desc;
	uint32_t order_count;
	struct aggregate *next;
};

/* Where names are looked up: one query's tables, then those of the query around it. */
struct scope {
	struct scope *outer;
	struct scope_table *tables;
	uint32_t table_count;
	uint32_t first_table; /* in ON: those before it are outside of the join */
	/* Aggregates found so far; `aggregates_allowed` while compiling what may have them. */
	struct aggregate *aggregates, **aggregates_tail;
	uint32_t aggregate_count;
	bool aggregates_allowed, in_aggregate;
	/* Window functions: in the select list and ORDER BY only. */
	struct window *windows, **windows_tail;
	uint32_t window_count, window_inputs;
	bool windows_allowed;
	const struct sql_window *named_windows; /* WINDOW w AS (...) */
	/* The select list, for aliases in HAVING, GROUP BY and ORDER BY. */
	const struct sql_item *items;
	struct node **item_nodes;
	bool extremes;        /* it has MIN or MAX, which may be read from the end of an index */
	bool alias_first;     /* HAVING, ORDER BY: before the columns of tables */
	bool alias_last;      /* GROUP BY: after them */
	uint32_t outer_reach; /* how many scopes outwards names were found: 0 none */
	uint32_t outer_text; /* how many are texts that may equal others, not only compared so */
	const struct eval_table *insert_table; /* VALUES(c) */
};

struct function {
	const char *name;
	uint8_t args_min, args_max;
	/* args are compiled; sets fn, type; NULL: failed. */
	struct node *(*compile)(
		struct compiler *c, struct node *n, const struct function *function);
	node_fn *fn;
	int number; /* for functions that share code */
};

extern const struct function functions_control[], functions_number[], functions_string[],
	functions_string_edit[], functions_string_notation[], functions_string_search[],
	functions_time[], functions_time_format[], functions_time_zone[], functions_interval[], functions_regexp[],
	functions_json[], functions_json_compare[], functions_digest[], functions_encode[];
/* What only the server knows, where it was not recorded. */
extern const struct function functions_opaque[];
struct node *compile_assignment(struct compiler *c, const struct sql_expr *e);
struct node *compile_masked(struct compiler *c, const struct sql_expr *e);

struct node *compile_call(struct compiler *c, const struct sql_expr *e);
/* CASE, CAST, TRIM and what else has a syntax of its own; NULL when it failed. */
struct node *compile_case(struct compiler *c, const struct sql_expr *e);
struct node *compile_cast(struct compiler *c, const struct sql_expr *e);
struct node *compile_convert_using(struct compiler *c, const struct sql_expr *e);
struct node *compile_collate(struct compiler *c, const struct sql_expr *e);
struct node *compile_trim(struct compiler *c, const struct sql_expr *e);
struct node *compile_position(struct compiler *c, const struct sql_expr *e);
struct node *compile_concat(
	struct compiler *c, const struct sql_expr *e, struct node *l, struct node *r);
struct node *compile_interval(struct compiler *c, const struct sql_expr *e);
struct node *compile_extract(struct compiler *c, const struct sql_expr *e);
/* -> and ->>; a comparison of which at least one side is JSON. */
struct node *compile_json_arrow(struct compiler *c, const struct sql_expr *e);
struct node *compile_json_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r);
bool node_is_json_unquote(const struct node *n); /* JSON_UNQUOTE, ->> */
struct node *compile_regexp(struct compiler *c, const struct sql_expr *e);
struct node *compile_grouping(struct compiler *c, const struct sql_expr *e);
struct node *compile_aggregate(struct compiler *c, const struct sql_expr *e, bool *is_aggregate);
bool node_is_aggregate(const struct node *n);
struct node *compile_window(struct compiler *c, const struct sql_expr *e);
/* subquery.c */
struct node *compile_subquery(struct compiler *c, const struct sql_expr *e);
/* Is what this function returns made in the buffer of an argument? */
bool function_writes_over(const struct compiler *c, struct span name);
/* Is it a subquery that needs rows of the query around it? */
bool node_asks_outer(const struct node *n);
/* What a scalar subquery selects; NULL of another node, or of UNION and the like. */
const struct node *subquery_item(const struct node *n);

/* The type that holds all of them: IF, CASE, COALESCE, UNION. */
bool merge_types(struct compiler *c, struct node **args, uint32_t count, enum operation operation,
	struct eval_type *out) MUST_CHECK;
struct node *node_literal(struct compiler *c, const struct sql_expr *e, struct eval_type type,
	struct eval_value value);
struct node *node_column(struct compiler *c, const struct sql_expr *e, uint32_t depth,
	uint32_t table, uint32_t column, const struct eval_type *type);
/* Sets n->collation and gives n a string type of it. */
bool string_result(struct compiler *c, struct node *n, struct node **args, uint32_t count,
	enum operation operation) MUST_CHECK;
struct node *compile_value(struct compiler *c, const struct sql_expr *e); /* no row */

/* compile_literal.c, compile_name.c */
struct node *compile_literal(struct compiler *c, const struct sql_expr *e);
/* A value from the session (a parameter, a variable) as a constant. */
struct node *node_from_value(struct compiler *c, const struct sql_expr *e, struct eval_value v);
struct node *compile_variable(struct compiler *c, const struct sql_expr *e);
/* A variable is a constant to some servers and not to others, which matters where values of several kinds
 * are compared. */
bool compares_local(const struct node *n);
struct node *compile_column(struct compiler *c, const struct sql_expr *e);

#endif
