/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A session of a load: transactions of the model, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "load/load_internal.h"
#include "server/errors.h"

enum { STATEMENTS_MAX = 40, TAKE_TRIES = 50 };

/* A statement of a transaction, before it is printed. */
struct step {
	enum load_class class;
	struct load_table *table;
	uint64_t key;
	bool dynamic; /* the key is taken */
	bool locking, then_write; /* then_write: what was read decides what is written */
};

struct worker {
	struct load *load;
	struct load_report *report;
	MYSQL *mysql;
	struct random_source random;
	struct step steps[STATEMENTS_MAX];
	unsigned count;
	struct buf sql;
};

static uint64_t below(struct worker *w, uint64_t limit)
{
	return random_below(&w->random, limit);
}

/* ---- keys ---- */

/* Equal parts of the spread, in the order of the golden ratio's multiples: any run of them covers it evenly (Weyl). */
static uint64_t draw_static(struct worker *w, struct load_table *t)
{
	struct load *load = w->load;
	uint64_t key;

	if (load->options->stratified)
		key = sampler_at(&load->access, atomic_fetch_add(&t->next_access, 1) * 0x9e3779b97f4a7c15u);
	else
		key = sampler_draw(&load->access, &w->random);
	atomic_fetch_add_explicit(&t->accesses[key], 1, memory_order_relaxed);
	return key;
}

/* Takes a dynamic key that is there, or one that is not; false: none was free. */
static bool take_dynamic(struct worker *w, struct load_table *t, enum dynamic_state wanted, uint64_t *key)
{
	for (unsigned tries = 0; tries < TAKE_TRIES; tries++) {
		uint64_t at = below(w, w->load->dynamic_count);
		uint8_t state = (uint8_t)wanted;

		if (atomic_compare_exchange_strong(&t->dynamic[at], &state, DYNAMIC_TAKEN)) {
			*key = w->load->static_count + at;
			return true;
		}
	}
	return false;
}

/* What becomes of the key: an INSERT or DELETE that was committed turns it round. */
static void give_back(struct worker *w, const struct step *s, bool committed, bool lost)
{
	_Atomic uint8_t *state = &s->table->dynamic[s->key - w->load->static_count];
	bool there = s->class == LOAD_INSERT ? committed : s->class == LOAD_DELETE ? !committed : true;
	bool changes = s->class == LOAD_INSERT || s->class == LOAD_DELETE;

	atomic_store(state, lost && changes ? DYNAMIC_LOST : there ? DYNAMIC_PRESENT : DYNAMIC_ABSENT);
}

static void give_back_all(struct worker *w, bool committed, bool lost)
{
	for (unsigned i = 0; i < w->count; i++)
		if (w->steps[i].dynamic)
			give_back(w, &w->steps[i], committed, lost);
}

/* ---- the plan of a transaction ---- */

static void add_step(struct worker *w, struct load_table *t, enum load_class class, bool locking)
{
	struct step s = {.class = class, .table = t, .locking = locking};

	if (class == LOAD_INSERT)
		s.dynamic = take_dynamic(w, t, DYNAMIC_ABSENT, &s.key);
	else if (class == LOAD_DELETE)
		s.dynamic = take_dynamic(w, t, DYNAMIC_PRESENT, &s.key);
	else if ((class == LOAD_ITEM_READ || class == LOAD_UPDATE) && below(w, 8) == 0)
		s.dynamic = take_dynamic(w, t, DYNAMIC_PRESENT, &s.key);
	if (!s.dynamic && (class == LOAD_INSERT || class == LOAD_DELETE))
		s.class = LOAD_ITEM_READ; /* all are taken, or all are there */
	if (!s.dynamic)
		s.key = draw_static(w, t);
	w->steps[w->count++] = s;
}

static void draw_step(struct worker *w)
{
	const struct model *m = w->load->options->model;
	struct load_table *t = &w->load->tables[below(w, w->load->table_count)];
	unsigned condition = model_word(m, FEATURE_CONDITION, &w->random);
	bool item = condition == CONDITION_KEY || condition == CONDITION_EQUAL;

	switch ((enum statement_word)model_word(m, FEATURE_STATEMENT, &w->random)) {
	case STATEMENT_SELECT:
	case STATEMENT_WORD_COUNT:
		add_step(w, t, item ? LOAD_ITEM_READ : LOAD_PREDICATE_READ, false);
		return;
	case STATEMENT_LOCK:
		add_step(w, t, item ? LOAD_ITEM_READ : LOAD_PREDICATE_READ, true);
		return;
	case STATEMENT_UPDATE:
		add_step(w, t, item ? LOAD_UPDATE : LOAD_PREDICATE_UPDATE, false);
		return;
	case STATEMENT_DELETE:
		add_step(w, t, LOAD_DELETE, false);
		return;
	case STATEMENT_INSERT:
	case STATEMENT_UPSERT:
	case STATEMENT_REPLACE:
	case STATEMENT_COPY:
		add_step(w, t, LOAD_INSERT, false);
		return;
	}
}

