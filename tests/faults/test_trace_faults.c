/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace under real faults: a recorder killed with SIGKILL at random moments, a disk that is
 * full, a file cut at every byte, a hundred thousand flipped bits and forged lengths.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace_make.h"

/* ---- killed ---- */

enum { KILLS = 200, KILL_THREADS = 3 };

/* Shared with the child: what its writer had finished, noted after the fact. */
struct progress {
	_Atomic uint64_t blocks, bytes;
};

struct child {
	struct trace_writer *writer;
	uint32_t thread;
};

static void *child_emit(void *arg)
{
	struct child *child = arg;
	struct trace_producer *producer = trace_producer_open(child->writer);

	for (uint64_t i = 0;; i++)
		numbered_emit(producer, child->thread, i);
	return NULL;
}

/* Never returns: it is killed. */
static void child_record(const char *path, struct progress *progress, bool rotate)
{
	struct trace_writer_options options;
	struct child children[KILL_THREADS];
	struct trace_writer *writer;
	pthread_t thread;
	struct err err;

	trace_writer_defaults(&options);
	options.block_size = 8192;
	options.buffer_size_max = 256 * 1024;
	options.wait_ms_max = 60000;
	options.flush_interval_ms = 2;
	options.segment_size_max = rotate ? 100 * 1000 : 0;
	writer = trace_writer_open(path, &options, &err);
	if (!writer)
		_exit(9);
	for (uint32_t i = 0; i < KILL_THREADS; i++) {
		children[i] = (struct child){writer, i};
		pthread_create(&thread, NULL, child_emit, &children[i]);
	}
	for (;;) {
		struct trace_writer_stats stats;

		trace_writer_stats(writer, &stats);
		progress->bytes = stats.bytes_written;
		progress->blocks = stats.blocks;
		sched_yield();
	}
}

/* Reads what is left: every thread's notes from the first on, without a hole, byte for byte. */
static void check_remains(const char *path, const struct progress *progress)
{
	struct trace_reader_options options = {.ordered = true};
	uint64_t next_number[KILL_THREADS] = {0}, last_seq = 0;
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_item item;
	enum trace_next next;
	struct err err;

	reader = trace_reader_open(path, &options, &err);
	if (!reader) {
		/* Killed before the header was whole. */
		EQUAL(progress->blocks, 0);
		return;
	}
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		uint64_t number, seq;
		uint32_t thread;

		if (!numbered_read(&item, &thread, &number, &seq))
			continue;
		HOLDS(thread < KILL_THREADS);
		EQUAL(number, next_number[thread]);
		next_number[thread]++;
		HOLDS(seq > last_seq);
		last_seq = seq;
	}
	if (next != TRACE_NEXT_END)
		ck_abort_msg("%s", err.text);
	trace_reader_totals(reader, &totals);
	/* Every block that the writer had called finished is there. */
	HOLDS(totals.blocks >= progress->blocks);
	HOLDS(totals.bytes_file >= progress->bytes);
	EQUAL(totals.bytes_damaged, 0);
	EQUAL(totals.out_of_order, 0);
	HOLDS(!totals.clean);
	trace_reader_close(reader);
}

/* Half the moments are counted from the first block on, however slow the machine is. */
static void await_block(const struct progress *progress)
{
	struct timespec pause = {0, 1000000};

	for (int i = 0; i < 20000 && !progress->blocks; i++)
		nanosleep(&pause, NULL);
}

