/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/execute/stored_program_exec.h"

#include "base/buf.h"
#include "base/mem.h"
#include "eval/value/collation.h"
#include "mvcc/execute/untold_numbers.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/lock_wait.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/unknown_rows.h"
#include "server/errors.h"
#include "sql/program.h"

enum {
	VARIABLES_MAX = 64,
	STEPS_MAX = 1000, /* of one run */
};

enum step_kind {
	STEP_BLOCK,  /* inner */
	STEP_ASSIGN, /* target, expr; expr NULL: NULL */
	STEP_WRITE,  /* plan */
	STEP_ASK,    /* plan; targets, or a result set */
	STEP_IF,     /* expr, inner, otherwise */
	STEP_WHILE,  /* expr, inner */
	STEP_REPEAT, /* inner, expr; expr NULL: LOOP */
	STEP_LEAVE,  /* label */
	STEP_ITERATE,
	STEP_SIGNAL, /* error */
};

struct step {
	enum step_kind kind;
	const struct plan *plan;
	bool blind; /* puts rows in whose key only the server knows */
	struct eval_expr *expr;
	uint32_t *targets; /* numbers of locals */
	uint32_t target_count;
	struct span label;
	unsigned error;
	struct step *inner, *otherwise, *next;
};

/* Where a local's values are stored: a column of the trigger's table, or of one made for a variable. */
struct place {
	const struct eval_table *table;
	uint32_t column;
};

struct body {
	const struct plan *settings; /* what it runs with */
	struct eval_local *locals;
	struct place *places;
	uint32_t local_count;       /* as many as are ever in sight */
	uint32_t new_at, old_at;    /* of NEW's and OLD's columns; UINT32_MAX: none */
	uint32_t column_count;
	uint32_t parameter_count;   /* the first locals */
	struct step *steps;
	uint32_t asks;              /* statements that read or write tables */
	bool writes_new;
	bool alone; /* several statements in one text */
	const struct eval_table *table;
};

/* ---- compiling ---- */

struct making {
	struct mvcc *m;
	struct body *body;
	const struct session_settings *settings;
	struct eval_locals locals;
	bool procedure, before;
	bool alone; /* its statements are not a program's */
	bool failed;
	unsigned depth;
};

static bool make_fail(struct making *k)
{
	k->failed = true;
	return false;
}

static struct eval_expr *make_expr(struct making *k, const struct sql_expr *e)
{
	struct mvcc *m = k->m;
	struct eval_outcome outcome = {0};
	struct eval_expr *expr = eval_expr_compile(&m->catalog.arena, e, NULL, SPAN_NONE, &m->now.env, NULL, &outcome);

	if (!expr)
		make_fail(k);
	return expr;
}

static bool add_local(struct making *k, struct span base, struct span name, const struct eval_table *table,
	uint32_t column)
{
	uint32_t at = k->locals.count;

	if (at >= k->body->local_count)
		return make_fail(k);
	k->body->locals[at] = (struct eval_local){base, name, table->columns[column].type};
	k->body->places[at] = (struct place){table, column};
	k->locals.count++;
	return true;
}

/* A variable is kept as a column of a table of its own would be. */
static bool add_variable(struct making *k, struct span name, const struct sql_variable_type *type)
{
	struct mvcc *m = k->m;
	struct sql_column_def *column = arena_zero(&m->catalog.arena, sizeof(*column));
	struct sql_element *element = arena_zero(&m->catalog.arena, sizeof(*element));
	struct sql_create_table *create = arena_zero(&m->catalog.arena, sizeof(*create));
	struct eval_outcome outcome = {0};
	struct eval_table *table;

	if (!type->has_type)
		return make_fail(k);
	column->name = name;
	column->has_type = true;
	column->type = type->type;
	element->kind = SQL_ELEMENT_COLUMN;
	element->column = column;
	create->table.name = SPAN_LIT("variables");
	create->elements = element;
	table = eval_table_create(&m->catalog.arena, create, &m->now.env, &outcome);
	/* A TIMESTAMP has rules of its own. */
	if (!table || (table->columns[0].type.kind == EVAL_T_STRING && m->now.env.collation_database == COLLATION_NONE) ||
		table->columns[0].type.kind == EVAL_T_ENUM || table->columns[0].type.kind == EVAL_T_SET ||
		table->columns[0].type.kind == EVAL_T_TIMESTAMP)
		return make_fail(k);
	return add_local(k, SPAN_NONE, name, table, 0);
}

