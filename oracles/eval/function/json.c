/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON functions (MySQL manual, "JSON Functions"; MariaDB, "JSON Functions").  MySQL computes with values
 * and prints them in its normal form; MariaDB computes with texts and keeps what they have between the
 * commas.  Where one rule stands here, both do the same with a tree.
 *
 * A result is a text of type EVAL_T_JSON with either server: one JSON value among others, which only
 * compile_json_compare() compares.
 */
#include "base/chars.h"
#include "eval/compile.h"
#include "eval/function/json.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/json.h"
#include "server/errors.h"

/* ---- types ---- */

static struct eval_type type_json(const struct compiler *c)
{
	struct eval_type type = type_string(COLLATION_UTF8MB4_BIN,
		c->env->flavour == SQL_MYSQL ? 2 : COERCIBLE_NONE, JSON_LENGTH_MAX);

	type.kind = EVAL_T_JSON;
	type.blob = true;
	return type;
}

bool calls_function(const struct node *n, const char *name)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && span_istarts(n->expr->u.call.name, name);
}

/* ---- paths ---- */

static bool is_name(char ch, bool first)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_' ||
	       (!first && char_is_digit(ch));
}

/* $.name."any name"[7]: what all servers read alike. */
static bool read_path(struct span s, struct path *path)
{
	size_t at = 1;

	if (!s.len || s.ptr[0] != '$')
		return false;
	for (path->count = 0; at < s.len; path->count++) {
		struct leg *leg = &path->legs[path->count];
		size_t start;

		if (path->count == LEGS_MAX)
			return false;
		*leg = (struct leg){.key = SPAN_NONE};
		if (s.ptr[at] == '[') {
			for (start = ++at; at < s.len && char_is_digit(s.ptr[at]); at++)
				leg->index = leg->index * 10 + (uint32_t)(s.ptr[at] - '0');
			if (at == start || at - start > 6 || at == s.len || s.ptr[at++] != ']')
				return false;
			continue;
		}
		if (s.ptr[at++] != '.' || at == s.len)
			return false;
		if (s.ptr[at] == '"') {
			for (start = ++at; at < s.len && s.ptr[at] != '"'; at++) {
				if (s.ptr[at] == '\\' || (unsigned char)s.ptr[at] < 0x20)
					return false;
			}
			leg->key = span_of(s.ptr + start, at - start);
			if (at == start || at++ == s.len)
				return false;
			continue;
		}
		for (start = at; at < s.len && is_name(s.ptr[at], at == start); at++)
			;
		leg->key = span_of(s.ptr + start, at - start);
		if (at == start)
			return false;
	}
	return true;
}

bool compile_paths(struct compiler *c, struct node *n, uint32_t from, uint32_t step)
{
	struct path *paths = arena_zero(c->arena, (n->arg_count + 1) * sizeof(*paths));

	for (uint32_t i = from; i < n->arg_count; i += step) {
		const struct node *arg = n->args[i];

		if (json_path_refused(c, arg))
			return false;
		if (!read_path(arg->u.value.s, &paths[i])) {
			compile_gives_up(c, LIMIT_JSON_PATHS_BUT_LITERALS_OF_NAMES_AND_NUMBERS);
			return false;
		}
	}
	n->u.data = paths;
	return true;
}

const struct path *json_path_of(const struct node *n, uint32_t arg)
{
	return &((const struct path *)n->u.data)[arg];
}

static struct json_node *element(struct json_node *list, uint32_t index)
{
	struct json_node *v = list->first;

	while (v && index--)
		v = v->next;
	return v;
}

struct json_node *json_member(struct json_node *object, struct span key)
{
	struct json_node *v = object->first;

	while (v && !span_eq(v->key, key))
		v = v->next;
	return v;
}

/* What is no array is one of one element: $[0] of 1 is 1. */
static struct json_node *follow(struct json_node *v, const struct leg *leg)
{
	if (leg->key.ptr)
		return v->kind == JSON_OBJECT ? json_member(v, leg->key) : NULL;
	if (v->kind == JSON_ARRAY)
		return element(v, leg->index);
	return leg->index ? NULL : v;
}

