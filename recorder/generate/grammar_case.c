/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cases of a grammar: tables and rows from a plan (workload/table_plan.h), and in each session texts of its rules
 * (workload/grammar.h).  How many sessions, how many texts each, the levels and the order are the model's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "generate/generate_internal.h"
#include "sql/text/split.h"
#include "workload/grammar.h"
#include "workload/table_plan.h"

struct grammar_column {
	const char *name;
	struct span type;
	bool pk, indexed, number, text, automatic;
};

struct grammar_table {
	const char *name;
	struct grammar_column columns[TABLE_PLAN_COLUMNS_MAX + 1];
	uint32_t column_count;
	uint64_t rows;
	const char *create;
};

struct grammar_case {
	struct gen *g;
	const struct table_plan *tables_plan;
	struct grammar_table *tables;
	uint32_t table_count;
	const struct grammar_table *last; /* that _table gave last: _field is one of its columns */
	uint32_t session, queries;
};

/* ---- values ---- */

static const char *const english[] = {"a", "about", "all", "and", "as", "at", "back", "be", "because", "but", "by", "come",
	"could", "did", "don't", "for", "from", "get", "go", "good", "had", "he", "her", "here", "him", "how", "I", "if", "in",
	"is", "it", "just", "know", "like", "look", "me", "my", "no", "not", "of", "ok", "on", "out", "really", "right", "see",
	"she", "so", "some", "that", "the", "then", "they", "this", "time", "to", "up", "want", "was", "we", "well", "what",
	"who", "will", "with", "would", "yeah", "yes", "you"};

static uint64_t between(struct gen *g, uint64_t low, uint64_t high)
{
	return random_between(&g->random, low, high);
}

/* A whole number of that many bits, at times one of its ends. */
static void add_integer(struct gen *g, struct buf *out, unsigned bits, bool has_sign)
{
	uint64_t ends = below(g, 10), max = has_sign ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	uint64_t n = ends == 0 ? 0 : ends == 1 ? max : random_next(&g->random) & max;

	if (has_sign && below(g, 2))
		buf_printf(out, "-%llu", (unsigned long long)(ends == 1 ? max + 1 : n));
	else
		buf_printf(out, "%llu", (unsigned long long)n);
}

static void add_letters(struct gen *g, struct buf *out, uint64_t most)
{
	uint64_t len = below(g, (most < 64 ? most : 64) + 1);

	for (uint64_t i = 0; i < len; i++)
		buf_add_char(out, (char)('a' + below(g, 26)));
}

static void add_day(struct gen *g, struct buf *out)
{
	uint64_t year = between(g, 2000, 2009), month = between(g, 1, 12), day = between(g, 1, 28);

	buf_printf(out, "%04llu-%02llu-%02llu", (unsigned long long)year, (unsigned long long)month, (unsigned long long)day);
}

static void add_clock(struct gen *g, struct buf *out)
{
	uint64_t hour = below(g, 24), minute = below(g, 60), second = below(g, 60);

	buf_printf(out, "%02llu:%02llu:%02llu", (unsigned long long)hour, (unsigned long long)minute, (unsigned long long)second);
}

/* A word that stands for a text: what is between the quotes.  False: it stands for no text. */
static bool add_text_value(struct gen *g, enum grammar_word word, uint32_t size, struct buf *out)
{
	const char *chosen;

	switch (word) {
	case WORD_LETTER:
		buf_add_char(out, (char)('a' + below(g, 26)));
		return true;
	case WORD_ENGLISH:
		chosen = english[below(g, ARRAY_LEN(english))];
		for (uint32_t i = 0; chosen[i] && (!size || i < size); i++) {
			if (chosen[i] == '\'')
				buf_add_char(out, '\'');
			buf_add_char(out, chosen[i]);
		}
		return true;
	case WORD_CHAR:
		add_letters(g, out, size ? size : 1);
		return true;
	case WORD_VARCHAR:
	case WORD_STRING:
	case WORD_TEXT:
		add_letters(g, out, size ? size : 10);
		return true;
	case WORD_DATE:
		add_day(g, out);
		return true;
	case WORD_TIME:
		add_clock(g, out);
		return true;
	case WORD_DATETIME:
	case WORD_TIMESTAMP:
		add_day(g, out);
		buf_add_char(out, ' ');
		add_clock(g, out);
		return true;
	default:
		return false;
	}
}

