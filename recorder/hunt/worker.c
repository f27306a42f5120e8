/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker: generates, executes and judges the cases that it is told, on servers of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/files.h"
#include "base/mem.h"
#include "hunt/hunt_internal.h"
#include "reducer/executor.h"
#include "reducer/reducer.h"
#include "server/errors.h"

struct worker {
	const struct hunt_options *options;
	struct hunt_state *state; /* a copy of its own: which signatures have examples */
	unsigned number;
	struct case_server *servers;
	struct run_options runs[HUNT_SERVERS_MAX];
	bool started[HUNT_SERVERS_MAX];
	char database[64];
	char traces[HUNT_SERVERS_MAX][4096];
};

/* ---- servers ---- */

static bool start_server(struct worker *w, size_t i, struct err *err)
{
	if (w->started[i])
		return true;
	w->runs[i] = w->options->run;
	w->runs[i].target.database = w->database;
	w->runs[i].quick_watch = true;
	w->runs[i].overwrite = true;
	/* Twice: what kills servers can kill one that starts, and a port can be taken meanwhile. */
	w->started[i] = w->servers[i].start(&w->servers[i], &w->runs[i], err) ||
			w->servers[i].start(&w->servers[i], &w->runs[i], err);
	return w->started[i];
}

static void stop_server(struct worker *w, size_t i)
{
	if (w->started[i])
		w->servers[i].stop(&w->servers[i]);
	w->started[i] = false;
}

/* ---- files ---- */

static bool copy_file(const char *from, const char *to)
{
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
	char block[65536];
	bool ok = out != NULL;
	size_t got;

	while (ok && (got = fread(block, 1, sizeof(block), in)) > 0)
		ok = fwrite(block, 1, got, out) == got;
	ok = ok && !ferror(in);
	if (in)
		fclose(in);
	return out && fclose(out) == 0 && ok;
}

/* `# expect: RELEASE = violated CLASS ...`: what a corpus would ask of it. */
static void add_expectation(struct scenario *s, const struct hunt_judged *judged)
{
	struct buf line = BUF_INIT;
	struct err err;

	for (size_t i = 0; i < judged->finding_count; i++) {
		const struct hunt_finding *f = &judged->findings[i];

		if ((f->kind == HUNT_NEW || f->kind == HUNT_KNOWN) && strstr(f->signature, " violation "))
			buf_printf(&line, " %.*s", (int)strcspn(f->signature, " "), f->signature);
	}
	if (line.len) {
		struct buf all = BUF_INIT;

		buf_printf(&all, "%s = violated%s", judged->label, line.data);
		(void)!scenario_add_meta(s, SPAN_LIT("expect"), buf_span(&all), &err);
		buf_release(&all);
	}
	buf_release(&line);
}

static void print_report(const struct worker *w, const struct hunt_judged *judged, uint64_t number, const char *server,
	struct buf *out)
{
	const struct hunt_options *o = w->options;

	buf_printf(out, "%s (%s)\nmodel %s, seed %llu, case %llu\n\n", judged->label, server, o->model->name,
		(unsigned long long)o->seed, (unsigned long long)number);
	for (size_t i = 0; i < judged->finding_count; i++) {
		const struct hunt_finding *f = &judged->findings[i];

		buf_printf(out, "[%s] %s\n", hunt_kind_name(f->kind), f->signature);
		if (f->report.ptr)
			buf_printf(out, "%.*s\n", SPAN_ARG(f->report));
	}
}

