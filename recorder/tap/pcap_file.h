/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of captured packets: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), of
 * either byte order, compressed with gzip or not.
 *
 * A file that ends inside of a packet is read up to there, and says so.
 */
#ifndef TAP_PCAP_FILE_H
#define TAP_PCAP_FILE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

enum {
	PCAP_PACKET_MAX = 64 << 20, /* a larger one is damage */
	PCAP_INTERFACES_MAX = 1024,
};

struct pcap_packet {
	uint64_t at; /* since 1970, ns */
	uint32_t link;
	uint32_t length;   /* of the packet */
	struct span bytes; /* what was captured; valid until the next one */
};

/* Where bytes come from; for files and for tests in memory. */
struct pcap_source {
	/* As read(2): 0 at the end, below 0 and err when it fails. */
	int64_t (*read)(void *ctx, void *to, size_t size, struct err *err);
	void *ctx;
};

struct pcap_file;

enum pcap_next { PCAP_PACKET, PCAP_END, PCAP_TORN, PCAP_ERROR };

/* NULL and err: it is none.  `name` is for messages. */
struct pcap_file *pcap_file_open(const char *path, struct err *err) MUST_CHECK;
struct pcap_file *pcap_file_over(
	const struct pcap_source *source, const char *name, struct err *err) MUST_CHECK;
enum pcap_next pcap_file_next(struct pcap_file *file, struct pcap_packet *out, struct err *err) MUST_CHECK;
void pcap_file_close(struct pcap_file *file);

#endif
