/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of REGEXP and the like: which patterns and texts MariaDB's PCRE2 and MySQL's ICU read as the
 * library here does.  No verbs, recursion, conditions or classes whose content depends on the library's
 * release.
 */
#include <string.h>

#include "base/chars.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"

enum { PATTERN_MAX = 1000, RARE_FROM = 0x530 };

/* ---- patterns ---- */

/* `text` from `i` on is the rest of a quantifier: 3} 3,} 3,5} after the brace. */
static size_t quantifier_end(struct span s, size_t i)
{
	size_t digits = 0;

	for (; i < s.len && char_is_digit(s.ptr[i]); i++)
		digits++;
	if (!digits || digits > 3)
		return 0;
	if (i < s.len && s.ptr[i] == ',') {
		for (digits = 0, i++; i < s.len && char_is_digit(s.ptr[i]); i++)
			digits++;
		if (digits > 3)
			return 0;
	}
	return i < s.len && s.ptr[i] == '}' ? i + 1 : 0;
}

/* [:alpha:] inside of a class. */
static size_t posix_end(struct span s, size_t i)
{
	static const char *const names[] = {
		"alpha", "digit", "alnum", "upper", "lower", "space", "punct", "xdigit"};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		size_t len = strlen(names[k]);

		if (s.len - i >= len + 4 && !memcmp(s.ptr + i, "[:", 2) &&
			!memcmp(s.ptr + i + 2, names[k], len) &&
			!memcmp(s.ptr + i + 2 + len, ":]", 2))
			return i + len + 4;
	}
	return 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (char_is_digit(c));
}

/* A class, `i` after its bracket; the end, or 0: not modelled. */
static size_t class_end(struct span s, size_t i, bool mysql)
{
	bool first = true;

	if (i < s.len && s.ptr[i] == '^')
		i++;
	for (; i < s.len; first = false) {
		char c = s.ptr[i];

		if (c == ']' && !first)
			return i + 1;
		if (c == '[') {
			size_t end = posix_end(s, i);

			/* The classes of ICU and PCRE2 for punctuation differ. */
			if (!end || (mysql && (s.ptr[i + 2] == 'p' || s.ptr[i + 2] == 'u' ||
						      s.ptr[i + 2] == 'l')))
				return 0;
			i = end;
		} else if (c == '\\') {
			if (i + 1 >= s.len ||
				(is_word(s.ptr[i + 1]) && !strchr("dwstnr", s.ptr[i + 1])))
				return 0;
			i += 2;
		} else if (mysql && (c == '&' || c == '-' || c == ']' || c == '{' || c == '}' ||
					    c == '$' || c == '^')) {
			/* In ICU these may be operators: a range between letters or digits. */
			if (c != '-' || first || i + 1 >= s.len || !is_word(s.ptr[i - 1]) ||
				!is_word(s.ptr[i + 1]))
				return 0;
			i += 2;
		} else {
			i++;
		}
	}
	return 0;
}

/* After `(?`: a group without number, or a look around. */
static size_t group_end(struct span s, size_t i, bool mysql)
{
	if (i < s.len && s.ptr[i] == ':')
		return i + 1;
	if (mysql || i >= s.len)
		return 0;
	if (s.ptr[i] == '=' || s.ptr[i] == '!')
		return i + 1;
	if (s.ptr[i] == '<' && i + 1 < s.len && (s.ptr[i + 1] == '=' || s.ptr[i + 1] == '!'))
		return i + 2;
	if (s.len - i >= 2 && strchr("ims", s.ptr[i]) && s.ptr[i + 1] == ')')
		return i + 2;
	return 0;
}

static bool modelled(struct span s, bool mysql)
{
	if (s.len > PATTERN_MAX || (mysql && (!s.len || !text_is_ascii(s))))
		return false;
	for (size_t i = 0; i < s.len;) {
		char c = s.ptr[i];

		if ((unsigned char)c < ' ')
			return false;
		switch (c) {
		case '\\':
			if (i + 1 >= s.len ||
				(is_word(s.ptr[i + 1]) &&
					!strchr(mysql ? "dDwWsS" : "dDwWsSbBAzZ123456789",
						s.ptr[i + 1])))
				return false;
			/* A group's number of several digits, or one and a digit, or an octal one. */
			if (s.ptr[i + 1] >= '1' && s.ptr[i + 1] <= '9' && i + 2 < s.len &&
				char_is_digit(s.ptr[i + 2]))
				return false;
			i += 2;
			break;
		case '[':
			i = class_end(s, i + 1, mysql);
			if (!i)
				return false;
			break;
		case '(':
			i++;
			if (i < s.len && s.ptr[i] == '*')
				return false;
			if (i < s.len && s.ptr[i] == '?') {
				i = group_end(s, i + 1, mysql);
				if (!i)
					return false;
			}
			break;
		case '{':
			i = quantifier_end(s, i + 1);
			if (!i)
				return false;
			break;
		case '}':
		case ']':
			if (mysql)
				return false;
			i++;
			break;
		default:
			i++;
		}
	}
	return true;
}

