/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of history.md, each by a small trace made by hand; the expected values follow from
 * the rule's words.
 */
#include "history_util.h"
#include "server/commands.h"
#include "unit.h"

static struct history history;

static void load(void)
{
	struct err err;

	ck_assert_msg(
		history_load_records(&history, buf_span(&script), NULL, &err), "%s", err.text);
	history_check(&history);
}

static void done(void)
{
	history_release(&history);
	script_reset();
}

#define ck_order(key, text) ck_assert_str_eq(order_text(&history, key), text)

/* Rules 1 to 3: where transactions come from. */
START_TEST(transactions_begin_and_end)
{
	uint32_t a, b, c, d;

	add_begin(1, 100);
	add_stmt(1, 1, 100, 0);
	add_end(1, 100, TXN_COMMITTED);
	add_end_at(2, 7, TXN_ABORTED, 5); /* alone, began at seq 5 */
	add_begin(3, 1ull << 40);         /* never ends */
	add_stmt(4, 1, 99, 0);            /* never declared */
	add_stmt(4, 2, 0, 0);             /* in none */
	load();
	ck_assert_uint_eq(history.txn_count, 4);
	a = find_txn(&history, 100);
	b = find_txn(&history, 7);
	c = find_txn(&history, 1ull << 40);
	d = find_txn(&history, 99);
	/* Numbered by begin: b at 5, a at 10. */
	ck_assert_uint_eq(b, 0);
	ck_assert_uint_eq(a, 1);
	ck_assert_uint_eq(c, 2);
	ck_assert_uint_eq(d, 3);
	ck_assert_uint_eq(history.txns[a].begin_seq, 10);
	ck_assert_uint_eq(history.txns[a].end_seq, 40);
	ck_assert_uint_eq(history.txns[a].outcome, TXN_COMMITTED);
	ck_assert_uint_eq(history.txns[a].level, LEVEL_REPEATABLE_READ);
	ck_assert_uint_eq(history.txns[a].flags, 0);
	ck_assert_uint_eq(history.txns[b].outcome, TXN_ABORTED);
	ck_assert_uint_eq(history.txns[b].begin_seq, 5);
	ck_assert_uint_eq(history.txns[b].flags, 0);
	ck_assert_uint_eq(history.txns[c].flags, HISTORY_TXN_NO_END);
	ck_assert_uint_eq(history.txns[c].outcome, TXN_UNKNOWN);
	ck_assert_uint_eq(history.txns[c].end_seq, HISTORY_NONE);
	ck_assert_uint_eq(history.txns[d].flags, HISTORY_TXN_NO_BEGIN | HISTORY_TXN_NO_END);
	ck_assert_uint_eq(history.counts.txns_undeclared, 1);
	ck_assert_uint_eq(history.counts.unfinished_txns, 2);
	ck_assert_uint_eq(history.counts.unknown_outcomes, 2);
	ck_assert_uint_eq(history.stmt_count, 3);
	ck_assert_uint_eq(history.stmts[2].txn, HISTORY_NONE);
	done();
}
END_TEST

START_TEST(sessions_link_their_transactions)
{
	uint32_t first;

	add_begin(1, 1);
	add_begin(2, 2);
	add_end(1, 1, TXN_COMMITTED);
	add_begin(1, 3);
	add_end(2, 2, TXN_COMMITTED);
	add_end(1, 3, TXN_COMMITTED);
	load();
	first = history.sessions[0].first_txn;
	ck_assert_uint_eq(history.sessions[0].number, 1);
	ck_assert_uint_eq(history.txns[first].number, 1);
	ck_assert_uint_eq(history.txns[history.txns[first].next_in_session].number, 3);
	ck_assert_uint_eq(history.counts.txns_overlapping, 0);
	done();
}
END_TEST

START_TEST(updates_chain_up)
{
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}));
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, 10, PROBE_OP_UPDATE, 0});
	add_write_txn(2, 1, 2, TXN_ABORTED, {1, 12, 11, PROBE_OP_UPDATE, 0});
	add_write_txn(1, 2, 3, TXN_COMMITTED, {1, 13, 11, PROBE_OP_UPDATE, 0});
	load();
	ck_order(1, "U 10 11 13 | 12");
	ck_assert(history.tables[0].has_initial_rows);
	ck_assert_uint_eq(history.op_count, 3);
	ck_assert_uint_eq(
		history.versions[find_version(&history, 1, 13)].txn, find_txn(&history, 3));
	ck_assert_uint_eq(history.versions[find_version(&history, 1, 12)].previous,
		find_version(&history, 1, 11));
	ck_assert(history.versions[find_version(&history, 1, 10)].flags & HISTORY_VERSION_INITIAL);
	ck_assert_uint_eq(history.counts.orders_unknown, 0);
	done();
}
END_TEST

