/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorded answers that are altered, each as a server would answer that breaks one rule.
 */
#ifndef TESTS_ALTER_H
#define TESTS_ALTER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/execution/execution.h"

#define ALTERATIONS(X)                                                                             \
	X(ALTER_DROP_ROW, "row dropped")                                                           \
	X(ALTER_DOUBLE_ROW, "row doubled")                                                         \
	X(ALTER_CHANGE_VALUE, "value changed")                                                     \
	X(ALTER_STALE_RESULT, "stale result")                                                      \
	X(ALTER_SWAP_ORDER, "order swapped")                                                       \
	X(ALTER_COUNT_OFF, "count off")                                                            \
	X(ALTER_NO_BLOCK, "block missing")                                                         \
	X(ALTER_LOST_DUPLICATE, "error lost")                                                      \
	X(ALTER_FALSE_DUPLICATE, "error made up")                                                  \
	X(ALTER_FINAL_DROP, "final row dropped")                                                   \
	/* By rule (mvcc_tool rules). */                                                           \
	X(ALTER_EXTRA_ROW, "row of another moment added")                                          \
	X(ALTER_NEWER_RESULT, "result of a later moment")                                          \
	X(ALTER_OWN_WRITE, "own write not seen")                                                   \
	X(ALTER_COUNT_LESS, "count one less")                                                      \
	X(ALTER_MATCHED, "matched rows one more")                                                  \
	X(ALTER_NUMBER, "AUTO_INCREMENT number one more")                                          \
	X(ALTER_FINAL_CHANGE, "final value changed")                                               \
	X(ALTER_FINAL_EXTRA, "final row added")                                                    \
	X(ALTER_LOST_CONSTRAINT, "error of a constraint or value lost")                            \
	X(ALTER_FALSE_CONSTRAINT, "error 1452 made up")                                            \
	X(ALTER_FALSE_NULL, "error 1048 made up")                                                  \
	X(ALTER_LOST_1020, "error 1020 lost")                                                      \
	X(ALTER_FALSE_1020, "error 1020 made up")                                                  \
	X(ALTER_LOST_1213, "error 1213 lost")                                                      \
	X(ALTER_FALSE_1213, "error 1213 made up")                                                  \
	X(ALTER_LOST_1205, "error 1205 lost")                                                      \
	X(ALTER_FALSE_1205, "error 1205 made up")                                                  \
	X(ALTER_LOST_READ_ONLY, "error 1792 lost")                                                 \
	X(ALTER_ANY_BLOCK, "answered without waiting")                                             \
	X(ALTER_ROLLBACK_KEPT, "rolled back, told as committed")                                   \
	X(ALTER_COMMIT_LOST, "committed, told as rolled back")                                     \
	X(ALTER_NO_AUTOCOMMIT, "statement left open")

enum alteration {
#define X(kind, name) kind,
	ALTERATIONS(X)
#undef X
	ALTERATION_COUNT,
	ALTERED_AT_RANDOM = ALTER_EXTRA_ROW /* those before it: mvcc_tool mutate */
};

extern const char *const alteration_names[];

bool has_word(struct span text, const char *word);
/* In any order. */
bool same_rows(const struct execution_rows *a, const struct execution_rows *b);
/* False: it does not apply to that statement. */
bool alter(struct execution *e, size_t index, enum alteration kind, uint64_t random);

#endif
