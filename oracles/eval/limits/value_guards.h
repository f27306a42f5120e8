/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The limits that depend on values, apart from the rules that they belong to.
 *
 * A rule calls its function here and gives up where it returns true: the run has failed then, with the
 * limit.  Each function is a list of (limit, condition) in order.  As with the limits of types
 * (guards.h), a limit that the server's release does not have is passed over, so that a condition names
 * a server only where the limit has several servers for several reasons.
 */
#ifndef EVAL_VALUE_GUARDS_H
#define EVAL_VALUE_GUARDS_H

#include "eval/node.h"

struct column_assign;
struct aggregate;
struct comparison;

static inline bool run_refuses(struct run *run, enum eval_limit limit, bool met)
{
	if (LIKELY(!met) || !limit_covers(limit, run->env->flavour, run->env->version))
		return false;
	run_unsupported(run, limit);
	return true;
}

/* The same where an error was met: the server may report another one, or none. */
static inline bool run_reopens(struct run *run, enum eval_limit limit, bool met)
{
	if (LIKELY(!met) || !run_erred(run) ||
		!limit_covers(limit, run->env->flavour, run->env->version))
		return false;
	run_open_error(run, limit);
	return true;
}

static inline bool is_above_bigint(const struct eval_value *v)
{
	return v->kind == EVAL_UINT && v->u > INT64_MAX;
}

static inline bool are_large_and_negative(const struct eval_value *a, const struct eval_value *b)
{
	return is_above_bigint(a) && b->kind == EVAL_INT && b->i < 0;
}

/* What is assigned to a column: before anything else; by the column's type. */
bool assign_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
/* A text as an integer: `read` is what read_number() returned: 0 no number, 1 nothing else, 2 a number at the start. */
bool assign_text_as_int_refused(const struct column_assign *s, struct span text, int read,
	const struct decimal *d, bool overflow) MUST_CHECK;
bool assign_time_as_int_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
/* A text that no DECIMAL can hold. */
bool assign_text_as_decimal_refused(const struct column_assign *s) MUST_CHECK;
/* A text: before it has the column's character set; where that lacks a character; where it has no room
 * after `fits` bytes, `end` of them without the blanks at the end; CHAR. */
bool assign_text_refused(
	const struct column_assign *s, const struct eval_value *v, struct span text) MUST_CHECK;
bool assign_lacking_text_refused(
	const struct column_assign *s, const struct eval_value *v, struct span text) MUST_CHECK;
bool assign_long_text_refused(const struct column_assign *s, const struct eval_value *v,
	struct span text, size_t fits, size_t end) MUST_CHECK;
bool assign_char_refused(const struct column_assign *s) MUST_CHECK;
/* ENUM and SET: the value; a text that is no member. */
bool assign_member_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
bool assign_no_member_refused(const struct column_assign *s, struct span text) MUST_CHECK;
bool assign_bit_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
bool assign_year_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
/* A date or time: the value; what a TIMESTAMP column gets of it. */
bool assign_time_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
bool assign_timestamp_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
bool assign_null_refused(const struct column_assign *s) MUST_CHECK;
bool assign_json_refused(const struct column_assign *s, const struct eval_value *v) MUST_CHECK;
bool virtual_column_refused(const struct eval_env *env, const struct eval_table *table,
	uint32_t column, struct eval_outcome *outcome);
bool check_refused(const struct eval_expr *check, struct arena *arena, const struct eval_env *env,
	const struct eval_value *row, struct eval_outcome *outcome) MUST_CHECK;

/* IF and the like: a value of `arg` as one of `n`; what NULLIF and CASE compare; GREATEST and LEAST. */
bool merged_value_refused(struct run *run, const struct node *n, const struct node *arg,
	const struct eval_value *v) MUST_CHECK;
bool compared_operand_refused(struct run *run, const struct comparison *how,
	const struct eval_type *type, const struct eval_value *v,
	const struct eval_value *other) MUST_CHECK;
bool nullif_constants_refused(struct run *run, const struct node *nullif) MUST_CHECK;
bool case_pair_refused(struct run *run, const struct eval_value *value,
	const struct eval_value *when) MUST_CHECK;
