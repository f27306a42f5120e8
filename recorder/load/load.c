/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/load.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "load/load_internal.h"
#include "sql/sql.h"

const char *const load_class_words[] = {
#define X(name, word) word,
	LOAD_CLASSES(X)
#undef X
};
const char *const load_miss_words[] = {
#define X(name, word) word,
	LOAD_MISSES(X)
#undef X
};

/* ---- values ---- */

static uint64_t common_factor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t key_count(const struct load *load)
{
	return load->static_count + load->dynamic_count;
}

uint64_t load_value(const struct load *load, const struct load_column *column, uint64_t key)
{
	uint64_t count = key_count(load);
	uint64_t place = (uint64_t)(((__uint128_t)(key % count) * column->factor + column->offset) % count);

	/* The middle of the place's part of the spread. */
	return sampler_at(&load->values, (uint64_t)((((__uint128_t)place * 2 + 1) << 63) / count));
}

void load_print_value(const struct load_column *column, uint64_t value, struct buf *out)
{
	buf_printf(out, column->text ? "'w%llu'" : "%llu", (unsigned long long)value);
}

void load_print_row(const struct load *load, const struct load_table *table, uint64_t key, struct buf *out)
{
	buf_printf(out, "(%llu", (unsigned long long)key);
	for (unsigned i = 0; i < table->column_count; i++) {
		buf_add_char(out, ',');
		load_print_value(&table->columns[i], load_value(load, &table->columns[i], key), out);
	}
	buf_add_char(out, ')');
}

/* ---- tables ---- */

static void make_tables(struct load *load)
{
	const struct load_options *o = load->options;
	struct random_source r;

	random_seed(&r, o->seed, 0);
	load->dynamic_count = o->rows / 4 + 2;
	load->static_count = o->rows > load->dynamic_count / 2 ? o->rows - load->dynamic_count / 2 : 1;
	load->domain = model_number(o->model, FEATURE_DOMAIN, &r);
	sampler_init(&load->values, &o->model->features[FEATURE_VALUES].spread, load->domain);
	sampler_init(&load->access, &o->access, load->static_count);
	load->table_count = (unsigned)model_number(o->model, FEATURE_TABLES, &r);
	for (unsigned i = 0; i < load->table_count; i++) {
		struct load_table *t = &load->tables[i];

		snprintf(t->name, sizeof(t->name), "t%u", i % 100 + 1);
		t->column_count = (unsigned)model_number(o->model, FEATURE_COLUMNS, &r);
		for (unsigned c = 0; c < t->column_count; c++) {
			unsigned type = model_word(o->model, FEATURE_TYPE, &r);

			/* The first column is one of numbers: transactions count in it. */
			t->columns[c].text = c && (type == OF_TEXT || type == OF_CHAR);
			t->columns[c].offset = random_next(&r);
			do {
				t->columns[c].factor = random_below(&r, key_count(load)) + 1;
			} while (common_factor(t->columns[c].factor, key_count(load)) != 1);
		}
		t->accesses = mem_zero(load->static_count, sizeof(*t->accesses));
		t->dynamic = mem_zero(load->dynamic_count, sizeof(*t->dynamic));
		for (uint64_t k = 0; k < load->dynamic_count / 2; k++)
			atomic_init(&t->dynamic[k], DYNAMIC_PRESENT);
	}
}

static void release_tables(struct load *load)
{
	for (unsigned i = 0; i < load->table_count; i++) {
		mem_free(load->tables[i].accesses);
		mem_free(load->tables[i].dynamic);
	}
	sampler_release(&load->values);
	sampler_release(&load->access);
}

static void print_create(const struct load_table *t, struct buf *out)
{
	buf_printf(out, "create table %s(k1 bigint primary key", t->name);
	for (unsigned c = 0; c < t->column_count; c++)
		buf_printf(out, ", v%u %s", c + 1, t->columns[c].text ? "varchar(24) not null" : "bigint not null");
	buf_add_str(out, ") engine=innodb");
}

static bool execute(MYSQL *mysql, struct buf *sql, struct err *err)
{
	bool ok = mysql_real_query(mysql, sql->data, sql->len) == 0 ||
		  err_set(err, ERR_SERVER, "%.60s: %s", sql->data, mysql_error(mysql));

	buf_clear(sql);
	return ok;
}

