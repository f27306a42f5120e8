/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the scenario language (docs/scenario-format.md).
 *
 * One pass: header lines up to the first section, then statements.  Metadata is collected and
 * added at the end, when all sessions that an `isolation` may name are known.
 */
#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scenario/scenario_internal.h"
#include "sql/text/raw_token.h"
#include "sql/text/split.h"

struct header_line {
	struct span key, value; /* of the text */
};

struct parser {
	struct span text;
	size_t start, at; /* start: after a byte order mark */
	struct scenario *s;
	struct err *err;
	struct scenario_section *section;
	struct span delimiter;
	struct header_line *header;
	size_t header_count, header_capacity;
	struct expect_builder expect;
	struct place_cursor places;
	size_t line_from, line_end; /* no newline is in [line_from, line_end) */
	bool seen_setup, seen_schedule, seen_final;
};

static bool fail(struct parser *p, size_t offset, const char *message)
{
	return err_set_at(p->err, ERR_FORMAT, offset, "%s", message);
}

/* Asked again and again within a line, which may be as long as the file: so it is remembered. */
static size_t line_end(struct parser *p, size_t at)
{
	const char *newline;

	if (at >= p->line_from && at <= p->line_end && p->line_end)
		return p->line_end;
	newline = at < p->text.len ? memchr(p->text.ptr + at, '\n', p->text.len - at) : NULL;
	p->line_from = at;
	p->line_end = newline ? (size_t)(newline - p->text.ptr) : p->text.len;
	return p->line_end;
}

static struct span rest_of_line(struct parser *p, size_t at)
{
	return span_of(p->text.ptr + at, line_end(p, at) - at);
}

static bool at_line_start(const struct parser *p)
{
	for (size_t i = p->at; i > p->start; i--) {
		char c = p->text.ptr[i - 1];

		if (c == '\n')
			return true;
		if (!char_is_blank(c))
			return false;
	}
	return true;
}

/* ---- the header ---- */

/* `# key: value`; any other line that begins with # is a comment. */
static bool read_header_line(struct parser *p, struct span line)
{
	struct span key, rest = line;

	rest.ptr++;
	rest.len--;
	while (rest.len && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t')) {
		rest.ptr++;
		rest.len--;
	}
	key = name_prefix(rest);
	if (!key.len || key.len >= rest.len || rest.ptr[key.len] != ':')
		return true;
	if (key.len + 1 < rest.len && !char_is_blank(rest.ptr[key.len + 1]))
		return true; /* https://… */
	if (p->header_count > SCENARIO_META_MAX)
		return fail(p, (size_t)(line.ptr - p->text.ptr), "too many lines of metadata");
	MEM_RESERVE(p->header, p->header_count + 1, p->header_capacity);
	p->header[p->header_count++] =
		(struct header_line){key, span_of(rest.ptr + key.len + 1, rest.len - key.len - 1)};
	return true;
}

static bool read_header(struct parser *p)
{
	while (p->at < p->text.len) {
		struct span line = span_trim(rest_of_line(p, p->at));
		bool open;

		if (line.len && line.ptr[0] == '[') {
			p->at = (size_t)(line.ptr - p->text.ptr);
			return true;
		}
		if (line.len && line.ptr[0] == '#') {
			if (!read_header_line(p, line))
				return false;
		} else if (line.len && (line.ptr[0] == '/' || !raw_comment(line, 0, &open))) {
			return fail(p, (size_t)(line.ptr - p->text.ptr),
				"a line `# key: value` or a section such as [setup] must stand "
				"here");
		}
		p->at = line_end(p, p->at) + 1;
	}
	return fail(
		p, p->text.len, "there is no [schedule]; a file of another shape must be imported");
}

static bool add_header(struct parser *p)
{
	struct place_cursor places = PLACE_CURSOR(p->text);

	for (size_t i = 0; i < p->header_count; i++) {
		const struct header_line *line = &p->header[i];
		size_t key_at = (size_t)(line->key.ptr - p->text.ptr);
		size_t verdicts = p->s->verdict_count;
		struct scenario_place place;

		if (!scenario_add_meta(p->s, line->key, line->value, p->err))
			/* Offset 0 is the key's trouble or the start of the value: the key. */
			return shift_error(p->err, p->err && p->err->offset
							   ? (size_t)(line->value.ptr - p->text.ptr)
							   : key_at);
		place = place_of(&places, key_at);
		p->s->meta[p->s->meta_count - 1].place = place;
		if (p->s->verdict_count > verdicts)
			p->s->verdicts[verdicts].place = place;
	}
	return true;
}

/* ---- sections ---- */

