/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the evaluator: the compiled expression and what it runs in.
 *
 * A node has the function that computes it, its static type, and its arguments.  A node's value has
 * the kind that its type implies (eval_kind_of) or is NULL; functions rely on it.  Failure is
 * sticky: run_fail_* marks the run, and what is computed after that is thrown away, so that no
 * function needs to check its arguments for failure.
 */
#ifndef EVAL_NODE_H
#define EVAL_NODE_H

#include "eval/eval.h"
#include "eval/value/collation.h"
#include "eval/value/decimal.h"

struct node;
struct frame;
struct scope;
struct compiler;

typedef struct eval_value node_fn(const struct node *node, struct frame *frame);

struct node {
	node_fn *fn;
	node_fn *guarded; /* what fn guards, see compile_expr() */
	struct eval_type type;
	const struct sql_expr *expr; /* where it comes from; may be NULL */
	bool constant; /* the same for every row: no columns of this or an outer query, no
			  subquery over tables */
	bool literal;  /* written as a literal */
	bool column;   /* a column of a table */
	bool computed; /* of a derived table, where it is no column */
	bool carries;  /* its value may be opaque (EVAL_OPAQUE), see node_carry */
	bool nested;   /* an argument of something */
	bool with_null, with_failing, with_cut; /* guarded: such a constant is somewhere in it */
	bool asks_all;                /* guarded: an error anywhere in it may show */
	uint8_t op;    /* enum sql_op, or a function's own number */
	uint8_t aux;
	uint16_t collation; /* under which a comparison compares */
	uint32_t arg_count;
	struct node **args;
	union {
		struct eval_value value; /* literals */
		struct {
			uint32_t depth; /* 0: this query, 1: the one around it ... */
			uint32_t table, column;
		} at;
		const void *data;
		int64_t number;
	} u;
};

struct cached_query {
	const struct eval_query *query;
	struct eval_result result;
	struct cached_query *next;
};

/* One evaluation: what all frames share. */
struct run {
	const struct eval_env *env;
	const struct eval_source *source;
	struct arena *arena;
	struct eval_outcome *outcome;
	bool failed;
	bool strict; /* INSERT, UPDATE, DELETE in strict mode: what a query only warns of is an
			error */
	bool folded; /* and strict: constants of the condition may have been converted before */
	bool bounded; /* the last value is a variance, and anything between these: */
	double low, high;
	bool assigning; /* what is computed goes into a column */
	bool carrying; /* the node that is run may give an opaque value */
	uint64_t steps, steps_max;
	size_t rows_max;
	size_t bytes_max; /* in the arena */
	struct cached_query *cached; /* results of subqueries that need no outer row */
};

/* One query's rows while it is evaluated. */
struct frame {
	struct run *run;
	const struct eval_value **rows; /* by table number; NULL: the NULL row of an outer join */
	const struct frame *outer;
	const struct eval_value *aggregates; /* of the group, where there is one */
	const struct eval_value *windows;    /* of window functions, once they are computed */
	const struct eval_query *rollup;     /* of a group: the query, where it has WITH ROLLUP */
	uint32_t rollup_kept;                /* its keys that are not summed up */
	bool no_row;                         /* the group has none: aggregates of nothing */
	const struct eval_value *insert;     /* VALUES(c): the row that was to be inserted */
};

/* Starts a run with the bounds of the environment. */
struct run run_begin(const struct eval_env *env, const struct eval_source *source,
	struct arena *arena, struct eval_outcome *outcome);
bool run_step(struct run *run); /* counts; false: a bound is reached */
bool run_has_room(struct run *run); /* false: the bound of memory is reached */

/* ---- failing ---- */

struct eval_value run_error(struct run *run, unsigned error, const char *what);
/* For the guards (limits/): the construct, or these values, are not modelled. */
struct eval_value run_unsupported(struct run *run, enum eval_limit limit);
/* For the rules: a step did not lead to a value, though the construct is modelled.  A bound was
 * reached, a fact is not in the trace, or what the step needs is not known. */
