/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/grammar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/siphash.h"

#define NEVER UINT32_MAX
#define NO_RULE UINT32_MAX

static const char *const word_names[GRAMMAR_WORD_COUNT] = {
#define X(name, word) word,
	GRAMMAR_WORDS(X)
#undef X
};

const char *grammar_word_name(enum grammar_word word)
{
	return word_names[word];
}

/* ---- reading ---- */

struct reader {
	struct grammar *grammar;
	const char *path; /* NULL: a text, which cannot include files */
	const char *name;
	struct span text;
	size_t at;
	size_t counted; /* bytes that are in `line` and `column` */
	uint32_t line, column;
	unsigned nesting;
	size_t first_rule; /* of the file that the user named: those of an earlier file are replaced */
	struct err *err;
};

static bool fail(const struct reader *r, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static uint32_t line_of(const struct reader *r, size_t at)
{
	uint32_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += r->text.ptr[i] == '\n';
	return line;
}

/* Columns count characters. */
static bool fail(const struct reader *r, size_t at, const char *fmt, ...)
{
	uint32_t column = 1;
	char what[600];
	va_list ap;

	for (size_t i = at; i-- > 0 && r->text.ptr[i] != '\n';)
		column += ((unsigned char)r->text.ptr[i] & 0xc0) != 0x80;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set_at(r->err, ERR_FORMAT, at, "%s:%u:%u: %s", r->name, line_of(r, at), column, what);
}

/* Lines and columns as the text goes by: a long text is not counted anew for each word. */
static void count_to(struct reader *r, size_t at)
{
	for (; r->counted < at; r->counted++) {
		bool ends = r->text.ptr[r->counted] == '\n';

		r->line += ends;
		r->column = ends ? 1 : r->column + (((unsigned char)r->text.ptr[r->counted] & 0xc0) != 0x80);
	}
}

static bool at_comment(const struct reader *r, size_t at)
{
	return r->text.ptr[at] == '#';
}

static size_t end_of_line(const struct reader *r, size_t at)
{
	while (at < r->text.len && r->text.ptr[at] != '\n')
		at++;
	return at;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->text.len) {
		if (at_comment(r, r->at))
			r->at = end_of_line(r, r->at);
		else if (char_is_blank(r->text.ptr[r->at]))
			r->at++;
		else
			break;
	}
}

static struct span take_word(struct reader *r)
{
	size_t begin = r->at;

	while (r->at < r->text.len && char_is_name(r->text.ptr[r->at]))
		r->at++;
	return span_of(r->text.ptr + begin, r->at - begin);
}

static uint32_t find_rule(const struct grammar *g, struct span name)
{
	uint32_t number = strtab_find(&g->names, name);

	return number == STRTAB_NONE ? NO_RULE : number - 1;
}

uint32_t grammar_rule(const struct grammar *g, const char *name)
{
	return find_rule(g, span_str(name));
}

/* A semicolon ends a rule where nothing but blanks and a comment follows on its line. */
static bool ends_rule(const struct reader *r, size_t at)
{
	for (at++; at < r->text.len && r->text.ptr[at] != '\n'; at++) {
		if (at_comment(r, at))
			return true;
		if (!char_is_blank(r->text.ptr[at]))
			return false;
	}
	return true;
}

/* ---- alternatives ---- */

struct items {
	struct grammar_item *items;
	size_t count, capacity;
};

static void add_item(struct items *items, struct grammar_item item)
{
	MEM_RESERVE(items->items, items->count + 1, items->capacity);
	items->items[items->count++] = item;
}

/* Texts side by side are one. */
static void add_text(struct items *items, struct span text)
{
	struct grammar_item *last = items->count ? &items->items[items->count - 1] : NULL;

	if (last && last->kind == ITEM_TEXT && last->text.ptr + last->text.len == text.ptr)
		last->text.len += text.len;
	else
		add_item(items, (struct grammar_item){.kind = ITEM_TEXT, .text = text});
}

