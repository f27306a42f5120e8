/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/corpus_out.h"

#include <ctype.h>

#include "base/text.h"
#include "out/diff_out.h"
#include "out/junit.h"
#include "out/text_table.h"

static void add_answer(struct buf *out, const struct corpus_recording *r)
{
	if (!r)
		buf_add_str(out, "no recording");
	else if (r->expected && known_as_expected(&r->answer, r->expected))
		buf_printf(out, "%.*s%s%.*s", SPAN_ARG(r->expected->verdict),
			r->expected->detail.len ? " " : "", SPAN_ARG(r->expected->detail));
	else
		known_print(&r->answer, out);
}

static void table_buf(struct table *table, struct buf *text)
{
	table_text(table, buf_span(text));
	buf_clear(text);
}

/* ---- verify ---- */

void corpus_checks_text(struct buf *out, const struct corpus_checks *checks, bool all)
{
	struct buf cell = BUF_INIT;
	size_t without = 0;

	if (all) {
		struct table table;

		table_begin(&table, "lllll", "scenario|level|release|found|");
		for (size_t i = 0; i < checks->count; i++) {
			const struct corpus_recording *r = checks->items[i].recording;

			table_text(&table, r->id);
			table_str(&table, r->level_word);
			table_text(&table, buf_span(&r->label));
			add_answer(&cell, r);
			table_buf(&table, &cell);
			table_str(&table, checks->items[i].ok ? "as expected" : "NOT EXPECTED");
		}
		table_end(&table, out);
	}
	for (size_t i = 0; i < checks->count; i++) {
		const struct corpus_check *check = &checks->items[i];

		if (check->ok)
			continue;
		text_add(out, span_str(check->recording->path), 300, TEXT_FOLD);
		buf_add_str(out, ": ");
		text_add(out, buf_span(&check->why), 1000, TEXT_FOLD);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < checks->scenarios->count; i++)
		without += !checks->scenarios->entries[i].recordings;
	text_add_counted(out, checks->scenarios->count, "scenario, ", "scenarios, ");
	text_add_counted(out, checks->count, "recording: ", "recordings: ");
	buf_printf(out, "%zu as expected, %zu not", checks->count - checks->failed, checks->failed);
	if (without) {
		buf_add_str(out, "; ");
		text_add_counted(
			out, without, "scenario has no recording", "scenarios have no recording");
	}
	buf_add_char(out, '\n');
	buf_release(&cell);
}

static void recording_json(struct json *json, const struct corpus_recording *r)
{
	struct buf text = BUF_INIT;

	if (!r) {
		json_null(json);
		return;
	}
	json_begin_object(json);
	json_key(json, "path");
	json_str(json, r->path);
	json_key(json, "release");
	json_string(json, buf_span(&r->label));
	json_key(json, "digest");
	json_str(json, r->digest);
	json_key(json, "shown");
	if (r->answer.state == KNOWN_SHOWN || r->answer.state == KNOWN_ABSENT)
		json_bool(json, r->answer.state == KNOWN_SHOWN);
	else
		json_null(json);
	json_key(json, "errors");
	json_begin_array(json);
	for (size_t i = 0; i < r->answer.error_count; i++)
		json_uint(json, r->answer.errors[i]);
	json_end_array(json);
	json_key(json, "violations");
	json_begin_array(json);
	for (size_t i = 0; i < r->violations.count; i++)
		json_str(json, r->violations.classes[i]);
	json_end_array(json);
	json_key(json, "all_decided");
	json_bool(json, r->violations.decided);
	json_key(json, "expected");
	if (r->expected) {
		buf_printf(&text, "%.*s%s%.*s", SPAN_ARG(r->expected->verdict),
			r->expected->detail.len ? " " : "", SPAN_ARG(r->expected->detail));
		json_string(json, buf_span(&text));
	} else {
		json_null(json);
	}
	json_key(json, "as_expected");
	if (r->expected)
		json_bool(json, known_as_expected(&r->answer, r->expected));
	else
		json_null(json);
	json_end_object(json);
	buf_release(&text);
}

