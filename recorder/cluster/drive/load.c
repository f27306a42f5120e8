/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The load: transactions over all nodes, drawn from a workload model, about data that depend on each other.
 *
 * Tables come in families: a parent and a child with a foreign key to it.  Parents are written through one node and their
 * children through another, which is what certification and parallel appliers must respect.  All sessions add to a
 * table of sums.  Every row and every value is written once only, and the statements name their rows by key, so that the
 * oracle `sync` can say of each what became of it (docs/oracles/sync.md).
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/drive/drive_internal.h"
#include "db/query.h"
#include "server/errors.h"

enum { FAMILIES_MAX = 4, RING = 512, OWN_MAX = 64, STATEMENTS_MAX = 16, LARGE_ROWS = 200, SUMS = 16, RETRY_MS = 200 };

struct family {
	unsigned on_delete; /* enum action_word */
	_Atomic uint64_t ring[RING]; /* parents that were committed lately, of all nodes */
	_Atomic uint64_t next;
};

struct drive_load {
	struct drive *d;
	struct family families[FAMILIES_MAX];
	unsigned family_count;
	struct load_worker *workers;
	unsigned worker_count;
};

/* A row that a session made, and may delete. */
struct own_row {
	unsigned family;
	bool child;
	uint64_t id;
};

struct load_worker {
	struct drive *d;
	struct drive_load *load;
	unsigned number, node;
	pthread_t thread;
	bool running;
	struct capture_worker capture;
	struct client client;
	bool connected;
	uint32_t session;
	struct random_source random;
	uint64_t made;                    /* rows and values so far */
	struct own_row own[OWN_MAX];
	unsigned own_count;
	struct own_row fresh[STATEMENTS_MAX]; /* of the transaction that is under way */
	unsigned fresh_count;
	struct buf sql;
};

static _Atomic uint32_t next_session;

/* ---- setup ---- */

static bool run(MYSQL *mysql, const char *sql, struct err *err)
{
	if (mysql_query(mysql, sql))
		return err_set(err, ERR_SERVER, "%.200s: %s", sql, mysql_error(mysql));
	mysql_free_result(mysql_store_result(mysql));
	return true;
}

static bool make_family(struct drive *d, MYSQL *mysql, unsigned number, struct random_source *random, struct err *err)
{
	static const char *const actions[] = {[ACTION_NONE] = "", [ACTION_RESTRICT] = " on delete restrict",
		[ACTION_CASCADE] = " on delete cascade", [ACTION_SET_NULL] = " on delete set null"};
	struct family *f = &d->load->families[number];
	struct buf sql = BUF_INIT;
	bool ok;

	f->on_delete = model_word(&d->model, FEATURE_ON_DELETE, random);
	buf_printf(&sql, "create table parent%u(id bigint primary key, v bigint not null, s varchar(40)) engine=innodb", number + 1);
	ok = run(mysql, sql.data, err);
	buf_clear(&sql);
	buf_printf(&sql, "create table child%u(id bigint primary key, parent bigint, v bigint not null, foreign key (parent) "
			 "references parent%u(id)%s) engine=innodb", number + 1, number + 1, actions[f->on_delete]);
	ok = ok && run(mysql, sql.data, err);
	for (uint64_t begin = 1; ok && begin <= d->ops->rows; begin += 500) {
		buf_clear(&sql);
		buf_printf(&sql, "insert into parent%u values ", number + 1);
		for (uint64_t id = begin; id < begin + 500 && id <= d->ops->rows; id++)
			buf_printf(&sql, "%s(%llu,0,'s%llu')", id == begin ? "" : ",", (unsigned long long)id, (unsigned long long)id);
		ok = run(mysql, sql.data, err);
	}
	buf_release(&sql);
	return ok;
}

