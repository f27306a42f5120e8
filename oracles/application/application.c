/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/application.h"

#include <stdlib.h>

#include "application/candidates.h"
#include "application/judge.h"
#include "application/statements.h"
#include "application/words.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/map.h"
#include "base/mem.h"

enum { ROWS_LISTED = 5, ASKED_EVERY = 1024 };

/* All pairs of transactions of one anomaly at one place of the code. */
struct group {
	enum anomaly anomaly;
	uint32_t codes[FINDING_CODES_MAX]; /* of the statements; ACCESS_NONE: none */
	struct span table;
	struct map pairs; /* of transactions: enum judgement of the worst */
	uint64_t certain, possible;
	struct map row_hashes;
	struct span rows[ROWS_LISTED];
	uint64_t columns;
	struct span column_names;
	bool shown_certain; /* the witness is of a certain pair */
	struct told told;   /* the witness */
	enum advice_about about;
	uint8_t level;
};

struct application {
	const struct history *history;
	struct verdict *verdict;
	struct statements statements;
	struct group *groups;
	size_t group_count, group_capacity;
	struct map by_key;
	struct map lost; /* pairs of transactions with a lost update that is not harmless */
	struct map skewed[ANOMALY_COUNT]; /* pairs that were counted already */
	struct map harmless[JUDGEMENT_COUNT];
	const struct meter *meter;
	uint64_t cut, stopped_before; /* pairs past the number looked at; pairs left by an interruption */
	uint64_t not_followed; /* by the source that followed most; UINT64_MAX: there was none */
};

struct application *application_new(
	const struct history *history, struct verdict *verdict, const struct meter *meter)
{
	struct application *a = mem_zero(1, sizeof(*a));

	a->history = history;
	a->verdict = verdict;
	a->meter = meter;
	a->not_followed = UINT64_MAX;
	statements_init(&a->statements, history);
	return a;
}

/* ---- groups ---- */

static uint32_t code_number(const struct application *a, uint32_t stmt)
{
	const struct code *code = statement_code(&a->statements, stmt);

	return code ? (uint32_t)(code - a->statements.codes) : ACCESS_NONE;
}

/* Of two transactions that skew each other the one comes first whose code was met first: the pair is the same
 * either way. */
static void turn_round(const struct application *a, const struct accesses *accesses, struct candidate *c)
{
	uint32_t other_then = accesses->versions[c->missed].stmt;
	uint32_t mine = code_number(a, c->read), theirs = code_number(a, c->other_read);
	struct candidate turned = *c;

	if (c->anomaly != ANOMALY_WRITE_SKEW || mine < theirs ||
		(mine == theirs && code_number(a, c->then) <= code_number(a, other_then)))
		return;
	turned.txn = c->other;
	turned.other = c->txn;
	turned.read = c->other_read;
	turned.other_read = c->read;
	turned.then = other_then;
	turned.missed = c->wrote;
	turned.wrote = c->missed;
	turned.position = c->other_position;
	turned.other_position = c->position;
	*c = turned;
}

static struct group *group_for(struct application *a, const struct accesses *accesses, const struct candidate *c)
{
	const struct access_row *row = &accesses->rows[accesses->versions[c->missed].row];
	struct group group = {.anomaly = c->anomaly, .table = accesses->tables[row->table].name};
	uint64_t key;
	uint32_t *at;

	group.codes[0] = code_number(a, c->read);
	group.codes[1] = code_number(a, c->then);
	group.codes[2] = group.codes[3] = ACCESS_NONE;
	if (c->anomaly == ANOMALY_WRITE_SKEW) {
		group.codes[2] = code_number(a, c->other_read);
		group.codes[3] = code_number(a, accesses->versions[c->missed].stmt);
	}
	key = hash_bytes(group.codes, sizeof(group.codes)) + hash_bytes(group.table.ptr, group.table.len) + c->anomaly;
	at = map_at(&a->by_key, key);
	if (*at == MAP_NONE) {
		*at = (uint32_t)a->group_count;
		group.table = arena_copy(&a->verdict->arena, group.table);
		MEM_RESERVE(a->groups, a->group_count + 1, a->group_capacity);
		a->groups[a->group_count++] = group;
	}
	return &a->groups[*at];
}

