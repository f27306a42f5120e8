/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/drive/drive.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "cluster/drive/drive_internal.h"

enum {
	APPLICABLE_S = 20, /* a step whose moment came waits as long until its operation is applicable */
	HEAL_STEPS = 8,
	HEAL_WAIT_S = 15, /* for a node to be startable */
};

static void say(const struct drive *d, const char *what)
{
	if (d->options->tell)
		d->options->tell(d->options->ctx, what);
}

static bool stopped(const struct drive *d)
{
	return d->options->stop && *d->options->stop;
}

static uint64_t seconds(uint64_t s)
{
	return s * 1000000000u;
}

static void note(struct drive *d, const char *topic, struct span text)
{
	struct record_note record = {.source = SPAN_LIT("driver"), .topic = span_str(topic), .text = text};

	trace_emit_note(d->producer, &record);
}

/* ---- moments ---- */

struct progress {
	unsigned at;        /* the step whose moment is awaited */
	uint64_t waits_since; /* for it to be applicable, or for what it aims at; 0: not yet */
	uint64_t ended_at;  /* the step before; 0: it has not */
	struct operation *first, *last; /* all that were started */
	struct random_source random;
};

/* Something is under way, and nothing has moved for a while. */
static const char *window_source(struct drive *d)
{
	uint64_t now = clock_mono_ns(), moved = atomic_load(&d->moved_at);

	if (now < moved + (uint64_t)DRIVE_WINDOW_MS * 1000000u)
		return NULL;
	if (atomic_load(&d->operations))
		return "operation";
	return atomic_load(&d->committing) ? "commit" : NULL;
}

static void record_window(struct drive *d, const char *source)
{
	struct event_data data = {.pairs = BUF_INIT};
	char ms[24];

	snprintf(ms, sizeof(ms), "%llu", (unsigned long long)((clock_mono_ns() - atomic_load(&d->moved_at)) / 1000000u));
	event_data_add(&data, "source", span_str(source));
	event_data_add(&data, "open_ms", span_str(ms));
	event_emit(d->producer, "", "window", span_str(source), 0, &data);
	buf_release(&data.pairs);
}

/* Has the step's moment come?  *hit: it came as the step wants it, not by the end of the waiting. */
static bool is_moment(struct drive *d, struct progress *p, const struct ops_step *step, bool *hit)
{
	uint64_t now = clock_mono_ns();
	const char *source;
	char state[96];

	*hit = true;
	switch (step->trigger) {
	case OPS_AT_TIME:
		return now >= d->began + step->after_ns;
	case OPS_AT_STATEMENT:
		return atomic_load(&d->counts.statements) >= step->number;
	case OPS_THEN:
		return p->ended_at && now >= p->ended_at + step->after_ns;
	case OPS_AT_STATE:
		node_state(d, step->node, state, sizeof(state));
		if (strcmp(state, step->state) == 0)
			return true;
		break;
	case OPS_AT_WINDOW:
		source = window_source(d);
		if (source)
			record_window(d, source);
		if (source)
			return true;
		break;
	}
	if (!p->waits_since)
		p->waits_since = now;
	*hit = false;
	return now > p->waits_since + d->ops->aim_ns;
}

static void step_over(struct drive *d, struct progress *p, const struct ops_step *step, const char *why)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, "%s: %s", step->text, why);
	note(d, "operation left out", buf_span(&text));
	say(d, text.data);
	buf_release(&text);
	d->report->operations_late++;
	p->at++;
	p->waits_since = 0;
	p->ended_at = clock_mono_ns();
}

static void begin_step(struct drive *d, struct progress *p, const struct ops_step *step, bool hit)
{
	uint64_t now = clock_mono_ns();
	struct operation *o;
	uint32_t targets;
	char name[32];

	if (!step) {
		step_over(d, p, &d->ops->steps[p->at], "the links between the nodes are not ours here");
		return;
	}
	if (!step->operation) {
		snprintf(name, sizeof(name), "point-%u", d->points);
		if (step->own == OPS_POINT)
			(void)!point_take(d, name, d->ops->settle_ns, atomic_load(&d->hold));
		else if (step->own == OPS_HOLD)
			point_hold(d);
		else
			atomic_store(&d->hold, false);
		p->at++;
		p->ended_at = clock_mono_ns();
		return;
	}
	if (!hit && step->trigger == OPS_AT_STATE) {
		step_over(d, p, step, "the state did not come");
		return;
	}
	targets = operation_targets(d, step, random_next(&p->random));
	if (!targets) {
		if (!p->waits_since)
			p->waits_since = now;
		if (now > p->waits_since + seconds(APPLICABLE_S))
			step_over(d, p, step, "it was not applicable");
		return;
	}
	o = operation_start(d, step, targets, step->trigger == OPS_AT_WINDOW, hit);
	p->at++;
	p->waits_since = p->ended_at = 0;
	if (!o)
		return;
	d->report->operations++;
	if (p->last)
		p->last->next = o;
	else
		p->first = o;
	p->last = o;
}