static bool database_statement(MYSQL *mysql, const char *verb, const char *name, struct err *err)
{
	struct buf sql = BUF_INIT;
	bool ok;

	buf_printf(&sql, "%s ", verb);
	sql_print_name(span_str(name), &sql);
	ok = execute(mysql, &sql, err);
	buf_release(&sql);
	return ok;
}

/* ---- filling ---- */

struct filler {
	struct load *load;
	MYSQL *mysql;
	_Atomic uint64_t *done;
	_Atomic uint64_t *next;
	struct err err;
	bool ok;
};

enum { ROWS_PER_INSERT = 500, FILLERS = 4 };

static uint64_t rows_to_load(const struct load *load)
{
	return load->static_count + load->dynamic_count / 2;
}

/* Parts of the tables, by turns. */
static void *fill(void *ctx)
{
	struct filler *f = ctx;
	const struct load *load = f->load;
	uint64_t rows = rows_to_load(load), parts = (rows + ROWS_PER_INSERT - 1) / ROWS_PER_INSERT;
	struct buf sql = BUF_INIT;

	f->ok = true;
	for (;;) {
		uint64_t part = atomic_fetch_add(f->next, 1), begin;
		const struct load_table *t;

		if (part >= parts * load->table_count || !f->ok || (load->options->stop && *load->options->stop))
			break;
		t = &load->tables[part / parts];
		begin = part % parts * ROWS_PER_INSERT;
		buf_printf(&sql, "insert into %s values ", t->name);
		for (uint64_t k = begin; k < rows && k < begin + ROWS_PER_INSERT; k++) {
			if (k > begin)
				buf_add_char(&sql, ',');
			load_print_row(load, t, k, &sql);
		}
		f->ok = execute(f->mysql, &sql, &f->err);
		atomic_fetch_add(f->done, rows - begin < ROWS_PER_INSERT ? rows - begin : ROWS_PER_INSERT);
	}
	buf_release(&sql);
	return NULL;
}

static bool fill_tables(struct load *load, const struct run_target *target, struct load_report *report, struct err *err)
{
	struct filler fillers[FILLERS] = {{.load = load}};
	pthread_t threads[FILLERS];
	_Atomic uint64_t done = 0, next = 0;
	uint64_t begin = clock_mono_ns();
	unsigned started = 0;
	bool ok = true;

	for (; started < FILLERS && ok; started++) {
		fillers[started] = (struct filler){.load = load, .done = &done, .next = &next, .mysql = client_dial(target, err)};
		ok = fillers[started].mysql != NULL;
		if (ok && pthread_create(&threads[started], NULL, fill, &fillers[started]) != 0) {
			mysql_close(fillers[started].mysql);
			ok = err_set(err, ERR_LIMIT, "cannot start a thread");
		}
		if (!ok)
			break;
	}
	while (ok && atomic_load(&done) < rows_to_load(load) * load->table_count &&
		atomic_load(&next) < (rows_to_load(load) / ROWS_PER_INSERT + 2) * load->table_count + FILLERS) {
		if (load->options->progress)
			load->options->progress(load->options->ctx, atomic_load(&done), rows_to_load(load) * load->table_count);
		if (load->options->stop && *load->options->stop)
			break;
		poll(NULL, 0, 20);
	}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		mysql_close(fillers[i].mysql);
		if (ok && !fillers[i].ok) {
			*err = fillers[i].err;
			ok = false;
		}
	}
	report->rows_loaded = done;
	report->load_ns = clock_mono_ns() - begin;
	return ok;
}

static bool make_database(struct load *load, MYSQL *mysql, struct load_report *report, struct err *err)
{
	const struct load_options *o = load->options;
	struct buf sql = BUF_INIT;
	bool ok = !o->drop_database || database_statement(mysql, "drop database if exists", o->target.database, err);

	ok = ok && database_statement(mysql, "create database", o->target.database, err) &&
	     database_statement(mysql, "use", o->target.database, err);
	for (unsigned i = 0; i < load->table_count && ok; i++) {
		print_create(&load->tables[i], &sql);
		ok = execute(mysql, &sql, err);
	}
	buf_release(&sql);
	return ok && fill_tables(load, &o->target, report, err);
}

