// SPDX-License-Identifier: GPL-2.0-or-later
// ---- a bug report to copy ----

const oneLine = (text) => String(text || "").replace(/\s+/g, " ").trim();

// As it was sent: blanks may stand in a string, and a comment ends with its line.
function ended(sql) {
  const text = String(sql || "").trim().replace(/;$/, "");
  return /(--\s|#)[^\n]*$/.test(text) ? `${text}\n;` : `${text};`;
}

// The schedule as a scenario file (docs/scenario-format.md), with the answers as comments.
function scenario(trace, finding) {
  const statements = findingStatements(trace, finding), known = trace.transactions || {};
  const levels = unique(concerned(trace, finding).map((t) => `S${known[t].session}=${known[t].level}`));
  // A session with several levels sets them itself.
  const fixed = levels.filter((a) => !levels.some((b) => a !== b && a.split("=")[0] === b.split("=")[0]));
  const lines = [`# id: ${finding.id}`, ...(fixed.length ? [`# isolation: ${fixed.join(", ")}`] : []), "[setup]"];
  const tables = trace.tables || [];
  const named = new Set((finding.witness.rows || []).map((r) => r.object.replace(/\(.*$/s, "").split(".").pop()));
  const used = named.size && tables.some((t) => named.has(t.name)) ? tables.filter((t) => named.has(t.name)) : tables;
  for (const table of used) {
    lines.push(`${table.create};`);
    if (table.values) lines.push(`insert into \`${table.name}\` values ${table.values};`);
    if (table.rows_left_out) lines.push(`-- and ${count(table.rows_left_out)} more rows`);
  }
  lines.push("[schedule]");
  for (const s of statements)
    lines.push(`S${s.session}> ${ended(s.sql)}   -- ${oneLine(s.answer)}`);
  return lines.join("\n");
}

function answerLines(answer) {
  const side = (rows, total) => [...rows.map((r) => `  ${r.odd ? "*" : " "} ${r.row}`), ...(total > rows.length ? [`    and ${count(total - rows.length)} more`] : []), ...(total ? [] : ["    no row"])];
  return ["Answered:", ...side(answer.got, answer.got_count), "Expected (* marks what differs):", ...side(answer.expected, answer.expected_count), ""];
}

function documented(trace, finding, level) {
  const contract = trace.check.contract;
  if (finding.rule === "not-promised") return `The contract ${contract} does not promise at ${level} that this cannot happen.`;
  return contract ? `The contract ${contract} documents this at ${level}: ${finding.rule}.` : `Not counted: ${finding.rule}.`;
}

function bugReport(trace, finding) {
  const check = trace.check, level = finding.level || (check.input.format === "trace" ? "any level" : "the level asked for");
  const variables = Object.entries(trace.variables || {});
  const rows = (finding.witness.rows || []).map((r) => `Versions of ${r.object}: ${r.chain}`);
  return [`${finding.class} at ${level}${finding.also ? ` (${finding.also})` : ""}`, "",
    ...(check.input.format === "trace" ? [`Server: ${check.input.server || "not recorded"}`, ...variables.map(([k, v]) => `  ${k} = ${v}`), ""]
      : [`History: ${check.input.path} (${check.input.format})`, ""]),
    finding.pattern ? `The server may let this happen at ${level}: it is for the application to prevent it.`
      : finding.severity === "documented" ? documented(trace, finding, level)
      : check.contract ? `Expected: ${level} does not let this happen (contract ${check.contract}).` : `Expected: ${level} does not let this happen.`,
    (trace.meanings || {})[finding.class] || "", "",
    `Seen: ${finding.explanation}`, "",
    ...(finding.witness.answer ? answerLines(finding.witness.answer) : []), ...rows, ...(rows.length ? [""] : []),
    ...(findingStatements(trace, finding).length ? ["What was sent, in this order, with the answers:", "", scenario(trace, finding), ""] : []),
    `Found by isotrace ${data.version}, finding ${finding.id} of ${check.input.path}.`].join("\n");
}

function bugSection(trace, finding) {
  const words = plain(bugReport(trace, finding));
  const text = el("textarea", { readonly: "", "aria-label": "Bug report", rows: Math.max(8, Math.min(24, words.split("\n").length + 1)), spellcheck: "false" });
  text.value = words;
  const copy = el("button", { type: "button", class: "copy", onclick: () => {
    const done = () => { copy.textContent = "Copied"; };
    const old = () => { text.select(); if (document.execCommand("copy")) done(); };
    if (navigator.clipboard) navigator.clipboard.writeText(text.value).then(done, old);
    else old();
  } }, "Copy");
  return [el("h4", { class: "bug" }, "Bug report ", copy), text];
}
