/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/known/known_bugs.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/mem.h"
#include "differential/differential.h"

struct judge {
	const struct execution *e;
	struct scenario scratch; /* its arena holds parsed expectations */
	struct span line;        /* of the whole `shows` */
	struct err *err;
};

/* ---- words ---- */

static struct span trim(struct span s)
{
	while (s.len && isspace((unsigned char)s.ptr[0])) {
		s.ptr++;
		s.len--;
	}
	while (s.len && isspace((unsigned char)s.ptr[s.len - 1]))
		s.len--;
	return s;
}

static struct span take_word(struct span *rest)
{
	struct span s = trim(*rest), word = {s.ptr, 0};

	while (word.len < s.len && !isspace((unsigned char)s.ptr[word.len]) &&
		s.ptr[word.len] != '(')
		word.len++;
	*rest = trim(span_of(s.ptr + word.len, s.len - word.len));
	return word;
}

static bool misunderstood(struct judge *j, const char *what)
{
	return err_set(j->err, ERR_FORMAT, "# shows: %.*s: %s", SPAN_ARG(j->line), what);
}

/* The next clause: up to ` and ` outside quotes. */
static struct span take_clause(struct span *rest)
{
	struct span s = *rest;
	char quote = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (quote) {
			if (s.ptr[i] == quote)
				quote = 0;
		} else if (s.ptr[i] == '\'' || s.ptr[i] == '"') {
			quote = s.ptr[i];
		} else if (s.len - i > 5 && span_eq_str(span_of(s.ptr + i, 5), " and ")) {
			*rest = span_of(s.ptr + i + 5, s.len - i - 5);
			return trim(span_of(s.ptr, i));
		}
	}
	*rest = SPAN_LIT("");
	return trim(s);
}

/* ---- places ---- */

/* SESSION.N; *out is NULL when the recording has no such statement. */
static bool find_stmt(struct judge *j, struct span word, const struct execution_stmt **out)
{
	size_t dot = word.len;
	uint32_t number = 0, session;

	while (dot && word.ptr[dot - 1] != '.')
		dot--;
	if (dot < 2 || dot == word.len)
		return misunderstood(j, "a place is SESSION.NUMBER, such as T2.4");
	for (size_t i = dot; i < word.len; i++) {
		if (!isdigit((unsigned char)word.ptr[i]) || number > 1000000)
			return misunderstood(j, "a place is SESSION.NUMBER, such as T2.4");
		number = number * 10 + (uint32_t)(word.ptr[i] - '0');
	}
	session = execution_session(j->e, span_of(word.ptr, dot - 1));
	*out = session == EXECUTION_NONE ? NULL : execution_stmt(j->e, session, number);
	return true;
}

static const struct execution_table *find_table(const struct execution *e, struct span name)
{
	for (size_t i = 0; i < e->table_count; i++)
		if (span_eq(e->tables[i].schema.name, name))
			return &e->tables[i];
	return NULL;
}

/* ---- rows ---- */

struct values {
	struct value *values;
	size_t columns, count;
};

static bool read_rows(const struct execution_rows *rows, struct values *out)
{
	size_t capacity = 0;

	*out = (struct values){0};
	for (size_t i = 0; i < rows->count; i++) {
		struct mp mp = mp_over(rows->rows[i]);
		uint32_t columns = mp_array(&mp);

		if (i && columns != out->columns)
			return false;
		out->columns = columns;
		MEM_RESERVE(out->values, (i + 1) * (columns + 1), capacity);
		for (uint32_t k = 0; k < columns; k++)
			if (!value_read(&mp, &out->values[i * columns + k]))
				return false;
		out->count++;
	}
	return rows->complete;
}

enum row_test { ROWS_ARE, ROWS_INCLUDE, ROWS_LACK };

