// SPDX-License-Identifier: GPL-2.0-or-later
// ---- the timeline: a lane a session, statements as bars ----

// A scale on which every interval is seen: its width grows with the logarithm of the time.  Waits of
// seconds would hide what took microseconds otherwise.
function timeScale(times, left, width) {
  const moments = unique(times).sort((a, b) => a - b);
  const gaps = moments.slice(1).map((t, i) => 8 + 10 * Math.log10(1 + (t - moments[i]) / 1000));
  const sum = gaps.reduce((a, b) => a + b, 0) || 1;
  const xs = [left];
  for (const gap of gaps) xs.push(xs[xs.length - 1] + (gap / sum) * width);
  const x = (time) => {
    let low = 0, high = moments.length - 1;
    if (time <= moments[0]) return xs[0];
    if (time >= moments[high]) return xs[high];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (moments[middle] <= time) low = middle;
      else high = middle;
    }
    return xs[low] + ((time - moments[low]) / (moments[high] - moments[low])) * (xs[high] - xs[low]);
  };
  return { x, moments, right: xs[xs.length - 1] };
}

const verb = (sql) => ((sql || "").trim().match(/^\w+/) || ["…"])[0].toLowerCase();

function statementWords(s) {
  return [el("b", null, `${s.txn}, session ${s.session}, statement ${s.number}`), `, ${duration(s.end - s.begin)}`,
    s.blocked ? `, of which ${duration(s.blocked)} waiting for a lock` : "", s.snapshot ? ", takes a snapshot" : "", ": ",
    el("code", null, shorten(s.sql || "", 300)), " → ", el("code", null, shorten(s.answer || "", 300))];
}

// The finding's transactions and those of its witness, where the page has them.
function concerned(trace, finding) {
  const known = trace.transactions || {};
  return unique([...finding.transactions, ...(finding.witness.statements || []).map((s) => s.transaction)]).filter((t) => known[t]);
}

// Their statements, in the order in which they began.
function findingStatements(trace, finding) {
  const known = trace.transactions || {};
  return concerned(trace, finding)
    .flatMap((t) => known[t].statements.map((s) => ({ ...s, txn: t, session: known[t].session })))
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
}

let hatches = 0; // each drawing has a pattern of its own: ids are the document's

