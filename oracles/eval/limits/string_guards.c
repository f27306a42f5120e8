/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of functions of texts. */
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

/* ---- lengths that are constants ---- */

/* The servers count in 32 bits: the column of a temporary table may have no room. */
static bool is_beyond_32_bits(const struct eval_value *v)
{
	return (v->kind == EVAL_INT && v->i > INT32_MAX) || (v->kind == EVAL_UINT && v->u > INT32_MAX) ||
	       (v->kind == EVAL_DOUBLE && !(v->d < 9e18 && v->d > -9e18)) ||
	       (v->kind == EVAL_DECIMAL && decimal_int_digits(v->dec) > 18);
}

bool constant_length_refused(
	struct compiler *c, const struct eval_outcome *outcome, const struct eval_value *v)
{
	return compile_refuses(c, LIMIT_ERROR_IN_CONSTANT_LENGTH, outcome->status == EVAL_ERROR) ||
	       compile_refuses(c, LIMIT_CONSTANT_LENGTH_BEYOND_32_BITS, is_beyond_32_bits(v));
}

/* ---- texts that are put together ---- */

static bool is_written_over(const struct guarded *g)
{
	return g->node->expr->kind == SQL_EXPR_CALL && g->args[g->at]->column && own_type(g)->shared &&
	       function_writes_over(g->compiler, g->node->expr->u.call.name);
}

/* MySQL 9.7 hands out a buffer that it then writes over. */
static bool is_date_literal(const struct guarded *g)
{
	return g->args[g->at]->literal && type_is_temporal(own_type(g));
}

/* REGEXP_INSTR(text, ...) */
static bool is_number_of_other_charset(const struct guarded *g)
{
	const struct node *n = g->args[g->at];

	return !type_is_string(&n->type) && n->collation && g->count > 1 &&
	       collation_charset(n->collation) != collation_charset(g->env->collation_connection);
}

bool string_operands_refused(
	struct compiler *c, const struct node *n, struct node *const *args, uint32_t count)
{
	static const struct guard first[] = {
		{LIMIT_FUNCTION_THAT_WRITES_OVER_DERIVED_TABLE_TEXT, is_written_over},
	};
	static const struct guard operands[] = {
		{LIMIT_MYSQL_TEXT_OF_DATE_LITERAL, is_date_literal},
		{LIMIT_MYSQL_NUMBER_TEXT_IN_ANOTHER_CHARACTER_SET, is_number_of_other_charset},
	};
	struct guarded g = {.env = c->env, .compiler = c, .node = n, .args = args, .count = count};

	return guards_refuse_each(c, &g, 0, first, ARRAY_LEN(first)) ||
	       guards_refuse_each(c, &g, 0, operands, ARRAY_LEN(operands));
}

/* A literal of more than ASCII. */
static bool is_wide_literal(const struct node *n)
{
	return n->literal && has_wide_text(n);
}

/* MariaDB then counts bytes inside of it.  Of LPAD(RIGHT('漢', i), 9, bytes) it marks the literal itself,
 * which RIGHT may return, as binary: later rows get another answer. */
bool string_of_bytes_refused(
	struct compiler *c, const struct node *n, struct node *const *args, uint32_t count)
{
	for (uint32_t i = 0; i < count && n->collation == COLLATION_BINARY; i++) {
		if (compile_refuses(c, LIMIT_INSERT_OF_BYTES_INTO_TEXT,
			    args[i]->arg_count && has_wide_text(args[i]) &&
				    (args[i]->fn == run_insert || node_any(args[i], is_wide_literal))))
			return true;
	}
	return false;
}

bool mixed_collations_refused(struct compiler *c, const struct node *a, const struct node *b)
{
	return compile_refuses(c, LIMIT_MYSQL_STRINGS_OF_DIFFERENT_COLLATIONS,
		type_is_string(&a->type) && type_is_string(&b->type) &&
			a->type.collation != b->type.collation);
}

