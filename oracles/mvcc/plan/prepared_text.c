/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User variables that SET gave a value which can be computed without tables: what reads them is compiled with it.
 *
 * EXECUTE of what PREPARE had as a text: it is the statement of that text, with the values of user
 * variables put in where SET gave them as literals.  Where a value is not in the trace its parameter stays; where
 * the text is not, it stays EXECUTE, which may do anything.
 */
#include "mvcc/plan/prepared_text.h"

#include "base/buf.h"
#include "base/mem.h"
#include "mvcc/execute/execute.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/solver.h"

enum { PARAMS_MAX = 64, NAMES_MAX = 256, VALUE_MAX = 4096 };

/* A prepared statement or a user variable of a session. */
struct prepared {
	struct prepared *next;
	struct span name;
	struct span text;    /* of the statement, or of a variable's string; SPAN_NONE: not known */
	struct span literal; /* a variable's value as SQL; SPAN_NONE: not known */
	bool variable, known;    /* known: the value of a variable */
	struct eval_value value;
	struct span database; /* when it was prepared */
	uint32_t sql_mode;
};

static struct prepared *find(struct prepared *list, struct span name, bool variable)
{
	while (list && (list->variable != variable || !span_ieq(list->name, name)))
		list = list->next;
	return list;
}

static void set(struct mvcc *m, struct prepared **list, const struct prepared *value)
{
	struct prepared *there = find(*list, value->name, value->variable);
	size_t count = 0;

	for (const struct prepared *p = *list; p; p = p->next)
		count++;
	if (!there && count == NAMES_MAX)
		return;
	if (!there) {
		there = arena_zero(&m->catalog.arena, sizeof(*there));
		there->next = *list;
		*list = there;
	}
	there->name = value->name;
	there->variable = value->variable;
	there->text = value->text;
	there->literal = value->literal;
	there->known = value->known;
	there->value = value->value;
	there->database = value->database;
	there->sql_mode = value->sql_mode;
}

static void forget_variables(struct prepared *list)
{
	for (; list; list = list->next) {
		if (!list->variable)
			continue;
		list->text = list->literal = SPAN_NONE;
		list->known = false;
	}
}

/* For eval_env.user_var. */
static bool value_of_variable(void *ctx, struct span name, struct eval_value *out)
{
	const struct prepared *variable = find(ctx, name, true);

	if (!variable || !variable->known)
		return false;
	*out = variable->value;
	return true;
}

bool variable_text(const struct session_settings *s, struct span name, struct span *text, bool *is_string)
{
	const struct prepared *variable = find(s->prepared, name, true);

	if (!variable || !variable->known || variable->value.kind == EVAL_NULL)
		return false;
	*is_string = variable->value.kind == EVAL_STRING;
	*text = *is_string ? variable->value.s : variable->literal;
	return text->ptr != NULL;
}

void variables_in_sight(struct mvcc *m, const struct session_settings *s)
{
	m->now.env.user_var = s ? value_of_variable : NULL;
	m->now.env.ctx = s ? s->prepared : NULL;
}

struct span variables_named(struct mvcc *m, const struct session_settings *s, struct span text)
{
	struct buf out = BUF_INIT;
	struct span made = SPAN_NONE;

	if (!text.len || !memchr(text.ptr, '@', text.len))
		return made;
	for (const struct prepared *p = s->prepared; p; p = p->next) {
		if (!p->variable || !p->known)
			continue;
		buf_add_span(&out, p->name);
		buf_printf(&out, "\n%u %u ", p->value.kind, p->value.collation);
		if (p->value.kind == EVAL_STRING)
			buf_printf(&out, "%zu %.*s", p->value.s.len, SPAN_ARG(p->value.s));
		else if (p->value.kind != EVAL_NULL)
			buf_printf(&out, "%llx", (unsigned long long)p->value.u);
		buf_add_char(&out, '\n');
	}
	if (out.len)
		made = arena_copy(&m->scratch, buf_span(&out));
	buf_release(&out);
	return made;
}

