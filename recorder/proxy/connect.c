/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The beginning of a session: who the client is, and the connection to its node. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proxy/session.h"

/* The client gets an ERR packet in place of the greeting, as from a server that refuses. */
static void refuse(struct session *s, int errnum)
{
	char text[400], reason[128];

	COUNT(s->worker, refused, 1);
	snprintf(text, sizeof(text), "isorec: cannot connect to node %s (%s): %s", s->node->name,
		s->node->upstream.text, strerror_r(errnum, reason, sizeof(reason)));
	session_send_error(s, 0, text);
	/* Clients come again and again: the first one tells. */
	if (!atomic_exchange(&s->node->capture.refuses, true))
		session_event(s, "refused", text);
	session_close_saying(s, CLOSE_REFUSED, text);
}

static void connect_next(struct session *s, int errnum)
{
	while (s->address_index < s->node->upstream.count) {
		int fd = address_connect(&s->node->upstream, s->address_index++);

		if (fd < 0) {
			errnum = errno;
			continue;
		}
		s->side[SERVER].fd = fd;
		s->side[SERVER].readable = s->side[SERVER].writable = s->side[SERVER].hangup =
			false;
		if (!session_watch(s, SERVER))
			refuse(s, errno);
		return;
	}
	refuse(s, errnum);
}

void session_connected(struct session *s)
{
	unsigned char header[PROXY_HEADER_MAX];
	size_t header_len;
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	getsockopt(s->side[SERVER].fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
	if (errnum) {
		close(s->side[SERVER].fd);
		s->side[SERVER].fd = -1;
		connect_next(s, errnum);
		return;
	}
	s->connecting = false;
	s->worker->connecting--;
	if (UNLIKELY(atomic_load_explicit(&s->node->capture.refuses, memory_order_relaxed)) &&
		atomic_exchange(&s->node->capture.refuses, false))
		session_event(s, "accepted again", NULL);
	header_len = proxy_header(s->worker->options->proxy_protocol, &s->ends, header);
	if (!session_forward(s, SERVER, header, header_len, false))
		return;
	session_work(s);
}

/* Who the client is is known: recording and connecting begin. */
static void session_begin(struct session *s)
{
	struct relay_worker *w = s->worker;
	char peer[ADDRESS_TEXT_SIZE];

	s->recording = w->capture.producer && s->id % w->options->sample == 0;
	if (s->recording) {
		if (s->ends.family != AF_UNSPEC)
			proxy_ends_print(&s->ends, peer);
		else
			sockaddr_print(&s->peer, peer);
		wire_init(&s->wire, &capture_sink, &s->capture, &w->budget);
		s->wire.caps_cleared = s->clearing.clear;
		s->wire.tls_ends = s->gate;
		s->wire.keep_max = w->options->packet_keep_max;
		s->wire.row_keep_max =
			capture_row_keep_max(&w->capture, w->options->packet_keep_max);
		capture_open(&s->capture, &w->capture, &s->node->capture, s->id, peer);
	}
	/* The server is told what the client told us, or where it came from. */
	if (s->ends.family == AF_UNSPEC && w->options->proxy_protocol != PROXY_PROTOCOL_NONE)
		s->ends = proxy_ends_of(s->side[CLIENT].fd);
	connect_next(s, ECONNREFUSED);
}

/* Looks at what the client sent without taking more than its header. */
void session_header_work(struct session *s)
{
	unsigned char *bytes = s->worker->scratch;
	ssize_t n = recv(s->side[CLIENT].fd, bytes, PROXY_HEADER_READ_MAX, MSG_PEEK);
	size_t used;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		session_close(s, CLOSE_CLIENT_GONE_BEFORE_HEADER);
		return;
	}
	switch (proxy_header_read(bytes, (size_t)n, &s->ends, &used)) {
	case PROXY_HEADER_MORE:
		return;
	case PROXY_HEADER_BAD:
		session_send_error(s, 0,
			"isorec: the connection must begin with a header of the PROXY protocol");
		COUNT(s->worker, refused, 1);
		session_close(s, CLOSE_NO_HEADER);
		return;
	case PROXY_HEADER_DONE:
		break;
	}
	s->header_due = false;
	if (recv(s->side[CLIENT].fd, bytes, used, 0) != (ssize_t)used)
		session_close(s, CLOSE_CLIENT_GONE_BEHIND_HEADER);
	else
		session_begin(s);
}

void session_open(struct relay_worker *w, const struct relay_arrival *arrival)
{
	struct session *s = mem_zero(1, sizeof(*s));

	s->worker = w;
	s->node = arrival->node;
	s->id = arrival->id;
	s->side[CLIENT].fd = arrival->fd;
	s->side[SERVER].fd = -1;
	s->connecting = true;
	s->connect_deadline = clock_mono_ns() + w->options->connect_timeout_ns;
	w->connecting++;
	s->next = w->sessions;
	if (s->next)
		s->next->prev = s;
	w->sessions = s;
	w->session_count++;
	COUNT(w, sessions, 1);
	COUNT(w, opened, 1);
	socket_prepare(arrival->fd);
	if (w->options->tls == RELAY_TLS_STRIP)
		s->clearing.clear |= (uint32_t)CAP_SSL;
	if (w->options->tls == RELAY_TLS_TERMINATE && !w->options->tls_context.accept)
		s->clearing.clear |= (uint32_t)CAP_SSL;
	s->gate = w->options->tls == RELAY_TLS_AS_CLIENT || w->options->tls == RELAY_TLS_TERMINATE;
	s->track_due = w->options->track_sql != NULL;
	if (w->options->no_compression || w->options->instrument || w->options->track_sql)
		s->clearing.clear |= (uint32_t)(CAP_COMPRESS | CAP_ZSTD);
	s->clearing.done = !s->clearing.clear && !s->gate;
	s->peer = arrival->peer;
	s->header_due = w->options->accept_proxy_protocol;
	if (!session_watch(s, CLIENT))
		session_close(s, CLOSE_NO_MEMORY_WATCH);
	else if (!s->header_due)
		session_begin(s);
}

void session_expire_connecting(struct session *s)
{
	if (s->header_due)
		session_close(s, CLOSE_HEADER_LATE);
	else if (s->connecting)
		refuse(s, ETIMEDOUT);
	else if (s->doom)
		session_close_saying(s, CLOSE_TLS_FAILED, s->doom);
}
