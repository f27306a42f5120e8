/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A stream is what runs in sequence: a session, or a single transaction where sessions do not
 * matter. */
struct stream {
	uint32_t at, end; /* in the list of transactions */
	uint32_t next_waiter;
	bool started; /* the current transaction has its snapshot */
	bool parked;  /* it waits for events that must come before */
};

struct heap_entry {
	uint64_t priority;
	uint32_t stream;
};

struct value_schedule {
	const struct facts *f;
	const struct values *v;
	bool snapshot, realtime;
	uint32_t *txns; /* of the streams, in order */
	struct stream *streams;
	uint32_t stream_count;
	uint64_t *priority;        /* by transaction */
	uint32_t *current;         /* by key: the item it holds; NONE: the initial value */
	uint32_t *pending;         /* by item: transactions that read it and have not run */
	uint32_t *pending_initial; /* by key */
	uint32_t *writers_left;    /* by item: transactions that may still write it */
	uint32_t *lock;            /* by key: stream that will overwrite it; NONE */
	uint32_t *waiters;         /* by key: streams that wait for a change of it */
	uint32_t time_waiters;     /* streams that wait for a commit */
	uint32_t *by_complete;     /* transactions by completion */
	uint32_t complete_count, complete_at;
	uint8_t *done;     /* by transaction */
	uint32_t *commits; /* by transaction: the place of its commit */
	uint32_t committed;
	/* Guided: events that must come before, and after whom. */
	uint32_t *missing, *after_head, *after;
	uint32_t *stream_of; /* by transaction */
	struct heap_entry *heap;
	size_t heap_count, heap_capacity;
};

/* ------------------------------------------------------------------------------- ready */

static void push(struct value_schedule *s, uint32_t stream)
{
	struct heap_entry e;
	size_t i;

	if (s->streams[stream].at == s->streams[stream].end)
		return;
	e = (struct heap_entry){s->priority[s->txns[s->streams[stream].at]], stream};
	MEM_RESERVE(s->heap, s->heap_count + 1, s->heap_capacity);
	for (i = s->heap_count++; i > 0 && s->heap[(i - 1) / 2].priority > e.priority;
		i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = e;
}

static uint32_t pop(struct value_schedule *s)
{
	uint32_t top = s->heap[0].stream;
	struct heap_entry last = s->heap[--s->heap_count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= s->heap_count)
			break;
		if (child + 1 < s->heap_count &&
			s->heap[child + 1].priority < s->heap[child].priority)
			child++;
		if (s->heap[child].priority >= last.priority)
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	if (s->heap_count)
		s->heap[i] = last;
	return top;
}

static void wait_for(struct value_schedule *s, uint32_t *list, uint32_t stream)
{
	s->streams[stream].next_waiter = *list;
	*list = stream;
}

static void wake(struct value_schedule *s, uint32_t *list)
{
	uint32_t stream = *list;

	*list = VALUES_NONE;
	while (stream != VALUES_NONE) {
		uint32_t next = s->streams[stream].next_waiter;

		push(s, stream);
		stream = next;
	}
}

/* --------------------------------------------------------------------------------- run */

/* What an external read asks for; NONE: the initial value. */
static uint32_t wanted(const struct value_schedule *s, const struct values_op *op)
{
	return s->v->items[op->value].initial && s->f->state[op->value] == WRITER_INITIAL
		       ? VALUES_NONE
		       : op->value;
}

/* A value that the key holds initially and that a transaction also wrote. */
static bool holds(const struct value_schedule *s, uint32_t key, uint32_t item)
{
	uint32_t now = s->current[key];

	return now == item ||
	       (now == VALUES_NONE && item != VALUES_NONE && s->v->items[item].initial);
}

static uint32_t *readers_left(struct value_schedule *s, uint32_t key, uint32_t item)
{
	return item == VALUES_NONE ? &s->pending_initial[key] : &s->pending[item];
}

/* May what the key holds be overwritten, now that `mine` of its readers is the writer itself? */
static bool released(struct value_schedule *s, uint32_t key, uint32_t mine)
{
	uint32_t now = s->current[key];

	/* The initial value under its own name, when it can be written too. */
	if (now == VALUES_NONE && s->v->keys[key].initial_item != VALUES_NONE) {
		uint32_t item = s->v->keys[key].initial_item;

		if (s->f->state[item] != WRITER_INITIAL && s->pending[item] > mine &&
			s->writers_left[item] == 0)
			return false;
	}
	if (*readers_left(s, key, now) <= mine)
		return true;
	return now != VALUES_NONE && s->writers_left[now] > 0;
}

static bool is_read(const struct value_schedule *s, uint32_t i)
{
	return s->v->ops[i].kind == VALUES_READ && (s->f->notes[i] & OP_EXTERNAL);
}

static bool is_final_write(const struct value_schedule *s, uint32_t i)
{
	return values_is_write(&s->v->ops[i]) && (s->f->notes[i] & OP_FINAL);
}

static bool reads_key(const struct value_schedule *s, uint32_t t, uint32_t key)
{
	for (uint32_t i = s->v->txns[t].first_op;
		i < s->v->txns[t].first_op + s->v->txns[t].op_count; i++) {
		if (is_read(s, i) && s->v->ops[i].key == key)
			return true;
	}
	return false;
}

/* Can it start?  If not, it waits for what it lacks. */
static bool can_start(struct value_schedule *s, uint32_t stream, uint32_t t)
{
	const struct values_txn *txn = &s->v->txns[t];

	if (s->realtime) {
		while (s->complete_at < s->complete_count &&
			s->done[s->by_complete[s->complete_at]])
			s->complete_at++;
		if (s->complete_at < s->complete_count && txn->invoke != VALUES_NONE &&
			s->v->txns[s->by_complete[s->complete_at]].complete < txn->invoke) {
			wait_for(s, &s->time_waiters, stream);
			return false;
		}
	}
	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		uint32_t key = s->v->ops[i].key;

		if ((is_read(s, i) && !holds(s, key, wanted(s, &s->v->ops[i]))) ||
			(is_final_write(s, i) && s->snapshot && s->lock[key] != VALUES_NONE)) {
			wait_for(s, &s->waiters[key], stream);
			return false;
		}
	}
	return true;
}

