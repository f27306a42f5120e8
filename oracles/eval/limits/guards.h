/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits that depend on the types of operands, apart from the rules that they belong to.
 *
 * A rule calls its function here first (or after the step that the limits need) and gives up where it
 * returns true: the outcome then has the limit.  Each function goes through a list of (limit,
 * predicate) in order.  A limit that the server's release does not have (limits.h) is passed over, so
 * that a predicate names a server only where the limit has several servers for several reasons.
 *
 * What depends on values and not on types is refused where the value is computed.
 */
#ifndef EVAL_GUARDS_H
#define EVAL_GUARDS_H

#include "eval/compile.h"

struct comparison;
struct eval_query;
struct window;

/* The collation of the operands so far, and the one that comes to it. */
struct collation_mix {
	enum operation operation;
	bool makes_text; /* a text is made of the operands; else they are compared */
	uint16_t collation, other;
	uint8_t level, other_level; /* coercibilities */
};

/* What the predicates of one list read. */
struct guarded {
	const struct eval_env *env;
	const struct compiler *compiler; /* its scope and depth; may be NULL */
	const struct sql_expr *expr; /* the operation; may be NULL */
	enum sql_op op;
	enum sql_unit unit;
	struct node *const *args; /* the operands, in order */
	uint32_t count, at;       /* `at`: the operand that is checked, where they are checked one by one */
	const struct node *node; /* what has the operands; may be NULL */
	const struct eval_query *query;
	const struct aggregate *aggregate;
	const struct comparison *how;
	const struct collation_mix *mix;
	const struct eval_type *merged;
	const struct window *window;
	const struct sql_window *definition; /* of the window */
	enum aggregate_kind kind;
	const struct sql_stmt *stmt;
	const struct sql_delete *del;
	const struct sql_table_ref *ref;
	const struct sql_with *with;
};

static inline const struct eval_type *type_at(const struct guarded *g, uint32_t i)
{
	return &g->args[i]->type;
}

/* Of the operand that is checked. */
static inline const struct eval_type *own_type(const struct guarded *g)
{
	return type_at(g, g->at);
}

struct guard {
	enum eval_limit limit;
	bool (*met)(const struct guarded *g);
};

/* The same for a limit with a condition that needs no list. */
static inline bool compile_refuses(struct compiler *c, enum eval_limit limit, bool met)
{
	if (LIKELY(!met))
		return false;
	if (limit_covers(limit, c->env->flavour, c->env->version))
		compile_unsupported(c, limit);
	return c->failed; /* by the condition, perhaps: compile_mysql_has() */
}

/* True: refused with the first limit that is met. */
bool guards_refuse(
	struct compiler *c, const struct guarded *g, const struct guard *guards, size_t count);
/* The same operand by operand, from number `from` on: refused by the first operand that meets a limit. */
bool guards_refuse_each(struct compiler *c, struct guarded *g, uint32_t from,
	const struct guard *guards, size_t count);

/* The same where there is no compiler. */
static inline bool outcome_refuses(struct eval_outcome *outcome, const struct eval_env *env,
	enum eval_limit limit, bool met)
{
	if (LIKELY(!met) || !limit_covers(limit, env->flavour, env->version))
		return false;
	outcome_unsupported(outcome, limit);
	return true;
}

/* The same where an error was met: the server may report another one, or none. */
static inline bool compile_reopens(struct compiler *c, enum eval_limit limit, bool met)
{
	if (LIKELY(!met) || c->outcome->status != EVAL_ERROR ||
		!limit_covers(limit, c->env->flavour, c->env->version))
		return false;
	c->outcome->status = EVAL_OK;
	compile_unsupported(c, limit);
	return true;
}

/* Any expression, when its operands are compiled. */
bool expression_refused(
	struct compiler *c, const struct sql_expr *e, const struct node *n) MUST_CHECK;

/* + - * / DIV % | & ^ << >> of two operands; a number where one is wanted. */
bool arithmetic_refused(
	struct compiler *c, enum sql_op op, struct node *const *operands) MUST_CHECK;
bool number_refused(struct compiler *c, struct node *operand) MUST_CHECK;
bool bit_not_refused(struct compiler *c, struct node *operand) MUST_CHECK;
bool negative_refused(struct compiler *c, struct node *operand) MUST_CHECK;

