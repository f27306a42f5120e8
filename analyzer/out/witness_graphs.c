/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The witnesses as graphs for Graphviz and for tools that read GraphML: a cluster a finding, a node
 * a transaction, an edge a dependency.  (`isotrace export` writes the whole history's graph.) */
#include "base/text.h"
#include "out/formats.h"

static const char *dot_style(enum graph_kind dependency)
{
	if (GRAPH_MASK_RW >> dependency & 1)
		return ", color=red, style=dashed";
	if ((GRAPH_MASK_WW | GRAPH_MASK_WR) >> dependency & 1)
		return "";
	return ", color=gray, style=dotted";
}

/* The place of a transaction among those of the finding: its node's number. */
static uint32_t node_of(const struct finding *f, struct span name)
{
	uint32_t i = 0;

	while (i < f->transaction_count && !span_eq(f->transactions[i], name))
		i++;
	return i;
}

void dot_begin(struct buf *out)
{
	buf_add_str(out, "digraph findings {\n");
}

void dot_end(struct buf *out)
{
	buf_add_str(out, "}\n");
}

/* The components that are small enough to draw, whole; without the bold arrows no cycle is left. */
static void components_dot(struct buf *out, const struct verdict *verdict, uint64_t *number)
{
	for (size_t i = 0; i < verdict->component_count; i++) {
		const struct verdict_component *c = &verdict->components[i];
		unsigned long long n = ++*number;

		if (!c->nodes)
			continue;
		buf_printf(out, "  subgraph cluster_%llu {\n    label=\"component\";\n", n);
		for (uint32_t t = 0; t < c->transaction_count; t++) {
			buf_printf(out, "    n%llu_%u [label=\"", n, t);
			text_add_dot(out, c->nodes[t].name);
			buf_add_str(out, "\"];\n");
		}
		for (uint32_t e = 0; e < c->arrow_count; e++)
			buf_printf(out, "    n%llu_%u -> n%llu_%u [label=\"%s\"%s%s];\n", n, c->arrows[e].from, n,
				c->arrows[e].to, graph_kind_name(c->arrows[e].dependency),
				dot_style(c->arrows[e].dependency), c->arrows[e].removed ? ", penwidth=3" : "");
		buf_add_str(out, "  }\n");
	}
}

void verdict_dot(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];
		unsigned long long n = ++*number;

		buf_printf(out, "  subgraph cluster_%llu {\n    id=\"%s\";\n    label=\"%s %s\\n", n,
			f->id, finding_name(f), severity_name(f->severity));
		text_add_dot(out, span_str(context->input));
		buf_add_str(out, "\";\n");
		for (uint32_t t = 0; t < f->transaction_count; t++) {
			buf_printf(out, "    n%llu_%u [label=\"", n, t);
			text_add_dot(out, f->transactions[t]);
			buf_add_str(out, "\"];\n");
		}
		for (uint32_t e = 0; e < f->edge_count; e++) {
			const struct finding_edge *edge = &f->edges[e];

			buf_printf(out, "    n%llu_%u -> n%llu_%u [label=\"", n,
				node_of(f, edge->from), n, node_of(f, edge->to));
			text_add_dot(out, edge->kind);
			if (edge->object.len)
				buf_add_str(out, "\\n");
			text_add_dot(out, edge->object);
			buf_printf(out, "\"%s];\n", dot_style(edge->dependency));
		}
		buf_add_str(out, "  }\n");
	}
	components_dot(out, verdict, number);
}

void graphml_begin(struct buf *out)
{
	buf_add_str(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
		"  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
		"  <key id=\"class\" for=\"graph\" attr.name=\"class\" attr.type=\"string\"/>\n"
		"  <key id=\"severity\" for=\"graph\" attr.name=\"severity\" attr.type=\"string\"/>\n"
		"  <key id=\"input\" for=\"graph\" attr.name=\"input\" attr.type=\"string\"/>\n"
		"  <key id=\"kind\" for=\"edge\" attr.name=\"kind\" attr.type=\"string\"/>\n"
		"  <key id=\"object\" for=\"edge\" attr.name=\"object\" attr.type=\"string\"/>\n"
		"  <key id=\"x\" for=\"node\" attr.name=\"x\" attr.type=\"double\"/>\n"
		"  <key id=\"y\" for=\"node\" attr.name=\"y\" attr.type=\"double\"/>\n"
		"  <key id=\"removed\" for=\"edge\" attr.name=\"removed\" attr.type=\"boolean\"/>\n");
}

void graphml_end(struct buf *out)
{
	buf_add_str(out, "</graphml>\n");
}

static void data(struct buf *out, const char *key, struct span value)
{
	buf_printf(out, "<data key=\"%s\">", key);
	text_add_xml(out, value);
	buf_add_str(out, "</data>");
}

/* With the places of the layered drawing, for programs that take them. */
static void components_graphml(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict, uint64_t *number)
{
	for (size_t i = 0; i < verdict->component_count; i++) {
		const struct verdict_component *c = &verdict->components[i];
		unsigned long long n = ++*number;

		if (!c->nodes)
			continue;
		buf_printf(out, "  <graph id=\"component%llu\" edgedefault=\"directed\">\n    ", n);
		data(out, "class", SPAN_LIT("component"));
		data(out, "input", span_str(context->input));
		buf_add_char(out, '\n');
		for (uint32_t t = 0; t < c->transaction_count; t++) {
			buf_printf(out, "    <node id=\"n%llu_%u\">", n, t);
			data(out, "name", c->nodes[t].name);
			buf_printf(out, "<data key=\"x\">%g</data><data key=\"y\">%g</data></node>\n", c->nodes[t].x,
				c->nodes[t].y);
		}
		for (uint32_t e = 0; e < c->arrow_count; e++) {
			buf_printf(out, "    <edge source=\"n%llu_%u\" target=\"n%llu_%u\">", n, c->arrows[e].from, n,
				c->arrows[e].to);
			data(out, "kind", span_str(graph_kind_name(c->arrows[e].dependency)));
			data(out, "removed", c->arrows[e].removed ? SPAN_LIT("true") : SPAN_LIT("false"));
			buf_add_str(out, "</edge>\n");
		}
		buf_add_str(out, "  </graph>\n");
	}
}

void verdict_graphml(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];
		unsigned long long n = ++*number;

		buf_printf(out, "  <graph id=\"f%llu_%s\" edgedefault=\"directed\">\n    ", n,
			f->id);
		data(out, "class", span_str(finding_name(f)));
		data(out, "severity", span_str(severity_name(f->severity)));
		data(out, "input", span_str(context->input));
		buf_add_char(out, '\n');
		for (uint32_t t = 0; t < f->transaction_count; t++) {
			buf_printf(out, "    <node id=\"n%llu_%u\">", n, t);
			data(out, "name", f->transactions[t]);
			buf_add_str(out, "</node>\n");
		}
		for (uint32_t e = 0; e < f->edge_count; e++) {
			const struct finding_edge *edge = &f->edges[e];

			buf_printf(out, "    <edge source=\"n%llu_%u\" target=\"n%llu_%u\">", n,
				node_of(f, edge->from), n, node_of(f, edge->to));
			data(out, "kind", edge->kind);
			data(out, "object", edge->object);
			buf_add_str(out, "</edge>\n");
		}
		buf_add_str(out, "  </graph>\n");
	}
	components_graphml(out, context, verdict, number);
}
