/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/table_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/chars.h"
#include "base/files.h"
#include "base/siphash.h"

static const struct {
	const char *section, *name;
} keys[TABLE_PLAN_KEY_COUNT] = {
#define X(id, section, name) {section, name},
	TABLE_PLAN_KEYS(X)
#undef X
};

struct reader {
	struct table_plan *plan;
	const char *name;
	struct span text;
	size_t at;
	struct err *err;
};

static bool fail(const struct reader *r, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Columns count characters. */
static bool fail(const struct reader *r, size_t at, const char *fmt, ...)
{
	uint32_t line = 1, column = 1;
	char what[600];
	va_list ap;

	for (size_t i = 0; i < at && i < r->text.len; i++) {
		bool ends = r->text.ptr[i] == '\n';

		line += ends;
		column = ends ? 1 : column + (((unsigned char)r->text.ptr[i] & 0xc0) != 0x80);
	}
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set_at(r->err, ERR_FORMAT, at, "%s:%u:%u: %s", r->name, line, column, what);
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->text.len) {
		if (r->text.ptr[r->at] == '#')
			while (r->at < r->text.len && r->text.ptr[r->at] != '\n')
				r->at++;
		else if (char_is_blank(r->text.ptr[r->at]))
			r->at++;
		else
			break;
	}
}

static char peek(struct reader *r)
{
	skip_blanks(r);
	return r->at < r->text.len ? r->text.ptr[r->at] : '\0';
}

static bool take(struct reader *r, const char *what)
{
	size_t len = strlen(what);

	(void)peek(r);
	if (r->text.len - r->at < len || memcmp(r->text.ptr + r->at, what, len) != 0)
		return false;
	r->at += len;
	return true;
}

static bool expect(struct reader *r, const char *what)
{
	return take(r, what) || fail(r, r->at, "%s is expected here; only lists of literals can be read, not other Perl", what);
}

static struct span take_name(struct reader *r)
{
	size_t begin;

	(void)peek(r);
	begin = r->at;
	while (r->at < r->text.len && char_is_name(r->text.ptr[r->at]) && r->text.ptr[r->at] != '$')
		r->at++;
	return span_of(r->text.ptr + begin, r->at - begin);
}

static bool take_quoted(struct reader *r, struct span *out)
{
	size_t begin = r->at++, len = 0;
	char quote = r->text.ptr[begin], *to;

	while (r->at < r->text.len && r->text.ptr[r->at] != quote)
		r->at += r->text.ptr[r->at] == '\\' ? 2 : 1;
	if (r->at >= r->text.len)
		return fail(r, begin, "the quote that opens here is not closed");
	to = arena_alloc(&r->plan->arena, r->at - begin);
	for (size_t i = begin + 1; i < r->at; i++) {
		if (quote == '"' && (r->text.ptr[i] == '$' || r->text.ptr[i] == '@'))
			return fail(r, i, "variables are not there: only literals can be read");
		if (r->text.ptr[i] == '\\')
			i++;
		to[len++] = r->text.ptr[i];
	}
	r->at++;
	*out = span_of(to, len);
	return true;
}

/* 'text', "text", 12, undef */
static bool take_value(struct reader *r, struct span *out)
{
	char c = peek(r);
	struct span word;
	size_t begin = r->at;

	if (c == '\'' || c == '"')
		return take_quoted(r, out);
	word = take_name(r);
	if (span_eq_str(word, "undef")) {
		*out = SPAN_NONE;
		return true;
	}
	for (size_t i = 0; i < word.len; i++)
		if (!char_is_digit(word.ptr[i]))
			word.len = 0;
	if (!word.len)
		return fail(r, begin, "a text in quotes, a number or undef is expected here; other Perl cannot be read");
	*out = arena_copy(&r->plan->arena, word);
	return true;
}

static bool take_list(struct reader *r, struct table_plan_list *out)
{
	struct span values[TABLE_PLAN_VALUES_MAX];
	uint32_t count = 0;
	bool list = take(r, "[");

	do {
		if (list && peek(r) == ']')
			break;
		if (count == TABLE_PLAN_VALUES_MAX)
			return fail(r, r->at, "more than %d values", TABLE_PLAN_VALUES_MAX);
		if (!take_value(r, &values[count]))
			return false;
		count++;
	} while (list && take(r, ","));
	if (list && !expect(r, "]"))
		return false;
	if (!count)
		return true; /* as if it were not there */
	out->values = arena_alloc(&r->plan->arena, count * sizeof(*values));
	memcpy(out->values, values, count * sizeof(*values));
	out->count = count;
	return true;
}

static bool take_key(struct reader *r, struct span section)
{
	size_t begin;
	struct span name;

	begin = (peek(r), r->at);
	if (peek(r) == '\'' || peek(r) == '"') {
		if (!take_quoted(r, &name))
			return false;
	} else {
		name = take_name(r);
	}
	for (unsigned k = 0; k < TABLE_PLAN_KEY_COUNT; k++) {
		if (!span_eq_str(section, keys[k].section) || !span_eq_str(name, keys[k].name))
			continue;
		return expect(r, "=>") && take_list(r, &r->plan->lists[k]);
	}
	return fail(r, begin, "%.*s is no property of %.*s that is known here; docs/grammars.md has the list",
		(int)(name.len < 60 ? name.len : 60), name.ptr, SPAN_ARG(section));
}

