/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What names stand for, and what is made of definitions and texts before the search. */
#ifndef MVCC_PLAN_CATALOG_H
#define MVCC_PLAN_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/span.h"

struct foreign;
struct plan;
struct programs;
struct sequence;
struct views;

/* What a name stands for, as plans are made one after the other. */
struct label {
	struct span database, name;
	uint32_t table; /* STORE_NONE: nothing that is known */
	uint32_t next;  /* one of the same name, in the order in which they came; MAP_NONE: none */
};

/* What names stand for, and everything that is made of definitions and texts before the search. */
struct catalog {
	struct arena arena;
	struct map plans; /* hash to index of plan_list */
	struct plan **plan_list;
	size_t plan_count, plan_capacity;
	struct programs *programs;
	struct views *views;
	struct sequence *sequences; /* those that were named (sequence_tables.c) */
	struct foreign *foreign_keys;
	size_t foreign_key_count, foreign_key_capacity;
	uint32_t *children; /* tables with foreign keys, of the first children_seen */
	size_t child_count, child_capacity;
	uint32_t children_seen;
	struct label *labels;
	size_t label_count, label_capacity;
	struct map label_heads; /* hash of a name to the first */
	uint32_t label_state; /* counts their changes */
	enum { SCENARIO_UNREAD, SCENARIO_PLAIN, SCENARIO_OTHER } scenario; /* does it name databases? */
	bool engine_changed; /* a statement has set the default engine of new tables */
	bool sql_notes_changed; /* ... that nothing is said of a table that was there */
	bool any_ddl;
};

#endif
