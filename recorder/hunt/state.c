/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results as lines of the log, and what all of them come to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "hunt/hunt_internal.h"

/* ---- lines ---- */

/* Numbers with blanks between them, then fields after tabs: failure, reason, findings (kind, count, signature). */
static void print_numbers(const struct hunt_result *r, struct buf *out)
{
	const struct hunt_figures *f = &r->figures;

	buf_printf(out, "case %" PRIu64 " %u", r->number, r->server);
	for (size_t i = 0; i < CASE_TAGS_MAX / 64; i++)
		buf_printf(out, " %" PRIx64, r->tags.bits[i]);
	buf_printf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		f->statements, f->transactions, f->blocked, f->errors, f->misplaced, f->decided, f->undecided, f->unsupported);
	for (size_t i = 0; i < OPERATION_COUNT; i++)
		buf_printf(out, " %" PRIu64 " %" PRIu64, f->operations[i], f->touched[i]);
	buf_printf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64, r->generate_ns, r->run_ns, r->judge_ns);
}

static void add_field(struct buf *out, const char *text)
{
	buf_add_char(out, '\t');
	for (; *text; text++)
		buf_add_char(out, *text == '\t' || *text == '\n' || *text == '\r' ? ' ' : *text);
}

void result_print(const struct hunt_result *r, struct buf *out)
{
	print_numbers(r, out);
	add_field(out, r->failure);
	add_field(out, r->reason);
	for (size_t i = 0; i < r->finding_count; i++) {
		buf_printf(out, "\t%d %" PRIu32 " ", (int)r->findings[i].kind, r->findings[i].count);
		buf_add_str(out, r->findings[i].signature);
	}
	buf_add_str(out, "\t.\n");
}

static bool take_number(const char **at, int base, uint64_t *out)
{
	char *end;

	*out = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool take_numbers(const char **at, struct hunt_result *r)
{
	struct hunt_figures *f = &r->figures;
	uint64_t *const first[] = {&f->statements, &f->transactions, &f->blocked, &f->errors, &f->misplaced, &f->decided,
		&f->undecided, &f->unsupported};
	uint64_t server;
	bool ok = take_number(at, 10, &r->number) && take_number(at, 10, &server) && server < HUNT_SERVERS_MAX;

	if (!ok)
		return false;
	r->server = (unsigned)server;
	for (size_t i = 0; i < CASE_TAGS_MAX / 64; i++)
		ok = ok && take_number(at, 16, &r->tags.bits[i]);
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		ok = ok && take_number(at, 10, first[i]);
	for (size_t i = 0; i < OPERATION_COUNT; i++)
		ok = ok && take_number(at, 10, &f->operations[i]) && take_number(at, 10, &f->touched[i]);
	return ok && take_number(at, 10, &r->generate_ns) && take_number(at, 10, &r->run_ns) &&
	       take_number(at, 10, &r->judge_ns);
}

static bool take_field(const char **at, char *out, size_t size)
{
	size_t len;

	if (**at != '\t')
		return false;
	len = strcspn(*at + 1, "\t");
	snprintf(out, size, "%.*s", (int)len, *at + 1);
	*at += 1 + len;
	return true;
}

bool result_parse(struct span line, struct hunt_result *out)
{
	struct buf copy = BUF_INIT;
	char field[HUNT_SIGNATURE_MAX + 40];
	const char *at;
	bool ok, whole = false;

	*out = (struct hunt_result){.number = 0};
	if (line.len < 6 || memcmp(line.ptr, "case ", 5) != 0)
		return false;
	buf_add_span(&copy, line);
	at = copy.data + 5;
	ok = take_numbers(&at, out) && take_field(&at, out->failure, sizeof(out->failure)) &&
	     take_field(&at, out->reason, sizeof(out->reason));
	while (ok && take_field(&at, field, sizeof(field))) {
		unsigned kind, count;
		int used;

		if (strcmp(field, ".") == 0) {
			whole = *at == '\0';
			break;
		}
		ok = sscanf(field, "%u %u %n", &kind, &count, &used) == 2 && kind <= HUNT_NEW &&
		     out->finding_count < HUNT_FINDINGS_MAX;
		if (!ok)
			break;
		out->findings[out->finding_count].kind = (enum hunt_kind)kind;
		out->findings[out->finding_count].count = count;
		snprintf(out->findings[out->finding_count++].signature, HUNT_SIGNATURE_MAX, "%s", field + used);
	}
	buf_release(&copy);
	return ok && whole;
}

/* ---- the state ---- */

struct hunt_group *state_group(struct hunt_state *state, const char *signature)
{
	struct hunt_group *group;

	for (size_t i = 0; i < state->group_count; i++)
		if (strcmp(state->groups[i].signature, signature) == 0)
			return &state->groups[i];
	MEM_RESERVE(state->groups, state->group_count + 1, state->group_capacity);
	group = &state->groups[state->group_count++];
	*group = (struct hunt_group){.count = 0};
	snprintf(group->signature, sizeof(group->signature), "%s", signature);
	return group;
}

bool state_is_done(const struct hunt_state *state, uint64_t number)
{
	return number < state->done_max && state->done[number / 8] >> number % 8 & 1;
}

static void mark_done(struct hunt_state *state, uint64_t number)
{
	enum { NUMBER_MAX = 1 << 30 };
	uint64_t room = state->done_max ? state->done_max : 4096;

	if (number >= NUMBER_MAX)
		return;
	while (number >= room)
		room *= 2;
	if (room != state->done_max) {
		uint8_t *more = mem_zero(room / 8, 1);

		if (state->done)
			memcpy(more, state->done, state->done_max / 8);
		mem_free(state->done);
		state->done = more;
		state->done_max = room;
	}
	state->done[number / 8] |= (uint8_t)(1u << number % 8);
}

static void add_figures(struct hunt_figures *to, const struct hunt_figures *f)
{
	to->statements += f->statements;
	to->transactions += f->transactions;
	to->blocked += f->blocked;
	to->errors += f->errors;
	to->misplaced += f->misplaced;
	to->decided += f->decided;
	to->undecided += f->undecided;
	to->unsupported += f->unsupported;
	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		to->operations[i] += f->operations[i];
		to->touched[i] += f->touched[i];
	}
}

