/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings with altered records and right checksums, as no recorder writes them, given to the
 *programs' commands: each must end by itself, within its memory and time, and say with its exit
 *status what it found.  A damaged trace is covered by other tests; here the bytes are sound and
 *their meaning is not.
 *
 *	mutate_traces ISOTRACE COUNT SEED MEMORY_MB RECORDING...
 *
 * TAP on standard output.  A trace that shows a fault is left in the current folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/search.h"
#include "trace_make.h"

extern char **environ;

enum {
	BLOCK_RECORDS = 500,
	EDITS_MAX = 4,
	CPU_SECONDS_MAX =
		300, /* the search of mvcc takes a minute or two at most, more on a busy machine */
	/* What a process may have beside what --memory counts: its program, buffers, stacks. */
	MEMORY_SLACK_MB = 96,
	SHOWN_MAX = 10,
};

/* A recording's records, and where each value in them stands. */
struct recording {
	const char *path;
	struct buf bytes;
	struct span *records;
	struct span *values;
	size_t record_count, record_capacity, value_count, value_capacity;
};

/* Every value within `whole`, arrays and what is in them. */
static void add_values(struct recording *r, struct span whole)
{
	struct mp mp = mp_over(whole);

	while (mp_left(&mp)) {
		struct mp inner = mp;
		const char *begin = (const char *)mp.p;
		struct span value;

		if (!mp_skip(&mp))
			return;
		value = span_of(begin, (size_t)((const char *)mp.p - begin));
		MEM_RESERVE(r->values, r->value_count + 1, r->value_capacity);
		r->values[r->value_count++] = value;
		mp_array(&inner);
		if (!inner.bad && value.len > 1)
			add_values(r,
				span_of((const char *)inner.p,
					(size_t)(value.ptr + value.len - (const char *)inner.p)));
	}
}

static bool load(struct recording *r, const char *path)
{
	struct trace_reader_options options = {0};
	struct trace_reader *reader;
	struct trace_item item;
	struct err err;
	size_t *ends = NULL, capacity = 0;

	*r = (struct recording){.path = path};
	reader = trace_reader_open(path, &options, &err);
	if (!reader) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	while (trace_next_item(reader, &item, &err) == TRACE_NEXT_OK) {
		buf_add_span(&r->bytes, item.whole);
		MEM_RESERVE(ends, r->record_count + 1, capacity);
		ends[r->record_count++] = r->bytes.len;
	}
	trace_reader_close(reader);
	r->records = mem_realloc(NULL, r->record_count, sizeof(*r->records));
	for (size_t i = 0; i < r->record_count; i++) {
		size_t begin = i ? ends[i - 1] : 0;

		r->records[i] = span_of(r->bytes.data + begin, ends[i] - begin);
		add_values(r, r->records[i]);
	}
	free(ends);
	return r->record_count > 0;
}

/* A value that was not there: extremes, other types, bytes that are no text. */
static void add_odd_value(struct buf *out, struct random *random)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 127, 255, 65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
	static const char *const texts[] = {"", "begin", "commit", "rollback", "select * from t",
		"drop table t", "update t set a=a+1", "((((((((((", "'", "/*", "\xff\xfe\0x",
		"9999999999999999999999", "insert into t values (1,1)", "set autocommit=0",
		"0000-00-00", "1e400"};
	msgpack_packer pk = pack_into(out);
	uint64_t way = random_below(random, 8);

	if (way == 0) {
		msgpack_pack_nil(&pk);
	} else if (way == 1) {
		msgpack_pack_array(&pk, 0);
	} else if (way == 2) {
		msgpack_pack_array(&pk, 3);
		for (int i = 0; i < 3; i++)
			pack_uint(&pk, random_below(random, 5));
	} else if (way == 3) {
		msgpack_pack_int64(&pk, -(int64_t)random_below(random, 1000));
	} else if (way <= 5) {
		pack_uint(&pk, numbers[random_below(random, ARRAY_LEN(numbers))]);
	} else {
		const char *text = texts[random_below(random, ARRAY_LEN(texts))];

		msgpack_pack_str(&pk, strlen(text));
		msgpack_pack_str_body(&pk, text, strlen(text));
	}
}

/* A number one more or less, a text with one byte changed; else something odd. */
static void add_near_value(struct buf *out, struct span value, struct random *random)
{
	struct mp mp = mp_over(value);
	uint64_t number = mp_uint(&mp);
	msgpack_packer pk = pack_into(out);
	struct span text;

	if (!mp.bad) {
		pack_uint(&pk, random_below(random, 2) ? number + 1 : number - 1);
		return;
	}
	mp = mp_over(value);
	text = mp_bytes(&mp);
	if (!mp.bad && text.len) {
		size_t at = out->len;

		buf_add_span(out, value);
		out->data[at + value.len - 1 - random_below(random, text.len)] ^=
			(char)(1u << random_below(random, 8));
		return;
	}
	add_odd_value(out, random);
}

