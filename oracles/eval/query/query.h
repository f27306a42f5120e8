/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compiled query, shared by the files that compile, run and change rows. */
#ifndef EVAL_QUERY_QUERY_H
#define EVAL_QUERY_QUERY_H

#include "eval/compile.h"

struct select_order {
	struct node *node;
	bool desc;
	uint32_t item; /* the select item it repeats, or UINT32_MAX */
};

/* FROM as a tree; a list of tables is a chain of inner joins. */
struct join_tree {
	enum { JOIN_TABLE, JOIN_INNER, JOIN_LEFT } kind;
	uint32_t table; /* JOIN_TABLE: its number */
	struct join_tree *left, *right;
	struct node *on;
	struct node **equal; /* USING and NATURAL: pairs that must be equal */
	uint32_t equal_count;
};

struct from_table {
	const struct eval_table *base;
	const struct sql_table_ref *ref; /* of a base table */
	struct eval_query *derived;
	struct cte *cte; /* the working rows of a recursive one */
};

struct eval_query {
	enum { QUERY_SELECT, QUERY_SET_OP, QUERY_VALUES, QUERY_RECURSIVE } kind;
	uint32_t column_count;
	struct span *names;
	struct eval_type *types;
	uint32_t outer_reach; /* 0: not correlated */
	bool outer_text;      /* to a text that may equal another */
	/* SELECT */
	struct from_table *tables;
	struct scope_table *scope_tables;
	uint32_t table_count;
	struct join_tree *from;
	struct node *where, *having;
	struct node **items;
	struct select_order *group;
	uint32_t group_count;
	bool grouped; /* GROUP BY, or aggregates without it */
	bool distinct, rollup;
	bool buffered; /* its rows may have been in a temporary table before they are seen */
	struct aggregate *aggregates;
	uint32_t aggregate_count;
	struct window *windows;
	uint32_t window_count;
	uint32_t window_inputs; /* values that a row gives to its window functions */
	/* SET_OP; RECURSIVE: left is what it starts with, right gives more rows from the last */
	struct cte *cte;
	enum sql_set_op op;
	bool all;
	struct eval_query *left, *right;
	/* VALUES */
	struct node ***rows;
	size_t row_count;
	/* The tail */
	struct select_order *order;
	uint32_t order_count;
	struct node *limit, *offset;
};

/* A CTE in sight. */
struct cte {
	const struct sql_cte *tree;
	struct eval_query *query; /* NULL while it is being compiled */
	const struct eval_query *start; /* recursive: what its own columns are, while it is compiled */
	struct eval_rows working;       /* and while it runs: the rows of the last round */
	bool recursive;
	struct cte *next;
};

struct eval_query *compile_query(struct compiler *c, const struct sql_query *query,
	struct scope *outer, const struct cte *ctes);
bool run_query(const struct eval_query *q, struct run *run, const struct frame *outer,
	struct eval_result *out) MUST_CHECK;

/* The FROM clause alone, for UPDATE and DELETE: fills q's tables and q->from; the scope stays. */
bool compile_from(struct compiler *c, struct eval_query *q, const struct sql_table_ref *from,
	struct scope *scope, const struct cte *ctes) MUST_CHECK;
/* Names and types of a base table's columns. */
void scope_table_columns(struct compiler *c, struct scope_table *t, const struct eval_table *table);
/* The scope of one table alone. */
struct scope *scope_of_table(
	struct compiler *c, const struct eval_table *table, struct span alias);
/* The number of the column of that name, or UINT32_MAX. */
uint32_t find_column(const struct scope_table *t, struct span name);
bool compile_ctes(struct compiler *c, const struct sql_with *with, struct scope *outer,
	const struct cte **ctes) MUST_CHECK;
/* *matches: table_count row numbers each, of the combinations that satisfy ON and WHERE. */
bool run_from(const struct eval_query *q, struct frame *frame, struct eval_rows *table_rows,
	uint32_t **matches, size_t *count) MUST_CHECK;
/* Is a condition true, not NULL? */
bool node_is_true(const struct node *n, struct frame *f);
bool compile_order(struct compiler *c, const struct sql_order *order, struct select_order **out,
	uint32_t *count) MUST_CHECK;
/* Is a key of ORDER BY or GROUP BY the number of an item?  *out: the number, at most a digit beyond
 * KEY_ORDINAL_MAX. */
