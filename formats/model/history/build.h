/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building a history: what loaders and importers share.
 *
 *	struct history_build build;
 *	build_init(&build, &history);
 *	... build_room() now and then, sessions, txns, statements, objects, versions, operations ...
 *	build_finish(&build);           the history is complete; build is released
 *
 * Everything is named by its number in the input (sparse, in any order) and made at its first
 * mention; ids are handed out in order of mention.  Numbers come from outside: the maps grow with
 * the input and no faster.  build_finish() sorts transactions by begin and operations by
 * transaction, so ids of transactions and operations change there; all other ids stay.
 *
 * Until then three things stand in a version that a finished history does not have:
 * previous == BUILD_NIL: the probe said that no row was there before (unborn or dead, whichever the
 * order will tell); UNWRITTEN is set on every version until build_write or build_initial names it;
 * `position` is the next older version of the object.
 *
 * One thread.
 */
#ifndef MODEL_HISTORY_BUILD_H
#define MODEL_HISTORY_BUILD_H

#include "base/attr.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/pages.h"
#include "model/history/history.h"

#define BUILD_NIL (UINT32_MAX - 1)

enum {
	BUILD_SESSIONS_NEAR = 1 << 16, /* session numbers up to here need no map */
	BUILD_TXNS_NEAR = 1 << 16, /* nor transaction numbers up to here above twice their count */
	/* Logs of as many statements as this are read together (SESSION_PENDING_STMTS of the recorder). */
	BUILD_RECENT = 64,
	BUILD_CHAIN_MAX = 8, /* versions looked at one by one */
	BUILD_VERSIONS_MAX = (1 << 30) - 1, /* as many as an object can count */
};

struct build_slot {
	uint64_t key;
	uint32_t owner; /* table (with BUILD_KEY_LONG) or object */
	uint32_t id;    /* HISTORY_NONE: free */
};

/* What the loader remembers of an object.  Its versions are linked from the newest to the oldest
 * by `position`.  A version is looked for among the newest BUILD_CHAIN_MAX of them; when one was
 * not found there, all of the object's are put into the hash map, once: few are ever asked for
 * anything so old. */
struct build_object {
	uint64_t name_max; /* of versions whose names are integers; 0 at first */
	uint32_t newest;   /* version */
	uint32_t count : 30; /* of versions */
	uint32_t indexed : 1;
	/* The newest one has the name name_max, and an image: what reads or overwrites it, as most
	 * do, need not look at it, which would mean to wait for memory. */
	uint32_t newest_whole : 1;
};

/* Open addressing with the whole key in the slot, so that a lookup costs one cache line. */
struct build_hashmap {
	struct build_slot *slots;
	size_t mask, count, limit; /* limit: grow past this */
};

struct build_savepoint {
	uint32_t name; /* string */
	uint32_t number;
};

/* What the loader remembers of a session while it reads. */
struct build_session {
	uint64_t txn_number; /* the latest one named, and its id; 0: none */
	uint32_t txn;
	uint32_t stmt, stmt_number;     /* the newest statement; NONE */
	uint32_t before, before_number; /* the one before it */
	/* The newest BUILD_RECENT of them by number, from when one of them was first named out of order. */
	uint32_t *recent;
	uint64_t savepoint_txn;         /* whose savepoints these are */
	struct build_savepoint *savepoints;
	size_t savepoint_count, savepoint_capacity;
	uint64_t started; /* at: logged in, or reset; 0: not known */
	bool prepares_mixing; /* prepared a statement that may mix transactions */
	void *group; /* the loader's: probes of the newest statement that wait for their pair */
};

struct history_build {
	struct history *history;
	struct build_session *sessions;
	size_t session_capacity, session_state_capacity, table_capacity, txn_capacity,
		stmt_capacity, op_capacity, object_capacity, version_capacity, predicate_capacity,
		predicate_version_capacity, pool_capacity;
	uint32_t *schemas; /* by table: pool reference; 0: none */
	size_t schema_capacity;
	struct map session_map, table_map, txn_map;
	uint32_t *near_sessions; /* by number, below BUILD_SESSIONS_NEAR */
	size_t near_session_count, near_session_capacity;
	uint32_t *near_txns; /* by number, while it is not far above the count */
	size_t near_txn_count, near_txn_capacity;
	struct map stmt_map; /* (session, number): only once statements came out of order */
	bool stmt_map_used;
	struct build_hashmap objects;
	struct build_hashmap versions; /* of those objects that are `indexed` */
	struct build_hashmap texts;    /* hash of a text: pool reference */
	uint32_t last_text;            /* the reference given out last; 0: none yet */
	struct build_object *states;   /* by object */
	size_t state_capacity;
	struct strtab names; /* version names that are no integers */
	uint32_t *name_refs; /* by id of `names`: pool reference */
	size_t name_ref_capacity, name_ref_count;
	struct map named; /* (object, id of names): version */
	size_t undo_capacity;
	size_t unseen_capacity;
	uint64_t absent_count;
	uint64_t waiting_rows; /* taken in, and not yet made into operations */
	uint32_t server;       /* pool reference */
	struct buf scratch;
};

