/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The value history: what other tools' histories decode into.
 *
 * Why a second model beside model/history/history.h: there a version has an identity that the server
 * gave it and names the version it overwrote.  Here versions have no identity: a read tells
 * a *value*, and which write it came from, and in which order the writes were installed, is the
 * question the `values` oracle answers (several writes may even have written the same value).
 * Forcing this into version records would be guessing, which invariant 8 of the history forbids.
 *
 * Flat arrays, 32-bit ids, VALUES_NONE is no id.  Built by one thread, then read-only.
 *
 * Invariants (values_check() asserts them):
 *  1. ops[t.first_op .. + t.op_count) are the operations of transaction t in program order.
 *  2. session_txns[s.first_txn .. + s.txn_count) are the transactions of session s in order.
 *  3. An item is a (key, value) pair: equal pairs, one item.  Reads and writes of values name
 * items, so the writer of what was read is an array access: items[i].first_write, and dups for the
 * rest.
 *  4. A list read is stored as a length: the read saw the first `length` items of the key's longest
 *     compatible list, order[k.first_order .. + k.order_count).  A list that is no prefix of that
 *     one (or was read by a transaction that may not have committed and is longer) is kept whole in
 *     `lists`, with VALUES_OP_OWN_LIST: lists[value] is its length, the items follow.
 *  5. Reads of aborted transactions are dropped; reads whose result is not known are dropped and
 *     counted.  Writes are kept whatever became of their transaction.
 *  6. Positions (invoke, complete) are those in the input; complete of A below invoke of B means A
 *     ended before B began.  VALUES_NONE: not known.  With has_real_time unset they say nothing.
 */
#ifndef MODEL_VALUES_VALUES_H
#define MODEL_VALUES_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/span.h"
#include "base/strtab.h"

#define VALUES_NONE UINT32_MAX
/* Most of anything: ids stay clear of VALUES_NONE and of the doubling that graphs do. */
#define VALUES_COUNT_MAX ((uint32_t)1 << 30)

/* An atom is a key or a value as the input wrote it.  Integers from 0 to 2^31-1 are themselves;
 * everything else (negative, long, keywords, strings) is ATOM_TEXT + index into `texts`. */
#define VALUES_ATOM_TEXT ((uint32_t)1 << 31)

enum values_outcome {
	VALUES_COMMITTED,
	VALUES_ABORTED,
	VALUES_UNKNOWN,
};

enum values_op_kind {
	VALUES_READ,      /* value: item */
	VALUES_WRITE,     /* value: item */
	VALUES_READ_LIST, /* value: length, or index in lists with VALUES_OP_OWN_LIST */
	VALUES_APPEND,    /* value: item */
	VALUES_INSERT,    /* value: item; the key was absent before */
	VALUES_DELETE,    /* value: the item nil, or VALUES_NONE: absent rows are not known */
	VALUES_PREDICATE, /* value: index in predicates; key VALUES_NONE */
};

enum values_op_flags {
	VALUES_OP_OWN_LIST = 1 << 0,
	VALUES_OP_MATCH = 1 << 1, /* a read that is one of the matches of the predicate before it */
	VALUES_OP_UNDONE = 1 << 2, /* only while a reader reads: a write that was not done */
};

struct values_op {
	uint32_t txn;
	uint32_t key;
	uint32_t value;
	uint8_t kind;  /* enum values_op_kind */
	uint8_t flags; /* enum values_op_flags */
};

struct values_txn {
	uint64_t id; /* the other tool's number for it: index, tid, line */
	uint32_t session;
	uint32_t first_op, op_count;
	uint32_t invoke, complete;
	uint8_t outcome; /* enum values_outcome */
};

struct values_session {
	int64_t number; /* in the input */
	uint32_t first_txn, txn_count;
};

/* Start and commit of a hybrid logical clock: physical, then logical. */
struct values_stamp {
	uint64_t start, commit;
	uint32_t start_logical, commit_logical;
};

struct values_item {
	uint32_t key, atom;
	uint32_t first_write; /* op, or NONE: no transaction wrote it */
	uint32_t write_count : 31;
	uint32_t initial : 1; /* what the key holds before the first write */
};

/* A further write of an item; sorted by (item, op). */
struct values_dup {
	uint32_t item, op;
};