/* ROUND, TRUNCATE: before their digits are known; after that; ROUND to tens, hundreds ... */
bool round_refused(struct compiler *c, const struct node *round) MUST_CHECK;
bool round_to_places_refused(struct compiler *c, const struct node *round) MUST_CHECK;
bool round_to_tens_refused(struct compiler *c, const struct node *round) MUST_CHECK;

/* COALESCE and IFNULL; ISNULL; CASE: its value, the values that it compares as texts, all of it. */
bool coalesce_refused(struct compiler *c, const struct node *coalesce) MUST_CHECK;
bool isnull_refused(struct compiler *c, const struct node *operand) MUST_CHECK;
bool case_value_refused(struct compiler *c, const struct node *value) MUST_CHECK;
bool case_texts_refused(
	struct compiler *c, struct node *const *compared, uint32_t count) MUST_CHECK;
bool case_refused(struct compiler *c, const struct node *kase) MUST_CHECK;
bool last_insert_id_refused(struct compiler *c, const struct node *n) MUST_CHECK;

/* CAST: to a type; AT TIME ZONE; to CHAR and BINARY.  CONVERT USING, COLLATE. */
bool cast_refused(
	struct compiler *c, const struct sql_type *type, struct node *const *arg) MUST_CHECK;
bool cast_zone_refused(struct compiler *c, struct span zone) MUST_CHECK;
bool cast_to_text_refused(
	struct compiler *c, const struct sql_type *type, const struct node *arg) MUST_CHECK;
bool convert_using_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool collate_refused(struct compiler *c, struct node *const *arg, uint16_t collation) MUST_CHECK;

/* NULLIF; GREATEST and LEAST, which have the merged type. */
bool nullif_refused(struct compiler *c, const struct node *nullif) MUST_CHECK;
bool greatest_refused(struct compiler *c, const struct node *greatest) MUST_CHECK;

/* Two texts: of FIND_IN_SET; of STRCMP; of all; of those that search one in the other. */
bool find_in_set_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool strcmp_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool two_texts_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool search_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;

/* A date and an amount, which is of that unit. */
bool interval_refused(struct compiler *c, const struct node *interval, enum sql_unit unit) MUST_CHECK;

/* The type in which two values are compared. */
bool comparison_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool time_comparison_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool number_comparison_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
/* Columns of two tables that are equal. */
bool join_key_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;

/* Rows: two values of one place, before and after it is known how they are compared; the same in x IN
 * (several rows). */
bool row_pair_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool row_among_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool row_comparison_refused(
	struct compiler *c, struct node *const *pair, const struct comparison *how) MUST_CHECK;
bool row_comparison_among_refused(
	struct compiler *c, struct node *const *pair, const struct comparison *how) MUST_CHECK;

/* x BETWEEN low AND high: before it is known how they are compared; as numbers; as dates or times, where
 * `how` has three: x and low, x and high, low and high. */
bool between_refused(struct compiler *c, struct node *const *args) MUST_CHECK;
bool between_numbers_refused(
	struct compiler *c, struct node *const *args, const struct comparison *how) MUST_CHECK;
bool between_times_refused(struct compiler *c, const struct comparison *how) MUST_CHECK;

/* x IN (list): args[0] is x; how[i] is how it is compared with args[i]. */
bool in_list_refused(struct compiler *c, const struct node *in, const struct comparison *how) MUST_CHECK;

/* (SELECT ...) as a value; x IN, = ANY or = ALL (SELECT ...): args[0] is x, args[1] the column. */
bool any_subquery_refused(
	struct compiler *c, const struct sql_expr *e, const struct eval_query *query) MUST_CHECK;
bool scalar_subquery_refused(
	struct compiler *c, const struct sql_expr *e, const struct eval_query *query) MUST_CHECK;
bool quantified_collations_refused(struct compiler *c, const struct sql_expr *e,
	const struct eval_query *query, struct node *const *pair) MUST_CHECK;
bool quantified_subquery_refused(struct compiler *c, const struct sql_expr *e,
	const struct eval_query *query, struct node *const *pair,
	const struct comparison *how) MUST_CHECK;

/* COUNT(x) and the like: each argument; all of it. */
bool aggregate_arguments_refused(struct compiler *c, const struct aggregate *a) MUST_CHECK;
bool aggregate_refused(struct compiler *c, const struct aggregate *a) MUST_CHECK;

/* SELECT: its clauses, before anything is compiled; its list; ORDER BY; what a temporary table keeps. */
bool select_clauses_refused(struct compiler *c, const struct sql_query *query) MUST_CHECK;
bool select_list_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;
bool select_order_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;
bool select_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;

