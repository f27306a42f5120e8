/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a loss of power leaves of a trace.  The writes and syncs of a writer are logged, with the moments
 * at which records were said to be durable.  Then files are made as a disk may have them: all that was
 * written before a sync that had ended by then, and of the rest any pages, the others being zeros or not
 * there.  Each is read: what was synced is there, nothing is made up, and a trace counts as whole only
 * where it is.
 *
 * POWER_LOSS_STATES: how many files, 1,000 otherwise.
 */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace_make.h"

enum { NOTES = 400, PAGE = 512, EVENTS_MAX = 4096 };

enum event_kind { EVENT_WRITE, EVENT_SYNC_BEGIN, EVENT_SYNC_END, EVENT_DURABLE };

struct event {
	enum event_kind kind;
	uint64_t offset, len; /* of a write */
	size_t begin;         /* of the end of a sync: the event at which it began */
	uint64_t notes;       /* of durable: how many */
};

struct disk {
	pthread_mutex_t lock;
	struct buf bytes;
	struct event events[EVENTS_MAX];
	size_t count;
};

static size_t disk_log(struct disk *disk, struct event event)
{
	HOLDS(disk->count < EVENTS_MAX);
	disk->events[disk->count] = event;
	return disk->count++;
}

static ssize_t disk_write(void *data, int fd, const void *ptr, size_t len)
{
	struct disk *disk = data;

	(void)fd;
	pthread_mutex_lock(&disk->lock);
	disk_log(disk, (struct event){.kind = EVENT_WRITE, .offset = disk->bytes.len, .len = len});
	buf_add(&disk->bytes, ptr, len);
	pthread_mutex_unlock(&disk->lock);
	return (ssize_t)len;
}

static int disk_sync(void *data, int fd)
{
	struct disk *disk = data;
	size_t begin;

	(void)fd;
	pthread_mutex_lock(&disk->lock);
	begin = disk_log(disk, (struct event){.kind = EVENT_SYNC_BEGIN});
	pthread_mutex_unlock(&disk->lock);
	usleep(100); /* others write meanwhile */
	pthread_mutex_lock(&disk->lock);
	disk_log(disk, (struct event){.kind = EVENT_SYNC_END, .begin = begin});
	pthread_mutex_unlock(&disk->lock);
	return 0;
}

static int disk_truncate(void *data, int fd, uint64_t size)
{
	(void)data;
	(void)fd;
	(void)size;
	ck_abort_msg("nothing fails here");
	return -1;
}

