/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations and faults: when one is applicable, its steps, and how its end is known. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cluster/drive/drive_internal.h"

static bool fits(struct drive *d, const struct kind_operation *o, unsigned node)
{
	switch (o->when) {
	case KIND_WHEN_ANY:
		return true;
	case KIND_WHEN_UP:
		return node_is_up(d, node);
	case KIND_WHEN_DOWN:
	case KIND_WHEN_ALL_DOWN:
		return !node_is_up(d, node);
	case KIND_WHEN_READY:
		return node_is_ready(d, node);
	}
	return false;
}

uint32_t operation_targets(struct drive *d, const struct ops_step *step, uint64_t draw)
{
	const struct kind_operation *o = step->operation;
	uint32_t fit = 0, out, wanted = step->targets;
	unsigned ready = 0, down = 0, count;

	for (unsigned i = 0; i < d->node_count; i++) {
		fit |= fits(d, o, i) ? 1u << i : 0;
		ready += node_is_ready(d, i);
		down += !node_is_up(d, i);
	}
	if (step->change)
		return step->all ? (1u << d->node_count) - 1 : wanted;
	if (o->when == KIND_WHEN_ALL_DOWN && down != d->node_count)
		return 0;
	if (o->of_cluster)
		return (1u << d->node_count) - 1;
	out = step->all || step->any ? fit : wanted & fit;
	count = (unsigned)__builtin_popcount(out);
	if (step->any && count) {
		for (uint64_t skip = draw % count; skip; skip--)
			out &= out - 1;
		out &= ~(out - 1); /* the first that is left */
	}
	if (!step->all && !step->any && out != wanted)
		return 0;
	for (unsigned i = 0; o->others_up && i < d->node_count; i++)
		ready -= out >> i & 1 && node_is_ready(d, i);
	return o->others_up && !ready ? 0 : out;
}

static void emit(struct operation *o, struct trace_producer *producer, const char *phase, const char *result, const char *said)
{
	struct event_data data = {.pairs = BUF_INIT};
	struct buf nodes = BUF_INIT, text = BUF_INIT;
	const struct kind_operation *kind = o->step->operation;
	bool begin = strcmp(phase, "begin") == 0, one = !kind->of_cluster && !(o->targets & (o->targets - 1));
	char number[24];

	nodes_print(o->d, o->targets, &nodes);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)atomic_load(&o->d->counts.statements));
	event_data_add(&data, "name", span_str(kind->name));
	event_data_add(&data, "kind", span_str(kind->fault ? "fault" : "operation"));
	event_data_add(&data, "nodes", buf_span(&nodes));
	event_data_add(&data, "phase", span_str(phase));
	event_data_add(&data, "statement", span_str(number));
	if (result)
		event_data_add(&data, "result", span_str(result));
	if (o->aimed) {
		event_data_add(&data, "aimed", SPAN_LIT("window"));
		event_data_add(&data, "hit", o->hit ? SPAN_LIT("yes") : SPAN_LIT("no"));
	}
	if (o->step->change)
		buf_printf(&text, "%s%s", o->step->text, begin ? " begins" : "");
	else
		buf_printf(&text, "%s %s%s", kind->name, kind->of_cluster ? "the cluster" : nodes.data, begin ? " begins" : "");
	if (result && strcmp(result, "done") != 0)
		buf_printf(&text, ": %s%s%.300s", result, said && *said ? ": " : "", said ? said : "");
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '\n')
			text.data[i] = ' ';
	event_emit(producer, one ? nodes.data : "", "operation", buf_span(&text),
		begin ? 0 : o->began, &data);
	trace_producer_flush(producer);
	if (o->d->options->tell && (begin || (result && strcmp(result, "done") != 0)))
		o->d->options->tell(o->d->options->ctx, text.data);
	buf_release(&nodes);
	buf_release(&text);
	buf_release(&data.pairs);
}

/* SQL steps of one operation on one node share a session: locks last as long as it. */
static bool run_sql(struct operation *o, const struct kind_step *steps, unsigned count, unsigned node, struct err *err)
{
	char socket[256];
	struct run_target target = node_target(o->d, node, socket, NULL);
	MYSQL *mysql;
	bool ok = true;

	target.read_timeout_s = (unsigned)(o->d->ops->limit_ns / 1000000000u) + 1;
	mysql = client_dial(&target, err);
	if (!mysql)
		return false;
	for (unsigned i = 0; i < count && ok; i++) {
		ok = steps[i].shell || mysql_query(mysql, steps[i].text) == 0;
		if (!ok)
			err_set(err, ERR_SERVER, "%s: %s", steps[i].text, mysql_error(mysql));
		else if (!steps[i].shell)
			mysql_free_result(mysql_store_result(mysql));
	}
	mysql_close(mysql);
	return ok;
}

