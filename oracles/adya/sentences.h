/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and sentences for transactions, objects, versions and dependencies of a history. */
#ifndef ADYA_SENTENCES_H
#define ADYA_SENTENCES_H

#include "adya/dependencies.h"
#include "base/arena.h"
#include "base/buf.h"
#include "common/verdict.h"

/* "T17", by the transaction's number in the trace. */
struct span say_txn(struct arena *arena, const struct history *history, uint32_t txn);
/* "shop.stock(5)" */
struct span say_object(struct arena *arena, const struct history *history, uint32_t object);
/* " (5, 'nails', 40)": a version's row, where it was recorded. */
void say_add_image(struct buf *out, const struct history *history, uint32_t version);
/* "41", "unborn", "dead (deleted by T7)", "initial 0".  A long name, as UUID_SHORT() makes them, is
 * told by its place among the versions of its object: "v3", "v1 (initial)". */
struct span say_version(struct arena *arena, const struct history *history, uint32_t version);
/* ... the name itself, however long. */
struct span say_version_exact(
	struct arena *arena, const struct history *history, uint32_t version);
/* The place of a version among all of its object's; the unborn one has place 0. */
uint32_t say_place(const struct history *history, uint32_t version);
/* "statement 3 of session 2" */
struct span say_stmt(struct arena *arena, const struct history *history, uint32_t stmt);
/* A predicate at the version it saw of a row: "tests [v > 5] on shop.stock(5) at version v3". */
struct span say_looked(struct arena *arena, const struct history *history,
	const struct history_predicate *predicate, uint32_t version);
/* The condition that it tests, fit to be printed. */
struct span say_predicate(
	struct arena *arena, const struct history *history, const struct history_predicate *predicate);
/* One step of a cycle, its sentence included. */
void say_edge(struct finding_edge *out, struct arena *arena, const struct history *history,
	const struct dependencies *dependencies, const struct cycle_step *step);

/* The operation of a transaction that read, or wrote, a version; NULL: none did. */
const struct history_op *find_op(
	const struct history *history, uint32_t txn, enum history_op_kind kind, uint32_t version);

#endif
