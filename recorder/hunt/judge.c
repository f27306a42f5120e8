/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hunt/judge.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "common/contract.h"
#include "common/known/signature.h"
#include "common/known/violations.h"
#include "common/merge_findings.h"
#include "mvcc/mvcc.h"
#include "server/errors.h"

const char *const hunt_operation_words[] = {
#define X(name, word) word,
	HUNT_OPERATIONS(X)
#undef X
		NULL};

const char *hunt_kind_name(enum hunt_kind kind)
{
	switch (kind) {
	case HUNT_DOCUMENTED:
		return "documented";
	case HUNT_KNOWN:
		return "known";
	case HUNT_COMPAT:
		return "compat";
	case HUNT_SUSPICION:
		return "suspicion";
	case HUNT_NEW:
		return "new";
	}
	return "?";
}

/* ---- figures ---- */

/* Errors that a conflict with another transaction, or a constraint, explains. */
static bool is_conflict(uint32_t error)
{
	static const uint16_t numbers[] = {
		ER_CHECKREAD, ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK, ER_XA_RBROLLBACK, ER_XA_RBTIMEOUT, ER_XA_RBDEADLOCK,
		ER_DUP_ENTRY, ER_ROW_IS_REFERENCED_2, ER_NO_REFERENCED_ROW_2, ER_NO_REFERENCED_ROW, ER_ROW_IS_REFERENCED,
		ER_LOCK_NOWAIT, ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO, ER_FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO,
		ER_TABLE_DEF_CHANGED, ER_CHECK_CONSTRAINT_VIOLATED, ER_CONSTRAINT_FAILED, ER_ERROR_DURING_COMMIT,
		ER_DUP_ENTRY_WITH_KEY_NAME};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i] == error)
			return true;
	return false;
}

/* Errors of statements that make no sense where they stand, as a savepoint that a deadlock took away, or a column that
 * another session dropped.  What is neither is a finding. */
static bool is_misplaced(uint32_t error)
{
	static const uint16_t numbers[] = {
		ER_NO_DB_ERROR, ER_BAD_NULL_ERROR, ER_TABLE_EXISTS_ERROR, ER_BAD_TABLE_ERROR, ER_BAD_FIELD_ERROR,
		ER_DUP_FIELDNAME, ER_DUP_KEYNAME, ER_MULTIPLE_PRI_KEY, ER_TOO_LONG_KEY, ER_KEY_COLUMN_DOES_NOT_EXIST,
		ER_WRONG_AUTO_KEY, ER_CANT_DROP_FIELD_OR_KEY, ER_UPDATE_TABLE_USED, ER_BLOB_CANT_HAVE_DEFAULT,
		ER_WRONG_VALUE_COUNT_ON_ROW, ER_INVALID_USE_OF_NULL, ER_NO_SUCH_TABLE, ER_BLOB_KEY_WITHOUT_LENGTH,
		ER_LOCK_OR_ACTIVE_TRANSACTION, ER_SUBQUERY_NO_1_ROW, ER_WARN_DATA_OUT_OF_RANGE, WARN_DATA_TRUNCATED,
		ER_TRUNCATED_WRONG_VALUE, ER_SP_DOES_NOT_EXIST, ER_NO_DEFAULT_FOR_FIELD, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
		ER_VIEW_NONUPD_CHECK, ER_XAER_NOTA, ER_XAER_INVAL, ER_XAER_RMFAIL, ER_XAER_OUTSIDE, ER_XAER_RMERR,
		ER_DATA_TOO_LONG, ER_XAER_DUPID, ER_AUTOINC_READ_FAILED, ER_UNIQUE_KEY_NEED_ALL_FIELDS_IN_PF,
		ER_NO_PARTITION_FOR_GIVEN_VALUE, ER_DROP_INDEX_FK, ER_CANT_CHANGE_TX_CHARACTERISTICS,
		ER_DUP_ENTRY_AUTOINCREMENT_CASE, ER_DATA_OUT_OF_RANGE, ER_TRUNCATE_ILLEGAL_FK, ER_UNKNOWN_PARTITION,
		ER_ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_DUP_CONSTRAINT_NAME,
		ER_FK_COLUMN_CANNOT_DROP, ER_FK_COLUMN_CANNOT_DROP_CHILD, ER_DUP_INDEX, ER_FK_COLUMN_CANNOT_CHANGE,
		ER_FK_COLUMN_CANNOT_CHANGE_CHILD, ER_FK_CANNOT_DELETE_PARENT, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON,
		ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_AUTOINC, ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN,
		ER_DEPENDENT_BY_GENERATED_COLUMN, ER_FK_CANNOT_DROP_PARENT, ER_FK_INCOMPATIBLE_COLUMNS,
		ER_DEPENDENT_BY_CHECK_CONSTRAINT, ER_ERROR_ON_RENAME, ER_CANT_CREATE_TABLE, ER_TOO_LONG_IDENT,
		ER_INVALID_DEFAULT, ER_TOO_BIG_ROWSIZE, ER_ALTER_OPERATION_NOT_SUPPORTED, ER_MULTI_UPDATE_KEY_CONFLICT};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i] == error)
			return true;
	return false;
}

