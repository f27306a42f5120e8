/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that waits for the disk, so that the background thread does not: fdatasync of a segment
 * at every sync interval, and of a rotated segment before it is closed.  A kill of the recorder loses
 * what is not written, never what is only not synced; so writing must not wait for a sync.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "trace/writer_internal.h"

/* Of rotated segments: each has a descriptor. */
enum { SYNC_REQUESTS_MAX = 8 };

/* The segment is the background thread's, which may be making the next one by now. */
static bool run_request(const struct sync_request *request, struct err *err)
{
	const struct trace_io *io = request->io;
	bool ok = io->datasync(io->data, request->fd) == 0;

	if (!ok)
		err_set_errno(err, errno, "cannot flush %s to the disk", request->path);
	/* A network file system may say only now that it could not keep the data. */
	if (request->close && close(request->fd) < 0 && errno != EINTR && ok)
		ok = err_set_errno(err, errno, "cannot close %s", request->path);
	return ok;
}

void *syncing_thread(void *arg)
{
	struct trace_writer *writer = arg;

	pthread_setname_np(pthread_self(), "trace sync");
	pthread_mutex_lock(&writer->lock);
	while (writer->sync_first || !writer->sync_closing) {
		struct sync_request *request = writer->sync_first;
		struct err err;
		bool ok;

		if (!request) {
			pthread_cond_wait(&writer->sync_work, &writer->lock);
			continue;
		}
		pthread_mutex_unlock(&writer->lock);
		ok = run_request(request, &err);
		pthread_mutex_lock(&writer->lock);
		if (!ok && !writer->sync_failed) {
			writer->sync_failed = true;
			writer->sync_err = err;
		}
		writer->sync_first = request->next;
		if (!writer->sync_first)
			writer->sync_last = NULL;
		writer->sync_count--;
		pthread_cond_broadcast(&writer->sync_done);
		free(request->path);
		free(request);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

void syncing_ask(struct trace_writer *writer, bool close)
{
	struct segment *segment = &writer->segment;
	struct sync_request *request;

	if (!close && !segment->unsynced)
		return;
	pthread_mutex_lock(&writer->lock);
	/* A sync that is not done yet is followed by another at the next interval. */
	if (!close && writer->sync_count) {
		pthread_mutex_unlock(&writer->lock);
		return;
	}
	while (writer->sync_count >= SYNC_REQUESTS_MAX)
		pthread_cond_wait(&writer->sync_done, &writer->lock);
	request = mem_zero(1, sizeof(*request));
	*request = (struct sync_request){
		.io = segment->io, .fd = segment->fd, .path = mem_strdup(segment->path), .close = close};
	if (writer->sync_last)
		writer->sync_last->next = request;
	else
		writer->sync_first = request;
	writer->sync_last = request;
	writer->sync_count++;
	pthread_cond_signal(&writer->sync_work);
	pthread_mutex_unlock(&writer->lock);
	segment->unsynced = false;
	if (close)
		segment->fd = -1;
}

bool syncing_failed(struct trace_writer *writer, struct err *err)
{
	bool failed;

	pthread_mutex_lock(&writer->lock);
	failed = writer->sync_failed;
	if (failed)
		*err = writer->sync_err;
	pthread_mutex_unlock(&writer->lock);
	return failed;
}

void syncing_wait(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->sync_count)
		pthread_cond_wait(&writer->sync_done, &writer->lock);
	pthread_mutex_unlock(&writer->lock);
}
