/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two oracles, the same transactions: one finding. */
#include "common/merge_findings.h"
#include "unit.h"

static struct finding *add(struct verdict *v, enum finding_oracle oracle, enum finding_class class,
	enum severity severity, const char *a, const char *b)
{
	struct finding *f = verdict_add(v, oracle, class);

	f->severity = severity;
	f->transactions = arena_alloc(&v->arena, 2 * sizeof(*f->transactions));
	f->transactions[f->transaction_count++] = span_str(a);
	if (b)
		f->transactions[f->transaction_count++] = span_str(b);
	f->explanation = SPAN_LIT("because.");
	finding_seal(f);
	return f;
}

START_TEST(the_same_transactions_become_one_finding)
{
	struct verdict v;

	verdict_init(&v);
	add(&v, FOUND_BY_MVCC, CLASS_CURRENT_WRITE, SEVERITY_DOCUMENTED, "T2", "T1");
	add(&v, FOUND_BY_ADYA, CLASS_G_SINGLE, SEVERITY_DOCUMENTED, "T1", "T2");
	add(&v, FOUND_BY_MVCC, CLASS_WRONG_RESULT, SEVERITY_VIOLATION, "T1", "T2");
	add(&v, FOUND_BY_MVCC, CLASS_WRONG_RESULT, SEVERITY_VIOLATION, "T1", NULL);
	add(&v, FOUND_BY_MVCC, CLASS_NEEDLESS_BLOCK, SEVERITY_SUSPICION, "T1", "T2");
	verdict_join(&v);
	ck_assert_uint_eq(v.finding_count, 3);
	ck_assert_str_eq(finding_name(&v.findings[0]), "G-single");
	ck_assert_str_eq(finding_oracle_name(v.findings[0].oracle), "adya+mvcc");
	ck_assert_int_eq(v.findings[0].severity, SEVERITY_VIOLATION);
	ck_assert(span_eq_str(v.findings[0].remark,
		"mvcc: current-write: because. mvcc: wrong-result: because."));
	ck_assert_uint_eq(v.findings[1].transaction_count, 1);
	ck_assert_str_eq(finding_name(&v.findings[2]), "needless-block");
	verdict_release(&v);
}
END_TEST

START_TEST(one_oracle_alone_stays_as_it_is)
{
	struct verdict v;

	verdict_init(&v);
	add(&v, FOUND_BY_MVCC, CLASS_WRONG_RESULT, SEVERITY_VIOLATION, "T1", "T2");
	add(&v, FOUND_BY_MVCC, CLASS_SPLIT_STATEMENT, SEVERITY_DOCUMENTED, "T1", "T2");
	verdict_join(&v);
	ck_assert_uint_eq(v.finding_count, 2);
	ck_assert_ptr_null(v.findings[0].remark.ptr);
	verdict_release(&v);
}
END_TEST

UNIT_MAIN("merge_findings", the_same_transactions_become_one_finding, one_oracle_alone_stays_as_it_is)
