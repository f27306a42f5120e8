/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap/pcap_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"

enum {
	HEAD_SIZE = 24,
	PACKET_HEAD_SIZE = 16,
	BLOCK_HEAD_SIZE = 8,
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET_OLD = 2,
	BLOCK_SIMPLE = 3,
	BLOCK_ENHANCED = 6,
	OPTION_TSRESOL = 9,
	OPTION_TSOFFSET = 14,
};

#define PCAP_US      0xa1b2c3d4u
#define PCAP_NS      0xa1b23c4du
#define PCAPNG_ORDER 0x1a2b3c4du

struct interface {
	uint32_t link, snap;
	uint64_t per_second; /* units of its times */
	int64_t offset_s;
};

struct pcap_file {
	struct pcap_source source;
	gzFile gz;
	char *name;
	bool next_generation, swapped, nanoseconds;
	bool begun; /* the first block's type was read with the file's first bytes */
	uint32_t link;
	struct interface *interfaces;
	size_t interface_count, interface_capacity;
	uint64_t last_at; /* a simple packet has no time of its own */
	struct buf bytes;
};

static uint32_t swap32(uint32_t v)
{
	return v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24;
}

static uint32_t u32(const struct pcap_file *f, const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return f->swapped ? swap32(v) : v;
}

static uint16_t u16(const struct pcap_file *f, const char *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return f->swapped ? (uint16_t)(v >> 8 | v << 8) : v;
}

/* ---- bytes ---- */

static int64_t read_gz(void *ctx, void *to, size_t size, struct err *err)
{
	struct pcap_file *f = ctx;
	int n = gzread(f->gz, to, (unsigned)(size < (1u << 30) ? size : 1u << 30)), number;

	/* A compressed file that was cut off ends there. */
	if (n < 0 && (gzerror(f->gz, &number), number == Z_BUF_ERROR))
		return 0;
	if (n < 0)
		err_set(err, ERR_IO, "cannot read %s: %s", f->name, gzerror(f->gz, &number));
	return n;
}

/* Appends so many to `bytes`; fewer: the file has ended. */
static enum pcap_next take(struct pcap_file *f, size_t size, struct err *err)
{
	enum { STEP = 1 << 20 }; /* a forged length asks for no memory before the bytes are there */
	size_t got = 0;

	while (got < size) {
		size_t step = size - got < STEP ? size - got : STEP;
		int64_t n = f->source.read(f->source.ctx, buf_reserve(&f->bytes, step), step, err);

		if (n < 0)
			return PCAP_ERROR;
		if (n == 0)
			return got ? PCAP_TORN : PCAP_END;
		f->bytes.len += (size_t)n;
		got += (size_t)n;
	}
	return PCAP_PACKET;
}

static enum pcap_next damaged(const struct pcap_file *f, const char *what, struct err *err)
{
	err_set(err, ERR_FORMAT, "%s: damaged: %s", f->name, what);
	return PCAP_ERROR;
}

/* ---- begin ---- */

static bool read_head(struct pcap_file *f, struct err *err)
{
	uint32_t magic;
	enum pcap_next next = take(f, sizeof(magic), err);

	if (next == PCAP_ERROR)
		return false;
	if (next != PCAP_PACKET)
		return err_set(err, ERR_EMPTY, "%s: no packets: the file is empty", f->name);
	memcpy(&magic, f->bytes.data, sizeof(magic));
	if (magic == BLOCK_SECTION) {
		f->next_generation = f->begun = true;
		return true;
	}
	f->swapped = magic == swap32(PCAP_US) || magic == swap32(PCAP_NS);
	if (f->swapped)
		magic = swap32(magic);
	f->nanoseconds = magic == PCAP_NS;
	if (magic != PCAP_US && magic != PCAP_NS)
		return err_set(err, ERR_FOREIGN,
			"%s: not a file of packets: pcap and pcapng are read, as tcpdump and dumpcap write them", f->name);
	next = take(f, HEAD_SIZE - sizeof(magic), err);
	if (next == PCAP_ERROR)
		return false;
	if (next != PCAP_PACKET)
		return err_set(err, ERR_FORMAT, "%s: ends inside of its header", f->name);
	f->link = u32(f, f->bytes.data + 20) & 0xffff;
	buf_clear(&f->bytes);
	return true;
}