static void note_row(struct application *a, struct group *group, struct span name)
{
	uint64_t hash = hash_bytes(name.ptr, name.len);

	if (map_get(&group->row_hashes, hash) != MAP_NONE)
		return;
	if (group->row_hashes.count < ROWS_LISTED)
		group->rows[group->row_hashes.count] = arena_copy(&a->verdict->arena, name);
	map_put(&group->row_hashes, hash, 1);
}

static void note_columns(struct application *a, struct group *group, const struct access_table *table, uint64_t columns)
{
	if (columns == UINT64_MAX || (columns | group->columns) == group->columns)
		return;
	group->columns |= columns;
	group->column_names = column_words(&a->verdict->arena, table, group->columns);
}

static void add_to_group(struct application *a, const struct judging *judging, const struct candidate *c,
	enum judgement judgement, uint64_t columns)
{
	const struct accesses *accesses = judging->accesses;
	const struct access_row *row = &accesses->rows[accesses->versions[c->missed].row];
	struct group *group = group_for(a, accesses, c);
	uint32_t *was = map_at(&group->pairs, candidate_pair(c->txn, c->other));
	bool certain = judgement == JUDGED_CERTAIN;

	if (*was == MAP_NONE) {
		group->certain += certain;
		group->possible += !certain;
		*was = judgement;
	} else if (certain && *was != JUDGED_CERTAIN) {
		group->certain++;
		group->possible--;
		*was = judgement;
	}
	note_row(a, group, row->name);
	note_columns(a, group, &accesses->tables[row->table], columns);
	if (group->told.step_count && (group->shown_certain || !certain))
		return;
	group->shown_certain = certain;
	group->about = advice_about(accesses, c);
	group->level = a->history->txns[c->txn].level;
	tell_candidate(&group->told, &a->verdict->arena, a->history, accesses, c);
}

/* ---- looking ---- */

static void look_at(struct application *a, const struct judging *judging, const struct candidate *from)
{
	struct candidate c = *from;
	uint64_t pair, columns;
	enum judgement judgement;

	turn_round(a, judging->accesses, &c);
	pair = candidate_pair(c.txn, c.other);
	/* A lost update is told once, and tells more. */
	if (c.anomaly != ANOMALY_LOST_UPDATE &&
		(map_get(&a->lost, pair) != MAP_NONE || map_get(&a->lost, candidate_pair(c.other, c.txn)) != MAP_NONE ||
			map_get(&a->skewed[c.anomaly], pair) != MAP_NONE))
		return;
	judgement = judge_candidate(judging, &c, &columns);
	if (judgement != JUDGED_CERTAIN && judgement != JUDGED_POSSIBLE) {
		map_put(&a->harmless[judgement], pair, 1);
		return;
	}
	if (c.anomaly == ANOMALY_LOST_UPDATE)
		map_put(&a->lost, pair, 1);
	else
		map_put(&a->skewed[c.anomaly], pair, 1);
	add_to_group(a, judging, &c, judgement, columns);
}

void application_look(struct application *a, const struct accesses *accesses)
{
	struct candidates candidates;
	struct judging judging = {.history = a->history, .accesses = accesses, .candidates = &candidates, .statements = &a->statements};
	size_t looked = 0;

	meter_things(a->meter, "looking for pairs of transactions", 0, 0);
	candidates_find(&candidates, a->history, accesses);
	for (size_t i = 0; i < candidates.count; i++)
		judge_want(&judging, &candidates.list[i], &a->statements);
	if (statements_fetch(&a->statements, a->meter)) {
		/* Lost updates come first in the list. */
		for (; looked < candidates.count && !interrupt_seen(); looked++) {
			if (looked % ASKED_EVERY == 0)
				meter_things(a->meter, "judging pairs of transactions", looked, candidates.count);
			look_at(a, &judging, &candidates.list[looked]);
		}
	}
	/* And those that an interruption kept from being candidates: at least one. */
	a->stopped_before += interrupt_seen() ? candidates.count - looked + 1 : 0;
	a->cut += candidates.cut;
	a->not_followed = accesses->not_followed < a->not_followed ? accesses->not_followed : a->not_followed;
	candidates_release(&candidates);
}

/* ---- findings ---- */

static void add_code(const struct application *a, struct finding_pattern *out, const char *role, uint32_t number)
{
	const struct code *code = number == ACCESS_NONE ? NULL : &a->statements.codes[number];
	struct arena *arena = &a->verdict->arena;

	out->codes[out->code_count++] = (struct finding_code){.role = role,
		.sql = code ? arena_copy(arena, code->pattern) : SPAN_LIT("a statement that is not in the trace"),
		.tag = code && code->tag.len ? arena_copy(arena, code->tag) : SPAN_NONE};
}

