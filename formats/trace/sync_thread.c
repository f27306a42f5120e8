/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that waits for the disk, so that the background thread does not: fdatasync of a segment
 * at every sync interval, and of a rotated segment before it is closed.  A kill of the recorder loses
 * what is not written, never what is only not synced; so writing must not wait for a sync.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "trace/writer_internal.h"

/* Of rotated segments that wait: each has a descriptor, and the end of the recording waits for all. */
enum { SYNC_REQUESTS_MAX = 8 };

/* The segment is the background thread's, which may be making the next one by now. */
static bool run_request(const struct sync_request *request, struct err *err)
{
	const struct trace_io *io = request->io;
	bool ok;

	if (request->directory) {
		/* Not every file system can; the segment's own sync reports what goes wrong. */
		(void)fsync(request->fd);
		(void)close(request->fd);
		return true;
	}
	ok = io->datasync(io->data, request->fd) == 0;
	if (!ok)
		err_set_errno(err, errno, "cannot flush %s to the disk", request->path);
	/* A network file system may say only now that it could not keep the data. */
	if (request->close && close(request->fd) < 0 && errno != EINTR && ok)
		ok = err_set_errno(err, errno, "cannot close %s", request->path);
	return ok;
}

/* What is on the disk now, or never will be. */
static void settle_tickets_locked(struct trace_writer *writer, uint64_t ticket, bool kept)
{
	if (!kept && ticket > atomic_load(&writer->durable_broken))
		atomic_store(&writer->durable_broken, ticket);
	if (ticket > atomic_load(&writer->durable_done))
		atomic_store(&writer->durable_done, ticket);
	if (writer->durable_wake)
		writer->durable_wake(writer->durable_data);
}

static void note_sync_time_locked(struct trace_writer *writer)
{
	uint64_t took = clock_mono_ns() - writer->syncing_ns;

	writer->syncing_ns = 0;
	if (took > syncing_bound_ns(writer) && took > writer->stats.sync_late_ns_max)
		writer->stats.sync_late_ns_max = took;
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
		writer->syncing_ns = clock_mono_ns();
		pthread_mutex_unlock(&writer->lock);
		ok = run_request(request, &err);
		pthread_mutex_lock(&writer->lock);
		note_sync_time_locked(writer);
		if (!ok && !writer->sync_failed) {
			writer->sync_failed = true;
			writer->sync_err = err;
		}
		/* After one that failed it is not known what is there. */
		if (request->ticket)
			settle_tickets_locked(writer, request->ticket, !writer->sync_failed);
		writer->sync_first = request->next;
		if (!writer->sync_first)
			writer->sync_last = NULL;
		writer->sync_count--;
		pthread_cond_broadcast(&writer->sync_done);
		mem_free(request->path);
		mem_free(request);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

static struct sync_request *request_add_locked(
	struct trace_writer *writer, int fd, const char *path)
{
	struct sync_request *request = mem_zero(1, sizeof(*request));

	*request = (struct sync_request){
		.io = writer->segment.io, .fd = fd, .path = mem_strdup(path)};
	if (writer->sync_last)
		writer->sync_last->next = request;
	else
		writer->sync_first = request;
	writer->sync_last = request;
	writer->sync_count++;
	pthread_cond_signal(&writer->sync_work);
	return request;
}

void syncing_ask_folder(struct trace_writer *writer)
{
	char *path, *slash;
	int fd;

	/* Tests with a disk of their own have no folder on it. */
	if (writer->options.sync == TRACE_SYNC_NEVER || !writer->segment.cuttable || writer->options.io)
		return;
	path = mem_strdup(writer->segment.path);
	slash = strrchr(path, '/');
	if (slash)
		slash[slash == path] = '\0';
	fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		pthread_mutex_lock(&writer->lock);
		request_add_locked(writer, fd, path)->directory = true;
		pthread_mutex_unlock(&writer->lock);
	}
	mem_free(path);
}

void syncing_serve_tickets_locked(struct trace_writer *writer)
{
	uint64_t ticket = writer->processed_count;
	struct segment *segment = &writer->segment;
	struct sync_request *last = writer->sync_last;
	bool kept = !writer->failed && !atomic_load(&writer->stopped) &&
		    writer->stats.lost_records == writer->durable_lost;

	if (writer->durable_wanted <= writer->durable_asked || ticket <= writer->durable_asked)
		return;
	writer->durable_asked = ticket;
	writer->durable_lost = writer->stats.lost_records;
	/* Each block was synced when it was written; a pipe has no disk. */
	if (!kept || segment->fd < 0 || !segment->cuttable ||
		writer->options.sync != TRACE_SYNC_INTERVAL) {
		settle_tickets_locked(writer, ticket, kept);
		return;
	}
	/* The one at the front may run already, and not see what was written since. */
	if (last && last != writer->sync_first && last->fd == segment->fd && !last->close &&
		!last->directory)
		last->ticket = ticket;
	else
		request_add_locked(writer, segment->fd, segment->path)->ticket = ticket;
	segment->unsynced = false;
}

void syncing_ask(struct trace_writer *writer, bool close)
{
	struct segment *segment = &writer->segment;

	if (!close && !segment->unsynced)
		return;
	pthread_mutex_lock(&writer->lock);
	/* A sync that is not done yet is followed by another at the next interval. */
	if (!close && writer->sync_count) {
		pthread_mutex_unlock(&writer->lock);
		return;
	}
	request_add_locked(writer, segment->fd, segment->path)->close = close;
	pthread_mutex_unlock(&writer->lock);
	segment->unsynced = false;
	if (close)
		segment->fd = -1;
}

bool syncing_is_behind_locked(struct trace_writer *writer)
{
	/* --max-total is kept, at the price of records that wait. */
	while (writer->options.total_size_max && writer->sync_count >= SYNC_REQUESTS_MAX)
		pthread_cond_wait(&writer->sync_done, &writer->lock);
	return writer->sync_count >= SYNC_REQUESTS_MAX;
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
