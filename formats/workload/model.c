/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/model.h"

#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/files.h"
#include "base/options.h"

/* ---- the list of features ---- */

#define WORD(name, word) word,
#define LIST(list, WORDS) static const char *const list##_words[] = {WORDS(WORD) NULL};
MODEL_WORD_LISTS(LIST)

#define NUMBER(id, in, word, low, high, text)                                                      \
	[id] = {.section = in, .kind = FEATURE_IS_NUMBER, .name = word, .min = low, .max = high, .help = text},
#define WORDS(id, in, word, list, text)                                                            \
	[id] = {.section = in, .kind = FEATURE_IS_WORD, .name = word, .words = list##_words, .help = text},
#define CHANCE(id, in, word, text) [id] = {.section = in, .kind = FEATURE_IS_CHANCE, .name = word, .help = text},
#define SPREAD(id, in, word, text) [id] = {.section = in, .kind = FEATURE_IS_SPREAD, .name = word, .help = text},
static const struct feature_def defs[FEATURE_COUNT] = {MODEL_FEATURES(NUMBER, WORDS, CHANCE, SPREAD)};

static const char *const section_names[] = {
#define X(name, word) [name] = (word),
	MODEL_SECTIONS(X)
#undef X
};

static const struct {
	const char *name, *text;
} builtin[] = {
#include "workload/models.inc"
};

const char *const model_names[] = {
#define MODEL_NAME(name) name,
#include "workload/model_names.inc"
	NULL,
};

const struct feature_def *feature_def(enum model_feature feature)
{
	return &defs[feature];
}

const char *model_section_name(enum model_section section)
{
	return section_names[section];
}

const char *model_text(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(builtin); i++)
		if (strcmp(builtin[i].name, name) == 0)
			return builtin[i].text;
	return NULL;
}

/* ---- reading ---- */

struct reader {
	const char *name;
	struct span text;
	size_t at, line_begin;
	uint32_t line;
	struct model *model;
	bool given[FEATURE_COUNT];
	struct err *err;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static char peek(const struct reader *r)
{
	return r->at < r->text.len ? r->text.ptr[r->at] : '\n';
}

static bool fail(struct reader *r, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Columns count characters. */
static bool fail(struct reader *r, size_t at, const char *fmt, ...)
{
	uint32_t column = 1;
	char what[600];
	va_list ap;

	for (size_t i = r->line_begin; i < at; i++)
		column += ((unsigned char)r->text.ptr[i] & 0xc0) != 0x80;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set_at(r->err, ERR_FORMAT, at, "%s:%u:%u: %s", r->name, r->line, column, what);
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->text.len && is_blank(r->text.ptr[r->at]))
		r->at++;
}

static bool at_end_of_line(struct reader *r)
{
	skip_blanks(r);
	return peek(r) == '\n' || peek(r) == '#';
}

static struct span take_name(struct reader *r)
{
	size_t begin = r->at;

	while (r->at < r->text.len && is_name(r->text.ptr[r->at]))
		r->at++;
	return span_of(r->text.ptr + begin, r->at - begin);
}

/* Digits; false after a message. */
static bool take_number(struct reader *r, uint64_t max, uint64_t *out)
{
	size_t begin = r->at;
	uint64_t value = 0;

	while (peek(r) >= '0' && peek(r) <= '9') {
		value = value * 10 + (uint64_t)(peek(r) - '0');
		if (value > max)
			return fail(r, begin, "at most %llu is allowed here", (unsigned long long)max);
		r->at++;
	}
	if (r->at == begin)
		return fail(r, begin, "a number is expected here");
	*out = value;
	return true;
}

/* 12, 12.5: in units of 1/scale (10 or 100). */
static bool take_fraction(struct reader *r, uint64_t max, uint32_t scale, uint32_t *out)
{
	size_t begin = r->at;
	uint64_t whole = 0;

	if (!take_number(r, max, &whole))
		return false;
	whole *= scale;
	if (peek(r) == '.') {
		r->at++;
		if (peek(r) < '0' || peek(r) > '9')
			return fail(r, r->at, "a digit is expected after the point");
		for (uint32_t unit = scale / 10; peek(r) >= '0' && peek(r) <= '9'; unit /= 10) {
			if (!unit)
				return fail(r, r->at, "one digit too many after the point");
			whole += (uint64_t)(peek(r) - '0') * unit;
			r->at++;
		}
	}
	if (whole > max * scale)
		return fail(r, begin, "at most %llu is allowed here", (unsigned long long)max);
	*out = (uint32_t)whole;
	return true;
}

static bool take_char(struct reader *r, char c)
{
	if (peek(r) != c)
		return fail(r, r->at, "\"%c\" is expected here", c);
	r->at++;
	return true;
}

static bool take_percent(struct reader *r, uint32_t *per_mille)
{
	return take_fraction(r, 100, 10, per_mille) && take_char(r, '%');
}

/* "a, b, c" */
static void list_words(const char *const *words, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; words[i] && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "", words[i]);
}