void build_init(struct history_build *build, struct history *history);
/* Before taking in `bytes` bytes of input: false when ids or pool references could run out. */
bool build_room(struct history_build *build, size_t bytes, struct err *err) MUST_CHECK;
/* What was taken in so far is one part of `parts`: makes room for the others.  Only addresses: what
 * does not come costs no memory.  Arrays that grow bit by bit are moved again and again, and lose
 * their large pages on the way. */
void build_expect(struct history_build *build, uint64_t parts);
/* Tells how far the arrays are filled. */
void build_pages(const struct history_build *build, struct pages *pages);
/* Completes the history and releases the build.  Asserts the invariants of history.h on the way:
 * those of a transaction's operations and of an object's versions while they are in use, which
 * costs less than to come back to them. */
void build_finish(struct history_build *build);
/* Gives up: releases both. */
void build_abandon(struct history_build *build);

uint32_t build_bytes(struct history_build *build, struct span bytes);
/* The same, once for equal texts: equal references mean equal texts.  `hash` is hash_bytes(). */
uint32_t build_text(struct history_build *build, struct span text, uint64_t hash);

/* By number; made when new.  NONE past HISTORY_SESSIONS_MAX or HISTORY_TABLES_MAX. */
uint32_t build_session_slow(struct history_build *build, uint32_t number);
static inline uint32_t build_session_at(struct history_build *build, uint32_t number)
{
	if (LIKELY(number < build->near_session_count &&
		    build->near_sessions[number] != HISTORY_NONE))
		return build->near_sessions[number];
	return build_session_slow(build, number);
}

uint32_t build_table_at(struct history_build *build, uint32_t number);

/* NONE for number 0.  `seq`: of the record that names it, which begins it if nothing else does. */
uint32_t build_txn_slow(
	struct history_build *build, uint32_t session, uint64_t number, uint64_t seq);
static inline uint32_t build_txn_at(
	struct history_build *build, uint32_t session, uint64_t number, uint64_t seq)
{
	const struct build_session *state = &build->sessions[session];

	return LIKELY(number && state->txn_number == number)
		       ? state->txn
		       : build_txn_slow(build, session, number, seq);
}

/* NONE for number 0. */
uint32_t build_stmt_slow(struct history_build *build, uint32_t session, uint32_t number);
static inline uint32_t build_stmt_at(struct history_build *build, uint32_t session, uint32_t number)
{
	const struct build_session *state = &build->sessions[session];

	return LIKELY(number && state->stmt_number == number)
		       ? state->stmt
		       : build_stmt_slow(build, session, number);
}

/* `key` is one encoded value or an array of them; the canonical (shortest) encoding is kept. */
uint32_t build_object_at(struct history_build *build, uint32_t table, struct span key);
/* `name` is an encoded value, not nil. */
uint32_t build_version_at(struct history_build *build, uint32_t object, struct span name);
uint32_t build_version_int(struct history_build *build, uint32_t object, uint64_t name);
/* A new DEAD version without a name. */
uint32_t build_dead(struct history_build *build, uint32_t object);
void build_image(struct history_build *build, uint32_t version, struct span image);
/* It was there before the recording. */
void build_initial(struct history_build *build, uint32_t version);

/* An operation with kind READ; version NONE and ABSENT: found no row. */
void build_read(struct history_build *build, const struct history_op *op);
/* An operation with kind WRITE of op.version, which overwrote `previous`: a version of the same
 * object, BUILD_NIL or NONE. */
void build_write(struct history_build *build, const struct history_op *op, uint32_t previous);
/* A predicate and its operation; matches and set are copied. */
struct build_predicate {
	struct history_op op;
	struct history_predicate predicate;
	const uint32_t *matches, *set;
	size_t match_count, set_count;
};
void build_predicate_add(struct history_build *build, const struct build_predicate *from);
/* A statement may have changed rows of the table that satisfied this text (build_text). */
void build_unseen(struct history_build *build, uint32_t table, uint32_t text);
/* Writes of statements after number `from` and before `to` of txn were taken back. */
void build_undo_between(struct history_build *build, uint32_t txn, uint32_t from, uint32_t to);

/* seq relative to the base; `missing` for 0 and for what lies outside 32 bits. */
static inline uint32_t build_seq(const struct history_build *build, uint64_t seq, uint32_t missing)
{
	uint64_t relative = seq - build->history->seq_base;

	if (UNLIKELY(seq <= build->history->seq_base || relative >= HISTORY_NONE))
		return missing;
	return (uint32_t)relative;
}

/* ---- lookups by hash, split in two so that a loader can fetch slots ahead ---- */

/* In build_slot.owner: `key` is a hash of the key's bytes. */
#define BUILD_KEY_LONG ((uint32_t)1 << 31)

struct build_key {
	uint64_t key;
	uint32_t owner;
	uint64_t hash;
	struct span bytes; /* canonical; valid until the next build_key of a long one */
};

static inline uint64_t build_hash(uint64_t key, uint32_t owner)
{
	return hash_mix(key ^ hash_seed, owner ^ 0x9e3779b97f4a7c15u);
}

