// The view of columns: a search, and a card with the distribution of each.

import { intervalChart, marginChart } from "./charts.mjs";
import { h, link, number, percent, table } from "./dom.mjs";
import { answersSection } from "./questions.mjs";

export function columnsView(page) {
  const { content } = page, findings = content.report.findings;
  const status = h("p", { class: "soft", role: "status" });
  const cards = findings.map((finding) => ({ finding, card: card(page, finding) }));
  const search = h("input", { type: "search", id: "search", placeholder: "name, kind or value", autocomplete: "off",
    oninput: () => filter() });
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let shown = 0;
    for (const { finding, card: element } of cards) {
      const text = `${finding.column} ${finding.what} ${finding.numeric ? "" : finding.labels.join(" ")}`.toLowerCase();
      element.hidden = !text.includes(wanted);
      shown += element.hidden ? 0 : 1;
    }
    status.textContent = `${shown} of ${findings.length} columns`;
  };
  filter();
  return [
    h("div", { class: "bar-of-tools" }, h("label", { for: "search" }, "Search columns"), search, status),
    legend(),
    h("div", { class: "cards" }, cards.map(({ card: element }) => element)),
  ];
}

export function legend() {
  return h("p", { class: "legend" }, h("span", { class: "key bar-key" }), "the model ", h("span", { class: "key dot-key" }),
    "released, with the 95% band of its noise");
}

function card(page, finding) {
  return h("article", { class: "card" }, h("h3", link(finding.column, "columns", finding.column)), h("p", { class: "soft" }, finding.what),
    finding.labels.length ? marginChart(finding) : h("p", "No table of this column was released."));
}

// One column: its chart, its numbers, its strongest partners and its estimates.
export function columnView(page, name) {
  const { content, strength } = page, finding = content.report.findings.find((one) => one.column === name);
  if (!finding) return [h("p", "There is no such column.")];
  const names = content.dependence.names, at = names.indexOf(name);
  const partners = names.map((other, j) => [other, strength(at, j)]).filter(([other]) => other !== name)
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, 8);
  const answers = content.answers.filter((one) => one.columns[0] === name && one.columns.length === 1 && !one.by);
  const hidden = Object.entries(finding.unseen).map(([what, share]) => `${what === "null" ? "missing values" : "a tail"} in fewer than ${percent(share, 2)} of rows`);
  return [
    h("p", link("← All columns", "columns")),
    h("h2", { class: "title", tabindex: "-1" }, name), h("p", { class: "soft" }, finding.what), legend(),
    h("div", { class: "two" },
      h("figure", { class: "large" }, finding.labels.length ? marginChart(finding) : h("p", "No table of this column was released."),
        h("figcaption", `${finding.seen[0].toUpperCase()}${finding.seen.slice(1)}.`, hidden.length ? ` Not detectable: ${hidden.join("; ")}.` : "")),
      h("div", h("h3", "Strongest dependence"),
        h("ul", { class: "plain" }, partners.map(([other, value]) => h("li", { class: "partner" }, link(other, "pairs", name, other), meter(value)))))),
    answersSection(page, [name], answers, answerChart),
    h("details", h("summary", "The numbers"), table(["cell", "model", "released", "± noise"],
      finding.labels.map((label, i) => [label, percent(finding.model[i], 2), percent(finding.released[i], 2), percent(finding.bands[i], 2)]), { label: `Numbers of ${name}` })),
  ];
}

export function meter(value) {
  const bar = h("span", { class: value < 0 ? "fill less" : "fill" });
  bar.style.width = `${Math.round(100 * Math.min(Math.abs(value), 1))}%`;
  return h("span", { class: "meter" }, bar, h("span", { class: "amount" }, value.toFixed(2).replace("-", "−")));
}

function answerChart(answers) {
  const shares = answers.filter((one) => one.statistic === "share"), rest = answers.filter((one) => one.statistic !== "share");
  const line = (one, label) => ({ label, ...one.numbers[0] });
  return h("div", { class: "two" },
    shares.length ? h("figure", intervalChart(shares.map((one) => line(one, one.value)), `Estimated shares of ${shares[0].columns[0]}`)) : null,
    rest.length ? h("figure", intervalChart(rest.map((one) => line(one, one.statistic === "quantile" ? `${number(100 * one.at)}% below` : one.statistic)), `Estimates of ${rest[0].columns[0]}`)) : null);
}