static bool take_word(struct reader *r, const struct feature_def *def, uint64_t *number)
{
	size_t begin = r->at;
	struct span word = take_name(r);
	char all[500];

	for (size_t i = 0; def->words[i]; i++) {
		*number = i;
		if (span_eq_str(word, def->words[i]))
			return true;
	}
	list_words(def->words, all, sizeof(all));
	return fail(r, begin, "\"%.*s\" is no value of %s; there are: %s", SPAN_ARG(word), def->name, all);
}

static bool take_range(struct reader *r, const struct feature_def *def, struct model_item *item)
{
	size_t begin = r->at;

	if (!take_number(r, def->max, &item->low))
		return false;
	item->high = item->low;
	if (peek(r) == '.') {
		r->at++;
		if (!take_char(r, '.') || !take_number(r, def->max, &item->high))
			return false;
	}
	if (item->high < item->low)
		return fail(r, begin, "the range ends before it begins");
	if (item->low < def->min)
		return fail(r, begin, "%s is at least %llu", def->name, (unsigned long long)def->min);
	return true;
}

static bool take_items(struct reader *r, const struct feature_def *def, struct model_values *values)
{
	size_t begin = r->at;

	values->count = 0;
	values->weight = 0;
	while (!at_end_of_line(r)) {
		struct model_item *item = &values->items[values->count];
		uint64_t weight = 1;

		if (values->count == MODEL_ITEMS_MAX)
			return fail(r, r->at, "more than %d values", MODEL_ITEMS_MAX);
		if (def->kind == FEATURE_IS_WORD ? !take_word(r, def, &item->low) : !take_range(r, def, item))
			return false;
		if (peek(r) == ':') {
			r->at++;
			if (!take_number(r, MODEL_WEIGHT_MAX, &weight))
				return false;
		}
		if (!is_blank(peek(r)) && peek(r) != '\n' && peek(r) != '#')
			return fail(r, r->at, "a blank is expected between values");
		item->weight = (uint32_t)weight;
		values->weight += weight;
		values->count++;
	}
	if (!values->weight)
		return fail(r, begin, "%s needs a value with a weight that is not 0", def->name);
	return true;
}

static bool take_spread(struct reader *r, struct spread *out)
{
	size_t begin = r->at;
	struct span word = take_name(r);

	*out = (struct spread){.kind = SPREAD_UNIFORM};
	if (span_eq_str(word, "uniform"))
		return true;
	if (span_eq_str(word, "zipf")) {
		out->kind = SPREAD_ZIPF;
		return take_char(r, '(') && take_fraction(r, 4, 100, &out->exponent) && take_char(r, ')');
	}
	if (span_eq_str(word, "hotspot")) {
		out->kind = SPREAD_HOTSPOT;
		if (!take_char(r, '(') || !take_percent(r, &out->hot_items))
			return false;
		skip_blanks(r);
		return take_percent(r, &out->hot_share) && take_char(r, ')');
	}
	return fail(r, begin, "\"%.*s\" is no spread; there are: uniform, zipf(0.9), hotspot(10%%, 90%%)",
		SPAN_ARG(word));
}

static bool take_values(struct reader *r, enum model_feature feature)
{
	struct model_values *values = &r->model->features[feature];

	skip_blanks(r);
	switch (defs[feature].kind) {
	case FEATURE_IS_NUMBER:
	case FEATURE_IS_WORD:
		return take_items(r, &defs[feature], values);
	case FEATURE_IS_CHANCE:
		return take_percent(r, &values->chance);
	case FEATURE_IS_SPREAD:
		return take_spread(r, &values->spread);
	}
	return false;
}

