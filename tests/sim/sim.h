/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulator: a small multi-version store, sessions that run transactions on it under a chosen
 * discipline, and the trace that a recorder would have made of them.  No database, no clock, no
 * threads: the same options give the same records, byte for byte.
 *
 *	struct sim_options options;
 *	sim_defaults(&options);
 *	options.seed = 7;
 *	struct sim_sink sink = sim_sink_memory(&buf);
 *	sim_run(&options, &sink, NULL, NULL, NULL, &err);
 *
 * A session is a little machine: it sends a statement, the statement takes effect at one later
 * moment, and its answer comes later still; at each step the seed chooses which session moves.  So
 * statements overlap as they do on a server, and every effect lies between `begin` and `at` of its
 * statement: what commits is visible in an order that real time agrees with.
 *
 * What each discipline permits, and why nothing else can happen, stands in store.h.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/record.h"
#include "trace/writer.h"
#include "twin/twin.h"

enum sim_discipline {
	SIM_SERIALIZABLE,
	SIM_SNAPSHOT,
	SIM_REPEATABLE_READ, /* InnoDB's: snapshot reads, current writes */
	SIM_READ_COMMITTED,
	SIM_READ_UNCOMMITTED,
};
enum { SIM_DISCIPLINE_COUNT = 5 };

/* The logical clock's first moment. */
#define SIM_CLOCK_START_NS (UINT64_C(24) * 3600 * 1000000000)

enum sim_probes { SIM_PROBES_TRIGGER, SIM_PROBES_SELECT, SIM_PROBES_OFF };

/* What can be planted; sim_plant_name() and simulator.md have the names. */
enum sim_plant {
	SIM_PLANT_G0,
	SIM_PLANT_G1A,
	SIM_PLANT_G1B,
	SIM_PLANT_G1C,
	SIM_PLANT_G_SINGLE,
	SIM_PLANT_G_NONADJACENT,
	SIM_PLANT_G2_ITEM,
	SIM_PLANT_G2,
	SIM_PLANT_G0_SESSION,
	SIM_PLANT_G1C_SESSION,
	SIM_PLANT_G_SINGLE_SESSION,
	SIM_PLANT_G_NONADJACENT_SESSION,
	SIM_PLANT_G2_ITEM_SESSION,
	SIM_PLANT_G2_SESSION,
	SIM_PLANT_G0_REALTIME,
	SIM_PLANT_G1C_REALTIME,
	SIM_PLANT_G_SINGLE_REALTIME,
	SIM_PLANT_G_NONADJACENT_REALTIME,
	SIM_PLANT_G2_ITEM_REALTIME,
	SIM_PLANT_G2_REALTIME,
	SIM_PLANT_LOST_UPDATE,
	SIM_PLANT_GARBAGE_READ,
	SIM_PLANT_FUTURE_READ,
	SIM_PLANT_OWN_WRITE,
	SIM_PLANT_OWN_WRITE_UNDONE,
	SIM_PLANT_UNSTABLE_SNAPSHOT,
	SIM_PLANT_DUPLICATE_ROW,
	SIM_PLANT_SPLIT_STATEMENT,
	SIM_PLANT_LOST_VERSION,
	SIM_PLANT_LOST_VERSION_CHAIN,
	SIM_PLANT_LOST_VERSION_FINAL,
	SIM_PLANT_KINDS,
};

struct sim_options {
	uint64_t seed;
	enum sim_discipline discipline;
	enum sim_probes probes;
	uint32_t sessions;
	uint64_t transactions;   /* that the sessions start, besides the planted ones */
	uint32_t ops;            /* statements a transaction, on average */
	uint32_t tables;         /* t0, t1 ... */
	uint32_t keys;           /* key space of each */
	uint32_t predicate_keys; /* key space of the table p that predicates then keep to; 0: none,
				    predicates go over t0, t1 ... */
	uint32_t values;         /* column v is below this; 0: every written value is unique */
	double theta;            /* of the zipf distribution of keys; 0: uniform */
	double present;          /* share of the keys that have a row at first */
	/* Shares of the statements; what is left are reads by key. */
	double update, insert, delete, pk_update, predicate;
	double locking; /* share of the reads by key that are FOR UPDATE */
	/* Shares of the predicate statements; what is left are plain SELECTs. */
	double predicate_update, predicate_delete, predicate_locking;
	double savepoint;  /* chance of a SAVEPOINT, or a ROLLBACK TO one, before a statement */
	double abort;      /* share of the transactions that end in ROLLBACK */
	double unknown;    /* ... whose COMMIT is never answered */
	double autocommit; /* ... that are one statement outside BEGIN */
	double consistent_snapshot; /* ... that START WITH CONSISTENT SNAPSHOT */
	uint64_t lock_timeout_ns;   /* of the logical clock: waiting longer is error 1205, which
				       undoes   the statement alone; 0: never */
	bool no_version_sets;       /* leave VSR probes out */
	bool no_images;             /* leave images out of probes */
	bool no_results;            /* leave result rows out */
	bool tangle;                /* planted transactions run ordinary statements too */
	uint32_t plants[SIM_PLANT_KINDS]; /* how many of each */
};

void sim_defaults(struct sim_options *options);
/* False and err when they make no sense together. */
bool sim_options_check(const struct sim_options *options, struct err *err) MUST_CHECK;

/* Where records go.  `record` is a struct record_<kind>, whose spans are valid during the call. */
struct sim_sink {
	void (*emit)(void *data, enum record_kind kind, void *record);
	void *data;
};

/* Appends the encoded records, one after the other. */
struct sim_sink sim_sink_memory(struct buf *out);

struct sim_stats {
	uint64_t transactions, committed, aborted, unknown;
	uint64_t statements, blocked, deadlocks, timeouts;
	uint64_t conflicts; /* error 1020 */
	uint64_t records, versions_peak;
};

/* Runs it.  truth (empty, or NULL) gets what really happened; plants (or NULL) gets the side file's
 * JSON; stats may be NULL. */
bool sim_run(const struct sim_options *options, const struct sim_sink *sink,
	struct twin_history *truth, struct buf *plants, struct sim_stats *stats,
	struct err *err) MUST_CHECK;

/* The same into a trace file, which is replaced; compression is zstd's level, 0: none. */
bool sim_write(const struct sim_options *options, const char *path, int compression,
	struct twin_history *truth, struct buf *plants, struct sim_stats *stats,
	struct err *err) MUST_CHECK;

const char *sim_discipline_name(enum sim_discipline discipline);
bool sim_discipline_parse(const char *name, enum sim_discipline *out) MUST_CHECK;
/* "G-single-realtime"; the phenomenon itself is sim_plant_class(). */
const char *sim_plant_name(enum sim_plant plant);
bool sim_plant_parse(const char *name, enum sim_plant *out) MUST_CHECK;
void sim_plant_class(enum sim_plant plant, enum twin_class *class, enum twin_strength *strength);
/* A phenomenon that cannot be had without another: true and which. */
bool sim_plant_companion(enum sim_plant plant, enum twin_class *class);

#endif
