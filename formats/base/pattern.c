/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pattern.h"

#include <stdlib.h>

#include "base/mem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* PCRE2's own limits let one match run for seconds. */
enum { MATCH_STEPS_MAX = 1000000, MATCH_DEPTH_MAX = 10000, JIT_STACK_MAX = 1024 * 1024 };

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
	uint64_t failures;
};

struct pattern *pattern_new(const char *text, const char *what, struct err *err)
{
	struct pattern *pattern = mem_zero(1, sizeof(*pattern));
	PCRE2_UCHAR message[200];
	PCRE2_SIZE offset;
	int code;

	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code, &offset, NULL);
	if (!pattern->code) {
		pcre2_get_error_message(code, message, sizeof(message));
		err_set(err, ERR_USAGE, "%s: %s, at character %zu of '%s'", what, (char *)message,
			(size_t)offset + 1, text);
		goto fail;
	}
	pattern->data = pcre2_match_data_create(1, NULL);
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->data || !pattern->context) {
		err_set(err, ERR_LIMIT, "%s: out of memory", what);
		goto fail;
	}
	pcre2_set_match_limit(pattern->context, MATCH_STEPS_MAX);
	pcre2_set_depth_limit(pattern->context, MATCH_DEPTH_MAX);
	/* Without the compiler it is slower, not wrong. */
	if (pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE) == 0) {
		pattern->stack = pcre2_jit_stack_create(32 * 1024, JIT_STACK_MAX, NULL);
		if (pattern->stack)
			pcre2_jit_stack_assign(pattern->context, NULL, pattern->stack);
	}
	return pattern;
fail:
	pattern_free(pattern);
	return NULL;
}

void pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return;
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->data);
	pcre2_match_context_free(pattern->context);
	pcre2_jit_stack_free(pattern->stack);
	mem_free(pattern);
}

bool pattern_matches(struct pattern *pattern, struct span s)
{
	int answer;

	if (!s.ptr)
		return false;
	answer = pcre2_match(
		pattern->code, (PCRE2_SPTR)s.ptr, s.len, 0, 0, pattern->data, pattern->context);
	if (answer < 0 && answer != PCRE2_ERROR_NOMATCH)
		pattern->failures++;
	return answer >= 0;
}

uint64_t pattern_failures(const struct pattern *pattern)
{
	return pattern->failures;
}
