// One-step estimates: the model's answer corrected by its measurements. Mirrors `sklar.inference.one_step`, which has the
// formulas and the reasons.

import { AdditiveFit, binCodes } from "./additive.mjs";
import { centreTable, centreVariances, meanOf, prepareSolver, varianceOf } from "./linear.mjs";

const DIVERGENCE_INFLATION = 25;
const MAX_SMOOTH_DEVIATION = 3;
const TYPICAL_SQUARED_CORRELATION = 0.015;
// Larger systems take browsers more than some seconds.
const MAX_EQUATIONS = 1_600;

export function pairsOf(names) {
  const sorted = [...names].sort();
  return sorted.flatMap((a, i) => sorted.slice(i + 1).map((b) => JSON.stringify([a, b])));
}

// Statistics of these columns alone, smallest first.
export function selectStatistics(statistics, columns) {
  return statistics.filter((one) => one.columns.every((name) => columns.includes(name))).sort((a, b) => a.size - b.size);
}

export function coversAllPairs(usable, columns) {
  const known = new Set(usable.flatMap((one) => pairsOf(one.columns)));
  return pairsOf(columns).every((pair) => known.has(pair));
}

function sumFunctions({ at, value }, size, power) {
  const sums = new Float64Array(size);
  for (let i = 0; i < at.length; i++) sums[at[i]] += value ? value[i] ** power : 1;
  return sums.map((x) => x / at.length);
}

// Whether a measurement differs from rows by more than noise and sampling explain.
export function isContradicted(usable, codes, rows) {
  return usable.some((one) => {
    const functions = one.evaluate(codes), drawn = functions.at.length;
    const [expected, square] = [1, 2].map((power) => sumFunctions(functions, one.size, power));
    if (one.interaction) {
      centreTable(expected, one.shape);
      centreVariances(square, one.shape);
    }
    let excess = 0, spread = 0;
    expected.forEach((x, i) => {
      const variance = (one.sigma / rows) ** 2 + (square[i] - x ** 2) * (1 / rows + 1 / drawn);
      excess += (one.values[i] / rows - x) ** 2 - variance;
      spread += variance ** 2;
    });
    return excess > MAX_SMOOTH_DEVIATION * Math.sqrt(2 * spread);
  });
}

// Computes the correction of each line of `psi`, or null if measurements do not cover the columns.
// `draws` has the rows of the model as codes (own), those with a Gaussian copula (smooth), and `remember`, which keeps
// what all lines of a question share.
export function computeOneStep(known, draws, psi, columns, counts) {
  const { rows } = known, sums = columns.map((name) => known.column(name, counts && columns.length === 1));
  const usable = columns.length > 1 ? selectStatistics(known.statistics, columns) : [];
  const unmeasured = columns.length > 1 && hasUnpairedColumn(known.statistics, columns);
  if (sums.some((one) => !one) || (columns.length > 1 && !usable.length && !unmeasured)) return null;
  const own = draws.rows, centres = psi.map((line) => meanOf(line.subarray(0, own)));
  const chance = psi.map((line) => varianceOf(line.subarray(0, own)) / rows);
  const smooth = draws.has && draws.remember("smooth", () => !isContradicted(usable, draws.smooth(), rows));
  const codes = smooth ? draws.smooth() : draws.own;
  const used = psi.map((line, k) => (smooth ? line.subarray(own) : line.subarray(0, own)).map((x) => (x === 0 ? 0 : x - centres[k])));
  const fit = draws.remember("fit", () => new AdditiveFit(codes, columns, known.places));
  const system = draws.remember("system", () => prepareSystem(known, usable, sums, codes, columns));
  if (!system) return null;
  const found = combineStatistics(system, used);
  const joint = fit.fit(used, counts), rest = usable.length ? fit.fit(found.left, counts) : joint;
  const divergence = Math.max(found.divergence, unmeasured ? TYPICAL_SQUARED_CORRELATION : 0);
  return psi.map((_, k) => {
    let shift = found.mean[k], noise = found.noise[k] + divergence * rest[k].left, skew = 0;
    columns.forEach((name, j) => {
      const { mean, variance, third } = sums[j].estimateOne(rest[k].alone.get(name), rest[k].around);
      shift += mean;
      noise += variance;
      skew += third;
    });
    const explained = Math.min(Math.max(1 - rest[k].left / Math.max(joint[k].left, 1e-300), 0), 1);
    return { shift, noise, skew, chance: chance[k], explained: usable.length ? explained : Number(columns.length === 1) };
  });
}

function hasUnpairedColumn(statistics, columns) {
  const met = new Set(statistics.flatMap((one) => one.columns));
  return !columns.every((name) => met.has(name));
}

