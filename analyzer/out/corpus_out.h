/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed between two releases, and whether the stored recordings hold: for people (text,
 * HTML) and for programs (JSON, JUnit). */
#ifndef OUT_CORPUS_OUT_H
#define OUT_CORPUS_OUT_H

#include "base/json.h"
#include "report/corpus.h"

struct corpus_checks {
	const struct corpus_scenarios *scenarios;
	const struct corpus_recordings *recordings;
	struct corpus_check *items;
	size_t count, failed;
};

void corpus_checks_text(struct buf *out, const struct corpus_checks *checks, bool all);
void corpus_checks_json(struct json *json, const struct corpus_checks *checks);
void corpus_checks_junit(struct buf *out, const struct corpus_checks *checks);

/* Without `all`, what is unchanged is only counted. */
void corpus_comparison_text(struct buf *out, const struct corpus_comparison *c, bool all);
void corpus_comparison_json(struct json *json, const struct corpus_comparison *c);
void corpus_comparison_junit(struct buf *out, const struct corpus_comparison *c);
void corpus_comparison_html(struct buf *out, const struct corpus_comparison *c);

#endif
