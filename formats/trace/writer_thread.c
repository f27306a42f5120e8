/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The background thread of a trace writer: it compresses and writes blocks, and rotates segments.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "trace/writer_internal.h"

/* ---- watermarks and stale blocks ---- */

static void lower(uint64_t *value, uint64_t seq)
{
	if (seq && seq < *value)
		*value = seq;
}

static uint64_t watermark_now(struct trace_writer *writer)
{
	uint64_t low = atomic_load(&writer->next_seq);

	pthread_mutex_lock(&writer->producers_lock);
	for (struct trace_producer *p = writer->producers; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		lower(&low, p->held_first_seq);
		lower(&low, p->reserved);
		if (p->block)
			lower(&low, p->block->head.info.first_seq);
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&writer->producers_lock);
	pthread_mutex_lock(&writer->lock);
	for (const struct block *b = writer->queue_first; b; b = b->next)
		lower(&low, b->head.info.first_seq);
	pthread_mutex_unlock(&writer->lock);
	return low;
}

/* Queues what idle producers hold.  The limit does not apply: it is one block a producer. */
static void take_stale(struct trace_writer *writer)
{
	pthread_mutex_lock(&writer->producers_lock);
	for (struct trace_producer *p = writer->producers; p; p = p->next) {
		pthread_mutex_lock(&p->lock);
		/* A waiting owner has an older block in its hands, which must come first. */
		if (!p->held_first_seq && (!block_is_empty(p->block) || p->loss.records)) {
			if (!p->block)
				p->block = block_take(writer, p->id);
			if (p->loss.records) {
				p->last_seq =
					block_add_gap(writer, p->block, p->id, "dropped", &p->loss,
						"the disk did not keep up and the buffer was full");
				p->block->head.lost += p->loss.records;
				p->loss = (struct loss){0};
			}
			pthread_mutex_lock(&writer->lock);
			block_queue_locked(writer, p->block);
			pthread_mutex_unlock(&writer->lock);
			p->block = NULL;
		}
		pthread_mutex_unlock(&p->lock);
	}
	pthread_mutex_unlock(&writer->producers_lock);
}

/* ---- the disk ---- */

/* A producer that drops records begins again when there is room. */
static bool may_pause(const struct trace_writer *writer, const struct err *why)
{
	return writer->options.policy == TRACE_POLICY_DROP &&
	       (why->errnum == ENOSPC || why->errnum == EDQUOT);
}

/* The disk refused bytes; sync: it refused to keep those that it had taken, and which of them are
 * there is not known. */
static void note_failure(struct trace_writer *writer, const struct err *why, bool sync)
{
	struct err text = *why;

	writer->failed = true;
	writer->paused = !sync && may_pause(writer, why);
	writer->retry_ns = clock_mono_ns() + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	err_set_errno(&text, why->errnum,
		"recording stopped: cannot write to %s after %" PRIu64 " bytes (%" PRIu64
		" blocks, %" PRIu64 " records), which stay readable",
		writer->segment.path, writer->segment.offset, writer->segment.blocks,
		writer->segment.records);
	pthread_mutex_lock(&writer->lock);
	writer->stats.paused = writer->paused;
	if (writer->paused)
		writer->stop_why = text;
	else
		writing_stop_locked(writer, &text);
	pthread_mutex_unlock(&writer->lock);
}

/* Until when the block may wait for its compression: not at all where others wait behind it. */
static uint64_t compression_due_ns(struct trace_writer *writer, const struct block *block)
{
	enum { PATIENCE_MS = 20, CLOSING_MS = 10000, CROWD = 8 };
	uint64_t interval = (uint64_t)writer->options.flush_interval_ms * 1000000u, patience;
	bool crowded, closing;

	if (!writer->codec.idle)
		return 0;
	pthread_mutex_lock(&writer->lock);
	crowded = writer->queued_bytes > writer->options.buffer_size_max / CROWD ||
		  writer->durable_wanted > writer->durable_asked;
	closing = writer->closing;
	pthread_mutex_unlock(&writer->lock);
	if (closing) { /* nothing comes any more: the machine may have time */
		if (!writer->closing_until_ns)
			writer->closing_until_ns = clock_mono_ns() + CLOSING_MS * UINT64_C(1000000);
		return writer->closing_until_ns;
	}
	if (crowded)
		return 0;
	patience = clock_mono_ns() + PATIENCE_MS * 1000000u;
	return block->born_ns + interval > patience ? block->born_ns + interval : patience;
}