/* Integers, texts and NULL.  A DECIMAL gets more decimals in a variable than it had. */
static void compute(struct mvcc *m, const struct session_settings *s, const struct plan *plan,
	const struct sql_expr *e, struct prepared *variable)
{
	const struct sql_expr *followed = settings_system_variable(m, s, e);
	struct eval_outcome outcome = {0};
	struct eval_expr *expr;
	struct eval_value v;

	settings_apply(m, plan);
	variables_in_sight(m, s);
	expr = eval_expr_compile(
		&m->catalog.arena, followed ? followed : e, NULL, SPAN_NONE, &m->now.env, NULL, &outcome);
	variables_in_sight(m, NULL);
	if (!expr || !eval_expr_run(expr, &m->catalog.arena, &m->now.env, NULL, NULL, &v, &outcome))
		return;
	if (v.kind == EVAL_INT || v.kind == EVAL_UINT || v.kind == EVAL_NULL ||
		(v.kind == EVAL_STRING && !m->now.env.literals_uncertain &&
			eval_expr_type(expr)->kind == EVAL_T_STRING && !eval_expr_type(expr)->hybrid &&
			v.s.len <= VALUE_MAX)) {
		variable->known = true;
		variable->value = v;
	}
	if ((v.kind == EVAL_INT || v.kind == EVAL_UINT) && !variable->literal.ptr) {
		struct buf digits = BUF_INIT;

		eval_print(eval_expr_type(expr), &v, &digits);
		variable->literal = arena_copy(&m->catalog.arena, buf_span(&digits));
		buf_release(&digits);
	}
}

static bool is_string(const struct sql_expr *e)
{
	return e && e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_STRING &&
	       !e->u.literal.charset.ptr;
}

/* Values that are the same as a parameter and in the text. */
static bool is_value(const struct sql_expr *e)
{
	return is_string(e) || (e && e->kind == SQL_EXPR_LITERAL &&
				       (e->u.literal.kind == SQL_LIT_INT ||
					       e->u.literal.kind == SQL_LIT_NULL));
}

static struct span source_of(struct prepared *list, const struct sql_prepared *prepared)
{
	const struct sql_expr *e = prepared->source;
	const struct prepared *variable;

	if (is_string(e))
		return e->u.literal.text;
	if (!e || e->kind != SQL_EXPR_USER_VAR)
		return SPAN_NONE;
	variable = find(list, e->u.var.name, true);
	return variable ? variable->text : SPAN_NONE;
}

/* All values are computed before the first is assigned: SET @a = 10, @b = @a + 1 gives @b by the
 * old @a (seen on all servers). */
static void set_variables(
	struct mvcc *m, struct session_settings *s, const struct plan *plan, bool failed)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct prepared values[PARAMS_MAX];
	size_t count = 0;

	for (const struct sql_set_item *i = stmt->u.set->items; i; i = i->next) {
		struct prepared *value = &values[count];
		struct span text;

		if (i->kind != SQL_SET_USER_VAR || !i->value)
			continue;
		text = span_of(stmt->text.ptr + (i->value->loc.start - stmt->offset),
			i->value->loc.end - i->value->loc.start);
		if (count == PARAMS_MAX || memmem(text.ptr, text.len, ":=", 2)) {
			forget_variables(s->prepared);
			return;
		}
		*value = (struct prepared){.name = i->name, .variable = true};
		if (!failed && is_value(i->value)) {
			value->literal = text;
			if (is_string(i->value))
				value->text = i->value->u.literal.text;
		}
		if (!failed)
			compute(m, s, plan, i->value, value);
		count++;
	}
	for (size_t i = 0; i < count; i++)
		set(m, &s->prepared, &values[i]);
}

