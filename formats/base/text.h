/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes from a trace, made fit for a terminal.
 *
 * What a trace holds was written by people we do not know: it may carry escape sequences, text that changes the
 * writing direction, bytes that are no UTF-8, or megabytes of it.  text_add lets through what a
 * terminal prints as itself and shows the rest as an escape (\x1b, \u{202e}), so it can neither
 * change the terminal nor hide.  Columns are counted as terminals do (wide characters take two),
 * always by the rules of UTF-8: the output does not depend on the user's locale.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdint.h>

#include "base/buf.h"

enum text_flags {
	TEXT_PLAIN = 0,
	TEXT_FOLD = 1, /* white space of any kind and length becomes one blank; none at the ends */
};

#define TEXT_NO_LIMIT SIZE_MAX

/* Appends s, at most `columns_max` columns of it, and returns the columns used.  What does not fit
 * is replaced by an ellipsis (one column).  The bytes appended are bounded by columns_max too,
 * whatever s holds. */
size_t text_add(struct buf *out, struct span s, size_t columns_max, unsigned flags);
/* ... and blanks up to exactly `columns` columns. */
void text_add_padded(struct buf *out, struct span s, size_t columns, unsigned flags);
void text_add_blanks(struct buf *out, size_t count);
/* The columns of text that is clean already. */
size_t text_columns(struct span s);
/* The first part of clean text that is at most `columns` wide, cut at a blank where there is one;
 * *rest is what follows, without the blanks between.  At least one character is taken. */
struct span text_wrap(struct span s, size_t columns, struct span *rest);

/* As text or an attribute's value of XML 1.0 or HTML.  Control characters, which cannot be written
 * there at all, come out as text_add has them. */
void text_add_xml(struct buf *out, struct span s);
/* ... with its line breaks left as they are. */
void text_add_xml_lines(struct buf *out, struct span s);

/* What stands in the quotes of a word of Graphviz, where only quotes and backslashes are special. */
void text_add_dot(struct buf *out, struct span s);
/* A word of a command line, in quotes where the shell needs them. */
void text_add_shell_word(struct buf *out, const char *word);

/* Digits and nothing else; false: no such number, or beyond 64 bits. */
bool text_number(struct span s, uint64_t *out);
/* 1234567 as "1,234,567", for people. */
void text_add_count(struct buf *out, uint64_t count);
/* ... with what is counted: "1 row", "2 rows". */
void text_add_counted(struct buf *out, uint64_t count, const char *one, const char *many);
/* A time in three significant digits: "0", "870 ns", "1.23 ms", "45.6 s", "3 h 02 m". */
void text_add_duration(struct buf *out, uint64_t ns);
/* Bytes: "512 B", "1.23 MiB". */
void text_add_size(struct buf *out, uint64_t bytes);

#endif