static int by_key(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static void make_plan(struct worker *w)
{
	const struct model *m = w->load->options->model;
	uint64_t length = model_number(m, FEATURE_LENGTH, &w->random);
	bool read_write = model_word(m, FEATURE_IDIOM, &w->random) == IDIOM_READ_WRITE;

	w->count = 0;
	while (w->count < length && w->count < STATEMENTS_MAX)
		draw_step(w);
	qsort(w->steps, w->count, sizeof(w->steps[0]), by_key);
	for (unsigned i = 0; i < w->count; i++)
		w->steps[i].then_write = read_write && w->steps[i].class == LOAD_UPDATE;
}

/* ---- statements ---- */

static void print_value(struct worker *w, const struct load_column *c)
{
	load_print_value(c, sampler_draw(&w->load->values, &w->random), &w->sql);
}

/* A range around the pivot, said in several ways; all are true for it. */
static void print_condition(struct worker *w, const struct step *s)
{
	unsigned long long low = s->key, extent = below(w, 5), high = low + extent, other = below(w, w->load->static_count);

	low -= low < extent ? low : extent;
	switch (below(w, 5)) {
	case 0:
		buf_printf(&w->sql, "k1 between %llu and %llu", low, high);
		return;
	case 1:
		buf_printf(&w->sql, "k1 >= %llu and k1 <= %llu", low, high);
		return;
	case 2:
		buf_printf(&w->sql, "not (k1 < %llu or k1 > %llu)", low, high);
		return;
	case 3:
		buf_printf(&w->sql, "k1 in (%llu, %llu, %llu)", (unsigned long long)s->key, other, high);
		return;
	default:
		buf_printf(&w->sql, "k1 between %llu and %llu or (k1 = %llu and v1 >= 0)", low, high, other);
		return;
	}
}

static void print_statement(struct worker *w, const struct step *s)
{
	struct load_table *t = s->table;
	unsigned c = (unsigned)below(w, t->column_count);

	buf_clear(&w->sql);
	switch (s->class) {
	case LOAD_ITEM_READ:
		buf_printf(&w->sql, "select * from %s where k1 = %llu%s", t->name, (unsigned long long)s->key,
			s->locking ? " for update" : "");
		return;
	case LOAD_PREDICATE_READ:
		buf_printf(&w->sql, "select k1, v%u from %s where ", c + 1, t->name);
		print_condition(w, s);
		buf_add_str(&w->sql, s->locking ? " for update" : "");
		return;
	case LOAD_UPDATE:
	case LOAD_PREDICATE_UPDATE:
		buf_printf(&w->sql, "update %s set v%u = ", t->name, c + 1);
		print_value(w, &t->columns[c]);
		buf_add_str(&w->sql, " where ");
		if (s->class == LOAD_UPDATE)
			buf_printf(&w->sql, "k1 = %llu", (unsigned long long)s->key);
		else
			print_condition(w, s);
		return;
	case LOAD_INSERT:
		buf_printf(&w->sql, "insert into %s values (%llu", t->name, (unsigned long long)s->key);
		for (unsigned i = 0; i < t->column_count; i++) {
			buf_add_char(&w->sql, ',');
			print_value(w, &t->columns[i]);
		}
		buf_add_char(&w->sql, ')');
		return;
	case LOAD_DELETE:
		buf_printf(&w->sql, "delete from %s where k1 = %llu", t->name, (unsigned long long)s->key);
		return;
	case LOAD_CLASS_COUNT:
		break;
	}
}

static enum load_miss miss_of(unsigned error)
{
	return error == ER_LOCK_DEADLOCK	 ? MISS_DEADLOCK
	       : error == ER_LOCK_WAIT_TIMEOUT ? MISS_TIMEOUT
	       : error == ER_CHECKREAD	 ? MISS_SNAPSHOT
	       : error			 ? MISS_ERROR
					 : MISS_NO_ROW;
}

/* Sends what is printed; *first: the first value of the first row, where there is one.  False: an error. */
static bool send(struct worker *w, bool *touched, uint64_t *first)
{
	MYSQL_RES *result;
	MYSQL_ROW row;

	*touched = false;
	if (mysql_real_query(w->mysql, w->sql.data, w->sql.len))
		return false;
	result = mysql_store_result(w->mysql);
	if (!result) {
		unsigned long long matched = 0;
		const char *info = mysql_info(w->mysql);

		if (mysql_errno(w->mysql))
			return false;
		if (info)
			(void)!sscanf(info, "Rows matched: %llu", &matched);
		*touched = mysql_affected_rows(w->mysql) > 0 || matched;
		return true;
	}
	row = mysql_fetch_row(result);
	*touched = row != NULL;
	*first = row && row[0] ? strtoull(row[0], NULL, 10) : 0;
	mysql_free_result(result);
	return true;
}

static bool count_statement(struct worker *w, enum load_class class, bool ok, bool touched)
{
	w->report->statements++;
	w->report->all[class]++;
	if (ok && touched)
		w->report->touched[class]++;
	else
		w->report->misses[class][miss_of(ok ? 0 : mysql_errno(w->mysql))]++;
	return ok;
}

/* Reads, decides, writes: counts up to the domain's end, and from there begins again. */
static bool read_and_write(struct worker *w, const struct step *s)
{
	bool touched, ok;
	uint64_t value = 0;

	buf_clear(&w->sql);
	buf_printf(&w->sql, "select v1 from %s where k1 = %llu for update", s->table->name, (unsigned long long)s->key);
	ok = send(w, &touched, &value);
	if (!count_statement(w, LOAD_ITEM_READ, ok, touched))
		return false;
	buf_clear(&w->sql);
	if (value + 1 < w->load->domain)
		buf_printf(&w->sql, "update %s set v1 = %llu where k1 = %llu", s->table->name, (unsigned long long)value + 1,
			(unsigned long long)s->key);
	else
		buf_printf(&w->sql, "update %s set v1 = 0 where k1 = %llu", s->table->name, (unsigned long long)s->key);
	ok = send(w, &touched, &value);
	return count_statement(w, LOAD_UPDATE, ok, touched);
}

static bool run_step(struct worker *w, const struct step *s)
{
	uint64_t first;
	bool touched, ok;

	if (s->then_write)
		return read_and_write(w, s);
	print_statement(w, s);
	ok = send(w, &touched, &first);
	return count_statement(w, s->class, ok, touched);
}

static bool is_lost(MYSQL *mysql)
{
	unsigned error = mysql_errno(mysql);

	return error >= 2000 && error < 3000;
}

/* False: the connection is gone. */
static bool run_transaction(struct worker *w)
{
	bool ok = mysql_query(w->mysql, "begin") == 0, lost, commits;

	make_plan(w);
	for (unsigned i = 0; i < w->count && ok; i++)
		ok = run_step(w, &w->steps[i]);
	w->report->transactions++;
	commits = ok && model_word(w->load->options->model, FEATURE_END, &w->random) != END_ROLLBACK;
	ok = mysql_query(w->mysql, commits ? "commit" : "rollback") == 0;
	lost = !ok && commits && is_lost(w->mysql);
	w->report->committed += ok && commits;
	give_back_all(w, ok && commits, lost);
	return !is_lost(w->mysql);
}

static bool goes_on(struct load *load)
{
	const struct load_options *o = load->options;

	if (atomic_load(&load->stop) || (o->stop && *o->stop) || clock_mono_ns() >= load->end_ns)
		return false;
	return !o->transactions || atomic_fetch_add(&load->transactions, 1) < o->transactions;
}

static bool set_level(struct worker *w, struct err *err)
{
	static const char *const levels[] = {[LEVEL_WORD_RU] = "read uncommitted",
		[LEVEL_WORD_RC] = "read committed",
		[LEVEL_WORD_RR] = "repeatable read",
		[LEVEL_WORD_SER] = "serializable"};
	char sql[80];

	snprintf(sql, sizeof(sql), "set session transaction isolation level %s",
		levels[model_word(w->load->options->model, FEATURE_LEVEL, &w->random)]);
	return mysql_query(w->mysql, sql) == 0 || err_set(err, ERR_SERVER, "%s: %s", sql, mysql_error(w->mysql));
}

void *load_session_run(void *ctx)
{
	struct load_session *session = ctx;
	struct worker *w = mem_zero(1, sizeof(*w));

	w->load = session->load;
	w->report = &session->report;
	random_seed(&w->random, session->load->options->seed, session->number + 1);
	w->mysql = client_dial(&session->load->options->target, &session->err);
	session->ok = w->mysql && set_level(w, &session->err);
	while (session->ok && goes_on(session->load)) {
		session->ok = run_transaction(w);
		if (!session->ok)
			err_set(&session->err, ERR_SERVER, "session %u: %s", session->number + 1, mysql_error(w->mysql));
	}
	if (!session->ok)
		atomic_store(&session->load->stop, true);
	if (w->mysql)
		mysql_close(w->mysql);
	mysql_thread_end();
	buf_release(&w->sql);
	mem_free(w);
	return NULL;
}
