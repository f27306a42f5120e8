/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sim/store.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

void store_init(struct store *store, size_t objects, uint32_t sessions)
{
	*store = (struct store){.free_version = STORE_NONE, .free_lock = STORE_NONE};
	CHECK(objects < STORE_NONE);
	store->objects = mem_zero(objects, sizeof(*store->objects));
	store->object_count = objects;
	for (size_t i = 0; i < objects; i++)
		store->objects[i] = (struct store_object){STORE_NONE, STORE_NONE, STORE_NONE};
	store->sessions = mem_zero(sessions, sizeof(*store->sessions));
	store->session_count = sessions;
	for (uint32_t i = 0; i < sessions; i++) {
		store->sessions[i].locks = STORE_NONE;
		store->sessions[i].waits_for = STORE_NONE;
		store->sessions[i].snapshot = STORE_NEWEST;
	}
	store->stamp = 1;
	store->next_name = 1;
}

void store_release(struct store *store)
{
	for (uint32_t i = 0; i < store->session_count; i++)
		free(store->sessions[i].written);
	free(store->sessions);
	free(store->objects);
	free(store->versions);
	free(store->locks);
	*store = (struct store){0};
}

/* ---- versions ---- */

static uint32_t version_new(struct store *store)
{
	uint32_t v = store->free_version;

	if (v != STORE_NONE) {
		store->free_version = store->versions[v].older;
	} else {
		MEM_RESERVE(store->versions, store->version_count + 1, store->version_capacity);
		v = (uint32_t)store->version_count++;
	}
	if (++store->versions_in_use > store->versions_peak)
		store->versions_peak = store->versions_in_use;
	return v;
}

static void version_free(struct store *store, uint32_t v)
{
	store->versions[v].older = store->free_version;
	store->free_version = v;
	store->versions_in_use--;
}

uint32_t store_newest(const struct store *store, uint32_t object)
{
	return store->objects[object].newest;
}

uint32_t store_visible(const struct store *store, uint32_t object, uint64_t stamp, uint32_t session)
{
	uint32_t v = store->objects[object].newest;

	for (; v != STORE_NONE; v = store->versions[v].older) {
		const struct store_version *version = &store->versions[v];

		if (version->stamp ? version->stamp <= stamp : version->owner == session)
			return v;
	}
	return STORE_NONE;
}

uint32_t store_load(struct store *store, uint32_t object, int64_t value)
{
	uint32_t v = version_new(store);

	CHECK(store->objects[object].newest == STORE_NONE);
	store->versions[v] = (struct store_version){.name = store->next_name++,
		.stamp = store->stamp,
		.value = value,
		.older = STORE_NONE,
		.owner = STORE_NONE,
		.truth = STORE_NONE};
	store->objects[object].newest = v;
	return v;
}

uint32_t store_write(
	struct store *store, uint32_t session, uint32_t object, int64_t value, bool dead)
{
	struct store_session *s = &store->sessions[session];
	uint32_t v = version_new(store);
	uint32_t before = store->objects[object].newest;

	/* Rule W. */
	CHECK(before == STORE_NONE || store->versions[before].stamp ||
		store->versions[before].owner == session);
	store->versions[v] = (struct store_version){.name = store->next_name++,
		.value = value,
		.older = before,
		.owner = session,
		.truth = STORE_NONE,
		.dead = dead};
	store->objects[object].newest = v;
	MEM_RESERVE(s->written, s->written_count + 1, s->written_capacity);
	s->written[s->written_count++] = object;
	return v;
}

/* No snapshot older than this is in use. */
static uint64_t oldest_snapshot(const struct store *store)
{
	uint64_t oldest = store->stamp;

	for (uint32_t i = 0; i < store->session_count; i++)
		if (store->sessions[i].snapshot < oldest)
			oldest = store->sessions[i].snapshot;
	return oldest;
}

/* Drops what no snapshot can reach: everything after the first version up to `oldest`. */
static void prune(struct store *store, uint32_t object, uint64_t oldest)
{
	uint32_t v = store->objects[object].newest;

	while (v != STORE_NONE &&
		(store->versions[v].stamp == 0 || store->versions[v].stamp > oldest))
		v = store->versions[v].older;
	if (v == STORE_NONE)
		return;
	for (uint32_t next = store->versions[v].older; next != STORE_NONE;) {
		uint32_t older = store->versions[next].older;

		version_free(store, next);
		next = older;
	}
	store->versions[v].older = STORE_NONE;
}

void store_commit(struct store *store, uint32_t session)
{
	struct store_session *s = &store->sessions[session];
	uint64_t oldest;

	s->snapshot = STORE_NEWEST;
	if (s->written_count == 0)
		return;
	store->stamp++;
	oldest = oldest_snapshot(store);
	for (size_t i = 0; i < s->written_count; i++) {
		uint32_t object = s->written[i];
		struct store_version *last = &store->versions[store->objects[object].newest];

		if (last->stamp)
			continue; /* written twice, done before */
		last->stamp = store->stamp;
		while (last->older != STORE_NONE && store->versions[last->older].stamp == 0) {
			uint32_t between = last->older;

			last->older = store->versions[between].older;
			version_free(store, between);
		}
		prune(store, object, oldest);
	}
	s->written_count = 0;
}

void store_undo_to(struct store *store, uint32_t session, size_t written_count)
{
	struct store_session *s = &store->sessions[session];

	while (s->written_count > written_count) {
		uint32_t object = s->written[--s->written_count];
		uint32_t v = store->objects[object].newest;

		CHECK(store->versions[v].stamp == 0 && store->versions[v].owner == session);
		store->objects[object].newest = store->versions[v].older;
		version_free(store, v);
	}
}