/* Rule 6: INSERT, DELETE, INSERT again; the second INSERT goes on after the dead version. */
START_TEST(deleted_rows_come_back)
{
	uint32_t back;

	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, NIL, 11, PROBE_OP_DELETE, 0});
	add_write_txn(1, 3, 3, TXN_COMMITTED, {1, 12, NIL, PROBE_OP_INSERT, 0});
	load();
	ck_order(1, "U 11 D(11) 12");
	back = find_version(&history, 1, 12);
	ck_assert(history.versions[history.versions[back].previous].flags & HISTORY_VERSION_DEAD);
	done();
	/* Twice: time tells the two lives that ended apart. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, NIL, 11, PROBE_OP_DELETE, 0});
	add_write_txn(1, 3, 3, TXN_COMMITTED, {1, 12, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 4, 4, TXN_COMMITTED, {1, NIL, 12, PROBE_OP_DELETE, 0});
	add_write_txn(1, 5, 5, TXN_COMMITTED, {1, 13, NIL, PROBE_OP_INSERT, 0});
	load();
	ck_order(1, "U 11 D(11) 12 D(12) 13");
	done();
	/* A tombstone with a name links up by itself. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, 12, 11, PROBE_OP_DELETE, 0});
	add_write_txn(1, 3, 3, TXN_COMMITTED, {1, 13, 12, PROBE_OP_INSERT, 0});
	load();
	ck_order(1, "U 11 12 13");
	ck_assert(history.versions[find_version(&history, 1, 12)].flags & HISTORY_VERSION_DEAD);
	done();
}
END_TEST

/* Rule 17: two lives that both ended, their statements at the same time: nothing tells the order.
 */
START_TEST(lives_at_the_same_time_are_unknown)
{
	for (int apart = 0; apart < 2; apart++) {
		uint32_t number = 0;
		const int names[2] = {11, 21};

		for (uint32_t life = 0; life < 2; life++) {
			for (int dead = 0; dead < 2; dead++) {
				uint64_t txn = 1 + life * 2 + (unsigned)dead;
				int name = dead ? NIL : names[life];
				int previous = dead ? names[life] : NIL;
				uint64_t from =
					apart ? 100 + life * 100 + (unsigned)dead * 20 : 100;

				add_begin(1, txn);
				add_probe(1, ++number, txn, PROBE_WRITE,
					{1, name, previous,
						dead ? PROBE_OP_DELETE : PROBE_OP_INSERT, 0});
				add_stmt_at(1, number, txn, 0, from, from + 10);
				add_end(1, txn, TXN_COMMITTED);
			}
		}
		load();
		if (apart)
			ck_order(1, "U 11 D(11) 21 D(21)");
		else
			ck_order(1, "unknown@21 U | 11 21 D(11) D(21)");
		done();
	}
}
END_TEST

/* Rule 7. */
START_TEST(key_update_is_a_death_and_a_birth)
{
	uint32_t dead, born;

	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}));
	add_write_txn(1, 1, 1, TXN_COMMITTED, {2, 11, 10, PROBE_OP_UPDATE, 1});
	load();
	ck_order(1, "U 10 D(10)");
	ck_order(2, "U 11");
	ck_assert_uint_eq(history.op_count, 2);
	dead = history.ops[0].version;
	born = history.ops[1].version;
	ck_assert(history.versions[dead].flags & HISTORY_VERSION_DEAD);
	ck_assert_uint_eq(history.versions[dead].stmt, history.versions[born].stmt);
	ck_assert_uint_eq(history.versions[born].name, 11);
	done();
}
END_TEST

/* Intermediate versions do not stand; what REPLACE deletes is one. */
START_TEST(own_writes_make_intermediate_versions)
{
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_probe(1, 2, 1, PROBE_WRITE, {1, 12, 11, PROBE_OP_UPDATE, 0});
	/* REPLACE: a D and an I */
	add_probe(1, 3, 1, PROBE_WRITE, {1, NIL, 12, PROBE_OP_DELETE, 0},
		{1, 13, NIL, PROBE_OP_INSERT, 0});
	add_end(1, 1, TXN_COMMITTED);
	add_write_txn(1, 4, 2, TXN_COMMITTED, {1, 14, 13, PROBE_OP_UPDATE, 0});
	load();
	ck_order(1, "U 13 14 | 11 12 D(12)");
	ck_assert(history.versions[find_version(&history, 1, 12)].flags &
		  HISTORY_VERSION_INTERMEDIATE);
	ck_assert(!(history.versions[find_version(&history, 1, 13)].flags &
		    HISTORY_VERSION_INTERMEDIATE));
	ck_assert(history.versions[history.versions[find_version(&history, 1, 13)].previous].flags &
		  HISTORY_VERSION_DEAD);
	done();
}
END_TEST

