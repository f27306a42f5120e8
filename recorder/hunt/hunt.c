/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hunt/hunt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/text.h"
#include "hunt/hunt_internal.h"

enum {
	POLL_MS = 200,
	VIEW_MS = 500,
	LINE_MS = 10000,
	PAGE_MS = 15000,
	STUCK_MS = 300000,    /* a worker that says nothing for so long is killed */
	FINISH_MS = 120000,   /* when the hunt ends */
	FAILURES_IN_A_ROW = 25,
};

struct child {
	pid_t pid; /* 0: none */
	int in, out;
	struct buf lines;
	uint64_t number; /* of the case under way */
	bool busy;
	uint64_t since_ns;
};

struct hunting {
	struct hunt_state state;
	const struct hunt_options *options;
	struct child children[HUNT_JOBS_MAX];
	FILE *log;
	uint64_t begin_ns, drawn_ns, said_ns, page_ns;
	double seconds_before;
	uint64_t failures, handed_out;
	bool full; /* the log cannot be written */
	struct err *err;
};

static uint64_t since_ms(uint64_t then_ns)
{
	return (clock_mono_ns() - then_ns) / 1000000;
}

static bool stopped(const struct hunting *h)
{
	return h->options->stop && *h->options->stop;
}

/* ---- the log ---- */

/* What must be the same for a hunt to go on. */
static void print_head(const struct hunt_options *o, struct buf *out)
{
	uint64_t digest = 0xcbf29ce484222325u;
	struct buf model = BUF_INIT;

	model_print(o->model, &model);
	for (size_t i = 0; i < model.len; i++)
		digest = (digest ^ (unsigned char)model.data[i]) * 0x100000001b3u;
	buf_release(&model);
	if (o->grammar)
		digest = (digest * 31 + o->grammar->digest) * 31 + o->tables->digest;
	buf_printf(out, "hunt 1 model %s %016" PRIx64 " seed %" PRIu64 " orders %" PRIu64 " dialect %s servers", o->model->name,
		digest, o->seed, o->orders, o->dialect->name);
	for (size_t i = 0; i < o->server_count; i++)
		buf_printf(out, " %s", o->servers[i].name);
	buf_add_char(out, '\n');
}

static void take_log_line(struct hunting *h, struct span line)
{
	struct hunt_result result;
	double seconds;

	if (line.len > 5 && memcmp(line.ptr, "time ", 5) == 0) {
		char number[40];

		snprintf(number, sizeof(number), "%.*s", (int)line.len - 5, line.ptr + 5);
		seconds = strtod(number, NULL);
		if (seconds > h->state.seconds)
			h->state.seconds = seconds;
	} else if (result_parse(line, &result)) {
		state_add(&h->state, &result);
	}
}

/* Reads the log that is there.  *torn: its last line is not whole, and must be ended before others follow. */
static bool read_log(struct hunting *h, const char *path, bool *torn)
{
	struct buf text = BUF_INIT, head = BUF_INIT;
	struct span rest;
	struct stat st;
	bool ok = true;

	*torn = false;
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return true;
	if (!file_read(path, HUNT_LOG_MAX, &text, h->err)) {
		buf_release(&text);
		return false;
	}
	print_head(h->options, &head);
	rest = buf_span(&text);
	if (rest.len && (rest.len < head.len || memcmp(rest.ptr, head.data, head.len) != 0))
		ok = err_set(h->err, ERR_USAGE,
			"%s is of a hunt with another model, seed, dialect or servers: choose another --output", path);
	for (const char *end; ok && rest.len && (end = memchr(rest.ptr, '\n', rest.len)) != NULL;) {
		size_t len = (size_t)(end - rest.ptr);

		take_log_line(h, span_of(rest.ptr, len));
		rest = span_of(end + 1, rest.len - len - 1);
	}
	*torn = rest.len > 0;
	buf_release(&text);
	buf_release(&head);
	return ok;
}

