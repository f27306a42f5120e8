/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/junit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "out/formats.h"

/* ---- the document ---- */

void junit_begin(struct junit *junit, struct buf *out)
{
	*junit = (struct junit){.out = out};
	buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
}

void junit_release(struct junit *junit)
{
	buf_release(&junit->properties);
	buf_release(&junit->cases);
	buf_release(&junit->said);
}

void junit_end(struct junit *junit)
{
	buf_add_str(junit->out, "</testsuites>\n");
	junit_release(junit);
}

static void attribute(struct buf *out, const char *name, struct span value)
{
	buf_printf(out, " %s=\"", name);
	text_add_xml(out, value);
	buf_add_char(out, '"');
}

/* Names are tokens: readers take the blanks around them away, and nothing must not be left. */
static void token(struct buf *out, const char *name, struct span value)
{
	bool blank = true;

	for (size_t i = 0; i < value.len && blank; i++)
		blank = isspace((unsigned char)value.ptr[i]);
	attribute(out, name, blank ? SPAN_LIT("-") : value);
}

static void count(struct buf *out, const char *name, uint64_t n)
{
	buf_printf(out, " %s=\"%llu\"", name, (unsigned long long)n);
}

/* Seconds; Jenkins takes three decimals. */
static void seconds(struct buf *out, uint64_t ns)
{
	buf_printf(out, " time=\"%llu.%03llu\"", (unsigned long long)(ns / 1000000000u),
		(unsigned long long)(ns / 1000000u % 1000u));
}

void junit_property(struct junit *junit, const char *name, struct span value)
{
	buf_add_str(&junit->properties, "      <property");
	attribute(&junit->properties, "name", span_str(name));
	attribute(&junit->properties, "value", value);
	buf_add_str(&junit->properties, "/>\n");
}

void junit_say(struct junit *junit, struct span line)
{
	text_add_xml(&junit->said, line);
	buf_add_char(&junit->said, '\n');
}

void junit_case(struct junit *junit, const struct junit_case *c)
{
	static const char *const tags[] = {NULL, "failure", "error", "skipped"};
	struct buf *out = &junit->cases;

	junit->by[c->outcome]++;
	buf_add_str(out, "    <testcase");
	token(out, "classname", c->class_name);
	token(out, "name", c->name);
	seconds(out, c->took_ns);
	if (c->outcome == JUNIT_PASSED) {
		buf_add_str(out, "/>\n");
		return;
	}
	buf_printf(out, ">\n      <%s", tags[c->outcome]);
	attribute(out, "message", c->message);
	if (c->outcome != JUNIT_SKIPPED)
		attribute(out, "type", span_str(c->type));
	buf_add_char(out, '>');
	text_add_xml_lines(out, c->text);
	buf_printf(out, "</%s>\n    </testcase>\n", tags[c->outcome]);
}

/* Of "host", "host:port", "[::1]:port", "::1", or the path of a socket, which is here. */
static struct span host_of(struct span address)
{
	const char *colon = address.len ? memchr(address.ptr, ':', address.len) : NULL;
	const char *bracket = address.len ? memchr(address.ptr, ']', address.len) : NULL;

	if (!address.len || address.ptr[0] == '/')
		return SPAN_LIT("localhost");
	if (address.ptr[0] == '[' && bracket)
		return span_of(address.ptr + 1, (size_t)(bracket - address.ptr) - 1);
	if (colon && colon == memrchr(address.ptr, ':', address.len))
		return span_of(address.ptr, (size_t)(colon - address.ptr));
	return address;
}

void junit_suite(struct junit *junit, const struct junit_suite *suite)
{
	struct buf *out = junit->out;
	char start[CLOCK_RFC3339_SIZE];
	uint64_t tests = 0;

	for (int i = 0; i < JUNIT_OUTCOMES; i++)
		tests += junit->by[i];
	buf_add_str(out, "  <testsuite");
	token(out, "name", suite->name);
	token(out, "package", span_str(suite->package));
	count(out, "id", junit->suites++);
	/* Universal time; the schema allows neither a zone nor a fraction. */
	attribute(out, "timestamp", span_of(clock_rfc3339(suite->start_ns, start), 19));
	token(out, "hostname", host_of(suite->address));
	count(out, "tests", tests);
	count(out, "failures", junit->by[JUNIT_FAILURE]);
	count(out, "errors", junit->by[JUNIT_ERROR]);
	count(out, "skipped", junit->by[JUNIT_SKIPPED]);
	seconds(out, suite->took_ns);
	buf_add_str(out, ">\n    <properties>\n");
	buf_add_span(out, buf_span(&junit->properties));
	buf_add_str(out, "    </properties>\n");
	buf_add_span(out, buf_span(&junit->cases));
	buf_add_str(out, "    <system-out>");
	buf_add_span(out, buf_span(&junit->said));
	buf_add_str(out, "</system-out>\n    <system-err/>\n  </testsuite>\n");
	buf_clear(&junit->properties);
	buf_clear(&junit->cases);
	buf_clear(&junit->said);
	memset(junit->by, 0, sizeof(junit->by));
}

