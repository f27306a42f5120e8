/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads: the columns that are appended to them, and what select mode asks in their place. */
#include "instrument/plan_internal.h"
#include "instrument/row_sql.h"
#include "sql/sql.h"
#include "sql/text/raw_token.h"

/* The place of FROM after the select list's last expression: an alias and a closing bracket may
 * come before it. 0: not found. */
static size_t find_from(struct span text, size_t at)
{
	while (at < text.len) {
		char c = text.ptr[at];
		size_t len;
		bool open;

		if (char_is_blank(c) || c == ')') {
			at++;
		} else if ((len = raw_comment(text, at, &open)) > 0) {
			/* One that is not closed, or that a server may execute. */
			if (open || raw_comment_is_executed(text, at))
				return 0;
			at += len;
		} else if (raw_is_quote(c)) {
			len = raw_quoted(text, at);
			/* Whether a backslash escapes depends on the session. */
			if (!len || memchr(text.ptr + at, '\\', len))
				return 0;
			at += len;
		} else if (char_is_name(c)) {
			for (len = 1; at + len < text.len && char_is_name(text.ptr[at + len]);
				len++)
				;
			if (span_ieq_str(span_of(text.ptr + at, len), "FROM"))
				return at;
			at += len;
		} else {
			return 0;
		}
	}
	return 0;
}

void plan_add_row_name(struct buf *row, const struct sql_table_ref *ref)
{
	if (ref->alias.ptr) {
		sql_print_name(ref->alias, row);
		return;
	}
	if (ref->u.name.table.db.ptr) {
		sql_print_name(ref->u.name.table.db, row);
		buf_add_char(row, '.');
	}
	sql_print_name(ref->u.name.table.name, row);
}

/* KEY|version; of a group all of them, with what shows that none is missing: MySQL cuts
 * GROUP_CONCAT() off at 1024 bytes, but no array; MariaDB both, at 1 MiB. */
static void add_named(const struct planner *p, struct buf *out,
	const struct instrument_table *table, const char *row)
{
	struct buf name = BUF_INIT;

	buf_add_str(&name, "cast(concat(");
	instrument_add_key(&name, table, row);
	buf_printf(&name, ",'|',cast(%s." VERSION_COLUMN " as binary)) as binary)", row);
	if (!p->plan->grouped)
		buf_printf(out, "%s ", name.data);
	else if (p->options.flavour == SQL_MARIADB)
		buf_printf(out,
			"cast(concat(count(%s),';',group_concat(%s separator ';')) as binary) ",
			name.data, name.data);
	else
		buf_printf(out, "cast(json_arrayagg(convert(%s using utf8mb4)) as char) ",
			name.data);
	buf_release(&name);
}

static void add_appended(
	struct planner *p, const struct sql_table_ref *ref, const struct instrument_table *table)
{
	struct stmt_plan *plan = p->plan;
	bool select = p->tables->mode == INSTRUMENT_SELECT;
	struct buf *out = select && !plan->client_probe ? &plan->columns : &plan->text;
	struct buf row = BUF_INIT;

	plan_add_row_name(&row, ref);
	if (out == &plan->text || out->len)
		buf_add_str(out, ", ");
	if (!plan->client_probe)
		add_named(p, out, table, row.data);
	else
		instrument_add_whole(out, table, row.data);
	p->shown[p->shown_count++] = ref;
	plan->tables[plan->table_count++] = table;
	buf_release(&row);
}

/* Appends for each base table of a join.  False: too many. */
static bool append_tables(struct planner *p, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		const struct instrument_table *table;

		switch (ref->kind) {
		case SQL_TABLE_NAME:
			table = plan_find(p, &ref->u.name.table);
			if (!table || atomic_load(&table->altered) ||
				ref->system_time != SQL_SYSTEM_TIME_NONE)
				break;
			if (p->plan->table_count == PLAN_TABLES_MAX)
				return false;
			add_appended(p, ref, table);
			break;
		case SQL_TABLE_JOIN:
			if (!append_tables(p, ref->u.join.left) ||
				!append_tables(p, ref->u.join.right))
				return false;
			break;
		case SQL_TABLE_NEST:
			if (!append_tables(p, ref->u.nest))
				return false;
			break;
		case SQL_TABLE_DERIVED:
		case SQL_TABLE_FUNC:
			break;
		}
	}
	return true;
}

static bool look_for_aggregate(void *ctx, const struct sql_expr *e)
{
	struct look_state state = plan_look_at_expr(e);

	*(bool *)ctx |= state.aggregate;
	return true;
}

/* In a subquery of the select list, where it may be one of the query around it. */
static bool has_inner_aggregate(const struct sql_query *q)
{
	bool found = false;
	struct sql_visitor visitor = {.expr = look_for_aggregate, .ctx = &found};

	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	return found;
}