static uint32_t find_local(const struct making *k, struct span base, struct span name)
{
	for (uint32_t i = k->locals.count; i-- > 0;) {
		const struct eval_local *l = &k->body->locals[i];

		if (span_ieq(l->name, name) && !l->base.ptr == !base.ptr &&
			(!base.ptr || span_ieq(l->base, base)))
			return i;
	}
	return UINT32_MAX;
}

/* The number of what is assigned to. */
static bool make_target(struct making *k, struct span base, struct span name, uint32_t *out)
{
	uint32_t at = find_local(k, base, name);

	if (at == UINT32_MAX)
		return make_fail(k);
	if (k->body->new_at != UINT32_MAX && at >= k->body->new_at &&
		at < k->body->new_at + k->body->column_count) {
		const struct eval_column *column = &k->body->table->columns[at - k->body->new_at];

		if (!k->before || column->generated || column->auto_increment || column->on_update)
			return make_fail(k);
		k->body->writes_new = true;
	} else if (k->body->old_at != UINT32_MAX && at >= k->body->old_at &&
		   at < k->body->old_at + k->body->column_count) {
		return make_fail(k);
	}
	*out = at;
	return true;
}

static struct step *make_step(struct making *k, enum step_kind kind, struct step ***tail)
{
	struct step *step = arena_zero(&k->m->catalog.arena, sizeof(*step));

	step->kind = kind;
	**tail = step;
	*tail = &step->next;
	return step;
}

static struct step *make_nodes(struct making *k, const struct sql_node *node);

static void make_assign(
	struct making *k, uint32_t target, const struct sql_expr *value, struct step ***tail)
{
	struct step *step = make_step(k, STEP_ASSIGN, tail);

	step->targets = arena_zero(&k->m->catalog.arena, sizeof(*step->targets));
	step->targets[0] = target;
	step->target_count = 1;
	step->expr = value ? make_expr(k, value) : NULL;
}

static bool any_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(unsigned *)ctx += 1;
	return true;
}

static const struct plan *make_plan_of(struct making *k, const struct sql_stmt *stmt)
{
	struct mvcc *m = k->m;
	const struct eval_locals *locals = m->now.env.locals;
	struct plan *plan;

	m->now.body_depth++;
	plan = m->now.body_depth > 4 ? NULL : plan_of_body(m, stmt, k->settings);
	m->now.body_depth--;
	settings_apply(m, k->body->settings);
	m->now.env.locals = locals;
	if (!plan || plan->unsupported || plan->uses_unknown_tables || plan->may_write_any || plan->sets_unmodelled || plan->key.own_time_zone ||
		plan->sets_last_insert_id || (plan->effects && !plan->firing) || (plan->lock && !k->alone) ||
		plan->returning)
		make_fail(k);
	k->body->asks++;
	return plan;
}

static bool ignores(const struct sql_stmt *stmt)
{
	return (stmt->kind == SQL_STMT_UPDATE   ? stmt->u.update->flags
		       : stmt->kind == SQL_STMT_DELETE ? stmt->u.del->flags
						       : stmt->u.insert->flags) &
	       SQL_DML_IGNORE;
}

static void make_write(struct making *k, const struct sql_stmt *stmt, struct step ***tail)
{
	struct step *step;
	unsigned queries = 0;

	/* How its subqueries lock depends on the statement that fires, and so does, in MySQL, what IGNORE leaves
	 * out: a NULL may be an error all the same (seen on 8.0). */
	sql_walk_stmt(stmt, &(struct sql_visitor){.query = any_query, .ctx = &queries});
	if ((queries || ignores(stmt)) && !k->alone) {
		make_fail(k);
		return;
	}
	step = make_step(k, STEP_WRITE, tail);
	step->plan = make_plan_of(k, stmt);
	if (k->failed || (step->plan->join && !k->alone)) {
		make_fail(k);
		return;
	}
	step->blind = step->plan->insert && inserts_blindly(k->m, step->plan->tables[0], stmt);
}

