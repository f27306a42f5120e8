/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --durable: the answer of a commit waits in its session until the records of it are on the disk.
 *
 * One ticket of the trace's writer serves all answers of a worker's turn, and one fdatasync all
 * tickets that were taken while the one before ran.
 */
#include "base/clock.h"
#include "proxy/session.h"

void session_hold(struct session *s)
{
	struct relay_worker *w = s->worker;

	s->capture.answered_commit = false;
	if (!w->options->durable || s->dead)
		return;
	s->held_ticket = 0;
	w->held_anew = true;
	if (s->side[CLIENT].held)
		return;
	s->side[CLIENT].held = true;
	s->held_since = clock_mono_ns();
	s->next_held = w->held;
	w->held = s;
}

void session_unhold(struct session *s)
{
	struct session **at = &s->worker->held;

	if (!s->side[CLIENT].held)
		return;
	while (*at != s)
		at = &(*at)->next_held;
	*at = s->next_held;
	s->side[CLIENT].held = false;
}

static void count_held(struct relay_held *stats, uint64_t ns, bool kept)
{
	unsigned class = 0;

	while (class + 1 < RELAY_HELD_CLASSES && ns / 1000 >= (uint64_t)2 << class)
		class++;
	stats->classes[class]++;
	stats->count++;
	stats->ns += ns;
	if (ns > stats->ns_max)
		stats->ns_max = ns;
	stats->unkept += !kept;
}

static void take_ticket(struct relay_worker *w)
{
	uint64_t ticket = trace_producer_durable(w->capture.producer);

	w->held_anew = false;
	for (struct session *s = w->held; s; s = s->next_held) {
		if (!s->held_ticket)
			s->held_ticket = ticket;
	}
}

void relay_let_go_held(struct relay_worker *w)
{
	struct session *free = NULL, **at = &w->held;
	uint64_t now = clock_mono_ns();

	if (w->held_anew)
		take_ticket(w);
	while (*at) {
		struct session *s = *at;
		bool kept;

		if (!trace_writer_is_durable(w->capture.writer, s->held_ticket, &kept)) {
			at = &s->next_held;
			continue;
		}
		count_held(&w->held_stats, now - s->held_since, kept);
		s->side[CLIENT].held = false;
		*at = s->next_held;
		s->next_held = free;
		free = s;
	}
	/* They may end, and others with them: none of these is in the list any more. */
	while (free) {
		struct session *s = free;

		free = s->next_held;
		if (!s->dead)
			session_work(s);
	}
}
