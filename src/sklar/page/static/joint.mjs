// The joint picture of two columns, from rows drawn from the model: heat map, boxes by group, or mosaic.

import { boxChart, heatMap, mosaicChart } from "./charts.mjs";
import { writeTime } from "./csv.mjs";
import { isNumber } from "./decode.mjs";
import { number } from "./dom.mjs";

const CELLS = 22;
const MAX_GROUPS = 12;
const MISSING = "missing";

// A column of drawn rows with what charts need: numbers (not a number where missing), or labels by row.
export function viewColumn(column, values) {
  if (isNumber(column)) {
    const data = Float64Array.from(values.data, (x, i) => (values.null[i] ? NaN : x));
    const show = (x) => (column.kind === "datetime" ? writeTime(Math.round(x), column.resolution).slice(0, 10) : number(x));
    return { name: column.name, numeric: true, data, show };
  }
  const words = column.values ? [...column.values, column.other].map(String) : (column.spelling ?? ["false", "true"]).map(String);
  const at = column.integer_labels ? new Map([...column.values, column.other].map((x, i) => [x, i])) : null;
  const data = Int32Array.from(values.data, (x, i) => (values.null[i] ? words.length : at ? at.get(x) : x));
  return { name: column.name, numeric: false, ordered: column.ordered, data, labels: [...words, MISSING] };
}

// Labels worth a group of their own, the most frequent ones, in order; and the group of each label.
function groupLabels(view, most = MAX_GROUPS) {
  const count = new Float64Array(view.labels.length);
  for (const label of view.data) count[label]++;
  const frequent = [...count.keys()].filter((label) => count[label] > 0).sort((a, b) => count[b] - count[a]);
  const kept = frequent.slice(0, frequent.length > most ? most - 1 : most);
  if (view.ordered) kept.sort((a, b) => a - b);
  const place = new Int32Array(count.length).fill(kept.length);
  kept.forEach((label, i) => (place[label] = i));
  const labels = kept.map((label) => view.labels[label]);
  return { labels: frequent.length > kept.length ? [...labels, "others"] : labels, place };
}

export function quantiles(sorted, levels) {
  return levels.map((level) => {
    const at = level * (sorted.length - 1), low = Math.floor(at), rest = at - low;
    return sorted[low] + rest * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  });
}

function binsOf(view) {
  const known = view.data.filter((x) => !Number.isNaN(x)).sort();
  const [low, high] = quantiles(known, [0.005, 0.995]);
  const distinct = new Set(known).size, whole = known.every(Number.isInteger) && high - low < CELLS;
  const count = whole ? Math.max(high - low + 1, 1) : Math.min(CELLS, Math.max(distinct, 1)), span = whole ? count : high - low || 1;
  const place = (x) => Math.min(Math.max(Math.floor(((x - low) / span) * count), 0), count - 1);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((at) => [at, view.show(whole ? Math.round(low + at * (count - 1)) : low + at * span)]);
  return { count, place, ticks, low: low, high: high };
}

function numbersByNumbers(a, b) {
  const [x, y] = [binsOf(a), binsOf(b)], cells = Array.from({ length: x.count }, () => new Array(y.count).fill(0));
  let known = 0;
  a.data.forEach((value, i) => {
    if (Number.isNaN(value) || Number.isNaN(b.data[i])) return;
    cells[x.place(value)][y.place(b.data[i])] += 1;
    known++;
  });
  const shown = cells.map((row) => row.map((count) => Math.sqrt(count / known)));
  const titles = (i, j) => `${(100 * cells[i][j] / known).toFixed(2)}% of rows`;
  return heatMap({ cells: shown, xTicks: x.ticks, yTicks: y.ticks, titles, xName: a.name, yName: b.name,
    label: `Heat map of ${a.name} and ${b.name} in the model; rank correlation ${number(rankCorrelation(a.data, b.data), 2)}` });
}

function numbersByLabels(numbers, view) {
  const { labels, place } = groupLabels(view), groups = labels.map(() => []);
  let known = 0;
  view.data.forEach((label, i) => {
    if (Number.isNaN(numbers.data[i])) return;
    groups[place[label]].push(numbers.data[i]);
    known++;
  });
  const boxes = groups.map((group, i) => ({ label: labels[i], share: group.length / known, at: quantiles(Float64Array.from(group).sort(), [0.05, 0.25, 0.5, 0.75, 0.95]) }));
  const shown = boxes.filter((box, i) => groups[i].length > 4);
  const low = Math.min(...shown.map((box) => box.at[0])), high = Math.max(...shown.map((box) => box.at[4]));
  return boxChart(shown, low, high, `Boxes of ${numbers.name} by ${view.name} in the model: 5%, 25%, 50%, 75% and 95% of each group`, numbers.name);
}

function labelsByLabels(a, b) {
  const [x, y] = [groupLabels(a, 10), groupLabels(b, 8)];
  const shares = x.labels.map(() => new Array(y.labels.length).fill(0));
  a.data.forEach((label, i) => (shares[x.place[label]][y.place[b.data[i]]] += 1 / a.data.length));
  return mosaicChart(shares, x.labels, y.labels, `Mosaic of ${a.name} (across) and ${b.name} (up) in the model`);
}

// Returns the chart, and what it is.
export function jointPicture(a, b) {
  if (a.numeric && b.numeric) return { chart: numbersByNumbers(a, b), what: "Heat map: cells of a stronger colour have more rows (on a square-root scale)." };
  if (a.numeric || b.numeric) {
    const [numbers, labels] = a.numeric ? [a, b] : [b, a];
    return { chart: numbersByLabels(numbers, labels), what: `Boxes hold the middle half of ${numbers.name} in each group of ${labels.name}; lines reach from 5% to 95%.` };
  }
  return { chart: labelsByLabels(a, b), what: `Tiles are as large as their share of rows; orange ones have more rows than if ${a.name} and ${b.name} were independent, blue ones fewer.` };
}

export function rankCorrelation(a, b) {
  const rows = [...a.keys()].filter((i) => !Number.isNaN(a[i]) && !Number.isNaN(b[i]));
  const [x, y] = [a, b].map((data) => ranks(rows.map((i) => data[i])));
  const mean = (rows.length - 1) / 2;
  let xy = 0, xx = 0, yy = 0;
  for (let i = 0; i < rows.length; i++) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) ** 2;
    yy += (y[i] - mean) ** 2;
  }
  return xy / Math.sqrt(xx * yy);
}

// Mean ranks: equal numbers have the same.
function ranks(data) {
  const order = [...data.keys()].sort((i, j) => data[i] - data[j]), found = new Float64Array(data.length);
  for (let i = 0; i < order.length; ) {
    let j = i;
    while (j < order.length && data[order[j]] === data[order[i]]) j++;
    for (let k = i; k < j; k++) found[order[k]] = (i + j - 1) / 2;
    i = j;
  }
  return found;
}
