/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definitions are those of docs/oracles; here they are cut down to a sentence. */
#include "report/class_sentences.h"

#include <string.h>

static const struct {
	const char *name, *meaning;
} meanings[] = {
	{"G0", "Transactions overwrote each other's rows in a circle: a write cycle."},
	{"G1a", "A committed transaction read what a transaction wrote that was rolled back."},
	{"G1b", "A transaction read a version that its writer overwrote before it committed."},
	{"G1c", "Transactions depend on each other in a circle by what they wrote and read."},
	{"G-single", "A transaction saw part of another's effects and missed the rest: read skew or "
		     "a lost update; a circle with one anti-dependency."},
	{"G-nonadjacent", "A circle of dependencies with several anti-dependencies, no two of them "
			  "next to each other: no snapshot explains it."},
	{"G2-item", "Transactions read rows that the others then changed, in a circle: write "
		    "skew."},
	{"G2", "A circle that goes through a predicate: rows appeared or vanished behind a search "
	       "condition (phantoms)."},
	{"G-cursor", "A row was read and then overwritten although another transaction had changed "
		     "it between: cursor stability does not allow that."},
	{"G-monotonic", "A transaction saw something of another and later missed something else of "
			"it."},
	{"G-SIa", "A transaction overwrote or read what had not been committed when it started, by "
		  "the times of starts and commits."},
	{"G-SIb", "A transaction missed something although what it missed had ended before: a "
		  "circle with one anti-dependency that real time closes."},
	{"lost-update", "Two transactions read the same version of a row and both overwrote it."},
	{"garbage-read", "A read returned something that nobody wrote."},
	{"future-read", "A read returned a version whose write had not begun."},
	{"own-write", "A transaction did not see its own latest write, or saw one that it had "
		      "taken back."},
	{"unstable-snapshot", "Two reads of one transaction need two different snapshots."},
	{"duplicate-row", "One result holds two versions of the same row."},
	{"split-statement", "One statement judged some rows before and others after the same "
			    "foreign commit."},
	{"split-statement-gap", "One statement missed a row that was put into a place that it had "
				"already passed."},
	{"lost-version", "A committed version is missing from the chain of versions or from the "
			 "final rows."},
	{"dirty-read", "A statement read what another transaction had not committed."},
	{"wrong-result", "A statement's rows are not those that any order of the recorded "
			 "statements can give."},
	{"wrong-error", "A statement failed where it should have succeeded, or the other way "
			"round, or with another error."},
	{"missing-lock", "Two transactions held locks on one row that exclude each other."},
	{"needless-block", "A statement waited although nobody can have held a lock that it "
			   "needed."},
	{"needless-deadlock", "A statement failed by a deadlock or timeout although nobody can "
			      "have held a lock that it needed."},
	{"current-write", "A write acted on a version that the transaction's snapshot does not "
			  "have."},
	{"own-write-shows", "A row that the transaction changed shows other columns that others "
			    "changed after the snapshot."},
	{"noop-update", "An UPDATE that changed nothing left the snapshot's version in sight."},
	{"deleted-row-stays", "A row that another transaction deleted stays in the snapshot, "
			      "beside rows changed by the transaction itself."},
	{"no-autocommit", "A statement outside of a transaction was not committed by itself."},
	{"internal", "Inside one transaction, a read differs from its own last read or write."},
	{"duplicate-elements", "A list holds the same element twice."},
	{"incompatible-order", "Two reads of one list disagree on the order of its elements."},
	{"dirty-update", "A committed write followed one that was rolled back, in the order of "
			 "versions."},
};

void class_meaning(struct buf *out, const char *class_name)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++) {
		size_t len = strlen(meanings[i].name);

		if (strncmp(class_name, meanings[i].name, len) != 0)
			continue;
		if (class_name[len] == '\0' || strcmp(class_name + len, "-session") == 0 ||
			strcmp(class_name + len, "-realtime") == 0) {
			buf_add_str(out, meanings[i].meaning);
			if (strcmp(class_name + len, "-session") == 0)
				buf_add_str(out, "  The order of a session's transactions closes "
						 "the circle.");
			if (strcmp(class_name + len, "-realtime") == 0)
				buf_add_str(out, "  Real time closes the circle: one had ended "
						 "before the other began.");
			return;
		}
	}
	/* Found by the solver, which has no cycle to show: the level names the class. */
	if (strncmp(class_name, "not-", 4) == 0)
		buf_printf(out,
			"The level %s does not hold: no order of the versions explains all reads.",
			class_name + 4);
	else
		buf_printf(out, "The level %s does not hold.", class_name);
}