static bool open_log(struct hunting *h)
{
	struct buf path = BUF_INIT, head = BUF_INIT;
	bool torn, ok;

	buf_printf(&path, "%s/log", h->options->folder);
	ok = read_log(h, path.data, &torn);
	h->seconds_before = h->state.seconds;
	h->log = ok ? fopen(path.data, "a") : NULL;
	if (ok && !h->log)
		ok = err_set_errno(h->err, errno, "cannot write %s", path.data);
	if (ok && ftell(h->log) == 0) {
		print_head(h->options, &head);
		fputs(head.data, h->log);
	}
	if (ok && torn)
		fputc('\n', h->log);
	buf_release(&path);
	buf_release(&head);
	return ok;
}

static bool make_folders(const struct hunt_options *o, struct err *err)
{
	static const char *const parts[] = {"", "/cases", "/tmp"};

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct buf path = BUF_INIT;
		bool ok;

		buf_printf(&path, "%s%s", o->folder, parts[i]);
		ok = mkdir(path.data, 0777) == 0 || errno == EEXIST;
		if (!ok)
			err_set_errno(err, errno, "cannot make the folder %s", path.data);
		buf_release(&path);
		if (!ok)
			return false;
	}
	return true;
}

/* ---- workers ---- */

/* Runs the worker in a process of its own, which never comes back. */
static _Noreturn void be_worker(struct hunting *h, unsigned number, int in, int out)
{
	for (unsigned i = 0; i < h->options->jobs; i++) {
		if (h->children[i].pid) {
			close(h->children[i].in);
			close(h->children[i].out);
		}
	}
	worker_run(h->options, &h->state, number, in, out);
	_exit(EXIT_SUCCESS);
}

static bool begin_child(struct hunting *h, unsigned number)
{
	struct child *c = &h->children[number];
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) != 0)
		return err_set_errno(h->err, errno, "cannot make a pipe");
	if (pipe2(from, O_CLOEXEC) != 0) {
		close(to[0]);
		close(to[1]);
		return err_set_errno(h->err, errno, "cannot make a pipe");
	}
	fflush(h->log);
	c->pid = fork();
	if (c->pid == 0) {
		close(to[1]);
		close(from[0]);
		be_worker(h, number, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	c->in = to[1];
	c->out = from[0];
	c->busy = false;
	if (c->pid > 0)
		return true;
	close(c->in);
	close(c->out);
	c->pid = 0;
	return err_set_errno(h->err, errno, "cannot start a worker");
}

/* The next case that no log has and no worker does; false: there is none. */
static bool next_case(struct hunting *h, uint64_t *number)
{
	const struct hunt_options *o = h->options;

	while (!shard_has(&o->shard, h->state.next) || state_is_done(&h->state, h->state.next))
		h->state.next++;
	if (o->cases && h->state.next >= o->cases)
		return false;
	*number = h->state.next++;
	return true;
}

static void hand_out(struct hunting *h, struct child *c)
{
	uint64_t number;

	if (c->busy || stopped(h) || !next_case(h, &number))
		return;
	if (write(c->in, &number, sizeof(number)) != sizeof(number))
		return; /* it is gone: its end will be noticed */
	c->number = number;
	c->busy = true;
	c->since_ns = clock_mono_ns();
	h->handed_out++;
}

/* ---- results ---- */

static void say(struct hunting *h, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(struct hunting *h, const char *fmt, ...)
{
	struct buf line = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&line, fmt, ap);
	va_end(ap);
	h->options->say(h->options->ctx, line.data);
	buf_release(&line);
}

static void write_log(struct hunting *h, const struct hunt_result *result)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "time %.1f\n", h->state.seconds);
	result_print(result, &line);
	if (fwrite(line.data, 1, line.len, h->log) != line.len || fflush(h->log) != 0) {
		if (!h->full)
			err_set_errno(h->err, errno, "cannot write the log of the hunt");
		h->full = true;
	}
	buf_release(&line);
}

