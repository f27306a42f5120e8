/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a session sends next, and its text. */
#include <math.h>
#include <stdio.h>

#include "sim/run.h"

/* Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994: constant time
 * a draw after one pass for zeta(n). */
void sim_zipf_init(struct sim_zipf *zipf, uint64_t n, double theta)
{
	double zeta2 = 1.0 + pow(0.5, theta);

	zipf->n = n;
	zipf->theta = theta;
	zipf->zetan = 0;
	if (theta == 0)
		return;
	for (uint64_t i = 1; i <= n; i++)
		zipf->zetan += pow(1.0 / (double)i, theta);
	zipf->alpha = 1.0 / (1.0 - theta);
	zipf->eta =
		n > 2 ? (1.0 - pow(2.0 / (double)n, 1.0 - theta)) / (1.0 - zeta2 / zipf->zetan) : 0;
}

static uint32_t draw_key(struct sim *sim, const struct sim_zipf *zipf)
{
	double u, uz;
	uint64_t key;

	if (zipf->theta == 0 || zipf->n <= 2)
		return (uint32_t)sim_random_below(sim, zipf->n);
	u = (double)(sim_random(sim) >> 11) * 0x1p-53;
	uz = u * zipf->zetan;
	if (uz < 1.0)
		return 0;
	if (uz < 1.0 + pow(0.5, zipf->theta))
		return 1;
	key = (uint64_t)((double)zipf->n * pow(zipf->eta * u - zipf->eta + 1.0, zipf->alpha));
	return (uint32_t)(key < zipf->n ? key : zipf->n - 1);
}

static uint32_t pick_key(struct sim *sim, uint32_t table)
{
	return draw_key(sim, table == sim->predicate_table ? &sim->zipf_predicate : &sim->zipf);
}

static uint32_t pick_table(struct sim *sim)
{
	/* The predicates' own table is written by key as well, but not so much that all
	 * wait for each other there. */
	if (sim->predicate_table != STORE_NONE && sim_chance(sim, 0.05))
		return sim->predicate_table;
	return (uint32_t)sim_random_below(sim, sim->options->tables);
}

static int64_t pick_value(struct sim *sim)
{
	if (sim->options->values == 0)
		return sim->next_value++;
	return (int64_t)sim_random_below(sim, sim->options->values);
}

/* A key that probably has a row, or has none: a few tries on what is committed just now. */
static uint32_t pick_key_existing(struct sim *sim, uint32_t table, bool existing)
{
	uint32_t key = 0;

	for (int tries = 0; tries < 8; tries++) {
		uint32_t v;

		key = pick_key(sim, table);
		v = store_newest(&sim->store, sim->tables[table].first_object + key);
		if (store_exists(&sim->store, v) == existing)
			break;
	}
	return key;
}

static void pick_predicate(struct sim *sim, struct sim_stmt *stmt)
{
	const struct sim_options *o = sim->options;
	uint64_t space, width;
	double kind = (double)(sim_random(sim) >> 11) * 0x1p-53;

	stmt->table = sim->predicate_table != STORE_NONE
			      ? sim->predicate_table
			      : (uint32_t)sim_random_below(sim, o->tables);
	stmt->by_key = sim_chance(sim, 0.25);
	if (stmt->by_key)
		space = sim->tables[stmt->table].keys;
	else
		space = o->values ? o->values : (uint64_t)sim->next_value + 1;
	width = 1 + space / 5;
	stmt->low = (int64_t)sim_random_below(sim, space);
	stmt->high = stmt->low + (int64_t)sim_random_below(sim, width);
	stmt->action = ACTION_SCAN;
	if (kind < o->predicate_update) {
		stmt->action = ACTION_SCAN_UPDATE;
		stmt->value = pick_value(sim);
	} else if (kind < o->predicate_update + o->predicate_delete) {
		stmt->action = ACTION_SCAN_DELETE;
	} else if (kind < o->predicate_update + o->predicate_delete + o->predicate_locking) {
		stmt->action = ACTION_SCAN_LOCK;
	}
}

void sim_pick_data_stmt(struct sim *sim, struct sim_stmt *stmt)
{
	const struct sim_options *o = sim->options;
	double kind = (double)(sim_random(sim) >> 11) * 0x1p-53;

	*stmt = (struct sim_stmt){0};
	if ((kind -= o->predicate) < 0) {
		pick_predicate(sim, stmt);
		return;
	}
	stmt->table = pick_table(sim);
	if ((kind -= o->update) < 0) {
		stmt->action = ACTION_UPDATE;
		stmt->key = pick_key(sim, stmt->table);
		stmt->value = pick_value(sim);
	} else if ((kind -= o->insert) < 0) {
		stmt->action = ACTION_INSERT;
		stmt->key = pick_key_existing(sim, stmt->table, false);
		stmt->value = pick_value(sim);
	} else if ((kind -= o->delete) < 0) {
		stmt->action = ACTION_DELETE;
		stmt->key = pick_key_existing(sim, stmt->table, true);
	} else if ((kind -= o->pk_update) < 0) {
		stmt->action = ACTION_PK_UPDATE;
		stmt->key = pick_key_existing(sim, stmt->table, true);
		stmt->new_key = pick_key_existing(sim, stmt->table, false);
	} else {
		stmt->action = sim_chance(sim, o->locking) ? ACTION_READ_LOCK : ACTION_READ;
		stmt->key = pick_key(sim, stmt->table);
	}
}

