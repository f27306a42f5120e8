/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "scenario/scenario_internal.h"
#include "sql/text/raw_token.h"
#include "sql/text/split.h"

/* ---- text ---- */

struct span span_trim(struct span s)
{
	while (s.len && char_is_blank(s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && char_is_blank(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

struct scenario_place place_of(struct place_cursor *cursor, size_t offset)
{
	CHECK(offset >= cursor->at);
	for (; cursor->at < offset && cursor->at < cursor->text.len; cursor->at++) {
		unsigned char c = (unsigned char)cursor->text.ptr[cursor->at];

		if (c == '\n') {
			cursor->place.line++;
			cursor->place.column = 1;
		} else if ((c & 0xC0) != 0x80) { /* not the inside of a UTF-8 character */
			cursor->place.column++;
		}
	}
	return cursor->place;
}

bool place_error(struct err *err, struct span text, const char *name)
{
	struct place_cursor cursor = PLACE_CURSOR(text);
	struct scenario_place place;

	if (!err)
		return false;
	if (err->offset == ERR_NO_OFFSET)
		return err_prefix(err, "%s", name);
	place = place_of(&cursor, err->offset < text.len ? (size_t)err->offset : text.len);
	return err_prefix(err, "%s:%u:%u", name, place.line, place.column);
}

bool shift_error(struct err *err, size_t base)
{
	if (err && err->offset != ERR_NO_OFFSET)
		err->offset += base;
	return false;
}

bool text_is_sane(struct span text, struct err *err)
{
	const char *nul;

	if (text.len > SCENARIO_TEXT_MAX)
		return err_set(err, ERR_LIMIT, "the file has %zu bytes, more than %d", text.len,
			SCENARIO_TEXT_MAX);
	nul = text.len ? memchr(text.ptr, '\0', text.len) : NULL;
	if (nul)
		return err_set_at(err, ERR_FORMAT, (uint64_t)(nul - text.ptr),
			"a zero byte: this is not a text file");
	return true;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

struct span name_prefix(struct span s)
{
	size_t len = 0;

	if (s.len && (isalpha((unsigned char)s.ptr[0]) || s.ptr[0] == '_'))
		while (len < s.len && is_name_char(s.ptr[len]))
			len++;
	return span_of(s.ptr, len);
}

size_t prompt_prefix(struct span s, struct span *name)
{
	size_t at;

	*name = name_prefix(s);
	at = name->len;
	if (!at || at >= s.len || s.ptr[at] != '>')
		return 0;
	at++;
	if (at < s.len && !char_is_blank(s.ptr[at]))
		return 0; /* a>b */
	while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t'))
		at++;
	return at;
}

/* ---- building ---- */

void scenario_init(struct scenario *s)
{
	*s = (struct scenario){.arena = ARENA_INIT, .level = LEVEL_UNKNOWN};
}

void scenario_release(struct scenario *s)
{
	arena_release(&s->arena);
	mem_free(s->meta);
	mem_free(s->sessions);
	mem_free(s->setup.stmts);
	mem_free(s->schedule.stmts);
	mem_free(s->final.stmts);
	mem_free(s->verdicts);
	scenario_init(s);
}

void scenario_list_release(struct scenario_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		scenario_release(&list->scenarios[i]);
	mem_free(list->scenarios);
	*list = (struct scenario_list){0};
}

static bool find_session(const struct scenario *s, struct span name, uint32_t *out)
{
	for (size_t i = 0; i < s->session_count; i++) {
		if (span_eq(s->sessions[i].name, name)) {
			*out = (uint32_t)i;
			return true;
		}
	}
	return false;
}

bool scenario_session(struct scenario *s, struct span name, uint32_t *out, struct err *err)
{
	if (!name.len || name_prefix(name).len != name.len)
		return err_set_at(err, ERR_FORMAT, 0,
			"a session's name has letters, digits, '_', '-' and '.', and begins with a "
			"letter");
	if (name.len > SCENARIO_NAME_MAX)
		return err_set_at(err, ERR_LIMIT, 0,
			"a session's name of %zu bytes; %d are the most", name.len,
			SCENARIO_NAME_MAX);
	if (find_session(s, name, out))
		return true;
	if (s->session_count == SCENARIO_SESSION_MAX)
		return err_set_at(err, ERR_LIMIT, 0, "more than %d sessions", SCENARIO_SESSION_MAX);
	MEM_RESERVE(s->sessions, s->session_count + 1, s->session_capacity);
	s->sessions[s->session_count] = (struct scenario_session){
		.name = arena_copy(&s->arena, name), .level = LEVEL_UNKNOWN};
	*out = (uint32_t)s->session_count++;
	return true;
}

/* Blanks and line comments at the start: they are no part of the statement. */
static size_t skip_lead(struct span sql)
{
	size_t at = 0;

	while (at < sql.len) {
		bool open;

		if (char_is_blank(sql.ptr[at])) {
			at++;
			continue;
		}
		if (sql.ptr[at] == '/')
			break;
		size_t comment = raw_comment(sql, at, &open);

		if (!comment)
			break;
		at += comment;
	}
	return at;
}

static bool is_directive(struct span sql)
{
	static const char word[] = "delimiter";
	size_t len = sizeof(word) - 1;

	return sql.len >= len && span_ieq_str(span_of(sql.ptr, len), word) &&
	       (sql.len == len || char_is_blank(sql.ptr[len]));
}

/* Whether a text begins with a word that begins SQL statements. */
static bool begins_like_sql(struct span text)
{
	static const char *const words[] = {"alter", "analyze", "begin", "call", "commit", "create",
		"deallocate", "delete", "do", "drop", "execute", "flush", "handler", "insert",
		"kill", "load", "lock", "prepare", "release", "replace", "rollback", "savepoint",
		"select", "set", "show", "start", "truncate", "unlock", "update", "use", "with",
		"xa"};
	size_t len = 0;

	while (len < text.len && isalpha((unsigned char)text.ptr[len]))
		len++;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (span_ieq_str(span_of(text.ptr, len), words[i]))
			return true;
	}
	return false;
}

bool holds_prompt(struct span sql)
{
	struct split split = split_statement(sql, 0, SPAN_LIT("\n"));

	while (split.state == SPLIT_FOUND) {
		size_t at = split.end + 1, prompt;
		struct span rest = span_of(sql.ptr + at, sql.len - at), name;

		prompt = prompt_prefix(rest, &name);
		if (prompt && begins_like_sql(span_of(rest.ptr + prompt, rest.len - prompt)))
			return true;
		split = split_statement(sql, at, SPAN_LIT("\n"));
	}
	return false;
}

bool scenario_add(struct scenario *s, struct scenario_section *section, uint32_t session,
	struct span sql, struct err *err)
{
	size_t lead = skip_lead(sql);
	struct span own = span_trim(span_of(sql.ptr + lead, sql.len - lead)), name;
	struct split split;

	CHECK(section == &s->setup || section == &s->schedule || section == &s->final);
	CHECK((session == SCENARIO_NO_SESSION) == (section != &s->schedule));
	CHECK(session == SCENARIO_NO_SESSION || session < s->session_count);
	if (section->count == SCENARIO_STMT_MAX)
		return err_set_at(err, ERR_LIMIT, 0, "more than %d statements in a section",
			SCENARIO_STMT_MAX);
	if (own.len && memchr(own.ptr, '\0', own.len))
		return err_set_at(err, ERR_FORMAT, 0, "a zero byte in a statement");
	split = split_statement(own, 0, SPAN_LIT("\n\n\0\n")); /* nothing that it could hold */
	if (split.state == SPLIT_OPEN_QUOTE)
		return err_set_at(err, ERR_FORMAT, lead + split.end, "this quote is not closed");
	if (split.state == SPLIT_OPEN_COMMENT)
		return err_set_at(err, ERR_FORMAT, lead + split.end, "this comment is not closed");
	if (!split.code_end)
		return err_set_at(err, ERR_FORMAT, lead < sql.len ? lead : 0, "an empty statement");
	if (own.ptr[0] == '[' || is_directive(own))
		return err_set_at(err, ERR_FORMAT, lead, "no SQL statement begins like this");
	if (section == &s->schedule && holds_prompt(own))
		return err_set_at(err, ERR_FORMAT, lead,
			"a line of this statement begins like the statement of a session");
	if (section != &s->schedule && prompt_prefix(own, &name))
		return err_set_at(err, ERR_FORMAT, lead,
			"a session's statement, and this is not the [schedule]");
	MEM_RESERVE(section->stmts, section->count + 1, section->capacity);
	section->stmts[section->count++] = (struct scenario_stmt){
		.sql = arena_copy(&s->arena, own),
		.session = session,
		.expect = {.count = SCENARIO_ANY_COUNT},
	};
	return true;
}

/* ---- levels ---- */

enum txn_level scenario_level_word(struct span word)
{
	char plain[24];

	if (word.len > 2 && (word.ptr[0] == '"' || word.ptr[0] == '\'') &&
		word.ptr[word.len - 1] == word.ptr[0])
		word = span_of(word.ptr + 1, word.len - 2);
	if (word.len >= sizeof(plain))
		return LEVEL_UNKNOWN;
	for (size_t i = 0; i < word.len; i++) {
		char c = word.ptr[i];

		plain[i] = (char)(c == ' ' || c == '_' ? '-' : toupper((unsigned char)c));
	}
	plain[word.len] = '\0';
	for (unsigned i = LEVEL_READ_UNCOMMITTED; i <= LEVEL_SERIALIZABLE; i++) {
		static const char *const names[] = {[LEVEL_READ_UNCOMMITTED] = "READ-UNCOMMITTED",
			[LEVEL_READ_COMMITTED] = "READ-COMMITTED",
			[LEVEL_REPEATABLE_READ] = "REPEATABLE-READ",
			[LEVEL_SERIALIZABLE] = "SERIALIZABLE"};

		if (strcmp(plain, names[i]) == 0 || strcmp(plain, txn_level_short((uint8_t)i)) == 0)
			return (enum txn_level)i;
	}
	return LEVEL_UNKNOWN;
}

enum txn_level scenario_level(const struct scenario *s, uint32_t session)
{
	CHECK(session < s->session_count);
	return s->sessions[session].level ? s->sessions[session].level : s->level;
}

size_t scenario_nodes(const struct scenario *s)
{
	size_t nodes = 1;

	for (size_t i = 0; i < s->session_count; i++)
		nodes = s->sessions[i].node > nodes ? s->sessions[i].node : nodes;
	return nodes;
}

/* The next part of a list with commas; *at moves past it. */
static bool next_part(struct span list, size_t *at, struct span *part)
{
	const char *comma;

	if (*at > list.len)
		return false;
	comma = *at < list.len ? memchr(list.ptr + *at, ',', list.len - *at) : NULL;
	*part = span_of(list.ptr + *at, comma ? (size_t)(comma - list.ptr) - *at : list.len - *at);
	*at += part->len + 1;
	*part = span_trim(*part);
	return true;
}

/* `RR` or `T1=RR, T2=RC` or `RR, T2=RC`; a remark in parentheses may follow. */
static bool add_isolation(struct scenario *s, struct span value, struct err *err)
{
	const char *remark = value.len ? memchr(value.ptr, '(', value.len) : NULL;
	struct span part;
	size_t at = 0;

	if (remark)
		value.len = (size_t)(remark - value.ptr);
	while (next_part(value, &at, &part)) {
		const char *equals = part.len ? memchr(part.ptr, '=', part.len) : NULL;
		size_t offset = (size_t)(part.ptr - value.ptr);
		struct span word = part;
		enum txn_level *level = &s->level, found;

		if (equals) {
			size_t left = (size_t)(equals - part.ptr);
			uint32_t session;

			if (!find_session(s, span_trim(span_of(part.ptr, left)), &session))
				return err_set_at(err, ERR_FORMAT, offset,
					"no session of that name is in the schedule");
			level = &s->sessions[session].level;
			word = span_trim(span_of(equals + 1, part.len - left - 1));
		}
		found = scenario_level_word(word);
		if (found == LEVEL_UNKNOWN)
			return err_set_at(err, ERR_FORMAT, (uint64_t)(word.ptr - value.ptr),
				"no isolation level: RU, RC, RR, SER or the full name");
		if (*level != LEVEL_UNKNOWN)
			return err_set_at(err, ERR_FORMAT, offset, "the level was given already");
		*level = found;
	}
	return true;
}

/* `T1=1, T2=2`: on which node of a cluster a session is. */
static bool add_nodes(struct scenario *s, struct span value, struct err *err)
{
	struct span part;
	size_t at = 0;

	while (next_part(value, &at, &part)) {
		const char *equals = part.len ? memchr(part.ptr, '=', part.len) : NULL;
		size_t offset = (size_t)(part.ptr - value.ptr);
		size_t left = equals ? (size_t)(equals - part.ptr) : part.len;
		struct span word =
			equals ? span_trim(span_of(equals + 1, part.len - left - 1)) : part;
		uint32_t session, node = 0;

		if (!find_session(s, span_trim(span_of(part.ptr, left)), &session))
			return err_set_at(err, ERR_FORMAT, offset,
				"no session of that name is in the schedule");
		for (size_t i = 0; equals && word.len < 3 && i < word.len; i++)
			node = isdigit((unsigned char)word.ptr[i])
				       ? node * 10 + (uint32_t)(word.ptr[i] - '0')
				       : SCENARIO_NODE_MAX + 1;
		if (!node || node > SCENARIO_NODE_MAX)
			return err_set_at(err, ERR_FORMAT, offset,
				"a session and the number of its node: T2=2, up to %d",
				SCENARIO_NODE_MAX);
		if (s->sessions[session].node)
			return err_set_at(err, ERR_FORMAT, offset, "the node was given already");
		s->sessions[session].node = node;
	}
	return true;
}

/* ---- expected verdicts ---- */

static bool read_levels(struct span words, uint32_t *out, size_t base, struct err *err)
{
	struct span part;
	size_t at = 0;

	if (!words.len)
		return true;
	while (next_part(words, &at, &part)) {
		enum txn_level level = scenario_level_word(part);

		if (level == LEVEL_UNKNOWN)
			return err_set_at(err, ERR_FORMAT, base + (size_t)(part.ptr - words.ptr),
				"no isolation level: RU, RC, RR, SER or the full name");
		*out |= 1u << level;
	}
	return true;
}

static size_t word_length(struct span s)
{
	size_t len = 0;

	while (len < s.len && !char_is_blank(s.ptr[len]))
		len++;
	return len;
}

/* What may stand after the '=' of an expected verdict (docs/scenario-format.md). */
static const struct {
	const char *word;
	bool shows;
} verdict_words[] = {
	{"bug", true},
	{"documented", true},
	{"allowed", true},
	{"violated", true},
	{"fixed", false},
	{"prevented", false},
	{"absent", false},
	{"ok", false},
	{"incomplete", false},
	{"error", false},
};

static bool is_verdict(struct span word)
{
	for (size_t i = 0; i < ARRAY_LEN(verdict_words); i++)
		if (span_eq_str(word, verdict_words[i].word))
			return true;
	return false;
}

bool scenario_verdict_shows(const struct scenario_verdict *verdict)
{
	for (size_t i = 0; i < ARRAY_LEN(verdict_words); i++)
		if (span_eq_str(verdict->verdict, verdict_words[i].word))
			return verdict_words[i].shows;
	return false;
}

static bool add_verdict(struct scenario *s, struct span value, struct err *err)
{
	const char *equals = value.len ? memchr(value.ptr, '=', value.len) : NULL;
	struct scenario_verdict out = {0};
	struct span left, right, levels;
	size_t len;

	if (!equals)
		return err_set_at(err, ERR_FORMAT, 0,
			"an expected verdict is `RELEASE [LEVEL,...] = bug|fixed|error N|...`");
	left = span_trim(span_of(value.ptr, (size_t)(equals - value.ptr)));
	right = span_trim(span_of(equals + 1, value.len - (size_t)(equals + 1 - value.ptr)));
	len = word_length(left);
	if (!len)
		return err_set_at(
			err, ERR_FORMAT, 0, "a release must stand before the '=', or * for all");
	out.release = arena_copy(&s->arena, span_of(left.ptr, len));
	levels = span_trim(span_of(left.ptr + len, left.len - len));
	if (!read_levels(levels, &out.levels, (size_t)(levels.ptr - value.ptr), err))
		return false;
	len = word_length(right);
	out.verdict = span_of(right.ptr, len);
	if (!is_verdict(out.verdict))
		return err_set_at(err, ERR_FORMAT, (uint64_t)(right.ptr - value.ptr),
			"a verdict is bug, documented, allowed, fixed, prevented, absent, error N, "
			"ok, violated or incomplete");
	out.verdict = arena_copy(&s->arena, out.verdict);
	out.detail = arena_copy(&s->arena, span_trim(span_of(right.ptr + len, right.len - len)));
	MEM_RESERVE(s->verdicts, s->verdict_count + 1, s->verdict_capacity);
	s->verdicts[s->verdict_count++] = out;
	return true;
}

/* * in the pattern stands for any characters. */
static bool pattern_fits(struct span pattern, struct span text)
{
	size_t p = 0, t = 0, star = SIZE_MAX, mark = 0;

	while (t < text.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = p++;
			mark = t;
		} else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++mark;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

const struct scenario_verdict *scenario_verdict(
	const struct scenario *s, struct span release, enum txn_level level)
{
	for (size_t i = s->verdict_count; i-- > 0;) {
		const struct scenario_verdict *v = &s->verdicts[i];

		if ((!v->levels || (v->levels & 1u << level)) && pattern_fits(v->release, release))
			return v;
	}
	return NULL;
}

/* ---- metadata ---- */

static bool is_once(struct span key)
{
	return span_eq_str(key, "id") || span_eq_str(key, "isolation") ||
	       span_eq_str(key, "node") || span_eq_str(key, "contract") || span_eq_str(key, "rounds");
}

static const struct scenario_meta *find_meta(const struct scenario *s, struct span key)
{
	for (size_t i = 0; i < s->meta_count; i++)
		if (span_eq(s->meta[i].key, key))
			return &s->meta[i];
	return NULL;
}

struct span scenario_meta(const struct scenario *s, const char *key)
{
	const struct scenario_meta *meta = find_meta(s, span_str(key));

	return meta ? meta->value : SPAN_NONE;
}

/* 0: it is no number of rounds. */
static uint32_t rounds_of(struct span text)
{
	uint64_t rounds = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (!char_is_digit(text.ptr[i]) || rounds > SCENARIO_ROUNDS_MAX)
			return 0;
		rounds = rounds * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	return rounds <= SCENARIO_ROUNDS_MAX ? (uint32_t)rounds : 0;
}

uint32_t scenario_rounds(const struct scenario *s)
{
	return rounds_of(scenario_meta(s, "rounds"));
}

/* NAME=VALUE */
static bool split_setting(struct span text, struct span *name, struct span *value)
{
	size_t len = name_prefix(text).len;

	if (!len || len == text.len || text.ptr[len] != '=')
		return false;
	*name = span_of(text.ptr, len);
	*value = span_of(text.ptr + len + 1, text.len - len - 1);
	return true;
}

bool scenario_setting(const struct scenario_meta *meta, struct span *name, struct span *value)
{
	return span_eq_str(meta->key, "server") && split_setting(meta->value, name, value);
}

static bool is_line(struct span s)
{
	return !s.len || (!memchr(s.ptr, '\n', s.len) && !memchr(s.ptr, '\0', s.len));
}

bool scenario_add_meta(struct scenario *s, struct span key, struct span value, struct err *err)
{
	struct span own = span_trim(value), name, setting;
	size_t base = own.len ? (size_t)(own.ptr - value.ptr) : 0;

	if (!key.len || key.len > SCENARIO_NAME_MAX || name_prefix(key).len != key.len)
		return err_set_at(err, ERR_FORMAT, 0,
			"a key has at most %d letters, digits, '_', '-' and '.'",
			SCENARIO_NAME_MAX);
	if (!is_line(own))
		return err_set_at(err, ERR_FORMAT, 0, "a value is one line of text");
	if (s->meta_count == SCENARIO_META_MAX)
		return err_set_at(
			err, ERR_LIMIT, 0, "more than %d lines of metadata", SCENARIO_META_MAX);
	if (is_once(key) && find_meta(s, key))
		return err_set_at(err, ERR_FORMAT, 0, "`%.*s` was given already", SPAN_ARG(key));
	if (span_eq_str(key, "isolation") && !add_isolation(s, own, err))
		return shift_error(err, base);
	if (span_eq_str(key, "node") && !add_nodes(s, own, err))
		return shift_error(err, base);
	if (span_eq_str(key, "expect") && !add_verdict(s, own, err))
		return shift_error(err, base);
	if (span_eq_str(key, "server") && !split_setting(own, &name, &setting))
		return err_set_at(err, ERR_FORMAT, base, "an option of the server is NAME=VALUE");
	if (span_eq_str(key, "rounds") && !rounds_of(own))
		return err_set_at(err, ERR_FORMAT, base, "rounds are a number from 1 to %d", SCENARIO_ROUNDS_MAX);
	MEM_RESERVE(s->meta, s->meta_count + 1, s->meta_capacity);
	s->meta[s->meta_count++] = (struct scenario_meta){
		.key = arena_copy(&s->arena, key), .value = arena_copy(&s->arena, own)};
	return true;
}
