/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer has the number of the statement's own rows only.  What the server gave to the rows of a stored program
 * shows elsewhere: in the table's final rows, and in answers that show its key.  Numbers grow in the order in which they
 * are given (MySQL manual, "AUTO_INCREMENT Handling in InnoDB"), so those of statements that do tell them bound the others by
 * time.  A number that is seen, and that only one statement can have been given, is that statement's.  Of several one
 * is taken, as of other choices that clients do not see, and the last way is always that it is not known.
 *
 * Of rows that are never seen any number will do that no other row has.
 */
#include "mvcc/execute/untold_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "server/errors.h"

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

enum {
	SEEN_LOOKED = 100, /* numbers that are looked at */
	OTHERS_LOOKED = 64, /* statements */
	WAYS_MAX = 12,      /* numbers that are tried, of those that were seen with the rows' values, and of others */
	GAPS_MAX = 6,       /* ... of those that were not seen */
	COLUMNS_MAX = 4096,
};

/* Numbers that an answer told. */
struct told {
	uint64_t first, last, begin_seq, seq;
	bool any_old; /* may be that of a row which was there */
};

/* A statement whose numbers no answer told: they are between these. */
struct untold {
	uint32_t stmt;
	uint64_t low, high;
};

struct seen {
	uint64_t number;
	const struct eval_value *row; /* as it was at the end; NULL: not known */
	uint32_t taken; /* it is that of a row which is, or was, in the store */
};

/* As in store.h. */
#define SEEN_TRAILED(X) X(taken, APART) /* by the table's numbers_taken */

enum {
#define X(field, how) TRAILED_NAME(SEEN, field)
	SEEN_TRAILED(X)
#undef X
};

/* Of a table. */
struct untold_numbers {
	struct told *told; /* by their first */
	size_t told_count, told_capacity;
	struct untold *list; /* as they were sent */
	size_t count, capacity;
	struct seen *seen; /* by number, those that no answer of an INSERT has */
	size_t seen_count, seen_capacity;
	uint64_t initial; /* the largest that was there at first */
	uint32_t column;
	bool given;   /* statements may have given numbers of their own */
	bool finals;  /* all final rows are among those that were seen */
	bool changes; /* rows may have changed since they were put in, */
	bool loses;   /* ... or be gone */
};

/* ---- what the trace shows ---- */

static uint64_t number_in(const struct eval_value *v)
{
	return v->kind == EVAL_UINT || (v->kind == EVAL_INT && v->i > 0) ? v->u : 0;
}

static bool names_table(const struct plan *plan, uint32_t table)
{
	for (uint32_t t = 0; t < plan->table_count; t++) {
		if (plan->tables[t] == table)
			return true;
	}
	return plan->stmt && plan->stmt->kind == SQL_STMT_DROP_DATABASE;
}

static bool writes_table(const struct plan *plan, uint32_t table)
{
	for (uint32_t t = 0; t < plan->table_count; t++) {
		if (plan->tables[t] == table)
			return plan->written[t];
	}
	return false;
}

static void add_told(struct untold_numbers *u, const struct plan *plan, const struct record_stmt *r)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	uint64_t step = plan->key.auto_increment_step ? plan->key.auto_increment_step : 1, rows = insert->set ? 1 : 0;
	bool any_old = insert->on_duplicate;

	for (const struct sql_values_row *row = insert->rows; row; row = row->next)
		rows++;
	if (insert->query && r->affected > rows)
		rows = r->affected;
	any_old |= rows != 1 && (plan->stmt->kind == SQL_STMT_REPLACE || insert->flags & SQL_DML_IGNORE);
	/* The numbers of its other rows are not certain where some may have been there. */
	if (any_old) {
		u->given = true;
		rows = 1;
	}
	MEM_RESERVE(u->told, u->told_count + 1, u->told_capacity);
	u->told[u->told_count++] = (struct told){
		r->insert_id, r->insert_id + (rows ? rows - 1 : 0) * step, r->begin_seq, r->seq, any_old};
}

static void add_untold(struct untold_numbers *u, uint32_t stmt)
{
	MEM_RESERVE(u->list, u->count + 1, u->capacity);
	u->list[u->count++] = (struct untold){stmt, 0, UINT64_MAX};
}

