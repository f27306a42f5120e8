/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Grammars (first byte even) and table files (odd) on arbitrary bytes; of a grammar that was read, texts are drawn. */
#include "base/bug.h"
#include "workload/grammar.h"
#include "workload/table_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_name(void *context, const struct grammar_item *item, struct buf *out)
{
	(void)context;
	buf_add_str(out, grammar_word_name(item->word));
}

static void draw(struct grammar *g, uint64_t seed)
{
	struct random_source random;
	struct grammar_expansion how = {.grammar = g, .random = &random, .word = add_name};
	struct buf out = BUF_INIT;

	random_seed(&random, seed, 0);
	if (seed % 3 == 0)
		grammar_mask(g, seed, 2);
	for (uint32_t rule = 0; rule < g->rule_count && rule < 4; rule++)
		CHECK(grammar_expand(&how, rule, &out) || out.len <= 4 * GRAMMAR_EXPANSION_MAX);
	buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_plan plan;
	struct grammar g;
	struct err err = {.code = ERR_NONE};

	if (size == 0)
		return 0;
	if (data[0] % 2) {
		if (table_plan_parse(&plan, span_of(data + 1, size - 1), "fuzz", &err))
			table_plan_release(&plan);
		else
			CHECK(err.code != ERR_NONE && err.text[0]);
		return 0;
	}
	if (grammar_parse(&g, span_of(data + 1, size - 1), "fuzz", &err)) {
		draw(&g, size);
		grammar_release(&g);
	} else {
		CHECK(err.code != ERR_NONE && err.text[0]);
	}
	return 0;
}
