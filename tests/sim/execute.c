/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a statement does at the moment it takes effect.  store.h says what each discipline sees and
 * locks; the functions here are the only ones that read or write the store for a session.
 *
 * A statement takes all its locks before it changes anything; when it has to wait, it starts over
 * later.  So it takes effect at one moment, or not at all.
 */
#include "base/bug.h"
#include "sim/run.h"

/* How far a statement got. */
enum effect { EFFECT_DONE, EFFECT_WAIT, EFFECT_DEADLOCK, EFFECT_CONFLICT, EFFECT_DUPLICATE };

/* ---- the ground truth ---- */

uint32_t sim_truth_object(struct sim *sim, uint32_t table, uint32_t key)
{
	struct store_object *object = &sim->store.objects[sim->tables[table].first_object + key];

	if (object->truth == STORE_NONE)
		object->truth = twin_add_object(sim->truth, table, key);
	return object->truth;
}

uint32_t sim_truth_version(struct sim *sim, uint32_t table, uint32_t key, uint32_t version)
{
	if (version == STORE_NONE)
		return sim->truth->objects[sim_truth_object(sim, table, key)].unborn;
	return sim->store.versions[version].truth;
}

static void truth_op(struct sim *sim, struct sim_session *s, struct twin_op op)
{
	op.txn = s->truth_txn;
	op.stmt = s->truth_stmt;
	op.begin_seq = s->begin_seq;
	(void)twin_add_op(sim->truth, &op);
}

static void truth_read(
	struct sim *sim, struct sim_session *s, uint32_t key, uint32_t version, uint8_t read_kind)
{
	if (sim->truth)
		truth_op(sim, s,
			(struct twin_op){.kind = TWIN_READ,
				.version = sim_truth_version(sim, s->stmt.table, key, version),
				.read_kind = read_kind});
}

/* `version` was just written; `before` is what it overwrote. */
static void truth_write(
	struct sim *sim, struct sim_session *s, uint32_t key, uint32_t version, uint32_t before)
{
	struct store_version *v = &sim->store.versions[version];

	if (!sim->truth)
		return;
	v->truth = twin_add_version(sim->truth,
		&(struct twin_version){.object = sim_truth_object(sim, s->stmt.table, key),
			.txn = s->truth_txn,
			.previous = sim_truth_version(sim, s->stmt.table, key, before),
			.name = v->dead ? 0 : v->name,
			.stmt_seq = s->begin_seq,
			.value = v->value,
			.exists = !v->dead});
	truth_op(sim, s, (struct twin_op){.kind = TWIN_WRITE, .version = v->truth});
}

/* ---- probes ---- */

static struct sim_rows *use_probe(
	struct sim_session *s, enum probe_kind kind, bool exact, uint8_t read_kind)
{
	if (!s->probe_used[kind]) {
		s->probe_used[kind] = true;
		s->probe_exact[kind] = exact;
		s->probe_read_kind[kind] = read_kind;
		sim_rows_clear(&s->probes[kind]);
	}
	return &s->probes[kind];
}

/* Whether a SELECT of its own, right before a statement, sees what the statement sees: where both
 * come from one stable snapshot, or where locks keep everybody else out (design, section 5). */
static bool separate_select_exact(const struct sim *sim, bool of_write)
{
	switch (sim->options->discipline) {
	case SIM_SERIALIZABLE:
	case SIM_SNAPSHOT:
		return true;
	case SIM_REPEATABLE_READ:
		return !of_write; /* the write acts on the newest version */
	case SIM_READ_COMMITTED:
	case SIM_READ_UNCOMMITTED:
		return false;
	}
	BUG("discipline %d", (int)sim->options->discipline);
}

static void add_version_row(struct sim *sim, struct sim_rows *rows, uint32_t key, uint32_t version)
{
	const struct store_version *v =
		version == STORE_NONE ? NULL : &sim->store.versions[version];
	bool exists = v && !v->dead;

	sim_rows_add_probe(rows, &(struct sim_probe_row){.key = key,
					 .version = exists ? v->name : 0,
					 .value = exists ? v->value : 0,
					 .has_image = exists && !sim->options->no_images});
}