struct eval_value run_gives_up(struct run *run, enum eval_limit limit);
/* What failed in another run fails in this one, for the same reason. */
struct eval_value run_passes_on(struct run *run, const struct eval_outcome *other);
/* Did it end with an error? */
static inline bool run_erred(const struct run *run)
{
	return run->failed && run->outcome->status == EVAL_ERROR;
}
/* The server may report another error than the current one, or none: it becomes unsupported. */
struct eval_value run_open_error(struct run *run, enum eval_limit limit);
/* Something was cut off in a conversion: an error in strict mode, else nothing. */
void run_truncated(struct run *run);
/* For compiling: both return NULL. */
void *outcome_error(struct eval_outcome *outcome, unsigned error, const char *what);
void *outcome_unsupported(struct eval_outcome *outcome, enum eval_limit limit);
void outcome_warn(struct eval_outcome *outcome, unsigned code);

/* ---- types ---- */

enum eval_kind eval_kind_of(const struct eval_type *type);
bool type_is_temporal(const struct eval_type *type);
bool type_is_number(const struct eval_type *type); /* INT, BIT, YEAR, DECIMAL, FLOAT, DOUBLE */
bool type_is_string(const struct eval_type *type); /* STRING, ENUM, SET, JSON */
bool type_is_list(const struct eval_type *type);   /* ENUM, SET */
bool type_is_int(const struct eval_type *type);    /* INT, BIT, YEAR */
bool type_is_bytes(const struct eval_type *type);  /* BINARY, VARBINARY, BLOB */
/* Digits before the point and all digits, as DECIMAL results are sized. */
uint32_t type_int_digits(const struct eval_type *type);
uint32_t type_precision(const struct eval_type *type);
/* A number in the text of a type, as in CHAR(20); where there is none, `otherwise`. */
uint32_t type_number(struct span digits, uint32_t otherwise);
struct eval_type type_int(bool is_unsigned);
struct eval_type type_bool(void);
struct eval_type type_double(void);
struct eval_type type_decimal(uint32_t precision, uint32_t scale);
struct eval_type type_string(uint16_t collation, uint8_t coercibility, uint32_t length);
struct eval_type type_temporal(enum eval_type_kind kind, uint32_t decimals);
uint32_t decimal_scale_max(const struct eval_env *env); /* 38 MariaDB, 30 MySQL */
/* Has it digits, not zeros, after those that a DECIMAL of this type shows? */
bool decimal_beyond(const struct eval_type *type, const struct decimal *d);

/* ---- conversions ---- */

/* Of a value that is not NULL.  What the servers only warn about ("abc" + 0) is silent. */
double to_double(struct run *run, const struct eval_type *type, const struct eval_value *v);
/* As an integer with its signedness: rounded; strings by their leading digits. */
struct eval_value to_integer(
	struct run *run, const struct eval_type *type, const struct eval_value *v);
struct decimal to_decimal(
	struct run *run, const struct eval_type *type, const struct eval_value *v);
struct span to_text(struct run *run, const struct eval_type *type, const struct eval_value *v);
/* In another character set: false where a character has no place there or is malformed. */
bool text_convert(struct arena *arena, enum charset from, enum charset to, struct span s,
	struct span *out, bool *malformed) MUST_CHECK;
/* A value as one of another type: for IF, CASE, UNION, casts of results. */
struct eval_value to_type(struct run *run, const struct eval_type *from, const struct eval_value *v,
	const struct eval_type *to);
bool to_bool(struct run *run, const struct eval_type *type, const struct eval_value *v);

/* A value as it leaves the evaluator: negative zero as the release prints it. */
struct eval_value shown(struct run *run, struct eval_value v);
struct eval_value make_decimal(struct run *run, const struct decimal *d);
struct eval_value make_text(struct run *run, const struct buf *text, uint16_t collation);

/* The shortest digits that give the number back, in the servers' layout. */
void double_print(double d, struct buf *out);
void double_print_fixed(double d, uint32_t decimals, struct buf *out);
void float_print(float f, struct buf *out);
/* The number at the start of s, as the servers read it; *used: bytes read. */
double text_to_double(struct span s, size_t *used);