static void add_seen(struct untold_numbers *u, uint64_t number, const struct eval_value *row)
{
	if (number <= u->initial)
		return;
	MEM_RESERVE(u->seen, u->seen_count + 1, u->seen_capacity);
	u->seen[u->seen_count++] = (struct seen){number, row, 0};
}

static void look_at_write(struct untold_numbers *u, struct mvcc *m, uint32_t table, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;

	if (r->error == ER_PARSE_ERROR)
		return;
	if (writes_anywhere(m, plan) || (plan->redefines && names_table(plan, table))) {
		u->given = u->loses = u->changes = true;
		return;
	}
	if (effects_touch(plan->effects, table, true)) {
		add_untold(u, stmt);
		u->loses |= !effects_only_insert(plan->effects, table);
		u->changes |= u->loses;
		u->given |= effects_give_numbers(plan->effects, table);
	}
	if (!writes_table(plan, table))
		return;
	u->changes |= !plan->insert || plan->stmt->u.insert->on_duplicate || plan->stmt->kind == SQL_STMT_REPLACE;
	u->loses |= !plan->insert ? plan->stmt->kind != SQL_STMT_UPDATE : plan->stmt->kind == SQL_STMT_REPLACE;
	if (r->error)
		return;
	if (plan->insert && gives_numbers(m->store.tables[table].def, plan->stmt)) {
		u->given = true;
	} else if (plan->insert && r->insert_id) {
		add_told(u, plan, r);
	} else if (plan->stmt->kind == SQL_STMT_INSERT || plan->stmt->kind == SQL_STMT_REPLACE) {
		add_untold(u, stmt);
		u->given = true;
	} else if (plan->stmt->kind == SQL_STMT_UPDATE ? plan->moves_cluster || !plan->one_table
						       : plan->stmt->kind != SQL_STMT_DELETE) {
		u->given = true;
	}
}

/* Answers that show the keys of the table's rows. */
static void look_at_answer(struct untold_numbers *u, const struct mvcc *m, uint32_t table, uint32_t stmt, struct value *values)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct eval_table *def = m->store.tables[table].def;
	uint32_t columns[COLUMNS_MAX], at = 0;
	const struct execution_rows *rows;

	if (!plan->query || plan->table_count != 1 || plan->tables[0] != table || plan->stmt->kind != SQL_STMT_SELECT ||
		plan->stmt->u.query->kind != SQL_QUERY_SELECT || plan->stmt->u.query->u.select.group)
		return;
	rows = schedule_result(m->schedule, &m->schedule->stmts[stmt]);
	for (size_t i = 0; rows && i < rows->count; i++) {
		size_t width = execution_row(rows->rows[i], values, COLUMNS_MAX);

		if (width == SIZE_MAX || width > COLUMNS_MAX || (!i && !answer_columns(plan, def, columns, (uint32_t)width)))
			return;
		while (!i && at < width && columns[at] != u->column)
			at++;
		if (at < width && values[at].type == VALUE_UINT)
			add_seen(u, values[at].u, NULL);
	}
}

static int by_number(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->row == NULL) - (y->row == NULL);
}

