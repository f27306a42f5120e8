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
	uint32_t object;

	if (version != STORE_NONE)
		return sim->store.versions[version].truth;
	object = sim_truth_object(sim, table, key); /* moves the array */
	return sim->truth->objects[object].unborn;
}

void sim_truth_op(struct sim *sim, struct sim_session *s, struct twin_op op)
{
	if (!sim->truth)
		return;
	op.txn = s->truth_txn;
	op.stmt = s->truth_stmt;
	op.begin_seq = s->begin_seq;
	(void)twin_add_op(sim->truth, &op);
}

struct sim_seen sim_seen(struct sim *sim, uint32_t table, uint32_t key, uint32_t version)
{
	struct sim_seen seen = {.truth = TWIN_NONE};

	if (sim->truth)
		seen.truth = sim_truth_version(sim, table, key, version);
	if (!store_exists(&sim->store, version))
		return seen;
	seen.exists = true;
	seen.name = sim->store.versions[version].name;
	seen.value = sim->store.versions[version].value;
	return seen;
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
 * come from one stable snapshot, or where locks keep all others out (semantics.md, section 9). */
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

static void add_version_row(
	struct sim *sim, struct sim_rows *rows, uint32_t key, const struct sim_seen *seen)
{
	sim_rows_add_probe(rows, &(struct sim_probe_row){.key = key,
					 .version = seen->exists ? seen->name : 0,
					 .value = seen->value,
					 .has_image = seen->exists && !sim->options->no_images});
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

uint8_t sim_plain_kind(const struct sim *sim)
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

bool sim_matches(const struct sim_stmt *stmt, uint32_t key, const struct sim_seen *seen)
{
	int64_t tested = stmt->by_key ? (int64_t)key : seen->value;

	return seen->exists && tested >= stmt->low && tested <= stmt->high;
}

void sim_probe_before(struct sim *sim, struct sim_session *s)
{
	const struct sim_table *t = &sim->tables[s->stmt.table];
	uint8_t kind = sim_plain_kind(sim);
	bool write = is_write(s->stmt.action);

	if (sim->options->probes != SIM_PROBES_SELECT || s->stmt.action < ACTION_READ ||
		separate_select_exact(sim, write || s->stmt.action == ACTION_READ_LOCK))
		return;
	/* It runs before the statement, on its own, and may see something else. */
	if (is_scan(s->stmt.action)) {
		(void)use_probe(s, PROBE_PM, false, kind);
		for (uint32_t key = 0; key < t->keys; key++) {
			uint32_t v = plain_view(sim, s, t->first_object + key);
			struct sim_seen seen = sim_seen(sim, s->stmt.table, key, v);

			if (seen.exists && !sim->options->no_version_sets)
				add_version_row(
					sim, use_probe(s, PROBE_VSR, false, kind), key, &seen);
			if (sim_matches(&s->stmt, key, &seen))
				add_version_row(sim, &s->probes[PROBE_PM], key, &seen);
		}
	} else {
		struct sim_rows *rows = use_probe(s, write ? PROBE_BWR : PROBE_PM, false, kind);
		struct sim_seen seen = sim_seen(sim, s->stmt.table, s->stmt.key,
			plain_view(sim, s, t->first_object + s->stmt.key));

		if (seen.exists)
			add_version_row(sim, rows, s->stmt.key, &seen);
	}
}

void sim_note_read(struct sim *sim, struct sim_session *s, uint32_t key,
	const struct sim_seen *seen, uint8_t read_kind)
{
	enum probe_kind kind = is_write(s->stmt.action) ? PROBE_BWR : PROBE_PM;

	sim_truth_op(sim, s,
		(struct twin_op){
			.kind = TWIN_READ, .version = seen->truth, .read_kind = read_kind});
	switch (sim->options->probes) {
	case SIM_PROBES_TRIGGER:
		add_version_row(sim, use_probe(s, PROBE_READ, true, read_kind), key, seen);
		return;
	case SIM_PROBES_SELECT:
		/* A predicate's own probes say it; what is not exact ran before. */
		if (is_scan(s->stmt.action) ||
			!separate_select_exact(sim, s->stmt.action != ACTION_READ))
			return;
		(void)use_probe(s, kind, true, read_kind);
		if (seen->exists)
			add_version_row(sim, &s->probes[kind], key, seen);
		return;
	case SIM_PROBES_OFF:
		return;
	}
}

void sim_note_write(struct sim *sim, struct sim_session *s, uint32_t key,
	const struct sim_seen *now, uint32_t old_key, const struct sim_seen *before,
	enum probe_op op)
{
	bool images = !sim->options->no_images;