void corpus_checks_json(struct json *json, const struct corpus_checks *checks)
{
	json_begin_object(json);
	json_key(json, "schema");
	json_str(json, "isotrace.corpus-verify/1");
	json_key(json, "scenarios");
	json_uint(json, checks->scenarios->count);
	json_key(json, "failed");
	json_uint(json, checks->failed);
	json_key(json, "recordings");
	json_begin_array(json);
	for (size_t i = 0; i < checks->count; i++) {
		const struct corpus_check *check = &checks->items[i];

		json_begin_object(json);
		json_key(json, "id");
		json_string(json, check->recording->id);
		json_key(json, "level");
		json_str(json, check->recording->level_word);
		json_key(json, "ok");
		json_bool(json, check->ok);
		json_key(json, "why");
		json_string(json, buf_span(&check->why));
		json_key(json, "recording");
		recording_json(json, check->recording);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

/* How long the schedule took on the server. */
static uint64_t took_ns(const struct corpus_recording *r)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; r && i < r->e.stmt_count; i++) {
		const struct record_stmt *stmt = &r->e.stmts[i].record;

		first = stmt->begin && stmt->begin < first ? stmt->begin : first;
		last = stmt->at > last ? stmt->at : last;
	}
	return last > first ? last - first : 0;
}

/* The suite of all cases so far, with the times of its recordings. */
static void suite_junit(
	struct junit *junit, const char *package, const struct corpus_recordings *recordings)
{
	struct junit_suite suite = {
		.package = package, .name = SPAN_LIT("corpus"), .start_ns = UINT64_MAX};

	for (size_t i = 0; i < recordings->count; i++) {
		const struct corpus_recording *r = &recordings->items[i];

		if (r->e.wall_ns < suite.start_ns) {
			suite.start_ns = r->e.wall_ns;
			suite.address = r->e.server.address;
		}
		suite.took_ns += took_ns(r);
	}
	junit_suite(junit, &suite);
}

void corpus_checks_junit(struct buf *out, const struct corpus_checks *checks)
{
	struct buf name = BUF_INIT;
	struct junit junit;

	junit_begin(&junit, out);
	for (size_t i = 0; i < checks->count; i++) {
		const struct corpus_check *check = &checks->items[i];
		const struct corpus_recording *r = check->recording;

		buf_clear(&name);
		buf_printf(&name, "%s ", r->level_word);
		buf_add_span(&name, buf_span(&r->label));
		junit_case(&junit, &(struct junit_case){.class_name = r->id,
					   .name = buf_span(&name),
					   .took_ns = took_ns(r),
					   .outcome = check->ok ? JUNIT_PASSED : JUNIT_FAILURE,
					   .message = buf_span(&check->why),
					   .type = "not expected",
					   .text = span_str(r->path)});
	}
	suite_junit(&junit, "isotrace.corpus.verify", checks->recordings);
	junit_end(&junit);
	buf_release(&name);
}

/* ---- comparison ---- */

/* The releases of a side; several when the folder mixes them. */
static void add_releases(struct buf *out, const struct corpus_recordings *side)
{
	for (size_t i = 0; i < side->count; i++) {
		struct span label = buf_span(&side->items[i].label);
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = span_eq(label, buf_span(&side->items[k].label));
		if (seen)
			continue;
		if (i)
			buf_add_str(out, ", ");
		text_add(out, label, 100, TEXT_FOLD);
	}
}

static void add_difference(struct buf *out, const struct corpus_pair *pair)
{
	if (!pair->differs)
		return;
	buf_add_str(out, diff_class_name(pair->class_));
	if (pair->statement.ptr) {
		buf_add_str(out, " at ");
		buf_add_span(out, pair->statement);
	}
}

static const char *difference_why(const struct corpus_pair *pair)
{
	if (pair->change == CORPUS_NOT_RUN && pair->sides[0] && pair->sides[1] &&
		(!pair->sides[0]->e.complete || !pair->sides[1]->e.complete))
		return "recording incomplete";
	if (!pair->differs)
		return "";
	return pair->rule ? pair->rule : diff_cause_name(pair->cause);
}

static void add_counts(struct buf *out, const struct corpus_comparison *c)
{
	for (int i = 0; i < CORPUS_CHANGES; i++)
		buf_printf(out, "%s%zu %s", i ? ", " : "", c->by[i],
			corpus_change_name((enum corpus_change)i));
}