/* ---- isotrace check ---- */

static void finding_case(
	struct junit *junit, const struct verdict_context *context, const struct finding *f)
{
	struct buf name = BUF_INIT, message = BUF_INIT, text = BUF_INIT, line = BUF_INIT;

	buf_printf(&name, "%s %s", finding_name(f), f->id);
	buf_printf(&message, "%s: %s", severity_name(f->severity), finding_name(f));
	if (f->rule)
		buf_printf(&message, " by %s", f->rule);
	if (f->level)
		buf_printf(&message, ", %s", f->level);
	buf_add_span(&text, f->explanation);
	for (uint32_t at = 0; known_next(f, &at, &line);) {
		buf_add_char(&text, '\n');
		buf_add_span(&text, buf_span(&line));
	}
	junit_case(junit, &(struct junit_case){.class_name = span_str(finding_oracle_name(f->oracle)),
				  .name = buf_span(&name),
				  .outcome = finding_counts(context, f) ? JUNIT_FAILURE
									: JUNIT_SKIPPED,
				  .message = buf_span(&message),
				  .type = severity_name(f->severity),
				  .text = buf_span(&text)});
	buf_release(&name);
	buf_release(&message);
	buf_release(&text);
	buf_release(&line);
}

/* The verdict itself: without it a history that is incomplete, or whose level fails, would look
 * like one without tests. */
static void verdict_case(struct junit *junit, const struct verdict_context *context,
	const struct verdict *verdict)
{
	struct junit_case c = {.class_name = SPAN_LIT("check"),
		.name = SPAN_LIT("verdict"),
		.took_ns = context->took_ns};
	struct buf message = BUF_INIT;

	if (context->status == EXIT_STATUS_VIOLATION && !junit->by[JUNIT_FAILURE]) {
		/* No finding that counts says so: the level asked for does. */
		c.outcome = JUNIT_FAILURE;
		c.type = "violation";
		c.message = SPAN_LIT("a level fails");
	} else if (context->status == EXIT_STATUS_INCOMPLETE) {
		c.outcome = JUNIT_ERROR;
		c.type = "incomplete";
		buf_printf(&message, "incomplete: %llu undecided, %llu unsupported%s",
			(unsigned long long)verdict->undecided,
			(unsigned long long)verdict->unsupported,
			context->damaged ? ", trace damaged" : "");
		c.message = buf_span(&message);
	}
	junit_case(junit, &c);
	buf_release(&message);
}

static void property_count(struct junit *junit, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	junit_property(junit, name, span_str(text));
}

void verdict_junit(struct junit *junit, const struct verdict_context *context,
	const struct verdict *verdict)
{
	struct buf line = BUF_INIT;

	junit_property(junit, "verdict", span_str(context->conclusion));
	junit_property(junit, "format", span_str(context->format));
	if (context->server.ptr)
		junit_property(junit, "server", context->server);
	if (verdict->contract)
		junit_property(junit, "contract", span_str(verdict->contract));
	if (context->level)
		junit_property(junit, "level", span_str(context->level));
	property_count(junit, "transactions", context->transactions);
	property_count(junit, "decided", verdict->decided);
	property_count(junit, "undecided", verdict->undecided);
	property_count(junit, "unsupported", verdict->unsupported);
	for (size_t i = 0; i < verdict->finding_count; i++)
		finding_case(junit, context, &verdict->findings[i]);
	verdict_case(junit, context, verdict);
	for (size_t i = 0; i < verdict->reason_count; i++) {
		buf_clear(&line);
		buf_printf(&line, "not decided: %s: %llu", verdict->reasons[i].name,
			(unsigned long long)verdict->reasons[i].count);
		junit_say(junit, buf_span(&line));
	}
	if (verdict->note)
		junit_say(junit, span_str(verdict->note));
	junit_suite(junit, &(struct junit_suite){.package = "isotrace.check",
				   .name = span_str(context->input),
				   .address = context->address,
				   .start_ns = context->start_ns,
				   .took_ns = context->took_ns});
	buf_release(&line);
}