static bool see_assignment(void *ctx, const struct sql_expr *e)
{
	*(uint32_t *)ctx += e->kind == SQL_EXPR_ASSIGN;
	return true;
}

/* Are there more assignments than those of the list? */
static bool assigns_deeper(const struct sql_stmt *stmt, uint32_t count)
{
	uint32_t found = 0;

	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = see_assignment, .ctx = &found});
	return found != count;
}

struct assigned {
	struct span names[PARAMS_MAX];
	uint32_t count, read;
};

static bool see_variable(void *ctx, const struct sql_expr *e)
{
	struct assigned *a = ctx;

	for (uint32_t i = 0; e->kind == SQL_EXPR_USER_VAR && i < a->count; i++)
		a->read += span_ieq(a->names[i], e->u.var.name);
	return true;
}

bool assigns_items(const struct sql_stmt *stmt)
{
	struct assigned a = {.count = 0};

	/* Of groups MariaDB assigns what was in the row before it counted. */
	if (stmt->kind != SQL_STMT_SELECT || stmt->u.query->kind != SQL_QUERY_SELECT || stmt->u.query->into ||
		stmt->u.query->u.select.group || !memmem(stmt->text.ptr, stmt->text.len, ":=", 2))
		return false;
	for (const struct sql_item *i = stmt->u.query->u.select.items; i && a.count < PARAMS_MAX; i = i->next) {
		if (i->expr->kind == SQL_EXPR_ASSIGN)
			a.names[a.count++] = i->expr->u.binary.left->u.var.name;
	}
	/* The names on the left are met, too. */
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = see_variable, .ctx = &a});
	return a.count && a.count < PARAMS_MAX && a.read == a.count && !assigns_deeper(stmt, a.count);
}

static bool is_count(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "count") && !e->u.call.db.ptr &&
	       !(e->u.call.extra && e->u.call.extra->over);
}

/* SELECT @n := COUNT(*): the one row of the answer says what it is. */
static void assigned_by_items(struct mvcc *m, struct prepared **list, const struct sql_stmt *stmt, bool failed)
{
	const struct execution_rows *rows = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	struct value values[PARAMS_MAX];
	size_t width = rows && rows->count == 1 && rows->complete ? execution_row(rows->rows[0], values, PARAMS_MAX) : SIZE_MAX;
	size_t at = 0;
	bool star = false;

	for (const struct sql_item *i = stmt->u.query->u.select.items; i; i = i->next, at++) {
		struct prepared variable = {.variable = true};

		star |= i->expr->kind == SQL_EXPR_STAR;
		if (i->expr->kind != SQL_EXPR_ASSIGN)
			continue;
		variable.name = i->expr->u.binary.left->u.var.name;
		if (!failed && !star && width != SIZE_MAX && at < width && at < PARAMS_MAX && is_count(i->expr->u.binary.right) &&
			values[at].type == VALUE_UINT) {
			variable.known = true;
			variable.value = eval_int((int64_t)values[at].u);
			variable.literal = span_str(arena_printf(&m->catalog.arena, "%llu", (unsigned long long)values[at].u));
		}
		set(m, list, &variable);
	}
}