static void section_text(
	struct buf *out, const struct corpus_comparison *c, enum corpus_change change)
{
	struct buf cell = BUF_INIT;
	struct table table;

	if (!c->by[change])
		return;
	buf_printf(out, "\n%s\n", corpus_change_name(change));
	table_begin(&table, "llllll", "scenario|level|old|new|why|first difference");
	for (size_t i = 0; i < c->count; i++) {
		const struct corpus_pair *pair = &c->pairs[i];

		if (pair->change != change)
			continue;
		table_text(&table, pair->id);
		table_str(&table, pair->level_word);
		for (int side = 0; side < 2; side++) {
			add_answer(&cell, pair->sides[side]);
			table_buf(&table, &cell);
		}
		table_str(&table, difference_why(pair));
		add_difference(&cell, pair);
		table_buf(&table, &cell);
	}
	table_end(&table, out);
	buf_release(&cell);
}

void corpus_comparison_text(struct buf *out, const struct corpus_comparison *c, bool all)
{
	buf_add_str(out, "old: ");
	add_releases(out, c->sides[0]);
	buf_add_str(out, "\nnew: ");
	add_releases(out, c->sides[1]);
	buf_add_char(out, '\n');
	for (int i = 0; i < CORPUS_CHANGES; i++)
		if (all || i != CORPUS_UNCHANGED)
			section_text(out, c, (enum corpus_change)i);
	buf_add_char(out, '\n');
	add_counts(out, c);
	buf_add_char(out, '\n');
}

void corpus_comparison_json(struct json *json, const struct corpus_comparison *c)
{
	static const char *const keys[] = {"old", "new"};
	static const char *const counts[] = {"new", "fixed", "changed", "unchanged", "not_run"};
	struct buf text = BUF_INIT;

	json_begin_object(json);
	json_key(json, "schema");
	json_str(json, "isotrace.corpus/1");
	for (int side = 0; side < 2; side++) {
		json_key(json, keys[side]);
		buf_clear(&text);
		add_releases(&text, c->sides[side]);
		json_string(json, buf_span(&text));
	}
	json_key(json, "counts");
	json_begin_object(json);
	for (int i = 0; i < CORPUS_CHANGES; i++) {
		json_key(json, counts[i]);
		json_uint(json, c->by[i]);
	}
	json_end_object(json);
	json_key(json, "scenarios");
	json_begin_array(json);
	for (size_t i = 0; i < c->count; i++) {
		const struct corpus_pair *pair = &c->pairs[i];

		json_begin_object(json);
		json_key(json, "id");
		json_string(json, pair->id);
		json_key(json, "level");
		json_str(json, pair->level_word);
		json_key(json, "change");
		json_str(json, corpus_change_name(pair->change));
		for (int side = 0; side < 2; side++) {
			json_key(json, keys[side]);
			recording_json(json, pair->sides[side]);
		}
		json_key(json, "difference");
		if (pair->differs) {
			json_begin_object(json);
			json_key(json, "class");
			json_str(json, diff_class_name(pair->class_));
			json_key(json, "cause");
			json_str(json, diff_cause_name(pair->cause));
			json_key(json, "rule");
			if (pair->rule)
				json_str(json, pair->rule);
			else
				json_null(json);
			json_key(json, "statement");
			if (pair->statement.ptr)
				json_string(json, pair->statement);
			else
				json_null(json);
			json_end_object(json);
		} else {
			json_null(json);
		}
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
	buf_release(&text);
}

void corpus_comparison_junit(struct buf *out, const struct corpus_comparison *c)
{
	struct buf text = BUF_INIT, first = BUF_INIT;
	struct junit junit;

	junit_begin(&junit, out);
	for (int side = 0; side < 2; side++) {
		buf_clear(&text);
		add_releases(&text, c->sides[side]);
		junit_property(&junit, side ? "new" : "old", buf_span(&text));
	}
	for (size_t i = 0; i < c->count; i++) {
		const struct corpus_pair *pair = &c->pairs[i];
		struct junit_case one = {.class_name = pair->id,
			.name = span_str(pair->level_word),
			.took_ns = took_ns(pair->sides[1])};

		buf_clear(&text);
		buf_clear(&first);
		add_answer(&text, pair->sides[0]);
		buf_add_str(&text, " became ");
		add_answer(&text, pair->sides[1]);
		add_difference(&first, pair);
		switch (pair->change) {
		case CORPUS_NEW:
			one.outcome = JUNIT_FAILURE;
			one.message = buf_span(&text);
			one.type = corpus_change_name(CORPUS_NEW);
			buf_printf(&first, " (%s)", difference_why(pair));
			one.text = buf_span(&first);
			break;
		case CORPUS_NOT_RUN:
			one.outcome = JUNIT_SKIPPED;
			one.message = *difference_why(pair) ? span_str(difference_why(pair))
							    : SPAN_LIT("not run on both");
			break;
		case CORPUS_FIXED:
		case CORPUS_CHANGED:
			/* A case that passes has no room for words. */
			if (first.len)
				buf_printf(&text, ", %s (%s)", first.data, difference_why(pair));
			buf_clear(&first);
			buf_printf(&first, "%.*s %s: %s: ", SPAN_ARG(pair->id),
				pair->level_word, corpus_change_name(pair->change));
			buf_add_span(&first, buf_span(&text));
			junit_say(&junit, buf_span(&first));
			break;
		case CORPUS_UNCHANGED:
			break;
		}
		junit_case(&junit, &one);
	}
	suite_junit(&junit, "isotrace.corpus", c->sides[1]);
	junit_end(&junit);
	buf_release(&text);
	buf_release(&first);
}

/* ---- HTML ---- */

static void html_cell(struct buf *out, struct buf *text)
{
	buf_add_str(out, "<td>");
	text_add_xml(out, buf_span(text));
	buf_add_str(out, "</td>");
	buf_clear(text);
}

static const char *const html_classes[] = {"new", "fixed", "changed", "same", "missing"};

/* Where the two executions of a pair are side by side; ids may have blanks, anchors may not. */
static void html_anchor(struct buf *out, const struct corpus_pair *pair)
{
	for (size_t i = 0; i < pair->id.len; i++) {
		unsigned char c = (unsigned char)pair->id.ptr[i];

		if (isalnum(c) || c == '-' || c == '.')
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "_%02x", c);
	}
	buf_printf(out, "-%s", pair->level_word);
}

