/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/build.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "trace/pack.h"
#include "trace/value.h"

enum {
	HASHMAP_FIRST = 1 << 10,
	/* More than any input byte can make us append, to any array: a row of two bytes may name an
	 * object, its unborn version, a dead one and one that was overwritten. */
	IDS_A_BYTE = 4,
};

/* ---- hash maps ---- */

static void hashmap_grow(struct build_hashmap *map)
{
	size_t capacity = map->slots ? (map->mask + 1) * 2 : HASHMAP_FIRST;
	struct build_slot *old = map->slots;
	size_t old_capacity = old ? map->mask + 1 : 0;

	map->slots = mem_realloc(NULL, capacity, sizeof(*map->slots));
	memset(map->slots, 0xff, capacity * sizeof(*map->slots));
	map->mask = capacity - 1;
	map->limit = capacity / 10 * 7;
	for (size_t k = 0; k < old_capacity; k++) {
		size_t i;

		if (old[k].id == HISTORY_NONE)
			continue;
		i = build_hash(old[k].key, old[k].owner) & map->mask;
		while (map->slots[i].id != HISTORY_NONE)
			i = (i + 1) & map->mask;
		map->slots[i] = old[k];
	}
	mem_free(old);
}

static struct build_slot *hashmap_at(
	struct build_hashmap *map, uint64_t key, uint32_t owner, uint64_t hash)
{
	if (UNLIKELY(map->count >= map->limit))
		hashmap_grow(map);
	for (size_t i = hash & map->mask;; i = (i + 1) & map->mask) {
		struct build_slot *slot = &map->slots[i];

		if (slot->id == HISTORY_NONE || (slot->key == key && slot->owner == owner))
			return slot;
	}
}

/* Where another key of equal hash is kept. */
static uint64_t hash_next(uint64_t hash)
{
	return hash_mix(hash, 0xd1342543de82ef95u) + 1;
}

/* ---- begin and end ---- */

void build_init(struct history_build *build, struct history *history)
{
	memset(build, 0, sizeof(*build));
	memset(history, 0, sizeof(*history));
	build->history = history;
	hashmap_grow(&build->objects);
	hashmap_grow(&build->versions);
	hashmap_grow(&build->texts);
	strtab_add(&history->strings, SPAN_LIT(""));
	/* Reference 0 is none. */
	history->pool = mem_zero(1, HISTORY_POOL_UNIT);
	history->pool_size = build->pool_capacity = HISTORY_POOL_UNIT;
}

static void release_maps(struct history_build *build)
{
	mem_free(build->objects.slots);
	mem_free(build->versions.slots);
	mem_free(build->texts.slots);
	build->objects = build->versions = build->texts = (struct build_hashmap){NULL, 0, 0, 0};
	mem_free(build->states);
	build->states = NULL;
	map_release(&build->session_map);
	mem_free(build->near_sessions);
	mem_free(build->near_txns);
	build->near_sessions = build->near_txns = NULL;
	map_release(&build->table_map);
	map_release(&build->txn_map);
	map_release(&build->stmt_map);
	map_release(&build->named);
	strtab_release(&build->names);
	mem_free(build->name_refs);
	build->name_refs = NULL;
	for (uint32_t i = 0; i < build->history->session_count; i++) {
		mem_free(build->sessions[i].savepoints);
		mem_free(build->sessions[i].recent);
	}
	mem_free(build->sessions);
	build->sessions = NULL;
	buf_release(&build->scratch);
}

void build_abandon(struct history_build *build)
{
	release_maps(build);
	mem_free(build->schemas);
	history_release(build->history);
	memset(build, 0, sizeof(*build));
}

void build_finish(struct history_build *build)
{
	struct history *history = build->history;

	for (uint32_t o = 0; o < history->object_count; o++)
		history->objects[o].order_count = build->states[o].count;
	release_maps(build);
	for (uint32_t t = 0; t < history->table_count; t++) {
		if (build->schemas[t])
			history->tables[t].schema_ref = history_bytes(history, build->schemas[t]);
		else
			history->counts.tables_undeclared++;
	}
	history->server_ref = history_bytes(history, build->server);
	build_orders(build);
	mem_free(build->schemas);
	memset(build, 0, sizeof(*build));
}