/* Keys of ORDER BY and GROUP BY: as it is written, where a number means an item; the item that a number
 * means; compiled; of GROUP BY. */
bool key_text_refused(struct compiler *c, const struct sql_expr *key) MUST_CHECK;
bool key_ordinal_refused(struct compiler *c, struct node *item) MUST_CHECK;
bool key_refused(struct compiler *c, struct node *key) MUST_CHECK;
bool group_key_refused(struct compiler *c, const struct sql_expr *e, struct node *key) MUST_CHECK;

/* UNION, INTERSECT, EXCEPT: their operands; a column before and after the type that holds both is known. */
bool set_operands_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;
bool set_column_refused(struct compiler *c, const struct eval_query *q, uint32_t column) MUST_CHECK;
bool set_merged_column_refused(
	struct compiler *c, const struct eval_query *q, uint32_t column) MUST_CHECK;
bool values_column_refused(
	struct compiler *c, struct node *const *column, uint32_t row_count) MUST_CHECK;

/* The collation of several operands: of an operand alone, of one whose collation is not that of those
 * before it, of all together. */
bool collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count, uint32_t at) MUST_CHECK;
bool collation_mix_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count, uint32_t at) MUST_CHECK;
bool union_collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count) MUST_CHECK;
bool mixed_collation_refused(struct compiler *c, const struct collation_mix *mix,
	struct node *const *args, uint32_t count) MUST_CHECK;

/* The type that holds several: of each operand, before the types are put together; of all; of the result. */
bool merge_refused(struct compiler *c, struct node *const *args, uint32_t count) MUST_CHECK;
bool merged_type_refused(struct compiler *c, struct node *const *args, uint32_t count,
	const struct eval_type *merged) MUST_CHECK;

/* Window functions: a key; the frame, before and after its numbers are read; the value of LAG and the
 * like, and the type that it has; NTILE's and NTH_VALUE's number; an aggregate; the whole. */
bool window_key_refused(struct compiler *c, struct node *key) MUST_CHECK;
bool window_frame_refused(struct compiler *c, const struct window *w,
	const struct sql_window *definition) MUST_CHECK;
bool window_offsets_refused(struct compiler *c, const struct window *w,
	const struct sql_window *definition) MUST_CHECK;
bool window_value_refused(struct compiler *c, const struct window *w) MUST_CHECK;
bool window_type_refused(struct compiler *c, const struct window *w) MUST_CHECK;
bool window_number_refused(struct compiler *c, const struct window *w) MUST_CHECK;
bool window_aggregate_refused(struct compiler *c, const struct sql_expr *e,
	enum aggregate_kind kind) MUST_CHECK;
bool window_refused(struct compiler *c, const struct window *w) MUST_CHECK;

/* UPDATE and DELETE: of one table; DELETE's own; of several tables. */
bool change_refused(struct compiler *c, const struct sql_table_ref *ref,
	const struct sql_with *with) MUST_CHECK;
bool delete_refused(struct compiler *c, const struct sql_delete *del) MUST_CHECK;
bool join_change_refused(struct compiler *c, const struct sql_stmt *stmt) MUST_CHECK;

/* -x of a constant that failed. */
bool negative_constant_refused(struct compiler *c, const struct eval_outcome *outcome) MUST_CHECK;

/* Functions of dates and times: YEAR and the like; TIME_TO_SEC; EXTRACT; DATE, LAST_DAY ... (the first is
 * `by_date_function`); TIME; MAKETIME; SEC_TO_TIME; NOW. */
bool date_part_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool time_to_sec_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool extract_refused(
	struct compiler *c, const struct sql_expr *e, const struct node *arg) MUST_CHECK;
bool to_date_refused(struct compiler *c, const struct node *arg, bool by_date_function) MUST_CHECK;
bool to_time_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool maketime_refused(struct compiler *c, struct node *const *args) MUST_CHECK;
bool moment_type_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool named_zone_refused(struct compiler *c, bool known) MUST_CHECK;
bool from_unixtime_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool sec_to_time_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool now_refused(struct compiler *c, const struct node *n, const char *function) MUST_CHECK;

/* Aggregates, by their text: the name; clauses; of GROUP_CONCAT its clauses, its keys, a second one. */
bool aggregate_name_refused(struct compiler *c, struct span name) MUST_CHECK;
/* A variance: the servers add up doubles row by row, so that the last digits follow from the order of the rows.  Is it the same
 * between these bounds? */
