/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From an execution to the scenario that would do it again (docs/scenario-format.md). */
#include <stdio.h>
#include <stdlib.h>

#include "model/execution/execution.h"
#include "scenario/scenario.h"
#include "server/commands.h"
#include "sql/sql.h"

enum {
	ROWS_PER_INSERT = 100,
	EXPECTED_ROWS_MAX = 100,
};

struct maker {
	const struct execution *e;
	const struct execution_scenario_options *options;
	struct scenario *out;
	uint64_t *skipped;
	struct buf text;
	struct err *err;
};

static bool add_setup(struct maker *m, struct span sql)
{
	return scenario_add(m->out, &m->out->setup, SCENARIO_NO_SESSION, sql, m->err);
}

/* ---- tables ---- */

/* Names of the columns that rows hold: the recorded list, or the schema's. */
static void add_columns(struct maker *m, const struct execution_table *t, bool *generated)
{
	bool own = t->initial.columns.ptr != NULL;
	struct mp mp = mp_over(own ? t->initial.columns : t->schema.columns);
	uint32_t count = mp_array(&mp);

	*generated = false;
	buf_add_char(&m->text, '(');
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span name;

		if (own) {
			name = mp_bytes(&mp);
		} else {
			struct mp column = mp_over(mp_raw(&mp));
			uint32_t fields = mp_array(&column);

			name = mp_bytes(&column);
			for (uint32_t k = 1; k < 5 && k < fields; k++)
				(void)mp_skip(&column);
			if (fields > 5 && !mp_take_nil(&column))
				*generated = true;
		}
		if (i)
			buf_add_char(&m->text, ',');
		sql_print_name(name, &m->text);
	}
	buf_add_char(&m->text, ')');
}

static bool add_value_list(struct maker *m, struct span row)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);

	buf_add_char(&m->text, '(');
	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			return err_set(m->err, ERR_FORMAT, "a row cannot be read");
		if (i)
			buf_add_char(&m->text, ',');
		if (!execution_literal(&value, &m->text, m->err))
			return false;
	}
	buf_add_char(&m->text, ')');
	return true;
}

static bool add_inserts(struct maker *m, const struct execution_table *t)
{
	bool generated;

	for (size_t i = 0; i < t->initial.count;) {
		size_t end = i + ROWS_PER_INSERT;

		buf_clear(&m->text);
		buf_add_str(&m->text, "insert into ");
		sql_print_name(t->schema.name, &m->text);
		add_columns(m, t, &generated);
		if (generated)
			return err_set(m->err, ERR_UNSUPPORTED,
				"it has generated columns, which cannot be inserted");
		buf_add_str(&m->text, " values ");
		for (size_t first = i; i < t->initial.count && i < end; i++) {
			if (i > first)
				buf_add_char(&m->text, ',');
			if (!add_value_list(m, t->initial.rows[i]))
				return false;
		}
		if (!add_setup(m, buf_span(&m->text)))
			return false;
	}
	return true;
}

static bool has_foreign_keys(const struct execution *e)
{
	for (size_t i = 0; i < e->table_count; i++) {
		struct mp mp = mp_over(e->tables[i].schema.foreign_keys);

		if (e->tables[i].schema.foreign_keys.ptr && mp_array(&mp))
			return true;
	}
	return false;
}

static bool setup_from_tables(struct maker *m)
{
	const struct execution *e = m->e;
	bool foreign = has_foreign_keys(e);

	if (foreign && !add_setup(m, SPAN_LIT("set foreign_key_checks=0")))
		return false;
	for (size_t i = 0; i < e->table_count; i++) {
		const struct execution_table *t = &e->tables[i];

		if (!t->schema.create_text.len)
			return err_set(m->err, ERR_UNSUPPORTED,
				"the definition of table %.*s was not recorded",
				SPAN_ARG(t->schema.name));
		if (!add_setup(m, t->schema.create_text) || !add_inserts(m, t))
			return err_prefix(m->err, "table %.*s", SPAN_ARG(t->schema.name));
	}
	return !foreign || add_setup(m, SPAN_LIT("set foreign_key_checks=1"));
}

/* The scenario that was run knows its setup, final queries and metadata better. */
static bool setup_from_note(struct maker *m)
{
	struct scenario was;
	bool ok = true;

	if (!scenario_parse(&was, m->e->scenario, "the scenario in the trace", m->err))
		return false;
	for (size_t i = 0; i < was.meta_count && ok; i++)
		/* The schedule has what the sessions sent in all rounds, in the order in which they sent it. */
		if (!span_eq_str(was.meta[i].key, "isolation") &&
			!span_eq_str(was.meta[i].key, "node") &&
			!span_eq_str(was.meta[i].key, "rounds"))
			ok = scenario_add_meta(m->out, was.meta[i].key, was.meta[i].value, m->err);
	for (size_t i = 0; i < was.setup.count && ok; i++)
		ok = add_setup(m, was.setup.stmts[i].sql);
	for (size_t i = 0; i < was.final.count && ok; i++)
		ok = scenario_add(
			m->out, &m->out->final, SCENARIO_NO_SESSION, was.final.stmts[i].sql, m->err);
	scenario_release(&was);
	return ok;
}

/* ---- statements ---- */

static bool expect_rows(struct maker *m, const struct execution_rows *set)
{
	if (!set->complete || set->count > EXPECTED_ROWS_MAX)
		return false;
	if (!set->count)
		buf_add_str(&m->text, "empty");
	for (size_t i = 0; i < set->count; i++) {
		if (!add_value_list(m, set->rows[i])) /* not kept: nothing to expect */
			return false;
		buf_add_char(&m->text, ' ');
	}
	return true;
}

