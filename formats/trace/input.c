/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/input.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/json.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/header.h"

enum {
	READ_SIZE = 512 * 1024,
	SEGMENTS_MAX = 1000000,
	HEADER_PEEK_SIZE = 16 * 1024,
};

/* ---- the window ---- */

/* How much to ask for at once: no more than a small file has. */
static size_t chunk_size(const struct input *input)
{
	uint64_t size = input->segments[input->current].size;

	return size && size < READ_SIZE ? (size_t)size + 1 : READ_SIZE;
}

bool input_more(struct input *input)
{
	size_t chunk = chunk_size(input);
	ssize_t n;

	if (input->eof)
		return false;
	if (input->start && input->start == input->end) {
		input->start = input->end = 0;
	} else if (input->start >= READ_SIZE && input->data_capacity - input->end < READ_SIZE) {
		memmove(input->data, input->data + input->start, input->end - input->start);
		input->end -= input->start;
		input->start = 0;
	}
	MEM_RESERVE(input->data, input->end + chunk, input->data_capacity);
	do
		n = read(input->fd, input->data + input->end, chunk);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		input->eof = true;
		if (n < 0)
			err_set_errno(&input->failure, errno,
				"cannot read %s after %" PRIu64 " bytes",
				input->segments[input->current].name,
				input->offset + input_left(input));
		return false;
	}
	input->end += (size_t)n;
	mem_input((uint64_t)n);
	return true;
}

size_t input_need(struct input *input, size_t need)
{
	while (input_left(input) < need && input_more(input))
		;
	return input_left(input);
}

