/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proxy/batched_parsing.h"
#include "proxy/track_commits.h"
#include "server/errors.h"

/* epoll's data: the session, and its side in the lowest bit. */
bool session_watch(struct session *s, int which)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u64 = (uint64_t)(uintptr_t)s | (unsigned)which,
	};

	return epoll_ctl(s->worker->epoll_fd, EPOLL_CTL_ADD, s->side[which].fd, &event) == 0;
}

/* ---- the end of a session ---- */

static void side_close(struct side *side)
{
	if (side->tls) {
		tls_end(side->tls);
		tls_free(side->tls);
	}
	side->tls = NULL;
	if (side->fd >= 0)
		close(side->fd);
	side->fd = -1;
	if (side->secret && side->pending.data)
		mem_wipe(side->pending.data, side->pending.capacity);
	buf_release(&side->pending);
}

/* Commands in flight will get no answer. */
static void stop_parsing(struct session *s)
{
	struct wire_stamp now = {clock_mono_ns(), 0, 0};

	relay_parse_later(s->worker);
	s->settled = false;
	if (s->recording && !s->parsed) {
		s->parsed = true;
		wire_end(&s->wire, now);
	}
}

void session_event(struct session *s, const char *what, const char *reason)
{
	relay_parse_later(s->worker);
	capture_connection_event(&s->worker->capture, s->node->capture.name, s->id, what, reason);
}

/* The server closed its side.  A session that had logged in and did not ask for the end was ended by
 * it. */
static void server_ended(struct session *s, enum close_reason reason)
{
	bool lost;

	relay_parse_later(s->worker); /* a QUIT may wait there */
	lost = s->recording && !s->parsed && !s->capture.quit && s->wire.phase == WIRE_COMMANDS;
	if (lost)
		session_event(s, "lost", close_reason_text(reason));
	stop_parsing(s); /* no answer will come any more */
	if (lost)
		capture_server_ended(&s->capture, reason);
}

void session_close(struct session *s, enum close_reason reason)
{
	session_close_saying(s, reason, NULL);
}

void session_close_saying(struct session *s, enum close_reason reason, const char *detail)
{
	struct relay_worker *w = s->worker;

	if (s->dead)
		return;
	s->dead = true;
	if (close_reason_is_servers(reason))
		server_ended(s, reason);
	if (s->recording) {
		stop_parsing(s);
		if (s->interpose) {
			interpose_abandon(s->interpose);
			interpose_free(s->interpose);
		}
		wire_release(&s->wire);
		capture_close(&s->capture, reason, detail);
	}
	session_unhold(s);
	side_close(&s->side[CLIENT]);
	side_close(&s->side[SERVER]);
	if (s->connecting || s->doom)
		w->connecting--;
	mem_free(s->doom);
	s->doom = NULL;
	buf_release(&s->track_answer);
	if (s->prev)
		s->prev->next = s->next;
	else
		w->sessions = s->next;
	if (s->next)
		s->next->prev = s->prev;
	w->session_count--;
	COUNT(w, sessions, (uint64_t)-1);
	/* Events of this turn may still name it: freed when the turn is over. */
	s->next = w->dead;
	w->dead = s;
}

/* ---- forwarding ---- */

/* recv(2), through TLS where there is one. */
static ssize_t side_recv(struct side *side, void *out, size_t size)
{
	enum tls_wait wait = TLS_WAIT_READABLE;
	ssize_t n;

	if (LIKELY(!side->tls))
		return recv(side->fd, out, size, 0);
	n = tls_recv(side->tls, out, size, &wait);
	side->fresh &= n <= 0;
	if (n < 0 && errno == EAGAIN && wait == TLS_WAIT_WRITABLE)
		side->recv_waits_out = true;
	return n;
}

static ssize_t side_send(struct side *side, const void *bytes, size_t len)
{
	enum tls_wait wait = TLS_WAIT_WRITABLE;
	ssize_t n;

	if (LIKELY(!side->tls))
		return send(side->fd, bytes, len, MSG_NOSIGNAL);
	n = tls_send(side->tls, bytes, len, &wait);
	if (n < 0 && errno == EAGAIN && wait == TLS_WAIT_READABLE)
		side->send_waits_in = true;
	return n;
}

