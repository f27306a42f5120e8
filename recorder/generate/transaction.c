/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions: statements that meet those of others, statements around them, beginnings and ends. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "generate/generate_internal.h"

#define NO_EDGE UINT32_MAX

/* What an edge is about. */
struct meeting {
	struct table *table;
	const struct row *pivot;
};

static void add_at(struct txn *txn, size_t at, const char *sql, uint32_t edge)
{
	MEM_RESERVE(txn->steps, txn->count + 1, txn->capacity);
	memmove(&txn->steps[at + 1], &txn->steps[at], (txn->count - at) * sizeof(*txn->steps));
	txn->steps[at] = (struct step){.sql = sql, .edge = edge};
	txn->count++;
}

static void add(struct txn *txn, const char *sql)
{
	add_at(txn, txn->count, sql, NO_EDGE);
}

/* The statement is made before its place is drawn: arguments have no order of their own. */
static void add_somewhere(struct gen *g, struct txn *txn, const char *sql, uint32_t edge)
{
	add_at(txn, below(g, txn->count + 1), sql, edge);
}

/* ---- conflicts ---- */

/* Two kinds of which one writes: reads alone do not conflict. */
static void draw_pair(struct gen *g, enum statement_word *a, enum statement_word *b)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		*a = (enum statement_word)draw_word(g, FEATURE_STATEMENT);
		*b = (enum statement_word)draw_word(g, FEATURE_STATEMENT);
		if ((*a != STATEMENT_SELECT && *a != STATEMENT_LOCK) || (*b != STATEMENT_SELECT && *b != STATEMENT_LOCK))
			return;
	}
}

/* The row that both are about: one that is inserted by one of them, or one that is there. */
static const struct row *choose_pivot(struct gen *g, struct table *t, bool inserts, bool *is_new)
{
	*is_new = inserts && below(g, 2);
	if (*is_new) {
		struct row *row = make_row(g, t, false);

		evaluate_row(g, t, row);
		return row;
	}
	return any_row(g, t);
}

static void make_edge(struct gen *g, struct plan *plan, uint32_t number, struct meeting *meeting)
{
	const struct edge *edge = &plan->edges[number];
	struct txn *first = &plan->txns[edge->a], *second = &plan->txns[edge->b];
	enum conflict_word conflict = (enum conflict_word)draw_word(g, FEATURE_CONFLICT);
	enum statement_word a, b;
	bool is_new, aim = conflict == CONFLICT_ROW;
	struct wanted w = {.table = any_table(g)};
	const char *condition = NULL;

	draw_pair(g, &a, &b);
	w.pivot = choose_pivot(g, w.table, is_insert(a) || is_insert(b), &is_new);
	*meeting = (struct meeting){w.table, w.pivot};
	w.aim = aim;
	w.insert_pivot = w.pivot && is_insert(a) && (is_new || below(g, 2));
	if (conflict == CONFLICT_FULL || conflict == CONFLICT_PARTIAL)
		condition = make_some_condition(g, w.table, "", w.pivot, draw_chance(g, FEATURE_HIT));
	w.condition = condition;
	add_somewhere(g, first, make_statement(g, a, &w), number);
	if (conflict == CONFLICT_PARTIAL) {
		const char *own = make_some_condition(g, w.table, "", any_row(g, w.table), false);

		w.condition = text(g, "(%s) or (%s)", condition, own);
	}
	w.insert_pivot = w.pivot && is_insert(b) && (is_new || below(g, 2));
	add_somewhere(g, second, make_statement(g, b, &w), number);
}

static void add_edge(struct plan *plan, uint32_t a, uint32_t b)
{
	if (a == b || plan->txns[a].session == plan->txns[b].session)
		return;
	plan->edges[plan->edge_count++] = (struct edge){a, b};
}

/* Connected, but for transactions of one session, which cannot meet. */
static void make_graph(struct gen *g, struct plan *plan)
{
	enum graph_word graph = (enum graph_word)draw_word(g, FEATURE_GRAPH);
	uint32_t count = plan->txn_count;

	plan->edges = mem_zero(2 * count + 1, sizeof(*plan->edges));
	for (uint32_t i = 1; i < count; i++)
		add_edge(plan, graph == GRAPH_STAR ? 0 : graph == GRAPH_RANDOM ? (uint32_t)below(g, i) : i - 1, i);
	if (graph == GRAPH_RING && count > 1)
		add_edge(plan, count - 1, 0);
	if (graph == GRAPH_RANDOM && count > 2 && below(g, 2))
		add_edge(plan, (uint32_t)below(g, count), count - 1);
}

/* ---- other statements ---- */