static int by_first(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static int by_seq(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool is_told(const struct untold_numbers *u, uint64_t number)
{
	size_t after = FIRST_WHERE(i, 0, u->told_count, u->told[i].first > number);

	return after && u->told[after - 1].last >= number;
}

/* A row that was there may have its number from a program: as that of an INSERT it only bounds others. */
static void leave_out_old(struct untold_numbers *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->told_count; i++) {
		if (!u->told[i].any_old)
			u->told[kept++] = u->told[i];
	}
	u->told_count = kept;
}

/* Each once, and none that an INSERT answered. */
static void tidy_seen(struct untold_numbers *u)
{
	size_t kept = 0;

	if (u->seen_count)
		qsort(u->seen, u->seen_count, sizeof(*u->seen), by_number);
	for (size_t i = 0; i < u->seen_count; i++) {
		if (!is_told(u, u->seen[i].number) && (!kept || u->seen[kept - 1].number != u->seen[i].number))
			u->seen[kept++] = u->seen[i];
	}
	u->seen_count = kept;
}

/* Numbers that were told before it was sent are smaller than its own, those of statements that were sent when it had been
 * answered are larger. */
static void bound(struct untold_numbers *u, const struct mvcc *m)
{
	uint64_t low = u->initial, high = UINT64_MAX;
	size_t at = 0;

	if (u->told_count)
		qsort(u->told, u->told_count, sizeof(*u->told), by_seq);
	for (size_t i = 0; i < u->count; i++) {
		uint64_t sent = m->schedule->stmts[u->list[i].stmt].in->record.begin_seq;

		for (; at < u->told_count && u->told[at].seq < sent; at++)
			low = u->told[at].last > low ? u->told[at].last : low;
		u->list[i].low = low;
	}
	at = u->told_count;
	for (size_t i = u->count; i-- > 0;) {
		uint64_t answered = m->schedule->stmts[u->list[i].stmt].in->record.seq;

		/* Not exactly: one that was sent later and answered sooner is left out, which only widens the bound. */
		for (; at && u->told[at - 1].begin_seq > answered; at--) {
			if (!u->told[at - 1].any_old && u->told[at - 1].first < high)
				high = u->told[at - 1].first;
		}
		u->list[i].high = high;
		u->given |= u->list[i].low >= high;
	}
}

static void take_final(void *ctx, const struct eval_value *row)
{
	struct untold_numbers *u = ctx;

	add_seen(u, number_in(&row[u->column]), row);
}

static void find_initial(struct untold_numbers *u, const struct store_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		for (const struct store_version *v = table->records[i]->newest; v; v = v->previous) {
			if (!v->txn && v->image && number_in(&v->image[u->column]) > u->initial)
				u->initial = number_in(&v->image[u->column]);
		}
	}
}

static struct untold_numbers *make(struct mvcc *m, uint32_t number)
{
	struct store_table *table = &m->store.tables[number];
	struct untold_numbers *u = mem_zero(1, sizeof(*u));
	struct value *values = mem_zero(COLUMNS_MAX, sizeof(*values));

	u->column = table->cluster->columns[0];
	find_initial(u, table);
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->child == number && foreign_carries_on(f))
			u->changes = u->loses = true;
	}
	for (uint32_t i = 0; i < m->schedule->stmt_count; i++) {
		look_at_write(u, m, number, i);
		look_at_answer(u, m, number, i, values);
	}
	mem_free(values);
	if (number < m->schedule->execution->table_count) {
		const struct execution_table *in = &m->schedule->execution->tables[number];

		u->finals = in->has_final && !in->final.columns.ptr && m->schedule->execution->complete &&
			    content_rows(m, &m->catalog.arena, table->def, &in->final, take_final, u);
	}
	bound(u, m);
	leave_out_old(u);
	if (u->told_count)
		qsort(u->told, u->told_count, sizeof(*u->told), by_first);
	tidy_seen(u);
	return u;
}

/* ---- which it is ---- */

struct asked {
	struct mvcc *m;
	struct store_table *table;
	struct untold_numbers *u;
	const struct untold *self;
	const struct eval_rows *rows;
	uint64_t step;
	bool aborted; /* its transaction ends so: none of its rows is there at the end, */
	bool kept;    /* ... or all are */
	struct eval_value *key; /* room for a row */
};

static bool is_taken(struct asked *a, uint64_t number)
{
	const struct store_record *record;

	a->key[a->u->column] = a->table->def->columns[a->u->column].type.is_unsigned ? eval_uint(number)
										    : eval_int((int64_t)number);
	record = store_find(&a->m->store, a->table, a->key);
	return record && record->newest;
}

static bool is_free(struct asked *a, size_t i)
{
	const struct seen *s = &a->u->seen[i];

	return s->number > a->self->low && s->number < a->self->high && !s->taken && !(a->aborted && s->row) && !(a->kept && !s->row) &&
	       !is_taken(a, s->number);
}