/* The same in a transaction too large to be searched one by one. */
START_TEST(own_writes_in_large_transactions)
{
	char want[1000] = "U 1100 |";

	add_begin(1, 1);
	for (int i = 1; i <= 100; i++) {
		add_probe(1, (uint32_t)i, 1, PROBE_WRITE,
			{1, 1000 + i, i == 1 ? NIL : 999 + i, PROBE_OP_NONE, 0});
		if (i < 100)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), " %d", 1000 + i);
	}
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_order(1, want);
	done();
}
END_TEST

/* Rule 5: an UPDATE that left the row as it was is a read of it. */
START_TEST(noop_update_is_a_read)
{
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}));
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 10, 10, PROBE_OP_UPDATE, 0});
	load();
	ck_assert_uint_eq(history.op_count, 1);
	ck_assert_uint_eq(history.ops[0].kind, HISTORY_READ);
	ck_assert_uint_eq(history.ops[0].probe, PROBE_WRITE);
	ck_assert_uint_eq(history.ops[0].version, find_version(&history, 1, 10));
	ck_order(1, "U 10");
	done();
}
END_TEST

/* Rule 8. */
START_TEST(reads_before_and_after_pair_up)
{
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}, {2, 20}, {3, 30}));
	add_begin(1, 1);
	/* 1 updated, 2 deleted, 3 left alone, 4 inserted */
	add_probe(1, 1, 1, PROBE_BWR, {1, 10, UNSAID, 0, 0}, {2, 20, UNSAID, 0, 0},
		{3, 30, UNSAID, 0, 0});
	add_stmt(1, 1, 1, 0);
	add_probe(1, 1, 1, PROBE_AWR, {1, 11, UNSAID, 0, 0}, {3, 30, UNSAID, 0, 0},
		{4, 40, UNSAID, 0, 0});
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_order(1, "U 10 11");
	ck_order(2, "U 20 D(20)");
	ck_order(3, "U 30");
	ck_order(4, "U 40");
	ck_assert_uint_eq(history.op_count, 4);
	/* Reads before writes. */
	ck_assert_uint_eq(history.ops[0].kind, HISTORY_READ);
	ck_assert_uint_eq(history.ops[0].version, find_version(&history, 3, 30));
	ck_assert_uint_eq(history.counts.unpaired_probes, 0);
	done();
}
END_TEST

START_TEST(pairs_are_exact_when_both_are)
{
	for (int exact = 0; exact < 4; exact++) {
		add_begin(1, 1);
		add_probe_full(1, 1, 1, PROBE_BWR, exact & 1, PROBE_READ_CURRENT, NULL,
			ROWS({1, 10, UNSAID, 0, 0}));
		add_probe_full(1, 1, 1, PROBE_AWR, exact & 2, PROBE_READ_CURRENT, NULL,
			ROWS({1, 11, UNSAID, 0, 0}));
		add_end(1, 1, TXN_COMMITTED);
		load();
		if (exact == 3)
			ck_order(1, "U 10 11");
		else
			ck_order(1, "unknown@11 U | 10 11");
		ck_assert_uint_eq(history.counts.orders_unknown, exact != 3);
		ck_assert_uint_eq(history.counts.inexact_probes, 2 - (exact & 1) - (exact >> 1));
		done();
	}
}
END_TEST

START_TEST(unpaired_probes_are_counted)
{
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_BWR, {1, 10, UNSAID, 0, 0});
	add_probe(1, 2, 1, PROBE_AWR, {2, 21, UNSAID, 0, 0});
	add_probe(1, 3, 1, PROBE_AWR, {3, 31, NIL, 0, 0}); /* says itself that nothing was there */
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_assert_uint_eq(history.counts.unpaired_probes, 2);
	ck_order(1, "U 10");
	ck_order(2, "unknown@21 U | 21");
	ck_order(3, "U 31");
	done();
}
END_TEST

