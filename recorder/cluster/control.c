/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "capture/cluster_event.h"

/* ---- requests ---- */

struct request {
	struct span topic, text, node, name;
	enum { REQUEST_NOTE, REQUEST_EVENT, REQUEST_BEGIN, REQUEST_END } kind;
};

static const char *parse(struct span lines, struct request *out)
{
	*out = (struct request){.topic = SPAN_NONE, .text = SPAN_NONE, .kind = REQUEST_NOTE};
	while (lines.len) {
		const char *end = memchr(lines.ptr, '\n', lines.len);
		size_t len = end ? (size_t)(end - lines.ptr) : lines.len;
		struct span line = span_of(lines.ptr, len), word = line, value = SPAN_LIT("");
		const char *space = memchr(line.ptr, ' ', line.len);

		if (space) {
			word.len = (size_t)(space - line.ptr);
			value = span_of(space + 1, line.len - word.len - 1);
		}
		if (span_eq_str(word, "topic")) {
			out->topic = value;
		} else if (span_eq_str(word, "text")) {
			out->text = value;
		} else if (span_eq_str(word, "node")) {
			out->node = value;
		} else if (span_eq_str(word, "event") || span_eq_str(word, "begin") ||
			   span_eq_str(word, "end")) {
			if (out->kind != REQUEST_NOTE)
				return "one of event, begin and end";
			out->kind = span_eq_str(word, "event")   ? REQUEST_EVENT
				    : span_eq_str(word, "begin") ? REQUEST_BEGIN
								 : REQUEST_END;
			out->name = value;
		} else {
			return "a line must begin with topic, text, node, event, begin or end";
		}
		len += end != NULL;
		lines = span_of(lines.ptr + len, lines.len - len);
	}
	if (out->kind == REQUEST_NOTE && !out->text.len && !out->topic.len)
		return "nothing to note";
	if (out->kind != REQUEST_NOTE && !out->name.len)
		return "event, begin and end need a name";
	return NULL;
}

static char *copy_of(struct span s)
{
	char *text = mem_alloc(s.len + 1);

	if (s.len)
		memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

static void remember(struct control *c, const struct request *request, uint64_t begin)
{
	if (c->operation_count == CONTROL_OPERATIONS_MAX)
		return; /* its end will have no beginning */
	c->operations[c->operation_count++] =
		(struct control_operation){copy_of(request->node), copy_of(request->name), begin};
}

/* When the operation began; 0: not known. */
static uint64_t begun(struct control *c, const struct request *request)
{
	uint64_t begin;

	for (size_t i = c->operation_count; i-- > 0;) {
		struct control_operation *o = &c->operations[i];

		if (!span_eq_str(request->name, o->name) ||
			!span_eq(request->node, span_str(o->node)))
			continue;
		begin = o->begin;
		mem_free(o->node);
		mem_free(o->name);
		*o = c->operations[--c->operation_count];
		return begin;
	}
	return 0;
}

static void obey(struct control *c, struct span lines, struct buf *answer)
{
	struct request request;
	const char *wrong = parse(lines, &request);
	uint64_t seq, at = clock_mono_ns();

	if (wrong) {
		buf_printf(answer, "error %s\n", wrong);
		return;
	}
	if (request.kind == REQUEST_NOTE) {
		struct event_data data = {.pairs = BUF_INIT};
		struct buf map = BUF_INIT;
		struct record_note note = {.at = at,
			.source = SPAN_LIT("user"),
			.topic = request.topic,
			.text = request.text};

		if (request.node.len) {
			msgpack_packer pk = pack_into(&map);

			event_data_add(&data, "node", request.node);
			msgpack_pack_map(&pk, data.count);
			buf_add_span(&map, buf_span(&data.pairs));
			note.data = buf_span(&map);
		}
		seq = trace_emit_note(c->producer, &note);
		buf_release(&map);
		buf_release(&data.pairs);
	} else {
		struct buf detail = BUF_INIT;
		struct record_cluster record = {
			.at = at,
			.node = request.node.len ? request.node : SPAN_NONE,
			.what = SPAN_LIT("operation"),
		};
		static const char *const verbs[] = {[REQUEST_NOTE] = "",
			[REQUEST_EVENT] = "",
			[REQUEST_BEGIN] = " begins",
			[REQUEST_END] = " ended"};

		buf_add_span(&detail, request.name);
		buf_add_str(&detail, verbs[request.kind]);
		if (request.text.len) {
			buf_add_str(&detail, ": ");
			buf_add_span(&detail, request.text);
		}
		if (request.kind == REQUEST_BEGIN)
			remember(c, &request, at);
		else if (request.kind == REQUEST_END)
			record.begin = begun(c, &request);
		record.detail = buf_span(&detail);
		seq = trace_emit_cluster(c->producer, &record);
		buf_release(&detail);
	}
	/* The harness goes on when it has the answer: the record must not wait for company. */
	trace_producer_flush(c->producer);
	buf_printf(answer, "ok %llu %llu\n", (unsigned long long)seq, (unsigned long long)at);
}

/* ---- connections ---- */

struct connection {
	int fd;
	uint64_t deadline;
	struct buf in;
};

static void connection_close(struct connection *connection)
{
	close(connection->fd);
	buf_release(&connection->in);
}

/* False: close it.  Requests are small and answers smaller: a client that does not take them waits
 * for no other reason. */
static bool connection_work(struct control *c, struct connection *connection)
{
	char bytes[4096];
	ssize_t n = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	const char *end;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	connection->deadline = clock_mono_ns() + CONTROL_WAIT_MS * 1000000ull;
	buf_add(&connection->in, bytes, (size_t)n);
	while ((end = memmem(connection->in.data, connection->in.len, "\n\n", 2))) {
		struct buf answer = BUF_INIT;
		size_t len = (size_t)(end - connection->in.data);
		ssize_t sent;

		obey(c, span_of(connection->in.data, len), &answer);
		sent = send(connection->fd, answer.data, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT);
		buf_release(&answer);
		if (sent < 0)
			return false;
		memmove(connection->in.data, connection->in.data + len + 2,
			connection->in.len - len - 2);
		connection->in.len -= len + 2;
	}
	return connection->in.len <= CONTROL_REQUEST_MAX;
}

static void *control_main(void *arg)
{
	struct control *c = arg;
	struct connection connections[CONTROL_CONNECTIONS_MAX];
	struct pollfd fds[CONTROL_CONNECTIONS_MAX + 2];
	size_t count = 0;

	for (;;) {
		uint64_t now;
		bool full = count == CONTROL_CONNECTIONS_MAX;

		for (size_t i = 0; i < count; i++)
			fds[i] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
		fds[count] = (struct pollfd){.fd = c->stop_fd, .events = POLLIN};
		fds[count + 1] = (struct pollfd){.fd = full ? -1 : c->listen_fd, .events = POLLIN};
		if (poll(fds, count + 2, count ? 1000 : -1) < 0)
			continue;
		if (fds[count].revents)
			break;
		bool arrived = fds[count + 1].revents != 0;

		now = clock_mono_ns();
		for (size_t i = count; i-- > 0;) {
			bool ok = !fds[i].revents || connection_work(c, &connections[i]);

			if (ok && now < connections[i].deadline)
				continue;
			connection_close(&connections[i]);
			connections[i] = connections[--count];
		}
		if (arrived) {
			int fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC);

			if (fd >= 0)
				connections[count++] = (struct connection){
					.fd = fd, .deadline = now + CONTROL_WAIT_MS * 1000000ull};
		}
	}
	while (count)
		connection_close(&connections[--count]);
	return NULL;
}