/* Has the row at the end what the INSERT gives? */
static bool is_same(const struct asked *a, const struct eval_value *final, const struct eval_value *given)
{
	for (uint32_t c = 0; final && c < a->table->def->column_count; c++) {
		const struct eval_type *type = &a->table->def->columns[c].type;

		if (c != a->u->column && !a->table->def->columns[c].generated && !compare_value(type, &final[c], &given[c]))
			return false;
	}
	return final != NULL;
}

/* Where among the seen numbers it is; SIZE_MAX: it was not seen. */
static size_t seen_at(const struct untold_numbers *u, uint64_t number)
{
	size_t at = FIRST_WHERE(i, 0, u->seen_count, u->seen[i].number >= number);

	return at < u->seen_count && u->seen[at].number == number ? at : SIZE_MAX;
}

/* Can its rows have the numbers from `first` on?  Rows that are gone may not have been seen.  `same`: those that were
 * have its values. */
static bool fits(struct asked *a, uint64_t first, bool *same)
{
	*same = true;
	for (size_t r = 0; r < a->rows->count; r++) {
		uint64_t number = first + r * a->step;
		size_t i = seen_at(a->u, number);

		if (i == SIZE_MAX ? !a->u->loses || number <= a->self->low || number >= a->self->high || is_told(a->u, number) ||
					    is_taken(a, number)
				  : !is_free(a, i))
			return false;
		*same &= i == SIZE_MAX || is_same(a, a->u->seen[i].row, a->rows->row[r]);
	}
	return true;
}

static const struct untold *untold_of(const struct untold_numbers *u, uint32_t stmt)
{
	size_t at = FIRST_WHERE(i, 0, u->count, u->list[i].stmt >= stmt);

	return at < u->count && u->list[at].stmt == stmt ? &u->list[at] : NULL;
}

/* Is there another one under way, yet to be executed, that has numbers that no answer has? */
static bool others_under_way(const struct asked *a)
{
	const struct search *s = &a->m->search;

	for (size_t i = 0; i < s->in_flight_count; i++) {
		if (s->in_flight[i] != a->self->stmt && a->m->runs[s->in_flight[i]].state != STMT_DONE &&
			untold_of(a->u, s->in_flight[i]))
			return true;
	}
	return false;
}

/* ... or to be sent, that can have been given the number? */
static bool may_be_of_later(const struct asked *a, uint64_t number)
{
	const struct untold_numbers *u = a->u;
	size_t self = (size_t)(a->self - u->list);

	for (size_t i = self + 1; i < u->count && u->list[i].low < number; i++) {
		if (i - self > OTHERS_LOOKED || (number < u->list[i].high && a->m->runs[u->list[i].stmt].state != STMT_DONE))
			return true;
	}
	return false;
}

/* Of the seen numbers that can be the rows': */
struct found {
	uint64_t ways[2 * WAYS_MAX + GAPS_MAX]; /* firsts; those with the rows' values come first */
	uint32_t count, same_ways; /* same_ways: the first of them */
	uint32_t same_count;
	uint64_t free_count;
	bool first_fits; /* the smallest that is free is one of them */
	bool all_final;  /* all are among the final rows */
	bool later;      /* others may be given them later */
	bool cut;        /* not all are among the ways */
};

/* Does the smallest that is free belong to it, if it fits?  What is sent later has larger numbers. */
static bool takes_first(const struct asked *a)
{
	return a->u->finals && !a->u->loses && !a->u->given &&
	       a->m->schedule->txns[a->m->now.txn - 1].outcome == TXN_COMMITTED && !others_under_way(a);
}

static void add_way(struct found *f, uint64_t first, bool same)
{
	f->same_count += same;
	if (same ? f->same_ways == WAYS_MAX : f->count - f->same_ways == WAYS_MAX) {
		f->cut = true;
		return;
	}
	if (same) {
		memmove(f->ways + f->same_ways + 1, f->ways + f->same_ways, (f->count - f->same_ways) * sizeof(*f->ways));
		f->ways[f->same_ways++] = first;
	} else {
		f->ways[f->count] = first;
	}
	f->count++;
}

