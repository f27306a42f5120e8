/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Planting: transactions that follow a script instead of a discipline, on keys of their own in the
 * tables `plant` and `plant_p`, so that exactly one phenomenon arises.
 *
 * A script is a line of steps, each a statement of one actor (1 to 4); the actors are transactions.
 *
 *	b1 c1 a1        begin, commit, roll back
 *	c1( c1)         the commit is sent, and later answered: other steps fall between
 *	s1 u1           savepoint, rollback to it
 *	l1              set transaction isolation level repeatable read
 *	r1x0 R1x0       a read of object x (x, y: table plant; p, q: table plant_p) returns version
 *0: a plain SELECT, or FOR UPDATE d1x0x1          a SELECT FOR UPDATE by key returns two versions
 *of one row g1x             a read returns a version that is never written w1x1 i1p1+      an
 *UPDATE, an INSERT writes version 1 over the newest one so far; + gives it a value inside the
 *plant's predicate w1x2<0 w1x1<g   ... over version 0; over a version that was never written p1 a SELECT
 *by predicate sees what is committed, and its own writes U1p0q1          an UPDATE by predicate
 *sees version 0 of p, 1 of q; what matches it writes Fx0             the final rows show version 0
 *
 * Version 0 is there from the start, except where `unborn` names the object; it never satisfies the
 * predicate.  A version that is read before it is written gets its name then.
 *
 * Why nothing else arises: the objects belong to the plant alone, so all data edges among the
 * plant's transactions are those of the script, and there is none to or from any other transaction.
 * Real-time and session edges do connect the plant with the rest.  They cannot close a further
 * cycle that a discipline does not have by itself: a path that leaves the plant at Ti by an order
 * edge and comes back to Tj by one passes transactions that began after Ti's end and ended before
 * Tj began; within a correct history data edges do not lead backwards in real time (except over
 * adjacent rw edges, below SERIALIZABLE), so then Ti -> Tj is an order edge already.  Hence the
 * scripts keep their transactions overlapping wherever they do not want such an edge, and commits
 * overlapping where a snapshot must not see one without the other.  The twin confirms it, by the
 * thousand.
 *
 * Plants run one after the other, spread over the run; each actor is a session of a small pool.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/json.h"
#include "base/mem.h"
#include "sim/run.h"

enum {
	ACTORS = SIM_PLANT_ACTORS,
	OBJECTS = 4,        /* x, y, p, q */
	VERSIONS = 4,       /* of an object */
	PLANT_RANGE = 1000, /* values of a plant; the first 100 of them satisfy its predicate */
	GARBAGE = VERSIONS, /* index of the version that is never written */
};

struct recipe {
	const char *name;
	enum twin_class class;
	enum twin_strength strength;
	const char *script;
	const char *unborn; /* objects without a version 0 */
	const char *cycle;  /* the actors in the order of the cycle, or those concerned */
	bool one_session;   /* actors 1 and 2 */
	int companion;      /* a class that cannot be avoided; -1: none */
};

/* T1 ends before T2 begins; the others overlap both. */
#define ORDERED_G0            "b3 w3y1 b1 w1y2 c1 b2 w2x1 c2 w3x2 c3"
#define ORDERED_G1C           "b3 w3y1 b1 r1y1 c1 b2 w2x1 c2 r3x1 c3"
#define ORDERED_G_SINGLE      "b1 w1x1 c1 b2 r2x0 c2"
#define ORDERED_G_NONADJACENT "b3 b4 b1 w1x1 c1 b2 r2y0 w3y1 c3 R4y1 r4x0 c4 c2"
#define ORDERED_G2_ITEM       "b3 b1 w1x1 c1 b2 r2y0 r3x0 w3y1 c3 c2"
#define ORDERED_G2            "b3 p3 b1 i1p1+ c1 b2 r2y0 w3y1 c3 c2"

