/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenarios in the shapes of other tools and of bug reports (docs/scenario-format.md,
 * "Importing").  What a shape cannot say is left open, nothing is invented: no expectations, no
 * final SELECT, and a level only where the file gives one.
 *
 * Case files (DT2; Troc and Fucci with a level before each transaction), blocks between empty
 * lines, one statement a line:
 *
 *	setup …
 *
 *	[LEVEL]             transaction 1
 *	BEGIN …
 *
 *	[LEVEL]             transaction 2 …
 *	BEGIN …
 *
 * (WriteCheck writes a transaction's number before it.  Logs of servers and of RQG: import_log.c.)
 *
 *	1-1-2-2-1-2         the session that sends its next statement
 *	END                 then a further case, or remarks
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scenario/scenario_internal.h"
#include "sql/text/raw_token.h"
#include "sql/text/split.h"

struct importer {
	struct span text;
	size_t at;
	const char *name;
	struct scenario *s; /* the one that is being read; in no list yet */
	struct scenario_list *out;
	struct place_cursor places;
	struct span tail; /* the mark after the statements of the line that ends at tail_end */
	size_t tail_end;
	struct err *err;
};

static bool fail(struct importer *in, size_t offset, const char *message)
{
	return err_set_at(in->err, ERR_FORMAT, offset, "%s", message);
}

static size_t offset_of(const struct importer *in, struct span s)
{
	return (size_t)(s.ptr - in->text.ptr);
}

static bool add(
	struct importer *in, struct scenario_section *section, uint32_t session, struct span sql)
{
	if (!scenario_add(in->s, section, session, sql, in->err))
		return shift_error(in->err, offset_of(in, sql));
	return true;
}

static bool add_placed(
	struct importer *in, struct scenario_section *section, uint32_t session, struct span sql)
{
	if (!add(in, section, session, sql))
		return false;
	section->stmts[section->count - 1].place = place_of(&in->places, offset_of(in, sql));
	return true;
}

/* Takes the scenario over into the list. */
static bool deliver(struct importer *in)
{
	struct scenario_list *out = in->out;

	if (!in->s->schedule.count)
		return fail(in, in->text.len, "no statement of a session was found");
	if (out->count == SCENARIO_IMPORT_MAX)
		return err_set_at(in->err, ERR_LIMIT, in->at, "more than %d scenarios in a file",
			SCENARIO_IMPORT_MAX);
	MEM_RESERVE(out->scenarios, out->count + 1, out->capacity);
	out->scenarios[out->count++] = *in->s;
	scenario_init(in->s);
	return true;
}

/* The line at in->at, without blanks at its ends; in->at moves to the next one. */
static bool next_line(struct importer *in, struct span *line)
{
	const char *newline;
	size_t end;

	if (in->at >= in->text.len)
		return false;
	newline = memchr(in->text.ptr + in->at, '\n', in->text.len - in->at);
	end = newline ? (size_t)(newline - in->text.ptr) : in->text.len;
	*line = span_trim(span_of(in->text.ptr + in->at, end - in->at));
	if (!line->len)
		line->ptr = in->text.ptr + in->at;
	in->at = end + 1;
	return true;
}

/* ---- case files ---- */

/* 1-1-2-2: nothing but numbers and '-', and at least one '-'; or a single number. */
static bool is_schedule(struct span line)
{
	bool digit = false;

	for (size_t i = 0; i < line.len; i++) {
		if (isdigit((unsigned char)line.ptr[i]))
			digit = true;
		else if (line.ptr[i] != '-' || !digit)
			return false;
	}
	return digit;
}

static bool is_end(struct span line)
{
	return span_eq_str(line, "END");
}

/* Whether a schedule is still to come: remarks after the last case have none. */
static bool more_cases(struct importer in)
{
	struct span line;

	while (next_line(&in, &line))
		if (is_schedule(line))
			return true;
	return false;
}

struct case_stmt {
	struct span sql;
	size_t next; /* index + 1 of the transaction's next one; 0: it was the last */
};

struct case_txn {
	size_t first, last; /* index + 1; 0: none */
	uint32_t session;
};

struct case_reader {
	struct case_stmt *stmts;
	size_t stmt_count, stmt_capacity;
	struct case_txn *txns;
	size_t txn_count, txn_capacity;
};

static struct span without_delimiter(struct span line)
{
	while (line.len && line.ptr[line.len - 1] == ';')
		line = span_trim(span_of(line.ptr, line.len - 1));
	return line;
}

static bool begin_txn(struct importer *in, struct case_reader *c)
{
	char name[32];
	struct case_txn txn = {0};

	snprintf(name, sizeof(name), "T%zu", c->txn_count + 1);
	if (!scenario_session(in->s, span_str(name), &txn.session, in->err))
		return shift_error(in->err, in->at);
	MEM_RESERVE(c->txns, c->txn_count + 1, c->txn_capacity);
	c->txns[c->txn_count++] = txn;
	return true;
}

static void add_to_txn(struct case_reader *c, struct span sql)
{
	struct case_txn *txn = &c->txns[c->txn_count - 1];

	MEM_RESERVE(c->stmts, c->stmt_count + 1, c->stmt_capacity);
	c->stmts[c->stmt_count++] = (struct case_stmt){sql, 0};
	if (txn->last)
		c->stmts[txn->last - 1].next = c->stmt_count;
	else
		txn->first = c->stmt_count;
	txn->last = c->stmt_count;
}

/* The number of the transaction that comes next, alone on its line; a schedule names only those that
 * have come. */
static bool is_next_number(struct span line, const struct case_reader *c)
{
	char number[32];

	snprintf(number, sizeof(number), "%zu", c->txn_count + 1);
	return span_eq_str(line, number);
}

/* The setup and the transactions, up to the schedule's line, which is returned. */
static bool read_blocks(struct importer *in, struct case_reader *c, struct span *schedule)
{
	bool in_setup = true, fresh = true, numbered = false;
	struct span line;

	while (next_line(in, &line)) {
		enum txn_level level = scenario_level_word(line);

		if (!line.len) {
			/* Empty lines before the setup do not end it. */
			in_setup = in_setup && !in->s->setup.count;
			fresh = true;
			numbered = false;
			continue;
		}
		if (fresh && !in_setup && !numbered && is_next_number(line, c)) {
			numbered = true;
			continue;
		}
		if (is_schedule(line)) {
			*schedule = line;
			return true;
		}
		if (is_end(line))
			return fail(in, offset_of(in, line),
				"the case has no schedule such as 1-1-2-2 before its END");
		if (in_setup) {
			if (!add_placed(
				    in, &in->s->setup, SCENARIO_NO_SESSION, without_delimiter(line)))
				return false;
			continue;
		}
		if (fresh && !begin_txn(in, c))
			return false;
		if (fresh && level)
			in->s->sessions[c->txns[c->txn_count - 1].session].level = level;
		else
			add_to_txn(c, without_delimiter(line));
		fresh = false;
	}
	return fail(in, in->text.len, "the case has no schedule such as 1-1-2-2");
}

static bool apply_schedule(struct importer *in, struct case_reader *c, struct span schedule)
{
	size_t at = 0;

	while (at < schedule.len) {
		size_t start = at, number = 0;
		struct case_txn *txn;
		struct case_stmt *stmt;

		while (at < schedule.len && isdigit((unsigned char)schedule.ptr[at])) {
			if (number < SCENARIO_STMT_MAX)
				number = number * 10 + (size_t)(schedule.ptr[at] - '0');
			at++;
		}
		if (at == start)
			return fail(in, offset_of(in, schedule) + at,
				"a transaction's number must stand here");
		if (!number || number > c->txn_count)
			return err_set_at(in->err, ERR_FORMAT, offset_of(in, schedule) + start,
				"the case has %zu transactions, and none of this number",
				c->txn_count);
		txn = &c->txns[number - 1];
		if (!txn->first)
			return err_set_at(in->err, ERR_FORMAT, offset_of(in, schedule) + start,
				"transaction %zu has no statement left", number);
		stmt = &c->stmts[txn->first - 1];
		if (!add(in, &in->s->schedule, txn->session, stmt->sql))
			return false;
		txn->first = stmt->next;
		if (at < schedule.len && ++at == schedule.len)
			return fail(in, offset_of(in, schedule) + at - 1,
				"a transaction's number must follow");
	}
	for (size_t i = 0; i < c->txn_count; i++)
		if (c->txns[i].first)
			return err_set_at(in->err, ERR_FORMAT, offset_of(in, schedule),
				"the schedule leaves out statements of transaction %zu, from "
				"\"%.40s\" on",
				i + 1,
				arena_copy(&in->s->arena, c->stmts[c->txns[i].first - 1].sql).ptr);
	return true;
}

/* The order of the schedule is not that of the text, so places are found in a second pass. */
static void place_schedule(struct importer *in, const struct case_reader *c)
{
	size_t *turn = mem_zero(c->txn_count + 1, sizeof(*turn));
	struct scenario_place *places = mem_zero(c->stmt_count + 1, sizeof(*places));
	size_t *first = mem_zero(c->txn_count + 1, sizeof(*first));
	size_t stmt = 0;

	for (size_t i = 0; i < c->stmt_count; i++)
		places[i] = place_of(&in->places, offset_of(in, c->stmts[i].sql));
	/* The statements of a transaction stand together in c->stmts. */
	for (size_t i = 0; i < c->txn_count; i++) {
		first[i] = stmt;
		stmt = c->txns[i].last ? c->txns[i].last : stmt;
	}
	for (size_t i = 0; i < in->s->schedule.count; i++) {
		uint32_t session = in->s->schedule.stmts[i].session;

		in->s->schedule.stmts[i].place = places[first[session] + turn[session]++];
	}
	mem_free(turn);
	mem_free(places);
	mem_free(first);
}

/* What stands after the last case becomes `# note:` lines. */
static bool read_remarks(struct importer *in)
{
	struct span line;

	while (next_line(in, &line)) {
		if (line.len && !is_end(line) &&
			!scenario_add_meta(in->s, SPAN_LIT("note"), line, in->err))
			return shift_error(in->err, offset_of(in, line));
	}
	return true;
}

static bool import_case(struct importer *in)
{
	do {
		struct case_reader c = {0};
		struct span schedule = SPAN_NONE, line;
		size_t back;
		bool ok = read_blocks(in, &c, &schedule) && apply_schedule(in, &c, schedule);

		if (ok)
			place_schedule(in, &c);
		mem_free(c.stmts);
		mem_free(c.txns);
		if (!ok)
			return false;
		back = in->at;
		if (next_line(in, &line) && !is_end(line))
			in->at = back;
		if (!more_cases(*in) && !read_remarks(in))
			return false;
		if (!deliver(in))
			return false;
	} while (in->at < in->text.len);
	return true;
}

/* ---- prompts ---- */

/* Whether a line begins with the prompt of a session.  Only names that end in a digit: a line of
 * SQL may begin with `a> 3`. */
static size_t numbered_prompt(struct span line, struct span *name)
{
	size_t len = prompt_prefix(line, name);

	return len && isdigit((unsigned char)name->ptr[name->len - 1]) ? len : 0;
}

/* All statements of a piece of text; the last one needs no delimiter. */
static bool add_statements(
	struct importer *in, struct scenario_section *section, uint32_t session, struct span piece)
{
	size_t at = 0;

	while (at < piece.len) {
		struct split split = split_statement(piece, at, SPAN_LIT(";"));
		struct span sql = span_of(piece.ptr + at, split.end - at);

		if (split.state == SPLIT_OPEN_QUOTE)
			return fail(
				in, offset_of(in, piece) + split.end, "this quote is not closed");
		if (split.state == SPLIT_OPEN_COMMENT)
			return fail(
				in, offset_of(in, piece) + split.end, "this comment is not closed");
		/* Nothing but blanks and comments is no statement. */
		if (split.code_end > at && !add_placed(in, section, session, sql))
			return false;
		at = split.end + 1;
	}
	return true;
}

static bool import_prompt(struct importer *in)
{
	struct scenario_section *section = &in->s->setup;
	uint32_t session = SCENARIO_NO_SESSION;
	size_t start = in->at;

	for (;;) {
		struct span line = SPAN_NONE, name;
		size_t here = in->at, prompt;
		bool more = next_line(in, &line);

		prompt = more ? numbered_prompt(line, &name) : 0;
		if (more && !prompt)
			continue;
		if (!more)
			here = in->text.len;
		if (here > start && !add_statements(in, section, session,
					    span_of(in->text.ptr + start, here - start)))
			return false;
		if (!more)
			return deliver(in);
		section = &in->s->schedule;
		if (!scenario_session(in->s, name, &session, in->err))
			return shift_error(in->err, offset_of(in, line));
		start = offset_of(in, line) + prompt;
	}
}

/* ---- marked SQL ---- */

/* The session that a mark names: T1, tx2, "conn 3", "Session 1:" …; empty when it is no mark.
 * *behind is what follows the name. */
static struct span mark_name(struct span s, struct arena *arena, struct span *behind)
{
	size_t letters = 0, digits, at;
	char *name;

	*behind = SPAN_NONE;
	s = span_trim(s);
	while (letters < s.len && (isalpha((unsigned char)s.ptr[letters]) || s.ptr[letters] == '_'))
		letters++;
	at = letters;
	if (letters && at < s.len && s.ptr[at] == ' ')
		at++;
	for (digits = at; digits < s.len && isdigit((unsigned char)s.ptr[digits]); digits++)
		;
	if (!letters || letters > 16 || digits == at || digits - at > 6)
		return SPAN_NONE;
	if (digits < s.len && (isalnum((unsigned char)s.ptr[digits]) || s.ptr[digits] == '_'))
		return SPAN_NONE;
	*behind = span_of(s.ptr + digits, s.len - digits);
	name = arena_alloc(arena, letters + digits - at + 1);
	memcpy(name, s.ptr, letters);
	memcpy(name + letters, s.ptr + at, digits - at);
	return span_of(name, letters + digits - at);
}

/* A slash-star mark before the statement: the whole comment is the name.  *sql moves past it. */
static struct span lead_mark(struct span *sql, struct arena *arena)
{
	struct span own = span_trim(*sql), name, behind;
	size_t len;
	bool open;

	/* Line comments may stand before it. */
	while (own.len && own.ptr[0] != '/' && (len = raw_comment(own, 0, &open)) > 0)
		own = span_trim(span_of(own.ptr + len, own.len - len));
	if (own.len < 4 || own.ptr[0] != '/' || own.ptr[1] != '*')
		return SPAN_NONE;
	len = raw_comment(own, 0, &open);
	if (open || len < 4)
		return SPAN_NONE;
	name = mark_name(span_of(own.ptr + 2, len - 4), arena, &behind);
	behind = span_trim(behind.ptr ? behind : SPAN_LIT(""));
	if (!name.len || (behind.len && !span_eq_str(behind, ":") && !span_eq_str(behind, ">")))
		return SPAN_NONE;
	*sql = span_of(own.ptr + len, own.len - len);
	return name;
}

/* After the quote that opens at `at`, or `end` when it is not closed before that. */
static size_t skip_quote(struct span text, size_t at, size_t end)
{
	char quote = text.ptr[at++];

	for (; at < end && text.ptr[at] != quote; at++)
		if (text.ptr[at] == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/* A mark after the statements of a line: `-- T1`, `-- T1, BLOCKS`, `# T1`. */
static struct span tail_mark(struct importer *in, size_t at)
{
	const char *newline;
	size_t end;
	bool open;

	/* The statements of a line share its mark, and it is looked for once. */
	if (at <= in->tail_end && in->tail_end)
		return in->tail;
	newline = at < in->text.len ? memchr(in->text.ptr + at, '\n', in->text.len - at) : NULL;
	end = newline ? (size_t)(newline - in->text.ptr) : in->text.len;
	in->tail_end = end;
	in->tail = SPAN_NONE;
	while (at < end) {
		struct span rest = span_of(in->text.ptr + at, end - at), behind;
		size_t comment = raw_comment(rest, 0, &open);

		if (comment && rest.ptr[0] != '/') {
			size_t skip = rest.ptr[0] == '-' ? 2 : 1;

			in->tail = mark_name(
				span_of(rest.ptr + skip, rest.len - skip), &in->s->arena, &behind);
			break;
		}
		if (strchr("'\"`", rest.ptr[0]))
			at = skip_quote(in->text, at, end);
		else
			at += comment ? comment : 1;
	}
	return in->tail;
}

/* The section and the session of a statement by its mark, or by where it stands without one. */
static bool place_marked(struct importer *in, struct span mark, struct span sql)
{
	uint32_t session;

	if (mark.len) {
		if (in->s->final.count)
			return fail(in, offset_of(in, span_trim(sql)),
				"a session's statement after one without a mark: name the session that sends that one");
		if (!scenario_session(in->s, mark, &session, in->err))
			return shift_error(in->err, offset_of(in, sql));
		return add_placed(in, &in->s->schedule, session, sql);
	}
	return add_placed(
		in, in->s->schedule.count ? &in->s->final : &in->s->setup, SCENARIO_NO_SESSION, sql);
}

static bool import_marked(struct importer *in)
{
	while (in->at < in->text.len) {
		struct split split = split_statement(in->text, in->at, SPAN_LIT(";"));
		struct span sql = span_of(in->text.ptr + in->at, split.end - in->at), mark;

		if (split.state == SPLIT_OPEN_QUOTE)
			return fail(in, split.end, "this quote is not closed");
		if (split.state == SPLIT_OPEN_COMMENT)
			return fail(in, split.end, "this comment is not closed");
		if (split.code_end > in->at) {
			mark = lead_mark(&sql, &in->s->arena);
			if (!mark.len && split.state == SPLIT_FOUND)
				mark = tail_mark(in, split.end + 1);
			if (!place_marked(in, mark, sql))
				return false;
		}
		in->at = split.end + 1;
	}
	return deliver(in);
}

/* ---- all shapes ---- */

enum scenario_shape scenario_guess(struct span text)
{
	struct importer in = {.text = text};
	bool prompt = false, schedule = false;
	struct span line, name;

	while (next_line(&in, &line)) {
		if (line.len && line.ptr[0] == '[' &&
			(span_ieq_str(
				 span_of(line.ptr, line.len < 10 ? line.len : 10), "[schedule]") ||
				span_ieq_str(
					span_of(line.ptr, line.len < 7 ? line.len : 7), "[setup]")))
			return SCENARIO_SHAPE_SCN;
		prompt = prompt || numbered_prompt(line, &name);
		schedule = schedule || is_schedule(line);
	}
	if (prompt)
		return SCENARIO_SHAPE_PROMPT;
	if (scenario_log_shape(text) != SCENARIO_SHAPE_SCN)
		return scenario_log_shape(text);
	return schedule ? SCENARIO_SHAPE_CASE : SCENARIO_SHAPE_MARKED;
}

static bool import_scn(struct importer *in)
{
	/* Its messages have their place already. */
	if (!scenario_parse(in->s, in->text, in->name, in->err)) {
		in->name = NULL;
		return false;
	}
	return deliver(in);
}

bool scenario_import(struct scenario_list *out, enum scenario_shape shape, struct span text,
	const char *name, struct err *err)
{
	struct scenario scenario;
	struct err local;
	struct importer in = {.text = text,
		.name = name,
		.s = &scenario,
		.out = out,
		.places = PLACE_CURSOR(text),
		.err = err ? err : &local};
	bool ok;

	err_clear(in.err);
	*out = (struct scenario_list){0};
	scenario_init(&scenario);
	ok = text_is_sane(text, in.err);
	if (ok && text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
		in.at = 3;
	if (ok) {
		switch (shape) {
		case SCENARIO_SHAPE_SCN:
			ok = import_scn(&in);
			break;
		case SCENARIO_SHAPE_CASE:
			ok = import_case(&in);
			break;
		case SCENARIO_SHAPE_PROMPT:
			ok = import_prompt(&in);
			break;
		case SCENARIO_SHAPE_MARKED:
			ok = import_marked(&in);
			break;
		case SCENARIO_SHAPE_GENERAL_LOG:
		case SCENARIO_SHAPE_RQG:
			ok = scenario_import_log(in.s, text, shape == SCENARIO_SHAPE_RQG, in.err) && deliver(&in);
			break;
		}
	}
	scenario_release(&scenario);
	if (!ok) {
		scenario_list_release(out);
		return in.name ? place_error(in.err, text, in.name) : false;
	}
	return true;
}
