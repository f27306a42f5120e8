/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command-line options from a table.
 *
 * A command describes its options once, in an array of struct option_def; parsing, --help, the
 * manual page's OPTIONS section and shell completion are all made from it.  A value goes into the
 * command's own struct, at the offset that the table gives; what the struct held before is the
 * default.
 *
 *	struct demo_options { bool all; uint64_t limit; const char *match; };
 *	static const struct option_def demo_table[] = {
 *		OPTION_HEADING("Filters"),
 *		{.name = "limit", .argument = "N", OPTION_UINT(struct demo_options, limit),
 *			.help = "stop after N lines"},
 *		{.name = "all", .letter = 'a', OPTION_FLAG(struct demo_options, all),
 *			.help = "show everything"},
 *		OPTION_END,
 *	};
 *
 * Spelling follows the mysql family: -? is help (-h is --host where there is one), -V the version,
 * long options may be cut short while they stay unique.  An option file's reader sets values by
 * name with option_set.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

enum option_type {
	OPTION_TYPE_FLAG,     /* bool */
	OPTION_TYPE_STRING,   /* const char *, in argv */
	OPTION_TYPE_UINT,     /* uint64_t from min to max (0: no maximum) */
	OPTION_TYPE_SIZE,     /* uint64_t, bytes: 64K, 16M, 2G */
	OPTION_TYPE_DURATION, /* uint64_t, nanoseconds: 200ms, 1.5s, 5m */
	OPTION_TYPE_REAL,     /* double, not negative: 0.05 */
	OPTION_TYPE_CHOICE,   /* int: index into choices */
	OPTION_TYPE_STRINGS,  /* struct option_strings: may be given several times */
};

enum option_flags {
	OPTION_OPTIONAL = 1, /* the argument may be left out: --color; then it is `bare` */
	OPTION_SECRET = 2,   /* STRING: copied, and wiped from argv so that ps does not show it */
};

enum { OPTION_STRINGS_MAX = 256, OPTION_COUNT_MAX = 100 };

struct option_strings {
	const char *items[OPTION_STRINGS_MAX];
	size_t count;
};

struct option_def {
	const char *name;           /* long name; NULL: a heading, or the end of the table */
	const char *alias;          /* another long name that people try; not listed */
	const char *argument;       /* how help calls the value */
	const char *help;           /* a phrase without a full stop; or the heading's text */
	const char *const *choices; /* CHOICE: the words, NULL at the end; STRING: for completion */
	const char *preset;         /* the default, in words; help shows it */
	const char *bare;           /* OPTIONAL: the value when none is given */
	size_t offset;
	uint64_t min, max;
	enum option_type type;
	unsigned flags;
	char letter; /* 0: none */
	bool files;  /* the value is a file: completion */
};

/* The offset of a member, which must be of the C type that the option type stores. */
#define OPTION_AT(struct_type, member, member_type)                                                \
	(offsetof(struct_type, member) +                                                           \
		0 * sizeof(char[_Generic(&((struct_type *)0)->member, member_type * : 1)]))
#define OPTION_FLAG(s, m)     .type = OPTION_TYPE_FLAG, .offset = OPTION_AT(s, m, bool)
#define OPTION_STRING(s, m)   .type = OPTION_TYPE_STRING, .offset = OPTION_AT(s, m, const char *)
#define OPTION_UINT(s, m)     .type = OPTION_TYPE_UINT, .offset = OPTION_AT(s, m, uint64_t)
#define OPTION_SIZE(s, m)     .type = OPTION_TYPE_SIZE, .offset = OPTION_AT(s, m, uint64_t)
#define OPTION_DURATION(s, m) .type = OPTION_TYPE_DURATION, .offset = OPTION_AT(s, m, uint64_t)
#define OPTION_REAL(s, m)     .type = OPTION_TYPE_REAL, .offset = OPTION_AT(s, m, double)
#define OPTION_CHOICE(s, m)   .type = OPTION_TYPE_CHOICE, .offset = OPTION_AT(s, m, int)
#define OPTION_STRINGS(s, m)                                                                       \
	.type = OPTION_TYPE_STRINGS, .offset = OPTION_AT(s, m, struct option_strings)
#define OPTION_HEADING(text)                                                                       \
	{                                                                                          \
		.help = (text)                                                                     \
	}
#define OPTION_END                                                                                 \
	{                                                                                          \
		.name = NULL                                                                       \
	}

enum options_result {
	OPTIONS_OK,
	OPTIONS_HELP,    /* -? or --help was given */
	OPTIONS_VERSION, /* -V or --version was given */
	OPTIONS_ERROR,
};

/* argv[0] is skipped.  Arguments that are no options are moved to the end; *first is the index of
 * the first of them. */
enum options_result options_parse(const struct option_def *table, void *target, int argc,
	char **argv, int *first, struct err *err) MUST_CHECK;
/* By its long name, dash and underscore alike; NULL: the table has none. */
const struct option_def *option_find(const struct option_def *table, const char *name);
/* One option by its long name (dash and underscore are the same), as an option file gives it;
 * value NULL: none.  The value must live as long as the target. */
bool option_set(const struct option_def *table, void *target, const char *name, const char *value,
	struct err *err) MUST_CHECK;

/* Wipes and frees the values of SECRET options of all targets: the program is about to end. */
void options_forget_secrets(void);

/* The word of the list (NULL at the end) that was probably meant; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *words);

/* "--limit=N", "-a, --all": as help shows it. */
void option_spelling(struct buf *out, const struct option_def *def);
/* The options part of --help, `columns` wide. */
void options_help(struct buf *out, const struct option_def *table, size_t columns);
/* The same as mdoc list items, for the manual page. */
void options_mdoc(struct buf *out, const struct option_def *table);

static inline bool option_is_end(const struct option_def *def)
{
	return !def->name && !def->help;
}

/* Values in the forms that the option types take; `what` begins the message. */
bool parse_uint(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	struct err *err) MUST_CHECK;
bool parse_size(const char *text, const char *what, uint64_t *out, struct err *err) MUST_CHECK;
bool parse_duration(const char *text, const char *what, uint64_t *out, struct err *err) MUST_CHECK;
bool parse_real(const char *text, const char *what, double *out, struct err *err) MUST_CHECK;

#endif
