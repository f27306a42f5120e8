/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scanner of EDN and JSON, for records that are known maps and vectors.
 *
 * No token objects, no allocation: each function takes a place and returns the place after what it
 * read, or NULL.  After NULL either `more` is set (the window ended: get more, start the record
 * again) or the message is in err and the place in `bad`.  A NUL stands at `end`, so one comparison
 * a byte is enough.
 *
 * EDN: https://github.com/edn-format/edn.  Commas are blanks there; here they are blanks in JSON
 * too, and so are colons outside strings: both languages are read leniently, since what matters is
 * checked by the reader of the format (names, arity, types), and unbalanced brackets are refused.
 */
#ifndef IMPORT_SCAN_H
#define IMPORT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum { SCAN_DEPTH_MAX = 64 };

struct scan {
	const char *end;
	bool eof;  /* nothing follows end */
	bool json; /* else EDN */
	bool more;
	int discards; /* that are being skipped, one inside the other */
	const char *bad;
	struct err *err;
};

enum scan_class {
	SCAN_BLANK = 1,     /* in EDN */
	SCAN_DELIMITER = 2, /* ends a token: blanks, brackets, quote, semicolon, NUL */
	SCAN_DIGIT = 4,
};

extern const unsigned char scan_classes[256];

static inline bool scan_is(char c, unsigned classes)
{
	return (scan_classes[(unsigned char)c] & classes) != 0;
}

/* Fails with a message; returns NULL. */
const char *scan_fail(struct scan *s, const char *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* At the end of the window: asks for more, or fails at the end of the input. */
const char *scan_end(struct scan *s, const char *at);
/* Fails with "expected WHAT" (or scan_end). */
const char *scan_expected(struct scan *s, const char *at, const char *what);

const char *scan_blank_slow(struct scan *s, const char *p);

/* Skips blanks and comments.  The result may stand at the end. */
static inline const char *scan_blank(struct scan *s, const char *p)
{
	while (*p == ' ' || *p == ',')
		p++;
	if (LIKELY(!scan_is(*p, SCAN_BLANK) && *p != ';' && *p != '#' && (*p != ':' || !s->json)))
		return p;
	return scan_blank_slow(s, p);
}

/* What stands at p, which is at the end or not: a record.  Called again after more input. */
typedef const char *scan_record_fn(void *context, const char *p);
struct window;
/* Feeds every record of the input to fn: one after the other, or all inside one pair of brackets
 * when `enclosed` allows that. */
MUST_CHECK bool scan_records(struct scan *s, struct window *in, bool enclosed, scan_record_fn *fn,
	void *context, struct err *err);

/* After one whole form: token, string, or bracketed form with everything in it. */
const char *scan_skip(struct scan *s, const char *p) MUST_CHECK;
/* A string; `out` is what stands between its quotes, escapes as written. */
const char *scan_string(struct scan *s, const char *p, struct span *out) MUST_CHECK;
/* A token without brackets and quotes: number, symbol, keyword. */
const char *scan_token(struct scan *s, const char *p, struct span *out) MUST_CHECK;
/* A name: EDN keyword or symbol without its colon, or a string's inside. */
const char *scan_name(struct scan *s, const char *p, struct span *out) MUST_CHECK;
/* An integer; JSON strings of digits count too. */
const char *scan_int(struct scan *s, const char *p, int64_t *out) MUST_CHECK;
const char *scan_uint(struct scan *s, const char *p, uint64_t *out) MUST_CHECK;
/* The bracket `open` ('[' also accepts '(' in EDN); what = for the message. */
const char *scan_open(struct scan *s, const char *p, char open, const char *what) MUST_CHECK;
/* True when the next thing closes a bracket; *p is then after it.  *p NULL: failed. */
bool scan_close(struct scan *s, const char **p) MUST_CHECK;
/* Is the token at p nil / null? */
bool scan_is_nil(const struct scan *s, const char *p);

#endif