/* Introducers of character sets begin with `_`, too, and are SQL. */
static bool is_introducer(struct span word)
{
	static const char *const names[] = {"_utf8", "_utf8mb3", "_utf8mb4", "_latin1", "_binary", "_ascii", "_ucs2", "_utf16",
		"_utf32", "_cp1251", "_cp1252", "_koi8r", "_sjis", "_gbk", "_big5"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_ieq_str(word, names[i]))
			return true;
	return false;
}

static bool take_size(struct reader *r, uint32_t *out)
{
	size_t at = r->at + 1;
	uint64_t n = 0;

	*out = 0;
	if (r->at >= r->text.len || r->text.ptr[r->at] != '(')
		return true;
	while (at < r->text.len && r->text.ptr[at] >= '0' && r->text.ptr[at] <= '9' && n <= 65535)
		n = n * 10 + (uint64_t)(r->text.ptr[at++] - '0');
	if (at == r->at + 1 || at >= r->text.len || r->text.ptr[at] != ')')
		return true; /* it is a parenthesis of SQL */
	if (n < 1 || n > 65535)
		return fail(r, r->at + 1, "a length is 1 to 65535");
	*out = (uint32_t)n;
	r->at = at + 1;
	return true;
}

static bool takes_size(enum grammar_word word)
{
	return word == WORD_CHAR || word == WORD_VARCHAR || word == WORD_STRING || word == WORD_TEXT || word == WORD_BIT ||
	       word == WORD_ENGLISH;
}

static bool take_invariant(struct reader *r)
{
	static const char mark[] = "[invariant]";
	size_t len = sizeof(mark) - 1;

	if (r->text.len - r->at < len || !span_ieq_str(span_of(r->text.ptr + r->at, len), mark))
		return false;
	r->at += len;
	return true;
}

static enum grammar_word word_named(struct span name)
{
	unsigned w = 0;

	while (w < GRAMMAR_WORD_COUNT && !span_ieq_str(name, word_names[w]))
		w++;
	return (enum grammar_word)w;
}

/* Rules may stand later in the text, and have any name, so what a word is is settled at the end (settle()). */
static bool add_word(struct reader *r, struct items *items, bool quoted)
{
	size_t at = r->at;
	struct span name = take_word(r);
	struct grammar_item item = {.kind = ITEM_RULE, .text = name, .quoted = quoted, .rule = NO_RULE, .word = GRAMMAR_WORD_COUNT};

	if (name.ptr[0] == '_') {
		item.word = word_named(name);
		count_to(r, at);
		item.line = r->line;
		item.column = r->column;
	}
	if (item.word < GRAMMAR_WORD_COUNT && takes_size(item.word) && !take_size(r, &item.size))
		return false;
	item.invariant = take_invariant(r);
	add_item(items, item);
	return true;
}

static bool take_quoted(struct reader *r, struct items *items)
{
	size_t begin = r->at;
	char quote = r->text.ptr[r->at];

	add_text(items, span_of(r->text.ptr + r->at++, 1));
	while (r->at < r->text.len && r->text.ptr[r->at] != quote) {
		char c = r->text.ptr[r->at];

		if (c == '_' && (r->at == begin + 1 || !char_is_name(r->text.ptr[r->at - 1]))) {
			size_t at = r->at;
			bool known = word_named(take_word(r)) != GRAMMAR_WORD_COUNT;

			r->at = at;
			if (known) {
				if (!add_word(r, items, true))
					return false;
				continue;
			}
		}
		if (c == '\\' && r->at + 1 < r->text.len) {
			add_text(items, span_of(r->text.ptr + r->at++, 1));
		}
		add_text(items, span_of(r->text.ptr + r->at++, 1));
	}
	if (r->at >= r->text.len)
		return fail(r, begin, "the quote that opens here is not closed");
	add_text(items, span_of(r->text.ptr + r->at++, 1));
	return true;
}

