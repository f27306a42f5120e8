/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a column holds after a value was assigned to it.  In strict mode what does not fit is an
 * error; otherwise the nearest value is stored with a warning (the manual, "Server SQL Modes" and
 * "Out-of-Range and Overflow Handling").
 */
#include <math.h>
#include <string.h>
#include "base/chars.h"
#include "eval/change/change.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/json.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* An error in strict mode, else a warning. */
static void complain(struct column_assign *s, unsigned code, const char *what)
{
	if (s->strict)
		run_error(s->run, code, what);
	else
		outcome_warn(s->run->outcome, code);
}

/* ---- integers ---- */

static wide int_min(const struct eval_type *t)
{
	return t->is_unsigned ? 0 : -((wide)1 << (8 * t->bytes - 1));
}

static wide int_max(const struct eval_type *t)
{
	return ((wide)1 << (8 * t->bytes - !t->is_unsigned)) - 1;
}

static struct eval_value assign_wide(struct column_assign *s, wide w)
{
	wide low = int_min(s->type), high = int_max(s->type);

	if (w < low || w > high) {
		complain(s, 1264, "out of range");
		w = w < low ? low : high;
	}
	return s->type->is_unsigned ? eval_uint((uint64_t)w) : eval_int((int64_t)w);
}

static wide wide_of_double(double d)
{
	double r = rint(d);

	return r > 1e30 ? (wide)1 << 100 : r < -1e30 ? -((wide)1 << 100) : (wide)r;
}

static wide wide_of_decimal(const struct decimal *d)
{
	struct decimal r;
	wide w = 0;

	if (!decimal_round(d, 0, DECIMAL_HALF_UP, &r) || r.count > 4)
		return d->neg ? -((wide)1 << 100) : (wide)1 << 100;
	for (uint32_t i = r.count; i-- > 0;)
		w = w * 1000000000 + r.words[i];
	return r.neg ? -w : w;
}

/* The number in a string: 0 none, 1 the whole string, 2 its start. */
static int read_number(struct span s, struct decimal *d, bool *overflow)
{
	size_t start = 0, used;

	while (start < s.len && char_is_blank(s.ptr[start]))
		start++;
	used = decimal_parse(span_of(s.ptr + start, s.len - start), d, overflow);
	if (!used)
		return 0;
	for (size_t i = start + used; i < s.len; i++) {
		if (!char_is_blank(s.ptr[i]))
			return 2;
	}
	return 1;
}

static bool in_range(const struct eval_type *t, wide w)
{
	return w >= int_min(t) && w <= int_max(t);
}

static struct eval_value assign_int(struct column_assign *s, const struct eval_value *v)
{
	struct decimal d = {0};
	bool overflow;
	int read;

	switch ((enum eval_kind)v->kind) {
	case EVAL_INT:
		return assign_wide(s, v->i);
	case EVAL_UINT:
		return assign_wide(s, v->u);
	case EVAL_DOUBLE:
		/* As a DOUBLE it is the greatest BIGINT too, and not above it. */
		if (s->run->env->flavour == SQL_MARIADB && s->type->bytes == 8 &&
			!s->type->is_unsigned && v->d == 0x1p63)
			return eval_int(INT64_MAX);
		return assign_wide(s, wide_of_double(v->d));
	case EVAL_DECIMAL:
		if (s->type->is_unsigned && v->dec->neg) /* however small */
			complain(s, 1264, "out of range");
		return assign_wide(
			s, v->dec->neg && s->type->is_unsigned ? 0 : wide_of_decimal(v->dec));
	case EVAL_STRING:
		if (s->from->hybrid || s->from->kind == EVAL_T_ENUM ||
			s->from->kind == EVAL_T_SET) {
			struct eval_value i = to_integer(s->run, s->from, v);

			return assign_wide(s, i.u);
		}
		read = read_number(v->s, &d, &overflow);
		if (assign_text_as_int_refused(s, v->s, read, &d, overflow))
			return EVAL_NULL_VALUE;
		if (read == 0)
			complain(s, 1366, "not an integer");
		else if (read == 2 && !overflow && in_range(s->type, wide_of_decimal(&d)))
			complain(s, 1265, "data truncated");
		return assign_wide(
			s, overflow ? ((wide)1 << 100) * (d.neg ? -1 : 1) : wide_of_decimal(&d));
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		if (assign_time_as_int_refused(s, v))
			return EVAL_NULL_VALUE;
		return assign_wide(s, time_to_int(v));
	case EVAL_NULL:
	case EVAL_OPAQUE:
		break;
	}
	return EVAL_NULL_VALUE;
}

