/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/regex.h"

#include <stdint.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* PCRE2's own limits let one match run for seconds. */
enum { MATCH_STEPS_MAX = 200000, MATCH_DEPTH_MAX = 5000, MATCH_HEAP_KIB = 8192 };

static void *arena_malloc(PCRE2_SIZE size, void *arena)
{
	return arena_alloc(arena, size);
}

static void arena_free(void *memory, void *arena)
{
	(void)memory;
	(void)arena;
}

struct regex *regex_new(struct arena *arena, struct span pattern, unsigned flags)
{
	pcre2_general_context *memory = NULL;
	pcre2_compile_context *context = NULL;
	PCRE2_SIZE offset;
	int code;
	uint32_t options = (flags & REGEX_CASELESS ? PCRE2_CASELESS : 0) |
			   (flags & REGEX_UTF ? PCRE2_UTF | PCRE2_UCP : 0);

	if (arena) {
		memory = pcre2_general_context_create(arena_malloc, arena_free, arena);
		context = memory ? pcre2_compile_context_create(memory) : NULL;
		if (!context)
			return NULL;
	}
	return (struct regex *)pcre2_compile(
		(PCRE2_SPTR)pattern.ptr, pattern.len, options, &code, &offset, context);
}

void regex_free(struct regex *regex)
{
	pcre2_code_free((pcre2_code *)regex);
}

enum regex_result regex_find(
	const struct regex *regex, struct span text, size_t start, struct regex_match *match)
{
	const pcre2_code *code = (const pcre2_code *)regex;
	pcre2_match_data *data = pcre2_match_data_create(REGEX_GROUPS, NULL);
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	int answer = PCRE2_ERROR_NOMEMORY;
	uint32_t groups = 0;

	*match = (struct regex_match){0};
	if (data && context) {
		pcre2_set_match_limit(context, MATCH_STEPS_MAX);
		pcre2_set_depth_limit(context, MATCH_DEPTH_MAX);
		pcre2_set_heap_limit(context, MATCH_HEAP_KIB);
		answer = pcre2_match(code, (PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len, start,
			0, data, context);
	}
	if (answer >= 0) {
		const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(data);
		unsigned set = answer ? (unsigned)answer : REGEX_GROUPS;

		pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
		match->count = groups + 1;
		for (unsigned i = 0; i < REGEX_GROUPS; i++) {
			bool taken = i < set && ends[2 * i] != PCRE2_UNSET;

			match->from[i] = taken ? ends[2 * i] : SIZE_MAX;
			match->to[i] = taken ? ends[2 * i + 1] : SIZE_MAX;
		}
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	return answer >= 0                     ? REGEX_FOUND
	       : answer == PCRE2_ERROR_NOMATCH ? REGEX_NONE
					       : REGEX_FAILED;
}