void prepared_after(
	struct mvcc *m, struct session_settings *s, const struct plan *plan, bool failed)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct prepared **list = &s->prepared;

	/* A trigger or a function may set any of them. */
	if (!stmt || plan->effects || writes_anywhere(m, plan))
		forget_variables(*list);
	if (!stmt)
		return;
	switch (stmt->kind) {
	case SQL_STMT_PREPARE:
		/* One that fails takes the old one of its name away. */
		set(m, list, &(struct prepared){.name = stmt->u.prepared->name,
				     .text = failed ? SPAN_NONE
						    : source_of(*list, stmt->u.prepared),
				     .database = s->database,
				     .sql_mode = s->sql_mode});
		return;
	case SQL_STMT_DEALLOCATE:
		set(m, list, &(struct prepared){.name = stmt->u.prepared->name});
		return;
	case SQL_STMT_SET:
		set_variables(m, s, plan, failed);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
	case SQL_STMT_BEGIN:
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
		if (!memmem(stmt->text.ptr, stmt->text.len, ":=", 2))
			return;
		break;
	case SQL_STMT_SELECT:
		if (assigns_items(stmt) && plan->query) {
			assigned_by_items(m, list, stmt, failed);
			return;
		}
		if (memmem(stmt->text.ptr, stmt->text.len, ":=", 2))
			break;
		if (!stmt->u.query->into || stmt->u.query->into->is_file)
			return;
		for (const struct sql_expr *e = stmt->u.query->into->vars.first; e; e = e->next) {
			if (e->kind == SQL_EXPR_USER_VAR)
				set(m, list, &(struct prepared){.name = e->u.var.name, .variable = true});
		}
		return;
	default:
		break;
	}
	forget_variables(*list);
}

struct params {
	struct sql_loc at[PARAMS_MAX];
	uint32_t count;
};

static bool see_param(void *ctx, const struct sql_expr *e)
{
	struct params *params = ctx;

	if (e->kind == SQL_EXPR_PARAM && e->u.param < PARAMS_MAX) {
		params->at[e->u.param] = e->loc;
		params->count++;
	}
	return true;
}

/* What reads and writes rows, and neither ends a transaction nor changes a variable. */
static bool is_plain(const struct sql_stmt *stmt)
{
	return (stmt->kind == SQL_STMT_SELECT || stmt->kind == SQL_STMT_INSERT ||
		       stmt->kind == SQL_STMT_REPLACE || stmt->kind == SQL_STMT_UPDATE ||
		       stmt->kind == SQL_STMT_DELETE) &&
	       !memmem(stmt->text.ptr, stmt->text.len, "@", 1);
}

struct span prepared_text(
	struct mvcc *m, const struct session_settings *s, const struct plan *plan)
{
	struct prepared *list = s->prepared;
	const struct sql_prepared *execute;
	struct params params = {.count = 0};
	const struct prepared *prepared;
	struct sql_stmt *stmt = NULL;
	struct buf out = BUF_INIT;
	struct span text, made = SPAN_NONE;
	uint32_t at = 0, number = 0;
	struct err err;

	if (!plan->stmt || plan->stmt->kind != SQL_STMT_EXECUTE)
		return SPAN_NONE;
	execute = plan->stmt->u.prepared;
	prepared = execute->immediate ? NULL : find(list, execute->name, false);
	if (prepared && (!span_eq(prepared->database, s->database) || prepared->sql_mode != s->sql_mode))
		return SPAN_NONE;
	text = execute->immediate ? source_of(list, execute) : prepared ? prepared->text : SPAN_NONE;
	if (!text.ptr || !sql_parse(&m->catalog.arena, text, &m->sql, &stmt, &err) || !is_plain(stmt))
		return SPAN_NONE;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = see_param, .ctx = &params});
	/* With parameters that are not known it is not evaluated, but is the statement that it is. */
	if (params.count != stmt->params || execute->using_args.count != stmt->params)
		return stmt->text;
	for (const struct sql_expr *e = execute->using_args.first; e; e = e->next, number++) {
		const struct prepared *variable = e->kind == SQL_EXPR_USER_VAR
							  ? find(list, e->u.var.name, true)
							  : NULL;
		struct span value = variable ? variable->literal : SPAN_NONE;

		if (!value.ptr || params.at[number].start < at)
			break;
		buf_add(&out, text.ptr + at, params.at[number].start - at);
		buf_add_span(&out, value);
		at = params.at[number].end;
	}
	if (number == stmt->params) {
		buf_add(&out, text.ptr + at, text.len - at);
		made = arena_copy(&m->catalog.arena, buf_span(&out));
	} else {
		made = stmt->text;
	}
	buf_release(&out);
	return made;
}
