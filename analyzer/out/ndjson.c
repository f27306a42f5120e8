/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of JSON for the verdict, then one for each finding: for programs that read a stream. */
#include "out/formats.h"

static void line_end(struct buf *out)
{
	buf_add_char(out, '\n');
}

void verdict_ndjson(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict)
{
	struct json json;

	json_init(&json, out, 0);
	verdict_summary_json(&json, context, verdict);
	line_end(out);
	for (size_t i = 0; i < verdict->finding_count; i++) {
		json_init(&json, out, 0);
		json_begin_object(&json);
		json_key(&json, "type");
		json_str(&json, "finding");
		json_key(&json, "input");
		json_str(&json, context->input);
		json_key(&json, "finding");
		finding_json(&json, &verdict->findings[i]);
		json_end_object(&json);
		line_end(out);
	}
}