static void make_ask(struct making *k, const struct sql_stmt *stmt, struct step ***tail)
{
	struct mvcc *m = k->m;
	struct sql_stmt *copy = arena_alloc(&m->catalog.arena, sizeof(*copy));
	struct sql_query *query = arena_alloc(&m->catalog.arena, sizeof(*query));
	const struct sql_into *into = stmt->u.query->into;
	struct step *step;

	if ((into && into->is_file) || (!into && !k->procedure)) {
		make_fail(k);
		return;
	}
	*query = *stmt->u.query;
	query->into = NULL;
	*copy = *stmt;
	copy->u.query = query;
	step = make_step(k, STEP_ASK, tail);
	step->plan = make_plan_of(k, copy);
	if (k->failed || !step->plan->query) {
		make_fail(k);
		return;
	}
	if (!step->plan->reads)
		k->body->asks--;
	if (!into)
		return;
	step->targets = arena_zero(&m->catalog.arena, (into->vars.count + 1) * sizeof(*step->targets));
	for (const struct sql_expr *e = into->vars.first; e && !k->failed; e = e->next) {
		if (e->kind != SQL_EXPR_COLUMN || e->u.column.db.ptr ||
			!make_target(k, e->u.column.table, e->u.column.name,
				&step->targets[step->target_count++]))
			make_fail(k);
	}
}

static void make_set(struct making *k, const struct sql_set *set, struct step ***tail)
{
	for (const struct sql_set_item *i = set->items; i && !k->failed; i = i->next) {
		uint32_t target;

		if (i->kind != SQL_SET_VARIABLE || i->at_at || i->scope != SQL_SCOPE_NONE || !i->value ||
			i->value->kind == SQL_EXPR_DEFAULT || set->statement) {
			make_fail(k);
			return;
		}
		if (make_target(k, i->base, i->name, &target))
			make_assign(k, target, i->value, tail);
	}
}

static void make_statement(struct making *k, const struct sql_stmt *stmt, struct step ***tail)
{
	switch (stmt->kind) {
	case SQL_STMT_SET:
		make_set(k, stmt->u.set, tail);
		break;
	case SQL_STMT_SELECT:
		make_ask(k, stmt, tail);
		break;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
		make_write(k, stmt, tail);
		break;
	default:
		make_fail(k);
	}
}

static void make_signal(struct making *k, const struct sql_node *node, struct step ***tail)
{
	const struct sql_condition *c = node->conditions;
	struct step *step;

	/* Others are warnings, or are named elsewhere. */
	if (!c || c->kind != SQL_CONDITION_STATE || c->name.len != 5 || c->name.ptr[0] == '0') {
		make_fail(k);
		return;
	}
	for (const struct sql_signal_item *i = node->items; i; i = i->next) {
		if (!span_ieq_str(i->name, "message_text") || i->value->kind != SQL_EXPR_LITERAL) {
			make_fail(k);
			return;
		}
	}
	step = make_step(k, STEP_SIGNAL, tail);
	step->error = ER_SIGNAL_EXCEPTION;
}

/* IF and CASE without a value. */
static void make_branches(struct making *k, const struct sql_node *node, struct step ***tail)
{
	struct step **at = *tail, **begin = at;

	for (const struct sql_branch *b = node->branches; b && !k->failed; b = b->next) {
		struct step **one = at, *step = make_step(k, STEP_IF, &one);

		step->expr = make_expr(k, b->value);
		step->inner = make_nodes(k, b->body);
		at = &step->otherwise;
	}
	if (node->has_else)
		*at = make_nodes(k, node->body);
	else if (node->kind == SQL_NODE_CASE)
		make_fail(k); /* error 1339 where none is true */
	if (*begin)
		*tail = &(*begin)->next;
}

