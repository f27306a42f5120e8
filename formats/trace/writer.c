/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening and closing of a trace that is written; writer_internal.h says how it works inside. */
#include "trace/writer.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "trace/format.h"
#include "trace/pack.h"
#include "trace/idle_compress.h"
#include "trace/writer_internal.h"

enum { BLOCK_SIZE_MIN = 256 };

/* ---- opening ---- */

void trace_writer_defaults(struct trace_writer_options *options)
{
	*options = (struct trace_writer_options){
		.block_size = TRACE_BLOCK_SIZE_DEFAULT,
		.buffer_size_max = 64 * 1024 * 1024,
		.flush_interval_ms = 100,
		.sync_interval_ms = 1000,
		.sync = TRACE_SYNC_INTERVAL,
		.policy = TRACE_POLICY_WAIT,
		.wait_ms_max = 1000,
		.compression_level = 1,
		.recorder = "isorec " ISOTRACE_VERSION,
	};
}

bool trace_compression_level(const char *word, int *level)
{
	char *end;
	long number;

	if (strcmp(word, "off") == 0) {
		*level = 0;
		return true;
	}
	if (strcmp(word, "auto") == 0) {
		*level = TRACE_COMPRESSION_AUTO;
		return true;
	}
	if (strcmp(word, "fast") == 0) {
		*level = TRACE_COMPRESSION_FAST;
		return true;
	}
	number = strtol(word, &end, 10);
	*level = (int)number;
	return end != word && !*end && number >= 0 && number <= 19;
}

static void options_complete(struct trace_writer_options *options)
{
	if (options->block_size < BLOCK_SIZE_MIN)
		options->block_size = BLOCK_SIZE_MIN;
	if (options->block_size > TRACE_BLOCK_RAW_MAX / 2)
		options->block_size = TRACE_BLOCK_RAW_MAX / 2;
	if (!options->flush_interval_ms)
		options->flush_interval_ms = 1;
	if (options->total_size_max && !options->segment_size_max)
		options->segment_size_max = options->total_size_max / 8;
	if (!options->recorder)
		options->recorder = "";
}

static void pack_facts(struct buf *out, const char *const *facts)
{
	msgpack_packer pk = pack_into(out);
	uint32_t count = 0;

	while (facts && facts[2 * count] && facts[2 * count + 1])
		count++;
	msgpack_pack_map(&pk, count);
	for (uint32_t i = 0; i < 2 * count; i++)
		pack_str(&pk, span_str(facts[i]));
}

/* The directory of a rotated trace: made here, or empty of segments. */
static bool make_directory(const char *path, struct err *err)
{
	struct dirent *entry;
	bool used = false;
	DIR *dir;

	if (mkdir(path, 0700) == 0)
		return true;
	if (errno != EEXIST)
		return err_set_errno(err, errno,
			"cannot create the directory %s for the trace's segments", path);
	dir = opendir(path);
	if (!dir)
		return err_set_errno(
			err, errno, "cannot use %s as the directory of the trace's segments", path);
	while (!used && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		used = len > 4 && strcmp(entry->d_name + len - 4, ".itr") == 0;
	}
	closedir(dir);
	if (used)
		return err_set(err, ERR_USAGE,
			"%s holds segments of a trace already: choose another directory", path);
	return true;
}

static void writer_free(struct trace_writer *writer)
{
	struct block *block;

	segment_release(&writer->segment);
	ZSTD_freeCCtx(writer->codec.zstd);
	idle_compress_end(writer->codec.idle);
	buf_release(&writer->codec.frame);
	buf_release(&writer->facts);
	context_release(&writer->context);
	while ((block = writer->free_blocks)) {
		writer->free_blocks = block->next;
		block_free(block);
	}
	pthread_mutex_destroy(&writer->producers_lock);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->work);
	pthread_cond_destroy(&writer->room);
	pthread_cond_destroy(&writer->sync_work);
	pthread_cond_destroy(&writer->sync_done);
	mem_free(writer->old);
	mem_free(writer->path);
	mem_free(writer);
}

static struct trace_writer *writer_new(const char *path, const struct trace_writer_options *options)
{
	struct trace_writer *writer = mem_zero(1, sizeof(*writer));
	pthread_condattr_t attr;

	writer->options = *options;
	options_complete(&writer->options);
	writer->path = mem_strdup(path);
	writer->directory = writer->options.segment_size_max != 0;
	writer->next_producer = 1; /* 0 is the writer itself */
	atomic_init(&writer->next_seq, 1);
	atomic_init(&writer->stopped, false);
	pthread_mutex_init(&writer->producers_lock, NULL);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->work, &attr);
	pthread_cond_init(&writer->room, &attr);
	pthread_cond_init(&writer->sync_work, &attr);
	pthread_cond_init(&writer->sync_done, &attr);
	pthread_condattr_destroy(&attr);
	segment_init(&writer->segment, options->io);
	pack_facts(&writer->facts, options->facts);
	writer->codec.saving_min = SEGMENT_SAVING_MIN;
	if (writer->options.compression_level &&
		writer->options.compression_level != TRACE_COMPRESSION_AUTO) {
		writer->codec.zstd = mem_must(ZSTD_createCCtx());
		ZSTD_CCtx_setParameter(writer->codec.zstd, ZSTD_c_compressionLevel,
			writer->options.compression_level);
		writer->codec.saving_min = writer->options.compression_level < 0
						   ? SEGMENT_SAVING_MIN_FAST
						   : SEGMENT_SAVING_MIN;
	}
	return writer;
}

static void stop_syncing(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->sync_closing = true;
	pthread_cond_signal(&writer->sync_work);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->sync_thread, NULL);
}