/* Names that a CTE hides are not tables; such a query is left alone.  In groups the rows of
 * each are listed; not where HAVING hides groups, nor where the client asks for the rows itself,
 * and where reads lock only if the server has to look at every row in any case: an index may answer
 * MAX() and GROUP BY with few of them. */
static bool can_append(struct planner *p, const struct sql_query *q)
{
	struct look_state state;

	if (q->kind != SQL_QUERY_SELECT || q->with || q->into || !q->u.select.from ||
		(q->u.select.flags & SQL_SELECT_DISTINCT) || q->u.select.having ||
		q->u.select.rollup || q->u.select.procedure.ptr ||
		p->stmt->text.len > PLAN_TEXT_MAX)
		return false;
	state = plan_look_at_select(q);
	if (state.foreign_call)
		return false;
	if (!state.aggregate && !q->u.select.group)
		return !state.any_value && !has_inner_aggregate(q);
	if (p->plan->client_probe || !(state.needs_all || !(p->locks || p->plan->locking)))
		return false;
	/* MySQL groups in a temporary table, in the order in which groups are met, and by sorting
	 * where JSON_ARRAYAGG() is asked for: other groups would be left by a LIMIT. */
	if (q->u.select.group && !q->order && p->options.flavour != SQL_MARIADB)
		return false;
	p->plan->grouped = true;
	return true;
}

static bool skips_locked(const struct sql_query *q)
{
	for (const struct sql_lock *lock = q->locks; lock; lock = lock->next)
		if (lock->wait == SQL_LOCK_SKIP_LOCKED)
			return true;
	return false;
}

/* Select mode: what follows FROM, to be asked once more with other columns. */
static void set_tail(struct planner *p, struct span text, size_t at)
{
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct plan_template before = {0};
	struct plan_template *tail = &p->plan->tail;
	uint32_t nothing[PLAN_PARAMS_MAX] = {0};
	size_t first;

	buf_add(&tail->text, text.ptr + at, text.len - at);
	if (memchr(text.ptr, '?', text.len)) {
		bool comments = memmem(text.ptr, text.len, "/*", 2) ||
				memmem(text.ptr, text.len, "--", 2) ||
				memchr(text.ptr, '#', text.len);

		buf_add(&before.text, text.ptr, at);
		first = plan_find_params(&before, nothing);
		for (size_t i = 0; i < PLAN_PARAMS_MAX; i++)
			indexes[i] = (uint32_t)(first + i);
		if (comments || first > PLAN_PARAMS_MAX ||
			plan_find_params(tail, indexes) > PLAN_PARAMS_MAX) {
			buf_clear(&tail->text);
			tail->count = 0;
		}
		buf_release(&before.text);
	}
}

void plan_read(struct planner *p, const struct sql_query *q)
{
	const struct sql_item *last = q->kind == SQL_QUERY_SELECT ? q->u.select.items : NULL;
	struct stmt_plan *plan = p->plan;
	struct span text = p->stmt->text;
	size_t at;

	if (!can_append(p, q) || !last)
		return;
	while (last->next)
		last = last->next;
	at = find_from(text, last->expr->loc.end);
	if (!at)
		return;
	buf_add(&plan->text, text.ptr, at);
	if (!append_tables(p, q->u.select.from)) {
		p->shown_count = plan->table_count = 0;
		return;
	}
	if (!plan->table_count)
		return;
	if (p->tables->mode == INSTRUMENT_SELECT && !plan->client_probe) {
		set_tail(p, text, at);
		if (!plan->plain || !plan->tail.text.len) {
			p->shown_count = plan->table_count = 0;
			return;
		}
	} else {
		buf_add_char(&plan->text, ' ');
		buf_add(&plan->text, text.ptr + at, text.len - at);
		plan->rewritten = true;
	}
	plan->reads = true;
	if (skips_locked(q))
		return;
	if (!plan_only_table(q->u.select.from) || plan_has_query(q->u.select.where)) {
		if (!plan_takes_all(p, q->limit) || !plan_set_joint(p, q, true))
			return;
		plan->joint = plan->parts = true;
		plan->predicate_of = plan->tables[0];
	} else if (plan_where_is_all(p, q->u.select.from, q->u.select.where, q->limit)) {
		plan_set_predicate(p, plan->tables[0], q->u.select.where);
		plan_set_first_rows(p, q, plan->tables[0]);
	}
}

/* ---- beside it ---- */

/* Base tables, joined by conditions that mean the same when they are asked again. */
static bool is_plain_from(const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		switch (ref->kind) {
		case SQL_TABLE_NAME:
			if (ref->u.name.partitions)
				return false;
			break;
		case SQL_TABLE_JOIN:
			if (!is_plain_from(ref->u.join.left) || !is_plain_from(ref->u.join.right) ||
				(ref->u.join.on && !plan_is_shared(ref->u.join.on)))
				return false;
			break;
		case SQL_TABLE_NEST:
			if (!is_plain_from(ref->u.nest))
				return false;
			break;
		case SQL_TABLE_DERIVED:
		case SQL_TABLE_FUNC:
			return false;
		}
	}
	return true;
}

