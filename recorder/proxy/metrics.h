/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The proxy's figures for Prometheus: a thread that answers GET /metrics.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats/, text format 0.0.4.  It speaks as much HTTP as that needs: one
 * request a connection, answered and closed.  Who asks slowly or at length is cut off.
 */
#ifndef PROXY_METRICS_H
#define PROXY_METRICS_H

#include <pthread.h>

#include "base/buf.h"
#include "proxy/proxy.h"

struct metrics {
	const struct proxy *proxy;
	struct address address;
	int listen_fd, stop_fd;
	pthread_t thread;
	bool running;
};

/* From here on answers at proxy->metrics; its text then has the port.  The proxy's workers must run. */
bool metrics_start(struct metrics *m, struct proxy *proxy, struct err *err) MUST_CHECK;
/* Also of one that was not started, if it is all zero. */
void metrics_stop(struct metrics *m);

/* The figures as they are now. */
void metrics_print(const struct proxy *proxy, struct buf *out);

#endif