/* New nodes are watched as the others; faults whose time is over are undone. */
static void look_after(struct drive *d, struct progress *p, bool undo_all)
{
	struct err err;

	for (unsigned i = 0; i < d->node_count; i++)
		if (!d->nodes[i].watching)
			node_watch(d, &d->nodes[i]);
	for (unsigned i = 0; i < d->node_count; i++)
		if (!d->nodes[i].announced && node_is_ready(d, i) && !point_schema(d, &err))
			break;
	for (struct operation *o = p->first; o; o = o->next)
		if (o->step->operation->fault && atomic_load(&o->over) &&
			(undo_all || (o->undo_at && clock_mono_ns() >= o->undo_at)))
			operation_undo(o);
	if (p->last && !p->ended_at && atomic_load(&p->last->over) && (!p->last->undo_at || p->last->undone))
		p->ended_at = clock_mono_ns();
}

static bool any_under_way(const struct progress *p)
{
	for (const struct operation *o = p->first; o; o = o->next)
		if (!atomic_load(&o->over))
			return true;
	return false;
}

static void perform(struct drive *d, struct progress *p)
{
	while (!stopped(d)) {
		const struct ops_step *step = p->at < d->ops->step_count ? &d->ops->steps[p->at] : NULL;
		bool hit = false;

		look_after(d, p, false);
		if (step && is_moment(d, p, step, &hit))
			begin_step(d, p, links_step(d, p->at), hit);
		else if (!step && clock_mono_ns() >= d->began + d->ops->time_ns && !any_under_way(p))
			break;
		else
			poll(NULL, 0, DRIVE_TICK_MS);
	}
}

/* ---- healing ---- */

/* The operation that brings back nodes that are down: all of them, or one by one. */
static const struct kind_operation *healing(const struct drive *d, bool all)
{
	for (unsigned i = 0; i < d->ops->kind.operation_count; i++) {
		const struct kind_operation *o = &d->ops->kind.operations[i];

		if (o->joins && o->when == (all ? KIND_WHEN_ALL_DOWN : KIND_WHEN_DOWN) && o->of_cluster == all)
			return o;
	}
	return NULL;
}

/* The operation that ends nodes; the kinds have a kill before an orderly stop, for which a node alone may wait. */
static const struct kind_operation *ending(const struct drive *d)
{
	for (unsigned i = 0; i < d->ops->kind.operation_count; i++)
		if (d->ops->kind.operations[i].leaves && d->ops->kind.operations[i].when == KIND_WHEN_UP)
			return &d->ops->kind.operations[i];
	return NULL;
}

static uint32_t nodes_down(struct drive *d)
{
	uint32_t down = 0;

	for (unsigned n = 0; n < d->node_count; n++)
		down |= !node_is_up(d, n) ? 1u << n : 0;
	return down;
}

static bool any_ready(struct drive *d)
{
	for (unsigned n = 0; n < d->node_count; n++)
		if (node_is_ready(d, n))
			return true;
	return false;
}

/* False: it is not applicable within that time, or failed. */
static bool heal_by(struct drive *d, struct progress *p, struct ops_step *step, uint64_t wait_ns)
{
	uint64_t until = clock_mono_ns() + wait_ns;
	struct operation *o;
	uint32_t targets;

	step->text = step->operation->name;
	while (!(targets = operation_targets(d, step, 0)) && clock_mono_ns() < until && !stopped(d))
		poll(NULL, 0, 50);
	o = targets ? operation_start(d, step, targets, false, false) : NULL;
	if (!o)
		return false;
	p->last ? (p->last->next = o) : (p->first = o);
	p->last = o;
	while (!atomic_load(&o->over))
		poll(NULL, 0, 20);
	return !o->failed;
}

