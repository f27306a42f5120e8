/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/judge.h"

static const struct access_version *version_of(const struct judging *j, uint32_t version)
{
	return &j->accesses->versions[version];
}

static const struct access_table *table_of(const struct judging *j, uint32_t version)
{
	const struct accesses *a = j->accesses;

	return &a->tables[a->rows[a->versions[version].row].table];
}

static bool is_read_of(const struct access_read *read, const struct candidate *c, uint32_t row)
{
	return read->row == row && read->kind == ACCESS_PLAIN && read->high <= c->position;
}

void judge_want(const struct judging *j, const struct candidate *c, struct statements *statements)
{
	const struct accesses *a = j->accesses;
	uint32_t row = a->versions[c->missed].row;

	statements_want(statements, c->read);
	statements_want(statements, c->then);
	statements_want(statements, c->other_read);
	statements_want(statements, a->versions[c->missed].stmt);
	if (c->anomaly != ANOMALY_LOST_UPDATE)
		return;
	for (uint32_t i = j->candidates->first_read[c->txn]; i < j->candidates->first_read[c->txn + 1]; i++)
		if (is_read_of(&a->reads[i], c, row))
			statements_want(statements, a->reads[i].stmt);
}

/* The columns of the row that T's reads before its write have shown it. */
static uint64_t columns_read(const struct judging *j, const struct candidate *c, const struct access_table *table)
{
	const struct accesses *a = j->accesses;
	uint32_t row = a->versions[c->missed].row;
	uint64_t columns = 0;

	for (uint32_t i = j->candidates->first_read[c->txn]; i < j->candidates->first_read[c->txn + 1]; i++)
		if (is_read_of(&a->reads[i], c, row))
			columns |= code_columns(statement_code(j->statements, a->reads[i].stmt), table);
	return columns;
}

/* What other transactions changed between T's read of the row and its write, and which of it are times of writing. */
static uint64_t columns_changed(const struct judging *j, const struct candidate *c, uint64_t *moments)
{
	const struct access_version *missed = version_of(j, c->missed);
	const struct access_row *row = &j->accesses->rows[missed->row];
	uint32_t end = c->wrote == ACCESS_NONE ? c->missed + 1 : c->wrote;
	uint64_t columns = 0;

	*moments = 0;
	for (uint32_t v = row->first + c->position + 1; v < end; v++) {
		columns |= j->accesses->versions[v].columns;
		*moments |= j->accesses->versions[v].moments;
	}
	return columns;
}

/*
 * T read the row, another transaction changed it, and then T's statement met it.  Lost is what the other one wrote into
 * a column that T had read and then set to a value of its own.  A value that the server computes from the row loses
 * nothing.  A time of writing is not computed from the one before it.
 */
static enum judgement judge_lost_update(const struct judging *j, const struct candidate *c, uint64_t *columns)
{
	const struct access_table *table = table_of(j, c->missed);
	struct column_writes writes = code_writes(statement_code(j->statements, c->then), table);
	uint64_t read = columns_read(j, c, table), moments, changed = columns_changed(j, c, &moments), overwritten;
	const struct access_version *mine = c->wrote == ACCESS_NONE ? NULL : version_of(j, c->wrote);

	*columns = changed & read & ~moments;
	if (c->outcome == OUTCOME_FRESH)
		return HARMLESS_READ_AGAIN;
	if (!*columns)
		return HARMLESS_NOT_READ;
	if (c->outcome == OUTCOME_GONE || writes.kind == WRITE_OTHER || writes.kind == WRITE_INSERT)
		return JUDGED_POSSIBLE;
	if (writes.kind == WRITE_DELETE)
		return writes.tested & changed ? HARMLESS_TESTED : JUDGED_POSSIBLE;
	overwritten = writes.given & changed & ~(mine ? mine->moments : moments);
	if (!overwritten) {
		if (writes.tested & changed)
			return HARMLESS_TESTED;
		/* What it sets is of other columns, or computed: then nothing is lost. */
		return writes.given & ~(mine ? mine->moments : 0) ? JUDGED_POSSIBLE : HARMLESS_COMPUTED;
	}
	if (!(overwritten & read))
		return HARMLESS_NOT_READ;
	*columns = overwritten & read;
	/* Both set the same: a mark that is set twice, or an amount that is one change short. */
	return (mine && mine->columns & *columns) || table->quantities & *columns ? JUDGED_CERTAIN : JUDGED_POSSIBLE;
}

/* Would the answer of a statement have been another one, had it seen the version? */
static uint64_t changed_for(const struct judging *j, uint32_t stmt, uint32_t version)
{
	const struct access_version *v = version_of(j, version);

	return v->columns & ~v->moments & code_columns(statement_code(j->statements, stmt), table_of(j, version));
}

/* A row that came or went changes every answer that it is in.  A condition's misses are about the answer already. */
static bool matters(const struct judging *j, uint32_t stmt, uint32_t version, uint32_t position)
{
	return position == ACCESS_NONE || version_of(j, version)->columns == UINT64_MAX || changed_for(j, stmt, version);
}

/* A row that came and went again, before T ended: what T read is as true at its end as it was at its read. */
static bool is_undone(const struct judging *j, uint32_t txn, uint32_t version)
{
	const struct access_row *row = &j->accesses->rows[version_of(j, version)->row];
	bool absent = false;

	if (version == row->first || !j->accesses->versions[version - 1].absent)
		return false;
	for (uint32_t v = version + 1; v < row->first + row->count; v++) {
		uint32_t other = j->accesses->versions[v].txn;

		if (other == ACCESS_NONE || j->history->txns[other].end_seq >= j->history->txns[txn].end_seq)
			break;
		absent = j->accesses->versions[v].absent;
	}
	return absent;
}

enum judgement judge_candidate(const struct judging *j, const struct candidate *c, uint64_t *columns)
{
	if (c->anomaly == ANOMALY_LOST_UPDATE)
		return judge_lost_update(j, c, columns);
	*columns = changed_for(j, c->read, c->missed);
	if (!matters(j, c->read, c->missed, c->position))
		return HARMLESS_NOT_READ;
	if (is_undone(j, c->txn, c->missed) || (c->anomaly == ANOMALY_WRITE_SKEW && is_undone(j, c->other, c->wrote)))
		return HARMLESS_UNDONE;
	if (c->anomaly == ANOMALY_WRITE_SKEW)
		return matters(j, c->other_read, c->wrote, c->other_position) ? JUDGED_CERTAIN : HARMLESS_NOT_READ;
	return matters(j, c->then, c->seen, 0) ? JUDGED_CERTAIN : HARMLESS_NOT_READ;
}
