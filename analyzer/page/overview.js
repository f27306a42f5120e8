// SPDX-License-Identifier: GPL-2.0-or-later
// ---- what was checked, and the whole recording ----

// The first statement that a reason concerns, where the check named one.
function firstOf(coverage, why) {
  const first = (coverage.examples || {})[why];
  if (!first) return null;
  const sql = first.sql && first.sql.length > 200 ? first.sql.slice(0, 200) + " …" : first.sql;
  return el("div", null, `the first: statement ${first.statement} of session ${first.session}`, sql ? ": " : null,
    sql ? el("code", null, sql) : null);
}

function coverageSection(check, number) {
  const c = check.coverage, all = c.decided + c.undecided + c.unsupported;
  const parts = [["decided", c.decided], ["undecided", c.undecided], ["unsupported", c.unsupported]];
  const reasons = Object.entries(c.reasons);
  return el("section", { id: `coverage${number}` }, el("h3", null, "What was checked"),
    all ? el("div", { class: "share", role: "img", "aria-label": parts.map(([name, n]) => `${name} ${count(n)}`).join(", ") },
      ...parts.filter(([, n]) => n).map(([name, n]) => {
        const part = el("span", { class: `part ${name}` });
        part.style.flexGrow = String(n);
        return part;
      })) : null,
    el("p", { class: "shares" }, ...parts.map(([name, n]) => el("span", null, el("i", { class: `swatch box ${name}` }), `${name} `, el("b", null, count(n)), all ? ` (${((100 * n) / all).toFixed(n && n < all ? 1 : 0)} %)` : ""))),
    reasons.length ? el("table", { class: "reasons" }, el("thead", null, el("tr", null, el("th", { scope: "col" }, "why something was not decided"), el("th", { scope: "col", class: "num" }, "how often"))),
      el("tbody", null, ...reasons.sort((a, b) => b[1] - a[1]).map(([why, n]) => el("tr", null, el("td", null, why, firstOf(c, why)), el("td", { class: "num" }, count(n)))))) : null,
    check.input.transactions ? null : el("p", { class: "callout" }, "There are no transactions: nothing was checked."),
    check.input.complete ? null : el("p", { class: "callout bad" }, "The trace is not complete: something is missing or damaged; isotrace stats says where."));
}

// One small chart over the time of the recording; `values` has a number a bucket.
function strip(title, unit, values, width, marks, kind) {
  const height = 74, most = Math.max(...values, 1e-9), step = width / values.length;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: `strip ${kind}`, role: "img",
    "aria-label": `${title}: at most ${unit(most)}` });
  const top = (v) => height - 2 - (v / most) * (height - 8);
  let path = `M0 ${height}`;
  values.forEach((v, i) => { path += `L${(i * step).toFixed(1)} ${top(v).toFixed(1)}L${((i + 1) * step).toFixed(1)} ${top(v).toFixed(1)}`; });
  root.append(svg("path", { d: `${path}L${width} ${height}Z`, class: "area" }));
  for (const at of marks) root.append(svg("line", { x1: at * width, x2: at * width, y1: 0, y2: height, class: "mark" }));
  return el("div", { class: "chart" }, el("p", null, el("b", null, title), el("span", { class: "soft" }, ` at most ${unit(most)}`)), root);
}

function overviewSection(trace, number) {
  const over = trace.overview, buckets = over ? over.buckets : [];
  if (!buckets.length) return null;
  const seconds = over.width / 1e9, span = over.width * buckets.length;
  const events = (trace.events || []).filter((e) => e.at >= over.begin && e.at <= over.begin + span);
  const marks = events.map((e) => (e.at - over.begin) / span);
  // A rate a second says little of a recording that took milliseconds.
  const rate = (n) => (span >= 10e9 ? `${n >= 100 ? count(Math.round(n)) : n.toPrecision(3)}/s` : `${count(Math.round(n * seconds))} in ${duration(over.width)}`);
  const errors = buckets.reduce((n, b) => n + b[1], 0);
  return el("section", { id: `recording${number}` }, el("h3", null, "The whole recording"),
    el("div", { class: "charts" },
      strip("Statements", rate, buckets.map((b) => b[0] / seconds), 960, marks, "rate"),
      strip("Latency, mean", duration, buckets.map((b) => b[2]), 960, marks, "mean"),
      strip("Latency, slowest", duration, buckets.map((b) => b[3]), 960, marks, "slow"),
      errors ? strip("Errors", rate, buckets.map((b) => b[1] / seconds), 960, marks, "errors") : el("p", { class: "soft" }, "No statement failed."),
      el("p", { class: "axis soft" }, el("span", null, "0"), el("span", null, duration(span / 2)), el("span", null, duration(span)))),
    events.length ? el("details", null, el("summary", null, plural(events.length, "cluster event or note").replace("event or notes", "events and notes")),
      el("ol", { class: "events" }, ...events.slice(0, 200).map((e) => el("li", null, el("span", { class: "num" }, `+${duration(e.at - over.begin)} `), e.text)))) : null);
}