/* The meeting of one of the transaction's edges, or any table and row. */
static struct meeting choose_meeting(struct gen *g, const struct txn *txn, const struct meeting *meetings)
{
	struct meeting out = {.table = NULL};

	if (draw_chance(g, FEATURE_FOCUS)) {
		for (size_t i = 0; i < txn->count; i++)
			if (txn->steps[i].edge != NO_EDGE && (!out.table || below(g, 2)))
				out = meetings[txn->steps[i].edge];
	}
	if (!out.table) {
		out.table = any_table(g);
		out.pivot = any_row(g, out.table);
	}
	return out;
}

static const char *any_statement(struct gen *g, const struct meeting *m)
{
	struct wanted w = {.table = m->table, .pivot = m->pivot};
	enum statement_word kind = (enum statement_word)draw_word(g, FEATURE_STATEMENT);

	return make_statement(g, kind, &w);
}

/* What applications do in one transaction. */
static void add_idiom(struct gen *g, struct txn *txn, enum idiom_word idiom, const struct meeting *m)
{
	struct table *t = m->table;
	const char *key = key_condition(g, t, "", m->pivot);
	const char *condition = make_some_condition(g, t, "", m->pivot, true);
	const char *set = make_assignment(g, t, "", m->pivot, true);
	const struct row *to = any_row(g, t);
	const struct column *number = NULL;

	for (uint32_t i = t->key_count; i < t->column_count && !number; i++)
		if (is_number(&t->columns[i]) && t->columns[i].type != OF_FLAG && !t->columns[i].generated &&
			t->columns[i].parent == NO_TABLE)
			number = &t->columns[i];
	switch (idiom) {
	case IDIOM_NONE:
	case IDIOM_WORD_COUNT:
		return;
	case IDIOM_QUEUE:
		add(txn, text(g, "select * from %s where %s order by %s limit 1 for update%s", t->name, condition,
				 t->columns[0].name, g->dialect->skip_locked ? " skip locked" : ""));
		add(txn, text(g, "update %s set %s where %s", t->name, set, key));
		return;
	case IDIOM_READ_WRITE:
		add(txn, text(g, "select * from %s where %s%s", t->name, key, one_of(g, "", "", " for update")));
		add(txn, text(g, "update %s set %s where %s", t->name, set, key));
		return;
	case IDIOM_TRANSFER:
		if (!number)
			return;
		if (below(g, 2))
			add(txn, text(g, "select %s from %s where %s%s", number->name, t->name, key, one_of(g, "", " for update")));
		add(txn, text(g, "update %s set %s = %s + 1 where %s", t->name, number->name, number->name, key));
		add(txn, text(g, "update %s set %s = %s + 2 where %s", t->name, number->name, number->name,
				 key_condition(g, t, "", to)));
		return;
	case IDIOM_CHECK_INSERT:
		add(txn, text(g, "select count(*) from %s where %s%s", t->name, condition, one_of(g, "", " for update")));
		add(txn, make_statement(g, STATEMENT_INSERT, &(struct wanted){.table = t}));
		return;
	case IDIOM_INSERT_USE:
		add(txn, make_statement(g, STATEMENT_INSERT, &(struct wanted){.table = t}));
		if (t->key == KEY_AUTO)
			key = text(g, "%s = last_insert_id()", t->columns[0].name);
		add(txn, text(g, "update %s set %s where %s", t->name, set, key));
		return;
	case IDIOM_AUDIT:
		if (number)
			add(txn, text(g, "select sum(%s), count(*) from %s", number->name, t->name));
		add(txn, text(g, "select * from %s", t->name));
		return;
	case IDIOM_OLTP:
		for (unsigned i = 0; i < 3; i++)
			add(txn, make_statement(g, STATEMENT_SELECT,
					 &(struct wanted){.table = t, .pivot = i ? any_row(g, t) : m->pivot, .aim = true}));
		add(txn, text(g, "update %s set %s where %s", t->name, set, key));
		add(txn, text(g, "delete from %s where %s", t->name, key_condition(g, t, "", to)));
		if (to)
			add(txn, make_statement(g, STATEMENT_INSERT,
					 &(struct wanted){.table = t, .pivot = to, .insert_pivot = true}));
		return;
	case IDIOM_SAME_CONDITION:
		/* What is read is what is meant to be changed. */
		add(txn, text(g, "select * from %s where %s", t->name, condition));
		add(txn, text(g, "update %s set %s where %s", t->name, set, condition));
		add(txn, text(g, "select * from %s", t->name));
		return;
	case IDIOM_READ_TWICE:
		add_at(txn, 0, text(g, "select * from %s%s", t->name, where_of(g, below(g, 2) ? condition : NULL)), NO_EDGE);
		add(txn, text(g, "select * from %s%s", t->name, where_of(g, below(g, 2) ? condition : NULL)));
		return;
	}
}

