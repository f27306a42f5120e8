/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows that tables had when the recording began and when it ended (history.md, rule 14):
 * part of loading a trace.  Rows that come before their table's schema wait for it.
 */
#ifndef MODEL_HISTORY_TABLE_CONTENTS_H
#define MODEL_HISTORY_TABLE_CONTENTS_H

#include "base/buf.h"
#include "model/history/build.h"
#include "trace/record.h"

/* How far the parts of a table's contents came; [1]: initial, [0]: final. */
struct content_state {
	uint32_t next[2]; /* part; NONE: one is missing or unsound */
};

struct contents {
	struct history_build *build;
	bool images;         /* are kept */
	struct buf deferred; /* encoded records that wait, one after the other */
	uint32_t deferred_count;
	struct content_state *states; /* by table */
	size_t count, capacity;
	struct buf key;
};

/* A rows record, whose fields are next; `whole` is all of it.  False: they are not what they should
 * be. */
bool contents_take(struct contents *contents, struct mp *mp, uint32_t left, struct span whole);
/* What waited for a schema that came later, or never. */
void contents_finish(struct contents *contents);
void contents_release(struct contents *contents);

#endif