START_TEST(killed_at_random_moments)
{
	struct progress *progress = mmap(
		NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct random random = {(uint64_t)time(NULL)};
	uint64_t with_blocks = 0;

	ck_assert(progress != MAP_FAILED);
	for (int i = 0; i < KILLS; i++) {
		char *dir = temp_dir(), *path = temp_path(dir, "trace");
		struct timespec wait = {0, (long)random_below(&random, 60) * 1000000 +
						   (long)random_below(&random, 1000000)};
		pid_t pid;
		int status;

		progress->blocks = progress->bytes = 0;
		pid = fork();
		ck_assert_int_ge(pid, 0);
		if (pid == 0) {
			child_record(path, progress, i % 2);
			_exit(8);
		}
		if (i % 4 < 2)
			await_block(progress);
		nanosleep(&wait, NULL);
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		if (access(path, F_OK) == 0)
			check_remains(path, progress);
		else
			EQUAL(progress->blocks, 0);
		with_blocks += progress->blocks > 0;
		free(path);
		temp_dir_remove(dir);
	}
	ck_assert_uint_gt(with_blocks, KILLS / 4);
	munmap(progress, sizeof(*progress));
}
END_TEST

/* ---- a full disk ---- */

/* Records until the disk refuses; returns what was sent. */
static uint64_t fill_disk(const char *path, struct err *why, struct err *end, uint64_t segment_size)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	uint64_t sent = 0;
	struct err err;

	trace_writer_defaults(&options);
	options.block_size = 16384;
	options.segment_size_max = segment_size;
	writer = trace_writer_open(path, &options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	producer = trace_producer_open(writer);
	while (!trace_writer_stopped(writer, why))
		numbered_emit(producer, 0, sent++);
	trace_producer_close(producer);
	ck_assert(!trace_writer_close(writer, end));
	return sent;
}

static void check_filled(
	const char *path, uint64_t sent, const struct err *why, const struct err *end)
{
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_item item;
	uint64_t notes = 0;
	enum trace_next next;
	struct err err;

	ck_assert_msg(strstr(end->text, "recording stopped") && strstr(end->text, "readable") &&
			      strstr(end->text, "records were lost") &&
			      strstr(end->text, strerror(why->errnum)),
		"%s", end->text);
	reader = trace_reader_open(path, NULL, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		uint64_t number, seq;
		uint32_t thread;

		if (numbered_read(&item, &thread, &number, &seq)) {
			EQUAL(number, notes);
			notes++;
		}
	}
	ck_assert_int_eq(next, TRACE_NEXT_END);
	trace_reader_totals(reader, &totals);
	ck_assert_uint_gt(notes, 100);
	ck_assert_uint_lt(notes, sent);
	ck_assert_uint_eq(totals.bytes_torn + totals.bytes_damaged, 0);
	trace_reader_close(reader);
}

/* A small tmpfs of our own: in a new mount namespace, as root of a user namespace if need be. */
static const char *mount_small(const char *dir)
{
	if (geteuid() == 0 ? unshare(CLONE_NEWNS) < 0 : unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return "no mount namespace is permitted here";
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("tmpfs", dir, "tmpfs", 0, "size=1m") < 0)
		return "no tmpfs can be mounted here";
	return NULL;
}

START_TEST(full_disk)
{
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	const char *obstacle = mount_small(dir);
	struct err why, end;
	uint64_t sent;

	if (obstacle) {
		/* The limit on the file size tries the same paths with EFBIG. */
		printf("# %s; a limit on the file size instead\n", obstacle);
	} else {
		sent = fill_disk(path, &why, &end, 0);
		ck_assert_int_eq(why.errnum, ENOSPC);
		check_filled(path, sent, &why, &end);
		ck_assert_int_eq(unlink(path), 0);
		sent = fill_disk(path, &why, &end, 200 * 1000);
		ck_assert_int_eq(why.errnum, ENOSPC);
		check_filled(path, sent, &why, &end);
		ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	}
	free(path);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(file_size_limit)
{
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	struct rlimit limit;
	struct err why, end;
	uint64_t sent;

	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 500 * 1000 + 123;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	sent = fill_disk(path, &why, &end, 0);
	ck_assert_int_eq(why.errnum, EFBIG);
	check_filled(path, sent, &why, &end);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- damaged files ---- */

enum { SAMPLE_BLOCKS_MAX = 64 };

/* A small trace in memory, with its blocks found without the reader. */
struct sample {
	struct buf bytes;
	size_t header_size;
	size_t count;
	size_t start[SAMPLE_BLOCKS_MAX], end[SAMPLE_BLOCKS_MAX];
	uint32_t records[SAMPLE_BLOCKS_MAX];   /* without block records */
	uint64_t first_seq[SAMPLE_BLOCKS_MAX]; /* a name for the block */
};

static void sample_walk(struct sample *sample)
{
	const unsigned char *p = (const unsigned char *)sample->bytes.data;
	struct mp mp = mp_over(buf_span(&sample->bytes));

	/* Header and blocks are msgpack objects in a row. */
	HOLDS(mp_skip(&mp));
	sample->header_size = (size_t)(mp.p - p);
	while (mp_left(&mp)) {
		size_t i = sample->count++;

		HOLDS(i < SAMPLE_BLOCKS_MAX);
		sample->start[i] = (size_t)(mp.p - p);
		sample->records[i] = (uint32_t)mp_load_be(mp.p + 26, 4) - 1;
		HOLDS(mp_skip(&mp));
		sample->end[i] = (size_t)(mp.p - p);
	}
}

static void sample_make(struct sample *sample, int level, uint64_t notes, size_t block_size)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_block block;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	struct err err;
	size_t i = 0;

	memset(sample, 0, sizeof(*sample));
	trace_writer_defaults(&options);
	options.block_size = block_size;
	options.compression_level = level;
	options.flush_interval_ms = 1000000;
	writer = trace_writer_open(path, &options, &err);
	ck_assert(writer != NULL);
	producer = trace_producer_open(writer);
	for (uint64_t n = 0; n < notes; n++)
		numbered_emit(producer, 0, n);
	trace_producer_close(producer);
	ck_assert(trace_writer_close(writer, &err));
	sample->bytes = file_load(path);
	sample_walk(sample);
	reader = trace_reader_open(path, NULL, &err);
	ck_assert(reader != NULL);
	while (trace_next_block(reader, &block, &err) == TRACE_NEXT_OK) {
		EQUAL(block.offset, sample->start[i]);
		EQUAL(block.record_count, sample->records[i]);
		sample->first_seq[i++] = block.info.first_seq;
	}
	ck_assert_uint_eq(i, sample->count);
	ck_assert_uint_gt(i, 4);
	trace_reader_close(reader);
	free(path);
	temp_dir_remove(dir);
}

/* Reads `bytes` from a file in memory.  Every intact block must come, in order, with all its
 * records; a reading that is not clean must say where and why. */
struct verdict {
	bool opened, failed, clean;
	uint64_t blocks;
	uint64_t seen; /* a bit for each of the sample's blocks */
};

static void check_items(const struct trace_block *block)
{
	struct mp mp = mp_over(block->records);

	for (uint32_t i = 0; i < block->record_count; i++) {
		struct trace_item item;
		uint64_t number, seq;
		uint32_t thread;
		struct mp start = mp;

		HOLDS(record_begin(&mp, &item.kind, &item.left));
		item.mp = mp;
		HOLDS(record_skip_fields(&mp, item.left));
		item.mp.end = mp.p;
		HOLDS(mp.p > start.p);
		(void)numbered_read(&item, &thread, &number, &seq);
	}
}

static struct verdict read_damaged(
	const char *path, const struct sample *sample, bool salvage, struct err *err)
{
	struct trace_reader_options options = {.salvage = salvage};
	const struct trace_damage *damage;
	struct trace_reader *reader;
	struct trace_block block;
	struct verdict verdict = {0};
	struct trace_totals totals;
	enum trace_next next;
	size_t count;

	err_clear(err);
	reader = trace_reader_open(path, &options, err);
	if (!reader) {
		HOLDS(err->text[0] && err->offset != ERR_NO_OFFSET);
		return verdict;
	}
	verdict.opened = true;
	while ((next = trace_next_block(reader, &block, err)) == TRACE_NEXT_OK) {
		verdict.blocks++;
		check_items(&block);
		for (size_t i = 0; i < sample->count; i++) {
			if (sample->first_seq[i] == block.info.first_seq &&
				sample->records[i] == block.record_count)
				verdict.seen |= (uint64_t)1 << i;
		}
	}
	verdict.failed = next == TRACE_NEXT_ERROR;
	if (verdict.failed)
		HOLDS(err->text[0] && err->offset != ERR_NO_OFFSET && strstr(err->text, "at byte"));
	trace_reader_totals(reader, &totals);
	verdict.clean = totals.clean;
	count = trace_reader_damage(reader, &damage);
	HOLDS(totals.clean == (!verdict.failed && count == 0));
	for (size_t i = 0; i < count; i++)
		HOLDS(damage[i].cause[0] && damage[i].segment);
	trace_reader_close(reader);
	return verdict;
}

static uint64_t all_blocks(size_t count)
{
	return count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

static void cut_everywhere(int level)
{
	struct sample sample;
	int fd = memfd_create("cut", 0); /* a file system may flush what is cut and rewritten */
	char path[64];
	struct err err;

	ck_assert_int_ge(fd, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sample_make(&sample, level, 60, 600);
	/* From the whole file down to nothing. */
	EQUAL(pwrite(fd, sample.bytes.data, sample.bytes.len, 0), sample.bytes.len);
	for (size_t len = sample.bytes.len; len-- > 0;) {
		size_t whole = 0;

		EQUAL(ftruncate(fd, (off_t)len), 0);
		while (whole < sample.count && sample.end[whole] <= len)
			whole++;
		for (int salvage = 0; salvage < 2; salvage++) {
			struct verdict v = read_damaged(path, &sample, salvage, &err);

			/* A torn tail is no reason to fail; without a header there is no trace. */
			HOLDS(!v.failed && !v.clean);
			HOLDS(v.opened == (len >= sample.header_size || (salvage && len > 0)));
			EQUAL(v.seen, all_blocks(whole));
			EQUAL(v.blocks, whole);
		}
	}
	buf_release(&sample.bytes);
	close(fd);
}

START_TEST(cut_at_every_byte)
{
	cut_everywhere(0);
	cut_everywhere(1);
}
END_TEST

/* Spoils some places of `bytes`; marks the blocks that were hit. */
static uint64_t spoil(struct random *random, const struct sample *sample, char *bytes, bool *header)
{
	uint64_t hit = 0, places = 1 + random_below(random, 3);

	while (places--) {
		size_t at = random_below(random, sample->bytes.len), len = 1;
		uint64_t how = random_below(random, 8);

		if (how < 2) {
			/* A length field: of a block, or anything that might be one. */
			at = sample->start[random_below(random, sample->count)] + 1;
			len = 4;
		}
		if (at + len > sample->bytes.len)
			len = 1;
		for (size_t i = 0; i < len; i++) {
			if (how == 0)
				bytes[at + i] = (char)random_next(random);
			else if (how == 1)
				bytes[at + i] = i < 2 ? 0 : (char)random_next(random);
			else if (how == 2)
				bytes[at + i] = (char)random_next(random);
			else
				bytes[at + i] ^= (char)(1 << random_below(random, 8));
		}
	}
	/* By what came out: two changes of one bit are none. */
	*header = memcmp(bytes, sample->bytes.data, sample->header_size) != 0;
	for (size_t b = 0; b < sample->count; b++) {
		if (memcmp(bytes + sample->start[b], sample->bytes.data + sample->start[b],
			    sample->end[b] - sample->start[b]) != 0)
			hit |= (uint64_t)1 << b;
	}
	return hit;
}

START_TEST(flipped_and_forged)
{
	struct random random = {77};
	struct sample samples[2];
	char path[64], *bytes;
	int fd = memfd_create("flipped", 0);
	uint64_t errors = 0, salvaged = 0;

	ck_assert_int_ge(fd, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sample_make(&samples[0], 0, 80, 900);
	sample_make(&samples[1], 1, 80, 900);
	bytes = malloc(samples[0].bytes.len + samples[1].bytes.len);
	for (int i = 0; i < 100000; i++) {
		const struct sample *sample = &samples[i % 2];
		struct verdict v;
		struct err err;
		bool header;
		uint64_t hit, intact;

		memcpy(bytes, sample->bytes.data, sample->bytes.len);
		hit = spoil(&random, sample, bytes, &header);
		intact = all_blocks(sample->count) & ~hit;
		EQUAL(pwrite(fd, bytes, sample->bytes.len, 0), sample->bytes.len);
		EQUAL(ftruncate(fd, (off_t)sample->bytes.len), 0);
		v = read_damaged(path, sample, true, &err);
		if (!v.opened) {
			/* Only a header may be spoilt so that it says another version. */
			HOLDS(header);
		} else {
			HOLDS(!v.failed);
			HOLDS((v.seen & intact) == intact);
			HOLDS(v.clean == (!hit && !header));
			salvaged++;
		}
		if (i % 4 == 0) {
			v = read_damaged(path, sample, false, &err);
			HOLDS(v.clean == (!hit && !header));
			errors += v.failed || !v.opened;
		}
	}
	ck_assert_uint_gt(errors, 10000);
	ck_assert_uint_gt(salvaged, 90000);
	free(bytes);
	close(fd);
	buf_release(&samples[0].bytes);
	buf_release(&samples[1].bytes);
}
END_TEST

/* Whatever a file claims, reading it takes little memory: 200 MB of address space must do. */
START_TEST(memory_is_bounded)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct rlimit limit = {200u << 20, 200u << 20};
#endif
	char *dir = temp_dir(), *path = temp_path(dir, "x");
	struct buf file = BUF_INIT, body = BUF_INIT;
	unsigned char marker[16];
	struct sample none = {0};
	struct err err;

	/* Lengths of 4 GB and of just under the limit, in a file of some bytes. */
	for (uint32_t top = 0; top < 256; top += 5) {
		char head[64] = {(char)0xc9, (char)top, (char)0xff, (char)0xff, (char)0xff, 1};

		buf_clear(&file);
		forge_header(&file, 1, marker);
		memcpy(head + 6, marker, 16);
		buf_add(&file, head, sizeof(head));
		file_store(path, file.data, file.len);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
		(void)read_damaged(path, &none, true, &err);
	}
	/* A zstd frame that says its content is 2^60 bytes. */
	buf_clear(&file);
	forge_header(&file, 1, marker);
	buf_add(&body, "\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x10\x01\0\0", 16);
	forge_frame(&file, marker, TRACE_EXT_ZSTD, 2, buf_span(&body));
	file_store(path, file.data, file.len);
	(void)read_damaged(path, &none, true, &err);
	buf_release(&file);
	buf_release(&body);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("trace_faults", killed_at_random_moments, full_disk, file_size_limit, cut_at_every_byte,
	flipped_and_forged, memory_is_bounded)