const char *make_definition(struct gen *g)
{
	struct table *t = any_table(g);
	unsigned n = ++g->numbers;
	const char *column = t->columns[t->column_count - 1].name, *set = t->columns[below(g, t->column_count)].name;

	switch (below(g, 20)) {
	case 0:
		return text(g, "alter table %s add column z%u int default 3", t->name, n);
	case 1:
		return text(g, "alter table %s add column z%u varchar(5)%s", t->name, n,
			one_of(g, "", " first", " default 'q'", " not null"));
	case 2:
	case 3:
		return text(g, "create index i%u on %s(%s)", n + 50, t->name, set);
	case 4:
		return text(g, "create unique index u%u on %s(%s)", n, t->name, set);
	case 5:
		return text(g, "alter table %s add key x%u(%s), add column y%u int", t->name, n, set, n);
	case 6:
		return text(g, "drop index i1 on %s", t->name);
	case 7:
		return text(g, "alter table %s modify %s bigint", t->name, column);
	case 8:
		return text(g, "alter table %s alter %s set default NULL", t->name, column);
	case 9:
		return text(g, "alter table %s force", t->name);
	case 10:
		return text(g, "alter table %s engine=innodb", t->name);
	case 11:
	case 12:
		return text(g, "truncate table %s", t->name);
	case 13:
		return text(g, "create table n%u(k1 int primary key, v1 int) engine=innodb", n);
	case 14:
		return text(g, "create table l%u like %s", n, t->name);
	case 15:
		return text(g, "rename table %s to %sr", t->name, t->name);
	case 16:
		return text(g, "rename table %sr to %s", t->name, t->name);
	case 17:
		return text(g, "drop table if exists %s", t->name);
	case 18:
		return text(g, "alter table %s drop column %s", t->name, column);
	default:
		return text(g, "alter table %s add check (%s is not null or 1 = 1)", t->name, set);
	}
}

static const char *any_setting(struct gen *g)
{
	return one_of(g, "set foreign_key_checks = 0", "set foreign_key_checks = 1", "set auto_increment_increment = 2",
		"set auto_increment_offset = 2", "set sql_mode = ''", "set sql_mode = default");
}

static void add_savepoints(struct gen *g, struct txn *txn)
{
	bool set = false;

	for (size_t i = 1; i <= txn->count; i++) {
		if (!draw_chance(g, FEATURE_SAVEPOINT))
			continue;
		if (!set)
			add_at(txn, i, "savepoint s1", NO_EDGE);
		else
			add_at(txn, i, one_of(g, "rollback to s1", "rollback to s1", "release savepoint s1"), NO_EDGE);
		set = !set || strcmp(txn->steps[i].sql, "rollback to s1") == 0;
		i++;
	}
}

static void add_definitions(struct gen *g, struct txn *txn)
{
	for (size_t i = 1; i <= txn->count; i++)
		if (draw_chance(g, FEATURE_DEFINITION))
			add_at(txn, i++, make_definition(g), NO_EDGE);
}

/* ---- beginning and end ---- */

static bool only_reads(const struct txn *txn)
{
	for (size_t i = 0; i < txn->count; i++) {
		const char *sql = txn->steps[i].sql;

		if ((strncmp(sql, "select", 6) != 0 && strncmp(sql, "with", 4) != 0) || strstr(sql, "for update"))
			return false;
	}
	return true;
}

static void finish(struct gen *g, struct txn *txn, const char *end)
{
	add(txn, end);
	(void)g;
	txn->steps[txn->count - 1].ends = true;
}

