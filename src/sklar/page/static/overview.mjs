// The first view: the claim in two sentences, what is accurate and what is not, the vine, and what the claim rests on.

import { h, link, number, table } from "./dom.mjs";
import { vineGraph } from "./tree.mjs";

const MAX_SHOWN = 40;

export function overview({ content, strength }) {
  const { claim, report, rows, schema, dependence, trees } = content;
  const times = Math.exp(claim.epsilon);
  return [
    h("section", { class: "hero" },
      h("p", { class: "kicker" }, "Privacy claim"),
      h("p", { class: "lead" }, claim.first),
      h("p", { class: "lead soft" }, `Any conclusion that anyone draws from this page becomes at most ${number(times, 3)} times as likely by one person being in the table`,
        claim.delta ? `, up to a probability of ${claim.delta}.` : "."),
      h("dl", { class: "numbers" },
        fact("epsilon", number(claim.epsilon)), fact("delta", String(claim.delta)), fact("rows, about", rows.toLocaleString("en")),
        fact("columns", String(schema.columns.length)))),
    h("div", { class: "two" },
      h("section", { class: "panel good" }, h("h2", "What is accurate"), h("ul", report.trust.map((line) => h("li", line)))),
      h("section", { class: "panel fair" }, h("h2", "What is not"), h("ul", report.doubt.map((line) => h("li", line))))),
    trees.length ? vineSection(dependence.names, trees, strength) : null,
    h("section", h("h2", "What the claim rests on"),
      table(["", "stated"], claim.rows, { label: "What the claim rests on" }),
      h("details", h("summary", "The whole claim"), h("p", claim.text))),
  ];
}

const fact = (name, value) => h("div", h("dt", name), h("dd", value));

function vineSection(names, trees, strength) {
  const deeper = trees.slice(1).flatMap((tree) => tree.edges.map((edge) => [edge, tree.tree])).sort((a, b) => b[0].strength - a[0].strength);
  return h("section", h("h2", "How columns depend on each other"),
    h("p", { class: "soft" }, "The first tree of the vine: each column hangs from the one through which it depends on the others. Thick lines are strong, blue ones negative. Choose a column to see its distribution."),
    names.length > MAX_SHOWN ? h("details", h("summary", `The first tree of ${names.length} columns`), vineGraph(names, trees[0].edges, strength)) : vineGraph(names, trees[0].edges, strength),
    deeper.length ? h("details", h("summary", `${deeper.length} conditional dependence${deeper.length > 1 ? "s" : ""} in deeper trees`),
      table(["pair", "given", "tree", "family", "strength"], deeper.slice(0, 200).map(([edge, level]) =>
        [link(`${edge.first} and ${edge.second}`, "pairs", edge.first, edge.second), edge.given.join(", "), String(level), edge.family, number(edge.strength, 2)]), { label: "Deeper trees" })) : null);
}