/* The record with one of its values replaced. */
static void add_altered(
	struct buf *out, const struct recording *r, struct span record, struct random *random)
{
	/* The values of a record stand together, after those of the records before. */
	size_t first = 0, end = r->value_count, at;
	struct span value, other;

	first = FIRST_WHERE(i, 0, end, r->values[i].ptr >= record.ptr);
	end = FIRST_WHERE(i, first, end, r->values[i].ptr >= record.ptr + record.len);
	at = first + random_below(random, end - first);
	value = r->values[at];
	other = r->values[random_below(random, r->value_count)];
	buf_add(out, record.ptr, (size_t)(value.ptr - record.ptr));
	/* Mostly something that still reads well: what does not ends the reading. */
	switch (random_below(random, 6)) {
	case 0:
		buf_add_span(out, other);
		break;
	case 1:
		add_odd_value(out, random);
		break;
	default:
		add_near_value(out, value, random);
	}
	buf_add(out, value.ptr + value.len,
		(size_t)(record.ptr + record.len - value.ptr - value.len));
}

/* What becomes of one record. */
enum edit { EDIT_ALTER, EDIT_DROP, EDIT_DOUBLE, EDIT_INSTEAD, EDIT_COUNT };

struct edited {
	size_t record;
	enum edit edit;
};

/* Returns how many records were written. */
static uint32_t add_record(struct buf *body, const struct recording *r, size_t i,
	const struct edited *edits, size_t count, struct random *random)
{
	for (size_t e = 0; e < count; e++) {
		if (edits[e].record != i)
			continue;
		switch (edits[e].edit) {
		case EDIT_ALTER:
			add_altered(body, r, r->records[i], random);
			return 1;
		case EDIT_DROP:
			return 0;
		case EDIT_DOUBLE:
			buf_add_span(body, r->records[i]);
			buf_add_span(body, r->records[i]);
			return 2;
		case EDIT_INSTEAD:
		case EDIT_COUNT:
			buf_add_span(body, r->records[random_below(random, r->record_count)]);
			return 1;
		}
	}
	buf_add_span(body, r->records[i]);
	return 1;
}

/* edit_count 0: the recording as it is, in blocks of ours. */
static void write_trace(
	const struct recording *r, size_t edit_count, struct random *random, const char *path)
{
	struct edited edits[EDITS_MAX];
	struct buf file = BUF_INIT, body = BUF_INIT;
	unsigned char marker[16];
	FILE *out = fopen(path, "wb");

	for (size_t e = 0; e < edit_count; e++) {
		/* Most faults are in values, so that these are altered half of the time. */
		edits[e].record = random_below(random, r->record_count);
		edits[e].edit = random_below(random, 2)
					? EDIT_ALTER
					: (enum edit)random_below(random, EDIT_COUNT);
	}
	forge_header(&file, 1, marker);
	for (size_t i = 0, block = 0; i < r->record_count; block++) {
		struct record_block info = {.producer = 1,
			.block = block,
			.first_seq = 1,
			.last_seq = UINT32_MAX,
			.watermark = 1};
		uint32_t count = 1;

		buf_clear(&body);
		record_block_pack(&body, &info);
		for (; i < r->record_count && count < BLOCK_RECORDS; i++)
			count += add_record(&body, r, i, edits, edit_count, random);
		forge_frame(&file, marker, TRACE_EXT_RAW, count, buf_span(&body));
	}
	if (!out || fwrite(file.data, 1, file.len, out) != file.len || fclose(out) != 0) {
		perror(path);
		exit(1);
	}
	buf_release(&file);
	buf_release(&body);
}