/* What is expected of the last statement is complete. */
static void finish_statement(struct parser *p)
{
	if (p->section && p->section->count)
		p->section->stmts[p->section->count - 1].expect =
			expect_builder_finish(&p->expect, &p->s->arena);
}

static bool read_section(struct parser *p)
{
	struct span line = span_trim(rest_of_line(p, p->at));
	const char *close = memchr(line.ptr, ']', line.len);
	struct span name, behind;
	bool *seen, open;

	if (!close)
		return fail(p, p->at, "']' is missing");
	name = span_trim(span_of(line.ptr + 1, (size_t)(close - line.ptr) - 1));
	behind = span_trim(span_of(close + 1, line.len - (size_t)(close + 1 - line.ptr)));
	if (behind.len && (behind.ptr[0] == '/' || !raw_comment(behind, 0, &open)))
		return fail(p, (size_t)(behind.ptr - p->text.ptr),
			"nothing may follow a section's name");
	finish_statement(p);
	if (span_ieq_str(name, "setup")) {
		p->section = &p->s->setup;
		seen = &p->seen_setup;
	} else if (span_ieq_str(name, "schedule")) {
		p->section = &p->s->schedule;
		seen = &p->seen_schedule;
	} else if (span_ieq_str(name, "final")) {
		p->section = &p->s->final;
		seen = &p->seen_final;
	} else {
		return fail(p, p->at, "no section is called so: [setup], [schedule], [final]");
	}
	if (*seen)
		return fail(p, p->at, "the file has this section already");
	*seen = true;
	p->at = line_end(p, p->at);
	return true;
}

static bool read_delimiter(struct parser *p, size_t word_len)
{
	struct span value = span_trim(rest_of_line(p, p->at + word_len));
	size_t at = (size_t)(value.ptr - p->text.ptr);

	if (!value.len)
		return fail(p, p->at, "a delimiter must follow");
	if (value.len > SCENARIO_NAME_MAX)
		return fail(p, at, "the delimiter is too long");
	for (size_t i = 0; i < value.len; i++)
		if (char_is_blank(value.ptr[i]) || strchr("'\"`\\#[", value.ptr[i]))
			return fail(p, at + i, "this character cannot be in a delimiter");
	if (memmem(value.ptr, value.len, "--", 2) || memmem(value.ptr, value.len, "/*", 2))
		return fail(p, at, "the delimiter looks like a comment");
	p->delimiter = value;
	p->at = line_end(p, p->at);
	return true;
}

/* `-- =>`, and what stands after it to the end of the line. */
static bool is_expectation(struct span line, size_t *behind)
{
	size_t at = 2;

	if (line.len < 5 || memcmp(line.ptr, "--", 2) != 0)
		return false;
	while (at < line.len && (line.ptr[at] == ' ' || line.ptr[at] == '\t'))
		at++;
	if (at == 2 || line.len - at < 2 || memcmp(line.ptr + at, "=>", 2) != 0)
		return false;
	*behind = at + 2;
	return true;
}

static bool read_expectation(struct parser *p, size_t behind)
{
	struct span text = rest_of_line(p, p->at + behind);

	if (!p->section->count)
		return fail(p, p->at, "an expectation without a statement before it");
	if (p->section == &p->s->setup)
		return fail(p, p->at, "statements of the setup have no expectations");
	if (!expect_builder_line(&p->expect, &p->s->arena, text, p->err))
		return shift_error(p->err, p->at + behind);
	p->at = line_end(p, p->at);
	return true;
}

/* A slash-star comment may be a hint, executable, or a part of the statement that follows.  One that
 * stands after a statement, or in the schedule, and has nothing after it in its line is neither. */
static bool is_remark(struct parser *p, size_t comment)
{
	struct span text = span_of(p->text.ptr + p->at, comment);
	struct span behind = span_trim(rest_of_line(p, p->at + comment));
	bool open;

	if (text.len > 2 && (text.ptr[2] == '!' || text.ptr[2] == '+' || text.ptr[2] == 'M'))
		return false;
	return (p->section == &p->s->schedule || !at_line_start(p)) &&
	       (!behind.len || (behind.ptr[0] != '/' && raw_comment(behind, 0, &open)));
}

/* Past blanks, comments and expectations.  False when an expectation is wrong. */
static bool skip_to_statement(struct parser *p)
{
	while (p->at < p->text.len) {
		struct span line;
		size_t behind, comment;
		bool open;

		if (char_is_blank(p->text.ptr[p->at])) {
			p->at++;
			continue;
		}
		line = rest_of_line(p, p->at);
		if (is_expectation(line, &behind)) {
			if (!read_expectation(p, behind))
				return false;
			continue;
		}
		comment = raw_comment(p->text, p->at, &open);
		if (!comment || (line.ptr[0] == '/' && !is_remark(p, comment)))
			return true;
		p->at += comment;
	}
	return true;
}