	sim_truth_op(sim, s, (struct twin_op){.kind = TWIN_WRITE, .version = now->truth});
	switch (sim->options->probes) {
	case SIM_PROBES_TRIGGER:
		sim_rows_add_probe(use_probe(s, PROBE_WRITE, true, PROBE_READ_CURRENT),
			&(struct sim_probe_row){.key = key,
				.version = now->exists ? now->name : 0,
				.value = now->value,
				.has_previous = true,
				.previous = before->exists ? before->name : 0,
				.has_image = now->exists && images,
				.op = op,
				.has_old_key = old_key != key,
				.old_key = old_key,
				.has_old_image = before->exists && images,
				.old_value = before->value});
		return;
	case SIM_PROBES_SELECT:
		if (separate_select_exact(sim, true)) {
			(void)use_probe(s, PROBE_BWR, true, PROBE_READ_CURRENT);
			if (before->exists)
				add_version_row(sim, &s->probes[PROBE_BWR], old_key, before);
		}
		/* No other transaction can have touched the row since: it is locked. */
		(void)use_probe(s, PROBE_AWR, true, PROBE_READ_CURRENT);
		if (now->exists)
			add_version_row(sim, &s->probes[PROBE_AWR], key, now);
		return;
	case SIM_PROBES_OFF:
		return;
	}
}

void sim_note_predicate_begin(
	struct sim *sim, struct sim_session *s, uint8_t read_kind, struct twin_predicate *predicate)
{
	bool probe = sim->options->probes != SIM_PROBES_OFF;

