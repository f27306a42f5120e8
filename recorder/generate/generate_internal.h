/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of this folder share: the case that is being made. */
#ifndef GENERATE_GENERATE_INTERNAL_H
#define GENERATE_GENERATE_INTERNAL_H

#include "generate/generate.h"

enum { COLUMNS_MAX = 20, TABLES_MAX = 16, UNIQUES_MAX = 8 };

#define NO_TABLE UINT32_MAX

struct column {
	char name[8];
	enum type_word type;
	const char *declared;  /* "varchar(10) character set latin1" */
	const char *preset;    /* a literal, or NULL */
	bool null, key, automatic, generated;
	uint32_t parent, parent_column; /* of a foreign key; NO_TABLE: none */
};

/* Virtual values are numbers; value_literal() makes SQL of them. */
#define VALUE_NULL UINT64_MAX

struct row {
	uint64_t values[COLUMNS_MAX]; /* virtual */
	const struct eval_value *stored; /* NULL: the evaluator does not know it */
};

struct table {
	char name[8];
	struct column columns[COLUMNS_MAX];
	uint32_t column_count, key_count; /* key columns come first */
	enum key_word key;
	uint32_t uniques[UNIQUES_MAX]; /* sets of columns, as bits */
	uint32_t unique_count;
	const char *create;
	const char *partition; /* "": none */
	struct row **rows;     /* those of the setup; after them rows that statements insert */
	size_t row_count, set_up_count, row_capacity;
	struct sampler access;
	struct eval_table *eval; /* NULL: not modelled */
	const struct eval_value **stored; /* of the setup's rows */
	size_t stored_count;
};

struct gen {
	const struct model *model;
	const struct dialect *dialect;
	struct random_source random;
	struct arena arena;
	struct buf scratch;
	struct table tables[TABLES_MAX];
	uint32_t table_count;
	uint64_t domain;
	struct sampler values;
	struct eval_source source;
	struct case_tags tags;
	uint32_t numbers; /* of names that must be new: XA transactions, columns of ALTER TABLE */
};

/* ---- schema.c ---- */

void make_schema(struct gen *g);
void release_schema(struct gen *g);
/* A random table; another than t where there is one. */
struct table *any_table(struct gen *g);
struct table *other_table(struct gen *g, const struct table *t);
/* "k1,v1,v2" */
const char *column_list(struct gen *g, const struct table *t, bool generated);
/* A virtual value of the column, as the model has it; never NULL. */
uint64_t any_value(struct gen *g, const struct column *c);
/* NULL at times, where it may be. */
uint64_t any_value_or_null(struct gen *g, const struct column *c);
const char *value_literal(struct gen *g, const struct column *c, uint64_t value);
/* A row to insert: its key is new, unless the model wants one that is there.  It becomes one of the table's. */
struct row *make_row(struct gen *g, struct table *t, bool duplicate);
/* "(1,2,NULL)", of the columns that are not generated. */
const char *row_literal(struct gen *g, const struct table *t, const struct row *row);
/* Lets the evaluator compute what it has when it is stored. */
void evaluate_row(struct gen *g, struct table *t, struct row *row);
const struct row *any_row(struct gen *g, const struct table *t);
bool is_number(const struct column *c);

/* ---- condition.c ---- */

/* A condition of WHERE, without the word; NULL: none.  `prefix` stands before columns ("x."), `alias` is it without
 * the point.  true_for: the row for which it is to be true; NULL: none. */
const char *make_condition(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool aim);
/* The same, and never NULL. */
const char *make_some_condition(
	struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool aim);
/* By the key of the row. */
const char *key_condition(struct gen *g, const struct table *t, const char *prefix, const struct row *row);
/* " where ..." or nothing. */
const char *where_of(struct gen *g, const char *condition);

/* ---- statement.c ---- */

struct wanted {
	struct table *table;
	const struct row *pivot; /* NULL: none */
	const char *condition;   /* given; NULL: make one */
	bool aim;                /* it must be true for the pivot */
	bool plain;              /* no other tables */
	bool insert_pivot;       /* INSERT: that row */
};

const char *make_statement(struct gen *g, enum statement_word kind, const struct wanted *w);
bool is_insert(enum statement_word kind);
const char *make_assignment(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool plain);

/* ---- transaction.c ---- */

struct step {
	const char *sql;
	uint32_t edge;   /* which conflict it is half of, from 0; UINT32_MAX: none */
	bool ends;       /* the transaction */
};

struct txn {
	struct step *steps;
	size_t count, capacity;
	uint32_t session;
};

struct edge {
	uint32_t a, b; /* transactions */
};

struct plan {
	struct txn *txns;
	uint32_t txn_count, session_count;
	struct edge *edges;
	uint32_t edge_count;
	enum txn_level levels[16]; /* of sessions */
	bool mixed;
};

void make_plan(struct gen *g, struct plan *plan);
void release_plan(struct plan *plan);
/* The isolation levels of the sessions. */
void draw_levels(struct gen *g, struct plan *plan);
/* DDL. */
const char *make_definition(struct gen *g);

/* ---- grammar_case.c ---- */

