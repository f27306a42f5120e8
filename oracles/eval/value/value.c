/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values from outside, values as keys, the session's defaults. */
#include <string.h>

#include "base/arena.h"
#include "eval/node.h"
#include "eval/value/temporal.h"

/* ---- the session ---- */

static const struct {
	const char *name;
	uint32_t flags;
} modes[] = {
	{"STRICT_TRANS_TABLES", EVAL_MODE_STRICT_TRANS_TABLES},
	{"STRICT_ALL_TABLES", EVAL_MODE_STRICT_ALL_TABLES},
	{"ERROR_FOR_DIVISION_BY_ZERO", EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO},
	{"NO_ZERO_DATE", EVAL_MODE_NO_ZERO_DATE},
	{"NO_ZERO_IN_DATE", EVAL_MODE_NO_ZERO_IN_DATE},
	{"ALLOW_INVALID_DATES", EVAL_MODE_ALLOW_INVALID_DATES},
	{"NO_UNSIGNED_SUBTRACTION", EVAL_MODE_NO_UNSIGNED_SUBTRACTION},
	{"NO_AUTO_VALUE_ON_ZERO", EVAL_MODE_NO_AUTO_VALUE_ON_ZERO},
	{"PAD_CHAR_TO_FULL_LENGTH", EVAL_MODE_PAD_CHAR_TO_FULL_LENGTH},
	{"ONLY_FULL_GROUP_BY", EVAL_MODE_ONLY_FULL_GROUP_BY},
	{"TIME_ROUND_FRACTIONAL", EVAL_MODE_TIME_ROUND_FRACTIONAL},
	{"TIME_TRUNCATE_FRACTIONAL", EVAL_MODE_TIME_TRUNCATE_FRACTIONAL},
	{"EMPTY_STRING_IS_NULL", EVAL_MODE_EMPTY_STRING_IS_NULL},
	{"REAL_AS_FLOAT", EVAL_MODE_REAL_AS_FLOAT},
	{"SIMULTANEOUS_ASSIGNMENT", EVAL_MODE_SIMULTANEOUS_ASSIGNMENT},
	{"PIPES_AS_CONCAT", EVAL_MODE_PIPES_AS_CONCAT},
	{"NO_BACKSLASH_ESCAPES", EVAL_MODE_NO_BACKSLASH_ESCAPES},
	{"TRADITIONAL", EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_STRICT_ALL_TABLES |
				EVAL_MODE_NO_ZERO_IN_DATE | EVAL_MODE_NO_ZERO_DATE |
				EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO},
	{"ANSI", EVAL_MODE_REAL_AS_FLOAT | EVAL_MODE_PIPES_AS_CONCAT},
	{"DB2", EVAL_MODE_PIPES_AS_CONCAT},
	{"MAXDB", EVAL_MODE_PIPES_AS_CONCAT},
	{"MSSQL", EVAL_MODE_PIPES_AS_CONCAT},
	{"ORACLE",
		EVAL_MODE_PIPES_AS_CONCAT | EVAL_MODE_SIMULTANEOUS_ASSIGNMENT | EVAL_MODE_ORACLE},
	{"POSTGRESQL", EVAL_MODE_PIPES_AS_CONCAT},
};

uint32_t eval_mode_flags(struct span s)
{
	uint32_t flags = 0;

	for (size_t from = 0; from < s.len;) {
		const char *comma = memchr(s.ptr + from, ',', s.len - from);
		size_t end = comma ? (size_t)(comma - s.ptr) : s.len;
		struct span word = span_of(s.ptr + from, end - from);

		for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
			if (span_ieq_str(word, modes[i].name))
				flags |= modes[i].flags;
		}
		from = end + 1;
	}
	return flags;
}

struct eval_env eval_env_default(void)
{
	return eval_env_for_server(SPAN_LIT("10.11.19-MariaDB"));
}

struct eval_env eval_env_for_server(struct span version_string)
{
	struct sql_options opt = sql_options_for_server(version_string);
	bool mysql = opt.flavour == SQL_MYSQL;
	uint16_t collation = collation_of_charset(SPAN_LIT("utf8mb4"), mysql, opt.version);

	return (struct eval_env){.flavour = opt.flavour,
		.version = opt.version,
		.mode = EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO |
			(mysql ? EVAL_MODE_NO_ZERO_DATE | EVAL_MODE_NO_ZERO_IN_DATE |
						EVAL_MODE_ONLY_FULL_GROUP_BY
			       : 0u),
		.collation_connection = collation,
		.collation_database = collation,
		.div_precision_increment = 4,
		.group_concat_max_len = mysql ? 1024 : 1024 * 1024,
		.max_allowed_packet = 16u << 20};
}

/* ---- as keys ---- */