/* The exit status, or minus the signal; in *rss_mb the memory. */
static int run(const char *isotrace, const char *command, const char *memory, const char *path,
	long *rss_mb)
{
	char *argv[] = {(char *)(uintptr_t)isotrace, (char *)(uintptr_t)command,
		(char *)(uintptr_t)memory, (char *)(uintptr_t)path, NULL};
	const struct rlimit cpu = {CPU_SECONDS_MAX, CPU_SECONDS_MAX};
	posix_spawn_file_actions_t files;
	struct rusage usage;
	int status, error;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	error = posix_spawn(&pid, isotrace, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	/* An endless loop ends with a signal. */
	if (!error)
		prlimit(pid, RLIMIT_CPU, &cpu, NULL);
	if (error || wait4(pid, &status, 0, &usage) != pid) {
		fprintf(stderr, "%s cannot be started: %s\n", isotrace,
			strerror(error ? error : errno));
		exit(1);
	}
	*rss_mb = usage.ru_maxrss / 1024;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static const char *const commands[] = {
	"check", "check", "check", "check", "show", "stats", "export"};

struct tally {
	unsigned by_status[8], faults;
	long rss_mb_max;
};

/* 0 ok, 1 violated, 3 incomplete, 4 unreadable; `export` alone may refuse with 2. */
static void judge(struct tally *t, int status, long rss_mb, long memory_mb, const char *command,
	const char *path, uint64_t number)
{
	bool fine = status == 0 || status == 1 || status == 3 || status == 4 ||
		    (status == 2 && strcmp(command, "export") == 0);
	char kept[64];

	if (status >= 0 && status < 8)
		t->by_status[status]++;
	t->rss_mb_max = rss_mb > t->rss_mb_max ? rss_mb : t->rss_mb_max;
	if (fine && rss_mb <= memory_mb + MEMORY_SLACK_MB)
		return;
	snprintf(kept, sizeof(kept), "mutated-%llu.itr", (unsigned long long)number);
	if (t->faults++ < SHOWN_MAX) {
		printf("# case %llu: isotrace %s: %s %d, %ld MiB: %s\n", (unsigned long long)number,
			command, status < 0 ? "signal" : "exit status", abs(status), rss_mb, kept);
		if (rename(path, kept) != 0 && errno == EXDEV) {
			char copy[200];

			snprintf(copy, sizeof(copy), "cp %s %s", path, kept);
			if (system(copy) != 0)
				perror(kept);
		}
	}
}

/* Written again without an edit, a recording gives the same exit status. */
static bool is_same(
	const char *isotrace, const char *memory, const struct recording *r, const char *path)
{
	struct random random = {1};
	long rss_mb;
	int before = run(isotrace, "check", memory, r->path, &rss_mb), after;

	write_trace(r, 0, &random, path);
	after = run(isotrace, "check", memory, path, &rss_mb);
	/* A trace without a footer is incomplete, unless something in it is violated. */
	if (after == before || (before == 0 && after == 3))
		return true;
	printf("# %s: exit status %d as it is, %d written again\n", r->path, before, after);
	return false;
}

int main(int argc, char **argv)
{
	struct recording *recordings;
	struct tally tally = {0};
	char memory[40], path[80];
	size_t count = 0;
	uint64_t cases, seed;
	bool same = true;

	if (argc < 6) {
		fprintf(stderr,
			"usage: mutate_traces ISOTRACE COUNT SEED MEMORY_MB RECORDING...\n");
		return 2;
	}
	cases = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	snprintf(memory, sizeof(memory), "--memory=%sM", argv[4]);
	snprintf(path, sizeof(path), "%s/mutated-%d.itr",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
	setvbuf(stdout, NULL, _IOLBF, 0);
	recordings = mem_zero((size_t)argc, sizeof(*recordings));
	for (int i = 5; i < argc; i++)
		count += load(&recordings[count], argv[i]);
	printf("1..2\n");
	for (size_t i = 0; i < count; i++)
		same &= is_same(argv[1], memory, &recordings[i], path);
	printf("%sok 1 - %zu recordings give the same exit status when they are only written "
	       "again\n",
		same ? "" : "not ", count);
	for (uint64_t number = 0; number < cases && count; number++) {
		struct random random = {seed * 1000003 + number};
		const struct recording *r = &recordings[random_below(&random, count)];
		const char *command = commands[random_below(&random, ARRAY_LEN(commands))];
		long rss_mb;
		int status;

		write_trace(r, 1 + random_below(&random, EDITS_MAX), &random, path);
		status = run(argv[1], command, memory, path, &rss_mb);
		judge(&tally, status, rss_mb, atol(argv[4]), command, path, number);
	}
	unlink(path);
	printf("# of %llu: %u ok, %u violated, %u incomplete, %u unreadable, %u refused; at most "
	       "%ld MiB\n",
		(unsigned long long)cases, tally.by_status[0], tally.by_status[1],
		tally.by_status[3], tally.by_status[4], tally.by_status[2], tally.rss_mb_max);
	printf("%sok 2 - %llu altered recordings: each command ends in order\n",
		tally.faults || !count ? "not " : "", (unsigned long long)cases);
	return tally.faults || !same || !count;
}
