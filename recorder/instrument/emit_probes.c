/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/emit_probes.h"

#include "trace/pack.h"

uint8_t probed_read_kind(const struct capture *c, const struct stmt_plan *plan)
{
	if (plan->locking)
		return PROBE_READ_CURRENT;
	/* INSERT ... SELECT locks what it reads, but not below REPEATABLE READ (manuals, "Locks Set
	 * by Different SQL Statements in InnoDB"). */
	if (plan->writes && !plan->reads && capture_level(c) >= LEVEL_REPEATABLE_READ)
		return PROBE_READ_CURRENT;
	switch (capture_level(c)) {
	case LEVEL_READ_UNCOMMITTED:
		return PROBE_READ_DIRTY;
	case LEVEL_READ_COMMITTED:
	case LEVEL_REPEATABLE_READ:
		return PROBE_READ_SNAPSHOT;
	case LEVEL_SERIALIZABLE:
		/* Plain reads lock, but for those that are a transaction of their own. */
		return c->txn.open || !(c->status & STATUS_AUTOCOMMIT) ? PROBE_READ_CURRENT
								       : PROBE_READ_SNAPSHOT;
	case LEVEL_UNKNOWN:
		break;
	}
	return PROBE_READ_UNKNOWN;
}

void probed_forget_predicate(struct probed *stmt, struct stmt_plan *plan)
{
	plan_forget_predicate(plan);
	stmt->predicate = SPAN_NONE;
}

void probed_take_first_rows(
	struct probed *stmt, struct stmt_plan *plan, const struct buf *first_rows)
{
	if (!first_rows->len || !plan->predicate_of) {
		probed_forget_predicate(stmt, plan);
		return;
	}
	stmt->predicate = buf_span(first_rows);
	plan->shared = false;
}

void probed_emit(struct capture *c, const struct probed *stmt, enum probe_kind kind,
	const struct instrument_table *table, struct record_probe probe, const struct buf *rows,
	uint32_t count)
{
	struct buf packed = BUF_INIT;
	msgpack_packer pk = pack_into(&packed);

	if (table->number == INSTRUMENT_NO_NUMBER)
		return;
	msgpack_pack_array(&pk, count);
	if (rows)
		buf_add_span(&packed, buf_span(rows));
	probe.number = stmt->number;
	probe.probe = (uint8_t)kind;
	probe.table = table->number;
	probe.rows = buf_span(&packed);
	capture_probe(c, &probe);
	buf_release(&packed);
}

const struct table_probes *probed_rows(
	const struct statement_probes *probes, const struct instrument_table *table)
{
	for (size_t i = 0; i < probes->count; i++)
		if (probes->list[i].table == table)
			return &probes->list[i];
	return NULL;
}

static bool seen_before(const struct stmt_plan *plan, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (plan->tables[i] == plan->tables[index])
			return true;
	return false;
}

void probed_emit_unknown(
	struct capture *c, const struct probed *stmt, const struct instrument_table *table)
{
	struct record_probe probe = {
		.read_kind = stmt->read_kind, .predicate = SPAN_LIT(PROBED_UNKNOWN)};

	probed_emit(c, stmt, PROBE_READ, table, probe, NULL, 0);
}

/* Not exact, as it names none of its rows. */
static void emit_part(
	struct capture *c, const struct probed *stmt, const struct instrument_table *table)
{
	struct record_probe probe = {.read_kind = stmt->read_kind};
	struct buf text = BUF_INIT;

	buf_add_str(&text, PROBED_PART_OF);
	buf_add_span(&text, stmt->predicate);
	probe.predicate = buf_span(&text);
	probed_emit(c, stmt, PROBE_READ, table, probe, NULL, 0);
	buf_release(&text);
}

void probed_emit_blind(struct capture *c, const struct probed *stmt, const struct stmt_plan *plan)
{
	for (size_t i = 0; i < plan->blind_count; i++) {
		const struct instrument_table *table = plan->blind[i];

		if (plan->parts && stmt->predicate.ptr && !plan->vague && !stmt->lost &&
			instrument_table_exact(table))
			emit_part(c, stmt, table);
		else
			probed_emit_unknown(c, stmt, table);
	}
}

/* Can it have changed no rows but those that its condition gives? */
static bool is_narrow(const struct probed *stmt, const struct stmt_plan *plan)
{
	return plan->narrow && !plan->vague && !plan->fires && !plan->limited &&
	       plan->written_count == 1 && plan->predicate_of == plan->written[0] &&
	       stmt->predicate.ptr && instrument_table_exact(plan->predicate_of);
}

