/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol parser against written conversations (talk.h): each is fed whole, packet by packet, byte by
 * byte, and cut in two at every position, and must be understood the same each time, as written in
 * the test.
 */
#ifndef WIRE_CHECKS_H
#define WIRE_CHECKS_H

#include <check.h>

#include "talk.h"
#include "wire/wire.h"

/* The parser's events, a line for each. */
struct log {
	struct buf text;
};
extern const struct wire_sink log_sink;

struct feeding {
	size_t keep_max;
	size_t run, at; /* cut this run of one direction at this offset; run SIZE_MAX: none */
	bool bytes;     /* one byte at a time */
	bool packets;   /* each step by itself; else runs of one direction are joined */
};
extern struct wire_stamp stamp;

void feed(struct wire *w, bool server, const char *p, size_t len);
/* The lengths of the runs go to `lengths` when it is not NULL; returns how many there are. */
size_t run_talk(const struct talk *t, const struct feeding *how, struct log *log, size_t *lengths);
void same(const struct talk *t, const struct feeding *how, const char *expected);
/* All ways to feed it; releases it. */
void check_talk(struct talk *t, const char *expected);

#define CONNECTED_MARIADB                                                                          \
	"greeting 10.11.6-MariaDB thread 7\nlogin bob@shop\nauth ok 0 status 2 last\n"
#define CONNECTED_MYSQL "greeting 8.0.45 thread 7\nlogin bob@shop\nauth ok 0 status 2 last\n"

/* Capabilities that change what answers look like. */
extern const uint64_t cap_sets[];
extern const size_t cap_set_count;
const char *connected(uint64_t caps);

#endif
