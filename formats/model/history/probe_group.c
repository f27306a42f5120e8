/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/probe_group.h"

#include <stdlib.h>

#include "base/mem.h"

struct group_probe *group_probe_add(struct group *group)
{
	struct group_probe *probe;

	if (group->probe_count == HISTORY_STMT_PROBES_MAX)
		return NULL;
	MEM_RESERVE(group->probes, group->probe_count + 1, group->probe_capacity);
	probe = &group->probes[group->probe_count++];
	memset(probe, 0, sizeof(*probe));
	probe->first_row = (uint32_t)group->row_count;
	return probe;
}

void group_row_add(struct group *group, struct history_build *build, const struct group_row *row)
{
	build->waiting_rows++;
	MEM_RESERVE(group->rows, group->row_count + 1, group->row_capacity);
	group->rows[group->row_count] = *row;
	group->rows[group->row_count++].probe = (uint32_t)group->probe_count - 1;
	group->probes[group->probe_count - 1].row_count++;
}

void group_free(struct group *group)
{
	if (!group)
		return;
	mem_free(group->probes);
	mem_free(group->rows);
	mem_free(group);
}

/* ---- BWR and AWR (rule 8) ---- */

/* A row of a BWR or AWR, to be sorted by object; BWR before AWR, then as they came. */
struct pair_row {
	uint32_t object, row;
	bool after;
};

