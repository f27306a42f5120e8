/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of this folder share; other folders do not include it.
 */
#ifndef SCENARIO_SCENARIO_INTERNAL_H
#define SCENARIO_SCENARIO_INTERNAL_H

#include "scenario/scenario.h"

/* An expectation while its lines come in: rows may follow on further lines. */
struct expect_builder {
	struct scenario_expect expect;
	bool any; /* something was said */
	struct scenario_row *rows;
	size_t row_count, row_capacity;
	struct scenario_value *values; /* of the row that is being read */
	size_t value_capacity;
};

/* Offsets of errors count from text.ptr. */
bool expect_builder_line(struct expect_builder *b, struct arena *arena, struct span text,
	struct err *err) MUST_CHECK;
/* Puts the rows into the arena; the builder is then ready for the next expectation. */
struct scenario_expect expect_builder_finish(struct expect_builder *b, struct arena *arena);
void expect_builder_release(struct expect_builder *b);

/* A place in a text that only moves forward, so that all places of a file cost one pass. */
struct place_cursor {
	struct span text;
	size_t at;
	struct scenario_place place;
};

#define PLACE_CURSOR(t) ((struct place_cursor){.text = (t), .place = {1, 1}})
struct scenario_place place_of(struct place_cursor *cursor, size_t offset);

/* Turns the offset of an error into "NAME:LINE:COLUMN: " before its message.  Returns false. */
bool place_error(struct err *err, struct span text, const char *name);
/* Adds `base` to the offset of an error.  Returns false. */
bool shift_error(struct err *err, size_t base);
/* Size and bytes that no scenario may have. */
bool text_is_sane(struct span text, struct err *err) MUST_CHECK;

struct span span_trim(struct span s);
/* The session's name at the start of s, without anything after it; empty when there is none. */
struct span name_prefix(struct span s);
/* The length of `NAME>` and the blanks after it at the start of s, 0 when s has no prompt. */
size_t prompt_prefix(struct span s, struct span *name);
/* A general log, or what RQG prints; or SCENARIO_SHAPE_SCN: neither. */
enum scenario_shape scenario_log_shape(struct span text);
/* Statements and sessions of such a log.  Offsets of errors count from text.ptr. */
bool scenario_import_log(struct scenario *s, struct span text, bool rqg, struct err *err) MUST_CHECK;
/* Has a statement, outside quotes and comments, a line that begins like the next session's,
 * `T2> update ...`?  Then a ';' was forgotten. */
bool holds_prompt(struct span sql);

#endif