/* Nodes that are down are started.  Where those that run are not well without them, they are ended first, and all recover. */
static void start_nodes(struct drive *d, struct progress *p)
{
	static struct ops_step steps[HEAL_STEPS * DRIVE_NODES_MAX];

	for (unsigned i = 0; i < HEAL_STEPS * d->node_count && !stopped(d); i++) {
		uint32_t all = (1u << d->node_count) - 1, down = nodes_down(d);
		struct ops_step *step = &steps[i];

		*step = (struct ops_step){.trigger = OPS_THEN, .operation = healing(d, down == all)};
		if (!down || !step->operation)
			break;
		step->targets = step->operation->of_cluster ? 0 : down & ~(down - 1);
		if (heal_by(d, p, step, seconds(HEAL_WAIT_S)))
			continue;
		if (down == all || any_ready(d) || !ending(d))
			break;
		*step = (struct ops_step){.trigger = OPS_THEN, .operation = ending(d), .targets = all & ~nodes_down(d)};
		if (step->targets && !heal_by(d, p, step, 0))
			break;
	}
}

/* Faults are undone, and nodes that are down are started. */
static void heal(struct drive *d, struct progress *p)
{
	look_after(d, p, true);
	links_heal(d);
	if (d->ops->heal)
		start_nodes(d, p);
	/* A node that should be there is expected there, whatever took it out. */
	for (unsigned n = 0; d->ops->heal && n < d->node_count; n++) {
		pthread_mutex_lock(&d->lock);
		d->nodes[n].wanted = true;
		pthread_mutex_unlock(&d->lock);
	}
}

/* ---- begin and end ---- */