/* Rule 9. */
START_TEST(savepoints_take_writes_back)
{
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_savepoint(1, 1, TXN_SAVEPOINT, "a", 2);
	add_probe(1, 3, 1, PROBE_WRITE, {1, 12, 11, PROBE_OP_UPDATE, 0});
	add_savepoint(1, 1, TXN_SAVEPOINT, "b", 4);
	add_probe(1, 5, 1, PROBE_WRITE, {2, 21, NIL, PROBE_OP_INSERT, 0});
	add_savepoint(1, 1, TXN_ROLLBACK_TO, "b", 6);
	add_probe(1, 7, 1, PROBE_WRITE, {3, 31, NIL, PROBE_OP_INSERT, 0});
	add_savepoint(1, 1, TXN_ROLLBACK_TO, "a", 8);
	add_savepoint(1, 1, TXN_ROLLBACK_TO, "b", 9); /* gone with a's rollback: skipped */
	add_probe(1, 10, 1, PROBE_WRITE, {1, 13, 11, PROBE_OP_UPDATE, 0});
	add_savepoint(1, 1, TXN_ROLLBACK_TO, "nonsense", 11);
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_order(1, "U 13 | 11 12");
	ck_order(2, "U | 21");
	ck_order(3, "U | 31");
	ck_assert(history.versions[find_version(&history, 1, 12)].flags & HISTORY_VERSION_UNDONE);
	ck_assert(
		!(history.versions[find_version(&history, 1, 11)].flags & HISTORY_VERSION_UNDONE));
	ck_assert(history.versions[find_version(&history, 1, 11)].flags &
		  HISTORY_VERSION_INTERMEDIATE);
	ck_assert_uint_eq(history.counts.records_skipped, 2);
	done();
}
END_TEST

/* Rule 10. */
START_TEST(failed_statements_take_writes_back)
{
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_stmt(1, 1, 1, 1205);
	add_probe(1, 2, 1, PROBE_WRITE, {2, 21, NIL, PROBE_OP_INSERT, 0});
	add_stmt(1, 2, 1, 0);
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_order(1, "U | 11");
	ck_order(2, "U 21");
	ck_assert_uint_eq(history.stmts[0].error, 1205);
	done();
}
END_TEST

/* Rule 11. */
START_TEST(predicates_have_matches_and_sets)
{
	const struct history_predicate *p;

	add_begin(1, 1);
	add_probe_full(1, 1, 1, PROBE_VSR, true, PROBE_READ_SNAPSHOT, NULL,
		ROWS({1, 10, UNSAID, 0, 0}, {2, 20, UNSAID, 0, 0}));
	add_probe_full(
		1, 1, 1, PROBE_PM, true, PROBE_READ_SNAPSHOT, "b > 5", ROWS({2, 20, UNSAID, 0, 0}));
	add_probe_full(1, 2, 1, PROBE_PM, false, PROBE_READ_SNAPSHOT, "b > 5",
		ROWS({1, 10, UNSAID, 0, 0}));
	add_probe_full(1, 3, 1, PROBE_READ, true, PROBE_READ_SNAPSHOT, "b > 6",
		ROWS({1, 10, UNSAID, 0, 0}));
	add_probe_full(
		1, 4, 1, PROBE_PM, true, PROBE_READ_CURRENT, "b > 7", ROWS({1, 10, UNSAID, 0, 0}));
	add_probe(1, 4, 1, PROBE_WRITE, {1, 11, 10, PROBE_OP_UPDATE, 0});
	add_probe_full(1, 4, 1, PROBE_BPM, true, PROBE_READ_CURRENT, "b > 8", NULL, 0);
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_assert_uint_eq(history.predicate_count, 4);
	p = &history.predicates[0];
	ck_assert_uint_eq(p->flags,
		HISTORY_PREDICATE_EXACT | HISTORY_PREDICATE_MATCHES | HISTORY_PREDICATE_SET);
	ck_assert(span_eq_str(history_bytes(&history, p->text), "b > 5"));
	ck_assert_uint_eq(p->match_count, 1);
	ck_assert_uint_eq(
		history.predicate_versions[p->first_match], find_version(&history, 2, 20));
	ck_assert_uint_eq(p->set_count, 2);
	p = &history.predicates[1];
	ck_assert_uint_eq(p->flags, HISTORY_PREDICATE_MATCHES);
	ck_assert_uint_eq(p->text, history.predicates[0].text);
	p = &history.predicates[2];
	ck_assert_uint_eq(p->flags, HISTORY_PREDICATE_EXACT | HISTORY_PREDICATE_MATCHES);
	p = &history.predicates[3];
	ck_assert_uint_eq(p->flags,
		HISTORY_PREDICATE_EXACT | HISTORY_PREDICATE_MATCHES | HISTORY_PREDICATE_WRITE);
	/* Four predicates, one item read, one write. */
	ck_assert_uint_eq(history.op_count, 6);
	ck_assert_uint_eq(history.counts.predicate_probes_skipped, 1);
	done();
}
END_TEST

