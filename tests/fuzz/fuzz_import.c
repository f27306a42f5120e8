/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign histories: the first byte chooses the format and how the input is cut, the rest is the
 * input.  Whatever is accepted must satisfy the model's invariants, be the same however it was cut,
 * and be judged: levels must agree with what they imply.  Every input is also given to the
 * recognition of formats, in a block of its exact size, so that reading past its end is seen.
 *
 * ISOTRACE_FUZZ_FORMAT (elle, plume ...) keeps to one importer: then the first byte only cuts.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "import/import.h"
#include "values/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What holds must hold of everything weaker. */
static void judge(const struct values *v)
{
	struct values_options options = {.budget = 20000};
	struct verdict verdict;

	verdict_init(&verdict);
	values_judge(v, &options, &verdict);
	for (size_t a = 0; a < verdict.level_count; a++) {
		for (size_t b = 0; b < verdict.level_count; b++) {
			if (verdict.levels[a].answer == LEVEL_HOLDS &&
				values_level_implies(verdict.levels[a].name, verdict.levels[b].name))
				CHECK(verdict.levels[b].answer != LEVEL_FAILS);
		}
	}
	verdict_release(&verdict);
}

/* The same answer every time, and one of the formats there are. */
static void detect(struct span bytes)
{
	char *copy = mem_alloc(bytes.len + 1);
	enum import_format first = IMPORT_FORMAT_COUNT, second = IMPORT_FORMAT_COUNT;
	bool found;

	if (bytes.len)
		memcpy(copy, bytes.ptr, bytes.len);
	copy[bytes.len] = '\0';
	found = import_detect_bytes(span_of(copy, bytes.len), &first);
	CHECK(import_detect_bytes(span_of(copy, bytes.len), &second) == found);
	CHECK(!found || (first == second && first < IMPORT_FORMAT_COUNT));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct values v = {0}, w = {0};
	struct err err;
	enum import_format format;
	struct span bytes;
	bool ok;

	if (size < 1 || size > 1 << 16)
		return 0;
	format = (enum import_format)(data[0] % IMPORT_FORMAT_COUNT);
	if (getenv("ISOTRACE_FUZZ_FORMAT"))
		CHECK(import_format_parse(getenv("ISOTRACE_FUZZ_FORMAT"), &format));
	bytes = span_of(data + 1, size - 1);
	detect(bytes);
	err_clear(&err);
	ok = import_memory(format, "fuzz", bytes, 0, &v, &err);
	if (ok)
		values_check(&v);
	else
		CHECK(strncmp(err.text, "fuzz", 4) == 0);
	if (size < 512) {
		size_t step = (size_t)(data[0] / IMPORT_FORMAT_COUNT) % 16 + 1;

		CHECK(import_memory(format, "fuzz", bytes, step, &w, &err) == ok);
		if (ok) {
			values_check(&w);
			CHECK(v.txn_count == w.txn_count && v.op_count == w.op_count);
			for (uint32_t i = 0; i < v.op_count; i++)
				CHECK(memcmp(&v.ops[i], &w.ops[i], 14) == 0);
		}
		values_release(&w);
	}
	if (ok && size < 2048)
		judge(&v);
	values_release(&v);
	return 0;
}