static bool find_feature(struct reader *r, size_t at, struct span name, int section, enum model_feature *out)
{
	char text[MODEL_NAME_MAX + 1];
	const char *names[FEATURE_COUNT + 1] = {NULL}, *near;
	size_t count = 0;

	if (section < 0)
		return fail(r, at, "a section is expected before the first feature: [schema]");
	for (unsigned f = 0; f < FEATURE_COUNT; f++) {
		if (!span_eq_str(name, defs[f].name)) {
			names[count++] = defs[f].name;
			continue;
		}
		if ((int)defs[f].section != section)
			return fail(r, at, "%s belongs to [%s]", defs[f].name, section_names[defs[f].section]);
		if (r->given[f])
			return fail(r, at, "%s is here twice", defs[f].name);
		r->given[f] = true;
		*out = (enum model_feature)f;
		return true;
	}
	snprintf(text, sizeof(text), "%.*s", SPAN_ARG(name));
	near = nearest_word(text, names);
	return fail(r, at, "there is no feature \"%s\"%s%s%s", text, near ? "; is \"" : "", near ? near : "",
		near ? "\" meant?" : "");
}

static bool take_section(struct reader *r, int *section)
{
	size_t begin = ++r->at;
	struct span word = take_name(r);

	for (int i = 0; i < SECTION_COUNT; i++) {
		if (!span_eq_str(word, section_names[i]))
			continue;
		*section = i;
		return take_char(r, ']');
	}
	return fail(r, begin, "there are the sections [schema], [data], [statements], [transactions] and [schedule]");
}

static bool parse_into(struct model *out, struct span text, const char *name, struct err *err);

/* `like NAME`: before the first section. */
static bool take_base(struct reader *r, int section)
{
	size_t begin = r->at;
	struct span word;
	char base[MODEL_NAME_MAX + 1];

	if (section >= 0 || r->given[0])
		return fail(r, begin, "\"like\" comes before the first section");
	skip_blanks(r);
	begin = r->at;
	word = take_name(r);
	snprintf(base, sizeof(base), "%.*s", SPAN_ARG(word));
	if (!model_text(base) || strcmp(base, r->name) == 0)
		return fail(r, begin, "there is no built-in model \"%s\"", base);
	/* Built-in models build on `default` alone, so this ends. */
	return parse_into(r->model, span_str(model_text(base)), base, r->err);
}

static bool take_line(struct reader *r, int *section)
{
	size_t begin;
	struct span word;
	enum model_feature feature = FEATURE_TABLES;

	if (at_end_of_line(r))
		return true;
	if (peek(r) == '[')
		return take_section(r, section);
	begin = r->at;
	word = take_name(r);
	if (!word.len)
		return fail(r, begin, "a section or a feature is expected here");
	skip_blanks(r);
	if (span_eq_str(word, "like") && peek(r) != '=')
		return take_base(r, *section);
	if (!find_feature(r, begin, word, *section, &feature))
		return false;
	return take_char(r, '=') && take_values(r, feature);
}

static bool parse_into(struct model *out, struct span text, const char *name, struct err *err)
{
	struct reader r = {.name = name, .text = text, .line = 1, .model = out, .err = err};
	int section = -1;

	if (text.len > MODEL_TEXT_MAX)
		return err_set(err, ERR_LIMIT, "%s is larger than any model (64 KiB)", name);
	while (r.at < text.len) {
		if (!take_line(&r, &section))
			return false;
		if (!at_end_of_line(&r))
			return fail(&r, r.at, "the line should end here");
		while (peek(&r) != '\n')
			r.at++;
		r.at++;
		r.line_begin = r.at;
		r.line++;
	}
	return true;
}

bool model_parse(struct model *out, struct span text, const char *name, struct err *err)
{
	const char *slash = strrchr(name, '/');
	bool ok;

	*out = (struct model){.name = ""};
	snprintf(out->name, sizeof(out->name), "%s", slash ? slash + 1 : name);
	if (strchr(out->name, '.'))
		*strchr(out->name, '.') = '\0';
	ok = parse_into(out, span_str(model_text("default")), "default", err);
	return ok && parse_into(out, text, name, err);
}