/* Rule 12. */
START_TEST(absent_reads_find_their_version)
{
	/* Never inserted, or inserted later: unborn. */
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_READ, {1, NIL, UNSAID, 0, 0});
	add_end(1, 1, TXN_COMMITTED);
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	load();
	ck_assert_uint_eq(history.ops[0].flags, HISTORY_OP_EXACT | HISTORY_OP_ABSENT);
	ck_assert(history.versions[history.ops[0].version].flags & HISTORY_VERSION_UNBORN);
	ck_assert_uint_eq(history.counts.reads_undecided, 0);
	done();
	/* There at first and deleted once: the deletion. */
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}));
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, NIL, 10, PROBE_OP_DELETE, 0});
	add_begin(2, 2);
	add_probe(2, 1, 2, PROBE_READ, {1, NIL, UNSAID, 0, 0});
	add_stmt(2, 1, 2, 0);
	add_end(2, 2, TXN_COMMITTED);
	load();
	ck_assert(history.versions[history.ops[1].version].flags & HISTORY_VERSION_DEAD);
	done();
	/* Inserted and deleted: before or after, it is not known. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, NIL, 11, PROBE_OP_DELETE, 0});
	add_begin(2, 3);
	add_probe(2, 1, 3, PROBE_READ, {1, NIL, UNSAID, 0, 0});
	add_stmt(2, 1, 3, 0);
	add_end(2, 3, TXN_COMMITTED);
	load();
	ck_assert_uint_eq(history.ops[2].version, HISTORY_NONE);
	ck_assert_uint_eq(history.counts.reads_undecided, 1);
	done();
	/* Own deletion; and a read that was over before the only deletion began. */
	add_begin(2, 3);
	add_probe(2, 1, 3, PROBE_READ, {1, NIL, UNSAID, 0, 0});
	add_stmt(2, 1, 3, 0);
	add_end(2, 3, TXN_COMMITTED);
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_stmt(1, 1, 1, 0);
	add_probe(1, 2, 1, PROBE_WRITE, {1, NIL, 11, PROBE_OP_DELETE, 0});
	add_stmt(1, 2, 1, 0);
	add_probe(1, 3, 1, PROBE_READ, {1, NIL, UNSAID, 0, 0});
	add_stmt(1, 3, 1, 0);
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_assert(history.versions[history.ops[0].version].flags & HISTORY_VERSION_UNBORN);
	ck_assert(history.versions[history.ops[3].version].flags & HISTORY_VERSION_DEAD);
	done();
}
END_TEST

/* Rule 13: an unknown outcome counts as committed if another transaction saw it, or the final rows do. */
START_TEST(unknown_outcomes_count_when_seen)
{
	enum { UNSEEN, READ, SELF, DIRTY, OVERWRITTEN, FINAL, PREDICATE, HOWS };

	for (int how = 0; how < HOWS; how++) {
		bool seen = how == READ || how == OVERWRITTEN || how == FINAL || how == PREDICATE;
		uint32_t reader_session = how == SELF ? 1 : 2;
		uint64_t reader = how == SELF ? 1 : 2;

		add_schema(1, "t", 1);
		add_begin(1, 1);
		add_probe(1, 1, 1, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
		add_begin(2, 2);
		if (how == READ || how == SELF || how == DIRTY)
			add_probe_full(reader_session, 2, reader, PROBE_READ, true,
				how == DIRTY ? PROBE_READ_DIRTY : PROBE_READ_SNAPSHOT, NULL,
				ROWS({1, 11, UNSAID, 0, 0}));
		if (how == PREDICATE)
			add_probe_full(2, 2, 2, PROBE_PM, true, PROBE_READ_CURRENT, "b",
				ROWS({1, 11, UNSAID, 0, 0}));
		if (how == OVERWRITTEN)
			add_probe(2, 2, 2, PROBE_WRITE, {1, 12, 11, PROBE_OP_UPDATE, 0});
		add_end(2, 2, TXN_ABORTED);
		if (how == FINAL)
			add_rows("final", true, PAIRS({1, 11}));
		load();
		ck_assert_msg(
			history_committed(&history, find_txn(&history, 1)) == seen, "%d", how);
		ck_order(1, how == OVERWRITTEN ? "U 11 | 12" : seen ? "U 11" : "U | 11");
		ck_assert_uint_eq(history.counts.unknown_counted_committed, seen);
		ck_assert(!history_committed(&history, find_txn(&history, 2)));
		done();
	}
}
END_TEST

/* Rule 15. */
START_TEST(rows_nobody_wrote)
{
	uint16_t presumed = HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNWRITTEN;

	/* No initial rows recorded: what is overwritten first was there. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, 10, PROBE_OP_UPDATE, 0});
	load();
	ck_order(1, "U 10 11");
	ck_assert_uint_eq(
		history.versions[find_version(&history, 1, 10)].flags & presumed, presumed);
	done();
	/* Recorded whole, and it was not among them: a version is missing. */
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({2, 20}));
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, 10, PROBE_OP_UPDATE, 0});
	load();
	ck_order(1, "broken@11 U | 11 10");
	ck_order(2, "U 20");
	done();
	/* Two of them begin a chain each. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, 10, PROBE_OP_UPDATE, 0});
	add_write_txn(1, 2, 2, TXN_COMMITTED, {1, 21, 20, PROBE_OP_UPDATE, 0});
	load();
	ck_order(1, "broken@21 U | 11 10 21 20");
	done();
	/* Only read: one may be the initial one, of two neither. */
	add_begin(1, 1);
	add_probe(1, 1, 1, PROBE_READ, {1, 10, UNSAID, 0, 0}, {2, 20, UNSAID, 0, 0},
		{2, 21, UNSAID, 0, 0});
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_order(1, "U 10");
	ck_order(2, "U | 20 21");
	ck_assert_uint_eq(history.counts.unwritten_versions, 2);
	done();
}
END_TEST

