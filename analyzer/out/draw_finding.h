/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A finding drawn in characters: its cycle, its statements in order, a wrong answer beside the right
 * one. */
#ifndef OUT_DRAW_FINDING_H
#define OUT_DRAW_FINDING_H

#include "base/buf.h"
#include "common/verdict.h"

/* What is written on. */
struct page {
	size_t columns;
	bool color;
	bool verbose; /* every witness, not only the first */
};

#define INK_BAD	 "\033[31;1m"
#define INK_GOOD "\033[32;1m"
#define INK_WARN "\033[33m"
#define INK_BOLD "\033[1m"
#define INK_SOFT "\033[2m"

void draw_inked(struct buf *out, const struct page *page, const char *ink, const char *text);
/* Text of a trace, cleaned and broken into lines that fit after the indent. */
void draw_wrapped(struct buf *out, const struct page *page, const char *indent, struct span text);
/* The same with the indent from the second line on. */
void draw_hanging(struct buf *out, const struct page *page, const char *indent, struct span text);
void draw_finding(struct buf *out, const struct page *page, const struct finding *finding);
/* One about an application (finding->pattern). */
void draw_pattern(struct buf *out, const struct page *page, const struct finding *finding);

#endif