/* ---- DECIMAL, FLOAT, DOUBLE ---- */

static struct eval_value assign_decimal(struct column_assign *s, const struct eval_value *v)
{
	struct decimal d, rounded;
	bool overflow = false, cut = false;
	int read;

	if (v->kind == EVAL_STRING && !s->from->hybrid && s->from->kind != EVAL_T_ENUM &&
		s->from->kind != EVAL_T_SET) {
		read = read_number(v->s, &d, &overflow);
		if (read == 0) {
			complain(s, 1366, "not a number");
			d = (struct decimal){0};
		}
		cut = read == 2;
	} else if (v->kind == EVAL_DOUBLE && !decimal_from_double(v->d, &d)) {
		overflow = true;
		d = (struct decimal){.neg = v->d < 0};
	} else if (v->kind != EVAL_DOUBLE) {
		d = to_decimal(s->run, s->from, v);
	}
	if (cut && !overflow)
		complain(s, s->run->env->flavour == SQL_MYSQL ? 1366 : 1265, "data truncated");
	if (overflow && v->kind == EVAL_STRING && s->run->env->flavour == SQL_MYSQL) {
		if (!assign_text_as_decimal_refused(s))
			complain(s, 1366, "no DECIMAL");
		return EVAL_NULL_VALUE;
	}
	if (d.neg && (d.count || overflow) && s->type->is_unsigned) {
		complain(s, 1264, "out of range");
		d = (struct decimal){0};
		overflow = false;
	}
	if (overflow || !decimal_round(&d, s->type->decimals, DECIMAL_HALF_UP, &rounded) ||
		decimal_int_digits(&rounded) > s->type->length - s->type->decimals) {
		complain(s, 1264, "out of range");
		rounded = decimal_max(s->type->length, s->type->decimals, d.neg);
	} else if (d.scale > rounded.scale && decimal_compare(&d, &rounded) != 0) {
		outcome_warn(s->run->outcome, 1265); /* a note, in strict mode too */
	}
	return make_decimal(s->run, &rounded);
}

static struct eval_value assign_real(struct column_assign *s, const struct eval_value *v)
{
	double d, most = s->type->kind == EVAL_T_FLOAT ? __FLT_MAX__ : __DBL_MAX__;
	bool only_blanks, mysql = s->run->env->flavour == SQL_MYSQL;
	size_t used;

	if (v->kind == EVAL_STRING && !s->from->hybrid && s->from->kind != EVAL_T_ENUM &&
		s->from->kind != EVAL_T_SET) {
		d = text_to_double(v->s, &used);
		only_blanks = used == 0;
		for (; used < v->s.len && char_is_blank(v->s.ptr[used]); used++)
			;
		if (fabs(d) == __DBL_MAX__)
			complain(s, 1264, "out of range");
		else if (!used || only_blanks)
			complain(s, mysql && !run_mysql_has(s->run, MYSQL_NO_DOUBLE_1366) ? 1265 : 1366,
				"not a number");
		else if (used < v->s.len)
			complain(s, mysql && run_mysql_has(s->run, MYSQL_NO_DOUBLE_1366) ? 1366 : 1265,
				"data truncated");
	} else {
		d = to_double(s->run, s->from, v);
	}
	if (s->type->is_unsigned && d < 0) {
		complain(s, 1264, "out of range");
		d = 0;
	}
	if (s->type->decimals < EVAL_NOT_FIXED) {
		double limit = pow(10, (double)s->type->length - s->type->decimals) -
			       pow(10, -(double)s->type->decimals);
		double unit = pow(10, s->type->decimals);

		if (fabs(d) < 1e15)
			d = rint(d * unit) / unit;
		if (fabs(d) > limit) {
			complain(s, 1264, "out of range");
			d = d < 0 ? -limit : limit;
		}
	}
	if (fabs(d) > most) {
		complain(s, 1264, "out of range");
		d = d < 0 ? -most : most;
	}
	return shown(s->run, eval_double(s->type->kind == EVAL_T_FLOAT ? (double)(float)d : d));
}

/* ---- strings ---- */

static struct eval_value assign_text(struct column_assign *s, const struct eval_value *v)
{
	enum charset charset = collation_charset(s->type->collation);
	struct eval_type own = type_decimal(65, v->kind == EVAL_DECIMAL ? v->dec->scale : 0);
	/* Numbers are stored with the digits that they have, not with those of their type. */
	struct eval_type real = type_double();
	struct span text = to_text(s->run,
		v->kind == EVAL_DECIMAL          ? &own
		: s->from->kind == EVAL_T_DOUBLE ? &real
						 : s->from,
		v);
	bool malformed = false, binary = charset == CHARSET_BINARY;
	size_t fits;

