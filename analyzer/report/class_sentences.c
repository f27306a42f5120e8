/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definitions are those of docs/oracles; here they are cut down to a sentence. */
#include "report/class_sentences.h"

/* Found by the solver of the oracle `values`, which has no cycle to show. */
#define NOT_LEVEL(class, name)                                                                     \
	[class] = "The level " name " does not hold: no order of the versions explains all reads."

static const char *const meanings[FINDING_CLASS_COUNT] = {
	[CLASS_G0] = "Transactions overwrote each other's rows in a circle: a write cycle.",
	[CLASS_G1A] = "A committed transaction read what a transaction wrote that was rolled back.",
	[CLASS_G1B] = "A transaction read a version that its writer overwrote before it committed.",
	[CLASS_G1C] = "Transactions depend on each other in a circle by what they wrote and read.",
	[CLASS_G_SINGLE] = "A transaction saw part of another's effects and missed the rest: read skew or "
		     "a lost update; a circle with one anti-dependency.",
	[CLASS_G_NONADJACENT] = "A circle of dependencies with several anti-dependencies, no two of them "
			  "next to each other: no snapshot explains it.",
	[CLASS_G2_ITEM] = "Transactions read rows that the others then changed, in a circle: write "
		    "skew.",
	[CLASS_G2] = "A circle that goes through a predicate: rows appeared in or vanished from the result of a search condition (phantoms).",
	[CLASS_G_CURSOR] = "A row was read and then overwritten although another transaction had changed "
		     "it between: cursor stability does not allow that.",
	[CLASS_G_MONOTONIC] = "A transaction saw something of another and later missed something else of "
			"it.",
	[CLASS_G_SIA] = "A transaction overwrote or read what had not been committed when it started, by "
		  "the times of starts and commits.",
	[CLASS_G_SIB] = "A transaction missed something although what it missed had ended before: a "
		  "circle with one anti-dependency that real time closes.",
	[CLASS_LOST_UPDATE] = "Two transactions read the same version of a row and both overwrote it.",
	[CLASS_WRITE_SKEW] = "Two transactions each read what the other then wrote, and neither saw it.",
	[CLASS_READ_SKEW] = "A transaction read one row before and another after the same transaction wrote both.",
	[CLASS_GARBAGE_READ] = "A read returned a value that no transaction wrote.",
	[CLASS_FUTURE_READ] = "A read returned a version whose write had not begun.",
	[CLASS_OWN_WRITE] = "A transaction did not see its own latest write, or saw one that it had "
		      "taken back.",
	[CLASS_UNSTABLE_SNAPSHOT] = "Two reads of one transaction need two different snapshots.",
	[CLASS_DUPLICATE_ROW] = "One result holds two versions of the same row.",
	[CLASS_SPLIT_STATEMENT] = "One statement judged some rows before and others after the same "
			    "foreign commit.",
	[CLASS_SPLIT_STATEMENT_GAP] = "One statement missed a row that was put into a place that it had "
				"already passed.",
	[CLASS_LOST_VERSION] = "A committed version is missing from the chain of versions or from the "
			 "final rows.",
	[CLASS_DIRTY_READ] = "A statement read what another transaction had not committed.",
	[CLASS_WRONG_RESULT] = "A statement's rows are not those that any order of the recorded "
			 "statements can give.",
	[CLASS_WRONG_SQL] = "A statement's rows do not follow from any rows that its tables have had: it would be as wrong "
			    "alone. No matter of isolation.",
	[CLASS_WRONG_ERROR] = "A statement failed where it should have succeeded, or the other way "
			"round, or with another error.",
	[CLASS_MISSING_LOCK] = "Two transactions held locks on one row that exclude each other.",
	[CLASS_NEEDLESS_BLOCK] = "A statement waited although no transaction can have held a lock that it needed.",
	[CLASS_NEEDLESS_DEADLOCK] = "A statement failed by a deadlock or timeout although no transaction can have held a lock that it needed.",
	[CLASS_CURRENT_WRITE] = "A write acted on a version that the transaction's snapshot does not "
			  "have.",
	[CLASS_OWN_WRITE_SHOWS] = "A row that the transaction changed shows other columns that others "
			    "changed after the snapshot.",
	[CLASS_NOOP_UPDATE] = "An UPDATE that changed nothing left the snapshot's version in sight.",
	[CLASS_DELETED_ROW_STAYS] = "A row that another transaction deleted stays in the snapshot, together with rows that the transaction itself changed.",
	[CLASS_NO_AUTOCOMMIT] = "A statement outside of a transaction was not committed by itself.",
	[CLASS_INTERNAL] = "Inside one transaction, a read differs from its own last read or write.",
	[CLASS_DUPLICATE_ELEMENTS] = "A list holds the same element twice.",
	[CLASS_INCOMPATIBLE_ORDER] = "Two reads of one list disagree on the order of its elements.",
	[CLASS_DIRTY_UPDATE] = "A committed write followed one that was rolled back, in the order of "
			 "versions.",
	[CLASS_LOST_COMMIT] = "A commit was acknowledged, and its rows are on no node, though nothing later took them away.",
	[CLASS_RESURRECTED] = "A transaction that failed or was rolled back is there all the same.",
	[CLASS_DUPLICATE_APPLY] = "A change was applied more often than it was made.",
	[CLASS_DIVERGENT] = "Nodes of the cluster hold different rows or definitions at the same position.",
	[CLASS_BROKEN_CONSTRAINT] = "A node holds rows that a foreign key or unique key does not allow.",
	[CLASS_CRASH] = "A server process ended by itself, by a signal or with an error.",
	[CLASS_HANG] = "Nothing went on for long though the cluster was healthy.",
	[CLASS_NO_RECOVERY] = "A node did not come back though most of the cluster was well, or the cluster did not come back at all.",
	NOT_LEVEL(CLASS_NOT_PL_1, "PL-1"),
	NOT_LEVEL(CLASS_NOT_PL_2, "PL-2"),
	NOT_LEVEL(CLASS_NOT_PL_2PLUS, "PL-2+"),
	NOT_LEVEL(CLASS_NOT_PL_2_99, "PL-2.99"),
	NOT_LEVEL(CLASS_NOT_SI, "SI"),
	NOT_LEVEL(CLASS_NOT_SERIALIZABLE, "serializable"),
};

void class_meaning(struct buf *out, enum finding_class found, const char *level)
{
	enum cycle_order order;
	enum finding_class class = finding_class_base(found, &order);

	if (class == CLASS_LEVEL) {
		buf_printf(out, "The level %s does not hold.", level);
		return;
	}
	buf_add_str(out, meanings[class]);
	if (order == CYCLE_SESSION)
		buf_add_str(out, "  The order of a session's transactions closes the circle.");
	if (order == CYCLE_REALTIME)
		buf_add_str(out, "  Real time closes the circle: one had ended before the other began.");
}