static const struct recipe recipes[SIM_PLANT_KINDS] = {
	[SIM_PLANT_G0] = {"G0", TWIN_G0, TWIN_PLAIN, "b1 b2 w1x1 w2x2 w2y1 w1y2 c1( c2( c1) c2)",
		"", "12", false, -1},
	[SIM_PLANT_G1A] = {"G1a", TWIN_G1A, TWIN_PLAIN, "b1 b2 w1x1 r2x1 a1 c2", "", "21", false,
		-1},
	[SIM_PLANT_G1B] = {"G1b", TWIN_G1B, TWIN_PLAIN, "b1 b2 w1x1 r2x1 w1x2 c1 c2", "", "21",
		false, -1},
	[SIM_PLANT_G1C] = {"G1c", TWIN_G1C, TWIN_PLAIN, "b1 b2 w1x1 r2x1 w2y1 r1y1 c1( c2( c1) c2)",
		"", "12", false, -1},
	[SIM_PLANT_G_SINGLE] = {"G-single", TWIN_G_SINGLE, TWIN_PLAIN,
		"b1 b2 r1x0 w2x1 w2y1 c2 R1y1 c1", "", "12", false, -1},
	[SIM_PLANT_G_NONADJACENT] = {"G-nonadjacent", TWIN_G_NONADJACENT, TWIN_PLAIN,
		"b1 b2 b3 b4 w1x1 w2y1 c1( c2( c1) c2) r3x1 r3y0 r4x0 r4y1 c3( c4( c3) c4)", "",
		"1324", false, -1},
	[SIM_PLANT_G2_ITEM] = {"G2-item", TWIN_G2_ITEM, TWIN_PLAIN,
		"b1 b2 r1x0 r2y0 w1y1 w2x1 c1( c2( c1) c2)", "", "12", false, -1},
	[SIM_PLANT_G2] = {"G2", TWIN_G2, TWIN_PLAIN, "b1 b2 p1 p2 i1p1+ i2q1+ c1( c2( c1) c2)",
		"pq", "12", false, -1},
	[SIM_PLANT_G0_SESSION] = {"G0-session", TWIN_G0, TWIN_SESSION, ORDERED_G0, "", "123", true,
		-1},
	[SIM_PLANT_G1C_SESSION] = {"G1c-session", TWIN_G1C, TWIN_SESSION, ORDERED_G1C, "", "123",
		true, -1},
	[SIM_PLANT_G_SINGLE_SESSION] = {"G-single-session", TWIN_G_SINGLE, TWIN_SESSION,
		ORDERED_G_SINGLE, "", "12", true, -1},
	[SIM_PLANT_G_NONADJACENT_SESSION] = {"G-nonadjacent-session", TWIN_G_NONADJACENT,
		TWIN_SESSION, ORDERED_G_NONADJACENT, "", "1234", true, -1},
	[SIM_PLANT_G2_ITEM_SESSION] = {"G2-item-session", TWIN_G2_ITEM, TWIN_SESSION,
		ORDERED_G2_ITEM, "", "123", true, -1},
	[SIM_PLANT_G2_SESSION] = {"G2-session", TWIN_G2, TWIN_SESSION, ORDERED_G2, "p", "123", true,
		-1},
	[SIM_PLANT_G0_REALTIME] = {"G0-realtime", TWIN_G0, TWIN_REALTIME, ORDERED_G0, "", "123",
		false, -1},
	[SIM_PLANT_G1C_REALTIME] = {"G1c-realtime", TWIN_G1C, TWIN_REALTIME, ORDERED_G1C, "", "123",
		false, -1},
	[SIM_PLANT_G_SINGLE_REALTIME] = {"G-single-realtime", TWIN_G_SINGLE, TWIN_REALTIME,
		ORDERED_G_SINGLE, "", "12", false, -1},
	[SIM_PLANT_G_NONADJACENT_REALTIME] = {"G-nonadjacent-realtime", TWIN_G_NONADJACENT,
		TWIN_REALTIME, ORDERED_G_NONADJACENT, "", "1234", false, -1},
	[SIM_PLANT_G2_ITEM_REALTIME] = {"G2-item-realtime", TWIN_G2_ITEM, TWIN_REALTIME,
		ORDERED_G2_ITEM, "", "123", false, -1},
	[SIM_PLANT_G2_REALTIME] = {"G2-realtime", TWIN_G2, TWIN_REALTIME, ORDERED_G2, "p", "123",
		false, -1},
	[SIM_PLANT_LOST_UPDATE] = {"lost-update", TWIN_LOST_UPDATE, TWIN_PLAIN,
		"b1 b2 r1x0 r2x0 w1x1 c1 w2x2 c2", "", "12", false, TWIN_G_SINGLE},
	[SIM_PLANT_GARBAGE_READ] = {"garbage-read", TWIN_GARBAGE_READ, TWIN_PLAIN, "b1 g1x c1", "",
		"1", false, -1},
	[SIM_PLANT_FUTURE_READ] = {"future-read", TWIN_FUTURE_READ, TWIN_PLAIN,
		"b1 b2 r1x1 w2x1 c2 c1", "", "12", false, -1},
	[SIM_PLANT_OWN_WRITE] = {"own-write", TWIN_OWN_WRITE, TWIN_PLAIN, "b1 w1x1 r1x0 c1", "",
		"1", false, -1},
	[SIM_PLANT_OWN_WRITE_UNDONE] = {"own-write-undone", TWIN_OWN_WRITE, TWIN_PLAIN,
		"b1 s1 w1x1 u1 r1x1 c1", "", "1", false, -1},
	[SIM_PLANT_UNSTABLE_SNAPSHOT] = {"unstable-snapshot", TWIN_UNSTABLE_SNAPSHOT, TWIN_PLAIN,
		"l1 b1 b2 b3 w2x1 w3y1 c2 r1x0 c3 r1y1 c1", "", "123", false, -1},
	[SIM_PLANT_DUPLICATE_ROW] = {"duplicate-row", TWIN_DUPLICATE_ROW, TWIN_PLAIN,
		"b1 b2 w2x1 c2 d1x0x1 c1", "", "12", false, TWIN_G_SINGLE},
	[SIM_PLANT_SPLIT_STATEMENT] = {"split-statement", TWIN_SPLIT_STATEMENT, TWIN_PLAIN,
		"b1 b2 w2p1+ w2q1+ c2 U1p0q1 c1", "", "12", false, TWIN_G_SINGLE},
	[SIM_PLANT_LOST_VERSION] = {"lost-version", TWIN_LOST_VERSION, TWIN_PLAIN,
		"b1 b2 w1x1 c1 w2x2<0 c2", "", "12", false, -1},
	[SIM_PLANT_LOST_VERSION_CHAIN] = {"lost-version-chain", TWIN_LOST_VERSION, TWIN_PLAIN,
		"b1 w1x1<g c1", "", "1", false, -1},
	[SIM_PLANT_LOST_VERSION_FINAL] = {"lost-version-final", TWIN_LOST_VERSION, TWIN_PLAIN,
		"b1 w1x1 c1 Fx0", "", "1", false, -1},
};