	if (assign_text_refused(s, v, text))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_STRING && !text_convert(s->run->arena, collation_charset(v->collation),
					      charset, text, &text, &malformed)) {
		if (!assign_lacking_text_refused(s, v, text))
			complain(s, 1366, "characters that the column's set lacks");
		return EVAL_NULL_VALUE;
	}
	if (s->type->blob)
		fits = text.len <= s->type->length ? text.len : s->type->length;
	else
		fits = text_offset(charset, text, s->type->length);
	if (fits < text.len) {
		size_t end = text.len;

		while (!binary && end > fits && char_is_blank(text.ptr[end - 1]))
			end--;
		if (assign_long_text_refused(s, v, text, fits, end))
			return EVAL_NULL_VALUE;
		if (end == fits) {
			if (!s->type->fixed)
				outcome_warn(s->run->outcome, 1265); /* blanks: a note */
		} else if (s->strict) {
			return run_error(s->run, ER_DATA_TOO_LONG, "data too long");
		} else {
			outcome_warn(s->run->outcome, 1265);
		}
		text.len = fits;
	}
	if (s->type->fixed && binary && text.len < s->type->length) {
		char *padded = arena_zero(s->run->arena, s->type->length + 1);

		memcpy(padded, text.ptr, text.len);
		text = span_of(padded, s->type->length);
	} else if (s->type->fixed && !binary) {
		if (assign_char_refused(s))
			return EVAL_NULL_VALUE;
		while (text.len && text.ptr[text.len - 1] == ' ')
			text.len--;
	}
	return eval_string(text, s->type->collation);
}

static uint32_t find_member(struct column_assign *s, struct span text)
{
	bool unknown = false;

	for (uint32_t i = 0; i < s->type->value_count; i++) {
		if (collation_compare(s->type->collation, s->type->values[i], text, &unknown) ==
				0 &&
			!unknown)
			return i;
		if (unknown && span_eq(s->type->values[i], text))
			return i;
	}
	if (unknown)
		run_gives_up(s->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
	return UINT32_MAX;
}

static struct eval_value assign_enum(struct column_assign *s, const struct eval_value *v)
{
	struct eval_value i;
	uint32_t member;

	if (assign_member_refused(s, v))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_STRING) {
		struct span text = v->s;

		while (text.len && text.ptr[text.len - 1] == ' ')
			text.len--;
		member = find_member(s, text);
		if (member == UINT32_MAX && assign_no_member_refused(s, text))
			return EVAL_NULL_VALUE;
		if (member != UINT32_MAX)
			return eval_string(s->type->values[member], s->type->collation);
	} else {
		i = to_integer(s->run, s->from, v);
		if (i.u >= 1 && i.u <= s->type->value_count)
			return eval_string(s->type->values[i.u - 1], s->type->collation);
	}
	complain(s, 1265, "no member of the ENUM");
	return eval_string(SPAN_LIT(""), s->type->collation);
}

static struct eval_value assign_set(struct column_assign *s, const struct eval_value *v)
{
	struct buf text = BUF_INIT;
	struct eval_value out, i;
	uint64_t bits = 0, all;
	bool bad = false;

	all = s->type->value_count >= 64 ? UINT64_MAX : (1ull << s->type->value_count) - 1;
	if (assign_member_refused(s, v))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_STRING) {
		size_t len = v->s.len;

		while (len && v->s.ptr[len - 1] == ' ') /* whatever the collation says of blanks */
			len--;
		bad = v->s.len && !len;
		for (size_t from = 0; from <= len && len;) {
			const char *comma = memchr(v->s.ptr + from, ',', len - from);
			size_t end = comma ? (size_t)(comma - v->s.ptr) : len;
			uint32_t member = find_member(s, span_of(v->s.ptr + from, end - from));

			/* Those before the last are compared with their blanks. */
			if (member == UINT32_MAX || (end > from && v->s.ptr[end - 1] == ' '))
				bad = true;
			else
				bits |= 1ull << member;
			from = end + 1;
		}
		if (bad && assign_no_member_refused(s, v->s))
			return EVAL_NULL_VALUE;
	} else {
		i = to_integer(s->run, s->from, v);
		bad = (i.u & ~all) != 0;
		bits = i.u & all;
	}
	if (bad)
		complain(s, 1265, "no member of the SET");
	for (uint32_t k = 0; k < s->type->value_count && k < 64; k++) {
		if (!(bits >> k & 1))
			continue;
		if (text.len)
			buf_add_char(&text, ',');
		buf_add_span(&text, s->type->values[k]);
	}
	out = make_text(s->run, &text, s->type->collation);
	buf_release(&text);
	return out;
}

