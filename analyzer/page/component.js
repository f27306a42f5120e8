// SPDX-License-Identifier: GPL-2.0-or-later
// ---- components: transactions that depend on each other in cycles, drawn in layers ----

// Arrows lead down; those without which no cycle is left lead up, and are thick.
function componentFigure(component, number) {
  const stepX = 92, stepY = 84, half = 34, margin = 50;
  const nodes = component.nodes, left = Math.min(...nodes.map((n) => n.x));
  const layers = Math.max(...nodes.map((n) => n.y)), side = margin + half + Math.min(layers, 6) * 10; // room for what bends
  const width = 2 * side + (Math.max(...nodes.map((n) => n.x)) - left) * stepX;
  const height = 2 * margin + layers * stepY;
  const place = (n) => [side + (n.x - left) * stepX, margin + n.y * stepY];
  const { tip, on } = tipFor("Point at an arrow, or reach it with Tab, to read which transactions it joins.");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `Component ${number}: ${plural(nodes.length, "transaction")}` });
  for (const arrow of component.drawn) {
    const [x1, y1] = place(nodes[arrow.from]), [x2, y2] = place(nodes[arrow.to]);
    const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy) || 1;
    // Arrows that skip a layer, or lead up, bend around what is between.
    const far = Math.abs(dy) > 1.5 * stepY, bend = (arrow.removed ? 40 : far ? 24 : 0) + (far ? .25 * length : 0);
    const cx = (x1 + x2) / 2 + (dy / length) * bend, cy = (y1 + y2) / 2 - (dx / length) * bend;
    const out = (x, y, gap) => {
      const ux = cx - x, uy = cy - y, scale = 1 / Math.max(Math.abs(ux) / (half + gap), Math.abs(uy) / (16 + gap), 1e-9);
      return [x + ux * Math.min(1, scale), y + uy * Math.min(1, scale)];
    };
    const [sx, sy] = out(x1, y1, 1), [hx, hy] = out(x2, y2, 2);
    const d = Math.hypot(cx - hx, cy - hy) || 1, ux = ((cx - hx) / d) * 9, uy = ((cy - hy) / d) * 9;
    const kind = edgeKind(arrow.kind), words = `${nodes[arrow.from].name} → ${nodes[arrow.to].name}, ${arrow.kind}`;
    const group = svg("g", { tabindex: 0, role: "img", class: `arrow k-${kind}${arrow.removed ? " guilty" : ""}`, "aria-label": words });
    group.append(
      svg("path", { d: `M${sx} ${sy} Q${cx} ${cy} ${hx + ux} ${hy + uy}`, class: "reach" }),
      svg("path", { d: `M${sx} ${sy} Q${cx} ${cy} ${hx + ux} ${hy + uy}`, class: "line" }),
      svg("polygon", { points: `${hx},${hy} ${hx + ux - uy * .6},${hy + uy + ux * .6} ${hx + ux + uy * .6},${hy + uy - ux * .6}`, class: "head" }));
    on(group, () => [el("b", null, words), arrow.removed ? ". One of those without which no cycle is left." : "."]);
    root.append(group);
  }
  for (const node of nodes) {
    const [x, y] = place(node);
    root.append(svg("g", {}, svg("title", {}, node.name),
      svg("rect", { x: x - half, y: y - 16, width: 2 * half, height: 32, rx: 9, class: "node" }),
      svg("text", { x, y: y + 5, "text-anchor": "middle", class: "name" }, shorten(node.name, 8))));
  }
  const kinds = unique(component.drawn.map((a) => edgeKind(a.kind)));
  return el("figure", { class: "cycle component" }, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Drawing of component ${number}` }, root), tip,
    el("p", { class: "key" }, ...kinds.map((k) => el("span", null, el("i", { class: `swatch k-${k}` }), k === "other" ? "session or time: " : `${k}: `, MEANS[k]))));
}

const ENOUGH = { smallest: ", and fewer would not do", minimal: ", and each of them is needed", found: "" };

function componentBlock(component, number, only) {
  const head = `${plural(component.transactions, "transaction")}, ${plural(component.findings, "finding")}`;
  const few = component.quality === "none"
    ? el("p", null, "There are too many transactions to say which dependencies hold them together.")
    : el("p", null, el("b", null, `Without ${component.removed_count === 1 ? "this" : "these"} ${count(component.removed_count)} of their ${count(component.arrows)} dependencies no cycle is left${ENOUGH[component.quality]}:`));
  const list = el("ul", { class: "sentences" }, ...component.removed.map((edge) => el("li", null,
    el("span", { class: `kind k-${edgeKind(edge.kind)}` }, edge.kind), " ", el("b", null, `${edge.from} → ${edge.to}`), " ", `${edge.explanation || ""}.`)),
  component.removed_count > component.removed.length ? el("li", null, `and ${count(component.removed_count - component.removed.length)} more`) : null);
  const node = el("details", { class: "component" }, el("summary", null, head), few, list,
    component.nodes ? componentFigure(component, number) : null);
  node.open = only;
  return node;
}

function componentsSection(check, number) {
  const components = check.components || [];
  if (!components.length) return null;
  return el("section", { id: `components${number}` }, el("h3", null, "What holds the cycles together"),
    el("p", { class: "soft" }, "Each group is of transactions that depend on each other in cycles. Cycles that share dependencies often have one cause."),
    ...components.map((c, i) => componentBlock(c, i + 1, components.length === 1)));
}
