/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which records of a trace are wanted.
 *
 * All conditions that are given must hold.  A condition on something that a record does not have
 * (a note has no transaction) leaves the record out, with one exception: a gap, which says that
 * records were lost, is left out by the time only.
 */
#ifndef COMMANDS_RECORD_FILTER_H
#define COMMANDS_RECORD_FILTER_H

#include "base/options.h"
#include "report/trace_names.h"
#include "trace/record.h"

struct filter_options {
	struct option_strings session, txn, table;
	const char *match, *from, *to;
	bool errors_only;
};

/* What the conditions look at, taken from a record of any kind. */
struct filter_facts {
	bool is_gap;
	bool is_error;
	bool has_session;
	uint32_t session;
	uint64_t txn; /* 0: none */
	uint64_t begin, at;
	struct span texts[3];            /* for --match; SPAN_NONE: none */
	struct span sql;                 /* for --table: names are looked for in it */
	const struct names_table *table; /* for --table; NULL: none */
};

struct record_filter;

/* NULL and err when an option's value makes no sense.  The anchor of the trace turns moments of the
 * wall clock into those of the trace. */
struct record_filter *filter_new(const struct filter_options *options, uint64_t anchor_mono_ns,
	uint64_t anchor_wall_ns, struct err *err) MUST_CHECK;
void filter_free(struct record_filter *filter);
bool filter_passes(struct record_filter *filter, const struct filter_facts *facts);
/* A result's fate is decided by its statement: a condition looks at what only that has. */
bool filter_needs_stmt(const struct record_filter *filter);
/* Whether anything is asked for at all. */
bool filter_any(const struct filter_options *options);
/* A pattern was too costly on this many texts; they count as not matching. */
uint64_t filter_match_failures(const struct record_filter *filter);

/* "1,S3,5": numbers, with or without the letter that `show` puts before them, as keys of the map. */
bool filter_add_numbers(struct map *map, const struct option_strings *strings, char letter, uint64_t max, const char *what,
	struct err *err) MUST_CHECK;
/* An offset from the trace's start, or a moment on the wall clock, as one of the trace's clock. */
bool filter_parse_moment(const char *text, const char *what, uint64_t mono_ns, uint64_t wall_ns, uint64_t *out,
	struct err *err) MUST_CHECK;

#define FILTER_OPTIONS(struct_type, member)                                                        \
	{.name = "session",                                                                        \
		.letter = 's',                                                                     \
		.argument = "N[,N...]",                                                            \
		OPTION_STRINGS(struct_type, member.session),                                       \
		.help = "only these sessions (S1 and 1 are the same)"},                            \
		{.name = "txn",                                                                    \
			.alias = "transaction",                                                    \
			.letter = 't',                                                             \
			.argument = "N[,N...]",                                                    \
			OPTION_STRINGS(struct_type, member.txn),                                   \
			.help = "only these transactions (T1 and 1 are the same)"},                \
		{.name = "table",                                                                  \
			.argument = "[DATABASE.]NAME",                                             \
			OPTION_STRINGS(struct_type, member.table),                                 \
			.help = "only what names this table; several: any of them"},               \
		{.name = "match",                                                                  \
			.letter = 'm',                                                             \
			.argument = "REGEX",                                                       \
			OPTION_STRING(struct_type, member.match),                                  \
			.help = "only statements, errors, notes and cluster events whose text "    \
				"matches "                                                         \
				"this Perl-compatible pattern; (?i) at its start ignores case"},   \
		{.name = "from",                                                                   \
			.argument = "TIME",                                                        \
			OPTION_STRING(struct_type, member.from),                                   \
			.help = "only what ended at or after this: an offset from the trace's "    \
				"start "                                                           \
				"(1.5s, 200ms) or a moment (2026-11-16T01:58:00Z)"},               \
		{.name = "to",                                                                     \
			.argument = "TIME",                                                        \
			OPTION_STRING(struct_type, member.to),                                     \
			.help = "only what began at or before this"},                              \
	{                                                                                          \
		.name = "errors-only", .letter = 'e',                                              \
		OPTION_FLAG(struct_type, member.errors_only),                                      \
		.help = "only failed and unanswered statements, transactions that failed or "      \
			"whose "                                                                   \
			"outcome is unknown, and gaps"                                             \
	}

#endif
