/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap/tap.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "wire/limits.h"

enum {
	CLIENT = 0,
	SERVER = 1,
	BUCKETS = 4096,
	ADDRESS_TEXT = 64,
	ENDED_KEPT = 256, /* connections whose late packets are known to be copies */
};

/* A segment that waits for others. */
struct held {
	struct held *next;
	uint32_t seq, ack;
	bool has_ack, fin;
	uint64_t at, begin_seq;
	uint32_t missing;
	size_t len;
	unsigned char bytes[];
};

struct flow {
	bool known; /* `next` is */
	bool ended; /* its FIN was taken */
	uint32_t next;
	uint32_t first; /* of the connection; where its beginning was captured */
	struct held *held; /* by seq */
};

struct connection {
	struct connection *next_in_bucket;
	struct connection *older, *newer; /* by when something was last heard */
	struct packet_end client, server;
	struct flow flow[2];
	size_t held_bytes;
	unsigned waited; /* packets since something is held */
	bool opaque;     /* nothing more is read */
	bool counted;    /* as opaque */
	bool reset;
	uint64_t statements_counted;
	struct wire wire;
	struct capture capture;
};

struct tap {
	struct capture_worker *worker;
	struct capture_node *node;
	struct wire_budget budget;
	uint16_t ports[TAP_PORTS_MAX];
	size_t port_count;
	uint64_t now;
	uint32_t sessions;
	struct connection *buckets[BUCKETS];
	struct connection *oldest, *newest;
	size_t count;
	struct {
		struct packet_end client, server;
		uint32_t next[2]; /* behind all of it */
	} ended[ENDED_KEPT]; /* a ring */
	size_t ended_count;
	struct tap_counts counts;
};

const uint64_t *tap_clock(const struct tap *tap)
{
	return &tap->now;
}

const struct tap_counts *tap_counts(const struct tap *tap)
{
	return &tap->counts;
}

struct tap *tap_new(struct capture_worker *worker, struct capture_node *node, const uint16_t *ports,
	size_t port_count)
{
	struct tap *tap = mem_zero(1, sizeof(*tap));

	tap->worker = worker;
	tap->node = node;
	tap->budget.max = 64 << 20;
	tap->port_count = port_count < TAP_PORTS_MAX ? port_count : TAP_PORTS_MAX;
	memcpy(tap->ports, ports, tap->port_count * sizeof(*ports));
	return tap;
}

/* ---- connections ---- */

static bool is_server(const struct tap *tap, const struct packet_end *end)
{
	for (size_t i = 0; i < tap->port_count; i++)
		if (tap->ports[i] == end->port)
			return true;
	return false;
}

static bool same_end(const struct packet_end *a, const struct packet_end *b)
{
	return a->port == b->port && a->ipv6 == b->ipv6 && !memcmp(a->address, b->address, PACKET_ADDRESS_SIZE);
}

static size_t bucket_of(const struct packet_end *client, const struct packet_end *server)
{
	uint64_t hash = hash_bytes((const char *)client->address, PACKET_ADDRESS_SIZE) ^
			hash_bytes((const char *)server->address, PACKET_ADDRESS_SIZE) * 3;

	return hash_u64(hash ^ (uint64_t)client->port << 16 ^ server->port) % BUCKETS;
}

static struct connection *find(
	struct tap *tap, const struct packet_end *client, const struct packet_end *server)
{
	struct connection *c = tap->buckets[bucket_of(client, server)];

	while (c && !(same_end(&c->client, client) && same_end(&c->server, server)))
		c = c->next_in_bucket;
	return c;
}

static void note_ended(struct tap *tap, const struct connection *c)
{
	size_t at = tap->ended_count++ % ENDED_KEPT;

	tap->ended[at].client = c->client;
	tap->ended[at].server = c->server;
	tap->ended[at].next[CLIENT] = c->flow[CLIENT].next;
	tap->ended[at].next[SERVER] = c->flow[SERVER].next;
}

static void unlink_age(struct tap *tap, struct connection *c)
{
	*(c->older ? &c->older->newer : &tap->oldest) = c->newer;
	*(c->newer ? &c->newer->older : &tap->newest) = c->older;
}

static void link_newest(struct tap *tap, struct connection *c)
{
	c->newer = NULL;
	c->older = tap->newest;
	*(c->older ? &c->older->newer : &tap->oldest) = c;
	tap->newest = c;
}

