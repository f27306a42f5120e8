// SPDX-License-Identifier: GPL-2.0-or-later
// ---- the cycle: transactions on a ring, dependencies as arrows between them ----

function edgeKind(kind) {
  for (const word of ["ww", "wr", "rw"]) if (kind.endsWith(word)) return word;
  return "other";
}

// The edge that closes the contradiction: the last anti-dependency, else the last one.
function guiltyEdge(edges) {
  for (let i = edges.length - 1; i >= 0; i--) if (edgeKind(edges[i].kind) === "rw") return i;
  return edges.length - 1;
}

const MEANS = { ww: "overwrote", wr: "was read by", rw: "read what was then overwritten by", other: "came before" };

function edgeTip(edge) {
  const parts = [el("b", null, `${edge.from} → ${edge.to}`), ` ${edge.kind}. `];
  if (edge.object) parts.push(el("code", null, edge.object), " ");
  if (edge.from_version || edge.to_version)
    parts.push("version ", el("code", null, edge.from_label || edge.from_version || "?"), " → ", el("code", null, edge.to_label || edge.to_version || "?"), ". ");
  parts.push(edge.explanation ? `${edge.explanation}.` : "");
  return parts;
}

const edgeLabel = (edge) => edgeTip(edge).map((p) => p.textContent || p).join("");

function cycleFigure(finding, say) {
  const edges = finding.edges;
  const names = unique(edges.flatMap((e) => [e.from, e.to]));
  const two = names.length === 2, many = names.length > 8;
  const radius = two ? 120 : Math.max(105, names.length * 30);
  const width = 2 * radius + 170, height = two ? 220 : 2 * radius + 110;
  const places = new Map(names.map((name, i) => {
    const angle = (two ? Math.PI : -Math.PI / 2) + (2 * Math.PI * i) / names.length;
    return [name, [width / 2 + radius * Math.cos(angle), height / 2 + radius * Math.sin(angle)]];
  }));
  const guilty = guiltyEdge(edges);
  const { tip, on } = tipFor("Point at an arrow, or reach it with Tab, to read which row and which versions it is about.");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group",
    "aria-label": `The cycle ${names.join(", ")}` });
  const toward = (ax, ay, bx, by, far) => {
    const d = Math.hypot(bx - ax, by - ay) || 1;
    return [ax + ((bx - ax) / d) * far, ay + ((by - ay) / d) * far];
  };
  const half = 34; // of a node's width, and of its height 18
  // Where the line from a node's middle towards a point leaves its box.
  const leave = (x, y, px, py, gap) => {
    const dx = px - x, dy = py - y, scale = 1 / Math.max(Math.abs(dx) / (half + gap), Math.abs(dy) / (18 + gap), 1e-9);
    return [x + dx * Math.min(1, scale), y + dy * Math.min(1, scale)];
  };
  edges.forEach((edge, i) => {
    const [x1, y1] = places.get(edge.from), [x2, y2] = places.get(edge.to);
    const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy) || 1;
    // Several edges between the same two bend away from each other.
    const same = edges.slice(0, i).filter((e) => e.from === edge.from && e.to === edge.to).length;
    const bend = (two ? 78 : 20) + same * 34;
    const cx = (x1 + x2) / 2 + (dy / length) * bend, cy = (y1 + y2) / 2 - (dx / length) * bend;
    const [sx, sy] = leave(x1, y1, cx, cy, 2), [hx, hy] = leave(x2, y2, cx, cy, 3);
    const [tx, ty] = toward(hx, hy, cx, cy, i === guilty ? 12 : 10);
    const ux = hx - tx, uy = hy - ty, kind = edgeKind(edge.kind);
    const mx = (x1 + x2 + 2 * cx) / 4, my = (y1 + y2 + 2 * cy) / 4;
    const words = `${edge.kind}${i === guilty ? " ●" : ""}`, wide = words.length * 7.2 + 14;
    const group = svg("g", { tabindex: 0, role: "img", class: `arrow k-${kind}${i === guilty ? " guilty" : ""}`, "aria-label": edgeLabel(edge) });
    group.append(
      svg("path", { d: `M${sx} ${sy} Q${cx} ${cy} ${tx} ${ty}`, class: "reach" }),
      svg("path", { d: `M${sx} ${sy} Q${cx} ${cy} ${tx} ${ty}`, class: "line" }),
      svg("polygon", { points: `${hx},${hy} ${tx - uy * .6},${ty + ux * .6} ${tx + uy * .6},${ty - ux * .6}`, class: "head" }),
      svg("rect", { x: mx - wide / 2, y: my - 11, width: wide, height: 22, rx: 11, class: "pill" }),
      svg("text", { x: mx, y: my + 4.5, "text-anchor": "middle" }, words));
    on(group, () => { say(i); return edgeTip(edge); });
    for (const event of ["mouseleave", "blur"]) group.addEventListener(event, () => say(-1));
    root.append(group);
  });
  for (const [name, [x, y]] of places)
    root.append(svg("g", {}, svg("title", {}, name),
      svg("rect", { x: x - half, y: y - 18, width: 2 * half, height: 36, rx: 10, class: "node" }),
      svg("text", { x, y: y + 5, "text-anchor": "middle", class: "name" }, shorten(name, 8))));
  return el("figure", { class: "cycle" },
    el("figcaption", null, el("b", null, "The cycle. "), "An arrow says who must have come first; the thick one, with the dot, closes the circle."),
    el("div", { class: many ? "scroll" : "" }, root), tip,
    el("p", { class: "key" }, ...unique(edges.map((e) => edgeKind(e.kind))).map((k) => el("span", null, el("i", { class: `swatch k-${k}` }), k === "other" ? "session or time: " : `${k}: `, MEANS[k]))));
}

// The circle in words: a sentence an edge, stressed when its arrow is pointed at.
function edgeSentences(finding) {
  const guilty = guiltyEdge(finding.edges);
  const items = finding.edges.map((edge, i) => el("li", { class: i === guilty ? "guilty" : "" },
    el("span", { class: `kind k-${edgeKind(edge.kind)}` }, edge.kind), " ", el("b", null, `${edge.from} → ${edge.to}`), " ",
    `${edge.explanation || ""}.`));
  return { list: el("ol", { class: "sentences" }, ...items),
    say: (at) => items.forEach((item, i) => item.classList.toggle("told", i === at)) };
}