/* Which dynamic keys an earlier run left there. */
static bool read_keys(struct load *load, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT;
	bool ok = database_statement(mysql, "use", load->options->target.database, err);

	for (unsigned i = 0; i < load->table_count && ok; i++) {
		struct load_table *t = &load->tables[i];
		MYSQL_RES *result;
		MYSQL_ROW row;

		for (uint64_t k = 0; k < load->dynamic_count; k++)
			atomic_store(&t->dynamic[k], DYNAMIC_ABSENT);
		buf_printf(&sql, "select k1 from %s where k1 >= %llu", t->name, (unsigned long long)load->static_count);
		ok = execute(mysql, &sql, err);
		result = ok ? mysql_store_result(mysql) : NULL;
		while (result && (row = mysql_fetch_row(result)) != NULL) {
			uint64_t key = strtoull(row[0], NULL, 10) - load->static_count;

			if (key < load->dynamic_count)
				atomic_store(&t->dynamic[key], DYNAMIC_PRESENT);
		}
		if (result)
			mysql_free_result(result);
	}
	buf_release(&sql);
	return ok;
}

/* ---- running ---- */

static void add_report(struct load_report *to, const struct load_report *from)
{
	to->transactions += from->transactions;
	to->committed += from->committed;
	to->statements += from->statements;
	for (unsigned c = 0; c < LOAD_CLASS_COUNT; c++) {
		to->all[c] += from->all[c];
		to->touched[c] += from->touched[c];
		for (unsigned m = 0; m < LOAD_MISS_COUNT; m++)
			to->misses[c][m] += from->misses[c][m];
	}
}

static bool run_sessions(struct load *load, struct load_report *report, struct err *err)
{
	unsigned count = load->options->sessions, started = 0;
	struct load_session *sessions = mem_zero(count, sizeof(*sessions));
	pthread_t *threads = mem_zero(count, sizeof(*threads));
	uint64_t begin = clock_mono_ns();
	bool ok = true;

	load->end_ns = load->options->time_ns ? begin + load->options->time_ns : UINT64_MAX;
	for (; started < count && ok; started++) {
		sessions[started] = (struct load_session){.load = load, .number = started};
		if (pthread_create(&threads[started], NULL, load_session_run, &sessions[started]) != 0) {
			ok = err_set(err, ERR_LIMIT, "cannot start a thread");
			break;
		}
	}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(threads[i], NULL);
		add_report(report, &sessions[i].report);
		if (ok && !sessions[i].ok) {
			*err = sessions[i].err;
			ok = false;
		}
	}
	report->run_ns = clock_mono_ns() - begin;
	mem_free(sessions);
	mem_free(threads);
	return ok;
}

static void fit_accesses(const struct load *load, struct access_fit *fit)
{
	uint32_t *counts = mem_zero(load->static_count, sizeof(*counts));

	for (unsigned t = 0; t < load->table_count; t++) {
		for (uint64_t i = 0; i < load->static_count; i++)
			counts[i] = atomic_load(&load->tables[t].accesses[i]);
		access_add(fit, &load->access, counts, load->static_count);
	}
	access_finish(fit);
	mem_free(counts);
}

bool load_run(const struct load_options *options, struct load_report *report, struct err *err)
{
	struct load *load = mem_zero(1, sizeof(*load));
	struct run_target target = options->target;
	MYSQL *mysql;
	bool ok;

	*report = (struct load_report){.rows_loaded = 0};
	load->options = options;
	target.database = NULL;
	mysql = client_dial(&target, err);
	if (!mysql) {
		mem_free(load);
		return false;
	}
	make_tables(load);
	ok = (options->use_database ? read_keys(load, mysql, err) : make_database(load, mysql, report, err)) &&
	     run_sessions(load, report, err);
	if (ok)
		fit_accesses(load, &report->fit);
	if (!options->keep_database && !options->use_database && ok)
		ok = database_statement(mysql, "drop database if exists", options->target.database, err);
	mysql_close(mysql);
	release_tables(load);
	mem_free(load);
	return ok;
}