/* Up to a bar, or the semicolon that ends the rule. */
static bool take_alternative(struct reader *r, struct grammar_alternative *out, bool *last)
{
	struct items items = {NULL, 0, 0};
	bool ok = true;

	*last = false;
	skip_blanks(r);
	while (ok && r->at < r->text.len) {
		char c = r->text.ptr[r->at];

		if (c == '|' && !(r->at + 1 < r->text.len && r->text.ptr[r->at + 1] == '|')) {
			r->at++;
			break;
		}
		if (c == ';' && ends_rule(r, r->at)) {
			r->at++;
			*last = true;
			break;
		}
		if (c == '{') {
			ok = fail(r, r->at, "Perl code cannot be run: write a rule in its place");
		} else if (c == '$') {
			ok = fail(r, r->at, "Perl variables are not there: write a rule, or a word with [invariant]");
		} else if (c == '\'' || c == '"' || c == '`') {
			ok = take_quoted(r, &items);
		} else if (char_is_name(c)) {
			ok = add_word(r, &items, false);
		} else if (at_comment(r, r->at) || char_is_blank(c)) {
			/* Any blanks are one. */
			add_item(&items, (struct grammar_item){.kind = ITEM_TEXT, .text = SPAN_LIT(" ")});
			skip_blanks(r);
		} else if (c == '|') {
			add_text(&items, span_of(r->text.ptr + r->at, 2));
			r->at += 2;
		} else {
			add_text(&items, span_of(r->text.ptr + r->at++, 1));
		}
	}
	if (ok && r->at >= r->text.len)
		*last = true; /* the end of the file ends the last rule, too */
	out->count = (uint32_t)items.count;
	out->items = arena_alloc(&r->grammar->arena, items.count * sizeof(*out->items) + 1);
	if (items.count)
		memcpy(out->items, items.items, items.count * sizeof(*out->items));
	mem_free(items.items);
	return ok;
}

static bool take_rule(struct reader *r)
{
	struct grammar *g = r->grammar;
	struct grammar_rule rule = {.file = r->name};
	struct grammar_alternative *alternatives = NULL;
	size_t count = 0, capacity = 0, begin = r->at;
	uint32_t known;
	bool last = false, ok = true;

	count_to(r, r->at);
	rule.line = r->line;
	rule.name = take_word(r);
	if (!rule.name.len)
		return fail(r, r->at, "a rule is expected here: name, colon, alternatives, and a semicolon at the end of a line");
	skip_blanks(r);
	if (r->at >= r->text.len || r->text.ptr[r->at] != ':')
		return fail(r, begin, "%.*s: a colon is expected after the name of a rule", (int)(rule.name.len < 80 ? rule.name.len : 80), rule.name.ptr);
	r->at++;
	while (ok && !last) {
		MEM_RESERVE(alternatives, count + 1, capacity);
		ok = take_alternative(r, &alternatives[count++], &last);
	}
	rule.alternatives = arena_alloc(&g->arena, count * sizeof(*alternatives) + 1);
	memcpy(rule.alternatives, alternatives, count * sizeof(*alternatives));
	rule.count = (uint32_t)count;
	mem_free(alternatives);
	if (!ok)
		return false;
	known = find_rule(g, rule.name);
	if (known != NO_RULE && known >= r->first_rule)
		return fail(r, begin, "the rule %.*s is there already, in %s:%u", SPAN_ARG(rule.name), g->rules[known].file,
			g->rules[known].line);
	if (known != NO_RULE) {
		g->rules[known] = rule;
		return true;
	}
	if (g->rule_count == GRAMMAR_RULES_MAX)
		return fail(r, begin, "more than %d rules", GRAMMAR_RULES_MAX);
	MEM_RESERVE(g->rules, g->rule_count + 1, g->rule_capacity);
	(void)strtab_add(&g->names, rule.name); /* number + 1: 0 is the empty text */
	g->rules[g->rule_count++] = rule;
	return true;
}

/* ---- files ---- */

static bool read_file(struct grammar *g, const char *path, unsigned nesting, size_t first_rule, struct err *err);