bool build_room(struct history_build *build, size_t bytes, struct err *err)
{
	const struct history *history = build->history;
	uint64_t most = UINT32_MAX - 16;
	uint64_t more = (uint64_t)bytes * IDS_A_BYTE + 2 * build->waiting_rows + 16;

	if (history->version_count + more > BUILD_VERSIONS_MAX || history->op_count + more > most ||
		history->stmt_count + more > most || history->txn_count + more > most ||
		history->predicate_version_count + more > most)
		return err_set(err, ERR_LIMIT,
			"the input has more operations than 32-bit ids can number (%u read so "
			"far); "
			"load a smaller part of it",
			history->op_count);
	if ((history->pool_size + more + 64) / HISTORY_POOL_UNIT > most)
		return err_set(err, ERR_LIMIT,
			"keys and row images take more than 16 GiB; load a smaller part of the "
			"trace, or leave images out");
	return true;
}

/* Transactions and versions are read at random as well, where large pages would save a little; less
 * than they cost to get. */
void build_expect(struct history_build *build, uint64_t parts)
{
	struct history *history = build->history;

	MEM_RESERVE_SMALL(history->txns, history->txn_count * parts, build->txn_capacity);
	MEM_RESERVE_SMALL(history->stmts, history->stmt_count * parts, build->stmt_capacity);
	MEM_RESERVE_SMALL(history->ops, history->op_count * parts, build->op_capacity);
	MEM_RESERVE_SMALL(
		history->versions, history->version_count * parts, build->version_capacity);
	MEM_RESERVE(history->pool, history->pool_size * parts, build->pool_capacity);
}

#define PAGES_AT(pages, number, array, count, capacity)                                            \
	pages_at(pages, number, array, (size_t)(count) * sizeof(*(array)),                         \
		(size_t)(capacity) * sizeof(*(array)))

void build_pages(const struct history_build *build, struct pages *pages)
{
	struct history *history = build->history;

	PAGES_AT(pages, 0, history->txns, history->txn_count, build->txn_capacity);
	PAGES_AT(pages, 1, history->stmts, history->stmt_count, build->stmt_capacity);
	PAGES_AT(pages, 2, history->ops, history->op_count, build->op_capacity);
	PAGES_AT(pages, 3, history->versions, history->version_count, build->version_capacity);
	PAGES_AT(pages, 4, history->pool, history->pool_size, build->pool_capacity);
}

/* ---- bytes ---- */

uint32_t build_bytes(struct history_build *build, struct span bytes)
{
	struct history *history = build->history;
	size_t head = bytes.len < UINT8_MAX ? 1 : 1 + sizeof(uint32_t);
	size_t need = (head + bytes.len + HISTORY_POOL_UNIT - 1) & ~(size_t)(HISTORY_POOL_UNIT - 1);
	uint64_t at = history->pool_size;
	uint32_t len = (uint32_t)bytes.len;
	char *p;

	CHECK(bytes.ptr && bytes.len <= UINT32_MAX - 16);
	CHECK(at / HISTORY_POOL_UNIT < UINT32_MAX);
	MEM_RESERVE(history->pool, at + need, build->pool_capacity);
	p = history->pool + at;
	memset(p + need - HISTORY_POOL_UNIT, 0, HISTORY_POOL_UNIT);
	*p = (char)(head == 1 ? len : UINT8_MAX);
	if (head > 1)
		memcpy(p + 1, &len, sizeof(len));
	memcpy(p + head, bytes.ptr, bytes.len);
	history->pool_size += need;
	return (uint32_t)(at / HISTORY_POOL_UNIT);
}

