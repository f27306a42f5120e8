/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload model: for each feature of a schema and its statements the values it may take, with weights
 * (docs/workload-models.md is the language's specification).
 *
 *	struct model m;
 *
 *	if (!model_builtin(&m, "tiny", &err)) ...
 *	count = model_number(&m, FEATURE_TABLES, &random);
 *	switch ((enum key_word)model_word(&m, FEATURE_KEY, &random)) ...
 *
 * A model has a value for every feature: what its text does not name is as in the model that it builds on, which
 * is `default` unless it says `like NAME`.
 */
#ifndef WORKLOAD_MODEL_H
#define WORKLOAD_MODEL_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "workload/features.h"
#include "workload/random_source.h"

enum model_feature {
#define X(feature, ...) feature,
	MODEL_FEATURES(X, X, X, X)
#undef X
		FEATURE_COUNT
};

enum {
	MODEL_TEXT_MAX = 64 * 1024,
	MODEL_ITEMS_MAX = 32, /* of one feature */
	MODEL_WEIGHT_MAX = 1000 * 1000,
	MODEL_NAME_MAX = 64,
};

enum feature_kind { FEATURE_IS_NUMBER, FEATURE_IS_WORD, FEATURE_IS_CHANCE, FEATURE_IS_SPREAD };

struct feature_def {
	enum model_section section;
	enum feature_kind kind;
	const char *name, *help;
	uint64_t min, max;        /* NUMBER */
	const char *const *words; /* WORD: NULL at the end */
};

/* Numbers low to high, or the word of number low. */
struct model_item {
	uint64_t low, high;
	uint32_t weight;
};

struct model_values {
	struct model_item items[MODEL_ITEMS_MAX];
	uint32_t count;
	uint64_t weight; /* of all items */
	uint32_t chance; /* CHANCE: per mille */
	struct spread spread;
};

struct model {
	char name[MODEL_NAME_MAX + 1];
	struct model_values features[FEATURE_COUNT];
};

/* name is for messages, "NAME:LINE:COLUMN: ...". */
bool model_parse(struct model *out, struct span text, const char *name, struct err *err) MUST_CHECK;
/* One that is built in. */
bool model_builtin(struct model *out, const char *name, struct err *err) MUST_CHECK;
/* The name of one that is built in, or else a file. */
bool model_open(struct model *out, const char *name, struct err *err) MUST_CHECK;
/* Every feature, in the language; reading it gives the same model. */
void model_print(const struct model *model, struct buf *out);

/* NULL at the end. */
extern const char *const model_names[];
/* The text of a built-in model; NULL: there is none of the name. */
const char *model_text(const char *name);

const struct feature_def *feature_def(enum model_feature feature);
const char *model_section_name(enum model_section section);

uint64_t model_number(const struct model *m, enum model_feature feature, struct random_source *r);
/* The number of the word: the feature's enum. */
unsigned model_word(const struct model *m, enum model_feature feature, struct random_source *r);
bool model_chance(const struct model *m, enum model_feature feature, struct random_source *r);
/* Whether the word can be drawn at all. */
bool model_has(const struct model *m, enum model_feature feature, unsigned word);

#endif