/* Writes one block.  False: the disk refused, and the failure is noted. */
static bool write_block(struct trace_writer *writer, struct block *block)
{
	struct segment *segment = &writer->segment;
	uint64_t before = segment->offset;
	struct err err;

	writer->codec.idle_until_ns = compression_due_ns(writer, block);
	if (!segment_write(segment, &writer->codec, &block->head, &block->body, &err)) {
		note_failure(writer, &err, false);
		return false;
	}
	pthread_mutex_lock(&writer->lock);
	writer->stats.blocks++;
	writer->stats.bytes_written += segment->offset - before;
	if (!block->head.info.context) {
		writer->stats.records += block->head.records;
		writer->stats.bytes_raw += block->body.len - SEGMENT_ROOM;
	}
	writer->accounted += block->head.lost;
	if (writer->directory)
		context_advance(&writer->context, block->head.info.watermark);
	pthread_mutex_unlock(&writer->lock);
	if (writer->options.sync == TRACE_SYNC_ALWAYS && !segment_sync(segment, &err)) {
		note_failure(writer, &err, true);
		return false;
	}
	if (writer->options.sync == TRACE_SYNC_INTERVAL)
		segment_start_writing(segment);
	return true;
}

/* A block of the writer's own with one gap record. */
static bool write_gap(struct trace_writer *writer, const char *reason, const struct loss *loss,
	uint64_t accounts, const char *detail)
{
	struct block *block = block_take(writer, 0);
	bool ok;

	(void)block_add_gap(writer, block, 0, reason, loss, detail);
	block->head.lost = accounts;
	block->head.info.watermark = watermark_now(writer);
	lower(&block->head.info.watermark, writer->watermark);
	ok = write_block(writer, block);
	pthread_mutex_lock(&writer->lock);
	block_recycle_locked(writer, block);
	pthread_mutex_unlock(&writer->lock);
	return ok;
}

/* What was lost and stands in no gap record yet, after a stop. */
static bool write_stop_gap(struct trace_writer *writer)
{
	struct loss loss;
	const char *detail;
	char text[sizeof(writer->stop_why.text)];

	pthread_mutex_lock(&writer->lock);
	loss = writer->lost;
	loss.records = writer->stats.lost_records - writer->accounted;
	writer->lost = (struct loss){0};
	memcpy(text, writer->stop_why.text, sizeof(text));
	detail = atomic_load(&writer->stopped) ? text
		 : writer->paused              ? "there was no room for the trace"
					       : "the buffer was full to the end";
	pthread_mutex_unlock(&writer->lock);
	if (write_gap(writer, atomic_load(&writer->stopped) ? "stopped" : "dropped", &loss,
		    loss.records, detail))
		return true;
	pthread_mutex_lock(&writer->lock);
	loss_join(&writer->lost, &loss);
	pthread_mutex_unlock(&writer->lock);
	return false;
}

/* ---- segments ---- */

static char *segment_path(const struct trace_writer *writer, uint32_t number)
{
	struct buf path = BUF_INIT;

	if (!writer->directory)
		return mem_strdup(writer->path);
	buf_printf(&path, "%s/%06" PRIu32 ".itr", writer->path, number);
	return path.data;
}

bool writing_open_segment(struct trace_writer *writer, uint32_t number, struct err *err)
{
	struct segment *segment = &writer->segment;
	char *path = segment_path(writer, number);
	unsigned char id[16];
	bool ok;

	memcpy(id, segment->header.trace_id, sizeof(id));
	segment_release(segment);
	memcpy(segment->header.trace_id, id, sizeof(id));
	segment->header.segment = number;
	segment->header.recorder_ref = span_str(writer->options.recorder);
	segment->header.facts_ref = buf_span(&writer->facts);
	segment->anchored = writer->options.anchor_mono_ns != 0;
	if (segment->anchored) {
		segment->header.clock_mono_ns = writer->options.anchor_mono_ns;
		segment->header.clock_wall_ns = writer->options.anchor_wall_ns;
	}
	ok = segment_create(segment, path, writer->options.overwrite && !writer->directory, err);
	mem_free(path);
	if (ok) {
		pthread_mutex_lock(&writer->lock);
		writer->stats.segments++;
		writer->stats.bytes_written += segment->offset;
		pthread_mutex_unlock(&writer->lock);
	}
	return ok;
}

struct context_run {
	struct trace_writer *writer;
	struct block *block;
	struct block *first, *last; /* finished ones */
};