uint32_t build_text(struct history_build *build, struct span text, uint64_t hash)
{
	const struct history *history = build->history;
	struct build_slot *slot;

	/* A statement's probes have the same one. */
	if (build->last_text && span_eq(history_bytes(history, build->last_text), text))
		return build->last_text;
	slot = hashmap_at(&build->texts, hash, 0, build_hash(hash, 0));
	/* Of equal hash: as for long keys. */
	while (slot->id != HISTORY_NONE && !span_eq(history_bytes(history, slot->id), text)) {
		hash = hash_next(hash);
		slot = hashmap_at(&build->texts, hash, 0, build_hash(hash, 0));
	}
	if (slot->id == HISTORY_NONE) {
		*slot = (struct build_slot){hash, 0, build_bytes(build, text)};
		build->texts.count++;
	}
	build->last_text = slot->id;
	return slot->id;
}

/* ---- things with numbers ---- */

static uint32_t session_new(struct history_build *build, uint32_t number)
{
	struct history *history = build->history;
	uint32_t id = history->session_count;

	if (id >= HISTORY_SESSIONS_MAX)
		return HISTORY_NONE;
	history->session_count++;
	MEM_RESERVE(history->sessions, history->session_count, build->session_capacity);
	MEM_RESERVE(build->sessions, history->session_count, build->session_state_capacity);
	history->sessions[id] =
		(struct history_session){.number = number, .first_txn = HISTORY_NONE};
	build->sessions[id] = (struct build_session){
		.txn = HISTORY_NONE, .stmt = HISTORY_NONE, .before = HISTORY_NONE};
	return id;
}

uint32_t build_session_slow(struct history_build *build, uint32_t number)
{
	uint32_t id = HISTORY_NONE;

	if (number >= BUILD_SESSIONS_NEAR) {
		id = map_get(&build->session_map, number);
		if (id == MAP_NONE) {
			id = session_new(build, number);
			if (id != HISTORY_NONE)
				map_put(&build->session_map, number, id);
		}
		return id;
	}
	if (number >= build->near_session_count) {
		MEM_RESERVE(build->near_sessions, (size_t)number + 1, build->near_session_capacity);
		while (build->near_session_count <= number)
			build->near_sessions[build->near_session_count++] = HISTORY_NONE;
	}
	if (build->near_sessions[number] == HISTORY_NONE)
		build->near_sessions[number] = session_new(build, number);
	return build->near_sessions[number];
}

uint32_t build_table_at(struct history_build *build, uint32_t number)
{
	struct history *history = build->history;
	uint32_t known = map_get(&build->table_map, number);

	if (LIKELY(known != MAP_NONE))
		return known;
	if (history->table_count >= HISTORY_TABLES_MAX)
		return HISTORY_NONE;
	known = history->table_count++;
	map_put(&build->table_map, number, known);
	MEM_RESERVE(history->tables, history->table_count, build->table_capacity);
	MEM_RESERVE(build->schemas, history->table_count, build->schema_capacity);
	history->tables[known] = (struct history_table){.number = number};
	build->schemas[known] = 0;
	return known;
}

/* Transactions are numbered from 1 in most traces: such numbers index an array, others a map. */
static uint32_t *txn_slot(struct history_build *build, uint64_t number)
{
	uint64_t near = 2 * (uint64_t)build->history->txn_count + BUILD_TXNS_NEAR;

	if (number < build->near_txn_count && build->near_txns[number] != HISTORY_NONE)
		return &build->near_txns[number];
	/* It may have been far when it came first. */
	if (build->txn_map.count && map_get(&build->txn_map, number) != MAP_NONE)
		return map_at(&build->txn_map, number);
	if (number >= near)
		return map_at(&build->txn_map, number);
	if (number >= build->near_txn_count) {
		MEM_RESERVE(build->near_txns, number + 1, build->near_txn_capacity);
		memset(build->near_txns + build->near_txn_count, 0xff,
			(number + 1 - build->near_txn_count) * sizeof(*build->near_txns));
		build->near_txn_count = number + 1;
	}
	return &build->near_txns[number];
}

uint32_t build_txn_slow(
	struct history_build *build, uint32_t session, uint64_t number, uint64_t seq)
{
	struct history *history = build->history;
	struct build_session *state = &build->sessions[session];
	uint32_t *slot;

