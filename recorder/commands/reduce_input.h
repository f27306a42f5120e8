/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `isorec reduce` begins with: scenarios to execute, one after the other until one fails.
 *
 * A file of scenarios gives one.  A recording of clients that ran at once gives several: what its finding is about, in the
 * order in which the statements began, in that in which they were answered, in some of the other orders that their times
 * allow; and then sessions that do not wait for each other (`# rounds:`).
 */
#ifndef COMMANDS_REDUCE_INPUT_H
#define COMMANDS_REDUCE_INPUT_H

#include "reducer/failure.h"

enum { REDUCE_ATTEMPTS_MAX = 16 };

struct reduce_attempt {
	struct scenario scenario;
	unsigned executions; /* until it is given up; 0: the reducer's default */
	char what[120];      /* in words; "": there is only this one */
};

struct reduce_input {
	struct reduce_attempt attempts[REDUCE_ATTEMPTS_MAX];
	size_t count;
	bool has_settings; /* attempts have options of the recorded server (`# server:`) */
	bool seen; /* the recording shows this: */
	struct failure failure;
};

struct reduce_input_options {
	const char *finding, *contract; /* NULL: none was asked for */
	const char *folder;             /* for what is cut from a large recording */
	bool own_server;                /* one that can be started with the options of the recorded one */
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

bool reduce_input_read(const char *path, const struct reduce_input_options *options, struct reduce_input *out,
	struct err *err) MUST_CHECK;
void reduce_input_release(struct reduce_input *input);
/* For a server that cannot be started with them. */
bool reduce_input_forget_settings(struct reduce_input *input, struct err *err) MUST_CHECK;

#endif
