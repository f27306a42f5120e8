/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The corpus of known bugs: scenarios with what is expected of each release and level, and
 * recordings of them (docs/corpus.md).
 *
 * A recording knows which scenario it is of (`isorec run` keeps its text in the trace), on which
 * release (execution_label) and at which level.
 */
#ifndef REPORT_CORPUS_H
#define REPORT_CORPUS_H

#include "base/files.h"
#include "common/known/known_bugs.h"
#include "common/known/violations.h"
#include "differential/differential.h"

struct corpus_entry {
	const char *path;
	struct scenario scenario;
	struct span id, title;
	size_t recordings; /* found of it */
};

struct corpus_recording {
	const char *path;
	struct execution e;
	struct scenario scenario; /* the one in the trace */
	struct span id;
	enum txn_level level;
	const char *level_word; /* of it, "mixed", or "unknown": no transaction was begun */
	struct buf label;
	char digest[33];
	struct known_answer answer;
	struct known_violations violations;
	const struct scenario_verdict *expected; /* NULL: nothing is said */
};

/* All scenarios, or all recordings, below a folder. */
struct corpus_scenarios {
	struct file_list files;
	struct corpus_entry *entries;
	size_t count, capacity;
};

struct corpus_recordings {
	struct file_list files;
	struct corpus_recording *items; /* by id, then level, then path */
	size_t count, capacity;
};

bool corpus_scenarios_load(
	struct corpus_scenarios *out, const char *folder, struct err *err) MUST_CHECK;
void corpus_scenarios_release(struct corpus_scenarios *s);
/* The entry of that id, or NULL. */
struct corpus_entry *corpus_entry(struct corpus_scenarios *s, struct span id);

bool corpus_recordings_load(
	struct corpus_recordings *out, const char *folder, struct err *err) MUST_CHECK;
void corpus_recordings_release(struct corpus_recordings *r);
/* ---- verifying ---- */

struct corpus_check {
	const struct corpus_recording *recording;
	bool ok;
	struct buf why; /* when not */
};

/* Judges a stored recording by the scenario that the corpus has now. */
void corpus_verify(
	struct corpus_scenarios *s, struct corpus_recording *r, struct corpus_check *out);

/* ---- comparing two releases ---- */

enum corpus_change {
	CORPUS_NEW,       /* shows now, did not before */
	CORPUS_FIXED,     /* showed, does not now */
	CORPUS_CHANGED,   /* shows as before or not, but something is answered differently */
	CORPUS_UNCHANGED, /* the same execution */
	CORPUS_NOT_RUN,   /* one side has no recording, or it does not tell */
};
enum { CORPUS_CHANGES = 5 };

struct corpus_pair {
	struct span id, title;
	enum txn_level level;
	const char *level_word;
	struct corpus_recording *sides[2]; /* NULL: not there */
	enum corpus_change change;
	bool differs; /* first difference in: */
	enum diff_class class_;
	enum diff_cause cause;
	const char *rule;
	struct span statement; /* "T2> update t ..."; SPAN_NONE: a final state */
};

struct corpus_comparison {
	struct corpus_recordings *sides[2];
	struct corpus_pair *pairs;
	size_t count, capacity;
	size_t by[CORPUS_CHANGES];
	struct arena arena;
};

bool corpus_compare(struct corpus_comparison *out, struct corpus_recordings *old,
	struct corpus_recordings *new_, struct err *err) MUST_CHECK;
void corpus_comparison_release(struct corpus_comparison *c);
const char *corpus_change_name(enum corpus_change change);

#endif