/* Whether this case is to be kept: it has a signature with few examples.  *fresh: one that had none, to be made small. */
static bool is_wanted(struct worker *w, const struct hunt_judged *judged, const char **fresh)
{
	bool wanted = false;

	*fresh = NULL;
	for (size_t i = 0; i < judged->finding_count; i++) {
		const struct hunt_finding *f = &judged->findings[i];
		struct hunt_group *group = state_group(w->state, f->signature);
		unsigned most = f->kind >= HUNT_SUSPICION ? HUNT_EXAMPLES : 1;

		if (f->kind <= HUNT_COMPAT && w->options->known == HUNT_KNOWN_HIDE)
			continue;
		if (group->example_count < most) {
			if (!*fresh && !group->example_count && w->options->reduce != HUNT_REDUCE_NONE &&
				(w->options->reduce == HUNT_REDUCE_ALL || f->kind >= HUNT_SUSPICION))
				*fresh = f->signature;
			group->example_count++;
			wanted = true;
		}
	}
	return wanted;
}

/* Scenario, recording and report, before the case's line is written. */
static bool keep(struct worker *w, size_t server, uint64_t number, struct scenario *s, const struct hunt_judged *judged)
{
	struct buf folder = BUF_INIT, path = BUF_INIT, text = BUF_INIT;
	const char *name = w->servers[server].name;
	struct err err;
	bool ok;

	case_folder(&folder, w->options, number);
	ok = mkdir(folder.data, 0777) == 0 || errno == EEXIST;
	add_expectation(s, judged);
	scenario_print(s, &text);
	buf_printf(&path, "%s/case.scn", folder.data);
	ok = ok && file_write(path.data, buf_span(&text), &err);
	buf_clear(&path);
	buf_printf(&path, "%s/%s.itr", folder.data, name);
	ok = ok && (access(w->traces[server], R_OK) != 0 || copy_file(w->traces[server], path.data));
	buf_clear(&path);
	buf_clear(&text);
	buf_printf(&path, "%s/%s.txt", folder.data, name);
	print_report(w, judged, number, name, &text);
	ok = ok && file_write(path.data, buf_span(&text), &err);
	buf_release(&folder);
	buf_release(&path);
	buf_release(&text);
	return ok;
}

/* ---- the first example of a group, made small ---- */

/* So long at most: a worker that says nothing for five minutes is killed. */
enum { REDUCE_S = 60, REDUCE_EXECUTIONS = 300 };

struct reducing {
	struct worker *w;
	size_t server;
};

static void execute_one(void *ctx, const struct span *texts, size_t count, struct outcome *out)
{
	struct reducing *r = ctx;
	struct scenario s;
	struct err err;
	bool gone = false;

	(void)count; /* one at a time */
	*out = (struct outcome){.ran = false};
	if (!scenario_parse(&s, texts[0], "candidate", &err))
		return;
	if (start_server(r->w, r->server, &err)) {
		r->w->runs[r->server].output = r->w->traces[r->server];
		execute_here(&s, &r->w->runs[r->server], false, out, &gone);
		if (gone)
			stop_server(r->w, r->server);
	}
	scenario_release(&s);
}

static const char *trace_of_one(void *ctx, size_t number)
{
	struct reducing *r = ctx;

	(void)number;
	return r->w->traces[r->server];
}

/* What the reducer calls the failure of a signature; false: it is not one of a single server's. */
static bool failure_name(const char *signature, char *out, size_t size)
{
	unsigned number;

	if (sscanf(signature, "unexpected-error %u", &number) == 1)
		snprintf(out, size, "error-%u", number);
	else if (strncmp(signature, "diff ", 5) == 0 || strncmp(signature, "isorec", 6) == 0)
		return false;
	else
		snprintf(out, size, "%.*s", (int)strcspn(signature, " "), signature);
	return true;
}

static void reduce_case(struct worker *w, size_t server, uint64_t number, const struct scenario *s, const char *signature)
{
	struct reducing reducing = {w, server};
	struct buf folder = BUF_INIT;
	struct reducer_summary summary = {.rate = 1};
	struct reducer_options options = {.execute = execute_one, .trace = trace_of_one, .ctx = &reducing, .jobs = 1,
		.same = SAME_SHAPE, .time_ns = REDUCE_S * UINT64_C(1000000000), .executions_max = REDUCE_EXECUTIONS, .floor = 0.1,
		.stop = w->options->stop};
	char name[80];
	struct err err;

	if (!failure_name(signature, name, sizeof(name)))
		return;
	case_folder(&folder, w->options, number);
	options.folder = folder.data;
	options.finding = name;
	/* What cannot be reduced is there as it was made. */
	(void)!reducer_run(&options, s, &summary, &err);
	buf_release(&folder);
}