/* Signals are the program's business, not this thread's; and with SIGXFSZ and SIGPIPE blocked a
 * refused write comes back as an error. */
static bool start_thread(struct trace_writer *writer, struct err *err)
{
	sigset_t all, old;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (writer->options.compression_level == TRACE_COMPRESSION_AUTO) {
		writer->codec.idle = idle_compress_begin(1, err);
		if (!writer->codec.idle) {
			pthread_sigmask(SIG_SETMASK, &old, NULL);
			return false;
		}
	}
	errnum = pthread_create(&writer->sync_thread, NULL, syncing_thread, writer);
	if (!errnum) {
		errnum = pthread_create(&writer->thread, NULL, writing_thread, writer);
		if (errnum)
			stop_syncing(writer);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum)
		return err_set_errno(err, errnum, "cannot start the trace writer's thread");
	return true;
}

struct trace_writer *trace_writer_open(
	const char *path, const struct trace_writer_options *options, struct err *err)
{
	struct trace_writer *writer = writer_new(path, options);
	struct trace_header *header = &writer->segment.header;
	uint64_t now = clock_mono_ns();

	writer->flush_ns = now + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	writer->sync_ns = now + (uint64_t)writer->options.sync_interval_ms * 1000000u;
	if (getrandom(header->trace_id, sizeof(header->trace_id), 0) !=
		(ssize_t)sizeof(header->trace_id)) {
		err_set_errno(err, errno, "cannot get random bytes for the trace's name");
	} else if ((!writer->directory || make_directory(path, err)) &&
		   writing_open_segment(writer, 1, err) && start_thread(writer, err)) {
		syncing_ask_folder(writer);
		return writer;
	}
	writer_free(writer);
	return NULL;
}

/* ---- while it is open ---- */

void trace_context_set(struct trace_writer *writer, struct span key, struct span record)
{
	if (!writer->directory)
		return;
	pthread_mutex_lock(&writer->lock);
	context_set(&writer->context, key, record, atomic_load(&writer->next_seq));
	pthread_mutex_unlock(&writer->lock);
}

void trace_writer_rotate(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->rotate_wanted = true;
	pthread_mutex_unlock(&writer->lock);
}

bool trace_writer_stopped(struct trace_writer *writer, struct err *why)
{
	bool stopped = atomic_load(&writer->stopped);

	if (stopped && why) {
		pthread_mutex_lock(&writer->lock);
		*why = writer->stop_why;
		pthread_mutex_unlock(&writer->lock);
	}
	return stopped;
}

void trace_writer_stats(struct trace_writer *writer, struct trace_writer_stats *out)
{
	pthread_mutex_lock(&writer->lock);
	*out = writer->stats;
	if (writer->codec.idle)
		out->compression_ns = idle_compress_cost_ns(writer->codec.idle);
	out->backlog_bytes = writer->queued_bytes;
	if (writer->writing_ns && clock_mono_ns() - writer->writing_ns > writing_bound_ns(writer))
		out->late_ns = clock_mono_ns() - writer->writing_ns;
	if (writer->syncing_ns && clock_mono_ns() - writer->syncing_ns > syncing_bound_ns(writer))
		out->sync_late_ns = clock_mono_ns() - writer->syncing_ns;
	pthread_mutex_unlock(&writer->lock);
}

bool trace_writer_is_durable(struct trace_writer *writer, uint64_t ticket, bool *kept)
{
	bool done = atomic_load(&writer->durable_done) >= ticket;

	/* In this order: `broken` is raised before `done`. */
	*kept = ticket && atomic_load(&writer->durable_broken) < ticket;
	return done;
}

void trace_writer_watch_durable(struct trace_writer *writer, void (*wake)(void *data), void *data)
{
	pthread_mutex_lock(&writer->lock);
	writer->durable_wake = wake;
	writer->durable_data = data;
	pthread_mutex_unlock(&writer->lock);
}

/* ---- closing ---- */

static bool end(struct trace_writer *writer, struct err *err)
{
	bool ok;

	pthread_mutex_lock(&writer->producers_lock);
	CHECK(!writer->producers);
	pthread_mutex_unlock(&writer->producers_lock);
	pthread_mutex_lock(&writer->lock);
	writer->closing = true;
	pthread_cond_signal(&writer->work);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	stop_syncing(writer);
	ok = writer->ended_well;
	if (atomic_load(&writer->stopped) || writer->paused) {
		err_set(err, writer->stop_why.code, "%s; %" PRIu64 " records were lost%s",
			writer->stop_why.text, writer->stats.lost_records,
			ok ? "" : ", and the trace ends without a footer");
		if (err)
			err->errnum = writer->stop_why.errnum;
		ok = false;
	} else if (!ok) {
		err_set_errno(err, writer->end_err.errnum,
			"the trace %s ends without a footer after %" PRIu64
			" bytes, which are readable",
			writer->segment.path, writer->segment.offset);
	}
	return ok;
}

bool trace_writer_end(
	struct trace_writer *writer, struct trace_writer_stats *stats, struct err *err)
{
	bool ok = end(writer, err);

	*stats = writer->stats;
	if (writer->codec.idle)
		stats->compression_ns = idle_compress_cost_ns(writer->codec.idle);
	writer_free(writer);
	return ok;
}

bool trace_writer_close(struct trace_writer *writer, struct err *err)
{
	struct trace_writer_stats stats;

	return trace_writer_end(writer, &stats, err);
}

void trace_writer_discard(struct trace_writer *writer)
{
	(void)!end(writer, NULL);
	if (writer->segment.cuttable && writer->segment.header.segment == 1)
		(void)unlink(writer->segment.path);
	writer_free(writer);
}