struct json_node *json_find(struct json_node *v, const struct path *path, uint32_t legs)
{
	for (uint32_t i = 0; v && i < legs; i++)
		v = follow(v, &path->legs[i]);
	return v;
}

/* ---- documents ---- */

/* `lenient`: what is no JSON text is NULL, not an error. */
static struct json_node *read_document(const struct node *n, uint32_t arg, struct frame *f, bool lenient)
{
	struct run *run = f->run;
	struct eval_value v = require_known(run, node_run(n->args[arg], f));
	bool maria = run->env->flavour == SQL_MARIADB;
	struct json_node *out = NULL;

	if (v.kind == EVAL_NULL || run->failed || json_text_refused(run, &v))
		return NULL;
	switch (json_read(run->arena, v.s,
		maria                                       ? JSON_AS_WRITTEN
		: n->args[arg]->type.kind == EVAL_T_JSON ? JSON_STORED
							 : JSON_NORMAL,
		&out)) {
	case JSON_FINE:
		return out;
	case JSON_INVALID:
		if (!no_json_refused(run) && !lenient)
			run_error(run, ER_INVALID_JSON_TEXT_IN_PARAM, "invalid JSON text");
		return NULL;
	case JSON_UNSURE:
		break;
	}
	run_gives_up(run, LIMIT_JSON_FUNCTIONS_OF_RARE_TEXT);
	return NULL;
}

struct json_node *json_document(const struct node *n, uint32_t arg, struct frame *f)
{
	return read_document(n, arg, f, false);
}

static struct eval_value result(const struct node *n, struct frame *f, const struct json_node *v)
{
	struct buf text = BUF_INIT;
	struct eval_value out;

	json_print(v, &text);
	out = make_text(f->run, &text, n->type.collation);
	buf_release(&text);
	return out;
}

static struct json_node *new_json(struct run *run, enum json_kind kind, struct span text)
{
	struct json_node *v = arena_zero(run->arena, sizeof(*v));

	v->kind = kind;
	v->text = text;
	return v;
}

static struct json_node *new_string(struct run *run, struct span s)
{
	struct json_node *v = new_json(run, JSON_STRING, SPAN_NONE);
	struct buf text = BUF_INIT;

	v->value = s;
	if (!text_is_valid(CHARSET_UTF8MB4, s) || !json_put_string(s, &text))
		run_gives_up(run, LIMIT_JSON_FUNCTIONS_OF_RARE_TEXT);
	v->coded = text.len != s.len + 2;
	v->text = arena_copy(run->arena, buf_span(&text));
	buf_release(&text);
	return v;
}

struct json_node *json_value_of(const struct node *n, uint32_t arg, struct frame *f)
{
	struct run *run = f->run;
	const struct node *from = n->args[arg];
	struct eval_value v;

	v = require_known(run, node_run(from, f));
	if (run->failed)
		return NULL;
	if (v.kind != EVAL_NULL && (from->type.kind == EVAL_T_JSON || from->type.json))
		return json_document(n, arg, f);
	if (v.kind == EVAL_NULL)
		return new_json(run, JSON_NULL, SPAN_LIT("null"));
	if (from->type.is_bool)
		return new_json(run, v.i ? JSON_TRUE : JSON_FALSE,
			v.i ? SPAN_LIT("true") : SPAN_LIT("false"));
	if (v.kind == EVAL_STRING)
		return json_text_refused(run, &v) ? NULL : new_string(run, v.s);
	return new_json(run, JSON_NUMBER, to_text(run, &from->type, &v));
}

/* ---- JSON_EXTRACT, JSON_UNQUOTE, -> and ->> ---- */

static struct node *compile_json_extract(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_extract_refused(c, n) || json_document_refused(c, n->args[0]) ||
		!compile_paths(c, n, 1, 1))
		return NULL;
	n->type = type_json(c);
	return n;
}

static struct json_node *extract(const struct node *n, struct frame *f)
{
	struct json_node *doc = json_document(n, 0, f), *list, **tail, *found;