static void add_reason(struct hunt_state *state, const char *text, uint64_t count)
{
	for (size_t i = 0; i < state->reason_count; i++) {
		if (strcmp(state->reasons[i].text, text) == 0) {
			state->reasons[i].count += count;
			return;
		}
	}
	MEM_RESERVE(state->reasons, state->reason_count + 1, state->reason_capacity);
	state->reasons[state->reason_count] = (struct hunt_reason){.count = count};
	snprintf(state->reasons[state->reason_count++].text, sizeof(state->reasons[0].text), "%s", text);
}

static void add_pairs(struct hunt_state *state, const struct case_tags *tags)
{
	for (unsigned i = 0; i < CASE_TAGS_MAX; i++) {
		if (!case_has(tags, i))
			continue;
		for (size_t k = 0; k < CASE_TAGS_MAX / 64; k++)
			state->pairs[i][k] |= tags->bits[k];
	}
}

void state_add(struct hunt_state *state, const struct hunt_result *result)
{
	if (result->failure[0]) {
		/* It is tried again when the hunt goes on another time. */
		state->failed++;
		snprintf(state->last_failure, sizeof(state->last_failure), "%s", result->failure);
		return;
	}
	if (result->server + 1 == state->options->server_count)
		mark_done(state, result->number);
	state->cases += result->server == 0;
	add_figures(&state->total, &result->figures);
	state->generate_ns += result->server ? 0 : result->generate_ns;
	state->run_ns += result->run_ns;
	state->judge_ns += result->judge_ns;
	if (result->reason[0])
		add_reason(state, result->reason, result->figures.undecided + result->figures.unsupported);
	add_pairs(state, &result->tags);
	for (size_t i = 0; i < result->finding_count; i++) {
		struct hunt_group *group = state_group(state, result->findings[i].signature);

		if (!group->count) {
			group->kind = result->findings[i].kind;
			group->first_case = result->number;
			group->first_seconds = state->seconds;
		}
		if (group->example_count < (group->kind >= HUNT_SUSPICION ? HUNT_EXAMPLES : 1))
			group->examples[group->example_count++] = result->number;
		group->count += result->findings[i].count;
		group->cases++;
		group->servers |= UINT64_C(1) << result->server;
	}
}