bool input_select(struct input *input, size_t index, struct err *err)
{
	struct input_segment *segment = &input->segments[index];

	if (input->fd >= 0) {
		input->done += input->offset + input_left(input);
		if (input->fd != STDIN_FILENO)
			close(input->fd);
	}
	input->current = index;
	input->start = input->end = 0;
	input->offset = 0;
	input->eof = false;
	/* One huge block must not keep its memory for the rest of the trace. */
	if (input->data_capacity > 8 * READ_SIZE) {
		mem_free(input->data);
		input->data = NULL;
		input->data_capacity = 0;
	}
	MEM_RESERVE(input->data, chunk_size(input), input->data_capacity);
	input->fd = segment->path ? open(segment->path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	if (input->fd < 0)
		return err_set_errno(err, errno, "cannot open the trace %s", segment->path);
	if (segment->path)
		(void)posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return true;
}

void input_release(struct input *input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	for (size_t i = 0; i < input->count; i++) {
		mem_free(input->segments[i].path);
		mem_free(input->segments[i].name);
	}
	mem_free(input->segments);
	mem_free(input->data);
	memset(input, 0, sizeof(*input));
	input->fd = -1;
}

/* ---- which segments ---- */

static struct input_segment *add_segment(struct input *input, const char *path, const char *name)
{
	struct input_segment *segment;

	MEM_RESERVE(input->segments, input->count + 1, input->capacity);
	segment = &input->segments[input->count++];
	memset(segment, 0, sizeof(*segment));
	segment->path = path ? mem_strdup(path) : NULL;
	segment->name = mem_strdup(name);
	return segment;
}

static uint32_t number_in_name(const char *name)
{
	unsigned long number;
	char *end;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	errno = 0;
	number = strtoul(name, &end, 10);
	return errno || number > UINT32_MAX || strcmp(end, ".itr") != 0 ? 0 : (uint32_t)number;
}

/* What the header says of the trace and the segment, where it can be read. */
static void peek_header(struct input_segment *segment)
{
	char bytes[HEADER_PEEK_SIZE];
	struct trace_header header;
	const char *cause;
	size_t size;
	ssize_t n;
	int fd = open(segment->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	do
		n = read(fd, bytes, sizeof(bytes));
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n > 0 && trace_header_parse(span_of(bytes, (size_t)n), &header, &size, &cause) ==
			     HEADER_OK) {
		segment->number = header.segment;
		memcpy(segment->trace_id, header.trace_id, sizeof(segment->trace_id));
		segment->header_read = true;
	}
}

static int by_number(const void *a, const void *b)
{
	const struct input_segment *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool list_directory(struct input *input, const char *path, struct err *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool ok = true;

	if (!dir)
		return err_set_errno(err, errno, "cannot open the directory %s", path);
	input->directory = true;
	while (ok && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		char *file;
		struct stat st;

		if (len < 5 || strcmp(entry->d_name + len - 4, ".itr") != 0)
			continue;
		if (asprintf(&file, "%s/%s", path, entry->d_name) < 0)
			BUG("asprintf");
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
			struct input_segment *segment = add_segment(input, file, entry->d_name);

			segment->size = (uint64_t)st.st_size;
			segment->number = number_in_name(entry->d_name);
			peek_header(segment);
		}
		mem_free(file);
		if (input->count > SEGMENTS_MAX)
			ok = err_set(err, ERR_LIMIT, "%s holds more than %d segments", path,
				SEGMENTS_MAX);
	}
	closedir(dir);
	if (ok && !input->count)
		ok = err_set(err, ERR_FOREIGN,
			"%s is a directory without segments of a trace (*.itr); name a trace file "
			"or "
			"a directory that isorec wrote",
			path);
	if (ok)
		qsort(input->segments, input->count, sizeof(*input->segments), by_number);
	return ok;
}

bool input_open(struct input *input, const char *path, struct err *err)
{
	const char *name;
	struct stat st;

	memset(input, 0, sizeof(*input));
	input->fd = -1;
	err_clear(&input->failure);
	if (strcmp(path, "-") == 0) {
		add_segment(input, NULL, "standard input");
		return true;
	}
	if (stat(path, &st) < 0)
		return err_set_errno(err, errno, "cannot open the trace %s", path);
	if (S_ISDIR(st.st_mode))
		return list_directory(input, path, err);
	/* A descriptor of ours is standard input, or the copy of it (model/history/load.c). */
	name = strncmp(path, "/proc/self/fd/", 14) == 0 ? "standard input" : path;
	add_segment(input, path, name)->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return true;
}

/* ---- what it is, if it is no trace ---- */

static bool is_text(struct span bytes)
{
	if (bytes.len > 512)
		bytes.len = 512;
	for (size_t i = 0; i < bytes.len; i++) {
		unsigned char c = (unsigned char)bytes.ptr[i];

		if (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f')
			return false;
	}
	/* The last character may be cut. */
	for (int i = 0; i < 3 && bytes.len > 3 && (bytes.ptr[bytes.len - 1] & 0x80); i++)
		bytes.len--;
	return utf8_valid(bytes);
}

const char *input_looks_like(struct span bytes, const char **advice)
{
	static const struct {
		const char *start;
		size_t len;
		const char *what, *advice;
	} known[] = {
		{"\x1f\x8b", 2, "a gzip file", "pipe it through zcat: zcat FILE | isotrace show -"},
		{"\x28\xb5\x2f\xfd", 4, "a zstd file",
			"pipe it through zstdcat: zstdcat FILE | isotrace show -"},
		{"\xfd"
		 "7zXZ",
			5, "an xz file", "pipe it through xzcat: xzcat FILE | isotrace show -"},
		{"BZh", 3, "a bzip2 file", "pipe it through bzcat: bzcat FILE | isotrace show -"},
		{"\xd4\xc3\xb2\xa1", 4, "a network capture (pcap)",
			"record with isorec proxy instead"},
		{"\xa1\xb2\xc3\xd4", 4, "a network capture (pcap)",
			"record with isorec proxy instead"},
		{"\x4d\x3c\xb2\xa1", 4, "a network capture (pcap)",
			"record with isorec proxy instead"},
		{"\x0a\x0d\x0d\x0a", 4, "a network capture (pcapng)",
			"record with isorec proxy instead"},
		{"\xfe"
		 "bin",
			4, "a MySQL binary log", "record with isorec proxy instead"},
		{"\x7f"
		 "ELF",
			4, "a program", "name a trace that isorec wrote"},
		{"PK\x03\x04", 4, "a zip archive", "unpack it first"},
		{"SQLite format 3", 15, "an SQLite database", "name a trace that isorec wrote"},
	};

	*advice =
		"name a trace that isorec wrote, or use isotrace import for other tools' histories";
	if (!bytes.len) {
		*advice = "the recorder wrote nothing, or the copy failed";
		return "empty";
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (bytes.len >= known[i].len &&
			memcmp(bytes.ptr, known[i].start, known[i].len) == 0) {
			*advice = known[i].advice;
			return known[i].what;
		}
	}
	if (bytes.len > 262 && memcmp(bytes.ptr + 257, "ustar", 5) == 0) {
		*advice = "unpack it first";
		return "a tar archive";
	}
	return is_text(bytes) ? "text" : "binary data of another kind";
}