const char *sim_plant_name(enum sim_plant plant)
{
	return recipes[plant].name;
}

bool sim_plant_parse(const char *name, enum sim_plant *out)
{
	for (int i = 0; i < SIM_PLANT_KINDS; i++) {
		if (strcmp(name, recipes[i].name) == 0) {
			*out = (enum sim_plant)i;
			return true;
		}
	}
	return false;
}

void sim_plant_class(enum sim_plant plant, enum twin_class *class, enum twin_strength *strength)
{
	*class = recipes[plant].class;
	*strength = recipes[plant].strength;
}

bool sim_plant_companion(enum sim_plant plant, enum twin_class *class)
{
	if (recipes[plant].companion < 0)
		return false;
	*class = (enum twin_class)recipes[plant].companion;
	return true;
}

/* ---- the state of plants ---- */

struct plant_version {
	struct sim_seen seen; /* name 0: not named yet */
	uint64_t previous;    /* its name; 0: none */
	unsigned actor;       /* that wrote it; 0: none */
	bool written, undone, committed;
};

struct plant_object {
	uint32_t table, key;
	struct plant_version versions[VERSIONS + 1]; /* and the garbage one */
	int newest;                                  /* index of the last written; -1: unborn */
};

struct plant {
	const struct recipe *recipe;
	uint32_t first_key, first_predicate_key;
	int64_t base; /* of its values */
};

struct sim_plants {
	struct plant *plants;
	uint32_t count, next; /* next: the one to start */
	bool running;
	const char *at;              /* in its script */
	struct sim_session *pending; /* sent and not answered, with nothing else in between */
	struct sim_session actors[ACTORS + 1];
	bool opened;
	struct plant_object objects[OBJECTS];
	uint64_t txn_numbers[ACTORS + 1];
	struct buf json; /* the side file */
	struct json writer;
	uint64_t transactions;
};

static unsigned objects_used(const struct recipe *recipe, bool predicate)
{
	const char *letters = predicate ? "pq" : "xy";

	for (const char *s = recipe->script; *s; s++)
		if (*s == letters[0] || *s == letters[1])
			if (islower((unsigned char)*s) && s > recipe->script && s[-1] != ' ')
				return 2;
	return 0;
}

