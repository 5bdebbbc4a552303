// The vine as a graph: the first tree, laid out from its best connected column, one line a column.

import { number, s } from "./dom.mjs";

const NAME_LETTER = 6.6;
const STRENGTH_LETTER = 5.6;
const clipToWidth = (name, letters) => (name.length > letters ? `${name.slice(0, Math.max(letters - 1, 4))}…` : name);

const LINE = 24;
const INDENT = 26;

// Columns in drawing order: { name, depth, edge to the one above, place of the one above }.
export function layOutTree(names, edges) {
  const near = new Map(names.map((name) => [name, []]));
  for (const edge of edges) {
    near.get(edge.first).push([edge.second, edge]);
    near.get(edge.second).push([edge.first, edge]);
  }
  const seen = new Set(), nodes = [];
  const visit = (name, depth, edge, above) => {
    seen.add(name);
    const place = nodes.push({ name, depth, edge, above }) - 1;
    const below = near.get(name).filter(([other]) => !seen.has(other)).sort((a, b) => b[1].strength - a[1].strength);
    below.forEach(([other]) => seen.add(other));
    below.forEach(([other, to]) => visit(other, depth + 1, to, place));
  };
  const roots = [...names].sort((a, b) => near.get(b).length - near.get(a).length);
  for (const root of roots) if (!seen.has(root)) visit(root, 0, null, null);
  return nodes;
}

// `strength(i, j)` has the sign of a dependence.
export function vineGraph(names, edges, strength) {
  const nodes = layOutTree(names, edges), deepest = Math.max(...nodes.map((node) => node.depth));
  const indent = Math.min(INDENT, 180 / Math.max(deepest, 1)), width = 420, height = nodes.length * LINE + 8;
  const x = (node) => 10 + node.depth * indent, y = (i) => 16 + i * LINE;
  const lines = nodes.map((node, i) => {
    if (node.above === null) return null;
    const above = nodes[node.above], [x0, y0] = [x(above), y(node.above)];
    return s("path", { class: strength(names.indexOf(node.edge.first), names.indexOf(node.edge.second)) < 0 ? "edge less" : "edge", d: `M${x0} ${y0} V${y(i) - 8} Q${x0} ${y(i)} ${x0 + 8} ${y(i)} H${x(node)}`,
      "stroke-width": (1 + 6 * node.edge.strength).toFixed(2) });
  });
  const marks = nodes.map((node, i) => {
    const what = node.edge ? `${node.edge.family}, strength ${number(node.edge.strength, 2)}` : "";
    return s("a", { href: `#columns/${encodeURIComponent(node.name)}` },
      s("rect", { class: "hit", x: x(node) - 8, y: y(i) - 11, width: width - x(node), height: 22, rx: 4 }),
      s("circle", { class: "node", cx: x(node), cy: y(i), r: 5 }),
      s("text", { class: "strong", x: x(node) + 12, y: y(i) + 4 }, clipToWidth(node.name, Math.floor((width - 16 - STRENGTH_LETTER * what.length - x(node)) / NAME_LETTER))),
      s("text", { class: "tick end", x: width - 4, y: y(i) + 4 }, what));
  });
  return s("svg", { viewBox: `0 0 ${width} ${height}`, class: "vine", role: "group", "aria-label": "The first tree of the vine: each column below the one that it depends on" }, lines, marks);
}
