// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `isotrace report`.  These files become one script (page/embed).  Everything from the
// trace becomes text nodes and attributes of elements made here; nothing is parsed as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

// Characters that a browser would obey instead of showing: controls, and those that turn the writing
// direction around, which could make a report read as what it does not say.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const plain = (text) => String(text).replace(ODD, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
const child = (c) => (c instanceof Node ? c : plain(c));

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, plain(value));
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false).map(child));
  return node;
}

function svg(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) node.setAttribute(key, plain(value));
  node.append(...children.map(child));
  return node;
}

const count = (n) => Number(n).toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${Number(n) === 1 ? "" : "s"}`;
const unique = (list) => [...new Set(list)];
const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function duration(ns) {
  if (ns >= 60e9) return `${(ns / 60e9).toFixed(1)} min`;
  if (ns >= 1e9) return `${(ns / 1e9).toFixed(ns >= 10e9 ? 1 : 2)} s`;
  if (ns >= 1e6) return `${(ns / 1e6).toFixed(ns >= 10e6 ? 1 : 2)} ms`;
  if (ns >= 1e3) return `${(ns / 1e3).toFixed(ns >= 10e3 ? 1 : 2)} µs`;
  return `${Math.round(ns)} ns`;
}

function shorten(text, most) {
  const one = String(text).replace(/\s+/g, " ").trim();
  return one.length > most ? `${one.slice(0, most - 1)}…` : one;
}

const SEVERITIES = ["violation", "application", "suspicion", "compat", "documented"];
const SIGNS = { violation: "✗", application: "✗", anomalies: "✗", suspicion: "?", documented: "i", compat: "≠",
  violated: "✗", broken: "✗", fails: "✗", incomplete: "?", undecided: "?", ok: "✓", kept: "✓", holds: "✓", same: "✓" };

// A word with its sign, so that colour is not all that tells.
const badge = (word, text) => el("span", { class: `badge ${word}` }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[word] || "•"), text || word);

// What a drawing says of the part that is pointed at or focused.
function tipFor(text) {
  const tip = el("p", { class: "tip", role: "status" }, text);
  return {
    tip,
    on(node, says) {
      for (const event of ["mouseenter", "focus"])
        node.addEventListener(event, () => tip.replaceChildren(...says().map(child)));
    },
  };
}