struct sim_plants *sim_plants_new(
	const struct sim_options *options, uint32_t *keys, uint32_t *predicate_keys)
{
	struct sim_plants *p = mem_zero(1, sizeof(*p));
	size_t capacity = 0;

	*keys = *predicate_keys = 0;
	for (int kind = 0; kind < SIM_PLANT_KINDS; kind++) {
		for (uint32_t i = 0; i < options->plants[kind]; i++) {
			struct plant plant = {.recipe = &recipes[kind]};

			MEM_RESERVE(p->plants, p->count + 1u, capacity);
			plant.first_key = *keys;
			plant.first_predicate_key = *predicate_keys;
			plant.base = (int64_t)PLANT_RANGE * (p->count + 1);
			*keys += objects_used(plant.recipe, false);
			*predicate_keys += objects_used(plant.recipe, true);
			p->plants[p->count++] = plant;
		}
	}
	p->transactions = options->transactions;
	json_init(&p->writer, &p->json, 0);
	json_begin_object(&p->writer);
	json_key(&p->writer, "schema");
	json_str(&p->writer, "isosim.truth/1");
	json_key(&p->writer, "seed");
	json_uint(&p->writer, options->seed);
	json_key(&p->writer, "discipline");
	json_str(&p->writer, sim_discipline_name(options->discipline));
	json_key(&p->writer, "tangled");
	json_bool(&p->writer, options->tangle);
	json_key(&p->writer, "plants");
	json_begin_array(&p->writer);
	return p;
}

void sim_plants_free(struct sim_plants *p)
{
	if (!p)
		return;
	for (int i = 1; i <= ACTORS; i++)
		sim_session_release(&p->actors[i]);
	buf_release(&p->json);
	free(p->plants);
	free(p);
}

static bool is_unborn(const struct plant *plant, int object)
{
	return strchr(plant->recipe->unborn, "xypq"[object]) != NULL;
}

static bool has_object(const struct plant *plant, int object)
{
	return objects_used(plant->recipe, object >= 2) != 0;
}

static uint32_t object_key(const struct plant *plant, int object)
{
	return object < 2 ? plant->first_key + (uint32_t)object
			  : plant->first_predicate_key + (uint32_t)object - 2;
}

/* A value of the plant's: inside its predicate or not, and different each time. */
static int64_t plant_value(const struct plant *plant, int object, int version, bool match)
{
	return plant->base + (match ? 0 : 500) + object * 10 + version;
}

void sim_plants_load(struct sim *sim, uint32_t table, uint32_t predicate_table)
{
	struct sim_plants *p = sim->plants;

	/* In an order that the seed chooses. */
	for (uint32_t i = p->count; i > 1; i--) {
		uint32_t j = (uint32_t)sim_random_below(sim, i);
		struct plant swap = p->plants[i - 1];

		p->plants[i - 1] = p->plants[j];
		p->plants[j] = swap;
	}
	p->objects[0].table = p->objects[1].table = table;
	p->objects[2].table = p->objects[3].table = predicate_table;
	for (uint32_t i = 0; i < p->count; i++) {
		for (int object = 0; object < OBJECTS; object++) {
			uint32_t t = p->objects[object].table;

			if (!has_object(&p->plants[i], object) || is_unborn(&p->plants[i], object))
				continue;
			(void)store_load(&sim->store,
				sim->tables[t].first_object + object_key(&p->plants[i], object),
				plant_value(&p->plants[i], object, 0, false));
		}
	}
}

/* ---- running one ---- */

/* The side file's entry: what it is, then the statements as they are answered. */
static void begin_json(struct sim_plants *p, const struct recipe *recipe)
{
	struct json *json = &p->writer;
	struct buf class = BUF_INIT;

	json_begin_object(json);
	json_key(json, "plant");
	json_str(json, recipe->name);
	json_key(json, "class");
	twin_class_print(&class, recipe->class, recipe->strength);
	json_string(json, buf_span(&class));
	json_key(json, "with");
	json_begin_array(json);
	if (recipe->companion >= 0) {
		buf_clear(&class);
		twin_class_print(&class, (enum twin_class)recipe->companion, TWIN_PLAIN);
		json_string(json, buf_span(&class));
	}
	json_end_array(json);
	json_key(json, "statements");
	json_begin_array(json);
	buf_release(&class);
}