static bool open_trace(struct drive *d, struct err *err)
{
	static const char *const facts[] = {"command", "isorec cluster", NULL};
	struct trace_writer_options options;
	struct stat st;

	if (!d->options->overwrite && stat(d->options->output, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
		return err_set(err, ERR_USAGE,
			"%s exists: choose another --output, or let it be replaced with --overwrite", d->options->output);
	trace_writer_defaults(&options);
	options.recorder = "isorec " ISOTRACE_VERSION;
	options.overwrite = d->options->overwrite;
	options.facts = facts;
	options.policy = TRACE_POLICY_WAIT;
	d->writer = trace_writer_open(d->options->output, &options, err);
	if (!d->writer)
		return false;
	d->config = (struct capture_config){.levels = CAPTURE_PARAMS | CAPTURE_RESULTS, .values.value_keep_max = 16 << 20};
	d->producer = trace_producer_open(d->writer);
	return true;
}

/* Polls and logs, as the proxy has them. */
static bool watch_nodes(struct drive *d, struct err *err)
{
	d->watched.login = (struct db_login){.user = "root", .password = "", .connect_timeout_ns = seconds(2), .answer_timeout_s = 2};
	for (unsigned i = 0; i < d->node_count; i++) {
		struct db_address address = {.host = "127.0.0.1", .port = d->nodes[i].port,
			.socket = d->nodes[i].socket[0] ? d->nodes[i].socket : NULL};

		cluster_add_node(&d->watched, &d->nodes[i].capture, &address, 200000000u);
		if (d->nodes[i].log[0] && !logs_add(&d->watched.logs, &d->nodes[i].capture, d->nodes[i].log, err))
			return false;
		node_watch(d, &d->nodes[i]);
	}
	return cluster_start(&d->watched, NULL, d->writer, err);
}

static bool wait_ready(struct drive *d, struct err *err)
{
	uint64_t until = clock_mono_ns() + d->ops->settle_ns;

	for (unsigned i = 0; i < d->node_count; i++)
		while (!node_is_ready(d, i)) {
			if (clock_mono_ns() > until || stopped(d))
				return err_set(err, ERR_SERVER, "%s is not ready (%s)", d->nodes[i].name,
					d->nodes[i].state[0] ? d->nodes[i].state : "no answer");
			poll(NULL, 0, 50);
		}
	return true;
}

static void note_run(struct drive *d)
{
	struct buf text = BUF_INIT;

	ops_print(d->ops, &text);
	note(d, "operations", buf_span(&text));
	/* The cluster is our own. */
	note(d, "sessions", SPAN_LIT("all"));
	buf_release(&text);
}

static void release(struct drive *d, struct progress *p)
{
	atomic_store(&d->end, true);
	load_stop(d);
	while (p->first) {
		struct operation *o = p->first;

		p->first = o->next;
		operation_join(o);
		d->report->operations_failed += o->failed;
		mem_free(o);
	}
	for (unsigned i = 0; i < d->node_count; i++)
		if (d->nodes[i].watching)
			pthread_join(d->nodes[i].watcher, NULL);
	cluster_stop(&d->watched);
	for (size_t i = 0; i < d->table_count; i++)
		mem_free(d->tables[i]);
	mem_free(d->tables);
	if (d->producer)
		trace_producer_close(d->producer);
}

/* Where it is asked for and cannot be had, the run goes on without it, and says so. */
static void open_coverage(struct drive *d)
{
	struct err err;

	if (!d->ops->coverage)
		return;
	if (!d->ops->kind.library || !strstr(d->ops->kind.start, "${environment}"))
		err_set(&err, ERR_UNSUPPORTED, "%s: a kind needs a line 'library', and ${environment} in its line 'start'", d->ops->kind.name);
	else if (coverage_open(&d->coverage, d->ops->kind.library, &err))
		return;
	d->coverage = NULL;
	note(d, "no coverage", span_str(err.text));
	say(d, err.text);
}

static void note_coverage(struct drive *d)
{
	const struct coverage_header *map;
	struct buf text = BUF_INIT;
	const char *why;

	if (!d->coverage)
		return;
	map = coverage_map(d->coverage, &why);
	if (!map) {
		note(d, "no coverage", span_str(why));
		say(d, why);
		return;
	}
	coverage_print(map, &text);
	note(d, "coverage", buf_span(&text));
	for (uint32_t i = 0; d->options->block && i < map->count; i++)
		if (coverage_reached(map)[i])
			d->options->block(d->options->end_ctx, coverage_addresses(map)[i]);
	buf_release(&text);
}

static bool run(struct drive *d, struct progress *p, struct err *err)
{
	open_coverage(d);
	say(d, "starting the cluster");
	if (!links_open(d, &d->report->skipped, err) || !nodes_start(d, &d->report->skipped, err) || !watch_nodes(d, err) || !wait_ready(d, err) || !load_setup(d, err) ||
		!point_schema(d, err))
		return false;
	note_run(d);
	atomic_store(&d->hold, true);
	if (!load_start(d, err) || !point_take(d, "start", d->ops->settle_ns, false))
		return false;
	say(d, "the load has begun");
	d->began = clock_mono_ns();
	perform(d, p);
	atomic_store(&d->hold, true);
	heal(d, p);
	say(d, "reading the nodes");
	if (!point_take(d, "end", d->ops->settle_ns, true))
		return false;
	point_counters(d);
	note_coverage(d);
	return true;
}

/* The caller's questions before the nodes and their folders are gone. */
static void show_end(struct drive *d)
{
	const struct drive_options *o = d->options;

	for (unsigned i = 0; o->log && i < d->node_count; i++)
		if (d->nodes[i].log[0])
			o->log(o->end_ctx, d->nodes[i].name, d->nodes[i].log);
	for (unsigned i = 0; o->state && i < d->state_count; i++)
		o->state(o->end_ctx, d->states[i]);
}

bool drive_run(const struct drive_options *options, struct drive_report *report, struct err *err)
{
	struct drive *d = mem_zero(1, sizeof(*d));
	struct progress p = {.at = 0};
	struct err closing;
	bool ok, closed;

	*report = (struct drive_report){.statements = 0};
	d->options = options;
	d->ops = options->ops;
	d->report = report;
	pthread_mutex_init(&d->lock, NULL);
	snprintf(d->cluster_name, sizeof(d->cluster_name), "isorec-cluster-%ld", (long)getpid());
	snprintf(d->parent, sizeof(d->parent), "%ld", (long)getpid());
	random_seed(&p.random, d->ops->seed, 1u << 20);
	ok = model_open(&d->model, d->ops->model, err) && open_trace(d, err);
	if (ok) {
		ok = run(d, &p, err);
		release(d, &p);
		show_end(d);
		nodes_stop(d);
		links_close(d);
		coverage_close(d->coverage);
		closed = trace_writer_close(d->writer, &closing);
		if (ok && !closed)
			*err = closing;
		ok = ok && closed;
	}
	report->statements = atomic_load(&d->counts.statements);
	report->transactions = atomic_load(&d->counts.transactions);
	report->committed = atomic_load(&d->counts.committed);
	report->unknown = atomic_load(&d->counts.unknown);
	report->failed = atomic_load(&d->counts.failed);
	pthread_mutex_destroy(&d->lock);
	mem_free(d);
	return ok;
}