/* Rule 16. */
START_TEST(orders_that_contradict_themselves)
{
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}, {2, 20}, {4, 40}));
	/* 1: both overwrote 10.  The same where one of them was aborted is no fork. */
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, 10, PROBE_OP_UPDATE, 0},
		{2, 21, 20, PROBE_OP_UPDATE, 0});
	add_write_txn(2, 1, 2, TXN_COMMITTED, {1, 12, 10, PROBE_OP_UPDATE, 0});
	add_write_txn(3, 1, 3, TXN_ABORTED, {2, 22, 20, PROBE_OP_UPDATE, 0});
	/* 3: two that overwrote each other. */
	add_write_txn(1, 2, 4, TXN_COMMITTED, {3, 31, 32, PROBE_OP_UPDATE, 0});
	add_write_txn(1, 3, 5, TXN_COMMITTED, {3, 32, 31, PROBE_OP_UPDATE, 0});
	/* 4: not exact; 5: two INSERTs with no deletion between; 6: the same version twice. */
	add_begin(1, 6);
	add_probe_full(1, 4, 6, PROBE_WRITE, false, PROBE_READ_CURRENT, NULL,
		ROWS({4, 41, 40, PROBE_OP_UPDATE, 0}));
	add_end(1, 6, TXN_COMMITTED);
	add_write_txn(1, 5, 7, TXN_COMMITTED, {5, 51, NIL, PROBE_OP_INSERT, 0},
		{6, 61, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(2, 2, 8, TXN_COMMITTED, {5, 52, NIL, PROBE_OP_INSERT, 0},
		{6, 61, NIL, PROBE_OP_INSERT, 0});
	load();
	ck_order(1, "fork@12 U | 10 11 12");
	ck_order(2, "U 20 21 | 22");
	ck_order(3, "cycle@31 U | 31 32");
	ck_order(4, "unknown@41 U | 40 41");
	ck_order(5, "broken@52 U | 51 52");
	ck_order(6, "broken@61 U | 61");
	ck_assert_uint_eq(history.counts.orders_unknown, 5);
	ck_assert_uint_eq(history.counts.duplicate_writes, 1);
	done();
}
END_TEST

/* A deletion whose outcome is not known, and an INSERT that needs it. */
START_TEST(unknown_deletions_leave_it_undecided)
{
	add_write_txn(1, 1, 1, TXN_COMMITTED, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_write_txn(1, 2, 2, TXN_UNKNOWN, {1, NIL, 11, PROBE_OP_DELETE, 0});
	add_write_txn(2, 1, 3, TXN_COMMITTED, {1, 12, NIL, PROBE_OP_INSERT, 0});
	load();
	ck_order(1, "undecided@12 U | 11 12 D(11)");
	done();
}
END_TEST

/* Dirty writes: previous stays as recorded, the order steps over what does not stand. */
START_TEST(dirty_writes_keep_what_they_overwrote)
{
	add_schema(1, "t", 1);
	add_rows("initial", true, PAIRS({1, 10}, {2, 20}));
	add_begin(1, 1);
	add_begin(2, 2);
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, 10, PROBE_OP_UPDATE, 0},
		{2, 21, 20, PROBE_OP_UPDATE, 0});
	add_probe(2, 1, 2, PROBE_WRITE, {1, 12, 11, PROBE_OP_UPDATE, 0},
		{2, 22, 21, PROBE_OP_UPDATE, 0});
	add_probe(1, 2, 1, PROBE_WRITE, {1, 13, 12, PROBE_OP_UPDATE, 0});
	add_end(2, 2, TXN_COMMITTED);
	add_end(1, 1, TXN_COMMITTED);
	/* 3 overwrote what 4 wrote and took back. */
	add_begin(3, 3);
	add_begin(4, 4);
	add_probe(4, 1, 4, PROBE_WRITE, {2, 24, 22, PROBE_OP_UPDATE, 0});
	add_probe(3, 1, 3, PROBE_WRITE, {2, 23, 24, PROBE_OP_UPDATE, 0});
	add_end(4, 4, TXN_ABORTED);
	add_end(3, 3, TXN_COMMITTED);
	load();
	ck_order(1, "U 10 12 13 | 11");
	ck_order(2, "U 20 21 22 23 | 24");
	ck_assert_uint_eq(history.versions[find_version(&history, 1, 12)].previous,
		find_version(&history, 1, 11));
	ck_assert_uint_eq(history.versions[find_version(&history, 2, 23)].previous,
		find_version(&history, 2, 24));
	done();
}
END_TEST

