/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options, tables, and the schedule: which session moves next. */
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "sim/run.h"

enum {
	SESSIONS_MAX = 10000,
	TABLES_MAX = 1000,
	KEYS_MAX = 100 * 1000 * 1000,
	OPS_MAX = 100000,
	PREDICATE_KEYS_AUTO = 32, /* predicates get a table of their own when tables are larger */
};

/* ---- options ---- */

void sim_defaults(struct sim_options *o)
{
	*o = (struct sim_options){.seed = 1,
		.discipline = SIM_SERIALIZABLE,
		.probes = SIM_PROBES_TRIGGER,
		.sessions = 8,
		.transactions = 1000,
		.ops = 5,
		.tables = 1,
		.keys = 100,
		.predicate_keys = PREDICATE_KEYS_AUTO,
		.values = 1000,
		.theta = 0,
		.present = 0.75,
		.update = 0.35,
		.insert = 0.05,
		.delete = 0.05,
		.pk_update = 0.01,
		.predicate = 0.05,
		.locking = 0.1,
		.predicate_update = 0.15,
		.predicate_delete = 0.05,
		.predicate_locking = 0.1,
		.savepoint = 0.02,
		.abort = 0.05,
		.unknown = 0.005,
		.autocommit = 0.05,
		.consistent_snapshot = 0.2};
}

static bool check_share(struct err *err, const char *name, double share)
{
	if (share >= 0 && share <= 1)
		return true;
	return err_set(err, ERR_USAGE, "%s is %g; it is a share, from 0 to 1", name, share);
}

static bool check_range(
	struct err *err, const char *name, uint64_t value, uint64_t low, uint64_t high)
{
	if (value >= low && value <= high)
		return true;
	return err_set(err, ERR_USAGE, "%s is %llu; it must be from %llu to %llu", name,
		(unsigned long long)value, (unsigned long long)low, (unsigned long long)high);
}

bool sim_options_check(const struct sim_options *o, struct err *err)
{
	const struct {
		const char *name;
		double share;
	} shares[] = {{"--present", o->present}, {"--update", o->update}, {"--insert", o->insert},
		{"--delete", o->delete}, {"--pk-update", o->pk_update},
		{"--predicate", o->predicate}, {"--locking", o->locking},
		{"--predicate-update", o->predicate_update},
		{"--predicate-delete", o->predicate_delete},
		{"--predicate-locking", o->predicate_locking}, {"--savepoints", o->savepoint},
		{"--abort", o->abort}, {"--unknown", o->unknown}, {"--autocommit", o->autocommit},
		{"--consistent-snapshot", o->consistent_snapshot}};

	for (size_t i = 0; i < ARRAY_LEN(shares); i++)
		if (!check_share(err, shares[i].name, shares[i].share))
			return false;
	if (o->update + o->insert + o->delete + o->pk_update + o->predicate > 1.0 + 1e-9)
		return err_set(err, ERR_USAGE,
			"--update, --insert, --delete, --pk-update and --predicate are shares of "
			"all "
			"statements; together they are more than 1");
	if (o->predicate_update + o->predicate_delete + o->predicate_locking > 1.0 + 1e-9)
		return err_set(err, ERR_USAGE,
			"--predicate-update, --predicate-delete and --predicate-locking are shares "
			"of "
			"the predicate statements; together they are more than 1");
	if (o->savepoint > 0.9)
		return err_set(err, ERR_USAGE, "--savepoints is %g; at most 0.9", o->savepoint);
	if (!(o->theta >= 0 && o->theta < 1))
		return err_set(err, ERR_USAGE, "--theta is %g; it must be at least 0 and below 1",
			o->theta);
	return check_range(err, "--sessions", o->sessions, 1, SESSIONS_MAX) &&
	       check_range(err, "--ops", o->ops, 1, OPS_MAX) &&
	       check_range(err, "--tables", o->tables, 1, TABLES_MAX) &&
	       check_range(err, "--keys", o->keys, 1, KEYS_MAX) &&
	       check_range(
		       err, "--tables times --keys", (uint64_t)o->keys * o->tables, 1, KEYS_MAX) &&
	       check_range(err, "--predicate-keys", o->predicate_keys, 0, KEYS_MAX);
}

static const char *const discipline_names[SIM_DISCIPLINE_COUNT] = {
	[SIM_SERIALIZABLE] = "serializable",
	[SIM_SNAPSHOT] = "si",
	[SIM_REPEATABLE_READ] = "rr",
	[SIM_READ_COMMITTED] = "rc",
	[SIM_READ_UNCOMMITTED] = "ru",
};

