/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explanations of reads that may have met one of several versions of a row (semantics.md, section 2a).
 *
 * A *meeting* is a read of one row whose version the answer does not tell.  An explanation chooses a version
 * for each meeting, one that the recorded answer allows, and draws the edges that follow from it.  What the
 * chosen edges and the certain ones together satisfy, holds: there is a reading of the evidence that does.
 * What the certain edges alone contradict, fails.  Only where neither is so, the question stays open.
 *
 * At first each meeting gets the version that was current at the position of its view (positions.h).
 */
#ifndef ADYA_EXPLANATION_H
#define ADYA_EXPLANATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/graph/graph.h"

struct dependencies;
struct positions;

enum meeting_kind {
	MEETING_NOT_RETURNED, /* a predicate did not return the row */
	MEETING_RETURNED,     /* the version is known, but not all versions that change the matches are */
	MEETING_UNLISTED,     /* the result does not tell which rows took part in it */
	MEETING_NO_ROW,       /* a read of one key found no row */
};

struct meeting {
	uint32_t op;     /* of the history */
	uint32_t object; /* HISTORY_NONE: any row of the predicate's table */
	uint32_t place;  /* of the chosen version in the object's order; HISTORY_NONE: none is possible */
	uint32_t first;  /* the place that was chosen first */
	uint8_t kind;    /* enum meeting_kind */
	uint8_t tried;   /* choices that were given up */
	bool changed;    /* its edges are to be drawn anew */
	bool pinned;     /* its place stays, whatever the positions suggest */
	bool current;    /* its version was the one that was current at its view, by the positions */
	bool of_unknown; /* none is possible but one of a transaction of unknown outcome */
	bool unsteady;   /* its version was not in the view, or the view does not fit its interval */
};

struct chosen_edge {
	uint32_t from, to;
	uint32_t meeting;
	uint8_t kind; /* enum graph_kind */
};

struct explanation {
	struct meeting *meetings;
	size_t meeting_count, meeting_capacity;
	struct chosen_edge *edges;
	size_t edge_count, edge_capacity;
	/* By statement: rows took part in its answer in a way that was not computed here, so that the answer
	 * is not verified.  NULL: none. */
	bool *unverified;
	/* By statement: it has a meeting whose version was not in the statement's view, or whose view does not fit
	 * its interval.  NULL: none. */
	bool *unsteady;
	struct positions *positions; /* with the constraints of certain reads; NULL: no choice was made */
	size_t certain_count;        /* how many constraints these are */
	bool is_dirty;       /* dirty reads met versions that were never committed, so that no edges are drawn for them */
	bool *impossible_in; /* by statement: with a meeting for which no version is possible; NULL: none */
	/* By statement: with a meeting that only a version of a transaction of unknown outcome explains at that time, which
	 * committed after all, perhaps; NULL: none. */
	bool *unknown_in;
};

void explanation_add(struct explanation *explanation, const struct meeting *meeting);
void explanation_release(struct explanation *explanation);

/* Chooses a version for each meeting and draws its edges. */
void explanation_choose(struct dependencies *dependencies);
/* Gives up the choice that a chosen edge comes from for one that was not tried; explanation_redraw() then draws
 * the edges of all that were given up.  False: there is no other choice. */
bool explanation_give_up(struct dependencies *dependencies, uint32_t edge);
void explanation_redraw(struct dependencies *dependencies);

/* Gives up the choice of one meeting for one that was not tried, and pins it there; once all were tried it is free
 * again, and false.  explanation_choose_again() then makes all choices anew, around those that are pinned. */
bool explanation_pin(struct dependencies *dependencies, size_t meeting);
void explanation_choose_again(struct dependencies *dependencies);
/* No choice is pinned or given up any more. */
void explanation_unpin(struct dependencies *dependencies);

/* In the details of explanation_graph(): the rest is the number of a chosen edge. */
#define EXPLANATION_CHOSEN (UINT32_C(1) << 31)

/* The certain edges of the dependencies and the chosen ones; with dependencies_options.timed those that do not follow from real
 * time, and that order. */
void explanation_graph(const struct dependencies *dependencies, struct graph *out);

#endif