/* ---- statements ---- */

/* A statement without an end reaches to the end of the file; say where the next one seems to
 * begin, which is where the ';' is missing. */
static bool no_end(struct parser *p, size_t start)
{
	for (size_t at = line_end(p, start) + 1; at < p->text.len; at = line_end(p, at) + 1) {
		struct span line = span_trim(rest_of_line(p, at)), name;
		struct place_cursor cursor = PLACE_CURSOR(p->text);

		if (prompt_prefix(line, &name) || (line.len && line.ptr[0] == '['))
			return err_set_at(p->err, ERR_FORMAT, start,
				"this statement has no '%.*s' at its end; line %u seems to begin "
				"something else",
				SPAN_ARG(p->delimiter), place_of(&cursor, at).line);
	}
	return err_set_at(p->err, ERR_FORMAT, start, "this statement has no '%.*s' at its end",
		SPAN_ARG(p->delimiter));
}

static bool read_session(struct parser *p, uint32_t *session)
{
	struct span rest = rest_of_line(p, p->at), name;
	size_t len = prompt_prefix(rest, &name);

	if (!len)
		return fail(p, p->at,
			"a schedule line begins with the session that sends it: `T1> SQL;`");
	if (!scenario_session(p->s, name, session, p->err))
		return shift_error(p->err, p->at);
	p->at += len;
	return true;
}

/* One statement; the session is the one before it unless a new line names another. */
static bool read_statement(struct parser *p, uint32_t *session)
{
	struct split split;
	size_t start;

	if (p->section == &p->s->schedule && (at_line_start(p) || *session == SCENARIO_NO_SESSION) &&
		!read_session(p, session))
		return false;
	start = p->at;
	split = split_statement(p->text, start, p->delimiter);
	switch (split.state) {
	case SPLIT_FOUND:
		if (p->section == &p->s->schedule && holds_prompt(span_of(p->text.ptr + start, split.end - start)))
			return no_end(p, start);
		break;
	case SPLIT_END:
		return no_end(p, start);
	case SPLIT_OPEN_QUOTE:
		return fail(p, split.end, "this quote is not closed");
	case SPLIT_OPEN_COMMENT:
		return fail(p, split.end, "this comment is not closed");
	}
	finish_statement(p);
	if (!scenario_add(p->s, p->section,
		    p->section == &p->s->schedule ? *session : SCENARIO_NO_SESSION,
		    span_of(p->text.ptr + start, split.end - start), p->err))
		return shift_error(p->err, start);
	p->section->stmts[p->section->count - 1].place = place_of(&p->places, start);
	p->at = split.end + p->delimiter.len;
	return true;
}

static bool read_body(struct parser *p)
{
	static const char directive[] = "delimiter";
	size_t directive_len = sizeof(directive) - 1;
	uint32_t session = SCENARIO_NO_SESSION;

	for (;;) {
		struct span rest;

		if (!skip_to_statement(p))
			return false;
		if (p->at >= p->text.len)
			break;
		rest = rest_of_line(p, p->at);
		if (at_line_start(p) && rest.ptr[0] == '[') {
			if (!read_section(p))
				return false;
		} else if (at_line_start(p) && rest.len > directive_len &&
			   span_ieq_str(span_of(rest.ptr, directive_len), directive) &&
			   char_is_blank(rest.ptr[directive_len])) {
			if (!read_delimiter(p, directive_len))
				return false;
		} else if (!read_statement(p, &session)) {
			return false;
		}
	}
	finish_statement(p);
	if (!p->s->schedule.count)
		return fail(p, p->text.len, "the [schedule] is missing or empty");
	return true;
}

bool scenario_parse(struct scenario *out, struct span text, const char *name, struct err *err)
{
	struct err local;
	struct parser p = {.text = text,
		.s = out,
		.err = err ? err : &local,
		.delimiter = SPAN_LIT(";"),
		.places = PLACE_CURSOR(text)};
	bool ok;

	err_clear(p.err);
	scenario_init(out);
	if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
		p.start = p.at = 3; /* the byte order mark of editors that add one */
	ok = text_is_sane(text, p.err) && read_header(&p) && read_body(&p) && add_header(&p);
	mem_free(p.header);
	expect_builder_release(&p.expect);
	if (!ok) {
		scenario_release(out);
		return place_error(p.err, text, name);
	}
	return true;
}