static void context_take(void *arg, struct span record)
{
	struct context_run *run = arg;
	struct mp mp = mp_over(record);
	uint32_t kind, left;
	uint64_t seq, at;

	/* What is no record with seq and at is not repeated: it would spoil the block. */
	if (!record_begin(&mp, &kind, &left) || left < 2 || kind >= RECORD_KIND_COUNT)
		return;
	seq = mp_uint(&mp);
	at = mp_uint(&mp);
	if (mp.bad || !record_skip_fields(&mp, left - 2) || mp.p != mp.end)
		return;
	if (run->block->head.records &&
		run->block->body.len + record.len > run->writer->options.block_size) {
		if (run->last)
			run->last->next = run->block;
		else
			run->first = run->block;
		run->last = run->block;
		run->block = block_take_locked(run->writer, 0);
	}
	buf_add_span(&run->block->body, record);
	block_count(run->block, (enum record_kind)kind, seq, at);
}

static bool write_context(struct trace_writer *writer)
{
	struct context_run run = {.writer = writer};
	bool ok = true;

	pthread_mutex_lock(&writer->lock);
	run.block = block_take_locked(writer, 0);
	context_each(&writer->context, context_take, &run);
	pthread_mutex_unlock(&writer->lock);
	if (run.last)
		run.last->next = run.block;
	else
		run.first = run.block;
	while (run.first) {
		struct block *block = run.first;

		run.first = block->next;
		block->head.info.context = true;
		block->head.info.watermark = writer->watermark;
		ok = ok && (!block->head.records || write_block(writer, block));
		pthread_mutex_lock(&writer->lock);
		block_recycle_locked(writer, block);
		pthread_mutex_unlock(&writer->lock);
	}
	return ok;
}

/* Removes the oldest segments until one more of full size fits; tells of all removed so far. */
static bool remove_old(struct trace_writer *writer)
{
	uint64_t limit = writer->options.total_size_max;
	char detail[96];

	while (limit && writer->old_first < writer->old_count &&
		writer->old_bytes + writer->options.segment_size_max > limit) {
		const struct old_segment *old = &writer->old[writer->old_first++];
		char *path = segment_path(writer, old->number);

		if (unlink(path) == 0 || errno == ENOENT) {
			loss_add(&writer->removed, old->records, old->bytes, old->first_seq,
				old->last_seq);
			writer->removed_last = old->number;
		}
		writer->old_bytes -= old->size;
		mem_free(path);
	}
	if (!writer->removed_last)
		return true;
	snprintf(detail, sizeof(detail),
		"segments 1 to %" PRIu32 " were removed by the limit on the "
		"total size",
		writer->removed_last);
	return write_gap(writer, "rotated", &writer->removed, 0, detail);
}

/* The last segment: a footer says that all before it is there, so it comes only once that is synced,
 * and goes again if it cannot be. */
static bool close_segment(struct trace_writer *writer, uint64_t before, struct err *err)
{
	struct segment *segment = &writer->segment;
	bool sync = writer->options.sync != TRACE_SYNC_NEVER;

	if (!sync || segment->fd < 0 || segment_sync(segment, err))
		return segment_end(segment, false, err);
	segment_cut(segment, before);
	(void)!segment_end(segment, false, NULL);
	return false;
}

static bool end_segment(struct trace_writer *writer, const char *reason, struct err *err)
{
	struct segment *segment = &writer->segment;
	bool rotated = strcmp(reason, "rotated") == 0;
	uint64_t before = segment->offset;

	if (!rotated && writer->options.sync != TRACE_SYNC_NEVER && !segment_sync(segment, err))
		return false;
	if (!segment_footer(
		    segment, &writer->codec, reason, writing_seq(writer), writer->watermark, err))
		return false;
	pthread_mutex_lock(&writer->lock);
	writer->stats.bytes_written += segment->offset - before;
	writer->stats.blocks++;
	pthread_mutex_unlock(&writer->lock);
	if (!rotated || writer->options.sync != TRACE_SYNC_INTERVAL)
		return close_segment(writer, before, err);
	syncing_ask(writer, true);
	return true;
}