	if (!doc)
		return NULL;
	if (n->arg_count == 2)
		return json_find(doc, json_path_of(n, 1), json_path_of(n, 1)->count);
	list = new_json(f->run, JSON_ARRAY, SPAN_NONE);
	tail = &list->first;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		found = json_find(doc, json_path_of(n, i), json_path_of(n, i)->count);
		if (!found)
			continue;
		*tail = arena_zero(f->run->arena, sizeof(*found));
		**tail = *found;
		(*tail)->next = NULL;
		tail = &(*tail)->next;
	}
	return list->first ? list : NULL;
}

static struct eval_value run_json_extract(const struct node *n, struct frame *f)
{
	struct json_node *v = extract(n, f);

	return v ? result(n, f, v) : EVAL_NULL_VALUE;
}

static struct node *compile_json_unquote(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_document_refused(c, n->args[0]))
		return NULL;
	n->type = type_string(COLLATION_UTF8MB4_BIN, 4, JSON_LENGTH_MAX);
	n->type.blob = true;
	return n;
}

static struct eval_value run_json_unquote(const struct node *n, struct frame *f)
{
	struct eval_value v = require_known(f->run, node_run(n->args[0], f));
	struct json_node *doc;

	if (v.kind == EVAL_NULL || f->run->failed || json_text_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	/* A text without quotes stays as it is. */
	if (v.s.len < 2 || v.s.ptr[0] != '"' || v.s.ptr[v.s.len - 1] != '"')
		return unquoted_json_refused(f->run, v.s) ? EVAL_NULL_VALUE
							  : eval_string(v.s, n->type.collation);
	doc = json_document(n, 0, f);
	return doc ? eval_string(doc->value, n->type.collation) : EVAL_NULL_VALUE;
}

bool node_is_json_unquote(const struct node *n)
{
	return calls_function(n, "json_unquote") || (n->expr && n->expr->kind == SQL_EXPR_BINARY &&
						     n->expr->op == SQL_OP_JSON_UNQUOTE);
}

struct node *compile_json_arrow(struct compiler *c, const struct sql_expr *e)
{
	struct node *n, *outer;

	if (json_arrow_refused(c))
		return NULL;
	n = node_new(c, run_json_extract, e, 2);
	n->args[0] = compile_value(c, e->u.binary.left);
	n->args[1] = n->args[0] ? compile_value(c, e->u.binary.right) : NULL;
	if (!n->args[1] || !compile_json_extract(c, n, NULL))
		return NULL;
	n->args[1]->nested = true;
	if (e->op == SQL_OP_JSON_EXTRACT)
		return n;
	outer = node_new(c, run_json_unquote, e, 1);
	outer->args[0] = n;
	return compile_json_unquote(c, outer, NULL);
}

/* ---- JSON_VALUE ---- */

enum { MYSQL_VALUE_MAX = 512 }; /* characters; the result is a VARCHAR(512) in utf8mb4_bin */

static struct node *compile_json_value(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *doc = &n->args[0]->type;

	(void)function;
	if (json_document_refused(c, n->args[0]) || !compile_paths(c, n, 1, 1))
		return NULL;
	n->type = c->env->flavour == SQL_MYSQL ? type_string(COLLATION_UTF8MB4_BIN, 4, MYSQL_VALUE_MAX)
					       : type_string(doc->collation, doc->coercibility, JSON_LENGTH_MAX);
	n->type.blob = c->env->flavour == SQL_MARIADB;
	return n;
}

/* MariaDB has scalars only, and 1 and 0 for true and false.  MySQL has NULL ON ERROR. */
static struct eval_value run_json_value(const struct node *n, struct frame *f)
{
	struct json_node *doc = read_document(n, 0, f, true);
	struct json_node *v = doc ? json_find(doc, json_path_of(n, 1), json_path_of(n, 1)->count) : NULL;
	bool maria = f->run->env->flavour == SQL_MARIADB;
	struct eval_value out;