static int operation_of(struct span sql)
{
	if (span_istarts(sql, "select ") || span_istarts(sql, "with "))
		return span_ihas(sql, " for update") || span_ihas(sql, " for share") || span_ihas(sql, "lock in share mode")
			       ? OPERATION_LOCK
			       : OPERATION_SELECT;
	if (span_istarts(sql, "update "))
		return OPERATION_UPDATE;
	if (span_istarts(sql, "delete "))
		return OPERATION_DELETE;
	return span_istarts(sql, "insert ") || span_istarts(sql, "replace ") ? OPERATION_INSERT : -1;
}

static bool is_final(const struct execution *e, const struct execution_stmt *s)
{
	return span_eq_str(e->sessions[s->session].name, "final");
}

/* Those of the schedule that read or wrote. */
static uint64_t count_transactions(const struct execution *e)
{
	struct map seen = MAP_INIT;
	uint64_t count;

	for (size_t i = 0; i < e->stmt_count; i++) {
		const struct execution_stmt *s = &e->stmts[i];

		if (s->record.txn && operation_of(s->sql) >= 0 && !is_final(e, s))
			map_put(&seen, s->record.txn, 1);
	}
	count = seen.count;
	map_release(&seen);
	return count;
}

static void count_statement(const struct execution_stmt *s, struct hunt_judged *out)
{
	int operation = operation_of(s->sql);
	char signature[80];

	out->figures.statements++;
	out->figures.blocked += execution_blocked(s);
	out->figures.errors += s->record.error != 0;
	if (operation >= 0) {
		out->figures.operations[operation]++;
		out->figures.touched[operation] += record_stmt_touched(&s->record);
	}
	if (!s->record.error || is_conflict(s->record.error))
		return;
	if (is_misplaced(s->record.error)) {
		out->figures.misplaced++;
		return;
	}
	snprintf(signature, sizeof(signature), "unexpected-error %u %s", s->record.error,
		operation < 0 ? "other" : hunt_operation_words[operation]);
	hunt_add_finding(out, HUNT_NEW, signature)->report = span_str(arena_printf(&out->arena,
		"%.*s\n  answered error %u: %.*s\nNeither a conflict nor a mistake of the generator explains this error.\n",
		SPAN_ARG(s->sql), s->record.error, SPAN_ARG(s->record.error_text)));
}

/* ---- findings ---- */

struct hunt_finding *hunt_add_finding(struct hunt_judged *judged, enum hunt_kind kind, const char *signature)
{
	struct hunt_finding *f;

	for (size_t i = 0; i < judged->finding_count; i++) {
		f = &judged->findings[i];
		if (strcmp(f->signature, signature) == 0) {
			f->count++;
			return f;
		}
	}
	f = &judged->findings[judged->finding_count < HUNT_FINDINGS_MAX ? judged->finding_count++ : HUNT_FINDINGS_MAX - 1];
	*f = (struct hunt_finding){.kind = kind, .count = 1};
	snprintf(f->signature, sizeof(f->signature), "%s", signature);
	return f;
}

static enum hunt_kind kind_of(const struct finding *f)
{
	if (f->known_count)
		return HUNT_KNOWN;
	if (f->severity == SEVERITY_DOCUMENTED)
		return HUNT_DOCUMENTED;
	return f->severity == SEVERITY_VIOLATION ? HUNT_NEW : f->severity == SEVERITY_COMPAT ? HUNT_COMPAT : HUNT_SUSPICION;
}

/* Class, severity, level, rule, what the statement and the row were like, and the reports that it fits. */
static void print_signature(const struct finding *f, struct buf *out)
{
	buf_printf(out, "%s %s %s", finding_name(f), severity_name(f->severity),
		f->level ? txn_level_short((uint8_t)scenario_level_word(span_str(f->level))) : "-");
	if (f->rule)
		buf_printf(out, " rule:%s", f->rule);
	for (unsigned t = 0; t < FINDING_TRAIT_COUNT; t++) {
		static const char *const words[] = {
#define X(name, word) word,
			FINDING_TRAITS(X)
#undef X
		};

		if (f->traits & 1u << t)
			buf_printf(out, " %s", words[t]);
	}
	for (uint32_t i = 0; i < f->known_count; i++)
		buf_printf(out, "%s%s", i ? "," : " known:", f->known[i].id);
}

static void print_rows(const char *what, const struct answer_row *rows, uint32_t count, uint64_t total, struct buf *out)
{
	buf_printf(out, "  %s:", what);
	for (uint32_t i = 0; i < count; i++)
		buf_printf(out, " %.*s%s", SPAN_ARG(rows[i].text), rows[i].odd ? " (!)" : "");
	buf_printf(out, "%s\n", total > count ? " ..." : total ? "" : " nothing");
}