static void html_row(struct buf *out, const struct corpus_pair *pair)
{
	const struct corpus_recording *any = pair->sides[!pair->sides[0]];
	struct span link = scenario_meta(&any->scenario, "link");
	struct buf text = BUF_INIT;

	buf_add_str(out, "<tr><td class=\"id\">");
	if (link.len > 8 && span_eq_str(span_of(link.ptr, 8), "https://")) {
		buf_add_str(out, "<a href=\"");
		text_add_xml(out, link);
		buf_add_str(out, "\">");
		text_add_xml(out, pair->id);
		buf_add_str(out, "</a>");
	} else {
		text_add_xml(out, pair->id);
	}
	buf_add_str(out, "</td>");
	buf_add_span(&text, pair->title);
	html_cell(out, &text);
	buf_add_str(&text, pair->level_word);
	html_cell(out, &text);
	for (int side = 0; side < 2; side++) {
		add_answer(&text, pair->sides[side]);
		html_cell(out, &text);
	}
	buf_add_str(out, "<td>");
	add_difference(&text, pair);
	if (pair->differs) {
		buf_printf(&text, " (%s)", difference_why(pair));
		buf_add_str(out, "<a href=\"#");
		html_anchor(out, pair);
		buf_add_str(out, "\">");
	}
	text_add_xml(out, buf_span(&text));
	buf_printf(out, "%s</td></tr>\n", pair->differs ? "</a>" : "");
	buf_release(&text);
}

/* The pairs of one kind; those that did not change are folded away. */
static void html_section(
	struct buf *out, const struct corpus_comparison *c, enum corpus_change change)
{
	const char *name = corpus_change_name(change);
	bool folded = change == CORPUS_UNCHANGED;

