// The view of pairs: the matrix of dependence, and the joint picture of one pair beside what was measured of it.

import { heatMap, intervalChart } from "./charts.mjs";
import { h, link, number, percent, table } from "./dom.mjs";
import { jointPicture, viewColumn } from "./joint.mjs";
import { matrixView } from "./matrix.mjs";
import { meter } from "./columns.mjs";

const MAX_LISTED = 60;

export function pairsView(page) {
  const { content, strength } = page, names = content.dependence.names;
  const measured = new Set(content.report.measured.map((pair) => pair.join("\n")));
  const isMeasured = (i, j) => measured.has(`${names[i]}\n${names[j]}`) || measured.has(`${names[j]}\n${names[i]}`);
  const listed = [];
  for (let i = 0; i < names.length; i++) for (let j = 0; j < i; j++) listed.push([names[j], names[i], strength(i, j), isMeasured(i, j)]);
  listed.sort((a, b) => Math.abs(b[2]) - Math.abs(a[2]));
  return [
    chooser(page),
    h("p", { class: "soft" }, "Strength of dependence in the model, from 0 to 1: of any shape, on the scale of a correlation. ",
      h("span", { class: "key more-key" }), "positive, or without direction ", h("span", { class: "key less-key" }), "negative. A point marks pairs whose table was measured."),
    h("div", { class: "two wide-left" },
      matrixView(names, strength, isMeasured, (i, j) => page.go("pairs", names[i], names[j])),
      h("div", h("h3", `Strongest of ${listed.length.toLocaleString("en")} pairs`),
        table(["pair", "strength", ""], listed.slice(0, MAX_LISTED).map(([a, b, value, known]) =>
          [link(`${a} and ${b}`, "pairs", a, b), meter(value), known ? "measured" : ""]), { label: "Strongest pairs" }))),
  ];
}

function chooser(page, first = null, second = null) {
  const names = page.content.dependence.names;
  const box = (id, chosen) => h("select", { id }, names.map((name) => h("option", { value: name, selected: name === chosen }, name)));
  const one = box("first", first ?? names[0]), two = box("second", second ?? names[1] ?? names[0]);
  const open = (event) => {
    event.preventDefault();
    page.go("pairs", one.value, two.value);
  };
  return h("form", { class: "bar-of-tools", onsubmit: open }, h("label", { for: "first" }, "Columns"), one, h("label", { for: "second" }, "and"), two, h("button", "Show the pair"));
}

export function pairView(page, first, second) {
  const names = page.content.dependence.names, [i, j] = [names.indexOf(first), names.indexOf(second)];
  if (i < 0 || j < 0 || i === j) return [chooser(page), h("p", "Choose two columns.")];
  const place = h("figure", { class: "large joint" }, h("p", { class: "soft", role: "status" }, "Drawing rows of the model …"));
  page.rows().then((columns) => {
    const views = [i, j].map((at) => viewColumn(page.content.schema.coordinates[at], columns[at]));
    const { chart, what } = jointPicture(...views);
    place.replaceChildren(chart, h("figcaption", `${what} From ${views[0].data.length.toLocaleString("en")} rows drawn from the model.`));
  }, (error) => place.replaceChildren(h("p", { role: "alert" }, `No picture: ${error.message}.`)));
  return [
    h("p", link("← All pairs", "pairs")), chooser(page, first, second),
    h("h2", { class: "title", tabindex: "-1" }, `${first} and ${second}`),
    h("p", "Strength of dependence in the model: ", h("strong", page.strength(i, j).toFixed(2).replace("-", "−")), ". ", origin(page, first, second)),
    h("div", { class: "two" }, place, measuredPart(page, first, second)),
    answersOf(page, first, second),
  ];
}

// Where the dependence of a pair in the model comes from.
function origin(page, first, second) {
  for (const tree of page.content.trees) {
    const edge = tree.edges.find((one) => [one.first, one.second].includes(first) && [one.first, one.second].includes(second));
    if (edge) return edge.given.length ? `In tree ${tree.tree} of the vine they are joined given ${edge.given.join(", ")} (${edge.family}).` : `They are joined in the first tree of the vine (${edge.family}).`;
  }
  return page.content.trees.length ? "They are not joined in the vine: they depend on each other through other columns, and through the measured tables." : "";
}

function measuredPart(page, first, second) {
  const { report } = page.content;
  const finding = report.pairs.find((one) => one.columns.includes(first) && one.columns.includes(second));
  if (!finding) {
    const known = report.measured.some((pair) => pair.includes(first) && pair.includes(second));
    return h("div", h("h3", known ? "Measured" : "Not measured"), h("p", known ? "A table of this pair was released; `sklar report` shows it." : "No table of this pair was released. What the model shows of it comes from other tables and from smoothing, and may be wrong."));
  }
  const turned = finding.columns[0] !== first, cells = (rows) => (turned ? rows[0].map((_, k) => rows.map((row) => row[k])) : rows);
  const [released, model] = [cells(finding.released), cells(finding.model)], ticks = turned ? [...finding.ticks].reverse() : finding.ticks;
  const top = Math.max(...released.flat().map(Math.abs), ...model.flat().map(Math.abs), finding.noise);
  const map = (rows, what) => h("figure", heatMap({ cells: rows, xTicks: ticks[0], yTicks: ticks[1], signed: true, top, xName: first, yName: second,
    titles: (a, b) => `${percent(rows[a][b], 2)} of rows more than if independent`, label: `${what}: ${finding.seen}` }), h("figcaption", what));
  return h("div", h("h3", "Measured"),
    h("p", finding.signal ? "The released table shows a dependence beyond its noise" : "The released table shows no dependence beyond its noise", ` (p = ${number(finding.p_value, 2)}). Noise of a cell: ± ${percent(finding.noise, 2)} of rows.`,
      finding.contradicts ? h("strong", " The model contradicts this table.") : ""),
    h("p", { class: "soft" }, "Rows more (orange) or fewer (blue) than if the columns were independent:"),
    h("div", { class: "pair-of-maps" }, map(released, "released, with noise"), map(model, "the model")));
}

function answersOf(page, first, second) {
  const about = page.content.answers.filter((one) => {
    const names = [...one.columns, ...(one.by ? [one.by] : [])];
    return names.length === 2 && names.includes(first) && names.includes(second);
  });
  if (!about.length) return null;
  return h("section", h("h3", "Estimates, with 95% intervals"), h("div", { class: "cards" }, about.map((one) =>
    h("figure", h("figcaption", h("strong", one.text)), intervalChart(one.numbers.map((x) => ({ label: x.group ?? one.text, ...x })), one.text)))));
}
