/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's standard output, standard error and terminal.  For the command layer: nothing
 * below a command prints.  One thread.
 *
 * Results go to standard output through output_write.  A full disk or a closed output is noticed
 * and reported once, by output_finish.  When the reader of a pipe has gone (`| head`), the program
 * ends quietly: by SIGPIPE as other tools do, or, where the parent ignores that signal, by
 * output_write's answer.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/* --color and --progress */
enum output_when {
	OUTPUT_AUTO,
	OUTPUT_ALWAYS,
	OUTPUT_NEVER,
};

/* Call first in main: makes sure that descriptors 0 to 2 are taken, so that no file that is opened
 * later gets mixed up with them. */
void output_init(const char *program);
/* How the user called the program ("build/analyzer/isotrace"), for commands to try next. */
void output_called(const char *word);
const char *output_called_as(void);
/* The name that messages begin with. */
const char *output_program(void);

/* From here on the results go to this file instead: whole at output_finish, beside its place until
 * then, and not at all when the status says that the input could not be read.  NULL and "-": to
 * standard output as before.  The path must outlive the program's output. */
bool output_to(const char *path, struct err *err) MUST_CHECK;
/* Writes and empties the buffer.  False: the output is gone, stop working. */
bool output_write(struct buf *buf) MUST_CHECK;
/* ... once it holds enough to be worth a system call. */
static inline bool output_write_some(struct buf *buf)
{
	return buf->len < 64 * 1024 || output_write(buf);
}
/* Reports a failed output; returns the status to exit with, given the one that fits the rest. */
enum exit_status output_finish(enum exit_status status);

/* "isotrace: ..." on standard error, one line, fit for a terminal whatever the arguments hold. */
void output_message(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* Columns of the output: $COLUMNS, the terminal's width, or 100. */
unsigned output_columns(void);
/* Whether to colour: NO_COLOR (set and not empty) and TERM=dumb turn auto off. */
bool output_color(enum output_when when);

/* A line on standard error that is drawn over itself, at most ten times a second; by default only
 * when standard error is a terminal and the result does not scroll on one.  Messages step around
 * it. */
struct progress {
	const char *what;
	uint64_t drawn_ns; /* 0: never */
	uint64_t begin_ns, phase_ns; /* of the whole, and of what it is of now */
	bool on;
	bool at_once; /* asked for, so drawn from the beginning */
	bool counts;  /* set it after progress_begin: of things, not of bytes */
};
void progress_begin(
	struct progress *progress, enum output_when when, const char *what, bool result_scrolls);
/* For a meter (base/meter.h) whose context is a struct progress: begins anew with each phase. */
void progress_phase(void *progress, const char *phase, uint64_t done, uint64_t all, bool bytes);
/* all 0: not known. */
void progress_update(struct progress *progress, uint64_t done, uint64_t all);
void progress_end(struct progress *progress);

#endif