static void start_plant(struct sim *sim)
{
	struct sim_plants *p = sim->plants;
	const struct plant *plant = &p->plants[p->next];

	if (!p->opened) {
		for (uint32_t i = 1; i <= ACTORS; i++) {
			/* In the store they only are when tangled. */
			sim_session_init(sim, &p->actors[i], sim->options->sessions + i - 1);
			sim_session_open(sim, &p->actors[i]);
		}
		p->opened = true;
	}
	for (int i = 0; i < OBJECTS; i++) {
		struct plant_object *o = &p->objects[i];
		uint32_t v;

		memset(o->versions, 0, sizeof(o->versions));
		o->newest = -1;
		if (!has_object(plant, i))
			continue;
		o->key = object_key(plant, i);
		v = store_newest(&sim->store, sim->tables[o->table].first_object + o->key);
		if (v != STORE_NONE) {
			o->newest = 0;
			o->versions[0].seen = sim_seen(sim, o->table, o->key, v);
			o->versions[0].written = o->versions[0].committed = true;
		}
	}
	memset(p->txn_numbers, 0, sizeof(p->txn_numbers));
	p->running = true;
	p->at = plant->recipe->script;
	begin_json(p, plant->recipe);
}

static struct sim_session *session_of(struct sim_plants *p, unsigned actor)
{
	bool shared = p->plants[p->next].recipe->one_session && actor == 2;

	return &p->actors[shared ? 1 : actor];
}

/* A version that is met before it was written gets its name, and its place in the truth, now. */
static struct plant_version *name_version(struct sim *sim, struct plant_object *o, int index)
{
	struct plant_version *v = &o->versions[index];
	const struct plant *plant = &sim->plants->plants[sim->plants->next];
	int object = (int)(o - sim->plants->objects);

	if (v->seen.name)
		return v;
	v->seen.name = sim->store.next_name++;
	v->seen.value = plant_value(plant, object, index, false);
	v->seen.exists = true;
	v->seen.truth = TWIN_NONE;
	if (sim->truth)
		v->seen.truth = twin_add_version(sim->truth,
			&(struct twin_version){.object = sim_truth_object(sim, o->table, o->key),
				.txn = TWIN_NONE,
				.previous = TWIN_NONE,
				.name = v->seen.name,
				.value = v->seen.value,
				.exists = true,
				.garbage = index == GARBAGE});
	return v;
}

static struct sim_seen seen_of(struct sim *sim, struct plant_object *o, int index)
{
	struct sim_seen unborn = {.truth = TWIN_NONE};

	if (index >= 0)
		return name_version(sim, o, index)->seen;
	if (sim->truth)
		unborn.truth = sim_truth_version(sim, o->table, o->key, STORE_NONE);
	return unborn;
}

/* Writes version `index` of the object over version `before` (-1: unborn). */
static void write_version(struct sim *sim, struct sim_session *s, unsigned actor,
	struct plant_object *o, int index, int before, bool match, enum probe_op op)
{
	struct sim_plants *p = sim->plants;
	const struct plant *plant = &p->plants[p->next];
	struct plant_version *v = name_version(sim, o, index);
	struct sim_seen old = seen_of(sim, o, before);

	v->seen.value = plant_value(plant, (int)(o - p->objects), index, match);
	v->actor = actor;
	v->written = true;
	v->previous = old.exists ? old.name : 0;
	o->newest = index;
	if (sim->truth) {
		struct twin_version *t = &sim->truth->versions[v->seen.truth];

		t->txn = s->truth_txn;
		t->previous = old.truth;
		t->stmt_seq = s->begin_seq;
		t->value = v->seen.value;
	}
	sim_note_write(sim, s, o->key, &v->seen, o->key, &old, op);
	s->affected++;
}

/* The newest version of the actor's own, else the newest committed; -1: none. */
static int visible(const struct plant_object *o, unsigned actor)
{
	int found = -1;

	for (int i = 0; i < VERSIONS; i++) {
		const struct plant_version *v = &o->versions[i];

		if (!v->written || v->undone)
			continue;
		if (v->committed || (actor && v->actor == actor))
			found = i;
	}
	return found;
}

/* The store shows what is committed: for the final rows, and for other plants' predicates. */
static void show_in_store(struct sim *sim, struct plant_object *o, int index)
{
	uint32_t object = sim->tables[o->table].first_object + o->key;
	uint32_t v = store_newest(&sim->store, object);

	if (index < 0)
		return;
	if (v == STORE_NONE)
		v = store_load(&sim->store, object, 0);
	sim->store.versions[v].name = o->versions[index].seen.name;
	sim->store.versions[v].value = o->versions[index].seen.value;
	sim->store.versions[v].truth = o->versions[index].seen.truth;
}

static void end_txn(struct sim *sim, struct sim_session *s, unsigned actor, bool commit)
{
	struct sim_plants *p = sim->plants;

	if (sim->options->tangle)
		sim_end_in_store(sim, s, commit);
	s->txn_ended = true;
	s->txn_outcome = commit ? TXN_COMMITTED : TXN_ABORTED;
	for (int i = 0; i < OBJECTS && commit; i++) {
		for (int k = 0; k < VERSIONS; k++)
			if (p->objects[i].versions[k].actor == actor)
				p->objects[i].versions[k].committed = true;
		if (has_object(&p->plants[p->next], i))
			show_in_store(sim, &p->objects[i], visible(&p->objects[i], 0));
	}
}

