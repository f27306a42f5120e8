/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/history.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"
#include "model/history/build.h"
#include "model/history/load.h"

struct span history_bytes(const struct history *history, uint32_t reference)
{
	uint64_t at = (uint64_t)reference * HISTORY_POOL_UNIT;
	const char *p = history->pool + at;
	uint32_t len;

	if (reference == 0)
		return SPAN_NONE;
	CHECK(at < history->pool_size);
	len = (unsigned char)*p;
	if (LIKELY(len < UINT8_MAX))
		return span_of(p + 1, len);
	memcpy(&len, p + 1, sizeof(len));
	return span_of(p + 1 + sizeof(len), len);
}

bool history_server(const struct history *history, struct record_server *out)
{
	struct mp mp = mp_over(history->server_ref);
	uint32_t kind, left;

	return history->server_ref.ptr && record_begin(&mp, &kind, &left) &&
	       kind == RECORD_SERVER && record_server_read(&mp, left, out);
}

bool history_is_on(const struct history *history, const char *name)
{
	struct value value;

	return history_variable(history, name, &value) &&
	       (span_ieq_str(value.bytes, "ON") || span_eq_str(value.bytes, "1") ||
		       (value.type == VALUE_UINT && value.u == 1));
}

bool history_variable(const struct history *history, const char *name, struct value *out)
{
	struct record_server server;
	struct mp mp;
	uint32_t count;

	if (!history_server(history, &server))
		return false;
	mp = mp_over(server.variables);
	count = mp_map(&mp);
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct value key;

		if (!value_read(&mp, &key) || !value_read(&mp, out))
			return false;
		if (span_eq_str(key.bytes, name))
			return true;
	}
	return false;
}

void history_release(struct history *history)
{
	history_source_free(history->source);
	mem_free(history->sessions);
	mem_free(history->tables);
	mem_free(history->txns);
	mem_free(history->stmts);
	mem_free(history->ops);
	mem_free(history->objects);
	mem_free(history->versions);
	mem_free(history->predicates);
	mem_free(history->predicate_versions);
	mem_free(history->order);
	mem_free(history->undos);
	mem_free(history->unseen);
	mem_free(history->pool);
	strtab_release(&history->strings);
	memset(history, 0, sizeof(*history));
}

const char *history_order_problem_name(uint8_t problem)
{
	static const char *const names[] = {
		"ok", "unknown", "fork", "broken", "cycle", "undecided"};

	return problem < ARRAY_LEN(names) ? names[problem] : "?";
}

/* ---- the invariants, by their numbers in history.h ---- */

static bool id_ok(uint32_t id, uint32_t count)
{
	return id < count || id == HISTORY_NONE;
}

static bool reference_ok(const struct history *history, uint32_t reference)
{
	return (uint64_t)reference * HISTORY_POOL_UNIT < history->pool_size;
}

static void check_op(const struct history *history, uint32_t t, const struct history_op *op)
{
	CHECK(op->txn == t);
	CHECK(id_ok(op->stmt, history->stmt_count));
	if (op->kind == HISTORY_PREDICATE) {
		const struct history_predicate *p = &history->predicates[op->predicate];

		CHECK(op->predicate < history->predicate_count);
		CHECK(op->object == HISTORY_NONE && p->txn == t && p->stmt == op->stmt);
		return;
	}
	CHECK(op->object < history->object_count);
	if (op->flags & HISTORY_OP_ABSENT) {
		CHECK(op->kind == HISTORY_READ && id_ok(op->version, history->version_count));
		return;
	}
	CHECK(op->version < history->version_count);
	if (op->kind == HISTORY_WRITE) {
		const struct history_version *v = &history->versions[op->version];

		/* 9 */
		CHECK(v->txn == t && v->stmt == op->stmt && v->object == op->object);
		CHECK(!(v->flags & HISTORY_VERSION_UNDONE) == !(op->flags & HISTORY_OP_UNDONE));
	} else {
		CHECK(op->kind == HISTORY_READ);
		CHECK_SLOW(history->versions[op->version].object == op->object);
	}
}

