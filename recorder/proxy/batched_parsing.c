/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/batched_parsing.h"

#include "base/clock.h"
#include "base/mem.h"
#include "proxy/track_commits.h"

/* Is the connection phase over, with all that the relay has to change in it?  That is so for good. */
static bool is_past_login(const struct session *s)
{
	/* Whether an answer must be held is known once it is parsed. */
	return s->recording && !s->parsed && !s->worker->options->instrument &&
	       !s->worker->options->durable &&
	       !s->renumber[CLIENT].by && !s->renumber[SERVER].by && !s->login_flags &&
	       s->clearing.done && !track_is_busy(s);
}

void session_after_parsing(struct session *s)
{
	struct relay_worker *w = s->worker;

	if (s->capture.statements != s->statements_counted) {
		COUNT(w, statements, s->capture.statements - s->statements_counted);
		s->statements_counted = s->capture.statements;
	}
	/* A session that the filter does not want is no longer read. */
	if (s->capture.muted) {
		wire_make_opaque(&s->wire, "not wanted");
		s->settled = false;
		return;
	}
	s->settled = s->wire.phase == WIRE_COMMANDS && !wire_is_secret(&s->wire) &&
		     (s->settled || is_past_login(s));
	if (s->wire.phase == WIRE_OPAQUE && !s->opaque_counted) {
		s->opaque_counted = true;
		COUNT(w, opaque, 1);
	}
}

static void parse(struct session *s, int from, struct span bytes, struct wire_stamp stamp)
{
	if (from == CLIENT)
		wire_feed_client(&s->wire, bytes, stamp);
	else
		wire_feed_server(&s->wire, bytes, stamp);
	session_after_parsing(s);
}

void session_parse_now(struct session *s, int from, size_t len)
{
	struct relay_worker *w = s->worker;
	struct wire_stamp now = {clock_mono_ns(), 0, 0};

	relay_parse_later(w);
	/* Taken before the bytes can reach the server: protocol.md, "Time and order". */
	if (from == CLIENT)
		now.seq = capture_begin_seq(&w->capture);
	parse(s, from, span_of(w->scratch, len), now);
}

void relay_parse_later(struct relay_worker *w)
{
	const unsigned char *bytes = w->later.bytes;
	bool secret = false;

	if (!w->later.count)
		return;
	capture_hold(&w->capture);
	for (size_t i = 0; i < w->later.count; i++) {
		const struct relay_read *r = &w->later.list[i];
		struct wire_stamp stamp = {r->at, r->from_client ? r->seq : 0, r->sent};

		if (!r->from_client)
			capture_use_seqs(&w->capture, r->seq, r->seqs);
		parse(r->session, r->from_client ? CLIENT : SERVER, span_of(bytes, r->len), stamp);
		bytes += r->len;
		/* What is not complete may become one, after other commands. */
		secret |= r->session->wire.dialogue || r->session->wire.announced;
		r->session->wire.dialogue = false;
	}
	capture_use_seqs(&w->capture, 0, 0);
	capture_let_go(&w->capture);
	if (UNLIKELY(secret))
		mem_wipe(w->later.bytes, w->later.len);
	w->later.count = w->later.len = w->later.checked = 0;
}

void relay_note_read(struct session *s, int from, size_t len)
{
	struct relay_worker *w = s->worker;
	struct relay_read *r = &w->later.list[w->later.count++];

	*r = (struct relay_read){.session = s,
		.from_client = from == CLIENT,
		.len = (uint32_t)len,
		.at = clock_mono_ns(),
		.seqs = RELAY_LATER_SEQS + (unsigned)len / RELAY_LATER_BYTES_A_SEQ};
	r->seq = from == CLIENT ? capture_begin_seq(&w->capture)
				: capture_reserve_seqs(&w->capture, r->seqs);
	w->later.len += len;
}

/* The last read tells the time.  Without one since the last look, as while other sessions are busy
 * that are not parsed, the coarse clock does, which may be some milliseconds late. */
bool relay_is_time_to_parse(struct relay_worker *w)
{
	size_t count = w->later.count;
	uint64_t now;

	if (!count)
		return false;
	now = count == w->later.checked ? clock_ns(CLOCK_MONOTONIC_COARSE)
					: w->later.list[count - 1].at;
	w->later.checked = count;
	return now >= w->later.list[0].at + w->options->later_ns;
}