static bool add_number_value(struct gen *g, enum grammar_word word, uint32_t size, struct buf *out)
{
	switch (word) {
	case WORD_DIGIT:
		buf_printf(out, "%llu", (unsigned long long)below(g, 10));
		return true;
	case WORD_POSITIVE_DIGIT:
		buf_printf(out, "%llu", (unsigned long long)between(g, 1, 9));
		return true;
	case WORD_BOOL:
	case WORD_BOOLEAN:
		buf_printf(out, "%llu", (unsigned long long)below(g, 2));
		return true;
	case WORD_TINYINT:
	case WORD_TINYINT_UNSIGNED:
		add_integer(g, out, 8, word == WORD_TINYINT);
		return true;
	case WORD_SMALLINT:
	case WORD_SMALLINT_UNSIGNED:
		add_integer(g, out, 16, word == WORD_SMALLINT);
		return true;
	case WORD_MEDIUMINT:
	case WORD_MEDIUMINT_UNSIGNED:
		add_integer(g, out, 24, word == WORD_MEDIUMINT);
		return true;
	case WORD_INT:
	case WORD_INTEGER:
	case WORD_INT_UNSIGNED:
	case WORD_INTEGER_UNSIGNED:
		add_integer(g, out, 32, word == WORD_INT || word == WORD_INTEGER);
		return true;
	case WORD_BIGINT:
	case WORD_BIGINT_UNSIGNED:
		add_integer(g, out, 64, word == WORD_BIGINT);
		return true;
	case WORD_FLOAT:
	case WORD_DECIMAL:
		add_integer(g, out, 8, true);
		buf_printf(out, ".%02llu", (unsigned long long)below(g, 100));
		return true;
	case WORD_BIT:
		buf_add_str(out, "b'");
		for (uint32_t i = 0, bits = size ? size : 1; i < bits && i < 64; i++)
			buf_add_char(out, below(g, 2) ? '1' : '0');
		buf_add_char(out, '\'');
		return true;
	case WORD_HEX:
		buf_printf(out, "0x%02llx", (unsigned long long)below(g, 65536));
		return true;
	case WORD_NULL:
		buf_add_str(out, "NULL");
		return true;
	case WORD_YEAR:
		buf_printf(out, "%llu", (unsigned long long)between(g, 2000, 2009));
		return true;
	default:
		return false;
	}
}

static void add_value(struct gen *g, enum grammar_word word, uint32_t size, bool quoted, struct buf *out)
{
	struct buf inside = BUF_INIT;

	if (add_text_value(g, word, size, &inside))
		buf_printf(out, quoted ? "%s" : "'%s'", inside.len ? inside.data : "");
	else
		(void)add_number_value(g, word, size, out);
	buf_release(&inside);
}

/* ---- tables ---- */

static struct span any_of(struct grammar_case *c, enum table_plan_key key)
{
	const struct table_plan_list *list = &c->tables_plan->lists[key];

	return list->values[below(c->g, list->count)];
}

enum value_class { CLASS_NUMBERS, CLASS_STRINGS, CLASS_BLOBS, CLASS_TEMPORALS, CLASS_LIST };

static enum value_class class_of(struct span type)
{
	if (span_istarts(type, "enum") || span_istarts(type, "set"))
		return CLASS_LIST;
	if (span_istarts(type, "char") || span_istarts(type, "varchar") || span_istarts(type, "binary") || span_istarts(type, "varbinary"))
		return CLASS_STRINGS;
	if (span_ihas(type, "blob") || span_ihas(type, "text"))
		return CLASS_BLOBS;
	if (span_istarts(type, "date") || span_istarts(type, "time") || span_istarts(type, "year"))
		return CLASS_TEMPORALS;
	return CLASS_NUMBERS;
}