/* ---- the rest ---- */

static struct eval_value assign_bit(struct column_assign *s, const struct eval_value *v)
{
	uint64_t most = s->type->length >= 64 ? UINT64_MAX : (1ull << s->type->length) - 1, u = 0;
	bool over = false;
	if (assign_bit_refused(s, v))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_STRING) {
		size_t from = 0;

		while (from < v->s.len && v->s.ptr[from] == 0)
			from++;
		over = v->s.len - from > 8;
		for (; from < v->s.len; from++)
			u = u << 8 | (unsigned char)v->s.ptr[from];
	} else {
		u = v->u;
	}
	if (over || u > most) {
		complain(s, ER_DATA_TOO_LONG, "data too long");
		u = most;
	}
	return eval_uint(u);
}

static struct eval_value assign_year(struct column_assign *s, const struct eval_value *v)
{
	struct eval_value i = *v;
	wide w;

	if (assign_year_refused(s, v))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_STRING)
		i = to_integer(s->run, s->from, v);
	w = i.kind == EVAL_UINT ? (wide)i.u : (wide)i.i;
	if (w < 0 || (w > 99 && w < 1901) || w > 2155) {
		complain(s, 1264, "out of range");
		return eval_uint(0);
	}
	if (w && w < 70)
		w += 2000;
	else if (w >= 70 && w < 100)
		w += 1900;
	return eval_uint((uint64_t)w);
}

static bool assign_rounds(const struct eval_env *env)
{
	if (env->flavour == SQL_MYSQL)
		return !(env->mode & EVAL_MODE_TIME_TRUNCATE_FRACTIONAL);
	return env->mode & EVAL_MODE_TIME_ROUND_FRACTIONAL;
}

static struct eval_value assign_time(struct column_assign *s, const struct eval_value *v)
{
	enum eval_kind kind = eval_kind_of(s->type);
	struct eval_value out, zero = {.kind = (uint8_t)kind, .decimals = s->type->decimals};
	bool cut = kind == EVAL_DATE && v->kind == EVAL_DATETIME && time_pack(v) % 86400000000ll;

	if (assign_time_refused(s, v))
		return EVAL_NULL_VALUE;
	if (!time_from_value(s->run, s->from, v, kind, &out)) {
		if (!s->run->failed)
			complain(s, 1292, "not a date or time");
		return zero;
	}
	if (cut)
		outcome_warn(s->run->outcome, 1265);
	if (!(assign_rounds(s->run->env) ? time_round(s->run->env, &out, s->type->decimals)
					: time_set_decimals(&out, s->type->decimals, false)))
		return run_gives_up(s->run, LIMIT_TIME_ROUNDED_BEYOND_LAST_DAY);
	if (s->type->kind == EVAL_T_TIMESTAMP) {
		if (assign_timestamp_refused(s, &out))
			return EVAL_NULL_VALUE;
		if (date_is_zeroish(&out.t) && !date_is_zero(&out.t)) {
			complain(s, 1292, "not a date or time");
			return zero;
		}
	}
	return out;
}

static struct eval_value assign_null(struct column_assign *s)
{
	if (s->column->nullable || (s->column->auto_increment && s->numbers))
		return EVAL_NULL_VALUE;
	if (assign_null_refused(s))
		return EVAL_NULL_VALUE;
	if (s->strict)
		return run_error(s->run, ER_BAD_NULL_ERROR, "column cannot be null");
	/* IGNORE takes what the type has for nothing. */
	outcome_warn(s->run->outcome, 1048);
	return s->type->is_unsigned ? eval_uint(0) : eval_int(0);
}

/* MySQL's: a copy, or a text that is read. */
static struct eval_value assign_json(struct column_assign *s, const struct eval_value *v)
{
	struct buf text = BUF_INIT;
	struct eval_value out = *v;

	if (s->from->kind == EVAL_T_JSON)
		return *v;
	if (assign_json_refused(s, v))
		return EVAL_NULL_VALUE;
	switch (json_normal(s->run->arena, v->s, &text)) {
	case JSON_FINE:
		out = eval_string(arena_copy(s->run->arena, buf_span(&text)), s->type->collation);
		break;
	case JSON_INVALID:
		out = s->ignore ? run_gives_up(s->run, LIMIT_IGNORE_OF_NOT_JSON)
				: run_error(s->run, ER_INVALID_JSON_TEXT, "invalid JSON text");
		break;
	case JSON_UNSURE:
		out = run_gives_up(s->run, LIMIT_STORING_RARE_JSON);
		break;
	}
	buf_release(&text);
	return out;
}

