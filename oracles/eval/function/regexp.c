/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * REGEXP and the like.  MariaDB uses PCRE2, with characters and Unicode's classes unless the texts are
 * binary, and without case where the collation has none (MariaDB, "PCRE").  MySQL 8 uses ICU
 * ("Regular Expressions"): only what both libraries read alike is modelled there, for ASCII texts.
 *
 * What patterns are taken is said by modelled(): no verbs, recursion, conditions or classes whose
 * content depends on the library's release.
 */
#include <string.h>

#include "base/regex.h"
#include "eval/compile.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

enum { PATTERN_MAX = 1000, RESULT_MAX = 1 << 20, RARE_FROM = 0x530 };

enum { REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE };

struct regexp {
	struct regex *compiled; /* of a constant pattern */
	unsigned flags;
};

/* ---- which patterns ---- */

/* `text` from `i` on is the rest of a quantifier: 3} 3,} 3,5} behind the brace. */
static size_t quantifier_end(struct span s, size_t i)
{
	size_t digits = 0;

	for (; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
		digits++;
	if (!digits || digits > 3)
		return 0;
	if (i < s.len && s.ptr[i] == ',') {
		for (digits = 0, i++; i < s.len && s.ptr[i] >= '0' && s.ptr[i] <= '9'; i++)
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
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A class, `i` behind its bracket; the end, or 0: not modelled. */
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

/* Behind `(?`: a group without number, or a look around. */
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
				s.ptr[i + 2] >= '0' && s.ptr[i + 2] <= '9')
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

/* ---- running ---- */

static bool is_mysql(const struct frame *f)
{
	return f->run->env->flavour == SQL_MYSQL;
}

static struct regex *pattern_of(const struct node *n, struct frame *f, struct span text)
{
	enum { PATTERN_LONG = 10000 }; /* MySQL: error 3700 somewhere beyond */
	const struct regexp *re = n->u.data;
	struct regex *regex;

	if (text.len > PATTERN_LONG || !modelled(text, is_mysql(f)) ||
		!subject_modelled(text, collation_charset(n->collation), is_mysql(f))) {
		run_unsupported(f->run, LIMIT_REGULAR_EXPRESSION_NOT_MODELLED);
		return NULL;
	}
	regex = regex_new(NULL, text, re->flags);
	if (!regex)
		run_unsupported(f->run, LIMIT_COMPUTED_TEXT_NOT_REGULAR_EXPRESSION);
	return regex;
}

static bool find(const struct node *n, struct frame *f, const struct regex *regex, struct span s,
	size_t start, struct regex_match *match)
{
	enum regex_result result = regex_find(regex, s, start, match);

	(void)n;
	if (result == REGEX_FAILED)
		run_unsupported(f->run, LIMIT_REGULAR_EXPRESSION_TOO_COSTLY);
	return result == REGEX_FOUND;
}

/* MariaDB: \1 is a group, any other character behind a backslash itself. */
static void add_replacement(
	struct span s, struct span with, const struct regex_match *match, struct buf *out)
{
	for (size_t i = 0; i < with.len; i++) {
		char c = with.ptr[i];

		if (c == '\\') {
			if (++i >= with.len)
				break;
			c = with.ptr[i];
			if (c >= '0' && c <= '9') {
				unsigned group = (unsigned)(c - '0');

				if (group < match->count && match->from[group] != SIZE_MAX)
					buf_add(out, s.ptr + match->from[group],
						match->to[group] - match->from[group]);
				continue;
			}
		}
		buf_add_char(out, c);
	}
}

static struct eval_value replace(const struct node *n, struct frame *f, const struct regex *regex,
	struct span s, struct span with)
{
	struct buf text = BUF_INIT;
	struct regex_match match;
	struct eval_value v;
	size_t start = 0;

	if (is_mysql(f) && (memchr(with.ptr, '$', with.len) || memchr(with.ptr, '\\', with.len)))
		return run_unsupported(f->run, LIMIT_MYSQL_GROUPS_IN_REPLACEMENT);
	while (find(n, f, regex, s, start, &match)) {
		if (match.from[0] == match.to[0]) {
			/* MariaDB stops there, later releases may not; ICU goes on. */
			buf_release(&text);
			return run_unsupported(f->run, LIMIT_REGEXP_REPLACE_OF_EMPTY_MATCH);
		}
		buf_add(&text, s.ptr + start, match.from[0] - start);
		add_replacement(s, with, &match, &text);
		start = match.to[0];
		if (text.len > RESULT_MAX) {
			buf_release(&text);
			return run_unsupported(f->run, LIMIT_VERY_LONG_STRING);
		}
	}
	buf_add(&text, s.ptr + start, s.len - start);
	v = make_text(f->run, &text, n->collation);
	buf_release(&text);
	return v;
}

static struct eval_value apply(const struct node *n, struct frame *f, const struct regex *regex)
{
	struct eval_value subject = node_run(n->args[0], f), with = EVAL_NULL_VALUE;
	struct regex_match match;
	struct span s, w = SPAN_LIT("");

	if (n->op == REGEXP_REPLACE)
		with = node_run(n->args[2], f);
	if (run_erred(f->run) && n->op == REGEXP_REPLACE &&
		(subject.kind == EVAL_NULL || with.kind == EVAL_NULL))
		return run_open_error(f->run, LIMIT_ERROR_IN_REGULAR_EXPRESSION_TEXT);
	if (subject.kind == EVAL_NULL || (n->op == REGEXP_REPLACE && with.kind == EVAL_NULL) ||
		f->run->failed)
		return EVAL_NULL_VALUE;
	s = text_in(f->run, &n->args[0]->type, &subject, n->collation);
	if (n->op == REGEXP_REPLACE)
		w = text_in(f->run, &n->args[2]->type, &with, n->collation);
	if (f->run->failed)
		return EVAL_NULL_VALUE;
	if (!subject_modelled(s, collation_charset(n->collation), is_mysql(f)) ||
		!subject_modelled(w, collation_charset(n->collation), is_mysql(f)))
		return run_unsupported(f->run, LIMIT_REGULAR_EXPRESSION_OVER_RARE_CHARACTERS);
	/* Positions and parts are counted in characters all the same. */
	if (n->collation == COLLATION_BINARY && subject.kind == EVAL_STRING &&
		subject.collation != COLLATION_BINARY && !text_is_ascii(s))
		return run_unsupported(f->run, LIMIT_BINARY_REGULAR_EXPRESSION_OVER_TEXT);
	if (n->op == REGEXP_REPLACE)
		return replace(n, f, regex, s, w);
	if (!find(n, f, regex, s, 0, &match)) {
		if (n->op == REGEXP_SUBSTR)
			return is_mysql(f) ? EVAL_NULL_VALUE
					   : eval_string(SPAN_LIT(""), n->collation);
		return eval_int(n->op == REGEXP_LIKE ? n->aux : 0);
	}
	if (n->op == REGEXP_SUBSTR)
		return eval_string(
			span_of(s.ptr + match.from[0], match.to[0] - match.from[0]), n->collation);
	if (n->op == REGEXP_INSTR)
		return eval_int((int64_t)text_chars(collation_charset(n->collation),
					span_of(s.ptr, match.from[0])) +
				1);
	return eval_int(!n->aux);
}

static struct eval_value run_regexp(const struct node *n, struct frame *f)
{
	const struct regexp *re = n->u.data;
	struct eval_value pattern, v;
	struct regex *regex;

	if (re->compiled)
		return apply(n, f, re->compiled);
	/* Libraries of that age differ in what they refuse. */
	if (f->run->env->flavour == SQL_MARIADB && f->run->env->version < 100600)
		return run_unsupported(f->run, LIMIT_MARIADB_10_5_COMPUTED_REGULAR_EXPRESSION);
	pattern = node_run(n->args[1], f);
	if (pattern.kind == EVAL_NULL && !f->run->failed)
		node_run(n->args[0], f); /* for its errors */
	if (pattern.kind == EVAL_NULL && !f->run->failed && n->op == REGEXP_REPLACE)
		node_run(n->args[2], f);
	if (run_erred(f->run)) /* not met where the other is a constant NULL */
		run_open_error(f->run, LIMIT_ERROR_IN_REGULAR_EXPRESSION_TEXT);
	if (pattern.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	regex = pattern_of(n, f, text_in(f->run, &n->args[1]->type, &pattern, n->collation));
	if (!regex)
		return EVAL_NULL_VALUE;
	v = apply(n, f, regex);
	regex_free(regex);
	return v;
}

/* ---- compiling ---- */

static bool compile_pattern(struct compiler *c, struct node *n)
{
	struct regexp *re = arena_zero(c->arena, sizeof(*re));
	bool mysql = c->env->flavour == SQL_MYSQL;
	struct span text;

	re->flags = (n->collation == COLLATION_BINARY ? 0 : REGEX_UTF) |
		    (collation_is_bin(n->collation) ? 0 : REGEX_CASELESS);
	n->u.data = re;
	/* Constant patterns are read when the statement is prepared. */
	if (n->args[1]->constant) {
		struct eval_outcome outcome = {0};
		struct run run = compile_run(c, &outcome);
		struct frame f = {.run = &run};
		struct eval_value v;

		run.strict = true; /* what would be cut there: an error, or not */
		v = node_run(n->args[1], &f);
		if (v.kind == EVAL_NULL && !run.failed)
			return true;
		text = run.failed ? SPAN_LIT("")
				  : text_in(&run, &n->args[1]->type, &v, n->collation);
		if (run.failed || !modelled(text, mysql) ||
			!subject_modelled(text, collation_charset(n->collation), mysql)) {
			compile_unsupported(c, LIMIT_REGULAR_EXPRESSION_NOT_MODELLED);
			return false;
		}
		re->compiled = regex_new(c->arena, text, re->flags);
		if (!re->compiled && mysql) {
			compile_unsupported(c, LIMIT_MYSQL_ERROR_IN_REGULAR_EXPRESSION);
			return false;
		}
		if (!re->compiled) {
			compile_error(c, ER_REGEXP_ERROR, "an error in a regular expression");
			return false;
		}
	}
	return true;
}

/* MySQL makes a function of NULL the literal NULL, which is binary; a subquery may hold one. */
static bool may_be_null(const struct node *n)
{
	return n->type.kind == EVAL_T_NULL || (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY);
}

bool has_null(const struct node *n)
{
	return node_any(n, may_be_null);
}

/* Of a pattern: MariaDB may read another text, and say that it is wrong. */
static bool is_subquery(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_SUBQUERY;
}

bool calls_regexp(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && n->expr->u.call.name.len > 7 &&
	       span_ieq_str(span_of(n->expr->u.call.name.ptr, 7), "regexp_");
}

/* A number or a time whose text is what it is printed as. */
static bool has_plain_text(const struct node *n)
{
	return (n->type.kind == EVAL_T_INT || n->type.kind == EVAL_T_DECIMAL || type_is_temporal(&n->type)) &&
	       !n->type.zerofill && !n->type.merged && !(n->literal && type_is_temporal(&n->type)) &&
	       !node_any(n, calls_regexp) && !has_null(n);
}

static struct node *compile_arguments(struct compiler *c, struct node *n)
{
	uint32_t strings = n->op == REGEXP_REPLACE ? 3 : 2;

	/* ICU wants texts of one kind: bytes and characters do not mix (error 3995). */
	for (uint32_t i = 0; i < strings && c->env->flavour == SQL_MYSQL; i++) {
		if (i == 0 && has_plain_text(n->args[0]))
			continue;
		if (n->args[i]->type.kind != EVAL_T_STRING || n->args[i]->type.hybrid ||
			n->args[i]->type.collation == COLLATION_BINARY ||
			n->args[i]->type.coercibility > 4 || has_null(n->args[i]))
			return compile_unsupported(c, LIMIT_MYSQL_REGEXP_OF_OTHER_THAN_TEXTS);
	}
	/* MariaDB's REGEXP_SUBSTR that finds nothing is '' to most, and NULL as a pattern. */
	if (n->args[1]->arg_count && node_any(n->args[1], calls_regexp))
		return compile_unsupported(c, LIMIT_REGULAR_EXPRESSION_THAT_ANOTHER_COMPUTES);
	if (node_any(n->args[1], is_subquery))
		return compile_unsupported(c, LIMIT_REGULAR_EXPRESSION_THAT_SUBQUERY_COMPUTES);
	if (!string_result(c, n, n->args, strings, OPERATION_COMPARES) || !compile_pattern(c, n))
		return NULL;
	if (n->op == REGEXP_LIKE)
		n->type = type_bool();
	else if (n->op == REGEXP_INSTR)
		n->type = type_int(false);
	else
		n->type.text_only = c->env->flavour == SQL_MYSQL; /* as a number it is a BIGINT */
	return n;
}

static struct node *compile_function(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (function->number == REGEXP_LIKE && c->env->flavour == SQL_MARIADB)
		return compile_unsupported(c, LIMIT_FUNCTION_REGEXP_LIKE);
	return compile_arguments(c, n);
}

struct node *compile_regexp(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_regexp, e, 2);

	n->args[0] = compile_value(c, e->u.binary.left);
	n->args[1] = n->args[0] ? compile_value(c, e->u.binary.right) : NULL;
	if (!n->args[1])
		return NULL;
	if (compile_mysql_5(c, LIMIT_MYSQL5_REGEXP))
		return NULL;
	n->op = REGEXP_LIKE;
	n->aux = e->negated;
	return compile_arguments(c, n);
}

/* Positions, occurrences and match types are left out. */
const struct function functions_regexp[] = {
	{"regexp_like", 2, 2, compile_function, run_regexp, REGEXP_LIKE},
	{"regexp_instr", 2, 2, compile_function, run_regexp, REGEXP_INSTR},
	{"regexp_substr", 2, 2, compile_function, run_regexp, REGEXP_SUBSTR},
	{"regexp_replace", 3, 3, compile_function, run_regexp, REGEXP_REPLACE},
	{NULL, 0, 0, NULL, NULL, 0},
};
