/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proxy/metrics.h"
#include "proxy/systemd_notify.h"

enum { ACCEPT_IN_TURN = 64, STATUS_INTERVAL_MS = 500, TROUBLE_INTERVAL_MS = 250 };

void proxy_totals(const struct proxy *proxy, struct proxy_totals *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < proxy->worker_count; i++) {
		const struct relay_stats *s = &proxy->workers[i].stats;

		out->sessions += atomic_load_explicit(&s->sessions, memory_order_relaxed);
		out->opened += atomic_load_explicit(&s->opened, memory_order_relaxed);
		out->opaque += atomic_load_explicit(&s->opaque, memory_order_relaxed);
		out->refused += atomic_load_explicit(&s->refused, memory_order_relaxed);
		out->statements += atomic_load_explicit(&s->statements, memory_order_relaxed);
		out->bytes_to_server +=
			atomic_load_explicit(&s->bytes_to_server, memory_order_relaxed);
		out->bytes_to_client +=
			atomic_load_explicit(&s->bytes_to_client, memory_order_relaxed);
	}
}

static struct relay_worker *least_busy(struct proxy *proxy, uint32_t *load)
{
	struct relay_worker *best = &proxy->workers[0];

	for (unsigned i = 1; i < proxy->worker_count; i++)
		if (load[i] < load[best - proxy->workers])
			best = &proxy->workers[i];
	load[best - proxy->workers]++;
	return best;
}