static bool has_other_charset(
	const struct eval_env *env, const struct node *first, const struct node *other)
{
	bool text = type_is_string(&first->type);
	enum charset charset = collation_charset(text ? first->type.collation : env->collation_connection);

	if (!type_is_string(&other->type) || (other->literal && text_is_ascii(other->u.value.s)))
		return false;
	/* REGEXP_INSTR(text, ...) has that of its text. */
	return collation_charset(other->type.collation) != charset ||
	       !(text || !first->collation || collation_charset(first->collation) == charset);
}

bool other_charset_refused(struct compiler *c, const struct node *first, const struct node *other)
{
	return compile_refuses(c, LIMIT_MYSQL_BIT_IN_TEXT, other->type.kind == EVAL_T_BIT) ||
	       compile_refuses(c, LIMIT_MYSQL_TEXTS_OF_DIFFERENT_CHARACTER_SETS,
		       has_other_charset(c->env, first, other));
}

/* ---- single functions ---- */

bool replace_refused(struct compiler *c, struct node *const *args)
{
	return compile_refuses(
		       c, LIMIT_MYSQL_REPLACE_IN_DATE_OR_TIME, type_is_temporal(&args[0]->type)) ||
	       other_charset_refused(c, args[0], args[1]) || other_charset_refused(c, args[0], args[2]);
}

/* MariaDB writes over the bytes of 0x616263 and x'616263'. */
bool replace_in_literal_refused(struct compiler *c, const struct node *text)
{
	const struct sql_expr *e = text->literal ? text->expr : NULL;

	return compile_refuses(c, LIMIT_REPLACE_IN_HEXADECIMAL_LITERAL,
		c->env->flavour == SQL_MARIADB && e && e->kind == SQL_EXPR_LITERAL &&
			(e->u.literal.kind == SQL_LIT_HEX || e->u.literal.kind == SQL_LIT_BIT));
}

bool quote_refused(struct compiler *c, const struct node *arg)
{
	const struct eval_type *t = &arg->type;

	return compile_refuses(c, LIMIT_MYSQL_QUOTE_OF_BINARY_STRING,
		       t->hybrid || t->kind == EVAL_T_BIT || type_is_bytes(t)) ||
	       compile_refuses(c, LIMIT_MYSQL5_QUOTE_OF_NUMBER, !type_is_string(t)) ||
	       compile_refuses(c, LIMIT_QUOTE_OF_LITERAL_NULL, t->kind == EVAL_T_NULL);
}

bool concat_ws_refused(struct compiler *c, const struct node *n)
{
	/* MariaDB's CONCAT_WS appends to the constant. */
	if (compile_refuses(c, LIMIT_CONCAT_WS_OF_LITERAL_OF_SEVERAL_PARTS,
		    node_any(n->args[1], is_joined_literal)))
		return true;
	/* It writes over such a part when it is the third or a later one. */
	for (uint32_t i = 3; i < n->arg_count && c->env->flavour == SQL_MARIADB; i++) {
		if (compile_refuses(c, LIMIT_CONCAT_WS_OF_LEFT_RIGHT_OR_SUBSTRING_OF_COMPUTED,
			    node_any(n->args[i], is_part_of_buffer)))
			return true;
	}
	return false;
}

static bool is_double_literal(const struct node *n)
{
	return n->literal && n->type.kind == EVAL_T_DOUBLE;
}

bool json_valid_refused(struct compiler *c, const struct node *arg)
{
	const struct eval_type *type = &arg->type;
	bool text = type->kind == EVAL_T_STRING && !type->hybrid && !type->merged;

	return compile_refuses(
		       c, LIMIT_JSON_VALID_OF_OTHER_THAN_TEXT, type->kind != EVAL_T_JSON && !text) ||
	       /* UPPER(1e0) is '1', and no JSON. */
	       compile_refuses(c, LIMIT_MYSQL_JSON_VALID_OF_TEXT_MADE_OF_DOUBLE,
		       node_any(arg, is_double_literal));
}

bool repeat_refused(struct compiler *c, const struct node *text)
{
	return compile_refuses(
		c, LIMIT_REPEAT_OF_LITERAL_OF_SEVERAL_PARTS, node_any(text, is_joined_literal));
}

