/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened to the nodes: processes that ended by themselves (crash), statements that nothing went on around
 * (hang), nodes that did not come back (no-recovery); and the circumstances that a contract's rules ask for.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "sync/sync_internal.h"

static const uint64_t second = 1000000000u;
enum {
	CRASH_LOG_S = 60,    /* a log's line about a crash belongs to an exit this close */
	OPERATION_AFTER_S = 15, /* a cluster is busy with an operation for as long after it */
	HANGS_MAX = 20,
};

static bool is(struct span s, const char *word)
{
	return span_eq_str(s, word);
}

static bool is_ending(const struct life_event *e)
{
	return is(e->what, "operation") && is(life_data(e->data, "phase"), "end");
}

/* ---- circumstances ---- */

/* A node's process is up from its first sign of life until its exit. */
static bool all_were_down(const struct sync *s)
{
	bool down[LIFE_NODES_MAX] = {false};
	uint32_t ended = 0;

	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];

		if (e->node == LIFE_NONE)
			continue;
		if (is(e->what, "exit") && !down[e->node]) {
			down[e->node] = true;
			ended++;
		} else if (is(e->what, "state") && !span_starts(e->detail, "unreachable") && down[e->node] &&
			   !is(life_data(e->data, "server"), "gone")) {
			down[e->node] = false;
			ended--;
		}
		if (ended && ended == s->life->node_count)
			return true;
	}
	return false;
}

/* The number after the last colon: that of a Galera position UUID:SEQNO. */
static bool seqno_of(struct span position, uint64_t *out)
{
	const char *colon = position.len ? memrchr(position.ptr, ':', position.len) : NULL;
	struct span number = position;

	if (colon)
		number = span_of(colon + 1, position.len - (size_t)(colon + 1 - position.ptr));
	return text_number(number, out);
}

/* Of the positions "n1=... n2=..." one is ahead of the founder's. */
static bool was_behind(const struct life_event *e)
{
	struct span positions = life_data(e->data, "positions"), own = life_data(e->data, "position");
	uint64_t founder, other;

	if (is(life_data(e->data, "behind"), "yes"))
		return true;
	if (!seqno_of(own, &founder))
		return false;
	while (positions.len) {
		const char *end = memchr(positions.ptr, ' ', positions.len);
		size_t len = end ? (size_t)(end - positions.ptr) : positions.len;

		if (seqno_of(span_of(positions.ptr, len), &other) && other > founder)
			return true;
		len += end != NULL;
		positions = span_of(positions.ptr + len, positions.len - len);
	}
	return false;
}

void find_circumstances(struct sync *s)
{
	for (uint32_t n = 0; n < s->life->node_count; n++)
		if (is(life_variable(&s->life->nodes[n], "innodb_flush_log_at_trx_commit"), "0"))
			s->circumstances |= CIRCUMSTANCE_UNFLUSHED;
	if (all_were_down(s))
		s->circumstances |= CIRCUMSTANCE_ALL_DOWN;
	for (size_t i = 0; i < s->life->event_count; i++)
		if (is(s->life->events[i].what, "bootstrap") && was_behind(&s->life->events[i]))
			s->circumstances |= CIRCUMSTANCE_BEHIND;
	for (size_t i = 0; i < s->life->event_count; i++)
		if (is(s->life->events[i].what, "exit") && life_data(s->life->events[i].data, "signal").len)
			s->circumstances |= CIRCUMSTANCE_KILLED;
}

/* ---- crash ---- */

static void tell_crash(struct sync *s, const struct life_event *e, struct span how, bool outside)
{
	struct told told = {.class = CLASS_CRASH, .nodes = (uint64_t)1 << e->node, .from_at = e->at, .to_at = e->at};

	told.explanation = span_str(arena_printf(&s->verdict->arena, "The server process of node %.*s ended: %.*s. No operation had asked for it.",
		SPAN_ARG(s->life->nodes[e->node].name), SPAN_ARG(how)));
	if (outside) {
		told.suspicion = true;
		told.caveat = "Signal 9 comes from outside of a process: from a person, or from a kernel without memory.";
	}
	tell(s, &told);
}

/* Log lines about a crash, of a node whose exit is not recorded: each row of them once. */
static void check_crash_logs(struct sync *s)
{
	uint64_t told_at[LIFE_NODES_MAX] = {0};

	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];
		bool known = false;

		if (e->node == LIFE_NONE || !is(e->what, "log") || !is(life_data(e->data, "pattern"), "crash"))
			continue;
		for (size_t k = 0; k < s->life->event_count && !known; k++) {
			const struct life_event *x = &s->life->events[k];

			known = is(x->what, "exit") && x->node == e->node && x->at + CRASH_LOG_S * second > e->at &&
				e->at + CRASH_LOG_S * second > x->at;
		}
		if (known || (told_at[e->node] && e->at < told_at[e->node] + CRASH_LOG_S * second))
			continue;
		told_at[e->node] = e->at;
		tell_crash(s, e, e->detail, false);
	}
}

