/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expected failures.  A function that can fail for a reason outside the program returns bool
 * (true: it worked), is marked MUST_CHECK, and fills the caller's `struct err` with a message
 * complete enough to print: what, where, and what to do.  Nothing prints below main.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

/* Exit status of both programs (semantics.md, section 10). */
enum exit_status {
	EXIT_STATUS_OK = 0,         /* every requested check passed on complete evidence */
	EXIT_STATUS_VIOLATION = 1,  /* at least one violation */
	EXIT_STATUS_USAGE = 2,      /* wrong usage */
	EXIT_STATUS_INCOMPLETE = 3, /* nothing violated, but the evidence is incomplete */
	EXIT_STATUS_INPUT = 4,      /* the input cannot be read or the server cannot be used */
	EXIT_STATUS_BUG = 5,        /* a bug of ours */
};

enum err_code {
	ERR_NONE = 0,
	ERR_USAGE,       /* the caller's options or arguments */
	ERR_IO,          /* a system call failed; errnum holds errno */
	ERR_FORMAT,      /* the input is not what it should be */
	ERR_FOREIGN,     /* the input is something else altogether */
	ERR_EMPTY,       /* there is nothing in it */
	ERR_LIMIT,       /* a named limit was hit */
	ERR_SERVER,      /* a database server refused or vanished */
	ERR_UNSUPPORTED, /* understood, and not supported */
	ERR_INTERRUPTED, /* the user ended it (base/interrupt.h) */
};

#define ERR_NO_OFFSET UINT64_MAX

struct err {
	enum err_code code;
	int errnum;      /* errno where a system call failed, else 0 */
	uint64_t offset; /* byte offset in the input, or ERR_NO_OFFSET */
	char text[1000]; /* NUL-terminated, no trailing newline */
};

void err_clear(struct err *err);

/* Each returns false, so that a function can end with `return err_set(...)`.  A NULL err is
 * allowed everywhere. */
bool err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool err_set_at(struct err *err, enum err_code code, uint64_t offset, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* Appends ": " and strerror(errnum). */
bool err_set_errno(struct err *err, int errnum, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts "context: " before the message that is there. */
bool err_prefix(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The exit status that fits an error: usage 2, an interruption 3, all else 4. */
enum exit_status err_exit_status(const struct err *err);

#endif
