/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of sql_eval (eval_compare.c): each compares one kind of text with a server.
 */
#ifndef EVAL_COMPARE_H
#define EVAL_COMPARE_H

#include <mysql.h>

#include "base/arena.h"
#include "base/buf.h"
#include "eval/eval.h"
#include "eval_random.h"
#include "eval_tables.h"

enum { BATCH = 40, ROWS = 8, REASONS_MAX = 400, FEATURES_MAX = 1000 };

struct reason {
	char text[EVAL_REASON_MAX];
	unsigned long count;
};

/* What occurs in the expressions and queries, how often, and how often in one that was decided. */
struct feature {
	char name[40];
	unsigned long count, decided;
};

struct state {
	MYSQL *server;
	struct sql_options options;
	struct eval_env env;
	struct generator generator;
	struct arena schema, rows, scratch;
	struct eval_tables tables;
	bool binary; /* the connection's character set is binary, as MediaWiki's */
	unsigned changed; /* which table changes are made in */
	unsigned shown; /* the table whose rows a difference is shown with */
	struct reason reasons[REASONS_MAX];
	unsigned reason_count;
	struct feature features[FEATURES_MAX];
	unsigned feature_count;
	bool coverage, decided; /* to count them; of the text being compared */
	unsigned long expressions, values, unsupported, unsupported_values, errors, differences;
	unsigned long statements, statements_unsupported, statement_errors;
	unsigned long show;
	double cpu; /* seconds spent in the evaluator */
};

/* What we say of one expression, a value a row. */
struct answer {
	char *text; /* of the expression */
	enum { WHOLE, FAILED, LEFT_OUT } kind;
	unsigned error;
	bool undecided; /* a row that we do not know, before any that fails */
	bool known[ROWS];
	struct span value[ROWS]; /* ptr NULL: NULL */
};

/* eval_server.c */
void must(struct state *s, const char *sql);
void use_server(struct state *s, const char *socket, const char *database);
void add_table(struct state *s, const char *sql);
void load_rows(struct state *s, unsigned number);
void fill_table(struct state *s, unsigned number, unsigned count);
void count_reason(struct state *s, const char *text);
int by_count(const void *a, const void *b);
void difference(struct state *s, const char *text, const char *what);
double cpu_now(void);
void count_features(struct state *s, const struct sql_stmt *stmt, bool decided);
int by_name(const void *a, const void *b);

/* eval_expressions.c */
void flush_batch(struct state *s, struct answer *answers, unsigned *count);
void one_expression(struct state *s, const char *text, struct answer *batch, unsigned *count);
void expressions(struct state *s, unsigned long count);

/* eval_queries.c */
void one_query(struct state *s, const char *sql);
void fill_small(struct state *s, unsigned number);
void queries(struct state *s, unsigned long count);

/* eval_changes.c */
void one_change(struct state *s, const char *sql);
void changes(struct state *s, unsigned long count);

/* eval_json_joins.c */
void json_texts(struct state *s, unsigned long count);
void json_functions(struct state *s, unsigned long count);
void joins(struct state *s, unsigned long count);

/* eval_collations.c */
void collations(struct state *s);

#endif