bool variance_refused(struct run *run, bool same);
bool aggregate_clauses_refused(struct compiler *c, const struct sql_call_extra *extra) MUST_CHECK;
bool group_concat_clauses_refused(
	struct compiler *c, const struct sql_call_extra *extra) MUST_CHECK;
bool group_concat_key_refused(struct compiler *c, const struct sql_expr *key) MUST_CHECK;
bool outer_aggregate_refused(struct compiler *c, bool belongs_here) MUST_CHECK;
bool second_group_concat_refused(struct compiler *c, const struct aggregate *a,
	const struct aggregate *others) MUST_CHECK;

/* Comparing with a subquery; the constants of one place of two rows. */
bool subquery_comparison_refused(
	struct compiler *c, const struct node *a, const struct node *b) MUST_CHECK;
bool row_constants_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;

/* AND, OR and XOR; a condition; NOT; IS; LIKE and its ESCAPE. */
bool logic_refused(struct compiler *c, enum sql_op op, const struct node *l,
	const struct node *r) MUST_CHECK;
bool condition_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool not_refused(
	struct compiler *c, const struct sql_expr *e, const struct node *arg) MUST_CHECK;
bool is_refused(struct compiler *c, enum sql_op op, const struct node *arg) MUST_CHECK;
bool like_refused(struct compiler *c, struct node *const *pair) MUST_CHECK;
bool escape_refused(struct compiler *c, const struct node *escape) MUST_CHECK;

/* (a, b) IN (rows): how many; where the collations of one place cannot be mixed; each row, which
 * comparisons[at] compares. */
bool rows_in_list_refused(struct compiler *c, uint32_t count) MUST_CHECK;
bool row_collations_refused(struct compiler *c, uint32_t count);
bool row_in_list_refused(struct compiler *c, const struct node *left, const struct node *row,
	struct node *const *comparisons, uint32_t at, uint32_t count) MUST_CHECK;

/* Functions of texts: a constant length, which may have failed; the operands, before and after their
 * collation is known; two texts of which one becomes part of the other; single functions. */
bool constant_length_refused(struct compiler *c, const struct eval_outcome *outcome,
	const struct eval_value *v) MUST_CHECK;
bool string_operands_refused(struct compiler *c, const struct node *n, struct node *const *args,
	uint32_t count) MUST_CHECK;
bool string_of_bytes_refused(struct compiler *c, const struct node *n, struct node *const *args,
	uint32_t count) MUST_CHECK;
/* MySQL: which collation the result has is not always the stronger one. */
bool mixed_collations_refused(
	struct compiler *c, const struct node *a, const struct node *b) MUST_CHECK;
/* MySQL: REPLACE, TRIM and the like make the others texts of the first one's character set, which can
 * fail (error 3854).  A number's text has the connection's. */
bool other_charset_refused(
	struct compiler *c, const struct node *first, const struct node *other) MUST_CHECK;
bool replace_refused(struct compiler *c, struct node *const *args) MUST_CHECK;
bool replace_in_literal_refused(struct compiler *c, const struct node *text) MUST_CHECK;
bool quote_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool concat_ws_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool json_valid_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool repeat_refused(struct compiler *c, const struct node *text) MUST_CHECK;
bool insert_refused(
	struct compiler *c, const struct node *text, const struct node *added) MUST_CHECK;
bool field_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool elt_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool hex_refused(struct compiler *c, const struct node *arg) MUST_CHECK;

/* REGEXP: its operands; REGEXP_LIKE(); the operator; a constant pattern, which may have failed; one that is
 * wrong. */
bool regexp_refused(struct compiler *c, const struct node *n, uint32_t texts) MUST_CHECK;
bool regexp_like_refused(struct compiler *c) MUST_CHECK;
bool regexp_operator_refused(struct compiler *c) MUST_CHECK;
bool constant_pattern_text_refused(struct compiler *c, const struct eval_outcome *outcome,
	struct span pattern, uint16_t collation) MUST_CHECK;
bool constant_pattern_error_refused(struct compiler *c) MUST_CHECK;