/* An ERR packet to the client, from us; it may get lost, as the session is about to end. */
void session_send_error(struct session *s, uint8_t seq, const char *text)
{
	char packet[512];
	/* An SQL state stands in every ERR but one in place of the greeting. */
	int len = snprintf(packet + 7, sizeof(packet) - 7, "%s%.400s", seq ? "#HY000" : "", text);

	packet[0] = (char)((len + 3) & 0xff);
	packet[1] = (char)((len + 3) >> 8);
	packet[2] = 0;
	packet[3] = (char)seq;
	packet[4] = (char)0xff;
	/* MariaDB's library takes the codes of clients for damage. */
	packet[5] = (char)(ER_UNKNOWN_ERROR & 0xff);
	packet[6] = (char)(ER_UNKNOWN_ERROR >> 8);
	(void)!side_send(&s->side[CLIENT], packet, (size_t)len + 7);
}

static void put_ready(struct session *s)
{
	if (s->in_ready)
		return;
	s->in_ready = true;
	s->next_ready = NULL;
	*s->worker->ready_end = s;
	s->worker->ready_end = &s->next_ready;
}

/* The socket of a side does no more; reason: unless TLS knows better. */
static void side_failed(struct session *s, int which, enum close_reason reason)
{
	char problem[TLS_PROBLEM_SIZE], text[TLS_PROBLEM_SIZE + 100];

	if (s->side[which].tls && errno == EPROTO) {
		tls_problem(s->side[which].tls, problem);
		snprintf(text, sizeof(text), "isorec: TLS with the %s failed: %s",
			which == CLIENT ? "client" : "server", problem);
		if (which == SERVER && s->side[SERVER].fresh) {
			/* The client hears of it after its login, when that is here. */
			s->doom = mem_strdup(text);
			s->connect_deadline =
				clock_mono_ns() + s->worker->options->connect_timeout_ns;
			s->worker->connecting++;
			side_close(&s->side[SERVER]);
			put_ready(s);
			return;
		}
		session_close_saying(s, CLOSE_TLS_FAILED, text);
		return;
	}
	session_close(s, reason);
}

/* The rest of a session whose server is lost before it could answer. */
static void doomed_work(struct session *s)
{
	ssize_t n = side_recv(&s->side[CLIENT], s->worker->scratch, sizeof(s->worker->scratch));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		mem_wipe(s->worker->scratch, (size_t)n);
		session_send_error(s, s->side[CLIENT].tls ? 3 : 2, s->doom);
	}
	session_close_saying(s, CLOSE_TLS_FAILED, s->doom);
}

static bool tls_start(struct session *s, int which)
{
	struct side *side = &s->side[which];
	const struct tls_context *context = &s->worker->options->tls_context;

	if (side->pending.len) {
		session_close(s, CLOSE_SERVER_TAKES_NOTHING);
		return false;
	}
	side->tls =
		which == CLIENT ? tls_accept(context, side->fd) : tls_connect(context, side->fd);
	if (!side->tls) {
		session_close(s, CLOSE_NO_MEMORY_TLS);
		return false;
	}
	/* The next calls run the handshake; no event may come by itself before. */
	side->readable = side->writable = side->fresh = true;
	return true;
}

/* False: the session was closed. */
static bool side_flush(struct session *s, int to)
{
	struct side *side = &s->side[to];

	while (side->pending.len && side->writable && !side->held) {
		ssize_t n = side_send(side, side->pending.data + side->pending_sent,
			side->pending.len - side->pending_sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			side->writable = false;
			return true;
		}
		if (n < 0) {
			side_failed(s, to, to == CLIENT ? CLOSE_CLIENT_GONE : CLOSE_SERVER_GONE);
			return false;
		}
		side->pending_sent += (size_t)n;
		if (side->pending_sent == side->pending.len) {
			if (side->secret)
				mem_wipe(side->pending.data, side->pending.capacity);
			side->secret = false;
			buf_release(&side->pending);
			side->pending_sent = 0;
		}
	}
	return true;
}

bool session_forward(struct session *s, int to, const unsigned char *bytes, size_t len, bool secret)
{
	struct side *side = &s->side[to];

	while (len && side->writable && !side->held) {
		ssize_t n = side_send(side, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			side->writable = false;
			break;
		}
		if (n < 0) {
			side_failed(s, to, to == CLIENT ? CLOSE_CLIENT_GONE : CLOSE_SERVER_GONE);
			return false;
		}
		bytes += n;
		len -= (size_t)n;
	}
	if (len) {
		side->secret |= secret;
		buf_add(&side->pending, bytes, len);
	}
	return true;
}