static void take_result(struct hunting *h, const struct hunt_result *result)
{
	uint64_t before = h->state.group_count;

	h->state.seconds = h->seconds_before + (double)(clock_mono_ns() - h->begin_ns) / 1e9;
	write_log(h, result);
	h->failures = result->failure[0] ? h->failures + 1 : 0;
	if (result->failure[0] && h->failures <= 3)
		say(h, "case %" PRIu64 " was not run: %s", result->number, result->failure);
	state_add(&h->state, result);
	for (size_t i = before; i < h->state.group_count; i++) {
		const struct hunt_group *fresh = &h->state.groups[i];

		if (fresh->kind > HUNT_COMPAT || h->options->known == HUNT_KNOWN_SHOW ||
			(h->options->known == HUNT_KNOWN_COUNT && fresh->kind == HUNT_KNOWN))
			say(h, "%.0f s, case %" PRIu64 ": %s: %s", h->state.seconds, result->number, hunt_kind_name(fresh->kind),
				fresh->signature);
	}
}

static void read_child(struct hunting *h, struct child *c)
{
	ssize_t got = read(c->out, buf_reserve(&c->lines, 65536), 65536);
	size_t used = 0;
	const char *end;

	if (got <= 0)
		return;
	c->lines.len += (size_t)got;
	c->since_ns = clock_mono_ns();
	while ((end = memchr(c->lines.data + used, '\n', c->lines.len - used)) != NULL) {
		size_t len = (size_t)(end - c->lines.data) - used;
		struct hunt_result result;

		if (result_parse(span_of(c->lines.data + used, len), &result)) {
			take_result(h, &result);
			if (result.server + 1 == h->options->server_count)
				c->busy = false;
		}
		used += len + 1;
	}
	memmove(c->lines.data, c->lines.data + used, c->lines.len - used);
	c->lines.len -= used;
}

