/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A case as a whole: draws, tags, and the scenario that comes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "generate/generate_internal.h"

/* ---- draws ---- */

uint64_t below(struct gen *g, uint64_t limit)
{
	return random_below(&g->random, limit);
}

unsigned draw_word(struct gen *g, enum model_feature feature)
{
	unsigned word = model_word(g->model, feature, &g->random), tag = case_tag(feature, word);

	g->tags.bits[tag / 64] |= UINT64_C(1) << tag % 64;
	return word;
}

uint64_t draw_number(struct gen *g, enum model_feature feature)
{
	return model_number(g->model, feature, &g->random);
}

bool draw_chance(struct gen *g, enum model_feature feature)
{
	return model_chance(g->model, feature, &g->random);
}

const char *text_plain(struct gen *g, const char *fmt, ...)
{
	char room[512], *out;
	va_list ap, again;
	int len;

	va_start(ap, fmt);
	va_copy(again, ap);
	len = vsnprintf(room, sizeof(room), fmt, ap);
	va_end(ap);
	CHECK(len >= 0);
	out = arena_alloc(&g->arena, (size_t)len + 1);
	if ((size_t)len < sizeof(room))
		memcpy(out, room, (size_t)len + 1);
	else
		vsnprintf(out, (size_t)len + 1, fmt, again);
	va_end(again);
	return out;
}

/* ---- tags ---- */

static unsigned word_count(enum model_feature feature)
{
	const struct feature_def *def = feature_def(feature);
	unsigned count = 0;

	while (def->words && def->words[count])
		count++;
	return count;
}

unsigned case_tag(enum model_feature feature, unsigned word)
{
	static unsigned first[FEATURE_COUNT + 1]; /* the same from whichever thread fills it */

	if (!first[FEATURE_COUNT]) {
		unsigned sum = 0;

		for (unsigned f = 0; f < FEATURE_COUNT; f++) {
			first[f] = sum;
			sum += word_count((enum model_feature)f);
		}
		CHECK(sum <= CASE_TAGS_MAX);
		first[FEATURE_COUNT] = sum;
	}
	return first[feature] + word;
}

unsigned case_tag_count(void)
{
	return case_tag(FEATURE_COUNT, 0);
}

static enum model_feature feature_of(unsigned tag)
{
	unsigned feature = 0;

	while (!word_count((enum model_feature)feature) || case_tag((enum model_feature)(feature + 1), 0) <= tag)
		feature++;
	return (enum model_feature)feature;
}

void case_tag_print(unsigned tag, struct buf *out)
{
	enum model_feature feature = feature_of(tag);
	const struct feature_def *def = feature_def(feature);

	buf_printf(out, "%s=%s", def->name, def->words[tag - case_tag(feature, 0)]);
}

bool case_tag_possible(const struct model *model, unsigned tag)
{
	enum model_feature feature = feature_of(tag);

	return model_has(model, feature, tag - case_tag(feature, 0));
}

/* ---- the scenario ---- */

static bool add_meta(struct scenario *s, const char *key, const char *value, struct err *err)
{
	return scenario_add_meta(s, span_str(key), span_str(value), err);
}

static bool add_levels(struct gen *g, const struct plan *plan, struct scenario *s, struct err *err)
{
	const char *all = txn_level_short((uint8_t)plan->levels[0]);

	for (uint32_t i = 0; plan->mixed && i < plan->session_count; i++)
		all = text(g, "%s%sT%u=%s", i ? all : "", i ? ", " : "", i + 1, txn_level_short((uint8_t)plan->levels[i]));
	return add_meta(s, "isolation", all, err);
}

/* Sessions spread over nodes, in turns. */
static bool add_nodes(struct gen *g, const struct plan *plan, struct scenario *s, struct err *err)
{
	uint64_t nodes = draw_number(g, FEATURE_NODES);
	const char *all = "";

	for (uint32_t i = 0; nodes > 1 && i < plan->session_count; i++)
		all = text(g, "%s%sT%u=%llu", all, i ? ", " : "", i + 1, (unsigned long long)(i % nodes) + 1);
	return nodes < 2 || add_meta(s, "node", all, err);
}

/* Which grammar: a digest, as its file may be gone. */
static const char *grammar_words(struct gen *g, const struct generate_options *o)
{
	if (!o->grammar)
		return "";
	return text(g, ", grammar %016llx", (unsigned long long)(o->grammar->digest * 31 + o->tables->digest));
}