/* ---- a case ---- */

static void add_happened(struct case_tags *tags, enum hunt_tag tag)
{
	unsigned at = case_tag_count() + tag;

	tags->bits[at / 64] |= UINT64_C(1) << at % 64;
}

static void tag_what_happened(const struct execution *e, struct case_tags *tags)
{
	for (size_t i = 0; i < e->stmt_count; i++) {
		uint32_t error = e->stmts[i].record.error;

		if (execution_blocked(&e->stmts[i]))
			add_happened(tags, HAPPENED_BLOCKED);
		if (error == ER_LOCK_DEADLOCK)
			add_happened(tags, HAPPENED_DEADLOCK);
		if (error == ER_CHECKREAD)
			add_happened(tags, HAPPENED_SNAPSHOT);
		if (error == ER_LOCK_WAIT_TIMEOUT)
			add_happened(tags, HAPPENED_TIMEOUT);
		if (error == ER_DUP_ENTRY)
			add_happened(tags, HAPPENED_DUPLICATE);
		if (error == ER_ROW_IS_REFERENCED_2 || error == ER_NO_REFERENCED_ROW_2)
			add_happened(tags, HAPPENED_FOREIGN);
	}
}

static void add_crash(struct worker *w, size_t i, struct hunt_judged *judged)
{
	struct case_server *server = &w->servers[i];
	struct buf log = BUF_INIT;

	if (server->read_log)
		server->read_log(server, &log);
	hunt_add_finding(judged, HUNT_NEW,
		log.data && strstr(log.data, "Assertion") ? "crash assertion" : "crash")->report =
		arena_copy(&judged->arena, log.data ? buf_span(&log) : SPAN_LIT("The server is gone.\n"));
	buf_release(&log);
}

/* A server that is gone, or sessions that had to be killed. */
static void add_accidents(struct worker *w, size_t i, const struct run_summary *summary, struct hunt_judged *judged)
{
	if (summary->hung)
		hunt_add_finding(judged, HUNT_NEW, "hang")->report =
			SPAN_LIT("All sessions waited and nothing moved; the sessions were killed.\n");
	if (summary->server_gone)
		add_crash(w, i, judged);
}

struct side {
	struct execution e;
	struct hunt_judged judged;
	bool loaded;
};

static bool run_and_judge(struct worker *w, size_t i, const struct scenario *s, struct side *side,
	struct hunt_result *result, struct err *err)
{
	uint64_t begin = clock_mono_ns(), ran;
	struct run_summary summary;
	bool ok;

	w->runs[i].output = w->traces[i];
	ok = run_scenario(s, &w->runs[i], &summary, err);
	ran = clock_mono_ns();
	result->run_ns = ran - begin;
	if (!ok && !summary.server_gone)
		return false;
	if (!execution_load(&side->e, w->traces[i], NULL, err))
		return false;
	side->loaded = true;
	if (!hunt_judge(&side->e, &side->judged, err))
		return false;
	add_accidents(w, i, &summary, &side->judged);
	tag_what_happened(&side->e, &result->tags);
	result->judge_ns = clock_mono_ns() - ran;
	if (summary.server_gone)
		stop_server(w, i);
	return true;
}

static void fill_result(struct hunt_result *result, const struct hunt_judged *judged)
{
	result->figures = judged->figures;
	snprintf(result->reason, sizeof(result->reason), "%s", judged->reason);
	result->finding_count = judged->finding_count;
	for (size_t i = 0; i < judged->finding_count; i++) {
		memcpy(result->findings[i].signature, judged->findings[i].signature, HUNT_SIGNATURE_MAX);
		result->findings[i].kind = judged->findings[i].kind;
		result->findings[i].count = judged->findings[i].count;
	}
}