/* ---- locks ---- */

static bool compatible(enum store_lock_mode a, enum store_lock_mode b)
{
	/* Gray's table: IS, IX, S, SIX, X. */
	static const bool table[5][5] = {
		[LOCK_IS] = {true, true, true, true, false},
		[LOCK_IX] = {true, true, false, false, false},
		[LOCK_S] = {true, false, true, false, false},
		[LOCK_SIX] = {true, false, false, false, false},
		[LOCK_X] = {false, false, false, false, false},
	};

	return table[a][b];
}

/* The weakest mode that is both. */
static enum store_lock_mode join(enum store_lock_mode a, enum store_lock_mode b)
{
	if ((a == LOCK_IX && b == LOCK_S) || (a == LOCK_S && b == LOCK_IX))
		return LOCK_SIX;
	return a > b ? a : b;
}

static uint32_t own_lock(const struct store *store, uint32_t session, uint32_t object)
{
	uint32_t l = store->objects[object].locks;

	while (l != STORE_NONE && store->locks[l].owner != session)
		l = store->locks[l].next_of_object;
	return l;
}

/* The next holder, from lock l on, that keeps the session from having the object in this mode. */
static uint32_t next_blocking(
	const struct store *store, uint32_t l, uint32_t session, enum store_lock_mode mode)
{
	while (l != STORE_NONE &&
		(store->locks[l].owner == session || compatible(store->locks[l].mode, mode)))
		l = store->locks[l].next_of_object;
	return l;
}

bool store_grantable(const struct store *store, uint32_t session)
{
	const struct store_session *s = &store->sessions[session];

	return s->waits_for == STORE_NONE ||
	       next_blocking(store, store->objects[s->waits_for].locks, session, s->waits_mode) ==
		       STORE_NONE;
}

uint32_t store_blocker(const struct store *store, uint32_t session)
{
	const struct store_session *s = &store->sessions[session];
	uint32_t l;

	if (s->waits_for == STORE_NONE)
		return STORE_NONE;
	l = next_blocking(store, store->objects[s->waits_for].locks, session, s->waits_mode);
	return l == STORE_NONE ? STORE_NONE : store->locks[l].owner;
}

/* Whether `from`, waiting or not, waits directly or through others for `target`.  Its depth is
 * bounded by the number of sessions. */
static bool waits_on(struct store *store, uint32_t from, uint32_t target)
{
	struct store_session *s = &store->sessions[from];
	uint32_t l;

	if (from == target)
		return true;
	if (s->visited == store->visit || s->waits_for == STORE_NONE)
		return false;
	s->visited = store->visit;
	l = next_blocking(store, store->objects[s->waits_for].locks, from, s->waits_mode);
	while (l != STORE_NONE) {
		if (waits_on(store, store->locks[l].owner, target))
			return true;
		l = next_blocking(store, store->locks[l].next_of_object, from, s->waits_mode);
	}
	return false;
}

static enum store_grant wait_or_deadlock(struct store *store, uint32_t session, uint32_t object,
	enum store_lock_mode mode, uint32_t l)
{
	struct store_session *s = &store->sessions[session];

	store->visit++;
	for (; l != STORE_NONE;
		l = next_blocking(store, store->locks[l].next_of_object, session, mode)) {
		if (waits_on(store, store->locks[l].owner, session)) {
			s->waits_for = STORE_NONE;
			return GRANT_DEADLOCK;
		}
	}
	s->waits_for = object;
	s->waits_mode = mode;
	return GRANT_WAIT;
}

enum store_grant store_lock(
	struct store *store, uint32_t session, uint32_t object, enum store_lock_mode mode)
{
	struct store_session *s = &store->sessions[session];
	uint32_t own = own_lock(store, session, object), l;

	if (own != STORE_NONE)
		mode = join(store->locks[own].mode, mode);
	if (own != STORE_NONE && store->locks[own].mode == mode)
		return GRANT_OK;
	l = next_blocking(store, store->objects[object].locks, session, mode);
	if (l != STORE_NONE)
		return wait_or_deadlock(store, session, object, mode, l);
	s->waits_for = STORE_NONE;
	if (own != STORE_NONE) {
		store->locks[own].mode = mode;
		return GRANT_OK;
	}
	own = store->free_lock;
	if (own != STORE_NONE) {
		store->free_lock = store->locks[own].next_of_object;
	} else {
		MEM_RESERVE(store->locks, store->lock_count + 1, store->lock_capacity);
		own = (uint32_t)store->lock_count++;
	}
	store->locks[own] = (struct store_lock){.object = object,
		.owner = session,
		.next_of_object = store->objects[object].locks,
		.next_of_owner = s->locks,
		.mode = mode};
	store->objects[object].locks = own;
	s->locks = own;
	return GRANT_OK;
}

void store_end(struct store *store, uint32_t session)
{
	struct store_session *s = &store->sessions[session];

	for (uint32_t l = s->locks; l != STORE_NONE;) {
		uint32_t next = store->locks[l].next_of_owner;
		uint32_t *link = &store->objects[store->locks[l].object].locks;

		while (*link != l)
			link = &store->locks[*link].next_of_object;
		*link = store->locks[l].next_of_object;
		store->locks[l].next_of_object = store->free_lock;
		store->free_lock = l;
		l = next;
	}
	s->locks = STORE_NONE;
	s->waits_for = STORE_NONE;
	s->snapshot = STORE_NEWEST;
}