bool load_setup(struct drive *d, struct err *err)
{
	char socket[256];
	struct run_target target = node_target(d, 0, socket, NULL);
	struct random_source random;
	struct buf sql = BUF_INIT;
	MYSQL *mysql;
	bool ok;

	d->load = mem_zero(1, sizeof(*d->load));
	d->load->d = d;
	random_seed(&random, d->ops->seed, 0);
	d->load->family_count = (unsigned)(model_number(&d->model, FEATURE_TABLES, &random) + 1) / 2;
	if (d->load->family_count > FAMILIES_MAX)
		d->load->family_count = FAMILIES_MAX;
	mysql = client_dial(&target, err);
	if (!mysql)
		return false;
	ok = run(mysql, "create database if not exists " DRIVE_DATABASE, err) && run(mysql, "use " DRIVE_DATABASE, err) &&
	     run(mysql, "create table sums(id bigint primary key, n bigint not null) engine=innodb", err);
	for (unsigned i = 0; i < SUMS; i++)
		buf_printf(&sql, "%s(%u,0)", i ? "," : "insert into sums values ", i + 1);
	ok = ok && run(mysql, sql.data, err);
	for (unsigned i = 0; ok && i < d->load->family_count; i++)
		ok = make_family(d, mysql, i, &random, err);
	for (unsigned i = 0; ok && i < d->ops->setup_count; i++)
		ok = run(mysql, d->ops->setup[i], err);
	buf_release(&sql);
	mysql_close(mysql);
	return ok;
}

/* ---- statements ---- */