static struct pcap_file *begin(struct pcap_file *f, struct err *err)
{
	if (read_head(f, err))
		return f;
	pcap_file_close(f);
	return NULL;
}

struct pcap_file *pcap_file_over(const struct pcap_source *source, const char *name, struct err *err)
{
	struct pcap_file *f = mem_zero(1, sizeof(*f));

	f->source = *source;
	f->name = mem_strdup(name);
	return begin(f, err);
}

struct pcap_file *pcap_file_open(const char *path, struct err *err)
{
	gzFile gz = gzopen(path, "rb"); /* reads what is not compressed, too */
	struct pcap_file *f;

	if (!gz) {
		err_set_errno(err, errno, "cannot open %s", path);
		return NULL;
	}
	f = mem_zero(1, sizeof(*f));
	f->gz = gz;
	f->name = mem_strdup(path);
	f->source = (struct pcap_source){read_gz, f};
	return begin(f, err);
}

void pcap_file_close(struct pcap_file *f)
{
	if (!f)
		return;
	if (f->gz)
		gzclose(f->gz);
	mem_free(f->interfaces);
	mem_free(f->name);
	buf_release(&f->bytes);
	mem_free(f);
}

/* ---- packets ---- */

static enum pcap_next next_pcap(struct pcap_file *f, struct pcap_packet *out, struct err *err)
{
	uint32_t captured, s, part;
	enum pcap_next next;

	buf_clear(&f->bytes);
	next = take(f, PACKET_HEAD_SIZE, err);
	if (next != PCAP_PACKET)
		return next;
	s = u32(f, f->bytes.data);
	part = u32(f, f->bytes.data + 4);
	captured = u32(f, f->bytes.data + 8);
	out->length = u32(f, f->bytes.data + 12);
	out->link = f->link;
	out->at = (uint64_t)s * 1000000000u + (uint64_t)part * (f->nanoseconds ? 1 : 1000);
	if (captured > PCAP_PACKET_MAX)
		return damaged(f, "a packet has an impossible length", err);
	buf_clear(&f->bytes);
	next = take(f, captured, err);
	if (next != PCAP_PACKET)
		return next == PCAP_END ? PCAP_TORN : next;
	out->bytes = span_of(f->bytes.data ? f->bytes.data : "", captured);
	if (out->length < captured)
		out->length = captured;
	return PCAP_PACKET;
}

/* 10^-n, or with the highest bit 2^-n. */
static uint64_t units_of(uint8_t resolution)
{
	uint64_t units = 1;

	if (resolution & 0x80)
		return (resolution & 0x7f) < 63 ? UINT64_C(1) << (resolution & 0x7f) : 0;
	for (unsigned i = 0; i < resolution; i++) {
		if (units > UINT64_MAX / 10)
			return 0;
		units *= 10;
	}
	return units;
}

static bool add_interface(struct pcap_file *f, struct span body)
{
	struct interface *i;
	size_t at = 8;

	if (body.len < 8 || f->interface_count == PCAP_INTERFACES_MAX)
		return false;
	MEM_RESERVE(f->interfaces, f->interface_count + 1, f->interface_capacity);
	i = &f->interfaces[f->interface_count++];
	*i = (struct interface){
		.link = u16(f, body.ptr), .snap = u32(f, body.ptr + 4), .per_second = 1000000};
	while (at + 4 <= body.len) {
		uint16_t code = u16(f, body.ptr + at), len = u16(f, body.ptr + at + 2);

		at += 4;
		if (!code || len > body.len - at)
			break;
		if (code == OPTION_TSRESOL && len >= 1)
			i->per_second = units_of((uint8_t)body.ptr[at]);
		if (code == OPTION_TSOFFSET && len >= 8) {
			uint32_t one = u32(f, body.ptr + at), two = u32(f, body.ptr + at + 4);
			bool big = f->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

			i->offset_s = (int64_t)(big ? (uint64_t)one << 32 | two : (uint64_t)two << 32 | one);
		}
		at += (len + 3u) & ~3u;
	}
	return i->per_second != 0;
}