enum values_key_flags {
	VALUES_KEY_LIST = 1 << 0,         /* appended to, or read as a list */
	VALUES_KEY_REGISTER = 1 << 1,     /* written, or read as a scalar other than nil */
	VALUES_KEY_INCOMPATIBLE = 1 << 2, /* two list reads, neither a prefix of the other */
	VALUES_KEY_REPEATS = 1 << 3,      /* some list read holds one element twice */
};

struct values_key {
	uint32_t atom;
	uint32_t initial_item;             /* or NONE: no transaction read it */
	uint32_t first_order, order_count; /* in order: the longest compatible list */
	uint32_t flags;
};

enum values_predicate_kind {
	VALUES_PREDICATE_TRUE,
	VALUES_PREDICATE_EQUAL, /* value = a */
	VALUES_PREDICATE_MOD,   /* value mod a = b */
};

struct values_predicate {
	int64_t a, b;
	uint32_t first_match, match_count; /* items, in matches */
	uint8_t kind;
};

struct values_counts {
	uint64_t reads_unknown;   /* results not known: dropped */
	uint64_t records_ignored; /* nemesis and other operations that are no transactions */
	uint64_t open_txns;       /* invoked, never completed: outcome unknown */
};

struct values {
	struct values_session *sessions;
	struct values_txn *txns;
	struct values_op *ops;
	struct values_item *items;
	struct values_dup *dups;
	struct values_key *keys;
	struct values_predicate *predicates;
	struct values_stamp *stamps; /* by transaction; NULL: none */
	uint32_t *session_txns;
	uint32_t *order;
	uint32_t *lists;
	uint32_t *matches;
	uint32_t session_count, txn_count, op_count, item_count, dup_count, key_count,
		predicate_count, order_count, list_count, match_count;
	struct strtab texts; /* of atoms */
	bool has_real_time;  /* invoke and complete are known */
	bool has_sessions;   /* the input tells sessions apart */
	bool closed;         /* every key and its initial value is known (closed predicate) */
	struct values_counts counts;
};

void values_release(struct values *values);
/* The place in dups of the first further write of the item, where it has several. */
uint32_t values_first_dup(const struct values *values, uint32_t item);
/* Asserts the invariants; O(size). */
void values_check(const struct values *values);
/* The atom as the input wrote it. */
void values_atom_text(const struct values *values, uint32_t atom, struct buf *out);
/* The integer an atom stands for, if it is one. */
bool values_atom_int(const struct values *values, uint32_t atom, int64_t *number);
/* Does a value satisfy a predicate?  nil satisfies none. */
bool values_matches(
	const struct values *values, const struct values_predicate *predicate, uint32_t item);
/* Is any transaction known to have committed?  If not, the history shows nothing. */
bool values_any_committed(const struct values *values);
/* Resident bytes of the arrays. */
size_t values_memory(const struct values *values);

static inline bool values_is_write(const struct values_op *op)
{
	return op->kind == VALUES_WRITE || op->kind == VALUES_APPEND || op->kind == VALUES_INSERT ||
	       op->kind == VALUES_DELETE;
}

/*
 * The builder.  A transaction is begun, filled and ended; sessions and keys may come in any order.
 * A transaction that was begun and not ended can be dropped (values_drop_txn), as if nothing had
 * been added: readers do that when the input buffer ends inside a record.
 */
struct values_list; /* the longest list of one key */

/* Formats that do not say what a key holds before the first write. */
enum values_initial_rule {
	VALUES_INITIAL_KNOWN,     /* the format says it */
	VALUES_INITIAL_ZERO,      /* 0 where no transaction wrote it, unless some read found nothing */
	VALUES_INITIAL_UNWRITTEN, /* the one value of a key that was read and that no transaction wrote */
};

struct values_builder {
	struct values v;
	size_t txn_capacity, op_capacity, item_capacity, key_capacity, list_capacity,
		predicate_capacity, match_capacity, session_capacity, stamp_capacity;
	/* Keys that are small numbers are found by them, the others by the map. */
	uint32_t *key_of_number;
	size_t key_number_count, key_number_capacity;
	struct map key_of_atom;
	struct map session_of_number;
	struct values_list *key_lists; /* by key */
	size_t key_list_capacity;
	uint32_t *own; /* scratch: items of the list being read */
	size_t own_count, own_capacity;
	uint32_t mark_ops, mark_lists, mark_predicates, mark_matches; /* at begin */
	uint64_t mark_unknown;
	bool loose;    /* operations came one at a time; values_finish groups them */
	bool overflow; /* more than VALUES_COUNT_MAX of something */
	enum values_initial_rule initial_rule;
	bool has_initial_txn; /* the input has a transaction that filled the database */
};

