/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"

enum { REQUEST_MAX = 8192, ASK_WITHIN_MS = 2000 };

/* ---- what is told ---- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void number(struct buf *out, const char *name, const char *type, const char *help, uint64_t value)
{
	head(out, name, type, help);
	buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

static void seconds(struct buf *out, const char *name, const char *type, const char *help, uint64_t ns)
{
	head(out, name, type, help);
	buf_printf(out, "%s %" PRIu64 ".%09" PRIu64 "\n", name, ns / 1000000000u, ns % 1000000000u);
}

/* The inside of a label's quotes. */
static void label(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			buf_add_str(out, "\\n");
		else if (*text == '"' || *text == '\\')
			buf_printf(out, "\\%c", *text);
		else
			buf_add_char(out, *text);
	}
}

static void print_nodes(const struct proxy *proxy, struct buf *out)
{
	head(out, "isorec_node_up", "gauge", "1 unless the last connection to the node could not be made.");
	for (size_t i = 0; i < proxy->node_count; i++) {
		const struct relay_node *node = &proxy->nodes[i];

		buf_add_str(out, "isorec_node_up{node=\"");
		label(out, node->name);
		buf_add_str(out, "\",address=\"");
		label(out, node->upstream.text);
		buf_printf(out, "\"} %d\n", !atomic_load_explicit(&node->capture.refuses, memory_order_relaxed));
	}
}

static void print_traffic(const struct proxy *proxy, struct buf *out)
{
	struct proxy_totals t;

	proxy_totals(proxy, &t);
	number(out, "isorec_sessions", "gauge", "Sessions that are open.", t.sessions);
	number(out, "isorec_sessions_opened_total", "counter", "Sessions that were opened.", t.opened);
	number(out, "isorec_sessions_opaque_total", "counter",
		"Sessions that cannot be read, or not any more: they are relayed and not recorded.", t.opaque);
	number(out, "isorec_sessions_refused_total", "counter", "Sessions that the node refused.", t.refused);
	number(out, "isorec_statements_total", "counter", "Commands of clients that were answered.", t.statements);
	head(out, "isorec_bytes_total", "counter", "Bytes relayed.");
	buf_printf(out, "isorec_bytes_total{direction=\"to_server\"} %" PRIu64 "\n", t.bytes_to_server);
	buf_printf(out, "isorec_bytes_total{direction=\"to_client\"} %" PRIu64 "\n", t.bytes_to_client);
}

static void print_trace(const struct proxy *proxy, struct buf *out)
{
	struct trace_writer_stats s;

	if (!proxy->writer)
		return;
	trace_writer_stats(proxy->writer, &s);
	number(out, "isorec_trace_recording", "gauge", "1 while records go to the trace, 0 while there is no room for it or it was stopped.",
		!s.stopped && !s.paused);
	number(out, "isorec_trace_records_total", "counter", "Records that were made.", s.records);
	number(out, "isorec_trace_lost_records_total", "counter", "Records that were lost: the trace has a gap in their place.",
		s.lost_records);
	number(out, "isorec_trace_lost_bytes_total", "counter", "Bytes of the records that were lost.", s.lost_bytes);
	number(out, "isorec_trace_raw_bytes_total", "counter", "Bytes of records before compression.", s.bytes_raw);
	number(out, "isorec_trace_written_bytes_total", "counter", "Bytes written to the trace.", s.bytes_written);
	number(out, "isorec_trace_segments_total", "counter", "Files of the trace that were begun.", s.segments);
	number(out, "isorec_trace_backlog_bytes", "gauge", "Bytes of records that wait to be written (--buffer).", s.backlog_bytes);
	seconds(out, "isorec_trace_lag_seconds", "gauge",
		"How long the oldest record waits for the disk, past --flush-interval: lost if the recorder is killed now.", s.late_ns);
	seconds(out, "isorec_trace_lag_max_seconds", "gauge", "The longest that this ever was.", s.late_ns_max);
	seconds(out, "isorec_trace_sync_lag_seconds", "gauge", "How long a sync of the disk takes that should be over.", s.sync_late_ns);
	seconds(out, "isorec_trace_waited_seconds_total", "counter", "How long sessions waited for room in the buffer.", s.waited_ns);
}