/* What a plain read returns. */
static uint32_t plain_view(struct sim *sim, struct sim_session *s, uint32_t object)
{
	struct store_session *ss = &sim->store.sessions[s->index];

	switch (sim->options->discipline) {
	case SIM_SNAPSHOT:
	case SIM_REPEATABLE_READ:
		if (ss->snapshot == STORE_NEWEST)
			ss->snapshot = sim->store.stamp;
		return store_visible(&sim->store, object, ss->snapshot, s->index);
	case SIM_SERIALIZABLE:
	case SIM_READ_COMMITTED:
		return store_visible(&sim->store, object, STORE_NEWEST - 1, s->index);
	case SIM_READ_UNCOMMITTED:
		return store_newest(&sim->store, object);
	}
	BUG("discipline %d", (int)sim->options->discipline);
}

static uint8_t plain_kind(const struct sim *sim)
{
	switch (sim->options->discipline) {
	case SIM_SNAPSHOT:
	case SIM_REPEATABLE_READ:
	case SIM_READ_COMMITTED:
		return PROBE_READ_SNAPSHOT;
	case SIM_SERIALIZABLE:
		return PROBE_READ_CURRENT;
	case SIM_READ_UNCOMMITTED:
		return PROBE_READ_DIRTY;
	}
	BUG("discipline %d", (int)sim->options->discipline);
}

/* What a write or a locking read acts on. */
static uint32_t current_view(struct sim *sim, struct sim_session *s, uint32_t object)
{
	if (sim->options->discipline == SIM_SNAPSHOT)
		return plain_view(sim, s, object);
	return store_visible(&sim->store, object, STORE_NEWEST - 1, s->index);
}

static bool is_write(enum sim_action action)
{
	return action == ACTION_UPDATE || action == ACTION_INSERT || action == ACTION_DELETE ||
	       action == ACTION_PK_UPDATE || action == ACTION_SCAN_UPDATE ||
	       action == ACTION_SCAN_DELETE;
}

static bool is_scan(enum sim_action action)
{
	return action == ACTION_SCAN || action == ACTION_SCAN_LOCK ||
	       action == ACTION_SCAN_UPDATE || action == ACTION_SCAN_DELETE;
}

static bool matches(const struct sim_stmt *stmt, uint32_t key, int64_t value)
{
	int64_t tested = stmt->by_key ? (int64_t)key : value;

	return tested >= stmt->low && tested <= stmt->high;
}

void sim_probe_before(struct sim *sim, struct sim_session *s)
{
	const struct sim_table *t = &sim->tables[s->stmt.table];
	bool write = is_write(s->stmt.action);

	if (sim->options->probes != SIM_PROBES_SELECT || s->stmt.action < ACTION_READ ||
		separate_select_exact(sim, write || s->stmt.action == ACTION_READ_LOCK))
		return;
	/* It runs before the statement, on its own, and may see something else. */
	if (is_scan(s->stmt.action)) {
		for (uint32_t key = 0; key < t->keys; key++) {
			uint32_t v = plain_view(sim, s, t->first_object + key);

			if (!store_exists(&sim->store, v))
				continue;
			if (!sim->options->no_version_sets)
				add_version_row(sim,
					use_probe(s, PROBE_VSR, false, plain_kind(sim)), key, v);
			if (matches(&s->stmt, key, sim->store.versions[v].value))
				add_version_row(sim, use_probe(s, PROBE_PM, false, plain_kind(sim)),
					key, v);
		}
		(void)use_probe(s, PROBE_PM, false, plain_kind(sim));
	} else {
		enum probe_kind kind = write ? PROBE_BWR : PROBE_PM;
		struct sim_rows *rows = use_probe(s, kind, false, plain_kind(sim));
		uint32_t v = plain_view(sim, s, t->first_object + s->stmt.key);

		if (store_exists(&sim->store, v))
			add_version_row(sim, rows, s->stmt.key, v);
	}
}

/* A row that the statement returned, or found absent. */
static void probe_read(
	struct sim *sim, struct sim_session *s, uint32_t key, uint32_t version, uint8_t read_kind)
{
	bool exists = store_exists(&sim->store, version);