	if (number == 0)
		return HISTORY_NONE;
	slot = txn_slot(build, number);
	if (*slot == HISTORY_NONE) {
		*slot = history->txn_count++;
		MEM_RESERVE_SMALL(history->txns, history->txn_count, build->txn_capacity);
		history->txns[*slot] = (struct history_txn){
			.number = number,
			.begin_seq = build_seq(build, seq, 0),
			.end_seq = HISTORY_NONE,
			.session = session,
			.next_in_session = HISTORY_NONE,
			.flags = HISTORY_TXN_NO_BEGIN | HISTORY_TXN_NO_END,
		};
	}
	state->txn_number = number;
	state->txn = *slot;
	return *slot;
}

static uint64_t stmt_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

static uint32_t stmt_new(struct history_build *build, uint32_t session, uint32_t number)
{
	struct history *history = build->history;
	uint32_t id = history->stmt_count++;

	MEM_RESERVE_SMALL(history->stmts, history->stmt_count, build->stmt_capacity);
	history->stmts[id] = (struct history_stmt){
		.session = session & (HISTORY_SESSIONS_MAX - 1u),
		.number = number,
		.txn = HISTORY_NONE,
		.end_seq = HISTORY_NONE,
		.block = HISTORY_NONE,
		.index = UINT16_MAX,
	};
	if (UNLIKELY(build->stmt_map_used))
		map_put(&build->stmt_map, stmt_key(session, number), id);
	if (build->sessions[session].recent)
		build->sessions[session].recent[number % BUILD_RECENT] = id;
	return id;
}

/* One of the newest of a session; NONE: it is none of them. */
static uint32_t stmt_recent(struct history_build *build, uint32_t session, uint32_t number)
{
	enum { LOOKED_MAX = 1 << 16 };
	const struct history_stmt *stmts = build->history->stmts;
	struct build_session *state = &build->sessions[session];
	uint32_t known;

	if (!state->recent) {
		uint32_t found = 0, id = state->stmt, looked = 0;

		state->recent = mem_alloc(BUILD_RECENT * sizeof(*state->recent));
		memset(state->recent, 0xff, BUILD_RECENT * sizeof(*state->recent));
		/* Other sessions' stand between them.  What is not found is found by the map. */
		for (; found < BUILD_RECENT && id != HISTORY_NONE && looked++ < LOOKED_MAX; id--) {
			if (stmts[id].session != session ||
				stmts[id].number + BUILD_RECENT <= state->stmt_number)
				continue;
			state->recent[stmts[id].number % BUILD_RECENT] = id;
			found++;
		}
	}
	known = state->recent[number % BUILD_RECENT];
	return known != HISTORY_NONE && stmts[known].number == number ? known : HISTORY_NONE;
}

/* A number below the newest one: find it among all. */
static uint32_t stmt_out_of_place(struct history_build *build, uint32_t session, uint32_t number)
{
	struct history *history = build->history;
	uint32_t known = stmt_recent(build, session, number);

	history->counts.out_of_place++;
	if (known != HISTORY_NONE)
		return known;
	if (!build->stmt_map_used) {
		map_reserve(&build->stmt_map, history->stmt_count);
		for (uint32_t i = 0; i < history->stmt_count; i++)
			map_put(&build->stmt_map,
				stmt_key(history->stmts[i].session, history->stmts[i].number), i);
		build->stmt_map_used = true;
	}
	known = map_get(&build->stmt_map, stmt_key(session, number));
	return known != MAP_NONE ? known : stmt_new(build, session, number);
}

uint32_t build_stmt_slow(struct history_build *build, uint32_t session, uint32_t number)
{
	struct build_session *state = &build->sessions[session];

	if (number == 0)
		return HISTORY_NONE;
	if (LIKELY(number > state->stmt_number)) {
		state->before = state->stmt;
		state->before_number = state->stmt_number;
		state->stmt = stmt_new(build, session, number);
		state->stmt_number = number;
		return state->stmt;
	}
	if (number == state->before_number)
		return state->before;
	return stmt_out_of_place(build, session, number);
}

/* ---- objects ---- */