bool insert_refused(struct compiler *c, const struct node *text, const struct node *added)
{
	return mixed_collations_refused(c, text, added) || other_charset_refused(c, text, added) ||
	       compile_refuses(c, LIMIT_INSERT_INTO_HEXADECIMAL_LITERAL,
		       text->type.hybrid || text->type.kind == EVAL_T_BIT ||
			       node_any(text, is_binary_literal)) ||
	       /* The servers write over the constant: the next row reads the changed one. */
	       compile_refuses(c, LIMIT_INSERT_INTO_LITERAL_OF_SEVERAL_PARTS,
		       node_any(text, is_joined_literal)) ||
	       /* MariaDB counts characters or bytes as the first text has it. */
	       compile_refuses(c, LIMIT_INSERT_OF_BYTES_INTO_TEXT,
		       (type_is_bytes(&added->type) && has_wide_text(text)) ||
			       (type_is_bytes(&text->type) && has_wide_text(added)));
}

bool field_refused(struct compiler *c, const struct node *n)
{
	bool strings = true;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		const struct eval_type *t = &n->args[i]->type;

		strings &= type_is_string(t);
		if (compile_refuses(c, LIMIT_FIELD_OF_DATES_NULL_OR_HEXADECIMAL_LITERALS,
			    type_is_temporal(t) || t->hybrid || t->kind == EVAL_T_NULL))
			return true;
	}
	/* Beside another column's collation a literal that is not ASCII makes it another one. */
	for (uint32_t i = 1; i < n->arg_count && strings; i++) {
		if (compile_refuses(c, LIMIT_MYSQL_FIELD_OF_STRINGS_OF_DIFFERENT_COLLATIONS,
			    n->args[i]->type.collation != n->args[0]->type.collation &&
				    !(n->args[0]->column && n->args[i]->literal)))
			return true;
	}
	return false;
}

bool elt_refused(struct compiler *c, const struct node *n)
{
	for (uint32_t i = 1; i < n->arg_count; i++) {
		if (compile_refuses(c, LIMIT_ELT_OF_HEXADECIMAL_LITERAL, n->args[i]->type.hybrid))
			return true;
	}
	return false;
}

bool hex_refused(struct compiler *c, const struct node *arg)
{
	return compile_refuses(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT,
		arg->literal && type_is_temporal(&arg->type));
}

/* ---- values ---- */

bool decimal_as_position_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_DECIMAL_BEYOND_BIGINT_AS_POSITION_OR_LENGTH,
		v->kind == EVAL_DECIMAL && decimal_int_digits(v->dec) > 18);
}

/* MariaDB computes it when it prepares the statement, where strict mode does not apply. */
bool constant_length_error_refused(struct run *run, const struct node *arg)
{
	return run_reopens(run, LIMIT_ERROR_IN_CONSTANT_LENGTH_IN_STRICT_MODE,
		run->strict && arg->constant && !arg->literal && run->env->flavour == SQL_MARIADB);
}

bool text_as_position_refused(struct run *run, const struct eval_value *integer)
{
	return run_refuses(run, LIMIT_STRING_BEYOND_BIGINT_AS_POSITION_OR_LENGTH,
		is_above_bigint(integer));
}

bool json_valid_text_refused(struct run *run, const struct eval_value *v)
{
	enum charset set = collation_charset(v->collation);

	return run_refuses(run, LIMIT_JSON_VALID_OF_OTHER_THAN_TEXT,
		v->kind != EVAL_STRING || set == CHARSET_BINARY ||
			(set != CHARSET_UTF8MB4 && !text_is_ascii(v->s)));
}

bool wide_text_in_number_refused(struct run *run, const struct node *number, struct span text)
{
	return run_refuses(run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER,
		!text_is_ascii(text) && has_number_text(number));
}

bool substring_index_refused(
	struct run *run, const struct node *n, struct span text, struct span delimiter)
{
	enum charset set = charset_of(n);