void history_check_stmt(const struct history *history, uint32_t i)
{
	CHECK(history->stmts[i].session < history->session_count);
	CHECK(id_ok(history->stmts[i].txn, history->txn_count));
}

void history_check_txn(const struct history *history, uint32_t t)
{
	const struct history_txn *txn = &history->txns[t];
	uint64_t last = 0;

	/* 2 */
	CHECK(txn->first_op <= history->op_count &&
		txn->op_count <= history->op_count - txn->first_op);
	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		const struct history_op *op = &history->ops[i];
		uint64_t place = op->kind == HISTORY_WRITE;

		check_op(history, t, op);
		if (op->stmt != HISTORY_NONE) {
			place |= (uint64_t)history->stmts[op->stmt].number << 1;
			CHECK(history->stmts[op->stmt].session == txn->session);
		}
		CHECK(place >= last);
		last = place;
	}
}

static void check_txns(const struct history *history)
{
	uint32_t ops = 0;

	for (uint32_t t = 0; t < history->txn_count; t++) {
		const struct history_txn *txn = &history->txns[t];

		CHECK(txn->session < history->session_count);
		CHECK(txn->outcome <= TXN_ABORTED && txn->level <= LEVEL_SERIALIZABLE);
		CHECK(txn->gtid < history->strings.count);
		/* 3 */
		CHECK(t == 0 || history->txns[t - 1].begin_seq <= txn->begin_seq);
		CHECK(id_ok(txn->next_in_session, history->txn_count));
		CHECK(txn->next_in_session > t);
		CHECK(txn->next_in_session == HISTORY_NONE ||
			history->txns[txn->next_in_session].session == txn->session);
		CHECK(!(txn->flags & HISTORY_TXN_NO_END) || txn->outcome == TXN_UNKNOWN);
		CHECK(txn->first_op == ops);
		ops += txn->op_count;
	}
	CHECK(ops == history->op_count);
}

static void check_version(const struct history *history, uint32_t o, uint32_t id, uint32_t k)
{
	const struct history_object *object = &history->objects[o];
	const struct history_version *v = &history->versions[id];
	uint16_t nobodys =
		HISTORY_VERSION_UNBORN | HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNWRITTEN;

	CHECK(v->object == o);
	CHECK(id_ok(v->txn, history->txn_count) && id_ok(v->stmt, history->stmt_count));
	CHECK(id_ok(v->previous, history->version_count));
	CHECK(reference_ok(history, v->image));
	CHECK(!v->name_is_bytes ||
		(v->name <= UINT32_MAX && reference_ok(history, (uint32_t)v->name)));
	/* 4: the unborn version is first, and no other is unborn. */
	CHECK(!(v->flags & HISTORY_VERSION_UNBORN) == (k != 0));
	/* 5 */
	CHECK(v->position == (k < object->installed_count ? k : HISTORY_NONE));
	CHECK(k >= object->installed_count || (v->flags & HISTORY_VERSION_INSTALLED));
	CHECK(!object->order_known || k < object->installed_count ||
		!(v->flags & HISTORY_VERSION_INSTALLED));
	/* 6 */
	CHECK(v->previous == HISTORY_NONE || k != 0);
	CHECK_SLOW(v->previous == HISTORY_NONE || history->versions[v->previous].object == o);
	/* 9 */
	CHECK(v->txn != HISTORY_NONE || (v->flags & nobodys));
	CHECK(v->txn == HISTORY_NONE || !(v->flags & HISTORY_VERSION_UNWRITTEN));
}