static void make_node(struct making *k, const struct sql_node *node, struct step ***tail)
{
	uint32_t visible = k->locals.count;
	struct step *step;

	switch (node->kind) {
	case SQL_NODE_STATEMENT:
		make_statement(k, node->stmt, tail);
		return;
	case SQL_NODE_BLOCK:
		step = make_step(k, STEP_BLOCK, tail);
		step->label = node->label;
		step->inner = make_nodes(k, node->body);
		k->locals.count = visible;
		return;
	case SQL_NODE_VARIABLE:
		for (const struct sql_names *n = node->names; n && !k->failed; n = n->next) {
			uint32_t at = k->locals.count;

			/* DEFAULT does not know the new name yet. */
			make_assign(k, at, node->value, tail);
			add_variable(k, n->name, &node->type);
		}
		return;
	case SQL_NODE_IF:
		make_branches(k, node, tail);
		return;
	case SQL_NODE_CASE:
		if (node->value)
			make_fail(k);
		else
			make_branches(k, node, tail);
		return;
	case SQL_NODE_WHILE:
	case SQL_NODE_REPEAT:
	case SQL_NODE_LOOP:
		step = make_step(k, node->kind == SQL_NODE_WHILE ? STEP_WHILE : STEP_REPEAT, tail);
		step->label = node->label;
		step->expr = node->kind == SQL_NODE_LOOP ? NULL : make_expr(k, node->value);
		step->inner = make_nodes(k, node->body);
		return;
	case SQL_NODE_LEAVE:
	case SQL_NODE_ITERATE:
		step = make_step(k, node->kind == SQL_NODE_LEAVE ? STEP_LEAVE : STEP_ITERATE, tail);
		step->label = node->name;
		return;
	case SQL_NODE_SIGNAL:
		make_signal(k, node, tail);
		return;
	case SQL_NODE_CONDITION:
	case SQL_NODE_CURSOR:
	case SQL_NODE_HANDLER:
	case SQL_NODE_RETURN:
	case SQL_NODE_OPEN:
	case SQL_NODE_FETCH:
	case SQL_NODE_CLOSE:
	case SQL_NODE_RESIGNAL:
		break;
	}
	make_fail(k);
}

static struct step *make_nodes(struct making *k, const struct sql_node *node)
{
	struct step *first = NULL, **tail = &first;

	for (; node && !k->failed; node = node->next)
		make_node(k, node, &tail);
	return first;
}

struct mention {
	struct span column;
	bool found;
};

static bool see_mention(void *ctx, const struct sql_expr *e)
{
	struct mention *mention = ctx;

	mention->found |= e->kind == SQL_EXPR_COLUMN && e->u.column.table.ptr &&
			  span_ieq_str(e->u.column.table, "new") &&
			  span_ieq(e->u.column.name, mention->column);
	return true;
}

static void see_mentions(void *ctx, const struct sql_node *node)
{
	struct sql_visitor visitor = {.expr = see_mention, .ctx = ctx};

	if (node->value)
		sql_walk_expr(node->value, &visitor);
	for (const struct sql_branch *b = node->branches; b; b = b->next) {
		if (b->value)
			sql_walk_expr(b->value, &visitor);
	}
	if (node->stmt)
		sql_walk_stmt(node->stmt, &visitor);
}

bool body_mentions_new(const struct sql_program *tree, struct span column)
{
	struct mention mention = {column, false};

	sql_walk_nodes(tree->body, see_mentions, &mention);
	return mention.found;
}

const struct body *body_compile(struct mvcc *m, const struct record_program *in,
	const struct sql_program *tree, const struct eval_table *table, uint32_t event,
	const struct session_settings *outer)
{
	struct session_settings settings = *outer;
	const struct eval_locals *before = m->now.env.locals;
	struct body *body = arena_zero(&m->catalog.arena, sizeof(*body));
	struct making k = {.m = m,
		.body = body,
		.settings = &settings,
		.procedure = tree->kind == SQL_PROGRAM_PROCEDURE,
		.before = !tree->after};
	uint32_t columns = table ? table->column_count : 0;
	uint16_t database_collation = m->now.env.collation_database;

	settings.database = in->database;
	settings.mode_text = in->sql_mode;
	settings.eval_mode = eval_mode_flags(in->sql_mode);
	settings.sql_mode = sql_mode_flags(in->sql_mode);
	settings.collation = settings_collation_named(in->collation);
	settings.text_width = settings_width_named(in->charset);
	body->settings = plan_settings(m, &settings);
	body->table = table;
	body->column_count = columns;
	body->new_at = body->old_at = UINT32_MAX;
	body->local_count = 2 * columns + VARIABLES_MAX;
	body->locals = arena_zero(&m->catalog.arena, body->local_count * sizeof(*body->locals));
	body->places = arena_zero(&m->catalog.arena, body->local_count * sizeof(*body->places));
	k.locals = (struct eval_locals){.list = body->locals};
	settings_apply(m, body->settings);
	m->now.env.locals = &k.locals;
	/* Texts take the collation that the database had when the program was made. */
	m->now.env.collation_database = collation_find(in->database_collation);
	for (const struct sql_parameter *p = tree->params; p && !k.failed; p = p->next) {
		if (p->direction == SQL_PARAM_INOUT || p->dflt)
			make_fail(&k);
		else
			add_variable(&k, p->name, &p->type);
		body->parameter_count++;
	}
	if (table && event != WRITE_DELETE) {
		body->new_at = k.locals.count;
		for (uint32_t i = 0; i < columns && !k.failed; i++)
			add_local(&k, SPAN_LIT("new"), table->columns[i].name, table, i);
	}
	if (table && event != WRITE_INSERT) {
		body->old_at = k.locals.count;
		for (uint32_t i = 0; i < columns && !k.failed; i++)
			add_local(&k, SPAN_LIT("old"), table->columns[i].name, table, i);
	}
	/* What else is an error in a statement of its own may be a warning here, and the other way round. */
	if (!(settings.eval_mode & (EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_STRICT_ALL_TABLES)))
		make_fail(&k);
	body->steps = make_nodes(&k, tree->body);
	m->now.env.locals = before;
	m->now.env.collation_database = database_collation;
	return k.failed ? NULL : body;
}

