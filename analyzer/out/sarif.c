/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"): one run; a reportingDescriptor
 * for each class (section 3.49), a result for each finding (3.27), whose code flow (3.36) is the
 * cycle or, where there is none, the statements of the witness; what was not decided becomes a
 * notification of the invocation (3.20).  Rules come after the results that use them: the order of
 * an object's members means nothing.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/version.h"
#include "out/formats.h"
#include "report/class_sentences.h"

static void member(struct json *json, const char *key, struct span value)
{
	json_key(json, key);
	json_string(json, value);
}

static void text_object(struct json *json, const char *key, struct span text)
{
	json_key(json, key);
	json_begin_object(json);
	member(json, "text", text);
	json_end_object(json);
}

void sarif_begin(struct sarif *sarif, struct buf *out)
{
	struct json *json = &sarif->json;

	*sarif = (struct sarif){.notes = BUF_INIT};
	json_init(json, out, 2);
	json_begin_object(json);
	member(json, "$schema",
		SPAN_LIT("https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
			 "sarif-schema-2.1.0.json"));
	member(json, "version", SPAN_LIT("2.1.0"));
	json_key(json, "runs");
	json_begin_array(json);
	json_begin_object(json);
	json_key(json, "results");
	json_begin_array(json);
}

static unsigned rule_index(struct sarif *sarif, const struct finding *f)
{
	for (unsigned i = 0; i < sarif->rule_count; i++) {
		if (strcmp(sarif->rules[i].name, finding_name(f)) == 0)
			return i;
	}
	if (sarif->rule_count < SARIF_RULES_MAX)
		sarif->rules[sarif->rule_count++] = (struct sarif_rule){f->class, finding_name(f), f->level};
	return sarif->rule_count - 1;
}

/* A path as a relative reference of RFC 3986. */
static void add_uri(struct buf *out, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~/";

	if (path[0] == '/')
		buf_add_str(out, "file://");
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (strchr(plain, c))
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "%%%c%c", hex[c >> 4], hex[c & 15]);
	}
}

/* `step`: the statement that is meant, NULL for the trace as a whole.  A statement's record is in a
 * block, which may be compressed: the region begins where the block does. */
static void location(struct json *json, const struct verdict_context *context,
	const struct finding_step *step, struct span where)
{
	struct buf uri = BUF_INIT;

	add_uri(&uri, context->input);
	json_begin_object(json);
	json_key(json, "physicalLocation");
	json_begin_object(json);
	json_key(json, "artifactLocation");
	json_begin_object(json);
	member(json, "uri", buf_span(&uri));
	json_end_object(json);
	if (step && step->offset) {
		json_key(json, "region");
		json_begin_object(json);
		json_key(json, "byteOffset");
		json_uint(json, step->offset);
		json_end_object(json);
	}
	json_end_object(json);
	if (step && step->number) {
		char name[64];

		snprintf(name, sizeof(name), "session %u, statement %u", step->session,
			step->number);
		json_key(json, "logicalLocations");
		json_begin_array(json);
		json_begin_object(json);
		member(json, "name", span_str(name));
		json_end_object(json);
		json_end_array(json);
	}
	if (where.ptr)
		text_object(json, "message", where);
	json_end_object(json);
	buf_release(&uri);
}

static void flow_location(struct json *json, const struct verdict_context *context,
	const struct finding_step *step, struct span text)
{
	json_begin_object(json);
	json_key(json, "location");
	location(json, context, step, text);
	json_end_object(json);
}

static void code_flow(
	struct json *json, const struct verdict_context *context, const struct finding *f)
{
	struct buf text = BUF_INIT;

	if (!f->edge_count && !f->step_count)
		return;
	json_key(json, "codeFlows");
	json_begin_array(json);
	json_begin_object(json);
	json_key(json, "threadFlows");
	json_begin_array(json);
	json_begin_object(json);
	json_key(json, "locations");
	json_begin_array(json);
	for (uint32_t i = 0; i < f->edge_count; i++) {
		buf_clear(&text);
		buf_printf(&text, "%.*s -> %.*s (%.*s): %.*s.", SPAN_ARG(f->edges[i].from),
			SPAN_ARG(f->edges[i].to), SPAN_ARG(f->edges[i].kind),
			SPAN_ARG(f->edges[i].sentence));
		flow_location(json, context, NULL, buf_span(&text));
	}
	for (uint32_t i = 0; !f->edge_count && i < f->step_count; i++) {
		buf_clear(&text);
		buf_printf(&text, "%.*s: %.*s (%.*s)", SPAN_ARG(f->steps[i].transaction),
			SPAN_ARG(f->steps[i].text), SPAN_ARG(f->steps[i].what));
		flow_location(json, context, &f->steps[i], buf_span(&text));
	}
	json_end_array(json);
	json_end_object(json);
	json_end_array(json);
	json_end_object(json);
	json_end_array(json);
	buf_release(&text);
}