/* Rule 4: several producers. */
START_TEST(records_may_come_before_what_they_name)
{
	add_probe(1, 1, 9, PROBE_WRITE, {1, 11, 10, PROBE_OP_UPDATE, 0});
	add_rows("initial", true, PAIRS({1, 10}));
	add_stmt(1, 1, 9, 0);
	add_end(1, 9, TXN_COMMITTED);
	add_schema(1, "t", 1);
	load();
	ck_order(1, "U 10 11");
	ck_assert(history.tables[0].has_initial_rows);
	ck_assert_uint_eq(history.counts.tables_undeclared, 0);
	ck_assert(history.versions[find_version(&history, 1, 10)].image != 0);
	done();
}
END_TEST

/* A probe without a transaction takes its statement's, which may come later; without either it is
 * left out and counted. */
START_TEST(probes_take_their_statements_transaction)
{
	add_begin(1, 1);
	add_probe(1, 1, 0, PROBE_WRITE, {1, 11, NIL, PROBE_OP_INSERT, 0});
	add_stmt(1, 1, 1, 0);
	add_end(1, 1, TXN_COMMITTED);
	add_probe(1, 2, 0, PROBE_WRITE, {2, 21, NIL, PROBE_OP_INSERT, 0});
	add_stmt(1, 2, 0, 0);
	load();
	ck_order(1, "U 11");
	ck_assert_uint_eq(history.op_count, 1);
	ck_assert_uint_eq(history.counts.ops_without_txn, 1);
	ck_assert_uint_eq(history.versions[find_version(&history, 1, 11)].txn, 0);
	ck_assert_uint_eq(history.versions[find_version(&history, 2, 21)].txn, HISTORY_NONE);
	done();
}
END_TEST

/* Operations of a transaction stand by statement, however their records came. */
START_TEST(operations_stand_in_session_order)
{
	add_begin(1, 1);
	add_probe(1, 3, 1, PROBE_READ, {3, 30, UNSAID, 0, 0});
	add_probe(1, 1, 1, PROBE_WRITE, {1, 11, 10, 0, 0});
	add_probe(1, 1, 1, PROBE_READ, {1, 10, UNSAID, 0, 0});
	add_probe(1, 2, 1, PROBE_READ, {2, 20, UNSAID, 0, 0});
	add_end(1, 1, TXN_COMMITTED);
	load();
	ck_assert_uint_eq(history.op_count, 4);
	ck_assert_uint_eq(history.stmt_count, 3);
	ck_assert_uint_eq(history.ops[0].version, find_version(&history, 1, 10));
	ck_assert_uint_eq(history.ops[1].version, find_version(&history, 1, 11));
	ck_assert_uint_eq(history.ops[2].version, find_version(&history, 2, 20));
	ck_assert_uint_eq(history.ops[3].version, find_version(&history, 3, 30));
	ck_assert_uint_gt(history.counts.out_of_place, 0);
	done();
}
END_TEST

/* Rows that add_rows() makes refer to row 7. */
static void add_followers(void)
{
	add_schema_following(1, "t");
	add_rows("initial", true, PAIRS({1, 10}, {2, 20}, {7, 70}));
}

static void ck_followers(const char *first, const char *second, bool unseen)
{
	load();
	ck_order(1, first);
	ck_order(2, second);
	ck_assert(history.tables[0].unseen_writes == unseen);
	done();
}

