/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/graph_out.h"

#include "base/output.h"
#include "base/text.h"

/* What is being written: standard output takes it piece by piece. */
struct drawing {
	const struct graph *graph;
	const struct graph_words *words;
	struct buf out, name;
};

static struct span node_name(struct drawing *d, uint32_t node)
{
	buf_clear(&d->name);
	if (node < d->graph->txn_count)
		d->words->node(d->words->context, node, &d->name);
	else
		buf_printf(&d->name, "time %u", node - d->graph->txn_count);
	return buf_span(&d->name);
}

static struct span object_name(struct drawing *d, uint32_t edge)
{
	buf_clear(&d->name);
	if (GRAPH_MASK_DATA >> d->graph->kind[edge] & 1)
		d->words->object(d->words->context, edge, &d->name);
	return buf_span(&d->name);
}

static const char *dot_style(enum graph_kind kind)
{
	if (GRAPH_MASK_RW >> kind & 1)
		return ", color=red, style=dashed";
	return GRAPH_MASK_DATA >> kind & 1 ? "" : ", color=gray, style=dotted";
}

static void dot_edge(struct drawing *d, uint32_t from, uint32_t e)
{
	enum graph_kind kind = (enum graph_kind)d->graph->kind[e];
	struct span object = object_name(d, e);

	buf_printf(&d->out, "  n%u -> n%u [label=\"%s%s", from, d->graph->to[e],
		graph_kind_name(kind), object.len ? " " : "");
	text_add_dot(&d->out, object);
	buf_printf(&d->out, "\"%s];\n", dot_style(kind));
}

bool graph_dot(const struct graph *graph, const struct graph_words *words)
{
	struct drawing d = {graph, words, BUF_INIT, BUF_INIT};
	bool ok = true;

	buf_add_str(&d.out, "digraph history {\n");
	for (uint32_t n = 0; ok && n < graph->node_count; n++) {
		buf_printf(&d.out, "  n%u [label=\"", n);
		text_add_dot(&d.out, node_name(&d, n));
		buf_add_str(&d.out, n < graph->txn_count ? "\"];\n" : "\", shape=point];\n");
		ok = output_write_some(&d.out);
	}
	for (uint32_t n = 0; ok && n < graph->node_count; n++) {
		for (uint32_t e = graph->head[n]; ok && e < graph->head[n + 1]; e++) {
			dot_edge(&d, n, e);
			ok = output_write_some(&d.out);
		}
	}
	buf_add_str(&d.out, "}\n");
	ok = ok && output_write(&d.out);
	buf_release(&d.out);
	buf_release(&d.name);
	return ok;
}

bool graph_graphml(const struct graph *graph, const struct graph_words *words)
{
	struct drawing d = {graph, words, BUF_INIT, BUF_INIT};
	bool ok = true;

	buf_add_str(&d.out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
		"  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
		"  <key id=\"kind\" for=\"edge\" attr.name=\"kind\" attr.type=\"string\"/>\n"
		"  <key id=\"object\" for=\"edge\" attr.name=\"object\" attr.type=\"string\"/>\n"
		"  <graph id=\"history\" edgedefault=\"directed\">\n");
	for (uint32_t n = 0; ok && n < graph->node_count; n++) {
		buf_printf(&d.out, "    <node id=\"n%u\"><data key=\"name\">", n);
		text_add_xml(&d.out, node_name(&d, n));
		buf_add_str(&d.out, "</data></node>\n");
		ok = output_write_some(&d.out);
	}
	for (uint32_t n = 0; ok && n < graph->node_count; n++) {
		for (uint32_t e = graph->head[n]; ok && e < graph->head[n + 1]; e++) {
			buf_printf(&d.out,
				"    <edge source=\"n%u\" target=\"n%u\"><data key=\"kind\">%s"
				"</data><data key=\"object\">",
				n, graph->to[e], graph_kind_name((enum graph_kind)graph->kind[e]));
			text_add_xml(&d.out, object_name(&d, e));
			buf_add_str(&d.out, "</data></edge>\n");
			ok = output_write_some(&d.out);
		}
	}
	buf_add_str(&d.out, "  </graph>\n</graphml>\n");
	ok = ok && output_write(&d.out);
	buf_release(&d.out);
	buf_release(&d.name);
	return ok;
}