	if (!v || v->kind == JSON_NULL)
		return EVAL_NULL_VALUE;
	switch (v->kind) {
	case JSON_STRING:
		out = eval_string(v->value, n->type.collation);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		if (maria)
			return eval_string(v->kind == JSON_TRUE ? SPAN_LIT("1") : SPAN_LIT("0"), n->type.collation);
		out = result(n, f, v);
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		if (maria)
			return EVAL_NULL_VALUE;
		out = result(n, f, v);
		break;
	default:
		out = result(n, f, v);
	}
	return long_json_value_refused(f->run, out.s) ? EVAL_NULL_VALUE : out;
}

/* ---- JSON_OBJECT, JSON_ARRAY, JSON_QUOTE ---- */

static struct node *compile_json_made(
	struct compiler *c, struct node *n, const struct function *function)
{
	bool object = function->number == JSON_OBJECT;

	if (object && n->arg_count % 2)
		return compile_error(c, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, "the wrong number of arguments");
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if ((object && i % 2 == 0 && json_name_refused(c, n->args[i])) ||
			json_value_refused(c, n->args[i]))
			return NULL;
	}
	n->type = type_json(c);
	return n;
}

/* MariaDB keeps the blanks here, too. */
static struct json_node *member_of(const struct node *n, uint32_t arg, struct frame *f)
{
	struct json_node *v = json_value_of(n, arg, f);

	if (v && f->run->env->flavour == SQL_MARIADB &&
		(n->args[arg]->type.kind == EVAL_T_JSON || n->args[arg]->type.json)) {
		struct eval_value text = node_run(n->args[arg], f);

		return new_json(f->run, JSON_NUMBER,
			text.kind == EVAL_NULL ? SPAN_LIT("null") : text.s);
	}
	return v;
}

static struct eval_value run_json_array(const struct node *n, struct frame *f)
{
	struct json_node *list = new_json(f->run, JSON_ARRAY, SPAN_NONE), **tail = &list->first;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		*tail = member_of(n, i, f);
		if (!*tail)
			return EVAL_NULL_VALUE;
		(*tail)->next = NULL;
		tail = &(*tail)->next;
	}
	return result(n, f, list);
}

static struct eval_value run_json_object(const struct node *n, struct frame *f)
{
	struct json_node *object = new_json(f->run, JSON_OBJECT, SPAN_NONE), **tail = &object->first;

	for (uint32_t i = 0; i < n->arg_count; i += 2) {
		struct eval_value key = require_known(f->run, node_run(n->args[i], f));
		struct json_node *name;

		if (key.kind == EVAL_NULL && !f->run->failed && null_json_name_refused(f->run))
			return EVAL_NULL_VALUE;
		if (f->run->failed || json_text_refused(f->run, &key))
			return EVAL_NULL_VALUE;
		name = new_string(f->run, key.s);
		*tail = member_of(n, i + 1, f);
		if (!*tail)
			return EVAL_NULL_VALUE;
		(*tail)->key = name->value;
		(*tail)->key_text = name->text;
		(*tail)->next = NULL;
		tail = &(*tail)->next;
	}
	if (f->run->env->flavour == SQL_MYSQL)
		json_arrange(object);
	return result(n, f, object);
}

/* ---- JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE ---- */

enum { CHANGE_ADDS = 1, CHANGE_REPLACES = 2 };

static struct node *compile_json_change(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (n->arg_count % 2 == 0)
		return compile_error(c, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, "the wrong number of arguments");
	if (json_document_refused(c, n->args[0]) || !compile_paths(c, n, 1, 2))
		return NULL;
	for (uint32_t i = 1; i < n->arg_count; i += 2) {
		if (json_value_refused(c, n->args[i + 1]))
			return NULL;
	}
	n->type = type_json(c);
	return n;
}

static void put(struct json_node *at, const struct json_node *v)
{
	struct json_node old = *at;

	*at = *v;
	at->key = old.key;
	at->key_text = old.key_text;
	at->next = old.next;
}

static void append(struct json_node *list, struct json_node *v)
{
	struct json_node **tail = &list->first;

	while (*tail)
		tail = &(*tail)->next;
	v->next = NULL;
	*tail = v;
}