/* A recording, with what was said of it while it was made. */
static void record(struct disk *disk, const char *path)
{
	struct trace_io io = {disk_write, disk_sync, disk_truncate, disk};
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct err err;
	bool kept;

	trace_writer_defaults(&options);
	options.block_size = 2048;
	options.flush_interval_ms = options.sync_interval_ms = 1;
	options.io = &io;
	writer = trace_writer_open(path, &options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	producer = trace_producer_open(writer);
	for (uint64_t i = 0; i < NOTES; i++) {
		uint64_t ticket;

		numbered_emit(producer, 0, i);
		if (i % 7)
			continue;
		ticket = trace_producer_durable(producer);
		while (i % 2 && !trace_writer_is_durable(writer, ticket, &kept))
			usleep(10);
		if (!trace_writer_is_durable(writer, ticket, &kept) || !kept)
			continue;
		pthread_mutex_lock(&disk->lock);
		disk_log(disk, (struct event){.kind = EVENT_DURABLE, .notes = i + 1});
		pthread_mutex_unlock(&disk->lock);
	}
	trace_producer_close(producer);
	ck_assert_msg(trace_writer_close(writer, &err), "%s", err.text);
}

/* What the disk has at a moment: bytes up to `synced` for sure. */
struct moment {
	uint64_t synced, written, notes;
};

static struct moment moment_at(const struct disk *disk, size_t at)
{
	struct moment m = {0};
	size_t begin = 0;

	for (size_t i = 0; i < at; i++) {
		const struct event *e = &disk->events[i];

		if (e->kind == EVENT_WRITE)
			m.written = e->offset + e->len;
		else if (e->kind == EVENT_SYNC_END && e->begin > begin)
			begin = e->begin;
		else if (e->kind == EVENT_DURABLE && e->notes > m.notes)
			m.notes = e->notes;
	}
	for (size_t i = 0; i < begin; i++) {
		if (disk->events[i].kind == EVENT_WRITE)
			m.synced = disk->events[i].offset + disk->events[i].len;
	}
	return m;
}

/* One file that the moment may leave. */
static void leave(const struct disk *disk, const struct moment *m, struct random *random, struct buf *out)
{
	unsigned share = (unsigned)random_below(random, 5); /* of four: pages that are there */
	uint64_t end = m->synced;

	buf_clear(out);
	buf_add(out, disk->bytes.data, m->synced);
	memset(buf_reserve(out, m->written - m->synced), 0, m->written - m->synced);
	out->len = m->written;
	for (uint64_t at = m->synced; at < m->written;) {
		uint64_t next = (at / PAGE + 1) * PAGE;

		if (next > m->written)
			next = m->written;
		if (random_below(random, 4) < share) {
			memcpy(out->data + at, disk->bytes.data + at, next - at);
			end = next;
		}
		at = next;
	}
	/* The size may be further than the last page. */
	if (random_below(random, 2))
		out->len = end;
}

/* Reads it; false: it is said to be damaged, or no trace. */
static bool read_state(const char *path, bool salvage, uint64_t *notes, bool *whole)
{
	struct trace_reader_options options = {.salvage = salvage};
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_item item;
	enum trace_next next;
	struct err err;

	*notes = 0;
	*whole = false;
	reader = trace_reader_open(path, &options, &err);
	if (!reader)
		return false;
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		uint64_t number, seq;
		uint32_t thread;

		if (!numbered_read(&item, &thread, &number, &seq))
			continue;
		HOLDS(number < NOTES);
		if (!salvage)
			HOLDS(number == *notes);
		++*notes;
	}
	trace_reader_totals(reader, &totals);
	*whole = next == TRACE_NEXT_END && totals.clean;
	trace_reader_close(reader);
	return next == TRACE_NEXT_END;
}

static uint64_t notes_in_bytes(const char *path, struct span bytes)
{
	uint64_t notes;
	bool whole;

	file_store(path, bytes.ptr, bytes.len);
	(void)read_state(path, false, &notes, &whole);
	return notes;
}

static void check_state(const struct disk *disk, const char *path, struct random *random, struct buf *bytes)
{
	struct moment m = moment_at(disk, random_below(random, disk->count + 1));
	uint64_t synced = notes_in_bytes(path, span_of(disk->bytes.data, m.synced)), notes, salvaged;
	bool whole, whole_salvaged, same;

	leave(disk, &m, random, bytes);
	same = bytes->len == disk->bytes.len && memcmp(bytes->data, disk->bytes.data, bytes->len) == 0;
	file_store(path, bytes->data, bytes->len);
	(void)read_state(path, false, &notes, &whole);
	(void)read_state(path, true, &salvaged, &whole_salvaged);
	/* --durable's promise, and --sync's. */
	HOLDS(synced >= m.notes);
	HOLDS(notes >= synced);
	HOLDS(salvaged >= notes);
	HOLDS(whole == same && whole_salvaged == same);
}

START_TEST(states_of_a_disk)
{
	const char *wanted = getenv("POWER_LOSS_STATES");
	long states = wanted ? atol(wanted) : 1000;
	char *dir = temp_dir(), *path = temp_path(dir, "trace"), *state = temp_path(dir, "state");
	struct random random = {28};
	struct buf bytes = BUF_INIT;

	for (long done = 0; done < states;) {
		struct disk *disk = calloc(1, sizeof(*disk));

		pthread_mutex_init(&disk->lock, NULL);
		record(disk, path);
		unlink(path);
		for (int i = 0; i < 250 && done < states; i++, done++)
			check_state(disk, state, &random, &bytes);
		buf_release(&disk->bytes);
		free(disk);
	}
	buf_release(&bytes);
	free(state);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("power_loss", states_of_a_disk)