/* Under the names that all of Prometheus' own clients have. */
static void print_process(struct buf *out)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) != 0)
		return;
	seconds(out, "process_cpu_seconds_total", "counter", "Processor time, user and system.",
		((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * 1000000000u +
			((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u);
	number(out, "isorec_memory_max_bytes", "gauge", "The most memory that the process ever had.", (uint64_t)usage.ru_maxrss * 1024);
}

void metrics_print(const struct proxy *proxy, struct buf *out)
{
	head(out, "isorec_info", "gauge", "Which recorder this is.");
	buf_add_str(out, "isorec_info{version=\"" ISOTRACE_VERSION "\"} 1\n");
	print_nodes(proxy, out);
	print_traffic(proxy, out);
	print_trace(proxy, out);
	print_process(out);
}

/* ---- HTTP ---- */

static void answer(struct buf *out, const char *status, const char *type, const struct buf *body)
{
	buf_printf(out, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status, type, body->len);
	buf_add_span(out, buf_span(body));
}

/* The first line: method, path, version (RFC 9112). */
static void answer_request(const struct metrics *m, struct span request, struct buf *out)
{
	const char *end = memchr(request.ptr, '\r', request.len);
	struct span line = span_of(request.ptr, end ? (size_t)(end - request.ptr) : request.len), path;
	const char *blank = memchr(line.ptr, ' ', line.len), *second;
	struct buf body = BUF_INIT;

	second = blank ? memchr(blank + 1, ' ', line.len - (size_t)(blank + 1 - line.ptr)) : NULL;
	path = second ? span_of(blank + 1, (size_t)(second - blank - 1)) : SPAN_LIT("");
	if (!second || !span_starts(span_of(second + 1, line.len - (size_t)(second + 1 - line.ptr)), "HTTP/1.")) {
		buf_add_str(&body, "This is HTTP/1.1: GET /metrics\n");
		answer(out, "400 Bad Request", "text/plain; charset=utf-8", &body);
	} else if (!span_starts(line, "GET ") && !span_starts(line, "HEAD ")) {
		buf_add_str(&body, "GET /metrics\n");
		answer(out, "405 Method Not Allowed", "text/plain; charset=utf-8", &body);
	} else if (span_eq_str(path, "/metrics") || span_starts(path, "/metrics?")) {
		metrics_print(m->proxy, &body);
		answer(out, "200 OK", "text/plain; version=0.0.4; charset=utf-8", &body);
	} else {
		buf_add_str(&body, "isorec proxy: the figures are at /metrics\n");
		answer(out, span_eq_str(path, "/") ? "200 OK" : "404 Not Found", "text/plain; charset=utf-8", &body);
	}
	if (span_starts(line, "HEAD "))
		out->len -= body.len;
	buf_release(&body);
}

/* Until the descriptor is ready; false: not in time, or the proxy ends. */
static bool wait_ready(const struct metrics *m, int fd, short events, uint64_t until)
{
	struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = m->stop_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now = clock_mono_ns();
		int ready = now < until ? poll(fds, 2, (int)((until - now) / 1000000u) + 1) : 0;

		if (ready < 0 && errno == EINTR)
			continue;
		return ready > 0 && !fds[1].revents;
	}
}

static bool read_request(const struct metrics *m, int fd, uint64_t until, struct buf *in)
{
	while (!in->len || !memmem(in->data, in->len, "\r\n\r\n", 4)) {
		ssize_t n;

		if (in->len >= REQUEST_MAX || !wait_ready(m, fd, POLLIN, until))
			return false;
		n = recv(fd, buf_reserve(in, 1024), 1024, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		in->len += n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void serve_one(const struct metrics *m, int fd)
{
	uint64_t until = clock_mono_ns() + ASK_WITHIN_MS * UINT64_C(1000000);
	struct buf in = BUF_INIT, out = BUF_INIT;
	size_t sent = 0;

	if (read_request(m, fd, until, &in))
		answer_request(m, buf_span(&in), &out);
	while (sent < out.len && wait_ready(m, fd, POLLOUT, until)) {
		ssize_t n = send(fd, out.data + sent, out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	buf_release(&in);
	buf_release(&out);
}

static void *metrics_main(void *arg)
{
	struct metrics *m = arg;
	struct pollfd fds[2] = {{.fd = m->listen_fd, .events = POLLIN}, {.fd = m->stop_fd, .events = POLLIN}};

	for (;;) {
		int fd;

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			return NULL;
		fd = accept4(m->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			/* Out of descriptors: what waits stays readable, so do not spin. */
			(void)poll(&fds[1], 1, 100);
			continue;
		}
		serve_one(m, fd);
		close(fd);
	}
}

/* ---- start and end ---- */

static bool start_thread(struct metrics *m, struct err *err)
{
	sigset_t all, before;
	int code;

	m->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (m->stop_fd < 0)
		return err_set_errno(err, errno, "--metrics: cannot make an eventfd");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&m->thread, NULL, metrics_main, m);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	m->running = code == 0;
	return m->running || err_set_errno(err, code, "--metrics: cannot start the thread");
}

bool metrics_start(struct metrics *m, struct proxy *proxy, struct err *err)
{
	struct sockaddr_storage bound;
	socklen_t len = sizeof(bound);

	*m = (struct metrics){.proxy = proxy, .address = proxy->metrics, .listen_fd = -1, .stop_fd = -1};
	m->listen_fd = address_listen(&m->address, err);
	if (m->listen_fd < 0)
		return err_prefix(err, "--metrics");
	/* Port 0: tell which one it became. */
	if (m->address.list[0].ss_family != AF_UNIX && getsockname(m->listen_fd, (struct sockaddr *)&bound, &len) == 0)
		sockaddr_print(&bound, proxy->metrics.text);
	if (start_thread(m, err))
		return true;
	metrics_stop(m);
	return false;
}

void metrics_stop(struct metrics *m)
{
	uint64_t one = 1;

	if (!m->proxy)
		return;
	if (m->running) {
		(void)!write(m->stop_fd, &one, sizeof(one));
		pthread_join(m->thread, NULL);
	}
	if (m->listen_fd >= 0) {
		close(m->listen_fd);
		address_unlink(&m->address);
	}
	if (m->stop_fd >= 0)
		close(m->stop_fd);
	*m = (struct metrics){.proxy = NULL};
}