static bool rows_pass(
	const struct execution_rows *rows, enum row_test test, const struct scenario_expect *expect)
{
	struct values v;
	bool ok = read_rows(rows, &v);

	switch (test) {
	case ROWS_ARE:
		ok = ok && scenario_rows_fit(expect, v.values, v.columns, v.count);
		break;
	case ROWS_INCLUDE:
		ok = ok && scenario_rows_include(expect, v.values, v.columns, v.count);
		break;
	case ROWS_LACK:
		for (size_t i = 0; ok && i < v.count; i++)
			for (uint32_t k = 0; ok && k < expect->row_count; k++)
				ok = !scenario_row_fits(
					&expect->rows[k], &v.values[i * v.columns], v.columns);
		break;
	}
	mem_free(v.values);
	return ok;
}

/* ---- clauses ---- */

static bool parse_expect(struct judge *j, struct span text, struct scenario_expect *out)
{
	struct err local;

	if (scenario_expect_parse(&j->scratch, out, text, &local))
		return true;
	return misunderstood(j, local.text);
}

static bool is_expected(const struct execution_stmt *stmt, const struct scenario_expect *expect)
{
	const struct record_stmt *r = &stmt->record;

	if (expect->blocking != SCENARIO_BLOCKING_ANY &&
		(expect->blocking == SCENARIO_BLOCKED) != execution_blocked(stmt))
		return false;
	if (expect->outcome != SCENARIO_OUTCOME_ANY && (r->flags & STMT_NO_REPLY))
		return false;
	switch (expect->outcome) {
	case SCENARIO_OUTCOME_ANY:
		return true;
	case SCENARIO_OUTCOME_OK:
		return !r->error &&
		       (expect->count == SCENARIO_ANY_COUNT || expect->count == r->affected);
	case SCENARIO_OUTCOME_ERROR:
		return r->error &&
		       (expect->count == SCENARIO_ANY_COUNT || expect->count == r->error);
	case SCENARIO_OUTCOME_ROWS:
		return !r->error && stmt->set_count && rows_pass(&stmt->sets[0], ROWS_ARE, expect);
	}
	return false;
}

static bool test_word(struct span word, enum row_test *out)
{
	if (span_eq_str(word, "is"))
		*out = ROWS_ARE;
	else if (span_eq_str(word, "has"))
		*out = ROWS_INCLUDE;
	else if (span_eq_str(word, "lacks"))
		*out = ROWS_LACK;
	else
		return false;
	return true;
}

static bool final_clause(struct judge *j, struct span rest, bool *holds)
{
	struct span name = take_word(&rest), word = take_word(&rest);
	const struct execution_table *table = find_table(j->e, name);
	struct scenario_expect expect;
	enum row_test test;

	if (!test_word(word, &test))
		return misunderstood(j, "the table must be followed by is, has or lacks");
	if (!parse_expect(j, rest, &expect))
		return false;
	if (expect.outcome != SCENARIO_OUTCOME_ROWS)
		return misunderstood(j, "a table's content is rows, or empty");
	*holds = table && table->has_final && rows_pass(&table->final, test, &expect);
	return true;
}

static bool any_clause(struct judge *j, struct span rest, bool *holds)
{
	struct scenario_expect expect;

	if (!parse_expect(j, rest, &expect))
		return false;
	if (expect.outcome != SCENARIO_OUTCOME_ERROR)
		return misunderstood(j, "any must be followed by error N");
	*holds = false;
	for (size_t i = 0; i < j->e->stmt_count; i++)
		*holds = *holds || is_expected(&j->e->stmts[i], &expect);
	return true;
}

static bool stmt_clause(struct judge *j, struct span place, struct span rest, bool *holds)
{
	const struct execution_stmt *stmt, *other = NULL;
	struct span word = take_word(&rest);
	struct scenario_expect expect;
	bool equals = span_eq_str(word, "equals"), have;
	enum row_test test;

	if (!find_stmt(j, place, &stmt))
		return false;
	if (equals || span_eq_str(word, "differs")) {
		if (!equals && !span_eq_str(take_word(&rest), "from"))
			return misunderstood(j, "it is `differs from`");
		if (!find_stmt(j, rest, &other))
			return false;
		have = stmt && other && stmt->set_count && other->set_count;
		*holds = have && diff_rows_equal(&stmt->sets[0], &other->sets[0]) == equals;
		return true;
	}
	if (!test_word(word, &test))
		return misunderstood(
			j, "the statement must be followed by is, has, lacks, equals or differs from");
	if (!parse_expect(j, rest, &expect))
		return false;
	if (test == ROWS_ARE) {
		*holds = stmt && is_expected(stmt, &expect);
		return true;
	}
	if (expect.outcome != SCENARIO_OUTCOME_ROWS || !expect.row_count)
		return misunderstood(j, "has and lacks must be followed by rows");
	*holds = stmt && !stmt->record.error && stmt->set_count &&
		 rows_pass(&stmt->sets[0], test, &expect);
	return true;
}