bool greatest_null_refused(struct run *run, const struct node *greatest);
bool greatest_equal_refused(struct run *run, const struct node *greatest,
	const struct eval_type *type, const struct eval_value *v,
	const struct eval_value *best) MUST_CHECK;
bool greatest_value_refused(struct run *run, const struct node *greatest,
	const struct eval_type *type, const struct eval_value *best) MUST_CHECK;

/* CAST: to integers (`cut`: older releases cut the fraction off); to the others. */
bool negative_as_unsigned_refused(struct run *run) MUST_CHECK;
bool large_decimal_as_int_refused(struct run *run, const struct decimal *d) MUST_CHECK;
bool double_as_int_refused(struct run *run, double d, bool cut) MUST_CHECK;
bool time_as_int_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool cast_decimal_refused(
	struct run *run, const struct eval_value *v, const struct decimal *d) MUST_CHECK;
bool cast_text_refused(struct run *run, const struct node *cast, const struct eval_value *v,
	struct span text) MUST_CHECK;
bool cast_cut_refused(
	struct run *run, const struct node *cast, const struct eval_value *v) MUST_CHECK;
bool cast_binary_refused(struct run *run, const struct node *cast) MUST_CHECK;
bool cast_rounding_refused(struct run *run, const struct eval_value *v) MUST_CHECK;

/* Conversions to numbers, texts and conditions.  The conversion goes on where one is met: failure is
 * sticky, and its result is thrown away. */
bool truncation_refused(struct run *run) MUST_CHECK;
bool odd_as_number_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v);
static inline bool as_number_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	return (v->kind >= EVAL_STRING || type->text_only) && odd_as_number_refused(run, type, v);
}
bool as_double_refused(struct run *run, const struct eval_type *type, const struct eval_value *v);
bool text_as_double_refused(struct run *run, struct span s, size_t used, double d);
bool not_double_refused(struct run *run, const struct eval_type *type);
bool as_int_refused(struct run *run, const struct eval_type *type, const struct eval_value *v);
bool average_as_int_refused(struct run *run, const struct eval_value *v);
bool text_before_int_refused(struct run *run, struct span blanks);
bool unsigned_text_as_int_refused(struct run *run, uint64_t u);
bool text_as_int_error_refused(struct run *run, const struct eval_type *type, struct span s);
bool double_as_decimal_refused(struct run *run, const struct eval_type *type);
bool text_as_decimal_refused(struct run *run, bool overflow, bool cut);
bool negative_zero_refused(struct run *run) MUST_CHECK;
bool as_text_refused(struct run *run, const struct eval_type *type, const struct eval_value *v,
	size_t length);
bool text_as_condition_refused(struct run *run) MUST_CHECK;
bool number_as_condition_refused(struct run *run, double d);

/* Conversions to dates and times: a number, its fraction, by its size; a value of any type; a text
 * that is none; a TIME; a date; a function's argument that is none. */
/* A negative TIME of which nothing is left: some servers print its sign. */
bool minus_zero_refused(struct run *run);
bool number_as_time_refused(struct run *run, const struct eval_type *type,
	const struct eval_value *v, const struct decimal *d) MUST_CHECK;
bool fraction_as_time_refused(
	struct run *run, enum eval_kind kind, const struct decimal *d, uint32_t micro) MUST_CHECK;
bool small_number_as_date_refused(struct run *run, enum eval_kind kind, uint64_t n) MUST_CHECK;
bool large_number_as_date_refused(struct run *run, uint64_t n) MUST_CHECK;
bool no_date_number_refused(struct run *run);
bool fraction_as_date_refused(
	struct run *run, const struct eval_value *date, uint32_t micro) MUST_CHECK;
bool as_time_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v) MUST_CHECK;
bool no_time_text_refused(struct run *run, enum eval_kind kind);
bool time_as_date_refused(
	struct run *run, const struct eval_type *type, const struct eval_time *t) MUST_CHECK;
bool doubtful_date_refused(
	struct run *run, const struct eval_value *v, const struct eval_time *date) MUST_CHECK;
bool nested_no_date_refused(struct run *run, const struct node *n);

/* Operators that met an error and may have met another one before: where that is possible; where the
 * value is converted. */
