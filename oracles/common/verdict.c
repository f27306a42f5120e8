/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/verdict.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

void verdict_init(struct verdict *verdict)
{
	*verdict = (struct verdict){.arena = ARENA_INIT};
}

void verdict_release(struct verdict *verdict)
{
	mem_free(verdict->findings);
	arena_release(&verdict->arena);
	verdict_init(verdict);
}

const char *finding_name(const struct finding *finding)
{
	return finding->class == CLASS_LEVEL ? finding->level : finding_class_name(finding->class);
}

struct finding *verdict_add(struct verdict *verdict, enum finding_oracle oracle, enum finding_class class)
{
	struct finding *finding;

	MEM_RESERVE(verdict->findings, verdict->finding_count + 1, verdict->finding_capacity);
	finding = &verdict->findings[verdict->finding_count++];
	*finding = (struct finding){.oracle = oracle, .class = class};
	return finding;
}

/* FNV-1a, 64 bits: a fixed digest, unlike the seeded hashes of base/hash.h. */
static uint64_t digest(uint64_t h, struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3u;
	/* A byte that ends each part, so that "ab","c" and "a","bc" differ. */
	return (h ^ 0xff) * 0x100000001b3u;
}

void finding_seal(struct finding *finding)
{
	uint64_t h = 0xcbf29ce484222325u;

	h = digest(h, span_str(finding_oracle_name(finding->oracle)));
	h = digest(h, span_str(finding_name(finding)));
	/* The same code is the same finding in every recording. */
	for (uint32_t i = 0; finding->pattern && i < finding->pattern->code_count; i++) {
		h = digest(h, finding->pattern->codes[i].sql);
		h = digest(h, finding->pattern->codes[i].tag);
	}
	if (finding->pattern) {
		snprintf(finding->id, sizeof(finding->id), "%016llx", (unsigned long long)h);
		return;
	}
	for (uint32_t i = 0; i < finding->transaction_count; i++)
		h = digest(h, finding->transactions[i]);
	for (uint32_t i = 0; i < finding->edge_count; i++) {
		const struct finding_edge *edge = &finding->edges[i];

		h = digest(h, edge->from);
		h = digest(h, edge->to);
		h = digest(h, edge->kind);
		h = digest(h, edge->object);
		h = digest(h, edge->from_label.ptr ? edge->from_label : edge->from_version);
		h = digest(h, edge->to_label.ptr ? edge->to_label : edge->to_version);
	}
	if (finding->edge_count == 0)
		h = digest(h, finding->explanation);
	snprintf(finding->id, sizeof(finding->id), "%016llx", (unsigned long long)h);
}

uint32_t finding_concerned(const struct finding *finding, struct span out[FINDING_CONCERNED_MAX])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < finding->transaction_count + finding->step_count; i++) {
		struct span txn = i < finding->transaction_count
					  ? finding->transactions[i]
					  : finding->steps[i - finding->transaction_count].transaction;
		uint32_t at = 0;

		while (at < count && !span_eq(out[at], txn))
			at++;
		if (at == count && count < FINDING_CONCERNED_MAX && txn.len)
			out[count++] = txn;
	}
	return count;
}

void finding_complete(struct verdict *verdict, struct finding *finding)
{
	const char *variant = finding_variant_name(finding->variant);

	if (!variant && !finding->caveat.len)
		return;
	finding->explanation = span_str(arena_printf(&verdict->arena, "%.*s%s%s%s%s%.*s", SPAN_ARG(finding->explanation),
		variant ? " This is a " : "", variant ? variant : "", variant ? "." : "",
		finding->caveat.len ? " " : "", SPAN_ARG(finding->caveat)));
}

void verdict_level(struct verdict *verdict, const char *name, enum level_answer answer)
{
	CHECK(verdict->level_count < VERDICT_LEVELS_MAX);
	verdict->levels[verdict->level_count++] = (struct verdict_level){name, answer};
}

static void add_reason(struct verdict *verdict, const char *reason, uint64_t count)
{
	for (size_t i = 0; i < verdict->reason_count; i++) {
		if (strcmp(verdict->reasons[i].name, reason) == 0) {
			verdict->reasons[i].count += count;
			return;
		}
	}
	if (verdict->reason_count == VERDICT_REASONS_MAX - 1)
		reason = "other reasons";
	if (verdict->reason_count == VERDICT_REASONS_MAX)
		verdict->reasons[VERDICT_REASONS_MAX - 1].count += count;
	else
		verdict->reasons[verdict->reason_count++] = (struct verdict_reason){
			.name = reason, .count = count};
}