/* The scripts write nothing before their savepoint. */
static void undo_writes(struct sim *sim, unsigned actor)
{
	struct sim_plants *p = sim->plants;

	for (int i = 0; i < OBJECTS; i++) {
		struct plant_object *o = &p->objects[i];

		for (int k = 0; k < VERSIONS; k++) {
			if (o->versions[k].actor != actor)
				continue;
			o->versions[k].undone = true;
			if (sim->truth)
				sim->truth->versions[o->versions[k].seen.truth].undone_seq =
					sim->seq;
		}
		o->newest = visible(o, actor);
	}
}

/* By predicate: what it sees of the plant's own rows is the script's word, of others the store's.
 */
static void predicate_read(struct sim *sim, struct sim_session *s, uint8_t kind,
	const int seen_index[OBJECTS], const bool given[OBJECTS], unsigned actor)
{
	struct sim_plants *p = sim->plants;
	uint32_t table = s->stmt.table, keys = sim->tables[table].keys;
	uint32_t first = p->plants[p->next].first_predicate_key;
	struct twin_predicate predicate;

	sim_note_predicate_begin(sim, s, kind, &predicate);
	for (uint32_t key = 0; key < keys; key++) {
		struct sim_seen seen;

		if (key >= first && key < first + 2) {
			int object = 2 + (int)(key - first);
			struct plant_object *o = &p->objects[object];

			seen = seen_of(
				sim, o, given[object] ? seen_index[object] : visible(o, actor));
		} else {
			seen = sim_seen(sim, table, key,
				store_newest(&sim->store, sim->tables[table].first_object + key));
		}
		sim_note_predicate_row(sim, s, key, &seen);
	}
	sim_note_predicate_end(sim, s, kind, &predicate);
}

struct step {
	char what;
	unsigned actor;
	int object, version;   /* -1: not given */
	int object2, version2; /* U, d: a second pair */
	int over;              /* version written over; -1: the newest */
	bool match, send_only, answer_only;
};