const struct body *body_of_statements(
	struct mvcc *m, const struct sql_stmt *first, const struct session_settings *settings)
{
	struct body *body = arena_zero(&m->catalog.arena, sizeof(*body));
	struct making k = {.m = m, .body = body, .settings = settings, .procedure = true, .alone = true};
	struct step **tail = &body->steps;

	body->settings = plan_settings(m, settings);
	body->new_at = body->old_at = UINT32_MAX;
	body->alone = true;
	for (; first && !k.failed; first = first->next)
		make_statement(&k, first, &tail);
	return k.failed ? NULL : body;
}

bool body_is_long(const struct body *body)
{
	return body->asks > 1;
}

bool body_asks(const struct body *body)
{
	return body->asks > 0;
}

/* ---- running ---- */

enum flow { FLOW_ON, FLOW_LEAVE, FLOW_ITERATE, FLOW_END };

struct running {
	struct mvcc *m;
	const struct body *body;
	struct eval_value *values;
	struct eval_locals locals;
	struct write_answer *a;
	struct call_answer *call; /* NULL: a trigger */
	struct span label;
	uint32_t steps;
	bool has_number; /* LAST_INSERT_ID() is known in the program, and is: */
	uint64_t number;
};

static void give_up(struct running *r, const struct eval_outcome *outcome)
{
	uint32_t reason = r->m->now.unknown;

	if (!reason && outcome->status == EVAL_UNSUPPORTED)
		reason = reason_of_text(&r->m->reasons, outcome->reason);
	answer_unsupported(r->a, reason ? reason : REASON_PROGRAM_EXPRESSION_ERROR);
}

/* The session as the program's statements see it, until leave(). */
struct entered {
	const struct plan *plan;
	const struct eval_locals *locals;
	bool has_last_insert_id;
	uint64_t last_insert_id;
};

static struct entered enter(struct running *r, const struct plan *plan)
{
	struct mvcc *m = r->m;
	struct entered e = {
		m->now.plan, m->now.env.locals, m->now.env.has_last_insert_id, m->now.env.last_insert_id};

	settings_apply(m, r->body->settings);
	m->now.env.locals = r->body->alone ? NULL : &r->locals;
	m->now.env.has_last_insert_id = r->has_number;
	m->now.env.last_insert_id = r->number;
	m->gathered.count = 0;
	m->now.body_depth++;
	if (plan)
		m->now.plan = plan;
	return e;
}

static void leave(struct running *r, struct entered e)
{
	struct mvcc *m = r->m;

	m->now.plan = e.plan;
	settings_apply(m, e.plan);
	m->now.env.locals = e.locals;
	m->now.env.has_last_insert_id = e.has_last_insert_id;
	m->now.env.last_insert_id = e.last_insert_id;
	m->gathered.count = 0;
	m->now.body_depth--;
}

static void assign(struct running *r, uint32_t target, const struct eval_type *type, const struct eval_value *value)
{
	const struct place *place = &r->body->places[target];
	struct eval_outcome outcome = {0};

	if (value->kind == EVAL_OPAQUE ||
		!eval_column_assign(&r->m->store.arena, &r->m->now.env, place->table, place->column, type, value,
			EVAL_ASSIGN_UPDATE, &r->values[target], &outcome) ||
		outcome.warning_count)
		give_up(r, &outcome);
}

