/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XML that build servers read, for every command that writes it.
 *
 * There is no standard of it.  What is written here is valid by the two schemas that others check
 * against: that of Ant's JUnit task (Windy Road's JUnit.xsd, which asks for more than it allows:
 * every attribute of a suite, its three elements, one outcome and no output a case) and that of
 * Jenkins' xunit plugin (junit-10.xsd).  tests/cli/schemas/junit.xsd is as strict as both.
 *
 * The same input gives the same bytes: times are those of the recording, not of its analysis.
 */
#ifndef OUT_JUNIT_H
#define OUT_JUNIT_H

#include <stdint.h>

#include "base/buf.h"

enum junit_outcome { JUNIT_PASSED, JUNIT_FAILURE, JUNIT_ERROR, JUNIT_SKIPPED };
enum { JUNIT_OUTCOMES = 4 };

struct junit {
	struct buf *out;
	/* Of the suite that is being written; its counts stand before its cases. */
	struct buf properties, cases, said;
	uint64_t by[JUNIT_OUTCOMES];
	uint64_t suites;
};

struct junit_suite {
	const char *package;
	struct span name;
	struct span address; /* host, host:port or path of the server; empty: not known */
	uint64_t start_ns; /* since 1970, of what was recorded; 0: not known */
	uint64_t took_ns;
};

struct junit_case {
	struct span class_name, name;
	uint64_t took_ns;
	enum junit_outcome outcome;
	/* Of all but JUNIT_PASSED. */
	struct span message;
	const char *type; /* of a failure or an error */
	struct span text; /* lines */
};

void junit_begin(struct junit *junit, struct buf *out);
void junit_property(struct junit *junit, const char *name, struct span value);
void junit_case(struct junit *junit, const struct junit_case *c);
/* A line of the suite's output. */
void junit_say(struct junit *junit, struct span line);
/* Writes the suite of the properties, cases and lines since the last one. */
void junit_suite(struct junit *junit, const struct junit_suite *suite);
void junit_end(struct junit *junit);
/* For a document that is not finished. */
void junit_release(struct junit *junit);

#endif