enum { KEY_ORDINAL_MAX = 100000 };
bool key_is_ordinal(const struct eval_env *env, const struct sql_expr *e, uint64_t *out);
/* Keys of ORDER BY or GROUP BY that may be numbers of items. */
bool compile_keys(struct compiler *c, const struct sql_order *order, struct node **items,
	uint32_t item_count, struct select_order **out, uint32_t *count) MUST_CHECK;
bool same_column(const struct node *a, const struct node *b);
bool compile_limit(struct compiler *c, const struct sql_limit *limit, struct node **count,
	struct node **offset) MUST_CHECK;
bool run_limit(struct run *run, const struct node *node, uint64_t *out) MUST_CHECK;
/* <0, 0, >0: two rows of sort keys. */
int compare_keys(struct run *run, const struct select_order *order, uint32_t count,
	const struct eval_value *a, const struct eval_value *b);
/* Two values of one type as ORDER BY, GROUP BY and DISTINCT have them; NULLs are equal. */
int order_values(struct run *run, const struct eval_type *type, const struct eval_value *a,
	const struct eval_value *b);

/* common_table.c */
const struct cte *find_cte(const struct cte *ctes, const struct sql_table_name *name);
/* WITH t (a, b), (SELECT ...) AS t (a, b); no names: as they are. */
bool rename_columns(
	struct compiler *c, struct eval_query *q, const struct sql_names *names) MUST_CHECK;
/* Of a derived table: what its columns are to the query around it. */
bool settle_columns(struct compiler *c, struct eval_query *q, bool stored) MUST_CHECK;

/* set_operation.c */
struct eval_query *compile_set_op(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope, const struct cte *ctes);
struct eval_query *compile_values_query(
	struct compiler *c, struct eval_query *q, const struct sql_query *query);

/* rollup.c */
bool compile_rollup(
	struct compiler *c, struct eval_query *q, const struct sql_query *query) MUST_CHECK;

/* tmp_table_width_guards.c: does a temporary table have too little room for it? */
bool node_is_cut(const struct eval_env *env, const struct node *n);
/* Beside a DECIMAL. */
bool node_is_narrow(const struct eval_env *env, const struct node *n);
bool node_cuts_decimal(const struct node *n);
/* On MariaDB: an integer that may have more digits than the server counts for it.  ORD() counts for seven
 * and is an INT, DIV for those of the dividend without a sign, HOUR() for two,
 * TO_DAYS() for six. */
bool outgrows(const struct node *n, bool as_text);
/* A temporary table has room for 22 characters of the text of a DOUBLE, and one too few for that of a
 * DECIMAL without digits before the point. */
bool has_long_print(const struct eval_type *t);
/* Is it made of such texts? */
bool has_long_text(const struct node *n);

/* aggregate.c */
struct arguments {
	const struct eval_value **rows; /* without those that have a NULL */
	size_t count;
};

bool node_aggregates(const struct node *n);
/* Is every item computed from aggregates that name no column: COUNT(*) + 1? */
bool counts_alone(const struct eval_query *q);
bool aggregate_find(const struct sql_expr *e, enum aggregate_kind *kind);
/* COUNT(x) and the like with its arguments compiled; NULL: failed. */
struct aggregate *aggregate_new(
	struct compiler *c, const struct sql_expr *e, enum aggregate_kind kind);
struct eval_value aggregate_value(
	struct run *run, const struct aggregate *a, struct arguments *args);
bool run_aggregates(const struct eval_query *q, struct frame *frame, const uint32_t *matches,
	const uint32_t *members, size_t count, const struct eval_rows *table_rows,
	struct eval_value *out) MUST_CHECK;
void frame_set(const struct eval_query *q, struct frame *frame, const struct eval_rows *rows,
	const uint32_t *match);

/* window.c: the input values of a row; the results, window_count values for each row. */
bool node_windows(const struct node *n);
void window_collect(const struct eval_query *q, struct frame *frame, struct eval_value *out);
const struct eval_value *const *run_windows(const struct eval_query *q, struct run *run,
	const struct eval_value *const *inputs, size_t count);

/* A value as a temporary table or a sort key holds it: a DECIMAL without the digits beyond its
 * scale. */
struct eval_value materialized(
	struct run *run, const struct eval_type *type, struct eval_value value);

#endif
