// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `isotrace report`. Everything from the trace becomes text nodes and attributes of
// elements made here; nothing is ever parsed as markup.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 200; // findings that are listed at a time

  function el(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") node.className = value;
      else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  }

  function svg(name, attributes, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  const count = (n) => Number(n).toLocaleString("en");
  const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

  function duration(ns) {
    if (ns >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
    if (ns >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
    return `${(ns / 1e3).toFixed(1)} µs`;
  }

  // ---- the cycle ----

  function edgeKind(kind) {
    for (const word of ["ww", "wr", "rw"]) if (kind.endsWith(word)) return word;
    return "other";
  }

  function edgeText(edge) {
    const versions = edge.from_version || edge.to_version
      ? ` (${edge.object}: ${edge.from_version} → ${edge.to_version})` : "";
    return `${edge.from} → ${edge.to}, ${edge.kind}${versions}. ${edge.explanation || ""}`;
  }

  // The edge that closes the contradiction: the last anti-dependency, else the last one.
  function guiltyEdge(edges) {
    for (let i = edges.length - 1; i >= 0; i--) if (edgeKind(edges[i].kind) === "rw") return i;
    return edges.length - 1;
  }

  function cycleFigure(finding) {
    const names = [...new Set(finding.edges.flatMap((e) => [e.from, e.to]))];
    const size = 340, tall = names.length === 2 ? 180 : size, radius = names.length < 3 ? 95 : 115;
    const places = new Map(names.map((name, i) => {
      const angle = (names.length === 2 ? Math.PI : -Math.PI / 2) + (2 * Math.PI * i) / names.length;
      return [name, [size / 2 + radius * Math.cos(angle), tall / 2 + radius * Math.sin(angle)]];
    }));
    const tip = el("p", { class: "tip", "aria-live": "polite" }, "Point at an edge, or reach it with Tab, to read why it is there.");
    const root = svg("svg", { viewBox: `0 0 ${size} ${tall}`, width: size, height: tall, role: "group",
      "aria-label": `The cycle ${names.join(", ")}` });
    const guilty = guiltyEdge(finding.edges);
    finding.edges.forEach((edge, i) => {
      const [x1, y1] = places.get(edge.from), [x2, y2] = places.get(edge.to);
      const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy) || 1;
      const bend = names.length === 2 ? 60 : 24;
      const cx = (x1 + x2) / 2 - (dy / length) * bend, cy = (y1 + y2) / 2 + (dx / length) * bend;
      // From rim to rim of the two circles, along the curve's tangents.
      const trim = (ax, ay, bx, by, by_) => {
        const d = Math.hypot(bx - ax, by - ay) || 1;
        return [ax + ((bx - ax) / d) * by_, ay + ((by - ay) / d) * by_];
      };
      const [sx, sy] = trim(x1, y1, cx, cy, 26), [tx, ty] = trim(x2, y2, cx, cy, 32);
      const kind = edgeKind(edge.kind);
      const [hx, hy] = trim(x2, y2, cx, cy, 24);
      const ux = hx - tx, uy = hy - ty;
      const group = svg("g", { tabindex: 0, role: "img", "aria-label": edgeText(edge) });
      group.append(
        svg("path", { d: `M${sx} ${sy} Q${cx} ${cy} ${tx} ${ty}`, class: `edge k${kind}${i === guilty ? " guilty" : ""}` }),
        svg("polygon", { points: `${hx},${hy} ${tx - uy * .6},${ty + ux * .6} ${tx + uy * .6},${ty - ux * .6}`, class: `t${kind}` }),
        svg("text", { x: (x1 + x2 + 2 * cx) / 4 - (dy / length) * 14, y: (y1 + y2 + 2 * cy) / 4 + (dx / length) * 14 + 4, "text-anchor": "middle", class: `t${kind}` }, edge.kind));
      for (const event of ["mouseenter", "focus"]) group.addEventListener(event, () => { tip.textContent = edgeText(edge); });
      root.append(group);
    });
    for (const [name, [x, y]] of places)
      root.append(svg("circle", { cx: x, cy: y, r: 24, class: "node" }),
        svg("text", { x, y: y + 5, "text-anchor": "middle" }, name.length > 6 ? `${name.slice(0, 5)}…` : name));
    return el("figure", null, root, el("figcaption", null,
      "ww: overwrote; wr: read what the other wrote; rw: read what the other then overwrote. Each must come before the next; the thick edge closes the circle."), tip);
  }

  // ---- the timeline ----

  function timelineFigure(trace, finding) {
    const txns = finding.transactions.filter((t) => trace.transactions[t]).map((t) => [t, trace.transactions[t]]);
    const stmts = txns.flatMap(([t, txn]) => txn.statements.map((s) => ({ ...s, txn: t, session: txn.session })));
    const times = [...stmts.flatMap((s) => [s.begin || s.end, s.end]),
      ...txns.flatMap(([, t]) => [t.begin, t.end])].filter((n) => n > 0);
    if (!times.length) return null;
    // Time in steps, not to scale: waits of seconds would hide microseconds.
    const moments = [...new Set(times)].sort((a, b) => a - b);
    const index = new Map(moments.map((m, i) => [m, i]));
    const lanes = [...new Set(txns.map(([, t]) => t.session))];
    const left = 110, laneHeight = 64, step = Math.max(14, Math.min(46, 760 / moments.length));
    const width = left + step * (moments.length + 1), height = laneHeight * lanes.length + 46;
    const x = (time) => left + step * ((index.get(time) || 0) + .5);
    const y = (session) => 20 + laneHeight * lanes.indexOf(session);
    const witness = new Set((finding.witness.statements || []).map((s) => `${s.session}/${s.statement}`));
    const tip = el("p", { class: "tip", "aria-live": "polite" }, "Point at a bar, or reach it with Tab, to read the statement.");
    const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Timeline of the transactions" });
    root.append(svg("defs", {}, svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 3, height: 6, class: "event" }))));
    for (const session of lanes)
      root.append(svg("text", { x: 4, y: y(session) + 26 }, `session ${session}`),
        svg("line", { x1: left, x2: width, y1: y(session) + 22, y2: y(session) + 22, class: "lane" }));
    for (const [name, txn] of txns) {
      const from = txn.begin && index.has(txn.begin) ? x(txn.begin) : left;
      const to = txn.end && index.has(txn.end) ? x(txn.end) : width - 8;
      root.append(svg("rect", { x: from - 4, y: y(txn.session) + 2, width: Math.max(8, to - from + 8), height: 42, rx: 6, class: "span" }),
        svg("text", { x: from, y: y(txn.session) + 57, class: "soft" }, `${name} ${txn.level}`),
        svg("circle", { cx: to, cy: y(txn.session) + 23, r: 6, class: txn.outcome === "committed" ? "commit" : "abort" },
          svg("title", {}, txn.outcome)));
    }
    for (const s of stmts) {
      const from = x(s.begin || s.end), to = x(s.end);
      const marked = witness.has(`${s.session}/${s.number}`);
      const says = `${s.txn}, session ${s.session}, statement ${s.number}, ${duration(s.end - (s.begin || s.end))}` +
        `${s.blocked ? `, blocked ${duration(s.blocked)}` : ""}: ${s.sql} → ${s.answer}`;
      const bar = svg("rect", { x: from, y: y(s.session) + 12, width: Math.max(6, to - from), height: 22, rx: 3, tabindex: 0, role: "img",
        "aria-label": says, class: `bar${s.error ? " failed" : ""}${marked ? " witness" : ""}` });
      for (const event of ["mouseenter", "focus"]) bar.addEventListener(event, () => { tip.textContent = says; });
      root.append(bar, svg("text", { x: from, y: y(s.session) + 9, class: "soft" }, (s.sql || "").trim().split(/\s/)[0].slice(0, Math.max(2, Math.floor(step / 6)))));
      if (s.blocked && s.begin)
        root.append(svg("rect", { x: from, y: y(s.session) + 12, width: Math.max(6, (to - from) * Math.min(1, s.blocked / (s.end - s.begin))), height: 22, class: "wait" }));
    }
    const first = moments[0], last = moments[moments.length - 1];
    for (const event of trace.events.filter((e) => e.at >= first && e.at <= last)) {
      const next = moments.findIndex((m) => m >= event.at);
      const at = left + step * (next < 0 ? moments.length : next);
      root.append(svg("line", { x1: at, x2: at, y1: 4, y2: height - 24, class: "event" }, svg("title", {}, event.text)));
    }
    root.append(svg("text", { x: left, y: height - 6, class: "soft" }, `${duration(last - first)} in all; steps of time, not to scale`));
    return el("figure", null, root, el("figcaption", null,
      "A lane a session; outlined bars are the statements of the witness, hatched: waiting for a lock; the dot is the end of the transaction, green when it committed."), tip);
  }

  // ---- one finding ----

  function statementsTable(trace, finding) {
    const what = new Map((finding.witness.statements || []).map((s) => [`${s.session}/${s.statement}`, s]));
    const rows = finding.transactions.flatMap((name) => {
      const txn = trace.transactions[name];
      return txn ? txn.statements.map((s) => ({ ...s, name, session: txn.session })) : [];
    }).sort((a, b) => (a.begin || a.end) - (b.begin || b.end));
    if (!rows.length) return null;
    const start = rows[0].begin || rows[0].end;
    return el("div", { class: "scroll" }, el("table", null,
      el("thead", null, el("tr", null, ...["after", "who", "statement", "answer", "saw or did"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", null, ...rows.map((s) => {
        const step = what.get(`${s.session}/${s.number}`);
        return el("tr", { class: step ? "witness" : "" },
          el("td", null, duration((s.begin || s.end) - start)), el("td", null, `${s.name}, session ${s.session}`),
          el("td", { class: "sql" }, s.sql || ""), el("td", { class: "sql" }, s.answer || ""), el("td", null, step ? step.what : ""));
      }))));
  }

  function scenario(trace, finding) {
    const lines = [`# id: ${finding.id}`, "[setup]"];
    const objects = new Set((finding.witness.rows || []).map((r) => r.object.replace(/\(.*$/s, "").split(".").pop()));
    const used = objects.size ? trace.tables.filter((t) => objects.has(t.name)) : trace.tables;
    for (const table of used) {
      lines.push(`${table.create};`);
      if (table.values) lines.push(`insert into \`${table.name}\` values ${table.values};`);
      if (table.rows_left_out) lines.push(`-- and ${count(table.rows_left_out)} more rows`);
    }
    lines.push("[schedule]");
    const stmts = finding.transactions.flatMap((name) => (trace.transactions[name] ? trace.transactions[name].statements.map((s) => ({ ...s, session: trace.transactions[name].session })) : []));
    stmts.sort((a, b) => (a.begin || a.end) - (b.begin || b.end));
    for (const s of stmts) lines.push(`S${s.session}> ${(s.sql || "").replace(/;\s*$/, "")};   -- ${s.answer || ""}`);
    return lines.join("\n");
  }

  function bugReport(trace, finding) {
    const check = trace.check;
    return [`${finding.class} at ${finding.level}${finding.also ? ` (${finding.also})` : ""}`, "",
      `Server: ${check.input.server || "not recorded"}`,
      ...Object.entries(trace.variables).map(([k, v]) => `  ${k} = ${v}`), "",
      finding.severity === "documented"
        ? `The contract ${check.contract} documents this at ${finding.level}: ${finding.rule}.`
        : `Expected: ${finding.level} does not let this happen (contract ${check.contract}).`, "",
      `Seen: ${finding.explanation}`, "",
      ...(finding.witness.rows || []).map((r) => `Versions of ${r.object}: ${r.versions}`), "",
      "What was sent, in this order, with the answers:", "", scenario(trace, finding), "",
      `Found by isotrace, finding ${finding.id} of ${check.input.path}.`].join("\n");
  }

  function fill(trace, finding, body) {
    const cycle = finding.edges.length ? cycleFigure(finding) : null;
    const line = timelineFigure(trace, finding);
    body.append(el("p", null, finding.explanation));
    if (finding.remark) body.append(el("p", null, finding.remark));
    for (const known of finding.known_bugs || [])
      body.append(el("p", { class: "known" }, "Known as ", el("a", { href: known.link }, known.id), `: ${known.title}. ${known.status}`));
    if (finding.rule) body.append(el("p", null, `Documented by the rule “${finding.rule}” of the contract.`));
    if (cycle || line) body.append(el("div", { class: cycle && line ? "figures" : "" }, cycle, line));
    const table = statementsTable(trace, finding);
    if (table) body.append(el("h3", null, "What the transactions did"), table);
    if (finding.witness.rows && finding.witness.rows.length)
      body.append(el("h3", null, "Versions of the rows concerned"),
        ...finding.witness.rows.map((r) => el("pre", null, `${r.object}: ${r.versions}`)));
    const text = el("textarea", { readonly: "", "aria-label": "Bug report" });
    text.value = bugReport(trace, finding);
    const copy = el("button", { type: "button", onclick: () => {
      text.select();
      if (navigator.clipboard) navigator.clipboard.writeText(text.value).then(() => { copy.textContent = "Copied"; }, () => document.execCommand("copy"));
      else document.execCommand("copy");
    } }, "Copy");
    body.append(el("h3", null, "A bug report, to copy"), text, copy);
  }

  function findingElement(trace, finding) {
    const body = el("div", { class: "body" });
    let filled = false;
    const node = el("details", { class: "finding", id: finding.id },
      el("summary", null, el("span", { class: "name" }, finding.class), el("span", { class: finding.severity }, finding.severity),
        el("span", null, finding.level || ""), finding.also ? el("span", null, finding.also) : null,
        el("span", null, finding.transactions.join(", ")),
        finding.similar ? el("span", null, `and ${count(finding.similar)} more of this class`) : null,
        el("span", { class: "id" }, finding.id)), body);
    node.addEventListener("toggle", () => {
      if (node.open && !filled) {
        filled = true;
        fill(trace, finding, body);
      }
    });
    return node;
  }

  // ---- the list ----

  function findingsSection(trace) {
    const all = trace.check.findings;
    const list = el("div"), status = el("p", { class: "facts", role: "status" });
    const search = el("input", { type: "search", placeholder: "class, transaction, table, SQL …" });
    const severity = el("select", null, el("option", { value: "" }, "all"), ...[...new Set(all.map((f) => f.severity))].map((s) => el("option", { value: s }, s)));
    const kind = el("select", null, el("option", { value: "" }, "all"), ...[...new Set(all.map((f) => f.class))].sort().map((s) => el("option", { value: s }, s)));
    const words = all.map((f) => [f.id, f.class, f.level, f.also, f.explanation, ...f.transactions,
      ...(f.witness.statements || []).map((s) => s.sql)].join(" ").toLowerCase());
    let limit = PAGE;
    function show() {
      const wanted = search.value.toLowerCase();
      const found = all.filter((f, i) => (!severity.value || f.severity === severity.value) &&
        (!kind.value || f.class === kind.value) && words[i].includes(wanted));
      list.replaceChildren(...found.slice(0, limit).map((f) => findingElement(trace, f)));
      if (found.length > limit)
        list.append(el("button", { class: "more", type: "button", onclick: () => { limit += PAGE; show(); } }, `Show ${count(Math.min(PAGE, found.length - limit))} more`));
      status.textContent = `${plural(found.length, "finding")} of ${count(all.length)}`;
    }
    for (const input of [search, severity, kind]) input.addEventListener("input", () => { limit = PAGE; show(); });
    show();
    const groups = new Map();
    for (const f of all) {
      const key = `${f.class} (${f.severity})`;
      groups.set(key, (groups.get(key) || 0) + 1 + f.similar);
    }
    return el("section", null, el("h2", null, "Findings"),
      all.length ? el("ul", { class: "levels" }, ...[...groups].map(([k, n]) => el("li", null, `${count(n)} ${k}`))) : el("p", null, "Nothing was found."),
      all.length ? el("div", { class: "tools" }, el("label", null, "Search ", search), el("label", null, "Severity ", severity), el("label", null, "Class ", kind)) : null,
      all.length ? status : null, list);
  }

  function coverageSection(check) {
    const c = check.coverage;
    return el("section", null, el("h2", null, "What was checked"),
      el("p", null, `${count(c.decided)} operations decided, ${count(c.undecided)} undecided, ${count(c.unsupported)} unsupported.`),
      Object.keys(c.reasons).length ? el("table", null, el("tbody", null, ...Object.entries(c.reasons).map(([why, n]) => el("tr", null, el("th", { scope: "row" }, why), el("td", null, count(n)))))) : null,
      check.input.complete ? null : el("p", { class: "incomplete" }, "The trace is not complete: something is missing or damaged; isotrace stats says where."));
  }

  function overviewSection(trace) {
    const buckets = trace.overview.buckets;
    if (!buckets.length) return null;
    const width = 960, height = 160, most = Math.max(...buckets.map((b) => b[0])), slowest = Math.max(...buckets.map((b) => b[3]), 1);
    const step = width / buckets.length;
    const root = svg("svg", { viewBox: `0 0 ${width} ${height + 20}`, width, height: height + 20, role: "img",
      "aria-label": `Statements over time, at most ${most} in ${duration(trace.overview.width)}` });
    buckets.forEach(([n, errors], i) => {
      const h = (n / most) * height, e = (errors / most) * height;
      root.append(svg("rect", { x: i * step, y: height - h, width: Math.max(.5, step - .5), height: h, class: "column" }),
        svg("rect", { x: i * step, y: height - e, width: Math.max(.5, step - .5), height: e, class: "column error" }));
    });
    root.append(svg("polyline", { class: "latency", points: buckets.map((b, i) => `${(i + .5) * step},${height - (b[3] / slowest) * height}`).join(" ") }));
    for (const event of trace.events) {
      const at = ((event.at - trace.overview.begin) / trace.overview.width) * step;
      if (at >= 0 && at <= width) root.append(svg("line", { x1: at, x2: at, y1: 0, y2: height, class: "event" }, svg("title", {}, event.text)));
    }
    root.append(svg("text", { x: 0, y: height + 15, class: "soft" }, `${duration(trace.overview.width * buckets.length)}; a column is ${duration(trace.overview.width)}`));
    return el("section", null, el("h2", null, "The whole recording"), el("figure", null, root, el("figcaption", null,
      `Columns: statements (at most ${count(most)}), red: errors. Line: the slowest statement (at most ${duration(slowest)}).`)));
  }

  function traceSection(trace) {
    const check = trace.check, input = check.input;
    const order = { fails: 0, undecided: 1, holds: 2 };
    const levels = Object.entries(check.levels).sort((a, b) => order[a[1]] - order[b[1]]);
    const brief = [["holds", "Strongest that hold", check.strongest_holding], ["fails", "Weakest that fail", check.weakest_failing]]
      .filter(([, , names]) => names && names.length);
    return el("article", null,
      el("h1", null, input.path, " ", el("span", { class: `verdict ${check.verdict}` }, check.verdict)),
      el("p", { class: "facts" }, [input.server && `server ${input.server}`, check.contract && `contract ${check.contract}`,
        plural(input.transactions, "transaction"), plural(input.operations, "operation"), input.sessions && plural(input.sessions, "session")].filter(Boolean).join(" · ")),
      ...brief.map(([answer, title, names]) => el("p", null, el("b", { class: answer }, `${title}: `), names.join(", "))),
      el("details", null, el("summary", null, "All levels"),
        el("ul", { class: "levels", "aria-label": "Levels" }, ...levels.map(([name, answer]) => el("li", null, `${name} `, el("b", { class: answer }, answer))))),
      findingsSection(trace), coverageSection(check), overviewSection(trace));
  }

  document.querySelector("main").replaceChildren(...data.traces.map(traceSection));
  const wanted = location.hash && document.getElementById(location.hash.slice(1));
  const first = wanted || document.querySelector("details.finding");
  if (first) first.open = true;
  if (wanted) wanted.scrollIntoView();
})();
