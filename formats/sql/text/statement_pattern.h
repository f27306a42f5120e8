/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pattern of a statement: what stays the same each time that a program sends it.  Values become `?`, lists of
 * them `?, ...`, and comments and spare blanks go.  Nothing is parsed, so every text has a pattern.
 *
 * Comments are for people and tools: many programs say in one where a statement comes from, as the view of a web
 * framework or the tags of sqlcommenter (https://google.github.io/sqlcommenter/spec/).
 */
#ifndef SQL_TEXT_STATEMENT_PATTERN_H
#define SQL_TEXT_STATEMENT_PATTERN_H

#include "base/buf.h"
#include "base/span.h"
#include "sql/text/dialect.h"

void statement_pattern(struct buf *out, struct span text, struct text_dialect dialect);
/* What the comments say about where it comes from: "shop.views.buy", "controller=cart, action=add"; nothing where
 * there are none.  What differs with each call, as the number of a request, is left out. */
void statement_tag(struct buf *out, struct span text);
/* The request that a comment says it belongs to (traceparent of W3C Trace Context, as sqlcommenter and
 * OpenTelemetry write it); in the text.  SPAN_NONE: none does. */
struct span statement_traceparent(struct span text);

#endif