void state_release(struct hunt_state *state)
{
	mem_free(state->groups);
	mem_free(state->reasons);
	mem_free(state->done);
}

void state_pairs(const struct hunt_state *state, uint64_t *seen, uint64_t *possible)
{
	unsigned count = case_tag_count();

	*seen = *possible = 0;
	for (unsigned i = 0; i < count; i++) {
		for (unsigned k = i + 1; k < count; k++) {
			*seen += state->pairs[i][k / 64] >> k % 64 & 1;
			*possible += case_tag_possible(state->options->model, i) && case_tag_possible(state->options->model, k);
		}
	}
}

uint64_t state_count(const struct hunt_state *state, enum hunt_kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < state->group_count; i++)
		count += state->groups[i].count && state->groups[i].kind == kind;
	return count;
}

/* ---- in words ---- */

void case_folder(struct buf *out, const struct hunt_options *options, uint64_t number)
{
	buf_printf(out, "%s/cases/case-%06" PRIu64, options->folder, number);
}

static double share(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_alpha(const struct hunt_state *state, struct buf *out)
{
	uint64_t all = 0, touched = 0;

	for (size_t i = 0; i < OPERATION_COUNT; i++) {
		all += state->total.operations[i];
		touched += state->total.touched[i];
	}
	buf_printf(out, "alpha %.3f (statements that touched a row:", all ? (double)touched / (double)all : 0);
	for (size_t i = 0; i < OPERATION_COUNT; i++)
		buf_printf(out, "%s %s %.3f", i ? "," : "", hunt_operation_words[i],
			state->total.operations[i] ? (double)state->total.touched[i] / (double)state->total.operations[i] : 0);
	buf_add_str(out, ")\n");
}

void summary_print(const struct hunt_state *state, struct buf *out)
{
	const struct hunt_figures *f = &state->total;
	double hours = state->seconds / 3600, work = (double)(state->generate_ns + state->run_ns + state->judge_ns);
	uint64_t seen, possible, judged = f->decided + f->undecided + f->unsupported;

	state_pairs(state, &seen, &possible);
	text_add_count(out, state->cases);
	buf_add_str(out, " cases, ");
	text_add_count(out, f->transactions);
	buf_add_str(out, " transactions, ");
	text_add_count(out, f->statements);
	buf_printf(out, " statements in %.0f s: %.0f transactions an hour\n", state->seconds,
		hours > 0 ? (double)f->transactions / hours : 0);
	buf_printf(out, "time: generating %.1f %%, executing %.1f %%, judging %.1f %%\n", work ? 100 * (double)state->generate_ns / work : 0,
		work ? 100 * (double)state->run_ns / work : 0, work ? 100 * (double)state->judge_ns / work : 0);
	buf_printf(out, "decided %.2f %% of %llu statements; %.2f %% waited, %.2f %% got an error, %.2f %% one that no conflict explains\n",
		share(f->decided, judged), (unsigned long long)judged, share(f->blocked, f->statements),
		share(f->errors, f->statements), share(f->misplaced, f->statements));
	print_alpha(state, out);
	buf_printf(out, "pairs of features: %.1f %% of %llu\n", share(seen, possible), (unsigned long long)possible);
	buf_printf(out, "groups: %llu new, %llu suspicions, %llu known, %llu documented, %llu compat\n",
		(unsigned long long)state_count(state, HUNT_NEW), (unsigned long long)state_count(state, HUNT_SUSPICION),
		(unsigned long long)state_count(state, HUNT_KNOWN), (unsigned long long)state_count(state, HUNT_DOCUMENTED),
		(unsigned long long)state_count(state, HUNT_COMPAT));
	if (state->failed)
		buf_printf(out, "%llu runs failed; the last: %s\n", (unsigned long long)state->failed, state->last_failure);
}