START_TEST(foreign_keys_delete)
{
	const struct row gone = {7, NIL, 70, PROBE_OP_DELETE, 0};
	uint64_t begin;

	add_followers();
	add_write_txn(1, 1, 1, TXN_COMMITTED, gone);
	ck_followers("U 10 D(10)", "U 20 D(20)", false);
	/* Rolled back, all of it and in part. */
	add_followers();
	add_write_txn(1, 1, 1, TXN_ABORTED, gone);
	ck_followers("U 10 | D(10)", "U 20 | D(20)", false);
	add_followers();
	add_begin(1, 1);
	add_savepoint(1, 1, TXN_SAVEPOINT, "a", 1);
	add_probe(1, 2, 1, PROBE_WRITE, gone);
	add_stmt(1, 2, 1, 0);
	add_savepoint(1, 1, TXN_ROLLBACK_TO, "a", 3);
	add_end(1, 1, TXN_COMMITTED);
	ck_followers("U 10 | D(10)", "U 20 | D(20)", false);
	/* The statement itself deleted the one, another transaction the other before. */
	add_followers();
	add_write_txn(2, 1, 2, TXN_COMMITTED, {2, NIL, 20, PROBE_OP_DELETE, 0});
	add_write_txn(1, 1, 1, TXN_COMMITTED, gone, {1, NIL, 10, PROBE_OP_DELETE, 0});
	ck_followers("U 10 D(10)", "U 20 D(20)", false);
	/* ... or while it ran; but not where it was rolled back in the end. */
	for (int stays = 0; stays < 2; stays++) {
		add_followers();
		add_begin(1, 1);
		add_begin(2, 2);
		add_probe(1, 1, 1, PROBE_WRITE, gone);
		add_probe(2, 1, 2, PROBE_WRITE, {2, NIL, 20, PROBE_OP_DELETE, 0});
		begin = next_seq();
		add_stmt(2, 1, 2, 0);
		add_end(2, 2, TXN_COMMITTED);
		add_stmt_at(1, 1, 1, 0, begin, next_seq());
		add_end(1, 1, stays ? TXN_COMMITTED : TXN_ABORTED);
		if (stays)
			ck_followers("U 10 D(10)", "U 20 D(20)", false);
		else
			ck_followers("U 10 | D(10)", "U 20 D(20) | D(?)", true);
	}
	/* What a row refers to is not known; or the row's key was changed, not the row deleted. */
	add_followers();
	add_write_txn(2, 1, 2, TXN_COMMITTED, {2, 21, 20, PROBE_OP_UPDATE, 0});
	add_write_txn(1, 1, 1, TXN_COMMITTED, gone);
	ck_followers("U 10", "U 20 21", true);
	add_followers();
	add_write_txn(1, 1, 1, TXN_COMMITTED, {8, 71, 70, PROBE_OP_UPDATE, 7});
	ck_followers("U 10", "U 20", false);
}
END_TEST

/* Rule 18: a text in an open transaction whose recorder does not say whether it was several. */
static bool is_mixed(const char *text)
{
	struct record_stmt record = {.session = 1, .number = 1, .txn = 1};
	bool mixed;

	script_reset();
	add_begin(1, 1);
	record.begin_seq = next_seq();
	record.seq = next_seq();
	record.command = CMD_QUERY;
	record.status = STATUS_IN_TRANS;
	record.text = span_str(text);
	record_stmt_pack(&script, &record);
	add_end(1, 1, TXN_COMMITTED);
	load();
	mixed = history.txns[0].flags & HISTORY_TXN_MIXED;
	done();
	return mixed;
}

START_TEST(texts_of_several_statements)
{
	static const struct {
		const char *text;
		bool mixed;
	} cases[] = {
		{"select 1", false},
		{"select 1;", false},
		{"select 1; ; ", false},
		{"select 1; commit; begin", true},
		{"select 'a;b', \";\", `;`", false},
		{"select 'it\\'s; one'", false},
		{"select 'it''s; one'", false},
		/* Quotes in comments open nothing ... */
		{"select 1 /* don't */; commit; begin", true},
		{"select 1 -- don't\n; commit; begin", true},
		{"select 1 # don't\n; commit; begin", true},
		/* ... and semicolons in comments end nothing. */
		{"select 1 /* one; statement */", false},
		{"select 1; -- done", false},
		{"select 5--3; commit; begin", true},
		{"call p()", true},
		{"/* a comment */ EXECUTE s", true},
		{"-- a comment\ncall p()", true},
		{"/*!50000 call p() */", true},
		{"callable", false},
		{"select callback from t", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(is_mixed(cases[i].text) == cases[i].mixed, "%s", cases[i].text);
}
END_TEST

UNIT_MAIN("history", transactions_begin_and_end, sessions_link_their_transactions, updates_chain_up,
	deleted_rows_come_back, lives_at_the_same_time_are_unknown,
	key_update_is_a_death_and_a_birth, own_writes_make_intermediate_versions,
	own_writes_in_large_transactions, noop_update_is_a_read, reads_before_and_after_pair_up,
	pairs_are_exact_when_both_are, unpaired_probes_are_counted, savepoints_take_writes_back,
	failed_statements_take_writes_back, predicates_have_matches_and_sets,
	absent_reads_find_their_version, unknown_outcomes_count_when_seen, rows_nobody_wrote,
	orders_that_contradict_themselves, unknown_deletions_leave_it_undecided,
	dirty_writes_keep_what_they_overwrote, records_may_come_before_what_they_name,
	probes_take_their_statements_transaction, operations_stand_in_session_order,
	foreign_keys_delete, texts_of_several_statements)