void verdict_example(struct verdict *verdict, const char *reason, const struct finding_step *example,
	const struct finding_step *culprit)
{
	for (size_t i = 0; i < verdict->reason_count; i++) {
		struct verdict_reason *r = &verdict->reasons[i];

		if (strcmp(r->name, reason) == 0 && !r->has_example) {
			r->example = *example;
			r->has_example = true;
			r->has_culprit = culprit != NULL;
			if (culprit)
				r->culprit = *culprit;
		}
	}
}

bool verdict_has_example(const struct verdict *verdict, const char *reason)
{
	for (size_t i = 0; i < verdict->reason_count; i++)
		if (strcmp(verdict->reasons[i].name, reason) == 0)
			return verdict->reasons[i].has_example;
	return false;
}

void verdict_undecided(struct verdict *verdict, const char *reason, uint64_t count)
{
	if (count == 0)
		return;
	verdict->undecided += count;
	add_reason(verdict, reason, count);
}

void verdict_forget_coverage(struct verdict *verdict)
{
	verdict->decided = verdict->undecided = verdict->unsupported = 0;
	verdict->open_sessions = 0;
	verdict->reason_count = 0;
}

void verdict_unsupported(struct verdict *verdict, const char *reason, uint64_t count)
{
	if (count == 0)
		return;
	verdict->unsupported += count;
	add_reason(verdict, reason, count);
}

/* In the order of enum finding_class down to the cycles; the others, of which none is worse than another, by name. */
static int by_class(const struct finding *x, const struct finding *y)
{
	if (x->class <= CLASS_G2_SESSION || y->class <= CLASS_G2_SESSION)
		return (int)x->class - (int)y->class;
	return strcmp(finding_name(x), finding_name(y));
}

static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int c;

	if (x->severity != y->severity)
		return x->severity < y->severity ? -1 : 1;
	c = by_class(x, y);
	if (!c)
		c = strcmp(x->level ? x->level : "", y->level ? y->level : "");
	if (!c && x->transaction_count != y->transaction_count)
		c = x->transaction_count < y->transaction_count ? -1 : 1;
	for (uint32_t i = 0; !c && i < x->transaction_count && i < y->transaction_count; i++) {
		/* "T9" before "T10". */
		if (x->transactions[i].len != y->transactions[i].len)
			c = x->transactions[i].len < y->transactions[i].len ? -1 : 1;
		else
			c = span_cmp(x->transactions[i], y->transactions[i]);
	}
	return c ? c : strcmp(x->id, y->id);
}

void verdict_sort(struct verdict *verdict)
{
	struct finding *f = verdict->findings;
	size_t kept = 0;

	if (verdict->finding_count)
		qsort(f, verdict->finding_count, sizeof(*f), by_weight);
	/* What has the same id is the same to every reader, such as a read that was done twice. */
	for (size_t i = 0; i < verdict->finding_count; i++) {
		if (kept && strcmp(f[kept - 1].id, f[i].id) == 0)
			f[kept - 1].similar += 1 + f[i].similar;
		else
			f[kept++] = f[i];
	}
	verdict->finding_count = kept;
}

uint64_t verdict_count(const struct verdict *verdict, enum severity severity)
{
	uint64_t count = 0;

	for (size_t i = 0; i < verdict->finding_count; i++)
		count += verdict->findings[i].severity == severity;
	return count;
}

unsigned finding_trait(struct span word)
{
	static const char *const words[] = {
#define X(name, word) word,
		FINDING_TRAITS(X)
#undef X
	};
	unsigned i = 0;

	while (i < FINDING_TRAIT_COUNT && !span_eq_str(word, words[i]))
		i++;
	return i;
}

void finding_add_known(struct verdict *verdict, struct finding *to,
	const struct finding_known *known, uint32_t count)
{
	struct finding_known *all =
		arena_alloc(&verdict->arena, (to->known_count + count + 1) * sizeof(*all));

	for (uint32_t i = 0; i < to->known_count; i++)
		all[i] = to->known[i];
	to->known = all;
	for (uint32_t i = 0; i < count; i++) {
		bool there = false;

		for (uint32_t k = 0; k < to->known_count; k++)
			there = there || strcmp(to->known[k].id, known[i].id) == 0;
		if (!there)
			to->known[to->known_count++] = known[i];
	}
}

const char *severity_name(enum severity severity)
{
	static const char *const names[] = {"violation", "application", "documented", "suspicion", "compat"};

	return names[severity];
}

const char *level_answer_name(enum level_answer answer)
{
	static const char *const names[] = {"holds", "fails", "undecided"};

	return names[answer];
}