static void run_assign(struct running *r, const struct step *s)
{
	const struct place *place = &r->body->places[s->targets[0]];
	struct eval_outcome outcome = {0};
	struct eval_value value;
	struct entered e;

	if (!s->expr) {
		r->values[s->targets[0]] = EVAL_NULL_VALUE;
		return;
	}
	e = enter(r, NULL);
	if (!eval_assign(s->expr, &r->m->store.arena, &r->m->now.env, &r->m->source, place->table, place->column,
		    &value, &outcome) ||
		outcome.warning_count)
		give_up(r, &outcome);
	else
		r->values[s->targets[0]] = value;
	leave(r, e);
}

static bool test(struct running *r, const struct step *s)
{
	struct eval_outcome outcome = {0};
	enum eval_truth truth = EVAL_UNKNOWN;
	struct entered e = enter(r, NULL);

	if (!eval_expr_test(s->expr, &r->m->scratch, &r->m->now.env, &r->m->source, NULL, &truth, &outcome))
		give_up(r, &outcome);
	leave(r, e);
	return truth == EVAL_TRUE;
}

static void count(struct running *r, uint64_t rows)
{
	if (!r->call)
		return;
	r->call->sum += rows;
	r->call->last = rows;
	r->call->counted = true;
}

/* What a statement of the body answered is what all of it comes to. */
static void merge(struct running *r, const struct write_answer *b)
{
	struct write_answer *a = r->a;

	if (b->held_by != STORE_NONE)
		held(a, b->held_by, b->held_table, b->held_record);
	if (b->conflict) {
		a->conflict = true;
		a->conflict_record = b->conflict_record;
		a->conflict_table = b->conflict_table;
	}
	a->order_matters |= b->order_matters;
	if (b->status == EVAL_UNSUPPORTED)
		answer_unsupported(a, b->reason);
	for (uint32_t i = 0; i < b->error_count; i++)
		write_error(a, b->errors[i]);
}

/* INSERT: the first number that the server gave to its rows; 0: none, or not known. */
static uint64_t find_number(struct mvcc *m, const struct plan *plan, struct eval_rows *rows)
{
	struct eval_outcome outcome = {0};

	if (!plan->insert || plan->stmt->u.insert->query ||
		!eval_insert_rows(plan->insert, &m->scratch, &m->now.env, &m->source, rows, &outcome))
		return 0;
	return untold_number(m, plan, rows);
}

/* Is LAST_INSERT_ID() another one after it? */
static bool may_number(const struct plan *plan)
{
	const struct eval_table *def = plan->insert ? eval_insert_table(plan->insert) : NULL;

	for (uint32_t i = 0; def && i < def->column_count; i++) {
		if (def->columns[i].auto_increment)
			return true;
	}
	return false;
}

static void run_write(struct running *r, const struct step *s)
{
	struct mvcc *m = r->m;
	struct write_answer b = {.status = EVAL_OK, .held_by = STORE_NONE};
	struct entered e = enter(r, s->plan);
	const struct execution *x = m->schedule->execution;
	bool found = x->sessions[m->schedule->stmts[m->now.stmt].in->session].capabilities & CLIENT_FOUND_ROWS;
	uint64_t untold = m->now.untold;
	struct eval_rows rows = {0};

	m->now.untold = r->body->alone ? 0 : find_number(m, s->plan, &rows);
	if (may_number(s->plan)) {
		r->has_number = m->now.untold;
		r->number = m->now.untold;
	}
	if (s->blind && !m->now.untold) {
		struct eval_outcome outcome = {0};

		if (!eval_insert_rows(s->plan->insert, &m->scratch, &m->now.env, &m->source, &rows, &outcome))
			answer_outcome(m, &b, &outcome);
		else if (!make_new_row_unknown(m, &m->store.tables[s->plan->tables[0]]))
			answer_unsupported(&b, REASON_AUTO_INCREMENT_NOT_RECORDED);
		b.affected = b.matched = rows.count;
	} else {
		write_execute(m, s->plan, &b);
	}
	m->now.untold = untold;
	leave(r, e);
	merge(r, &b);
	if (found && s->plan->stmt->kind == SQL_STMT_UPDATE)
		b.affected = b.matched;
	else if (found && s->plan->insert && s->plan->stmt->u.insert->on_duplicate)
		b.affected += b.untouched;
	if (r->a->status == EVAL_OK && r->call && r->a->held_by == STORE_NONE)
		take_locks(m);
	/* MariaDB counts what triggers write, too. */
	if (r->call && s->plan->effects && !r->body->alone)
		r->call->counts &= m->now.env.flavour == SQL_MYSQL;
	count(r, b.affected);
}