	truth_read(sim, s, key, version, read_kind);
	switch (sim->options->probes) {
	case SIM_PROBES_TRIGGER:
		add_version_row(sim, use_probe(s, PROBE_READ, true, read_kind), key, version);
		return;
	case SIM_PROBES_SELECT:
		if (is_scan(s->stmt.action))
			return; /* the predicate's own probes say it */
		if (!separate_select_exact(sim, s->stmt.action != ACTION_READ))
			return;
		if (is_write(s->stmt.action)) {
			(void)use_probe(s, PROBE_BWR, true, read_kind);
			if (exists)
				add_version_row(sim, &s->probes[PROBE_BWR], key, version);
			return;
		}
		(void)use_probe(s, PROBE_PM, true, read_kind);
		if (exists)
			add_version_row(sim, &s->probes[PROBE_PM], key, version);
		return;
	case SIM_PROBES_OFF:
		return;
	}
}

/* `version` was written over `before`, whose row may have had another key. */
static void probe_write(struct sim *sim, struct sim_session *s, uint32_t key, uint32_t version,
	uint32_t old_key, uint32_t before, enum probe_op op)
{
	const struct store_version *v = &sim->store.versions[version];
	const struct store_version *b =
		store_exists(&sim->store, before) ? &sim->store.versions[before] : NULL;
	bool images = !sim->options->no_images;

	switch (sim->options->probes) {
	case SIM_PROBES_TRIGGER:
		sim_rows_add_probe(use_probe(s, PROBE_WRITE, true, PROBE_READ_CURRENT),
			&(struct sim_probe_row){.key = key,
				.version = v->dead ? 0 : v->name,
				.value = v->value,
				.has_previous = true,
				.previous = b ? b->name : 0,
				.has_image = !v->dead && images,
				.op = op,
				.has_old_key = old_key != key,
				.old_key = old_key,
				.has_old_image = b && images,
				.old_value = b ? b->value : 0});
		return;
	case SIM_PROBES_SELECT:
		if (separate_select_exact(sim, true)) {
			(void)use_probe(s, PROBE_BWR, true, PROBE_READ_CURRENT);
			if (b)
				add_version_row(sim, &s->probes[PROBE_BWR], old_key, before);
		}
		/* Nobody else can have touched the row since: it is locked. */
		(void)use_probe(s, PROBE_AWR, true, PROBE_READ_CURRENT);
		if (!v->dead)
			add_version_row(sim, &s->probes[PROBE_AWR], key, version);
		return;
	case SIM_PROBES_OFF:
		return;
	}
}

/* ---- locks ---- */

static enum effect effect_of(enum store_grant grant)
{
	switch (grant) {
	case GRANT_OK:
		return EFFECT_DONE;
	case GRANT_WAIT:
		return EFFECT_WAIT;
	case GRANT_DEADLOCK:
		return EFFECT_DEADLOCK;
	}
	BUG("grant %d", (int)grant);
}

static enum effect lock_table(struct sim *sim, struct sim_session *s, enum store_lock_mode mode)
{
	if (sim->options->discipline != SIM_SERIALIZABLE)
		return EFFECT_DONE;
	return effect_of(
		store_lock(&sim->store, s->index, sim->tables[s->stmt.table].lock_object, mode));
}

/* Exclusive, for a write or a locking read. */
static enum effect lock_row(struct sim *sim, struct sim_session *s, uint32_t key)
{
	return effect_of(store_lock(
		&sim->store, s->index, sim->tables[s->stmt.table].first_object + key, LOCK_X));
}

/* Snapshot isolation: somebody committed a version of it after the snapshot. */
static bool changed_since(struct sim *sim, struct sim_session *s, uint32_t key)
{
	uint32_t object = sim->tables[s->stmt.table].first_object + key;
	uint32_t newest = store_visible(&sim->store, object, STORE_NEWEST - 1, s->index);

	return sim->options->discipline == SIM_SNAPSHOT && newest != STORE_NONE &&
	       newest != plain_view(sim, s, object);
}

/* ---- statements by key ---- */

static uint32_t object_of(const struct sim *sim, const struct sim_session *s, uint32_t key)
{
	return sim->tables[s->stmt.table].first_object + key;
}

static enum effect do_read(struct sim *sim, struct sim_session *s)
{
	uint32_t key = s->stmt.key, object = object_of(sim, s, key), v;
	bool locking = s->stmt.action == ACTION_READ_LOCK;
	bool serializable = sim->options->discipline == SIM_SERIALIZABLE;
	uint8_t kind = locking ? PROBE_READ_CURRENT : plain_kind(sim);
	enum effect effect = EFFECT_DONE;