bool other_error_refused(struct run *run, bool possible) MUST_CHECK;
bool converted_error_refused(struct run *run, const struct eval_value *v) MUST_CHECK;

/* Arithmetic: + - *; / with all its digits, and as it is typed; %; DIV; bits; -x. */
bool tiny_double_refused(struct run *run, double d) MUST_CHECK;
bool null_operand_refused(struct run *run, const struct eval_value *a, const struct eval_value *b);
/* 0 minus the least BIGINT; a product that is the least BIGINT. */
bool zero_minus_least_refused(struct run *run) MUST_CHECK;
bool least_product_refused(struct run *run) MUST_CHECK;
bool zero_product_refused(struct run *run, const struct node *n);
bool decimal_difference_refused(
	struct run *run, const struct node *n, const struct decimal *r) MUST_CHECK;
bool exact_quotient_refused(struct run *run, const struct node *n, const struct decimal *x,
	const struct decimal *y, const struct decimal *r) MUST_CHECK;
bool quotient_refused(struct run *run, const struct node *n, const struct decimal *x,
	const struct decimal *y, const struct decimal *r) MUST_CHECK;
bool remainder_refused(struct run *run, const struct decimal *x, const struct decimal *r) MUST_CHECK;
bool div_operands_refused(struct run *run, const struct node *n, const struct eval_value *a,
	const struct eval_value *b) MUST_CHECK;
bool div_of_decimals_refused(struct run *run, const struct node *n, const struct eval_value *a,
	const struct eval_value *b, const struct decimal *x, const struct decimal *y,
	const struct decimal *r) MUST_CHECK;
bool div_overflow_refused(struct run *run) MUST_CHECK;
bool div_error_refused(struct run *run) MUST_CHECK;
bool div_of_integers_refused(struct run *run, const struct node *n, const struct eval_value *a,
	bool negative) MUST_CHECK;
bool text_as_bits_refused(struct run *run) MUST_CHECK;
bool as_bits_refused(struct run *run, const struct eval_type *type, const struct eval_value *v,
	const struct decimal *d, uint64_t bits, bool overflow);
bool bits_beside_null_refused(struct run *run, const struct eval_value *a) MUST_CHECK;
bool shift_operand_refused(struct run *run, const struct eval_value *by) MUST_CHECK;
bool shift_refused(
	struct run *run, const struct eval_value *by, const struct eval_value *count) MUST_CHECK;
bool negative_double_refused(
	struct run *run, const struct node *n, const struct eval_value *v, double d) MUST_CHECK;
bool negative_integer_refused(
	struct run *run, const struct node *arg, const struct eval_value *v) MUST_CHECK;

/* Functions of dates and times. */
bool zero_in_date_refused(struct run *run, const struct eval_value *v);
bool as_date_refused(struct run *run, const struct eval_type *type);
bool zero_seconds_refused(struct run *run, const struct eval_type *type) MUST_CHECK;
bool week_mode_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *mode) MUST_CHECK;
bool null_week_mode_refused(struct run *run);
bool extract_week_refused(struct run *run, const struct eval_time *t) MUST_CHECK;
bool last_day_refused(struct run *run, const struct node *n, const struct eval_time *t) MUST_CHECK;
bool from_days_refused(struct run *run, int64_t days) MUST_CHECK;
bool makedate_error_refused(struct run *run, const struct node *n) MUST_CHECK;
bool negative_seconds_refused(struct run *run, const struct node *seconds);
bool maketime_hour_refused(struct run *run, const struct eval_value *hour) MUST_CHECK;
bool negative_seconds_to_zero_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool large_seconds_refused(struct run *run) MUST_CHECK;
bool zone_refused(struct run *run) MUST_CHECK;
bool no_date_in_zone_refused(struct run *run, bool is_date) MUST_CHECK;
bool moment_refused(struct run *run, int64_t seconds) MUST_CHECK;
bool seconds_beyond_time_refused(struct run *run, const struct node *n) MUST_CHECK;

/* Aggregates: the value within an expression, also of MIN and MAX; a key and a value of GROUP_CONCAT;
 * SUM, MIN and MAX, BIT_AND and the like. */
