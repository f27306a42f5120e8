// SPDX-License-Identifier: GPL-2.0-or-later
// ---- the page ----

function promisesTable(trace) {
  const check = trace.check, promises = check.promises || [];
  if (!promises.length) return null;
  const counts = (level, name, severity) => check.findings.filter((f) => f.level === level && f.class === name && f.severity === severity).reduce((n, f) => n + 1 + (f.similar || 0), 0);
  return el("table", { class: "promises" }, el("thead", null, el("tr", null, ...["level", "transactions", "the contract was", "it forbids"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, ...promises.map((p) => el("tr", null, el("th", { scope: "row" }, p.level), el("td", { class: "num", "data-word": Number(p.transactions) === 1 ? " transaction" : " transactions" }, count(p.transactions)), el("td", null, badge(p.answer), p.not_serializable ? el("p", { class: "callout" }, `This is not serializable: the contract allows write skew at this level (rule ${p.not_serializable}).`) : null),
      el("td", null, el("span", { class: "phenomena" }, ...unique([...p.forbids, ...check.findings.filter((f) => f.level === p.level && f.severity === "violation" && f.class !== "wrong-sql").map((f) => f.class)]).map((name) => {
        const n = counts(p.level, name, "violation");
        return n ? el("span", { class: "phenomenon broken" }, `✗ ${name} × ${count(n)}`) : el("span", { class: "phenomenon" }, name);
      })),
      p.rules.length ? el("details", { class: "rules" }, el("summary", null, `${plural(p.rules.length, "documented rule")}`), el("ul", null, ...p.rules.map((r) => el("li", null, el("code", null, r.name), r.allows.length ? ` allows ${r.allows.join(", ")}` : "",
        r.page && /^https:\/\//.test(r.page) ? [" (", el("a", { href: r.page, rel: "noreferrer" }, "manual"), ")"] : null)))) : null)))));
}

function levelsBlock(check) {
  const order = { fails: 0, undecided: 1, holds: 2 };
  const levels = Object.entries(check.levels).sort((a, b) => order[a[1]] - order[b[1]]);
  if (!levels.length) return null;
  const names = (list) => list.flatMap((name, i) => [i ? ", " : "", el("b", null, name)]);
  return el("div", { class: "levels" },
    check.strongest_holding && check.strongest_holding.length ? el("p", null, badge("holds", "holds"), " ", ...names(check.strongest_holding), el("span", { class: "soft" }, " and what these imply")) : null,
    check.weakest_failing && check.weakest_failing.length ? el("p", null, badge("fails", "fails"), " ", ...names(check.weakest_failing), el("span", { class: "soft" }, " and what implies these")) : null,
    el("details", null, el("summary", null, `All ${levels.length} levels`), el("ul", { class: "all" }, ...levels.map(([name, answer]) => el("li", { class: answer }, `${SIGNS[answer]} ${name}`)))));
}

function verdictSentence(check) {
  const n = { violation: 0, application: 0, suspicion: 0, documented: 0, compat: 0 };
  let wrongSql = 0;
  for (const f of check.findings)
    if (f.class === "wrong-sql" && f.severity === "violation") wrongSql += 1 + (f.similar || 0);
    else n[f.severity] += 1 + (f.similar || 0);
  if (check.verdict === "anomalies")
    return `${plural(n.application, "place")} of the application's code ${n.application === 1 ? "relies" : "rely"} on more than the isolation level gives${n.suspicion ? `; ${plural(n.suspicion, "more")} possibly` : ""}. No promise of the server was found broken.`;
  const parts = [n.violation ? plural(n.violation, "violation") : null, wrongSql ? `${plural(wrongSql, "answer")} that would be wrong without any other session, too (no matter of isolation)` : null, n.suspicion ? plural(n.suspicion, "suspicion") : null,
    n.documented ? `${count(n.documented)} documented` : null].filter(Boolean);
  if (check.verdict === "violated")
    return n.violation || wrongSql ? `${parts.join(", ")}.` : `A level that was asked for does not hold. ${parts.join(", ")}`;
  if (check.verdict === "ok") return `${parts.length ? `No violation; ${parts.join(", ")}` : "Nothing was found"}, on complete evidence.`;
  return `No violation was found, but the evidence is incomplete: ${plural(check.coverage.undecided, "statement")} undecided, ${count(check.coverage.unsupported)} unsupported.`;
}

function traceSection(trace, number) {
  const check = trace.check, input = check.input;
  const facts = [["server", input.server], ["contract", check.contract], ["transactions", count(input.transactions)], ["sessions", input.sessions && count(input.sessions)],
    ["operations", input.operations ? count(input.operations) : null], ["format", input.format === "trace" ? null : input.format], ["level asked for", check.level]].filter(([, v]) => v);
  return el("article", { class: "trace", id: `trace${number}` },
    el("header", { class: `verdict ${check.verdict}` },
      el("p", { class: "word" }, badge(check.verdict)),
      el("h2", null, input.path), el("p", { class: "sum" }, verdictSentence(check)),
      el("dl", { class: "facts" }, ...facts.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))))),
    el("div", { class: "scroll" }, promisesTable(trace)), levelsBlock(check),
    clusterSection(trace, number), findingsSection(trace, number), componentsSection(check, number), coverageSection(check, number), overviewSection(trace, number));
}

function contents() {
  if (data.traces.length < 2) return null;
  return el("nav", { class: "contents", "aria-label": "Histories" }, el("table", null, el("thead", null, el("tr", null, ...["history", "verdict", "findings"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", null, ...data.traces.map((t, i) => el("tr", null, el("td", null, el("a", { href: `#trace${i}` }, t.check.input.path)), el("td", null, badge(t.check.verdict)),
      el("td", { class: "num" }, count(t.check.findings.reduce((n, f) => n + 1 + (f.similar || 0), 0))))))));
}

// Opens the finding that the address names; else, on a page of one history, the first.
function openNamed(initially) {
  const id = location.hash.slice(1); // of hexadecimal digits
  for (const list of document.querySelectorAll(".list")) {
    const node = id && list.reveal(id);
    if (node) {
      node.open = true;
      node.scrollIntoView();
      return;
    }
  }
  const first = initially && data.traces.length === 1 && document.querySelector("details.finding");
  if (first) first.open = true;
}

const worst = ["violated", "incomplete", "ok"].find((v) => data.traces.some((t) => t.check.verdict === v));
document.title = `isotrace report${worst ? `: ${worst}` : ""}`;
const main = document.getElementById("main");
main.replaceChildren(
  el("h1", null, "isotrace ", el("span", { class: "soft" }, "report")), ...[contents()].filter(Boolean),
  ...data.traces.map(traceSection), ...(data.differences || []).map(diffSection),
  el("footer", { class: "soft" }, `Made by isotrace ${data.version}. This file needs no network.`));
document.addEventListener("keydown", listKeys);
window.addEventListener("hashchange", () => openNamed(false));
// On paper there is nothing to click: what is listed is shown in full, to a bound.
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")].slice(0, 60);
  for (const node of opened) {
    if (node.fill) node.fill();
    node.open = true;
  }
});
window.addEventListener("afterprint", () => { for (const node of opened) node.open = false; });
openNamed(true);