static void print_end(const struct packet_end *end, char out[ADDRESS_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "?";

	inet_ntop(end->ipv6 ? AF_INET6 : AF_INET, end->address, host, sizeof(host));
	(void)snprintf(out, ADDRESS_TEXT, end->ipv6 ? "[%s]:%u" : "%s:%u", host, end->port);
}

static void count_statements(struct tap *tap, struct connection *c)
{
	tap->counts.statements += c->capture.statements - c->statements_counted;
	c->statements_counted = c->capture.statements;
}

/* Packets of it are read no more. */
static void make_opaque(struct tap *tap, struct connection *c, const char *reason)
{
	c->opaque = true;
	if (c->wire.phase != WIRE_OPAQUE)
		wire_make_opaque(&c->wire, reason);
	count_statements(tap, c);
	if (!c->counted)
		tap->counts.opaque++;
	c->counted = true;
	for (int way = CLIENT; way <= SERVER; way++) {
		while (c->flow[way].held) {
			struct held *h = c->flow[way].held;

			c->flow[way].held = h->next;
			mem_free(h);
		}
	}
	c->held_bytes = 0;
	c->waited = 0;
}

static struct connection *open_connection(
	struct tap *tap, const struct packet_end *client, const struct packet_end *server)
{
	struct connection *c = mem_zero(1, sizeof(*c));
	size_t bucket = bucket_of(client, server);
	char name[ADDRESS_TEXT];

	c->client = *client;
	c->server = *server;
	c->next_in_bucket = tap->buckets[bucket];
	tap->buckets[bucket] = c;
	link_newest(tap, c);
	tap->count++;
	tap->counts.sessions++;
	print_end(client, name);
	wire_init(&c->wire, &capture_sink, &c->capture, &tap->budget);
	c->wire.keep_max = WIRE_PACKET_KEEP_MAX;
	c->wire.row_keep_max = capture_row_keep_max(tap->worker, WIRE_PACKET_KEEP_MAX);
	capture_open(&c->capture, tap->worker, tap->node, ++tap->sessions, name);
	return c;
}

/* `server`: its side ended it. */
static void close_connection(struct tap *tap, struct connection *c, enum close_reason reason)
{
	struct connection **at = &tap->buckets[bucket_of(&c->client, &c->server)];
	struct wire_stamp now = {tap->now, 0, 0};
	bool lost;

	while (*at != c)
		at = &(*at)->next_in_bucket;
	*at = c->next_in_bucket;
	unlink_age(tap, c);
	tap->count--;
	for (int way = CLIENT; way <= SERVER; way++) {
		while (c->flow[way].held) {
			struct held *h = c->flow[way].held;

			c->flow[way].held = h->next;
			mem_free(h);
		}
	}
	lost = !c->capture.quit && c->wire.phase == WIRE_COMMANDS;
	wire_end(&c->wire, now);
	if (lost && close_reason_is_servers(reason))
		capture_server_ended(&c->capture, reason);
	count_statements(tap, c);
	wire_release(&c->wire);
	capture_close(&c->capture, reason, NULL);
	mem_free(c);
}

/* Its end was not captured: what came of its transaction is not known. */
static void give_up(struct tap *tap, struct connection *c, const char *reason)
{
	if (!c->opaque && (capture_in_txn(&c->capture) || c->wire.count || c->held_bytes))
		make_opaque(tap, c, reason);
	close_connection(tap, c, CLOSE_LOST);
}

/* ---- streams ---- */

/* How far a is before b. */
static int32_t distance(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a);
}

/* Gives bytes of one direction to the parser. */
static void take_bytes(
	struct tap *tap, struct connection *c, int way, struct span bytes, uint64_t at, uint64_t begin_seq)
{
	struct wire_stamp stamp = {at, way == CLIENT ? begin_seq : 0, 0};

	if (!bytes.len)
		return;
	if (way == CLIENT)
		wire_feed_client(&c->wire, bytes, stamp);
	else
		wire_feed_server(&c->wire, bytes, stamp);
	count_statements(tap, c);
	if (c->wire.phase == WIRE_OPAQUE) {
		tap->counts.tls += c->wire.reason && strstr(c->wire.reason, "TLS") != NULL;
		make_opaque(tap, c, "");
	}
}

/* Had its sender received more of the other direction than was taken yet? */
static bool is_ahead(const struct connection *c, int way, bool has_ack, uint32_t ack)
{
	const struct flow *other = &c->flow[!way];

	return has_ack && other->known && distance(other->next, ack) > 0;
}

static void lose(struct tap *tap, struct connection *c, uint64_t bytes)
{
	tap->counts.lost_segments++;
	tap->counts.lost_bytes += bytes;
	make_opaque(tap, c, "packets were lost");
}