bool nested_aggregate_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool nested_extreme_refused(struct run *run, const struct eval_value *v, bool of_member) MUST_CHECK;
bool concat_order_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v) MUST_CHECK;
bool aggregated_value_refused(
	struct run *run, const struct aggregate *a, const struct eval_value *v);
bool zero_sum_refused(struct run *run) MUST_CHECK;
bool summand_refused(
	struct run *run, const struct eval_type *type, const struct decimal *d) MUST_CHECK;
bool extreme_value_refused(struct run *run, const struct aggregate *a, const struct eval_type *type,
	const struct eval_value *v) MUST_CHECK;
bool equal_extremes_refused(
	struct run *run, const struct eval_value *v, const struct eval_value *best) MUST_CHECK;
bool aggregated_bits_refused(
	struct run *run, const struct eval_value *v, const struct eval_value *integer) MUST_CHECK;
bool concat_length_refused(struct run *run, size_t length);

/* Comparisons: by the type in which two values are compared ... */
struct compared {
	const struct eval_type *type;
	const struct eval_value *value;
};
bool compared_bits_refused(struct run *run, const struct compared *a, const struct compared *b);
bool compared_no_time_refused(
	struct run *run, const struct eval_value *v, enum eval_kind kind);
bool compared_year_refused(struct run *run, const struct eval_value *v);
bool year_and_fraction_refused(struct run *run, const struct comparison *how) MUST_CHECK;
bool compared_decimals_refused(struct run *run, const struct comparison *how,
	const struct compared *a, const struct compared *b, const struct decimal *x,
	const struct decimal *y);
bool compared_doubles_refused(struct run *run, const struct comparison *how,
	const struct eval_value *a, const struct eval_value *b, double x, double y);
/* ... and what else may be met: errors, NULL (beside values of the types a and b, where given), rows. */
bool constant_error_refused(
	struct run *run, const struct node *n, const struct comparison *how) MUST_CHECK;
bool compared_error_refused(struct run *run, struct node *const *pair, const struct eval_value *a,
	const struct comparison *how) MUST_CHECK;
bool conversion_error_refused(
	struct run *run, const struct eval_type *a, const struct eval_type *b) MUST_CHECK;
bool null_and_date_refused(struct run *run, const struct comparison *how, const struct eval_type *a,
	const struct eval_type *b) MUST_CHECK;
bool second_error_refused(struct run *run, const struct eval_value *a) MUST_CHECK;
bool row_error_refused(struct run *run, const struct eval_value *a);
bool row_values_refused(
	struct run *run, const struct eval_value *a, const struct eval_value *b) MUST_CHECK;

/* AND after NULL; XOR; NOT; IS NULL; LIKE. */
bool error_after_null_refused(struct run *run);
bool xor_refused(
	struct run *run, struct node *const *args, const struct eval_value *b) MUST_CHECK;
bool denied_value_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v) MUST_CHECK;
bool asked_for_null_refused(struct run *run, const struct node *arg, const struct eval_value *v);
bool constant_pattern_refused(struct run *run, const struct node *pattern) MUST_CHECK;

/* BETWEEN: v are the value and the bounds. */
bool between_dates_refused(
	struct run *run, const struct eval_type *type, const struct comparison *how) MUST_CHECK;
bool upper_bound_error_refused(struct run *run) MUST_CHECK;
bool between_values_refused(struct run *run, const struct node *n, const struct comparison *how,
	const struct eval_value v[3]) MUST_CHECK;

/* IN: NULL in a list; errors; a value; rows. */
bool null_in_texts_refused(
	struct run *run, const struct eval_type *type, const struct comparison *how) MUST_CHECK;
bool error_in_list_refused(struct run *run);
bool conversion_in_list_refused(
	struct run *run, const struct node *in, uint32_t at, const struct comparison *how) MUST_CHECK;
bool value_in_list_refused(struct run *run, const struct comparison *how,
	const struct eval_value *left, const struct eval_value *v) MUST_CHECK;
bool dates_in_rows_refused(struct run *run, const struct node *in) MUST_CHECK;
bool error_in_row_refused(struct run *run);

