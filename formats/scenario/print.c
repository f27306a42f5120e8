/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The canonical text of a scenario. */
#include <stdio.h>

#include "scenario/scenario_internal.h"
#include "sql/text/split.h"

/* Sessions in the order of the schedule, whatever their numbers: the text has no other order.  One
 * that sends nothing is not in the text at all. */
static void print_isolation(const struct scenario *s, struct buf *out)
{
	bool seen[SCENARIO_SESSION_MAX] = {false};
	size_t start = out->len;
	const char *comma = "";

	buf_add_str(out, "# isolation:");
	if (s->level) {
		buf_printf(out, " %s", txn_level_short((uint8_t)s->level));
		comma = ",";
	}
	for (size_t i = 0; i < s->schedule.count; i++) {
		uint32_t session = s->schedule.stmts[i].session;

		if (seen[session])
			continue;
		seen[session] = true;
		if (!s->sessions[session].level)
			continue;
		buf_printf(out, "%s %.*s=%s", comma, SPAN_ARG(s->sessions[session].name),
			txn_level_short((uint8_t)s->sessions[session].level));
		comma = ",";
	}
	if (comma[0]) {
		buf_add_char(out, '\n');
	} else { /* no level at all */
		out->len = start;
		out->data[start] = '\0';
	}
}

/* In the same order. */
static void print_nodes(const struct scenario *s, struct buf *out)
{
	bool seen[SCENARIO_SESSION_MAX] = {false};
	const char *before = "# node:";

	for (size_t i = 0; i < s->schedule.count; i++) {
		uint32_t session = s->schedule.stmts[i].session;

		if (seen[session] || !s->sessions[session].node)
			continue;
		seen[session] = true;
		buf_printf(out, "%s %.*s=%u", before, SPAN_ARG(s->sessions[session].name),
			s->sessions[session].node);
		before = ",";
	}
	if (before[0] == ',')
		buf_add_char(out, '\n');
}

static void print_meta(const struct scenario *s, struct buf *out)
{
	bool printed = false, nodes_printed = false;

	for (size_t i = 0; i < s->meta_count; i++) {
		const struct scenario_meta *meta = &s->meta[i];

		/* The levels may have been changed since they were read. */
		if (span_eq_str(meta->key, "isolation")) {
			print_isolation(s, out);
			printed = true;
			continue;
		}
		if (span_eq_str(meta->key, "node")) {
			print_nodes(s, out);
			nodes_printed = true;
			continue;
		}
		buf_printf(out, "# %.*s:", SPAN_ARG(meta->key));
		if (meta->value.len)
			buf_add_char(out, ' ');
		buf_add_span(out, meta->value);
		buf_add_char(out, '\n');
	}
	if (!printed)
		print_isolation(s, out);
	if (!nodes_printed)
		print_nodes(s, out);
}

/* A delimiter that the statement does not hold. */
static void choose_delimiter(struct span sql, char *out, size_t size)
{
	snprintf(out, size, "//");
	for (unsigned i = 1; split_statement(sql, 0, span_str(out)).state == SPLIT_FOUND; i++)
		snprintf(out, size, "//%u", i);
}

static void print_statement(
	const struct scenario *s, const struct scenario_stmt *stmt, struct buf *out)
{
	struct split split = split_statement(stmt->sql, 0, SPAN_LIT(";"));
	bool special = split.state == SPLIT_FOUND;
	char delimiter[32] = ";";

	if (special) {
		choose_delimiter(stmt->sql, delimiter, sizeof(delimiter));
		buf_printf(out, "delimiter %s\n", delimiter);
	}
	if (stmt->session != SCENARIO_NO_SESSION) {
		buf_add_span(out, s->sessions[stmt->session].name);
		buf_add_str(out, "> ");
	}
	buf_add_span(out, stmt->sql);
	/* On a line of its own it neither joins with the text before it nor is in a comment. */
	if (special || split.line_comment)
		buf_add_char(out, '\n');
	buf_add_str(out, delimiter);
	if (stmt->expect.blocking != SCENARIO_BLOCKING_ANY ||
		stmt->expect.outcome != SCENARIO_OUTCOME_ANY) {
		buf_add_str(out, " -- => ");
		scenario_print_expect(&stmt->expect, out);
	}
	buf_add_char(out, '\n');
	if (special)
		buf_add_str(out, "delimiter ;\n");
}

static void print_section(const struct scenario *s, const struct scenario_section *section,
	const char *name, struct buf *out)
{
	if (!section->count)
		return;
	buf_printf(out, "[%s]\n", name);
	for (size_t i = 0; i < section->count; i++)
		print_statement(s, &section->stmts[i], out);
}

void scenario_print(const struct scenario *s, struct buf *out)
{
	print_meta(s, out);
	print_section(s, &s->setup, "setup", out);
	print_section(s, &s->schedule, "schedule", out);
	print_section(s, &s->final, "final", out);
}