enum pump { PUMP_AGAIN, PUMP_DRY, PUMP_CLOSED };

/* Instrumentation begins when the session is logged in. */
static bool is_interposed(struct session *s)
{
	if (s->interpose)
		return true;
	if (!s->worker->options->instrument || !s->recording || s->capture.muted ||
		s->wire.phase != WIRE_COMMANDS || s->parsed)
		return false;
	s->interpose = interpose_new(s->worker->options->instrument, &s->wire, &s->capture);
	return true;
}

/* Sends on what instrumentation made of what was read. */
static bool forward_interposed(struct session *s)
{
	struct relay_worker *w = s->worker;
	bool secret = wire_is_secret(&s->wire);

	for (int to = CLIENT; to <= SERVER; to++) {
		struct buf *bytes = &w->interposed[to];

		if (to == CLIENT && bytes->len && s->capture.answered_commit)
			session_hold(s);
		if (bytes->len && !s->dead)
			(void)!session_forward(s, to, (const unsigned char *)bytes->data, bytes->len, secret);
		if (secret && bytes->data)
			mem_wipe(bytes->data, bytes->len);
		if (bytes->capacity > RELAY_READ_SIZE * 4)
			buf_release(bytes);
		else
			buf_clear(bytes);
	}
	return !s->dead;
}

/* What the last write of a session that ends has logged. */
static void flush_interposed(struct session *s)
{
	if (!s->interpose || !interpose_has_log(s->interpose))
		return;
	interpose_flush(s->interpose, &s->worker->interposed[SERVER]);
	(void)!forward_interposed(s);
}

static enum pump deliver_interposed(struct session *s, int from, size_t len)
{
	struct relay_worker *w = s->worker;
	struct span bytes = span_of(w->scratch, len);
	bool secret = wire_is_secret(&s->wire);

	if (from == CLIENT)
		interpose_client(s->interpose, bytes, &w->interposed[SERVER]);
	else
		interpose_server(
			s->interpose, bytes, &w->interposed[CLIENT], &w->interposed[SERVER]);
	session_after_parsing(s);
	if (secret || wire_is_secret(&s->wire))
		mem_wipe(w->scratch, len);
	if (!forward_interposed(s))
		return PUMP_CLOSED;
	if (UNLIKELY(interpose_is_broken(s->interpose))) {
		session_close(s, CLOSE_NOT_UNDERSTOOD);
		return PUMP_CLOSED;
	}
	if (from == SERVER && UNLIKELY(s->side[CLIENT].eof))
		flush_interposed(s);
	return s->dead ? PUMP_CLOSED : PUMP_AGAIN;
}

/* A read that gave nothing. */
static enum pump nothing_read(struct session *s, int from, ssize_t n)
{
	struct side *side = &s->side[from];
	enum close_reason reason = from == CLIENT ? CLOSE_CLIENT_CLOSED : CLOSE_SERVER_CLOSED;

	if (n < 0 && errno == EAGAIN) {
		side->readable = false;
		return PUMP_DRY;
	}
	if (n < 0) {
		side_failed(s, from, from == CLIENT ? CLOSE_CLIENT_RESET : CLOSE_SERVER_RESET);
		return PUMP_CLOSED;
	}
	side->eof = true;
	side->readable = false;
	if (s->end_reason == CLOSE_NONE)
		s->end_reason = reason;
	if (from == SERVER && s->end_reason == reason)
		server_ended(s, reason);
	else if (from == SERVER)
		stop_parsing(s);
	else
		flush_interposed(s);
	return s->dead ? PUMP_CLOSED : PUMP_DRY;
}

/* The start of a session that is not parsed may hold a password too. */
static bool is_secret(const struct session *s)
{
	return s->recording && !s->capture.muted ? wire_is_secret(&s->wire)
						 : s->bytes < RELAY_READ_SIZE;
}

static void count_bytes(struct session *s, int from, size_t len)
{
	s->bytes += len;
	if (from == CLIENT)
		COUNT(s->worker, bytes_to_server, (uint64_t)len);
	else
		COUNT(s->worker, bytes_to_client, (uint64_t)len);
}