static void find_ways(struct asked *a, struct found *f)
{
	const struct untold_numbers *u = a->u;
	size_t looked = 0, i = FIRST_WHERE(s, 0, u->seen_count, u->seen[s].number > a->self->low);
	bool one = takes_first(a);

	if (i < a->table->numbers_from)
		i = a->table->numbers_from;
	for (; i < u->seen_count && u->seen[i].number < a->self->high && looked < SEEN_LOOKED; i++) {
		bool same = false;

		if (!is_free(a, i)) {
			if (i == a->table->numbers_from && u->seen[i].taken)
				TRAIL_SET(&a->m->store.trail, TABLE, a->table, numbers_from, (uint32_t)i + 1);
			continue;
		}
		looked++;
		f->all_final = (f->all_final || !f->free_count) && u->seen[i].row;
		f->free_count++;
		f->later = f->later || may_be_of_later(a, u->seen[i].number);
		for (size_t r = 0; r < (u->loses ? a->rows->count : 1); r++) {
			uint64_t first = u->seen[i].number - r * a->step;

			/* Those with a seen number before it were looked at with that. */
			if (first > u->seen[i].number || (r && i && u->seen[i - 1].number >= first))
				break;
			if (!fits(a, first, &same))
				continue;
			f->first_fits |= f->free_count == 1 && !r;
			if (one && f->first_fits) {
				f->ways[f->count++] = first;
				return;
			}
			add_way(f, first, same);
		}
	}
	f->cut |= looked == SEEN_LOOKED;
}

/* The only one that it can be; 0: there is none. */
static uint64_t certain(const struct asked *a, const struct found *f)
{
	const struct untold_numbers *u = a->u;

	if (u->given || a->m->schedule->txns[a->m->now.txn - 1].outcome != TXN_COMMITTED || !f->count)
		return 0;
	/* All that is free is its own. */
	if (f->all_final && !f->later && !f->cut && f->count == 1 && f->free_count == a->rows->count && !others_under_way(a))
		return f->ways[0];
	if (f->first_fits && takes_first(a))
		return f->ways[0];
	/* It is still there, as it came. */
	return u->finals && !u->loses && !u->changes && !f->cut && f->same_count == 1 ? f->ways[0] : 0;
}

/* The first number from `n` on that was told or seen. */
static uint64_t next_known(const struct untold_numbers *u, uint64_t n)
{
	size_t told = FIRST_WHERE(i, 0, u->told_count, u->told[i].first >= n);
	size_t seen = FIRST_WHERE(i, 0, u->seen_count, u->seen[i].number >= n);
	uint64_t next = told < u->told_count ? u->told[told].first : UINT64_MAX;

	if (is_told(u, n))
		return n;
	return seen < u->seen_count && u->seen[seen].number < next ? u->seen[seen].number : next;
}

/* Has no other row one of the numbers from `first` on, and were they not seen? */
static bool fits_unseen(struct asked *a, uint64_t first)
{
	for (size_t r = 0; r < a->rows->count; r++) {
		uint64_t number = first + r * a->step;

		if (is_told(a->u, number) || seen_at(a->u, number) != SIZE_MAX || is_taken(a, number))
			return false;
	}
	return true;
}

/* Rows that are never seen may have any number that no other row has: one of each gap between those that are known. */
static void find_gaps(struct asked *a, struct found *f)
{
	uint64_t n = a->self->low + 1, room = (a->rows->count - 1) * a->step;
	uint32_t gaps = 0, looked = 0;

	while (n < a->self->high && looked++ < SEEN_LOOKED) {
		uint64_t next;

		while (is_told(a->u, n) || is_taken(a, n)) {
			n++;
			if (looked++ == SEEN_LOOKED)
				break;
		}
		next = next_known(a->u, n);
		if (n + room < a->self->high && fits_unseen(a, n)) {
			if (gaps++ == GAPS_MAX)
				break;
			f->ways[f->count++] = n;
		}
		if (next == UINT64_MAX)
			return;
		n = next + 1;
	}
	f->cut |= n < a->self->high;
}

