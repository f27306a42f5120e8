/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the random texts (eval_random*.c) share. */
#ifndef EVAL_RANDOM_INTERNAL_H
#define EVAL_RANDOM_INTERNAL_H

#include "base/attr.h"
#include "eval_random.h"

enum kind { K_INT, K_DECIMAL, K_DOUBLE, K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER, K_COUNT };

static inline uint64_t below(struct generator *g, uint64_t limit)
{
	return random_below(&g->random, limit);
}

static inline bool chance(struct generator *g, uint64_t one_in)
{
	return below(g, one_in) == 0;
}

#define PICK(g, list) ((list)[below((g), ARRAY_LEN(list))])

/* A literal for a column of the wide table. */
void generate_row_value(struct generator *g, const char *name, struct buf *out);
/* A column or a literal; a kind that columns have; a condition; an expression of the kind. */
void generate_leaf(struct generator *g, enum kind kind, struct buf *out);
enum kind generate_kind(struct generator *g);
void generate_predicate(struct generator *g, struct buf *out);
void generate_of_kind(struct generator *g, enum kind kind, struct buf *out);
/* For LIKE. */
const char *generate_pattern(struct generator *g);

#endif