static short poll_events(int wait)
{
	return (short)((wait & MYSQL_WAIT_READ ? POLLIN : 0) | (wait & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
		       (wait & MYSQL_WAIT_EXCEPT ? POLLPRI : 0));
}

static int ready_of(short events)
{
	return (events & (POLLIN | POLLHUP | POLLERR) ? MYSQL_WAIT_READ : 0) | (events & POLLOUT ? MYSQL_WAIT_WRITE : 0) |
	       (events & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
}

/* False: it failed, or the connection is gone. */
static bool execute(struct load_worker *w, struct span sql)
{
	struct client *c = &w->client;
	uint64_t begin = clock_mono_ns();
	int ready = 0;

	atomic_fetch_add(&w->d->counts.statements, 1);
	client_send(c, sql);
	while (!client_step(c, ready)) {
		struct pollfd fd = {.fd = mysql_get_socket(c->mysql), .events = poll_events(c->wait)};
		uint64_t limit = DRIVE_STATEMENT_S;

		ready = poll(&fd, 1, 100) > 0 ? ready_of(fd.revents) : 0;
		if (atomic_load(&w->d->give_up) || clock_mono_ns() - begin > limit * 1000000000u) {
			client_abandon(c, "no answer in time: the recorder gave up");
			break;
		}
	}
	atomic_store(&w->d->moved_at, clock_mono_ns());
	return !c->error && !c->dead;
}

static uint64_t fresh_id(struct load_worker *w)
{
	return ((uint64_t)(w->number + 1) << 32) | ++w->made;
}

static uint64_t below(struct load_worker *w, uint64_t limit)
{
	return random_below(&w->random, limit);
}

/* A parent that was committed, or one of the first. */
static uint64_t some_parent(struct load_worker *w, struct family *f)
{
	uint64_t id = below(w, 4) ? atomic_load(&f->ring[below(w, RING)]) : 0;

	return id || !w->d->ops->rows ? id : 1 + below(w, w->d->ops->rows);
}

static void remember(struct load_worker *w, unsigned family, bool child, uint64_t id)
{
	if (w->fresh_count < STATEMENTS_MAX)
		w->fresh[w->fresh_count++] = (struct own_row){family, child, id};
}

static void print_insert(struct load_worker *w, unsigned family)
{
	struct family *f = &w->load->families[family];
	unsigned rows = below(w, 200) ? 1 + (unsigned)below(w, 2) : LARGE_ROWS;
	bool child = below(w, 2);
	uint64_t parent = child ? some_parent(w, f) : 0;

	buf_printf(&w->sql, child ? "insert into child%u(id, parent, v) values " : "insert into parent%u(id, v, s) values ", family + 1);
	for (unsigned i = 0; i < rows; i++) {
		uint64_t id = fresh_id(w);

		buf_add_str(&w->sql, i ? "," : "");
		if (child && parent)
			buf_printf(&w->sql, "(%llu,%llu,%llu)", (unsigned long long)id, (unsigned long long)parent, (unsigned long long)id);
		else if (child)
			buf_printf(&w->sql, "(%llu,null,%llu)", (unsigned long long)id, (unsigned long long)id);
		else
			buf_printf(&w->sql, "(%llu,%llu,'s%llu')", (unsigned long long)id, (unsigned long long)id, (unsigned long long)id);
		remember(w, family, child, id);
	}
}

static void print_update(struct load_worker *w, unsigned family)
{
	if (model_word(&w->d->model, FEATURE_ASSIGN, &w->random) == ASSIGN_ADD || !w->d->ops->rows) {
		buf_printf(&w->sql, "update sums set n = n + 1 where id = %llu", (unsigned long long)below(w, SUMS) + 1);
		return;
	}
	if (w->own_count && below(w, 3) == 0) {
		const struct own_row *own = &w->own[below(w, w->own_count)];

		buf_printf(&w->sql, "update %s%u set v = %llu where id = %llu", own->child ? "child" : "parent", own->family + 1,
			(unsigned long long)fresh_id(w), (unsigned long long)own->id);
		return;
	}
	buf_printf(&w->sql, "update parent%u set v = %llu where id = %llu", family + 1, (unsigned long long)fresh_id(w),
		(unsigned long long)below(w, w->d->ops->rows) + 1);
}

/* Prints the next statement. */
static void print_statement(struct load_worker *w)
{
	unsigned family = (unsigned)below(w, w->load->family_count);

	buf_clear(&w->sql);
	switch ((enum statement_word)model_word(&w->d->model, FEATURE_STATEMENT, &w->random)) {
	case STATEMENT_SELECT:
	case STATEMENT_LOCK:
	case STATEMENT_WORD_COUNT:
		buf_printf(&w->sql, "select * from parent%u where id = %llu", family + 1, (unsigned long long)some_parent(w, &w->load->families[family]));
		return;
	case STATEMENT_UPDATE:
		print_update(w, family);
		return;
	case STATEMENT_DELETE:
		if (w->own_count) {
			unsigned at = (unsigned)below(w, w->own_count);
			struct own_row own = w->own[at];

			w->own[at] = w->own[--w->own_count];
			buf_printf(&w->sql, "delete from %s%u where id = %llu", own.child ? "child" : "parent", own.family + 1,
				(unsigned long long)own.id);
			return;
		}
		print_insert(w, family);
		return;
	case STATEMENT_INSERT:
	case STATEMENT_UPSERT:
	case STATEMENT_REPLACE:
	case STATEMENT_COPY:
		print_insert(w, family);
		return;
	}
}

/* ---- transactions ---- */

static void commit_fresh(struct load_worker *w)
{
	for (unsigned i = 0; i < w->fresh_count; i++) {
		const struct own_row *row = &w->fresh[i];
		struct family *f = &w->load->families[row->family];

		if (!row->child)
			atomic_store(&f->ring[atomic_fetch_add(&f->next, 1) % RING], row->id);
		if (w->own_count < OWN_MAX)
			w->own[w->own_count++] = *row;
		else
			w->own[below(w, OWN_MAX)] = *row;
	}
}

static bool commit(struct load_worker *w)
{
	bool ok;

	atomic_fetch_add(&w->d->committing, 1);
	ok = execute(w, SPAN_LIT("commit"));
	atomic_fetch_sub(&w->d->committing, 1);
	return ok;
}

static void run_transaction(struct load_worker *w)
{
	const struct model *m = &w->d->model;
	bool single = model_word(m, FEATURE_BEGIN, &w->random) == BEGIN_SINGLE, ok;
	uint64_t length = single ? 1 : model_number(m, FEATURE_LENGTH, &w->random);
	bool rolls_back = !single && model_word(m, FEATURE_END, &w->random) == END_ROLLBACK;

	w->fresh_count = 0;
	ok = single || execute(w, SPAN_LIT("begin"));
	for (uint64_t i = 0; i < length && i < STATEMENTS_MAX && ok; i++) {
		print_statement(w);
		ok = execute(w, buf_span(&w->sql));
	}
	if (!single && !w->client.dead)
		ok = ok && !rolls_back ? commit(w) : (execute(w, SPAN_LIT("rollback")), false);
	atomic_fetch_add(&w->d->counts.transactions, 1);
	if (ok) {
		commit_fresh(w);
		atomic_fetch_add(&w->d->counts.committed, 1);
	} else if (w->client.dead) {
		atomic_fetch_add(&w->d->counts.unknown, 1);
	} else if (!rolls_back) {
		atomic_fetch_add(&w->d->counts.failed, 1);
	}
}

/* A node that is not in a primary component answers 1047 at once: no use to ask it a thousand times a second. */
static bool is_useless(const struct load_worker *w)
{
	return w->client.error == 1047 || w->client.error == 3100 || w->client.error == 1290 || w->client.error == 1836;
}

static void disconnect(struct load_worker *w)
{
	if (w->connected)
		client_close(&w->client, w->client.dead ? CLOSE_SERVER_CLOSED : CLOSE_QUIT);
	w->connected = false;
}

static bool connect_worker(struct load_worker *w)
{
	char name[24], socket[256];
	struct run_target target = node_target(w->d, w->node, socket, DRIVE_DATABASE);
	struct err err;

	if (!node_is_up(w->d, w->node))
		return false;
	w->session = atomic_fetch_add(&next_session, 1) + 1;
	snprintf(name, sizeof(name), "S%u", w->session);
	w->connected = client_open(&w->client, &target, &w->capture, &w->d->nodes[w->node].capture, w->session,
		name, &err);
	return w->connected;
}

static void *worker_main(void *arg)
{
	struct load_worker *w = arg;

	mysql_thread_init();
	while (!atomic_load(&w->d->end)) {
		bool useless;

		if (atomic_load(&w->d->hold) || (!w->connected && !connect_worker(w))) {
			poll(NULL, 0, atomic_load(&w->d->hold) ? 10 : RETRY_MS);
			continue;
		}
		atomic_fetch_add(&w->d->busy, 1);
		/* Looked at again: who holds the clients waits for busy ones. */
		if (!atomic_load(&w->d->hold))
			run_transaction(w);
		atomic_fetch_sub(&w->d->busy, 1);
		useless = is_useless(w);
		if (w->client.dead)
			disconnect(w);
		if (useless)
			poll(NULL, 0, RETRY_MS);
	}
	disconnect(w);
	mysql_thread_end();
	return NULL;
}

bool load_start(struct drive *d, struct err *err)
{
	struct drive_load *load = d->load;

	load->worker_count = d->ops->sessions;
	load->workers = mem_zero(load->worker_count + 1, sizeof(*load->workers));
	for (unsigned i = 0; i < load->worker_count; i++) {
		struct load_worker *w = &load->workers[i];

		*w = (struct load_worker){.d = d, .load = load, .number = i, .node = i % d->node_count};
		random_seed(&w->random, d->ops->seed, i + 1);
		capture_worker_open(&w->capture, &d->config, d->writer, i, load->worker_count);
		w->running = pthread_create(&w->thread, NULL, worker_main, w) == 0;
		if (!w->running)
			return err_set(err, ERR_LIMIT, "cannot start a thread");
	}
	return true;
}

/* d->end is set. */
void load_stop(struct drive *d)
{
	struct drive_load *load = d->load;

	if (!load)
		return;
	for (unsigned i = 0; i < load->worker_count; i++) {
		struct load_worker *w = &load->workers[i];

		if (w->running)
			pthread_join(w->thread, NULL);
		if (w->d)
			capture_worker_close(&w->capture);
		buf_release(&w->sql);
	}
	mem_free(load->workers);
	mem_free(load);
	d->load = NULL;
}
