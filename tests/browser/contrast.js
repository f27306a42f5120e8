// SPDX-License-Identifier: GPL-2.0-or-later
// Contrast of every text on the page with what it stands on, by WCAG 2.1 (relative luminance, 1.4.3:
// 4.5:1, or 3:1 from 24 px, or bold from 18.66 px).  Returns [ratio, wanted, text, where] of what
// falls short.
(() => {
  const parse = (color) => {
    const n = color.match(/[\d.]+/g).map(Number);
    return { r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1 };
  };
  const over = (top, under) => ({ r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a),
    b: top.b * top.a + under.b * (1 - top.a), a: 1 });
  const channel = (c) => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => 0.2126 * channel(c.r) + 0.7152 * channel(c.g) + 0.0722 * channel(c.b);
  const ratio = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  // What is behind an element: backgrounds of it and what is around it; in a drawing, the shapes
  // painted before it at the same place.
  const behind = (element, box) => {
    const layers = [];
    const svg = element.ownerSVGElement;
    if (svg) {
      const x = box.left + box.width / 2, y = box.top + box.height / 2;
      for (const shape of svg.querySelectorAll("rect, circle")) {
        if (!(shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
        const style = getComputedStyle(shape), b = shape.getBoundingClientRect();
        if (style.fill === "none" || style.fill.startsWith("url") || x < b.left || x > b.right || y < b.top || y > b.bottom) continue;
        const fill = parse(style.fill);
        fill.a *= Number(style.opacity);
        layers.unshift(fill);
      }
    }
    for (let e = svg || element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
    return layers.reverse().reduce((under, top) => over(top, under), scheme);
  };
  const short = [];
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || /^(SCRIPT|STYLE|TITLE|title|OPTION)$/.test(element.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), style = getComputedStyle(element);
    if (!box.width || style.visibility === "hidden") continue;
    texts++;
    const paint = element.ownerSVGElement ? style.fill : style.color;
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ground = behind(element, box), got = ratio(over(parse(paint), ground), ground), wanted = large ? 3 : 4.5;
    if (got < wanted) short.push([Number(got.toFixed(2)), wanted, node.data.trim().slice(0, 40), `${element.tagName}.${element.className.baseVal ?? element.className}`]);
  }
  for (const field of document.querySelectorAll("textarea, input, select")) {
    if (!field.getBoundingClientRect().width) continue;
    texts++;
    const ground = behind(field, field.getBoundingClientRect()), got = ratio(over(parse(getComputedStyle(field).color), ground), ground);
    if (got < 4.5) short.push([Number(got.toFixed(2)), 4.5, field.value.slice(0, 40), field.tagName]);
    if (field.placeholder) {
      const hint = ratio(over(parse(getComputedStyle(field, "::placeholder").color), ground), ground);
      if (hint < 4.5) short.push([Number(hint.toFixed(2)), 4.5, field.placeholder, "placeholder"]);
    }
  }
  return { texts, short };
})();