static inline void build_prefetch(const struct build_hashmap *map, uint64_t hash)
{
	__builtin_prefetch(&map->slots[hash & map->mask]);
}

static inline void build_text_prefetch(const struct history_build *build, uint64_t hash)
{
	build_prefetch(&build->texts, build_hash(hash, 0));
}

/* Somewhat later: the text itself, to compare with. */
static inline void build_text_prefetch_bytes(const struct history_build *build, uint64_t hash)
{
	const struct build_slot *slot = &build->texts.slots[build_hash(hash, 0) & build->texts.mask];

	if (slot->id != HISTORY_NONE)
		__builtin_prefetch(build->history->pool + (size_t)slot->id * HISTORY_POOL_UNIT);
}

/* The version of that name, where it is known without a look at it, with its image; else NONE. */
static inline uint32_t build_version_whole(
	const struct history_build *build, uint32_t object, uint64_t name)
{
	const struct build_object *state = &build->states[object];

	return state->newest_whole && name == state->name_max ? state->newest : HISTORY_NONE;
}

/* Fetches what build_version_int will look at. */
static inline void build_version_prefetch(
	const struct history_build *build, uint32_t object, uint64_t name)
{
	const struct build_object *state = &build->states[object];

	if (build_version_whole(build, object, name) != HISTORY_NONE)
		return;
	MEM_PREFETCH(&build->history->versions[state->newest]);
	if (UNLIKELY(state->indexed && name <= state->name_max))
		build_prefetch(&build->versions, build_hash(name, object));
}

/* ... and when that has come, the one before the newest: what is read while the newest is not
 * committed, or was taken back. */
static inline void build_version_prefetch_older(
	const struct history_build *build, uint32_t object, uint64_t name)
{
	const struct history_version *versions = build->history->versions;
	const struct build_object *state = &build->states[object];

	if (name < state->name_max && versions[state->newest].position != HISTORY_NONE)
		MEM_PREFETCH(&versions[versions[state->newest].position]);
}

/* A key of at most eight bytes in an encoding that is surely the shortest: true and the key. */
static inline bool build_key_short(uint32_t table, struct span key, struct build_key *out)
{
	const unsigned char *p = (const unsigned char *)key.ptr;

	/* Positive integers and short strings.  An encoded value is never the beginning of another,
	 * so eight bytes padded with zeros stand for one value only. */
	out->key = 0;
	if (p[0] < 0x80)
		memcpy(&out->key, p, 1);
	else if (p[0] == 0xce && (p[1] | p[2]))
		memcpy(&out->key, p, 5);
	else if (p[0] == 0xcd && p[1])
		memcpy(&out->key, p, 3);
	else if (p[0] == 0xcc && p[1] >= 0x80)
		memcpy(&out->key, p, 2);
	else if ((p[0] & 0xe0) == 0xa0 && key.len <= sizeof(out->key))
		memcpy(&out->key, p, key.len);
	else
		return false;
	out->owner = table;
	out->bytes = key;
	out->hash = build_hash(out->key, table);
	return true;
}

/* The same from its eight bytes, which stay where they are. */
static inline void build_key_again(uint32_t table, const uint64_t *key, struct build_key *out)
{
	const unsigned char *p = (const unsigned char *)key;
	size_t len = p[0] < 0x80    ? 1
		     : p[0] == 0xce ? 5
		     : p[0] == 0xcd ? 3
		     : p[0] == 0xcc ? 2
				    : 1 + (p[0] & 0x1fu);

	*out = (struct build_key){*key, table, build_hash(*key, table), span_of(p, len)};
}

void build_key_of(
	struct history_build *build, uint32_t table, struct span key, struct build_key *out);
uint32_t build_object_find(struct history_build *build, const struct build_key *key);
/* The object of a short key, if there is one; else NONE. */
static inline uint32_t build_object_known(
	const struct history_build *build, const struct build_key *key)
{
	const struct build_hashmap *map = &build->objects;

	for (size_t i = key->hash & map->mask;; i = (i + 1) & map->mask) {
		const struct build_slot *slot = &map->slots[i];

		if (slot->id == HISTORY_NONE ||
			(slot->key == key->key && slot->owner == key->owner))
			return slot->id;
	}
}

bool build_name_int_slow(struct span name, uint64_t *value);
/* An encoded integer from zero up: true and its value. */
static inline bool build_name_int(struct span name, uint64_t *value)
{
	const unsigned char *p = (const unsigned char *)name.ptr;

	if (p[0] == 0xce) {
		*value = mp_load_be(p + 1, 4);
		return true;
	}
	if (p[0] < 0x80) {
		*value = p[0];
		return true;
	}
	return build_name_int_slow(name, value);
}

/* ---- history.c: the invariants in parts; history_check() is all of them ---- */
void history_check_stmt(const struct history *history, uint32_t stmt);
void history_check_txn(const struct history *history, uint32_t txn);
void history_check_object(const struct history *history, uint32_t object);
void history_check_rest(const struct history *history);

/* ---- finish.c: sorts everything and finds the version orders, called by build_finish ---- */
void build_orders(struct history_build *build);

#endif