struct values_list {
	/* Items whose value is a small number, by it: generators of list histories count up from 1
	 * a key.  VALUES_NONE: none such. */
	uint32_t *item_of_number;
	uint32_t number_count, numbers_used;
	size_t number_capacity;
	/* All others: atom << 32 | item, open addressing, a table a key: a history works on few keys at a time,
	 * so these stay in the cache where one table for all would not. */
	uint64_t *slots;
	uint32_t slot_count; /* a power of two, or 0 */
	uint32_t slots_used;
	uint32_t *items;
	size_t count, capacity;
	/* The same list as the input wrote it, between its brackets, and where each element ends in
	 * it: most reads are recognised by comparing bytes (import/elle.c). */
	char *text;
	size_t text_len, text_capacity;
	uint32_t *ends;
	size_t ends_capacity;
};

void values_builder_init(struct values_builder *b);
void values_builder_release(struct values_builder *b);

uint32_t values_atom_of_int(struct values_builder *b, int64_t number);
uint32_t values_atom_of_uint(struct values_builder *b, uint64_t number);
uint32_t values_atom_of_text(struct values_builder *b, struct span text);
uint32_t values_key_of_atom(struct values_builder *b, uint32_t atom);
/* The key if it is a small number and known, else NONE. */
static inline uint32_t values_key_of_number(const struct values_builder *b, uint32_t atom)
{
	return atom < b->key_number_count ? b->key_of_number[atom] : VALUES_NONE;
}
uint32_t values_item_of(struct values_builder *b, uint32_t key, uint32_t atom);
uint32_t values_session_of(struct values_builder *b, int64_t number);

void values_begin_txn(struct values_builder *b);
void values_add_op(
	struct values_builder *b, enum values_op_kind kind, uint32_t key, uint32_t value);
/* A read of what the key holds initially. */
void values_add_initial_read(struct values_builder *b, uint32_t key);
/* A read that found nothing: what the key held initially, or what a deletion left. */
void values_add_nil_read(struct values_builder *b, uint32_t key);
/* A deletion that reads can see. */
void values_add_delete(struct values_builder *b, uint32_t key);
/* A predicate read; then its matches, one call each, which also become reads. */
void values_add_predicate(
	struct values_builder *b, enum values_predicate_kind kind, int64_t p, int64_t q);
void values_add_match(struct values_builder *b, uint32_t item);
/* Adds to b->own, the list being read. */
static inline void values_own_add(struct values_builder *b, uint32_t item);
/* A read of the list in b->own; extend: the reader committed, so that the list may become the
 * key's longest. */
void values_add_list_read(struct values_builder *b, uint32_t key, bool extend);
/* Ends the transaction.  Aborted: its reads are dropped. */
struct values_txn *values_end_txn(
	struct values_builder *b, uint32_t session, uint64_t id, enum values_outcome outcome);
void values_drop_txn(struct values_builder *b);

/* For inputs whose operations come one at a time, transactions interleaved: every transaction of
 * such an input is opened, and its operations are added to it in program order. */
uint32_t values_open_txn(
	struct values_builder *b, uint32_t session, uint64_t id, enum values_outcome outcome);
void values_add_op_to(struct values_builder *b, uint32_t txn, enum values_op_kind kind,
	uint32_t key, uint32_t value);
/* Marks (key, atom) as what the key holds initially; returns the item. */
uint32_t values_initial_item(struct values_builder *b, uint32_t key, uint32_t atom);
/* The stamp of the transaction just ended; all of them have one or none has. */
void values_add_stamp(struct values_builder *b, const struct values_stamp *stamp);

/* Moves the history out; the builder is empty afterwards.  Fails when there was too much. */
MUST_CHECK bool values_finish(struct values_builder *b, struct values *out, struct err *err);

static inline void values_own_add(struct values_builder *b, uint32_t item)
{
	MEM_RESERVE(b->own, b->own_count + 1, b->own_capacity);
	b->own[b->own_count++] = item;
}

#endif