static bool rotate(struct trace_writer *writer)
{
	struct segment *segment = &writer->segment;
	struct old_segment old = {segment->header.segment, 0,
		segment->records - segment->repeated + segment->lost, segment->bytes_raw,
		segment->first_seq, segment->last_seq};
	struct err err;

	if (!end_segment(writer, "rotated", &err)) {
		note_failure(writer, &err, segment->fd < 0);
		return false;
	}
	old.size = segment->offset;
	/* Those removed leave room at the front once in a while. */
	if (writer->old_first > 64 && writer->old_first * 2 > writer->old_count) {
		memmove(writer->old, writer->old + writer->old_first,
			(writer->old_count - writer->old_first) * sizeof(*writer->old));
		writer->old_count -= writer->old_first;
		writer->old_first = 0;
	}
	MEM_RESERVE(writer->old, writer->old_count + 1, writer->old_capacity);
	writer->old[writer->old_count++] = old;
	writer->old_bytes += old.size;
	if (!writing_open_segment(writer, old.number + 1, &err)) {
		note_failure(writer, &err, false);
		return false;
	}
	syncing_ask_folder(writer);
	return write_context(writer) && remove_old(writer);
}

static bool rotation_due(struct trace_writer *writer, const struct block *block)
{
	uint64_t limit = writer->options.segment_size_max;
	bool due;

	if (!writer->directory || writer->segment.records == 0)
		return false;
	pthread_mutex_lock(&writer->lock);
	/* Some room for the footer. */
	due = writer->rotate_wanted ||
	      (limit && writer->segment.offset + segment_block_size_max(block->body.len) + 512 +
					32 * (uint64_t)writer->segment.run_count >
				limit);
	due = due && !syncing_is_behind_locked(writer);
	if (due)
		writer->rotate_wanted = false;
	pthread_mutex_unlock(&writer->lock);
	return due;
}

/* ---- its loop ---- */

static void resumed(struct trace_writer *writer)
{
	writer->paused = false;
	pthread_mutex_lock(&writer->lock);
	writer->stats.paused = false;
	pthread_mutex_unlock(&writer->lock);
}

/* Is there room again?  First of all the trace tells what was lost. */
static bool resume(struct trace_writer *writer)
{
	struct segment *segment = &writer->segment;
	struct loss loss;
	struct err err;

	if (!writer->paused || clock_mono_ns() < writer->retry_ns)
		return false;
	writer->failed = false;
	/* The disk was full when the next segment was due. */
	if (segment->fd < 0) {
		if (!writing_open_segment(writer, segment->header.segment, &err)) {
			note_failure(writer, &err, false);
			return false;
		}
		syncing_ask_folder(writer);
		if (!write_context(writer))
			return false;
	}
	pthread_mutex_lock(&writer->lock);
	loss = writer->lost;
	writer->lost = (struct loss){0};
	pthread_mutex_unlock(&writer->lock);
	if (loss.records && !write_gap(writer, "dropped", &loss, loss.records,
				    "there was no room for the trace")) {
		pthread_mutex_lock(&writer->lock);
		loss_join(&writer->lost, &loss);
		pthread_mutex_unlock(&writer->lock);
		return false;
	}
	resumed(writer);
	return true;
}

/* Writes a queued block or counts it as lost. */
static void process_block(struct trace_writer *writer, struct block *block)
{
	bool ok = !writer->failed || resume(writer);

	if (ok && rotation_due(writer, block))
		ok = rotate(writer);
	if (ok) {
		uint64_t low = watermark_now(writer);

		/* Never back: what was promised holds for all later blocks. */
		if (low > writer->watermark)
			writer->watermark = low;
		block->head.info.watermark = writer->watermark;
		ok = write_block(writer, block);
	}
	if (!ok) {
		struct loss loss = block_loss(block);

		pthread_mutex_lock(&writer->lock);
		writing_lose_locked(writer, &loss);
		loss_join(&writer->lost, &loss);
		pthread_mutex_unlock(&writer->lock);
	}
}

static void sync_if_due(struct trace_writer *writer, uint64_t now)
{
	struct err err;

	if (writer->options.sync != TRACE_SYNC_INTERVAL || writer->failed || now < writer->sync_ns)
		return;
	writer->sync_ns = now + (uint64_t)writer->options.sync_interval_ms * 1000000u;
	if (syncing_failed(writer, &err))
		note_failure(writer, &err, true);
	else if (writer->segment.fd >= 0 && writer->segment.cuttable)
		syncing_ask(writer, false);
}

/* How long the block's first record waited, where that is past the bound. */
static void note_late(struct trace_writer *writer, const struct block *block)
{
	uint64_t now = clock_mono_ns(), age = now - block->born_ns;

	if (age <= writing_bound_ns(writer))
		return;
	if (!writer->late_ns)
		writer->late_since = block->born_ns;
	if (age > writer->late_ns)
		writer->late_ns = age;
	pthread_mutex_lock(&writer->lock);
	if (age > writer->stats.late_ns_max)
		writer->stats.late_ns_max = age;
	pthread_mutex_unlock(&writer->lock);
}