static void show(struct running *r, const struct eval_result *result)
{
	const struct execution_stmt *in = r->m->schedule->stmts[r->m->now.stmt].in;
	const struct execution_rows *recorded = execution_set(r->m->schedule->execution, in, r->call->sets++);
	bool undecided = false;

	r->call->counts = false;
	if (!recorded) {
		r->call->undecided = true;
		return;
	}
	if (compare_result(r->m, result, recorded, &undecided))
		return;
	r->call->undecided |= undecided;
	if (!undecided && !r->call->differs) {
		r->call->differs = true;
		r->call->expected = *result;
	}
}

static void run_ask(struct running *r, const struct step *s)
{
	struct mvcc *m = r->m;
	bool had = m->store.txns[m->now.txn].view != STORE_NONE;
	struct eval_outcome outcome = {0};
	struct eval_result result = {0};
	struct entered e = enter(r, s->plan);

	/* Which rows it passed by shows in its own answer only, and what follows may depend on them. */
	if (skips_locked(s->plan) && lock_possible(m)) {
		answer_unsupported(r->a, REASON_PROGRAM_SKIP_LOCKED);
		leave(r, e);
		return;
	}
	if (!eval_query_run(s->plan->query, &m->scratch, &m->now.env, &m->source, &result, &outcome)) {
		give_up(r, &outcome);
		leave(r, e);
		return;
	}
	if (s->plan->reads && !had)
		doubt_view(m);
	if (!s->targets) {
		show(r, &result);
	} else if (result.open_count) {
		answer_unsupported(r->a, REASON_LIMIT_AMONG_EQUAL_ROWS);
	} else if (result.row_count > 1) {
		write_error(r->a, ER_TOO_MANY_ROWS);
	} else if (result.row_count && result.column_count == s->target_count) {
		for (uint32_t i = 0; i < s->target_count && r->a->status == EVAL_OK; i++)
			assign(r, s->targets[i], &result.types[i], &result.rows[0][i]);
	} else if (result.row_count) {
		answer_unsupported(r->a, REASON_PROGRAM_EXPRESSION_ERROR);
	}
	leave(r, e);
	if (s->targets)
		count(r, result.row_count);
}

static enum flow run_steps(struct running *r, const struct step *s);

static enum flow run_loop(struct running *r, const struct step *s)
{
	while (r->a->status == EVAL_OK) {
		enum flow flow;

		if (++r->steps > STEPS_MAX) {
			answer_unsupported(r->a, REASON_PROGRAM_LONG_LOOP);
			break;
		}
		if (s->kind == STEP_WHILE && !test(r, s))
			break;
		flow = run_steps(r, s->inner);
		if (flow == FLOW_END || (flow != FLOW_ON && !span_ieq(r->label, s->label)))
			return flow;
		if (flow == FLOW_LEAVE)
			break;
		if (s->kind == STEP_REPEAT && s->expr && test(r, s))
			break;
	}
	return FLOW_ON;
}

static enum flow run_step(struct running *r, const struct step *s)
{
	enum flow flow;

	switch (s->kind) {
	case STEP_BLOCK:
		flow = run_steps(r, s->inner);
		return flow == FLOW_LEAVE && span_ieq(r->label, s->label) ? FLOW_ON : flow;
	case STEP_ASSIGN:
		run_assign(r, s);
		break;
	case STEP_WRITE:
		run_write(r, s);
		break;
	case STEP_ASK:
		run_ask(r, s);
		break;
	case STEP_IF:
		return run_steps(r, test(r, s) ? s->inner : s->otherwise);
	case STEP_WHILE:
	case STEP_REPEAT:
		return run_loop(r, s);
	case STEP_LEAVE:
	case STEP_ITERATE:
		r->label = s->label;
		return s->kind == STEP_LEAVE ? FLOW_LEAVE : FLOW_ITERATE;
	case STEP_SIGNAL:
		write_error(r->a, s->error);
		break;
	}
	return FLOW_ON;
}

static enum flow run_steps(struct running *r, const struct step *s)
{
	for (; s; s = s->next) {
		enum flow flow = run_step(r, s);

		if (r->a->status != EVAL_OK || r->a->held_by != STORE_NONE || (r->call && r->call->differs))
			return FLOW_END;
		if (flow != FLOW_ON)
			return flow;
	}
	return FLOW_ON;
}

