// SPDX-License-Identifier: GPL-2.0-or-later
// ---- two executions of one schedule ----

function diffSection(diff) {
  const side = (s, name) => el("tr", null, el("th", { scope: "row" }, name), el("td", null, s.server || ""), el("td", null, s.levels || ""), el("td", null, s.contract || ""),
    el("td", null, badge({ kept: "kept", broken: "broken" }[s.contract_verdict] || "undecided"), s.contract_why ? ` ${s.contract_why}` : ""), el("td", null, el("code", null, s.path)));
  const rows = diff.schedule || [];
  return el("article", { class: "trace" },
    el("header", { class: `verdict ${diff.verdict}` },
      el("p", { class: "word" }, badge({ same: "ok", compat: "compat", violation: "violated" }[diff.verdict] || "incomplete", diff.verdict)),
      el("h2", null, "Two executions of one schedule"),
      el("p", { class: "sum" }, diff.discrepancies.length ? `${plural(diff.discrepancies.length, "difference")}; the first in ${diff.discrepancies[0].class}; cause: ${[diff.rule && diff.cause === "other" ? "" : diff.cause, diff.rule ? `rule ${diff.rule}` : ""].filter(Boolean).join(", ")}.` : "Every answer and the final state are equal."),
      diff.explanation ? el("p", null, diff.explanation) : null),
    el("section", null, el("h3", null, "The two sides"), el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, ...["", "server", "levels", "contract", "kept", "trace"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", null, side(diff.a, "A"), side(diff.b, "B"))))),
    el("section", null, el("h3", null, "The schedule"),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The schedule" }, el("table", { class: "statements" },
        el("thead", null, el("tr", null, ...["", "session", "statement", "A", "B"].map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", null, ...rows.map((r) => el("tr", { class: r.differs ? "witness" : "" }, el("td", null, r.differs ? "≠" : ""), el("td", null, r.session), el("td", null, el("code", null, r.sql)),
          el("td", null, el("code", null, r.a)), el("td", null, r.differs ? el("code", null, r.b) : el("span", { class: "soft" }, "same")))))))),
    diff.not_compared ? el("p", { class: "callout" }, `${plural(diff.not_compared, "answer")} could not be compared: rows were not kept.`) : null);
}