/* A subject that is matched alike by every release of the library. */
static bool subject_modelled(struct span s, enum charset charset, bool mysql)
{
	if (text_is_ascii(s)) {
		for (size_t i = 0; i < s.len && mysql; i++) {
			if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
				return false; /* line ends differ */
		}
		return true;
	}
	if (mysql || (charset != CHARSET_UTF8MB4 && charset != CHARSET_UTF8MB3 &&
			     charset != CHARSET_BINARY))
		return false;
	for (size_t i = 0; i < s.len && charset != CHARSET_BINARY;) {
		uint32_t bytes = char_bytes(charset, span_of(s.ptr + i, s.len - i));

		if (!bytes || char_code(charset, s.ptr + i, bytes) >= RARE_FROM)
			return false;
		i += bytes;
	}
	return true;
}

bool pattern_is_modelled(const struct eval_env *env, struct span pattern, uint16_t collation)
{
	bool mysql = env->flavour == SQL_MYSQL;

	return modelled(pattern, mysql) && subject_modelled(pattern, collation_charset(collation), mysql);
}

bool constant_pattern_text_refused(struct compiler *c, const struct eval_outcome *outcome,
	struct span pattern, uint16_t collation)
{
	return compile_refuses(c, LIMIT_REGULAR_EXPRESSION_NOT_MODELLED,
		outcome->status != EVAL_OK || !pattern_is_modelled(c->env, pattern, collation));
}

bool constant_pattern_error_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_MYSQL_ERROR_IN_REGULAR_EXPRESSION, true);
}

/* ---- types ---- */

/* Of a pattern: MariaDB may read another text, and say that it is wrong. */
static bool is_subquery(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_SUBQUERY;
}

/* A number or a time whose text is what it is printed as. */
static bool has_plain_text(const struct node *n)
{
	return (n->type.kind == EVAL_T_INT || n->type.kind == EVAL_T_DECIMAL || type_is_temporal(&n->type)) &&
	       !n->type.zerofill && !n->type.merged && !(n->literal && type_is_temporal(&n->type)) &&
	       !node_any(n, calls_regexp) && !has_null(n);
}

/* ICU wants texts of one kind: bytes and characters do not mix (error 3995). */
static bool is_no_text(const struct guarded *g)
{
	const struct node *n = g->args[g->at];

	if (g->at == 0 && has_plain_text(n))
		return false;
	return n->type.kind != EVAL_T_STRING || n->type.hybrid ||
	       n->type.collation == COLLATION_BINARY || n->type.coercibility > 4 || has_null(n);
}

bool regexp_refused(struct compiler *c, const struct node *n, uint32_t texts)
{
	static const struct guard operands[] = {
		{LIMIT_MYSQL_REGEXP_OF_OTHER_THAN_TEXTS, is_no_text},
	};
	struct guarded g = {.env = c->env, .args = n->args, .count = texts};
	const struct node *pattern = n->args[1];

	return guards_refuse_each(c, &g, 0, operands, ARRAY_LEN(operands)) ||
	       /* MariaDB's REGEXP_SUBSTR that finds nothing is '' to most, and NULL as a pattern. */
	       compile_refuses(c, LIMIT_REGULAR_EXPRESSION_THAT_ANOTHER_COMPUTES,
		       pattern->arg_count && node_any(pattern, calls_regexp)) ||
	       compile_refuses(c, LIMIT_REGULAR_EXPRESSION_THAT_SUBQUERY_COMPUTES,
		       node_any(pattern, is_subquery));
}

bool regexp_like_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_FUNCTION_REGEXP_LIKE, c->env->flavour == SQL_MARIADB);
}

bool regexp_operator_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_MYSQL5_REGEXP, true);
}

/* ---- values ---- */

bool pattern_refused(struct run *run, struct span pattern, uint16_t collation)
{
	enum { PATTERN_LONG = 10000 }; /* MySQL: error 3700 somewhere beyond */

	return run_refuses(run, LIMIT_REGULAR_EXPRESSION_NOT_MODELLED,
		pattern.len > PATTERN_LONG || !pattern_is_modelled(run->env, pattern, collation));
}

bool replacement_refused(struct run *run, struct span with)
{
	return run_refuses(run, LIMIT_MYSQL_GROUPS_IN_REPLACEMENT,
		memchr(with.ptr, '$', with.len) || memchr(with.ptr, '\\', with.len));
}

/* MariaDB stops there, later releases may not; ICU goes on. */
bool empty_match_refused(struct run *run, bool empty)
{
	return run_refuses(run, LIMIT_REGEXP_REPLACE_OF_EMPTY_MATCH, empty);
}

bool regexp_error_refused(struct run *run, bool possible)
{
	return run_reopens(run, LIMIT_ERROR_IN_REGULAR_EXPRESSION_TEXT, possible);
}

bool subject_refused(struct run *run, const struct eval_value *v, struct span text,
	struct span replacement, uint16_t collation)
{
	enum charset charset = collation_charset(collation);
	bool mysql = run->env->flavour == SQL_MYSQL;

	return run_refuses(run, LIMIT_REGULAR_EXPRESSION_OVER_RARE_CHARACTERS,
		       !subject_modelled(text, charset, mysql) ||
			       !subject_modelled(replacement, charset, mysql)) ||
	       /* Positions and parts are counted in characters all the same. */
	       run_refuses(run, LIMIT_BINARY_REGULAR_EXPRESSION_OVER_TEXT,
		       collation == COLLATION_BINARY && v->kind == EVAL_STRING &&
			       v->collation != COLLATION_BINARY && !text_is_ascii(text));
}

/* Libraries of that age differ in what they refuse. */
bool computed_pattern_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MARIADB_10_5_COMPUTED_REGULAR_EXPRESSION, true);
}