/* The encodings that are the shortest by their first bytes; false: look closer. */
static bool is_short_form(const unsigned char *p, size_t len)
{
	unsigned char c = p[0];

	if (c < 0x80 || c >= 0xe0 || (c >= 0xa0 && c < 0xc0))
		return true;
	switch (c) {
	case 0xcc:
		return p[1] >= 0x80;
	case 0xcd:
		return p[1] != 0;
	case 0xce:
		return (p[1] | p[2]) != 0;
	case 0xcf:
		return (p[1] | p[2] | p[3] | p[4]) != 0;
	case 0xd9:
		return len >= 2 + 32;
	}
	return false;
}

/* Producers in other languages may encode 5 in nine bytes: one key, one object all the same. */
static struct span canonical_key(struct buf *scratch, struct span key)
{
	struct mp mp = mp_over(key);
	struct value value;
	uint32_t count = 1;

	if (is_short_form(mp.p, key.len))
		return key;
	buf_clear(scratch);
	if (mp_peek(&mp) == MP_ARRAY) {
		msgpack_packer pk = pack_into(scratch);

		count = mp_array(&mp);
		msgpack_pack_array(&pk, count);
	}
	while (count-- && value_read(&mp, &value))
		value_pack(scratch, &value);
	/* What is no value at all stays as it is. */
	return mp.bad ? key : buf_span(scratch);
}

void build_key_of(
	struct history_build *build, uint32_t table, struct span key, struct build_key *out)
{
	key = canonical_key(&build->scratch, key);
	out->bytes = key;
	out->owner = table;
	out->key = 0;
	/* An encoded value is never the beginning of another, so eight bytes padded with zeros
	 * stand for one value only. */
	if (LIKELY(key.len <= sizeof(out->key))) {
		memcpy(&out->key, key.ptr, key.len);
	} else {
		out->key = hash_bytes(key.ptr, key.len);
		out->owner |= BUILD_KEY_LONG;
	}
	out->hash = build_hash(out->key, out->owner);
}

/* Puts a version whose name is an integer into the hash map; it is not there yet. */
static void version_index(struct history_build *build, uint32_t version)
{
	const struct history_version *v = &build->history->versions[version];

	if (v->name_is_bytes || (v->flags & HISTORY_VERSION_NAMELESS))
		return;
	*hashmap_at(&build->versions, v->name, v->object, build_hash(v->name, v->object)) =
		(struct build_slot){v->name, v->object, version};
	build->versions.count++;
}

/* The object has a version more, which is filled. */
static void version_link(struct history_build *build, uint32_t id)
{
	struct history_version *v = &build->history->versions[id];
	struct build_object *state = &build->states[v->object];

	v->position = state->newest;
	state->newest = id;
	state->newest_whole = false;
	if (!v->name_is_bytes && v->name > state->name_max)
		state->name_max = v->name;
	state->count++;
	if (UNLIKELY(state->indexed))
		version_index(build, id);
}

static uint32_t version_new(struct history_build *build, uint32_t object, uint64_t name,
	bool name_is_bytes, uint16_t flags)
{
	struct history *history = build->history;
	uint32_t id = history->version_count++;

	MEM_RESERVE_SMALL(history->versions, history->version_count, build->version_capacity);
	history->versions[id] = (struct history_version){
		.name = name,
		.object = object,
		.txn = HISTORY_NONE,
		.stmt = HISTORY_NONE,
		.previous = HISTORY_NONE,
		.position = HISTORY_NONE,
		.flags = flags,
		.name_is_bytes = name_is_bytes,
	};
	version_link(build, id);
	return id;
}

uint32_t build_object_find(struct history_build *build, const struct build_key *key)
{
	struct history *history = build->history;
	struct build_slot *slot;
	uint64_t hash = key->hash;
	uint64_t word = key->key;

	slot = hashmap_at(&build->objects, word, key->owner, hash);
	/* Long keys of equal hash. */
	while (UNLIKELY(key->owner & BUILD_KEY_LONG) && slot->id != HISTORY_NONE &&
		!span_eq(history_bytes(history, history->objects[slot->id].key), key->bytes)) {
		word = hash_next(word);
		hash = build_hash(word, key->owner);
		slot = hashmap_at(&build->objects, word, key->owner, hash);
	}
	if (slot->id != HISTORY_NONE)
		return slot->id;
	*slot = (struct build_slot){word, key->owner, history->object_count++};
	build->objects.count++;
	MEM_RESERVE(history->objects, history->object_count, build->object_capacity);
	history->objects[slot->id] = (struct history_object){
		.table = key->owner & ~BUILD_KEY_LONG,
		.key = build_bytes(build, key->bytes),
		.problem_version = HISTORY_NONE,
	};
	MEM_RESERVE(build->states, history->object_count, build->state_capacity);
	build->states[slot->id] = (struct build_object){.newest = HISTORY_NONE};
	version_new(build, slot->id, 0, false, HISTORY_VERSION_UNBORN | HISTORY_VERSION_NAMELESS);
	return slot->id;
}

