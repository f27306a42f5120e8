/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap/live.h"

#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#ifdef HAVE_PCAP

#include <pcap/pcap.h>

enum {
	SNAP = 256 * 1024, /* segments that the network card cuts up are longer than a packet may be */
	WAIT_MS = 100,
	STATISTICS_MS = 1000,
};

struct live {
	pcap_t *pcap;
	bool nanoseconds;
	uint32_t link;
	uint64_t dropped, looked_at;
};

static bool refuse(struct live *live, const char *interface, const char *what, struct err *err)
{
	return err_set(err, ERR_IO, "cannot capture on %s: %s: %s%s", interface, what, pcap_geterr(live->pcap),
		": it takes the capability CAP_NET_RAW (setcap cap_net_raw+ep, or root)");
}

static bool set_filter(struct live *live, const char *interface, const uint16_t *ports, size_t port_count,
	struct err *err)
{
	struct buf text = BUF_INIT, both = BUF_INIT;
	struct bpf_program program;
	bool good;

	for (size_t i = 0; i < port_count; i++)
		buf_printf(&text, "%stcp port %u", i ? " or " : "", ports[i]);
	if (live->link == LINK_ETHERNET)
		buf_printf(&both, "(%s) or (vlan and (%s))", text.data, text.data);
	else
		buf_printf(&both, "%s", text.data);
	good = pcap_compile(live->pcap, &program, both.data, 1, PCAP_NETMASK_UNKNOWN) == 0;
	if (good) {
		good = pcap_setfilter(live->pcap, &program) == 0;
		pcap_freecode(&program);
	}
	buf_release(&text);
	buf_release(&both);
	return good || refuse(live, interface, "its filter", err);
}

struct live *live_open(const char *interface, const uint16_t *ports, size_t port_count, uint64_t buffer, struct err *err)
{
	struct live *live = mem_zero(1, sizeof(*live));
	char problem[PCAP_ERRBUF_SIZE] = "";
	bool good;

	live->pcap = pcap_create(interface, problem);
	if (!live->pcap) {
		err_set(err, ERR_IO, "cannot capture on %s: %s", interface, problem);
		mem_free(live);
		return NULL;
	}
	(void)pcap_set_snaplen(live->pcap, SNAP);
	(void)pcap_set_timeout(live->pcap, WAIT_MS);
	(void)pcap_set_buffer_size(live->pcap, (int)(buffer < INT32_MAX ? buffer : INT32_MAX));
	live->nanoseconds = pcap_set_tstamp_precision(live->pcap, PCAP_TSTAMP_PRECISION_NANO) == 0;
	good = pcap_activate(live->pcap) >= 0 || refuse(live, interface, "it cannot be opened", err);
	if (good) {
		live->link = (uint32_t)pcap_datalink(live->pcap);
		good = packet_link_known(live->link) ||
		       err_set(err, ERR_UNSUPPORTED, "%s: packets of link type %u are not read", interface,
			       live->link);
	}
	/* Its own waiting does not end with a signal. */
	good = good && (pcap_setnonblock(live->pcap, 1, problem) == 0 ||
			       err_set(err, ERR_IO, "cannot capture on %s: %s", interface, problem));
	if (good && set_filter(live, interface, ports, port_count, err))
		return live;
	live_close(live);
	return NULL;
}

struct taking {
	struct live *live;
	struct tap *tap;
};

static void take(unsigned char *data, const struct pcap_pkthdr *head, const unsigned char *bytes)
{
	struct taking *t = (struct taking *)(void *)data;
	uint64_t part = (uint64_t)head->ts.tv_usec * (t->live->nanoseconds ? 1 : 1000);

	tap_packet(t->tap, (uint64_t)head->ts.tv_sec * 1000000000u + part, t->live->link,
		span_of(bytes, head->caplen), head->len);
}

static void look_at_losses(struct live *live, struct tap *tap)
{
	struct pcap_stat stat;

	if (pcap_stats(live->pcap, &stat) != 0)
		return;
	if (stat.ps_drop > live->dropped)
		tap_dropped(tap, stat.ps_drop - live->dropped);
	live->dropped = stat.ps_drop;
}

/* What was captured up to now.  The kernel hands packets over when they are many, or have waited for WAIT_MS: so when none
 * came for longer than that, or one that is newer, there are no more. */
static void take_rest(struct live *live, struct taking *taking)
{
	struct pollfd fd = {.fd = pcap_get_selectable_fd(live->pcap), .events = POLLIN};
	uint64_t now = clock_wall_ns();

	while (poll(&fd, 1, 3 * WAIT_MS) > 0 && *tap_clock(taking->tap) < now)
		if (pcap_dispatch(live->pcap, -1, take, (unsigned char *)taking) < 0)
			break;
}

bool live_run(struct live *live, struct tap *tap, const volatile int *stop, struct err *err)
{
	struct taking taking = {live, tap};

	while (!*stop) {
		struct pollfd fd = {.fd = pcap_get_selectable_fd(live->pcap), .events = POLLIN};
		uint64_t now;
		int n;

		(void)poll(&fd, 1, WAIT_MS);
		n = pcap_dispatch(live->pcap, -1, take, (unsigned char *)&taking);
		now = clock_mono_ns();

		if (n < 0 && n != PCAP_ERROR_BREAK)
			return err_set(err, ERR_IO, "capturing has ended: %s", pcap_geterr(live->pcap));
		if (now - live->looked_at > (uint64_t)STATISTICS_MS * 1000000u) {
			live->looked_at = now;
			look_at_losses(live, tap);
		}
	}
	take_rest(live, &taking);
	look_at_losses(live, tap);
	return true;
}

void live_close(struct live *live)
{
	if (!live)
		return;
	pcap_close(live->pcap);
	mem_free(live);
}

#else

struct live *live_open(const char *interface, const uint16_t *ports, size_t port_count, uint64_t buffer, struct err *err)
{
	(void)ports;
	(void)port_count;
	(void)buffer;
	err_set(err, ERR_UNSUPPORTED,
		"cannot capture on %s: isorec was built without libpcap; let tcpdump -w write files, and read those",
		interface);
	return NULL;
}

bool live_run(struct live *live, struct tap *tap, const volatile int *stop, struct err *err)
{
	(void)live;
	(void)tap;
	(void)stop;
	return err_set(err, ERR_UNSUPPORTED, "isorec was built without libpcap");
}

void live_close(struct live *live)
{
	(void)live;
}

#endif