static bool line_holds(struct judge *j, bool *holds)
{
	struct span rest = j->line;

	*holds = true;
	do {
		struct span clause = take_clause(&rest), word = take_word(&clause);
		bool one = false;
		bool ok = span_eq_str(word, "final") ? final_clause(j, clause, &one)
			  : span_eq_str(word, "any") ? any_clause(j, clause, &one)
						     : stmt_clause(j, word, clause, &one);

		if (!ok)
			return false;
		*holds = *holds && one;
	} while (rest.len);
	return true;
}

static void collect_errors(const struct execution *e, struct known_answer *out)
{
	for (size_t i = 0; i < e->stmt_count; i++) {
		uint32_t error = e->stmts[i].record.error;
		bool known = !error;

		for (size_t k = 0; k < out->error_count; k++)
			known = known || out->errors[k] == error;
		if (!known && out->error_count < KNOWN_ERRORS_MAX)
			out->errors[out->error_count++] = error;
	}
}

bool known_judge(const struct scenario *scenario, const struct execution *e,
	struct known_answer *out, struct err *err)
{
	struct judge j = {.e = e, .err = err};
	bool ok = true, said = false, shown = false;

	*out = (struct known_answer){0};
	scenario_init(&j.scratch);
	for (size_t i = 0; i < scenario->meta_count && ok; i++) {
		bool holds;

		if (!span_eq_str(scenario->meta[i].key, "shows"))
			continue;
		said = true;
		j.line = scenario->meta[i].value;
		ok = line_holds(&j, &holds);
		shown = ok && (shown || holds);
	}
	scenario_release(&j.scratch);
	if (!ok)
		return false;
	collect_errors(e, out);
	if (!said)
		out->state = KNOWN_UNSAID;
	else if (shown)
		out->state = KNOWN_SHOWN;
	else
		out->state =
			e->complete && !e->server_gone && !e->hang ? KNOWN_ABSENT : KNOWN_UNKNOWN;
	return true;
}

enum txn_level known_level(const struct execution *e)
{
	enum txn_level level = LEVEL_UNKNOWN;

	for (size_t i = 0; i < e->session_count; i++) {
		const struct execution_session *s = &e->sessions[i];

		if (!s->level || (e->scenario.ptr && span_eq_str(s->name, "final")))
			continue;
		if (level && s->level != level)
			return LEVEL_UNKNOWN;
		level = (enum txn_level)s->level;
	}
	return level;
}

bool known_as_expected(const struct known_answer *answer, const struct scenario_verdict *expected)
{
	uint32_t code = 0;

	if (scenario_verdict_shows(expected))
		return answer->state == KNOWN_SHOWN;
	if (answer->state != KNOWN_ABSENT)
		return false;
	if (!span_eq_str(expected->verdict, "error"))
		return true;
	for (size_t i = 0;
		i < expected->detail.len && isdigit((unsigned char)expected->detail.ptr[i]); i++)
		code = code * 10 + (uint32_t)(expected->detail.ptr[i] - '0');
	for (size_t i = 0; i < answer->error_count; i++)
		if (answer->errors[i] == code || !code)
			return true;
	return false;
}

void known_print(const struct known_answer *answer, struct buf *out)
{
	static const char *const names[] = {"nothing to look for", "shown", "absent", "unknown"};

	buf_add_str(out, names[answer->state]);
	for (size_t i = 0; i < answer->error_count; i++)
		buf_printf(out, "%s %u", i ? "," : ", error", answer->errors[i]);
}