static struct span report_of(struct arena *arena, const struct finding *f)
{
	struct buf out = BUF_INIT;
	struct span copy;

	buf_printf(&out, "%s, %s%s%s\n%.*s\n", finding_name(f), severity_name(f->severity), f->level ? ", at " : "",
		f->level ? f->level : "", SPAN_ARG(f->explanation));
	for (uint32_t i = 0; i < f->step_count; i++)
		buf_printf(&out, "  %.*s: %.*s\n", SPAN_ARG(f->steps[i].transaction), SPAN_ARG(f->steps[i].what));
	if (f->answer) {
		print_rows("answered", f->answer->got, f->answer->got_count, f->answer->got_total, &out);
		print_rows("expected", f->answer->expected, f->answer->expected_count, f->answer->expected_total, &out);
	}
	for (uint32_t i = 0; i < f->known_count; i++)
		buf_printf(&out, "  %s: %.*s %.*s\n", f->known[i].id, SPAN_ARG(f->known[i].title), SPAN_ARG(f->known[i].link));
	copy = arena_copy(arena, buf_span(&out));
	buf_release(&out);
	return copy;
}

static void take_findings(const struct verdict *verdict, struct hunt_judged *out)
{
	struct buf signature = BUF_INIT;

	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];
		struct hunt_finding *added;

		buf_clear(&signature);
		print_signature(f, &signature);
		added = hunt_add_finding(out, kind_of(f), signature.data);
		if (!added->report.ptr)
			added->report = report_of(&out->arena, f);
	}
	buf_release(&signature);
}

static void take_figures(const struct verdict *verdict, struct hunt_judged *out)
{
	uint64_t most = 0;

	out->figures.decided = verdict->decided;
	out->figures.undecided = verdict->undecided;
	out->figures.unsupported = verdict->unsupported;
	for (size_t i = 0; i < verdict->reason_count; i++) {
		if (verdict->reasons[i].count <= most)
			continue;
		most = verdict->reasons[i].count;
		snprintf(out->reason, sizeof(out->reason), "%s", verdict->reasons[i].name);
	}
	out->side = verdict_count(verdict, SEVERITY_VIOLATION) ? DIFF_SIDE_BROKEN
		    : verdict->undecided || verdict->unsupported || verdict_count(verdict, SEVERITY_SUSPICION)
			    ? DIFF_SIDE_UNDECIDED
			    : DIFF_SIDE_KEPT;
}

bool hunt_judge(const struct execution *e, struct hunt_judged *out, struct err *err)
{
	struct buf label = BUF_INIT;
	struct contract contract;
	struct schedule schedule;
	struct verdict verdict;

	*out = (struct hunt_judged){.arena = ARENA_INIT, .contract = known_contract(e)};
	execution_label(e, &label);
	snprintf(out->label, sizeof(out->label), "%s", label.data ? label.data : "?");
	buf_release(&label);
	if (!contract_builtin(&contract, out->contract, err))
		return false;
	verdict_init(&verdict);
	schedule_init(&schedule, e);
	mvcc_check(&schedule, &(struct mvcc_options){.contract = &contract, .all_sessions = true}, &verdict);
	known_attach(&verdict, e);
	schedule_release(&schedule);
	verdict_join(&verdict);
	verdict_sort(&verdict);
	take_findings(&verdict, out);
	take_figures(&verdict, out);
	out->figures.transactions = count_transactions(e);
	for (size_t i = 0; i < e->stmt_count; i++)
		if (!is_final(e, &e->stmts[i]))
			count_statement(&e->stmts[i], out);
	verdict_release(&verdict);
	return true;
}

void hunt_judged_release(struct hunt_judged *judged)
{
	arena_release(&judged->arena);
}

bool hunt_compare(const struct execution *a, const struct hunt_judged *of_a, const struct execution *b,
	struct hunt_judged *of_b, struct err *err)
{
	struct diff_side sides[2] = {{.e = a, .contract = of_a->contract, .verdict = of_a->side},
		{.e = b, .contract = of_b->contract, .verdict = of_b->side}};
	char signature[HUNT_SIGNATURE_MAX];
	struct hunt_finding *f;
	struct differential d;

	if (!differential_compare(&d, sides, err))
		return false;
	/* What one side broke its contract with is a finding of its own. */
	if (d.item_count && d.conclusion == DIFF_COMPAT) {
		snprintf(signature, sizeof(signature), "diff %s %s%s%s %s/%s", diff_class_name(d.items[0].class_),
			diff_cause_name(d.cause), d.rule ? " rule:" : "", d.rule ? d.rule : "", of_a->label, of_b->label);
		f = hunt_add_finding(of_b, HUNT_COMPAT, signature);
		f->report = span_str(arena_printf(&of_b->arena, "%s\nBoth servers keep their contracts.\n",
			d.explanation ? d.explanation : "The answers differ."));
	}
	differential_release(&d);
	return true;
}
