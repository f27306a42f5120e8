/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * REGEXP and the like.  MariaDB uses PCRE2, with characters and Unicode's classes unless the texts are
 * binary, and without case where the collation has none (MariaDB, "PCRE").  MySQL 8 uses ICU
 * ("Regular Expressions"): only what both libraries read alike is modelled there, for ASCII texts.
 *
 * limits/regexp_guards.c says which patterns are taken.
 */
#include <string.h>

#include "base/chars.h"
#include "base/regex.h"
#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

enum { RESULT_MAX = 1 << 20 };

enum { REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE };

struct regexp {
	struct regex *compiled; /* of a constant pattern */
	unsigned flags;
};

/* ---- running ---- */

static struct regex *pattern_of(const struct node *n, struct frame *f, struct span text)
{
	const struct regexp *re = n->u.data;
	struct regex *regex;

	if (pattern_refused(f->run, text, n->collation))
		return NULL;
	regex = regex_new(NULL, text, re->flags);
	if (!regex)
		run_gives_up(f->run, LIMIT_COMPUTED_TEXT_NOT_REGULAR_EXPRESSION);
	return regex;
}

static bool find(const struct node *n, struct frame *f, const struct regex *regex, struct span s,
	size_t start, struct regex_match *match)
{
	enum regex_result result = regex_find(regex, s, start, match);

	(void)n;
	if (result == REGEX_FAILED)
		run_gives_up(f->run, LIMIT_REGULAR_EXPRESSION_TOO_COSTLY);
	return result == REGEX_FOUND;
}

/* MariaDB: \1 is a group, any other character after a backslash itself. */
static void add_replacement(
	struct span s, struct span with, const struct regex_match *match, struct buf *out)
{
	for (size_t i = 0; i < with.len; i++) {
		char c = with.ptr[i];

		if (c == '\\') {
			if (++i >= with.len)
				break;
			c = with.ptr[i];
			if (char_is_digit(c)) {
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

	if (replacement_refused(f->run, with))
		return EVAL_NULL_VALUE;
	while (find(n, f, regex, s, start, &match)) {
		if (empty_match_refused(f->run, match.from[0] == match.to[0])) {
			buf_release(&text);
			return EVAL_NULL_VALUE;
		}
		buf_add(&text, s.ptr + start, match.from[0] - start);
		add_replacement(s, with, &match, &text);
		start = match.to[0];
		if (text.len > RESULT_MAX) {
			buf_release(&text);
			return run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
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
	if (n->op == REGEXP_REPLACE)
		regexp_error_refused(f->run, subject.kind == EVAL_NULL || with.kind == EVAL_NULL);
	if (subject.kind == EVAL_NULL || (n->op == REGEXP_REPLACE && with.kind == EVAL_NULL) ||
		f->run->failed)
		return EVAL_NULL_VALUE;
	s = text_in(f->run, &n->args[0]->type, &subject, n->collation);
	if (n->op == REGEXP_REPLACE)
		w = text_in(f->run, &n->args[2]->type, &with, n->collation);
	if (f->run->failed)
		return EVAL_NULL_VALUE;
	if (subject_refused(f->run, &subject, s, w, n->collation))
		return EVAL_NULL_VALUE;
	if (n->op == REGEXP_REPLACE)
		return replace(n, f, regex, s, w);
	if (!find(n, f, regex, s, 0, &match)) {
		if (n->op == REGEXP_SUBSTR)
			return f->run->env->flavour == SQL_MYSQL ? EVAL_NULL_VALUE
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
	if (computed_pattern_refused(f->run))
		return EVAL_NULL_VALUE;
	pattern = node_run(n->args[1], f);
	if (pattern.kind == EVAL_NULL && !f->run->failed)
		node_run(n->args[0], f); /* for its errors */
	if (pattern.kind == EVAL_NULL && !f->run->failed && n->op == REGEXP_REPLACE)
		node_run(n->args[2], f);
	regexp_error_refused(f->run, true); /* not met where the other is a constant NULL */
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
		if (constant_pattern_text_refused(c, &outcome, text, n->collation))
			return false;
		re->compiled = regex_new(c->arena, text, re->flags);
		if (!re->compiled && constant_pattern_error_refused(c))
			return false;
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

bool calls_regexp(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && n->expr->u.call.name.len > 7 &&
	       span_ieq_str(span_of(n->expr->u.call.name.ptr, 7), "regexp_");
}

static struct node *compile_arguments(struct compiler *c, struct node *n)
{
	uint32_t strings = n->op == REGEXP_REPLACE ? 3 : 2;

	if (regexp_refused(c, n, strings))
		return NULL;
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
	if (function->number == REGEXP_LIKE && regexp_like_refused(c))
		return NULL;
	return compile_arguments(c, n);
}

struct node *compile_regexp(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_regexp, e, 2);

	n->args[0] = compile_value(c, e->u.binary.left);
	n->args[1] = n->args[0] ? compile_value(c, e->u.binary.right) : NULL;
	if (!n->args[1])
		return NULL;
	if (regexp_operator_refused(c))
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