	*predicate = (struct twin_predicate){.table = s->stmt.table,
		.by_key = s->stmt.by_key,
		.low = s->stmt.low,
		.high = s->stmt.high,
		.write = s->stmt.action != ACTION_SCAN};
	if (sim->truth)
		predicate->first = (uint32_t)sim->truth->set_count;
	if (sim->options->probes == SIM_PROBES_SELECT)
		probe = separate_select_exact(sim, predicate->write);
	if (!probe)
		return;
	(void)use_probe(s, PROBE_PM, true, read_kind);
	if (!sim->options->no_version_sets)
		(void)use_probe(s, PROBE_VSR, true, read_kind);
}

void sim_note_predicate_row(
	struct sim *sim, struct sim_session *s, uint32_t key, const struct sim_seen *seen)
{
	if (sim->truth && !sim->truth->versions[seen->truth].unborn)
		twin_add_to_set(sim->truth, seen->truth);
	if (!seen->exists || !s->probe_used[PROBE_PM] || !s->probe_exact[PROBE_PM])
		return;
	if (s->probe_used[PROBE_VSR])
		add_version_row(sim, &s->probes[PROBE_VSR], key, seen);
	if (sim_matches(&s->stmt, key, seen))
		add_version_row(sim, &s->probes[PROBE_PM], key, seen);
}

void sim_note_predicate_end(
	struct sim *sim, struct sim_session *s, uint8_t read_kind, struct twin_predicate *predicate)
{
	if (!sim->truth)
		return;
	predicate->count = (uint32_t)sim->truth->set_count - predicate->first;
	sim_truth_op(sim, s,
		(struct twin_op){.kind = TWIN_PREDICATE,
			.predicate = twin_add_predicate(sim->truth, predicate),
			.read_kind = read_kind});
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

/* Snapshot isolation: another transaction committed a version of it after the snapshot. */
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
	uint8_t kind = locking ? PROBE_READ_CURRENT : sim_plain_kind(sim);
	enum effect effect = EFFECT_DONE;
	struct sim_seen seen;

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
	seen = sim_seen(sim, s->stmt.table, key, v);
	sim_note_read(sim, s, key, &seen, kind);
	s->has_result = true;
	if (seen.exists)
		sim_rows_add_row(&s->result, key, seen.value);
	return EFFECT_DONE;
}

/* Writes a version over the one that `before` names, and notes it. */
static void write_version(struct sim *sim, struct sim_session *s, uint32_t key, uint32_t before,
	int64_t value, enum probe_op op)
{
	struct sim_seen old = sim_seen(sim, s->stmt.table, key, before), now;
	uint32_t v = store_write(
		&sim->store, s->index, object_of(sim, s, key), value, op == PROBE_OP_DELETE);

	truth_write(sim, s, key, v, before);
	now = sim_seen(sim, s->stmt.table, key, v);
	sim_note_write(sim, s, key, &now, key, &old, op);
	s->affected++;
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
	uint32_t key = s->stmt.key, object = object_of(sim, s, key), before;
	bool delete = s->stmt.action == ACTION_DELETE;
	enum effect effect = lock_for_write(sim, s, key);

	if (effect != EFFECT_DONE)
		return effect;
	before = current_view(sim, s, object);
	/* No such row, or nothing to change: it only looked. */
	if (!store_exists(&sim->store, before) ||
		(!delete &&sim->store.versions[before].value == s->stmt.value)) {
		struct sim_seen seen = sim_seen(sim, s->stmt.table, key, before);

		sim_note_read(sim, s, key, &seen, write_read_kind(sim));
		return EFFECT_DONE;
	}
	if (changed_since(sim, s, key))
		return EFFECT_CONFLICT;
	write_version(sim, s, key, before, delete ? 0 : s->stmt.value,
		delete ? PROBE_OP_DELETE : PROBE_OP_UPDATE);
	return EFFECT_DONE;
}

static enum effect do_insert(struct sim *sim, struct sim_session *s)
{
	uint32_t key = s->stmt.key, object = object_of(sim, s, key), before;
	enum effect effect = lock_for_write(sim, s, key);

	if (effect != EFFECT_DONE)
		return effect;
	if (changed_since(sim, s, key))
		return EFFECT_CONFLICT;
	before = current_view(sim, s, object);
	if (store_exists(&sim->store, before))
		return EFFECT_DUPLICATE;
	write_version(sim, s, key, before, s->stmt.value, PROBE_OP_INSERT);
	return EFFECT_DONE;
}

/* One write: the old key's row dies, the new key's is born. */
static enum effect do_pk_update(struct sim *sim, struct sim_session *s)
{
	uint32_t from = s->stmt.key, to = s->stmt.new_key;
	uint32_t before, before_to, v;
	enum effect effect = lock_for_write(sim, s, from);
	struct sim_seen old, now;

	if (effect == EFFECT_DONE)
		effect = lock_row(sim, s, to);
	if (effect != EFFECT_DONE)
		return effect;
	before = current_view(sim, s, object_of(sim, s, from));
	if (!store_exists(&sim->store, before) || from == to) {
		now = sim_seen(sim, s->stmt.table, from, before);
		sim_note_read(sim, s, from, &now, write_read_kind(sim));
		return EFFECT_DONE;
	}
	if (changed_since(sim, s, from) || changed_since(sim, s, to))
		return EFFECT_CONFLICT;
	before_to = current_view(sim, s, object_of(sim, s, to));
	if (store_exists(&sim->store, before_to))
		return EFFECT_DUPLICATE;
	old = sim_seen(sim, s->stmt.table, from, before);
	v = store_write(&sim->store, s->index, object_of(sim, s, from), 0, true);
	truth_write(sim, s, from, v, before);
	now = sim_seen(sim, s->stmt.table, from, v);
	sim_truth_op(sim, s, (struct twin_op){.kind = TWIN_WRITE, .version = now.truth});
	v = store_write(&sim->store, s->index, object_of(sim, s, to), old.value, false);
	truth_write(sim, s, to, v, before_to);
	now = sim_seen(sim, s->stmt.table, to, v);
	sim_note_write(sim, s, to, &now, from, &old, PROBE_OP_UPDATE);
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
	int64_t tested = s->stmt.by_key ? (int64_t)key : 0;