static struct running run_begin(struct mvcc *m, const struct body *body, struct write_answer *a)
{
	struct eval_value *values = arena_zero(&m->store.arena, (body->local_count + 1) * sizeof(*values));

	return (struct running){.m = m,
		.body = body,
		.values = values,
		.locals = {.list = body->locals, .values = values},
		.a = a,
		.has_number = m->now.env.has_last_insert_id,
		.number = m->now.env.last_insert_id};
}

static void fire_one(struct mvcc *m, const struct body *body, const struct eval_value *old,
	struct eval_value *new, struct write_answer *a)
{
	struct running r = run_begin(m, body, a);
	size_t size = body->column_count * sizeof(*r.values);

	if (body->new_at != UINT32_MAX)
		memcpy(r.values + body->new_at, new, size);
	if (body->old_at != UINT32_MAX)
		memcpy(r.values + body->old_at, old, size);
	run_steps(&r, body->steps);
	if (body->writes_new)
		memcpy(new, r.values + body->new_at, size);
}

void fire_before(struct mvcc *m, const struct firing *f, const struct eval_value *old,
	struct eval_value *new, struct write_answer *a)
{
	struct eval_outcome outcome = {0};
	bool changed = false;

	for (uint32_t i = 0; i < f->before_count && a->status == EVAL_OK && a->held_by == STORE_NONE; i++) {
		fire_one(m, f->before[i], old, new, a);
		changed |= f->before[i]->writes_new;
	}
	if (changed && a->status == EVAL_OK &&
		!eval_generate(&m->store.arena, &m->now.env, f->before[0]->table, 0, new, &outcome))
		answer_unsupported(a, REASON_GENERATED_BESIDE_TRIGGER);
}

void fire_after(struct mvcc *m, const struct firing *f, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *a)
{
	for (uint32_t i = 0; i < f->after_count && a->status == EVAL_OK && a->held_by == STORE_NONE; i++)
		fire_one(m, f->after[i], old, (struct eval_value *)(uintptr_t)new, a);
}

/* Each statement of a program has a moment of its own.  From REPEATABLE READ on one moment explains them all, the last: what
 * the earlier ones looked at they locked, gaps included, so that it stayed as it was; plain reads have the transaction's
 * read view. */
static bool has_one_moment(const struct mvcc *m)
{
	return m->now.level >= LEVEL_REPEATABLE_READ && m->now.engine != ENGINE_TIDB;
}

bool fires_at_once(struct mvcc *m, struct write_answer *a)
{
	bool beside = m->now.level == LEVEL_READ_UNCOMMITTED && m->search.in_flight_count > 1;

	if (m->now.body_depth || has_one_moment(m) ||
		(m->runs[m->now.stmt].begin_commits == m->store.commits && !may_have_waited(m) && !beside) ||
		choose(m, 2) == 0)
		return true;
	answer_unsupported(a, REASON_PROGRAM_BESIDE_COMMITS);
	return false;
}

/* ---- CALL ---- */

void call_run(struct mvcc *m, const struct body *body, struct call_answer *out)
{
	const struct sql_stmt *stmt = m->now.plan->stmt;
	struct running r;
	uint32_t at = 0;

	*out = (struct call_answer){
		.write = {.status = EVAL_OK, .held_by = STORE_NONE}, .counts = true};
	r = run_begin(m, body, &out->write);
	r.call = out;
	for (const struct sql_expr *e = body->alone ? NULL : stmt->u.call->args.first; e; e = e->next, at++) {
		struct eval_outcome outcome = {0};
		struct eval_expr *expr;
		struct eval_value value;

		/* It is NULL at first, whatever the variable holds that it is for (MySQL manual, "CREATE PROCEDURE"). */
		if (e->kind == SQL_EXPR_USER_VAR && at < body->parameter_count) {
			r.values[at] = EVAL_NULL_VALUE;
			continue;
		}
		expr = eval_expr_compile(&m->scratch, e, NULL, SPAN_NONE, &m->now.env, NULL, &outcome);
		if (!expr || at >= body->parameter_count ||
			!eval_expr_run(expr, &m->store.arena, &m->now.env, NULL, NULL, &value, &outcome)) {
			give_up(&r, &outcome);
			return;
		}
		assign(&r, at, eval_expr_type(expr), &value);
	}
	if (at != body->parameter_count)
		answer_unsupported(&out->write, REASON_ERROR_BEFORE_EXECUTION);
	else if (out->write.status == EVAL_OK)
		run_steps(&r, body->steps);
}
