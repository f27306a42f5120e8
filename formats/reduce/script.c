/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reduce/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "sql/token.h"

/* ---- reading ---- */

static void take_section(struct script *script, const struct scenario_section *section)
{
	for (size_t i = 0; i < section->count; i++) {
		struct script_stmt *stmt = &script->stmts[script->count++];
		struct err err;

		*stmt = (struct script_stmt){.text = section->stmts[i].sql, .session = section->stmts[i].session};
		if (!sql_parse(&script->arena, stmt->text, &script->sql, &stmt->tree, &err))
			stmt->tree = NULL;
	}
}

void script_open(struct script *out, const struct scenario *s, const struct sql_options *sql)
{
	*out = (struct script){.arena = ARENA_INIT, .sql = *sql, .scenario = s, .level = s->level,
		.rounds = scenario_rounds(s)};
	out->stmts = arena_zero(
		&out->arena, (s->setup.count + s->schedule.count + s->final.count + 1) * sizeof(*out->stmts));
	out->session_names = arena_zero(&out->arena, (s->session_count + 1) * sizeof(*out->session_names));
	out->session_levels = arena_zero(&out->arena, (s->session_count + 1) * sizeof(*out->session_levels));
	for (size_t i = 0; i < s->session_count; i++) {
		out->session_names[i] = s->sessions[i].name;
		out->session_levels[i] = s->sessions[i].level;
	}
	out->settings = arena_zero(&out->arena, (s->meta_count + 1) * sizeof(*out->settings));
	for (size_t i = 0; i < s->meta_count; i++)
		if (span_eq_str(s->meta[i].key, "server"))
			out->settings[out->setting_count++] = s->meta[i].value;
	take_section(out, &s->setup);
	out->setup_count = out->count;
	take_section(out, &s->schedule);
	out->schedule_count = out->count - out->setup_count;
	take_section(out, &s->final);
}

void script_release(struct script *script)
{
	arena_release(&script->arena);
}

/* ---- printing ---- */

/* A name that needs no quotes. */
static bool is_plain(struct span name, const struct sql_options *sql)
{
	const struct keyword_info *keyword;

	if (!name.len || char_is_digit(name.ptr[0]))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!char_is_name(name.ptr[i]))
			return false;
	keyword = keyword_find(name.ptr, name.len);
	return !keyword || !keyword_reserved(keyword, sql);
}

/* After the quoted piece that begins at `at`. */
static size_t quoted_end(struct span text, size_t at)
{
	char quote = text.ptr[at++];

	while (at < text.len) {
		if (text.ptr[at] == '\\' && quote != '`')
			at++;
		else if (text.ptr[at] == quote && at + 1 < text.len && text.ptr[at + 1] == quote)
			at++;
		else if (text.ptr[at] == quote)
			return at + 1;
		at++;
	}
	return text.len;
}

/* The word or the character at `at`; words in capitals are the printer's keywords.  Returns what follows it. */
static size_t add_word(struct span text, size_t at, struct buf *out)
{
	size_t end = at;
	bool capitals = true;

	for (; end < text.len && char_is_name(text.ptr[end]); end++)
		capitals = capitals && !(text.ptr[end] >= 'a' && text.ptr[end] <= 'z');
	if (end == at)
		end++;
	for (; at < end; at++)
		buf_add_char(out, capitals && text.ptr[at] >= 'A' && text.ptr[at] <= 'Z' ? (char)(text.ptr[at] + 32)
											: text.ptr[at]);
	return end;
}

static void soften(struct span text, const struct sql_options *sql, struct buf *out)
{
	for (size_t at = 0; at < text.len;) {
		char c = text.ptr[at];
		size_t end;

		if (c != '`' && c != '\'' && c != '"') {
			at = add_word(text, at, out);
			continue;
		}
		end = quoted_end(text, at);
		if (c == '`' && end - at > 2 && is_plain(span_of(text.ptr + at + 1, end - at - 2), sql))
			buf_add(out, text.ptr + at + 1, end - at - 2);
		else
			buf_add(out, text.ptr + at, end - at);
		at = end;
	}
}

void script_print(const struct sql_stmt *tree, const struct sql_options *sql, struct buf *out)
{
	struct buf plain = BUF_INIT, soft = BUF_INIT, first = BUF_INIT, second = BUF_INIT;
	struct arena arena = ARENA_INIT;
	struct sql_stmt *again;
	struct err err;

	sql_print(tree, sql, &plain);
	soften(buf_span(&plain), sql, &soft);
	/* What it says must not change: of a text that is kept as it was written, letters may matter. */
	sql_print_explicit(tree, sql, &first);
	if (sql_parse(&arena, buf_span(&soft), sql, &again, &err))
		sql_print_explicit(again, sql, &second);
	if (first.len == second.len && memcmp(first.data, second.data, first.len) == 0)
		buf_add_span(out, buf_span(&soft));
	else
		buf_add_span(out, buf_span(&plain));
	arena_release(&arena);
	buf_release(&plain);
	buf_release(&soft);
	buf_release(&first);
	buf_release(&second);
}

