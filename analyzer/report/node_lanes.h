/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cluster's life as lanes, one a node: its states, the operations and faults that it was part of, what its links let
 * through, its ends; and what concerns all of them: points and windows.  From a trace's cluster records, in any order.
 */
#ifndef REPORT_NODE_LANES_H
#define REPORT_NODE_LANES_H

#include "base/arena.h"
#include "base/attr.h"
#include "trace/record.h"

enum { LANES_NODES_MAX = 64, LANES_PARTS_MAX = 20000 };
#define LANE_ALL UINT32_MAX

enum lane_kind { LANE_STATE, LANE_OPERATION, LANE_FAULT, LANE_LINK, LANE_EXIT, LANE_BOOTSTRAP, LANE_POINT, LANE_WINDOW };
/* Of a state: the node takes part; it is on its way; it does not answer; its process has ended. */
enum lane_tone { TONE_WELL, TONE_UNDERWAY, TONE_SILENT, TONE_ENDED, TONE_NONE };
extern const char *const lane_kind_words[], *const lane_tone_words[];

struct lane_part {
	uint32_t node; /* or LANE_ALL */
	enum lane_kind kind;
	enum lane_tone tone;
	bool failed; /* an operation that did not do what it was to do */
	uint64_t begin, end;
	struct span text;
};

struct node_lanes;

struct node_lanes *node_lanes_new(void);
void node_lanes_free(struct node_lanes *lanes);
void node_lanes_take(struct node_lanes *lanes, const struct record_cluster *record);
/* When all was taken: makes the parts, in the order in which they began.  False: there are no nodes. */
bool node_lanes_finish(struct node_lanes *lanes);

uint32_t node_lanes_count(const struct node_lanes *lanes);
struct span node_lanes_name(const struct node_lanes *lanes, uint32_t node);
const struct lane_part *node_lanes_parts(const struct node_lanes *lanes, size_t *count);
uint64_t node_lanes_begin(const struct node_lanes *lanes);
uint64_t node_lanes_end(const struct node_lanes *lanes);
bool node_lanes_cut(const struct node_lanes *lanes); /* there were more parts */

/* For a terminal: a lane of characters a node, its operations below it, and what happened, line by line. */
void node_lanes_print(const struct node_lanes *lanes, uint64_t anchor_ns, size_t columns, struct buf *out);

#endif
