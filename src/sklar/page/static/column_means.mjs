// Means of functions of one column from its released histograms, with the variance due to their noise.
// Mirrors `sklar.inference.columns`, which chooses the body and the tails; their weights are in the facts.

import { solveByGradients } from "./linear.mjs";
import { fromBase64 } from "./verify.mjs";

const steps = (end, count) => Array.from({ length: count }, (_, i) => -end + (2 * end * i) / (count - 1));
const TAIL_SHAPES = [-0.25, 0, 0.25, 0.5];
const LOG_SCALE_STEPS = steps(2.5, 21);
const LOG_DENSITY_STEPS = steps(2, 5).map((step) => 0.4 * step);
const MIN_RELATIVE_SIGMA = 1e-3;

export function unpackRuns(runs) {
  const found = [];
  for (let i = 0; i < runs.length; i += 2) for (let k = 0; k < runs[i + 1]; k++) found.push(runs[i]);
  return Int32Array.from(found);
}

function survival(x, shape) {
  return shape === 0 ? Math.exp(-x) : Math.max(1 + shape * x, 0) ** (-1 / shape);
}

// Possible tails with a positive probability: { weight, rows in each cell }.
function listTails({ cells, far, density, decay, weight }) {
  const weights = new Float32Array(fromBase64(weight).buffer), found = [], total = weights.reduce((sum, x) => sum + x, 0);
  const add = (rows) => {
    const likely = weights[count++] / total;
    if (likely > 0) found.push({ weight: likely, rows: rows() });
  };
  let count = 0;
  add(() => new Float64Array(cells.length));
  if (weights.length === 1) return found;
  for (const shape of TAIL_SHAPES) {
    for (const step of LOG_SCALE_STEPS) {
      const scale = decay * Math.exp(step) * (1 + shape), upto = far.map((x) => survival(x / scale, shape));
      for (const end of [upto.at(-1), 0]) {
        for (const log of LOG_DENSITY_STEPS) {
          const next = (i) => (i + 2 < upto.length ? upto[i + 1] : end);
          add(() => Float64Array.from(cells, (_, i) => density * scale * Math.exp(log) * (upto[i] - next(i))));
        }
      }
    }
  }
  return found;
}

export class ColumnMeans {
  // `mass` is the model's probability of each base code.
  constructor(facts, mass) {
    this.lookup = unpackRuns(facts.lookup);
    this.body = facts.body;
    this.observed = facts.observed;
    this.rows = facts.rows;
    this.sigma = facts.sigma.flatMap(([number, length]) => Array(length).fill(number));
    this.lines = facts.lines.map((line) => (line.at(-1) === -1 ? Array.from({ length: line[1] - line[0] + 1 }, (_, i) => line[0] + i) : line));
    this.tails = facts.tails.map((tail) => ({ cells: tail.cells, possible: listTails(tail) }));
    this.cells = this.body.length + this.tails.reduce((sum, tail) => sum + tail.cells.length, 0);
    this.lumps = facts.lumps;
    const within = mass.map((x) => x + 1e-9 / mass.length), whole = this.byCell(within.map(() => 1), within);
    this.inside = within.map((x, code) => x / whole[this.lookup[code]]);
  }

  byCell(line, inside = this.inside) {
    const found = new Float64Array(this.cells);
    for (let code = 0; code < line.length; code++) found[this.lookup[code]] += inside[code] * line[code];
    return found;
  }

  // Weights of the observed numbers: of least variance, unbiased for the sum of h over the body.
  weigh(h) {
    const least = Math.min(...this.sigma.slice(0, -1)), sigma = this.sigma.map((x) => Math.max(x, MIN_RELATIVE_SIGMA * least));
    const lines = this.lines, image = new Float64Array(h.length);
    const sums = (cells) => Float64Array.from(lines, (line, i) => line.reduce((sum, cell) => sum + cells[cell], 0) / sigma[i]);
    const multiply = (x) => {
      image.fill(0);
      lines.forEach((line, i) => line.forEach((cell) => (image[cell] += x[i] / sigma[i])));
      return sums(image);
    };
    return solveByGradients(multiply, sums(h)).map((x, i) => x / sigma[i]);
  }

  // Returns { mean, variance, third } of each function of the base code.
  estimate(functions) {
    return functions.map((line) => this.estimateOne(line));
  }

  // `line` has the mean over the numbers of each base code, `around` their second and third central moments.
  estimateOne(line, { second, third: cube } = {}) {
    const cells = this.byCell(line), away = line.map((x, code) => x - cells[this.lookup[code]]);
    const squares = this.byCell(away.map((x, code) => x ** 2 + (second?.[code] ?? 0)));
    const cubes = this.byCell(away.map((x, code) => x ** 3 + 3 * x * (second?.[code] ?? 0) + (cube?.[code] ?? 0)));
    const weights = this.weigh(Float64Array.from(this.body, (cell) => cells[cell])), last = weights.at(-1);
    let mean = 0, variance = 0, third = 0;
    weights.forEach((x, i) => {
      mean += x * this.observed[i];
      variance += (x * this.sigma[i]) ** 2;
    });
    for (const [cell, square, cube] of this.lumps) {
      variance += squares[cell] * square;
      third += cubes[cell] * cube;
    }
    for (const tail of this.tails) {
      const h = tail.cells.map((cell) => cells[cell] - last);
      const sums = tail.possible.map(({ rows }) => h.reduce((sum, x, i) => sum + x * rows[i], 0));
      const centre = tail.possible.reduce((sum, { weight }, i) => sum + weight * sums[i], 0);
      mean += centre;
      tail.possible.forEach(({ weight }, i) => {
        variance += weight * (sums[i] - centre) ** 2;
        third += weight * (sums[i] - centre) ** 3;
      });
    }
    return { mean: mean / this.rows, variance: variance / this.rows ** 2, third: third / this.rows ** 3 };
  }
}