/* Gives what was read to the parser, then to the other side. */
static enum pump deliver(struct session *s, int from, size_t len)
{
	struct relay_worker *w = s->worker;
	bool secret = is_secret(s), ok;

	count_bytes(s, from, len);
	if (UNLIKELY(w->options->instrument != NULL) && is_interposed(s))
		return deliver_interposed(s, from, len);
	if (UNLIKELY(w->options->track_sql != NULL)) {
		if (from == CLIENT && track_begins_reset(span_of(w->scratch, len)))
			s->track_due = true;
		if (from == SERVER && s->track_sent) {
			size_t ours = track_take_answer(s, span_of(w->scratch, len));

			len -= ours;
			memmove(w->scratch, w->scratch + ours, len);
			if (!len)
				return PUMP_AGAIN;
		}
	}
	if (s->recording && !s->parsed && s->wire.phase != WIRE_OPAQUE)
		session_parse_now(s, from, len);
	if (from == SERVER && UNLIKELY(s->track_due) && !track_send(s))
		return PUMP_CLOSED;
	if (from == SERVER && !s->clearing.done)
		wire_clearing_apply(&s->clearing, w->scratch, len);
	if (UNLIKELY(s->login_flags)) {
		upgrade_flags(w->scratch);
		s->login_flags = false;
	}
	if (UNLIKELY(s->renumber[from].by) && renumber_apply(&s->renumber[from], w->scratch, len))
		s->renumber[CLIENT].by = s->renumber[SERVER].by = 0;
	secret |= s->recording && wire_is_secret(&s->wire);
	if (from == SERVER && s->recording && s->capture.answered_commit)
		session_hold(s);
	ok = session_forward(s, !from, w->scratch, len, secret);
	mem_wipe(w->scratch, secret ? len : 0);
	return ok ? PUMP_AGAIN : PUMP_CLOSED;
}

/* Reads the client's first packet, no further than a request for TLS goes, and acts on it. */
static enum pump pump_gate(struct session *s)
{
	struct relay_worker *w = s->worker;
	struct upgrade *upgrade = &s->upgrade;
	unsigned char request[UPGRADE_REQUEST_SIZE];
	enum pump done;
	ssize_t n;