static bool run_steps(struct operation *o, struct trace_producer *producer, const struct kind_step *steps, unsigned count,
	struct buf *said)
{
	bool sql = false, ok = true;
	struct err err;

	for (unsigned i = 0; i < count && ok; i++) {
		if (steps[i].shell)
			ok = nodes_shell(o->d, producer, steps[i].text, o->targets, said) == 0;
		sql |= !steps[i].shell;
	}
	for (unsigned n = 0; sql && ok && n < o->d->node_count; n++) {
		if (!(o->targets >> n & 1))
			continue;
		ok = run_sql(o, steps, count, n, &err);
		if (!ok)
			buf_add_str(said, err.text);
	}
	return ok;
}

/* True once what the operation is to lead to is there. */
static bool has_ended(struct operation *o)
{
	const struct kind_operation *kind = o->step->operation;

	for (unsigned n = 0; n < o->d->node_count; n++) {
		bool meant = o->targets >> n & 1 || (kind->joins_all && node_is_wanted(o->d, n));

		if (!meant)
			continue;
		if (kind->ends == KIND_ENDS_EXIT && node_is_up(o->d, n))
			return false;
		if (kind->ends == KIND_ENDS_READY && !node_is_ready(o->d, n))
			return false;
	}
	return true;
}

static void mark_nodes(struct operation *o)
{
	const struct kind_operation *kind = o->step->operation;

	pthread_mutex_lock(&o->d->lock);
	for (unsigned n = 0; n < o->d->node_count; n++) {
		struct drive_node *node = &o->d->nodes[n];
		bool meant = o->targets >> n & 1;

		if (meant && kind->leaves) {
			node->wanted = false;
			snprintf(node->asked, sizeof(node->asked), "%s", kind->name);
		}
		if ((meant && kind->joins) || kind->joins_all)
			node->wanted = true;
	}
	pthread_mutex_unlock(&o->d->lock);
}

static void *operation_main(void *arg)
{
	struct operation *o = arg;
	const struct kind_operation *kind = o->step->operation;
	struct trace_producer *producer = trace_producer_open(o->d->writer);
	struct buf said = BUF_INIT;
	uint64_t until = o->began + o->d->ops->limit_ns;
	const char *result = "done";

	mysql_thread_init();
	mark_nodes(o);
	emit(o, producer, "begin", NULL, NULL);
	if (o->step->change)
		o->change = net_apply(o->d->net, o->step->change, "operation");
	else if (!run_steps(o, producer, kind->steps, kind->step_count, &said))
		result = "failed";
	while (strcmp(result, "done") == 0 && !has_ended(o) && !atomic_load(&o->d->end)) {
		if (clock_mono_ns() > until)
			result = "timeout";
		else
			poll(NULL, 0, 20);
	}
	o->failed = strcmp(result, "done") != 0;
	/* A fault ends when it is undone. */
	if (!kind->fault || o->failed)
		emit(o, producer, "end", result, said.data);
	o->undone = o->failed;
	buf_release(&said);
	trace_producer_close(producer);
	mysql_thread_end();
	atomic_fetch_sub(&o->d->operations, 1);
	atomic_store(&o->over, true);
	return NULL;
}

struct operation *operation_start(struct drive *d, const struct ops_step *step, uint32_t targets, bool aimed, bool hit)
{
	struct operation *o = mem_zero(1, sizeof(*o));

	*o = (struct operation){.d = d, .step = step, .targets = targets, .aimed = aimed, .hit = hit, .began = clock_mono_ns()};
	if (step->lasts_ns && step->lasts_ns != UINT64_MAX)
		o->undo_at = o->began + step->lasts_ns;
	atomic_fetch_add(&d->operations, 1);
	if (pthread_create(&o->thread, NULL, operation_main, o) != 0) {
		atomic_fetch_sub(&d->operations, 1);
		mem_free(o);
		return NULL;
	}
	return o;
}

void operation_undo(struct operation *o)
{
	const struct kind_operation *kind = o->step->operation;
	struct buf said = BUF_INIT;
	bool ok;

	if (!kind->fault || o->undone || !atomic_load(&o->over))
		return;
	o->undone = true;
	if (o->step->change)
		net_take_back(o->d->net, o->change);
	ok = o->step->change || run_steps(o, o->d->producer, kind->undo, kind->undo_count, &said);
	emit(o, o->d->producer, "end", ok ? "done" : "failed", said.data);
	buf_release(&said);
}

void operation_join(struct operation *o)
{
	pthread_join(o->thread, NULL);
}
