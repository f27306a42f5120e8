/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the simulator: the state of a run, shared by its parts.
 *
 *	sim.c       options, tables, the schedule
 *	workload.c  which statement a session sends next
 *	execute.c   what a statement does, by discipline
 *	emit.c      the records
 *	plant.c     scripted transactions that do what no discipline allows
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim/sim.h"
#include "sim/store.h"

enum sim_action {
	ACTION_BEGIN,
	ACTION_COMMIT,
	ACTION_ROLLBACK,
	ACTION_SAVEPOINT,
	ACTION_ROLLBACK_TO,
	ACTION_READ,
	ACTION_READ_LOCK,
	ACTION_UPDATE,
	ACTION_INSERT,
	ACTION_DELETE,
	ACTION_PK_UPDATE,
	ACTION_SCAN,
	ACTION_SCAN_LOCK,
	ACTION_SCAN_UPDATE,
	ACTION_SCAN_DELETE,
	ACTION_SET_LEVEL, /* REPEATABLE READ for the next transaction; plants only */
};

struct sim_stmt {
	enum sim_action action;
	uint32_t table;
	uint32_t key, new_key;
	int64_t value;
	bool by_key; /* the predicate is over the key column */
	int64_t low, high;
};

/* A msgpack array under construction; room for its head is kept at the front. */
struct sim_rows {
	struct buf buf;
	uint32_t count;
};

enum { SIM_PROBE_KINDS = 8 };

enum sim_phase {
	PHASE_IDLE, /* nothing sent */
	PHASE_SENT, /* has not taken effect yet; perhaps it waits for a lock */
	PHASE_DONE, /* took effect, not answered yet */
	PHASE_OVER, /* no more transactions */
};

struct sim_session {
	uint32_t index;  /* in the store */
	uint32_t number; /* in the trace; a new one after a lost connection */
	uint32_t stmt_number;
	uint8_t level; /* enum txn_level */
	enum sim_phase phase;

	/* The transaction. */
	uint64_t txn; /* 0: none */
	uint64_t txn_begin_seq, txn_begin_at;
	uint32_t ops_left;
	bool autocommit, consistent_snapshot, will_abort, will_be_unknown;
	bool savepoint;
	size_t savepoint_written;
	uint32_t truth_txn;

	/* The statement. */
	struct sim_stmt stmt;
	struct buf text;
	uint32_t truth_stmt;
	size_t truth_first_op;
	uint64_t begin_seq, begin_at;
	uint64_t blocked_since, blocked_ns;
	uint32_t blocker; /* session number; 0: none */
	uint32_t error;
	uint64_t affected;
	bool no_reply;
	bool txn_ended;      /* by this statement */
	uint8_t txn_outcome; /* as the trace will have it */
	bool has_result;
	struct sim_rows result;
	struct sim_rows probes[SIM_PROBE_KINDS];
	bool probe_used[SIM_PROBE_KINDS];
	bool probe_exact[SIM_PROBE_KINDS];
	uint8_t probe_read_kind[SIM_PROBE_KINDS];
	struct buf predicate; /* the WHERE clause; empty: by key */
};

struct sim_table {
	char name[16];
	uint32_t first_object, keys;
	uint32_t lock_object; /* stands for the whole table */
	struct buf result_columns;
	bool planted; /* only planted transactions use it */
};

struct sim_zipf {
	uint64_t n;
	double theta, alpha, zetan, eta;
};

struct sim_plants;

struct sim {
	const struct sim_options *options;
	const struct sim_sink *sink;
	struct twin_history *truth; /* or NULL */
	struct sim_stats stats;
	uint64_t random;
	uint64_t seq, now;
	struct store store;
	struct sim_table *tables;
	uint32_t table_count;     /* with those of the plants */
	uint32_t predicate_table; /* STORE_NONE: any of options->tables */
	struct sim_zipf zipf, zipf_predicate;
	struct sim_session *sessions;
	uint32_t *active; /* indices of sessions that are not over */
	uint32_t active_count;
	uint32_t next_session_number;
	uint64_t next_txn;
	uint64_t transactions_left;
	uint32_t next_truth_stmt;
	int64_t next_value;
	struct sim_plants *plants;
	struct buf scratch;
};

/* ---- sim.c ---- */
uint64_t sim_random(struct sim *sim);
uint64_t sim_random_below(struct sim *sim, uint64_t bound);
bool sim_chance(struct sim *sim, double p);
uint64_t sim_tick(struct sim *sim); /* moves the clock; returns the next seq */
void sim_session_init(struct sim *sim, struct sim_session *session, uint32_t index);
/* Under a new number, with its record. */
void sim_session_open(struct sim *sim, struct sim_session *session);
void sim_session_release(struct sim_session *session);
/* The statement is on its way: text and numbers. */
void sim_send(struct sim *sim, struct sim_session *session);
/* The answer came: records, and the end of the transaction where it is one. */
void sim_answer(struct sim *sim, struct sim_session *session);