/* ---- running ---- */

static inline struct eval_value node_run(const struct node *node, struct frame *frame)
{
	return node->fn(node, frame);
}

/* The same where the value is only kept or shown: it may be opaque. */
static inline struct eval_value node_carry(const struct node *node, struct frame *frame)
{
	struct eval_value v;

	frame->run->carrying = node->carries;
	v = node->fn(node, frame);
	frame->run->carrying = false;
	return v;
}

struct eval_expr {
	struct node *node;
};

/* eval_expr_run() for a value that is only kept. */
bool expr_carry(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, struct eval_value *out,
	struct eval_outcome *outcome);
/* The value, where it is wanted for more than that: an opaque one is refused. */
struct eval_value require_known(struct run *run, struct eval_value v);

/* ---- compiling (compile.c) ---- */

struct compiler {
	struct arena *arena;
	const struct eval_env *env;
	const struct eval_source *source; /* may be NULL */
	struct eval_outcome *outcome;
	struct scope *scope;
	const struct cte *ctes; /* in sight */
	uint32_t depth;
	bool failed;
	bool no_locals; /* a name that cannot be a variable's */
	bool bytes;     /* what is compiled next stands beside a column of bytes, or goes into one */
	/* Of the expression that is compiled: constants in it that are NULL, that fail; how many
	 * were computed to see that. */
	bool null_constant, failing_constant, cut_constant;
	bool failing_before; /* one of an expression before it */
	bool erring_constant; /* one that is an error */
	uint32_t constants_run;
};

struct compiler compiler_begin(struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, struct eval_outcome *outcome);
struct node *compile_expr(struct compiler *c, const struct sql_expr *expr);
struct node *node_new(
	struct compiler *c, node_fn *fn, const struct sql_expr *expr, uint32_t arg_count);
/* The same three while an expression is compiled; all return NULL. */
void *compile_unsupported(struct compiler *c, enum eval_limit limit);
void *compile_gives_up(struct compiler *c, enum eval_limit limit);
void *compile_passes_on(struct compiler *c, const struct eval_outcome *other);
/* To compute a constant while the statement is compiled, within bounds. */
struct run compile_run(const struct compiler *c, struct eval_outcome *outcome);
struct node *compile_error(struct compiler *c, unsigned error, const char *what);
/* All arguments of a call, in order; NULL when one failed. */
bool compile_list(struct compiler *c, const struct sql_exprs *list, struct node **out);

/* Is it so of `n` or of anything within it?  Subqueries are not looked into. */
bool node_any(const struct node *n, bool (*is)(const struct node *n));
/* Is there a Unicode text in it that may have more than ASCII? */
/* Is args[at] a number that is found by comparing texts, which it has the collation of, and that one not the others'? */
bool relates_texts(struct node *const *args, uint32_t count, uint32_t at);
bool has_wide_text(const struct node *n);
/* REGEXP_REPLACE and the like. */
bool calls_regexp(const struct node *n);
/* The coercibility of a string whose collation is not known, and of no string at all: see
 * aggregate_collation(). */
enum { COERCIBLE_NONE = 1, COERCIBLE_NOTHING = 7 };
/* What several operands are brought together for. */
enum operation {
	OPERATION_COMPARES, /* or searches, or keeps them in one column */
	OPERATION_BUILDS,   /* one text or value of them: CONCAT, COALESCE, GREATEST ... */
	OPERATION_IF,
	OPERATION_CASE,
	OPERATION_UNION,
};
/* Must they have one collation? */
bool needs_collation(enum operation operation);
/* The collation under which strings meet (the manual's "Collation Coercibility"); false: error 1267
 * was set.  Arguments that are no strings take no part. */
bool aggregate_collation(struct compiler *c, struct node **args, uint32_t count,
	enum operation operation, uint16_t *collation, uint8_t *coercibility) MUST_CHECK;

#endif
