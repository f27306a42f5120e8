// SPDX-License-Identifier: GPL-2.0-or-later
// ---- one finding ----

function answerTable(answer) {
  const where = answer.table ? `Rows of ${answer.table} at the end` : "The answer";
  const side = (title, rows, total, odd) => el("div", { class: "side" }, el("h5", null, title),
    el("ul", { class: "rows" }, ...rows.map((r) => el("li", { class: r.odd ? odd : "" },
      r.odd ? el("span", { class: "sign" }, odd === "wrong" ? "✗ " : "+ ") : null, el("code", null, r.row),
      r.odd ? el("span", { class: "note" }, odd === "wrong" ? "not expected" : "missing") : null)),
    total ? null : el("li", null, "no row"), total > rows.length ? el("li", null, `and ${count(total - rows.length)} more`) : null));
  return el("div", { class: "answer" }, el("h4", null, where),
    el("div", { class: "sides" }, side(answer.table ? "Found" : "Answered", answer.got, answer.got_count, "wrong"),
      side("Expected", answer.expected, answer.expected_count, "missing")));
}

function statementsTable(trace, finding) {
  const what = new Map((finding.witness.statements || []).map((s) => [`${s.session}/${s.statement}`, s]));
  const answer = finding.witness.answer;
  const rows = findingStatements(trace, finding);
  if (!rows.length) return null;
  const start = rows[0].begin;
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Statements" }, el("table", { class: "statements" },
    el("thead", null, el("tr", null, ...["after", "who", "statement", "answer", "saw or did"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, ...rows.map((s) => {
      const step = what.get(`${s.session}/${s.number}`);
      const wrong = answer && answer.session === s.session && answer.statement === s.number;
      return el("tr", { class: wrong ? "witness wrong" : step ? "witness" : "" },
        el("td", { class: "num" }, duration(s.begin - start)), el("td", { class: "who" }, el("b", null, s.txn), el("span", { class: "soft" }, ` session ${s.session}`)),
        el("td", null, el("code", null, s.sql || ""), s.traceparent ? el("div", { class: "soft" }, `request ${s.traceparent.split("-")[1]}`) : null),
        el("td", null, wrong
          ? el("ul", { class: "rows" }, ...answer.got.map((r) => el("li", { class: r.odd ? "wrong" : "" }, r.odd ? el("span", { class: "sign" }, "✗ ") : null, el("code", null, r.row))), answer.got_count ? null : el("li", { class: "wrong" }, "no row"))
          : el("code", null, s.answer || "")),
        el("td", null, step && step.what ? step.what : ""));
    }))));
}

function ruleOf(trace, finding) {
  if (!finding.rule) return null;
  for (const promise of trace.check.promises || [])
    for (const rule of promise.rules)
      if (rule.name === finding.rule && promise.level === finding.level) {
        const page = rule.page && /^https:\/\//.test(rule.page) ? el("a", { href: rule.page, rel: "noreferrer" }, "manual") : rule.page;
        return el("p", { class: "callout" }, "Documented by the rule ", el("code", null, rule.name), ` of the contract ${trace.check.contract}: no violation. `, page || null);
      }
  return el("p", { class: "callout" }, finding.rule === "not-promised" ? `The contract ${trace.check.contract} does not promise that this cannot happen: no violation.` : `Not counted: ${finding.rule}.`);
}

function fillFinding(trace, finding, body) {
  const meaning = (trace.meanings || {})[finding.class];
  const words = finding.edges.length ? edgeSentences(finding) : { list: null, say: () => {} };
  const cycle = finding.edges.length ? cycleFigure(finding, words.say) : null;
  const line = timelineFigure(trace, finding, cycle ? 460 : 840);
  body.append(...[meaning ? el("p", { class: "meaning" }, meaning) : null, ruleOf(trace, finding), ...(finding.pattern ? patternSection(finding.pattern) : []),
    ...(finding.known_bugs || []).map((known) => el("p", { class: "callout known" }, "Known as ",
      /^https?:\/\//.test(known.link) ? el("a", { href: known.link, rel: "noreferrer" }, known.id) : known.id, `: ${known.title}. ${sentence(known.status || "")}`)),
    words.list || el("p", { class: "explanation" }, finding.explanation),
    ...placeSection(trace, finding),
    finding.also ? el("p", null, `This is a ${finding.also}.`) : null,
    finding.remark ? el("p", null, finding.remark) : null,
    finding.witness.answer ? answerTable(finding.witness.answer) : null,
    cycle || line ? el("div", { class: cycle && line ? "figures" : "figures one" }, cycle, line) : null].filter(Boolean));
  const table = statementsTable(trace, finding);
  if (table) body.append(el("h4", null, "What the transactions did"), table);
  if (finding.witness.rows && finding.witness.rows.length)
    body.append(el("h4", null, "Versions of the rows, oldest first"), el("dl", { class: "versions" }, ...finding.witness.rows.flatMap((r) =>
      [el("dt", null, el("code", null, r.object)), el("dd", null, el("code", null, r.chain))])));
  body.append(...bugSection(trace, finding));
}

// The places of an application's code, what is at stake, and what would prevent it.
function patternSection(pattern) {
  const rows = pattern.rows.join(", ") + (pattern.row_count > pattern.rows.length ? ` and ${count(pattern.row_count - pattern.rows.length)} more` : "");
  return [el("h4", null, "The code"), el("dl", { class: "versions" }, ...pattern.statements.flatMap((s) =>
    [el("dt", null, s.role), el("dd", null, el("code", null, s.sql), s.tag ? el("span", { class: "soft" }, ` in ${s.tag}`) : null)]),
    el("dt", null, "at stake"), el("dd", null, el("code", null, rows), pattern.columns ? `, columns ${pattern.columns}` : "")),
    pattern.caveat ? el("p", { class: "callout" }, pattern.caveat) : null,
    el("h4", null, "What would prevent it"), el("ul", null, ...pattern.advice.map((a) => el("li", null, a))),
    el("h4", null, "For example")];
}

// The same finding may be in several histories: the first has the name that links know.
const taken = new Map();

function findingName(finding) {
  const n = (taken.get(finding.id) || 0) + 1;
  taken.set(finding.id, n);
  return n === 1 ? `f-${finding.id}` : `f-${finding.id}-${n}`;
}

function findingElement(trace, finding) {
  const body = el("div", { class: "body" });
  let filled = false;
  const pairs = finding.pattern ? el("span", { class: "soft" }, plural(finding.pairs, "pair") + " of transactions") : null;
  const more = finding.similar ? el("span", { class: "soft" }, `+${count(finding.similar)} like it`) : null;
  const node = el("details", { class: "finding", id: findingName(finding), "data-finding": finding.id },
    el("summary", null, badge(finding.severity), el("span", { class: "name" }, finding.class),
      finding.also ? el("span", { class: "also" }, finding.also) : null,
      el("span", { class: "txns" }, shorten(finding.transactions.join(", "), 60)),
      el("span", { class: "soft" }, finding.level || ""), pairs, more, el("span", { class: "id" }, finding.id)), body);
  node.fill = () => {
    if (filled) return;
    filled = true;
    fillFinding(trace, finding, body);
  };
  node.addEventListener("toggle", () => { if (node.open) node.fill(); });
  return node;
}