static void begin_txn(struct sim *sim, struct sim_session *s)
{
	const struct sim_options *o = sim->options;

	sim->transactions_left--;
	s->txn = ++sim->next_txn;
	s->autocommit = sim_chance(sim, o->autocommit);
	s->savepoint = false;
	s->consistent_snapshot = false;
	s->will_abort = s->will_be_unknown = false;
	if (s->autocommit) {
		sim_pick_data_stmt(sim, &s->stmt);
		return;
	}
	/* Elsewhere the server ignores it, with a warning. */
	s->consistent_snapshot =
		sim_chance(sim, o->consistent_snapshot) && s->level == LEVEL_REPEATABLE_READ;
	s->will_abort = sim_chance(sim, o->abort);
	if (!s->will_abort)
		s->will_be_unknown = sim_chance(sim, o->unknown);
	s->ops_left = 1 + (uint32_t)sim_random_below(sim, 2 * (uint64_t)o->ops - 1);
	s->stmt.action = ACTION_BEGIN;
}

bool sim_next_stmt(struct sim *sim, struct sim_session *s)
{
	s->stmt = (struct sim_stmt){0};
	if (!s->txn) {
		if (sim->transactions_left == 0)
			return false;
		begin_txn(sim, s);
		return true;
	}
	if (s->ops_left == 0) {
		s->stmt.action = s->will_abort ? ACTION_ROLLBACK : ACTION_COMMIT;
		return true;
	}
	if (sim_chance(sim, sim->options->savepoint)) {
		s->stmt.action = s->savepoint && sim_chance(sim, 0.7) ? ACTION_ROLLBACK_TO
								      : ACTION_SAVEPOINT;
		return true;
	}
	s->ops_left--;
	sim_pick_data_stmt(sim, &s->stmt);
	return true;
}

/* ---- text ---- */

static void add_int(struct buf *out, int64_t value)
{
	char digits[24];
	char *p = digits + sizeof(digits);
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		*--p = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		*--p = '-';
	buf_add(out, p, (size_t)(digits + sizeof(digits) - p));
}

static void add_key_clause(struct buf *out, const char *before, int64_t key)
{
	buf_add_str(out, before);
	add_int(out, key);
}

static void add_predicate(struct buf *out, struct sim_session *s)
{
	buf_clear(&s->predicate);
	buf_add_str(&s->predicate, s->stmt.by_key ? "k between " : "v between ");
	add_int(&s->predicate, s->stmt.low);
	buf_add_str(&s->predicate, " and ");
	add_int(&s->predicate, s->stmt.high);
	buf_add_str(out, " where ");
	buf_add_span(out, buf_span(&s->predicate));
}

static void add_update(struct buf *out, const char *table, const char *set, int64_t value)
{
	buf_add_str(out, "update ");
	buf_add_str(out, table);
	buf_add_str(out, set);
	add_int(out, value);
}

void sim_stmt_text(const struct sim *sim, struct sim_session *s)
{
	const struct sim_stmt *stmt = &s->stmt;
	const char *table = sim->tables[stmt->table].name;
	struct buf *out = &s->text;

	buf_clear(out);
	buf_clear(&s->predicate);
	switch (stmt->action) {
	case ACTION_BEGIN:
		buf_add_str(out, s->consistent_snapshot
					 ? "start transaction with consistent snapshot"
					 : "begin");
		return;
	case ACTION_COMMIT:
		buf_add_str(out, "commit");
		return;
	case ACTION_ROLLBACK:
		buf_add_str(out, "rollback");
		return;
	case ACTION_SAVEPOINT:
		buf_add_str(out, "savepoint s1");
		return;
	case ACTION_ROLLBACK_TO:
		buf_add_str(out, "rollback to savepoint s1");
		return;
	case ACTION_SET_LEVEL:
		buf_add_str(out, "set transaction isolation level repeatable read");
		return;
	case ACTION_READ:
	case ACTION_READ_LOCK:
		buf_add_str(out, "select k, v from ");
		buf_add_str(out, table);
		add_key_clause(out, " where k=", stmt->key);
		if (stmt->action == ACTION_READ_LOCK)
			buf_add_str(out, " for update");
		return;
	case ACTION_UPDATE:
		add_update(out, table, " set v=", stmt->value);
		add_key_clause(out, " where k=", stmt->key);
		return;
	case ACTION_INSERT:
		buf_add_str(out, "insert into ");
		buf_add_str(out, table);
		add_key_clause(out, " (k, v) values (", stmt->key);
		add_key_clause(out, ", ", stmt->value);
		buf_add_char(out, ')');
		return;
	case ACTION_DELETE:
		buf_add_str(out, "delete from ");
		buf_add_str(out, table);
		add_key_clause(out, " where k=", stmt->key);
		return;
	case ACTION_PK_UPDATE:
		add_update(out, table, " set k=", stmt->new_key);
		add_key_clause(out, " where k=", stmt->key);
		return;
	case ACTION_SCAN:
	case ACTION_SCAN_LOCK:
		buf_add_str(out, "select k, v from ");
		buf_add_str(out, table);
		add_predicate(out, s);
		if (stmt->action == ACTION_SCAN_LOCK)
			buf_add_str(out, " for update");
		return;
	case ACTION_SCAN_UPDATE:
		add_update(out, table, " set v=", stmt->value);
		add_predicate(out, s);
		return;
	case ACTION_SCAN_DELETE:
		buf_add_str(out, "delete from ");
		buf_add_str(out, table);
		add_predicate(out, s);
		return;
	}
}