static bool add_stmt(const struct script *script, const struct script_stmt *stmt, struct scenario_section *section,
	struct scenario *out, struct err *err)
{
	uint32_t session = SCENARIO_NO_SESSION;
	struct buf text = BUF_INIT;
	bool ok;

	if (stmt->changed)
		script_print(stmt->tree, &script->sql, &text);
	else
		buf_add_span(&text, stmt->text);
	ok = stmt->session == SCENARIO_NO_SESSION ||
	     scenario_session(out, script->session_names[stmt->session], &session, err);
	if (ok && session != SCENARIO_NO_SESSION) {
		out->sessions[session].level = script->session_levels[stmt->session];
		out->sessions[session].node = script->scenario->sessions[stmt->session].node;
	}
	ok = ok && scenario_add(out, section, session, buf_span(&text), err);
	buf_release(&text);
	return ok;
}

/* The number in its session that a statement has once others are dropped; 0: it is dropped, or there is none. */
static uint32_t new_ordinal(const struct script *script, uint32_t session, unsigned long ordinal)
{
	uint32_t left = 0;

	for (size_t i = script->setup_count; i < script->setup_count + script->schedule_count; i++) {
		const struct script_stmt *stmt = &script->stmts[i];

		if (stmt->session != session)
			continue;
		left += !stmt->dropped;
		if (--ordinal == 0)
			return stmt->dropped ? 0 : left;
	}
	return 0;
}

/* SESSION.N with the number that it has now; false: the statement is gone.  Other words stay. */
static bool add_shown(const struct script *script, struct span word, struct buf *out)
{
	size_t dot = word.len;
	uint32_t ordinal;

	while (dot && char_is_digit(word.ptr[dot - 1]))
		dot--;
	for (uint32_t s = 0; dot < word.len && dot > 1 && word.ptr[dot - 1] == '.' && s < script->scenario->session_count; s++) {
		if (!span_eq(script->scenario->sessions[s].name, span_of(word.ptr, dot - 1)))
			continue;
		ordinal = new_ordinal(script, s, strtoul(word.ptr + dot, NULL, 10));
		buf_printf(out, "%.*s.%u", SPAN_ARG(script->session_names[s]), ordinal);
		return ordinal != 0;
	}
	buf_add_span(out, word);
	return true;
}

static bool add_shows(const struct script *script, struct span text, struct scenario *out, struct err *err)
{
	struct buf line = BUF_INIT;
	bool ok = true;

	for (size_t at = 0; ok && at < text.len;) {
		size_t end = at;

		while (end < text.len && !char_is_blank(text.ptr[end]))
			end++;
		ok = add_shown(script, span_of(text.ptr + at, end - at), &line);
		if (end < text.len)
			buf_add_char(&line, text.ptr[end++]);
		at = end;
	}
	ok = ok ? scenario_add_meta(out, SPAN_LIT("shows"), buf_span(&line), err)
		: err_set(err, ERR_EMPTY, "a statement that shows the anomaly is gone");
	buf_release(&line);
	return ok;
}

static bool add_header(const struct script *script, struct scenario *out, struct err *err)
{
	const struct scenario *from = script->scenario;
	bool ok = true;

	for (size_t i = 0; ok && i < from->meta_count; i++) {
		const struct scenario_meta *meta = &from->meta[i];

		if (span_eq_str(meta->key, "id") || span_eq_str(meta->key, "contract"))
			ok = scenario_add_meta(out, meta->key, meta->value, err);
		else if (span_eq_str(meta->key, "shows") && !script->forget_shows)
			ok = add_shows(script, meta->value, out, err);
	}
	for (size_t i = 0; ok && i < script->setting_count; i++)
		ok = scenario_add_meta(out, SPAN_LIT("server"), script->settings[i], err);
	if (ok && script->rounds) {
		char rounds[16];

		snprintf(rounds, sizeof(rounds), "%u", script->rounds);
		ok = scenario_add_meta(out, SPAN_LIT("rounds"), span_str(rounds), err);
	}
	return ok;
}

bool script_build(const struct script *script, struct scenario *out, struct err *err)
{
	bool ok;

	scenario_init(out);
	out->level = script->level;
	ok = add_header(script, out, err);
	for (size_t i = 0; ok && i < script->count; i++) {
		struct scenario_section *section = script_in_setup(script, i)      ? &out->setup
						   : script_in_schedule(script, i) ? &out->schedule
										   : &out->final;

		ok = script->stmts[i].dropped || add_stmt(script, &script->stmts[i], section, out, err);
	}
	if (ok && !out->schedule.count)
		ok = err_set(err, ERR_EMPTY, "no statement of a session is left");
	if (!ok)
		scenario_release(out);
	return ok;
}

/* ---- asking ---- */

struct table_question {
	struct span table;
	bool named;
};

static void note_table(
	void *ctx, const struct sql_table_name *table, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct table_question *question = ctx;

	(void)ref;
	(void)access;
	question->named |= span_ieq(table->name, question->table);
}

bool script_names_table(const struct sql_stmt *tree, struct span table)
{
	struct table_question question = {.table = table};

	sql_stmt_tables(tree, note_table, &question);
	return question.named;
}
