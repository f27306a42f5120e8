// SPDX-License-Identifier: GPL-2.0-or-later
// ---- a cluster's life: a lane a node ----

const LANE = { top: 26, name: 64, state: 16, bar: 15, gap: 12, session: 18, foot: 24 };

// Each bar in the first row in which it overlaps none; on each its row.
function rowsOf(bars) {
  const ends = [];
  for (const bar of bars) {
    let row = ends.findIndex((end) => end <= bar.begin);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = Math.max(bar.end, bar.begin + 1);
    bar.row = row;
  }
  return ends.length;
}

// The moments of findings, those that are at one moment together.
function momentsOf(findings, from, to) {
  const out = [];
  for (const finding of findings.filter((f) => f.cluster && f.cluster.to_ns >= from && f.cluster.from_ns <= to)) {
    const same = out.find((m) => m.begin === finding.cluster.from_ns && m.end === finding.cluster.to_ns);
    if (same) same.findings.push(finding);
    else out.push({ begin: finding.cluster.from_ns, end: finding.cluster.to_ns, findings: [finding] });
  }
  return out;
}

const momentWords = (moment) => moment.findings.map((f) => `${f.class}${f.cluster.nodes && f.cluster.nodes.length ? ` on ${f.cluster.nodes.join(", ")}` : ""}`).join("; ");

// Sessions of the finding's transactions, with these as bars.
function sessionLanes(trace, finding, base) {
  const known = trace.transactions || {};
  const bySession = new Map();
  for (const name of concerned(trace, finding)) {
    const txn = known[name];
    if (txn.begin === undefined) continue;
    const list = bySession.get(txn.session) || [];
    list.push({ name, begin: base + txn.begin, end: base + (txn.end === undefined ? txn.begin : txn.end), outcome: txn.outcome });
    bySession.set(txn.session, list);
  }
  return [...bySession].sort((a, b) => a[0] - b[0]).slice(0, 12);
}