const char *sim_discipline_name(enum sim_discipline discipline)
{
	return discipline_names[discipline];
}

bool sim_discipline_parse(const char *name, enum sim_discipline *out)
{
	for (int i = 0; i < SIM_DISCIPLINE_COUNT; i++) {
		if (strcmp(name, discipline_names[i]) == 0) {
			*out = (enum sim_discipline)i;
			return true;
		}
	}
	if (strcmp(name, "ser") == 0) {
		*out = SIM_SERIALIZABLE;
		return true;
	}
	return false;
}

/* ---- small things ---- */

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): tiny, and every seed is good. */
uint64_t sim_random(struct sim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t sim_random_below(struct sim *sim, uint64_t bound)
{
	return (uint64_t)(((__uint128_t)sim_random(sim) * bound) >> 64);
}

bool sim_chance(struct sim *sim, double p)
{
	return (double)(sim_random(sim) >> 11) * 0x1p-53 < p;
}

uint64_t sim_tick(struct sim *sim)
{
	sim->now += 500 + (sim_random(sim) & 0x3ff);
	return ++sim->seq;
}

#define MEMORY_PACK(lower, upper)                                                                  \
	case RECORD_##upper:                                                                       \
		record_##lower##_pack(out, record);                                                \
		return;

static void memory_emit(void *data, enum record_kind kind, void *record)
{
	struct buf *out = data;

	switch (kind) {
		RECORD_KINDS(MEMORY_PACK)
	}
}

struct sim_sink sim_sink_memory(struct buf *out)
{
	return (struct sim_sink){memory_emit, out};
}

void sim_session_init(struct sim *sim, struct sim_session *s, uint32_t index)
{
	*s = (struct sim_session){
		.index = index, .level = sim_level(sim->options->discipline), .phase = PHASE_IDLE};
}

void sim_session_release(struct sim_session *s)
{
	buf_release(&s->text);
	buf_release(&s->predicate);
	sim_rows_release(&s->result);
	for (int i = 0; i < SIM_PROBE_KINDS; i++)
		sim_rows_release(&s->probes[i]);
}

/* ---- one statement ---- */

static void truth_begin_txn(struct sim *sim, struct sim_session *s)
{
	if (!sim->truth)
		return;
	s->truth_txn = twin_add_txn(sim->truth, &(struct twin_txn){.number = s->txn,
							.session = s->number,
							.begin_seq = s->begin_seq,
							.end_seq = UINT64_MAX,
							.level = s->level,
							.outcome = TXN_UNKNOWN});
}

void sim_send(struct sim *sim, struct sim_session *s)
{
	s->begin_seq = sim_tick(sim);
	s->begin_at = sim->now;
	s->stmt_number++;
	s->phase = PHASE_SENT;
	s->error = 0;
	s->affected = 0;
	s->blocked_since = s->blocked_ns = 0;
	s->blocker = 0;
	s->no_reply = s->txn_ended = s->has_result = false;
	s->truth_stmt = sim->next_truth_stmt++;
	memset(s->probe_used, 0, sizeof(s->probe_used));
	sim_rows_clear(&s->result);
	sim_stmt_text(sim, s);
	if (s->autocommit || s->stmt.action == ACTION_BEGIN) {
		s->txn_begin_seq = s->begin_seq;
		s->txn_begin_at = s->begin_at;
		truth_begin_txn(sim, s);
	}
	if (sim->truth) {
		s->truth_first_op = sim->truth->op_count;
		if (s->autocommit || s->stmt.action == ACTION_COMMIT)
			sim->truth->txns[s->truth_txn].commit_seq = s->begin_seq;
	}
}

static void end_txn_records(struct sim *sim, struct sim_session *s)
{
	if (sim->truth) {
		struct twin_txn *txn = &sim->truth->txns[s->truth_txn];

		txn->outcome = s->txn_outcome;
		txn->end_seq = s->txn_outcome == TXN_UNKNOWN ? UINT64_MAX : sim->seq;
	}
	sim_emit_txn(sim, s, TXN_END);
	sim->stats.transactions++;
	switch ((enum txn_outcome)s->txn_outcome) {
	case TXN_COMMITTED:
		sim->stats.committed++;
		break;
	case TXN_ABORTED:
		sim->stats.aborted++;
		break;
	case TXN_UNKNOWN:
		sim->stats.unknown++;
		break;
	}
	s->txn = 0;
	s->autocommit = false;
}

void sim_session_open(struct sim *sim, struct sim_session *s)
{
	s->number = ++sim->next_session_number;
	s->stmt_number = 0;
	sim_emit_session(sim, s, SESSION_OPENED, NULL);
}

void sim_answer(struct sim *sim, struct sim_session *s)
{
	sim->stats.statements++;
	sim_emit_stmt(sim, s);
	if (sim->truth)
		for (size_t i = s->truth_first_op; i < sim->truth->op_count; i++)
			if (sim->truth->ops[i].stmt == s->truth_stmt)
				sim->truth->ops[i].end_seq = sim->seq;
	if (s->stmt.action == ACTION_BEGIN)
		sim_emit_txn(sim, s, TXN_BEGIN);
	if (s->stmt.action == ACTION_SAVEPOINT)
		sim_emit_txn(sim, s, TXN_SAVEPOINT);
	if (s->stmt.action == ACTION_ROLLBACK_TO)
		sim_emit_txn(sim, s, TXN_ROLLBACK_TO);
	if (s->txn_ended)
		end_txn_records(sim, s);
	s->phase = PHASE_IDLE;
	if (s->no_reply) {
		sim_emit_session(sim, s, SESSION_CLOSED, "connection lost");
		sim_session_open(sim, s);
	}
}

/* ---- the schedule ---- */

static bool waited_too_long(const struct sim *sim, const struct sim_session *s)
{
	uint64_t limit = sim->options->lock_timeout_ns;

	return limit && s->blocked_since && sim->now - s->blocked_since > limit;
}

static void try_execute(struct sim *sim, struct sim_session *s)
{
	if (sim->store.sessions[s->index].waits_for != STORE_NONE) {
		bool grantable = store_grantable(&sim->store, s->index);

		if (!grantable && !waited_too_long(sim, s))
			return;
		sim->store.sessions[s->index].waits_for = STORE_NONE;
		if (!grantable) {
			sim_time_out(sim, s);
			s->blocked_ns = sim->now - s->blocked_since;
			s->phase = PHASE_DONE;
			return;
		}
	}
	if (sim_execute(sim, s)) {
		if (s->blocked_since)
			s->blocked_ns = sim->now - s->blocked_since;
		s->phase = PHASE_DONE;
		return;
	}
	/* It starts over when it has the lock; what it noted so far is void. */
	if (!s->blocked_since) {
		uint32_t blocker = store_blocker(&sim->store, s->index);

		s->blocked_since = sim->now;
		s->blocker = blocker < sim->options->sessions ? sim->sessions[blocker].number
							      : sim_plants_session(sim, blocker);
		sim->stats.blocked++;
	}
}

/* Moves a session one step; false when it is over. */
static bool step_session(struct sim *sim, struct sim_session *s)
{
	switch (s->phase) {
	case PHASE_IDLE:
		if (!sim_next_stmt(sim, s)) {
			s->phase = PHASE_OVER;
			sim_emit_session(sim, s, SESSION_CLOSED, "quit");
			return false;
		}
		sim_send(sim, s);
		sim_probe_before(sim, s);
		return true;
	case PHASE_SENT:
		try_execute(sim, s);
		return true;
	case PHASE_DONE:
		sim_answer(sim, s);
		return true;
	case PHASE_OVER:
		return false;
	}
	BUG("phase %d", (int)s->phase);
}

static void run_schedule(struct sim *sim)
{
	while (sim->active_count || !sim_plants_done(sim)) {
		uint64_t pick = sim_random_below(sim, sim->active_count + 1u);

		/* Plants move as if they were one more session. */
		if (pick == sim->active_count) {
			(void)sim_plants_step(sim);
			continue;
		}
		if (!step_session(sim, &sim->sessions[sim->active[pick]]))
			sim->active[pick] = sim->active[--sim->active_count];
	}
}

/* ---- setting up ---- */

static void add_table(struct sim *sim, const char *name, uint32_t keys, uint32_t *objects)
{
	struct sim_table *t = &sim->tables[sim->table_count++];

	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
	t->first_object = *objects;
	t->keys = keys;
	t->lock_object = *objects + keys;
	*objects += keys + 1;
}

static void make_tables(struct sim *sim)
{
	const struct sim_options *o = sim->options;
	uint32_t plant_keys = 0, plant_predicate_keys = 0, objects = 0, plant_tables;
	char name[16];

	sim->plants = sim_plants_new(o, &plant_keys, &plant_predicate_keys);
	sim->tables = mem_zero(o->tables + 3u, sizeof(*sim->tables));
	for (uint32_t i = 0; i < o->tables; i++) {
		snprintf(name, sizeof(name), "t%u", i);
		add_table(sim, name, o->keys, &objects);
	}
	sim->predicate_table = STORE_NONE;
	if (o->predicate_keys && o->predicate > 0 && o->keys > o->predicate_keys) {
		sim->predicate_table = sim->table_count;
		add_table(sim, "p", o->predicate_keys, &objects);
		sim_zipf_init(&sim->zipf_predicate, o->predicate_keys, o->theta);
	}
	sim_zipf_init(&sim->zipf, o->keys, o->theta);
	plant_tables = sim->table_count;
	if (plant_keys)
		add_table(sim, "plant", plant_keys, &objects);
	if (plant_predicate_keys)
		add_table(sim, "plant_p", plant_predicate_keys, &objects);
	store_init(&sim->store, objects, o->sessions + (o->tangle ? SIM_PLANT_ACTORS : 0u));
	for (uint32_t i = plant_tables; i < sim->table_count; i++)
		sim->tables[i].planted = true;
	sim_plants_load(sim, plant_tables, plant_keys ? plant_tables + 1 : plant_tables);
}

/* The ground truth of a row that is there before the run. */
static void truth_initial(struct sim *sim, uint32_t table, uint32_t key)
{
	uint32_t v = store_newest(&sim->store, sim->tables[table].first_object + key);
	struct store_version *version = &sim->store.versions[v];
	uint32_t object;

	if (!sim->truth)
		return;
	object = sim_truth_object(sim, table, key);
	version->truth =
		twin_add_version(sim->truth, &(struct twin_version){.object = object,
						     .txn = TWIN_NONE,
						     .previous = sim->truth->objects[object].unborn,
						     .name = version->name,
						     .value = version->value,
						     .exists = true,
						     .initial = true});
}

static void load_rows(struct sim *sim)
{
	const struct sim_options *o = sim->options;

	for (uint32_t i = 0; i < sim->table_count; i++) {
		struct sim_table *t = &sim->tables[i];

		for (uint32_t key = 0; key < t->keys; key++) {
			if (!t->planted && sim_chance(sim, o->present))
				(void)store_load(&sim->store, t->first_object + key,
					o->values ? (int64_t)sim_random_below(sim, o->values)
						  : sim->next_value++);
			if (store_newest(&sim->store, t->first_object + key) != STORE_NONE)
				truth_initial(sim, i, key);
		}
	}
}

/* What the final rows show, for the ground truth. */
static void truth_final(struct sim *sim)
{
	if (!sim->truth)
		return;
	for (uint32_t i = 0; i < sim->table_count; i++) {
		struct sim_table *t = &sim->tables[i];

		for (uint32_t key = 0; key < t->keys; key++) {
			uint32_t v = store_newest(&sim->store, t->first_object + key);
			uint32_t object = sim->store.objects[t->first_object + key].truth;

			if (object == STORE_NONE)
				continue;
			sim->truth->objects[object].final = sim_truth_version(sim, i, key, v);
		}
	}
}

static void start_sessions(struct sim *sim)
{
	uint32_t count = sim->options->sessions;

	sim->sessions = mem_zero(count, sizeof(*sim->sessions));
	sim->active = mem_zero(count, sizeof(*sim->active));
	for (uint32_t i = 0; i < count; i++) {
		sim_session_init(sim, &sim->sessions[i], i);
		sim_session_open(sim, &sim->sessions[i]);
		sim->active[i] = i;
	}
	sim->active_count = count;
}

static void sim_release(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->options->sessions; i++)
		sim_session_release(&sim->sessions[i]);
	for (uint32_t i = 0; i < sim->table_count; i++)
		buf_release(&sim->tables[i].result_columns);
	free(sim->sessions);
	free(sim->active);
	free(sim->tables);
	store_release(&sim->store);
	sim_plants_free(sim->plants);
	buf_release(&sim->scratch);
}

bool sim_run(const struct sim_options *options, const struct sim_sink *sink,
	struct twin_history *truth, struct buf *plants, struct sim_stats *stats, struct err *err)
{
	struct sim sim = {
		.options = options, .sink = sink, .truth = truth, .random = options->seed};

	if (!sim_options_check(options, err))
		return false;
	sim.now = SIM_CLOCK_START_NS;
	sim.transactions_left = options->transactions;
	make_tables(&sim);
	load_rows(&sim);
	sim_emit_prologue(&sim);
	start_sessions(&sim);
	run_schedule(&sim);
	truth_final(&sim);
	sim_emit_epilogue(&sim);
	if (plants)
		sim_plants_json(&sim, plants);
	sim.stats.versions_peak = sim.store.versions_peak;
	if (stats)
		*stats = sim.stats;
	sim_release(&sim);
	return true;
}