void probed_emit_unseen(struct capture *c, const struct probed *stmt, const struct stmt_plan *plan,
	const struct instrument_tables *tables)
{
	struct record_probe probe = {.read_kind = PROBE_READ_CURRENT};
	enum probe_kind kind = tables->mode == INSTRUMENT_SELECT ? PROBE_AWR : PROBE_WRITE;
	bool anywhere = plan->anywhere || tables->triggers;

	for (size_t i = 0; anywhere && i < tables->count; i++)
		probed_emit(c, stmt, kind, &tables->list[i], probe, NULL, 0);
	if (!anywhere && kind == PROBE_WRITE && is_narrow(stmt, plan))
		probe.predicate = stmt->predicate;
	for (size_t i = 0; !anywhere && i < plan->written_count; i++)
		probed_emit(c, stmt, kind, plan->written[i], probe, NULL, 0);
}

void probed_emit_fired(
	struct capture *c, const struct probed *stmt, const struct instrument_tables *tables)
{
	struct record_probe probe = {.read_kind = PROBE_READ_CURRENT};
	enum probe_kind kind = tables->mode == INSTRUMENT_SELECT ? PROBE_AWR : PROBE_WRITE;

	for (size_t i = 0; i < tables->action_count; i++) {
		const struct instrument_table *child = &tables->list[tables->actions[i].child];

		if (atomic_load(&child->disturbed))
			probed_emit(c, stmt, kind, child, probe, NULL, 0);
	}
}

void probed_emit_reads(struct capture *c, const struct probed *stmt, const struct stmt_plan *plan,
	const struct statement_probes *probes)
{
	for (size_t i = 0; i < plan->table_count; i++) {
		const struct instrument_table *table = plan->tables[i];
		const struct table_probes *rows = probed_rows(probes, table);
		struct record_probe probe = {
			.read_kind = stmt->read_kind,
			.exact = instrument_table_exact(table) && !plan->vague && !stmt->lost,
			.predicate = plan->joint || plan->predicate_of == table ? stmt->predicate
										: SPAN_NONE,
		};

		if (seen_before(plan, i))
			continue;
		probed_emit(c, stmt, PROBE_READ, table, probe, rows ? &rows->reads : NULL,
			rows ? rows->read_count : 0);
		/* Which rows it passed over, and why, is not known. */
		if (!probe.predicate.ptr)
			probed_emit_unknown(c, stmt, table);
	}
	probed_emit_blind(c, stmt, plan);
}

/* The rows of a table that a write's condition took, changed or not. */
static void emit_matches(struct capture *c, const struct probed *stmt,
	const struct instrument_table *table, const struct statement_probes *probes, bool exact)
{
	const struct table_probes *rows = probed_rows(probes, table);
	struct record_probe probe = {.read_kind = PROBE_READ_CURRENT,
		.exact = exact && instrument_table_exact(table)};

	if (!rows || !rows->write_count)
		probed_emit(c, stmt, PROBE_WRITE, table, probe, NULL, 0);
	probe.predicate = stmt->predicate;
	probed_emit(c, stmt, PROBE_PM, table, probe, rows ? &rows->matches : NULL,
		rows ? rows->match_count : 0);
}

void probed_emit_writes(struct capture *c, const struct probed *stmt, const struct stmt_plan *plan,
	const struct statement_probes *probes)
{
	bool exact = !plan->vague && !stmt->lost;
	uint32_t written = 0;

	for (size_t i = 0; i < probes->count; i++) {
		const struct table_probes *rows = &probes->list[i];
		struct record_probe probe = {.read_kind = PROBE_READ_CURRENT,
			.exact = exact && instrument_table_exact(rows->table)};

		if (rows->write_count)
			probed_emit(c, stmt, PROBE_WRITE, rows->table, probe, &rows->writes,
				rows->write_count);
		if (rows->match_count && !plan_lists(plan, rows->table) && !plan->keyed)
			probed_emit_unknown(c, stmt, rows->table);
		if (plan->written_count && plan->written[0] == rows->table)
			written = rows->write_count;
	}
	for (size_t i = 0; plan->passes && i < plan->written_count; i++) {
		const struct table_probes *rows = probed_rows(probes, plan->written[i]);

		if (!plan_lists(plan, plan->written[i]) && !(rows && rows->match_count))
			probed_emit_unknown(c, stmt, plan->written[i]);
	}
	/* Nothing says which rows kept others out, and at which version. */
	if (written < plan->insert_rows && plan->written_count)
		probed_emit_unknown(c, stmt, plan->written[0]);
	if (plan->predicate_of && stmt->predicate.ptr)
		emit_matches(c, stmt, plan->predicate_of, probes, exact);
	for (size_t i = 1; i < plan->listed_count && stmt->predicate.ptr; i++)
		emit_matches(c, stmt, plan->listed[i], probes, exact);
	probed_emit_blind(c, stmt, plan);
}
