/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reducer/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "run/settings.h"

enum { POLL_MS = 200, END_S = 10 };

struct child {
	pid_t pid; /* 0: none */
	int in, out;
	uint64_t since_ns;
	size_t got; /* bytes of the outcome */
	bool busy, told; /* told: to end soon */
	char trace[4096];
};

struct executor {
	struct executor_options options;
	struct child children[EXECUTOR_JOBS_MAX];
};

/* ---- one execution ---- */

static void fail(struct outcome *out, const char *why)
{
	*out = (struct outcome){.ran = false};
	snprintf(out->why, sizeof(out->why), "%.199s", why);
}

static bool judge_trace(
	const struct scenario *scenario, const char *path, bool answers_only, struct outcome *out, struct err *err)
{
	struct execution e;
	bool ok;

	if (!execution_load(&e, path, NULL, err))
		return false;
	ok = answers_only ? outcome_take_answers(scenario, &e, out, err) : outcome_judge(scenario, &e, path, out, err);
	execution_release(&e);
	return ok;
}

void execute_here(
	const struct scenario *scenario, const struct run_options *run, bool answers_only, struct outcome *out, bool *gone)
{
	uint64_t begin = clock_mono_ns();
	struct run_summary summary;
	struct err err;
	bool ok = run_scenario(scenario, run, &summary, &err);

	*gone = false;
	if ((ok || summary.server_gone) && judge_trace(scenario, run->output, answers_only, out, &err)) {
		*gone = summary.server_gone;
		if (summary.hung)
			outcome_add_accident(out, "hang");
		if (summary.server_gone)
			outcome_add_accident(out, "crash");
	} else if (!client_answers(&run->target)) {
		*gone = true;
		/* One that was not there to begin with has not crashed. */
		if (summary.opened) {
			*out = (struct outcome){.ran = true};
			outcome_add_accident(out, "crash");
		} else {
			fail(out, err.text);
		}
	} else {
		fail(out, err.text);
	}
	out->ns = clock_mono_ns() - begin;
}

/* ---- a worker's life ---- */

struct worker {
	const struct executor_options *options;
	struct case_server server;
	struct run_options run;
	char **settings; /* that the server was started with */
	bool started;
};

/* A server that may be started again gets the options that the scenario asks for. */
static void take_settings(struct worker *w, const struct scenario *scenario)
{
	char **wanted = settings_of(scenario, w->options->server.settings);

	if (w->server.restarts && w->started && !settings_equal(wanted, w->settings)) {
		w->server.stop(&w->server);
		w->started = false;
	}
	settings_free(w->settings);
	w->settings = wanted;
	w->server.settings = (const char *const *)wanted;
}

static void do_text(struct worker *w, struct span text, struct outcome *out)
{
	struct scenario scenario;
	struct err err;
	bool gone;

	if (!scenario_parse(&scenario, text, "candidate", &err)) {
		fail(out, err.text);
		return;
	}
	take_settings(w, &scenario);
	if (!w->started) {
		const char *database = w->run.target.database, *output = w->run.output;

		w->run = w->options->run;
		w->run.target.database = database;
		w->run.output = output;
		w->run.quick_watch = true;
		w->run.overwrite = true;
		w->started = w->server.start(&w->server, &w->run, &err);
	}
	if (w->started) {
		unlink(w->run.output);
		execute_here(&scenario, &w->run, w->options->answers_only, out, &gone);
		if (gone && w->server.restarts) {
			w->server.stop(&w->server);
			w->started = false;
		}
	} else {
		fail(out, err.text);
	}
	scenario_release(&scenario);
}

static _Noreturn void be_worker(struct executor *x, unsigned number, int in, int out)
{
	struct worker w = {.options = &x->options, .server = x->options.server};
	struct rlimit memory = {x->options.memory_max, x->options.memory_max};
	struct outcome *outcome = mem_zero(1, sizeof(*outcome));
	struct buf text = BUF_INIT;
	char database[80];
	uint32_t len;

	if (memory.rlim_cur)
		setrlimit(RLIMIT_AS, &memory);
	snprintf(database, sizeof(database), "%s_%u", x->options.run.target.database, number);
	w.run.target.database = database;
	w.run.output = x->children[number].trace;
	while (fd_read_all(in, &len, sizeof(len))) {
		buf_clear(&text);
		if (!fd_read_all(in, buf_reserve(&text, len), len))
			break;
		text.len = len;
		do_text(&w, buf_span(&text), outcome);
		if (!fd_write_all(out, outcome, sizeof(*outcome)))
			break;
	}
	if (w.started)
		w.server.stop(&w.server);
	unlink(w.run.output);
	_exit(EXIT_SUCCESS);
}

