/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/disconnects.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "db/query.h"
#include "server/errors.h"

enum {
	/* So long after an announcement the end may come. */
	ANNOUNCED_NS = 50 * 1000 * 1000,
};

/* A rollback may take long; then the trace says that its end was not seen. */
static const uint64_t RELEASE_MAX_NS = UINT64_C(20) * 1000 * 1000 * 1000;

static bool is_open(const struct client *c)
{
	return c->mysql && !c->dead && !c->capture.ended;
}

short ends_events(const struct client *c)
{
	return is_open(c) ? POLLRDHUP : 0;
}

/* An error that the server sent without being asked, as MySQL does when wait_timeout is over.  It
 * stays in the socket: the library reads it too. */
static void peek_error(struct client *c)
{
	unsigned char bytes[512];
	ssize_t n;

	if (mysql_get_ssl_cipher(c->mysql))
		return;
	n = recv(mysql_get_socket(c->mysql), bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	if (n > 7 && bytes[4] == 0xff && bytes[1] == 0 && bytes[2] == 0) {
		size_t head = 7, len = (size_t)bytes[0] + 4;
		struct wire_reply reply = {.kind = REPLY_ERR,
			.last = true,
			.error = (uint16_t)(bytes[5] | bytes[6] << 8)};

		if (bytes[7] == '#' && len >= 13)
			head = 13;
		if (len <= (size_t)n && len >= head)
			reply.message = span_of(bytes + head, len - head);
		capture_sink.unsolicited(&c->capture, &reply);
	}
}

/* What is known of waiting sessions is out of date. */
static void unsettle(struct engine *e)
{
	e->event_ns = clock_mono_ns();
	for (size_t i = 0; i < e->client_count; i++)
		e->clients[i].settled = false;
}

void ends_tell(struct engine *e, struct client *c)
{
	peek_error(c);
	capture_server_ended(&c->capture, CLOSE_SERVER_CLOSED);
	unsettle(e);
}

void ends_answered(struct client *c)
{
	c->end_announced_ns = 0;
	if (c->error == ER_QUERY_INTERRUPTED || c->error == ER_SERVER_SHUTDOWN ||
		c->error == ER_CONNECTION_KILLED || c->error == ER_SESSION_WAS_KILLED)
		c->end_announced_ns = clock_mono_ns();
}

static bool awaits_release(const struct client *c)
{
	return c->mysql && c->capture.ended && !c->release_over;
}

bool ends_look(struct engine *e)
{
	uint64_t now = clock_mono_ns();
	bool wait = false;

	for (size_t i = 0; i < e->client_count; i++) {
		const struct client *c = &e->clients[i];

		e->fds[i] = (struct pollfd){.fd = -1};
		if (c->state == CLIENT_IDLE && is_open(c))
			e->fds[i] = (struct pollfd){
				.fd = mysql_get_socket(c->mysql), .events = ends_events(c)};
	}
	if (poll(e->fds, e->client_count, 0) < 0)
		return false; /* a signal */
	for (size_t i = 0; i < e->client_count; i++) {
		struct client *c = &e->clients[i];

		if (e->fds[i].fd >= 0 && e->fds[i].revents)
			ends_tell(e, c);
		wait |= awaits_release(c) ||
			(is_open(c) && c->state == CLIENT_IDLE && c->end_announced_ns &&
				now < c->end_announced_ns + ANNOUNCED_NS);
	}
	return wait;
}

/* The connections of a node that are awaited, as a list for IN; false: none is. */
static bool awaited(struct engine *e, size_t node, struct buf *ids)
{
	for (size_t i = 0; i < e->client_count; i++) {
		const struct client *c = &e->clients[i];

		if (awaits_release(c) && c->node == node)
			buf_printf(ids, "%s%lu", ids->len ? "," : "", mysql_thread_id(c->mysql));
	}
	return ids->len != 0;
}

static bool is_listed(MYSQL_RES *result, unsigned long thread)
{
	MYSQL_ROW row;

	mysql_data_seek(result, 0);
	while ((row = mysql_fetch_row(result)) != NULL)
		if (row[0] && strtoul(row[0], NULL, 10) == thread)
			return true;
	return false;
}

static void ask_node(struct engine *e, size_t node, const struct buf *ids)
{
	MYSQL *control = e->nodes[node].control;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result = NULL;

	buf_printf(&sql, "select id from information_schema.processlist where id in (%s)",
		ids->data);
	if (db_send(control, sql.data) == 0)
		result = db_result(control);
	for (size_t i = 0; i < e->client_count; i++) {
		struct client *c = &e->clients[i];

		if (!awaits_release(c) || c->node != node)
			continue;
		if (!c->ended_ns)
			c->ended_ns = clock_mono_ns();
		if (result && !is_listed(result, mysql_thread_id(c->mysql))) {
			capture_server_released(&c->capture);
			c->release_over = true;
			unsettle(e);
		} else if (!result || clock_mono_ns() > c->ended_ns + RELEASE_MAX_NS) {
			c->release_over = true; /* not known */
		}
	}
	mysql_free_result(result);
	buf_release(&sql);
}

void ends_ask(struct engine *e)
{
	for (size_t i = 0; i < e->node_count; i++) {
		struct buf ids = BUF_INIT;

		if (awaited(e, i, &ids))
			ask_node(e, i, &ids);
		buf_release(&ids);
	}
}