	return run_refuses(run, LIMIT_BYTES_NOT_CHARACTERS,
		       charset_max_bytes(set) > 1 &&
			       (!text_is_valid(set, text) || !text_is_valid(set, delimiter))) ||
	       wide_text_in_number_refused(run, n->args[0], delimiter);
}

bool trim_refused(struct run *run, const struct node *n, struct span what)
{
	return run_refuses(run, LIMIT_TRIM_OF_OTHER_THAN_ASCII_CHARACTERS,
		charset_max_bytes(charset_of(n)) > 1 && !text_is_ascii(what));
}

bool pad_refused(struct run *run, const struct node *n, struct span pad)
{
	bool wide = !text_is_ascii(pad);

	return wide_text_in_number_refused(run, n->args[0], pad) ||
	       run_refuses(run, LIMIT_MYSQL_CONSTANT_PADDED_WITH_MORE_THAN_ASCII,
		       wide && n->args[0]->constant) ||
	       run_refuses(run, LIMIT_BYTES_PADDED_WITH_CHARACTERS_BEYOND_ASCII,
		       wide && run->env->flavour == SQL_MARIADB && run->env->version >= 110000 &&
			       node_any(n->args[0], is_binary_literal));
}

/* The literal itself is shortened, and padded for the next row. */
bool pad_that_cuts_refused(struct run *run, const struct node *n)
{
	return run_refuses(run, LIMIT_LPAD_THAT_CUTS_COMPUTED_TEXT_IN_OLDER_RELEASES,
		run->env->flavour == SQL_MARIADB && mariadb_2026(run->env) != 1 &&
			n->args[0]->arg_count);
}

bool empty_pad_refused(struct run *run, struct span pad)
{
	return run_refuses(run, LIMIT_LPAD_OR_RPAD_WITH_EMPTY_STRING, !pad.len);
}

bool replaced_text_refused(struct run *run, const struct node *n, struct span from)
{
	return run_refuses(run, LIMIT_REPLACE_OF_OTHER_THAN_ASCII_CHARACTERS,
		charset_max_bytes(charset_of(n)) > 1 && !text_is_ascii(from));
}

/* MySQL compares under the connection's collation then. */
bool locate_in_number_refused(
	struct run *run, const struct node *n, struct span text, struct span needle)
{
	return run_refuses(run, LIMIT_WIDE_TEXT_PUT_INTO_NUMBER,
		run->env->flavour == SQL_MYSQL &&
			(is_number_text(n->args[0]) || is_number_text(n->args[1])) &&
			!(text_is_ascii(text) && text_is_ascii(needle)));
}

/* Where it is counted in bytes. */
bool locate_of_nothing_refused(struct run *run, struct span text, int64_t from)
{
	return run_refuses(run, LIMIT_LOCATE_OF_EMPTY_TEXT_BEHIND_WIDE_TEXT,
		from > 1 && !text_is_ascii(text));
}

bool found_in_set_refused(struct run *run, struct span part, struct span needle)
{
	return run_refuses(
		run, LIMIT_FIND_IN_SET_AMONG_TRAILING_BLANKS, part.len != needle.len);
}

/* By their bits. */
bool field_pair_refused(struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	return run_refuses(run, LIMIT_FIELD_OF_LARGE_UNSIGNED_AND_NEGATIVE_NUMBERS,
		are_large_and_negative(a, b) || are_large_and_negative(b, a));
}

bool elt_number_refused(struct run *run, const struct eval_value *number)
{
	return run_refuses(
		run, LIMIT_MYSQL_LARGE_NUMBER_OF_ELT, number->u != (uint32_t)number->u);
}

bool hex_value_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_HEX_OF_NUMBER_WITH_FRACTION,
		v->kind == EVAL_DECIMAL || v->kind == EVAL_DOUBLE);
}

/* Error 1411. */
bool unhex_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_UNHEX_IN_STRICT_MODE, run->strict);
}

bool base_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_BIN_OR_OCT_OF_OTHER_THAN_INTEGERS,
		v->kind != EVAL_INT && v->kind != EVAL_UINT);
}