/* The text of the expectation; empty: nothing can be expected. */
static void expect_text(struct maker *m, const struct execution_stmt *stmt)
{
	const struct record_stmt *r = &stmt->record;

	buf_clear(&m->text);
	if (r->flags & STMT_NO_REPLY)
		return;
	if (execution_blocked(stmt))
		buf_add_str(&m->text, "blocked, ");
	if (r->error)
		buf_printf(&m->text, "error %u", r->error);
	else if (!stmt->set_count)
		buf_printf(&m->text, "ok %llu", (unsigned long long)r->affected);
	else if (!expect_rows(m, &stmt->sets[0]))
		buf_clear(&m->text);
}

static bool add_expectation(
	struct maker *m, struct scenario_section *section, const struct execution_stmt *stmt)
{
	struct scenario_stmt *last = &section->stmts[section->count - 1];

	if (!m->options->expect)
		return true;
	expect_text(m, stmt);
	return !m->text.len ||
	       scenario_expect_parse(m->out, &last->expect, buf_span(&m->text), m->err);
}

/* Those of the runner's last session are in the scenario already. */
static bool is_final(const struct maker *m, const struct execution_stmt *stmt)
{
	return m->e->scenario.ptr && span_eq_str(m->e->sessions[stmt->session].name, "final") &&
	       stmt->ordinal <= m->out->final.count;
}

static bool add_statement(struct maker *m, const struct execution_stmt *stmt)
{
	struct span name = m->e->sessions[stmt->session].name;
	size_t index = (size_t)(stmt - m->e->stmts);
	uint32_t session;

	if (m->options->keep && !m->options->keep[index])
		return true;

	if (is_final(m, stmt)) {
		struct scenario_section one = m->out->final;

		one.count = stmt->ordinal;
		return add_expectation(m, &one, stmt);
	}
	if (stmt->record.command == CMD_STMT_PREPARE) /* its executions are said in full */
		return true;
	buf_clear(&m->text);
	if (!scenario_session(m->out, name, &session, m->err))
		return false;
	if (!execution_sql(stmt, MOMENTS_AS_TEXTS, &m->text, m->err) ||
		!scenario_add(m->out, &m->out->schedule, session, buf_span(&m->text), m->err)) {
		if (m->options->skip) {
			++*m->skipped;
			return true;
		}
		return err_prefix(
			m->err, "session %.*s, statement %u", SPAN_ARG(name), stmt->record.number);
	}
	if (m->options->origins)
		m->options->origins[m->out->schedule.count - 1] = (uint32_t)index;
	return add_expectation(m, &m->out->schedule, stmt);
}

static void set_levels(struct maker *m)
{
	bool equal = m->out->session_count != 0;
	enum txn_level first = LEVEL_UNKNOWN;

	for (size_t i = 0; i < m->out->session_count; i++) {
		struct scenario_session *s = &m->out->sessions[i];
		uint32_t index = execution_session(m->e, s->name);

		s->level = index == EXECUTION_NONE ? LEVEL_UNKNOWN
						   : (enum txn_level)m->e->sessions[index].level;
		if (i == 0)
			first = s->level;
		equal = equal && s->level == first;
	}
	if (!equal || !first)
		return;
	m->out->level = first;
	for (size_t i = 0; i < m->out->session_count; i++)
		m->out->sessions[i].level = LEVEL_UNKNOWN;
}

/* "n2", as the runner calls nodes, is 2; 0: called otherwise. */
static uint32_t node_number(struct span name)
{
	for (uint32_t i = 1; i <= SCENARIO_NODE_MAX; i++) {
		char text[12];

		snprintf(text, sizeof(text), "n%u", i);
		if (span_eq_str(name, text))
			return i;
	}
	return 0;
}

/* Where there are several nodes: which one a session was on.  Nodes that are called otherwise are
 * counted as they come. */
static bool set_nodes(struct maker *m)
{
	const struct execution *e = m->e;
	struct span names[SCENARIO_NODE_MAX];
	uint32_t numbers[SCENARIO_NODE_MAX];
	size_t count = 0;
	bool numbered = true;

	for (size_t i = 0; i < e->session_count; i++) {
		size_t n = 0;

		while (n < count && !span_eq(names[n], e->sessions[i].node))
			n++;
		if (n < count)
			continue;
		if (count == SCENARIO_NODE_MAX)
			return err_set(m->err, ERR_UNSUPPORTED, "sessions on more than %d nodes",
				SCENARIO_NODE_MAX);
		names[count] = e->sessions[i].node;
		numbers[count] = node_number(names[count]);
		numbered = numbered && numbers[count];
		count++;
	}
	for (size_t i = 0; i < m->out->session_count && count > 1; i++) {
		uint32_t index = execution_session(e, m->out->sessions[i].name);

		for (size_t n = 0; n < count && index != EXECUTION_NONE; n++)
			if (span_eq(names[n], e->sessions[index].node))
				m->out->sessions[i].node = numbered ? numbers[n] : (uint32_t)n + 1;
	}
	return true;
}

bool execution_to_scenario(const struct execution *e,
	const struct execution_scenario_options *options, struct scenario *out, uint64_t *skipped,
	struct err *err)
{
	struct maker m = {.e = e, .options = options, .out = out, .skipped = skipped, .err = err};
	bool ok;

	scenario_init(out);
	*skipped = 0;
	ok = e->scenario.ptr ? setup_from_note(&m) : setup_from_tables(&m);
	for (size_t i = 0; i < e->stmt_count && ok; i++)
		ok = add_statement(&m, &e->stmts[i]);
	if (ok && !out->schedule.count)
		ok = err_set(err, ERR_UNSUPPORTED, "the trace has no statement");
	ok = ok && set_nodes(&m);
	if (ok)
		set_levels(&m);
	else
		scenario_release(out);
	buf_release(&m.text);
	return ok;
}