/* JSON: a document; a value inside of one; a path; the functions; comparing. */
struct path;
bool json_document_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool json_value_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool json_path_refused(struct compiler *c, const struct node *path) MUST_CHECK;
bool json_extract_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool json_arrow_refused(struct compiler *c) MUST_CHECK;
bool json_name_refused(struct compiler *c, const struct node *name) MUST_CHECK;
bool json_remove_refused(struct compiler *c, const struct path *path) MUST_CHECK;
bool json_contains_path_refused(struct compiler *c, const struct node *how) MUST_CHECK;
bool json_comparison_refused(struct compiler *c, enum sql_op op, const struct node *json,
	const struct node *other) MUST_CHECK;

/* ADDTIME, SUBTIME and TIMEDIFF. */
bool addtime_refused(
	struct compiler *c, const struct eval_type *a, const struct eval_type *b) MUST_CHECK;
bool timediff_refused(struct compiler *c, struct node *const *args) MUST_CHECK;

/* DAYNAME, MONTHNAME; DATE_FORMAT. */
bool day_name_refused(struct compiler *c) MUST_CHECK;
bool date_format_refused(struct compiler *c, struct node *const *args) MUST_CHECK;

/* ABS; CEILING and FLOOR; ROUND's digits, a constant: before and after they are an integer. */
bool abs_refused(struct compiler *c, struct node *arg) MUST_CHECK;
bool ceiling_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool null_digits_refused(struct compiler *c, const struct eval_value *v) MUST_CHECK;
bool digits_refused(
	struct compiler *c, const struct eval_type *type, const struct eval_value *v) MUST_CHECK;

/* Digests; SHA2's bits; FORMAT, CONV and its bases, CHAR, TO_BASE64, INET_ATON; STR_TO_DATE, and whether its
 * format has all parts of a date. */
bool digested_literal_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool digest_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool sha2_refused(struct compiler *c, const struct node *bits) MUST_CHECK;
bool format_refused(struct compiler *c, struct node *const *args) MUST_CHECK;
bool conv_base_refused(struct compiler *c, const struct node *base) MUST_CHECK;
bool conv_refused(struct compiler *c, const struct eval_type *t) MUST_CHECK;
bool char_refused(struct compiler *c, const struct node *n) MUST_CHECK;
bool base64_refused(struct compiler *c, const struct node *arg) MUST_CHECK;
bool inet_aton_refused(struct compiler *c, const struct eval_type *t) MUST_CHECK;
bool inet_ntoa_refused(struct compiler *c, const struct eval_type *t) MUST_CHECK;
bool str_to_date_refused(struct compiler *c, struct node *const *args) MUST_CHECK;
bool str_to_date_parts_refused(struct compiler *c, bool all) MUST_CHECK;

/* Windows, by their text: a number; one over another; a key; a key that failed. */
bool window_literal_refused(struct compiler *c, const struct sql_expr *e) MUST_CHECK;
bool window_over_another_refused(struct compiler *c, const struct sql_window *over,
	const struct sql_window *so_far, const struct sql_window *named) MUST_CHECK;
bool window_key_text_refused(struct compiler *c, const struct sql_expr *key) MUST_CHECK;
bool window_key_error_refused(struct compiler *c);

/* A subquery: beside a row; with several columns. */
bool row_and_subquery_refused(struct compiler *c, const struct node *left) MUST_CHECK;
bool wide_subquery_refused(struct compiler *c, const struct sql_expr *e) MUST_CHECK;

/* FROM: a table; a derived table; ON of an outer join; all of it with WHERE; `*`. */
bool table_name_refused(struct compiler *c, const struct sql_table_ref *ref) MUST_CHECK;
bool derived_table_refused(struct compiler *c, const struct sql_table_ref *ref) MUST_CHECK;
bool outer_join_refused(
	struct compiler *c, const struct sql_expr *text, const struct node *on) MUST_CHECK;
/* Servers take an outer join for an inner one where a condition cannot be true of NULLs.  They think so of
 * some that can. */
bool hidden_rows_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;
struct join_tree;
bool star_of_joins_refused(struct compiler *c, const struct join_tree *j) MUST_CHECK;

/* LIMIT; HAVING that failed, or names a column that is not selected; a constant that failed; INTO; WITH
 * ROLLUP; GROUPING(). */
