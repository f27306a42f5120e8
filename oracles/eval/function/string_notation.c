/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts in other notations: HEX, UNHEX, BIN, OCT, QUOTE. */
#include "base/chars.h"
#include "eval/compile.h"
#include "eval/function/string.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

/* ---- other notations ---- */

static struct eval_value run_hex(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	struct span s;

	if (v.kind == EVAL_NULL)
		return v;
	if (hex_value_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	if (v.kind == EVAL_INT || v.kind == EVAL_UINT) {
		buf_printf(&text, "%llX", (unsigned long long)v.u);
	} else {
		s = to_text(f->run, t, &v);
		for (size_t i = 0; i < s.len; i++)
			buf_printf(&text, "%02X", (unsigned char)s.ptr[i]);
	}
	return buf_result(n, f, &text);
}

static struct eval_value run_unhex(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	struct span s;
	int high = 0;

	if (v.kind == EVAL_NULL)
		return v;
	s = to_text(f->run, &n->args[0]->type, &v);
	for (size_t i = 0; i < s.len; i++) {
		int digit = char_hex_value(s.ptr[i]);

		if (digit < 0) {
			buf_release(&text);
			unhex_refused(f->run);
			return EVAL_NULL_VALUE;
		}
		if ((s.len - i) % 2 == 0)
			high = digit;
		else {
			buf_add_char(&text, (char)(high << 4 | digit));
			high = 0;
		}
	}
	return buf_result(n, f, &text);
}

static struct node *compile_hex(struct compiler *c, struct node *n, const struct function *function)
{
	if (hex_refused(c, n->args[0]))
		return NULL;
	n = compile_connection(c, n, function);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

static struct node *compile_unhex(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	n->collation = COLLATION_BINARY;
	n->type = type_string(COLLATION_BINARY, 4, 0);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

static struct eval_value run_base(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	bool started = false;

	if (v.kind == EVAL_NULL)
		return v;
	if (base_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	if (n->op == 8) {
		buf_printf(&text, "%llo", (unsigned long long)v.u);
	} else {
		for (int i = 63; i >= 0; i--) {
			started |= v.u >> i & 1;
			if (started || i == 0)
				buf_add_char(&text, (char)('0' + (v.u >> i & 1)));
		}
	}
	return buf_result(n, f, &text);
}

struct eval_value run_quote(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct span s;

	if (!text_arg(n, f, 0, &s)) {
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		return text_result(n, SPAN_LIT("NULL"));
	}
	buf_add_char(&text, '\'');
	for (size_t i = 0; i < s.len; i++) {
		switch (s.ptr[i]) {
		case '\0':
			buf_add_str(&text, "\\0");
			break;
		case '\032':
			buf_add_str(&text, "\\Z");
			break;
		case '\\':
		case '\'':
			buf_add_char(&text, '\\');
			buf_add_char(&text, s.ptr[i]);
			break;
		default:
			buf_add_char(&text, s.ptr[i]);
		}
	}
	buf_add_char(&text, '\'');
	return buf_result(n, f, &text);
}

const struct function functions_string_notation[] = {
	{"hex", 1, 1, compile_hex, run_hex, 0},
	{"unhex", 1, 1, compile_unhex, run_unhex, 0},
	{"bin", 1, 1, compile_connection, run_base, 2},
	{"oct", 1, 1, compile_connection, run_base, 8},
	{"quote", 1, 1, compile_first, run_quote, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