// The equations for the weights of statistics and bins: all that does not depend on the question's functions of rows.
function prepareSystem(known, usable, sums, codes, columns) {
  if (!usable.length) return { several: [] };
  const { rows } = known, blocks = listBlocks(known, usable, sums, codes, columns), size = blocks.at(-1).offset + blocks.at(-1).size;
  if (size > MAX_EQUATIONS) return null;
  const several = blocks.filter((block) => block.statistic), numbers = several.reduce((sum, block) => sum + block.size, 0);
  const gram = centreGram(blocks, countGram(blocks, size, codes[columns[0]].length), size), ridge = Float64Array.from(blocks.flatMap((block) => [...block.noise]));
  let deviation = 0, trace = 0, total = 0;
  for (const { statistic, offset, size: width, functions } of several) {
    const expected = project(statistic, sumFunctions(functions, width, 1));
    for (let i = 0; i < width; i++) {
      deviation += (statistic.values[i] / rows - expected[i]) ** 2;
      trace += gram[(offset + i) * (size + 1)] - expected[i] ** 2;
      total += ridge[offset + i];
    }
  }
  const divergence = Math.max(total, deviation) / Math.max(trace, 1e-300);
  for (let i = 0; i < size; i++) gram[i * (size + 1)] += ridge[i] / (DIVERGENCE_INFLATION * divergence);
  return { blocks, several, size, numbers, ridge, divergence, rows, solve: prepareSolver(gram, size) };
}

// The least-error combination of the statistics of two or more columns, and what it leaves of each line.
function combineStatistics({ blocks, several, size, numbers, ridge, divergence, rows, solve }, psi) {
  const none = psi.map(() => 0);
  if (!several.length) return { left: psi, mean: none, noise: none, divergence: 0 };
  const weights = psi.map((line) => solve(sumProducts(blocks, line, size)));
  const mean = weights.map((w) => several.reduce((sum, { statistic, offset }) => statistic.values.reduce((inner, x, i) => inner + (w[offset + i] * x) / rows, sum), 0));
  const noise = weights.map((w) => w.subarray(0, numbers).reduce((sum, x, i) => sum + ridge[i] * x * x, 0));
  return { left: psi.map((line, k) => subtractCombination(several, line, weights[k])), mean, noise, divergence };
}

const project = (statistic, cells) => (statistic?.interaction ? centreTable(cells, statistic.shape) : cells);

// Functions of several columns, then bins of each column: { statistic, offset, size, functions, noise }.
function listBlocks(known, usable, sums, codes, columns) {
  let offset = 0;
  const add = (block) => {
    offset += block.size;
    return { ...block, offset: offset - block.size };
  };
  const several = usable.map((statistic) => add({ statistic, size: statistic.size, functions: statistic.evaluate(codes), noise: new Float64Array(statistic.size).fill((statistic.sigma / known.rows) ** 2) }));
  const single = columns.map((name, j) => {
    const bins = binCodes(codes[name], known.places.get(name), false), size = bins.reduce((most, x) => Math.max(most, x), 0) + 1;
    const functions = { at: Int32Array.from(codes[name], (code) => bins[code]), value: null };
    const noise = Float64Array.from({ length: size }, (_, bin) => sums[j].estimateOne(Float64Array.from(bins, (x) => Number(x === bin))).variance);
    return add({ statistic: null, size, functions, noise });
  });
  return [...several, ...single];
}

// Mean products of all functions over rows.
function countGram(blocks, size, drawn) {
  const gram = new Float64Array(size * size);
  blocks.forEach((a, first) => blocks.slice(0, first + 1).forEach((b) => {
    const [x, y] = [a.functions, b.functions];
    for (let i = 0; i < drawn; i++) {
      gram[(a.offset + x.at[i]) * size + b.offset + y.at[i]] += ((x.value ? x.value[i] : 1) * (y.value ? y.value[i] : 1)) / drawn;
    }
    for (let i = 0; i < a.size; i++) for (let j = 0; j < b.size; j++) gram[(b.offset + j) * size + a.offset + i] = gram[(a.offset + i) * size + b.offset + j];
  }));
  return gram;
}

// Removes margins from the rows and the columns that belong to interactions.
function centreGram(blocks, gram, size) {
  for (const { statistic, offset, size: width } of blocks) {
    if (!statistic?.interaction) continue;
    for (let i = 0; i < size; i++) centreTable(gram.subarray(i * size + offset, i * size + offset + width), statistic.shape);
    for (let j = 0; j < size; j++) {
      const line = centreTable(Float64Array.from({ length: width }, (_, i) => gram[(offset + i) * size + j]), statistic.shape);
      line.forEach((x, i) => (gram[(offset + i) * size + j] = x));
    }
  }
  return gram;
}

function sumProducts(blocks, line, size) {
  const found = new Float64Array(size);
  for (const { statistic, offset, size: width, functions } of blocks) {
    const sums = new Float64Array(width), { at, value } = functions;
    for (let i = 0; i < line.length; i++) if (line[i] !== 0) sums[at[i]] += (value ? value[i] : 1) * line[i];
    found.set(project(statistic, sums.map((x) => x / line.length)), offset);
  }
  return found;
}

function subtractCombination(blocks, line, weights) {
  const left = Float64Array.from(line);
  for (const { statistic, offset, size, functions: { at, value } } of blocks) {
    const own = project(statistic, weights.slice(offset, offset + size));
    for (let i = 0; i < left.length; i++) left[i] -= own[at[i]] * (value ? value[i] : 1);
  }
  return left;
}
