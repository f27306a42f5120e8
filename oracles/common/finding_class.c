/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/finding_class.h"

#include "base/attr.h"

static const char *const names[FINDING_CLASS_COUNT] = {
#define X(class, name) [class] = name,
	FINDING_CLASSES(X)
#undef X
};

const char *finding_class_name(enum finding_class class)
{
	return names[class];
}

bool finding_class_named(struct span name, enum finding_class *out)
{
	for (int i = 0; i < FINDING_CLASS_COUNT; i++) {
		if (names[i] && span_eq_str(name, names[i])) {
			*out = (enum finding_class)i;
			return true;
		}
	}
	return false;
}

static const enum finding_class cycles[CYCLE_ORDER_COUNT][CYCLE_CLASS_COUNT] = {
	[CYCLE_PLAIN] = {CLASS_G0, CLASS_G1C, CLASS_G_SINGLE, CLASS_G_NONADJACENT, CLASS_G2_ITEM, CLASS_G2},
	[CYCLE_SESSION] = {CLASS_G0_SESSION, CLASS_G1C_SESSION, CLASS_G_SINGLE_SESSION, CLASS_G_NONADJACENT_SESSION,
		CLASS_G2_ITEM_SESSION, CLASS_G2_SESSION},
	[CYCLE_REALTIME] = {CLASS_G0_REALTIME, CLASS_G1C_REALTIME, CLASS_G_SINGLE_REALTIME,
		CLASS_G_NONADJACENT_REALTIME, CLASS_G2_ITEM_REALTIME, CLASS_G2_REALTIME},
};

enum finding_class finding_class_of_cycle(enum cycle_class cycle, enum cycle_order order)
{
	return cycles[order][cycle];
}

enum finding_class finding_class_base(enum finding_class class, enum cycle_order *order)
{
	*order = CYCLE_PLAIN;
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int c = 0; c < CYCLE_CLASS_COUNT; c++) {
			if (cycles[o][c] == class) {
				*order = (enum cycle_order)o;
				return cycles[CYCLE_PLAIN][c];
			}
		}
	}
	return class;
}

const char *finding_variant_name(enum finding_variant variant)
{
	switch (variant) {
	case VARIANT_NONE:
		break;
	case VARIANT_LOST_UPDATE:
		return "lost update (P4)";
	}
	return NULL;
}

const char *finding_oracle_name(enum finding_oracle oracle)
{
	static const char *const oracles[] = {
		[FOUND_BY_NONE] = "",
		[FOUND_BY_ADYA] = "adya",
		[FOUND_BY_MVCC] = "mvcc",
		[FOUND_BY_ADYA_AND_MVCC] = "adya+mvcc",
		[FOUND_BY_VALUES] = "values",
		[FOUND_BY_APPLICATION] = "application",
		[FOUND_BY_SYNC] = "sync",
	};

	return oracles[oracle];
}
