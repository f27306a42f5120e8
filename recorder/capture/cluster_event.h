/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to a node, as a record of the trace. */
#ifndef CAPTURE_CLUSTER_EVENT_H
#define CAPTURE_CLUSTER_EVENT_H

#include "base/buf.h"
#include "trace/pack.h"
#include "trace/writer.h"

/* Names and values that go with an event. */
struct event_data {
	struct buf pairs;
	uint32_t count;
};

static inline void event_data_add(struct event_data *data, const char *name, struct span value)
{
	msgpack_packer pk = pack_into(&data->pairs);

	pack_str(&pk, span_str(name));
	pack_str(&pk, value);
	data->count++;
}

/* Emits, and empties the data (NULL: none).  begin: when it began, for what takes time; or 0. */
void event_emit(struct trace_producer *producer, const char *node, const char *what,
	struct span detail, uint64_t begin, struct event_data *data);

#endif
