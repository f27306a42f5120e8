/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes of findings are codes; their names are only for people and files. */
#include "common/finding_class.h"
#include "common/verdict.h"
#include "unit.h"

#include <stdio.h>

START_TEST(every_name_leads_back_to_its_class)
{
	for (int i = 0; i < CLASS_LEVEL; i++) {
		enum finding_class class = FINDING_CLASS_COUNT;

		ck_assert_ptr_nonnull(finding_class_name((enum finding_class)i));
		ck_assert(finding_class_named(span_str(finding_class_name((enum finding_class)i)), &class));
		ck_assert_int_eq(class, i);
	}
	ck_assert_ptr_null(finding_class_name(CLASS_LEVEL));
}
END_TEST

START_TEST(no_other_name_is_a_class)
{
	enum finding_class class;

	ck_assert(!finding_class_named(SPAN_LIT(""), &class));
	ck_assert(!finding_class_named(SPAN_LIT("G"), &class));
	ck_assert(!finding_class_named(SPAN_LIT("G2-items"), &class));
	ck_assert(!finding_class_named(SPAN_LIT("be-RC"), &class));
}
END_TEST

START_TEST(cycles_and_their_orders)
{
	static const char *const suffixes[CYCLE_ORDER_COUNT] = {"", "-session", "-realtime"};
	char name[64];

	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int c = 0; c < CYCLE_CLASS_COUNT; c++) {
			enum finding_class class = finding_class_of_cycle((enum cycle_class)c, (enum cycle_order)o);
			enum cycle_order order;

			snprintf(name, sizeof(name), "%s%s", cycle_class_name((enum cycle_class)c), suffixes[o]);
			ck_assert_str_eq(finding_class_name(class), name);
			ck_assert_int_eq(finding_class_base(class, &order),
				finding_class_of_cycle((enum cycle_class)c, CYCLE_PLAIN));
			ck_assert_int_eq(order, o);
		}
	}
}
END_TEST

START_TEST(a_variant_and_a_caveat_come_behind_the_explanation)
{
	struct verdict v;
	struct finding *f;

	verdict_init(&v);
	f = verdict_add(&v, FOUND_BY_ADYA, CLASS_G_SINGLE);
	f->explanation = SPAN_LIT("Because.");
	finding_complete(&v, f);
	ck_assert(span_eq_str(f->explanation, "Because."));
	f->variant = VARIANT_LOST_UPDATE;
	f->caveat = SPAN_LIT("This is not proven.");
	finding_complete(&v, f);
	ck_assert(span_eq_str(f->explanation, "Because. This is a lost update (P4). This is not proven."));
	verdict_release(&v);
}
END_TEST

UNIT_MAIN("finding_class", every_name_leads_back_to_its_class, no_other_name_is_a_class, cycles_and_their_orders,
	a_variant_and_a_caveat_come_behind_the_explanation)