/* ---- workload.c ---- */
void sim_zipf_init(struct sim_zipf *zipf, uint64_t n, double theta);
/* False when the session has nothing left to do. */
bool sim_next_stmt(struct sim *sim, struct sim_session *session);
/* A statement on the ordinary tables. */
void sim_pick_data_stmt(struct sim *sim, struct sim_stmt *stmt);
void sim_stmt_text(const struct sim *sim, struct sim_session *session);

/* ---- execute.c ---- */
/* False: it waits. */
bool sim_execute(struct sim *sim, struct sim_session *session);
/* As sim_execute, but what cannot be had at once ends in a lock wait timeout. */
void sim_execute_at_once(struct sim *sim, struct sim_session *session);
/* Ends the transaction in the store. */
void sim_end_in_store(struct sim *sim, struct sim_session *session, bool commit);
void sim_undo_to_savepoint(struct sim *sim, struct sim_session *session);
/* Lock wait timeout: the statement did nothing, its transaction goes on with the locks it has. */
void sim_time_out(struct sim *sim, struct sim_session *session);
/* Before it takes effect: probes that a recorder runs as separate statements. */
void sim_probe_before(struct sim *sim, struct sim_session *session);
uint32_t sim_truth_object(struct sim *sim, uint32_t table, uint32_t key);
uint32_t sim_truth_version(struct sim *sim, uint32_t table, uint32_t key, uint32_t version);
void sim_truth_op(struct sim *sim, struct sim_session *session, struct twin_op op);
/* A version as a statement meets it. */
struct sim_seen {
	uint64_t name;
	int64_t value;
	uint32_t truth;
	bool exists;
};
struct sim_seen sim_seen(struct sim *sim, uint32_t table, uint32_t key, uint32_t version);
/* The statement returned this row, or found it absent. */
void sim_note_read(struct sim *sim, struct sim_session *session, uint32_t key,
	const struct sim_seen *seen, uint8_t read_kind);
/* It wrote this over that, whose row may have had another key. */
void sim_note_write(struct sim *sim, struct sim_session *session, uint32_t key,
	const struct sim_seen *now, uint32_t old_key, const struct sim_seen *before,
	enum probe_op op);
/* Its predicate read: begin, then every key's version, then end. */
void sim_note_predicate_begin(struct sim *sim, struct sim_session *session, uint8_t read_kind,
	struct twin_predicate *predicate);
void sim_note_predicate_row(
	struct sim *sim, struct sim_session *session, uint32_t key, const struct sim_seen *seen);
void sim_note_predicate_end(struct sim *sim, struct sim_session *session, uint8_t read_kind,
	struct twin_predicate *predicate);
bool sim_matches(const struct sim_stmt *stmt, uint32_t key, const struct sim_seen *seen);
/* What plain reads of this discipline are to a probe. */
uint8_t sim_plain_kind(const struct sim *sim);

/* ---- emit.c ---- */
void sim_rows_clear(struct sim_rows *rows);
struct span sim_rows_span(struct sim_rows *rows);
void sim_rows_release(struct sim_rows *rows);
/* A result row; also a row of a rows record. */
void sim_rows_add_row(struct sim_rows *rows, int64_t key, int64_t value);
struct sim_probe_row {
	int64_t key, value;
	uint64_t version; /* 0: nil */
	bool has_previous;
	uint64_t previous; /* 0: nil */
	bool has_image, has_old_image, has_old_key;
	enum probe_op op;
	int64_t old_key, old_value;
};
void sim_rows_add_probe(struct sim_rows *rows, const struct sim_probe_row *row);
void sim_emit_prologue(struct sim *sim);
void sim_emit_epilogue(struct sim *sim);
void sim_emit_session(struct sim *sim, const struct sim_session *session, enum session_event event,
	const char *reason);
void sim_emit_stmt(struct sim *sim, struct sim_session *session);
void sim_emit_txn(struct sim *sim, const struct sim_session *session, enum txn_event event);
uint8_t sim_level(enum sim_discipline discipline);

/* ---- plant.c ---- */
enum { SIM_PLANT_ACTORS = 4 };
/* The session number of one of its store sessions, after those of the workload. */
uint32_t sim_plants_session(const struct sim *sim, uint32_t index);
/* Before the tables are made: how many keys the plants need in their two tables. */
struct sim_plants *sim_plants_new(
	const struct sim_options *options, uint32_t *keys, uint32_t *predicate_keys);
void sim_plants_free(struct sim_plants *plants);
/* Tables are there; the plants' first versions go into the store. */
void sim_plants_load(struct sim *sim, uint32_t table, uint32_t predicate_table);
/* Runs steps of what is due; false when all plants are done. */
bool sim_plants_step(struct sim *sim);
bool sim_plants_done(const struct sim *sim);
/* The side file; once, at the end. */
void sim_plants_json(const struct sim *sim, struct buf *out);

#endif