static void begin_and_end(struct gen *g, struct txn *txn, bool last)
{
	enum begin_word begin = (enum begin_word)draw_word(g, FEATURE_BEGIN);
	enum end_word end = (enum end_word)draw_word(g, FEATURE_END);
	const char *commit = end == END_ROLLBACK ? "rollback" : "commit";
	struct meeting meeting = {.table = any_table(g)};

	switch (begin) {
	case BEGIN_SINGLE:
		/* Each statement is a transaction. */
		return;
	case BEGIN_XA:
		g->numbers++;
		add_at(txn, 0, text(g, "xa start 'x%u'", g->numbers), NO_EDGE);
		add(txn, text(g, "xa end 'x%u'", g->numbers));
		if (below(g, 3) == 0) {
			finish(g, txn, text(g, "xa commit 'x%u' one phase", g->numbers));
			return;
		}
		add(txn, text(g, "xa prepare 'x%u'", g->numbers));
		finish(g, txn, text(g, "xa %s 'x%u'", commit, g->numbers));
		return;
	case BEGIN_AUTOCOMMIT:
		add_at(txn, 0, "set autocommit = 0", NO_EDGE);
		break;
	case BEGIN_SNAPSHOT:
		add_at(txn, 0, "start transaction with consistent snapshot", NO_EDGE);
		break;
	case BEGIN_READ_ONLY:
		add_at(txn, 0, only_reads(txn) ? "start transaction read only" : "start transaction", NO_EDGE);
		break;
	case BEGIN_SET_LEVEL:
		add_at(txn, 0, "begin", NO_EDGE);
		add_at(txn, 0, one_of(g, "set transaction isolation level read uncommitted",
				      "set transaction isolation level read committed",
				      "set transaction isolation level repeatable read",
				      "set transaction isolation level serializable"), NO_EDGE);
		break;
	case BEGIN_PLAIN:
	case BEGIN_WORD_COUNT:
		add_at(txn, 0, "begin", NO_EDGE);
		break;
	}
	if (end == END_OPEN && last)
		return;
	if (end == END_CHAIN) {
		add(txn, one_of(g, "commit and chain", "rollback and chain"));
		meeting.pivot = any_row(g, meeting.table);
		add(txn, any_statement(g, &meeting));
	}
	finish(g, txn, commit);
	if (begin == BEGIN_AUTOCOMMIT)
		add(txn, "set autocommit = 1");
}

static void make_txn(struct gen *g, struct plan *plan, uint32_t number, const struct meeting *meetings)
{
	struct txn *txn = &plan->txns[number];
	uint64_t length = draw_number(g, FEATURE_LENGTH);
	enum idiom_word idiom = (enum idiom_word)draw_word(g, FEATURE_IDIOM);
	struct meeting m = choose_meeting(g, txn, meetings);
	bool last = number + 1 == plan->txn_count || plan->txns[number + 1].session != txn->session;

	add_idiom(g, txn, idiom, &m);
	while (txn->count < length) {
		m = choose_meeting(g, txn, meetings);
		add_somewhere(g, txn, any_statement(g, &m), NO_EDGE);
	}
	add_definitions(g, txn);
	if (draw_chance(g, FEATURE_SETTING))
		add_somewhere(g, txn, any_setting(g), NO_EDGE);
	add_savepoints(g, txn);
	begin_and_end(g, txn, last);
}

static enum txn_level draw_level(struct gen *g)
{
	static const enum txn_level levels[] = {[LEVEL_WORD_RU] = LEVEL_READ_UNCOMMITTED,
		[LEVEL_WORD_RC] = LEVEL_READ_COMMITTED,
		[LEVEL_WORD_RR] = LEVEL_REPEATABLE_READ,
		[LEVEL_WORD_SER] = LEVEL_SERIALIZABLE};

	return levels[draw_word(g, FEATURE_LEVEL)];
}

void draw_levels(struct gen *g, struct plan *plan)
{
	enum txn_level level = draw_level(g);

	plan->mixed = draw_chance(g, FEATURE_MIXED_LEVELS);
	for (uint32_t i = 0; i < plan->session_count; i++)
		plan->levels[i] = plan->mixed ? draw_level(g) : level;
}

void make_plan(struct gen *g, struct plan *plan)
{
	struct meeting *meetings;
	bool timeout = draw_chance(g, FEATURE_TIMEOUT);
	uint64_t each;

	*plan = (struct plan){.session_count = (uint32_t)draw_number(g, FEATURE_SESSIONS)};
	each = draw_number(g, FEATURE_PER_SESSION);
	plan->txn_count = plan->session_count * (uint32_t)each;
	plan->txns = mem_zero(plan->txn_count, sizeof(*plan->txns));
	for (uint32_t i = 0; i < plan->txn_count; i++)
		plan->txns[i].session = i / (uint32_t)each;
	draw_levels(g, plan);
	make_graph(g, plan);
	meetings = mem_zero(plan->edge_count + 1, sizeof(*meetings));
	for (uint32_t i = 0; i < plan->edge_count; i++)
		make_edge(g, plan, i, &meetings[i]);
	for (uint32_t i = 0; i < plan->txn_count; i++) {
		make_txn(g, plan, i, meetings);
		if (timeout && i % each == 0)
			add_at(&plan->txns[i], 0, "set innodb_lock_wait_timeout = 1", NO_EDGE);
	}
	mem_free(meetings);
}

void release_plan(struct plan *plan)
{
	for (uint32_t i = 0; i < plan->txn_count; i++)
		mem_free(plan->txns[i].steps);
	mem_free(plan->txns);
	mem_free(plan->edges);
}