/* Argument `arg` is the path; the value is after it. */
static void change(const struct node *n, uint32_t arg, struct frame *f, struct json_node *doc)
{
	struct run *run = f->run;
	const struct path *path = json_path_of(n, arg);
	const struct leg *last = path->count ? &path->legs[path->count - 1] : NULL;
	struct json_node *parent = json_find(doc, path, path->count ? path->count - 1 : 0);
	struct json_node *there = !last ? doc : parent ? follow(parent, last) : NULL;
	struct json_node *v = json_value_of(n, arg + 1, f);

	if (!parent || !(n->op & (there ? CHANGE_REPLACES : CHANGE_ADDS)) ||
		(!there && last->key.ptr && parent->kind != JSON_OBJECT)) {
		if (!v)
			unwanted_json_value_refused(run);
		return;
	}
	if (!v)
		return;
	if (there) {
		put(there, v);
		return;
	}
	if (last->key.ptr) {
		struct json_node *name = new_string(run, last->key);

		v->key = name->value;
		v->key_text = name->text;
		append(parent, v);
		if (run->env->flavour == SQL_MYSQL)
			json_arrange(parent);
		return;
	}
	/* After the end; what is no array becomes one. */
	if (parent->kind != JSON_ARRAY) {
		struct json_node *first = arena_zero(run->arena, sizeof(*first));
		struct json_node list = {.kind = JSON_ARRAY, .first = first};

		*first = *parent;
		first->next = NULL;
		put(parent, &list);
	}
	append(parent, v);
}

static struct eval_value run_json_change(const struct node *n, struct frame *f)
{
	struct json_node *doc = json_document(n, 0, f);

	if (!doc)
		return EVAL_NULL_VALUE;
	for (uint32_t i = 1; i < n->arg_count && !f->run->failed; i += 2)
		change(n, i, f, doc);
	return result(n, f, doc);
}

static struct node *compile_json_remove(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_document_refused(c, n->args[0]) || !compile_paths(c, n, 1, 1))
		return NULL;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		if (json_remove_refused(c, json_path_of(n, i)))
			return NULL;
	}
	n->type = type_json(c);
	return n;
}

static struct eval_value run_json_remove(const struct node *n, struct frame *f)
{
	struct json_node *doc = json_document(n, 0, f);

	for (uint32_t i = 1; doc && i < n->arg_count; i++) {
		const struct path *path = json_path_of(n, i);
		struct json_node *parent = json_find(doc, path, path->count - 1);
		struct json_node *there = parent ? follow(parent, &path->legs[path->count - 1]) : NULL;

		if (!there)
			continue;
		if (json_remove_element_refused(f->run, there != parent))
			return EVAL_NULL_VALUE;
		for (struct json_node **at = &parent->first; *at; at = &(*at)->next) {
			if (*at == there) {
				*at = there->next;
				break;
			}
		}
	}
	return doc ? result(n, f, doc) : EVAL_NULL_VALUE;
}

/* ---- what is in it ---- */

static struct node *compile_json_asked(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_document_refused(c, n->args[0]) || !compile_paths(c, n, 1, 1))
		return NULL;
	n->type = type_int(false);
	return n;
}

/* Argument 0, at the path of argument 1 where there is one. */
static struct json_node *part(const struct node *n, struct frame *f)
{
	struct json_node *doc = json_document(n, 0, f);

	return doc && n->arg_count > 1 ? json_find(doc, json_path_of(n, 1), json_path_of(n, 1)->count) : doc;
}

static struct eval_value run_json_length(const struct node *n, struct frame *f)
{
	struct json_node *v = part(n, f);
	int64_t count = 0;

	if (!v)
		return EVAL_NULL_VALUE;
	if (v->kind != JSON_ARRAY && v->kind != JSON_OBJECT)
		return eval_int(1);
	for (v = v->first; v; v = v->next)
		count++;
	return eval_int(count);
}

static int64_t depth_of(const struct json_node *v)
{
	int64_t deepest = 0;

	for (const struct json_node *m = v->kind == JSON_ARRAY || v->kind == JSON_OBJECT ? v->first : NULL; m;
		m = m->next) {
		int64_t depth = depth_of(m);

		deepest = depth > deepest ? depth : deepest;
	}
	return deepest + 1;
}

