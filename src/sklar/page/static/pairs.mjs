// The view of pairs: the matrix of dependence, and the joint picture of one pair beside what was measured of it.

import { heatMap, intervalChart } from "./charts.mjs";
import { h, link, number, percent, table } from "./dom.mjs";
import { jointPicture, viewColumn } from "./joint.mjs";
import { matrixView } from "./matrix.mjs";
import { meter } from "./columns.mjs";
import { answersSection } from "./questions.mjs";

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
  const finding = findMeasured(page.content.report, first, second);
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
    h("div", { class: "two" }, place, measuredText(finding)), finding.table ? measuredMaps(finding.table, first, second) : null,
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

// What was measured of a pair: its table, if that is in the page, and whether one was released at all.
function findMeasured(report, first, second) {
  const about = (columns) => columns.includes(first) && columns.includes(second);
  return { table: report.pairs.find((one) => about(one.columns)), released: report.measured.some(about) };
}

function measuredText({ table: found, released }) {
  if (!released) {
    return h("div", { class: "panel fair" }, h("h3", "Not measured"),
      h("p", "No table of this pair was released. What the model shows of it comes from other tables and from smoothing, and may be wrong."));
  }
  if (!found) return h("div", { class: "panel" }, h("h3", "Measured"), h("p", "A table of this pair was released; the model file has it."));
  const p = found.p_value < 1e-4 ? "p < 0.0001" : `p = ${number(found.p_value, 2)}`;
  return h("div", { class: "panel good" }, h("h3", "Measured"),
    h("p", `The released table shows ${found.signal ? "a" : "no"} dependence beyond its noise (${p}).`),
    h("p", `Noise of one cell: ± ${percent(found.noise, 2)} of rows, with 95% confidence.`),
    found.contradicts ? h("p", h("strong", "The model contradicts this table.")) : null);
}

function measuredMaps(found, first, second) {
  const turned = found.columns[0] !== first, cells = (rows) => (turned ? rows[0].map((_, k) => rows.map((row) => row[k])) : rows);
  const [released, model] = [cells(found.released), cells(found.model)], ticks = turned ? [...found.ticks].reverse() : found.ticks;
  const top = Math.max(...released.flat().map(Math.abs), ...model.flat().map(Math.abs), found.noise);
  const map = (rows, what) => h("figure", h("figcaption", h("strong", what)), heatMap({ cells: rows, xTicks: ticks[0], yTicks: ticks[1], signed: true, top, xName: first, yName: second,
    titles: (a, b) => `${percent(rows[a][b], 2)} of rows more than if independent`, label: `${what}: ${found.seen}` }));
  return h("section", h("h3", "Rows more (orange) or fewer (blue) than if the columns were independent"),
    h("div", { class: "two" }, map(released, "Released, with noise"), map(model, "The model")));
}

function answersOf(page, first, second) {
  const about = page.content.answers.filter((one) => {
    const names = [...one.columns, ...(one.by ? [one.by] : [])];
    return names.length === 2 && names.includes(first) && names.includes(second);
  });
  const draw = (answers) => h("div", { class: "cards" }, answers.map((one) =>
    h("figure", h("figcaption", h("strong", one.text)), intervalChart(one.numbers.map((x) => ({ label: x.group ?? one.text, ...x })), one.text))));
  return answersSection(page, [first, second], about, draw);
}
