/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notes of the recorder that levels were changed out of its sight (docs/trace-format.md, "note"; topic
 * "levels doubted"): which sessions' levels are not known.  However many notes a trace has, of fixed size.
 */
#ifndef TRACE_DOUBTS_H
#define TRACE_DOUBTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct record_note;

#define NOTE_LEVELS_DOUBTED "levels doubted"
/* An UPDATE whose answer the recorder's triggers may have changed. */
#define NOTE_ANSWER_DOUBTED "answer doubted"
/* Something of a binary log is missing: which, in the text. */
#define NOTE_BINLOG_GAP "binlog gap"

/* Is it a note of the recorder under that topic? */
bool note_is(const struct record_note *note, const char *topic);

enum { DOUBTS_MAX = 64 };

struct doubts {
	/* By node, the earliest moment.  A node's name is kept as its hash: two of the same are
	 * both doubted, which is on the safe side. */
	struct {
		uint64_t node, since;
	} of[DOUBTS_MAX];
	unsigned count;
	uint64_t all_since; /* of all nodes; only where `all` is set: there were more than fit */
	bool all;
};

/* Nothing happens where the note is another one. */
void doubts_take(struct doubts *doubts, const struct record_note *note);
/* May a session of the node that began or was reset at that moment have had any level? */
bool doubts_session(const struct doubts *doubts, struct span node, uint64_t started);

#endif
