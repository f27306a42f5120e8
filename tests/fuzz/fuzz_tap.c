/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of packets and what is in them, on arbitrary bytes.  Beyond not crashing: what a segment is told
 * to have was captured, and what is missing of it was in the packet.
 */
#include <string.h>

#include "base/bug.h"
#include "tap/packet.h"
#include "tap/pcap_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct memory {
	const uint8_t *p;
	size_t left;
};

static int64_t take(void *ctx, void *to, size_t size, struct err *err)
{
	struct memory *m = ctx;
	size_t n = size < m->left ? size : m->left;

	(void)err;
	memcpy(to, m->p, n);
	m->p += n;
	m->left -= n;
	return (int64_t)n;
}

static void check(const struct pcap_packet *packet)
{
	struct packet_segment s;

	CHECK(packet->bytes.len <= packet->length);
	if (!packet_link_known(packet->link) ||
		packet_read(packet->link, packet->bytes, packet->length, &s) != PACKET_TCP)
		return;
	CHECK(s.payload.ptr >= packet->bytes.ptr &&
		s.payload.ptr + s.payload.len <= packet->bytes.ptr + packet->bytes.len);
	CHECK((uint64_t)s.payload.len + s.missing <= packet->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {data, size};
	struct pcap_source source = {take, &memory};
	struct err err;
	struct pcap_file *file = pcap_file_over(&source, "memory", &err);
	struct pcap_packet packet;

	while (file && pcap_file_next(file, &packet, &err) == PCAP_PACKET)
		check(&packet);
	pcap_file_close(file);
	return 0;
}
