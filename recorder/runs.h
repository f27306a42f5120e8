/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that execute scenarios share: levels, names of traces, signals. */
#ifndef RECORDER_RUNS_H
#define RECORDER_RUNS_H

#include <signal.h>

#include "connection.h"
#include "run/run.h"

enum { RUNS_LEVELS_MAX = 4 };

struct run_levels {
	enum txn_level levels[RUNS_LEVELS_MAX];
	size_t count;
};

/* "RU,RC"; NULL is none. */
bool run_levels_parse(struct run_levels *out, const char *list) MUST_CHECK;

/* FOLDER/ID[NUMBER][-LEVEL][VARIANT].itr; the id, or the file's name where it has none, in
 * characters that are safe in a file's name. */
void runs_path(struct buf *out, const char *folder, const struct scenario *s, const char *path,
	const char *number, enum txn_level level, const char *variant);
/* Makes the folder if it is not there; false after a message. */
bool runs_folder(const char *path) MUST_CHECK;

struct run_options runs_defaults(const struct connection_options *connection);

/* INT and TERM: the run ends, its database is dropped; a second one ends at once. */
extern volatile sig_atomic_t runs_stop;
/* Signals and the client library; false after a message. */
bool runs_begin(void) MUST_CHECK;
void runs_end(void);

#endif
