// SPDX-License-Identifier: GPL-2.0-or-later
// ---- the list of findings: groups, filters, search, keys ----

const CHUNK = 100; // findings that are made at a time, as the end of the list comes near

function findingsSection(trace, number) {
  const all = trace.check.findings;
  if (!all.length) return el("section", { id: `findings${number}` }, el("h3", null, "Findings"), el("p", null, "Nothing was found."));
  const list = el("div", { class: "list" }), end = el("div", { class: "end" }), status = el("p", { class: "soft", role: "status" });
  const search = el("input", { type: "search", placeholder: "class, transaction, table, SQL …", "aria-label": "Search", class: "search" });
  const choice = (title, values) => {
    const select = el("select", { "aria-label": title }, el("option", { value: "" }, `${title}: all`), ...values.map((v) => el("option", { value: v }, v)));
    return values.length > 1 ? select : null;
  };
  const by = { severity: choice("Severity", SEVERITIES.filter((s) => all.some((f) => f.severity === s))),
    class: choice("Class", unique(all.map((f) => f.class)).sort()),
    level: choice("Level", unique(all.map((f) => f.level || "")).filter(Boolean).sort()),
    oracle: choice("Oracle", unique(all.map((f) => f.oracle)).sort()) };
  const controls = Object.entries(by).filter(([, select]) => select);
  let words = null; // made for the first search
  const wordsOf = () => words || (words = all.map((f) => JSON.stringify([f.id, f.class, f.level, f.also, f.rule, f.explanation, f.transactions,
    (f.witness.statements || []).map((s) => s.sql), (f.witness.rows || []).map((r) => r.object)]).toLowerCase()));
  let found = [], shown = 0;
  const made = new Map();
  const make = (f) => made.get(f) || made.set(f, findingElement(trace, f)).get(f);
  function more() {
    const next = found.slice(shown, shown + CHUNK);
    shown += next.length;
    list.append(...next.map(make));
  }
  const groups = new Map();
  for (const f of all) {
    const key = `${f.severity}\n${f.class}`;
    groups.set(key, (groups.get(key) || 0) + 1 + (f.similar || 0));
  }
  const ordered = [...groups].map(([key, n]) => [...key.split("\n"), n]).sort((a, b) => SEVERITIES.indexOf(a[0]) - SEVERITIES.indexOf(b[0]) || b[2] - a[2]);
  const chips = ordered.map(([severity, name, n]) => {
    const chip = el("button", { type: "button", class: `group ${severity}`, "aria-pressed": "false", onclick: () => {
      const on = chip.getAttribute("aria-pressed") !== "true";
      if (by.class) by.class.value = on ? name : "";
      if (by.severity) by.severity.value = on ? severity : "";
      show();
    } }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[severity]), el("b", null, name), el("span", { class: "n" }, count(n)), el("span", { class: "visually-hidden" }, ` ${severity}`));
    chip.matches = (f) => f.severity === severity && f.class === name;
    return chip;
  });
  function show() {
    const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    found = all.filter((f, i) => controls.every(([field, select]) => !select.value || (f[field] || "") === select.value) &&
      (!wanted.length || wanted.every((w) => wordsOf()[i].includes(w))));
    shown = 0;
    list.replaceChildren();
    more();
    for (const chip of chips)
      chip.setAttribute("aria-pressed", String(Boolean((by.class && by.class.value) || (by.severity && by.severity.value)) && found.length > 0 && found.every(chip.matches)));
    status.textContent = `${plural(found.length, "finding")}${found.length === all.length ? "" : ` of ${count(all.length)}`}` +
      `${found.some((f) => f.similar) ? `, and ${count(found.reduce((n, f) => n + (f.similar || 0), 0))} more like them that are not listed` : ""}`;
  }
  search.addEventListener("input", show);
  for (const [, select] of controls) select.addEventListener("input", show);
  new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) more(); }, { rootMargin: "800px" }).observe(end);
  // A link to a finding opens it, however far down the list it is.
  list.reveal = (id) => {
    const at = all.findIndex((f) => `f-${f.id}` === id);
    if (at < 0) return null;
    if (!found.includes(all[at])) {
      // A filter hides it.
      search.value = "";
      for (const [, select] of controls) select.value = "";
      show();
    }
    while (shown <= found.indexOf(all[at]) && shown < found.length) more();
    return make(all[at]);
  };
  show();
  return el("section", { id: `findings${number}`, class: "findings" }, el("h3", null, "Findings"),
    el("div", { class: "groups", role: "group", "aria-label": "Findings by class" }, ...chips),
    el("div", { class: "tools" }, search, ...controls.map(([, select]) => select),
      el("span", { class: "soft keys" }, el("kbd", null, "/"), " search ", el("kbd", null, "j"), " ", el("kbd", null, "k"), " next, previous ", el("kbd", null, "Enter"), " open")),
    status,
    trace.statements_left_out ? el("p", { class: "callout" }, `${plural(trace.statements_left_out, "statement")} of these transactions did not fit on the page; isotrace explain and show have them.`) : null,
    list, end);
}

// j and k walk through the findings, / goes to the search box.
function listKeys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape" && typing) {
    event.target.blur();
    return;
  }
  if (typing) return;
  if (event.key === "/") {
    const box = document.querySelector("input.search");
    if (box) {
      box.focus();
      event.preventDefault();
    }
  } else if (event.key === "j" || event.key === "k") {
    const heads = [...document.querySelectorAll("details.finding > summary")];
    const here = heads.findIndex((h) => h === document.activeElement || h.parentNode.contains(document.activeElement));
    const next = heads[here < 0 ? 0 : Math.max(0, Math.min(heads.length - 1, here + (event.key === "j" ? 1 : -1)))];
    if (next) {
      next.focus();
      next.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    }
  }
}