static int object_index(char c)
{
	const char *letters = "xypq";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* A pair such as x1, where there is one. */
static const char *parse_pair(const char *s, int *object, int *version)
{
	*object = object_index(*s);
	*version = -1;
	if (*object < 0)
		return s;
	s++;
	if (isdigit((unsigned char)*s))
		*version = *s++ - '0';
	return s;
}

static struct step parse_step(const char **script)
{
	struct step step = {.over = -1};
	const char *s = *script;

	step.what = *s++;
	if (step.what != 'F')
		step.actor = (unsigned)(*s++ - '0');
	s = parse_pair(s, &step.object, &step.version);
	s = parse_pair(s, &step.object2, &step.version2);
	if (*s == '+') {
		step.match = true;
		s++;
	}
	if (*s == '<') {
		step.over = s[1] == 'g' ? GARBAGE : s[1] - '0';
		s += 2;
	}
	if (*s == '(') {
		step.send_only = true;
		s++;
	} else if (*s == ')') {
		step.answer_only = true;
		s++;
	}
	CHECK(*s == ' ' || *s == '\0');
	while (*s == ' ')
		s++;
	*script = s;
	return step;
}

static enum sim_action action_of(char what)
{
	switch (what) {
	case 'b':
		return ACTION_BEGIN;
	case 'c':
		return ACTION_COMMIT;
	case 'a':
		return ACTION_ROLLBACK;
	case 's':
		return ACTION_SAVEPOINT;
	case 'u':
		return ACTION_ROLLBACK_TO;
	case 'l':
		return ACTION_SET_LEVEL;
	case 'r':
	case 'g':
		return ACTION_READ;
	case 'R':
	case 'd':
		return ACTION_READ_LOCK;
	case 'w':
		return ACTION_UPDATE;
	case 'i':
		return ACTION_INSERT;
	case 'p':
		return ACTION_SCAN;
	case 'U':
		return ACTION_SCAN_UPDATE;
	}
	BUG("plant step '%c'", what);
}

/* Fills in the statement, for its text, and sends it. */
static void send_step(struct sim *sim, struct sim_session *s, const struct step *step)
{
	struct sim_plants *p = sim->plants;
	const struct plant *plant = &p->plants[p->next];

	s->stmt = (struct sim_stmt){.action = action_of(step->what)};
	if (step->what == 'p' || step->what == 'U') {
		s->stmt.table = p->objects[2].table;
		s->stmt.low = plant->base;
		s->stmt.high = plant->base + 99;
		s->stmt.value = plant_value(plant, 3, 2, false);
	} else if (step->object >= 0) {
		s->stmt.table = p->objects[step->object].table;
		s->stmt.key = p->objects[step->object].key;
		s->stmt.value = plant_value(plant, step->object, step->version, step->match);
	}
	if (step->what == 'b') {
		s->txn = p->txn_numbers[step->actor] = ++sim->next_txn;
		s->autocommit = s->consistent_snapshot = false;
	}
	sim_send(sim, s);
}

static void do_read(struct sim *sim, struct sim_session *s, int object, int version, uint8_t kind)
{
	struct plant_object *o = &sim->plants->objects[object];
	struct sim_seen seen = seen_of(sim, o, version);

	sim_note_read(sim, s, o->key, &seen, kind);
	s->has_result = true;
	sim_rows_add_row(&s->result, o->key, seen.value);
}

static void do_predicate_update(struct sim *sim, struct sim_session *s, const struct step *step)
{
	struct sim_plants *p = sim->plants;
	int index[OBJECTS] = {0};
	bool given[OBJECTS] = {false};

	index[step->object] = step->version;
	index[step->object2] = step->version2;
	given[step->object] = given[step->object2] = true;
	predicate_read(sim, s, PROBE_READ_CURRENT, index, given, step->actor);
	for (int i = 2; i < OBJECTS; i++) {
		struct plant_object *o = &p->objects[i];
		struct sim_seen seen = seen_of(sim, o, index[i]);

		if (sim_matches(&s->stmt, o->key, &seen))
			write_version(sim, s, step->actor, o, index[i] + 1, index[i], false,
				PROBE_OP_UPDATE);
	}
}

/* What the statement does. */
static void do_step(struct sim *sim, struct sim_session *s, const struct step *step)
{
	struct sim_plants *p = sim->plants;
	struct plant_object *o = step->object >= 0 ? &p->objects[step->object] : NULL;
	/* A plain read of a transaction that was set to REPEATABLE READ comes from its snapshot. */
	uint8_t plain =
		s->level == LEVEL_REPEATABLE_READ ? PROBE_READ_SNAPSHOT : sim_plain_kind(sim);
	const int none[OBJECTS] = {0};
	const bool nothing[OBJECTS] = {false};

	switch (step->what) {
	case 'c':
	case 'a':
		end_txn(sim, s, step->actor, step->what == 'c');
		return;
	case 's':
		if (sim->options->tangle)
			s->savepoint_written = sim->store.sessions[s->index].written_count;
		return;
	case 'u':
		undo_writes(sim, step->actor);
		if (sim->options->tangle)
			sim_undo_to_savepoint(sim, s);
		return;
	case 'l':
		s->level = LEVEL_REPEATABLE_READ;
		return;
	case 'r':
		do_read(sim, s, step->object, step->version, plain);
		return;
	case 'R':
		do_read(sim, s, step->object, step->version, PROBE_READ_CURRENT);
		return;
	case 'g':
		do_read(sim, s, step->object, GARBAGE, plain);
		return;
	case 'd':
		do_read(sim, s, step->object, step->version, PROBE_READ_CURRENT);
		do_read(sim, s, step->object2, step->version2, PROBE_READ_CURRENT);
		return;
	case 'w':
		write_version(sim, s, step->actor, o, step->version,
			step->over >= 0 ? step->over : o->newest, step->match, PROBE_OP_UPDATE);
		return;
	case 'i':
		write_version(sim, s, step->actor, o, step->version, o->newest, step->match,
			PROBE_OP_INSERT);
		return;
	case 'p':
		predicate_read(sim, s, plain, none, nothing, step->actor);
		s->has_result = true; /* nothing matches yet */
		return;
	case 'U':
		do_predicate_update(sim, s, step);
		return;
	default: /* begin */
		return;
	}
}

static void answer_step(struct sim *sim, struct sim_session *s)
{
	struct json *json = &sim->plants->writer;
	uint64_t txn = s->txn;
	bool ended = s->txn_ended;

	json_begin_object(json);
	json_key(json, "session");
	json_uint(json, s->number);
	json_key(json, "number");
	json_uint(json, s->stmt_number);
	json_key(json, "txn");
	json_uint(json, txn);
	json_key(json, "text");
	json_string(json, buf_span(&s->text));
	json_end_object(json);
	sim_answer(sim, s);
	if (ended)
		s->level = sim_level(sim->options->discipline);
}

/* ---- the side file ---- */

static void object_json(const struct sim *sim, struct json *json, const struct plant_object *o)
{
	json_begin_object(json);
	json_key(json, "table");
	json_str(json, sim->tables[o->table].name);
	json_key(json, "key");
	json_uint(json, o->key);
	json_key(json, "versions");
	json_begin_array(json);
	for (int i = 0; i <= VERSIONS; i++) {
		const struct plant_version *v = &o->versions[i];

		if (!v->seen.name)
			continue;
		json_begin_object(json);
		json_key(json, "version");
		json_uint(json, v->seen.name);
		json_key(json, "txn");
		if (v->actor)
			json_uint(json, sim->plants->txn_numbers[v->actor]);
		else
			json_null(json);
		if (v->previous) {
			json_key(json, "previous");
			json_uint(json, v->previous);
		}
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void finish_plant(struct sim *sim)
{
	struct sim_plants *p = sim->plants;
	const struct plant *plant = &p->plants[p->next];
	struct json *json = &p->writer;

	json_end_array(json); /* statements */
	json_key(json, "transactions");
	json_begin_array(json);
	for (const char *c = plant->recipe->cycle; *c; c++)
		json_uint(json, p->txn_numbers[*c - '0']);
	json_end_array(json);
	json_key(json, "objects");
	json_begin_array(json);
	for (int i = 0; i < OBJECTS; i++)
		if (has_object(plant, i))
			object_json(sim, json, &p->objects[i]);
	json_end_array(json);
	json_end_object(json);
	p->running = false;
	p->next++;
}

/* ---- the schedule ---- */

bool sim_plants_done(const struct sim *sim)
{
	return sim->plants->next == sim->plants->count;
}

/* Plants are spread evenly over the transactions of the run. */
static bool is_due(const struct sim *sim)
{
	const struct sim_plants *p = sim->plants;
	uint64_t started = p->transactions - sim->transactions_left;
	double share = (double)(p->next + 1) / (double)(p->count + 1);

	return sim->active_count == 0 || (double)started >= share * (double)p->transactions;
}

static void close_pool(struct sim *sim)
{
	for (uint32_t i = 1; i <= ACTORS; i++)
		sim_emit_session(sim, &sim->plants->actors[i], SESSION_CLOSED, "quit");
}

uint32_t sim_plants_session(const struct sim *sim, uint32_t index)
{
	return sim->plants->actors[index - sim->options->sessions + 1].number;
}

/* An ordinary statement of some actor whose transaction is open and idle; false: none is. */
static bool tangle(struct sim *sim)
{
	struct sim_plants *p = sim->plants;
	struct sim_session *s = &p->actors[1 + sim_random_below(sim, ACTORS)];

	/* One that was set to another level is left alone: the store would not honour it. */
	if (!s->txn || s->phase != PHASE_IDLE || s->level != sim_level(sim->options->discipline))
		return false;
	sim_pick_data_stmt(sim, &s->stmt);
	sim_send(sim, s);
	sim_probe_before(sim, s);
	sim_execute_at_once(sim, s);
	p->pending = s;
	return true;
}

bool sim_plants_step(struct sim *sim)
{
	struct sim_plants *p = sim->plants;
	struct sim_session *s;
	struct step step;

	if (sim_plants_done(sim))
		return false;
	if (!p->running) {
		if (is_due(sim))
			start_plant(sim);
		return true;
	}
	if (p->pending) {
		answer_step(sim, p->pending);
		p->pending = NULL;
	} else if (sim->options->tangle && sim_chance(sim, 0.4) && tangle(sim)) {
		return true;
	} else if (*p->at) {
		step = parse_step(&p->at);
		if (step.what == 'F') {
			show_in_store(sim, &p->objects[step.object], step.version);
			return true;
		}
		s = session_of(p, step.actor);
		if (!step.answer_only) {
			send_step(sim, s, &step);
			do_step(sim, s, &step);
		}
		if (!step.send_only)
			p->pending = s;
	} else {
		finish_plant(sim);
		if (sim_plants_done(sim))
			close_pool(sim);
	}
	return true;
}

void sim_plants_json(const struct sim *sim, struct buf *out)
{
	struct sim_plants *p = sim->plants;

	json_end_array(&p->writer);
	json_end_object(&p->writer);
	buf_add_span(out, buf_span(&p->json));
	buf_add_char(out, '\n');
}
