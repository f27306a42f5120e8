/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of JSON for the verdict, then one for each finding: for programs that read a stream.  Of a share of a list
 * (--shard) a line before and after them, which isotrace merge needs (docs/many-machines.md). */
#include <inttypes.h>
#include <stdio.h>

#include "out/formats.h"
#include "out/output.h"

static void line_end(struct buf *out)
{
	buf_add_char(out, '\n');
}

static void key_uint(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void key_str(struct json *json, const char *key, const char *value)
{
	json_key(json, key);
	json_str(json, value);
}

static void shards_json(struct json *json, const struct check_share *share)
{
	json_key(json, "shards");
	json_begin_array(json);
	json_uint(json, share->shard.number);
	json_end_array(json);
	key_uint(json, "of", share->shard.of);
}

void share_begin_ndjson(struct buf *out, const struct check_share *share)
{
	char digest[17];
	struct json json;

	snprintf(digest, sizeof(digest), "%016" PRIx64, share->list);
	json_init(&json, out, 0);
	json_begin_object(&json);
	key_str(&json, "schema", "isotrace.share/1");
	key_str(&json, "type", "share");
	shards_json(&json, share);
	key_uint(&json, "histories", share->histories);
	key_str(&json, "list", digest);
	json_end_object(&json);
	line_end(out);
}

void share_fail_ndjson(struct buf *out, uint64_t history, const char *input, enum exit_status status)
{
	struct json json;

	json_init(&json, out, 0);
	json_begin_object(&json);
	key_str(&json, "type", "failure");
	key_uint(&json, "history", history);
	key_str(&json, "input", input);
	key_uint(&json, "status", status);
	json_end_object(&json);
	line_end(out);
}

void share_end_ndjson(struct buf *out, const struct check_share *share, uint64_t judged, enum exit_status status)
{
	struct json json;

	json_init(&json, out, 0);
	json_begin_object(&json);
	key_str(&json, "type", "end");
	shards_json(&json, share);
	key_uint(&json, "judged", judged);
	key_uint(&json, "status", status);
	json_end_object(&json);
	line_end(out);
}

void verdict_ndjson(struct buf *out, const struct verdict_context *context, const struct verdict *verdict,
	const uint64_t *history)
{
	struct json json;

	json_init(&json, out, 0);
	verdict_summary_json(&json, context, verdict, history);
	line_end(out);
	for (size_t i = 0; i < verdict->finding_count; i++) {
		json_init(&json, out, 0);
		json_begin_object(&json);
		json_key(&json, "type");
		json_str(&json, "finding");
		if (history)
			key_uint(&json, "history", *history);
		json_key(&json, "input");
		json_str(&json, context->input);
		json_key(&json, "finding");
		finding_json(&json, &verdict->findings[i]);
		json_end_object(&json);
		line_end(out);
	}
}