static bool add_header(struct gen *g, const struct generate_options *o, uint64_t number, const struct plan *plan,
	struct scenario *s, struct err *err)
{
	unsigned long long seed = o->seed, n = number;
	struct buf tags = BUF_INIT;
	bool ok = add_meta(s, "id",
		o->prefix ? text(g, "%s-%06llu", o->prefix, n) :
			text(g, "%s%s-%llu-%06llu", o->grammar ? "grammar-" : "", o->model->name, seed, n), err);

	for (uint32_t i = 0; i < plan->session_count && ok; i++) {
		uint32_t index;

		ok = scenario_session(s, span_str(text(g, "T%u", i + 1)), &index, err);
	}
	for (unsigned tag = 0; tag < case_tag_count(); tag++) {
		if (!case_has(&g->tags, tag))
			continue;
		if (tags.len)
			buf_add_char(&tags, ' ');
		case_tag_print(tag, &tags);
	}
	ok = ok && add_levels(g, plan, s, err) && add_nodes(g, plan, s, err) &&
	     add_meta(s, "generated",
		     text(g, "model %s, seed %llu, case %llu, orders %llu, dialect %s%s", o->model->name, seed, n,
			     (unsigned long long)(o->orders ? o->orders : 1), o->dialect->name, grammar_words(g, o)), err) &&
	     add_meta(s, "features", tags.data ? tags.data : "none", err);
	buf_release(&tags);
	return ok;
}

static bool add_setup(struct gen *g, struct scenario *s, struct err *err)
{
	enum { ROWS_PER_INSERT = 500 };
	bool ok = true;

	for (uint32_t i = 0; i < g->table_count && ok; i++) {
		struct table *t = &g->tables[i];
		struct buf sql = BUF_INIT;

		ok = scenario_add(s, &s->setup, SCENARIO_NO_SESSION, span_str(t->create), err);
		for (size_t r = 0; r < t->set_up_count && ok; r++) {
			if (r % ROWS_PER_INSERT == 0)
				buf_printf(&sql, "insert into %s(%s) values ", t->name, column_list(g, t, false));
			buf_printf(&sql, "%s%s", r % ROWS_PER_INSERT ? ", " : "", row_literal(g, t, t->rows[r]));
			if (r % ROWS_PER_INSERT == ROWS_PER_INSERT - 1 || r + 1 == t->set_up_count) {
				ok = scenario_add(s, &s->setup, SCENARIO_NO_SESSION, buf_span(&sql), err);
				buf_clear(&sql);
			}
		}
		buf_release(&sql);
	}
	return ok;
}

static bool add_schedule(struct scenario *s, const struct slot *slots, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (!scenario_add(s, &s->schedule, slots[i].session, span_str(slots[i].step->sql), err))
			return false;
	return true;
}

static bool add_final(struct gen *g, struct scenario *s, struct err *err)
{
	for (uint32_t i = 0; i < g->table_count; i++)
		if (!scenario_add(s, &s->final, SCENARIO_NO_SESSION, span_str(text(g, "select * from %s", g->tables[i].name)), err))
			return false;
	return true;
}

/* Streams of one seed: what the transactions are, and in which order they go. */
enum { STREAM_PLAN = 0, STREAM_ORDER = 1 };

bool generate_case(const struct generate_options *options, uint64_t number, struct scenario *out,
	struct case_tags *tags, struct err *err)
{
	uint64_t orders = options->orders ? options->orders : 1;
	struct gen g = {.model = options->model, .dialect = options->dialect};
	struct grammar_case *grammar = NULL;
	struct plan plan;
	struct slot *slots;
	size_t count;
	bool ok;

	random_seed(&g.random, options->seed, number / orders * 2 + STREAM_PLAN);
	scenario_init(out);
	if (options->grammar) {
		grammar = make_grammar_case(&g, options->tables);
		make_grammar_plan(grammar, options->grammar, &plan);
		ok = add_grammar_setup(grammar, out, err);
	} else {
		make_schema(&g);
		make_plan(&g, &plan);
		ok = add_setup(&g, out, err);
	}
	random_seed(&g.random, options->seed, number * 2 + STREAM_ORDER);
	slots = make_order(&g, &plan, (enum order_word)draw_word(&g, FEATURE_ORDER), &count);
	ok = ok && add_header(&g, options, number, &plan, out, err) && add_schedule(out, slots, count, err) &&
	     (grammar ? add_grammar_final(grammar, out, err) : add_final(&g, out, err));
	if (!ok)
		scenario_release(out);
	*tags = g.tags;
	release_plan(&plan);
	release_schema(&g);
	buf_release(&g.scratch);
	arena_release(&g.arena);
	return ok;
}
