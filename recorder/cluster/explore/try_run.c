/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/explore/try_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cluster/explore/judge_run.h"

enum {
	GRACE_S = 90, /* for a run that was told to end */
	LOOK_MS = 100,
};

struct span try_field(struct span *rest, char end)
{
	const char *at = memchr(rest->ptr, end, rest->len);
	struct span out = span_of(rest->ptr, at ? (size_t)(at - rest->ptr) : rest->len);

	*rest = at ? span_of(at + 1, rest->len - out.len - 1) : span_of(rest->ptr + rest->len, 0);
	return out;
}

static void take_line(const struct try_options *options, struct try_outcome *o, struct span line)
{
	struct span word = try_field(&line, '\t');

	if (span_eq_str(word, "signal") || span_eq_str(word, "state")) {
		if (options->seen)
			options->seen(options->ctx, word, line);
	} else if (span_eq_str(word, "finding")) {
		buf_add_span(&o->findings, line);
		buf_add_char(&o->findings, '\n');
	} else if (span_eq_str(word, "done")) {
		o->done = true;
	} else {
		o->skipped = span_eq_str(word, "skip");
		buf_clear(&o->why);
		buf_add_span(&o->why, line);
	}
}

static bool is_stopped(const struct try_options *options)
{
	return options->stop && *options->stop;
}

/* Waits for the child's lines, and ends it when its time is over. */
static void listen_to(const struct try_options *options, pid_t child, int from, struct try_outcome *o)
{
	uint64_t limit = clock_mono_ns() + options->limit_ns;
	struct buf text = BUF_INIT;
	struct span rest;
	bool told = false, killed = false;

	for (;;) {
		struct pollfd fd = {.fd = from, .events = POLLIN};
		uint64_t now = clock_mono_ns();
		ssize_t got;

		if (!told && (is_stopped(options) || (options->limit_ns && now > limit))) {
			told = true;
			o->stalled = !is_stopped(options);
			limit = now + GRACE_S * 1000000000ull;
			kill(child, SIGTERM);
		} else if (told && !killed && now > limit) {
			killed = true;
			kill(child, SIGKILL); /* its servers end with it */
		}
		if (poll(&fd, 1, LOOK_MS) <= 0)
			continue;
		got = read(from, buf_reserve(&text, 65536), 65536);
		if (got > 0)
			text.len += (size_t)got;
		else if (got == 0 || errno != EINTR)
			break;
	}
	for (rest = buf_span(&text); rest.len;)
		take_line(options, o, try_field(&rest, '\n'));
	buf_release(&text);
}

void try_run(const struct try_options *options, struct try_outcome *o)
{
	struct judge_run run = {.drive = {.ops = options->ops, .output = options->trace, .overwrite = true, .servers = options->servers,
					.stop = options->stop},
		.contract = options->contract};
	int pipes[2];
	pid_t child, parent = getpid();

	*o = (struct try_outcome){.why = BUF_INIT, .findings = BUF_INIT};
	if (pipe2(pipes, O_CLOEXEC) != 0) {
		buf_printf(&o->why, "no pipe: %s", strerror(errno));
		return;
	}
	child = fork();
	if (child == 0) {
		/* However this process ends, the run and its servers end with it. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(pipes[0]);
		run.to = pipes[1];
		judge_run_and_exit(&run);
	}
	close(pipes[1]);
	if (child > 0)
		listen_to(options, child, pipes[0], o);
	else
		buf_printf(&o->why, "no process: %s", strerror(errno));
	close(pipes[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (!o->done && !o->why.len)
		buf_add_str(&o->why, "its process ended early");
}

void try_release(struct try_outcome *o)
{
	buf_release(&o->why);
	buf_release(&o->findings);
}

bool try_contract(struct contract *out, const struct ops *ops, const char *text, struct err *err)
{
	/* What any cluster should keep, where nothing else is said. */
	static const char strict[] = "contract strict\ncluster\nforbids lost-commit resurrected duplicate-apply divergent "
				     "broken-constraint crash hang no-recovery\n";

	if (text)
		return contract_parse(out, span_str(text), "--contract-file", err);
	return ops->kind.contract ? contract_builtin(out, ops->kind.contract, err)
				  : contract_parse(out, span_str(strict), "strict", err);
}
