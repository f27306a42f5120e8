/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The multi-version store against a twin that keeps whole copies of the database: what each read
 * view sees, what is current, savepoints, rollbacks; and that the trail brings back every state.
 */
#include <string.h>

#include "mvcc/store/access_path.h"
#include "mvcc/store/purge.h"
#include "mvcc/store/store.h"
#include "unit.h"

enum { KEYS = 6, TXNS = 4, STEPS = 60 };

struct state { /* value of each key; -1: no row */
	int64_t row[KEYS];
};

struct twin_txn {
	struct state own; /* what it wrote; -2: nothing */
	struct state saved;
	bool has_saved, ended;
};

struct twin {
	struct state committed[STEPS + 1];
	uint32_t commits;
	struct twin_txn txns[TXNS];
};

static uint64_t random_state;

static uint32_t roll(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

static int64_t twin_sees(const struct twin *t, uint32_t txn, uint32_t view, int key)
{
	int64_t own = t->txns[txn].own.row[key];

	return own != -2 ? own : t->committed[view].row[key];
}

static bool locked_by_other(const struct twin *t, uint32_t txn, int key)
{
	for (uint32_t i = 0; i < TXNS; i++) {
		if (i != txn && !t->txns[i].ended && t->txns[i].own.row[key] != -2)
			return true;
	}
	return false;
}

struct world {
	struct store store;
	struct arena arena;
	struct store_table *table;
};

static void world_open(struct world *w)
{
	struct eval_env env = eval_env_default();
	struct sql_options options = sql_options_default();
	struct eval_outcome outcome = {0};
	struct eval_table *def;
	struct sql_stmt *stmt;
	struct err err;

	memset(w, 0, sizeof(*w));
	ck_assert(sql_parse(&w->arena, SPAN_LIT("create table t(k int primary key, v int)"),
		&options, &stmt, &err));
	def = eval_table_create(&w->arena, stmt->u.create_table, &env, &outcome);
	ck_assert_ptr_nonnull(def);
	store_init(&w->store, 1, TXNS);
	w->table = &w->store.tables[0];
	store_table_init(w->table, def, &w->arena);
}

static void world_close(struct world *w)
{
	store_release(&w->store);
	arena_release(&w->arena);
}

static struct store_record *record_of(struct world *w, int key)
{
	struct eval_value row[2] = {eval_int(key), EVAL_NULL_VALUE};

	return store_record_for(&w->store, w->table, row);
}

static void write_value(struct world *w, uint32_t txn, int key, int64_t value)
{
	struct eval_value *row = NULL;

	if (value >= 0) {
		row = arena_alloc(&w->store.arena, 2 * sizeof(*row));
		row[0] = eval_int(key);
		row[1] = eval_int(value);
	}
	store_write(&w->store, txn, 0, record_of(w, key), row);
}

static int64_t value_of(const struct store_version *v)
{
	return store_alive(v) ? v->image[1].i : -1;
}

static void compare(struct world *w, const struct twin *t)
{
	for (uint32_t i = 0; i < TXNS; i++) {
		if (t->txns[i].ended)
			continue;
		for (int key = 0; key < KEYS; key++) {
			struct store_record *record = record_of(w, key);

			UNIT_REQUIRE(value_of(store_current(&w->store, record, i + 1)) ==
				     twin_sees(t, i, t->commits, key));
			for (uint32_t view = 0; view <= t->commits; view++)
				UNIT_REQUIRE(value_of(store_visible(&w->store, record, i + 1,
						     view)) == twin_sees(t, i, view, key));
		}
	}
}

static void forget_own(struct twin_txn *txn)
{
	for (int key = 0; key < KEYS; key++)
		txn->own.row[key] = -2;
	txn->has_saved = false;
}

static void step(struct world *w, struct twin *t)
{
	uint32_t i = roll(TXNS);
	struct twin_txn *txn = &t->txns[i];
	int key = (int)roll(KEYS);

	if (txn->ended)
		return;
	switch (roll(12)) {
	case 0: /* commit */
		txn->ended = true;
		for (int k = 0, wrote = 0; k < KEYS; k++) {
			if (txn->own.row[k] == -2)
				continue;
			if (!wrote++) {
				t->commits++;
				t->committed[t->commits] = t->committed[t->commits - 1];
			}
			t->committed[t->commits].row[k] = txn->own.row[k];
		}
		/* A transaction that wrote and went back to a savepoint has nothing to show. */
		store_commit(&w->store, i + 1, 0);
		break;
	case 1:
		txn->ended = true;
		forget_own(txn);
		store_rollback(&w->store, i + 1, 0);
		break;
	case 2:
		txn->saved = txn->own;
		txn->has_saved = true;
		store_savepoint(&w->store, i + 1, SPAN_LIT("s"));
		break;
	case 3:
		UNIT_REQUIRE(store_savepoint_rollback(&w->store, i + 1, SPAN_LIT("S")) ==
			     txn->has_saved);
		if (txn->has_saved)
			txn->own = txn->saved;
		break;
	default:
		if (locked_by_other(t, i, key))
			break;
		txn->own.row[key] = roll(4) == 0 ? -1 : (int64_t)roll(1000);
		write_value(w, i + 1, key, txn->own.row[key]);
	}
}

START_TEST(views_see_what_whole_copies_hold)
{
	for (random_state = 1; random_state < 200;) {
		uint64_t seed = random_state;
		struct twin twin = {0}, before;
		struct world w;
		size_t mark;

		world_open(&w);
		for (int key = 0; key < KEYS; key++) {
			twin.committed[0].row[key] = key % 2 ? -1 : key;
			if (key % 2 == 0)
				write_value(&w, 0, key, key);
		}
		for (uint32_t i = 0; i < TXNS; i++)
			forget_own(&twin.txns[i]);
		for (int n = 0; n < STEPS / 2; n++) {
			step(&w, &twin);
			compare(&w, &twin);
		}
		/* On from here, and back again. */
		before = twin;
		mark = w.store.trail.count;
		for (int n = 0; n < STEPS / 2; n++)
			step(&w, &twin);
		trail_undo(&w.store.trail, mark);
		compare(&w, &before);
		for (int n = 0; n < STEPS / 4; n++) {
			step(&w, &before);
			compare(&w, &before);
		}
		world_close(&w);
		random_state = seed + 1;
	}
}
END_TEST

START_TEST(a_key_update_is_another_record)
{
	struct eval_value a[2] = {eval_int(1), eval_int(5)}, b[2] = {eval_int(2), eval_int(5)};
	struct eval_value c[2] = {eval_int(1), eval_int(6)};
	struct world w;

	world_open(&w);
	ck_assert(!store_same_record(&w.store, w.table, a, b));
	ck_assert(store_same_record(&w.store, w.table, a, c));
	ck_assert_ptr_eq(store_record_for(&w.store, w.table, a), store_find(&w.store, w.table, c));
	ck_assert_ptr_null(store_find(&w.store, w.table, b));
	world_close(&w);
}
END_TEST

START_TEST(only_certain_locks_are_kept)
{
	struct world w;
	struct store_record *r;

	world_open(&w);
	write_value(&w, 0, 1, 1);
	r = record_of(&w, 1);
	store_lock(&w.store, 1, 0, r, STORE_LOCK_S);
	ck_assert_uint_eq(store_lock_conflict(&w.store, 2, r, STORE_LOCK_S), STORE_NONE);
	ck_assert_uint_eq(store_lock_conflict(&w.store, 2, r, STORE_LOCK_X), 1);
	store_rollback(&w.store, 1, 0);
	ck_assert_uint_eq(store_lock_conflict(&w.store, 2, r, STORE_LOCK_X), STORE_NONE);
	/* The transaction that wrote the newest version holds it. */
	write_value(&w, 3, 1, 7);
	ck_assert_uint_eq(store_lock_conflict(&w.store, 2, r, STORE_LOCK_S), 3);
	/* A row that only its writer knows goes with a rollback to a savepoint: no lock. */
	store_savepoint(&w.store, 4, SPAN_LIT("s"));
	write_value(&w, 4, 2, 7);
	store_lock(&w.store, 4, 0, record_of(&w, 2), STORE_LOCK_X);
	ck_assert(store_savepoint_rollback(&w.store, 4, SPAN_LIT("s")));
	ck_assert_uint_eq(
		store_lock_conflict(&w.store, 2, record_of(&w, 2), STORE_LOCK_X), STORE_NONE);
	world_close(&w);
}
END_TEST

/* As MySQL's manual has it ("SAVEPOINT"): a name that is set again is the later one's; going back, or releasing,
 * takes those away that came after. */
START_TEST(savepoints_are_found_by_name)
{
	struct world w;
	size_t mark;

	world_open(&w);
	store_savepoint(&w.store, 1, SPAN_LIT("a"));
	store_savepoint(&w.store, 1, SPAN_LIT("b"));
	store_savepoint(&w.store, 2, SPAN_LIT("c"));
	store_savepoint(&w.store, 1, SPAN_LIT("A"));
	mark = w.store.trail.count;
	/* The first `a` is gone, so going back to `b` takes the name away. */
	ck_assert(store_savepoint_rollback(&w.store, 1, SPAN_LIT("b")));
	ck_assert(!store_savepoint_rollback(&w.store, 1, SPAN_LIT("a")));
	ck_assert(!store_savepoint_rollback(&w.store, 1, SPAN_LIT("c")));
	ck_assert(store_savepoint_rollback(&w.store, 2, SPAN_LIT("c")));
	store_savepoint_release(&w.store, 1, SPAN_LIT("b"));
	ck_assert(!store_savepoint_rollback(&w.store, 1, SPAN_LIT("b")));
	/* All of it undone. */
	trail_undo(&w.store.trail, mark);
	ck_assert(store_savepoint_rollback(&w.store, 1, SPAN_LIT("a")));
	ck_assert(store_savepoint_rollback(&w.store, 1, SPAN_LIT("b")));
	ck_assert(!store_savepoint_rollback(&w.store, 1, SPAN_LIT("a")));
	world_close(&w);
}
END_TEST

/* A queue: rows come and go.  Those that are gone for every view are put aside; nothing that a view, a lookup or the
 * trail could find is. */
START_TEST(dead_records_are_put_aside)
{
	enum { ROWS = 1200 };
	const uint32_t column = 1;
	struct purge_limits limits;
	struct store_path *path;
	struct store_record *first;
	struct world w;
	size_t mark;

	world_open(&w);
	path = store_path(&w.store, w.table, &column, 1);
	w.store.event = 1;
	for (int key = 0; key < ROWS; key++)
		write_value(&w, 1, key, key % 7);
	store_commit(&w.store, 1, 1);
	w.store.event = 2;
	for (int key = 0; key < ROWS - 10; key++)
		write_value(&w, 2, key, -1);
	store_commit(&w.store, 2, 2);
	first = w.table->records[0];
	/* A view from before the deletions needs the rows. */
	w.store.writes = w.table->writes = UINT32_MAX;
	limits = (struct purge_limits){.event = 5, .commits = 1};
	store_purge(&w.store, &limits);
	ck_assert_uint_eq(w.table->count, ROWS);
	/* So does a search that can go back to before them. */
	w.store.writes = w.table->writes = UINT32_MAX;
	limits = (struct purge_limits){.event = 2, .commits = 2};
	store_purge(&w.store, &limits);
	ck_assert_uint_eq(w.table->count, ROWS);
	/* What is written from here on may be taken back. */
	w.store.event = 6;
	w.store.trail.count = 0;
	mark = w.store.trail.count;
	write_value(&w, 3, ROWS, 1);
	write_value(&w, 3, 0, 5);
	store_rollback(&w.store, 3, 6);
	w.store.writes = w.table->writes = UINT32_MAX;
	limits = (struct purge_limits){.event = 6, .commits = 2};
	store_purge(&w.store, &limits);
	/* Ten rows are there, the rolled back one and the record that it touched. */
	ck_assert_uint_eq(w.table->count, 12);
	ck_assert_uint_eq(path->entry_count, 13); /* the touched one under 0 and under 5 */
	for (int key = ROWS - 10; key < ROWS; key++)
		ck_assert_int_eq(value_of(store_current(&w.store, record_of(&w, key), 0)), key % 7);
	ck_assert_uint_eq(w.table->count, 12);
	/* Back to before the row that was rolled back. */
	trail_undo(&w.store.trail, mark);
	ck_assert_uint_eq(w.table->count, 11);
	ck_assert_ptr_eq(record_of(&w, 0), first);
	/* A key that was put aside has its old record when it comes again. */
	write_value(&w, 4, 17, 3);
	ck_assert_ptr_nonnull(record_of(&w, 17)->newest->previous);
	ck_assert_uint_eq(w.table->count, 12);
	store_restore(&w.store);
	ck_assert_uint_eq(w.table->count, ROWS);
	for (int key = 0; key < ROWS; key++) {
		ck_assert_int_eq(value_of(store_visible(&w.store, record_of(&w, key), 0, 1)), key % 7);
		ck_assert_ptr_eq(w.table->records[record_of(&w, key)->id], record_of(&w, key));
	}
	/* The trail counts records as before; the one that had come again is aside once more. */
	trail_undo(&w.store.trail, mark);
	ck_assert_uint_eq(w.table->count, ROWS - 1);
	ck_assert_int_eq(value_of(store_visible(&w.store, record_of(&w, 17), 0, 1)), 17 % 7);
	world_close(&w);
}
END_TEST

static size_t touches_of(const struct world *w)
{
	size_t count = 0;

	for (const struct store_touch *t = w->table->touches; t; t = t->next)
		count++;
	return count;
}

/* One transaction is always open: what is looked at does not grow with those that have been there. */
START_TEST(lists_of_the_past_stay_short)
{
	enum { MANY = 400 };
	struct world w;
	size_t mark, before;

	world_open(&w);
	store_release(&w.store);
	store_init(&w.store, 1, MANY);
	w.table = &w.store.tables[0];
	mark = w.store.trail.count;
	before = touches_of(&w);
	for (uint32_t txn = 1; txn <= MANY; txn++) {
		w.store.event = w.store.no_wait = txn;
		store_touch(&w.store, txn, w.table, STORE_LOCK_X);
		if (txn > 2)
			store_commit(&w.store, txn - 1, txn);
	}
	/* The first and the last are open, and one has just ended. */
	ck_assert_uint_le(touches_of(&w), 4);
	/* A statement is under way that may have waited for those that ended since event 100. */
	w.store.no_wait = 100;
	before = touches_of(&w);
	store_touch(&w.store, 2, w.table, STORE_LOCK_S);
	ck_assert_uint_ge(touches_of(&w), before);
	trail_undo(&w.store.trail, mark);
	ck_assert_ptr_null(w.table->touches);
	world_close(&w);
}
END_TEST

/* Rows of which nothing can be taken back any more are no longer among the recent ones, and come back when they are written. */
START_TEST(recent_rows_are_those_that_can_still_change)
{
	struct world w;

	world_open(&w);
	w.store.event = 1;
	write_value(&w, 1, 1, 1);
	w.store.event = 2;
	write_value(&w, 1, 2, 1);
	write_value(&w, 1, 2, 2);
	ck_assert_uint_eq(w.table->recent_count, 2);
	store_settle(&w.store, 2);
	ck_assert_uint_eq(w.table->recent_count, 1);
	ck_assert_ptr_eq(w.table->recent[0], record_of(&w, 2));
	w.store.event = 3;
	store_lock(&w.store, 2, 1, record_of(&w, 1), STORE_LOCK_S);
	ck_assert_uint_eq(w.table->recent_count, 1); /* its row is not committed: no lock is noted */
	store_commit(&w.store, 1, 3);
	store_lock(&w.store, 2, 1, record_of(&w, 1), STORE_LOCK_S);
	ck_assert_uint_eq(w.table->recent_count, 2);
	store_settle(&w.store, 4);
	ck_assert_uint_eq(w.table->recent_count, 0);
	world_close(&w);
}
END_TEST

/* A search that tries an INSERT in many ways makes one record of it, and not one for each way. */
START_TEST(what_was_taken_back_is_made_once)
{
	const uint32_t column = 0;
	struct store_record *made;
	struct store_path *path;
	struct world w;
	size_t mark;

	world_open(&w);
	path = store_path(&w.store, w.table, &column, 1);
	w.store.event = 1;
	mark = w.store.trail.count;
	write_value(&w, 1, 5, 1);
	made = record_of(&w, 5);
	store_commit(&w.store, 1, 1);
	store_lock(&w.store, 2, 1, made, STORE_LOCK_X);
	for (int way = 0; way < 10; way++) {
		trail_undo(&w.store.trail, mark);
		ck_assert_uint_eq(w.table->count, 0);
		ck_assert_ptr_null(made->newest);
		ck_assert_ptr_null(made->locks);
		/* Other rows may come before it in another way. */
		for (int key = 0; key < way % 3; key++)
			write_value(&w, 1, key, 2);
		write_value(&w, 1, 5, way);
		ck_assert_ptr_eq(record_of(&w, 5), made);
		ck_assert_ptr_eq(w.table->records[made->id], made);
		ck_assert_ptr_null(made->newest->previous);
		ck_assert_int_eq(value_of(store_current(&w.store, made, 1)), way);
	}
	ck_assert_uint_eq(path->entry_count, 3); /* 0, 1 and 5 */
	ck_assert_uint_eq(w.table->recent_count, 3);
	/* What is not there is not brought back with what was put aside. */
	trail_undo(&w.store.trail, mark);
	store_restore(&w.store);
	ck_assert_uint_eq(w.table->count, 0);
	ck_assert_ptr_null(store_find(&w.store, w.table, (struct eval_value[2]){eval_int(5), EVAL_NULL_VALUE}));
	world_close(&w);
}
END_TEST

UNIT_MAIN("mvcc_store", dead_records_are_put_aside, what_was_taken_back_is_made_once,
	views_see_what_whole_copies_hold, a_key_update_is_another_record,
	only_certain_locks_are_kept, savepoints_are_found_by_name, lists_of_the_past_stay_short,
	recent_rows_are_those_that_can_still_change)
