/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The links between the nodes: made, told in the trace, and what is done where they cannot be had. */
#include <stdio.h>

#include "cluster/drive/drive_internal.h"

static void add_number(struct event_data *data, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	event_data_add(data, name, span_str(text));
}

/* Under the net's lock. */
static void record_link(struct drive *d, unsigned from, unsigned to, const char *state, const struct net_counts *counts, const char *by)
{
	struct event_data data = {.pairs = BUF_INIT};
	struct buf text = BUF_INIT;
	char names[2][8];

	snprintf(names[0], sizeof(names[0]), "n%u", from + 1);
	snprintf(names[1], sizeof(names[1]), "n%u", to + 1);
	event_data_add(&data, "from", span_str(names[0]));
	event_data_add(&data, "to", span_str(names[1]));
	event_data_add(&data, "state", span_str(state));
	event_data_add(&data, "by", span_str(by));
	add_number(&data, "frames", counts->frames);
	add_number(&data, "bytes", counts->bytes);
	add_number(&data, "cut", counts->cut);
	add_number(&data, "lost", counts->lost);
	add_number(&data, "full", counts->full);
	add_number(&data, "duplicated", counts->duplicated);
	add_number(&data, "reordered", counts->reordered);
	buf_printf(&text, "%s>%s %s", names[0], names[1], state);
	event_emit(d->net_producer, names[0], "link", buf_span(&text), 0, &data);
	buf_release(&text);
	buf_release(&data.pairs);
}

static void on_change(void *ctx, unsigned from, unsigned to, const struct net_state *state, const struct net_counts *counts, const char *by)
{
	struct drive *d = ctx;
	struct buf words = BUF_INIT;
	unsigned nodes;

	pthread_mutex_lock(&d->lock);
	nodes = d->node_count;
	pthread_mutex_unlock(&d->lock);
	/* The links of nodes that are not there yet have a state, too, which is of no use. */
	if (from < nodes && to < nodes) {
		net_state_print(state, &words);
		record_link(d, from, to, words.data, counts, by);
		trace_producer_flush(d->net_producer);
	}
	buf_release(&words);
}

static void note_absence(struct drive *d, const char *why)
{
	struct record_note note = {.source = SPAN_LIT("driver"), .topic = SPAN_LIT("no network of our own"), .text = span_str(why)};

	trace_emit_note(d->producer, &note);
	if (d->options->tell)
		d->options->tell(d->options->ctx, why);
}

bool links_open(struct drive *d, bool *skipped, struct err *err)
{
	bool able = strstr(d->ops->kind.start, "${network}") != NULL;

	if (d->ops->network == OPS_NETWORK_NO || (d->ops->network == OPS_NETWORK_AUTO && !ops_change_links(d->ops)))
		return true;
	if (!able)
		return d->ops->network == OPS_NETWORK_AUTO ||
		       err_set(err, ERR_UNSUPPORTED, "%s: the nodes of this kind share a network: its line 'start' has no ${network}",
			       d->ops->kind.name);
	if (!net_open(&d->net, NET_NODES_MAX, d->ops->seed, err)) {
		d->net = NULL;
		*skipped = d->ops->network == OPS_NETWORK_YES;
		if (!*skipped)
			note_absence(d, err->text);
		return !*skipped;
	}
	d->net_producer = trace_producer_open(d->writer);
	net_tell(d->net, on_change, d);
	return true;
}

void links_heal(struct drive *d)
{
	if (d->net)
		net_heal_all(d->net);
}

void links_close(struct drive *d)
{
	if (!d->net)
		return;
	net_tell(d->net, NULL, NULL);
	for (unsigned from = 0; from < d->node_count; from++)
		for (unsigned to = 0; to < d->node_count; to++) {
			struct net_counts counts;

			net_counts(d->net, from, to, &counts);
			if (counts.frames)
				record_link(d, from, to, "over", &counts, "end");
		}
	trace_producer_close(d->net_producer);
	net_close(d->net);
	d->net = NULL;
}

/* The change cuts the named nodes off from all others, both ways, and does nothing else. */
static bool cuts_nodes_off(const struct net_change *change)
{
	uint16_t others = (uint16_t)(((1u << NET_NODES_MAX) - 1) & ~change->named);

	if (change->verb != NET_CUT || !change->named)
		return false;
	for (unsigned i = 0; i < NET_NODES_MAX; i++)
		if (change->to[i] != (change->named >> i & 1 ? others : change->named))
			return false;
	return true;
}

const struct ops_step *links_step(struct drive *d, unsigned number)
{
	const struct ops_step *step = &d->ops->steps[number];
	const struct kind_operation *isolate = kind_operation_named(&d->ops->kind, SPAN_LIT("isolate"));

	if (!step->change || d->net)
		return step;
	/* What a kind calls isolate does it without the network's help; one node is no partition of several, though. */
	if (!isolate || !isolate->fault || !cuts_nodes_off(step->change) || (step->targets & (step->targets - 1)))
		return NULL;
	d->instead[number] = *step;
	d->instead[number].operation = isolate;
	d->instead[number].change = NULL;
	return &d->instead[number];
}