void eval_key(const struct eval_type *type, const struct eval_value *v, struct buf *out)
{
	bool unknown = false;
	size_t len = out->len;
	struct decimal d;
	int64_t packed;
	double number;

	buf_add_char(out, (char)v->kind);
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return;
	case EVAL_INT:
	case EVAL_UINT:
		buf_add(out, &v->u, sizeof(v->u));
		return;
	case EVAL_DOUBLE:
		number = v->d == 0 ? 0 : v->d; /* no negative zero */
		buf_add(out, &number, sizeof(number));
		return;
	case EVAL_DECIMAL:
		if (decimal_round(v->dec, type->decimals, DECIMAL_HALF_UP, &d))
			decimal_print(&d, out);
		else
			decimal_print(v->dec, out);
		return;
	case EVAL_STRING:
		collation_key(v->collation, v->s, out, &unknown);
		if (unknown) {
			out->len = len + 1;
			buf_add_span(out, v->s);
		}
		return;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		packed = time_pack(v);
		buf_add(out, &packed, sizeof(packed));
		return;
	case EVAL_OPAQUE:
		buf_add(out, &v->u, sizeof(v->u));
		return;
	}
}

bool eval_same(const struct eval_value *a, const struct eval_value *b)
{
	if (a->kind != b->kind)
		return false;
	switch ((enum eval_kind)a->kind) {
	case EVAL_NULL:
		return true;
	case EVAL_INT:
	case EVAL_UINT:
	case EVAL_OPAQUE:
		return a->u == b->u;
	case EVAL_DOUBLE:
		return memcmp(&a->d, &b->d, sizeof(a->d)) == 0;
	case EVAL_DECIMAL:
		return a->dec->scale == b->dec->scale && decimal_compare(a->dec, b->dec) == 0;
	case EVAL_STRING:
		return span_eq(a->s, b->s);
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return time_pack(a) == time_pack(b) && a->t.neg == b->t.neg;
	}
	return false;
}

/* ---- from a trace ---- */

static bool from_text(
	struct arena *arena, const struct eval_type *type, struct span s, struct eval_value *out)
{
	struct eval_outcome outcome;
	struct eval_env env = eval_env_default();
	struct run run = run_begin(&env, NULL, arena, &outcome);
	struct eval_type from =
		type_string(type_is_string(type) ? type->collation : COLLATION_UTF8MB4_BIN, 2, 0);
	struct eval_value v = eval_string(s, from.collation);
	struct decimal d;
	bool overflow;
	size_t used;

	env.mode = EVAL_MODE_ALLOW_INVALID_DATES;
	if (type->kind == EVAL_T_DECIMAL) {
		if (decimal_parse(s, &d, &overflow) != s.len || overflow)
			return false;
		*out = make_decimal(&run, &d);
		return true;
	}
	/* Printed by the server, so that the nearest is the one that it has. */
	if (type->kind == EVAL_T_DOUBLE || type->kind == EVAL_T_FLOAT) {
		double read = text_to_double(s, &used);

		*out = eval_double(type->kind == EVAL_T_FLOAT ? (double)(float)read : read);
		return used == s.len;
	}
	if (type->kind == EVAL_T_BIT)
		from.hybrid = true;
	*out = to_type(&run, &from, &v, type);
	return !run.failed && out->kind != EVAL_NULL;
}

/* Recorded texts are UTF-8, as connections are; a column keeps them in its own character set.  What
 * is no UTF-8 came through a connection of another set (SET NAMES, --default-character-set). */
static bool from_string(struct arena *arena, const struct eval_type *type, struct span s,
	struct eval_value *out)
{
	enum charset charset = collation_charset(type->collation);
	struct span text = s;
	bool malformed = false;

	if (charset != CHARSET_BINARY &&
		(!text_is_valid(CHARSET_UTF8MB4, s) ||
			!text_convert(arena, CHARSET_UTF8MB4, charset, s, &text, &malformed)))
		return false;
	*out = eval_string(text, type->collation);
	return true;
}

bool eval_from_trace(struct arena *arena, const struct eval_type *type, const struct value *in,
	struct eval_value *out)
{
	bool is_unsigned = eval_kind_of(type) == EVAL_UINT;

	switch (in->type) {
	case VALUE_NULL:
		*out = EVAL_NULL_VALUE;
		return true;
	case VALUE_INT:
	case VALUE_UINT:
		if (!type_is_int(type))
			return false;
		*out = is_unsigned ? eval_uint(in->u) : eval_int(in->i);
		return in->type == VALUE_INT ? !is_unsigned : is_unsigned || in->u <= INT64_MAX;
	case VALUE_DOUBLE:
	case VALUE_FLOAT:
		*out = eval_double(in->d);
		return type->kind == EVAL_T_DOUBLE || type->kind == EVAL_T_FLOAT;
	case VALUE_TEXT:
	case VALUE_BYTES:
	case VALUE_JSON:
		if (type_is_string(type))
			return from_string(arena, type, in->bytes, out);
		return from_text(arena, type, in->bytes, out);
	case VALUE_DECIMAL:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_BIT:
		return from_text(arena, type, in->bytes, out);
	case VALUE_GEOMETRY:
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		return false;
	}
	return false;
}