struct mentions {
	const struct planner *planner;
	const struct sql_query *outermost;
	size_t tables, others, queries;
};

static void count_mention(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct mentions *mentions = ctx;

	(void)ref;
	(void)access;
	if (plan_find(mentions->planner, name))
		mentions->tables++;
	else
		mentions->others++;
}

static bool count_query(void *ctx, const struct sql_query *q)
{
	struct mentions *mentions = ctx;

	mentions->queries += q != mentions->outermost;
	return true;
}

/* The rows before they are grouped and made distinct: FROM and WHERE.  Not of a query that a LIMIT
 * ends: which of them it needed is not known.  Other tables may have no snapshots. */
static bool has_rows_beside(const struct planner *p, const struct sql_query *q)
{
	struct mentions inner = {.planner = p, .outermost = q};

	if (p->tables->mode == INSTRUMENT_SELECT || !p->plan->plain || q->kind != SQL_QUERY_SELECT ||
		q->with || q->into || q->limit || !q->u.select.from || q->u.select.qualify ||
		q->u.select.procedure.ptr || p->stmt->text.len > PLAN_TEXT_MAX ||
		(q->u.select.where && !plan_is_shared(q->u.select.where)) ||
		!is_plain_from(q->u.select.from) || plan_look_at_select(q).foreign_call ||
		plan_depends_on_mode(p) ||
		p->options.mode & SQL_MODE_NO_BACKSLASH_ESCAPES)
		return false;
	sql_walk_query(q, &(struct sql_visitor){.query = count_query, .ctx = &inner});
	return !inner.queries;
}

/* The columns stand in the place of its own. */
static bool print_beside(struct planner *p, const struct sql_query *rows, struct span columns)
{
	static const char one[] = "SELECT 1 ";
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	struct plan_template *beside = &p->plan->beside;
	struct sql_options print = p->options;
	struct buf text = BUF_INIT;
	bool ok;

	print.mode = 0;
	sql_walk_query(rows, &(struct sql_visitor){.expr = plan_note_param, .ctx = &state});
	sql_print_query(rows, &print, &text);
	ok = text.len > strlen(one) && memcmp(text.data, one, strlen(one)) == 0;
	if (ok) {
		buf_printf(&beside->text, "select %.*s%s", SPAN_ARG(columns), text.data + strlen(one));
		ok = state.count <= PLAN_PARAMS_MAX &&
		     plan_find_params(beside, indexes) == state.count;
	}
	buf_release(&text);
	return ok;
}

void plan_read_beside(struct planner *p, const struct sql_query *query)
{
	struct mentions all = {.planner = p};
	struct stmt_plan *plan = p->plan;
	struct plan_template predicate;
	struct sql_query rows = *query;
	struct sql_expr literal_one = {
		.kind = SQL_EXPR_LITERAL, .u.literal = {.kind = SQL_LIT_INT, .text = {"1", 1}}};
	struct sql_item one = {.expr = &literal_one};
	bool ok;

	if (!has_rows_beside(p, query))
		return;
	rows.order = NULL;
	rows.u.select.flags = 0;
	rows.u.select.hint = SPAN_NONE;
	rows.u.select.items = &one;
	rows.u.select.group = NULL;
	rows.u.select.rollup = rows.u.select.cube = false;
	rows.u.select.grouping_sets = SPAN_NONE;
	rows.u.select.having = NULL;
	rows.u.select.windows = NULL;
	sql_stmt_tables(p->stmt, count_mention, &all);
	buf_clear(&plan->text);
	ok = append_tables(p, rows.u.select.from) && plan->table_count &&
	     plan->table_count == all.tables && !all.others &&
	     print_beside(p, &rows, span_of(plan->text.data + 2, plan->text.len - 2));
	buf_clear(&plan->text);
	memcpy(plan->beside_tables, plan->tables, sizeof(plan->tables));
	plan->beside_count = plan->table_count;
	plan->table_count = p->shown_count = 0;
	if (!ok) {
		buf_clear(&plan->beside.text);
		plan->beside.count = 0;
		return;
	}
	/* The condition, kept for that; what is said without these rows may come in its place. */
	if (plan->beside_count > 1 || !plan_only_table(rows.u.select.from))
		(void)!plan_set_joint(p, &rows, true);
	else
		plan_set_predicate(p, plan->beside_tables[0], rows.u.select.where);
	predicate = plan->beside_predicate;
	plan->beside_predicate = plan->predicate;
	plan->predicate = predicate;
	plan->predicate_of = NULL;
	plan->shared = false;
}

void plan_read_unseen(struct planner *p, const struct sql_query *q)
{
	if (!p->plan->reads && !skips_locked(q))
		p->plan->parts = plan_set_joint(p, q, false);
}
