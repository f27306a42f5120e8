/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the seed corpus of fuzz_trace into a directory: small traces in each form it takes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace_make.h"

static void store(const char *dir, const char *name, unsigned char mode, struct span bytes)
{
	char path[1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%02x", dir, name, mode);
	file = fopen(path, "wb");
	if (!file || fputc(mode, file) == EOF ||
		fwrite(bytes.ptr, 1, bytes.len, file) != bytes.len || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* Every kind of record, empty but for its seq, and one with a value of each type. */
static void records(struct buf *out)
{
	static const char rows[] =
		"\x91\x9b\xc0\x01\xd0\xff\xcb\x3f\xf0\0\0\0\0\0\0\xca\0\0\0\0\xa1t\xc4\1b"
		"\xc7\3\x10"
		"1.5\xc7\1\x18x\xc7\0\x19\x82\xa1k\1\2\xc3";
#define PACK(lower, upper)                                                                         \
	do {                                                                                       \
		struct record_##lower record;                                                      \
                                                                                                   \
		memset(&record, 0, sizeof(record));                                                \
		record_##lower##_pack(out, &record);                                               \
	} while (0);
	RECORD_KINDS(PACK)
	struct record_result result = {.seq = 5, .rows = span_of(rows, sizeof(rows) - 1)};

	record_result_pack(out, &result);
}

int main(int argc, char **argv)
{
	struct buf file = BUF_INIT, body = BUF_INIT, bodies = BUF_INIT, packed = BUF_INIT;
	struct record_block info = {.producer = 1, .watermark = 9};
	unsigned char marker[16];
	size_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_trace_seeds DIRECTORY\n");
		return 2;
	}
	record_block_pack(&body, &info);
	records(&body);
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 3);
	info.block = 1;
	forge_frame(&file, marker, TRACE_EXT_RAW, 15, buf_span(&body));
	n = ZSTD_compress(buf_reserve(&packed, 4096), 4096, body.data, body.len, 1);
	forge_frame(&file, marker, TRACE_EXT_ZSTD, 15, span_of(packed.data, n));
	forge_block(&file, marker, 3, 20, 2);
	buf_add(&bodies, "\0", 1);
	buf_add_char(&bodies, (char)(body.len >> 8));
	buf_add_char(&bodies, (char)body.len);
	buf_add_char(&bodies, 15);
	buf_add_span(&bodies, buf_span(&body));
	buf_add_char(&bodies, 1);
	buf_add_char(&bodies, (char)(n >> 8));
	buf_add_char(&bodies, (char)n);
	buf_add_char(&bodies, 15);
	buf_add(&bodies, packed.data, n);
	for (unsigned mode = 0; mode < 32; mode++) {
		if ((mode & 3) == 1)
			store(argv[1], "bodies", (unsigned char)mode, buf_span(&bodies));
		else if ((mode & 3) != 3)
			store(argv[1], "file", (unsigned char)mode, buf_span(&file));
	}
	store(argv[1], "record", 3, buf_span(&body));
	buf_release(&file);
	buf_release(&body);
	buf_release(&bodies);
	buf_release(&packed);
	return 0;
}