/* A worker ended by itself: what it was doing is a finding, of the server or of ours. */
static void take_end(struct hunting *h, struct child *c, unsigned number)
{
	int status = 0;

	close(c->in);
	close(c->out);
	waitpid(c->pid, &status, 0);
	c->pid = 0;
	buf_clear(&c->lines);
	if (c->busy && !stopped(h)) {
		struct hunt_result result = {.number = c->number, .server = (unsigned)h->options->server_count - 1, .finding_count = 1};

		result.findings[0].kind = HUNT_NEW;
		result.findings[0].count = 1;
		snprintf(result.findings[0].signature, HUNT_SIGNATURE_MAX, "isorec: the worker ended (%s %d)",
			WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		take_result(h, &result);
	}
	c->busy = false;
	if (!stopped(h) && !begin_child(h, number))
		h->failures = FAILURES_IN_A_ROW;
}

/* ---- telling ---- */

static void tell(struct hunting *h)
{
	const struct hunt_options *o = h->options;
	struct buf text = BUF_INIT;
	struct err err;

	h->state.seconds = h->seconds_before + (double)(clock_mono_ns() - h->begin_ns) / 1e9;
	if (o->draw && since_ms(h->drawn_ns) >= VIEW_MS) {
		summary_print(&h->state, &text);
		o->draw(o->ctx, text.data);
		h->drawn_ns = clock_mono_ns();
	} else if (!o->draw && since_ms(h->said_ns) >= LINE_MS) {
		const struct hunt_figures *f = &h->state.total;
		uint64_t judged = f->decided + f->undecided + f->unsupported;

		say(h, "%.0f s: %" PRIu64 " cases, %" PRIu64 " transactions (%.0f an hour), %.2f %% decided, groups: %" PRIu64
		       " new, %" PRIu64 " known",
			h->state.seconds, h->state.cases, f->transactions, (double)f->transactions * 3600 / (h->state.seconds + 0.001),
			judged ? 100.0 * (double)f->decided / (double)judged : 0, state_count(&h->state, HUNT_NEW),
			state_count(&h->state, HUNT_KNOWN));
		h->said_ns = clock_mono_ns();
	}
	if (since_ms(h->page_ns) >= PAGE_MS) {
		(void)!page_write(&h->state, &err); /* the last one is the one that counts */
		h->page_ns = clock_mono_ns();
	}
	buf_release(&text);
}

/* ---- the loop ---- */

static bool any_busy(const struct hunting *h)
{
	for (unsigned i = 0; i < h->options->jobs; i++)
		if (h->children[i].busy)
			return true;
	return false;
}

static void poll_children(struct hunting *h)
{
	struct pollfd fds[HUNT_JOBS_MAX];
	unsigned jobs = h->options->jobs;

	for (unsigned i = 0; i < jobs; i++)
		fds[i] = (struct pollfd){.fd = h->children[i].pid ? h->children[i].out : -1, .events = POLLIN};
	if (poll(fds, jobs, POLL_MS) < 0)
		return;
	for (unsigned i = 0; i < jobs; i++) {
		struct child *c = &h->children[i];

		if (fds[i].fd >= 0 && fds[i].revents & POLLIN)
			read_child(h, c);
		else if (fds[i].fd >= 0 && fds[i].revents)
			take_end(h, c, i);
		else if (c->busy && since_ms(c->since_ns) > STUCK_MS)
			kill(c->pid, SIGKILL);
	}
}

static bool is_over(const struct hunting *h)
{
	const struct hunt_options *o = h->options;

	return stopped(h) || h->full || h->failures >= FAILURES_IN_A_ROW ||
	       (o->time_ns && clock_mono_ns() - h->begin_ns >= o->time_ns) || (o->cases && h->state.next >= o->cases);
}

static void finish_children(struct hunting *h)
{
	uint64_t begin = clock_mono_ns();

	while (any_busy(h) && !stopped(h) && since_ms(begin) < FINISH_MS) {
		poll_children(h);
		tell(h);
	}
	for (unsigned i = 0; i < h->options->jobs; i++) {
		struct child *c = &h->children[i];

		if (!c->pid)
			continue;
		close(c->in); /* it stops its servers and ends */
		if (c->busy && since_ms(begin) >= FINISH_MS)
			kill(c->pid, SIGKILL);
	}
	for (unsigned i = 0; i < h->options->jobs; i++) {
		struct child *c = &h->children[i];

		if (c->pid) {
			waitpid(c->pid, NULL, 0);
			close(c->out);
		}
		buf_release(&c->lines);
	}
}

static bool loop(struct hunting *h)
{
	for (unsigned i = 0; i < h->options->jobs; i++)
		if (!begin_child(h, i))
			return false;
	while (!is_over(h)) {
		for (unsigned i = 0; i < h->options->jobs; i++)
			if (h->children[i].pid)
				hand_out(h, &h->children[i]);
		poll_children(h);
		tell(h);
	}
	return true;
}

static bool merge_first(struct hunting *h)
{
	struct buf head = BUF_INIT;
	bool ok = true;

	if (h->options->merge_count) {
		print_head(h->options, &head);
		ok = merge_hunts(h->options, buf_span(&head), h->err);
	}
	buf_release(&head);
	return ok;
}

bool hunt(const struct hunt_options *options, struct hunt_summary *summary, struct err *err)
{
	struct hunting *h = mem_zero(1, sizeof(*h));
	bool ok;

	*summary = (struct hunt_summary){.cases = 0};
	h->options = h->state.options = options;
	h->err = err;
	ok = make_folders(options, err) && merge_first(h) && open_log(h);
	h->begin_ns = h->drawn_ns = h->said_ns = h->page_ns = clock_mono_ns();
	if (ok && h->state.cases && !options->merge_count)
		say(h, "going on after the %" PRIu64 " cases of %s/log", h->state.cases, options->folder);
	if (ok && !options->merge_count) {
		void (*before)(int) = signal(SIGPIPE, SIG_IGN);

		ok = loop(h);
		finish_children(h);
		signal(SIGPIPE, before);
		h->state.seconds = h->seconds_before + (double)(clock_mono_ns() - h->begin_ns) / 1e9;
	}
	if (ok && h->full)
		ok = false;
	if (ok && h->failures >= FAILURES_IN_A_ROW)
		ok = err_set(err, ERR_SERVER, "%d cases in a row could not be run; the last: %s", FAILURES_IN_A_ROW,
			h->state.last_failure);
	if (h->log && !page_write(&h->state, ok ? err : NULL))
		ok = false;
	if (h->log) {
		struct buf text = BUF_INIT;

		summary_print(&h->state, &text);
		h->options->say(h->options->ctx, text.data);
		buf_release(&text);
		fclose(h->log);
	}
	summary->cases = h->state.cases;
	summary->fresh = state_count(&h->state, HUNT_NEW);
	summary->incomplete = h->state.failed > 0;
	state_release(&h->state);
	mem_free(h);
	return ok;
}