void history_check_object(const struct history *history, uint32_t o)
{
	const struct history_object *object = &history->objects[o];
	const uint32_t *order = history->order + object->first_order;

	CHECK(object->table < history->table_count);
	CHECK(object->key && reference_ok(history, object->key));
	CHECK(object->first_order <= history->order_count &&
		object->order_count <= history->order_count - object->first_order);
	CHECK(object->installed_count >= 1 && object->installed_count <= object->order_count);
	CHECK(object->order_known == (object->order_problem == HISTORY_ORDER_OK));
	CHECK(object->order_known == (object->problem_version == HISTORY_NONE));
	CHECK(id_ok(object->problem_version, history->version_count));
	for (uint32_t k = 0; k < object->order_count; k++) {
		CHECK(order[k] < history->version_count);
		CHECK(k <= object->installed_count || order[k] > order[k - 1]);
		check_version(history, o, order[k], k);
	}
}

static void check_orders(const struct history *history)
{
	uint32_t total = 0;

	CHECK(history->order_count == history->version_count);
	for (uint32_t o = 0; o < history->object_count; o++) {
		CHECK(history->objects[o].first_order == total);
		total += history->objects[o].order_count;
	}
	/* Each version has one object, and is in its list: with the counts equal, once. */
	CHECK(total == history->order_count);
}

static void check_predicates(const struct history *history)
{
	uint64_t count = history->predicate_version_count;

	for (uint32_t i = 0; i < history->predicate_count; i++) {
		const struct history_predicate *p = &history->predicates[i];

		CHECK(id_ok(p->txn, history->txn_count) && id_ok(p->stmt, history->stmt_count));
		CHECK(p->table < history->table_count && reference_ok(history, p->text));
		CHECK((uint64_t)p->first_match + p->match_count <= count);
		CHECK((uint64_t)p->first_set + p->set_count <= count);
	}
	for (uint64_t i = 0; i < count; i++)
		CHECK(history->predicate_versions[i] < history->version_count);
}

static void check_undos(const struct history *history)
{
	for (uint32_t i = 0; i < history->undo_count; i++) {
		const struct history_undo *undo = &history->undos[i];

		CHECK(undo->txn < history->txn_count && undo->from < undo->to);
		CHECK(i == 0 || undo[-1].txn < undo->txn ||
			(undo[-1].txn == undo->txn && undo[-1].from <= undo->from));
	}
}

void history_check_rest(const struct history *history)
{
	for (uint32_t i = 0; i < history->session_count; i++) {
		const struct history_session *s = &history->sessions[i];

		CHECK(s->node < history->strings.count && s->user < history->strings.count);
		CHECK(id_ok(s->first_txn, history->txn_count));
	}
	for (uint32_t i = 0; i < history->table_count; i++)
		CHECK(history->tables[i].database < history->strings.count &&
			history->tables[i].name < history->strings.count);
	check_txns(history);
	check_orders(history);
	check_predicates(history);
	check_undos(history);
}

void history_check(const struct history *history)
{
	history_check_rest(history);
	for (uint32_t i = 0; i < history->stmt_count; i++)
		history_check_stmt(history, i);
	for (uint32_t t = 0; t < history->txn_count; t++)
		history_check_txn(history, t);
	for (uint32_t o = 0; o < history->object_count; o++)
		history_check_object(history, o);
}

static uint32_t number_of(const struct history *history, uint32_t stmt)
{
	return stmt == HISTORY_NONE ? 0 : history->stmts[stmt].number;
}

static uint32_t first_undo(const struct history *history, uint32_t txn)
{
	return FIRST_WHERE(i, 0, history->undo_count, history->undos[i].txn >= txn);
}

bool history_is_taken_back(const struct history *history, const struct history_op *write, uint32_t stmt)
{
	uint32_t written = number_of(history, write->stmt), number = number_of(history, stmt);

	if (write->stmt != HISTORY_NONE && history->stmts[write->stmt].error)
		return true; /* with the end of its statement */
	for (uint32_t i = first_undo(history, write->txn);
		i < history->undo_count && history->undos[i].txn == write->txn; i++) {
		const struct history_undo *undo = &history->undos[i];

		if (undo->from < written && written < undo->to && undo->to < number)
			return true;
	}
	return false;
}