static bool can_commit(struct value_schedule *s, uint32_t stream, uint32_t t, bool reads_counted)
{
	const struct values_txn *txn = &s->v->txns[t];

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		uint32_t key = s->v->ops[i].key;

		if (is_final_write(s, i) &&
			!released(s, key, !reads_counted && reads_key(s, t, key))) {
			wait_for(s, &s->waiters[key], stream);
			return false;
		}
	}
	return true;
}

/* A transaction counts once for each value it reads, however often. */
static bool read_before(const struct value_schedule *s, uint32_t t, uint32_t i)
{
	for (uint32_t k = s->v->txns[t].first_op; k < i; k++) {
		if (is_read(s, k) && s->v->ops[k].value == s->v->ops[i].value)
			return true;
	}
	return false;
}

static void start(struct value_schedule *s, uint32_t stream, uint32_t t)
{
	const struct values_txn *txn = &s->v->txns[t];

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		uint32_t key = s->v->ops[i].key;

		if (is_read(s, i) && !read_before(s, t, i)) {
			if (--*readers_left(s, key, wanted(s, &s->v->ops[i])) <= 1)
				wake(s, &s->waiters[key]);
		} else if (is_final_write(s, i) && s->snapshot) {
			s->lock[key] = stream;
		}
	}
}

static void commit(struct value_schedule *s, uint32_t t)
{
	const struct values_txn *txn = &s->v->txns[t];

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		uint32_t key = s->v->ops[i].key;

		if (!is_final_write(s, i))
			continue;
		s->current[key] = s->v->ops[i].value;
		if (s->v->ops[i].value != VALUES_NONE)
			s->writers_left[s->v->ops[i].value]--;
		s->lock[key] = VALUES_NONE;
		wake(s, &s->waiters[key]);
	}
	s->done[t] = 1;
	s->commits[t] = s->committed++;
	wake(s, &s->time_waiters);
}