/* Letters and digits; others become one underscore. */
static const char *name_of(struct gen *g, const char *before, struct span text_part)
{
	struct buf out = BUF_INIT;
	const char *name;

	buf_add_str(&out, before);
	for (size_t i = 0; i < text_part.len; i++) {
		char ch = text_part.ptr[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z'))
			buf_add_char(&out, ch);
		else if (out.len && out.data[out.len - 1] != '_')
			buf_add_char(&out, '_');
	}
	while (out.len && out.data[out.len - 1] == '_')
		out.len--;
	name = arena_copy(&g->arena, buf_span(&out)).ptr;
	buf_release(&out);
	return name;
}

static void add_words(struct buf *out, struct span words)
{
	if (words.ptr && words.len) {
		buf_add_char(out, ' ');
		buf_add_span(out, words);
	}
}

/* A combination of the properties from `first` to `last`, in the order in which nested loops make them. */
static void combination(const struct table_plan *plan, enum table_plan_key first, enum table_plan_key last, uint64_t number,
	struct span *out)
{
	for (int k = (int)last; k >= (int)first; k--) {
		out[k] = plan->lists[k].values[number % plan->lists[k].count];
		number /= plan->lists[k].count;
	}
}

static uint64_t combinations(const struct table_plan *plan, enum table_plan_key first, enum table_plan_key last)
{
	uint64_t count = 1;

	for (int k = (int)first; k <= (int)last; k++)
		count *= plan->lists[k].count;
	return count;
}

static bool is_taken(const struct grammar_table *t, const char *name)
{
	for (uint32_t i = 0; i < t->column_count; i++)
		if (strcmp(t->columns[i].name, name) == 0)
			return true;
	return false;
}

static void plan_columns(struct grammar_case *c, struct grammar_table *t, struct buf *definitions, struct buf *indexes)
{
	struct span p[TABLE_PLAN_KEY_COUNT];
	uint64_t count = combinations(c->tables_plan, TABLE_PLAN_TYPES, TABLE_PLAN_COLLATIONS);

	for (uint64_t i = 0; i < count; i++) {
		struct grammar_column column = {.indexed = false};
		bool unique, takes_sign;

		combination(c->tables_plan, TABLE_PLAN_TYPES, TABLE_PLAN_COLLATIONS, i, p);
		column.type = p[TABLE_PLAN_TYPES];
		if (!column.type.ptr)
			continue;
		column.indexed = p[TABLE_PLAN_INDEXES].ptr && p[TABLE_PLAN_INDEXES].len;
		unique = column.indexed && span_ihas(p[TABLE_PLAN_INDEXES], "unique");
		column.number = class_of(column.type) == CLASS_NUMBERS;
		column.text = class_of(column.type) == CLASS_STRINGS || class_of(column.type) == CLASS_BLOBS;
		takes_sign = column.number && !span_istarts(column.type, "bit");
		if (p[TABLE_PLAN_SIGN].ptr && !takes_sign)
			continue; /* texts have no sign */
		column.name = name_of(c->g, "col_", column.type);
		if (p[TABLE_PLAN_SIGN].ptr && p[TABLE_PLAN_SIGN].len && !span_ieq_str(p[TABLE_PLAN_SIGN], "signed"))
			column.name = name_of(c->g, text(c->g, "%s_", column.name), p[TABLE_PLAN_SIGN]);
		if (column.indexed)
			column.name = text(c->g, "%s%s", column.name, unique ? "_unique" : "_key");
		if (p[TABLE_PLAN_NULL].ptr && span_ihas(p[TABLE_PLAN_NULL], "not"))
			column.name = text(c->g, "%s_not_null", column.name);
		for (unsigned n = 2; is_taken(t, column.name); n++)
			column.name = text(c->g, "%s_%u", column.name, n);
		buf_printf(definitions, ", %s %.*s", column.name, SPAN_ARG(column.type));
		add_words(definitions, takes_sign && !span_ieq_str(p[TABLE_PLAN_SIGN], "signed") ? p[TABLE_PLAN_SIGN] : SPAN_NONE);
		if (column.text && p[TABLE_PLAN_CHARSETS].ptr)
			buf_printf(definitions, " character set %.*s", SPAN_ARG(p[TABLE_PLAN_CHARSETS]));
		if (column.text && p[TABLE_PLAN_COLLATIONS].ptr)
			buf_printf(definitions, " collate %.*s", SPAN_ARG(p[TABLE_PLAN_COLLATIONS]));
		add_words(definitions, p[TABLE_PLAN_NULL]);
		if (p[TABLE_PLAN_DEFAULT].ptr)
			buf_printf(definitions, "%s%.*s", span_ihas(p[TABLE_PLAN_DEFAULT], "default") ? " " : " default ", SPAN_ARG(p[TABLE_PLAN_DEFAULT]));
		if (column.indexed)
			buf_printf(indexes, ", %s (%s%s)", unique ? "unique key" : "key", column.name,
				class_of(column.type) == CLASS_BLOBS ? "(64)" : "");
		t->columns[t->column_count++] = column;
	}
}

static const char *table_name(struct grammar_case *c, uint64_t number, const struct span *p)
{
	const struct table_plan_list *names = &c->tables_plan->lists[TABLE_PLAN_NAMES];
	struct span name = names->values[number % names->count];
	uint64_t round = number / names->count;

	if (name.ptr)
		return round ? text(c->g, "%.*s%llu", SPAN_ARG(name), (unsigned long long)round + 1) : arena_copy(&c->g->arena, name).ptr;
	name = p[TABLE_PLAN_ROWS].ptr ? p[TABLE_PLAN_ROWS] : SPAN_LIT("0");
	return text(c->g, "table%.*s_%llu", SPAN_ARG(name), (unsigned long long)number + 1);
}

static void plan_table(struct grammar_case *c, uint64_t number)
{
	struct grammar_table *t = &c->tables[c->table_count++];
	struct buf definitions = BUF_INIT, indexes = BUF_INIT, sql = BUF_INIT;
	struct span p[TABLE_PLAN_KEY_COUNT], pk;

	combination(c->tables_plan, TABLE_PLAN_ROWS, TABLE_PLAN_TABLE_COLLATIONS, number, p);
	t->name = table_name(c, number, p);
	pk = p[TABLE_PLAN_PK];
	for (size_t i = 0; i < p[TABLE_PLAN_ROWS].len; i++)
		t->rows = t->rows * 10 + (uint64_t)(p[TABLE_PLAN_ROWS].ptr[i] - '0');
	if (pk.ptr && pk.len) {
		t->columns[t->column_count++] = (struct grammar_column){.name = "pk", .type = pk, .pk = true, .indexed = true,
			.number = class_of(pk) == CLASS_NUMBERS, .text = class_of(pk) == CLASS_STRINGS, .automatic = span_ihas(pk, "auto_increment")};
		buf_printf(&definitions, ", pk %.*s%s", SPAN_ARG(pk), span_ihas(pk, "not null") ? "" : " not null");
		buf_add_str(&indexes, ", primary key (pk)");
	}
	plan_columns(c, t, &definitions, &indexes);
	buf_printf(&sql, "create table %s (%s%s)", t->name, definitions.len ? definitions.data + 2 : "pk int",
		indexes.len ? indexes.data : "");
	if (p[TABLE_PLAN_ENGINES].ptr && p[TABLE_PLAN_ENGINES].len)
		buf_printf(&sql, " engine=%.*s", SPAN_ARG(p[TABLE_PLAN_ENGINES]));
	if (p[TABLE_PLAN_ROW_FORMATS].ptr && p[TABLE_PLAN_ROW_FORMATS].len)
		buf_printf(&sql, " row_format=%.*s", SPAN_ARG(p[TABLE_PLAN_ROW_FORMATS]));
	if (p[TABLE_PLAN_TABLE_CHARSETS].ptr && p[TABLE_PLAN_TABLE_CHARSETS].len)
		buf_printf(&sql, " character set %.*s", SPAN_ARG(p[TABLE_PLAN_TABLE_CHARSETS]));
	if (p[TABLE_PLAN_TABLE_COLLATIONS].ptr && p[TABLE_PLAN_TABLE_COLLATIONS].len)
		buf_printf(&sql, " collate %.*s", SPAN_ARG(p[TABLE_PLAN_TABLE_COLLATIONS]));
	if (p[TABLE_PLAN_PARTITIONS].ptr && p[TABLE_PLAN_PARTITIONS].len)
		buf_printf(&sql, "%s%.*s", span_ihas(p[TABLE_PLAN_PARTITIONS], "partition by") ? " " : " partition by ", SPAN_ARG(p[TABLE_PLAN_PARTITIONS]));
	t->create = arena_copy(&c->g->arena, buf_span(&sql)).ptr;
	buf_release(&definitions);
	buf_release(&indexes);
	buf_release(&sql);
}

/* A value of enum('a','b') or set(...). */
static void add_listed(struct gen *g, struct span type, struct buf *out)
{
	uint64_t quotes = 0, chosen;
	size_t i = 0;

	for (i = 0; i < type.len; i++)
		quotes += type.ptr[i] == '\'';
	if (quotes < 2) {
		buf_add_str(out, "NULL");
		return;
	}
	chosen = below(g, quotes / 2);
	for (i = 0; i < type.len; i++) {
		if (type.ptr[i] != '\'')
			continue;
		if (chosen-- == 0)
			break;
		i++;
		while (i < type.len && type.ptr[i] != '\'')
			i++;
	}
	do
		buf_add_char(out, type.ptr[i]);
	while (++i < type.len && type.ptr[i] != '\'');
	buf_add_char(out, '\'');
}

/* A word of $data: digit, varchar(5) ... or a literal. */
static void add_datum(struct gen *g, struct span datum, struct buf *out)
{
	uint32_t size = 0;
	size_t len = datum.len;

	if (!datum.ptr || span_ieq_str(datum, "null")) {
		buf_add_str(out, "NULL");
		return;
	}
	for (size_t i = 0; i < datum.len; i++) {
		if (datum.ptr[i] != '(')
			continue;
		len = i;
		for (i++; i < datum.len && datum.ptr[i] >= '0' && datum.ptr[i] <= '9' && size < 100000; i++)
			size = size * 10 + (uint32_t)(datum.ptr[i] - '0');
		break;
	}
	for (unsigned w = 0; w < GRAMMAR_WORD_COUNT; w++) {
		if (!span_ieq_str(span_of(datum.ptr, len), grammar_word_name((enum grammar_word)w) + 1))
			continue;
		add_value(g, (enum grammar_word)w, size, false, out);
		return;
	}
	buf_add_char(out, '\'');
	for (size_t i = 0; i < datum.len; i++) {
		if (datum.ptr[i] == '\'' || datum.ptr[i] == '\\')
			buf_add_char(out, datum.ptr[i]);
		buf_add_char(out, datum.ptr[i]);
	}
	buf_add_char(out, '\'');
}

static void add_cell(struct grammar_case *c, const struct grammar_column *column, uint64_t row, struct buf *out)
{
	static const enum table_plan_key keys[] = {[CLASS_NUMBERS] = TABLE_PLAN_NUMBERS, [CLASS_STRINGS] = TABLE_PLAN_STRINGS,
		[CLASS_BLOBS] = TABLE_PLAN_BLOBS, [CLASS_TEMPORALS] = TABLE_PLAN_TEMPORALS};
	enum value_class class = class_of(column->type);

	if (column->pk)
		buf_printf(out, column->text ? "'%llu'" : "%llu", (unsigned long long)row + 1);
	else if (class == CLASS_LIST)
		add_listed(c->g, column->type, out);
	else
		add_datum(c->g, any_of(c, keys[class]), out);
}

/* IGNORE: values that a column refuses, and keys that are there, are no reason to do without the case. */
static bool add_rows(struct grammar_case *c, const struct grammar_table *t, struct scenario *s, struct err *err)
{
	enum { ROWS_PER_INSERT = 100 };
	struct buf sql = BUF_INIT;
	bool ok = true;

	for (uint64_t r = 0; r < t->rows && ok; r++) {
		if (r % ROWS_PER_INSERT == 0)
			buf_printf(&sql, "insert ignore into %s values ", t->name);
		buf_add_str(&sql, r % ROWS_PER_INSERT ? ", (" : "(");
		for (uint32_t i = 0; i < t->column_count; i++) {
			buf_add_str(&sql, i ? "," : "");
			add_cell(c, &t->columns[i], r, &sql);
		}
		buf_add_char(&sql, ')');
		if (r % ROWS_PER_INSERT == ROWS_PER_INSERT - 1 || r + 1 == t->rows) {
			ok = scenario_add(s, &s->setup, SCENARIO_NO_SESSION, buf_span(&sql), err);
			buf_clear(&sql);
		}
	}
	buf_release(&sql);
	return ok;
}

struct grammar_case *make_grammar_case(struct gen *g, const struct table_plan *plan)
{
	struct grammar_case *c = arena_zero(&g->arena, sizeof(*c));
	uint64_t count = combinations(plan, TABLE_PLAN_ROWS, TABLE_PLAN_TABLE_COLLATIONS);

	*c = (struct grammar_case){.g = g, .tables_plan = plan};
	c->tables = arena_zero(&g->arena, (size_t)count * sizeof(*c->tables));
	for (uint64_t i = 0; i < count; i++)
		plan_table(c, i);
	return c;
}

bool add_grammar_setup(struct grammar_case *c, struct scenario *s, struct err *err)
{
	bool ok = true;

	for (uint32_t i = 0; i < c->table_count && ok; i++)
		ok = scenario_add(s, &s->setup, SCENARIO_NO_SESSION, span_str(c->tables[i].create), err) &&
		     add_rows(c, &c->tables[i], s, err);
	return ok;
}

bool add_grammar_final(struct grammar_case *c, struct scenario *s, struct err *err)
{
	for (uint32_t i = 0; i < c->table_count; i++)
		if (!scenario_add(s, &s->final, SCENARIO_NO_SESSION, span_str(text(c->g, "select * from %s", c->tables[i].name)), err))
			return false;
	return true;
}

/* ---- texts ---- */

/* All columns, those that are indexed, and so on. */
static bool is_wanted(const struct grammar_column *column, enum grammar_word word)
{
	switch (word) {
	case WORD_FIELD_PK:
		return column->pk;
	case WORD_FIELD_NO_PK:
		return !column->pk;
	case WORD_FIELD_INDEXED:
	case WORD_FIELD_KEY:
		return column->indexed;
	case WORD_FIELD_UNINDEXED:
	case WORD_FIELD_NOKEY:
		return !column->indexed;
	case WORD_FIELD_INT:
		return column->number;
	case WORD_FIELD_INT_INDEXED:
		return column->number && column->indexed;
	case WORD_FIELD_CHAR:
		return column->text;
	case WORD_FIELD_CHAR_INDEXED:
		return column->text && column->indexed;
	default:
		return true;
	}
}

static const char *any_field(struct grammar_case *c, enum grammar_word word)
{
	const struct grammar_table *t = c->last;
	uint32_t count = 0, chosen;

	for (uint32_t i = 0; i < t->column_count; i++)
		count += is_wanted(&t->columns[i], word);
	if (!count)
		return t->column_count ? t->columns[below(c->g, t->column_count)].name : "pk";
	chosen = (uint32_t)below(c->g, count);
	for (uint32_t i = 0;; i++)
		if (is_wanted(&t->columns[i], word) && chosen-- == 0)
			return t->columns[i].name;
}

static void made_up(void *context, const struct grammar_item *item, struct buf *out)
{
	struct grammar_case *c = context;

	switch (item->word) {
	case WORD_TABLE:
	case WORD_BASETABLE:
		c->last = &c->tables[below(c->g, c->table_count)];
		buf_add_str(out, c->last->name);
		return;
	case WORD_FIELD:
	case WORD_FIELD_PK:
	case WORD_FIELD_NO_PK:
	case WORD_FIELD_INDEXED:
	case WORD_FIELD_KEY:
	case WORD_FIELD_UNINDEXED:
	case WORD_FIELD_NOKEY:
	case WORD_FIELD_INT:
	case WORD_FIELD_INT_INDEXED:
	case WORD_FIELD_CHAR:
	case WORD_FIELD_CHAR_INDEXED:
		buf_add_str(out, any_field(c, item->word));
		return;
	case WORD_FIELD_LIST:
		for (uint32_t i = 0; i < c->last->column_count; i++)
			buf_printf(out, "%s%s", i ? "," : "", c->last->columns[i].name);
		return;
	case WORD_FIELD_COUNT:
		buf_printf(out, "%u", c->last->column_count);
		return;
	case WORD_THREAD_ID:
		buf_printf(out, "%u", c->session + 1);
		return;
	case WORD_QUID:
		buf_printf(out, "%u", c->queries);
		return;
	case WORD_TMPTABLE:
	case WORD_TMPNAM:
		buf_printf(out, "tmp%u", ++c->g->numbers);
		return;
	default:
		add_value(c->g, item->word, item->size, item->quoted, out);
	}
}

static void add_statement(struct gen *g, struct txn *txn, struct span sql)
{
	while (sql.len && (sql.ptr[0] == ' ' || sql.ptr[0] == '\n' || sql.ptr[0] == '\t'))
		sql = span_of(sql.ptr + 1, sql.len - 1);
	while (sql.len && (sql.ptr[sql.len - 1] == ' ' || sql.ptr[sql.len - 1] == '\n' || sql.ptr[sql.len - 1] == '\t'))
		sql.len--;
	if (!sql.len)
		return;
	MEM_RESERVE(txn->steps, txn->count + 1, txn->capacity);
	txn->steps[txn->count++] = (struct step){.sql = arena_copy(&g->arena, sql).ptr, .edge = UINT32_MAX};
}

/* A text of the rule may be several statements. */
static void add_query(struct grammar_case *c, const struct grammar *grammar, uint32_t rule, struct txn *txn)
{
	struct grammar_expansion how = {.grammar = grammar, .random = &c->g->random, .word = made_up, .context = c};
	struct buf out = BUF_INIT;
	size_t begin = 0;

	c->last = &c->tables[below(c->g, c->table_count)];
	c->queries++;
	if (grammar_expand(&how, rule, &out)) {
		while (begin < out.len) {
			struct split split = split_statement(buf_span(&out), begin, SPAN_LIT(";"));
			size_t end = split.state == SPLIT_FOUND ? split.end : out.len;

			add_statement(c->g, txn, span_of(out.data + begin, end - begin));
			begin = end + 1;
		}
	}
	buf_release(&out);
}

/* The rule of this name for a session: of its own (thread1_init), or that of all (query_init). */
static uint32_t session_rule(const struct grammar *grammar, uint32_t session, const char *suffix)
{
	char name[64];
	uint32_t rule;

	snprintf(name, sizeof(name), "thread%u%s", session + 1, suffix);
	rule = grammar_rule(grammar, name);
	if (rule == UINT32_MAX) {
		snprintf(name, sizeof(name), "query%s", suffix);
		rule = grammar_rule(grammar, name);
	}
	if (rule == UINT32_MAX && strcmp(suffix, "_connect") == 0)
		rule = grammar_rule(grammar, "thread_connect");
	return rule;
}

static void make_session(struct grammar_case *c, const struct grammar *grammar, struct txn *txn)
{
	uint64_t texts = draw_number(c->g, FEATURE_PER_SESSION) * draw_number(c->g, FEATURE_LENGTH);
	uint32_t rule;

	c->session = txn->session;
	rule = session_rule(grammar, c->session, "_connect");
	if (rule != UINT32_MAX)
		add_query(c, grammar, rule, txn);
	rule = session_rule(grammar, c->session, "_init");
	if (rule != UINT32_MAX)
		add_query(c, grammar, rule, txn);
	rule = session_rule(grammar, c->session, "");
	for (uint64_t i = 0; i < texts && rule != UINT32_MAX; i++)
		add_query(c, grammar, rule, txn);
}

void make_grammar_plan(struct grammar_case *c, const struct grammar *grammar, struct plan *plan)
{
	*plan = (struct plan){.session_count = (uint32_t)draw_number(c->g, FEATURE_SESSIONS)};
	plan->txn_count = plan->session_count;
	plan->txns = mem_zero(plan->txn_count, sizeof(*plan->txns));
	draw_levels(c->g, plan);
	for (uint32_t i = 0; i < plan->session_count; i++) {
		plan->txns[i].session = i;
		make_session(c, grammar, &plan->txns[i]);
	}
}