/* #include "FILE", beside the file that includes it. */
static bool take_include(struct reader *r)
{
	size_t begin = r->at, end = end_of_line(r, r->at);
	struct span line = span_of(r->text.ptr + begin + strlen("#include"), end - begin - strlen("#include"));
	struct buf path = BUF_INIT;
	const char *slash = strrchr(r->path ? r->path : "", '/');
	size_t first = 0, last;
	bool ok;

	while (first < line.len && char_is_blank(line.ptr[first]))
		first++;
	last = line.len;
	while (last > first && char_is_blank(line.ptr[last - 1]))
		last--;
	if (last - first < 3 || !((line.ptr[first] == '"' && line.ptr[last - 1] == '"') ||
				    (line.ptr[first] == '<' && line.ptr[last - 1] == '>')))
		return fail(r, begin, "#include takes the name of a file in quotes");
	if (!r->path)
		return fail(r, begin, "a grammar that is no file cannot include one");
	if (slash && line.ptr[first + 1] != '/')
		buf_add(&path, r->path, (size_t)(slash - r->path) + 1);
	buf_add(&path, line.ptr + first + 1, last - first - 2);
	ok = read_file(r->grammar, arena_copy(&r->grammar->arena, buf_span(&path)).ptr, r->nesting + 1, r->first_rule, r->err);
	if (!ok)
		err_prefix(r->err, "included from %s:%u", r->name, line_of(r, begin));
	buf_release(&path);
	r->at = end;
	return ok;
}

static bool read_text(struct reader *r)
{
	for (;;) {
		while (r->at < r->text.len && (char_is_blank(r->text.ptr[r->at]) || at_comment(r, r->at))) {
			if (r->text.len - r->at > 8 && memcmp(r->text.ptr + r->at, "#include", 8) == 0 &&
				char_is_blank(r->text.ptr[r->at + 8])) {
				if (!take_include(r))
					return false;
			} else if (at_comment(r, r->at)) {
				r->at = end_of_line(r, r->at);
			} else {
				r->at++;
			}
		}
		if (r->at >= r->text.len)
			return true;
		if (!take_rule(r))
			return false;
	}
}

static bool read_file(struct grammar *g, const char *path, unsigned nesting, size_t first_rule, struct err *err)
{
	struct reader r = {.grammar = g, .path = path, .name = path, .line = 1, .column = 1, .nesting = nesting, .first_rule = first_rule, .err = err};
	struct buf text = BUF_INIT;
	bool ok;

	if (nesting > GRAMMAR_INCLUDES_MAX)
		return err_set(err, ERR_LIMIT, "%s: files include each other more than %d deep", path, GRAMMAR_INCLUDES_MAX);
	ok = file_read(path, GRAMMAR_TEXT_MAX, &text, err);
	if (ok) {
		r.text = arena_copy(&g->arena, buf_span(&text));
		g->digest = g->digest * 31 + siphash_digest(r.text.ptr, r.text.len);
		ok = read_text(&r);
	}
	buf_release(&text);
	return ok;
}

/* ---- when all rules are known ---- */

/* A rule, or else something made up, or else SQL. */
static bool settle_item(const struct grammar *g, const struct grammar_rule *rule, struct grammar_item *item, struct err *err)
{
	if (item->kind != ITEM_RULE)
		return true;
	item->rule = find_rule(g, item->text);
	if (item->rule != NO_RULE)
		return true;
	if (item->word < GRAMMAR_WORD_COUNT) {
		item->kind = ITEM_WORD;
		return true;
	}
	item->kind = ITEM_TEXT;
	if (item->line && item->text.len > 1 && !is_introducer(item->text))
		return err_set(err, ERR_FORMAT,
			"%s:%u:%u: %.*s is neither a rule nor a word that is known here; docs/grammars.md has the list", rule->file,
			item->line, item->column, (int)(item->text.len < 80 ? item->text.len : 80), item->text.ptr);
	return true;
}

static bool settle(struct grammar *g, struct err *err)
{
	for (size_t i = 0; i < g->rule_count; i++)
		for (uint32_t a = 0; a < g->rules[i].count; a++)
			for (uint32_t k = 0; k < g->rules[i].alternatives[a].count; k++)
				if (!settle_item(g, &g->rules[i], &g->rules[i].alternatives[a].items[k], err))
					return false;
	return true;
}