bool limit_refused(struct compiler *c, const struct sql_limit *limit) MUST_CHECK;
bool having_error_refused(struct compiler *c);
bool having_column_refused(struct compiler *c, const struct eval_query *q) MUST_CHECK;
bool failing_constant_refused(struct compiler *c) MUST_CHECK;
bool select_into_refused(struct compiler *c, const struct sql_query *query) MUST_CHECK;
bool rollup_refused(struct compiler *c, bool of_keys_and_aggregates) MUST_CHECK;
bool grouping_arguments_refused(struct compiler *c, const struct node *n) MUST_CHECK;

/* What a derived table keeps (`stored`: of a view); WITH RECURSIVE; UNION; VALUES. */
bool kept_column_refused(struct compiler *c, const struct eval_query *q, uint32_t column,
	bool stored) MUST_CHECK;
bool recursive_query_refused(struct compiler *c, const struct eval_query *step) MUST_CHECK;
bool recursive_column_refused(struct compiler *c, bool same_shape) MUST_CHECK;
bool union_limit_refused(struct compiler *c) MUST_CHECK;
bool values_order_refused(struct compiler *c, const struct sql_query *query) MUST_CHECK;

/* CREATE TABLE: all of it; an element; a column; its type; an ENUM whose members end in blanks; a
 * TIMESTAMP. */
bool create_table_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_create_table *create) MUST_CHECK;
bool table_element_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_element *e) MUST_CHECK;
bool column_text_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_column_def *def) MUST_CHECK;
bool column_type_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_type *type) MUST_CHECK;
bool member_blanks_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct eval_type *t) MUST_CHECK;
bool timestamp_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_column_def *def) MUST_CHECK;

/* INSERT: its clauses; a query into a column; what a row's value reads. */
bool insert_clauses_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct sql_insert *insert) MUST_CHECK;
bool query_into_column_refused(struct eval_outcome *o, const struct eval_env *env,
	const struct eval_column *column) MUST_CHECK;
bool early_read_refused(struct compiler *c, bool reads) MUST_CHECK;
bool later_row_refused(struct compiler *c, bool reads_table) MUST_CHECK;
/* ON DUPLICATE KEY UPDATE of a query that failed. */
bool duplicate_error_refused(struct compiler *c, const struct sql_insert *insert);

/* UPDATE of several tables: a default that is computed; what it reads; the tables. */
bool computed_default_refused(
	struct eval_outcome *o, const struct eval_env *env, bool computed) MUST_CHECK;
bool joined_update_refused(
	struct eval_outcome *o, const struct eval_env *env, bool reads_written) MUST_CHECK;
bool updated_join_refused(
	struct eval_outcome *o, const struct eval_env *env, bool of_base_table) MUST_CHECK;

/* Kinds of expressions and operators that are not modelled at all; calls: of stored functions, with clauses
 * of their own, of functions that a release has other rules for. */
bool construct_refused(struct compiler *c, const struct sql_expr *e) MUST_CHECK;
bool assigned_item_refused(struct compiler *c, const struct sql_expr *value, const struct eval_type *type);
bool call_refused(struct compiler *c, const struct sql_expr *e) MUST_CHECK;
bool call_clauses_refused(struct compiler *c, const struct sql_call_extra *extra) MUST_CHECK;
bool function_refused(struct compiler *c, struct span name) MUST_CHECK;

/* Literals; names of columns that are aliases, too; VALUES(c); DEFAULT(c). */
bool literal_charset_refused(struct compiler *c, struct span charset) MUST_CHECK;
bool literal_text_refused(struct compiler *c, uint16_t collation, struct span text) MUST_CHECK;
bool literal_bytes_refused(struct compiler *c, const struct eval_type *type) MUST_CHECK;
bool literal_double_refused(struct compiler *c, double d) MUST_CHECK;
bool alias_or_column_refused(struct compiler *c, bool both) MUST_CHECK;
bool ambiguous_alias_refused(struct compiler *c, bool ambiguous) MUST_CHECK;
bool outer_alias_refused(struct compiler *c, bool found) MUST_CHECK;
bool insert_values_refused(struct compiler *c, const struct eval_table *table,
	const struct sql_expr *of) MUST_CHECK;
bool default_refused(struct compiler *c, const struct node *of) MUST_CHECK;
bool default_of_column_refused(struct compiler *c, const struct eval_column *column) MUST_CHECK;

/* Two types that one must hold; texts whose collations cannot be mixed. */
bool merged_pair_refused(
	struct compiler *c, const struct eval_type *a, const struct eval_type *b) MUST_CHECK;
bool illegal_mix_refused(
	struct compiler *c, struct node *const *args, uint32_t count) MUST_CHECK;

#endif