/* A piece that begins at `next` or before it, and ends behind it. */
static void take_piece(struct tap *tap, struct connection *c, int way, uint32_t seq, struct span bytes,
	uint32_t missing, bool fin, uint64_t at, uint64_t begin_seq)
{
	struct flow *f = &c->flow[way];
	uint32_t known = (uint32_t)distance(seq, f->next);

	/* What was taken before may be repeated in front of it. */
	if (known < bytes.len)
		take_bytes(tap, c, way, span_of(bytes.ptr + known, bytes.len - known), at, begin_seq);
	f->next = seq + (uint32_t)bytes.len + missing + fin;
	f->ended |= fin;
	if (missing && !c->opaque)
		lose(tap, c, missing);
}

/* Takes what can be taken now of what waits. */
static void take_held(struct tap *tap, struct connection *c)
{
	bool more = true;

	while (more && !c->opaque) {
		more = false;
		for (int way = CLIENT; way <= SERVER && !c->opaque; way++) {
			struct held *h = c->flow[way].held;

			if (!h || distance(c->flow[way].next, h->seq) > 0 || is_ahead(c, way, h->has_ack, h->ack))
				continue;
			c->flow[way].held = h->next;
			c->held_bytes -= h->len;
			if (distance(c->flow[way].next, h->seq + (uint32_t)h->len + h->missing + h->fin) > 0)
				take_piece(tap, c, way, h->seq, span_of(h->bytes, h->len), h->missing, h->fin, h->at,
					h->begin_seq);
			mem_free(h);
			more = true;
		}
	}
	if (!c->flow[CLIENT].held && !c->flow[SERVER].held)
		c->waited = 0;
}

static void hold(struct tap *tap, struct connection *c, int way, const struct packet_segment *s, uint64_t begin_seq)
{
	struct held **at = &c->flow[way].held, *h;

	while (*at && distance((*at)->seq, s->seq) >= 0)
		at = &(*at)->next;
	h = mem_alloc(sizeof(*h) + s->payload.len);
	*h = (struct held){.next = *at,
		.seq = s->seq,
		.ack = s->ack,
		.has_ack = s->has_ack,
		.fin = s->fin,
		.at = tap->now,
		.begin_seq = begin_seq,
		.missing = s->missing,
		.len = s->payload.len};
	if (s->payload.len)
		memcpy(h->bytes, s->payload.ptr, s->payload.len);
	*at = h;
	c->held_bytes += h->len;
}

/* What it waits for was waited for long enough. */
static void lose_patience(struct tap *tap, struct connection *c)
{
	if (c->opaque || (!c->flow[CLIENT].held && !c->flow[SERVER].held))
		return;
	if (++c->waited <= TAP_PATIENCE && c->held_bytes <= TAP_HELD_MAX)
		return;
	lose(tap, c, 0);
}

static void take_segment(struct tap *tap, struct connection *c, int way, const struct packet_segment *s)
{
	struct flow *f = &c->flow[way];
	uint32_t length = (uint32_t)s->payload.len + s->missing + s->fin;
	uint64_t begin_seq = way == CLIENT && s->payload.len ? capture_begin_seq(tap->worker) : 0;

	if (!f->known) {
		f->known = true;
		f->next = s->seq;
	}
	if (c->opaque) {
		if (distance(f->next, s->seq + length) > 0)
			f->next = s->seq + length;
		f->ended |= s->fin;
		return;
	}
	if (length && distance(f->next, s->seq + length) > 0) {
		if (f->held || distance(f->next, s->seq) > 0 || is_ahead(c, way, s->has_ack, s->ack))
			hold(tap, c, way, s, begin_seq);
		else
			take_piece(tap, c, way, s->seq, s->payload, s->missing, s->fin, tap->now, begin_seq);
	} else if (!length && is_ahead(c, way, s->has_ack, s->ack) && !c->flow[!way].held) {
		/* It has received what we have not: an acknowledgement alone may have come before it. */
		c->waited++;
		if (c->waited > TAP_PATIENCE)
			lose(tap, c, 0);
		return;
	}
	take_held(tap, c);
	lose_patience(tap, c);
}

/* ---- packets ---- */

/* Was it sent, or captured, once more, of a connection that has ended?  Not what is behind its end: that is of another one
 * with the same ports. */
static bool is_late(const struct tap *tap, const struct packet_segment *s, bool from_server)
{
	const struct packet_end *client = from_server ? &s->to : &s->from, *server = from_server ? &s->from : &s->to;
	size_t count = tap->ended_count < ENDED_KEPT ? tap->ended_count : ENDED_KEPT;
	uint32_t end = s->seq + (uint32_t)s->payload.len + s->missing;

	for (size_t i = 0; i < count; i++)
		if (same_end(&tap->ended[i].client, client) && same_end(&tap->ended[i].server, server) &&
			distance(tap->ended[i].next[from_server ? SERVER : CLIENT], end) <= 0)
			return true;
	return false;
}