bool model_builtin(struct model *out, const char *name, struct err *err)
{
	const char *text = model_text(name);
	char all[300];

	if (text)
		return model_parse(out, span_str(text), name, err);
	list_words(model_names, all, sizeof(all));
	return err_set(err, ERR_USAGE, "there is no model \"%s\"; built in are: %s", name, all);
}

bool model_open(struct model *out, const char *name, struct err *err)
{
	struct buf text = BUF_INIT;
	bool ok;

	if (model_text(name) || !strpbrk(name, "./"))
		return model_builtin(out, name, err);
	ok = file_read(name, MODEL_TEXT_MAX, &text, err) && model_parse(out, buf_span(&text), name, err);
	buf_release(&text);
	return ok;
}

/* ---- writing ---- */

static void print_tenths(struct buf *out, uint32_t per_mille)
{
	buf_printf(out, "%u", per_mille / 10);
	if (per_mille % 10)
		buf_printf(out, ".%u", per_mille % 10);
	buf_add_char(out, '%');
}

static void print_spread(struct buf *out, const struct spread *spread)
{
	switch (spread->kind) {
	case SPREAD_UNIFORM:
		buf_add_str(out, "uniform");
		return;
	case SPREAD_ZIPF:
		buf_printf(out, "zipf(%u.%02u)", spread->exponent / 100, spread->exponent % 100);
		return;
	case SPREAD_HOTSPOT:
		buf_add_str(out, "hotspot(");
		print_tenths(out, spread->hot_items);
		buf_add_str(out, ", ");
		print_tenths(out, spread->hot_share);
		buf_add_char(out, ')');
		return;
	}
}

static void print_items(struct buf *out, const struct feature_def *def, const struct model_values *values)
{
	for (uint32_t i = 0; i < values->count; i++) {
		const struct model_item *item = &values->items[i];

		if (i)
			buf_add_char(out, ' ');
		if (def->words)
			buf_add_str(out, def->words[item->low]);
		else
			buf_printf(out, "%llu", (unsigned long long)item->low);
		if (!def->words && item->high != item->low)
			buf_printf(out, "..%llu", (unsigned long long)item->high);
		if (item->weight != 1)
			buf_printf(out, ":%u", item->weight);
	}
}

void model_print(const struct model *model, struct buf *out)
{
	int section = -1;

	for (unsigned f = 0; f < FEATURE_COUNT; f++) {
		const struct model_values *values = &model->features[f];

		if ((int)defs[f].section != section) {
			section = (int)defs[f].section;
			buf_printf(out, "[%s]\n", section_names[section]);
		}
		buf_printf(out, "%s = ", defs[f].name);
		switch (defs[f].kind) {
		case FEATURE_IS_NUMBER:
		case FEATURE_IS_WORD:
			print_items(out, &defs[f], values);
			break;
		case FEATURE_IS_CHANCE:
			print_tenths(out, values->chance);
			break;
		case FEATURE_IS_SPREAD:
			print_spread(out, &values->spread);
			break;
		}
		buf_add_char(out, '\n');
	}
}

/* ---- drawing ---- */

static const struct model_item *draw(const struct model_values *values, struct random_source *r)
{
	uint64_t at = random_below(r, values->weight);
	const struct model_item *item = values->items;

	while (at >= item->weight)
		at -= item++->weight;
	return item;
}

uint64_t model_number(const struct model *m, enum model_feature feature, struct random_source *r)
{
	const struct model_item *item = draw(&m->features[feature], r);

	CHECK(defs[feature].kind == FEATURE_IS_NUMBER);
	return random_between(r, item->low, item->high);
}

unsigned model_word(const struct model *m, enum model_feature feature, struct random_source *r)
{
	CHECK(defs[feature].kind == FEATURE_IS_WORD);
	return (unsigned)draw(&m->features[feature], r)->low;
}

bool model_chance(const struct model *m, enum model_feature feature, struct random_source *r)
{
	CHECK(defs[feature].kind == FEATURE_IS_CHANCE);
	return random_chance(r, m->features[feature].chance);
}

bool model_has(const struct model *m, enum model_feature feature, unsigned word)
{
	const struct model_values *values = &m->features[feature];

	for (uint32_t i = 0; i < values->count; i++)
		if (values->items[i].low == word && values->items[i].weight)
			return true;
	return false;
}
