// Measurements of a release as noisy linear functions of rows. Mirrors `sklar.inference.linear_measurements`.
//
// A statistic is { columns, size, values, sigma, shape, interaction, evaluate }: `evaluate(codes)` gives for every row
// the place and the value of its one function that is not 0.

import { ColumnMeans, unpackRuns } from "./column_means.mjs";
import { centreTable } from "./linear.mjs";

const SCORE_UNIT = 2 ** 20;

// Position of each base code between 0 and 1; NaN for labels and missing values.
export function placesOf(column) {
  const place = new Float64Array(column.size).fill(NaN);
  if (!column.grid) return place;
  const { starts, stop } = column.grid, widths = starts.map((x, i) => (i + 1 < starts.length ? starts[i + 1] : stop) - x);
  let total = 0;
  const middles = widths.map((width) => (total += width) - width / 2);
  middles.forEach((x, i) => (place[i] = x / Math.max(total, 1e-300)));
  return place;
}

// Probability of every base code in a margin.
export function denseMass({ mass, starts, size }) {
  const found = new Float64Array(size);
  starts.data.forEach((start, i) => {
    const end = i + 1 < starts.data.length ? starts.data[i + 1] : size;
    found.fill(mass.data[i] / (end - start), start, end);
  });
  return found;
}

export class Measured {
  constructor(facts, coordinates, margins) {
    this.facts = facts;
    this.rows = facts.rows;
    this.sizes = new Map(coordinates.map((column) => [column.name, column.size]));
    this.places = new Map(coordinates.map((column) => [column.name, placesOf(column)]));
    this.mass = new Map(coordinates.map((column, j) => [column.name, denseMass(margins[j])]));
    const lookups = facts.lookups.map(unpackRuns);
    this.statistics = [...facts.tables.map((table) => tableStatistic(table, lookups)), ...facts.sums.flatMap((sums) => productStatistics(sums, lookups))];
    this.estimators = new Map();
  }

  // The estimator of one column; `unbiased` makes no assumption about its tails. Null if there is none.
  column(name, unbiased) {
    const both = this.facts.columns[name], place = unbiased && both.length > 1 ? 1 : 0, key = `${place} ${name}`;
    if (!this.estimators.has(key)) this.estimators.set(key, both[place] && new ColumnMeans(both[place], this.mass.get(name)));
    return this.estimators.get(key);
  }
}

function tableStatistic({ columns, parts, shape, values, sigma, interaction }, lookups) {
  const size = values.length, known = Float64Array.from(values);
  const evaluate = (codes) => {
    const at = new Int32Array(codes[columns[0]].length);
    columns.forEach((name, axis) => {
      const lookup = lookups[parts[axis]], own = codes[name];
      for (let i = 0; i < at.length; i++) at[i] = at[i] * shape[axis] + lookup[own[i]];
    });
    return { at, value: null };
  };
  return { columns, needs: columns, size, shape, interaction, sigma, evaluate, values: interaction ? centreTable(known, shape) : known };
}

// One statistic for each sum of products of two scores, or of a contrast and a score.
function productStatistics({ scores, lookups: places, values, sigma, unit, target, weights }, lookups) {
  const read = places.map((place) => lookups[place]), found = [];
  const points = pointsOnSphere(scores, read);
  const add = (columns, value, product) => {
    if (columns[0] === columns[1]) return;
    const needs = [...new Set([...scores, ...columns])], evaluate = (codes) => {
      const value = product(codes);
      return { at: new Int32Array(value.length), value };
    };
    found.push({ columns, needs, size: 1, shape: [1], interaction: false, sigma, values: Float64Array.of(value), evaluate });
  };
  if (weights) {
    const line = values.length / weights.length;
    weights.forEach((place, m) => scores.forEach((name, j) => add([name, target], values[m * line + j], (codes) =>
      points(codes)[j].map((x, i) => unit * x * lookups[place][codes[target][i]]))));
    return found;
  }
  let next = 0;
  scores.forEach((first, i) => scores.slice(i + 1).forEach((second, k) => {
    const [a, b] = [i, i + 1 + k];
    add([first, second], values[next++], (codes) => {
      const all = points(codes), other = all[b];
      return all[a].map((x, row) => unit * x * other[row]);
    });
  }));
  return found;
}

// The point of each row on the sphere, one line a score, remembered for the last rows.
function pointsOnSphere(scores, read) {
  const kept = new WeakMap();
  return (codes) => {
    if (kept.has(codes)) return kept.get(codes);
    const lines = scores.map((name, j) => Float64Array.from(codes[name], (code) => read[j][code])), count = scores.length;
    for (let i = 0; i < lines[0].length; i++) {
      let norm = 0;
      for (let j = 0; j < count; j++) norm += lines[j][i] ** 2;
      for (let j = 0; j < count; j++) {
        const k = lines[j][i];
        lines[j][i] = Math.sign(k) * Math.floor(Math.sqrt(Math.floor((k * k * count * SCORE_UNIT) / Math.max(norm, 1))));
      }
    }
    kept.set(codes, lines);
    return lines;
  };
}