static uint32_t event_of(const struct value_schedule *s, uint32_t t, bool commits)
{
	return s->snapshot ? 2 * t + commits : t;
}

/* Guided: must something else come first? */
static bool parks(struct value_schedule *s, struct stream *stream, uint32_t t)
{
	stream->parked = s->missing && s->missing[event_of(s, t, stream->started)] > 0;
	return stream->parked;
}

/* Guided: an event has happened. */
static void happened(struct value_schedule *s, uint32_t event)
{
	if (!s->missing)
		return;
	for (uint32_t i = s->after_head[event]; i < s->after_head[event + 1]; i++) {
		uint32_t next = s->after[i], t = s->snapshot ? next / 2 : next;

		if (--s->missing[next] == 0 && s->streams[s->stream_of[t]].parked) {
			s->streams[s->stream_of[t]].parked = false;
			push(s, s->stream_of[t]);
		}
	}
}

static bool run(struct value_schedule *s)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < s->stream_count; i++) {
		left += s->streams[i].end - s->streams[i].at;
		push(s, i);
	}
	while (s->heap_count) {
		uint32_t number = pop(s);
		struct stream *stream = &s->streams[number];
		uint32_t t = s->txns[stream->at];

		if (parks(s, stream, t))
			continue;
		if (!stream->started) {
			if (!can_start(s, number, t) ||
				(!s->snapshot && !can_commit(s, number, t, false)))
				continue;
			start(s, number, t);
			stream->started = true;
			if (s->snapshot) {
				happened(s, event_of(s, t, false));
				push(s, number);
				continue;
			}
		} else if (!can_commit(s, number, t, true)) {
			continue;
		}
		commit(s, t);
		stream->started = false;
		stream->at++;
		left--;
		happened(s, event_of(s, t, true));
		push(s, number);
	}
	return left == 0;
}

/* ------------------------------------------------------------------------------- setup */

static void make_streams(struct value_schedule *s, bool sessions)
{
	const struct values *v = s->v;
	uint32_t count = 0;

	s->txns = mem_realloc(NULL, v->txn_count, sizeof(uint32_t));
	s->streams = mem_zero(sessions ? v->session_count : v->txn_count, sizeof(*s->streams));
	s->priority = mem_zero(v->txn_count, sizeof(*s->priority));
	for (uint32_t k = 0; k < v->session_count; k++) {
		uint32_t first = count, total = v->sessions[k].txn_count;

		for (uint32_t i = 0; i < total; i++) {
			uint32_t t = v->session_txns[v->sessions[k].first_txn + i];

			if (!s->f->counts[t])
				continue;
			/* By completion where it is known; else all sessions go on side by side. */
			s->priority[t] = v->stamps ? v->stamps[t].commit
					 : v->has_real_time && v->txns[t].complete != VALUES_NONE
						 ? v->txns[t].complete
						 : ((uint64_t)i << 32) / total;
			s->txns[count++] = t;
			if (!sessions)
				s->streams[s->stream_count++] = (struct stream){
					count - 1, count, VALUES_NONE, false, false};
		}
		if (sessions)
			s->streams[s->stream_count++] =
				(struct stream){first, count, VALUES_NONE, false, false};
	}
}

static int compare_complete(const void *a, const void *b, void *context)
{
	const struct values *v = context;
	uint32_t x = v->txns[*(const uint32_t *)a].complete,
		 y = v->txns[*(const uint32_t *)b].complete;

	return (x > y) - (x < y);
}

static void count_all(struct value_schedule *s)
{
	const struct values *v = s->v;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_txn *txn = &v->txns[t];

		if (!s->f->counts[t])
			continue;
		if (s->realtime && txn->complete != VALUES_NONE && txn->outcome == VALUES_COMMITTED)
			s->by_complete[s->complete_count++] = t;
		for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
			const struct values_op *op = &v->ops[i];

			if (is_read(s, i) && !read_before(s, t, i))
				++*readers_left(s, op->key, wanted(s, op));
			else if (is_final_write(s, i) && op->value != VALUES_NONE)
				s->writers_left[op->value]++;
		}
	}
	if (s->realtime)
		qsort_r(s->by_complete, s->complete_count, sizeof(uint32_t), compare_complete,
			&(struct values){.txns = v->txns});
}