/* Now that the disk is on time again, the trace says that it was not. */
static void tell_late(struct trace_writer *writer)
{
	struct loss none = {.begin = writer->late_since};
	char detail[128];

	snprintf(detail, sizeof(detail),
		"the disk was slow: records waited in memory for up to %" PRIu64
		" ms; nothing was lost",
		writer->late_ns / 1000000u);
	writer->late_ns = 0;
	if (!writer->failed)
		(void)write_gap(writer, "late", &none, 0, detail);
}

/* What is due by the clock.  With writer->lock held, let go in between. */
static void on_tick(struct trace_writer *writer)
{
	uint64_t now = clock_mono_ns();

	if (now < writer->flush_ns)
		return;
	writer->flush_ns = now + (uint64_t)writer->options.flush_interval_ms * 1000000u;
	pthread_mutex_unlock(&writer->lock);
	take_stale(writer);
	sync_if_due(writer, now);
	pthread_mutex_lock(&writer->lock);
}

static struct block *queue_pop_locked(struct trace_writer *writer)
{
	struct block *block = writer->queue_first;

	if (!block)
		return NULL;
	writer->queue_first = block->next;
	if (!writer->queue_first)
		writer->queue_last = NULL;
	return block;
}

static void process_queue(struct trace_writer *writer)
{
	struct block *block = queue_pop_locked(writer);

	while (block) {
		size_t memory = block_memory(block);

		writer->writing_ns = block->born_ns;
		pthread_mutex_unlock(&writer->lock);
		process_block(writer, block);
		note_late(writer, block);
		pthread_mutex_lock(&writer->lock);
		writer->writing_ns = 0;
		writer->processed_count++;
		syncing_serve_tickets_locked(writer);
		writer->queued_bytes -= memory;
		block_recycle_locked(writer, block);
		pthread_cond_broadcast(&writer->room);
		on_tick(writer);
		block = queue_pop_locked(writer);
	}
}

/* Everything is written: the last gap record and the footer.  After a failure there may be room
 * again for so little; if not, the trace ends without a footer. */
static bool finish(struct trace_writer *writer, struct err *err)
{
	bool stopped, ok = true;
	struct err why;

	syncing_wait(writer);
	if (!writer->failed && syncing_failed(writer, &why))
		note_failure(writer, &why, true);
	stopped = atomic_load(&writer->stopped);
	if (writer->segment.fd < 0)
		return false;
	if (writer->stats.lost_records > writer->accounted)
		ok = write_stop_gap(writer);
	ok = ok && end_segment(writer, stopped ? "stopped" : "end", err);
	if (ok)
		resumed(writer);
	return ok;
}

void *writing_thread(void *arg)
{
	struct trace_writer *writer = arg;

	pthread_setname_np(pthread_self(), "trace writer");
	pthread_mutex_lock(&writer->lock);
	for (;;) {
		bool closing = writer->closing;
		struct timespec until;

		process_queue(writer);
		/* A ticket for what was written before it was taken. */
		syncing_serve_tickets_locked(writer);
		if (atomic_load(&writer->stopped) && !writer->stop_noted) {
			pthread_mutex_unlock(&writer->lock);
			writer->stop_noted = true;
			(void)write_stop_gap(writer);
			pthread_mutex_lock(&writer->lock);
			continue;
		}
		if (UNLIKELY(writer->late_ns)) {
			pthread_mutex_unlock(&writer->lock);
			tell_late(writer);
			pthread_mutex_lock(&writer->lock);
		}
		/* `closing` was seen before the queue was emptied: nothing can have come since. */
		if (closing)
			break;
		on_tick(writer);
		if (writer->queue_first || writer->closing ||
			writer->durable_wanted > writer->durable_asked)
			continue;
		until = timespec_of(writer->flush_ns);
		writer->thread_waits = true;
		pthread_cond_timedwait(&writer->work, &writer->lock, &until);
		writer->thread_waits = false;
	}
	pthread_mutex_unlock(&writer->lock);
	/* Here and not in trace_writer_close: this thread has SIGXFSZ and SIGPIPE blocked. */
	err_clear(&writer->end_err);
	writer->ended_well = finish(writer, &writer->end_err);
	return NULL;
}