struct grammar_case;
/* The tables of the plan. */
struct grammar_case *make_grammar_case(struct gen *g, const struct table_plan *plan);
/* What the sessions send: a transaction for each, of texts of the grammar. */
void make_grammar_plan(struct grammar_case *c, const struct grammar *grammar, struct plan *plan);
bool add_grammar_setup(struct grammar_case *c, struct scenario *s, struct err *err) MUST_CHECK;
bool add_grammar_final(struct grammar_case *c, struct scenario *s, struct err *err) MUST_CHECK;

/* ---- order.c ---- */

struct slot {
	uint32_t session;
	const struct step *step;
};

/* All steps in an order; in the arena. */
struct slot *make_order(struct gen *g, const struct plan *plan, enum order_word kind, size_t *count);

/* ---- case.c ---- */

/* A word of the feature, noted among the tags. */
unsigned draw_word(struct gen *g, enum model_feature feature);
uint64_t draw_number(struct gen *g, enum model_feature feature);
bool draw_chance(struct gen *g, enum model_feature feature);
uint64_t below(struct gen *g, uint64_t limit);
/* One of several texts. */
#define one_of(g, ...)                                                                             \
	((const char *const[]){__VA_ARGS__}[below((g), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))])
/* clang-format off */
/*
 * A text in the case's arena, as printf makes it.  The arguments are evaluated from left to right, which a function call
 * does not promise: they draw random numbers, and every compiler must draw the same.  (So one_of(), whose texts have no
 * order, gets no text that draws.)
 */
const char *text_plain(struct gen *g, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define text(g, ...) TEXT_CALL(TEXT_PICK(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, _), __COUNTER__, g, __VA_ARGS__)
#define TEXT_PICK(f, a, b, c, d, e, h, i, j, k, l, m, n, count, ...) count
#define TEXT_CALL(count, id, ...) TEXT_JOIN(TEXT_, count)(id, __VA_ARGS__)
#define TEXT_JOIN(a, b) TEXT_JOIN_NOW(a, b)
#define TEXT_JOIN_NOW(a, b) a##b
#define TEXT_ARG(id, number) TEXT_JOIN(TEXT_JOIN(text_arg_, id), TEXT_JOIN(_, number))
#define TEXT_0(id, g, f) text_plain(g, f)
#define TEXT_1(id, g, f, a) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); text_plain(g, f, TEXT_ARG(id, 1)); })
#define TEXT_2(id, g, f, a, b) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2)); })
#define TEXT_3(id, g, f, a, b, c) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3)); })
#define TEXT_4(id, g, f, a, b, c, d) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4)); })
#define TEXT_5(id, g, f, a, b, c, d, e) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5)); })
#define TEXT_6(id, g, f, a, b, c, d, e, h) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6)); })
#define TEXT_7(id, g, f, a, b, c, d, e, h, i) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7)); })
#define TEXT_8(id, g, f, a, b, c, d, e, h, i, j) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); __auto_type TEXT_ARG(id, 8) = (j); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7), TEXT_ARG(id, 8)); })
#define TEXT_9(id, g, f, a, b, c, d, e, h, i, j, k) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); __auto_type TEXT_ARG(id, 8) = (j); __auto_type TEXT_ARG(id, 9) = (k); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7), TEXT_ARG(id, 8), TEXT_ARG(id, 9)); })
#define TEXT_10(id, g, f, a, b, c, d, e, h, i, j, k, l) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); __auto_type TEXT_ARG(id, 8) = (j); __auto_type TEXT_ARG(id, 9) = (k); __auto_type TEXT_ARG(id, 10) = (l); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7), TEXT_ARG(id, 8), TEXT_ARG(id, 9), TEXT_ARG(id, 10)); })
#define TEXT_11(id, g, f, a, b, c, d, e, h, i, j, k, l, m) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); __auto_type TEXT_ARG(id, 8) = (j); __auto_type TEXT_ARG(id, 9) = (k); __auto_type TEXT_ARG(id, 10) = (l); __auto_type TEXT_ARG(id, 11) = (m); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7), TEXT_ARG(id, 8), TEXT_ARG(id, 9), TEXT_ARG(id, 10), TEXT_ARG(id, 11)); })
#define TEXT_12(id, g, f, a, b, c, d, e, h, i, j, k, l, m, n) \
	__extension__({ __auto_type TEXT_ARG(id, 1) = (a); __auto_type TEXT_ARG(id, 2) = (b); __auto_type TEXT_ARG(id, 3) = (c); __auto_type TEXT_ARG(id, 4) = (d); __auto_type TEXT_ARG(id, 5) = (e); __auto_type TEXT_ARG(id, 6) = (h); __auto_type TEXT_ARG(id, 7) = (i); __auto_type TEXT_ARG(id, 8) = (j); __auto_type TEXT_ARG(id, 9) = (k); __auto_type TEXT_ARG(id, 10) = (l); __auto_type TEXT_ARG(id, 11) = (m); __auto_type TEXT_ARG(id, 12) = (n); text_plain(g, f, TEXT_ARG(id, 1), TEXT_ARG(id, 2), TEXT_ARG(id, 3), TEXT_ARG(id, 4), TEXT_ARG(id, 5), TEXT_ARG(id, 6), TEXT_ARG(id, 7), TEXT_ARG(id, 8), TEXT_ARG(id, 9), TEXT_ARG(id, 10), TEXT_ARG(id, 11), TEXT_ARG(id, 12)); })
/* clang-format on */

#endif