/* A connection that begins; one with the same ends is over, whether its end was seen or not. */
static void take_syn(struct tap *tap, struct connection *c, const struct packet_segment *s, bool from_server)
{
	const struct packet_end *client = from_server ? &s->to : &s->from;
	const struct packet_end *server = from_server ? &s->from : &s->to;
	int way = from_server ? SERVER : CLIENT;

	/* Sent, or captured, once more. */
	if (c && c->flow[way].known && c->flow[way].first == s->seq + 1)
		return;
	if (c && (!from_server || c->flow[SERVER].known)) {
		give_up(tap, c, "packets were lost");
		c = NULL;
	}
	if (!c)
		c = open_connection(tap, client, server);
	c->flow[way].known = true;
	c->flow[way].next = c->flow[way].first = s->seq + 1;
	/* The server's alone: the client's is what it acknowledges. */
	if (from_server && s->has_ack && !c->flow[CLIENT].known) {
		c->flow[CLIENT].known = true;
		c->flow[CLIENT].next = c->flow[CLIENT].first = s->ack;
	}
}

static void take_end(struct tap *tap, struct connection *c, const struct packet_segment *s, bool from_server)
{
	if (s->rst) {
		if (c->flow[CLIENT].held || c->flow[SERVER].held)
			make_opaque(tap, c, "packets were lost");
		note_ended(tap, c);
		close_connection(tap, c, from_server ? CLOSE_SERVER_RESET : CLOSE_CLIENT_RESET);
	} else if (c->flow[CLIENT].ended && c->flow[SERVER].ended) {
		note_ended(tap, c);
		close_connection(tap, c, c->reset ? CLOSE_SERVER_CLOSED : CLOSE_CLIENT_CLOSED);
	} else if (c->flow[SERVER].ended && !c->flow[CLIENT].ended) {
		c->reset = true; /* the server was first */
	}
}

void tap_packet(struct tap *tap, uint64_t at, uint32_t link, struct span bytes, uint32_t length)
{
	struct packet_segment s;
	struct connection *c;
	bool from_server;

	/* Packets of several interfaces may stand in another order than that of their times. */
	if (at > tap->now)
		tap->now = at;
	tap->counts.packets++;
	switch (packet_read(link, bytes, length, &s)) {
	case PACKET_OTHER:
		return;
	case PACKET_FRAGMENT:
		tap->counts.fragments++;
		return;
	case PACKET_BAD:
		tap->counts.damaged++;
		return;
	case PACKET_TCP:
		break;
	}
	from_server = is_server(tap, &s.from);
	if (!from_server && !is_server(tap, &s.to))
		return;
	tap->counts.segments++;
	tap->counts.bytes += s.payload.len;
	c = from_server ? find(tap, &s.to, &s.from) : find(tap, &s.from, &s.to);
	/* Both ends have such a port: who is who, the first packet of the connection says. */
	if (!c && is_server(tap, &s.to) && from_server) {
		c = find(tap, &s.from, &s.to);
		if (c || (s.syn && !s.has_ack))
			from_server = false;
	}
	if (s.syn) {
		take_syn(tap, c, &s, from_server);
		return;
	}
	if (!c && (s.rst || (!s.payload.len && !s.missing) || is_late(tap, &s, from_server)))
		return;
	if (!c) {
		while (tap->count >= TAP_CONNECTIONS_MAX)
			give_up(tap, tap->oldest, "more connections than can be followed");
		c = from_server ? open_connection(tap, &s.to, &s.from) : open_connection(tap, &s.from, &s.to);
		tap->counts.picked_up++;
		make_opaque(tap, c, "its login was not captured");
	}
	unlink_age(tap, c);
	link_newest(tap, c);
	take_segment(tap, c, from_server ? SERVER : CLIENT, &s);
	take_end(tap, c, &s, from_server);
}

void tap_dropped(struct tap *tap, uint64_t packets)
{
	tap->counts.dropped += packets;
}

void tap_end(struct tap *tap)
{
	while (tap->oldest) {
		struct connection *c = tap->oldest;

		if (!c->opaque && (c->flow[CLIENT].held || c->flow[SERVER].held))
			lose(tap, c, 0);
		/* It goes on: what comes of its transaction is not captured. */
		if (!c->opaque && (capture_in_txn(&c->capture) || c->wire.count))
			make_opaque(tap, c, "capturing has ended");
		close_connection(tap, c, CLOSE_SHUTDOWN);
	}
}

void tap_free(struct tap *tap)
{
	if (!tap)
		return;
	tap_end(tap);
	mem_free(tap);
}