/* ---- the executor ---- */

static bool begin_child(struct executor *x, unsigned number)
{
	struct child *c = &x->children[number];
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) != 0)
		return false;
	if (pipe2(from, O_CLOEXEC) != 0) {
		close(to[0]);
		close(to[1]);
		return false;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(to[1]);
		close(from[0]);
		for (unsigned i = 0; i < x->options.jobs; i++) {
			if (i != number && x->children[i].pid > 0) {
				close(x->children[i].in);
				close(x->children[i].out);
			}
		}
		be_worker(x, number, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	c->in = to[1];
	c->out = from[0];
	if (c->pid > 0)
		return true;
	close(c->in);
	close(c->out);
	c->pid = 0;
	return false;
}

static void end_child(struct child *c, bool by_force)
{
	int status;

	if (!c->pid)
		return;
	close(c->in); /* it stops its server and ends */
	if (by_force)
		kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(c->out);
	c->pid = 0;
	c->busy = false;
}

struct executor *executor_open(const struct executor_options *options)
{
	struct executor *x = mem_zero(1, sizeof(*x));

	x->options = *options;
	if (x->options.jobs < 1)
		x->options.jobs = 1;
	if (x->options.jobs > EXECUTOR_JOBS_MAX)
		x->options.jobs = EXECUTOR_JOBS_MAX;
	for (unsigned i = 0; i < x->options.jobs; i++)
		snprintf(x->children[i].trace, sizeof(x->children[i].trace), "%s/%u.itr", options->folder, i);
	return x;
}

static void send_text(struct executor *x, unsigned number, struct span text, struct outcome *out)
{
	struct child *c = &x->children[number];
	uint32_t len = (uint32_t)text.len;

	if (!c->pid && !begin_child(x, number)) {
		fail(out, "a worker cannot be started");
		return;
	}
	c->busy = fd_write_all(c->in, &len, sizeof(len)) && fd_write_all(c->in, text.ptr, text.len);
	c->got = 0;
	c->since_ns = clock_mono_ns();
	if (!c->busy) {
		fail(out, "the worker is gone");
		end_child(c, true);
	}
}

static void take_bytes(struct child *c, struct outcome *out)
{
	ssize_t got = read(c->out, (char *)out + c->got, sizeof(*out) - c->got);

	if (got < 0 && errno == EINTR)
		return;
	if (got <= 0) {
		end_child(c, true);
		fail(out, "the worker ended: out of memory (--memory), or a bug of isorec");
		return;
	}
	c->got += (size_t)got;
	c->busy = c->got < sizeof(*out);
}

static bool is_stopped(const struct executor *x)
{
	return x->options.stop && *x->options.stop;
}

static void wait_for(struct executor *x, size_t count, struct outcome *out)
{
	for (;;) {
		struct pollfd fds[EXECUTOR_JOBS_MAX];
		size_t busy = 0;

		for (size_t i = 0; i < count; i++) {
			fds[i] = (struct pollfd){.fd = x->children[i].busy ? x->children[i].out : -1, .events = POLLIN};
			busy += x->children[i].busy;
		}
		if (!busy)
			return;
		(void)poll(fds, count, POLL_MS);
		for (size_t i = 0; i < count; i++) {
			struct child *c = &x->children[i];

			if (!c->busy)
				continue;
			if (fds[i].revents) {
				take_bytes(c, &out[i]);
			} else if (clock_mono_ns() - c->since_ns > (c->told ? END_S * UINT64_C(1000000000) : x->options.stuck_ns)) {
				end_child(c, true);
				fail(&out[i], "no answer of the worker: it was killed");
			} else if (is_stopped(x) && !c->told) {
				/* It drops its database. */
				kill(c->pid, SIGTERM);
				c->told = true;
				c->since_ns = clock_mono_ns();
			}
		}
	}
}

void executor_run(struct executor *x, const struct span *texts, size_t count, struct outcome *out)
{
	for (size_t i = 0; i < count; i++)
		send_text(x, (unsigned)i, texts[i], &out[i]);
	wait_for(x, count, out);
}

const char *executor_trace(const struct executor *x, size_t number)
{
	return x->children[number].trace;
}

void executor_close(struct executor *x)
{
	for (unsigned i = 0; i < x->options.jobs; i++)
		end_child(&x->children[i], false);
	mem_free(x);
}