static uint64_t pick(struct asked *a)
{
	struct mvcc *m = a->m;
	bool unseen = m->schedule->txns[m->now.txn - 1].outcome != TXN_COMMITTED || a->u->loses || !a->u->finals;
	struct found f = {.count = 0};
	uint64_t number;
	uint32_t taken;

	find_ways(a, &f);
	number = certain(a, &f);
	if (number)
		return number;
	if (unseen && !a->table->numbers_unseen)
		find_gaps(a, &f);
	else if (unseen)
		f.cut = true;
	/* Which of several that were not seen is the larger one shows in the order of answers without them. */
	if (unseen && a->table->numbers_unseen) {
		f.ways[f.count] = a->table->numbered + 1;
		while (f.ways[f.count] < a->self->high && !fits_unseen(a, f.ways[f.count]))
			f.ways[f.count]++;
		f.count += f.ways[f.count] < a->self->high;
	}
	/* Joins and the like, which are not looked at here, may show any of them. */
	f.cut |= a->u->given || unseen || !f.count;
	/* What is rolled back is seen by its own transaction alone. */
	taken = a->aborted && !a->u->given && !m->any_dirty ? choose_for(m, m->now.txn, f.count + f.cut) : choose(m, f.count + f.cut);
	return taken < f.count ? f.ways[taken] : 0;
}

static void take(struct asked *a, uint64_t first)
{
	struct trail *trail = &a->m->store.trail;
	uint64_t last = first + (a->rows->count - 1) * a->step;
	size_t i = FIRST_WHERE(s, 0, a->u->seen_count, a->u->seen[s].number >= first);

	for (; i < a->u->seen_count && a->u->seen[i].number <= last; i++) {
		if (!a->u->seen[i].taken)
			TRAIL_SET(trail, TABLE, a->table, numbers_taken, a->table->numbers_taken + ((uint64_t)i + 1) * HASH_FACTOR);
		TRAIL_SET(trail, SEEN, &a->u->seen[i], taken, 1);
	}
	if (seen_at(a->u, first) == SIZE_MAX && !a->aborted)
		TRAIL_SET(trail, TABLE, a->table, numbers_unseen, a->table->numbers_unseen + 1);
	if (last > a->table->numbered)
		TRAIL_SET(trail, TABLE, a->table, numbered, last);
}

static bool numbers_all(const struct eval_rows *rows, uint32_t column)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->row[i][column].kind != EVAL_NULL)
			return false;
	}
	return rows->count > 0;
}

uint64_t untold_number(struct mvcc *m, const struct plan *plan, const struct eval_rows *rows)
{
	uint32_t number = plan->tables[0];
	struct store_table *table = &m->store.tables[number];
	const struct sql_insert *insert = plan->stmt->u.insert;
	struct asked a = {.m = m, .table = table, .rows = rows, .step = rows->count > 1 ? plan->key.auto_increment_step : 1};
	uint64_t first;

	if (plan->stmt->kind != SQL_STMT_INSERT || insert->query || insert->on_duplicate || insert->flags & SQL_DML_IGNORE ||
		!a.step || !table->cluster || table->cluster->count != 1 || table->cluster->columns[0] == UINT32_MAX ||
		!table->def->columns[table->cluster->columns[0]].auto_increment || table->unknown || table->has_unknown_rows ||
		table->temporary || m->now.txn == STORE_NONE || !numbers_all(rows, table->cluster->columns[0]))
		return 0;
	if (!m->untold[number])
		m->untold[number] = make(m, number);
	a.u = m->untold[number];
	a.self = untold_of(a.u, m->now.stmt);
	if (!a.self)
		return 0;
	a.aborted = m->schedule->txns[m->now.txn - 1].outcome == TXN_ABORTED;
	a.kept = m->schedule->txns[m->now.txn - 1].outcome == TXN_COMMITTED && a.u->finals && !a.u->loses;
	a.key = arena_alloc(&m->scratch, table->def->column_count * sizeof(*a.key));
	memcpy(a.key, rows->row[0], table->def->column_count * sizeof(*a.key));
	first = pick(&a);
	if (first)
		take(&a, first);
	return first;
}

void untold_numbers_release(struct mvcc *m)
{
	for (uint32_t i = 0; m->untold && i < m->store.table_count; i++) {
		struct untold_numbers *u = m->untold[i];

		if (!u)
			continue;
		mem_free(u->told);
		mem_free(u->list);
		mem_free(u->seen);
		mem_free(u);
	}
	mem_free(m->untold);
}