static void send_result(const struct hunt_result *result, int out)
{
	struct buf line = BUF_INIT;

	result_print(result, &line);
	if (!fd_write_all(out, line.data, line.len))
		_exit(EXIT_FAILURE); /* the hunt is gone */
	buf_release(&line);
}

static bool do_server(struct worker *w, size_t i, struct scenario *s, struct side *sides, struct hunt_result *result,
	struct err *err)
{
	struct side *side = &sides[i];
	const char *fresh;
	bool ok;

	if (!start_server(w, i, err))
		return false;
	ok = run_and_judge(w, i, s, side, result, err);
	if (!ok && (client_answers(&w->runs[i].target) || !w->servers[i].restarts)) {
		return false;
	} else if (!ok) {
		/* It went before the sessions of the case were there, or after them. */
		add_crash(w, i, &side->judged);
		stop_server(w, i);
	} else if (i && sides[0].loaded &&
		   !hunt_compare(&sides[0].e, &sides[0].judged, &side->e, &side->judged, err)) {
		return false;
	}
	if (is_wanted(w, &side->judged, &fresh) && !keep(w, i, result->number, s, &side->judged))
		return err_set(err, ERR_IO, "cannot write to %s: %s", w->options->folder, strerror(errno));
	if (fresh)
		reduce_case(w, i, result->number, s, fresh);
	fill_result(result, &side->judged);
	return true;
}

static void do_case(struct worker *w, uint64_t number, int out)
{
	const struct hunt_options *o = w->options;
	struct generate_options generate = {.model = o->model, .grammar = o->grammar, .tables = o->tables, .dialect = o->dialect, .seed = o->seed, .orders = o->orders};
	struct side *sides = mem_zero(o->server_count, sizeof(*sides));
	uint64_t begin = clock_mono_ns();
	struct case_tags tags;
	struct scenario s;
	struct err err;
	bool made = generate_case(&generate, number, &s, &tags, &err);
	uint64_t generated = clock_mono_ns() - begin;

	for (size_t i = 0; i < o->server_count && !(o->stop && *o->stop); i++) {
		struct hunt_result result = {.number = number, .server = (unsigned)i, .tags = tags, .generate_ns = generated};

		if (!made || !do_server(w, i, &s, sides, &result, &err))
			snprintf(result.failure, sizeof(result.failure), "%.199s", err.text);
		if (!(o->stop && *o->stop))
			send_result(&result, out);
		unlink(w->traces[i]);
	}
	for (size_t i = 0; i < o->server_count; i++) {
		hunt_judged_release(&sides[i].judged);
		if (sides[i].loaded)
			execution_release(&sides[i].e);
	}
	mem_free(sides);
	if (made)
		scenario_release(&s);
}

void worker_run(const struct hunt_options *options, struct hunt_state *state, unsigned number, int in, int out)
{
	struct case_server servers[HUNT_SERVERS_MAX];
	struct worker w = {.options = options, .state = state, .number = number, .servers = servers};
	struct rlimit memory = {options->memory_max, options->memory_max};
	uint64_t next;

	memcpy(servers, options->servers, sizeof(servers));
	if (options->memory_max)
		setrlimit(RLIMIT_AS, &memory);
	snprintf(w.database, sizeof(w.database), "%s_%u", options->run.target.database, number);
	for (size_t i = 0; i < options->server_count; i++)
		snprintf(w.traces[i], sizeof(w.traces[i]), "%s/tmp/%u-%zu.itr", options->folder, number, i);
	while (!(options->stop && *options->stop) && read(in, &next, sizeof(next)) == sizeof(next))
		do_case(&w, next, out);
	for (size_t i = 0; i < options->server_count; i++)
		stop_server(&w, i);
}
