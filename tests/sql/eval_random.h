/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random tables, expressions and queries as text, for the comparison of the evaluator with a
 * server. */
#ifndef EVAL_RANDOM_H
#define EVAL_RANDOM_H

#include <stdbool.h>

#include "base/buf.h"
#include "random.h"

struct generator {
	struct random random;
	bool mysql;
	uint32_t version;
	const char *newest_collation; /* of utf8mb4, that the server has */
	const char *prefix; /* of columns: "t." or "" */
	bool aggregated;    /* SUM(i), MIN(s) ... in the place of columns */
	int depth;
};

/* The columns of the wide table, and what CREATE TABLE says of them. */
struct generated_column {
	const char *name, *definition;
};
extern const struct generated_column generated_columns[]; /* the last has no name */
extern const size_t generated_column_count;

void generate_create(struct generator *g, const char *name, struct buf *out);
/* One row of literals, `id` first. */
void generate_row(struct generator *g, unsigned id, struct buf *out);
/* An expression over the wide table. */
void generate_expr(struct generator *g, struct buf *out);
/* A query over the tables t (wide), k and m (small: id, g, v, s). */
void generate_query(struct generator *g, struct buf *out);
void generate_wide_query(struct generator *g, struct buf *out);
/* A value and a condition of one of the small tables. */
void generate_small_value(struct generator *g, const char *table, struct buf *out);
void generate_small_predicate(struct generator *g, const char *table, struct buf *out);
/* A JSON text, as it stands in a string literal; INSERT, SELECT and UPDATE of table jf (id, a: JSON, v, i). */
void generate_json(struct random *r, unsigned depth, struct buf *out);
void generate_json_row(struct generator *g, unsigned id, struct buf *out);
void generate_json_query(struct generator *g, struct buf *out);
void generate_json_change(struct generator *g, struct buf *out);
/* INSERT or UPDATE of table w, which has the columns of the wide table. */
void generate_change(struct generator *g, unsigned id, struct buf *out);
/* Tables that are joined along their keys, and how many rows they have; the last has no name. */
struct generated_join_table {
	const char *name, *columns;
	unsigned rows;
};
extern const struct generated_join_table generated_join_tables[];
/* (id, ...), for INSERT INTO table number `table` VALUES. */
void generate_join_row(struct generator *g, unsigned table, unsigned id, struct buf *out);
void generate_join_query(struct generator *g, struct buf *out);

#endif