	if (serializable)
		effect = lock_table(sim, s, locking ? LOCK_IX : LOCK_IS);
	if (effect == EFFECT_DONE && locking)
		effect = lock_row(sim, s, key);
	else if (effect == EFFECT_DONE && serializable)
		effect = effect_of(store_lock(&sim->store, s->index, object, LOCK_S));
	if (effect != EFFECT_DONE)
		return effect;
	if (locking && changed_since(sim, s, key))
		return EFFECT_CONFLICT;
	v = locking ? current_view(sim, s, object) : plain_view(sim, s, object);
	probe_read(sim, s, key, v, kind);
	s->has_result = true;
	if (store_exists(&sim->store, v))
		sim_rows_add_row(&s->result, key, sim->store.versions[v].value);
	return EFFECT_DONE;
}

/* The table's intention lock, then the row's: for anything that writes a key. */
static enum effect lock_for_write(struct sim *sim, struct sim_session *s, uint32_t key)
{
	enum effect effect = lock_table(sim, s, LOCK_IX);

	return effect == EFFECT_DONE ? lock_row(sim, s, key) : effect;
}

static uint8_t write_read_kind(const struct sim *sim)
{
	return sim->options->discipline == SIM_SNAPSHOT ? PROBE_READ_SNAPSHOT : PROBE_READ_CURRENT;
}

static enum effect do_update_or_delete(struct sim *sim, struct sim_session *s)
{
	uint32_t key = s->stmt.key, object = object_of(sim, s, key), before, v;
	bool delete = s->stmt.action == ACTION_DELETE;
	enum effect effect = lock_for_write(sim, s, key);

	if (effect != EFFECT_DONE)
		return effect;
	before = current_view(sim, s, object);
	/* No such row, or nothing to change: it only looked. */
	if (!store_exists(&sim->store, before) ||
		(!delete &&sim->store.versions[before].value == s->stmt.value)) {
		probe_read(sim, s, key, before, write_read_kind(sim));
		return EFFECT_DONE;
	}
	if (changed_since(sim, s, key))
		return EFFECT_CONFLICT;
	v = store_write(&sim->store, s->index, object, delete ? 0 : s->stmt.value, delete);
	truth_write(sim, s, key, v, before);
	probe_write(sim, s, key, v, key, before, delete ? PROBE_OP_DELETE : PROBE_OP_UPDATE);
	s->affected = 1;
	return EFFECT_DONE;
}

static enum effect do_insert(struct sim *sim, struct sim_session *s)
{
	uint32_t key = s->stmt.key, object = object_of(sim, s, key), before, v;
	enum effect effect = lock_for_write(sim, s, key);

	if (effect != EFFECT_DONE)
		return effect;
	if (changed_since(sim, s, key))
		return EFFECT_CONFLICT;
	before = current_view(sim, s, object);
	if (store_exists(&sim->store, before))
		return EFFECT_DUPLICATE;
	v = store_write(&sim->store, s->index, object, s->stmt.value, false);
	truth_write(sim, s, key, v, before);
	probe_write(sim, s, key, v, key, before, PROBE_OP_INSERT);
	s->affected = 1;
	return EFFECT_DONE;
}

/* One write: the old key's row dies, the new key's is born. */
static enum effect do_pk_update(struct sim *sim, struct sim_session *s)
{
	uint32_t from = s->stmt.key, to = s->stmt.new_key;
	uint32_t before, before_to, v;
	enum effect effect = lock_for_write(sim, s, from);
	int64_t value;

	if (effect == EFFECT_DONE)
		effect = lock_row(sim, s, to);
	if (effect != EFFECT_DONE)
		return effect;
	before = current_view(sim, s, object_of(sim, s, from));
	if (!store_exists(&sim->store, before) || from == to) {
		probe_read(sim, s, from, before, write_read_kind(sim));
		return EFFECT_DONE;
	}
	if (changed_since(sim, s, from) || changed_since(sim, s, to))
		return EFFECT_CONFLICT;
	before_to = current_view(sim, s, object_of(sim, s, to));
	if (store_exists(&sim->store, before_to))
		return EFFECT_DUPLICATE;
	value = sim->store.versions[before].value;
	v = store_write(&sim->store, s->index, object_of(sim, s, from), 0, true);
	truth_write(sim, s, from, v, before);
	v = store_write(&sim->store, s->index, object_of(sim, s, to), value, false);
	truth_write(sim, s, to, v, before_to);
	probe_write(sim, s, to, v, from, before, PROBE_OP_UPDATE);
	s->affected = 1;
	return EFFECT_DONE;
}

