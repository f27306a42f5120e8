/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server that many cases are executed on, one after the other, by a worker process of the hunt or of the reducer. */
#ifndef RUN_CASE_SERVER_H
#define RUN_CASE_SERVER_H

#include "run/run.h"

/* The functions are called in the worker that uses it. */
struct case_server {
	const char *name; /* as the user gave it */
	/* Starts or finds it, and says in `run` where it is; false: it cannot be used. */
	bool (*start)(struct case_server *server, struct run_options *run, struct err *err);
	void (*stop)(struct case_server *server);
	/* Appends the end of its error log; NULL: that cannot be read. */
	void (*read_log)(struct case_server *server, struct buf *out);
	bool restarts; /* it may be started again */
	const char *const *settings; /* of the server, "name=value", NULL at the end */
	void *ctx; /* of the one that was started */
};

#endif