static void check_crashes(struct sync *s)
{
	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];
		struct span by, status;

		if (!is(e->what, "exit") || e->node == LIFE_NONE || life_data(e->data, "asked").len)
			continue;
		by = life_data(e->data, "signal");
		status = life_data(e->data, "status");
		if (by.len)
			tell_crash(s, e, span_str(arena_printf(&s->verdict->arena, "killed by signal %.*s", SPAN_ARG(by))), is(by, "9"));
		else if (status.len && !is(status, "0"))
			tell_crash(s, e, span_str(arena_printf(&s->verdict->arena, "exit status %.*s", SPAN_ARG(status))), false);
	}
	check_crash_logs(s);
}

/* ---- hang ---- */

/* Was the node in the cluster's good state all the while, as far as the recorder saw? */
static bool was_well(const struct sync *s, uint32_t node, uint64_t from, uint64_t to)
{
	bool galera = false, group = false, primary = false, synced = false, online = false, reachable = false;
	bool driven = false, ready = false;

	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];
		struct span status, state, member, said;
		bool well;

		if (e->node != node || !is(e->what, "state"))
			continue;
		if (e->at >= to)
			break;
		status = life_data(e->data, "wsrep_cluster_status");
		state = life_data(e->data, "wsrep_local_state_comment");
		member = life_data(e->data, "member_state");
		said = life_data(e->data, "ready");
		if (span_starts(e->detail, "unreachable"))
			reachable = primary = synced = online = false;
		else
			reachable = true;
		galera |= status.ptr || state.ptr;
		group |= member.ptr != NULL;
		if (status.ptr)
			primary = is(status, "Primary");
		if (state.ptr)
			synced = is(state, "Synced");
		if (member.ptr)
			online = is(member, "ONLINE");
		if (said.ptr) {
			driven = true;
			ready = is(said, "yes");
		}
		/* The driver asks each time; a poll tells changes, and may miss one while a node is away. */
		well = driven ? ready : reachable && (!galera || (primary && synced)) && (!group || online);
		if (e->at >= from && !well)
			return false;
	}
	if (driven)
		return ready;
	return reachable && (galera || group) && (!galera || (primary && synced)) && (!group || online);
}

static bool is_link_up(const struct life_event *e)
{
	return is(life_data(e->data, "state"), "up") || is(life_data(e->data, "state"), "over");
}

/* The event ends a time in which the cluster was busy with something: an operation, or links that were changed. */
static bool ends_work(const struct sync *s, size_t at, uint64_t *first)
{
	const struct life_event *e = &s->life->events[at];
	bool found = false;

	*first = e->begin ? e->begin : e->at;
	if (is_ending(e))
		return true;
	if (!is(e->what, "link") || !is_link_up(e))
		return false;
	for (size_t i = at; i-- > 0;) {
		const struct life_event *b = &s->life->events[i];

		if (!is(b->what, "link") || !span_eq(life_data(b->data, "from"), life_data(e->data, "from")) ||
			!span_eq(life_data(b->data, "to"), life_data(e->data, "to")))
			continue;
		if (is_link_up(b))
			break;
		*first = b->at;
		found = true;
	}
	return found;
}

/* The longest part of the time in which no operation was under way, or just over, and no link was changed. */
static void longest_quiet(const struct sync *s, uint64_t *from, uint64_t *to)
{
	uint64_t begin = *from, best_from = *from, best_to = *from;

	for (;;) {
		uint64_t next = *to, after = *to;

		for (size_t i = 0; i < s->life->event_count; i++) {
			const struct life_event *e = &s->life->events[i];
			uint64_t first, last = e->at + OPERATION_AFTER_S * second;

			if (!ends_work(s, i, &first) || last <= begin || first >= next)
				continue;
			next = first > begin ? first : begin;
			after = last;
		}
		if (next > begin && next - begin > best_to - best_from) {
			best_from = begin;
			best_to = next;
		}
		if (next >= *to || after <= begin)
			break;
		begin = after;
	}
	*from = best_from;
	*to = best_to;
}

/* Some commit of the node was answered meanwhile. */
static bool went_on(const struct sync *s, uint32_t node, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < s->txn_count; i++) {
		const struct sync_txn *txn = &s->txns[i];

		if (txn->node == node && txn->writes && txn->outcome == TXN_COMMITTED && txn->end_at > from && txn->end_at < to)
			return true;
	}
	return false;
}

