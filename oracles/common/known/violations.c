/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/known/violations.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/contract.h"
#include "mvcc/mvcc.h"

const char *known_contract(const struct execution *e)
{
	return contract_for(e->server.flavour, execution_is_on(e, "innodb_snapshot_isolation"));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_class(struct known_violations *out, const char *name)
{
	for (size_t i = 0; i < out->count; i++)
		if (strcmp(out->classes[i], name) == 0)
			return;
	if (out->count < KNOWN_CLASSES_MAX)
		out->classes[out->count++] = name;
}

bool known_violations(const struct execution *e, struct known_violations *out, struct err *err)
{
	struct contract contract;
	struct schedule schedule;
	struct verdict verdict;
	uint64_t most = 0;

	*out = (struct known_violations){.count = 0};
	if (!contract_builtin(&contract, known_contract(e), err))
		return false;
	verdict_init(&verdict);
	schedule_init(&schedule, e);
	mvcc_check(&schedule, &(struct mvcc_options){.contract = &contract}, &verdict);
	schedule_release(&schedule);
	for (size_t i = 0; i < verdict.finding_count; i++)
		if (verdict.findings[i].severity == SEVERITY_VIOLATION)
			add_class(out, finding_name(&verdict.findings[i]));
	out->open = verdict.undecided + verdict.unsupported;
	for (size_t i = 0; i < verdict.reason_count; i++) {
		if (verdict.reasons[i].count <= most)
			continue;
		most = verdict.reasons[i].count;
		snprintf(out->reason, sizeof(out->reason), "%s", verdict.reasons[i].name);
	}
	out->decided = verdict.decided && !verdict.undecided && !verdict.unsupported;
	qsort(out->classes, out->count, sizeof(*out->classes), by_name);
	verdict_release(&verdict);
	return true;
}

/* The next word of the detail that is no error code. */
static struct span next_class(struct span *rest)
{
	struct span word = SPAN_NONE;

	do {
		while (rest->len && isspace((unsigned char)rest->ptr[0]))
			*rest = span_of(rest->ptr + 1, rest->len - 1);
		word = span_of(rest->ptr, 0);
		while (word.len < rest->len && !isspace((unsigned char)rest->ptr[word.len]))
			word.len++;
		*rest = span_of(rest->ptr + word.len, rest->len - word.len);
	} while (word.len && isdigit((unsigned char)word.ptr[0]));
	return word;
}

bool known_violations_expected(
	const struct known_violations *found, const struct scenario_verdict *expected)
{
	struct span rest = expected->detail, word;
	size_t count = 0;

	while ((word = next_class(&rest)).len) {
		bool there = false;

		for (size_t i = 0; i < found->count; i++)
			there = there || span_eq_str(word, found->classes[i]);
		if (!there)
			return false;
		count++;
	}
	return count == found->count;
}

void known_violations_print(const struct known_violations *found, struct buf *out)
{
	if (!found->count)
		buf_add_str(out, "no violation");
	for (size_t i = 0; i < found->count; i++)
		buf_printf(out, "%s%s", i ? ", " : "", found->classes[i]);
}
