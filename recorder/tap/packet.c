/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap/packet.h"

#include <string.h>

enum {
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	ETHERTYPE_VLAN_OLD = 0x9100,
	ETHERNET_HEAD = 14,
	VLAN_HEAD = 4,
	VLANS_MAX = 4,
	SLL_HEAD = 16,
	SLL2_HEAD = 20,
	IPV4_HEAD = 20,
	IPV6_HEAD = 40,
	IPV6_EXTENSIONS_MAX = 8,
	TCP_HEAD = 20,
	PROTOCOL_TCP = 6,
};

static uint16_t be16(const unsigned char *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

bool packet_link_known(uint32_t link)
{
	switch (link) {
	case LINK_NULL:
	case LINK_ETHERNET:
	case LINK_RAW_BSD:
	case LINK_RAW_OPENBSD:
	case LINK_RAW:
	case LINK_LOOP:
	case LINK_LINUX_SLL:
	case LINK_IPV4:
	case LINK_IPV6:
	case LINK_LINUX_SLL2:
		return true;
	default:
		return false;
	}
}

struct rest {
	const unsigned char *p;
	uint32_t captured, length; /* captured <= length */
};

/* False: so much was not captured. */
static bool skip(struct rest *r, uint32_t n)
{
	if (n > r->captured || n > r->length)
		return false;
	r->p += n;
	r->captured -= n;
	r->length -= n;
	return true;
}

/* What is behind is padding. */
static void cut(struct rest *r, uint32_t length)
{
	if (length < r->length)
		r->length = length;
	if (r->captured > r->length)
		r->captured = r->length;
}

static enum packet_kind read_tcp(struct rest r, struct packet_segment *out)
{
	const unsigned char *p = r.p;
	uint32_t head;

	if (r.captured < TCP_HEAD)
		return PACKET_BAD;
	head = (uint32_t)(p[12] >> 4) * 4;
	out->from.port = be16(p);
	out->to.port = be16(p + 2);
	out->seq = be32(p + 4);
	out->ack = be32(p + 8);
	out->fin = p[13] & 1;
	out->syn = p[13] & 2;
	out->rst = p[13] & 4;
	out->has_ack = p[13] & 16;
	if (head < TCP_HEAD || !skip(&r, head))
		return PACKET_BAD;
	out->payload = span_of(r.p, r.captured);
	out->missing = r.length - r.captured;
	return PACKET_TCP;
}

static enum packet_kind read_ipv4(struct rest r, struct packet_segment *out)
{
	const unsigned char *p = r.p;
	uint32_t head, length;

	if (r.captured < IPV4_HEAD || p[0] >> 4 != 4)
		return PACKET_BAD;
	head = (uint32_t)(p[0] & 15) * 4;
	length = be16(p + 2);
	/* Segments that the network card cuts up are longer than the field can say. */
	if (length)
		cut(&r, length);
	if (p[9] != PROTOCOL_TCP)
		return PACKET_OTHER;
	if (be16(p + 6) & 0x3fff) /* an offset, or more fragments */
		return PACKET_FRAGMENT;
	memcpy(out->from.address, p + 12, 4);
	memcpy(out->to.address, p + 16, 4);
	if (head < IPV4_HEAD || !skip(&r, head))
		return PACKET_BAD;
	return read_tcp(r, out);
}

static enum packet_kind read_ipv6(struct rest r, struct packet_segment *out)
{
	const unsigned char *p = r.p;
	uint32_t length;
	uint8_t next;

	if (r.captured < IPV6_HEAD || p[0] >> 4 != 6)
		return PACKET_BAD;
	length = be16(p + 4);
	next = p[6];
	memcpy(out->from.address, p + 8, 16);
	memcpy(out->to.address, p + 24, 16);
	out->from.ipv6 = out->to.ipv6 = true;
	if (!skip(&r, IPV6_HEAD))
		return PACKET_BAD;
	if (length)
		cut(&r, length);
	for (unsigned i = 0; i < IPV6_EXTENSIONS_MAX && next != PROTOCOL_TCP; i++) {
		uint32_t size;

		switch (next) {
		case 0:  /* hop by hop */
		case 43: /* routing */
		case 60: /* destination */
			if (r.captured < 2)
				return PACKET_BAD;
			size = ((uint32_t)r.p[1] + 1) * 8;
			break;
		case 51: /* authentication */
			if (r.captured < 2)
				return PACKET_BAD;
			size = ((uint32_t)r.p[1] + 2) * 4;
			break;
		case 44:
			return PACKET_FRAGMENT;
		default:
			return PACKET_OTHER;
		}
		next = r.p[0];
		if (!skip(&r, size))
			return PACKET_BAD;
	}
	return next == PROTOCOL_TCP ? read_tcp(r, out) : PACKET_OTHER;
}

static enum packet_kind read_type(struct rest r, uint16_t type, struct packet_segment *out)
{
	for (unsigned i = 0; i < VLANS_MAX; i++) {
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_QINQ && type != ETHERTYPE_VLAN_OLD)
			break;
		if (r.captured < VLAN_HEAD)
			return PACKET_BAD;
		type = be16(r.p + 2);
		(void)!skip(&r, VLAN_HEAD);
	}
	switch (type) {
	case ETHERTYPE_IPV4:
		return read_ipv4(r, out);
	case ETHERTYPE_IPV6:
		return read_ipv6(r, out);
	default:
		return PACKET_OTHER;
	}
}

static enum packet_kind read_ip(struct rest r, struct packet_segment *out)
{
	if (!r.captured)
		return PACKET_BAD;
	return r.p[0] >> 4 == 6 ? read_ipv6(r, out) : read_ipv4(r, out);
}

enum packet_kind packet_read(uint32_t link, struct span bytes, uint32_t length, struct packet_segment *out)
{
	struct rest r = {(const unsigned char *)bytes.ptr, (uint32_t)bytes.len, length};

	*out = (struct packet_segment){.seq = 0};
	if (r.captured > r.length)
		r.captured = r.length;
	switch (link) {
	case LINK_ETHERNET:
		if (r.captured < ETHERNET_HEAD)
			return PACKET_BAD;
		link = be16(r.p + 12);
		(void)!skip(&r, ETHERNET_HEAD);
		return read_type(r, (uint16_t)link, out);
	case LINK_LINUX_SLL:
		if (r.captured < SLL_HEAD)
			return PACKET_BAD;
		link = be16(r.p + 14);
		(void)!skip(&r, SLL_HEAD);
		return read_type(r, (uint16_t)link, out);
	case LINK_LINUX_SLL2:
		if (r.captured < SLL2_HEAD)
			return PACKET_BAD;
		link = be16(r.p);
		(void)!skip(&r, SLL2_HEAD);
		return read_type(r, (uint16_t)link, out);
	case LINK_NULL:
	case LINK_LOOP:
		return skip(&r, 4) ? read_ip(r, out) : PACKET_BAD;
	default:
		return read_ip(r, out);
	}
}
