/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/export_values.h"

#include <inttypes.h>

#include "adya/dependencies.h"
#include "adya/sentences.h"
#include "base/output.h"
#include "import/import.h"
#include "model/history/load.h"
#include "model/values/from_history.h"
#include "out/graph_out.h"
#include "values/edges.h"

static bool load_history(
	struct history *history, const struct export_source *source, struct err *err)
{
	struct history_load_options options = {.salvage = source->salvage};

	return history_load(history, source->path, &options, err);
}

static void say_left_out(const char *path, uint64_t count, const char *what)
{
	if (count)
		output_message("%s: %" PRIu64 " %s were left out", path, count, what);
}

/* Our trace as values.  *complete: nothing was left out, and the trace is whole. */
static bool load_trace(
	struct values *v, const struct export_source *source, bool *complete, struct err *err)
{
	struct history history = {0};
	struct from_history_counts counts = {0};
	bool ok = load_history(&history, source, err) &&
		  values_from_history(v, &history, &counts, err);

	if (ok) {
		say_left_out(source->path, counts.predicates, "predicate reads");
		say_left_out(source->path, counts.absent_reads,
			"reads of rows that did not exist, of versions that are not known,");
		say_left_out(source->path, counts.undone_writes, "writes that were taken back");
		if (history.counts.txns_mixed)
			output_message("%s: %" PRIu64
				       " transactions may each have been several (a CALL, an "
				       "EXECUTE or several statements in one text)",
				source->path, history.counts.txns_mixed);
		if (!history.complete)
			output_message("%s: the trace is incomplete", source->path);
		*complete = history.complete && !counts.predicates && !counts.absent_reads &&
			    !counts.undone_writes && !history.counts.txns_mixed;
	}
	history_release(&history);
	return ok;
}

static bool sink(void *context, struct buf *out)
{
	(void)context;
	return output_write(out);
}

enum exit_status export_values(const struct export_source *source, enum export_format format)
{
	struct values v = {0};
	struct err err;
	bool complete = true, ok;

	err_clear(&err);
	ok = source->from != FROM_TRACE
		     ? import_path(from_format(source->from), source->path, NULL, &v, &err)
		     : load_trace(&v, source, &complete, &err);
	if (ok && v.stamps) {
		say_left_out(
			source->path, v.txn_count, "transactions' times of snapshot and commit");
		complete = false;
	}
	if (ok && source->skip && (format == EXPORT_PLUME || format == EXPORT_DBCOP)) {
		uint64_t dropped = 0;

		for (uint32_t t = 0; t < v.txn_count; t++) {
			if (v.txns[t].outcome != VALUES_UNKNOWN)
				continue;
			v.txns[t].outcome = VALUES_ABORTED;
			v.txns[t].op_count = 0;
			dropped++;
		}
		say_left_out(source->path, dropped, "transactions of unknown outcome");
		complete &= dropped == 0;
	}
	ok = ok && values_export(&v, format, sink, NULL, &err);
	values_release(&v);
	if (!ok) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	return complete ? EXIT_STATUS_OK : EXIT_STATUS_INCOMPLETE;
}

/* ------------------------------------------------------------------------------ graphs */

struct values_graph {
	const struct values *v;
	const struct graph *graph;
};

static void values_node(void *context, uint32_t node, struct buf *out)
{
	const struct values_graph *g = context;

	buf_printf(out, "T%" PRIu64, g->v->txns[node].id);
}

static void values_object(void *context, uint32_t edge, struct buf *out)
{
	const struct values_graph *g = context;
	uint32_t op = g->graph->detail[edge] & ~EDGE_SOFT;

	values_atom_text(g->v, g->v->keys[g->v->ops[op].key].atom, out);
}

static bool draw(const struct graph *graph, const struct graph_words *words, bool graphml)
{
	return graphml ? graph_graphml(graph, words) : graph_dot(graph, words);
}

static bool graph_of_values(const struct export_source *source, bool graphml, struct err *err)
{
	struct values v = {0};
	struct facts facts;
	struct edges edges;
	struct values_graph context = {&v, &edges.graph};
	struct graph_words words = {values_node, values_object, &context};

	if (!import_path(from_format(source->from), source->path, NULL, &v, err))
		return false;
	facts_find(&facts, &v, false);
	edges_build(&edges, &facts, &(struct edges_options){.session = v.has_sessions});
	(void)!draw(&edges.graph, &words, graphml);
	edges_release(&edges);
	facts_release(&facts);
	values_release(&v);
	return true;
}

struct trace_graph {
	const struct history *history;
	const struct dependencies *dependencies;
	struct arena arena;
};

static void trace_node(void *context, uint32_t node, struct buf *out)
{
	struct trace_graph *g = context;

	buf_add_span(out, say_txn(&g->arena, g->history, g->dependencies->txn_of[node]));
	arena_clear(&g->arena);
}

static void trace_object(void *context, uint32_t edge, struct buf *out)
{
	struct trace_graph *g = context;
	const struct graph *graph = &g->dependencies->graph;
	uint32_t version = graph->detail[edge];

	if (graph->kind[edge] == GRAPH_PREDICATE_WR || graph->kind[edge] == GRAPH_PREDICATE_RW)
		version = g->dependencies->predicate_edges[version].changed;
	buf_add_span(
		out, say_object(&g->arena, g->history, g->history->versions[version].object));
	arena_clear(&g->arena);
}

static bool graph_of_trace(
	const struct export_source *source, bool graphml, bool *complete, struct err *err)
{
	struct history history = {0};
	struct dependencies dependencies;
	struct trace_graph context = {&history, &dependencies, ARENA_INIT};
	struct graph_words words = {trace_node, trace_object, &context};

	if (!load_history(&history, source, err)) {
		history_release(&history);
		return false;
	}
	dependencies_build(
		&dependencies, &history, &(struct dependencies_options){.session = true});
	(void)!draw(&dependencies.graph, &words, graphml);
	dependencies_release(&dependencies);
	arena_release(&context.arena);
	*complete = history.complete;
	if (!history.complete)
		output_message("%s: the trace is incomplete", source->path);
	history_release(&history);
	return true;
}

enum exit_status export_graph(const struct export_source *source, bool graphml)
{
	bool complete = true;
	struct err err;

	err_clear(&err);
	if (source->from != FROM_TRACE ? graph_of_values(source, graphml, &err)
				       : graph_of_trace(source, graphml, &complete, &err))
		return complete ? EXIT_STATUS_OK : EXIT_STATUS_INCOMPLETE;
	output_message("%s", err.text);
	return err_exit_status(&err);
}