/* ---- statements by predicate ---- */

static uint32_t scan_view(struct sim *sim, struct sim_session *s, uint32_t key)
{
	uint32_t object = object_of(sim, s, key);

	return s->stmt.action == ACTION_SCAN ? plain_view(sim, s, object)
					     : current_view(sim, s, object);
}

static bool scan_matches(struct sim *sim, struct sim_session *s, uint32_t key, uint32_t v)
{
	return store_exists(&sim->store, v) && matches(&s->stmt, key, sim->store.versions[v].value);
}

static enum effect scan_locks(struct sim *sim, struct sim_session *s)
{
	uint32_t keys = sim->tables[s->stmt.table].keys;
	enum effect effect;

	if (s->stmt.action == ACTION_SCAN)
		return lock_table(sim, s, LOCK_S);
	effect = lock_table(sim, s, LOCK_SIX);
	for (uint32_t key = 0; effect == EFFECT_DONE && key < keys; key++)
		if (scan_matches(sim, s, key, scan_view(sim, s, key)))
			effect = lock_row(sim, s, key);
	for (uint32_t key = 0; effect == EFFECT_DONE && key < keys; key++)
		if (scan_matches(sim, s, key, scan_view(sim, s, key)) && changed_since(sim, s, key))
			effect = EFFECT_CONFLICT;
	return effect;
}

/* The predicate read itself: what it saw and what matched. */
static void probe_predicate(struct sim *sim, struct sim_session *s, uint8_t read_kind)
{
	uint32_t keys = sim->tables[s->stmt.table].keys;
	bool write = s->stmt.action != ACTION_SCAN, probe = sim->options->probes != SIM_PROBES_OFF;
	struct twin_predicate predicate = {.table = s->stmt.table,
		.by_key = s->stmt.by_key,
		.low = s->stmt.low,
		.high = s->stmt.high,
		.write = write};

	if (sim->options->probes == SIM_PROBES_SELECT)
		probe = separate_select_exact(sim, write);
	if (sim->truth)
		predicate.first = (uint32_t)sim->truth->set_count;
	if (probe)
		(void)use_probe(s, PROBE_PM, true, read_kind);
	if (probe && !sim->options->no_version_sets)
		(void)use_probe(s, PROBE_VSR, true, read_kind);
	for (uint32_t key = 0; key < keys && (probe || sim->truth); key++) {
		uint32_t v = scan_view(sim, s, key);

		if (sim->truth && v != STORE_NONE)
			twin_add_to_set(sim->truth, sim->store.versions[v].truth);
		if (!probe || !store_exists(&sim->store, v))
			continue;
		if (!sim->options->no_version_sets)
			add_version_row(sim, &s->probes[PROBE_VSR], key, v);
		if (scan_matches(sim, s, key, v))
			add_version_row(sim, &s->probes[PROBE_PM], key, v);
	}
	if (sim->truth) {
		predicate.count = (uint32_t)sim->truth->set_count - predicate.first;
		truth_op(sim, s,
			(struct twin_op){.kind = TWIN_PREDICATE,
				.predicate = twin_add_predicate(sim->truth, &predicate),
				.read_kind = read_kind});
	}
}

static enum effect do_scan(struct sim *sim, struct sim_session *s)
{
	uint32_t keys = sim->tables[s->stmt.table].keys;
	enum sim_action action = s->stmt.action;
	uint8_t kind = action == ACTION_SCAN ? plain_kind(sim) : write_read_kind(sim);
	enum effect effect = scan_locks(sim, s);