uint32_t build_object_at(struct history_build *build, uint32_t table, struct span key)
{
	struct build_key found;

	build_key_of(build, table, key, &found);
	return build_object_find(build, &found);
}

/* ---- versions ---- */

static bool version_is(const struct history_version *v, uint64_t name)
{
	return v->name == name && !v->name_is_bytes && !(v->flags & HISTORY_VERSION_NAMELESS);
}

/* After the newest ones; NONE: there is no such version. */
static uint32_t version_old(struct history_build *build, uint32_t object, uint64_t name)
{
	struct build_object *state = &build->states[object];

	if (!state->indexed) {
		state->indexed = true;
		for (uint32_t id = state->newest; id != HISTORY_NONE;
			id = build->history->versions[id].position)
			version_index(build, id);
	}
	return hashmap_at(&build->versions, name, object, build_hash(name, object))->id;
}

uint32_t build_version_int(struct history_build *build, uint32_t object, uint64_t name)
{
	const struct history_version *versions = build->history->versions;
	const struct build_object *state = &build->states[object];
	uint32_t id = state->newest;
	/* What is looked up in the map is mostly one of the newest two all the same. */
	unsigned most = state->indexed ? 2 : BUILD_CHAIN_MAX;

	/* Names mostly grow: then a new one is known without looking. */
	if (name > state->name_max)
		return version_new(build, object, name, false, HISTORY_VERSION_UNWRITTEN);
	for (unsigned i = 0; i < most && id != HISTORY_NONE; i++) {
		if (version_is(&versions[id], name))
			return id;
		id = versions[id].position;
	}
	if (id != HISTORY_NONE)
		id = version_old(build, object, name);
	return id != HISTORY_NONE
		       ? id
		       : version_new(build, object, name, false, HISTORY_VERSION_UNWRITTEN);
}

bool build_name_int_slow(struct span name, uint64_t *value)
{
	struct mp mp = mp_over(name);
	struct mp_object object;

	if (!mp_next(&mp, &object) || object.type != MP_UINT)
		return false;
	*value = object.u;
	return true;
}

uint32_t build_version_at(struct history_build *build, uint32_t object, struct span name)
{
	uint64_t value;
	uint32_t id;
	uint32_t *slot;

	if (build_name_int(name, &value))
		return build_version_int(build, object, value);
	name = canonical_key(&build->scratch, name);
	id = strtab_add(&build->names, name);
	/* Strings get ids in order, so those without a reference are at the end: this one. */
	MEM_RESERVE(build->name_refs, (size_t)id + 1, build->name_ref_capacity);
	for (; build->name_ref_count <= id; build->name_ref_count++)
		build->name_refs[build->name_ref_count] = build_bytes(
			build, strtab_get(&build->names, (uint32_t)build->name_ref_count));
	slot = map_at(&build->named, (uint64_t)object << 32 | id);
	if (*slot == MAP_NONE) {
		*slot = version_new(
			build, object, build->name_refs[id], true, HISTORY_VERSION_UNWRITTEN);
	}
	return *slot;
}

uint32_t build_dead(struct history_build *build, uint32_t object)
{
	return version_new(build, object, 0, false,
		HISTORY_VERSION_DEAD | HISTORY_VERSION_NAMELESS | HISTORY_VERSION_UNWRITTEN);
}

void build_image(struct history_build *build, uint32_t version, struct span image)
{
	struct history_version *v = &build->history->versions[version];
	struct build_object *state;

	if (!image.ptr || v->image)
		return;
	v->image = build_bytes(build, image);
	state = &build->states[v->object];
	if (state->newest == version && version_is(v, state->name_max))
		state->newest_whole = true;
}