static bool take_section(struct reader *r)
{
	size_t begin = r->at;
	struct span section;
	bool known = false;

	if (!expect(r, "$"))
		return false;
	section = take_name(r);
	for (unsigned k = 0; k < TABLE_PLAN_KEY_COUNT; k++)
		known |= span_eq_str(section, keys[k].section);
	if (!known)
		return fail(r, begin, "$tables, $fields or $data is expected here");
	if (!expect(r, "=") || !expect(r, "{"))
		return false;
	while (peek(r) != '}') {
		if (!take_key(r, section))
			return false;
		if (!take(r, ","))
			break;
	}
	return expect(r, "}") && (take(r, ";") || peek(r) == '\0' || expect(r, ";"));
}

/* ---- presets ---- */

static void preset(struct table_plan *plan, enum table_plan_key key, const char *const *words)
{
	struct table_plan_list *list = &plan->lists[key];

	if (list->count)
		return;
	for (list->count = 0; words[list->count]; list->count++)
		;
	list->values = arena_alloc(&plan->arena, (list->count + 1) * sizeof(*list->values));
	for (uint32_t i = 0; i < list->count; i++)
		list->values[i] = *words[i] ? span_str(words[i]) : SPAN_NONE;
	CHECK(list->count > 0);
}

/* "" is undef. */
#define PRESET(plan, key, ...) preset(plan, key, (const char *const[]){__VA_ARGS__, NULL})

static void fill_presets(struct table_plan *plan)
{
	PRESET(plan, TABLE_PLAN_NAMES, "");
	PRESET(plan, TABLE_PLAN_ROWS, "0", "1", "2", "10", "20");
	PRESET(plan, TABLE_PLAN_PK, "int auto_increment");
	PRESET(plan, TABLE_PLAN_TYPES, "int", "varchar(10)", "date", "datetime");
	PRESET(plan, TABLE_PLAN_INDEXES, "", "key");
	PRESET(plan, TABLE_PLAN_NUMBERS, "digit", "digit", "tinyint", "");
	PRESET(plan, TABLE_PLAN_STRINGS, "letter", "english", "varchar", "");
	PRESET(plan, TABLE_PLAN_BLOBS, "letter", "english", "");
	PRESET(plan, TABLE_PLAN_TEMPORALS, "date", "datetime", "");
	for (unsigned k = 0; k < TABLE_PLAN_KEY_COUNT; k++)
		PRESET(plan, (enum table_plan_key)k, "");
}

void table_plan_simple(struct table_plan *out)
{
	*out = (struct table_plan){.arena = ARENA_INIT};
	fill_presets(out);
}

/* ---- bounds ---- */

static bool check_bounds(const struct reader *r)
{
	uint64_t tables = 1, columns = 1;

	for (unsigned k = TABLE_PLAN_ROWS; k <= TABLE_PLAN_TABLE_COLLATIONS; k++)
		tables *= r->plan->lists[k].count;
	for (unsigned k = TABLE_PLAN_TYPES; k <= TABLE_PLAN_COLLATIONS; k++)
		columns *= r->plan->lists[k].count;
	if (tables > TABLE_PLAN_TABLES_MAX)
		return err_set(r->err, ERR_LIMIT, "%s: the combinations of $tables are %llu tables; at most %d are made", r->name,
			(unsigned long long)tables, TABLE_PLAN_TABLES_MAX);
	if (columns > TABLE_PLAN_COLUMNS_MAX)
		return err_set(r->err, ERR_LIMIT, "%s: the combinations of $fields are %llu columns; at most %d are made", r->name,
			(unsigned long long)columns, TABLE_PLAN_COLUMNS_MAX);
	for (uint32_t i = 0; i < r->plan->lists[TABLE_PLAN_ROWS].count; i++) {
		struct span rows = r->plan->lists[TABLE_PLAN_ROWS].values[i];
		uint64_t n = 0;

		for (size_t k = 0; k < rows.len; k++) {
			if (!char_is_digit(rows.ptr[k]))
				return err_set(r->err, ERR_FORMAT, "%s: rows are numbers, not %.*s", r->name, (int)(rows.len < 40 ? rows.len : 40),
					rows.ptr);
			n = n > TABLE_PLAN_ROWS_MAX ? n : n * 10 + (uint64_t)(rows.ptr[k] - '0');
		}
		if (n > TABLE_PLAN_ROWS_MAX)
			return err_set(r->err, ERR_LIMIT, "%s: a table of a scenario has at most %d rows", r->name, TABLE_PLAN_ROWS_MAX);
	}
	return true;
}

bool table_plan_parse(struct table_plan *out, struct span text, const char *name, struct err *err)
{
	struct reader r = {.plan = out, .name = name, .text = text, .err = err};
	bool ok = true;

	*out = (struct table_plan){.arena = ARENA_INIT, .digest = siphash_digest(text.ptr, text.len)};
	while (ok && peek(&r) != '\0')
		ok = take_section(&r);
	if (ok && r.at < r.text.len)
		ok = fail(&r, r.at, "a byte of value 0");
	if (ok)
		fill_presets(out);
	ok = ok && check_bounds(&r);
	if (!ok)
		table_plan_release(out);
	return ok;
}

bool table_plan_open(struct table_plan *out, const char *path, struct err *err)
{
	struct buf text = BUF_INIT;
	bool ok = file_read(path, TABLE_PLAN_TEXT_MAX, &text, err) && table_plan_parse(out, buf_span(&text), path, err);

	buf_release(&text);
	return ok;
}

void table_plan_release(struct table_plan *plan)
{
	arena_release(&plan->arena);
	*plan = (struct table_plan){.arena = ARENA_INIT};
}