	if (!c->by[change])
		return;
	buf_printf(out,
		folded ? "<details class=\"%s\"><summary>%zu %s</summary>\n"
		       : "<section class=\"%s\"><h2>%zu %s</h2>\n",
		html_classes[change], c->by[change], name);
	buf_add_str(out, "<div><table><tr><th>scenario</th><th>about</th><th>level</th>"
			 "<th>old</th><th>new</th><th>first difference</th></tr>\n");
	for (size_t i = 0; i < c->count; i++)
		if (c->pairs[i].change == change)
			html_row(out, &c->pairs[i]);
	buf_printf(out, "</table></div></%s>\n", folded ? "details" : "section");
}

/* The two executions side by side, folded away. */
static void html_detail(struct buf *out, const struct corpus_pair *pair)
{
	struct diff_side sides[2];
	struct differential d;
	struct buf text = BUF_INIT;
	const char *paths[2];
	struct err err;

	if (!pair->differs)
		return;
	for (int i = 0; i < 2; i++) {
		sides[i] = diff_side_of(&pair->sides[i]->e);
		paths[i] = pair->sides[i]->path;
	}
	if (!differential_compare(&d, sides, &err))
		return;
	buf_add_str(out, "<details><summary>");
	text_add_xml(out, pair->id);
	/* A browser that follows a link into the folded text unfolds it. */
	buf_printf(out, " at %s</summary><pre id=\"", pair->level_word);
	html_anchor(out, pair);
	buf_add_str(out, "\">");
	diff_text(&text, &d, paths, 120, true);
	text_add_xml_lines(out, buf_span(&text));
	buf_add_str(out, "</pre></details>\n");
	buf_release(&text);
	differential_release(&d);
}

void corpus_comparison_html(struct buf *out, const struct corpus_comparison *c)
{
	static const enum corpus_change order[] = {
		CORPUS_NEW, CORPUS_FIXED, CORPUS_CHANGED, CORPUS_NOT_RUN, CORPUS_UNCHANGED};

	buf_add_str(out,
		"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<meta name=\"viewport\" content=\"width=device-width\">"
		"<meta http-equiv=\"Content-Security-Policy\" "
		"content=\"default-src 'none'; style-src 'unsafe-inline'\">"
		"<title>isotrace corpus</title>\n<style>"
		":root{color-scheme:light dark;--line:#ddd;--mark:#888}"
		"body{font:15px/1.4 sans-serif;margin:2em auto;padding:0 1.5em;max-width:80em}"
		"section,details.same{margin:1.5em 0;border-left:.35em solid var(--mark);"
		"padding-left:1em}"
		".new{--mark:#c62828}.fixed{--mark:#2e7d32}.changed{--mark:#b7791f}"
		"h2{font-size:1.15em;margin:0 0 .4em}summary{cursor:pointer;padding:.15em 0}"
		"section>div,details>div{overflow-x:auto}"
		"table{border-collapse:collapse;width:100%;min-width:50em}"
		"td,th{padding:.25em .6em;text-align:left;border-bottom:1px solid var(--line);"
		"vertical-align:top}th{font-size:.85em;color:#767676}"
		"td.id,td:nth-child(n+3):nth-child(-n+5){white-space:nowrap}"
		"pre{overflow-x:auto;font-size:13px;padding:.6em .8em;"
		"border:1px solid var(--line)}"
		"@media (prefers-color-scheme:dark){:root{--line:#444}"
		"body{background:#111;color:#ddd}th{color:#aaa}a{color:#8bf}a:visited{color:#c9f}"
		".new{--mark:#ef5350}.fixed{--mark:#66bb6a}.changed{--mark:#e0a030}}"
		"</style></head><body>\n<h1>What changed</h1>\n<p>");
	for (int side = 0; side < 2; side++) {
		struct buf releases = BUF_INIT;

		add_releases(&releases, c->sides[side]);
		buf_add_str(out, side ? "new: " : "old: ");
		text_add_xml(out, buf_span(&releases));
		buf_add_str(out, "<br>");
		buf_release(&releases);
	}
	add_counts(out, c);
	buf_add_str(out, "</p>\n");
	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		html_section(out, c, order[k]);
	buf_add_str(out, "<h2>Side by side</h2>\n");
	for (size_t k = 0; k < ARRAY_LEN(order); k++)
		for (size_t i = 0; i < c->count; i++)
			if (c->pairs[i].change == order[k])
				html_detail(out, &c->pairs[i]);
	buf_add_str(out, "</body></html>\n");
}