static void check_hangs(struct sync *s)
{
	uint64_t limit = s->options->hang_ns ? s->options->hang_ns : SYNC_HANG_S * second;
	uint64_t told_until[LIFE_NODES_MAX] = {0};

	for (size_t i = 0; i < s->execution->stmt_count; i++) {
		const struct execution_stmt *stmt = &s->execution->stmts[i];
		uint32_t node = life_node_named(s->life, s->execution->sessions[stmt->session].node), txn;
		uint64_t from = stmt->record.begin, to = stmt->record.at;
		struct told told = {.class = CLASS_HANG};

		if (node == LIFE_NONE || to < from + limit || stmt->record.error == 1205 || from < told_until[node])
			continue;
		longest_quiet(s, &from, &to);
		if (to < from + limit || !was_well(s, node, from, to) || went_on(s, node, from, to))
			continue;
		told_until[node] = stmt->record.at;
		txn = stmt->record.txn ? map_get(&s->txn_by_number, stmt->record.txn) : MAP_NONE;
		told.nodes = (uint64_t)1 << node;
		told.from_at = from;
		told.to_at = to;
		told.txns = &txn;
		told.txn_count = txn != MAP_NONE;
		told.explanation = span_str(arena_printf(&s->verdict->arena,
			"On node %.*s a statement waited for %llu s, no commit of the node was answered meanwhile, and its state was good all "
			"the while: %.*s", SPAN_ARG(s->life->nodes[node].name), (unsigned long long)((to - from) / second),
			(int)(stmt->sql.len < 120 ? stmt->sql.len : 120), stmt->sql.ptr ? stmt->sql.ptr : ""));
		tell(s, &told);
	}
}

/* ---- no-recovery ---- */

/* The operation that ended last was to bring nodes back, or anything else, and did not do it. */
static bool last_operation_failed(const struct sync *s)
{
	bool failed = false;

	for (size_t i = 0; i < s->life->event_count; i++)
		if (is_ending(&s->life->events[i]))
			failed = !is(life_data(s->life->events[i].data, "result"), "done");
	return failed;
}

/* When the node was last well, as far as its states were told; else `otherwise`. */
static uint64_t not_well_since(const struct sync *s, uint32_t node, uint64_t otherwise)
{
	uint64_t since = otherwise;
	bool well = false;

	for (size_t i = 0; i < s->life->event_count; i++) {
		const struct life_event *e = &s->life->events[i];
		struct span ready = life_data(e->data, "ready");

		if (e->node != node || !is(e->what, "state") || !ready.len)
			continue;
		if (well && !is(ready, "yes"))
			since = e->at;
		well = is(ready, "yes");
	}
	return since < otherwise ? since : otherwise;
}

static void check_recovery(struct sync *s)
{
	uint64_t limit = s->options->hang_ns ? s->options->hang_ns : SYNC_HANG_S * second, missing = 0;
	const struct life_point *point = s->life->point_count ? &s->life->points[s->life->point_count - 1] : NULL;
	unsigned ready = 0, told_of = 0, expected = 0, running = 0;
	struct buf text = BUF_INIT;
	uint64_t waited = 0;

	for (uint32_t n = 0; point && n < s->life->node_count; n++) {
		const struct life_look *look = &point->looks[n];

		told_of += look->told;
		expected += look->told && look->expected;
		ready += look->told && look->ready;
		running += look->told && look->running;
		if (look->told && look->expected && !look->ready) {
			missing |= (uint64_t)1 << n;
			waited = look->waited_ns > waited ? look->waited_ns : waited;
		}
	}
	/*
	 * Without a majority that is well, a single node cannot come back.  Where none is well, they should be if most of them
	 * run, and no operation has taken them out; when most have ended and were not started again, there is nothing to come back.
	 */
	if (missing && waited >= limit &&
		(ready * 2 > told_of || (expected == told_of && (running * 2 > told_of || last_operation_failed(s))))) {
		struct told told = {.class = CLASS_NO_RECOVERY, .nodes = missing, .from_at = point->first_at, .to_at = point->last_at};

		for (uint32_t n = 0; n < s->life->node_count; n++)
			if (missing >> n & 1)
				told.from_at = not_well_since(s, n, told.from_at);
		buf_printf(&text, "At %.*s, ", SPAN_ARG(point->name));
		buf_printf(&text, ready ? "%u of %u nodes were well" : "none of the nodes was well", ready, told_of);
		buf_add_str(&text, ", and these had not come back after ");
		text_add_duration(&text, waited);
		buf_add_char(&text, ':');
		for (uint32_t n = 0; n < s->life->node_count; n++)
			if (missing >> n & 1)
				buf_printf(&text, " %.*s (%.*s)", SPAN_ARG(s->life->nodes[n].name),
					SPAN_ARG(point->looks[n].state.len ? point->looks[n].state
					         : point->looks[n].unread.ptr ? point->looks[n].unread : SPAN_LIT("no answer")));
		buf_add_char(&text, '.');
		told.explanation = arena_copy(&s->verdict->arena, buf_span(&text));
		tell(s, &told);
	} else if (missing) {
		verdict_undecided(s->verdict, "nodes that were not well at the last point, and need not have come back",
			node_set_count(missing));
	}
	buf_release(&text);
}

void check_nodes(struct sync *s)
{
	check_crashes(s);
	check_hangs(s);
	check_recovery(s);
}