static bool take_enhanced(struct pcap_file *f, struct span body, bool old, struct pcap_packet *out)
{
	const struct interface *i;
	uint32_t number, captured;
	uint64_t time;

	if (body.len < 20)
		return false;
	number = old ? u16(f, body.ptr) : u32(f, body.ptr);
	if (number >= f->interface_count)
		return false;
	i = &f->interfaces[number];
	time = (uint64_t)u32(f, body.ptr + 4) << 32 | u32(f, body.ptr + 8);
	captured = u32(f, body.ptr + 12);
	out->length = u32(f, body.ptr + 16);
	if (captured > body.len - 20)
		return false;
	out->at = (uint64_t)((int64_t)(time / i->per_second) + i->offset_s) * 1000000000u +
		  (uint64_t)((double)(time % i->per_second) * 1e9 / (double)i->per_second);
	f->last_at = out->at;
	out->link = i->link;
	out->bytes = span_of(body.ptr + 20, captured);
	if (out->length < captured)
		out->length = captured;
	return true;
}

static bool take_simple(struct pcap_file *f, struct span body, struct pcap_packet *out)
{
	uint32_t captured;

	if (body.len < 4 || !f->interface_count)
		return false;
	out->length = u32(f, body.ptr);
	captured = out->length;
	if (f->interfaces[0].snap && captured > f->interfaces[0].snap)
		captured = f->interfaces[0].snap;
	if (captured > body.len - 4)
		return false;
	out->at = f->last_at;
	out->link = f->interfaces[0].link;
	out->bytes = span_of(body.ptr + 4, captured);
	return true;
}

/* One block; *packet: it was one of a packet. */
static enum pcap_next next_block(struct pcap_file *f, struct pcap_packet *out, bool *packet, struct err *err)
{
	uint32_t type, size;
	struct span body;
	enum pcap_next next = PCAP_PACKET;

	*packet = false;
	if (!f->begun) {
		buf_clear(&f->bytes);
		next = take(f, 4, err);
	}
	f->begun = false;
	if (next != PCAP_PACKET)
		return next;
	next = take(f, BLOCK_HEAD_SIZE - 4, err);
	if (next != PCAP_PACKET)
		return next == PCAP_END ? PCAP_TORN : next;
	memcpy(&type, f->bytes.data, sizeof(type));
	if (type == BLOCK_SECTION) {
		/* A section has its own byte order and interfaces. */
		next = take(f, 4, err);
		if (next != PCAP_PACKET)
			return next == PCAP_END ? PCAP_TORN : next;
		f->swapped = false;
		f->swapped = u32(f, f->bytes.data + 8) == swap32(PCAPNG_ORDER);
		if (u32(f, f->bytes.data + 8) != PCAPNG_ORDER)
			return damaged(f, "a section without its byte order", err);
		f->interface_count = 0;
	}
	type = u32(f, f->bytes.data);
	size = u32(f, f->bytes.data + 4);
	if (size < f->bytes.len + 4 || size > PCAP_PACKET_MAX || size % 4)
		return damaged(f, "a block has an impossible length", err);
	next = take(f, size - f->bytes.len, err);
	if (next != PCAP_PACKET)
		return next == PCAP_END ? PCAP_TORN : next;
	if (u32(f, f->bytes.data + size - 4) != size)
		return damaged(f, "a block whose two lengths differ", err);
	body = span_of(f->bytes.data + BLOCK_HEAD_SIZE, size - BLOCK_HEAD_SIZE - 4);
	switch (type) {
	case BLOCK_INTERFACE:
		if (!add_interface(f, body))
			return damaged(f, "an interface that makes no sense", err);
		break;
	case BLOCK_ENHANCED:
	case BLOCK_PACKET_OLD:
		*packet = take_enhanced(f, body, type == BLOCK_PACKET_OLD, out);
		if (!*packet)
			return damaged(f, "a packet that does not fit its block", err);
		break;
	case BLOCK_SIMPLE:
		*packet = take_simple(f, body, out);
		if (!*packet)
			return damaged(f, "a packet that does not fit its block", err);
		break;
	default: /* names, statistics, and kinds to come */
		break;
	}
	return PCAP_PACKET;
}

enum pcap_next pcap_file_next(struct pcap_file *f, struct pcap_packet *out, struct err *err)
{
	enum pcap_next next;
	bool packet = false;

	if (!f->next_generation)
		return next_pcap(f, out, err);
	do
		next = next_block(f, out, &packet, err);
	while (next == PCAP_PACKET && !packet);
	return next;
}
