// Builds elements, and writes numbers as people read them.

const SVG = "http://www.w3.org/2000/svg";

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// An element, as h("p", { class: "soft" }, "text"); attributes may be left out.
export function h(tag, ...rest) {
  const plain = rest.length && rest[0] !== null && typeof rest[0] === "object" && !(rest[0] instanceof Node) && !Array.isArray(rest[0]);
  return build(document.createElement(tag), plain ? rest[0] : {}, plain ? rest.slice(1) : rest);
}

export function s(tag, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

export function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (Number.isInteger(x) && Math.abs(x) < 10_000) return String(x).replace("-", "−");
  const places = Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(x) || 1)), 0);
  return x.toLocaleString("en", { maximumFractionDigits: Math.min(places, 12) }).replace("-", "−");
}

export function percent(x, digits = 1) {
  return `${number(100 * x, 3) === "0" ? "0" : (100 * x).toFixed(digits)}%`.replace("-", "−");
}

export function table(heads, rows, attributes = {}) {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": attributes.label ?? "table" },
    h("table", h("thead", h("tr", heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", rows.map((row) => h("tr", row.map((cell, i) => (i ? h("td", cell) : h("th", { scope: "row" }, cell))))))));
}

export function link(text, ...path) {
  return h("a", { href: `#${path.map(encodeURIComponent).join("/")}` }, text);
}