	if (!store_exists(&sim->store, v))
		return false;
	if (!s->stmt.by_key)
		tested = sim->store.versions[v].value;
	return tested >= s->stmt.low && tested <= s->stmt.high;
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
static void note_predicate(struct sim *sim, struct sim_session *s, uint8_t read_kind)
{
	uint32_t keys = sim->tables[s->stmt.table].keys;
	struct twin_predicate predicate;

	sim_note_predicate_begin(sim, s, read_kind, &predicate);
	for (uint32_t key = 0; key < keys; key++) {
		struct sim_seen seen = sim_seen(sim, s->stmt.table, key, scan_view(sim, s, key));

		sim_note_predicate_row(sim, s, key, &seen);
	}
	sim_note_predicate_end(sim, s, read_kind, &predicate);
}

static enum effect do_scan(struct sim *sim, struct sim_session *s)
{
	uint32_t keys = sim->tables[s->stmt.table].keys;
	enum sim_action action = s->stmt.action;
	uint8_t kind = action == ACTION_SCAN ? sim_plain_kind(sim) : write_read_kind(sim);
	enum effect effect = scan_locks(sim, s);

	if (effect != EFFECT_DONE)
		return effect;
	note_predicate(sim, s, kind);
	s->has_result = action == ACTION_SCAN || action == ACTION_SCAN_LOCK;
	for (uint32_t key = 0; key < keys; key++) {
		uint32_t before = scan_view(sim, s, key);
		struct sim_seen seen;

		if (!scan_matches(sim, s, key, before))
			continue;
		seen = sim_seen(sim, s->stmt.table, key, before);
		if (s->has_result) {
			sim_note_read(sim, s, key, &seen, kind);
			sim_rows_add_row(&s->result, key, seen.value);
		} else if (action == ACTION_SCAN_DELETE) {
			write_version(sim, s, key, before, 0, PROBE_OP_DELETE);
		} else if (seen.value != s->stmt.value) {
			write_version(sim, s, key, before, s->stmt.value, PROBE_OP_UPDATE);
		}
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

void sim_undo_to_savepoint(struct sim *sim, struct sim_session *s)
{
	undo_to(sim, s, s->savepoint_written, true);
}

void sim_end_in_store(struct sim *sim, struct sim_session *s, bool commit)
{
	if (commit)
		store_commit(&sim->store, s->index);
	else
		undo_to(sim, s, 0, false);
	store_end(&sim->store, s->index);
}

static void end_txn(struct sim *sim, struct sim_session *s, bool commit, uint8_t outcome)
{
	sim_end_in_store(sim, s, commit);
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
		sim_undo_to_savepoint(sim, s);
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
	case ACTION_SET_LEVEL:
		break;
	}
	BUG("action %d", (int)s->stmt.action);
}

void sim_time_out(struct sim *sim, struct sim_session *s)
{
	s->error = 1205;
	sim->stats.timeouts++;
	if (s->autocommit)
		end_txn(sim, s, false, TXN_ABORTED);
}

void sim_execute_at_once(struct sim *sim, struct sim_session *s)
{
	switch (do_statement(sim, s)) {
	case EFFECT_DONE:
		return;
	case EFFECT_WAIT:
	case EFFECT_DEADLOCK:
	case EFFECT_CONFLICT:
		sim->store.sessions[s->index].waits_for = STORE_NONE;
		sim_time_out(sim, s);
		return;
	case EFFECT_DUPLICATE:
		s->error = 1062;
		return;
	}
	BUG("effect");
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