static bool address_of(const char *path, struct sockaddr_un *out, struct err *err)
{
	*out = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(out->sun_path))
		return err_set(err, ERR_USAGE, "%s: the path of a socket has at most %zu bytes",
			path, sizeof(out->sun_path) - 1);
	strcpy(out->sun_path, path);
	return true;
}

bool control_start(
	struct control *c, const char *path, struct trace_writer *writer, struct err *err)
{
	struct sockaddr_un address;
	sigset_t all, before;
	int code;

	*c = (struct control){.path = path, .listen_fd = -1, .stop_fd = -1};
	if (!address_of(path, &address, err))
		return false;
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A socket that a killed recorder left: no process answers there. */
	if (c->listen_fd >= 0 &&
		connect(c->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
		errno == ECONNREFUSED)
		unlink(path);
	if (c->listen_fd >= 0)
		close(c->listen_fd);
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (c->listen_fd < 0 || c->stop_fd < 0 ||
		bind(c->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(c->listen_fd, 16) < 0) {
		code = errno;
		if (c->listen_fd >= 0)
			close(c->listen_fd);
		if (c->stop_fd >= 0)
			close(c->stop_fd);
		return err_set_errno(err, code, "--control %s: cannot listen", path);
	}
	chmod(path, 0600);
	c->producer = trace_producer_open(writer);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&c->thread, NULL, control_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	c->running = code == 0;
	return code == 0 || err_set_errno(err, code, "cannot start the thread of --control");
}

void control_stop(struct control *c)
{
	uint64_t one = 1;

	if (!c->producer)
		return;
	if (c->running) {
		(void)!write(c->stop_fd, &one, sizeof(one));
		pthread_join(c->thread, NULL);
	}
	close(c->listen_fd);
	close(c->stop_fd);
	unlink(c->path);
	trace_producer_close(c->producer);
	for (size_t i = 0; i < c->operation_count; i++) {
		mem_free(c->operations[i].node);
		mem_free(c->operations[i].name);
	}
	*c = (struct control){.running = false};
}

bool control_ask(const char *path, struct span request, struct buf *answer, struct err *err)
{
	struct sockaddr_un address;
	struct timeval limit = {.tv_sec = CONTROL_WAIT_MS / 1000};
	int fd = -1, code;

	if (!address_of(path, &address, err))
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		goto failed;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (size_t at = 0; at < request.len;) {
		ssize_t n = send(fd, request.ptr + at, request.len - at, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			goto failed;
		at += n > 0 ? (size_t)n : 0;
	}
	while (!answer->len || answer->data[answer->len - 1] != '\n') {
		char byte;
		ssize_t n = recv(fd, &byte, 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = ECONNRESET;
		if (n <= 0)
			goto failed;
		buf_add_char(answer, byte);
	}
	close(fd);
	return true;
failed:
	code = errno;
	if (fd >= 0)
		close(fd);
	return err_set_errno(err, code, "no recorder answers at %s", path);
}