// finding: its moment and its transactions' sessions; null: the whole recording and the moments of all.
function lanesFigure(trace, finding) {
  const cluster = trace.cluster;
  if (!cluster) return null;
  const around = 8e9, place = finding && finding.cluster;
  const from = place ? Math.max(cluster.begin, Math.min(place.from_ns, cluster.end) - around) : cluster.begin;
  const to = Math.max(from + 1, place ? Math.min(cluster.end, place.to_ns + around) : cluster.end);
  const width = 1040, left = LANE.name, right = width - 10;
  const x = (at) => left + ((Math.min(Math.max(at, from), to) - from) / (to - from)) * (right - left);
  const parts = cluster.parts.filter((p) => p.end >= from && p.begin <= to).map((p) => ({ ...p }));
  const sessions = finding ? sessionLanes(trace, finding, cluster.base) : [];
  const lanes = cluster.nodes.map((name, node) => {
    const own = parts.filter((p) => p.node === node);
    const bars = own.filter((p) => ["operation", "fault", "link"].includes(p.kind)).sort((a, b) => a.begin - b.begin);
    return { name, own, bars, rows: rowsOf(bars) };
  });
  let height = LANE.top;
  for (const lane of lanes) {
    lane.y = height;
    height += LANE.state + lane.rows * LANE.bar + LANE.gap;
  }
  const sessionsAt = height;
  height += sessions.length * LANE.session + LANE.foot;
  const { tip, on } = tipFor("Point at a part, or reach it with Tab, to read what it is.");
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "fits", role: "group", "aria-label": "What happened to the nodes" });
  const words = (p) => [el("b", null, p.node === undefined ? p.kind : `${cluster.nodes[p.node]}, ${p.kind}`), `: ${p.text}`,
    ` at +${duration(p.begin - cluster.begin)}`, p.end > p.begin ? `, ${duration(p.end - p.begin)}` : ""];
  const part = (p, kind, ...shapes) => {
    const node = svg("g", { tabindex: 0, role: "img", class: kind, "aria-label": words(p).map((w) => w.textContent || w).join("") }, ...shapes);
    on(node, () => words(p));
    root.append(node);
    return node;
  };
  const foot = height - LANE.foot + 4;
  for (const p of parts.filter((q) => q.kind === "point"))
    part(p, "moment-point", svg("rect", { x: x(p.begin), y: LANE.top - 8, width: Math.max(2, x(p.end) - x(p.begin)), height: foot - LANE.top + 8 }));
  for (const m of momentsOf(finding ? [finding] : trace.check.findings, from, to)) {
    const mark = svg("g", { tabindex: 0, role: "img", class: `moment ${m.findings[0].severity}`, "aria-label": momentWords(m) },
      svg("rect", { x: x(m.begin) - 2, y: LANE.top - 12, width: Math.max(5, x(m.end) - x(m.begin) + 4), height: foot - LANE.top + 12 }),
      svg("text", { x: Math.min(x(m.begin), right - 150), y: 10, class: "name" }, `${SIGNS[m.findings[0].severity] || ""} ${shorten(momentWords(m), 40)}`));
    on(mark, () => [el("b", null, "Found: "), momentWords(m)]);
    root.append(mark);
  }
  for (const lane of lanes) {
    root.append(svg("text", { x: 6, y: lane.y + 12, class: "name" }, shorten(lane.name, 9)));
    for (const p of lane.own.filter((q) => q.kind === "state")) {
      const wide = Math.max(1.5, x(p.end) - x(p.begin));
      const shapes = [svg("rect", { x: x(p.begin), y: lane.y, width: wide, height: LANE.state })];
      if (wide > p.text.length * 6.6 + 8) shapes.push(svg("text", { x: x(p.begin) + 5, y: lane.y + 12, class: "small" }, p.text));
      part(p, `state ${p.tone}`, ...shapes);
    }
    for (const p of lane.bars) {
      const y = lane.y + LANE.state + 2 + p.row * LANE.bar, wide = Math.max(4, x(p.end) - x(p.begin));
      const next = Math.min(right, ...lane.bars.filter((q) => q.row === p.row && q.begin > p.begin).map((q) => x(q.begin)));
      const room = Math.floor((next - x(p.begin) - 6) / 6.3);
      part(p, `did ${p.kind}${p.failed ? " failed" : ""}`, svg("rect", { x: x(p.begin), y, width: wide, height: LANE.bar - 3, rx: 2 }),
        ...(room > 3 ? [svg("text", { x: x(p.begin) + 4, y: y + 10, class: "small" }, shorten(p.text, room))] : []));
    }
    for (const p of lane.own.filter((q) => q.kind === "exit"))
      part(p, "ending", svg("path", { d: `M${x(p.begin) - 5} ${lane.y + 3}l10 10m0 -10l-10 10` }));
    for (const p of lane.own.filter((q) => q.kind === "bootstrap"))
      part(p, "founding", svg("path", { d: `M${x(p.begin) - 6} ${lane.y + 15}h12l-6 -13z` }));
  }
  for (const p of parts.filter((q) => q.kind === "window"))
    part(p, "window", svg("path", { d: `M${x(p.begin) - 5} ${LANE.top - 9}h10l-5 8z` }));
  sessions.forEach(([session, txns], i) => {
    const y = sessionsAt + i * LANE.session;
    root.append(svg("text", { x: 6, y: y + 11, class: "small" }, `session ${session}`));
    for (const t of txns) {
      const bar = svg("g", { class: `txn ${t.outcome === "committed" ? "commit" : t.outcome === "rolled back" ? "abort" : "unknown"}` },
        svg("title", {}, `${t.name} ${t.outcome}`), svg("rect", { x: x(t.begin), y: y + 2, width: Math.max(3, x(t.end) - x(t.begin)), height: 11, rx: 2 }));
      root.append(bar);
    }
  });
  for (let i = 0; i <= 5; i++) {
    const at = from + ((to - from) * i) / 5;
    root.append(svg("line", { x1: x(at), x2: x(at), y1: foot, y2: foot + 5, class: "tick" }),
      svg("text", { x: x(at), y: height - 4, class: "small", "text-anchor": i === 5 ? "end" : i ? "middle" : "start" }, `+${duration(at - cluster.begin)}`));
  }
  const has = (kind) => parts.some((p) => p.kind === kind);
  return el("figure", { class: "time lanes" },
    el("figcaption", null, el("b", null, "The nodes. "), "A lane a node: its state, and below it what was done to it."),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Lanes of the nodes, scroll sideways" }, root), tip,
    el("p", { class: "key" },
      ...[["well", "well"], ["underway", "on its way"], ["silent", "not in the cluster, or no answer"], ["ended", "ended"]]
        .filter(([tone]) => parts.some((p) => p.tone === tone)).map(([tone, text]) => el("span", null, el("i", { class: `swatch box tone-${tone}` }), text)),
      has("operation") ? el("span", null, el("i", { class: "swatch box did-operation" }), "operation") : null,
      has("fault") ? el("span", null, el("i", { class: "swatch box did-fault" }), "fault") : null,
      has("link") ? el("span", null, el("i", { class: "swatch box did-link" }), "link that was changed") : null,
      has("exit") ? el("span", null, "✕ process ended") : null, has("bootstrap") ? el("span", null, "▲ cluster founded") : null,
      has("window") ? el("span", null, "▼ window") : null, has("point") ? el("span", null, el("i", { class: "swatch box tone-point" }), "clients held, nodes read") : null));
}

function clusterSection(trace, number) {
  const figure = lanesFigure(trace, null);
  return figure ? el("section", { id: `cluster${number}` }, el("h3", null, "The cluster"), figure) : null;
}

// What a finding about a cluster says beside its sentences.
function placeSection(trace, finding) {
  const place = finding.cluster;
  if (!place) return [];
  const list = (title, lines, total) => (lines && lines.length ? [el("h4", null, title), el("ul", { class: "rows" },
    ...lines.map((line) => el("li", null, el("code", null, line))),
    total > lines.length ? el("li", { class: "soft" }, `and ${count(total - lines.length)} more`) : null)] : []);
  return [place.phase ? el("p", null, el("b", null, "Phase: "), place.phase) : null, lanesFigure(trace, finding),
    ...list("Rows", place.rows, place.row_count || 0), ...list("What the logs said", place.logs, 0)].filter(Boolean);
}