/* Functions of texts: positions and lengths; single functions. */
bool decimal_as_position_refused(struct run *run, const struct eval_value *v);
bool constant_length_error_refused(struct run *run, const struct node *arg);
bool text_as_position_refused(struct run *run, const struct eval_value *integer);
bool json_valid_text_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool wide_text_in_number_refused(
	struct run *run, const struct node *number, struct span text) MUST_CHECK;
bool substring_index_refused(
	struct run *run, const struct node *n, struct span text, struct span delimiter) MUST_CHECK;
bool trim_refused(struct run *run, const struct node *n, struct span what) MUST_CHECK;
bool pad_refused(struct run *run, const struct node *n, struct span pad) MUST_CHECK;
bool pad_that_cuts_refused(struct run *run, const struct node *n) MUST_CHECK;
bool empty_pad_refused(struct run *run, struct span pad) MUST_CHECK;
bool replaced_text_refused(struct run *run, const struct node *n, struct span from) MUST_CHECK;
bool locate_in_number_refused(
	struct run *run, const struct node *n, struct span text, struct span needle) MUST_CHECK;
bool locate_of_nothing_refused(struct run *run, struct span text, int64_t from) MUST_CHECK;
bool found_in_set_refused(struct run *run, struct span part, struct span needle) MUST_CHECK;
bool field_pair_refused(
	struct run *run, const struct eval_value *a, const struct eval_value *b) MUST_CHECK;
bool elt_number_refused(struct run *run, const struct eval_value *number) MUST_CHECK;
bool hex_value_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool unhex_refused(struct run *run);
bool base_refused(struct run *run, const struct eval_value *v) MUST_CHECK;

/* REGEXP: a pattern; what is matched; REGEXP_REPLACE's text; errors. */
bool pattern_is_modelled(const struct eval_env *env, struct span pattern, uint16_t collation);
bool computed_pattern_refused(struct run *run) MUST_CHECK;
bool pattern_refused(struct run *run, struct span pattern, uint16_t collation) MUST_CHECK;
bool subject_refused(struct run *run, const struct eval_value *v, struct span text,
	struct span replacement, uint16_t collation) MUST_CHECK;
bool replacement_refused(struct run *run, struct span with) MUST_CHECK;
bool empty_match_refused(struct run *run, bool empty) MUST_CHECK;
bool regexp_error_refused(struct run *run, bool possible);

/* JSON: a text; one that is no JSON, or has no quotes; parts of a document; comparing. */
struct json_node;
bool json_text_refused(struct run *run, const struct eval_value *v) MUST_CHECK;
bool no_json_refused(struct run *run) MUST_CHECK;
bool unquoted_json_refused(struct run *run, struct span s) MUST_CHECK;
bool json_keys_refused(struct run *run, const struct node *keys, const struct eval_value *v) MUST_CHECK;
bool long_json_value_refused(struct run *run, struct span s) MUST_CHECK;
bool null_json_name_refused(struct run *run) MUST_CHECK;
bool unwanted_json_value_refused(struct run *run);
bool json_remove_element_refused(struct run *run, bool is_element) MUST_CHECK;
bool json_type_refused(
	struct run *run, const struct eval_type *type, const struct json_node *v) MUST_CHECK;
bool json_order_refused(struct run *run, enum sql_op op) MUST_CHECK;
bool compared_json_refused(struct run *run, const struct json_node *v) MUST_CHECK;
bool compared_json_text_refused(
	struct run *run, const struct node *n, int order, struct span a, struct span b) MUST_CHECK;
bool compared_json_number_refused(struct run *run, const struct json_node *v) MUST_CHECK;

/* INTERVAL: an amount, and its size; the date; the sum; a TIME.  ADDTIME. */
bool amount_refused(struct run *run, enum sql_unit unit, const struct eval_type *type,
	const struct eval_value *v) MUST_CHECK;
bool large_seconds_amount_refused(struct run *run, int64_t micros, bool overflow) MUST_CHECK;
bool large_amount_refused(
	struct run *run, enum sql_unit unit, const struct eval_value *i) MUST_CHECK;
bool year_0_refused(struct run *run, bool in_year_0) MUST_CHECK;
bool interval_date_refused(
	struct run *run, enum eval_kind kind, const struct eval_value *v) MUST_CHECK;
