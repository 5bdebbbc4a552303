// Rows of a model, and rows with their margins and rank correlations and a Gaussian copula. Mirrors
// `with_gaussian_copula` of `sklar.inference.one_step`, with normal quantiles in the place of ranks.

import { factorCholesky } from "./linear.mjs";
import { ndtr, ndtri } from "./normal.mjs";
import { clipOpen } from "./axis.mjs";
import { Generator } from "./random.mjs";

const RANK_CORRELATION_ROUNDS = 4;

// Returns codes by column, in the order of the names.
export function withGaussianCopula(codes, names) {
  const rows = codes[names[0]].length, rng = new Generator(0n, 0);
  const normals = names.map(() => rng.fill(new Float64Array(rows)).map((u) => ndtri(clipOpen(u))));
  const sorted = names.map((name) => codes[name].slice().sort()), wanted = rankCorrelations(names.map((name) => codes[name]));
  let corr = wanted.slice(), found = [];
  for (let round = 0; round < RANK_CORRELATION_ROUNDS; round++) {
    const low = factorLifted(corr, names.length);
    found = sorted.map((line, j) => mixNormals(normals, low, j).map((z) => line[Math.min(Math.floor(ndtr(z) * rows), rows - 1)]));
    const got = rankCorrelations(found);
    corr = corr.map((x, i) => Math.min(Math.max(x + wanted[i] - got[i], -1), 1));
  }
  return Object.fromEntries(names.map((name, j) => [name, Int32Array.from(found[j])]));
}

function mixNormals(normals, low, j) {
  const found = new Float64Array(normals[0].length);
  for (let k = 0; k <= j; k++) {
    const share = low[j * normals.length + k], line = normals[k];
    for (let i = 0; i < found.length; i++) found[i] += share * line[i];
  }
  return found;
}

// Moves correlations towards 0 until they are positive definite.
function factorLifted(corr, n) {
  for (let lift = 0; ; lift = Math.max(2 * lift, 1e-6)) {
    const low = factorCholesky(corr.map((x, i) => (i % (n + 1) === 0 ? 1 : x / (1 + lift))), n);
    if (low) return low;
  }
}

// Spearman's rank correlations; rows of one code have their mean rank.
function rankCorrelations(lines) {
  const n = lines.length, ranks = lines.map((line) => {
    const count = new Float64Array(line.reduce((most, x) => Math.max(most, x), 0) + 1);
    for (let i = 0; i < line.length; i++) count[line[i]]++;
    let upto = 0;
    const middle = count.map((x) => (upto += x) - x / 2 - line.length / 2), rank = Float64Array.from(line, (code) => middle[code]);
    const length = Math.sqrt(rank.reduce((sum, x) => sum + x * x, 0));
    return rank.map((x) => (length > 0 ? x / length : 0));
  });
  const corr = new Float64Array(n * n);
  ranks.forEach((a, i) => ranks.forEach((b, j) => {
    let sum = 0;
    if (j < i) for (let row = 0; row < a.length; row++) sum += a[row] * b[row];
    if (j <= i) corr[i * n + j] = corr[j * n + i] = i === j ? 1 : sum;
  }));
  return corr;
}
