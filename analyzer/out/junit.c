/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The XML that build servers read.  There is no standard; this keeps to what the Ant task's schema
 * and the readers of Jenkins and GitLab have in common. */
#include "base/text.h"
#include "out/formats.h"

void junit_begin(struct buf *out)
{
	buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
}

void junit_end(struct buf *out)
{
	buf_add_str(out, "</testsuites>\n");
}

static void attribute(struct buf *out, const char *name, struct span value)
{
	buf_printf(out, " %s=\"", name);
	text_add_xml(out, value);
	buf_add_char(out, '"');
}

static void add_said(struct buf *out, const struct finding *f)
{
	struct buf line = BUF_INIT;

	text_add_xml(out, f->explanation);
	for (uint32_t at = 0; known_next(f, &at, &line);) {
		buf_add_char(out, '\n');
		text_add_xml(out, buf_span(&line));
	}
	buf_release(&line);
}

static void finding_case(
	struct buf *out, const struct verdict_context *context, const struct finding *f)
{
	struct buf message = BUF_INIT;
	bool counts = finding_counts(context, f);

	buf_printf(&message, "%s: %s", severity_name(f->severity), f->class_name);
	if (f->rule)
		buf_printf(&message, " by %s", f->rule);
	if (f->level)
		buf_printf(&message, ", %s", f->level);
	buf_printf(out, "    <testcase classname=\"%s\" name=\"%s %s\">\n", f->oracle,
		f->class_name, f->id);
	buf_add_str(out, counts ? "      <failure" : "      <skipped");
	attribute(out, "message", buf_span(&message));
	if (counts) {
		attribute(out, "type", span_str(severity_name(f->severity)));
		buf_add_char(out, '>');
		add_said(out, f);
		buf_add_str(out, "</failure>\n");
	} else {
		buf_add_str(out, "/>\n      <system-out>");
		add_said(out, f);
		buf_add_str(out, "</system-out>\n");
	}
	buf_add_str(out, "    </testcase>\n");
	buf_release(&message);
}

/* The verdict itself: without it a history that is incomplete, or whose level fails, would look
 * like one without tests. */
static void verdict_case(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, bool failed)
{
	buf_add_str(out, "    <testcase classname=\"check\" name=\"verdict\">");
	if (failed)
		buf_add_str(out, "<failure message=\"a level fails\" type=\"violation\"/>");
	else if (context->status == EXIT_STATUS_INCOMPLETE)
		buf_printf(out,
			"<error message=\"incomplete: %llu undecided, %llu unsupported%s\" "
			"type=\"incomplete\"/>",
			(unsigned long long)verdict->undecided,
			(unsigned long long)verdict->unsupported,
			context->damaged ? ", trace damaged" : "");
	buf_add_str(out, "</testcase>\n");
}

void verdict_junit(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict)
{
	uint64_t failures = 0;
	bool level_fails;

	for (size_t i = 0; i < verdict->finding_count; i++)
		failures += finding_counts(context, &verdict->findings[i]);
	/* No finding that counts says so: the level asked for does. */
	level_fails = !failures && context->status == EXIT_STATUS_VIOLATION;
	buf_add_str(out, "  <testsuite");
	attribute(out, "name", span_str(context->input));
	buf_printf(out, " tests=\"%llu\" failures=\"%llu\" errors=\"%d\" skipped=\"%llu\">\n",
		(unsigned long long)(verdict->finding_count + 1),
		(unsigned long long)(failures + level_fails),
		context->status == EXIT_STATUS_INCOMPLETE,
		(unsigned long long)(verdict->finding_count - failures));
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_case(out, context, &verdict->findings[i]);
	verdict_case(out, context, verdict, level_fails);
	buf_add_str(out, "  </testsuite>\n");
}