void build_initial(struct history_build *build, uint32_t version)
{
	struct history_version *v = &build->history->versions[version];

	if (!(v->flags & (HISTORY_VERSION_UNWRITTEN | HISTORY_VERSION_INITIAL)))
		v->flags |= HISTORY_VERSION_DUPLICATE;
	v->flags |= HISTORY_VERSION_INITIAL;
	v->flags &= (uint16_t)~HISTORY_VERSION_UNWRITTEN;
}

/* ---- operations ---- */

static void op_add(
	struct history_build *build, const struct history_op *op, enum history_op_kind kind)
{
	struct history *history = build->history;
	struct history_op *to;

	MEM_RESERVE_SMALL(history->ops, (size_t)history->op_count + 1, build->op_capacity);
	to = &history->ops[history->op_count++];
	*to = *op;
	to->kind = (uint8_t)kind;
}

void build_read(struct history_build *build, const struct history_op *op)
{
	if (op->flags & HISTORY_OP_ABSENT)
		build->absent_count++;
	op_add(build, op, HISTORY_READ);
}

void build_write(struct history_build *build, const struct history_op *op, uint32_t previous)
{
	struct history_version *v = &build->history->versions[op->version];

	if (!(v->flags & HISTORY_VERSION_UNWRITTEN)) {
		v->flags |= HISTORY_VERSION_DUPLICATE;
		build->history->counts.duplicate_writes++;
		return;
	}
	v->flags &= (uint16_t)~HISTORY_VERSION_UNWRITTEN;
	if (op->flags & HISTORY_OP_EXACT)
		v->flags |= HISTORY_VERSION_EXACT;
	v->txn = op->txn;
	v->stmt = op->stmt;
	v->previous = previous;
	op_add(build, op, HISTORY_WRITE);
}

void build_predicate_add(struct history_build *build, const struct build_predicate *from)
{
	struct history *history = build->history;
	struct history_predicate predicate = from->predicate;
	struct history_op op = from->op;
	uint64_t at = history->predicate_version_count;
	uint32_t *to;

	/* build_room leaves room for what the input has; a set that several predicates share is
	 * written for each of them, and may be too much. */
	if (at + from->match_count + from->set_count >= UINT32_MAX) {
		history->counts.predicate_probes_skipped++;
		return;
	}
	MEM_RESERVE(history->predicate_versions, at + from->match_count + from->set_count,
		build->predicate_version_capacity);
	to = history->predicate_versions;
	predicate.first_match = (uint32_t)at;
	predicate.match_count = (uint32_t)from->match_count;
	for (size_t i = 0; i < from->match_count; i++)
		to[at++] = from->matches[i];
	predicate.first_set = (uint32_t)at;
	predicate.set_count = (uint32_t)from->set_count;
	for (size_t i = 0; i < from->set_count; i++)
		to[at++] = from->set[i];
	history->predicate_version_count = at;
	MEM_RESERVE(history->predicates, (size_t)history->predicate_count + 1,
		build->predicate_capacity);
	predicate.txn = op.txn;
	predicate.stmt = op.stmt;
	history->predicates[history->predicate_count] = predicate;
	op.object = HISTORY_NONE;
	op.predicate = history->predicate_count++;
	op_add(build, &op, HISTORY_PREDICATE);
}

void build_unseen(struct history_build *build, uint32_t table, uint32_t text)
{
	struct history *history = build->history;

	MEM_RESERVE(history->unseen, (size_t)history->unseen_count + 1, build->unseen_capacity);
	history->unseen[history->unseen_count++] = (struct history_unseen){table, text};
	history->tables[table].unseen_some = true;
}

void build_undo_between(struct history_build *build, uint32_t txn, uint32_t from, uint32_t to)
{
	if (to <= from || to - from < 2)
		return;
	MEM_RESERVE(build->history->undos, (size_t)build->history->undo_count + 1,
		build->undo_capacity);
	build->history->undos[build->history->undo_count++] = (struct history_undo){txn, from, to};
}
