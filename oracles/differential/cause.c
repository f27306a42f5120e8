/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why two servers differ: the cause of the first discrepancy, and the rule that names it. */
#include <stdlib.h>

#include "base/mem.h"
#include "differential/differential.h"
#include "server/errors.h"
#include "sql/text/raw_token.h"

static const struct execution_stmt *stmt_of(const struct differential *d, int side)
{
	const struct diff_item *item = &d->items[0];
	uint32_t at =
		item->pair == EXECUTION_NONE ? EXECUTION_NONE : d->pairs[item->pair].stmt[side];

	return at == EXECUTION_NONE ? NULL : &d->sides[side].e->stmts[at];
}

static bool begins_with(struct span sql, const char *keyword)
{
	char word[TEXT_KEYWORD_SIZE];

	text_keyword(sql, word);
	return strcmp(word, keyword) == 0;
}

static bool is_write(struct span sql)
{
	return begins_with(sql, "UPDATE") || begins_with(sql, "DELETE");
}

static bool has_error(const struct execution *e, uint32_t error)
{
	for (size_t i = 0; i < e->stmt_count; i++)
		if (e->stmts[i].record.error == error)
			return true;
	return false;
}

static const struct execution_txn *txn_begin(const struct execution *e, uint64_t txn)
{
	for (size_t i = 0; i < e->txn_count; i++)
		if (e->txns[i].record.txn == txn && e->txns[i].record.event == TXN_BEGIN)
			return &e->txns[i];
	return NULL;
}

static uint8_t level_at(const struct execution *e, const struct execution_stmt *stmt)
{
	for (size_t i = 0; stmt->record.txn && i < e->txn_count; i++)
		if (e->txns[i].record.txn == stmt->record.txn && e->txns[i].record.level)
			return e->txns[i].record.level;
	return e->sessions[stmt->session].level;
}

struct txn_at {
	uint64_t txn;
	uint8_t level;
};

static int by_txn(const void *a, const void *b)
{
	const struct txn_at *x = a, *y = b;

	return x->txn < y->txn ? -1 : x->txn > y->txn;
}

/* What level_at says, of all statements at once. */
static uint8_t *levels_of(const struct execution *e)
{
	struct txn_at *txns = mem_zero(e->txn_count + 1, sizeof(*txns));
	uint8_t *out = mem_zero(e->stmt_count + 1, sizeof(*out));
	size_t count = 0;

	for (size_t i = 0; i < e->txn_count; i++)
		if (e->txns[i].record.level)
			txns[count++] = (struct txn_at){
				e->txns[i].record.txn, e->txns[i].record.level};
	qsort(txns, count, sizeof(*txns), by_txn);
	for (size_t i = 0; i < e->stmt_count; i++) {
		struct txn_at key = {e->stmts[i].record.txn, 0};
		const struct txn_at *found =
			key.txn ? bsearch(&key, txns, count, sizeof(*txns), by_txn) : NULL;

		out[i] = found ? found->level : e->sessions[e->stmts[i].session].level;
	}
	mem_free(txns);
	return out;
}

void diff_find_levels(struct differential *d)
{
	uint8_t *levels[2] = {levels_of(d->sides[0].e), levels_of(d->sides[1].e)};

	d->levels_pair = EXECUTION_NONE;
	for (size_t i = 0; i < d->pair_count && d->levels_pair == EXECUTION_NONE; i++) {
		const uint32_t *at = d->pairs[i].stmt;
		uint8_t a, b;

		if (at[0] == EXECUTION_NONE || at[1] == EXECUTION_NONE)
			continue;
		a = levels[0][at[0]];
		b = levels[1][at[1]];
		if (a && b && a != b)
			d->levels_pair = (uint32_t)i;
	}
	mem_free(levels[0]);
	mem_free(levels[1]);
}

/* The statement is its transaction's first read, and another transaction committed between the
 * transaction's begin and it: when the snapshot is taken decides what it sees. */
static bool snapshot_matters(const struct execution *e, const struct execution_stmt *stmt)
{
	const struct execution_txn *begin = txn_begin(e, stmt->record.txn);

	if (!begin || level_at(e, stmt) < LEVEL_REPEATABLE_READ ||
		!begins_with(stmt->sql, "SELECT"))
		return false;
	for (size_t i = 0; i < e->stmt_count && &e->stmts[i] != stmt; i++)
		if (e->stmts[i].record.txn == stmt->record.txn && e->stmts[i].set_count)
			return false; /* not the first */
	for (size_t i = 0; i < e->txn_count; i++) {
		const struct record_txn *r = &e->txns[i].record;

		if (r->event == TXN_END && r->outcome == TXN_COMMITTED &&
			e->txns[i].session != stmt->session && r->seq > begin->record.seq &&
			r->seq < stmt->record.begin_seq)
			return true;
	}
	return false;
}