static const char *sarif_level(enum severity severity)
{
	switch (severity) {
	case SEVERITY_VIOLATION:
	case SEVERITY_APPLICATION:
		return "error";
	case SEVERITY_SUSPICION:
		return "warning";
	case SEVERITY_DOCUMENTED:
	case SEVERITY_COMPAT:
		break;
	}
	return "note";
}

static void result(
	struct sarif *sarif, const struct verdict_context *context, const struct finding *f)
{
	struct json *json = &sarif->json;

	json_begin_object(json);
	member(json, "ruleId", span_str(finding_name(f)));
	json_key(json, "ruleIndex");
	json_uint(json, rule_index(sarif, f));
	member(json, "level", span_str(sarif_level(f->severity)));
	text_object(json, "message", f->explanation);
	json_key(json, "locations");
	json_begin_array(json);
	location(json, context, f->step_count ? &f->steps[0] : NULL, SPAN_NONE);
	json_end_array(json);
	code_flow(json, context, f);
	json_key(json, "partialFingerprints");
	json_begin_object(json);
	member(json, "isotrace/v1", span_str(f->id));
	json_end_object(json);
	json_key(json, "occurrenceCount");
	json_uint(json, f->pattern ? f->pattern->pairs : 1 + f->similar);
	json_key(json, "properties");
	json_begin_object(json);
	member(json, "severity", span_str(severity_name(f->severity)));
	member(json, "oracle", span_str(finding_oracle_name(f->oracle)));
	if (f->level)
		member(json, "isolation", span_str(f->level));
	if (f->rule)
		member(json, "rule", span_str(f->rule));
	json_key(json, "transactions");
	json_begin_array(json);
	for (uint32_t i = 0; i < f->transaction_count; i++)
		json_string(json, f->transactions[i]);
	json_end_array(json);
	json_end_object(json);
	json_end_object(json);
}

static void note(struct sarif *sarif, const struct verdict_context *context,
	const struct verdict *verdict)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "%s: %s; %llu decided, %llu undecided, %llu unsupported%s",
		context->input, context->conclusion, (unsigned long long)verdict->decided,
		(unsigned long long)verdict->undecided, (unsigned long long)verdict->unsupported,
		context->damaged ? "; the trace is not complete" : "");
	if (sarif->notes.len)
		buf_add_char(&sarif->notes, '\n');
	text_add(&sarif->notes, buf_span(&text), 4000, TEXT_FOLD);
	buf_release(&text);
}

void verdict_sarif(struct sarif *sarif, const struct verdict_context *context,
	const struct verdict *verdict)
{
	for (size_t i = 0; i < verdict->finding_count; i++)
		result(sarif, context, &verdict->findings[i]);
	note(sarif, context, verdict);
}

static void driver(struct sarif *sarif)
{
	struct json *json = &sarif->json;
	struct buf meaning = BUF_INIT;

	json_key(json, "tool");
	json_begin_object(json);
	json_key(json, "driver");
	json_begin_object(json);
	member(json, "name", SPAN_LIT("isotrace"));
	member(json, "version", SPAN_LIT(ISOTRACE_VERSION));
	json_key(json, "rules");
	json_begin_array(json);
	for (unsigned i = 0; i < sarif->rule_count; i++) {
		buf_clear(&meaning);
		class_meaning(&meaning, sarif->rules[i].class, sarif->rules[i].level);
		json_begin_object(json);
		member(json, "id", span_str(sarif->rules[i].name));
		text_object(json, "shortDescription", buf_span(&meaning));
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
	json_end_object(json);
	buf_release(&meaning);
}

/* Each note is a line. */
static void invocation(struct sarif *sarif)
{
	struct json *json = &sarif->json;
	struct span rest = buf_span(&sarif->notes);

	json_key(json, "invocations");
	json_begin_array(json);
	json_begin_object(json);
	json_key(json, "executionSuccessful");
	json_bool(json, true);
	json_key(json, "toolExecutionNotifications");
	json_begin_array(json);
	while (rest.len) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end ? (size_t)(end - rest.ptr) : rest.len;

		json_begin_object(json);
		member(json, "level", SPAN_LIT("note"));
		text_object(json, "message", span_of(rest.ptr, len));
		json_end_object(json);
		rest = span_of(rest.ptr + len + (end != NULL), rest.len - len - (end != NULL));
	}
	json_end_array(json);
	json_end_object(json);
	json_end_array(json);
}

void sarif_end(struct sarif *sarif, struct buf *out)
{
	struct json *json = &sarif->json;

	json_end_array(json);
	driver(sarif);
	invocation(sarif);
	json_end_object(json);
	json_end_array(json);
	json_end_object(json);
	buf_add_char(out, '\n');
	buf_release(&sarif->notes);
}