static int pair_order(const void *a, const void *b)
{
	const struct pair_row *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	if (x->after != y->after)
		return x->after ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

/* The group's first probe of a kind for a table; NULL: none. */
static const struct group_probe *probe_of(
	const struct group *group, enum probe_kind kind, uint32_t table)
{
	for (size_t i = 0; i < group->probe_count; i++) {
		const struct group_probe *probe = &group->probes[i];

		if (probe->op.probe == kind && probe->table == table)
			return probe;
	}
	return NULL;
}

static bool is_exact(const struct group_probe *probe)
{
	return probe->op.flags & HISTORY_OP_EXACT;
}

static void pair_deleted(
	struct group *group, struct history_build *build, const struct group_row *before)
{
	const struct group_probe *probe = &group->probes[before->probe];
	const struct group_probe *other = probe_of(group, PROBE_AWR, probe->table);
	struct history_op op = probe->op;

	if (!other)
		return; /* its probe is counted as unpaired */
	op.object = before->object;
	op.version = build_dead(build, before->object);
	if (!is_exact(other))
		op.flags &= (uint8_t)~HISTORY_OP_EXACT;
	build_write(build, &op, before->version);
}

static void pair_written(struct group *group, struct history_build *build,
	const struct group_row *before, const struct group_row *after)
{
	const struct group_probe *probe = &group->probes[after->probe];
	const struct group_probe *other =
		before ? &group->probes[before->probe] : probe_of(group, PROBE_BWR, probe->table);
	struct history_op op = probe->op;
	uint32_t previous = after->previous;

	op.object = after->object;
	op.version = after->version;
	if (before && before->version == after->version) {
		/* The statement looked at the row and left it as it was. */
		if (!is_exact(other))
			op.flags &= (uint8_t)~HISTORY_OP_EXACT;
		build_read(build, &op);
		return;
	}
	if (previous == HISTORY_NONE) {
		/* The row does not say what it overwrote, so the BWR must. */
		if (!other || !is_exact(other))
			op.flags &= (uint8_t)~HISTORY_OP_EXACT;
		if (other)
			previous = before ? before->version : BUILD_NIL;
	}
	build_write(build, &op, previous);
}

static void pair_object(struct group *group, struct history_build *build,
	const struct pair_row *pairs, size_t count)
{
	const struct group_row *before = NULL, *after = NULL;

	for (size_t i = 0; i < count; i++) {
		const struct group_row *row = &group->rows[pairs[i].row];

		if (row->version == HISTORY_NONE || (pairs[i].after ? after : before) != NULL)
			build->history->counts.rows_skipped++;
		else if (pairs[i].after)
			after = row;
		else
			before = row;
	}
	if (after)
		pair_written(group, build, before, after);
	else if (before)
		pair_deleted(group, build, before);
}

static void pair_all(struct group *group, struct history_build *build)
{
	struct pair_row *pairs;
	size_t count = 0, first = 0;

	for (size_t i = 0; i < group->probe_count; i++) {
		const struct group_probe *probe = &group->probes[i];
		bool bwr = probe->op.probe == PROBE_BWR;

		if (!bwr && probe->op.probe != PROBE_AWR)
			continue;
		count += probe->row_count;
		/* An AWR whose rows say what they overwrote needs no BWR. */
		if (!probe_of(group, bwr ? PROBE_AWR : PROBE_BWR, probe->table) &&
			(bwr || (probe->row_count &&
					group->rows[probe->first_row].previous == HISTORY_NONE)))
			build->history->counts.unpaired_probes++;
	}
	if (!count)
		return;
	pairs = mem_realloc(NULL, count, sizeof(*pairs));
	count = 0;
	for (uint32_t i = 0; i < group->row_count; i++) {
		uint8_t kind = group->probes[group->rows[i].probe].op.probe;

		if (kind == PROBE_BWR || kind == PROBE_AWR)
			pairs[count++] =
				(struct pair_row){group->rows[i].object, i, kind == PROBE_AWR};
	}
	qsort(pairs, count, sizeof(*pairs), pair_order);
	for (size_t i = 1; i <= count; i++) {
		if (i == count || pairs[i].object != pairs[first].object) {
			pair_object(group, build, pairs + first, i - first);
			first = i;
		}
	}
	mem_free(pairs);
}

/* ---- predicates (rule 11) ---- */

/* A version set is copied for each predicate of its statement; no statement has so many. */
enum { SET_COPIES_MAX = 16 };

static bool is_match(const struct group_probe *probe)
{
	return probe->op.probe == PROBE_PM || probe->op.probe == PROBE_READ;
}

/* Do two probes speak of one predicate?  One without a text goes with any of its table. */
static bool same_predicate(const struct group_probe *a, const struct group_probe *b)
{
	return a->table == b->table && (a->text == b->text || !a->text || !b->text);
}

/* The first probe of the group that speaks of this predicate, of the same sort. */
static bool is_first(const struct group *group, size_t i)
{
	const struct group_probe *probe = &group->probes[i];

	for (size_t k = 0; k < i; k++) {
		const struct group_probe *other = &group->probes[k];

		if (is_match(other) == is_match(probe) &&
			(is_match(other) || other->op.probe == PROBE_VSR) &&
			other->table == probe->table && other->text == probe->text)
			return false;
	}
	return true;
}

static size_t take_rows(const struct group *group, const struct group_probe *probe, uint32_t *out)
{
	size_t count = 0;

	for (uint32_t i = 0; i < probe->row_count; i++) {
		uint32_t version = group->rows[probe->first_row + i].version;

		if (version != HISTORY_NONE)
			out[count++] = version;
	}
	return count;
}

/* The predicate that probe i is the first to speak of. */
static void predicate_make(struct group *group, struct history_build *build, size_t i,
	uint32_t *matches, uint32_t *set, size_t *copied)
{
	const struct group_probe *first = &group->probes[i];
	struct build_predicate p = {.op = first->op, .matches = matches, .set = set};
	bool exact = true, pm = false;

	p.predicate.table = first->table;
	p.predicate.text = first->text;
	for (size_t k = 0; k < group->probe_count; k++)
		pm |= group->probes[k].op.probe == PROBE_PM &&
		      same_predicate(&group->probes[k], first);
	for (size_t k = 0; k < group->probe_count; k++) {
		const struct group_probe *probe = &group->probes[k];

		if (!same_predicate(probe, first))
			continue;
		if (probe->op.probe == PROBE_VSR) {
			p.set_count += take_rows(group, probe, set + p.set_count);
			p.predicate.flags |= HISTORY_PREDICATE_SET;
		} else if (probe->op.probe == (pm ? PROBE_PM : PROBE_READ) &&
			   probe->text == first->text) {
			p.match_count += take_rows(group, probe, matches + p.match_count);
			p.predicate.flags |= HISTORY_PREDICATE_MATCHES;
		} else {
			continue;
		}
		exact &= is_exact(probe);
		if (!p.predicate.text)
			p.predicate.text = probe->text;
	}
	*copied += p.set_count;
	if (*copied > SET_COPIES_MAX * group->row_count) {
		build->history->counts.predicate_probes_skipped++;
		p.predicate.flags &= (uint16_t)~HISTORY_PREDICATE_SET;
		p.set_count = 0;
	}
	if (exact)
		p.predicate.flags |= HISTORY_PREDICATE_EXACT;
	else
		p.op.flags &= (uint8_t)~HISTORY_OP_EXACT;
	build_predicate_add(build, &p);
}

static void predicates_all(struct group *group, struct history_build *build)
{
	uint32_t *matches = NULL, *set = NULL;
	size_t copied = 0;

	for (size_t i = 0; i < group->probe_count; i++) {
		const struct group_probe *probe = &group->probes[i];
		bool alone = probe->op.probe == PROBE_VSR;

		/* A version set alone is a predicate whose matches are not known. */
		for (size_t k = 0; alone && k < group->probe_count; k++)
			alone = !is_match(&group->probes[k]) ||
				!same_predicate(&group->probes[k], probe);
		if ((!alone && !is_match(probe)) || !is_first(group, i))
			continue;
		if (!matches) {
			matches = mem_realloc(NULL, group->row_count, sizeof(*matches));
			set = mem_realloc(NULL, group->row_count, sizeof(*set));
		}
		predicate_make(group, build, i, matches, set, &copied);
	}
	mem_free(matches);
	mem_free(set);
}

void group_finish(struct group *group, struct history_build *build)
{
	predicates_all(group, build);
	pair_all(group, build);
	build->waiting_rows -= group->row_count;
	group->number = 0;
	group->probe_count = 0;
	group->row_count = 0;
}