static const struct finding_pattern *pattern_of(const struct application *a, const struct group *group)
{
	struct finding_pattern *out = arena_zero(&a->verdict->arena, sizeof(*out));

	add_code(a, out, "reads", group->codes[0]);
	add_code(a, out, group->anomaly == ANOMALY_READ_SKEW ? "then reads" : "then writes", group->codes[1]);
	if (group->anomaly == ANOMALY_WRITE_SKEW &&
		(group->codes[0] != group->codes[2] || group->codes[1] != group->codes[3])) {
		add_code(a, out, "another reads", group->codes[2]);
		add_code(a, out, "then writes", group->codes[3]);
	}
	out->table = group->table;
	out->columns = group->column_names;
	out->pairs = group->certain ? group->certain : group->possible;
	out->possible_pairs = group->certain ? group->possible : 0;
	out->row_total = group->row_hashes.count;
	out->row_count = out->row_total < ROWS_LISTED ? (uint32_t)out->row_total : ROWS_LISTED;
	out->rows = arena_alloc(&a->verdict->arena, (out->row_count + 1) * sizeof(*out->rows));
	for (uint32_t i = 0; i < out->row_count; i++)
		out->rows[i] = group->rows[i];
	out->advice = advice_for(group->about, group->level);
	return out;
}

static void add_finding(struct application *a, const struct group *group)
{
	static const enum finding_class classes[] = {[ANOMALY_LOST_UPDATE] = CLASS_LOST_UPDATE,
		[ANOMALY_WRITE_SKEW] = CLASS_WRITE_SKEW,
		[ANOMALY_READ_SKEW] = CLASS_READ_SKEW};
	struct finding *f = verdict_add(a->verdict, FOUND_BY_APPLICATION, classes[group->anomaly]);

	f->severity = group->certain ? SEVERITY_APPLICATION : SEVERITY_SUSPICION;
	f->level = txn_level_name(group->level);
	f->transactions = group->told.transactions;
	f->transaction_count = 2;
	f->edges = group->told.edges;
	f->edge_count = group->told.edge_count;
	f->steps = group->told.steps;
	f->step_count = group->told.step_count;
	f->rows = group->told.rows;
	f->row_count = group->told.row_count;
	f->explanation = group->told.explanation;
	f->pattern = pattern_of(a, group);
	if (!group->certain)
		f->caveat = group->told.caveat;
	f->explanation = explain_pattern(&a->verdict->arena, f->pattern, f->explanation);
	finding_seal(f);
}

static int by_certainty(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (y->certain > x->certain) - (y->certain < x->certain);
}

static void count_harmless(struct application *a)
{
	for (int i = HARMLESS_READ_AGAIN; i < JUDGEMENT_COUNT; i++)
		if (a->harmless[i].count)
			a->verdict->harmless[a->verdict->harmless_count++] =
				(struct verdict_harmless){harmless_words((enum judgement)i), a->harmless[i].count};
}

void application_finish(struct application *a)
{
	a->verdict->for_application = true;
	a->verdict->not_followed = a->not_followed == UINT64_MAX ? 0 : a->not_followed;
	if (a->group_count)
		qsort(a->groups, a->group_count, sizeof(*a->groups), by_certainty);
	for (size_t i = 0; i < a->group_count; i++)
		add_finding(a, &a->groups[i]);
	count_harmless(a);
	verdict_undecided(a->verdict, "pairs of transactions past the number that is looked at for an application", a->cut);
	verdict_undecided(a->verdict, "pairs of transactions that were not come to before the interruption", a->stopped_before);
	for (size_t i = 0; i < a->group_count; i++) {
		map_release(&a->groups[i].pairs);
		map_release(&a->groups[i].row_hashes);
	}
	for (int i = 0; i < JUDGEMENT_COUNT; i++)
		map_release(&a->harmless[i]);
	for (int i = 0; i < ANOMALY_COUNT; i++)
		map_release(&a->skewed[i]);
	map_release(&a->lost);
	map_release(&a->by_key);
	statements_release(&a->statements);
	mem_free(a->groups);
	mem_free(a);
}