	if (effect != EFFECT_DONE)
		return effect;
	probe_predicate(sim, s, kind);
	s->has_result = action == ACTION_SCAN || action == ACTION_SCAN_LOCK;
	for (uint32_t key = 0; key < keys; key++) {
		uint32_t before = scan_view(sim, s, key), v;
		bool delete = action == ACTION_SCAN_DELETE;

		if (!scan_matches(sim, s, key, before))
			continue;
		if (s->has_result) {
			probe_read(sim, s, key, before, kind);
			sim_rows_add_row(&s->result, key, sim->store.versions[before].value);
			continue;
		}
		if (!delete &&sim->store.versions[before].value == s->stmt.value)
			continue;
		v = store_write(&sim->store, s->index, object_of(sim, s, key),
			delete ? 0 : s->stmt.value, delete);
		truth_write(sim, s, key, v, before);
		probe_write(
			sim, s, key, v, key, before, delete ? PROBE_OP_DELETE : PROBE_OP_UPDATE);
		s->affected++;
	}
	return EFFECT_DONE;
}

/* ---- transactions ---- */

static void undo_to(struct sim *sim, struct sim_session *s, size_t count, bool savepoint)
{
	struct store_session *ss = &sim->store.sessions[s->index];

	while (ss->written_count > count) {
		if (sim->truth && savepoint) {
			uint32_t v = store_newest(&sim->store, ss->written[ss->written_count - 1]);

			sim->truth->versions[sim->store.versions[v].truth].undone_seq = sim->seq;
		}
		store_undo_to(&sim->store, s->index, ss->written_count - 1);
	}
}

static void end_txn(struct sim *sim, struct sim_session *s, bool commit, uint8_t outcome)
{
	if (commit)
		store_commit(&sim->store, s->index);
	else
		undo_to(sim, s, 0, false);
	store_end(&sim->store, s->index);
	s->txn_ended = true;
	s->txn_outcome = outcome;
}

static void do_commit(struct sim *sim, struct sim_session *s)
{
	/* Whatever the server did, the trace does not know. */
	if (s->will_be_unknown) {
		s->no_reply = true;
		end_txn(sim, s, sim_chance(sim, 0.5), TXN_UNKNOWN);
	} else {
		end_txn(sim, s, true, TXN_COMMITTED);
	}
}

static enum effect do_statement(struct sim *sim, struct sim_session *s)
{
	struct store_session *ss = &sim->store.sessions[s->index];

	switch (s->stmt.action) {
	case ACTION_BEGIN:
		if (s->consistent_snapshot)
			ss->snapshot = sim->store.stamp;
		return EFFECT_DONE;
	case ACTION_COMMIT:
		do_commit(sim, s);
		return EFFECT_DONE;
	case ACTION_ROLLBACK:
		end_txn(sim, s, false, TXN_ABORTED);
		return EFFECT_DONE;
	case ACTION_SAVEPOINT:
		s->savepoint = true;
		s->savepoint_written = ss->written_count;
		return EFFECT_DONE;
	case ACTION_ROLLBACK_TO:
		undo_to(sim, s, s->savepoint_written, true);
		return EFFECT_DONE;
	case ACTION_READ:
	case ACTION_READ_LOCK:
		return do_read(sim, s);
	case ACTION_UPDATE:
	case ACTION_DELETE:
		return do_update_or_delete(sim, s);
	case ACTION_INSERT:
		return do_insert(sim, s);
	case ACTION_PK_UPDATE:
		return do_pk_update(sim, s);
	case ACTION_SCAN:
	case ACTION_SCAN_LOCK:
	case ACTION_SCAN_UPDATE:
	case ACTION_SCAN_DELETE:
		return do_scan(sim, s);
	}
	BUG("action %d", (int)s->stmt.action);
}

bool sim_execute(struct sim *sim, struct sim_session *s)
{
	switch (do_statement(sim, s)) {
	case EFFECT_DONE:
		if (s->autocommit)
			end_txn(sim, s, true, TXN_COMMITTED);
		return true;
	case EFFECT_WAIT:
		return false;
	case EFFECT_DEADLOCK:
		s->error = 1213;
		sim->stats.deadlocks++;
		end_txn(sim, s, false, TXN_ABORTED);
		return true;
	case EFFECT_CONFLICT:
		s->error = 1020;
		sim->stats.conflicts++;
		end_txn(sim, s, false, TXN_ABORTED);
		return true;
	case EFFECT_DUPLICATE:
		s->error = 1062;
		if (s->autocommit)
			end_txn(sim, s, false, TXN_ABORTED);
		return true;
	}
	BUG("effect");
}