static struct eval_value assign_value(struct column_assign *s, const struct eval_value *v)
{
	if (assign_refused(s, v))
		return EVAL_NULL_VALUE;
	if (v->kind == EVAL_NULL)
		return assign_null(s);
	if (v->kind == EVAL_DECIMAL && s->run->env->flavour == SQL_MYSQL &&
		decimal_beyond(s->from, v->dec))
		(void)run_mysql_has(s->run, MYSQL_QUOTIENT_ROUNDED);
	switch ((enum eval_type_kind)s->type->kind) {
	case EVAL_T_NULL:
		break;
	case EVAL_T_INT:
		return assign_int(s, v);
	case EVAL_T_BIT:
		return assign_bit(s, v);
	case EVAL_T_YEAR:
		return assign_year(s, v);
	case EVAL_T_DECIMAL:
		return assign_decimal(s, v);
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return assign_real(s, v);
	case EVAL_T_STRING:
		return assign_text(s, v);
	case EVAL_T_ENUM:
		return assign_enum(s, v);
	case EVAL_T_SET:
		return assign_set(s, v);
	case EVAL_T_JSON:
		return assign_json(s, v);
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return assign_time(s, v);
	}
	return EVAL_NULL_VALUE;
}

static bool is_strict(const struct eval_env *env, const struct eval_table *table, unsigned flags)
{
	if (flags & EVAL_ASSIGN_IGNORE)
		return false;
	if (env->mode & EVAL_MODE_STRICT_ALL_TABLES)
		return true;
	return (env->mode & EVAL_MODE_STRICT_TRANS_TABLES) &&
	       (table->transactional || !(flags & EVAL_ASSIGN_LATER_ROW));
}

bool eval_column_assign(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	uint32_t column, const struct eval_type *type, const struct eval_value *value,
	unsigned flags, struct eval_value *out, struct eval_outcome *outcome)
{
	struct run run = {.env = env, .arena = arena, .outcome = outcome};
	struct column_assign s = {.run = &run,
		.table = table,
		.column = &table->columns[column],
		.type = &table->columns[column].type,
		.from = type,
		.strict = is_strict(env, table, flags),
		.ignore = (flags & EVAL_ASSIGN_IGNORE) != 0,
		.numbers = !(flags & EVAL_ASSIGN_UPDATE)};

	if (outcome->status != EVAL_OK)
		return false;
	*out = assign_value(&s, value);
	return !run.failed;
}

/* ---- generated columns and checks ---- */

bool eval_is_virtual(const struct eval_column *column)
{
	return column->generated && column->storage != SQL_GENERATED_STORED;
}

static bool generate_one(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	uint32_t i, unsigned flags, struct eval_value *row, struct eval_outcome *outcome)
{
	struct eval_outcome inner;
	struct eval_value v;
	struct eval_expr *expr =
		eval_expr_compile(arena, table->columns[i].generated, table, SPAN_NONE, env, NULL, &inner);

	if (!expr || !eval_expr_run(expr, arena, env, NULL, row, &v, &inner)) {
		*outcome = inner;
		return false;
	}
	return eval_column_assign(arena, env, table, i, eval_expr_type(expr), &v, flags, &row[i], outcome);
}

bool eval_generate(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	unsigned flags, struct eval_value *row, struct eval_outcome *outcome)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct eval_column *column = &table->columns[i];

		if (!column->generated || (flags & EVAL_ASSIGN_CASCADE && !eval_is_virtual(column)))
			continue;
		if (!generate_one(arena, env, table, i, flags, row, outcome)) {
			virtual_column_refused(env, table, i, outcome);
			return false;
		}
	}
	return true;
}

bool eval_check(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	const struct eval_value *row, struct eval_outcome *outcome)
{
	for (uint32_t i = 0; i < table->check_count; i++) {
		struct eval_expr *expr = eval_expr_compile(
			arena, table->checks[i]->check, table, SPAN_NONE, env, NULL, outcome);
		enum eval_truth truth;

		if (!expr || !eval_expr_test(expr, arena, env, NULL, row, &truth, outcome) ||
			check_refused(expr, arena, env, row, outcome))
			return false;
		if (truth == EVAL_FALSE) {
			outcome_error(outcome, env->flavour == SQL_MARIADB ? 4025 : 3819,
				"a CHECK constraint fails");
			return false;
		}
	}
	return true;
}