bool null_amount_refused(struct run *run);
bool time_and_interval_refused(struct run *run, const struct node *n, const struct eval_value *v,
	int64_t amount, int64_t sum) MUST_CHECK;
bool months_and_time_refused(struct run *run);
bool added_time_refused(struct run *run, const struct node *n) MUST_CHECK;
bool time_sum_refused(struct run *run, const struct node *n) MUST_CHECK;

/* DATE_FORMAT: the letter after a '%'. */
bool date_format_part_refused(struct run *run, char part) MUST_CHECK;

/* ROUND. */
bool rounded_overflow_refused(struct run *run) MUST_CHECK;
bool round_error_refused(struct run *run);

/* FORMAT, CONV, INET_NTOA. */
bool format_value_refused(
	struct run *run, const struct eval_value *v, const struct decimal *d) MUST_CHECK;
bool conv_text_refused(struct run *run, struct span s) MUST_CHECK;
bool inet_ntoa_value_refused(struct run *run, const struct eval_value *v) MUST_CHECK;

/* Queries: what a temporary table keeps; keys; DISTINCT, GROUP BY; windows; subqueries; UNION and WITH
 * RECURSIVE; errors in clauses that the servers need not compute. */
struct eval_query;
struct output;
struct window;
bool kept_value_refused(
	struct run *run, const struct eval_type *type, const struct eval_value *v) MUST_CHECK;
bool buffered_rows_refused(
	struct run *run, const struct eval_query *q, const struct output *out) MUST_CHECK;
bool derived_value_refused(
	struct run *run, const struct eval_value *kept, const struct eval_value *v) MUST_CHECK;
bool ordered_type_refused(struct run *run, const struct eval_type *type);
bool order_key_refused(struct frame *f, const struct node *n, const struct eval_value *key);
bool rollup_error_refused(struct run *run, const struct eval_query *q);
bool limit_error_refused(struct run *run, const struct eval_query *q);
bool distinct_rows_refused(struct run *run, const struct eval_query *q, size_t count) MUST_CHECK;
bool null_groups_refused(struct run *run) MUST_CHECK;
bool rollup_of_nothing_refused(struct run *run) MUST_CHECK;
bool group_error_refused(struct run *run, bool computes_aggregates);
bool grouping_refused(struct run *run, bool is_key) MUST_CHECK;
bool nested_window_refused(struct run *run, const struct node *n, const struct eval_value *kept,
	const struct eval_value *v) MUST_CHECK;
bool window_result_refused(struct run *run, const struct window *w, const struct eval_value *kept,
	const struct eval_value *v);
bool range_refused(struct run *run, bool overflow);
bool moving_aggregate_refused(
	struct run *run, const struct window *w, const struct aggregate *a) MUST_CHECK;
bool null_in_window_refused(struct run *run, const struct window *w, const struct aggregate *a,
	const struct eval_value *key) MUST_CHECK;
bool correlated_subquery_refused(struct frame *f, const struct eval_query *query) MUST_CHECK;
bool subquery_error_refused(struct run *run, bool possible);
bool quantified_rows_refused(
	struct run *run, enum sql_op op, const struct eval_result *r) MUST_CHECK;
bool quantified_pair_refused(struct run *run, enum sql_op op, const struct comparison *how,
	const struct eval_value *left, const struct eval_value *v) MUST_CHECK;
bool null_in_subquery_refused(struct run *run, const struct node *left, bool same_room) MUST_CHECK;
bool set_value_refused(struct run *run, const struct eval_type *from, const struct eval_value *v,
	const struct eval_type *to);
bool recursive_value_refused(struct run *run, bool fits);
bool recursive_error_refused(struct run *run);
bool where_error_refused(struct run *run, const struct node *where);

/* SET: the error of assignment number `failed`. */
struct assignment;
bool assignment_error_refused(
	struct run *run, const struct assignment *set, uint32_t count, uint32_t failed);
/* The default that a type has where a column has none. */
bool binary_default_refused(struct run *run, const struct eval_type *type) MUST_CHECK;

/* A whole expression with constants that fail, are cut, or are NULL; `fails_within`: a part of it failed that
 * need not be asked for. */
bool guarded_value_refused(struct run *run, const struct node *n, bool fails_within) MUST_CHECK;

#endif