static uint32_t *none_array(size_t count)
{
	uint32_t *array = mem_realloc(NULL, count, sizeof(*array));

	memset(array, 0xff, count * sizeof(*array));
	return array;
}

static void release(struct value_schedule *s)
{
	mem_free(s->txns);
	mem_free(s->streams);
	mem_free(s->priority);
	mem_free(s->current);
	mem_free(s->lock);
	mem_free(s->waiters);
	mem_free(s->pending);
	mem_free(s->pending_initial);
	mem_free(s->writers_left);
	mem_free(s->by_complete);
	mem_free(s->done);
	mem_free(s->heap);
	mem_free(s->missing);
	mem_free(s->after_head);
	mem_free(s->after);
	mem_free(s->stream_of);
}

static void set_up(struct value_schedule *s, enum cycle_order order, bool by_place)
{
	const struct values *v = s->v;

	s->realtime = order == CYCLE_REALTIME;
	make_streams(s, order != CYCLE_PLAIN);
	for (uint32_t t = 0; by_place && t < v->txn_count; t++)
		s->priority[t] = t;
	s->current = none_array(v->key_count);
	s->lock = none_array(v->key_count);
	s->waiters = none_array(v->key_count);
	s->time_waiters = VALUES_NONE;
	s->pending = mem_zero(v->item_count, sizeof(uint32_t));
	s->pending_initial = mem_zero(v->key_count, sizeof(uint32_t));
	s->writers_left = mem_zero(v->item_count, sizeof(uint32_t));
	s->by_complete = mem_zero(v->txn_count, sizeof(uint32_t));
	s->done = mem_zero(v->txn_count, 1);
	count_all(s);
}

bool schedule_found(const struct facts *f, enum cycle_order order, bool snapshot, uint32_t *commits)
{
	bool found = false;

	/* Times of hybrid clocks are not places in the input. */
	if (order == CYCLE_REALTIME && f->v->stamps)
		return false;
	/* First as the input has them, which often is the order of commits. */
	for (int by_place = 1; by_place >= 0 && !found; by_place--) {
		struct value_schedule s = {.f = f, .v = f->v, .snapshot = snapshot, .commits = commits};

		set_up(&s, order, by_place);
		found = run(&s);
		release(&s);
	}
	return found;
}

static void take_edges(struct value_schedule *s, const struct precedence *edges)
{
	uint32_t nodes = s->snapshot ? 2 * s->v->txn_count : s->v->txn_count;

	s->missing = mem_zero(nodes, sizeof(uint32_t));
	s->after_head = mem_zero((size_t)nodes + 2, sizeof(uint32_t));
	s->after = mem_realloc(NULL, edges->count, sizeof(uint32_t));
	s->stream_of = mem_zero(s->v->txn_count, sizeof(uint32_t));
	for (uint32_t i = 0; i < s->stream_count; i++)
		s->stream_of[s->txns[s->streams[i].at]] = i;
	for (size_t e = 0; e < edges->count; e++) {
		s->missing[edges->edges[e].to]++;
		s->after_head[edges->edges[e].from + 2]++;
	}
	for (uint32_t n = 0; n < nodes; n++)
		s->after_head[n + 2] += s->after_head[n + 1];
	for (size_t e = 0; e < edges->count; e++)
		s->after[s->after_head[edges->edges[e].from + 1]++] = edges->edges[e].to;
}

bool schedule_guided(
	const struct facts *f, bool snapshot, const struct precedence *edges, uint32_t *commits)
{
	bool found = false;

	for (int by_place = 1; by_place >= 0 && !found; by_place--) {
		struct value_schedule s = {.f = f, .v = f->v, .snapshot = snapshot, .commits = commits};

		set_up(&s, CYCLE_PLAIN, by_place);
		take_edges(&s, edges);
		found = run(&s);
		release(&s);
	}
	return found;
}