static bool contracts_are(const struct differential *d, const char *one, const char *other)
{
	const char *a = d->sides[0].contract, *b = d->sides[1].contract;

	return a && b &&
	       ((strcmp(a, one) == 0 && strcmp(b, other) == 0) ||
		       (strcmp(a, other) == 0 && strcmp(b, one) == 0));
}

static void explain(
	struct differential *d, enum diff_cause cause, const char *rule, const char *explanation)
{
	d->cause = cause;
	d->rule = rule;
	d->explanation = explanation;
}

/* innodb_snapshot_isolation on one side only. */
static bool snapshot_isolation_rules(
	struct differential *d, const struct execution_stmt *const s[2])
{
	uint8_t level = level_at(d->sides[0].e, s[0]);

	if (!contracts_are(d, "innodb", "innodb-si"))
		return false;
	for (int i = 0; i < 2; i++) {
		bool si = strcmp(d->sides[i].contract, "innodb-si") == 0;

		if (si && s[i]->record.error == ER_CHECKREAD &&
			s[!i]->record.error != ER_CHECKREAD) {
			explain(d, DIFF_CAUSE_OTHER, "first-updater-wins",
				"With innodb_snapshot_isolation a transaction that meets a row "
				"changed since its snapshot gets error 1020 and is rolled back; "
				"without it the statement acts on the newer row.");
			return true;
		}
	}
	if (level <= LEVEL_READ_COMMITTED && is_write(s[0]->sql)) {
		explain(d, DIFF_CAUSE_LOCKS, "rc-semi-consistent",
			"Without innodb_snapshot_isolation an UPDATE or DELETE at this level "
			"tests the newest committed version of a locked row and passes rows that "
			"do not match, without waiting; with it, it waits and tests the row as it "
			"then is.");
		return true;
	}
	return false;
}

/* Nothing that the contracts name. */
static const char *unexplained(const struct differential *d)
{
	const struct diff_side *a = &d->sides[0], *b = &d->sides[1];

	if (a->verdict != DIFF_SIDE_KEPT || b->verdict != DIFF_SIDE_KEPT)
		return "No difference between the two contracts explains it.";
	return strcmp(a->contract, b->contract) == 0
		       ? "Both are within the contract, which leaves this to the server."
		       : "Each is within its contract; no named difference of the two contracts "
			 "explains it.";
}

void diff_find_cause(struct differential *d)
{
	const struct diff_item *item = &d->items[0];
	const struct execution_stmt *s[2] = {stmt_of(d, 0), stmt_of(d, 1)};

	/* Of a final state: EXECUTION_NONE, after them all. */
	if (d->levels_pair != EXECUTION_NONE && d->levels_pair <= item->pair) {
		explain(d, DIFF_CAUSE_LEVELS, NULL,
			"The two did not run at the same isolation levels, and each level promises "
			"something else.");
		return;
	}
	if (!s[0] || !s[1]) {
		explain(d, DIFF_CAUSE_OTHER, NULL,
			item->class_ == DIFF_FINAL
				? "All answers are the same, and a table's content at the end is "
				  "not."
				: "The statement was sent to one server only: on the other the "
				  "session was gone.");
		return;
	}
	if (snapshot_isolation_rules(d, s))
		return;
	if (has_error(d->sides[0].e, ER_LOCK_DEADLOCK) && has_error(d->sides[1].e, ER_LOCK_DEADLOCK) &&
		item->class_ == DIFF_DEADLOCK) {
		explain(d, DIFF_CAUSE_VICTIM, "deadlock-victim",
			"Both have a deadlock and chose different transactions to roll back; which "
			"one is not promised.");
		return;
	}
	switch (item->class_) {
	case DIFF_BLOCKED:
	case DIFF_DEADLOCK:
		explain(d, DIFF_CAUSE_LOCKS, NULL,
			"The servers lock different rows or gaps for the same statements.");
		return;
	case DIFF_RESULT:
		if (snapshot_matters(d->sides[0].e, s[0])) {
			explain(d, DIFF_CAUSE_SNAPSHOT,
				contracts_are(d, "innodb", "tidb-pessimistic") ||
						contracts_are(d, "innodb-si", "tidb-pessimistic")
					? "snapshot-at-begin"
					: NULL,
				"It is its transaction's first read, and another transaction "
				"committed since the transaction began: one server takes the "
				"snapshot at the begin, the other at the first read.");
			return;
		}
		break;
	case DIFF_ERROR:
	case DIFF_WARNING:
	case DIFF_FINAL:
		break;
	}
	explain(d, DIFF_CAUSE_OTHER, NULL, unexplained(d));
}