function timelineFigure(trace, finding, room) {
  const known = trace.transactions || {};
  const txns = concerned(trace, finding).map((t) => [t, known[t]]);
  const stmts = findingStatements(trace, finding);
  const times = [...stmts.flatMap((s) => [s.begin, s.end]), ...txns.flatMap(([, t]) => [t.begin, t.end])].filter((n) => n !== undefined);
  if (!stmts.length) return null;
  const lanes = unique(txns.map(([, t]) => t.session));
  const left = 118, top = 30, laneHeight = 84;
  const { x, moments, right } = timeScale(times, left + 14, Math.max(room, stmts.length * 26));
  const width = right + 40, height = top + laneHeight * lanes.length + 34;
  const y = (session) => top + laneHeight * lanes.indexOf(session);
  const witness = new Set((finding.witness.statements || []).map((s) => `${s.session}/${s.statement}`));
  const { tip, on } = tipFor("Point at a bar, or reach it with Tab, to read the statement and its answer.");
  const hatch = `hatch${hatches++}`;
  // A short one is drawn a little smaller rather than cut off; a long one scrolls.
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: width < 700 ? "fits" : "", role: "group", "aria-label": "Timeline of the transactions" });
  root.append(svg("defs", {}, svg("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 7, height: 7, class: "hatch-ground" }), svg("rect", { width: 3, height: 7, class: "hatch-line" }))));
  lanes.forEach((session, i) => {
    const who = (trace.sessions || {})[session] || {};
    const name = [who.user, who.node && `on ${who.node}`].filter(Boolean).join(" ");
    root.append(svg("rect", { x: 0, y: y(session) - 4, width, height: laneHeight - 6, class: i % 2 ? "lane odd" : "lane" }),
      svg("text", { x: 8, y: y(session) + 30, class: "name" }, `session ${session}`),
      svg("text", { x: 8, y: y(session) + 46, class: "small" }, svg("title", {}, name), shorten(name, 16)));
  });
  const first = moments[0], last = moments[moments.length - 1];
  const events = (trace.events || []).filter((e) => e.at >= first && (e.begin || e.at) <= last);
  for (const event of events) {
    const at = x(Math.min(event.at, last));
    const mark = svg("g", { tabindex: 0, role: "img", "aria-label": event.text, class: "event" },
      svg("line", { x1: at, x2: at, y1: 14, y2: height - 26 }), svg("path", { d: `M${at - 6} 4h12l-6 10z` }));
    on(mark, () => [el("b", null, "Event: "), event.text]);
    root.append(mark);
  }
  for (const [name, txn] of txns) {
    const from = txn.begin === undefined ? left : x(txn.begin), to = txn.end === undefined ? width - 12 : x(txn.end), at = y(txn.session);
    const label = `${name} · ${txn.level.toLowerCase()}`;
    root.append(svg("rect", { x: from - 6, y: at + 12, width: Math.max(16, to - from + 12), height: 36, rx: 8, class: "span" }),
      svg("text", { x: Math.min(from - 4, width - 6.5 * label.length - 4), y: at + 64, class: "small" }, label));
    // How it ended is a shape, not only a colour.
    const end = { committed: ["commit", "✓"], "rolled back": ["abort", "✗"] }[txn.outcome] || ["unknown", "?"];
    root.append(svg("g", { class: `end ${end[0]}` }, svg("title", {}, `${name} ${txn.outcome}`),
      svg("circle", { cx: Math.min(to, width - 14) + 6, cy: at + 12, r: 9 }),
      svg("text", { x: Math.min(to, width - 14) + 6, y: at + 16.5, "text-anchor": "middle" }, end[1])));
  }
  let lastLabel = new Map();
  for (const s of stmts) {
    const from = x(s.begin), wide = Math.max(8, x(s.end) - from), at = y(s.session);
    const marked = witness.has(`${s.session}/${s.number}`);
    const bar = svg("g", { tabindex: 0, role: "img", class: `bar${s.error ? " failed" : ""}${marked ? " witness" : ""}`,
      "aria-label": statementWords(s).map((p) => p.textContent || p).join("") },
      svg("rect", { x: from, y: at + 19, width: wide, height: 22, rx: 4, class: "box" }));
    if (s.blocked && s.end > s.begin)
      bar.append(svg("rect", { x: from, y: at + 19, width: Math.max(6, Math.min(wide, x(s.begin + Math.min(s.blocked, s.end - s.begin)) - from)), height: 22, rx: 4, class: "wait", fill: `url(#${hatch})` }));
    if (s.snapshot) bar.append(svg("path", { d: `M${from} ${at + 22}l7 8l-7 8l-7 -8z`, class: "snapshot" }));
    on(bar, () => statementWords(s));
    root.append(bar);
    const word = verb(s.sql);
    if (/^\s*(commit|rollback)\s*(work)?\s*;?\s*$/i.test(s.sql || "")) continue; // the mark there says so
    if (from - (lastLabel.get(s.session) || -99) > word.length * 6.2 + 4) {
      root.append(svg("text", { x: from, y: at + 9, class: "small" }, word));
      lastLabel.set(s.session, from);
    }
  }
  const step = Math.max(1, Math.ceil(moments.length / Math.max(2, Math.floor((right - left) / 110))));
  let lastTick = -99;
  moments.forEach((m, i) => {
    if (i % step && i !== moments.length - 1) return;
    if (x(m) - lastTick < 70) return;
    lastTick = x(m);
    root.append(svg("line", { x1: x(m), x2: x(m), y1: height - 24, y2: height - 19, class: "tick" }),
      svg("text", { x: x(m), y: height - 6, class: "small", "text-anchor": "middle" }, `+${duration(m - first)}`));
  });
  return el("figure", { class: "time" },
    el("figcaption", null, el("b", null, "The timeline. "), "A lane a session; wide intervals of time are drawn shorter than they were."),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Timeline, scrolls sideways" }, root), tip,
    el("p", { class: "key" },
      el("span", null, el("i", { class: "swatch box witness" }), "statement of the witness"),
      el("span", null, el("i", { class: "swatch box" }), "other statement"),
      stmts.some((s) => s.error) ? el("span", null, el("i", { class: "swatch box failed" }), "failed") : null,
      stmts.some((s) => s.blocked) ? el("span", null, el("i", { class: "swatch box hatched" }), "waiting for a lock") : null,
      stmts.some((s) => s.snapshot) ? el("span", null, "◆ snapshot") : null, el("span", null, "✓ commit"),
      txns.some(([, t]) => t.outcome === "rolled back") ? el("span", null, "✗ rollback") : null,
      txns.some(([, t]) => t.outcome === "unknown") ? el("span", null, "? outcome unknown") : null,
      events.length ? el("span", null, "▼ cluster event or note") : null));
}