static uint32_t depth_of(const struct grammar *g, const struct grammar_alternative *alternative)
{
	uint32_t depth = 0;

	for (uint32_t k = 0; k < alternative->count; k++) {
		const struct grammar_item *item = &alternative->items[k];
		uint32_t inside = item->kind == ITEM_RULE ? g->rules[item->rule].depth : 0;

		if (inside == NEVER)
			return NEVER;
		if (item->kind == ITEM_RULE && inside + 1 > depth)
			depth = inside + 1;
	}
	return depth;
}

/* How soon each rule can end: the least fixpoint. */
static bool find_depths(struct grammar *g, struct err *err)
{
	bool changed = true;

	for (size_t i = 0; i < g->rule_count; i++)
		g->rules[i].depth = NEVER;
	for (bool forward = false; changed; forward = !forward) { /* chains of rules go one way or the other */
		changed = false;
		for (size_t i = 0; i < g->rule_count; i++) {
			struct grammar_rule *rule = &g->rules[forward ? i : g->rule_count - 1 - i];

			for (uint32_t a = 0; a < rule->count; a++) {
				uint32_t depth = depth_of(g, &rule->alternatives[a]);

				rule->alternatives[a].depth = depth;
				if (depth < rule->depth) {
					rule->depth = depth;
					changed = true;
				}
			}
		}
	}
	for (size_t i = 0; i < g->rule_count; i++)
		if (g->rules[i].depth == NEVER)
			return err_set(err, ERR_FORMAT, "%s:%u: the rule %.*s never ends: each of its alternatives needs a rule that needs itself",
				g->rules[i].file, g->rules[i].line, SPAN_ARG(g->rules[i].name));
	return true;
}

static bool has_start(const struct grammar *g)
{
	for (size_t i = 0; i < g->rule_count; i++) {
		struct span name = g->rules[i].name;

		if (span_eq_str(name, "query") ||
			(name.len > 6 && memcmp(name.ptr, "thread", 6) == 0 && name.ptr[6] >= '1' && name.ptr[6] <= '9'))
			return true;
	}
	return false;
}

static bool finish(struct grammar *g, const char *name, bool ok, struct err *err)
{
	ok = ok && settle(g, err);
	ok = ok && find_depths(g, err);
	if (ok && !has_start(g))
		ok = err_set(err, ERR_FORMAT, "%s: there is no rule `query`, nor `thread1`: where does it begin?", name);
	if (!ok)
		grammar_release(g);
	return ok;
}

bool grammar_open(struct grammar *out, const char *const *paths, size_t count, struct err *err)
{
	bool ok = true;

	*out = (struct grammar){.arena = ARENA_INIT, .names = STRTAB_INIT};
	for (size_t i = 0; i < count && ok; i++)
		ok = read_file(out, paths[i], 0, out->rule_count, err);
	return finish(out, paths[0], ok, err);
}

bool grammar_parse(struct grammar *out, struct span text, const char *name, struct err *err)
{
	struct reader r = {.grammar = out, .name = name, .line = 1, .column = 1, .err = err};

	*out = (struct grammar){.arena = ARENA_INIT, .names = STRTAB_INIT};
	r.text = arena_copy(&out->arena, text);
	out->digest = siphash_digest(text.ptr, text.len);
	return finish(out, name, read_text(&r), err);
}

void grammar_release(struct grammar *g)
{
	arena_release(&g->arena);
	strtab_release(&g->names);
	mem_free(g->rules);
	*g = (struct grammar){.arena = ARENA_INIT, .names = STRTAB_INIT};
}

/* ---- masks ---- */

/* One of those that end soonest stays, so that every rule ends as soon as before. */
static uint32_t choose_kept(const struct grammar_rule *rule, struct random_source *random)
{
	uint32_t soonest = 0, at;

	for (uint32_t a = 0; a < rule->count; a++)
		soonest += rule->alternatives[a].depth == rule->depth;
	at = (uint32_t)random_below(random, soonest);
	for (uint32_t a = 0;; a++)
		if (rule->alternatives[a].depth == rule->depth && at-- == 0)
			return a;
}