static struct eval_value run_json_depth(const struct node *n, struct frame *f)
{
	struct json_node *v = json_document(n, 0, f);

	return v ? eval_int(depth_of(v)) : EVAL_NULL_VALUE;
}

static struct node *compile_json_keys(
	struct compiler *c, struct node *n, const struct function *function)
{
	n = compile_json_asked(c, n, function);
	if (n)
		n->type = type_json(c);
	return n;
}

static struct eval_value run_json_keys(const struct node *n, struct frame *f)
{
	struct json_node *v = json_document(n, 0, f), *list = new_json(f->run, JSON_ARRAY, SPAN_NONE);
	struct eval_value out;

	/* MySQL: no $[0] of what is no array here. */
	for (uint32_t i = 0; v && n->arg_count > 1 && i < json_path_of(n, 1)->count; i++) {
		struct json_node *next = follow(v, &json_path_of(n, 1)->legs[i]);

		v = next == v && f->run->env->flavour == SQL_MYSQL ? NULL : next;
	}
	if (!v || v->kind != JSON_OBJECT)
		return EVAL_NULL_VALUE;
	for (v = v->first; v; v = v->next)
		append(list, new_json(f->run, JSON_STRING, v->key_text));
	out = result(n, f, list);
	return json_keys_refused(f->run, n, &out) ? EVAL_NULL_VALUE : out;
}

bool json_may_be_other(const struct json_node *v)
{
	struct span s = v->value;
	size_t at = 0;

	if (v->kind != JSON_STRING)
		return false;
	if (span_istarts(s, "base64:"))
		return true;
	if (at < s.len && s.ptr[at] == '-')
		at++;
	while (at < s.len && char_is_digit(s.ptr[at]))
		at++;
	return at && at < s.len && (s.ptr[at] == '-' || s.ptr[at] == ':');
}

static struct node *compile_json_type(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (json_document_refused(c, n->args[0]))
		return NULL;
	n->type = type_string(COLLATION_UTF8MB4_BIN,
		c->env->flavour == SQL_MYSQL ? 4 : COERCIBLE_NONE, 51);
	return n;
}

static struct eval_value run_json_type(const struct node *n, struct frame *f)
{
	static const char *const names[] = {[JSON_NULL] = "NULL",
		[JSON_FALSE] = "BOOLEAN",
		[JSON_TRUE] = "BOOLEAN",
		[JSON_NUMBER] = "DOUBLE",
		[JSON_STRING] = "STRING",
		[JSON_ARRAY] = "ARRAY",
		[JSON_OBJECT] = "OBJECT"};
	struct json_node *v = json_document(n, 0, f);

	if (!v)
		return EVAL_NULL_VALUE;
	if (json_type_refused(f->run, &n->args[0]->type, v))
		return EVAL_NULL_VALUE;
	return eval_string(v->kind == JSON_NUMBER && v->whole ? SPAN_LIT("INTEGER")
							      : span_str(names[v->kind]),
		n->type.collation);
}

const struct function functions_json[] = {
	{"json_extract", 2, 255, compile_json_extract, run_json_extract, 0},
	{"json_value", 2, 2, compile_json_value, run_json_value, 0},
	{"json_unquote", 1, 1, compile_json_unquote, run_json_unquote, 0},
	{"json_object", 0, 255, compile_json_made, run_json_object, JSON_OBJECT},
	{"json_array", 0, 255, compile_json_made, run_json_array, JSON_ARRAY},
	{"json_set", 3, 255, compile_json_change, run_json_change, CHANGE_ADDS | CHANGE_REPLACES},
	{"json_insert", 3, 255, compile_json_change, run_json_change, CHANGE_ADDS},
	{"json_replace", 3, 255, compile_json_change, run_json_change, CHANGE_REPLACES},
	{"json_remove", 2, 255, compile_json_remove, run_json_remove, 0},
	{"json_length", 1, 2, compile_json_asked, run_json_length, 0},
	{"json_depth", 1, 1, compile_json_asked, run_json_depth, 0},
	{"json_keys", 1, 2, compile_json_keys, run_json_keys, 0},
	{"json_type", 1, 1, compile_json_type, run_json_type, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
