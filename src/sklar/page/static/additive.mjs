// The best additive approximation of functions of rows: a parabola and means over bins for each column.
// Mirrors `_fit_additive` of `sklar.inference.one_step`; rounds of fitting work on tables of bins instead of rows.

import { prepareSolver, varianceOf } from "./linear.mjs";

const BINS_PER_COLUMN = 64;
const BACKFITTING_ROUNDS = 8;

// The bin of each base code: about equal numbers of rows, or one for each code that has rows.
export function binCodes(codes, place, fine) {
  const count = new Float64Array(place.length);
  for (let i = 0; i < codes.length; i++) count[codes[i]]++;
  const total = count.reduce((sum, x, code) => sum + (Number.isNaN(place[code]) ? 0 : x), 0);
  let upto = 0, seen = 0;
  const keys = Array.from(place, (x, code) => {
    if (Number.isNaN(x)) return place.length + code;
    const middle = (upto + count[code] / 2) / Math.max(total, 1);
    upto += count[code];
    if (count[code] > 0) seen++;
    return fine ? seen : Math.min(Math.floor(middle * BINS_PER_COLUMN), BINS_PER_COLUMN - 1);
  });
  const order = new Map([...new Set(keys)].sort((a, b) => a - b).map((key, i) => [key, i]));
  return Int32Array.from(keys, (key) => order.get(key));
}

export class AdditiveFit {
  constructor(codes, names, places) {
    this.rows = codes[names[0]].length;
    this.names = names;
    this.columns = names.map((name) => {
      const place = places.get(name), bins = binCodes(codes[name], place, names.length === 1);
      const of = Int32Array.from(codes[name], (code) => bins[code]), size = bins.reduce((most, x) => Math.max(most, x), 0) + 1;
      const powers = [place.map((x) => (Number.isNaN(x) ? 0 : x)), place.map((x) => (Number.isNaN(x) ? 0 : x * x))];
      const count = new Float64Array(size);
      for (let i = 0; i < of.length; i++) count[of[i]]++;
      return { codes: codes[name], bins, of, size, count, powers };
    });
    this.tables = this.columns.map((a) => this.columns.map((b) => (a === b ? null : this.countTogether(a, b))));
    this.design = [new Float64Array(this.rows).fill(1), ...this.columns.flatMap((one) => one.powers.map((power) => Float64Array.from(one.codes, (code) => power[code])))];
    const width = this.design.length, gram = new Float64Array(width * width);
    this.design.forEach((a, i) => this.design.forEach((b, j) => (gram[i * width + j] = sumOfProducts(a, b))));
    this.solve = prepareSolver(gram, width);
  }

  countTogether(a, b) {
    const table = new Float64Array(a.size * b.size);
    for (let i = 0; i < this.rows; i++) table[a.of[i] * b.size + b.of[i]]++;
    return table;
  }

  // Returns for each line { alone, left, around }: functions of the codes of each column, the variance of the residuals,
  // and, of a single column, their moments by code.
  fit(lines, flat) {
    return lines.map((psi) => this.fitLine(psi, flat));
  }

  fitLine(psi, flat) {
    const found = flat ? [psi.reduce((sum, x) => sum + x, 0) / this.rows] : this.solve(Float64Array.from(this.design, (one) => sumOfProducts(one, psi)));
    const left = Float64Array.from(psi);
    found.forEach((x, k) => {
      const one = this.design[k];
      for (let i = 0; i < this.rows; i++) left[i] -= x * one[i];
    });
    const sums = this.columns.map(({ of, size }) => {
      const sum = new Float64Array(size);
      for (let i = 0; i < this.rows; i++) sum[of[i]] += left[i];
      return sum;
    });
    const steps = this.columns.map(({ size }) => new Float64Array(size));
    for (let round = 0; round < (this.columns.length > 1 ? BACKFITTING_ROUNDS : 1); round++) this.columns.forEach((_, j) => this.updateStep(j, sums[j], steps));
    const alone = new Map(this.names.map((name, j) => {
      const { bins, powers } = this.columns[j], [one, two] = flat ? [0, 0] : [found[1 + 2 * j], found[2 + 2 * j]];
      return [name, Float64Array.from(bins, (bin, code) => (j === 0 ? found[0] : 0) + one * powers[0][code] + two * powers[1][code] + steps[j][bin])];
    }));
    this.columns.forEach(({ of }, j) => {
      for (let i = 0; i < this.rows; i++) left[i] -= steps[j][of[i]];
    });
    return { alone, left: varianceOf(left), around: this.columns.length === 1 ? momentsByCode(left, this.columns[0]) : {} };
  }

  // The means over the bins of one column of what the others leave.
  updateStep(j, sums, steps) {
    const { size, count } = this.columns[j];
    for (let bin = 0; bin < size; bin++) {
      let sum = sums[bin];
      this.columns.forEach((other, k) => {
        if (k === j) return;
        for (let at = 0; at < other.size; at++) sum -= this.tables[j][k][bin * other.size + at] * steps[k][at];
      });
      steps[j][bin] = sum / Math.max(count[bin], 1);
    }
  }
}

// The second and third moments of the residuals of each base code.
function momentsByCode(left, { codes, bins }) {
  const count = new Float64Array(bins.length), second = new Float64Array(bins.length), third = new Float64Array(bins.length);
  codes.forEach((code, i) => {
    count[code]++;
    second[code] += left[i] ** 2;
    third[code] += left[i] ** 3;
  });
  return { second: second.map((x, code) => x / Math.max(count[code], 1)), third: third.map((x, code) => x / Math.max(count[code], 1)) };
}

function sumOfProducts(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}