static void mask_rule(struct grammar *g, uint32_t number, struct random_source *random, unsigned level, bool *seen)
{
	struct grammar_rule *rule = &g->rules[number];
	uint32_t kept = 0, stays;

	if (seen[number])
		return;
	seen[number] = true;
	stays = choose_kept(rule, random);
	for (uint32_t a = 0; a < rule->count; a++) {
		bool keeps = random_chance(random, 500);

		if (keeps || a == stays)
			rule->alternatives[kept++] = rule->alternatives[a];
	}
	rule->count = kept;
	for (uint32_t a = 0; a < rule->count && level > 1; a++)
		for (uint32_t k = 0; k < rule->alternatives[a].count; k++)
			if (rule->alternatives[a].items[k].kind == ITEM_RULE)
				mask_rule(g, rule->alternatives[a].items[k].rule, random, level - 1, seen);
}

void grammar_mask(struct grammar *g, uint64_t mask, unsigned level)
{
	uint32_t query = grammar_rule(g, "query");
	bool *seen = mem_zero(g->rule_count + 1, sizeof(*seen));
	struct random_source random;

	random_seed(&random, mask, 0);
	if (query != NO_RULE)
		mask_rule(g, query, &random, level, seen);
	g->digest = (g->digest * 31 + mask) * 31 + level;
	mem_free(seen);
}

/* ---- expanding ---- */

struct invariant {
	const struct grammar_item *item;
	size_t at, len; /* in `texts` */
};

struct expanding {
	struct grammar_expansion *how;
	struct buf *out;
	size_t begin;
	uint64_t steps;
	struct buf texts;
	struct invariant *invariants;
	size_t invariant_count, invariant_capacity;
};

static bool same_invariant(const struct grammar_item *a, const struct grammar_item *b)
{
	return a->kind == b->kind && (a->kind == ITEM_RULE ? a->rule == b->rule : a->word == b->word && a->size == b->size);
}

static void expand_rule(struct expanding *x, uint32_t number, unsigned depth);

static void expand_item(struct expanding *x, const struct grammar_item *item, unsigned depth)
{
	size_t begin = x->out->len;

	if (++x->steps > GRAMMAR_STEPS_MAX || x->out->len - x->begin > GRAMMAR_EXPANSION_MAX)
		return;
	if (item->kind == ITEM_TEXT) {
		buf_add_span(x->out, item->text);
		return;
	}
	for (size_t i = 0; i < x->invariant_count && item->invariant; i++) {
		if (!same_invariant(x->invariants[i].item, item))
			continue;
		buf_add(x->out, x->texts.data + x->invariants[i].at, x->invariants[i].len);
		return;
	}
	if (item->kind == ITEM_RULE)
		expand_rule(x, item->rule, depth + 1);
	else
		x->how->word(x->how->context, item, x->out);
	if (item->invariant) {
		MEM_RESERVE(x->invariants, x->invariant_count + 1, x->invariant_capacity);
		x->invariants[x->invariant_count++] = (struct invariant){item, x->texts.len, x->out->len - begin};
		buf_add(&x->texts, x->out->data + begin, x->out->len - begin);
	}
}

static const struct grammar_alternative *choose(const struct expanding *x, const struct grammar_rule *rule, unsigned depth)
{
	bool hurry = depth > GRAMMAR_DEPTH;

	for (uint32_t a = 0; hurry && a < rule->count; a++)
		if (rule->alternatives[a].depth == rule->depth)
			return &rule->alternatives[a];
	return &rule->alternatives[random_below(x->how->random, rule->count)];
}

static void expand_rule(struct expanding *x, uint32_t number, unsigned depth)
{
	const struct grammar_alternative *alternative = choose(x, &x->how->grammar->rules[number], depth);

	for (uint32_t k = 0; k < alternative->count; k++)
		expand_item(x, &alternative->items[k], depth);
}

bool grammar_expand(struct grammar_expansion *how, uint32_t rule, struct buf *out)
{
	struct expanding x = {.how = how, .out = out, .begin = out->len};
	bool whole;

	expand_rule(&x, rule, 0);
	whole = x.steps <= GRAMMAR_STEPS_MAX && out->len - x.begin <= GRAMMAR_EXPANSION_MAX;
	if (!whole)
		out->len = x.begin;
	buf_release(&x.texts);
	mem_free(x.invariants);
	return whole;
}