/* Two descriptors a session, and some of our own. */
static void raise_file_limit(struct proxy *proxy)
{
	enum { RESERVED_MAX = 64 };
	struct rlimit limit;
	rlim_t reserved;

	proxy->fd_max = INT_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	if (limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	reserved = limit.rlim_cur / 4 < RESERVED_MAX ? limit.rlim_cur / 4 : RESERVED_MAX;
	if (limit.rlim_cur < INT_MAX)
		proxy->fd_max = (int)(limit.rlim_cur - reserved);
}

#define NO_DESCRIPTORS "isorec: too many connections: out of file descriptors"

/* The protocol's error 1040, as the servers send it in place of a greeting. */
static void turn_away(int fd, const char *why)
{
	unsigned char packet[160] = {0, 0, 0, 0, 0xff, 0x10, 0x04};
	size_t len = strlen(why);

	memcpy(packet + 7, why, len);
	packet[0] = (unsigned char)(3 + len);
	(void)!send(fd, packet, 7 + len, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void say_descriptors(struct proxy *proxy, int errnum)
{
	enum { SAY_EVERY_NS = 1000000000 };
	uint64_t now = clock_mono_ns();

	if (!proxy->say || now - proxy->descriptors_said < SAY_EVERY_NS)
		return;
	proxy->descriptors_said = now;
	proxy->say("out of file descriptors of the %s, clients are turned away: raise %s",
		errnum == EMFILE ? "process" : "system",
		errnum == EMFILE ? "its limit (ulimit -n, LimitNOFILE= of the unit)"
				 : "fs.file-max");
}

/* Out of descriptors: one that was kept for this takes the client, which is told. */
static void accept_without_descriptors(struct proxy *proxy, struct relay_node *node, int errnum)
{
	int fd;

	if (proxy->spare_fd >= 0)
		close(proxy->spare_fd);
	fd = accept4(node->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		turn_away(fd, NO_DESCRIPTORS);
	else
		usleep(10000); /* the whole system is out of them: sessions will end */
	proxy->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	say_descriptors(proxy, errnum);
}

static void accept_some(struct proxy *proxy, struct relay_node *node)
{
	uint32_t load[PROXY_WORKERS_MAX], all = 0;

	for (unsigned i = 0; i < proxy->worker_count; i++) {
		load[i] = (uint32_t)atomic_load_explicit(
			&proxy->workers[i].stats.sessions, memory_order_relaxed);
		all += load[i];
	}
	for (int i = 0; i < ACCEPT_IN_TURN; i++) {
		struct relay_arrival arrival = {.node = node};
		socklen_t len = sizeof(arrival.peer);

		arrival.fd = accept4(node->listen_fd, (struct sockaddr *)&arrival.peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (arrival.fd < 0) {
			if (errno == EMFILE || errno == ENFILE)
				accept_without_descriptors(proxy, node, errno);
			return;
		}
		if (UNLIKELY(arrival.fd >= proxy->fd_max)) {
			turn_away(arrival.fd, NO_DESCRIPTORS);
			say_descriptors(proxy, EMFILE);
			continue;
		}
		if (all >= proxy->relay.sessions_max) {
			turn_away(arrival.fd, "isorec: more sessions than --max-sessions");
			continue;
		}
		all++;
		arrival.id = ++proxy->sessions;
		relay_worker_hand_over(least_busy(proxy, load), &arrival);
	}
}

static bool listen_all(struct proxy *proxy, struct err *err)
{
	for (size_t i = 0; i < proxy->node_count; i++)
		proxy->nodes[i].listen_fd = -1;
	for (size_t i = 0; i < proxy->node_count; i++) {
		struct relay_node *node = &proxy->nodes[i];
		struct sockaddr_storage bound;
		socklen_t len = sizeof(bound);

		node->listen_fd = address_listen(&node->listen, err);
		if (node->listen_fd < 0)
			return false;
		/* Port 0: tell which one it became. */
		if (node->listen.list[0].ss_family != AF_UNIX &&
			getsockname(node->listen_fd, (struct sockaddr *)&bound, &len) == 0)
			sockaddr_print(&bound, node->listen.text);
	}
	return true;
}

static void close_listeners(struct proxy *proxy)
{
	for (size_t i = 0; i < proxy->node_count; i++) {
		if (proxy->nodes[i].listen_fd >= 0) {
			close(proxy->nodes[i].listen_fd);
			address_unlink(&proxy->nodes[i].listen);
		}
		proxy->nodes[i].listen_fd = -1;
	}
}

/* At the end the trace is not whole yet: the code that closes it says what it came to. */
static void say_statistics(const struct proxy *proxy, bool at_end)
{
	struct proxy_totals t;
	struct trace_writer_stats trace = {0};
	struct buf line = BUF_INIT;

	if (!proxy->say)
		return;
	proxy_totals(proxy, &t);
	buf_printf(&line,
		"%llu sessions open, %llu in all (%llu refused by the node, %llu opaque), "
		"%llu statements, %llu bytes to the server, %llu to clients",
		(unsigned long long)t.sessions, (unsigned long long)t.opened,
		(unsigned long long)t.refused, (unsigned long long)t.opaque,
		(unsigned long long)t.statements, (unsigned long long)t.bytes_to_server,
		(unsigned long long)t.bytes_to_client);
	if (!at_end) {
		if (proxy->writer)
			trace_writer_stats(proxy->writer, &trace);
		buf_printf(&line,
			"; trace: %llu records, %llu bytes written, %llu waiting, %llu records "
			"lost",
			(unsigned long long)trace.records, (unsigned long long)trace.bytes_written,
			(unsigned long long)trace.backlog_bytes,
			(unsigned long long)trace.lost_records);
	}
	proxy->say("%s", line.data);
	buf_release(&line);
}

static void add_held(struct relay_held *sum, const struct relay_held *held)
{
	sum->count += held->count;
	sum->ns += held->ns;
	sum->unkept += held->unkept;
	if (held->ns_max > sum->ns_max)
		sum->ns_max = held->ns_max;
	for (size_t i = 0; i < RELAY_HELD_CLASSES; i++)
		sum->classes[i] += held->classes[i];
}

/* What --durable cost the clients. */
static void say_durable(const struct proxy *proxy)
{
	struct relay_held sum = {0};
	uint64_t below = 0;
	unsigned class = 0;

	if (!proxy->relay.durable || !proxy->say)
		return;
	for (unsigned i = 0; i < proxy->worker_count; i++)
		add_held(&sum, &proxy->workers[i].held_stats);
	while (class < RELAY_HELD_CLASSES - 1 && (below += sum.classes[class]) * 100 < sum.count * 99)
		class++;
	proxy->say("durable: %llu answers of commits waited for the disk, %.1f ms on average, 99 %% of "
		   "them less than %.1f ms, at most %.1f ms; %llu were answered without, as their "
		   "records were lost",
		(unsigned long long)(sum.count - sum.unkept),
		sum.count ? (double)sum.ns / 1e6 / (double)sum.count : 0,
		(double)((uint64_t)2 << class) / 1e3, (double)sum.ns_max / 1e6,
		(unsigned long long)sum.unkept);
}

/* A reader of the log learns at once, and not at the end, that nothing is recorded any more. */
static void say_trouble(const struct proxy *proxy, struct trace_writer_stats *told)
{
	struct trace_writer_stats now;
	struct err why;

	if (!proxy->writer || !proxy->say)
		return;
	trace_writer_stats(proxy->writer, &now);
	if (now.stopped && !told->stopped && trace_writer_stopped(proxy->writer, &why))
		proxy->say("%s; clients are served on", why.text);
	else if (now.paused && !told->paused)
		proxy->say("no room for the trace: nothing is recorded until there is; clients are "
			   "served on");
	else if (!now.paused && told->paused && !now.stopped)
		proxy->say("there is room for the trace again: recording continues, %llu records were lost",
			(unsigned long long)now.lost_records);
	/* While it happens, and once it is over how long it was. */
	if (now.late_ns && !told->late_ns)
		proxy->say("the disk is slow: records have waited for %llu ms, and are lost if the "
			   "recorder is killed now",
			(unsigned long long)now.late_ns / 1000000u);
	else if (!now.late_ns && now.late_ns_max > told->late_ns_max)
		proxy->say("the disk was slow: records waited for up to %llu ms",
			(unsigned long long)now.late_ns_max / 1000000u);
	/* A disk that stays so is not reported with each sync. */
	if (now.sync_late_ns > 2 * told->sync_late_ns_max && !told->sync_late_ns)
		proxy->say("the disk is slow: a sync has run for %llu ms; what was recorded meanwhile "
			   "outlives a kill of the recorder, not a loss of power",
			(unsigned long long)now.sync_late_ns / 1000000u);
	else if (!now.sync_late_ns && now.sync_late_ns_max > 2 * told->sync_late_ns_max)
		proxy->say("the disk was slow: a sync took %llu ms",
			(unsigned long long)now.sync_late_ns_max / 1000000u);
	if (now.sync_late_ns_max <= 2 * told->sync_late_ns_max)
		now.sync_late_ns_max = told->sync_late_ns_max;
	*told = now;
}

static void draw_status(const struct proxy *proxy, uint64_t *statements, uint64_t *at)
{
	struct proxy_totals t;
	struct trace_writer_stats trace = {0};
	uint64_t now = clock_mono_ns();
	double seconds = (double)(now - *at) / 1e9;

	proxy_totals(proxy, &t);
	if (proxy->writer)
		trace_writer_stats(proxy->writer, &trace);
	fprintf(stderr,
		"\r\033[K%llu sessions, %.0f statements/s, %.1f MB written, %.1f MB waiting",
		(unsigned long long)t.sessions,
		seconds > 0 ? (double)(t.statements - *statements) / seconds : 0,
		(double)trace.bytes_written / 1e6, (double)trace.backlog_bytes / 1e6);
	fflush(stderr);
	*statements = t.statements;
	*at = now;
}

static void tell_all(struct proxy *proxy, bool stop)
{
	for (unsigned i = 0; i < proxy->worker_count; i++)
		relay_worker_tell(&proxy->workers[i], true, stop);
}

static bool idle(const struct proxy *proxy)
{
	struct proxy_totals t;

	proxy_totals(proxy, &t);
	return t.sessions == 0;
}

/* ---- the wall clock ---- */

/* Readable when the wall clock is set: a timer on it that never rings is cancelled then. */
static int open_clock_watch(void)
{
	const struct itimerspec never = {.it_value.tv_sec = INT64_MAX / 1000000000};
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd >= 0 &&
		timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int64_t wall_offset(void)
{
	return (int64_t)(clock_wall_ns() - clock_mono_ns());
}

/* Times in the trace are of the monotonic clock and stay right; the header's wall clock does not
 * fit what other programs log any more. */
static void note_clock_step(struct proxy *proxy, int clock_fd, int64_t *offset)
{
	int64_t now = wall_offset(), moved = now - *offset;
	struct trace_producer *producer;
	struct record_note note = {.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("clock step")};
	struct buf text = BUF_INIT;
	uint64_t rings;

	(void)!read(clock_fd, &rings, sizeof(rings));
	*offset = now;
	if (!proxy->writer)
		return;
	buf_printf(&text, "the wall clock was set: %+.6f s", (double)moved / 1e9);
	note.text = buf_span(&text);
	producer = trace_producer_open(proxy->writer);
	trace_emit_note(producer, &note);
	trace_producer_close(producer);
	buf_release(&text);
}

/* Returns when draining is over or cut short. */
static void serve(struct proxy *proxy, int signal_fd)
{
	struct pollfd fds[PROXY_NODES_MAX + 2];
	int64_t offset = wall_offset();
	int clock_fd = open_clock_watch();
	uint64_t statements = 0, status_at = clock_mono_ns();
	struct trace_writer_stats told = {0};
	bool draining = false, stopping = false;

	while (!stopping && !(draining && idle(proxy))) {
		size_t count = draining ? 0 : proxy->node_count;
		int timeout = draining             ? 20
			      : proxy->status_line ? STATUS_INTERVAL_MS
			      : proxy->writer      ? TROUBLE_INTERVAL_MS
						   : -1;
		struct signalfd_siginfo info;

		for (size_t i = 0; i < count; i++)
			fds[i] = (struct pollfd){.fd = proxy->nodes[i].listen_fd, .events = POLLIN};
		fds[count] = (struct pollfd){.fd = signal_fd, .events = POLLIN};
		fds[count + 1] = (struct pollfd){.fd = clock_fd, .events = POLLIN};
		if (poll(fds, count + 2, timeout) > 0) {
			if (fds[count + 1].revents)
				note_clock_step(proxy, clock_fd, &offset);
			for (size_t i = 0; i < count; i++)
				if (fds[i].revents)
					accept_some(proxy, &proxy->nodes[i]);
			while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
				if (info.ssi_signo == SIGHUP && proxy->writer) {
					if (proxy->hangup)
						proxy->hangup(proxy, proxy->hangup_data);
					trace_writer_rotate(proxy->writer);
				} else if (info.ssi_signo == SIGUSR1) {
					say_statistics(proxy, false);
				} else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
					stopping = draining;
					draining = true;
					notify_service(
						"STOPPING=1\nSTATUS=waiting for open transactions");
					close_listeners(proxy);
					tell_all(proxy, stopping);
				}
			}
		}
		say_trouble(proxy, &told);
		if (proxy->status_line &&
			clock_mono_ns() - status_at >= STATUS_INTERVAL_MS * 1000000ull)
			draw_status(proxy, &statements, &status_at);
	}
	if (clock_fd >= 0)
		close(clock_fd);
	if (proxy->status_line)
		fprintf(stderr, "\r\033[K");
}

static void wake_workers(void *data)
{
	struct proxy *proxy = data;

	for (unsigned i = 0; i < proxy->worker_count; i++)
		relay_worker_wake(&proxy->workers[i]);
}

bool proxy_run(struct proxy *proxy, struct err *err)
{
	sigset_t handled;
	int signal_fd;
	unsigned started = 0;
	struct metrics metrics = {.proxy = NULL};
	bool ok = false;

	sigemptyset(&handled);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGUSR1);
	sigprocmask(SIG_BLOCK, &handled, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit is like a full disk */
	raise_file_limit(proxy);
	proxy->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	signal_fd = signalfd(-1, &handled, SFD_NONBLOCK | SFD_CLOEXEC);
	proxy->workers = mem_zero(proxy->worker_count, sizeof(*proxy->workers));
	if (signal_fd < 0) {
		err_set_errno(err, errno, "cannot watch for signals");
		goto out;
	}
	if (!listen_all(proxy, err))
		goto out;
	for (; started < proxy->worker_count; started++)
		if (!relay_worker_start(&proxy->workers[started], &proxy->relay, &proxy->capture,
			    proxy->writer, started, proxy->worker_count, err))
			goto out;
	if (proxy->relay.durable)
		trace_writer_watch_durable(proxy->writer, wake_workers, proxy);
	if (proxy->metrics.text[0] && !metrics_start(&metrics, proxy, err))
		goto out;
	proxy->served = true;
	if (proxy->ready)
		proxy->ready(proxy);
	notify_service("READY=1\nSTATUS=recording");
	serve(proxy, signal_fd);
	ok = true;
out:
	metrics_stop(&metrics);
	for (unsigned i = 0; i < started; i++)
		relay_worker_tell(&proxy->workers[i], true, true);
	/* Before their descriptors go. */
	if (proxy->writer)
		trace_writer_watch_durable(proxy->writer, NULL, NULL);
	for (unsigned i = 0; i < started; i++)
		relay_worker_join(&proxy->workers[i]);
	if (ok) {
		say_statistics(proxy, true);
		say_durable(proxy);
	}
	close_listeners(proxy);
	if (signal_fd >= 0)
		close(signal_fd);
	if (proxy->spare_fd >= 0)
		close(proxy->spare_fd);
	mem_free(proxy->workers);
	proxy->workers = NULL;
	return ok;
}