	do {
		n = recv(s->side[CLIENT].fd, upgrade->bytes + upgrade->len, upgrade_room(upgrade),
			0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return nothing_read(s, CLIENT, n);
	upgrade->len += (size_t)n;
	memcpy(w->scratch, upgrade->bytes, upgrade->len);
	switch (upgrade_verdict(upgrade)) {
	case UPGRADE_MORE:
		return PUMP_AGAIN;
	case UPGRADE_TLS:
		s->gate = false;
		if (!w->options->tls_context.accept) {
			session_close(s, CLOSE_TLS_NOT_OFFERED);
			return PUMP_CLOSED;
		}
		done = deliver(s, CLIENT, upgrade->len);
		return done == PUMP_AGAIN && !(tls_start(s, CLIENT) && tls_start(s, SERVER))
			       ? PUMP_CLOSED
			       : done;
	case UPGRADE_PLAIN:
		break;
	}
	s->gate = false;
	if (w->options->tls != RELAY_TLS_TERMINATE || !(s->clearing.offered & CAP_SSL) ||
		upgrade->len < UPGRADE_REQUEST_SIZE)
		return deliver(s, CLIENT, upgrade->len);
	upgrade_request(upgrade, request);
	if (!session_forward(s, SERVER, request, sizeof(request), false) || !tls_start(s, SERVER))
		return PUMP_CLOSED;
	s->renumber[CLIENT].by = 1;
	s->renumber[SERVER].by = -1;
	s->login_flags = true;
	return deliver(s, CLIENT, upgrade->len);
}

/* Gives what was read to the other side, and to the parser in its time. */
static enum pump deliver_first(struct session *s, int from, const unsigned char *bytes, size_t len)
{
	struct relay_worker *w = s->worker;

	count_bytes(s, from, len);
	relay_note_read(s, from, len);
	/* What it is is not known yet: if it must wait, it is taken for a secret. */
	if (!session_forward(s, !from, bytes, len, true))
		return PUMP_CLOSED;
	if (from == SERVER && !s->side[CLIENT].pending.len)
		w->later.list[w->later.count - 1].sent = clock_mono_ns();
	/* The server is busy with it now, and no client waits for us. */
	if (from == CLIENT && w->later.count >= RELAY_LATER_GOOD)
		relay_parse_later(w);
	return PUMP_AGAIN;
}

/* One read of a side, given to the parser and to the other side. */
static enum pump pump(struct session *s, int from)
{
	struct relay_worker *w = s->worker;
	struct side *side = &s->side[from];
	unsigned char *bytes = w->scratch;
	bool later = s->settled && !w->draining;
	ssize_t n;

	if (UNLIKELY(s->gate) && from == CLIENT)
		return pump_gate(s);
	if (LIKELY(later)) {
		if (w->later.count == RELAY_LATER_MAX || w->later.len >= RELAY_LATER_SIZE)
			relay_parse_later(w);
		bytes = w->later.bytes + w->later.len;
	}
	do {
		n = side_recv(side, bytes, RELAY_READ_SIZE);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return nothing_read(s, from, n);
	/* A short read has emptied the socket, unless the end is waiting after it; TLS may hold
	 * more. */
	if ((size_t)n < RELAY_READ_SIZE && !side->hangup && !side->tls)
		side->readable = false;
	if (later && UNLIKELY(w->options->track_sql != NULL) && from == CLIENT &&
		track_begins_reset(span_of(bytes, (size_t)n))) {
		relay_parse_later(w); /* leaves what stands behind it */
		memmove(w->scratch, bytes, (size_t)n);
		s->settled = later = false;
	}
	return later ? deliver_first(s, from, bytes, (size_t)n) : deliver(s, from, (size_t)n);
}

/* The client is gone, and the server is still executing what it sent, as it would without a proxy: it
 * looks for the end of its client when it is done.  What that wrote is asked for before. */
static bool outlives_client(const struct session *s)
{
	return s->side[CLIENT].eof && !s->side[SERVER].eof && s->interpose &&
	       interpose_is_writing(s->interpose);
}

/* Passes a peer's end on, after everything that was read from it. */
static void pass_end(struct session *s, int from)
{
	struct side *to = &s->side[!from];

	if (s->side[from].eof && !to->shut && to->pending.len == 0 && !outlives_client(s)) {
		to->shut = true;
		if (to->tls)
			tls_end(to->tls);
		shutdown(to->fd, SHUT_WR);
	}
}

static bool at_rest(const struct session *s)
{
	if (s->side[CLIENT].pending.len || s->side[SERVER].pending.len || s->connecting)
		return false;
	if (!s->recording || s->wire.phase != WIRE_COMMANDS)
		return false;
	if (s->capture.muted || (s->interpose && interpose_has_log(s->interpose)))
		return false;
	return s->wire.count == 0 && frame_idle(&s->wire.client) && !capture_in_txn(&s->capture);
}

/* Ends a session that is at rest. */
void session_drain(struct session *s)
{
	if (s->recording && s->wire.phase == WIRE_COMMANDS && !capture_in_txn(&s->capture))
		flush_interposed(s);
	if (!s->dead && at_rest(s))
		session_close(s, CLOSE_SHUTDOWN);
}

/* Does what can be done without waiting. */
void session_work(struct session *s)
{
	int turns = 0;
	bool more = true;

	if (UNLIKELY(s->doom != NULL)) {
		doomed_work(s);
		return;
	}
	while (more && !s->dead) {
		more = false;
		for (int from = SERVER; from >= CLIENT; from--) {
			if (!side_flush(s, !from))
				return;
			if (!s->side[from].readable || s->side[!from].pending.len)
				continue;
			if (from == CLIENT && s->interpose &&
				(interpose_is_full(s->interpose) || outlives_client(s)))
				continue;
			if (++turns > RELAY_READS_IN_TURN) {
				put_ready(s);
				return;
			}
			switch (pump(s, from)) {
			case PUMP_AGAIN:
				more |= s->side[from].readable;
				break;
			case PUMP_DRY:
				break;
			case PUMP_CLOSED:
				return;
			}
		}
	}
	if (s->dead)
		return;
	pass_end(s, CLIENT);
	pass_end(s, SERVER);
	if (s->side[CLIENT].shut && s->side[SERVER].shut)
		session_close(s, s->end_reason);
	else if (s->worker->draining)
		session_drain(s);
}
