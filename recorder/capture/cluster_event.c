/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cluster_event.h"

void event_emit(struct trace_producer *producer, const char *node, const char *what,
	struct span detail, uint64_t begin, struct event_data *data)
{
	struct buf map = BUF_INIT;
	msgpack_packer pk = pack_into(&map);
	struct record_cluster record = {
		.begin = begin,
		.node = span_str(node),
		.what = span_str(what),
		.detail = detail,
	};

	if (data && data->count) {
		msgpack_pack_map(&pk, data->count);
		buf_add_span(&map, buf_span(&data->pairs));
		record.data = buf_span(&map);
	}
	trace_emit_cluster(producer, &record);
	buf_release(&map);
	if (data) {
		buf_release(&data->pairs);
		data->count = 0;
	}
}
